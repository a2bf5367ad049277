"""What the crash test runs and kills: `reindex` of a folder into a store, a file an exchange.

python indexer.py FILE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.counting.meter import Meter
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.memories import Scope, View
from squidbot.core.memory.asking import Memories
from squidbot.indexing import Indexed, Paths, indexed, reindex

ANN = Scope(user="ann", bot="squid")


def run(path: Path, folder: Path) -> Indexed:
    """Index a folder, each file by itself."""
    with SqliteMemoryStore(path) as store:
        memories = Memories(store, View(ANN), Meter(builtin_counter("classes")))
        return reindex(memories, Paths(folder, ("notes",)))


if __name__ == "__main__":
    indexed.BATCH_PIECES = 1
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    run(Path(sys.argv[1]), Path(sys.argv[2]))
