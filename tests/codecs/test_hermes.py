"""Messages of hermes-agent: what it keeps beside the words stays, costs nothing, and goes where words are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.codecs.hermes import KEPT_KEYS, Hermes
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.messages import Category, Cost, Kind, Part

from .checks import MARK, check_refused, verbatim

CODEC = Hermes()
CHAT = OpenAIChat()

TEXTS = st.text(st.characters(), max_size=30)
NAMES = st.from_regex(r"[a-z]{1,9}", fullmatch=True)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "id": NAMES,
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": NAMES, "arguments": TEXTS}),
        }
    ),
    max_size=2,
)
SAID = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": TEXTS}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none() | TEXTS, "tool_calls": CALLS}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": NAMES, "content": TEXTS}),
)
BESIDE = st.dictionaries(
    st.sampled_from(sorted(KEPT_KEYS)),
    st.recursive(st.none() | st.just(MARK), st.lists),
    max_size=3,
)


@given(SAID, BESIDE)
def test_a_message_comes_back_as_it_was_and_costs_what_is_sent(
    said: dict[str, object], beside: dict[str, object]
) -> None:
    """To the letter, with all that is kept beside it; text, calls and tokens are those of what is sent."""
    message = CODEC.to_message({**said, **beside})
    assert json.loads(message.payload) == {**said, **beside}
    assert CODEC.encode(verbatim(message)) == message.payload
    plain = CHAT.to_message(said)
    assert CODEC.decode(message.payload) == message
    assert (message.text, message.calls, message.results) == (plain.text, plain.calls, plain.results)
    assert CODEC.extra_tokens(message.payload) == CHAT.extra_tokens(plain.payload)
    assert CODEC.portable(message.payload) == CHAT.portable(plain.payload)


@given(SAID, BESIDE)
def test_what_stands_beside_words_goes_where_they_are_cut_or_forgotten(
    said: dict[str, object], beside: dict[str, object]
) -> None:
    """It says the same again."""
    payload = json.dumps({**said, **beside, "api_content": MARK})
    whole, calls = verbatim(CODEC.decode(payload)), CODEC.decode(payload).calls
    for sent in (
        CODEC.encode(whole._replace(text="Short.")),
        CODEC.encode(whole._replace(text="", arguments=("{}",) * len(calls))),
        CODEC.tombstone(payload, "(forgotten)"),
    ):
        assert MARK not in sent
        assert not KEPT_KEYS & set(json.loads(sent))
        assert [(call.id, call.name) for call in CODEC.decode(sent).calls] == [(call.id, call.name) for call in calls]


def test_the_words_that_hermes_sends_are_those_that_count() -> None:
    """What it has put before or behind what the user said is read, searched, and sent on to others."""
    payload = json.dumps({"role": "user", "content": "Hello.", "api_content": "Hello.\n\n<memory>It rains.</memory>"})
    assert CODEC.text(payload) == CODEC.decode(payload).text == "Hello.\n\n<memory>It rains.</memory>"
    noticed = CODEC.decode(CODEC.encode(verbatim(CODEC.decode(payload))._replace(notice="Late.")))
    assert noticed.text.startswith("Hello.\n\n<memory>It rains.</memory>\n\n<notice>")
    assert CODEC.text('{"role": "user", "content": "Hello.", "api_content": ""}') == "Hello."


def test_reasoning_that_providers_want_back_stays_until_it_is_dropped() -> None:
    """`reasoning_details` are sent, and cost; `reasoning` is not."""
    said = {"role": "assistant", "content": "Yes.", "reasoning": "Hm.", "reasoning_details": [{"text": "Hm."}]}
    payload = json.dumps(said)
    assert CODEC.extra_tokens(payload) == CHAT.extra_tokens(json.dumps({**said, "reasoning": None})) > 0
    assert json.loads(CODEC.encode(verbatim(CODEC.decode(payload)))) == said
    bare = json.loads(CODEC.encode(verbatim(CODEC.decode(payload))._replace(drop_thinking=True)))
    assert bare == {"role": "assistant", "content": "Yes."}


def test_what_squidbot_says_itself_is_a_chat_message() -> None:
    """A note has no payload; results are outputs of a system."""
    assert json.loads(CODEC.encode(Part(Kind.SUMMARY, "user", Cost(1, 1), text="Then."))) == {
        "role": "user",
        "content": "Then.",
    }
    result = CODEC.to_message({"role": "tool", "tool_call_id": "c1", "content": "a seal", "timestamp": 5}, None)
    assert (result.category, result.time, result.codec) == (Category.SYSTEM_OUTPUT, 5.0, "hermes/1")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("[]", "a message is a JSON object"),
        ('{"role": "poet", "reasoning": "Hm."}', "unknown role 'poet'"),
        ('{"role": "tool", "content": "x", "tool_name": "y"}', "tool_call_id of a tool message is missing"),
    ],
)
def test_what_is_no_message_is_refused(wrong: str, why: str) -> None:
    """The text says what is wrong."""
    check_refused(CODEC, wrong, why)
