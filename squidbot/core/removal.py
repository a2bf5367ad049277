"""What is taken out of a session for good, on request, beside its messages: durable facts, goals, documents.

What was told of facts, unasked or by the tool `memory`, stands in requests that were sent. Records of the kind "told"
say where, so that nothing has to be searched for it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from squidbot.core.last_request import REQUEST
from squidbot.core.messages import Category, Erasure, Record
from squidbot.core.plan import CONTEXT as CONTEXT_NAMED
from squidbot.core.plan import PlanRecord
from squidbot.core.transcript.documents import DOCUMENT
from squidbot.core.transcript.goals import GOAL, GoalChange, marked_changes, same
from squidbot.core.transcript.markers import MARKED, MarkedMessage
from squidbot.core.transcript.records import messages_of, retry
from squidbot.core.transcript.removals import TOLD, WITHDRAWN, InjectionRecord, Retraction
from squidbot.core.view.marks import memories_in, own_tool, tells, tells_memories, without_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.plan import Section
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer


PLAN: Final = "plan"
# No message behind these opens a conversation (`unasked.COLD_MESSAGES`).
FIRST_MESSAGES: Final = 3
# What the removal of goals and documents is known by; no fact has such an id.
_GOALS: Final = "goals"
_TOLD: Final = re.compile(r"(?:Goal: |- (?:(?:milestone|decision|artifact|blocked by)(?: \([a-z]+\))?: )?)(.*)\Z")


@runtime_checkable
class SupportsRecordSearch(Protocol):
    """What a store may have beside `TranscriptStore`: sessions found by what their records say, none of them opened."""

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with a record of a kind in whose body one of these texts stands, oldest first.

        Raises:
            StoreError: the disk failed.
        """


def newly_told(shelf: SessionContext, rows: Sequence[StoredMessage], plan: PlanRecord | None = None) -> list[Record]:
    """Return the record that says which of these messages, and whether this plan, tell facts; none where none does."""
    seqs = [row.seq for row in rows if _said_by(shelf, row)]
    head = [each for section in plan.sections for each in section.memories] if plan else []
    if not seqs and not head:
        return []
    # By their ids the sessions are found that were told of one (`SupportsRecordSearch`).
    memories = tuple(sorted({*head, *told_facts(shelf, rows)}))
    told = InjectionRecord(tuple(seqs), (plan.plan_id,) if plan and head else (), memories)
    return [TOLD.behind(shelf.transcripts.last_record(shelf.session_id, TOLD.name), told)]


def told_facts(shelf: SessionContext, rows: Iterable[StoredMessage]) -> frozenset[str]:
    """Return the ids of the facts that messages tell, in their notices or as answers of the tool."""
    return frozenset(each for row in rows if (said := _said_by(shelf, row)) for each in memories_in(said))


def standing_facts(standing: CurrentView) -> frozenset[str]:
    """Return the ids of the facts that stand unasked: in the head, and behind the first messages."""
    head = standing.plan.remembered if standing.plan else ()
    return frozenset({*(each for one in head for each in one.memories), *_begun(standing)})


def _begun(standing: CurrentView) -> Iterator[str]:
    last = standing.lead_count + FIRST_MESSAGES
    for part in standing.sent:
        if part.first_seq > last:
            return
        if part.notice and tells_memories(part.notice):
            yield from memories_in(part.notice)


def _said_by(shelf: SessionContext, row: StoredMessage) -> str:
    """Return the text in which a message tells facts; "" where it tells none."""
    said = row.notice or ""
    if row.category is Category.RECALLED:
        said = shelf.renderer.text_of(row)
    return said if said and tells(said) else ""


class _Removal(NamedTuple):
    """What is to be taken out: how many things; what takes the place of messages, of records, of messages' notices."""

    number: int
    facts: Collection[str] = (_GOALS,)
    tombstones: Sequence[StoredMessage] = ()
    records: Sequence[Record] = ()
    unnoticed: Sequence[StoredMessage] = ()


def _taken_out(
    shelf: SessionContext, find: Callable[[], _Removal | None], reason: str, now: float | None
) -> tuple[int, Retraction | None]:
    """Take out what is found; return how many things, and the record of that; (0, None)."""
    store, session_id = shelf.transcripts, shelf.session_id

    def act(head: tuple[int, int]) -> tuple[int, Retraction | None]:
        found = find()
        if found is None:
            return 0, None
        last = {kind: store.last_record(session_id, kind) for kind in (REQUEST, PLAN, WITHDRAWN.name)}
        request, plan = last[REQUEST], last[PLAN]
        gone = Retraction(
            memories=tuple(sorted(found.facts)),
            rows=tuple(sorted(row.seq for row in (*found.tombstones, *found.unnoticed))),
            plans=tuple(one.number for one in found.records if one.kind == PLAN),
            requests=request.number + 1 if request else 0,
            plan_id=plan.number if plan else -1,
            reason=reason,
            at=now,
        )
        appended = (WITHDRAWN.behind(last[WITHDRAWN.name], gone),)
        rows, records = tuple(found.tombstones), tuple(found.records)
        store.forget(session_id, Erasure(head, rows, records, appended, unnoticed=tuple(found.unnoticed)))
        return found.number, gone

    return retry(store, session_id, act, "nothing was taken out", wait=shelf.wait)


def _plans(shelf: SessionContext, left: Callable[[Section], Section | None], first: int = 0) -> list[Record]:
    """Return the plans from a number on whose heads told what is taken out, without it."""
    changed = []
    for record in shelf.transcripts.records(shelf.session_id, PLAN, first):
        plan = PlanRecord.from_json(record.body)
        sections = tuple(filter(None, map(left, plan.sections)))
        if sections != plan.sections:
            changed.append(Record(PLAN, record.number, replace(plan, sections=sections).to_json()))
    return changed


def _with_notice(shelf: SessionContext, row: StoredMessage, notice: str | None) -> StoredMessage:
    """Return a stored message with another notice behind it, or none, and what it costs with that."""
    bare = replace(row, notice=notice, counter="")  # counted anew, whoever counted it
    return shelf.renderer.counted(bare)


# -- durable facts ----------------------------------------------------------------------------------------------------


class FactRetraction(NamedTuple):
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


def withdraw(shelf: SessionContext, facts: FactRetraction) -> Retraction | None:
    """Take facts out of all that a session has told of them, durably and for good; None where it told none of them.

    Messages of the conversation itself stay as they were said. The next request is made under a new plan where what
    stands has changed by it.

    Raises:
        StoreError: nothing was taken out.
    """

    def find() -> _Removal | None:
        told = TOLD.all(shelf.transcripts, shelf.session_id)
        graves, unnoticed = _rows_without(shelf, {seq for one in told for seq in one.rows}, facts)
        plan_ids = [number for one in told for number in one.plans]
        plans = _plans(shelf, without, min(plan_ids)) if plan_ids else []
        return _Removal(1, facts.memories, graves, plans, unnoticed) if graves or unnoticed or plans else None

    def without(section: Section) -> Section | None:
        return None if facts.memories.intersection(section.memories) else section

    return _taken_out(shelf, find, facts.reason, facts.now)[1]


def _rows_without(
    shelf: SessionContext, seqs: Iterable[int], facts: FactRetraction
) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """Return tombstones for answers that told these facts, and messages without the notices that did."""
    graves: list[StoredMessage] = []
    unnoticed: list[StoredMessage] = []
    for row in shelf.transcripts.pick(shelf.session_id, seqs):
        if row.category is Category.RECALLED:
            if (facts.memories | facts.quoting).intersection(memories_in(_said_by(shelf, row))):
                graves.append(shelf.renderer.tombstone(row))
        elif row.notice is not None and (left := without_memories(row.notice, facts.memories)) != row.notice:
            unnoticed.append(_with_notice(shelf, row, left or None))
    return graves, unnoticed


# -- goals, documents -------------------------------------------------------------------------------------------------


def named_in(renderer: Renderer, rows: Iterable[StoredMessage]) -> tuple[str, ...]:
    """Return what messages name as goals and what belongs to them: in calls of the tool, and in lines that they mark.

    Raises:
        ValueError: a message can't be decoded.
    """
    names: list[str] = []
    for row in rows:
        message = renderer.codecs[row.codec].decode(row.payload)
        names += filter(None, (_text(call.arguments) for call in message.calls if own_tool(call.name) == "goal"))
        if said := renderer.said_by(row):
            names += [change.text for change in marked_changes([said]) if change.text]
    return tuple(dict.fromkeys(names))


def unset(shelf: SessionContext, names: Collection[str], reason: str = "", now: float | None = None) -> int:
    """Take out all changes by call that name one of these, and what requests told of them; return how many changes.

    Lines that messages mark stay with their messages. Where something is still sent that told them, the next request
    is made under a new plan. `reason` is kept and must not repeat them; `now` is in seconds since 1970.

    Raises:
        StoreError: nothing was taken out.
    """

    def find() -> _Removal | None:
        changes, marks = _changes_naming(shelf, names)
        told = (*marks, *changes, *_plans(shelf, partial(_kept, without)))
        return _Removal(len(changes), records=told, unnoticed=_rows(shelf, without)) if changes else None

    def without(text: str) -> str:
        told = ((line, _TOLD.match(line)) for line in text.split("\n"))
        return "\n".join(line for line, found in told if not (found and _is_one(found[1], names)))

    return _taken_out(shelf, find, reason, now)[0] if names else 0


def unload(shelf: SessionContext, name: str, reason: str = "", now: float | None = None) -> int:
    """Take a document out for good: its texts, and what requests told of them; return how many texts.

    The rest is as for `unset`.

    Raises:
        StoreError: nothing was taken out.
    """
    said: list[str] = []

    def find() -> _Removal | None:
        changes = enumerate(DOCUMENT.all(shelf.transcripts, shelf.session_id))
        named = {number: one for number, one in changes if one.name == name and one.text is not None}
        said[:] = sorted({one.text for one in named.values() if one.text is not None}, key=len, reverse=True)
        gone = [DOCUMENT.record(number, one._replace(text=None)) for number, one in named.items()]
        records = (*gone, *_plans(shelf, partial(_kept, without)))
        return _Removal(len(gone), records=records, unnoticed=_rows(shelf, without)) if gone else None

    def without(text: str) -> str:
        for one in said:
            text = text.replace(f"[{CONTEXT_NAMED}{name} is now:]\n{one}", "")
            text = "" if text == one else text
        return text

    return _taken_out(shelf, find, reason, now)[0]


def _text(arguments: str) -> str:
    try:
        said = json.loads(arguments)
    except ValueError:
        return ""
    text = said.get("text") if isinstance(said, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""


def _is_one(text: str, names: Collection[str]) -> bool:
    return any(same(text, name) for name in names)


def _changes_naming(shelf: SessionContext, names: Collection[str]) -> tuple[list[Record], list[Record]]:
    """Return the records that take the place of changes that name one of these, and of the lines written with them."""
    changes, marks = [], []
    lines = MARKED.all(shelf.transcripts, shelf.session_id)
    for number, one in enumerate(GOAL.all(shelf.transcripts, shelf.session_id)):
        written = [] if one.mark is None else lines[one.mark : one.mark + 1]
        if not one.gone and any(
            _is_one(text, names) for text in (one.text, *(each.text for each in marked_changes(written)))
        ):
            changes.append(GOAL.record(number, GoalChange(one.action, gone=True)))
            marks += [MARKED.record(one.mark or 0, MarkedMessage(each.seq, ())) for each in written]
    return changes, marks


def _kept(without: Callable[[str], str], section: Section) -> Section | None:
    if not section.is_kept:
        return section
    text = without(section.text)
    return section._replace(text=text) if text else None


def _rows(shelf: SessionContext, without: Callable[[str], str]) -> list[StoredMessage]:
    """Return the messages behind which it was announced, without that."""
    rows = messages_of(shelf.transcripts, shelf.session_id)
    told = ((row, without(row.notice)) for row in rows if row.notice)
    return [_with_notice(shelf, row, left or None) for row, left in told if left != row.notice]
