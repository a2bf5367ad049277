"""Sessions of Copilot CLI: events in lines, rewinds, sub-agents, and what is still at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from squidbot.codecs.recordings import copilot_cli
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


def event(own: str, kind: str, data: dict[str, object], parent: str | None = None, **more: object) -> dict[str, object]:
    """Return an event behind another one."""
    head = {"type": kind, "data": data, "id": own, "timestamp": "2026-01-02T03:04:05.000Z", "parentId": parent}
    return {**head, **more}


def request(own: str, name: str = "bash") -> dict[str, object]:
    """Return a call that an answer asks for."""
    return {"toolCallId": own, "name": name, "arguments": {"command": "ls"}, "type": "function"}


START = event(
    "e0", "session.start", {"sessionId": "s-1", "selectedModel": "model-a", "context": {"cwd": "/home/me/proj"}}
)
TALK: list[object] = [
    START,
    event("e1", "system.message", {"role": "system", "content": "You help."}, "e0"),
    event("e2", "user.message", {"content": "List it", "attachments": [{"type": "file", "path": "a.py"}]}, "e1"),
    event("e3", "assistant.turn_start", {"turnId": "0"}, "e2"),
    event("e4", "assistant.reasoning", {"reasoningId": "r", "content": "Two commands."}, "e3"),
    event(
        "e5",
        "assistant.message",
        {"messageId": "a", "content": "", "toolRequests": [request("c1"), request("c2")], "outputTokens": 12},
        "e4",
    ),
    event("e6", "tool.execution_start", {"toolCallId": "c1", "toolName": "bash", "arguments": {}}, "e5"),
    event("e7", "tool.execution_complete", {"toolCallId": "c1", "success": True, "result": {"content": "a.py"}}, "e6"),
    event("e8", "tool.execution_complete", {"toolCallId": "c2", "success": False, "error": {"message": "no"}}, "e7"),
    event("e9", "assistant.message", {"content": "One file.", "model": "model-b"}, "e8"),
    event("e10", "assistant.usage", {"inputTokens": 50, "outputTokens": 4, "cacheReadTokens": 20}, "e9"),
    event("e11", "hook.start", {"hookType": "stop"}, "e10"),
]


def named(path: Path) -> Path:
    """Return where a session lies in a folder of Copilot CLI's."""
    return path / ".copilot" / "session-state" / "s-1" / "events.jsonl"


def test_read_gives_calls_results_reasoning_and_usage(tmp_path: Path) -> None:
    """One message for each answer, and one for each result."""
    (session,) = copilot_cli.read(written(named(tmp_path), TALK))
    assert (session.id, session.project) == ("s-1", "/home/me/proj")
    assert roles(session) == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [each.id for each in session.messages] == ["e1", "e2", "e5", "e7", "e8", "e9"]
    assert checked(session)[1].text == "List it[file a.py]"
    first, last = session.messages[2], session.messages[5]
    assert (first.value["reasoning_content"], first.model) == ("Two commands.", "model-a")
    assert first.value["usage"] == {"output_tokens": 12}
    assert last.value["usage"] == {
        "prompt_tokens": 50,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 20},
    }
    assert (last.model, last.time) == ("model-b", 1767323045.0)
    assert [each.category for each in session.messages[3:5]] == [None, Category.ERROR]
    assert dict(session.unread) == {"hook.start events": 1}
    assert all(each.parent is None for each in session.messages)


@pytest.mark.parametrize("cut", range(1, len(TALK)))
def test_read_goes_on_wherever_it_stopped(tmp_path: Path, cut: int) -> None:
    """The newest answer is left for the next time, as its usage stands behind it; nothing comes twice or differs."""
    path = written(named(tmp_path), TALK[:cut])
    first = copilot_cli.read(path, is_over=False)[0]
    if cut in range(6, 10):
        assert [each.id for each in first.messages] == ["e1", "e2"]
    written(path, TALK)
    second = copilot_cli.read(path, first.position)[0]
    whole = copilot_cli.read(path)[0]
    assert [*first.messages, *second.messages] == whole.messages
    assert first.unread + second.unread - whole.unread == {}


def test_read_makes_a_branch_of_what_follows_a_rewind(tmp_path: Path) -> None:
    """By the event in front, or by the event that says so."""
    again = event("f1", "user.message", {"content": "Rather that"}, "e1")
    (session,) = copilot_cli.read(written(named(tmp_path), [*TALK, again]))
    assert line_of(session, session.messages[-1]) == ["e1", "f1"]
    rewind = event("f0", "session.snapshot_rewind", {"upToEventId": "e9", "eventsRemoved": 3}, "e11")
    (session,) = copilot_cli.read(written(named(tmp_path), [*TALK, rewind, {**again, "parentId": "f0"}]))
    assert line_of(session, session.messages[-1]) == ["e1", "e2", "e5", "e7", "e8", "f1"]


@pytest.mark.parametrize("mark", ["agentId", "parentToolCallId"])
def test_read_gives_sub_agents_sessions_of_their_own(tmp_path: Path, mark: str) -> None:
    """Each names the call that it works for."""
    agent = {"agentId": "h-1"} if mark == "agentId" else {}
    own = "h-1" if agent else "c1"
    inner: dict[str, object] = {} if agent else {"parentToolCallId": "c1"}
    started = {"toolCallId": "c1", "agentDisplayName": "Explorer", **inner}
    talk = [
        START,
        event("e1", "assistant.message", {"content": "", "toolRequests": [request("c1", "task")]}, "e0"),
        event("e2", "subagent.started", started, "e1", **agent),
        event("e3", "assistant.message", {"content": "", "toolRequests": [request("d1")], **inner}, "e2", **agent),
        event(
            "e4",
            "tool.execution_complete",
            {"toolCallId": "d1", "success": True, "result": {"content": "x"}, **inner},
            "e3",
            **agent,
        ),
        event("e5", "tool.execution_complete", {"toolCallId": "c1", "success": True, "result": {"content": "y"}}, "e4"),
        event("e6", "assistant.message", {"content": "Done."}, "e5"),
    ]
    main, helper = copilot_cli.read(written(named(tmp_path), talk))
    assert [each.id for each in main.messages] == ["e1", "e5", "e6"]
    assert [each.id for each in helper.messages] == ["e3", "e4"]
    assert (helper.id, helper.parent, helper.call_id, helper.title) == (own, "s-1", "c1", "Explorer")
    assert main.position == helper.position
    assert [len(each.messages) for each in copilot_cli.read(written(named(tmp_path), talk[:5]), is_over=False)] == [
        0,
        0,
    ]


def test_read_tells_a_sub_agent_with_the_id_of_its_session_apart(tmp_path: Path) -> None:
    """No session is its own parent."""
    main, helper = copilot_cli.read(
        written(named(tmp_path), [START, event("e1", "user.message", {"content": "x"}, "e0", agentId="s-1")])
    )
    assert (main.id, main.parent, helper.id, helper.parent) == ("s-1", "", "s-1~2", "s-1")


def test_read_makes_a_message_of_a_call_that_nobody_announced(tmp_path: Path) -> None:
    """The user's own, or one of an older version; its result stands behind it."""
    done = event("e2", "tool.execution_complete", {"toolCallId": "c9", "result": "text"}, "e1")
    asked = event("e1", "tool.user_requested", {"toolCallId": "c9", "toolName": "bash", "arguments": {"a": 1}}, "e0")
    (session,) = copilot_cli.read(written(named(tmp_path), [START, asked, done, {**done, "id": "e3"}]))
    assert [each.text for each in checked(session)] == ["", "text"]
    assert dict(session.unread) == {"results of a call that has one": 1}
    (session,) = copilot_cli.read(written(named(tmp_path), [START, done]))
    assert dict(session.unread) == {"results without a call": 1}


def test_read_marks_what_the_program_wrote(tmp_path: Path) -> None:
    """The summary of a compaction, and messages in the user's role that are not the user's."""
    talk = [
        START,
        event("e1", "user.message", {"content": "Done: build", "source": "system"}, "e0"),
        event("e2", "session.compaction_complete", {"success": True, "summaryContent": "So far: x"}, "e1"),
    ]
    (session,) = copilot_cli.read(written(named(tmp_path), talk))
    assert [each.category for each in session.messages] == [Category.AUTOMATED, Category.CONTEXT]


def test_places_are_sorted_and_follow_the_environment(tmp_path: Path) -> None:
    """Folders of sessions, and the files of older versions."""
    own = written(named(tmp_path), TALK)
    older = written(own.parent.parent / "s-0.jsonl", TALK)
    assert [*copilot_cli.places(tmp_path, {})] == sorted([own, older])
    assert [*copilot_cli.places(tmp_path / "no", {"COPILOT_HOME": str(tmp_path / ".copilot")})] == sorted([own, older])
    with pytest.raises(TranscriptError, match="no recording of Copilot CLI"):
        copilot_cli.read(written(tmp_path / "a.jsonl", [{"role": "user", "content": "x"}] * 2))


SAYING = ("user.message", "system.message", "assistant.message", "hook.start")


@HOSTILE
@given(sample=gone_wrong(TALK))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[object]) -> None:
    """Each event that says something is a message or counted, whatever stands in it."""
    path = written(named(tmp_path), sample)
    found = read_or_refused(lambda: copilot_cli.read(path))
    read_or_refused(lambda: copilot_cli.read(path, is_over=False))
    if found and len(sample) > 1:
        saying = sum(not isinstance(each, dict) or each.get("type") in SAYING for each in sample)
        assert accounted(found) >= saying
