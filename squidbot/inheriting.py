"""What a session takes over from another one: all of its context, nothing of its conversation (P-03)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import Document, documents_of, record_of
from squidbot.core.descent import shown
from squidbot.core.goals.records import GOAL, as_record, goals_of
from squidbot.core.goals.values import Change
from squidbot.core.history.when import stamp
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.core.messages import Category
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.core.goals.values import Goals, Item
    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import Codec, TranscriptStore

__all__ = ["TRANSITION", "WINDOW", "Inherited", "inherited_from", "transition"]

# The document that says where a session goes on from, and the one that says how large a sub-agent's window is.
TRANSITION: Final = "[transition]"
WINDOW: Final = "[window]"
PAGE_ROWS: Final = 1_000
_OWN: Final = frozenset({TRANSITION, WINDOW})
_VIEWED: Final = frozenset({Category.SYSTEM, Category.CONTEXT})
_WAYS: Final = {"milestone": "milestone", "artifact": "artifact", "blocker": "block", "architecture": "architecture"}


class Inherited(NamedTuple):
    """What is taken over: the messages of system text in front of all, and records of all else."""

    lead: tuple[StoredMessage, ...]
    records: tuple[Record, ...]


def inherited_from(
    store: TranscriptStore, codecs: Mapping[str, Codec], source_id: str, told: Sequence[Document]
) -> Inherited:
    """Return what a session takes over from the one of an id, with the documents `told` in front of that one's.

    Raises:
        StoreError: the store failed.
    """
    pins = Pins.of(store.records(source_id, PIN))
    lead, views = _viewed(store, codecs, source_id, pins)
    kept = [one for one in documents_of(store.records(source_id, CONTEXT)) if one.name not in _OWN]
    # Those that say where it is come first: they are left out last.
    documents = {one.name: one for one in (*told, *kept, *views)}
    texts = ({"name": one.name.removeprefix("pin "), "text": one.text} for one in pins.texts)
    goals = goals_of(store.records(source_id, GOAL), Markers.of(store.records(source_id, MARKED)).said)
    changes = (as_record(one._replace(seq=len(lead)), number) for number, one in enumerate(_changes(goals)))
    views_kept = (record_of(number, one) for number, one in enumerate(documents.values()))
    return Inherited(tuple(lead), (*Pins().records(texts), *changes, *views_kept))


def transition(store: TranscriptStore, source_id: str, messages: int) -> Document:
    """Return the mark that says where what was said before is, and how it comes back."""
    newest = store.read(source_id, messages - 1, messages - 1) if messages else []
    until = f", until {stamp(newest[0].time)}" if newest and newest[0].time is not None else ""
    name, said = shown(source_id), f"{messages:,} message{'s' * (messages != 1)}{until}"
    lines = [
        f"This conversation goes on from an earlier one, {name} ({said}). What was said there is stored, not shown."
    ]
    if messages:
        ids = f'recall with the id "{name}#m0-m{messages - 1}", search with the id "{name}"'
        lines.append(f"history brings it back: {ids}.")
    return Document(TRANSITION, "\n".join(lines))


def _viewed(
    store: TranscriptStore, codecs: Mapping[str, Codec], source_id: str, pins: Pins
) -> tuple[list[StoredMessage], list[Document]]:
    """Return the system text in front, and as documents what else is system text or context, or is pinned."""
    lead: list[StoredMessage] = []
    views: list[Document] = []
    for row in _rows(store, source_id):
        if row.seq == len(lead) and row.category is Category.SYSTEM:
            lead.append(replace(row, notice=None))
        elif row.category in _VIEWED or row.seq in pins.seqs:
            views.append(Document(f"[{shown(source_id)} m{row.seq}]", codecs[row.codec].text(row.payload).strip()))
    return lead, [one for one in views if one.text]


def _rows(store: TranscriptStore, session_id: str) -> Iterator[StoredMessage]:
    messages = store.head(session_id)[0]
    for start in range(0, messages, PAGE_ROWS):
        yield from store.read(session_id, start, min(start + PAGE_ROWS, messages) - 1)


def _changes(goals: Goals) -> Iterator[Change]:
    """Yield what makes goals stand in a session that has none."""
    name = goals.active.text if goals.active else None
    standing = (*goals.milestones, *goals.decisions, *goals.artifacts, *goals.blockers, *goals.architecture)
    yield from (_change(one) for one in standing if one.goal != name)
    if name is None:
        return
    yield Change("set", name)
    yield from (_change(one) for one in standing if one.goal == name)
    if goals.next_step:
        yield Change("next", goals.next_step)


def _change(item: Item) -> Change:
    if item.kind == "decision":
        return Change("lock" if item.done else "decide", item.text)
    return Change(_WAYS[item.kind], item.text, done=item.done)
