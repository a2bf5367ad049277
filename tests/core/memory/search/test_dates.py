"""The days that a text speaks of."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memory import days as days_module
from squidbot.core.memory.days import MOST_DAYS, day_of, days, without_days

from .talk import at

# A Tuesday.
SAID = at("2031-05-20")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("It was on 8 May, 2030.", "2030-05-08", "2030-05-08"),
        ("the 3rd of June 2029", "2029-06-03", "2029-06-03"),
        ("on May 8th", "2031-05-08", "2031-05-08"),
        ("on 24 December", "2030-12-24", "2030-12-24"),  # the last one, this far from the next
        ("2031-02-14", "2031-02-14", "2031-02-14"),
        ("May 2030", "2030-05-01", "2030-05-31"),
        ("in December", "2030-12-01", "2030-12-31"),
        ("the summer of 2028", "2028-06-01", "2028-08-31"),
        ("winter 2028", "2028-12-01", "2029-02-28"),
        ("in 1998", "1998-01-01", "1998-12-31"),
        ("Yesterday it rained", "2031-05-19", "2031-05-19"),
        ("tomorrow", "2031-05-21", "2031-05-21"),
        ("tonight", "2031-05-20", "2031-05-20"),
        ("the other day", "2031-05-17", "2031-05-19"),
        ("last week", "2031-05-12", "2031-05-18"),
        ("this weekend", "2031-05-23", "2031-05-25"),
        ("next month", "2031-06-01", "2031-06-30"),
        ("last year", "2030-01-01", "2030-12-31"),
        ("last summer", "2030-06-01", "2030-08-31"),
        ("this winter", "2030-12-01", "2031-02-28"),
        ("last Friday", "2031-05-16", "2031-05-16"),
        ("on Tuesday", "2031-05-13", "2031-05-13"),
        ("next Monday", "2031-05-26", "2031-05-26"),
        ("two weeks ago", "2031-05-05", "2031-05-07"),
        ("a couple of days ago", "2031-05-18", "2031-05-18"),
        ("3 months back", "2031-02-12", "2031-02-26"),
    ],
)
def test_days_are_read_from_the_day_they_were_told_on(text: str, first: str, last: str) -> None:
    """Both ends are included."""
    assert [tuple(date.fromordinal(end).isoformat() for end in each) for each in days(text, SAID)] == [(first, last)]


@pytest.mark.parametrize("text", ["", "I may go in a while", "31 February 2030", "march on", "room 8", "2031-44"])
def test_what_is_no_day_is_none(text: str) -> None:
    """Words that are months elsewhere, days that no month has."""
    assert not [each for each in days(text, SAID) if each.first == each.last]


def test_what_is_told_from_an_unknown_day_is_not_known() -> None:
    """Dates with a year are."""
    assert days("yesterday, in May, on 3 March", None) == ()
    assert len(days("on 3 March 2030", None)) == 1


def test_a_question_without_its_days_keeps_the_rest() -> None:
    """Dates and days that are told from today."""
    assert without_days("Who came on 8 May, 2031 or last week?").split() == ["Who", "came", "on", "or", "?"]


@given(st.text(), st.floats())
def test_any_text_at_any_time_has_days_in_order(text: str, told: float) -> None:
    """And not many."""
    found = days(text + " yesterday, 12 months ago, last winter, 1 Jan, in 1900", told)
    assert all(0 < each.first <= each.last for each in found)
    assert 0 < len(found) <= MOST_DAYS


def test_times_beyond_the_calendar_are_its_ends() -> None:
    """In order, as any other times."""
    times = (-1e30, -1e11, 0.0, 1e11, 1e30)
    assert [day_of(time) for time in times] == sorted(day_of(time) for time in times)


# What forms are made of; four letters match "i", "s" and "k" whatever their case.
PIECES = (
    "Last", "this", "next", "past", "on", "two", "a few", "weekend", "ye\u017fterday", "last N\u0131ght", "W\u0130nter",
    "spr\u0131ng", "morning", "afternoon", "EVENING", "tomorrow", "the other day", "wee\u212a", "Tuesday", "autumn",
    "fall", "\u017fummer", "months", "ago", "back", "years", "May", "in", "8", "of", "2030", "1999", "Sept",
    "2031-02-14", "December", "\u0662", "20\u0661\u0662", "tonight", "today",
)  # fmt: skip


def test_day_is_read_in_letters_that_match_plain_ones() -> None:
    """A text of them is stored as any other, and must not end each search that meets it."""
    assert days("Last W\u0130nter", SAID) == days("last winter", SAID) != ()
    assert days("this \u017fummer", SAID) == days("this summer", SAID) != ()


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join))
def test_days_are_found_whatever_is_looked_at_first(text: str) -> None:
    """No text that speaks of a day is passed over by the first look at it."""
    found = days(text, SAID)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(days_module, "_spoken", lambda _words: set(range(len(days_module._ROWS))))
        assert days(text, SAID) == found
