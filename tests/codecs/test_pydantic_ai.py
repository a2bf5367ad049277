"""Messages of pydantic-ai: what is read of them, what is sent for them, and that the package itself can read it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.messages import Category, Cost, Kind, Part, ToolCall

from .checks import MARK, check_cut, check_refused, check_tombstone, verbatim

CODEC = PydanticAI()
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: text + MARK)
NAMES = st.from_regex(r"[a-z]{1,9}", fullmatch=True)
JSON = st.recursive(TEXTS | st.integers(-9, 9) | st.none(), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=2) | TEXTS
MEDIA = st.builds(BinaryContent, st.binary(max_size=9), media_type=st.sampled_from(("image/png", "application/pdf")))
SAID = st.builds(UserPromptPart, TEXTS | st.lists(TEXTS | MEDIA | st.just(ImageUrl(f"https://{MARK}")), max_size=3))
RESULTS: st.SearchStrategy[ToolReturnPart] = st.builds(ToolReturnPart, NAMES, TEXTS | st.lists(JSON, max_size=2), NAMES)
REQUESTS = st.builds(
    ModelRequest,
    st.lists(SAID | RESULTS | st.builds(SystemPromptPart, TEXTS), min_size=1, max_size=3),
    instructions=st.none() | TEXTS,
)
RESPONSES = st.builds(
    ModelResponse,
    st.lists(
        st.builds(TextPart, TEXTS)
        | st.builds(ThinkingPart, TEXTS, signature=TEXTS)
        | st.builds(ToolCallPart, NAMES, ARGUMENTS, NAMES),
        min_size=1,
        max_size=4,
    ),
    provider_details=st.none() | st.dictionaries(TEXTS, JSON, max_size=2),
)
MESSAGES = REQUESTS | RESPONSES


def payload(message: ModelMessage) -> str:
    """Return a message as the package writes it."""
    return json.dumps(json.loads(ModelMessagesTypeAdapter.dump_json([message]))[0])


def native(sent: str) -> ModelMessage:
    """Return what the package reads."""
    (message,) = ModelMessagesTypeAdapter.validate_json(f"[{sent}]")
    return message


@given(MESSAGES)
def test_what_the_package_writes_comes_back_as_it_was(message: ModelMessage) -> None:
    """To the letter, there and back."""
    written = payload(message)
    assert CODEC.encode(verbatim(CODEC.decode(written))) == written
    assert payload(native(written)) == written
    said = CODEC.to_message(json.loads(written))
    assert (said.role, said.text, said.calls, said.results) == (
        CODEC.decode(written).role, CODEC.text(written), CODEC.decode(written).calls, CODEC.decode(written).results
    )  # fmt: skip


@given(MESSAGES, TEXTS)
def test_nothing_but_names_is_left_of_what_is_forgotten(message: ModelMessage, text: str) -> None:
    """Whose it was, which tools were called and answered, and what is said instead."""
    left = check_tombstone(CODEC, payload(message), text.replace(MARK, ""))
    assert type(native(left.payload)) is type(message)


@given(MESSAGES, TEXTS)
def test_what_is_cut_or_added_can_be_read_by_the_package(message: ModelMessage, text: str) -> None:
    """A digest in the place of the words, shorter arguments, no thinking, a notice behind it."""
    check_cut(CODEC, payload(message), text)
    said = CODEC.decode(payload(message))
    whole = verbatim(said)
    bare = native(CODEC.encode(whole._replace(drop_thinking=True)))
    assert not any(isinstance(each, ThinkingPart) for each in bare.parts)
    noticed = native(
        CODEC.encode(whole._replace(notice="Late.", payload=payload(ModelRequest([UserPromptPart("Hi")]))))
    )
    assert [str(each.content) for each in noticed.parts if isinstance(each, UserPromptPart)] == ["Hi", "Late."]


@pytest.mark.parametrize(
    ("message", "role", "category"),
    [
        (ModelRequest([SystemPromptPart("Be kind.")]), "system", Category.SYSTEM),
        (ModelRequest([SystemPromptPart("Be kind."), UserPromptPart("Hi")]), "user", Category.DIALOG),
        (ModelRequest([ToolReturnPart("look", 3, "c1"), UserPromptPart("Hi")]), "tool", Category.SYSTEM_OUTPUT),
        (ModelResponse([TextPart("Hello.")]), "assistant", Category.DIALOG),
    ],
)
def test_role_follows_from_the_parts(message: ModelMessage, role: str, category: Category) -> None:
    """A message that answers a call is a tool's, whatever else it says."""
    said = CODEC.decode(payload(message))
    assert (said.role, said.category) == (role, category)


def test_a_retry_answers_a_call_where_it_names_a_tool() -> None:
    """As older versions wrote it."""
    retry = {"part_kind": "retry-prompt", "content": [{"msg": "Wrong."}], "tool_call_id": "c1"}
    named = CODEC.to_message({"kind": "request", "parts": [{**retry, "tool_name": "look"}]})
    assert (named.role, named.results, named.text) == ("tool", ("c1",), '{"msg": "Wrong."}')
    plain = CODEC.to_message({"kind": "request", "parts": [{**retry, "tool_name": None}]})
    assert (plain.role, plain.results) == ("user", ())


def test_words_calls_and_results_are_read() -> None:
    """Arguments as the string that the model wrote; results that are no text as JSON; pictures cost tokens."""
    call = ModelResponse(
        [ThinkingPart("Hm."), ToolCallPart("look", '{"at": 1}', "c1"), ToolCallPart("go", {"to": 2}, "c2")]
    )
    said = CODEC.decode(payload(call))
    assert said.calls == (ToolCall("c1", "look", '{"at": 1}'), ToolCall("c2", "go", '{"to": 2}'))
    assert said.text == "Hm."
    done = CODEC.decode(
        payload(ModelRequest([ToolReturnPart("look", {"n": [1]}, "c1"), ToolReturnPart("go", "ok", "c2")]))
    )
    assert (done.results, done.text) == (("c1", "c2"), '{"n": [1]}\nok')
    shown = payload(ModelRequest([UserPromptPart(["Look:", BinaryContent(b"x" * 99, media_type="image/png")])]))
    assert CODEC.text(shown) == "Look:"
    assert CODEC.extra_tokens(shown) > 300


def test_what_squidbot_says_itself_is_the_same_each_time() -> None:
    """In each role; texts of a session come as role and content."""
    for role, kind in (("system", SystemPromptPart), ("user", UserPromptPart), ("assistant", TextPart)):
        made = Part(Kind.SUMMARY, role, Cost(1, 1), 0, 9, None, None, text="notes")  # type: ignore[arg-type]
        assert CODEC.encode(made) == CODEC.encode(made)
        (only,) = native(CODEC.encode(made)).parts
        assert isinstance(only, kind)
        assert only.content == "notes"
        assert CODEC.to_message({"role": role, "content": "notes"}).payload == CODEC.encode(made)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("[]", "a message is a JSON object"),
        ('{"parts": []}', "kind is None; expected request or response"),
        ('{"kind": "request", "parts": {}}', "parts is an object; expected a list"),
        (
            '{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "x"}]}',
            "tool_call_id of a tool-call",
        ),
    ],
)
def test_what_is_no_message_is_refused(wrong: str, why: str) -> None:
    """The text says what is wrong."""
    check_refused(CODEC, wrong, why)
    with pytest.raises(ValueError, match="unknown role 'poet'"):
        CODEC.to_message({"role": "poet", "content": "O!"})


def test_a_part_of_a_kind_that_is_none_counts_as_its_json() -> None:
    """As parts of unknown kinds do, and so do items of a content."""
    wrong = (
        '{"kind": "request", "parts": [{"part_kind": ["a"]}, {"part_kind": "user-prompt", "content": [{"kind": []}]}]}'
    )
    message = CODEC.decode(wrong)
    assert message.role == "user"
    assert message.text == '{"part_kind": ["a"]}\n{"kind": []}'
