"""What a batch is chosen from, how hard an event tries, and what both ways of taking notes share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.plan import Representation, Segment
from squidbot.core.settings import LEVEL_TOKENS
from squidbot.core.view.atoms import session_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from squidbot.core.changes.capping import Kept
    from squidbot.core.messages import Cost, Part, StoredMessage, Summary
    from squidbot.core.plan import Run
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.standing import Block

__all__ = ["Batch", "Ground", "NoteTaker", "Scene", "Step", "noted_as", "retelling", "steps"]


# What heads a note, its id, how many messages it is on and how to see them, costs 34 to 44 tokens by the default
# counter; with one line beside it even a note on two turns says which file they touched.
HEADER_TOKENS = 64


class Scene(NamedTuple):
    """What a batch is chosen from.

    Attributes:
        room: what history may cost: the input limit less the fixed parts.
        blocks: the plan's segments as they are sent, oldest first, up to the first slimmed one.
        slimmed: the atoms of the slimmed segments behind them, oldest first.
        tail: the atoms behind those, all sent raw; what is in flight is at their end.
        stored: how many messages the store holds; later ones came with this call and must stay raw.
        pinned: seqs of the messages of pinned atoms.
        held: messages inside `blocks` that must be sent verbatim: pinned atoms, the message that is being answered.
        in_flight_seq: the user message that is being answered.
        marked: gives the parts that say what messages of a run mark, by first and last seq, those sent verbatim aside.
        raw_messages: how many messages the tail may keep, if they are not kept in any case; None for any number.
        cut_by_number: whether too many messages have fired the event, and it is to leave just so many.
        kept: what the caps leave raw of `slimmed` and `tail`; None where they don't hold.
        unread: whether older messages were not read back: what the user said in them is not known.
        beside: what is sent beside history: system text and tools, then the head, in tokens as bounds.
    """

    room: Cost
    blocks: tuple[Block, ...]
    slimmed: tuple[Atom, ...]
    tail: tuple[Atom, ...]
    stored: int
    pinned: frozenset[int]
    held: tuple[StoredMessage, ...]
    in_flight_seq: int
    marked: Callable[[int, int, Collection[int]], Sequence[Part]] = lambda _first, _last, _shown: ()
    raw_messages: int | None = None
    cut_by_number: bool = False
    kept: Kept | None = None
    unread: bool = False
    beside: tuple[int, int] = (0, 0)


class Batch(NamedTuple):
    """What one event would send: the segments, the summaries made for them, and where the raw tail begins.

    `kept_blocks` of the scene's blocks stand in front unchanged; `runs` are (first, last) seq of what is noted for the
    first time.
    """

    segments: tuple[Segment, ...]
    summaries: tuple[Summary, ...]
    tail_from_seq: int
    kept_blocks: int
    runs: tuple[tuple[int, int], ...] = ()

    def cause(self, asked: str) -> str:
        """Return the cause of its plan: a rollover where a request must be made to fit, and no room is left for notes.

        Beside what must be sent, the newest of the user's messages are, as far as there is room.
        """
        told = any(one.representation is not Representation.ABSENT for one in self.segments)
        return "rollover" if asked == "overflow" and not told else asked

    @property
    def merged_through(self) -> int:
        """The last message that a merged summary stands for; -1 where there is none."""
        merged = [one.last_seq for one in self.segments if one.representation is Representation.MERGED]
        return max(merged, default=-1)


class NoteTaker(Protocol):
    """Makes the notes that stand for messages until a language model has summarized them."""

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything tells of.

        Of messages that nothing stands for now, too, where they were noted; `new_seq` where nothing was noted before.
        """

    def runs(self, after_seq: int) -> tuple[Run, ...]:
        """Return the blocks behind `after_seq`, oldest first: what is kept of each makes a note of its own."""

    def took(self, atoms: Sequence[Atom]) -> Run:
        """Read atoms as a block that is noted for the first time; the same atoms are read once in an event."""

    def told(
        self, run: Run, standing: Sequence[Part], limit_tokens: int, level: Representation = Representation.DETAILED
    ) -> Summary:
        """Return notes on a block; what `standing`, the parts in front of them, says already is not said again."""

    def folded(  # noqa: PLR0913, PLR0917  # what one note on everything is made of
        self,
        first_seq: int,
        last_seq: int,
        new: Sequence[Run],
        standing: Sequence[Part],
        limit_tokens: int,
        texts: Sequence[str] = (),
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, the end of a block.

        The blocks in `new` that lie among them are noted for the first time; `standing` is what is sent verbatim
        beside it. `texts` stand in front of the notes by rule, and are paid from the limit: they cost no more.
        """

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of the id that it is stored under; `source`: the digest of what it is made from."""


class Step(NamedTuple):
    """How hard an event tries, as shares of the room: raw messages, slimmed ones, user messages, notes."""

    keep_fraction: float
    slim_fraction: float
    user_fraction: float
    notes_fraction: float
    gentle: bool = False


def steps(settings: HistorySettings) -> list[Step]:
    """Return the attempts of one event, gentlest first; the next one is made only if the one before did not fit."""
    notes = settings.notes_fraction if settings.takes_notes else 0.0
    if settings.only_in_flight:
        fewer = [Step(0.0, 0.0, 0.0, share) for share in (notes, notes / 2, notes / 6) if share]
        return [*([fewer[0]._replace(gentle=True)] if fewer else []), *fewer, Step(0.0, 0.0, 0.0, 0.0)]
    users, low = settings.user_verbatim_fraction, settings.low_fraction
    return [
        Step(low, settings.slim_fraction, users, notes, gentle=True),
        Step(low, 0.0, users, notes),
        Step(low / 2, 0.0, users, notes),
        Step(low / 4, 0.0, users, notes),
        Step(0.0, 0.0, users, notes),
        # What the assistant and its tools did gives way before what the user said (C2).
        Step(0.0, 0.0, users, notes / 2),
        Step(0.0, 0.0, users, notes / 6),
        Step(0.0, 0.0, users / 4, notes / 6),
        Step(0.0, 0.0, 0.0, 0.0),
    ]


def retelling(settings: HistorySettings) -> list[Step]:
    """Return the attempts that tell all notes anew and leave the messages behind them as they are while they fit."""
    if settings.only_in_flight:
        return steps(settings)[1:2] if settings.takes_notes else []
    notes = settings.notes_fraction if settings.takes_notes else 0.0
    return [Step(1.0, settings.slim_fraction, settings.user_verbatim_fraction, notes)]


@dataclass(frozen=True, slots=True)
class Ground:
    """What notes are taken on. `by_estimate`: the policy's unit binds before the window does, and prices are in it.

    Whatever has to fit is measured in both units: what binds a long history need not bind what an event makes of it.
    """

    scene: Scene
    settings: HistorySettings
    notes: NoteTaker
    by_estimate: bool

    def size(self, cost: Cost) -> int:
        """Return a cost in the unit that binds."""
        return cost.estimate if self.by_estimate else cost.bound

    @property
    def room(self) -> int:
        """What history may cost, in the unit that binds."""
        return self.size(self.scene.room)

    @property
    def least_room(self) -> int:
        """The smaller of what history may cost in either unit: no text counts more words than it has tokens."""
        return min(self.scene.room)

    def blocks_of(self, moved: Sequence[Atom]) -> list[list[Atom]]:
        """Return atoms as session blocks."""
        most = self.settings.block_max_tokens(self.scene.room.bound)
        return session_blocks(moved, gap_seconds=self.settings.gap_seconds, max_tokens=most)

    def level_tokens(self, said_tokens: int, level: Representation) -> int:
        """Return the room for notes of a level: a share of what was said beside what heads a note, up to the cap."""
        most = self.settings.level_tokens(level, self.scene.room.bound)
        share = self.settings.note_rate * LEVEL_TOKENS[level] / LEVEL_TOKENS[Representation.DETAILED]
        return max(self.settings.min_note_tokens, min(most, HEADER_TOKENS + round(said_tokens * share)))

    def fold_tokens(self, step: Step) -> int:
        """Return the room for all notes where everything is told anew."""
        tokens = round(step.notes_fraction * self.least_room * self.settings.fold_fraction)
        return tokens if self.scene.kept is None else min(tokens, self.scene.kept.notes)

    def stays(self, atom: Atom) -> bool:
        """Return whether an atom is sent verbatim behind its notes."""
        said = atom.is_user and (self.settings.keeps_users or atom.first_seq == self.scene.in_flight_seq)
        return said or any(message.seq in self.scene.pinned for message in atom.messages)

    def user_share(self, step: Step, said: Cost, size: Callable[[Cost], int]) -> float:
        """Return what the user's messages may cost behind notes in one unit, if `said` was: by high and low water.

        Cut to the high one, the next turn would cut them again. Where not all was read back, a larger window, which
        reads more, may have to cut; so the low one holds (promise 8).
        """
        if self.settings.strict:
            return math.inf
        if not self.settings.keeps_users:
            return 0.0
        share = step.user_fraction * size(self.scene.room)
        return share * self.settings.user_low_fraction if size(said) > share or self.scene.unread else share

    @property
    def foldable(self) -> list[Block]:
        """The blocks of which something is told."""
        return [one for one in self.scene.blocks if one.segment.representation is not Representation.ABSENT]


def by_bound(cost: Cost) -> int:
    """Return a cost in tokens, as a bound."""
    return cost.bound


def by_estimate(cost: Cost) -> int:
    """Return a cost in the policy's unit."""
    return cost.estimate


def noted_as(summary: Summary, representation: Representation, verbatim: tuple[int, ...]) -> Segment:
    """Return the segment of messages that a summary stands for, these of them verbatim behind it."""
    first, last = summary.first_seq, summary.last_seq
    return Segment(first, last, representation, summary.summary_id, verbatim, summary.cost.bound)
