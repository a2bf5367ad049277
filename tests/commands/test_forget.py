"""`squidbot forget`: asked first, then gone from everything that the other commands show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.cli import main
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

GONE = "part_3_899"


def test_forgotten_message_is_shown_by_no_command(copied: Callable[..., Result]) -> None:
    """Neither it nor a word of it: transcript, requests, notes, search, export, files."""
    copied("search", "support/42", GONE)
    result = copied("forget", "support/42", "m14", "--reason", "it was a mistake", "--yes")
    assert result.exit_code == 0
    assert result.output.startswith("support/42: forgotten m14\n")
    for arguments in (
        ["show", "support/42", "m14"],
        ["show", "support/42", "--request", "--whole"],
        ["explain", "support/42", "m14"],
        ["log", "support/42", "m13", "--whole"],
        ["recall", "support/42", "m14"],
        ["export", "support/42"],
    ):
        shown = copied(*arguments)
        assert shown.exit_code == 0, shown.output
        assert GONE not in shown.output
    assert copied("search", "support/42", GONE).exit_code == 1
    assert all(GONE.encode() not in path.read_bytes() for path in Path().iterdir())
    assert copied("doctor").exit_code == 0


def test_forgotten_message_keeps_its_place(copied: Callable[..., Result]) -> None:
    """Every other id means what it did, and each message is still accounted for once."""
    before = json.loads(copied("show", "support/42", "m13-m16", "--json").output)["shown"]
    made = json.loads(copied("forget", "support/42", "m14-m15", "--yes", "--json").output)
    assert (made["forgotten"], made["copies"]) == (["m14", "m15"], [])
    after = json.loads(copied("show", "support/42", "m13-m16", "--json").output)["shown"]
    assert [one["id"] for one in after] == ["m13", "m14", "m15", "m16"]
    assert (after[0], after[3]) == (before[0], before[3])
    assert {one["category"] for one in after[1:3]} == {"forgotten"}
    spans = json.loads(copied("explain", "support/42", "--json").output)["spans"]
    assert spans[-1]["last"] == "m95"


def test_forget_says_where_bytes_are_left(copied: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in the way: the words are forgotten all the same, and the store says what to do."""

    def blocked(_store: SqliteStore) -> None:
        raise StoreError("x.db: a program reads an older state; close it")

    assert json.loads(copied("forget", "support/42", "m16", "--yes", "--json").output)["overwritten"] is True
    monkeypatch.setattr(SqliteStore, "scrub", blocked)
    result = copied("forget", "support/42", "m14", "--yes", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["overwritten"] is False
    assert "its bytes are not overwritten yet: x.db: a program reads an older state; close it" in result.stderr


def test_forget_asks_first(copied: Callable[..., Result]) -> None:
    """No is no, and so is nobody there to answer."""
    for answer in ("n\n", ""):
        result = CliRunner().invoke(main, ["forget", "support/42", "m14"], input=answer)
        assert result.exit_code == 1
        assert "Forget 1 message of support/42 (m14) for good?" in result.stderr
    assert GONE in copied("show", "support/42", "m14").output
    assert CliRunner().invoke(main, ["forget", "support/42", "m14"], input="y\n").exit_code == 0
    assert GONE not in copied("show", "support/42", "m14").output


@pytest.mark.parametrize("wrong", ["14", "x", "m9-m3", "s0-90.abcd", "m0-m99999"])
def test_forget_takes_ids_of_messages_only(copied: Callable[..., Result], wrong: str) -> None:
    """Wrong usage, and nothing is gone."""
    assert copied("forget", "support/42", wrong, "--yes").exit_code == 2


def test_forget_of_what_is_not_there_is_no(copied: Callable[..., Result]) -> None:
    """Nothing is forgotten, also not what is there."""
    result = copied("forget", "support/42", "m14", "m96", "--yes")
    assert result.exit_code == 1
    assert "nothing was forgotten" in result.output
    assert GONE in copied("show", "support/42", "m14").output


def test_forgotten_message_takes_its_facts_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it alone says, beside the sessions: out of every list, and out of the file's bytes."""
    monkeypatch.chdir(tmp_path)
    Path("squidbot.toml").write_text('[store]\npath = "talk.db"\n[summary]\nscheduler = "none"\n')
    with squidbot.load() as engine:
        session = engine.session("ann/1", scope=squidbot.Scope(user="ann"))
        session.record({"role": "user", "content": "I live in Lisbon."}, "Noted.", {"role": "user", "content": "Hm."})
        engine.run_jobs()

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    assert json.loads(run("forget", "ann/1", "m2", "--yes", "--json").output)["facts"] == []
    result = run("forget", "ann/1", "m0", "--yes")
    assert "1 fact that nothing else said, forgotten too\n" in result.output
    assert json.loads(run("memory", "list", "--past", "--user", "ann", "--json").output)["memories"] == []
    assert all(b"Lisbon" not in path.read_bytes() for path in Path().iterdir())
