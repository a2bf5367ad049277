"""The raw end of a request: atoms behind the last segment, their parts, their cost; grows without being rebuilt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Cost
from squidbot.core.view.atoms import Atom, atoms_of
from squidbot.core.view.renderer import spent, unanswerable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part, StoredMessage
    from squidbot.core.view.renderer import Renderer

__all__ = ["Tail"]

NOTHING = Cost(0, 0)


class Tail(NamedTuple):
    """Atoms sent as they were born, oldest first.

    Attributes:
        atoms: the atoms, in order.
        parts: what is sent for them, in order.
        cost: tokens of the parts.
        last_parts: how many of the parts belong to the newest atom, which may still grow.
        after_assistant: whether nobody can answer the part in front of the tail (`view.unanswerable`).
    """

    atoms: tuple[Atom, ...] = ()
    parts: tuple[Part, ...] = ()
    cost: Cost = NOTHING
    last_parts: int = 0
    after_assistant: bool = False

    @property
    def messages(self) -> int:
        """How many messages of the transcript it is made of."""
        return sum(len(atom.messages) for atom in self.atoms)

    @property
    def as_sent(self) -> tuple[Atom, ...]:
        """The atoms, their messages costing what is sent of them: less than at birth where a plan cuts them."""
        costs = {part.first_seq: part.cost for part in self.parts if part.payload is not None}
        return tuple(_costing(atom, costs) for atom in self.atoms)

    def extended(
        self,
        messages: Sequence[StoredMessage],
        renderer: Renderer,
        dropped_before: int,
        dropped: Sequence[tuple[int, int]] = (),
    ) -> Tail:
        """Return the tail with messages behind it; only the newest atom is rendered again, since it may take them.

        Reasoning is left out of steps before the seq `dropped_before`, and of those in the runs `dropped`: (first seq,
        first seq behind).
        """
        if not messages:
            return self
        open_messages = self.atoms[-1].messages if self.atoms else ()
        atoms, parts = self.atoms[:-1], self.parts[: len(self.parts) - self.last_parts]
        cost = self.cost if not self.atoms else _less(self.cost, spent(self.parts[len(parts) :]))
        grown = atoms_of((*open_messages, *messages))
        made: list[Part] = []
        last = 0
        for atom in grown:
            behind = made or parts
            after = unanswerable(behind[-1]) if behind else self.after_assistant
            seq = atom.first_seq
            stale = seq < dropped_before or any(first <= seq < behind for first, behind in dropped)
            rendered = renderer.raw([atom], after_assistant=after, drop_thinking=stale)
            made.extend(rendered)
            last = len(rendered)
        return Tail((*atoms, *grown), (*parts, *made), cost.plus(spent(made)), last, self.after_assistant)


def _costing(atom: Atom, costs: Mapping[int, Cost]) -> Atom:
    if all(costs.get(row.seq, row.sent_cost) == row.sent_cost for row in atom.messages):
        return atom
    rows = (replace(row, sent_cost=costs.get(row.seq, row.sent_cost)) for row in atom.messages)
    return atom._replace(messages=tuple(rows))


def _less(cost: Cost, part: Cost) -> Cost:
    return Cost(cost.estimate - part.estimate, cost.bound - part.bound)
