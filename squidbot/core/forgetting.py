"""Forgetting: removes messages, and injected facts, goals and documents, from one session for good.

Messages become tombstones, and notes on them are made again (`SessionWithout`). Facts stand in sent requests: records
of the kind "told" say where, so that no message has to be searched for them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import NotFoundError
from squidbot.core.last_request import REQUEST
from squidbot.core.messages import Category, Erasure, Opening, Record
from squidbot.core.plan import CONTEXT as CONTEXT_NAMED
from squidbot.core.plan import PlanRecord
from squidbot.core.ports import SupportsGaps
from squidbot.core.transcript.documents import DOCUMENT, DocumentChange
from squidbot.core.transcript.goals import GOAL, GoalChange, marked_changes, same
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.markers import MARKED, MarkedMessage
from squidbot.core.transcript.records import messages_of, retry
from squidbot.core.transcript.removals import FORGOTTEN, INJECTION, RETRACTION, InjectionRecord, Retraction
from squidbot.core.view.marks import memories_in, own_tool, tells, tells_memories, without_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from squidbot.core.messages import StoredMessage, Summary
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.plan import Section
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.removals import ForgetRecord
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer

PLAN: Final = "plan"
# Messages that may open a conversation (`compaction.turn.COLD_MESSAGES`).
FIRST_MESSAGES: Final = 3
# A message, or a run of messages, as texts of `history` name it.
_NAMED: Final = re.compile(r"\bm([0-9]{1,18})(?:(?:-| to )m?([0-9]{1,18}))?")
# The id under which the removal of goals and documents is recorded; no fact has it.
_GOALS: Final = "goals"
_GOAL_LINE: Final = re.compile(r"(?:Goal: |- (?:(?:milestone|decision|artifact|blocked by)(?: \([a-z]+\))?: )?)(.*)\Z")


# -- messages ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """What was forgotten.

    Attributes:
        asked: the named messages.
        copies: messages in which `history` had shown them; forgotten with them.
        summaries: ids of the summaries of them.
        plan: the plan of the next request; `None` if none had been made.
        facts: ids of the durable facts without another source; forgotten with them.
        files: journals and logs that were written anew without them.
    """

    asked: tuple[int, ...]
    copies: tuple[int, ...]
    summaries: tuple[str, ...]
    plan: PlanRecord | None = None
    facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def merged(results: Sequence[ForgetResult]) -> ForgetResult:
    """Return what was forgotten on several lines; the plan is that of the first."""
    asked = {seq for one in results for seq in one.asked}
    copies = {seq for one in results for seq in one.copies} - asked
    summaries = dict.fromkeys(name for one in results for name in one.summaries)
    return ForgetResult(tuple(sorted(asked)), tuple(sorted(copies)), tuple(summaries), results[0].plan)


class SessionWithout:
    """One session as it will be without some messages. You read it like a store; it writes nothing."""

    def __init__(self, context: SessionContext, stored: CurrentView, seqs: Iterable[int]) -> None:
        """Find the messages, records and summaries that go.

        Raises:
            NotFoundError: a message does not exist.
            StoreError: the store failed.
        """
        # Notes, and the kinds of records, cost a third of the start: few sessions forget anything.
        from squidbot.core.kinds import KINDS  # noqa: PLC0415
        from squidbot.core.notes.notebook import FRAGMENT, LEDGER, retold  # noqa: PLC0415

        transcripts, session_id = context.transcripts, context.session_id
        self._context, self._stored = context, stored
        chosen = _existing(seqs, stored, session_id)
        copies = tuple(_copies(context, chosen))
        gone = frozenset((*chosen, *copies))
        summaries = tuple(
            summary.summary_id
            for summary in context.summaries.for_range(session_id, 0, stored.messages - 1)
            if any(summary.first_seq <= seq <= summary.last_seq for seq in gone)
        )
        self.forgotten = ForgetResult(chosen, copies, summaries)
        self._tombstones = {row.seq: context.renderer.tombstone(row) for row in transcripts.pick(session_id, gone)}
        replaced = (kind.without_messages(transcripts, session_id, gone) for kind in KINDS)
        self._replaced = tuple(chain.from_iterable(replaced))
        self._appended: tuple[Record, ...] = ()
        if not {FRAGMENT.name, LEDGER.name}.isdisjoint(record.kind for record in self._replaced):
            bare = _StoreWithout(context, self._tombstones)
            self._appended = retold(self._notebook(context), context._replace(transcripts=bare), gone)

    @property
    def context(self) -> SessionContext:
        """The context with tombstones and renewed notes, and without the summaries that go."""
        gone = frozenset(self.forgotten.summaries)
        store = _StoreWithout(self._context, self._tombstones, self._replaced, self._appended, gone)
        return self._context._replace(transcripts=store, summaries=store)

    @property
    def notes(self) -> Notebook:
        """The notes as they will be. They avoid the ids of summaries that go, which are stored until then."""
        return self._notebook(self.context)

    @property
    def counts(self) -> tuple[int, int]:
        """How many records of notes there will be: (ledgers, fragments)."""
        return self.notes.counts()

    @property
    def retells(self) -> bool:
        """Whether the plan in force shows a summary that goes."""
        gone = set(self.forgotten.summaries)
        return any(block.segment.summary_id in gone for block in self._stored.blocks)

    def erasure(self, record: ForgetRecord, records: Sequence[Record]) -> Erasure:
        """Return the changes of the store; `records`, the plan among them, are stored behind the others."""
        last = self._context.transcripts.last_record(self._context.session_id, FORGOTTEN.name)
        return Erasure(
            expected=(self._stored.messages, self._stored.records),
            tombstones=tuple(self._tombstones[seq] for seq in sorted(self._tombstones)),
            replaced=self._replaced,
            appended=(*self._appended, *records, FORGOTTEN.behind(last, record)),
            summaries=self.forgotten.summaries,
        )

    def _notebook(self, context: SessionContext) -> Notebook:
        from squidbot.core.notes.notebook import Notebook  # noqa: PLC0415  # as above

        own = self._context
        gone = frozenset(self.forgotten.summaries)
        return Notebook(own.session_id, own.renderer, context.transcripts, own.summaries, own.history, without=gone)


def _existing(seqs: Iterable[int], stored: CurrentView, session_id: str) -> tuple[int, ...]:
    """Return the seqs in order, each once, if there are any and all exist."""
    chosen = tuple(sorted(set(seqs)))
    unknown = [seq for seq in chosen if not 0 <= seq < stored.messages]
    if chosen and not unknown:
        return chosen
    there = f"it has m0 to m{stored.messages - 1}" if stored.messages else "it is empty"
    problem = f"m{unknown[0]} is not in {session_id!a:.80}" if unknown else "pass the messages of the session to forget"
    raise NotFoundError(f"{problem}: {there}; nothing was forgotten")


def _copies(context: SessionContext, seqs: Sequence[int]) -> Iterator[int]:
    """Yield the messages in which `history` showed forgotten ones, copies of copies among them."""
    gone = set(seqs)
    for row in messages_of(context.transcripts, context.session_id, seqs[0]):
        if row.category is Category.RECALLED and row.seq not in gone:
            named = _NAMED.finditer(context.renderer.text_of(row))
            runs = [(int(match[1]), int(match[2] or match[1])) for match in named]
            if any(first <= seq <= last for first, last in runs for seq in gone):
                gone.add(row.seq)
                yield row.seq


class _StoreWithout:
    """A session's store read as it will be: with tombstones and renewed notes, without some summaries."""

    def __init__(
        self,
        context: SessionContext,
        tombstones: dict[int, StoredMessage],
        replaced: Sequence[Record] = (),
        appended: Sequence[Record] = (),
        summaries: frozenset[str] = frozenset(),
    ) -> None:
        self._stored, self._summaries = context.transcripts, context.summaries
        self.append, self.search, self.forget = self._stored.append, self._stored.search, self._stored.forget
        self.put, self.remove = self._summaries.put, self._summaries.remove
        self._tombstones, self._appended, self._gone = tombstones, appended, summaries
        self._replaced = {(record.kind, record.number): record for record in replaced}
        if isinstance(self._stored, SupportsGaps):
            self.count_between = self._stored.count_between

    def head(self, session_id: str) -> tuple[int, int]:
        messages, records = self._stored.head(session_id)
        return messages, records + len(self._appended)

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        newest = {kind: last for kind in kinds if (last := self.last_record(session_id, kind))}
        return Opening(*self.head(session_id), newest)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        return self._buried(self._stored.read(session_id, first_seq, last_seq))

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        return self._buried(self._stored.pick(session_id, seqs))

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        return self._buried(self._stored.newest(session_id, budget_tokens))

    def last_record(self, session_id: str, kind: str) -> Record | None:
        behind = [record for record in self._appended if record.kind == kind]
        last = behind[-1] if behind else self._stored.last_record(session_id, kind)
        return last and self._replaced.get((kind, last.number), last)

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        found = self._stored.records(session_id, kind, first_number)
        behind = [record for record in self._appended if record.kind == kind and record.number >= first_number]
        return [*(self._replaced.get((kind, record.number), record) for record in found), *behind]

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        return self._summaries.by_id(
            session_id, [summary_id for summary_id in summary_ids if summary_id not in self._gone]
        )

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        found = self._summaries.for_range(session_id, first_seq, last_seq)
        return [summary for summary in found if summary.summary_id not in self._gone]

    def _buried(self, rows: Iterable[StoredMessage]) -> list[StoredMessage]:
        return [self._tombstones.get(row.seq, row) for row in rows]


# -- injected facts ---------------------------------------------------------------------------------------------------


def injection_record(
    context: SessionContext, rows: Sequence[StoredMessage], plan: PlanRecord | None = None
) -> list[Record]:
    """Return the record of the messages, and of the plan, that contain facts; [] if none does."""
    seqs = [row.seq for row in rows if _facts_text(context, row)]
    head = [fact for section in plan.sections for fact in section.memories] if plan else []
    if not seqs and not head:
        return []
    # The sessions that contain a fact are found by these ids (`SupportsRecordSearch`).
    memories = tuple(sorted({*head, *injected_facts(context, rows)}))
    injection = InjectionRecord(tuple(seqs), (plan.plan_id,) if plan and head else (), memories)
    return [INJECTION.behind(context.transcripts.last_record(context.session_id, INJECTION.name), injection)]


def injected_facts(context: SessionContext, rows: Iterable[StoredMessage]) -> frozenset[str]:
    """Return the ids of the facts in messages: in their notices, or in answers of the tool."""
    return frozenset(fact for row in rows if (text := _facts_text(context, row)) for fact in memories_in(text))


def unprompted_facts(view: CurrentView) -> frozenset[str]:
    """Return the ids of the facts that a request has unprompted: in the head, and behind the first messages."""
    head = view.plan.remembered if view.plan else ()
    last = view.lead_count + FIRST_MESSAGES
    notices = (part.notice for part in view.sent if part.first_seq <= last)
    behind = (memories_in(notice) for notice in notices if notice and tells_memories(notice))
    return frozenset().union(*(section.memories for section in head), *behind)


def _facts_text(context: SessionContext, row: StoredMessage) -> str:
    """Return the text of a message that contains facts; "" if it has none."""
    text = context.renderer.text_of(row) if row.category is Category.RECALLED else row.notice or ""
    return text if text and tells(text) else ""


# -- facts, goals and documents ----------------------------------------------------------------------------------------


class FactRetraction(NamedTuple):
    """Durable facts to remove from a session.

    Attributes:
        memories: their ids.
        quoting: ids of facts that replaced them: lines about these in answers of the tool may quote them.
        reason: why; it must not repeat them.
        now: in seconds since 1970; `None` if unknown.
    """

    memories: frozenset[str]
    quoting: frozenset[str] = frozenset()
    reason: str = ""
    now: float | None = None


class _Removal(NamedTuple):
    """A removal: how many things it removes, and the rows and records that replace the stored ones."""

    number: int
    facts: Collection[str] = (_GOALS,)
    tombstones: Sequence[StoredMessage] = ()
    records: Sequence[Record] = ()
    unnoticed: Sequence[StoredMessage] = ()


def remove_facts(context: SessionContext, facts: FactRetraction) -> Retraction | None:
    """Remove facts from everything that a session has sent, durably; `None` if it sent none of them.

    The conversation's own messages stay as they are. If this changes the request, the next one has a new plan.

    Raises:
        StoreError: nothing was removed.
    """

    def find(context: SessionContext) -> _Removal | None:
        injections = INJECTION.all(context.transcripts, context.session_id)
        seqs = {seq for injection in injections for seq in injection.rows}
        tombstones, unnoticed = _rows_without(context, seqs, facts)
        plan_ids = [number for injection in injections for number in injection.plans]
        plans = _plans(context, without, min(plan_ids)) if plan_ids else []
        changes = tombstones or unnoticed or plans
        return _Removal(1, facts.memories, tombstones, plans, unnoticed) if changes else None

    def without(section: Section) -> Section | None:
        return None if facts.memories.intersection(section.memories) else section

    return _removed(context, find, facts.reason, facts.now)[1]


def remove_goals(context: SessionContext, names: Collection[str], reason: str = "", now: float | None = None) -> int:
    """Remove all changes by call that name one of these goals, also from sent requests; return how many.

    Lines that messages mark stay with their messages. If a request still sends them, the next one has a new plan.
    `reason` is kept and must not repeat them; `now` is in seconds since 1970.

    Raises:
        StoreError: nothing was removed.
    """

    def find(context: SessionContext) -> _Removal | None:
        changes, marks = _changes_naming(context, names)
        records = (*marks, *changes, *_plans(context, partial(_cut_section, without)))
        return _Removal(len(changes), records=records, unnoticed=_cut_notices(context, without)) if changes else None

    def without(text: str) -> str:
        lines = ((line, _GOAL_LINE.match(line)) for line in text.split("\n"))
        return "\n".join(line for line, goal in lines if not (goal and _is_one(goal[1], names)))

    return _removed(context, find, reason, now)[0] if names else 0


def remove_document(context: SessionContext, name: str, reason: str = "", now: float | None = None) -> int:
    """Remove a document for good, also from sent requests; return how many texts it had.

    The rest is as for `remove_goals`.

    Raises:
        StoreError: nothing was removed.
    """
    texts: list[str] = []

    def find(context: SessionContext) -> _Removal | None:
        changes = enumerate(DOCUMENT.all(context.transcripts, context.session_id))
        own = {number: change.text for number, change in changes if change.name == name and change.text is not None}
        texts[:] = sorted(set(own.values()), key=len, reverse=True)
        gone = [DOCUMENT.record(number, DocumentChange(name, None)) for number in own]
        records = (*gone, *_plans(context, partial(_cut_section, without)))
        return _Removal(len(gone), records=records, unnoticed=_cut_notices(context, without)) if gone else None

    def without(sent: str) -> str:
        for text in texts:
            sent = sent.replace(f"[{CONTEXT_NAMED}{name} is now:]\n{text}", "")
            sent = "" if sent == text else sent
        return sent

    return _removed(context, find, reason, now)[0]


def named_goals(renderer: Renderer, rows: Iterable[StoredMessage]) -> tuple[str, ...]:
    """Return the names of goals and their parts in messages: in calls of the tool, and in marked lines.

    Raises:
        ValueError: a message can't be decoded.
    """
    names: list[str] = []
    for row in rows:
        message = renderer.codecs[row.codec].decode(row.payload)
        names += filter(None, (_text(call.arguments) for call in message.calls if own_tool(call.name) == "goal"))
        if marked := renderer.said_by(row):
            names += [change.text for change in marked_changes([marked]) if change.text]
    return tuple(dict.fromkeys(names))


def _removed(
    context: SessionContext, find: Callable[[SessionContext], _Removal | None], reason: str, now: float | None
) -> tuple[int, Retraction | None]:
    """Remove what `find` returns, on every line; return the most things that a line had, and a record of the removal.

    (0, None) for nothing. Lines that came from others go first, and leave what they have from these to them: where this
    is broken off, a second try finds the rest.
    """
    on = context.transcripts
    if not isinstance(on, LineStore):
        return _removed_here(context, partial(find, context), reason, now)
    done: list[tuple[int, Retraction | None]] = []
    for line in on.all():
        here = context if line is on else context._replace(transcripts=line)
        done.append(_removed_here(here, partial(find, here), reason, now))
    return max(number for number, _ in done), next((told for _, told in done if told is not None), None)


def _removed_here(
    context: SessionContext, find: Callable[[], _Removal | None], reason: str, now: float | None
) -> tuple[int, Retraction | None]:
    """Remove what `find` returns, as far as the line itself has it; record all that its requests had."""
    store, session_id = context.transcripts, context.session_id

    def act(head: tuple[int, int]) -> tuple[int, Retraction | None]:
        removal = find()
        if removal is None:
            return 0, None
        request, plan, last = (store.last_record(session_id, kind) for kind in (REQUEST, PLAN, RETRACTION.name))
        retraction = Retraction(
            memories=tuple(sorted(removal.facts)),
            rows=tuple(sorted(row.seq for row in (*removal.tombstones, *removal.unnoticed))),
            plans=tuple(record.number for record in removal.records if record.kind == PLAN),
            requests=request.number + 1 if request else 0,
            plan_id=plan.number if plan else -1,
            reason=reason,
            at=now,
        )
        appended = (RETRACTION.behind(last, retraction),)
        rows, records, unnoticed = _owned(store, removal)
        store.forget(session_id, Erasure(head, rows, records, appended, unnoticed=unnoticed))
        return removal.number, retraction

    return retry(store, session_id, act, "nothing was removed", wait=context.wait)


def _owned(
    store: TranscriptStore, removal: _Removal
) -> tuple[tuple[StoredMessage, ...], tuple[Record, ...], tuple[StoredMessage, ...]]:
    """Return what a removal replaces of the line itself: rows, records, and rows that lose a notice only."""
    if not isinstance(store, LineStore) or not store.lines.made:
        return tuple(removal.tombstones), tuple(removal.records), tuple(removal.unnoticed)
    first = store.behind
    return (
        tuple(row for row in removal.tombstones if row.seq >= first),
        tuple(record for record in removal.records if record.number >= store.inherited(record.kind)),
        tuple(row for row in removal.unnoticed if row.seq >= first),
    )


def _rows_without(
    context: SessionContext, seqs: Iterable[int], facts: FactRetraction
) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """Return tombstones for answers with these facts, and messages without notices of them."""
    tombstones: list[StoredMessage] = []
    unnoticed: list[StoredMessage] = []
    for row in context.transcripts.pick(context.session_id, seqs):
        if row.category is Category.RECALLED:
            if (facts.memories | facts.quoting).intersection(memories_in(_facts_text(context, row))):
                tombstones.append(context.renderer.tombstone(row))
        elif row.notice is not None and (notice := without_memories(row.notice, facts.memories)) != row.notice:
            unnoticed.append(_with_notice(context, row, notice))
    return tombstones, unnoticed


def _plans(context: SessionContext, without: Callable[[Section], Section | None], first: int = 0) -> list[Record]:
    """Return the plans, from a number on, whose heads `without` changes, with these heads."""
    changed = []
    for record in context.transcripts.records(context.session_id, PLAN, first):
        plan = PlanRecord.from_json(record.body)
        sections = tuple(filter(None, map(without, plan.sections)))
        if sections != plan.sections:
            changed.append(Record(PLAN, record.number, replace(plan, sections=sections).to_json()))
    return changed


def _with_notice(context: SessionContext, row: StoredMessage, notice: str) -> StoredMessage:
    """Return a stored message with another notice behind it, "" for none, counted with that."""
    return context.renderer.counted(replace(row, notice=notice or None, counter=""))  # "": whoever counted it before


def _cut_section(without: Callable[[str], str], section: Section) -> Section | None:
    text = without(section.text) if section.is_kept else section.text
    return section._replace(text=text) if text or not section.is_kept else None


def _cut_notices(context: SessionContext, without: Callable[[str], str]) -> list[StoredMessage]:
    """Return the messages whose notices `without` changes, with these notices."""
    rows = messages_of(context.transcripts, context.session_id)
    cut = ((row, without(row.notice)) for row in rows if row.notice)
    return [_with_notice(context, row, notice) for row, notice in cut if notice != row.notice]


def _changes_naming(context: SessionContext, names: Collection[str]) -> tuple[list[Record], list[Record]]:
    """Return the records that replace changes that name one of these goals, and the lines written with them."""
    changes, marks = [], []
    lines = MARKED.all(context.transcripts, context.session_id)
    for number, change in enumerate(GOAL.all(context.transcripts, context.session_id)):
        written = [] if change.mark is None else lines[change.mark : change.mark + 1]
        texts = (change.text, *(marked.text for marked in marked_changes(written)))
        if not change.gone and any(_is_one(text, names) for text in texts):
            changes.append(GOAL.record(number, GoalChange(change.action, gone=True)))
            marks += [MARKED.record(change.mark or 0, MarkedMessage(line.seq, ())) for line in written]
    return changes, marks


def _is_one(text: str, names: Collection[str]) -> bool:
    return any(same(text, name) for name in names)


def _text(arguments: str) -> str:
    """Return the text that a call of the tool `goal` names; "" for none."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    text = given.get("text") if isinstance(given, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""
