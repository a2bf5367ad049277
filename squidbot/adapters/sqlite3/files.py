"""The file: how it is laid out, created, recognised and copied."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from squidbot.adapters.sqlite3.access import FOREIGN, store_error
from squidbot.adapting.disk import make_file, open_own, sync
from squidbot.core.errors import DamagedStoreError, StoreError

__all__ = [
    "LOG_BYTES",
    "SQLITE_FILES",
    "connect",
    "copy",
    "create",
    "open_file",
    "open_only_reading",
    "open_reading",
    "place",
    "remove",
    "shrink_log",
]

APPLICATION_ID = 0x53514454  # "SQDT" in the file's header: it tells our files from any other SQLite file
VERSION = 1

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
    """CREATE VIEW transcript AS SELECT sessions.id AS session, key & 4294967295 AS seq, turn,
    json_extract(form, '$[0]') AS role, datetime(time, 'unixepoch') AS time, bound, estimate,
    json_extract(form, '$[2]') AS codec, call_ids, result_ids, frozen, payload
FROM messages JOIN sessions ON sessions.no = messages.key >> 32""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

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
    if os.path.lexists(target):
        raise StoreError(f"{target}: exists; a backup overwrites nothing, name a new file")
    part = f"{target}.part-{os.getpid()}"
    try:
        make_file(part)
        with (
            closing(_read_only(path, busy_seconds)) as source,
            closing(sqlite3.connect(part)) as copied,
        ):
            source.backup(copied)  # one step is one snapshot, and writers go on meanwhile
        place(part, target)
    except (sqlite3.Error, OSError) as error:
        raise store_error(target, error, "; no backup was made") from error
    finally:
        remove(part)


def place(part: str, target: str) -> None:
    """Give a finished file its name, durably; nobody sees it half, and nothing is replaced.

    Raises:
        OSError: `target` exists, or can't be written.
    """
    sync(part)
    os.link(part, target)  # a rename would replace a file that came in between
    sync(str(Path(target).parent))


def remove(part: str) -> None:
    """Remove an unfinished file of our own, and what stands beside it."""
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
