"""Goals taken out for good, on request: the changes that named them, and the heads that told them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import StoreError
from squidbot.core.goals.head import BUILT, NAME
from squidbot.core.goals.marked import marked_changes
from squidbot.core.goals.records import GOAL, emptied, names_of
from squidbot.core.goals.values import same
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Said
from squidbot.core.messages import Erasure, Record
from squidbot.core.past import REQUEST
from squidbot.core.plan import PlanRecord
from squidbot.core.withdrawing import WITHDRAWN, Withdrawn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from squidbot.core.messages import StoredMessage
    from squidbot.core.plan import Section
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.view.renderer import Renderer

__all__ = ["named_in", "unset"]

PLAN: Final = "plan"
_MOST_TRIES: Final = 1000
# What the withdrawal of a goal is known by; no fact has such an id.
_GOALS: Final = "goals"
# The tool's name; hosts that take tools from servers put the server's name in front.
_TOOL: Final = re.compile(r"(?:.*[^A-Za-z0-9])?goal\Z", re.DOTALL)
_TOLD: Final = re.compile(r"(?:Goal: |- (?:(?:milestone|decision|artifact|blocked by)(?: \([a-z]+\))?: )?)(.*)\Z")


def named_in(renderer: Renderer, rows: Iterable[StoredMessage]) -> tuple[str, ...]:
    """Return what messages name as goals and what belongs to them: in calls of the tool, and in lines that they mark.

    Raises:
        ValueError: a message can't be decoded.
    """
    names: list[str] = []
    for row in rows:
        message = renderer.codecs[row.codec].decode(row.payload)
        names += filter(None, (_text(call.arguments) for call in message.calls if _TOOL.match(call.name)))
        if said := renderer.said_by(row):
            names += [change.text for change in marked_changes([said]) if change.text]
    return tuple(dict.fromkeys(names))


def unset(
    transcripts: TranscriptStore, session_id: str, names: Collection[str], reason: str = "", now: float | None = None
) -> int:
    """Take out all changes by call that name one of these, and what heads told of them; return how many changes.

    Lines that messages mark stay with their messages. Where a head is still sent that told them, the next request is
    made under a new plan. `reason` is kept and must not repeat them; `now` is in seconds since 1970.

    Raises:
        StoreError: nothing was taken out.
    """
    for _ in range(_MOST_TRIES if names else 0):
        head = transcripts.head(session_id)
        changes, marks = _changes(transcripts, session_id, names)
        if not changes:
            return 0
        plans = tuple(_plans(transcripts, session_id, names))
        gone = _withdrawn(transcripts, session_id, plans, reason, now)
        try:
            transcripts.forget(session_id, Erasure(head, (), (*changes, *marks, *plans), (gone,)))
        except StoreError:
            if transcripts.head(session_id) == head:
                raise
        else:
            return len(changes)
    if names:
        raise StoreError(f"{_MOST_TRIES} other writers came first; no goal was taken out of {session_id!r}")
    return 0


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
            changes.append(emptied(record))
            marks += [line.without(number) for number, line in written]
    return changes, marks


def _plans(transcripts: TranscriptStore, session_id: str, names: Collection[str]) -> Iterator[Record]:
    """Yield the plans whose heads told one of these, without the lines that did."""
    for record in transcripts.records(session_id, PLAN):
        plan = PlanRecord.from_json(record.body)
        left = tuple(one for one in (_without(section, names) for section in plan.sections) if one.text)
        if left != plan.sections:
            yield Record(PLAN, record.number, replace(plan, sections=left).to_json())


def _without(section: Section, names: Collection[str]) -> Section:
    if section.name not in {NAME, BUILT}:
        return section
    told = ((line, _TOLD.match(line)) for line in section.text.splitlines())
    left = [line for line, found in told if not (found and _is_one(found[1], names))]
    return section._replace(text="\n".join(left))


def _withdrawn(
    transcripts: TranscriptStore, session_id: str, plans: Collection[Record], reason: str, now: float | None
) -> Record:
    last = {kind: transcripts.last_record(session_id, kind) for kind in (REQUEST, PLAN, WITHDRAWN)}
    numbers = {kind: record.number if record else -1 for kind, record in last.items()}
    gone = Withdrawn(
        memories=(_GOALS,),
        rows=(),
        plans=tuple(record.number for record in plans),
        requests=numbers[REQUEST] + 1,
        plan_id=numbers[PLAN],
        reason=reason,
        at=now,
    )
    return gone.record(numbers[WITHDRAWN] + 1)
