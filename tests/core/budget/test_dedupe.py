"""Summary lines that the memory document says already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import SUMMARY_HEADING, dedupe


@pytest.mark.parametrize(
    "memory",
    [
        "* user prefers pytest",
        "\u2022 user prefers pytest",
        "- USER prefers pytest",
        "user prefers pytest",
        "  \tUser   prefers\u00a0pytest  ",
        "\u2022   user prefers pytest\r",
        "# Notes\n\n- other\n- user prefers pytest\n",
    ],
)
def test_dedupe_removes_a_line_that_the_memory_has_in_another_form(memory: str) -> None:
    """V15: bullet, case and spaces do not matter."""
    text, removed = dedupe("- User prefers    pytest\n- uses uv", memory)
    assert text == "- uses uv"
    assert removed == ("- User prefers    pytest",)


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        ("-5 degrees", "5 degrees"),
        ("--flag", "flag"),
        ("--flag", "-flag"),
        ("**Bold**", "*Bold**"),
        ("**Bold**", "Bold"),
        ("- - nested", "nested"),
        ("1. first", "first"),
        ("-\ttabbed", "tabbed"),
        ("+ plus", "plus"),
        ("uses uv", "uses uv and pip"),
        ("uses uv and pip", "uses uv"),
    ],
)
def test_dedupe_keeps_a_line_that_only_looks_alike(line: str, memory: str) -> None:
    """V15: a sign, an option, bold text are no bullets; one bullet is stripped, not two; whole lines are compared."""
    assert dedupe(line, memory) == (line, ())


def test_dedupe_keeps_blank_lines_and_everything_else_unchanged() -> None:
    """Q-04: line breaks, indents and blank lines of what stays are as they were; blank memory lines match nothing."""
    summary = "## Conversation Summary\n\n- A\n  \n-   b  \r\n\n\t- C\n"
    assert dedupe(summary, "a\n\n   \n- ") == ("## Conversation Summary\n\n  \n-   b  \r\n\n\t- C\n", ("- A",))


def test_dedupe_returns_nothing_when_only_the_heading_is_left() -> None:
    """Q-04: an emptied summary loses its heading."""
    summary = f"{SUMMARY_HEADING}\n\n- a\n- b\n"
    assert dedupe(summary, "a\nb") == ("", ("- a", "- b"))
    assert dedupe("- a\n\n- b", "a\nb") == ("", ("- a", "- b"))
    assert dedupe(summary, "a") == (f"{SUMMARY_HEADING}\n\n- b\n", ("- a",))


def test_dedupe_leaves_a_summary_alone_when_nothing_was_removed() -> None:
    """A bare heading that nobody emptied stays, as an empty summary and an empty memory do."""
    assert dedupe(f"{SUMMARY_HEADING}\n", "a") == (f"{SUMMARY_HEADING}\n", ())
    assert dedupe("", "a") == ("", ())
    assert dedupe("- a\n", "") == ("- a\n", ())


lines = st.lists(
    st.sampled_from(
        ["- a", "* A", "\u2022 a", "a", "-a", "- - a", "", "  ", SUMMARY_HEADING, "b  c", "- B c", "\ud800"]
    )
    | st.text(alphabet="aA-* \u2022\t\u0130\u00a0", max_size=6)
)
documents = lines.map("\n".join)


@given(documents, documents)
def test_dedupe_is_idempotent(summary: str, memory: str) -> None:
    """What is left has no line of the memory any more."""
    text, _ = dedupe(summary, memory)
    assert dedupe(text, memory) == (text, ())


@given(documents, documents)
def test_dedupe_only_takes_lines_away(summary: str, memory: str) -> None:
    """Kept and removed lines are the summary's, none is changed, no blank one is removed, order is kept."""
    text, removed = dedupe(summary, memory)
    assert all(line.strip() for line in removed)
    rest = iter(summary.split("\n"))
    assert text == "" or all(line in rest for line in text.split("\n"))
    if text:
        assert sorted([*text.split("\n"), *removed]) == sorted(summary.split("\n"))
    if not removed:
        assert text == summary


@given(documents)
def test_dedupe_removes_every_line_when_the_memory_is_the_summary(summary: str) -> None:
    """Against itself nothing is left but blank lines, and those are no summary."""
    text, removed = dedupe(summary, summary)
    assert text.strip() == ""
    assert len(removed) == sum(1 for line in summary.split("\n") if line.strip())
