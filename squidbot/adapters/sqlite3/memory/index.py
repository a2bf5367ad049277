"""What search finds memories by: a view beside them, made of them alone, that may be dropped at any time.

An FTS5 table holds each memory's terms by its key. A term begins with the digest of the memory's owner, its tenant and
user, so that the memories of others are not even in the same lists; four marks say which view under which policy it is
seen in, and whether it still holds. Neither texts nor positions are kept. What becomes of a damaged one: see `views` of
the room above; what shows damage that nobody notices: `proof` there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from hashlib import blake2b
from heapq import nlargest
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.index import MEMORY_PARTS, WORDS, DamagedIndexError, SearchIndex, flush, index_errors
from squidbot.adapters.sqlite3.memory import rows
from squidbot.adapters.sqlite3.memory.rows import view_digest, view_digests
from squidbot.core.memories import passage_of
from squidbot.core.memory.search import FAMILY, NEIGHBOURS, RULES, idf, terms_of
from squidbot.core.memory.words import FELLOW, root, synonyms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import Memory, Passage, View
    from squidbot.core.memory.search import ParsedQuery


# Beside that of the rules: raise it with every change of what is kept of terms.
FORM = 3
# Places in rows that are looked for in one statement: FTS5 takes up to 256 words.
PLACES_AT_ONCE = 64
# A list of fewer is taken whole to look its rows up, at 20 microseconds each: less than to seek in a mark's list.
FEW = 256
# How many memories are read and indexed at once: about a fifth of a second.
ADDED_MEMORIES = 2048

OF_MEMORIES = SearchIndex(
    FORM * 1000 + RULES,
    MEMORY_PARTS,
    (
        WORDS.format("memory_words_{0}"),
        # Up to which key all memories are in; row 0 alone.
        "CREATE TABLE memory_last_{0}(one INTEGER PRIMARY KEY, key INTEGER NOT NULL)",
        "INSERT INTO memory_last_{0} VALUES(0, 0)",
        # How many of a view are in, those that hold and history.
        """CREATE TABLE memory_seen_{0}(view INTEGER PRIMARY KEY, live INTEGER NOT NULL, past INTEGER NOT NULL,
    terms INTEGER NOT NULL)""",
    ),
)
# What the tokenizer would part a term at: the rest of it would be in no owner's list, or in everybody's.
PARTING = re.compile("[^0-9a-z_\x80-\U0010ffff]")


def family(term: str) -> tuple[str, ...]:
    """Return what memories are found by that have a word of a term's family."""
    return root(term), f"_{root(term)}"


def add(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Index memories that have just been stored, within the same transaction, unless others before them wait for it.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again without this.
    """
    with index_errors(all_of_them=True):
        if not memories:
            return
        if not OF_MEMORIES.all(connection):
            OF_MEMORIES.renew(connection)
        name = OF_MEMORIES.newest(connection)
        if rows.last_before(connection, memories[0][0]) <= _last(connection, name):
            _put(connection, name, memories)
            _set_last(connection, name, memories[-1][0])
            flush(connection)


def catch_up(connection: sqlite3.Connection) -> bool:
    """Index the next memories that wait for it, within a transaction, and return whether more may wait.

    One whose row is damaged is left out: no search returns it.

    Raises:
        DamagedIndexError: the transaction must be undone.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        found = rows.readable(connection, _last(connection, name), ADDED_MEMORIES)
        if not found.last:
            return False
        _put(connection, name, found.memories)
        _set_last(connection, name, found.last)
        flush(connection)
    return True


def waits(connection: sqlite3.Connection) -> bool:
    """Say whether memories wait for being indexed.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        return rows.last_before(connection, 1 << 62) > _last(connection, OF_MEMORIES.newest(connection))


def swap(connection: sqlite3.Connection, key: int, old: Memory, new: Memory) -> None:
    """Index a memory as it has just become, within the same transaction.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again with a new index.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection) and key <= _last(connection, name := OF_MEMORIES.newest(connection)):
            _put(connection, name, [(key, old)], removes=True)
            _put(connection, name, [(key, new)])
            flush(connection)


def remove(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Take memories out, within a transaction: as they are stored.

    FTS5 would keep the words of what was removed until its parts are merged, so they are, all of them: seconds at
    1,000,000 memories in the file.

    Raises:
        DamagedIndexError: the transaction must be undone; a new one in another one, which forgets all, does the same.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection):
            name = OF_MEMORIES.newest(connection)
            last = _last(connection, name)
            _put(connection, name, [each for each in memories if each[0] <= last], removes=True)
            words = f"memory_words_{name}"
            connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
            flush(connection)


class Lists(NamedTuple):
    """The lists of one view: which of its memories have which words.

    A mark's list is nearly as long as the index, and to seek in it all through costs ten milliseconds at 1,000,000. So
    where a view has all memories of its owner, `without`, the mark of those that hold no more, takes the place of
    `mark`: "" for none. Where it has not, a list of few is taken whole, and rows tell which of them the view sees.
    """

    connection: sqlite3.Connection
    newest_first: str
    owner: int
    mark: str
    without: str | None
    among: int
    terms: int
    view: View
    past: bool

    def newest(self, words: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Return the keys of at most `limit` memories that have each of the words, in any of its forms, newest first.

        `among` memories are in the lists, with `terms` terms in all.
        """
        match = " AND ".join(self._any(word) for word in words)
        if match and self.without is not None:
            return self._found(f"({match}) NOT {self.without}" if self.without else match, limit)
        few = self._found(match, min(limit, FEW)) if match else []
        if match and len(few) < min(limit, FEW):
            seen = rows.seen(self.connection, few, self.view, past=self.past)
            return [key for key in few if key in seen]
        return self._found(f"{match} AND {self.mark}" if match else self.mark, limit)

    def _found(self, match: str, limit: int) -> list[int]:
        return [key for (key,) in self.connection.execute(self.newest_first, (match, limit))]

    def _any(self, word: Sequence[str]) -> str:
        return f"({' OR '.join(f'{chr(34)}{_owned(self.owner, term)}{chr(34)}' for term in word)})"


def lists(connection: sqlite3.Connection, view: View, *, past: bool) -> Lists:
    """Return the lists of a view; with `past` those of history, too.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        digest = view_digest(view)
        owner = view_digests(view.scope)[0]
        found = {
            seen: counts
            for seen, *counts in connection.execute(
                f"SELECT view, live, past, terms FROM memory_seen_{name} WHERE view IN (?, ?)",  # noqa: S608  # numbers
                (digest, owner),
            )
        }
    live, history, terms = found.get(digest, (0, 0, 0))
    is_whole = [live, history] == found.get(owner, [])[:2]
    among = live + (history if past else 0)
    terms = terms * among // max(1, live + history)
    holds, no_more = (f'"{_mark(digest, holds=each)}"' for each in (True, False))
    without = no_more if history and not past else ""
    newest = f"SELECT rowid FROM memory_words_{name} WHERE memory_words_{name} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
    mark = f"({holds} OR {no_more})" if past else holds
    return Lists(connection, newest, owner, mark, without if is_whole else None, among, terms, view, past)


def beside(lists: Lists, passages: Iterable[Passage]) -> list[int]:
    """Return the keys of those memories that stand beside others in their rows; no more than that is known of them.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    rows = [each for each in passages if each.group]
    steps = ((each.group, each.position + step) for each in rows for step in NEIGHBOURS)
    places = list(dict.fromkeys(_place(group, position) for group, position in steps if position >= 0))
    return [
        key
        for first in range(0, len(places), PLACES_AT_ONCE)
        for key in lists.newest([places[first : first + PLACES_AT_ONCE]], 2 * PLACES_AT_ONCE)
    ]


def _place(group: str, position: int) -> str:
    """Return the term of a place in a row of memories."""
    digest = blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"_{digest}_{position}"


def _mark(digest: int, *, holds: bool) -> str:
    return f"_{'l' if holds else 'p'}{digest:x}"


def _owned(owner: int, term: str) -> str:
    return f"{owner:x}_{PARTING.sub('_', term)}"


class Counts:
    """How many memories of each view are in: those that hold, history, and the terms of both."""

    def __init__(self) -> None:
        """Begin at none."""
        self.of_views = defaultdict[int, list[int]](lambda: [0, 0, 0])

    def cell(self, memory: Memory, sign: int = 1) -> str:
        """Return what the index holds of a memory: its terms, the roots that they don't show, and its marks; count it.

        `sign`: -1 for one that goes.
        """
        digests, terms = view_digests(memory.scope), terms_of(memory.text)
        for digest in digests:
            self.of_views[digest][bool(memory.superseded_by)] += sign
            self.of_views[digest][2] += sign * len(terms)
        passage = passage_of(memory)
        different = dict.fromkeys((*terms, *([_place(passage.group, passage.position)] if passage.group else [])))
        roots = {f"_{root(term)}" for term in different if term[:1] != "_" and root(term) != term}
        marks = (_mark(digest, holds=not memory.superseded_by) for digest in digests)
        return " ".join((*(_owned(digests[0], term) for term in (*different, *roots)), *marks))


def held(connection: sqlite3.Connection, counts: Counts) -> Iterator[tuple[int, str]]:
    """Yield what the index has to hold, by the rows: the key and the cell of each memory that is in it; count them.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        last, key = _last(connection, OF_MEMORIES.newest(connection)), 0
    while (found := rows.readable(connection, key, ADDED_MEMORIES)).last:
        yield from ((key, counts.cell(memory)) for key, memory in found.memories if key <= last)
        key = found.last


def counted(connection: sqlite3.Connection) -> dict[int, list[int]]:
    """Return what the index says of each view that has any memories, as `Counts.of_views` has it.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        rows = connection.execute(f"SELECT view, live, past, terms FROM memory_seen_{name}").fetchall()  # noqa: S608
    return {view: counts for view, *counts in rows if any(counts)}


def _put(
    connection: sqlite3.Connection, name: str, memories: Sequence[tuple[int, Memory]], *, removes: bool = False
) -> None:
    """Add memories to the index or, as they are in it, remove them; count them."""
    words = f"memory_words_{name}"
    columns, values = (f"{words}, rowid, terms", "'delete', ?, ?") if removes else ("rowid, terms", "?, ?")
    counts = Counts()
    cells = [(key, counts.cell(memory, -1 if removes else 1)) for key, memory in memories]
    connection.executemany(f"INSERT INTO {words}({columns}) VALUES({values})", cells)  # numbers
    connection.executemany(
        f"INSERT INTO memory_seen_{name} VALUES(?, ?, ?, ?) ON CONFLICT(view) DO UPDATE SET "  # numbers
        "live = live + excluded.live, past = past + excluded.past, terms = terms + excluded.terms",
        [(digest, *each) for digest, each in counts.of_views.items()],
    )


def _last(connection: sqlite3.Connection, name: str) -> int:
    """Return the key up to which all memories are in.

    Raises:
        DamagedIndexError: the index does not say.
    """
    found = connection.execute(f"SELECT key FROM memory_last_{name}").fetchall()  # noqa: S608  # numbers
    if len(found) != 1 or not isinstance(found[0][0], int):
        raise DamagedIndexError("the index of memories does not say how far it goes")
    return int(found[0][0])


def _set_last(connection: sqlite3.Connection, name: str, key: int) -> None:
    connection.execute(f"UPDATE memory_last_{name} SET key = ?", (key,))  # noqa: S608  # numbers


# Which memories of a view may answer a query, in bounded time, however many there are.

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


def candidates(lists: Lists, query: ParsedQuery, limit: int) -> tuple[list[int], Counted]:
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
        if fellows := tuple(fellow.stem for fellow in synonyms(each.term)):
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
