"""Which messages become a summary, which stay: one batch, from the high-water mark down to the low one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.changes.floors import Floors
from squidbot.core.changes.folding import Folding, filled, marks
from squidbot.core.changes.outputs import outputs_first
from squidbot.core.changes.pricing import Outlook
from squidbot.core.changes.scene import Batch, Ground, by_bound, by_estimate, noted_as
from squidbot.core.messages import Cost
from squidbot.core.plan import Representation, Segment
from squidbot.core.settings import LEAST_CUT_FRACTION
from squidbot.core.view.atoms import Atom, total
from squidbot.core.view.renderer import born, is_user_part, shown, spent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.changes.capping import Kept
    from squidbot.core.changes.scene import Step

__all__ = ["Compactor"]


class Zones(NamedTuple):
    """The movable atoms, oldest first, by what an event does with them."""

    noted: tuple[Atom, ...]
    slimmed: tuple[Atom, ...]
    raw: tuple[Atom, ...]
    limits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Compactor(Ground):
    """Makes batches for one scene."""

    def batch(self, step: Step) -> Batch | None:
        """Return what an event of this step would send, or None where there is nothing it may move."""
        if (first := self._outputs_first(step)) is not None:
            return first
        zones = self._zones(step)
        if zones.noted:
            appends = step.gentle and self._append_pays(zones, step)
            made = self._append(zones.noted) if appends else self._folded(zones, step)
            return self._slimmed_behind(made, zones)
        if self.foldable and (self._lost() or not step.gentle):
            return self._slimmed_behind(self._folded(zones, step), zones)
        if len(zones.slimmed) > len(self.scene.slimmed) or zones.limits:
            return self._slimmed_behind(self._append(()), zones)
        return None

    def _outputs_first(self, step: Step) -> Batch | None:
        """Return the batch that cuts tool outputs alone, at the gentlest step, where they pass their share."""
        if not step.gentle or self.settings.category_weights is None or self._lost():
            return None
        return outputs_first(self.scene, self.settings, self._floors.fitting(self._stays_raw), self._slim_cost)

    def _folded(self, zones: Zones, step: Step) -> Batch:
        behind = total((*map(self._slim_cost, zones.slimmed), *(atom.sent_cost for atom in zones.raw)))
        (_, bound), (_, estimate) = self._shares(step, by_bound), self._shares(step, by_estimate)
        folding = Folding(self.scene, self.settings, self.notes, self.by_estimate)
        return folding.batch(zones.noted, step, behind, (bound, estimate))

    # -- what stays raw, what is slimmed, what is noted -------------------------------------------------------

    def _zones(self, step: Step) -> Zones:
        """Return how the movable atoms are dealt with: raw to the low-water mark, then slimmed, the rest noted."""
        movable = (*self.scene.slimmed, *self.scene.tail)
        if self.scene.kept is not None:
            return self._capped(movable, self.scene.kept, step)
        raw = self._raw_count(step)
        slimmed, used = 0, Cost(0, 0)
        for atom in reversed(movable[: len(movable) - raw]) if step.slim_fraction else ():
            used = used.plus(self._slim_cost(atom))
            if any(size(used) > step.slim_fraction * size(self.scene.room) for size in (by_bound, by_estimate)):
                break
            slimmed += 1
        cut = len(movable) - raw - slimmed
        return Zones(movable[:cut], movable[cut : cut + slimmed], movable[cut + slimmed :])

    def _capped(self, movable: tuple[Atom, ...], kept: Kept, step: Step) -> Zones:
        """Return what the caps leave, if the window has room for it, else no more of it than its own marks leave."""
        count = kept.atoms
        whole = total((*(atom.sent_cost for atom in movable), *(block.cost for block in self.scene.blocks)))
        if whole.bound > self.settings.high_fraction * self.scene.room.bound or not self._stays_raw(movable[-count:]):
            count = max(self._floors.always(), min(count, self._raw_count(step)))
        cut = len(movable) - count
        limited = {seq for seq, _ in kept.limits}
        stays = [any(row.seq in limited for row in atom.messages) for atom in movable]
        ends = [place + 1 for place in range(cut, len(movable)) if place < len(self.scene.slimmed) or stays[place]]
        behind = max(ends, default=cut)
        return Zones(movable[:cut], movable[cut:behind], movable[behind:], kept.limits)

    def _slim_cost(self, atom: Atom) -> Cost:
        """Return what an atom costs with its tool outputs cut."""
        if self.scene.kept is not None:
            return atom.sent_cost
        most = self.settings.slim_tokens(self.scene.room.bound)
        costs = ((message.sent_cost, message.result_ids) for message in atom.messages)
        return total(Cost(min(one.estimate, most), min(one.bound, most)) if cut else one for one, cut in costs)

    def _raw_count(self, step: Step) -> int:
        """Return how many of the newest atoms stay raw: what the low-water mark leaves, at least the floor.

        Both units must leave it, whichever binds: else a larger window could show less than a smaller one.
        """
        least = self._floors.fitting(self._stays_raw)
        if not step.keep_fraction:
            return least
        raw = max(1, min(self._raw_by(step, by_bound), self._raw_by(step, by_estimate)))
        if self.scene.raw_messages is not None:
            raw = self._by_number(step, raw, self._floors.by_number(self.scene.raw_messages))
        return max(least, raw)

    def _by_number(self, step: Step, raw: int, number: int) -> int:
        """Return how many of the newest atoms stay by size and by number of messages, `raw` and `number` of them.

        The smaller count; where a number has a low water of its own and fired the event, just that, if it fits well.
        """
        if step.keep_fraction < self.settings.low_fraction or not self.scene.cut_by_number or number <= raw:
            return min(raw, number)
        cost = total(atom.sent_cost for atom in self.scene.tail[len(self.scene.tail) - number :])
        share = max(self.settings.low_fraction, self.settings.high_fraction - LEAST_CUT_FRACTION)
        fits = all(size(cost) <= share * size(self.scene.room) for size in (by_bound, by_estimate))
        return number if fits else raw

    @property
    def _floors(self) -> Floors:
        return Floors(self.scene.tail, self.scene.stored, self.scene.in_flight_seq, self.settings)

    def _stays_raw(self, atoms: Sequence[Atom]) -> bool:
        """Return whether atoms may stay as a floor: beside what must be sent, and the user's words in front of them.

        It is the same for each attempt of an event: where the user's words gave way for it in a small window, a larger
        one, whose first attempt is one that keeps them, would not have it (promise 8).
        """
        settings, said = self.settings, self._said((*self.scene.slimmed, *self.scene.tail))
        cost = total(atom.sent_cost for atom in atoms)
        for size in (by_bound, by_estimate):
            room = size(self.scene.room)
            beside = settings.slim_fraction * room + self._held(size) + marks(room)
            share = room if settings.strict else settings.user_verbatim_fraction * room * settings.keeps_users
            if size(cost) > room - beside - min(size(said), share):
                return False
        return True

    def _raw_by(self, step: Step, size: Callable[[Cost], int]) -> int:
        """Return how many of the newest atoms the low-water mark leaves in one unit."""
        budget, _ = self._shares(step, size)
        kept = used = 0
        for atom in reversed(self.scene.tail):
            used += size(atom.sent_cost)
            if kept and used > budget:
                break
            kept += 1
        return kept

    def _shares(self, step: Step, size: Callable[[Cost], int]) -> tuple[float, float]:
        """Return what raw messages, and the user's ones in front of them, may cost in one unit.

        Both grow with the room, so that a larger one never shows less. What cannot give way comes first, then the
        user's share, then half the room for notes, then raw messages up to the low-water mark.
        """
        room, settings = size(self.scene.room), self.settings
        prefix = size(total(block.cost for block in self.scene.blocks))
        tail = size(total(atom.sent_cost for atom in self.scene.tail))
        notes = min(tail * settings.note_rate, step.notes_fraction * room)
        raw = settings.raw_tokens(step.keep_fraction - step.slim_fraction, room, prefix + notes)
        least_notes = step.notes_fraction * settings.fold_fraction * room / 2
        beside = step.slim_fraction * room + self._held(size)
        everything = size(self._said((*self.scene.slimmed, *self.scene.tail)))
        said = everything if settings.strict else step.user_fraction * room
        raw = min(raw, filled(room) - least_notes - beside - min(everything, said)) if step.keep_fraction else 0.0
        least = self._floors.fitting(self._stays_raw)
        newest = size(total(atom.sent_cost for atom in self.scene.tail[len(self.scene.tail) - least :]))
        behind = max(raw, newest, settings.keep_fraction * room)
        return raw, min(said, room - marks(room) - beside - behind)

    def _held(self, size: Callable[[Cost], int]) -> int:
        """Return what must be sent in front of what stays raw: pinned steps, the question in flight, marked lines."""
        pinned = (row for atom in self.scene.tail for row in atom.messages if row.seq in self.scene.pinned)
        marked = self.scene.marked(0, self.scene.stored, ())
        return size(total((*(row.sent_cost for row in (*self.scene.held, *pinned)), spent(marked))))

    def _said(self, atoms: Sequence[Atom]) -> Cost:
        """Return what the user's messages cost that stand verbatim behind notes, with those of these atoms."""
        standing = (part.cost for block in self.scene.blocks for part in block.parts if is_user_part(part))
        return total((*standing, *(atom.sent_cost for atom in atoms if atom.is_user)))

    # -- a new note behind the ones that stand ----------------------------------------------------------------

    def _append_pays(self, zones: Zones, step: Step) -> bool:
        """Return whether another note fits beside those that stand, and is cheaper than one note on everything."""
        standing = sum(block.segment.note_tokens for block in self.scene.blocks)
        added = sum(self._note_tokens(block) for block in self.blocks_of(zones.noted))
        most = step.notes_fraction * self.least_room if self.scene.kept is None else self.scene.kept.notes
        if not self._chains(zones.noted, step) or standing + added > most:
            return False
        prefix = self.size(total(block.cost for block in self.scene.blocks))
        raw = self.size(total(atom.sent_cost for atom in (*zones.slimmed, *zones.raw)))
        raw += self.size(spent(self.scene.marked(zones.noted[0].first_seq, zones.noted[-1].last_seq, ())))
        folded = min(self.fold_tokens(step), standing + added)
        outlook = self._outlook()
        appended = outlook.cost_per_request(after=prefix + added + raw, written=added + raw)
        after = prefix - standing + folded + raw
        return appended <= outlook.cost_per_request(after=after, written=after)

    def _chains(self, noted: Sequence[Atom], step: Step) -> bool:
        """Return whether notes are added to those there are at all, and the user's words fit beside them."""
        if not (self.settings.chain and self.settings.takes_notes) or self._lost():
            return False
        said = self._said(noted if self.settings.keeps_users else ())
        return all(size(said) <= self.user_share(step, said, size) for size in (by_bound, by_estimate))

    def _lost(self) -> bool:
        """Return whether something that must be verbatim is not: it was pinned after it had been summarized."""
        sent = {part.first_seq for block in self.scene.blocks for part in block.parts if part.payload is not None}
        return any(row.seq not in sent for row in self.scene.held)

    def _outlook(self) -> Outlook:
        tail = self.scene.tail
        growth = self.size(total(atom.sent_cost for atom in tail)) / max(1, len(tail))
        settings = self.settings
        return Outlook(settings.high_fraction * self.room, growth, settings.read_price, settings.write_price)

    def _note_tokens(self, block: Sequence[Atom]) -> int:
        """Return the room for the notes on a block."""
        return self.level_tokens(sum(atom.cost.bound for atom in block), Representation.DETAILED)

    def _append(self, noted: Sequence[Atom]) -> Batch:
        segments = [block.segment for block in self.scene.blocks]
        standing = [part for block in self.scene.blocks for part in block.parts]
        summaries = []
        for run in self.blocks_of(noted):
            kept = [message for atom in run if self.stays(atom) for message in atom.messages]
            verbatim = tuple(message.seq for message in kept)
            beside = [*self.scene.marked(run[0].first_seq, run[-1].last_seq, verbatim), *map(born, kept)]
            summary = self.notes.told(self.notes.took(run), [*standing, *beside], self._note_tokens(run))
            standing += [shown(summary), *beside]
            segments.append(noted_as(summary, Representation.SUMMARY_USER, verbatim))
            summaries.append(summary)
        tail_from = noted[-1].last_seq + 1 if noted else self._movable_from()
        runs = tuple((made.first_seq, made.last_seq) for made in summaries)
        return Batch(tuple(segments), tuple(summaries), tail_from, len(self.scene.blocks), runs)

    def _movable_from(self) -> int:
        return (*self.scene.slimmed, *self.scene.tail)[0].first_seq

    def _slimmed_behind(self, batch: Batch, zones: Zones) -> Batch:
        if not zones.slimmed:
            return batch
        first, last = zones.slimmed[0].first_seq, zones.slimmed[-1].last_seq
        limits = tuple((seq, most) for seq, most in zones.limits if first <= seq <= last)
        cut = {seq for seq, _ in limits}
        stays = [atom for atom in zones.slimmed if self.scene.kept is not None or self.stays(atom)]
        whole = tuple(row.seq for atom in stays for row in atom.messages if row.seq not in cut)
        segment = Segment(first, last, Representation.SLIMMED, None, whole, limits=limits)
        return batch._replace(segments=(*batch.segments, segment), tail_from_seq=last + 1)
