"""Durable facts: adding one, finding, opening, at 20,000 and 1,000,000 memories in one view.

The texts are made: sentences of 6 to 18 words from 40,000, as frequent as words are (Zipf), beside names that stand in
one of a thousand. So a query's common words stand in a tenth of all memories. The least that an add can cost is beside
it: a row in a file of its own, with the same sync of the disk.
"""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.clocks import Times
from benchmarks.process import run_python
from benchmarks.report import Bar, Result, Table
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import CATEGORIES, Memory, Scope, View, memory_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["measure"]

VOCABULARY = 40_000
NAMES = 997
ANN = Scope(user="ann", bot="squid")
BOB = Scope(user="bob", bot="squid")
ABSENT = CATEGORIES[0]
TOLD = CATEGORIES[1:]
BATCH = 4_096
FEW = 500  # of another user, in the same file
ADDS = 3  # for each round
MOST_SEARCH_MS, MOST_ADD_MS, MOST_OPEN_MS = 80.0, 5.0, 2_000.0
# What an add writes beside its row: an index of four views, its words, an entry of its id.
MOST_ADD_RATIO = 10.0
FLOOR = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "CREATE TABLE IF NOT EXISTS memories(id TEXT PRIMARY KEY, text TEXT, time REAL)",
)
FLOOR_INSERT = "INSERT INTO memories VALUES(?, ?, ?)"
BEGAN = 1.6e9  # seconds since 1970; a memory a minute
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va")


class Words:
    """Words as frequent as in texts, the same in every run."""

    def __init__(self) -> None:
        """Make the vocabulary."""
        self.chance = random.Random(7)  # noqa: S311  # repeatable
        self._words = [self._word(number) for number in range(VOCABULARY)]
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    @staticmethod
    def _word(number: int) -> str:
        return "".join(SYLLABLES[number >> shift & 15] for shift in (0, 4, 8, 12)) + "xyz"[number % 3]

    def some(self, count: int) -> list[str]:
        """Return words as they come."""
        return self.chance.choices(self._words, cum_weights=self._weights, k=count)

    def common(self, count: int) -> list[str]:
        """Return words of the twenty most common ones."""
        return self.chance.sample(self._words[:20], count)

    def name(self) -> str:
        """Return a name that stands in one of a thousand memories."""
        return f"Name{self.chance.randrange(NAMES)}"

    def memory(self, number: int, scope: Scope = ANN) -> Memory:
        """Return a fact."""
        text = f"{self.name()} {' '.join(self.some(self.chance.randint(6, 18)))}."
        category = TOLD[number % len(TOLD)]
        return Memory(memory_id_of(scope, f"{number} {text}"), text, category, scope, BEGAN + number * 60)

    def queries(self) -> dict[str, str]:
        """Return a query of each kind."""
        return {
            "a name and two words": f"What did {self.name()} say about {' and '.join(self.some(2))}?",
            "a question of six words": f"When was the {' '.join(self.some(6))}?",
            "three common words": " ".join(self.common(3)),
            "eight common words": " ".join(self.common(8)),
            "a word that is nowhere": "zebra",
        }


class Measured:
    """One file of so many memories, and what was measured on it."""

    def __init__(self, path: Path, memories: int) -> None:
        """Fill the file."""
        self.memories = memories
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self._path = path
        self._words = Words()
        self._number = memories
        with SqliteMemoryStore(path) as store:
            for first in range(0, memories, BATCH):
                batch = [self._words.memory(number) for number in range(first, min(first + BATCH, memories))]
                self.times["add many"].of(partial(store.add, batch))
            store.add([self._words.memory(number, BOB) for number in range(FEW)])
        self._floor = sqlite3.connect(path.with_suffix(".floor"), isolation_level=None)
        for statement in FLOOR:
            self._floor.execute(statement)
        self._store = SqliteMemoryStore(path)

    def close(self) -> None:
        """Close the files."""
        self._store.close()
        self._floor.close()

    def round(self) -> None:
        """Search for each kind in the large view and once in a small one; add, list, get some; open again."""
        for kind, query in self._words.queries().items():
            self._search(kind, query, View(ANN))
        self._search(f"in a view of {FEW}", " ".join(self._words.some(4)), View(BOB))
        for _ in range(ADDS):
            memory = self._words.memory(self._number)
            self._number += 1
            self.times["add one"].of(partial(self._store.add, [memory]))
            cells = (memory.memory_id, memory.text, memory.time)
            self.times["floor: a row and a sync"].of(partial(self._floor.execute, FLOOR_INSERT, cells))
        page = self.times["list a page of 100"].of(partial(self._store.listed, View(ANN)))
        ids = [memory.memory_id for memory in page[:10]]
        self.times["list the 100 behind"].of(partial(self._store.listed, View(ANN), after=page[-1].memory_id))
        self.times["list a category that is nowhere"].of(partial(self._store.listed, View(ANN), ABSENT))
        self.times["get 10"].of(partial(self._store.get, ids))
        self.times["which of 10 were forgotten"].of(partial(self._store.forgotten, ids))
        self._store.close()
        self.times["open, and search"].of(self._open)

    def _open(self) -> None:
        self._store = SqliteMemoryStore(self._path)
        self._store.search(self._words.name(), View(BOB), now=0.0)

    def _search(self, kind: str, query: str, view: View) -> None:
        self.times[kind].of(partial(self._store.search, query, view, now=0.0))

    def forget(self) -> None:
        """Forget one, once: the whole file is written anew."""
        (memory,) = self._store.listed(View(BOB), limit=1)
        self.times["forget one"].of(partial(self._store.forget, [memory.memory_id]))

    @property
    def growth_mb(self) -> float:
        """What a process grows by, in MB, that opens the file, searches for each kind and lists a page."""
        arguments = ["-m", "benchmarks.child", "memories", str(self._path), *self._words.queries().values()]
        return float(json.loads(run_python(arguments).stdout)["growth_mb"])

    @property
    def bytes_each(self) -> float:
        """How many bytes of the file a memory takes."""
        return self._path.stat().st_size / self.memories


def measure(sizes: Sequence[int], rounds: int, folder: Path, progress: Callable[[str], None]) -> Result:
    """Measure on files of so many memories, made in `folder`."""
    opened = []
    for memories in sizes:
        progress(f"memories: adding {memories:,}")
        opened.append(Measured(folder / f"memories-{memories}.db", memories))
    progress(f"memories: {rounds} rounds")
    for _ in range(rounds):
        for each in opened:
            each.round()
    progress("memories: forgetting one")
    for each in opened:
        each.forget()
        each.close()
    kinds = [kind for kind in opened[0].times if kind not in {"add many", "forget one"}]
    rows = [
        (f"{kind}, {shown}", tuple(figure(each.times[kind]) for each in opened))
        for kind in kinds
        for shown, figure in FIGURES.items()
    ]
    rows += [
        ("add many, CPU ms for each", tuple(sum(each.times["add many"].cpu) / each.memories * 1e3 for each in opened)),
        ("forget one, wall ms", tuple(each.times["forget one"].wall_ms(0.5) for each in opened)),
        ("a process that opens, searches and lists: resident growth, MB", tuple(each.growth_mb for each in opened)),
        ("bytes a memory", tuple(each.bytes_each for each in opened)),
    ]
    columns = tuple(f"{each.memories:,}" for each in opened)
    table = Table("Memories in one view: found, added, listed", columns, tuple(rows))
    return Result("memories", [table], _bars(opened[-1]), ["Forgetting writes the whole file anew: no byte is left."])


def _bars(largest: Measured) -> list[Bar]:
    at, times = f"at {largest.memories:,} memories", largest.times
    searches = [kind for kind in Words().queries() if not kind.startswith("eight")]
    return [
        *(Bar(f"search for {kind} {at}, wall ms p50", times[kind].wall_ms(0.5), MOST_SEARCH_MS) for kind in searches),
        Bar(f"add one {at}, wall ms p50", times["add one"].wall_ms(0.5), at_most=MOST_ADD_MS),
        Bar(f"open {at}, and search, wall ms p50", times["open, and search"].wall_ms(0.5), at_most=MOST_OPEN_MS),
        Bar(f"add one {at} / floor, wall p50", _ratio(times), at_most=MOST_ADD_RATIO),
    ]


def _ratio(times: defaultdict[str, Times]) -> float:
    return times["add one"].wall_ms(0.5) / times["floor: a row and a sync"].wall_ms(0.5)


FIGURES: dict[str, Callable[[Times], float]] = {
    "wall ms, p50": lambda times: times.wall_ms(0.5),
    "wall ms, p99": lambda times: times.wall_ms(0.99),
    "CPU ms": lambda times: times.cpu_ms,
}
