"""Turns of real sessions, in SQLite, as they are written to a file."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event

CALL = {"id": "c1", "type": "function", "function": {"name": "notes", "arguments": '{"action": "read", "page": 3}'}}


def loaded(folder: Path, **debug: str) -> squidbot.Engine:
    """Return an engine over a file, whose turns are written to turns.txt."""
    log = {"turn_log": str(folder / "turns.txt"), **debug}
    return squidbot.load({"store": {"path": str(folder / "s.db")}, "debug": log})


def parts(text: str) -> list[dict[str, object]]:
    """Return the JSON of each turn of a log."""
    return [json.loads(one.partition("\nJSON\n")[2]) for one in text.split("=" * 100 + "\n")[1:]]


def test_turn_is_written_with_its_tool_calls_when_it_is_answered(tmp_path: Path) -> None:
    """Request, calls with parameters and result, response, budget part by part, all of it as JSON (B-50, B-23)."""
    with loaded(tmp_path) as engine:
        session = engine.session("s", window_tokens=8192)
        asked = session.assemble("What is on page 3?", system="Be short.")
        session.record(asked.incoming, {"role": "assistant", "content": "", "tool_calls": [CALL]})
        assert not (tmp_path / "turns.txt").exists()
        asked = session.assemble({"role": "tool", "tool_call_id": "c1", "content": "Buy milk."}, system="Be short.")
        session.record(asked.incoming, "Milk.", usage={"prompt_tokens": 40, "completion_tokens": 3})
    text = (tmp_path / "turns.txt").read_text(encoding="utf-8")
    for line in (
        "REQUEST MESSAGES",
        "  #0 [system] Be short.",
        "  #1 [user] What is on page 3?",
        "  #0 to #1 as in the request before",
        "TOOL CALLS (1 call across 1 iteration)",
        "[1] Tool: notes",
        "    Action: read",
        '    Parameters: {"action": "read", "page": 3}',
        "    Result (9 chars):",
        "Buy milk.",
        "RESPONSE",
        "Milk.",
        "  window         8,192  input and output",
    ):
        assert line in text.splitlines()
    (turn,) = parts(text)
    assert turn["tool_calls"] == [
        {
            "tool": "notes",
            "action": "read",
            "parameters": {"action": "read", "page": 3},
            "result": "Buy milk.",
            "iteration": 1,
        }
    ]
    budget = turn["budget"]
    assert isinstance(budget, dict)
    made_of = ("system", "tools", "head", "notes", "history")
    assert sum(budget[name] for name in made_of) == budget["request"]
    assert budget["window"] == 8192
    assert (turn["response"], turn["turn"]) == ("Milk.", 0)


def test_later_turns_stand_behind_and_tell_what_is_new(tmp_path: Path) -> None:
    """Whoever opens the session anew writes to the same file; only its owner may read it (B-50)."""
    for said in ("One?", "Two?"):
        with loaded(tmp_path) as engine:
            session = engine.session("s")
            for _ in range(2):
                session.record(session.assemble(said).incoming, "So.")
    path = tmp_path / "turns.txt"
    found = parts(path.read_text(encoding="utf-8"))
    assert [turn["turn"] for turn in found] == [0, 2, 4, 6]
    new = [[line["place"] for line in turn["requests"][0]["new"]] for turn in found]  # type: ignore[index]
    assert new == [[0], [1, 2], [0, 1, 2, 3, 4], [5, 6]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_turn_that_is_left_open_is_written_as_far_as_it_went(tmp_path: Path) -> None:
    """When the user says something else: its call has no result (B-50)."""
    with loaded(tmp_path) as engine:
        session = engine.session("s")
        session.record(session.assemble("Look.").incoming, {"role": "assistant", "content": "", "tool_calls": [CALL]})
        session.record(session.assemble("Never mind.").incoming, "Good.")
    text = (tmp_path / "turns.txt").read_text(encoding="utf-8")
    first, last = parts(text)
    assert [call["result"] for call in first["tool_calls"]] == [None]  # type: ignore[attr-defined]
    assert "    Result: none is recorded" in text
    assert last["response"] == "Good."


def test_turn_goes_on_when_its_log_cannot_be_written(tmp_path: Path) -> None:
    """Told once, by `degraded`."""
    told: list[Event] = []

    class Host:
        @squidbot.hookimpl
        def on_event(self, event: Event) -> None:
            told.append(event)

    (tmp_path / "logs").mkdir()
    settings = {"debug": {"turn_log": str(tmp_path / "logs" / "turns.txt")}}
    session = squidbot.load(settings, extensions=[Host()]).session("s")
    (tmp_path / "logs").rmdir()
    for _ in range(2):
        session.record(session.assemble("Hello").incoming, "Hi.")
    causes = [event.cause for event in told if event.name == events.DEGRADED]
    assert len(causes) == 1
    assert causes[0].startswith("cannot write the turn log: ")


def test_place_that_cannot_hold_a_log_is_a_wrong_setting(tmp_path: Path) -> None:
    """A folder, or a file in none: said when the engine is made."""
    with pytest.raises(ConfigError, match=r"debug.turn_log must be a file, not the folder .* @ argument\.debug"):
        squidbot.load({"debug": {"turn_log": str(tmp_path)}})
    with pytest.raises(ConfigError, match=r"^no such folder: .*; create it, or choose another file @ argument\."):
        squidbot.load({"debug": {"turn_log": str(tmp_path / "none" / "turns.txt")}})
