"""Windows that refusals have shown, found where sessions are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.config import ModelTable
from squidbot.core.budget import ResolvedWindow
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Record
from squidbot.core.transcript.windows import LEARNED
from squidbot.models import LearnedWindows, learned_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.events import Event

FOUND = ResolvedWindow(32_768, "default", ("32,768 by default",))
BODY = '{"learned_for":"a@ 32768","window_tokens":8192}'


class Heard:
    """Observer: keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)


class Counted(InMemoryStore):
    """A store that counts how often it was looked through."""

    looks = 0

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Count, and look."""
        self.looks += 1
        return super().sessions_with(kind, words)


def test_smallest_window_that_any_session_has_learned_holds() -> None:
    """For this model and this window of the settings; looked for once, and again where one is about to be kept."""
    store = Counted()
    windows = LearnedWindows(store, Heard())
    store.append("one", 0, [], [Record(LEARNED.name, 0, BODY), Record(LEARNED.name, 1, BODY.replace("8192", "6000"))])
    store.append("two", 0, [], [Record(LEARNED.name, 0, BODY)])
    for _ in range(3):
        found = windows.within(FOUND, "a@ 32768")
    assert (found.window_tokens, found.source) == (6000, "overflow")
    assert found.steps == (*FOUND.steps, "limited to 6,000: the provider refused more before")
    assert windows.within(FOUND, "b@ 32768") == FOUND
    assert store.looks == 2
    windows.await_kept("a@ 32768", 5000)
    assert windows.within(ResolvedWindow(4096, "default", ()), "a@ 32768").window_tokens == 4096
    store.append("two", 0, [], [Record(LEARNED.name, 1, BODY.replace("8192", "5000"))])
    for _ in range(3):
        assert windows.within(FOUND, "a@ 32768").window_tokens == 5000
    assert store.looks == 4


def test_learned_windows_that_can_not_be_read_are_none_and_told() -> None:
    """A session is opened all the same; nothing is looked for in a store that finds no sessions by their records."""
    store, heard = InMemoryStore(), Heard()
    store.append("one", 0, [], [Record(LEARNED.name, 0, BODY.replace(":8192", ':"x"'))])
    assert LearnedWindows(store, heard).within(FOUND, "a@ 32768") == FOUND
    assert [event.name for event in heard.events] == ["degraded"]
    assert "learned window 0 can't be read" in heard.events[0].cause
    assert LearnedWindows(object(), heard).within(FOUND, "a@ 32768") == FOUND  # type: ignore[arg-type]  # a poor store


def test_what_it_is_learned_for_names_model_address_and_window() -> None:
    """Where one of them changes, it holds no longer."""
    named = {
        learned_for("m", model, found)
        for model in (ModelTable(), ModelTable(model="x"), ModelTable(url="http://a"), ModelTable(adapter="openai"))
        for found in (FOUND, FOUND._replace(window_tokens=8192))
    }
    assert len(named) == 8


def test_host_goes_on_in_the_smaller_window_that_its_provider_tells(tmp_path: Path) -> None:
    """What was said stays, mode and scope too; another process opens it so, and one that asks for more gets that."""
    settings = {"store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", model="big", mode="planning")
        for number in range(40):
            session.record(*session.assemble(f"{number}: " + "word " * 200).incoming, "well " * 100)
        long = session.assemble("and now?")
        session = session.overflowed(8192)
        short = session.assemble("and now?")
        assert short.report.usage.current_tokens < 8192 < long.report.usage.current_tokens
        assert (session.window.window_tokens, session.window.source, session.mode) == (8192, "overflow", "planning")
        assert f"the provider refused {long.report.usage.current_tokens:,}" in session.window.detail
        assert engine.session("t", model="big").window.window_tokens == 32_768, "nothing was answered in it yet"
        session.record(*short.incoming, "fine")
        assert engine.session("t", model="big").window.window_tokens == 8192
    with squidbot.load(settings) as engine:
        assert engine.session("s", model="big").window == session.window
        assert engine.session("s", model="small").window.window_tokens == 32_768
        assert engine.session("s", model="big", window_tokens=20_000).window.window_tokens == 20_000
        with pytest.raises(BudgetError):
            engine.session("s", model="big").overflowed(1)
