"""A message, a record or a summary as the cells of a row, and back; the checksums that notice a changed byte."""

from __future__ import annotations

import json
import struct
from dataclasses import fields, make_dataclass
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import compress, crc32, decompress

from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Cost, Record, StoredMessage, Summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Role


# The cells in the order of the table's columns. The connection gives bytes for TEXT and BLOB, so the checksum sees a
# damaged text before any decoder.
MessageRow: TypeAlias = (
    "tuple[int, int, int, int, int, float | None, bytes, bytes | None, bytes | None, bytes | None, bytes]"
)
Cell: TypeAlias = "str | bytes | int | float | None"

RecordRow: TypeAlias = "tuple[int, int, bytes]"
SummaryRow: TypeAlias = "tuple[bytes, int, int, int, int, int, bytes, bytes, bytes, bytes, bytes]"

_PACK = struct.Struct("<4qd").pack  # key, turn, bound, estimate; time

# No UTF-8 text has this byte: it marks a compressed text among the BLOBs of `stored`. Payloads are never compressed, so
# any SQLite tool shows them; long texts made from them are. Shorter texts hardly shrink.
COMPRESSED = b"\xff"
# No text: NULL, and no bytes.
NO_TEXT: tuple[None, bytes] = (None, b"")
LEAST_COMPRESSED_BYTES = 512

# A frozen dataclass sets each field through object.__setattr__: 1.1 of the 4 microseconds of a row. A twin with the
# same slots is filled in 0.2 and then becomes the message; Python allows that for equal slots.
_Draft = make_dataclass("_Draft", [field.name for field in fields(StoredMessage)], slots=True)


class DamagedRowError(Exception):
    """A row is missing or does not match its checksum; the text names it.

    Attributes:
        advice: what to do.
    """

    advice = "read_intact() serves the other messages, `squidbot store doctor` saves them into a copy, a backup has all"


def stored_text(text: str | None) -> tuple[str | bytes | None, bytes]:
    """Return a text for SQLite, TEXT or else BLOB, and its bytes; NULL and no bytes for `None`.

    UTF-8 and so SQLite's TEXT have no lone surrogates: a BLOB in Python's "surrogatepass" form keeps them.
    """
    if text is None:
        return None, b""
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
        return data, data


def stored_small(text: str) -> tuple[str | bytes, bytes]:
    """Return a text made from payloads for SQLite, compressed if that pays, and its bytes."""
    cell, data = stored_text(text)
    if len(data) >= LEAST_COMPRESSED_BYTES:
        small = COMPRESSED + compress(data)
        if len(small) < len(data):
            return small, small
    return cell or text, data


def cell(data: bytes) -> str | bytes:
    """Return the bytes of a text as `stored` and `stored_small` would give it to SQLite."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def plain(data: bytes) -> str:
    """Return the text from `stored`."""
    return data.decode("utf-8", "surrogatepass")


def plain_small(data: bytes) -> str:
    """Return the text from `stored_small`; its bytes have passed their checksum."""
    return plain(decompress(data[1:]) if data.startswith(COMPRESSED) else data)


def checksum(*fields: bytes) -> int:
    """Return the CRC-32 of fields, joined by zero bytes, without copying the last, longest one."""
    *first, last = fields
    return crc32(last, crc32(b"\0".join((*first, b""))))


# Writes compact JSON text. ASCII escapes would turn two lone surrogates into one character on reading.
json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@lru_cache(256)
def _form(role: Role, category: Category, codec: str, counter: str) -> tuple[Cell, bytes]:
    """Return fields that many messages share as one cell, faster to read and look up than four."""
    return stored_text(json_text((role, category, codec, counter)))


@lru_cache(256)
def _formed(form: bytes) -> tuple[Role, Category, str, str]:
    role, category, codec, counter = json.loads(plain(form))
    return role, Category(category), codec, counter


def _frozen(message: StoredMessage) -> str | None:
    """Return the fields frozen on a message's arrival as JSON text; `None` for none, as usual."""
    parts = (message.sent_text, message.sent_arguments, message.notice)
    who = (message.sender, message.label) if message.sender or message.label else ()
    if parts == (None, None, None) and not who and message.sent_cost == message.cost:
        return None
    return json_text((*parts, message.sent_cost, *who))


def encode(key: int, message: StoredMessage) -> tuple[Cell, ...]:
    """Return a message as the cells of its row.

    Raises:
        StoreError: a number is not a 64-bit integer.
    """
    frozen = _frozen(message)
    form, form_data = _form(message.role, message.category, message.codec, message.counter)
    calls, calls_data = stored_text(json_text(message.call_ids)) if message.call_ids else NO_TEXT
    results, results_data = stored_text(json_text(message.result_ids)) if message.result_ids else NO_TEXT
    kept, kept_data = NO_TEXT if frozen is None else stored_small(frozen)
    payload, payload_data = stored_text(message.payload)
    estimate, bound = message.cost
    time = nan if message.time is None else message.time
    try:
        numbers = _PACK(key, message.turn, bound, estimate, time)
    except (struct.error, OverflowError) as error:
        raise StoreError(f"message {message.seq}: a number can't be stored: {error}; nothing was written") from error
    check = checksum(numbers, form_data, calls_data, results_data, kept_data, payload_data)
    return key, bound, estimate, message.turn, check, message.time, form, calls, results, kept, payload


def decode(found: Sequence[MessageRow], first_key: int) -> list[StoredMessage]:
    """Return the messages in a session's rows with keys from `first_key` on.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    messages: list[StoredMessage] = []
    key = first_key
    try:
        for row in found:
            key, bound, estimate, turn, check, time, form, calls, results, frozen, payload = row
            numbers = _PACK(key, turn, bound, estimate, nan if time is None else time)
            texts = (numbers, form, calls or b"", results or b"", frozen or b"", b"")
            if crc32(payload, crc32(b"\0".join(texts))) != check:
                raise DamagedRowError(f"message {key - first_key}")
            role, category, codec, counter = _formed(form)
            cost = Cost(estimate, bound)
            draft = _Draft(
                key - first_key,
                turn,
                role,
                category,
                codec,
                payload.decode("utf-8", "surrogatepass"),
                () if calls is None else _ids(calls),
                () if results is None else _ids(results),
                cost,
                cost,
                counter,
                time,
                None,
                None,
                None,
                "",
                "",
            )
            if frozen is not None:
                _thaw(draft, frozen)
            draft.__class__ = StoredMessage
            messages.append(draft)
    except (struct.error, TypeError, OverflowError) as error:  # wrong type: the row's header is damaged
        raise DamagedRowError(f"message {key - first_key}") from error
    return messages


def _ids(data: bytes) -> tuple[str, ...]:
    return tuple(json.loads(plain(data)))


def _thaw(draft: Any, frozen: bytes) -> None:  # noqa: ANN401  # a class that was made at run time
    draft.sent_text, cut, draft.notice, sent_cost, *who = json.loads(plain_small(frozen))
    draft.sent_arguments, draft.sent_cost = None if cut is None else tuple(cut), Cost(*sent_cost)
    # Rows from before senders existed, and most since, name none.
    if who:
        draft.sender, draft.label = who


PAIR = struct.Struct("<2q").pack
_PLACE = struct.Struct("<5q").pack


def encode_record(session: int, record: Record) -> tuple[Cell, ...]:
    """Return a record as the cells of its row."""
    kind, kind_bytes = stored_text(record.kind)
    body, body_bytes = stored_small(record.body)
    return session, kind, record.number, checksum(PAIR(session, record.number), kind_bytes, body_bytes), body


def decode_record(session: int, kind: str, row: RecordRow) -> Record:
    """Return the record of a kind in a row (number, checksum, body).

    Raises:
        DamagedRowError: the row does not match its checksum.
    """
    number, check, body = row
    try:
        if checksum(PAIR(session, number), stored_text(kind)[1], body) != check:
            raise DamagedRowError(f"record {number} of kind {kind!r}")
    except (struct.error, TypeError) as error:
        raise DamagedRowError(f"record {number} of kind {kind!r}") from error
    return Record(kind, number, plain_small(body))


def encode_summary(session: int, summary: Summary) -> tuple[Cell, ...]:
    """Return a summary as the cells of its row.

    Raises:
        StoreError: a number is not a 64-bit integer.
    """
    numbers = (summary.first_seq, summary.last_seq, *summary.cost)
    names = summary.summary_id, summary.level, summary.counter, summary.source_digest, summary.made_by
    texts = [*map(stored_text, names), stored_small(summary.text)]
    try:
        check = checksum(_PLACE(session, *numbers), *(data for _, data in texts))
    except struct.error as error:
        raise StoreError(
            f"summary {summary.summary_id!r}: a number can't be stored: {error}; nothing was written"
        ) from error
    summary_id, *others = (each for each, _ in texts)
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
    level, counter, source_digest, made_by = map(plain, texts[:-1])
    text, cost = plain_small(texts[-1]), Cost(estimate, bound)
    return Summary(plain(summary_id), session_id, first, last, level, text, cost, counter, source_digest, made_by)
