"""Text as words to search by, and how a query is read. What is stored follows these rules: see `RULES`.

A *piece* is a run of letters and digits, folded: compatibility forms, case and accents don't count. Pieces end where
`parseHTTPHeader` or `cache_store.py` has a joint. Scripts without spaces between words (and Hangul, whose words take
endings) are cut into single characters. A *term* is a piece, or a pair `a_b` of pieces that nothing but a joint
parts: `src/cache_store.py` is src, cache, store, py, src_cache, cache_store, store_py. Whatever is asked for as one
word, whole or a part of it, is a piece or a row of pairs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["RULES", "Query", "Word", "has_phrase", "may_have_phrase", "read_query", "terms"]

# Raise it with every change of what `sayings.payload_terms` returns: an index made by other rules is made anew.
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
_TOKEN = re.compile(rf"{_LETTER}++(?:{_JOINT}{_LETTER}++)*+")
_ASCII_PIECE = re.compile("[A-Za-z0-9]+")
_PIECE = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))++")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]").match
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
_QUOTED = re.compile(
    '"([^"]*)"|\u201c([^\u201c\u201d]*)\u201d|\u201e([^\u201c-\u201e]*)[\u201c\u201d]|\u00ab([^\u00ab\u00bb]*)\u00bb'
)

PIECE_CHARS = 64  # of a longer piece the first ones count, in texts and in queries
HUMPS_CHARS = 200  # a longer token is not cut at humps: it is no name that somebody chose
SAID_CHARS = 1_000_000  # of a longer text the first ones are found: about 0.1 s of work
QUERY_WORDS = 32  # of a longer query the first different ones count

Word = tuple[tuple[str, ...], ...]  # alternatives; each is terms that a text must have, all of them


class Query(NamedTuple):
    """What is looked for.

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
        found.update(_known_terms(token) if len(token) <= PIECE_CHARS else _terms(token))
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


def read_query(text: str) -> Query:
    """Return what a query looks for: its words, and its "quoted phrases", which must occur.

    Everything else in it is no syntax: other signs are passed over. An identifier or path is one word. A run of
    characters without spaces counts by its pairs. English words are found in other inflections, too.

    Raises:
        ValueError: there is no letter or digit in it to look for.
    """
    phrases: list[tuple[str, ...]] = []
    for match in _QUOTED.finditer(text):
        phrase = _phrase(next(filter(None, match.groups()), ""))
        if phrase:
            phrases.append(phrase)
    words = dict.fromkeys(word for token in _tokens(_QUOTED.sub(" ", text)) for word in _words(token))
    if not words and not phrases:
        raise ValueError(f"nothing to look for in {text!a:.80}: give a word, a number or a name")
    return Query(tuple(words)[:QUERY_WORDS], tuple(dict.fromkeys(phrases)))


def _tokens(text: str) -> Iterable[str]:
    if not text.isascii():
        text = normalize("NFKC", text)
    if len(text) >= 256:
        text = _BLOB.sub(" ", text[:SAID_CHARS])
    return _TOKEN.findall(text)


def _phrase(text: str) -> tuple[str, ...]:
    return tuple(piece for token in _tokens(text) for piece in _split(token))[:QUERY_WORDS]


def _fold(piece: str) -> str:
    bare = _FOLDED_AWAY.sub("", normalize("NFKD", piece.casefold()))
    return normalize("NFC", bare).casefold()[:PIECE_CHARS]


def _plain(token: str) -> list[str]:
    """Return the pieces of a token, humps left in."""
    if token.isascii():
        return [piece.lower()[:PIECE_CHARS] for piece in _ASCII_PIECE.findall(token)]
    return [folded for folded in map(_fold, _PIECE.findall(token)) if folded]


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
    """Yield the words of a query's token: runs of unspaced characters by their pairs, what is between as one."""
    for is_unspaced, run in groupby(_PIECE.findall(token), lambda piece: bool(_IS_UNSPACED(piece))):
        if is_unspaced:
            yield from (((term,),) for term in _chain(_plain("".join(run))))
        else:
            word = _alternatives("_".join(run))
            if any(word):
                yield word


def _alternatives(token: str) -> Word:
    plain, split = _plain(token), _split(token)
    if split != plain:
        return _chain(split), _chain(plain)
    if len(plain) == 1:
        return tuple((form,) for form in _forms(plain[0]))
    return (_chain(plain),)


def _forms(word: str) -> tuple[str, ...]:
    """Return a word and, for one that may be English, what it may be inflected to."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return (word,)
    stem = next((word[: -len(end)] for end in _ENDINGS if word.endswith(end) and not word.endswith("ss")), word)
    if len(stem) < 3:
        return (word,)
    return tuple(dict.fromkeys((word, stem, *(stem + end for end in _ENDINGS))))
