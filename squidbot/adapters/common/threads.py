"""Lets one of several threads compute at a time, while the others wait for stores, models and each other.

Python runs one thread at a time. An event loop that becomes ready waits up to 5 ms for one thread that computes, but up
to 100 ms for two, because these take turns with each other, too. So each call of ours in a thread holds a lock while it
computes, and gives it up while it waits.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# A call that has computed for longer lets the next call compute, and after this rest the event loop.
SLICE_SECONDS: Final = 0.01
STRETCH_SECONDS: Final = 0.002
REST_SECONDS: Final = 0.00005
# A call computes without the lock if it can't have it for so long: the holder may wait for a lock that this call holds,
# such as one of an extension.
MOST_SECONDS: Final = 2.0


class FairLock:
    """A lock that threads get in the order in which they ask; its holder can take it again."""

    def __init__(self) -> None:
        self._inner = threading.Lock()
        self._holder, self._depth = 0, 0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    @property
    def is_held(self) -> bool:
        """Whether this thread holds it."""
        return self._holder == threading.get_ident()

    @property
    def is_wanted(self) -> bool:
        """Whether a thread waits for it."""
        return bool(self._waiting)

    def acquire(self, timeout_seconds: float = -1) -> bool:
        """Take it, and return whether this thread holds it; a negative timeout waits for as long as needed."""
        thread = threading.get_ident()
        if self._holder == thread:
            self._depth += 1
            return True
        with self._inner:
            if not self._holder:
                self._holder, self._depth = thread, 1
                return True
            if not timeout_seconds:
                return False
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((thread, turn))
        try:
            if turn.acquire(timeout=timeout_seconds):
                return True
        except BaseException:  # a signal
            if self._leave(thread, turn):
                self.release()
            raise
        return self._leave(thread, turn)

    def release(self) -> None:
        """Give it to the thread that has waited longest."""
        self._depth -= 1
        if self._depth:
            return
        with self._inner:
            self._holder = 0
            if self._waiting:
                self._holder, turn = self._waiting.popleft()
                self._depth = 1
                turn.release()

    def _leave(self, thread: int, turn: threading.Lock) -> bool:
        """Stop waiting, and return whether the lock came meanwhile."""
        with self._inner:
            if self._holder != thread:
                self._waiting.remove((thread, turn))
            return self._holder == thread


class ComputingLock(FairLock):
    """Held by the thread that computes: no other one of ours does, but while this one waits."""

    # When its holder took it, and rested last, in monotonic seconds.
    since = rested = 0.0

    def take(self) -> None:
        """Wait until no other thread computes, but not for ever."""
        if self.acquire(MOST_SECONDS):
            self.since = self.rested = time.monotonic()

    def __enter__(self) -> None:
        self.take()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.is_held:  # else it could not be had
            self.release()


COMPUTING: Final = ComputingLock()
if hasattr(os, "register_at_fork"):  # its holder is not there in a fork
    os.register_at_fork(after_in_child=lambda: FairLock.__init__(COMPUTING))
# The call that runs in a thread.
_CURRENT: Final = threading.local()


class Waiting:
    """Another call may compute while the `with` block waits for something."""

    __slots__ = ("_has_computed",)

    def __enter__(self) -> None:
        self._has_computed = COMPUTING.is_held
        if self._has_computed:
            COMPUTING.release()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._has_computed:
            COMPUTING.take()


def give_way() -> None:
    """Let the event loop run, or the next call compute, if this call has computed for long."""
    if not COMPUTING.is_held:
        return
    now = time.monotonic()
    if COMPUTING.is_wanted and now - COMPUTING.since > SLICE_SECONDS:
        with Waiting():
            pass
    elif now - COMPUTING.rested > STRETCH_SECONDS:
        time.sleep(REST_SECONDS)
        COMPUTING.rested = time.monotonic()


class SharedLock(FairLock):
    """A lock that calls hold while they use something, in the order in which they ask.

    Another call may compute while one waits for it. A call that was cancelled before it has one does nothing.
    """

    def __enter__(self) -> None:
        if not self.acquire(0):
            with Waiting():
                self.acquire()
        call: ThreadCall | None = getattr(_CURRENT, "call", None)
        if call is not None and not call.begins():
            self.release()
            raise CancelledCallError

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.release()


class CancelledCallError(BaseException):
    """A call was cancelled before it has begun."""


class ThreadCall:
    """A call for a thread. It can be cancelled until it has begun: until it holds its first `SharedLock`."""

    def __init__(self, act: Callable[[], object]) -> None:
        """Take what to call."""
        self._act = act
        self._lock = threading.Lock()
        self._has_begun = self._is_cancelled = False

    def cancel(self) -> None:
        """Make the call do nothing, unless it has begun."""
        with self._lock:
            self._is_cancelled = not self._has_begun

    def begins(self) -> bool:
        """Return whether the call goes on; from then on it can't be cancelled."""
        with self._lock:
            self._has_begun = not self._is_cancelled
            return self._has_begun

    def run(self) -> object:
        """Call it, in this thread, when no other one computes.

        Raises:
            CancelledCallError: it was cancelled.
        """
        if self._is_cancelled:
            raise CancelledCallError
        _CURRENT.call = self
        try:
            with COMPUTING:
                return self._act()
        finally:
            del _CURRENT.call
