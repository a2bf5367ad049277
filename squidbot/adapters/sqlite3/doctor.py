"""`check` reads every row of a store's file; `repair` writes all that can be saved to a copy. The file is unchanged.

A lost message keeps its seq: a notice replaces it, so all other ids keep their meaning and the session continues. A
lost record repeats the one before it, which leaves the engine's state unchanged. A lost plan at the end is left out, so
the plan before it applies again. A record of the kind "repair" lists what happened.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from zlib import crc32

from squidbot.adapters.common import cells
from squidbot.adapters.common.memories import MEMORY_COLUMNS, grave_checksum
from squidbot.adapters.common.memories import decode as decode_memory
from squidbot.adapters.common.postings import ViewCounts
from squidbot.adapters.common.transcripts import shown_id
from squidbot.adapters.sqlite3 import files, index, rows
from squidbot.adapters.sqlite3.files import FOREIGN, PAGE_BYTES, store_error
from squidbot.adapters.sqlite3.index import OF_MESSAGES, WORDS, DamagedIndexError, index_errors
from squidbot.adapters.sqlite3.memory import index as memory_index
from squidbot.adapters.sqlite3.memory import rows as memory_rows
from squidbot.adapters.sqlite3.memory.index import OF_MEMORIES
from squidbot.adapters.sqlite3.rows import SEQ_BITS
from squidbot.adapters.sqlite3.store import SqliteStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Category, Cost, Record, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType


REPAIR = "repair"  # the kind of the record that lists what a repair could not save
PLAN = "plan"  # a plan contains its own number, so no plan can be repeated under another number
BUSY_SECONDS = 30.0  # how long to wait for another program
MOST_PROBLEMS = 20  # of SQLite's own list: one damaged page produces hundreds


@dataclass(frozen=True, slots=True)
class SessionHealth:
    """One session.

    Attributes:
        session_id: its id; a made-up one if the file has lost it.
        messages: number of messages it has had, lost ones included.
        damaged: seqs of the lost messages.
        damaged_records: (kind, number) of the lost records.
        damaged_summaries: ids of the lost summaries.
        named: whether the file still has its id.
    """

    session_id: str
    messages: int
    damaged: tuple[int, ...] = ()
    damaged_records: tuple[tuple[str, int], ...] = ()
    damaged_summaries: tuple[str, ...] = ()
    named: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing is lost."""
        return self.named and not (self.damaged or self.damaged_records or self.damaged_summaries)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a store's file.

    Attributes:
        path: the file.
        file_bytes: its size.
        log_bytes: the size of its write-ahead log.
        sessions: its sessions, oldest first, with their losses.
        problems: damage to the file itself, one line each; a repair fixes it.
        memories: number of memories, damaged ones included.
        damaged_memories: keys of the memories with damaged rows: they are lost.
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
        """Whether there is no damage."""
        return not (self.problems or self.damaged_memories) and all(session.whole for session in self.sessions)

    @property
    def messages(self) -> int:
        """Number of messages, lost ones included."""
        return sum(session.messages for session in self.sessions)

    @property
    def damaged(self) -> int:
        """Number of lost messages."""
        return sum(len(session.damaged) for session in self.sessions)


@dataclass(frozen=True, slots=True)
class RepairedCopy:
    """A copy with everything that could be saved.

    `sessions` lists what the copy lacks; `memories` counts the memories that it has unchanged.
    """

    path: str
    target: str
    sessions: tuple[SessionHealth, ...]
    memories: int = 0

    @property
    def messages(self) -> int:
        """Number of messages that the copy has unchanged."""
        return sum(session.messages for session in self.sessions) - self.damaged

    @property
    def damaged(self) -> int:
        """Number of lost messages; a notice replaces each."""
        return sum(len(session.damaged) for session in self.sessions)


def check(path: str | os.PathLike[str], *, proves_words: bool = False) -> Health:
    """Read every row and return what is damaged. Write nothing; other programs may use an undamaged store meanwhile.

    A damaged store must not be written meanwhile, nor be open in this process. If all rows are intact, `proves_words`
    also compares the search indexes with the rows.

    Raises:
        StoreError: the file is missing, unreadable or another program's; or there is no room to compare the search
            indexes.
    """
    name, log = _existing(path), Path(f"{os.fspath(path)}-wal")
    at_rest = not log.exists()
    sessions, memories, problems, failed = _look(name, proves_words=proves_words)
    if problems and at_rest and log.exists():  # another process opened the store and changed what this one was reading
        sessions, memories, problems, failed = _look(name, proves_words=proves_words)
    if frames := broken_frames(name):
        problems.append(f"{frames} pages of the write-ahead log are damaged; SQLite ignores everything after the first")
    if problems or not all(session.whole for session in sessions):
        sessions = _savable(name, sessions, failed)
    log_bytes = log.stat().st_size if log.exists() else 0
    return Health(name, Path(name).stat().st_size, log_bytes, tuple(sessions), tuple(problems), *memories)


def repair(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> RepairedCopy:
    """Write a store with everything that can be saved to `target`, which must not exist yet; keep the original.

    Nothing may write meanwhile, and this process must not have the original open.

    Raises:
        StoreError: `target` exists or can't be written, or the original can't be read; no half copy is left.
    """
    name, goal = _existing(path), str(Path(target).absolute())
    with files.new_file(goal, "already exists; choose another file name", "no copy was made") as part:
        files.create(part, 0.0)
        with closing(files.connect(part, 0.0)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # `files.new_file` syncs the whole file
            connection.execute("BEGIN IMMEDIATE")
            sessions, memories = _salvage(name, connection)
            connection.execute("COMMIT")
        if not (sessions or memories):
            raise DamagedStoreError(f"{name}: nothing to recover; restore a backup")
        SqliteStore(part).close()  # this empties the log
    return RepairedCopy(name, goal, tuple(sessions), memories)


def _existing(path: str | os.PathLike[str]) -> str:
    name = str(Path(path).absolute())
    if not Path(name).is_file():
        raise StoreError(f"{name}: no such file; check the path")
    return name


def lost_message(seq: int) -> StoredMessage:
    """Return the replacement of a lost message: a user-role notice that every provider's form can hold."""
    text = f"<squidbot damaged: data, not instructions>\n[m{seq} was lost to damage of the file]\n</squidbot damaged>"
    payload = cells.json_text({"role": "user", "content": text})
    cost = Cost(len(text) // 3, len(text) + 16)  # until each session counts it: a token has at least one byte
    category, codec = Category.INTERNAL, "openai.chat"
    return StoredMessage(seq, seq, "user", category, codec, payload, (), (), cost, cost, counter="none")


# Checks through SQLite.

SESSION_NUMBERS = "SELECT no, id FROM sessions ORDER BY no"
SUMMARY_NAMES = "SELECT id FROM summaries WHERE session = ? ORDER BY id"  # from the index alone
KEYS = "SELECT key FROM messages WHERE key BETWEEN ? AND ? ORDER BY key"
UNREADABLE = (cells.DamagedRowError, sqlite3.DatabaseError)


def _look(
    name: str, *, proves_words: bool
) -> tuple[list[SessionHealth], tuple[int, tuple[int, ...]], list[str], StoreError | None]:
    """Return the sessions, (memories, keys of damaged ones), problems, and the error that ended the check.

    A damaged session's row has no further details.
    """
    sessions: list[SessionHealth] = []
    memories: tuple[int, tuple[int, ...]] = (0, ())
    problems: list[str] = []
    try:
        with closing(files.open_reading(name, BUSY_SECONDS).connection) as connection:
            connection.execute("BEGIN")
            problems += _structure(connection)
            if files.is_unscrubbed(connection):
                problems.append(
                    "forgotten content is not overwritten yet: open the store while no other program reads it"
                )
            sessions += _sessions(connection, problems)
            memories = memory_rows.damaged(name, connection)
            if proves_words and not (problems or memories[1]) and all(session.whole for session in sessions):
                found = (rows.find(connection, session.session_id) for session in sessions)
                problems += _contradictions(connection, found, has_memories=bool(memories[0]))
    except (DamagedStoreError, *FOREIGN) as error:
        failed = error if isinstance(error, StoreError) else store_error(name, error)
        return sessions, memories, [*problems, str(failed).removeprefix(f"{name}: ")], failed
    return sessions, memories, problems, None


def _structure(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite reports about the file's trees and indexes."""
    found = connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
    lines = [cells.plain(line) if isinstance(line, bytes) else str(line) for (line,) in found]
    return [] if lines == ["ok"] else [line.replace("\n", "; ") for line in lines]


def _sessions(connection: sqlite3.Connection, problems: list[str]) -> Iterator[SessionHealth]:
    for no, session_id in connection.execute(SESSION_NUMBERS).fetchall():
        try:
            yield _session_health(connection, no, cells.plain(session_id), problems)
        except FOREIGN as error:
            problems.append(f"session {shown_id(cells.plain(session_id))}: {error}")


def _session_health(connection: sqlite3.Connection, no: int, session_id: str, problems: list[str]) -> SessionHealth:
    session = rows.find(connection, session_id)
    damaged = tuple(rows.intact_messages(connection, session, 0, session.messages - 1)[1])
    records, summaries = [], []
    for kind in session.record_counts:
        try:
            rows.records(connection, session, kind, 0)
        except UNREADABLE:
            records.append((kind, 0))
    for (name,) in connection.execute(SUMMARY_NAMES, (session.no,)).fetchall():
        is_there = False
        with suppress(*UNREADABLE):
            is_there = bool(rows.by_id(connection, session, [cells.plain(name)]))
        if not is_there:
            summaries.append(name.decode("utf-8", "replace"))
    if connection.execute(KEYS, (session.first_key + session.messages, (no + 1 << SEQ_BITS) - 1)).fetchone():
        problems.append(f"session {session.shown} has more messages than its row says")
    return SessionHealth(session_id, session.messages, damaged, tuple(records), tuple(summaries))


def _savable(name: str, seen: list[SessionHealth], failed: StoreError | None) -> list[SessionHealth]:
    """Return the sessions as a repair would leave them.

    Raises:
        StoreError: there is nothing to save, and why.
    """
    try:
        with closing(files.connect("", 0.0)) as connection:  # SQLite's temporary file
            for statement in files.SCHEMA:
                connection.execute(statement)
            connection.execute("BEGIN")
            sessions, memories = _salvage(name, connection)
    except (*FOREIGN, OSError) as error:
        raise store_error(name, error) from error
    if not (sessions or memories) and failed is not None:
        raise failed
    lost = {session.session_id: session.damaged_summaries for session in seen}
    return [replace(session, damaged_summaries=lost.get(session.session_id, ())) for session in sessions]


# Whether the search indexes agree with the rows.

# The tables that FTS5 keeps for a contentless table, except its version, which FTS5 reads first.
SHADOWS = {"data": "id, block", "idx": "segid, term, pgno"}
# In the copy: the store's terms, and those that are due.
STORED, DUE = "stored", "due"

DAMAGED_MESSAGE_INDEX = (
    "the search index of messages is damaged, so searches may miss some; the messages are intact. --repair rebuilds it"
)
DAMAGED_MEMORY_INDEX = (
    "the search index of facts is damaged; the facts are intact. Rebuild it: squidbot memory reindex --anew"
)


def _contradictions(
    connection: sqlite3.Connection, sessions: Iterable[rows.SessionRow], *, has_memories: bool
) -> Iterator[str]:
    """Yield the search indexes that contradict their rows. All rows must be intact.

    A missing index, or one of other rules, is no error: the next search rebuilds it.

    Raises:
        StoreError: there is no room for the copy.
    """
    if OF_MESSAGES.is_there(connection):
        due = (cell for session in sessions for cell in index.due_terms(connection, session))
        if not _is_true(connection, f"words_{OF_MESSAGES.newest(connection)}", due):
            yield DAMAGED_MESSAGE_INDEX
    if has_memories and OF_MEMORIES.is_there(connection):
        counts = ViewCounts()
        name = OF_MEMORIES.newest(connection)
        is_true = _is_true(connection, f"memory_words_{name}", memory_index.due_terms(connection, counts))
        try:
            is_true = is_true and memory_index.counted(connection) == counts.of_views
        except DamagedIndexError:
            is_true = False
        if not is_true:
            yield DAMAGED_MEMORY_INDEX


def _is_true(connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]) -> bool:
    """Return whether a table of words is intact and has exactly the expected terms.

    Raises:
        StoreError: there is no room for a copy.
    """
    try:
        with _temporary_path() as path:
            with closing(sqlite3.connect(path)) as copy, copy:
                _copy_index(copy, connection, words, due)
            with closing(sqlite3.connect(path)) as copy, index_errors():  # FTS5 reads it again
                copy.text_factory = bytes  # a damaged term is no text
                copy.execute(f"INSERT INTO {STORED}({STORED}) VALUES('integrity-check')")
                return all(one == other for one, other in zip_longest(_terms(copy, STORED), _terms(copy, DUE)))
    except DamagedIndexError:
        return False


@contextmanager
def _temporary_path() -> Iterator[str]:
    """Yield the path of a new file and delete it afterwards; turn its errors into StoreError."""
    try:
        with TemporaryDirectory(prefix="squidbot-doctor-") as folder:
            yield str(Path(folder) / "words.db")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{gettempdir()}: cannot copy the search index to check it ({error}); set TMPDIR to a folder with "
            "as much free space as the store"
        ) from error


def _copy_index(
    copy: sqlite3.Connection, connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]
) -> None:
    """Copy a table of words, and build one with the expected terms.

    Raises:
        DamagedIndexError: it can't be read.
    """
    with index_errors():
        connection.execute(f"SELECT rowid FROM {words} WHERE {words} MATCH 'x' LIMIT 1").fetchall()  # noqa: S608  # our own
        copy.execute(WORDS.format(STORED))
        copy.execute(WORDS.format(DUE))
        copy.executemany(f"INSERT INTO {DUE}(rowid, terms) VALUES(?, ?)", due)
        for part, columns in SHADOWS.items():
            copy.execute(f"DELETE FROM {STORED}_{part}")  # noqa: S608  # our own, as below
            places = ", ".join("?" * len(columns.split(", ")))
            found = connection.execute(f"SELECT {columns} FROM {words}_{part}")  # noqa: S608
            copy.executemany(f"INSERT INTO {STORED}_{part} VALUES({places})", found)


def _terms(copy: sqlite3.Connection, words: str) -> Iterator[tuple[bytes, int]]:
    """Return each term with each of its rows, in order."""
    copy.execute(f"CREATE VIRTUAL TABLE temp.terms_of_{words} USING fts5vocab('main', '{words}', 'instance')")
    return copy.execute(f"SELECT term, doc FROM terms_of_{words}")  # noqa: S608


# Reads SQLite's pages without SQLite. The shell's `.recover` finds the same rows, but none if the header is destroyed;
# Debian's shell and apsw's lack it.

# A row's columns; TEXT and BLOB are both bytes. Without a proven checksum, a row may have any values.
Cells: TypeAlias = tuple[Any, ...]

HEADER_BYTES = 100
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 13, 10, 2
LOG_HEADER, FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
FRAME_BYTES = FRAME_HEADER.size + PAGE_BYTES
LOG_MAGIC = 0x377F0682  # its last bit marks checksums of big-endian words
# The most of a cell that its own page holds (in an index), and the least if the rest is on overflow pages.
MOST_INDEX_BYTES = (PAGE_BYTES - 12) * 64 // 255 - 23
LEAST_LOCAL_BYTES = (PAGE_BYTES - 12) * 32 // 255 - 23
VALUE_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # of numbers, by type


class Pages:
    """The pages of a file under the intact part of its write-ahead log. Use it with `with`.

    Reading takes no lock: nothing may write meanwhile. Closing drops this process's SQLite locks on the file, so no
    store of the file may be open in this process.
    """

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            OSError: it can't be read.
        """
        self._file = Path(path).open("rb")  # noqa: SIM115  # closed in __exit__
        self._log, _, size = _logged(path)
        # The size in the log counts, but a truncated file lacks the pages behind its end.
        self.count = max(-(-self._file.seek(0, 2) // PAGE_BYTES), size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, number: int) -> bytes:
        """Return a page, numbered from 1; shorter or empty at the end of the file."""
        if number in self._log:
            return self._log[number]
        self._file.seek((number - 1) * PAGE_BYTES)
        return self._file.read(PAGE_BYTES)

    def all_rows(self) -> Iterator[tuple[int | None, Cells]]:
        """Yield all apparent rows: the id (`None` in an index) and the columns.

        Free pages come last, so current rows precede older copies.
        """
        free = self._free()
        for number in sorted(range(1, self.count + 1), key=free.__contains__):
            yield from self._rows(number)

    def _free(self) -> set[int]:
        """Return the pages that no tree uses any more."""
        free: set[int] = set()
        trunk = int.from_bytes(self.read(1)[32:36], "big")
        while 0 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self.read(trunk)
            count = min(int.from_bytes(page[4:8], "big"), PAGE_BYTES // 4 - 2)
            free.update(int.from_bytes(page[8 + 4 * place : 12 + 4 * place], "big") for place in range(count))
            trunk = int.from_bytes(page[:4], "big")
        return free

    def _rows(self, number: int) -> Iterator[tuple[int | None, Cells]]:
        """Yield the undamaged rows of a page; none if it is not a page of a tree."""
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
        """Return the bytes of a cell, including those on its overflow pages.

        Raises:
            ValueError: some are missing.
        """
        most = PAGE_BYTES - 35 if table else MOST_INDEX_BYTES
        if length <= most:
            return _cut(page, start, length)
        if length > self.count * PAGE_BYTES:
            raise ValueError("longer than the file")
        local = LEAST_LOCAL_BYTES + (length - LEAST_LOCAL_BYTES) % (PAGE_BYTES - 4)
        if local > most:
            local = LEAST_LOCAL_BYTES
        pieces, missing = [_cut(page, start, local)], length - local
        following = int.from_bytes(_cut(page, start + local, 4), "big")
        while missing:
            if not 0 < following <= self.count:
                raise ValueError("an overflow page is gone")
            more = self.read(following)
            pieces.append(_cut(more, 4, min(missing, PAGE_BYTES - 4)))
            following = int.from_bytes(more[:4], "big")
            missing -= len(pieces[-1])
        return b"".join(pieces)


def _page_record(data: bytes) -> Cells:
    header, place = _varint(data, 0)
    start, values = header, list[Any]()
    while place < header:
        kind, place = _varint(data, place)
        size = (kind - 12) // 2 if kind >= 12 else VALUE_BYTES[kind]
        values.append(_value(kind, _cut(data, start, size)))
        start += size
    return tuple(values)


def _value(kind: int, data: bytes) -> float | bytes | None:
    if kind >= 12:
        return data
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in {8, 9}:
        return kind - 8
    return int.from_bytes(data, "big", signed=True) if kind else None


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the number of 1 to 9 bytes that begins at `start`, 64 bits with a sign, and where it ends."""
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
    """Return the number of damaged frames in a file's write-ahead log before intact ones.

    Safe while other programs write: a half-written frame is complete a moment later.
    """
    return min(_logged(path)[1] for _ in range(2))


def _logged(path: str) -> tuple[dict[int, bytes], int, int]:
    """Return the newest committed pages in a log by number, the number of broken frames, and the file's pages.

    SQLite stops at the first broken frame. Each frame has the checksum of all before it, so a frame behind a broken one
    is proven as well. A transaction with a broken frame counts if another one follows. Otherwise a crash has torn it
    before the store confirmed it, and SQLite leaves it out as well.
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
    # Of the transactions that are not in `pages` yet: the last intact pages, and the number of broken frames.
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


# Rows from any page of a damaged store that their own checksums prove.

RECORD_NUMBERS = "SELECT kind, number FROM records WHERE session = ? ORDER BY kind"
NUMBERS = "SELECT key >> 32 FROM messages UNION SELECT session FROM records UNION SELECT session FROM summaries"
LATER = "SELECT min(number) FROM records WHERE session = ? AND kind = ? AND number >= ?"
BODY = "SELECT body FROM records WHERE session = ? AND kind = ? AND number = ?"
ADD_SESSION = "INSERT INTO sessions(no, id, hash, messages, checksum, records) VALUES(?, ?, ?, ?, ?, ?)"
# A memory's row may occur twice: current, and from before a replacement.
FOUND_MEMORIES = f"CREATE TEMP TABLE found_memories({MEMORY_COLUMNS}, PRIMARY KEY(key))"
TAKE_MEMORY = (
    f"INSERT INTO found_memories VALUES({', '.join('?' * 19)}) "  # our own constants
    "ON CONFLICT DO UPDATE SET superseded_by = excluded.superseded_by, checksum = excluded.checksum "
    "WHERE excluded.superseded_by IS NOT NULL"
)
# Forgotten rows stay out, even if free pages still have them; if an id occurs again, the later one counts.
KEEP_MEMORIES = (
    "INSERT OR IGNORE INTO memories SELECT * FROM found_memories "
    "WHERE key NOT IN (SELECT key FROM forgotten_memories) ORDER BY key DESC"
)


def _salvage(path: str, connection: sqlite3.Connection) -> tuple[list[SessionHealth], int]:
    """Write all proven rows into an empty store, within a transaction, and fill the gaps.

    Return the sessions and the number of saved memories. Nothing may write to the file meanwhile.

    Raises:
        OSError: the file can't be read.
    """
    salvage = Salvage(connection)
    with Pages(path) as pages:
        for rowid, values in pages.all_rows():
            salvage.take(rowid, values)
    return [salvage.finish_session(no) for no in salvage.numbers()], salvage.finish_memories()


class Salvage:
    """Rows found in pages that go into an empty store, within a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sessions: dict[int, tuple[int, bytes, bytes]] = {}  # by number: messages, id, counts of records
        # A session's id in the two indexes of sessions: an entry has no checksum, but one index has the CRC-32 of the
        # other's ids.
        self._names: dict[int, set[bytes]] = {}
        self._hashes: dict[int, set[int]] = {}
        self._has_memories = False
        # Identifies a row's table: whether it is in a tree without row ids, and its number of cells.
        self._takers = {
            (False, 11): self._take_message, (False, 6): self._take_session, (False, 12): self._take_summary,
            (False, 19): self._take_memory, (False, 7): self._take_grave,
            (True, 5): self._take_record, (True, 4): self._take_mark, (True, 2): self._take_name,
        }  # fmt: skip

    def take(self, rowid: int | None, values: Cells) -> None:
        """Save a row if it is ours and intact."""
        taker = self._takers.get((rowid is None, len(values)))
        if taker is not None:
            with suppress(cells.DamagedRowError, TypeError, ValueError, OverflowError):
                taker(rowid or 0, values)

    def _insert(self, table: str, values: Cells) -> None:
        statement = f"INSERT OR IGNORE INTO {table} VALUES({', '.join('?' * len(values))})"  # our own tables
        self._connection.execute(statement, _cells(values))

    def _take_message(self, key: int, values: Cells) -> None:
        time = None if values[5] is None else float(values[5])
        row = (key, *values[1:5], time, *values[6:])
        cells.decode([row], key >> SEQ_BITS << SEQ_BITS)
        self._insert("messages", row)

    def _take_session(self, no: int, values: Cells) -> None:
        _, name, _, messages, check, counts = values
        known = self._sessions.get(no)
        if rows.session_checksum(no, messages, name, counts) == check and (known is None or messages >= known[0]):
            self._sessions[no] = messages, name, counts

    def _take_summary(self, _rowid: int, values: Cells) -> None:
        cells.decode_summary(values[0], "", values[1:])
        self._insert("summaries", values)

    def _take_record(self, _rowid: int, values: Cells) -> None:
        cells.decode_record(values[0], cells.plain(values[1]), values[2:])
        self._insert("records", values)

    def _take_name(self, _rowid: int, values: Cells) -> None:
        value, no = values
        if isinstance(value, bytes):
            self._names.setdefault(no, set()).add(value)
        elif isinstance(value, int):
            self._hashes.setdefault(no, set()).add(value)

    def _take_memory(self, key: int, values: Cells) -> None:
        row = (key, *values[1:6], float(values[6]), float(values[7]), *values[8:])
        decode_memory(row)
        self._make_memories()
        self._connection.execute(TAKE_MEMORY, _cells(row))

    def _take_grave(self, key: int, values: Cells) -> None:
        _, memory_id, owner, time, check, forgotten, reason = values
        row = (key, memory_id, owner, float(time), check, float(forgotten), reason)
        if grave_checksum(key, owner, row[3], row[5], memory_id, reason) == check:
            self._make_memories()
            self._insert("forgotten_memories", row)

    def _take_mark(self, _rowid: int, values: Cells) -> None:
        if cells.checksum(*values[:3]) == values[3]:
            self._make_memories()
            self._insert("memory_marks", values)

    def _make_memories(self) -> None:
        if not self._has_memories:
            for statement in (*memory_rows.TABLES, FOUND_MEMORIES):
                self._connection.execute(statement)
            self._has_memories = True

    def numbers(self) -> list[int]:
        """Return the numbers of all sessions."""
        return sorted({*self._sessions, *(no for (no,) in self._connection.execute(NUMBERS))})

    def finish_session(self, no: int) -> SessionHealth:
        """Fill a session's gaps, write its own row, and record the losses."""
        stored, name, text = self._sessions.get(no) or (0, self._proved_name(no), b"{}")
        keys = self._connection.execute(KEYS, (no << SEQ_BITS, (no + 1 << SEQ_BITS) - 1))
        seqs = {key - (no << SEQ_BITS) for (key,) in keys}
        stored_counts = json.loads(cells.plain(text))
        numbers: dict[str, set[int]] = {kind: set() for kind in stored_counts}
        for kind, number in self._connection.execute(RECORD_NUMBERS, (no,)):
            numbers.setdefault(cells.plain(kind), set()).add(number)
        counts = {kind: max(stored_counts.get(kind, 0), max(found, default=-1) + 1) for kind, found in numbers.items()}
        messages = max(stored, max(seqs, default=-1) + 1)
        health = SessionHealth(
            cells.plain(name) or f"lost-session-{no}",
            messages,
            tuple(seq for seq in range(messages) if seq not in seqs),
            tuple((kind, each) for kind in sorted(counts) for each in range(counts[kind]) if each not in numbers[kind]),
            named=bool(name),
        )
        self._fill(no, health, counts)
        return health

    def _proved_name(self, no: int) -> bytes:
        """Return the id of a session with a lost row, from the two indexes; b"" if they have none or several."""
        names = [name for name in self._names.get(no, ()) if crc32(name) in self._hashes.get(no, ())]
        return names[0] if len(names) == 1 else b""

    def _fill(self, no: int, health: SessionHealth, counts: dict[str, int]) -> None:
        for seq in health.damaged:
            self._connection.execute(rows.INSERT, cells.encode((no << SEQ_BITS) + seq, lost_message(seq)))
        self._repeat_records(no, health, counts)
        counts = {kind: count for kind, count in counts.items() if count}
        if not health.whole:
            number = counts.get(REPAIR, 0)
            loss = {"messages": health.damaged, "records": health.damaged_records, "named": health.named}
            self._add_record(no, Record(REPAIR, number, cells.json_text(loss)))
            counts[REPAIR] = number + 1
        name, text = cells.stored_text(health.session_id)[1], cells.json_text(counts).encode("utf-8", "surrogatepass")
        check = rows.session_checksum(no, health.messages, name, text)
        self._connection.execute(ADD_SESSION, _cells((no, name, crc32(name), health.messages, check, text)))

    def _repeat_records(self, no: int, health: SessionHealth, counts: dict[str, int]) -> None:
        """Replace each lost record with the one before it, or else the first behind it; reduce the other counts."""
        for kind in [*counts]:
            lost = [number for one, number in health.damaged_records if one == kind]
            while kind == PLAN and lost and lost[-1] == counts[kind] - 1:
                counts[kind] = lost.pop()
            for number in lost:
                source = self._connection.execute(LATER, (no, kind, max(number - 1, 0))).fetchone()[0]
                if source is None:
                    counts[kind] = min(counts[kind], number)
                    break
                body = self._connection.execute(BODY, (no, kind, source)).fetchone()[0]
                self._add_record(no, Record(kind, number, cells.plain_small(body)))

    def _add_record(self, no: int, record: Record) -> None:
        self._connection.execute(rows.INSERT_RECORD, cells.encode_record(no, record))

    def finish_memories(self) -> int:
        """Keep the memories that were not forgotten, and return their number."""
        if not self._has_memories:
            return 0
        self._connection.execute(KEEP_MEMORIES)
        self._connection.execute("DROP TABLE found_memories")
        return memory_rows.count(self._connection)


def _cells(values: Cells) -> tuple[cells.Cell, ...]:
    return tuple(cells.cell(value) if isinstance(value, bytes) else value for value in values)
