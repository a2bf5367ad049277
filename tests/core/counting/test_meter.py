"""What texts and messages cost in the policy's unit and in the window's."""

from __future__ import annotations

from squidbot.core.messages import Cost
from squidbot.core.tokens.counters import TEMPLATE_TOKENS, Meter, builtin_counter

BYTES = Meter(builtin_counter("bytes"))
WORDS = Meter(builtin_counter("bytes"), builtin_counter("words"))


def test_message_costs_its_text_and_its_template() -> None:
    """4 tokens of template, and what pictures cost, in both numbers."""
    assert TEMPLATE_TOKENS == 4
    text = BYTES.text("three little words")
    assert text.bound == 18
    assert BYTES.message("three little words") == text.plus(Cost(4, 4))
    assert BYTES.message("", 100) == Cost(104, 104)


def test_policy_of_words_counts_words_and_bounds_tokens() -> None:
    """Template and pictures have no words."""
    assert WORDS.text("three little words") == Cost(3, 18)
    assert WORDS.message("three little words", 100) == Cost(3, 122)


def test_meters_with_other_numbers_have_other_names() -> None:
    """Stored counts are counted anew under another name."""
    assert (BYTES.name, WORDS.name) == ("bytes", "words/bytes")
    assert WORDS.certificate == BYTES.certificate == "proved"
