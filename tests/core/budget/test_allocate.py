"""Shares by weight within bounds, and the adaptive response."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import BudgetItem, Verbosity, adaptive_shares, allocate, reserve_for
from squidbot.core.errors import BudgetError, ConfigError

VERBOSITIES: tuple[Verbosity, ...] = ("concise", "balanced", "detailed")


def test_allocate_shares_by_weight_when_nothing_binds() -> None:
    """P-08's weights of a 13,600 token limit, exactly."""
    items = [
        BudgetItem("system", 10),
        BudgetItem("context", 30),
        BudgetItem("dialog", 40),
        BudgetItem("system_output", 20),
    ]
    assert allocate(13600, items) == {"context": 4080, "dialog": 5440, "system": 1360, "system_output": 2720}


def test_allocate_rounds_to_the_nearest_integer() -> None:
    """Of 4,097: 409.7, 1229.1, 1638.8 and 819.4; the two that floors leave over go to .8 and .7."""
    items = [
        BudgetItem("system", 10),
        BudgetItem("context", 30),
        BudgetItem("dialog", 40),
        BudgetItem("system_output", 20),
    ]
    assert allocate(4097, items) == {"context": 1229, "dialog": 1639, "system": 410, "system_output": 819}


def test_allocate_breaks_ties_by_name() -> None:
    """Equal weights: what is left over goes to the smallest names."""
    assert allocate(11, [BudgetItem("c", 1), BudgetItem("b", 1), BudgetItem("a", 1)]) == {"a": 4, "b": 4, "c": 3}


def test_allocate_gives_nobody_less_of_a_larger_total() -> None:
    """With weights 6, 6, 2 the plain largest remainder takes 1 of the third's 2 back when 10 become 11."""
    items = [BudgetItem("a", 6), BudgetItem("b", 6), BudgetItem("c", 2)]
    assert allocate(10, items) == {"a": 5, "b": 4, "c": 1}
    assert allocate(11, items) == {"a": 5, "b": 5, "c": 1}
    assert allocate(14, items) == {"a": 6, "b": 6, "c": 2}


def test_allocate_fills_up_to_ceilings_and_shares_out_what_is_left() -> None:
    """Water-fill: 100 by 1:1:2 would be 25, 25, 50; a ceiling of 10 leaves 90 for 1:2."""
    assert allocate(100, [BudgetItem("a", 1, max=10), BudgetItem("b", 1), BudgetItem("c", 2)]) == {
        "a": 10,
        "b": 30,
        "c": 60,
    }


def test_allocate_lifts_to_minima_before_it_shares_out() -> None:
    """A minimum of 70 leaves 30 for 1:2, whatever the weight of the first."""
    assert allocate(100, [BudgetItem("a", 1, min=70), BudgetItem("b", 1), BudgetItem("c", 2)]) == {
        "a": 70,
        "b": 10,
        "c": 20,
    }


def test_allocate_takes_fixed_costs_off_first() -> None:
    """An item with min == max is a fixed cost; its weight does not matter."""
    items = [BudgetItem("system", 99, min=1000, max=1000), BudgetItem("history", 3), BudgetItem("memory", 1)]
    assert allocate(13600, items) == {"history": 9450, "memory": 3150, "system": 1000}


def test_allocate_lends_an_unused_share_to_those_who_need_it() -> None:
    """Dialogue of 60k in 100k, with the rest nearly empty, gets its 60k (V11): caps are soft while room is unused."""
    items = [
        BudgetItem("context", 30, actual=500),
        BudgetItem("dialog", 40, actual=60000),
        BudgetItem("system_output", 20, actual=0),
    ]
    assert allocate(100000, items)["dialog"] >= 60000


def test_allocate_returns_a_loan_when_the_owner_needs_it_again() -> None:
    """The same weights with full need on both sides: each has its own share."""
    assert allocate(100, [BudgetItem("a", 1, actual=10), BudgetItem("b", 1, actual=500)]) == {"a": 10, "b": 90}
    assert allocate(100, [BudgetItem("a", 1, actual=500), BudgetItem("b", 1, actual=500)]) == {"a": 50, "b": 50}


def test_allocate_leaves_room_unallocated_when_all_ceilings_are_reached() -> None:
    """Nobody gets more than its maximum, and weight 0 gets its minimum only."""
    assert allocate(100, [BudgetItem("a", 1, max=10), BudgetItem("b", 5, max=20)]) == {"a": 10, "b": 20}
    assert allocate(100, [BudgetItem("a", 0, min=3), BudgetItem("b", 0)]) == {"a": 3, "b": 0}
    assert allocate(100, []) == {}


def test_allocate_names_the_largest_minimum_when_the_minima_exceed_the_total() -> None:
    """BudgetError with culprit, cost of all minima, total, unit and key; ties by name."""
    items = [BudgetItem("a", 1, min=10), BudgetItem("c", 1, min=60), BudgetItem("b", 1, min=60)]
    with pytest.raises(BudgetError, match=r"b cost 130 of 129 words; make it smaller or raise budget\.total") as caught:
        allocate(129, items, unit="words", key="budget.total")
    assert caught.value.culprit == "b"
    assert allocate(130, items) == {"a": 10, "b": 60, "c": 60}


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([BudgetItem("a", 1), BudgetItem("a", 2)], "duplicate budget item 'a'"),
        ([BudgetItem("a", -1)], "weight and min of budget item 'a' must be >= 0"),
        ([BudgetItem("a", 1, min=-1)], "weight and min of budget item 'a' must be >= 0"),
        ([BudgetItem("a", 1, min=5, max=4)], "max of budget item 'a' must be >= its min 5, not 4"),
    ],
)
def test_allocate_names_the_item_when_its_figures_are_wrong(items: list[BudgetItem], text: str) -> None:
    """A wrong weight, bound or name is named."""
    with pytest.raises(ConfigError, match=text):
        allocate(100, items)


amounts = st.integers(0, 3000)


@st.composite
def takers(draw: st.DrawFn) -> list[BudgetItem]:
    """Items with bounds, needs and weights of every kind, weight 0 and equal weights among them."""

    def one(name: str) -> BudgetItem:
        least = draw(st.integers(0, 100))
        most = draw(st.none() | st.integers(least, 2000))
        return BudgetItem(
            name, draw(st.integers(0, 7) | st.integers(0, 10**12)), least, most, draw(st.none() | amounts)
        )

    return [one(name) for name in draw(st.lists(st.sampled_from("abcdefgh"), unique=True))]


@given(takers(), amounts)
def test_allocate_keeps_total_and_bounds(items: list[BudgetItem], more: int) -> None:
    """Integers that sum to the total, or to less only where every weighted item is at its ceiling."""
    total = sum(item.min for item in items) + more
    shares = allocate(total, items)
    assert sum(shares.values()) <= total
    for item in items:
        assert item.min <= shares[item.name] <= (total if item.max is None else item.max)
    if sum(shares.values()) < total:
        assert all(item.weight == 0 or shares[item.name] == item.max for item in items)


@given(takers(), amounts, st.integers(0, 5) | amounts)
def test_allocate_is_monotone_in_the_total(items: list[BudgetItem], more: int, added: int) -> None:
    """A larger total gives nobody less (invariant 8)."""
    total = sum(item.min for item in items) + more
    small, large = allocate(total, items), allocate(total + added, items)
    assert all(small[name] <= large[name] for name in small)


@given(takers(), amounts, st.data())
def test_allocate_does_not_depend_on_the_order_of_items(
    items: list[BudgetItem], more: int, data: st.DataObject
) -> None:
    """The same items in another order get the same shares, in the same order of names."""
    total = sum(item.min for item in items) + more
    mixed = data.draw(st.permutations(items))
    assert list(allocate(total, mixed).items()) == list(allocate(total, items).items())


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 10**6))
def test_allocate_stays_within_one_of_the_exact_share_for_two(weights: list[int], total: int) -> None:
    """With two takers each gets its exact share rounded down or up; with equal weights so do any number."""
    first, second = weights[0], weights[-1]
    pair = allocate(total, [BudgetItem("a", first), BudgetItem("b", second)])
    assert abs(pair["a"] - Fraction(total * first, first + second)) < 1
    equal = allocate(total, [BudgetItem(str(i), first) for i in range(len(weights))])
    assert max(equal.values()) - min(equal.values()) <= 1


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_allocate_satisfies_every_need_when_they_fit_together(one: int, two: int, spare: int) -> None:
    """However small a weight: a need is met from shares that others leave unused."""
    shares = allocate(one + two + spare, [BudgetItem("a", 1, actual=one), BudgetItem("b", 1000, actual=two)])
    assert shares["a"] >= one
    assert shares["b"] >= two


@pytest.mark.parametrize(
    ("tools_mode", "score", "verbosity", "percents"),
    [
        (True, 0.0, "balanced", "3 6 15 5 11 60"),
        (True, 0.1, "balanced", "3 6 17 5 9 60"),
        (True, 0.45, "balanced", "3 6 24 5 2 60"),
        (True, 0.7, "balanced", "3 6 29 5 2 55"),
        (True, 0.8, "balanced", "3 6 31 5 2 53"),
        (True, 1.0, "balanced", "3 6 35 5 2 49"),
        (False, 0.0, "balanced", "0.6 0 15 5 4.4 75"),
        (False, 0.1, "balanced", "0.6 0 16 5 3.4 75"),
        (False, 0.2, "balanced", "0.6 0 17 5 2.4 75"),
        (False, 0.7, "balanced", "0.6 0 22 5 2 70.4"),
        (False, 0.8, "balanced", "0.6 0 23 5 2 69.4"),
        (False, 1.0, "balanced", "0.6 0 25 5 2 67.4"),
        (True, 1.0, "detailed", "3 6 45 5 2 39"),
        (False, 1.0, "detailed", "0.6 0 30 5 2 62.4"),
        (True, 1.0, "concise", "3 6 25 5 2 59"),
        (False, 1.0, "concise", "0.6 0 20 5 2 72.4"),
    ],
)
def test_adaptive_shares_are_the_table_of_the_document(
    tools_mode: bool,  # noqa: FBT001 - a column of the table
    score: float,
    verbosity: Verbosity,
    percents: str,
) -> None:
    """V9, W-10, W-11, W-12, W-14, C11: every row exactly, and it sums to 100."""
    shares = adaptive_shares(score, tools_mode=tools_mode, verbosity=verbosity)
    assert [share * 100 for share in shares.values()] == [Fraction(percent) for percent in percents.split()]
    assert sum(shares.values()) == 1


@pytest.mark.parametrize("tools_mode", [True, False])
@pytest.mark.parametrize("verbosity", VERBOSITIES)
def test_adaptive_shares_sum_to_at_most_the_window_at_every_score(
    tools_mode: bool,  # noqa: FBT001 - a column of the table
    verbosity: Verbosity,
) -> None:
    """W-12, V10: scores 0 to 1 in steps of a hundredth, each verbosity, both modes; nothing is ever negative."""
    for hundredths in range(101):
        shares = adaptive_shares(hundredths / 100, tools_mode=tools_mode, verbosity=verbosity)
        assert sum(shares.values()) <= 1
        assert min(shares.values()) >= 0
        assert shares["reserved"] >= Fraction(2, 100)


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf")])
def test_adaptive_shares_refuse_a_score_outside_0_to_1(score: float) -> None:
    """A hook may replace the score; a wrong one is named, not clamped in silence."""
    with pytest.raises(ConfigError, match="complexity score must be within"):
        adaptive_shares(score, tools_mode=True)


def test_adaptive_shares_refuse_an_unknown_verbosity() -> None:
    """The three that exist are named."""
    with pytest.raises(ConfigError, match="one of concise, balanced, detailed, not 'chatty'"):
        adaptive_shares(0.5, tools_mode=True, verbosity="chatty")  # type: ignore[arg-type]


@given(st.floats(0, 1), st.integers(2048, 1_048_576), st.integers(2048, 1_048_576))
def test_response_percentage_is_the_same_on_every_window(score: float, one_tokens: int, other_tokens: int) -> None:
    """W-13: less than .01 between window sizes."""
    windows = (one_tokens, other_tokens)
    fractions = [reserve_for(score, window_tokens=size, tools_mode=True).tokens / size for size in windows]
    assert abs(fractions[0] - fractions[1]) < 0.01
