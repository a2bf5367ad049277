"""Bounds beside bills, on a conversation that bills as it likes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.calibration import measure, recorded_calls
from benchmarks.schedule import Amount
from squidbot.codecs.transcripts import read_transcripts

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, calls: int, begins_anew: int) -> Path:
    """Write a conversation whose requests grow by 70 tokens each, and begin anew at one call."""
    path = folder / "talk.jsonl"
    lines: list[dict[str, object]] = []
    for number in range(calls):
        total = 400 + 70 * (number if number < begins_anew else number - begins_anew)
        lines.append({"role": "user", "content": f"What is in the file number {number}, and why is it there? " * 4})
        billed = {"usage": {"input": 10, "cache_read": total - 10, "output": 20}}
        lines.append({"role": "assistant", "content": "It holds the second part of the first. " * 3, **billed})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_bills_are_foretold_within_the_bar(tmp_path: Path) -> None:
    """Every call but those that are learned from is scored, that one too at which the recorded host began anew."""
    path = written(tmp_path, 40, begins_anew=30)
    assert len(recorded_calls(read_transcripts(str(path))[0])) == 40
    result = measure(Amount((8192,), 10, path), None, lambda _doing: None)
    recorded, replayed = result.tables
    rows = dict(recorded.rows)
    assert rows["what was billed"][0] == 29.0
    assert rows["what was billed"][3] == 0.0
    assert (rows["what was billed"][1] or 0.0) < (rows["the counter's bound"][1] or 0.0)
    assert [name for name, _ in replayed.rows] == ["without reports", "with reports"]
    under = ["calls under their bill, talk", "calls under their bill, talk at 8,192"]
    assert [bar.name for bar in result.bars] == ["mean of bound by bill, talk", *under]
    assert result.remarks


def test_conversation_without_bills_or_ranks_has_no_figures(tmp_path: Path) -> None:
    """There is nothing to set beside the bounds."""
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n', encoding="utf-8")
    assert measure(Amount((8192,), 10, path), None, lambda _doing: None).tables == []
