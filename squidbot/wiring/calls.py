"""Calls for asyncio: each runs in a thread, and the event loop goes on."""

from __future__ import annotations

import _thread
import atexit
import os
import threading
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from squidbot.adapters.common.threads import ThreadCall

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Coroutine

Given = ParamSpec("Given")
Value = TypeVar("Value")

# So many calls run at once, most of which wait for a store; further ones wait for a thread.
MOST_THREADS: Final = 32


async def in_thread(act: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
    """Call a function in a thread, and return its result. Meanwhile the event loop goes on.

    The function has this task's context variables. If you cancel the call before it has begun, it does nothing.
    Otherwise it goes on to its end, and the next call of the same session waits for it. At most 32 calls run at once.

    Raises:
        Exception: what the call raises.
    """
    return await _called(act, args, kwargs, ends=False)


async def to_end(act: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
    """Do as `in_thread`, but if you cancel the call, wait for its end first, even if it has not begun.

    Raises:
        Exception: what the call raises.
    """
    return await _called(act, args, kwargs, ends=True)


def awaited(act: Callable[Given, Value]) -> Callable[Given, Coroutine[Any, Any, Value]]:
    """Return a function that calls another one in a thread; in a class, it is a method."""

    @wraps(act)
    async def called(*args: Given.args, **kwargs: Given.kwargs) -> Value:
        return await _called(act, args, kwargs, ends=False)

    called.__name__ = f"a{act.__name__}"
    called.__qualname__ = f"{act.__qualname__.removesuffix(act.__name__)}{called.__name__}"
    called.__doc__ = f"Do as `{act.__name__}`, in a thread: the event loop goes on. See `squidbot.in_thread`."
    return called


async def _called(act: Callable[..., Value], args: tuple[Any, ...], kwargs: dict[str, Any], *, ends: bool) -> Value:
    import asyncio  # noqa: PLC0415  # only programs that use it pay for it

    loop = asyncio.get_running_loop()
    done: Future[Value] = loop.create_future()
    call = ThreadCall(partial(copy_context().run, act, *args, **kwargs))

    def run() -> None:
        value = error = None
        try:
            value = call.run()
        except BaseException as raised:  # noqa: BLE001  # it is raised where the call is awaited
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_settle, done, value, error)
        value = error = None  # an error holds this frame

    _THREADS.run(run)
    try:
        return await (_ended(done) if ends else done)
    except asyncio.CancelledError:
        call.cancel()
        raise


async def _ended(done: Future[Value]) -> Value:
    import asyncio  # noqa: PLC0415  # as above

    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        done.exception()  # nobody else will look at it
        raise cancelled
    return done.result()


def _settle(done: Future[Any], value: object, error: BaseException | None) -> None:
    if done.done():  # it was cancelled
        return
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)


def end_calls(timeout_seconds: float = 5.0) -> None:
    """Wait for calls that threads have at hand: of a stream that was left, they store what came.

    Call it before you close what they use. It waits `timeout_seconds` at most.
    """
    _THREADS.end(timeout_seconds)


class Threads:
    """Runs calls in threads, `MOST_THREADS` at once. Threads are started as needed, and stay.

    Unlike a pool of the standard library, it does not wait until a thread has started: an event loop would stand still
    for that, up to 5 ms for each.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[int, Callable[[], None]]] = SimpleQueue()
        self._lock = threading.Condition()
        self._threads = self._taken = 0
        # The numbers of calls that have not ended, in order; and in a thread, of the one that it makes.
        self._open: dict[int, None] = {}
        self._made = threading.local()

    def run(self, call: Callable[[], None]) -> None:
        """Have a call made soon; it raises nothing."""
        with self._lock:
            number = self._taken = self._taken + 1
            self._open[number] = None
            is_more = self._threads < min(len(self._open), MOST_THREADS)
            self._threads += is_more
        if is_more:
            _thread.start_new_thread(self._work, ())
        self._calls.put((number, call))

    def end(self, timeout_seconds: float | None = None) -> None:
        """Wait until all calls have ended that were taken before; in one of these calls, before that one.

        Further ones are not waited for. `timeout_seconds` is the longest wait, or None: as long as it takes.
        """
        with self._lock:
            before: int = getattr(self._made, "number", self._taken + 1)
            self._lock.wait_for(lambda: next(iter(self._open), before) >= before, timeout_seconds)

    def _work(self) -> None:
        while True:
            number, call = self._calls.get()
            self._made.number = number
            call()
            with self._lock:
                del self._open[number]
                self._lock.notify_all()


_THREADS: Final = Threads()
# A process ends when its calls have; threads are not there in a fork.
atexit.register(_THREADS.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: Threads.__init__(_THREADS))
