"""Entries of a journal and their lines."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.core.errors import DamagedStoreError, NotFoundError
from squidbot.core.journal import LISTS, MOST_TIME, JournalEntry, day_of, from_line, to_line, valid_day

# As document 003 prints it.
DOCUMENTED = (
    '{"timestamp": "2026-01-27T12:34:56Z", "agent_id": "default", "run_id": "run_7", "summary": "Made a store.", '
    '"decisions": ["SQLite"], "progress": ["tables"], "open_questions": ["when?"], "files_touched": ["a.py"], '
    '"tags": ["context", "memory"], "source_session": "session_9", "token_usage": {"total": 12345}}'
)
ENTRY = JournalEntry(
    1_769_517_296, "Made a store.", "default", "run_7", "session_9", ("SQLite",), ("tables",), ("when?",), ("a.py",),
    tags=("context", "memory"), total_tokens=12_345,
)  # fmt: skip

SINGLE = st.text(st.characters(codec="utf-8"))
LIST = st.lists(SINGLE, max_size=4).map(tuple)
ENTRIES = st.builds(
    JournalEntry, st.integers(0, MOST_TIME), SINGLE, SINGLE, SINGLE, SINGLE, LIST, LIST, LIST, LIST, LIST, LIST,
    st.none() | st.integers(0, 2**70),
)  # fmt: skip


def test_line_is_that_of_the_document_when_all_is_said() -> None:
    """Each key, in its order, under its name (J-01)."""
    assert to_line(ENTRY) == DOCUMENTED
    assert from_line(DOCUMENTED) == ENTRY


@given(ENTRIES)
@example(JournalEntry(0, "one\n---\ntwo", decisions=("---", "\u2028", "\x85", "\x00", "\x7f"), errors=("x",)))
@example(JournalEntry(MOST_TIME, "\ud800", progress=("\udfff",)))
def test_entry_comes_back_from_its_line_whatever_is_in_it(entry: JournalEntry) -> None:
    """There and back; the line is one line for every reader, and has UTF-8 (J-01, V21)."""
    line = to_line(entry)
    assert from_line(line) == entry
    assert len(line.splitlines()) == 1
    assert line.encode()
    assert list(json.loads(line))[:4] == ["timestamp", "agent_id", "run_id", "summary"]


def test_halves_of_a_character_come_back_joined() -> None:
    """JSON can't tell them from the character that they make."""
    assert from_line(to_line(JournalEntry(0, "\ud83d\ude00"))).summary == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("2026-01-27T12:34:56Z", 1_769_517_296),
        ("2026-01-27T12:34:56", 1_769_517_296),
        ("2026-01-27T13:34:56.789+01:00", 1_769_517_296),
        ("1970-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59Z", MOST_TIME),
    ],
)
def test_time_of_others_is_read_in_any_zone(stamp: str, time: int) -> None:
    """One that names none is taken for UTC; parts of a second are passed over."""
    assert from_line(json.dumps({"timestamp": stamp, "summary": "x"})) == JournalEntry(time, "x")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "invalid JSON"),
        (DOCUMENTED[:-1], "truncated"),
        ("[" * 100_000, "invalid JSON"),
        ("[]", "not a JSON object"),
        ("{}", "timestamp must be a string"),
        ('{"timestamp": "2026-01-27T12:34:56Z"}', "summary must be a string"),
        ('{"timestamp": "yesterday", "summary": "x"}', "'yesterday' is not a time"),
        ('{"timestamp": "0001-01-01T00:00:00+14:00", "summary": "x"}', "is not a time|1970"),
        ('{"timestamp": "1969-12-31T23:59:59Z", "summary": "x"}', "seconds since 1970"),
        ('{"timestamp": 7, "summary": "x"}', "timestamp must be a string"),
        (DOCUMENTED.replace('"run_7"', "7"), "run_id must be a string"),
        (DOCUMENTED.replace('["SQLite"]', '"SQLite"'), "decisions must be a list of strings"),
        (DOCUMENTED.replace('["SQLite"]', "[1]"), "decisions must be a list of strings"),
        (DOCUMENTED.replace("12345", "-1"), "must be a whole number or None"),
        (DOCUMENTED.replace("12345", "true"), "must be a whole number or None"),
        (DOCUMENTED.replace("12345", "1.5"), "must be a whole number or None"),
    ],
)
def test_line_that_is_no_entry_is_refused_with_the_reason(line: str, why: str) -> None:
    """Nothing is taken for what it is not."""
    with pytest.raises(DamagedStoreError, match=why):
        from_line(line)


@given(st.integers(0, len(DOCUMENTED) - 1))
def test_beginning_of_a_line_is_never_an_entry(chars: int) -> None:
    """Wherever a process died while it wrote."""
    with pytest.raises(DamagedStoreError):
        from_line(DOCUMENTED[:chars])


def test_keys_that_nobody_knows_are_passed_over() -> None:
    """A later form may have more."""
    assert from_line(DOCUMENTED.replace('"run_id"', '"mood": "good", "run_id"')) == ENTRY


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"time": -1}, "not -1"),
        ({"time": MOST_TIME + 1}, "not 253402300800"),
        ({"time": math.nan}, "not nan"),
        ({"time": math.inf}, "not inf"),
        ({"time": "now"}, "not 'now'"),
        ({"time": True}, "not True"),
        ({"summary": 7}, "summary must be a string"),
        ({"agent_id": None}, "agent_id must be a string"),
        ({"decisions": "one"}, "decisions must be a list of strings"),
        ({"files_touched": [1]}, "files_touched must be a list of strings"),
        ({"tags": None}, "tags must be a list of strings"),
        ({"total_tokens": -1}, "not -1"),
        ({"total_tokens": 1.5}, "not 1.5"),
        ({"total_tokens": True}, "not True"),
    ],
)
def test_what_no_reader_would_take_for_an_entry_is_refused(wrong: dict[str, Any], why: str) -> None:
    """Before it is anywhere: it would be written, and lost."""
    with pytest.raises(ValueError, match=re.escape(why)):
        JournalEntry(**{"time": 0, "summary": "x", **wrong})


def test_parts_of_a_second_are_dropped_and_lists_taken() -> None:
    """A clock's own number, and what JSON gives, will do."""
    lists: dict[str, Any] = {"tags": ["a", "b"]}
    entry = JournalEntry(86_399.9, "x", **lists)
    assert (entry, type(entry.time)) == (JournalEntry(86_399, "x", tags=("a", "b")), int)
    assert entry.timestamp == "1970-01-01T23:59:59Z"


def test_day_changes_at_midnight_in_utc() -> None:
    """Whatever zone the machine is in (V21)."""
    assert (day_of(86_399), day_of(86_399.9), day_of(86_400)) == ("1970-01-01", "1970-01-01", "1970-01-02")
    assert JournalEntry(86_400, "x").day == "1970-01-02"
    assert valid_day("2028-02-29") == "2028-02-29"
    for text in ("2026-02-29", "20260227", "2026-W05-1", "../x", "", "2026-01-27 "):
        with pytest.raises(NotFoundError, match="is not a day"):
            valid_day(text)


def test_every_list_of_an_entry_is_in_its_line() -> None:
    """Errors, too, which the document has no place for, where there are any."""
    line = json.loads(to_line(JournalEntry(0, "x", errors=("e",))))
    assert {*LISTS} <= {*line}
    assert "errors" not in json.loads(to_line(JournalEntry(0, "x")))
