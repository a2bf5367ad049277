"""Lines: the courses that a conversation has taken. Each message is stored once; a line says which of them it has.

Somebody edits a message, has an answer made again, or goes back to an earlier one: what is said from there on stands on
a line of its own. The others keep what they have. A session that was never branched has one line, without any record.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_right
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from squidbot.core.errors import NotFoundError
from squidbot.core.messages import Opening, Record
from squidbot.core.transcript.bookkeeping import BROUGHT, CUT, JOURNALED
from squidbot.core.transcript.lineage import CALLER, LINEAGE
from squidbot.core.transcript.recordings import RECORDED, RECORDING
from squidbot.core.transcript.records import RecordKind, fields
from squidbot.core.transcript.removals import INJECTION
from squidbot.core.transcript.scopes import MODEL, SCOPE
from squidbot.core.transcript.windows import LEARNED, WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Erasure, SearchMatch, StoredMessage
    from squidbot.core.ports import TranscriptStore

# The line that a session begins with.
FIRST: Final = 0
# How many messages are read at once where some of them are on other lines.
PAGE_MESSAGES: Final = 64
Value = TypeVar("Value")
State = TypeVar("State")
# The first and the last message of a run, both included.
Run: TypeAlias = "tuple[int, int]"


class Line(NamedTuple):
    """A line that left another one.

    Attributes:
        parent: the number of the line that it left.
        behind: it has the messages of its parent before this one.
        without: runs of these that it does not have, first and last message.
        records: how many records of each kind its parent had up to there: it begins with them.
        at: when, in seconds since 1970; None if unknown.
        shortened: messages of its parent that it has in fewer words: these are sent; search finds both.
    """

    parent: int
    behind: int
    without: tuple[Run, ...] = ()
    records: Mapping[str, int] = {}
    at: float | None = None
    shortened: tuple[int, ...] = ()


class Course(NamedTuple):
    """From this message on, what is recorded is on this line."""

    first_seq: int
    line: int


class Head(NamedTuple):
    """The line that is talked on, unless somebody names another one."""

    line: int


class LineState(NamedTuple):
    """A line of a conversation as people see it.

    Attributes:
        number: 0 is the line that the conversation began with.
        parent: the line that it left; None for the first one.
        left_at: the first message of the parent that it does not have; None for the first line.
        messages: how many it has.
        last_seq: its newest message; -1 without one.
        at: when it was begun, in seconds since 1970; None if unknown, and for the first line.
        is_current: whether it is talked on.
    """

    number: int
    parent: int | None
    left_at: int | None
    messages: int
    last_seq: int
    at: float | None
    is_current: bool


def _line(text: str) -> Line:
    body = json.loads(text)
    without = tuple((int(first), int(last)) for first, last in body.get("without", ()))
    records = {str(kind): int(count) for kind, count in body.get("records", {}).items()}
    shortened = tuple(map(int, body.get("shortened", ())))
    return Line(int(body["parent"]), int(body["behind"]), without, records, body.get("at"), shortened)


# The record of number 0 is line 1.
LINE = RecordKind("line", _line, tuple)
COURSE = RecordKind("course", fields(Course), tuple)
HEAD = RecordKind("head", fields(Head), tuple)
# Of the session and not of one of its lines.
OF_ALL: Final = frozenset(
    kind.name
    for kind in (
        *(LINE, COURSE, HEAD, LINEAGE, CALLER, SCOPE, MODEL, WINDOW, LEARNED),
        *(BROUGHT, CUT, JOURNALED, INJECTION, RECORDING, RECORDED),
    )
)


class Lines(NamedTuple):
    """The lines of a session, as they are stored.

    Attributes:
        made: the lines behind the first one, in order.
        course: which messages are on which line.
        head: the line that is talked on.
    """

    made: tuple[Line, ...] = ()
    course: tuple[Course, ...] = ()
    head: int = FIRST

    @classmethod
    def read(cls, store: TranscriptStore, session_id: str, known: Lines | None = None) -> Lines:
        """Return the lines of a session; `known` is what was read of them before: only the rest is read.

        Raises:
            DamagedStoreError: a record can't be read.
            StoreError: the store failed.
        """
        known = known or cls()
        if not known.made and store.last_record(session_id, LINE.name) is None:
            return cls()
        made = map(LINE.read, store.records(session_id, LINE.name, len(known.made)))
        course = map(COURSE.read, store.records(session_id, COURSE.name, len(known.course)))
        head = HEAD.newest(store, session_id)
        return cls((*known.made, *made), (*known.course, *course), head.line if head else FIRST)

    def way(self, number: int) -> list[int]:
        """Return a line and the lines that it came from, the first line last.

        Raises:
            NotFoundError: there is no such line.
        """
        found = [number]
        if not FIRST <= number <= len(self.made):
            raise NotFoundError(f"there is no line {number}: the session has the lines 0 to {len(self.made)}")
        while found[-1] != FIRST:
            found.append(self.made[found[-1] - 1].parent)
        return found

    def line_of(self, seq: int) -> int:
        """Return the line on which a message was recorded."""
        place = bisect_right(self.course, seq, key=lambda change: change.first_seq)
        return self.course[place - 1].line if place else FIRST

    def runs(self, number: int, messages: int) -> tuple[Run, ...]:
        """Return the messages of a line as runs, in order, of a session with so many messages.

        Raises:
            NotFoundError: there is no such line.
        """
        end, without, found = messages, list[Run](), list[Run]()
        own = self._own(messages, {*(way := self.way(number))})
        for one in way:
            runs = ((first, min(last, end - 1)) for first, last in own.get(one, ()) if first < end)
            found += _outside(runs, without) if without else runs
            if one != FIRST:
                left = self.made[one - 1]
                end, without = min(end, left.behind), [*without, *left.without]
        return tuple(_joined(found))

    def shortened(self, number: int) -> list[int]:
        """Return the messages that a line has in fewer words, in order: it, or the one that it came from."""
        found: list[int] = []
        end: float = inf
        for one in self.way(number):
            if one != FIRST:
                first = next((change.first_seq for change in self.course if change.line == one), inf)
                found += self.made[one - 1].shortened if first < end or one == number else ()
                end = min(end, self.made[one - 1].behind)
        return sorted(found)

    def _own(self, messages: int, numbers: AbstractSet[int]) -> dict[int, list[Run]]:
        """Return what was recorded on some of the lines, as runs in order, by line."""
        found: dict[int, list[Run]] = {}
        changes = (Course(0, FIRST), *self.course, Course(messages, FIRST))
        for change, following in itertools.pairwise(changes):
            if change.line in numbers and change.first_seq < following.first_seq:
                found.setdefault(change.line, []).append((change.first_seq, following.first_seq - 1))
        return found

    def records(self, number: int, kind: str) -> list[tuple[str, int | None]]:
        """Return where the records of a kind are that a line has: the names in the store, each with how many of it.

        None is all of them: those are the line's own.
        """
        if kind in OF_ALL:
            return [(kind, None)]
        most: int | None = None
        places: list[tuple[str, int | None]] = []
        for one in self.way(number):
            before = self.made[one - 1].records.get(kind, 0) if one != FIRST else 0
            own = None if most is None else most - before
            if own is None or own > 0:
                places.append((own_name(kind, one), own))
            most = before if most is None else min(most, before)
        return places[::-1]


def on_all_lines(store: TranscriptStore, session_id: str, kind: RecordKind[Value, State]) -> Iterator[Value]:
    """Yield the records of a kind that a session has on any line, each once.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    lines = Lines.read(store, session_id)
    for line in range(len(lines.made) + 1 if kind.name not in OF_ALL else 1):
        yield from map(kind.read, store.records(session_id, own_name(kind.name, line)))


def own_name(kind: str, line: int) -> str:
    """Return what the store calls the records that a line has of a kind itself."""
    return kind if line == FIRST else f"{kind}@{line}"


def _outside(runs: Iterable[Run], without: Sequence[Run]) -> list[Run]:
    """Return runs less others."""
    left = [*runs]
    for first, last in without:
        left = [
            part
            for one in left
            for part in ((one[0], min(one[1], first - 1)), (max(one[0], last + 1), one[1]))
            if part[0] <= part[1]
        ]
    return left


def _joined(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield runs in order, with those as one that follow each other."""
    at: Run | None = None
    for run in sorted(runs):
        if at is not None and run[0] == at[1] + 1:
            at = at[0], run[1]
            continue
        if at is not None:
            yield at
        at = run
    if at is not None:
        yield at


class LineStore:
    """A store as one line of one session shows it: its messages alone, and its own records behind its parent's.

    Messages keep their numbers, so there are gaps between them. Other sessions are as they are. Not thread-safe.
    """

    def __init__(self, store: TranscriptStore, session_id: str, line: int | None = None) -> None:
        """Take the store of all lines, and the number of one; None: the line that is talked on, see `follow`."""
        self.store, self.session_id, self.is_led = store, session_id, line is None
        self._line = line
        # What the session had when its lines were read; None: they are to be read.
        self._seen: tuple[int, int] | None = None
        self._lines, self._runs = Lines(), tuple[Run, ...]()

    @property
    def line(self) -> int:
        """The number of the line."""
        self._look()
        return FIRST if self._line is None else self._line

    def follow(self) -> bool:
        """Go to the line that is talked on now, and return whether that is another one; a named line stays.

        It is the one of the newest `head` or `opening`. In between, what is recorded stays on the line on which it was
        asked for.
        """
        if not self.is_led or self.line == self._lines.head:
            return False
        self._line, self._seen = self._lines.head, None
        return True

    def go(self, line: int) -> None:
        """Go to a line; where this store is led, `follow` leaves it."""
        self._line, self._seen = line, None

    @property
    def lines(self) -> Lines:
        """All lines of the session."""
        self._look()
        return self._lines

    @property
    def stored(self) -> int:
        """How many messages the session has on all lines, as it was looked at last."""
        self._look()
        return self._seen[0] if self._seen else 0

    @property
    def runs(self) -> tuple[Run, ...]:
        """The messages that the line has, as runs in order."""
        self._look()
        return self._runs

    def has(self, seq: int) -> bool:
        """Return whether the line has a message."""
        runs = self.runs
        place = bisect_right(runs, seq, key=lambda run: run[0])
        return place > 0 and seq <= runs[place - 1][1]

    def has_all(self, first: int, last: int) -> bool:
        """Return whether the line has all messages from the first to the last number, both included."""
        return self.count_between(first, last) == last - first + 1

    def to_look_up(self) -> LineStore:
        """Return the same line with what it has in fewer words as it was said: to recall and search."""
        return _LookUp(self)

    def begins_as(self, line: int, messages: int) -> bool:
        """Return whether this line begins with the first so many messages of another one."""
        if line == self.line:
            return True
        count = 0
        for own, other in zip(self.runs, self.on(line).runs, strict=False):
            if own[0] != other[0]:
                break
            count += min(own[1], other[1]) - own[0] + 1
            if own != other:
                break
        return count >= messages

    def all(self) -> Iterator[LineStore]:
        """Yield each line of the session, the newest first; the own one is this object."""
        self.head(self.session_id)
        for number in range(len(self.lines.made), -1, -1):
            yield self if number == self.line else self.on(number)

    def on(self, line: int) -> LineStore:
        """Return the store as another line shows it, and stays there."""
        one = LineStore(self.store, self.session_id, line)
        if self._seen is not None:
            one._take(self._seen, self._lines)  # of this class
        return one

    def states(self) -> tuple[LineState, ...]:
        """Return the lines of the session, in the order in which they were begun."""
        found: list[LineState] = []
        for one in reversed([*self.all()]):
            made = self.lines.made[one.line - 1] if one.line != FIRST else None
            left = (made.parent, made.behind, made.at) if made else (None, None, None)
            messages = one.count_between(0, one.last_seq)
            found.append(
                LineState(one.line, left[0], left[1], messages, one.last_seq, left[2], one.line == self.lines.head)
            )
        return tuple(found)

    @property
    def last_seq(self) -> int:
        """The number of the line's newest message; -1 without one."""
        return self.runs[-1][1] if self.runs else -1

    def seqs(self, first: int, last: int) -> list[int]:
        """Return the numbers of the line's messages from one place on it to another, both included, from 0."""
        found: list[int] = []
        before = 0
        for start, end in self.runs:
            found += range(start + max(0, first - before), min(end, start + last - before) + 1)
            before += end - start + 1
        return found

    @property
    def behind(self) -> int:
        """The number that every message recorded on the line itself has, or a higher one."""
        return self.lines.made[self.line - 1].behind if self.line != FIRST else 0

    def inherited(self, kind: str) -> int:
        """Return how many records of a kind the line has from those that it came from: its own follow them."""
        return sum(most or 0 for _, most in self._places(kind)[:-1])

    def newest_seqs(self, count: int) -> list[int]:
        """Return the numbers of so many of the line's newest messages, in order; fewer if it has fewer."""
        backwards = (seq for first, last in reversed(self.runs) for seq in range(last, first - 1, -1))
        return [*itertools.islice(backwards, count)][::-1]

    def count_between(self, first_seq: int, last_seq: int) -> int:
        """Return how many messages the line has from the first to the last number, both included."""
        runs = ((max(first, first_seq), min(last, last_seq)) for first, last in self.runs)
        return sum(max(0, last - first + 1) for first, last in runs)

    def gaps(self, messages: int) -> tuple[Run, ...]:
        """Return the runs of the session's first so many messages that the line does not have, in order."""
        return tuple(_outside([(0, messages - 1)], self.runs)) if messages and self.lines.made else ()

    def head(self, session_id: str) -> tuple[int, int]:
        """Return the counts of the whole session: what is recorded next gets the number behind all messages."""
        found = self.store.head(session_id)
        if session_id == self.session_id:
            self._look(found)
        return found

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return the counts of the whole session, and the newest records that the line has."""
        if session_id != self.session_id:
            return self.store.opening(session_id, kinds)
        found = self.store.opening(session_id, (*kinds, LINE.name))
        if LINE.name not in found.newest:
            self._take((found.messages, found.records), Lines())
            return found
        self._look((found.messages, found.records))
        newest = {kind: record for kind in kinds if (record := self.last_record(session_id, kind)) is not None}
        return Opening(found.messages, found.records, newest)

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Store messages and records of the line, as `TranscriptStore.append`."""
        if session_id != self.session_id:
            self.store.append(session_id, expected_seq, messages, records)
            return
        if not self.lines.made:
            self.store.append(session_id, expected_seq, messages, records)
            _, known = self._seen or (0, 0)
            self._take((expected_seq + len(messages), known + len(records)), self._lines)
            return
        made = [self._stored(record) for record in records]
        course = self._lines.course
        if messages and self.line != (course[-1].line if course else FIRST):
            made.append(COURSE.record(len(course), Course(expected_seq, self.line)))
        self.store.append(session_id, expected_seq, messages, made)
        # If others wrote records meanwhile, the count differs, and the lines are read again.
        _, known = self._seen or (0, 0)
        lines = self._lines._replace(course=(*course, *map(COURSE.read, made[len(records) :])))
        self._take((expected_seq + len(messages), known + len(made)), lines)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages of the line from the first to the last number, both included."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.read(session_id, first_seq, last_seq)
        runs = ((max(first, first_seq), min(last, last_seq)) for first, last in self.runs)
        return [row for first, last in runs if first <= last for row in self.store.read(session_id, first, last)]

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return those of the named messages that the line has."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.pick(session_id, seqs)
        return self.store.pick(session_id, [seq for seq in {*seqs} if self.has(seq)])

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages of the line, up to the first that passes the budget."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.newest(session_id, budget_tokens)
        found: list[StoredMessage] = []
        spent = 0
        for row in self._backwards():
            found.append(row)
            spent += row.cost.bound
            if spent > budget_tokens:
                break
        return found[::-1]

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind that the line has."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.last_record(session_id, kind)
        before = 0
        found: Record | None = None
        for name, most in self._places(kind):
            if most is not None:
                row = self.store.records(session_id, name, most - 1)[0]
                before += most
                found = Record(kind, before - 1, row.body)
            elif (last := self.store.last_record(session_id, name)) is not None:
                found = Record(kind, before + last.number, last.body)
        return found

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind that the line has, from that number on."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.records(session_id, kind, first_number)
        found: list[Record] = []
        before = 0
        for name, most in self._places(kind):
            own = self.store.records(session_id, name, max(0, first_number - before))
            found += (Record(kind, before + row.number, row.body) for row in own if most is None or row.number < most)
            before += most or 0
        return found

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages of the line that match, as `TranscriptStore.search`."""
        if session_id != self.session_id or not self.lines.made:
            return self.store.search(session_id, query, limit, after)
        found: list[SearchMatch] = []
        while len(found) < limit and (page := self.store.search(session_id, query, limit, after)):
            found += (match for match in page if self.has(match.seq))
            after = page[-1]
        return found[:limit]

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages and records of the line, as `TranscriptStore.forget`."""
        if session_id == self.session_id:
            replaced = tuple(self._stored(record) for record in erasure.replaced)
            appended = tuple(self._stored(record) for record in erasure.appended)
            erasure = replace(erasure, replaced=replaced, appended=appended)
            self._seen = None
        self.store.forget(session_id, erasure)

    def _look(self, counts: tuple[int, int] | None = None) -> None:
        """Read what the line has, where something was written since; `counts` are those of the session now."""
        if self._seen is None or (counts is not None and counts != self._seen):
            self._take(counts or self.store.head(self.session_id), Lines.read(self.store, self.session_id, self._lines))

    def _take(self, counts: tuple[int, int], lines: Lines) -> None:
        """Take what the session has, and its lines."""
        self._line = lines.head if self._line is None else self._line
        self._runs = lines.runs(self._line, counts[0])
        self._seen, self._lines = counts, lines

    def _backwards(self) -> Iterator[StoredMessage]:
        for first, last in reversed(self._runs):
            for behind in range(last + 1, first, -PAGE_MESSAGES):
                yield from reversed(self.store.read(self.session_id, max(first, behind - PAGE_MESSAGES), behind - 1))

    def _places(self, kind: str) -> list[tuple[str, int | None]]:
        return self.lines.records(self.line, kind)

    def _stored(self, record: Record) -> Record:
        """Return a record of the line as the store has it."""
        *before, (name, _) = self._places(record.kind)
        number = record.number
        for inherited, most in before:
            if number < (most or 0):
                return Record(inherited, number, record.body)
            number -= most or 0
        return Record(name, number, record.body)


class _LookUp(LineStore):
    """A line with the messages that it has in fewer words; it follows the line that it was made of."""

    def __init__(self, of: LineStore) -> None:
        super().__init__(of.store, of.session_id, of.line)
        self.of = of
        self._known: tuple[tuple[Run, ...], tuple[Run, ...]] = (), ()

    @property
    def line(self) -> int:
        return self.of.line

    @property
    def lines(self) -> Lines:
        return self.of.lines

    @property
    def runs(self) -> tuple[Run, ...]:
        runs = self.of.runs
        if runs is not self._known[0]:
            said = self.lines.shortened(self.line) if self.lines.made else []
            self._known = runs, tuple(_joined([*runs, *((seq, seq) for seq in said)]))
        return self._known[1]
