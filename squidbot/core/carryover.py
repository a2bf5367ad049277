"""The text that an agent gets after a compaction of its own: what its summary of the conversation left out.

The user's words, goals, what is to do, the newest calls and statements; and exact names, each with the file or call
that it stood in. What is worth its tokens most is told first, and nothing that the summary says.

A hook waits for it, so that only the newest messages are read for what was done, and no more of them than can be read
in some 20 ms.
"""

from __future__ import annotations

import heapq
import json
import math
import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.literals import (
    IN_USE_WORTH,
    OUTPUT_WORTH,
    about_tokens,
    find_literals,
    form_worth,
    literals_of,
    names_in,
)
from squidbot.core.messages import Category
from squidbot.core.notes.calls import (
    CHANGES,
    COMMAND_KEYS,
    DONE_STATES,
    failure,
    leaves_of,
    patched,
    said_refusing,
    steps_listed,
    target_of,
    task_made,
    task_updated,
    written_in,
)
from squidbot.core.text import bounded, clip, one_line, span
from squidbot.core.transcript.markers import (
    CHECKPOINT,
    DECISION,
    GOAL,
    NEXT,
    MarkedMessage,
    Markers,
    counted_lines,
)
from squidbot.core.view.marks import fence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Role, ToolCall

LIMIT_TOKENS: Final = 1_500
# Where Claude Code cuts what a hook adds to the conversation.
LIMIT_CHARS: Final = 10_000


class CarriedMessage(NamedTuple):
    """What is read of a message; the fields are those of `Message` and `StoredMessage`."""

    seq: int
    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()
    category: Category = Category.DIALOG


# Texts on 24 recorded sessions cost 1.03 times (.99 to 1.10) as many tokens of o200k as `about_tokens` has it. Those in
# other alphabets cost more, by their bytes: Russian and Chinese come out a tenth too high.
_ROUGH_FACTOR, _BYTE_TOKENS = 1.09, 0.2


def rough_tokens(text: str) -> int:
    """Return about how many tokens of o200k a text of this module takes, seldom fewer; it needs no tables."""
    beyond = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return math.ceil(_ROUGH_FACTOR * (sum(map(about_tokens, text.split("\n"))) + _BYTE_TOKENS * beyond))


def carryover(  # noqa: PLR0913 - one keyword for each thing that a caller may know
    messages: Iterable[CarriedMessage],
    summary: str,
    *,
    limit_tokens: int = LIMIT_TOKENS,
    limit_chars: int = LIMIT_CHARS,
    recall: str = "",
    goals: str = "",
    project: str = "",
    count: Callable[[str], int] = rough_tokens,
    redact: Callable[[str], str] | None = None,
) -> str:
    """Return what a summary of messages left out, of at most `limit_tokens` by `count`; "" for nothing.

    `messages` are those before the compaction in order of seq: all of the user's that may be quoted, and of the others
    at least the newest `NEWEST_MESSAGES`. `recall` is the sentence behind the text that says how to get more back.
    `goals` are the goals that were set by calls, a line each (`goals_text`); marked lines are found in the messages.
    Paths in the folder `project` are told as relative ones. `redact` takes secrets out of a text, before it is cut.
    """
    rows = tuple(messages)
    known = _Known(summary, project, redact)
    work = _Work.of(rows[-NEWEST_MESSAGES:], known)
    picks = [*_users(rows, work, known, limit_tokens), *_goals(rows, goals, known), *_state(work, known)]
    picks += _ranked(work, known, picks, limit_tokens)
    about = span(rows[0].seq, rows[-1].seq) if rows else ""
    low, high, best = 1, len(picks), ""
    while low <= high:
        middle = (low + high) // 2
        text = _text(picks[:middle], about, recall)
        if count(text) <= limit_tokens and len(text) <= limit_chars:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


class _Part(IntEnum):
    """The parts of the text, in order."""

    USER = 0
    GOALS = 1
    FILES = 2
    CALLS = 3
    SAID = 4
    STATE = 5


_TITLES: Final = {
    _Part.USER: "The user wrote:",
    _Part.GOALS: "Goals and decisions:",
    _Part.FILES: "Files, the newest last, with lines and names in them:",
    _Part.CALLS: "Calls, with names that they showed:",
    _Part.SAID: "The assistant wrote:",
    _Part.STATE: "Where the work stood when it was compacted:",
}


class _Pick(NamedTuple):
    """Some words of the text: its part, its place in it, and the line that it continues; "" for one of its own."""

    part: _Part
    place: tuple[int, ...]
    text: str
    line: str = ""


class _Known:
    """What the summary says already, and how texts are cleaned before they are read: of secrets, of the folder's path.

    Attributes:
        names: the literals in it.
    """

    def __init__(self, summary: str, project: str, redact: Callable[[str], str] | None) -> None:
        self._folder = f"{project.rstrip('/')}/" if project.strip("/") else ""
        self._redact = redact
        text = bounded(summary)
        if self._folder:
            text = text.replace(self._folder, "")
        self.names = literals_of(text)
        self._said = one_line(text)

    def says(self, text: str) -> bool:
        """Return whether the summary has these words."""
        return len(text) <= 2 * len(self._said) and one_line(text) in self._said

    def cleaned(self, text: str) -> str:
        """Return a text without secrets, in which paths below the project's folder are relative."""
        if self._redact:
            text = self._redact(text)
        return text.replace(self._folder, "") if self._folder else text


# What the user wrote.

# The share of the tokens that the user's words may take, and what one message may take at most whole.
_USERS_FRACTION, _WHOLE_TOKENS = 0.55, 520
# Older messages are not looked at, but for the first one.
_MOST_USERS = 200
# A longer message is cut to its beginning and its end.
_BEGIN_CHARS, _END_CHARS = 300, 160
_QUESTION_CHARS = 120
# Such a message answers what the assistant said before.
_ANSWER_CHARS = 60
_DECIDES: Final = re.compile(
    r"\b(?:don't|do not|never|always|must|should|instead|prefer|only|decided?|let's|go with|option|not|want|keep|stop|"
    r"rather|make sure|remember|use)\b",
    re.IGNORECASE,
)
_COMMAND: Final = re.compile(r"<command-(name|args)>([^<]*)</command-")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])\s+|\n+")


def _users(rows: Sequence[CarriedMessage], work: _Work, known: _Known, limit_tokens: int) -> list[_Pick]:
    """Return what the user wrote that the summary does not say; the newest and most decisive is chosen first."""
    own = [at for at, row in enumerate(rows) if row.role == "user" and row.category is Category.DIALOG]
    own = [at for at in own if not rows[at].results]
    told: set[str] = set()
    ranked = [(1.0, seq, -1, f"refusing {call}", words) for seq, call, words in work.refusals]
    for back, at in enumerate(reversed([*own[:1], *own[1:][-_MOST_USERS:]])):
        text = _typed(known.cleaned(bounded(rows[at].text.strip())))
        if not text or text in told or known.says(text):
            continue
        told.add(text)
        decides = len(text) <= _BEGIN_CHARS * 5 and bool(_DECIDES.search(text))
        worth = 1 / (1 + 0.15 * back) + 0.3 * decides + 0.4 * (at == own[0])
        ranked.append((worth, rows[at].seq, at, "", text))
    room = limit_tokens * _USERS_FRACTION
    picks = []
    for _, seq, at, refusing, text in sorted(ranked, key=lambda each: (-each[0], -each[1])):
        for shown in (_indented(text) if len(text) <= _WHOLE_TOKENS * 6 else "", _cut(text)):
            tokens = rough_tokens(shown)
            if shown and tokens <= min(room, _WHOLE_TOKENS):
                about = refusing or _asked(rows, at, text, known)
                picks.append(_Pick(_Part.USER, (seq,), f"m{seq}{f', {about}' if about else ''}: {shown}"))
                room -= tokens
                break
    return picks


def _typed(text: str) -> str:
    """Return a command of Claude Code as it was typed; any other text as it is."""
    if not text.startswith("<command-"):
        return text
    parts = dict(_COMMAND.findall(text))
    return f"{parts['name']} {parts.get('args', '')}".strip() if "name" in parts else text


def _asked(rows: Sequence[CarriedMessage], at: int, text: str, known: _Known) -> str:
    """Return what a short message answers, for its label; "" for a longer one."""
    before = next((row for row in reversed(rows[max(0, at - 4) : at]) if row.role == "assistant"), None)
    if len(text) > _ANSWER_CHARS or before is None or text.startswith("/"):
        return ""
    said = known.cleaned(bounded(before.text))[-_BEGIN_CHARS * 4 :]
    parts = [part for part in _SENTENCE_END.split(said) if any(map(str.isalpha, part))]
    asked = next((part for part in reversed(parts) if part.endswith("?")), parts[-1] if parts else "")
    return f'to "{clip(one_line(asked), _QUESTION_CHARS)}"' if asked else ""


def _indented(text: str) -> str:
    """Return a text whose further lines are indented, without blank ones and tabs."""
    return "\n  ".join(line.rstrip().replace("\t", " ") for line in text.splitlines() if line.strip())


def _cut(text: str) -> str:
    """Return the beginning and the end of a text, and how long it is."""
    end = text[-_END_CHARS:].partition(" ")[2] or text[-_END_CHARS:]
    return _indented(f"{clip(text[: _BEGIN_CHARS + 80], _BEGIN_CHARS)} [{len(text):,} characters] {end}")


# Goals and marked lines.

_LINE_CHARS, _MOST_LINES = 400, 20
_MARKS: Final = tuple(f"[{marker}]" for marker in (GOAL, DECISION, CHECKPOINT, NEXT))


def _may_mark(text: str) -> bool:
    return "[" in text and any(mark in text for mark in _MARKS)


def _goals(rows: Sequence[CarriedMessage], goals: str, known: _Known) -> list[_Pick]:
    """Return goals, and the lines that messages mark."""
    marking = [
        MarkedMessage(row.seq, tuple(line.line for line in counted_lines(row.role, bounded(row.text))))
        for row in rows
        if row.role in {"user", "assistant"} and row.category is Category.DIALOG and _may_mark(row.text)
    ]
    marked = Markers.of([each for each in marking if each.lines]).between(0, rows[-1].seq) if marking else []
    lines = dict.fromkeys(known.cleaned(line.strip()) for line in (*goals.splitlines(), *marked))
    told = [line for line in lines if line and not known.says(line)][:_MOST_LINES]
    return [_Pick(_Part.GOALS, (at,), clip(one_line(line), _LINE_CHARS)) for at, line in enumerate(told)]


# What was done: files, calls and statements, and the names in them.

NEWEST_MESSAGES: Final = 300
# What is read: of one call's value, of a text, of a result, and of all together, in characters.
_VALUE_CHARS, _TEXT_CHARS, _RESULT_CHARS, _ALL_CHARS = 4_000, 3_000, 800, 150_000
# How errors are looked for: in both ends of results, among the newest messages.
_ENDS_CHARS, _FAILED_MESSAGES = 4_000, 120
# Older calls and statements do not show where the work stands.
_RECENT_MESSAGES = 80
_HEAD_CHARS, _ERROR_CHARS = 140, 120
_PASSED: Final = frozenset({Category.RECALLED, Category.FORGOTTEN, Category.AUTOMATED})


class _Unit(NamedTuple):
    """Words that can stand behind a line, their place in it, and what they are worth beside the names in them."""

    place: tuple[int, int]
    text: str
    worth: float = 0.0


@dataclass(slots=True)
class _WorkLine:
    """A file or a call, and what can be told of it.

    Attributes:
        part: FILES or CALLS.
        name: the path, or the call.
        seq, age: the newest call on it, and how many messages ago that was.
        call_id: that call's id.
        changes: how many calls changed it.
        times: how many calls there were.
        units: what can stand behind it, the best first.
    """

    part: _Part
    name: str
    seq: int
    age: int
    call_id: str
    changes: int = 0
    times: int = 0
    units: list[_Unit] = field(default_factory=list)


class _LastUse(NamedTuple):
    """Where a name stood last: in a line, or in what the assistant said (None), in a text at a position."""

    line: _WorkLine | None
    seq: int
    age: int
    text: str
    at: int


# What is hardly ever a name: of a tag or a comment, of a line that a search numbered, of a format; two words of prose.
_ODD: Final = re.compile(r"/[\w-]+\Z|\d-[A-Za-z]|[a-z]\.[a-z]")
_ODD_IN_PROSE: Final = re.compile(rf"{_ODD.pattern}|(?<![A-Za-z/])[A-Za-z]++(?:/[A-Za-z]++|(?!))++\Z")
_ODD_FACTOR: Final = 0.3


class _NewestCall(NamedTuple):
    """The newest call of a tool."""

    seq: int
    name: str
    leaves: list[tuple[str, str]]
    call_id: str


@dataclass(slots=True)
class _Work:
    """What was done in some messages, read from the newest to the oldest.

    Attributes:
        room: how many more characters are read.
        answers: the results of calls, by the call's id.
        lines: files and calls, by what tells them apart.
        calls: the line of each call, by its id.
        written: how often the assistant wrote a name, faded by age.
        shown: how often a tool showed one.
        places: where each name stood last: written, else shown.
        steps: (seq, state, words) of what is to do; is_listed: whether they are from a list.
        states: the newest state of each task, by its id.
        newest: the newest call of each tool, the newest first.
        said: (seq, text) of what the assistant said, the newest first.
        tools: the name of the tool of each call, by the call's id.
        refusals: (seq, call, words) of what the user said in refusing a call.
    """

    known: _Known
    room: int = _ALL_CHARS
    answers: dict[str, CarriedMessage] = field(default_factory=dict)
    lines: dict[str, _WorkLine] = field(default_factory=dict)
    calls: dict[str, _WorkLine] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    places: dict[str, _LastUse] = field(default_factory=dict)
    steps: list[tuple[int, str, str]] = field(default_factory=list)
    is_listed: bool = False
    states: dict[str, str] = field(default_factory=dict)
    newest: dict[str, _NewestCall] = field(default_factory=dict)
    said: list[tuple[int, str]] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    refusals: list[tuple[int, str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[CarriedMessage], known: _Known) -> _Work:
        """Return what was done in these messages: first what the assistant wrote, then what tools answered."""
        work = cls(known, answers={call_id: row for row in rows for call_id in row.results})
        recent = [(age, row) for age, row in enumerate(reversed(rows)) if row.category not in _PASSED]
        for age, row in recent:
            if row.role == "assistant" and work.room > 0:
                work._reply(row, age)
        for age, row in recent:
            if row.results and work.room > 0:
                work._result(row, age)
        return work

    def _reply(self, row: CarriedMessage, age: int) -> None:
        """Take in an assistant's message."""
        text = self.known.cleaned(row.text[: _TEXT_CHARS * 2])[:_TEXT_CHARS]
        names: set[str] = set()
        if text.strip():
            if age <= _RECENT_MESSAGES:
                self.said.append((row.seq, text))
            self._names(text, None, row.seq, age, names)
        for call in row.calls:
            self._call(call, row.seq, age, names)
        fading = math.exp(-age / _FADING_MESSAGES)
        for name in names:
            self.written[name] = self.written.get(name, 0.0) + fading

    def _call(self, call: ToolCall, seq: int, age: int, names: set[str]) -> None:
        """Take in a call: what is to do by it, the files it is about, or itself."""
        self.room -= len(call.arguments)
        leaves = [(key, value[:_VALUE_CHARS]) for key, value in leaves_of(self.known.cleaned(call.arguments))]
        if self._plans(call, seq, leaves):
            return
        tool = self.tools[call.id] = clip(one_line(call.name[:_HEAD_CHARS]), _SHORT_CHARS)
        if age <= _RECENT_MESSAGES:
            self.newest.setdefault(tool, _NewestCall(seq, tool, leaves, call.id))
        target = target_of(leaves)
        changes = not target or bool(CHANGES.search(call.name))
        written = [(target, value) for key, value in leaves if not _is_old(key)] if target else _changed(leaves)
        for path in dict.fromkeys(path for path, _ in written):
            line = self._line(_Part.FILES, path, seq, age, call.id)
            line.changes += changes
            self.calls.setdefault(call.id, line)
            names.update(names_in(path))
        if not written:
            self.calls[call.id] = self._line(_Part.CALLS, _call_head(tool, leaves), seq, age, call.id)
            written = [("", value) for _, value in leaves]
        for path, text in written:
            if text != path:
                self._names(text, self.lines.get(path) or self.calls[call.id], seq, age, names)

    def _plans(self, call: ToolCall, seq: int, leaves: list[tuple[str, str]]) -> bool:
        """Take in a call that says what is to do; return whether it is one."""
        if steps := steps_listed(leaves):
            if not self.is_listed:
                self.is_listed = True
                self.steps += [(seq, state, words) for state, words in reversed(steps)]
            return True
        if task := task_updated(leaves):
            self.states.setdefault(task[1], task[2])
            return True
        answer = self.answers.get(call.id)
        made = task_made(answer.text[:_HEAD_CHARS], leaves) if answer else None
        if made:
            self.steps.append((seq, self.states.get(made[0], "pending"), made[1]))
        return made is not None

    def _line(self, part: _Part, name: str, seq: int, age: int, call_id: str) -> _WorkLine:
        line = self.lines.setdefault(name, _WorkLine(part, name, seq, age, call_id))
        line.times += 1
        return line

    def _names(self, text: str, line: _WorkLine | None, seq: int, age: int, names: set[str]) -> None:
        """Take in the names that the assistant wrote in a text."""
        self.room -= len(text)
        for at, name in find_literals(text):
            names.add(name)
            if name not in self.places:
                self.places[name] = _LastUse(line, seq, age, text, at)

    def _result(self, row: CarriedMessage, age: int) -> None:
        """Take in the answer to a call: the names that it shows, or what the user said in refusing it."""
        line = self.calls.get(row.results[0])
        if line is None:
            return
        text = self.known.cleaned(row.text[: _RESULT_CHARS * 4])
        if words := said_refusing(text):
            name = line.name if line.part is _Part.CALLS else f"{self.tools[row.results[0]]} {line.name}"
            if not self.known.says(words):
                self.refusals.append((row.seq, clip(name, _QUESTION_CHARS), words))
            return
        text = text[:_RESULT_CHARS].rpartition("\n")[0] if len(text) > _RESULT_CHARS else text
        self.room -= len(text)
        for name in dict.fromkeys(name for _, name in find_literals(text)):
            self.shown[name] = self.shown.get(name, 0) + 1
            if name not in self.places:
                self.places[name] = _LastUse(line, row.seq, age, "", 0)

    def worth(self, name: str) -> float:
        """Return how likely a name is to be written again, as notes have it (`NoteMaterial.worth`)."""
        place = self.places[name]
        is_in_file = place.line is not None and place.line.part is _Part.FILES
        worth = form_worth(name) * (_ODD_FACTOR if (_ODD if is_in_file else _ODD_IN_PROSE).match(name) else 1.0)
        if times := self.written.get(name):
            return worth * 0.6 * (1.0 - math.exp(-0.8 * times))
        base = IN_USE_WORTH if is_in_file else OUTPUT_WORTH
        often = 1.5 if self.shown[name] > 1 else 1.0
        return worth * base * often * math.exp(-place.age / _FADING_MESSAGES)

    def short(self, path: str) -> str:
        """Return the last part of a path that the summary has, if it names no other file here."""
        last = path.rpartition("/")[2]
        return path if sum(name.rpartition("/")[2] == last for name in self.lines) > 1 else last

    def error_of(self, call_id: str, age: int, *, of_file: bool) -> str:
        """Return the error of a call in few words; "" for none, and for one that is long ago."""
        answer = self.answers.get(call_id)
        if answer is None or age > _FAILED_MESSAGES:
            return ""
        text = answer.text
        ends = text if len(text) <= 2 * _ENDS_CHARS else f"{text[:_ENDS_CHARS]}\n{text[-_ENDS_CHARS:]}"
        return clip(failure(self.known.cleaned(ends), of_file=of_file), _ERROR_CHARS)

    def outcome_of(self, call: _NewestCall) -> str:
        """Return how a call ended, in few words: its error; of a command, else, the last line of its output."""
        line, answer = self.calls.get(call.call_id), self.answers.get(call.call_id)
        error = self.error_of(call.call_id, 0, of_file=line is not None and line.part is _Part.FILES)
        if error or answer is None or not any(key.lower() in COMMAND_KEYS for key, _ in call.leaves):
            return error
        lines = [line for line in self.known.cleaned(answer.text[-_ENDS_CHARS:]).splitlines() if line.strip()]
        return clip(one_line(lines[-1]), _ERROR_CHARS) if lines else ""


def _is_old(key: str) -> bool:
    """Return whether an argument holds what an edit takes away."""
    return key.lower().startswith("old")


def _changed(leaves: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the files that a patch or a shell command's text changes, with what it writes to each."""
    return patched(leaves) or written_in(leaves)[0]


def _call_head(name: str, leaves: list[tuple[str, str]]) -> str:
    """Return a call in one line: its command, or its short arguments."""
    for key, value in leaves:
        if key.lower() in COMMAND_KEYS and value.strip():
            return f"{name}: {clip(one_line(value[: _HEAD_CHARS * 4]), _HEAD_CHARS)}"
    short = (f"{key}: {one_line(value)}" for key, value in leaves if 0 < len(value) <= _HEAD_CHARS // 2)
    return f"{name}({clip(', '.join(short), _HEAD_CHARS)})"


# Where the work stood.

_MOST_STEPS, _MOST_CALLS, _STEP_CHARS = 8, 6, 120
# What is shown of a call's argument; of what an edit writes, and of a command; of a statement.
_SHORT_CHARS, _EDIT_CHARS, _SAID_CHARS = 48, 96, 320
# A shorter statement only announces the next step.
_TELLING_CHARS, _TELLING_MESSAGES = 160, 12


def _state(work: _Work, known: _Known) -> list[_Pick]:
    """Return what is to do, what the assistant said last, and the newest call of each tool."""
    steps = [step for step in reversed(work.steps) if step[1].lower() not in DONE_STATES and not known.says(step[2])]
    picks = [
        _Pick(_Part.STATE, (0, at), f"to do [{clip(one_line(state), 20)}]: {clip(words, _STEP_CHARS)}")
        for at, (_, state, words) in enumerate(steps[:_MOST_STEPS])
    ]
    telling = [each for each in work.said[:_TELLING_MESSAGES] if len(each[1]) >= _TELLING_CHARS]
    for seq, text in dict.fromkeys((*work.said[:1], *telling[:1])):
        prose = "\n".join(text.split(_FENCE)[::2])
        parts = [part for part in _SENTENCE_END.split(prose) if part.strip() and not known.says(part)]
        if parts:
            shown = clip(one_line(" ".join(parts)), _SAID_CHARS)
            picks.append(_Pick(_Part.STATE, (1, seq), f'm{seq} said: "{shown}"'))
    for call in [*work.newest.values()][:_MOST_CALLS]:
        outcome = work.outcome_of(call)
        shown = f"m{call.seq} {call.name}({', '.join(_arguments(call.leaves))}){f' -> {outcome}' if outcome else ''}"
        picks.append(_Pick(_Part.STATE, (1, call.seq), shown))
    return picks


def _arguments(leaves: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the arguments of a call as "key: value"; of an edit, from the first line that differs."""
    old = next((value for key, value in leaves if _is_old(key)), "")
    new = next((value for key, value in leaves if key.lower().startswith("new")), "")
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    begin = old.rfind("\n", 0, same) + 1
    for key, value in leaves:
        edits = bool(value) and value in {old, new}
        most = _EDIT_CHARS if edits or key.lower() in COMMAND_KEYS else _SHORT_CHARS
        shown = json.dumps(value[begin if edits else 0 :][: _HEAD_CHARS * 2], ensure_ascii=False)[1:-1]
        yield f"{key}: {shown if ' ' not in shown and len(shown) <= _HEAD_CHARS else clip(shown, most)}"


# Which names are told, each behind its file or call, or in its sentence.

# Names that the assistant wrote fade by a factor of e in so many messages.
_FADING_MESSAGES: Final = 300.0
# So many of the names are looked at closer.
_MOST_NAMES: Final = 300
# What a line is worth beside the names in it.
_CHANGED_WORTH, _FAILED_WORTH, _CALL_WORTH, _SENTENCE_WORTH = 0.15, 0.1, 0.02, 0.05
# A line of code that defines something tells more than others; one that only imports, nothing.
_DEFINED_WORTH: Final = 0.3
_DEFINES: Final = re.compile(
    r"`(?:\\t)?(?:(?:export|default|pub|public|private|protected|static|async|abstract|final|local)\s+)*"
    r"(?:func|def|class|type|interface|struct|enum|trait|fn|function|module|impl|const|CREATE)\s"
)
_IMPORTS: Final = re.compile(r"`(?:\\t)?(?:(?:\w+ )?[\"'][^\"']*[\"'];?`|(?:import|from|#include|use|using|require)\b)")
# A line of code up to so long is quoted whole.
_CODE_CHARS: Final = 70
_SENTENCE_CHARS: Final = 200
_FENCE: Final = "```"
_MOST_UNITS: Final = 8


class _Choice(NamedTuple):
    """A line with what it is worth beside its names, and what can stand behind it."""

    part: _Part
    seq: int
    head: str
    worth: float
    units: list[_Unit]


def _choices(work: _Work, known: _Known, worths: dict[str, float]) -> list[_Choice]:
    """Return all lines, with the best names by their places."""
    said: dict[str, _Choice] = {}
    for name in heapq.nlargest(_MOST_NAMES, worths, key=lambda name: worths[name] / about_tokens(name)):
        place = work.places[name]
        if place.line is not None:
            code = _code_at(place.text, place.at) if place.line.changes else ""
            worth = _DEFINED_WORTH if _DEFINES.match(code) else 0.0
            if not _IMPORTS.match(code):
                place.line.units.append(_Unit((place.seq, place.at), code or name, worth))
        elif (sentence := _sentence_at(place.text, place.at)) and not known.says(sentence):
            head = f"m{place.seq}: {sentence}"
            said.setdefault(sentence, _Choice(_Part.SAID, place.seq, head, _SENTENCE_WORTH, []))
    told = {call.call_id for call in work.newest.values()}
    lines = [line for line in work.lines.values() if line.units or line.call_id not in told]
    return [*(_choice(line, work) for line in lines), *said.values()]


def _choice(line: _WorkLine, work: _Work) -> _Choice:
    if line.part is _Part.FILES:
        path, worth = line.name, _CHANGED_WORTH if line.changes else 0.0
        if path in work.known.names:
            path, worth = work.short(path), 0.0
        times = f" x{line.changes}" if line.changes > 1 else ""
        head = f"{path} ({f'changed{times}' if line.changes else 'read'}, m{line.seq})"
        return _Choice(line.part, line.seq, head, worth, line.units)
    error = work.error_of(line.call_id, line.age, of_file=False)
    worth = _FAILED_WORTH if error else 0.0 if work.known.says(line.name.partition(": ")[2]) else _CALL_WORTH
    head = f"m{line.seq} {line.name}{f' x{line.times}' if line.times > 1 else ''}{f' -> {error}' if error else ''}"
    return _Choice(line.part, line.seq, head, worth, line.units)


def _code_at(text: str, at: int) -> str:
    """Return the line of code at a position, quoted as a call has it; "" for a long one."""
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[begin : end if end >= 0 else len(text)].rstrip()
    code = line.lstrip()
    tab = "\\t" if line.startswith("\t") else ""
    return f"`{tab}{code}`" if code and len(code) <= _CODE_CHARS else ""


def _sentence_at(text: str, at: int) -> str:
    """Return the sentence at a position on one line, cut; "" for a fragment."""
    if text.count(_FENCE, 0, at) % 2:
        return ""
    stop = text.rfind(". ", 0, at)
    begin = max(text.rfind("\n", 0, at) + 1, stop + 2 if stop >= 0 else 0)
    ends = [end for end in (text.find("\n", at), text.find(". ", at)) if end >= 0]
    sentence = one_line(text[begin : min(ends, default=len(text)) + 1])
    words = sentence.split(" ")
    spoken = sum(word.strip(".,:;()*").isalpha() for word in words)
    is_fragment = spoken < max(4, len(words) / 2) or sentence.startswith("|")
    return "" if is_fragment else clip(sentence, _SENTENCE_CHARS)


def _ranked(work: _Work, known: _Known, picks: list[_Pick], limit_tokens: int) -> list[_Pick]:
    """Return lines and the names behind them, the best for their tokens first."""
    covered = {name for pick in picks for name in literals_of(pick.text)}
    worths = {name: work.worth(name) for name in work.places if name not in known.names}
    choices = _choices(work, known, worths)
    ranking = _Ranking(worths, covered)
    heap = [(-ranking.line(choice), at, -1) for at, choice in enumerate(choices)]
    heapq.heapify(heap)
    found: list[_Pick] = []
    spent = 0.0
    while heap and spent < limit_tokens:
        held, at, unit = heapq.heappop(heap)
        choice = choices[at]
        now = ranking.line(choice) if unit < 0 else ranking.words(choice.units[unit])
        if now <= 0.0:
            continue
        if now < -held and heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, at, unit))  # names in it were told meanwhile
            continue
        text, place = (choice.head, (-1, 0)) if unit < 0 else (choice.units[unit].text, choice.units[unit].place)
        found.append(_Pick(choice.part, (choice.seq, at, *place), text, f"{at}"))
        covered.update(names_in(text))
        spent += about_tokens(text)
        for further in range(min(_MOST_UNITS, len(choice.units))) if unit < 0 else ():
            heapq.heappush(heap, (-ranking.words(choice.units[further]), at, further))
    return found


class _Ranking(NamedTuple):
    """What words are worth for each token, without the names that are covered already."""

    worths: dict[str, float]
    covered: AbstractSet[str]

    def _gain(self, text: str) -> float:
        return sum([self.worths.get(name, 0.0) for name in names_in(text) if name not in self.covered])

    def words(self, unit: _Unit) -> float:
        """Return the worth of some words per token; 0 once all names in them are covered."""
        gain = self._gain(unit.text)
        return (gain + unit.worth) / about_tokens(unit.text) if gain else 0.0

    def line(self, choice: _Choice) -> float:
        """Return the worth per token of a line, with the best words behind it."""
        gain, tokens = choice.worth + self._gain(choice.head), about_tokens(choice.head) + 1
        best = gain / tokens
        units = [(self.words(unit), about_tokens(unit.text)) for unit in choice.units[:_MOST_UNITS]]
        for density, cost in sorted(units, reverse=True):
            gain, tokens = gain + density * cost, tokens + cost
            best = max(best, gain / tokens)
        return best


# As text.

_ABOUT: Final = "what was said and done before the compaction, as far as its summary leaves it out"
# Control characters and lone surrogates, which some providers refuse.
_UNSAFE: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")


def _text(picks: Sequence[_Pick], about: str, recall: str) -> str:
    """Return picks as text, each part under its title, between marks; behind it the sentence on recalling."""
    rows: list[str] = []
    part: _Part | None = None
    line, told = "", 0
    for pick in sorted(picks, key=lambda pick: (pick.part, pick.place)):
        if pick.part is not part:
            part, line = pick.part, ""
            rows.append(_TITLES[part])
        if pick.line and pick.line == line:
            rows[-1] += f"{', ' if told else ': '}{pick.text}"
            told += 1
        else:
            rows.append(f"- {pick.text}")
            line, told = pick.line, 0
    fenced = fence(f"recalled {about}", _ABOUT, _UNSAFE.sub("", "\n".join(rows)))
    return f"{fenced}\n{recall}" if recall else fenced
