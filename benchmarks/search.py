"""Search over all messages of a session, and a block's messages brought back, at 1,000 to 1,000,000 messages.

A page is 20 hits with their messages. The words of the seeded text are common, each in a third to two thirds of all
messages, but for the 97 names of files, each in one of a thousand: the kinds of queries differ in that. The sizes take
turns.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.clocks import Times
from benchmarks.host import SESSION
from benchmarks.report import Bar, Result, Table
from benchmarks.seed import conversation
from squidbot.adapters.sqlite3 import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from squidbot.core.messages import SearchMatch

__all__ = ["measure"]

HITS = 20
BLOCK_MESSAGES = 60
APPENDS = 640
MOST_MS = 10.0
# Each of its words is in most messages: some 2,000 texts are read for a page. Rarer words, quoted, are the usual case.
WITHOUT_BAR = "a phrase in one of a hundred"
# Queries by kind; # stands for a number below 97.
QUERIES = {
    "a rare name": ("part#.py", "src/part#.py"),
    "a common word": ("cache", "deploy", "the"),
    "three common words": ("cache price index", "worker thread lock"),
    "eight common words": ("the of in is that we should with",),
    "a question": ("why does the deploy of part# fail with 404",),
    "a path in every third": ("src/app/main.py", "example.org/docs"),
    "a phrase": ('"cache price"', '"src/part#.py"'),
    "a phrase in one of a hundred": ('"timeout retry"',),
    "a word that is nowhere": ("zebra",),
}


class Searched:
    """One seeded file, what was measured on it, and what its index takes."""

    def __init__(self, path: Path, messages: int) -> None:
        """Open the file and index it."""
        self.messages = messages
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self._path = path
        self._store = SqliteStore(path)
        before = self._bytes()
        while self.times["index"].of(lambda: self._store.catch_up(SESSION)):
            pass
        self.index_bytes = self._bytes() - before
        self.file_bytes = before
        self._chance = random.Random(1)  # noqa: S311  # where to look, no secret

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def round(self) -> None:
        """Ask for a page of each kind, for a second page, and for a block."""
        for kind, queries in QUERIES.items():
            query = self._chance.choice(queries).replace("#", str(self._chance.randrange(97)))
            found = self.times[kind].of(partial(self._page, query, None))
            if kind == "three common words" and found:
                self.times["a second page"].of(partial(self._page, query, found[-1]))
        first = self._chance.randrange(max(1, self.messages - BLOCK_MESSAGES))
        self.times["recall"].of(lambda: self._store.read(SESSION, first, first + BLOCK_MESSAGES - 1))

    def append(self) -> None:
        """Append one message after the other."""
        for message in conversation(APPENDS, seed_number=2):
            seq = self._store.head(SESSION)[0]
            kind = "append that indexes" if seq % 64 == 63 else "append"
            row = replace(message, seq=seq, turn=seq)
            self.times[kind].of(partial(self._store.append, SESSION, seq, [row]))

    def _page(self, query: str, after: SearchMatch | None) -> list[SearchMatch]:
        found = self._store.search(SESSION, query, HITS, after)
        self._store.pick(SESSION, [each.seq for each in found])
        return found

    def _bytes(self) -> int:
        with self._store._reading as connection:  # noqa: SLF001  # how large the file is has no face of its own
            return int(connection.execute("PRAGMA page_count").fetchone()[0]) * 4096


def measure(files: Mapping[int, Path], rounds: int, progress: Callable[[str], None]) -> Result:
    """Measure on seeded files, given by their number of messages."""
    opened = []
    for messages, path in files.items():
        progress(f"search: indexing {messages:,} messages")
        opened.append(Searched(path, messages))
    progress(f"search: {rounds} rounds")
    for _ in range(rounds):
        for each in opened:
            each.round()
    for each in opened:
        each.append()
        each.close()
    remarks = [
        f"A page is {HITS} hits and their messages, a block {BLOCK_MESSAGES} messages. One append in 64 indexes them.",
        "Index bytes: what the file grew by; the texts of the seeded messages have 90 different words.",
    ]
    return Result("search", [_pages(opened), _index(opened)], _bars(opened[-1]), remarks)


def _pages(opened: list[Searched]) -> Table:
    rows = [
        (f"{name}, {shown}", tuple(figure(each.times[kind]) for each in opened))
        for kind, name in (
            *((kind, f"page for {kind}") for kind in QUERIES),
            ("a second page", "a second page"),
            ("recall", "recall of a block"),
            ("append", "append"),
            ("append that indexes", "append that indexes"),
        )
        for shown, figure in FIGURES.items()
    ]
    return Table("Search and recall by stored messages", _columns(opened), tuple(rows))


def _index(opened: list[Searched]) -> Table:
    rows = (
        ("CPU microseconds a message", tuple(sum(each.times["index"].cpu) / each.messages * 1e6 for each in opened)),
        ("wall seconds in all", tuple(sum(each.times["index"].wall) for each in opened)),
        ("bytes a message", tuple(each.index_bytes / each.messages for each in opened)),
        ("index / file without it", tuple(each.index_bytes / each.file_bytes for each in opened)),
    )
    return Table("Indexing a session that had no index", _columns(opened), rows)


def _columns(opened: list[Searched]) -> tuple[str, ...]:
    return tuple(f"{each.messages:,}" for each in opened)


FIGURES: dict[str, Callable[[Times], float]] = {
    "wall ms, p50": lambda times: times.wall_ms(0.5),
    "wall ms, p99": lambda times: times.wall_ms(0.99),
    "CPU ms": lambda times: times.cpu_ms,
}


def _bars(largest: Searched) -> list[Bar]:
    at = f"at {largest.messages:,} messages"
    pages = [
        Bar(f"page for {kind} {at}, wall ms p50", largest.times[kind].wall_ms(0.5), at_most=MOST_MS)
        for kind in QUERIES
        if kind != WITHOUT_BAR
    ]
    return [
        *pages,
        Bar(f"recall of a block {at}, wall ms p50", largest.times["recall"].wall_ms(0.5), at_most=MOST_MS),
        Bar(f"append {at}, wall ms p99, a batch indexed (P3)", _all(largest).wall_ms(0.99), at_most=20.0),
    ]


def _all(largest: Searched) -> Times:
    """Return all appends together."""
    kinds = [largest.times[kind] for kind in ("append", "append that indexes")]
    return Times([cpu for kind in kinds for cpu in kind.cpu], [wall for kind in kinds for wall in kind.wall])
