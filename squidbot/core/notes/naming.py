"""The ids of notes: the messages that they stand for, and as much of a digest as tells them from others of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.messages import Summary
    from squidbot.core.ports import SummaryStore

__all__ = ["DIGITS", "under_a_name_of_its_own"]

# How many digits of the digest (SHA-256 in hexadecimal) stand in an id. Each is a fraction of a token in every request
# that shows the notes, and a model has to copy it: four do, until two notes on the same messages share them.
DIGITS = (4, 8, 16, 64)


def under_a_name_of_its_own(
    summaries: SummaryStore, session_id: str, place: tuple[int, int], source: str, make: Callable[[str], Summary]
) -> Summary:
    """Return what `make` makes of an id that no other summary of the session is stored under; nothing is stored.

    What is made again finds itself stored and keeps its id, in whatever process: the id goes by what is stored alone.
    `place` are the first and the last message, `source` is the digest, in hexadecimal, of what the text is made from.

    Raises:
        StoreError: the store failed.
    """
    first_seq, last_seq = place
    for digits in DIGITS:
        made = make(f"s{first_seq}-{last_seq}.{source[:digits]}")
        if all(one == made for one in summaries.by_id(session_id, [made.summary_id])):
            break
    return made
