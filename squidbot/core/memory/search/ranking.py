"""Which of the candidates answer a query best: signals, weighed, as one score that means the same in every store."""

from __future__ import annotations

from math import exp, inf, log
from operator import mul
from typing import TYPE_CHECKING

from squidbot.core.memories import Hit
from squidbot.core.memory.search.likeness import Likeness, likenesses, standing_out
from squidbot.core.memory.search.signals import Signals, signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Passage
    from squidbot.core.memory.search.likeness import Meaning
    from squidbot.core.memory.search.matching import Statistics
    from squidbot.core.memory.search.query import Query
    from squidbot.core.memory.search.signals import Candidate

__all__ = ["LIKENESS", "MIN_RELEVANCE", "WEIGHTS", "order", "score"]

# Fitted as a listwise choice of the evidence of questions, on conversations of short turns and on the same as pages,
# each weight the mean of fits that left one conversation out, rounded; between those fits they moved by a tenth. What
# each is for:
WEIGHTS = Signals(
    own=1.4,  # the passage says it
    around=1.8,  # it, or its neighbours: an answer rarely repeats the question
    group=3.2,  # a session that has all of the question, before one that has half of it often
    group_best=0.8,
    second_before=1.8,
    second_after=1.1,
    answers=4.2,  # what is said right behind the same question
    pairs=1.5,
    stranger=-0.9,  # little: those who ask mix up who it was
    told_then=3.1,  # only where days are asked about
    of_then=1.6,
    length=0.3,  # "Great!" answers nothing
    excess=-0.3,  # set by hand: a page has to be worth its room; found by what 2,000 tokens of pages held
    asks=-0.27,
    own_words=3.2,  # people tell of themselves; a fraction, rarely above .2
    when=1.3,
    amount=1.1,
    name=1.0,
)
# So that the best passage's score is the chance that its question was asked where it belongs, and not of another
# conversation: fitted on as many of these as of those.
REACH = 14.9  # the share of the question that the best passage has, with its neighbours
BASE = -10.5
# The more there is, the more is found by chance: beyond the size of the conversations that this was fitted on, so much
# less for each time e as many. Of questions of another conversation 21, 20 and 23 in 100 have a passage above
# MIN_RELEVANCE then, among 660, 5,000 and 30,000 (21, 23, 32 without it); of those that belong 9, 11, 13 have none.
USUAL_PASSAGES = 600
GROWN = 0.1
# Behind the best, scores fall by e in so much of what is weighed: nineteen in twenty passages of the evidence stand
# above MIN_RELEVANCE then, of all that are ranked one in three. As chances of being the evidence they would fall four
# times as fast, and cut what only completes an answer.
FALL = 4.0
# With vectors, fitted as those above with these fixed; between fits that left one conversation out they moved by a
# tenth. Vectors of token after token found half a point more still, and take forty times the room.
LIKENESS = Likeness(
    own=0.6,  # of 3 or 4, which the nearest of two hundred has
    before=0.35,
)
# The chance of the best passage then follows how far the nearest cosine stands above the mean of the others that are
# ranked, and what words say of it. Fitted as a logistic choice of which questions belong: of conversations of short
# turns, the same as pages, pieces of these docs, and single facts; between fits that left one of these four out they
# moved by a tenth. `Meaning.even` is the fourth number. A bare cosine means other things in each: a question about
# somebody who speaks is nearer to all that he says, and one about docs is near to nothing. Of questions that belong 8,
# 8, 8 and 8 in 100 have no passage above MIN_RELEVANCE then (by words alone 9, 9, 10, 58), of others 13, 14, 4 and 11
# have one (21, 21, 9, 11).
STEEP = 17.0
BY_WORDS = 0.55
LEAST_BY_WORDS = -5.0  # that none of the words is there says no more than this
# The more there is, the nearer is the nearest by chance; among fewer than the least so many, as among them.
NEARER = 0.7
LEAST_PASSAGES = 10
# Where fewer of what is ranked have a vector, words alone speak: the nearest of those that have one may be far, while
# what answers has none.
ENOUGH_FRACTION = 0.9
# Nine in ten questions that belong somewhere have a passage above it, and two in ten of those that don't.
MIN_RELEVANCE = 0.3
SCORE_DIGITS = 6  # a score survives being written down, and what differs by less is a tie


def score(
    query: Query, candidates: Sequence[Candidate], statistics: Statistics, meaning: Meaning | None = None
) -> list[Hit]:
    """Return all candidates with their scores, best first, ties newest first, then by key.

    With `meaning` vectors have a say, too, if nearly all candidates have one.
    """
    found, reach = signals(query, candidates, statistics)
    values = [sum(map(mul, WEIGHTS, one)) for one in found]
    base = BASE + REACH * reach - GROWN * max(0.0, log(max(1, statistics.passages) / USUAL_PASSAGES))
    if meaning is not None and _is_enough(candidates, meaning):
        values, base = _meant(values, base, (candidates, statistics.passages), meaning)
    best = max(values, default=0.0)
    chance = _logistic(base + best)
    hits = [
        (Hit(each.passage.key, round(chance * exp((value - best) / FALL), SCORE_DIGITS)), each.passage)
        for each, value in zip(candidates, values, strict=True)
    ]
    return [hit for hit, _ in sorted(hits, key=lambda pair: order(*pair))]


def _is_enough(candidates: Sequence[Candidate], meaning: Meaning) -> bool:
    known = sum(each.passage.key in meaning.similar for each in candidates)
    return known >= ENOUGH_FRACTION * len(candidates)


def _meant(
    values: Sequence[float], base: float, among: tuple[Sequence[Candidate], int], meaning: Meaning
) -> tuple[list[float], float]:
    """Return the values of candidates with what vectors say, and what is to be added to make a score of them.

    `among`: the candidates, and how many passages there are in all.
    """
    candidates, passages = among
    both = [
        value + sum(map(mul, LIKENESS, one))
        for value, one in zip(values, likenesses(candidates, meaning.similar), strict=True)
    ]
    best = base + max(values, default=0.0)
    if meaning.even is not None:
        chance = STEEP * (standing_out(candidates, meaning.similar) - meaning.even)
        chance -= NEARER * log(max(LEAST_PASSAGES, passages) / USUAL_PASSAGES)
        best = chance + BY_WORDS * max(LEAST_BY_WORDS, best)
    return both, best - max(both, default=0.0)


def order(hit: Hit, passage: Passage) -> tuple[float, float, str]:
    """Return what hits are sorted by: best first, ties newest first, then by key."""
    return -hit.score, inf if passage.time is None else -passage.time, hit.key


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -500 else 0.0
