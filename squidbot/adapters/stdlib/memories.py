"""Memory stores without a package: one that lives in memory, and one in a file of JSON lines, read into memory."""

from __future__ import annotations

import json
import os
import secrets
import threading
from contextlib import contextmanager, suppress
from dataclasses import astuple
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from squidbot.adapters.common.files import lock, make_folder, open_own, sync
from squidbot.adapters.common.memories import added, memories_without, replaced
from squidbot.adapters.stdlib.vectors import VectorSpaces
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import (
    CARDS,
    Mark,
    Memory,
    Scope,
    Source,
    View,
    is_from_session,
    passage_of,
    refuse_missing,
)
from squidbot.core.memory.search import Index, Similarity, is_sought

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.adapters.stdlib.vectors import InMemoryVectors
    from squidbot.core.memories import FactCategory, MemoryHit, NewSources
    from squidbot.core.vectors import QueryMeaning


class Grave(NamedTuple):
    """What is left of a forgotten memory: its place in listings, whose it was, and why it is gone."""

    order: tuple[float, int]
    owner: tuple[str, str]
    reason: str


class InMemoryMemoryStore:
    """MemoryStore that is gone with the process; threads may share one."""

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}
        # The order in which memories came, by id.
        self._places: dict[str, int] = {}
        self._last_place = 0
        self._graves: dict[str, Grave] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._indexes: dict[tuple[View, bool], Index] = {}
        self._spaces = VectorSpaces()
        self._lock = threading.RLock()

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
        with self._changing():
            changed = added(self._memories.get, memories, said, places)
            if mark is not None and self._marks.get(mark[:2]) != was:
                raise StoreError(f"session {mark.session_id!a:.80} was read by another meanwhile; nothing was written")
            self._commit(changed, mark=mark)

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun."""
        with self._reading():
            return self._marks.get((session_id, reader))

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, all or nothing; "" takes that back.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """
        with self._changing():
            self._commit(replaced(self._memories.get, places))

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too."""
        with self._reading():
            return [memory for memory in self._memories.values() if is_from_session(memory, session_id)]

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that."""
        with self._changing():
            kept, gone = memories_without(self._memories.values(), session_id, frozenset(seqs))
            self._commit(kept, gone, reason)
            return gone

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others, all or nothing; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` does.
        """
        with self._changing():
            refuse_missing(gone, self._memories)
            self._commit(added(self._memories.get, memories, gone=frozenset(gone)), [*dict.fromkeys(gone)], reason)

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out."""
        with self._reading():
            return [self._memories[name] for name in memory_ids if name in self._memories]

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
        """
        with self._reading():
            behind = self._order_in(view, after) if after else None
            seen = sorted((self._order(memory), memory.memory_id) for memory in self._seen(view, past=past))
            listed = (self._memories[name] for order, name in seen if behind is None or order > behind)
            return list(islice((each for each in listed if category in {None, each.category}), max(limit, 0)))

    def search(  # noqa: PLR0913  # as the port has it
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: QueryMeaning | None = None,
    ) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, best first, ties newest first; with `meant` vectors speak.

        Raises:
            ValueError: there is no letter or digit in the query.
        """
        with self._reading():
            if not is_sought(query, now):
                return []
            known = self._indexes.get((view, past))
            if known is None:
                known = self._indexes[view, past] = Index(map(passage_of, self._seen(view, past=past)))
            if meant is None:
                return known.search(query, max(limit, 0), now)
            meaning = Similarity(self._spaces.nearest(meant), meant.even)
            cosines = partial(self._spaces.cosines, meant)
            return known.search(query, max(limit, 0), now, meaning=meaning, cosines=cosines)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, and return how many were there; that each was, and why it is gone, is kept."""
        with self._changing():
            gone = [name for name in dict.fromkeys(memory_ids) if name in self._memories]
            self._commit({}, gone, reason)
            return len(gone)

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given."""
        with self._reading():
            return {name: self._graves[name].reason for name in memory_ids if name in self._graves}

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
            found = [(self._memories[name], vector) for name, vector in of.items() if name in self._memories]
            return self._spaces.put(model, dimension, found)

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories that a model's vectors are still to be made of, in the order of their coming."""
        with self._reading():
            return self._waiting(model, self._places.get(after, 0))[: max(limit, 0)]

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories behind the last one of which a model's vector is kept."""
        with self._reading():
            last = max((self._places.get(name, 0) for name in self._spaces.having(model)), default=0)
            return self._waiting(model, last)[: max(limit, 0)]

    def waiting(self, model: str) -> int:
        """Return how many memories there are of which no vector of a model is kept."""
        with self._reading():
            return len(self._waiting(model))

    def drop_vectors(self, model: str) -> None:
        """Remove a model's vectors."""
        self._spaces.drop(model)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Keep other threads out; a store in a file takes in what other processes have written."""
        with self._lock:
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep all other writers out."""
        with self._lock:
            yield

    def _commit(
        self, changed: Mapping[str, Memory], gone: Sequence[str] = (), reason: str = "", mark: Mark | None = None
    ) -> None:
        """Forget memories, put others in, and set a mark."""
        places = self._placed(changed)
        for name in gone:
            memory = self._memories[name]
            self._bury(name, Grave(self._order(memory), (memory.scope.tenant, memory.scope.user), reason))
        for name, memory in changed.items():
            self._put(memory, places[name])
        if mark is not None:
            self._marks[mark[:2]] = mark

    def _placed(self, changed: Iterable[str]) -> dict[str, int]:
        """Return the places of memories in the order of their coming: new ones get the next."""
        new = (name for name in changed if name not in self._places)
        next_places = {name: place for place, name in enumerate(new, self._last_place + 1)}
        return {name: self._places.get(name) or next_places[name] for name in changed}

    def _put(self, memory: Memory, place: int) -> None:
        name = memory.memory_id
        self._memories[name], self._places[name] = memory, place
        self._last_place = max(self._last_place, place)
        self._graves.pop(name, None)
        self._spaces.renew(memory)
        for (view, past), index in self._indexes.items():
            index.remove([name])
            if _is_seen(memory, view, past=past):
                index.add([passage_of(memory)])

    def _bury(self, name: str, grave: Grave) -> None:
        """Remove a memory, if it is there, but for its grave."""
        self._memories.pop(name, None)
        self._places.pop(name, None)
        self._graves[name] = grave
        self._last_place = max(self._last_place, -grave.order[1])
        self._spaces.remove([name])
        for index in self._indexes.values():
            index.remove([name])

    def _order(self, memory: Memory) -> tuple[float, int]:
        """Return the place of a memory in listings, newest first."""
        return -memory.time, -self._places[memory.memory_id]

    def _order_in(self, view: View, memory_id: str) -> tuple[float, int]:
        """Return the place in listings of a memory that is, or was, in a view.

        Raises:
            NotFoundError: there is, and was, none.
        """
        memory, grave = self._memories.get(memory_id), self._graves.get(memory_id)
        if memory and _is_seen(memory, view, past=True):
            return self._order(memory)
        if grave and grave.owner == (view.scope.tenant, view.scope.user):
            return grave.order
        raise NotFoundError(f"no memory {memory_id!a:.80} to list behind: begin with the first page")

    def _seen(self, view: View, *, past: bool) -> Iterator[Memory]:
        return (memory for memory in self._memories.values() if _is_seen(memory, view, past=past))

    def _waiting(self, model: str, behind: int = 0) -> list[Memory]:
        having = self._spaces.having(model)
        bare = ((place, name) for name, place in self._places.items() if place > behind and name not in having)
        memories = (self._memories[name] for _, name in sorted(bare))
        return [memory for memory in memories if memory.scope.collection != CARDS]


def _is_seen(memory: Memory, view: View, *, past: bool) -> bool:
    return (past or not memory.superseded_by) and View(memory.scope, view.isolation).key == view.key


FORM = "squidbot memories"
VERSION = 1


class JsonLines:
    """One place in a file of JSON lines, each with its checksum, that several processes may append to.

    The caller holds a lock among threads. No two files have the same first line: it says whether the file is still the
    one that was read.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the first line of a file, which need not be there yet."""
        self.path = path
        self._read_bytes = 0
        self._read_lines = 0
        # The first line, by which a file is known: another takes its place when something is forgotten.
        self._head = b""

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

    def new(self) -> tuple[bool, list[dict[str, Any]]]:
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
        head = b"" if self._head else _line({FORM: VERSION, "file": secrets.token_hex(8)})
        line = _line(value)
        try:
            with open_own(self.path, "r+" if self.path.exists() else "x") as file:
                file.truncate(self._read_bytes)
                file.seek(self._read_bytes)
                file.write(head + line)
                file.flush()
                os.fsync(file.fileno())
            if not self._read_bytes:
                sync(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, self._read_bytes)
            raise self._failed(error) from error
        self._head = self._head or head
        self._read_bytes += len(head) + len(line)
        self._read_lines += 2 if head else 1

    def replace(self, values: Iterable[object]) -> None:
        """Put other lines in the place of all, while writing, at once and durable; the old bytes are overwritten.

        Raises:
            StoreError: the file is as it was: the disk failed.
        """
        unfinished = self.path.with_name(f"{self.path.name}.part")
        try:
            with open_own(unfinished, "w") as file:
                head = {FORM: VERSION, "file": secrets.token_hex(8)}
                lines = [file.write(_line(value)) for value in (head, *values)]
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

    def _values(self, data: bytes) -> list[dict[str, Any]]:
        values = []
        for line in data.split(b"\n")[:-1]:
            self._read_lines += 1
            value = self._value(line)
            if not isinstance(value, dict) or (self._read_lines == 1 and value.get(FORM) != VERSION):
                raise DamagedStoreError(f"{self.path}: no memories of this squidbot's; name another file")
            if self._read_lines > 1:
                values.append(value)
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


# How many are in a line where the file is written anew.
LINE_MEMORIES = 100


class FileMemoryStore(InMemoryMemoryStore):
    """MemoryStore in one file, for some thousand facts; any number of processes and threads may use it.

    An `add` appends one line and syncs the disk. `forget` writes the file anew. Each line carries a checksum: a fact
    that was changed by hand is an error. Every method raises DamagedStoreError where a line is damaged, and StoreError
    where the disk failed; then nothing was changed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a file, which is made with the first memory.

        Raises:
            DamagedStoreError: it is not one of ours, a newer squidbot wrote it, or a line does not match its checksum.
            StoreError: it can't be read.
        """
        super().__init__()
        self._file = JsonLines(Path(path))
        with self._reading():
            pass

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            self._refresh()
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock, self._file.writing():
            self._refresh()
            yield

    def _commit(
        self, changed: Mapping[str, Memory], gone: Sequence[str] = (), reason: str = "", mark: Mark | None = None
    ) -> None:
        if not gone and (changed or mark):
            places = self._placed(changed)
            line: dict[str, object] = {"put": [_as_json(places[name], memory) for name, memory in changed.items()]}
            self._file.append(line if mark is None else {**line, "marks": [mark]})
        super()._commit(changed, gone, reason, mark)
        if gone:
            try:
                self._file.replace(self._values())
            except BaseException:
                self._clear()  # what the file says is read again
                self._file = JsonLines(self._file.path)
                raise

    def _clear(self) -> None:
        for each in (self._memories, self._places, self._graves, self._marks, self._indexes):
            each.clear()
        self._last_place = 0

    def _refresh(self) -> None:
        """Take in what came since the last look."""
        is_another, values = self._file.new()
        if is_another:
            self._clear()
        for value in values:
            self._take(value)
        if is_another:  # vectors of what is not in it are of nothing
            self._spaces.keep(self._memories)

    def _take(self, value: dict[str, Any]) -> None:
        try:
            for place, fields in value.get("put", ()):
                self._put(_as_memory(fields), place)
            for fields in value.get("marks", ()):
                mark = Mark(*fields)
                self._marks[mark[:2]] = mark
            for memory_id, order, owner, reason in value.get("forgotten", ()):
                self._bury(memory_id, Grave((order[0], order[1]), (owner[0], owner[1]), reason))
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise DamagedStoreError(f"{self._file.path}: a line is none of ours: {error}; name another file") from error

    def _values(self) -> Iterator[object]:
        """Yield all that there is, as the values of lines."""
        names = sorted(self._places, key=self._places.__getitem__)
        kept = [_as_json(self._places[name], self._memories[name]) for name in names]
        for first in range(0, len(kept), LINE_MEMORIES):
            yield {"put": kept[first : first + LINE_MEMORIES]}
        if self._marks:
            yield {"marks": list(self._marks.values())}
        if self._graves:
            yield {"forgotten": [[name, *grave] for name, grave in self._graves.items()]}


def _as_json(place: int, memory: Memory) -> list[object]:
    return [place, list(astuple(memory))]


def _as_memory(fields: list[Any]) -> Memory:
    memory_id, text, category, scope, time, trust, speaker, tags, sources, *others = fields
    found = tuple(Source(*source) for source in sources)
    return Memory(memory_id, text, category, Scope(*scope), time, trust, speaker, tuple(tags), found, *others)
