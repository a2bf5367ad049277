"""Recorded messages and the entries of a journal in pieces: a turn or an entry each, longer ones in several."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Final

from squidbot.core.memories import JOURNAL
from squidbot.core.memory.pieces.sizes import Piece, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from squidbot.core.memories import Trust
    from squidbot.core.messages import Message

__all__ = ["entries", "talk"]

# What journals call the time of an entry, who made it, and its words.
_TIMES: Final = ("time", "timestamp", "ts", "date", "datetime", "created_at", "at")
_SPEAKERS: Final = ("speaker", "author", "role", "from")
_WORDS: Final = ("text", "content", "message", "entry", "note", "summary", "body")
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})
# Later than the year 5000 in seconds: it is milliseconds.
_MILLISECONDS_FROM: Final = 1e11
# A call of a tool is told by its name and the beginning of its arguments.
CALL_CHARS = 300


def talk(name: str, messages: Iterable[Message], redacted: Callable[[str], str]) -> Iterator[Piece]:
    """Yield the pieces of a conversation; what tools printed has their trust, and instructions are left out."""
    for message in messages:
        if message.role == "system":
            continue
        printed = message.role == "tool" or bool(message.results)
        calls = (f"{call.name} {call.arguments[:CALL_CHARS]}" for call in message.calls)
        said = redacted("\n".join(filter(None, (message.text, *calls))))
        for part in cut(said):
            if any(map(str.isalnum, part)):
                speaker = "tool" if printed else message.role
                yield Piece(part, (), name, speaker, _finite(message.time), "tool" if printed else "import")


def entries(values: Iterable[Mapping[str, object]], redacted: Callable[[str], str]) -> Iterator[Piece]:
    """Yield the pieces of a journal: of each entry its words first, then its other fields by their names."""
    for value in values:
        when = next((name for name in _TIMES if _time(value.get(name)) is not None), "")
        who = _texts(value, _SPEAKERS)[:1]
        words = _texts(value, _WORDS)
        others = [name for name in value if name not in {when, *who, *words} and value[name] not in _NOTHING]
        said = "\n".join(
            (*(str(value[name]) for name in words), *(f"{name}: {_shown(value[name])}" for name in others))
        )
        speaker = redacted(str(value[who[0]])) if who else ""
        trust: Trust = "tool" if speaker == "tool" else "import"
        whole = Piece("", (), "", speaker, _time(value.get(when)), trust, JOURNAL)
        yield from (whole._replace(text=part) for part in cut(redacted(said)) if any(map(str.isalnum, part)))


def _texts(value: Mapping[str, object], names: Iterable[str]) -> list[str]:
    """Return which of these fields are texts that say something."""
    return [name for name in names if isinstance(value.get(name), str) and value[name]]


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _time(value: object) -> float | None:
    """Return a time in seconds since 1970; None for what is none. A text without a zone is read as UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        if not isinstance(value, str):
            seconds = float(value)
            return _finite(seconds / 1000 if abs(seconds) >= _MILLISECONDS_FROM else seconds)
        made = datetime.fromisoformat(value.strip())
        return (made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _finite(seconds: float | None) -> float | None:
    """Return a time that is one: JSON as Python reads it has NaN and Infinity."""
    return seconds if seconds is not None and isfinite(seconds) else None
