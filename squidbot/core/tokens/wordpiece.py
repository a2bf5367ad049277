"""The tokens of BERT's uncased vocabularies: words, and of a word that is not in it the longest pieces that are."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


# What BERT's own tokenizer does not take apart: a longer word is unknown as a whole.
MOST_WORD_CHARS = 100
# A word is looked up again for each time that it is said.
_CACHED_WORDS = 1 << 16
_ASCII = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Characters without a form. Those that Unicode has not assigned are kept: they make a word unknown.
_CONTROL = frozenset({"Cc", "Cf", "Co", "Cs"})
# Blocks whose characters are words by themselves, as BERT's tokenizer has them: ideographs, not kana nor hangul.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Cuts texts as BERT's uncased models want them: accents off, lower case, marks and ideographs apart.

    What looks like a token of the model's own, such as "[SEP]", is the plain text that it is.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the tokens in the order of their ids; "##" begins those that go on with a word.

        Raises:
            ValueError: a token that every text needs is not among them.
        """
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        missing = [token for token in ("[UNK]", "[CLS]", "[SEP]") if token not in self._ids]
        if missing:
            raise ValueError(f"no {missing[0]} in the vocabulary")
        self.unknown = self._ids["[UNK]"]
        self.first = self._ids["[CLS]"]
        self.last = self._ids["[SEP]"]
        self._pieces = lru_cache(_CACHED_WORDS)(self._taken_apart)

    def __len__(self) -> int:
        """Return how many tokens there are."""
        return len(self._ids)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, without those that begin and end it; [] where it has no words."""
        return [number for word in _words(text) for number in self._pieces(word)]

    def _taken_apart(self, word: str) -> tuple[int, ...]:
        if len(word) > MOST_WORD_CHARS:
            return (self.unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            before = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if before + word[start:end] in self._ids)
            end = next(ends, None)
            if end is None:
                return (self.unknown,)
            found.append(self._ids[before + word[start:end]])
            start = end
        return tuple(found)


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII.findall(_CONTROLS.sub("", text).lower())
    spaced = "".join(map(_cleaned, text))
    bare = "".join(char for char in unicodedata.normalize("NFD", spaced) if unicodedata.category(char) != "Mn")
    # Letter by letter: BERT's tokenizer knows no form that a letter takes at the end of a word.
    return "".join(map(_parted, "".join(map(str.lower, bare)))).split()


@lru_cache(_CACHED_WORDS)
def _cleaned(char: str) -> str:
    """Return a character as BERT reads it: nothing, a space, itself, or itself as a word."""
    if char.isspace() and char not in "\x1c\x1d\x1e\x1f\x0b\x0c\x85":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _CONTROL:
        return ""
    if any(first <= ord(char) <= last for first, last in _IDEOGRAPHS):
        return f" {char} "
    return char


@lru_cache(_CACHED_WORDS)
def _parted(char: str) -> str:
    return f" {char} " if _is_mark(char) else char


def _is_mark(char: str) -> bool:
    return char in "$+<=>^`|~" or unicodedata.category(char)[0] == "P"
