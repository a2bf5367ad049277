"""The class estimator: what its runs cost, that they add up, and that its bound holds its shape on any text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.messages import Cost
from squidbot.core.tokens import classes
from squidbot.core.tokens.class_words import COSTS, SEAMS
from squidbot.core.tokens.classes import (
    EXACT_CLASSES_CHARS,
    LONG_TEXT_BYTES_PER_TOKEN,
    PIECE_CHARS,
    ClassCounter,
    utf8_bytes,
)

COUNTER = ClassCounter()
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
# What a text is made of in practice, glued in any order: runs meet that random characters never form.
PIECES = ["the", " cache", "HTTPServer", "camelCase", "_", "snake", " 1234", "\\n", "\\u00e9", "don't", '"', "})\n\n"]
PIECES += ["        ", "\t\t", "\r\n", "価格を", "缓存", "서버", " сервер", "größe", "שלום", "مرحبا", "λόγος", "สวัสดี"]
PIECES += ["😀", "👩🏽\u200d💻", "\ud800", "\x00", "----", "=====", "deadbeef", "├──", "“”", "\\", "'", "\x1b[0m"]
MIXED_TEXT = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@pytest.mark.parametrize("texts", [ANY_TEXT, MIXED_TEXT])
def test_bound_stays_between_estimate_and_bytes_when_text_is_anything(texts: st.SearchStrategy[str]) -> None:
    """0 <= estimate <= bound <= UTF-8 bytes as they are or normalised, the same twice, for whatever is in the text."""

    @given(text=texts)
    def check(text: str) -> None:
        cost = COUNTER.measure(text)
        longest = sum(max(utf8_bytes(char), utf8_bytes(unicodedata.normalize("NFKC", char))) for char in text)
        assert 0 <= cost.estimate <= cost.bound <= longest
        assert cost.bound >= 1 or not text
        assert cost == Cost(COUNTER.count(text), COUNTER.upper_bound(text))

    check()


@pytest.mark.parametrize(
    ("text", "vocabulary", "most"),
    [
        ("/~\n" * 10, "tekken", 29),  # gives the slash to the line before, where that ends in a mark
        ("\u043d\u0430\u0424" * 9, "cl100k", 27),  # has a token of the second letter and the third's first byte
        ("1'statement" * 9, "claude", 45),
        ("1\\diverse" * 9, "qwen", 45),
        ("1\\uprojects" * 9, "tekken", 54),
    ],
)
def test_bound_holds_on_what_was_found_under_it(text: str, vocabulary: str, most: int) -> None:
    """Of 100,000 texts of a family, and what is like them; what the vocabulary counts is written down."""
    assert COUNTER.upper_bound(text) >= most, vocabulary


def tokens(run: str) -> int:
    """Return what a run adds to a text's bound."""
    before = " the the-" if run[0].isdigit() else " the the1"
    return COUNTER.upper_bound(f"{before}{run}") - COUNTER.upper_bound(before)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (" the", 1),
        ("The", 1),
        ("HTTP", 2),
        ("HTTPServer", 6),
        ("CREATUREResources", 6),
        ("q", 1),
        ("zqxj", 4),
        (" zqxj", 4),
        ("1234567", 7),
        (" {", 1),
        ("();", 1),
        ("-----", 1),
        ("'t", 1),
        ("\\n", 2),
        ("\\r", 2),
        ("\\", 1),
        (" ", 1),
        ("\n    the", 3),
        ("\n\t\tthe", 4),
        ("的", 1),
        ("丁", 2),
        ("龘", 3),
        (" 的", 2),
        (" 部", 3),
        ("😀", 4),
        ("\x00", 1),
        ("\ud800", 3),
        ("\u00bd", 5),
        (" \u2057", 12),
        ('\\",\\"', 3),
        ("'results", 4),
        ("'the", 2),
        ("\\nbelow", 4),
        ("\\nthe", 3),
        ("\u2500" * 3, 2),
        (" " + "-" * 80, 13),
        ("|" + "-" * 20 + "|", 7),
        ("ß", 1),
        (" ж", 1),
    ],
)
def test_run_costs_what_the_tables_say_when_counted(run: str, expected: int) -> None:
    """Words and marks that every vocabulary has cost 1, others what their letters may cost at most."""
    assert tokens(run) == expected


@pytest.mark.parametrize("dear", ["qkzvtrnbwpldhgmxcfjsyaoe", "Qkzvtrnbwpldhgmxcfjsyaoe", "GATTACAGATTACCA", "ǅǈƛƾ"])
def test_known_words_pay_nothing_for_a_dear_one(dear: str) -> None:
    """The bound is local: whatever stands beside a word, it adds its own tokens."""
    alone = COUNTER.upper_bound(f" the {dear}.")
    for words in (1, 10, 300):
        assert COUNTER.upper_bound(f" the {dear}." + " the" * words) == alone + words


@given(texts=st.lists(MIXED_TEXT, max_size=6))
def test_lines_add_up_when_they_make_a_text(texts: list[str]) -> None:
    """A line costs in a text what it costs alone, less the token that each text has above its runs."""
    lines = [f"{text}." for text in texts]
    together = COUNTER.upper_bound("1".join(lines)) if lines else 0
    assert together + len(lines) >= sum(map(COUNTER.upper_bound, lines))


def test_bound_keeps_near_the_estimate_when_text_is_prose() -> None:
    """Common English costs about a token a word, and the bound at most a third more than the estimate."""
    text = "The assistant reads the file, then it changes one line and runs the tests again. " * 20
    cost = COUNTER.measure(text)
    assert 330 <= cost.estimate <= 370
    assert cost.bound <= cost.estimate * 4 // 3


@pytest.mark.parametrize("char", ["a", "\n", "的", "😀"])
def test_long_line_is_bounded_by_its_bytes_when_it_is_too_long_to_look_at(char: str) -> None:
    """Four million characters in one line cost no time: bytes are the bound, a third of them the estimate."""
    text = char * (4 * EXACT_CLASSES_CHARS)
    size = utf8_bytes(text)
    assert COUNTER.measure(text) == Cost(size // LONG_TEXT_BYTES_PER_TOKEN, size)


def test_pieces_add_up_when_text_is_longer_than_one() -> None:
    """A text of several pieces costs the sum of them: memory does not grow with it."""
    piece = "word " * (PIECE_CHARS // 5) + "x" * (PIECE_CHARS % 5)
    assert len(piece) == PIECE_CHARS
    assert COUNTER.upper_bound(piece * 3) == 3 * COUNTER.upper_bound(piece)


def test_tables_hold_no_word_twice_when_read() -> None:
    """Six digits stand before the words that they hold for; seams are of words; spans follow each other."""
    listed = [item for item in COSTS.split() if not item.isdigit()]
    words = set(listed)
    assert len(words) == len(listed)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert all(len(item) == 6 for item in COSTS.split() if item.isdigit())
    assert all(item[0] in "'\\" and item[1:].lower() in words for item in SEAMS.split())
    ends = [end for span in classes.TWO_TOKEN_SPANS for end in span]
    assert ends == sorted(ends)
