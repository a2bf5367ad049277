"""Lists as parameters of a statement: psycopg's own dumpers look at each element, to find out what the list is of."""

from __future__ import annotations

from abc import abstractmethod
from struct import pack
from typing import TYPE_CHECKING, ClassVar

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from psycopg import Connection

__all__ = ["Blobs", "Floats", "Integers", "register"]


class Integers(list[int]):
    """A `bigint[]`."""


class Floats(list["float | None"]):
    """A `double precision[]`."""


class Blobs(list["bytes | None"]):
    """A `bytea[]`."""


class _ArrayDumper(Dumper):
    """Writes PostgreSQL's binary form of an array of one dimension."""

    format = Format.BINARY
    element_oid: ClassVar[int]

    def dump(self, obj: Sequence[Any]) -> bytes:
        if not obj:
            return pack(">3i", 0, 0, self.element_oid)
        head = pack(">5i", 1, None in obj, self.element_oid, len(obj), 1)
        return b"".join((head, *self.elements(obj)))

    @abstractmethod
    def elements(self, obj: Sequence[Any]) -> Iterator[bytes]:
        """Yield each element behind its length; -1 stands for NULL."""


class _IntegersDumper(_ArrayDumper):
    oid, element_oid = 1016, 20

    def elements(self, obj: Sequence[Any]) -> Iterator[bytes]:
        return (pack(">iq", 8, each) for each in obj)


class _FloatsDumper(_ArrayDumper):
    oid, element_oid = 1022, 701

    def elements(self, obj: Sequence[Any]) -> Iterator[bytes]:
        return (pack(">i", -1) if each is None else pack(">id", 8, each) for each in obj)


class _BlobsDumper(_ArrayDumper):
    oid, element_oid = 1001, 17

    def elements(self, obj: Sequence[Any]) -> Iterator[bytes]:
        return (pack(">i", -1) if each is None else pack(">i", len(each)) + each for each in obj)


def register(connection: Connection[Any]) -> None:
    """Let the statements of a connection take these lists."""
    for of, dumper in ((Integers, _IntegersDumper), (Floats, _FloatsDumper), (Blobs, _BlobsDumper)):
        connection.adapters.register_dumper(of, dumper)
