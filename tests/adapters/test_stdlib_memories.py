"""The memory store in memory, and that the public check notices one that breaks a promise."""

# ruff: noqa: ANN401  # the arguments of any method
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.core.memories import MemoryHit, View
from squidbot.testing import check_memory_store

from .mutants import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.memories import Memory


def test_in_memory_memory_store_keeps_the_promises_of_memories() -> None:
    """The public check of the port passes."""
    check_memory_store(InMemoryMemoryStore)


def _one_policy(_: InMemoryMemoryStore, true: Callable[..., object], query: str, view: View, **more: Any) -> object:
    """Let every user see what all do under one policy."""
    return true(query, View(view.scope, "global"), **more)


def _oldest(_: InMemoryMemoryStore, true: Callable[..., list[MemoryHit]], *asked: Any, **more: Any) -> list[MemoryHit]:
    """Turn ties around."""
    found = true(*asked, **{**more, "limit": 1000})
    found.reverse()
    return sorted(found, key=lambda hit: -hit.score)[: more.get("limit", 20)]


def _last_stays(store: InMemoryMemoryStore, true: Callable[..., None], memories: list[Memory], *more: Any) -> None:
    """Make room for the last memory under an id."""
    store.forget([memory.memory_id for memory in memories])
    true(memories, *more)


def _up_to_the_fault(_: InMemoryMemoryStore, true: Callable[..., None], memories: list[Memory], *more: Any) -> None:
    """Store what comes before what is refused."""
    for memory in memories:
        true([memory])
    true([], *more)


def _any_mark(store: InMemoryMemoryStore, true: Callable[..., None], memories: list[Memory], *more: Any) -> None:
    """Store again what another one has read."""
    mark, _, *rest = (*more, None, None)[: max(2, len(more))]
    true(memories, mark, store.mark(*mark[:2]) if mark else None, *rest)


def _one_by_one(_: InMemoryMemoryStore, true: Callable[..., None], places: Mapping[str, str]) -> None:
    """Supersede what comes before what can't be."""
    for memory_id, taker in places.items():
        true({memory_id: taker})


def _rash(store: InMemoryMemoryStore, true: Callable[..., list[str]], session: str, seqs: Any, *more: str) -> list[str]:
    """Forget what other messages say, too."""
    gone = true(session, seqs, *more) if seqs else []
    left = [each.memory_id for each in store.from_session("t")] if gone else []
    store.forget(left, *more)
    return [*gone, *left]


def _doubling(store: InMemoryMemoryStore, true: Callable[..., list[Memory]], *asked: Any, **more: Any) -> list[Memory]:
    """Give the last one of the page before again."""
    found, after = true(*asked, **more), more.get("after")
    return [*store.get([after]), *found][: more.get("limit", 100)] if after else found


# A method, what stands in its place, and how the check words the promise that it breaks.
FAULTS: dict[str, tuple[str, Callable[..., object], str]] = {
    "lower is closer": (
        "search",
        lambda _, true, *asked, **more: [MemoryHit(hit.key, 1 - hit.score) for hit in true(*asked, **more)],
        "scores fall|any of the words|all words go before",
    ),
    "one policy for all": ("search", _one_policy, "finds its own memories, and no others"),
    "ties are oldest first": ("search", _oldest, "ties newest first"),
    "history is found": (
        "search",
        lambda _, true, *asked, **more: true(*asked, **{**more, "past": True}),
        "superseded is not found",
    ),
    "nothing was forgotten": ("forgotten", lambda *_: {}, "and why, is kept"),
    "the last one stays": ("add", _last_stays, "another memory under a stored id"),
    "stored up to the fault": ("add", _up_to_the_fault, "with one that is refused, nothing is stored"),
    "pages overlap": ("listed", _doubling, "pages of 17"),
    "one place is taken": ("add", lambda _, true, *given: true(*given[:4]), "unknown memory's place"),
    "sources are passed over": (
        "add",
        lambda _, true, *given: true(*given[:3], None, *given[4:]),
        "sources come behind its own",
    ),
    "one message takes all": ("forget_messages", _rash, "what nothing else says goes"),
    "marks are passed over": ("add", _any_mark, "a mark in the place of"),
    "one after the other": ("supersede", _one_by_one, "with a chain within one call"),
    "history was said nowhere": (
        "from_session",
        lambda _, true, name: [memory for memory in true(name) if not memory.superseded_by],
        "what was said in a session is known",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_check_of_memory_stores_notices_when_a_promise_is_broken(fault: str) -> None:
    """Each fault is told by the promise that it breaks."""
    name, act, promise = FAULTS[fault]
    with pytest.raises(AssertionError, match=promise):
        check_memory_store(mutant(InMemoryMemoryStore, name, act))
