"""What squidbot makes of hermes's requests and lists, whichever provider is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from agent.prompt_caching import apply_anthropic_cache_control
from agent.transports import get_transport
from hypothesis import given
from hypothesis import strategies as st

from squidbot.plugins import hermes
from squidbot.plugins.hermes import message_key

from .server import CALL

if TYPE_CHECKING:
    from random import Random

pytestmark = pytest.mark.hermes

LISTED: list[dict[str, Any]] = [
    {"role": "user", "content": "First. " * 9},
    {"role": "assistant", "content": "Aye."},
    {"role": "user", "content": "Look!"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a seal"},
]
SEEN: list[dict[str, Any]] = [{"role": "user", "content": "[notes]"}, *LISTED[2:]]
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}


def _marks(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return int(isinstance(value, dict) and "cache_control" in value) + sum(map(_marks, inner))


def test_marks_for_a_cache_stand_where_hermes_puts_them() -> None:
    """On its own text and the last three messages of what is sent; never more than providers take."""
    chat = [{"role": "system", "content": "You are kind."}, *LISTED]
    request = {"messages": apply_anthropic_cache_control(chat, "1h"), "tools": [TOOL]}
    made = hermes.bounded(request, LISTED, SEEN, api_mode="chat_completions", url="")
    assert made["messages"][0] == request["messages"][0]
    assert _marks(made["messages"]) == 3
    bare = hermes.bounded({"messages": chat}, LISTED, SEEN, api_mode="chat_completions", url="")
    assert _marks(bare) == 0
    assert [each["role"] for each in bare["messages"]] == ["system", "user", "assistant", "tool"]
    assert bare["messages"][1]["content"] == "[notes]\n\nLook!"


def test_messages_that_were_read_stay_as_they_are() -> None:
    """The next request is made of the same ones: marks, merged words and thoughts stand in copies."""
    thought = {"role": "assistant", "content": "Aye.", "reasoning": "A seal?", "reasoning_content": "A seal?"}
    payloads = [json.dumps(each) for each in ({"role": "user", "content": "[notes]"}, LISTED[0], thought, LISTED[2])]
    seen = [each for each in map(hermes.load, payloads) if isinstance(each, hermes.SentMessage)]
    assert all(hermes.load(payload) is each for payload, each in zip(payloads, seen, strict=True))
    chat = [{"role": "system", "content": "You are kind."}, thought, LISTED[2]]
    request = {"messages": apply_anthropic_cache_control(chat, "1h"), "tools": [TOOL]}
    made = [
        hermes.bounded(request, [thought, LISTED[2]], seen, api_mode="chat_completions", url="")["messages"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert [each["role"] for each in made[0]] == ["system", "user", "assistant", "user"]
    assert made[0][1]["content"][0]["text"] == f"[notes]\n\n{LISTED[0]['content'].strip()}"
    assert [json.loads(payload) for payload in payloads] == seen


@pytest.mark.parametrize("is_oauth", [False, True])
def test_requests_of_anthropic_are_made_as_hermes_makes_them(*, is_oauth: bool) -> None:
    """From what is seen, with its own text, its names of tools and its marks."""
    chat = apply_anthropic_cache_control(
        [{"role": "system", "content": "You are kind."}, *LISTED], native_anthropic=True
    )
    transport = get_transport("anthropic_messages")
    request = transport.build_kwargs("claude-opus-5", chat, [TOOL], max_tokens=99, is_oauth=is_oauth)
    made = hermes.bounded(request, LISTED, SEEN, api_mode="anthropic_messages", url="")
    assert {key: value for key, value in made.items() if key != "messages"} == {
        key: value for key, value in request.items() if key != "messages"
    }
    assert made["messages"][-2:] == request["messages"][-2:]
    assert "First." not in str(made["messages"])
    assert _marks(made) == _marks(request) == 4
    assert hermes.names(hermes.tools(request)) == {"mcp__look" if is_oauth else "look"}
    assert "You are kind." in hermes.system_text(request)
    moded = hermes.bounded(
        request, LISTED, [{"role": "system", "content": "Be short."}, *SEEN], api_mode="anthropic_messages", url=""
    )
    assert "Be short." in hermes.system_text(moded)


# -- shorter lists ----------------------------------------------------------------------------------------------------

STEPS = st.lists(st.integers(0, 3), min_size=0, max_size=6)


def _talk(turns: list[list[int]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for turn, steps in enumerate(turns):
        made.append({"role": "user", "content": f"u{turn}"})
        for step, calls in enumerate(steps):
            ids = [f"c{turn}-{step}-{call}" for call in range(calls)]
            made.append({"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": each} for each in ids]})
            made += [{"role": "tool", "tool_call_id": each, "content": "r" * 2_000} for each in ids]
    return made


@given(st.lists(STEPS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_a_list_that_is_asked_for_gets_shorter_and_stays_valid(turns: list[list[int]], random: Random) -> None:
    """Whatever is wanted of it, and again and again; it has the newest words of the user, and the newest step."""
    listed = _talk(turns)
    while True:
        made = hermes.shortened(listed, lambda _: random.random() < 0.8)
        sizes = [sum(len(str(each)) for each in one) for one in (made, listed)]
        assert (sizes[0] < sizes[1]) or made == listed
        assert made[0]["role"] == "user"
        assert made[-1].get("tool_call_id") == listed[-1].get("tool_call_id")
        assert [each for each in made if each["role"] == "user"][-1]["content"] == f"u{len(turns) - 1}"
        open_calls: list[str] = []
        for each in made:
            if each["role"] == "tool":
                open_calls.remove(each["tool_call_id"])
            else:
                assert not open_calls
                open_calls = [call["id"] for call in each.get("tool_calls", ())]
        assert not open_calls
        if made == listed:
            break
        listed = made
    last = _talk(turns[-1:])
    assert len(listed) <= 1 + len(last)


def test_what_tells_a_message_from_others_outlasts_what_hermes_does_to_it() -> None:
    """It cuts, joins, takes off thoughts, and puts words of the user behind a result."""
    result = {"role": "tool", "tool_call_id": "c1", "content": "r" * 900}
    assert message_key(result) == message_key({**result, "content": "r" * 900 + "\n\n[the user: faster!]"})
    assert message_key(result) != message_key({**result, "content": "other"})
    said = {"role": "assistant", "content": "Yes,  indeed."}
    assert message_key(said) == message_key({**said, "content": "<think>Hm.</think>\nYes, indeed. ", "_x": 1})
    asked = {"role": "user", "content": "Hi", "api_content": "Hi\n\n<memory>rain</memory>"}
    assert message_key(asked) == message_key({"role": "user", "content": [{"text": "Hi <memory>rain</memory>"}]})
