"""`check` looks at every row of a store's file; `repair` writes a copy of all that can be saved. Neither changes it.

What was lost keeps its place: a message that says so stands at its seq, so that every other id still means what it did,
and the session goes on. A lost record repeats the one before it, which changes nothing that the engine builds from
them; a lost plan at the end is left out, so that the one before it is in force again. A record of the kind "repair"
says what happened.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Self, TypeAlias, cast
from zlib import crc32

from squidbot.adapters.sqlite3 import files, index, rows
from squidbot.adapters.sqlite3.files import FOREIGN, PAGE_BYTES, store_error
from squidbot.adapters.sqlite3.index import OF_MESSAGES, WORDS, DamagedIndexError, index_errors
from squidbot.adapters.sqlite3.memory import index as memory_index
from squidbot.adapters.sqlite3.memory import store
from squidbot.adapters.sqlite3.memory.index import OF_MEMORIES
from squidbot.adapters.sqlite3.rows import SEQ_BITS
from squidbot.adapters.sqlite3.store import SqliteStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Category, Cost, Record, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from squidbot.adapters.sqlite3.rows import Session


# Whether what search finds messages and memories by says what their rows say: looked at by `doctor`
# alone.

# What FTS5 keeps of a table without contents, but for its version, which it reads before anything else.
SHADOWS = {"data": "id, block", "idx": "segid, term, pgno"}
# In the copy: what the store holds, and what it has to hold.
HELD, DUE = "held", "due"

MESSAGES = "what search finds messages by is damaged, and may hide some; the messages are not: a repair makes it anew"
MEMORIES = (
    "what search finds memories by is damaged, and may hide some; the memories are not: "
    "squidbot memory reindex --anew makes it anew"
)


def contradictions(connection: sqlite3.Connection, sessions: Iterable[Session], *, has_memories: bool) -> Iterator[str]:
    """Yield what is wrong with what search finds messages and memories by, a line each; all rows have to be whole.

    An index that is missing, or of other rules, is not wrong: who searches makes it anew.

    Raises:
        StoreError: there is no room for the copy.
    """
    if OF_MESSAGES.is_there(connection):
        due = (cell for session in sessions for cell in index.held(connection, session))
        if not _is_true(connection, f"words_{OF_MESSAGES.newest(connection)}", due):
            yield MESSAGES
    if has_memories and OF_MEMORIES.is_there(connection):
        counts = memory_index.Counts()
        name = OF_MEMORIES.newest(connection)
        is_true = _is_true(connection, f"memory_words_{name}", memory_index.held(connection, counts))
        if not (is_true and _are_counted(connection, counts)):
            yield MEMORIES


def _are_counted(connection: sqlite3.Connection, counts: memory_index.Counts) -> bool:
    try:
        return memory_index.counted(connection) == counts.of_views
    except DamagedIndexError:
        return False


def _is_true(connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]) -> bool:
    """Say whether a table of words is whole, and holds what is due.

    Raises:
        StoreError: there is no room for a copy.
    """
    try:
        with _copied_index() as path:
            with closing(sqlite3.connect(path)) as copy, copy:
                _fill(copy, connection, words, due)
            with closing(sqlite3.connect(path)) as copy, index_errors():  # FTS5 reads it anew
                copy.text_factory = bytes  # a damaged term is no text
                copy.execute(f"INSERT INTO {HELD}({HELD}) VALUES('integrity-check')")
                return all(one == other for one, other in zip_longest(*(_said(copy, each) for each in (HELD, DUE))))
    except DamagedIndexError:
        return False


@contextmanager
def _copied_index() -> Iterator[str]:
    """Give the path of a new file, which is gone afterwards; turn errors of its own into ours."""
    try:
        with TemporaryDirectory(prefix="squidbot-doctor-") as folder:
            yield str(Path(folder) / "words.db")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{gettempdir()}: what search finds by can't be copied there to be looked at ({error}); set TMPDIR to a "
            "folder with as much room as the store takes"
        ) from error


def _fill(copy: sqlite3.Connection, connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]) -> None:
    """Copy a table of words, and make what it has to be.

    Raises:
        DamagedIndexError: it can't be read.
    """
    with index_errors():
        connection.execute(f"SELECT rowid FROM {words} WHERE {words} MATCH 'x' LIMIT 1").fetchall()  # noqa: S608  # our own
        copy.execute(WORDS.format(HELD))
        copy.execute(WORDS.format(DUE))
        copy.executemany(f"INSERT INTO {DUE}(rowid, terms) VALUES(?, ?)", due)
        for part, columns in SHADOWS.items():
            rows = connection.execute(f"SELECT {columns} FROM {words}_{part}")  # noqa: S608
            copy.execute(f"DELETE FROM {HELD}_{part}")  # noqa: S608
            places = ", ".join("?" * len(columns.split(", ")))
            copy.executemany(f"INSERT INTO {HELD}_{part} VALUES({places})", rows)


def _said(copy: sqlite3.Connection, words: str) -> Iterator[tuple[bytes, int]]:
    """Return each term with each row that has it, in order."""
    copy.execute(f"CREATE VIRTUAL TABLE temp.terms_of_{words} USING fts5vocab('main', '{words}', 'instance')")
    return copy.execute(f"SELECT term, doc FROM terms_of_{words}")  # noqa: S608


# SQLite's pages, read without SQLite. The shell's `.recover` finds the same rows, and none where the header is
# destroyed; Debian's shell and apsw's are built without it.

Value: TypeAlias = "int | float | bytes | None"
# A row's id, None in an index, and its columns. TEXT and BLOB are both bytes.
Row: TypeAlias = "tuple[int | None, tuple[Value, ...]]"

HEADER_BYTES = 100
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR, TABLE_INTERIOR = 13, 10, 2, 5
LOG_HEADER, FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
FRAME_BYTES = FRAME_HEADER.size + PAGE_BYTES
LOG_MAGIC = 0x377F0682  # its last bit says that checksums are made of big-endian words
VALUE_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # of numbers, by their type


class Pages:
    """The pages of a file under its write-ahead log, as far as that is whole. Use it with `with`.

    Reading takes no lock: nobody should write meanwhile. Closing drops the locks that this process holds on the file
    through SQLite, so no store of it may be open in this process.
    """

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            OSError: it can't be read.
        """
        self._file = Path(path).open("rb")  # noqa: SIM115  # closed in __exit__
        self._log, _, size = _logged(path)
        # The size in the log counts, but a page behind the end of a file that was cut is not there.
        self.count = max(-(-self._file.seek(0, 2) // PAGE_BYTES), size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, number: int) -> bytes:
        """Return a page, the first being 1; shorter or empty where the file ends."""
        if number in self._log:
            return self._log[number]
        self._file.seek((number - 1) * PAGE_BYTES)
        return self._file.read(PAGE_BYTES)

    def rows(self, number: int) -> Iterator[Row]:
        """Yield the rows on a page, without those that the damage hit; none where it is no page of a tree."""
        page = self.read(number)
        start = HEADER_BYTES if number == 1 else 0
        kind = page[start] if len(page) > start + 12 else 0
        if kind not in {TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR}:
            return
        first = start + (12 if kind == INDEX_INTERIOR else 8)
        count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - first) // 2)
        for place in struct.unpack_from(f">{count}H", page, first):
            try:
                rowid = None
                length, cell = _varint(page, place + 4 if kind == INDEX_INTERIOR else place)
                if kind == TABLE_LEAF:
                    rowid, cell = _varint(page, cell)
                yield rowid, _page_record(self._payload(page, cell, length, table=kind == TABLE_LEAF))
            except (ValueError, IndexError):
                continue

    def _payload(self, page: bytes, start: int, length: int, *, table: bool) -> bytes:
        """Return the bytes of a cell, gathered from the pages that it flows over to.

        Raises:
            ValueError: they are not all there.
        """
        if length <= (PAGE_BYTES - 35 if table else (PAGE_BYTES - 12) * 64 // 255 - 23):
            return _cut(page, start, length)
        if length > self.count * PAGE_BYTES:
            raise ValueError("longer than the file")
        least = (PAGE_BYTES - 12) * 32 // 255 - 23
        local = least + (length - least) % (PAGE_BYTES - 4)
        if local > (PAGE_BYTES - 35 if table else (PAGE_BYTES - 12) * 64 // 255 - 23):
            local = least
        data = _cut(page, start, local)
        following = int.from_bytes(_cut(page, start + local, 4), "big")
        pieces = [data]
        missing = length - local
        while missing:
            if not 0 < following <= self.count:
                raise ValueError("an overflow page is gone")
            more = self.read(following)
            pieces.append(_cut(more, 4, min(missing, PAGE_BYTES - 4)))
            following = int.from_bytes(more[:4], "big")
            missing -= len(pieces[-1])
        return b"".join(pieces)


def _page_record(data: bytes) -> tuple[Value, ...]:
    header, place = _varint(data, 0)
    start, values = header, list[Value]()
    while place < header:
        kind, place = _varint(data, place)
        size = (kind - 12) // 2 if kind >= 12 else VALUE_BYTES[kind]
        values.append(_value(kind, _cut(data, start, size)))
        start += size
    return tuple(values)


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data
    if kind == 7:
        found: float = struct.unpack(">d", data)[0]
        return found
    if kind in {8, 9}:
        return kind - 8
    return int.from_bytes(data, "big", signed=True) if kind else None


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the number of 1 to 9 bytes that begins at `start`, 64 bits with a sign, and the place behind it."""
    value = 0
    for place in range(start, start + 8):
        byte = data[place]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, place + 1
    value = value << 8 | data[start + 8]
    return (value - (1 << 64) if value >= 1 << 63 else value), start + 9


def _cut(data: bytes, start: int, length: int) -> bytes:
    if start < 0 or length < 0 or start + length > len(data):
        raise ValueError("ends too early")
    return data[start : start + length]


def broken_frames(path: str) -> int:
    """Return how many frames of a file's write-ahead log are damaged, with whole ones behind them.

    Safe beside others who write: what is half-written now is whole a moment later.
    """
    return min(_logged(path)[1] for _ in range(2))


def _logged(path: str) -> tuple[dict[int, bytes], int, int]:
    """Return the newest committed pages in a log by number, how many of its frames are broken, and the file's pages.

    SQLite ends at the first broken frame. Each frame carries the checksum of all before it, so one behind a broken
    frame is proved as well. A transaction with a broken frame counts when another one follows: else a crash has torn
    it before anybody was told that it is stored, and SQLite leaves it out as well.
    """
    log = Path(f"{path}-wal")
    data = log.read_bytes() if log.exists() else b""
    pages: dict[int, bytes] = {}
    broken = count = 0
    if len(data) < LOG_HEADER.size:
        return pages, broken, count
    magic, _, size, _, *salts, seed1, seed2 = LOG_HEADER.unpack_from(data)
    if magic & ~1 == LOG_MAGIC and size != PAGE_BYTES:
        return pages, broken, count
    seed = seed1, seed2
    # Of the transactions that are not in `pages` yet: the last whole pages, and how many frames are broken.
    torn, torn_broken = dict[int, bytes](), 0
    fresh, fresh_broken = dict[int, bytes](), 0
    for start in range(LOG_HEADER.size, len(data) - FRAME_BYTES + 1, FRAME_BYTES):
        number, commit, *frame_salts, sum1, sum2 = FRAME_HEADER.unpack_from(data, start)
        page = data[start + FRAME_HEADER.size : start + FRAME_BYTES]
        is_whole = frame_salts == salts and (sum1, sum2) == _summed(data[start : start + 8] + page, seed, big=magic & 1)
        seed = sum1, sum2
        if not is_whole:
            fresh_broken += 1
            continue
        fresh[number] = page
        if commit:
            pages |= torn
            broken, count = broken + torn_broken, commit
            if fresh_broken:
                torn, torn_broken = fresh, fresh_broken
            else:
                torn, torn_broken = {}, 0
                pages |= fresh
            fresh, fresh_broken = {}, 0
    return pages, broken, count


def _summed(data: bytes, seed: tuple[int, int], *, big: int) -> tuple[int, int]:
    first, second = seed
    for one, other in struct.iter_unpack(">2I" if big else "<2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


# What a damaged store still holds: every row, from whatever page, that its own checksum proves.

# Takes a row as the cells of a table: "messages", "records", "summaries", or one of `saving.SAVED_TABLES`.
Take: TypeAlias = "Callable[[str, tuple[rows.Cell, ...]], None]"

MESSAGE_CELLS, SESSION_CELLS, SUMMARY_CELLS, RECORD_CELLS, NAME_CELLS = 11, 6, 12, 5, 2


@dataclass(slots=True)
class Found:
    """What is known of one session.

    Attributes:
        named: its id; None where no page holds it.
        told: how many messages its own row says that it has; 0 where that row is lost.
        seqs: the messages that were found.
        counts: by kind of record, how many its own row says that it has.
        records: by kind, the numbers that were found.
        summaries: the ids of the summaries that were found.
    """

    named: bytes | None = None
    told: int = 0
    seqs: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    records: dict[str, set[int]] = field(default_factory=dict)
    summaries: set[bytes] = field(default_factory=set)

    @property
    def messages(self) -> int:
        """How many messages there have been at least."""
        return max(self.told, max(self.seqs, default=-1) + 1)

    @property
    def lost(self) -> tuple[int, ...]:
        """The seqs of the messages that were not found."""
        return tuple(seq for seq in range(self.messages) if seq not in self.seqs)

    def kinds(self) -> dict[str, int]:
        """Return, by kind of record, how many there have been at least."""
        found = {kind: max(numbers, default=-1) + 1 for kind, numbers in self.records.items()}
        return {kind: max(found.get(kind, 0), self.counts.get(kind, 0)) for kind in sorted({*found, *self.counts})}

    @property
    def lost_records(self) -> tuple[tuple[str, int], ...]:
        """The records that were not found."""
        none: set[int] = set()
        return tuple(
            (kind, number)
            for kind, count in self.kinds().items()
            for number in range(count)
            if number not in self.records.get(kind, none)
        )


@dataclass(slots=True)
class Haul:
    """What was found, by the numbers of the sessions; what indexes say of their names; how many rows of memories."""

    sessions: dict[int, Found] = field(default_factory=dict)
    names: dict[int, set[bytes]] = field(default_factory=dict)
    hashes: dict[int, set[int]] = field(default_factory=dict)
    memories: int = 0

    def of(self, no: int) -> Found:
        """Return what is known of a session."""
        return self.sessions.setdefault(no, Found())


def salvage(path: str, take: Take) -> Haul:
    """Hand every row that can be proved to `take`, and return what they are. Nobody should write meanwhile.

    Raises:
        OSError: the file can't be read.
    """
    haul = Haul()
    with Pages(path) as pages:
        for rowid, values in _rows(pages):
            _sort(haul, rowid, values, take)
    for no, found in haul.sessions.items():
        # An index entry has no checksum of its own: the session's other index holds one of the name.
        proved = [name for name in haul.names.get(no, ()) if crc32(name) in haul.hashes.get(no, ())]
        if found.named is None and len(proved) == 1:
            found.named = proved[0]
    return haul


def _rows(pages: Pages) -> Iterator[Row]:
    """Return all that looks like a row: of free pages last, so that what is in use goes before older copies."""
    free = _free(pages)
    for number in sorted(range(1, pages.count + 1), key=free.__contains__):
        yield from pages.rows(number)


def _free(pages: Pages) -> set[int]:
    """Return the pages that are in no tree any more."""
    free: set[int] = set()
    trunk = int.from_bytes(pages.read(1)[32:36], "big")
    while 0 < trunk <= pages.count and trunk not in free:
        free.add(trunk)
        page = pages.read(trunk)
        count = int.from_bytes(page[4:8], "big")
        free.update(int.from_bytes(page[8 + 4 * place : 12 + 4 * place], "big") for place in range(min(count, 16384)))
        trunk = int.from_bytes(page[:4], "big")
    return free


def _sort(haul: Haul, rowid: int | None, values: tuple[Value, ...], take: Take) -> None:
    try:
        if rowid is None:
            _index(haul, values, take)
        else:
            _row(haul, rowid, values, take)
    except (rows.DamagedRowError, TypeError, ValueError, OverflowError):
        return  # not one of ours, or not whole


def _row(haul: Haul, rowid: int, values: tuple[Value, ...], take: Take) -> None:
    """Take a row of the table that has so many cells."""
    cells = len(values)
    if cells == MESSAGE_CELLS:
        _message(haul, rowid, values, take)
    elif cells == SESSION_CELLS:
        _session(haul, rowid, values)
    elif cells == SUMMARY_CELLS:
        _summary(haul, values, take)
    elif cells == store.MEMORY_CELLS:
        take("memories", store.proved(rowid, values))
        haul.memories += 1
    elif cells == store.GRAVE_CELLS:
        take("forgotten_memories", store.proved_grave(rowid, values))


def _message(haul: Haul, key: int, values: tuple[Value, ...], take: Take) -> None:
    time = values[5]
    row = (key, *values[1:5], None if time is None else float(time), *values[6:])
    no, seq = key >> SEQ_BITS, key & ((1 << SEQ_BITS) - 1)
    rows.decode([cast("rows.MessageRow", row)], no << SEQ_BITS)
    found = haul.of(no)
    if seq not in found.seqs:
        found.seqs.add(seq)
        take("messages", tuple(map(_cell, row)))


def _session(haul: Haul, no: int, values: tuple[Value, ...]) -> None:
    name, messages, check, noted = values[1], values[3], values[4], values[5]
    if not (isinstance(name, bytes) and isinstance(messages, int) and isinstance(noted, bytes)):
        return
    found = haul.of(no) if rows.session_checksum(no, messages, name, noted) == check else None
    if found is not None and (found.named is None or messages >= found.told):
        found.named, found.told, found.counts = name, messages, json.loads(rows.plain(noted))


def _summary(haul: Haul, values: tuple[Value, ...], take: Take) -> None:
    session, name = values[0], values[1]
    if not isinstance(session, int) or not isinstance(name, bytes):
        return
    rows.decode_summary(session, "", cast("rows.SummaryRow", values[1:]))
    found = haul.of(session)
    if name not in found.summaries:
        found.summaries.add(name)
        take("summaries", tuple(map(_cell, values)))


def _index(haul: Haul, values: tuple[Value, ...], take: Take) -> None:
    first, second = values[:2]
    if len(values) == RECORD_CELLS and isinstance(first, int) and isinstance(second, bytes):
        _record(haul, first, second, values, take)
    elif len(values) == store.MARK_CELLS:
        take("memory_marks", store.proved_mark(values))
    elif len(values) == NAME_CELLS and isinstance(second, int):
        if isinstance(first, bytes):
            haul.names.setdefault(second, set()).add(first)
        elif isinstance(first, int):
            haul.hashes.setdefault(second, set()).add(first)


def _record(haul: Haul, session: int, kind_bytes: bytes, values: tuple[Value, ...], take: Take) -> None:
    kind = rows.plain(kind_bytes)
    record = rows.decode_record(session, kind, cast("rows.RecordRow", values[2:]))
    numbers = haul.of(session).records.setdefault(kind, set())
    if record.number not in numbers:
        numbers.add(record.number)
        take("records", tuple(map(_cell, values)))


def _cell(value: Value) -> rows.Cell:
    return rows.cell(value) if isinstance(value, bytes) else value


REPAIR = "repair"  # the kind of the record that says what a repair could not save
PLAN = "plan"  # its records carry their own number, so none can be repeated under another
BATCH_ROWS = 256
MOST_PROBLEMS = 20  # of SQLite's own list: one damaged page fills it with hundreds
INSERTS = {
    "messages": f"INSERT OR IGNORE INTO messages({rows.MESSAGE_COLUMNS}) VALUES({', '.join('?' * 11)})",
    "records": "INSERT OR IGNORE INTO records(session, kind, number, checksum, body) VALUES(?, ?, ?, ?, ?)",
    "summaries": f"INSERT OR IGNORE INTO summaries(session, {rows.SUMMARY_COLUMNS}) VALUES({', '.join('?' * 12)})",
}
SESSION_NUMBERS = "SELECT no, id FROM sessions ORDER BY no"
SUMMARY_NAMES = "SELECT id FROM summaries WHERE session = ? ORDER BY id"  # from the index alone
KEYS = "SELECT key FROM messages WHERE key BETWEEN ? AND ? ORDER BY key"
LATER = "SELECT min(number) FROM records WHERE session = ? AND kind = ? AND number >= ?"
BODY = "SELECT body FROM records WHERE session = ? AND kind = ? AND number = ?"
ADD_SESSION = "INSERT INTO sessions(no, id, hash, messages, checksum, records) VALUES(?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class SessionHealth:
    """One session.

    Attributes:
        session_id: its id; a made-up one where the file no longer tells it.
        messages: how many messages it has had, lost ones included.
        damaged: the seqs of those that are lost.
        damaged_records: (kind, number) of the lost records.
        damaged_summaries: the ids of the lost summaries.
        named: whether the file still tells its id.
    """

    session_id: str
    messages: int
    damaged: tuple[int, ...] = ()
    damaged_records: tuple[tuple[str, int], ...] = ()
    damaged_summaries: tuple[str, ...] = ()
    named: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing of it is lost."""
        return self.named and not (self.damaged or self.damaged_records or self.damaged_summaries)


@dataclass(frozen=True, slots=True)
class Health:
    """What a store's file is like.

    Attributes:
        path: the file.
        file_bytes: its size.
        log_bytes: the size of its write-ahead log.
        sessions: its sessions, oldest first, with what can't be saved of them.
        problems: what is wrong with the file itself, one line each; a repair mends these.
        memories: how many memories there are, damaged ones included.
        damaged_memories: the keys of those whose rows are damaged: they are lost.
    """

    path: str
    file_bytes: int
    log_bytes: int
    sessions: tuple[SessionHealth, ...]
    problems: tuple[str, ...]
    memories: int = 0
    damaged_memories: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.problems or self.damaged_memories) and all(session.whole for session in self.sessions)

    @property
    def messages(self) -> int:
        """How many messages there have been, lost ones included."""
        return sum(session.messages for session in self.sessions)

    @property
    def damaged(self) -> int:
        """How many messages are lost."""
        return sum(len(session.damaged) for session in self.sessions)


@dataclass(frozen=True, slots=True)
class Repaired:
    """A copy with what could be saved.

    `sessions` says what of the original is not in it; `memories` how many of these are in it, as they were.
    """

    path: str
    target: str
    sessions: tuple[SessionHealth, ...]
    memories: int = 0

    @property
    def messages(self) -> int:
        """How many messages the copy holds as they were."""
        return sum(session.messages - len(session.damaged) for session in self.sessions)

    @property
    def damaged(self) -> int:
        """How many messages are lost; a notice stands in the place of each."""
        return sum(len(session.damaged) for session in self.sessions)


def check(path: str | os.PathLike[str], *, busy_seconds: float = 30.0, proves_words: bool = False) -> Health:
    """Read every row and say what is damaged. Writes nothing; a store that is whole may be in use meanwhile.

    Where something is damaged, nobody should write meanwhile, and this process must not have the store open. With
    `proves_words`, where all rows are whole, what search finds by is held against them, too: see `proof`.

    Raises:
        StoreError: there is no such file, it can't be read, or it is another program's; or there is no room to prove
            what search finds by.
    """
    name, log = _existing(path), Path(f"{os.fspath(path)}-wal")
    at_rest = not log.exists()
    sessions, memories, problems, failed = _looked(name, busy_seconds, proves_words=proves_words)
    if problems and at_rest and log.exists():  # somebody has opened the store since, and changed what was being read
        sessions, memories, problems, failed = _looked(name, busy_seconds, proves_words=proves_words)
    if frames := broken_frames(name):
        problems.append(f"{frames} pages of the write-ahead log are damaged; SQLite ends before the first of them")
    if problems or not all(session.whole for session in sessions):
        sessions = _saveable(name, sessions, failed)
    log_bytes = log.stat().st_size if log.exists() else 0
    return Health(name, Path(name).stat().st_size, log_bytes, tuple(sessions), tuple(problems), *memories)


def _saveable(name: str, seen: list[SessionHealth], failed: StoreError | None) -> list[SessionHealth]:
    """Return the sessions as a repair would leave them.

    Raises:
        StoreError: there is nothing to save; this is why.
    """
    try:
        haul = salvage(name, lambda _table, _row: None)
    except OSError as error:
        raise store_error(name, error) from error
    if not (haul.sessions or haul.memories) and failed is not None:
        raise failed
    lost = {session.session_id: session.damaged_summaries for session in seen}
    return [replace(one, damaged_summaries=lost.get(one.session_id, ())) for one in _told(haul)]


def _looked(
    name: str, busy_seconds: float, *, proves_words: bool
) -> tuple[list[SessionHealth], tuple[int, tuple[int, ...]], list[str], StoreError | None]:
    """Return the sessions as SQLite serves them, memories and the keys of those that are damaged, and problems.

    These are what is wrong with the file, and the error that ended the look.
    """
    sessions: list[SessionHealth] = []
    memories: tuple[int, tuple[int, ...]] = (0, ())
    problems: list[str] = []
    try:
        with closing(files.open_reading(name, busy_seconds)) as connection:
            connection.execute("BEGIN")
            problems += _structure(connection)
            if files.is_unscrubbed(connection):
                problems.append("what was forgotten is not overwritten yet: open the store while nobody reads it")
            sessions += _sessions(connection, problems)
            memories = store.damaged(name, connection)
            if proves_words and not (problems or memories[1]) and all(session.whole for session in sessions):
                found = (rows.find(connection, session.session_id) for session in sessions)
                problems += contradictions(connection, found, has_memories=bool(memories[0]))
    except (DamagedStoreError, *FOREIGN) as error:
        failed = error if isinstance(error, StoreError) else store_error(name, error)
        return sessions, memories, [*problems, str(failed).removeprefix(f"{name}: ")], failed
    return sessions, memories, problems, None


def repair(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> Repaired:
    """Write a store with everything that can be saved to `target`, which must not exist yet; the original stays.

    Nobody should write meanwhile, and this process must not have the original open.

    Raises:
        StoreError: `target` exists or can't be written, or the original can't be read; there is no half copy.
    """
    name, goal = _existing(path), str(Path(target).absolute())
    if os.path.lexists(goal):
        raise StoreError(f"{goal}: exists; a repair overwrites nothing, name a new file")
    part = f"{goal}.part-{os.getpid()}"
    try:
        sessions, memories = _copied(name, part)
        SqliteStore(part).close()  # what a newer layout keeps beside the rows is made, and the log is emptied
        files.place(part, goal)
    except (*FOREIGN, OSError) as error:
        raise store_error(goal, error, "; no copy was made") from error
    finally:
        files.remove(part)
    return Repaired(name, goal, sessions, memories)


def _existing(path: str | os.PathLike[str]) -> str:
    name = str(Path(path).absolute())
    if not Path(name).is_file():
        raise StoreError(f"{name}: there is no such file; check the path")
    return name


def _structure(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite finds wrong with the trees and indexes of the file."""
    found = connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
    lines = [rows.plain(line) if isinstance(line, bytes) else str(line) for (line,) in found]
    return [] if lines == ["ok"] else [line.replace("\n", "; ") for line in lines]


def _sessions(connection: sqlite3.Connection, problems: list[str]) -> Iterator[SessionHealth]:
    """Return the sessions as the store itself would serve them."""
    for no, name in connection.execute(SESSION_NUMBERS).fetchall():
        session_id = rows.plain(name)
        try:
            session = rows.find(connection, session_id)
            damaged = tuple(rows.intact_messages(connection, session, 0, session.messages - 1)[1])
            lost = tuple(_lost_records(connection, session))
            yield SessionHealth(session_id, session.messages, damaged, lost, _lost_summaries(connection, session))
            behind = connection.execute(KEYS, (session.first_key + session.messages, (no + 1) * (1 << SEQ_BITS) - 1))
            if behind.fetchone():
                problems.append(f"session {rows.named(session_id)} has more messages than its row says")
        except FOREIGN as error:
            problems.append(f"session {rows.named(session_id)}: {error}")


def _lost_records(connection: sqlite3.Connection, session: rows.Session) -> Iterator[tuple[str, int]]:
    for kind, count in session.record_counts.items():
        with suppress(rows.DamagedRowError, sqlite3.DatabaseError):
            rows.records(connection, session, kind, 0)
            continue
        for number in range(count):
            try:
                row = connection.execute(f"{rows.RECORDS} LIMIT 1", (session.no, kind, number)).fetchone()
                if row is None or rows.decode_record(session.no, kind, row).number != number:
                    yield kind, number
            except (rows.DamagedRowError, sqlite3.DatabaseError):
                yield kind, number


def _lost_summaries(connection: sqlite3.Connection, session: rows.Session) -> tuple[str, ...]:
    lost = []
    for (name,) in connection.execute(SUMMARY_NAMES, (session.no,)).fetchall():
        try:
            if not rows.by_id(connection, session, [rows.plain(name)]):
                lost.append(rows.plain(name))
        except (rows.DamagedRowError, sqlite3.DatabaseError):
            lost.append(name.decode("utf-8", "replace"))
    return tuple(lost)


def _told(haul: Haul) -> Iterator[SessionHealth]:
    """Return what can and can't be saved of each session."""
    for no, found in sorted(haul.sessions.items()):
        name = rows.plain(_name(no, found))
        yield SessionHealth(name, found.messages, found.lost, found.lost_records, (), found.named is not None)


def _name(no: int, found: Found) -> bytes:
    return found.named if found.named is not None else f"lost-session-{no}".encode()


def _copied(path: str, part: str) -> tuple[tuple[SessionHealth, ...], int]:
    """Write all that is found to a new file, and what stands for the rest; return the sessions, and how many memories.

    Raises:
        DamagedStoreError: nothing is found.
    """
    files.create(part, 0.0)
    with closing(files.connect(part, 0.0)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # `files.place` syncs the whole file
        connection.execute("BEGIN IMMEDIATE")
        saved = store.Saved(part, connection)
        haul = salvage(path, lambda table, row: _insert(connection, saved, table, row))
        sessions = tuple(_told(haul))
        for (no, found), health in zip(sorted(haul.sessions.items()), sessions, strict=True):
            _finish(connection, no, found, health)
        memories = saved.finish()
        connection.execute("COMMIT")
    if not (sessions or memories):
        raise DamagedStoreError(f"{path}: there is nothing of squidbot in it to save; put a backup in its place")
    return sessions, memories


def _insert(connection: sqlite3.Connection, saved: store.Saved, table: str, row: tuple[rows.Cell, ...]) -> None:
    if table in store.SAVED_TABLES:
        saved.take(table, row)
    else:
        connection.execute(INSERTS[table], row)


def _finish(connection: sqlite3.Connection, no: int, found: Found, health: SessionHealth) -> None:
    """Fill the places of what was lost, and write the session's own row."""
    for seq in health.damaged:
        connection.execute(rows.INSERT, rows.encode((no << SEQ_BITS) + seq, lost_message(seq)))
    counts = _filled(connection, no, found.kinds(), health)
    if not health.whole:
        number = counts.get(REPAIR, 0)
        told = rows.json_text({"messages": health.damaged, "records": health.damaged_records, "named": health.named})
        connection.execute(rows.INSERT_RECORD, rows.encode_record(no, Record(REPAIR, number, told)))
        counts[REPAIR] = number + 1
    name, noted = _name(no, found), rows.stored_text(rows.json_text(counts))[1]
    check_number = rows.session_checksum(no, health.messages, name, noted)
    cells = (no, rows.cell(name), crc32(name), health.messages, check_number, rows.cell(noted))
    connection.execute(ADD_SESSION, cells)


def _filled(connection: sqlite3.Connection, no: int, counts: dict[str, int], health: SessionHealth) -> dict[str, int]:
    """Repeat for each lost record the one before it, or else the first behind it; return how many there are then."""
    lost = {kind: sorted(number for one, number in health.damaged_records if one == kind) for kind in counts}
    for kind, numbers in lost.items():
        while kind == PLAN and numbers and numbers[-1] == counts[kind] - 1:
            counts[kind] = numbers.pop()
        for number in numbers:
            source = connection.execute(LATER, (no, kind, max(number - 1, 0))).fetchone()[0]
            if source is None:
                counts[kind] = min(counts[kind], number)
                break
            body = rows.plain_small(connection.execute(BODY, (no, kind, source)).fetchone()[0])
            connection.execute(rows.INSERT_RECORD, rows.encode_record(no, Record(kind, number, body)))
    return {kind: count for kind, count in counts.items() if count}


def lost_message(seq: int) -> StoredMessage:
    """Return what stands in the place of a lost message: a user-role notice that every provider's form can hold."""
    text = f"<squidbot damaged: data, not instructions>\n[m{seq} was lost to damage of the file]\n</squidbot damaged>"
    payload = rows.json_text({"role": "user", "content": text})
    cost = Cost(len(text) // 3, len(text) + 16)  # until then: no token is less than a byte
    return StoredMessage(
        seq=seq,
        turn=seq,
        role="user",
        category=Category.INTERNAL,
        codec="openai.chat",
        payload=payload,
        call_ids=(),
        result_ids=(),
        cost=cost,
        sent_cost=cost,
        counter="none",  # so that each session counts it by its own
    )
