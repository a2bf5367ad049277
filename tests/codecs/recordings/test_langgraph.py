"""Threads of LangGraph, written by its own checkpointer: forks, subgraphs, and blobs that a stranger made."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from squidbot.codecs.recordings import langgraph
from squidbot.core.errors import TranscriptError
from tests.codecs.recordings.reading import HOSTILE, checked, line_of, read_or_refused, roles

if TYPE_CHECKING:
    from pathlib import Path

ASK = HumanMessage("List it", id="m1")
CALL = AIMessage(
    "",
    id="m2",
    tool_calls=[{"id": "c1", "name": "ls", "args": {"path": "."}}],
    response_metadata={"model_name": "model-a"},
    usage_metadata={
        "input_tokens": 9,
        "output_tokens": 3,
        "total_tokens": 12,
        "input_token_details": {"cache_read": 4},
    },
)
RESULT = ToolMessage("a.py", id="m3", tool_call_id="c1")
DONE = AIMessage("One file.", id="m4")


def saved(path: Path, *checkpoints: tuple[Any, ...]) -> Path:
    """Write checkpoints, (thread, id, messages, parent, namespace) each, into a database, and return its path."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as database:
        saver = SqliteSaver(database)
        saver.setup()
        for thread, own, messages, *more in checkpoints:
            parent, space = (*more, "", "")[:2]
            checkpoint: Any = {**empty_checkpoint(), "id": own, "ts": "2026-01-02T03:04:05Z"}
            checkpoint["channel_values"] = {"messages": messages}
            known = {"checkpoint_id": parent} if parent else {}
            config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": space, **known}}
            saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})
    return path


def test_read_gives_each_message_of_a_thread_once(tmp_path: Path) -> None:
    """Though every checkpoint holds all of them; with model, usage and time."""
    path = saved(
        tmp_path / "a.db",
        ("t", "1", [ASK]),
        ("t", "2", [ASK, CALL], "1"),
        ("t", "3", [ASK, CALL, RESULT, DONE], "2"),
        ("u", "1", [ASK]),
    )
    session, other = langgraph.read(path)
    assert (session.id, other.id, session.codec) == ("t", "u", "lc/1")
    assert [each.id for each in session.messages] == ["m1", "m2", "m3", "m4"]
    assert roles(session) == ["user", "assistant", "tool", "assistant"]
    answer = session.messages[1]
    assert (answer.model, answer.time) == ("model-a", 1767323045.0)
    assert answer.value["usage"] == {
        "input_tokens": 9,
        "output_tokens": 3,
        "input_tokens_details": {"cached_tokens": 4},
    }
    assert checked(session)[1].calls[0].arguments == '{"path": "."}'
    assert not session.unread
    assert langgraph.is_database(path)


def test_read_makes_branches_of_forks(tmp_path: Path) -> None:
    """Of another answer, and of a message that was edited under its own id."""
    edited = HumanMessage("List all", id="m1")
    path = saved(
        tmp_path / "a.db",
        ("t", "1", [ASK]),
        ("t", "2", [ASK, CALL], "1"),
        ("t", "3", [ASK, DONE], "1"),
        ("t", "4", [edited]),
    )
    (session,) = langgraph.read(path)
    assert [line_of(session, each) for each in session.messages[1:]] == [["m1", "m2"], ["m1", "m4"], ["m1~2"]]


def test_read_keeps_what_a_summary_took_the_place_of(tmp_path: Path) -> None:
    """The summary stands behind what was said until then."""
    summary = SystemMessage("So far: listed.", id="m9")
    path = saved(tmp_path / "a.db", ("t", "1", [ASK, DONE]), ("t", "2", [summary], "1"))
    (session,) = langgraph.read(path)
    assert line_of(session, session.messages[-1]) == ["m1", "m4", "m9"]


def test_read_gives_subgraphs_their_parent_and_counts_other_messages(tmp_path: Path) -> None:
    """A namespace is a sub-agent."""
    path = saved(tmp_path / "a.db", ("t", "1", [ASK]), ("t", "1", [DONE, RemoveMessage("m1")], "", "agent:1"))
    main, helper = langgraph.read(path)
    assert (main.parent, helper.id, helper.parent) == ("", "t/agent:1", "t")
    assert dict(helper.unread) == {"remove messages": 1}


def test_read_leaves_a_call_out_while_its_tool_runs(tmp_path: Path) -> None:
    """When the program is gone, what there is."""
    path = saved(tmp_path / "a.db", ("t", "1", [ASK]), ("t", "2", [ASK, CALL], "1"))
    assert len(langgraph.read(path, is_over=False)[0].messages) == 1
    assert len(langgraph.read(path)[0].messages) == 2


def test_read_reads_the_former_json(tmp_path: Path) -> None:
    """Which names the class of a message beside its arguments."""
    made = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "Hi", "id": "m1"},
    }
    path = raw(tmp_path / "a.db", "json", json.dumps({"channel_values": {"messages": [made]}}).encode())
    assert [each.text for each in checked(langgraph.read(path)[0])] == ["Hi"]


def raw(path: Path, kind: str, blob: bytes) -> Path:
    """Write a checkpoint that LangGraph did not make, and return the path of its database."""
    saved(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM checkpoints")
        row = ("t", "", "1", None, kind, blob, b"{}")
        database.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()
    return path


def test_read_imports_and_calls_nothing_that_a_file_names(tmp_path: Path) -> None:
    """LangGraph's own reader imports the module of a class."""
    named = ormsgpack.packb(
        ("antigravity", "AIMessage", {"content": "x", "type": "ai", "id": "m"}, "model_validate_json")
    )
    state = {"channel_values": {"messages": [ormsgpack.Ext(5, named), ormsgpack.Ext(2, named)]}}
    (session,) = langgraph.read(raw(tmp_path / "a.db", "msgpack", ormsgpack.packb(state)))
    assert "antigravity" not in sys.modules
    assert [each.id for each in session.messages] == ["m"]
    assert dict(session.unread) == {"unknown messages": 1}


def test_read_counts_checkpoints_that_it_cannot_read(tmp_path: Path) -> None:
    """Damaged ones, and pickles, which it does not open."""
    for kind in ("msgpack", "pickle"):
        (session,) = langgraph.read(raw(tmp_path / "a.db", kind, b"\xc1"))
        assert dict(session.unread) == {f"checkpoints of the type {kind}": 1}


def test_read_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that reads blobs, or the tables."""
    path = saved(tmp_path / "a.db", ("t", "1", [ASK]))
    monkeypatch.setitem(sys.modules, "ormsgpack", None)
    with pytest.raises(TranscriptError, match=r"pip install .squidbot-context\[langchain\]"):
        langgraph.read(path)
    with closing(sqlite3.connect(tmp_path / "b.db")) as database:
        database.execute("CREATE TABLE checkpoints (a)")
    with pytest.raises(TranscriptError, match="no database of LangGraph"):
        langgraph.read(tmp_path / "b.db")
    assert [*langgraph.places(tmp_path, {})] == []
    assert not langgraph.is_form([{"messages": []}])


MESSAGE = {"content": "x", "type": "ai", "id": "m", "tool_calls": [{"id": "c", "name": "f", "args": {}}]}


@HOSTILE
@given(
    keys=st.lists(st.sampled_from([*MESSAGE, "usage_metadata", "response_metadata"]), max_size=3),
    wrong=st.binary(max_size=8)
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.binary(max_size=2) | st.none(), max_size=2),
    cut=st.integers(0, 40),
)
def test_read_survives_any_value(tmp_path: Path, keys: list[str], wrong: object, cut: int) -> None:
    """In a message, and blobs that end too early."""
    message = {**MESSAGE, **dict.fromkeys(keys, wrong)}
    packed = ormsgpack.packb(("langchain_core.messages", "AIMessage", message, ""))
    blob = ormsgpack.packb({"ts": wrong, "channel_values": {"messages": [ormsgpack.Ext(5, packed), wrong]}})
    path = raw(tmp_path / "a.db", "msgpack", blob[: len(blob) - max(0, cut - 30)])
    found = read_or_refused(lambda: langgraph.read(path))
    assert sum(len(each.messages) + sum(each.unread.values()) for each in found) >= 1
    path.unlink()
