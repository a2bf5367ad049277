"""A file as pieces: a recorded conversation, a journal, or text; whole, or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import TranscriptError
from squidbot.core.memory.pieces.prose import prose
from squidbot.core.memory.pieces.talk import entries, talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.core.memory.pieces.sizes import Piece

__all__ = ["UnreadableError", "read"]


class UnreadableError(Exception):
    """What is in a file is nothing that can be found by words; the text says why."""


class _Lines(NamedTuple):
    """The entries of a file of JSON lines, or why it is none."""

    values: list[dict[str, object]]
    wrong: str = ""


def read(path: Path, data: bytes, redacted: Callable[[str], str]) -> list[Piece]:
    """Return the pieces of a file's bytes; `redacted` takes secrets out of a text.

    Raises:
        UnreadableError: it is binary, not UTF-8, or neither a conversation nor a journal though its name says so.
    """
    text = _text(data)
    suffix = path.suffix.lower()
    if suffix in {".jsonl", ".json"} and text.strip():
        return _recorded(path, text, redacted, is_lines=suffix == ".jsonl")
    return prose(redacted(text), path.name)


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError("UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise UnreadableError("binary")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"byte {error.start:,} is not UTF-8; save it as UTF-8, if it is text") from error


def _recorded(path: Path, text: str, redacted: Callable[[str], str], *, is_lines: bool) -> list[Piece]:
    try:
        found = read_transcripts(path, strict=False)
    except TranscriptError as error:
        lines = _entries(text)
        if not is_lines:
            return prose(redacted(text), path.name)
        if lines.wrong:
            raise UnreadableError(f"neither a conversation nor a journal: {lines.wrong}") from error
        return list(entries(lines.values, redacted))
    alone = len(found) == 1
    return [piece for each in found for piece in talk("" if alone else each.id, each.messages, redacted)]


def _entries(text: str) -> _Lines:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                return _Lines([], f"line {number} is no JSON")
            if not isinstance(value, dict):
                return _Lines([], f"line {number} is no JSON object")
            values.append(value)
    return _Lines(values)
