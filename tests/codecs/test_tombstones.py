"""What a codec leaves of a message that is forgotten: who spoke, which tools were called, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat

from .checks import MARK, check_tombstone, verbatim

if TYPE_CHECKING:
    Obj: TypeAlias = dict[str, object]

OPENAI, ANTHROPIC = OpenAIChat(), AnthropicMessages()

STAINED = st.text(max_size=8).map(lambda text: f"{text}{MARK}{text}")
# Any JSON value, no string in it without the secret.
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | STAINED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STAINED, inner, max_size=3),
    max_leaves=6,
)
# Names and ids, which stay; they have no capital letters.
NAMES = st.text(st.characters(categories=("Ll", "Nd")), min_size=1, max_size=9)
STAMPS = st.sampled_from(
    (None, 0, -5.5, 1_700_000_000, 1_700_000_000_123, "2025-03-01", "2025-03-01W09:00:00.5+02:00", "9999-12-31T23:59")
)
LOOSE_KEYS = st.sampled_from(
    ("reasoning", "reasoning_content", "thinking_blocks", "refusal", "annotations", "audio", "usage", "model", "name",
     "id", "stop_reason", "cache_control", "provider_data", MARK, "calls", "container")
)  # fmt: skip
LOOSE = st.dictionaries(LOOSE_KEYS, HOSTILE, max_size=4)


def with_loose(known: Obj, loose: Obj, stamp: object) -> Obj:
    """Return a payload with keys that nobody asked for; those it needs stay as they are."""
    return {**loose, **known} | ({} if stamp is None else {"timestamp": stamp})


OPENAI_PART = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "image_url", MARK)), "text": STAINED, "x": HOSTILE}
)
OPENAI_CALL = st.builds(
    lambda name, kept, key, given, loose: {**loose, **name, kept: {"name": name["id"], key: given, **loose}},
    st.fixed_dictionaries({"id": NAMES}),
    st.sampled_from(("function", "custom")),
    st.sampled_from(("arguments", "input")),
    STAINED | st.dictionaries(STAINED, HOSTILE, max_size=2),
    st.dictionaries(st.sampled_from(("index", "extra_content", MARK)), HOSTILE, max_size=2),
)
CONTENT = st.none() | STAINED | st.lists(STAINED | OPENAI_PART, max_size=3)
OPENAI_MESSAGES = st.builds(
    with_loose,
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from(("system", "developer", "user")), "content": CONTENT}),
        st.fixed_dictionaries(
            {
                "role": st.just("assistant"),
                "content": CONTENT,
                "tool_calls": st.none() | st.lists(OPENAI_CALL, max_size=3),
            }
        ),
        st.fixed_dictionaries(
            {
                "role": st.just("assistant"),
                "content": CONTENT,
                "function_call": st.fixed_dictionaries({"name": NAMES, "arguments": STAINED, "more": HOSTILE}),
            }
        ),
        st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": NAMES, "content": CONTENT}),
        st.fixed_dictionaries({"role": st.just("function"), "name": NAMES, "content": CONTENT}),
    ),
    LOOSE,
    STAMPS,
)

BLOCK_KEYS = st.dictionaries(st.sampled_from(("cache_control", "citations", "is_error", MARK)), HOSTILE, max_size=2)
SAID = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": STAINED}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": STAINED, "signature": STAINED}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": STAINED}),
    st.fixed_dictionaries({"type": st.sampled_from(("image", "document", "server_tool_use")), "source": HOSTILE}),
    st.fixed_dictionaries({"type": STAINED, "text": HOSTILE}),
)
USE = st.builds(
    lambda block, loose: {**loose, **block},
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": NAMES, "name": NAMES, "input": HOSTILE}),
    BLOCK_KEYS,
)
RESULT = st.builds(
    lambda block, loose: {**loose, **block},
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": NAMES, "content": STAINED | st.lists(SAID, max_size=2)}
    ),
    BLOCK_KEYS,
)
ANTHROPIC_MESSAGES = st.builds(
    with_loose,
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(("user", "assistant", "system")),
            "content": st.none() | STAINED | st.lists(SAID | USE | RESULT, max_size=4),
        }
    ),
    LOOSE,
    STAMPS,
)


def left_of(codec: OpenAIChat | AnthropicMessages, obj: Obj, text: str) -> Obj:
    """Check what every codec promises of a tombstone, and return what is sent for it."""
    left = check_tombstone(codec, codec.to_message(obj).payload, text)
    value: Obj = json.loads(codec.encode(verbatim(left)))
    return value


@given(OPENAI_MESSAGES, st.text(max_size=20))
def test_openai_tombstone_keeps_role_calls_and_results_when_words_stand_anywhere(obj: Obj, text: str) -> None:
    """No word stays, whatever key or part it stands in; a provider takes what does."""
    got = left_of(OPENAI, obj, text)
    assert got["role"] == obj["role"]
    assert set(got) <= {"role", "content", "tool_calls", "tool_call_id", "function_call", "name"}
    assert ("name" in got) == (obj["role"] == "function")
    calls = got.get("tool_calls", ())
    assert isinstance(calls, list | tuple)
    for call in calls:
        kept = call["type"]
        assert set(call) == {"id", "type", kept}
        assert set(call[kept]) == {"name", {"function": "arguments", "custom": "input"}[kept]}


FAILED: Obj = {"type": "tool_result", "tool_use_id": "a", "content": MARK, "is_error": True}


@given(ANTHROPIC_MESSAGES, st.text(min_size=1, max_size=20))
@example({"role": "user", "content": [FAILED]}, "gone")
@example({"role": "user", "content": [FAILED, {**FAILED, "tool_use_id": "b"}]}, "gone")
@example({"role": "user", "content": [FAILED, {"type": "tool_result", "tool_use_id": "b", "content": MARK}]}, "gone")
@example({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b"}, FAILED]}, "gone")
def test_anthropic_tombstone_keeps_role_calls_and_results_when_words_stand_anywhere(obj: Obj, text: str) -> None:
    """The same for blocks; inputs are objects, and text stands before the calls or inside the first result.

    That all failed stays with the result that says something: Anthropic takes no empty one that is marked.
    """
    got = left_of(ANTHROPIC, obj, text)
    assert got["role"] == obj["role"]
    assert set(got) == {"role", "content"}
    if isinstance(got["content"], str):
        assert got["content"] == text
        return
    assert isinstance(got["content"], list)
    keys = {
        "text": {"type", "text"},
        "tool_use": {"type", "id", "name", "input"},
        "tool_result": {"type", "tool_use_id"},
    }
    for place, block in enumerate(got["content"]):
        assert set(block) - ({"content", "is_error"} if place == 0 else set()) == keys[block["type"]]
        assert block.get("is_error", True) is True
        assert block.get("input", {}) == {}


@given(st.text(max_size=30) | STAINED | st.datetimes().map(str) | st.integers() | st.floats(allow_nan=False))
def test_stamp_alone_is_the_same_time_when_it_is_one(stamp: object) -> None:
    """And nothing beside it; None for all that is no time."""
    alone = jsontext.stamp_alone(stamp)
    assert MARK not in str(alone)
    try:
        assert jsontext.seconds(alone) == jsontext.seconds(stamp)
    except ValueError:
        assert alone is None


@pytest.mark.parametrize("stamp", ["WALRUS", "2025-03-01 WALRUS", [1], {"WALRUS": 1}, True, 1e300])
def test_tombstone_drops_a_timestamp_that_is_none(stamp: object) -> None:
    """A host that tells the time itself may have left anything there."""
    for codec in (OPENAI, ANTHROPIC):
        said = json.dumps({"role": "user", "content": "x", "timestamp": stamp})
        assert json.loads(codec.tombstone(said, "gone")) == {"role": "user", "content": "gone"}


def test_tombstone_says_what_it_says_in_the_first_result_when_it_answers_several() -> None:
    """Others are empty, as those of a message that is cut down."""
    results = [{"type": "tool_result", "tool_use_id": name, "content": "WALRUS", "is_error": True} for name in "ab"]
    left = ANTHROPIC.tombstone(json.dumps({"role": "user", "content": results}), "gone")
    assert json.loads(left)["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "gone", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b"},
    ]


@pytest.mark.parametrize(
    "payload", ["", "[]", '{"content": "x"}', '{"role": "pirate"}', '{"role": "user", "content": ']
)
def test_tombstone_refuses_what_is_no_message(payload: str) -> None:
    """With the words of `decode`."""
    for codec in (OPENAI, ANTHROPIC):
        with pytest.raises(ValueError, match=r"JSON|object|role"):
            codec.tombstone(payload, "gone")
