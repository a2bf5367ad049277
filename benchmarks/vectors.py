"""The nearest of 1,000 to 1,000,000 vectors in SQLite: by comparing all, by FAISS and by LanceDB if they are installed.

Vectors of 384 numbers are made: 24 directions that texts differ in, a topic for every 200, and noise. Topics overlap:
the nearest ten are no group of their own. One in a hundred memories is Bob's, who has a small view in a large store.
Measured is the whole way: the stamp, the index, and what the store confirms.
"""

from __future__ import annotations

import random
import shutil
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.clocks import Times
from benchmarks.process import run_python
from benchmarks.report import Bar, Result, Table
from squidbot.adapters.common.packages import missing
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, rows
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.memories import Scope, View
from squidbot.core.vectors import VectorSearch, dot, unit, unpacked
from squidbot.testing import made_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.adapters.sqlite3.memory.vectors import SqliteVectors
    from squidbot.core.vectors import VectorIndex

__all__ = ["measure"]

MODEL, DIMENSIONS, DIRECTIONS = "benchmark", 384, 24
ANN, BOB = Scope(user="ann", bot="squid"), Scope(user="bob", bot="squid")
BOBS = 100  # one memory in so many
BATCH = 2_000
WITHIN, NOISE = 0.8, 0.03
MOST_EXACT = 5_000  # for the index of the standard library
TOP = 10
LEAST_RECALL, MOST_P50_MS, MOST_P99_MS, MOST_ADD_MS, MOST_OPEN_MS = 0.95, 30.0, 100.0, 5.0, 2_000.0
COLUMNS = (
    "search p50", "p99", "CPU", "small view", "add one", "forget 100", "make s", "open", "file MB", "memory MB",
    "recall, index", "recall",
)  # fmt: skip


class Making:
    """Vectors, as many as are wanted, the same in every run; with NumPy where it is installed."""

    def __init__(self, topics: int) -> None:
        """Make the directions and the topics."""
        self._chance = random.Random(11)  # noqa: S311  # repeatable
        self._directions = [self._gauss(DIMENSIONS) for _ in range(DIRECTIONS)]
        self._topics = [self._gauss(DIRECTIONS) for _ in range(max(1, topics))]

    def some(self, count: int) -> Iterator[tuple[float, ...]]:
        """Return vectors of length 1."""
        if find_spec("numpy") is None:
            yield from (self._one() for _ in range(count))
            return
        import numpy as np  # noqa: PLC0415  # an extra

        chance = np.random.default_rng(self._chance.randrange(1 << 30))
        directions, topics = np.array(self._directions), np.array(self._topics)
        for first in range(0, count, BATCH):
            size = min(BATCH, count - first)
            inner = topics[chance.integers(0, len(topics), size)] + WITHIN * chance.standard_normal((size, DIRECTIONS))
            outer = inner @ directions / DIRECTIONS + NOISE * chance.standard_normal((size, DIMENSIONS))
            yield from map(tuple, (outer / np.linalg.norm(outer, axis=1, keepdims=True)).tolist())

    def _one(self) -> tuple[float, ...]:
        topic = self._chance.choice(self._topics)
        inner = [value + WITHIN * self._chance.gauss(0, 1) for value in topic]
        columns = zip(*self._directions, strict=True)
        return unit([dot(inner, column) / DIRECTIONS + NOISE * self._chance.gauss(0, 1) for column in columns])

    def _gauss(self, count: int) -> list[float]:
        return [self._chance.gauss(0, 1) for _ in range(count)]


class Way(NamedTuple):
    """A kind of index: its name, what opens one with a file or folder, and the import that says what does."""

    name: str
    opened: Callable[[Path], VectorIndex]
    made_by: str = ""


def measure(counts: Sequence[int], rounds: int, folder: Path, progress: Callable[[str], None]) -> Result:
    """Measure each kind of index at each number of vectors, smallest first."""
    result = Result("vectors")
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    installed = [*_faiss(), *_lance()]
    for count in counts:
        progress(f"vectors: storing {count:,}")
        making = Making(count // 200)
        path = folder / f"vectors-{count}.db"
        with SqliteMemoryStore(path) as store:
            _fill(store, making, count)
            ways = [Way("standard library", _exact)] if count <= MOST_EXACT else []
            for way in (*ways, *installed):
                progress(f"vectors: {way.name}, {count:,}")
                figures = Measured(store, way, folder / f"vectors-{count}-{way.name}", making).figures(rounds)
                rows.append((f"{way.name}, {count:,}", figures))
        path.unlink()
    title = f"The nearest {TOP} of vectors of {DIMENSIONS} numbers in SQLite: wall ms, but where it says otherwise"
    result.tables = [Table(title, COLUMNS, tuple(rows))]
    result.bars = _bars(rows)
    if find_spec("faiss") is None:
        result.remarks.append(f"FAISS is not installed: {missing('faiss')}.")
    return result


class Measured:
    """One index beside one store."""

    def __init__(self, store: SqliteMemoryStore, way: Way, path: Path, making: Making) -> None:
        """Make the index from the store, and save it."""
        self._store, self._way, self._path = store, way, path
        self._truth: SqliteVectors = store.vectors_of(MODEL, DIMENSIONS)
        self._asked = list(making.some(400))
        self._new = iter(self._asked[200:])
        self._made, self._opened, self._added, self._forgot = Times(), Times(), Times(), Times()
        self._index = way.opened(path)
        self._nearest = VectorSearch(self._index, self._truth)
        self._made.of(self._nearest.refresh)
        self._nearest.save()

    def figures(self, rounds: int) -> tuple[float | None, ...]:
        """Return the figures in the order of the columns."""
        recall = self._recall(self._asked[: max(2, rounds // 4)])
        self._index.close()
        memory = _opened_mb(self._path, self._way)
        self._opened.of(self._open)
        searched, small = Times(), Times()
        for asked in self._asked[:rounds]:
            searched.of(partial(self._nearest.search, asked, View(ANN), limit=TOP))
            small.of(partial(self._nearest.search, asked, View(BOB), limit=TOP))
        for number in range(max(3, rounds // 8)):
            self._add(number)
        self._forgot.of(self._forget)
        size = _size_mb(self._path)
        self._index.close()
        _delete(self._path)
        return (
            searched.wall_ms(0.5), searched.wall_ms(0.99), searched.cpu_ms, small.wall_ms(0.5),
            self._added.wall_ms(0.5), self._forgot.wall_ms(0.5), self._made.cpu_ms / 1e3, self._opened.wall_ms(0.5),
            size, memory, *recall,
        )  # fmt: skip

    def _open(self) -> None:
        self._index = self._way.opened(self._path)
        self._nearest = VectorSearch(self._index, self._truth)
        self._nearest.refresh()
        self._nearest.search(self._asked[0], View(ANN), limit=TOP)

    def _add(self, number: int) -> None:
        """Measure that a new vector is taken in; what storing it durably takes is the store's own."""
        memory = made_memory(f"{self._way.name} {number}", ANN)
        asked = next(self._new)
        self._store.add([memory])
        self._store.put_vectors(MODEL, DIMENSIONS, {memory.memory_id: asked})
        entries = self._truth.behind(self._index.last, 10)
        self._added.of(partial(self._index.add, entries))
        found = self._nearest.search(asked, View(ANN), limit=1)
        assert list(found) == [memory.memory_id], "what was added is found at once"

    def _forget(self) -> None:
        """Take 100 out of the index, or half of it where there are fewer."""
        places = self._index.places()
        self._index.remove(places[: min(100, len(places) // 2)])

    def _recall(self, some: Sequence[Sequence[float]]) -> tuple[float, float]:
        """Return which share of the exactly nearest comes from the index alone, and which from the whole way."""
        view = self._truth.view(View(ANN))
        exact = self._exact(some, view)
        alone = whole = 0
        for asked, due in zip(some, exact, strict=True):
            alone += len({near.place for near in self._index.search(asked, TOP, view)} & {*due})
            names = set(self._nearest.search(asked, View(ANN), limit=TOP))
            whole += len({each.memory_id for each in self._truth.picked(due)} & names)
        wanted = sum(map(len, exact))
        return alone / wanted, whole / wanted

    def _exact(self, some: Sequence[Sequence[float]], view: int) -> list[list[int]]:
        """Return the places of the exactly nearest, by comparing with each vector of the store."""
        scored: list[list[tuple[float, int]]] = [[] for _ in some]
        place = 0
        while entries := self._truth.behind(place, BATCH):
            place = entries[-1].place
            seen = [each for each in entries if view in each.views]
            for best, cosines in zip(scored, _cosines(some, [each.vector for each in seen]), strict=True):
                best.extend(zip(cosines, (each.place for each in seen), strict=True))
                best.sort(reverse=True)
                del best[TOP:]
        return [[place for _, place in best] for best in scored]


def _cosines(some: Sequence[Sequence[float]], vectors: Sequence[bytes]) -> list[list[float]]:
    if find_spec("numpy") is None:
        return [[dot(asked, unpacked(vector)) for vector in vectors] for asked in some]
    import numpy as np  # noqa: PLC0415  # an extra

    matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), DIMENSIONS)
    cosines: list[list[float]] = (np.array(some) @ matrix.T).tolist()
    return cosines


def _fill(store: SqliteMemoryStore, making: Making, count: int) -> None:
    """Store memories with their vectors; no search by words is wanted here, so that these are not indexed."""
    vectors = making.some(count)
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        batch = [made_memory(f"{number}", ANN if number % BOBS else BOB, time=float(number)) for number in numbers]
        with store._writing as connection:  # noqa: SLF001  # the quick way in
            for key, memory in enumerate(batch, rows.next_key(connection)):
                rows.write(connection, key, memory)
        store.put_vectors(MODEL, DIMENSIONS, {memory.memory_id: next(vectors) for memory in batch})


def _exact(path: Path) -> VectorIndex:
    del path
    return ExactIndex(MODEL, DIMENSIONS)


def _faiss() -> list[Way]:
    if find_spec("faiss") is None:
        return []
    from squidbot.adapters.faiss import FaissIndex  # noqa: PLC0415  # an extra

    return [
        Way(
            "FAISS",
            lambda path: FaissIndex(path, MODEL, DIMENSIONS),
            "from squidbot.adapters.faiss import FaissIndex as Index",
        )
    ]


def _lance() -> list[Way]:
    if find_spec("lancedb") is None:
        return []
    from squidbot.adapters.lancedb import LanceIndex  # noqa: PLC0415  # an extra

    return [
        Way(
            "LanceDB",
            lambda path: LanceIndex(path, MODEL, DIMENSIONS),
            "from squidbot.adapters.lancedb import LanceIndex as Index",
        )
    ]


def _size_mb(path: Path) -> float | None:
    """Return what a file, or all files of a folder, take on the disk, in MB; None where there is nothing."""
    if not path.exists():
        return None
    return sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file()) / 1e6


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _bars(rows: Sequence[tuple[str, tuple[float | None, ...]]]) -> list[Bar]:
    """Return the bars of the largest index by FAISS."""
    found = [(name, dict(zip(COLUMNS, figures, strict=True))) for name, figures in rows if name.startswith("FAISS")]
    if not found:
        return []
    name, figures = found[-1]
    due = (
        ("search p50", "search p50, ms", MOST_P50_MS), ("p99", "search p99, ms", MOST_P99_MS),
        ("add one", "add one to the index, ms", MOST_ADD_MS), ("open", "open, and search, ms", MOST_OPEN_MS),
    )  # fmt: skip
    bars = [Bar(f"vectors: {name}: {said}", figures[key] or 0.0, at_most=most) for key, said, most in due]
    recall = figures["recall"] or 0.0
    return [*bars, Bar(f"vectors: {name}: recall of the nearest {TOP}", recall, at_least=LEAST_RECALL)]


# Prints by how much the memory of a fresh process grows, in MB, where an index is opened in it.
CHILD = """
from pathlib import Path
from benchmarks.vectors import DIMENSIONS, MODEL
{made_by}
def resident():
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6
before = resident()
index = Index({path!r}, MODEL, DIMENSIONS)
print(resident() - before)
"""


def _opened_mb(path: Path, way: Way) -> float | None:
    """Return what an index takes in memory once it is open, in MB; None where it has no file, or no system says."""
    if not path.exists() or not Path("/proc/self/statm").exists():
        return None
    return float(run_python(["-c", CHILD.format(path=str(path), made_by=way.made_by)]).stdout)
