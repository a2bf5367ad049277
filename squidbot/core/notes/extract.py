"""Notes made by rule: what stands for a block of old messages when no language model has summarized it."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.counting.tokens import measure
from squidbot.core.notes.literals import literals_of
from squidbot.core.notes.reading import Line, Reading, Unit, bounded, names_in, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Cost, Message
    from squidbot.core.ports import TokenCounter

__all__ = ["Notes", "extract", "render"]

# What costs more tokens for its worth is left out even where there is room.
LEAST_WORTH_PER_TOKEN = 0.015
# A line is opened for its head and the best of its words; more of them hardly change the choice.
_OPENING_UNITS = 12
# Words are ranked until they cost so many times the limit by a rough count, and further only if that was too rough.
_RANKED_PER_LIMIT = 1.6
# Of what parts words from the next: a semicolon or a comma; a name in a list of names has none.
_MARK_TOKENS = 1
_NOTHING: frozenset[str] = frozenset()
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
        covered = known.union(*(literals_of(bounded(said.text)) for said in messages if said.role == "user"))
    calls = sum(len(message.calls) for message in messages)
    last_seq = first_seq + max(0, len(messages) - 1)
    header = f"Notes on messages {first_seq}-{last_seq} ({calls} tool calls), by rule, in order:"
    reading = read(messages, users_verbatim=users_verbatim)
    return render(reading, header=header, limit_tokens=limit_tokens, counter=counter, known=covered)


def render(
    reading: Reading, *, header: str, limit_tokens: int, counter: TokenCounter, known: frozenset[str] = frozenset()
) -> Notes:
    """Return what was read as notes under a header line; `limit_tokens` and `known` as for `extract`."""
    shelves = [_Shelf.of(line, reading) for line in reading.lines.values()]
    picks: list[tuple[int, int]] = []
    roughly, enough = 0.0, limit_tokens * _RANKED_PER_LIMIT
    for line, unit, tokens in _ranked(shelves, set(known)):
        picks.append((line, unit))
        roughly += tokens
        if roughly > enough:
            if measure(counter, _text(header, shelves, picks)).bound > limit_tokens:
                break
            enough *= 2
    return _fitting(header, shelves, picks, limit_tokens, counter)


@dataclass(frozen=True, slots=True)
class _Words:
    """Words as they are ranked: what they are worth beside the literals in them, what each of these is worth.

    `tokens` is roughly what the words cost; it only ranks, and never decides what fits.
    """

    label: str
    weight: float
    worths: tuple[tuple[str, float], ...]
    tokens: float

    @classmethod
    def of(cls, unit: Unit, reading: Reading) -> _Words:
        worths = tuple((name, reading.worth(name, unit.base)) for name in names_in(f"{unit.label} {unit.text}"))
        tokens = _about_tokens(unit.text)
        return cls(
            unit.label, unit.weight, worths, tokens - _MARK_TOKENS if unit.label and _is_word(unit.text) else tokens
        )

    def gain(self, covered: AbstractSet[str]) -> float:
        """Return what they add to what is covered already."""
        return self.weight + sum(worth for name, worth in self.worths if name not in covered)


@dataclass(slots=True)
class _Shelf:
    """A line with all that could stand in it: its head in full and short, its units, and the best of these.

    `head` is what is written, settled when the line is taken; `labels` are those of the units taken.
    """

    line: Line
    full: _Words
    short: _Words
    units: list[Unit]
    words: list[_Words]
    best: list[_Words]
    head: str
    labels: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, line: Line, reading: Reading) -> _Shelf:
        full, short = (_Words.of(Unit(head, weight=line.weight), reading) for head in (line.head, line.short))
        units = list(line.told.values())
        words = [_Words.of(unit, reading) for unit in units]
        best = heapq.nlargest(_OPENING_UNITS, words, key=lambda unit: unit.gain(_NOTHING) / unit.tokens)
        return cls(line, full, short, units, words, best, line.head)

    def opening(self, covered: AbstractSet[str]) -> _Words:
        """Return the head as it would be written now: short where its path stands elsewhere already."""
        return self.short if self.line.short and self.line.path in covered else self.full

    def take(self, unit: int, covered: set[str]) -> float:
        """Settle what is written for a unit (-1: the head), cover it, and return roughly what it costs in tokens."""
        words = self.opening(covered) if unit < 0 else self.words[unit]
        if words is self.short:
            self.head = self.line.short
        covered.update(name for name, _ in words.worths)
        self.labels.add(words.label)
        return words.tokens

    def density(self, unit: int, covered: AbstractSet[str]) -> float:
        """Return what a unit is worth for a token; a head (-1) together with the best that could stand behind it."""
        if unit >= 0:
            words = self.words[unit]
            label = 0.0 if words.label in self.labels else _about_tokens(words.label) / 2
            return words.gain(covered) / (words.tokens + label)
        head = self.opening(covered)
        gain, tokens = head.gain(covered), head.tokens + 2
        best = gain / tokens
        for words in self.best:
            gain, tokens = gain + words.gain(covered), tokens + words.tokens
            best = max(best, gain / tokens)
        return best


def _is_word(text: str) -> bool:
    return " " not in text


@lru_cache(maxsize=16_384)
def _about_tokens(text: str) -> float:
    """Return roughly what words cost in tokens, with what parts them from the next.

    Fitted by least squares to what o200k makes of values and sentences in notes; off by 1.3 on average, and of a name,
    less the mark that parts it from no other, by 0.7.
    """
    marks = sum(not (character.isalpha() or character == " ") for character in text)
    return 1.5 + 0.16 * (len(text) - marks) + 0.8 * marks


def _ranked(shelves: list[_Shelf], covered: set[str]) -> Iterator[tuple[int, int, float]]:
    """Yield (line, unit, rough tokens) in the order in which they are worth their tokens; unit -1 is a line's head.

    A head comes before its units. The order does not depend on any limit, so that more room only adds.
    """
    heap = [(-shelf.density(-1, covered), at, -1) for at, shelf in enumerate(shelves)]
    heapq.heapify(heap)
    while heap:
        _, line, unit = heapq.heappop(heap)
        shelf = shelves[line]
        now = shelf.density(unit, covered)
        if now <= LEAST_WORTH_PER_TOKEN:
            continue
        if heap and now < -heap[0][0] - 1e-12:
            heapq.heappush(heap, (-now, line, unit))
            continue
        yield line, unit, shelf.take(unit, covered)
        for at in range(len(shelf.units)) if unit < 0 else ():
            heapq.heappush(heap, (-shelf.density(at, covered), line, at))


def _fitting(
    header: str, shelves: list[_Shelf], picks: list[tuple[int, int]], limit_tokens: int, counter: TokenCounter
) -> Notes:
    """Return the text of as many picks, best first, as cost at most the limit."""
    low, high = 0, len(picks)
    best = Notes("", measure(counter, ""))
    while low <= high:
        middle = (low + high) // 2
        text = _text(header, shelves, picks[:middle])
        cost = measure(counter, text)
        if cost.bound <= limit_tokens:
            best, low = Notes(text, cost), middle + 1
        else:
            high = middle - 1
    return best


def _text(header: str, shelves: list[_Shelf], picks: Iterable[tuple[int, int]]) -> str:
    """Return the picks as text: lines in order, in each its head, then what was picked of it, in order."""
    chosen: dict[int, list[int]] = {}
    for line, unit in picks:
        chosen.setdefault(line, [])
        if unit >= 0:
            chosen[line].append(unit)
    rows = [header]
    for at in sorted(chosen):
        shelf = shelves[at]
        rows.append(f"- {shelf.head}{_behind(shelf.head, [shelf.units[unit] for unit in sorted(chosen[at])])}")
    return _UNSAFE.sub("", "\n".join(rows))


def _behind(head: str, units: list[Unit]) -> str:
    """Return units as they stand behind a head: sentences first, then what these don't name, by what it is."""
    text = head
    for unit in units:
        if not unit.label:
            text += (" " if text.endswith(_SENTENCE_ENDS) else "; ") + unit.text
    named = frozenset(names_in(text))
    parts: dict[str, list[str]] = {}
    for unit in units:
        if unit.label and unit.text not in named:
            parts.setdefault(unit.label, []).append(unit.text)
    for label, words in parts.items():
        # A comma is a token, which in a list of names is one of three or four: a space belongs to the name behind it.
        between = " " if all(map(_is_word, words)) else ", "
        text += f"{' ' if text.endswith(':') else '; '}{label} {between.join(words)}"
    return text[len(head) :]
