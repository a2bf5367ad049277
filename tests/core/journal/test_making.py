"""Entries made of what was said, by rule and by a model, and how far a session has been told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import LLMError
from squidbot.core.journal import MOST_CHARS, JournalEntry, JournalSpan, by_model, by_rule, question_of
from squidbot.core.messages import Category, Completion, Message, ToolCall
from squidbot.core.tokens.counters import builtin_counter

ABOUT = JournalEntry(0, "-", source_session="s", tags=("interval",))
CLASSES = builtin_counter("classes")


def said(role: str, text: str, **given: object) -> Message:
    """Return a message."""
    return Message(role, text, "{}", "test", **given)  # type: ignore[arg-type]  # as the tests below say


class Model:
    """Answers one text, and keeps what it was asked."""

    name = "model"

    def __init__(self, answer: str) -> None:
        self.answer, self.prompt = answer, ""

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Answer."""
        assert max_output_tokens
        assert system
        self.prompt = prompt
        return Completion(self.answer, 1, 1)


messages = st.lists(
    st.builds(said, st.sampled_from(["user", "assistant"]), st.text("ab [DECISION]NEXT?\n", max_size=60)), max_size=8
)


@given(messages)
def test_entry_by_rule_is_the_same_each_time_and_never_empty(talk: list[Message]) -> None:
    """Whatever was said: an entry says something, or there is none."""
    made = by_rule(JournalSpan(talk), ABOUT, CLASSES)
    assert made == by_rule(JournalSpan(talk), ABOUT, CLASSES)
    assert (made is None) == (not any(one.text.strip() for one in talk))
    assert made is None or made.summary.strip()


def test_what_was_brought_back_or_forgotten_is_in_no_entry() -> None:
    """It was told where it was said."""
    recalled = said("tool", "[DECISION] old\nPATH old", results=("c",), category=Category.RECALLED)
    assert by_rule(JournalSpan([recalled, said("system", "Be kind.")]), ABOUT, CLASSES) is None
    made = by_rule(JournalSpan([said("user", "hi"), recalled]), ABOUT, CLASSES)
    assert made is not None
    assert (made.decisions, "old" in made.summary) == ((), False)


def test_error_that_was_mended_is_no_error_any_more() -> None:
    """Of each call the newest try counts; files are those that tools change, not those that they read."""
    run = ToolCall("1", "run", '{"command": "pytest"}')
    again = ToolCall("2", "run", '{"command": "pytest"}')
    reads = ToolCall("3", "read_file", '{"path": "a.py"}')
    talk = [
        said("assistant", "", calls=(run, reads)),
        said("tool", "ERROR: 1 failed", results=("1",)),
        said("tool", "x = 1", results=("3",)),
    ]
    failed = by_rule(JournalSpan(talk), ABOUT, CLASSES)
    assert failed is not None
    assert failed.errors == ("run: ERROR: 1 failed",)
    assert failed.files_touched == ()
    talk += [said("assistant", "", calls=(again,)), said("tool", "all passed", results=("2",))]
    mended = by_rule(JournalSpan(talk), ABOUT, CLASSES)
    assert mended is not None
    assert mended.errors == ()


def test_question_is_that_of_the_model_at_the_end() -> None:
    """The user's own is no open one, nor one that was answered."""
    assert question_of([said("assistant", "Done.\nShall I go on?")]) == "Shall I go on?"
    assert question_of([said("assistant", "Go on?"), said("user", "Yes")]) == ""
    assert question_of([said("user", "Why?")]) == ""
    assert question_of([]) == ""


def test_model_reads_the_newest_messages_without_secrets() -> None:
    """As many as have room, and of a long one its beginning."""
    model = Model('{"summary": " Done ", "progress": ["a", 7, " "], "open_questions": "b"}')
    talk = [said("user", f"{number} " + "x " * 2_500) for number in range(40)]
    made = by_model(JournalSpan(talk), ABOUT, model, lambda text: text.replace("39", "[out]"))
    assert (made.summary, made.progress, made.open_questions, made.tags) == ("Done", ("a",), (), ("interval",))
    assert len(model.prompt) <= MOST_CHARS + 40
    assert "[out]" in model.prompt
    assert "user: 0 " not in model.prompt


@pytest.mark.parametrize("answer", ["", "no", "[]", '{"summary": ""}', '{"summary": 1}', '{"a": ' * 9_000])
def test_answer_that_is_no_entry_is_refused(answer: str) -> None:
    """Nothing of it becomes content."""
    with pytest.raises(LLMError, match="model did not return a"):
        by_model(JournalSpan([said("user", "hi")]), ABOUT, Model(answer), str)
