"""What people read: plain text within 80 columns, every figure explained, nothing that a terminal would obey."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from squidbot.cli.printer import bar
from squidbot.cli.replay_results import percentile, result_of
from squidbot.core.errors import BudgetError
from squidbot.core.plan import FirstChanged, PlanRecord, Price
from squidbot.replay.metrics import Tally
from squidbot.replay.runner import FailedCall, PlanEvent, PolicyRow, ReplayOutcome, Results
from squidbot.replay.terms import Unit, open_counter, terms_for

if TYPE_CHECKING:
    from squidbot.cli.output import Result

ESCAPE = "\x1b"


def page_of(result: Result) -> str:
    """Return what a result prints in a pipe."""
    out = StringIO()
    with redirect_stdout(out):
        result.print()
    return out.getvalue()


def tally(calls: int = 200) -> Tally:
    """Return a tally with round figures."""
    return Tally(
        calls=calls,
        breaks=14,
        billed=3_000.0 * calls,
        tokens=20_000 * calls,
        cached_tokens=19_000 * calls,
        largest_tokens=27_000,
        users_held=199,
        users_all=200,
        needed=Counter({0: 100, 2_000: 50, 8_000: 10}),
        held=Counter({0: 98, 2_000: 45, 8_000: 4}),
    )


def outcome(name: str = "talk", happenings: int = 14, **changes: object) -> ReplayOutcome:
    """Return an outcome with so many events."""
    plan = PlanRecord(0, None, "lease", None, "overflow", tokens_before=27_900, tokens_after=9_100)
    moved = PlanRecord(
        1,
        0,
        "lease",
        None,
        "high-water",
        tokens_before=25_000,
        tokens_after=9_000,
        first_changed=FirstChanged(12, 40, 4_208),
        price=Price(5_510.0, 1_600.0, 0.0, 3.4),
    )
    happened = [PlanEvent(7 * at, moved if at else plan) for at in range(happenings)]
    result = ReplayOutcome(
        name,
        f"{name}.jsonl",
        411,
        366_753,
        20_000.0 * 200,
        tally(),
        200,
        27_500,
        events=happened,
        seconds=[0.0004] * 199 + [0.3],
    )
    for key, value in changes.items():
        setattr(result, key, value)
    return result


def shown(*outcomes: ReplayOutcome, rows: tuple[PolicyRow, ...] = (), unit: Unit = "tokens") -> str:
    """Return the text for outcomes under a window of 32,000 tokens."""
    terms = terms_for(32_000, 4_096, "balanced", open_counter("classes"), unit)
    return page_of(result_of(Results(terms, outcomes or (outcome(),), rows)))


def test_text_says_what_was_replayed_sent_paid_and_kept() -> None:
    """The figures of one conversation, in words."""
    text = shown()
    for part in (
        "talk: 411 messages, 200 model calls, 366,753 tokens of history",
        "window 32,000 tokens, 4,096 of them for the answer; strategy balanced",
        "20,000 tokens a call on average, largest 27,500 of 27,904 by its bound",
        "0 requests over the window, 0 with a broken tool pair",
        "3,000 input tokens' worth a call: 15 % of sending everything (20,000)",
        "95 % of the input was cached",
        "14 requests broke the cached prefix, each at a compaction",
        "99.5 % of the user's messages, word for word",
        "98 % of the names and numbers that the agent used next",
        "90 % after 2,000, 40 % after 8,000",
        "0.40 ms to decide on a request (median)",
    ):
        assert part in " ".join(text.split()), part


def test_text_has_neither_colour_nor_boxes_nor_long_lines_in_a_pipe() -> None:
    """Eighty columns of characters that every terminal and every mail shows."""
    rows = (
        PolicyRow("send everything", ours=False, tally=tally()),
        PolicyRow("squidbot balanced", ours=True, tally=tally()),
    )
    for text in (shown(rows=rows), shown(outcome("a"), outcome("b" * 300), rows=rows), shown(unit="words")):
        assert text.isascii()
        assert ESCAPE not in text
        assert max(map(len, text.splitlines())) <= 80
        assert not re.search(r"[ \t]$", text, re.MULTILINE)
        assert text.endswith("\n")


def test_events_are_listed_up_to_twelve_with_what_moved_and_what_it_cost() -> None:
    """The rest is counted, and said where to find."""
    lines = shown().splitlines()
    rows = [line.split() for line in lines if re.match(r" +\d+ +(overflow|high-water) ", line)]
    assert len(rows) == 12
    assert rows[0] == ["0", "overflow", "27,900", "9,100", "-", "-", "-", "-"]
    assert rows[1] == ["7", "high-water", "25,000", "9,000", "4,208", "m40", "5,510", "4"]
    assert "... 2 more; --json lists all" in lines
    assert "more;" not in shown(outcome(happenings=12))
    assert "Events" not in shown(outcome(happenings=0))


def test_every_column_is_explained() -> None:
    """One line each, under its table."""
    rows = (
        PolicyRow("send everything", ours=False, tally=tally()),
        PolicyRow("squidbot balanced", ours=True, tally=tally()),
    )
    lines = shown(rows=rows).splitlines()
    for column in (
        "before",
        "kept",
        "from",
        "price",
        "pays after",
        "cost",
        "cached",
        "over",
        "pairs",
        "breaks",
        "users",
    ):
        assert any(line.startswith(f"{column}  ") for line in lines), column
    assert "cost    in input tokens per call: cached 0.1, new 1.25; summaries in 1, out 5" in lines
    assert any(line.startswith("squidbot balanced *") for line in lines)
    assert not any(line.startswith("send everything *") for line in lines)


def test_many_conversations_show_totals_and_those_that_lost_most() -> None:
    """Calls without a request come first, then what recall lost."""
    worst = outcome("worst", failures=[FailedCall(3, BudgetError("tools", cost=9, budget=5, unit="tokens", key="k"))])
    forgetful = outcome("forgetful", tally=Tally(calls=9, needed=Counter({0: 10}), held=Counter({0: 1})))
    text = shown(*(outcome(f"fine-{at}") for at in range(9)), forgetful, worst)
    assert "11 conversations: 4,521 messages, 2,200 model calls" in text
    assert "1 call had no request that fits\n" in text
    names = [line.split()[0] for line in text.splitlines() if re.match(r"(worst|forgetful|fine-\d) ", line)]
    assert names[:2] == ["worst", "forgetful"]
    assert len(names) == 8
    assert "... 3 more; --json lists all" in text


def test_breaks_without_an_event_are_not_hidden() -> None:
    """That would be a fault of the engine."""
    assert "14 requests broke the cached prefix, 2 WITHOUT A COMPACTION" in shown(outcome(unexplained=[3, 4]))
    assert "every request extends the one before it" in shown(outcome(tally=Tally(calls=3)))


def test_nothing_to_show_is_said_in_words() -> None:
    """No call, no literal, no user: no division, no empty line of figures."""
    text = shown(outcome(tally=Tally(), calls=0, seconds=[], events=[], everything_billed=0.0))
    assert "the agent reused no name or number" in text
    assert "0 model calls" in text
    assert "no call" in text


@pytest.mark.parametrize(("held", "shown_as"), [(1.0, "100 %"), (0.9999, "99.9 %"), (0.0, "0 %"), (0.0001, "0.1 %")])
def test_shares_are_never_rounded_to_all_or_nothing(held: float, shown_as: str) -> None:
    """Ninety-nine of a hundred thousand is not none."""
    counted = Tally(calls=1, users_held=round(held * 10_000), users_all=10_000)
    assert f"kept  {shown_as} of the user's messages" in shown(outcome(tally=counted))


def test_words_are_named_where_they_limit() -> None:
    """The policy cap stands beside the window."""
    assert "and at most 4,500 words" in " ".join(shown(unit="words").split())


def test_names_can_not_command_the_terminal() -> None:
    """An id comes from a file that anybody may have written."""
    text = shown(outcome("\x1b]0;gotcha\x07"))
    assert ESCAPE not in text
    assert "?]0;gotcha?: 411 messages" in text


def test_progress_is_silent_where_standard_error_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Logs and pipes stay clean."""
    with bar("replaying") as tick:
        tick(1, 3)
    assert capsys.readouterr() == ("", "")


def test_percentile_is_the_nearest_rank() -> None:
    """Of a hundred values the 99th, of one the one, of none none."""
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile([3.0], 0.5) == 3.0
    assert percentile([4.0, 1.0, 2.0, 3.0], 0.5) == 2.0
    assert percentile([], 0.5) is None
