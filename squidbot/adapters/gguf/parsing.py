"""One file of a model: its metadata and its table of tensors, in the layout of llama.cpp's gguf.cpp (0c1e57098)."""

from __future__ import annotations

from math import prod
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.gguf.looks import LOOKED_AT_BYTES, look
from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import LongArray, Tensor
from squidbot.core.sizing.tensor_types import tensor_bytes

if TYPE_CHECKING:
    from squidbot.adapters.gguf.cursor import Cursor
    from squidbot.core.sizing.header import Value

__all__ = ["LONGEST_ARRAY", "MOST_KEPT_BYTES", "Part", "parse"]

# Arrays of more items, and strings of more bytes, are not kept: see `LongArray`.
LONGEST_ARRAY: Final = 4096
_LONGEST_STRING_BYTES: Final = 1024 * 1024
_LONGEST_KEY_BYTES: Final = 65535  # as the format says
_LONGEST_NAME_BYTES: Final = 255  # of a tensor; llama.cpp takes 63
# Kept of one file; a model's chat template and per-layer arrays are some ten thousand bytes.
MOST_KEPT_BYTES: Final = 8 * 1024 * 1024
_ITEM_BYTES: Final = 64  # of an item in memory beside its text, about
# 61 layers of 256 unmerged experts are 47 thousand; as files are made today, the largest have some two thousand.
_MOST_TENSORS: Final = 65536
_MOST_KEYS: Final = 65536
_MOST_DIMENSIONS: Final = 4
_MOST_ELEMENTS: Final = 2**63

_STRING, _ARRAY = 8, 9
_NUMBERS: Final = {
    0: Struct("<B"),
    1: Struct("<b"),
    2: Struct("<H"),
    3: Struct("<h"),
    4: Struct("<I"),
    5: Struct("<i"),
    6: Struct("<f"),
    7: Struct("<?"),
    10: Struct("<Q"),
    11: Struct("<q"),
    12: Struct("<d"),
}
Scalar = bool | int | float | str


class Part(NamedTuple):
    """One file of a model: what it says of itself, its tensors, and where the last of them ends."""

    metadata: dict[str, Value]
    tensors: list[Tensor]
    end: int


def parse(cursor: Cursor) -> Part:
    """Read a file's header.

    A string of over 1 MiB is kept as a `LongArray` of bytes (type 0).

    Raises:
        ModelFileError: it is no GGUF of version 2 or 3, or damaged, or holds more than a header does.
    """
    tensor_count, key_count = _opening(cursor)
    metadata = _Metadata(cursor).read(key_count)
    alignment = _alignment(cursor, metadata)
    tensors, offset = _table(cursor, tensor_count, alignment)
    start = -(-cursor.place // alignment) * alignment
    return Part(metadata, tensors, start + offset if tensors else cursor.place)


def _opening(cursor: Cursor) -> tuple[int, int]:
    beginning = cursor.beginning(LOOKED_AT_BYTES)
    if not beginning.startswith(b"GGUF"):
        raise cursor.failed("this is no GGUF file", 0, look(beginning))
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
            raise cursor.failed(f"{count} {what}, at most {most} are read", place)
    return counts


class _Metadata:
    """The keys of a file and their values, as far as they are kept."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._kept_bytes = 0

    def read(self, count: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for _ in range(count):
            place = self._cursor.place
            key = _name(self._cursor, "a key", _LONGEST_KEY_BYTES)
            if key in metadata:
                raise self._cursor.failed(f"the key {key!r:.80} is there twice", place)
            self._keep(len(key))
            metadata[key] = self._value(key)
        return metadata

    def _value(self, key: str) -> Value:
        place = self._cursor.place
        what = f"the value of {key!r:.80}"
        kind = self._cursor.u32(f"the type of {key!r:.80}")
        if kind == _ARRAY:
            return self._array(what)
        if kind == _STRING:
            return self._string(what)
        number = _NUMBERS.get(kind)
        if number is None:
            raise self._cursor.failed(f"{what} has the type {kind}, which there is not", place)
        value: Scalar
        (value,) = number.unpack(self._cursor.take(number.size, what))
        return value

    def _array(self, what: str) -> Value:
        place = self._cursor.place
        kind = self._cursor.u32(what)
        count = self._cursor.u64(what)
        if kind == _STRING:
            return self._strings(what, count)
        number = _NUMBERS.get(kind)
        if number is None:
            raise self._cursor.failed(f"{what} has items of the type {kind}, which arrays have not", place)
        if count > LONGEST_ARRAY:
            self._cursor.skip(count * number.size, what)
            return LongArray(kind, count)
        self._keep(count * _ITEM_BYTES)
        raw = self._cursor.take(count * number.size, what)
        return tuple(value for (value,) in number.iter_unpack(raw))

    def _strings(self, what: str, count: int) -> Value:
        if count > LONGEST_ARRAY:
            self._cursor.pass_strings(count, what)
            return LongArray(_STRING, count)
        place = self._cursor.place
        texts = [self._string(what) for _ in range(count)]
        kept = tuple(text for text in texts if isinstance(text, str))
        if len(kept) < len(texts):
            raise self._cursor.failed(f"{what} has items of over {_LONGEST_STRING_BYTES} bytes", place)
        return kept

    def _string(self, what: str) -> str | LongArray:
        count = self._cursor.length(what)
        if count > _LONGEST_STRING_BYTES:
            self._cursor.skip(count, what)
            return LongArray(0, count)
        self._keep(count)
        return self._cursor.take(count, what).decode("utf-8", "replace")

    def _keep(self, count: int) -> None:
        self._kept_bytes += count + _ITEM_BYTES
        if self._kept_bytes > MOST_KEPT_BYTES:
            raise self._cursor.failed(f"the metadata hold over {MOST_KEPT_BYTES} bytes in short values")


def _name(cursor: Cursor, what: str, longest: int) -> str:
    place = cursor.place
    count = cursor.length(what)
    if not 0 < count <= longest:
        raise cursor.failed(f"{what} has {count} bytes, 1 to {longest} are read", place)
    try:
        return cursor.take(count, what).decode()
    except UnicodeDecodeError as error:
        raise cursor.failed(f"{what} is no UTF-8", place) from error


def _alignment(cursor: Cursor, metadata: dict[str, Value]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or alignment.bit_count() != 1 or alignment < 1:
        raise cursor.failed(f"general.alignment is {alignment!r:.40}, no power of two")
    return alignment


def _table(cursor: Cursor, count: int, alignment: int) -> tuple[list[Tensor], int]:
    """Return the tensors, and where the last one's bytes end from the first one's on."""
    tensors: list[Tensor] = []
    seen: set[str] = set()
    end = 0
    for _ in range(count):
        place = cursor.place
        tensor = _tensor(cursor)
        if tensor.name in seen:
            raise cursor.failed(f"the tensor {tensor.name!r:.80} is there twice", place)
        offset = cursor.u64(f"the offset of {tensor.name!r:.80}")
        due = -(-end // alignment) * alignment
        if offset != due:
            raise cursor.failed(f"the data of {tensor.name!r:.80} begin at {offset}, {due} was due", cursor.place - 8)
        try:
            end = due + tensor_bytes(tensor)
        except ModelFileError as error:
            raise cursor.failed(
                f"tensor {tensor.name!r:.80}: {error}", place, "update squidbot or download it again"
            ) from error
        tensors.append(tensor)
        seen.add(tensor.name)
    return tensors, end


def _tensor(cursor: Cursor) -> Tensor:
    called = _name(cursor, "the name of a tensor", _LONGEST_NAME_BYTES)
    place = cursor.place
    dimensions = cursor.u32(f"the dimensions of {called!r:.80}")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise cursor.failed(
            f"the tensor {called!r:.80} has {dimensions} dimensions, 1 to {_MOST_DIMENSIONS} are read", place
        )
    shape = tuple(cursor.u64(f"the shape of {called!r:.80}") for _ in range(dimensions))
    if not 0 < prod(shape) < _MOST_ELEMENTS:
        raise cursor.failed(f"the tensor {called!r:.80} has the shape {shape}", place)
    return Tensor(called, shape, cursor.u32(f"the type of {called!r:.80}"))
