"""docs/troubleshooting.md and docs/messages.md tell of the messages that the code has, and of no others."""

from __future__ import annotations

import ast
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from squidbot.core import errors

# To read all of the code takes seconds.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
CURES = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
LISTS = (ROOT / "docs" / "messages.md").read_text("utf-8")
QUOTED = re.compile(r"^> (`+) ?(.*?) ?\1$", re.MULTILINE)
GAP = "…"
FIELD = re.compile(r"\{[^{}]*\}|%[a-z]")


@cache
def made() -> dict[str, Any]:
    """Return the names of docs/messages.py, which collects the messages of the code."""
    return runpy.run_path(str(ROOT / "docs" / "messages.py"))


@cache
def sections() -> dict[str, dict[str, set[str]]]:
    """Return the messages of each section of the page, as the code has them."""
    found: dict[str, dict[str, set[str]]] = made()["sections"]()
    return found


@cache
def written() -> tuple[str, ...]:
    """Return every text of the code, with … for values: messages may be put together from them."""
    texts = {text for found in sections().values() for text in found}
    for path in (ROOT / "squidbot").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                texts.update(made()["_texts"](node, {}))
    return tuple(words(" ".join(text.split())) for text in texts if " " in text)


def words(text: str) -> str:
    """Return a text without what differs between a message and a page: backticks, gaps, fields of formats."""
    return FIELD.sub(GAP, text).replace("`", "")


def parts_of(text: str) -> list[str]:
    """Return what a text has between its gaps."""
    return [part.strip() for part in words(text).split(GAP) if re.search(r"\w\w", part)]


def is_of_the_code(quoted: str) -> bool:
    """Return whether a text of the code has the words of a quoted message, or one has each of its clauses."""
    clauses = quoted.split("; ")
    return stands_in_the_code(quoted) or (len(clauses) > 1 and all(map(stands_in_the_code, clauses)))


def stands_in_the_code(quoted: str) -> bool:
    """Return whether a single text of the code has all words of this, in their order."""
    parts = parts_of(quoted)
    longest = max(parts, key=len, default="")
    return bool(parts) and any(longest in text and in_order(parts, text) for text in written())


def in_order(parts: list[str], text: str) -> bool:
    """Return whether a text has all of these, one behind the other."""
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def test_lists_of_messages_are_those_of_the_code() -> None:
    """`python docs/messages.py` writes them; each class of errors has its section, with what it means."""
    assert made()["with_messages"](LISTS) == LISTS, "run: python docs/messages.py"
    marked = {found[1] for found in made()["MARK"].findall(LISTS)}
    assert marked == set(sections())
    for name in marked & {*errors.__all__}:
        said = LISTS.partition(f"## `{name}`\n")[2].partition("<!-- messages")[0]
        assert len(said.split()) > 15, name


def test_errors_that_carry_no_message_of_their_own_are_few() -> None:
    """A class without a list would be one that nobody finds here."""
    assert {*errors.__all__} - set(sections()) == set()


def test_every_message_that_has_a_cure_is_one_of_the_code() -> None:
    """Its words, in their order: a message that changes takes its entry with it."""
    quoted = [text for _, text in QUOTED.findall(CURES)]
    assert len(quoted) > 80
    assert len(quoted) == len(set(quoted))
    assert [text for text in quoted if not is_of_the_code(text)] == []


def test_every_line_of_a_quote_is_a_message() -> None:
    """What the test above does not read would be unchecked."""
    lines = [line for line in CURES.splitlines() if line.startswith(">")]
    assert [line for line in lines if not QUOTED.fullmatch(line)] == []


def test_every_warning_of_the_log_has_a_cure() -> None:
    """Nobody asked for it, so the page explains it: a warning alone says too little to somebody who never met it."""
    quoted = " ".join(words(text) for _, text in QUOTED.findall(CURES))
    assert [text for text in sections()["log"] if max(parts_of(text), key=len) not in quoted] == []


def test_a_message_of_nobody_is_found_out() -> None:
    """The check of the page tells words of the code from others."""
    assert is_of_the_code("no store: pass --store FILE.db, or set …")
    assert not is_of_the_code("no store: pass --file FILE.db, or set …")
    assert not is_of_the_code("…: …")
