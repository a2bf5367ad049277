"""What a MemoryStore promises about exchanges and pieces of files; a part of `check_memory_store`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.memories import Memory, Scope, Source, View, memory_id_of
from squidbot.testing.values import refuses

if TYPE_CHECKING:
    from squidbot.core.ports import MemoryStore

__all__ = ["EXCHANGE_CHECKS"]

ANN = Scope(user="ann", bot="squid")
OUTDATED = "its file changed"


def _made(text: str, place: int = -1) -> Memory:
    """Return a memory; from `place` 0 on it is a piece of a file."""
    source = (Source(path="notes/a.md", first_seq=place, last_seq=place, digest="d"),) if place >= 0 else ()
    return Memory(memory_id_of(ANN, text), text, "background", ANN, float(place), sources=source)


def _hits(store: MemoryStore, query: str) -> list[str]:
    return [hit.key for hit in store.search(query, View(ANN), limit=1000, now=2e9)]


def _checks_exchange(store: MemoryStore) -> None:
    walrus = _made("walrus")
    old = [_made(f"tea own{number}", number) for number in range(6)]
    store.add([*old, walrus])
    gone = [each.memory_id for each in old]
    moved = replace(_made("tea own4", 1), time=2e9, importance=0.75)
    other = replace(old[5], text="tea other5")
    new = [old[0], moved, other, _made("tea own7", 3)]
    refuses("an exchange with a misfit", store.exchange, gone, [replace(new[3], importance=2.0)])
    refuses("an exchange with another under a stored id", store.exchange, gone, [new[3], replace(walrus, time=3.0)])
    refuses("superseding what goes", store.exchange, gone[:1], [replace(new[3], supersedes=gone[0])])
    try:
        store.exchange([*gone, "nobody"], new)
    except NotFoundError:
        assert store.get([*gone, new[3].memory_id]) == old, "what is refused changes nothing"
    else:
        raise AssertionError("one of those to forget is not there: a NotFoundError was due")
    store.exchange([*gone, gone[2]], new, OUTDATED)
    assert store.get([gone[0], gone[4], gone[5], new[3].memory_id]) == new, "the new ones are as they came"
    found = {*_hits(store, "tea")} - {walrus.memory_id}
    assert found == {each.memory_id for each in new}, "they are found, and none that is gone"
    assert _hits(store, "walrus")[:1] == [walrus.memory_id], "what is not named stays"
    scores = [dict(store.search(query, View(ANN), now=2e9)).get(other.memory_id, 0.0) for query in ("own5", "other5")]
    assert scores[0] < scores[1], "nor is one found by words that it had"
    assert store.forgotten(gone) == dict.fromkeys(gone[1:4], OUTDATED), "what is gone is known as such"
    store.exchange([], [old[1]])
    assert _hits(store, "own1")[:1] == [gone[1]], "without any to forget it adds"
    store.exchange([gone[1]], [])
    assert gone[1] not in _hits(store, "own1"), "without any to add it forgets"


def _checks_rows(store: MemoryStore) -> None:
    """Check that a piece of a file is found by what stands beside it, wherever that stands in the store."""
    said = ["Which colour has the boat?", "It is teal.", "The cat sleeps.", "No, she is awake."]
    row = [_made(text, place) for place, text in enumerate(said)]
    others = [_made(f"number{number} boat colour") for number in range(3)]
    store.add([row[1], *others, row[3], row[0]])
    assert row[1].memory_id in _hits(store, "Which colour has the boat?"), "what stands beside an answer's question"
    store.exchange([row[1].memory_id, row[3].memory_id], [row[2], replace(row[3], sources=row[1].sources)])
    found = _hits(store, "Which colour has the boat?")
    assert row[3].memory_id in found, "what has moved there"
    assert row[1].memory_id not in found, "and not what stood there before"


EXCHANGE_CHECKS = (_checks_exchange, _checks_rows)
