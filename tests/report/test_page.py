"""The page of a report as text: what it allows, what it holds, and how large it is."""

from __future__ import annotations

import base64
import gzip
import json
import re
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from squidbot.core.errors import SquidbotError
from squidbot.report import page
from squidbot.report.data import ReportData, without_text
from squidbot.report.page import CHUNK_BYTES, SCRIPTS, page_around, page_of, write_page
from tests.report.made import Made

FOLDER = Path(page.__file__).parent / "page"
BLOCK = re.compile(r'<script type="application/gzip" id="([\w-]+)"(?: data-first="(\d+)")?>([\w+/=]*)</script>')


def hashed(text: str) -> str:
    """Return a text as the policy names it."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def blocks(html: str) -> dict[str, object]:
    """Return what the page holds, by the name of its element."""
    return {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, _, text in BLOCK.findall(html)}


def test_policy_allows_the_page_its_own_script_and_style_and_nothing_else() -> None:
    """Each hash is that of the text between its tags."""
    html = page_of(Made().data())
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert found
    script = html[html.rindex("<script>") + len("<script>") : html.rindex("</script>")]
    style = html[html.index("<style>") + len("<style>") : html.index("</style>")]
    assert found[1].split("; ") == [
        "default-src 'none'",
        f"script-src {hashed(script)}",
        f"style-src {hashed(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert html.index("Content-Security-Policy") < html.index("<style>"), "a policy holds for what stands behind it"


def test_page_holds_all_values_and_texts() -> None:
    """Texts lie in chunks, each of which says which text is its first."""
    long = ["a" * 300_000, "b" * 300_000, "\ud800 half of a pair", "c" * (2 * CHUNK_BYTES), "</script><script>alert(1)"]
    data = ReportData(Made().data().values, long)
    html = page_of(data)
    found = blocks(html)
    assert found.pop("figures") == json.loads(json.dumps(data.values))
    assert list(found) == ["texts-0", "texts-1", "texts-2", "texts-3"]
    assert [text for chunk in found.values() if isinstance(chunk, list) for text in chunk] == long
    assert [first for _, first, _ in BLOCK.findall(html)] == ["", "0", "1", "3", "4"]
    assert html.count("<script") == 1 + len(found) + 1
    assert html.isascii()


def test_same_data_makes_the_same_page() -> None:
    """Byte for byte: the packing holds no time."""
    assert page_of(Made().data()) == page_of(Made().data())


def test_nothing_of_a_session_stands_in_the_page_as_it_is() -> None:
    """Neither a name nor a text: both are packed."""
    html = page_of(Made(name="zanzibar", words="quagga {}").data())
    assert "zanzibar" not in html
    assert "quagga" not in html


def test_page_names_no_other_place() -> None:
    """No address, so that no browser asks anybody for anything."""
    html = BLOCK.sub("", page_of(Made().data()))
    assert not re.search(
        r"https?:|//[a-z]|@import|url\((?!\"?#|\\?\"#)", re.sub(r"(?m)^\s*//.*|/\*.*?\*/| // .*", "", html)
    )
    assert re.findall(r'(?:src|href)="([^"]*)"', html) == ["data:,", "#main"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_shows_what_it_is_given_only_as_text(name: str) -> None:
    """No way to make elements or code of a text stands in it."""
    script = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    assert script.isascii()
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "createContextualFragment",
    ):
        assert way not in script
    for way in (
        r"\beval\b",
        r"\bFunction\(",
        r"setAttribute\(\"style\"",
        r"\bfetch\(",
        "XMLHttpRequest",
        r"\bimport\(",
    ):
        assert not re.search(way, script)
    assert "</script" not in script


def test_every_file_of_the_page_is_in_it() -> None:
    """A script that nobody reads would be left over; two are of the server's pages alone (test_server)."""
    assert {path.stem for path in FOLDER.glob("*.js")} == {*SCRIPTS, "view", "follow"}
    assert not re.search(r'style="', (FOLDER / "report.html").read_text(encoding="utf-8"))


def test_page_of_a_thousand_messages_is_small() -> None:
    """At most 1.5 MB beside the texts."""
    html = page_of(without_text(Made(calls=500).data()))
    assert len(html) <= 1_500_000


def test_live_page_has_another_script_and_may_reach_its_server() -> None:
    """Who serves the page gives it a script of its own, and says what it may reach."""
    html = page_around(script="window.squidbotReport.open({}, null);", sources="connect-src 'self'")
    script = html[html.rindex("<script>") + len("<script>") : html.rindex("</script>")]
    assert script.endswith("window.squidbotReport.open({}, null);")
    assert f"script-src {hashed(script)}" in html
    assert "form-action 'none'; connect-src 'self'\"" in html
    assert 'id="figures"' not in html


def test_written_page_is_complete_and_its_owners_alone(tmp_path: Path) -> None:
    """It replaces a report that is there."""
    path = tmp_path / "report.html"
    data = Made().data()
    write_page(without_text(data), path)
    write_page(data, path)
    assert path.read_text(encoding="ascii") == page_of(data)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_page_that_can_not_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither half a page nor an unfinished file, whether its folder is missing or its disk is full."""
    with pytest.raises(SquidbotError, match="make it first"):
        write_page(Made().data(), tmp_path / "folder" / "report.html")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_page(Made().data(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
