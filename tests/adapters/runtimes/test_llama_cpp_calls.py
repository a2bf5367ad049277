"""Tool calls in what models write, and what a listener is told of it meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.llama_cpp.calls import Calls, ToolCallFilter, assistant_message, read_calls

NAMES = {"depth", "tide"}
DEPTH = '{"name": "depth", "arguments": {"sea": "Aral"}}'
CALL = ("depth", '{"sea": "Aral"}')


@pytest.mark.parametrize(
    ("written", "said"),
    [
        # Hermes and Qwen, one call and two, with text before them.
        (f"<tool_call>\n{DEPTH}\n</tool_call>", ("", (CALL,))),
        (f"I look.\n\n<tool_call>{DEPTH}</tool_call>\n<tool_call>{DEPTH}</tool_call>", ("I look.", (CALL, CALL))),
        # Mistral.
        (f"[TOOL_CALLS] [{DEPTH}, {DEPTH}]", ("", (CALL, CALL))),
        # Llama 3, with its mark and without.
        ('{"name": "depth", "parameters": {"sea": "Aral"}}', ("", (CALL,))),
        ('<|python_tag|>{"name": "depth", "parameters": {"sea": "Aral"}}', ("", (CALL,))),
        # Arguments that are a text already.
        ('<tool_call>{"name": "tide", "arguments": "{}"}</tool_call>', ("", (("tide", "{}"),))),
    ],
)
def test_calls_are_read_in_the_forms_that_models_were_taught(written: str, said: tuple[str, Calls]) -> None:
    """Arguments come as JSON text, whatever they were written as."""
    assert read_calls(written, NAMES) == said


@pytest.mark.parametrize(
    "written",
    [
        "The sea is deep.",
        '{"name": "storm", "arguments": {}}',
        '<tool_call>{"name": "storm", "arguments": {}}</tool_call>',
        "<tool_call>{not json}</tool_call>",
        f"<tool_call>{DEPTH}",
        '{"sea": "Aral"}',
        "[1, 2]",
        '<tool_call>{"name": "depth", "arguments": 3}</tool_call>',
        f"<tool_call>{DEPTH}</tool_call><tool_call>{{}}</tool_call>",
        "",
    ],
)
def test_what_is_no_call_of_a_tool_that_was_given_stays_text(written: str) -> None:
    """A call that nobody could answer is shown to whoever reads it, and never lost."""
    assert read_calls(written, NAMES) == (written, ())


def test_message_of_calls_has_ids_of_its_own() -> None:
    """Two calls have two ids, of nine letters and digits, and no text is None."""
    message = assistant_message("", (CALL, CALL))
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    assert message["content"] is None
    assert len({call["id"] for call in calls}) == 2
    assert all(len(call["id"]) == 9 and call["id"].isalnum() for call in calls)
    assert calls[0]["function"] == {"name": "depth", "arguments": CALL[1]}
    assert assistant_message("", ()) == {"role": "assistant", "content": ""}


PIECES = st.lists(
    st.sampled_from(["<tool_call>", "</tool_call>", "<", "tool", "[TOOL_CALLS]", DEPTH, "{", "[", " ", "\n", "a", "é"])
    | st.text(max_size=3),
    max_size=12,
)


@given(pieces=PIECES)
def test_pieces_that_are_told_make_up_the_text_whatever_is_written(pieces: list[str]) -> None:
    """What may become a call is held back, so nothing that was told has to be taken back."""
    told: list[str] = []
    teller = ToolCallFilter(told.append, may_call=True)
    for piece in pieces:
        teller.add(piece)
    text = read_calls("".join(pieces), NAMES)[0]
    teller.end(text)
    assert "".join(told) == text


@given(pieces=PIECES)
def test_pieces_are_told_at_once_when_nothing_can_be_called(pieces: list[str]) -> None:
    """Each as it comes; only empty ones are not."""
    told: list[str] = []
    teller = ToolCallFilter(told.append, may_call=False)
    for piece in pieces:
        teller.add(piece)
    assert told == [piece for piece in pieces if piece]


def test_text_is_told_while_it_comes_when_calls_are_possible() -> None:
    """Plain words are not held back until the end."""
    told: list[str] = []
    teller = ToolCallFilter(told.append, may_call=True)
    for piece in ("The", " sea", " is <", "b>deep"):
        teller.add(piece)
    assert told == ["The", " sea", " is", " <b>deep"]
