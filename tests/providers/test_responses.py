"""The rules of Responses: each refused by the server and accepted by it, asked through the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import RESPONSES_TOOL, check_refused, user
from .script import Call, Model, Thought, saying

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.responses import Response

    from .script import Json
    from .wire import Providers

openai = pytest.importorskip("openai", exc_type=ImportError)


def ask(client: OpenAI, *items: Json, **more: object) -> Response:
    """Ask for an answer, of which the provider keeps nothing."""
    return client.responses.create(**{"model": "tiny", "input": list(items), "store": False, **more})


def dumped(answer: Response) -> list[Json]:
    """Return an answer's items as they were on the wire."""
    output: list[Json] = answer.model_dump(mode="json", by_alias=True, exclude_unset=True)["output"]
    return output


def call(identifier: str = "call_1", **more: object) -> Json:
    """Return a call."""
    return {"type": "function_call", "call_id": identifier, "name": "look", "arguments": "{}", **more}


def output(identifier: str = "call_1", said: object = "seen") -> Json:
    """Return a call's output."""
    return {"type": "function_call_output", "call_id": identifier, "output": said}


@pytest.fixture
def step(providers: Providers, gpt: OpenAI) -> list[Json]:
    """The user's words, and a step that was thought about: reasoning, then a call."""
    providers.script = saying([Thought("hm"), Call("look", '{ "at":1}', id="call_1")], "Seen.")
    return [user("look"), *dumped(ask(gpt, user("look"), tools=[RESPONSES_TOOL]))]


@pytest.mark.parametrize(
    ("more", "says", "code"),
    [
        ({"extra_body": {"max_tokens": 5}}, "Unknown parameter: 'max_tokens'.", "unknown_parameter"),
        ({"max_output_tokens": 5}, "Expected a value >= 16, but got 5 instead.", "integer_below_min_value"),
        ({"input": [{"type": "hologram"}]}, "Invalid value: 'hologram'. Supported values", "invalid_value"),
        ({"input": [{"role": "tool", "content": "x"}]}, "Invalid value: 'tool'.", "invalid_value"),
        ({"input": [user("hi") | {"timestamp": 1}]}, "Unknown parameter: 'input[0].timestamp'.", "unknown_parameter"),
        ({"input": [call(arguments={})]}, "Invalid type for 'input[0].arguments'", "invalid_type"),
        ({"input": [call("c" * 65), output("c" * 65)]}, "maximum length 64", "string_above_max_length"),
        (
            {"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "hi"}]}]},
            "Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.",
            "invalid_value",
        ),
        ({"input": [user({"type": "text", "text": "hi"})]}, "Invalid value: 'text'.", "invalid_value"),
    ],
)
def test_a_field_that_is_wrong_is_refused(gpt: OpenAI, more: Json, says: str, code: str) -> None:
    """Unknown, of another type, too long, too small: 400, with the field and a code."""
    error = check_refused(lambda: ask(gpt, user("hi"), **more), says)
    assert isinstance(error, openai.BadRequestError)
    assert error.code == code


def test_calls_and_outputs_belong_together(gpt: OpenAI) -> None:
    """Each has its other; they need not stand side by side."""
    check_refused(lambda: ask(gpt, user("hi"), call()), "No tool output found for function call call_1.")
    check_refused(
        lambda: ask(gpt, user("hi"), output()), "No tool call found for function call output with call_id call_1."
    )
    check_refused(
        lambda: ask(gpt, output(), call()), "No tool call found for function call output with call_id call_1."
    )
    assert ask(gpt, user("hi"), call(), call("call_2"), output("call_2"), user("so"), output())


def test_reasoning_stands_before_the_item_it_was_made_for(gpt: OpenAI, step: list[Json]) -> None:
    """Both, or neither, or the call without the id that tells of it."""
    asked, thought, called = step
    bare = {key: value for key, value in called.items() if key != "id"}
    assert ask(gpt, asked, thought, called, output())
    check_refused(lambda: ask(gpt, asked, called, output()), "was provided without its required 'reasoning' item: 'rs_")
    check_refused(lambda: ask(gpt, asked, thought, user("?")), "was provided without its required following item.")
    check_refused(lambda: ask(gpt, asked, thought), "was provided without its required following item.")
    assert ask(gpt, asked, bare, output())
    assert ask(gpt, asked, thought, bare, output())


def test_encrypted_reasoning_is_to_be_left_alone(gpt: OpenAI, step: list[Json]) -> None:
    """Touched, it is refused; without it, where nothing is stored, nobody knows what was thought."""
    asked, thought, called = step
    touched = {**thought, "encrypted_content": "AAAA"}
    error = check_refused(
        lambda: ask(gpt, asked, touched, called, output()), "The encrypted content could not be verified."
    )
    assert getattr(error, "code", "") == "invalid_encrypted_content"
    bare = {key: value for key, value in thought.items() if key != "encrypted_content"}
    check_refused(lambda: ask(gpt, asked, bare, called, output()), "Items are not persisted when `store` is", 404)


def test_reasoning_is_left_out_when_anything_before_it_has_changed(
    providers: Providers, gpt: OpenAI, step: list[Json]
) -> None:
    """Without an error: the answer tells what went. Older models bind it to nothing."""
    asked, thought, called = step
    changed = user("look well")
    (gone,) = ask(gpt, changed, thought, called, output()).input_transformations
    assert (gone.id, gone.action, gone.reason) == (thought["id"], "removed", "prefix_mismatch")
    (gone,) = ask(gpt, asked, thought, called, output(), instructions="Be brief.").input_transformations
    assert gone.id == thought["id"]
    providers.world.models = {"tiny": Model(binds=False)}
    assert ask(gpt, changed, thought, called, output()).input_transformations is None


def test_what_a_provider_keeps_is_noted(providers: Providers, gpt: OpenAI) -> None:
    """It does as it is told, and tests see it: storing is the default, and so is forgetting to switch it off."""
    ask(gpt, user("hi"))
    assert providers.held == []
    first = ask(gpt, user("hi"), store=True)
    with_it = ask(gpt, user("and?"), previous_response_id=first.id)
    assert with_it.usage.input_tokens == ask(gpt, user("hi"), *dumped(first), user("and?")).usage.input_tokens
    ask(gpt, user("hi"), conversation="conv_1")
    assert [option for _, option in providers.held] == ["store", "previous_response_id", "conversation"]
    check_refused(lambda: ask(gpt, user("hi"), previous_response_id="resp_9"), "'resp_9' not found")
