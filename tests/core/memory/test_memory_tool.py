"""The tool `memory`: its definitions, and that a model's wrong calls are answered and never raised."""

from __future__ import annotations

import json
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.config.schema import MemoryTable, Settings
from squidbot.core.errors import StoreError
from squidbot.core.memories import CATEGORIES, View
from squidbot.core.memory.facts import utterances
from squidbot.core.memory.view import Memories
from squidbot.core.messages import Category, Cost
from squidbot.core.tokens.counters import builtin_counter
from squidbot.tools.session import ToolContext
from squidbot.tools.table import FOR_SESSIONS, memory_tool, named
from squidbot.tools.tool import answer

from .shelves import ANN, METER, NOW, SessionContext, fact, shelf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.tools.tool import Answer

# A definition is sent with every request.
MOST_TOKENS, MOST_READ_TOKENS = 400, 240


def called(
    arguments: Mapping[str, object] | str,
    store: SessionContext | None = None,
    *,
    write: bool = True,
    limit_tokens: int = 1_000,
) -> Answer:
    """Return what a call is answered, in a session in which five messages were said."""
    memories = Memories(shelf(fact("Likes tea.")) if store is None else store, View(ANN), METER)
    settings = Settings(memory=MemoryTable(write=write))
    wired = SimpleNamespace(
        memories=lambda *_: memories,
        loaded=SimpleNamespace(settings=settings),
        remembering=SimpleNamespace(redactor=memories.redactor),
        store=SimpleNamespace(head=lambda _: (5, 0), last_record=lambda *_: None),
    )
    session = SimpleNamespace(session_id="s1", spoken=list)
    room = Cost(limit_tokens, limit_tokens)
    context = ToolContext(cast("Any", wired), METER, ANN, room, NOW, cast("Any", session))
    tool = named(FOR_SESSIONS, "memory", settings)
    assert tool is not None
    return answer(tool, context, arguments)


def test_definition_without_write_only_searches_and_is_small() -> None:
    """B-30: every bot that requires memory may look; what may be written is said only where it may be."""
    read, write = json.dumps(memory_tool()), json.dumps(memory_tool(write=True))
    assert '"enum": ["search"]' in read
    assert "forget" not in read
    assert '"enum": ["search", "add", "list", "forget"]' in write
    counter = builtin_counter("classes")
    assert counter.upper_bound(write) <= MOST_TOKENS
    assert counter.upper_bound(read) <= MOST_READ_TOKENS


def test_model_adds_finds_corrects_and_forgets() -> None:
    """The way of a tool loop."""
    store = shelf()
    added = called({"action": "add", "text": "Lives in Paris.", "category": "core"}, store)
    (one,) = store.memories
    assert one in added.text
    found = called('{"action": "search", "query": "lives"}', store)
    assert f"- {one}: Lives in Paris. (just now, m4 of session s1, noted by the assistant, 97 %)" in found.text
    called({"action": "add", "text": "Lives in Oslo.", "category": "core", "replaces": one}, store)
    two = store.memories[one].superseded_by
    assert f"- {two}: Lives in Oslo." in called({"action": "list"}, store).text
    assert "Oslo" not in called({"action": "forget", "id": two}, store).text
    assert set(store.memories) == {one}


@pytest.mark.parametrize("action", ["add", "store", "list", "forget"])
def test_nothing_is_changed_where_only_searching_is_allowed(action: str) -> None:
    """Whatever the model writes."""
    store = shelf(fact("Likes tea."))
    (one,) = store.memories
    told = called({"action": action, "text": "x", "id": one}, store, write=False)
    assert told.is_error
    assert "not allowed here" in told.text
    assert set(store.memories) == {one}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "action must be one of search, add, list, forget"),
        ({"action": "delete"}, "not 'delete'"),
        ({"action": ["add"]}, "not a list"),
        ({"action": "search"}, "search: query must be a string, not null"),
        ({"action": "search", "query": "..."}, "nothing to look for"),
        ({"action": "search", "query": "x", "offset": 10**6}, "offset 1000000 is out of range: 0 to 1000"),
        ({"action": "search", "query": "x", "offset": 1.5}, "must be a whole number"),
        ({"action": "search", "query": "x", "category": "hobby"}, "category must be one of core, concerns"),
        ({"action": "search", "query": "x", "past": 3}, "past must be true or false"),
        ({"action": "add", "category": "core"}, "add: text must be a string, not null"),
        ({"action": "add", "text": "x", "replaces": "f1"}, "no memory has the id 'f1'; ids look like"),
        ({"action": "add", "text": "x", "replaces": 7}, "not a number"),
        ({"action": "add", "text": "y" * 1_001}, "a fact has at most 1,000"),
        ({"action": "forget"}, "forget: id must be a string, not null"),
        ({"action": "forget", "id": "tea"}, "no memory has the id 'tea'"),
        ({"action": "list", "after": "f1"}, "no memory 'f1' to continue from"),
        ("{", "the arguments are not JSON"),
        ("[]", 'such as {"action": "search"'),
    ],
)
def test_wrong_call_is_answered_with_what_would_be_right(arguments: Mapping[str, object] | str, said: str) -> None:
    """One line, flagged as an error, and known as our own, so that it never becomes content."""
    told = called(arguments)
    assert told.is_error
    assert said in told.text
    assert told.text.startswith("<squidbot refused: ")
    assert "\n" not in told.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "search", "text": "tea"},
        {"action": "search", "query": "tea", "offset": "0", "category": "", "past": "false"},
        {"action": "store", "content": "Likes tea."},
        {"action": "list", "after": None, "category": None},
    ],
)
def test_call_that_is_nearly_right_is_understood(arguments: dict[str, object]) -> None:
    """Other names of arguments and actions, empty ones, values as text."""
    told = called(arguments)
    assert not told.is_error, told.text


def test_store_that_fails_is_no_answer() -> None:
    """A failure never becomes content: the host is told, not the model."""

    class Failing(SessionContext):
        def search(self, *_arguments: object, **_more: object) -> list[object]:  # type: ignore[override]
            raise StoreError("the disk failed")

    with pytest.raises(StoreError):
        called({"action": "search", "query": "x"}, Failing())


@pytest.mark.parametrize(("content", "is_recalled"), [("", True), ("nothing of ours", False)])
def test_answer_is_recorded_as_recalled_and_never_found_again(content: str, is_recalled: bool) -> None:  # noqa: FBT001
    """A copy of what is remembered: no search, note or fact comes of it. Another's tool of that name is left alone."""
    session = squidbot.load({}).session("s")
    call = {"id": "c", "type": "function", "function": {"name": "memory", "arguments": "{}"}}
    session.record({"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]})
    text = content or called({"action": "search", "query": "tea"}).text
    (row,) = session.record({"role": "tool", "tool_call_id": "c", "content": text})
    assert (row.category is Category.RECALLED) is is_recalled
    assert (session.search("tea").hits == ()) is (is_recalled or "tea" not in text)
    assert [utterance.role for utterance in utterances([row], {row.codec: OpenAIChat()})] == ["tool"] * (
        not is_recalled
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["query", "offset", "text", "id", "replaces", "category", "past", "after"]


@given(
    arguments=st.text()
    | st.dictionaries(st.sampled_from([*KEYS, "action", "more"]), JSON)
    | st.fixed_dictionaries(
        {"action": st.sampled_from(["search", "add", "list", "forget", "store"])},
        optional={key: JSON | st.sampled_from([*CATEGORIES, "tea"]) for key in KEYS},
    ),
    write=st.booleans(),
    limit_tokens=st.integers(1, 1_000),
)
def test_no_arguments_raise(arguments: dict[str, object] | str, write: bool, limit_tokens: int) -> None:  # noqa: FBT001
    """Whatever a model writes, and however little room there is."""
    told = called(arguments, write=write, limit_tokens=limit_tokens)
    assert told.text
    assert not write or told.is_error or "<squidbot memories: " in told.text


def test_definition_can_be_had_from_the_package_more_than_once() -> None:
    """No module has the name of what is public: once it was imported, it would stand in its place."""
    with squidbot.load({}) as engine:
        engine.session("s").memory({"action": "list"})
    for name in squidbot.__all__:
        assert not isinstance(getattr(squidbot, name), ModuleType), name
        assert not isinstance(getattr(squidbot, name), ModuleType), name
