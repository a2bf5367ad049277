"""Reading a header forward: every length is held against the file before it is believed, and nothing large is kept."""

from __future__ import annotations

from struct import Struct, unpack
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from io import FileIO

__all__ = ["MOST_READ_BYTES", "MOST_STRINGS", "Cursor"]

# Read at once. What stays in memory of a file is this, beside what is kept of its values.
_CHUNK_BYTES: Final = 256 * 1024
# Read of one header; a vocabulary of 262,144 tokens with its merges takes about 16 MiB.
MOST_READ_BYTES: Final = 64 * 1024 * 1024
# Passed over in one header; that vocabulary has 800 thousand.
MOST_STRINGS: Final = 4 * 1024 * 1024
_AGAIN: Final = "the file is damaged, or no GGUF of today: download it again"
_LENGTH: Final = Struct("<Q")


class Cursor:
    """A place in a file, which only goes forward.

    Attributes:
        place: the byte that is read next.
        size: the file's bytes.
    """

    def __init__(self, file: FileIO, path: str, size: int) -> None:
        """Begin at the start of a file that was opened unbuffered; `path` is what errors call it."""
        self.place = 0
        self.size = size
        self._file = file
        self._path = path
        self._chunk = b""
        self._base = 0
        self._read_bytes = 0
        self._strings = 0

    def failed(self, what: str, place: int | None = None, todo: str = _AGAIN) -> ModelFileError:
        """Return the error for a byte of the file (None: the next one): what is wrong there, and what to do."""
        return ModelFileError(f"{self._path}: byte {self.place if place is None else place}: {what}; {todo}")

    def beginning(self, count: int) -> bytes:
        """Return the file's first bytes, fewer if it has fewer, and stay at the start, where it has to be."""
        self._fill(0, "the beginning")
        return self._chunk[:count]

    def take(self, count: int, what: str) -> bytes:
        """Return the next bytes, of which the caller has bounded the count; `what` says in errors what they are.

        Raises:
            ModelFileError: the file ends before, or its header is too long; so for all below.
        """
        self._within(count, what)
        at = self.place - self._base
        if not 0 <= at <= len(self._chunk) - count:
            self._fill(count, what)
            at = 0
        self.place += count
        return self._chunk[at : at + count]

    def skip(self, count: int, what: str) -> None:
        """Pass over bytes without reading them."""
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
        """Return the length that a string begins with, held against the file."""
        place = self.place
        count = self.u64(what)
        self._within(count, what, place)
        return count

    def pass_strings(self, count: int, what: str) -> None:
        """Pass over so many strings, each held against the file."""
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
        said = f"the file ends at byte {self.size}, within {what}"
        return self.failed(said, place, "it is an incomplete download, or damaged: download it again")

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
    """Pass over strings while their lengths are in the chunk: where it came to, the last one's place, what is left.

    This is where the time goes, two thirds of a million times for a large vocabulary, so there is as little as can be.
    """
    unpack_from = _LENGTH.unpack_from
    last, before = len(chunk) - 8, at
    for left in range(count, 0, -1):
        if at > last:
            return at, before, left
        before = at
        at += 8 + unpack_from(chunk, at)[0]
    return at, before, 0
