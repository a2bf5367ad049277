"""The caps of document 001 on history: what of it stays raw, and what is cut, newest to oldest (Q-06, Q-07)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.caps import HistoryItem
from squidbot.core.plan import Representation
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from squidbot.core.budget.caps import Capped
    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.standing import Standing

__all__ = ["LEAST_UNITS", "Kept", "capped", "floor_of", "history_of", "is_over"]

# What is left of a message that is cut as far as it may be, in the unit of the caps: the mark alone has 13 words.
LEAST_UNITS = 40


class Kept(NamedTuple):
    """What the caps leave raw.

    Attributes:
        atoms: how many of the newest atoms, those of the current turn included.
        limits: (seq, what it may cost in the unit of the caps) of each message that is cut, in order.
        notes: what notes may cost, in that unit.
    """

    atoms: int
    limits: tuple[tuple[int, int], ...]
    notes: int


def capped(
    atoms: Sequence[Atom], behind_seq: int, caps: Capped | None, pinned: Collection[int], *, noted: bool
) -> Kept | None:
    """Return what the caps leave of atoms, oldest first; those from `behind_seq` on are outside of the caps.

    None without caps. `noted` says that something stands for older ones.
    """
    if caps is None:
        return None
    earlier = [atom for atom in atoms if atom.last_seq < behind_seq]
    items = [_item(atom, pinned) for atom in earlier]
    most = caps.kept(items, noted=noted)
    kept = sum(one is not None for one in most)
    limits = [
        limit
        for atom, item, left in zip(earlier, items, most, strict=True)
        if left is not None and left < item.cost
        for limit in _limits(atom, item.cost - left, pinned)
    ]
    spare = caps.total - sum(one or 0 for one in most)
    return Kept(kept + len(atoms) - len(earlier), tuple(limits), max(0, min(caps.notes, spare)))


def is_over(standing: Standing, behind_seq: int, caps: Capped) -> bool:
    """Return whether more stands raw than the caps leave, and something of it can give way."""
    cut = [one for one in standing.blocks if one.segment.representation is Representation.SLIMMED]
    items = [
        *(HistoryItem(spent(one.parts).estimate, one.segment.last_seq - one.segment.first_seq + 1) for one in cut),
        *(_item(atom, standing.pins.seqs) for atom in standing.tail.as_sent if atom.last_seq < behind_seq),
    ]
    least = caps._replace(total=caps.total - standing.summaries.estimate, pointer=0)
    return any(left != item.cost for item, left in zip(items, least.kept(items), strict=True))


def floor_of(standing: Standing, behind_seq: int, caps: Capped) -> int:
    """Return what the newest messages cost that stay whatever they cost, in the unit of the caps."""
    least = caps._replace(history=1, total=1)
    atoms = [atom for atom in standing.tail.as_sent if atom.last_seq < behind_seq]
    return sum(one or 0 for one in least.kept([_item(atom, standing.pins.seqs) for atom in atoms]))


def history_of(standing: Standing) -> int:
    """Return what is sent raw, or cut, of what was said before the current turn, in the unit of the caps."""
    cut = [one for one in standing.blocks if one.segment.representation is Representation.SLIMMED]
    tail = (atom.sent_cost.estimate for atom in standing.tail.as_sent if atom.last_seq < standing.turn)
    return sum(spent(one.parts).estimate for one in cut) + sum(tail)


def _item(atom: Atom, pinned: Collection[int]) -> HistoryItem:
    least = None
    if not atom.is_user:
        least = sum(row.sent_cost.estimate - _cuttable(row, pinned) for row in atom.messages)
    return HistoryItem(atom.sent_cost.estimate, len(atom.messages), least=least)


def _cuttable(row: StoredMessage, pinned: Collection[int]) -> int:
    """Return by how much a message can be cut: its text, not what tools are called with."""
    if row.seq in pinned or row.role not in {"assistant", "tool"} or row.call_ids:
        return 0
    return max(0, row.sent_cost.estimate - LEAST_UNITS)


def _limits(atom: Atom, over: int, pinned: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield what the messages of an atom may cost that is to cost so much less, its oldest cut first."""
    for row in atom.messages:
        cut = min(over, _cuttable(row, pinned))
        if cut > 0:
            yield row.seq, row.sent_cost.estimate - cut
            over -= cut
