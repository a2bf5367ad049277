"""The journal as the settings want it kept: where its files are, what is kept of an entry, and who is told.

Those whose durable facts are parted have journals of their own: nobody's is in the folder itself, all others are in
folders below it.
"""

from __future__ import annotations

import glob
import json
import re
import threading
import time
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.common.counts import hold
from squidbot.adapters.stdlib.daybook import PAGE, Daybook
from squidbot.core import events
from squidbot.core.arguments import instance, number, takes, text
from squidbot.core.errors import StoreError
from squidbot.core.events import Event
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.stdlib.daybook import State
    from squidbot.config import Loaded
    from squidbot.core.journal import AppendedEntry, Journal, JournalPage, JournalRules
    from squidbot.core.memories import Isolation
    from squidbot.core.ports import Observer


NOBODY = Scope()
# Of a name in the name of a folder.
NAME_CHARS = 40


def folder_of(scope: Scope, isolation: Isolation) -> str:
    """Return the folder of a scope's journal below that of all; "" for nobody's.

    Scopes have the same where they see each other's durable facts.
    """
    tenant, user, _, part = View(scope, isolation).key
    if not (tenant or user or part):
        return ""
    named = re.sub(r"[^A-Za-z0-9_]+", "-", "-".join(filter(None, (tenant, user, part))))[:NAME_CHARS].strip("-")
    digest = blake2b(json.dumps([tenant, user, part]).encode(), digest_size=5).hexdigest()
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
    """Return what is kept of an entry, with a limit of time for patterns of the settings.

    `tell` is told of one that meets it.
    """

    def slow(pattern: str) -> None:
        tell(
            f"pattern {pattern!a:.80} took over a second and is now off, so it no longer removes secrets; simplify it "
            f"@ {loaded.source}.journal.redact_patterns"
        )

    return replace(loaded.settings.journal.rules, clock=time.thread_time, slow=slow)


def indexed_of(loaded: Loaded, scope: Scope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what of journals memory looks at for a scope: the files of its own, where it is kept; and what it passes.

    That are pages made of journals, and the journals of others, by how their paths begin.
    """
    every, own = (journal_of(loaded, None, one).folder for one in (NOBODY, scope))
    folders = [one for one in every.iterdir() if one.is_dir()] if every.is_dir() else []
    apart = [f"{one}/" for one in folders if one != own]
    if own != every:
        apart += [str(one) for one in every.glob("*.jsonl")]
    files = (f"{glob.escape(str(own))}/*.jsonl",) if loaded.settings.journal.enabled and own.is_dir() else ()
    return files, (*apart, f"{every}/{PAGE}", f"{own}/{PAGE}")


class Journals:
    """The journals of one engine. Threads may share it; nothing is made until an entry is kept."""

    def __init__(self, loaded: Loaded, observer: Observer) -> None:
        """Take what the settings say, and who is told."""
        self._loaded = loaded
        self._observer = observer
        self._opened: dict[Path, ReportingJournal] = {}
        # The newest entry of each folder, and by what it is seen that it still is.
        self._newest: dict[Path, tuple[State, JournalEntry | None]] = {}
        self._lock = threading.Lock()

    @property
    def enabled(self) -> bool:
        """Whether entries are made, told and offered unasked: `journal.enabled`."""
        return self._loaded.settings.journal.enabled

    @property
    def tells(self) -> bool:
        """Whether the newest entry is told where a session begins, or goes on after a pause."""
        settings = self._loaded.settings.journal
        return settings.enabled and settings.inject_latest_on_start

    def newest(self, scope: Scope = NOBODY) -> JournalEntry | None:
        """Return the newest entry of a scope's journal; its files are read where they have changed only.

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
        """Do what `Daybook.rewrite` does in a scope's journal, kept any more or not; return the files that changed.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
            StoreError: the disk failed.
        """
        book = journal_of(self._loaded, None, scope, self._rules)
        return [str(book.folder / f"{day}.jsonl") for day in book.rewrite(change, tells)]

    def place(self, scope: Scope = NOBODY) -> str:
        """Return the folder of a scope's journal: what no other one has."""
        return str(journal_of(self._loaded, None, scope).folder)

    def redacted(self, text: str) -> str:
        """Return a text without secrets, as entries are kept."""
        return self._rules.redactor.redacted(text)

    @cached_property
    def _rules(self) -> JournalRules:
        """What is kept of an entry; a pattern of the settings that takes too long is told of."""
        return timed_rules(self._loaded, lambda cause: self._observer.notify(Event(events.DEGRADED, "", cause)))

    def of(self, scope: Scope = NOBODY) -> ReportingJournal:
        """Return the journal of a scope, the same each time, as long as it is one of those that are held.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
        """
        book = journal_of(self._loaded, None, scope, self._rules)
        with self._lock:
            journal = self._opened.get(book.folder) or ReportingJournal(book, self._observer)
            hold(self._opened, book.folder, journal)
        return journal


class ReportingJournal:
    """A journal that tells what it keeps, what it refuses, and, once, what in its files is no entry."""

    def __init__(self, journal: Journal, observer: Observer) -> None:
        """Take a journal, and who is told."""
        self._journal = journal
        self._observer = observer
        self._told: dict[str, None] = {}

    @takes(entry=instance(JournalEntry, called="an Entry"))
    def append(self, entry: JournalEntry) -> AppendedEntry:
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

    @takes(limit=number, tag=text, agent_id=text)
    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:
        """Return the newest entries, newest first, whatever days they are of: at most `limit`.

        Raises:
            StoreError: the disk failed.
        """
        return self._read(self._journal.latest(limit, tag=tag, agent_id=agent_id))

    @takes(day=text)
    def of_day(self, day: str) -> JournalPage:
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

    def _read(self, read: JournalPage) -> JournalPage:
        self._tell(read.faults)
        return read

    def _tell(self, faults: tuple[str, ...]) -> None:
        for fault in faults:
            if fault not in self._told:
                hold(self._told, fault, None)
                self._observer.notify(Event(events.DEGRADED, "", f"journal: {fault}"))
