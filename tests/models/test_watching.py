"""GPUs under an open model are watched: what runs short is told, nothing is resized, and nothing is left behind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.devices import Device, ProbeResult
from squidbot.models import MemoryWatch
from squidbot.testing import offline_chat_model

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.hookspecs import Register

TOTAL = 1000 * 2**20
MEMORY_EVENTS = {"low-memory", "memory-warning", "memory-critical", "memory-emergency"}


class Card:
    """One GPU whose use can be set, as probe, extension and observer at once."""

    name = "card"

    def __init__(self, used_fraction: float | None) -> None:
        self.used_fraction = used_fraction
        self.heard: list[Event] = []
        self.looked = threading.Semaphore(0)

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.probe(self.name, lambda: self)

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.notify(event)

    def notify(self, event: Event) -> None:
        """Keep it."""
        self.heard.append(event)

    def probe(self) -> ProbeResult:
        """Return it as it is now; none where its use is None."""
        self.looked.release()
        if self.used_fraction is None:
            return ProbeResult((), ())
        free = round(TOTAL * (1 - self.used_fraction))
        return ProbeResult((Device(0, "", "Card", "nvidia", TOTAL, free, unified=False, source=self.name),), ())

    def names(self) -> list[str]:
        """Return the memory events told so far."""
        return [event.name for event in self.heard if event.name in MEMORY_EVENTS]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of a tiny model."""
    return str(offline_chat_model(tmp_path / "tiny.gguf"))


def settings(path: str, watch_seconds: float) -> dict[str, object]:
    """Return settings whose one model is opened by the wheel's runtime."""
    return {
        "gpu": {"probe": Card.name, "watch_seconds": watch_seconds},
        "window": {"vram_margin_mib": 0},
        "models": {"tiny": {"path": path, "adapter": "xllamacpp", "context_window": 512}},
    }


def threads() -> list[str]:
    """Return the names of this process's watching threads."""
    return [thread.name for thread in threading.enumerate() if thread.name == "squidbot-memory"]


def test_levels_above_that_after_loading_are_told() -> None:
    """O-01, O-13: what the model itself takes is no news; each rise is, with its share; no event resizes."""
    card = Card(0.5)
    watch = MemoryWatch(card.probe, card, 0, 60)
    for now, used in enumerate((0.5, 0.69, 0.7, 0.84, 0.85, 0.96)):
        card.used_fraction = used
        watch.look(100.0 * now)
    assert card.names() == ["low-memory", "memory-warning", "memory-critical", "memory-emergency"]
    assert [round(event.fraction, 2) for event in card.heard] == [0.7, 0.7, 0.85, 0.96]
    assert all("the window stays as it is" in event.cause for event in card.heard)


def test_level_right_after_loading_is_no_event() -> None:
    """A model that fills the card to 90 %: nothing is told until it gets worse."""
    card = Card(0.9)
    watch = MemoryWatch(card.probe, card, 0, 60)
    watch.look(100.0)
    assert card.names() == []
    card.used_fraction = 0.97
    watch.look(200.0)
    assert card.names() == ["memory-emergency"]


def test_engine_watches_a_model_that_it_opened(path: str) -> None:
    """In a thread that looks again and again, tells all who listen, and ends with the engine."""
    card = Card(0.1)
    with squidbot.load(settings(path, 0.01), extensions=[card]) as engine:
        window = engine.session("s", model="tiny").window
        engine.model("tiny")
        assert threads() == ["squidbot-memory"]
        card.used_fraction = 0.99
        while "memory-emergency" not in card.names():
            assert card.looked.acquire(timeout=60)
        assert engine.session("t", model="tiny").window.window_tokens == window.window_tokens
    assert threads() == []


def test_level_right_after_loading_stands_in_the_lease(path: str) -> None:
    """It is the window's own doing: told where the window is, and by no memory event; without a watch by nobody."""
    pytest.importorskip("xllamacpp")
    card = Card(0.75)
    with squidbot.load(settings(path, 60), extensions=[card]) as engine:
        engine.model("tiny")
        session = engine.session("s", model="tiny")
        session.record({"role": "user", "content": "hello"})
        assert session.window.detail.endswith("; after loading device 0 WARNING")
    (opened,) = [event for event in card.heard if event.name == "lease-opened"]
    assert opened.cause.endswith("after loading device 0 WARNING")
    assert card.names() == []
    with squidbot.load(settings(path, 0), extensions=[card]) as engine:
        engine.model("tiny")
        assert "after loading" not in engine.session("s", model="tiny").window.detail


def test_nothing_is_watched_where_there_is_nothing_to_watch(path: str) -> None:
    """No GPU, or watching switched off: no thread."""
    for card, seconds in ((Card(None), 0.01), (Card(0.1), 0)):
        with squidbot.load(settings(path, seconds), extensions=[card]) as engine:
            engine.model("tiny")
            assert threads() == []


def test_host_that_loads_a_model_itself_starts_it(path: str) -> None:
    """Once: a second call takes what there is then as it should be."""
    card = Card(0.1)
    with squidbot.load(settings(path, 60), extensions=[card]) as engine:
        engine.watch_memory()
        engine.watch_memory()
        assert threads() == ["squidbot-memory"]
    assert threads() == []
