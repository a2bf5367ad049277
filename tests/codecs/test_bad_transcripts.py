"""Recordings that can't be read: every message names the file, the line, what is wrong and what to do."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Cost, Kind, Part

if TYPE_CHECKING:
    import pathlib

USER = '{"role": "user", "content": "hi"}\n'
CALL = (
    '{"role": "assistant", "content": null, "tool_calls": '
    '[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}\n'
)
RESULT = '{"role": "tool", "tool_call_id": "c1", "content": "x"}\n'
CODECS = (OpenAIChat(), AnthropicMessages())
WORDS = st.sampled_from(["user", "assistant", "tool", "tool_result", "tool_use", "thinking", "document", "image", "x"])
WRONG = st.recursive(
    st.none() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["role", "type", "content", "id", "function", "source"]), inner, max_size=3)
    ),
    max_leaves=6,
)
ALMOST_MESSAGES = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "messages", "type", "message", "id"]),
    WRONG,
    max_size=4,
) | st.fixed_dictionaries({"role": WORDS, "content": WRONG}, optional={"tool_calls": WRONG, "tool_call_id": WORDS})


def refused(path: pathlib.Path) -> TranscriptError:
    """Return the error that reading a path ends in."""
    with pytest.raises(TranscriptError) as caught:
        read_transcripts(path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        pytest.param("", None, "the file is empty", id="empty"),
        pytest.param(" \n\n\t\n", None, "the file is empty", id="blank"),
        pytest.param("[]", None, "no message in it", id="no message"),
        pytest.param('{"id": "a", "messages": []}\n', None, "no message in it", id="no message in a conversation"),
        pytest.param("hello\n", 1, "broken JSON: Expecting value at column 1", id="prose"),
        pytest.param("role,content\nuser,hi\n", 1, "broken JSON: Expecting value at column 1", id="a table"),
        pytest.param(USER + '{"role": "user", \n', 2, "at column 18", id="a line cut off"),
        pytest.param('{"role": "user", "content": "a\n' + USER, 1, "broken JSON", id="the first line cut off"),
        pytest.param(USER + USER.rstrip() + USER, 2, "Extra data at column 34", id="two in one line"),
        pytest.param('[\n {"role": "user",\n  "content": }]', 3, "at column 14", id="a broken document"),
        pytest.param(USER + "\n\n[1]\n", 4, "the line is a list; expected an object", id="a list in a line"),
        pytest.param(USER + '"hi"\n', 2, "the line is a string", id="a string in a line"),
        pytest.param("3\n4\n", 1, "the line is a number", id="numbers"),
        pytest.param("null", 1, "the line is null", id="null"),
        pytest.param('["hi"]', 1, "message 0: is a string; expected an object", id="a list of strings"),
        pytest.param(USER + '{"content": "hi"}\n', 2, "role is missing; expected one of", id="no role"),
        pytest.param('[{"role": "user"}, {"content": "hi"}]', 1, "message 1: role is missing", id="no role in a list"),
        pytest.param(USER + '{"role": "robot"}\n', 2, "unknown role 'robot'", id="unknown role"),
        pytest.param(USER + '{"role": "user", "content": 5}\n', 2, "content is a number", id="content"),
        pytest.param(USER + '{"role": "user", "content": NaN}\n', 2, "NaN is not JSON", id="NaN"),
        pytest.param(USER + '{"role": "user", "x": -Infinity}\n', 2, "-Infinity is not JSON", id="infinity"),
        pytest.param(USER + '{"role": "user", "x": ' + "1" * 5000 + "}\n", 2, "4300 digits", id="a huge integer"),
        pytest.param(USER + "[" * 100_000 + "\n", 2, "nested deeper than 200 levels", id="a bomb"),
        pytest.param("[" * 100_000, 1, "nested deeper than 200 levels", id="a bomb alone"),
        pytest.param(USER + '{"a":' * 5000 + "1" + "}" * 5000, 2, "nested deeper than 200", id="a whole bomb"),
        pytest.param(RESULT, 1, "tool result 'c1' has no call before it", id="no call"),
        pytest.param(USER + RESULT + CALL, 2, "tool result 'c1' has no call before it", id="the call too late"),
        pytest.param(USER + CALL + RESULT + RESULT, 4, "'c1' was answered before", id="two results"),
        pytest.param(USER + CALL.replace('"id": "c1", ', ""), 2, "id of a tool call is missing", id="no call id"),
        pytest.param(USER + CALL.replace('"name": "f", ', ""), 2, "name of function of tool call c1", id="no name"),
        pytest.param(USER + CALL.replace('"function": {', '"fn": {'), 2, "function of tool call c1", id="no function"),
        pytest.param('{"id": "a", "messages": []}\n' + USER, 2, "messages must be a list", id="a message among talks"),
        pytest.param('{"id": "a", "messages": "hi"}\n', 1, "messages must be a list", id="messages of a wrong type"),
        pytest.param('{"id": "", "messages": []}\n', 1, "the id is not a string of 1 to 1024", id="an empty id"),
        pytest.param('{"id": [], "messages": []}\n', 1, "the id is not a string", id="an id of a wrong type"),
        pytest.param('{"id": "a", "messages": []}\n' * 2, 2, "the id 'a' came before", id="an id twice"),
        pytest.param('{"timestamp": "noon", "role": "user"}', 1, "timestamp 'noon' is not ISO 8601", id="a time"),
    ],
)
def test_read_transcripts_says_where_and_why_when_a_text_is_no_transcript(
    tmp_path: pathlib.Path, text: str, line: int | None, says: str
) -> None:
    """The path leads, so that a terminal can jump there."""
    path = tmp_path / "talk.jsonl"
    path.write_text(text, encoding="utf-8")
    error = refused(path)
    assert says in str(error)
    assert (error.path, error.line) == (str(path), line)
    assert str(error).startswith(str(path) if line is None else f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        pytest.param(USER.encode() + b'{"role": "user", "content": "gr\xfc\xdfe"}\n', 2, "is not UTF-8", id="latin-1"),
        pytest.param(USER.encode("utf-16"), 1, "is UTF-16; save it as UTF-8", id="UTF-16"),
        pytest.param(b"\xfe\xff" + USER.encode("utf-16-be"), 1, "is UTF-16", id="UTF-16, big end first"),
        pytest.param(b'{"role": "user", "content": "\xed\xa0\x80"}', 1, "is not UTF-8", id="a surrogate in bytes"),
        pytest.param(b"\x00\x01\x02\x03", 1, "broken JSON", id="bytes"),
    ],
)
def test_read_transcripts_says_so_when_the_encoding_is_wrong(
    tmp_path: pathlib.Path, data: bytes, line: int, says: str
) -> None:
    """Another encoding is never guessed: it would change what was said."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(data)
    error = refused(path)
    assert says in str(error)
    assert error.line == line


def test_read_transcripts_says_so_when_there_is_no_file(tmp_path: pathlib.Path) -> None:
    """The user's path is named as given."""
    error = refused(tmp_path / "none.jsonl")
    assert "there is no such file" in str(error)
    assert error.line is None


def test_read_transcripts_says_so_when_a_directory_has_no_transcript(tmp_path: pathlib.Path) -> None:
    """Files of other kinds do not count."""
    (tmp_path / "notes.txt").write_text("hi")
    assert "no *.jsonl or *.json file" in str(refused(tmp_path))


def test_read_transcripts_names_the_file_when_one_of_a_directory_is_broken(tmp_path: pathlib.Path) -> None:
    """Not the directory: that is not where to look."""
    (tmp_path / "a.jsonl").write_text(USER)
    (tmp_path / "b.jsonl").write_text(USER + "{")
    assert refused(tmp_path).path == str(tmp_path / "b.jsonl")


def test_read_transcripts_refuses_an_id_when_two_files_of_a_directory_have_it(tmp_path: pathlib.Path) -> None:
    """Each conversation is a session of its own."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps({"id": "same", "messages": [{"role": "user", "content": name}]}))
    error = refused(tmp_path)
    assert "the id 'same' came before" in str(error)
    assert error.path == str(tmp_path / "b.json")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(data=st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_read_transcripts_raises_nothing_else_when_the_file_is_anything(tmp_path: pathlib.Path, data: bytes) -> None:
    """Whatever a file holds, the answer is a conversation or this error."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(data)
    with contextlib.suppress(TranscriptError):
        assert any(talk.messages for talk in read_transcripts(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(values=st.lists(ALMOST_MESSAGES, min_size=1, max_size=3))
def test_read_transcripts_raises_nothing_else_when_values_are_almost_messages(
    tmp_path: pathlib.Path, values: list[dict[str, object]]
) -> None:
    """Right keys with wrong values in every place; and what was read can be counted and sent."""
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    with contextlib.suppress(TranscriptError):
        for talk in read_transcripts(path, strict=False):
            codec = next(codec for codec in CODECS if codec.tag == talk.codec)
            for message in talk.messages:
                part = Part(
                    Kind.MESSAGE, message.role, Cost(1, 1), payload=message.payload, codec=codec.tag, text="cut"
                )
                assert codec.decode(codec.encode(part)).calls == message.calls
                assert codec.extra_tokens(message.payload) >= 0
