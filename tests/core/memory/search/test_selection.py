"""What of the found fits a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memories import Hit, Passage
from squidbot.core.memory.search.index import Index
from squidbot.core.memory.search.selection import select

from .talk import NOW, passages

BY_KEY = {each.key: each for each in passages()}
COST = {each.key: len(each.text) // 4 + 1 for each in passages()}


def cost(passage: Passage) -> int:
    """Return what a passage costs, in tokens."""
    return COST.get(passage.key, 1)


@given(st.permutations(sorted(BY_KEY)), st.integers(0, 200), st.integers(0, 200))
def test_a_larger_budget_holds_what_a_smaller_one_held(keys: list[str], one: int, other: int) -> None:
    """Whatever the order; and none costs more than the budget."""
    hits = [Hit(key, 1 - place / 100) for place, key in enumerate(keys)]
    small, large = (select(hits, BY_KEY, budget, cost) for budget in sorted((one, other)))
    assert large[: len(small)] == small
    assert sum(cost(BY_KEY[hit.key]) for hit in small) <= min(one, other)


def test_what_says_the_same_is_taken_once() -> None:
    """The first of them, the best."""
    same = {key: Passage(key, text) for key, text in (("a", "The kettle is blue."), ("b", "the kettle: blue!"))}
    assert select([Hit("b", 0.9), Hit("a", 0.8)], same, 100, cost) == [Hit("b", 0.9)]


def test_what_says_nothing_in_words_is_not_the_same() -> None:
    """Two signs are two passages."""
    signs = {key: Passage(key, key) for key in "!?"}
    assert len(select([Hit("!", 0.9), Hit("?", 0.8)], signs, 100, cost)) == 2


def test_what_is_below_the_threshold_or_unknown_is_left_out() -> None:
    """The rest is taken in order."""
    hits = [Hit("gone", 0.9), *Index(BY_KEY.values()).search("Where does Bo's sister live?", 20, NOW)]
    chosen = select(hits, BY_KEY, 1000, cost, min_relevance=0.3)
    assert chosen
    assert all(hit.score >= 0.3 and hit.key in BY_KEY for hit in chosen)
