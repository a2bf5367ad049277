"""Which blocks want a summary by a language model, and at which level: what the next event could show of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.changes.better import LEVELS, TEXTS_FRACTION
from squidbot.core.changes.scene import Ground, Scene, steps
from squidbot.core.plan import Representation, Run
from squidbot.core.prompts.modes import MODES
from squidbot.core.view.atoms import atoms_of, total
from squidbot.core.view.renderer import is_user_part, spent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Cost
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.plan import Segment
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.standing import Shelf, Standing

__all__ = ["JobSettings", "Wanted", "room_of", "wanted"]

# How full the room for a chain of notes is when the next event is expected to tell everything anew, by level.
FOLD_NEAR_FRACTION = 0.75
# What stands in front of a text in a note on many blocks, its messages and days: beside what the level may tell.
MARK_TOKENS = 32


@dataclass(frozen=True, slots=True)
class JobSettings:
    """What is summarized by a language model.

    Attributes:
        mode: what summaries keep above all: "developer", "planning", "assistant", "debugger" (O-11), or one of `keeps`;
            "": the session's own, "developer" where it has none.
        min_messages: a block of fewer messages is left alone (B-41).
        min_input_tokens: so is one in which less was said, the user's messages left out, as a bound (O-18).
        source_tokens: what a job's messages may cost as a summarizer is shown them, as a bound.
        backoff_seconds: how long a block rests after two failures in a row; after each further one twice as long.
        keeps: what each mode keeps, as the end of a sentence.
    """

    mode: str = ""
    min_messages: int = 4
    min_input_tokens: int = 500
    source_tokens: int = 16_000
    backoff_seconds: float = 300.0
    keeps: Mapping[str, str] = field(default_factory=lambda: MODES, hash=False)


class Wanted(NamedTuple):
    """A summary that could be shown: of which messages, at which level, in which room, and why it is wanted."""

    run: Run
    level: Representation
    limit_tokens: int
    reason: str


def wanted(  # noqa: PLR0913, PLR0917  # all that an event would know
    shelf: Shelf,
    settings: HistorySettings,
    notes: Notebook,
    stored: Standing,
    room: Cost,
    now: float | None,
    *,
    every: frozenset[str],
) -> list[Wanted]:
    """Return the summaries that the next event could show, oldest block first.

    Of blocks that are still raw, those that the next event is sure to note, and all that were closed by one of `every`:
    "gap", "size".
    """
    atoms = _movable(shelf, stored)
    scene = Scene(room, stored.blocks, (), tuple(atoms), stored.messages, frozenset(), (), stored.turn)
    merged = notes.held()[0].runs()
    return list(_Asked(Ground(scene, settings, notes, by_estimate=False), stored, now, every, merged).all())


def _movable(shelf: Shelf, stored: Standing) -> list[Atom]:
    """Return the atoms that no note stands for yet, oldest first."""
    cut = [block.segment for block in stored.blocks if block.segment.representation is Representation.SLIMMED]
    slimmed = atoms_of(shelf.read(cut[0].first_seq, cut[-1].last_seq)) if cut else []
    return [*slimmed, *stored.tail.atoms]


class _Asked(NamedTuple):
    ground: Ground
    stored: Standing
    now: float | None
    every: frozenset[str]
    merged: tuple[Run, ...]

    def all(self) -> Iterator[Wanted]:
        """Yield what is wanted, oldest first."""
        if not self.ground.settings.takes_notes:
            return
        ahead = list(self._ahead()) if self.ground.settings.chain else []
        yield from self._of_noted(ahead)
        yield from (self._one(run, Representation.DETAILED, reason) for run, reason in ahead)

    def _of_noted(self, ahead: Sequence[tuple[Run, str]]) -> Iterator[Wanted]:
        """Yield what is wanted of blocks that notes stand for, with those in `ahead` behind them."""
        standing = [block.segment for block in self.stored.blocks if block.segment.representation in LEVELS]
        levels = {(one.first_seq, one.last_seq): LEVELS[one.representation] for one in standing}
        known = self.ground.notes.runs(-1)
        runs = [run for run in known if (run.first_seq, run.last_seq) in levels]
        folds = self._folds(standing, ahead)
        folded = self._ranked(runs, ahead) if folds else {}
        if folds or "size" in self.every:
            yield from self._in_one_note(known, set(folded if folds else runs))
        for run in runs:
            yield from self._by_itself(run, levels[run.first_seq, run.last_seq], folded.get(run))

    def _by_itself(self, run: Run, level: Representation, folded: Representation | None) -> Iterator[Wanted]:
        """Yield what is wanted of a block with notes of its own: at the level it has, and at that of the next fold."""
        yield from (self._one(run, each, "pressure") for each in dict.fromkeys((level, folded or level)))

    def _in_one_note(self, known: Sequence[Run], stays: AbstractSet[Run]) -> list[Wanted]:
        """Return the newest blocks that a fold tells in one note, as many as it has room for, oldest first.

        Of those `known` behind what was merged, the ones in `stays` keep notes of their own.
        """
        blocks = [*self.merged, *(run for run in known if run not in stays)]
        settings = self.ground.settings
        left = self.ground.fold_tokens(steps(settings)[0]) * (1 - settings.level_fraction) * TEXTS_FRACTION
        limit = settings.level_tokens(Representation.MERGED, self.ground.room) + MARK_TOKENS
        newest = blocks[max(0, len(blocks) - int(left / limit)) :]
        return [Wanted(run, Representation.MERGED, limit, "pressure") for run in newest]

    def _ranked(self, runs: Sequence[Run], ahead: Sequence[tuple[Run, str]]) -> dict[Run, Representation]:
        """Return the levels that blocks get where everything is told anew: at least one new block comes behind them.

        Only as many as have room together, as a fold has it.
        """
        ground, settings = self.ground, self.ground.settings
        new = [run for run, _ in reversed(ahead)] or [Run(-1, -1, settings.block_max_tokens(ground.room))]
        left = settings.level_fraction * ground.fold_tokens(steps(settings)[0])
        ranked: dict[Run, Representation] = {}
        for run, level in zip((*new, *reversed(runs)), settings.ranks(), strict=False):
            left -= ground.level_tokens(run.tokens, level)
            if left < 0:
                break
            ranked[run] = level
        return {run: level for run, level in ranked.items() if run not in new}

    def _one(self, run: Run, level: Representation, reason: str) -> Wanted:
        return Wanted(run, level, self.ground.level_tokens(run.tokens, level), reason)

    def _folds(self, standing: Sequence[Segment], ahead: Sequence[tuple[Run, str]]) -> bool:
        """Return whether the next event is expected to tell everything anew: notes or user messages fill their room."""
        settings, scene = self.ground.settings, self.ground.scene
        near = FOLD_NEAR_FRACTION * self.ground.room
        told = sum(one.note_tokens for one in standing)
        noted_through = ahead[-1][0].last_seq if ahead else -1
        said = [part.cost for block in scene.blocks for part in block.parts if is_user_part(part)]
        said += [atom.sent_cost for atom in scene.tail if atom.is_user and atom.last_seq <= noted_through]
        full = told > near * settings.notes_fraction or total(said).bound > near * settings.user_verbatim_fraction
        return full or not settings.chain

    def _ahead(self) -> Iterator[tuple[Run, str]]:
        """Yield the blocks of what is still raw that are wanted, with what closed them.

        Only in a chain of notes do they stay blocks of their own: a fold takes them together.
        """
        tail, stays = self.ground.scene.tail, self._stays()
        behind = total(atom.sent_cost for atom in tail).bound
        for block, closed_by in self._closed(self.ground.blocks_of(tail)):
            behind -= total(atom.sent_cost for atom in block).bound
            if closed_by in self.every or behind >= stays:
                tokens = total(atom.cost for atom in block).bound
                yield Run(block[0].first_seq, block[-1].last_seq, tokens), closed_by

    def _closed(self, blocks: Sequence[Sequence[Atom]]) -> Iterator[tuple[Sequence[Atom], str]]:
        """Yield blocks that nothing will be added to, with what closed them: "gap" or "size"."""
        gap_seconds = self.ground.settings.gap_seconds
        for block, behind in pairwise(blocks):
            yield block, "gap" if _paused(block, behind[0].messages[0].time, gap_seconds) else "size"
        if blocks and _paused(blocks[-1], self.now, gap_seconds):
            yield blocks[-1], "gap"

    def _stays(self) -> float:
        """Return what stays behind notes at an event at most: a block with as much behind it will be noted whole."""
        settings, room = self.ground.settings, self.ground.room
        prefix = sum(block.cost.bound for block in self.ground.scene.blocks)
        raw = settings.raw_tokens(settings.low_fraction - settings.slim_fraction, room, prefix)
        return raw + settings.slim_fraction * room


def _paused(block: Sequence[Atom], until: float | None, gap_seconds: float) -> bool:
    newest = block[-1].messages[-1].time
    return newest is not None and until is not None and until - newest >= gap_seconds


def room_of(limit: Cost, stored: Standing, outside: Cost) -> Cost:
    """Return what history may cost beside what opens the transcript and what came with the newest request."""
    return limit.less(spent(stored.lead)).less(outside)
