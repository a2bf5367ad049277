"""Messages of llm: what is read of them, what is sent for them, and that the package itself can read it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llm import Attachment, Message
from llm.parts import AttachmentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

from squidbot.codecs.llm import LLMMessages
from squidbot.core.messages import Category, ToolCall
from squidbot.core.recall.search import payload_texts as searched

from .checks import MARK, check_cut, check_refused, check_tombstone, verbatim

CODEC = LLMMessages()
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: text + MARK)
NAMES = st.from_regex(r"[a-z]{1,9}", fullmatch=True)
DETAILS = st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.none(), max_size=2)
SEALED = st.none() | st.dictionaries(NAMES, st.dictionaries(NAMES, TEXTS, max_size=1), max_size=1).map(
    lambda x: x or None
)
FILES = st.builds(
    Attachment, type=st.just("image/png"), url=NAMES.map(lambda name: f"https://{MARK}/{name}")
) | st.builds(Attachment, type=st.just("application/pdf"), content=TEXTS.map(str.encode))
WORDS = st.builds(TextPart, TEXTS, SEALED)
SERVED = st.builds(ToolCallPart, NAMES, DETAILS, NAMES, st.just(value=True), SEALED)
CALLS = st.builds(ToolCallPart, NAMES, DETAILS, NAMES, st.just(value=False), SEALED)
OUTCOMES = st.builds(
    ToolResultPart, NAMES, TEXTS, NAMES, st.just(value=False), st.lists(FILES, max_size=1), st.none() | TEXTS, SEALED
)
USERS = st.builds(
    Message, st.just("user"), st.lists(WORDS | st.builds(AttachmentPart, FILES), max_size=3), SEALED
) | st.builds(Message, st.just("system"), st.lists(WORDS, max_size=1))
STEPS = st.builds(
    Message,
    st.just("assistant"),
    st.builds(
        lambda first, then: [*first, *then],
        st.lists(WORDS | SERVED | st.builds(ReasoningPart, TEXTS, st.just(value=False), SEALED), max_size=3),
        st.lists(CALLS, max_size=2),
    ),
    SEALED,
)
RESULTS = st.builds(Message, st.just("tool"), st.lists(OUTCOMES, min_size=1, max_size=2))
MESSAGES = USERS | STEPS | RESULTS


def payload(message: Message) -> str:
    """Return a message as the package writes it."""
    return json.dumps(message.to_dict())


def native(sent: str) -> Message:
    """Return what the package reads."""
    return Message.from_dict(json.loads(sent))


@given(MESSAGES)
def test_what_the_package_writes_comes_back_as_it_was(message: Message) -> None:
    """To the letter, and as the value that it was."""
    written = payload(message)
    assert CODEC.encode(verbatim(CODEC.decode(written))) == written
    assert native(written) == message


@given(MESSAGES, TEXTS)
def test_nothing_but_names_is_left_of_what_is_forgotten(message: Message, text: str) -> None:
    """Whose it was, which tools were called and answered, and what is said instead."""
    left = check_tombstone(CODEC, payload(message), text.replace(MARK, ""))
    assert native(left.payload).role == message.role


@given(MESSAGES, TEXTS)
@example(Message("assistant", [ToolCallPart("look", {"at": 1}, "c1")]), "short")
def test_what_is_cut_or_added_can_be_read_by_the_package(message: Message, text: str) -> None:
    """A digest in the place of the words, shorter arguments, no thinking, a notice behind it."""
    check_cut(CODEC, payload(message), text)
    said = CODEC.decode(payload(message))
    whole = verbatim(said)
    bare = native(CODEC.encode(whole._replace(drop_thinking=True)))
    assert not any(isinstance(each, ReasoningPart) for each in bare.parts)
    noticed = CODEC.decode(CODEC.encode(whole._replace(notice="Late.")))
    assert noticed.text.startswith(said.text)
    assert "Late." in noticed.text[len(said.text) :]
    assert (noticed.calls, noticed.results) == (said.calls, said.results)


def test_words_calls_and_results_are_read() -> None:
    """What a provider ran itself waits for nothing; pictures cost tokens; a call without an id goes by its name."""
    step = Message(
        "assistant",
        [
            ReasoningPart("Hm."),
            ToolCallPart("search", {"q": "x"}, "s1", server_executed=True),
            ToolResultPart("search", "found", "s1", server_executed=True),
            TextPart("I look."),
            ToolCallPart("look", {"at": 1}, "c1"),
        ],
    )
    said = CODEC.decode(payload(step))
    assert (said.role, said.calls, said.results) == ("assistant", (ToolCall("c1", "look", '{"at": 1}'),), ())
    assert said.text.startswith("Hm.\n{")
    assert said.text.endswith("\nI look.")
    assert "found" in said.text
    done = CODEC.decode(payload(Message("tool", [ToolResultPart("look", "a boat", "c1")])))
    assert (done.role, done.results, done.category, done.text) == ("tool", ("c1",), Category.SYSTEM_OUTPUT, "a boat")
    old = Message("assistant", [ToolCallPart("look", {}, None)]), Message("tool", [ToolResultPart("look", "a", None)])
    assert CODEC.decode(payload(old[0])).calls[0].id == CODEC.decode(payload(old[1])).results[0] == "look"
    shown = Message("user", [TextPart("Look:"), AttachmentPart(Attachment(type="image/png", content=b"A"))])
    assert CODEC.text(payload(shown)) == "Look:"
    assert CODEC.extra_tokens(payload(shown)) == 3_000


def test_what_was_said_is_searched_and_nothing_else() -> None:
    """Words and arguments, not signatures or the bytes of a picture."""
    step = Message(
        "assistant",
        [
            TextPart("Yes.", {"gemini": {"signature": "c2VhbGVk", "other": "sealed"}}),
            ToolCallPart("look", {"at": "pier"}, "c1"),
        ],
    )
    assert searched(payload(step)) == ["Yes.", "look", "at", "pier"]
    shown = Message("user", [TextPart("Look:"), AttachmentPart(Attachment(type="image/png", content=b"bytes"))])
    assert searched(payload(shown)) == ["Look:"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("[]", "a message is a JSON object"),
        ('{"role": "poet", "parts": []}', "unknown role 'poet'; expected one of system, user, assistant, tool"),
        ('{"role": "user", "parts": 3}', "parts is a number; expected a list"),
        ('{"role": "user", "parts": ["x"]}', "a part is a string; expected an object"),
        ('{"role": "tool", "parts": [{"type": "tool_result", "output": "x"}]}', "name of a result is missing"),
    ],
)
def test_what_is_no_message_is_refused(wrong: str, why: str) -> None:
    """The text says what is wrong."""
    check_refused(CODEC, wrong, why)
    with pytest.raises(ValueError, match="unknown role 'poet'"):
        CODEC.to_message({"role": "poet", "content": "O!"})
