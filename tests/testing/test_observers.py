"""The check of observers: our own pass it, and each broken promise is named."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.opentelemetry import OpenTelemetryObserver
from squidbot.adapters.structlog import StructlogObserver
from squidbot.core import events
from squidbot.testing import check_observer, observers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.events import Event
    from squidbot.core.operations import Operation
    from squidbot.core.ports import Observer


class Listener:
    """One that keeps what it hears."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.heard: list[Event] = []

    def notify(self, event: Event) -> None:
        """Keep an event."""
        self.heard.append(event)


@pytest.mark.parametrize("observer", [StructlogObserver, OpenTelemetryObserver, Listener])
def test_own_observers_pass(observer: type[Observer], capsys: pytest.CaptureFixture[str]) -> None:
    """With operations, where they watch them; what they print goes to standard error."""
    check_observer(observer)
    assert capsys.readouterr().out == ""


def test_every_event_is_sent_and_one_that_nobody_knows() -> None:
    """Each name of the module, with all its fields and with none."""
    made: list[Listener] = []

    def make() -> Listener:
        made.append(Listener())
        return made[-1]

    check_observer(make)
    names = {event.name for event in made[0].heard}
    assert names > {events.STARTED, events.STOPPED, events.CW_CLAMP_NOTICE, events.DEGRADED}
    assert "later" in names
    assert len(made[0].heard) % (observers.THREADS + 1) == 0


class Knowing(Listener):
    """One that knows the events of today."""

    def notify(self, event: Event) -> None:
        """Look the name up."""
        dict.fromkeys((events.STARTED, events.STOPPED), str)[event.name]


class Slow(Listener):
    """One that sends over a network and waits for it."""

    def notify(self, event: Event) -> None:  # noqa: ARG002  # the port's
        """Wait."""
        time.sleep(0.02)


class Single(Listener):
    """One that two threads may not use at once."""

    busy = False

    def notify(self, event: Event) -> None:  # noqa: ARG002  # the port's
        """Work for a moment."""
        if self.busy:
            raise RuntimeError("used by two threads at once")
        self.busy = True
        time.sleep(0.0001)
        self.busy = False


class Swallowing(Listener):
    """One whose context eats the errors of what it watches."""

    @contextmanager
    def watch(self, operation: Operation) -> Iterator[None]:  # noqa: ARG002  # the port's
        """Let nothing out."""
        with suppress(RuntimeError):
            yield


class Turning(Listener):
    """One whose context makes another error of those of what it watches."""

    @contextmanager
    def watch(self, operation: Operation) -> Iterator[None]:
        """Raise another error."""
        try:
            yield
        except RuntimeError as error:
            raise KeyError(operation.name) from error


@pytest.mark.parametrize(
    ("observer", "says"),
    [
        (Knowing, "notify raises nothing, and raised KeyError"),
        (Slow, "notify does not wait: it took"),
        (Single, "threads share an observer: .*used by two threads"),
        (Swallowing, "watch lets an operation's error pass"),
        (Turning, "an operation's error leaves watch as it is, not as KeyError"),
        (object, "returns nothing with `notify`"),
        (Listener(), "pass the class or a factory"),
    ],
)
def test_broken_promise_is_named(observer: type[Observer], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One observer, one promise."""
    if observer is Slow:
        monkeypatch.setattr(observers, "SLOWEST_SECONDS", 0.01)
    with pytest.raises(AssertionError, match=says):
        check_observer(observer)
