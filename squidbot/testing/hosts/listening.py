"""What squidbot logs and tells while a program is checked."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from squidbot.core import events
from squidbot.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.events import Event

__all__ = ["Told", "listening"]

_LOG: Final = logging.getLogger("squidbot")


class Told(logging.Handler):
    """Keeps warnings of the log, and the causes of the events `degraded`."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.causes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())

    def heard(self, event: Event) -> None:
        """Keep an event."""
        if event.name == events.DEGRADED:
            self.causes.append(event.cause)


@contextmanager
def listening() -> Iterator[Told]:
    """Listen to all of squidbot in this process; nobody else hears it, since what is said then is as it should be."""
    told = Told()
    _LOG.addHandler(told)
    try:
        with patch.object(_LOG, "propagate", new=False), patch.object(Relay, "notify", told.heard):
            yield told
    finally:
        _LOG.removeHandler(told)
