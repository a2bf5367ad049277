"""Reading messages into lines of notes: what was asked, done, found and decided, each line with its subject in front."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from squidbot.core.literals import find_literals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.messages import Message, ToolCall

__all__ = ["Line", "Unit", "bounded", "read_lines"]

# Longer texts are read at both ends only: an event must not cost more because a tool printed more.
_READ_CHARS = 60_000
_HEAD_CHARS = 160
_SENTENCE_CHARS = 200
_EXCERPT_CHARS = 72
_VALUE_CHARS = 80

_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|failure|fatal|denied|refused|panic|not found|no such|timed? ?out|"
    r"exit(?:ed)?(?: with)?(?: code| status)? [1-9])\b|\bERR!|\w(?:Error|Exception)\b|[✗✘❌]",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(r"\b(?:no|0|without|zero) (?:errors?|failures?|failed)\b", re.IGNORECASE)
_DECISION = re.compile(
    r"\[(?:GOAL|DECISION|CHECKPOINT|ARTIFACT|NEXT)\]|\b(?:decided?|decision|we will|i'll use|must|never|always|because|"
    r"root cause|the (?:problem|issue|bug|reason)|turns out|fixed|instead of|should not|agreed|confirmed|plan is|"
    r"chosen?|prefer|important|note that|remaining|todo|next step)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_PATH_VALUE = re.compile(r"[^\s'\"<>|*?{}$;&]{1,300}\Z")
_FILE_VALUE = re.compile(r"(?:.*[/\\])?[^/\\]*\.\w{1,8}\Z")
_COMMAND_KEYS = frozenset({"command", "cmd", "script", "code", "input", "shell"})
# JSON text falls into code lines at its escaped line ends; a line's last leading escape is glued to its first word.
_JSON_LINE = re.compile(r"(?=\\[nr])")
_GLUED = re.compile(r"(?:\\[nrt]|\s)*(\\[nrt][^\s\\].*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unit:
    """Words that can stand behind a line's head. `label` names what they are; `weight` is worth beside literals."""

    text: str
    label: str = ""
    weight: float = 0.0


@dataclass(slots=True)
class Line:
    """One line that notes could hold: a subject, and what can be told of it.

    Attributes:
        head: the subject and what was done with it; always written when the line is.
        weight: what the head is worth beside the literals in it.
        units: further words in order of appearance.
        short: the head to write when `path` is known to the reader already; "" where there is no shorter one.
        path: the path that `short` leaves out.
    """

    head: str
    weight: float
    units: list[Unit] = field(default_factory=list)
    short: str = ""
    path: str = ""


@dataclass(slots=True)
class _Action:
    """One tool call with what came back."""

    call: ToolCall
    leaves: list[tuple[str, str]]
    results: list[str] = field(default_factory=list)


def read_lines(messages: Sequence[Message], *, users_verbatim: bool) -> list[Line]:
    """Return the lines that could be written about some messages, in order of what happened last on each."""
    actions: dict[str, _Action] = {}
    found: dict[str, Line] = {}
    done: dict[str, list[_Action]] = {}
    for index, message in enumerate(messages):
        if message.role == "user" and not users_verbatim:
            found[f"user {index}"] = _asked(message.text)
        elif message.role == "assistant":
            _read_reply(index, message, found, done, actions)
        elif message.role == "tool":
            _read_results(index, message, found, actions)
    for key, group in done.items():
        found[key] = _action_line(group)
    return list(found.values())


def bounded(text: str) -> str:
    """Return a text, or both ends of one that is too long to read whole."""
    if len(text) <= _READ_CHARS:
        return text
    return text[: _READ_CHARS * 2 // 3] + "\n" + text[-_READ_CHARS // 3 :]


def _read_reply(
    index: int, message: Message, found: dict[str, Line], done: dict[str, list[_Action]], actions: dict[str, _Action]
) -> None:
    """Take in an assistant message: what it says, and the tools it calls."""
    if message.text.strip():
        found[f"said {index}"] = _said(bounded(message.text))
    for call in message.calls:
        action = _Action(call, _leaves(call.arguments))
        actions[call.id] = action
        key = _group(action)
        done.setdefault(key, []).append(action)
        found.pop(key, None)
        found[key] = Line("", 0.0)


def _read_results(index: int, message: Message, found: dict[str, Line], actions: dict[str, _Action]) -> None:
    """Take in a tool's answer: to its call where that is among the messages, else as a line of its own."""
    answered = [actions[name] for name in message.results if name in actions]
    for action in answered:
        action.results.append(bounded(message.text))
    if not answered and message.text.strip():
        text = bounded(message.text)
        found[f"result {index}"] = Line(f"tool result: {_clip(_first_line(text), _VALUE_CHARS)}", 0.1, _seen(text))


def _leaves(arguments: str) -> list[tuple[str, str]]:
    """Return (key, value) of the scalar arguments of a call; one nameless value where they are no JSON object."""
    try:
        value = json.loads(arguments) if len(arguments) <= _READ_CHARS * 4 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return [("", bounded(arguments))]
    return [(str(key), leaf if isinstance(leaf, str) else json.dumps(leaf)) for key, leaf in value.items()]


def _target(action: _Action) -> str:
    """Return the file that a call is about, or ""."""
    for key, value in action.leaves:
        named = "path" in key.lower() or "file" in key.lower()
        if named and _PATH_VALUE.match(value) and _FILE_VALUE.match(value):
            return value
    return ""


def _command(action: _Action) -> str:
    """Return the command line that a call runs, or ""."""
    for key, value in action.leaves:
        if key.lower() in _COMMAND_KEYS and value.strip():
            return value
    return ""


def _group(action: _Action) -> str:
    """Return what calls are put together by: one file, one command, or one call's words."""
    target = _target(action)
    if target:
        return "file " + target
    return f"call {action.call.name} {action.call.arguments[:_HEAD_CHARS]}"


def _action_line(group: list[_Action]) -> Line:
    """Return the line for the calls on one file, or for one call and its repetitions."""
    target = _target(group[0])
    failure = next(iter(_failures(group[-1])), "")
    units = [unit for action in group for unit in _action_units(action, target)]
    times = f" x{len(group)}" if len(group) > 1 else ""
    outcome = f" -> {failure}" if failure else ""
    if target:
        names = ", ".join(_counted([action.call.name for action in group]))
        short = f"{names} {target.rpartition('/')[2]}{outcome}"
        return Line(f"{names} {target}{outcome}", 2.0 if failure else 1.0, units, short, target)
    return Line(f"{_call_head(group[0])}{times}{outcome}", 1.5 if failure else 0.4, units)


def _call_head(action: _Action) -> str:
    """Return how a call is named in notes."""
    command = _command(action)
    if not command:
        shown = [f"{key}: {value}" if key else value for key, value in action.leaves if len(value) <= _VALUE_CHARS]
        return f"{action.call.name}({_clip(', '.join(shown), _HEAD_CHARS)})"
    return f"{action.call.name}: {_clip(' '.join(command.split()), _HEAD_CHARS)}"


def _counted(names: list[str]) -> list[str]:
    """Return each name once, in order, with how often it came."""
    return [f"{name} x{names.count(name)}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def _failures(action: _Action) -> Iterator[str]:
    """Yield what went wrong in a call, in few words; where a file was shown, only its first line can tell."""
    for result in action.results:
        lines = result.splitlines()
        for line in lines[:1] if _target(action) else lines[:400]:
            if _ERROR.search(line[:400]) and not _NO_ERROR.search(line[:400]):
                yield _clip(" ".join(line.split()), _HEAD_CHARS)
                break


def _action_units(action: _Action, target: str) -> Iterator[Unit]:
    """Yield what a call's arguments wrote, then what its results showed."""
    for excerpt in _excerpts(bounded(action.call.arguments)):
        yield Unit(excerpt, "wrote")
    for key, value in action.leaves:
        if value != target:
            for name in dict.fromkeys(literal for _, literal in find_literals(bounded(value))):
                yield Unit(name, "wrote")
    for result in action.results:
        yield from _seen(result)


def _excerpts(arguments: str) -> Iterator[str]:
    """Yield the code lines of JSON text in which an escape is glued to a name, as they stand there."""
    for line in _JSON_LINE.split(arguments):
        glued = _GLUED.match(line)
        if glued and next(iter(find_literals(glued.group(1)[1:80])), (1, ""))[0] == 0:
            yield f"`{_clip(glued.group(1).rstrip(), _EXCERPT_CHARS)}`"


def _seen(result: str) -> list[Unit]:
    """Return what a result showed: the values of JSON with their keys, else the names in it."""
    return [Unit(name, "seen") for name in dict.fromkeys(literal for _, literal in find_literals(result))]


def _asked(text: str) -> Line:
    """Return the line for what a user said."""
    sentences = list(_sentences(bounded(text)))
    head = _clip(sentences[0], _SENTENCE_CHARS) if sentences else ""
    return Line(f"asked: {head}", 2.0, [_sentence_unit(sentence) for sentence in sentences[1:40]])


def _said(text: str) -> Line:
    """Return the line for what the assistant said: its first sentence, then those that tell a decision or finding."""
    prose = list(_sentences(text))
    head = _clip(prose[0], _SENTENCE_CHARS) if prose else ""
    units = [_sentence_unit(sentence) for sentence in prose[1:60] if _DECISION.search(sentence)]
    units += [Unit(name, "names") for name in dict.fromkeys(literal for _, literal in find_literals(text))]
    return Line(f"said: {head}", 1.0 if _DECISION.search(head) else 0.15, units)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, without blank ones, one line each."""
    for sentence in _SENTENCE_END.split(text):
        line = " ".join(sentence.split())
        if any(character.isalnum() for character in line[:200]):
            yield line


def _sentence_unit(sentence: str) -> Unit:
    return Unit(_clip(sentence, _SENTENCE_CHARS), "", 1.0 if _DECISION.search(sentence) else 0.3)


def _first_line(text: str) -> str:
    return next((" ".join(line.split()) for line in text[:2000].splitlines() if line.strip()), "")


def _clip(text: str, most_chars: int) -> str:
    """Return a text cut behind a whole word, with a mark where it was cut."""
    if len(text) <= most_chars:
        return text
    return text[: most_chars + 1].rpartition(" ")[0].rstrip() + " …"
