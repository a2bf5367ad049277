"""The search index of memories: derived from them alone, so it may be dropped at any time.

An FTS5 table holds each memory's terms by its key. A term begins with the digest of the memory's owner (tenant and
user), so lists never mix owners. Four marks name the view that sees it under each policy, and whether it is current.
Texts and positions are not stored. Damaged indexes: see `views` in the package above; silent damage: see `proof` there.
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


# Added to the rules' number: raise it with every change of the stored terms.
FORM = 3
# Positions in rows to look for in one statement: FTS5 takes up to 256 words.
PLACES_AT_ONCE = 64
# Shorter lists are read whole and their rows looked up, at 20 microseconds each: less than to seek a mark.
FEW = 256
# Number of memories to read and index at once: about a fifth of a second.
ADDED_MEMORIES = 2048

OF_MEMORIES = SearchIndex(
    FORM * 1000 + RULES,
    MEMORY_PARTS,
    (
        WORDS.format("memory_words_{0}"),
        # The last indexed memory's key; row 0 alone.
        "CREATE TABLE memory_last_{0}(one INTEGER PRIMARY KEY, key INTEGER NOT NULL)",
        "INSERT INTO memory_last_{0} VALUES(0, 0)",
        # Indexed memories of a view: current ones and history.
        """CREATE TABLE memory_seen_{0}(view INTEGER PRIMARY KEY, live INTEGER NOT NULL, past INTEGER NOT NULL,
    terms INTEGER NOT NULL)""",
    ),
)
# Where the tokenizer would split a term: the rest would be in no owner's list, or in everybody's.
PARTING = re.compile("[^0-9a-z_\x80-\U0010ffff]")


def family(term: str) -> tuple[str, ...]:
    """Return the index terms for memories with a word of a term's family."""
    return root(term), f"_{root(term)}"


def add(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Index memories just stored, within the same transaction, unless earlier ones still wait.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it without this.
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
    """Index the next waiting memories, within a transaction, and return whether more may wait.

    Skip a memory with a damaged row: no search returns it.

    Raises:
        DamagedIndexError: undo the transaction.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        found = rows.readable(connection, _last(connection, name), ADDED_MEMORIES)
        if not found:
            return False
        _put(connection, name, [(key, memory) for key, memory in found.items() if memory])
        _set_last(connection, name, max(found))
        flush(connection)
    return True


def waits(connection: sqlite3.Connection) -> bool:
    """Return whether memories wait to be indexed.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        return rows.last_before(connection, 1 << 62) > _last(connection, OF_MEMORIES.newest(connection))


def swap(connection: sqlite3.Connection, key: int, old: Memory, new: Memory) -> None:
    """Index a memory's new state, within the same transaction.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it with a new index.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection) and key <= _last(connection, name := OF_MEMORIES.newest(connection)):
            _put(connection, name, [(key, old)], removes=True)
            _put(connection, name, [(key, new)])
            flush(connection)


def remove(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Remove memories, within a transaction, as they are stored.

    FTS5 keeps removed words until it merges its parts, so this merges all: seconds at 1,000,000 memories in the file.

    Raises:
        DamagedIndexError: undo the transaction; a new index in another one, which forgets all, does the same.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection):
            name = OF_MEMORIES.newest(connection)
            last = _last(connection, name)
            _put(connection, name, [each for each in memories if each[0] <= last], removes=True)
            words = f"memory_words_{name}"
            connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
            flush(connection)


class TermLists(NamedTuple):
    """The lists of one view: the words of its memories.

    A mark's list is nearly as long as the index, and seeking through it costs ten milliseconds at 1,000,000. So if a
    view has all its owner's memories, `without`, the mark of its history ("" for none), replaces `mark`. Otherwise a
    short list is read whole, and rows show which memories the view sees.
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

        The lists have `among` memories with `terms` terms in all.
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


def lists(connection: sqlite3.Connection, view: View, *, past: bool) -> TermLists:
    """Return the lists of a view; with `past` including history.

    Raises:
        DamagedIndexError: rebuild the index.
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
    return TermLists(connection, newest, owner, mark, without if is_whole else None, among, terms, view, past)


def beside(lists: TermLists, passages: Iterable[Passage]) -> list[int]:
    """Return the keys of memories next to others in their rows; the index knows no more about them.

    Raises:
        DamagedIndexError: rebuild the index.
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
    """Return the term of a position in a row."""
    digest = blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"_{digest}_{position}"


def _mark(digest: int, *, holds: bool) -> str:
    return f"_{'l' if holds else 'p'}{digest:x}"


def _owned(owner: int, term: str) -> str:
    return f"{owner:x}_{PARTING.sub('_', term)}"


class ViewCounts:
    """Number of indexed memories of each view, current and history, and of both's terms."""

    def __init__(self) -> None:
        """Count none."""
        self.of_views = defaultdict[int, list[int]](lambda: [0, 0, 0])

    def cell(self, memory: Memory, sign: int = 1) -> str:
        """Return a memory's index entry: its terms, the roots that they don't show, and its marks; count it.

        `sign`: -1 to remove it.
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


def due_terms(connection: sqlite3.Connection, counts: ViewCounts) -> Iterator[tuple[int, str]]:
    """Yield what the index should hold, from the rows: key and cell of each indexed memory; count them.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        last, key = _last(connection, OF_MEMORIES.newest(connection)), 0
    while found := rows.readable(connection, key, ADDED_MEMORIES):
        yield from ((key, counts.cell(memory)) for key, memory in found.items() if memory and key <= last)
        key = max(found)


def counted(connection: sqlite3.Connection) -> dict[int, list[int]]:
    """Return the index's counts for each view with memories, in the form of `ViewCounts.of_views`.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        rows = connection.execute(f"SELECT view, live, past, terms FROM memory_seen_{name}").fetchall()  # noqa: S608
    return {view: counts for view, *counts in rows if any(counts)}


def _put(
    connection: sqlite3.Connection, name: str, memories: Sequence[tuple[int, Memory]], *, removes: bool = False
) -> None:
    """Add memories to the index, or remove them as indexed; count them."""
    words = f"memory_words_{name}"
    columns, values = (f"{words}, rowid, terms", "'delete', ?, ?") if removes else ("rowid, terms", "?, ?")
    counts = ViewCounts()
    cells = [(key, counts.cell(memory, -1 if removes else 1)) for key, memory in memories]
    connection.executemany(f"INSERT INTO {words}({columns}) VALUES({values})", cells)  # numbers
    connection.executemany(
        f"INSERT INTO memory_seen_{name} VALUES(?, ?, ?, ?) ON CONFLICT(view) DO UPDATE SET "  # numbers
        "live = live + excluded.live, past = past + excluded.past, terms = terms + excluded.terms",
        [(digest, *each) for digest, each in counts.of_views.items()],
    )


def _last(connection: sqlite3.Connection, name: str) -> int:
    """Return the key of the last indexed memory.

    Raises:
        DamagedIndexError: the index has none.
    """
    found = connection.execute(f"SELECT key FROM memory_last_{name}").fetchall()  # noqa: S608  # numbers
    if len(found) != 1 or not isinstance(found[0][0], int):
        raise DamagedIndexError("the index of memories does not say how far it goes")
    return int(found[0][0])


def _set_last(connection: sqlite3.Connection, name: str, key: int) -> None:
    connection.execute(f"UPDATE memory_last_{name} SET key = ?", (key,))  # noqa: S608  # numbers


# Finds candidates for a query in a view, in bounded time for any number of memories.

# Also the number of a term's memories to read: at a million, a millisecond a term. At 20,000 the ten best of six words
# are .96 those of a search that reads all; with 512 they are .88.
PROBED = 2048
# Number of rarest terms to look for together, in pairs and all at once; number with subjects.
TOGETHER = 4
SUBJECTS = 8
# Memories to find per combination, family or subject.
PAIRED = 128
# Terms in a larger fraction are combined only if fewer than three terms are rarer.
COMMON_FRACTION = 1 / 8


class TermStatistics:
    """Statistics of all memories of a view: `matching.Statistics`, from the lists; common terms are estimated."""

    def __init__(self, lists: TermLists) -> None:
        """Take the lists of a view."""
        self._lists = lists
        self._known: dict[str, int] = {}
        self._newest = 0

    @property
    def passages(self) -> int:
        """Number of memories in the view."""
        return self._lists.among

    @property
    def average_terms(self) -> float:
        """Average number of terms in a memory; above 0."""
        return max(1.0, self._lists.terms / max(1, self._lists.among))

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Count the memories with each term."""
        return {term: self._known[term] if term in self._known else self._probed(term) for term in terms}

    def _probed(self, term: str) -> int:
        return self.note(term, self._lists.newest([(term,)], PAIRED), PAIRED)

    def note(self, term: str, keys: Sequence[int], limit: int) -> int:
        """Return the number of memories with a term, given its newest ones, at most `limit`, and remember it."""
        if term not in self._known:
            count = len(keys)
            if count == limit:
                # The term's share since its oldest found memory stands for its share of all.
                self._newest = self._newest or self._lists.newest([], 1)[0]
                since = max(self._newest - keys[-1] + 1, limit)
                count = min(max(limit * self.passages // since, limit), self.passages)
            self._known[term] = count
        return self._known[term]


class ProbedTerm(NamedTuple):
    """A query term: whether all its memories are known, their number, and the term's weight."""

    term: str
    is_complete: bool
    memories: int
    weight: float


def candidates(lists: TermLists, query: ParsedQuery, limit: int) -> tuple[list[int], TermStatistics]:
    """Return at most `limit` memories of a view that may answer a query best, and statistics of the others."""
    counted = TermStatistics(lists)
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


def _add_fellows(lists: TermLists, known: Sequence[ProbedTerm], having: defaultdict[int, float]) -> None:
    """Add the weight of memories with another word of a term's subject, also for terms that no memory has."""
    for each in sorted(known, key=lambda each: each.memories)[:SUBJECTS]:
        if fellows := tuple(fellow.stem for fellow in synonyms(each.term)):
            for key in lists.newest([fellows], PAIRED):
                having[key] += FELLOW * each.weight


def _probe(
    lists: TermLists, statistics: TermStatistics, term: str, limit: int, having: defaultdict[int, float]
) -> ProbedTerm:
    keys = lists.newest([(term,)], limit)
    count = statistics.note(term, keys, limit)
    weight = idf(count, lists.among)
    for key in keys:
        having[key] += weight
    own = set(keys)
    for key in lists.newest([family(term)], PAIRED):
        if key not in own:
            having[key] += FAMILY * weight
    return ProbedTerm(term, len(keys) < limit, count, weight)


def _together(found: Sequence[ProbedTerm], among: int) -> list[tuple[ProbedTerm, ...]]:
    """Return the terms to look for together: combinations with a truncated list."""
    if all(each.is_complete for each in found):
        return []
    telling = [each for each in found if each.memories <= among * COMMON_FRACTION]
    if len(telling) < 3:
        telling = list(found)
    pairs = [pair for pair in combinations(telling, 2) if not all(each.is_complete for each in pair)]
    return [*pairs, *([tuple(telling)] if len(telling) > 2 else [])]
