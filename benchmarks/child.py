"""What the fresh processes of `process`, `disk` and `memories` run; prints one JSON object.

python -m benchmarks.child open FILE SESSION WINDOW [traced]
python -m benchmarks.child record FILE EXCHANGES
python -m benchmarks.child memories FILE QUERY...
"""

from __future__ import annotations

import json
import resource
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGAN = time.perf_counter(), time.process_time()


def open_and_assemble(path: str, session_id: str, window_tokens: int, *, traced: bool) -> dict[str, float]:
    """Open a store and a session and make one request; return what that took, imports included, and the memory."""
    # Importing belongs to what is measured.
    from benchmarks.host import Host, Stores, open_session  # noqa: PLC0415
    from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415

    question = Host().question()
    imported = time.perf_counter(), time.process_time()
    resident_kib = peak_kib()
    if traced:
        tracemalloc.start()
    with SqliteStore(path) as store:
        made = open_session(Stores(store, store), window_tokens, session_id).assemble([question])
        sent_bytes = sum(map(len, made.payloads))
        ended = time.perf_counter(), time.process_time()
    return {
        "import_ms": (imported[0] - BEGAN[0]) * 1e3,
        "open_ms": (ended[0] - imported[0]) * 1e3,
        "open_cpu_ms": (ended[1] - imported[1]) * 1e3,
        "growth_mb": (peak_kib() - resident_kib) / 1024,
        "traced_mb": tracemalloc.get_traced_memory()[1] / 2**20 if traced else float("nan"),
        "sent_mb": sent_bytes / 2**20,
        "event": made.event is not None,
    }


def record(path: str, exchanges: int) -> dict[str, float]:
    """Have so many exchanges through the engine, in a window so large that no event comes in between."""
    from benchmarks.host import Host, Stores, open_session  # noqa: PLC0415
    from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415

    host, calls = Host(), 0
    with SqliteStore(path) as store:
        session = open_session(Stores(store, store), 1_000_000)
        for _ in range(exchanges):
            for call in host.turn():
                made = session.assemble(call.incoming, host.inputs)
                session.record(*made.incoming, call.reply, now=call.time)
                calls += 1
    return {"records": calls}


def search_memories(path: str, queries: Sequence[str]) -> dict[str, float]:
    """Open durable facts, search them, list a page, and return what the process grew by, imports aside."""
    from benchmarks.memories import ANN  # noqa: PLC0415  # as above
    from squidbot.adapters.sqlite3.memory import SqliteMemoryStore  # noqa: PLC0415
    from squidbot.core.memories import View  # noqa: PLC0415

    resident_kib, view = peak_kib(), View(ANN)
    with SqliteMemoryStore(path) as store:
        found = sum(len(store.search(query, view, now=0.0)) for query in queries)
        found += len(store.listed(view))
    return {"growth_mb": (peak_kib() - resident_kib) / 1024, "found": found}


def peak_kib() -> float:
    """Return the largest resident memory of this process so far, in KiB, without what stood there before `exec`."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / 1024 if sys.platform == "darwin" else float(largest)


def main(command: str, path: str, *rest: str) -> None:
    """Run one command and print what it found."""
    if command == "open":
        session_id, window, *more = rest
        print(json.dumps(open_and_assemble(path, session_id, int(window), traced=bool(more))))
    elif command == "memories":
        print(json.dumps(search_memories(path, rest)))
    else:
        print(json.dumps(record(path, int(rest[0]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
