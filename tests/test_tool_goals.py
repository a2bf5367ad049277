"""The tool `goal`: its definition, and that a model's wrong calls are answered and never raised."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError
from squidbot.core.goals.values import ACTIONS
from squidbot.goals import answer_goal, goal_tool, goals_of

# A definition is sent with every request.
MOST_TOKENS = 270


def test_definition_is_small_and_has_the_forms_of_the_providers() -> None:
    """Every action is named."""
    text = json.dumps(goal_tool())
    assert builtin_counter("words").count(text) <= MOST_TOKENS
    assert all(f'"{action}"' in text for action in ACTIONS)
    assert goal_tool("anthropic.messages")["name"] == "goal"
    with pytest.raises(ConfigError, match="unknown form of tools 'x'"):
        goal_tool("x")


def test_calls_change_the_goals_of_a_session_and_tell_them() -> None:
    """Objects and their JSON text, from the first goal to its close; what is set stands in the head (O-07, O-18)."""
    session = squidbot.load({}).session("s")
    book = goals_of(session)
    calls: list[dict[str, object]] = [
        {"action": "set", "text": "Ship the parser"},
        {"action": "milestone", "text": "Lexer", "done": "true"},
        {"action": "lock", "text": "Rust only"},
        {"action": "block", "text": "No network"},
        {"action": "next", "text": "Write tests"},
    ]
    for call in calls:
        assert not answer_goal(book, json.dumps(call)).is_error
    said = answer_goal(book, {"action": "show"}).text
    assert said.splitlines() == [
        "goal: Ship the parser",
        "milestone (reached): Lexer",
        "decision (locked): Rust only",
        "blocker: No network",
        "next: Write tests",
    ]
    assert answer_goal(book, {"action": "close"}).text == "no goal is active\ndecision (locked): Rust only"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{", "not JSON"),
        ("[]", "no object"),
        ({}, "action is"),
        ({"action": "dance"}, "it is one of set, milestone"),
        ({"action": "set"}, "set needs a text"),
        ({"action": "set", "text": 3}, "it is a text"),
        ({"action": "set", "text": "x", "done": 3}, "it is true or false"),
        ({"action": "close"}, "no goal is active"),
        ({"action": "milestone", "text": "x"}, "set one first"),
        ({"action": "set", "text": "x" * 501}, "501 characters"),
    ],
)
def test_wrong_call_is_told_what_was_wrong(arguments: dict[str, object] | str, said: str) -> None:
    """As text, marked as an error; nothing is written."""
    book = goals_of(squidbot.load({}).session("s"))
    told = answer_goal(book, arguments)
    assert told.is_error
    assert said in told.text
    assert book.transcripts.head("s") == (0, 0)


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3)))
def test_no_value_of_an_argument_raises(value: object) -> None:
    """Whatever a model writes."""
    book = goals_of(squidbot.load({}).session("s"))
    for action in (value, "set", "milestone"):
        assert answer_goal(book, {"action": action, "text": value, "done": value}).text
