"""Streams and failures through the real SDKs: whole, cut off, ended by an error, late, refused and tried again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .asking import CHAT_TOOL, RESPONSES_TOOL, TOOL, check_refused, user
from .script import Call, Model, Redacted, Text, Thought, saying
from .wire import KEY, Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anthropic import Anthropic
    from openai import OpenAI

    from .script import Json, Piece
    from .wire import Providers

anthropic = pytest.importorskip("anthropic", exc_type=ImportError)
openai = pytest.importorskip("openai", exc_type=ImportError)

ALL: list[Piece] = [
    Thought("hm, let me see"),
    Redacted("hidden"),
    Text("I look: 价格 🦑."),
    Call("look", '{"at": "the 价 \\" key"}'),
]
ARGUMENTS = {"at": 'the 价 " key'}
CLAUDE: Json = {"model": "tiny", "max_tokens": 1_000, "messages": [user("hi")], "tools": [TOOL]}
CHAT: Json = {"model": "tiny", "messages": [user("hi")], "tools": [CHAT_TOOL]}
RESPONSE: Json = {"model": "tiny", "input": "hi", "tools": [RESPONSES_TOOL]}


def wire(said: object) -> Json:
    """Return an SDK's object as it was on the wire, but for ids."""
    assert hasattr(said, "model_dump")
    dumped: Json = said.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dumped


def test_a_streamed_message_is_the_one_that_is_not_streamed(providers: Providers, claude: Anthropic) -> None:
    """Every kind of block, thinking with its signature, characters cut anywhere, usage at the end."""
    providers.script = saying(ALL)
    whole = wire(claude.messages.create(**CLAUDE))
    with claude.messages.stream(**CLAUDE) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    assert {"content_block_start", "content_block_delta", "content_block_stop", "message_delta"} <= set(kinds)
    streamed = [block.model_dump(mode="json", exclude_unset=True) for block in final.content]
    for block in (streamed[3], whole["content"][3]):  # type: ignore[index]  # a list, by the provider's rules
        del block["id"]
    assert streamed == whole["content"]
    assert final.content[3].input == ARGUMENTS
    assert (final.stop_reason, final.usage.output_tokens) == ("tool_use", whole["usage"]["output_tokens"])  # type: ignore[index]  # an object


def test_a_streamed_chat_is_the_one_that_is_not_streamed(providers: Providers, gpt: OpenAI) -> None:
    """Deltas of text and of arguments; usage in a chunk of its own, where it is asked for."""
    providers.script = saying(ALL)
    chunks = list(gpt.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    calls = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
    assert text == "I look: 价格 🦑."
    assert json.loads("".join(call.function.arguments for call in calls)) == ARGUMENTS
    assert [bool(call.id) for call in calls] == [True] + [False] * (len(calls) - 1)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert chunks[-1].usage == gpt.chat.completions.create(**CHAT).usage
    assert all(chunk.usage is None for chunk in gpt.chat.completions.create(**CHAT, stream=True))


def test_a_compatible_server_streams_what_it_thought(providers: Providers, gpt: OpenAI) -> None:
    """Beside the text, under a name that OpenAI does not have."""
    providers.world.models = {"tiny": Model(shows_reasoning=True)}
    providers.script = saying(ALL)
    chunks = list(gpt.chat.completions.create(**CHAT, stream=True))
    thought = "".join(getattr(chunk.choices[0].delta, "reasoning_content", "") for chunk in chunks)
    assert thought == "hm, let me see"


def test_a_streamed_response_is_the_one_that_is_not_streamed(providers: Providers, gpt: OpenAI) -> None:
    """Reasoning, message and call, each event in its place."""
    providers.script = saying(ALL)
    with gpt.responses.stream(**RESPONSE) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert {"response.reasoning_summary_text.delta", "response.output_text.delta"} <= set(kinds)
    assert "response.function_call_arguments.delta" in kinds
    whole = gpt.responses.create(**RESPONSE)
    assert [item.type for item in final.output] == ["reasoning", "reasoning", "message", "function_call"]
    assert final.output_text == whole.output_text == "I look: 价格 🦑."
    assert final.output[3].arguments == whole.output[3].arguments
    assert final.usage == whole.usage


def claude_stream(server: Providers) -> Iterator[object]:
    """Yield the events of Anthropic's SDK."""
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as client:
        yield from client.messages.create(**CLAUDE, stream=True)


def chat_stream(server: Providers) -> Iterator[object]:
    """Yield the chunks of OpenAI's SDK."""
    with openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0) as client:
        yield from client.chat.completions.create(**CHAT, stream=True)


def response_stream(server: Providers) -> Iterator[object]:
    """Yield the events of OpenAI's SDK."""
    with openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0) as client:
        yield from client.responses.create(**RESPONSE, stream=True)


STREAMS = pytest.mark.parametrize("stream", [claude_stream, chat_stream, response_stream])


@STREAMS
def test_a_stream_that_is_cut_off_keeps_what_came(
    providers: Providers, stream: Callable[[Providers], Iterator[object]]
) -> None:
    """The connection closes after some events: these came, then the SDK raises."""
    providers.script = saying("word " * 20)
    providers.faults = [Fault(cut_after=6)]
    came: list[object] = []
    with pytest.raises(Exception, match=r"(?i)connection|closed|incomplete|peer"):
        came.extend(stream(providers))
    assert len(came) >= 4


@STREAMS
def test_a_stream_may_end_in_an_error(providers: Providers, stream: Callable[[Providers], Iterator[object]]) -> None:
    """An event that says so, under status 200."""
    providers.script = saying("word " * 20)
    providers.faults = [Fault(error_after=4)]
    kinds: list[object] = []
    try:
        kinds.extend(getattr(event, "type", "") for event in stream(providers))
    except (anthropic.APIError, openai.APIError) as error:
        kinds.append(str(error))
    assert any(words in str(kinds[-1]).lower() for words in ("overloaded", "error"))


@pytest.mark.parametrize(("status", "named"), [(429, "RateLimitError"), (500, "InternalServerError")])
def test_a_failure_is_raised_as_the_provider_words_it(
    providers: Providers, claude: Anthropic, gpt: OpenAI, status: int, named: str
) -> None:
    """Every endpoint, once each; the next request is answered."""
    asks: list[Callable[[], object]] = [
        lambda: claude.messages.create(**CLAUDE),
        lambda: gpt.chat.completions.create(**CHAT),
        lambda: gpt.responses.create(**RESPONSE),
    ]
    for ask in asks:
        providers.fail(1, status, retry_after="7")
        error = check_refused(ask, f"{status}", status)
        assert type(error).__name__ == named
        assert getattr(error, "response").headers["retry-after"] == "7"  # noqa: B009  # of two SDKs
        assert ask()


def test_an_overloaded_provider_has_a_status_of_its_own(providers: Providers, claude: Anthropic) -> None:
    """529, Anthropic's."""
    providers.fail(1, 529)
    error = check_refused(lambda: claude.messages.create(**CLAUDE), "overloaded_error", 529)
    assert isinstance(error, anthropic.OverloadedError)


def test_a_failed_request_is_tried_again_by_the_sdk(providers: Providers) -> None:
    """As often as it is told to; the header says how long to wait."""
    providers.fail(2, 429, retry_after="0.01")
    with anthropic.Anthropic(api_key=KEY, base_url=providers.url, max_retries=2) as client:
        assert client.messages.create(**CLAUDE)
    assert len(providers.requests) == 3
    providers.fail(2, 500, retry_after="0.01")
    with openai.OpenAI(api_key=KEY, base_url=providers.openai_url, max_retries=1) as client:
        check_refused(lambda: client.responses.create(**RESPONSE), "server had an error", 500)
    assert len(providers.requests) == 5


def test_a_provider_that_says_nothing_is_timed_out(providers: Providers, claude: Anthropic, gpt: OpenAI) -> None:
    """The SDK gives up after its own time."""
    providers.faults = [Fault(hang_seconds=30), Fault(hang_seconds=30)]
    with pytest.raises(anthropic.APITimeoutError):
        claude.with_options(timeout=0.05).messages.create(**CLAUDE)
    with pytest.raises(openai.APITimeoutError):
        gpt.with_options(timeout=0.05).chat.completions.create(**CHAT)


def test_an_answer_that_is_no_json_is_handed_on(providers: Providers, claude: Anthropic) -> None:
    """A proxy's page with status 200: the SDK does not raise, its caller has to look."""
    providers.faults = [Fault(raw=b"<html>Sign in</html>")]
    with pytest.raises(json.JSONDecodeError):
        claude.messages.create(**CLAUDE)
