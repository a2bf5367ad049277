"""Search in messages: how texts and queries become terms, what of a payload is searched, and how matches are ranked."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import groupby, islice, pairwise
from math import log
from typing import TYPE_CHECKING, NamedTuple, Protocol
from unicodedata import normalize

from squidbot.core.memory.words import STOP_WORDS
from squidbot.core.messages import SearchMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# Text as words to search by, and how a query is read.

# Raise it with every change of what `payload_terms` returns: an index made by other rules is made anew.
RULES = 2

# Thai to Lao, Tibetan, Myanmar, Khmer, kana, bopomofo, Hangul, Han. By the Unicode block chart.
_UNSPACED = (
    "\u0e00-\u0e3a\u0e40-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3041-\u30fa"
    "\u30fc-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# To `re` the vowel signs of Indic scripts and marks that no letter took in are no letters: they'd cut words to bits.
_MARKS = "\u0300-\u036f\u0900-\u0963\u0971-\u0dff\u3099\u309a"
_LETTER = rf"[\w{_MARKS}{_UNSPACED}]"
# What, beside `_`, joins the parts of names, paths, addresses, dates and contractions.
_JOINT = r"[./\\:@'\u2019+\-]{1,3}"
_TOKEN = re.compile(rf"{_LETTER}++(?:{_JOINT}{_LETTER}++|(?!))*+")
_ASCII_PIECE = re.compile("[A-Za-z0-9]+")
_PIECE = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}])|(?!))++")
# The first and the last character of each block: a pattern of them takes milliseconds to make, at each start.
_BLOCKS = [*zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True)]
_RAW = r"(?:\\++[bfnrt]?|[^\w\\]|_)"  # between words in JSON text, escapes and all
_RAW_GAP = rf"(?:{_RAW}{{257}}|{_RAW}{{0,256}}"  # a gap that is longer rules nothing out
_GAP, _GAP_OR_HUMP = r"[\W_]+", r"[\W_]*"
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic, and what is not seen at all. The voicing marks of
# kana and the signs of Indic scripts make other letters, and stay.
_FOLDED_AWAY = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]"
)
_ENDINGS = ("ing", "ed", "es", "s", "e")
# base64, hashes and signatures are data: a word of 256 characters or more is none.
_BLOB = re.compile(r"[A-Za-z0-9+/=_\-]{256,}")
_SPACE = re.compile(r"[ \n]")
_QUOTED = re.compile(
    '"([^"]*)"|\u201c([^\u201c\u201d]*)\u201d|\u201e([^\u201c-\u201e]*)[\u201c\u201d]|\u00ab([^\u00ab\u00bb]*)\u00bb'
)

PIECE_CHARS = 64  # of a longer piece the first ones count, in texts and in queries
HUMPS_CHARS = 200  # a longer token is not cut at humps: it is no name that somebody chose
TEXT_CHARS = 1_000_000  # of a longer text the first ones are found: about 0.1 s of work
SLICE_CHARS = 16_384  # no other thread can run during one search for a pattern: about 1 ms
QUERY_WORDS = 32  # of a longer query the first different ones count

Word = tuple[tuple[str, ...], ...]  # alternatives; each is terms that a text must have, all of them


class SearchQuery(NamedTuple):
    """A parsed query.

    `words`: each by its alternatives; a text with all of them is preferred, one with any of them accepted. `phrases`:
    pieces that must stand in a row.
    """

    words: tuple[Word, ...]
    phrases: tuple[tuple[str, ...], ...]

    @property
    def required(self) -> tuple[Word, ...]:
        """The terms without which no phrase of the query can be in a text, as words that must all be there."""
        return tuple(((piece,),) for piece in dict.fromkeys(piece for phrase in self.phrases for piece in phrase))


def terms(text: str) -> set[str]:
    """Return the terms of a text: letters and digits, no NUL, no surrogates, lower case; and `_` inside of pairs."""
    found: set[str] = set()
    for token in set(_tokens(text)):
        if len(token) <= PIECE_CHARS:
            found.update(_known_terms(token))
        elif len(token) <= HUMPS_CHARS:
            found.update(_terms(token))
        else:
            pieces = _plain(token)
            for at in range(0, len(pieces), SLICE_CHARS):
                found.update(pieces[at : at + SLICE_CHARS])
                found.update(_chain(pieces[at : at + SLICE_CHARS + 1]))  # with the pair that two slices share
    return found


def has_phrase(text: str, phrase: tuple[str, ...]) -> bool:
    """Say whether the pieces of a phrase stand in a row somewhere in a text."""
    if text.isascii() and all(len(piece) < PIECE_CHARS for piece in phrase):  # most are: a tenth of the time
        lower = text.lower()
        if not re.search(_GAP_OR_HUMP.join(phrase), lower):
            return False
        if re.search(rf"(?<![a-z0-9]){_GAP.join(phrase)}(?![a-z0-9])", lower):
            return True
    tokens = list(_tokens(text))
    wanted = f" {' '.join(phrase)} "
    return any(wanted in f" {' '.join(piece for token in tokens for piece in cut(token))} " for cut in (_split, _plain))


def may_have_phrase(payload: str, phrase: tuple[str, ...]) -> bool:
    """Say without reading a payload as JSON whether any string in it can have a phrase; most are ruled out so."""
    if not payload.isascii() or "\\u" in payload or any(len(piece) == PIECE_CHARS for piece in phrase):
        return True
    return re.search(_RAW_GAP.join(phrase) + ")" * (len(phrase) - 1), payload.lower()) is not None


def read_query(text: str) -> SearchQuery:
    """Return a parsed query: its words, and its "quoted phrases", which must occur.

    Everything else in it is no syntax: other signs are passed over. An identifier or path is one word. A run of
    characters without spaces counts by its pairs. English words are found in other inflections, too.

    Raises:
        ValueError: there is no letter or digit in it to look for.
    """
    quoted = (next(filter(None, match.groups()), "") for match in _QUOTED.finditer(text))
    phrases = dict.fromkeys(filter(None, map(_phrase, quoted)))
    words = dict.fromkeys(word for token in _tokens(_QUOTED.sub(" ", text)) for word in _words(token))
    if not words and not phrases:
        raise ValueError(f"nothing to look for in {text!a:.80}: give a word, a number or a name")
    return SearchQuery(tuple(words)[:QUERY_WORDS], tuple(phrases))


def _tokens(text: str) -> Iterable[str]:
    if not text.isascii():
        text = "".join([normalize("NFKC", part) for part in _slices(text)])
    if len(text) < 256:
        return _TOKEN.findall(text)
    return [token for part in _slices(text[:TEXT_CHARS]) for token in _TOKEN.findall(_BLOB.sub(" ", part))]


def _slices(text: str) -> Iterator[str]:
    """Yield a text in parts that end with a space or a line, so that no token is in two of them."""
    start = 0
    while space := _SPACE.search(text, start + SLICE_CHARS):
        yield text[start : space.end()]
        start = space.end()
    yield text[start:]


def _phrase(text: str) -> tuple[str, ...]:
    return tuple(piece for token in _tokens(text) for piece in _split(token))[:QUERY_WORDS]


def _fold(piece: str) -> str:
    bare = _FOLDED_AWAY.sub("", normalize("NFKD", piece.casefold()))
    return normalize("NFC", bare).casefold()[:PIECE_CHARS]


def _plain(token: str) -> list[str]:
    """Return the pieces of a token, humps left in."""
    if token.isascii():
        return [piece.lower()[:PIECE_CHARS] for piece in _ASCII_PIECE.findall(token)]
    if len(token) <= SLICE_CHARS:
        return [folded for folded in map(_fold, _PIECE.findall(token)) if folded]
    return [folded for match in _PIECE.finditer(token) if (folded := _fold(match[0]))]


def _split(token: str) -> list[str]:
    """Return the pieces of a token, split at humps, too."""
    return _plain(_HUMP.sub("_", token)) if len(token) <= HUMPS_CHARS else _plain(token)


def _chain(pieces: list[str]) -> tuple[str, ...]:
    """Return the terms that stand for pieces in a row: the pairs, or the one piece."""
    return tuple(f"{first}_{second}" for first, second in pairwise(pieces)) or tuple(pieces)


def _terms(token: str) -> tuple[str, ...]:
    plain, split = _plain(token), _split(token)
    found = dict.fromkeys((*plain, *_chain(plain)))
    if split != plain:
        found.update(dict.fromkeys((*split, *_chain(split))))
    return tuple(found)


_known_terms = lru_cache(16_384)(_terms)


def _words(token: str) -> Iterator[Word]:
    """Yield the words of a query's token: runs of unspaced characters by their pairs, other runs as one."""
    for is_unspaced, run in groupby(_PIECE.findall(token), _is_unspaced):
        if is_unspaced:
            yield from (((term,),) for term in _chain(_plain("".join(run))))
        else:
            word = _alternatives("_".join(run))
            if any(word):
                yield word


def _is_unspaced(piece: str) -> bool:
    """Return whether a piece begins with a character of a script without spaces."""
    return any(first <= piece[0] <= last for first, last in _BLOCKS)


def _alternatives(token: str) -> Word:
    plain, split = _plain(token), _split(token)
    if split != plain:
        return _chain(split), _chain(plain)
    if len(plain) == 1:
        return tuple((form,) for form in _forms(plain[0]))
    return (_chain(plain),)


def _forms(word: str) -> tuple[str, ...]:
    """Return a word and, if it may be English, its possible inflections."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return (word,)
    stem = next((word[: -len(end)] for end in _ENDINGS if word.endswith(end) and not word.endswith("ss")), word)
    if len(stem) < 3:
        return (word,)
    return tuple(dict.fromkeys((word, stem, *(stem + end for end in _ENDINGS))))


def content_words(query: str) -> tuple[Word, ...]:
    """Return the words of a query without stop words; all of them if there are no others.

    Raises:
        ValueError: there is no letter or digit in the query.
    """
    words = read_query(query).words
    return tuple(word for word in words if not is_stop_word(word)) or words


def is_stop_word(word: Word) -> bool:
    """Say whether a word of a query is a stop word."""
    return len(word[0]) == 1 and word[0][0] in STOP_WORDS


# The searched text of a payload: everything that somebody said or a tool was given, without the structure.

# Categories of messages that no search finds: copies that `history` brought back, and tombstones.
UNSEARCHED = frozenset(("recalled", "forgotten"))
# Keys of the known forms whose values are structure.
_STRUCTURE = frozenset(
    (
        "role", "type", "id", "tool_call_id", "call_id", "tool_use_id", "signature", "thoughtSignature",
        "encrypted_content", "media_type", "mime_type", "model", "format", "detail", "status", "base64",
        # Of pydantic-ai and LangChain: what they write of a run, of an answer, and into each request.
        "kind", "part_kind", "run_id", "conversation_id", "provider_name", "provider_url", "provider_response_id",
        "model_name", "model_id", "instructions", "identifier", "response_metadata", "usage_metadata",
        # Of llm: what a provider wants back, and files.
        "provider_metadata", "attachment", "attachments",
    )
)  # fmt: skip
# A picture or a sealed thought where it is a text; what holds all of a message elsewhere.
_SEALED = "data"
_ARGUMENTS = frozenset(("arguments", "input", "args"))  # what a tool is given: all of it counts, keys and numbers too


def payload_terms(payload: str) -> set[str]:
    """Return the terms that a payload is found by."""
    return terms("\n".join(payload_texts(payload)))


def payload_texts(payload: str) -> list[str]:
    """Return the strings that a message's payload says, in order: texts, names, and all that tools are given.

    The forms that squidbot knows need no codec for it, and others lose nothing but their structure. A payload that is
    not JSON is returned as it is.
    """
    try:
        root: object = json.loads(payload)
    except (ValueError, RecursionError):
        return [payload]
    return list(_strings(root))


def _strings(root: object) -> Iterator[str]:
    """Yield the strings of a JSON value in order."""
    rest: list[tuple[object, bool]] = [(root, False)]
    while rest:
        value, given = rest.pop()
        value = _unpacked(value) if given else value
        if isinstance(value, dict):
            rest += reversed(list(_entries(value, given=given)))
        elif isinstance(value, list):
            rest += ((item, given) for item in reversed(value))
        elif isinstance(value, str):
            yield value
        elif given and type(value) in {int, float}:
            yield str(value)


def _entries(value: dict[str, object], *, given: bool) -> Iterator[tuple[object, bool]]:
    for key, each in value.items():
        if given:
            yield key, False
            yield each, True
        elif key not in _STRUCTURE and not (key == _SEALED and isinstance(each, str)):
            yield each, key in _ARGUMENTS


def _unpacked(value: object) -> object:
    """Return the value of a JSON text within arguments; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


# The order of search results, in bounded time, the same for every store.

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
        """The number of messages, found or not: they are numbered below it."""

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs under `below` of messages that have each of the words, newest first.

        A message has a word if it has all terms of one of its alternatives.
        """

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the given order."""

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the given order; an empty text for one that can't be read."""


class _WordHits(NamedTuple):
    """A word and its newest messages, at most `CANDIDATES`; the number of all, an estimate above that."""

    word: Word
    hits: list[int]
    messages: float

    @property
    def is_complete(self) -> bool:
        """Whether the hits are all there are."""
        return len(self.hits) < CANDIDATES

    def weight(self, messages: int) -> float:
        """Return the weight of the word: its inverse document frequency, squared as in a cosine."""
        return log(1 + messages / max(self.messages, 0.5)) ** 2


class _Candidates(NamedTuple):
    """The messages to rank; the weight of each word, and its messages; the words that find all other messages."""

    seqs: set[int]
    weights: list[tuple[float, set[int]]]
    rest: list[Word]


def best(query: SearchQuery, postings: Postings, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
    """Return the messages that answer a query, best first, ties newest first: at most `limit`, behind `after`."""
    if limit <= 0:
        return []
    candidates = _candidates(query, postings)
    ranked = (match for match in _ranked(candidates, postings) if after is None or _order(match) > _order(after))
    page = list(islice(_kept(query, postings, ranked), limit))
    if candidates.rest and len(page) < limit:
        others = _others(candidates.rest, postings, candidates.seqs, after)
        others = islice(others, PHRASE_TEXTS) if query.phrases else others
        page += islice(_kept(query, postings, others), limit - len(page))
    return page


def _candidates(query: SearchQuery, postings: Postings) -> _Candidates:
    messages, required = postings.messages, list(query.required)

    def newest(*words: Word) -> set[int]:
        return set(postings.newest(list(words), messages, CANDIDATES))

    known = [_probe(required, word, postings) for word in query.words]
    found = sorted((hits for hits in known if hits.hits), key=lambda hits: hits.messages)
    drivers = _drivers(found)
    base = required or _any_of(drivers)
    if not base:
        return _Candidates(set(), [], [])
    seqs = newest(*base)
    is_cut = len(seqs) == CANDIDATES
    counted = _counted(found, len(drivers), messages)
    # The messages that have every word that counts, however old the driving word's newest ones are.
    whole = newest(*required, *(hits.word for hits in counted)) if is_cut and len(counted) > 1 else set[int]()
    weights = [(hits.weight(messages), set[int]()) for hits in known if not hits.hits]
    for hits in counted:
        is_known = hits.is_complete or base == [hits.word]
        having = set(hits.hits) if is_known else newest(*base, hits.word)
        weights.append((hits.weight(messages), whole | having))
    weights.append((float(bool(required)), seqs | whole))
    has_rest = is_cut or (not required and drivers != found)
    return _Candidates(seqs | whole, weights, (required or _any_of(found)) if has_rest else [])


def _probe(required: Sequence[Word], word: Word, postings: Postings) -> _WordHits:
    hits = postings.newest([*required, word], postings.messages, CANDIDATES)
    if len(hits) < CANDIDATES:
        return _WordHits(word, hits, len(hits))
    return _WordHits(word, hits, CANDIDATES * postings.messages / (postings.messages - hits[-1]))


def _drivers(found: Sequence[_WordHits]) -> list[_WordHits]:
    """Return the rarest word, and the next ones as long as all their messages are candidates."""
    drivers: list[_WordHits] = []
    total = 0.0
    for hits in found:
        total += hits.messages
        if drivers and total > CANDIDATES:
            break
        drivers.append(hits)
    return drivers


def _counted(found: Sequence[_WordHits], drivers: int, messages: int) -> list[_WordHits]:
    """Return the words that count: the drivers, and the rarest others unless they are common."""
    most = max(messages * COMMON_FRACTION, found[0].messages * TIMES_RARER) if found else 0.0
    others = [hits for hits in found[drivers:] if hits.is_complete or hits.messages <= most]
    return [*found[:drivers], *others[:CHECKED_WORDS]]


def _any_of(known: Iterable[_WordHits]) -> list[Word]:
    """Return the one word that each of these is a form of; none for none."""
    alternatives = tuple(alternative for hits in known for alternative in hits.word)
    return [alternatives] if alternatives else []


def _ranked(candidates: _Candidates, postings: Postings) -> list[SearchMatch]:
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
        ranked.append(SearchMatch(seq, max(round(had[seq] / total * (1 - length_fraction / 2), 4), 0.0001)))
    return sorted(ranked, key=_order)


def _order(found: SearchMatch) -> tuple[float, int]:
    return -found.score, -found.seq


def _others(base: list[Word], postings: Postings, known: set[int], after: SearchMatch | None) -> Iterator[SearchMatch]:
    """Yield the messages that were not ranked, newest first."""
    below = after.seq if after is not None and after.score == 0 else postings.messages
    while True:
        seqs = postings.newest(base, below, CANDIDATES)
        yield from (SearchMatch(seq, 0.0) for seq in seqs if seq not in known)
        if len(seqs) < CANDIDATES:
            return
        below = seqs[-1]


def _kept(query: SearchQuery, postings: Postings, found: Iterable[SearchMatch]) -> Iterator[SearchMatch]:
    """Yield the matches that have the query's phrases; texts are read one portion after the other."""
    if not query.phrases:
        yield from found
        return
    rest = iter(found)
    while some := list(islice(rest, READ_TEXTS)):
        payloads = postings.payloads([match.seq for match in some])
        yield from (each for each, payload in zip(some, payloads, strict=True) if _has_all(payload, query.phrases))


def _has_all(payload: str, phrases: Sequence[tuple[str, ...]]) -> bool:
    if not all(may_have_phrase(payload, phrase) for phrase in phrases):
        return False
    texts = payload_texts(payload)
    return all(any(has_phrase(text, phrase) for text in texts) for phrase in phrases)
