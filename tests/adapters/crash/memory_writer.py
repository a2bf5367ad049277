"""What the crash tests of memories run and kill: facts added two at a time, each pair told once stored.

python memory_writer.py FILE NAME PAIRS; a line is the number of the pair and how many milliseconds storing it took.
"""

from __future__ import annotations

import sys
import time

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import Scope
from squidbot.testing import made_memory

# All writers are the same user's: what they add is in one view.
ANN = Scope(user="ann", bot="squid")


def main(path: str, name: str, pairs: int) -> None:
    """Add so many pairs: a fact that stays, and one whose place the next pair's takes."""
    before = ""
    with SqliteMemoryStore(path) as store:
        for number in range(pairs):
            stays = made_memory(f"stays {name} {number}", ANN, time=float(number), memory_id=f"{name}-{number}")
            newest = f"{name}-newest-{number}"
            goes = made_memory(f"newest {name} {number}", ANN, time=float(number), supersedes=before, memory_id=newest)
            began = time.perf_counter()
            store.add([stays, goes])
            before = newest
            sys.stdout.write(f"{number} {(time.perf_counter() - began) * 1e3:.1f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
