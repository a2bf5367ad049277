"""Trajectories of SWE-agent: with calls and without, attempts, and files that have steps only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from squidbot.codecs.recordings import swe_agent
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category
from tests.codecs.recordings.reading import HOSTILE, accounted, checked, gone_wrong, read_or_refused, roles, written

if TYPE_CHECKING:
    from pathlib import Path


def item(role: str, content: object, **more: object) -> dict[str, object]:
    """Return an item of a history."""
    kind = "action" if role == "assistant" else "observation"
    return {"role": role, "content": content, "agent": "main", "message_type": kind, **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
STEP = {"action": "ls", "observation": "a.py", "response": "I list.", "thought": "I list.", "state": {}, "query": []}
RUN: dict[str, object] = {
    "environment": "main",
    "trajectory": [STEP],
    "history": [
        item("system", "You fix bugs.", message_type="system_prompt"),
        item("user", "An example", is_demo=True),
        item("user", [{"type": "text", "text": "Fix it"}]),
        item("assistant", "I list.", tool_calls=[CALL], thinking_blocks=[{"type": "thinking", "thinking": "hm"}]),
        item("tool", [{"type": "text", "text": "a.py"}], tool_call_ids=["c1"]),
        item("assistant", "Without a call: ls"),
        item("user", "Observation: a.py"),
    ],
    "info": {"exit_status": "submitted", "model_stats": {"tokens_sent": 10}},
    "replay_config": json.dumps({"agent": {"model": {"name": "model-a"}}}),
}


def test_read_gives_the_history(tmp_path: Path) -> None:
    """Calls with their results, examples apart, and whose words a message in the user's role are."""
    path = written(tmp_path / "repo-1.traj", [RUN], lines=False)
    (session,) = swe_agent.read(path)
    assert roles(session) == ["system", "user", "user", "assistant", "tool", "assistant", "user"]
    assert [each.category for each in session.messages] == [
        *(None, Category.CONTEXT, None, None, None, None, Category.AUTOMATED)
    ]
    assert [each.model for each in session.messages] == ["", "", "", "model-a", "", "model-a", ""]
    assert session.messages[3].value["thinking_blocks"] == [{"type": "thinking", "thinking": "hm"}]
    assert session.title == "repo-1"
    assert session.id.startswith("repo-1-")
    assert not session.unread
    assert swe_agent.read(path) == [session]


def test_read_gives_the_steps_where_there_is_no_history(tmp_path: Path) -> None:
    """An answer, and what came of it."""
    (session,) = swe_agent.read(written(tmp_path / "a.traj", [{**RUN, "history": []}], lines=False))
    assert [each.text for each in checked(session)] == ["I list.", "a.py"]


def test_read_gives_each_attempt_a_session(tmp_path: Path) -> None:
    """An agent that tries again has several runs in one file."""
    found = swe_agent.read(written(tmp_path / "a.traj", [{"attempts": [RUN, RUN], "info": {}}], lines=False))
    assert [len(each.messages) for each in found] == [7, 7]
    assert len({each.id for each in found}) == 2


def test_read_refuses_other_files(tmp_path: Path) -> None:
    """The error says what is missing."""
    others: list[dict[str, object]] = [
        {"messages": []},
        {"trajectory": [], "info": {}},
        {"trajectory": [{"action": "x"}]},
    ]
    for wrong in others:
        with pytest.raises(TranscriptError, match="no trajectory"):
            swe_agent.read(written(tmp_path / "a.traj", [wrong], lines=False))
    assert [*swe_agent.places(tmp_path, {})] == []


@HOSTILE
@given(sample=gone_wrong([RUN]))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[Any]) -> None:
    """Each item is a message or counted, whatever stands in it."""
    path = written(tmp_path / "a.traj", sample, lines=False)
    found = read_or_refused(lambda: swe_agent.read(path))
    read_or_refused(lambda: swe_agent.read(path, is_over=False))
    history = sample[0].get("history") if isinstance(sample[0], dict) else None
    if found and isinstance(history, list) and history:
        assert accounted(found) == len(history)
