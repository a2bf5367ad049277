"""Long conversations for benchmarks: made by rule, stored in bulk.

    python benchmarks/seed.py FILE.db SESSION MESSAGES

Four turns repeat: three of a user's question and an answer, one with a tool call whose result has 2 to 8 KB; ten
messages, 1.1 KB each on average. Every fortieth turn comes two hours later. The same arguments make the same text.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import time
from contextlib import closing
from itertools import count, islice
from typing import TYPE_CHECKING, NotRequired, TypedDict

from squidbot.adapters.sqlite3 import SqliteStore, rows
from squidbot.core.messages import Category, Cost, StoredMessage

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from squidbot.core.messages import Role

__all__ = ["conversation", "seed"]


class ToolFunction(TypedDict):
    """The function of a call, arguments as JSON text."""

    name: str
    arguments: str


class ToolCallEntry(TypedDict):
    """One entry of `tool_calls`."""

    id: str
    type: str
    function: ToolFunction


class ChatMessage(TypedDict):
    """An OpenAI-style chat message."""

    role: Role
    content: str
    tool_calls: NotRequired[list[ToolCallEntry]]
    tool_call_id: NotRequired[str]


CHUNK = 10_000  # messages a transaction
# Tokens of this vocabulary's texts as the class estimator counts them, measured on 3,000 messages: 4.29 characters a
# token by the estimate, 3.50 by the bound. Counting a million messages would take minutes and give the same sums.
CHARS_PER_ESTIMATED_TOKEN, CHARS_PER_BOUND_TOKEN = 4.29, 3.5
TEMPLATE_TOKENS = 4
COUNTER = "classes"
WORDS = (
    "cache price index page token window budget store append plan lease session turn summary recall journal server",
    "request answer error timeout retry queue worker thread lock commit branch merge review test build deploy log",
    "src/app/main.py config.toml https://example.org/docs 404 1024 0x7f3a None True def return import class the a of",
    "to in is that we should with for and not on it as was at by this be have",
)


def conversation(messages: int, seed_number: int = 1) -> Iterator[StoredMessage]:
    """Yield that many messages from seq 0 on; a longer conversation starts with a shorter one's messages."""
    chance = random.Random(seed_number)  # noqa: S311  # text to measure with, no secret
    pool = " ".join(chance.choices(" ".join(WORDS).split(), k=40_000))
    return islice(_turns(chance, pool), messages)


def _turns(chance: random.Random, pool: str) -> Iterator[StoredMessage]:
    """Yield turn after turn without end."""
    seq, now = 0, 1_700_000_000.0
    for turn in count():
        now += 7200.0 if turn % 40 == 39 else 45.0
        opening = seq
        for message in _turn(chance, pool, turn):
            role: Role = message["role"]
            payload = json.dumps(message)
            cost = _cost(message)
            yield StoredMessage(
                seq=seq,
                turn=opening,
                role=role,
                category=Category.SYSTEM_OUTPUT if role == "tool" else Category.DIALOG,
                codec="openai.chat",
                payload=payload,
                call_ids=tuple(call["id"] for call in message.get("tool_calls", ())),
                result_ids=(message["tool_call_id"],) if role == "tool" else (),
                cost=cost,
                sent_cost=cost,
                counter=COUNTER,
                time=now,
            )
            seq += 1


def _cost(message: ChatMessage) -> Cost:
    """Return about what the default counter says of a message, in tokens."""
    calls = (call["function"] for call in message.get("tool_calls", ()))
    chars = len(message["content"]) + sum(len(call["name"]) + len(call["arguments"]) + 2 for call in calls)
    estimate = TEMPLATE_TOKENS + round(chars / CHARS_PER_ESTIMATED_TOKEN)
    return Cost(estimate, TEMPLATE_TOKENS + 2 + round(chars / CHARS_PER_BOUND_TOKEN))


def _turn(chance: random.Random, pool: str, turn: int) -> list[ChatMessage]:
    """Return the messages of one turn."""

    def text(least: int, most: int) -> str:
        start, letters = chance.randrange(len(pool) - most), chance.randint(least, most)
        return pool[start : start + letters]

    asked: ChatMessage = {"role": "user", "content": text(60, 700)}
    answered: ChatMessage = {"role": "assistant", "content": text(200, 1600)}
    if turn % 4 != 3:
        return [asked, answered]
    call_id = f"call_{turn:08x}"
    function: ToolFunction = {"name": "read_file", "arguments": json.dumps({"path": f"src/part{turn % 97}.py"})}
    call: ChatMessage = {
        "role": "assistant",
        "content": text(0, 120),
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }
    result: ChatMessage = {"role": "tool", "content": text(2000, 8000), "tool_call_id": call_id}
    return [asked, call, result, answered]


def seed(path: str | os.PathLike[str], session_id: str, messages: int) -> None:
    """Fill a new session with so many messages of `conversation`, in bulk, without a sync per message.

    Raises:
        ValueError: the session has messages.
    """
    SqliteStore(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.text_factory = bytes
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN IMMEDIATE")
        session = rows.add(connection, rows.find(connection, session_id))
        if session.messages:
            raise ValueError(f"{session_id} has {session.messages} messages; name a new session")
        said = conversation(messages)
        while chunk := list(islice(said, CHUNK)):
            session = rows.append(connection, session, chunk, ())
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


if __name__ == "__main__":
    started = time.perf_counter()
    seed(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print(f"{sys.argv[3]} messages in {time.perf_counter() - started:.1f} s")
