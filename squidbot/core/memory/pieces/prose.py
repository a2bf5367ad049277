"""Markdown, plain text and YAML in pieces: what stands under one heading together, code whole, headings kept."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from squidbot.core.memory.pieces import blocks
from squidbot.core.memory.pieces.sizes import MOST_CODE_WORDS, MOST_WORDS, Piece, count_words, cut, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["prose"]

_DAY: Final = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_BARE_ROW: Final = re.compile(r"[|:\-\s]*")
_FORMS: Final[Mapping[str, Callable[[str], list[blocks.Block]]]] = {
    "md": blocks.markdown,
    "markdown": blocks.markdown,
    "mdx": blocks.markdown,
    "rst": blocks.markdown,
    "txt": blocks.markdown,
    "yaml": blocks.yaml,
    "yml": blocks.yaml,
}


def prose(text: str, name: str) -> list[Piece]:
    """Return the pieces of a text; `name` is that of its file, which says its form, and what stands above it all.

    A day in the name or in a heading is when it was said.
    """
    stem, _, suffix = name.rpartition(".")
    read = _FORMS.get(suffix.lower(), blocks.paragraphs) if stem else blocks.markdown
    title = stem or name
    found = read(text.replace("\r\n", "\n").replace("\r", "\n"))
    return [
        Piece(said, headings or (title,), time=_time((title, *headings)))
        for headings, same in groupby(found, key=lambda block: block.headings)
        for run in _runs(same)
        for said in packed(_cuts(run), "\n")
        if any(map(str.isalnum, said))
    ]


def _runs(found: Iterable[blocks.Block]) -> Iterator[list[blocks.Block]]:
    """Yield blocks that may be one piece: code ends it, as what comes behind speaks of something else."""
    run: list[blocks.Block] = []
    for block in found:
        run.append(block)
        if block.kind in {"code", "table"}:
            yield run
            run = []
    yield run


def _cuts(found: Sequence[blocks.Block]) -> Iterator[str]:
    for block in found:
        if block.kind == "table" and count_words(block.text) > MOST_WORDS:
            yield from _rows(block.text.split("\n"))
        else:
            yield from cut(block.text, MOST_CODE_WORDS if block.kind == "code" else MOST_WORDS)


def _rows(lines: Sequence[str]) -> Iterator[str]:
    """Yield a table in parts, each with the head of it."""
    head, rows = lines[:1], [line for line in lines[1:] if not _BARE_ROW.fullmatch(line)]
    for part in packed((part for row in rows for part in cut(row)), "\n"):
        yield "\n".join((*head, part))


def _time(names: Sequence[str]) -> float | None:
    """Return the innermost day that is named, at noon, in seconds since 1970; None for none."""
    for name in reversed(names):
        for year, month, day in _DAY.findall(name):
            try:
                return datetime(int(year), int(month), int(day), 12, tzinfo=UTC).timestamp()
            except ValueError:
                continue
    return None
