"""The tool `history`: its definitions, and that a model's wrong calls are answered and never raised."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.messages import Category, Kind
from squidbot.core.tokens.counters import builtin_counter
from squidbot.core.view.marks import ANSWERS
from squidbot.plugins.host import HostRuntime, call_tool
from squidbot.plugins.store_tools import StoreTools
from squidbot.tools.memory import PROGRAM_TOOLS
from squidbot.tools.table import FOR_HOSTS, FOR_SESSIONS, history_tool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from squidbot.session import Session

NOW = 1_700_000_000.0
# A definition is sent with every request.
MOST_TOKENS = 270


def talked() -> Session:
    """Return a session in which something was said."""
    session = squidbot.load({}).session("s")
    session.record({"role": "user", "content": "Cache prices for ten minutes."}, "Noted.", now=NOW)
    return session


def test_definition_has_the_forms_of_the_providers() -> None:
    """One schema, one description, three envelopes."""
    openai, anthropic = history_tool(), history_tool("anthropic.messages")
    assert openai["type"] == "function"
    function = openai["function"]
    assert isinstance(function, dict)
    assert function["name"] == anthropic["name"] == "history"
    assert function["parameters"] == anthropic["input_schema"]
    assert function["description"] == anthropic["description"]
    assert set(anthropic) == {"name", "description", "input_schema"}
    assert history_tool("openai.responses") == {"type": "function", "strict": False, **function}
    with pytest.raises(ConfigError, match="unknown form of tools 'x'"):
        history_tool("x")


def test_definition_is_small_and_explains_the_marks_of_requests() -> None:
    """It says what `recall ID` and `expand ID offset N` mean."""
    text = json.dumps(history_tool())
    assert builtin_counter("classes").upper_bound(text) <= MOST_TOKENS
    assert "recall ID" in text
    assert "expand ID offset N" in text


def test_model_searches_then_recalls_what_it_found() -> None:
    """The way of a tool loop, in a host's own form: found, recalled, recorded, flagged, sent as it came."""
    session = talked()
    found = session.history({"action": "search", "query": "cache"}, now=NOW + 7200)
    assert not found.is_error
    assert "m0 user, 2023-11-14 22:13:20, 2 hours ago" in found.text
    recalled = session.history('{"action": "recall", "id": "m0"}', now=NOW + 7200)
    assert "\nCache prices for ten minutes.\n" in recalled.text
    asked = {"id": "h", "type": "function", "function": {"name": "history", "arguments": "{}"}}
    session.record({"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [asked]})
    made = session.assemble({"role": "tool", "tool_call_id": "h", "content": recalled.text}, tools=[history_tool()])
    assert made.messages[-1]["content"] == recalled.text
    assert made.core.parts[-1].kind is Kind.RECALLED
    assert "m4 recalled" in str(made)


def test_history_works_in_the_form_of_anthropic() -> None:
    """A result inside of a user message is known as well; one beside another tool's is left to that."""
    session = squidbot.load({}).session("s", form="anthropic.messages")
    session.record({"role": "user", "content": "Cache prices."}, {"role": "assistant", "content": "Noted."}, now=NOW)
    answer = session.history({"action": "recall", "id": "m0"}).text
    calls: list[dict[str, object]] = [
        {"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("history", "read")
    ]
    results = [{"type": "tool_result", "tool_use_id": name, "content": answer} for name in ("history", "read")]
    session.record({"role": "user", "content": "?"}, {"role": "assistant", "content": calls[:1]})
    (row,) = session.record({"role": "user", "content": results[:1]})
    assert row.category is Category.RECALLED
    session.record({"role": "assistant", "content": calls})
    (row,) = session.record({"role": "user", "content": results})
    assert row.category is Category.SYSTEM_OUTPUT
    page = session.recall("m0", now=NOW)
    assert session.assemble({"role": "user", "content": "so?"}).messages[-2] == {"role": "user", "content": page.text}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "action must be one of search, recall, expand, not null"),
        ({"action": "delete"}, "not 'delete'"),
        ({"action": ["recall"]}, "not a list"),
        ({"action": "recall"}, "recall: id must be a string, not null"),
        ({"action": "recall", "id": 17}, "not a number"),
        ({"action": "recall", "id": " "}, "not ' '"),
        ({"action": "recall", "id": "s1-2.dead"}, "nothing is stored under 's1-2.dead': ids look like"),
        ({"action": "expand", "id": "m0", "offset": -1}, "offset -1 is out of range"),
        ({"action": "expand", "id": "m0", "offset": 10**6}, "outside m0"),
        ({"action": "expand", "id": "m0", "offset": 1.5}, "offset must be a whole number, not a number"),
        ({"action": "expand", "id": "m0", "offset": float("nan")}, "must be a whole number"),
        ({"action": "expand", "id": "m0", "offset": 10**5000}, "must be a whole number"),
        ({"action": "expand", "id": "m0", "offset": True}, "not a boolean"),
        ({"action": "expand", "id": "m0", "offset": "many"}, "not 'many'"),
        ({"action": "search"}, "search: query must be a string, not null"),
        ({"action": "search", "query": "..."}, "nothing to look for"),
        ({"action": "search", "query": "x", "offset": 10**6}, "offset 1000000 is out of range: 0 to 1000"),
        ("{", "the arguments are not JSON"),
        ("[]", "the arguments are not an object"),
        ("", "the arguments are not JSON"),
    ],
)
def test_wrong_call_is_answered_with_what_would_be_right(arguments: Mapping[str, object] | str, said: str) -> None:
    """One line, flagged as an error, and known as the tool's own, so that it never becomes content."""
    session = talked()
    answer = session.history(arguments)
    assert answer.is_error
    assert said in answer.text
    assert answer.text.startswith("<squidbot refused: ")
    assert "\n" not in answer.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "recall", "summary_id": "m0"},
        {"action": "recall", "handle": "m0", "query": "unused"},
        {"action": "expand", "id": "m0", "offset": "6"},
        {"action": "expand", "id": "m0", "offset": 6.0},
        {"action": "expand", "id": "recall m0", "offset": None},
    ],
)
def test_call_that_is_nearly_right_is_understood(arguments: dict[str, object]) -> None:
    """Other names of the id, numbers as text."""
    answer = talked().history(arguments)
    assert not answer.is_error
    assert "prices" in answer.text


def test_no_room_is_told_as_text() -> None:
    """The model can't compact; it can go on without."""
    session = squidbot.load({"budget": {"reserved_output_tokens": 256}}).session("s", window_tokens=2048)
    session.record({"role": "user", "content": "first " * 3000}, "yes", now=NOW)
    answer = session.history({"action": "recall", "id": "m0"})
    assert answer.is_error
    assert "no room" in answer.text


def test_store_that_fails_is_no_answer() -> None:
    """A failure never becomes content: the host is told, not the model."""
    engine = squidbot.load({})
    session = engine.session("s")
    session.core._state.context = session.core._state.context._replace(session_id="")
    with pytest.raises(StoreError):
        session.history({"action": "recall", "id": "m0"})


def test_python_callers_get_values() -> None:
    """Pages and hits, typed; recall writes, the others don't."""
    session = talked()
    page = session.expand("m0-m1", now=NOW)
    assert [(piece.seq, piece.end) for piece in page.pieces] == [(0, 29), (1, 6)]
    assert [hit.seq for hit in session.search("noted", now=NOW).hits] == [1]
    assert session.recall("m0").recorded == 2
    assert session.search("prices", limit=3, offset=0).hits[0].shown == "in view"


def test_every_tool_is_known_to_the_core_by_what_its_answers_hold() -> None:
    """Else an answer would count as something that was said for the first time."""
    assert {tool.name for tool in (*FOR_SESSIONS, *FOR_HOSTS, *PROGRAM_TOOLS)} <= set(ANSWERS)


def test_model_that_may_not_write_is_told_of_no_tool_that_writes(tmp_path: Path) -> None:
    """Neither offered nor named behind an answer: not by a session, by a host, or by the server of a store.

    The host finds the fact because it asks for the shared scope: by default it has the conversation's own.
    """
    settings = {"memory": {"write": False}}
    scope = squidbot.SHARED
    with squidbot.load({"store": {"path": f"{tmp_path}/s.db"}}) as engine:
        engine.session("a").memory({"action": "add", "text": "The boat is called Heron."})
    hosted = HostRuntime(f"{tmp_path}/s.db", host="t", form="openai.chat", settings=settings, scope=scope)
    assert [tool.name for tool in hosted.tools] == ["memory_search", "history"]
    names = [tool.name for tool in StoreTools(hosted, scope).tools]
    assert names == ["memory_search", "history_search", "history_recall", "history_append", "status"]
    session = hosted.conversation("a").session
    found = session.memory({"action": "search", "query": "boat"}).text
    assert "Heron" in found
    assert found.endswith("[scores are guesses]")
    nothing = session.memory({"action": "search", "query": "walrus"}).text
    assert nothing.endswith("[try other or fewer words, or an exact name]")
    served = StoreTools(hosted, scope).call("memory_search", {"query": "boat"}).text
    assert served.endswith("[scores are guesses]")
    assert "not allowed here" in call_tool(session, "memory_add", {"text": "x"})
    hosted.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    arguments=st.text()
    | st.dictionaries(st.sampled_from(["action", "id", "query", "offset", "more"]), JSON)
    | st.fixed_dictionaries(
        {"action": st.sampled_from(["search", "recall", "expand"])},
        optional={"id": JSON, "query": JSON, "offset": JSON},
    )
)
def test_no_arguments_raise(arguments: dict[str, object] | str) -> None:
    """Whatever a model writes."""
    answer = talked().history(arguments)
    assert answer.text
    assert answer.text.startswith("<squidbot ")


@pytest.mark.parametrize("window", [1024, 2048, 4096, 32_768])
def test_answer_of_memory_fits_what_is_free(window: int) -> None:
    """In a small window it is shorter; calls of one step share the room, and what is too much is refused, never cut."""
    with squidbot.load({"window": {"default": window}}) as engine:
        shelf, session = engine.session("shelf"), engine.session("s")
        for number in range(12):
            shelf.memory({"action": "add", "text": f"Tea of kind {number} tastes of nothing that there is elsewhere."})
            shelf.record("Noted.")
        session.assemble("Which tea?")
        answers: list[squidbot.Answer] = []
        while len(answers) < 60 and not (answers and answers[-1].is_error):
            free = session.core.room().output_tokens
            answers.append(session.memory({"action": "search", "query": "tea"}))
            assert session.meter.message(answers[-1].text).bound <= free
        assert not answers[0].is_error
        assert answers[-1].is_error
        assert "no room for memories" in answers[-1].text


def test_a_search_by_the_tool_that_only_recalls_names_the_one_that_searches() -> None:
    """In hosts `history` has no actions; a model that knows those of other agents tries them."""
    session = talked()
    told = call_tool(session, "history", {"action": "search", "query": "prices"})
    assert "id must be a string, not null; this tool only recalls; search with memory_search" in told
