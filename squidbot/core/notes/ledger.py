"""What notes on everything are made from: what was read of each block, kept small, newest and most used first."""

from __future__ import annotations

import heapq
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from squidbot.core.errors import DamagedStoreError
from squidbot.core.notes.reading import Line, Reading, Unit, names_in
from squidbot.core.plan import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Fragment", "Ledger"]

# What is kept of one block, and of all together: more than any note can show, little enough to be sorted at an event.
FRAGMENT_LINES, FRAGMENT_UNITS = 80, 800
LEDGER_LINES, LEDGER_UNITS = 400, 5_000
# A ledger is cut back to these once it has grown to so many times as much: to find the least worth of it takes longer
# than all else that an event does.
SLACK = 1.25
# How fast what was used long ago loses worth: by a factor of e in so many tokens of conversation. It lies between two
# values of a simulation with bare lists of names, on one coding session in 3,500 tokens: 30,000 recalled most of what
# was more than 2,000 tokens old, 200,000 most of what was more than 32,000. Not tuned further.
FADING_TOKENS = 120_000
# Blocks further back than this are no longer stood for: what is left of them in the ledger is less than 2 %.
REACH_TOKENS = 4 * FADING_TOKENS
# A count below this is forgotten: it would rank behind everything that a note has room for.
LEAST_COUNT = 0.02


@dataclass(frozen=True, slots=True)
class Fragment:
    """What was read of one run of messages; `tokens` is what was said in it, as a bound."""

    first_seq: int
    last_seq: int
    tokens: int
    calls: int
    reading: Reading

    @classmethod
    def of(cls, first_seq: int, last_seq: int, tokens: int, calls: int, reading: Reading) -> Fragment:
        """Return the fragment of a reading, cut to what is worth keeping."""
        lines = {_own(subject, first_seq): line for subject, line in reading.lines.items()}
        kept = _pruned(Reading(lines, reading.written, reading.shown), FRAGMENT_LINES, FRAGMENT_UNITS)
        return cls(first_seq, last_seq, tokens, calls, kept)

    @property
    def mark(self) -> str:
        """A text that no other fragment of a session has."""
        return self.to_json()

    def to_json(self) -> str:
        """Return the fragment as JSON text."""
        body = [self.first_seq, self.last_seq, self.tokens, self.calls, _raw(self.reading)]
        return json.dumps(body, separators=(",", ":"))

    @classmethod
    def from_json(cls, body: str) -> Fragment:
        """Return the fragment that `to_json` wrote.

        Raises:
            DamagedStoreError: the text is no fragment.
        """
        try:
            first_seq, last_seq, tokens, calls, reading = json.loads(body)
            return cls(first_seq, last_seq, tokens, calls, _reading(reading))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedStoreError(f"stored notes can't be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Ledger:
    """Fragments read together, what is old fading.

    Attributes:
        fragments: how many have been taken in.
        starts: (first seq, tokens of conversation before it) of the fragments within reach, oldest first.
        tokens: tokens of conversation taken in, as a bound.
        last_seq: the newest message taken in; -1 for none.
        calls: tool calls taken in.
        reading: lines and counts, the least worth of them left out.
    """

    fragments: int = 0
    starts: tuple[tuple[int, int], ...] = ()
    tokens: int = 0
    last_seq: int = -1
    calls: int = 0
    reading: Reading = field(default_factory=Reading)

    @property
    def first_seq(self) -> int | None:
        """The oldest message within reach; None where nothing was taken in."""
        return self.starts[0][0] if self.starts else None

    def runs(self) -> tuple[Run, ...]:
        """Return the blocks within reach, oldest first, with what was said in each, as a bound."""
        ends = [*self.starts[1:], (self.last_seq + 1, self.tokens)]
        pairs = zip(self.starts, ends, strict=False)  # where nothing was taken in there is an end, and no start
        return tuple(Run(first, last - 1, after - before) for (first, before), (last, after) in pairs)

    def taking(self, fragment: Fragment) -> Ledger:
        """Return the ledger with one more fragment behind; the same fragments in order give the same ledger."""
        tokens = self.tokens + fragment.tokens
        starts = [*self.starts, (fragment.first_seq, self.tokens)]
        while len(starts) > 1 and tokens - starts[0][1] > REACH_TOKENS:
            starts.pop(0)
        kept = math.exp(-fragment.tokens / FADING_TOKENS)
        reading = _joined(self.reading, kept, fragment.reading)
        if len(reading.lines) > LEDGER_LINES * SLACK or reading.size > LEDGER_UNITS * SLACK:
            reading = _pruned(reading, LEDGER_LINES, LEDGER_UNITS)
        calls = self.calls + fragment.calls
        return Ledger(self.fragments + 1, tuple(starts), tokens, fragment.last_seq, calls, reading)

    @property
    def mark(self) -> str:
        """A text that no other ledger of a session has: what it was made from says what is in it."""
        counts = self.fragments, self.starts, self.tokens, self.last_seq, self.calls, self.reading.size
        return "\n".join((repr(counts), *(line.head for line in self.reading.lines.values())))

    def to_json(self) -> str:
        """Return the ledger as JSON text."""
        counts = [self.fragments, self.starts, self.tokens, self.last_seq, self.calls]
        return json.dumps([*counts, _raw(self.reading)], separators=(",", ":"))

    @classmethod
    def from_json(cls, body: str) -> Ledger:
        """Return the ledger that `to_json` wrote.

        Raises:
            DamagedStoreError: the text is no ledger.
        """
        try:
            fragments, starts, tokens, last_seq, calls, reading = json.loads(body)
            pairs = tuple((int(seq), int(before)) for seq, before in starts)
            return cls(fragments, pairs, tokens, last_seq, calls, _reading(reading))
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedStoreError(f"stored notes can't be read: {error}") from error


def _own(subject: str, first_seq: int) -> str:
    """Return a subject that no other fragment has, unless it is a file or a call: these go on from block to block."""
    return subject if subject.startswith(("file ", "call ")) else f"{subject} from {first_seq}"


def _joined(old: Reading, kept: float, new: Reading) -> Reading:
    """Return both readings in one, the old one's weights and counts faded to `kept`; lines stand by their last news."""
    lines = {subject: _faded(line, kept) for subject, line in old.lines.items()}
    for subject, line in new.lines.items():
        held = lines.pop(subject, None)
        units = {**held.told, **line.told} if held else line.told
        lines[subject] = Line(line.head, line.weight, units, line.short, line.path)
    return Reading(lines, _added(old.written, kept, new.written), _added(old.shown, kept, new.shown))


def _faded(line: Line, kept: float) -> Line:
    return Line(line.head, line.weight * kept, line.units, line.short, line.path, line.fading * kept)


def _added(old: Mapping[str, float], kept: float, new: Mapping[str, float]) -> dict[str, float]:
    counts = {name: count * kept for name, count in old.items() if count * kept >= LEAST_COUNT}
    for name, count in new.items():
        counts[name] = counts.get(name, 0.0) + count
    return counts


def _pruned(reading: Reading, most_lines: int, most_units: int) -> Reading:
    """Return a reading with the lines worth most, and of their words those worth most; both in the order they had."""
    lines = reading.lines
    if len(lines) > most_lines:
        best = set(heapq.nlargest(most_lines, lines, key=lambda subject: _line_worth(lines[subject], reading)))
        lines = {subject: line for subject, line in lines.items() if subject in best}
    lines = _with_best_units(lines, reading, most_units)
    named = {name for line in lines.values() for text in (line.head, *line.units) for name in names_in(text)}
    return Reading(lines, _only(reading.written, named), _only(reading.shown, named))


def _with_best_units(lines: dict[str, Line], reading: Reading, most_units: int) -> dict[str, Line]:
    """Return the lines with the words worth most over all of them; of equals those that come first."""
    if sum(len(line.units) for line in lines.values()) <= most_units:
        return lines
    ranked = [
        (-reading.gain(unit), number, subject, text)
        for number, (subject, line) in enumerate(lines.items())
        for text, unit in line.told.items()
    ]
    best = {(subject, text) for _, _, subject, text in heapq.nsmallest(most_units, ranked)}
    return {subject: _with_units(line, subject, best) for subject, line in lines.items()}


def _with_units(line: Line, subject: str, best: set[tuple[str, str]]) -> Line:
    units = {text: unit for text, unit in line.units.items() if (subject, text) in best}
    return Line(line.head, line.weight, units, line.short, line.path, line.fading)


def _only(counts: Mapping[str, float], named: set[str]) -> dict[str, float]:
    return {name: count for name, count in counts.items() if name in named}


def _line_worth(line: Line, reading: Reading) -> float:
    best = heapq.nlargest(4, (reading.gain(unit) for unit in line.told.values()))
    return reading.gain(Unit(line.head, weight=line.weight)) + sum(best)


def _raw(reading: Reading) -> list[object]:
    lines = [
        [subject, line.head, line.weight, line.short, line.path, line.fading, _raw_units(line)]
        for subject, line in reading.lines.items()
    ]
    return [lines, reading.written, reading.shown]


def _raw_units(line: Line) -> list[list[object]]:
    """Return the words in runs that share everything but their text."""
    runs: list[tuple[tuple[str, float, float], list[str]]] = []
    for unit in line.units.values():
        key = unit.label, unit.weight, unit.base
        if not runs or runs[-1][0] != key:
            runs.append((key, []))
        runs[-1][1].append(unit.text)
    return [[*key, texts] for key, texts in runs]


def _reading(raw: list[list[list[object]]]) -> Reading:
    lines, written, shown = raw
    found = {}
    for subject, head, weight, short, path, fading, runs in lines:
        units = {
            text: Unit(text, label, worth, base)
            for label, worth, base, texts in runs  # type: ignore[attr-defined]  # as _raw_units wrote them
            for text in texts
        }
        found[str(subject)] = Line(str(head), float(str(weight)), units, str(short), str(path), float(str(fading)))
    return Reading(found, dict(written), dict(shown))  # type: ignore[arg-type]  # as _raw wrote them
