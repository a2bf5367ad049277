"""What is checked for spelling: all that users read, but no code. The dictionary comes with the group `docs`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGE = """\
# A headign

Text of `coed` in *two*
lines with a [lnik](pages/adress.md).

```text
blcok
```

| a cell | wrod |
|---|---|
<img alt="pictrue">
"""


@pytest.fixture(scope="module")
def spelling() -> dict[str, Any]:
    """Return the names of docs/spelling.py."""
    return runpy.run_path(str(ROOT / "docs" / "spelling.py"))


def test_words_of_a_page_are_its_prose_with_their_lines(spelling: dict[str, Any]) -> None:
    """Code, addresses and HTML are none of it."""
    words = [(line, word) for line, text in spelling["prose"](PAGE) for word in spelling["words_in"](text)]
    assert [found for found in words if found[1] in {"headign", "lnik"}] == [(1, "headign"), (3, "lnik")]
    assert (10, "wrod") in words
    assert {"coed", "blcok", "adress", "pictrue"}.isdisjoint(word for _, word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the user's own, well-known words", ["the", "user's", "own", "well", "known", "words"]),
        ("squidbot.toml or a_name, --flag, m12-m40, docs/x and 8k", ["or", "and"]),
        ("don\u2019t stop.", ["don't", "stop"]),
    ],
)
def test_what_looks_like_code_has_no_words(spelling: dict[str, Any], text: str, words: list[str]) -> None:
    """Names of files and options, numbers and ids."""
    assert list(spelling["words_in"](text)) == words


def test_docstrings_of_public_names_and_help_are_read_too(spelling: dict[str, Any]) -> None:
    """Each by its name, beside the pages of the root and of docs."""
    places = {place for place, _, _ in spelling["texts"]()}
    assert {"README.md", "docs/memory.md", "squidbot.Session.assemble", "squidbot replay --help"} <= places
    assert not {place for place in places if place.startswith(("tests", "build"))}


def test_words_of_the_project_are_sorted(spelling: dict[str, Any]) -> None:
    """One word a line, each once, so that two changes meet rarely."""
    lines = (ROOT / "docs" / "words.txt").read_text("utf-8").splitlines()
    assert lines == sorted(set(lines), key=spelling["by_letters"])
    assert all(len(line.split()) == 1 for line in lines)
