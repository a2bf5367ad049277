"""What is told and kept is counted on two toys, whose scores are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.conversations import Conversation, Question
from benchmarks.telling import BINS, KEPT, KEPT_SOME, NONE_TOLD, OTHERS_TOLD, OWN_TOLD, Scores, binned, scored, shares
from squidbot.core.memories import MemoryHit
from squidbot.core.memory import search

if TYPE_CHECKING:
    from collections.abc import Sequence


class Given:
    """Returns given scores by key for each text, nothing for others."""

    def __init__(self, scores: dict[str, dict[str, float]]) -> None:
        self._scores = scores
        self.asked: list[Question] = []

    def rank(self, question: Question) -> Sequence[str]:
        """Return keys."""
        return [hit.key for hit in self.hits(question)]

    def hits(self, question: Question) -> Sequence[MemoryHit]:
        """Return hits."""
        self.asked.append(question)
        return [MemoryHit(key, score) for key, score in self._scores.get(question.text, {}).items()]


@pytest.fixture(autouse=True)
def _half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories are told from one half on."""
    monkeypatch.setattr(search, "MIN_RELEVANCE", 0.5)


def talk(now: float, *asked: tuple[str, set[str]]) -> Conversation:
    """Return a conversation with these questions, and one that nothing answers."""
    questions = [Question(text, frozenset(keys), "open", now) for text, keys in asked]
    return Conversation([], questions, [Question("none", frozenset(), "unanswerable", now)], 0)


def test_questions_are_asked_of_their_own_and_of_the_next_conversation() -> None:
    """When those of the other one are asked; evidence that is told is counted for answered questions alone."""
    talks = [talk(10, ("a", {"1", "2"}), ("b", {"3"})), talk(20, ("c", {"1"}))]
    first = Given({"a": {"1": 0.9, "2": 0.4}, "b": {"3": 0.2}, "c": {"9": 0.1}})
    second = Given({"c": {"1": 0.5}, "a": {"1": 0.7}, "none": {"1": 0.6}})
    found = scored(talks, [first, second], [[True, False], [True]])
    assert found == [Scores([0.9, 0.2], [0.7, 0.0], [0.0], [0.5]), Scores([0.5], [0.1], [0.6], [1.0])]
    assert [question.now for question in second.asked if question.text == "a"] == [20]
    assert shares(found) == {
        OWN_TOLD: pytest.approx(200 / 3),
        KEPT: 50,
        KEPT_SOME: 100,
        OTHERS_TOLD: pytest.approx(100 / 3),
        NONE_TOLD: 50,
    }


def test_nothing_is_asked_of_another_where_there_is_one() -> None:
    """Then there is no share."""
    found = scored([talk(10, ("a", {"1"}))], [Given({})], [[False]])
    assert found == [Scores([0.0], [], [0.0], [])]
    assert shares(found)[OTHERS_TOLD] is shares(found)[KEPT] is None


def test_questions_are_counted_by_their_best_score() -> None:
    """A score of 1 is in the last bin."""
    bins = dict(zip(BINS, binned([Scores([1.0, 0.95, 0.1], [0.0, 0.19], [0.5], [])]), strict=True))
    assert bins.pop(".9-1") == (2, 0)
    assert bins.pop(".1-.2") == (1, 1)
    assert bins.pop(".0-.1") == (0, 1)
    assert set(bins.values()) == {(0, 0)}
