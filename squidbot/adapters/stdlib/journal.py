"""Durable facts in one file of JSON lines: for people who read and copy their files, and some thousand facts."""

from __future__ import annotations

import secrets
import threading
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from squidbot.adapters.stdlib.changes import decided, moved, wanted
from squidbot.adapters.stdlib.lines import Lines
from squidbot.adapters.stdlib.memories import Grave, InMemoryMemoryStore
from squidbot.core.errors import DamagedStoreError
from squidbot.core.memories import Mark, Memory, Scope, Source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import Category, Said, View

__all__ = ["FileMemoryStore"]

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
        said: Said | None = None,
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

    def said_in(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too; raises as `__init__`."""
        self._refresh()
        return super().said_in(session_id)

    def unsay(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that.

        The file is written anew.

        Raises:
            StoreError: nothing was changed: the disk failed.
        """
        with self._turn, self._lines.writing():
            self._refresh()
            if not self._unsaid(session_id, frozenset(seqs)):
                return []
            gone = super().unsay(session_id, seqs, reason)
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
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
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
