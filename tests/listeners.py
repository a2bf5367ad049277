"""What listens to an engine in tests, and waits for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import squidbot
from squidbot.core.events import DEGRADED

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.events import Event


class Heard:
    """An extension that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        """The names of the events."""
        return [event.name for event in self.events]

    @property
    def degraded(self) -> list[str]:
        """What was told of failures."""
        return self.causes(DEGRADED)

    def of(self, *names: str) -> list[Event]:
        """Return the events of these names, in order."""
        return [event for event in self.events if event.name in names]

    def causes(self, name: str) -> list[str]:
        """Return why events of a name came."""
        return [event.cause for event in self.of(name)]


def until(happened: Callable[[], bool]) -> bool:
    """Wait until something has happened, half a minute at most."""
    ends = time.monotonic() + 30.0
    while not happened() and time.monotonic() < ends:
        time.sleep(0.01)
    return happened()
