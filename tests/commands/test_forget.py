"""`squidbot session forget`: asked first, then gone from everything that the other commands show."""

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
    copied("session", "search", "support/42", GONE)
    result = copied("session", "forget", "support/42", "m14", "--reason", "it was a mistake", "--yes")
    assert result.exit_code == 0
    assert result.output.startswith("support/42: forgotten m14\n")
    for arguments in (
        ["session", "show", "support/42", "m14"],
        ["session", "show", "support/42", "--request", "--whole"],
        ["session", "explain", "support/42", "m14"],
        ["session", "log", "support/42", "m13", "--whole"],
        ["session", "recall", "support/42", "m14"],
        ["session", "export", "support/42"],
    ):
        shown = copied(*arguments)
        assert shown.exit_code == 0, shown.output
        assert GONE not in shown.output
    assert copied("session", "search", "support/42", GONE).exit_code == 1
    assert all(GONE.encode() not in path.read_bytes() for path in Path().iterdir())
    assert copied("store", "doctor").exit_code == 0


def test_forgotten_message_keeps_its_place(copied: Callable[..., Result]) -> None:
    """Every other id means what it did, and each message is still accounted for once."""
    before = json.loads(copied("session", "show", "support/42", "m13-m16", "--json").output)["shown"]
    made = json.loads(copied("session", "forget", "support/42", "m14-m15", "--yes", "--json").output)
    assert (made["forgotten"], made["copies"]) == (["m14", "m15"], [])
    after = json.loads(copied("session", "show", "support/42", "m13-m16", "--json").output)["shown"]
    assert [one["id"] for one in after] == ["m13", "m14", "m15", "m16"]
    assert (after[0], after[3]) == (before[0], before[3])
    assert {one["category"] for one in after[1:3]} == {"forgotten"}
    spans = json.loads(copied("session", "explain", "support/42", "--json").output)["spans"]
    assert spans[-1]["last"] == "m95"


def test_forget_says_where_bytes_are_left(copied: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in the way: the words are forgotten all the same, and the store says what to do."""

    def blocked(_store: SqliteStore) -> None:
        raise StoreError("x.db: a program reads an older state; close it")

    assert json.loads(copied("session", "forget", "support/42", "m16", "--yes", "--json").output)["overwritten"] is True
    monkeypatch.setattr(SqliteStore, "scrub", blocked)
    result = copied("session", "forget", "support/42", "m14", "--yes", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["overwritten"] is False
    assert "its bytes are not overwritten yet: x.db: a program reads an older state; close it" in result.stderr


def test_forget_asks_first(copied: Callable[..., Result]) -> None:
    """No is no, and so is nobody there to answer."""
    for answer in ("n\n", ""):
        result = CliRunner().invoke(main, ["session", "forget", "support/42", "m14"], input=answer)
        assert result.exit_code == 1
        assert "Forget 1 message of support/42 (m14) for good?" in result.stderr
    assert GONE in copied("session", "show", "support/42", "m14").output
    assert CliRunner().invoke(main, ["session", "forget", "support/42", "m14"], input="y\n").exit_code == 0
    assert GONE not in copied("session", "show", "support/42", "m14").output


@pytest.mark.parametrize("wrong", ["14", "x", "m9-m3", "s0-90.abcd", "m0-m99999"])
def test_forget_takes_ids_of_messages_only(copied: Callable[..., Result], wrong: str) -> None:
    """Wrong usage, and nothing is gone."""
    assert copied("session", "forget", "support/42", wrong, "--yes").exit_code == 2


def test_forget_of_what_is_not_there_is_no(copied: Callable[..., Result]) -> None:
    """Nothing is forgotten, also not what is there."""
    result = copied("session", "forget", "support/42", "m14", "m96", "--yes")
    assert result.exit_code == 1
    assert "nothing was forgotten" in result.output
    assert GONE in copied("session", "show", "support/42", "m14").output


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

    assert json.loads(run("session", "forget", "ann/1", "m2", "--yes", "--json").output)["facts"] == []
    result = run("session", "forget", "ann/1", "m0", "--yes")
    assert "removed 1 fact that had no other source\n" in result.output
    assert json.loads(run("memory", "list", "--past", "--user", "ann", "--json").output)["memories"] == []
    assert all(b"Lisbon" not in path.read_bytes() for path in Path().iterdir())


def at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return the command line in a folder whose store has two sessions of Ann's, and one of Bob's."""
    monkeypatch.chdir(folder)
    Path("squidbot.toml").write_text('[store]\npath = "talk.db"\n[summary]\nscheduler = "none"\n')
    with squidbot.load() as engine:
        for name, said in (("ann/1", "I live in Lisbon."), ("ann/2", "The tide is high."), ("bob/1", "I like tea.")):
            session = engine.session(name, scope=squidbot.Scope(user=name.partition("/")[0]))
            session.record({"role": "user", "content": said}, "Noted.")
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_whole_session_or_user_is_gone_from_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked first; what is left are the others, and the store is whole."""
    run = at(tmp_path, monkeypatch)
    assert run("session", "forget", "ann/1", "--all").exit_code == 1
    result = run("session", "forget", "ann/1", "--all", "--yes")
    assert result.output.startswith("ann/1: forgotten, the whole session\n")
    assert "squidbot does not know copies made by you or other programs; they remain" in result.output
    assert all(b"Lisbon" not in path.read_bytes() for path in Path().iterdir())
    assert [one["session"] for one in json.loads(run("session", "list", "--json").output)["sessions"]] == [
        "bob/1",
        "ann/2",
    ]
    made = json.loads(run("store", "forget-user", "ann", "--yes", "--json").output)
    assert (made["user"], made["sessions"], made["overwritten"]) == ("ann", ["ann/2"], True)
    assert [one["session"] for one in json.loads(run("session", "list", "--json").output)["sessions"]] == ["bob/1"]
    assert run("store", "doctor").exit_code == 0
    assert run("store", "forget-user", "ann", "--yes").exit_code == 1


def test_facts_and_logs_that_were_written_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And files of several sessions: what squidbot doesn't write anew, it says who does."""
    run = at(tmp_path, monkeypatch)
    assert run("memory", "export", "facts.jsonl").exit_code == 0
    assert run("memory", "notes", "notes").exit_code == 0
    assert run("store", "export", "talks").exit_code == 0
    talks = next(Path("talks").glob("[!.]*"))
    told = unfolded(run("session", "forget", "ann/1", "m1", "--yes", "--files").output)
    for name in ("facts.jsonl", "notes/declarative_notes.yml", "notes/summary_notes.yml"):
        assert unfolded(f"{tmp_path}/{name}: facts or journal entries that may still contain it: remove") in told
    assert unfolded(f"{tmp_path}/{talks}: has several sessions and may still contain it: remove it") in told


def unfolded(text: str) -> str:
    """Return a text without spaces and line ends: a path that is longer than a line is folded anywhere."""
    return "".join(text.split())


@pytest.mark.parametrize("wrong", [[], ["ann/1"], ["ann/1", "m0", "--all"], ["--all"]])
def test_forget_takes_messages_or_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: list[str]) -> None:
    """One of both, or it is wrong usage; a session alone is never taken for all of it."""
    assert at(tmp_path, monkeypatch)("session", "forget", *wrong, "--yes").exit_code == 2


def test_exports_are_listed_and_written_anew_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that squidbot wrote, and nobody has changed since; of a whole session they go."""
    run = at(tmp_path, monkeypatch)
    run("session", "export", "ann/1", "-o", "mine.jsonl")
    run("session", "export", "ann/1", "-o", "changed.md", "--format", "markdown")
    run("session", "export", "ann/2", "-o", "other.jsonl")
    run("store", "backup", "copy.db")
    Path("changed.md").write_text("My own words of Lisbon.")
    run("session", "export", "ann/1", "-o", "changed.md", "--format", "markdown")
    told = " ".join(run("session", "forget", "ann/1", "m1", "--yes").output.split())
    assert f"{tmp_path}/mine.jsonl: an export that may still contain it: --files rewrites it" in told
    assert f"{tmp_path}/copy.db: a backup that may still contain it: remove it" in told
    assert f"{tmp_path}/changed.md: written by squidbot, perhaps changed since" in told
    assert "other.jsonl" not in told
    told = " ".join(run("session", "forget", "ann/1", "m0", "--yes", "--files").output.split())
    assert f"{tmp_path}/mine.jsonl: rewritten" in told
    assert b"Lisbon" not in Path("mine.jsonl").read_bytes()
    assert len(Path("mine.jsonl").read_text().splitlines()) == 2
    assert Path("changed.md").read_text() == "My own words of Lisbon."
    made = json.loads(run("session", "forget", "ann/1", "--all", "--yes", "--files", "--json").output)["files"]
    assert {(Path(one["path"]).name, one["became"]) for one in made} == {
        ("mine.jsonl", "removed"), ("changed.md", "listed"), ("copy.db", "listed"),
    }  # fmt: skip
    assert not Path("mine.jsonl").exists()
