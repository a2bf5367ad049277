"""What real exchanges leave on the disk, and how often they wait for it."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

from benchmarks.host import Host, Stores, open_session
from benchmarks.process import run_python
from benchmarks.report import Bar, Result, Table
from squidbot.adapters.sqlite3 import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["measure"]

WINDOW = 32_000
# Exchanges with and without which the syncs of one are counted: few enough that the log is never emptied in between.
LEAST_EXCHANGES, MORE_EXCHANGES = 8, 48


def measure(folder: Path, exchanges: int, progress: Callable[[str], None]) -> Result:
    """Have real exchanges through the engine into a new file, and look at its size."""
    progress(f"disk: {exchanges:,} exchanges")
    path = folder / "exchanges.db"
    host, payload_bytes = Host(), 0
    with closing(SqliteStore(path)) as store:
        session = open_session(Stores(store, store), WINDOW)
        for _ in range(exchanges):
            for call in host.turn():
                made = session.assemble(call.incoming, host.inputs)
                rows = session.record(*made.incoming, call.reply, now=call.time)
                payload_bytes += sum(len(row.payload.encode()) for row in rows)
        log = path.with_name(f"{path.name}-wal")
        log_bytes = log.stat().st_size
    file_bytes = path.stat().st_size
    syncs = _syncs_per_record(folder, progress)
    rows_ = (
        ("payloads, MB", (payload_bytes / 2**20,)),
        ("file, MB", (file_bytes / 2**20,)),
        ("write-ahead log in use, MB", (log_bytes / 2**20,)),
        ("file / payloads", (file_bytes / payload_bytes,)),
        ("syncs per record", (syncs,)),
    )
    bars = [Bar("file / payloads (P6)", file_bytes / payload_bytes, at_most=1.3)]
    remarks = []
    if syncs is None:
        remarks.append("syncs per record: not available, they are counted by strace, which is not installed")
    else:
        bars.append(Bar("syncs per record (P3)", syncs, at_most=1.0, at_least=1.0))
    title = f"Disk behind {exchanges:,} exchanges in a window of {WINDOW:,} tokens"
    return Result("disk", [Table(title, ("",), rows_)], bars, remarks)


def _syncs_per_record(folder: Path, progress: Callable[[str], None]) -> float | None:
    strace = shutil.which("strace")
    if strace is None:
        return None
    syncs, records = [], []
    for exchanges in (LEAST_EXCHANGES, MORE_EXCHANGES):
        progress(f"disk: counting the syncs of {exchanges} exchanges")
        log = folder / f"strace-{exchanges}"
        before = (strace, "-f", "-e", "trace=fsync,fdatasync", "-o", str(log))
        arguments = ["-m", "benchmarks.child", "record", str(folder / f"syncs-{exchanges}.db"), str(exchanges)]
        found = run_python(arguments, before).stdout
        records.append(int("".join(filter(str.isdigit, found))))
        syncs.append(log.read_text().count("sync("))
    return (syncs[1] - syncs[0]) / (records[1] - records[0])
