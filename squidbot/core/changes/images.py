"""Pictures that give way: at an event the oldest of what is sent, before anything else does (P-10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Standing

__all__ = ["imageless", "lighter", "still_sent"]


def imageless(base: Standing, renderer: Renderer, most: int, pinned: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Return of which messages pictures are not to be sent: those beyond the `most` newest ones, counted one by one.

    The message that opened the newest turn, the newest step and what is pinned keep theirs, whatever their number.
    """
    newest = base.tail.atoms[-1].first_seq if base.tail.atoms else base.messages
    gone, left = dict(still_sent(base, renderer)), most
    for part in reversed(base.sent):
        shown = renderer.images(part)
        fixed = part.first_seq == base.turn or part.first_seq >= newest or part.first_seq in pinned
        kept = shown if fixed else min(shown, max(0, left))
        left -= kept
        if shown > kept:
            gone[part.first_seq] = gone.get(part.first_seq, 0) + shown - kept
    return tuple(sorted(gone.items()))


def still_sent(made: Standing, renderer: Renderer) -> tuple[tuple[int, int], ...]:
    """Return what a renderer leaves out of messages that are sent, in order of seq."""
    sent = {part.first_seq for part in made.sent if part.payload is not None} if renderer.imageless else set()
    return tuple(one for one in renderer.imageless if one[0] in sent)


def lighter(atoms: Sequence[Atom], renderer: Renderer) -> tuple[Atom, ...]:
    """Return atoms whose messages cost what is sent of them: without pictures, with long texts cut, or told as text."""
    gone = {seq for seq, _ in (*renderer.imageless, *renderer.limits)}
    return tuple(
        atom._replace(messages=tuple(_lighter(atom, gone, renderer)))
        if not atom.whole or any(row.seq in gone for row in atom.messages)
        else atom
        for atom in atoms
    )


def _lighter(atom: Atom, gone: AbstractSet[int], renderer: Renderer) -> Iterator[StoredMessage]:
    # A call without its result, and a result without its call, are told as text, which costs more than they do.
    told = {} if atom.whole else {part.first_seq: part.cost for part in renderer.raw([atom])}
    for row in atom.messages:
        cost = told.get(row.seq) or (renderer.sent_cost(row) if row.seq in gone else row.sent_cost)
        yield row if cost == row.sent_cost else replace(row, sent_cost=cost)
