"""Reads the header of a GGUF model file, metadata and tensor table, with the standard library only."""

from __future__ import annotations

import os
import re
import stat
from math import prod
from pathlib import Path
from struct import Struct, unpack
from threading import Lock
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.counts import hold
from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import Header, LongArray, Tensor, Value, tensor_bytes

if TYPE_CHECKING:
    from io import FileIO
    from os import PathLike


LOOKED_AT_BYTES: Final = 512  # of a file that is no GGUF

_CONVERT: Final = "convert it with llama.cpp's convert_hf_to_gguf.py, or download the model as GGUF"
_DOWNLOAD_AGAIN: Final = "download it again"
_BEGINNINGS: Final = {
    b"version https://git-lfs": (
        "a Git LFS pointer, which stands for the file",
        "run `git lfs pull` where it was cloned",
    ),
    b"PK\x03\x04": ("a ZIP archive, as PyTorch checkpoints are", _CONVERT),
    b"\x80\x02": ("a Python pickle, as old PyTorch checkpoints are", _CONVERT),
    b"\x89HDF": ("an HDF5 file, as Keras models are", _CONVERT),
    **dict.fromkeys((b"lmgg", b"fmgg", b"tjgg"), ("a GGML file from before GGUF", _CONVERT)),
    b"\x1f\x8b": ("compressed with gzip", "unpack it"),
    b"\x28\xb5\x2f\xfd": ("compressed with Zstandard", "unpack it"),
    b"\xfd7zXZ": ("compressed with xz", "unpack it"),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack it"),
}


def look(beginning: bytes) -> str:
    """Return what a non-GGUF file looks like, and what to do, by its first bytes."""
    for magic, (what, todo) in _BEGINNINGS.items():
        if beginning.startswith(magic):
            return f"it is {what}; {todo}"
    if beginning[8:10] in {b'{"', b"{}", b"{ "}:
        return f"it is a safetensors file; {_CONVERT}"
    text = beginning.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return f"it is a web page, which a refused download leaves behind; {_DOWNLOAD_AGAIN}, logged in if need be"
    if text.startswith((b"{", b"[")):
        return f"it is JSON, perhaps a server's error; {_DOWNLOAD_AGAIN}"
    return _damaged(beginning)


def _damaged(beginning: bytes) -> str:
    if not beginning:
        return f"it is empty; {_DOWNLOAD_AGAIN}"
    if not beginning.strip(b"\0"):
        return f"it begins with zeros, as a download that was never filled; {_DOWNLOAD_AGAIN}"
    if b"GGUF".startswith(beginning):
        return f"it ends within the word that begins it, an incomplete download; {_DOWNLOAD_AGAIN}"
    return f"it begins with {beginning[:8]!r}; give a file that ends in .gguf"


# One file has the layout of llama.cpp's gguf.cpp (0c1e57098). Arrays of more items, and strings of more bytes, are not
# kept: see `LongArray`.
LONGEST_ARRAY: Final = 4096
_LONGEST_STRING_BYTES: Final = 1024 * 1024
_LONGEST_KEY_BYTES: Final = 65535  # as the format says
_LONGEST_NAME_BYTES: Final = 255  # of a tensor; llama.cpp takes 63
# Kept of one file; a model's chat template and per-layer arrays are some ten thousand bytes.
MOST_KEPT_BYTES: Final = 8 * 1024 * 1024
_ITEM_BYTES: Final = 64  # of an item in memory beside its text, about
# 61 layers of 256 unmerged experts are 47 thousand; of today's files, the largest have some two thousand.
_MOST_TENSORS: Final = 65536
_MOST_KEYS: Final = 65536
_MOST_DIMENSIONS: Final = 4
_MOST_ELEMENTS: Final = 2**63

_STRING, _ARRAY = 8, 9
# By GGUF's numbers of types.
_NUMBERS: Final = {kind: Struct(f"<{code}") for kind, code in zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True)}
Metadata = dict[str, Value]


def parse(cursor: HeaderCursor) -> tuple[Metadata, list[Tensor], int]:
    """Return a file's metadata, its tensors, and the end of the last one.

    A string of over 1 MiB becomes a `LongArray` of bytes (type 0).

    Raises:
        ModelFileError: it is no GGUF of version 2 or 3, or damaged, or holds more than a header does.
    """
    tensor_count, key_count = _opening(cursor)
    metadata: Metadata = {}
    for _ in range(key_count):
        place = cursor.place
        key = _name(cursor, "a key", _LONGEST_KEY_BYTES)
        if key in metadata:
            raise cursor.failed(f"duplicate key {key!r:.80}", place)
        cursor.keep(len(key))
        metadata[key] = _value(cursor, key)
    alignment = metadata.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or alignment.bit_count() != 1 or alignment < 1:
        raise cursor.failed(f"general.alignment is {alignment!r:.40}, no power of two")
    tensors, offset = _table(cursor, tensor_count, alignment)
    start = -(-cursor.place // alignment) * alignment
    return metadata, tensors, start + offset if tensors else cursor.place


def _opening(cursor: HeaderCursor) -> tuple[int, int]:
    beginning = cursor.beginning(LOOKED_AT_BYTES)
    if not beginning.startswith(b"GGUF"):
        raise cursor.failed("not a GGUF file", 0, look(beginning))
    cursor.skip(4, "the beginning")
    version = cursor.u32("the version")
    if not version & 0xFFFF:
        raise cursor.failed("the file is big-endian", 4, "get it as little-endian, as all but IBM Z needs it")
    if version not in {2, 3}:
        raise cursor.failed(
            f"the file has GGUF version {version}, versions 2 and 3 are read", 4, "get it newly converted"
        )
    counts = cursor.u64("the number of tensors"), cursor.u64("the number of keys")
    for place, count, most, what in (8, counts[0], _MOST_TENSORS, "tensors"), (16, counts[1], _MOST_KEYS, "keys"):
        if count > most:
            raise cursor.failed(f"{count} {what}, more than the limit of {most}", place)
    return counts


def _value(cursor: HeaderCursor, key: str) -> Value:
    place, what = cursor.place, f"the value of {key!r:.80}"
    kind = cursor.u32(f"the type of {key!r:.80}")
    if kind == _ARRAY:
        return _array(cursor, what)
    if kind == _STRING:
        return _string(cursor, what)
    number = _NUMBERS.get(kind)
    if number is None:
        raise cursor.failed(f"{what} has the unknown type {kind}", place)
    value: bool | float
    (value,) = number.unpack(cursor.take(number.size, what))
    return value


def _array(cursor: HeaderCursor, what: str) -> Value:
    place = cursor.place
    kind, count = cursor.u32(what), cursor.u64(what)
    if kind == _STRING:
        return _strings(cursor, what, count)
    number = _NUMBERS.get(kind)
    if number is None:
        raise cursor.failed(f"{what} has items of the unknown type {kind}", place)
    if count > LONGEST_ARRAY:
        cursor.skip(count * number.size, what)
        return LongArray(kind, count)
    cursor.keep(count * _ITEM_BYTES)
    return tuple(value for (value,) in number.iter_unpack(cursor.take(count * number.size, what)))


def _strings(cursor: HeaderCursor, what: str, count: int) -> Value:
    if count > LONGEST_ARRAY:
        cursor.pass_strings(count, what)
        return LongArray(_STRING, count)
    place = cursor.place
    values = [_string(cursor, what) for _ in range(count)]
    texts = tuple(value for value in values if isinstance(value, str))
    if len(texts) < len(values):
        raise cursor.failed(f"{what} has items of over {_LONGEST_STRING_BYTES} bytes", place)
    return texts


def _string(cursor: HeaderCursor, what: str) -> str | LongArray:
    count = cursor.length(what)
    if count > _LONGEST_STRING_BYTES:
        cursor.skip(count, what)
        return LongArray(0, count)
    cursor.keep(count)
    return cursor.take(count, what).decode("utf-8", "replace")


def _name(cursor: HeaderCursor, what: str, longest: int) -> str:
    place = cursor.place
    count = cursor.length(what)
    if not 0 < count <= longest:
        raise cursor.failed(f"{what} has {count} bytes, not 1 to {longest}", place)
    try:
        return cursor.take(count, what).decode()
    except UnicodeDecodeError as error:
        raise cursor.failed(f"{what} is not UTF-8", place) from error


def _table(cursor: HeaderCursor, count: int, alignment: int) -> tuple[list[Tensor], int]:
    """Return the tensors, and the end of the last one, counted from the first."""
    tensors: list[Tensor] = []
    seen: set[str] = set()
    end = 0
    for _ in range(count):
        place = cursor.place
        tensor = _tensor(cursor)
        if tensor.name in seen:
            raise cursor.failed(f"duplicate tensor {tensor.name!r:.80}", place)
        offset = cursor.u64(f"the offset of {tensor.name!r:.80}")
        due = -(-end // alignment) * alignment
        if offset != due:
            raise cursor.failed(f"the data of {tensor.name!r:.80} begins at {offset}, expected {due}", cursor.place - 8)
        try:
            end = due + tensor_bytes(tensor)
        except ModelFileError as error:
            raise cursor.failed(
                f"tensor {tensor.name!r:.80}: {error}", place, "update squidbot or download it again"
            ) from error
        tensors.append(tensor)
        seen.add(tensor.name)
    return tensors, end


def _tensor(cursor: HeaderCursor) -> Tensor:
    called = _name(cursor, "the name of a tensor", _LONGEST_NAME_BYTES)
    place = cursor.place
    dimensions = cursor.u32(f"the dimensions of {called!r:.80}")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise cursor.failed(
            f"the tensor {called!r:.80} has {dimensions} dimensions, not 1 to {_MOST_DIMENSIONS}", place
        )
    shape = tuple(cursor.u64(f"the shape of {called!r:.80}") for _ in range(dimensions))
    if not 0 < prod(shape) < _MOST_ELEMENTS:
        raise cursor.failed(f"the tensor {called!r:.80} has the shape {shape}", place)
    return Tensor(called, shape, cursor.u32(f"the type of {called!r:.80}"))


# Read at once. A file takes this in memory, beside its kept values.
_CHUNK_BYTES: Final = 256 * 1024
# Read of one header; a vocabulary of 262,144 tokens with its merges takes about 16 MiB.
MOST_READ_BYTES: Final = 64 * 1024 * 1024
# Skipped in one header; that vocabulary has 800 thousand.
MOST_STRINGS: Final = 4 * 1024 * 1024
_AGAIN: Final = "the file is damaged, or not a current GGUF: download it again"
_LENGTH: Final = Struct("<Q")


class HeaderCursor:
    """A position in a file's header, which only moves forward.

    Every length is checked against the file first, and nothing large is kept.

    Attributes:
        place: the next byte to read.
        size: the file's bytes.
    """

    def __init__(self, file: FileIO, path: str, size: int) -> None:
        """Start at the beginning of an unbuffered file; errors call it `path`."""
        self.place = 0
        self.size = size
        self._file = file
        self._path = path
        self._chunk = b""
        self._base = 0
        self._read_bytes = 0
        self._strings = 0
        self._kept_bytes = 0

    def keep(self, count: int) -> None:
        """Account for a value's bytes in memory."""
        self._kept_bytes += count + _ITEM_BYTES
        if self._kept_bytes > MOST_KEPT_BYTES:
            raise self.failed(f"the metadata hold over {MOST_KEPT_BYTES} bytes in short values")

    def failed(self, what: str, place: int | None = None, todo: str = _AGAIN) -> ModelFileError:
        """Return the error for a byte of the file, `None` for the next one: the problem, and what to do."""
        return ModelFileError(f"{self._path}: byte {self.place if place is None else place}: {what}; {todo}")

    def beginning(self, count: int) -> bytes:
        """Return the file's first bytes, or fewer if it has fewer, and stay at the start."""
        self._fill(0, "the beginning")
        return self._chunk[:count]

    def take(self, count: int, what: str) -> bytes:
        """Return the next bytes; the caller has bounded `count`, and `what` names them in errors.

        Raises:
            ModelFileError: the file ends early, or its header is too long; so for all below.
        """
        self._within(count, what)
        at = self.place - self._base
        if not 0 <= at <= len(self._chunk) - count:
            self._fill(count, what)
            at = 0
        self.place += count
        return self._chunk[at : at + count]

    def skip(self, count: int, what: str) -> None:
        """Skip bytes without reading them."""
        self._within(count, what)
        self.place += count

    def u32(self, what: str) -> int:
        """Return the next number of four bytes."""
        (number,) = unpack("<I", self.take(4, what))
        return int(number)

    def u64(self, what: str) -> int:
        """Return the next number of eight bytes."""
        (number,) = _LENGTH.unpack(self.take(8, what))
        return int(number)

    def length(self, what: str) -> int:
        """Return the length of a string, checked against the file."""
        place = self.place
        count = self.u64(what)
        self._within(count, what, place)
        return count

    def pass_strings(self, count: int, what: str) -> None:
        """Skip `count` strings, each checked against the file."""
        self._strings += count
        if self._strings > MOST_STRINGS:
            raise self.failed(f"{what} brings the header to {self._strings} strings, at most {MOST_STRINGS} are read")
        while count:
            if count > (self.size - self.place) // 8:
                raise self._ended(f"{what} of {count} items")
            if self.place - self._base > len(self._chunk) - 8:
                self._fill(8, what)
            at, before, count = _walk(self._chunk, self.place - self._base, count)
            if self._base + at > self.size:
                raise self._ended(what, self._base + before)
            self.place = self._base + at

    def _within(self, count: int, what: str, place: int | None = None) -> None:
        if count > self.size - self.place:
            raise self._ended(f"{what} of {count} bytes", place)

    def _ended(self, what: str, place: int | None = None) -> ModelFileError:
        ends = f"the file ends at byte {self.size}, within {what}"
        return self.failed(ends, place, "it is an incomplete download, or damaged: download it again")

    def _fill(self, count: int, what: str) -> None:
        self._file.seek(self.place)
        self._base = self.place
        self._chunk = self._file.read(max(count, _CHUNK_BYTES))
        self._read_bytes += len(self._chunk)
        if self._read_bytes > MOST_READ_BYTES:
            raise self.failed(f"the header is over {MOST_READ_BYTES} bytes long")
        if len(self._chunk) < count:
            raise self._ended(what)


def _walk(chunk: bytes, at: int, count: int) -> tuple[int, int, int]:
    """Skip strings whose lengths are in the chunk; return the position, that of the last string, and the number left.

    Most time is spent here, two thirds of a million times for a large vocabulary, so this does as little as possible.
    """
    unpack_from = _LENGTH.unpack_from
    last, before = len(chunk) - 8, at
    for left in range(count, 0, -1):
        if at > last:
            return at, before, left
        before = at
        at += 8 + unpack_from(chunk, at)[0]
    return at, before, 0


# As llama.cpp names the parts of a model (llama_split_path).
_PART: Final = re.compile(r"(?P<name>.+)-[0-9]{5}-of-(?P<count>[0-9]{5})(?P<end>\.[^.]*)?", re.DOTALL)
_SIBLINGS: Final = "download all parts into one folder, with the names that they have"
_MOST_REMEMBERED: Final = 8


# Identifies a file as it was read: its path, size, time of change in nanoseconds, and inode.
_Stamp = tuple[Path, int, int, int]

_remembered: dict[Path, tuple[list[_Stamp | None], Header]] = {}
_lock = Lock()


def read_header(path: str | PathLike[str]) -> Header:
    """Return the header of a model file, over all its parts; any part may be given.

    Only metadata and the table of tensors are read, tens of milliseconds for the largest vocabularies; unchanged files
    are not read again. An array of over 4,096 items, and a string of over 1 MiB, is checked but not kept: see
    `LongArray`.

    Raises:
        ModelFileError: a file can't be read, is no GGUF, is damaged or incomplete, or one of several is missing.
    """
    path = Path(path)
    with _lock:
        known = _remembered.get(path)
        if known is not None and all(stamp and _stamp(stamp[0]) == stamp for stamp in known[0]):
            hold(_remembered, path, known)
            return known[1]
    read = _read_all(path)
    with _lock:
        hold(_remembered, path, read, _MOST_REMEMBERED)
    return read[1]


def _stamp(path: Path, found: os.stat_result | None = None) -> _Stamp | None:
    try:
        found = found or path.stat()
    except (OSError, ValueError):
        return None
    return path, found.st_size, found.st_mtime_ns, found.st_ino


def _read_all(path: Path) -> tuple[list[_Stamp | None], Header]:
    metadata, tensors, size, stamp = _read_part(path)
    count = metadata.get("split.count", 1)
    if not isinstance(count, int):
        raise ModelFileError(f"{path}: split.count is {count!r:.40}, no number; the file is damaged: download it again")
    if count <= 1:
        return [stamp], Header(metadata, tuple(tensors), size)
    given = metadata, tensors, size, stamp
    paths = _paths(path, count)
    parts = [given if part == path else _read_part(part, f"part {number} of {count}: ") for number, part in paths]
    for (number, part), (keys, *_) in zip(paths, parts, strict=True):
        named = keys.get("split.no"), keys.get("split.count")
        if named != (number - 1, count):
            raise ModelFileError(
                f"{part}: by its name part {number} of {count}, but split.no and split.count are {named}; {_SIBLINGS}"
            )
    return [part[3] for part in parts], _joined(path, parts)


def _joined(path: Path, parts: list[tuple[Metadata, list[Tensor], int, _Stamp | None]]) -> Header:
    first, tensors = parts[0][0], tuple(tensor for part in parts for tensor in part[1])
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise ModelFileError(f"{path}: a tensor is in two parts; {_SIBLINGS}")
    due = first.get("split.tensors.count", len(tensors))
    if due != len(tensors):
        raise ModelFileError(
            f"{path}: the parts have {len(tensors)} tensors together, {due!r:.40} were due; {_SIBLINGS}"
        )
    return Header(first, tensors, sum(part[2] for part in parts), len(parts))


def _paths(path: Path, count: int) -> list[tuple[int, Path]]:
    """Return the parts by number, from 1, given any of them."""
    match = _PART.fullmatch(path.name)
    if match is None or int(match["count"]) != count:
        raise ModelFileError(f"{path}: one of {count} parts, not named as such; {_SIBLINGS}")
    name, end = match["name"], match["end"] or ""
    return [(number, path.with_name(f"{name}-{number:05d}-of-{count:05d}{end}")) for number in range(1, count + 1)]


def _read_part(path: Path, which: str = "") -> tuple[Metadata, list[Tensor], int, _Stamp | None]:
    """Return the metadata, the tensors, the size in bytes and the stamp of one file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
            raise ModelFileError(f"{which}{path} is a folder or a device; name the .gguf file itself")
        with path.open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            metadata, tensors, end = parse(HeaderCursor(file, str(path), found.st_size))
    except FileNotFoundError as error:
        todo = _SIBLINGS if which else "check the path"
        raise ModelFileError(f"{which}{path} is not there; {todo}") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"{which}{path!s:.400} can't be read: {error}; check the path and who may read it"
        ) from error
    if end > found.st_size:
        raise ModelFileError(
            f"{path}: byte {found.st_size}: the file ends here, but its last tensor at byte {end}; "
            "it is an incomplete download: finish it, or download it again"
        )
    return metadata, tensors, found.st_size, _stamp(path, found)
