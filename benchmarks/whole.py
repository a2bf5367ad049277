"""A whole search of durable facts by words and vectors, as the product does it, at as many as are wanted.

The facts are those of `memories`, the vectors those of `vectors`; a query's vector is there at once, as if its embedder
cost nothing. Beside it stands the same search by words alone.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks.clocks import Times
from benchmarks.memories import ANN, BATCH, Words
from benchmarks.report import Bar, Result, Table
from benchmarks.vectors import DIMENSIONS, MODEL, Making
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.memories import View
from squidbot.core.memory.semantic import SemanticStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from squidbot.core.vectors import VectorIndex

__all__ = ["filled", "measure", "measured"]

MOST_P50_MS, MOST_P99_MS, MOST_OPEN_MS = 30.0, 100.0, 2_000.0
MOST_EXACT = 5_000
EVEN = 0.29  # MiniLM's
KINDS = ("a name and two words", "a question of six words", "three common words")


class Asked:
    """An embedder whose vectors are made before they are asked for."""

    name, dimensions, even = MODEL, DIMENSIONS, EVEN

    def __init__(self, vectors: Iterator[tuple[float, ...]]) -> None:
        """Take the vectors of what will be asked."""
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return the next vectors."""
        return [next(self._vectors) for _ in texts]


def measure(sizes: Sequence[int], rounds: int, folder: Path, progress: Callable[[str], None]) -> Result:
    """Measure at each number of facts, smallest first; without FAISS only as many as are compared one by one."""
    columns = []
    for count in sizes:
        if not find_spec("faiss") and count > MOST_EXACT:
            continue
        progress(f"whole: adding {count:,}")
        path = folder / f"whole-{count}.db"
        filled(path, count)
        progress(f"whole: {rounds} rounds at {count:,}")
        columns.append((count, measured(path, count, rounds)))
        for each in folder.glob(f"{path.name}*"):
            each.unlink()
    return result(columns)


def filled(path: Path, count: int) -> None:
    """Make a file of so many facts, each with a vector."""
    words, vectors = Words(), Making(count // 200).some(count)
    with SqliteMemoryStore(path) as store:
        store.vectors_of(MODEL, DIMENSIONS)
        for first in range(0, count, BATCH):
            batch = [words.memory(number) for number in range(first, min(first + BATCH, count))]
            store.add(batch)
            store.put_vectors(MODEL, DIMENSIONS, dict(zip((each.memory_id for each in batch), vectors, strict=False)))


def measured(path: Path, count: int, rounds: int) -> dict[str, Times]:
    """Return what each kind of search took, and opening and adding one."""
    times: defaultdict[str, Times] = defaultdict(Times)
    asked, words = Making(count // 200).some(rounds * (len(KINDS) + 1) + 2), Words()
    _opened(path, Asked(asked)).close()  # has the index made, and saved
    store = times["open, and search"].of(partial(_opened, path, Asked(asked)))
    plain = store.by_words
    for number in range(rounds):
        queries = words.queries()
        for kind in KINDS:
            times[kind].of(partial(store.search, queries[kind], View(ANN), now=0.0))
            times[f"{kind}, by words alone"].of(partial(plain.search, queries[kind], View(ANN), now=0.0))
        times["add one"].of(partial(store.add, [words.memory(count + number)]))
        store.by_words.put_vectors(MODEL, DIMENSIONS, {store.listed(View(ANN), limit=1)[0].memory_id: next(asked)})
    times["nothing waits"].of(store.embed)
    store.close()
    return times


def result(columns: Sequence[tuple[int, dict[str, Times]]]) -> Result:
    """Return the table, and the bars of the largest."""
    found = Result("whole")
    if not columns:
        return found
    rows = [
        (f"{kind}, {said}", tuple(figure(times[kind]) for _, times in columns))
        for kind in columns[0][1]
        for said, figure in FIGURES.items()
    ]
    title = "A whole search by words and vectors, and by words alone"
    found.tables = [Table(title, tuple(f"{count:,}" for count, _ in columns), tuple(rows))]
    count, times = columns[-1]
    for kind in KINDS:
        at = f"whole search for {kind} at {count:,}, wall ms"
        found.bars.append(Bar(f"{at} p50", times[kind].wall_ms(0.5), at_most=MOST_P50_MS))
        found.bars.append(Bar(f"{at} p99", times[kind].wall_ms(0.99), at_most=MOST_P99_MS))
    opened = times["open, and search"].wall_ms(0.5)
    found.bars.append(Bar(f"open, and search, at {count:,}, wall ms", opened, at_most=MOST_OPEN_MS))
    return found


def _opened(path: Path, embedder: Asked) -> SemanticStore:
    """Return the store, opened as the product does, once it has searched."""
    store = SemanticStore(SqliteMemoryStore(path), lambda: embedder, partial(_index, path))
    store.opened().nearest.save()
    store.search("zebra", View(ANN), now=0.0)
    return store


def _index(path: Path, model: str, dimensions: int) -> VectorIndex:
    if not find_spec("faiss"):
        return ExactIndex(model, dimensions)
    from squidbot.adapters.faiss import FaissIndex  # noqa: PLC0415  # an extra

    return FaissIndex(f"{path}.{MODEL}.vectors", model, dimensions)


FIGURES: dict[str, Callable[[Times], float]] = {
    "wall ms, p50": lambda times: times.wall_ms(0.5),
    "wall ms, p99": lambda times: times.wall_ms(0.99),
    "CPU ms": lambda times: times.cpu_ms,
}
