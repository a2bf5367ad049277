"""Texts in pieces: nothing is lost, nothing torn, and each piece says under which headings it stands."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.memory.chunks import CHUNK_WORDS, MOST_CODE_WORDS, MOST_WORDS, count_words, prose

NOTES = """---
title: Boats
tags: [harbour]
---
We have two.

# The Teal *boat*

She is old.

- bought in 1998
  from Ben

  with a loan
- repaired twice

```py
# not a heading
def sail():

    return "away"
```

## Engine

| part | state |
|------|-------|
| pump | leaks |

A new pump costs 90 euros.

## Sails
Rope
----
Thin.
"""
LINES = st.sampled_from((
    "# a one", "## b two", "####### no", "word " * 30, "- item three", "  below", "", "", "```", "~~~", "| x | y |",
    "|---|---|", "---", "===", "> quoted", "    code", "1. first", "\tTab", "# #", "***", "缓存价格为十分钟。" * 30,
    "x" * 3000, "+++", "title: t",
))  # fmt: skip
MOST_LETTERS = 100
LETTERS = re.compile(r"[^\W_]+")


def test_markdown_is_cut_at_headings_and_keeps_them() -> None:
    """The title of the front matter above all; code and tables whole; a heading over nothing is what it says."""
    found = [(piece.headings, piece.text) for piece in prose(NOTES, "boats.md")]
    assert found == [
        (("Boats",), "title: Boats\ntags: [harbour]\nWe have two."),
        (
            ("Boats", "The Teal boat"),
            (
                "She is old.\n- bought in 1998\n  from Ben\n\n  with a loan\n- repaired twice\n"
                '```py\n# not a heading\ndef sail():\n\n    return "away"\n```'
            ),
        ),
        (("Boats", "The Teal boat", "Engine"), "| part | state |\n|------|-------|\n| pump | leaks |"),
        (("Boats", "The Teal boat", "Engine"), "A new pump costs 90 euros."),
        (("Boats", "The Teal boat"), "Sails"),
        (("Boats", "The Teal boat", "Rope"), "Thin."),
    ]


def test_what_has_no_heading_stands_under_the_name_of_its_file() -> None:
    """So a file is found by what it is called."""
    assert [piece.headings for piece in prose("Sails thrice a week.", "ben.txt")] == [("ben",)]
    assert [piece.headings for piece in prose("one: 1\ntwo:\n  - 2\n  - 3\n", "declarative_notes.yml")] == [
        ("declarative_notes",)
    ]


def test_short_paragraphs_are_packed_and_long_ones_cut_at_sentences() -> None:
    """A piece is about as long as a search can use; no sentence is torn that is not longer than a piece."""
    short = "\n\n".join(f"Paragraph {number} is short." for number in range(60))
    assert all(count_words(piece.text) <= CHUNK_WORDS for piece in prose(short, "a.md"))
    assert len(prose(short, "a.md")) <= 6
    sentences = [f"Sentence {number} goes on for ten words or a few more." for number in range(60)]
    found = prose(" ".join(sentences), "a.md")
    assert " ".join(piece.text for piece in found) == " ".join(sentences)
    assert all(piece.text.endswith(".") for piece in found)


def test_code_is_not_torn_unless_it_is_a_whole_program() -> None:
    """In one piece up to 400 words; what is longer is cut between lines."""
    code = "```\n" + "\n".join(f"call({number})" for number in range(150)) + "\n```"
    assert [piece.text for piece in prose(f"Text.\n\n{code}", "a.md")] == ["Text.", code]
    longer = "```\n" + "\n".join(f"call_number({number}, {number})" for number in range(900)) + "\n```"
    parts = prose(longer, "a.md")
    assert len(parts) > 1
    assert "\n".join(piece.text for piece in parts) == longer


def test_long_table_is_cut_between_rows_and_keeps_its_head() -> None:
    """Whoever finds a row knows what its columns mean."""
    rows = [f"| key{number} | what it does, in a few words |" for number in range(60)]
    found = prose("\n".join(("| key | what |", "|---|---|", *rows)), "a.md")
    assert len(found) > 2
    assert all(piece.text.startswith("| key | what |\n| key") for piece in found)
    assert [row for piece in found for row in piece.text.split("\n")[1:]] == rows


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("2026-11-20.md", "Rain.", (2026, 11, 20)),
        ("log.md", "# Log\n## 2026-11-21, evening\nRain.", (2026, 11, 21)),
        ("2025-01-01.md", "# 20261122\nRain.", (2026, 11, 22)),
        ("2026-13-01.md", "Rain.", None),
        ("a12026-11-20.md", "Rain.", None),
    ],
)
def test_day_in_a_name_or_heading_is_when_it_was_said(name: str, text: str, day: tuple[int, int, int] | None) -> None:
    """The innermost counts; what is no day is none."""
    due = datetime(*day, 12, tzinfo=UTC).timestamp() if day else None
    assert prose(text, name)[-1].time == due


@given(st.lists(LINES, max_size=40), st.sampled_from(("a.md", "a.yml", "a.txt", "a.log", "Makefile")))
def test_no_word_is_lost_and_no_piece_is_long(lines: list[str], name: str) -> None:
    """Whatever the text looks like: its words stand in the pieces or in the headings above them."""
    text = "\n".join(lines)
    pieces = prose(text, name)
    found = {word for piece in pieces for said in (*piece.headings, piece.text) for word in LETTERS.findall(said)}
    assert {word for word in LETTERS.findall(text) if len(word) < MOST_LETTERS} <= found
    assert all(piece.text.strip() and count_words(piece.text) <= MOST_CODE_WORDS + MOST_WORDS for piece in pieces)


@pytest.mark.parametrize(
    "text",
    ["- " * 20_000, "# " + " " * 40_000 + "x", "```\n" * 10_000, "- a\n\n" * 8_000, "|" * 40_000, "> " * 20_000,
     "[" * 40_000, "a: " * 15_000, "# [x](" * 7_000, "-" * 40_000, ("- a\n" + "\n" * 50) * 300],
)  # fmt: skip
def test_time_grows_with_the_length_whatever_the_text(text: str) -> None:
    """No form of text is read for seconds."""
    began = time.process_time()
    for name in ("a.md", "a.yml", "a.log"):
        prose(text, name)
    assert time.process_time() - began < 3
