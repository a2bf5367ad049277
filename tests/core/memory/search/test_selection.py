"""What of the found is told first, and that nothing is told twice."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memories import CATEGORIES, Memory, MemoryHit, View
from squidbot.core.memory.search import BLOCK, distinct, half_life_days, in_final_order, worth

from ..shelves import ANN, DAY, NOW, fact, shelf

LONG = "invoice for yearly meeting, all gate keepers, old north harbour, paid late, Ann"
TEXTS = st.lists(st.sampled_from(("red", "gate", "7", "8", "not", "Ann", "tea", "!")), max_size=5).map(" ".join)
MEMORIES = st.builds(
    lambda text, category, days, importance: fact(text, category, days, importance=importance),
    TEXTS,
    st.sampled_from(CATEGORIES),
    st.floats(-10, 5000),
    st.floats(0, 1),
)


def named_by_place(memories: list[Memory]) -> dict[str, Memory]:
    """Return memories by ids of their own."""
    return {f"f-{place}": replace(one, memory_id=f"f-{place}") for place, one in enumerate(memories)}


def test_a_new_memory_of_which_nobody_says_how_important_it_is_counts_as_found() -> None:
    """So does one from the future, of a clock that is ahead."""
    assert worth(fact("tea", days=0), NOW) == 1
    assert worth(fact("tea", days=-5), NOW) == 1


@given(MEMORIES, st.floats(0, 1), st.floats(0, 5000))
def test_what_matters_more_or_is_newer_never_counts_less(memory: Memory, importance: float, days: float) -> None:
    """And neither counts for much: a tenth at most, and a twentieth."""
    low, high = sorted((memory.importance, importance))
    assert worth(replace(memory, importance=low), NOW) <= worth(replace(memory, importance=high), NOW)
    old, new = sorted((memory.time, NOW - days * DAY))
    assert worth(replace(memory, time=old), NOW) <= worth(replace(memory, time=new), NOW)
    assert 0.9 * 0.95 <= worth(memory, NOW) <= 1.1


@pytest.mark.parametrize(("tag", "days"), [("fact", 180), ("plan", 27), ("about:job", 72)])
def test_plans_age_faster_than_facts(tag: str, days: float) -> None:
    """By the tag, else by the category."""
    memory = fact("tea", "preferences", tags=("about:x", tag), days=days)
    assert half_life_days(memory) == pytest.approx(days)
    assert worth(memory, NOW) == pytest.approx(1 - 0.05 / 2)


def test_searching_changes_no_order() -> None:
    """However often something is found, it is no nearer the next time."""
    store = shelf(*(fact(f"tea of kind {number}", days=number) for number in range(9)))
    first = store.search("tea of kind 7", View(ANN), now=NOW)
    for _ in range(20):
        store.search("tea of kind 3", View(ANN), now=NOW)
    assert store.search("tea of kind 7", View(ANN), now=NOW) == first
    assert all(memory.importance == 0.5 for memory in store.memories.values())


@given(st.lists(MEMORIES, max_size=12), st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_order_is_that_of_scores_but_for_what_matters(memories: list[Memory], scores: list[float]) -> None:
    """Each once; of equals in worth the better hit is first."""
    by_id = named_by_place(memories)
    hits = [MemoryHit(name, score) for name, score in zip(by_id, sorted(scores, reverse=True), strict=False)]
    told = in_final_order(hits, by_id, NOW)
    assert sorted(one.memory_id for one in told) == sorted(by_id)
    score_of = {hit.key: hit.score for hit in hits}
    for one, other in pairwise(told):
        if worth(one, NOW) <= worth(other, NOW):
            assert score_of[one.memory_id] >= score_of[other.memory_id]


def test_who_asks_for_more_gets_the_same_first() -> None:
    """What stands far behind is not lifted before what was told."""
    by_id = named_by_place([fact("tea", importance=1.0 if place >= BLOCK else 0.0) for place in range(2 * BLOCK)])
    hits = [MemoryHit(name, 1 - place / 1000) for place, name in enumerate(by_id)]
    assert in_final_order(hits, by_id, NOW)[:BLOCK] == in_final_order(hits[:BLOCK], by_id, NOW)


def test_what_is_no_memory_of_the_view_is_left_out() -> None:
    """A hit whose memory is not there."""
    assert in_final_order([MemoryHit("gone", 0.9)], {}, NOW) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The kettle is blue.", "the kettle: blue!", True),
        ("Ann likes tea.", "Ann doesn't like tea.", False),
        ("Ann likes tea.", "Ann never likes tea.", False),
        (f"{LONG} of room 17", f"{LONG} of room 18", False),
        (f"{LONG} of room 17", f"A {LONG} of room 17", True),
        ("Ann lives in Oslo.", "Ann lives in Paris.", False),
        ("!", "?", False),
    ],
)  # fmt: skip
def test_what_says_the_same_is_told_once(one: str, other: str, *, same: bool) -> None:
    """The first of them; numbers and negations are no small difference."""
    memories = [fact(one), fact(other)]
    assert distinct(memories) == memories[: 1 if same else 2]


@given(st.lists(MEMORIES, max_size=12))
def test_what_is_told_once_is_the_first_and_tells_all(memories: list[Memory]) -> None:
    """In order; what is left out says what one before it said; a second time changes nothing."""
    kept = distinct(memories)
    rest = iter(memories)
    assert all(one in rest for one in kept)
    assert distinct(kept) == kept
    assert all(distinct([*kept, memory]) == kept for memory in memories)
