"""How long an event loop stands still while squidbot works in its threads, and how many turns a server gets done.

Many conversations share one process. Meanwhile one large session is compacted, and another process holds the store's
lock. A task of the loop sleeps for 1 ms again and again: a tick is the time from one waking to the next one. Beside it
stands a loop with one thread that only computes, which is what Python's interpreter lock costs at least.
"""

from __future__ import annotations

import asyncio
import gc
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import squidbot
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Served", "measure"]

WINDOW = 32_768
# A conversation has so many turns; then another one begins.
MOST_TURNS = 20
HELD_SECONDS = 4.0
HOLD = (
    "import sqlite3, sys, time; o = sqlite3.connect(sys.argv[1]); o.execute('BEGIN IMMEDIATE'); print(flush=True); "
    "time.sleep(float(sys.argv[2])); o.rollback()"
)
# From issue 24: what 99.9 % of the ticks take at most, and what each does.
MOST_MS, LONGEST_MS = 10.0, 50.0


# What is said is made of these.
PROSE = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8").split()


def words(chance: random.Random, count: int) -> str:
    """Return so many words."""
    return " ".join(chance.choices(PROSE, k=count))


class Served(NamedTuple):
    """How much is served: conversations at once, tokens of the session that is compacted, seconds of each phase."""

    conversations: int
    tokens: int
    seconds: float


class Ticks:
    """The ticks of a loop, in seconds, each with the time at which it ended."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []
        self.has_ended = False

    async def run(self) -> None:
        """Take ticks until the end."""
        last = time.perf_counter()
        while not self.has_ended:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.times.append((now, now - last))
            last = now

    def row(self, name: str, first: float, last: float) -> tuple[str, tuple[float, ...]]:
        """Return the row of a phase: p50, p99, p99.9 and the longest, in ms."""
        took = sorted(took for at, took in self.times if first <= at <= last) or [float("nan")]
        shares = (0.5, 0.99, 0.999, 1.0)
        return name, tuple(1e3 * took[min(len(took) - 1, int(len(took) * share))] for share in shares)


@contextmanager
def busy() -> Iterator[None]:
    """Have one thread that only computes."""
    has_ended = threading.Event()

    def compute() -> None:
        while not has_ended.is_set():
            sum(range(100))

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    yield
    has_ended.set()
    thread.join()


class Server:
    """Conversations over one store, each asked and answered again and again, with a rest between."""

    def __init__(self, path: Path, served: Served) -> None:
        """Fill the session that will be compacted."""
        self.path, self.served, self.turns, self.has_ended = path, served, 0, False
        self.engine = squidbot.load({"store": {"path": str(path)}})
        self.large = self.engine.session("large", window_tokens=4 * served.tokens // 3)
        chance, said = random.Random(1), 0  # noqa: S311  # no secret
        while said < served.tokens:
            asked, answer = words(chance, 60), words(chance, 600)
            self.large.record({"role": "user", "content": asked}, answer)
            said += (len(asked) + len(answer)) // 5
        self.large.preview()
        # As servers do when they have started: what is imported by then, half of all objects, is not collected again.
        gc.collect()
        gc.freeze()

    async def talk(self, name: str, rest_seconds: float) -> None:
        """Hold conversations, one behind the other, until the end."""
        chance = random.Random(name)  # noqa: S311  # as above
        for turn in count():
            if self.has_ended:
                return
            if turn % MOST_TURNS == 0:
                session = await self.engine.asession(f"{name}-{turn}", window_tokens=WINDOW)
            await asyncio.sleep(chance.random() * rest_seconds)
            assembly = await session.aassemble(words(chance, 60))
            await asyncio.sleep(chance.random() * rest_seconds)
            await session.arecord(*assembly.incoming, words(chance, 300))
            self.turns += 1

    async def rate(self, conversations: int) -> float:
        """Return the turns per second of so many conversations that never rest."""
        before, began, self.has_ended = self.turns, time.perf_counter(), False
        names = [f"{conversations} {number}" for number in range(conversations)]
        tasks = [asyncio.create_task(self.talk(name, 0.0)) for name in names]
        await asyncio.sleep(self.served.seconds)
        self.has_ended = True
        await asyncio.gather(*tasks)
        return (self.turns - before) / (time.perf_counter() - began)

    async def hold(self) -> None:
        """Have another process hold the store."""
        seconds = min(HELD_SECONDS, self.served.seconds)
        command = [sys.executable, "-c", HOLD, str(self.path), str(seconds)]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        await process.wait()


async def _phases(server: Server, ticks: Ticks, progress: Callable[[str], None]) -> list[tuple[str, tuple[float, ...]]]:
    """Return a row of ticks for each phase."""
    seconds, served = server.served.seconds, server.served.conversations
    rows, began = [], time.perf_counter()

    def phase(name: str) -> None:
        nonlocal began
        now = time.perf_counter()
        rows.append(ticks.row(name, began, now))
        began = now

    progress("an idle loop")
    await asyncio.sleep(seconds / 2)
    phase("nothing else")
    with busy():
        await asyncio.sleep(seconds / 2)
    phase("one thread that computes")
    tasks = [asyncio.create_task(server.talk(f"chat {number}", 1.0)) for number in range(served)]
    await asyncio.sleep(1.0)
    began = first = time.perf_counter()
    progress(f"{served} conversations")
    await asyncio.sleep(seconds)
    phase(f"{served} conversations")
    progress("a compaction beside them")
    await server.large.acompact()
    phase(f"and a compaction of {server.served.tokens:,} tokens")
    progress("a store that another process holds")
    await server.hold()
    await asyncio.sleep(1.0)
    phase(f"and a store held for {min(HELD_SECONDS, seconds):.0f} s")
    rows.append(ticks.row("all of these three", first, time.perf_counter()))
    server.has_ended = True
    await asyncio.gather(*tasks)
    return rows


async def _measured(server: Server, progress: Callable[[str], None]) -> Result:
    ticks = Ticks()
    ticking = asyncio.create_task(ticks.run())
    rows = await _phases(server, ticks, progress)
    ticks.has_ended = True
    await ticking
    most = server.served.conversations
    progress(f"turns of 1 and of {most} conversations")
    rates = [(f"{many} at once", (await server.rate(many),)) for many in (1, most)]
    await server.engine.aclose()
    return Result(
        "ticks",
        [
            Table("Ticks of 1 ms in an event loop", ("p50 ms", "p99 ms", "p99.9 ms", "longest ms"), _floats(rows)),
            Table("Turns of conversations that never rest", ("turns/s",), tuple(rates)),
        ],
        [Bar("ticks: p99.9, ms", rows[-1][1][2], MOST_MS), Bar("ticks: longest, ms", rows[-1][1][3], LONGEST_MS)],
    )


def _floats(rows: Sequence[tuple[str, tuple[float, ...]]]) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    return tuple((name, tuple(values)) for name, values in rows)


def measure(folder: Path, served: Served, progress: Callable[[str], None]) -> Result:
    """Measure the ticks of a loop, and the turns that it gets done."""
    return asyncio.run(_measured(Server(folder / "ticks.db", served), progress))
