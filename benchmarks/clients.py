"""One process of clients that all have turns at once: with squidbot, or with what LangGraph or the Agents SDK ship.

python -m benchmarks.clients PROGRAM ADDRESS SECONDS AT_ONCE SESSION...

Prints "ready", waits for a line, has turns for so many seconds, a client for each session named, and prints a JSON
object. At most AT_ONCE turns run at a time. Clients are threads, as tasks of asyncio where the program is made for it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from benchmarks.host import ANSWERED_CHARS, ASKED_CHARS, SYSTEM_CHARS, Host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ["ANEW", "MODEL", "OURS", "PROGRAMS", "WINDOW", "settings_of"]

OURS, ANEW = "squidbot", "squidbot, opened for each turn"
MODEL, WINDOW = "benchmark", 32_000
# What a window of squidbot's above holds of these messages, about: the same for a session that is read in part.
AGENTS_LIMIT = 100
# Of LangGraph's pool, as of squidbot's own and about what SQLAlchemy's is by default.
MOST_CONNECTIONS = 8


class Figures(NamedTuple):
    """What the turns of a process took, in seconds; `failed` turns are in none of the lists."""

    assemble: list[float]
    record: list[float]
    turn: list[float]
    failed: list[str]


Turn: TypeAlias = "Callable[[str, str, Figures], object]"
AsyncTurn: TypeAlias = "Callable[[str, str, Figures], Awaitable[object]]"


class Clock:
    """Notes in a list of figures what passes between two looks."""

    def __init__(self) -> None:
        """Start."""
        self._last = time.perf_counter()

    def __call__(self, into: list[float] | None = None) -> None:
        """Note what has passed since the last look."""
        now = time.perf_counter()
        if into is not None:
            into.append(now - self._last)
        self._last = now


def settings_of(address: str) -> dict[str, Any]:
    """Return squidbot's settings for an address of PostgreSQL, or the path of a file."""
    store = {"url": address, "schema": "squidbot"} if "://" in address else {"path": address}
    return {"store": store, "models": {MODEL: {"context_window": WINDOW}}}


def squidbot(address: str, opened: ExitStack, *, anew: bool = False) -> Callable[[str], Turn]:
    """Return what opens a client's session; `anew`: for each turn, as a process does that has not held it."""
    from squidbot import load  # noqa: PLC0415  # each process imports one program

    engine = opened.enter_context(load(settings_of(address)))
    system = "s" * SYSTEM_CHARS

    def client(name: str) -> Turn:
        held = engine.session(name, model=MODEL)

        def turn(asked: str, answered: str, figures: Figures) -> None:
            session = engine.session(name, model=MODEL) if anew else held
            clock = Clock()
            session.record({"role": "user", "content": asked})
            clock(figures.record)
            made = session.assemble(system=system)
            assert made.messages
            clock(figures.assemble)
            session.record({"role": "assistant", "content": answered})
            clock(figures.record)

        return turn

    return client


def langgraph(address: str, opened: ExitStack) -> Callable[[str], Turn]:
    """Return a graph of one node with PostgresSaver: up to the node it assembles, behind it it records."""
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415
    from psycopg_pool import ConnectionPool  # noqa: PLC0415

    kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool = opened.enter_context(ConnectionPool(address, kwargs=kwargs, min_size=1, max_size=MOST_CONNECTIONS))
    saver = PostgresSaver(pool)

    def client(name: str) -> Turn:
        answers: list[Any] = []

        def model(_: MessagesState) -> dict[str, Any]:
            answered, figures, clock = answers.pop()
            clock(figures.assemble)
            return {"messages": [AIMessage(answered)]}

        plain: Any = StateGraph(MessagesState)
        graph = plain.add_node("model", model).add_edge(START, "model").compile(checkpointer=saver)

        def turn(asked: str, answered: str, figures: Figures) -> None:
            clock = Clock()
            answers.append((answered, figures, clock))
            graph.invoke({"messages": [HumanMessage(asked)]}, {"configurable": {"thread_id": name}})
            clock(figures.record)

        return turn

    return client


async def agents(address: str, opened: AsyncExitStack, *, limit: int | None) -> Callable[[str], AsyncTurn]:
    """Return what the runner of the Agents SDK does in a turn with a SQLAlchemySession."""
    from agents.extensions.memory import SQLAlchemySession  # noqa: PLC0415
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

    engine = create_async_engine(address)
    opened.push_async_callback(engine.dispose)

    def client(name: str) -> AsyncTurn:
        session = SQLAlchemySession(name, engine=engine)

        async def turn(asked: str, answered: str, figures: Figures) -> None:
            clock = Clock()
            await session.get_items(limit)
            clock(figures.assemble)
            await session.add_items([{"role": "user", "content": asked}])
            clock(figures.record)
            await session.add_items([{"role": "assistant", "content": answered}])
            clock(figures.record)

        return turn

    return client


THREADED: dict[str, Callable[[str, ExitStack], Callable[[str], Turn]]] = {
    OURS: squidbot,
    ANEW: partial(squidbot, anew=True),
    "PostgresSaver": langgraph,
}
ASYNC: dict[str, Callable[[str, AsyncExitStack], Awaitable[Callable[[str], AsyncTurn]]]] = {
    "SQLAlchemySession": partial(agents, limit=None),
    f"SQLAlchemySession, limit={AGENTS_LIMIT}": partial(agents, limit=AGENTS_LIMIT),
}
PROGRAMS = (*THREADED, *ASYNC)


class Pace(NamedTuple):
    """When turns end, and how many run at once."""

    seconds: float
    at_once: int


def _texts(number: int) -> Callable[[], tuple[str, str]]:
    host = Host(number)
    return lambda: (host.text(ASKED_CHARS), host.text(ANSWERED_CHARS))


def _go() -> float:
    print("ready", flush=True)
    sys.stdin.readline()
    return time.perf_counter()


def _threads(program: str, address: str, pace: Pace, names: Sequence[str]) -> dict[str, Any]:
    figures, slots = Figures([], [], [], []), Semaphore(pace.at_once)
    with ExitStack() as opened:
        make = THREADED[program](address, opened)
        clients = [(make(name), _texts(number)) for number, name in enumerate(names)]
        if pace.at_once >= len(names):  # else a turn takes so long that nothing is left to warm
            for turn, texts in clients:
                turn(*texts(), Figures([], [], [], []))
        until = _go() + pace.seconds

        def run(turn: Turn, texts: Callable[[], tuple[str, str]]) -> None:
            while True:
                with slots:
                    if time.perf_counter() >= until:
                        return
                    began = time.perf_counter()
                    try:
                        turn(*texts(), figures)
                    except Exception as error:  # noqa: BLE001  # it is counted
                        figures.failed.append(repr(error)[:200])
                    else:
                        figures.turn.append(time.perf_counter() - began)

        threads = [Thread(target=run, args=client) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"seconds": time.perf_counter() - until + pace.seconds, **figures._asdict()}


async def _tasks(program: str, address: str, pace: Pace, names: Sequence[str]) -> dict[str, Any]:
    figures, slots = Figures([], [], [], []), asyncio.Semaphore(pace.at_once)
    async with AsyncExitStack() as opened:
        make = await ASYNC[program](address, opened)
        clients = [(make(name), _texts(number)) for number, name in enumerate(names)]
        if pace.at_once >= len(names):
            for turn, texts in clients:
                await turn(*texts(), Figures([], [], [], []))
        until = _go() + pace.seconds

        async def run(turn: AsyncTurn, texts: Callable[[], tuple[str, str]]) -> None:
            while True:
                async with slots:
                    if time.perf_counter() >= until:
                        return
                    began = time.perf_counter()
                    try:
                        await turn(*texts(), figures)
                    except Exception as error:  # noqa: BLE001  # it is counted
                        figures.failed.append(repr(error)[:200])
                    else:
                        figures.turn.append(time.perf_counter() - began)

        await asyncio.gather(*(run(*client) for client in clients))
        return {"seconds": time.perf_counter() - until + pace.seconds, **figures._asdict()}


def main(program: str, address: str, seconds: str, at_once: str, *names: str) -> None:
    """Run the clients and print what they found."""
    pace = Pace(float(seconds), int(at_once))
    if program in ASYNC:
        found = asyncio.run(_tasks(program, address, pace, names))
    else:
        found = _threads(program, address, pace, names)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
