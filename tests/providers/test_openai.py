"""The adapter of OpenAI's API, both ways to ask, over a server with its rules: checks, failures, the wire."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.providers import Patience
from squidbot.core.errors import ConfigError, ContextOverflowError, InvalidRequestError, LLMError
from squidbot.core.messages import Completion
from squidbot.testing import check_chat, check_llm

from .asking import CHAT_TOOL, RESPONSES_TOOL, user
from .script import Call, Model, Text, Thought, saying
from .wire import KEY, Fault, Providers

pytest.importorskip("openai", exc_type=ImportError)
pytest.importorskip("anthropic", exc_type=ImportError)

from squidbot.adapters.anthropic import (
    AnthropicAccount,
    AnthropicModel,  # behind the check that the SDK is there
)
from squidbot.adapters.openai import OpenAIAccount, OpenAIChatModel, OpenAIResponsesModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import LoadedModel

ONCE = Patience(connect_seconds=1.0, answer_seconds=0.4, retries=0)
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}


def opened(server: Providers, way: str, patience: Patience = ONCE, **more: object) -> LoadedModel:
    """Return the adapter over a server."""
    if way == "anthropic":
        given = AnthropicAccount(server.url, patience=patience, environment={"ANTHROPIC_API_KEY": KEY})
        return AnthropicModel("tiny", account=given, **more)  # type: ignore[arg-type]  # as the test says
    account = OpenAIAccount(server.openai_url, patience=patience, environment={"OPENAI_API_KEY": KEY})
    kind = OpenAIResponsesModel if way == "responses" else OpenAIChatModel
    return kind("tiny", account=account, **more)  # type: ignore[arg-type]  # as above


@pytest.fixture(params=PATHS)
def way(request: pytest.FixtureRequest) -> str:
    """Chat completions, and Responses."""
    return str(request.param)


@pytest.fixture
def gpt_model(providers: Providers, way: str) -> Iterator[LoadedModel]:
    """The adapter, which tries nothing twice."""
    one = opened(providers, way)
    yield one
    one.close()


FAULTS = (
    Fault(status=500),
    Fault(status=429),
    Fault(status=529),
    Fault(status=401),
    Fault(hang_seconds=5),
    Fault(cut_after=3),
    Fault(error_after=3),
    Fault(raw=b"<html>Sign in</html>"),
)


@pytest.mark.parametrize("way", ["anthropic", *PATHS])
def test_each_adapter_keeps_the_promises_of_its_ports(providers: Providers, way: str) -> None:
    """The public checks of language models and of chat: answers, odd texts, threads, overflow, failures raised."""
    providers.world.models = {"tiny": Model(window=2_000)}
    providers.script = saying("The sea.")
    failing = [Providers(script=saying("word " * 9), faults=[fault] * 30) for fault in FAULTS]
    failing.append(Providers(models={}))
    with ExitStack() as stack:
        servers = [stack.enter_context(server) for server in failing]
        one = opened(providers, way)
        stack.callback(one.close)
        broken: list[Callable[[], LoadedModel]] = []
        for server in servers:
            model = opened(server, way)
            stack.callback(model.close)
            broken.append(lambda model=model: model)  # type: ignore[misc]  # each its own
        check_llm(lambda: one, window_tokens=2_000, failing=broken)
        check_chat(lambda: one, window_tokens=2_000, failing=broken)
        empty = stack.enter_context(Providers(script=saying([])))
        cut = stack.enter_context(Providers(script=saying("word " * 400)))
        for server, kind in ((empty, "empty"), (cut, "cut")):
            model = opened(server, way)
            stack.callback(model.close)
            with pytest.raises(LLMError) as caught:
                model.complete("", "Go on.", 20)
            assert caught.value.kind == kind


def test_a_job_is_answered_with_what_it_took(providers: Providers, gpt_model: LoadedModel, way: str) -> None:
    """System and prompt; it streams, asks to be told the usage, and has nothing kept."""
    assert gpt_model.complete("Be brief.", "Sky?", 50) == Completion("Yes.", (3 + 4) + (1 + 4), 1)
    (body,) = providers.bodies(PATHS[way])
    assert body["stream"] is True
    if way == "chat":
        assert (body["max_completion_tokens"], body["stream_options"]) == (50, {"include_usage": True})
    else:
        assert (body["max_output_tokens"], body["store"]) == (50, False)
        assert body["include"] == ["reasoning.encrypted_content"]
    assert providers.held == []
    assert gpt_model.name == "tiny"


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Fault(status=429), "rate-limit", "rate limit of"),
        (Fault(status=529), "unreachable", r"fails \(529\)"),
        (Fault(status=500), "unreachable", r"fails \(500\)"),
        (Fault(status=401), "refused", "rejects the API key in OPENAI_API_KEY"),
        (Fault(hang_seconds=5), "unreachable", "did not answer in time"),
        (Fault(cut_after=3), "unreachable", "cannot reach|closed the connection"),
        (Fault(error_after=3), "unreachable", "The server had an error"),
    ],
)
def test_a_failure_is_named_by_its_kind(
    providers: Providers, gpt_model: LoadedModel, fault: Fault, kind: str, says: str
) -> None:
    """In words of ours, without the key."""
    providers.script = saying("word " * 9)
    providers.faults = [fault]
    with pytest.raises(LLMError, match=says) as caught:
        gpt_model.reply([user("hi")], 100)
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)


def test_it_waits_as_long_as_the_server_says_and_asks_again(providers: Providers, way: str) -> None:
    """429 and 500 with retry-after are no failures before they are final."""
    model = opened(providers, way, ONCE._replace(retries=2))
    providers.fail(1, 429, "0.05")
    providers.fail(1, 500, "0.05")
    assert model.complete("", "Sky?", 50).text == "Yes."
    assert len(providers.requests) == 3
    model.close()


def test_parallel_calls_come_whole_and_their_arguments_stay_the_string_that_was_written(
    providers: Providers, gpt_model: LoadedModel, way: str
) -> None:
    """Piece by piece on the wire, and back to the server as they are; cached tokens are told."""
    calls = [Call("look", '{ "at":1}', id="call_1"), Call("look", '{"at": 2 }', id="call_2")]
    providers.script = saying([Thought("hm"), Text("I look."), *calls], "Seen.")
    tool = CHAT_TOOL if way == "chat" else RESPONSES_TOOL
    long = {"role": "system", "content": "Be brief. " * 700}
    reply = gpt_model.reply([long, user("Look!")], 100, [tool])
    message = reply.message
    if way == "chat":
        said = [(one["id"], one["function"]["arguments"]) for one in message["tool_calls"]]  # type: ignore[attr-defined]
        back = [message, *({"role": "tool", "tool_call_id": one, "content": "x"} for one, _ in said)]
    else:
        items = message["output"]
        said = [(item["call_id"], item["arguments"]) for item in items if item["type"] == "function_call"]  # type: ignore[attr-defined]
        outputs = [{"type": "function_call_output", "call_id": one, "output": "x"} for one, _ in said]
        back = [*items, *outputs]  # type: ignore[misc]
    assert said == [("call_1", '{ "at":1}'), ("call_2", '{"at": 2 }')]
    assert reply.finish == "tool_calls"
    again = gpt_model.reply([long, user("Look!"), *back], 100, [tool])
    assert again.finish == "stop"
    assert 1_000 < again.cached_tokens <= again.input_tokens
    assert providers.refused == []


def test_room_for_the_answer_is_said_in_the_words_that_a_server_takes(providers: Providers) -> None:
    """Once it has refused the newer ones; from then on the older ones are said at once."""
    refusing = {"max_completion_tokens": 1, "stream_options": 1}
    model = opened(providers, "chat")
    chat = providers.endpoint("/v1/chat/completions")
    assert chat is not None
    answer = chat.answer

    def older(asked: object, key: str) -> object:
        from .openai_words import refusal  # noqa: PLC0415  # only here

        for name in refusing:
            if name in asked.body:  # type: ignore[attr-defined]
                raise refusal(f"Unrecognized request argument supplied: {name}", name)
        return answer(asked, key)  # type: ignore[arg-type]

    chat.answer = older  # type: ignore[method-assign,assignment]
    assert model.reply([user("hi")], 50).message["content"] == "Yes."
    assert [("max_tokens" in body, "stream_options" in body) for body in providers.bodies(PATHS["chat"])] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert model.complete("", "hi", 50).text == "Yes."
    assert len(providers.refused) == 2
    model.close()


WORDS = [
    ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", 4096),
    ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096),
    ("Trying to keep the first 5000 tokens when context the overflows. … with context length of only 4096", 4096),
    ("This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens.", 4096),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None),
]  # fmt: skip


@pytest.mark.parametrize(("says", "window"), WORDS)
def test_overflow_is_known_in_the_words_of_each_server(providers: Providers, says: str, window: int | None) -> None:
    """OpenAI, llama-server, vLLM, LM Studio, OpenRouter; the window that one names is remembered."""
    from .openai_words import refusal  # noqa: PLC0415  # only here

    def refuses(*_: object) -> None:
        raise refusal(says)

    model = opened(providers, "chat")
    chat = providers.endpoint(PATHS["chat"])
    assert chat is not None
    chat.answer = refuses  # type: ignore[method-assign,assignment]
    with pytest.raises(ContextOverflowError):
        model.reply([user("hi")], 50)
    assert model.window_tokens == window
    model.close()


def test_a_conversation_at_the_provider_is_refused_before_anything_is_asked(providers: Providers, way: str) -> None:
    """Squidbot decides what the model sees; the provider's own memory would add to it."""
    for name in ("previous_response_id", "conversation", "store", "truncation"):
        with pytest.raises(InvalidRequestError, match=name):
            opened(providers, way, options={name: "x"})
    assert providers.requests == []


def test_reasoning_that_no_longer_fits_is_left_out_by_the_provider_and_told(providers: Providers) -> None:
    """Of Responses: the answer says which; nothing is refused."""
    providers.script = saying([Thought("hm"), Text("One.")], "Two.")
    model = opened(providers, "responses")
    said = model.reply([user("hi")], 100).message["output"]
    assert "input_transformations" not in model.reply([user("hi"), *said, user("and?")], 100).message  # type: ignore[misc]
    gone = model.reply([user("hi!"), *said, user("and?")], 100).message["input_transformations"]  # type: ignore[misc]
    assert [one["action"] for one in gone] == ["removed"]  # type: ignore[attr-defined]
    assert providers.refused == []
    model.close()


@pytest.mark.parametrize("name", ["", " x", "a\nb"])
def test_a_model_needs_a_name(name: str, way: str) -> None:
    """Nothing else stands for it."""
    kind = OpenAIResponsesModel if way == "responses" else OpenAIChatModel
    with pytest.raises(ConfigError, match="not a model name"):
        kind(name, "http://127.0.0.1:9/v1")
