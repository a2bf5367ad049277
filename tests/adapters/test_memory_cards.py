"""Cards of files have no vectors: they are listed, and never searched."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore, SqliteMemoryStore
from squidbot.adapters.sqlite3.memory.rows import CARDS_INDEX
from squidbot.adapters.sqlite3.memory.store import memory_counts
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.memories import CARDS, Scope, View
from squidbot.core.memory.chunks import FILES
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.memory.view import Memories
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.services.indexing import IndexPaths, reindex
from squidbot.testing import HashedWords, made_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from squidbot.core.vectors import VectorStore

ANN = Scope(user="ann", bot="squid")
# Scopes that are written nearly like that of a card.
NEARLY = (
    ANN,
    Scope(thread=CARDS),
    Scope(channel='","', thread=CARDS),
    Scope(user='","","","","","","","cards"]', thread=CARDS),
    Scope("a", "b", "c", "d", "e", "f", CARDS, FILES),
    Scope(collection="my cards"),
    Scope(collection='","cards'),
)
ALSO = (
    Scope(collection=CARDS),
    Scope(user='","', thread="]", collection=CARDS),
    Scope("a", "b", "c", "d", "e", "f", "g", CARDS),
)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    """Open a store of each kind."""
    if request.param == "postgresql":
        made: VectorStore = request.getfixturevalue("tenants").opened()
    else:
        made = InMemoryMemoryStore() if request.param == "memory" else SqliteMemoryStore(tmp_path / "facts")
    with closing(made):  # type: ignore[type-var]  # all of these can be closed
        yield made


def test_cards_wait_for_no_vector_and_nothing_else_is_taken_for_one(store: VectorStore) -> None:
    """Whatever the parts of a scope are, and wherever cards stand."""
    facts = [made_memory(f"fact {number}", scope) for number, scope in enumerate(NEARLY)]
    cards = [made_memory(f"card {number}", scope) for number, scope in enumerate(ALSO)]
    store.add([cards[0], *facts[:3], cards[1], *facts[3:], cards[2]])
    assert store.without_vectors("m") == store.newest_without("m", 100) == facts
    assert store.without_vectors("m", limit=4) == facts[:4]
    assert store.waiting("m") == len(facts)
    store.put_vectors("m", 2, {fact.memory_id: (1.0, 2.0) for fact in facts[:-1]})
    assert (store.newest_without("m", 100), store.waiting("m")) == (facts[-1:], 1)
    store.put_vectors("m", 2, {facts[-1].memory_id: (1.0, 2.0)})
    assert (store.without_vectors("m"), store.newest_without("m", 100), store.waiting("m")) == ([], [], 0)
    store.forget([cards[1].memory_id, facts[0].memory_id])
    assert store.waiting("m") == 0


class Asked(HashedWords):
    """An embedder that remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return vectors."""
        self.texts += texts
        return super().embed(texts)


def test_files_that_are_indexed_have_vectors_of_their_pieces_alone(store: VectorStore, tmp_path: Path) -> None:
    """None of a file's path, which nobody searches."""
    (tmp_path / "boat.md").write_text("# Boat\nIt is teal.\n", encoding="utf-8")
    embedder = Asked()
    meaning = SemanticStore(store, lambda: embedder, ExactIndex)
    memories = Memories(meaning, View(ANN), Meter(builtin_counter("classes")))
    reindex(memories, IndexPaths(tmp_path, ("boat.md",)))
    assert meaning.embed()
    assert embedder.texts == ["Boat\nIt is teal."]
    hits = meaning.search("teal", View(ANN._replace(collection=FILES)), now=0.0)
    assert len(hits) == 1
    assert embedder.texts == ["Boat\nIt is teal.", "teal"]


def test_store_of_an_earlier_squidbot_whose_cards_have_vectors_goes_on(tmp_path: Path) -> None:
    """These stay until their files change; nothing waits, and what comes next is counted right."""
    path = tmp_path / "facts.db"
    cards = [made_memory(f"card {number}", ALSO[0]) for number in range(3)]
    fact = made_memory("fact")
    with SqliteMemoryStore(path) as store:
        store.add([*cards, fact])
        store.put_vectors("m", 2, {card.memory_id: (1.0, 2.0) for card in (*cards, fact)})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP INDEX {CARDS_INDEX}")
    with SqliteMemoryStore(path) as store:
        assert (store.waiting("m"), store.waiting("other")) == (0, 4)
        store.add([made_memory("another card", ALSO[0]), made_memory("another fact")])
        assert (store.waiting("m"), store.waiting("other")) == (1, 2)
    assert memory_counts(str(path)).memories == 2
