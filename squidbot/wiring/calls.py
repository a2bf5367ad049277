"""Calls for asyncio: each runs in a thread, and the event loop goes on."""

from __future__ import annotations

import os
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from squidbot.adapters.common.threads import ThreadCall

if TYPE_CHECKING:
    from asyncio import Future as Awaited
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future, ThreadPoolExecutor

Given = ParamSpec("Given")
Value = TypeVar("Value")

# So many calls run at once, most of which wait for a store; further ones wait for a thread.
MOST_THREADS: Final = 32


async def in_thread(act: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
    """Return the result of a call in a thread, with this task's context variables; the event loop goes on meanwhile.

    If you cancel it, it does nothing if it has not begun, else it goes on to its end, and the next call of the same
    session waits for it. At most 32 of these calls run at once.

    Raises:
        Exception: what the call raises.
    """
    return await _called(act, args, kwargs, ends=False)


async def to_end(act: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
    """Do as `in_thread`, but if you cancel it, it goes on to its end nevertheless, and is cancelled then."""
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
    done: Awaited[Value] = loop.create_future()
    call = ThreadCall(partial(copy_context().run, act, *args, **kwargs))

    def told(ended: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_settle, done, ended)

    running = _pool().submit(call.run)
    running.add_done_callback(told)
    if ends:
        return await _ended(done)
    try:
        return await done
    except asyncio.CancelledError:
        if not running.cancel():
            call.cancel()
        raise


async def _ended(done: Awaited[Value]) -> Value:
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


def _settle(done: Awaited[Any], ended: Future[Any]) -> None:
    if done.done() or ended.cancelled():  # nobody waits
        return
    error = ended.exception()
    if error is None:
        done.set_result(ended.result())
    else:
        done.set_exception(error)


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # as above

    return ThreadPoolExecutor(MOST_THREADS, "squidbot")


if hasattr(os, "register_at_fork"):  # threads are not there in a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
