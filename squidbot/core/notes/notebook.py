"""The notes by rule of one session, and the stored material that they are made from."""

from __future__ import annotations

import hashlib
import heapq
import json
import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.literals import literals_of, names_in
from squidbot.core.messages import Record, Summary
from squidbot.core.notes.extract import (
    NoteKind,
    NoteLine,
    NoteMaterial,
    asked_of,
    no_pause,
    read,
    render,
    summary_line,
    words_in,
)
from squidbot.core.notes.texts import newest_texts, texts_inside
from squidbot.core.plan import NoteBlock, Representation
from squidbot.core.settings import HistorySettings
from squidbot.core.transcript.records import RecordKind
from squidbot.core.view.renderer import is_user_part
from squidbot.core.view.steps import steps_of, total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Part
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.view.current import SessionContext
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.steps import Step


# The material of notes: the reading of each block, kept small, newest and most used first.

# How much is kept of one block, and of all together: more than any note can show, and quick to sort at an event. Where
# names fade in 82,500 tokens, three quarters of it kept .972 and .950 of the names of more than 8,000 and 32,000 tokens
# ago on a recorded coding session at 32K, as all of it did, and half of it .967 and .937. In 200,000 tokens three
# quarters kept .959 and .908 on 29 sessions (mean), all of it .960 and .910, half of it .952 and .893. In 350,000
# tokens, the worst tenth of 29 sessions fell with half of it from .83 to .74.
FRAGMENT_LINES, FRAGMENT_UNITS = 80, 800
LEDGER_LINES, LEDGER_UNITS = 400, 5_000
LEAST_LEDGER_FRACTION, WHOLE_LEDGER_TOKENS = 0.75, 270_000
# A ledger is cut back to these once it has grown to so many times as much: to find the least worth of it takes longer
# than all else that an event does.
SLACK = 1.25
# Blocks further back than this are no longer stood for, nor those that have faded to less than 2 %.
REACH_TOKENS = 480_000
# How often the assistant wrote a name fades no faster than by a factor of e in so many tokens, however small the room:
# a name that it used again and again is needed again after a long pause, one that a tool showed once is not. With one
# fading for both, notes in a room of 3,900 tokens kept .22 of the names of more than 32,000 tokens ago (median of 21
# sessions), with 100,000 here .475 and with 200,000 .48; of those of more than 8,000 on a recorded coding session .43,
# .55 and .585, of those of more than 2,000 .81, .84 and .84.
WRITTEN_FADING_TOKENS = 200_000
# A count below this is forgotten: it would rank behind everything that a note has room for.
LEAST_COUNT = 0.02


@dataclass(frozen=True, slots=True)
class Fragment:
    """The reading of one run of messages; `tokens` is the bound of the run."""

    first_seq: int
    last_seq: int
    tokens: int
    calls: int
    reading: NoteMaterial

    @classmethod
    def of(cls, first_seq: int, last_seq: int, tokens: int, calls: int, reading: NoteMaterial) -> Fragment:
        """Return the fragment of a reading, cut to its most valuable lines and units."""
        lines = {_own(subject, first_seq): line for subject, line in reading.lines.items()}
        kept = _pruned(replace(reading, lines=lines), FRAGMENT_LINES, FRAGMENT_UNITS)
        return cls(first_seq, last_seq, tokens, calls, kept)

    @property
    def mark(self) -> str:
        """A text that no other fragment of a session has."""
        return json.dumps(_fragment_body(self), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Ledger:
    """Fragments merged into one reading, in which old ones fade.

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
    reading: NoteMaterial = field(default_factory=NoteMaterial)

    @property
    def first_seq(self) -> int | None:
        """The oldest message within reach; None if nothing was taken in."""
        return self.starts[0][0] if self.starts else None

    def runs(self) -> tuple[NoteBlock, ...]:
        """Return the blocks within reach, oldest first, with the bound of each."""
        ends = [*self.starts[1:], (self.last_seq + 1, self.tokens)]
        pairs = zip(self.starts, ends, strict=False)  # where nothing was taken in there is an end, and no start
        return tuple(NoteBlock(first, last - 1, after - before) for (first, before), (last, after) in pairs)

    def taking(self, fragment: Fragment, fading_tokens: int) -> Ledger:
        """Return the ledger with one more fragment behind; the same fragments in order give the same ledger.

        What it holds already fades by a factor of e in `fading_tokens` of conversation; what the assistant wrote
        itself, more slowly.
        """
        reach = max(REACH_TOKENS, 4 * fading_tokens)
        tokens = self.tokens + fragment.tokens
        starts = [*self.starts, (fragment.first_seq, self.tokens)]
        while len(starts) > 1 and tokens - starts[0][1] > reach:
            starts.pop(0)
        kept = math.exp(-fragment.tokens / fading_tokens)
        written_kept = math.exp(-fragment.tokens / max(fading_tokens, WRITTEN_FADING_TOKENS))
        reading = _joined(self.reading, kept, written_kept, fragment.reading)
        share = min(1.0, max(LEAST_LEDGER_FRACTION, fading_tokens / WHOLE_LEDGER_TOKENS))
        lines, units = int(LEDGER_LINES * share), int(LEDGER_UNITS * share)
        if len(reading.lines) > lines * SLACK or reading.size > units * SLACK:
            reading = _pruned(reading, lines, units)
        calls = self.calls + fragment.calls
        return Ledger(self.fragments + 1, tuple(starts), tokens, fragment.last_seq, calls, reading)

    @property
    def mark(self) -> str:
        """A text that no other ledger of a session has, made of its sources."""
        counts = self.fragments, self.starts, self.tokens, self.last_seq, self.calls, self.reading.size
        return "\n".join([repr(counts), *[line.head for line in self.reading.lines.values()]])


def _own(subject: str, first_seq: int) -> str:
    """Return a subject that no other fragment has: but a file, a call or a list goes on from block to block.

    A message of the user's has a subject of its own already.
    """
    return (
        subject if subject.startswith(("file ", "call ", "list ", "task ", "user ")) else f"{subject} from {first_seq}"
    )


def _joined(old: NoteMaterial, kept: float, written_kept: float, new: NoteMaterial) -> NoteMaterial:
    """Return both readings in one; lines stand by their last news.

    The old one's weights and counts are faded to `kept`, its counts of what was written to `written_kept`.
    """
    lines = {subject: _faded(line, kept) for subject, line in old.lines.items()}
    for subject, line in new.lines.items():
        held = lines.pop(subject, None)
        words = _words(subject, held, line) if held else line.faded
        lines[subject] = NoteLine(line.head, line.weight, words, line.short, line.path, kind=line.kind)
    return NoteMaterial(
        lines,
        _added(old.written, written_kept, new.written),
        _added(old.shown, kept, new.shown),
        _added(old.said, kept, new.said),
    )


def _words(subject: str, held: NoteLine, line: NoteLine) -> dict[str, tuple[str, float, float]]:
    """Return what there is to tell of a subject: of a list of what is to do, or of a task, the newest state alone."""
    if subject.startswith("list "):
        return line.faded
    if subject.startswith("task "):
        return line.faded or _faded(held, line.fading).faded
    return {**held.faded, **line.faded}


def _faded(line: NoteLine, kept: float) -> NoteLine:
    weight, fading = line.weight * kept, line.fading * kept
    return NoteLine(line.head, weight, line.words, line.short, line.path, fading, line.kind)


def _added(old: Mapping[str, float], kept: float, new: Mapping[str, float]) -> dict[str, float]:
    counts = {name: count * kept for name, count in old.items() if count * kept >= LEAST_COUNT}
    for name, count in new.items():
        counts[name] = counts.get(name, 0.0) + count
    return counts


def _pruned(reading: NoteMaterial, most_lines: int, most_units: int) -> NoteMaterial:
    """Return a reading with its most valuable lines, and of these the most valuable words, in their order."""
    lines = reading.lines
    if len(lines) > most_lines:
        best = set(heapq.nlargest(most_lines, lines, key=lambda subject: _line_worth(lines[subject], reading)))
        lines = {subject: line for subject, line in lines.items() if subject in best}
    lines = _with_best_units(lines, reading, most_units)
    named = {name for line in lines.values() for text in (line.head, *line.words) for name in names_in(text)}
    said = {word for line in lines.values() for text in line.sentences for word in words_in(text)}
    return NoteMaterial(lines, _only(reading.written, named), _only(reading.shown, named), _only(reading.said, said))


def _with_best_units(lines: dict[str, NoteLine], reading: NoteMaterial, most_units: int) -> dict[str, NoteLine]:
    """Return the lines with their most valuable words over all of them; of equals the first."""
    if sum(len(line.words) for line in lines.values()) <= most_units:
        return lines
    gains = [_gains(line, reading) for line in lines.values()]
    least = heapq.nlargest(most_units, chain.from_iterable(gains))[-1]
    ties = most_units - sum(gain > least for line in gains for gain in line)
    kept = {}
    for (subject, line), worths in zip(lines.items(), gains, strict=True):
        best = {}
        for (text, unit), gain in zip(line.words.items(), worths, strict=True):
            if gain > least or (gain == least and ties > 0):
                ties -= gain == least
                best[text] = unit
        kept[subject] = NoteLine(line.head, line.weight, best, line.short, line.path, line.fading, line.kind)
    return kept


def _gains(line: NoteLine, reading: NoteMaterial) -> list[float]:
    """Return what each of the words of a line is worth now."""
    left, gain = line.fading, reading.gain_of
    return [gain(text, label, weight * left, base * left) for text, (label, weight, base) in line.words.items()]


def _only(counts: Mapping[str, float], named: set[str]) -> dict[str, float]:
    return {name: count for name, count in counts.items() if name in named}


def _line_worth(line: NoteLine, reading: NoteMaterial) -> float:
    return reading.gain(line.heading) + sum(heapq.nlargest(4, _gains(line, reading)))


def _raw(reading: NoteMaterial) -> list[object]:
    lines = [
        [subject, line.kind, line.head, line.weight, line.short, line.path, line.fading, _raw_units(line)]
        for subject, line in reading.lines.items()
    ]
    return [lines, reading.written, reading.shown, reading.said]


def _raw_units(line: NoteLine) -> list[list[object]]:
    """Return the words in runs that share everything but their text."""
    runs: list[tuple[tuple[str, float, float], list[str]]] = []
    for text, key in line.words.items():
        if not runs or runs[-1][0] != key:
            runs.append((key, []))
        runs[-1][1].append(text)
    return [[*key, texts] for key, texts in runs]


def _reading(raw: list[list[list[object]]]) -> NoteMaterial:
    lines, *counts = raw
    found = {}
    for subject, kind, head, weight, short, path, fading, runs in lines:
        words = {
            text: (label, worth, base)
            for label, worth, base, texts in runs  # type: ignore[attr-defined]  # as _raw_units wrote them
            for text in texts
        }
        left = float(str(fading))
        line = NoteLine(str(head), float(str(weight)), words, str(short), str(path), left, NoteKind(str(kind)))
        found[str(subject)] = line
    return NoteMaterial(found, *[dict(count) for count in counts])  # type: ignore[arg-type]  # as _raw wrote them


def _fragment_body(one: Fragment) -> list[object]:
    return [one.first_seq, one.last_seq, one.tokens, one.calls, _raw(one.reading)]


def _ledger_body(one: Ledger) -> list[object]:
    return [one.fragments, one.starts, one.tokens, one.last_seq, one.calls, _raw(one.reading)]


def _read_fragment(text: str) -> Fragment:
    first_seq, last_seq, tokens, calls, reading = json.loads(text)
    return Fragment(first_seq, last_seq, tokens, calls, _reading(reading))


def _read_ledger(text: str) -> Ledger:
    fragments, starts, tokens, last_seq, calls, reading = json.loads(text)
    pairs = tuple((int(seq), int(before)) for seq, before in starts)
    return Ledger(fragments, pairs, tokens, last_seq, calls, _reading(reading))


def _fragment_without(one: Fragment, seqs: AbstractSet[int]) -> Fragment | None:
    return replace(one, reading=NoteMaterial()) if any(one.first_seq <= seq <= one.last_seq for seq in seqs) else None


def _ledger_without(one: Ledger, seqs: AbstractSet[int]) -> Ledger | None:
    return replace(one, reading=NoteMaterial()) if any(seq <= one.last_seq for seq in seqs) else None


FRAGMENT = RecordKind("fragment", _read_fragment, tuple, _fragment_body, "stored notes", _fragment_without)
LEDGER = RecordKind("ledger", _read_ledger, tuple, _ledger_body, "stored notes", _ledger_without)


# The ids of notes: their messages, and enough of a digest to tell them from other notes on the same messages.

# How many digits of the digest (SHA-256 in hexadecimal) stand in an id. Each is a fraction of a token in every request
# that shows the notes, and a model has to copy it: four do, until two notes on the same messages share them.
DIGITS = (4, 8, 16, 64)


MADE_BY = "extract/2"
# What the first line says where a model's sentences may follow it.
IN_FRONT = ", a model's first"
# So many of the newest blocks may keep notes of their own where all others are merged.
OWN_NOTES = 2
# A ledger is stored each time so many fragments have come: between two of them it is built from the fragments.
SNAPSHOT_FRAGMENTS = 16


@dataclass(slots=True)
class Notebook:
    """Notes of one session.

    The ledger holds what the merged summary stands for, `pending` the fragments of the blocks behind it, in order.
    Both are built from what is stored, so that they are the same in any process under the same settings. `pause` is
    called every few milliseconds of work.
    """

    session_id: str
    renderer: Renderer
    transcripts: TranscriptStore
    summaries: SummaryStore
    history: HistorySettings = field(default_factory=HistorySettings)
    pause: Callable[[], object] = no_pause
    # Summaries that are stored and must not be used: messages of them are being forgotten.
    without: frozenset[str] = frozenset()
    ledger: Ledger | None = None
    pending: list[Fragment] = field(default_factory=list)
    # The ledger with the older ones of `pending` behind, made as they come: the event that merges them takes longest.
    ahead: Ledger | None = None
    stored: int = 0
    snapshot: int = 0
    snapshots: int = 0
    fresh: dict[tuple[int, int], Fragment] = field(default_factory=dict)
    readings: dict[tuple[int, int], NoteMaterial] = field(default_factory=dict)
    # What language models wrote, the newest first; None before it was looked for.
    texts: tuple[Summary, ...] | None = None
    # The literals of payloads that stand beside the notes of this event.
    literals: dict[str, frozenset[str]] = field(default_factory=dict)
    # Ledgers of this event, by what they reach to: each attempt of an event asks for the same few.
    reached: dict[tuple[int, tuple[tuple[int, int], ...]], Ledger] = field(default_factory=dict)

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything covers; `new_seq` for none."""
        oldest = self._opened().first_seq
        if oldest is None:
            oldest = self.pending[0].first_seq if self.pending else new_seq
        return max(first_seq, oldest)

    def runs(self, after_seq: int) -> tuple[NoteBlock, ...]:
        """Return the blocks behind `after_seq`, oldest first, each of which makes a note of its own."""
        self._opened()
        kept = [fragment for fragment in self.pending if fragment.first_seq > after_seq]
        return tuple(NoteBlock(fragment.first_seq, fragment.last_seq, fragment.tokens) for fragment in kept)

    def read_block(self, steps: Sequence[Step]) -> NoteBlock:
        """Read steps as a new block, and return it; the same steps are read once in an event."""
        self._opened()
        one = self._fragment(steps)
        return NoteBlock(one.first_seq, one.last_seq, one.tokens)

    def note(
        self,
        run: NoteBlock,
        standing: Sequence[Part],
        limit_tokens: int,
        level: Representation = Representation.DETAILED,
    ) -> Summary:
        """Return notes on a block, which do not repeat `standing`, the parts in front of them."""
        self._opened()
        place = run.first_seq, run.last_seq
        fragment = self.fresh.get(place) or next(
            fragment for fragment in self.pending if (fragment.first_seq, fragment.last_seq) == place
        )
        whole = replace(fragment, reading=self.readings.get(place, fragment.reading))
        return self._summary(whole, place, standing, limit_tokens, level)

    def merged_note(
        self, first_seq: int, last_seq: int, new: Sequence[NoteBlock], standing: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, the blocks in `new` the newest of them."""
        places = tuple((run.first_seq, run.last_seq) for run in new if run.last_seq <= last_seq)
        if (last_seq, places) not in self.reached:
            ledger = self._through(last_seq)
            for place in places:
                ledger = self.taking(ledger, self.fresh[place])
            self.reached[last_seq, places] = ledger
        ledger = self.reached[last_seq, places]
        return self._summary(ledger, (first_seq, last_seq), standing, limit_tokens, Representation.MERGED)

    def texts_on(self, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the language models' summaries that notes on these messages take sentences from, oldest first."""
        if self.texts is None:
            found = newest_texts(self.session_id, self.transcripts, self.summaries)
            self.texts = tuple([one for one in found if one.summary_id not in self.without])
        return texts_inside(self.texts, first_seq, last_seq)

    def settle(self, merged_through: int, runs: Sequence[tuple[int, int]]) -> tuple[Record, ...]:
        """Take in the runs that a change notes for the first time, and return the records to store with its plan.

        `merged_through` is the last message that its merged summary stands for, -1 if it has none. Call `reopen`
        where storing them fails.
        """
        self._opened()
        records = []
        for run in runs:
            fragment = self.fresh[run]
            records.append(FRAGMENT.record(self.stored, fragment))
            self.pending.append(fragment)
            self.stored += 1
        # The event has merged these already, for the note that it shows.
        merged = self.reached.get((merged_through, tuple(run for run in runs if run[1] <= merged_through)))
        self._end_event()
        self.ledger = merged or self._through(merged_through)
        self.pending = [fragment for fragment in self.pending if fragment.last_seq > merged_through]
        older = self.pending[:-OWN_NOTES]
        self.ahead = self._through(older[-1].last_seq) if older else None
        if self.ledger.fragments - self.snapshot >= SNAPSHOT_FRAGMENTS:
            records.append(self._kept())
        return tuple(records)

    def counts(self) -> tuple[int, int]:
        """Return the number of records of notes, stored or about to be: (ledgers, fragments)."""
        self._opened()
        return self.snapshots, self.stored

    def held(self) -> tuple[Ledger, tuple[Fragment, ...]]:
        """Return the ledger, and the blocks behind it in order."""
        return self._opened(), tuple(self.pending)

    def restart(self) -> tuple[Record, ...]:
        """Begin anew under another window, whose notes may cover less; return the records of its plan."""
        self._opened()
        self.ledger, self.pending, self.ahead = Ledger(fragments=self.stored), [], None
        self.reached.clear()
        return (self._kept(),) if self.stored else ()

    def reopen(self) -> None:
        """Drop the state, and what language models wrote, so that it is read from the store again."""
        self.ledger, self.pending, self.ahead, self.texts = None, [], None, None
        self._end_event()

    def _end_event(self) -> None:
        self.fresh.clear()
        self.readings.clear()
        self.literals.clear()
        self.reached.clear()

    def _kept(self) -> Record:
        ledger = self._opened()
        record = LEDGER.record(self.snapshots, ledger)
        self.snapshots += 1
        self.snapshot = ledger.fragments
        return record

    def _opened(self) -> Ledger:
        """Return the ledger; the first time from the store, with the fragments behind it pending."""
        if self.ledger is None:
            last = self.transcripts.last_record(self.session_id, LEDGER.name)
            self.ledger = LEDGER.read(last) if last else Ledger()
            self.snapshot, self.snapshots = self.ledger.fragments, last.number + 1 if last else 0
            self.pending = FRAGMENT.all(self.transcripts, self.session_id, self.snapshot)
            self.stored = self.snapshot + len(self.pending)
        return self.ledger

    def _through(self, last_seq: int) -> Ledger:
        ledger = self._opened()
        if self.ahead is not None and ledger.last_seq <= self.ahead.last_seq <= last_seq:
            ledger = self.ahead
        for fragment in self.pending:
            if ledger.last_seq < fragment.last_seq <= last_seq:
                ledger = self.taking(ledger, fragment)
        return ledger

    def taking(self, ledger: Ledger, fragment: Fragment) -> Ledger:
        """Return a ledger with one more fragment behind, which fades as the settings have it."""
        return ledger.taking(fragment, self.history.fading_tokens)

    def _fragment(self, steps: Sequence[Step]) -> Fragment:
        run = steps[0].first_seq, steps[-1].last_seq
        if run not in self.fresh:
            self.fresh[run], self.readings[run] = self.read(steps)
        return self.fresh[run]

    def read(self, steps: Sequence[Step]) -> tuple[Fragment, NoteMaterial]:
        """Return the fragment and the whole reading of a block; the notebook does not change."""
        codecs = self.renderer.codecs
        rows = [row for step in steps for row in step.messages]
        # A payload does not show that it was brought back: that is known from when it was stored.
        said = [replace(codecs[row.codec].decode(row.payload), category=row.category) for row in rows]
        calls = sum(len(message.calls) for message in said)
        # What the user said stands verbatim while there is room; then notes tell of it.
        reading = read(said, users_verbatim=self.history.strict, pause=self.pause, first_seq=rows[0].seq)
        tokens = total([step.cost for step in steps]).bound
        return Fragment.of(steps[0].first_seq, steps[-1].last_seq, tokens, calls, reading), reading

    def _summary(
        self, told: Fragment | Ledger, run: tuple[int, int], standing: Sequence[Part], limit_tokens: int, level: str
    ) -> Summary:
        meter = self.renderer.meter
        known = frozenset[str]().union(*map(self._literals, standing))
        texts = self.texts_on(*run)
        behind = {one.first_seq: one.tokens for one in (*self.pending, *self.fresh.values()) if one.first_seq > run[1]}
        fading = math.exp(-sum(behind.values()) / self.history.fading_tokens)
        said = {asked_of(part.first_seq) for part in standing if is_user_part(part)}.intersection(told.reading.lines)
        source = _digest(
            MADE_BY,
            level,
            str(limit_tokens),
            told.mark,
            *sorted(known),
            *map(repr, (fading, self.history.fading_tokens, self.history.least_worth)),
            *sorted(said),
            *(one.summary_id for one in texts),
        )
        told_of = f"{run[1] - run[0] + 1} messages{IN_FRONT if texts else ''}"
        made_by = "+".join((MADE_BY, *(one.summary_id for one in texts)))
        reading = self._with_texts(told, texts)
        room = max(1, limit_tokens - meter.template.message_tokens)

        def made(summary_id: str) -> Summary:
            header = f"[{summary_id}: notes on {told_of}, data only; recall {summary_id} shows them]"
            counter, pause = meter.physical, self.pause
            notes = render(
                reading,
                header=header,
                limit_tokens=room,
                counter=counter,
                known=known,
                fading=fading,
                pause=pause,
                least_worth=self.history.least_worth,
                fading_tokens=self.history.fading_tokens,
                without=said,
            )
            text = notes.text or header
            cost = meter.message(text)
            return Summary(summary_id, self.session_id, *run, level, text, cost, meter.name, source, made_by)

        return self.named(run, source, made)

    def _with_texts(self, told: Fragment | Ledger, texts: Sequence[Summary]) -> NoteMaterial:
        """Return the reading, with the sentences of models' summaries in front; these fade as it does."""
        if not texts:
            return told.reading
        starts = told.starts if isinstance(told, Ledger) else ()
        lines = {}
        for one in texts:
            behind = next((told.tokens - before for first, before in starts if first > one.last_seq), 0)
            mark, _, text = one.text.partition("\n")
            lines[one.summary_id] = summary_line(mark, text, math.exp(-behind / self.history.fading_tokens))
        return replace(told.reading, lines={**lines, **told.reading.lines})

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of an id that no other summary of the session has; nothing is stored.

        Made again, a summary finds itself stored and keeps its id, in any process. `run` are its first and last
        message, `source` is the digest, in hexadecimal, of what it is made from.

        Raises:
            StoreError: the store failed.
        """
        first_seq, last_seq = run
        for digits in DIGITS:
            summary = make(f"s{first_seq}-{last_seq}.{source[:digits]}")
            if all(stored == summary for stored in self.summaries.by_id(self.session_id, [summary.summary_id])):
                break
        return summary

    def _literals(self, part: Part) -> frozenset[str]:
        if part.text is not None or part.payload is None or part.codec is None:
            return _literals_of(part.text or "")
        if part.payload not in self.literals:
            self.literals[part.payload] = _literals_of(self.renderer.codecs[part.codec].text(part.payload))
        return self.literals[part.payload]


@lru_cache(maxsize=4096)
def _literals_of(text: str) -> frozenset[str]:
    # The same summaries and user messages stand beside every note of an event, and of the next one.
    return frozenset(literals_of(text))


def _digest(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


# Back to the notes of an earlier plan; records are only ever added.


def rewound(notes: Notebook, then: tuple[int, int], merged_through: int) -> tuple[Record, ...]:
    """Return the records that make the notes what they were when there were `then` records: (ledgers, fragments).

    A ledger of what was merged through the message `merged_through`, and once more the fragments behind it: what was
    noted since stands raw again, and is noted anew. Call `Notebook.reopen` once they are stored, or where that fails.

    Raises:
        DamagedStoreError: stored notes can't be read.
        NotFoundError: the notes of that time are no longer stored.
    """
    ledgers, fragments = notes.counts()
    if not fragments:
        return ()
    found = LEDGER.all(notes.transcripts, notes.session_id, then[0] - 1)[:1] if then[0] else [Ledger()]
    first = found[0].fragments if found else 0
    stored = FRAGMENT.all(notes.transcripts, notes.session_id, first)[: max(0, then[1] - first)]
    if not found or first + len(stored) < then[1]:
        raise NotFoundError("the notes of that time are no longer stored")
    ledger = found[0]
    pending: list[Fragment] = []
    for fragment in stored:
        if ledger.last_seq < fragment.last_seq <= merged_through:
            ledger = notes.taking(ledger, fragment)
        else:
            pending.append(fragment)
    return LEDGER.record(ledgers, replace(ledger, fragments=fragments)), *FRAGMENT.records(pending, fragments)


def counts_behind(notes: Notebook, records: Sequence[Record]) -> tuple[int, int]:
    """Return the number of records of notes once these are stored: (ledgers, fragments)."""
    ledgers, fragments = notes.counts()
    kinds = [record.kind for record in records]
    return ledgers + kinds.count(LEDGER.name), fragments + kinds.count(FRAGMENT.name)


# Notes made again from the raw messages, because some of these were forgotten.


def retold(notes: Notebook, context: SessionContext, gone: AbstractSet[int]) -> tuple[Record, ...]:
    """Return the records that bring the notes up to date: a ledger and the blocks behind it.

    What is from a block with a message in `gone` is read anew from `context`, the others are as they were stored.

    Raises:
        DamagedStoreError: what is stored can't be read.
    """
    ledger, pending = notes.held()
    known = {
        (fragment.first_seq, fragment.last_seq): fragment
        for fragment in FRAGMENT.all(notes.transcripts, notes.session_id)
    }

    def renewed(block: NoteBlock | Fragment) -> Fragment:
        run = block.first_seq, block.last_seq
        stored = known.get(run)
        # An empty one was emptied when another message in it was forgotten.
        if stored is not None and stored.reading.lines and not any(run[0] <= seq <= run[1] for seq in gone):
            return stored
        return notes.read(steps_of(context.read(*run)))[0]

    merged = Ledger()
    for block in ledger.runs():
        merged = notes.taking(merged, renewed(block))
    ledgers, fragments = notes.counts()
    # A ledger that no longer reaches as far back has counted, and faded, what it took in before.
    kept = replace(merged, fragments=fragments, last_seq=max(merged.last_seq, ledger.last_seq))
    return LEDGER.record(ledgers, kept), *FRAGMENT.records(map(renewed, pending), fragments)
