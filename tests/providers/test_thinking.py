"""Signed thinking through the real SDK: bound to what stood before it, and to be left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .asking import TOOL, assistant, check_refused, result, text, user
from .messages import BINDING_BETA
from .script import Call, Model, Redacted, Text, Thought, saying

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

    from .script import Json, Piece
    from .wire import Providers

anthropic = pytest.importorskip("anthropic", exc_type=ImportError)

ADAPTIVE: Json = {"type": "adaptive"}
DROPPING: Json = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = "The block is bound to a different conversation"


def dumped(answer: Message) -> Json:
    """Return an answer as a message of the next request, as it was on the wire."""
    return {
        "role": "assistant",
        "content": answer.model_dump(mode="json", by_alias=True, exclude_unset=True)["content"],
    }


class Talk:
    """A conversation with a model that thinks: what was said so far, and what stands beside it."""

    def __init__(self, client: Anthropic, **beside: object) -> None:
        self.client = client
        self.beside: Json = {"system": "Be brief.", "tools": [TOOL], "thinking": ADAPTIVE, **beside}
        self.messages: list[Json] = []

    def say(self, *content: object) -> Message:
        """Say something, and keep it and the answer."""
        self.messages.append(user(*content))
        answer = self.ask()
        self.messages.append(dumped(answer))
        return answer

    def ask(self, *more: Json, **beside: object) -> Message:
        """Ask with more messages, which are not kept, and with other things beside."""
        request = {"model": "tiny", "max_tokens": 1_000, **self.beside, **beside}
        return self.client.messages.create(messages=[*self.messages, *more], **request)

    def block(self, message: int, place: int = 0) -> Json:
        """Return a block of what was said."""
        content = self.messages[message]["content"]
        assert isinstance(content, list)
        block: Json = content[place]
        return block


@pytest.fixture
def talk(providers: Providers, claude: Anthropic) -> Talk:
    """A conversation of two turns, each of which was thought about."""
    providers.script = saying(
        [Thought("first"), Text("One.")], [Thought("second"), Redacted("hidden"), Text("Two.")], "Three."
    )
    talk = Talk(claude)
    talk.say("hi")
    talk.say("and?")
    return talk


def test_thinking_that_comes_back_as_it_was_is_accepted(talk: Talk) -> None:
    """Shown and redacted, in both turns; marks for the cache, and a string as one block, change nothing."""
    assert talk.block(3, 1)["type"] == "redacted_thinking"
    assert "hidden" not in str(talk.block(3, 1)["data"])
    talk.messages[0] = user(text("hi", cache_control={"type": "ephemeral"}))
    assert talk.ask(user("go on")).content[0].text == "Three."


@pytest.mark.parametrize(
    ("beside", "first"),
    [
        ({"system": "Be very brief."}, None),
        ({"tools": [{**TOOL, "description": "Looks well."}]}, None),
        ({}, user("hi!")),
    ],
)
def test_thinking_is_refused_when_anything_before_it_has_changed(talk: Talk, beside: Json, first: Json | None) -> None:
    """System, tools, earlier messages."""
    talk.messages[0] = first or talk.messages[0]
    error = check_refused(lambda: talk.ask(user("go on"), **beside), f"in `thinking` block. {BOUND}")
    assert "messages.1.content.0" in str(error)


def test_thinking_is_accepted_when_only_what_follows_has_changed(talk: Talk) -> None:
    """The first block stands before the change, the others go."""
    talk.messages[2] = user("What else?")
    check_refused(
        lambda: talk.ask(user("go on")), f"messages.3.content.0: Invalid `signature` in `thinking` block. {BOUND}"
    )
    talk.messages[3] = assistant("Two.")
    assert talk.ask(user("go on"))


@pytest.mark.parametrize("field", ["thinking", "signature"])
def test_thinking_is_refused_when_it_was_touched(talk: Talk, field: str) -> None:
    """Text or signature."""
    talk.block(1)[field] = f"x{talk.block(1)[field]}"
    check_refused(lambda: talk.ask(user("go on")), "messages.1.content.0: Invalid `signature` in `thinking` block")


def test_redacted_thinking_is_refused_when_it_was_touched(talk: Talk) -> None:
    """Nobody can read it, and nobody may write it."""
    talk.block(3, 1)["data"] = "AAAA"
    check_refused(lambda: talk.ask(user("go on")), "messages.3.content.1: Invalid `data` in `redacted_thinking` block")


def test_thinking_is_refused_when_a_block_between_others_was_left_out(talk: Talk) -> None:
    """From the front they may go one by one: what is left has nothing missing before it."""
    second = talk.messages[3]
    talk.messages[3] = {**second, "content": [talk.block(3, 1), talk.block(3, 2)]}
    check_refused(lambda: talk.ask(user("go on")), f"in `redacted_thinking` block. {BOUND}")
    talk.messages[1] = assistant("One.")
    talk.messages[3] = second
    assert talk.ask(user("go on"))


def test_thinking_made_after_stale_thinking_is_kept(providers: Providers, claude: Anthropic) -> None:
    """It is bound to the conversation as it was read then."""
    providers.script = saying([Thought("old"), Text("One.")], [Thought("new"), Text("Two.")], "Three.")
    talk = Talk(claude)
    talk.say("hi")
    talk.beside = {**talk.beside, "system": "Changed.", "thinking": DROPPING}
    for _ in range(2):
        talk.messages.append(user("go on"))
        request = {"model": "tiny", "max_tokens": 1_000, "messages": talk.messages, **talk.beside}
        answer = claude.beta.messages.create(betas=[BINDING_BETA], **request)
        talk.messages.append(dumped(answer))
        assert [transformation.path for transformation in answer.input_transformations] == ["messages.1.content.0"]


def test_thinking_of_another_model_is_left_out_without_a_word(providers: Providers, talk: Talk) -> None:
    """It can't be read, and costs nothing."""
    providers.world.models = {"tiny": Model(), "large": Model()}
    with_thinking = talk.ask(user("go on"), model="large").usage.input_tokens
    talk.messages[1], talk.messages[3] = assistant("One."), assistant("Two.")
    assert talk.ask(user("go on"), model="large").usage.input_tokens == with_thinking


def test_an_open_tool_loop_brings_its_thinking_back(providers: Providers, claude: Anthropic) -> None:
    """All of it in order, or, where the model may decide how much it thinks, none."""
    step: list[Piece] = [Thought("hm"), Redacted("hidden"), Call("look")]
    providers.script = saying(step, "Seen.")
    talk = Talk(claude)
    call = talk.say("look").content[2].id
    seen = user(result(call))
    assert talk.ask(seen)
    thought, hidden, use = (talk.block(1, place) for place in range(3))
    for changed in (
        [hidden, thought, use],
        [thought, use],
        [hidden, use],
        [{**thought, "thinking": "oh"}, hidden, use],
    ):
        talk.messages[1] = assistant(*changed)
        check_refused(lambda: talk.ask(seen), "blocks in the latest assistant message cannot be modified")
    talk.messages[1] = assistant(use)
    assert talk.ask(seen)
    manual = {"type": "enabled", "budget_tokens": 1_024}
    check_refused(
        lambda: talk.ask(seen, thinking=manual, max_tokens=2_000),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    )
