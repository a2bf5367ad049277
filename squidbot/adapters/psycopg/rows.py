"""A message's row in PostgreSQL: as any store's, but the payload is compressed where that pays.

PostgreSQL itself compresses only rows of more than 2 KB, one by one, and less. Checksums are of the payload as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import compress, decompress
from zlib import error as ZlibError  # noqa: N812  # an exception's class

from squidbot.adapters.common.cells import COMPRESSED, DamagedRowError, decode, encode, plain, stored_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import StoredMessage

__all__ = ["as_bytes", "decoded", "encoded", "said"]

# Shorter payloads hardly shrink. The fastest level takes about 10 microseconds a KB; the best one saves a tenth more.
LEAST_BYTES, LEVEL = 256, 1


def as_bytes(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with all texts as bytes."""
    return tuple(stored_text(each)[1] if isinstance(each, str) else each for each in cells)


def encoded(message: StoredMessage) -> tuple[Any, ...]:
    """Return the cells of a message's row behind its seq.

    Raises:
        StoreError: a number is not a 64-bit integer.
    """
    _, *cells, payload = as_bytes(encode(message.seq, message))
    if len(payload) >= LEAST_BYTES:
        small = COMPRESSED + compress(payload, LEVEL)
        payload = small if len(small) < len(payload) else payload
    return *cells, payload


def decoded(found: Iterable[Sequence[Any]]) -> list[StoredMessage]:
    """Return the messages in rows.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    rows: list[Any] = []
    for row in found:
        try:
            rows.append((*row[:-1], _whole(row[-1])))
        except ZlibError as error:
            raise DamagedRowError(f"message {row[0]}") from error
    return decode(rows, 0)


def said(payload: bytes) -> str:
    """Return the text of a stored payload; nothing for a damaged one."""
    try:
        return plain(_whole(payload))
    except (ZlibError, UnicodeDecodeError):
        return ""


def _whole(payload: bytes) -> bytes:
    return decompress(payload[1:]) if payload.startswith(COMPRESSED) else payload
