"""A language model reads an exchange: it never sees a secret, and what it answers needs evidence."""

from __future__ import annotations

import json

import pytest

from squidbot.core.errors import LLMError
from squidbot.core.memory.facts import Utterance
from squidbot.core.memory.learning import CLOSING, KNOWN_SHOWN, OPENING, ModelReader
from squidbot.testing.models import ScriptedLLM

from .shelves import fact

SAID = [Utterance("user", "I row every Tuesday. My api_key is sk-" + "a1" * 12, 3)]
KNOWN = [fact(f"Fact number {number}.") for number in range(KNOWN_SHOWN + 1)]


def answer(replaces: str = "") -> str:
    """Return what a model writes."""
    one = {"text": "The user rows every Tuesday.", "category": "core", "source": "m3", "quote": "I row every Tuesday"}
    return f"{OPENING}{json.dumps([{**one, 'importance': 0.5, 'replaces': replaces}])}{CLOSING}"


def test_model_is_shown_the_exchange_without_secrets() -> None:
    """It may be somebody else's machine."""
    asked: list[str] = []

    def told(system: str, prompt: str) -> str:
        asked.extend((system, prompt))
        return answer(KNOWN[0].memory_id)

    (one,), _ = ModelReader(ScriptedLLM(told)).read(SAID, KNOWN)
    assert (one.text, one.trust, one.replaces) == ("The user rows every Tuesday.", "user", KNOWN[0].memory_id)
    assert "[m3 user]\nI row every Tuesday. My api_key is [redacted]" in asked[1]
    assert "a1a1" not in "".join(asked)
    assert KNOWN[0].memory_id in asked[1]


def test_only_what_was_shown_can_be_replaced() -> None:
    """Of many known facts the first are shown."""
    candidates, (reason,) = ModelReader(ScriptedLLM(answer(KNOWN[-1].memory_id))).read(SAID, KNOWN)
    assert candidates == []
    assert "not shown" in reason


@pytest.mark.parametrize("text", ["", " \n", "I am sorry.", OPENING])
def test_no_answer_is_an_error(text: str) -> None:
    """A failure never becomes a fact."""
    with pytest.raises(LLMError):
        ModelReader(ScriptedLLM(text)).read(SAID)
