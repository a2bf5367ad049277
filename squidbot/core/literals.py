"""Literals, which have to be repeated letter by letter: paths, file names, identifiers, hashes, ids, numbers.

Where they stand in a text, and how likely each is to be written again.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.text import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

# The shortest literal worth a note; shorter words are written anew without looking.
_LEAST_CHARS = 5
# A longer run is data (base64, minified code), not a name that somebody types again.
_MOST_CHARS = 400
# A longer line is no line of code: its shape does not show what it defines or imports.
_LITERAL_CHARS = 600

# Shorter ones hold no literal.
_RUN = re.compile(r"[\w@~./\-]{3,}")
# Only a run with one of these can hold a literal; it spares most words the closer look.
_LITERAL_SIGNS = re.compile(r"[\d_./@]|[a-z][A-Z]|\A[a-f]{7,}\Z")
# A name with a short suffix (main.ts, example.com, os.path), or words joined by dashes.
_PIECE = re.compile(r"[\w-]+(\.(?:[a-z]{2,4}|[chr]|swift|ipynb|proto)(?!\w))?")
_DASHED = re.compile(r"\w++(?:-\w++|(?!))*+")
_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]\w")
_SNAKE = re.compile(r"[^\W_]_\w")
_HEX = re.compile(r"[0-9a-f]{7,40}\Z")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_MEASURE = re.compile(r"\d+(?:[a-z]{1,3}|%)\Z")

# What ends the name of a file; after any other dot, an identifier in front is named alone.
_FILE_SUFFIX = re.compile(
    r"(?:cc?|cfg|conf|cpp|css?|csv|go|h|hpp|html?|ini|ipynb|java|jpg|jsx?|json|kt|lock|log|lua|md|mjs|pdf|php|pl|png|proto|"
    r"ps|pyi?|rb?|rst?|scss|sh|sql|svg|swift|tex|toml|tsx?|tsv|txt|vue|xml|ya?ml|zip)\Z"
)

_IMPORT = re.compile(
    r"\s*+(?:import|from|require|include|using|use|@import|#\s*include|export\b[^=(]{0,200}\bfrom|.{0,200}\brequire\()"
    r"(?!\w)|.{0,300}\bfrom ['\"]"
)
_DEFINED_BY = re.compile(
    r"\b(?:function|class|interface|type|def|fn|func|struct|enum|trait|record|module|namespace|macro|table|view|sub|proc"
    r"|procedure|object)\s+[*`\"'(]?\Z",
    re.IGNORECASE,
)
# What may stand right before a defined name, beside white space: this look spares most names the pattern.
_BEFORE_DEFINED = frozenset("*`\"'(")
_METHOD_BEFORE = re.compile(
    r"\s*(?!(?:if|for|while|switch|return|catch|await|else|new|with|do)\b)(?:[\w<>\[\]*&:]+\s+){0,5}\Z"
)


class LiteralPlace(StrEnum):
    """Where in its line a literal stands."""

    DEFINED = "defines"
    IMPORTED = "imports"
    USED = "uses"


def literals_of(text: str) -> set[str]:
    """Return every literal that stands in `text`, each in exactly the form written there."""
    return {found for _, found in find_literals(text)}


def find_literals(text: str) -> Iterator[tuple[int, str]]:
    """Yield (position in characters, literal) in order of position. Linear in the length of `text`."""
    for run in _RUN.finditer(text):
        word = run.group()
        if len(word) <= _MOST_CHARS:
            for at, found in _in_run(word):
                yield run.start() + at, found


@lru_cache(maxsize=8192)  # what is talked about is named again and again, most words are none
def _in_run(run: str) -> tuple[tuple[int, str], ...]:
    """Return (position, literal) of each in one run, in order."""
    if not _LITERAL_SIGNS.search(run):
        return ()
    return tuple(_paths(run) if "/" in run else _words(run, 0))


def placed_literals(text: str) -> dict[str, LiteralPlace]:
    """Return each literal of a text with the strongest place it has there: defined, imported, else used."""
    places: dict[str, LiteralPlace] = {}
    for line in text.split("\n"):
        for name, place in _placed_in(line):
            if name not in places or (place is not LiteralPlace.USED and places[name] is not LiteralPlace.DEFINED):
                places[name] = place
    return places


def _placed_in(line: str) -> Iterator[tuple[str, LiteralPlace]]:
    """Yield each literal of one line with its place there."""
    if len(line) > _LITERAL_CHARS:
        yield from ((name, LiteralPlace.USED) for _, name in find_literals(line))
        return
    found = list(find_literals(line))
    if not found:
        return
    otherwise = LiteralPlace.IMPORTED if _IMPORT.match(line) else LiteralPlace.USED
    opens = line.rstrip().endswith("{")
    for at, name in found:
        bare = _without_escape(line, at, name)
        if bare:
            yield bare, LiteralPlace.DEFINED if _is_defined(line, at, name, opens=opens) else otherwise


def _without_escape(line: str, at: int, name: str) -> str:
    r"""Return a name without the letter of an escape in front of it (`\nFoo` in a quoted text); "" if none is left."""
    if line[at - 1 : at] != "\\" or name[0] not in "nrt":
        return name
    return name[1:] if _is_name(name[1:]) else ""


def is_path(literal: str) -> bool:
    """Tell whether a literal names a place in a tree: it has a slash between or before its parts."""
    return "/" in literal


def _is_defined(line: str, at: int, name: str, *, opens: bool) -> bool:
    """Tell whether a line of code defines the name at a position: by a keyword, or as a function with a body."""
    before = line[at - 1 : at]
    if (before.isspace() or before in _BEFORE_DEFINED) and _DEFINED_BY.search(line, max(0, at - 24), at):
        return True
    return opens and line.startswith("(", at + len(name)) and bool(_METHOD_BEFORE.match(line[:at]))


def _paths(run: str) -> Iterator[tuple[int, str]]:
    """Yield the paths of one run of path characters; a doubled slash begins a new one, as in a URL."""
    at = 0
    for part in run.split("//"):
        begin = at - 1 if at else 0
        path = run[begin : at + len(part)].rstrip("/.-")
        if "/" not in path:
            yield from _words(path, begin)
        elif len(path) >= _LEAST_CHARS:
            yield begin, path
        at += len(part) + 2


def _words(run: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the literals of one run without a slash."""
    if "@" in run[1:-1] and "." in run:
        yield start, run.rstrip(".-")
        return
    for piece in _PIECE.finditer(run):
        for name in [piece] if piece[1] else _DASHED.finditer(run, piece.start(), piece.end()):
            yield from ((start + at, found) for at, found in _names(name.group(), name.start()))


def _names(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the names in words joined by dashes, with or without a suffix; all of it where it is one name."""
    stem, _, suffix = text.partition(".")
    names = [(start + word.start(), word.group()) for word in _WORD.finditer(stem) if _is_name(word.group())]
    if names and not _is_whole(stem, suffix):
        yield from names
    elif len(text) >= _LEAST_CHARS and (suffix or _is_dashed_id(stem)):
        yield start, text


def _is_whole(stem: str, suffix: str) -> bool:
    """Tell whether names joined by dashes or with a suffix are one: an id, or the name of a file."""
    return _is_dashed_id(stem) or bool(_FILE_SUFFIX.match(suffix))


def _is_name(word: str) -> bool:
    """Tell an identifier, id, hash or number from a word of a language."""
    if len(word) < _LEAST_CHARS:
        return False
    if word.isdigit() or _SNAKE.search(word) or _CAMEL.search(word) or _HEX.match(word):
        return True
    return bool(_DIGIT.search(word) and _LETTER.search(word)) and not _MEASURE.match(word)


def _is_dashed_id(text: str) -> bool:
    """Tell whether words joined by dashes are an id: a date, a version, a model's name."""
    return "-" in text and bool(_DIGIT.search(text))


@lru_cache(maxsize=16_384)
def names_in(text: str) -> tuple[str, ...]:
    """Return the literals of a short text, each once; every event needs the same few thousand again.

    They come in the order of the text: worths are added up and counts are stored in it, the same in every process.
    """
    return tuple(dict.fromkeys(name for _, name in find_literals(text)))


# What a name is worth, and what it costs.

# How often a name that was only shown, not written, is written once it was out of sight for 8,000 tokens, by where it
# stood. In a file that was read: defined .09, used .06 times on 29 sessions of six agents, .77 and .58 on one of
# another agent, which edits what it reads, and .9 where it was imported there; these lie between. In other output .03.
DEFINED_WORTH, IMPORTED_WORTH, IN_USE_WORTH, OUTPUT_WORTH = 0.3, 0.25, 0.15, 0.05
PLACE_WORTH = {
    LiteralPlace.DEFINED: DEFINED_WORTH,
    LiteralPlace.IMPORTED: IMPORTED_WORTH,
    LiteralPlace.USED: IN_USE_WORTH,
}
# How often a name comes back beside an identifier such as `roundCents`, by its form: a path from the root, a name with
# a dot or with words joined by underscores; a hash, a number or a constant. From the same sessions.
_PLACED_FORM, _DATA_FORM = 1.6, 0.5


@lru_cache(maxsize=8192)
def form_worth(name: str) -> float:
    """Return how often a name of this form comes back, beside an identifier."""
    if is_path(name):
        return _PLACED_FORM if name[0] in "/~" else 1.0
    if name.isupper() or name.isdigit() or _HEX.match(name):
        return _DATA_FORM
    return _PLACED_FORM if "." in name or "_" in name else 1.0


@lru_cache(maxsize=16_384)
def about_tokens(text: str) -> float:
    """Return roughly the cost of words in tokens, with the separator behind them.

    Fitted by least squares to what o200k makes of values and sentences in notes; off by 1.3 on average, and of a name,
    less the mark that parts it from no other, by 0.7.
    """
    letters = sum(map(str.isalpha, text)) + text.count(" ")
    return 1.5 + 0.16 * letters + 0.8 * (len(text) - letters)


@lru_cache(maxsize=32)  # what is cut on arrival is cut shorter in each compaction
def ranked_literals(text: str) -> tuple[str, ...]:
    """Return the literals of a text, each once, the most likely to be written again for the tokens it costs first.

    A text that is too long to read whole is read at both ends (`bounded`).
    """
    worths = {
        name: PLACE_WORTH[place] * form_worth(name) / about_tokens(name)
        for name, place in placed_literals(bounded(text)).items()
    }
    return tuple(sorted(worths, key=lambda name: -worths[name]))
