"""What squidbot adds to a model call of a host, beside the same program without it.

Each program runs the same turns by turns, one call of a model that answers at once in each. Its conversation has many
messages before: all in squidbot's store and none in the host's list, as a program has it that leaves the past to
squidbot, or all in both. The program without squidbot hands its model what squidbot's has just had (llm's, which
can't, the turn alone); where it lists all, all. hermes runs with squidbot and without in processes of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, cast

import squidbot
from benchmarks.agents import HOSTS, SAID, TALK
from benchmarks.clocks import Times, median
from benchmarks.host import Host
from benchmarks.report import Bar, Result, Table
from squidbot.core.messages import Portable, Words
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.agents import Agent, Driver
    from squidbot.core.memories import Scope

__all__ = ["measure"]

MOST_MS = 5.0
# Messages recorded at once while a store is filled.
BATCH = 1_000
# The first turns make the first plan, and fill caches.
WARM = 4
# hermes's own environment has no other host.
ALONE, HERMES_FORM = "run_agent", "hermes/1"
# Where the host lists all: so many at most, since a host itself takes seconds for more.
MOST_LISTED = 2_000


def measure(sizes: Sequence[int], turns: int, folder: Path, progress: Callable[[str], None]) -> Result:
    """Measure at each number of stored messages, smallest first, in each host that is installed."""
    result = Result("hosts")
    for name, driver in HOSTS.items():
        if not driver.is_here:
            result.remarks.append(f"{name} is not installed")
            continue
        columns: list[tuple[str, tuple[Times, Times]]] = []
        for count in sizes:
            progress(f"hosts: {name}, {count:,} messages")
            columns.append(
                (f"{count:,}", _stored(driver, folder / f"{driver.package}-{count}" / "squid.db", count, turns))
            )
        listed = min(MOST_LISTED, max(sizes))
        progress(f"hosts: {name}, a list of {listed:,}")
        columns.append(
            (f"listed {listed:,}", _listed(driver, folder / f"{driver.package}-all" / "squid.db", listed, turns))
        )
        _put(result, name, columns, len(sizes) - 1)
    if find_spec(ALONE):
        columns = []
        for count in sizes:
            progress(f"hosts: hermes, {count:,} messages")
            columns.append((f"{count:,}", _alone(folder / f"hermes-{count}", count, turns)))
        _put(result, "hermes", columns, len(sizes) - 1)
    return result


def _put(result: Result, name: str, columns: Sequence[tuple[str, tuple[Times, Times]]], largest: int) -> None:
    result.tables.append(_table(name, columns))
    label, (ours, bare) = columns[largest]
    at = f"{name}: a call at {label} stored messages, more than without squidbot, wall ms p50"
    result.bars.append(Bar(at, _more_ms(ours.wall, bare.wall), at_most=MOST_MS))


def _stored(driver: Driver, path: Path, count: int, turns: int) -> tuple[Times, Times]:
    """Measure with a conversation in the store that the host knows nothing of."""
    path.parent.mkdir(parents=True)
    _fill(path, driver.form, count, driver.scope)
    return _beside(driver.make(path), driver.make(None), turns, hands=True)


def _listed(driver: Driver, path: Path, count: int, turns: int) -> tuple[Times, Times]:
    """Measure with a host that lists all, as it has it when it was there from the beginning."""
    path.parent.mkdir(parents=True)
    ours, bare = driver.make(path, lists_all=True), driver.make(None, lists_all=True)
    for number in range(count // 2):
        for one in (ours, bare):
            one.turn(f"{number}: and the next one?")
    return _beside(ours, bare, turns)


def _alone(folder: Path, count: int, turns: int) -> tuple[Times, Times]:
    """Measure hermes, with squidbot and without in processes of their own, by turns."""
    command = [sys.executable, "-m", "benchmarks.alone"]
    places = folder / "squidbot", folder / "bare"
    for place in places:
        place.mkdir(parents=True)
    _fill(places[0] / "squid.db", HERMES_FORM, count, machine_user())
    host, times = Host(), (Times(), Times())
    got: list[Any] = []
    with _running([*command, str(places[0]), "squidbot"]) as ours, _running([*command, str(places[1])]) as bare:
        for number in range(WARM + turns):
            text = f"{number}: {host.question().text}"
            for one, spent in zip((ours, bare), times, strict=True):
                told = one({"text": text, "before": got if one is bare else []})
                got = told["got"]
                if number >= WARM:
                    spent.cpu.append(told["cpu"])
                    spent.wall.append(told["wall"])
    return times


@contextmanager
def _running(command: Sequence[str]) -> Iterator[Callable[[Any], Any]]:
    """Run a process that answers each JSON object with one, while this is open."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # our own module
        asked, answers = cast("tuple[IO[str], IO[str]]", (process.stdin, process.stdout))

        def ask(question: object) -> Any:  # noqa: ANN401  # what the process says
            print(json.dumps(question), file=asked, flush=True)
            return json.loads(next(line for line in answers if line.startswith("{")))

        yield ask
        asked.close()


def _beside(ours: Agent, bare: Agent, turns: int, *, hands: bool = False) -> tuple[Times, Times]:
    """Run turns of two programs by turns; with `hands` the bare one hands over what the model of the other had."""
    host, times = Host(), (Times(), Times())
    for number in range(WARM + turns):
        text = f"{number}: {host.question().text}"
        for one, spent in zip((ours, bare), times, strict=True):
            if hands and one is bare:
                bare.seen.hands = [*ours.seen.newest[:-1]]
            if number < WARM:
                one.turn(text)
            else:
                spent.of(partial(one.turn, text))
    return times


def _fill(path: Path, form: str, count: int, scope: Scope) -> None:
    """Store a conversation in a host's form, and learn from it what background work has learned by then."""
    host = Host()
    with squidbot.load({"store": {"path": str(path)}, "summary": {"scheduler": "none"}}) as engine:
        session, codec = engine.session(TALK, form=form, scope=scope), engine.wired.codecs[form]
        for first in range(0, count, BATCH):
            said = [
                Portable("assistant", (Words(SAID),))
                if number % 2
                else Portable("user", (Words(host.question().text),))
                for number in range(first, min(first + BATCH, count))
            ]
            session.record([codec.decode(codec.adopt(each)) for each in said])
        engine.run_jobs(session)


def _more_ms(ours: Sequence[float], bare: Sequence[float]) -> float:
    """Return how much longer ours takes: the median of what each turn took more than the same turn without."""
    return median([one - other for one, other in zip(ours, bare, strict=True)]) * 1e3


def _table(name: str, columns: Sequence[tuple[str, tuple[Times, Times]]]) -> Table:
    rows: dict[str, Callable[[Times, Times], float]] = {
        "with squidbot, wall ms, p50": lambda ours, _: ours.wall_ms(0.5),
        "without, wall ms, p50": lambda _, bare: bare.wall_ms(0.5),
        "more, wall ms, p50": lambda ours, bare: _more_ms(ours.wall, bare.wall),
        "more, CPU ms, p50": lambda ours, bare: _more_ms(ours.cpu, bare.cpu),
        "with squidbot, wall ms, p99": lambda ours, _: ours.wall_ms(0.99),
    }
    cells = tuple((row, tuple(figure(*times) for _, times in columns)) for row, figure in rows.items())
    return Table(f"A turn in {name}, by messages of its conversation", tuple(label for label, _ in columns), cells)
