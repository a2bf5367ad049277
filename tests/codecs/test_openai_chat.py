"""OpenAI-style chat messages: what is read, what is kept, what is sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs.fields import fenced
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.messages import Category, Kind, Part, ToolCall

from .checks import COST, check_refused, check_stored, slimmed, verbatim

CODEC = OpenAIChat()

ANY_TEXT = st.text(st.characters(), max_size=60)
NAMES = st.text(st.characters(), min_size=1, max_size=20)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": NAMES,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": NAMES, "arguments": ANY_TEXT}),
        }
    ),
    max_size=3,
)
PARTS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": ANY_TEXT})
    | st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.just({"url": "https://example.org/a.png"})})
    | st.fixed_dictionaries({"type": st.just("something_new"), "value": st.integers() | ANY_TEXT}),
    max_size=4,
)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer", "user"]), "content": ANY_TEXT | PARTS}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none() | ANY_TEXT, "tool_calls": CALLS}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": NAMES, "content": ANY_TEXT | PARTS}),
)


def joined(text: str) -> str:
    """Return the text with each pair of surrogates as the one character that the pair spells."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def rendered(obj: dict[str, object]) -> str:
    """Return the text that costs tokens, written down a second time from the definition of the dump."""
    content = obj.get("content") or ""
    text = content if isinstance(content, str) else ""
    if isinstance(content, list):
        text = "".join(part.get("text", "") for part in content)
    calls = obj.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        text += f"\n{call['function']['name']} {call['function']['arguments']}"
    return text


def sent(part: Part) -> dict[str, object]:
    """Return what the codec sends for a part, as a dict."""
    value = json.loads(CODEC.encode(part))
    assert isinstance(value, dict)
    return value


@given(MESSAGES)
def test_to_message_reads_text_calls_and_results_when_they_hold_any_text(obj: dict[str, object]) -> None:
    """The index says what the message says, lone surrogates and NUL included."""
    message = CODEC.to_message(obj)
    calls = obj.get("tool_calls")
    names = [(call["id"], call["function"]["name"]) for call in calls] if isinstance(calls, list) else []
    assert message.rendered == joined(rendered(obj))
    assert [(call.id, call.name) for call in message.calls] == [(joined(i), joined(n)) for i, n in names]
    assert message.results == ((joined(str(obj["tool_call_id"])),) if obj["role"] == "tool" else ())


@given(MESSAGES)
def test_decode_gives_the_same_message_when_it_reads_a_stored_payload(obj: dict[str, object]) -> None:
    """Text, calls and results can be made again from what is stored."""
    check_stored(CODEC, CODEC.to_message(obj))


@given(MESSAGES)
def test_encode_sends_what_was_said_when_the_part_is_verbatim(obj: dict[str, object]) -> None:
    """Decoding what is sent gives text, calls and results back, and sending twice changes nothing."""
    message = CODEC.to_message(obj)
    again = CODEC.decode(CODEC.encode(verbatim(message)))
    assert (again.text, again.calls, again.results) == (message.text, message.calls, message.results)
    assert CODEC.encode(verbatim(again)) == CODEC.encode(verbatim(message))


@given(MESSAGES, ANY_TEXT)
def test_encode_sends_the_digest_when_a_message_is_slimmed(obj: dict[str, object], digest: str) -> None:
    """Text is replaced whole; calls and results stay, so that pairs stay pairs."""
    message = CODEC.to_message(obj)
    again = CODEC.decode(CODEC.encode(slimmed(message, digest)))
    assert (again.text, again.calls, again.results) == (joined(digest), message.calls, message.results)


@pytest.mark.parametrize(
    ("role", "expected", "category"),
    [
        ("system", "system", Category.SYSTEM),
        ("developer", "system", Category.SYSTEM),
        ("user", "user", Category.DIALOG),
        ("assistant", "assistant", Category.DIALOG),
        ("tool", "tool", Category.SYSTEM_OUTPUT),
    ],
)
def test_to_message_maps_the_role_when_it_is_known(role: str, expected: str, category: Category) -> None:
    """A developer is the system; a category follows from the role alone."""
    message = CODEC.to_message({"role": role, "content": "error: status", "tool_call_id": "c1"})
    assert (message.role, message.category) == (expected, category)


def test_to_message_pairs_by_name_when_the_recording_is_older_than_call_ids() -> None:
    """One function at a time was called then, and its name is the only link."""
    asked = CODEC.to_message(
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at": 1}'}}
    )
    told = CODEC.to_message({"role": "function", "name": "look", "content": "a bird"})
    assert asked.calls == (ToolCall("look", "look", '{"at": 1}'),)
    assert (told.role, told.results) == ("tool", ("look",))


def test_to_message_keeps_arguments_as_they_came_when_they_are_odd_strings() -> None:
    """Spaces, broken JSON and integers of 400 digits are the model's own words."""
    for arguments in ('{ "n" : 1 }', '{"cut', '{"n": ' + "9" * 400 + "}"):
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        message = CODEC.to_message({"role": "assistant", "tool_calls": [call]})
        assert message.calls == (ToolCall("c1", "f", arguments),)


def test_to_message_writes_arguments_down_when_a_recorder_stored_an_object() -> None:
    """Some hosts parse the string before they store it; nothing is none."""
    calls = [
        {"id": "c1", "function": {"name": "f", "arguments": {"path": "价格.txt"}}},
        {"id": "c2", "function": {"name": "g"}},
        {"id": "c3", "type": "custom", "custom": {"name": "h", "input": "free text"}},
    ]
    message = CODEC.to_message({"role": "assistant", "tool_calls": calls})
    assert [call.arguments for call in message.calls] == ['{"path": "价格.txt"}', "{}", "free text"]


def test_to_message_takes_the_time_when_it_is_given_or_recorded() -> None:
    """A time that the host gives wins over the recorded one."""
    obj = {"role": "user", "content": "hi", "timestamp": "1970-01-01T00:01:00Z"}
    assert CODEC.to_message(obj).time == 60.0
    assert CODEC.to_message(obj, time=5.0).time == 5.0
    assert CODEC.to_message({"role": "user", "content": "hi"}).time is None


def test_to_message_keeps_unknown_keys_and_parts_when_it_stores_the_payload() -> None:
    """What we do not understand is somebody else's truth."""
    obj = {"role": "user", "content": [{"type": "hologram", "of": {"a": None}}], "audio": {"id": "a1"}, "x": None}
    message = CODEC.to_message(obj)
    assert json.loads(message.payload) == obj
    assert sent(verbatim(message)) == obj


def test_encode_leaves_out_what_only_recordings_have_when_it_sends() -> None:
    """A provider refuses keys that it does not know; the stored payload keeps them."""
    obj = {"role": "user", "content": "hi", "timestamp": 5, "usage": {"input": 1}, "model": "m", "name": "ada"}
    message = CODEC.to_message(obj)
    assert sent(verbatim(message)) == {"role": "user", "content": "hi", "name": "ada"}
    assert CODEC.to_dict(message) == {"role": "user", "content": "hi", "name": "ada"}
    assert json.loads(message.payload) == obj


def test_encode_puts_a_notice_behind_the_text_when_the_content_is_a_string() -> None:
    """It is fenced, and what the user said before it stays byte for byte."""
    message = CODEC.to_message({"role": "user", "content": "hi"})
    assert sent(verbatim(message, "80 % used"))["content"] == "hi\n\n<notice>\n80 % used\n</notice>"
    empty = CODEC.to_message({"role": "user", "content": None})
    assert sent(verbatim(empty, "80 % used"))["content"] == "<notice>\n80 % used\n</notice>"


def test_encode_puts_a_notice_in_its_own_part_when_the_content_is_a_list() -> None:
    """Parts need no fence: the host's own stay as they are."""
    content = [{"type": "text", "text": "hi"}]
    message = CODEC.to_message({"role": "user", "content": content})
    assert sent(verbatim(message, "late"))["content"] == [*content, {"type": "text", "text": "late"}]


@given(st.text(alphabet="</notice>-23\n", max_size=80) | ANY_TEXT)
def test_fenced_closes_once_when_the_notice_holds_a_closing_mark(notice: str) -> None:
    """Nobody can write themselves out of the fence."""
    text = fenced(notice)
    closing = "</" + text[1 : text.index(">")] + ">"
    assert text.count(closing) == 1
    assert text.endswith(closing)
    assert notice in text


def test_encode_says_its_text_in_its_role_when_squidbot_made_the_part() -> None:
    """A summary is user-role data."""
    part = Part(Kind.SUMMARY, "user", COST, 0, 9, text="what was said", summary_id="s1")
    assert sent(part) == {"role": "user", "content": "what was said"}


def test_encode_cuts_arguments_when_a_slimmed_part_brings_them() -> None:
    """Each call gets its own; its id, name and type stay, and so does the stored payload."""
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "long"}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "long"}},
    ]
    message = CODEC.to_message({"role": "assistant", "content": "I write.", "tool_calls": calls})
    result = sent(slimmed(message, None, ("short", "brief")))
    assert result["content"] == "I write."
    assert result["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "short"}},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "brief"}},
    ]
    legacy = CODEC.to_message({"role": "assistant", "function_call": {"name": "f", "arguments": "long"}})
    assert sent(slimmed(legacy, None, ("short",)))["function_call"] == {"name": "f", "arguments": "short"}


def test_encode_leaves_reasoning_out_when_it_is_stale() -> None:
    """Only when asked: what is fresh goes back to its provider as it came."""
    message = CODEC.to_message({"role": "assistant", "content": "4", "reasoning_content": "2 and 2"})
    stale = Part(Kind.MESSAGE, "assistant", COST, 0, 0, message.payload, message.codec, drop_thinking=True)
    assert sent(stale) == {"role": "assistant", "content": "4"}
    assert sent(verbatim(message))["reasoning_content"] == "2 and 2"


@pytest.mark.parametrize(
    ("content", "least", "most"),
    [
        ("text", 0, 0),
        ([{"type": "text", "text": "text"}], 0, 0),
        ([{"type": "image_url", "image_url": {"url": "data:" + "A" * 90_000, "detail": "low"}}], 85, 400),
        ([{"type": "image_url", "image_url": {"url": "data:" + "A" * 90_000}}], 1_445, 5_000),
        ([{"type": "image_url", "image_url": {"url": "x"}}] * 3, 3 * 1_445, 15_000),
        ([{"type": "image_url", "image_url": {"url": "x", "detail": "original"}}], 10_000, 20_000),
        ([{"type": "refusal", "refusal": "I will not."}], 5, 60),
        ([{"type": "file", "file": {"file_id": "f1"}}], 3_000, 6_000),
        ([{"type": "file", "file": {"file_data": "A" * 1_000_000}}], 100_000, 200_000),
    ],
)
def test_extra_tokens_counts_a_part_when_its_text_does_not_show_it(content: object, least: int, most: int) -> None:
    """Images count by their detail and never by the length of their bytes; unknown parts by their JSON text."""
    payload = CODEC.to_message({"role": "user", "content": content, "timestamp": 1, "name": "ada"}).payload
    assert least <= CODEC.extra_tokens(payload) <= most


def test_extra_tokens_counts_a_key_when_nobody_knows_it_and_it_says_something() -> None:
    """Reasoning goes back to the provider and is billed; an empty key is not."""
    silent: dict[str, object] = {"role": "assistant", "content": "4", "refusal": None, "annotations": [], "model": "m"}
    assert CODEC.extra_tokens(json.dumps(silent)) == 0
    thought = "two and two, so four"
    assert CODEC.extra_tokens(json.dumps({**silent, "reasoning_content": thought})) >= len(thought)


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ([], "not a list"),
        ("hi", "not a string"),
        (3, "not a number"),
        ({"content": "hi"}, "role is missing"),
        ({"role": "robot"}, "unknown role 'robot'"),
        ({"role": ["user"]}, "unknown role"),
        ({"role": "user", "content": 5}, "content is a number"),
        ({"role": "user", "content": {"text": "hi"}}, "content is an object"),
        ({"role": "user", "content": [5]}, "a part of content is a number"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "text of a part of content is a number"),
        ({"role": "tool", "content": "x"}, "tool_call_id of a tool message is missing"),
        ({"role": "tool", "content": "x", "tool_call_id": ""}, "is empty"),
        ({"role": "function", "content": "x"}, "name of a function message is missing"),
        ({"role": "assistant", "tool_calls": {}}, "tool_calls is an object"),
        ({"role": "assistant", "tool_calls": ["c1"]}, "a tool call is a string"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, "id of a tool call is missing"),
        ({"role": "assistant", "tool_calls": [{"id": "c1"}]}, "function of tool call c1 is missing"),
        ({"role": "assistant", "tool_calls": [{"id": "c1", "function": {}}]}, "name of function of tool call c1"),
        ({"role": "user", "content": "hi", "timestamp": "noon"}, "timestamp 'noon' is not ISO 8601"),
    ],
)
def test_decode_says_which_field_is_wrong_when_it_refuses(obj: object, says: str) -> None:
    """The text names the field, what it is, and what it should be."""
    check_refused(CODEC, json.dumps(obj), says)
