"""Ctrl-C: it stops an answer that is being made, and waits while something is being written down."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["Stopping"]


class Stopping:
    """What becomes of Ctrl-C within a turn. Outside of `turn` it is as it was."""

    def __init__(self) -> None:
        """Nothing is stopped yet."""
        self._listens = False
        self._wanted = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold Ctrl-C back, but inside of `stoppable`; what comes too late for the turn is forgotten with it."""
        if threading.current_thread() is not threading.main_thread():
            yield  # no other thread is told of it
            return
        self._wanted = False
        before = signal.signal(signal.SIGINT, self._told)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C through as a KeyboardInterrupt, also one that came before."""
        self._listens = True
        try:
            if self._wanted:
                raise KeyboardInterrupt
            yield
        finally:
            self._listens = False

    def _told(self, _signal: int, _frame: FrameType | None) -> None:
        self._wanted = True
        if self._listens:
            self._listens = False  # a second one must not break off what is done about the first
            raise KeyboardInterrupt
