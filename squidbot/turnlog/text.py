"""A turn as text and as JSON (B-50), with a mark in the place of each secret."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.history.when import stamp
from squidbot.turnlog.turns import action_of, parameters_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.redaction import Redactor
    from squidbot.turnlog.turns import Asked, Called, Turn

__all__ = ["Written", "text_of", "turns_of"]

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
        lines += ["", "BUDGET (tokens, as bounds)", *_budget(turn.asked[-1])]
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


def _budget(asked: Asked) -> list[str]:
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
