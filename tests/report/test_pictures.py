"""The pictures of README and docs: whole, for both colour schemes, and made by one script."""

from __future__ import annotations

import json
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks import page as figures

ROOT = Path(__file__).parents[2]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_each_picture_is_shown_for_both_schemes() -> None:
    """Every file stands in a page, and pages name no other."""
    named = {
        (page.parent / found).resolve()
        for page in PAGES
        for found in re.findall(r'(?:src|srcset)="([^"]+\.svg)"', page.read_text(encoding="utf-8"))
    }
    assert named == {path.resolve() for path in PICTURES}
    names = {path.stem.rpartition("-")[0] for path in PICTURES}
    assert {path.stem for path in PICTURES} == {f"{name}-{scheme}" for name in names for scheme in ("light", "dark")}


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_picture_loads_and_runs_nothing(path: Path) -> None:
    """It is small, has words for those who do not see it, and an address of nothing but itself."""
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314  # ours
    assert root.get("aria-label")
    assert len(text) < 60_000
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "foreignObject", "a", "style"}
    assert not re.search(r"https?://(?!www\.w3\.org/)", text)


@pytest.mark.browser
def test_script_makes_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but those of measured figures, as they are here but for the fonts of the machine."""
    if not shutil.which("chromium"):
        pytest.skip("no Chromium is found")
    pytest.importorskip("playwright", reason="Playwright's package is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pictures: Any = import_module("pictures")
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.draw_all()
    # Of the benchmarks: tests/benchmarks/test_page.py.
    measured = {name for name, _ in figures.pictures(json.loads(figures.FIGURES.read_text(encoding="utf-8")))}
    others = [path for path in PICTURES if path.name not in measured]
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in others]
    for path in others:
        made, kept = ((tmp_path / path.name).read_text("utf-8"), path.read_text("utf-8"))
        assert made.count("<rect") == kept.count("<rect")
        assert made.count("<path") == kept.count("<path")
