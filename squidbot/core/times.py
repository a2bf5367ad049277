"""Times in words: the date for who quotes, the distance for who judges."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["ago", "stamp"]

# What is told in a unit up to the next one: seconds in it, and its name.
_UNITS = (
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)


def stamp(seconds: float | None) -> str:
    """Return a time as date and time of day in UTC, to the second; "" where it is unknown or no time at all.

    `seconds` is since 1970.
    """
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


def ago(seconds: float | None, now: float | None) -> str:
    """Return how long before `now` a time was, as "3 days ago"; "" where either is unknown or it lies ahead.

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
