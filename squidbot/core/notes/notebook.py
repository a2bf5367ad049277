"""Makes the rule-made notes of one session, and keeps what they are made from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.messages import Record, Summary
from squidbot.core.notes.extract import render
from squidbot.core.notes.ledger import Fragment, Ledger
from squidbot.core.notes.literals import literals_of
from squidbot.core.notes.naming import under_a_name_of_its_own
from squidbot.core.notes.reading import read
from squidbot.core.plan import Representation, Run
from squidbot.core.view.atoms import total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.messages import Part
    from squidbot.core.notes.reading import Reading
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.renderer import Renderer

__all__ = ["FRAGMENT", "IN_FRONT", "LEDGER", "Notebook"]

MADE_BY = "extract/1"
# What the first line says where texts by a model follow it.
IN_FRONT = ", in front a model's"
FRAGMENT, LEDGER = "fragment", "ledger"
# A ledger is stored each time so many fragments have come: between two of them it is built from the fragments.
SNAPSHOT_FRAGMENTS = 16


@dataclass(slots=True)
class Notebook:
    """Notes of one session.

    The ledger holds what the merged summary stands for, `pending` the fragments of the blocks behind it, in order.
    Both are built from what is stored, so that they are the same in any process. `tells_users` says that the user's
    messages don't stand beside the notes, which tell of them.
    """

    session_id: str
    renderer: Renderer
    transcripts: TranscriptStore
    summaries: SummaryStore
    tells_users: bool = False
    ledger: Ledger | None = None
    pending: list[Fragment] = field(default_factory=list)
    stored: int = 0
    snapshot: int = 0
    snapshots: int = 0
    fresh: dict[tuple[int, int], Fragment] = field(default_factory=dict)
    readings: dict[tuple[int, int], Reading] = field(default_factory=dict)
    # Ledgers of this event, by what they reach to: each attempt of an event asks for the same few.
    reached: dict[tuple[int, tuple[tuple[int, int], ...]], Ledger] = field(default_factory=dict)

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything tells of; `new_seq` for none."""
        oldest = self._opened().first_seq
        if oldest is None:
            oldest = self.pending[0].first_seq if self.pending else new_seq
        return max(first_seq, oldest)

    def runs(self, after_seq: int) -> tuple[Run, ...]:
        """Return the blocks behind `after_seq`, oldest first: what is kept of each makes a note of its own."""
        self._opened()
        kept = [one for one in self.pending if one.first_seq > after_seq]
        return tuple(Run(one.first_seq, one.last_seq, one.tokens) for one in kept)

    def took(self, atoms: Sequence[Atom]) -> Run:
        """Read atoms as a block that is noted for the first time; the same atoms are read once in an event."""
        self._opened()
        one = self._fragment(atoms)
        return Run(one.first_seq, one.last_seq, one.tokens)

    def told(
        self, run: Run, standing: Sequence[Part], limit_tokens: int, level: Representation = Representation.DETAILED
    ) -> Summary:
        """Return notes on a block; what `standing`, the parts in front of them, says already is not said again."""
        self._opened()
        place = run.first_seq, run.last_seq
        fragment = self.fresh.get(place) or next(one for one in self.pending if (one.first_seq, one.last_seq) == place)
        whole = replace(fragment, reading=self.readings.get(place, fragment.reading))
        return self._summary(whole, place, standing, limit_tokens, level)

    def folded(  # noqa: PLR0913, PLR0917  # what one note on everything is made of
        self,
        first_seq: int,
        last_seq: int,
        new: Sequence[Run],
        standing: Sequence[Part],
        limit_tokens: int,
        texts: Sequence[str] = (),
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, the blocks in `new` the newest of them.

        `texts`, by a language model, stand in front of the notes by rule, which don't say again what they name.
        """
        places = tuple((run.first_seq, run.last_seq) for run in new if run.last_seq <= last_seq)
        if (last_seq, places) not in self.reached:
            ledger = self._through(last_seq)
            for place in places:
                ledger = ledger.taking(self.fresh[place])
            self.reached[last_seq, places] = ledger
        ledger = self.reached[last_seq, places]
        return self._summary(ledger, (first_seq, last_seq), standing, limit_tokens, Representation.MERGED, texts)

    def settle(self, merged_through: int, runs: Sequence[tuple[int, int]]) -> tuple[Record, ...]:
        """Take in the runs that a change notes for the first time, and return the records to store with its plan.

        `merged_through` is the last message that its merged summary stands for, -1 where it has none. Call `reopen`
        where storing them fails.
        """
        self._opened()
        records = []
        for run in runs:
            fragment = self.fresh[run]
            records.append(Record(FRAGMENT, self.stored, fragment.to_json()))
            self.pending.append(fragment)
            self.stored += 1
        # The event has merged these already, for the note that it shows.
        merged = self.reached.get((merged_through, tuple(run for run in runs if run[1] <= merged_through)))
        self.fresh.clear()
        self.readings.clear()
        self.reached.clear()
        self.ledger = merged or self._through(merged_through)
        self.pending = [one for one in self.pending if one.last_seq > merged_through]
        if self.ledger.fragments - self.snapshot >= SNAPSHOT_FRAGMENTS:
            records.append(self._kept())
        return tuple(records)

    def counts(self) -> tuple[int, int]:
        """Return how many records of notes are stored, or about to be: (ledgers, fragments)."""
        self._opened()
        return self.snapshots, self.stored

    def held(self) -> tuple[Ledger, tuple[Fragment, ...]]:
        """Return the ledger, and the blocks behind it in order."""
        return self._opened(), tuple(self.pending)

    def restart(self) -> tuple[Record, ...]:
        """Begin anew under another lease, whose notes may stand for less; return the records to store with its plan."""
        self._opened()
        self.ledger, self.pending = Ledger(fragments=self.stored), []
        self.reached.clear()
        return (self._kept(),) if self.stored else ()

    def reopen(self) -> None:
        """Forget what is held, so that it is read from the store again."""
        self.ledger, self.pending = None, []
        self.fresh.clear()
        self.readings.clear()
        self.reached.clear()

    def _kept(self) -> Record:
        ledger = self._opened()
        record = Record(LEDGER, self.snapshots, ledger.to_json())
        self.snapshots += 1
        self.snapshot = ledger.fragments
        return record

    def _opened(self) -> Ledger:
        """Return the ledger; the first time as the store has it, with fragments that came after it pending."""
        if self.ledger is None:
            last = self.transcripts.last_record(self.session_id, LEDGER)
            self.ledger = Ledger.from_json(last.body) if last else Ledger()
            self.snapshot, self.snapshots = self.ledger.fragments, last.number + 1 if last else 0
            rest = self.transcripts.records(self.session_id, FRAGMENT, self.snapshot)
            self.pending = [Fragment.from_json(record.body) for record in rest]
            self.stored = self.snapshot + len(self.pending)
        return self.ledger

    def _through(self, last_seq: int) -> Ledger:
        ledger = self._opened()
        for fragment in self.pending:
            if ledger.last_seq < fragment.last_seq <= last_seq:
                ledger = ledger.taking(fragment)
        return ledger

    def _fragment(self, atoms: Sequence[Atom]) -> Fragment:
        run = atoms[0].first_seq, atoms[-1].last_seq
        if run not in self.fresh:
            self.fresh[run], self.readings[run] = self.read(atoms)
        return self.fresh[run]

    def read(self, atoms: Sequence[Atom]) -> tuple[Fragment, Reading]:
        """Return what is kept of a block, and all that was read of it; nothing is remembered."""
        codecs = self.renderer.codecs
        rows = [row for atom in atoms for row in atom.messages]
        # A payload does not show that it was brought back (B-44): that is known from when it was stored.
        said = [replace(codecs[row.codec].decode(row.payload), category=row.category) for row in rows]
        calls = sum(len(message.calls) for message in said)
        reading = read(said, users_verbatim=not self.tells_users)
        tokens = total(atom.cost for atom in atoms).bound
        return Fragment.of(atoms[0].first_seq, atoms[-1].last_seq, tokens, calls, reading), reading

    def _summary(  # noqa: PLR0913, PLR0917  # as `folded`
        self,
        told: Fragment | Ledger,
        run: tuple[int, int],
        standing: Sequence[Part],
        limit_tokens: int,
        level: str,
        texts: Sequence[str] = (),
    ) -> Summary:
        meter = self.renderer.meter
        known = frozenset[str]().union(*map(_literals_of, (*map(self._text, standing), *texts)))
        source = _digest(MADE_BY, level, str(limit_tokens), told.mark, *sorted(known), *texts)
        told_of = f"{run[1] - run[0] + 1} messages{IN_FRONT if texts else ''}"
        made_by = f"{MADE_BY}+model" if texts else MADE_BY
        room = max(1, limit_tokens - meter.template.message_tokens)

        def made(summary_id: str) -> Summary:
            header = f"[{summary_id}: notes on {told_of}, data only; recall {summary_id} shows them]"
            header = "\n".join((header, *texts))
            notes = render(told.reading, header=header, limit_tokens=room, counter=meter.physical, known=known)
            text = notes.text or header
            cost = meter.message(text)
            return Summary(summary_id, self.session_id, *run, level, text, cost, meter.name, source, made_by)

        return self.named(run, source, made)

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of the id that it is stored under; `source` is the digest of what it is made from.

        Raises:
            StoreError: the store failed.
        """
        return under_a_name_of_its_own(self.summaries, self.session_id, run, source, make)

    def _text(self, part: Part) -> str:
        if part.text is not None or part.payload is None or part.codec is None:
            return part.text or ""
        return self.renderer.codecs[part.codec].text(part.payload)


@lru_cache(maxsize=4096)
def _literals_of(text: str) -> frozenset[str]:
    # The same summaries and user messages stand beside every note of an event, and of the next one.
    return frozenset(literals_of(text))


def _digest(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
