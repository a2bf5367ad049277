"""What an agent needs after a compaction, and what of it stands somewhere, on a toy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.carry import Amount, held, measure, needed

if TYPE_CHECKING:
    from pathlib import Path

CASE: dict[str, Any] = {
    "cwd": "/work/app",
    "before": [
        {"role": "user", "content": "the rows of the importer lose the timezone of the date"},
        {"role": "assistant", "content": "the importer of the rows is /work/app/readers/part_one.py"},
    ],
    "carried": ["the rows lose it in readers/part_one.py"],
    "after": [
        {"role": "tool", "content": "see readers/part_two.py", "tool_call_id": "c1"},
        {"role": "assistant", "content": "the timezone is lost in readers/part_one.py, not in readers/part_two.py"},
    ],
    "users": ["the rows of the importer lose the timezone of the date"],
}


def test_only_what_stood_before_is_needed() -> None:
    """What a tool has said since is not; paths count as they are below the agent's folder."""
    literals, words = needed(CASE)
    assert literals == {"readers/part_one.py"}
    assert words == {"timezone"}


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("the timezone of the rows: readers/part_one.py", (1.0, 1.0, 0.0)),
        ("timezone", (0.0, 0.0, 0.0)),
        ("the rows of the  importer lose\nthe timezone of the date", (0.0, 1.0, 1.0)),
    ],
)
def test_shares_of_what_stands_there(text: str, shares: tuple[float, float, float]) -> None:
    """Names count anywhere, words in sentences alone, the user's messages whole, however they are broken."""
    found = held([text], CASE, needed(CASE), len)
    assert (found["literals"], found["words"], found["users"]) == shares


@pytest.mark.slow
def test_views_are_compared_at_the_size_of_the_summary(tmp_path: Path) -> None:
    """A row each, with medians and worst tenths."""
    long = [
        {"role": role, "content": f"the {number} rows of the importer are lost"}
        for number in range(200)
        for role in ("user", "assistant")
    ]
    case = {**CASE, "before": [*CASE["before"], *long], "carried": ["the rows are lost " * 400]}
    (tmp_path / "c.json").write_text(json.dumps(case), encoding="utf-8")
    (table,) = measure(Amount(tmp_path, 1, lambda text: len(text) // 4), lambda _: None).tables
    assert {"V", "N1", "N2", "M1", "V+"} >= {name for name, _ in table.rows} >= {"V", "N1", "N2"}
    rows = {name: dict(zip(table.columns, values, strict=True)) for name, values in table.rows}
    assert rows["V"]["literals"] == 0.0
    assert rows["N2"]["literals"] == 1.0
