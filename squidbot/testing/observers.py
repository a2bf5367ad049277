"""The check of an Observer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, get_args

from squidbot.core import events
from squidbot.core.events import Event
from squidbot.core.memories import Scope
from squidbot.core.messages import Usage
from squidbot.core.operations import GenAIOperation, Operation, SessionOperation
from squidbot.core.ports import OperationObserver
from squidbot.testing.values import ODD_TEXTS, at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import Observer

__all__ = ["check_observer"]

# An observer runs inside the turn: one that takes longer than this for one event waits for something. A machine at
# its limit stalls for a second.
SLOWEST_SECONDS: Final = 5.0
THREADS: Final = 8
# Every event there is, and one that a later version might send.
NAMES: Final = (*(text for name, text in vars(events).items() if name.isupper() and isinstance(text, str)), "later")


def check_observer(factory: Callable[[], Observer]) -> None:
    """Check the promises of `ports.Observer`, and of `ports.OperationObserver` if it has `watch`.

    `factory` returns a new observer each time.

    Promised: it takes every event, those of later versions and odd texts too, from several threads at once, raises
    nothing, and waits at none for long. Its `watch` takes every operation, in others too, and an operation's
    error passes through it. squidbot would survive all of that but the waiting; the observer would miss events.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    given = f"pass the class or a factory: got {factory!r:.80}"
    assert callable(factory), given
    observer = factory()
    assert callable(getattr(observer, "notify", None)), f"{given}, which returns nothing with `notify`"
    _checks_events(observer)
    at_once(THREADS, lambda _: _checks_events(observer), "threads share an observer")
    _notify(factory(), Event(events.STARTED, "", ""))  # a second engine of the process has an observer of its own
    if isinstance(observer, OperationObserver):
        watching = observer
        _checks_watch(watching)
        at_once(THREADS, lambda _: _checks_watch(watching), "threads share an observer of operations")


def _events() -> Iterator[Event]:
    scope = Scope(tenant="t", user="ann", bot="b")
    for name in NAMES:
        yield Event(name, "s", "high-water", "w-1", 3, 900, 400, 0.5, "squid-1", scope)
        yield Event(name, "", "")
    for text in ODD_TEXTS:
        yield Event(events.DEGRADED, text, text, model=text, scope=Scope(user=text))


def _checks_events(observer: Observer) -> None:
    for event in _events():
        _notify(observer, event)


def _notify(observer: Observer, event: Event) -> None:
    began = time.perf_counter()
    try:
        observer.notify(event)
    except Exception as error:
        raise AssertionError(f"notify raises nothing, and raised {error!r:.200} at {event!a:.200}") from error
    seconds = time.perf_counter() - began
    assert seconds < SLOWEST_SECONDS, f"notify does not wait: it took {seconds:.1f} s for {event!a:.200}"


def _checks_watch(observer: OperationObserver) -> None:
    """Check that operations are watched, one within another, with and without an error."""
    for name in (*get_args(SessionOperation), *get_args(GenAIOperation)):
        outer, inner = Operation(name=name, session_id="s", model="squid-1"), Operation(name="search_memory")
        try:
            with observer.watch(outer), observer.watch(inner):
                inner.store, inner.records = "facts", 2
                outer.request_tokens, outer.usage = 900, Usage(900, 10, 0)
        except Exception as error:
            raise AssertionError(f"watch raises nothing, and raised {error!r:.200} for {name}") from error
        fault = RuntimeError("the operation failed")
        try:
            with observer.watch(Operation(name=name)):
                raise fault  # noqa: TRY301  # as an operation does
        except Exception as error:
            if error is not fault:
                raise AssertionError(f"an operation's error leaves watch as it is, not as {error!r:.200}") from error
        else:
            raise AssertionError(f"watch lets an operation's error pass: it swallowed that of {name}")
