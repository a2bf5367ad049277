"""The rows of facts, of what is left of forgotten ones, and of marks: every statement that reads or writes them."""

from __future__ import annotations

import time
from contextlib import suppress
from hashlib import sha256
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from squidbot.adapters.common.cells import json_text, plain, stored_text
from squidbot.adapters.common.memories import (
    MEMORY_COLUMNS,
    VIEW_COLUMNS,
    DamagedMemoryError,
    decode,
    decode_grave,
    decode_mark,
    encode,
    encode_grave,
    encode_mark,
    grave_checksum,
    refuse_other_reader,
    seconds_of,
    view_digest,
    view_digests,
)
from squidbot.core.errors import NotFoundError
from squidbot.core.memories import CATEGORIES, FactRow, View, is_from_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from psycopg import Connection

    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.memories import FactCategory, Isolation, Mark, Memory
    from squidbot.core.memory.days import Days

# Whole columns at once: one statement for any number of memories.
_TYPES = ("bigint", "bytea", *["bigint"] * 4, *["float8"] * 2, "bigint", *["bytea"] * 10)
_NAMES = MEMORY_COLUMNS.split(", ")
WRITE = (
    f"INSERT INTO {{schema}}.memories({MEMORY_COLUMNS}) "  # noqa: S608  # our own constants, here and below
    f"SELECT * FROM unnest({', '.join(f'%s::{each}[]' for each in _TYPES)}) "
    f"ON CONFLICT (tenant, key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES[1:])}"
)
_SELECT = f"SELECT {MEMORY_COLUMNS} FROM {{schema}}.memories WHERE tenant = {{schema}}.tenant() AND "  # noqa: S608
NAMED, PICKED = f"{_SELECT}sha256(id) = ANY(%s)", f"{_SELECT}key = ANY(%s)"
SOURCED = f"{_SELECT}position(%s::bytea IN sources) > 0 ORDER BY key"
BEHIND = f"{_SELECT}key > %s ORDER BY key LIMIT %s"
LAST_KEY = (
    "SELECT greatest((SELECT max(key) FROM {schema}.memories WHERE tenant = {schema}.tenant()), "
    "(SELECT max(key) FROM {schema}.forgotten_memories WHERE tenant = {schema}.tenant()), 0)"
)
REMOVE = "DELETE FROM {schema}.memories WHERE tenant = {schema}.tenant() AND key = ANY(%s)"
PLACES = (
    "SELECT key, id, owner, bot, agent, model, time, superseded_by IS NOT NULL FROM {schema}.memories "
    "WHERE tenant = {schema}.tenant() AND key = ANY(%s)"
)
BURY = (
    "INSERT INTO {schema}.forgotten_memories(key, id, owner, time, checksum, forgotten, reason) "
    "SELECT * FROM unnest("
    "%s::bigint[], %s::bytea[], %s::bigint[], %s::float8[], %s::bigint[], %s::float8[], %s::bytea[])"
)
GRAVES = (
    "SELECT DISTINCT ON (f.id) f.key, f.id, f.owner, f.time, f.checksum, f.forgotten, f.reason, EXISTS("
    "SELECT 1 FROM {schema}.memories m WHERE m.tenant = {schema}.tenant() AND sha256(m.id) = sha256(f.id)) "
    "FROM {schema}.forgotten_memories f WHERE f.tenant = {schema}.tenant() AND sha256(f.id) = ANY(%s) "
    "ORDER BY f.id, f.key DESC"
)
_GRAVE = "key, id, owner, time, checksum, forgotten, reason"
GRAVES_BEHIND = (
    f"SELECT {_GRAVE} FROM {{schema}}.forgotten_memories WHERE tenant = {{schema}}.tenant() AND key > %s "  # noqa: S608
    "ORDER BY key LIMIT %s"
)
PUT_GRAVES = (
    f"INSERT INTO {{schema}}.forgotten_memories({_GRAVE}) SELECT * FROM unnest("  # noqa: S608
    "%s::bigint[], %s::bytea[], %s::bigint[], %s::float8[], %s::bigint[], %s::float8[], %s::bytea[]) "
    "ON CONFLICT (tenant, key) DO UPDATE SET checksum = excluded.checksum, forgotten = excluded.forgotten, "
    "reason = excluded.reason"
)
MARKS = "SELECT session, reader, mark, checksum FROM {schema}.memory_marks WHERE tenant = {schema}.tenant()"
MARK = (
    "SELECT mark, checksum FROM {schema}.memory_marks "
    "WHERE tenant = {schema}.tenant() AND sha256(session) = sha256(%s) AND sha256(reader) = sha256(%s)"
)
PUT_MARK = (
    "INSERT INTO {schema}.memory_marks(session, reader, mark, checksum) VALUES(%s, %s, %s, %s) "
    "ON CONFLICT (tenant, sha256(session), sha256(reader)) "
    "DO UPDATE SET mark = excluded.mark, checksum = excluded.checksum"
)


def _listing(names: str, isolation: Isolation, bounds: str) -> str:
    """Return the statement that reads memories of views, newest first.

    An index has them by category, those that hold apart from history: what each part has is merged.
    """
    return (
        f"SELECT {names} FROM unnest(%s::bigint[], %s::bytea[], %s::boolean[]) "  # noqa: S608
        "AS part(of_view, of_category, is_held) CROSS JOIN LATERAL ("
        "SELECT * FROM {schema}.memories m WHERE m.tenant = {schema}.tenant() "
        f"AND m.{VIEW_COLUMNS[isolation]} = of_view "
        f"AND m.holds = is_held AND m.category = of_category AND {bounds} "
        "ORDER BY m.time DESC, m.key DESC LIMIT %s) m ORDER BY m.time DESC, m.key DESC LIMIT %s"
    )


def _parts(views: Iterable[View], categories: Iterable[FactCategory], *, past: bool) -> Iterable[list[Any]]:
    held = (True, False) if past else (True,)
    parts = product(map(view_digest, views), [category.encode() for category in categories], held)
    return map(list, zip(*parts, strict=True))


def _digests(names: Iterable[str]) -> list[bytes]:
    return [sha256(stored_text(name)[1]).digest() for name in names]


class KnownMemories:
    """Stored memories by id, each checked when it is asked for."""

    def __init__(self, rows: Iterable[Any]) -> None:
        """Take rows of the table."""
        self._rows = {plain(row[1]): row for row in rows}
        self._read: dict[str, Memory] = {}

    @property
    def keys(self) -> dict[str, int]:
        """Their keys, damaged or not."""
        return {name: row[0] for name, row in self._rows.items()}

    def without(self, memory_ids: Iterable[str]) -> KnownMemories:
        """Return the others."""
        gone = {*memory_ids}
        return KnownMemories(row for name, row in self._rows.items() if name not in gone)

    def find(self, memory_id: str) -> Memory | None:
        """Return a memory; `None` if it is not among them.

        Raises:
            DamagedMemoryError: its row does not match its checksum.
        """
        if memory_id in self._rows and memory_id not in self._read:
            self._read[memory_id] = decode(self._rows[memory_id])[1]
        return self._read.get(memory_id)


class FactRows:
    """Memories, graves and marks, within a transaction of the caller's, or each statement for itself."""

    def __init__(self, server: Server, connection: Connection[Any], *, alone: bool = False) -> None:
        """Take the transaction; `alone`: there is none, so that a statement takes one round trip."""
        self._run, self._connection, self._server = server.trip if alone else server.execute, connection, server

    def _read(self, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._run(self._connection, statement, cells)

    def known(self, memory_ids: Iterable[str]) -> KnownMemories:
        """Return those of these memories that are stored."""
        return KnownMemories(self._read(NAMED, (_digests({*memory_ids}),)))

    def picked(self, keys: Iterable[int]) -> list[tuple[int, Memory]]:
        """Return memories by key, in no order, except unreadable ones."""
        wanted = [*keys]
        return [found for found in map(readable, self._read(PICKED, (wanted,)) if wanted else ()) if found]

    def behind(self, key: int, limit: int) -> dict[int, Memory | None]:
        """Return the next memories after a key, in order of keys; `None` for an unreadable one."""
        return {row[0]: (readable(row) or (0, None))[1] for row in self._read(BEHIND, (key, limit))}

    def said_in(self, session_id: str) -> list[Memory]:
        """Return all memories, including history, with a session as a source.

        Raises:
            DamagedMemoryError: a row does not match its checksum.
        """
        quoted = json_text(session_id).encode("utf-8", "surrogatepass")
        memories = (decode(row)[1] for row in self._read(SOURCED, (quoted,)))
        return [memory for memory in memories if is_from_session(memory, session_id)]

    def listed(self, view: View, category: FactCategory | None, limit: int, after: str, *, past: bool) -> list[Memory]:
        """Return the memories of a view, newest first, after one of them.

        Raises:
            NotFoundError: that one never existed.
            DamagedMemoryError: a row does not match its checksum.
        """
        place = self._place(view, after) if after else (float("inf"), 0)
        statement = _listing(MEMORY_COLUMNS, view.isolation, "(m.time, m.key) < (%s, %s)")
        parts = _parts([view], [category] if category else CATEGORIES, past=past)
        rows = self._read(statement, (*parts, *place, max(limit, 0), max(limit, 0)))
        memories = (decode(row)[1] for row in rows)
        return [memory for memory in memories if View(memory.scope, view.isolation).key == view.key]

    def newest(self, views: Sequence[View], limit: int) -> list[dict[FactCategory, list[Memory]]]:
        """Return the memories of views that hold, by category, newest first, at most `limit` of each.

        Raises:
            DamagedMemoryError: a row does not match its checksum.
        """
        if not views:
            return []
        isolation = views[0].isolation
        parts = _parts(views, CATEGORIES, past=False)
        rows = self._read(_listing(MEMORY_COLUMNS, isolation, "true"), (*parts, max(limit, 0), None))
        found: dict[tuple[str, ...], dict[FactCategory, list[Memory]]]
        found = {view.key: {kind: [] for kind in CATEGORIES} for view in views}
        for row in rows:
            memory = decode(row)[1]
            if (of_view := found.get(View(memory.scope, isolation).key)) is not None:
                of_view[memory.category].append(memory)
        return [found[view.key] for view in views]

    def _place(self, view: View, memory_id: str) -> tuple[float, int]:
        """Return a memory's place in listings, also if it was forgotten.

        Raises:
            NotFoundError: it never existed.
        """
        known = self.known([memory_id])
        found = known.find(memory_id)
        if found and View(found.scope, view.isolation).key == view.key:
            return found.time, known.keys[memory_id]
        for key, _, owner, time_, *_ in [] if found else self._read(GRAVES, (_digests([memory_id]),)):
            if owner == view_digests(view.scope)[0]:
                return time_, key
        raise NotFoundError(f"no memory {memory_id!a:.80} to continue from: start with the first page")

    def of_days(self, view: View, days: Days, limit: int) -> list[int]:
        """Return the keys of at most `limit` memories of a view from these days, newest first."""
        statement = _listing("key", view.isolation, "m.time >= %s AND m.time < %s")
        cells = (*_parts([view], CATEGORIES, past=True), *seconds_of(days), limit, limit)
        return [key for (key,) in self._read(statement, cells)]

    def write(self, rows: Sequence[tuple[int, Memory]]) -> None:
        """Write memories by key, over their former rows.

        Raises:
            StoreError: a value can't be stored.
        """
        cells = [
            tuple(stored_text(cell)[1] if isinstance(cell, str) else cell for cell in encode(key, memory))
            for key, memory in rows
        ]
        if cells:
            self._read(WRITE, [list(column) for column in zip(*cells, strict=True)])

    def next_key(self) -> int:
        """Return a key that no memory of the tenant has, or had."""
        return int(self._read(LAST_KEY, ())[0][0]) + 1

    def bury(self, keys: Mapping[str, int], reason: str) -> dict[int, tuple[tuple[int, ...], bool]]:
        """Reduce rows to ids, places in listings, the time and the reason.

        Return the digests of the views that saw each, by key, and whether it was history.
        """
        now, data = time.time(), stored_text(reason)[1]
        gone = self._read(PLACES, ([*keys.values()],))
        graves = [
            (key, name, owner, said, grave_checksum(key, owner, said, now, name, data), now, data)
            for key, name, owner, _, _, _, said, _ in gone
        ]
        self._read(BURY, [list(column) for column in zip(*graves, strict=True)])
        self._read(REMOVE, ([*keys.values()],))
        return {key: (tuple(views), past) for key, _, *views, _, past in gone}

    def graves(self, memory_ids: Iterable[str]) -> dict[str, str]:
        """Return the ids that were forgotten and do not exist again, with the reason.

        Raises:
            DamagedMemoryError: a row does not match its checksum.
        """
        found: dict[str, str] = {}
        for key, name, owner, said, check, forgotten, reason, exists in self._read(GRAVES, (_digests(memory_ids),)):
            if exists:
                continue
            if grave_checksum(key, owner, said, forgotten, name, reason) != check:
                raise DamagedMemoryError(f"what is left of memory {plain(name)!a:.80}")
            found[plain(name)] = plain(reason)
        return found

    def rows_behind(self, after: int, limit: int) -> list[FactRow]:
        """Return memories and what is left of forgotten ones, with keys above one, in order.

        Raises:
            DamagedMemoryError: a row does not match its checksum.
        """
        found = [FactRow(*decode(row)) for row in self._read(BEHIND, (after, limit))]
        found += map(decode_grave, self._read(GRAVES_BEHIND, (after, limit)))
        return sorted(found, key=itemgetter(0))[:limit]

    def put_graves(self, rows: Iterable[FactRow]) -> None:
        """Write what is left of forgotten memories, over their former rows."""
        cells = [
            tuple(stored_text(cell)[1] if isinstance(cell, str) else cell for cell in encode_grave(row)) for row in rows
        ]
        if cells:
            self._read(PUT_GRAVES, [list(column) for column in zip(*cells, strict=True)])

    def marks(self) -> list[Mark]:
        """Return how far each reader has come in each session.

        Raises:
            DamagedMemoryError: one does not match its checksum.
        """
        found = (
            decode_mark(plain(session), plain(reader), (mark, check))
            for session, reader, mark, check in self._read(MARKS, ())
        )
        return [mark for mark in found if mark]

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return a reader's mark in a session; `None` if it has not begun.

        Raises:
            DamagedMemoryError: it does not match its checksum.
        """
        rows = self._read(MARK, (stored_text(session_id)[1], stored_text(reader)[1]))
        return decode_mark(session_id, reader, rows[0] if rows else None)

    def put_mark(self, new: Mark, was: Mark | None) -> None:
        """Replace a mark with another.

        Raises:
            StoreError: the stored mark is another one.
            DamagedMemoryError: it does not match its checksum.
        """
        refuse_other_reader(self.mark(new.session_id, new.reader), was, new.session_id)
        self._read(PUT_MARK, [stored_text(each)[1] if isinstance(each, str) else each for each in encode_mark(new)])


def readable(row: Any) -> tuple[int, Memory] | None:  # noqa: ANN401  # a row of the driver
    """Return the key and the memory in a row; `None` if it does not match its checksum."""
    with suppress(DamagedMemoryError):
        return decode(row)
    return None
