"""What speaks for a passage: each signal by itself, 0 to about 1, before anything is weighed."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log, log1p
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.memory.search.dates import Days, day_of
from squidbot.core.memory.search.matching import strengths, weights_of
from squidbot.core.memory.search.query import name_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Passage
    from squidbot.core.memory.search.matching import Statistics
    from squidbot.core.memory.search.query import Query
    from squidbot.core.memory.search.texts import Prepared

__all__ = ["Candidate", "Signals", "signals"]

# Up to so many terms a passage is a turn of talk, and its neighbours and its group are about the same; of longer ones
# they count less, of neighbours by both lengths: on pages, windows hurt. Pages made here are found in 88 of 100 cases
# within 2,000 tokens then, in 80 where their groups count in full; recorded talk as pages of eight turns in 85.7, 84.5.
TURN_TERMS = 45
# Up to so many terms a passage costs no more than others: what is longer has to be worth its room.
SHORT_TERMS = 12
# What happened is told within days: the chance that a passage tells of a day falls so, behind it; ahead of it at 1/3.
TOLD_WITHIN_DAYS = 10
AHEAD = 3
# What is of the day asked about reaches so much of the question, whatever else there is in it.
REACH_OF_DAYS = 0.4
BEST_OF_GROUP = 3  # passages by which groups are compared
MANY_NAMES = 3


class Candidate(NamedTuple):
    """A passage that may answer, and what was prepared of it."""

    passage: Passage
    prepared: Prepared


class Signals(NamedTuple):
    """What speaks for a passage; `best` is the best of all candidates, so that a signal is 1 for one of them.

    Attributes:
        own: what it has of the query, by its own words, to the best.
        around: the same, with the words of those right before and behind it.
        group: what its group has of the query in all, of a page as it has itself; groups are sessions or files.
        group_best: what the three best of its group have, to the best group; of a page what it has itself.
        second_before: what the passage two before it has.
        second_after: what the passage two behind it has.
        answers: what the passage before it has, where that ends on a question.
        pairs: the share of the query's pairs of words that stand near each other in it; of a page less, which has more.
        stranger: 1 if somebody else is asked about than who speaks.
        told_then: how near its time is to the days asked about.
        of_then: how well the days that it speaks of meet those.
        length: the logarithm of its terms, up to a short passage's.
        excess: the logarithm of its terms beyond a short passage's.
        asks: 1 if it ends on a question.
        own_words: the fraction of its words that are "I", "my" and such.
        when: 1 if a time is asked for, and it has one.
        amount: 1 if a number is asked for, and it has one.
        name: for a question of who, where or which, how many names it has, up to 1.
    """

    own: float = 0.0
    around: float = 0.0
    group: float = 0.0
    group_best: float = 0.0
    second_before: float = 0.0
    second_after: float = 0.0
    answers: float = 0.0
    pairs: float = 0.0
    stranger: float = 0.0
    told_then: float = 0.0
    of_then: float = 0.0
    length: float = 0.0
    excess: float = 0.0
    asks: float = 0.0
    own_words: float = 0.0
    when: float = 0.0
    amount: float = 0.0
    name: float = 0.0


class Scene(NamedTuple):
    """All candidates, what each has of each of the query's terms, and of the query in all, and their neighbours."""

    shares: Sequence[float]
    had: list[list[float]]
    own: list[float]
    around: list[float]
    places: dict[tuple[str, int], int]


def signals(query: Query, candidates: Sequence[Candidate], statistics: Statistics) -> tuple[list[Signals], float]:
    """Return what speaks for each candidate, in order, and the share of the query that the best of them has, 0 to 1.

    The neighbours of a passage, and its group, count as far as they are among the candidates.
    """
    scene = _scene(query, candidates, statistics)
    groups = _groups(scene, candidates)
    best_group = max((best for _, best in groups.values()), default=0.0) or 1.0
    best_own, best_around = max(scene.own, default=0.0), max(scene.around, default=0.0)
    strangers = _strangers(query, candidates)
    found = []
    for number, each in enumerate(candidates):
        whole, best = groups[_group(each.passage)]
        own, turn = scene.own[number], _turn(each)
        shape = _shape(query, each, is_stranger=each.passage.speaker in strangers)
        found.append(
            _with_neighbours(scene, candidates, number, shape)._replace(
                own=own / (best_own or 1.0),
                around=scene.around[number] / (best_around or 1.0),
                # A page is about more than its group is: it stands for itself.
                group=own + turn**2 * (whole - own),
                group_best=min(1.0, (own + turn**2 * (best - own)) / best_group),
            )
        )
    best_then = max((max(each.told_then, each.of_then) for each in found), default=0.0)
    return found, max(best_around, REACH_OF_DAYS * best_then)


def _strangers(query: Query, candidates: Sequence[Candidate]) -> set[str]:
    """Return those who speak while others are asked about; whoever has no name is nobody's stranger."""
    if not query.named:
        return set()
    speakers = {each.passage.speaker for each in candidates} - {""}
    return {each for each in speakers if query.named.isdisjoint(name_words(each))}


def _group(passage: Passage) -> tuple[str, str]:
    """Return what a passage has in common with its group; one that is in none is its own."""
    return (passage.group, "") if passage.group else ("", passage.key)


def _scene(query: Query, candidates: Sequence[Candidate], statistics: Statistics) -> Scene:
    vocabulary = dict.fromkeys(term for each in candidates for term in each.prepared.terms)
    weights = weights_of(query, vocabulary, statistics)
    had = [strengths(each.prepared.terms, weights, statistics.average_terms) for each in candidates]
    places = {
        (each.passage.group, each.passage.position): number
        for number, each in enumerate(candidates)
        if each.passage.group
    }
    own = [_weighed(weights.shares, each) for each in had]
    scene = Scene(weights.shares, had, own, [], places)
    scene.around.extend(_around(scene, candidates, number) for number in range(len(candidates)))
    return scene


def _weighed(shares: Sequence[float], had: Sequence[float]) -> float:
    return sum([share * each for share, each in zip(shares, had, strict=True)])


def _beside(scene: Scene, candidates: Sequence[Candidate], number: int, steps: int) -> tuple[int, float]:
    """Return the number of a neighbour, and how far it counts: 0 where there is none among the candidates."""
    passage = candidates[number].passage
    other = scene.places.get((passage.group, passage.position + steps), -1) if passage.group else -1
    if other < 0:
        return -1, 0.0
    return other, _turn(candidates[number]) * _turn(candidates[other])


def _turn(candidate: Candidate) -> float:
    """Return how much of a turn of talk a passage is by its length: 1 for one, nearer to 0 the longer it is."""
    return min(1.0, TURN_TERMS / max(1, len(candidate.prepared.terms)))


def _around(scene: Scene, candidates: Sequence[Candidate], number: int) -> float:
    had = list(scene.had[number])
    for steps in (-1, 1):
        other, share = _beside(scene, candidates, number, steps)
        if share:
            had = [max(mine, share * theirs) for mine, theirs in zip(had, scene.had[other], strict=True)]
    return _weighed(scene.shares, had)


def _groups(scene: Scene, candidates: Sequence[Candidate]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return what each group has of the query in all, and the mean of its best; what is in no group is its own."""
    members: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(candidates):
        members.setdefault(_group(each.passage), []).append(number)
    found = {}
    for group, numbers in members.items():
        whole = _weighed(
            scene.shares, [max(column) for column in zip(*(scene.had[each] for each in numbers), strict=True)]
        )
        best = sorted((scene.own[each] for each in numbers), reverse=True)[:BEST_OF_GROUP]
        found[group] = whole, sum(best) / BEST_OF_GROUP
    return found


def _with_neighbours(scene: Scene, candidates: Sequence[Candidate], number: int, shape: Signals) -> Signals:
    (before, share), (second, second_share), (after, after_share) = (
        _beside(scene, candidates, number, steps) for steps in (-1, -2, 2)
    )
    follows = before >= 0 and candidates[before].prepared.asks
    return shape._replace(
        second_before=scene.own[second] * second_share,
        second_after=scene.own[after] * after_share,
        answers=scene.own[before] * share if follows else 0.0,
    )


def _shape(query: Query, candidate: Candidate, *, is_stranger: bool) -> Signals:
    """Return what a passage shows by itself."""
    terms, spoken_of, asks, own_fraction, names, counts = candidate.prepared
    length = len(terms)
    told = candidate.passage.time
    return Signals(
        pairs=_turn(candidate) * _pairs(query, terms),
        stranger=float(is_stranger),
        told_then=_told_then(query.days, day_of(told)) if query.days and told is not None else 0.0,
        of_then=max((_meet(asked, day) for asked in query.days for day in spoken_of), default=0.0),
        length=log1p(min(length, SHORT_TERMS)),
        excess=log(max(1.0, length / SHORT_TERMS)),
        asks=float(asks),
        own_words=own_fraction,
        when=float(query.asks_when and bool(spoken_of)),
        amount=float(query.asks_amount and counts),
        name=min(names, MANY_NAMES) / MANY_NAMES if query.asks_name else 0.0,
    )


def _pairs(query: Query, terms: Sequence[str]) -> float:
    if not query.pairs:
        return 0.0
    there = {*pairwise(terms), *zip(terms, terms[2:], strict=False)}
    return len(query.pairs & there) / len(query.pairs)


def _told_then(asked: Sequence[Days], day: int) -> float:
    gaps = [max(0.0, day - last, (first - day) * AHEAD) for first, last in asked]
    return exp(-min(gaps) / TOLD_WITHIN_DAYS)


def _meet(asked: Days, day: Days) -> float:
    """Return 1 for the same days, less for days that meet but are told less exactly, 0 for others."""
    shared = min(asked.last, day.last) - max(asked.first, day.first) + 1
    if shared <= 0:
        return 0.0
    spanned = max(asked.last, day.last) - min(asked.first, day.first) + 1
    return 1 / (1 + log(spanned / shared))
