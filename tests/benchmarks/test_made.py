"""The conversations that the benchmark makes itself are long, the same each time, and hold their answers once."""

from __future__ import annotations

from collections import Counter
from statistics import median

from benchmarks.made import made


def test_made_conversations_are_the_same_in_every_run() -> None:
    """Figures can be compared over time; each conversation is another one."""
    first = made(2)
    assert first == made(2)
    assert first[0].passages != first[1].passages


def test_made_turns_are_pages_and_each_question_has_its_answer() -> None:
    """One speaker is brief, the other not; evidence is there, in its words, and no question is asked twice."""
    for talk in made(2):
        texts = {each.key: each.text for each in talk.passages}
        assert len(texts) == len(talk.passages)
        assert median(len(each.text) for each in talk.passages if each.speaker == "Assistant") > 800
        assert len({each.text for each in talk.questions}) == len(talk.questions) >= 18
        for question in talk.questions:
            assert question.evidence <= texts.keys()
        for question in (each for each in talk.questions if "delivers" in each.text):
            assert sum("hands its output" in texts[key] for key in question.evidence) >= 1
            assert sum("reads it first" in texts[key] for key in question.evidence) >= 1


def test_made_questions_are_of_several_kinds() -> None:
    """Some need two turns, some the newer of two, most one."""
    kinds = Counter(question.category for talk in made() for question in talk.questions)
    assert set(kinds) == {"single-hop", "multi-hop", "temporal"}
    assert kinds["multi-hop"] >= 5
