"""What a damaged store still holds: every row, from whatever page, that its own checksum proves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast
from zlib import crc32

from squidbot.adapters.sqlite3 import rows
from squidbot.adapters.sqlite3.memory import marks, saving
from squidbot.adapters.sqlite3.pages import Pages, carved, cells
from squidbot.adapters.sqlite3.session_rows import SEQ_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.adapters.sqlite3.pages import Row, Value

__all__ = ["Found", "Haul", "Take", "salvage"]

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
    """Return all that looks like a row: of whole pages first, so that what they say goes before older copies."""
    doubtful = []
    free = _free(pages)
    for number in range(1, pages.count + 1):
        found = None if number in free else cells(pages, number)
        if found is None:
            doubtful.append(number)
        else:
            yield from found
    for number in doubtful:
        yield from cells(pages, number) or carved(pages, number)


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
    elif cells == saving.MEMORY_CELLS:
        take("memories", saving.proved(rowid, values))
        haul.memories += 1
    elif cells == saving.GRAVE_CELLS:
        take("forgotten_memories", saving.proved_grave(rowid, values))


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
    elif len(values) == marks.MARK_CELLS:
        take("memory_marks", marks.proved(values))
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
