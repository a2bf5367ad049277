"""What reports teach of what was sent."""

from __future__ import annotations

import json
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.tokens.calibration import GRID, Excess, RequestGrowth, UsageCalibration, UsageReport, inputs_kept

# Steps of a conversation: (bound, real tokens) each, real ones at most the bound, or beyond it.
WITHIN = st.integers(1, 900).flatmap(lambda bound: st.tuples(st.just(bound), st.integers(0, bound)))
BEYOND = st.integers(1, 900).flatmap(lambda bound: st.tuples(st.just(bound), st.integers(0, 2 * bound)))


def step(seq: int, appended: int | None = None, oldest: int = 0) -> RequestGrowth:
    """Return one message behind a request before it; None for `appended` where that is not extended."""
    return RequestGrowth(appended, is_step=appended is not None, first_seq=seq, oldest_seq=oldest)


def learned(steps: list[tuple[int, int]], first: tuple[int, int] = (500, 300), *, output: int = 0) -> UsageCalibration:
    """Return what is known after a first request and steps behind it, one message each, all reported."""
    bound, real = first
    bills = UsageCalibration("m").learn(UsageReport(real, output, bound, output, step(0), messages=1))
    for seq, (added, cost) in enumerate(steps, 1):
        bound, real = bound + added, real + cost
        bills = bills.learn(UsageReport(real, output, bound, output, step(seq, added), messages=seq + 1))
    return bills


@given(steps=st.lists(BEYOND, min_size=1, max_size=30), start=st.integers(0, 29))
def test_every_run_of_billed_messages_is_within_its_bound(steps: list[tuple[int, int]], start: int) -> None:
    """Wherever it begins: no matter how cheap texts before and between were."""
    bills = learned(steps)
    run = steps[start:]
    assert bills.run_bound(sum(bound for bound, _ in run)) >= sum(real for _, real in run)


@given(steps=st.lists(WITHIN, max_size=20), added=st.integers(0, 2000))
def test_texts_that_were_never_billed_come_at_their_whole_bound(steps: list[tuple[int, int]], added: int) -> None:
    """What others cost says nothing of them."""
    bills, first = learned(steps), 300
    real = first + sum(one for _, one in steps)
    assert bills.extended_bound(added) == inputs_kept(real) + added
    assert bills.plain_bound(added) == added


@given(steps=st.lists(BEYOND, max_size=20), limit=st.integers(0, 50_000))
def test_limits_are_the_largest_bounds_that_fit(steps: list[tuple[int, int]], limit: int) -> None:
    """Each inverse gives what its bound takes back to the limit, or less."""
    bills = learned(steps)
    for bound, inverse in (
        (bills.plain_bound, bills.plain_limit),
        (bills.extended_bound, bills.extended_limit),
        (bills.run_bound, bills.run_limit),
    ):
        most = inverse(limit)
        assert most < 0 or bound(max(0, most)) <= max(limit, bound(0))


def test_run_costs_what_it_was_billed_when_texts_cost_half_their_bound() -> None:
    """Within the step of the grid, and the margin."""
    bills = learned([(400, 200)] * 20)
    assert bills.run_bound(4000) == inputs_kept(2000)
    assert bills.run_limit(inputs_kept(2000)) >= 3999


def test_larger_report_widens_what_comes() -> None:
    """A vocabulary that takes a fifth more than the bound says, a step or many."""
    bills = learned([(100, 120)] * 20)
    assert bills.extended_bound(1000) >= inputs_kept(300 + 2400) + 1200
    assert bills.plain_bound(1000) >= 1200


def test_first_report_above_its_bound_widens_texts_until_others_tell_what_it_was() -> None:
    """A system text that the host did not tell of, which is there once, or a vocabulary that takes more of all."""
    doubted = learned([], first=(1000, 1200))
    assert doubted.plain_bound(2000) >= 2400
    told = learned([(100, 90)] * 5, first=(1000, 1200))
    assert told.plain_bound(2000) == 2200


def test_reasoning_that_comes_back_is_reserved_and_other_is_not_for_long() -> None:
    """An answer of 500 tokens whose message has 100: the provider says whether the others are input."""
    bills = UsageCalibration("m").learn(UsageReport(1000, 500, 1100, 100, step(0), messages=1))
    assert bills.extended_bound(150) == inputs_kept(1000) + 400 + 150
    gone = kept = bills
    for seq in range(1, 5):
        gone = gone.learn(UsageReport(1000 + 140 * seq, 500, 1100 + 150 * seq, 100, step(seq, 150), messages=seq + 1))
        kept = kept.learn(UsageReport(1000 + 540 * seq, 500, 1100 + 150 * seq, 100, step(seq, 150), messages=seq + 1))
    assert gone.kept.percent <= 17
    assert gone.extended_bound(150) <= inputs_kept(1000 + 4 * 140) + 150 + 70
    assert kept.kept.percent == 100


def test_reasoning_that_comes_back_is_nothing_that_the_host_hides() -> None:
    """What was reported for the answers explains it; requests that an event makes are expected to have it, too."""
    bills = UsageCalibration("m").learn(UsageReport(1000, 500, 1100, 100, step(0), messages=1))
    for seq in range(1, 9):
        bills = bills.learn(UsageReport(1000 + 540 * seq, 500, 1100 + 150 * seq, 100, step(seq, 150), messages=seq + 1))
    assert bills.hidden_tokens == 0
    assert bills.answers_bound(300, 4) >= 3 * 390
    assert bills.answers_bound(0, 4) == 0


def test_reasoning_that_does_not_come_back_is_soon_expected_nowhere() -> None:
    """Nor was it ever: what the first answers had is not in requests that events make, and hides no dear text."""
    bills = UsageCalibration("m").learn(UsageReport(1000, 4000, 1100, 100, step(0), messages=1))
    assert bills.answers_bound(100, 1) >= 3800
    for seq in range(1, 5):
        bills = bills.learn(
            UsageReport(1000 + 160 * seq, 4000, 1100 + 150 * seq, 100, step(seq, 150), messages=seq + 1)
        )
    assert bills.answers_bound(400, 1) <= 0.03 * 5 * 3900
    assert bills.texts_bound(600) >= 640


def test_request_beyond_what_was_certified_has_something_hidden() -> None:
    """An event's, in which no step says what it was: from then on it is expected with each."""
    bills = learned([(100, 50)] * 9)
    after = bills.learn(UsageReport(700, 0, 1300, 0, step(10), messages=11, certified_tokens=640))
    assert (bills.hidden_tokens, after.hidden_tokens) == (0, 60)
    assert after.fixed_bound(1000) == bills.fixed_bound(1000) + inputs_kept(60)


def test_runs_that_nobody_sends_any_more_narrow_nothing() -> None:
    """One step of ten times its bound, and behind two events nothing but what is sent."""
    bills = learned([(100, 60), (100, 1000), (100, 60)])
    assert bills.run_bound(200) > 1000
    for seq in range(4, 9):
        sent = UsageReport(1500 + 60 * seq, 0, 5000, 0, step(seq, 100, oldest=seq - 1), messages=seq + 1)
        bills = bills.learn(sent)
    assert bills.run_bound(200) == inputs_kept(120)
    assert not bills.has_billed(2)
    assert bills.has_billed(7)
    assert bills.texts_bound(200) > 200, "texts that come may be like any that came"


@pytest.mark.parametrize("added", [-40, 90_000])
def test_difference_that_no_text_can_have_teaches_nothing_of_runs(added: int) -> None:
    """A request that was cut elsewhere, or a picture: the messages stay without a price, the size is believed."""
    bills = learned([(200, 150)] * 3)
    after = bills.learn(UsageReport(750 + added, 0, 1300, 0, step(4, 200), messages=5))
    assert after.older.runs == bills.older.runs
    assert not after.has_billed(4)
    assert after.has_billed(3)
    assert after.reported_tokens == 750 + added


def test_gaps_are_forgotten_with_all_before_them_when_there_are_too_many() -> None:
    """What is stored with each request stays small."""
    bills = learned([])
    for seq in range(1, 60, 2):
        bills = bills.learn(UsageReport(900, 0, 1000, 0, step(seq), messages=seq + 1))
        bills = bills.learn(UsageReport(950, 0, 1080, 0, step(seq + 1, 80), messages=seq + 2))
    assert len(bills.gaps) == 16
    assert not bills.has_billed(2)
    assert bills.has_billed(60)


@given(steps=st.lists(BEYOND, max_size=8))
def test_bills_survive_storing(steps: list[tuple[int, int]]) -> None:
    """What JSON gives back is the same value; nothing is stored where nothing was reported."""
    bills = learned(steps, output=7)
    assert all(not values or values[-1] for values in bills.texts.stored), "the zeros at the end take no room"
    assert UsageCalibration.from_json(json.loads(json.dumps(bills.to_json()))) == bills
    assert UsageCalibration("m").unreported().to_json() == []


def test_slack_is_the_largest_excess_of_any_run() -> None:
    """Kadane's maximum against all runs, one by one, at the bound itself."""
    found = Excess()
    steps = [(130, 100), (60, 100), (150, 100), (140, 100), (20, 100)]
    for real, bound in steps:
        found = found.grown(real, bound)
    over = [real - bound for real, bound in steps]
    largest = max(max(accumulate(over[first:])) for first in range(len(over)))
    assert found.slacks[GRID.index(100)] == largest == 90


@pytest.mark.parametrize("stored", [None, 3, [[1]], [[1], [2], [3]], [[-1], []], [["x"], []], [[0] * 18, []], [1, 2]])
def test_excess_out_of_range_is_refused(stored: object) -> None:
    """It would loosen the window."""
    with pytest.raises(ValueError, match=r"excess|unpack"):
        Excess.of(stored)
