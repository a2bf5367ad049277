"""What tools put out gives way first where it has more than its share of a request (P-08, C14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.budget.categories import WEIGHTS, shares
from squidbot.core.changes.scene import Batch, by_bound, by_estimate
from squidbot.core.messages import Cost
from squidbot.core.plan import Representation, Segment
from squidbot.core.settings import LEAST_CUT_FRACTION
from squidbot.core.view.atoms import total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.budget.categories import Share
    from squidbot.core.changes.scene import Scene
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom

__all__ = ["outputs_first"]


def outputs_first(
    scene: Scene, settings: HistorySettings, stay: int, slim_cost: Callable[[Atom], Cost]
) -> Batch | None:
    """Return the batch that cuts tool outputs and no more, oldest first; None where that is not called for.

    That is where they have no more than their share, or where all that may be cut of them is not enough. `stay` of the
    newest atoms stay as they are, `slim_cost` says what an atom costs with its outputs cut.
    """
    movable = (*scene.slimmed, *scene.tail)
    history = total((*(block.cost for block in scene.blocks), *(atom.sent_cost for atom in movable)))
    output = total(map(_output, movable))
    most = max(settings.low_fraction, settings.high_fraction - LEAST_CUT_FRACTION)
    share = _share(scene, settings, most, history, output)
    if not share.is_over:
        return None
    for count, atom in enumerate(movable[: len(movable) - max(1, stay)], 1):
        saved = _less(atom.sent_cost, slim_cost(atom))
        history, output = _less(history, saved), _less(output, saved)
        fits = all(size(history) <= most * size(scene.room) for size in (by_bound, by_estimate))
        if fits and count > len(scene.slimmed) and output.bound <= share.allotted:
            return _cut(scene, movable[:count])
    return None


def _share(scene: Scene, settings: HistorySettings, most: float, history: Cost, output: Cost) -> Share:
    """Return what outputs have of a request, and may have of what an event leaves: `most` of the room.

    Below the mark that fires an event all of it fits, and no share would be too large.
    """
    system, context = scene.beside
    used = {"system": system, "context": context, "output": output.bound, "dialog": history.bound - output.bound}
    total_tokens = int(most * scene.room.bound) + system + context
    return shares(total_tokens, used, settings.category_weights or WEIGHTS)[-1]


def _less(cost: Cost, part: Cost) -> Cost:
    return Cost(cost.estimate - part.estimate, cost.bound - part.bound)


def _output(atom: Atom) -> Cost:
    return total(row.sent_cost for row in atom.messages if row.result_ids)


def _cut(scene: Scene, atoms: Sequence[Atom]) -> Batch:
    whole = tuple(row.seq for atom in atoms for row in atom.messages if row.seq in scene.pinned)
    segment = Segment(atoms[0].first_seq, atoms[-1].last_seq, Representation.SLIMMED, None, whole)
    segments = (*(block.segment for block in scene.blocks), segment)
    return Batch(segments, (), atoms[-1].last_seq + 1, len(scene.blocks))
