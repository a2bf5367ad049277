"""Files of JSON: from bytes to numbered values, with errors that name file, line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.codecs import jsontext
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    import pathlib

__all__ = ["Entry", "read_entries"]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a file.

    Attributes:
        value: the parsed JSON.
        text: the JSON text as it stands in the file, without white space around it.
        line: where it starts, from 1.
        index: its place among the lines that are not blank, from 0.
    """

    value: object
    text: str
    line: int
    index: int


def read_entries(path: pathlib.Path) -> list[Entry]:
    """Return the values of a file: one for each line that is not blank, or one that goes over all lines.

    Raises:
        TranscriptError: the file can't be read, is not UTF-8, is empty, or holds something else than JSON.
    """
    lines = [(number, line) for number, line in enumerate(_LINE_END.split(_read_text(path)), 1) if line.strip()]
    if not lines:
        raise TranscriptError(str(path), None, "the file is empty; a transcript holds at least one message")
    if len(lines) > 1 and not _is_json(lines[0][1]):
        whole = "\n".join(line for _, line in lines)
        # A first line that is broken in itself, with objects below, is a broken line and no value of many lines.
        if whole.lstrip().startswith("[") or _is_json(whole) or not _is_json(lines[1][1]):
            return [Entry(_parse(path, lines, whole), whole, lines[0][0], 0)]
    return [
        Entry(_parse(path, [(number, line)], line), line.strip(), number, index)
        for index, (number, line) in enumerate(lines)
    ]


def _is_json(text: str) -> bool:
    try:
        jsontext.parse(text)
    except jsontext.JsonTextError as error:
        # What has a place is broken syntax; the rest is refused for what it says and gets its message later.
        return error.line is None
    return True


def _parse(path: pathlib.Path, lines: list[tuple[int, str]], text: str) -> object:
    try:
        return jsontext.parse(text)
    except jsontext.JsonTextError as error:
        line = lines[min(error.line or 1, len(lines)) - 1][0]
        where = "" if error.column is None else f" at column {error.column}"
        raise TranscriptError(str(path), line, f"{error}{where}; mend the line or take it out") from error


def _read_text(path: pathlib.Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise TranscriptError(str(path), None, "there is no such file; check the path") from error
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TranscriptError(str(path), 1, "is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start].decode("utf-8", "replace"))) + 1
        raise TranscriptError(str(path), line, f"byte {error.start} is not UTF-8; save the file as UTF-8") from error
