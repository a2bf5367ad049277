"""Values of recordings, none of which is to be trusted: each look at one gives something of the expected type."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from squidbot.codecs import jsontext

__all__ = ["count", "digest", "get", "items", "label", "mapping", "seconds", "spelled", "text"]

_LABEL_CHARS: Final = 40


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


def count(value: object) -> int:
    """Return a number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def seconds(value: object) -> float | None:
    """Return a point in time in seconds since 1970; `None` if it is none."""
    try:
        return jsontext.seconds(value)
    except ValueError:
        return None


def spelled(value: object) -> str:
    """Return a text as it is, "" for null, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else jsontext.write(value)


def label(value: object, otherwise: str = "unknown") -> str:
    """Return what names a kind of entry, short and in one line; `otherwise` if it is no text."""
    return " ".join(text(value).split())[:_LABEL_CHARS] or otherwise


def digest(value: object) -> str:
    """Return eight hex digits that tell values apart."""
    return sha256(spelled(value).encode("utf-8", "surrogatepass")).hexdigest()[:8]
