"""Small texts for people: nothing that a terminal would obey, nothing longer than it may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.cli.texts import ago, clock, count, line, lines, seqs, shorter, span

NOW = 1_760_000_000.0


@given(st.text(), st.integers(1, 60))
def test_shorter_is_one_printable_line_of_at_most_so_many_characters(text: str, chars: int) -> None:
    """Whatever the text; what is short enough comes out whole, with single spaces."""
    made = shorter(text, chars)
    assert len(made) <= chars
    assert made.isprintable()
    if made and made != "…" and not made.endswith("…"):
        assert made == line(" ".join(text.split())) or len(text) > 4 * chars


@given(st.text())
def test_lines_obey_no_text(text: str) -> None:
    """No escape, no bell, no line break inside a line; all that can be seen is there."""
    made = lines(text)
    assert all(one.isprintable() for one in made)
    assert sum(map(len, made)) >= sum(char.isprintable() for char in text)


def test_shorter_looks_at_no_more_than_it_needs() -> None:
    """A megabyte of blanks is no reason to wait, and is marked as more."""
    assert shorter("a" + " " * 10_000_000 + "b", 20) == "a…"


@pytest.mark.parametrize(
    ("time", "told"),
    [
        (NOW - 3, "just now"),
        (NOW - 61, "1 minute ago"),
        (NOW - 7_300, "2 hours ago"),
        (NOW - 3 * 86_400, "3 days ago"),
        (NOW - 800 * 86_400, "2 years ago"),
        (NOW + 5, "-"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_ago_tells_distances_in_one_unit(time: float | None, told: str) -> None:
    """What is not known, or has not been, is a dash."""
    assert ago(time, NOW) == told


def test_clock_is_utc_and_knows_what_is_no_time() -> None:
    """Also where the calendar ends."""
    assert clock(NOW) == "2025-10-09 08:53:20 UTC"
    assert clock(None) == clock(1e300) == clock(float("inf")) == "-"


def test_ids_and_counts_read_as_words() -> None:
    """One is one, a run is a run, many are the first and how many more."""
    assert (span(3, 3), span(3, 9)) == ("m3", "m3-m9")
    assert (count(1, "message"), count(1_200, "message")) == ("1 message", "1,200 messages")
    assert seqs([1, 2, 3], 3) == "m1 m2 m3"
    assert seqs([1, 2, 3, 4, 5], 3) == "m1 m2 m3 and 2 more"
