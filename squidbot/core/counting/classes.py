"""The dependency-free class estimator: what a text costs by the kinds of characters and words in it.

A text is cut into runs (a word with the space before it, a number, a line break with its indentation, a few Han
characters). Each run has features, each feature two weights in thousandths of a token: one for the bound, one for the
estimate. Runs of one kind differ in what they really cost, so that a sum of averages is no bound yet: each kind has a
variance, the variances of different runs add up, and a run that comes n times counts n x n. The bound is

    sum of weights + SPREAD x square root of the variances + STRANGE x strange letters + 1,

and never more than the UTF-8 bytes. Strange letters are those of unknown words, less four for each known word: they
are left over only where a text is no English and no code, and there words cost more than elsewhere.

The weights were fitted by linear programming, as the cheapest of those that were under on no window, line or snippet of
the texts: recorded conversations, documentation, source code in eight languages, JSON, tool output, logs, 33 natural
languages, UUIDs, hashes, base64, numbers, emoji, and random and repeated characters and words, with 5 % to spare on
what people and programs write. The tokenizers were cl100k, o200k, Qwen, Tekken, DeepSeek and the last Claude
vocabulary that was published; on emoji, UUIDs, base64, Chinese, Japanese and Korean also Mistral's with 32,000 words.
On English and code a vocabulary of 50,000 words or fewer (Mistral 7B, Llama 2, GPT-3) may pass the bound, as it
takes 1.2 to 1.4 x what o200k takes: give such a model its own tokenizer. The bytes are counted before a tokenizer's
own normalisation; one that expands ligatures (NFKC) can pass them on such characters. The current Claude models'
tokenizer isn't published; reported usage is 1.25 to 1.27 x o200k on coding sessions, which the bound, 1.4 x o200k
there, leaves little room for: there too, usage calibrates (`bills`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.counting import class_tables as tables
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import Certificate

__all__ = ["ClassCounter", "utf8_bytes"]

# Texts are taken in pieces of this size, so that memory doesn't grow with them; each piece has its own spread.
PIECE_CHARS = 65_536
# Above this the bound is the bytes: it costs no time, and no window of today holds such a text anyway.
EXACT_CLASSES_CHARS = 1_048_576
# English and code have 3 to 4 bytes a token; the estimate of a text too long to look at.
LONG_TEXT_BYTES_PER_TOKEN = 3

_RUN = re.compile(
    r"""
    '(?:s|t|m|d|re|ve|ll)(?![a-z])                      # the end of a contraction
    | \\[a-z"\\/]                                       # an escape in JSON or code
    | \ ?[A-Z]?[a-z]{1,24} | \ ?[A-Z]{1,24}(?![a-z])    # a hump of a camelCase word; capitals
    | [0-9]{1,12}
    | \ ?[!-/:-@\[\]^_`{-~]{1,32} | \\
    | [\r\n]{1,8}(?:\ {1,64}(?=\ )|\t{1,16})?           # the last space of an indentation goes to the word
    | [\u4e00-\u9fff]{1,8} | [\u3041-\u30ff]{1,12} | \ ?[\uac00-\ud7a3]{1,8}
    | \ ?[\u00c0-\u024f][a-z\u00c0-\u024f]{0,23} | \ ?[\u0386-\u03ce]{1,16}
    | \ ?[\u0401\u0410-\u0451]{1,24} | \ ?[\u05d0-\u05ea]{1,16} | \ ?[\u0627-\u063a\u0641-\u064a]{1,16}
    | \ {1,64}(?=\ ) | \ {1,64} | \t{1,16}
    | [\U00010000-\U0010ffff]{1,8} | .
    """,
    re.VERBOSE | re.DOTALL,
)


class _RunCost(NamedTuple):
    """Thousandths of a token, and the letters by which unknown words outweigh known ones."""

    estimate: int
    bound: int
    variance: int
    strange: int


def utf8_bytes(text: str) -> int:
    """Return the length in UTF-8 bytes; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _word(body: str, lead: str) -> Iterator[tuple[str, int]]:
    size, lower = len(body), body.lower()
    form = "lower" if body[0] == lower[0] else "title" if body[-1] == lower[-1] else "upper"
    if size == 1:
        yield f"letter.{form}.{lead}", 1
    elif lower in tables.WORDS or (lead == "spaced" and lower in tables.SPACED_WORDS):
        yield f"known.{form}.{lead}", 1
        if form == "upper":
            yield "known.upper.long", max(0, size - 4)
    else:
        yield f"word.{form}.{lead}", 1
        yield f"word.{form}.letters", size
        yield f"word.{form}.odd", sum(pair not in tables.PAIRS for pair in map("".join, pairwise(lower)))
        yield f"word.{form}.long", max(0, size - 5)


def _digits(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    yield "digit", len(body)
    yield "digits3", -(-len(body) // 3)


def _punctuation(body: str, lead: str) -> Iterator[tuple[str, int]]:
    if len(body) == 1:
        yield f"mark.{lead}", 1
    elif (f" {body}" if lead == "spaced" else body) in tables.MARKS:
        yield "marks.known", 1
    else:
        changes = sum(first != second for first, second in pairwise(body))
        yield f"marks.{lead}", 1
        yield "marks.change", changes
        yield "marks.rule" if body[-1] in "-=*#_./~" else "marks.repeat", len(body) - 1 - changes


def _escape(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    yield f"escape.{body[1]}" if body[1:] in {"n", "t", '"'} else "escape" if body[1:] else "mark.bare", 1


def _contraction(body: str, lead: str) -> Iterator[tuple[str, int]]:
    return iter([("contraction", 1)]) if len(body) > 1 and body[1].isalpha() else _punctuation(body, lead)


def _newline(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    spaces, tabs, returns = body.count(" "), body.count("\t"), body.count("\r")
    yield "newline", 1
    yield "newline.more", len(body) - spaces - tabs - 1
    yield "newline.return", returns
    yield "space.long", spaces // 16
    yield "newline.tab", tabs


def _spaces(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    yield "space" if len(body) == 1 else "spaces", 1
    yield "space.long", len(body) // 16


def _tabs(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    yield "tab", 1
    yield "tab.more", len(body) - 1


def _listed(name: str, common: str, frequent: str) -> Callable[[str, str], Iterator[tuple[str, int]]]:
    first, second = frozenset(common), frozenset(frequent)

    def features(body: str, lead: str) -> Iterator[tuple[str, int]]:
        if lead == "spaced":
            yield f"{name}.spaced", 1
        for char in body:
            yield f"{name}.common" if char in first else f"{name}.frequent" if char in second else f"{name}.rare", 1

    return features


def _letters(name: str) -> Callable[[str, str], Iterator[tuple[str, int]]]:
    def features(body: str, lead: str) -> Iterator[tuple[str, int]]:
        plain = sum(char.isascii() for char in body)
        yield f"{name}.{lead}", 1
        yield name, len(body) - plain
        if plain:
            yield f"{name}.plain", plain

    return features


def _two_tokens(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    for char in body:
        yield "symbol.common" if char in tables.SYMBOLS else "symbol", 1


def _as_bytes(body: str, _lead: str) -> Iterator[tuple[str, int]]:
    yield "byte", utf8_bytes(body)


_BY_ASCII = {
    **dict.fromkeys(map(chr, range(33, 127)), _punctuation),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _word),
    **dict.fromkeys("0123456789", _digits),
    **dict.fromkeys("\r\n", _newline),
    " ": _spaces,
    "\t": _tabs,
    "\\": _escape,
    "'": _contraction,
}
_BY_RANGE = (
    (0x00C0, 0x024F, _letters("latin")),
    (0x0386, 0x03CE, _letters("greek")),
    (0x0401, 0x0451, _letters("cyrillic")),
    (0x05D0, 0x05EA, _letters("hebrew")),
    (0x0627, 0x063A, _letters("arabic")),
    (0x0641, 0x064A, _letters("arabic")),
    (0x3041, 0x30FF, _listed("kana", tables.KANA, "")),
    (0x4E00, 0x9FFF, _listed("han", tables.HAN, tables.HAN_FREQUENT)),
    (0xAC00, 0xD7A3, _listed("hangul", tables.HANGUL, tables.HANGUL_FREQUENT)),
    *((low, high, _two_tokens) for low, high in tables.TWO_TOKEN_RANGES),
)


def _kind(char: str) -> Callable[[str, str], Iterator[tuple[str, int]]]:
    if char.isascii():
        return _BY_ASCII.get(char, _as_bytes)
    if char in tables.SYMBOLS:
        return _two_tokens
    return next((kind for low, high, kind in _BY_RANGE if low <= ord(char) <= high), _as_bytes)


def features(run: str) -> Iterator[tuple[str, int]]:
    """Yield the features of one run and how many of each it has; their weights are in `class_tables`."""
    spaced = run[0] == " " and run.strip(" ") != ""
    body = run[1:] if spaced else run
    return _kind(body[0])(body, "spaced" if spaced else "bare")


@lru_cache(maxsize=8192)
def _cost(run: str) -> _RunCost:
    estimate = bound = variance = strange = 0
    for name, amount in features(run):
        weight = tables.WEIGHTS[name]
        estimate += weight.estimate * amount
        bound += weight.bound * amount
        variance += weight.variance * amount
        strange += weight.strange * amount
    return _RunCost(estimate, bound, variance, strange)


def _measure_piece(text: str) -> Cost:
    estimate = bound = variance = strange = 0
    for run, times in Counter(_RUN.findall(text)).items():
        cost = _cost(run)
        estimate += cost.estimate * times
        bound += cost.bound * times
        variance += cost.variance * times * times
        strange += cost.strange * times
    bound += tables.SPREAD * math.isqrt(variance * 1000) // 1000 + tables.STRANGE * max(0, strange)
    return Cost((estimate + 500) // 1000, -(-bound // 1000) + 1)


@dataclass(frozen=True, slots=True)
class ClassCounter:
    """Counts tokens by classes of characters: one pass, no tokenizer, no dependency. The default counter."""

    @property
    def name(self) -> str:
        """The name that configuration and stored counts use."""
        return "classes"

    @property
    def certificate(self) -> Certificate:
        """The bound was measured never under; only its cap, the UTF-8 bytes, is proved."""
        return "measured"

    def measure(self, text: str) -> Cost:
        """Return estimate and bound of a text, in tokens, from one pass in pieces of `PIECE_CHARS`."""
        cap_bytes = utf8_bytes(text)
        if len(text) > EXACT_CLASSES_CHARS:
            return Cost(cap_bytes // LONG_TEXT_BYTES_PER_TOKEN, cap_bytes)
        estimate = bound = 0
        for start in range(0, len(text), PIECE_CHARS):
            piece = _measure_piece(text[start : start + PIECE_CHARS])
            estimate += piece.estimate
            bound += piece.bound
        bound = min(bound, cap_bytes)
        return Cost(min(estimate, bound), bound)

    def count(self, text: str) -> int:
        """Return the best estimate in tokens: what the larger vocabularies take, the median of them."""
        return self.measure(text).estimate

    def upper_bound(self, text: str) -> int:
        """Return a number of tokens that no measured tokenizer passed; at most the UTF-8 bytes."""
        return self.measure(text).bound
