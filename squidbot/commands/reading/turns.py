"""The turn log (B-50): for each turn its requests, its tool calls with parameters and results, the response."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from squidbot.commands.reading.entries import entries
from squidbot.commands.reading.forms import results_of
from squidbot.commands.reading.requests import sent_for
from squidbot.commands.reading.terms import terms_of
from squidbot.commands.texts import span
from squidbot.wiring.turnlog import action_of, parameters_of

if TYPE_CHECKING:
    from squidbot.commands.reading.entries import Entry
    from squidbot.commands.reading.opened import Opened
    from squidbot.commands.reading.requests import Sent
    from squidbot.core.messages import Lease, ToolCall

__all__ = ["Called", "Step", "Turn", "TurnLog", "turn_log"]


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool.

    Attributes:
        iteration: of its turn, from 1.
        result: the message with its result, and `text`: the result; None where none is recorded.
    """

    call: ToolCall
    iteration: int
    result: Entry | None
    text: str | None = None

    @property
    def parameters(self) -> object:
        """What the tool was given: a JSON value, or the text where it is none."""
        return parameters_of(self.call.arguments)

    @property
    def action(self) -> str | None:
        """The parameter `action`, which tools with several acts have; None for none."""
        return action_of(self.parameters)

    def to_json(self) -> dict[str, object]:
        """Return it as B-50 has it."""
        return {
            "tool": self.call.name,
            "action": self.action,
            "parameters": self.parameters,
            "result": self.text,
            "iteration": self.iteration,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the model: its number in the turn, from 1, its message, the request; None where none is recorded."""

    iteration: int
    entry: Entry
    sent: Sent | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: its messages, the calls of the model, those of tools."""

    entries: tuple[Entry, ...]
    steps: tuple[Step, ...]
    calls: tuple[Called, ...]

    @property
    def first_seq(self) -> int:
        """Its first message."""
        return self.entries[0].row.seq

    @property
    def last_seq(self) -> int:
        """Its last one."""
        return self.entries[-1].row.seq

    @property
    def asked(self) -> tuple[Entry, ...]:
        """What was said to the model, tool results aside."""
        return tuple(one for one in self.entries if one.row.role in {"user", "system"} and not one.row.result_ids)

    @property
    def response(self) -> Entry | None:
        """The model's last message, if it calls no tool."""
        last = self.steps[-1].entry if self.steps else None
        return last if last and not last.calls else None

    def to_json(self, lease: Lease | None) -> dict[str, object]:
        """Return it as values that JSON holds."""
        last = self.steps[-1].sent if self.steps else None
        return {
            "turn": span(self.first_seq, self.first_seq),
            "last": span(self.last_seq, self.last_seq),
            "time": self.entries[0].row.time,
            "asked": [{"id": one.handle, "role": one.row.role, "text": one.text} for one in self.asked],
            "requests": [
                {"iteration": step.iteration, "answer": step.entry.handle, **step.sent.to_json()}
                for step in self.steps
                if step.sent
            ],
            "tool_calls": [call.to_json() for call in self.calls],
            "response": self.response.text if self.response else None,
            "budget": {name: tokens for name, tokens, _ in budget(last, lease)} if last else None,
        }


@dataclass(frozen=True, slots=True)
class TurnLog:
    """The newest turns of a session, oldest first; `lease` is None where it is not known."""

    session_id: str
    turns: tuple[Turn, ...]
    lease: Lease | None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {"session": self.session_id, "turns": [turn.to_json(self.lease) for turn in self.turns]}


def turn_log(place: Opened, session_id: str, last: int, message: int | None = None) -> TurnLog:
    """Return the `last` newest turns, or those that end with the one in which `message` stands.

    Raises:
        DamagedStoreError: a row of them can't be read.
    """
    terms = terms_of(place, session_id)
    lease = terms.lease if terms.source != "assumed" else None
    end = place.length(session_id) - 1 if message is None else _end(place, session_id, message)
    starts = _starts(place, session_id, end, last)
    if not starts:
        return TurnLog(session_id, (), lease)
    rows = place.store.read(session_id, starts[0], end)
    sent = sent_for(place, session_id, starts[0])
    turns = [
        _turn(entries(rows[start - starts[0] : behind - starts[0]], place.codecs), sent)
        for start, behind in pairwise([*starts, end + 1])
    ]
    return TurnLog(session_id, tuple(turns), lease)


def budget(sent: Sent, lease: Lease | None) -> list[tuple[str, int, str]]:
    """Return the lines of a request's budget: a name, tokens (bounds), what it is."""
    history = sent.cost.bound - sent.outside.bound
    lines = [
        ("outside", sent.outside.bound, "system text, tools and head"),
        ("history", history, f"{sent.parts:,} messages with what stands for others"),
        ("request", sent.cost.bound, f"{sent.cost.estimate:,} by estimate"),
    ]
    if lease is None:
        return lines
    return [
        ("window", lease.window_tokens, "input and output"),
        ("reserve", lease.reserved_output_tokens, "for the answer"),
        *lines,
        ("free", sent.limit.bound - sent.cost.bound, f"of the input limit, {sent.limit.bound:,}"),
    ]


def _end(place: Opened, session_id: str, message: int) -> int:
    """Return the last message of the turn in which `message` stands."""
    turn: int | None = None
    for page in place.pages(session_id, message):
        for row in page.found:
            if turn is not None and row.turn != turn:
                return row.seq - 1
            turn = row.turn
    return place.length(session_id) - 1


def _starts(place: Opened, session_id: str, end: int, last: int) -> list[int]:
    """Return the seqs that opened the `last` newest turns up to the message `end`, in order."""
    starts: list[int] = []
    seq = end
    while seq >= 0 and len(starts) < last:
        (row,) = place.store.read(session_id, seq, seq)
        starts.append(min(row.turn, seq))
        seq = starts[-1] - 1
    return starts[::-1]


def _turn(found: list[Entry], sent: dict[int, Sent]) -> Turn:
    results = {call_id: (one, text) for one in found for call_id, text in results_of(one).items()}
    steps: list[Step] = []
    calls: list[Called] = []
    for entry in found:
        if entry.row.role != "assistant":
            continue
        steps.append(Step(len(steps) + 1, entry, sent.get(entry.row.seq)))
        calls.extend(Called(call, len(steps), *results.get(call.id, (None, None))) for call in entry.calls)
    return Turn(tuple(found), tuple(steps), tuple(calls))
