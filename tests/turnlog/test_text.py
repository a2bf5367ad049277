"""A turn as text: nothing in it is a secret, and its JSON is JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.redaction import Redactor
from squidbot.wiring.turnlog import CallEntry, RequestEntry, TurnEntry, text_of

BUDGET = (("window", 100), ("reserve", 10), ("request", 20))
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
KEY = "sk-abcdefghijklmnopqrstuvwx1234"


def turn(said: str = "Hello", arguments: str = "{}", result: str | None = "done", answer: str = "Yes.") -> TurnEntry:
    """Return a turn with one call of a tool."""
    asked = RequestEntry(1, 0, ((0, "user", said),), 20, 90, "measured", -1, "", BUDGET)
    return TurnEntry(3, 0.0, [asked], [CallEntry("c", "look", arguments, 1, result)], 1, answer, ended=True)


def test_secrets_are_marked_wherever_they_stand() -> None:
    """In what was said, in parameters by their name, in results, in the answer; in the text and in its JSON (B-50)."""
    arguments = json.dumps({"password": "hunter2", "query": f"use {KEY}", "deep": [{"api_key": "short"}]})
    text = text_of(turn(f"my key is {KEY}", arguments, f"token: {KEY}", f"It is {KEY}."), "s", "m", Redactor())
    for secret in (KEY, "hunter2", "short"):
        assert secret not in text
    (call,) = json.loads(text.partition("\nJSON\n")[2])["tool_calls"]
    mark = Redactor().mark
    assert call["parameters"] == {"password": mark, "query": f"use {mark}", "deep": [{"api_key": mark}]}


@given(said=WORDS, arguments=WORDS, result=st.none() | WORDS, answer=WORDS)
def test_any_turn_is_a_text_with_json_behind_it(said: str, arguments: str, result: str | None, answer: str) -> None:
    """Whatever was said: no character that a terminal obeys, and JSON that can be read (B-50)."""
    text = text_of(turn(said, arguments, result, answer), "s", "m", Redactor())
    head, _, tail = text.rpartition("\nJSON\n")
    assert all(char.isprintable() or char in "\n\t" for char in head)
    whole = json.loads(tail)
    assert whole["budget"] == dict(BUDGET)
    assert len(whole["tool_calls"]) == 1
