"""Dumps of pydantic-ai: requests and responses as `ModelMessagesTypeAdapter` writes them, in a list or line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.codecs.recordings.builder import (
    GrowingFile,
    MessageSource,
    SessionBuilder,
    dump_name,
    finished,
    place_name,
)
from squidbot.codecs.recordings.values import get, items, mapping, text
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "pydantic-ai"

_KINDS: Final = ("request", "response")


def is_form(values: Sequence[object]) -> bool:
    """Return whether the first value is a message of pydantic-ai, or a list of some."""
    first = values[0] if values else None
    return any(map(_is_message, first[:20] if isinstance(first, list) else values[:20]))


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG001  # as every reader
    """Yield nothing: it keeps no recordings by itself."""
    yield from ()


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return the session of a dump; one in lines has a position.

    Raises:
        TranscriptError: the file can't be read, or holds no message of pydantic-ai.
    """
    made = SessionBuilder(NAME, PydanticAI(), dump_name(path))
    file = GrowingFile(path, start)
    if file.is_read:
        return []
    has_some = False
    for at, (value, line) in enumerate(file.values()):
        if not _is_message(value):
            made.count("unknown entries", line)
            continue
        has_some = True
        message = mapping(value)
        stamps = [message.get("timestamp"), *(get(part, "timestamp") for part in items(message["parts"]))]
        stamp = next((each for each in stamps if each is not None), None)
        source = MessageSource(stamp=stamp, model=text(message.get("model_name")), line=line)
        made.add(place_name(at, value), message, source)
    if not has_some:
        raise TranscriptError(str(path), None, "is no dump of pydantic-ai: it has neither requests nor responses")
    return finished([made], file, is_over=is_over)


def _is_message(value: object) -> bool:
    return get(value, "kind") in _KINDS and isinstance(get(value, "parts"), list)
