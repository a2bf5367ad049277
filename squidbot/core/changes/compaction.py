"""Which messages become a summary, which stay: one batch, from the high-water mark down to the low one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.changes.pricing import Outlook
from squidbot.core.messages import Kind
from squidbot.core.plan import Representation, Segment
from squidbot.core.view.atoms import Atom, session_blocks, total
from squidbot.core.view.renderer import born, is_user_part, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.core.messages import Cost, Part, StoredMessage, Summary
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.standing import Block

__all__ = ["Batch", "Compactor", "NoteTaker", "Scene", "Step", "steps"]


_SAID = frozenset({Kind.MESSAGE, Kind.SLIMMED, Kind.SYSTEM})


@dataclass(frozen=True, slots=True)
class Scene:
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
    """

    room: Cost
    blocks: tuple[Block, ...]
    slimmed: tuple[Atom, ...]
    tail: tuple[Atom, ...]
    stored: int
    pinned: frozenset[int]
    held: tuple[StoredMessage, ...]
    in_flight_seq: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one event would send: the segments, the summaries made for them, and where the raw tail begins.

    `kept_blocks` of the scene's blocks stand in front unchanged; `runs` are (first, last) seq of what is noted for the
    first time.
    """

    segments: tuple[Segment, ...]
    summaries: tuple[Summary, ...]
    tail_from_seq: int
    kept_blocks: int
    runs: tuple[tuple[int, int], ...] = ()

    @property
    def merged_through(self) -> int:
        """The last message that a merged summary stands for; -1 where there is none."""
        merged = [one.last_seq for one in self.segments if one.representation is Representation.MERGED]
        return max(merged, default=-1)


class NoteTaker(Protocol):
    """Makes the notes that stand for messages until a language model has summarized them."""

    def reach(self, first_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything can still stand for."""

    def added(self, atoms: Sequence[Atom], standing: Sequence[Part], limit_tokens: int) -> Summary:
        """Return notes on atoms; what `standing`, the parts in front of them, says already is not said again."""

    def folded(
        self, first_seq: int, atoms: Sequence[Atom], last_seq: int, standing: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, of which `atoms` are the newest.

        `standing` are those of them that are sent verbatim beside it.
        """


@dataclass(frozen=True, slots=True)
class Step:
    """How hard an event tries, as shares of the room: raw messages, slimmed ones, user messages, notes."""

    keep_fraction: float
    slim_fraction: float
    user_fraction: float
    notes_fraction: float
    gentle: bool = False


def steps(settings: HistorySettings) -> list[Step]:
    """Return the attempts of one event, gentlest first; the next one is made only if the one before did not fit."""
    if settings.scope == "none":
        return [Step(0.0, 0.0, 0.0, 0.0)]
    users, notes = settings.user_verbatim_fraction, settings.notes_fraction
    low = settings.low_fraction
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


class Zones(NamedTuple):
    """The movable atoms, oldest first, by what an event does with them."""

    noted: tuple[Atom, ...]
    slimmed: tuple[Atom, ...]
    raw: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Compactor:
    """Makes batches for one scene. `by_estimate`: the policy's unit binds before the window does, and measures."""

    scene: Scene
    settings: HistorySettings
    notes: NoteTaker
    by_estimate: bool

    def batch(self, step: Step) -> Batch | None:
        """Return what an event of this step would send, or None where there is nothing it may move."""
        zones = self._zones(step)
        if zones.noted:
            appends = step.gentle and self._append_pays(zones, step)
            made = self._append(zones.noted) if appends else self._fold(zones.noted, step)
            return self._slimmed_behind(made, zones)
        if self._foldable() and (self._lost() or not step.gentle):
            return self._slimmed_behind(self._fold((), step), zones)
        if len(zones.slimmed) > len(self.scene.slimmed):
            return self._slimmed_behind(self._append(()), zones)
        return None

    def _size(self, cost: Cost) -> int:
        return cost.estimate if self.by_estimate else cost.bound

    @property
    def _room(self) -> int:
        return self._size(self.scene.room)

    def _foldable(self) -> list[Block]:
        return [one for one in self.scene.blocks if one.segment.representation is not Representation.ABSENT]

    # -- what stays raw, what is slimmed, what is noted -------------------------------------------------------

    def _zones(self, step: Step) -> Zones:
        """Return how the movable atoms are dealt with: raw to the low-water mark, then slimmed, the rest noted."""
        movable = (*self.scene.slimmed, *self.scene.tail)
        raw = self._raw_count(step)
        slim_tokens = self.settings.slim_tokens(self.scene.room.bound)
        budget = step.slim_fraction * self._room
        slimmed = used = 0
        for atom in reversed(movable[: len(movable) - raw]) if budget else ():
            used += sum(self._slim_size(message, slim_tokens) for message in atom.messages)
            if used > budget:
                break
            slimmed += 1
        cut = len(movable) - raw - slimmed
        return Zones(movable[:cut], movable[cut : cut + slimmed], movable[cut + slimmed :])

    def _slim_size(self, message: StoredMessage, slim_tokens: int) -> int:
        size = self._size(message.sent_cost)
        return min(size, slim_tokens) if message.result_ids else size

    def _raw_count(self, step: Step) -> int:
        """Return how many of the newest atoms stay raw: what the low-water mark leaves, at least the floor.

        Both units must leave it, whichever binds: else a larger window could show less than a smaller one.
        """
        if not step.keep_fraction:
            return self._always()
        return max(self._always(), min(self._raw_by(step, _bound), self._raw_by(step, _estimate)))

    def _raw_by(self, step: Step, size: Callable[[Cost], int]) -> int:
        """Return how many of the newest atoms the low-water mark leaves in one unit; at least the floor there."""
        room = size(self.scene.room)
        prefix = size(total(block.cost for block in self.scene.blocks))
        tail = size(total(atom.sent_cost for atom in self.scene.tail))
        notes = min(tail * self.settings.note_rate, step.notes_fraction * room)
        budget = (step.keep_fraction - step.slim_fraction) * room - prefix - notes
        budget = max(budget, self.settings.keep_fraction * room)
        kept = used = 0
        for atom in reversed(self.scene.tail):
            used += size(atom.sent_cost)
            if kept and used > budget:
                break
            kept += 1
        return max(kept, self._floor(size))

    def _always(self) -> int:
        """Return how many atoms stay whatever they cost: the newest, and those that came with this call (C16)."""
        tail = self.scene.tail
        stays_from = self.scene.in_flight_seq if self.settings.scope == "none" else self.scene.stored
        return min(len(tail), max(1, sum(atom.last_seq >= stays_from for atom in tail)))

    def _floor(self, size: Callable[[Cost], int]) -> int:
        """Return how many atoms hold the configured number of newest messages, while these fit."""
        floor = used = seen = 0
        for count, atom in enumerate(reversed(self.scene.tail), 1):
            used += size(atom.sent_cost)
            full = used > self.settings.keep_fraction * size(self.scene.room)
            if full or seen >= self.settings.min_recent_messages:
                break
            floor = count
            seen += len(atom.messages)
        return floor

    def _stays(self, atom: Atom) -> bool:
        return atom.is_user or any(message.seq in self.scene.pinned for message in atom.messages)

    # -- a new note behind the ones that stand ----------------------------------------------------------------

    def _append_pays(self, zones: Zones, step: Step) -> bool:
        """Return whether another note fits beside those that stand, and is cheaper than one note on everything."""
        if not self.settings.chain or self._lost():
            return False
        standing = sum(block.segment.note_tokens for block in self.scene.blocks)
        added = sum(self._note_tokens(block) for block in self._blocks(zones.noted))
        full = standing + added > step.notes_fraction * self._room
        if full or self._user_size(zones.noted) > step.user_fraction * self._room:
            return False
        prefix = self._size(total(block.cost for block in self.scene.blocks))
        raw = self._size(total(atom.sent_cost for atom in (*zones.slimmed, *zones.raw)))
        folded = min(self._fold_tokens(step), standing + added)
        outlook = self._outlook()
        appended = outlook.cost_per_request(after=prefix + added + raw, written=added + raw)
        after = prefix - standing + folded + raw
        return appended <= outlook.cost_per_request(after=after, written=after)

    def _user_size(self, noted: Sequence[Atom]) -> int:
        """Return what the user's messages cost that would stand verbatim behind notes."""
        standing = total(part.cost for block in self.scene.blocks for part in block.parts if is_user_part(part))
        return self._size(standing) + self._size(total(atom.sent_cost for atom in noted if atom.is_user))

    def _lost(self) -> bool:
        """Return whether something that must be verbatim is not: it was pinned after it had been summarized."""
        sent = {part.first_seq for block in self.scene.blocks for part in block.parts}
        return any(row.seq not in sent for row in self.scene.held)

    def _outlook(self) -> Outlook:
        tail = self.scene.tail
        growth = self._size(total(atom.sent_cost for atom in tail)) / max(1, len(tail))
        settings = self.settings
        return Outlook(settings.high_fraction * self._room, growth, settings.read_price, settings.write_price)

    def _blocks(self, moved: Sequence[Atom]) -> list[list[Atom]]:
        most = self.settings.block_max_tokens(self.scene.room.bound)
        return session_blocks(moved, gap_seconds=self.settings.gap_seconds, max_tokens=most)

    def _note_tokens(self, block: Sequence[Atom]) -> int:
        """Return the room for the notes on a block: a share of it, between the smallest useful note and the cap."""
        said = sum(atom.cost.bound for atom in block)
        most = self.settings.level_tokens(Representation.DETAILED, self.scene.room.bound)
        return max(self.settings.min_note_tokens, min(most, round(said * self.settings.note_rate)))

    def _append(self, noted: Sequence[Atom]) -> Batch:
        segments = [block.segment for block in self.scene.blocks]
        standing = [part for block in self.scene.blocks for part in block.parts]
        summaries = []
        for run in self._blocks(noted):
            kept = [message for atom in run if self._stays(atom) for message in atom.messages]
            summary = self.notes.added(run, [*standing, *map(born, kept)], self._note_tokens(run))
            standing += [shown(summary), *map(born, kept)]
            verbatim = tuple(message.seq for message in kept)
            segments.append(_standing(summary, Representation.SUMMARY_USER, verbatim))
            summaries.append(summary)
        tail_from = noted[-1].last_seq + 1 if noted else self._movable_from()
        runs = tuple((made.first_seq, made.last_seq) for made in summaries)
        return Batch(tuple(segments), tuple(summaries), tail_from, len(self.scene.blocks), runs)

    def _movable_from(self) -> int:
        return (*self.scene.slimmed, *self.scene.tail)[0].first_seq

    # -- one note on everything -------------------------------------------------------------------------------

    def _fold_tokens(self, step: Step) -> int:
        return round(step.notes_fraction * self._room * self.settings.fold_fraction)

    def _fold(self, noted: Sequence[Atom], step: Step) -> Batch:
        first, told_from, last = self._fold_range(noted)
        limit = self._fold_tokens(step)
        told = limit >= self.settings.min_note_tokens
        reach = min(last + 1, self.notes.reach(told_from)) if told else last + 1
        kept = self._verbatim(self._sayable(noted), step)
        segments = [_absent(first, reach - 1, kept)] if reach > first else []
        if reach > last:
            return Batch(tuple(segments), (), last + 1, 0)
        beside = [part for part in kept if part.first_seq >= reach]
        summary = self.notes.folded(reach, noted, last, beside, limit)
        verbatim = tuple(part.first_seq for part in beside)
        segments.append(_standing(summary, Representation.MERGED, verbatim))
        runs = ((noted[0].first_seq, last),) if noted else ()
        return Batch(tuple(segments), (summary,), last + 1, 0, runs)

    def _fold_range(self, noted: Sequence[Atom]) -> tuple[int, int, int]:
        """Return the first message of all, the first one that a note may tell of, and the last one."""
        blocks = self._foldable()
        told_from = blocks[0].segment.first_seq if blocks else noted[0].first_seq
        last = noted[-1].last_seq if noted else blocks[-1].segment.last_seq
        first = self.scene.blocks[0].segment.first_seq if self.scene.blocks else told_from
        return first, told_from, last

    def _sayable(self, noted: Sequence[Atom]) -> list[Part]:
        """Return what could stand verbatim beside a fold, in order: what does so now, and what must from now on."""
        said = [part for block in self.scene.blocks for part in block.parts if part.kind in _SAID]
        new = [message for atom in noted if self._stays(atom) for message in atom.messages]
        parts = {part.first_seq: part for part in (*said, *map(born, (*self.scene.held, *new)))}
        return [parts[seq] for seq in sorted(parts)]

    def _verbatim(self, sent: Sequence[Part], step: Step) -> list[Part]:
        """Return what stays verbatim beside a fold: pins, the message being answered, and the newest of the user's."""
        budget = step.user_fraction * self._room
        kept: list[Part] = []
        used = 0
        for part in reversed(sent):
            must = part.first_seq in self.scene.pinned or part.first_seq == self.scene.in_flight_seq
            used += 0 if must else self._size(part.cost)
            if must or (is_user_part(part) and used <= budget):
                kept.append(part)
        return kept[::-1]

    def _slimmed_behind(self, batch: Batch, zones: Zones) -> Batch:
        if not zones.slimmed:
            return batch
        first, last = zones.slimmed[0].first_seq, zones.slimmed[-1].last_seq
        whole = tuple(row.seq for atom in zones.slimmed if self._stays(atom) for row in atom.messages)
        segment = Segment(first, last, Representation.SLIMMED, None, whole)
        return replace(batch, segments=(*batch.segments, segment), tail_from_seq=last + 1)


def _bound(cost: Cost) -> int:
    return cost.bound


def _estimate(cost: Cost) -> int:
    return cost.estimate


def _standing(summary: Summary, representation: Representation, verbatim: tuple[int, ...]) -> Segment:
    first, last = summary.first_seq, summary.last_seq
    return Segment(first, last, representation, summary.summary_id, verbatim, summary.cost.bound)


def _absent(first_seq: int, last_seq: int, kept: Iterable[Part]) -> Segment:
    verbatim = tuple(part.first_seq for part in kept if part.first_seq <= last_seq)
    return Segment(first_seq, last_seq, Representation.ABSENT, None, verbatim)
