"""A question as what is looked for: its words, who and when it speaks of, and what kind of answer it wants."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.memory.search.dates import Days, days, without_days
from squidbot.core.memory.search.stems import stem
from squidbot.core.memory.search.texts import FIRST_PERSON, lower_words, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Query", "is_sought", "name_words"]

# Of a longer query the first different terms count.
QUERY_TERMS = 32
# How many words in, a question has said what it asks for.
OPENING_WORDS = 4
_AMOUNT = frozenset(("many", "much", "long", "old", "often", "number"))
_NAMED_THING = frozenset(("who", "whom", "whose", "where", "which"))


class Query(NamedTuple):
    """What is looked for.

    Attributes:
        terms: the different stems of its words, in order, without grammar, dates and the names of speakers.
        words: beside each term the word that it was made from, for a store whose index has words of its own.
        pairs: stems that stand beside each other in it.
        named: words of the names of those who are asked about.
        days: the days it speaks of.
        asks_when: whether it asks for a time.
        asks_amount: whether it asks for a number.
        asks_name: whether it asks for somebody, a place, or one of several.
    """

    terms: tuple[str, ...]
    words: tuple[str, ...] = ()
    pairs: frozenset[tuple[str, str]] = frozenset()
    named: frozenset[str] = frozenset()
    days: tuple[Days, ...] = ()
    asks_when: bool = False
    asks_amount: bool = False
    asks_name: bool = False

    @classmethod
    def of(cls, text: str, now: float | None = None, names: Iterable[str] = (), asker: str = "") -> Query:
        """Read a question.

        Args:
            text: the question, or words.
            now: when it is asked, in seconds since 1970: "last week" and "in May" are told from there.
            names: the names of those who speak in what is searched. Who is named is taken for the speaker, and not
                looked for: where two speak to each other, both say it.
            asker: the name of who asks: the one whom "I" and "my" speak of.

        Raises:
            ValueError: there is no letter or digit in it to look for.
        """
        words, asked_days = lower_words(text), days(text, now)
        found = (asked_days and terms_of(without_days(text))) or terms_of(text)
        speakers = frozenset[str]().union(*map(name_words, names))
        named = speakers.intersection(found)
        if asker and not FIRST_PERSON.isdisjoint(words):
            named |= name_words(asker)
        terms = _sought(words, found, speakers)
        if not terms:
            raise ValueError(f"nothing to look for in {text!a:.80}: give a word, a number or a name")
        opening = words[:OPENING_WORDS]
        return cls(
            terms,
            _spoken(words, terms),
            frozenset(pairwise(terms)),
            named,
            asked_days,
            asks_when="when" in opening or not {"date", "year", "month"}.isdisjoint(words),
            asks_amount="how" in opening and not _AMOUNT.isdisjoint(words),
            asks_name=bool(opening) and opening[0] in _NAMED_THING,
        )


def is_sought(text: str, now: float | None = None) -> bool:
    """Say whether there is anything in a query to look for; nothing but data, as hashes, is not.

    Raises:
        ValueError: there is no letter or digit in it.
    """
    try:
        Query.of(text, now)
    except ValueError:
        if not any(map(str.isalnum, text)):
            raise
        return False
    return True


def _sought(words: Sequence[str], found: Sequence[str], speakers: frozenset[str]) -> tuple[str, ...]:
    """Return what is looked for: not names and grammar, unless there is nothing else."""
    kept = [term for term in found if term not in speakers] or found or [stem(word) for word in words if word]
    return tuple(dict.fromkeys(kept))[:QUERY_TERMS]


def _spoken(words: Sequence[str], terms: Sequence[str]) -> tuple[str, ...]:
    made = {term: word for word in reversed(words) for term in terms_of(word)}
    return tuple(made.get(term, term) for term in terms)


def name_words(name: str) -> frozenset[str]:
    """Return the stems of the words of a name."""
    return frozenset(stem(word) for word in lower_words(name))
