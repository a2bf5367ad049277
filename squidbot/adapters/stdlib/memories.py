"""Durable facts that live in memory, for tests and for hosts that keep nothing."""

from __future__ import annotations

import json
import os
import secrets
import threading
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from squidbot.adapters.common.files import lock, make_folder, open_own, sync
from squidbot.adapters.stdlib.vectors import Spaces
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import (
    CARDS,
    Mark,
    Memory,
    Scope,
    Source,
    View,
    is_from_session,
    is_same,
    passage_of,
    refuse_misfit,
    refuse_missing,
    with_sources,
    without_messages,
)
from squidbot.core.memory.search import Index, Similarity, is_sought

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

    from squidbot.adapters.stdlib.vectors import InMemoryVectors
    from squidbot.core.memories import FactCategory, MemoryHit, NewSources
    from squidbot.core.vectors import Meant


# What a change makes of memories, decided before anything is changed: all of it, or an error that
# says why not.


def wanted(
    find: Callable[[str], Memory | None], memories: Sequence[Memory], said: NewSources, places: Mapping[str, str]
) -> list[Memory]:
    """Return what `MemoryStore.add` changes, as it is from then on; `find` gives what is there.

    Raises:
        NotFoundError, StoreError: it can't be done.
    """
    new = decided(find, memories)
    for memory_id, sources in said.items():
        old = new.get(memory_id) or find(memory_id)
        if old is None:
            raise NotFoundError(f"memory {memory_id!a:.80} is not there, or no more; nothing was changed")
        if (more := with_sources(old, sources)) is not old:
            new[memory_id] = more
    new |= {one.memory_id: one for one in moved(lambda memory_id: new.get(memory_id) or find(memory_id), places)}
    return list(new.values())


def decided(
    find: Callable[[str], Memory | None], memories: Sequence[Memory], gone: Collection[str] = ()
) -> dict[str, Memory]:
    """Return what adding memories would store, by id, if those were `gone`: new ones, and what they supersede.

    Raises:
        StoreError: one can't be added.
    """
    new: dict[str, Memory] = {}
    for memory in memories:
        refuse_misfit(memory)
        there = new.get(memory.memory_id)
        if there is None and memory.memory_id not in gone:
            there = find(memory.memory_id)
        if there is None:
            new[memory.memory_id] = memory
            if memory.supersedes:
                old = None if memory.supersedes in gone else find(memory.supersedes)
                new |= _superseded(memory, new.get(memory.supersedes) or old)
        elif not is_same(there, memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} is there, and another one; nothing was written")
    return new


def moved(find: Callable[[str], Memory | None], places: Mapping[str, str]) -> list[Memory]:
    """Return what `MemoryStore.supersede` changes, as it is from then on.

    Raises:
        StoreError: it can't be done.
    """
    changed: dict[str, Memory] = {}
    for memory_id, taker in places.items():
        old = _there(find, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _there(find, taker).scope[:2] != old.scope[:2]):
            raise StoreError(f"memory {memory_id!a:.80} was replaced before, or is another user's; nothing was written")
        changed[memory_id] = replace(old, superseded_by=taker)
    for taker in filter(None, places.values()):
        if (changed.get(taker) or _there(find, taker)).superseded_by:
            raise StoreError(f"memory {taker!a:.80} is history itself, and takes no place; nothing was written")
    return list(changed.values())


def _there(find: Callable[[str], Memory | None], memory_id: str) -> Memory:
    found = find(memory_id)
    if found is None:
        raise StoreError(f"memory {memory_id!a:.80} is not there; nothing was written")
    return found


def _superseded(memory: Memory, old: Memory | None) -> dict[str, Memory]:
    """Return, by its id, what a memory supersedes, as it is from then on.

    Raises:
        StoreError: it is not there, or another user's.
    """
    if old is None or old.scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} supersedes {memory.supersedes!a:.80}, which is not there or another "
            "user's; nothing was written"
        )
    return {old.memory_id: replace(old, superseded_by=old.superseded_by or memory.memory_id)}


class _Kept(NamedTuple):
    """A memory, and its place in the order of their coming."""

    memory: Memory
    place: int

    @property
    def order(self) -> tuple[float, int]:
        """What listings go by, newest first."""
        return -self.memory.time, -self.place


class Grave(NamedTuple):
    """What is left of a memory that was forgotten: its place in listings, whose it was, and why it is gone."""

    order: tuple[float, int]
    owner: tuple[str, str]
    reason: str


# All of one tenant's user, by id.
_Owned = dict[str, _Kept]


class InMemoryMemoryStore:
    """MemoryStore that is gone with the process; threads may share one."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, str], _Owned] = {}
        self._owner: dict[str, tuple[str, str]] = {}
        self._graves: dict[str, Grave] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._indexes: dict[tuple[View, bool], Index] = {}
        self._spaces = Spaces()
        self._places = 0
        self._lock = threading.Lock()

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories, all or nothing; each takes the place of what it supersedes. An equal one does nothing.

        With `mark` how far a session was read goes with them, in the place of `was`; with `said` sources that memories
        do not have yet, by id; with `places` memories are put into the places of others, too, as by `supersede`.

        Raises:
            NotFoundError: nothing was stored: one of `said` is not there.
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                user's, a value can't be stored, a place can't be taken, or another has read the session meanwhile.
        """
        with self._lock:
            placed = self._placed(wanted(self._find, memories, said or {}, places or {}))
            self._check_mark(mark, was)
            self._take_in(placed, mark)

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun."""
        with self._lock:
            return self._marks.get((session_id, reader))

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, all or nothing; "" takes that back.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """
        with self._lock:
            self._take_in(self._placed(moved(self._find, places)))

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too."""
        with self._lock:
            every = [kept.memory for owned in self._owners.values() for kept in owned.values()]
        return [memory for memory in every if is_from_session(memory, session_id)]

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that."""
        with self._lock:
            found = self._unsaid(session_id, frozenset(seqs))
            gone = [each.memory_id for each in found if not each.sources]
            for memory_id in gone:
                self._remove(memory_id, reason)
            self._take_in(self._placed(each for each in found if each.sources))
            return gone

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others, all or nothing; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` does.
        """
        with self._lock:
            without = frozenset(gone)
            refuse_missing(without, self._owner)
            placed = self._placed(decided(self._find, memories, without).values())
            for memory_id in without:
                self._remove(memory_id, reason)
            for place, memory in placed:
                self._graves.pop(memory.memory_id, None)
                self._put(memory, place)

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out."""
        with self._lock:
            return [found for found in map(self._find, memory_ids) if found]

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
        """
        with self._lock:
            behind = self._order(view, after) if after else None
            seen = sorted(self._seen(view, past=past), key=lambda kept: kept.order)
        listed = (kept.memory for kept in seen if behind is None or kept.order > behind)
        return list(islice((each for each in listed if category in {None, each.category}), max(limit, 0)))

    def search(  # noqa: PLR0913  # as the port has it
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: Meant | None = None,
    ) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, best first, ties newest first; with `meant` vectors speak.

        Raises:
            ValueError: there is no letter or digit in the query.
        """
        self._look()
        if not is_sought(query, now):
            return []
        with self._lock:
            known = self._indexes.get((view, past))
            if known is None:
                known = Index(passage_of(kept.memory) for kept in self._seen(view, past=past))
                self._indexes[view, past] = known
            if meant is None:
                return known.search(query, max(limit, 0), now)
            meaning = Similarity(self._spaces.nearest(meant), meant.even)
            cosines = partial(self._spaces.cosines, meant)
            return known.search(query, max(limit, 0), now, meaning=meaning, cosines=cosines)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, and return how many were there; that each was, and why it is gone, is kept."""
        with self._lock:
            return sum(self._remove(memory_id, reason) for memory_id in dict.fromkeys(memory_ids))

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given."""
        with self._lock:
            gone = (name for name in memory_ids if name in self._graves and name not in self._owner)
            return {name: self._graves[name].reason for name in gone}

    def models(self) -> dict[str, int]:
        """Return how many dimensions the vectors of each model have that are kept, in the order of their coming."""
        return self._spaces.models()

    def vectors_of(self, model: str, dimension: int) -> InMemoryVectors:
        """Return a model's vectors as the truth beside which an index of them is kept; none need be there yet."""
        return self._spaces.of(model, dimension)

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Keep vectors that a model made of memories, by id, made one long; return how many were still there.

        Raises:
            StoreError: nothing was kept: a vector, or the model's others, have another length than `dimension`, or it
                has no direction.
        """
        with self._lock:
            found = ((self._find(name), vector) for name, vector in of.items())
            return self._spaces.put(model, dimension, [(memory, vector) for memory, vector in found if memory])

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories that a model's vectors are still to be made of, in the order of their coming."""
        waiting = self._waiting(model)
        with self._lock:
            owner = self._owner.get(after)
            behind = self._owners[owner][after].place if owner else 0
        return [kept.memory for kept in waiting if kept.place > behind][: max(limit, 0)]

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories behind the last one of which a model's vector is kept."""
        waiting, having = self._waiting(model), self._spaces.having(model)
        with self._lock:
            there = (self._owners[self._owner[name]][name] for name in having if name in self._owner)
            last = max((kept.place for kept in there), default=0)
        return [kept.memory for kept in waiting if kept.place > last][: max(limit, 0)]

    def waiting(self, model: str) -> int:
        """Return how many memories there are of which no vector of a model is kept."""
        return len(self._waiting(model))

    def drop_vectors(self, model: str) -> None:
        """Remove a model's vectors."""
        self._spaces.drop(model)

    def _look(self) -> None:
        """Take in what others have written: nobody else has."""

    def _waiting(self, model: str) -> list[_Kept]:
        self._look()
        having = self._spaces.having(model)
        with self._lock:
            every = [kept for owned in self._owners.values() for kept in owned.values()]
        bare = (one for one in every if one.memory.memory_id not in having and one.memory.scope.collection != CARDS)
        return sorted(bare, key=lambda kept: kept.place)

    def _remove(self, memory_id: str, reason: str) -> bool:
        """Remove a memory but for its grave, and return whether it was there."""
        owner = self._owner.pop(memory_id, None)
        if owner is None:
            return False
        self._graves[memory_id] = Grave(self._owners[owner].pop(memory_id).order, owner, reason)
        for known in self._indexes.values():
            known.remove([memory_id])
        self._spaces.remove([memory_id])
        return True

    def _check_mark(self, mark: Mark | None, was: Mark | None) -> None:
        if mark is not None and self._marks.get(mark[:2]) != was:
            raise StoreError(f"session {mark.session_id!a:.80} was read by another meanwhile; nothing was written")

    def _take_in(self, placed: Iterable[tuple[int, Memory]], mark: Mark | None = None) -> None:
        for place, memory in placed:
            self._put(memory, place)
        if mark is not None:
            self._marks[mark[:2]] = mark

    def _find(self, memory_id: str) -> Memory | None:
        owner = self._owner.get(memory_id)
        return None if owner is None else self._owners[owner][memory_id].memory

    def _unsaid(self, session_id: str, seqs: Container[int]) -> list[Memory]:
        """Return the memories that lose a source with these messages, as they are from then on."""
        every = [kept.memory for owned in self._owners.values() for kept in owned.values()]
        left = [(each, without_messages(each, session_id, seqs)) for each in every]
        return [replace(each, sources=sources) for each, sources in left if sources != each.sources]

    def _placed(self, memories: Iterable[Memory]) -> list[tuple[int, Memory]]:
        """Return memories with their places in the order of their coming: new ones get the next."""
        placed, last = [], self._places
        for memory in memories:
            owner = self._owner.get(memory.memory_id)
            if owner is None:
                last += 1
            placed.append((last if owner is None else self._owners[owner][memory.memory_id].place, memory))
        return placed

    def _put(self, memory: Memory, place: int) -> None:
        owner = memory.scope.tenant, memory.scope.user
        owned = self._owners.setdefault(owner, {})
        known = owned.get(memory.memory_id) or _Kept(memory, place)
        owned[memory.memory_id] = known._replace(memory=memory)
        self._owner[memory.memory_id] = owner
        self._places = max(self._places, place)
        self._spaces.renew(memory)
        for (view, past), found in self._indexes.items():
            found.remove([memory.memory_id])
            if _is_seen(memory, view, past=past):
                found.add([passage_of(memory)])

    def _bury(self, memory_id: str, grave: Grave) -> None:
        self._graves[memory_id] = grave
        self._places = max(self._places, -int(grave.order[1]))

    def _clear(self) -> None:
        for each in (self._owners, self._owner, self._graves, self._marks, self._indexes):
            each.clear()
        self._places = 0

    def _seen(self, view: View, *, past: bool) -> Iterator[_Kept]:
        for kept in self._owners.get((view.scope.tenant, view.scope.user), {}).values():
            if _is_seen(kept.memory, view, past=past):
                yield kept

    def _order(self, view: View, memory_id: str) -> tuple[float, int]:
        """Return the place in listings of a memory that is, or was, in a view.

        Raises:
            NotFoundError: there is, and was, none.
        """
        found = [kept.order for kept in self._seen(view, past=True) if kept.memory.memory_id == memory_id]
        grave = self._graves.get(memory_id)
        if not found and grave and grave.owner == (view.scope.tenant, view.scope.user):
            found = [grave.order]
        if not found:
            raise NotFoundError(f"no memory {memory_id!a:.80} to list behind: begin with the first page")
        return found[0]


def _is_seen(memory: Memory, view: View, *, past: bool) -> bool:
    return (past or not memory.superseded_by) and View(memory.scope, view.isolation).key == view.key


# A file of JSON lines, each with its checksum, that several processes may append to.


class Lines:
    """One reader's and writer's place in a file of lines; the caller holds a lock of its own among threads.

    No two files have the same first line: it says whether the file is still the one that was read.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the first line of a file, which need not be there yet."""
        self.path = path
        self._read_bytes = 0
        self._read_lines = 0
        self._head = (
            b""  # the first line, by which a file is known: another takes its place when something is forgotten
        )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all others from writing, in any process.

        Raises:
            StoreError: the disk failed.
        """
        try:
            make_folder(self.path.parent)
            with open_own(self.path.with_name(f"{self.path.name}.lock"), "a") as file:
                lock(file)  # given back when the file is closed, and when the process dies
                yield
        except OSError as error:
            raise self._failed(error) from error

    def new(self) -> tuple[bool, list[object]]:
        """Return whether all must be read anew, and the values of the lines that came since the last call.

        Raises:
            DamagedStoreError: a line does not match its checksum.
            StoreError: the disk failed.
        """
        try:
            with self.path.open("rb") as file:
                head, size = file.readline(), os.fstat(file.fileno()).st_size
                is_another = head != self._head or size < self._read_bytes
                if is_another:
                    self._begin(head if head.endswith(b"\n") else b"")
                file.seek(self._read_bytes)
                data = file.read()
        except FileNotFoundError:
            was_there = bool(self._head)
            self._begin(b"")
            return was_there, []
        except OSError as error:
            raise self._failed(error) from error
        return is_another, self._values(data)

    def append(self, value: object) -> None:
        """Write a line behind the last whole one, while writing; durable on return. All before it were read.

        Raises:
            StoreError: nothing was written: the value is none for JSON, or the disk failed.
        """
        line = _line(value)
        try:
            with open_own(self.path, "r+" if self.path.exists() else "x") as file:
                file.truncate(self._read_bytes)
                file.seek(self._read_bytes)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if not self._read_bytes:
                sync(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, self._read_bytes)
            raise self._failed(error) from error
        self._head = self._head or line
        self._read_bytes += len(line)
        self._read_lines += 1

    def replace(self, values: Iterable[object]) -> None:
        """Put other lines in the place of all, while writing, at once and durable; the old bytes are overwritten.

        Raises:
            StoreError: the file is as it was: the disk failed.
        """
        unfinished = self.path.with_name(f"{self.path.name}.part")
        try:
            with open_own(unfinished, "w") as file:
                lines = [file.write(_line(value)) for value in values]
                file.flush()
                os.fsync(file.fileno())
            with self.path.open("r+b") as old:
                unfinished.replace(self.path)
                sync(self.path.parent)
                old.write(b"\0" * os.fstat(old.fileno()).st_size)
                old.flush()
                os.fsync(old.fileno())
        except OSError as error:
            raise self._failed(error) from error
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        with self.path.open("rb") as file:
            self._begin(file.readline())
        self._read_bytes, self._read_lines = sum(lines), len(lines)

    def _begin(self, head: bytes) -> None:
        self._head, self._read_bytes, self._read_lines = head, 0, 0

    def _values(self, data: bytes) -> list[object]:
        values = []
        for line in data.split(b"\n")[:-1]:
            self._read_lines += 1
            values.append(self._value(line))
            self._read_bytes += len(line) + 1
        return values

    def _value(self, line: bytes) -> object:
        body = line.partition(b",")[2][:-1]
        try:
            if line == b"[%d,%b]" % (crc32(body), body):
                value: object = json.loads(body.decode("utf-8", "surrogatepass"))
                return value
        except ValueError:
            pass  # no JSON: no line of ours
        advice = "put a backup in the file's place, or take the line out"
        if self._read_lines == 1:
            advice = "name another file, or put a backup in its place"
        raise DamagedStoreError(
            f"{self.path}:{self._read_lines}: the line does not match its checksum, or is none of ours; {advice}"
        )

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(f"{self.path}: {error.strerror}; nothing was written: check the disk and the path")


def _line(value: object) -> bytes:
    """Return a value as a line.

    Raises:
        StoreError: it is none for JSON.
    """
    try:
        # ASCII escapes would join two lone surrogates into one character on the way back.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StoreError(f"a value can't be stored: {error}; nothing was written") from error
    body = text.encode("utf-8", "surrogatepass")
    return b"[%d,%b]\n" % (crc32(body), body)


# Durable facts in one file of JSON lines: for people who read and copy their files, and some thousand
# facts.

FORM = "squidbot memories"
VERSION = 1
# How many are in a line where the file is written anew.
LINE_MEMORIES = 100


class FileMemoryStore(InMemoryMemoryStore):
    """MemoryStore in one file, read into memory; any number of processes and threads may use it.

    An `add` appends one line and syncs the disk. `forget` writes the file anew. Each line carries a checksum: whoever
    changes a fact by hand is told so.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a file, which is made with the first memory.

        Raises:
            DamagedStoreError: it is not one of ours, a newer squidbot wrote it, or a line does not match its checksum.
            StoreError: it can't be read.
        """
        super().__init__()
        self._is_begun = False
        self._lines = Lines(Path(path))
        self._turn = threading.RLock()
        self._refresh()

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories, all or nothing, durable on return; each takes the place of what it supersedes.

        With `mark` how far a session was read goes with them, in the place of `was`; with `said` sources that memories
        do not have yet, by id; with `places` memories are put into the places of others, too, as by `supersede`.

        Raises:
            NotFoundError: nothing was stored: one of `said` is not there.
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                user's, a value can't be stored, a place can't be taken, another has read the session meanwhile, or the
                disk failed.
        """

        def due() -> Iterable[Memory]:
            new = wanted(self._find, memories, said or {}, places or {})
            self._check_mark(mark, was)
            return new

        self._write(due, mark)

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun; raises as `__init__`."""
        self._refresh()
        return super().mark(session_id, reader)

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, all or nothing, durable on return; "" takes that back.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; what is to take
                its place is history; or the disk failed.
        """
        self._write(lambda: moved(self._find, places))

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too; raises as `__init__`."""
        self._refresh()
        return super().from_session(session_id)

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that.

        The file is written anew.

        Raises:
            StoreError: nothing was changed: the disk failed.
        """
        with self._turn, self._lines.writing():
            self._refresh()
            if not self._unsaid(session_id, frozenset(seqs)):
                return []
            gone = super().forget_messages(session_id, seqs, reason)
            self._write_anew()
            return gone

    def _write(self, due: Callable[[], Iterable[Memory]], mark: Mark | None = None) -> None:
        """Append what is due in view of all that is there, as one line."""
        with self._turn, self._lines.writing():
            self._refresh()
            self._append(due, mark)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others, all or nothing, durable on return; the file is written anew without them.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` and `forget` do.
        """
        with self._turn, self._lines.writing():
            self._refresh()
            if gone:
                super().exchange(gone, memories, reason)
                self._write_anew()
            else:
                self._append(lambda: decided(self._find, memories).values())

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out; raises as `__init__`."""
        self._refresh()
        return super().get(memory_ids)

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
        """
        self._refresh()
        return super().listed(view, category, limit=limit, after=after, past=past)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, and return how many were there; the file is written anew without them.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """
        with self._turn, self._lines.writing():
            self._refresh()
            if not super().get(memory_ids):
                return 0
            count = super().forget(memory_ids, reason)
            self._write_anew()
            return count

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given."""
        self._refresh()
        return super().forgotten(memory_ids)

    def _look(self) -> None:
        self._refresh()

    def _append(self, due: Callable[[], Iterable[Memory]], mark: Mark | None = None) -> None:
        """Append a line with what is due in view of all that is there, while writing."""
        with self._lock:
            placed = self._placed(due())
            if not placed and mark is None:
                return
            if not self._is_begun:
                self._lines.append(_head())
                self._is_begun = True
            line: dict[str, object] = {"put": [_as_json(place, memory) for place, memory in placed]}
            self._lines.append(line if mark is None else {**line, "marks": [mark]})
            self._take_in(placed, mark)

    def _write_anew(self) -> None:
        try:
            self._lines.replace(self._values())
        except BaseException:
            self._clear()  # what the file says is read again
            self._lines = Lines(self._lines.path)
            raise

    def _clear(self) -> None:
        super()._clear()
        self._is_begun = False

    def _refresh(self) -> None:
        """Take in what came since the last look.

        Raises:
            DamagedStoreError: a line is damaged, or none of ours.
            StoreError: the disk failed.
        """
        with self._turn:
            is_another, values = self._lines.new()
            if not is_another and not values:
                return
            with self._lock:
                if is_another:
                    self._clear()
                for value in values:
                    self._take(value)
                if is_another:  # vectors of what is not in it are of nothing
                    self._spaces.keep(self._owner)

    def _take(self, value: object) -> None:
        if not self._is_begun:
            if not isinstance(value, dict) or value.get(FORM) != VERSION:
                raise DamagedStoreError(f"{self._lines.path}: no memories of this squidbot's; name another file")
            self._is_begun = True
            return
        try:
            found = cast("dict[str, Any]", value)
            for place, fields in found.get("put", ()):
                self._put(_as_memory(fields), place)
            for fields in found.get("marks", ()):
                mark = Mark(*fields)
                self._marks[mark[:2]] = mark
            for memory_id, order, owner, reason in found.get("forgotten", ()):
                self._bury(memory_id, Grave((order[0], order[1]), (owner[0], owner[1]), reason))
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise DamagedStoreError(
                f"{self._lines.path}: a line is none of ours: {error}; name another file"
            ) from error

    def _values(self) -> Iterator[object]:
        """Give all that there is, as the values of lines."""
        yield _head()
        kept = sorted((each for owned in self._owners.values() for each in owned.values()), key=lambda each: each.place)
        for first in range(0, len(kept), LINE_MEMORIES):
            yield {"put": [_as_json(each.place, each.memory) for each in kept[first : first + LINE_MEMORIES]]}
        if self._marks:
            yield {"marks": list(self._marks.values())}
        if self._graves:
            yield {"forgotten": [[name, *grave] for name, grave in self._graves.items()]}


def _head() -> dict[str, object]:
    return {FORM: VERSION, "file": secrets.token_hex(8)}


def _as_json(place: int, memory: Memory) -> list[object]:
    return [place, list(astuple(memory))]


def _as_memory(fields: list[Any]) -> Memory:
    memory_id, text, category, scope, time, trust, speaker, tags, sources, *others = fields
    found = tuple(Source(*source) for source in sources)
    return Memory(memory_id, text, category, Scope(*scope), time, trust, speaker, tuple(tags), found, *others)
