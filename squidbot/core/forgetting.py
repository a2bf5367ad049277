"""Messages are forgotten on request: what goes with them, and what stands in the session without them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from squidbot.core.compaction.planner import Ask, Makers, make_change
from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import documents_of, emptied_document
from squidbot.core.errors import DamagedStoreError, NotFoundError
from squidbot.core.goals.marked import marked_changes
from squidbot.core.goals.records import GOAL, emptied_goals, names_of
from squidbot.core.goals.values import same
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Said
from squidbot.core.messages import Category, Erasure, Opening, Record
from squidbot.core.notes.notebook import FRAGMENT, LEDGER, Notebook, emptied, retold
from squidbot.core.plan import CONTEXT as CONTEXT_NAMED
from squidbot.core.plan import PlanRecord
from squidbot.core.trying import Writing
from squidbot.core.view.marks import memories_in, own_tool, tells, tells_memories, without_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from squidbot.core.compaction.planner import Change
    from squidbot.core.compaction.pressure import Moment
    from squidbot.core.messages import Found, StoredMessage, Summary
    from squidbot.core.plan import Section
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.current import Shelf, Standing
    from squidbot.core.view.renderer import Renderer


FORGOTTEN = "forgotten"
# How many messages are read at once while copies of the forgotten ones are looked for.
READ_MESSAGES = 256
# What names a message, or a run of messages, in a text of `history`.
_NAMED = re.compile(r"\bm([0-9]{1,18})(?:(?:-| to )m?([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        asked: the messages that were named.
        copies: messages in which `history` had brought them back; forgotten with them.
        summaries: ids of the summaries that told of them.
        plan: the plan that the next request is made under; None where none had been made.
        facts: ids of the durable facts that nothing else said; forgotten with them.
        files: journals and logs that were written anew without them.
    """

    asked: tuple[int, ...]
    copies: tuple[int, ...]
    summaries: tuple[str, ...]
    plan: PlanRecord | None = None
    facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What is kept of the request to forget, in a record of the kind "forgotten": never a word of what was said.

    `requests` is how many requests had been recorded, `now` in seconds since 1970, None where unknown.
    """

    forgotten: Forgotten
    reason: str
    requests: int
    now: float | None

    def record(self, number: int) -> Record:
        """Return the record, the one of this number."""
        body = {
            "asked": self.forgotten.asked,
            "copies": self.forgotten.copies,
            "summaries": self.forgotten.summaries,
            "reason": self.reason,
            "requests": self.requests,
            "at": self.now,
        }
        return Record(FORGOTTEN, number, json.dumps(body, separators=(",", ":")))


def forgotten_since(shelf: Shelf, request: int) -> frozenset[int]:
    """Return the messages that were forgotten after the request of this number had been recorded."""
    found: set[int] = set()
    for record in shelf.transcripts.records(shelf.session_id, FORGOTTEN):
        body = json.loads(record.body)
        if request < body["requests"]:
            found.update((*body["asked"], *body["copies"]))
    return frozenset(found)


class Forgetting:
    """One session's data as they will be without some messages: read like a store, nothing is written.

    Takes the shelf that the data stand on, and what the session holds.
    """

    def __init__(self, shelf: Shelf, stored: Standing, seqs: Iterable[int]) -> None:
        """Find what goes.

        Raises:
            NotFoundError: a message is not there.
            StoreError: the store failed.
        """
        asked = tuple(sorted(set(seqs)))
        unknown = [seq for seq in asked if not 0 <= seq < stored.messages]
        if unknown or not asked:
            there = f"there are m0 to m{stored.messages - 1}" if stored.messages else "nothing has been said yet"
            named = f"m{unknown[0]} is not in {shelf.session_id!a:.80}" if unknown else "no message is named"
            raise NotFoundError(f"{named}: {there}; nothing was forgotten")
        self._shelf = shelf
        self._stored = stored
        copies = tuple(_copies(shelf, asked, stored.messages))
        gone = {*asked, *copies}
        every = shelf.summaries.for_range(shelf.session_id, 0, stored.messages - 1)
        told = tuple(one.summary_id for one in every if any(one.first_seq <= seq <= one.last_seq for seq in gone))
        self.forgotten = Forgotten(asked, copies, told)
        self._tombstones = {
            row.seq: tombstone(shelf.renderer, row) for row in shelf.transcripts.pick(shelf.session_id, gone)
        }
        self._notes = self._renewed_notes()

    @property
    def shelf(self) -> Shelf:
        """The shelf with tombstones, without the summaries and with the notes retold."""
        transcripts = _Without(self._shelf.transcripts, self._tombstones, self._notes)
        summaries = _Left(self._shelf.summaries, frozenset(self.forgotten.summaries))
        return self._shelf._replace(transcripts=transcripts, summaries=summaries)

    def erasure(self, told: Told, records: Sequence[Record]) -> Erasure:
        """Return what the store is to do; `records` are stored behind the others, the plan among them."""
        number = len(self._shelf.transcripts.records(self._shelf.session_id, FORGOTTEN))
        replaced, appended = self._notes
        return Erasure(
            expected=(self._stored.messages, self._stored.records),
            tombstones=tuple(self._tombstones[seq] for seq in sorted(self._tombstones)),
            replaced=replaced,
            appended=(*appended, *records, told.record(number)),
            summaries=self.forgotten.summaries,
        )

    @property
    def counts(self) -> tuple[int, int]:
        """How many records of notes there will be: (ledgers, fragments)."""
        return self.notes.counts()

    @property
    def notes(self) -> Notebook:
        """The notes as they will be; what they make gets no id of a summary that goes, which is stored until then."""
        shelf = self.shelf
        return Notebook(shelf.session_id, shelf.renderer, shelf.transcripts, self._shelf.summaries, shelf.tells_users)

    @property
    def retells(self) -> bool:
        """Whether the plan in force shows a summary that goes."""
        gone = set(self.forgotten.summaries)
        return any(block.segment.summary_id in gone for block in self._stored.blocks)

    def _renewed_notes(self) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """Return the records of notes that take the place of stored ones, and those that come behind them."""
        transcripts, session_id = self._shelf.transcripts, self._shelf.session_id
        gone = frozenset(self._tombstones)
        stored = [(kind, transcripts.records(session_id, kind)) for kind in (FRAGMENT, LEDGER)]
        replaced = tuple(new for _, records in stored for one in records if (new := emptied(one, gone)) is not None)
        marked = ((one.number, Said.from_record(one)) for one in transcripts.records(session_id, MARKED))
        unmarked = tuple(said.without(number) for number, said in marked if said.seq in gone)
        if not replaced:
            return unmarked, ()
        without = self._shelf._replace(transcripts=_Without(transcripts, self._tombstones, ((), ())))
        notes = Notebook(session_id, self._shelf.renderer, transcripts, self._shelf.summaries, self._shelf.tells_users)
        return (*unmarked, *replaced), retold(notes, without, gone)


def tombstone(renderer: Renderer, row: StoredMessage) -> StoredMessage:
    """Return what takes the place of a message that is forgotten."""
    codec = renderer.codecs[row.codec]
    payload = codec.tombstone(row.payload, f"[m{row.seq} was forgotten on request]")
    cost = renderer.meter.said(codec.decode(payload), codec.extra_tokens(payload))
    return replace(
        row,
        category=Category.FORGOTTEN,
        payload=payload,
        cost=cost,
        sent_cost=cost,
        counter=renderer.meter.name,
        sent_text=None,
        sent_arguments=None,
        notice=None,
        sender="",
        label="",
    )


def change_without(
    forgetting: Forgetting, settings: HistorySettings, moment: Moment, standing: Standing, sections: tuple[Section, ...]
) -> Change | None:
    """Return the change under which a session goes on without what it forgets; None where none is needed.

    `standing` is what stands on the shelf that forgets.

    Raises:
        BudgetError: what must be sent in any case does not fit.
    """
    ask = Ask("forget", sections, standing.pins.seqs, retells=forgetting.retells)
    return make_change(Makers(forgetting.shelf, forgetting.notes, settings), standing, moment, ask)


def _copies(shelf: Shelf, asked: Sequence[int], messages: int) -> Iterator[int]:
    """Yield the messages in which `history` showed what is to be forgotten, copies of copies among them."""
    gone = set(asked)
    for first in range(asked[0], messages, READ_MESSAGES):
        for row in shelf.transcripts.read(shelf.session_id, first, min(messages, first + READ_MESSAGES) - 1):
            if row.category is Category.RECALLED and row.seq not in gone and _shows(shelf.renderer.text_of(row), gone):
                gone.add(row.seq)
                yield row.seq


def _shows(text: str, gone: Iterable[int]) -> bool:
    """Return whether a text of `history` names one of these messages, alone or in a run."""
    runs = [(int(found[1]), int(found[2] or found[1])) for found in _NAMED.finditer(text)]
    return any(first <= seq <= last for first, last in runs for seq in gone)


class _Without:
    """A transcript store read as it will be: tombstones in their places, notes retold."""

    def __init__(
        self,
        stored: TranscriptStore,
        tombstones: dict[int, StoredMessage],
        notes: tuple[tuple[Record, ...], tuple[Record, ...]],
    ) -> None:
        self._stored = stored
        self._tombstones = tombstones
        replaced, self._appended = notes
        self._replaced = {(one.kind, one.number): one for one in replaced}

    def head(self, session_id: str) -> tuple[int, int]:
        messages, records = self._stored.head(session_id)
        return messages, records + len(self._appended)

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        newest = {kind: last for kind in kinds if (last := self.last_record(session_id, kind))}
        return Opening(*self.head(session_id), newest)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        return self._seen(self._stored.read(session_id, first_seq, last_seq))

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        return self._seen(self._stored.pick(session_id, seqs))

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        return self._seen(self._stored.newest(session_id, budget_tokens))

    def last_record(self, session_id: str, kind: str) -> Record | None:
        behind = [one for one in self._appended if one.kind == kind]
        last = behind[-1] if behind else self._stored.last_record(session_id, kind)
        return last and self._replaced.get((kind, last.number), last)

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        found = self._stored.records(session_id, kind, first_number)
        behind = [one for one in self._appended if one.kind == kind and one.number >= first_number]
        return [*(self._replaced.get((kind, one.number), one) for one in found), *behind]

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        self._stored.append(session_id, expected_seq, messages, records)

    def search(self, session_id: str, query: str, limit: int, after: Found | None = None) -> list[Found]:
        return self._stored.search(session_id, query, limit, after)

    def forget(self, session_id: str, erasure: Erasure) -> None:
        self._stored.forget(session_id, erasure)

    def _seen(self, rows: Iterable[StoredMessage]) -> list[StoredMessage]:
        return [self._tombstones.get(row.seq, row) for row in rows]


class _Left:
    """A summary store read as it will be, without those that go."""

    def __init__(self, stored: SummaryStore, gone: frozenset[str]) -> None:
        self._stored = stored
        self._gone = gone

    def put(self, summary: Summary) -> None:
        self._stored.put(summary)

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        return self._stored.by_id(session_id, [one for one in summary_ids if one not in self._gone])

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        return [
            one for one in self._stored.for_range(session_id, first_seq, last_seq) if one.summary_id not in self._gone
        ]

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        self._stored.remove(session_id, summary_ids)


# Durable facts that are not to be told any more are taken out of what a session has told of them, for
# good.

TOLD, WITHDRAWN, PLAN, REQUEST = "told", "withdrawn", "plan", "request"
# No message behind these opens a conversation (`unasked.COLD_MESSAGES`).
FIRST_MESSAGES = 3


@runtime_checkable
class Finds(Protocol):
    """What a store may have beside `TranscriptStore`: sessions found by what their records say, none of them opened."""

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with a record of a kind in whose body one of these texts stands, oldest first.

        Raises:
            StoreError: the disk failed.
        """


class Facts(NamedTuple):
    """Durable facts that are not to be told any more.

    Attributes:
        memories: their ids.
        quoting: ids of others whose lines in answers of the tool may quote them, since they took their places.
        reason: why; it must not repeat them.
        now: in seconds since 1970; None where unknown.
    """

    memories: frozenset[str]
    quoting: frozenset[str] = frozenset()
    reason: str = ""
    now: float | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was taken out of a session, as its record keeps it: never a word of it.

    Attributes:
        memories: the ids of the facts.
        rows: messages whose notice lost them, or that were an answer about them and are a tombstone now.
        plans: plans whose head lost the sections that told them.
        requests: how many requests had been recorded.
        plan_id: the newest plan then; -1 for none.
        reason, at: as they were given; seconds since 1970.
    """

    memories: tuple[str, ...]
    rows: tuple[int, ...]
    plans: tuple[int, ...]
    requests: int
    plan_id: int = -1
    reason: str = ""
    at: float | None = None

    def record(self, number: int) -> Record:
        """Return the record of that number."""
        body = {name: getattr(self, name) for name in self.__slots__}
        return Record(WITHDRAWN, number, json.dumps(body, separators=(",", ":")))

    @classmethod
    def of(cls, record: Record) -> Withdrawn:
        """Return what a record keeps.

        Raises:
            DamagedStoreError: it can't be read.
        """
        try:
            raw = json.loads(record.body)
            lists = {name: tuple(raw[name]) for name in ("memories", "rows", "plans")}
            return cls(**{**raw, **lists})
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"withdrawal {record.number} can't be read: {error}") from error

    def is_missed(self, standing: Standing) -> bool:
        """Return whether what stands is no longer what was sent, and no plan has been made since."""
        plan_id = standing.plan.plan_id if standing.plan else -1
        if plan_id > self.plan_id:
            return False
        return plan_id in self.plans or any(part.first_seq in self.rows for part in standing.sent)


def newly_told(shelf: Shelf, rows: Sequence[StoredMessage], plan: PlanRecord | None = None) -> list[Record]:
    """Return the record that says which of these messages, and whether this plan, tell facts; none where none does."""
    seqs = [row.seq for row in rows if _said_by(shelf, row)]
    head = [each for section in plan.sections for each in section.memories] if plan else []
    if not seqs and not head:
        return []
    last = shelf.transcripts.last_record(shelf.session_id, TOLD)
    plans = [plan.plan_id] if plan and head else []
    # By their ids the sessions are found that were told of one (`Finds`).
    memories = sorted({*head, *told_facts(shelf, rows)})
    body = json.dumps({"rows": seqs, "plans": plans, "memories": memories}, separators=(",", ":"))
    return [Record(TOLD, last.number + 1 if last else 0, body)]


def told_facts(shelf: Shelf, rows: Iterable[StoredMessage]) -> frozenset[str]:
    """Return the ids of the facts that messages tell, in their notices or as answers of the tool."""
    return frozenset(each for row in rows if (said := _said_by(shelf, row)) for each in memories_in(said))


def standing_facts(standing: Standing) -> frozenset[str]:
    """Return the ids of the facts that stand unasked: in the head, and behind the first messages."""
    head = standing.plan.remembered if standing.plan else ()
    return frozenset({*(each for one in head for each in one.memories), *_begun(standing)})


def _begun(standing: Standing) -> Iterator[str]:
    last = standing.lead_count + FIRST_MESSAGES
    for part in standing.sent:
        if part.first_seq > last:
            return
        if part.notice and tells_memories(part.notice):
            yield from memories_in(part.notice)


def _said_by(shelf: Shelf, row: StoredMessage) -> str:
    """Return the text in which a message tells facts; "" where it tells none."""
    said = row.notice or ""
    if row.category is Category.RECALLED:
        said = shelf.renderer.text_of(row)
    return said if said and tells(said) else ""


def withdrawn_since(shelf: Shelf, request: int, messages: int, plan_id: int) -> tuple[str, ...]:
    """Return the facts that are gone since from a request of so many messages under a plan; () for none."""
    records = shelf.transcripts.records(shelf.session_id, WITHDRAWN)
    for one in map(Withdrawn.of, records):
        if request < one.requests and (plan_id in one.plans or any(seq < messages for seq in one.rows)):
            return one.memories
    return ()


def withdraw(shelf: Shelf, facts: Facts) -> Withdrawn | None:
    """Take facts out of all that a session has told of them, durably and for good; None where it told none of them.

    Messages of the conversation itself stay as they were said. The next request is made under a new plan where what
    stands has changed by it.

    Raises:
        StoreError: nothing was taken out.
    """

    def act(head: tuple[int, int]) -> Withdrawn | None:
        last = shelf.transcripts.last_record(shelf.session_id, TOLD)
        found = _found(shelf, facts) if last else None
        if found is None:
            return None
        gone, erasure = found
        shelf.transcripts.forget(shelf.session_id, replace(erasure, expected=head))
        return gone

    return Writing(shelf.transcripts, shelf.session_id, "nothing was taken out", shelf.wait).tried(act)


def _found(shelf: Shelf, facts: Facts) -> tuple[Withdrawn, Erasure] | None:
    seqs, plan_ids = _places(shelf)
    graves, unnoticed = _rows_without(shelf, seqs, facts)
    plans = list(_plans_without(shelf, plan_ids, facts.memories))
    if not graves and not unnoticed and not plans:
        return None
    last = {kind: shelf.transcripts.last_record(shelf.session_id, kind) for kind in (REQUEST, PLAN, WITHDRAWN)}
    numbers = {kind: record.number if record else -1 for kind, record in last.items()}
    gone = Withdrawn(
        memories=tuple(sorted(facts.memories)),
        rows=tuple(sorted(row.seq for row in (*graves, *unnoticed))),
        plans=tuple(record.number for record in plans),
        requests=numbers[REQUEST] + 1,
        plan_id=numbers[PLAN],
        reason=facts.reason,
        at=facts.now,
    )
    records = (gone.record(numbers[WITHDRAWN] + 1),)
    return gone, Erasure((0, 0), tuple(graves), tuple(plans), records, unnoticed=tuple(unnoticed))


def places_in(record: Record) -> tuple[list[int], list[int]]:
    """Return the messages and the plans that tell facts, as one record of the kind "told" has them.

    Raises:
        DamagedStoreError: it can't be read.
    """
    try:
        body = json.loads(record.body)
        return [*body["rows"]], [*body["plans"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedStoreError(f"record {record.number} of what was told can't be read: {error}") from error


def _places(shelf: Shelf) -> tuple[list[int], frozenset[int]]:
    """Return the messages and the plans that tell facts.

    Raises:
        DamagedStoreError: a record of them can't be read.
    """
    seqs: set[int] = set()
    plans: set[int] = set()
    for record in shelf.transcripts.records(shelf.session_id, TOLD):
        rows, told = places_in(record)
        seqs.update(rows)
        plans.update(told)
    return sorted(seqs), frozenset(plans)


def _rows_without(shelf: Shelf, seqs: Sequence[int], facts: Facts) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """Return tombstones for answers that told these facts, and messages without the notices that did."""
    # with it come all notes, and no turn needs them

    graves: list[StoredMessage] = []
    unnoticed: list[StoredMessage] = []
    for row in shelf.transcripts.pick(shelf.session_id, seqs):
        if row.category is Category.RECALLED:
            if (facts.memories | facts.quoting).intersection(memories_in(_said_by(shelf, row))):
                graves.append(tombstone(shelf.renderer, row))
        elif row.notice is not None and (left := without_memories(row.notice, facts.memories)) != row.notice:
            unnoticed.append(with_notice(shelf, row, left or None))
    return graves, unnoticed


def with_notice(shelf: Shelf, row: StoredMessage, notice: str | None) -> StoredMessage:
    """Return a stored message with another notice behind it, or none, and what it costs with that."""
    bare = replace(row, notice=notice, counter="")  # counted anew, whoever counted it
    return shelf.renderer.counted(bare)


def _plans_without(shelf: Shelf, plan_ids: frozenset[int], memory_ids: frozenset[str]) -> Iterator[Record]:
    """Yield the records of plans without the sections that told these facts."""
    if not plan_ids:
        return
    for record in shelf.transcripts.records(shelf.session_id, PLAN, min(plan_ids)):
        plan = PlanRecord.from_json(record.body) if record.number in plan_ids else None
        if plan is not None and any(memory_ids.intersection(one.memories) for one in plan.sections):
            left = tuple(one for one in plan.sections if not memory_ids.intersection(one.memories))
            yield Record(PLAN, record.number, replace(plan, sections=left).to_json())


# Goals and documents taken out for good, on request: what named them, and what requests told of them.

_READ_MESSAGES: Final = 1000
# What such a withdrawal is known by; no fact has such an id.
_GOALS: Final = "goals"
_TOLD: Final = re.compile(r"(?:Goal: |- (?:(?:milestone|decision|artifact|blocked by)(?: \([a-z]+\))?: )?)(.*)\Z")


def named_in(renderer: Renderer, rows: Iterable[StoredMessage]) -> tuple[str, ...]:
    """Return what messages name as goals and what belongs to them: in calls of the tool, and in lines that they mark.

    Raises:
        ValueError: a message can't be decoded.
    """
    names: list[str] = []
    for row in rows:
        message = renderer.codecs[row.codec].decode(row.payload)
        names += filter(None, (_text(call.arguments) for call in message.calls if own_tool(call.name) == GOAL))
        if said := renderer.said_by(row):
            names += [change.text for change in marked_changes([said]) if change.text]
    return tuple(dict.fromkeys(names))


def unset(shelf: Shelf, names: Collection[str], reason: str = "", now: float | None = None) -> int:
    """Take out all changes by call that name one of these, and what requests told of them; return how many changes.

    Lines that messages mark stay with their messages. Where something is still sent that told them, the next request
    is made under a new plan. `reason` is kept and must not repeat them; `now` is in seconds since 1970.

    Raises:
        StoreError: nothing was taken out.
    """

    def found() -> _Found:
        changes, marks = _changes(shelf.transcripts, shelf.session_id, names)
        return _Found(len(changes), (*changes, *marks), lambda text: _without_lines(text, names))

    return _taken_out(shelf, found if names else _Found, (reason, now))


def unload(shelf: Shelf, name: str, reason: str = "", now: float | None = None) -> int:
    """Take a document out for good: its texts, and what requests told of them; return how many texts.

    The rest is as for `unset`.

    Raises:
        StoreError: nothing was taken out.
    """

    def found() -> _Found:
        records = shelf.transcripts.records(shelf.session_id, CONTEXT)
        texts = [(one.number, each.text) for one in records for each in documents_of([one]) if each.name == name]
        said = sorted({text for _, text in texts}, key=len, reverse=True)
        gone = tuple(emptied_document(number, name) for number, _ in texts)
        return _Found(len(texts), gone, lambda text: _without_texts(text, name, said))

    return _taken_out(shelf, found, (reason, now))


class _Found(NamedTuple):
    """What is to be taken out: how many changes, what takes the place of their records, a text without them."""

    number: int = 0
    records: tuple[Record, ...] = ()
    without: Callable[[str], str] = str


def _taken_out(shelf: Shelf, find: Callable[[], _Found], why: tuple[str, float | None]) -> int:
    store, session_id = shelf.transcripts, shelf.session_id

    def act(head: tuple[int, int]) -> int:
        found = find()
        if not found.number:
            return 0
        plans = tuple(_plans(store, session_id, found.without))
        rows = tuple(_rows(shelf, head[0], found.without))
        gone = _withdrawn(store, session_id, (plans, rows), why)
        store.forget(session_id, Erasure(head, (), (*found.records, *plans), (gone,), unnoticed=rows))
        return found.number

    return Writing(store, session_id, "nothing was taken out", shelf.wait).tried(act)


def _text(arguments: str) -> str:
    try:
        said = json.loads(arguments)
    except ValueError:
        return ""
    text = said.get("text") if isinstance(said, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""


def _is_one(text: str, names: Collection[str]) -> bool:
    return any(same(text, name) for name in names)


def _changes(
    transcripts: TranscriptStore, session_id: str, names: Collection[str]
) -> tuple[list[Record], list[Record]]:
    """Return the records that take the place of changes that name one of these, and of the lines written with them."""
    changes: list[Record] = []
    marks: list[Record] = []
    lines = {one.number: Said.from_record(one) for one in transcripts.records(session_id, MARKED)}
    for record in transcripts.records(session_id, GOAL):
        text, mark = names_of(record)
        written = [(mark, lines[mark])] if mark in lines and mark is not None else []
        ended = [change.text for change in marked_changes(line for _, line in written)]
        if any(_is_one(one, names) for one in (text, *ended)):
            changes.append(emptied_goals(record))
            marks += [line.without(number) for number, line in written]
    return changes, marks


def _plans(transcripts: TranscriptStore, session_id: str, without: Callable[[str], str]) -> Iterator[Record]:
    """Yield the plans whose heads told what is taken out, without it."""
    for record in transcripts.records(session_id, PLAN):
        plan = PlanRecord.from_json(record.body)
        kept = (one._replace(text=without(one.text)) if one.is_kept else one for one in plan.sections)
        left = tuple(one for one in kept if one.text)
        if left != plan.sections:
            yield Record(PLAN, record.number, replace(plan, sections=left).to_json())


def _rows(shelf: Shelf, messages: int, without: Callable[[str], str]) -> Iterator[StoredMessage]:
    """Yield the messages behind which it was announced, without that."""
    for first in range(0, messages, _READ_MESSAGES):
        for row in shelf.transcripts.read(shelf.session_id, first, min(messages, first + _READ_MESSAGES) - 1):
            if row.notice and (left := without(row.notice)) != row.notice:
                yield with_notice(shelf, row, left or None)


def _without_lines(text: str, names: Collection[str]) -> str:
    told = ((line, _TOLD.match(line)) for line in text.split("\n"))
    return "\n".join(line for line, found in told if not (found and _is_one(found[1], names)))


def _without_texts(text: str, name: str, said: Collection[str]) -> str:
    for one in said:
        text = text.replace(f"[{CONTEXT_NAMED}{name} is now:]\n{one}", "")
        text = "" if text == one else text
    return text


def _withdrawn(
    transcripts: TranscriptStore,
    session_id: str,
    gone: tuple[Collection[Record], Collection[StoredMessage]],
    why: tuple[str, float | None],
) -> Record:
    last = {kind: transcripts.last_record(session_id, kind) for kind in (REQUEST, PLAN, WITHDRAWN)}
    numbers = {kind: record.number if record else -1 for kind, record in last.items()}
    plans, rows = gone
    told = Withdrawn(
        memories=(_GOALS,),
        rows=tuple(row.seq for row in rows),
        plans=tuple(record.number for record in plans),
        requests=numbers[REQUEST] + 1,
        plan_id=numbers[PLAN],
        reason=why[0],
        at=why[1],
    )
    return told.record(numbers[WITHDRAWN] + 1)
