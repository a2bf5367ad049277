"""Pictures in each form of messages: counted, and told as texts without changing anything else (P-10)."""

from __future__ import annotations

import json

import pytest

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.ports import Codec, SupportsImages

DATA = "aGk="
URL = "https://example.org/a.png"
SOURCE = {"type": "base64", "media_type": "image/png", "data": DATA}
CHAT: dict[str, object] = {
    "role": "user",
    "content": [
        {"type": "text", "text": "these"},
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    ],
}
# Each form with two pictures, and what stands in the place of the first.
FORMS: dict[str, tuple[Codec, dict[str, object], object]] = {
    "chat": (OpenAIChat(), CHAT, {"type": "text", "text": "{}"}),
    "hermes": (Hermes(), CHAT, {"type": "text", "text": "{}"}),
    "anthropic": (
        AnthropicMessages(),
        {
            "role": "user",
            "content": [
                {"type": "image", "source": SOURCE},
                {"type": "text", "text": "these"},
                {"type": "image", "source": {"type": "url", "url": URL}},
            ],
        },
        {"type": "text", "text": "{}"},
    ),
    "anthropic result": (
        AnthropicMessages(),
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "image", "source": SOURCE}, {"type": "image", "source": SOURCE}],
                }
            ],
        },
        {"type": "text", "text": "{}"},
    ),
    "responses": (
        OpenAIResponses(),
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "these"},
                {"type": "input_image", "image_url": URL, "detail": "low"},
                {"type": "input_image", "image_url": URL},
            ],
        },
        {"type": "input_text", "text": "{}"},
    ),
    "responses result": (
        OpenAIResponses(),
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_image", "image_url": URL}, {"type": "input_image", "image_url": URL}],
        },
        {"type": "input_text", "text": "{}"},
    ),
    "langchain": (
        LangChain(),
        {
            "type": "human",
            "data": {
                "type": "human",
                "content": [
                    {"type": "text", "text": "these"},
                    {"type": "image_url", "image_url": {"url": URL}},
                    {"type": "image", "base64": DATA, "mime_type": "image/png"},
                ],
            },
        },
        {"type": "text", "text": "{}"},
    ),
    "pydantic-ai": (
        PydanticAI(),
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "user-prompt",
                    "content": [
                        "these",
                        {"kind": "image-url", "url": URL},
                        {"kind": "binary", "media_type": "image/png", "data": DATA},
                    ],
                }
            ],
        },
        "{}",
    ),
    "llm": (
        LLMMessages(),
        {
            "role": "user",
            "parts": [
                {"type": "text", "text": "these"},
                {"type": "attachment", "attachment": {"type": "image/png", "content": DATA}},
                {"type": "attachment", "attachment": {"type": "image/jpeg", "url": URL}},
            ],
        },
        {"type": "text", "text": "{}"},
    ),
}


def pictures(codec: Codec) -> SupportsImages:
    """Return a codec as what shows pictures."""
    assert isinstance(codec, SupportsImages)
    return codec


def replaced(value: object, text: str) -> object:
    """Return a value with a text in the place of "{}"."""
    return json.loads(json.dumps(value).replace("{}", text))


@pytest.mark.parametrize("form", FORMS)
def test_first_pictures_are_told_as_texts(form: str) -> None:
    """One of two, then both; the message is still one of its form, with its words, and costs less (P-10)."""
    codec, native, instead = FORMS[form]
    payload = codec.to_message(native).payload
    assert pictures(codec).images(payload) == 2
    once = pictures(codec).without_images(payload, 1, "m7")
    assert pictures(codec).images(once) == 1
    said = replaced(instead, "[image 1 of 2: stored, not shown; recall m7]")
    assert json.dumps(said)[1:-1] in json.dumps(json.loads(once))
    both = pictures(codec).without_images(payload, 2, "m7")
    assert pictures(codec).images(both) == 0
    assert DATA not in both
    assert URL not in both
    assert codec.extra_tokens(both) < codec.extra_tokens(payload)
    before, after = codec.decode(payload), codec.decode(both)
    assert (after.role, after.results, after.calls) == (before.role, before.results, before.calls)
    assert before.text in after.text or form == "pydantic-ai"
    assert "[image 2 of 2: stored, not shown; recall m7]" in after.text


@pytest.mark.parametrize("form", FORMS)
def test_nothing_changes_where_no_picture_goes(form: str) -> None:
    """None of them, or more than there are; what is no JSON is left alone."""
    codec, native, _ = FORMS[form]
    payload = codec.to_message(native).payload
    assert json.loads(pictures(codec).without_images(payload, 0, "m7")) == json.loads(payload)
    assert pictures(codec).without_images(payload, 9, "m7") == pictures(codec).without_images(payload, 2, "m7")
    assert pictures(codec).images("{no image") == 0


def test_pictures_that_hang_at_a_result_are_told_behind_its_output() -> None:
    """What is no picture stays there."""
    result = {
        "type": "tool_result",
        "tool_call_id": "c1",
        "name": "shoot",
        "output": "taken",
        "attachments": [{"type": "image/png", "content": DATA}, {"type": "audio/wav", "content": DATA}],
    }
    payload = LLMMessages().to_message({"role": "tool", "parts": [result]}).payload
    (part,) = json.loads(LLMMessages().without_images(payload, 1, "m3"))["parts"]
    assert part["output"] == "taken\n[image 1 of 1: stored, not shown; recall m3]"
    assert part["attachments"] == [{"type": "audio/wav", "content": DATA}]


def test_what_tools_were_given_shows_no_picture() -> None:
    """An argument that looks like one is data."""
    call = {"type": "tool_use", "id": "t1", "name": "draw", "input": {"type": "image", "source": {}}}
    payload = AnthropicMessages().to_message({"role": "assistant", "content": [call]}).payload
    assert AnthropicMessages().images(payload) == 0
