"""Changes of goals, read from the lines that messages mark (O-18)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from squidbot.core.goals.values import Change
from squidbot.core.markers import marked_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.core.markers import MarkedLine, Said

__all__ = ["marked_changes"]

_ACTIONS: Final = {"GOAL": "set", "ARTIFACT": "artifact", "NEXT": "next"}
_LOCKED: Final = re.compile(r"\bLOCKED\b[\s.!)\]*_]*\Z")
_BEFORE_LOCKED: Final = " :([-\u2013\u2014"


def marked_changes(said: Iterable[Said]) -> Iterator[Change]:
    """Yield what the marked lines of messages change, in order."""
    for one in said:
        for line in one.lines:
            yield from (_change(found, one.seq)._replace(own=one.is_own) for found in marked_lines(line))


def _change(line: MarkedLine, seq: int) -> Change:
    text = " ".join(line.said.strip("*_ \t").split())
    if line.marker == "DECISION":
        locked = _LOCKED.search(text)
        said = text[: locked.start()].rstrip(_BEFORE_LOCKED) if locked else text
        return Change("lock" if locked else "decide", said, seq=seq, marked=True)
    if line.marker == "CHECKPOINT":
        if line.completes is not None:
            return Change("close", line.completes, seq=seq, marked=True)
        return Change("milestone", text, seq=seq, marked=True)
    return Change(_ACTIONS[line.marker], text, seq=seq, marked=True)
