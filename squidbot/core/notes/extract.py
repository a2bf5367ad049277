"""Notes by rule: the text for a block of old messages that no language model has summarized."""

from __future__ import annotations

import heapq
import json
import math
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from squidbot.core.literals import (
    IN_USE_WORTH,
    OUTPUT_WORTH,
    PLACE_WORTH,
    LiteralPlace,
    about_tokens,
    find_literals,
    form_worth,
    is_path,
    literals_of,
    names_in,
    placed_literals,
)
from squidbot.core.messages import Category
from squidbot.core.notes.calls import (
    CHANGES,
    COMMAND_KEYS,
    DONE_STATES,
    ERROR,
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
from squidbot.core.settings import FADING_TOKENS, LEAST_WORTH
from squidbot.core.text import bounded, clip, one_line
from squidbot.core.tokens.counters import measure
from squidbot.core.transcript.markers import ARTIFACT, parted
from squidbot.core.view.marks import recalled_ids, without_recalled
from squidbot.core.view.steps import is_carried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Cost, Message, ToolCall
    from squidbot.core.ports import TokenCounter
    from squidbot.core.transcript.markers import MarkedLine


# The parts of a text that notes can quote: names by their places, code lines, values with their keys, sentences.

ID_WORTH, NAMED_WORTH, FACT_WORTH, STAMP_WORTH = 0.45, 0.25, 0.12, 0.03
# What a value is worth beside the names in it; a result of few words tells how a call went.
_VALUE_WEIGHT, _OUTCOME_WEIGHT = 0.05, 0.3
# A sentence with a goal marker; a decision or finding; a reason, a rule or a thing to do; and for each name
# or number and each long word in it; what only announces the next step.
_MARKED_WEIGHT, _FINDING_WEIGHT, _REASON_WEIGHT, _DETAIL_WEIGHT, _LONG_WORD_WEIGHT = 5.0, 1.5, 0.6, 0.1, 0.03
_FILLER_WEIGHT = 0.02

SENTENCE_CHARS = 220
VALUE_CHARS = 80
_EXCERPT_CHARS = 60
_MOST_FACTS = 400

_MARKED = re.compile(r"\[(?:GOAL|DECISION|CHECKPOINT|ARTIFACT|NEXT)\]")
_DECISIONS = "decided?|decision|we will|agreed|plan is|chose"
_FINDING = re.compile(
    rf"\b(?:{_DECISIONS}|root cause|turns out|confirmed|fixed by|the fix)\b",
    re.IGNORECASE,
)
_ORDERS = "must|never|always|instead of|prefer|important"
_REASON = re.compile(
    rf"\b(?:{_ORDERS}|because|so that|the (?:problem|issue|bug|reason)|fixed|note that|remaining|todo|next steps?)\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(rf"\b(?:{_DECISIONS})\b|{_MARKED.pattern}", re.IGNORECASE)
_ORDERED = re.compile(rf"\b(?:{_ORDERS})\b", re.IGNORECASE)
# What a sentence is worth for the goal or decision, the finding, or the reason in it: the first that it has.
_SENTENCE_WEIGHTS = (_MARKED, _MARKED_WEIGHT), (_FINDING, _FINDING_WEIGHT), (_REASON, _REASON_WEIGHT)
_FILLER = re.compile(
    r"(?:ok(?:ay)?,? |first,? |good[.,!]? |great[.,!]? |(?!))*+(?:let me|i'll|i will|let's|now)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_LIST_MARK = re.compile(r"^[^\S\n]*+(?:(?:\d{1,3}[.)]|[-*#>\u2022]++)\s++|(?!))++", re.MULTILINE)
_DETAIL = re.compile(
    r"(?<=[\w;] )[A-Z][\w'-]+|\d[\d:.,/-]*|\b(?:yesterday|today|tomorrow|tonight|(?:last|next|this) "
    r"(?:week|weekend|month|year|summer|winter|spring|fall|autumn))\b"
)
_LONG_WORD = re.compile(r"[^\W\d_]{6,}")
_NO_OUTPUT = re.compile(r"\W*+(?:(?:no output|ok|done|success|null|none|true)\W*+)?\Z", re.IGNORECASE)
# JSON text falls into code lines at its escaped line ends; a line's last leading escape is glued to its first word.
_JSON_LINE = re.compile(r"(?=\\[nr])")
# The line ends where the JSON string ends, at a quote that is not escaped.
_GLUED = re.compile(r"(?:\\[nrt](?![^\s\\\"])|\s|(?!))*+(\\[nrt][^\s\\\"](?:[^\\\"]++|\\.|(?!))*+)", re.DOTALL)
# Keys whose values are asked for by name again; points in time hardly ever are.
_ID_KEY = re.compile(r"(?:^|_|\b)(?:id|uuid|key|ref|reference|path|url|sha|hash)s?\Z|I[dD]s?\Z")
_NAME_KEY = re.compile(r"(?:^|_|\b)(?:no|number|code|name|file|order|status)s?\Z|(?:Name|Number|Code)\Z")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT|\d{1,2}:\d\d(?::\d\d)?\Z")


@dataclass(frozen=True, slots=True)
class NoteUnit:
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
    base: float = IN_USE_WORTH


# Plain words, which carry what was meant; where no spaces part words, pairs of characters stand for them.
_PLAIN_WORD = re.compile(r"[^\W\d_]{6,}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}")


@lru_cache(maxsize=16_384)
def words_in(text: str) -> tuple[str, ...]:
    """Return the plain words of a short text, as `plain_words`: every event needs the same few thousand again."""
    return plain_words(text)


def plain_words(text: str) -> tuple[str, ...]:
    """Return the plain words of six letters and more in a text, in lower case, each once, in order of the text."""
    found = [word.lower() for word in _PLAIN_WORD.findall(text)]
    if _UNSPACED.search(text):
        found = [*(word for word in found if not _UNSPACED.match(word)), *_UNSPACED.findall(text)]
    return tuple(dict.fromkeys(found))


def result_units(text: str, *, of_file: bool) -> Iterator[NoteUnit]:
    """Yield the units of a tool's result: the values of JSON with their keys, otherwise its names by their places."""
    facts = _facts(text)
    if facts is not None:
        yield from facts
        return
    if not of_file and len(text.strip()) <= VALUE_CHARS and not _NO_OUTPUT.match(text) and not ERROR.search(text):
        yield NoteUnit(one_line(text), "gave", _OUTCOME_WEIGHT)
    for name, place in placed_literals(text).items():
        label = place.value if of_file or place is not LiteralPlace.USED else "shows"
        yield NoteUnit(name, label, base=PLACE_WORTH[place] if of_file else OUTPUT_WORTH)


def json_lines(arguments: str) -> Iterator[str]:
    """Yield the code lines in JSON text of which an escape is glued to the first name, as they stand there, cut."""
    for line in _JSON_LINE.split(arguments):
        glued = _GLUED.match(line)
        if glued and next(find_literals(glued.group(1)[1:VALUE_CHARS]), (1, ""))[0] == 0:
            yield f"`{clip(glued.group(1).rstrip(), _EXCERPT_CHARS)}`"


def sentences(text: str) -> list[str]:
    """Return the sentences and list items of a text, each on one line, without marks of form and without blank ones."""
    parts = _SENTENCE_END.split(_LIST_MARK.sub("", text))
    lines = [one_line(part.replace("**", "")) for part in parts]
    return [line for line in lines if sum(map(str.isalpha, line[:SENTENCE_CHARS])) >= 3]


def decides(sentence: str) -> bool:
    """Return whether a sentence tells a decision: "We decided ...", "[DECISION] ..."."""
    return _DECIDED.search(sentence[:SENTENCE_CHARS]) is not None


def orders(sentence: str) -> bool:
    """Return whether a sentence of a user's says how something is to be done: "... must ...", "... instead of ..."."""
    return _ORDERED.search(sentence[:SENTENCE_CHARS]) is not None


def sentence(text: str, least: float) -> NoteUnit:
    """Return a sentence as a unit, worth `least`, and more the more it tells.

    That is a decision, a finding, names, dates and numbers, and long words, which carry what is meant in most
    languages. What only announces the next step is worth next to nothing, an exclamation or a question half.
    """
    shown_text = clip(text, SENTENCE_CHARS)
    finding = next((weight for pattern, weight in _SENTENCE_WEIGHTS if pattern.search(shown_text)), 0.0)
    if _FILLER.match(shown_text) and not finding:
        return NoteUnit(shown_text, "", _FILLER_WEIGHT)
    details = min(4, len(_DETAIL.findall(shown_text)))
    words = min(8, sum(map(len, set(_LONG_WORD.findall(shown_text)))) // 6)
    telling = min(1.0, (details + words) / 4)
    weight = least * telling + finding + _DETAIL_WEIGHT * details + _LONG_WORD_WEIGHT * words
    return NoteUnit(shown_text, "", weight / 2 if shown_text.endswith(("!", "?")) and not finding else weight)


def _facts(text: str) -> list[NoteUnit] | None:
    """Return the scalar values of a JSON text with the key that each belongs to; None if it is no JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves = list(islice(_scalars(value), _MOST_FACTS))
    often = Counter(key for key, _, _ in leaves)
    return [_fact(key, value, listed=listed, often=often[key] > 2) for key, value, listed in leaves]


def _scalars(value: object) -> Iterator[tuple[str, str, bool]]:
    """Yield (key, value on one line, whether it is a plain list's item) of all scalars of a JSON value, in order."""
    stack: list[tuple[str, object, bool]] = [("", value, False)]
    while stack:
        key, value, listed = stack.pop()
        if isinstance(value, dict):
            stack.extend((str(name), item, False) for name, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((key, item, True) for item in reversed(value))
        elif value is not None and value != "":
            yield key, clip(one_line(str(value)), VALUE_CHARS), listed


def _fact(key: str, value: str, *, listed: bool, often: bool) -> NoteUnit:
    """Return one value of JSON under its key; one of many under one key tells nothing without a name in it."""
    base = ID_WORTH if listed or _ID_KEY.search(key) else NAMED_WORTH if _NAME_KEY.search(key) else FACT_WORTH
    if _STAMP.match(value):
        base = STAMP_WORTH
    return NoteUnit(value, f"{key}:" if key else "gave", 0.0 if often or base == STAMP_WORTH else _VALUE_WEIGHT, base)


# Reading messages into lines of notes: requests, actions, findings and decisions, each behind its subject.

_HEAD_CHARS = 160
_MOST_SENTENCES = 80
# A path from here on is written once; after that its last part tells enough.
_LONG_PATH_CHARS = 20
# A shorter sentence ("Done.", "Good idea!") tells nothing alone.
_OPENING_CHARS = 25

# What a line's head is worth beside the literals in it: a user's words and changed files most, then what failed.
_ASKED_WEIGHT, _CHANGED_FILE_WEIGHT, _FILE_WEIGHT = 2.0, 1.6, 0.8
_FAILED_WEIGHT, _MENDED_WEIGHT, _CHANGE_WEIGHT, _CALL_WEIGHT = 1.4, 0.8, 0.8, 0.4
# A list of what is to do, each step of it that is open, and each that is done.
_LIST_WEIGHT, _OPEN_WEIGHT, _DONE_WEIGHT = 1.0, 1.2, 0.05
# What the first sentence that is no greeting and the others are worth for being said: in a chat without tools, in an
# answer, and in a remark before a call.
_CHAT_WEIGHTS, _ANSWER_WEIGHTS, _REMARK_WEIGHTS = (0.5, 0.2), (0.5, 0.0), (0.05, 0.0)
# The same for each sentence of a language model's summary.
_SUMMARY_WEIGHT = 0.2
_LABEL_RANK = {"wrote": 0, "with": 0, LiteralPlace.DEFINED.value: 1, LiteralPlace.IMPORTED.value: 2}

_TAG = re.compile(r"</?[a-zA-Z][\w-]{0,40}+>")
# The heading of a part of a summary, which says nothing alone.
_HEADING = re.compile(r".{0,47}:")
_FENCE = re.compile(r"^[^\S\n]*+```.*$", re.MULTILINE)
# Arguments in which an agent says in its own words what a call is for.
_PURPOSE_KEYS = frozenset({"description", "justification", "subject", "title"})


class NoteKind(StrEnum):
    """What a line of notes tells.

    What the user asked, what the assistant said, what a language model wrote of the messages, or what was done, and how
    it ended.
    """

    ASKED = "asked"
    SAID = "said"
    SUMMARY = "summary"
    DONE = "done"


# The kinds whose heads are sentences.
_SPOKEN = frozenset({NoteKind.ASKED, NoteKind.SAID})


@dataclass(slots=True)
class NoteLine:
    """One line that notes could have: a subject, and the words about it.

    Attributes:
        head: the subject and what was done with it; always written when the line is.
        weight: what the head is worth beside the literals in it.
        words: further words by their text, in order of appearance, each with the label, weight and base of its unit.
            There are tens of thousands; the garbage collector passes plain tuples over.
        short: the head to write when `path` is known to the reader already; "" if there is no shorter one.
        path: the path that `short` leaves out.
        fading: the share of their worth that age has left to its units, which stay as they were read, and are shared.
        kind: what it tells.
    """

    head: str
    weight: float
    words: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    short: str = ""
    path: str = ""
    fading: float = 1.0
    kind: NoteKind = NoteKind.DONE

    @property
    def heading(self) -> NoteUnit:
        """The head as a unit, at its present worth."""
        label = "" if self.kind in _SPOKEN else self.kind
        # Which messages a summary is on is nothing that the assistant writes.
        return NoteUnit(self.head, label, self.weight, 0.0 if self.kind is NoteKind.SUMMARY else IN_USE_WORTH)

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences in it."""
        if self.kind in _SPOKEN:
            yield self.head
        yield from (text for text, (label, _, _) in self.words.items() if not label)

    @property
    def faded(self) -> dict[str, tuple[str, float, float]]:
        """The words at their present worth."""
        left = self.fading
        if left == 1.0:
            return self.words
        return {text: (label, weight * left, base * left) for text, (label, weight, base) in self.words.items()}

    def add(self, units: Iterable[NoteUnit]) -> None:
        """Add units; of two with one text the one with the stronger label stays."""
        for unit in units:
            held = self.words.get(unit.text)
            if held is None or _LABEL_RANK.get(unit.label, 9) < _LABEL_RANK.get(held[0], 9):
                self.words[unit.text] = unit.label, unit.weight, unit.base


@dataclass(slots=True)
class NoteMaterial:
    """The material of notes: lines by subject, ordered by the newest event of each, and counts of literals and words.

    `written` counts the messages in which the assistant wrote a literal, `shown` those in which a tool showed it, and
    `said` those in which the assistant said a plain word.
    """

    lines: dict[str, NoteLine] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    shown: dict[str, float] = field(default_factory=dict)
    said: dict[str, float] = field(default_factory=dict)

    def worth(self, name: str, base: float) -> float:
        """Return the worth of a literal: how likely it is to be written again.

        Measured on recorded sessions: an identifier that the assistant wrote in two messages comes back in one case of
        two, in one message in one of three, seldom in more than six of ten. One that was only shown is worth `base`,
        and half as much again if it was shown in more messages than one. Other forms of names come back more or less
        often. Counts fade with age, and worth with them.
        """
        times = self.written.get(name, 0.0)
        if times:
            return 0.6 * (1.0 - math.exp(-0.8 * times)) * form_worth(name)
        return base * form_worth(name) * (1.5 if self.shown.get(name, 0.0) > 1 else 1.0)

    def word_worth(self, word: str) -> float:
        """Return the worth of a plain word that is said again: how likely the assistant is to write it once more.

        Measured on 24 recorded sessions: of rare words said in one message 7 % come back in the next 40 calls, in two
        11 %, in three to six 21 %; a word that is in many messages says little.
        """
        times = max(1.0, self.said.get(word, 0.0))
        often = 0.065 if times < 1.5 else 0.107 if times < 2.5 else 0.21
        return often * min(1.0, _MOST_SAID / times)

    @property
    def size(self) -> int:
        """How many units there are in all lines."""
        return sum(len(line.words) for line in self.lines.values())

    def gain(self, unit: NoteUnit) -> float:
        """Return the worth of words with all literals in them, and of a sentence with its plain words."""
        return self.gain_of(unit.text, unit.label, unit.weight, unit.base)

    def gain_of(self, text: str, label: str, weight: float, base: float) -> float:
        """Return the same for the fields of a unit."""
        names = names_in(text)
        if len(names) == 1 and label:
            return weight + self.worth(names[0], base)
        literals = sum([self.worth(name, base) for name in names])
        return weight + literals + (0.0 if label else sum(map(self.word_worth, words_in(text))))


@dataclass(slots=True)
class _Action:
    """One tool call: its arguments as text and as (key, value), the file it is about, its line and that line's subject.

    `failure` is its error, or ""; `shows` says whether what answers it is the text of that file.
    """

    name: str
    arguments: str
    leaves: list[tuple[str, str]]
    target: str
    line: NoteLine
    subject: str = ""
    failure: str = ""
    shows: bool = False


@dataclass(slots=True)
class _MessageReader:
    """The state of reading messages in order: calls by id, to find what answers them, and by subject.

    `tools` says whether there are calls at all: a chat without tools has nothing but what is said. `history_calls` are
    the ids of calls that brought earlier messages back.
    """

    tools: bool
    history_calls: frozenset[str] = frozenset()
    reading: NoteMaterial = field(default_factory=NoteMaterial)
    actions: dict[str, list[_Action]] = field(default_factory=dict)
    groups: dict[str, list[_Action]] = field(default_factory=dict)

    def reply(self, key: str, message: Message) -> None:
        """Take in an assistant message: its words and its tool calls."""
        # Goals and decisions stand word for word beside every note: they are not told once more in it.
        whole = bounded(message.text)
        text, marked = parted(whole)
        names = self._marked(marked)
        if text.strip():
            weights = _REMARK_WEIGHTS if message.calls else _ANSWER_WEIGHTS if self.tools else _CHAT_WEIGHTS
            line = self.reading.lines[key] = _assistant_line(text, weights)
            names.update((name, None) for text in (line.head, *line.words) for name in names_in(text))
        for call in (call for call in message.calls if call.id not in self.history_calls):
            action = self._action(call)
            texts = action.name, *chain.from_iterable(action.leaves), *json_lines(action.arguments)
            names.update((name, None) for text in texts for _, name in find_literals(text))
        _count(self.reading.written, names)
        _count(self.reading.said, plain_words(whole))

    def result(self, key: str, message: Message, asked: str) -> None:
        """Take in a tool's answer: for its call if that is among the messages, otherwise as a line of its own.

        Where it says that the user refused to let it run, `asked` is the subject of what the user said.
        """
        text = bounded(without_recalled(message.text))
        actions = next((self.actions[name] for name in message.results if name in self.actions), [])
        action = actions[0] if actions else None
        of_file = action is not None and action.shows
        if action is None:
            head = f"tool result: {clip(_first_line(text), VALUE_CHARS)}"
            line = self.reading.lines[key] = NoteLine(head, _REMARK_WEIGHTS[0])
        elif made := task_made(text, action.leaves):
            number, words = made
            self.groups.pop(action.subject, None)
            self.reading.lines.pop(action.subject, None)
            line = self.reading.lines[f"task {number}"] = NoteLine(f"{action.name} {number} [pending]", _OPEN_WEIGHT)
            line.add([NoteUnit(clip(words, SENTENCE_CHARS), "", _OPEN_WEIGHT)])
            return
        else:
            line, said = action.line, failure(text, of_file=of_file)
            for each in actions:
                each.failure = said
            if words := said_refusing(text):
                call = f"{action.name} {action.target}" if action.target else _call_head(action)
                self.reading.lines[asked] = _user_line(words, f"refused {clip(call, VALUE_CHARS)}")
                return
        units = list(result_units(text, of_file=of_file))
        line.add(units)
        _count(self.reading.shown, dict.fromkeys(name for unit in units for name in names_in(unit.text)))

    def automated(self, key: str, message: Message) -> None:
        """Take in what a program wrote in the user's role: like a tool's answer, but a summary like what is said."""
        text = bounded(message.text)
        if is_carried(text):
            self.reading.lines[key] = _assistant_line(text, _ANSWER_WEIGHTS)
            _count(self.reading.said, plain_words(text))
            return
        head = f"a program wrote: {clip(one_line(_TAG.sub(' ', text[: _HEAD_CHARS * 4])), VALUE_CHARS)}"
        line = self.reading.lines[key] = NoteLine(head, _CALL_WEIGHT)
        line.add(result_units(text, of_file=False))

    def recalled(self, key: str, message: Message) -> None:
        """Take in a recalled copy: only that it was recalled, since the original is noted in its own place."""
        ids = recalled_ids(message.text)
        if ids:
            self.reading.lines[key] = NoteLine(f"{ids} recalled", _CALL_WEIGHT)

    def _marked(self, lines: Sequence[MarkedLine]) -> dict[str, None]:
        """Take in marked artifacts as the newest event of each file; return the names in marked lines."""
        for text in (line.said for line in lines if line.marker == ARTIFACT):
            target = target_of([("path", word.strip("`'\"*,;:()")) for word in text.split()])
            line = self._line(f"file {target}" if target else f"made {text[:_HEAD_CHARS]}")
            line.head, line.weight, line.path = clip(one_line(text), _HEAD_CHARS), _CHANGED_FILE_WEIGHT, target
        return dict.fromkeys(name for line in lines for _, name in find_literals(line.line))

    def _update(self, name: str, key: str, number: str, state: str) -> None:
        """Take in the new state of a task: the words of one that is done are worth next to nothing."""
        line = self._line(f"task {number}")
        line.head = f"{name} {key} {number} [{state}]"
        line.weight = _DONE_WEIGHT if state.lower() in DONE_STATES else _OPEN_WEIGHT
        line.fading = line.weight / _OPEN_WEIGHT

    def _line(self, subject: str) -> NoteLine:
        """Return the line of a subject, moved behind all others."""
        line = self.reading.lines[subject] = self.reading.lines.pop(subject, NoteLine("", 0.0))
        return line

    def _action(self, call: ToolCall) -> _Action:
        """Return a call; one that changes several files has a line for each, and what it shows in the first."""
        name, arguments = clip(one_line(call.name[:_HEAD_CHARS]), VALUE_CHARS), bounded(call.arguments)
        leaves = leaves_of(call.arguments)
        target = target_of(leaves)
        whole = _Action(name, arguments, leaves, target, NoteLine("", 0.0))
        if steps := steps_listed(leaves):
            self.actions[call.id] = [whole]
            self.reading.lines.pop(f"list {name}", None)
            self.reading.lines[f"list {name}"] = _list_line(name, steps)
            return whole
        if task := task_updated(leaves):
            self.actions[call.id] = [whole]
            self._update(name, *task)
            return whole
        parts = self.actions[call.id] = []
        for action in _by_file(whole):
            path = action.target
            action.subject = f"file {path}" if path else f"call {name} {action.arguments[:_HEAD_CHARS]}"
            action.line = self._line(action.subject)
            self.groups.setdefault(action.subject, []).append(action)
            action.line.add(_argument_units(action))
            parts.append(action)
        return whole


def _by_file(whole: _Action) -> list[_Action]:
    """Return a call as one action for each file that it changes, and for what else it does."""
    if whole.target:
        return [replace(whole, shows=True)]
    files, name, rests = patched(whole.leaves), whole.name, whole.leaves[:0]
    if not files:
        (files, rests), name = written_in(whole.leaves), f"{whole.name} write"
    if not files:
        return [whole]
    parts = [_Action(name, said, [("", said)], path, whole.line) for path, said in files]
    if any(rest.strip() for key, rest in rests if key.lower() in COMMAND_KEYS):
        parts.insert(0, replace(whole, leaves=rests, arguments=json.dumps(dict(rests))))
    return parts


def no_pause() -> None:
    """Go on at once."""


def read(
    messages: Sequence[Message],
    *,
    users_verbatim: bool,
    pause: Callable[[], object] = no_pause,
    first_seq: int = 0,
) -> NoteMaterial:
    """Return the lines that could be written about some messages; `pause` is called every few milliseconds.

    `first_seq` is the seq of the first message; the user's messages have lines of their own (`asked_of`), unless they
    stand verbatim whatever happens.
    """
    reader = _MessageReader(any(message.calls for message in messages), _history_calls(messages))
    for index, message in enumerate(messages):
        pause()
        if message.category is Category.FORGOTTEN:
            continue
        if message.category is Category.RECALLED:
            reader.recalled(f"recalled {index}", message)
        elif message.category is Category.AUTOMATED:
            reader.automated(f"automated {index}", message)
        elif message.role == "user" and not users_verbatim:
            reader.reading.lines[asked_of(first_seq + index)] = _user_line(bounded(message.text))
        elif message.role == "assistant":
            reader.reply(f"said {index}", message)
        elif message.role == "tool":
            reader.result(f"result {index}", message, asked_of(first_seq + index))
    for subject, group in reader.groups.items():
        _finish(reader.reading.lines[subject], group)
    return reader.reading


def asked_of(seq: int) -> str:
    """Return the subject of the line on what the user said in a message, or in refusing to let a tool run."""
    return f"user {seq}"


def _history_calls(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the calls that brought earlier messages back."""
    copies = (message for message in messages if message.category is Category.RECALLED)
    return frozenset(call_id for message in copies for call_id in message.results)


def _argument_units(action: _Action) -> Iterator[NoteUnit]:
    """Yield the names in a call's arguments by their places, and its code lines as they are."""
    label = "wrote" if action.target else "with"
    for key, value in action.leaves:
        if key.lower() in _PURPOSE_KEYS:
            yield from (sentence(part, _REMARK_WEIGHTS[0]) for part in sentences(value)[:1])
        if names_in(key):
            yield NoteUnit(key, "with")
        if value != action.target:
            for name, place in placed_literals(value).items():
                yield NoteUnit(name, place.value if place is LiteralPlace.IMPORTED else label)
    for line in json_lines(action.arguments):
        yield NoteUnit(line, label)


def _finish(line: NoteLine, group: list[_Action]) -> None:
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
    last_part = f"\u2026/{line.path.rpartition('/')[2]}"
    line.short = f"{head.replace(line.path, last_part)}{times}{outcome}" if line.path else ""
    mended = _MENDED_WEIGHT if outcome else _CALL_WEIGHT
    line.weight = _FAILED_WEIGHT if failed else max(mended, _CHANGE_WEIGHT * changed)


def _list_line(name: str, steps: list[tuple[str, str]]) -> NoteLine:
    """Return the line on a list of what is to do: the open steps, the ones in work among them, before those done."""
    done = sum(state.lower() in DONE_STATES for state, _ in steps)
    line = NoteLine(f"{name}: {done} of {len(steps)} done", _LIST_WEIGHT)
    for state, words in steps:
        weight = _DONE_WEIGHT if state.lower() in DONE_STATES else _OPEN_WEIGHT
        line.add([NoteUnit(f"[{clip(state, _LONG_PATH_CHARS)}] {clip(words, SENTENCE_CHARS)}", "", weight)])
    return line


def _longest_path(head: str) -> str:
    """Return the path in a head that should be written only once, or "": an absolute one first, then the longest."""
    long = (name for name in names_in(head) if len(name) >= _LONG_PATH_CHARS and is_path(name))
    return max(long, key=lambda path: (path.startswith(("/", "~")), len(path), path), default="")


def _outcome(group: list[_Action]) -> str:
    """Return how a group of calls ended if one of them failed, or ""."""
    failures = [action.failure for action in group if action.failure]
    if not failures:
        return ""
    if group[-1].failure:
        return f" -> {failures[-1]}"
    return f" -> ok at last, before: {clip(failures[-1], VALUE_CHARS)}"


def _call_head(action: _Action) -> str:
    """Return the head of a call: its command, or its short arguments, or the beginning of the longest one."""
    name = action.name
    for key, value in action.leaves:
        if key.lower() in COMMAND_KEYS and value.strip():
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
    """Return each name once, in order, with its count."""
    return [f"{name} x{names.count(name)}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]


def summary_line(mark: str, text: str, left: float) -> NoteLine:
    """Return the line for a language model's summary, whose sentences are behind `mark`, the messages that it is on.

    `left` is the share of its worth that age has left.
    """
    line = NoteLine(f"{mark}:", 0.0, fading=left, kind=NoteKind.SUMMARY)
    line.add(_summary_units(text))
    return line


@lru_cache(maxsize=256)  # notes of every event tell of the same few again
def _summary_units(text: str) -> tuple[NoteUnit, ...]:
    return tuple(sentence(part, _SUMMARY_WEIGHT) for part in sentences(text) if not _HEADING.fullmatch(part))


def _user_line(text: str, refused: str = "") -> NoteLine:
    """Return the line for a user's message, or for what was said in refusing a call.

    The latter stands in a tool's output: its line quotes it, and does not say that the user asked for it.
    """
    line = _sentence_line(NoteKind.ASKED, sentences(text)[:_MOST_SENTENCES], _ASKED_WEIGHT, 0.3)
    if refused:
        line.head = f'{refused}, "{line.head.removeprefix(f"{NoteKind.ASKED}: ")}"'
    line.add(NoteUnit(name, "names", base=NAMED_WORTH) for name in placed_literals(text))
    return line


def _assistant_line(text: str, weights: tuple[float, float]) -> NoteLine:
    """Return the line for the assistant's words; `weights` are of its first sentence and of the others."""
    parts = _FENCE.split(text)
    prose = [part for words in parts[::2] for part in sentences(words)]
    line = _sentence_line(NoteKind.SAID, prose[:_MOST_SENTENCES], *weights)
    for at, words in enumerate(parts):
        line.add(_names_written(words, code=bool(at % 2)))
    return line


def _sentence_line(kind: NoteKind, parts: list[str], first: float, other: float) -> NoteLine:
    """Return a line that opens with the weightiest sentence.

    `first` is the least weight of the first sentence that is more than a greeting, `other` that of the others.
    """
    opening = next((at for at, part in enumerate(parts) if len(part) >= _OPENING_CHARS), 0)
    units = [sentence(part, first if at == opening else other) for at, part in enumerate(parts)]
    if not units:
        return NoteLine(f"{kind}: code", 0.0, kind=kind)
    best = max(units, key=attrgetter("weight"))
    line = NoteLine(f"{kind}: {clip(best.text, _HEAD_CHARS)}", best.weight, kind=kind)
    line.add([unit for unit in units if unit is not best])
    return line


def _names_written(words: str, *, code: bool) -> Iterator[NoteUnit]:
    """Yield the names that the assistant wrote in prose, or in code between fences."""
    for name, place in placed_literals(words).items():
        yield NoteUnit(name, place.value if code and place is not LiteralPlace.USED else "names")


def _first_line(text: str) -> str:
    return next((one_line(line) for line in text[:2000].splitlines() if line.strip()), "")


def _count(counts: dict[str, float], names: Iterable[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0.0) + 1.0


# Of what notes tell, the share of what was asked and of what the assistant said: of their first tokens, and of further
# ones. What was done takes the rest, names above all: they come back long after what was said about them. Where 24
# recorded agents compacted, in the room of the vendor's summary, .4 of the first and .15 of the rest for what was said
# kept .78 of the names and .27 of the words that came back, .5 and .3 .74 and .31, .5 and .45 .72 and .33.
# A language model's summary tells what was meant, and in the same room leaves out two names of three: with the vendor's
# own summaries as its answers, a share of .2 kept .73 and .35, of .3 .69 and .40, of .5 .62 and .42.
_SHARES = {NoteKind.ASKED: (0.25, 0.1), NoteKind.SAID: (0.5, 0.3), NoteKind.SUMMARY: (0.3, 0.3)}
_FIRST_TOKENS = 1_500
# Up to that share they come first though they are worth less for each token, but by this factor at most.
_FAVOUR = 3.0
# How much more a plain word that was said just now is worth than an old one, and how fast that fades: by a factor of e
# in so many tokens, in any room. On 24 recorded sessions rare words of the newest 8,000 tokens came back three and a
# half times as often as those of more than 32,000 tokens ago.
_RECENT_WORTH, _RECENT_TOKENS = 3.5, 10_000
# From so many messages on, a word is common.
_MOST_SAID = 6
# A line is opened for its head and the best of its words; more of them hardly change the choice.
_OPENING_UNITS = 12
# What fits costs this share of the limit by a rough count: .74 to .80 in notes of 2,000 to 8,000 tokens.
_ROUGH_FRACTION = 0.78
# Words are ranked until they cost so much by it, and by this factor further each time they all fit.
_RANKED_FRACTION, _RANKED_FACTOR = 0.85, 1.25
# So many times the fitting number of words is guessed by what the last number cost, then it is halved in.
_MOST_GUESSES = 4
# Of what parts words from the next: a semicolon or a comma; a name in a list of names has none.
_MARK_TOKENS = 1
# Control characters and lone surrogates, which some providers refuse.
_UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "\u2026", "\u3002", "\uff01", "\uff1f")


@dataclass(frozen=True, slots=True)
class Notes:
    """A text that stands for messages, and its cost in tokens without any template around it."""

    text: str
    cost: Cost


def extract(  # noqa: PLR0913 - one keyword for each thing that a caller may know
    messages: Sequence[Message],
    *,
    limit_tokens: int,
    counter: TokenCounter,
    known: frozenset[str] = frozenset(),
    users_verbatim: bool = True,
    first_seq: int = 0,
) -> Notes:
    """Return notes on messages whose cost.bound is at most `limit_tokens`; the same input gives the same text.

    `known` are literals that stand elsewhere in the request; nothing is listed for their sake. With
    `users_verbatim` the users' messages follow the notes word for word, so the notes leave them out. `first_seq` is
    the seq of the first message. A limit too small for any notes gives an empty text.
    """
    covered = known
    if users_verbatim:
        covered = known.union(*(literals_of(bounded(message.text)) for message in messages if message.role == "user"))
    calls = sum(len(message.calls) for message in messages)
    last_seq = first_seq + max(0, len(messages) - 1)
    header = f"Notes on messages {first_seq}-{last_seq} ({calls} tool calls), by rule, in order:"
    reading = read(messages, users_verbatim=users_verbatim)
    return render(reading, header=header, limit_tokens=limit_tokens, counter=counter, known=covered)


def render(  # noqa: PLR0913  # as `extract`
    reading: NoteMaterial,
    *,
    header: str,
    limit_tokens: int,
    counter: TokenCounter,
    known: frozenset[str] = frozenset(),
    fading: float = 1.0,
    pause: Callable[[], object] = no_pause,
    least_worth: float = LEAST_WORTH,
    fading_tokens: int = FADING_TOKENS,
    without: AbstractSet[str] = frozenset(),
) -> Notes:
    """Return material as notes under a header line; the limit and `known` as for `extract`, `pause` as for `read`.

    Nothing is told of the subjects in `without`.

    `fading` is the share of its worth that age has left to the newest line, where it fades by a factor of e in
    `fading_tokens`; words that are worth no more than `least_worth` for each token are left out.
    """
    # What is said again and again is told once, where it was said last.
    told = [line for subject, line in reading.lines.items() if subject not in without]
    last = {line.head: line for line in told if line.kind is NoteKind.SAID}
    lines = [line for line in told if last.get(line.head, line) is line]
    choices = [_LineChoice.of(line, reading, fading, fading_tokens / _RECENT_TOKENS) for line in lines]
    picks: list[tuple[int, int]] = []
    rough = [0.0]
    enough = limit_tokens * _RANKED_FRACTION
    for line, unit, tokens in _ranked(choices, set(known), least_worth):
        pause()
        picks.append((line, unit))
        rough.append(rough[-1] + tokens)
        if rough[-1] > enough:
            if measure(counter, _text(header, choices, picks)).bound > limit_tokens:
                break
            enough *= _RANKED_FACTOR
    return _fitting(header, choices, picks, rough, limit_tokens, counter, pause)


@lru_cache(maxsize=16_384)
def _sized(label: str, text: str) -> tuple[tuple[str, ...], float]:
    """Return the literals in words under a label, and roughly what the words cost in tokens."""
    tokens = about_tokens(text)
    return names_in(f"{label} {text}"), tokens - _MARK_TOKENS if label and _is_word(text) else tokens


@dataclass(slots=True)
class _LineChoice:
    """A line with all that could stand in it: words to choose by their place, the head at -1.

    An event weighs thousands of words. They stand in lists of texts, numbers and shared tuples: so many objects would
    have the garbage collector go through all of a large process.

    Attributes:
        head: the head as it would be written now, short once its path stands elsewhere.
        texts: all words.
        units: the label, weight and base of each, as they were read.
        names: the literals in each, and in a sentence the plain words.
        worths: what each is worth with all of these.
        tokens: roughly what each costs; it only ranks, and never decides what fits.
        best: the places of the best for their tokens.
        left: the share of their worth that age has left to words behind the head.
        recent: how much more a plain word is worth than an old one.
        labels: those of the words taken.
    """

    line: NoteLine
    reading: NoteMaterial
    head: str
    texts: list[str]
    units: list[tuple[str, float, float]]
    names: list[tuple[str, ...]]
    worths: list[float]
    tokens: list[float]
    best: list[int]
    left: float
    recent: float
    labels: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, line: NoteLine, reading: NoteMaterial, fading: float, faster: float) -> _LineChoice:
        """Return the choice in a line; plain words in it fade `faster` than its literals, from `fading` on."""
        # What was meant matters while it is new, more than literals do.
        newest = _RECENT_WORTH * (fading * line.fading) ** faster
        recent = 1.0 if line.kind is NoteKind.DONE else 1.0 + newest
        choice = cls(
            line, reading, line.head, [*line.words], [*line.words.values()], [], [], [], [], line.fading, recent
        )
        for text, (label, weight, base) in line.words.items():
            choice._weigh(text, label, weight * line.fading, base * line.fading)
        worths, tokens = choice.worths, choice.tokens
        choice.best = heapq.nlargest(_OPENING_UNITS, range(len(worths)), key=lambda at: worths[at] / tokens[at])
        choice._open(line.heading)
        return choice

    def _open(self, head: NoteUnit) -> None:
        """Weigh a head, behind all other words."""
        self.head = head.text
        self.texts.append(head.text)
        self.units.append((head.label, head.weight, head.base))
        self._weigh(head.text, head.label, head.weight, head.base)

    def _weigh(self, text: str, label: str, weight: float, base: float) -> None:
        names, tokens = _sized(label, text)
        worth = self.reading.worth
        whole = weight + (worth(names[0], base) if len(names) == 1 else sum([worth(name, base) for name in names]))
        if not label:
            plain = words_in(text)
            names += plain
            whole += self.recent * sum(map(self.reading.word_worth, plain))
        self.names.append(names)
        self.worths.append(whole)
        self.tokens.append(tokens)

    def gain(self, place: int, covered: AbstractSet[str]) -> float:
        """Return what words add beyond the literals that are covered already."""
        names = self.names[place]
        if not names or covered.isdisjoint(names):
            return self.worths[place]
        label, weight, base = self.units[place]
        left = self.left if place >= 0 else 1.0
        if len(names) == 1:
            return weight * left
        text, worth = self.texts[place], self.reading.worth
        literals = sum([worth(name, base * left) for name in _sized(label, text)[0] if name not in covered])
        plain = [word for word in words_in(text) if word not in covered] if not label else ()
        return weight * left + literals + self.recent * sum(map(self.reading.word_worth, plain))

    def shorten(self, covered: AbstractSet[str]) -> None:
        """Have the head short once its path stands elsewhere."""
        if self.line.path in covered and self.line.short and self.head is not self.line.short:
            for of_head in (self.texts, self.units, self.names, self.worths, self.tokens):
                of_head.pop()
            self._open(NoteUnit(self.line.short, NoteKind.DONE, self.line.weight))

    def take(self, place: int, covered: set[str]) -> float:
        """Choose words, cover their literals, and return roughly their cost in tokens."""
        covered.update(self.names[place])
        self.labels.add(self.units[place][0])
        return self.tokens[place]

    def density(self, place: int, covered: AbstractSet[str]) -> float:
        """Return the worth of words per token; of a head (-1) together with the best words behind it."""
        if place >= 0:
            label = self.units[place][0]
            between = 0.0 if label in self.labels else about_tokens(label) / 2
            return self.gain(place, covered) / (self.tokens[place] + between)
        self.shorten(covered)
        gain, tokens = self.gain(-1, covered), self.tokens[-1] + 2
        best = gain / tokens
        for unit in self.best:
            gain, tokens = gain + self.gain(unit, covered), tokens + self.tokens[unit]
            best = max(best, gain / tokens)
        return best


def _is_word(text: str) -> bool:
    return " " not in text


def _ranked(choices: list[_LineChoice], covered: set[str], least_worth: float) -> Iterator[tuple[int, int, float]]:
    """Yield (line, unit, rough tokens) in the order in which they are to be told; unit -1 is a line's head.

    What is worth its tokens most comes first; what was asked and said counts for more than that, up to its share, so
    that neither names nor talk starve the other. A head comes before its units. The order does not depend on any limit,
    so that more room only adds.
    """
    heaps: dict[NoteKind, list[tuple[float, int, int]]] = {kind: [] for kind in NoteKind}
    for at, choice in enumerate(choices):
        choice.shorten(covered)
        # The most that it can be worth: what is covered is looked at once it is the best.
        heaps[choice.line.kind].append((-choice.density(-1, frozenset()), at, -1))
    for heap in heaps.values():
        heapq.heapify(heap)
    used, told = dict.fromkeys(NoteKind, 0.0), 0.0

    def best(kind: NoteKind) -> float:
        return _best(heaps[kind], choices, covered, least_worth)

    while True:
        # What has had its share is not looked at again before it is due.
        due = {kind: best(kind) for kind in _SHARES if heaps[kind] and used[kind] <= _share(kind, told)}
        kind = max(due, key=lambda kind: due[kind], default=NoteKind.DONE)
        favoured, done = due.get(kind, 0.0), best(NoteKind.DONE)
        if favoured * _FAVOUR < done:
            kind = NoteKind.DONE
        elif not favoured:  # nor anything done
            kind = next((kind for kind in _SHARES if best(kind)), NoteKind.DONE)
        if not heaps[kind]:
            return
        _, line, unit = heapq.heappop(heaps[kind])
        choice = choices[line]
        tokens = choice.take(unit, covered)
        yield line, unit, tokens
        used[kind] += tokens
        told += tokens
        for place in range(len(choice.texts) - 1) if unit < 0 else ():
            heapq.heappush(heaps[kind], (-choice.density(place, covered), line, place))


def _best(
    heap: list[tuple[float, int, int]], choices: list[_LineChoice], covered: set[str], least_worth: float
) -> float:
    """Return the worth of the best of some words for each token, and leave it in front; 0 where none is worth it."""
    while heap:
        _, line, unit = heap[0]
        worth = choices[line].density(unit, covered)
        if worth <= least_worth:
            heapq.heappop(heap)
            continue
        heapq.heapreplace(heap, (-worth, line, unit))
        if heap[0][1:] == (line, unit):
            return worth
    return 0.0


def _share(kind: NoteKind, told_tokens: float) -> float:
    """Return how much of so many tokens of notes a kind of line may have, while another has something to tell."""
    first, further = _SHARES[kind]
    return first * min(told_tokens, _FIRST_TOKENS) + further * max(0.0, told_tokens - _FIRST_TOKENS)


def _fitting(  # noqa: PLR0913, PLR0917  # as `render`
    header: str,
    choices: list[_LineChoice],
    picks: list[tuple[int, int]],
    rough: list[float],
    limit_tokens: int,
    counter: TokenCounter,
    pause: Callable[[], object],
) -> Notes:
    """Return the text of as many picks, best first, as cost at most the limit; `rough` is what so many of them cost."""
    low, high = 0, len(picks)
    best = Notes("", measure(counter, ""))
    share, guesses = _ROUGH_FRACTION, 0
    while low <= high:
        pause()
        guess = bisect_right(rough, limit_tokens * share) - 1 if guesses < _MOST_GUESSES else (low + high) // 2
        count, guesses = min(high, max(low, guess)), guesses + 1
        text = _text(header, choices, picks[:count])
        cost = measure(counter, text)
        if cost.bound <= limit_tokens:
            best, low = Notes(text, cost), count + 1
        else:
            high = count - 1
        share = rough[count] / max(1, cost.bound)
    return best


def _text(header: str, choices: list[_LineChoice], picks: Iterable[tuple[int, int]]) -> str:
    """Return the picks as text: lines in order, in each its head, then its picked units in order."""
    chosen: dict[int, list[int]] = {}
    for line, unit in picks:
        chosen.setdefault(line, [])
        if unit >= 0:
            chosen[line].append(unit)
    rows = [header]
    for at in sorted(chosen):
        choice = choices[at]
        if choice.line.kind is NoteKind.SUMMARY and not chosen[at]:
            continue  # the messages that nothing is said of
        units = [(choice.texts[place], choice.units[place][0]) for place in sorted(chosen[at])]
        rows.append(f"- {choice.head}{_behind(choice.head, units)}")
    return _UNSAFE.sub("", "\n".join(rows))


def _behind(head: str, units: list[tuple[str, str]]) -> str:
    """Return the text of (words, label) behind a head: sentences first, then the names not in these, by label."""
    text = head
    for words, label in units:
        if not label:
            text += (" " if text.endswith(_SENTENCE_ENDS) else "; ") + words
    named = frozenset(names_in(text))
    parts: dict[str, list[str]] = {}
    for words, label in units:
        if label and words not in named:
            parts.setdefault(label, []).append(words)
    for label, texts in parts.items():
        # A comma is a token, which in a list of names is one of three or four: a space belongs to the name behind it.
        between = " " if all(map(_is_word, texts)) else ", "
        text += f"{' ' if text.endswith(':') else '; '}{label} {between.join(texts)}"
    return text[len(head) :]
