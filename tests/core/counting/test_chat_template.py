"""What a chat template costs, measured from outside, over templates that are a few lines of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.errors import LLMError
from squidbot.core.messages import Cost
from squidbot.core.tokens.counters import Meter, TemplateCounter, TemplateTokens, builtin_counter
from squidbot.testing import check_token_counter

Said = Mapping[str, object]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
CALL = {"id": "a" * 32, "type": "function", "function": {"name": "look", "arguments": '{"q": ["é", "\\n", 1]}'}}
CHAT: list[Said] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
    {"role": "tool", "tool_call_id": "a" * 32, "content": "found"},
    {"role": "tool", "tool_call_id": "a" * 32, "content": "more"},
    {"role": "user", "content": "And?"},
    {"role": "user", "content": "Well?"},
    {"role": "assistant", "content": "Nothing."},
    {"role": "user", "content": "Go on."},
]


def chatml(messages: Sequence[Said], tools: Sequence[Said]) -> str:
    """Return a prompt as ChatML has it, calls as JSON, their arguments as JSON within."""
    text = f"<s>TOOLS{json.dumps(list(tools))}" if tools else "<s>"
    for message in messages:
        text += f"<|{message['role']}|>{message['content'] or ''}"
        calls = message.get("tool_calls", [])
        assert isinstance(calls, list)
        for call in calls:
            text += f"<call {call['id']}>{json.dumps(call['function'])}</call>"
        text += "<|end|>\n"
    return text + "<|assistant|>"


def strict(messages: Sequence[Said], tools: Sequence[Said]) -> str:
    """Return a prompt of a template that wants turns to alternate, ids of nine letters, and no system text."""
    roles = [message["role"] for message in messages if message["role"] != "tool"]
    if tools or roles != [("user", "assistant")[number % 2] for number in range(len(roles))]:
        raise LLMError("refused", "Conversation roles must alternate")
    if any(len(str(message.get("tool_call_id", "123456789"))) != 9 for message in messages):
        raise LLMError("refused", "ids have nine letters")
    return chatml(messages, tools)


def counter(template: object = chatml) -> TemplateCounter:
    """Return a counter of bytes that knows a template."""
    assert callable(template)
    return TemplateCounter(builtin_counter("bytes"), lambda messages, tools: len(template(messages, tools).encode()))


def bound(meter: Meter, messages: Sequence[Said], tools: Sequence[Said]) -> int:
    """Return what a request is counted as."""
    codec = OpenAIChat()
    costs = [meter.said(codec.to_message(message)) for message in messages]
    tools_cost = meter.tools(json.dumps(tools, separators=(",", ":")) if tools else "")
    return sum(cost.bound for cost in costs) + tools_cost.bound + meter.request.bound


def test_template_is_measured_by_differences() -> None:
    """The assistant's marks are the longest; the request has a first token, and the answer is opened."""
    measured = counter().template
    assert measured.message_tokens == len("<|assistant|><|end|>\n")
    assert measured.request_tokens == len("<s><|assistant|>")
    assert measured.call_tokens > 0


def test_request_is_never_counted_under_its_prompt() -> None:
    """Whatever is in it: every beginning that ends where the model is asked, with tools and without."""
    meter = Meter(counter())
    for tools in ([], TOOLS):
        for end in (2, 5, 6, 7, 9):
            real = len(chatml(CHAT[:end], tools).encode())
            counted = bound(meter, CHAT[:end], tools)
            assert real <= counted, (end, tools)
            assert counted <= real + 40 * end, "a bound of any size would do as well"


def test_request_would_be_counted_under_its_prompt_without_the_template() -> None:
    """Which is what the measuring is for."""
    meter = Meter(builtin_counter("bytes"))
    assert bound(meter, CHAT, []) < len(chatml(CHAT, []).encode())


def test_template_that_refuses_much_is_measured_by_what_it_takes() -> None:
    """Where nobody may speak twice, each message costs what two do; ids of nine letters are tried, too."""
    known, free = counter(strict), counter().template
    assert known.template.message_tokens >= free.message_tokens
    assert known.template.call_tokens > 0
    assert known.tools_tokens(json.dumps(TOOLS)) == len(json.dumps(TOOLS)), "as text, where they are refused"
    meter, alternating = Meter(known), [CHAT[1], CHAT[7], CHAT[8]]
    assert bound(meter, alternating, []) >= len(strict(alternating, []).encode())


def test_template_that_refuses_everything_is_an_error() -> None:
    """There is nothing to measure."""

    def refuses(*_: object) -> int:
        raise LLMError("refused", "no")

    with pytest.raises(LLMError):
        TemplateCounter(builtin_counter("bytes"), refuses)


def test_counter_with_template_counts_texts_as_the_one_within() -> None:
    """And is another counter by name: messages cost something else."""
    known, within = counter(), builtin_counter("bytes")
    check_token_counter(known)
    assert (known.name, known.certificate) == (f"{within.name}+template", within.certificate)
    assert known.measure("some text") == Cost(within.count("some text"), within.upper_bound("some text"))


def test_tools_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of a session asks for what its tools cost."""
    known = counter()
    first = known.tools_tokens(json.dumps(TOOLS))
    assert first == len(f"TOOLS{json.dumps(TOOLS)}")
    monkeypatch.setattr(known, "_prompt_tokens", lambda *_: pytest.fail("asked again"))
    assert known.tools_tokens(json.dumps(TOOLS)) == first


def test_meter_without_a_known_template_counts_as_before() -> None:
    """Four tokens for each message, five around all of them, and nothing around calls."""
    meter = Meter(builtin_counter("bytes"))
    message = OpenAIChat().to_message(CHAT[2])
    assert meter.template == TemplateTokens(4, 0, 5)
    assert meter.request == Cost(5, 5)
    assert meter.said(message) == meter.message(message.rendered)
    assert meter.tools("[]") == meter.message("[]")


def test_words_are_not_spent_on_a_template() -> None:
    """A policy in words counts what was said; the bound has the template."""
    meter = Meter(counter(), builtin_counter("words"))
    assert meter.request == Cost(0, counter().template.request_tokens)
    said = meter.said(OpenAIChat().to_message({"role": "user", "content": "three little words"}))
    assert said == Cost(3, 18 + counter().template.message_tokens)
    assert meter.tools(json.dumps(TOOLS)).estimate == len(json.dumps(TOOLS).split())
