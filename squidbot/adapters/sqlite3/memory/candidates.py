"""Which memories of a view may answer a query, in bounded time, however many there are.

Common words stand in hundreds of thousands of memories. Of each word only the newest `PROBED` memories are looked at:
all of a rare word, else enough to tell how common it is. Those that have several of the rarest words are looked for by
name. What has most of the query's weight by these lists is read, and only then scored.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from math import log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.adapters.sqlite3.memory.index import Lists
    from squidbot.core.finding.words import Word

__all__ = ["Found", "candidates"]

# Also how many memories of a word are looked at: at a million, half a millisecond a word.
PROBED = 512
# So many words, the rarest, are looked for together, by pairs and all at once; common ones cost most.
TOGETHER = 4
# How many are found by each combination.
PAIRED = 128
# A word in so many of the memories of a view is looked for beside rarer ones only where these are not all known.
COMMON_FRACTION = 1 / 8


class Found(NamedTuple):
    """The candidates' keys; in how many memories of the view each word is, an estimate for common ones."""

    keys: list[int]
    having: list[float]
    among: int


class _Known(NamedTuple):
    """A word, its newest memories, whether these are all there are, how many there are, and what having it counts."""

    word: Word
    keys: list[int]
    is_complete: bool
    memories: float
    weight: float


def candidates(lists: Lists, words: Sequence[Word], limit: int) -> Found:
    """Return at most `limit` memories of a view that may answer a query best; newest first where that decides."""
    known = [_probe(lists, word, max(PROBED, limit)) for word in words]
    having = defaultdict[int, float](float)
    for each in known:
        for key in each.keys:
            having[key] += each.weight
    for several in _together(known, lists.among):
        weight = sum(each.weight for each in several)
        for key in lists.newest([each.word for each in several], PAIRED):
            having[key] = max(having[key], weight)
    keys = sorted(having, key=lambda key: (-having[key], -key))[:limit]
    return Found(keys, [each.memories for each in known], lists.among)


def _probe(lists: Lists, word: Word, limit: int) -> _Known:
    keys = lists.newest([word], limit)
    count = float(len(keys))
    if is_cut := len(keys) == limit:
        # As the newest ones lie among all that came since the oldest of them, so do all.
        since = max(lists.newest([], 1)[0] - keys[-1] + 1, limit)
        count = min(max(limit * lists.among / since, limit), float(lists.among))
    return _Known(word, keys, not is_cut, count, log(1 + lists.among / max(count, 0.5)) ** 2)


def _together(known: Sequence[_Known], among: int) -> list[tuple[_Known, ...]]:
    """Return which words are looked for together: those whose lists are cut, rarest first, beside each other."""
    found = sorted((each for each in known if each.keys), key=lambda each: each.memories)[:TOGETHER]
    cut = [each for each in found if not each.is_complete]
    if not cut:
        return []
    telling = [each for each in found if each.memories <= among * COMMON_FRACTION] or found[:2]
    pairs = [pair for pair in combinations(telling, 2) if not all(each.is_complete for each in pair)]
    whole = [tuple(telling)] if len(telling) > 2 else []
    return [*pairs, *whole]
