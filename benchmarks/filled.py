"""Sessions of so many messages for each program on a server, made fast: one is written, the others are its copies."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from benchmarks.clients import MODEL, settings_of
from benchmarks.host import ANSWERED_CHARS, ASKED_CHARS, NOW, Host
from squidbot import load
from squidbot.adapters.psycopg import PostgresqlStore
from squidbot.adapters.sqlite3 import SqliteStore, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from squidbot.core.messages import StoredMessage

__all__ = ["fill_agents", "fill_langgraph", "fill_postgresql", "fill_sqlite"]

# Exchanges that are said again and again, each counted once.
EXCHANGES = 250
CHUNK = 10_000
# The tables of a squidbot schema that have rows of a session.
TABLES = ("messages", "records", "summaries", "words")


def said() -> Iterator[tuple[str, str]]:
    """Yield questions and answers."""
    host = Host()
    while True:
        yield host.text(ASKED_CHARS), host.text(ANSWERED_CHARS)


def stored(messages: int) -> Iterator[StoredMessage]:
    """Yield messages as the product stores them."""
    with load({**settings_of(""), "store": {"adapter": "stdlib"}}) as engine:
        session = engine.session("s", model=MODEL)
        kept = [
            row
            for asked, answered in islice(said(), EXCHANGES)
            for row in session.record({"role": "user", "content": asked}, {"role": "assistant", "content": answered})
        ]
    for seq, row in enumerate(islice(cycle(kept), messages)):
        yield replace(row, seq=seq, turn=seq - seq % 2, time=NOW + 45.0 * seq)


def fill_postgresql(url: str, names: Sequence[str], messages: int) -> None:
    """Write the first of the sessions with the store's own appends, and copy its rows for the others."""
    first, *others = names
    with closing(PostgresqlStore(url)) as store:
        rest, seq = stored(messages), 0
        while chunk := list(islice(rest, CHUNK)):
            store.append(first, seq, chunk)
            seq += len(chunk)
            store.wait()
    with psycopg.connect(url) as connection:
        (no,) = _one(connection, "SELECT no FROM squidbot.sessions WHERE id = %s", first.encode())
        for name in others:
            (copy,) = _one(
                connection,
                "INSERT INTO squidbot.sessions(key, id, messages, records) SELECT sha256(%s), %s, messages, records "
                "FROM squidbot.sessions WHERE no = %s RETURNING no",
                *(name.encode(), name.encode(), no),
            )
            for table in TABLES:
                _copy(connection, sql.Identifier("squidbot", table), ("session", no, copy))
    _settle(url)


def fill_sqlite(path: Path, names: Sequence[str], messages: int) -> None:
    """Write all sessions in bulk, without a sync per message."""
    SqliteStore(path).close()
    said = list(stored(messages))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.text_factory = bytes
        connection.execute("PRAGMA synchronous = OFF")
        for name in names:
            connection.execute("BEGIN IMMEDIATE")
            session = rows.add(connection, rows.find(connection, name))
            for first in range(0, messages, CHUNK):
                session = rows.append(connection, session, said[first : first + CHUNK], ())
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_langgraph(url: str, names: Sequence[str], messages: int) -> None:
    """Have one thread updated with all messages, and copy its rows for the others."""
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415  # rivals are where they are installed
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    first, *others = names
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        plain: Any = StateGraph(MessagesState)
        plain = plain.add_node("model", lambda _: {}).add_edge(START, "model")
        pairs = islice(said(), messages // 2)
        update = {"messages": [each for ask, answer in pairs for each in (HumanMessage(ask), AIMessage(answer))]}
        graph = plain.compile(checkpointer=saver)
        graph.update_state({"configurable": {"thread_id": first}}, update, as_node="model")
    with psycopg.connect(url) as connection:
        for name in others:
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                _copy(connection, sql.Identifier(table), ("thread_id", first, name))
    _settle(url)


def fill_agents(url: str, names: Sequence[str], messages: int) -> None:
    """Have one session extended by all messages, and copy its rows for the others."""
    from agents.extensions.memory import SQLAlchemySession  # noqa: PLC0415

    first, *others = names

    async def fill() -> None:
        session = SQLAlchemySession.from_url(first, url=driven(url), create_tables=True)
        pairs = islice(said(), messages // 2)
        items = [
            {"role": role, "content": text}
            for pair in pairs
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        for start in range(0, messages, CHUNK):
            await session.add_items(items[start : start + CHUNK])
        await session.engine.dispose()

    asyncio.run(fill())
    with psycopg.connect(url) as connection:
        for name in others:
            _copy(connection, sql.Identifier("agent_sessions"), ("session_id", first, name))
            _copy(connection, sql.Identifier("agent_messages"), ("session_id", first, name), without=["id"])
    _settle(url)


def driven(url: str) -> str:
    """Return an address as SQLAlchemy reads it."""
    return url.replace("postgresql://", "postgresql+asyncpg://")


def _copy(
    connection: psycopg.Connection[Any], table: sql.Identifier, place: tuple[str, Any, Any], without: Sequence[str] = ()
) -> None:
    """Copy the rows of a table that have one value in a column, with another one in its place."""
    column, old, new = place
    names = [
        one.name for one in connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table)).description or ()
    ]
    names = [name for name in names if name != column and name not in without]
    statement = sql.SQL("INSERT INTO {0}({1}, {2}) SELECT %s, {2} FROM {0} WHERE {1} = %s").format(
        table, sql.Identifier(column), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    connection.execute(statement, (new, old))


def _one(connection: psycopg.Connection[Any], statement: str, *cells: object) -> tuple[Any, ...]:
    (found,) = connection.execute(statement.encode(), cells).fetchall()
    return tuple(found)


def _settle(url: str) -> None:
    """Leave nothing to do behind what was written: no statistics to find out, no pages to write."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
