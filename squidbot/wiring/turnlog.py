"""A turn as it goes on: its requests, the tools that were called, what was answered, and what it cost."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.files import append, replace
from squidbot.core import events
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.events import Event
from squidbot.core.messages import Kind, Outcome, Words
from squidbot.core.text import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.core.messages import Part, StoredMessage, Usage
    from squidbot.core.ports import Codec, Observer
    from squidbot.core.redaction import Redactor
    from squidbot.core.view.assembly import ModelRequest


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


def asked_of(made: ModelRequest, before: Sequence[str]) -> Asked:
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


def _budget(made: ModelRequest) -> Iterator[tuple[str, int]]:
    """Yield the parts of a request with what each costs at most, between the window and what is left (B-23)."""
    costs = dict.fromkeys(("system", "head", "notes", "history"), 0)
    for part in made.parts:
        costs[_place(part)] += part.cost.bound
    yield "window", made.window.window_tokens
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


# A turn as text and as JSON (B-50), with a mark in the place of each secret.

RULE = "=" * 100
# Where a turn begins in a log: what is said in it never stands so, since its own rules are moved off the margin.
_BEGINS = re.compile(rf"^{RULE}$", re.MULTILINE)
_JSON = "\nJSON\n"
ABOUT = {
    "window": "input and output",
    "reserve": "for the answer",
    "system": "system text",
    "tools": "definitions of tools, and what a request costs by itself",
    "head": "documents, pinned texts, what memory says",
    "notes": "what stands for older messages",
    "history": "messages as they were said",
    "request": "all of it",
    "free": "of what a request might cost",
}
# Whatever stands behind such a name is a secret; long enough that a redactor takes it for one.
ANYTHING = "x1y2z3w4v5"


def text_of(turn: Turn, session_id: str, model: str, redactor: Redactor) -> str:
    """Return a turn as it is written: its requests, its tool calls, the response, its budget, all of it as JSON."""
    when = f", {stamp(turn.time)} UTC" if turn.time is not None and stamp(turn.time) else ""
    iterations = len({call.iteration for call in turn.calls})
    calls = f"TOOL CALLS ({_count(len(turn.calls), 'call')} across {_count(iterations, 'iteration')})"
    lines = [RULE, f"turn m{turn.first_seq} of session {session_id}{when}, model {model or 'unnamed'}"]
    if turn.asked:
        lines += ["", "BUDGET (tokens, as bounds)", *_budget_line(turn.asked[-1])]
    lines += ["", "REQUEST MESSAGES"]
    for number, one in enumerate(turn.asked, 1):
        lines += _request(number, one)
    lines += ["", calls]
    for number, call in enumerate(turn.calls, 1):
        lines += _call(number, call, redactor)
    lines += ["", "RESPONSE", "(none)" if turn.answer is None else turn.answer, "", "JSON"]
    whole = json.dumps(_cleaned(_json(turn, session_id, model), redactor), ensure_ascii=False, indent=1)
    shown = _BEGINS.sub(f" {RULE}", redactor.redacted(_shown(lines[1:])))
    return f"{RULE}\n{shown}\n{whole}\n\n"


class Written(NamedTuple):
    """A turn as it stands in a log: its session, its first message, and its text; ("", -1) for one that was cut."""

    session: str
    turn: int
    text: str


def turns_of(log: str) -> list[Written]:
    """Return the turns of a log, in their order; joined, their texts are the log."""
    places = [found.start() for found in _BEGINS.finditer(log)]
    starts = [0, *places] if places[:1] != [0] else places
    return [_written(log[first:last]) for first, last in pairwise((*starts, len(log))) if first < last]


def _written(text: str) -> Written:
    try:
        said = json.loads(text[text.rindex(_JSON) + len(_JSON) :])
        return Written(str(said["session"]), int(said["turn"]), text)
    except (ValueError, KeyError, TypeError):
        return Written("", -1, text)


def _budget_line(asked: Asked) -> list[str]:
    return [f"  {name:8} {tokens:>11,}  {ABOUT[name]}" for name, tokens in asked.budget]


def _request(number: int, asked: Asked) -> Iterator[str]:
    plan = f", plan {asked.plan_id}" if asked.plan_id >= 0 else ""
    cause = f", changed: {asked.cause}" if asked.cause else ""
    used = f"{asked.bound_tokens:,} of {asked.limit_tokens:,} tokens ({asked.certificate})"
    yield f"request {number}: {_count(asked.messages, 'message')}, {used}{plan}{cause}{_usage(asked)}"
    if asked.same:
        yield f"  #0 to #{asked.same - 1} as in the request before" if asked.same > 1 else "  #0 as before"
    for line in asked.lines:
        yield f"  #{line.place} [{line.role}] {line.text}"


def _usage(asked: Asked) -> str:
    usage = asked.usage
    return "" if usage is None else f"; reported: {usage.input_tokens:,} in, {usage.output_tokens:,} out"


def _call(number: int, call: Called, redactor: Redactor) -> Iterator[str]:
    parameters = _cleaned(parameters_of(call.arguments), redactor)
    yield f"[{number}] Tool: {call.tool}"
    if (action := action_of(parameters)) is not None:
        yield f"    Action: {action}"
    yield f"    Parameters: {json.dumps(parameters, ensure_ascii=False)}"
    if call.result is None:
        yield "    Result: none is recorded"
    else:
        yield f"    Result ({len(call.result):,} chars):"
        yield call.result


def _json(turn: Turn, session_id: str, model: str) -> dict[str, object]:
    return {
        "session": session_id,
        "model": model,
        "turn": turn.first_seq,
        "time": turn.time,
        "budget": dict(turn.asked[-1].budget) if turn.asked else None,
        "requests": [
            {
                "messages": one.messages,
                "new": [{"place": line.place, "role": line.role, "text": line.text} for line in one.lines],
                "bound": one.bound_tokens,
                "limit": one.limit_tokens,
                "plan": one.plan_id if one.plan_id >= 0 else None,
                "changed": one.cause or None,
                "usage": one.usage._asdict() if one.usage else None,
            }
            for one in turn.asked
        ],
        "tool_calls": [call.to_json() for call in turn.calls],
        "response": turn.answer,
    }


def _cleaned(value: object, redactor: Redactor, name: str = "") -> object:
    """Return a JSON value without secrets: those that texts hold, and those that stand behind the name of one."""
    if isinstance(value, dict):
        return {key: _cleaned(one, redactor, str(key)) for key, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one, redactor, name) for one in value]
    if not isinstance(value, str):
        return value
    is_named = bool(name) and redactor.redacted(f"{name}: {ANYTHING}") != f"{name}: {ANYTHING}"
    return redactor.mark if is_named and value else redactor.redacted(value)


def _shown(lines: list[str]) -> str:
    """Return lines as one text that a terminal shows as it is: what it might obey becomes a question mark."""
    return "".join(char if char.isprintable() or char in "\n\t" else "?" for char in "\n".join(lines))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


# The file that turns are written to, one behind the other, when they have ended.


class TurnLog:
    """A file that turns are appended to. Whoever may read it reads what was said: nobody but its owner may."""

    def __init__(self, path: str, redactor: Redactor, observer: Observer | None = None, place: str = "--debug") -> None:
        """Take a file, and who named it; it is made when a turn has ended.

        Raises:
            ConfigError: it is a folder, or it has none that it could stand in.
        """
        self.path = Path(path)
        if self.path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file for the log of turns @ {place}")
        if not self.path.parent.is_dir():
            raise ConfigError(f"there is no folder {self.path.parent}; make it, or name another file @ {place}")
        self.redactor = redactor
        self._observer = observer
        self._failed = False

    def session(self, session_id: str, model: str, codecs: Mapping[str, Codec]) -> SessionLog:
        """Return what follows a session and writes its turns here."""
        return SessionLog(self, session_id, model, codecs)

    def append(self, session_id: str, text: str) -> None:
        """Write behind what stands there; that it can't be is told once, and fails no turn."""
        try:
            append(self.path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            if self._observer is not None and not self._failed:
                cause = f"the log of turns can't be written: {error}"
                self._observer.notify(Event(events.DEGRADED, session_id, cause))
            self._failed = True
        else:
            self._failed = False

    def forget(self, goes: Callable[[str, int, str], bool]) -> int:
        """Take turns out for good, and return how many; `goes` says of a session, a turn and its text whether it does.

        A turn that was cut, when its process died, is of the session "" and the turn -1.

        Raises:
            StoreError: the log is as it was: the disk failed.
        """
        gone = 0

        def without(data: bytes) -> bytes:
            nonlocal gone
            turns = turns_of(data.decode("utf-8", "replace"))
            kept = [one for one in turns if not goes(*one)]
            gone = len(turns) - len(kept)
            return "".join(one.text for one in kept).encode("utf-8", "replace") if gone else data

        try:
            replace(self.path, without)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}; it still tells what was forgotten") from error
        return gone


class SessionLog:
    """Follows one session: what it asks, and what is recorded in it; turns that have ended are written."""

    def __init__(self, log: TurnLog, session_id: str, model: str, codecs: Mapping[str, Codec]) -> None:
        """Take a session's name, its model's, and what reads its messages."""
        self._log = log
        self._session_id = session_id
        self._model = model
        self._codecs = codecs
        self._turn = Turn()
        # The newest request, byte for byte: what follows is set beside it.
        self._before: tuple[str, ...] = ()

    def asked(self, made: ModelRequest) -> None:
        """Take a request; where it opens a turn, one that has not ended is written as far as it went."""
        incoming = made.incoming
        if incoming and incoming[0].turn == incoming[0].seq and self._turn.iterations:
            self._write()
        self._turn.asked.append(asked_of(made, self._before))
        self._before = made.payloads

    def recorded(self, rows: Sequence[StoredMessage], usage: Usage | None) -> None:
        """Take what was recorded, with what was reported for the newest request."""
        if self._turn.iterations and any(row.turn == row.seq for row in rows):
            self._write()
        self._turn.reported(usage)
        self._turn.take(rows, self._codecs)
        if self._turn.ended:
            self._write()

    def _write(self) -> None:
        turn, self._turn = self._turn, Turn()
        self._log.append(self._session_id, text_of(turn, self._session_id, self._model, self._log.redactor))
