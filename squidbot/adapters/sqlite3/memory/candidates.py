"""Which memories of a view may answer a query, in bounded time, however many there are.

Common words stand in hundreds of thousands of memories. Of each term only the newest `PROBED` memories are looked at:
all of a rare one, else enough to tell how common it is. Those that have several of the rarest terms are looked for by
name; words of a term's family and of its subject, too. What has most of the query's weight by these lists is read, and
only then scored.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.memory.index import family
from squidbot.core.memory.search.kin import FELLOW, kin
from squidbot.core.memory.search.matching import FAMILY, idf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.adapters.sqlite3.memory.index import Lists
    from squidbot.core.memory.search.query import Query

__all__ = ["Counted", "candidates"]

# Also how many memories of a term are looked at: at a million, a millisecond a term. At 20,000 the ten best of six
# words are .96 those of a search that reads all; with 512 they are .88.
PROBED = 2048
# So many terms, the rarest, are looked for together, by pairs and all at once; of so many the subjects are.
TOGETHER = 4
SUBJECTS = 8
# How many are found by each combination, family or subject.
PAIRED = 128
# A term in so many of the memories of a view is looked for beside three rarer ones only.
COMMON_FRACTION = 1 / 8


class Counted:
    """What is known of all memories of a view: `matching.Statistics`, from the lists; common terms are estimated."""

    def __init__(self, lists: Lists) -> None:
        """Take the lists of a view."""
        self._lists = lists
        self._known: dict[str, int] = {}
        self._newest = 0

    @property
    def passages(self) -> int:
        """How many memories there are in the view."""
        return self._lists.among

    @property
    def average_terms(self) -> float:
        """How many terms they have, on the average; above 0."""
        return max(1.0, self._lists.terms / max(1, self._lists.among))

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return in how many memories terms are."""
        return {term: self._known[term] if term in self._known else self._probed(term) for term in terms}

    def _probed(self, term: str) -> int:
        return self.note(term, self._lists.newest([(term,)], PAIRED), PAIRED)

    def note(self, term: str, keys: Sequence[int], limit: int) -> int:
        """Return in how many memories a term is whose newest ones are these, at most `limit`, and remember it."""
        if term not in self._known:
            count = len(keys)
            if count == limit:
                # As the newest ones lie among all that came since the oldest of them, so do all.
                self._newest = self._newest or self._lists.newest([], 1)[0]
                since = max(self._newest - keys[-1] + 1, limit)
                count = min(max(limit * self.passages // since, limit), self.passages)
            self._known[term] = count
        return self._known[term]


class _Known(NamedTuple):
    """A term of the query, whether all memories that have it are known, how many these are, what having it counts."""

    term: str
    is_complete: bool
    memories: int
    weight: float


def candidates(lists: Lists, query: Query, limit: int) -> tuple[list[int], Counted]:
    """Return at most `limit` memories of a view that may answer a query best, and what is known of the others."""
    counted = Counted(lists)
    having = defaultdict[int, float](float)
    known = [_probe(lists, counted, term, max(PROBED, limit), having) for term in query.terms]
    rarest = sorted((each for each in known if each.memories), key=lambda each: each.memories)[:TOGETHER]
    for several in _together(rarest, lists.among):
        weight = sum(each.weight for each in several)
        for key in lists.newest([(each.term,) for each in several], PAIRED):
            having[key] = max(having[key], weight)
    _add_fellows(lists, known, having)
    best = nlargest(limit, zip(having.values(), having, strict=True))
    return [key for _, key in best], counted


def _add_fellows(lists: Lists, known: Sequence[_Known], having: defaultdict[int, float]) -> None:
    """Add what memories count for that have another word of a term's subject, also of a term that nobody ever said."""
    for each in sorted(known, key=lambda each: each.memories)[:SUBJECTS]:
        if fellows := tuple(fellow.stem for fellow in kin(each.term)):
            for key in lists.newest([fellows], PAIRED):
                having[key] += FELLOW * each.weight


def _probe(lists: Lists, counted: Counted, term: str, limit: int, having: defaultdict[int, float]) -> _Known:
    keys = lists.newest([(term,)], limit)
    count = counted.note(term, keys, limit)
    weight = idf(count, lists.among)
    for key in keys:
        having[key] += weight
    own = set(keys)
    for key in lists.newest([family(term)], PAIRED):
        if key not in own:
            having[key] += FAMILY * weight
    return _Known(term, len(keys) < limit, count, weight)


def _together(found: Sequence[_Known], among: int) -> list[tuple[_Known, ...]]:
    """Return which terms are looked for together: those whose lists are cut, beside each other."""
    if all(each.is_complete for each in found):
        return []
    telling = [each for each in found if each.memories <= among * COMMON_FRACTION]
    if len(telling) < 3:
        telling = list(found)
    pairs = [pair for pair in combinations(telling, 2) if not all(each.is_complete for each in pair)]
    return [*pairs, *([tuple(telling)] if len(telling) > 2 else [])]
