"""Conversations of OpenHands: events of both forms, in folders and lists; delegates and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from squidbot.codecs.recordings import openhands
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category
from tests.codecs.recordings.reading import (
    HOSTILE,
    accounted,
    checked,
    gone_wrong,
    line_of,
    read_or_refused,
    roles,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path


def asked(*calls: str) -> dict[str, object]:
    """Return the response of a model that asks for calls."""
    listed = [{"id": each, "type": "function", "function": {"name": "run", "arguments": "{}"}} for each in calls]
    message = {"role": "assistant", "content": "I list.", "tool_calls": listed}
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    return {"id": f"resp-{calls[0]}", "model": "model-a", "choices": [{"message": message}], "usage": usage}


def act(
    own: int, action: str, source: str = "agent", call: str = "", response: object = None, **args: object
) -> dict[str, object]:
    """Return an action."""
    head = {"id": own, "timestamp": "2026-01-02T03:04:05.1", "source": source, "message": "", "action": action}
    metadata = {"function_name": "run", "tool_call_id": call, "model_response": response, "total_calls_in_response": 1}
    return {**head, "args": args, **({"tool_call_metadata": metadata} if call else {})}


def seen(own: int, observation: str, content: str, cause: int, call: str = "", **more: object) -> dict[str, object]:
    """Return an observation."""
    head = {"id": own, "timestamp": "2026-01-02T03:04:06.1", "source": "agent", "observation": observation}
    metadata = {"tool_call_metadata": {"tool_call_id": call}} if call else {}
    return {**head, "content": content, "cause": cause, "extras": {}, **metadata, **more}


RESPONSE = asked("c1", "c2")
EVENTS: list[object] = [
    act(0, "system", content="You help."),
    act(1, "message", "user", content="List it", image_urls=["data:image/png;base64,AA"]),
    act(2, "recall", "user", query="List it"),
    act(3, "run", call="c1", response=RESPONSE, command="ls"),
    act(4, "run", call="c2", response=RESPONSE, command="pwd"),
    seen(5, "run", "a.py", 3, "c1", success=True),
    seen(6, "error", "no such command", 4, "c2"),
    act(7, "think", thought="Without an id."),
    seen(8, "think", "Logged.", 7),
    act(9, "delegate", agent="Browser", inputs={"task": "look"}),
    act(10, "message", content="Looking."),
    seen(11, "delegate", "Found it.", 9),
    act(12, "run", "user", command="git status"),
    seen(13, "run", "clean", 12),
    act(14, "condensation", summary="So far: listed."),
    act(15, "finish", final_thought="All done."),
    {
        "id": 16,
        "timestamp": "2026-01-02T03:04:07",
        "source": "environment",
        "observation": "agent_state_changed",
        "content": "",
        "extras": {},
    },
]


def folder(path: Path, events: list[object]) -> Path:
    """Write a conversation as OpenHands keeps it, and return the folder of its events."""
    own = path / ".openhands" / "sessions" / "s-1" / "events"
    own.mkdir(parents=True, exist_ok=True)
    for at, event in enumerate(events):
        written(own / f"{at}.json", [event], lines=False)
    return own


def test_read_gives_a_folder_of_events(tmp_path: Path) -> None:
    """Calls of one answer together, results by their call or their cause, delegates as sub-agents."""
    path = folder(tmp_path, EVENTS)
    main, helper = openhands.read(path)
    assert [each.id for each in main.messages] == ["0", "1", "3", "5", "6", "7", "8", "9", "11", "12", "13", "14", "15"]
    assert roles(main) == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool"),
        *("user", "user", "user", "assistant"),
    ]
    answer = main.messages[2]
    assert [call.id for call in checked(main)[2].calls] == ["c1", "c2"]
    assert (answer.model, answer.value["usage"]) == ("model-a", {"prompt_tokens": 9, "completion_tokens": 3})
    assert answer.time == pytest.approx(1767323045.1)
    categories = {each.id: each.category for each in main.messages if each.category}
    assert categories == {"6": Category.ERROR, "13": Category.AUTOMATED, "14": Category.CONTEXT}
    assert dict(main.unread) == {"recall actions": 1, "agent_state_changed observations": 1}
    assert (helper.parent, helper.call_id, helper.title) == ("s-1", "event 9", "Browser")
    assert [each.value["content"] for each in helper.messages] == ["Looking."]
    assert openhands.read(path / "3.json") == openhands.read(path.parent) == [main, helper]


@pytest.mark.parametrize("key", ["", "trajectory", "history"])
def test_read_gives_a_trajectory(tmp_path: Path, key: str) -> None:
    """A list, or what an evaluation wrote; in old ones actions and observations are pairs."""
    pairs: object = [EVENTS[:2], *EVENTS[2:]] if key == "history" else EVENTS
    value = {key: pairs, "instance_id": "repo-1"} if key else pairs
    path = written(tmp_path / "run.json", [value], lines=False)
    main, _ = openhands.read(path)
    assert len(main.messages) == 13
    assert main.id == "repo-1" if key else main.id.startswith("run-")


def kind(own: str, name: str, source: str, parent: str | None = None, **more: object) -> dict[str, object]:
    """Return an event of the agent SDK."""
    head = {"id": own, "kind": name, "source": source, "timestamp": "2026-01-02T03:04:05"}
    return {**head, **({"parent_id": parent} if parent else {}), **more}


def words(said: str) -> list[dict[str, object]]:
    """Return a content of the agent SDK."""
    return [{"type": "text", "text": said}]


def wants(own: str, call: str) -> dict[str, object]:
    """Return the event of a call."""
    asked = {"id": call, "name": "terminal", "arguments": '{"command": "ls"}'}
    more: dict[str, Any] = {"tool_name": "terminal", "tool_call_id": call, "tool_call": asked, "llm_response_id": "r-1"}
    return kind(own, "ActionEvent", "agent", thought=words("I list."), reasoning_content="hm", action={}, **more)


SDK: list[object] = [
    kind("a", "SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You help."}, tools=[]),
    kind("b", "MessageEvent", "user", llm_message={"role": "user", "content": words("List it")}),
    wants("c", "c1"),
    wants("d", "c2"),
    kind("e", "ObservationEvent", "environment", tool_call_id="c1", observation={"content": words("a.py")}),
    kind("f", "AgentErrorEvent", "agent", tool_call_id="c2", error="no such tool"),
    kind("g", "MessageEvent", "agent", llm_message={"role": "assistant", "content": words("Done.")}),
    kind("h", "Condensation", "environment", summary="So far: listed.", forgotten_event_ids=[]),
    kind("i", "ConversationStateUpdateEvent", "environment", key="x", value=1),
]


def test_read_gives_events_of_the_agent_sdk(tmp_path: Path) -> None:
    """Calls of one response are one message."""
    (session,) = openhands.read(folder(tmp_path, SDK))
    assert [each.id for each in session.messages] == ["a", "b", "c", "e", "f", "g", "h"]
    read = checked(session)
    assert [call.id for call in read[2].calls] == ["c1", "c2"]
    assert (read[2].text, session.messages[2].value["reasoning_content"]) == ("I list.", "hm")
    assert [each.category for each in session.messages[3:5]] == [None, Category.ERROR]
    assert session.messages[6].category is Category.CONTEXT
    assert dict(session.unread) == {"ConversationStateUpdateEvent events": 1}


def test_read_follows_the_parents_of_newer_events(tmp_path: Path) -> None:
    """An event that stands behind an earlier one begins a branch."""
    again = kind("j", "MessageEvent", "user", "b", llm_message={"role": "user", "content": words("Rather that")})
    begun = kind("k", "MessageEvent", "user", "__root__", llm_message={"role": "user", "content": words("Anew")})
    (session,) = openhands.read(folder(tmp_path, [*SDK, again, begun]))
    assert line_of(session, session.messages[-2]) == ["a", "b", "j"]
    assert line_of(session, session.messages[-1]) == ["k"]


def test_read_leaves_a_step_out_while_its_tools_run(tmp_path: Path) -> None:
    """When the agent is gone, what there is."""
    path = folder(tmp_path, EVENTS[:6])
    assert [each.id for each in openhands.read(path, is_over=False)[0].messages] == ["0", "1"]
    assert [each.id for each in openhands.read(path)[0].messages] == ["0", "1", "3", "5"]


def test_places_are_sorted_and_follow_the_environment(tmp_path: Path) -> None:
    """The folders of events."""
    own = folder(tmp_path, EVENTS[:2])
    assert [*openhands.places(tmp_path, {})] == [own]
    assert [*openhands.places(tmp_path / "no", {"FILE_STORE_PATH": str(tmp_path / ".openhands")})] == [own]
    assert openhands.is_folder(own)
    assert not openhands.is_folder(tmp_path)
    with pytest.raises(TranscriptError, match="no recording of OpenHands"):
        openhands.read(written(tmp_path / "a.json", [[{"source": "x"}]], lines=False))


SAYING = ("system", "message", "run", "finish")


@pytest.mark.parametrize("events", [EVENTS, SDK], ids=["events", "sdk"])
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, events: list[object]) -> None:
    """Each event that says something is a message or counted, whatever stands in it."""

    @HOSTILE
    @given(sample=gone_wrong(events))
    def survives(sample: list[Any]) -> None:
        path = written(tmp_path / "run.json", [sample], lines=False)
        found = read_or_refused(lambda: openhands.read(path))
        read_or_refused(lambda: openhands.read(path, is_over=False))
        if found and events is SDK:
            calls = sum(isinstance(each, dict) and each.get("kind") == "ActionEvent" for each in sample)
            flat = [inner for each in sample for inner in (each if isinstance(each, list) else [each])]
            assert accounted(found) >= len(flat) - max(0, calls - 1)
        elif found:
            assert accounted(found) >= sum(
                isinstance(each, dict) and each.get("action") in ("system", "message") for each in sample
            )

    survives()
