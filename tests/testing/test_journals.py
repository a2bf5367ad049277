"""The check of journals notices each broken promise."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import Daybook
from squidbot.core.errors import JournalFullError, NotFoundError, StoreError
from squidbot.core.journal import AppendedEntry, JournalEntry, JournalPage, JournalRules, day_of, to_line
from squidbot.testing import check_journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Careful:
    """A journal in a list; what breaks it stands below."""

    def __init__(self) -> None:
        """Begin without entries."""
        self.kept: list[JournalEntry] = []
        self._turn = threading.Lock()

    def append(self, entry: JournalEntry) -> AppendedEntry:
        """Keep it."""
        one = self.taken(entry)
        with self._turn:
            number = sum(each.day == one.day for each in self.kept)
            self.check(one, number)
            self.kept.append(one)
        return AppendedEntry(one, number + 1)

    def taken(self, entry: JournalEntry) -> JournalEntry:
        """Return what is kept of it."""
        return JournalRules().applied(entry)[0]

    def check(self, entry: JournalEntry, number: int) -> None:
        """Refuse it where its day is full."""
        if number >= JournalRules().most_entries_per_day:
            raise JournalFullError(entry.day, JournalRules().most_entries_per_day)

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:
        """Return the newest."""
        found = [
            one
            for day in reversed(self.days())
            for one in reversed(self.of_day(day).entries)
            if (not tag or tag in one.tags) and agent_id in {"", one.agent_id}
        ]
        return JournalPage(tuple(found[:limit]))

    def of_day(self, day: str) -> JournalPage:
        """Return a day's."""
        Daybook("nowhere").of_day(day)  # it knows days
        return JournalPage(tuple(one for one in self.kept if one.day == day))

    def days(self) -> list[str]:
        """Return all days."""
        return sorted({one.day for one in self.kept})


class CutsAtRules(Careful):
    """The source's own: an entry ends at a line of three dashes."""

    def taken(self, entry: JournalEntry) -> JournalEntry:  # noqa: D102
        kept = super().taken(entry)
        return replace(kept, summary=kept.summary.split("\n---")[0])


class StaysInItsDay(Careful):
    """The source's own: a file name fixed when the process began."""

    def of_day(self, day: str) -> JournalPage:  # noqa: D102
        super().of_day(day)
        return JournalPage(tuple(self.kept) if self.kept and day == self.kept[0].day else ())


class ReadsTodayOnly(Careful):
    """The source's own: "last N" of the newest day."""

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:  # noqa: D102
        read = super().latest(limit, tag=tag, agent_id=agent_id)
        return JournalPage(tuple(one for one in read.entries if one.day == self.days()[-1]))


class RedactsNothing(Careful):
    """The source's own: redaction promised and not done."""

    def taken(self, entry: JournalEntry) -> JournalEntry:  # noqa: D102
        super().taken(entry)
        return entry


class HasNoEnd(Careful):
    """The 201st is taken."""

    def check(self, entry: JournalEntry, number: int) -> None:  # noqa: D102
        pass


class DropsTheOldest(Careful):
    """The 201st is taken, and the first is gone."""

    def check(self, entry: JournalEntry, number: int) -> None:  # noqa: D102
        if number >= JournalRules().most_entries_per_day:
            self.kept.remove(next(one for one in self.kept if one.day == entry.day))


class KeepsBeforeItRefuses(Careful):
    """The 201st is refused, and there."""

    def check(self, entry: JournalEntry, number: int) -> None:  # noqa: D102
        if number >= JournalRules().most_entries_per_day:
            self.kept.append(entry)
        super().check(entry, number)


class OldestFirst(Careful):
    """The newest come last."""

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:  # noqa: D102
        return JournalPage(super().latest(limit, tag=tag, agent_id=agent_id).entries[::-1])


class FiltersTooLate(Careful):
    """Of the newest those that have the tag."""

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:  # noqa: D102
        read = super().latest(limit, agent_id=agent_id)
        return JournalPage(tuple(one for one in read.entries if not tag or tag in one.tags))


class TagsByTheirBeginning(Careful):
    """Looks for a tag in the line."""

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:  # noqa: D102
        found = super().latest(99, agent_id=agent_id).entries
        return JournalPage(tuple(one for one in found if tag in to_line(one))[:limit])


class ForgetsLists(Careful):
    """Keeps the summary alone."""

    def taken(self, entry: JournalEntry) -> JournalEntry:  # noqa: D102
        kept = super().taken(entry)
        return JournalEntry(kept.time, kept.summary, kept.agent_id, tags=kept.tags)


class ReadsAnyDay(Careful):
    """What is no day has no entries."""

    def of_day(self, day: str) -> JournalPage:  # noqa: D102
        try:
            return super().of_day(day)
        except NotFoundError:
            return JournalPage(())


class TakesSilence(Careful):
    """An entry that says nothing."""

    def taken(self, entry: JournalEntry) -> JournalEntry:  # noqa: D102
        try:
            return super().taken(entry)
        except StoreError:
            return entry


class NumbersAll(Careful):
    """Counts over all days."""

    def append(self, entry: JournalEntry) -> AppendedEntry:  # noqa: D102
        return super().append(entry)._replace(number=len(self.kept))


class MovesMidnight(Careful):
    """Days of a zone an hour east."""

    def of_day(self, day: str) -> JournalPage:  # noqa: D102
        super().of_day(day)
        return JournalPage(tuple(one for one in self.kept if day_of(one.time + 3_600) == day))


def test_check_journal_is_content_with_what_keeps_its_promises(tmp_path: Path) -> None:
    """In files, and in a list."""
    numbers = count()
    check_journal(lambda: Daybook(tmp_path / str(next(numbers))))
    check_journal(Careful)


@pytest.mark.parametrize(
    "broken",
    [
        CutsAtRules, StaysInItsDay, ReadsTodayOnly, RedactsNothing, HasNoEnd, DropsTheOldest, KeepsBeforeItRefuses,
        OldestFirst, FiltersTooLate, TagsByTheirBeginning, ForgetsLists, ReadsAnyDay, TakesSilence, NumbersAll,
        MovesMidnight,
    ],
)  # fmt: skip
def test_check_journal_notices_when_a_promise_is_broken(broken: Callable[[], Careful]) -> None:
    """Each fault of the source's own journal, and more, fails the check (V21)."""
    with pytest.raises(AssertionError):
        check_journal(broken)
