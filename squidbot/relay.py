"""Passes what happens to everybody who listens; what a listener raises never reaches the turn."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.view.assembly import Assembly

__all__ = ["Relay"]

_LOG = logging.getLogger("squidbot")


class Relay:
    """The core's Observer: hands each event, and each finished request, to named listeners in order.

    Where a listener raises, the others are told by the event `degraded`, and the log gets a warning with the traceback.
    """

    def __init__(
        self,
        on_event: Sequence[tuple[str, Callable[[Event], object]]] = (),
        assembled: Sequence[tuple[str, Callable[[Assembly], object]]] = (),
    ) -> None:
        self._on_event = tuple(on_event)
        self._assembled = tuple(assembled)

    def listen(self, name: str, listener: Callable[[Event], object]) -> None:
        """Have one more listen, behind all others."""
        self._on_event = (*self._on_event, (name, listener))

    def notify(self, event: Event) -> None:
        """Hand an event to everybody who listens. Never raises an Exception."""
        for name, listen in self._on_event:
            try:
                listen(event)
            except Exception as error:  # noqa: BLE001  # observers never fail a turn (promise 10); it is told and logged
                self._degraded(name, event, error)

    def assembled(self, assembly: Assembly) -> None:
        """Show a finished request to everybody who listens. Never raises an Exception."""
        for name, listen in self._assembled:
            try:
                listen(assembly)
            except Exception as error:  # noqa: BLE001  # as above
                lease = assembly.lease
                made = Event("assembled", assembly.session_id, "", lease.lease_id, model=lease.model)
                self._degraded(name, made, error)

    def degraded(self, failed: str, hook: str, session_id: str, error: Exception) -> None:
        """Tell all others that an extension's hook has failed. Never raises an Exception."""
        self._degraded(failed, Event(hook, session_id, ""), error)

    def _degraded(self, failed: str, event: Event, error: Exception) -> None:
        _LOG.warning("%s failed at %s; the turn goes on", failed, event.name, exc_info=error)
        cause = f"{failed} failed at {event.name}: {type(error).__name__}: {_said(error)}"
        told = replace(event, name=events.DEGRADED, cause=cause, tokens_before=0, tokens_after=0, fraction=0.0)
        for name, listen in self._on_event:
            if name != failed:
                try:
                    listen(told)
                except Exception as second:  # noqa: BLE001  # telling it again could go on for ever
                    _LOG.warning("%s failed at %s", name, told.name, exc_info=second)


def _said(error: Exception) -> str:
    """Return an error's text; that of a stranger's own class may fail, too."""
    try:
        return f"{error}"
    except Exception:  # noqa: BLE001  # as above
        return "it can't say why"
