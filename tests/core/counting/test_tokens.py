"""The named counters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.messages import Cost
from squidbot.core.tokens.counters import builtin_counter, measure

NAMES = ("words", "chars4", "chars3", "bytes", "classes")
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
COSTS = st.integers(1, 10**7).flatmap(lambda bound: st.builds(Cost, st.integers(1, bound), st.just(bound)))


def utf8_bytes(text: str) -> int:
    """Return the length that no byte-level tokenizer's count passes."""
    return len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("words", "", 0),
        ("words", " one\ttwo\n three ", 3),
        ("chars4", "", 0),
        ("chars4", "abcdefg", 1),
        ("chars4", "abcdefgh", 2),
        ("chars3", "", 1),
        ("chars3", "hi", 1),
        ("chars3", "hello!", 2),
        ("bytes", "", 0),
        ("classes", "", 0),
        ("classes", "a", 1),
    ],
)
def test_count_gives_the_documented_value_when_named(name: str, text: str, expected: int) -> None:
    """B-22, W-08, C3: each formula under its own name, the empty text included."""
    assert builtin_counter(name).count(text) == expected


@pytest.mark.parametrize(
    ("name", "certificate"),
    [("words", "none"), ("chars4", "none"), ("chars3", "none"), ("bytes", "proved"), ("classes", "measured")],
)
def test_certificate_says_how_far_to_trust_when_asked(name: str, certificate: str) -> None:
    """D5: policy counters vouch for nothing, bytes are proved, the class bound is measured."""
    counter = builtin_counter(name)
    assert (counter.name, counter.certificate) == (name, certificate)


def test_unknown_name_lists_the_known_ones_when_asked_for() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(ConfigError, match="unknown token counter 'gpt'; known: bytes, chars3, chars4, classes, words"):
        builtin_counter("gpt")


@pytest.mark.parametrize("name", NAMES)
@example(text="\u00bc")  # a quarter: two bytes, and five as a tokenizer normalises it
@given(text=ANY_TEXT)
def test_bound_holds_estimate_and_bytes_when_text_is_anything(name: str, text: str) -> None:
    """No str raises; 0 <= count <= bound, which is the bytes, or the count where that is more; the same answer twice.

    What a tokenizer's normalisation makes longer may cost `classes`, by which `bytes` counts, more than its bytes.
    """
    counter = builtin_counter(name)
    count, bound = counter.count(text), counter.upper_bound(text)
    longer = sum(utf8_bytes(unicodedata.normalize("NFKC", char)) for char in text if not char.isascii())
    if name == "classes":
        assert 0 <= count <= bound <= utf8_bytes(text) + longer
    else:
        assert 0 <= count <= bound == max(utf8_bytes(text), count)
        assert count <= max(utf8_bytes(text) + (longer if name == "bytes" else 0), int(name == "chars3"))
    assert measure(counter, text) == Cost(count, bound)


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes"])
@given(text=ANY_TEXT)
def test_bound_is_the_bytes_when_a_counter_knows_no_better(name: str, text: str) -> None:
    """A policy counter's bound is a true one: the UTF-8 bytes."""
    assert builtin_counter(name).upper_bound(text) >= utf8_bytes(text)


@pytest.mark.parametrize("text", ["\ud800", "\udfff\ud800", "\x00", "\U0010ffff", "é\ud83d"])
def test_counters_answer_when_text_is_no_valid_unicode(text: str) -> None:
    """Lone surrogates and NUL are counted like other characters."""
    assert all(builtin_counter(name).upper_bound(text) >= 1 for name in NAMES)
