"""The journal as the settings want it kept: where its files are, what is kept of an entry, and who is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.stdlib.daybook import Daybook
from squidbot.core import events
from squidbot.core.errors import StoreError
from squidbot.core.events import Event

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.journal.entry import Entry
    from squidbot.core.journal.ports import Appended, Journal, Read
    from squidbot.core.ports import Observer

__all__ = ["Telling", "journal_of"]


def journal_of(loaded: Loaded, folder: str | None = None) -> Daybook:
    """Return the journal of a folder, relative to the current one, or (None) of `journal.folder`; nothing is made.

    Raises:
        ConfigError: one of `journal.redact_patterns` is none.
    """
    settings = loaded.settings.journal
    place = Path(loaded.absolute(settings.folder)) if folder is None else Path(folder)
    return Daybook(place, settings.rules)


class Telling:
    """A journal that tells what it keeps, what it refuses, and, once, what in its files is no entry."""

    def __init__(self, journal: Journal, observer: Observer) -> None:
        """Take a journal, and who is told."""
        self._journal = journal
        self._observer = observer
        self._told: set[str] = set()

    def append(self, entry: Entry) -> Appended:
        """Keep an entry under the day of its own time, durable on return, and return it as it is kept.

        Raises:
            JournalFullError: nothing was written: its day has as many as a day may have.
            StoreError: nothing was written: it says nothing, or the disk failed.
        """
        try:
            made = self._journal.append(entry)
        except StoreError as error:
            self._observer.notify(Event(events.DEGRADED, entry.source_session, f"journal: {error}"))
            raise
        cause = "; ".join((f"{made.entry.day}, entry {made.number}", *made.cuts))
        self._observer.notify(Event(events.JOURNAL_ENTRY_CREATED, entry.source_session, cause))
        self._tell(made.faults)
        return made

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> Read:
        """Return the newest entries, newest first, whatever days they are of: at most `limit`.

        Raises:
            StoreError: the disk failed.
        """
        return self._read(self._journal.latest(limit, tag=tag, agent_id=agent_id))

    def of_day(self, day: str) -> Read:
        """Return the entries of a day ("2026-01-27"), as they were appended; none where it has none.

        Raises:
            NotFoundError: it is no day.
            StoreError: the disk failed.
        """
        return self._read(self._journal.of_day(day))

    def days(self) -> list[str]:
        """Return the days that have entries, oldest first.

        Raises:
            StoreError: the disk failed.
        """
        return list(self._journal.days())

    def _read(self, read: Read) -> Read:
        self._tell(read.faults)
        return read

    def _tell(self, faults: tuple[str, ...]) -> None:
        for fault in faults:
            if fault not in self._told:
                self._told.add(fault)
                self._observer.notify(Event(events.DEGRADED, "", f"journal: {fault}"))
