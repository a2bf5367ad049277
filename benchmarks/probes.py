"""Looking for GPUs: what it costs where there is none, in a fresh process and again, and on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.clocks import median
from benchmarks.process import run_python
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure"]

# A machine without anything: no program on the PATH, no /sys, no library. {machine} is that one, or this one.
CHILD = """
import json, subprocess, time
began = time.perf_counter()
from squidbot.adapters import gpus as nvml
from squidbot.wiring import gpus as probes
imported = time.perf_counter()
started = []
popen = subprocess.Popen
subprocess.Popen = lambda *arguments, **options: started.append(arguments) or popen(*arguments, **options)
{prepare}
first = time.perf_counter()
probed = probes.probe_all({machine})
again = time.perf_counter()
probes.probe_all({machine})
ended = time.perf_counter()
ms = [1e3 * span for span in (imported - began, again - first, ended - again)]
print(json.dumps([*ms, len(started), len(probed.devices)]))
"""
BARE = {
    "prepare": "from pathlib import Path\nnvml.library = lambda: None",
    "machine": "probes.Machine({'PATH': ''}, Path('/nowhere'), 'linux', {})",
}
HERE = {"prepare": "", "machine": ""}
COLUMNS = ("import ms", "first look ms", "next look ms", "programs started", "devices")


def measure(rounds: int, progress: Callable[[str], None]) -> Result:
    """Measure looks of fresh processes, at a machine without any GPU and at this one, in turns; wall times, p50."""
    found: dict[str, list[list[float]]] = {"no GPU": [], "this machine": []}
    for number in range(rounds + 1):
        progress(f"probes: round {number} of {rounds}")
        for name, filled in (("no GPU", BARE), ("this machine", HERE)):
            measured = json.loads(run_python(["-c", CHILD.format(**filled)]).stdout)
            if number:  # the first round compiles
                found[name].append(measured)
    rows = tuple(
        (name, tuple(median(list(column)) for column in zip(*runs, strict=True))) for name, runs in found.items()
    )
    bare = dict(rows)["no GPU"]
    bars = [
        Bar("looking for a GPU where there is none, first look, ms", bare[1], at_most=50.0),
        Bar("looking for a GPU where there is none, programs started", bare[3], at_most=0.0),
    ]
    return Result("probes", [Table("Looking for GPUs in a fresh process", COLUMNS, rows)], bars)
