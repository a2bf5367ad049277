"""Goals and documents taken out for good, on request: what named them, and what requests told of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import documents_of, emptied_document
from squidbot.core.goals.marked import marked_changes
from squidbot.core.goals.records import GOAL, emptied, names_of
from squidbot.core.goals.values import same
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Said
from squidbot.core.messages import Erasure, Record
from squidbot.core.past import REQUEST
from squidbot.core.plan import CONTEXT as CONTEXT_NAMED
from squidbot.core.plan import PlanRecord
from squidbot.core.trying import Writing
from squidbot.core.withdrawing import WITHDRAWN, Withdrawn, with_notice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Shelf

__all__ = ["named_in", "unload", "unset"]

PLAN: Final = "plan"
_READ_MESSAGES: Final = 1000
# What such a withdrawal is known by; no fact has such an id.
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
            changes.append(emptied(record))
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
