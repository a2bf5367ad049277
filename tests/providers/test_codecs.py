"""Answers of the real SDKs through the codecs: stored and sent again as they were, and to other providers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.anthropic_messages import TRANSCRIPT_KEYS, AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core.messages import Cost, Kind, Message, Part

from .asking import CHAT_TOOL, RESPONSES_TOOL, TOOL, text, user
from .script import Call, Redacted, Text, Thought, saying

if TYPE_CHECKING:
    from collections.abc import Callable

    from anthropic import Anthropic
    from openai import OpenAI

    from squidbot.core.ports import Codec

    from .script import Json, Piece
    from .wire import Providers

ALL: list[Piece] = [
    Thought("hm"),
    Redacted("hidden"),
    Text("I look: 价格."),
    Call("look", '{"at": "é", "n": [1, null]}'),
]


def wire(said: object) -> Json:
    """Return an SDK's object as it was on the wire."""
    assert hasattr(said, "model_dump")
    dumped: Json = said.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dumped


def sent(codec: Codec, message: Message) -> object:
    """Return what is sent for a message that stands in a request as it was said."""
    part = Part(Kind.MESSAGE, message.role, Cost(1, 1), 0, 0, message.payload, message.codec)
    value: object = json.loads(codec.encode(part))
    return value


def test_a_message_of_anthropic_is_stored_and_sent_as_it_was(providers: Providers, claude: Anthropic) -> None:
    """The envelope is stored, too, and not sent."""
    providers.script = saying(ALL)
    answer = wire(claude.messages.create(model="tiny", max_tokens=1_000, messages=[user("hi")], tools=[TOOL]))
    message = AnthropicMessages().to_message(answer)
    assert json.dumps(json.loads(message.payload)) == json.dumps(answer)
    kept = {key: value for key, value in answer.items() if key not in TRANSCRIPT_KEYS}
    assert json.dumps(sent(AnthropicMessages(), message)) == json.dumps(kept)


def test_a_message_of_chat_completions_is_stored_and_sent_as_it_was(providers: Providers, gpt: OpenAI) -> None:
    """With its explicit nulls and empty lists."""
    providers.script = saying(ALL)
    answer = gpt.chat.completions.create(model="tiny", messages=[user("hi")], tools=[CHAT_TOOL])
    said = wire(answer.choices[0].message)
    assert said["refusal"] is None
    message = OpenAIChat().to_message(said)
    assert json.dumps(json.loads(message.payload)) == json.dumps(said) == json.dumps(sent(OpenAIChat(), message))


def test_a_response_is_stored_and_sent_as_it_was(providers: Providers, gpt: OpenAI) -> None:
    """Its items, one by one, sealed reasoning and all."""
    providers.script = saying(ALL)
    answer = wire(gpt.responses.create(model="tiny", input="hi", tools=[RESPONSES_TOOL], store=False))
    message = OpenAIResponses().to_message(answer)
    assert json.dumps(sent(OpenAIResponses(), message)) == json.dumps(answer["output"])
    stored = json.loads(message.payload)
    assert all(answer[key] == value for key, value in stored.items())


# -- from one provider to another -------------------------------------------------------------------------------------


def ask_claude(client: Anthropic, messages: list[Json]) -> Json:
    """Return Anthropic's answer."""
    marked = {"thinking": {"type": "adaptive"}, "tools": [TOOL], "model": "tiny", "max_tokens": 1_000}
    return wire(client.messages.create(messages=messages, **marked))


def ask_chat(client: OpenAI, messages: list[Json]) -> Json:
    """Return the answer of chat completions."""
    answer = client.chat.completions.create(model="tiny", messages=messages, tools=[CHAT_TOOL])
    return wire(answer.choices[0].message)


def ask_responses(client: OpenAI, items: list[Json]) -> Json:
    """Return the answer of Responses."""
    return wire(client.responses.create(model="tiny", input=items, tools=[RESPONSES_TOOL], store=False))


RESULTS: dict[str, Callable[[str], Json]] = {
    "anthropic.messages": lambda call: user({"type": "tool_result", "tool_use_id": call, "content": [text("seen")]}),
    "openai.chat": lambda call: {"role": "tool", "tool_call_id": call, "content": "seen"},
    "openai.responses": lambda call: {"type": "function_call_output", "call_id": call, "output": "seen"},
}


class Talk:
    """A session that is carried on with any provider."""

    def __init__(self, claude: Anthropic, gpt: OpenAI) -> None:
        self.engine = squidbot.load({})
        self.asks: dict[str, Callable[[list[Json]], Json]] = {
            "anthropic.messages": lambda messages: ask_claude(claude, messages),
            "openai.chat": lambda messages: ask_chat(gpt, messages),
            "openai.responses": lambda messages: ask_responses(gpt, messages),
        }

    def turn(self, form: str, said: str) -> None:
        """Say something to a provider, let its tool answer, and record all of it."""
        session = self.engine.session("s", form=form, window_tokens=100_000)
        made = session.assemble(said)
        stored = session.record(made.incoming, self.asks[form](made.messages))
        session.record(RESULTS[form](stored[-1].call_ids[0]))
        session.record(self.asks[form](session.assemble().messages))


FORMS = sorted(RESULTS)


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_a_conversation_goes_on_with_another_provider(
    providers: Providers, claude: Anthropic, gpt: OpenAI, first: str, second: str
) -> None:
    """Begun with one, continued with another, back again: no request is refused, words and pairs are all there."""
    step: list[Piece] = [Thought("hm"), Text("I look."), Call("look", '{"at": 1}')]
    providers.script = saying(step, "One seen.", step, "Two seen.", step, "Three seen.")
    talk = Talk(claude, gpt)
    for form, said in ((first, "one?"), (second, "two?"), (first, "three?")):
        talk.turn(form, said)
    assert providers.refused == []
    last = providers.requests[-1].raw.decode()
    for words in ("one?", "two?", "three?", "One seen.", "Two seen.", "I look.", "seen"):
        assert words in last
    assert last.count("call_id") + last.count("tool_use_id") >= 3
