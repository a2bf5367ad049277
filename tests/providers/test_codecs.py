"""Answers of the real SDKs through the codecs: stored and sent again as they were, and to other providers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from squidbot.codecs.anthropic_messages import TRANSCRIPT_KEYS, AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core.messages import Cost, Kind, Message, Part

from .asking import CHAT_TOOL, RESPONSES_TOOL, TOOL, user
from .script import Call, Redacted, Text, Thought, saying

if TYPE_CHECKING:
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
