"""Anthropic messages: blocks read, kept and sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.core.messages import Category, Kind, Part, ToolCall

from .checks import COST, check_refused, check_stored, slimmed, verbatim

CODEC = AnthropicMessages()

ANY_TEXT = st.text(st.characters(), max_size=40)
NAMES = st.text(min_size=1, max_size=12)
TEXT = st.fixed_dictionaries({"type": st.just("text"), "text": ANY_TEXT})
THINKING = st.fixed_dictionaries({"type": st.just("thinking"), "thinking": ANY_TEXT, "signature": NAMES})
TOOL_USE = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "id": NAMES, "name": NAMES, "input": st.dictionaries(NAMES, ANY_TEXT, max_size=2)}
)
TOOL_RESULT = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_use_id": NAMES, "content": ANY_TEXT | st.lists(TEXT, max_size=2)}
)
UNKNOWN = st.fixed_dictionaries({"type": st.just("brand_new"), "data": ANY_TEXT})
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": ANY_TEXT}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.lists(TEXT | THINKING | TOOL_USE | UNKNOWN, min_size=1, max_size=4),
            "stop_reason": st.just("tool_use"),
        }
    ),
    st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(TOOL_RESULT | TEXT, min_size=1, max_size=4)}),
)

RESULTS = [
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "one"}]},
    {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True},
]
STEP = [
    {"type": "thinking", "thinking": "where is it", "signature": "c2ln"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py", "n": 9**300}},
    {"type": "tool_use", "id": "t2", "name": "run", "input": {}},
]


def sent(part: Part) -> dict[str, object]:
    """Return what the codec sends for a part, as a dict."""
    value = json.loads(CODEC.encode(part))
    assert isinstance(value, dict)
    return value


@given(MESSAGES)
def test_decode_gives_the_same_message_when_it_reads_a_stored_payload(obj: dict[str, object]) -> None:
    """Text, calls and results can be made again from what is stored."""
    check_stored(CODEC, CODEC.to_message(obj))


@given(MESSAGES)
def test_encode_sends_what_was_said_when_the_part_is_verbatim(obj: dict[str, object]) -> None:
    """Decoding what is sent gives text, calls and results back; the envelope stays behind."""
    message = CODEC.to_message(obj)
    payload = CODEC.encode(verbatim(message))
    again = CODEC.decode(payload)
    assert (again.text, again.calls, again.results) == (message.text, message.calls, message.results)
    assert "stop_reason" not in json.loads(payload)


@given(MESSAGES, st.text(min_size=1, max_size=20))
def test_encode_keeps_calls_and_results_when_a_message_is_slimmed(obj: dict[str, object], digest: str) -> None:
    """Only what was said is replaced: pairs stay pairs, and the text sent is the digest alone."""
    message = CODEC.to_message(obj)
    again = CODEC.decode(CODEC.encode(slimmed(message, digest)))
    assert (again.text, again.calls, again.results) == (digest, message.calls, message.results)


@given(MESSAGES)
def test_split_says_the_same_when_results_and_words_come_apart(obj: dict[str, object]) -> None:
    """Results first, then the words; nothing is lost and nothing is said twice."""
    parts = CODEC.split(obj)
    messages = [CODEC.to_message(part) for part in parts]
    whole = CODEC.to_message(obj)
    assert sum((message.results for message in messages), ()) == whole.results
    if len(parts) == 1:
        assert messages == [whole]
    else:
        assert [message.role for message in messages] == ["tool", "user"]
        lines = [json.dumps(block) for part in parts for block in _blocks(part)]
        assert sorted(lines) == sorted(json.dumps(block) for block in _blocks(obj))


def _blocks(obj: dict[str, object]) -> list[object]:
    content = obj["content"]
    assert isinstance(content, list)
    return content


def test_to_message_reads_calls_when_an_assistant_uses_tools() -> None:
    """Arguments are the JSON text of the input, integers of 300 digits included; thinking is read, too."""
    message = CODEC.to_message({"role": "assistant", "content": STEP})
    assert message.text == "where is it\nI look."
    assert message.calls == (
        ToolCall("t1", "read_file", json.dumps({"path": "a.py", "n": 9**300})),
        ToolCall("t2", "run", "{}"),
    )


def test_to_message_is_a_tool_message_when_it_answers_several_calls() -> None:
    """One native message may answer several calls; it opens no turn."""
    message = CODEC.to_message({"role": "user", "content": RESULTS})
    assert (message.role, message.category) == ("tool", Category.SYSTEM_OUTPUT)
    assert message.results == ("t1", "t2")
    assert message.text == "one\ntwo"


def test_text_shows_an_unknown_block_when_nobody_knows_what_it_costs() -> None:
    """It counts as its JSON text; server tools stay inside their step without being calls of ours."""
    block = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "weir"}}
    message = CODEC.to_message({"role": "assistant", "content": [block]})
    assert json.loads(message.text) == block
    assert message.calls == ()


def test_text_shows_a_document_when_it_is_given_as_text() -> None:
    """Plain text inside a document is read; bytes of a PDF are not."""
    plain = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "the tide table"}}
    scanned = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}}
    message = CODEC.to_message({"role": "user", "content": [plain, scanned]})
    assert "the tide table" in message.text
    assert "JVBERi0x" not in message.text


@pytest.mark.parametrize(
    ("content", "least", "most"),
    [
        ("text", 0, 0),
        (RESULTS, 0, 0),
        ([{"type": "image", "source": {"type": "base64", "data": "A" * 900_000}}], 4_000, 6_000),
        ([{"type": "image", "source": {"type": "url", "url": "x"}}] * 3, 12_000, 18_000),
        ([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": {}}]}], 4_000, 6_000),
        ([{"type": "document", "source": {"type": "file", "file_id": "f"}}], 3_000, 6_000),
        ([{"type": "document", "source": {"type": "base64", "data": "A" * 1_000_000}}], 100_000, 200_000),
        ([{"type": "document", "source": {"type": "text", "data": "short"}}], 0, 0),
    ],
)
def test_extra_tokens_counts_media_when_the_text_does_not_show_them(content: object, least: int, most: int) -> None:
    """Images and documents cost tokens wherever they stand (R9)."""
    payload = CODEC.to_message({"role": "user", "content": content}).payload
    assert least <= CODEC.extra_tokens(payload) <= most


def test_encode_puts_the_digest_into_the_first_result_when_it_answers_several() -> None:
    """The others stay, empty, so that each call has its result; an error that says nothing is refused by Anthropic."""
    message = CODEC.to_message({"role": "user", "content": RESULTS})
    assert sent(slimmed(message, "digest"))["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "digest"},
        {"type": "tool_result", "tool_use_id": "t2"},
    ]


def test_encode_keeps_the_calls_when_an_assistant_message_is_slimmed() -> None:
    """Its words become the digest; thinking that no longer fits goes."""
    message = CODEC.to_message({"role": "assistant", "content": STEP})
    assert sent(slimmed(message, "digest"))["content"] == [{"type": "text", "text": "digest"}, *STEP[2:]]


def test_encode_replaces_inputs_when_a_slimmed_part_brings_arguments() -> None:
    """Anthropic takes objects only: what is cut in mid-object is put into one."""
    message = CODEC.to_message({"role": "assistant", "content": STEP})
    content = sent(slimmed(message, None, ('{"path": "a.py"}', '{"cut in the mid')))["content"]
    assert isinstance(content, list)
    assert content[:2] == STEP[:2]
    assert [block["input"] for block in content[2:]] == [{"path": "a.py"}, {"cut": '{"cut in the mid'}]


def test_encode_leaves_thinking_out_when_it_is_stale() -> None:
    """Signed thinking is refused once anything before it has changed; fresh thinking stays byte for byte."""
    message = CODEC.to_message({"role": "assistant", "content": STEP})
    assert sent(verbatim(message, stale=True))["content"] == STEP[1:]
    assert sent(verbatim(message))["content"] == STEP
    alone = CODEC.to_message({"role": "assistant", "content": STEP[:1]})
    assert sent(verbatim(alone, stale=True))["content"] == [{"type": "text", "text": "(thinking)"}]


def test_encode_leaves_the_envelope_out_when_it_sends_an_answer_back() -> None:
    """An answer comes with id, model and usage; a request must not have them."""
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "diagnostics": None,
        "input_transformations": [],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    message = CODEC.to_message(answer)
    assert CODEC.to_dict(message) == {"role": "assistant", "content": [{"type": "text", "text": "4"}]}
    assert json.loads(message.payload) == answer


def test_encode_puts_a_notice_behind_what_was_said_when_there_is_one() -> None:
    """A block of its own in a list; fenced behind a string."""
    listed = CODEC.to_message({"role": "user", "content": [{"type": "text", "text": "hi"}]})
    content = sent(verbatim(listed, "late"))["content"]
    assert content == [{"type": "text", "text": "hi"}, {"type": "text", "text": "late"}]
    plain = CODEC.to_message({"role": "user", "content": "hi"})
    assert sent(verbatim(plain, "late"))["content"] == "hi\n\n<notice>\nlate\n</notice>"


def test_encode_says_its_text_in_its_role_when_squidbot_made_the_part() -> None:
    """A summary is user-role data."""
    assert sent(Part(Kind.SUMMARY, "user", COST, 0, 3, text="notes")) == {"role": "user", "content": "notes"}


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ([], "not a list"),
        ({"content": "hi"}, "role is missing"),
        ({"role": "tool", "content": "hi"}, "unknown role 'tool'"),
        ({"role": "robot", "content": RESULTS}, "unknown role 'robot'"),
        ({"role": "user", "content": 5}, "content is a number"),
        ({"role": "user", "content": ["hi"]}, "a block of content is a string"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "text of a text block is null"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": 1}]}, "thinking of a thinking block"),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}, "id of a tool_use is missing"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}, "name of a tool_use is missing"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "tool_use_id of a tool_result is missing"),
        ({"role": "user", "content": "hi", "timestamp": "noon"}, "timestamp 'noon'"),
    ],
)
def test_decode_says_which_field_is_wrong_when_it_refuses(obj: object, says: str) -> None:
    """The text names the field, what it is, and what it should be."""
    check_refused(CODEC, json.dumps(obj), says)
