"""The file: how it is laid out, created, recognised and copied."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from squidbot.adapters.common.files import make_file, open_own, sync
from squidbot.adapters.common.transcripts import refuse_misfit
from squidbot.adapters.sqlite3 import index, rows
from squidbot.adapters.sqlite3.index import DamagedIndexError
from squidbot.adapters.sqlite3.rows import DamagedRowError, stored_text
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from squidbot.adapters.sqlite3.index import SearchIndex
    from squidbot.adapters.sqlite3.rows import SessionRow
    from squidbot.core.messages import Erasure, StoredMessage


# What SQLite's errors mean to the one who must act.

Value = TypeVar("Value")
UNTOUCHED = "; nothing was written"

# SQLite's primary result codes: which of our errors, what it means, what to do.
BUSY = (StoreError, "another program holds the file's lock", "try again")
DAMAGED = (
    DamagedStoreError,
    "the file is damaged",
    "read_intact() serves what is whole, `squidbot store doctor` saves it into a copy; or put a backup in its place",
)
UNREACHABLE = (StoreError, "can't be opened or written", "check that its folder exists and that both may be written")
MEANINGS: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_ERROR: DAMAGED,  # our statements are fixed: a table or column of theirs is gone
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,  # a row is where the counts say that there is none
    sqlite3.SQLITE_CANTOPEN: UNREACHABLE,
    sqlite3.SQLITE_READONLY: UNREACHABLE,
    sqlite3.SQLITE_FULL: (StoreError, "the disk is full", "what is stored can be read; make room and try again"),
    sqlite3.SQLITE_NOTADB: (
        DamagedStoreError,
        "not a squidbot store, or its header is destroyed",
        "name another file, or put a backup in its place, or try `squidbot store doctor`",
    ),
}
# What may come up in a `with` block of ours and is no StoreError yet.
FOREIGN = (sqlite3.Error, DamagedRowError, OverflowError, UnicodeDecodeError, MemoryError)
OTHER = (StoreError, "SQLite refused", "check the disk and the call")


def store_error(path: str, error: BaseException, note: str = "") -> StoreError:
    """Return our error for one of SQLite's, or for a damaged row. `note`: what became of a write."""
    if isinstance(error, DamagedRowError):
        return DamagedStoreError(f"{path}: {error} is missing or does not match its checksum{note}; {error.advice}")
    if isinstance(error, MemoryError):  # Python's name for SQLITE_NOMEM: noise reads as the length of a huge block
        text = "SQLite asks for more memory than there is, as it does of a damaged file"
        return DamagedStoreError(f"{path}: {text}{note}; {DAMAGED[2]}")
    # The low byte is the primary code, the rest its detail. Where SQLite's message quotes a damaged schema, Python
    # raises UnicodeDecodeError in its place.
    code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else getattr(error, "sqlite_errorcode", 0)
    usual = UNREACHABLE if isinstance(error, OSError) else OTHER
    kind, meaning, advice = MEANINGS.get(code & 0xFF, usual)
    return kind(f"{path}: {meaning} ({error}){note}; {advice}")


PAGE_BYTES = 4096
APPLICATION_ID = 0x53514454  # "SQDT" in the file's header: it tells our files from any other SQLite file
VERSION = 2

# A session's rows lie side by side in the primary key, and counts lie before bodies: SQLite follows a long body's
# overflow pages only when the body itself is asked for.
# `frozen`, `body` and a summary's `text` are compressed where they are long: a BLOB that begins with `rows.COMPRESSED`.
SCHEMA = (
    """CREATE TABLE sessions(
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,    -- BLOB where it holds lone surrogates, as all texts here
    hash INTEGER NOT NULL,      -- CRC-32 of the id: a second way to find it, when the index of the ids is damaged
    messages INTEGER NOT NULL,  -- how many there are: a missing row is noticed
    checksum INTEGER NOT NULL,  -- CRC-32, as in each table
    records TEXT NOT NULL       -- JSON: how many there are of each kind
)""",
    "CREATE INDEX sessions_by_hash ON sessions(hash)",
    """CREATE TABLE messages(
    key INTEGER PRIMARY KEY,    -- sessions.no << 32 | seq
    bound INTEGER NOT NULL,     -- tokens, as estimate
    estimate INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    time REAL,                  -- seconds since 1970
    form TEXT NOT NULL,         -- JSON: role, category, codec, counter
    call_ids TEXT,              -- JSON; NULL for none
    result_ids TEXT,
    frozen TEXT,                -- JSON: sent_text, sent_arguments, notice, sent_cost; NULL: sent as it was said
    payload TEXT NOT NULL
)""",
    """CREATE TABLE records(
    session INTEGER NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY(session, kind, number)
) WITHOUT ROWID""",
    """CREATE TABLE summaries(
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    estimate INTEGER NOT NULL,
    bound INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    level TEXT NOT NULL,
    counter TEXT NOT NULL,
    source_digest TEXT NOT NULL,
    made_by TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE(session, id)
)""",
    "CREATE INDEX summaries_by_range ON summaries(session, first_seq, last_seq)",
    # Four cells in an index: `doctor` tells the rows of tables by that.
    """CREATE TABLE claims(
    session NOT NULL,           -- its id, as in `sessions`
    kind NOT NULL,
    holder NOT NULL,
    until REAL NOT NULL,        -- seconds since 1970
    PRIMARY KEY(session, kind)
) WITHOUT ROWID""",
    # A random number for each change that is not scrubbed yet: one of them never takes away the mark of another.
    "CREATE TABLE unscrubbed(mark INTEGER PRIMARY KEY)",
    """CREATE VIEW transcript AS SELECT sessions.id AS session, key & 4294967295 AS seq, turn,
    json_extract(form, '$[0]') AS role, datetime(time, 'unixepoch') AS time, bound, estimate,
    json_extract(form, '$[2]') AS codec, call_ids, result_ids, frozen, payload
FROM messages JOIN sessions ON sessions.no = messages.key >> 32""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

# A store that is gone with the process.
MEMORY = ":memory:"

# Closing a file drops the locks that its process has on it through SQLite: nobody connects to one that is being made.
_MAKING = threading.Lock()

# What stands beside a store's file: what SQLite makes there, and what says that there is a store. A file that is gone,
# or was emptied, would else be a new one: every conversation in it forgotten, and no error.
SQLITE_FILES = ("-wal", "-shm", "-journal")
KNOWN = "-known"
KNOWN_TEXT = b"""A squidbot store stands beside this file. Where that is missing or empty, squidbot makes no new one:
put a backup in its place, or delete this file to start anew.
"""

HEADER_BYTES = 100
# Where the header of a rollback journal ends to say how many pages the file had before.
JOURNAL_SIZE_END = 20

LOG_BYTES = 4 * 2**20  # of the write-ahead log, when it is at rest
SETTINGS = (
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA cache_size = -2048",  # KiB; a turn reads far less, and memory stays bounded
    "PRAGMA secure_delete = ON",  # what is forgotten is overwritten: a repair reads free pages, too
    "PRAGMA mmap_size = 0",  # through a map, a failing disk kills the process instead of raising
    "PRAGMA wal_autocheckpoint = 1000",  # pages of 4 KiB: the WAL stays near 4 MB
    f"PRAGMA journal_size_limit = {LOG_BYTES}",  # else one huge message would leave a huge WAL behind
)


def open_file(path: str, busy_seconds: float, *, may_create: bool = True) -> sqlite3.Connection:
    """Return a connection to a store's file, created where there is none or an empty one, if that `may` be.

    Raises:
        DamagedStoreError: the file is not a store, or a damaged one, or one that was there is gone; it was left as it
            is.
        StoreError: it can't be opened, or a newer squidbot wrote it, or there is none and none may be created.
    """
    try:
        if _size(path) and _size(f"{path}-journal"):
            _end_creation(path, busy_seconds)
        if not _is_new(path):
            if not _size(f"{path}{KNOWN}"):  # else it is known to be ours, and its own connection tells, too
                _recognise(path)
        elif may_create:
            create(path, busy_seconds)
        else:
            raise StoreError(f"{path}: there is no store, the file is missing or empty; check the path")
        connection = connect(path, busy_seconds)
        try:
            _set_up(path, connection, busy_seconds)
            _make_known(path)
        except BaseException:
            connection.close()
            raise
    except (*FOREIGN, OSError) as error:
        raise store_error(path, error, "; nothing was changed") from error
    return connection


def open_memory() -> sqlite3.Connection:
    """Return a connection to a new store in memory."""
    connection = connect(MEMORY, 0.0)
    for statement in (*SCHEMA, *SETTINGS):
        connection.execute(statement)
    return connection


def open_reading(path: str, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection that can't change a store's file.

    Raises:
        DamagedStoreError: the file is not a store, or a damaged one.
        StoreError: a newer squidbot wrote it.
        sqlite3.Error: it can't be opened.
    """
    if not _size(path):
        raise DamagedStoreError(f"{path}: missing or empty; put a backup in its place")
    _recognise(path)
    # Without a log nobody has the file open, and a plain connection would leave one behind.
    connection = _read_only(path, busy_seconds, "" if Path(f"{path}-wal").exists() else "&immutable=1")
    connection.text_factory = bytes
    try:
        _check_version(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_only_reading(path: str, busy_seconds: float) -> sqlite3.Connection:
    """Return what `open_reading` does; raises as `open_file`."""
    try:
        return open_reading(path, busy_seconds)
    except (*FOREIGN, OSError) as error:
        raise store_error(path, error) from error


def copy(path: str, target: str, busy_seconds: float) -> None:
    """Write a consistent copy of a store in use to `target`, which must not exist yet.

    Raises:
        StoreError: `target` exists, or can't be written; no half copy is left under that name.
    """
    with new_file(target, "exists; a backup overwrites nothing, name a new file", "no backup was made") as part:
        make_file(part)
        with closing(_read_only(path, busy_seconds)) as source, closing(sqlite3.connect(part)) as copied:
            source.backup(copied)  # one step is one snapshot, and writers go on meanwhile


@contextmanager
def new_file(target: str, exists: str, failed: str) -> Iterator[str]:
    """Give the path of a file that gets its name when the block ends well, durably; nobody sees it half.

    Raises:
        StoreError: `target` exists, or it failed; nothing is left. The text ends with `exists`, or `failed`.
    """
    if os.path.lexists(target):
        raise StoreError(f"{target}: {exists}")
    part = f"{target}.part-{os.getpid()}"
    try:
        yield part
        sync(part)
        os.link(part, target)  # a rename would replace a file that came in between
        sync(str(Path(target).parent))
    except (*FOREIGN, OSError) as error:
        raise store_error(target, error, f"; {failed}") from error
    finally:
        for ending in ("", *SQLITE_FILES, KNOWN):
            Path(f"{part}{ending}").unlink(missing_ok=True)


def shrink_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Empty the write-ahead log unless a reader needs it: behind a huge message, lest the next append pay for it."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # The first write after it makes the log anew: now rather than in the next append.
        connection.execute(f"PRAGMA user_version = {VERSION}")
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")


def connect(path: str, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection with bytes for texts and without transactions of its own."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    connection.text_factory = bytes
    return connection


def _read_only(path: str, busy_seconds: float = 0.0, flags: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(path).as_uri()}?mode=ro{flags}", uri=True, timeout=busy_seconds)


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _size(path: str) -> int:
    try:
        status = os.stat(path)  # noqa: PTH116  # a Path costs more than the call, and each opening asks five times
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path}: a folder or device; check the path")
    return status.st_size


def _is_new(path: str) -> bool:
    """Say whether there is nothing yet under `path`.

    Raises:
        DamagedStoreError: the file is gone or empty, but what stands beside it shows that it was a store.
    """
    # Looked for first: both are made behind the file, so one that is there now had a file before.
    left = [ending for ending in ("-wal", KNOWN) if _size(f"{path}{ending}")]
    if _size(path):
        return False
    if left:
        raise DamagedStoreError(
            f"{path}: missing or empty, but {path}{left[0]} is not: a store was here; "
            f"put a backup in its place, or move {path}{left[0]} away to start anew"
        )
    return True


def _make_known(path: str) -> None:
    """Leave a file beside the store that tells a lost store from a new one."""
    known = f"{path}{KNOWN}"
    if not _size(known):
        # A folder that may not be written, where the store itself is at rest, keeps none.
        with suppress(OSError), open_own(known, "w") as file:
            file.write(KNOWN_TEXT)


def _recognise(path: str) -> None:
    """Look at the header alone, without locks: another program's file must not even be recovered by us.

    A plain `open` would do harm: closing it drops the locks that this process has on the file through SQLite.

    Raises:
        DamagedStoreError: it belongs to another program.
        sqlite3.DatabaseError: it is no SQLite file, or a damaged one.
    """
    with closing(_read_only(path, flags="&immutable=1")) as connection:
        # Else SQLite refuses a file that is shorter than its header says, as after a crash before all was written back.
        connection.execute("PRAGMA writable_schema = ON")
        _check_owner(path, connection)


def _check_owner(path: str, connection: sqlite3.Connection) -> None:
    if _number(connection, "application_id") != APPLICATION_ID:
        raise DamagedStoreError(f"{path}: belongs to another program; it was left as it is: name another file")


def _end_creation(path: str, busy_seconds: float) -> None:
    """Let SQLite undo a creation that a crash has ended half-way, and wait for one that goes on."""
    try:
        _recognise(path)
    except sqlite3.DatabaseError:
        if not _is_undone_whole(path):
            raise
    with closing(connect(path, busy_seconds)) as connection:
        _number(connection, "schema_version")


def _is_undone_whole(path: str) -> bool:
    """Say whether nothing but a creation has ever been begun: the journal leads back to an empty file.

    A power cut may keep any of the new pages but the first.
    """
    with Path(path).open("rb") as file, Path(f"{path}-journal").open("rb") as journal:
        header = journal.read(JOURNAL_SIZE_END)
        return header[JOURNAL_SIZE_END - 4 :] == bytes(4) and not any(file.read(HEADER_BYTES))


def create(path: str, busy_seconds: float) -> None:
    """Lay the tables out, in a rollback journal: the file's header is ours from its first byte on.

    The file is its owner's alone, and what SQLite makes beside it gets the same rights.
    """
    with _MAKING:
        make_file(path)
    with closing(connect(path, busy_seconds)) as connection:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # `doctor` reads pages of this size
        connection.execute("BEGIN IMMEDIATE")
        if not _number(connection, "schema_version"):  # else another process was faster
            for statement in SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")


def _check_version(path: str, connection: sqlite3.Connection) -> None:
    _check_owner(path, connection)
    version = _number(connection, "user_version")
    if version > VERSION:
        raise StoreError(f"{path}: has layout {version}, this squidbot knows {VERSION}; update squidbot")
    if version != VERSION:
        raise DamagedStoreError(f"{path}: has no layout that a squidbot wrote; put a backup in its place")


def _set_up(path: str, connection: sqlite3.Connection, busy_seconds: float) -> None:
    _check_version(path, connection)
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != b"wal":
        _use_wal(path, connection, busy_seconds)
    for setting in SETTINGS:
        connection.execute(setting)


def _use_wal(path: str, connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Leave the rollback journal for good.

    EXTRA syncs the folder behind the journal's removal: were it to come back after a power cut, it would undo the
    layout below everything stored since.
    """
    connection.execute("PRAGMA synchronous = EXTRA")
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait for this lock by itself
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != b"wal":
        raise StoreError(f"{path}: this file system can't hold a write-ahead log; put the store on a local disk")


# Who works on what, of all processes that share the file.

OTHER_CLAIM = "SELECT 1 FROM claims WHERE session = ? AND kind = ? AND holder <> ? AND until > ?"
TAKE_CLAIM = "REPLACE INTO claims(session, kind, holder, until) VALUES(?, ?, ?, ?)"
END_CLAIM = "DELETE FROM claims WHERE session = ? AND kind = ? AND holder = ?"


def claim_cells(connection: sqlite3.Connection, *texts: str) -> tuple[str | bytes | None, ...]:
    """Return session, kind and holder as cells.

    Raises:
        StoreError: the id is refused.
    """
    rows.find(connection, texts[0])  # refuses what is no id
    return tuple(stored_text(text)[0] for text in texts)


# What is forgotten goes for good: out of the rows, out of the search index, and out of the bytes of
# the file.

# REPLACE and not UPDATE: it mends a damaged or missing row, too.
REPLACE_MESSAGE = rows.INSERT.replace("INSERT", "REPLACE", 1)
REPLACE_RECORD = rows.INSERT_RECORD.replace("INSERT", "REPLACE", 1)
HAS_SUMMARY = "SELECT 1 FROM summaries WHERE session = ? AND id = ?"
REMOVE_SUMMARY = "DELETE FROM summaries WHERE session = ? AND id = ?"

REMOVE_MESSAGES = "DELETE FROM messages WHERE key BETWEEN ? AND ?"
REMOVE_SESSION = (
    "DELETE FROM records WHERE session = ?",
    "DELETE FROM summaries WHERE session = ?",
    "DELETE FROM sessions WHERE no = ?",
)
# How many messages of a session are read at once, to be taken out of the index.
PAGE_ROWS = 1_000

ADD_MARK = "INSERT INTO unscrubbed(mark) VALUES(abs(random() >> 1))"
ALL_MARKS = "SELECT mark FROM unscrubbed"
REMOVE_MARK = "DELETE FROM unscrubbed WHERE mark = ?"

READER = "another program is reading an older state of the store"
DAMAGED_INDEX = "a search index of former times is damaged and can't be removed"
LATER = "what was forgotten is out of reach, but its bytes are not overwritten yet"


def forget(connection: sqlite3.Connection, session: SessionRow, erasure: Erasure, *, indexed: bool) -> None:
    """Do what an erasure says, within a transaction. `indexed`: the search index is not just emptied.

    Raises:
        StoreError: the erasure does not fit the session; the transaction must be undone.
        DamagedIndexError: the same, to be done again with a new index.
    """
    counts, pick = session.record_counts, partial(rows.picked, connection, session)
    refuse_misfit(session.session_id, erasure, session.messages, counts, pick)
    seqs = [tombstone.seq for tombstone in erasure.tombstones]
    is_indexed = bool(seqs) and indexed
    if is_indexed:
        _unindex(connection, session, rows.each_picked(connection, session, seqs))
    changed = (*erasure.unnoticed, *erasure.tombstones)
    cells = [rows.encode(session.first_key + row.seq, row) for row in changed]
    connection.executemany(REPLACE_MESSAGE, cells)
    connection.executemany(REPLACE_RECORD, [rows.encode_record(session.no, record) for record in erasure.replaced])
    if is_indexed:
        index.settle(connection, session, max(seqs))
    remove_summaries(connection, session, erasure.summaries)
    if erasure.appended:
        session = rows.append(connection, rows.add(connection, session), (), erasure.appended)
    if changed or erasure.replaced:
        mark(connection)


def drop(connection: sqlite3.Connection, session: SessionRow, *, indexed: bool) -> None:
    """Remove a session with all its rows, within a transaction; nothing is done where there is none.

    Raises:
        DamagedIndexError: it needs a new index; the transaction must be undone.
    """
    if not session.no:
        return
    if indexed:
        _unindex(connection, session, _all_of(connection, session))
    index.leave(connection, session)
    connection.execute("DELETE FROM claims WHERE session = ?", (stored_text(session.session_id)[0],))
    connection.execute(REMOVE_MESSAGES, (session.first_key, session.first_key + (1 << rows.SEQ_BITS) - 1))
    for statement in REMOVE_SESSION:
        connection.execute(statement, (session.no,))
    mark(connection)


def _all_of(connection: sqlite3.Connection, session: SessionRow) -> Iterator[StoredMessage]:
    for first in range(0, session.messages, PAGE_ROWS):
        yield from rows.messages(connection, session, first, min(session.messages, first + PAGE_ROWS) - 1)


def _unindex(connection: sqlite3.Connection, session: SessionRow, messages: Iterable[StoredMessage]) -> None:
    """Take rows out of the search index before they are replaced.

    Raises:
        DamagedIndexError: it needs a new index.
    """
    try:
        index.remove(connection, session, messages)
    except rows.DamagedRowError as error:  # which words of it are in the index, nobody knows
        raise DamagedIndexError(str(error)) from error


def remove_summaries(connection: sqlite3.Connection, session: SessionRow, summary_ids: Sequence[str]) -> None:
    """Remove summaries, within a transaction; unknown ids are passed over."""
    cells = [(session.no, rows.stored_text(name)[0]) for name in summary_ids]
    there = [each for each in cells if connection.execute(HAS_SUMMARY, each).fetchone()]
    if there:
        connection.executemany(REMOVE_SUMMARY, there)
        mark(connection)


def mark(connection: sqlite3.Connection) -> None:
    """Say, within the transaction of a change, that bytes of what was forgotten are to be overwritten."""
    connection.execute(ADD_MARK)


def is_unscrubbed(connection: sqlite3.Connection) -> bool:
    """Say whether words that were forgotten may still stand in the bytes of the file or of its log."""
    return connection.execute(ALL_MARKS).fetchone() is not None


def scrub(path: str, busy_seconds: float) -> None:
    """Write a file with marks anew and empty its log; nobody else can write meanwhile.

    Takes room for two more copies of the file while it lasts: one in the log, one where SQLite keeps temporary files.

    Raises:
        StoreError: it could not be ended: a program reads an older state, or writes, for longer than `busy_seconds`;
            the disk is full; the file is damaged.
    """
    try:
        with closing(connect(path, busy_seconds)) as connection:
            for setting in SETTINGS:
                connection.execute(setting)
            _scrub(path, connection)
    except FOREIGN as error:
        raise store_error(path, error, f"; {LATER}") from error


def _scrub(path: str, connection: sqlite3.Connection) -> None:
    marks = connection.execute(ALL_MARKS).fetchall()
    if not marks:  # another program was faster
        return
    _empty_log(path, connection)  # before the work: a reader that is in the way is found at once
    connection.execute("VACUUM")
    _empty_log(path, connection)
    if index.are_several(connection):
        raise StoreError(f"{path}: {DAMAGED_INDEX}; {LATER}; `squidbot store doctor` makes a copy without them")
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(REMOVE_MARK, marks)
    connection.execute("COMMIT")


def _empty_log(path: str, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise StoreError(f"{path}: {READER}; {LATER}; try again when it has ended")


class Access:
    """The connection of a store's file, for one thread at a time; `writes`: in one transaction.

    The transaction is committed at the end of the `with` block, and undone after any exception. Errors of SQLite, and
    values that it can't hold, leave the block as a StoreError with its cause.
    """

    # A class, and no generator with a decorator: each call of a store goes through here, at a third of the cost.
    __slots__ = ("_busy_seconds", "_connection", "_lock", "_path", "_pid", "_writes")

    def __init__(
        self, path: str, connection: sqlite3.Connection, lock: threading.Lock, busy_seconds: float, *, writes: bool
    ) -> None:
        """Give access to a connection, on which all who share it hold the lock."""
        self._path = path
        self._connection = connection
        self._lock = lock
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._writes = writes

    def __enter__(self) -> sqlite3.Connection:
        """Wait for the connection, and begin.

        Raises:
            StoreError: SQLite failed; or the wait for another thread or program passed `busy_seconds`, or this process
                is a fork of the one that opened the store.
        """
        note = UNTOUCHED if self._writes else ""
        if os.getpid() != self._pid:  # SQLite: a connection carried over a fork destroys the file
            raise StoreError(f"{self._path}: opened before a fork; open the store again in this process{note}")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise StoreError(f"{self._path}: another thread is busy with the store{note}; try again")
        if self._writes:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except BaseException as error:
                self._lock.release()
                if isinstance(error, FOREIGN):
                    raise store_error(self._path, error, note) from error
                raise
        return self._connection

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Commit, or undo.

        Raises:
            StoreError: SQLite failed; a write left nothing behind.
        """
        try:
            if self._writes:
                try:
                    if error is None:
                        self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            if isinstance(error, FOREIGN):
                raise error
        except FOREIGN as failed:
            raise store_error(self._path, failed, UNTOUCHED if self._writes else "") from failed
        finally:
            self._lock.release()


# `StoreFile`: one file that a store has open, for its threads in turn, until it is closed.


class StoreFile:
    """What stores in one SQLite file have in common: the connection, who may use it when, and what overwrites bytes."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        index_kind: SearchIndex,
        *,
        busy_seconds: float,
        create: bool,
        read_only: bool = False,
    ) -> None:
        """Open the file; `index_kind`: what its search goes by; the others, and exceptions, are those of the stores."""
        self._path = MEMORY if path == MEMORY else str(Path(path).absolute())
        self._index = index_kind
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._lock = threading.Lock()
        if self._path == MEMORY:
            self._connection = open_memory()
        elif read_only:
            self._connection = open_only_reading(self._path, busy_seconds)
        else:
            self._connection = open_file(self._path, busy_seconds, may_create=create)
        shared = self._path, self._connection, self._lock, busy_seconds
        self._reading = Access(*shared, writes=False)
        self._writing = Access(*shared, writes=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does nothing; any other call after it raises StoreError."""
        if os.getpid() == self._pid:  # in a fork the connection is still the parent's
            with self._lock:
                self._connection.close()

    def _written(self, act: Callable[[sqlite3.Connection, bool], Value]) -> Value:
        """Write in one transaction, the search index with it.

        Where the index is damaged `act` is undone, and done again beside a new, empty one, told not to index: search
        does the rest.
        """
        try:
            with self._writing as connection:
                return act(connection, True)  # noqa: FBT003
        except DamagedIndexError:
            return self._renewed(lambda connection: act(connection, False))  # noqa: FBT003

    def _renewed(self, act: Callable[[sqlite3.Connection], Value]) -> Value:
        """Make the search index anew, and act, in one transaction."""
        try:
            with self._writing as connection:
                self._index.renew(connection)
                return act(connection)
        except DamagedStoreError:  # a part of the old one can't even be read to be dropped
            with self._writing as connection:
                self._index.renew(connection, drops=False)
                return act(connection)

    def _indexed(self, act: Callable[[], Value]) -> Value:
        """Do what needs the search index, and once more with a new one where that is damaged or missing.

        Raises:
            DamagedStoreError: it can't be made anew.
        """
        try:
            return act()
        except DamagedIndexError:
            self._renewed(lambda _: None)
        try:
            return act()
        except DamagedIndexError as error:
            raise DamagedStoreError(
                f"{self._path}: the search index is damaged and can't be made anew ({error}); what it finds is not: "
                "`squidbot store doctor` saves that into a copy that makes its own"
            ) from error

    def _scrub_after(self, forgotten: int = 1) -> int:
        if forgotten:
            with suppress(StoreError):  # it is forgotten by now; `is_scrubbed` tells
                self.scrub()
        return forgotten

    def is_scrubbed(self) -> bool:
        """Say whether the bytes of all that was forgotten are overwritten."""
        with self._reading as connection:
            return self._path == MEMORY or not is_unscrubbed(connection)

    def scrub(self) -> None:
        """Overwrite the bytes of what was forgotten, in the file and in its log. Nothing to do is done at once.

        Whatever forgets does so by itself, and opening the store tries again what that could not end. Other writers
        wait until it is done: a second or two for each 100,000 messages in the file.

        Raises:
            StoreError: it could not be ended, and why: a program that reads for long, another writer, a full disk.
        """
        with self._writing as connection:  # where another program scrubs, wait for it
            needed = is_unscrubbed(connection)
        if needed and self._path != MEMORY:
            scrub(self._path, self._busy_seconds)

    def _scrub_left(self) -> None:
        """Try again, at opening, to overwrite what could not be; a damaged file is served all the same."""
        with suppress(StoreError, *FOREIGN):  # as before: `is_scrubbed` tells
            if is_unscrubbed(self._connection):
                scrub(self._path, 0.0)
