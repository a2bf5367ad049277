"""Small texts for people: what a terminal may show, counts, ids, times, how long ago."""

from __future__ import annotations

import re

from squidbot.core.recall import history
from squidbot.core.recall.history import stamp

__all__ = ["NO_TIME", "ago", "block", "clock", "count", "line", "lines", "percent", "seqs", "shorter", "span"]

NO_TIME = "-"

_SPACE = re.compile(r"\s+")


def line(text: str) -> str:
    """Return a text for one line: what a terminal might obey, or can't show, becomes a question mark."""
    return "".join(char if char.isprintable() else "?" for char in text)


def lines(text: str) -> list[str]:
    """Return a text as lines that a terminal shows as they are: tabs become spaces, and what it might obey a mark."""
    return [line(one.expandtabs(4)) for one in text.splitlines()]


def block(text: str) -> str:
    """Return a text of several lines as a terminal may show it; the way out for stored text that is not on paper."""
    return "".join(char if char.isprintable() or char in "\n\t" else "?" for char in text.replace("\r\n", "\n"))


def shorter(text: str, chars: int) -> str:
    """Return the beginning of a text as one line of at most that many characters; "…" says that there is more."""
    # What comes behind is not looked at: a tool's output may be megabytes long.
    head = text[: 4 * chars + 1]
    flat = line(_SPACE.sub(" ", head).strip())
    whole = len(flat) <= chars and len(head) == len(text)
    return flat if whole else f"{flat[: max(0, chars - 1)].rstrip()}…"


def count(number: int, what: str, several: str = "") -> str:
    """Return "1 message" or "2 messages"; `several` is for what has another plural."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {several or f'{what}s'}"


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
    stamped = stamp(time)
    return f"{stamped} UTC" if stamped else NO_TIME


def ago(time: float | None, now: float) -> str:
    """Return how long ago a time was: "3 hours ago", "just now"; "-" for none, or one to come. Both in seconds."""
    return history.ago(time, now) or NO_TIME
