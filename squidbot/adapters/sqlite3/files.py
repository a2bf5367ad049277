"""The file: its layout, creation, recognition and copies."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from squidbot.adapters.common.cells import DamagedRowError, encode, encode_record, stored_text
from squidbot.adapters.common.files import make_file, open_own, sync
from squidbot.adapters.common.threads import Waiting, give_way
from squidbot.adapters.common.transcripts import refuse_misfit
from squidbot.adapters.sqlite3 import index, rows
from squidbot.adapters.sqlite3.index import DamagedIndexError
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from squidbot.adapters.sqlite3.index import SearchIndex
    from squidbot.adapters.sqlite3.rows import SessionRow
    from squidbot.core.messages import Erasure, StoredMessage


# SQLite's errors and what to do about them.

Value = TypeVar("Value")
UNTOUCHED = "; nothing was written"

# SQLite's primary result codes: our error, its meaning, the remedy.
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
    sqlite3.SQLITE_ERROR: DAMAGED,  # our statements are fixed: a table or column is gone
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,  # a row exists where the counts have none
    sqlite3.SQLITE_CANTOPEN: UNREACHABLE,
    sqlite3.SQLITE_READONLY: UNREACHABLE,
    sqlite3.SQLITE_FULL: (StoreError, "the disk is full", "what is stored can be read; make room and try again"),
    sqlite3.SQLITE_NOTADB: (
        DamagedStoreError,
        "not a squidbot store, or its header is destroyed",
        "name another file, or put a backup in its place, or try `squidbot store doctor`",
    ),
}
# A reader gets these if SQLite can't make or write its files beside the store.
NO_LOCKS = frozenset((sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY))
# Exceptions in our `with` blocks that are not a StoreError yet.
FOREIGN = (sqlite3.Error, DamagedRowError, OverflowError, UnicodeDecodeError, MemoryError)
OTHER = (StoreError, "SQLite refused", "check the disk and the call")


def store_error(path: str, error: BaseException, note: str = "") -> StoreError:
    """Return our error for one of SQLite's, or for a damaged row. `note`: the result of a write."""
    if isinstance(error, DamagedRowError):
        return DamagedStoreError(f"{path}: {error} is missing or does not match its checksum{note}; {error.advice}")
    if isinstance(error, MemoryError):  # SQLITE_NOMEM: damage can look like a huge length
        text = "SQLite asks for more memory than there is, as it does of a damaged file"
        return DamagedStoreError(f"{path}: {text}{note}; {DAMAGED[2]}")
    # The low byte is the primary code, the rest its detail. If SQLite's message quotes a damaged schema, Python raises
    # UnicodeDecodeError instead.
    code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else getattr(error, "sqlite_errorcode", 0)
    usual = UNREACHABLE if isinstance(error, OSError) else OTHER
    kind, meaning, advice = MEANINGS.get(code & 0xFF, usual)
    return kind(f"{path}: {meaning} ({error}){note}; {advice}")


PAGE_BYTES = 4096
APPLICATION_ID = 0x53514454  # "SQDT" in the file's header: marks our files among SQLite files
VERSION = 2

# A session's rows are adjacent in the primary key, and counts precede bodies: SQLite follows a long body's overflow
# pages only to read the body itself. `frozen`, `body` and a summary's `text` are compressed if they are long: a BLOB
# that begins with `cells.COMPRESSED`.
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
    # Four cells in an index: `doctor` recognises tables by that.
    """CREATE TABLE claims(
    session NOT NULL,           -- its id, as in `sessions`
    kind NOT NULL,
    holder NOT NULL,
    until REAL NOT NULL,        -- seconds since 1970
    PRIMARY KEY(session, kind)
) WITHOUT ROWID""",
    # A random number for each change that is not scrubbed yet: no change removes another one's mark.
    "CREATE TABLE unscrubbed(mark INTEGER PRIMARY KEY)",
    """CREATE VIEW transcript AS SELECT sessions.id AS session, key & 4294967295 AS seq, turn,
    json_extract(form, '$[0]') AS role, datetime(time, 'unixepoch') AS time, bound, estimate,
    json_extract(form, '$[2]') AS codec, call_ids, result_ids, frozen, payload
FROM messages JOIN sessions ON sessions.no = messages.key >> 32""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

# A store that ends with the process.
MEMORY = ":memory:"

# Closing a file drops its process's SQLite locks on it: don't connect to a file during its creation.
_MAKING = threading.Lock()

# Files beside a store's file: SQLite's own, and a mark that there is a store. Without them, a missing or empty file
# would count as new: every conversation lost, and no error.
SQLITE_FILES = ("-wal", "-shm", "-journal")
KNOWN = "-known"
KNOWN_TEXT = b"""A squidbot store stands beside this file. Where that is missing or empty, squidbot makes no new one:
put a backup in its place, or delete this file to start anew.
"""

HEADER_BYTES = 100
# Where a rollback journal's header ends with the file's former number of pages.
JOURNAL_SIZE_END = 20

LOG_BYTES = 4 * 2**20  # of the write-ahead log, at rest
SETTINGS = (
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it returns
    "PRAGMA cache_size = -2048",  # KiB; a turn reads far less, and memory stays bounded
    "PRAGMA secure_delete = ON",  # overwrites forgotten data: a repair reads free pages, too
    "PRAGMA mmap_size = 0",  # mapped, a failing disk kills the process instead of raising
    "PRAGMA wal_autocheckpoint = 1000",  # pages of 4 KiB: the WAL stays near 4 MB
    f"PRAGMA journal_size_limit = {LOG_BYTES}",  # else one huge message would leave a huge WAL
)


def open_file(path: str, busy_seconds: float, *, may_create: bool = True) -> sqlite3.Connection:
    """Return a connection to a store's file. `may`: create a missing or empty one.

    Raises:
        DamagedStoreError: the file is not a store, or is damaged, or a store's file is gone; it is unchanged.
        StoreError: it can't be opened, or a newer squidbot wrote it, or it is missing and may not be created.
    """
    try:
        if _size(path) and _size(f"{path}-journal"):
            _end_creation(path, busy_seconds)
        if not _is_new(path):
            if not _size(f"{path}{KNOWN}"):  # else it is ours, and its own connection reports it, too
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
    """Return a connection to a new in-memory store."""
    connection = connect(MEMORY, 0.0)
    for statement in (*SCHEMA, *SETTINGS):
        connection.execute(statement)
    return connection


class FileState(NamedTuple):
    """What shows that a store's file was written to: (inode, size, times of change) of the file and of its log."""

    file: tuple[int, ...]
    log: tuple[int, ...] | None


def _state_of(path: str) -> FileState | None:
    """Return the state of a store's file; `None` if it is gone or out of reach."""
    found: list[tuple[int, ...] | None] = []
    try:
        for name in (path, log_of(path)):
            try:
                status = os.stat(name)  # noqa: PTH116  # before and after each reading; a Path costs more than the call
            except FileNotFoundError:
                found.append(None)
            else:
                found.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    except OSError:
        return None
    return FileState(found[0], found[1]) if found[0] else None


class Reading(NamedTuple):
    """A read-only connection; `state`: of a file opened without SQLite's locks, so that nobody notices a writer."""

    connection: sqlite3.Connection
    state: FileState | None


def open_reading(path: str, busy_seconds: float, *, follows: bool = False) -> Reading:
    """Open a store's file to read it; `follows`: it sees what others write from now on.

    Raises:
        DamagedStoreError: the file is not a store, or is damaged.
        StoreError: a newer squidbot wrote it.
        sqlite3.Error: it can't be opened.
    """
    state = _state_of(path)  # older than the connection: a change in between is noticed
    if not _size(path) or state is None:
        raise DamagedStoreError(f"{path}: missing or empty; put a backup in its place")
    _recognise(path)
    # Without a log the file is closed, and a plain connection would leave one.
    if follows or state.log:
        try:
            return Reading(_open_reading(path, busy_seconds), None)
        except sqlite3.OperationalError as error:
            # Where SQLite can't make its files beside the store, the file alone is whole only if it has no log.
            if error.sqlite_errorcode & 0xFF not in NO_LOCKS or state.log or _size(f"{path}-journal"):
                raise
    # SQLite does not notice if somebody writes from now on, as another user may: `UnlockedAccess` does.
    return Reading(_open_reading(path, busy_seconds, "&immutable=1"), state)


def _open_reading(path: str, busy_seconds: float, flags: str = "") -> sqlite3.Connection:
    connection = _read_only(path, busy_seconds, flags)
    connection.text_factory = bytes
    try:
        _check_version(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_only_reading(path: str, busy_seconds: float, *, follows: bool = False) -> Reading:
    """Do what `open_reading` does; raise as `open_file`."""
    try:
        return open_reading(path, busy_seconds, follows=follows)
    except (*FOREIGN, OSError) as error:
        is_refused = getattr(error, "sqlite_errorcode", 0) & 0xFF in NO_LOCKS and os.access(path, os.R_OK)
        if is_refused and Path(log := log_of(path)).exists():
            raise StoreError(
                f"{path}: can't be read ({error}): {log} may hold messages that the file lacks, and to read them, "
                f"SQLite has to write to {log.removesuffix('wal')}shm; get the right to write to the folder, or let "
                "the owner of the store make you a copy with `squidbot store backup`"
            ) from error
        raise store_error(path, error) from error


def end_reading(path: str) -> None:
    """Let SQLite remove its files beside a store that was only read, if the log is empty and nobody uses them.

    A read-only connection makes these files and can't remove them. A log with content stays for the next writer, and so
    the file stays as it is.
    """
    if has_log(path) or _size(f"{path}-journal") or not Path(log_of(path)).exists():
        return
    uri = f"{Path(path).as_uri()}?mode=rw"  # it may be gone meanwhile: make none
    with closing(sqlite3.connect(uri, uri=True, timeout=0.0)) as connection:
        _number(connection, "user_version")  # opens the log; the last one to close it removes it


def has_log(path: str) -> bool:
    """Return whether a store's log has content: somebody writes to the store, or a crash has left it.

    SQLite makes an empty one for whoever reads.
    """
    return _size(log_of(path)) > 0


def log_of(path: str) -> str:
    """Return the path of a store's log: SQLite puts it beside the file, not beside a link to it."""
    return f"{os.path.realpath(path)}-wal"


def copy(path: str, target: str, busy_seconds: float) -> None:
    """Write a consistent copy of a store in use to `target`, which must not exist yet.

    Raises:
        StoreError: `target` exists, or can't be written; no half copy is left.
    """
    with new_file(target, "exists; a backup overwrites nothing, name a new file", "no backup was made") as part:
        make_file(part)
        with closing(_read_only(path, busy_seconds)) as source, closing(sqlite3.connect(part)) as copied:
            source.backup(copied)  # one step is one snapshot; writers continue


@contextmanager
def new_file(target: str, exists: str, failed: str) -> Iterator[str]:
    """Yield the path of a file that gets its name, durably, if the block succeeds; nobody sees it half.

    Raises:
        StoreError: `target` exists, or the block failed; no file is left. The text ends with an argument.
    """
    if os.path.lexists(target):
        raise StoreError(f"{target}: {exists}")
    part = f"{target}.part-{os.getpid()}"
    try:
        yield part
        sync(part)
        os.link(part, target)  # a rename would replace a file made meanwhile
        sync(str(Path(target).parent))
    except (*FOREIGN, OSError) as error:
        raise store_error(target, error, f"; {failed}") from error
    finally:
        for ending in ("", *SQLITE_FILES, KNOWN):
            Path(f"{part}{ending}").unlink(missing_ok=True)


def shrink_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Empty the write-ahead log unless a reader needs it: the next append must not pay for a huge message."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # The next write rebuilds the log: now rather than in the next append.
        connection.execute(f"PRAGMA user_version = {VERSION}")
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")


class _Connection(sqlite3.Connection):
    """A connection that goes with its owner: nothing is left to write, and since Python 3.13 it would warn."""

    def __del__(self) -> None:
        """Close it, if its owner did not; one that could not be opened needs no closing."""
        with suppress(sqlite3.ProgrammingError):
            self.close()


def connect(path: str, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection that returns bytes for texts and begins no transaction."""
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    connection.text_factory = bytes
    return connection


def _read_only(path: str, busy_seconds: float = 0.0, flags: str = "") -> sqlite3.Connection:
    uri = f"{Path(path).as_uri()}?mode=ro{flags}"
    return sqlite3.connect(uri, uri=True, timeout=busy_seconds, check_same_thread=False, factory=_Connection)


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
    """Return whether `path` has no store yet.

    Raises:
        DamagedStoreError: the file is gone or empty, but files beside it show that it was a store.
    """
    # Check these first: both are made after the file, so if one exists now, the file did before.
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
    """Leave a file beside the store that shows if a store is lost."""
    known = f"{path}{KNOWN}"
    if not _size(known):
        # A read-only folder with the store at rest has no such file.
        with suppress(OSError), open_own(known, "w") as file:
            file.write(KNOWN_TEXT)


def _recognise(path: str) -> None:
    """Check the header alone, without locks: we must not even recover another program's file.

    A plain `open` would do harm: closing it drops this process's SQLite locks on the file.

    Raises:
        DamagedStoreError: it belongs to another program.
        sqlite3.DatabaseError: it is not a SQLite file, or is damaged.
    """
    with closing(_read_only(path, flags="&immutable=1")) as connection:
        # Otherwise SQLite refuses a file shorter than its header says, as after a crash before all was written back.
        connection.execute("PRAGMA writable_schema = ON")
        _check_owner(path, connection)


def _check_owner(path: str, connection: sqlite3.Connection) -> None:
    if _number(connection, "application_id") != APPLICATION_ID:
        raise DamagedStoreError(f"{path}: belongs to another program; it was left as it is: name another file")


def _end_creation(path: str, busy_seconds: float) -> None:
    """Let SQLite undo a creation that a crash has interrupted, and wait for one in progress."""
    try:
        _recognise(path)
    except sqlite3.DatabaseError:
        if not _is_undone_whole(path):
            raise
    with closing(connect(path, busy_seconds)) as connection:
        _number(connection, "schema_version")


def _is_undone_whole(path: str) -> bool:
    """Return whether the file's creation is all that has begun: the journal leads back to an empty file.

    A power cut may keep any new page but the first.
    """
    with Path(path).open("rb") as file, Path(f"{path}-journal").open("rb") as journal:
        header = journal.read(JOURNAL_SIZE_END)
        return header[JOURNAL_SIZE_END - 4 :] == bytes(4) and not any(file.read(HEADER_BYTES))


def create(path: str, busy_seconds: float) -> None:
    """Create the tables in a rollback journal: the file's header is ours from its first byte on.

    Only the owner may read the file, and SQLite's files beside it get the same rights.
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

    EXTRA syncs the folder after the journal's removal: if the journal came back after a power cut, it would undo the
    layout beneath everything stored since.
    """
    connection.execute("PRAGMA synchronous = EXTRA")
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait for this lock
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != b"wal":
        raise StoreError(f"{path}: this file system can't hold a write-ahead log; put the store on a local disk")


# Claims of processes that share the file.

OTHER_CLAIM = "SELECT 1 FROM claims WHERE session = ? AND kind = ? AND holder <> ? AND until > ?"
TAKE_CLAIM = "REPLACE INTO claims(session, kind, holder, until) VALUES(?, ?, ?, ?)"
END_CLAIM = "DELETE FROM claims WHERE session = ? AND kind = ? AND holder = ?"


def claim_cells(connection: sqlite3.Connection, *texts: str) -> tuple[str | bytes | None, ...]:
    """Return session, kind and holder as cells.

    Raises:
        StoreError: the id is invalid.
    """
    rows.find(connection, texts[0])  # refuses an invalid id
    return tuple(stored_text(text)[0] for text in texts)


# Removes forgotten data for good: from the rows, from the search index, and from the file's bytes.

# REPLACE and not UPDATE: it also fixes a damaged or missing row.
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
# Number of a session's messages to read at once, to remove them from the index.
PAGE_ROWS = 1_000

ADD_MARK = "INSERT INTO unscrubbed(mark) VALUES(abs(random() >> 1))"
ALL_MARKS = "SELECT mark FROM unscrubbed"
REMOVE_MARK = "DELETE FROM unscrubbed WHERE mark = ?"

READER = "another program is reading an older state of the store"
DAMAGED_INDEX = "a search index of former times is damaged and can't be removed"
# A rebuilt index fails again only where another process has replaced it meanwhile, or the file is damaged.
MOST_RENEWALS = 2
LATER = "what was forgotten is out of reach, but its bytes are not overwritten yet"


def forget(connection: sqlite3.Connection, session: SessionRow, erasure: Erasure, *, indexed: bool) -> None:
    """Apply an erasure, within a transaction. `indexed`: the search index was not just emptied.

    Raises:
        StoreError: the erasure does not fit the session; undo the transaction.
        DamagedIndexError: undo the transaction, and repeat it with a new index.
    """
    counts, pick = session.record_counts, partial(rows.picked, connection, session)
    refuse_misfit(session.session_id, erasure, session.messages, counts, pick)
    seqs = [tombstone.seq for tombstone in erasure.tombstones]
    is_indexed = bool(seqs) and indexed
    if is_indexed:
        _unindex(connection, session, rows.each_picked(connection, session, seqs))
    changed = (*erasure.unnoticed, *erasure.tombstones)
    cells = [encode(session.first_key + row.seq, row) for row in changed]
    connection.executemany(REPLACE_MESSAGE, cells)
    connection.executemany(REPLACE_RECORD, [encode_record(session.no, record) for record in erasure.replaced])
    if is_indexed:
        index.settle(connection, session, max(seqs))
    remove_summaries(connection, session, erasure.summaries)
    if erasure.appended:
        session = rows.append(connection, rows.add(connection, session), (), erasure.appended)
    if changed or erasure.replaced:
        mark(connection)


def drop(connection: sqlite3.Connection, session: SessionRow, *, indexed: bool) -> None:
    """Remove a session with all its rows, within a transaction; do nothing if it is missing.

    Raises:
        DamagedIndexError: it needs a new index; undo the transaction.
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
    """Remove rows from the search index before they are replaced.

    Raises:
        DamagedIndexError: it needs a new index.
    """
    try:
        index.remove(connection, session, messages)
    except DamagedRowError as error:  # nobody knows which of its words are indexed
        raise DamagedIndexError(str(error)) from error


def remove_summaries(connection: sqlite3.Connection, session: SessionRow, summary_ids: Sequence[str]) -> None:
    """Remove summaries, within a transaction; ignore unknown ids."""
    cells = [(session.no, stored_text(name)[0]) for name in summary_ids]
    there = [each for each in cells if connection.execute(HAS_SUMMARY, each).fetchone()]
    if there:
        connection.executemany(REMOVE_SUMMARY, there)
        mark(connection)


def mark(connection: sqlite3.Connection) -> None:
    """Mark, within the transaction of a change, that forgotten bytes need overwriting."""
    connection.execute(ADD_MARK)


def is_unscrubbed(connection: sqlite3.Connection) -> bool:
    """Return whether the bytes of the file or of its log may still hold forgotten words."""
    return connection.execute(ALL_MARKS).fetchone() is not None


def scrub(path: str, busy_seconds: float) -> None:
    """Rewrite a file that has marks and empty its log; nothing else can write meanwhile.

    This temporarily takes room for two more copies of the file: in the log, and among SQLite's temporary files.

    Raises:
        StoreError: it could not finish: a program reads an older state, or writes, for longer than `busy_seconds`; the
            disk is full; the file is damaged.
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
    _empty_log(path, connection)  # before the work: a blocking reader is found at once
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

    The `with` block commits the transaction at its end and undoes it after any exception. Errors of SQLite, and values
    that it can't hold, leave the block as a StoreError with its cause.
    """

    # A class, not a decorated generator: each call of a store passes here, at a third of the cost.
    __slots__ = ("_busy_seconds", "_lock", "_path", "_pid", "_writes", "connection")

    def __init__(
        self, path: str, connection: sqlite3.Connection, lock: threading.Lock, busy_seconds: float, *, writes: bool
    ) -> None:
        """Give access to a connection; all who share it hold the lock."""
        self._path = path
        self.connection = connection
        self._lock = lock
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._writes = writes

    def __enter__(self) -> sqlite3.Connection:
        """Wait for the connection, and begin.

        Raises:
            StoreError: SQLite failed; or the wait for another thread or program exceeded `busy_seconds`, or this
                process is
                a fork of the one that opened the store.
        """
        note = UNTOUCHED if self._writes else ""
        if os.getpid() != self._pid:  # SQLite: using a connection after a fork destroys the file
            raise StoreError(f"{self._path}: opened before a fork; open the store again in this process{note}")
        give_way()
        if not self._lock.acquire(blocking=False):
            with Waiting():
                has_lock = self._lock.acquire(timeout=self._busy_seconds)
            if not has_lock:
                raise StoreError(f"{self._path}: another thread is busy with the store{note}; try again")
        if self._writes:
            try:
                with Waiting():
                    self.connection.execute("BEGIN IMMEDIATE")
            except BaseException as error:
                self._lock.release()
                if isinstance(error, FOREIGN):
                    raise store_error(self._path, error, note) from error
                raise
        return self.connection

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Commit, or undo.

        Raises:
            StoreError: SQLite failed; a write had no effect.
        """
        try:
            if self._writes:
                try:
                    if error is None:
                        with Waiting():  # for the disk
                            self.connection.execute("COMMIT")
                finally:
                    if self.connection.in_transaction:
                        self.connection.execute("ROLLBACK")
            if isinstance(error, FOREIGN):
                raise error
        except FOREIGN as failed:
            raise store_error(self._path, failed, UNTOUCHED if self._writes else "") from failed
        finally:
            self._lock.release()


class UnlockedAccess(Access):
    """Reads a file that was opened without SQLite's locks: SQLite does not notice if another program writes to it.

    A file that has changed is opened again before it is read. If it changes meanwhile, what was read may be torn.
    """

    __slots__ = ("_reopen", "_state")

    def __init__(
        self, path: str, reading: Reading, lock: threading.Lock, busy_seconds: float, reopen: Callable[[], Reading]
    ) -> None:
        """Give access to a connection; `reopen` returns another one, and closes the former."""
        super().__init__(path, reading.connection, lock, busy_seconds, writes=False)
        self._state = reading.state
        self._reopen = reopen

    def __enter__(self) -> sqlite3.Connection:
        """Do as `Access`, and open a changed file again.

        Raises:
            StoreError: as `Access`, or the changed file can't be opened.
        """
        super().__enter__()
        try:
            if self._is_changed():
                self.connection, self._state = self._reopen()
        except BaseException:
            self._lock.release()
            raise
        return self.connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do as `Access`.

        Raises:
            StoreError: SQLite failed, or the file has changed meanwhile.
        """
        is_torn = (error is None or isinstance(error, (StoreError, DamagedIndexError, *FOREIGN))) and self._is_changed()
        super().__exit__(None if is_torn else kind, None if is_torn else error, trace)
        if is_torn:
            raise StoreError(
                f"{self._path}: another program wrote to the file during the reading; try again"
            ) from error

    def forget(self) -> None:
        """Look at the file no more: it is closed."""
        self._state = None

    def _is_changed(self) -> bool:
        return self._state is not None and _state_of(self._path) != self._state


# `StoreFile`: a store's open file, shared by its threads in turn.


class StoreFile:
    """Base of stores in one SQLite file: the connection, access to it, and the overwriting of forgotten bytes."""

    def __init__(  # noqa: PLR0913  # what stores pass on
        self,
        path: str | os.PathLike[str],
        index_kind: SearchIndex,
        *,
        busy_seconds: float,
        create: bool,
        read_only: bool = False,
        follows: bool = False,
    ) -> None:
        """Open the file. `index_kind`: the search index; the stores document the other arguments and exceptions."""
        self._is_read_only = read_only
        self._path = MEMORY if path == MEMORY else str(Path(path).absolute())
        self._index = index_kind
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._lock = threading.Lock()
        if self._path == MEMORY:
            reading = Reading(open_memory(), None)
        elif read_only:
            reading = open_only_reading(self._path, busy_seconds, follows=follows)
        else:
            reading = Reading(open_file(self._path, busy_seconds, may_create=create), None)
        self._follows = follows
        self._connection = reading.connection
        shared = self._path, self._connection, self._lock, busy_seconds
        self._reading: Access = Access(*shared, writes=False)
        self._writing = Access(*shared, writes=True)
        if reading.state is not None:
            self._reading = UnlockedAccess(self._path, reading, self._lock, busy_seconds, self._reopened)

    def _reopened(self) -> Reading:
        """Open a changed file again; the store keeps its connection if that fails."""
        reading = open_only_reading(self._path, self._busy_seconds, follows=self._follows)
        self._connection.close()
        self._connection = self._writing.connection = reading.connection
        return reading

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
                if isinstance(self._reading, UnlockedAccess):
                    self._reading.forget()
            if self._is_read_only and self._path != MEMORY:
                with suppress(StoreError, OSError, *FOREIGN):  # nothing is lost if its files stay
                    end_reading(self._path)

    def _written(self, act: Callable[[sqlite3.Connection, bool], Value]) -> Value:
        """Write in one transaction, including the search index.

        If the index is damaged, undo `act` and repeat it, without indexing, beside a new, empty index; search fills
        that later.
        """
        try:
            with self._writing as connection:
                return act(connection, True)  # noqa: FBT003
        except DamagedIndexError:
            return self._renewed(lambda connection: act(connection, False))  # noqa: FBT003

    def _renewed(
        self, act: Callable[[sqlite3.Connection], Value], seen: Sequence[tuple[int, int]] | None = None
    ) -> Value:
        """Rebuild the search index and act, in one transaction.

        `seen`: keep an index that is not among these; another process has built it meanwhile.
        """

        def acted(connection: sqlite3.Connection, *, drops: bool) -> Value:
            if seen is None or self._index.all(connection) == seen:
                self._index.renew(connection, drops=drops)
            return act(connection)

        try:
            with self._writing as connection:
                return acted(connection, drops=True)
        except DamagedStoreError:  # part of the old one is too damaged to drop
            with self._writing as connection:
                return acted(connection, drops=False)

    def _indexed(self, act: Callable[[], Value]) -> Value:
        """Do something with the search index; if it is damaged or missing, rebuild it and try again.

        Raises:
            DamagedStoreError: it can't be rebuilt.
        """
        with suppress(DamagedIndexError):
            return act()
        for _ in range(MOST_RENEWALS):
            with self._reading as connection:
                seen = self._index.all(connection)
            with suppress(DamagedIndexError):
                return act()  # another process may have built it while the first try was reading
            self._renewed(lambda _: None, seen)
        try:
            return act()
        except DamagedIndexError as error:
            raise DamagedStoreError(
                f"{self._path}: the search index is damaged and can't be made anew ({error}); what it finds is not: "
                "`squidbot store doctor` saves that into a copy that makes its own"
            ) from error

    def _scrub_after(self, forgotten: int = 1) -> int:
        if forgotten:
            with suppress(StoreError):  # forgotten; `is_scrubbed` shows the rest
                self.scrub()
        return forgotten

    def is_scrubbed(self) -> bool:
        """Return whether the bytes of everything forgotten are overwritten."""
        with self._reading as connection:
            return self._path == MEMORY or not is_unscrubbed(connection)

    def scrub(self) -> None:
        """Overwrite forgotten bytes in the file and in its log. Return at once if there are none.

        Every call that forgets does this, and opening the store retries unfinished work. Other writers wait meanwhile:
        a second or two for each 100,000 messages in the file.

        Raises:
            StoreError: it could not finish, with the reason: a long read, another writer, a full disk.
        """
        with self._writing as connection:  # wait if another program scrubs
            needed = is_unscrubbed(connection)
        if needed and self._path != MEMORY:
            scrub(self._path, self._busy_seconds)

    def _scrub_left(self) -> None:
        """Retry unfinished overwriting at opening; serve a damaged file all the same."""
        with suppress(StoreError, *FOREIGN):  # `is_scrubbed` shows it
            if is_unscrubbed(self._connection):
                scrub(self._path, 0.0)
