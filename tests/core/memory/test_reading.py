"""A language model reads an exchange: it never sees a secret, and what it answers needs evidence."""

from __future__ import annotations

import json

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


def test_only_what_was_shown_can_be_replaced() -> None:
    """Of many known facts the first are shown."""
    candidates, (reason,) = ModelReader(ScriptedLLM(answer(KNOWN[-1].memory_id))).read(SAID, KNOWN)
    assert candidates == []
    assert "not shown" in reason
