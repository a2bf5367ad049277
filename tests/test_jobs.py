"""Summaries by a language model beside the sessions of an engine."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import StoreError
from squidbot.testing.models import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.messages import Completion

GOOD = "<summary>They went through it step by step, and explained why.</summary>"


class Heard:
    """An extension that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def named(self, name: str) -> list[Event]:
        """Return the events of a name."""
        return [one for one in self.events if one.name == name]


def talk(session: squidbot.Session, turns: int, start: int = 0) -> set[str]:
    """Have a conversation, and return the ids of the summaries that its requests show."""
    shown: set[str] = set()
    for turn in range(start, start + turns):
        assembly = session.assemble(f"question {turn}: " + "please look at it " * 40, now=float(turn))
        session.record(assembly.incoming, f"answer {turn}: " + "because of this and that " * 80, now=float(turn))
        shown.update(part.summary_id for part in assembly.core.parts if part.summary_id)
    return shown


def until(happened: Callable[[], bool]) -> bool:
    """Wait until something has happened, a few seconds at most."""
    ends = time.monotonic() + 10.0
    while not happened() and time.monotonic() < ends:
        time.sleep(0.01)
    return happened()


def by_model(session: squidbot.Session) -> list[str]:
    """Return the ids of the summaries of a session that a model wrote."""
    found = session.wired.store.for_range(session.session_id, 0, 10**9)
    return [one.summary_id for one in found if one.by_model]


def test_summaries_are_written_on_demand_and_shown_after_the_next_event(tmp_path: Path) -> None:
    """In a file that another process opens: nothing that was done is due there."""
    settings = {"store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        jobs = squidbot.Jobs(ScriptedLLM(GOOD))
        due = jobs.due(session, now=50.0)
        assert due
        done = jobs.run(session, now=50.0)
        assert [one.job for one in done] == list(due)
        assert {one.summary.made_by for one in done if one.summary} == {"llm/scripted/developer-1"}
        shown = talk(session, 40, 50)
    assert shown & {one.summary.summary_id for one in done if one.summary}
    with squidbot.load(settings) as engine:
        again = engine.session("s", window_tokens=16_384)
        made = {(job.first_seq, job.level) for job in squidbot.Jobs(ScriptedLLM(GOOD)).due(again, now=90.0)}
        assert made.isdisjoint((job.first_seq, job.level) for job in due)


class Broken:
    """A model that fails as no model of ours would."""

    name = "broken"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail."""
        raise RuntimeError("the socket is gone")


def test_foreign_failure_is_an_event_and_the_turn_goes_on() -> None:
    """The notes by rule stand."""
    heard = Heard()
    with squidbot.load({}, extensions=[heard]) as engine:
        session = engine.session("s", window_tokens=16_384)
        talk(session, 50)
        (done,) = squidbot.Jobs(Broken()).run(session, limit=1)
        assert done.summary is None
        assert done.why == "unreachable: RuntimeError: the socket is gone"
        (told,) = heard.named(events.COMPRESSION_ERROR)
        assert told.cause.endswith(done.why)
        assert talk(session, 20, 50)
        assert by_model(session) == []


def test_one_session_is_worked_on_once_at_a_time() -> None:
    """Whoever comes second has nothing to do, and another session is free; a model that hangs holds up no turn."""
    asked, answer = threading.Event(), threading.Event()

    def slow(_system: str, _prompt: str) -> str:
        asked.set()
        assert answer.wait(10.0)
        return GOOD

    with squidbot.load({}) as engine:
        one, two = (engine.session(name, window_tokens=16_384) for name in ("one", "two"))
        talk(one, 50)
        talk(two, 50)
        jobs = squidbot.Jobs(ScriptedLLM(slow))
        thread = threading.Thread(target=jobs.run, args=(one,), kwargs={"limit": 1}, daemon=True)
        thread.start()
        assert asked.wait(10.0)
        assert jobs.run(one) == ()
        talk(one, 1, 50)
        answer.set()
        assert len(jobs.run(two, limit=1)) == 1
        thread.join(10.0)
        assert len(by_model(one)) == 1
        assert jobs.run(one, limit=1)


def test_thread_works_when_it_is_poked_and_ends_when_it_is_told() -> None:
    """On the sessions that are watched; it can be started again."""
    with squidbot.load({}) as engine, squidbot.Jobs(ScriptedLLM(GOOD)) as jobs:
        watched, other = (engine.session(name, window_tokens=16_384) for name in ("watched", "other"))
        talk(watched, 50)
        talk(other, 50)
        jobs.watch(watched)
        for _ in range(2):
            jobs.start()
            jobs.start()
            jobs.poke()
            assert until(lambda: not jobs.due(watched))
            assert jobs.stop()
        assert by_model(watched)
        assert by_model(other) == []
        jobs.leave(watched)
    assert jobs.stop()


def test_thread_looks_for_blocks_before_a_pause_at_its_interval() -> None:
    """Nobody pokes it."""
    with squidbot.load({}) as engine, squidbot.Jobs(ScriptedLLM(GOOD)) as jobs:
        session = engine.session("s", window_tokens=131_072)
        talk(session, 12)
        assert jobs.due(session) == ()
        assert jobs.due(session, reason="schedule")
        jobs.watch(session)
        jobs.start(0.02)
        assert until(lambda: bool(by_model(session)))


@pytest.mark.filterwarnings("default")
def test_thread_lives_on_where_a_store_fails() -> None:
    """The others are told, and the next session has its turn."""
    heard = Heard()
    with squidbot.load({}, extensions=[heard]) as engine, squidbot.Jobs(ScriptedLLM(GOOD)) as jobs:
        bad, good = (engine.session(name, window_tokens=16_384) for name in ("bad", "good"))
        talk(bad, 50)
        talk(good, 50)
        put = engine.wired.store.put

        def refuse(summary: object) -> None:
            if getattr(summary, "session_id", "") == "bad":
                raise StoreError("the disk is full; nothing was written")
            put(summary)  # type: ignore[arg-type]  # a summary

        engine.wired.store.put = refuse  # type: ignore[method-assign]
        jobs.watch(bad)
        jobs.watch(good)
        jobs.start()
        jobs.poke()
        assert until(lambda: bool(by_model(good)) and bool(heard.named(events.DEGRADED)))
        assert jobs.stop()
    assert heard.named(events.DEGRADED)[0].session_id == "bad"
