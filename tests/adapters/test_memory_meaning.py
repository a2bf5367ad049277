"""Stores with vectors and an index file beside them: crashes, strange files, several processes; never a wrong hit."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("faiss", reason="the extra faiss", exc_type=ImportError)

from squidbot.adapters.common import postings as searching
from squidbot.adapters.common.postings import candidates
from squidbot.adapters.faiss import FaissIndex
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.adapters.sqlite3.memory.store import remove_beside
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.memories import Scope, View
from squidbot.core.memory import semantic as meaning
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.vectors import VectorSearch, VectorStore, packed, unpacked
from squidbot.testing import HashedWords, check_memory_store, made_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from squidbot.adapters.common.postings import TermStatistics
    from squidbot.adapters.sqlite3.memory.index import TermLists
    from squidbot.core.memory.search import ParsedQuery
    from squidbot.core.ports import MemoryStore


def by_meaning(path: Path) -> SemanticStore:
    """Return a store in SQLite with its index by FAISS beside it."""
    return SemanticStore(
        SqliteMemoryStore(path),
        lambda: HashedWords(256),
        lambda model, dimensions: FaissIndex(f"{path}.{model}.vectors", model, dimensions),
    )


def exactly(path: Path) -> SemanticStore:
    """Return a store in SQLite that compares with every vector."""
    return SemanticStore(SqliteMemoryStore(path), lambda: HashedWords(256), ExactIndex)


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_meaning, exactly])
def test_store_passes_the_check_with_vectors(make: Callable[[Path], SemanticStore], tmp_path: Path) -> None:
    """The promises are those of a store without any."""
    paths: dict[MemoryStore, Path] = {}
    numbers = itertools.count()

    def opened(path: Path) -> SemanticStore:
        store = make(path)
        paths[store] = path
        return store

    def reopened(store: MemoryStore) -> MemoryStore:
        assert isinstance(store, SemanticStore)
        store.embed()
        store.close()
        return opened(paths[store])

    check_memory_store(lambda: opened(tmp_path / f"store{next(numbers)}"), reopened)
    assert isinstance(make(tmp_path / "last").by_words, VectorStore)


@pytest.mark.parametrize("exchanges", [False, True], ids=["forget", "exchange"])
def test_index_that_was_saved_while_something_was_forgotten_is_saved_again(*, tmp_path: Path, exchanges: bool) -> None:
    """Whatever a thread does between the two steps: the file is there, without what was forgotten."""
    store, path = by_meaning(tmp_path / "facts.db"), tmp_path / "facts.db.hashed-words.vectors"
    facts = [made_memory(f"Ann has beagle number{number}.") for number in range(5)]
    store.add(facts)
    store.embed()
    (gone,) = HashedWords(256).embed([facts[2].text])

    def between(act: Callable[..., object], *given: object) -> object:
        remove_beside(str(tmp_path / "facts.db"))
        store.opened().nearest.save()
        assert packed(gone) in path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("squidbot.adapters.sqlite3.memory.store.remove_beside", lambda _: None)
            return act(*given)

    def follows() -> None:
        store.embed()

    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("forget", "exchange"):
            monkeypatch.setattr(store.by_words, name, partial(between, getattr(store.by_words, name)))
        store.added = follows  # as the thread does, at once
        if exchanges:
            store.exchange([facts[2].memory_id], [made_memory("Ann has a cat.")])
        else:
            store.forget([facts[2].memory_id])
    assert packed(gone) not in path.read_bytes()
    assert FaissIndex(path, "hashed-words", 256).stamp().vectors == 4 + exchanges
    store.close()


# -- accidents --------------------------------------------------------------------------------------------------------

NOW = 2e9
SCOPE = Scope(user="ann", bot="squid")
WORDS = ("beagle", "violin", "harbour", "ginger", "lantern", "orchid", "pepper", "quartz")
# What a process does: the store as above, some facts of its own, and what it dies of, if it does.
CHILD = """
import os, signal, sys
from pathlib import Path
from squidbot.adapters.faiss import FaissIndex
from squidbot.adapters import faiss as files
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.memories import Scope
from squidbot.testing import HashedWords, made_memory

path, name, dies = sys.argv[1:]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
store = SemanticStore(
    SqliteMemoryStore(path), lambda: HashedWords(256),
    lambda model, dimensions: FaissIndex(f"{path}.{model}.vectors", model, dimensions),
)
made = [made_memory(f"{name} number{n} is here.", Scope(user="ann", bot="squid"), time=float(n)) for n in range(80)]
for number in range(0, 80, 10):
    store.add(made[number:number + 10])
    if number == 40 and name == "both":
        store.embed()
if dies == "before":
    die()
if dies == "embedding":
    store.embed(lambda done, total: die() if done >= 32 else None)
store.embed()
store.opened().nearest.save()
if dies == "forgetting":
    files.write = die
    forgotten = store.forget([each.memory_id for each in made[:3]])
    store.embed()
if dies == "saving":
    store.add([made_memory("the last one is here", Scope(user="ann", bot="squid"))])
    Path.replace = die
    store.embed()
    store.opened().nearest.save()
store.close()
"""


def run(path: Path, name: str = "walrus", dies: str = "") -> subprocess.CompletedProcess[str]:
    """Return what became of a process that writes."""
    arguments = [sys.executable, "-c", CHILD, str(path), name, dies]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two stores and their indexes."""
    folder = tmp_path_factory.mktemp("written")
    for name, word in (("facts.db", "walrus"), ("others.db", "heron")):
        store = by_meaning(folder / name)
        store.add([made_memory(f"{word} number{n} is here.", SCOPE, time=float(n)) for n in range(80)])
        store.embed()
        store.opened().nearest.save()
        store.close()
    return folder


def all_right(path: Path, name: str = "walrus", gone: int = 0, told: Sequence[str] = ()) -> None:
    """Say that each fact that was kept is found by its meaning, none that is gone, and what was told of it."""
    lines: list[str] = []
    store = SemanticStore(
        SqliteMemoryStore(path),
        lambda: HashedWords(256),
        lambda model, dimensions: FaissIndex(f"{path}.{model}.vectors", model, dimensions),
        lines.append,
    )
    view = View(SCOPE)
    for number in range(0, 80, 9):
        hits = store.search(f"{name} number{number}", view, now=NOW)
        texts = [each.text for each in store.get([hit.key for hit in hits])]
        assert (texts[0] == f"{name} number{number} is here.") == (number >= gone)
        assert len(texts) == len(hits)
    assert store.embed()
    assert store.by_words.waiting("hashed-words") == 0
    truth = store.by_words.vectors_of("hashed-words", 256)
    assert truth.stamp().vectors == len(store.listed(view, limit=1000, past=True))
    opened = store.opened()
    for entry in truth.behind(0, 1000):
        (cosine,) = opened.nearest.search(unpacked(entry.vector), view, limit=1, past=True).values()
        assert cosine == pytest.approx(1, abs=1e-5)
    assert len(lines) == len(told)
    assert all(re.search(due, line) for due, line in zip(told, lines, strict=True)), lines
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there no process is killed by a signal")
@pytest.mark.parametrize("dies", ["before", "embedding", "saving"])
def test_everything_is_found_after_the_process_was_killed(dies: str, tmp_path: Path) -> None:
    """Between the truth and its vectors, between two batches, and while the index was written."""
    path = tmp_path / "facts.db"
    assert run(path, dies=dies).returncode == -signal.SIGKILL
    all_right(path)
    with SqliteMemoryStore(path) as store:
        store.forget([made_memory("walrus number0 is here.", SCOPE).memory_id])
    assert not [*tmp_path.glob("*.part")]  # what was left unfinished may hold it, too


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there no process is killed by a signal")
def test_forgotten_memory_is_in_no_file_when_the_process_was_killed_behind_forgetting(tmp_path: Path) -> None:
    """The index went first: what is made anew never had it."""
    path = tmp_path / "facts.db"
    assert run(path, dies="").returncode == 0
    (file,) = tmp_path.glob("*.vectors")
    with SqliteMemoryStore(path) as store:
        vectors = [each.vector for each in store.vectors_of("hashed-words", 256).behind(0, 99)]
    assert vectors[1] in file.read_bytes()
    other = tmp_path / "others.db"
    assert run(other, dies="forgetting").returncode == -signal.SIGKILL
    assert not [each for each in tmp_path.glob("others.db.*.vectors*") if vectors[1] in each.read_bytes()]
    all_right(other, gone=3)
    assert [vectors[1] in each.read_bytes() for each in tmp_path.glob("others.db.*.vectors")] in ([], [False])


def test_forgotten_memory_is_in_no_file_beside_the_store(tmp_path: Path) -> None:
    """Whoever forgets, with an embedder or without: the index of any model is gone before, and made anew without it."""
    path = tmp_path / "facts.db"
    store = by_meaning(path)
    store.add([made_memory(f"{word} is here", SCOPE) for word in WORDS])
    store.embed()
    store.opened().nearest.save()
    (file,) = tmp_path.glob("*.vectors")
    stray, other = tmp_path / "facts.db.older.vectors", tmp_path / "facts.db2.older.vectors"
    for each in (stray, other):
        each.write_bytes(file.read_bytes())
    vector = store.by_words.vectors_of("hashed-words", 256).behind(0, 1)[0].vector
    assert vector in file.read_bytes()
    store.forget([made_memory("beagle is here", SCOPE).memory_id])
    assert not stray.exists()
    assert other.exists()
    store.close()
    assert vector not in file.read_bytes()
    with SqliteMemoryStore(path) as plain:
        plain.forget([made_memory("violin is here", SCOPE).memory_id])
    assert not file.exists()


@pytest.mark.parametrize(
    ("spoils", "told"),
    [
        (lambda file, _: file.unlink(), ()),
        (lambda file, _: file.write_bytes(file.read_bytes()[:-700]), ("truncated or damaged",)),
        (lambda file, _: file.write_bytes(b""), ("not a squidbot index",)),
        (lambda file, _: file.write_bytes(b"PK\3\4" * 999), ("not a squidbot index",)),
        (lambda file, other: file.write_bytes(other.read_bytes()), ()),
    ],
    ids=["missing", "cut", "empty", "strange", "of-another-store"],
)
def test_index_file_is_made_anew_when_it_is_not_what_it_was(
    spoils: Callable[[Path, Path], object], told: Sequence[str], tmp_path: Path, written: Path
) -> None:
    """One clear line where it can't be read, and never a wrong hit; one of another store is seen by its stamp."""
    path, other = tmp_path / "facts.db", tmp_path / "others.db"
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    (file,), (foreign,) = tmp_path.glob("facts.db.*.vectors"), tmp_path.glob("others.db.*.vectors")
    spoils(file, foreign)
    spoiled = file.read_bytes() if file.exists() else None
    all_right(path, told=told)
    all_right(other, "heron")
    assert not file.exists() or file.read_bytes() != spoiled


@pytest.mark.slow
def test_nothing_is_lost_when_two_processes_add_and_make_vectors_at_once(tmp_path: Path) -> None:
    """Each has an index of its own, and the file is that of one of them, whole."""
    path = tmp_path / "facts.db"
    SqliteMemoryStore(path).close()
    arguments = [sys.executable, "-c", CHILD, str(path)]
    both = [subprocess.Popen([*arguments, name, ""], stderr=subprocess.PIPE, text=True) for name in ("walrus", "both")]
    assert [(each.communicate(timeout=60)[1], each.returncode) for each in both] == [("", 0)] * 2
    for name in ("walrus", "both"):
        all_right(path, name)
    with SqliteMemoryStore(path) as store:
        assert len(store.listed(View(SCOPE), limit=1000)) == 160


def test_many_memories_are_found_by_fewer_words_and_by_all_that_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are many, half as many are ranked by their words: what has the words is found, and what is near."""
    asked: list[int] = []
    near: list[list[int]] = []

    def looked(lists: TermLists, query: ParsedQuery, limit: int) -> tuple[list[int], TermStatistics]:
        asked.append(limit)
        return candidates(lists, query, limit)

    monkeypatch.setattr(searching, "MANY_MEMORIES", 200)
    monkeypatch.setattr(meaning, "MANY_VECTORS", 200)
    found = VectorSearch.places

    def placed(self: VectorSearch, vector: Sequence[float], view: View, *, limit: int, past: bool = False) -> list[int]:
        near.append(found(self, vector, view, limit=limit, past=past))
        return near[-1]

    monkeypatch.setattr(searching, "candidates", looked)
    monkeypatch.setattr(VectorSearch, "places", placed)
    store = by_meaning(tmp_path / "facts.db")
    noise = [made_memory(f"Ann wrote letter {number} about garden{number % 7}.") for number in range(300)]
    store.add(noise[:150])
    store.embed()
    store.search("garden letter", View(noise[0].scope), now=0.0)
    beagle = made_memory("The beagle sleeps in the kitchen.")
    store.add([*noise[150:], beagle])
    store.embed()
    hits = store.search("Where does the beagle sleep?", View(beagle.scope), now=0.0)
    store.by_words.search("garden letter", View(beagle.scope), now=0.0)
    store.search("garden letter", View(beagle.scope), limit=90, now=0.0)
    assert hits[0].key == beagle.memory_id
    assert len(near) == 3
    assert [len(each) for each in near] == [100, 80, 80]
    assert asked == [128, 64, 128, 90]
    store.close()
