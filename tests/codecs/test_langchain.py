"""Messages of LangChain: what is read of them, what is sent for them, and that the package itself can read it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from squidbot.codecs.langchain import LangChain
from squidbot.core.messages import Category, ToolCall
from squidbot.core.recall.search import payload_texts as searched

from .checks import MARK, check_cut, check_refused, check_tombstone, verbatim

CODEC = LangChain()
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: text + MARK)
NAMES = st.from_regex(r"[a-z]{1,9}", fullmatch=True)
DETAILS = st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.none(), max_size=2)
BLOCKS = (
    TEXTS
    | st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
    | st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": text}, TEXTS)
    | st.builds(lambda text: {"type": "image_url", "image_url": {"url": f"https://{text}"}}, NAMES.map(MARK.__add__))
    | st.builds(lambda text: {"type": "strange", "x": text}, TEXTS)
)
CONTENT = TEXTS | st.lists(BLOCKS, max_size=3)
CALLS = st.builds(lambda name, args, key: {"name": name, "args": args, "id": key}, NAMES, DETAILS, NAMES)
SAID = st.builds(HumanMessage, CONTENT, additional_kwargs=DETAILS) | st.builds(SystemMessage, TEXTS)
STEPS = st.builds(AIMessage, CONTENT, tool_calls=st.lists(CALLS, max_size=2), response_metadata=DETAILS)
RESULTS = st.builds(ToolMessage, CONTENT, tool_call_id=NAMES, name=NAMES, artifact=st.none() | DETAILS)
MESSAGES = SAID | STEPS | RESULTS


def payload(message: BaseMessage) -> str:
    """Return a message as the package writes it."""
    return json.dumps(message_to_dict(message))


def native(sent: str) -> BaseMessage:
    """Return what the package reads."""
    (message,) = messages_from_dict([json.loads(sent)])
    return message


@given(MESSAGES)
def test_what_the_package_writes_comes_back_as_it_was(message: BaseMessage) -> None:
    """To the letter, and as the value that it was."""
    written = payload(message)
    assert CODEC.encode(verbatim(CODEC.decode(written))) == written
    assert native(written) == message


@given(MESSAGES, TEXTS)
def test_nothing_but_names_is_left_of_what_is_forgotten(message: BaseMessage, text: str) -> None:
    """Whose it was, which tools were called and answered, and what is said instead."""
    left = check_tombstone(CODEC, payload(message), text.replace(MARK, ""))
    assert type(native(left.payload)) is type(message)


@given(MESSAGES, TEXTS)
def test_what_is_cut_or_added_can_be_read_by_the_package(message: BaseMessage, text: str) -> None:
    """A digest in the place of the words, shorter arguments, no thinking, a notice behind it."""
    check_cut(CODEC, payload(message), text)
    said = CODEC.decode(payload(message))
    whole = verbatim(said)
    bare = CODEC.encode(whole._replace(drop_thinking=True))
    assert "signature" not in bare
    assert type(native(bare)) is type(message)
    noticed = CODEC.decode(CODEC.encode(whole._replace(notice="Late.")))
    assert noticed.text == "\n".join(filter(None, (said.text, "Late.")))


def test_words_calls_and_results_are_read() -> None:
    """Calls once, though they stand among the blocks, too; pictures cost tokens; pieces are what they are of."""
    content: list[str | dict[str, object]] = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
    ]
    step = AIMessage(content, tool_calls=[{"name": "look", "args": {"at": 1}, "id": "c1"}])
    said = CODEC.decode(payload(step))
    assert (said.role, said.text, said.calls) == ("assistant", "Hm.\nI look.", (ToolCall("c1", "look", '{"at": 1}'),))
    done = CODEC.decode(payload(ToolMessage("a boat", tool_call_id="c1")))
    assert (done.role, done.results, done.category) == ("tool", ("c1",), Category.SYSTEM_OUTPUT)
    shown = HumanMessage(["Look:", {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}])
    assert CODEC.text(payload(shown)) == "Look:"
    assert CODEC.extra_tokens(payload(shown)) == 310
    assert CODEC.decode(payload(step).replace('"ai"', '"AIMessageChunk"')).role == "assistant"


def test_what_was_said_is_searched_and_nothing_else() -> None:
    """Words and arguments, not what the package notes of an answer."""
    step = AIMessage("Yes.", tool_calls=[{"name": "look", "args": {"at": "pier"}, "id": "c1"}], id="run-1")
    step.response_metadata = {"model_name": "gpt-6"}
    assert searched(payload(step)) == ["Yes.", "look", "at", "pier"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("[]", "a message is a JSON object"),
        ('{"type": "human"}', "data is missing; expected an object"),
        ('{"type": "poet", "data": {}}', "unknown type 'poet'; expected one of system, human, ai, tool"),
        ('{"type": "tool", "data": {"content": "x"}}', "tool_call_id of a tool message is missing"),
        ('{"type": "ai", "data": {"content": 3}}', "content is a number; expected a string or a list of blocks"),
    ],
)
def test_what_is_no_message_is_refused(wrong: str, why: str) -> None:
    """The text says what is wrong."""
    check_refused(CODEC, wrong, why)
    with pytest.raises(ValueError, match="unknown role 'poet'"):
        CODEC.to_message({"role": "poet", "content": "O!"})
