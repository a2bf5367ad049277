"""Small texts: on one line, cut to a length, and times in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_NAME_END = re.compile(r"(?<![\w@~./-])[\w@~./-]+\Z")


def one_line(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())


# Longer texts are read at both ends only: an event must not take longer because a tool printed more.
READ_CHARS = 60_000


def bounded(text: str) -> str:
    """Return a text, or both ends of one that is too long to read whole."""
    if len(text) <= READ_CHARS:
        return text
    return text[: READ_CHARS * 2 // 3] + "\n" + text[-READ_CHARS // 3 :]


def clip(text: str, most_chars: int) -> str:
    """Return a text cut behind a whole word, with a mark where it was cut."""
    if len(text) <= most_chars:
        return text
    cut = text[: most_chars + 1].rpartition(" ")[0]
    if len(cut) < most_chars // 2:
        cut = _NAME_END.sub("", text[:most_chars])
    return cut.rstrip() + " \u2026"


# Units of time, the largest first: seconds in it, and its name.
_UNITS = (
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)


def stamp(seconds: float | None) -> str:
    """Return a time as date and time of day in UTC, to the second; "" if it is unknown or no time at all.

    `seconds` is since 1970.
    """
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


def iso_time(seconds: float) -> str:
    """Return a time in seconds since 1970 as "2026-01-27T12:34:56Z", without parts of a second."""
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def read_iso_time(text: str) -> float:
    """Return an ISO 8601 time in seconds since 1970; a time without a zone is in UTC.

    Raises:
        ValueError: it is no time.
        OverflowError: it is out of range.
    """
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def ago(seconds: float | None, now: float | None) -> str:
    """Return how long before `now` a time was, as "3 days ago"; "" if either is unknown or it lies ahead.

    Both are in seconds since 1970.
    """
    if seconds is None or now is None or not 0 <= now - seconds < float("inf"):
        return ""
    passed = now - seconds
    for unit, name in _UNITS:
        if passed >= unit:
            count = int(passed // unit)
            return f"{count:,} {name}{'s' * (count != 1)} ago"
    return "just now"
