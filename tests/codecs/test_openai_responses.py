"""OpenAI Responses: items and steps, what is read, what is kept, what is sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.codecs.openai_responses import KEPT_KEYS, OpenAIResponses
from squidbot.core.messages import Category, Kind, Part, ToolCall

from .checks import COST, check_refused, check_stored, check_tombstone, slimmed, verbatim

CODEC = OpenAIResponses()

ANY_TEXT = st.text(st.characters(), max_size=40)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
WORDS = st.fixed_dictionaries({"type": st.just("output_text"), "text": ANY_TEXT, "annotations": st.just([])})
ANSWER = st.fixed_dictionaries(
    {
        "id": NAMES,
        "type": st.just("message"),
        "role": st.just("assistant"),
        "status": st.just("completed"),
        "content": st.lists(WORDS, max_size=2),
        "phase": st.none() | st.just("commentary"),
    }
)
SUMMARY = st.fixed_dictionaries({"type": st.just("summary_text"), "text": ANY_TEXT})
REASONING = st.fixed_dictionaries(
    {"id": NAMES, "type": st.just("reasoning"), "summary": st.lists(SUMMARY, max_size=2), "encrypted_content": NAMES}
)
CALL = st.fixed_dictionaries(
    {"id": NAMES, "type": st.just("function_call"), "call_id": NAMES, "name": NAMES, "arguments": ANY_TEXT}
)
CUSTOM = st.fixed_dictionaries(
    {"id": NAMES, "type": st.just("custom_tool_call"), "call_id": NAMES, "name": NAMES, "input": ANY_TEXT}
)
UNKNOWN = st.fixed_dictionaries({"id": NAMES, "type": st.just("hologram"), "of": ANY_TEXT | st.none()})
MADE = st.lists(ANSWER | REASONING | CALL | CUSTOM | UNKNOWN, min_size=1, max_size=4)
STEPS = st.builds(
    lambda output: {"id": "resp_1", "output": output, "status": "completed", "model": "m", "created_at": 5.0}, MADE
)
PART = st.fixed_dictionaries({"type": st.just("input_text"), "text": ANY_TEXT})
ASKED = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "developer"]), "content": ANY_TEXT | st.lists(PART, max_size=2)}
)
OUTPUT = st.fixed_dictionaries(
    {"type": st.just("function_call_output"), "call_id": NAMES, "output": ANY_TEXT | st.lists(PART, max_size=2)}
)
PAYLOADS = STEPS | ASKED | OUTPUT | ANSWER | CALL

THOUGHT: dict[str, object] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "where is it"}],
    "encrypted_content": "c2VhbGVk" * 10,
    "status": None,
}
SAID: dict[str, object] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": None}],
}
READ: dict[str, object] = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "c1",
    "name": "read",
    "arguments": '{ "at":1}',
}
RUN: dict[str, object] = {"id": "fc_2", "type": "function_call", "call_id": "c2", "name": "run", "arguments": '{"cut'}
SEARCH: dict[str, object] = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "weir"},
}
STEP = [THOUGHT, SAID, READ, RUN]
RESPONSE: dict[str, object] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 60.0,
    "model": "m",
    "status": "completed",
    "output": STEP,
    "tools": [{"type": "function", "name": "read"}],
    "instructions": "Be brief.",
    "usage": {"input_tokens": 5, "output_tokens": 2},
}


def sent(part: Part) -> list[dict[str, object]]:
    """Return what the codec sends for a part, as a list of items."""
    value = json.loads(CODEC.encode(part))
    return value if isinstance(value, list) else [value]


def items(obj: dict[str, object]) -> list[object]:
    """Return the items of an object as JSON gives them back."""
    held = obj.get("output") if "call_id" not in obj else None
    made: list[object] = json.loads(json.dumps(held if isinstance(held, list) else [obj]))
    return made


@given(PAYLOADS)
def test_every_item_comes_back_byte_for_byte(obj: dict[str, object]) -> None:
    """Explicit nulls, unknown items, ids, sealed reasoning, the order of keys: sent as it came."""
    message = CODEC.to_message(obj)
    assert [json.dumps(item) for item in sent(verbatim(message))] == [json.dumps(item) for item in items(obj)]
    assert CODEC.to_items(message) == items(obj)
    assert message.payload.encode()


@given(PAYLOADS)
def test_decode_gives_the_same_message_when_it_reads_a_stored_payload(obj: dict[str, object]) -> None:
    """Text, calls and results can be made again from what is stored."""
    check_stored(CODEC, CODEC.to_message(obj))


@given(PAYLOADS, st.text(min_size=1, max_size=20))
def test_encode_keeps_calls_and_results_when_a_message_is_slimmed(obj: dict[str, object], digest: str) -> None:
    """Only what was said is replaced: pairs stay pairs; no id asks for reasoning that went."""
    message = CODEC.to_message(obj)
    cut = sent(slimmed(message, digest))
    again = CODEC.to_message({"output": cut}) if message.role == "assistant" else CODEC.to_message(cut[0])
    assert (again.text, again.calls, again.results) == (digest, message.calls, message.results)
    assert message.role != "assistant" or all("id" not in item for item in cut)


@given(PAYLOADS, st.text(max_size=20))
@example({"type": "function_call_output", "call_id": "c1", "output": "seen"}, "gone")
def test_tombstone_keeps_who_spoke_and_what_was_called(obj: dict[str, object], text: str) -> None:
    """And not a word of it; a second one changes nothing."""
    left = check_tombstone(CODEC, CODEC.to_message(obj).payload, text)
    assert "encrypted_content" not in left.payload


def test_to_message_reads_a_response_as_one_step() -> None:
    """Reasoning, words and parallel calls together; arguments are the model's own string; time is the response's."""
    message = CODEC.to_message(RESPONSE)
    assert (message.role, message.category, message.time) == ("assistant", Category.DIALOG, 60.0)
    assert message.text == "where is it\nI look."
    assert message.calls == (ToolCall("c1", "read", '{ "at":1}'), ToolCall("c2", "run", '{"cut'))
    assert set(json.loads(message.payload)) == set(RESPONSE) & KEPT_KEYS
    assert "Be brief." not in message.payload


def test_to_message_reads_an_output_as_a_tool_message() -> None:
    """One for each call; what a computer shows is JSON."""
    told = CODEC.to_message({"type": "function_call_output", "call_id": "c1", "output": "seen"})
    assert (told.role, told.results, told.text, told.category) == ("tool", ("c1",), "seen", Category.SYSTEM_OUTPUT)
    shot = CODEC.to_message({"type": "computer_call_output", "call_id": "c1", "output": {"type": "screenshot"}})
    assert (shot.role, shot.text) == ("tool", '{"type": "screenshot"}')


def test_calls_of_the_providers_own_tools_are_none_of_ours() -> None:
    """What is answered inside the step, or has no call id, is text."""
    ran = {"type": "shell_call", "id": "sh_1", "call_id": "c7", "action": {"commands": ["ls"]}}
    out = {"type": "shell_call_output", "id": "so_1", "call_id": "c7", "output": [{"stdout": "a.py"}]}
    message = CODEC.to_message({"output": [SEARCH, ran, out, READ]})
    assert [call.id for call in message.calls] == ["c1"]
    assert message.results == ()
    for word in ("weir", "ls", "a.py"):
        assert word in message.text


def test_steps_puts_together_what_the_model_made_in_a_row() -> None:
    """A list of items as a host keeps it: each step one object, the user's words and outputs alone."""
    asked: dict[str, object] = {"role": "user", "content": "hi"}
    told: dict[str, object] = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    other = {**told, "call_id": "c2"}
    assert CODEC.steps([asked, *STEP, told, other, SAID]) == [
        asked,
        {"output": STEP},
        told,
        other,
        {"output": [SAID]},
    ]


def test_encode_leaves_reasoning_out_with_the_ids_that_ask_for_it() -> None:
    """The provider's own tools go with it; a step that only thought says so (R2)."""
    message = CODEC.to_message({"output": [*STEP, SEARCH]})
    kept = sent(verbatim(message, stale=True))
    assert [item["type"] for item in kept] == ["message", "function_call", "function_call"]
    assert all("id" not in item for item in kept)
    alone = CODEC.to_message({"output": [THOUGHT]})
    assert sent(verbatim(alone, stale=True)) == [{"role": "assistant", "content": "(thinking)"}]


def test_encode_cuts_arguments_when_a_slimmed_part_brings_them() -> None:
    """Each call gets its own; words stay, reasoning goes."""
    message = CODEC.to_message({"output": STEP})
    cut = sent(slimmed(message, None, ("short", "brief")))
    assert [item.get("arguments") for item in cut] == [None, "short", "brief"]
    assert cut[0]["content"] == SAID["content"]


def test_encode_puts_a_notice_behind_what_was_said() -> None:
    """A part of its own in a list; fenced behind a string."""
    listed = CODEC.to_message({"role": "user", "content": [{"type": "input_text", "text": "hi"}]})
    content = sent(verbatim(listed, "late"))[0]["content"]
    assert content == [{"type": "input_text", "text": "hi"}, {"type": "input_text", "text": "late"}]
    plain = CODEC.to_message({"role": "user", "content": "hi"})
    assert sent(verbatim(plain, "late"))[0]["content"] == "hi\n\n<notice>\nlate\n</notice>"


def test_encode_says_its_text_in_its_role_when_squidbot_made_the_part() -> None:
    """A summary is user-role data."""
    assert sent(Part(Kind.SUMMARY, "user", COST, 0, 3, text="notes")) == [{"role": "user", "content": "notes"}]


@pytest.mark.parametrize(
    ("obj", "least", "most"),
    [
        ({"role": "user", "content": "text"}, 0, 0),
        ({"role": "user", "content": [{"type": "input_image", "detail": "low", "image_url": "data:"}]}, 85, 400),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "A" * 90_000}]}, 1_445, 5_000),
        ({"role": "user", "content": [{"type": "input_file", "file_data": "A" * 1_000_000}]}, 100_000, 200_000),
        ({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image"}]}, 1_445, 5_000),
        ({**THOUGHT, "encrypted_content": "A" * 4_000}, 750, 1_500),
    ],
)
def test_extra_tokens_counts_what_the_text_does_not_show(obj: dict[str, object], least: int, most: int) -> None:
    """Pictures, files, and reasoning that only the provider can read (R9)."""
    assert least <= CODEC.extra_tokens(json.dumps(obj)) <= most


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ([], "not a list"),
        ({"content": "hi"}, "role of a message is missing"),
        ({"role": "tool", "content": "x"}, "unknown role 'tool'"),
        ({"role": "user", "content": 5}, "content is a number"),
        ({"role": "user", "content": ["hi"]}, "a part of content is a string"),
        ({"role": "user", "content": [{"type": "input_text", "text": 5}]}, "text of a input_text is a number"),
        ({"output": ["hi"]}, "an item of output is a string"),
        (
            {"output": [{"type": "function_call", "call_id": "c", "arguments": ""}]},
            "name of a function_call is missing",
        ),
        ({"type": "function_call_output", "call_id": "", "output": "x"}, "call_id of a function_call_output is empty"),
        ({"type": "function_call", "call_id": [1], "name": "x"}, "call_id of a function_call is a list"),
        ({"type": "item_reference", "id": "msg_1"}, "names what only the provider holds"),
        ({"role": "user", "content": "hi", "timestamp": "noon"}, "timestamp 'noon'"),
    ],
)
def test_decode_says_which_field_is_wrong_when_it_refuses(obj: object, says: str) -> None:
    """The text names the field, what it is, and what it should be."""
    check_refused(CODEC, json.dumps(obj), says)


def test_decode_takes_a_part_of_a_type_that_is_none() -> None:
    """It counts as its JSON, as parts of unknown types do."""
    message = CODEC.decode('{"role": "user", "content": [{"type": ["a"]}]}')
    assert message.text == '{"type": ["a"]}'
    assert CODEC.portable(message.payload).role == "user"
