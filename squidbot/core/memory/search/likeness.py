"""What speaks for a passage by vectors: how near its own is to the query's, and that of the passage before it."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.memory.search.signals import TURN_TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.memory.search.signals import Candidate

__all__ = ["Likeness", "Meaning", "likenesses", "standing_out"]

LEAST_SPREAD = 1e-6


class Meaning(NamedTuple):
    """What whoever has vectors brings along for one query; all of them are of one embedder.

    Attributes:
        similar: the cosine of the query's vector and a passage's, -1 to 1, by the passage's key. The better part of the
            passages that are ranked should be among them, not the nearest alone.
        even: by how much the nearest passage stands out (see `standing_out`) where it answers as likely as not, if its
            words say so, too; it is the embedder's own. None where nobody has measured it: then words alone say how
            likely.
    """

    similar: Mapping[str, float]
    even: float | None = None


class Likeness(NamedTuple):
    """How near in meaning a passage is, in standard deviations above the mean of all that are ranked.

    What a cosine says differs by embedder: those of one lie between .1 and .7, those of another between .7 and .9.

    Attributes:
        own: by its own vector.
        before: by that of the passage before it; the nearer to 0, the longer the two are.
    """

    own: float = 0.0
    before: float = 0.0


def likenesses(candidates: Sequence[Candidate], similar: Mapping[str, float]) -> list[Likeness]:
    """Return what vectors say for each candidate, in order, by the cosines of passages, by their keys.

    A passage that has no vector yet is taken for the mean, and so is what would stand before the first of a group.
    """
    known = [similar[each.passage.key] for each in candidates if each.passage.key in similar]
    mean = fmean(known) if known else 0.0
    spread = max(LEAST_SPREAD, pstdev(known, mean)) if known else 1.0
    own = [(similar.get(each.passage.key, mean) - mean) / spread for each in candidates]
    # As with words: the turn before says what the talk is about, the page before does not.
    turns = [min(1.0, TURN_TERMS / max(1, len(each.prepared.terms))) for each in candidates]
    places = {(each.passage.group, each.passage.position): number for number, each in enumerate(candidates)}
    found = []
    for number, (passage, _) in enumerate(candidates):
        other = places.get((passage.group, passage.position - 1)) if passage.group else None
        before = 0.0 if other is None else own[other] * turns[number] * turns[other]
        found.append(Likeness(own[number], before))
    return found


def standing_out(candidates: Sequence[Candidate], similar: Mapping[str, float]) -> float:
    """Return the cosine of the nearest candidate above the mean of the others', -2 to 2; 0 where none has a cosine.

    What is alone stands above 0: to an embedder's eyes most texts have nothing to do with each other.
    """
    known = sorted(similar[each.passage.key] for each in candidates if each.passage.key in similar)
    if not known:
        return 0.0
    nearest = known.pop()
    return nearest - (fmean(known) if known else 0.0)
