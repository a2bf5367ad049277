"""Copies of stores of facts: everything in them, between files and PostgreSQL, and what has changed since."""

from __future__ import annotations

import math
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import CARDS, Mark, Memory, Scope, Source, View, memory_id_of
from squidbot.core.vectors import packed, unpacked
from squidbot.services import copying
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from squidbot.adapters.psycopg import PostgresqlMemoryStore
    from tests.postgresql import FactTenants

    Store = SqliteMemoryStore | PostgresqlMemoryStore

ANN, BOB = Scope(user="ann", bot="squid"), Scope(user="bob")
NOW = 1_800_000_000.0
MODELS = {"small": 3, "large": 40}


class Pair(NamedTuple):
    """A store with facts, and an empty one."""

    source: Store
    target: Store

    def copy(self) -> copying.CopiedFacts:
        """Copy all, and check that both have the same."""
        done = copying.copy_facts(self.source, self.target)
        assert rows(self.source) == rows(self.target)
        assert copying.facts_of(self.source) == copying.facts_of(self.target) == done._replace(new=0)
        assert answers(self.source) == answers(self.target)
        return done


@pytest.fixture(params=["to a server", "to a file", "file to file"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Return two stores."""
    made: list[Store] = []
    for number, is_server in enumerate((request.param == "to a file", request.param == "to a server")):
        tenants: FactTenants | None = request.getfixturevalue("tenants") if is_server else None
        made.append(tenants.opened() if tenants else SqliteMemoryStore(tmp_path / f"{number}.db"))
    lived(made[0])
    yield Pair(*made)
    for store in made:
        store.close()


def fact(text: str, scope: Scope = ANN, time: float = NOW, supersedes: str = "") -> Memory:
    """Return a fact."""
    source = Source(f"s{len(text) % 3}", len(text), len(text))
    made = Memory(memory_id_of(scope, text, (source,)), text, "background", scope, time, sources=(source,))
    return replace(made, supersedes=supersedes)


def lived(store: Store) -> None:
    """Add facts, have some replaced, restored, merged, said again and forgotten; marks, cards and vectors."""
    said = [fact(f"Walrus number {number} swims.", (ANN, BOB)[number % 2], NOW - number % 5) for number in range(60)]
    store.add(said, Mark("s1", "rules", 9, "v1", "stamp"))
    names = [one.memory_id for one in said]
    store.add([fact("Walrus 2 sleeps.", supersedes=names[2]), fact("Walrus 4 sleeps.", supersedes=names[4])])
    store.supersede({names[4]: "", names[6]: names[8], names[10]: names[8]})
    store.add([], said={names[12]: (Source("s9", 1, 1),)})
    store.forget([names[2], names[14], names[16]], "asked")
    store.add([said[16], *(fact(text, BOB) for text in ODD_TEXTS if text.strip())], Mark("\ud800", "model", 3, "v", ""))
    store.forget([names[18]], "\udc00")
    store.add([fact("A card of a file.", ANN._replace(collection=CARDS))])
    embed(store)


def embed(store: Store) -> None:
    """Give all facts that lack them vectors of two models."""
    for model, dimensions in MODELS.items():
        for memory in store.without_vectors(model, limit=1_000):
            chance = random.Random(ascii(memory.text))  # noqa: S311  # no secret
            store.put_vectors(model, dimensions, {memory.memory_id: [chance.gauss(0, 1) for _ in range(dimensions)]})


def rows(store: Store) -> list[object]:
    """Return all rows of a store, and its vectors."""
    found: list[object] = [*store.fact_rows(0, 10_000), *sorted(store.marks())]
    for model, dimensions in store.models().items():
        entries = store.vectors_of(model, dimensions).behind(0, 10_000)
        found += [(model, *one[2:]) for one in entries]
    return found


def answers(store: Store) -> list[object]:
    """Return what a store answers."""
    names = [
        row.memory.memory_id if row.memory else str(row.grave and row.grave.memory_id)
        for row in store.fact_rows(0, 999)
    ]
    found: list[object] = [store.forgotten(names), store.get(names), store.from_session("s9")]
    found += [store.waiting(model) for model in MODELS]
    for scope in (ANN, BOB):
        for past in (False, True):
            view = View(scope)
            found += [store.search(query, view, now=NOW, past=past) for query in ("walrus", "sleeps 4", "card", "two")]
            found += [store.listed(view, past=past), store.listed(view.of(CARDS))]
    return [*found, store.listed(View(ANN), after=names[2])]


def test_everything_is_copied(pair: Pair) -> None:
    """Facts, history, graves, marks, vectors; and copied again nothing is written."""
    done = pair.copy()
    assert done.facts > 70
    assert done.marks == 2
    assert done.vectors > 100
    assert done.new == done.facts + done.marks + done.vectors
    assert pair.copy().new == 0


def test_what_changed_since_takes_its_new_state(pair: Pair) -> None:
    """Replaced, said again, forgotten, there again, or new: programs may go on between two copies."""
    pair.copy()
    every = [row.memory for row in pair.source.fact_rows(0, 999) if row.memory]
    held = [one for one in every if one.scope == ANN and not one.superseded_by]
    names, was = [one.memory_id for one in held], Mark("s1", "rules", 9, "v1", "stamp")
    pair.source.supersede({names[3]: names[4], names[9]: names[4]})
    pair.source.add([], said={names[5]: (Source("s9", 2, 2),)})
    pair.source.forget([names[6], names[7]], "asked")
    pair.source.add([held[7], fact("Something else.")], was._replace(next_seq=20), was)
    embed(pair.source)
    assert 0 < pair.copy().new < 20
    pair.target.add([fact("Said at the new place.")])
    (hit,) = pair.target.search('"new place"', View(ANN), now=NOW)
    assert hit.key == fact("Said at the new place.").memory_id


def test_copy_that_was_cut_goes_on(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it ended."""
    monkeypatch.setattr(copying, "PAGE_ROWS", 7)
    true = type(pair.target).put_fact_rows
    left = 0

    def put(*given: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreError("the power is gone")
        true(*given)  # type: ignore[arg-type]

    for most in (0, 1, 3):
        left = most
        with monkeypatch.context() as patched:
            patched.setattr(type(pair.target), "put_fact_rows", put)
            with pytest.raises(StoreError, match="the power is gone"):
                copying.copy_facts(pair.source, pair.target)
    assert pair.copy().new > 0


def test_other_facts_are_refused(pair: Pair) -> None:
    """Another one in a place, and later ones; they stay as they are."""
    pair.target.add([fact("Mine.")])
    before = rows(pair.target)
    with pytest.raises(copying._DifferenceError, match="the target has another fact with the key 1"):
        copying.copy_facts(pair.source, pair.target)
    assert rows(pair.target) == before
    pair.target.forget([fact("Mine.").memory_id])
    with pytest.raises(copying._DifferenceError, match="the target has another fact with the key 1"):
        copying.copy_facts(pair.source, pair.target)


def test_later_facts_are_refused(pair: Pair) -> None:
    """Programs work with the target already."""
    pair.copy()
    pair.target.add([fact("Mine.")])
    with pytest.raises(copying._DifferenceError, match="the target has later facts than the source"):
        copying.copy_facts(pair.source, pair.target)
    pair.source.add([fact("Yours.")])
    with pytest.raises(copying._DifferenceError, match="the target has another fact with the key"):
        copying.copy_facts(pair.source, pair.target)


def test_fact_that_is_missing_in_between_is_noticed(pair: Pair) -> None:
    """Keys come in order: one that is behind is put nowhere."""
    first, *_ = pair.source.fact_rows(0, 1)
    pair.target.put_fact_rows(pair.source.fact_rows(3, 2))
    with pytest.raises(copying._DifferenceError, match=f"lacks the fact with the key {first.key}, and has later ones"):
        copying.copy_facts(pair.source, pair.target)


def test_damaged_fact_is_not_copied(tmp_path: Path) -> None:
    """The error says which; neither is a damaged grave, or mark."""
    for table in ("memories", "forgotten_memories", "memory_marks"):
        path = tmp_path / f"{table}.db"
        with SqliteMemoryStore(path) as store, SqliteMemoryStore(tmp_path / f"{table}-copy.db") as target:
            lived(store)
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(f"UPDATE {table} SET checksum = checksum + 1")  # noqa: S608  # our own names
            with pytest.raises(DamagedStoreError):
                copying.copy_facts(store, target)


def test_vector_survives_bit_for_bit() -> None:
    """A vector of length 1 is not divided once more; another one is."""
    chance = random.Random(7)  # noqa: S311  # no secret
    for _ in range(2_000):
        first = packed([chance.gauss(0, 1) for _ in range(5)])
        assert packed(unpacked(first)) == first
    assert math.isclose(math.hypot(*unpacked(packed([3.0, 4.0]))), 1.0, abs_tol=1e-7)
    assert unpacked(packed([1.001, 0.0])) == (1.0, 0.0)
