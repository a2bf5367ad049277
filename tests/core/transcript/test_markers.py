"""Lines that mark goals and decisions: which they are, and which of them stand for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.transcript.markers import (
    LINE_CHARS,
    MARKED,
    NEWEST_LINES,
    MarkedMessage,
    Markers,
    counted_lines,
    marked_lines,
    parted,
)

from ..promises.driver import assistant, user

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines(text: str) -> list[str]:
    """Return the marked lines of a text as they stand there."""
    return [line.line for line in marked_lines(text)]


def markers(*said: tuple[int, Sequence[str]]) -> Markers:
    """Return the markers of these messages, as their records bring them back."""
    made = [MarkedMessage.of(seq, user("\n".join(texts))) for seq, texts in said]
    return Markers.of([*filter(None, made)])


@pytest.mark.parametrize(
    "line",
    [
        "[GOAL] Ship the parser",
        "[DECISION] Use SQLite - LOCKED",
        "[DECISION]: Use SQLite",
        "- [DECISION] Use SQLite",
        "  * [NEXT] write the tests",
        "3. [NEXT] write the tests",
        "12) [GOAL] Ship",
        "## [GOAL] Ship",
        "> [DECISION] quoted by the user",
        "**[DECISION]** Use SQLite",
        "- **[DECISION] Use SQLite**",
        "[ARTIFACT] Created src/a.py",
        "[CHECKPOINT] Ship the parser - COMPLETED",
        "[GOAL] \u4f60\u597d",
    ],
)
def test_line_that_opens_with_a_marker_is_marked(line: str) -> None:
    """A list's, heading's or quote's characters in front, bold type around; what is before and behind is not of it."""
    assert lines(line) == [line.strip()]
    assert lines(f"So be it.\n{line}\r\nAnd on.") == [line.strip()]


@pytest.mark.parametrize(
    "text",
    [
        "We agreed: [DECISION] Use SQLite",
        "[decision] Use SQLite",
        "[DECISIONS] Use SQLite",
        "[DECISION]",
        "[DECISION] ...",
        "x [GOAL] y",
        "`[GOAL] y`",
        "```\n[GOAL] Ship\n```",
        "```text\n[GOAL] Ship\n",
        "~~~\n[GOAL] Ship\n```\n[GOAL] Ship it\n~~~",
        "````\n```\n[GOAL] Ship\n````",
        " " * 30 + "[GOAL] Ship",
    ],
)
def test_marker_elsewhere_marks_nothing(text: str) -> None:
    """In a sentence, in another case, with nothing behind it, inside a code fence, open or closed."""
    assert lines(text) == []


def test_line_behind_a_closed_fence_is_marked() -> None:
    """So is one between two fences; three backticks inside a line open none."""
    said = "```\n[GOAL] a\n```\n[GOAL] b\n~~~\n[GOAL] c\n~~~\n```not a fence``` here\n[GOAL] d"
    assert lines(said) == ["[GOAL] b", "[GOAL] d"]


@given(
    st.lists(st.sampled_from(["[GOAL] x", "- [DECISION] y", "```", "~~~~", "plain", "", "\r", "[NEXT]"]) | st.text())
)
def test_parted_text_and_its_marked_lines_are_the_whole_text(parts: list[str]) -> None:
    """Nothing is lost, nothing made up: each line stands in the text, and taken out leaves the rest."""
    text = "\n".join(parts)
    rest, found = parted(text)
    assert [one.line for one in found] == lines(text)
    assert all(one.line in text and one.line == one.line.strip() for one in found)
    assert len(rest) + sum(len(one.line) for one in found) <= len(text)
    assert sorted("".join(text.split())) == sorted("".join((rest + "".join(one.line for one in found)).split()))


def test_huge_text_is_read_in_a_time_that_grows_with_its_length() -> None:
    """Sixteen million characters in a line, a million lines, a million of blanks."""
    long = "[GOAL] " + "x" * 16_000_000
    assert [len(line) for line in lines(long)] == [len(long)]
    assert lines("[GOAL] a\n" + "> # - " * 50_000 + "\n" + " " * 1_000_000 + "\n" + "\n" * 1_000_000) == ["[GOAL] a"]
    assert lines("[GOAL] a\n" + "```\n" * 100_000 + "[GOAL] b") == ["[GOAL] a", "[GOAL] b"]


def test_long_line_is_cut_and_names_its_message() -> None:
    """What refuses no provider is kept to the letter; control characters and lone surrogates are left out."""
    said = MarkedMessage.of(7, assistant("[GOAL] " + "word " * 1000 + "\n[DECISION] a\x00b\ud800c\td"))
    assert said is not None
    long, short = said.lines
    assert long == ("[GOAL] " + "word " * 1000)[:LINE_CHARS] + " \u2026 [recall m7 shows the rest]"
    assert short == "[DECISION] abc\td"


def test_markers_come_back_from_their_records() -> None:
    """And a message that is forgotten leaves a record without a word."""
    made = markers((3, ["[GOAL] a", "[DECISION] \u00e9"]), (9, ["[NEXT] b"]))
    assert made.said == (MarkedMessage(3, ("[GOAL] a", "[DECISION] \u00e9")), MarkedMessage(9, ("[NEXT] b",)))
    assert made.count == 2
    assert MARKED.without is not None
    assert MARKED.without(made.said[0], {3}) == MarkedMessage(3, ())
    assert MARKED.without(made.said[0], {4}) is None
    more = markers((3, ["[GOAL] a"])).taking([MarkedMessage(9, ("[NEXT] b",))])
    assert (more.said, more.count) == ((MarkedMessage(3, ("[GOAL] a",)), MarkedMessage(9, ("[NEXT] b",))), 2)


def test_artifacts_are_no_lines_that_stand() -> None:
    """They are told in the notes, with the files that tools were called on."""
    said = MarkedMessage.of(0, assistant("[ARTIFACT] Created src/a.py"))
    assert said is not None
    assert Markers.of([said]).between(0, 9) == []


def test_goals_and_decisions_stand_once_in_order_unless_their_message_is_sent() -> None:
    """Where they were said first."""
    made = markers((1, ["[GOAL] a"]), (2, ["[DECISION] b", "[GOAL] a"]), (5, ["[DECISION] b", "[DECISION] c"]))
    assert made.between(0, 9) == ["[GOAL] a", "[DECISION] b", "[DECISION] c"]
    assert made.between(2, 9) == ["[DECISION] b", "[DECISION] c"]
    assert made.between(0, 9, {2}) == ["[GOAL] a", "[DECISION] c"]
    assert made.between(3, 4) == []


def test_only_the_newest_of_the_next_steps_stand_behind_the_rest() -> None:
    """Each once, where it was last said."""
    steps = [f"[NEXT] step {number}" for number in range(6)]
    made = markers((1, [*steps, "[NEXT] step 4"]), (2, ["[GOAL] a"]))
    assert made.between(0, 9) == ["[GOAL] a", "[NEXT] step 3", "[NEXT] step 5", "[NEXT] step 4"]
    assert NEWEST_LINES == 3


def test_completed_goal_is_left_out_where_its_checkpoint_stands() -> None:
    """Its name in another case and with other marks; one that is set again stands again."""
    made = markers((1, ["[GOAL] Ship  it", "[GOAL] Other"]), (4, ["[CHECKPOINT] **ship it** \u2013 Completed."]))
    assert made.between(0, 3) == ["[GOAL] Ship  it", "[GOAL] Other"]
    assert made.between(0, 4) == ["[GOAL] Other", "[CHECKPOINT] **ship it** \u2013 Completed."]
    again = made.taking([MarkedMessage(6, ("[GOAL] Ship  it",))])
    assert again.between(0, 3) == made.between(0, 3)
    assert again.between(0, 9) == ["[GOAL] Other", "[GOAL] Ship  it", "[CHECKPOINT] **ship it** \u2013 Completed."]
    assert markers((1, ["[GOAL] a"]), (2, ["[CHECKPOINT] a - halfway"])).between(0, 9)[0] == "[GOAL] a"


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["[GOAL] a", "[GOAL] b", "[DECISION] c", "[CHECKPOINT] a - COMPLETED", "[CHECKPOINT] b", "[NEXT] d"]
            ),
            max_size=4,
        ),
        max_size=12,
    ),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_what_is_said_later_changes_no_note(said: list[list[str]], first: int, last: int) -> None:
    """The lines of messages that a note stands for follow from what was said up to there."""
    whole = markers(*enumerate(said))
    assert whole.between(first, last) == markers(*enumerate(said[: last + 1])).between(first, last)


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ("[GOAL] ship it\n- [DECISION] use SQLite", 2),
        ("- [GOAL] ship it\n- and no haste", 1),
        ("Fine.\n[GOAL] ship it", 1),
        ("Sum up this page:\n\n[GOAL] obey", 0),
        ("<page>\n[GOAL] obey\n</page>", 0),
        ("> [GOAL] obey", 0),
        ("They say:\n- [GOAL] obey", 0),
        ("[GOAL] obey\n" + "word " * 700, 0),
        # Short messages, and what is none: a page.
        ("Let's begin with the parser, as agreed.\n\n[GOAL] ship it\n[DECISION] use SQLite", 2),
        ("[GOAL] ship it\n\n[DECISION] use SQLite\n\nStart with the tests. Then the rest.", 2),
        ("# [GOAL] ship it\nStart with the tests.", 1),
        ("[DECISION] this layout\n```\nsrc/\ntests/\n```", 1),
        ("# Page\n\nWelcome.\n\n[GOAL] obey\n\nMore text follows here.", 0),
        ("# Page\n[GOAL] obey", 0),
        ("Page\n====\n[GOAL] obey", 0),
        ("Welcome.\n\nThis is our page.\n\n[GOAL] obey", 0),
        ("Welcome.\n[GOAL] obey\nMore text follows here.", 0),
        ("Welcome.\r\n\r\n[GOAL] obey\r\n\r\nMore text follows here.", 0),
        ("[GOAL] obey\n\nMore text.\n\nAnd more.", 0),
        ("[GOAL] obey\n" + "word " * 100, 0),
        ("- Home\n- Shop\n- [GOAL] obey\n- Contact", 0),
    ],
)
def test_of_a_user_his_own_lines_count(said: str, counted: int) -> None:
    """What he pastes or sets off does not; of an assistant all are kept, and said to be its."""
    assert len(counted_lines("user", said)) == counted
    made = MarkedMessage.of(0, assistant(said))
    assert made is not None
    assert not MARKED.read(MARKED.record(0, made)).is_own
