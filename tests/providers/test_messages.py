"""Anthropic's rules of a request: each refused by the server and accepted by it, asked through the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import TOOL, assistant, check_refused, result, text, use, user
from .script import Call, Model, Text, Thought, quarters, saying

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

    from .script import Json
    from .wire import Providers

anthropic = pytest.importorskip("anthropic", exc_type=ImportError)


def ask(client: Anthropic, *messages: Json, **more: object) -> Message:
    """Ask for an answer of at most 100 tokens."""
    return client.messages.create(**{"model": "tiny", "max_tokens": 100, "messages": list(messages), **more})


def test_an_answer_comes_back_as_it_was_said(providers: Providers, claude: Anthropic) -> None:
    """Text, thinking and a call, with a stop reason and tokens, whole and byte for byte on the wire."""
    providers.script = saying([Thought("hm"), Text("I look."), Call("look", '{"at": "é"}')])
    answer = ask(claude, user("Look!"), tools=[TOOL])
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.content[2].input == {"at": "é"}
    assert (answer.stop_reason, answer.usage.input_tokens) == ("tool_use", 4 + 2 + quarters(str(TOOL)))
    assert answer.usage.output_tokens == 1 + 2 + 5


def test_a_request_is_kept_as_it_came(providers: Providers, claude: Anthropic) -> None:
    """Bytes, headers and values, for tests to look at."""
    ask(claude, user("价"))
    (came,) = providers.requests
    assert "价".encode() in came.raw or b"\\u4ef7" in came.raw
    assert came.body["messages"] == [user("价")]
    assert providers.bodies("/v1/messages") == [came.body]
    assert came.headers["anthropic-version"]


def test_a_wrong_key_is_refused(providers: Providers) -> None:
    """401, as the provider says it."""
    with anthropic.Anthropic(api_key="other", base_url=providers.url, max_retries=0) as client:
        error = check_refused(lambda: ask(client, user("hi")), "invalid x-api-key", 401)
    assert isinstance(error, anthropic.AuthenticationError)


def test_an_unknown_model_is_refused(claude: Anthropic) -> None:
    """404, as the provider says it."""
    check_refused(lambda: ask(claude, user("hi"), model="huge"), "model: huge", 404)


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


def test_max_tokens_has_to_be_said(providers: Providers, claude: Anthropic) -> None:
    """The SDK asks for it, too; below the SDK the server does."""
    with pytest.raises(TypeError, match="max_tokens"):
        claude.messages.create(model="tiny", messages=[user("hi")])
    check_refused(
        lambda: claude.post("/v1/messages", body={"model": "tiny", "messages": [user("hi")]}, cast_to=object),
        "max_tokens: Field required",
    )
    assert providers.refused == ["max_tokens: Field required"]


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


def test_what_a_model_allows_is_accepted(providers: Providers, claude: Anthropic) -> None:
    """Prefill and system messages among the others, where the model is one that takes them."""
    providers.world.models = {"tiny": Model(prefill=True, mid_system=True)}
    assert ask(claude, user("hi"), {"role": "system", "content": "Be brief."}, user("hi"), assistant("I"))


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


def test_tokens_are_counted_before_anything_is_answered(providers: Providers, claude: Anthropic) -> None:
    """The same number as an answer reports, and by a counter that a test gives."""
    providers.world.count = len
    request = {"model": "tiny", "messages": [user("hello")], "system": "Be brief."}
    counted = claude.messages.count_tokens(**request).input_tokens
    assert counted == 4 + 5 + 9
    assert claude.messages.create(max_tokens=9, **request).usage.input_tokens == counted
    check_refused(
        lambda: claude.messages.count_tokens(model="tiny", messages=[user(result())]), "unexpected `tool_use_id` found"
    )


def test_an_answer_longer_than_the_model_gives_is_refused(providers: Providers, claude: Anthropic) -> None:
    """Asked for up to the limit, it is given."""
    providers.world.models = {"tiny": Model(most_output=50)}
    check_refused(lambda: ask(claude, user("hi"), max_tokens=51), "max_tokens: 51 > 50, which is the maximum allowed")
    assert ask(claude, user("hi"), max_tokens=50)


def test_a_prompt_that_is_too_long_is_refused(providers: Providers, claude: Anthropic) -> None:
    """With both numbers, as the provider says it; one token fewer is accepted, and the answer ends with the window."""
    providers.world.models = {"tiny": Model(window=50)}
    providers.script = saying("y" * 400)
    check_refused(lambda: ask(claude, user("x" * 4 * 47)), "prompt is too long: 51 tokens > 50 maximum")
    answer = ask(claude, user("x" * 4 * 40))
    assert (answer.stop_reason, answer.usage.input_tokens) == ("model_context_window_exceeded", 44)
    assert answer.usage.output_tokens <= 6
    assert ask(claude, user("x" * 4), max_tokens=5).stop_reason == "max_tokens"


def test_older_models_count_the_room_for_the_answer(providers: Providers, claude: Anthropic) -> None:
    """Input and `max_tokens` together have to fit."""
    providers.world.models = {"tiny": Model(window=50, sums_up=True)}
    check_refused(lambda: ask(claude, user("hi"), max_tokens=46), "exceed context limit: 5 + 46 > 50")
    assert ask(claude, user("hi"), max_tokens=45)


def test_a_silent_model_leaves_out_what_does_not_fit(providers: Providers, claude: Anthropic) -> None:
    """No error: only the tokens that it reports tell of it."""
    providers.world.models = {"tiny": Model(window=50, silent=True)}
    answer = ask(claude, user("x" * 400), assistant("I see."), user("Well?"), max_tokens=5)
    assert answer.usage.input_tokens <= 50


def test_a_provider_may_tell_more_than_it_serves(providers: Providers, claude: Anthropic) -> None:
    """The window that is described is larger than the one that refuses: it has to be learned."""
    providers.world.models = {"tiny": Model(window=50, told_window=100)}
    assert claude.models.retrieve("tiny").max_input_tokens == 100
    check_refused(lambda: ask(claude, user("x" * 4 * 60)), "64 tokens > 50 maximum")
