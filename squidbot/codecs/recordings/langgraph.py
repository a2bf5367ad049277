"""Threads of LangGraph, in the SQLite file of its checkpointer: each checkpoint holds all messages of its thread.

The tables: `checkpoints` of langgraph.checkpoint.sqlite; the blobs: langgraph.checkpoint.serde.jsonplus, MessagePack
with the classes of objects in its extensions. LangGraph's own reader imports these classes and calls them, whatever a
file names; here they are only looked at, so that nothing of a stranger's file runs. A checkpoint stands behind its
parent: a second one behind the same parent is a branch. A subgraph's namespace is a sub-agent.
"""

from __future__ import annotations

import importlib
from math import isfinite
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.jsontext import DEEPEST_LEVELS
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.recordings import START
from squidbot.codecs.recordings.builder import MessageSource, SessionBuilder, finished, place_name
from squidbot.codecs.recordings.databases import opened, tables
from squidbot.codecs.recordings.lines import MOST_BYTES
from squidbot.codecs.recordings.values import count, digest, get, items, label, mapping, text
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_database", "is_form", "places", "read"]

NAME: Final = "langgraph"

_TABLES: Final = frozenset({"checkpoints", "writes"})
_CODEC: Final = LangChain()
_KINDS: Final = ("human", "ai", "system", "tool")
# Channels that hold the messages of a state, and of a graph that has no other state.
_CHANNELS: Final = ("messages", "__root__")
# The codes of MessagePack's extensions for objects of pydantic, of its first and second version.
_PYDANTIC: Final = (4, 5)
_DEEPEST: Final = 8


def is_form(values: Sequence[object]) -> bool:  # noqa: ARG001  # as every reader
    """Return `False`: a database has no first values; see `is_database`."""
    return False


def is_database(path: Path) -> bool:
    """Return whether a file is a database of LangGraph's checkpoints."""
    return tables(path) >= _TABLES


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG001  # as every reader
    """Yield nothing: a program says where its checkpoints are."""
    yield from ()


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:  # noqa: ARG001
    """Return the threads of a database of checkpoints; there are no positions.

    Raises:
        TranscriptError: it is none, can't be read, or the package that reads its blobs is missing.
    """
    if not is_database(path):
        raise TranscriptError(str(path), None, "is no database of LangGraph's checkpoints")
    unpacked = _unpacker(path)
    with opened(path) as database:
        wanted = "SELECT DISTINCT thread_id, checkpoint_ns FROM checkpoints ORDER BY thread_id, checkpoint_ns"
        threads = database.execute(wanted).fetchall()
        found = [_thread(database, str(thread), str(space or ""), unpacked) for thread, space in threads]
    return finished(found, is_over=is_over)


def _unpacker(path: Path) -> Callable[[bytes], object]:
    """Return what reads MessagePack without making anything but plain values.

    Raises:
        TranscriptError: ormsgpack is not installed.
    """
    try:
        ormsgpack = importlib.import_module("ormsgpack")
    except ImportError as error:
        wrong = "needs ormsgpack, which comes with LangGraph: pip install 'squidbot-context[langchain]'"
        raise TranscriptError(str(path), None, wrong) from error

    # A message stands in every checkpoint behind it, byte for byte.
    known: dict[bytes, object] = {}

    def unpacked(raw: bytes, depth: int = 0) -> object:
        def extension(code: int, inner: bytes) -> object:
            if code not in _PYDANTIC or depth >= _DEEPEST:
                return {"extension": code}
            if inner not in known:
                held = items(unpacked(inner, depth + 1))
                known[inner] = held[2] if len(held) > 2 else None
            return known[inner]

        return ormsgpack.unpackb(raw, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)

    return unpacked


def _thread(
    database: sqlite3.Connection, thread: str, space: str, unpacked: Callable[[bytes], object]
) -> SessionBuilder:
    """Return the session of a thread, or of a subgraph in it."""
    made = SessionBuilder(NAME, _CODEC, f"{thread}/{space}" if space else thread, has_branches=True)
    made.session.parent = thread if space else ""
    seen = _Messages(made)
    wanted = (
        "SELECT checkpoint_id, parent_checkpoint_id, type, CASE WHEN length(checkpoint) <= ? THEN checkpoint END"
        " FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id"
    )
    for own, parent, kind, blob in database.execute(wanted, (MOST_BYTES, thread, space)):
        state = _state(kind, blob, unpacked)
        if state is None:
            made.count(f"checkpoints of the type {label(kind)}")
            continue
        values = mapping(state.get("channel_values"))
        channel = next((each for each in _CHANNELS if isinstance(values.get(each), list)), "")
        seen.take(str(own), str(parent), items(values.get(channel)), state.get("ts"))
    return made


def _state(kind: object, blob: object, unpacked: Callable[[bytes], object]) -> dict[str, object] | None:
    """Return a checkpoint; `None` if it is too long, damaged, or of another type."""
    if not isinstance(blob, bytes | str):
        return None
    raw = blob if isinstance(blob, bytes) else blob.encode("utf-8", "surrogatepass")
    try:
        value = unpacked(raw) if kind == "msgpack" else jsontext.parse(raw.decode()) if kind == "json" else None
    except ValueError:  # ormsgpack's error is one
        return None
    return value if isinstance(value, dict) else None


class _Messages:
    """The messages of a thread, each behind the one in front of it where it was first."""

    def __init__(self, made: SessionBuilder) -> None:
        self._made = made
        # By the id and the digest of a message: its id in the session. By checkpoint: its newest message.
        self._known: dict[tuple[str, str], str] = {}
        self._tips: dict[str, str] = {}
        # By the address of a message that was read, which is the same in each checkpoint: it, and its id.
        self._read: dict[int, tuple[object, str]] = {}

    def take(self, own: str, parent: str, messages: Sequence[object], stamp: object) -> None:
        """Read the messages of a checkpoint."""
        before = START
        for at, each in enumerate(messages):
            if id(each) not in self._read:
                # What a summary takes the place of stays: it stands behind what was said until then.
                behind = before or self._tips.get(parent, START)
                data = mapping(_plain(_data(each)))
                name = text(data.get("id")) or place_name(at, data)
                key = (name, digest(data))
                if key not in self._known:
                    self._known[key] = self._add(name, data, behind, stamp)
                    self._read[id(each)] = (each, self._known[key])
                before = self._known[key] or before
            else:
                before = self._read[id(each)][1] or before
        self._tips[own] = before or self._tips.get(parent, START)

    def _add(self, name: str, data: dict[str, object], parent: str, stamp: object) -> str:
        kind = text(data.get("type"))
        if kind.removesuffix("MessageChunk").lower() not in _KINDS:
            self._made.count(f"{label(kind)} messages")
            return ""
        model = get(data, "response_metadata", "model_name") or get(data, "response_metadata", "model")
        source = MessageSource(parent, stamp, text(model), _usage(data.get("usage_metadata")))
        return self._made.add(name, {"type": kind, "data": data}, source)


def _data(message: object) -> dict[str, object]:
    """Return the data of a message; the former form, JSON, names its class beside its arguments."""
    given = mapping(message)
    if get(given, "lc") in (1, 2) and isinstance(given.get("kwargs"), dict):
        names = items(given.get("id"))
        kind = text(names[-1] if names else "").removesuffix("Message").removesuffix("MessageChunk").lower()
        return {"type": kind, **mapping(given["kwargs"])}
    return given


def _plain(value: object, depth: int = 0) -> object:
    """Return a value of MessagePack as one of JSON: bytes and what lies too deep as what they are."""
    if isinstance(value, dict) and depth < DEEPEST_LEVELS:
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple) and depth < DEEPEST_LEVELS:
        return [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else f"({type(value).__name__})"


def _usage(usage: object) -> dict[str, object] | None:
    if not isinstance(usage, dict):
        return None
    cached = count(get(usage, "input_token_details", "cache_read"))
    return {
        "input_tokens": count(usage.get("input_tokens")),
        "output_tokens": count(usage.get("output_tokens")),
        "input_tokens_details": {"cached_tokens": cached},
    }
