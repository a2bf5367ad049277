"""The journal of an engine: what it keeps and refuses is told."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import Daybook
from squidbot.core import events
from squidbot.core.errors import JournalFullError
from squidbot.core.journal import JournalEntry
from squidbot.services.background import BackgroundWorker, JournalWork, WorkOrder
from squidbot.wiring.journal import ReportingJournal

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event

# The last second of 2026-11-22 in UTC, in seconds since 1970.
EVENING = 1_795_391_999


class Host:
    """Keeps what it is told."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.told: list[tuple[str, str, str]] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep an event."""
        if event.name not in {events.STARTED, events.STOPPED}:
            self.told.append((event.name, event.session_id, event.cause))

    def notify(self, event: Event) -> None:
        """Keep it, as an observer."""
        self.on_event(event)


def test_journal_of_an_engine_keeps_an_entry_with_dashes_and_begins_a_file_at_midnight(tmp_path: Path) -> None:
    """The entry is whole, the next one is there, and the day after has its own file (V21)."""
    host = Host()
    with squidbot.load({"journal": {"folder": str(tmp_path)}}, extensions=[host]) as engine:
        said = JournalEntry(EVENING, "one\n---\ntwo", source_session="s1")
        engine.journal().append(said)
        engine.journal().append(JournalEntry(EVENING, "x" * 5_000))
        engine.journal().append(JournalEntry(EVENING + 1, "three"))
        assert engine.journal().days() == ["2026-11-22", "2026-11-23"]
        assert engine.journal().of_day("2026-11-22").entries[0] == said
        assert [entry.summary[:5] for entry in engine.journal().latest(3).entries] == ["three", "xxxxx", "one\n-"]
    assert host.told == [
        ("journal-entry-created", "s1", "2026-11-22, entry 1"),
        ("journal-entry-created", "", "2026-11-22, entry 2; summary: kept 4,800 of 5,000 characters"),
        ("journal-entry-created", "", "2026-11-23, entry 1"),
    ]


def test_201st_entry_of_a_day_is_refused_and_told(tmp_path: Path) -> None:
    """By an error and by an event; the file stays (V21)."""
    host = Host()
    with squidbot.load({"journal": {"folder": str(tmp_path)}}, extensions=[host]) as engine:
        for number in range(200):
            engine.journal().append(JournalEntry(EVENING, str(number)))
        whole = (tmp_path / "2026-11-22.jsonl").read_bytes()
        with pytest.raises(JournalFullError):
            engine.journal().append(JournalEntry(EVENING, "200", source_session="s1"))
    assert (tmp_path / "2026-11-22.jsonl").read_bytes() == whole
    ((name, session_id, cause),) = [one for one in host.told if one[0] != "journal-entry-created"]
    assert (name, session_id) == ("degraded", "s1")
    assert cause.startswith("journal: the journal of 2026-11-22 has 200 entries, as many as a day may have")


def test_damaged_line_is_told_once(tmp_path: Path) -> None:
    """However often the file is read."""
    host = Host()
    book = Daybook(tmp_path)
    book.append(JournalEntry(EVENING, "one"))
    with (tmp_path / "2026-11-22.jsonl").open("a") as file:
        file.write("{")
    journal = ReportingJournal(book, host)
    for _ in range(2):
        assert [entry.summary for entry in journal.latest().entries] == ["one"]
        assert len(journal.of_day("2026-11-22").faults) == 1
    journal.append(JournalEntry(EVENING, "two"))
    assert [name for name, _, _ in host.told] == ["degraded", "journal-entry-created"]
    assert ":2: not a journal entry" in host.told[0][2]


def test_what_is_held_of_journals_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of journals, sessions and faults the newest are held; the others are looked up again."""
    monkeypatch.setattr("squidbot.adapters.common.counts.MOST_HELD", 3)
    settings = {"journal": {"enabled": True, "folder": str(tmp_path)}, "summary": {"scheduler": "none"}}
    with squidbot.load(settings) as engine:
        journals, work = engine.wired.journals, JournalWork(60.0)
        for number in range(8):
            scope = squidbot.Scope(user=f"u{number}")
            engine.journal(scope).append(JournalEntry(EVENING, f"entry {number}"))
            assert journals.newest(scope) is not None
            work.ask(f"s{number}", "request")
            session = engine.session(f"s{number}", scope=scope)
            session.record({"role": "user", "content": "Hello"}, "Hello!", now=EVENING)
            BackgroundWorker(work).work(session, WorkOrder(reason="schedule", now=EVENING + 1.0))
        assert [len(journals._opened), len(journals._newest), len(work._beats)] == [3, 3, 3]  # how much
        first = journals.newest(squidbot.Scope(user="u0"))
        assert first is not None
        assert first.summary == "Hello; Hello!"


def test_pattern_that_takes_too_long_is_switched_off_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for an engine, whoever's journal it is; entries are still kept."""
    host, ticks = Host(), count()
    monkeypatch.setattr("squidbot.wiring.journal.time.thread_time", lambda: 0.6 * next(ticks))
    settings = {"journal": {"enabled": True, "folder": str(tmp_path), "redact_patterns": [r"EMP-\d+"]}}
    with squidbot.load(settings, extensions=[host]) as engine:
        journal = engine.wired.journals.of()
        assert journal.append(JournalEntry(EVENING, "EMP-12 " + "x" * 4_000)).entry.summary.startswith("[redacted] ")
        assert journal.append(JournalEntry(EVENING, "EMP-12")).entry.summary == "EMP-12"
        assert engine.wired.journals.redacted("EMP-12") == "EMP-12"
    said = [cause for name, _, cause in host.told if name == events.DEGRADED]
    assert len(said) == 1
    assert "is now off" in said[0]
    assert "journal.redact_patterns" in said[0]
