"""`squidbot memory journal`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.stdlib import Daybook
from squidbot.cli import main
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.wiring.journal import folder_of
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

# Noon of 2026-11-21 in UTC, in seconds since 1970.
NOON = 1_795_262_400
DAY_SECONDS = 86_400


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return the command, run in a folder with settings and two days of the person's journal, the default."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[journal]\nfolder = "days"\n', encoding="utf-8")
    book = Daybook(tmp_path / "days" / folder_of(machine_user(), "bot"))
    book.append(JournalEntry(NOON, "Chose SQLite.\n---\nIt holds.", "ann", "r1", "s1", ("SQLite",), tags=("store",)))
    book.append(JournalEntry(NOON + 60, "Red \x1b[31m", "bob", open_questions=("when\nthen?",), errors=("it failed",)))
    book.append(JournalEntry(NOON + DAY_SECONDS, "Moved it.", "ann", files_touched=("a.py",), tags=("store", "move")))
    return lambda *arguments: CliRunner().invoke(main, ["memory", "journal", *arguments])


def _summaries(result: Result) -> list[str]:
    return [one["summary"].split()[0] for one in json.loads(result.stdout)["entries"]]


def test_newest_entries_are_shown_first_across_days(shown: Callable[..., Result]) -> None:
    """When, whose, of what; what was done, open, decided; nothing that a terminal obeys (V21)."""
    result = shown()
    assert result.exit_code == 0
    assert (
        result.stdout
        == """\
2026-11-22 12:00:00 UTC  ann  #store  #move
  Moved it.
  files: a.py

2026-11-21 12:01:00 UTC  bob
  Red ?[31m
  open: when then?
  failed: it failed

2026-11-21 12:00:00 UTC  ann  r1  s1  #store
  Chose SQLite.
  ---
  It holds.
  decided: SQLite
"""
    )


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ([], ["Moved", "Red", "Chose"]),
        (["--limit", "2"], ["Moved", "Red"]),
        (["--tag", "store"], ["Moved", "Chose"]),
        (["--tag", "store", "--limit", "1"], ["Moved"]),
        (["--agent", "bob"], ["Red"]),
        (["--day", "2026-11-21"], ["Chose", "Red"]),
        (["--day", "2026-11-21", "--tag", "store"], ["Chose"]),
        (["--day", "2026-11-21", "--limit", "1"], ["Chose"]),
        (["--day", "2026-11-21", "--agent", "bob"], ["Red"]),
    ],
)
def test_options_say_which_entries_are_shown(
    shown: Callable[..., Result], arguments: list[str], due: list[str]
) -> None:
    """Newest first; of a day as they came."""
    assert _summaries(shown(*arguments, "--json")) == due


def test_json_has_all_of_an_entry(shown: Callable[..., Result]) -> None:
    """Its line's own keys, and the time as a number."""
    found = json.loads(shown("--json", "--limit", "1").stdout)
    assert (found["folder"].endswith(folder_of(machine_user(), "bot")), found["faults"]) == (True, [])
    assert found["entries"] == [
        {
            "time": NOON + DAY_SECONDS,
            "timestamp": "2026-11-22T12:00:00Z",
            "agent_id": "ann",
            "run_id": "",
            "summary": "Moved it.",
            "decisions": [],
            "progress": [],
            "open_questions": [],
            "files_touched": ["a.py"],
            "errors": [],
            "tags": ["store", "move"],
            "source_session": "",
            "token_usage": None,
        }
    ]


def test_markdown_has_a_heading_for_each(shown: Callable[..., Result]) -> None:
    """As a page to keep."""
    result = shown("--markdown", "--tag", "move")
    assert result.stdout == "## 12:00:00Z\n\n- ann · #store · #move\n\n> Moved it.\n\n**Files**\n\n- a.py\n"


def test_nothing_found_is_no(shown: Callable[..., Result], tmp_path: Path) -> None:
    """Exit code 1, in one line; and no folder is made by looking."""
    for arguments in (["--tag", "none"], ["--day", "2020-01-01"], ["--folder", "nowhere"]):
        result = shown(*arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.count("\n") == 1
        assert json.loads(shown(*arguments, "--json").stdout)["entries"] == []
    assert not (tmp_path / "nowhere").exists()


def test_day_that_is_none_is_refused(shown: Callable[..., Result]) -> None:
    """Wrong usage, with how to write it."""
    result = shown("--day", "../squidbot")
    assert result.exit_code == 2
    assert "--day: '../squidbot' is not a day; write it as 2026-01-27" in result.stderr


def test_damaged_line_is_told_and_the_others_are_shown(shown: Callable[..., Result], tmp_path: Path) -> None:
    """Exit code 4, with file and line."""
    with next(tmp_path.glob("days/*/2026-11-22.jsonl")).open("a") as file:
        file.write('{"timestamp": "2026-11-22T13')
    result = shown()
    assert result.exit_code == 4
    assert (
        "2026-11-22.jsonl:2: not a journal entry: invalid JSON or truncated; 28 bytes, left as they are"
        in result.stderr
    )
    assert "Moved it." in result.stdout
    found = shown("--json", "--day", "2026-11-22")
    assert (found.exit_code, len(json.loads(found.stdout)["faults"])) == (4, 1)


def test_journal_of_a_user_is_shown_alone(shown: Callable[..., Result], tmp_path: Path) -> None:
    """What is done for one user has a folder of its own; nobody else's is shown with it."""
    with squidbot.load(tmp_path / "squidbot.toml") as engine:
        engine.journal(Scope(user="zoe")).append(JournalEntry(NOON, "For zoe."))
    assert _summaries(shown("--user", "zoe", "--json")) == ["For"]
    assert "For" not in _summaries(shown("--json"))
    nobody = shown("--user", "max")
    assert (nobody.exit_code, nobody.stdout) == (1, "")
    assert "no such entries" in nobody.stderr
