"""A turn as it goes on: its requests, the tools that were called, what was answered, and what it cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Kind
from squidbot.core.portable import Outcome, Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.core.messages import Part, StoredMessage, Usage
    from squidbot.core.ports import Codec
    from squidbot.core.view.assembly import Assembly

__all__ = ["Asked", "Called", "Line", "Turn", "action_of", "asked_of", "parameters_of"]

# What each kind of part is for, in a request's budget; what nobody names is history.
PLACES = {
    Kind.SYSTEM: "system",
    Kind.MEMORY: "head",
    Kind.PIN: "head",
    Kind.MARKED: "head",
    Kind.SUMMARY: "notes",
}


class Line(NamedTuple):
    """One message of a request: its place in it, whose it is, and what the model reads."""

    place: int
    role: str
    text: str


class Asked(NamedTuple):
    """One request.

    Attributes:
        messages: how many it has; same: how many of them, from the first, are those of the request before.
        lines: the others.
        bound_tokens, limit_tokens: what it costs at most, and might have.
        certificate: how far that can be trusted.
        plan_id: the plan it was made under, -1 for none; cause: why the plan was changed with it, "" where it was not.
        budget: its parts with their names, in tokens as bounds, in the order of the window.
        usage: what the provider reported; None for nothing.
    """

    messages: int
    same: int
    lines: tuple[Line, ...]
    bound_tokens: int
    limit_tokens: int
    certificate: str
    plan_id: int
    cause: str
    budget: tuple[tuple[str, int], ...]
    usage: Usage | None = None


@dataclass(slots=True)
class Called:
    """One call of a tool; `iteration` counts the calls of the model in its turn from 1, `result` is None at first."""

    call_id: str
    tool: str
    arguments: str
    iteration: int
    result: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as B-50 has it."""
        parameters = parameters_of(self.arguments)
        return {
            "tool": self.tool,
            "action": action_of(parameters),
            "parameters": parameters,
            "result": self.result,
            "iteration": self.iteration,
        }


@dataclass(slots=True)
class Turn:
    """One turn, as far as it has gone.

    Attributes:
        first_seq: its first message; -1 before one is recorded. time: of that message, in seconds since 1970.
        iterations: how often the model has answered.
        answer: its last words, None before there are any; ended: whether it has called no more tools.
    """

    first_seq: int = -1
    time: float | None = None
    asked: list[Asked] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    iterations: int = 0
    answer: str | None = None
    ended: bool = False

    def take(self, rows: Sequence[StoredMessage], codecs: Mapping[str, Codec]) -> None:
        """Take messages that were recorded in it."""
        for row in rows:
            if self.first_seq < 0:
                self.first_seq, self.time = row.seq, row.time
            for call_id, text in _results(row, codecs):
                for call in self.calls:
                    call.result = text if call.call_id == call_id else call.result
            if row.role == "assistant":
                self._answered(row, codecs)

    def reported(self, usage: Usage | None) -> None:
        """Take what the provider reported for the newest request."""
        if usage is not None and self.asked:
            self.asked[-1] = self.asked[-1]._replace(usage=usage)

    def _answered(self, row: StoredMessage, codecs: Mapping[str, Codec]) -> None:
        self.iterations += 1
        try:
            said = codecs[row.codec].decode(row.payload)
        except (KeyError, ValueError):
            self.answer, self.ended = row.payload, not row.call_ids
            return
        self.calls += [Called(call.id, call.name, call.arguments, self.iterations) for call in said.calls]
        self.answer, self.ended = said.text, not said.calls


def asked_of(made: Assembly, before: Sequence[str]) -> Asked:
    """Return a request as it is logged; `before` are the payloads of the request before."""
    payloads = made.payloads
    pairs = zip(payloads, before, strict=False)
    same = next((place for place, (new, old) in enumerate(pairs) if new != old), min(len(payloads), len(before)))
    codec = made.codecs[made.form]
    lines = [Line(at, made.parts[at].role, _text(payloads[at], codec)) for at in range(same, len(payloads))]
    cause = made.event.cause if made.event else ""
    plan_id = made.plan.plan_id if made.plan else -1
    used = made.report.usage
    return Asked(
        messages=len(payloads),
        same=same,
        lines=tuple(lines),
        bound_tokens=used.current_tokens,
        limit_tokens=used.max_tokens,
        certificate=made.certificate,
        plan_id=plan_id,
        cause=cause,
        budget=tuple(_budget(made)),
    )


def parameters_of(arguments: str) -> object:
    """Return what a tool was given: a JSON value, or the text where it is none."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def action_of(parameters: object) -> str | None:
    """Return the parameter `action`, which tools with several acts have; None for none."""
    action = parameters.get("action") if isinstance(parameters, dict) else None
    return action if isinstance(action, str) else None


def _budget(made: Assembly) -> Iterator[tuple[str, int]]:
    """Yield the parts of a request with what each costs at most, between the window and what is left (B-23)."""
    costs = dict.fromkeys(("system", "head", "notes", "history"), 0)
    for part in made.parts:
        costs[_place(part)] += part.cost.bound
    yield "window", made.lease.window_tokens
    yield "reserve", made.max_output_tokens
    yield "system", costs["system"]
    yield "tools", max(0, made.cost.bound - sum(costs.values()))
    yield "head", costs["head"]
    yield "notes", costs["notes"]
    yield "history", costs["history"]
    yield "request", made.cost.bound
    yield "free", made.limit.bound - made.cost.bound


def _place(part: Part) -> str:
    return PLACES.get(part.kind, "history")


def _text(payload: str, codec: Codec) -> str:
    try:
        return codec.decode(payload).rendered
    except ValueError:
        return payload


def _results(row: StoredMessage, codecs: Mapping[str, Codec]) -> Iterator[tuple[str, str]]:
    if not row.result_ids:
        return
    try:
        pieces = codecs[row.codec].portable(row.payload).pieces
    except (KeyError, ValueError):
        yield from ((call_id, row.payload) for call_id in row.result_ids)
        return
    for piece in pieces:
        if isinstance(piece, Outcome):
            yield (
                piece.call_id,
                "\n".join(one.text if isinstance(one, Words) else f"[{one.mime}]" for one in piece.said),
            )
