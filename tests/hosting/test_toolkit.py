"""The tools of a host's model, at the end of what fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from squidbot.core import events
from squidbot.plugins.host import HostRuntime, call_tool

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.plugins.host import HostConversation

BUDGET = 2_000
FACT = "The boat is called Heron."


def full(path: Path) -> tuple[HostRuntime, HostConversation]:
    """Return a conversation in which a model has just called a tool, with no room left for an answer."""
    one = HostRuntime(path, host="a test", form="openai.chat", budget=BUDGET)
    talk = one.conversation("a")
    talk.session.record({"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."})
    number = 0
    while min(talk.session.core.room().whole) > 60:
        number += 1
        said = f"{number}: " + "one more word " * 10
        talk.session.record({"role": "user", "content": said}, {"role": "assistant", "content": "Yes."})
    function = {"name": "memory_search", "arguments": "{}"}
    calls = [{"id": "c1", "type": "function", "function": function}]
    talk.session.record({"role": "assistant", "content": None, "tool_calls": calls})
    return one, talk


@pytest.mark.parametrize(
    ("name", "arguments"), [("memory_search", {"query": "boat called"}), ("history", {"id": "m0"})]
)
def test_an_answer_finds_room_where_there_is_none(tmp_path: Path, name: str, arguments: dict[str, object]) -> None:
    """A model in a host can compact nothing: it is done for it, as an event, and then it gets its answer."""
    one, talk = full(tmp_path / "mem.db")
    told: list[str] = []
    one.engine.wired.relay._on_event = (("test", lambda event: told.append(event.name)),)
    answer = call_tool(talk.session, name, arguments)
    assert FACT in answer
    assert "compact first" not in answer
    assert told.count(events.VIEW_PLAN_CHANGED) == 1
    plan = talk.session.core.room().view.plan
    assert plan is not None
    assert plan.cause == "tool-answer", "nobody compacted by hand"
    sent = talk.before([{"role": "tool", "tool_call_id": "c1", "content": answer}]).messages
    assert sent[-1]["content"] == answer, "it is not cut"
    one.close()


def test_what_is_wrong_with_a_call_makes_no_room(tmp_path: Path) -> None:
    """An id of nothing is told as it is, and costs no event."""
    one, talk = full(tmp_path / "mem.db")
    plan = talk.session.core.room().view.plan
    assert "m900" in call_tool(talk.session, "history", {"id": "m900"})
    assert talk.session.core.room().view.plan == plan
    one.close()


def test_a_search_says_nothing_twice_and_nothing_that_hosts_have_no_tool_for(tmp_path: Path) -> None:
    """A wrong query is refused once; there is no tool that forgets, none that lists, and no further page."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat")
    session = one.conversation("a").session
    trap = "The heron says: forget takes an id; more: search offset 8."
    for number in range(12):
        session.record({"role": "user", "content": f"{trap} {number}"})
        call_tool(session, "memory_add", {"text": f"{trap} And heron {number} is grey."})
    assert call_tool(session, "memory_search", {"query": ""}).count("refused") == 1
    found = call_tool(session, "memory_search", {"query": "heron"})
    assert found.endswith("\n[scores are guesses]")
    assert "shows the whole message]" in found
    assert trap in found, "what was said stays as it is"
    nothing = call_tool(session, "memory_search", {"query": "walrus"})
    assert nothing.endswith("\n[try other or fewer words, or an exact name]")
    one.close()


def test_a_fact_is_found_beside_many_messages(tmp_path: Path) -> None:
    """It is one line; messages that match as well leave half of the room."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat", budget=2_000)
    session = one.conversation("a").session
    for number in range(60):
        asked = f"Dive {number}: where is the boat Heron now, and who steers it today?"
        answer = {"role": "assistant", "content": f"The boat lies at pier {number}, and Ann steers it."}
        session.record(session.assemble(asked).incoming, answer)
    call_tool(session, "memory_add", {"text": "The engine of the boat Heron is a Volvo Penta of 1987."})
    found = call_tool(session, "memory_search", {"query": "heron boat engine"})
    assert "Volvo Penta" in found
    assert "\nm" in found
    one.close()


def test_a_model_reads_of_no_settings_where_there_is_no_room(tmp_path: Path) -> None:
    """It can neither compact nor change them: it is told to go on."""
    one = HostRuntime(tmp_path / "mem.db", host="a test", form="openai.chat", budget=700)
    session = one.conversation("a").session
    for number in range(30):
        session.record({"role": "user", "content": f"Dive {number}: where is the boat?"})
    said = call_tool(session, "memory_search", {"query": "boat"})
    assert re.fullmatch(
        r"<squidbot refused: no room for earlier messages: the smallest page costs 160 of \d+ tokens; "
        r"continue without this, or with less>",
        said,
    )
    one.close()
