"""Words and their pieces; that they are those of BERT's tokenizer is tested beside the model that needs them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.tokens.wordpiece import MOST_WORD_CHARS, WordPiece

VOCABULARY = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "sea",
    "##s",
    "##ide",
    "squid",
    "##side",
    "cafe",
    "!",
    "海",
    "σας",
    "s",
)
PIECES = WordPiece(VOCABULARY)
UNKNOWN = VOCABULARY.index("[UNK]")


def tokens(text: str) -> list[str]:
    """Return a text's tokens as the vocabulary writes them."""
    return [VOCABULARY[number] for number in PIECES.ids(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sea squid!", ["sea", "squid", "!"]),
        ("seas", ["sea", "##s"]),
        ("seaside", ["sea", "##side"]),
        ("seasides", ["sea", "##side", "##s"]),
        ("Caf\u00e9", ["cafe"]),
        ("\u6d77sea", ["海", "sea"]),
        ("sea\u200bs", ["sea", "##s"]),
        ("sea\u00a0s", ["sea", "s"]),
        ("sea\x00s\x07", ["sea", "##s"]),
        ("squidx", ["[UNK]"]),
        ("[SEP]", ["[UNK]", "[UNK]", "[UNK]"]),
        (" \t\n", []),
        ("", []),
    ],
)
def test_text_is_cut_into_the_longest_pieces(text: str, expected: list[str]) -> None:
    """Without accents and capitals; what can't be made of pieces is unknown as a whole."""
    assert tokens(text) == expected


def test_word_is_unknown_when_it_is_longer_than_bert_reads() -> None:
    """It is not looked through at any length."""
    assert tokens("s" * MOST_WORD_CHARS) == ["s"] + ["##s"] * (MOST_WORD_CHARS - 1)
    assert tokens("s" * (MOST_WORD_CHARS + 1)) == ["[UNK]"]


def test_letter_has_no_other_form_at_the_end_of_a_word() -> None:
    """Python's own lower case writes a final sigma, which BERT's tokenizer does not know."""
    assert PIECES.ids("\u03a3\u0391\u03a3") == [UNKNOWN]


@pytest.mark.parametrize("missing", ["[UNK]", "[CLS]", "[SEP]"])
def test_vocabulary_without_what_every_text_needs_is_refused(missing: str) -> None:
    """It is another kind of vocabulary."""
    with pytest.raises(ValueError, match=rf"^no \{missing} in the vocabulary$"):
        WordPiece([each for each in VOCABULARY if each != missing])


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_beside_each_other_have_the_tokens_of_both(one: str, other: str) -> None:
    """Whatever characters there are: every str has ids of the vocabulary, and a space parts words."""
    both = PIECES.ids(f"{one} {other}")
    assert both == PIECES.ids(one) + PIECES.ids(other)
    assert all(0 <= each < len(PIECES) for each in both)
