"""What a language model is asked, and what is taken of its answer."""

from __future__ import annotations

import pytest

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import SummaryTask
from squidbot.core.prompts import MODES
from squidbot.core.summaries import ModelSummarizer
from squidbot.testing.models import ScriptedLLM


def job(mode: str = "developer") -> SummaryTask:
    """Return a job for messages 3 to 9."""
    return SummaryTask("size", "s", 3, 9, mode, "digest", 200, 1000, 800)


@pytest.mark.parametrize("mode", MODES)
def test_prompt_names_the_messages_and_what_its_mode_keeps(mode: str) -> None:
    """Each mode asks for something of its own."""
    model = ScriptedLLM("<summary>Done.</summary>")
    assert ModelSummarizer(model).summarize(job(mode), "[m3 user]\nhello", 200).text == "Done."
    (prompt,) = model.prompts
    assert "m3 to m9" in prompt
    assert "[m3 user]\nhello" in prompt
    assert MODES[mode] in prompt
    assert "at most 100 words" in prompt
    others = ScriptedLLM("<summary>Done.</summary>")
    for other in MODES.keys() - {mode}:
        ModelSummarizer(others).summarize(job(other), "[m3 user]\nhello", 200)
    assert prompt not in others.prompts


def test_what_is_said_around_the_answer_is_left_out() -> None:
    """Thoughts, a copy of the question, a friendly word behind it."""
    model = ScriptedLLM("Let me write <summary> of it.\n<summary>\nThe text.\n</summary>\nAnything else?")
    assert ModelSummarizer(model).summarize(job(), "x", 200).text == "The text."


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("The text.", "unusable"),
        ("<summary>The text", "cut"),
        ("<summary>" + "long " * 4000 + "</summary>", "cut"),
        (LLMError("refused", "content policy"), "refused"),
    ],
)
def test_answer_that_is_not_whole_is_an_error(answer: str | LLMError, kind: str) -> None:
    """An error's text, or what was cut off at its limit, is never taken for a summary."""
    with pytest.raises(LLMError) as caught:
        ModelSummarizer(ScriptedLLM(answer)).summarize(job(), "x", 200)
    assert caught.value.kind == kind


def test_source_that_does_not_fit_the_model_is_an_error() -> None:
    """It is never sent in part."""
    with pytest.raises(ContextOverflowError, match="are more than 100"):
        ModelSummarizer(ScriptedLLM("<summary>x</summary>", window_tokens=100)).summarize(job(), "x" * 400, 20)


def test_model_that_is_asked_too_often_says_so() -> None:
    """The rule of a provider, as the fake keeps it."""
    model = ModelSummarizer(ScriptedLLM("<summary>Done.</summary>", most_calls=1))
    assert model.summarize(job(), "x", 20).text == "Done."
    with pytest.raises(LLMError) as caught:
        model.summarize(job(), "x", 20)
    assert caught.value.kind == "rate-limit"
