"""Sessions of OpenCode: in files, in a database, as an export; sub-agents, and answers of several steps."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from squidbot.codecs.recordings import opencode
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category
from tests.codecs.recordings.reading import HOSTILE, accounted, checked, gone_wrong, read_or_refused, roles, written

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1767323045000


def session(own: str, **more: object) -> dict[str, object]:
    """Return what OpenCode says of a session."""
    time = {"created": TIME, "updated": TIME}
    return {
        "id": own,
        "projectID": "p",
        "directory": "/home/me/proj",
        "title": "Work",
        "version": "1",
        "time": time,
        **more,
    }


def tool(own: str, status: str, **more: object) -> dict[str, object]:
    """Return a part that calls a tool."""
    state = {"status": status, "input": {"path": "a.py"}, "time": {"start": TIME, "end": TIME + 5}, **more}
    return {"type": "tool", "callID": own, "tool": "task" if "metadata" in more else "read", "state": state}


TOKENS = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 4}}
STEP: list[dict[str, object]] = [{"type": "step-start"}, {"type": "step-finish", "tokens": TOKENS, "cost": 0}]
MESSAGES: list[dict[str, Any]] = [
    {
        "info": {"id": "msg_1", "role": "user", "time": {"created": TIME}},
        "parts": [
            {"type": "text", "text": "Read it"},
            {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"},
        ],
    },
    {
        "info": {
            "id": "msg_2",
            "role": "assistant",
            "time": {"created": TIME + 1, "completed": TIME + 9},
            "modelID": "model-a",
        },
        "parts": [
            STEP[0],
            {"type": "reasoning", "text": "Look."},
            {"type": "text", "text": "Reading."},
            tool("c1", "completed", output="print()"),
            tool("c2", "error", error="gone"),
            tool("c3", "completed", output="found", metadata={"sessionId": "ses_2"}),
            STEP[1],
            STEP[0],
            {"type": "text", "text": "Done."},
            {"type": "patch", "hash": "h", "files": []},
            STEP[1],
        ],
    },
    {
        "info": {"id": "msg_3", "role": "user", "time": {"created": TIME + 20}},
        "parts": [{"type": "text", "text": "Output of a tool", "synthetic": True}],
    },
    {
        "info": {
            "id": "msg_4",
            "role": "assistant",
            "time": {"created": TIME + 21},
            "modelID": "model-a",
            "summary": True,
        },
        "parts": [{"type": "text", "text": "So far: read."}],
    },
]
INNER: list[dict[str, Any]] = [
    {"info": {"id": "msg_9", "role": "user", "time": {"created": TIME}}, "parts": [{"type": "text", "text": "Find it"}]}
]


def numbered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages whose parts have ids."""
    return [
        {**each, "parts": [{"id": f"prt_{at:03}", **part} for at, part in enumerate(each["parts"])]}
        for each in messages
    ]


def in_files(path: Path, info: dict[str, object], messages: list[dict[str, Any]]) -> Path:
    """Write a session as files, and return the path of its own one."""
    storage = path / ".local" / "share" / "opencode" / "storage"
    for each in numbered(messages):
        own = each["info"]["id"]
        written(storage / "message" / str(info["id"]) / f"{own}.json", [each["info"]], lines=False)
        for part in each["parts"]:
            written(storage / "part" / own / f"{part['id']}.json", [part], lines=False)
    return written(storage / "session" / "p" / f"{info['id']}.json", [info], lines=False)


def in_database(path: Path, sessions: list[tuple[dict[str, object], list[dict[str, Any]]]]) -> Path:
    """Write sessions into a database, and return its path."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE session (id, parent_id, directory, title, revert, time_created);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, time_created, data);"
        )
        for info, messages in sessions:
            row = (info["id"], info.get("parentID"), info["directory"], info["title"], None, TIME)
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
            for each in numbered(messages):
                given = dict(each["info"])
                own, time = given.pop("id"), given["time"]["created"]
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (own, info["id"], time, json.dumps(given)))
                for part in each["parts"]:
                    values = (f"{own}-{part['id']}", own, info["id"], time, json.dumps(part))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", values)
        database.commit()
    return path


def done(**more: object) -> dict[str, object]:
    """Return the state of a tool that has ended, as version 2 has it."""
    return {"status": "completed", "input": {"path": "a.py"}, **more}


def used(own: str, state: dict[str, object]) -> dict[str, object]:
    """Return a call of a tool, as version 2 has it."""
    times = {"created": TIME, "completed": TIME + 5}
    return {"type": "tool", "id": own, "name": "task" if "metadata" in state else "read", "state": state, "time": times}


Row = tuple[str, str, dict[str, Any]]
# The same as `MESSAGES`, as version 2 has it: type, id and data.
NEWER: list[Row] = [
    (
        "user",
        "msg_1",
        {
            "time": {"created": TIME},
            "text": "Read it",
            "files": [{"mime": "image/png", "uri": "data:image/png;base64,AA"}],
        },
    ),
    (
        "assistant",
        "msg_2",
        {
            "time": {"created": TIME + 1, "completed": TIME + 9},
            "model": {"id": "model-a", "providerID": "p"},
            "tokens": TOKENS,
            "content": [
                {"type": "reasoning", "text": "Look."},
                {"type": "text", "text": "Reading."},
                used("c1", done(content=[{"type": "text", "text": "print()"}])),
                used("c2", {"status": "error", "input": {"path": "a.py"}, "error": {"type": "x", "message": "gone"}}),
                used("c3", done(content=[{"type": "text", "text": "found"}], metadata={"sessionID": "ses_2"})),
            ],
        },
    ),
    (
        "assistant",
        "msg_2/2",
        {
            "time": {"created": TIME + 1, "completed": TIME + 9},
            "model": {"id": "model-a"},
            "tokens": TOKENS,
            "content": [{"type": "text", "text": "Done."}],
        },
    ),
    ("synthetic", "msg_3", {"time": {"created": TIME + 20}, "text": "Output of a tool"}),
    (
        "compaction",
        "msg_4",
        {"time": {"created": TIME + 21}, "status": "completed", "model": {"id": "model-a"}, "summary": "So far: read."},
    ),
]


def in_newer_database(path: Path, sessions: list[tuple[dict[str, object], list[Row]]]) -> Path:
    """Write sessions into the tables of version 2, beside what a database has, and return its path."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE session_v2 (id, parent_id, directory, title, revert, time_created);"
            "CREATE TABLE session_message (id, session_id, type, seq, time_created, data);"
        )
        for info, messages in sessions:
            row = (info["id"], info.get("parentID"), info["directory"], info["title"], None, TIME)
            database.execute("INSERT INTO session_v2 VALUES (?, ?, ?, ?, ?, ?)", row)
            for at, (kind, own, data) in enumerate(messages):
                values = (own, info["id"], kind, at, data["time"]["created"], json.dumps(data))
                database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", values)
        database.commit()
    return path


HELPER = session("ses_2", parentID="ses_1", title="Find (@explore)")


def test_read_gives_the_same_from_files_a_database_and_an_export(tmp_path: Path) -> None:
    """Steps, calls, results, thoughts, usage."""
    export = written(
        tmp_path / "export.json", [{"info": session("ses_1"), "messages": numbered(MESSAGES)}], lines=False
    )
    (found,) = opencode.read(export)
    assert [each.id for each in found.messages] == [
        "msg_1",
        *("msg_2", "msg_2/c1", "msg_2/c2", "msg_2/c3", "msg_2/2"),
        *("msg_3", "msg_4"),
    ]
    assert roles(found) == ["user", "assistant", "tool", "tool", "tool", "assistant", "user", "assistant"]
    first = found.messages[1]
    assert (first.value["reasoning_content"], first.value["content"], first.model) == ("Look.", "Reading.", "model-a")
    assert first.value["usage"] == {
        "prompt_tokens": 44,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 30},
    }
    assert (found.messages[2].value["content"], found.messages[2].time) == ("print()", TIME / 1000 + 0.005)
    categories = [found.messages[at].category for at in (3, 6, 7)]
    assert categories == [Category.ERROR, Category.AUTOMATED, Category.CONTEXT]
    assert dict(found.unread) == {"patch parts": 1}
    assert (found.id, found.project, found.title) == ("ses_1", "/home/me/proj", "Work")
    (stored,) = opencode.read(in_files(tmp_path, session("ses_1"), MESSAGES))
    (kept,) = opencode.read(in_database(tmp_path / "opencode.db", [(session("ses_1"), MESSAGES)]))
    assert stored == kept == found


def test_read_gives_sub_agents_their_parent_and_its_call(tmp_path: Path) -> None:
    """The part of the parent's call names the session."""
    path = in_database(tmp_path / "opencode.db", [(session("ses_1"), MESSAGES), (HELPER, INNER)])
    main, helper = opencode.read(path)
    assert (main.parent, helper.parent, helper.call_id) == ("", "ses_1", "c3")
    assert opencode.read(in_files(tmp_path, HELPER, INNER))[0].parent == "ses_1"


def test_version_2_says_the_same(tmp_path: Path) -> None:
    """It has other tables, with a row for each step; its own marks are no messages."""
    marks: list[Row] = [
        (kind, f"msg_5{at}", {"time": {"created": TIME + 30}}) for at, kind in enumerate(("idle", "model-switched"))
    ]
    others: list[Row] = [
        ("shell", "msg_6", {"time": {"created": TIME + 40}, "shell": {"command": "ls"}, "output": {"output": "a.py"}}),
        ("compaction", "msg_7", {"time": {"created": TIME + 41}, "status": "failed", "error": {"message": "x"}}),
    ]
    inner: list[Row] = [("user", "msg_9", {"time": {"created": TIME}, "text": "Find it"})]
    sessions = [(session("ses_1"), [*NEWER, *marks, *others]), (HELPER, inner)]
    path = in_newer_database(tmp_path / "opencode.db", sessions)
    former = opencode.read(in_database(tmp_path / "opencode-1.db", [(session("ses_1"), MESSAGES), (HELPER, INNER)]))
    assert opencode.is_database(path)
    main, helper = opencode.read(path)
    *same, shell = main.messages
    assert (same, helper) == (former[0].messages, former[1])
    assert (shell.value["content"], shell.category) == ("$ ls\na.py", Category.AUTOMATED)
    assert dict(main.unread) == {"idle entries": 1, "model-switched entries": 1, "messages without content": 1}


def test_database_of_both_versions_has_each_message_once(tmp_path: Path) -> None:
    """An upgrade leaves the former tables as they were, and may have brought their messages into the new ones."""
    path = in_database(tmp_path / "opencode.db", [(session("ses_1"), MESSAGES[:2]), (session("ses_0"), MESSAGES[:1])])
    new: Row = ("user", "msg_8", {"time": {"created": TIME + 90}, "text": "On"})
    in_newer_database(path, [(session("ses_1"), [new]), (session("ses_3"), [new])])
    found = {one.id: [each.id for each in one.messages] for one in opencode.read(path)}
    former = ["msg_1", "msg_2", "msg_2/c1", "msg_2/c2", "msg_2/c3", "msg_2/2"]
    assert found == {"ses_1": [*former, "msg_8"], "ses_0": ["msg_1"], "ses_3": ["msg_8"]}
    brought = in_database(tmp_path / "opencode-2.db", [(session("ses_1"), MESSAGES)])
    in_newer_database(brought, [(session("ses_1"), [*NEWER, new])])
    assert [one.id for one in opencode.read(brought)[0].messages][-2:] == ["msg_4", "msg_8"]
    assert len(opencode.read(brought)[0].messages) == len(former) + 3
    # Former databases have the table too, some without an order, and without messages.
    empty = in_database(tmp_path / "opencode-3.db", [(session("ses_1"), MESSAGES)])
    with closing(sqlite3.connect(empty)) as database:
        database.execute("CREATE TABLE session_message (id, session_id, time_created, data)")
    assert opencode.read(empty)[0].id == "ses_1"


def test_messages_that_a_fork_copied_are_paid_for_once(tmp_path: Path) -> None:
    """They are older than their session."""
    later = {"created": TIME + 10, "updated": TIME + 10}
    export = [{"info": session("ses_4", time=later), "messages": numbered(MESSAGES)}]
    (found,) = opencode.read(written(tmp_path / "export.json", export, lines=False))
    assert ["usage" in one.value for one in found.messages] == [False] * 8


def test_read_leaves_an_answer_out_while_it_is_written(tmp_path: Path) -> None:
    """Or while its tools run; when the agent is gone, what there is."""
    working = {
        "info": {"id": "msg_5", "role": "assistant", "time": {"created": TIME + 30}},
        "parts": [tool("c9", "running")],
    }
    path = in_files(tmp_path, session("ses_1"), [*MESSAGES[:3], working])
    (found,) = opencode.read(path, is_over=False)
    assert found.messages[-1].id == "msg_3"
    assert opencode.read(path)[0].messages[-1].id == "msg_5"
    begun = {"time": {"created": TIME + 30}, "content": [used("c9", {"status": "streaming", "input": "{"})]}
    newer = in_newer_database(tmp_path / "opencode.db", [(session("ses_1"), [*NEWER[:-1], ("assistant", "m5", begun)])])
    assert opencode.read(newer, is_over=False)[0].messages[-1].id == "msg_3"
    assert opencode.read(newer)[0].messages[-1].id == "m5"


def test_places_are_sorted_and_follow_the_environment(tmp_path: Path) -> None:
    """Databases, and the sessions in files."""
    own = in_files(tmp_path, session("ses_1"), MESSAGES)
    database = in_database(own.parents[3] / "opencode.db", [])
    assert [*opencode.places(tmp_path, {})] == sorted([own, database])
    assert [*opencode.places(tmp_path / "no", {"XDG_DATA_HOME": str(tmp_path / ".local" / "share")})] == sorted(
        [own, database]
    )
    assert opencode.is_database(database)
    assert not opencode.is_database(own)


def test_read_refuses_other_files(tmp_path: Path) -> None:
    """Also a database whose tables are views, which would run what a stranger wrote."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        for name in ("session", "message", "part"):
            database.execute(f"CREATE VIEW {name} AS SELECT 1 AS id")
    for wrong in (path, written(tmp_path / "a.json", [{"id": "x"}], lines=False)):
        with pytest.raises(TranscriptError, match="no recording of OpenCode"):
            opencode.read(wrong)


def test_read_goes_nowhere_else_for_hostile_ids(tmp_path: Path) -> None:
    """An id is the name of a folder."""
    written(tmp_path / "secret" / "a.json", [{"id": "msg_1", "role": "user"}], lines=False)
    path = in_files(tmp_path / "x", session("ses_1"), [])
    written(path, [session("../../../../../../secret")], lines=False)
    assert opencode.read(path)[0].messages == []


@HOSTILE
@given(sample=gone_wrong([{"info": session("ses_1"), "messages": MESSAGES}]))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[Any]) -> None:
    """Each message is one, or counted, whatever stands in it."""
    path = written(tmp_path / "export.json", sample, lines=False)
    found = read_or_refused(lambda: opencode.read(path))
    read_or_refused(lambda: opencode.read(path, is_over=False))
    if found and isinstance(sample[0], dict) and isinstance(sample[0].get("messages"), list):
        given = sample[0]["messages"]
        assert accounted(found, lambda own: not own.endswith(("/c1", "/c2", "/c3"))) >= len(given)
        assert all(checked(each) is not None for each in found)


@HOSTILE
@given(sample=gone_wrong([[each["info"] for each in MESSAGES], [each["parts"] for each in MESSAGES]]))
def test_read_survives_any_value_in_a_database(tmp_path: Path, sample: list[Any]) -> None:
    """Its JSON is as hostile as that of files."""
    path = in_database(tmp_path / "opencode.db", [])
    try:
        with closing(sqlite3.connect(path)) as database:
            database.execute("INSERT INTO session VALUES ('s', NULL, '/p', 'T', NULL, 1)")
            for at, each in enumerate(sample[0] if sample and isinstance(sample[0], list) else []):
                database.execute("INSERT INTO message VALUES (?, 's', ?, ?)", (f"m{at}", at, json.dumps(each)))
            for at, each in enumerate(sample[1] if len(sample) > 1 and isinstance(sample[1], list) else []):
                row = (f"p{at}", f"m{at}", at, json.dumps(each))
                database.execute("INSERT INTO part VALUES (?, ?, 's', ?, ?)", row)
            database.commit()
        (found,) = opencode.read(path)
        checked(found)
    finally:
        path.unlink()


@HOSTILE
@given(sample=gone_wrong([[kind, data] for kind, _, data in NEWER]))
def test_read_survives_any_value_in_version_2(tmp_path: Path, sample: list[Any]) -> None:
    """Each row is a message, or counted."""
    path = in_newer_database(tmp_path / "opencode.db", [(session("s"), [])])
    try:
        rows = [each for each in sample if isinstance(each, list) and len(each) > 1]
        with closing(sqlite3.connect(path)) as database:
            for at, (kind, data, *_) in enumerate(rows):
                row = (f"m{at}", kind if isinstance(kind, str) else None, at, at, json.dumps(data))
                database.execute("INSERT INTO session_message VALUES (?, 's', ?, ?, ?, ?)", row)
            database.commit()
        (found,) = opencode.read(path)
        checked(found)
        assert accounted([found], lambda own: "/" not in own) >= len(rows)
    finally:
        path.unlink()
