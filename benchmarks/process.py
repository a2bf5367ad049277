"""Fresh processes: opening a session, the memory of a turn, what imports cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.clocks import median
from benchmarks.host import SESSION
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["imports", "memory", "opening", "run_python"]

ROOT = Path(__file__).resolve().parents[1]
EMPTY = "empty"
# Run behind what is imported: CPU and memory of the whole process, and what it has loaded from outside.
AFTERWARDS = """
import sys, time
cpu = time.process_time() * 1e3
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
foreign = sorted(loaded - set(sys.stdlib_module_names) - {"squidbot"})
from pathlib import Path
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
peak = next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), float("nan"))
import json
print(json.dumps({"cpu_ms": cpu, "peak_mb": peak, "foreign": len(foreign)}), file=sys.stderr)
"""
HELP = """
from squidbot.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
IMPORTS = {
    "bare: sqlite3, json": "import sqlite3, json",
    "squidbot": "import squidbot",
    "squidbot.core.engine": "import squidbot.core.engine",
    "core and the SQLite store": "import squidbot.core.engine, squidbot.adapters.sqlite3",
    "squidbot.load": "from squidbot import load",
    "squidbot --help": HELP,
}


def opening(path: Path, messages: int, window: int, rounds: int, progress: Callable[[str], None]) -> Result:
    """Measure a process that opens a session of the file and assembles, beside one that opens an empty session."""
    _open(path, SESSION, window)  # its first plan is made here, once
    walls: dict[str, list[float]] = {EMPTY: [], SESSION: []}
    inner: dict[str, list[float]] = {EMPTY: [], SESSION: []}
    for number in range(rounds):
        progress(f"opening: process {number + 1} of {rounds}")
        for session_id in (EMPTY, SESSION):
            began = time.perf_counter()
            inner[session_id].append(_open(path, session_id, window)["open_ms"])
            walls[session_id].append((time.perf_counter() - began) * 1e3)
    rows = (
        ("whole process, wall ms p50", (median(walls[EMPTY]), median(walls[SESSION]))),
        ("open and assemble, wall ms p50", (median(inner[EMPTY]), median(inner[SESSION]))),
    )
    more = median(inner[SESSION]) - median(inner[EMPTY])
    table = Table(f"Opening a session in a fresh process, {window:,} tokens", ("empty", f"{messages:,}"), rows)
    name = f"opening a session of {messages:,} messages, ms more than an empty one"
    return Result("opening", [table], [Bar(name, more, at_most=20.0)])


def memory(files: Mapping[int, Path], windows: tuple[int, ...], progress: Callable[[str], None]) -> Result:
    """Measure the memory of opening a session and assembling once, in a process for each file and window."""
    result = Result("memory")
    for window in windows:
        rows: dict[str, list[float]] = {"peak resident growth, MB": [], "peak traced, MB": [], "sent, MB": []}
        for messages, path in files.items():
            progress(f"memory: {messages:,} messages, window {window:,}")
            _open(path, SESSION, window)
            plain, traced = _open(path, SESSION, window), _open(path, SESSION, window, "traced")
            figures = plain["growth_mb"], traced["traced_mb"], plain["sent_mb"]
            for values, figure in zip(rows.values(), figures, strict=True):
                values.append(figure)
        columns = tuple(f"{messages:,}" for messages in files)
        named = tuple((name, tuple(values)) for name, values in rows.items())
        result.tables.append(Table(f"Memory of a turn in a window of {window:,} tokens", columns, named))
        size = f"at {window:,} tokens, {max(files):,} messages, MB"
        grown, traced_mb, _ = rows.values()
        result.bars.append(Bar(f"resident growth {size} (P5)", grown[-1], at_most=10.0))
        result.bars.append(Bar(f"traced peak {size} (P5)", traced_mb[-1], at_most=10.0))
    return result


def imports(rounds: int, progress: Callable[[str], None]) -> Result:
    """Measure what imports cost, by processes that take turns."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in IMPORTS}
    for number in range(rounds + 1):
        progress(f"import: round {number} of {rounds}")
        for name, code in IMPORTS.items():
            script = f"import sys\nbefore = set(sys.modules)\n{code}\n{AFTERWARDS}"
            measured = json.loads(run_python(["-c", script]).stderr.splitlines()[-1])
            if number:  # the first round compiles
                found[name].append(measured)
    columns = ("CPU ms", "peak MB", "foreign")
    rows = tuple(
        (name, tuple(median([run[key] for run in runs]) for key in ("cpu_ms", "peak_mb", "foreign")))
        for name, runs in found.items()
    )
    figures = dict(rows)
    bars = [
        bar
        for name in ("squidbot", "squidbot.core.engine")
        for bar in (
            Bar(f"import {name}, CPU ms (P5)", figures[name][0], at_most=60.0),
            Bar(f"import {name}, MB (P5)", figures[name][1], at_most=30.0),
            Bar(f"import {name}, packages beyond the standard library (P5)", figures[name][2], at_most=0.0),
        )
    ]
    remark = "foreign: packages beside squidbot and the standard library that were loaded."
    return Result("import", [Table("Imports, whole process", columns, rows)], bars, [remark])


def _open(path: Path, session_id: str, window: int, *more: str) -> dict[str, float]:
    arguments = ["-m", "benchmarks.child", "open", str(path), session_id, str(window), *more]
    found: dict[str, float] = json.loads(run_python(arguments).stdout)
    return found


def run_python(arguments: list[str], before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run this Python in the repository's root, behind the command `before`, and return what it said.

    Raises:
        RuntimeError: it failed; the text is what it said.
    """
    command = [*before, sys.executable, *arguments]
    # Compiled once and kept, as where squidbot is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # this Python
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]}: {done.stderr}")
    return done
