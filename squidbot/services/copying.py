"""Copies of stores: whole sessions, from a file into a database, back, or into another of the same kind.

A copy can be repeated: what is there already is compared, and what is missing is added. Nothing is ever overwritten.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import FactRow, is_same
from squidbot.core.ports import SupportsAges, SupportsFactCopies, SupportsKinds
from squidbot.core.text import count
from squidbot.core.vectors import VectorStore, unpacked
from squidbot.memory import provider_of, sessions_of
from squidbot.services import forget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from squidbot.bootstrap import Wired
    from squidbot.hookspecs import Store

PAGE_ROWS: Final = 256
# How often a copy looks for what was written meanwhile, before it says that hosts are still at work.
MOST_ROUNDS: Final = 10
# Behind any message.
END: Final = 2**62
DIGEST_BITS: Final = 128


class _DifferenceError(Exception):
    """The target has something else of a session than the source; the text says what."""


class _AheadError(_DifferenceError):
    """The target has all that the source has of a session, and more; the text says how much, and what to do."""


class CopiedRows(NamedTuple):
    """Rows of a session, or of all: how many, how many of them were new to the target, and their digest."""

    messages: int = 0
    records: int = 0
    summaries: int = 0
    new: int = 0
    digest: int = 0

    def plus(self, other: CopiedRows) -> CopiedRows:
        """Return both as one; their order is not in the digest."""
        added = CopiedRows(*map(sum, zip(self, other, strict=True)))
        return added._replace(digest=added.digest % 2**DIGEST_BITS)


class CopiedFacts(NamedTuple):
    """Durable facts that are equal in both stores, with history and graves: how many rows, how many of them are new.

    Attributes:
        facts: rows: memories that hold, history, and what is left of forgotten ones.
        marks: how far sessions were read.
        vectors: of all models.
        new: rows, marks and vectors that were new, or in another state.
        digest: of all.
        past: those of the facts that were replaced or forgotten.
        pieces: those of the facts that are pieces of indexed files.
    """

    facts: int = 0
    marks: int = 0
    vectors: int = 0
    new: int = 0
    digest: int = 0
    past: int = 0
    pieces: int = 0


class CopyReport(NamedTuple):
    """What a copy has done.

    Attributes:
        sessions: how many are equal in both stores.
        rows: theirs.
        tasks: unfinished work of forgetting, which the next program that opens the target ends.
        failed: the reasons, by session, why others are not.
        damaged: whether a reason is damage.
        unsettled: sessions that were still written to at the end.
        facts: the durable facts; None where they stay, since both stores have them elsewhere, or there are none.
        facts_failed: why the facts are not equal.
    """

    sessions: int
    rows: CopiedRows
    tasks: int = 0
    failed: Mapping[str, str] = {}
    damaged: bool = False
    unsettled: tuple[str, ...] = ()
    facts: CopiedFacts | None = None
    facts_failed: str = ""


def copied(source: Wired, target: Wired, tick: Callable[[int, int], None] = lambda _, __: None) -> CopyReport:
    """Copy all sessions of a store into another one, oldest first, and compare all that both return of each.

    Sessions that are written to meanwhile are copied again until they stand still.

    Raises:
        StoreError: the target has sessions that the source does not have, and nothing was copied; or a store can't do
            it, or failed: call it again to go on.
    """
    copying = _Copying(source.store, target.store, tick)
    if others := copying.others():
        place = target.loaded.store_place
        raise StoreError(
            f"nothing was copied, and both stores are as they were: {others[0]!a:.80} is in {place} only, which has "
            "gone on since, or is no copy of this store; copy into an empty store"
        )
    unsettled = copying.run()
    tasks = forget.unfinished(source)
    forget.take_over(target, tasks)
    forget.note_written(target.written, *_unknown_files(source, target))
    failed = copying.failed | dict.fromkeys(copying.others(), "was removed from the source meanwhile: forget it there")
    rows = CopiedRows()
    for each in (each for name, (_, each) in copying.done.items() if name not in failed):
        rows = rows.plus(each)
    equal = len(copying.done.keys() - failed.keys())
    done = CopyReport(equal, rows, len(tasks), failed, copying.damaged, tuple(unsettled))
    try:
        return done._replace(facts=_facts_copied(source, target))
    except (DamagedStoreError, _DifferenceError) as error:
        damaged = done.damaged or isinstance(error, DamagedStoreError)
        return done._replace(facts_failed=str(error), damaged=damaged)


def _facts_copied(source: Wired, target: Wired) -> CopiedFacts | None:
    """Copy durable facts, unless both stores have the same.

    Raises:
        _DifferenceError: the target has others, or can't keep them.
        DamagedStoreError: a row is damaged.
    """
    one = source.remembering.copied()
    there = provider_of(target.loaded)
    if one is None or provider_of(source.loaded) == there != ("psycopg", ""):
        return None
    if there[0] == "stdlib":
        raise _DifferenceError("the target keeps no facts: set memory.path")
    other = target.remembering.copied(makes=True)
    for store in (one, other):
        if not isinstance(store, SupportsFactCopies):
            raise _DifferenceError("they are in a store that can't copy them; use `memory export` and `memory import`")
    return copy_facts(cast("SupportsFactCopies", one), cast("SupportsFactCopies", other))


def _unknown_files(source: Wired, target: Wired) -> list[forget.WrittenFile]:
    """Return the files written from a store that another one does not know yet."""
    sessions = [name for name, _ in sessions_of(source.store)]
    known = forget.written_of(target, sessions)
    return [one for one in forget.written_of(source, sessions) if one not in known]


class _Copying:
    """A copy of sessions, with what has become of each so far."""

    def __init__(self, source: Store, target: Store, tick: Callable[[int, int], None]) -> None:
        self._source, self._target, self._tick = source, target, tick
        self._ticked = self._total = 0
        # By session: its head before it was read, and its rows.
        self.done: dict[str, tuple[tuple[int, int], CopiedRows]] = {}
        self.failed: dict[str, str] = {}
        self.damaged = False

    def others(self) -> list[str]:
        """Return the sessions that the target alone has."""
        here = {name for name, _ in sessions_of(self._source)}
        there = [name for name, _ in sessions_of(self._target) if name not in here]
        return [name for name in there if self._target.head(name) != (0, 0)]

    def run(self) -> list[str]:
        """Copy until all stands still; return the sessions that still do not."""
        for _ in range(MOST_ROUNDS):
            due = self._due()
            self._ticked, self._total = 0, sum(due.values())
            for name in due:
                self._copy(name)
            if not due:
                break
        ages = dict(self._source.older_than(inf)) if isinstance(self._source, SupportsAges) else {}
        unsettled = self._due()
        if date_back := getattr(self._target, "date_back", None):
            for name in ages.keys() & self.done.keys() - unsettled.keys():
                date_back(name, ages[name])
        return [*unsettled]

    def _due(self) -> dict[str, int]:
        """Return the sessions that are not copied as they are now, each with its number of messages."""
        return {
            name: messages
            for name, messages in sessions_of(self._source)
            if name not in self.failed and (name not in self.done or self._source.head(name) != self.done[name][0])
        }

    def _copy(self, name: str) -> None:
        try:
            self.done[name] = self._copied(name)
        except DamagedStoreError as error:
            self.failed[name], self.damaged = str(error), True
        except _AheadError as error:
            self.failed[name] = str(error)
        except _DifferenceError as error:
            self.failed[name] = f"{error}; to copy it again, forget it there first"

    def _copied(self, name: str) -> tuple[tuple[int, int], CopiedRows]:
        head, new = self._source.head(name), self.done[name][1].new if name in self.done else 0
        self._check_part(name)
        new += self._add(name, head[0])
        rows = rows_of(self._source, name)
        if rows != rows_of(self._target, name) and self._source.head(name) == head:
            raise _DifferenceError("what the two return of it differs")
        return head, rows._replace(new=new)

    def _check_part(self, name: str) -> None:
        """Check, before anything is written, that the target has a part of the same.

        Raises:
            _AheadError: it has more than the source.
            _DifferenceError: it has something else.
        """
        try:
            _compare(self._source, self._target, name)
        except _DifferenceError as difference:
            try:
                _compare(self._target, self._source, name)
            except _DifferenceError:
                raise difference from None
            more = self._target.head(name)[0] - self._source.head(name)[0]
            has = f"{count(more, 'message')} more" if more else "more records or notes"
            raise _AheadError(
                f"the target has {has}, and all that the source has: the session went on there; "
                "to bring it here, copy again with FROM and TO swapped"
            ) from None

    def _add(self, name: str, messages: int) -> int:
        """Add to the target what it lacks of the first messages, and of all records and summaries; return how much."""
        source, target = self._source, self._target
        there, new = target.head(name)[0], 0
        for first in range(there, messages, PAGE_ROWS):
            rows = source.read(name, first, min(first + PAGE_ROWS, messages) - 1)
            target.append(name, first, rows)
            new += len(rows)
            self._ticked += len(rows)
            self._tick(self._ticked, max(self._ticked, self._total))
        known = kinds_of(target, name)
        for kind in kinds_of(source, name):
            left = iter(source.records(name, kind, known.get(kind, 0)))
            while page := [*islice(left, PAGE_ROWS)]:
                target.append(name, max(there, messages), (), page)
                new += len(page)
        stored = {one.summary_id for one in target.for_range(name, 0, END)}
        missing = iter([one for one in source.for_range(name, 0, END) if one.summary_id not in stored])
        while summaries := [*islice(missing, PAGE_ROWS)]:
            target.put(*summaries)
            new += len(summaries)
        return new


def _compare(source: Store, target: Store, name: str) -> None:
    """Check that the target has a part of what the source has of a session.

    Raises:
        _DifferenceError: it has something else.
    """
    there = target.head(name)[0]
    for first in range(0, there, PAGE_ROWS):
        place = name, first, min(first + PAGE_ROWS, there) - 1
        if source.read(*place) != target.read(*place):
            raise _DifferenceError(f"the target has other messages of it behind m{first}")
    for kind, stored in kinds_of(target, name).items():
        if source.records(name, kind)[:stored] != target.records(name, kind):
            raise _DifferenceError(f"the target has other records of it, of kind {kind!a:.40}")
    if {*target.for_range(name, 0, END)} - {*source.for_range(name, 0, END)}:
        raise _DifferenceError("the target has other notes of it")


def copy_facts(source: SupportsFactCopies, target: SupportsFactCopies) -> CopiedFacts:
    """Copy all facts: those that hold, history, graves, marks and vectors. What changed since takes its new state.

    Raises:
        _DifferenceError: the target has others, or they were written to all the while.
        StoreError: a store failed.
    """
    new = 0
    for _ in range(MOST_ROUNDS):
        new += _copy_rows(source, target) + _copy_marks(source, target) + _copy_vectors(source, target)
        found = facts_of(source)
        if found == facts_of(target):
            return found._replace(new=new)
        if found == facts_of(source):
            raise _DifferenceError("what the two return of the facts differs")
    raise _DifferenceError("facts are written to; stop the hosts and copy again")


def _copy_rows(source: SupportsFactCopies, target: SupportsFactCopies) -> int:
    after = new = 0
    is_behind = False
    while page := source.fact_rows(after, PAGE_ROWS):
        there = {row.key: row for row in target.fact_rows(after, PAGE_ROWS) if row.key <= page[-1].key}
        changed = []
        for row in page:
            known = there.pop(row.key, None)
            if known is None and not is_behind:
                is_behind = True
                if target.fact_rows(row.key, 1):
                    raise _DifferenceError(f"the target lacks the fact with the key {row.key}, and has later ones")
            if known is not None and not _becomes(known, row):
                raise _DifferenceError(f"the target has another fact with the key {row.key}")
            if known != row:
                changed.append(row)
        if there:
            raise _DifferenceError(f"the target has a fact with the key {next(iter(there))} that the source lacks")
        if changed:
            target.put_fact_rows(changed)
        new, after = new + len(changed), page[-1].key
    if target.fact_rows(after, 1):
        raise _DifferenceError("the target has later facts than the source")
    return new


def _becomes(known: FactRow, row: FactRow) -> bool:
    """Return whether a fact may have got from one state into another: it was replaced, said again, or forgotten."""
    if known.memory and row.grave:
        return row.grave.memory_id == known.memory.memory_id
    return is_same(known.memory, row.memory) if known.memory and row.memory else known == row


def _copy_marks(source: SupportsFactCopies, target: SupportsFactCopies) -> int:
    known = {(mark.session_id, mark.reader): mark for mark in target.marks()}
    new = [mark for mark in source.marks() if known.get((mark.session_id, mark.reader)) != mark]
    for mark in new:
        target.add((), mark, known.get((mark.session_id, mark.reader)))
    return len(new)


def _copy_vectors(source: object, target: object) -> int:
    if not (isinstance(source, VectorStore) and isinstance(target, VectorStore)):
        return 0
    new = 0
    for model, dimensions in source.models().items():
        place, before = 0, target.vectors_of(model, dimensions).stamp().vectors
        while page := source.vectors_of(model, dimensions).behind(place, PAGE_ROWS):
            # Those that are there stay as they are.
            target.put_vectors(model, dimensions, {one.memory_id: unpacked(one.vector) for one in page})
            place = page[-1].place
        new += target.vectors_of(model, dimensions).stamp().vectors - before
    return new


def facts_of(store: SupportsFactCopies) -> CopiedFacts:
    """Read all that a store of facts has, and return how much, and its digest."""
    counts, digest = Counter[str](), 0
    for field, row in _fact_rows(store):
        counts.update((field, *([kind_of(row)] if isinstance(row, FactRow) and kind_of(row) else [])))
        digest += _digest((field, row))
    return CopiedFacts(**counts, digest=digest % 2**DIGEST_BITS)


def kind_of(row: FactRow) -> str:
    """Return "past" for what was replaced or forgotten, "pieces" for a piece of a file, "" for a fact that holds."""
    if row.memory is not None and row.memory.scope.collection:
        return "pieces"
    return "past" if row.memory is None or row.memory.superseded_by else ""


def facts_in(store: SupportsFactCopies) -> tuple[int, int]:
    """Read all facts; return how many hold, and how many were replaced or forgotten.

    Raises:
        DamagedStoreError: a row does not match its checksum.
    """
    kinds, after = Counter[str](), 0
    while page := store.fact_rows(after, PAGE_ROWS):
        kinds.update(map(kind_of, page))
        after = page[-1].key
    return kinds[""], kinds["past"]


def _fact_rows(store: SupportsFactCopies) -> Iterator[tuple[str, object]]:
    after = 0
    while page := store.fact_rows(after, PAGE_ROWS):
        yield from (("facts", row) for row in page)
        after = page[-1].key
    yield from (("marks", mark) for mark in store.marks())
    if isinstance(store, VectorStore):
        for model, dimensions in store.models().items():
            place = 0
            while vectors := store.vectors_of(model, dimensions).behind(place, PAGE_ROWS):
                yield from (("vectors", (model, one.memory_id, one.vector)) for one in vectors)
                place = vectors[-1].place


def _digest(row: object) -> int:
    return int.from_bytes(sha256(ascii(row).encode()).digest()[: DIGEST_BITS // 8], "big")


def rows_of(store: Store, session_id: str) -> CopiedRows:
    """Read all that a store has of a session, and return how much, and its digest."""
    counts, digest = Counter[str](), 0
    for field, row in _rows(store, session_id):
        counts[field] += 1
        digest += _digest((session_id, row))
    return CopiedRows(**counts, digest=digest % 2**DIGEST_BITS)


def _rows(store: Store, session_id: str) -> Iterator[tuple[str, object]]:
    for first in range(0, store.head(session_id)[0], PAGE_ROWS):
        yield from (("messages", row) for row in store.read(session_id, first, first + PAGE_ROWS - 1))
    for kind in kinds_of(store, session_id):
        yield from (("records", row) for row in store.records(session_id, kind))
    yield from (("summaries", row) for row in store.for_range(session_id, 0, END))


def kinds_of(store: object, session_id: str) -> dict[str, int]:
    """Return how many records of each kind a session has, by name.

    Raises:
        StoreError: the store can't tell.
    """
    if not isinstance(store, SupportsKinds):
        raise StoreError("this store cannot list the kinds of records of a session; it has no method `kinds`")
    return dict(sorted(store.kinds(session_id).items()))
