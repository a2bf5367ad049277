"""The ids that requests show, and the messages that they stand for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import RecallError

if TYPE_CHECKING:
    from squidbot.core.ports import SummaryStore

__all__ = ["Run", "named", "resolve"]

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:"
_VERB: Final = re.compile(r"(?:recall|expand)\s+", re.IGNORECASE)
_NUMBER: Final = "m?([0-9]{1,18})"
_MESSAGES: Final = re.compile(rf"m([0-9]{{1,18}})(?:(?:-|\s+to\s+|\.\.){_NUMBER})?\Z", re.IGNORECASE)
# The longest name of a summary that is looked up, and what one is made of.
_SUMMARY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,127}\Z")
_LOOK: Final = "ids look like m17, m17-m40 or s12-80.ab12; copy one from a note, a cut output or a search"


class Run(NamedTuple):
    """The messages that an id stands for, both ends included; `alone` where it names one message and no run."""

    first_seq: int
    last_seq: int
    alone: bool = False


def resolve(text: str, messages: int, summaries: SummaryStore, session_id: str) -> Run:
    """Return what an id stands for in a session of so many messages; a run that goes on behind the last one ends there.

    Raises:
        RecallError: nothing is stored under it; the text says what ids look like.
    """
    said = text.strip(_AROUND)
    asked = _VERB.sub("", said, count=1) if _VERB.match(said) else said
    found = _MESSAGES.match(asked)
    run = _of_messages(found) if found else _of_summary(asked, summaries, session_id)
    if run is None or run.first_seq > run.last_seq:
        raise RecallError(f"nothing is stored under {text!a:.80}: {_LOOK}")
    if run.first_seq >= messages:
        there = f"there are m0 to m{messages - 1}" if messages else "nothing is recorded yet"
        raise RecallError(f"m{run.first_seq} is not recorded: {there}")
    return run._replace(last_seq=min(run.last_seq, messages - 1))


def named(first_seq: int, last_seq: int) -> str:
    """Return the id of a run of messages: "m17", or "m17-m40"."""
    return f"m{first_seq}" if first_seq == last_seq else f"m{first_seq}-m{last_seq}"


def _of_messages(found: re.Match[str]) -> Run:
    first = int(found[1])
    return Run(first, first, alone=True) if found[2] is None else Run(first, int(found[2]))


def _of_summary(asked: str, summaries: SummaryStore, session_id: str) -> Run | None:
    if not _SUMMARY.match(asked):
        return None
    found = summaries.by_id(session_id, [asked])
    return Run(found[0].first_seq, found[0].last_seq) if found else None
