"""How well short texts answer a query by their words alone: one score for every store, 0 to 1.

A score is the share of the query's weight that a text has, times a factor that falls from 1 to 1/2 with its length: a
long text has many words by chance. A word's weight is its inverse document frequency, squared as in a cosine. So 1 is
a very short text with every word of the query, and half the score is half of what the query says.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from squidbot.core.finding.words import read_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.finding.words import Word

__all__ = ["STOP_WORDS", "has", "telling", "weighed"]

# A text of so many terms counts for three quarters of a very short one with the same words.
HALF_WAY_TERMS = 100
# Words of English that stand in every second sentence and tell none from another.
STOP_WORDS = frozenset(
    (
        "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
        "been", "before", "being", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don",
        "during", "each", "for", "from", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
        "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "me", "more", "most",
        "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out",
        "over", "own", "re", "s", "same", "she", "should", "so", "some", "such", "t", "than", "that", "the",
        "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
        "until", "up", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who",
        "whom", "why", "will", "with", "would", "you", "your",
    )
)  # fmt: skip


def telling(query: str) -> tuple[Word, ...]:
    """Return the words of a query without those that tell nothing; all of them where no other is there.

    Raises:
        ValueError: there is no letter or digit in the query.
    """
    words = read_query(query).words
    return tuple(word for word in words if not is_stop_word(word)) or words


def is_stop_word(word: Word) -> bool:
    """Say whether a word of a query tells nothing."""
    return len(word[0]) == 1 and word[0][0] in STOP_WORDS


def has(terms: set[str] | frozenset[str], word: Word) -> bool:
    """Say whether a text with these terms has a word: all terms of one of its alternatives."""
    return any(terms.issuperset(each) for each in word)


def weighed(
    words: Sequence[Word], having: Iterable[float], texts: Sequence[set[str] | frozenset[str]], among: float
) -> list[float]:
    """Return the scores of texts, given by their terms, in their order; 0 for one that has none of the words.

    `having`: for each word how many of all texts have it; `among`: how many there are. Both may be estimates.
    """
    weights = [log(1 + among / max(count, 0.5)) ** 2 for count in having]
    whole = sum(weights) or 1.0
    found = []
    for terms in texts:
        had = sum(weight for word, weight in zip(words, weights, strict=True) if has(terms, word))
        score = had / whole * (1 - len(terms) / (len(terms) + HALF_WAY_TERMS) / 2)
        # Rounded so that a score survives being written down; 0 is for what has nothing of the query.
        found.append(max(round(score, 4), 0.0001) if had else 0.0)
    return found
