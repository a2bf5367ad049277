"""What a journal promises: the files of days, and the journal of an engine in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import Daybook
from squidbot.core.errors import JournalFullError, NotFoundError
from squidbot.core.journal import JournalEntry
from squidbot.testing.values import ODD_TEXTS, at_once, refuses
from squidbot.wiring.journal import ReportingJournal

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.journal import Journal

# The last second of 2026-11-22 in UTC, in seconds since 1970.
LAST_SECOND = 1_795_391_999
DAY, NEXT_DAY = "2026-11-22", "2026-11-23"
MOST = 200
# Each known by its shape or by the name before it, none of them anybody's.
SECRETS = ("sk-" + "a1B2" * 6, "AKIA" + "Q7" * 8, "hunter2-hunter2")


class Deaf:
    """An observer that hears nothing."""

    def notify(self, event: Event) -> None:
        """Do nothing."""


@pytest.fixture(params=["files", "reporting"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """Return a journal of each kind, which takes 200 entries a day."""
    book = Daybook(tmp_path / "days")
    return book if request.param == "files" else ReportingJournal(book, Deaf())


def _entry(summary: str, time: int = LAST_SECOND, *tags: str, agent_id: str = "default") -> JournalEntry:
    return JournalEntry(time, summary, agent_id, tags=tags)


def _summaries(journal: Journal, day: str) -> list[str]:
    return [entry.summary for entry in journal.of_day(day).entries]


def test_entry_comes_back_as_it_was(journal: Journal) -> None:
    """It comes back equal in every field, under its number."""
    entry = JournalEntry(
        LAST_SECOND, "Chose SQLite.", "ann", "run 7", "s 1", ("SQLite",), ("made a table", "moved it"), ("when?",),
        ("a.py", "b/c.py"), ("one test failed",), ("store", "choice"), 12_345,
    )  # fmt: skip
    plain = _entry("nothing else")
    told = [journal.append(one) for one in (entry, plain)]
    assert [one.entry for one in told] == [entry, plain], f"what is kept is told: got {told!a}"
    assert [one.number for one in told] == [1, 2], "entries of a day are numbered from 1"
    got = journal.of_day(DAY)
    assert got == ((entry, plain), ()), f"an entry comes back equal in every field: got {got!a}"


def test_texts_are_kept_character_by_character(journal: Journal) -> None:
    """Whatever is in its texts."""
    texts = [f"before{text}behind" for text in (*ODD_TEXTS, "\n---\n", "\n\n", '"}\n{"', "# x\n## y", "'''", "\t")]
    kept = [
        journal.append(
            JournalEntry(LAST_SECOND, text, text, text, text, (text,), (text,), (text,), (text,), (text,), (text,))
        )
        for text in texts
    ]
    for text, one in zip(texts, kept, strict=True):
        same = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        assert one.entry.summary == same, f"a text is kept character by character: sent {text!a}, got {one!a}"
        assert one.entry.decisions == (same,), f"texts of lists, too: sent {text!a}, got {one!a}"
    got = journal.of_day(DAY)
    assert got == (tuple(one.entry for one in kept), ()), f"all of them come back, none is cut: got {got!a}"


def test_days_begin_at_midnight_in_utc(journal: Journal) -> None:
    """By the day of its own time in UTC."""
    for summary, time in (("evening", LAST_SECOND), ("morning", LAST_SECOND + 1), ("late", LAST_SECOND - 1)):
        journal.append(_entry(summary, time))
    assert _summaries(journal, DAY) == ["evening", "late"], f"a day has its own entries: {_summaries(journal, DAY)}"
    assert _summaries(journal, NEXT_DAY) == ["morning"], "midnight in UTC begins a new one"
    assert list(journal.days()) == [DAY, NEXT_DAY], f"days come oldest first: got {journal.days()}"
    assert journal.of_day("2026-01-01") == ((), ()), "a day without entries has none"


def test_newest_entries_come_first(journal: Journal) -> None:
    """Across days, by tag and agent."""
    assert journal.latest() == ((), ()), "a fresh journal has no newest entry"
    assert list(journal.days()) == [], "nor days"
    for number in range(6):
        tag, agent = ("even", "ann") if number % 2 == 0 else ("odd", "bob")
        journal.append(_entry(str(number), LAST_SECOND + number // 2 * 86_400, tag, agent_id=agent))
    for limit, tag, agent, due in (
        (1, "", "", "5"), (4, "", "", "5432"), (99, "", "", "543210"), (0, "", "", ""), (2, "even", "", "42"),
        (9, "", "bob", "531"), (9, "even", "bob", ""), (9, "eve", "", ""),
    ):  # fmt: skip
        got = "".join(entry.summary for entry in journal.latest(limit, tag=tag, agent_id=agent).entries)
        assert got == due, f"latest({limit}, {tag!r}, {agent!r}) is newest first, across days: due {due}, got {got}"


def test_day_has_as_many_entries_as_it_may(journal: Journal) -> None:
    """The 201st is refused, and leaves nothing (V21)."""
    for number in range(MOST):
        told = journal.append(_entry(str(number)))
        assert told.number == number + 1, f"entries are numbered: due {number + 1}, got {told.number}"
    refused = None
    try:
        journal.append(_entry("one too many"))
    except JournalFullError as error:
        refused = (error.day, error.most)
    assert refused == (DAY, MOST), f"the 201st entry of a day is refused, with day and number: got {refused}"
    assert _summaries(journal, DAY) == [str(number) for number in range(MOST)], "what is refused leaves nothing"
    assert journal.append(_entry("another day", LAST_SECOND + 1)).number == 1, "the next day has room of its own"


def test_secrets_are_not_kept(journal: Journal) -> None:
    """Whatever field they were in."""
    shape, key, word = SECRETS
    said = f"used {shape} and {key}, password: {word}"
    lists = ((said,), (said,), (said,), (said,), (said,), (said,))
    told = journal.append(JournalEntry(LAST_SECOND, said, "default", "", "", *lists))
    for what in (repr(told), repr(journal.of_day(DAY)), repr(journal.latest())):
        left = [secret for secret in SECRETS if secret in what]
        assert not left, f"no secret is kept: {left} came back"
    assert "used" in journal.latest().entries[0].summary, "what stands around a secret stays"


def test_what_is_no_entry_and_no_day_is_refused(journal: Journal) -> None:
    """An empty entry, an endless id, and what is no day."""
    refuses("an entry that says nothing", journal.append, _entry(" \n"))
    refuses("an id without end", journal.append, _entry("x", agent_id="x" * 1_025))
    for day in ("", "today", "2026-02-30", "2026-1-1", "../2026-11-22", "2026-11-22\n"):
        try:
            journal.of_day(day)
        except NotFoundError:
            continue
        raise AssertionError(f"{day!r} is no day: a NotFoundError was due")
    assert list(journal.days()) == [], "what is refused makes no day"


def test_threads_that_append_at_once_lose_nothing(journal: Journal) -> None:
    """Each thread has its own numbers, in its own order."""

    def write(place: int) -> list[int]:
        return [journal.append(_entry(f"{'abcd'[place]}{number}")).number for number in range(5)]

    numbers = [number for each in at_once(4, write, "threads append at once") for number in each]
    got = _summaries(journal, DAY)
    assert sorted(got) == sorted(f"{name}{number}" for name in "abcd" for number in range(5)), f"lost: got {got}"
    assert sorted(numbers) == list(range(1, 21)), f"each has its own number: got {sorted(numbers)}"
    for name in "abcd":
        own = [one for one in got if one[0] == name]
        assert own == sorted(own), f"each writer's order stays: got {own}"
