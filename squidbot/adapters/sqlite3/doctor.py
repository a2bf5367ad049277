"""`check` looks at every row of a store's file; `repair` writes a copy of all that can be saved. Neither changes it.

What was lost keeps its place: a message that says so stands at its seq, so that every other id still means what it did,
and the session goes on. A lost record repeats the one before it, which changes nothing that the engine builds from
them; a lost plan at the end is left out, so that the one before it is in force again. A record of the kind "repair"
says what happened.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from squidbot.adapters.sqlite3 import erase, files, proof, queries, rows, session_rows, summary_rows
from squidbot.adapters.sqlite3.access import FOREIGN, store_error
from squidbot.adapters.sqlite3.memory import saving
from squidbot.adapters.sqlite3.pages import broken_frames
from squidbot.adapters.sqlite3.salvage import salvage
from squidbot.adapters.sqlite3.session_rows import SEQ_BITS
from squidbot.adapters.sqlite3.store import SqliteStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Category, Cost, Record, StoredMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.adapters.sqlite3.salvage import Found, Haul

__all__ = ["REPAIR", "Health", "Repaired", "SessionHealth", "check", "repair"]

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
            if erase.is_unscrubbed(connection):
                problems.append("what was forgotten is not overwritten yet: open the store while nobody reads it")
            sessions += _sessions(connection, problems)
            memories = saving.damaged(name, connection)
            if proves_words and not (problems or memories[1]) and all(session.whole for session in sessions):
                found = (session_rows.find(connection, session.session_id) for session in sessions)
                problems += proof.contradictions(connection, found, has_memories=bool(memories[0]))
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
            session = session_rows.find(connection, session_id)
            damaged = tuple(queries.intact_messages(connection, session, 0, session.messages - 1)[1])
            lost = tuple(_lost_records(connection, session))
            yield SessionHealth(session_id, session.messages, damaged, lost, _lost_summaries(connection, session))
            behind = connection.execute(KEYS, (session.first_key + session.messages, (no + 1) * (1 << SEQ_BITS) - 1))
            if behind.fetchone():
                problems.append(f"session {session_rows.named(session_id)} has more messages than its row says")
        except FOREIGN as error:
            problems.append(f"session {session_rows.named(session_id)}: {error}")


def _lost_records(connection: sqlite3.Connection, session: session_rows.Session) -> Iterator[tuple[str, int]]:
    for kind, count in session.record_counts.items():
        with suppress(rows.DamagedRowError, sqlite3.DatabaseError):
            queries.records(connection, session, kind, 0)
            continue
        for number in range(count):
            try:
                row = connection.execute(f"{queries.RECORDS} LIMIT 1", (session.no, kind, number)).fetchone()
                if row is None or rows.decode_record(session.no, kind, row).number != number:
                    yield kind, number
            except (rows.DamagedRowError, sqlite3.DatabaseError):
                yield kind, number


def _lost_summaries(connection: sqlite3.Connection, session: session_rows.Session) -> tuple[str, ...]:
    lost = []
    for (name,) in connection.execute(SUMMARY_NAMES, (session.no,)).fetchall():
        try:
            if not summary_rows.by_id(connection, session, [rows.plain(name)]):
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
        saved = saving.Saved(part, connection)
        haul = salvage(path, lambda table, row: _insert(connection, saved, table, row))
        sessions = tuple(_told(haul))
        for (no, found), health in zip(sorted(haul.sessions.items()), sessions, strict=True):
            _finish(connection, no, found, health)
        memories = saved.finish()
        connection.execute("COMMIT")
    if not (sessions or memories):
        raise DamagedStoreError(f"{path}: there is nothing of squidbot in it to save; put a backup in its place")
    return sessions, memories


def _insert(connection: sqlite3.Connection, saved: saving.Saved, table: str, row: tuple[rows.Cell, ...]) -> None:
    if table in saving.SAVED_TABLES:
        saved.take(table, row)
    else:
        connection.execute(INSERTS[table], row)


def _finish(connection: sqlite3.Connection, no: int, found: Found, health: SessionHealth) -> None:
    """Fill the places of what was lost, and write the session's own row."""
    for seq in health.damaged:
        connection.execute(queries.INSERT, rows.encode((no << SEQ_BITS) + seq, lost_message(seq)))
    counts = _filled(connection, no, found.kinds(), health)
    if not health.whole:
        number = counts.get(REPAIR, 0)
        told = rows.json_text({"messages": health.damaged, "records": health.damaged_records, "named": health.named})
        connection.execute(queries.INSERT_RECORD, rows.encode_record(no, Record(REPAIR, number, told)))
        counts[REPAIR] = number + 1
    name, noted = _name(no, found), rows.stored(rows.json_text(counts))[1]
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
            connection.execute(queries.INSERT_RECORD, rows.encode_record(no, Record(kind, number, body)))
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
