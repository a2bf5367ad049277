"""Vectors of durable facts, made behind the writing: by a thread that waits for work, and never holds anybody up."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from squidbot.adapting.evens import known_even
from squidbot.core.errors import LLMError, SquidbotError
from squidbot.core.ports import Calibrated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.ports import Embedder

__all__ = ["Behind", "Guarded"]

_LOG = logging.getLogger("squidbot")
# After a failure: a server that is down is not asked at every fact that is stored.
RETRY_SECONDS = 60.0


class Guarded:
    """An embedder whose foreign errors become ours, chained."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._even: list[float | None] = []

    @property
    def name(self) -> str:
        """Which model made the vectors."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._embedder.dimensions

    @property
    def even(self) -> float | None:
        """By how much the nearest stands out that answers as likely as not; None where nobody measured it.

        A model that is known is recognised by a vector, whoever runs it.

        Raises:
            LLMError: there is none now.
        """
        if not self._even:
            said = self._embedder.even if isinstance(self._embedder, Calibrated) else None
            self._even = [known_even(self) if said is None else said]
        return self._even[0]

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector for each text.

        Raises:
            ContextOverflowError: a text is too long for it.
            LLMError: there are no vectors.
        """
        try:
            return self._embedder.embed(texts)
        except SquidbotError:
            raise
        except Exception as error:
            raise LLMError("unreachable", f"{type(error).__name__}: {error}"[:300]) from error

    def close(self) -> None:
        """Give back what it holds, where it holds anything."""
        close = getattr(self._embedder, "close", None)
        if callable(close):
            close()


class Behind:
    """A thread that does a piece of work each time it is poked, and once more a minute after a failure."""

    def __init__(
        self,
        work: Callable[[Callable[[], bool]], object],
        told: Callable[[str], None],
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """Take the work, which ends soon when what it is given says so, and who is told in a line that it failed."""
        self._work = work
        self._told = told
        self._retry_seconds = retry_seconds
        self._due = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """Have the work done soon; returns at once. Nothing after `stop`."""
        self._due.set()
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="squidbot-vectors", daemon=True)
                self._thread.start()

    def stop(self, timeout_seconds: float | None = 5.0) -> bool:
        """End the thread, and return whether it has ended within the time; it never keeps the process from ending."""
        with self._lock:
            self._stopping.set()
            self._due.set()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout_seconds)
        return not thread.is_alive()

    def _run(self) -> None:
        while self._due.wait() and not self._stopping.is_set():
            self._due.clear()
            if not self._is_done():
                self._stopping.wait(self._retry_seconds)
                self._due.set()

    def _is_done(self) -> bool:
        try:
            self._work(self._stopping.is_set)
        except Exception as error:  # noqa: BLE001  # a thread has nobody to raise to; it is told
            if not self._stopping.is_set():  # else the store was closed under an embedder that answered too late
                _LOG.debug("vectors of memories could not be made", exc_info=error)
                self._told(f"vectors could not be made: {type(error).__name__}: {error}")
            return False
        return True
