"""Oversized text is cut to head, tail and handle."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.view.renderer import slim, slim_arguments

from ..promises.driver import CLASSES
from ..promises.histories import texts

LINES = "".join(f"line {number} of the log\n" for number in range(2000))


def test_text_within_its_limit_comes_back_unchanged() -> None:
    """Exactly at the limit, and empty."""
    text = "some words of a text"
    assert slim(text, CLASSES.text(text).bound, CLASSES, "m1") == text
    assert slim("", 0, CLASSES, "m1") == ""


def test_cut_text_has_head_tail_size_hash_and_handle() -> None:
    """Cut at line ends, the marker on a line of its own."""
    made = slim(LINES, 300, CLASSES, "m7")
    head, rest = made.split("\n[... ")
    marker, tail = rest.split(" ...]\n")
    assert LINES.startswith(head + "\n")
    assert LINES.endswith("\n" + tail)
    left_out = len(LINES) - len(head) - len(tail)
    digest = hashlib.sha256(LINES.encode()).hexdigest()[:8]
    assert marker == f"{left_out:,} of {len(LINES):,} characters left out, sha256 {digest}; recall m7"
    assert len(head) > len(tail) > 0


def test_single_line_is_cut_inside_it() -> None:
    """No line end is near."""
    made = slim("x" * 100_000, 100, CLASSES, "m1")
    assert made.startswith("xxx")
    assert made.endswith("xxx")
    assert CLASSES.text(made).bound <= 100


def test_marker_alone_is_left_when_the_limit_is_below_it() -> None:
    """The least a cut can be."""
    made = slim(LINES, 1, CLASSES, "m1")
    assert made.startswith("\n[... ")
    assert made.endswith(" ...]\n")


@given(text=texts(6000), limit=st.integers(0, 400))
def test_cut_text_is_within_its_limit_or_nothing_but_its_marker(text: str, limit: int) -> None:
    """Odd texts, too; cutting ends, and the same text is cut alike."""
    made = slim(text, limit, CLASSES, "m1")
    assert made == slim(text, limit, CLASSES, "m1")
    assert made == text or CLASSES.text(made).bound <= limit or made.startswith("\n[... ")


def test_arguments_keep_keys_and_short_values() -> None:
    """A file that was written: its path stays, its content is cut, and it is still JSON."""
    given_ = json.dumps({"path": "src/a.py", "content": LINES, "mode": 420, "sure": True, "not": None})
    cut = json.loads(slim_arguments(given_, 200, CLASSES, "m3"))
    assert (cut["path"], cut["mode"], cut["sure"], cut["not"]) == ("src/a.py", 420, True, None)
    assert "recall m3" in cut["content"]


def test_arguments_with_a_list_are_cut_as_text() -> None:
    """A long list becomes a string; a short one stays a list."""
    given_ = json.dumps({"edits": [{"old": "x" * 50, "new": "y" * 50}] * 100, "few": [1, 2]})
    cut = json.loads(slim_arguments(given_, 150, CLASSES, "m3"))
    assert isinstance(cut["edits"], str)
    assert cut["few"] == [1, 2]


@pytest.mark.parametrize("given_", ["no JSON " * 500, "[1, 2, " * 500, json.dumps([1] * 3000), "[" * 100_000])
def test_arguments_that_are_no_object_become_one(given_: str) -> None:
    """The cut text is under "cut": providers ask for an object."""
    cut = json.loads(slim_arguments(given_, 100, CLASSES, "m3"))
    assert list(cut) == ["cut"]
    assert "recall m3" in cut["cut"]


def test_arguments_within_their_limit_come_back_as_they_came() -> None:
    """Byte for byte, also where they are no JSON."""
    for given_ in ('{"a":  1}', "", "no JSON"):
        assert slim_arguments(given_, 50, CLASSES, "m3") == given_


@given(given_=st.dictionaries(st.text(max_size=8), texts(3000) | st.integers(), max_size=5), limit=st.integers(60, 400))
def test_cut_arguments_are_json_with_the_same_keys(given_: dict[str, object], limit: int) -> None:
    """Whatever strings they hold."""
    made = slim_arguments(json.dumps(given_, ensure_ascii=False), limit, CLASSES, "m3")
    assert json.loads(made).keys() == given_.keys()
