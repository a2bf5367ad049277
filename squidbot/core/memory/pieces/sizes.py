"""What a piece of a file is, and how long it may be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.core.memories import Trust

__all__ = ["MOST_CODE_WORDS", "MOST_WORDS", "PIECE_WORDS", "Piece", "count_words", "cut", "packed"]

# Of recorded talk, as one file, 87 % of questions had all their evidence within 1,000 tokens by turns, 86 by pieces of
# 40 words, 84 of 80, 80 of 150; without their places, so that no neighbour speaks, 75, 77, 79 and 79. Prose is not
# cut at 40: an argument is longer than a turn, and each piece carries its headings.
PIECE_WORDS = 80
# A paragraph or a turn up to this stays whole; code and tables do up to that.
MOST_WORDS = 160
MOST_CODE_WORDS = 400
# A word of English and the space behind it; code and writing without spaces are counted by their bytes in UTF-8.
WORD_BYTES = 7

_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])")


class Piece(NamedTuple):
    """What of a file is found by itself.

    Attributes:
        text: its words.
        headings: those it stands under, outermost first.
        talk: the conversation in its file that it is of; "" for none.
        speaker: who says it; "" where nobody does.
        time: when it was said, in seconds since 1970; None where its file alone knows.
        trust: who it is from.
        tag: what its file is; "" for nothing by itself.
    """

    text: str
    headings: tuple[str, ...] = ()
    talk: str = ""
    speaker: str = ""
    time: float | None = None
    trust: Trust = "import"
    tag: str = ""


def count_words(text: str) -> int:
    """Return about how many words of English are as long as a text."""
    return max(len(text.split()), len(text.encode("utf-8", "surrogatepass")) // WORD_BYTES)


def packed(texts: Iterable[str], joint: str, most_words: int = PIECE_WORDS) -> Iterator[str]:
    """Yield texts, as many in a row joined as are `most_words` long; a longer one alone."""
    kept: list[str] = []
    length = 0
    for text in texts:
        words = count_words(text)
        if kept and length + words > most_words:
            yield joint.join(kept)
            kept, length = [], 0
        kept.append(text)
        length += words
    if kept:
        yield joint.join(kept)


def cut(text: str, most_words: int = MOST_WORDS) -> Iterator[str]:
    """Yield a text; one longer than `most_words` in parts of about `PIECE_WORDS`, by lines, sentences, words."""
    if count_words(text) <= most_words:
        yield text
        return
    yield from packed((part for line in text.split("\n") for part in _parts(line, most_words)), "\n")


def _parts(line: str, most_words: int) -> Iterator[str]:
    if count_words(line) <= most_words:
        yield line
        return
    for sentence in packed(filter(None, _SENTENCE_END.split(line)), " "):
        yield from (sentence,) if count_words(sentence) <= most_words else _runs(sentence)


def _runs(text: str) -> Iterator[str]:
    """Yield what has no sentences by its words, and a word that is too long by its characters."""
    chars = PIECE_WORDS * WORD_BYTES // 2
    words = (word[at : at + chars] for word in text.split() for at in range(0, len(word), chars))
    yield from packed(words, " ")
