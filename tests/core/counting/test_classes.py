"""The class estimator: what its runs are made of, and that its bound holds its shape on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.counting import class_tables
from squidbot.core.counting.classes import (
    EXACT_CLASSES_CHARS,
    LONG_TEXT_BYTES_PER_TOKEN,
    PIECE_CHARS,
    ClassCounter,
    features,
    utf8_bytes,
)
from squidbot.core.messages import Cost

COUNTER = ClassCounter()
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
# What a text is made of in practice, glued in any order: runs meet that random characters never form.
PIECES = ["the", " cache", "HTTPServer", "camelCase", "_", "snake", " 1234", "\\n", "\\u00e9", "don't", '"', "})\n\n"]
PIECES += ["        ", "\t\t", "\r\n", "価格を", "缓存", "서버", " сервер", "größe", "שלום", "مرحبا", "λόγος", "สวัสดี"]
PIECES += ["😀", "👩🏽\u200d💻", "\ud800", "\x00", "----", "=====", "deadbeef", "├──", "“”", "\\", "'", "\x1b[0m"]
MIXED_TEXT = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@pytest.mark.parametrize("texts", [ANY_TEXT, MIXED_TEXT])
def test_bound_stays_between_estimate_and_bytes_when_text_is_anything(texts: st.SearchStrategy[str]) -> None:
    """0 <= estimate <= bound <= UTF-8 bytes, the same twice, for whatever is in the text."""

    @given(text=texts)
    def check(text: str) -> None:
        cost = COUNTER.measure(text)
        assert 0 <= cost.estimate <= cost.bound <= utf8_bytes(text)
        assert cost.bound >= 1 or not text
        assert cost == Cost(COUNTER.count(text), COUNTER.upper_bound(text))

    check()


@given(text=st.one_of(ANY_TEXT, MIXED_TEXT))
def test_runs_have_weights_when_text_is_anything(text: str) -> None:
    """Every feature that a text can have is in the table: no text raises for want of a weight."""
    assert all(name in class_tables.WEIGHTS for char in set(text) for name, _ in features(char))
    assert COUNTER.measure(text).bound >= 0


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (" the", {"known.lower.spaced": 1}),
        ("The", {"known.title.bare": 1}),
        ("HTTP", {"known.upper.bare": 1, "known.upper.long": 0}),
        ("q", {"letter.lower.bare": 1}),
        ("Q", {"letter.upper.bare": 1}),
        ("zqxj", {"word.lower.bare": 1, "word.lower.letters": 4, "word.lower.odd": 3, "word.lower.long": 0}),
        ("1234567", {"digit": 7, "digits3": 3}),
        (" {", {"mark.spaced": 1}),
        ("();", {"marks.known": 1}),
        ("-----", {"marks.bare": 1, "marks.change": 0, "marks.rule": 4}),
        ("'t", {"contraction": 1}),
        ("'", {"mark.bare": 1}),
        ("\\n", {"escape.n": 1}),
        ("\\r", {"escape": 1}),
        ("\\", {"mark.bare": 1}),
        (" ", {"space": 1, "space.long": 0}),
        ("的", {"han.common": 1}),
        ("龘", {"han.rare": 1}),
        ("😀", {"byte": 4}),
        ("\x00", {"byte": 1}),
        ("\ud800", {"byte": 3}),
        ("ß", {"latin.bare": 1, "latin": 1}),
        (" ж", {"cyrillic.spaced": 1, "cyrillic": 1}),
    ],
)
def test_run_has_the_features_of_its_kind_when_read(run: str, expected: dict[str, int]) -> None:
    """Each kind of run is told apart by its first character, a leading space set aside."""
    assert dict(features(run)) == expected


def test_bound_keeps_near_the_estimate_when_text_is_prose() -> None:
    """Common English costs about a token a word, and the bound at most a third more than the estimate."""
    text = "The assistant reads the file, then it changes one line and runs the tests again. " * 20
    cost = COUNTER.measure(text)
    assert 330 <= cost.estimate <= 370
    assert cost.bound <= cost.estimate * 4 // 3


def test_repeated_word_pays_its_doubt_each_time_when_it_is_unknown() -> None:
    """Different unknown words even out; the same one again does not, so that its bound is higher."""
    words = ["gantry", "pellet", "sundry", "wharf", "mallet", "quarry", "tinder", "velvet", "anvil", "bobbin"] * 10
    assert COUNTER.upper_bound(" gantry" * 100) > COUNTER.upper_bound(" " + " ".join(words))


@pytest.mark.parametrize("char", ["a", "\n", "的", "😀"])
def test_long_line_is_bounded_by_its_bytes_when_it_is_too_long_to_look_at(char: str) -> None:
    """16 MB in one line cost no time: bytes are the bound, a third of them the estimate."""
    text = char * (16 * EXACT_CLASSES_CHARS)
    size = utf8_bytes(text)
    assert COUNTER.measure(text) == Cost(size // LONG_TEXT_BYTES_PER_TOKEN, size)


def test_pieces_add_up_when_text_is_longer_than_one() -> None:
    """A text of several pieces costs the sum of them: memory does not grow with it."""
    piece = "word " * (PIECE_CHARS // 5) + "x" * (PIECE_CHARS % 5)
    assert len(piece) == PIECE_CHARS
    assert COUNTER.upper_bound(piece * 3) == 3 * COUNTER.upper_bound(piece)


def test_tables_hold_no_word_twice_when_read() -> None:
    """A word is known with and without a space before it, or only with one."""
    assert not class_tables.WORDS & class_tables.SPACED_WORDS
    assert not set(class_tables.HAN) & set(class_tables.HAN_FREQUENT)
    assert not set(class_tables.HANGUL) & set(class_tables.HANGUL_FREQUENT)
