"""What a talk leaves on a server's disk, tables with indexes, as a multiple of what was said; SQLite beside it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from benchmarks.clients import MODEL, settings_of
from benchmarks.filled import driven
from benchmarks.host import CODEC, SYSTEM_CHARS, Call
from benchmarks.report import Bar, Result, Table
from benchmarks.talk import conversation
from squidbot import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = ["Talks", "measure"]

# Bytes on the disk for a byte of the messages' payloads, at most.
MOST = 1.8
# PostgresSaver stores all messages anew with each step: it gets so long, and as far as it gets.
MOST_SECONDS = 30.0
SIZES = (
    "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 2 DESC"
)


class Kept(NamedTuple):
    """What stands on the disk: bytes by table, and bytes of the payloads, of so many messages."""

    tables: dict[str, int]
    text_bytes: int
    messages: int

    @property
    def ratio(self) -> float:
        """Bytes on the disk for each that was said."""
        return sum(self.tables.values()) / self.text_bytes


class Talks(NamedTuple):
    """What is said: a recorded session, if it is there, and a made talk of so many turns; and where files may stand."""

    recorded: Path
    turns: int
    folder: Path


def measure(url: str, talks: Talks, programs: Sequence[str], result: Result, progress: Callable[[str], None]) -> None:
    """Measure what talks take on a server, with each of the programs."""
    recorded, turns, folder = talks
    talked = {f"a talk of {turns:,} turns": [call for turn in conversation(turns) for call in turn]}
    if recorded.exists():
        talked = {recorded.stem: recorded_calls(recorded), **talked}
    for number, (title, calls) in enumerate(talked.items()):
        found: dict[str, Kept] = {}
        for program, keep in KEEPERS.items():
            if program.startswith("squidbot") or any(name.startswith(program) for name in programs):
                progress(f"servers: what {title} takes on the disk: {program}")
                place = str(folder / f"talk{number}.db")
                if program != "squidbot, SQLite":
                    place = _database(url, f"talk{number}_{len(found)}")
                found[program] = keep(place, calls)
        rows = tuple(
            (program, (kept.ratio, sum(kept.tables.values()) / 2**20, kept.messages)) for program, kept in found.items()
        )
        columns = ("bytes a byte", "MB", "messages")
        result.tables.append(Table(f"On the disk behind {title}, for each byte of the payloads", columns, rows))
        ours = found["squidbot"]
        parts = tuple(
            (name, (size / ours.text_bytes,)) for name, size in ours.tables.items() if size * 100 > ours.text_bytes
        )
        result.tables.append(Table("  of squidbot's tables", ("bytes a byte",), parts))
        result.bars.append(Bar(f"bytes on PostgreSQL for each said: {title}", ours.ratio, at_most=MOST))


def recorded_calls(path: Path) -> list[Call]:
    """Return a recorded session as calls: what came before each answer, and the answer."""
    calls: list[Call] = []
    incoming: list[Any] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        message = CODEC.to_message(json.loads(line))
        if message.role == "assistant":
            calls.append(Call(tuple(incoming), message, float(number)))
            incoming.clear()
        else:
            incoming.append(message)
    return calls


def _text_bytes(calls: Iterable[Call]) -> tuple[int, int]:
    """Return the bytes of the payloads, and how many messages there are."""
    said = [message for call in calls for message in (*call.incoming, call.reply)]
    return sum(len(message.payload.encode()) for message in said), len(said)


def _squidbot(place: str, calls: Sequence[Call]) -> Kept:
    with load(settings_of(place)) as engine:
        session = engine.session("s", model=MODEL)
        for call in calls:
            made = session.assemble(*call.incoming, system="s" * SYSTEM_CHARS, now=call.time)
            session.record(*made.incoming, call.reply, now=call.time)
    return Kept(_sizes(place) if "://" in place else {"file": _file_bytes(place)}, *_text_bytes(calls))


def _langgraph(place: str, calls: Sequence[Call]) -> Kept:
    from langchain_core.messages import convert_to_messages  # noqa: PLC0415  # rivals are where they are installed
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    until, done, replies = time.monotonic() + MOST_SECONDS, 0, list[Any]()
    with PostgresSaver.from_conn_string(place) as saver:
        saver.setup()
        plain: Any = (
            StateGraph(MessagesState).add_node("model", lambda _: {"messages": replies}).add_edge(START, "model")
        )
        graph = plain.compile(checkpointer=saver)
        for call in calls:
            if time.monotonic() > until:
                break
            incoming, replies[:] = (
                _messages(convert_to_messages, call.incoming),
                _messages(convert_to_messages, [call.reply]),
            )
            graph.invoke({"messages": incoming}, {"configurable": {"thread_id": "s"}})
            done += 1
    return Kept(_sizes(place), *_text_bytes(calls[:done]))


def _messages(convert: Callable[[list[Any]], list[Any]], messages: Iterable[Any]) -> list[Any]:
    return convert([json.loads(message.payload) for message in messages])


def _agents(place: str, calls: Sequence[Call]) -> Kept:
    from agents.extensions.memory import SQLAlchemySession  # noqa: PLC0415

    async def talk() -> None:
        session = SQLAlchemySession.from_url("s", url=driven(place), create_tables=True)
        for call in calls:
            for said in (call.incoming, (call.reply,)):
                if said:
                    await session.add_items([json.loads(message.payload) for message in said])
        await session.engine.dispose()

    asyncio.run(talk())
    return Kept(_sizes(place), *_text_bytes(calls))


KEEPERS: dict[str, Callable[[str, Sequence[Call]], Kept]] = {
    "squidbot, SQLite": _squidbot,
    "squidbot": _squidbot,
    "PostgresSaver": _langgraph,
    "SQLAlchemySession": _agents,
}


def _database(url: str, name: str) -> str:
    """Return the address of a new database on the server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return url.replace("/postgres?", f"/{name}?")


def _sizes(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        return dict(connection.execute(SIZES.encode()).fetchall())


def _file_bytes(path: str) -> int:
    from pathlib import Path  # noqa: PLC0415

    return Path(path).stat().st_size
