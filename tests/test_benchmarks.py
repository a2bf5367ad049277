"""The benchmarks run: one command, tables and JSON; what they find is for a quiet machine to say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = {
    "turn",
    "opening",
    "memory",
    "import",
    "probes",
    "sizing",
    "disk",
    "latency",
    "faults",
    "search",
    "policy",
    "schedule",
    "calibration",
    "memories",
    "vectors",
    "whole",
    "hosts",
    "rivals",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Run every part once at the smallest sizes; gives what was printed, and the JSON."""
    path = tmp_path_factory.mktemp("benchmarks") / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--tiny", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))


def test_benchmarks_measure_every_part_when_none_is_named(run: tuple[str, dict[str, Any]]) -> None:
    """Each part has a table with at least one figure that was really measured."""
    _, figures = run
    parts = figures["parts"]
    assert {part["part"] for part in parts} == PARTS
    for part in parts:
        values = [value for table in part["tables"] for row in table["rows"].values() for value in row.values()]
        assert any(value for value in values)


def test_benchmarks_measure_the_floor_in_the_same_run(run: tuple[str, dict[str, Any]]) -> None:
    """Ours and the floor are both above zero for each size, so that their ratio says something."""
    _, figures = run
    (turn,) = [part for part in figures["parts"] if part["part"] == "turn"]
    rows = turn["tables"][0]["rows"]
    for name in ("fresh: open, assemble, encode", "floor, new connection", "record an exchange", "bare insert"):
        (row,) = [row for key, row in rows.items() if key.strip().startswith(name + ",")]
        assert all(value > 0 for value in row.values())


def test_benchmarks_say_of_each_bar_whether_it_is_met(run: tuple[str, dict[str, Any]]) -> None:
    """A bar is in the JSON with its figure and verdict, and in the printed list under the same name."""
    printed, figures = run
    bars = figures["bars"]
    assert bars
    for bar in bars:
        assert bar["name"] in printed
        within = bar["value"] is not None and (bar["at_most"] is None or bar["value"] <= bar["at_most"])
        assert bar["met"] == (within and (bar["at_least"] is None or bar["value"] >= bar["at_least"]))


def test_benchmarks_count_one_sync_for_each_record(run: tuple[str, dict[str, Any]]) -> None:
    """P3, where strace is installed: exactly one; else the part says why there is no figure."""
    _, figures = run
    (disk,) = [part for part in figures["parts"] if part["part"] == "disk"]
    syncs = disk["tables"][0]["rows"]["syncs per record"][""]
    assert syncs == 1.0 or (syncs is None and "strace" in disk["remarks"][0])


def test_benchmarks_time_what_a_person_waits_for(run: tuple[str, dict[str, Any]]) -> None:
    """The six times of the document, each measured, its bar a tenth of what the document allows (W-18, V25)."""
    _, figures = run
    bars = {bar["name"].split(" at ")[0]: bar for bar in figures["bars"] if bar["part"] == "latency"}
    allowed_ms = {"load": 10, "count": 1, "assembly": 5, "complexity": 0.5, "model switch": 1, "durable save": 5}
    assert {name: bar["at_most"] for name, bar in bars.items()} == allowed_ms
    assert all(bar["value"] > 0 for bar in bars.values())
