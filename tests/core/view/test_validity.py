"""The rules a request keeps so that no provider refuses it."""

from __future__ import annotations

import pytest

from squidbot.core.errors import InvalidRequestError
from squidbot.core.messages import Kind, Part
from squidbot.core.view.steps import check_request, refuse_server_state

from ..rows import part

CALL = part("assistant", seq=1, call_ids=("a", "b"))


def result(call_id: str, seq: int = 2) -> Part:
    """Return the part of a tool result."""
    return part("tool", seq=seq, result_ids=(call_id,))


@pytest.mark.parametrize(
    "parts",
    [
        [part("user")],
        [part("system", Kind.SYSTEM), part("user")],
        [part("user"), CALL, result("a"), result("b", 3)],
        [part("user"), CALL, result("b"), result("a", 3), part("assistant", seq=4), part("user", seq=5)],
        [part("user"), CALL, part("user", seq=2, result_ids=("a", "b"))],
    ],
)
def test_valid_request_passes(parts: list[Part]) -> None:
    """Results in any order, and all of them in one user message."""
    check_request(parts)
    assert parts


@pytest.mark.parametrize(
    ("parts", "rule", "says"),
    [
        ([part("user"), CALL, result("a")], "R1", r"the last step's calls \['b'\] have no result"),
        ([part("user"), CALL], "R1", r"calls \['a', 'b'\] have no result"),
        ([part("user"), CALL, part("user", seq=2)], "R1", r"part 2 \(m2\) stands where results of \['a', 'b'\] belong"),
        ([part("user"), CALL, result("a"), part("user", seq=3)], "R1", r"part 3 \(m3\).*\['b'\]"),
        ([part("user"), result("a")], "R1", r"part 1 \(m2\) stands where results of no call belong"),
        ([part("user"), CALL, result("a"), result("a", 3)], "R1", r"part 3"),
        ([part("assistant"), part("user", seq=1)], "R5", "m0 opens the conversation with the role assistant"),
        ([part("system"), CALL, result("a"), result("b")], "R5", "m1 opens the conversation"),
        ([part("user"), part("assistant", seq=1)], "R5", "does not end with a user message or a tool result"),
        ([part("system")], "R5", "does not end"),
        ([], "R5", "does not end"),
        (
            [part("user"), part("system", Kind.NOTICE), part("user")],
            "R6",
            "part 1 is squidbot's own and has the role system",
        ),
        ([part("user"), part("assistant", Kind.SUMMARY), part("user")], "R6", "part 1"),
    ],
)
def test_broken_rule_is_named_with_its_place(parts: list[Part], rule: str, says: str) -> None:
    """R1: pairs; R5: who opens and who ends; R6: what squidbot made is user-role."""
    with pytest.raises(InvalidRequestError, match=says) as raised:
        check_request(parts)
    assert raised.value.rule == rule


@pytest.mark.parametrize(
    ("name", "does"),
    [
        *[(name, "keeps the history") for name in ("previous_response_id", "conversation", "conversation_id")],
        *[(name, "keeps the history") for name in ("thread_id", "thread", "store", "background")],
        *[(name, "has the provider leave parts of the history out") for name in ("truncation", "context_management")],
        ("container", "keeps files"),
        ("prompt", "adds texts"),
    ],
)
def test_history_at_the_provider_is_refused_by_the_name_of_its_switch(name: str, does: str) -> None:
    """R10: what it keeps, cuts or adds is counted by nobody."""
    with pytest.raises(InvalidRequestError, match=f"^{name} {does}"):
        refuse_server_state({"temperature": 1, name: "id"})


def test_switch_that_is_off_is_no_history_at_the_provider() -> None:
    """None, false and "disabled" are off; other options are none of ours."""
    options = {"thread_id": None, "store": False, "truncation": "disabled", "model": "m"}
    refuse_server_state(options)
    assert options["thread_id"] is None
