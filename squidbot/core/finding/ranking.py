"""Which messages answer a query best, in bounded time: the order of search results, the same for every store.

Common words stand in hundreds of thousands of messages. What is ranked are therefore candidates, at most
`CANDIDATES` with the query's rarest words and as many with all its words, newest first where there are more. Behind
them come, newest first and with score 0, all others that have any of the words: pages reach every one of them.
"""

from __future__ import annotations

from itertools import islice
from math import log
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.finding.sayings import said
from squidbot.core.finding.words import has_phrase, may_have_phrase
from squidbot.core.messages import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.finding.words import Query, Word

__all__ = ["Postings", "best"]

# Also how many messages of a word are looked at: all of a rare one, else enough to tell how common it is.
CANDIDATES = 128
# A word in more than this share of all messages tells little: beside one so many times rarer it does not count.
COMMON_FRACTION = 1 / 8
TIMES_RARER = 32
# So many words beyond the drivers are looked up among the candidates, the rarest: 2 ms each at 1,000,000 messages.
CHECKED_WORDS = 3
# A message of so many tokens counts for three quarters of a very short one with the same words.
HALF_WAY_TOKENS = 1000
# How many texts behind the candidates are read for a phrase whose words stand apart nearly everywhere: about 0.3 s.
PHRASE_TEXTS = 10_000
READ_TEXTS = 16  # at once


class Postings(Protocol):
    """The messages of one session by their terms."""

    @property
    def messages(self) -> int:
        """How many messages there are, found or not: they are numbered below it."""

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs under `below` of messages that have each of the words, newest first.

        A message has a word if it has all terms of one of its alternatives.
        """

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for."""

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for; an empty text for one that can't be read."""


class _Known(NamedTuple):
    """A word and its newest messages, at most `CANDIDATES`; how many there are in all, an estimate above that."""

    word: Word
    hits: list[int]
    messages: float

    def is_found(self) -> bool:
        """Say whether any message has the word."""
        return bool(self.hits)

    @property
    def is_complete(self) -> bool:
        """Whether the hits are all there are."""
        return len(self.hits) < CANDIDATES

    def weight(self, messages: int) -> float:
        """Return what having the word counts: its inverse document frequency, squared as in a cosine."""
        return log(1 + messages / max(self.messages, 0.5)) ** 2


class _Candidates(NamedTuple):
    """The messages that are ranked; what each word counts, and which have it; what finds all others, if there are."""

    seqs: set[int]
    weights: list[tuple[float, set[int]]]
    rest: list[Word]


def best(query: Query, postings: Postings, limit: int, after: Found | None = None) -> list[Found]:
    """Return the messages that answer a query, best first, ties newest first: at most `limit`, behind `after`."""
    if limit <= 0:
        return []
    candidates = _candidates(query, postings)
    ranked = (each for each in _ranked(candidates, postings) if after is None or _order(each) > _order(after))
    page = list(islice(_kept(query, postings, ranked), limit))
    if candidates.rest and len(page) < limit:
        others = _others(candidates.rest, postings, candidates.seqs, after)
        others = islice(others, PHRASE_TEXTS) if query.phrases else others
        page += islice(_kept(query, postings, others), limit - len(page))
    return page


def _candidates(query: Query, postings: Postings) -> _Candidates:
    messages, required = postings.messages, list(query.required)
    known = [_probe(required, word, postings) for word in query.words]
    found = sorted(filter(_Known.is_found, known), key=lambda each: each.messages)
    drivers = _drivers(found)
    base = required or _any_of(drivers)
    if not base:
        return _Candidates(set(), [], [])
    seqs = set(postings.newest(base, messages, CANDIDATES))
    is_cut = len(seqs) == CANDIDATES
    weights, whole = _weights(known, _counted(found, len(drivers), messages), _Base(postings, required, base, is_cut))
    weights.append((float(bool(required)), seqs | whole))
    has_rest = is_cut or (not required and drivers != found)
    return _Candidates(seqs | whole, weights, (required or _any_of(found)) if has_rest else [])


class _Base(NamedTuple):
    """What the candidates are found by, the words they must have, and whether there are more than were taken."""

    postings: Postings
    required: list[Word]
    base: list[Word]
    is_cut: bool

    def newest(self, words: Iterable[Word]) -> set[int]:
        """Return the newest messages that have all of these words."""
        return set(self.postings.newest(list(words), self.postings.messages, CANDIDATES))


def _weights(
    known: Sequence[_Known], counted: Sequence[_Known], base: _Base
) -> tuple[list[tuple[float, set[int]]], set[int]]:
    """Return what each word counts and which candidates have it, and the messages that have every word that counts."""
    messages = base.postings.messages
    whole = set[int]()
    if base.is_cut and len(counted) > 1:
        whole = base.newest((*base.required, *(each.word for each in counted)))
    weights = [(each.weight(messages), set[int]()) for each in known if not each.is_found()]
    for each in counted:
        is_known = each.is_complete or base.base == [each.word]
        having = set(each.hits) if is_known else base.newest((*base.base, each.word))
        weights.append((each.weight(messages), whole | having))
    return weights, whole


def _probe(required: Sequence[Word], word: Word, postings: Postings) -> _Known:
    hits = postings.newest([*required, word], postings.messages, CANDIDATES)
    if len(hits) < CANDIDATES:
        return _Known(word, hits, len(hits))
    return _Known(word, hits, CANDIDATES * postings.messages / (postings.messages - hits[-1]))


def _drivers(found: Sequence[_Known]) -> list[_Known]:
    """Return the rarest word, and the next ones as long as all their messages are candidates."""
    drivers: list[_Known] = []
    total = 0.0
    for each in found:
        total += each.messages
        if drivers and total > CANDIDATES:
            break
        drivers.append(each)
    return drivers


def _counted(found: Sequence[_Known], drivers: int, messages: int) -> list[_Known]:
    """Return the words that count: the drivers, and the rarest others unless they are common."""
    most = max(messages * COMMON_FRACTION, found[0].messages * TIMES_RARER) if found else 0.0
    others = [each for each in found[drivers:] if each.is_complete or each.messages <= most]
    return [*found[:drivers], *others[:CHECKED_WORDS]]


def _any_of(known: Iterable[_Known]) -> list[Word]:
    """Return the one word that each of these is a form of; none for none."""
    alternatives = tuple(alternative for each in known for alternative in each.word)
    return [alternatives] if alternatives else []


def _ranked(candidates: _Candidates, postings: Postings) -> list[Found]:
    """Return the candidates, best first.

    A score is the share of the query's weight that a message has, times a factor that falls from 1 to 1/2 with its
    length: a long text has many words by chance.
    """
    seqs = sorted(candidates.seqs, reverse=True)
    total = sum(weight for weight, _ in candidates.weights)
    had = dict.fromkeys(seqs, 0.0)
    for weight, having in candidates.weights:
        for seq in candidates.seqs & having:
            had[seq] += weight
    ranked = []
    for seq, size_tokens in zip(seqs, postings.sizes(seqs), strict=True):
        length_fraction = size_tokens / (size_tokens + HALF_WAY_TOKENS)
        # Rounded so that a score survives being written down; 0 is for what was not ranked.
        ranked.append(Found(seq, max(round(had[seq] / total * (1 - length_fraction / 2), 4), 0.0001)))
    return sorted(ranked, key=_order)


def _order(found: Found) -> tuple[float, int]:
    return -found.score, -found.seq


def _others(base: list[Word], postings: Postings, known: set[int], after: Found | None) -> Iterator[Found]:
    """Yield the messages that were not ranked, newest first."""
    below = after.seq if after is not None and after.score == 0 else postings.messages
    while True:
        seqs = postings.newest(base, below, CANDIDATES)
        yield from (Found(seq, 0.0) for seq in seqs if seq not in known)
        if len(seqs) < CANDIDATES:
            return
        below = seqs[-1]


def _kept(query: Query, postings: Postings, found: Iterable[Found]) -> Iterator[Found]:
    """Yield what has the query's phrases; texts are read when their turn comes."""
    if not query.phrases:
        yield from found
        return
    rest = iter(found)
    while some := list(islice(rest, READ_TEXTS)):
        payloads = postings.payloads([each.seq for each in some])
        yield from (each for each, payload in zip(some, payloads, strict=True) if _has_all(payload, query.phrases))


def _has_all(payload: str, phrases: Sequence[tuple[str, ...]]) -> bool:
    if not all(may_have_phrase(payload, phrase) for phrase in phrases):
        return False
    texts = said(payload)
    return all(any(has_phrase(text, phrase) for text in texts) for phrase in phrases)
