"""Entries for people."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.journal import JournalEntry, as_markdown, day_as_markdown

ENTRY = JournalEntry(
    1_769_517_296, "Made a store.\n---\n## It holds.", "ann", "r7", "s9", ("SQLite,\nin one file",),
    ("tables", "tests"),
    files_touched=("a.py",), tags=("store",), total_tokens=12_345,
)  # fmt: skip
PAGE = """\
# 2026-01-27

## 12:34:56Z

- ann · r7 · s9 · 12,345 tokens · #store

> Made a store.
> ---
> ## It holds.

**Decisions**

- SQLite,
  in one file

**Progress**

- tables
- tests

**Files**

- a.py
"""


def test_page_of_a_day_is_as_it_is_shown() -> None:
    """A line of an entry that looks like a heading, or a rule, stands within it (V21)."""
    assert day_as_markdown("2026-01-27", [ENTRY]) == PAGE
    assert day_as_markdown("2026-01-27", []) == "# 2026-01-27\n\nNo entries.\n"


@given(st.lists(st.text(max_size=40), min_size=1, max_size=3))
def test_page_has_one_heading_for_each_entry_whatever_they_say(texts: list[str]) -> None:
    """Nothing foreign begins at the margin."""
    entries = [JournalEntry(0, text, text, text, text, *((text,),) * 6) for text in texts]
    lines = day_as_markdown("1970-01-01", entries).splitlines()
    assert lines.count("## 00:00:00Z") == len(texts)
    assert {line[:2] for line in lines if line} <= {"# ", "##", "- ", "> ", ">", "**", "  ", "-"}
    assert as_markdown(entries[0]).endswith("\n")
