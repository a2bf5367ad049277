"""A message as one row of the table `messages`, and back; the checksums that notice a changed byte."""

from __future__ import annotations

import json
import struct
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Cost, Record, StoredMessage, Summary

if TYPE_CHECKING:
    from squidbot.core.messages import Role

__all__ = [
    "MESSAGE_COLUMNS",
    "SUMMARY_COLUMNS",
    "DamagedRowError",
    "decode",
    "decode_record",
    "decode_summary",
    "encode",
    "encode_record",
    "encode_summary",
    "plain",
    "stored",
]

MESSAGE_COLUMNS = (
    "key, bound, estimate, turn, role, category, checksum, time, codec, counter, call_ids, result_ids, "
    "sent_bound, sent_estimate, sent_text, sent_arguments, notice, payload"
)
SUMMARY_COLUMNS = "id, first_seq, last_seq, estimate, bound, checksum, level, counter, source_digest, made_by, text"

# What comes out, in the order of the table's columns. The connection gives bytes for TEXT and BLOB alike, so that a
# damaged text reaches the checksum before any decoder.
MessageRow: TypeAlias = (
    "tuple[int, int, int, int, int, int, int, float | None, bytes, bytes, bytes | None, bytes | None, "
    "int | None, int | None, bytes | None, bytes | None, bytes | None, bytes]"
)
Cell: TypeAlias = "str | bytes | int | float | None"

RecordRow: TypeAlias = "tuple[int, int, bytes]"
SummaryRow: TypeAlias = "tuple[bytes, int, int, int, int, int, bytes, bytes, bytes, bytes, bytes]"

# Stored as their place in these rows: add at the end only, never reorder.
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
CATEGORIES = (
    Category.SYSTEM,
    Category.CONTEXT,
    Category.DIALOG,
    Category.SYSTEM_OUTPUT,
    Category.ERROR,
    Category.INTERNAL,
    Category.UNKNOWN,
)
ROLE_CODES = {role: code for code, role in enumerate(ROLES)}
CATEGORY_CODES = {category: code for code, category in enumerate(CATEGORIES)}

# key, turn, bound, estimate, sent bound, sent estimate; role, category, which frozen texts there are; time.
_PACK = struct.Struct("<6q3Bd").pack


class DamagedRowError(Exception):
    """A row is missing or does not match its checksum; the text names it."""


def stored(text: str) -> tuple[str | bytes, bytes]:
    """Return a text as it goes into SQLite, TEXT or else BLOB, and its bytes.

    UTF-8 has no lone surrogates, so SQLite's TEXT has none: a BLOB in Python's "surrogatepass" form keeps them.
    """
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
        return data, data


def plain(data: bytes) -> str:
    """Return the text that `stored` took."""
    return data.decode("utf-8", "surrogatepass")


# Codecs and counters are a handful of names, each read once per row.
_name = lru_cache(256)(plain)


def checksum(*fields: bytes) -> int:
    """Return the CRC-32 of fields with a zero byte between; the last, longest one is not copied."""
    *first, last = fields
    return crc32(last, crc32(b"\0".join((*first, b""))))


def _optional(text: str | None) -> tuple[str | bytes | None, bytes]:
    return (None, b"") if text is None else stored(text)


def _list(texts: tuple[str, ...] | None) -> tuple[str | bytes | None, bytes]:
    # ASCII escapes would join two lone surrogates into one character on the way back.
    return _optional(None if texts is None else json.dumps(texts, ensure_ascii=False, separators=(",", ":")))


def _flags(sent_text: object, sent_arguments: object, notice: object) -> int:
    return (sent_text is not None) + 2 * (sent_arguments is not None) + 4 * (notice is not None)


def encode(key: int, message: StoredMessage) -> tuple[Cell, ...]:
    """Return a message as the cells of its row.

    Raises:
        StoreError: its role or category is none of ours, or a number is no integer of 64 bits.
    """
    role, category = ROLE_CODES.get(message.role), CATEGORY_CODES.get(message.category)
    if role is None or category is None:
        raise StoreError(f"message {message.seq}: role {message.role!r} or category {message.category!r} is unknown")
    codec, codec_bytes = stored(message.codec)
    counter, counter_bytes = stored(message.counter)
    calls, calls_bytes = _list(message.call_ids or None)
    results, results_bytes = _list(message.result_ids or None)
    sent, sent_bytes = _optional(message.sent_text)
    arguments, arguments_bytes = _list(message.sent_arguments)
    notice, notice_bytes = _optional(message.notice)
    payload, payload_bytes = stored(message.payload)
    frozen = (sent_bytes, arguments_bytes, notice_bytes)
    texts = (codec_bytes, counter_bytes, calls_bytes, results_bytes, *frozen, payload_bytes)
    flags = _flags(sent, arguments, notice)
    (estimate, bound), (sent_estimate, sent_bound) = message.cost, message.sent_cost
    time = nan if message.time is None else message.time
    try:
        numbers = _PACK(key, message.turn, bound, estimate, sent_bound, sent_estimate, role, category, flags, time)
    except (struct.error, OverflowError) as error:
        raise StoreError(f"message {message.seq}: a number can't be stored: {error}; nothing was written") from error
    row = (key, bound, estimate, message.turn, role, category, checksum(numbers, *texts), message.time, codec, counter)
    # Most messages are sent as they were said: then nothing is stored twice.
    sent_costs = (None, None) if message.sent_cost == message.cost else (sent_bound, sent_estimate)
    return (*row, calls, results, *sent_costs, sent, arguments, notice, payload)


def decode(row: MessageRow, first_key: int) -> StoredMessage:
    """Return the message in a row of the session whose keys start at `first_key`.

    Raises:
        DamagedRowError: the row does not match its checksum.
    """
    (key, bound, estimate, turn, role, category, check, time) = row[:8]
    (codec, counter, calls, results, sent_bound, sent_estimate, sent, arguments, notice, payload) = row[8:]
    cost = sent_cost = Cost(estimate, bound)
    try:
        if sent_bound is not None and sent_estimate is not None:
            sent_cost = Cost(sent_estimate, sent_bound)
        numbers = _PACK(
            key,
            turn,
            bound,
            estimate,
            sent_cost[1],
            sent_cost[0],
            role,
            category,
            _flags(sent, arguments, notice),
            nan if time is None else time,
        )
        frozen = (sent or b"", arguments or b"", notice or b"")
        texts = (numbers, codec, counter, calls or b"", results or b"", *frozen, b"")
        if crc32(payload, crc32(b"\0".join(texts))) != check:
            raise DamagedRowError(f"message {key - first_key}")
    except (struct.error, TypeError, OverflowError) as error:  # a cell of another type: the row's header was hit
        raise DamagedRowError(f"message {key - first_key}") from error
    return StoredMessage(
        key - first_key,
        turn,
        ROLES[role],
        CATEGORIES[category],
        _name(codec),
        plain(payload),
        () if calls is None else _loaded(calls),
        () if results is None else _loaded(results),
        cost,
        sent_cost,
        _name(counter),
        time,
        None if sent is None else plain(sent),
        None if arguments is None else _loaded(arguments),
        None if notice is None else plain(notice),
    )


def _loaded(texts: bytes) -> tuple[str, ...]:
    return tuple(json.loads(plain(texts)))


_PAIR = struct.Struct("<2q").pack
_PLACE = struct.Struct("<5q").pack


def encode_record(session: int, record: Record) -> tuple[Cell, ...]:
    """Return a record as the cells of its row."""
    kind, kind_bytes = stored(record.kind)
    body, body_bytes = stored(record.body)
    return session, kind, record.number, checksum(_PAIR(session, record.number), kind_bytes, body_bytes), body


def decode_record(session: int, kind: str, row: RecordRow) -> Record:
    """Return the record of a kind in a row (number, checksum, body).

    Raises:
        DamagedRowError: the row does not match its checksum.
    """
    number, check, body = row
    try:
        if checksum(_PAIR(session, number), stored(kind)[1], body) != check:
            raise DamagedRowError(f"record {number} of kind {kind!r}")
    except (struct.error, TypeError) as error:
        raise DamagedRowError(f"record {number} of kind {kind!r}") from error
    return Record(kind, number, plain(body))


def encode_summary(session: int, summary: Summary) -> tuple[Cell, ...]:
    """Return a summary as the cells of its row.

    Raises:
        StoreError: a number is no integer of 64 bits.
    """
    numbers = (summary.first_seq, summary.last_seq, *summary.cost)
    texts = [
        stored(text)
        for text in (
            summary.summary_id,
            summary.level,
            summary.counter,
            summary.source_digest,
            summary.made_by,
            summary.text,
        )
    ]
    try:
        check = checksum(_PLACE(session, *numbers), *(data for _, data in texts))
    except struct.error as error:
        raise StoreError(
            f"summary {summary.summary_id!r}: a number can't be stored: {error}; nothing was written"
        ) from error
    summary_id, *others = (cell for cell, _ in texts)
    return session, summary_id, *numbers, check, *others


def decode_summary(session: int, session_id: str, row: SummaryRow) -> Summary:
    """Return the summary in a row (all columns but the session).

    Raises:
        DamagedRowError: the row does not match its checksum.
    """
    summary_id, first, last, estimate, bound, check, *texts = row
    try:
        if checksum(_PLACE(session, first, last, estimate, bound), summary_id, *texts) != check:
            raise DamagedRowError(f"the summary of {first}..{last}")
    except (struct.error, TypeError) as error:
        raise DamagedRowError(f"the summary of {first}..{last}") from error
    level, counter, source_digest, made_by, text = map(plain, texts)
    cost = Cost(estimate, bound)
    return Summary(plain(summary_id), session_id, first, last, level, text, cost, counter, source_digest, made_by)
