"""Everything told anew: the newest blocks in notes of their own, by level, behind one note on all older ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.changes.scene import Batch, Ground, by_bound, by_estimate, noted_as
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Representation, Segment
from squidbot.core.view.atoms import total
from squidbot.core.view.renderer import born, is_user_part, shown, spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.changes.scene import Step
    from squidbot.core.messages import Part, Summary
    from squidbot.core.plan import Run
    from squidbot.core.view.atoms import Atom

__all__ = ["Folding", "filled", "marks"]

# What an event may fill where it tells everything anew: the rest is grown into before the next one. On a recorded
# coding session at 8K, .75, .80 and .85 cost 1,376, 1,546 and 1,707 input tokens' worth a call with recall beyond
# 2,000 tokens of .61, .63 and .64; at 32K all are the same.
FULL_FRACTION = 0.8
# Room for what stands between notes and messages, a pointer, a notice that keeps the request valid: at most this share.
MARKS_TOKENS, MARKS_FRACTION = 64, 0.05
NOTHING = Cost(0, 0)
_SAID = frozenset({Kind.MESSAGE, Kind.SLIMMED, Kind.SYSTEM})


def filled(room: float) -> float:
    """Return what notes and messages may fill of a room where everything is told anew; grows with it."""
    return FULL_FRACTION * room - marks(room)


def marks(room: float) -> float:
    """Return the room for what stands between notes and messages."""
    return min(MARKS_TOKENS, MARKS_FRACTION * room)


class _Ranked(NamedTuple):
    """A block that keeps notes of its own, their level, and the room for them."""

    run: Run
    level: Representation
    limit_tokens: int


class _Told(NamedTuple):
    """A summary, its level, and what stands verbatim behind it."""

    summary: Summary
    level: Representation
    beside: list[Part]

    @property
    def segment(self) -> Segment:
        """The segment of the plan."""
        return noted_as(self.summary, self.level, tuple(part.first_seq for part in self.beside))


@dataclass(frozen=True, slots=True)
class Folding(Ground):
    """Makes the batches that replace all notes."""

    def batch(self, noted: Sequence[Atom], step: Step, behind: Cost, users: tuple[float, float]) -> Batch:
        """Return the batch that tells everything anew, `noted` the newest of it.

        The user's messages may cost `users`, as a bound and by estimate; notes get what they and what stays `behind`
        them leave of their room, less a part to grow into.
        """
        first, told_from, last = self._fold_range(noted)
        kept = self._verbatim(self._sayable(noted), step, users)
        marked = self._marked(first, last, kept)
        limit = min(self.fold_tokens(step), self._left(behind.plus(spent((*marked, *kept)))))
        if limit < self.settings.min_note_tokens:
            return Batch((_absent(first, last, kept),), (), last + 1, 0)
        new = [self.notes.took(block) for block in self.blocks_of(noted)] if noted else []
        reach = min(last + 1, self.notes.reach(first, told_from))
        unreached = (_absent(first, reach - 1, kept),) if reach > first else ()
        if reach > last:
            return Batch(unreached, (), last + 1, 0)
        made = self._told([part for part in kept if part.first_seq >= reach], (reach, last), new, limit)
        segments = (*unreached, *(one.segment for one in made))
        summaries = tuple(one.summary for one in made)
        return Batch(segments, summaries, last + 1, 0, tuple((run.first_seq, run.last_seq) for run in new))

    def _left(self, beside: Cost) -> int:
        """Return the room for notes that what stands `beside` them leaves, in either unit, less a part to grow into."""
        return min(int(filled(size(self.scene.room))) - size(beside) for size in (by_bound, by_estimate))

    def _told(self, kept: Sequence[Part], span: tuple[int, int], new: Sequence[Run], limit: int) -> list[_Told]:
        """Return what stands for a span of messages: the newest blocks at their levels behind one note on the rest."""
        first, last = span
        runs = (*self.notes.runs(self._merged_through()), *new)
        ranked = self._ranked([run for run in runs if first <= run.first_seq], last, limit)
        merged_through = ranked[0].run.first_seq - 1 if ranked else last
        made: list[_Told] = []
        standing: list[Part] = []
        if merged_through >= first:
            beside = [part for part in kept if part.first_seq <= merged_through]
            own_tokens = sum(one.limit_tokens for one in ranked)
            standing = [*self._marked(first, merged_through, beside), *beside]
            most = self.settings.merged_tokens(limit - own_tokens)
            summary = self.notes.folded(first, merged_through, new, standing, most)
            made.append(_Told(summary, Representation.MERGED, beside))
            standing += [shown(summary)]
        for run, level, limit_tokens in ranked:
            beside = [part for part in kept if run.first_seq <= part.first_seq <= run.last_seq]
            told = [*self._marked(run.first_seq, run.last_seq, beside), *beside]
            summary = self.notes.told(run, [*standing, *told], limit_tokens, level)
            made.append(_Told(summary, level, beside))
            standing += [shown(summary), *told]
        return made

    def _marked(self, first_seq: int, last_seq: int, kept: Iterable[Part]) -> Sequence[Part]:
        """Return the parts that say what these messages mark, but for those that are kept verbatim."""
        return self.scene.marked(first_seq, last_seq, frozenset(part.first_seq for part in kept))

    def _merged_through(self) -> int:
        """Return the last message that is told by a note on many blocks, or by none; -1 where there is none."""
        blocks = [block.segment for block in self.scene.blocks]
        whole = {Representation.MERGED, Representation.ABSENT}
        return max((one.last_seq for one in blocks if one.representation in whole), default=-1)

    def _ranked(self, runs: Sequence[Run], last_seq: int, limit: int) -> list[_Ranked]:
        """Return the blocks that keep notes of their own, oldest first: the newest by rank (C23), while they fit.

        All of them together take at most `level_fraction` of the room for notes; what is older is merged. They follow
        each other without a hole up to the last message.
        """
        ranked: list[_Ranked] = []
        left = limit * self.settings.level_fraction
        for run, level in zip(reversed(runs), self.settings.ranks(), strict=False):
            tokens = self.level_tokens(run.tokens, level)
            left -= tokens
            if left < 0 or run.last_seq != last_seq:
                break
            ranked.append(_Ranked(run, level, tokens))
            last_seq = run.first_seq - 1
        return ranked[::-1]

    def _fold_range(self, noted: Sequence[Atom]) -> tuple[int, int, int]:
        """Return the first message of all, the first one that a note may tell of, and the last one."""
        blocks = self.foldable
        told_from = blocks[0].segment.first_seq if blocks else noted[0].first_seq
        last = noted[-1].last_seq if noted else blocks[-1].segment.last_seq
        first = self.scene.blocks[0].segment.first_seq if self.scene.blocks else told_from
        return first, told_from, last

    def _sayable(self, noted: Sequence[Atom]) -> list[Part]:
        """Return what could stand verbatim beside a fold, in order: what does so now, and what must from now on."""
        said = [part for block in self.scene.blocks for part in block.parts if part.kind in _SAID]
        new = [message for atom in noted if self.stays(atom) for message in atom.messages]
        parts = {part.first_seq: part for part in (*said, *map(born, (*self.scene.held, *new)))}
        return [parts[seq] for seq in sorted(parts)]

    def _verbatim(self, sent: Sequence[Part], step: Step, users: tuple[float, float]) -> list[Part]:
        """Return what stays verbatim beside a fold: pins, the message being answered, and the newest of the user's."""
        said = total(part.cost for part in sent if is_user_part(part))
        most_bound = min(self.user_share(step, said, by_bound), users[0])
        most_estimate = min(self.user_share(step, said, by_estimate), users[1])
        kept: list[Part] = []
        used = NOTHING
        for part in reversed(sent):
            must = self._must(part)
            used = used if must else used.plus(part.cost)
            if must or (is_user_part(part) and used.bound <= most_bound and used.estimate <= most_estimate):
                kept.append(part)
        return kept[::-1]

    def _must(self, part: Part) -> bool:
        pinned = part.first_seq in self.scene.pinned or part.first_seq == self.scene.in_flight_seq
        return pinned or (self.settings.strict and is_user_part(part))


def _absent(first_seq: int, last_seq: int, kept: Iterable[Part]) -> Segment:
    verbatim = tuple(part.first_seq for part in kept if part.first_seq <= last_seq)
    return Segment(first_seq, last_seq, Representation.ABSENT, None, verbatim)
