"""Whether search tells what belongs, and keeps silent else: what stands above the score at which memories are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.intervals import interval
from squidbot.core.memory import search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.conversations import Conversation, Question
    from benchmarks.finders import Scoring
    from benchmarks.report import Interval

__all__ = ["BINS", "KEPT", "NONE_TOLD", "OTHERS_TOLD", "Scores", "binned", "scored", "shares"]

BINS = tuple(f".{place}-{f'.{place + 1}' if place < 9 else '1'}" for place in range(10))
OWN_TOLD, KEPT, KEPT_SOME = "own told", "kept, all evidence", "kept, any evidence"
OTHERS_TOLD, NONE_TOLD = "others' told", "unanswerable told"


class Scores(NamedTuple):
    """What search says in one conversation.

    Attributes:
        own: the best score of each question about it; 0 without a hit.
        others: the same of each question about another conversation.
        unanswerable: the same of each question about it that nothing in it answers.
        kept: for each question that search answers, the fraction of its evidence that is told.
    """

    own: list[float]
    others: list[float]
    unanswerable: list[float]
    kept: list[float]


def scored(
    conversations: Sequence[Conversation], finders: Sequence[Scoring], answered: Sequence[Sequence[bool]]
) -> list[Scores]:
    """Return what search says in each conversation; `answered` says which of its questions are answered.

    The questions of each are asked of the next conversation, too, when its own would be; those of the last of the
    first. Nothing is asked of another where there is only one.
    """
    found = []
    for place, (conversation, finder) in enumerate(zip(conversations, finders, strict=True)):
        following = (place + 1) % len(conversations)
        other, now = finders[following], _asked(conversations[following])
        asked = conversation.questions if following != place else []
        own = [{hit.key: hit.score for hit in finder.hits(each)} for each in conversation.questions]
        found.append(
            Scores(
                [max(scores.values(), default=0.0) for scores in own],
                [_best(other, each._replace(now=now)) for each in asked],
                [_best(finder, each) for each in conversation.unanswerable],
                [
                    sum(scores.get(key, 0.0) >= search.MIN_RELEVANCE for key in question.evidence)
                    / len(question.evidence)
                    for question, scores, is_answered in zip(conversation.questions, own, answered[place], strict=True)
                    if is_answered
                ],
            )
        )
    return found


def shares(scores: Sequence[Scores]) -> dict[str, Interval | None]:
    """Return how many in a hundred questions are told something, and how many answers are kept by that."""
    return {
        OWN_TOLD: interval([_told(each.own) for each in scores]),
        KEPT: interval([(sum(part == 1 for part in each.kept), len(each.kept)) for each in scores]),
        KEPT_SOME: interval([(sum(part > 0 for part in each.kept), len(each.kept)) for each in scores]),
        OTHERS_TOLD: interval([_told(each.others) for each in scores]),
        NONE_TOLD: interval([_told(each.unanswerable) for each in scores]),
    }


def binned(scores: Sequence[Scores]) -> list[tuple[int, int]]:
    """Return for each bin of best scores how many questions about the conversation there are, and about others."""
    counts = [[0, 0] for _ in BINS]
    for each in scores:
        for kind, best in enumerate((each.own, each.others)):
            for score in best:
                counts[min(len(BINS) - 1, int(score * len(BINS)))][kind] += 1
    return [(own, others) for own, others in counts]


def _told(best: Sequence[float]) -> tuple[float, int]:
    return sum(score >= search.MIN_RELEVANCE for score in best), len(best)


def _best(finder: Scoring, question: Question) -> float:
    return max((hit.score for hit in finder.hits(question)), default=0.0)


def _asked(conversation: Conversation) -> float:
    """Return when a conversation's questions are asked."""
    return max((each.now for each in (*conversation.questions, *conversation.unanswerable)), default=0.0)
