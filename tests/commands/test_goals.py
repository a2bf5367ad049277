"""`squidbot session goals`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import squidbot

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_goals_of_a_session_are_shown(copied: Callable[..., Result]) -> None:
    """What calls set and what lines mark, the active goal first; and as JSON (O-18)."""
    session = squidbot.load(Path("squidbot.toml")).session("support/43")
    book = session.goals
    book.change("set", "Old one")
    book.change("set", "Ship it")
    book.change("milestone", "Lexer", done=True)
    book.change("lock", "Rust only")
    session.record({"role": "assistant", "content": "[ARTIFACT] Created a.py\n[NEXT] Write tests"})
    shown = copied("session", "goals", "support/43")
    assert shown.exit_code == 0
    assert [one.strip() for one in shown.output.splitlines()] == [
        "support/43: goal: Ship it",
        "milestone (reached): Lexer",
        "decision (locked): Rust only",
        "artifact: Created a.py",
        "next: Write tests",
        "replaced: Old one",
    ]
    told = json.loads(copied("session", "goals", "support/43", "--json").output)
    assert told == {
        "session": "support/43",
        "goal": "Ship it",
        "next": "Write tests",
        "milestones": [{"text": "Lexer", "reached": True}],
        "decisions": [{"text": "Rust only", "locked": True}],
        "architecture": [],
        "artifacts": ["Created a.py"],
        "blockers": [],
        "ended": [{"goal": "Old one", "how": "replaced"}],
    }


def test_session_without_goals_is_a_no(run: Callable[..., Result]) -> None:
    """Exit code 1; of a session that is not there, too."""
    shown = run("session", "goals", "support/43")
    assert shown.exit_code == 1
    assert shown.output == "support/43: no goal is active\n"
    assert run("session", "goals", "nobody").exit_code == 1


def test_goals_are_changed_from_the_command_line(copied: Callable[..., Result]) -> None:
    """Each change shows what there is then; what is wrong says what to do (O-07, O-18)."""
    assert copied("session", "goals", "support/43", "set", "Ship it").output == "support/43: goal: Ship it\n"
    assert (
        "milestone (reached): Lexer" in copied("session", "goals", "support/43", "milestone", "Lexer", "--done").output
    )
    assert "decision (locked): Rust" in copied("session", "goals", "support/43", "lock", "Rust").output
    assert "decision: Rust" in copied("session", "goals", "support/43", "unlock", "rust").output
    assert "architecture: One store" in copied("session", "goals", "support/43", "architecture", "One store").output
    assert "Lexer" not in copied("session", "goals", "support/43", "forget", "Lexer").output
    assert "closed: Ship it" in copied("session", "goals", "support/43", "close").output
    wrong = copied("session", "goals", "support/43", "unlock", "C++")
    assert wrong.exit_code == 1
    assert "no decision of that name is locked" in wrong.output
    assert copied("session", "goals", "support/43", "set").exit_code == 2
    assert "is not one of" in copied("session", "goals", "support/43", "dance").output
    assert "no goal 'walrus' was set by call" in copied("session", "goals", "support/43", "forget", "walrus").output
    assert copied("session", "goals", "nobody", "set", "x").exit_code == 1
