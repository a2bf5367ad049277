"""A conversation goes on with another provider: words and pairs stay, what only the old one can read does not (M8)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.fields import results
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.messages import Media, Portable, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from squidbot.core.ports import Codec

CODECS: dict[str, Codec] = {
    codec.tag: codec
    for codec in (
        OpenAIChat(),
        AnthropicMessages(),
        OpenAIResponses(),
        Hermes(),
        PydanticAI(),
        LangChain(),
        LLMMessages(),
    )
}
TAGS = st.sampled_from(sorted(CODECS))

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
OBJECTS = st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2).map(json.dumps)
CALLS = st.builds(ToolCall, IDS, st.from_regex(r"[a-z]{1,9}", fullmatch=True), OBJECTS)
SAID = st.builds(Words, TEXTS)
USER = st.builds(Portable, st.just("user"), st.lists(SAID, min_size=1, max_size=3).map(tuple))
STEP = st.builds(
    lambda words, calls: Portable("assistant", (*words, *calls)),
    st.lists(SAID, max_size=2),
    st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call.id),
)
TOLD = st.builds(
    lambda outcomes: Portable("tool", tuple(outcomes)),
    st.lists(
        st.builds(ToolResult, IDS, st.lists(SAID, min_size=1, max_size=2).map(tuple), st.just(value=False)),
        min_size=1,
        max_size=3,
    ),
)

ANTHROPIC: dict[str, object] = {
    "id": "msg_1",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "THOUGHT", "signature": "SEALED"},
        {"type": "redacted_thinking", "data": "SEALED"},
        {"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"at": 1}},
    ],
}
RESPONSES: dict[str, object] = {
    "id": "resp_1",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "THOUGHT"}],
         "encrypted_content": "SEALED"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"id": "fc_1", "type": "function_call", "call_id": "toolu_1", "name": "read", "arguments": '{"at": 1}'},
    ],
}  # fmt: skip
CHAT: dict[str, object] = {
    "role": "assistant",
    "content": "I look.",
    "refusal": None,
    "reasoning_content": "THOUGHT",
    "tool_calls": [{"id": "toolu_1", "type": "function", "function": {"name": "read", "arguments": '{"at": 1}'}}],
}
PYDANTIC: dict[str, object] = {
    "kind": "response",
    "provider_response_id": "resp_1",
    "parts": [
        {"part_kind": "thinking", "content": "THOUGHT", "id": "rs_1", "signature": "SEALED"},
        {"part_kind": "text", "content": "I look.", "id": "msg_1"},
        {"part_kind": "tool-call", "tool_name": "read", "args": {"at": 1}, "tool_call_id": "toolu_1", "id": "fc_1"},
    ],
}
LANGCHAIN: dict[str, object] = {
    "type": "ai",
    "data": {
        "content": [
            {"type": "thinking", "thinking": "THOUGHT", "signature": "SEALED"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"at": 1}},
        ],
        "tool_calls": [{"name": "read", "args": {"at": 1}, "id": "toolu_1", "type": "tool_call"}],
        "id": "msg_1",
        "response_metadata": {"id": "resp_1"},
    },
}
LLM: dict[str, object] = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "text": "THOUGHT", "provider_metadata": {"anthropic": {"signature": "SEALED"}}},
        {"type": "text", "text": "I look.", "provider_metadata": {"openai": {"id": "msg_1"}}},
        {"type": "tool_call", "name": "read", "arguments": {"at": 1}, "tool_call_id": "toolu_1"},
    ],
    "provider_metadata": {"openai": {"id": "resp_1"}},
}
HERMES: dict[str, object] = {
    "role": "assistant",
    "content": "I look.",
    "reasoning": "THOUGHT",
    "codex_reasoning_items": [{"id": "rs_1", "type": "reasoning", "encrypted_content": "SEALED"}],
    "codex_message_items": [{"id": "msg_1"}],
    "tool_calls": [
        {
            "id": "toolu_1",
            "call_id": "toolu_1",
            "response_item_id": "fc_1",
            "type": "function",
            "function": {"name": "read", "arguments": '{"at": 1}'},
        }
    ],
    "finish_reason": "tool_calls",
}
STEPS = {
    "anthropic.messages": ANTHROPIC,
    "openai.responses": RESPONSES,
    "openai.chat": CHAT,
    "hermes/1": HERMES,
    "pydantic_ai/2": PYDANTIC,
    "lc/1": LANGCHAIN,
    "llm/1": LLM,
}
PAIRS = [(source, target) for source in CODECS for target in CODECS if source != target]


def adopted(tag: str, said: Portable) -> list[dict[str, object]]:
    """Return the messages that a codec sends for what another one's payload said."""
    value = json.loads(CODECS[tag].adopt(said))
    return value if isinstance(value, list) else [value]


def crossed(source: str, target: str, payload: str) -> list[dict[str, object]]:
    """Return the messages that are sent for a payload in another form."""
    return adopted(target, CODECS[source].portable(payload))


def read(tag: str, messages: list[dict[str, object]]) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Return what messages say, which tools they call with what, and the ids of calls that are made and answered."""
    decoded = [CODECS[tag].decode(json.dumps(message)) for message in messages]
    text = "\n".join(filter(None, (message.text for message in decoded)))
    calls = [call for message in decoded for call in message.calls]
    ids = [call.id for call in calls] + [result for message in decoded for result in message.results]
    return text, [(call.name, json.dumps(json.loads(call.arguments))) for call in calls], ids


def joined(pieces: tuple[object, ...]) -> str:
    """Return the words of pieces."""
    return "".join(piece.text for piece in pieces if isinstance(piece, Words))


@given(USER | STEP | TOLD, TAGS, TAGS)
def test_words_and_pairs_stay_when_a_message_crosses_twice(said: Portable, through: str, target: str) -> None:
    """From any form to any other: nothing is lost on the way, and equal calls keep equal ids."""
    once = adopted(through, said)
    assert once == adopted(through, said)
    _, calls, ids = read(through, once)
    assert [name for name, _ in calls] == [piece.name for piece in said.pieces if isinstance(piece, ToolCall)]
    given = [json.loads(piece.arguments) for piece in said.pieces if isinstance(piece, ToolCall)]
    assert [json.loads(arguments) for _, arguments in calls] == given
    assert len(set(ids)) == len({getattr(piece, "id", getattr(piece, "call_id", "")) for piece in said.pieces} - {""})
    again = [each for message in once for each in crossed(through, target, json.dumps(message))]
    text, others, others_ids = read(target, again)
    assert (others, others_ids) == (calls, ids)
    inner = tuple(each for piece in said.pieces for each in (piece.said if isinstance(piece, ToolResult) else (piece,)))
    assert "".join(text.split()) == "".join(joined(inner).split())


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_only_its_own_provider_can_read_stays_behind(source: str, target: str) -> None:
    """Thoughts, signatures, sealed content, ids of items and marks for the cache; words and the call come along."""
    (sent, *more) = crossed(source, target, json.dumps(STEPS[source]))
    text, calls, ids = read(target, [sent, *more])
    assert (text, calls, ids) == ("I look.", [("read", '{"at": 1}')], ["toolu_1"])
    for gone in ("THOUGHT", "SEALED", "msg_1", "rs_1", "fc_1", "resp_1", "cache_control"):
        assert gone not in json.dumps([sent, *more])


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_picture_and_a_document_cross_with_their_bytes(source: str, target: str) -> None:
    """Where the other provider takes them: in what the user says."""
    said = Portable("user", (Words("Look:"), Media("image/png", "QUJD"), Media("application/pdf", "REVG", "", "a.pdf")))
    there = [each for message in adopted(source, said) for each in crossed(source, target, json.dumps(message))]
    assert len(there) == 1
    assert "QUJD" in json.dumps(there)
    assert "REVG" in json.dumps(there)
    again = CODECS[target].portable(json.dumps(there[0]))
    assert [piece.mime for piece in again.pieces if isinstance(piece, Media)] == ["image/png", "application/pdf"]


def test_results_come_first_and_one_by_one_where_the_provider_wants_them_so() -> None:
    """Anthropic takes them in one message before the words, chat completions one message for each."""
    said = Portable(
        "tool", (Words("And?"), ToolResult("t1", (Words("one"),)), ToolResult("t2", (Words("two"),), failed=True))
    )
    (message,) = adopted("anthropic.messages", said)
    content = message["content"]
    assert isinstance(content, list)
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text"]
    assert content[1] == {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True}
    chat = adopted("openai.chat", said)
    assert [one["role"] for one in chat] == ["tool", "tool", "user"]
    assert chat[1]["content"] == "[error]\ntwo"
    items = adopted("openai.responses", said)
    assert [item.get("type", "message") for item in items] == ["function_call_output"] * 2 + ["message"]


@pytest.mark.parametrize("tag", sorted(CODECS))
def test_an_id_that_a_provider_would_refuse_becomes_another(tag: str) -> None:
    """The same one for call and result."""
    long = "call with spaces " * 5
    call = adopted(tag, Portable("assistant", (ToolCall(long, "look", "{}"),)))
    told = adopted(tag, Portable("tool", (ToolResult(long, (Words("seen"),)),)))
    assert read(tag, call)[2] == read(tag, told)[2]
    assert read(tag, call)[2][0].startswith("call_")
    assert len(read(tag, call)[2][0]) <= 40


@pytest.mark.parametrize("tag", sorted(CODECS))
@pytest.mark.parametrize("call_id", ["c1", "functions.look:0", "call with spaces " * 5])
def test_results_of_a_form_s_own_calls_have_their_ids(tag: str, call_id: str) -> None:
    """In every form: nothing else names the call."""
    outcomes = ToolResult(call_id, (Words(call_id),), failed=True), ToolResult("c2", (Words("c2"),))
    told = results(CODECS[tag], outcomes)
    assert read(tag, told)[2] == [call_id, "c2"]


@pytest.mark.parametrize("arguments", ['{"cut', "free text", "[1]", ""])
def test_arguments_that_are_no_object_cross_to_one_that_holds_them(arguments: str) -> None:
    """Anthropic takes objects only; the others take any string."""
    said = Portable("assistant", (ToolCall("c1", "look", arguments),))
    (message,) = adopted("anthropic.messages", said)
    content = message["content"]
    assert isinstance(content, list)
    assert content[0]["input"] == {"input": arguments}
    for tag in ("openai.chat", "openai.responses"):
        assert json.dumps(arguments) in json.dumps(adopted(tag, said))


def test_a_cut_message_crosses_as_it_was_cut() -> None:
    """Digest, arguments and notice go where the words, the arguments and the end were."""
    call = ToolCall("c1", "look", '{"at": 1}')
    said = Portable("assistant", (Words("long"), call))
    assert said.cut("short").with_arguments(('{"at": 2}',)) == Portable(
        "assistant", (Words("short"), ToolCall("c1", "look", '{"at": 2}'))
    )
    told = Portable("tool", (ToolResult("c1", (Words("long"),), failed=True), ToolResult("c2", (Words("longer"),))))
    assert told.cut("short").pieces == (ToolResult("c1", (Words("short"),), failed=True), ToolResult("c2"))
    assert Portable("user", (Words("hi"),)).noticed("late").pieces == (Words("hi"), Words("late"))
