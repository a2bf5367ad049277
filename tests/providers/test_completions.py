"""The rules of chat completions: each refused by the server and accepted by it, asked through the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import assistant, check_refused, text, user

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion

    from .script import Json
    from .wire import Providers

openai = pytest.importorskip("openai", exc_type=ImportError)

ORPHAN = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
UNANSWERED = "The following tool_call_ids did not have response messages: "


def ask(client: OpenAI, *messages: Json, **more: object) -> ChatCompletion:
    """Ask for an answer."""
    return client.chat.completions.create(**{"model": "tiny", "messages": list(messages), **more})


def calling(*identifiers: str, content: object = None) -> Json:
    """Return a message of the assistant with calls."""
    calls = [
        {"id": identifier, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for identifier in identifiers
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def told(identifier: str, content: object = "seen") -> Json:
    """Return a message of a tool."""
    return {"role": "tool", "tool_call_id": identifier, "content": content}


@pytest.mark.parametrize(
    ("more", "says", "code"),
    [
        ({"extra_body": {"thinking": {}}}, "Unknown parameter: 'thinking'.", "unknown_parameter"),
        ({"messages": []}, "Invalid 'messages': empty array.", "empty_array"),
        ({"messages": [user("hi") | {"id": "m"}]}, "Unknown parameter: 'messages[0].id'.", "unknown_parameter"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "Invalid value: 'robot'. Supported", "invalid_value"),
        ({"messages": [{"role": "user", "content": 5}]}, "Invalid type for 'messages[0].content'", "invalid_type"),
        ({"messages": [{"role": "user"}]}, "Missing required parameter: 'messages[0].content'.", None),
        ({"messages": [{"role": "user", "content": None}]}, "got null instead", "invalid_type"),
        ({"messages": [user({"type": "thinking"})]}, "Invalid value: 'thinking'. Supported values are: 'text'", None),
        ({"messages": [user("hi"), calling()]}, "Invalid 'messages[1].tool_calls': empty array.", "empty_array"),
        (
            {"messages": [user("hi"), calling("c" * 41), told("c" * 41)]},
            "string too long. Expected a string with maximum length 40, but got a string with length 41",
            "string_above_max_length",
        ),
        ({"messages": [user("hi"), {"role": "assistant", "content": None}]}, "expected a string, got null", None),
        ({"max_tokens": 70_000}, "max_tokens is too large: 70000", "invalid_value"),
    ],
)
def test_a_field_that_is_wrong_is_refused(gpt: OpenAI, more: Json, says: str, code: str | None) -> None:
    """Unknown, missing, of another type, too long, empty: 400, with the field and a code."""
    error = check_refused(lambda: ask(gpt, user("hi"), **more), says)
    assert isinstance(error, openai.BadRequestError)
    assert error.type == "invalid_request_error"
    assert code in {None, error.code}


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([user("hi"), calling("c1"), user("and?")], f"{UNANSWERED}c1"),
        ([user("hi"), calling("c1", "c2"), told("c1")], f"{UNANSWERED}c2"),
        ([user("hi"), calling("c1", "c2"), told("c1"), user("so"), told("c2")], f"{UNANSWERED}c2"),
        ([user("hi"), told("c1")], ORPHAN),
        ([user("hi"), calling("c1"), told("c9")], ORPHAN),
        ([user("hi"), calling("c1"), told("c1"), told("c1")], ORPHAN),
    ],
)
def test_calls_without_results_and_results_without_calls_are_refused(
    gpt: OpenAI, messages: list[Json], says: str
) -> None:
    """One message of a tool for each call, before anything else."""
    check_refused(lambda: ask(gpt, *messages), says)


def test_what_keeps_the_rules_is_accepted(gpt: OpenAI) -> None:
    """Any order of roles, results in another order, a system message in the middle, explicit nulls, parts."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    answer = ask(
        gpt,
        assistant("Before."),
        {"role": "developer", "content": "Be brief."},
        user(text("hi"), picture),
        user("hi"),
        calling("c1", "c2", content=None) | {"refusal": None, "function_call": None},
        told("c2", [text("seen")]),
        told("c1"),
        {"role": "system", "content": "Still brief."},
        assistant("Yes."),
    )
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.prompt_tokens > 1_600


def test_what_a_provider_keeps_is_noted(providers: Providers, gpt: OpenAI) -> None:
    """A chat that is stored: tests see it."""
    ask(gpt, user("hi"), store=False)
    assert providers.held == []
    ask(gpt, user("hi"), store=True)
    assert providers.held == [("/v1/chat/completions", "store")]
