"""Stores with vectors and an index file beside them: crashes, strange files, several processes; never a wrong hit."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("faiss", reason="an extra: squidbot[faiss]", exc_type=ImportError)

from squidbot.adapters.faiss import FaissIndex
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.adapters.sqlite3.memory.beside import remove_beside
from squidbot.adapters.stdlib import ExactIndex, FileMemoryStore
from squidbot.core.memory.meaning import ByMeaning
from squidbot.core.vectors.values import VectorStore, packed
from squidbot.testing import HashedWords, check_memory_store, made_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.core.memories import MemoryStore


def by_meaning(path: Path) -> ByMeaning:
    """Return a store in SQLite with its index by FAISS beside it."""
    return ByMeaning(
        SqliteMemoryStore(path),
        lambda: HashedWords(256),
        lambda model, dimensions: FaissIndex(f"{path}.{model}.vectors", model, dimensions),
    )


def in_lines(path: Path) -> ByMeaning:
    """Return a store in a file of JSON lines, with vectors that live in memory."""
    return ByMeaning(FileMemoryStore(path), lambda: HashedWords(256), ExactIndex)


@pytest.mark.parametrize("make", [by_meaning, in_lines])
def test_store_passes_the_check_with_vectors(make: Callable[[Path], ByMeaning], tmp_path: Path) -> None:
    """The promises are those of a store without any."""
    paths: dict[MemoryStore, Path] = {}
    numbers = itertools.count()

    def opened(path: Path) -> ByMeaning:
        store = make(path)
        paths[store] = path
        return store

    def reopened(store: MemoryStore) -> MemoryStore:
        assert isinstance(store, ByMeaning)
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
