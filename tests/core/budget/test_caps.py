"""Policy caps in words or tokens."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import HistoryCaps, HistoryItem, PolicyCaps, count_words, truncate_newest
from squidbot.core.errors import ConfigError


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


def caps_of(history: int, total: int = 10**6, recent: int = 2, *, reduces: bool = True) -> HistoryCaps:
    """Caps without a pointer."""
    return HistoryCaps(history, total, 0, recent, reduces)


@pytest.mark.parametrize(
    ("costs", "kept"),
    [
        ((), ()),
        ((50, 30, 20), (50, 30, 20)),
        ((51, 30, 20), (None, 30, 20)),
        ((10, 80, 30, 20), (None, None, 30, 20)),
        ((0, 80, 30, 20), (None, None, 30, 20)),
        ((10, 90, 500), (None, 90, 500)),
        ((500,), (500,)),
    ],
)
def test_kept_are_the_newest_that_fit(costs: tuple[int, ...], kept: tuple[int | None, ...]) -> None:
    """Q-06: newest to oldest up to 100; the first that does not fit ends it; the newest two are always kept."""
    assert caps_of(100).kept([HistoryItem(cost) for cost in costs]) == kept


def test_steps_are_kept_whole_when_recent_messages_are_counted() -> None:
    """C16: a floor of 2 messages in a step of 3 keeps that step; one of 4 takes the step before it too."""
    items = [HistoryItem(50), HistoryItem(60, messages=2), HistoryItem(300, messages=3)]
    assert caps_of(100).kept(items) == (None, None, 300)
    assert caps_of(100, recent=4).kept(items) == (None, 60, 300)


USER, OTHER = HistoryItem(3000), HistoryItem(3000, least=0)


def test_newest_messages_above_the_total_are_cut_but_for_the_users() -> None:
    """V13: with the ladder what the user did not write gives way; in the parity profile nothing does."""
    ladder, parity = caps_of(2500, 3700), caps_of(2500, 3700, reduces=False)
    assert ladder.kept([USER, OTHER]) == (3000, 700)
    assert ladder.kept([OTHER, USER]) == (700, 3000)
    assert ladder.kept([USER, USER]) == (3000, 3000)
    assert parity.kept([USER, OTHER]) == (3000, 3000)


def test_pointer_is_paid_where_something_is_left_out() -> None:
    """The line that stands for what is left out is inside the total."""
    caps = caps_of(100, 100, 1)._replace(pointer=10)
    assert caps.kept([HistoryItem(60), HistoryItem(40)]) == (60, 40)
    assert caps.kept([HistoryItem(60), HistoryItem(40)], noted=True) == (None, 40)


def items_of(draw: st.DrawFn) -> list[HistoryItem]:
    """Steps with costs, messages and leasts of every kind."""
    rows = draw(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 3), st.none() | st.integers(0, 60))))
    return [HistoryItem(c, n, least if least is None else min(c, least)) for c, n, least in rows]


histories = st.composite(items_of)()
capses = st.builds(
    HistoryCaps,
    st.integers(1, 200),
    st.integers(1, 400),
    st.just(0),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 30),  # a pointer costs something, or nothing
)


@given(histories, capses)
def test_kept_is_a_run_of_the_newest_within_the_caps(items: list[HistoryItem], caps: HistoryCaps) -> None:
    """What is kept is an end of the history; above the floor it fits; nothing is cut below its least."""
    kept = caps.kept(items)
    count = sum(cost is not None for cost in kept)
    assert None not in kept[len(kept) - count :]
    newest = items[len(items) - count :]
    assert sum(item.messages for item in newest) >= min(caps.min_recent_messages, sum(item.messages for item in items))
    for item, cost in zip(items, kept, strict=True):
        assert cost is None or (item.cost if item.least is None else item.least) <= cost <= item.cost
        assert cost is None or caps.reduces or cost == item.cost
    if sum(item.cost for item in items) <= min(caps.history, caps.total):
        assert kept == tuple(item.cost for item in items)
    left, least = (
        sum(cost or 0 for cost in kept),
        sum(item.cost if item.least is None else item.least for item in newest),
    )
    assert left <= max(caps.total, least) or not caps.reduces


@given(histories, capses, st.integers(0, 100))
def test_kept_is_no_less_when_the_caps_are_larger(items: list[HistoryItem], caps: HistoryCaps, more: int) -> None:
    """Larger caps drop and cut nothing that smaller ones kept."""
    larger = caps._replace(history=caps.history + more, total=caps.total + more)
    assert all((a or 0) <= (b or 0) for a, b in zip(caps.kept(items), larger.kept(items), strict=True))
