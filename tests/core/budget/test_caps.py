"""Policy caps in words or tokens."""

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import (
    HistoryItem,
    PolicyCaps,
    TrimRule,
    Unit,
    available_tokens,
    cap_history,
    compact_at_tokens,
    count_words,
    enforce_total,
    measure_for,
    truncate_newest,
)
from squidbot.core.errors import BudgetError, ConfigError


def test_caps_have_the_defaults_of_the_document() -> None:
    """Q-01."""
    assert PolicyCaps() == PolicyCaps(300, 500, 2500, 4500, 2, "words", dedupe=True)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(
    ("caps", "key"),
    [
        (lambda value: PolicyCaps(memory=value), "context_memory_max_words"),
        (lambda value: PolicyCaps(summary=value), "context_summary_max_words"),
        (lambda value: PolicyCaps(history=value), "context_history_max_words"),
        (lambda value: PolicyCaps(total=value), "context_total_max_words"),
        (lambda value: PolicyCaps(min_recent_messages=value), "context_min_recent_messages"),
    ],
)
def test_caps_name_the_key_when_it_is_not_above_0(caps: Callable[[int], PolicyCaps], key: str, value: int) -> None:
    """Q-02: `agents.<field> must be > 0`."""
    with pytest.raises(ConfigError, match=f"^agents.{key} must be > 0, not {value}$"):
        caps(value)


def test_caps_are_refused_when_the_unit_is_unknown() -> None:
    """Q-02: a mode other than words and tokens."""
    with pytest.raises(ConfigError, match=r"agents\.context_budget_mode must be 'words' or 'tokens', not 'characters'"):
        PolicyCaps(unit="characters")  # type: ignore[arg-type]


def test_caps_are_refused_when_the_total_is_below_the_history() -> None:
    """Q-02: equal is allowed, one less is not."""
    assert PolicyCaps(history=2500, total=2500).total == 2500
    with pytest.raises(ConfigError, match=r"context_total_max_words must be >= agents\.context_history_max_words"):
        PolicyCaps(history=2500, total=2499)


def test_measure_falls_back_to_words_with_one_warning_when_there_is_no_counter() -> None:
    """Q-08: no failure, and the warning is a value for the caller to tell once."""
    measure = measure_for("tokens", None)
    assert measure.unit == "words"
    assert measure.count("three words\there") == 3
    assert measure.warning == "the budget is set in tokens, but there is no token counter: words are counted"


def test_measure_uses_the_counter_when_there_is_one() -> None:
    """C7: with a counter tokens are tokens; in words mode a counter is not looked at."""
    assert measure_for("tokens", len) == ("tokens", len, None)
    assert measure_for("words", len) == ("words", count_words, None)


@pytest.mark.parametrize("unit", get_args(Unit))
def test_measure_warns_only_when_the_unit_is_not_the_one_asked_for(unit: Unit) -> None:
    """A warning and another unit come together, or neither does."""
    assert measure_for(unit, len).warning is None
    assert (measure_for(unit, None).warning is None) == (measure_for(unit, None).unit == unit)


@pytest.mark.parametrize(
    ("summaries", "available", "trigger"),
    [
        ([], 12600, 10080),
        ([1200], 11400, 9120),
        ([600, 1200], 10800, 8640),
        ([300, 600, 1200], 10500, 8400),
    ],
)
def test_available_and_trigger_follow_the_summaries(summaries: list[int], available: int, trigger: int) -> None:
    """B-13, V1, V2, V3, V4: input limit 13,600, system 1,000."""
    assert available_tokens(13600, 1000, summaries) == available
    assert compact_at_tokens(available) == trigger


def test_compact_at_tokens_is_the_first_cost_at_or_above_the_share() -> None:
    """80 % of 101 is 80.8: 80 tokens are below it, 81 are not; .29 of 100 is 29 in decimals."""
    assert compact_at_tokens(101) == 81
    assert compact_at_tokens(100, 0.29) == 29
    assert compact_at_tokens(0) == 0


def test_available_is_0_when_summaries_take_all_the_room() -> None:
    """Too many summaries make room for an event, not for an error."""
    assert available_tokens(1000, 400, [300, 400]) == 0


def test_available_names_the_culprit_when_the_fixed_part_takes_the_limit() -> None:
    """A system prompt over the limit is an error with amounts and key."""
    with pytest.raises(BudgetError, match="system and tools cost 1000 of 1000 tokens"):
        available_tokens(1000, 1000)
    assert available_tokens(1000, 999) == 1


def test_truncate_keeps_the_newest_500_of_501_words() -> None:
    """Q-11, V14, Q-05: exactly 500, the newest kept, the oldest word gone."""
    text = "\n".join(f"- fact {number:03d}" for number in range(167))
    assert count_words(text) == 501
    kept = truncate_newest(text, 500, count_words)
    assert count_words(kept) == 500
    assert kept == text.removeprefix("- ")
    assert kept.endswith("- fact 166")


def test_truncate_keeps_lines_whole_and_cuts_only_the_oldest() -> None:
    """C15: line breaks, indents and blank lines of what is kept are unchanged."""
    text = "## Heading\n\n- one two three\n\n  - four\tfive\r\n- six\n"
    assert truncate_newest(text, 5, count_words) == "\n  - four\tfive\r\n- six\n"
    assert truncate_newest(text, 7, count_words) == "two three\n\n  - four\tfive\r\n- six\n"
    assert truncate_newest(text, 1, count_words) == "six\n"
    assert truncate_newest(text, 0, count_words) == ""


def test_truncate_returns_the_text_itself_when_it_fits() -> None:
    """Nothing is touched up to the limit."""
    text = " a  b\n\nc \n"
    assert truncate_newest(text, 3, count_words) == text
    assert truncate_newest("", 0, count_words) == ""


def test_truncate_cuts_inside_a_word_only_when_the_newest_one_is_too_long() -> None:
    """A script without spaces is one word: in tokens its end is kept, not nothing."""
    assert truncate_newest("\u4e00" * 50, 8, len) == "\u4e00" * 8
    assert truncate_newest("old " + "x" * 50, 8, len) == "x" * 8
    assert truncate_newest("x" * 50 + "\nnew", 8, len) == "new"
    assert truncate_newest("x" * 50 + "\n\n", 8, len) == "xxxxxx\n\n"


def test_truncate_counts_little_of_a_very_long_line() -> None:
    """Besides the whole, no more than about twice what is kept is counted at a time."""
    sizes: list[int] = []

    def count(text: str) -> int:
        sizes.append(len(text))
        return count_words(text)

    kept = truncate_newest("word " * 200_000, 500, count)
    assert count_words(kept) == 500
    assert sorted(sizes)[-2] <= 2 * 500 * len("word ")


texts = st.text(alphabet=st.sampled_from("ab-\n\n  \t\r\u00a0\u2028\U0001f600\ud800"), max_size=80)


@given(texts, st.integers(0, 20))
def test_truncate_gives_an_end_of_exactly_the_limit_in_words(text: str, limit: int) -> None:
    """Q-05 for any text: an end of it, with the limit's number of words or all; cutting again changes nothing."""
    kept = truncate_newest(text, limit, count_words)
    assert text.endswith(kept)
    assert count_words(kept) == min(limit, count_words(text))
    assert truncate_newest(kept, limit, count_words) == kept


@given(texts, st.integers(0, 30), st.integers(0, 30))
def test_truncate_keeps_no_less_when_the_limit_is_larger(text: str, one: int, other: int) -> None:
    """In words a larger limit keeps everything that a smaller one kept."""
    small, large = (truncate_newest(text, limit, count_words) for limit in sorted((one, other)))
    assert large.endswith(small)


@given(texts, st.integers(0, 60))
def test_truncate_never_passes_the_limit_of_a_counter_that_is_not_additive(text: str, limit: int) -> None:
    """A counter for which a shorter end can cost more: what is returned was counted and fits."""

    def count(part: str) -> int:
        return len(part) + 3 * part.startswith("a")

    kept = truncate_newest(text, limit, count)
    assert text.endswith(kept)
    assert count(kept) <= limit


def costs(*amounts: int) -> list[HistoryItem]:
    """Items of one message each."""
    return [HistoryItem(amount) for amount in amounts]


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        (costs(), ()),
        (costs(50, 30, 20), (0, 1, 2)),
        (costs(51, 30, 20), (1, 2)),
        (costs(10, 80, 30, 20), (2, 3)),
        (costs(0, 80, 30, 20), (2, 3)),
        (costs(10, 90, 500), (1, 2)),
        (costs(500), (0,)),
    ],
)
def test_cap_history_keeps_the_newest_that_fit(items: list[HistoryItem], kept: tuple[int, ...]) -> None:
    """Q-06: newest to oldest up to 100; the first that does not fit ends it; the newest two are always kept."""
    assert cap_history(items, PolicyCaps(history=100)) == kept


def test_cap_history_keeps_atoms_whole_when_it_counts_recent_messages() -> None:
    """C16: a floor of 2 messages in an step of 3 keeps that step; one of 4 takes the step before it too."""
    items = [HistoryItem(50), HistoryItem(60, messages=2), HistoryItem(300, messages=3)]
    assert cap_history(items, PolicyCaps(history=100, min_recent_messages=2)) == (2,)
    assert cap_history(items, PolicyCaps(history=100, min_recent_messages=4)) == (1, 2)


def test_cap_history_keeps_floor_items_that_are_older_than_what_fits() -> None:
    """C16: floors are a union; an older floor item stays, what is between does not, and its cost counts."""
    items = [HistoryItem(10), HistoryItem(10, floor=True), HistoryItem(90), HistoryItem(20)]
    assert cap_history(items, PolicyCaps(history=100, min_recent_messages=1)) == (1, 3)


def items_of(draw: st.DrawFn) -> list[HistoryItem]:
    """Steps with costs, messages, floors and leasts of every kind."""
    rows = draw(
        st.lists(st.tuples(st.integers(0, 60), st.integers(1, 3), st.booleans(), st.none() | st.integers(0, 60)))
    )
    return [HistoryItem(c, n, floor, least if least is None else min(c, least)) for c, n, floor, least in rows]


histories = st.composite(items_of)()
capses = st.builds(
    PolicyCaps, history=st.integers(1, 200), total=st.integers(200, 400), min_recent_messages=st.integers(1, 4)
)


@given(histories, capses)
def test_cap_history_keeps_a_run_of_the_newest_and_the_floor(items: list[HistoryItem], caps: PolicyCaps) -> None:
    """Order is kept, the newest is in, the floor is in, and what is above the floor fits the cap."""
    kept = cap_history(items, caps)
    assert list(kept) == sorted(set(kept))
    if items:
        assert kept[-1] == len(items) - 1
        assert sum(items[i].messages for i in kept) >= min(caps.min_recent_messages, sum(i.messages for i in items))
    assert {i for i, item in enumerate(items) if item.floor} <= set(kept)
    if sum(item.cost for item in items) <= caps.history:
        assert len(kept) == len(items)


@given(histories, capses, st.integers(0, 100))
def test_cap_history_keeps_no_less_when_the_cap_is_larger(
    items: list[HistoryItem], caps: PolicyCaps, more: int
) -> None:
    """A larger cap drops nothing that a smaller one kept."""
    larger = replace(caps, history=caps.history + more, total=caps.total + more)
    assert set(cap_history(items, caps)) <= set(cap_history(items, larger))


USER, OTHER = HistoryItem(3000), HistoryItem(3000, least=0)


def test_enforce_total_empties_summary_and_memory_in_the_parity_profile() -> None:
    """V13, squidbot-v2: summary, then memory 0 words, history 6,000, an overrun of 1,500."""
    assert enforce_total([USER, OTHER], 500, 300, PolicyCaps(), "squidbot-v2") == ((3000, 3000), 0, 0, 1500)


def test_enforce_total_reduces_what_is_not_the_users_first() -> None:
    """V13, ladder: the non-user message gives way, memory 300 and summary kept, total 4,500."""
    assert enforce_total([USER, OTHER], 500, 300, PolicyCaps()) == ((3000, 700), 500, 300, 0)
    assert enforce_total([OTHER, USER], 500, 300, PolicyCaps()) == ((700, 3000), 500, 300, 0)


def test_enforce_total_reports_an_overrun_when_all_is_the_users_text() -> None:
    """V13, ladder, both user text: nothing of it is cut, and the documents are not emptied in vain."""
    assert enforce_total([USER, USER], 500, 300, PolicyCaps()) == ((3000, 3000), 500, 300, 2300)


def test_enforce_total_trims_history_then_summary_then_memory() -> None:
    """Q-07: whole old messages first, then just enough of the summary, then of the memory."""
    caps = PolicyCaps(history=100, total=100)
    items = costs(10, 40, 30, 20)
    assert enforce_total(items, 0, 0, caps) == ((10, 40, 30, 20), 0, 0, 0)
    assert enforce_total(items, 5, 5, caps) == ((None, 40, 30, 20), 5, 5, 0)
    assert enforce_total(items, 20, 30, caps) == ((None, None, 30, 20), 20, 30, 0)
    assert enforce_total(items, 30, 30, caps) == ((None, None, 30, 20), 20, 30, 0)
    assert enforce_total(items, 30, 60, caps) == ((None, None, 30, 20), 0, 50, 0)
    assert enforce_total(costs(60, 40), 30, 60, caps) == ((60, 40), 0, 0, 0)


@given(histories, st.integers(0, 500), st.integers(0, 300), capses, st.sampled_from(get_args(TrimRule)))
def test_enforce_total_keeps_the_total_or_says_by_how_much_not(
    items: list[HistoryItem], summary: int, memory: int, caps: PolicyCaps, rule: TrimRule
) -> None:
    """What is left costs at most the total plus the overrun, exactly that if there is one; floors stay."""
    trimmed = enforce_total(items, summary, memory, caps, rule)
    left = sum(cost or 0 for cost in trimmed.history) + trimmed.summary + trimmed.memory
    before = sum(item.cost for item in items) + summary + memory
    assert left <= caps.total + trimmed.overrun
    assert trimmed.overrun == 0 or left == caps.total + trimmed.overrun
    assert before > caps.total or trimmed == (tuple(item.cost for item in items), summary, memory, 0)
    assert 0 <= trimmed.summary <= summary
    assert 0 <= trimmed.memory <= memory
    assert trimmed.memory == memory or trimmed.summary == 0
    # With nothing free of charge, what a history of one unit keeps is the floor.
    kept_anyway = cap_history([item._replace(cost=item.cost + 2) for item in items], replace(caps, history=1))
    for position, (item, cost) in enumerate(zip(items, trimmed.history, strict=True)):
        assert cost is not None or position not in kept_anyway
        assert cost is None or (item.cost if item.least is None else item.least) <= cost <= item.cost


@given(histories, st.integers(0, 500), st.integers(0, 300), capses, st.integers(0, 100))
def test_enforce_total_keeps_no_less_when_the_total_is_larger(
    items: list[HistoryItem], summary: int, memory: int, caps: PolicyCaps, more: int
) -> None:
    """A larger total drops and cuts nothing that a smaller one kept, unless the smaller one was overrun."""
    small = enforce_total(items, summary, memory, caps)
    large = enforce_total(items, summary, memory, replace(caps, total=caps.total + more))
    assert all((a or 0) <= (b or 0) for a, b in zip(small.history, large.history, strict=True))
    assert large.overrun <= small.overrun
    if small.overrun == 0:
        assert small.summary <= large.summary
        assert small.memory <= large.memory
