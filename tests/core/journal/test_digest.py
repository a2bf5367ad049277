"""What a session that goes on is told of a journal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.journal import DIGEST_TOKENS, JournalEntry, digest

ENTRY = JournalEntry(
    1_769_517_296, "Made  a\nstore.", decisions=("SQLite",), progress=("tables", "tests"), open_questions=("when?",),
    files_touched=("a.py",), errors=("one test failed",),
)  # fmt: skip
WHOLE = """\
journal, 2026-01-27T12:34:56Z: Made a store.
goal: ship it
open: when?
decided: SQLite
failed: one test failed
done: tables
done: tests
file: a.py"""


def test_digest_has_all_in_its_order_when_there_is_room() -> None:
    """The summary, goals, what is open, decided, failed, done, and files."""
    assert digest(ENTRY, len, goals=["ship\nit"]) == WHOLE
    assert DIGEST_TOKENS == 1_200


def test_digest_leaves_out_from_the_end_when_there_is_little_room() -> None:
    """Whole lines."""
    lines = WHOLE.split("\n")
    for number in range(1, len(lines)):
        text = "\n".join(lines[:number])
        got = digest(ENTRY, len, goals=["ship it"], most_tokens=len(text))
        assert got == text


def test_summary_is_cut_when_it_alone_has_no_room() -> None:
    """And nothing stands behind it; without room for its head there is nothing."""
    head = "journal, 2026-01-27T12:34:56Z: "
    assert digest(ENTRY, len, most_tokens=len(head) + 5) == f"{head}Made…"
    assert digest(ENTRY, len, most_tokens=len(head)) == ""


@given(st.text(), st.lists(st.text(), max_size=4), st.integers(0, 200))
def test_digest_is_never_above_its_room(summary: str, goals: list[str], room: int) -> None:
    """Whatever is said, counted as it is."""
    got = digest(JournalEntry(0, summary, progress=tuple(goals)), len, goals=goals, most_tokens=room)
    assert len(got) <= room
    assert got.startswith("journal, 1970") or room < len("journal, 1970-01-01T00:00:00Z: …")
