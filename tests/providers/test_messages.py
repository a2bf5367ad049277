"""Anthropic's rules of a request: each refused by the server and accepted by it, asked through the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import TOOL, assistant, check_refused, result, text, use, user

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

    from .script import Json

anthropic = pytest.importorskip("anthropic", exc_type=ImportError)


def ask(client: Anthropic, *messages: Json, **more: object) -> Message:
    """Ask for an answer of at most 100 tokens."""
    return client.messages.create(**{"model": "tiny", "max_tokens": 100, "messages": list(messages), **more})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"extra_body": {"response_format": {}}}, "response_format: Extra inputs are not permitted"),
        ({"extra_body": {"max_tokens": "many"}}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"system": 5}, "system: Input should be a valid"),
        ({"tools": [{"name": "look"}]}, "tools.0.input_schema: Field required"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role: Input should be 'user' or"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [user({"type": "hologram"})]}, "messages.0.content.0: Input tag 'hologram' found"),
        ({"messages": [user({"type": "text"})]}, "messages.0.content.0.text: Field required"),
        ({"messages": [user(text("hi", timestamp=1))]}, "content.0.timestamp: Extra inputs are not permitted"),
        ({"messages": [user("hi") | {"id": "m1"}]}, "messages.0.id: Extra inputs are not permitted"),
        (
            {"messages": [user("hi"), assistant({**use(), "input": "{}"}), user(result())]},
            "messages.1.content.0.input: Input should be a valid dictionary",
        ),
        (
            {"messages": [user("hi"), assistant(use("call 1")), user(result("call 1"))]},
            "messages.1.content.0.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 500}}, "should be greater than or equal to 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2_000}}, "`max_tokens` must be greater than"),
    ],
)
def test_a_field_that_is_wrong_is_refused(claude: Anthropic, more: Json, says: str) -> None:
    """Unknown, missing, of another type: 400, and the path of the field."""
    error = check_refused(lambda: ask(claude, user("hi"), **more), says)
    assert isinstance(error, anthropic.BadRequestError)
    assert error.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "at least one message is required"),
        ([assistant("hi"), user("hi")], 'first message must use the "user" role'),
        ([user("hi"), assistant("I")], "does not support assistant message prefill"),
        ([user("hi"), {"role": "system", "content": "x"}, user("hi")], 'Unexpected role "system"'),
        ([user("hi"), assistant(""), user("hi")], "messages.1: all messages must have non-empty content"),
        ([user(text(""))], "text content blocks must be non-empty"),
        ([user(use())], "`tool_use` blocks are not permitted within messages of role 'user'"),
    ],
)
def test_a_turn_that_is_wrong_is_refused(claude: Anthropic, messages: list[Json], says: str) -> None:
    """The user begins and ends, nobody says nothing, and the system stands beside."""
    check_refused(lambda: ask(claude, *messages), says)


def test_messages_of_one_role_in_a_row_are_one_turn(claude: Anthropic) -> None:
    """The provider reads them as one, so they cost one frame."""
    apart = ask(claude, user("one."), user("two."), assistant("a..."), assistant("b..."), user("end."))
    together = ask(claude, user(text("one."), text("two.")), assistant(text("a..."), text("b...")), user("end."))
    assert apart.usage.input_tokens == together.usage.input_tokens == 5 + 3 * 4


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([user("hi"), assistant(use()), user("and?")], "messages.1: `tool_use` ids were found without `tool_result`"),
        (
            [user("hi"), assistant(use("t1"), use("t2")), user(result("t1")), assistant("?"), user(result("t2"))],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2",
        ),
        ([user("hi"), assistant(use()), user(text("so"), result())], "immediately after: t1"),
        ([user("hi"), assistant("I"), user(result("t9"))], "messages.2.content.0: unexpected `tool_use_id` found"),
        ([user(result())], "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1"),
        (
            [user("hi"), assistant(use()), user(result(), result())],
            "messages.2.content.1: each tool_use must have a single result",
        ),
        (
            [user("hi"), assistant(use()), user(result()), assistant(use()), user(result())],
            "`tool_use` ids must be unique",
        ),
    ],
)
def test_calls_without_results_and_results_without_calls_are_refused(
    claude: Anthropic, messages: list[Json], says: str
) -> None:
    """Each call has its result in the next turn, before anything else is said there."""
    check_refused(lambda: ask(claude, *messages, tools=[TOOL]), says)


def test_calls_with_their_results_are_accepted(claude: Anthropic) -> None:
    """Parallel calls, results in another order, in messages of their own, with errors, pictures, and words behind."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    answer = ask(
        claude,
        user("hi"),
        assistant(text("I look."), use("t1"), use("t2", at=1)),
        user(result("t2", [text("seen"), picture], is_error=True)),
        user(result("t1")),
        user("Well?"),
        tools=[TOOL],
    )
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 1_600
