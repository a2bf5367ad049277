"""`squidbot store work`: does the background work of all programs on a store, until it is stopped."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.texts import ANSWER_IS_NO, complain, count
from squidbot.core.errors import SquidbotError
from squidbot.core.ports import SupportsNews
from squidbot.engine import EngineJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.cli.open_store import OpenStore

# How long it waits for news before it sees whether it should stop.
LOOK_SECONDS = 0.5


@click.command(cls=ResultCommand, on="store", writes=True)
@click.option("--once", is_flag=True, help="End when nothing is due.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds between two looks at all sessions.",
)
def work(place: OpenStore, *, once: bool, every: float) -> Result:
    """Do the background work of all programs on a store, until Ctrl-C or SIGTERM: facts, summaries, journal.

    Programs with summary.scheduler = "worker" leave that work to it. Any number of workers may run, on any machine;
    each task is done by one of them. Exit code 1: a task failed.
    """
    jobs, sessions = EngineJobs(place.wired), _Sessions(place)
    tasks, failed, wrong = 0, 0, dict[str, str]()
    with stopped() as stopping, sessions.news() as news:
        if not once:
            complain("working; Ctrl-C or SIGTERM ends it after the current task")
        names, ends = sessions.changed(), time.monotonic() + every
        while not stopping.is_set():
            for name in dict.fromkeys(names):
                if stopping.is_set():
                    break
                try:
                    done = jobs.run(place.seen(name), None, "schedule")
                except SquidbotError as error:
                    wrong[name] = str(error)
                    complain(f"{name}: {error}")
                else:
                    wrong.pop(name, None)
                    tasks += len(done)
                    failed += sum(not one.succeeded for one in done)
            if once:
                break
            if time.monotonic() >= ends:
                names, ends = sessions.changed(), time.monotonic() + every
            else:
                names = news(min(LOOK_SECONDS, every))
    jobs.close(0.0)
    values: dict[str, Any] = {"tasks": tasks, "failed": failed, "sessions_failed": wrong}
    return Result(values, f"{count(tasks, 'task')} done, {failed:,} failed", ANSWER_IS_NO if failed or wrong else 0)


class _Sessions:
    """The sessions of a store that have something new."""

    def __init__(self, place: OpenStore) -> None:
        self._place = place
        self._store = place.store if isinstance(place.store, SupportsNews) else None
        self._moment, self._known = 0.0, dict[str, int]()

    def changed(self) -> list[str]:
        """Return the sessions with messages since the last call; first all."""
        if self._store is not None:
            names, self._moment = self._store.changed_since(self._moment)
            return names
        before, self._known = self._known, dict(self._place.sessions())
        return [name for name, messages in self._known.items() if before.get(name) != messages]

    @contextmanager
    def news(self) -> Iterator[Callable[[float], list[str]]]:
        """Yield what waits for sessions that are told of, for at most so many seconds."""
        if self._store is not None:
            with self._store.news() as told:
                yield told
        else:
            yield lambda seconds: time.sleep(seconds) or []  # type: ignore[func-returns-value]


@contextmanager
def stopped() -> Iterator[threading.Event]:
    """Yield what is set by Ctrl-C or SIGTERM: the task at hand is ended first."""
    stopping = threading.Event()
    before = {each: signal.signal(each, lambda *_: stopping.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
