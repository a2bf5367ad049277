"""Reading messages into lines of notes: what was asked, done, found and decided, each with its subject in front."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.literals import Place, find_literals, is_path, placed_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import Message, ToolCall

__all__ = ["Line", "Reading", "Unit", "bounded", "names_in", "read"]

# Longer texts are read at both ends only: an event must not cost more because a tool printed more.
_READ_CHARS = 60_000
_HEAD_CHARS = 160
_SENTENCE_CHARS = 220
_EXCERPT_CHARS = 60
_VALUE_CHARS = 80
_SHORT_CHARS = 600
_MOST_FACTS = 400

_ERROR = re.compile(
    r"\b(?:[Ee]rror|ERROR)(?:\[\w+\])?(?: [A-Z]+\d+)?[\"']?:|\w(?:Error|Exception)\b(?=[:(]|$)|\bERR!|\bFAIL(?:ED|URE|S)?\b|"
    r"\b[1-9]\d* (?:failed|failures?|errors?)\b|\b(?:fatal|panic|Traceback)\b[: (]|\b[Nn]ot [Ff]ound\b|\bNo such\b|"
    r"[Pp]ermission denied|\bexit(?:ed)?(?: with)?(?: code| status)? [1-9]|\btimed out\b|\bCannot \w+|"
    r"\bFehler\b|\b[Ee]rreur\b|\u9519\u8bef|\u5931\u8d25|\u5931\u6557|\u30a8\u30e9\u30fc|[\u2717\u2718\u274c]"
)
_NO_ERROR = re.compile(r"\b(?:no|0|without|zero|any) (?:errors?|failures?|failed)\b|\b(?:errors?|failed): 0\b", re.I)
_DECISION = re.compile(
    r"\[(?:GOAL|DECISION|CHECKPOINT|ARTIFACT|NEXT)\]|\b(?:decided?|decision|we will|must|never|always|because|so that|"
    r"root cause|the (?:problem|issue|bug|reason)|turns out|fixed|instead of|should not|agreed|confirmed|plan is|"
    r"chosen?|prefer|important|note that|remaining|todo|next steps?)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:now |ok(?:ay)?,? |first,? |good[.,!]? |great[.,!]? )*(?:let me|i'll|i will|let's|now)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_LIST_MARK = re.compile(r"^\s*(?:(?:\d{1,3}[.)]|[-*#>•]+)\s+)+", re.MULTILINE)
_NAMED = re.compile(r"(?<=[\w,;] )[A-Z][\w'-]+|\d[\d:.,/-]*")
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)
_PATH_VALUE = re.compile(r"[^\s'\"<>|*?{}$;&]{1,300}\Z")
_FILE_VALUE = re.compile(r"(?:.*[/\\])?[^/\\]*\.\w{1,8}\Z")
_COMMAND_KEYS = frozenset({"command", "cmd", "script", "code", "input", "shell"})
_NO_OUTPUT = re.compile(r"\W*(?:no output|ok|done|success|null|none|true)?\W*\Z", re.IGNORECASE)
_NAME_END = re.compile(r"[\w@~./-]+\Z")
# JSON text falls into code lines at its escaped line ends; a line's last leading escape is glued to its first word.
_JSON_LINE = re.compile(r"(?=\\[nr])")
_GLUED = re.compile(r"(?:\\[nrt]|\s)*(\\[nrt][^\s\\].*)", re.DOTALL)

# The words of a tool's name that changes something outside.
_CHANGES = re.compile(
    r"(?:^|_|\b)(?:add|apply|book|cancel|change|commit|create|delete|edit|exec|insert|merge|modify|move|patch|pay|post|push|put|"
    r"refund|remove|rename|replace|save|send|set|submit|transfer|update|upload|write)(?:_|\b|[A-Z]|$)",
    re.IGNORECASE,
)
# Keys whose values name something that is asked for again, and values that hardly ever are.
_NAMING_KEY = re.compile(r"(?:^|_|\b)(?:id|no|number|code|key|ref|reference|name|path|url|file|sha|hash|order|status)s?\Z|I[dD]s?\Z")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT|\d{1,2}:\d\d(?::\d\d)?\Z")

# How likely a name that was only shown, not written, comes back; measured on recorded sessions with tools.
_DEFINED_WORTH, _IMPORTED_WORTH, _USED_WORTH, _LISTED_WORTH = 0.45, 0.35, 0.2, 0.08
_NAMING_WORTH, _FACT_WORTH, _STAMP_WORTH = 0.3, 0.12, 0.03
_LABEL_RANK = {"wrote": 0, "with": 0, "defines": 1, "imports": 2}


@dataclass(frozen=True, slots=True)
class Unit:
    """Words that can stand behind a line's head.

    Attributes:
        text: the words.
        label: what they are; "" for a sentence.
        weight: what they are worth beside the literals in them.
        base: what a literal in them is worth that the assistant never wrote itself.
    """

    text: str
    label: str = ""
    weight: float = 0.0
    base: float = _USED_WORTH


@dataclass(slots=True)
class Line:
    """One line that notes could hold: a subject, and what can be told of it.

    Attributes:
        head: the subject and what was done with it; always written when the line is.
        weight: what the head is worth beside the literals in it.
        units: further words by their text, in order of appearance.
        short: the head to write when `path` is known to the reader already; "" where there is no shorter one.
        path: the path that `short` leaves out.
    """

    head: str
    weight: float
    units: dict[str, Unit] = field(default_factory=dict)
    short: str = ""
    path: str = ""

    def add(self, units: Iterable[Unit]) -> None:
        """Add units; of two with one text the one with the stronger label stays."""
        for unit in units:
            held = self.units.get(unit.text)
            if held is None or _LABEL_RANK.get(unit.label, 9) < _LABEL_RANK.get(held.label, 9):
                self.units[unit.text] = unit


@dataclass(slots=True)
class Reading:
    """What was read: the lines by subject, in order of what happened last on each, and who used which literal.

    `written` counts the messages in which the assistant wrote a literal, `shown` those in which a tool showed it.
    """

    lines: dict[str, Line] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)

    def worth(self, name: str, base: float) -> float:
        """Return what a literal is worth: how likely it is to be written again.

        Measured on recorded sessions: a name that the assistant wrote in two messages comes back in one case of two,
        in one message in one of three, seldom in more than six of ten; of names only shown, `base`; paths that tools
        print again and again hardly ever. Counts fade with age, and worth with them.
        """
        times = self.written.get(name, 0.0)
        value = 0.6 * (1.0 - math.exp(-0.8 * times)) if times else base
        if not times and self.shown.get(name, 0.0) > 1 and is_path(name):
            value /= 2
        return value * (1.3 if "." in name and not is_path(name) else 1.0)

    def gain(self, unit: Unit) -> float:
        """Return what words are worth with all literals in them."""
        return unit.weight + sum(self.worth(name, unit.base) for name in names_in(unit.text))


@dataclass(slots=True)
class _Action:
    """One tool call: its arguments as (key, value), the file it is about, what came back that failed, and its line."""

    call: ToolCall
    leaves: list[tuple[str, str]]
    target: str
    line: Line
    failure: str = ""


def read(messages: Sequence[Message], *, users_verbatim: bool) -> Reading:
    """Return the lines that could be written about some messages."""
    reading = Reading()
    actions: dict[str, _Action] = {}
    groups: dict[str, list[_Action]] = {}
    for index, message in enumerate(messages):
        if message.role == "user" and not users_verbatim:
            reading.lines[f"user {index}"] = _asked(bounded(message.text))
        elif message.role == "assistant":
            _read_reply(reading, f"said {index}", message, actions, groups)
        elif message.role == "tool":
            _read_result(reading, f"result {index}", message, actions)
    for key, group in groups.items():
        _finish(reading.lines[key], group)
    return reading


def bounded(text: str) -> str:
    """Return a text, or both ends of one that is too long to read whole."""
    if len(text) <= _READ_CHARS:
        return text
    return text[: _READ_CHARS * 2 // 3] + "\n" + text[-_READ_CHARS // 3 :]


def _read_reply(
    reading: Reading, key: str, message: Message, actions: dict[str, _Action], groups: dict[str, list[_Action]]
) -> None:
    """Take in an assistant message: what it says, and the tools it calls."""
    names: set[str] = set()
    if message.text.strip():
        line = reading.lines[key] = _said(bounded(message.text), report=not message.calls)
        names.update(name for unit in line.units.values() for name in _names(unit.text))
        names.update(_names(line.head))
    for call in message.calls:
        leaves = _leaves(call.arguments)
        target = _target(leaves)
        subject = f"file {target}" if target else f"call {call.name} {call.arguments[:_HEAD_CHARS]}"
        line = reading.lines.pop(subject, None) or Line("", 0.0)
        reading.lines[subject] = line
        action = actions[call.id] = _Action(call, leaves, target, line)
        groups.setdefault(subject, []).append(action)
        line.add(_argument_units(action))
        names.update(name for value in (call.name, *(text for leaf in leaves for text in leaf)) for name in _names(value))
        names.update(name for unit in line.units.values() if unit.text.startswith("`") for name in _names(unit.text))
    _count(reading.written, names)


def _read_result(reading: Reading, key: str, message: Message, actions: dict[str, _Action]) -> None:
    """Take in a tool's answer: to its call where that is among the messages, else as a line of its own."""
    text = bounded(message.text)
    answered = next((actions[name] for name in message.results if name in actions), None)
    if answered is None:
        line = reading.lines[key] = Line(f"tool result: {_clip(_first_line(text), _VALUE_CHARS)}", 0.1)
    else:
        line = answered.line
        answered.failure = _failure(text, of_file=bool(answered.target))
    units = list(_result_units(text, of_file=answered is not None and bool(answered.target)))
    _count(reading.shown, {name for unit in units for name in _names(unit.text)})
    line.add(units)


def _leaves(arguments: str) -> list[tuple[str, str]]:
    """Return (key, value) of the arguments of a call; one nameless value where they are no JSON object."""
    try:
        value = json.loads(arguments) if len(arguments) <= _READ_CHARS * 4 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return [("", bounded(arguments))]
    shown = [(str(key), leaf if isinstance(leaf, str) else json.dumps(leaf)) for key, leaf in value.items()]
    return [(key, bounded(leaf)) for key, leaf in shown]


def _target(leaves: list[tuple[str, str]]) -> str:
    """Return the file that a call is about, or ""."""
    for key, value in leaves:
        named = "path" in key.lower() or "file" in key.lower()
        if named and _PATH_VALUE.match(value) and _FILE_VALUE.match(value):
            return value
    return ""


def _finish(line: Line, group: list[_Action]) -> None:
    """Write the head of the line for the calls on one file, or for one call and its repetitions."""
    outcome = _outcome(group)
    failed = bool(group[-1].failure)
    target = group[0].target
    if target:
        names = ", ".join(_counted([action.call.name for action in group]))
        line.head, line.path, line.weight = f"{names} {target}{outcome}", target, 2.0 if failed else 1.0
        line.short = f"{names} {target.rpartition('/')[2]}{outcome}"
    else:
        times = f" x{len(group)}" if len(group) > 1 else ""
        changes = 0.8 if _CHANGES.search(group[0].call.name) else 0.3
        line.head, line.weight = f"{_call_head(group[0])}{times}{outcome}", 1.5 if failed else changes


def _outcome(group: list[_Action]) -> str:
    """Return how a group of calls ended where something went wrong in it, or ""."""
    failures = [action.failure for action in group if action.failure]
    if not failures:
        return ""
    if group[-1].failure:
        return f" -> {failures[-1]}"
    return f" -> ok at last, before: {_clip(failures[-1], _VALUE_CHARS)}"


def _call_head(action: _Action) -> str:
    """Return how a call is named in notes: the command it runs, or its short arguments."""
    for key, value in action.leaves:
        if key.lower() in _COMMAND_KEYS and value.strip():
            return f"{action.call.name}: {_clip(_one_line(value), _HEAD_CHARS)}"
    shown = [
        f"{key}: {_one_line(value)}" if key else value for key, value in action.leaves if len(value) <= _VALUE_CHARS
    ]
    if not shown and action.leaves:
        longest = max((value for _, value in action.leaves), key=len)
        return f"{action.call.name}: {_clip(_one_line(longest[: _HEAD_CHARS * 4]), _HEAD_CHARS)}"
    return f"{action.call.name}({_clip(', '.join(shown), _HEAD_CHARS)})"


def _counted(names: list[str]) -> list[str]:
    """Return each name once, in order, with how often it came."""
    return [f"{name} x{names.count(name)}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def _failure(text: str, *, of_file: bool) -> str:
    """Return what went wrong in a call, in few words, or ""; a file that was shown may speak of errors itself."""
    if of_file and len(text) > _SHORT_CHARS:
        return ""
    for line in text.splitlines()[:400]:
        if _ERROR.search(line[:400]) and not _NO_ERROR.search(line[:400]):
            return _clip(_one_line(line), _HEAD_CHARS)
    return ""


def _argument_units(action: _Action) -> Iterator[Unit]:
    """Yield what a call's arguments wrote: names by where they stand, and code lines as they stand."""
    label = "wrote" if action.target else "with"
    for key, value in action.leaves:
        if next(find_literals(key), None):
            yield Unit(key, "with")
        if value != action.target:
            for name, place in placed_literals(value).items():
                yield Unit(name, "imports" if place is Place.IMPORTED else label)
    for line in _JSON_LINE.split(bounded(action.call.arguments)):
        glued = _GLUED.match(line)
        if glued and next(find_literals(glued.group(1)[1:80]), (1, ""))[0] == 0:
            yield Unit(f"`{_clip(glued.group(1).rstrip(), _EXCERPT_CHARS)}`", label)


def _result_units(text: str, *, of_file: bool) -> Iterator[Unit]:
    """Yield what a result showed: the values of JSON with their keys, else the names in it, by where they stand."""
    facts = _facts(text)
    if facts is not None:
        yield from facts
        return
    short = _one_line(text[: _VALUE_CHARS * 2])
    if not of_file and len(text.strip()) <= _VALUE_CHARS and not _NO_OUTPUT.match(short):
        yield Unit(short, "gave", 0.3)
    for name, place in placed_literals(text).items():
        if place is Place.DEFINED:
            yield Unit(name, "defines", base=_DEFINED_WORTH)
        elif place is Place.IMPORTED:
            yield Unit(name, "imports", base=_IMPORTED_WORTH)
        else:
            listed = is_path(name) or name.isdigit() or not any(map(str.isupper, name)) and "_" not in name
            yield Unit(name, "uses" if of_file else "shows", base=_LISTED_WORTH if listed else _USED_WORTH)


def _facts(text: str) -> list[Unit] | None:
    """Return the scalar values of a JSON text with the key that each belongs to; None where it is no JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    units: list[Unit] = []
    stack: list[tuple[str, object]] = [("", value)]
    while stack and len(units) < _MOST_FACTS:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((str(name), item) for name, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((key, item) for item in reversed(value))
        elif value is not None and value != "":
            units.append(_fact(key, _clip(_one_line(str(value)), _VALUE_CHARS)))
    return units


def _fact(key: str, value: str) -> Unit:
    """Return one value of JSON under its key."""
    base = _STAMP_WORTH if _STAMP.match(value) else _NAMING_WORTH if _NAMING_KEY.search(key) else _FACT_WORTH
    return Unit(value, key or "gave", 0.05 if base > _STAMP_WORTH else 0.0, base)


def _asked(text: str) -> Line:
    """Return the line for what a user said."""
    sentences = list(_sentences(text))
    line = Line(f"asked: {_clip(sentences[0], _SENTENCE_CHARS) if sentences else ''}", 2.0)
    line.add(_sentence_unit(sentence, 0.3) for sentence in sentences[1:60])
    line.add(Unit(name, "names", base=_FACT_WORTH) for name in placed_literals(text))
    return line


def _said(text: str, *, report: bool) -> Line:
    """Return the line for what the assistant said; `report`: it answered, and did not go on to call a tool."""
    parts = _FENCE.split(text)
    prose = [sentence for part in parts[::2] for sentence in _sentences(part)]
    opening = next((at for at, sentence in enumerate(prose) if len(sentence) >= 25), 0)
    head = _clip(prose[opening], _SENTENCE_CHARS) if prose else "code"
    weight = 0.02 if _FILLER.match(head) else _sentence_unit(head, 0.2 if report else 0.05).weight
    line = Line(f"said: {head}", weight)
    line.add(_sentence_unit(sentence, 0.0) for sentence in prose[opening + 1 : opening + 80])
    for at, part in enumerate(parts):
        for name, place in placed_literals(part).items():
            line.add([Unit(name, place.value if at % 2 and place is not Place.USED else "names")])
    return line


def _sentence_unit(sentence: str, least: float) -> Unit:
    """Return a sentence as a unit: worth more with a decision, a finding, names or numbers in it."""
    named = min(4, sum(1 for _ in _NAMED.finditer(sentence[:_SENTENCE_CHARS])))
    weight = least + 0.12 * named + (0.8 if _DECISION.search(sentence) else 0.0)
    return Unit(_clip(sentence, _SENTENCE_CHARS), "", weight)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text, without blank ones, each on one line."""
    for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", text)):
        line = _one_line(sentence)
        if sum(map(str.isalpha, line[:_SENTENCE_CHARS])) >= 3:
            yield line


@lru_cache(maxsize=16_384)
def names_in(text: str) -> frozenset[str]:
    """Return the literals of a short text; the same few thousand are asked for again and again at an event."""
    return frozenset(_names(text))


def _count(counts: dict[str, float], names: Iterable[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0.0) + 1.0


def _names(text: str) -> Iterator[str]:
    return (name for _, name in find_literals(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _first_line(text: str) -> str:
    return next((_one_line(line) for line in text[:2000].splitlines() if line.strip()), "")


def _clip(text: str, most_chars: int) -> str:
    """Return a text cut behind a whole word, with a mark where it was cut."""
    if len(text) <= most_chars:
        return text
    cut = text[: most_chars + 1].rpartition(" ")[0]
    if len(cut) < most_chars // 2:
        cut = _NAME_END.sub("", text[:most_chars])
    return cut.rstrip() + " …"
