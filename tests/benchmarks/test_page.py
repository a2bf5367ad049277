"""The page of figures is what the recorded figures make it."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.page import FIGURES, PAGE, PARTS, Runs, loses, merged, pictures, with_figures


@pytest.fixture(scope="module")
def runs() -> Runs:
    """Return the recorded figures."""
    found: Runs = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def test_the_page_has_the_recorded_figures(runs: Runs) -> None:
    """`python -m benchmarks.page` made it."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_figures(page, runs) == page


def test_the_pictures_are_of_the_recorded_figures(runs: Runs) -> None:
    """Each is an SVG with a title, light and dark, and stands on the page."""
    page, drawn = PAGE.read_text(encoding="utf-8"), dict(pictures(runs))
    assert len(drawn) >= 6
    for name, text in drawn.items():
        assert (PAGE.with_name("pictures") / name).read_text(encoding="utf-8") == text
        assert ET.fromstring(text).get("aria-label")  # noqa: S314  # our own
        assert f"pictures/{name}" in page


def test_each_part_says_when_and_on_what_it_was_measured(runs: Runs) -> None:
    """Date, commit, machine and versions."""
    assert set(runs) == set(PARTS)
    for run in runs.values():
        assert run["date"]
        assert run["commit"]
        assert run["machine"]["python"]
        assert run["versions"]


def row(cost: float, kept: float, over: int = 0) -> dict[str, float]:
    """Return figures of a policy."""
    return {"cost": cost, "> 8K": kept, "> 2K": kept, "> 8K tenth": kept / 2, "over": over, "parted": 0, "refused": 0}


def measured(window: int, rows: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return a run of the corpus."""
    rows = {"send everything": row(1_000, 1.0, over=100), **rows}
    table = {"title": "", "about": {"window": window, "group": "", "sessions": 1}, "rows": rows}
    head = {"date": "2026-01-01", "commit": "0" * 40, "machine": {}, "versions": {}}
    return {**head, "bars": [], "parts": [{"part": "corpus", "tables": [table], "remarks": []}]}


def test_a_run_replaces_the_windows_that_it_measured() -> None:
    """Others stay; parts that no page shows are left out."""
    ours = {name: row(100, 0.9) for name in ("coherence", "balanced", "speed")}
    runs = merged(merged({}, measured(8_000, ours)), measured(16_000, ours))
    runs = merged(runs, measured(8_000, {**ours, "new": row(1, 0.1)}))
    assert [(one["about"]["window"], len(one["rows"])) for one in runs["corpus"]["tables"]] == [(16_000, 4), (8_000, 5)]


def test_a_manager_that_is_cheaper_is_named() -> None:
    """Those that exceed the window, or that ours outdo in both, are not."""
    rows = {name: row(100, 0.9) for name in ("coherence", "balanced", "speed")}
    rows |= {"cheap": row(50, 0.1, over=1), "worse": row(200, 0.5), "over": row(10, 1.0, over=3)}
    text = "\n".join(loses(merged({}, measured(8_000, rows))))
    assert "| 8,000 | cheap | all | 50 | 0.10 | 100 | 0.90 |" in text
    assert "worse" not in text
    assert "| over |" not in text
    assert "Worst tenth" not in text


def test_a_manager_whose_worst_tenth_is_better_is_named() -> None:
    """Beside the best of ours."""
    rows = {name: row(100, 0.9) for name in ("coherence", "balanced", "speed")}
    rows["even"] = {**row(200, 0.5), "> 8K tenth": 0.48}
    text = "\n".join(loses(merged({}, measured(16_000, rows))))
    assert text == "- **Worst tenth, all, 16,000 tokens.** squidbot: 0.45; even: 0.48."
