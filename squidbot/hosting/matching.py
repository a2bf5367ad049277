"""Which messages of a host's list are new: it may be all, the end, or what was said since; hosts rarely say which."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["ENOUGH", "first_new", "first_unknown", "identity"]

# So many messages, one behind the other, nobody says twice: with what was answered to each.
ENOUGH: Final = 24


def identity(payload: object, volatile: Collection[str]) -> str:
    """Return what tells a message from others with other words: a digest of it, without the keys in `volatile`.

    These are left out wherever they stand: times, ids of runs, what a host writes anew each time.
    """
    return hashlib.sha256(jsontext.write(_lasting(payload, frozenset(volatile))).encode()).hexdigest()


def first_new(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return from which place on the messages of a list are new, by their identities; its length where none is.

    What is recorded ends somewhere in the list, or nowhere: the place counts behind which most of it stands, message by
    message, and of several the first: what was said twice is rather recorded twice than lost. No more of either is
    looked at than that takes: where all of what is recorded stands, or `ENOUGH` of it, there is no better place.
    """
    whole = len(recorded)
    if 0 < whole <= len(listed) and _common(listed, whole, recorded) == min(whole, ENOUGH):
        return whole  # a host that lists all, and nothing else
    best, most = 0, 0
    for place in range(len(listed), 0, -1) if recorded else ():
        if listed[place - 1] == recorded[-1] and (found := _common(listed, place, recorded)) >= max(most, 1):
            best, most = place, found
            if found == ENOUGH:
                break
    return best


def first_unknown(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return from which place on the messages of a list are new, where the host lists all that it knows each time.

    It may know less than is recorded: a turn that failed it forgets. So what is known is the beginning of the list, as
    far as it stands among what is recorded, in that order.
    """
    place = first_new(listed, recorded)
    if place and _common(listed, place, recorded) == ENOUGH:
        return place
    known = 0
    # One that lists less than half of what is recorded has begun anew.
    for each in recorded[-2 * len(listed) - ENOUGH :]:
        if known < len(listed) and listed[known] == each:
            known += 1
    return max(known, place)


def _common(listed: Sequence[str], end: int, recorded: Sequence[str]) -> int:
    """Return how many messages in front of a place of the list are those that were recorded last, up to `ENOUGH`."""
    count, longest = 0, min(end, len(recorded), ENOUGH)
    while count < longest and listed[end - 1 - count] == recorded[-1 - count]:
        count += 1
    return count


def _lasting(value: object, volatile: frozenset[str]) -> object:
    if isinstance(value, dict):
        kept: Mapping[str, object] = {key: value[key] for key in sorted(value) if key not in volatile}
        return {key: _lasting(inner, volatile) for key, inner in kept.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_lasting(inner, volatile) for inner in value]
    return value
