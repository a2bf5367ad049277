"""A memory as one row of the table `memories`, and back; the checksum that notices a changed byte."""

from __future__ import annotations

import json
import struct
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias, cast

from squidbot.adapters.sqlite3.rows import Cell, DamagedRowError, checksum, json_text, plain, stored
from squidbot.core.errors import StoreError
from squidbot.core.memories import Memory, Scope, Source, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Category, Trust

__all__ = [
    "MEMORY_COLUMNS",
    "VIEW_COLUMNS",
    "DamagedMemoryError",
    "MemoryRow",
    "decode",
    "encode",
    "grave_checksum",
    "text_digest",
    "view_digest",
    "view_digests",
]

MEMORY_COLUMNS = (
    "key, id, owner, bot, agent, model, time, importance, checksum, category, trust, supersedes, superseded_by, scope, "
    "tags, sources, speaker, reason, text"
)
# Which column parts memories under a policy of isolation.
VIEW_COLUMNS = {"global": "owner", "bot": "bot", "agent": "agent", "model": "model"}
MemoryRow: TypeAlias = (
    "tuple[int, bytes, int, int, int, int, float, float, int, bytes, bytes, bytes | None, bytes | None, bytes, "
    "bytes | None, bytes | None, bytes, bytes, bytes]"
)

_NUMBERS = struct.Struct("<5q2d").pack  # key, digests; time, importance
_GRAVE = struct.Struct("<2q2d").pack  # key, owner; time, forgotten


class DamagedMemoryError(DamagedRowError):
    """The row of a memory is missing or does not match its checksum; the text names it."""

    advice = "forget it or put a backup in the file's place; the other memories are served"


@lru_cache(4096)
def view_digest(view: View) -> int:
    """Return what stands for a view in columns and in the index: 63 bits, the same for ever."""
    said = json_text(view.key).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, digest_size=8).digest(), "big") >> 1


@lru_cache(4096)
def view_digests(scope: Scope) -> tuple[int, int, int, int]:
    """Return the digests of the views that a scope is seen in: global, bot, agent, model."""
    owner, bot, agent, model = (View(scope, "global"), View(scope, "bot"), View(scope, "agent"), View(scope, "model"))
    return view_digest(owner), view_digest(bot), view_digest(agent), view_digest(model)


def text_digest(text: str) -> bytes:
    """Return the digest by which a vector is known to be of a text: 16 bytes."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def encode(key: int, memory: Memory) -> tuple[Cell, ...]:
    """Return a memory as the cells of its row.

    Raises:
        StoreError: a number or text can't be stored.
    """
    sources = [tuple(source) for source in memory.sources]
    try:
        texts = [
            stored(memory.memory_id),
            stored(memory.category),
            stored(memory.trust),
            stored(memory.supersedes or None),
            stored(memory.superseded_by or None),
            stored(json_text(memory.scope.parts)),
            stored(json_text(memory.tags) if memory.tags else None),
            stored(json_text(sources) if sources else None),
            stored(memory.speaker),
            stored(memory.reason),
            stored(memory.text),
        ]
        digests = view_digests(memory.scope)
        numbers = _NUMBERS(key, *digests, memory.time, memory.importance)
    except (struct.error, TypeError, AttributeError) as error:
        name = f"memory {memory.memory_id!a:.80}"
        raise StoreError(f"{name}: a value can't be stored: {error}; nothing was written") from error
    check = checksum(numbers, *_marked([data for _, data in texts], [cell for cell, _ in texts]))
    memory_id, *others = (cell for cell, _ in texts)
    return key, memory_id, *digests, float(memory.time), float(memory.importance), check, *others


def decode(row: MemoryRow) -> tuple[int, Memory]:
    """Return the key and the memory in a row.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    key, memory_id, owner, bot, agent, model, time, importance, check, *texts = row
    try:
        numbers = _NUMBERS(key, owner, bot, agent, model, time, importance)
        cells = [memory_id, *texts]
        if checksum(numbers, *_marked([data or b"" for data in cells], cells)) != check:
            raise DamagedMemoryError(f"memory {key}")
        category, trust, supersedes, superseded_by, scope, tags, sources, speaker, reason, text = map(_said, texts)
    except (struct.error, TypeError, AttributeError) as error:  # a cell of another type: the row's header was hit
        raise DamagedMemoryError(f"memory {key}") from error
    memory = Memory(
        plain(memory_id),
        text,
        cast("Category", category),
        _scope(scope),
        time,
        cast("Trust", trust),
        speaker,
        tuple(json.loads(tags or "[]")),
        tuple(Source(*each) for each in json.loads(sources or "[]")),
        importance,
        reason,
        supersedes,
        superseded_by,
    )
    return key, memory


def _said(data: bytes | None) -> str:
    """Return the text in a cell; none is an empty one."""
    return "" if data is None else plain(data)


def _marked(datas: list[bytes], cells: Sequence[Cell]) -> list[bytes]:
    """Return texts for the checksum, with a byte before each that tells none from an empty one; the last is not."""
    *first, last = datas
    marked = [b"\0" if cell is None else b"\1" + data for data, cell in zip(first, cells, strict=False)]
    return [*marked, last]


@lru_cache(1024)
def _scope(text: str) -> Scope:
    return Scope(*json.loads(text))


def grave_checksum(key: int, owner: int, time: float, forgotten: float, memory_id: bytes, reason: bytes) -> int:  # noqa: PLR0913, PLR0917  # it has that many cells
    """Return the checksum of what is left of a memory; -1, which no row has, where a cell is of another type."""
    try:
        return checksum(_GRAVE(key, owner, time, forgotten), memory_id, reason)
    except (struct.error, TypeError):
        return -1
