"""A text as what it is found by: its terms in order, the days it speaks of, and what else is seen at a glance."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.finding.words import terms
from squidbot.core.memory.search.dates import Days, days
from squidbot.core.memory.search.stems import STOP_WORDS, stem

if TYPE_CHECKING:
    from squidbot.core.memories import Passage

__all__ = ["FIRST_PERSON", "RULES", "Prepared", "lower_words", "prepared", "terms_of"]

# Raise it with every change of what `prepared` returns: an index made by other rules is made anew.
RULES = 2

# Of a longer text the first ones count: about 20 ms of work.
TEXT_CHARS = 100_000
# Of a longer word nothing counts: it is data.
WORD_CHARS = 64

_TOKEN = re.compile(r"[^\W_]++(?:['\u2019][^\W_]++)*+")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+|[0-9]+")
_NUMBERS = """
one two three four five six seven eight nine ten eleven twelve dozen twice once first second third several couple
hundred thousand
"""
_AMOUNTS = frozenset(_NUMBERS.split())
FIRST_PERSON = frozenset(("i", "my", "me", "mine", "we", "our", "us", "ours", "myself"))
# Letters in front of an apostrophe that, behind it, are one word of grammar: "I've" and "we'll" are their first half.
_ENDS = frozenset(("s", "m", "d", "re", "ve", "ll"))


class Prepared(NamedTuple):
    """What of a passage is looked at, made once when it is stored.

    Attributes:
        terms: stems of its words in order, without those of mere grammar.
        days: the days it speaks of.
        asks: whether it ends on a question.
        own_fraction: how many of its words are "I", "my" and such, of all.
        names: how many words inside of its sentences begin with a capital.
        counts: whether there is a number in it.
    """

    terms: tuple[str, ...]
    days: tuple[Days, ...] = ()
    asks: bool = False
    own_fraction: float = 0.0
    names: int = 0
    counts: bool = False


def prepared(passage: Passage) -> Prepared:
    """Return what of a passage is looked at."""
    text = passage.text[:TEXT_CHARS]
    found: list[str] = []
    words = own = names = 0
    counts = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        word, stems = _known(token) if len(token) <= WORD_CHARS else ("", ())
        found += stems
        words += 1
        own += word in FIRST_PERSON
        counts = counts or word in _AMOUNTS or token[0].isdigit()
        names += token[0].isupper() and len(token) > 1 and _is_inside(text, match.start())
    asks = text.rstrip().endswith(("?", "\uff1f"))
    return Prepared(tuple(found), days(text, passage.time), asks, own / max(1, words), names, counts)


def terms_of(text: str) -> tuple[str, ...]:
    """Return the terms of a text in order, as `prepared` does."""
    tokens = (match[0] for match in _TOKEN.finditer(text[:TEXT_CHARS]))
    return tuple(term for token in tokens if len(token) <= WORD_CHARS for term in _known(token)[1])


def lower_words(text: str) -> list[str]:
    """Return the words of a text in order, lower case, without what is behind an apostrophe."""
    return [_known(match[0])[0] for match in _TOKEN.finditer(text[:TEXT_CHARS]) if len(match[0]) <= WORD_CHARS]


def _is_inside(text: str, start: int) -> bool:
    """Say whether what starts there is inside of a sentence, where a capital is a name's."""
    return start > 1 and text[start - 2] not in ".!?\n"


@lru_cache(65_536)
def _known(token: str) -> tuple[str, tuple[str, ...]]:
    """Return a word in lower case, and the terms it stands for: none for grammar alone."""
    head, mark, tail = token.replace("\u2019", "'").rpartition("'")
    if mark and tail.lower() == "t":  # don't, isn't
        return token.lower(), ()
    if mark and tail.lower() in _ENDS:
        token = head
    lower = token.lower()
    if _PLAIN.fullmatch(token):
        return lower, () if lower in STOP_WORDS else (stem(lower),)
    return lower, tuple(stem(piece) for piece in sorted(terms(token)) if piece not in STOP_WORDS)
