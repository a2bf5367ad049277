"""What the core asks of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.journal.entry import Entry

__all__ = ["Appended", "Journal", "Read"]


class Appended(NamedTuple):
    """What became of an entry.

    Attributes:
        entry: as it is kept: without secrets, and cut where it was too long.
        number: which one of its day it is, from 1.
        cuts: what was cut off, a sentence each.
        faults: what was found damaged on the way, a sentence each.
    """

    entry: Entry
    number: int
    cuts: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Read(NamedTuple):
    """What was read.

    Attributes:
        entries: in the order that the call promises.
        faults: what could not be read, where, a sentence each; it is left as it is.
    """

    entries: tuple[Entry, ...]
    faults: tuple[str, ...] = ()


class Journal(Protocol):
    """Entries by day, in UTC; any number of threads and processes may append at once. Only `forget` removes any."""

    def append(self, entry: Entry) -> Appended:
        """Keep an entry under the day of its own time, durable on return, and return it as it is kept.

        Raises:
            JournalFullError: nothing was written: its day has as many as a day may have.
            StoreError: nothing was written: it says nothing, or the disk failed.
        """
        ...

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> Read:
        """Return the newest entries, newest first, whatever days they are of: at most `limit`.

        Of one day the one that was appended last is the newest. With `tag` those alone that have it, with `agent_id`
        those alone that are this agent's.

        Raises:
            StoreError: the disk failed.
        """
        ...

    def of_day(self, day: str) -> Read:
        """Return the entries of a day ("2026-01-27"), as they were appended; none where it has none.

        Raises:
            NotFoundError: it is no day.
            StoreError: the disk failed.
        """
        ...

    def days(self) -> Sequence[str]:
        """Return the days that have entries, oldest first.

        Raises:
            StoreError: the disk failed.
        """
        ...
