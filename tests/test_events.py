"""What real sessions, in SQLite, tell their listeners."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events

from .listeners import Heard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def heard() -> Heard:
    """A listener."""
    return Heard()


def loaded(folder: Path, heard: object, **settings: object) -> squidbot.Engine:
    """Return an engine over a file, with a listener or an extension."""
    return squidbot.load({"store": {"path": str(folder / "s.db")}, **settings}, extensions=[heard])


def test_engine_tells_that_it_started_and_that_it_stopped(tmp_path: Path, heard: Heard) -> None:
    """Once each, in no session, however often it is closed (O-16)."""
    with loaded(tmp_path, heard) as engine:
        assert [(event.name, event.session_id, event.cause) for event in heard.events] == [
            (events.STARTED, "", "settings: argument")
        ]
        engine.close()
    assert [event.name for event in heard.events] == [events.STARTED, events.STOPPED]


def test_session_in_another_window_tells_of_both_windows_and_tiers(tmp_path: Path, heard: Heard) -> None:
    """The old window is closed, the new one opened, its size and its tier are told, with model and scope (O-16)."""
    anna = squidbot.Scope(user="anna")
    with loaded(tmp_path, heard) as engine:
        engine.session("s", window_tokens=16384, model="large", scope=anna).record("Hello.")
        engine.session("s", window_tokens=8192, model="small", scope=anna).record("Hello again.")
    told = [(event.name, event.model, event.tokens_before, event.tokens_after) for event in heard.events[1:-1]]
    assert told == [
        (events.LEASE_OPENED, "large", 0, 0),
        (events.LEASE_CLOSED, "large", 16384, 16384),
        (events.LEASE_OPENED, "small", 0, 0),
        (events.CONTEXT_RECALCULATED, "small", 16384, 8192),
        (events.TIER_CHANGED, "small", 16384, 8192),
    ]
    assert {event.scope for event in heard.events[1:-1]} == {anna}
    first, last = heard.of(events.LEASE_OPENED)
    assert heard.of(events.LEASE_CLOSED)[0].window_id == first.window_id != last.window_id
    assert heard.of(events.TIER_CHANGED)[0].cause == "3 Standard -> 2 Basic"


def test_window_that_an_extension_brings_is_told_as_found_and_as_a_setting(tmp_path: Path) -> None:
    """Once, however many sessions are opened with the model; a window that settings name is not found (O-16)."""

    class Knows(Heard):
        @squidbot.hookimpl
        def resolve_model(self, alias: str) -> dict[str, object] | None:
            return {"context_window": 9000} if alias == "mine" else None

        @squidbot.hookimpl
        def size_window(self, alias: str) -> int | None:
            return 6000 if alias == "mine" else None

    heard = Knows()
    with loaded(tmp_path, heard) as engine:
        for session_id in ("a", "b"):
            engine.session(session_id, model="mine")
        engine.session("c", model="other")
    assert [(one.cause.split(" by ")[0], one.model) for one in heard.of(events.CONFIG_UPDATED)] == [
        ("models.mine", "mine")
    ]
    (found,) = heard.of(events.CONTEXT_DISCOVERED)
    assert (found.model, found.tokens_before, found.tokens_after) == ("mine", 6000, 6000)
    assert found.cause.startswith("extension: ")


def test_window_that_a_refusal_shows_is_told_as_found(tmp_path: Path, heard: Heard) -> None:
    """Of a provider that takes less than settings say (O-16)."""
    with loaded(tmp_path, heard) as engine:
        session = engine.session("s", model="m")
        session.assemble("Hello")
        session.overflowed(8192)
    (found,) = heard.of(events.CONTEXT_DISCOVERED)
    assert (found.tokens_after, found.cause.split(":")[0]) == (8192, "overflow")


def test_long_talk_tells_what_its_plans_break_and_which_summaries_age(tmp_path: Path, heard: Heard) -> None:
    """Each with the plan that did it, in a session that is opened anew in between (O-16)."""
    for _ in range(2):
        with loaded(tmp_path, heard) as engine:
            session = engine.session("s", window_tokens=16384)
            for turn in range(45):
                asked = session.assemble(f"question {turn}: " + "what becomes of part " * 30)
                session.record(asked.incoming, f"answer {turn}: " + "because of this and that " * 60)
    plans = {one.plan_id for one in heard.of(events.VIEW_PLAN_CHANGED)}
    broken, aged = heard.of(events.PREFIX_BROKEN), heard.of(events.CHECKPOINT_AGED)
    assert {one.plan_id for one in broken} == plans
    assert all(one.tokens_after < one.tokens_before for one in broken)
    assert aged
    assert {one.plan_id for one in aged} < plans
    assert all(one.cause.startswith("m") and " -> " in one.cause for one in aged)


TOLD_OF_PLANS = (events.VIEW_PLAN_CHANGED, events.PREFIX_BROKEN, events.COMPRESSED)
KILLED = """
import os, signal, sys
import squidbot
engine = squidbot.load({"store": {"path": sys.argv[1]}, "summary": {"scheduler": "none"}})
session = engine.session("talk", window_tokens=4096)
for number in range(99):
    made = session.assemble(f"turn {number} " + "word " * 60)
    if made.event:
        print(made.event.plan_id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    session.record(made.incoming, "answer " * 60)
"""


def test_plan_of_a_process_that_was_killed_is_told_by_the_next(tmp_path: Path, heard: Heard) -> None:
    """What the one that stored it would have told, with the plan's id; until a request under it is recorded, once."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "s.db")]
    plan_id = int(subprocess.run(command, check=False, capture_output=True, text=True).stdout)
    with loaded(tmp_path, heard) as engine:
        session = engine.session("talk", window_tokens=4096)
        assert heard.of(*TOLD_OF_PLANS) == []
        session.assemble("Hello again.")
        assert {(one.name, one.plan_id, one.cause) for one in heard.of(*TOLD_OF_PLANS)} == {
            (name, plan_id, "high-water") for name in TOLD_OF_PLANS
        }
        session.record(session.assemble("Hello.").incoming, "Hi.")
        assert len(heard.of(*TOLD_OF_PLANS)) == 3
    with loaded(tmp_path, heard) as engine:
        engine.session("talk", window_tokens=4096).assemble("And now?")
        assert len(heard.of(*TOLD_OF_PLANS)) == 3
