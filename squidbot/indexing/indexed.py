"""`reindex`: files that are new or have changed are read, their old pieces exchanged for the new; what is gone goes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import CARDS, View
from squidbot.core.memory.pieces.cards import (
    MOST_FORMER,
    OUTDATED,
    RULES,
    Card,
    Change,
    change,
    filed,
    ids_of,
    pieces_of,
    removal,
)
from squidbot.indexing.paths import Paths
from squidbot.indexing.reading import UnreadableError, read
from squidbot.indexing.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from squidbot.core.memories import Memory
    from squidbot.core.memory.asking import Memories
    from squidbot.core.memory.pieces.sizes import Piece
    from squidbot.indexing.walking import Found, Walk

__all__ = ["Became", "Indexed", "Outcome", "Paths", "reindex"]

Became = Literal["new", "changed", "renamed", "removed", "skipped"]
# So many pieces are exchanged at once; each file whole.
BATCH_PIECES = 1_000
# Cards that are read at once.
PAGE = 500
# A file that was changed so shortly before it was read may change again without showing it: two seconds is the
# coarsest clock of a file system (FAT).
SETTLED_SECONDS = 2.0
# Where another program indexes the same at the same time it is begun again, a little later each time: one of the two
# gets on with each try, and the one that waits finds more and more as it wants it. So long it waits in all.
FIRST_WAIT_SECONDS, MOST_WAIT_SECONDS, PATIENCE_SECONDS = 0.05, 2.0, 60.0


class Outcome(NamedTuple):
    """What became of a file.

    Attributes:
        path: what it is called in the index.
        became: new, changed, renamed, removed, or skipped, which is said each time; files that are as they were are
            told by their number alone.
        new_pieces: how many pieces came.
        old_pieces: how many went.
        reason: why it is skipped, or what it was called before.
    """

    path: str
    became: Became
    new_pieces: int = 0
    old_pieces: int = 0
    reason: str = ""


@dataclass
class Indexed:
    """What became of all files.

    Attributes:
        outcomes: of each file that is not as it was, in order of path.
        unchanged: how many are as they were.
        read: how many were read; the others showed that they are as they were.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    unchanged: int = 0
    read: int = 0

    def count(self, became: Became) -> int:
        """Return how many files became so."""
        return sum(each.became == became for each in self.outcomes)

    def with_earlier(self, written: Iterable[Outcome]) -> Indexed:
        """Return it with what had been written before all was looked at once more; by then such files had not changed.

        Of a file that has changed since the last counts.
        """
        told = {one.path for one in self.outcomes}
        earlier = {one.path: one for one in written if one.path not in told}
        there = sum(one.became != "removed" for one in earlier.values())
        return Indexed(sorted((*self.outcomes, *earlier.values())), self.unchanged - there, self.read)


def reindex(
    memories: Memories,
    paths: Paths,
    *,
    dry_run: bool = False,
    tick: Callable[[int, int], None] = lambda _done, _all: None,
    wait: Callable[[float], None] = time.sleep,
) -> Indexed:
    """Bring what is found of files to their state, and return what became of each.

    The exchange of a file is one transaction: whoever dies or fails leaves each file as it was or as it is. `tick` is
    told how many files are done, and of how many. With `dry_run` nothing is written. Where another program indexes the
    same files, `wait` is called with the seconds to let pass before all is looked at again: a minute in all.

    Raises:
        NotFoundError: what is asked for by hand is not there, and nothing was found of it before.
        StoreError: the store failed, or others have indexed the same for longer than that.
    """
    seconds, left = FIRST_WAIT_SECONDS, PATIENCE_SECONDS
    written: list[Outcome] = []
    while True:
        run = _Run(memories, paths, dry_run=dry_run)
        try:
            return run.done(tick).with_earlier(written)
        except _OvertakenError as error:
            written += run.written
            if left <= 0:
                raise StoreError(
                    f"other programs have indexed the same files for {PATIENCE_SECONDS:g} seconds, and still do; what "
                    "is found of each file is as one of them left it: run it again when they are done"
                ) from error
        wait(min(seconds, left))
        left -= seconds
        seconds = min(2 * seconds, MOST_WAIT_SECONDS)


class _OvertakenError(Exception):
    """Another program has changed what is found of a file since it was looked at; nothing was written."""


class _Run:
    """One look at all files."""

    def __init__(self, memories: Memories, paths: Paths, *, dry_run: bool) -> None:
        self._store = memories.store
        self._scope = memories.view.scope
        self._view = View(self._scope._replace(shelf=CARDS), memories.view.isolation)
        self._redacted = memories.redactor.redacted
        redactor = memories.redactor
        rules = (RULES, tuple(redactor.names), tuple(redactor.patterns), redactor.mark)
        self._rules = blake2b(repr(rules).encode("utf-8", "surrogatepass"), digest_size=16)
        self._paths = paths
        self._dry_run = dry_run
        self._indexed = Indexed()
        self._pending: list[Change] = []
        self.written: list[Outcome] = []
        self._began = time.time()
        self._gone: dict[str, list[Memory]] = {}
        self._passed: dict[str, str] = {}

    def done(self, tick: Callable[[int, int], None]) -> Indexed:
        """Look at all, and return what became of each."""
        cards = self._cards()
        walked = self._walked(self._asked(cards))
        self._refuse_nothing(walked, cards)
        files = {} if self._paths.drops else walked.files
        self._passed = {} if self._paths.drops else walked.skipped
        wanted = {name for name in cards if self._is_meant(name, walked)}
        self._gone = {name: found for name, found in cards.items() if name in wanted and name not in files}
        configured = self._walked(self._paths.configured).files if self._paths.asked else {}
        for done, file in enumerate(files.values()):
            tick(done, len(files))
            by_hand = "" if file.asked in self._paths.configured or file.name in configured else file.asked
            self._look(file, by_hand, cards.get(file.name, []))
        tick(len(files), len(files))
        self._end()
        self._refuse_twice()
        return self._indexed

    def _walked(self, asked: Iterable[str]) -> Walk:
        return walk(self._paths.folder, asked, self._paths.most_bytes, self._paths.without)

    def _cards(self) -> dict[str, list[Memory]]:
        """Return the cards of each file, newest first; several where two programs indexed it at once."""
        found: dict[str, list[Memory]] = {}
        after = ""
        while page := self._store.listed(self._view, limit=PAGE, after=after):
            for one in page:
                found.setdefault(one.text, []).append(one)
            after = page[-1].memory_id
        return found

    def _asked(self, cards: dict[str, list[Memory]]) -> list[str]:
        if self._paths.asked:
            return list(self._paths.asked)
        before = (Card.of(one).asked for found in cards.values() for one in found)
        return list(dict.fromkeys((*self._paths.configured, *filter(None, before))))

    def _refuse_nothing(self, walked: Walk, cards: Iterable[str]) -> None:
        """Pass what is asked for by hand, if it is there, or was.

        Raises:
            NotFoundError: something of it is not, and was not.
        """
        for asked in walked.missing if self._paths.asked else ():
            if not any(self._is_below(self._paths.folder / name, asked) for name in cards):
                raise NotFoundError(f"{asked}: there is no such file or folder, and none was found before")

    def _is_below(self, path: Path, asked: str) -> bool:
        whole = self._paths.folder / asked
        return path.is_relative_to(whole) or fnmatchcase(str(path), str(whole))

    def _is_meant(self, name: str, walked: Walk) -> bool:
        """Say whether a file is among what is asked for, or was, if it is not there any more."""
        if not self._paths.asked or name in walked.files or name in walked.skipped:
            return True
        path = self._paths.folder / name
        return not os.path.lexists(path) and any(self._is_below(path, each) for each in self._paths.asked)

    def _look(self, file: Found, by_hand: str, old: list[Memory]) -> None:
        """Bring the index to the state of a file, or note why it is passed over."""
        stamp = self._stamp(file.state)
        known = Card.of(old[0]) if len(old) == 1 else None
        if known and stamp and (known.stamp, known.asked) == (stamp, by_hand):
            self._indexed.unchanged += 1
            return
        try:
            self._take(file, Card(file.name, "", stamp, file.state.st_mtime, by_hand), old)
        except UnreadableError as error:
            self._passed[file.name] = str(error)
            if old:
                self._gone[file.name] = old
        except OSError as error:
            self._passed[file.name] = f"can't be read: {error.strerror or error}"

    def _take(self, file: Found, card: Card, old: list[Memory]) -> None:
        """Read a file.

        Raises:
            UnreadableError: nothing in it can be found by words.
            OSError: it can't be read now.
        """
        data = file.path.read_bytes()
        digest = self._rules.copy()
        digest.update(data)
        card = replace(card, digest=digest.hexdigest())
        known = Card.of(old[0]) if len(old) == 1 else None
        if known and (known.digest, known.asked) == (card.digest, card.asked):
            self._settle(known, card.stamp, old)
            return
        pieces = read(file.path, data, self._redacted)
        if _state_of(file.path.stat()) != _state_of(file.state):
            self._passed[file.name] = "it was written while it was read; run it again"
            return
        self._indexed.read += 1
        self._file(card, pieces, old)

    def _settle(self, known: Card, stamp: str, old: list[Memory]) -> None:
        """Note that a file says what it said, and by what that is seen next time without reading it."""
        self._indexed.read += 1
        self._indexed.unchanged += 1
        if stamp != known.stamp:
            card = replace(known, stamp=stamp).memory(self._scope)
            self._add(Change(tuple(one.memory_id for one in old), (card,)))

    def _stamp(self, state: os.stat_result) -> str:
        """Return what tells that a file has not changed; "" where it may change without showing it."""
        if max(state.st_mtime, state.st_ctime) > self._began - SETTLED_SECONDS:
            return ""
        return " ".join((self._rules.hexdigest()[:8], *map(str, _state_of(state))))

    def _file(self, card: Card, pieces: Sequence[Piece], old: list[Memory]) -> None:
        """Exchange the pieces of a file for those that it has now."""
        before = self._renamed(card) if not old else ""
        cards = self._gone.pop(before, old)
        known = Card.of(cards[0]) if cards else card
        former = tuple(filter(None, (before, *known.former)))[:MOST_FORMER]
        ids = ids_of(pieces, card.path, self._scope)
        card = replace(card, pieces=tuple(ids), former=former)
        if card == known and len(cards) == 1:
            self._indexed.unchanged += 1
            return
        wanted = self._remembered(pieces, card)
        there = self._store.get(list(dict.fromkeys((*ids, *pieces_of(cards)))))
        done = change(card, self._scope, wanted, cards, there)
        if before:
            self._tell(Outcome(card.path, "renamed", done.new_pieces, done.old_pieces, before))
        elif not cards:
            self._tell(Outcome(card.path, "new", done.new_pieces))
        elif card.digest == known.digest and not (done.new_pieces or done.old_pieces):
            self._indexed.unchanged += 1
        else:
            self._tell(Outcome(card.path, "changed", done.new_pieces, done.old_pieces))
        self._add(done)

    def _renamed(self, card: Card) -> str:
        """Return the name that a new file had before: that of one that is gone, and was the same; "" for none."""
        same = (name for name, found in self._gone.items() if Card.of(found[0]).digest == card.digest)
        return next((name for name in same if name not in self._passed), "")

    def _remembered(self, pieces: Sequence[Piece], card: Card) -> list[Memory]:
        """Return the pieces of a file without those that somebody wanted forgotten, under any name that it had."""
        memories = filed(pieces, card, self._scope)
        names = [ids_of(pieces, path, self._scope) for path in (card.path, *card.former)]
        reasons = self._store.forgotten([one for ids in names for one in ids])
        unwanted = {memory_id for memory_id, reason in reasons.items() if reason != OUTDATED}
        return [memory for memory, *ids in zip(memories, *names, strict=True) if unwanted.isdisjoint(ids)]

    def _end(self) -> None:
        """Take out what is gone, and tell what was passed over."""
        for name, cards in self._gone.items():
            done = removal(cards, self._store.get(pieces_of(cards)))
            passed = self._passed.pop(name, "")
            reason = passed if os.path.lexists(self._paths.folder / name) else ""
            self._tell(Outcome(name, "skipped" if reason else "removed", 0, done.old_pieces, reason))
            self._add(done)
        for name, reason in self._passed.items():
            self._tell(Outcome(name, "skipped", reason=reason))
        self._exchange()
        self._indexed.outcomes.sort()

    def _refuse_twice(self) -> None:
        """Pass where what is new here is new here alone.

        Raises:
            _OvertakenError: another program found the same file new, in another state: both states are there.
        """
        new = {one.path for one in self.written if one.became == "new"}
        if new and any(name in new and len(found) > 1 for name, found in self._cards().items()):
            raise _OvertakenError

    def _tell(self, outcome: Outcome) -> None:
        self._indexed.outcomes.append(outcome)

    def _add(self, change: Change) -> None:
        self._pending.append(change)
        if sum(len(each.gone) + len(each.memories) for each in self._pending) >= BATCH_PIECES:
            self._exchange()

    def _exchange(self) -> None:
        gone = [memory_id for each in self._pending for memory_id in each.gone]
        memories = [memory for each in self._pending for memory in each.memories]
        self._pending = []
        if (gone or memories) and not self._dry_run:
            self._write(gone, memories)
            self.written = [one for one in self._indexed.outcomes if one.became != "skipped"]

    def _write(self, gone: list[str], memories: list[Memory]) -> None:
        """Exchange them.

        Raises:
            _OvertakenError: what goes is not there any more, or what comes is there in another state.
        """
        try:
            self._store.exchange(gone, memories, OUTDATED)
        except NotFoundError as error:
            raise _OvertakenError from error
        except DamagedStoreError:
            raise
        except StoreError as error:
            if self._store.get(list({one.memory_id for one in memories}.difference(gone))):
                raise _OvertakenError from error
            raise


def _state_of(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
