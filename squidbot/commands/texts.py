"""Small texts for people: what a terminal may show, counts, ids, times, how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["NO_TIME", "ago", "clock", "count", "line", "lines", "percent", "seqs", "shorter", "span"]

NO_TIME = "-"

# What each unit of time is worth in seconds, largest first; months and years as calendars have them on average.
_UNITS = (
    ("year", 31_556_952.0),
    ("month", 2_629_746.0),
    ("week", 604_800.0),
    ("day", 86_400.0),
    ("hour", 3_600.0),
    ("minute", 60.0),
)
_JUST_NOW_SECONDS = 60.0
_SPACE = re.compile(r"\s+")


def line(text: str) -> str:
    """Return a text for one line: what a terminal might obey, or can't show, becomes a question mark."""
    return "".join(char if char.isprintable() else "?" for char in text)


def lines(text: str) -> list[str]:
    """Return a text as lines that a terminal shows as they are: tabs become spaces, and what it might obey a mark."""
    return [line(one.expandtabs(4)) for one in text.splitlines()]


def shorter(text: str, chars: int) -> str:
    """Return the beginning of a text as one line of at most that many characters; "…" says that there is more."""
    # What comes behind is not looked at: a tool's output may be megabytes long.
    head = text[: 4 * chars + 1]
    flat = line(_SPACE.sub(" ", head).strip())
    whole = len(flat) <= chars and len(head) == len(text)
    return flat if whole else f"{flat[: max(0, chars - 1)].rstrip()}…"


def count(number: int, what: str) -> str:
    """Return "1 message" or "2 messages"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def percent(share: float) -> str:
    """Return a share as a percentage without decimals."""
    return f"{share * 100:.0f} %"


def span(first_seq: int, last_seq: int) -> str:
    """Return how a run of messages is called: "m3", or "m3-m9"."""
    return f"m{first_seq}" if first_seq == last_seq else f"m{first_seq}-m{last_seq}"


def seqs(found: tuple[int, ...] | list[int], most: int = 8) -> str:
    """Return messages by their ids, at most so many of them."""
    named = [f"m{seq}" for seq in found[:most]]
    return " ".join([*named, f"and {len(found) - most:,} more"] if len(found) > most else named)


def clock(time: float | None) -> str:
    """Return a time, in seconds since 1970, as date and time of day in UTC; "-" for none, or one of no calendar."""
    if time is None:
        return NO_TIME
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return NO_TIME


def ago(time: float | None, now: float) -> str:
    """Return how long ago a time was: "3 hours ago", "just now", "in 2 days"; "-" for none. Both in seconds."""
    if time is None or clock(time) == NO_TIME:
        return NO_TIME
    passed = now - time
    if abs(passed) < _JUST_NOW_SECONDS:
        return "just now"
    unit, seconds = next((name, worth) for name, worth in _UNITS if abs(passed) >= worth)
    said = count(int(abs(passed) // seconds), unit)
    return f"{said} ago" if passed > 0 else f"in {said}"
