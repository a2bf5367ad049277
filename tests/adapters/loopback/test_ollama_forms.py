"""Messages in OpenAI's form become Ollama's and come back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.ollama import from_ollama, to_ollama
from squidbot.core.errors import LLMError

NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
CALLS = st.tuples(NAMES, NAMES, st.dictionaries(st.text(max_size=9), VALUES, max_size=3))


def called(identifier: str, name: str, arguments: object) -> dict[str, object]:
    """Return a tool call as OpenAI writes it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": text}}


@given(content=st.text(), thinking=st.text(), calls=st.lists(CALLS, max_size=3))
def test_assistant_message_comes_back_as_it_was(
    content: str, thinking: str, calls: list[tuple[str, str, dict[str, object]]]
) -> None:
    """To Ollama's form and back: text, reasoning, calls with their ids and the text of their arguments."""
    message: dict[str, object] = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning"] = thinking
    if calls:
        message["tool_calls"] = [called(*call) for call in calls]
    (made,) = to_ollama([message])
    given_calls = made.get("tool_calls", [])
    assert isinstance(given_calls, list)
    assert all(isinstance(call["function"]["arguments"], dict) for call in given_calls)
    assert from_ollama(str(made["content"]), str(made.get("thinking", "")), given_calls) == message


def test_result_names_the_tool_that_was_called() -> None:
    """By the call's id, also of the form before calls had one; a result of an unknown call keeps its id."""
    messages: list[dict[str, object]] = [
        {"role": "assistant", "content": None, "tool_calls": [called("a", "look", {}), called("b", "walk", {})]},
        {"role": "tool", "tool_call_id": "b", "content": "done"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "blue"}]},
        {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": '{"x": 1}'}},
        {"role": "function", "name": "old", "content": "ok"},
        {"role": "tool", "tool_call_id": "zzz", "content": "?"},
    ]
    made = to_ollama(messages)
    assert made[1] == {"role": "tool", "content": "done", "tool_name": "walk", "tool_call_id": "b"}
    assert made[2] == {"role": "tool", "content": "blue", "tool_name": "look", "tool_call_id": "a"}
    assert made[3]["tool_calls"] == [{"function": {"name": "old", "arguments": {"x": 1}}, "id": "old"}]
    assert made[4] == {"role": "tool", "content": "ok", "tool_name": "old"}
    assert made[5] == {"role": "tool", "content": "?", "tool_call_id": "zzz"}


@pytest.mark.parametrize(
    ("given_arguments", "made"),
    [("", {}), ("{", {"input": "{"}), ("[1]", {"input": "[1]"}), ('{"a": 1}', {"a": 1}), ("[" * 9_999, None)],
)
def test_arguments_that_are_no_object_are_kept_as_text(given_arguments: str, made: dict[str, object] | None) -> None:
    """Ollama refuses all but an object; what a model wrote is not lost for that."""
    (message,) = to_ollama([{"role": "assistant", "tool_calls": [called("a", "look", given_arguments)]}])
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    assert calls[0]["function"]["arguments"] == ({"input": given_arguments} if made is None else made)


def test_roles_and_parts_are_put_into_ollamas_words() -> None:
    """A developer is the system, texts are joined, pictures stand beside them, names and unknown keys are left out."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD", "detail": "low"}}
    messages: list[dict[str, object]] = [
        {"role": "developer", "content": "Be brief.", "name": "x"},
        {"role": "user", "content": ["Look", {"type": "text", "text": " here"}, picture], "timestamp": 1},
    ]
    assert to_ollama(messages) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look here", "images": ["QUJD"]},
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"content": "x"}, r"messages\[1\] has the unknown role None"),
        ({"role": "robot"}, "unknown role 'robot'"),
        ({"role": "user", "content": 3}, r"messages\[1\].content is neither a string"),
        ({"role": "user", "content": [{"type": "input_audio"}]}, r"content\[0\] is 'input_audio'"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "http://h/x.png"}]}, "downloads no images"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "downloads no images"),
        ({"role": "assistant", "tool_calls": 3}, "tool_calls is not a list"),
        ({"role": "assistant", "tool_calls": [3]}, r"tool_calls\[0\] names no function"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}, "names no function"),
    ],
)
def test_message_that_ollama_has_no_form_for_is_refused_by_its_place(message: dict[str, object], said: str) -> None:
    """An error of ours says which message and what of it."""
    with pytest.raises(LLMError, match=said) as caught:
        to_ollama([{"role": "user", "content": "Hello."}, message])
    assert caught.value.kind == "refused"


def test_call_without_an_id_gets_one_of_its_own() -> None:
    """Servers before 2025 send none: two calls of one function are told apart."""
    bare = {"function": {"name": "look"}}
    calls = from_ollama("", "", [bare, bare])["tool_calls"]
    assert isinstance(calls, list)
    assert len({call["id"] for call in calls}) == 2
    assert [call["function"] for call in calls] == [{"name": "look", "arguments": "{}"}] * 2


@pytest.mark.parametrize(
    "function", [None, {}, {"name": ""}, {"name": "x", "arguments": "{}"}, {"name": "x", "arguments": {"n": 1e999}}]
)
def test_call_that_can_not_be_read_is_no_answer(function: object) -> None:
    """No name, arguments that are no object, or a number that JSON has no form for."""
    with pytest.raises(LLMError, match=r"^unusable"):
        from_ollama("", "", [{"function": function}])
