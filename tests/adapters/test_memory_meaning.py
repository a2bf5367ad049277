"""Stores with vectors and an index file beside them: crashes, strange files, several processes; never a wrong hit."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("faiss", reason="an extra: squidbot[faiss]", exc_type=ImportError)

from squidbot.adapters.faiss import FaissIndex
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.adapters.stdlib import ExactIndex, FileMemoryStore
from squidbot.core.memory.meaning import ByMeaning
from squidbot.core.vectors.values import VectorStore
from squidbot.testing import HashedWords, check_memory_store

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
