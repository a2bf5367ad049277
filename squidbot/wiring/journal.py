"""The journal by the settings: the place of its files, the stored parts of an entry, and its listeners.

Scopes with separate durable facts have separate journals: the one without a scope is in the folder itself, all others
are in folders below it.
"""

from __future__ import annotations

import glob
import json
import re
import threading
import time
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.common.counts import hold
from squidbot.adapters.stdlib.daybook import PAGE, Daybook
from squidbot.core import events
from squidbot.core.arguments import instance, number, takes, text
from squidbot.core.cached import cached_property
from squidbot.core.errors import StoreError
from squidbot.core.events import Event
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import NOBODY, Scope, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.stdlib.daybook import State
    from squidbot.config import Loaded
    from squidbot.core.journal import AppendedEntry, Journal, JournalPage, JournalRules
    from squidbot.core.memories import Isolation
    from squidbot.core.ports import Observer


# The length of a name within a folder's name.
NAME_CHARS = 40


def folder_of(scope: Scope, isolation: Isolation) -> str:
    """Return the folder of a scope's journal below the journal folder; "" without a scope.

    Scopes that see each other's durable facts share it.
    """
    tenant, user, _, *others = View(scope, isolation).key
    parts = [tenant, user, *others]
    if not any(parts):
        return ""
    named = re.sub(r"[^A-Za-z0-9_]+", "-", "-".join(filter(None, parts)))[:NAME_CHARS].strip("-")
    digest = blake2b(json.dumps(parts).encode(), digest_size=5).hexdigest()
    return f"{named}-{digest}".lstrip("-")


def journal_of(
    loaded: Loaded, folder: str | None = None, scope: Scope = NOBODY, rules: JournalRules | None = None
) -> Daybook:
    """Return a scope's journal in a folder, relative to the current one, or (None) in `journal.folder`.

    Nothing is made. `rules` say what is kept of an entry; None: as settings say.

    Raises:
        ConfigError: one of `journal.redact_patterns` is none.
    """
    settings = loaded.settings.journal
    place = Path(loaded.absolute(settings.folder)) if folder is None else Path(folder)
    return Daybook(place / folder_of(scope, loaded.settings.memory.isolation), rules or settings.rules)


def timed_rules(loaded: Loaded, tell: Callable[[str], None]) -> JournalRules:
    """Return the rules for entries, with a time limit for patterns of the settings.

    `tell` is called with a pattern that exceeds it.
    """

    def slow(pattern: str) -> None:
        tell(
            f"pattern {pattern!a:.80} took over a second and is now off, so it no longer removes secrets; simplify it "
            f"@ {loaded.source}.journal.redact_patterns"
        )

    return replace(loaded.settings.journal.rules, clock=time.thread_time, slow=slow)


def indexed_of(loaded: Loaded, scope: Scope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the journal files that memory indexes for a scope, and the beginnings of paths that it skips.

    It skips pages made from journals, and other scopes' journals.
    """
    every, own = (journal_of(loaded, None, one).folder for one in (NOBODY, scope))
    folders = [one for one in every.iterdir() if one.is_dir()] if every.is_dir() else []
    apart = [f"{folder}/" for folder in folders if folder != own]
    if own != every:
        apart += [str(one) for one in every.glob("*.jsonl")]
    files = (f"{glob.escape(str(own))}/*.jsonl",) if loaded.settings.journal.enabled and own.is_dir() else ()
    return files, (*apart, f"{every}/{PAGE}", f"{own}/{PAGE}")


class Journals:
    """The journals of one engine. Threads may share it; it creates nothing before the first entry."""

    def __init__(self, loaded: Loaded, observer: Observer) -> None:
        """Take the settings, and the listener."""
        self._loaded = loaded
        self._observer = observer
        self._opened: dict[Path, ReportingJournal] = {}
        # The newest entry of each folder, and a stamp that shows that it still is.
        self._newest: dict[Path, tuple[State, JournalEntry | None]] = {}
        self._lock = threading.Lock()

    @property
    def enabled(self) -> bool:
        """Whether squidbot writes and shows entries by itself: `journal.enabled`."""
        return self._loaded.settings.journal.enabled

    @property
    def tells(self) -> bool:
        """Whether a request shows the newest entry when a session begins, or continues after a pause."""
        settings = self._loaded.settings.journal
        return settings.enabled and settings.inject_latest_on_start

    def newest(self, scope: Scope = NOBODY) -> JournalEntry | None:
        """Return the newest entry of a scope's journal; its files are read only if they changed.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
            StoreError: the disk failed.
        """
        book = journal_of(self._loaded, None, scope)
        state = book.state()
        with self._lock:
            held = self._newest.get(book.folder)
        if held is None or held[0] != state:
            found = self.of(scope).latest(1).entries
            held = state, (found[0] if found else None)
            with self._lock:
                hold(self._newest, book.folder, held)
        return held[1]

    def rewrite(
        self, scope: Scope, change: Callable[[JournalEntry], JournalEntry | None], tells: Callable[[str], bool]
    ) -> list[str]:
        """Call `Daybook.rewrite` for a scope's journal, in use or not; return the changed files.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
            StoreError: the disk failed.
        """
        book = journal_of(self._loaded, None, scope, self._rules)
        return [str(book.folder / f"{day}.jsonl") for day in book.rewrite(change, tells)]

    def place(self, scope: Scope = NOBODY) -> str:
        """Return the folder of a scope's journal, which identifies it."""
        return str(journal_of(self._loaded, None, scope).folder)

    def redacted(self, text: str) -> str:
        """Return a text without secrets, by the rules for entries."""
        return self._rules.redactor.redacted(text)

    def applied(self, entry: JournalEntry) -> JournalEntry:
        """Return an entry as it would be kept: without secrets, and without what the settings leave out.

        Raises:
            StoreError: the entry says nothing.
        """
        return self._rules.applied(entry)[0]

    @cached_property
    def _rules(self) -> JournalRules:
        """The rules for entries; a pattern that takes too long is reported."""
        return timed_rules(self._loaded, lambda cause: self._observer.notify(Event(events.DEGRADED, "", cause)))

    def of(self, scope: Scope = NOBODY) -> ReportingJournal:
        """Return the journal of a scope, the same object while it is in memory.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
        """
        book = journal_of(self._loaded, None, scope, self._rules)
        with self._lock:
            journal = self._opened.get(book.folder) or ReportingJournal(book, self._observer)
            hold(self._opened, book.folder, journal)
        return journal


class ReportingJournal:
    """A journal that reports stored and refused entries, and, once, lines in its files that are not entries."""

    def __init__(self, journal: Journal, observer: Observer) -> None:
        """Take a journal, and the listener."""
        self._journal = journal
        self._observer = observer
        self._told: dict[str, None] = {}

    @takes(entry=instance(JournalEntry, called="an Entry"))
    def append(self, entry: JournalEntry) -> AppendedEntry:
        """Store an entry under the day of its time, durable on return, and return it as stored.

        Raises:
            JournalFullError: nothing was written: its day has the maximum of entries.
            StoreError: nothing was written: the entry is empty, or the disk failed.
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

    @takes(limit=number, tag=text, agent_id=text)
    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:
        """Return the newest entries of any days, newest first: at most `limit`.

        Raises:
            StoreError: the disk failed.
        """
        return self._read(self._journal.latest(limit, tag=tag, agent_id=agent_id))

    @takes(day=text)
    def of_day(self, day: str) -> JournalPage:
        """Return the entries of a day ("2026-01-27"), oldest first.

        Raises:
            NotFoundError: it is not a day.
            StoreError: the disk failed.
        """
        return self._read(self._journal.of_day(day))

    def days(self) -> list[str]:
        """Return the days that have entries, oldest first.

        Raises:
            StoreError: the disk failed.
        """
        return list(self._journal.days())

    def _read(self, read: JournalPage) -> JournalPage:
        self._tell(read.faults)
        return read

    def _tell(self, faults: tuple[str, ...]) -> None:
        for fault in faults:
            if fault not in self._told:
                hold(self._told, fault, None)
                self._observer.notify(Event(events.DEGRADED, "", f"journal: {fault}"))
