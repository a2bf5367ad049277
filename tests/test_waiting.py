"""Waiting for others who write to the same session: real pauses, an end, and everybody gets in."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.transcript import records
from squidbot.wiring import claims
from squidbot.wiring.claims import one_by_one, wait

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ACTS: dict[str, Callable[[squidbot.Session], object]] = {
    "record": lambda session: session.record("Hello"),
    "pin": lambda session: session.pin_text("rule", "Be brief."),
    "goal": lambda session: session.goals.change("set", "Ship it"),
    "document": lambda session: session.context.add("a.md", "The walrus is called Ann."),
}


def test_wait_is_random_and_tells_the_time() -> None:
    """Those who wait for the same do not come again at the same time; none waits longer than asked."""
    times = [wait(0.0), *(wait(0.004) for _ in range(8))]
    assert times == sorted(times)
    assert times[0] <= time.monotonic()
    passed = [round(after - before, 5) for before, after in pairwise(times)]
    assert len(set(passed)) > 1


def test_threads_append_to_one_session_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a session of that name: the store would refuse whoever comes second."""
    monkeypatch.setattr(claims, "APPEND_SECONDS", 60.0)  # none goes on because the machine is busy
    engine = squidbot.load({})
    store, running, most = engine.wired.store, 0, 0
    append = store.append

    def watched(*cells: object) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.002)
        try:
            append(*cells)  # type: ignore[arg-type]
        finally:
            running -= 1

    def speak(number: int) -> None:
        session = engine.session("s")
        for count in range(4):
            session.record(f"{number} says {count}")

    monkeypatch.setattr(store, "append", watched)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(speak, range(4)))
    assert (store.head("s")[0], most) == (16, 1)


def test_who_waits_too_long_for_an_append_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook may wait for another thread that appends to the same session."""
    monkeypatch.setattr(claims, "APPEND_SECONDS", 0.01)
    engine = squidbot.load({})
    with one_by_one(engine.wired.appends_of("s")), ThreadPoolExecutor(1) as pool:
        assert pool.submit(engine.session("s").record, "Hello").result(timeout=30)


@pytest.mark.parametrize("name", ACTS)
def test_writers_that_never_stop_are_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error of its own, after the time that is named, and few tries in it."""
    monkeypatch.setattr(records, "MOST_SECONDS", 0.2)
    passed: list[float] = []  # on a clock of its own: a busy machine takes none of the tries
    monkeypatch.setattr(claims, "time", SimpleNamespace(sleep=passed.append, monotonic=lambda: sum(passed)))
    session = squidbot.load({}).session("s")
    store, tries = session.wired.store, 0
    append = store.append

    def raced(session_id: str, expected_seq: int, messages: object, records: object = ()) -> None:
        nonlocal tries
        tries += 1
        row = replace(squidbot.load({}).session("other").record("I came first")[0], seq=store.head(session_id)[0])
        append(session_id, row.seq, [row])
        append(session_id, expected_seq, messages, records)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "append", raced)
    with pytest.raises(squidbot.BusyError, match=r"^gave up after 0.2 s: other processes keep writing to session 's'"):
        ACTS[name](session)
    assert sum(passed) >= 0.2
    assert 2 < tries < 40


def test_everybody_gets_in(tmp_path: Path) -> None:
    """Several that write to one session at once, each for itself: nobody fails, nothing is lost."""
    settings = {"store": {"path": str(tmp_path / "s.db")}}

    def work(name: int) -> None:
        with squidbot.load(settings) as engine:
            session = engine.session("s")
            for number in range(4):
                session.goals.change("block", f"{name}-{number}")
                session.record(session.assemble(f"{name}-{number}").incoming, "Yes.")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    with squidbot.load(settings) as engine:
        session = engine.session("s")
        assert len(session.goals.goals().blockers) == 16
        assert engine.wired.store.head("s")[0] == 32
