"""What no store of memories has of its own: a memory as a row's cells and back, and what a call changes."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias, cast
from zlib import crc32

from squidbot.adapters.common.cells import Cell, DamagedRowError, checksum, json_text, plain, stored_text
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import (
    FactRow,
    Grave,
    Mark,
    Memory,
    Scope,
    Source,
    View,
    is_same,
    refuse_misfit,
    with_sources,
    without_messages,
)
from squidbot.core.vectors import FLOAT_BYTES, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from squidbot.core.memories import FactCategory, Isolation, NewSources, Trust
    from squidbot.core.memory.days import Days


MEMORY_COLUMNS = (
    "key, id, owner, bot, agent, model, time, importance, checksum, category, trust, supersedes, superseded_by, scope, "
    "tags, sources, speaker, reason, text"
)
# Each isolation policy's column for views.
VIEW_COLUMNS: Mapping[Isolation, str] = {"global": "owner", "bot": "bot", "agent": "agent", "model": "model"}
MemoryRow: TypeAlias = (
    "tuple[int, bytes, int, int, int, int, float, float, int, bytes, bytes, bytes | None, bytes | None, bytes, "
    "bytes | None, bytes | None, bytes, bytes, bytes]"
)

_NUMBERS = struct.Struct("<5q2d").pack  # key, digests; time, importance
_GRAVE = struct.Struct("<2q2d").pack  # key, owner; time, forgotten


class DamagedMemoryError(DamagedRowError):
    """A memory's row is missing or does not match its checksum; the text names it."""

    advice = "forget it, or restore a backup; the other memories are intact"


@lru_cache(4096)
def view_digest(view: View) -> int:
    """Return a view's number in columns and in the index: 63 bits, the same for ever."""
    data = json_text(view.key).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


@lru_cache(4096)
def view_digests(scope: Scope) -> tuple[int, int, int, int]:
    """Return the digests of the views that see a scope: global, bot, agent, model."""
    owner, bot, agent, model = (View(scope, "global"), View(scope, "bot"), View(scope, "agent"), View(scope, "model"))
    return view_digest(owner), view_digest(bot), view_digest(agent), view_digest(model)


def text_digest(text: str) -> bytes:
    """Return the digest that ties a vector to its text: 16 bytes."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def encode(key: int, memory: Memory) -> tuple[Cell, ...]:
    """Return a memory as the cells of its row.

    Raises:
        StoreError: a number or text can't be stored.
    """
    sources = [tuple(source) for source in memory.sources]
    try:
        texts = [
            stored_text(memory.memory_id),
            stored_text(memory.category),
            stored_text(memory.trust),
            stored_text(memory.supersedes or None),
            stored_text(memory.superseded_by or None),
            stored_text(json_text(memory.scope.parts)),
            stored_text(json_text(memory.tags) if memory.tags else None),
            stored_text(json_text(sources) if sources else None),
            stored_text(memory.speaker),
            stored_text(memory.reason),
            stored_text(memory.text),
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
    except (struct.error, TypeError, AttributeError) as error:  # a cell of another type: damaged row header
        raise DamagedMemoryError(f"memory {key}") from error
    memory = Memory(
        plain(memory_id),
        text,
        cast("FactCategory", category),
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
    """Return the text in a cell; "" for none."""
    return "" if data is None else plain(data)


def _marked(datas: list[bytes], cells: Sequence[Cell]) -> list[bytes]:
    """Return texts for the checksum; a byte before each but the last distinguishes none from an empty one."""
    *first, last = datas
    marked = [b"\0" if cell is None else b"\1" + data for data, cell in zip(first, cells, strict=False)]
    return [*marked, last]


@lru_cache(1024)
def _scope(text: str) -> Scope:
    return Scope(*json.loads(text))


def grave_checksum(key: int, owner: int, time: float, forgotten: float, memory_id: bytes, reason: bytes) -> int:  # noqa: PLR0913, PLR0917  # it has that many cells
    """Return the checksum of a forgotten memory's rest; -1, which no row has, if a cell has another type."""
    try:
        return checksum(_GRAVE(key, owner, time, forgotten), memory_id, reason)
    except (struct.error, TypeError):
        return -1


def encode_grave(row: FactRow) -> tuple[Cell, ...]:
    """Return what is left of a forgotten memory as the cells of its row."""
    memory_id, owner, time, forgotten, reason = row.grave or Grave("", 0, 0.0, 0.0, "")
    (name, data), (told, told_data) = stored_text(memory_id), stored_text(reason)
    check = grave_checksum(row.key, owner, time, forgotten, data, told_data)
    return row.key, name, owner, time, check, forgotten, told


def decode_grave(row: tuple[int, bytes, int, float, int, float, bytes]) -> FactRow:
    """Return what is left of a forgotten memory from the cells of its row.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    key, name, owner, time, check, forgotten, reason = row
    if grave_checksum(key, owner, time, forgotten, name, reason) != check:
        raise DamagedMemoryError(f"what is left of memory {key}")
    return FactRow(key, None, Grave(plain(name), owner, time, forgotten, plain(reason)))


# Marks of sessions' readers for facts.


def encode_mark(mark: Mark) -> tuple[Cell, ...]:
    """Return a mark as the cells of its row: session, reader, JSON, checksum."""
    (session, session_data), (reader, reader_data) = stored_text(mark.session_id), stored_text(mark.reader)
    text, data = stored_text(json_text((mark.next_seq, mark.version, mark.stamp)))
    return session, reader, text, checksum(session_data, reader_data, data)


def decode_mark(session_id: str, reader: str, row: tuple[bytes, int] | None) -> Mark | None:
    """Return a reader's mark in a session from the cells (JSON, checksum); `None` if it has not begun.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    if row is None:
        return None
    if checksum(stored_text(session_id)[1], stored_text(reader)[1], row[0]) != row[1]:
        raise DamagedMemoryError(f"the mark of session {session_id!a:.80}")
    return Mark(session_id, reader, *json.loads(plain(row[0])))


def refuse_other_reader(stored: Mark | None, was: Mark | None, session_id: str) -> None:
    """Check that nobody has moved a mark.

    Raises:
        StoreError: the stored mark is another one.
    """
    if stored != was:
        raise StoreError(f"session {session_id!a:.80} was processed by another reader first; nothing was written")


# Days, as seconds since 1970.

DAY_SECONDS = 86_400
EPOCH_DAY = 719_163  # 1970-01-01, in days since the year 1


def seconds_of(days: Days) -> tuple[int, int]:
    """Return the first second of days, and the first one after them."""
    return (days.first - EPOCH_DAY) * DAY_SECONDS, (days.last + 1 - EPOCH_DAY) * DAY_SECONDS


# A vector as the cells of its row, and back.


def refuse_length(vector: Sequence[float], model: str, dimension: int) -> None:
    """Check a vector's length.

    Raises:
        StoreError: it is another one than its model's.
    """
    if len(vector) != dimension:
        raise StoreError(f"a vector of {len(vector)} numbers, where {model!a:.80} has {dimension}; nothing was written")


def refuse_dimension(model: str, stored: int, dimension: int) -> None:
    """Check the dimension of a model's vectors.

    Raises:
        StoreError: the stored ones have another.
    """
    if stored != dimension:
        raise StoreError(
            f"vectors of {model!a:.80} have {stored} dimensions in this store, not {dimension}; nothing was "
            "written: drop the model's vectors first, or give the model another name"
        )


def encode_vector(key: int, memory: Memory, vector: Sequence[float]) -> tuple[bytes, int, bytes]:
    """Return a memory's vector as the cells of its row: digest of the text, checksum, numbers.

    Raises:
        StoreError: it has no direction.
    """
    try:
        data, digest = packed(vector), text_digest(memory.text)
    except ValueError as error:
        raise StoreError(f"the vector of memory {memory.memory_id!a:.80}: {error}; nothing was written") from error
    return digest, vector_checksum(key, digest, data), data


def refuse_damage(row: tuple[int, bytes, bytes, int, bytes], dimension: int) -> None:
    """Check a vector's row for damage: its key, the id of its memory, digest, checksum and numbers.

    Raises:
        DamagedMemoryError: it does not match its checksum, or has another length.
    """
    key, memory_id, digest, check, data = row
    if vector_checksum(key, digest, data) != check or len(data) != dimension * FLOAT_BYTES:
        raise DamagedMemoryError(f"the vector of memory {plain(memory_id)!a:.80}")


def vector_checksum(key: int, digest: bytes, data: bytes) -> int:
    """Return the checksum of a vector's row."""
    return crc32(data, crc32(digest, crc32(key.to_bytes(8, "little"))))


# A call's changes, decided before it writes anything: all of them, or an error.


def added(
    find: Callable[[str], Memory | None],
    memories: Sequence[Memory],
    said: NewSources | None = None,
    places: Mapping[str, str] | None = None,
    *,
    gone: Collection[str] = (),
) -> dict[str, Memory]:
    """Return the writes of `MemoryStore.add`, by id: new and changed memories. `find` returns stored ones.

    `gone`: ids that the same call forgets.

    Raises:
        NotFoundError, StoreError: it is impossible.
    """
    changed: dict[str, Memory] = {}

    def now(memory_id: str) -> Memory | None:
        return changed.get(memory_id) or (None if memory_id in gone else find(memory_id))

    for memory in memories:
        refuse_misfit(memory)
        stored = now(memory.memory_id)
        if stored is None:
            changed[memory.memory_id] = memory
            if memory.supersedes:
                old = _superseded(memory, now(memory.supersedes))
                changed[old.memory_id] = old
        elif not is_same(stored, memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} already exists with other content; nothing was written")
    changed |= _with_sources(now, said or {})
    return changed | replaced(now, places or {})


def _with_sources(find: Callable[[str], Memory | None], said: NewSources) -> dict[str, Memory]:
    changed = {}
    for memory_id, sources in said.items():
        known = find(memory_id)
        if known is None:
            raise NotFoundError(f"no memory {memory_id!a:.80}; nothing was changed")
        if (more := with_sources(known, sources)) is not known:
            changed[memory_id] = more
    return changed


def _superseded(memory: Memory, old: Memory | None) -> Memory:
    if old is None or old.scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} replaces {memory.supersedes!a:.80}, which does not exist or belongs to "
            "another user; nothing was written"
        )
    return replace(old, superseded_by=old.superseded_by or memory.memory_id)


def replaced(find: Callable[[str], Memory | None], places: Mapping[str, str]) -> dict[str, Memory]:
    """Return what `MemoryStore.supersede` writes, by id.

    Raises:
        StoreError: it is impossible.
    """
    changed: dict[str, Memory] = {}
    for memory_id, taker in places.items():
        old = _there(find, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _there(find, taker).scope[:2] != old.scope[:2]):
            raise StoreError(
                f"memory {memory_id!a:.80} is already replaced, or belongs to another user; nothing was written"
            )
        changed[memory_id] = replace(old, superseded_by=taker)
    for taker in filter(None, places.values()):
        if (changed.get(taker) or _there(find, taker)).superseded_by:
            raise StoreError(f"memory {taker!a:.80} is itself replaced and cannot replace another; nothing was written")
    return changed


def _there(find: Callable[[str], Memory | None], memory_id: str) -> Memory:
    found = find(memory_id)
    if found is None:
        raise StoreError(f"no memory {memory_id!a:.80}; nothing was written")
    return found


def memories_without(
    memories: Iterable[Memory], session_id: str, seqs: Container[int]
) -> tuple[dict[str, Memory], list[str]]:
    """Return the writes of `MemoryStore.forget_messages`, by id, and the ids of forgotten memories."""
    left = [(memory, without_messages(memory, session_id, seqs)) for memory in memories]
    changed = [(memory, sources) for memory, sources in left if sources != memory.sources]
    kept = {memory.memory_id: replace(memory, sources=sources) for memory, sources in changed if sources}
    return kept, [memory.memory_id for memory, sources in changed if not sources]


def says_the_same(stored: Memory, memory: Memory) -> bool:
    """Return whether a stored memory has the same words, scope and versions as another one of its id."""
    same = {name: getattr(stored, name) for name in ("text", "scope", "supersedes", "superseded_by")}
    return memory == replace(memory, **same)
