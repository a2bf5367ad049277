"""The dependency-free class estimator: what a text costs by the kinds of characters and words in it.

A text is cut into runs where every published tokenizer cuts it, or may: a word with the space before it, a hump of a
camelCase name, a number, punctuation, a line break with its indentation, letters of one script. The bound of a text is
the sum of its runs' bounds, and 1: a cheap word never pays for a dear one. A run's bound is

- for a word of `class_words`, the most that any measured vocabulary takes for it;
- for other letters and marks, the largest number of tokens in which neighbours are no token together. Merging goes on
  while two neighbours are one, so that a vocabulary that has all tokens of our tables can't take more;
- for digits and characters beyond alphabets, what each takes on its own.

No bound is more than the UTF-8 bytes, but for characters that a tokenizer's own normalisation (NFKC) makes longer.

The vocabularies are o200k, cl100k, Qwen, Qwen 3.6, Llama 3, Llama 4, Tekken, DeepSeek and the last Claude vocabulary
that was published, and Gemma 3 for characters; benchmarks/tokens.py measures against them, on ordinary texts and on
such as were made to be dear (benchmarks/families.py); benchmarks/class_words.py writes the words. On the median the
bound is 1.20 x what o200k counts on chat and prose, 1.22 on documentation, 1.30 on JSON, 1.31 on code, 1.32 on output
of tools. No bound that is a sum over runs goes below 1.26 on code and 1.27 on such output: of two runs, one may be
dearest to Qwen, which takes a token for each digit, and the other to Claude, which never takes a line break together
with what is before it.

A vocabulary of 50,000 words or fewer (Mistral 7B, Llama 2, GPT-3) may pass the bound, on English and code, too, as it
takes 1.2 to 1.4 x what o200k takes: give such a model its own tokenizer. The current Claude models' tokenizer isn't
published; reported usage is 1.25 to 1.27 x o200k on coding sessions, which leaves little room: there too, usage
calibrates (`bills`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.counting import class_tables as tables
from squidbot.core.counting.class_words import COSTS, SEAMS
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import Certificate

__all__ = ["ESCAPES", "ClassCounter", "utf8_bytes"]

# Texts are taken in pieces of this size, so that memory doesn't grow with them.
PIECE_CHARS = 65_536
# Above this the bound is the bytes: it costs no time, and no window of today holds such a text anyway.
EXACT_CLASSES_CHARS = 1_048_576
# English and code have 3 to 4 bytes a token; the estimate of a text too long to look at.
LONG_TEXT_BYTES_PER_TOKEN = 3
# Longer runs are cut; a cut can part what is one token, which costs one more.
RUN_CHARS = 32
# Two tokens of three characters each: the longest parts of a word that are looked for.
PART_CHARS = 7
# Below every number of tokens.
NEVER = -(1 << 20)

_RUN = re.compile(
    r"""
    '(?:s|t|m|d|re|ve|ll)(?![a-z])                          # the end of a contraction
    # 's of 'string' is one to some
    | '(?=[stmdSTMD]|[rR][eE]|[vV][eE]|[lL][lL])(?:[A-Z]{0,32}[a-z]{1,32}+|[A-Z]{1,32})(?![\u00aa-\u036f\u1d00-\u1fff])
    | \\[a-z]{1,32}+                                        # an escape in JSON or code, and the word behind it
    | \ ?(?:[A-Z]{0,32}[a-z]{1,32}+|[A-Z]{1,32})(?![\u00aa-\u036f\u1d00-\u1fff])  # a hump of a name; capitals
    | [0-9]{1,12}
    | (?<=[\r\n])/{1,128}                                   # some give it to the marks before the line break
    | \ ?(?:[!-/:-@\[\]^_`{-~]|\\(?![a-z])){1,128}
    | \u2500{1,128}
    | [\r\n]{1,8}(?:\ {1,64}(?=\ )|\t{1,16})?               # the last space of an indentation goes to the word
    | \ ?[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u036f\u1d00-\u1fff]{1,32}
    | \ ?[\u0370-\u1cff]{1,32}
    | \ ?[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{1,12}
    | \ {1,64}(?=\ ) | \ {1,64} | \t{1,16}
    | .
    """,
    re.VERBOSE | re.DOTALL,
)

# One mark many times over: the vocabularies have tokens of 8 and more.
_RULE = re.compile(r"-{12,}|={12,}|\*{12,}|#{12,}|/{12,}|_{12,}|\.{12,}")

# Some have a token of such a letter and a capital's first byte: no other one then ends in the letter.
_CYRILLIC_HUMP = re.compile("[\u0430\u0435\u043e\u0442][\u0410-\u042f]")
# The letters of escapes that languages have. Another one stands in a path, and is a token dearer than its words say.
ESCAPES = frozenset("ntrbfu")

# Thousandths of a run's bound that the larger vocabularies take, the median of them; least squares over recorded
# conversations, documentation, source code, JSON and chat.
_SHARES = {"known": 1000, "likely": 500, "unknown": 550, "digits": 550, "marks": 770, "newline": 700, "other": 600}


# The forms of a word, in the order of its digits.
_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    " {}".format,
    str.title,
    lambda word: f" {word.title()}",
    str.upper,
    lambda word: f" {word.upper()}",
)
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ "


class _RunCost(NamedTuple):
    """What a run costs: thousandths of a token as an estimate, tokens as a bound."""

    estimate: int
    bound: int


def utf8_bytes(text: str) -> int:
    """Return the length in UTF-8 bytes; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@cache
def _groups() -> dict[str, list[str]]:
    """Return the words of the table by their digits."""
    groups: dict[str, list[str]] = {}
    group: list[str] = []
    for item in COSTS.split():
        if item[0] < "a":
            group = groups.setdefault(item, [])
        else:
            group.append(item)
    return groups


@cache
def _words() -> dict[str, str]:
    """Return the digits of each word in the table, by its small letters."""
    return {word: digits for digits, words in _groups().items() for word in words}


@cache
def _seams() -> Counter[str]:
    return Counter(SEAMS.split())


@cache
def _parts() -> frozenset[str]:
    """Return what is one token in each vocabulary and can be a part of a run: groups of letters, of marks."""
    found = set(tables.MARKS | tables.LETTERS)
    for digits, words in _groups().items():
        short = [word for word in words if len(word) < PART_CHARS]
        for form, tokens in zip(_FORMS, digits, strict=True):
            if tokens == "1":
                found.update(map(form, short))
    return frozenset(found)


def _known_tokens(run: str) -> int:
    """Return what the table says of a word, with or without a space before it; 0 where it says nothing."""
    spaced = run[0] == " "
    word = run[1:] if spaced else run
    digits = _words().get(word.lower())
    if digits is None:
        return 0
    form = 0 if word.islower() else 4 if word.isupper() else 2 if word[1:].islower() else None
    return 0 if form is None else int(digits[form + spaced])


@cache
def _two_token_blocks() -> frozenset[int]:
    # By 16 characters: spans that begin or end within such a block are looked through.
    return frozenset(block for first, last in tables.TWO_TOKEN_SPANS for block in range(first >> 4, (last >> 4) + 1))


@lru_cache(maxsize=4096)
def _char_tokens(char: str) -> int:
    """Return the tokens of one character at most."""
    if char.isascii() or char in tables.CHARACTERS:
        return 1
    code, size = ord(char), utf8_bytes(char)
    # What one character stands for may be longer than itself: a half is 1, a fraction slash and 2.
    normalised = utf8_bytes(unicodedata.normalize("NFKC", char))
    if normalised > size:
        return normalised
    if char in tables.TWO_TOKENS:
        return 2
    if (code >> 4) in _two_token_blocks() and any(first <= code <= last for first, last in tables.TWO_TOKEN_SPANS):
        return 2
    return size


def _most_tokens(run: str) -> int:
    """Return the largest number of tokens in which no two neighbours are one in the tables.

    Tokens of more than three characters are not told from each other: one of them may stand beside anything.
    """
    parts = _parts()
    # For the place reached (a), the one before it (b) and the one before that (c): the most tokens up to there whose
    # last one has one, two, three, or more characters. What is no more than what is found already is not looked up.
    a1 = a2 = a3 = b1 = b2 = b3 = b4 = c1 = c2 = c3 = c4 = NEVER
    a4 = 0
    best = [NEVER, NEVER, NEVER, 0]
    alone = [1] * len(run) if run.isascii() else map(_char_tokens, run)
    for end, tokens in enumerate(alone, start=1):
        one = a1 if a1 > a4 and run[end - 2 : end] not in parts else a4
        one = a2 if a2 > one and run[end - 3 : end] not in parts else one
        one = a3 if a3 > one and run[end - 4 : end] not in parts else one
        two = b1 if b1 > b4 and run[end - 3 : end] not in parts else b4
        two = b2 if b2 > two and run[end - 4 : end] not in parts else two
        two = b3 if b3 > two and run[end - 5 : end] not in parts else two
        three = c1 if c1 > c4 and run[end - 4 : end] not in parts else c4
        three = c2 if c2 > three and run[end - 5 : end] not in parts else three
        three = c3 if c3 > three and run[end - 6 : end] not in parts else three
        c1, c2, c3, c4 = b1, b2, b3, b4
        b1, b2, b3, b4 = a1, a2, a3, a4
        a1, a2, a3, a4 = one + tokens, two + 1, three + 1, best[-4] + 1
        best.append(max(a1, a2, a3, a4))
    return best[-1] + (len(run) >= RUN_CHARS)


def _alike_tokens(char: str, amount: int) -> int:
    """Return the tokens of a run of one character: neighbours that are one token together would be that."""
    most = tables.SPACES[char]
    if amount <= most:
        return 1
    pairs, rest = divmod(amount, most + 1)
    return 2 * pairs + bool(rest)


def _space_tokens(run: str) -> int:
    breaks = run.rstrip(" \t")
    indentation = len(run) - len(breaks)
    # A line break of two characters is two tokens to some.
    tokens = len(breaks) if "\r" in breaks else _alike_tokens("\n", len(breaks)) if breaks else 0
    if not indentation:
        # Two and more are two tokens where a letter follows, by the pattern of some.
        return min(len(breaks), tokens + 1)
    if run[-1] == " ":
        return tokens + _alike_tokens(" ", indentation)
    # The last tab may go to the word behind it, or stand alone.
    return tokens + (_alike_tokens("\t", indentation - 1) + 1 if indentation > 1 else 1)


def _word_cost(run: str) -> tuple[str, int]:
    capitals = len(run) - len(run.lstrip(_CAPITALS))
    if capitals > 1 + (run[0] == " ") and capitals < len(run):
        # Capitals before a hump: not all part them. A token with letters of both leaves less of each: up to 3 more.
        (_, before), (kind, behind) = _word_cost(run[: capitals - 1]), _word_cost(run[capitals - 1 :])
        return kind, min(before + behind + 3, _most_tokens(run))
    known = _known_tokens(run)
    return ("known" if known == 1 else "likely", known) if known else ("unknown", _most_tokens(run))


def _seam_cost(run: str) -> tuple[str, int]:
    # The letter of an escape is a word's first to some, and 's of 'string' the end of a contraction.
    escaped = run[0] == "\\"
    word = run[1 + escaped :]
    if not word:
        return "marks", 2
    kind, tokens = _word_cost(word)
    rare = escaped and run[1] not in ESCAPES
    return kind, 1 + escaped + tokens + rare + (1 if kind == "unknown" else _seams()[f"{run[0]}{word}"])


def _mark_cost(run: str) -> tuple[str, int]:
    if run in tables.ENDINGS or run in tables.MARKS:
        return "marks", 1
    if run[-1].isalpha():
        return _seam_cost(run)
    rule = _RULE.search(run)
    if rule is None:
        return "marks", sum(_most_tokens(run[at : at + RUN_CHARS]) for at in range(0, len(run), RUN_CHARS))
    around = (run[: rule.start()].strip(), run[rule.end() :])
    return "marks", 3 + (rule.end() - rule.start()) // 8 + sum(_mark_cost(part)[1] for part in around if part)


def _other_cost(run: str) -> tuple[str, int]:
    spaced = len(run) > 1 and run[0] == " "
    if run[0] == "\u2500":
        return "other", 1 if len(run) == 1 else 2 + len(run) // 4
    if (run[1] if spaced else run[0]) < "\u2000":
        return "other", 1 if run in tables.LETTERS else _most_tokens(run) + len(_CYRILLIC_HUMP.findall(run))
    return "other", sum(map(_char_tokens, run)) + (spaced and run[1] in tables.SPLIT_BY_SPACE)


def _kind(run: str) -> tuple[str, int]:
    """Return the kind of a run, and its bound in tokens."""
    char = run[1] if run[0] == " " and len(run) > 1 else run[0]
    if not run.isascii():
        return _other_cost(run)
    if char.isalpha():
        return _word_cost(run)
    if char.isdigit():
        return "digits", len(run)
    if char in "\r\n\t ":
        return "newline", _space_tokens(run)
    return _mark_cost(run) if char.isprintable() else ("other", 1)


@lru_cache(maxsize=16_384)
def _cost(run: str) -> _RunCost:
    kind, bound = _kind(run)
    return _RunCost(_SHARES[kind] * bound, bound)


def _measure_piece(text: str) -> tuple[int, int]:
    estimate = bound = 0
    for run, times in Counter(_RUN.findall(text)).items():
        cost = _cost(run)
        estimate += cost.estimate * times
        bound += cost.bound * times
    return estimate, bound


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
            thousandths, tokens = _measure_piece(text[start : start + PIECE_CHARS])
            estimate += thousandths
            bound += tokens + 1
        # Characters that are made longer before they are counted may cost more than their bytes.
        if bound > cap_bytes:
            bound = max(cap_bytes, bound - 1)
        return Cost(min((estimate + 500) // 1000, bound), bound)

    def count(self, text: str) -> int:
        """Return the best estimate in tokens: what the larger vocabularies take, the median of them."""
        return self.measure(text).estimate

    def upper_bound(self, text: str) -> int:
        """Return a number of tokens that no measured tokenizer passed; at most the UTF-8 bytes of its NFKC form."""
        return self.measure(text).bound
