"""The model's own words that give way: at an event each text above its share of the room is cut (W-15, C17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from squidbot.core.changes.images import imageless, still_sent
from squidbot.core.messages import Cost
from squidbot.core.view.atoms import open_step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Shelf, Standing

__all__ = ["LEAST_TOKENS", "Made", "limited", "reduced", "still_limited"]

# No text is cut below this, in tokens as a bound: head and tail should say something beside the mark.
LEAST_TOKENS = 128


class Made(Protocol):
    """What an event is made with."""

    @property
    def shelf(self) -> Shelf:
        """Where the session's data stand, and how they are rendered."""

    @property
    def settings(self) -> HistorySettings:
        """What decides what gives way."""

    @property
    def pinned(self) -> Collection[int]:
        """The pinned messages."""


def reduced(base: Standing, slimmed: Callable[[], Sequence[Atom]], made: Made, room: Cost) -> Renderer | None:
    """Return the renderer that sends less of single messages: pictures first, then what the model said at length.

    `slimmed` reads the atoms in front of the tail that are sent one by one. None where it would send what is sent now.
    """
    renderer, share = made.shelf.renderer, made.settings.assistant_fraction
    gone = imageless(base, renderer, made.settings.most_images, made.pinned)
    atoms = (*slimmed(), *_earlier(base)) if share else ()
    most = Cost(int(share * room.estimate), int(share * room.bound))
    limits = tuple(limited(atoms, renderer, most, made.pinned))
    if (gone, limits) == (still_sent(base, renderer), still_limited(base, renderer)):
        return None
    return renderer._replace(imageless=gone, limits=limits)


def limited(
    atoms: Sequence[Atom], renderer: Renderer, most: Cost, pinned: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield (seq, what its text may cost, in tokens as a bound) of each message of the model's above `most`.

    Steps with a pinned message stay whole, and those told as text (R1).
    """
    for atom in atoms:
        if not atom.whole or any(row.seq in pinned for row in atom.messages):
            continue
        for row in atom.messages:
            limit = _limit(row, renderer, most) if row.role == "assistant" else None
            if limit is not None:
                yield row.seq, limit


def _limit(row: StoredMessage, renderer: Renderer, most: Cost) -> int | None:
    """Return what the text of a message may cost, in tokens as a bound; None where it is not to be cut."""
    if not _is_above(row.sent_cost, most):
        return None
    cost = renderer.meter.text(renderer.text_of(row) if row.sent_text is None else row.sent_text)
    limit = max(LEAST_TOKENS, min(most.bound, cost.bound * most.estimate // max(1, cost.estimate)))
    return limit if _is_above(cost, most) and cost.bound > limit else None


def _is_above(cost: Cost, most: Cost) -> bool:
    return cost.bound > most.bound or cost.estimate > most.estimate


def still_limited(made: Standing, renderer: Renderer) -> tuple[tuple[int, int], ...]:
    """Return the limits of a renderer on messages that are sent, in order of seq."""
    sent = {part.first_seq for part in made.sent if part.payload is not None} if renderer.limits else set()
    return tuple(one for one in renderer.limits if one[0] in sent)


def _earlier(base: Standing) -> Sequence[Atom]:
    """Return the atoms of the tail before the newest step, and before the one whose tool loop is open (R3)."""
    atoms = base.tail.atoms[:-1]
    loop = open_step([row for atom in base.tail.atoms for row in atom.messages])
    return atoms if loop is None else [atom for atom in atoms if atom.last_seq < loop]
