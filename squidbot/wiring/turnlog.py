"""The turn log: each turn's requests, tool calls, response and cost."""

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
from squidbot.core.messages import Kind, ToolResult, Words
from squidbot.core.text import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.core.messages import StoredMessage, Usage
    from squidbot.core.ports import Codec, Observer
    from squidbot.core.redaction import Redactor
    from squidbot.core.view.assembly import CoreAssembly


# The budget part of each kind; all others are history.
PLACES = {
    Kind.SYSTEM: "system",
    Kind.MEMORY: "head",
    Kind.PIN: "head",
    Kind.MARKED: "head",
    Kind.SUMMARY: "notes",
}


class RequestEntry(NamedTuple):
    """One request.

    Attributes:
        messages: the number of messages; same: how many, from the first, equal those of the request before.
        lines: the others, each with its place, its role and its text.
        bound_tokens, limit_tokens: its cost as a bound, and its limit.
        certificate: how reliable the bound is.
        plan_id: the plan in force, -1 for none; cause: why it changed the plan, "" if it did not.
        budget: its parts with their names, in tokens as bounds, in the order of the window.
        usage: the usage reported by the provider; `None` for none.
    """

    messages: int
    same: int
    lines: tuple[tuple[int, str, str], ...]
    bound_tokens: int
    limit_tokens: int
    certificate: str
    plan_id: int
    cause: str
    budget: tuple[tuple[str, int], ...]
    usage: Usage | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as the JSON behind a turn has it."""
        return {
            "messages": self.messages,
            "new": [{"place": place, "role": role, "text": text} for place, role, text in self.lines],
            "bound": self.bound_tokens,
            "limit": self.limit_tokens,
            "plan": self.plan_id if self.plan_id >= 0 else None,
            "changed": self.cause or None,
            "usage": self.usage._asdict() if self.usage else None,
        }


@dataclass(slots=True)
class CallEntry:
    """One call of a tool; `iteration` counts the model's answers in its turn from 1, `result` is `None` at first."""

    call_id: str
    tool: str
    arguments: str
    iteration: int
    result: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as the JSON behind a turn has it."""
        parameters = parameters_of(self.arguments)
        return {
            "tool": self.tool,
            "action": action_of(parameters),
            "parameters": parameters,
            "result": self.result,
            "iteration": self.iteration,
        }


@dataclass(slots=True)
class TurnEntry:
    """One turn, as far as it has gone.

    Attributes:
        first_seq: its first message; -1 before one is recorded. time: of that message, in seconds since 1970.
        iterations: the number of the model's answers.
        answer: its last text, `None` before the first; ended: whether it calls no more tools.
    """

    first_seq: int = -1
    time: float | None = None
    requests: list[RequestEntry] = field(default_factory=list)
    calls: list[CallEntry] = field(default_factory=list)
    iterations: int = 0
    answer: str | None = None
    ended: bool = False

    def take(self, rows: Sequence[StoredMessage], codecs: Mapping[str, Codec]) -> None:
        """Add recorded messages of the turn."""
        for row in rows:
            if self.first_seq < 0:
                self.first_seq, self.time = row.seq, row.time
            for call_id, text in _results(row, codecs):
                for call in self.calls:
                    call.result = text if call.call_id == call_id else call.result
            if row.role == "assistant":
                self._answered(row, codecs)

    def _answered(self, row: StoredMessage, codecs: Mapping[str, Codec]) -> None:
        self.iterations += 1
        try:
            message = codecs[row.codec].decode(row.payload)
        except (KeyError, ValueError):
            self.answer, self.ended = row.payload, not row.call_ids
            return
        self.calls += [CallEntry(call.id, call.name, call.arguments, self.iterations) for call in message.calls]
        self.answer, self.ended = message.text, not message.calls

    def to_json(self, session_id: str, model: str) -> dict[str, object]:
        """Return it as the JSON behind its text has it."""
        return {
            "session": session_id,
            "model": model,
            "turn": self.first_seq,
            "time": self.time,
            "budget": dict(self.requests[-1].budget) if self.requests else None,
            "requests": [request.to_json() for request in self.requests],
            "tool_calls": [call.to_json() for call in self.calls],
            "response": self.answer,
        }


def logged_request(assembly: CoreAssembly, before: Sequence[str]) -> RequestEntry:
    """Return the log entry of a request; `before` are the payloads of the previous request."""
    payloads, codec, used = assembly.payloads, assembly.codecs[assembly.form], assembly.report.usage
    pairs = zip(payloads, before, strict=False)
    same = next((place for place, (new, old) in enumerate(pairs) if new != old), min(len(payloads), len(before)))
    return RequestEntry(
        messages=len(payloads),
        same=same,
        lines=tuple((at, assembly.parts[at].role, _text(payloads[at], codec)) for at in range(same, len(payloads))),
        bound_tokens=used.current_tokens,
        limit_tokens=used.max_tokens,
        certificate=assembly.certificate,
        plan_id=assembly.plan.plan_id if assembly.plan else -1,
        cause=assembly.event.cause if assembly.event else "",
        budget=tuple(_budget(assembly)),
    )


def parameters_of(arguments: str) -> object:
    """Return a tool's arguments: a JSON value, or the text if it is not JSON."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def action_of(parameters: object) -> str | None:
    """Return the parameter `action` of tools with several acts; None for none."""
    action = parameters.get("action") if isinstance(parameters, dict) else None
    return action if isinstance(action, str) else None


def _budget(assembly: CoreAssembly) -> Iterator[tuple[str, int]]:
    """Yield the window, the parts of a request with their costs as bounds, and the tokens left."""
    costs = dict.fromkeys(("system", "head", "notes", "history"), 0)
    for part in assembly.parts:
        costs[PLACES.get(part.kind, "history")] += part.cost.bound
    yield "window", assembly.window.window_tokens
    yield "reserve", assembly.max_output_tokens
    yield "system", costs["system"]
    yield "tools", max(0, assembly.cost.bound - sum(costs.values()))
    yield "head", costs["head"]
    yield "notes", costs["notes"]
    yield "history", costs["history"]
    yield "request", assembly.cost.bound
    yield "free", assembly.limit.bound - assembly.cost.bound


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
        if isinstance(piece, ToolResult):
            texts = [part.text if isinstance(part, Words) else f"[{part.mime}]" for part in piece.said]
            yield piece.call_id, "\n".join(texts)


RULE = "=" * 100
# The beginning of a turn in a log: texts never match it, because their own rules are indented.
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
# A value after a secret's name, long enough for a redactor to match.
ANYTHING = "x1y2z3w4v5"


def text_of(turn: TurnEntry, session_id: str, model: str, redactor: Redactor) -> str:
    """Return the text of a turn: its requests, tool calls, response and budget, and everything again as JSON.

    A mark replaces each secret.
    """
    when = f", {stamp(turn.time)} UTC" if turn.time is not None and stamp(turn.time) else ""
    iterations = len({call.iteration for call in turn.calls})
    calls = f"TOOL CALLS ({_count(len(turn.calls), 'call')} across {_count(iterations, 'iteration')})"
    lines = [f"turn m{turn.first_seq} of session {session_id}{when}, model {model or 'unnamed'}"]
    if turn.requests:
        budget = turn.requests[-1].budget
        lines += ["", "BUDGET (tokens, as bounds)"]
        lines += [f"  {name:8} {tokens:>11,}  {ABOUT[name]}" for name, tokens in budget]
    lines += ["", "REQUEST MESSAGES"]
    for number, request in enumerate(turn.requests, 1):
        lines += _request(number, request)
    lines += ["", calls]
    for number, call in enumerate(turn.calls, 1):
        lines += _call(number, call, redactor)
    lines += ["", "RESPONSE", "(none)" if turn.answer is None else turn.answer, "", "JSON"]
    whole = json.dumps(_cleaned(turn.to_json(session_id, model), redactor), ensure_ascii=False, indent=1)
    # Terminal control characters become question marks.
    text = "".join(char if char.isprintable() or char in "\n\t" else "?" for char in "\n".join(lines))
    return f"{RULE}\n{_BEGINS.sub(f' {RULE}', redactor.redacted(text))}\n{whole}\n\n"


def turns_of(log: str) -> list[tuple[str, int, str]]:
    """Return the session, the first message and the text of each turn of a log; the joined texts are the log.

    A turn that was cut off has the session "" and the message -1.
    """
    places = [match.start() for match in _BEGINS.finditer(log)]
    starts = [0, *places] if places[:1] != [0] else places
    return [_read(log[first:last]) for first, last in pairwise((*starts, len(log))) if first < last]


def _read(text: str) -> tuple[str, int, str]:
    try:
        value = json.loads(text[text.rindex(_JSON) + len(_JSON) :])
        return str(value["session"]), int(value["turn"]), text
    except (ValueError, KeyError, TypeError):
        return "", -1, text


def _request(number: int, request: RequestEntry) -> Iterator[str]:
    plan = f", plan {request.plan_id}" if request.plan_id >= 0 else ""
    cause = f", changed: {request.cause}" if request.cause else ""
    used = f"{request.bound_tokens:,} of {request.limit_tokens:,} tokens ({request.certificate})"
    usage = request.usage
    reported = f"; reported: {usage.input_tokens:,} in, {usage.output_tokens:,} out" if usage else ""
    yield f"request {number}: {_count(request.messages, 'message')}, {used}{plan}{cause}{reported}"
    if request.same:
        yield f"  #0 to #{request.same - 1} as in the request before" if request.same > 1 else "  #0 as before"
    for place, role, text in request.lines:
        yield f"  #{place} [{role}] {text}"


def _call(number: int, call: CallEntry, redactor: Redactor) -> Iterator[str]:
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


def _cleaned(value: object, redactor: Redactor, name: str = "") -> object:
    """Return a JSON value without secrets: those in texts, and values under a secret's name."""
    if isinstance(value, dict):
        return {key: _cleaned(inner, redactor, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, redactor, name) for inner in value]
    if not isinstance(value, str):
        return value
    is_named = bool(name) and redactor.redacted(f"{name}: {ANYTHING}") != f"{name}: {ANYTHING}"
    return redactor.mark if is_named and value else redactor.redacted(value)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


class TurnLog:
    """A file of turns. It has whole conversations, so only its owner may read it."""

    def __init__(self, path: str, redactor: Redactor, observer: Observer | None = None, place: str = "--debug") -> None:
        """Take a file, and the setting that names it; the first finished turn creates it.

        Raises:
            ConfigError: it is a folder, or its folder does not exist.
        """
        self.path = Path(path)
        if self.path.is_dir():
            raise ConfigError(f"debug.turn_log must be a file, not the folder {path} @ {place}")
        if not self.path.parent.is_dir():
            raise ConfigError(f"no such folder: {self.path.parent}; create it, or choose another file @ {place}")
        self.redactor = redactor
        self._observer = observer
        self._failed = False

    def session(self, session_id: str, model: str, codecs: Mapping[str, Codec]) -> SessionLog:
        """Return the log of a session, which writes its turns here."""
        return SessionLog(self, session_id, model, codecs)

    def append(self, session_id: str, text: str) -> None:
        """Append a turn; a failure is reported once, and fails no turn."""
        try:
            append(self.path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            if self._observer is not None and not self._failed:
                cause = f"cannot write the turn log: {error}"
                self._observer.notify(Event(events.DEGRADED, session_id, cause))
            self._failed = True
        else:
            self._failed = False

    def forget(self, goes: Callable[[str, int, str], bool]) -> int:
        """Remove turns for good, and return how many; `goes` chooses them by session, turn and text.

        A turn cut off by the death of its process has the session "" and the turn -1.

        Raises:
            StoreError: the disk failed; the log is unchanged.
        """
        gone = 0

        def without(data: bytes) -> bytes:
            nonlocal gone
            turns = turns_of(data.decode("utf-8", "replace"))
            left = [turn for turn in turns if not goes(*turn)]
            gone = len(turns) - len(left)
            return "".join(text for _, _, text in left).encode("utf-8", "replace") if gone else data

        try:
            replace(self.path, without)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}; it still contains forgotten messages") from error
        return gone


class SessionLog:
    """Follows the requests and records of one session, and writes finished turns."""

    def __init__(self, log: TurnLog, session_id: str, model: str, codecs: Mapping[str, Codec]) -> None:
        """Take the names of a session and its model, and its codecs."""
        self._log = log
        self._session_id = session_id
        self._model = model
        self._codecs = codecs
        self._turn = TurnEntry()
        # The newest request, byte for byte, to compare with the next one.
        self._before: tuple[str, ...] = ()

    def asked(self, assembly: CoreAssembly) -> None:
        """Add a request; if it opens a turn, first write an unfinished one as far as it went."""
        incoming = assembly.incoming
        if incoming and incoming[0].turn == incoming[0].seq and self._turn.iterations:
            self._write()
        self._turn.requests.append(logged_request(assembly, self._before))
        self._before = assembly.payloads

    def recorded(self, rows: Sequence[StoredMessage], usage: Usage | None) -> None:
        """Add recorded messages, with the reported usage of the newest request."""
        if self._turn.iterations and any(row.turn == row.seq for row in rows):
            self._write()
        requests = self._turn.requests
        if usage is not None and requests:
            requests[-1] = requests[-1]._replace(usage=usage)
        self._turn.take(rows, self._codecs)
        if self._turn.ended:
            self._write()

    def _write(self) -> None:
        turn, self._turn = self._turn, TurnEntry()
        self._log.append(self._session_id, text_of(turn, self._session_id, self._model, self._log.redactor))
