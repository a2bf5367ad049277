"""What looks at the machine, and what is told of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from squidbot.core.devices import Probed
    from squidbot.core.events import Event

__all__ = ["GpuProbe", "Observer"]


class GpuProbe(Protocol):
    """Looks for devices that a model could be put on; never called on a request's way."""

    @property
    def name(self) -> str:
        """Its name in settings and in `Device.source`."""

    def probe(self) -> Probed:
        """Return what is there now, by number, and what each source that was tried said. Never raises."""


class Observer(Protocol):
    """Is told what happened. What it returns or raises never reaches the turn."""

    def notify(self, event: Event) -> None:
        """Take one event."""
