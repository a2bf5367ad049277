"""How much of a query's terms a passage has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.memory.search import RELATED, ParsedQuery, strengths, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Counted:
    """Statistics of a store that knows of these words alone."""

    passages = 100

    def __init__(self, **known: int) -> None:
        """Take how many passages have each."""
        self._known = known

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return what is known."""
        return {term: self._known[term] for term in terms if term in self._known}


def found(query: str, text: str, statistics: Counted) -> list[float]:
    """Return how much of each term of a query a text of stems has."""
    terms = text.split()
    return strengths(terms, weights_of(ParsedQuery.of(query), terms, statistics))


def test_a_rare_word_counts_more_and_one_that_nobody_said_as_one_said_once() -> None:
    """All shares are 1 together."""
    weights = weights_of(ParsedQuery.of("barge gate flotsam"), (), Counted(barg=2, gat=50))
    barge, gate, flotsam = weights.shares
    assert barge > gate
    assert flotsam >= barge
    assert abs(sum(weights.shares) - 1) < 1e-9


def test_a_word_counts_most_then_its_spelling_its_family_and_its_subject() -> None:
    """Whatever stands for it; a stranger not at all."""
    (itself,), (family,), (alike,), (subject,), (stranger,) = (
        found(query, text, Counted())
        for query, text in (
            ("adoption", "adoption"), ("adopt", "adoption"), ("kristina", "kristin"), ("dog", "pet"), ("dog", "ferri"),
        )
    )  # fmt: skip
    assert itself > family > alike > 0
    assert family == itself * RELATED
    assert itself > subject > 0
    assert stranger == 0


def test_more_of_the_same_tells_less_each_time_and_length_weakens() -> None:
    """Never as much as 1."""
    once, twice, often = (found("barge", "barg " * count, Counted())[0] for count in (1, 2, 50))
    assert once < twice < often < 1
    assert twice < 2 * once
    assert found("barge", "barg" + " oats" * 200, Counted())[0] < once


def test_a_common_word_that_stands_for_a_rare_one_tells_no_more_than_itself() -> None:
    """Common kin hardly counts."""
    rare, common = (found("poodle", "dog", Counted(poodl=1, dog=count))[0] for count in (1, 90))
    assert rare > common > 0


def test_a_short_word_is_spelled_like_none() -> None:
    """Three letters in common are all it has."""
    assert found("kettling", "ket", Counted()) == [0]


def test_words_that_stand_for_each_other_may_both_be_asked_for() -> None:
    """Each is found by itself fully, by the other in part."""
    both = found("dog pet", "dog", Counted(dog=3, pet=3))
    assert both[0] > both[1] > 0
