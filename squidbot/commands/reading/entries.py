"""Messages of a transcript with what is said in them: read by the codecs, tool results beside the tools' names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.texts import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import StoredMessage, ToolCall
    from squidbot.core.ports import Codec

__all__ = ["Entry", "Page", "entries", "page"]

# A tool's result stands behind its call, mostly at once: this far back calls are looked for, in messages.
CALLS_BACK = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One message.

    Attributes:
        row: as it is stored.
        text: what was said, tool calls aside.
        calls: the tool calls it makes.
        answers: (id, tool) of the calls it answers; the tool is "" where its call was not found.
    """

    row: StoredMessage
    text: str
    calls: tuple[ToolCall, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()

    @property
    def handle(self) -> str:
        """The id under which people and models name it."""
        return span(self.row.seq, self.row.seq)

    @property
    def is_cut(self) -> bool:
        """Whether it was cut before it was first sent."""
        return self.row.sent_text is not None or self.row.sent_arguments is not None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        row = self.row
        return {
            "id": self.handle,
            "turn": span(row.turn, row.turn),
            "role": row.role,
            "category": row.category.value,
            "time": row.time,
            "tokens": row.cost.estimate,
            "bound": row.cost.bound,
            "sent_tokens": row.sent_cost.estimate,
            "sent_bound": row.sent_cost.bound,
            "counter": row.counter,
            "text": self.text,
            "tool_calls": [{"id": one.id, "tool": one.name, "parameters": one.arguments} for one in self.calls],
            "answers": [{"id": call_id, "tool": tool} for call_id, tool in self.answers],
            "cut_at_birth": self.is_cut,
            "sent_text": row.sent_text,
            "notice": row.notice,
        }


@dataclass(frozen=True, slots=True)
class Page:
    """A run of a session's messages: `messages` is how many the session has, `damaged` the seqs that are left out."""

    session_id: str
    messages: int
    first_seq: int
    last_seq: int
    entries: tuple[Entry, ...]
    damaged: tuple[int, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "session": self.session_id,
            "messages": self.messages,
            "first": self.first_seq if self.entries else None,
            "last": self.last_seq if self.entries else None,
            "shown": [entry.to_json() for entry in self.entries],
            "damaged": [span(seq, seq) for seq in self.damaged],
        }


def page(place: Opened, session_id: str, first_seq: int, last_seq: int) -> Page:
    """Return the messages of a range, both ends included."""
    messages = place.length(session_id)
    first_seq, last_seq = max(0, first_seq), min(last_seq, messages - 1)
    rows, damaged = place.rows(session_id, max(0, first_seq - CALLS_BACK), last_seq)
    found = [entry for entry in entries(rows, place.codecs) if entry.row.seq >= first_seq]
    lost = tuple(seq for seq in damaged if seq >= first_seq)
    return Page(session_id, messages, first_seq, last_seq, tuple(found), lost)


def entries(rows: Iterable[StoredMessage], codecs: Mapping[str, Codec]) -> list[Entry]:
    """Return rows as entries. A payload whose codec is not there, or that it can't read, is shown as it is."""
    tools: dict[str, str] = {}
    made = []
    for row in rows:
        entry = _entry(row, codecs.get(row.codec), tools)
        tools.update({call.id: call.name for call in entry.calls})
        made.append(entry)
    return made


def _entry(row: StoredMessage, codec: Codec | None, tools: Mapping[str, str]) -> Entry:
    answers = tuple((call_id, tools.get(call_id, "")) for call_id in row.result_ids)
    if codec is None:
        return Entry(row, row.payload, (), answers)
    try:
        said = codec.decode(row.payload)
    except ValueError:
        return Entry(row, row.payload, (), answers)
    return Entry(row, said.text, said.calls, answers)
