"""What a store must hold after a crash: every exchange that was acknowledged, whole, once, in order."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, TypeAlias

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore

from .writer import PARTS, SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # A file, or the settings of a store.
    Place: TypeAlias = Path | Mapping[str, str]

# SQUIDBOT_FULL_EFFORT=1 runs as often as the promises are stated; it takes minutes. Else a sample of it.
FULL = bool(os.environ.get("SQUIDBOT_FULL_EFFORT"))
ROOT = Path(__file__).resolve().parents[3]
ROLES = ["user", "assistant", "tool", "assistant"]


def start(  # noqa: PLR0917  # each test names those it needs
    store: Place, name: str, exchanges: int, before: Sequence[str] = (), tries: int = 1, script: str = "writer.py"
) -> subprocess.Popen[str]:
    """Start a process that records exchanges, behind a command such as strace."""
    file = Path(__file__).with_name(script)
    where = str(store) if isinstance(store, Path) else json.dumps(store)
    command = [*before, sys.executable, str(file), where, name, str(exchanges), str(tries)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    folder = store.parent if isinstance(store, Path) else gettempdir()
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    )


def killed(store: Place, name: str, kill: int, chance: random.Random, script: str = "writer.py") -> str:
    """Start a process, kill it at a random moment, and return what it has told.

    Of five in a row the first dies while it starts or makes the file; the others between any two bytes of their work.
    """
    starts = kill % 5 == 0
    with start(store, name, 10**9, script=script) as process:
        assert process.stdout is not None
        output = "" if starts else "".join(process.stdout.readline() for _ in range(chance.randint(1, 8)))
        time.sleep(chance.random() * (0.4 if starts else 0.02))
        process.send_signal(signal.SIGKILL)
        return output + process.stdout.read()


def ended(writers: Sequence[subprocess.Popen[str]], each: int | None = None) -> list[str]:
    """Wait for processes, and return what they have told, having checked that nobody failed and all is acknowledged.

    `each`: how many exchanges of each process; `None`: any number.
    """
    outputs = [process.communicate() for process in writers]
    assert not any(process.returncode for process in writers), [error[-400:] for _, error in outputs]
    told = [acknowledged(output) for output, _ in outputs]
    assert told == [list(range(len(numbers) if each is None else each)) for numbers in told]
    return [output for output, _ in outputs]


def show(figures: str) -> None:
    """Tell figures of a run with full effort; `pytest -s` shows them."""
    if FULL:
        sys.stdout.write(f"\n{figures}\n")


def acknowledged(output: str) -> list[int]:
    """Return the numbers of the exchanges that a writer has told; a line that was cut by its end is none."""
    return [int(line.split()[0]) for line in output.splitlines(keepends=True) if line.endswith("\n")]


def opened_store(settings: Mapping[str, str]) -> Any:  # noqa: ANN401  # any store
    """Return the store of settings."""
    if "path" in settings:
        return SqliteStore(settings["path"])
    from squidbot.adapters.psycopg import PostgresqlStore  # noqa: PLC0415  # an optional package

    return PostgresqlStore(settings["url"], schema=settings["schema"])


def exchanges_in(place: Place) -> list[tuple[str, int]]:
    """Return (name, number) of each exchange in a store, in order, having checked all that a reader relies on.

    The store opens, every message is read, no exchange is there in part or between the parts of another one, and the
    session goes on.
    """
    settings = {"path": str(place)} if isinstance(place, Path) else place
    with contextlib.closing(opened_store(settings)) as store:
        count, _ = store.head(SESSION)
        rows = store.read(SESSION, 0, 10**9)
        for kind in ("plan", "request", "fragment", "ledger", "pin"):
            store.records(SESSION, kind)
    assert [row.seq for row in rows] == list(range(count))
    assert count % PARTS == 0, "half an exchange"
    found = []
    for start_seq in range(0, count, PARTS):
        parts = rows[start_seq : start_seq + PARTS]
        assert [row.role for row in parts] == ROLES
        marks = {
            tuple(str(json.loads(row.payload)["content"]).replace(":", " ").replace(".", " ").split()[:2])
            for row in parts
        }
        assert len(marks) == 1, "parts of two exchanges"
        name, number = marks.pop()
        assert len({row.turn for row in parts}) == 1
        found.append((name, int(number)))
    with squidbot.load({"store": settings}) as engine:
        assert engine.session(SESSION, window_tokens=4096).assemble("Go on?").messages
    return found


def check_kills(kills: int, place: Callable[[int], Place]) -> None:
    """Kill writers at random moments, ten in each store: all that they acknowledged is there, once, in order."""
    chance = random.Random(5)  # noqa: S311  # repeatable
    acked: list[tuple[str, int]] = []
    heard = more = 0
    for kill in range(kills):
        store = place(kill // 10)
        if kill % 10 == 0:
            acked = []
        name = f"w{kill}"
        output = killed(store, name, kill, chance)
        acked += [(name, number) for number in acknowledged(output)]
        heard += len(acknowledged(output))
        kept = exchanges_in(store)
        assert len(set(kept)) == len(kept), "an exchange is there twice"
        unheard = [each for each in kept if each not in set(acked)]
        assert [each for each in kept if each not in set(unheard)] == acked
        # Stored, and killed before it could be told: at most the last one of this writer.
        assert unheard in ([], [(name, len(acknowledged(output)))])
        acked = kept
        more += len(unheard)
    show(f"{kills} kills, {heard} exchanges acknowledged, {more} more stored whole")
