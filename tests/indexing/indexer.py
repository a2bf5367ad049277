"""What the tests of crashes and races run: `reindex` of a folder into a store, a file an exchange.

python indexer.py FILE FOLDER [meets]

It says "ready"; with `meets` it says "read" before its first exchange, and goes on when it gets a line. At the end it
says how often it had to wait for others.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import Scope, View
from squidbot.core.memory.view import Memories
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.services import indexing
from squidbot.services.indexing import IndexPaths, IndexReport, reindex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.memories import Memory

ANN = Scope(user="ann", bot="squid")


class Meeting(SqliteMemoryStore):
    """A store whose first exchange waits until it is told to go on."""

    waits = False

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Exchange, the first time when somebody says so."""
        if self.waits:
            self.waits = False
            say("read")
            sys.stdin.readline()
        super().exchange(gone, memories, reason)


def run(path: Path, folder: Path, wait: Callable[[float], None] = time.sleep, *, meets: bool = False) -> IndexReport:
    """Index a folder, each file by itself."""
    with Meeting(path) as store:
        store.waits = meets
        memories = Memories(store, View(ANN), Meter(builtin_counter("classes")))
        return reindex(memories, IndexPaths(folder, ("notes",)), wait=wait)


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Do what the command line says."""
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    indexing.BATCH_CHUNKS = 1
    say("ready")
    run(Path(sys.argv[1]), Path(sys.argv[2]), wait, meets=sys.argv[3:] == ["meets"])
    say(str(len(waited)))


if __name__ == "__main__":
    main()
