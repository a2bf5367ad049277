"""What of a query is looked for: not the words that stand in every second sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.finding.words import read_query

if TYPE_CHECKING:
    from squidbot.core.finding.words import Word

__all__ = ["STOP_WORDS", "telling"]

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
