"""Small texts: on one line, cut to a length, counts, ids of messages, and times in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_NAME_END = re.compile(r"(?<![\w@~./-])[\w@~./-]+\Z")


def one_line(text: str) -> str:
    """Return a text with each run of white space as one space."""
    return " ".join(text.split())


def line(text: str) -> str:
    """Return a text for one line: control and unprintable characters become question marks."""
    return "".join(char if char.isprintable() else "?" for char in text)


def count(number: int, what: str, several: str = "") -> str:
    """Return "1 message" or "2 messages"; `several` is an irregular plural."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {several or f'{what}s'}"


def cell(value: object) -> str:
    """Return a value for a cell of a table; `None` is a dash."""
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def percent(share: float) -> str:
    """Return a share as a percentage without decimals."""
    return f"{share * 100:.0f} %"


def span(first_seq: int, last_seq: int | None = None) -> str:
    """Return the name of a message or of a run of messages: "m3", or "m3-m9"."""
    return f"m{first_seq}" if last_seq in {None, first_seq} else f"m{first_seq}-m{last_seq}"


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
