"""Finding what has to be repeated letter by letter: paths, file names, identifiers, hashes, ids, numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_literals", "is_path", "literals_of"]

# The shortest literal worth a note; shorter words are written anew without looking.
_LEAST_CHARS = 5
# A longer run is data (base64, minified code), not a name that somebody types again.
_MOST_CHARS = 400

_RUN = re.compile(r"[\w@~./\-]+")
# A name with a short suffix (main.ts, example.com, os.path), or a plain word.
_PIECE = re.compile(r"[\w-]+\.[a-z]{2,4}(?!\w)|\w+(?:-\w+)*")
_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]\w")
_SNAKE = re.compile(r"[^\W_]_\w")
_HEX = re.compile(r"[0-9a-f]{7,40}\Z")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")


def literals_of(text: str) -> set[str]:
    """Return every literal that stands in `text`, each in exactly the form written there."""
    return {found for _, found in find_literals(text)}


def find_literals(text: str) -> Iterator[tuple[int, str]]:
    """Yield (position in characters, literal) in order of position. Linear in the length of `text`."""
    for run in _RUN.finditer(text):
        if run.end() - run.start() > _MOST_CHARS:
            continue
        if "/" in run.group():
            yield from _paths(run.group(), run.start())
        else:
            yield from _words(run.group(), run.start())


def is_path(literal: str) -> bool:
    """Tell whether a literal names a place in a tree: it has a slash between or before its parts."""
    return "/" in literal


def _paths(run: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the paths of one run of path characters; a doubled slash begins a new one, as in a URL."""
    at = 0
    for part in run.split("//"):
        begin = at - 1 if at else 0
        path = run[begin : at + len(part)].rstrip("/.-")
        if "/" not in path:
            yield from _words(path, start + begin)
        elif len(path) >= _LEAST_CHARS:
            yield start + begin, path
        at += len(part) + 2


def _words(run: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the literals of one run without a slash."""
    if "@" in run[1:-1] and "." in run:
        yield start, run.rstrip(".-")
        return
    for piece in _PIECE.finditer(run):
        text = piece.group()
        dotted = "." in text
        head = text.partition(".")[0] if dotted else text
        named = False
        for word in _WORD.finditer(head):
            if _is_name(word.group()):
                named = True
                yield start + piece.start() + word.start(), word.group()
        if not named and len(text) >= _LEAST_CHARS and (dotted or _is_dashed_id(text)):
            yield start + piece.start(), text


def _is_name(word: str) -> bool:
    """Tell an identifier, id, hash or number from a word of a language."""
    if word.isdigit():
        return len(word) >= 4
    if len(word) < _LEAST_CHARS:
        return False
    if _SNAKE.search(word) or _CAMEL.search(word) or _HEX.match(word):
        return True
    return bool(_DIGIT.search(word) and _LETTER.search(word))


def _is_dashed_id(text: str) -> bool:
    """Tell whether words joined by dashes are an id: a date, a version, a model's name."""
    return "-" in text and bool(_DIGIT.search(text))
