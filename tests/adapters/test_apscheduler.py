"""The timer over the real APScheduler."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.testing.models import ScriptedLLM

pytest.importorskip("apscheduler", reason="the extra apscheduler is not installed")

from squidbot.adapters.apscheduler import ApschedulerTimer

from ..listeners import until

if TYPE_CHECKING:
    from squidbot.hookspecs import Register


def others() -> set[threading.Thread]:
    """Return the threads that there are; one of an earlier test may still be about to end."""
    return set(threading.enumerate())


def test_timer_calls_at_its_interval_until_it_is_stopped() -> None:
    """And none of its threads is left; it can be started again."""
    before, calls = others(), threading.Semaphore(0)
    timer = ApschedulerTimer()
    timer.stop()
    for _ in range(2):
        timer.start(calls.release, 0.02)
        assert calls.acquire(timeout=30.0)
        assert calls.acquire(timeout=30.0)
        timer.stop()
        timer.stop()
        assert others() <= before
    while calls.acquire(blocking=False):
        pass
    time.sleep(0.1)
    assert not calls.acquire(blocking=False)


def test_timer_has_one_scheduler_however_often_it_is_started() -> None:
    """The earlier one is gone."""
    before, first, second = others(), threading.Event(), threading.Event()
    timer = ApschedulerTimer()
    timer.start(first.set, 3600.0)
    timer.start(second.set, 0.02)
    assert second.wait(30.0)
    assert not first.is_set()
    timer.stop()
    assert others() <= before


class Brings:
    """An extension that offers a language model."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        answer = "<summary>Each question got its answer, after a look at it.</summary>"
        register.llm("mine", lambda _: ScriptedLLM(answer))


def test_engine_looks_for_blocks_before_a_pause_when_the_timer_says_so() -> None:
    """By the settings alone; closing the engine leaves no thread behind."""
    before = others()
    settings = {"summary": {"llm": "mine", "scheduler": "apscheduler", "interval_minutes": 0.005}}
    with squidbot.load(settings, extensions=[Brings()]) as engine:
        session = engine.session("s", window_tokens=131_072)
        for turn in range(12):
            assembly = session.assemble(f"question {turn}: " + "please look at it " * 40, now=float(turn))
            session.record(assembly.incoming, f"answer {turn}: " + "because of this and that " * 80, now=float(turn))
        assert until(lambda: any(one.by_model for one in engine.wired.store.for_range("s", 0, 10**9)))
    assert others() <= before
