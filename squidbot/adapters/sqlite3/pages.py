"""A SQLite file as pages and cells, read without SQLite: what a damaged tree, header or schema still holds.

The layout is that of https://www.sqlite.org/fileformat2.html (sections 1.2 to 1.6 and 2.1, 4.1 to 4.3).
"""

from __future__ import annotations

import re
import struct
from array import array
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["Pages", "Row", "Value", "broken_frames", "carved", "cells"]

Value: TypeAlias = "int | float | bytes | None"
# A row's id, None in an index, and its columns. TEXT and BLOB are both bytes.
Row: TypeAlias = "tuple[int | None, tuple[Value, ...]]"

MAGIC = b"SQLite format 3\0"
DEFAULT_PAGE_BYTES = 4096
HEADER_BYTES = 100
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR, TABLE_INTERIOR = 13, 10, 2, 5
LOG_HEADER, FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
LOG_MAGIC = 0x377F0682  # its last bit says that checksums are made of big-endian words
INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
# The beginning of a record of any table of ours, in a page whose own beginning is destroyed: the length of its
# header, then the type of its first column: the row's id as NULL, or an integer. In an index of names it is a text.
CARVED = re.compile(rb"(?=[\x05-\x20][\x00-\x06\x08\x09]|[\x03\x04][\x0d-\xff])")
MOST_VARINT_BYTES = 9


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
        header = self._file.read(HEADER_BYTES)
        self.page_bytes = DEFAULT_PAGE_BYTES
        if header.startswith(MAGIC):
            found = int.from_bytes(header[16:18], "big")
            self.page_bytes = 65536 if found == 1 else found
        if self.page_bytes < 512 or self.page_bytes & (self.page_bytes - 1):
            self.page_bytes = DEFAULT_PAGE_BYTES
        self._log, _, size = _logged(Path(f"{path}-wal"), self.page_bytes)
        file_pages = -(-self._file.seek(0, 2) // self.page_bytes)
        # The size in the log counts, but a page behind the end of a file that was cut is not there.
        self.count = max(file_pages, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, number: int) -> bytes:
        """Return a page, the first being 1; shorter or empty where the file ends."""
        logged = self._log.get(number)
        if logged is not None:
            return logged
        self._file.seek((number - 1) * self.page_bytes)
        return self._file.read(self.page_bytes)

    def payload(self, page: bytes, start: int, length: int, *, table: bool) -> bytes:
        """Return the bytes of a cell, gathered from the pages that it flows over to.

        Raises:
            ValueError: they are not all there.
        """
        usable = self.page_bytes
        most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
        if length <= most:
            return _cut(page, start, length)
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= most else least
        if length > self.count * usable:
            raise ValueError("longer than the file")
        pieces = [_cut(page, start, local)]
        following = int.from_bytes(_cut(page, start + local, 4), "big")
        missing = length - local
        while missing:
            if not 0 < following <= self.count:
                raise ValueError("an overflow page is gone")
            more = self.read(following)
            piece = _cut(more, 4, min(missing, usable - 4))
            following = int.from_bytes(more[:4], "big")
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


def broken_frames(path: str) -> int:
    """Return how many frames of a file's write-ahead log are damaged, with whole ones behind them.

    Safe beside others who write: what is half-written now is whole a moment later.
    """
    log = Path(f"{path}-wal")
    return min(_logged(log, _page_bytes(log))[1] for _ in range(2))


def _page_bytes(log: Path) -> int:
    with suppress(OSError), log.open("rb") as file:
        header = file.read(LOG_HEADER.size)
        if int.from_bytes(header[:4], "big") & ~1 == LOG_MAGIC:
            return int.from_bytes(header[8:12], "big")
    return DEFAULT_PAGE_BYTES


def cells(pages: Pages, number: int) -> Iterator[Row] | None:
    """Return the rows on a page; None where it is no page of a tree, or its beginning is destroyed."""
    page = pages.read(number)
    start = HEADER_BYTES if number == 1 else 0
    if len(page) < start + 8 or page[start] not in {TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR, TABLE_INTERIOR}:
        return None
    kind = page[start]
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + (12 if kind in {INDEX_INTERIOR, TABLE_INTERIOR} else 8)
    if first + 2 * count > len(page):
        return None
    places = struct.unpack_from(f">{count}H", page, first)
    if any(place < first + 2 * count for place in places):
        return None
    if kind == TABLE_INTERIOR:
        return iter(())
    return _cells(pages, page, kind, places)


def _cells(pages: Pages, page: bytes, kind: int, places: tuple[int, ...]) -> Iterator[Row]:
    for place in places:
        try:
            rowid = None
            start = place + 4 if kind == INDEX_INTERIOR else place
            length, start = _varint(page, start)
            if kind == TABLE_LEAF:
                rowid, start = _varint(page, start)
            yield rowid, _record(pages.payload(page, start, length, table=kind == TABLE_LEAF))
        except (ValueError, IndexError, struct.error):
            continue  # a cell that the damage hit


def carved(pages: Pages, number: int) -> Iterator[Row]:
    """Return what looks like rows on a page whose beginning is destroyed. Only a checksum tells which of them are."""
    page = pages.read(number)
    for match in CARVED.finditer(page):
        start = match.start()
        try:
            length = _record_bytes(page, start)
        except (ValueError, IndexError):
            continue
        yield from _fronted(pages, page, start, length)


def _fronted(pages: Pages, page: bytes, start: int, length: int) -> Iterator[Row]:
    """Return the row whose record begins at `start`, for each way to read the bytes in front of it."""
    values: dict[bool, tuple[Value, ...]] = {}
    for back in range(MOST_VARINT_BYTES + 1):
        table = back > 0
        rowid = _ending(page, start - back, start) if table else None
        if (table and rowid is None) or _before(page, start - back, length) is False:
            continue
        try:
            if table not in values:
                values[table] = _record(pages.payload(page, start, length, table=table))
        except (ValueError, IndexError, struct.error):
            continue
        yield rowid, values[table]


def _ending(page: bytes, start: int, end: int) -> int | None:
    """Return the number in page[start:end]; None where these bytes are not one number."""
    if start < 0:
        return None
    try:
        value, behind = _varint(page, start)
    except IndexError:
        return None
    return value if behind == end else None


def _before(page: bytes, end: int, length: int) -> bool:
    """Return whether the number `length` stands directly in front of `end`."""
    return any(_ending(page, end - size, end) == length for size in range(1, MOST_VARINT_BYTES + 1))


def _record_bytes(page: bytes, start: int) -> int:
    """Return the length of the record whose header begins at `start`.

    Raises:
        ValueError: there is no header.
    """
    header, place = _varint(page, start)
    end, total = start + header, header
    while place < end:
        kind, place = _varint(page, place)
        total += _value_bytes(kind)
    if place != end:
        raise ValueError("no header of a record")
    return total


def _value_bytes(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in {10, 11}:
        raise ValueError("no type of a value")
    return 8 if kind == 7 else INTEGER_BYTES.get(kind, 0)


def _record(data: bytes) -> tuple[Value, ...]:
    header, place = _varint(data, 0)
    kinds = []
    while place < header:
        kind, place = _varint(data, place)
        kinds.append(kind)
    values = []
    for kind in kinds:
        size = _value_bytes(kind)
        values.append(_value(kind, _cut(data, place, size)))
        place += size
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
    for place in range(start, start + MOST_VARINT_BYTES - 1):
        byte = data[place]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, place + 1
    value = value << 8 | data[start + MOST_VARINT_BYTES - 1]
    return (value - (1 << 64) if value >= 1 << 63 else value), start + MOST_VARINT_BYTES


def _cut(data: bytes, start: int, length: int) -> bytes:
    if start < 0 or length < 0 or start + length > len(data):
        raise ValueError("ends too early")
    return data[start : start + length]


def _logged(path: Path, page_bytes: int) -> tuple[dict[int, bytes], int, int]:
    """Return the newest committed pages in a log by number, how many of its frames are broken, and the file's pages.

    SQLite ends at the first broken frame. Each frame carries the checksum of all before it, so one behind a broken
    frame is proved as well.
    """
    data = path.read_bytes() if path.exists() else b""
    if len(data) < LOG_HEADER.size:
        return {}, 0, 0
    magic, _, size, _, *salts, seed1, seed2 = LOG_HEADER.unpack_from(data)
    size = size if magic & ~1 == LOG_MAGIC else page_bytes
    frame_bytes = FRAME_HEADER.size + page_bytes
    if size != page_bytes:
        return {}, 0, 0
    log = _Log()
    seed = seed1, seed2
    for start in range(LOG_HEADER.size, len(data) - frame_bytes + 1, frame_bytes):
        number, commit, *rest = FRAME_HEADER.unpack_from(data, start)
        page = data[start + FRAME_HEADER.size : start + frame_bytes]
        stored = (rest[2], rest[3])
        sums = _summed(data[start : start + 8] + page, seed, big=bool(magic & 1)) if rest[:2] == salts else None
        log.take(number, commit, page if sums == stored else None)
        seed = stored
    return log.pages, log.broken, log.count


@dataclass(slots=True)
class _Log:
    """The transactions of a log. One with a broken frame counts when another one follows.

    Else a crash has torn it before anybody was told that it is stored, and SQLite leaves it out as well.
    """

    pages: dict[int, bytes] = field(default_factory=dict)
    broken: int = 0
    count: int = 0
    _held: dict[int, bytes] = field(default_factory=dict)
    _held_broken: int = 0
    _fresh: dict[int, bytes] = field(default_factory=dict)
    _fresh_broken: int = 0

    def take(self, number: int, commit: int, page: bytes | None) -> None:
        """Take the next frame: None for a broken one; `commit` is the file's size in pages where it ends one."""
        if page is None:
            self._fresh_broken += 1
            return
        self._fresh[number] = page
        if not commit:
            return
        self.pages |= self._held
        self.broken += self._held_broken
        self._held, self._held_broken = {}, self._fresh_broken
        if self._fresh_broken:
            self._held = self._fresh
        else:
            self.pages |= self._fresh
        self._fresh, self._fresh_broken, self.count = {}, 0, commit


def _summed(data: bytes, seed: tuple[int, int], *, big: bool) -> tuple[int, int]:
    words = array("I", data)
    if big != (struct.pack("=H", 1) == b"\0\1"):
        words.byteswap()
    first, second = seed
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
