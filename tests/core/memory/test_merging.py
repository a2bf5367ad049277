"""Which memories are one: those that say the same in nearly the same words, never those that differ in what counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memories import CATEGORIES, Memory
from squidbot.core.memory.facts import ABOUT, rank
from squidbot.core.memory.view import MOST_MERGES, alike, merges

from .shelves import fact

ONE = "The weekly report goes to the whole team on Monday"
OTHER = "The weekly report goes to the whole team on Monday morning"


def test_memories_that_say_nearly_the_same_become_one() -> None:
    """The newer stays, with a reason; the other is named as gone."""
    old, new = fact(ONE, days=9), fact(OTHER, days=1)
    (merge,) = merges([old, new])
    assert (merge.kept, merge.gone) == (new, (old,))
    assert "90 % alike" in merge.reason


def test_more_trusted_memory_stays() -> None:
    """However old it is."""
    user, noted = fact(ONE, days=9), fact(OTHER, days=1, trust="assistant")
    (merge,) = merges([noted, user])
    assert merge.kept == user


@pytest.mark.parametrize(
    "other",
    [
        fact("The weekly report does not go to the whole team on Monday"),
        fact("The weekly report doesn\u2019t go to the whole team on Monday"),
        fact("The weekly report can't go to the whole team on Monday"),
        fact("The weekly report 2 goes to the whole team on Monday"),
        fact("Bees sleep at night"),
        fact(OTHER, speaker="Ben"),
        fact(OTHER, tags=(f"{ABOUT}x/y",)),
        fact(OTHER, superseded_by="f-1"),
        fact("The weekly report goes to everybody in the whole team on Monday morning", "background"),
    ],
)
def test_memories_that_differ_in_what_counts_stay_two(other: Memory) -> None:
    """A negation, a number, a speaker, a subject, a category."""
    assert merges([fact(ONE, tags=(f"{ABOUT}z/y",)), other]) == ()


def test_likeness_can_be_given() -> None:
    """The cosine of vectors, where there are some: .75 within a category, .90 across two."""
    near, far = fact("cats purr"), fact("felines hum")
    other = replace(far, category="background")
    assert len(merges([near, far], lambda *_: 0.75)) == 1
    assert merges([near, far], lambda *_: 0.74) == ()
    assert merges([near, other], lambda *_: 0.89) == ()
    assert len(merges([near, other], lambda *_: 0.9)) == 1


def test_one_can_stand_for_several() -> None:
    """In one entry of the plan."""
    (merge,) = merges([fact(ONE, days=9), fact(OTHER, days=1), fact(f"{ONE} evening", days=5)])
    assert merge.kept.text == OTHER
    assert len(merge.gone) == 2


WORDS = st.lists(st.sampled_from(["bees", "sleep", "at", "night", "not", "never", "4"]), min_size=1, max_size=6)


@given(
    st.lists(
        st.builds(
            lambda words, category, days, trust: fact(" ".join(words), category, days, trust),
            WORDS,
            st.sampled_from(CATEGORIES),
            st.floats(0, 9),
            st.sampled_from(["user", "assistant", "tool"]),
        ),
        max_size=25,
        unique_by=lambda one: one.memory_id,
    )
)
def test_plan_removes_nothing_twice_and_keeps_what_stands_for_others(memories: list[Memory]) -> None:
    """At most 10 go, none that stays, each into one that is at least as trusted; the same plan each time."""
    plan = merges(memories)
    gone = [one.memory_id for merge in plan for one in merge.gone]
    kept = [merge.kept.memory_id for merge in plan]
    assert len(gone) == len(set(gone)) <= MOST_MERGES
    assert len(kept) == len(set(kept))
    assert not set(gone) & set(kept)
    assert all(rank(merge.kept.trust) <= rank(one.trust) for merge in plan for one in merge.gone)
    assert plan == merges(memories)
    assert all(0 <= alike(*pair) <= 1 for pair in combinations(memories, 2))
