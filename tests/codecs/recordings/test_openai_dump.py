"""Dumps in OpenAI's forms: messages, conversations, items of Responses, and the trees that ChatGPT exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from squidbot.codecs.recordings import openai_dump
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category
from tests.codecs.recordings.reading import (
    HOSTILE,
    accounted,
    checked,
    gone_wrong,
    line_of,
    read_or_refused,
    roles,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.codecs.recordings import RecordedMessage

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CHAT: list[object] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "List it", "timestamp": "2026-01-02T03:04:05Z"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "model": "model-a", "usage": {"prompt_tokens": 9}},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "One file.", "reasoning_content": "hm"},
]
ITEMS: list[object] = [
    {"role": "user", "content": [{"type": "input_text", "text": "List it"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One file."}]},
]


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        pytest.param(CHAT, True, id="lines"),
        pytest.param([CHAT], False, id="a list"),
        pytest.param([{"id": "t-1", "messages": CHAT}], False, id="a conversation"),
        pytest.param([{"id": "t-1", "messages": CHAT}], True, id="a conversation on a line"),
        pytest.param([[{"id": "t-1", "messages": CHAT}]], False, id="a list of conversations"),
    ],
)
def test_read_gives_messages_of_chat_completions(tmp_path: Path, values: list[object], *, lines: bool) -> None:
    """As they are, with their model, usage and time."""
    path = written(tmp_path / "dump.jsonl", values, lines=lines)
    (session,) = openai_dump.read(path)
    assert roles(session) == ["system", "user", "assistant", "tool", "assistant"]
    answer = session.messages[2]
    assert (answer.model, answer.value["usage"]) == ("model-a", {"prompt_tokens": 9})
    assert session.messages[1].time == 1767323045.0
    assert session.messages[4].value["reasoning_content"] == "hm"
    assert session.id == "t-1" or session.id.startswith("dump-")
    assert not session.unread


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        pytest.param(ITEMS, True, id="lines"),
        pytest.param([{"input": ITEMS[:4], "output": ITEMS[4:], "model": "model-a"}], False, id="a request"),
    ],
)
def test_read_gives_items_of_responses_as_steps(tmp_path: Path, values: list[object], *, lines: bool) -> None:
    """What the model made in one answer is one message."""
    (session,) = openai_dump.read(written(tmp_path / "dump.json", values, lines=lines))
    assert session.codec == "openai.responses"
    assert roles(session) == ["user", "assistant", "tool", "assistant"]
    assert session.messages[1].value["output"] == ITEMS[1:3]
    assert checked(session)[1].calls[0].id == "c1"


def test_read_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A call that waits is left for the next time."""
    path = written(tmp_path / "dump.jsonl", CHAT[:3])
    (first,) = openai_dump.read(path, is_over=False)
    assert len(first.messages) == 2
    written(path, CHAT)
    (second,) = openai_dump.read(path, first.position)
    assert [*first.messages, *second.messages] == openai_dump.read(path)[0].messages


def node(own: str, parent: str | None, role: str, content: object, **more: object) -> dict[str, object]:
    """Return a node of ChatGPT's tree."""
    given = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": "python" if role == "tool" else None}
    message = {"id": own, "author": author, "create_time": 1767323045.5, "content": given, "recipient": "all", **more}
    return {"id": own, "message": message, "parent": parent, "children": []}


THOUGHTS = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Count."}]}
POINTER = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
NODES: list[dict[str, object]] = [
    {"id": "root", "message": None, "parent": None, "children": ["a"]},
    node("a", "root", "system", ""),
    node("b", "a", "user", {"content_type": "multimodal_text", "parts": [POINTER, "How many?"]}),
    node("c", "b", "assistant", "Wrong.", metadata={"model_slug": "model-a"}),
    node("d", "b", "assistant", THOUGHTS),
    node("e", "d", "assistant", {"content_type": "code", "text": "1+1"}, recipient="python"),
    node("f", "e", "tool", {"content_type": "execution_output", "text": "2"}),
    node("g", "f", "tool", "and more"),
    node("h", "g", "assistant", "Two.", metadata={"model_slug": "model-b"}),
]
TREE: dict[str, object] = {
    "title": "Counting",
    "conversation_id": "t-9",
    "current_node": "h",
    "mapping": {str(each["id"]): each for each in NODES},
}


def test_read_gives_the_branches_of_chatgpt(tmp_path: Path) -> None:
    """The line that the user saw last comes last; calls and results are paired."""
    (session,) = openai_dump.read(written(tmp_path / "conversations.json", [[TREE]], lines=False))
    assert (session.id, session.title) == ("t-9", "Counting")
    assert [each.id for each in session.messages] == ["b", "c", "d", "e", "f", "g", "h"]
    assert line_of(session, session.messages[1]) == ["b", "c"]
    assert line_of(session, session.messages[-1]) == ["b", "d", "e", "f", "g", "h"]
    read = checked(session)
    assert [each.role for each in read] == ["user", "assistant", "assistant", "assistant", "tool", "user", "assistant"]
    assert (read[3].calls[0].name, read[3].calls[0].arguments, read[4].results) == ("python", "1+1", ("e",))
    assert session.messages[2].value["reasoning_content"] == "Plan\nCount."
    assert session.messages[5].category is Category.AUTOMATED
    assert (session.messages[6].model, session.messages[6].time) == ("model-b", 1767323045.5)
    assert dict(session.unread) == {"nodes without a message": 1, "empty messages": 1}


def test_read_ends_in_a_tree_that_is_none(tmp_path: Path) -> None:
    """Nodes in a circle, and far below each other."""
    circle = {"a": node("a", "b", "user", "1"), "b": node("b", "a", "user", "2"), "c": node("c", "c", "user", "3")}
    deep = {str(at): node(str(at), str(at - 1), "user", "x") for at in range(3000)}
    for mapping, expected in ((circle, 3), (deep, 3000)):
        path = written(tmp_path / "a.json", [[{**TREE, "mapping": mapping, "current_node": "a"}]], lines=False)
        assert accounted(openai_dump.read(path)) == expected


def test_read_refuses_other_files(tmp_path: Path) -> None:
    """Also messages of Anthropic's, which have the same roles."""
    theirs = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}
    for wrong in ([theirs], [{"messages": [theirs]}], [{"a": 1}]):
        with pytest.raises(TranscriptError, match="no dump of OpenAI"):
            openai_dump.read(written(tmp_path / "a.jsonl", wrong))
    assert [*openai_dump.places(tmp_path, {})] == []


@HOSTILE
@given(sample=gone_wrong(CHAT))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[Any]) -> None:
    """Each message is one, or counted, whatever stands in it."""
    path = written(tmp_path / "a.jsonl", sample)
    found = read_or_refused(lambda: openai_dump.read(path))
    read_or_refused(lambda: openai_dump.read(path, is_over=False))
    if (
        found
        and len(sample) > 1
        and found[0].codec == "openai.chat"
        and not any("messages" in each for each in sample if isinstance(each, dict))
    ):
        assert accounted(found) == len(sample)


@HOSTILE
@given(sample=gone_wrong(ITEMS))
def test_read_survives_any_value_in_items(tmp_path: Path, sample: list[Any]) -> None:
    """As in messages."""
    path = written(tmp_path / "a.jsonl", sample)
    found = read_or_refused(lambda: openai_dump.read(path))
    if found and len(sample) > 1 and found[0].codec == "openai.responses":
        items = sum(map(made_of, found[0].messages))
        assert items + sum(found[0].unread.values()) == len(sample)


def made_of(message: RecordedMessage) -> int:
    """Return how many items a message was made of."""
    output = message.value.get("output")
    return len(output) if isinstance(output, list) and "call_id" not in message.value and len(message.value) < 5 else 1


@HOSTILE
@given(sample=gone_wrong([TREE]))
def test_read_survives_any_value_in_a_tree(tmp_path: Path, sample: list[Any]) -> None:
    """Each node is a message or counted."""
    path = written(tmp_path / "a.json", sample, lines=False)
    found = read_or_refused(lambda: openai_dump.read(path))
    if found and isinstance(sample[0], dict) and isinstance(nodes := sample[0].get("mapping"), dict):
        assert accounted(found) == len(nodes)
