"""Reading messages into lines of notes: what was asked, done, found and decided, each with its subject in front."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from squidbot.core.markers import ARTIFACT, parted
from squidbot.core.messages import Category
from squidbot.core.notes.calls import CHANGES, bounded, leaves_of, target_of
from squidbot.core.notes.literals import Place, find_literals, is_path, placed_literals
from squidbot.core.notes.quotes import (
    NAMED_WORTH,
    VALUE_CHARS,
    Unit,
    clip,
    failure,
    json_lines,
    names_in,
    one_line,
    sentence,
    sentences,
    shown,
)
from squidbot.core.view.marks import recalled_ids, without_recalled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.markers import MarkedLine
    from squidbot.core.messages import Message, ToolCall

__all__ = ["Line", "Reading", "Unit", "bounded", "names_in", "read"]

_HEAD_CHARS = 160
_MOST_SENTENCES = 80
# A path from here on is written once; after that its last part tells enough.
_LONG_PATH_CHARS = 20
# A shorter sentence ("Done.", "Good idea!") tells nothing alone.
_OPENING_CHARS = 25

# What a line's head is worth beside the literals in it: a user's words and changed files most, then what failed.
_ASKED_WEIGHT, _CHANGED_FILE_WEIGHT, _FILE_WEIGHT = 2.0, 1.6, 0.8
_FAILED_WEIGHT, _MENDED_WEIGHT, _CHANGE_WEIGHT, _CALL_WEIGHT = 1.4, 0.8, 0.8, 0.4
# What the first sentence that is no greeting and the others are worth for being said: in a chat without tools, in an
# answer, and in a remark before a call.
_CHAT_WEIGHTS, _ANSWER_WEIGHTS, _REMARK_WEIGHTS = (0.5, 0.2), (0.5, 0.0), (0.05, 0.0)
_LABEL_RANK = {"wrote": 0, "with": 0, Place.DEFINED.value: 1, Place.IMPORTED.value: 2}

_FENCE = re.compile(r"^[^\S\n]*+```.*$", re.MULTILINE)
_COMMAND_KEYS = frozenset({"command", "cmd", "script", "code", "input", "shell"})


@dataclass(slots=True)
class Line:
    """One line that notes could hold: a subject, and what can be told of it.

    Attributes:
        head: the subject and what was done with it; always written when the line is.
        weight: what the head is worth beside the literals in it.
        units: further words by their text, in order of appearance.
        short: the head to write when `path` is known to the reader already; "" where there is no shorter one.
        path: the path that `short` leaves out.
        fading: what age has left of the worth of its units; the units stay as they were read, and are shared.
    """

    head: str
    weight: float
    units: dict[str, Unit] = field(default_factory=dict)
    short: str = ""
    path: str = ""
    fading: float = 1.0

    @property
    def told(self) -> dict[str, Unit]:
        """The units at their present worth."""
        if self.fading == 1.0:
            return self.units
        left = self.fading
        return {text: Unit(text, unit.label, unit.weight * left, unit.base * left) for text, unit in self.units.items()}

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

    @property
    def size(self) -> int:
        """How many units there are in all lines."""
        return sum(len(line.units) for line in self.lines.values())

    def gain(self, unit: Unit) -> float:
        """Return what words are worth with all literals in them."""
        return unit.weight + sum(self.worth(name, unit.base) for name in names_in(unit.text))


@dataclass(slots=True)
class _Action:
    """One tool call: its arguments as text and as (key, value), the file it is about, its line, what went wrong."""

    name: str
    arguments: str
    leaves: list[tuple[str, str]]
    target: str
    line: Line
    failure: str = ""


@dataclass(slots=True)
class _Reader:
    """The state of reading messages in order: calls by id, to find what answers them, and by subject.

    `tools` tells whether there are calls at all: in a chat without tools what is said is all there is. `passed` are the
    calls that asked for what was said before.
    """

    tools: bool
    passed: frozenset[str] = frozenset()
    reading: Reading = field(default_factory=Reading)
    actions: dict[str, _Action] = field(default_factory=dict)
    groups: dict[str, list[_Action]] = field(default_factory=dict)

    def reply(self, key: str, message: Message) -> None:
        """Take in an assistant message: what it says, and the tools it calls."""
        # Goals and decisions stand word for word beside every note: they are not told once more in it.
        text, marked = parted(bounded(message.text))
        names = self._marked(marked)
        if text.strip():
            weights = _REMARK_WEIGHTS if message.calls else _ANSWER_WEIGHTS if self.tools else _CHAT_WEIGHTS
            line = self.reading.lines[key] = _said(text, weights)
            names.update((name, None) for text in (line.head, *line.units) for name in names_in(text))
        for call in (one for one in message.calls if one.id not in self.passed):
            action = self._called(call)
            texts = action.name, *_flat(action.leaves), *json_lines(action.arguments)
            names.update((name, None) for text in texts for _, name in find_literals(text))
        _count(self.reading.written, names)

    def result(self, key: str, message: Message) -> None:
        """Take in a tool's answer: to its call where that is among the messages, else as a line of its own."""
        text = bounded(without_recalled(message.text))
        action = next((self.actions[name] for name in message.results if name in self.actions), None)
        of_file = action is not None and bool(action.target)
        if action is None:
            head = f"tool result: {clip(_first_line(text), VALUE_CHARS)}"
            line = self.reading.lines[key] = Line(head, _REMARK_WEIGHTS[0])
        else:
            line = action.line
            action.failure = failure(text, of_file=of_file)
        units = list(shown(text, of_file=of_file))
        line.add(units)
        _count(self.reading.shown, dict.fromkeys(name for unit in units for name in names_in(unit.text)))

    def recalled(self, key: str, message: Message) -> None:
        """Take in what was brought back: no more than that it was, since its words are noted where they were said."""
        ids = recalled_ids(message.text)
        if ids:
            self.reading.lines[key] = Line(f"{ids} recalled", _CALL_WEIGHT)

    def _marked(self, lines: Sequence[MarkedLine]) -> dict[str, None]:
        """Take in that files were made, as the last that was done with each; return the names in marked lines."""
        for said in (one.said for one in lines if one.marker == ARTIFACT):
            target = target_of([("path", word.strip("`'\"*,;:()")) for word in said.split()])
            line = self._line(f"file {target}" if target else f"made {said[:_HEAD_CHARS]}")
            line.head, line.weight, line.path = clip(one_line(said), _HEAD_CHARS), _CHANGED_FILE_WEIGHT, target
        return dict.fromkeys(name for one in lines for _, name in find_literals(one.line))

    def _line(self, subject: str) -> Line:
        """Return the line of a subject, moved behind all others."""
        line = self.reading.lines[subject] = self.reading.lines.pop(subject, Line("", 0.0))
        return line

    def _called(self, call: ToolCall) -> _Action:
        name, arguments = clip(one_line(call.name[:_HEAD_CHARS]), VALUE_CHARS), bounded(call.arguments)
        leaves = leaves_of(call.arguments)
        target = target_of(leaves)
        subject = f"file {target}" if target else f"call {name} {arguments[:_HEAD_CHARS]}"
        action = self.actions[call.id] = _Action(name, arguments, leaves, target, self._line(subject))
        self.groups.setdefault(subject, []).append(action)
        action.line.add(_argument_units(action))
        return action


def read(messages: Sequence[Message], *, users_verbatim: bool) -> Reading:
    """Return the lines that could be written about some messages."""
    reader = _Reader(tools=any(message.calls for message in messages), passed=_passed(messages))
    for index, message in enumerate(messages):
        if message.category is Category.FORGOTTEN:
            continue
        if message.category is Category.RECALLED:
            reader.recalled(f"recalled {index}", message)
        elif message.role == "user" and not users_verbatim:
            reader.reading.lines[f"user {index}"] = _asked(bounded(message.text))
        elif message.role == "assistant":
            reader.reply(f"said {index}", message)
        elif message.role == "tool":
            reader.result(f"result {index}", message)
    for subject, group in reader.groups.items():
        _finish(reader.reading.lines[subject], group)
    return reader.reading


def _passed(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the calls that were answered by what was said before."""
    again = (message for message in messages if message.category is Category.RECALLED)
    return frozenset(call_id for message in again for call_id in message.results)


def _flat(leaves: list[tuple[str, str]]) -> Iterator[str]:
    return (text for leaf in leaves for text in leaf)


def _argument_units(action: _Action) -> Iterator[Unit]:
    """Yield what a call's arguments wrote: names by where they stand, and code lines as they stand."""
    label = "wrote" if action.target else "with"
    for key, value in action.leaves:
        if names_in(key):
            yield Unit(key, "with")
        if value != action.target:
            for name, place in placed_literals(value).items():
                yield Unit(name, place.value if place is Place.IMPORTED else label)
    for line in json_lines(action.arguments):
        yield Unit(line, label)


def _finish(line: Line, group: list[_Action]) -> None:
    """Write the head of the line for the calls on one file, or for one call and its repetitions."""
    outcome, failed, target = _outcome(group), bool(group[-1].failure), group[0].target
    changed = any(CHANGES.search(action.name) for action in group)
    if target:
        names = ", ".join(_counted([action.name for action in group]))
        line.head, line.path = f"{names} {target}{outcome}", target
        line.short = f"{names} {target.rpartition('/')[2]}{outcome}"
        line.weight = _CHANGED_FILE_WEIGHT if changed else _FAILED_WEIGHT if failed else _FILE_WEIGHT
        return
    head, times = _call_head(group[0]), f" x{len(group)}" if len(group) > 1 else ""
    line.head, line.path = f"{head}{times}{outcome}", _longest_path(head)
    line.short = f"{head.replace(line.path, _last_part(line.path))}{times}{outcome}" if line.path else ""
    mended = _MENDED_WEIGHT if outcome else _CALL_WEIGHT
    line.weight = _FAILED_WEIGHT if failed else max(mended, _CHANGE_WEIGHT * changed)


def _last_part(path: str) -> str:
    return f"\u2026/{path.rpartition('/')[2]}"


def _longest_path(head: str) -> str:
    """Return the path in a head that is worth writing once only, or "": an absolute one first, then the longest."""
    long = (name for name in names_in(head) if len(name) >= _LONG_PATH_CHARS and is_path(name))
    return max(long, key=lambda path: (path.startswith(("/", "~")), len(path), path), default="")


def _outcome(group: list[_Action]) -> str:
    """Return how a group of calls ended where something went wrong in it, or ""."""
    failures = [action.failure for action in group if action.failure]
    if not failures:
        return ""
    if group[-1].failure:
        return f" -> {failures[-1]}"
    return f" -> ok at last, before: {clip(failures[-1], VALUE_CHARS)}"


def _call_head(action: _Action) -> str:
    """Return how a call is named in notes: the command it runs, else its short arguments, else the longest's start."""
    name = action.name
    for key, value in action.leaves:
        if key.lower() in _COMMAND_KEYS and value.strip():
            return f"{name}: {clip(one_line(value), _HEAD_CHARS)}"
    short = [
        f"{key}: {one_line(value)}" if key else one_line(value)
        for key, value in action.leaves
        if 0 < len(value) <= VALUE_CHARS
    ]
    longest = max((value for _, value in action.leaves), key=len, default="")
    if not short and longest.strip():
        return f"{name}: {clip(one_line(longest[: _HEAD_CHARS * 4]), _HEAD_CHARS)}"
    return f"{name}({clip(', '.join(short), _HEAD_CHARS)})"


def _counted(names: list[str]) -> list[str]:
    """Return each name once, in order, with how often it came."""
    return [f"{name} x{names.count(name)}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def _asked(text: str) -> Line:
    """Return the line for what a user said."""
    line = _telling("asked", list(islice(sentences(text), _MOST_SENTENCES)), _ASKED_WEIGHT, 0.3)
    line.add(Unit(name, "names", base=NAMED_WORTH) for name in placed_literals(text))
    return line


def _said(text: str, weights: tuple[float, float]) -> Line:
    """Return the line for what the assistant said; `weights` of its first sentence and of the others."""
    parts = _FENCE.split(text)
    prose = list(islice((part for words in parts[::2] for part in sentences(words)), _MOST_SENTENCES))
    line = _telling("said", prose, *weights)
    for at, words in enumerate(parts):
        line.add(_spoken(words, code=bool(at % 2)))
    return line


def _telling(verb: str, said: list[str], first: float, other: float) -> Line:
    """Return a line that opens with the sentence that tells most; `first` is added to the first that is no greeting."""
    opening = _opening(said)
    units = [sentence(part, first if at == opening else other) for at, part in enumerate(said)]
    if not units:
        return Line(f"{verb}: code", 0.0)
    best = max(units, key=lambda unit: unit.weight)
    line = Line(f"{verb}: {clip(best.text, _HEAD_CHARS)}", best.weight)
    line.add(unit for unit in units if unit is not best)
    return line


def _opening(said: Sequence[str]) -> int:
    """Return the first sentence that is more than a greeting."""
    return next((at for at, part in enumerate(said) if len(part) >= _OPENING_CHARS), 0)


def _spoken(words: str, *, code: bool) -> Iterator[Unit]:
    """Yield the names that the assistant wrote in prose, or in code between fences."""
    for name, place in placed_literals(words).items():
        yield Unit(name, place.value if code and place is not Place.USED else "names")


def _first_line(text: str) -> str:
    return next((one_line(line) for line in text[:2000].splitlines() if line.strip()), "")


def _count(counts: dict[str, float], names: Iterable[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0.0) + 1.0
