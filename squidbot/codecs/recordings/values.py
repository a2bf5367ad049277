"""Values of recordings, none of which is to be trusted: each look at one gives something of the expected type."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext

if TYPE_CHECKING:
    from collections import Counter

__all__ = [
    "add_unread",
    "count",
    "digest",
    "entry_id",
    "get",
    "items",
    "label",
    "mapping",
    "seconds",
    "spelled",
    "stamp_of",
    "text",
    "text_of",
]

_LABEL_CHARS: Final = 40
# Entries without a message are counted by at most so many names: files choose them.
_MOST_NAMES: Final = 100


def text(value: object) -> str:
    """Return a text, "" for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, object]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def get(value: object, *keys: str) -> object:
    """Return what an object holds under nested keys; `None` where one is missing."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def text_of(value: object, key: str) -> str:
    """Return a text in an object; "" if there is none."""
    return text(mapping(value).get(key))


def count(value: object) -> int:
    """Return a number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def seconds(value: object) -> float | None:
    """Return a point in time in seconds since 1970; `None` if it is none."""
    try:
        return jsontext.seconds(value)
    except ValueError:
        return None


def stamp_of(value: object) -> tuple[float | None, object]:
    """Return a time in seconds since 1970, and the stamp as it was written; `None` for both if it is none."""
    time = seconds(value)
    return time, None if time is None else value


def spelled(value: object) -> str:
    """Return a text as it is, "" for null, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else jsontext.write(value)


def label(value: object, otherwise: str = "unknown") -> str:
    """Return what names a kind of entry, short and in one line; `otherwise` if it is no text."""
    return " ".join(text(value).split())[:_LABEL_CHARS] or otherwise


def digest(value: object) -> str:
    """Return eight hex digits that tell values apart."""
    return sha256(spelled(value).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def entry_id(value: object, line: int) -> str:
    """Return an id for an entry that has none, made of what it says and of its line."""
    return sha256(f"{line} {jsontext.write(value)}".encode()).hexdigest()[:24]


def add_unread(unread: Counter[str], what: object, kind: str = "entries") -> None:
    """Count what became no message by its name, such as "progress entries"; `what` may be any value of a file."""
    name = f"{what:.{_LABEL_CHARS}} {kind}" if isinstance(what, str) and what else f"{kind} without a type"
    unread[name if name in unread or len(unread) < _MOST_NAMES else "other entries"] += 1
