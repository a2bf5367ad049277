"""A request as it is sent, part by part: the next one, or one that is recorded, made once more."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.reading.requests import plan_json
from squidbot.commands.reading.terms import session_of
from squidbot.commands.texts import span
from squidbot.core.messages import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import Part
    from squidbot.core.view.assembly import Assembly

__all__ = ["Request", "SentPart", "request_of"]


_MADE = {
    Kind.MEMORY: "document",
    Kind.PIN: "pinned text",
    Kind.SYSTEM: "system text",
    Kind.MARKED: "goals and decisions",
}


@dataclass(frozen=True, slots=True)
class SentPart:
    """One message of a request: `payload` byte for byte as it is sent, `text` what the model reads of it."""

    part: Part
    payload: str
    text: str

    @property
    def about(self) -> str:
        """What it is: the message that it says, or what stands for messages."""
        part = self.part
        if part.summary_id is not None:
            return f"notes {part.summary_id} for {span(part.first_seq, part.last_seq)}"
        if part.first_seq < 0:
            return _MADE.get(part.kind, "notice")
        kinds = {Kind.SLIMMED: ", cut", Kind.RECALLED: ", brought back", Kind.FORGOTTEN: ", forgotten"}
        stands = "" if part.first_seq == part.last_seq else "pointer to "
        return f"{stands}{span(part.first_seq, part.last_seq)}{kinds.get(part.kind, '')}"

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        part = self.part
        known = part.first_seq >= 0
        return {
            "kind": part.kind.value,
            "role": part.role,
            "tokens": part.cost.estimate,
            "bound": part.cost.bound,
            "first": span(part.first_seq, part.first_seq) if known else None,
            "last": span(part.last_seq, part.last_seq) if known else None,
            "summary": part.summary_id,
            "payload": self.payload,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `number` counts recorded ones from 0, None is the next one.

    `outside_tokens` is what is sent with it and not stored, as a bound: the host's system text and tools, and the
    template around all.
    """

    assembly: Assembly
    number: int | None
    parts: tuple[SentPart, ...]
    outside_tokens: int

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        made = self.assembly
        return {
            "session": made.session_id,
            "request": self.number,
            "tokens": made.cost.estimate,
            "bound": made.cost.bound,
            "limit": made.limit.bound,
            "outside_tokens": self.outside_tokens,
            "plan": made.plan.plan_id if made.plan else None,
            "event": plan_json(made.event) if made.event else None,
            "parts": [part.to_json() for part in self.parts],
        }


def request_of(place: Opened, session_id: str, number: int | None) -> Request:
    """Return the recorded request of a number, or (None) the one that would be sent if nothing new were said.

    Raises:
        NotFoundError: there is no such request, or it can't be made again.
        BudgetError: nothing makes the next one fit.
        InvalidRequestError: there is nothing to answer.
        StoreError: the store failed.
    """
    session = session_of(place, session_id)
    made = session.preview() if number is None else session.request(number)
    for tag in {part.codec for part in made.parts if part.codec}:
        place.codec(tag)
    parts = tuple(_parts(made))
    outside = made.cost.bound - sum(one.part.cost.bound for one in parts)
    return Request(made, number, parts, max(0, outside))


def _parts(made: Assembly) -> Iterator[SentPart]:
    codec = made.codecs[made.form]
    for part, payload in zip(made.parts, made.payloads, strict=True):
        value = json.loads(payload)
        messages = [json.dumps(one) for one in value] if isinstance(value, list) else [payload]
        yield SentPart(part, payload, "\n".join(codec.decode(one).rendered for one in messages))
