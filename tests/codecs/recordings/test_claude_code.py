"""Sessions that Claude Code recorded: which entries are messages, what they stand behind, and how reading goes on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.recordings import START, Position, RecordedSession, claude_code
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

Event = dict[str, object]

STAMP: Final = "2025-03-01T09:00:00Z"


def user(content: object, uuid: str | None = None, **more: object) -> Event:
    """Return an entry in which the user, or a tool, says something."""
    event: Event = {"type": "user", "timestamp": STAMP, "isSidechain": False, "sessionId": "s", "cwd": "/work/shop"}
    return {**event, "uuid": uuid, "message": {"role": "user", "content": content}, **more}


def answer(identifier: str, *blocks: Event, uuid: str | None = None, **more: object) -> Event:
    """Return an entry with blocks of the answer of that id."""
    message = {"id": identifier, "role": "assistant", "model": "m", "content": list(blocks), **more}
    return {"type": "assistant", "timestamp": "2025-03-01T09:00:05Z", "uuid": uuid, "message": message}


def text(words: str) -> Event:
    """Return a text block."""
    return {"type": "text", "text": words}


def use(identifier: str, name: str = "Read", **given_: object) -> Event:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": given_ or {"file_path": "a.py"}}


def result(identifier: str) -> Event:
    """Return a block that answers a call."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": "print()"}


def chained(*events: Event) -> list[Event]:
    """Return entries of which each has an id, `e0` and so on, and names the one in front unless it names another."""
    return [
        {"parentUuid": f"e{at - 1}" if at else None, **event, "uuid": event.get("uuid") or f"e{at}"}
        for at, event in enumerate(events)
    ]


def written(path: Path, events: list[Event]) -> Path:
    """Write entries into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the place of a session's file."""
    return tmp_path / "session.jsonl"


def session(path: Path, events: list[Event]) -> RecordedSession:
    """Return the main session of entries."""
    return claude_code.read(written(path, events))[0]


def contents(found: RecordedSession) -> list[object]:
    """Return the contents of a session's messages."""
    return [message.value["content"] for message in found.messages]


# Messages.


def test_answer_recorded_in_pieces_is_one_message(path: Path) -> None:
    """At the place of its first piece, with the usage of its last."""
    thought: Event = {"type": "thinking", "thinking": "hm", "signature": "s"}
    events: list[Event] = [
        user("read it", "u1"),
        answer("m1", thought, uuid="a1", usage={"output_tokens": 1}),
        answer("m1", text("Reading."), uuid="a2", usage={"output_tokens": 5}),
        answer("m1", use("t1"), uuid="a3", usage={"output_tokens": 9}, stop_reason="tool_use"),
        user([result("t1")], "u2"),
    ]
    found = session(path, events)
    assert [(message.id, message.line) for message in found.messages] == [("u1", 1), ("a1", 2), ("u2", 5)]
    joined = found.messages[1]
    assert joined.value["content"] == [thought, text("Reading."), use("t1")]
    assert (joined.value["usage"], joined.value["stop_reason"]) == ({"output_tokens": 9}, "tool_use")
    assert (joined.value["timestamp"], joined.time) == ("2025-03-01T09:00:05Z", 1740819605.0)
    assert (joined.model, found.messages[0].model) == ("m", "")
    assert (found.agent, found.id, found.project, found.parent) == ("claude-code", "s", "/work/shop", "")
    assert not found.unread


def test_answer_is_one_message_when_its_first_tool_answered_in_between(path: Path) -> None:
    """Tools run while the answer still streams; every call comes before every result all the same."""
    events: list[Event] = [
        user("read"),
        answer("m1", use("t1")),
        user([result("t1")]),
        answer("m1", use("t2")),
        user([result("t2")]),
    ]
    assert contents(session(path, events)) == ["read", [use("t1"), use("t2")], [result("t1")], [result("t2")]]


def test_answers_stay_apart_when_the_user_spoke_between_them(path: Path) -> None:
    """Some proxies give every answer the same id."""
    events: list[Event] = [user("one"), answer("x", text("1")), user("two"), answer("x", text("2"))]
    assert contents(session(path, events)) == ["one", [text("1")], "two", [text("2")]]


def test_answers_stay_apart_when_they_have_no_id(path: Path) -> None:
    """Without an id nothing says that two entries are one answer."""
    events: list[Event] = [user("one"), answer("", text("1")), answer("", text("2"))]
    assert contents(session(path, events)) == ["one", [text("1")], [text("2")]]


def test_answer_is_joined_when_a_piece_is_a_plain_string(path: Path) -> None:
    """A string is one text block."""
    first = answer("m1")
    first["message"] = {"id": "m1", "content": "Reading."}
    found = session(path, [user("read"), first, answer("m1", use("t1"))])
    assert contents(found) == ["read", [text("Reading."), use("t1")]]
    assert found.messages[1].value["role"] == "assistant"


def test_what_is_no_message_is_counted_by_its_name(path: Path) -> None:
    """So that a report can say it."""
    events: list[Event] = [
        {"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        user("hello", "u1"),
        {"type": "system", "content": "hook ran", "subtype": "informational"},
        {**answer("e1", text("API Error: 529 overloaded")), "isApiErrorMessage": True},
        answer("e2", text("No response requested."), model="<synthetic>"),
        user("shown only", isVisibleInTranscriptOnly=True),
        user(None),
        {"type": "user", "message": "hello"},
        user([{"type": "tool_result"}]),
        {"type": "of-next-year", "message": {"role": "user", "content": "?"}},
        {"type": ["x"]},
        answer("m1", text("Hi.")),
    ]
    found = session(path, events)
    with path.open("a") as file:
        file.write("no JSON\n")
    assert contents(found) == ["hello", [text("Hi.")]]
    assert claude_code.read(path)[0].unread == {
        "summary entries": 1,
        "file-history-snapshot entries": 1,
        "system entries": 1,
        "API errors": 2,
        "messages that the model did not read": 1,
        "user entries": 2,
        "broken messages": 1,
        "of-next-year entries": 1,
        "entries without a type": 1,
        "broken lines": 1,
    }
    assert found.title == ""
    (talk,) = read_transcripts(path)
    assert talk.skipped == 12


def test_entry_is_taken_once_when_the_file_repeats_it(path: Path) -> None:
    """A resumed session is known to write its past again."""
    events: list[Event] = [
        user("one", "u1"),
        user("two", "u2"),
        user("one", "u1"),
        user("two", "u2"),
        user("three", "u3"),
    ]
    found = session(path, events)
    assert contents(found) == ["one", "two", "three"]
    assert found.unread == {"repeated entries": 2}


def test_what_the_program_said_is_context(path: Path) -> None:
    """The model read it; a replay leaves a summary out if the file holds what it stands for."""
    summary = user("This stands for the past.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    events: list[Event] = [user("Caveat: a command ran.", isMeta=True), user("go"), summary, user("on")]
    found = session(path, events)
    assert [message.category for message in found.messages] == [Category.CONTEXT, None, Category.CONTEXT, None]
    assert [message.is_summary for message in found.messages] == [False, False, True, False]
    texts = [[message.text for message in talk.messages] for talk in read_transcripts(path)]
    assert texts == [["Caveat: a command ran.", "go", "on"]]
    written(path, events[2:])
    assert [message.text for message in read_transcripts(path)[0].messages] == ["This stands for the past.", "on"]


@pytest.mark.parametrize(
    ("origin", "is_said"),
    [
        *((kind, True) for kind in (None, "human", "channel")),
        *((kind, False) for kind in ("peer", "task-notification", "auto-continuation", "coordinator", "any other")),
    ],
)
def test_only_people_are_the_user(path: Path, origin: str | None, is_said: bool) -> None:  # noqa: FBT001  # who spoke
    """Since 2026, entries and what was said while the agent worked tell who wrote them: a person, or a program."""
    told: Event = {} if origin is None else {"origin": {"kind": origin}}
    queued: Event = {"type": "queued_command", "commandMode": "prompt", "prompt": "go on", **told}
    notes: list[Event] = [{**queued, "isMeta": True}, {**queued, "commandMode": "task-notification"}]
    events = [{**user("go on"), **told}]
    events += [{"type": "attachment", "attachment": each} for each in (queued, *notes)]
    category = None if is_said else Category.CONTEXT
    found = session(path, chained(*events))
    assert [one.category for one in found.messages] == [category, category, Category.CONTEXT, Category.CONTEXT]


def test_role_is_that_of_the_entry_when_its_message_has_none(path: Path) -> None:
    """Older files name the speaker outside of the message only; an entry without an id gets one of its place."""
    found = session(path, [{"type": "user", "message": {"content": "hi"}, "timestamp": 5}] * 2)
    assert [message.value for message in found.messages] == [{"role": "user", "content": "hi", "timestamp": 5}] * 2
    assert len({message.id for message in found.messages}) == 2
    assert [message.id for message in claude_code.read(path)[0].messages] == [message.id for message in found.messages]


@pytest.mark.parametrize("attached", [False, True])
def test_what_the_user_said_while_the_agent_worked_is_a_message(path: Path, attached: bool) -> None:  # noqa: FBT001
    """Today an attachment holds it; older versions recorded only that it left the queue."""
    queue = {"type": "queue-operation", "timestamp": STAMP}
    attachments: list[Event] = [
        {"type": "attachment", "uuid": "x1", "attachment": {"type": "hook_success", "content": ""}},
        {"type": "attachment", "uuid": "x2", "attachment": {"type": "queued_command", "prompt": "no tabs, please"}},
    ]
    events: list[Event] = [
        *attachments[: int(attached)],
        user("tidy up", "u1"),
        answer("m1", use("t1"), uuid="a1"),
        {**queue, "operation": "enqueue", "content": "sent as usual"},
        {**queue, "operation": "dequeue"},
        {**queue, "operation": "enqueue", "content": "taken back"},
        {**queue, "operation": "popAll", "content": "taken back"},
        {**queue, "operation": "enqueue", "content": "no tabs, please"},
        user([result("t1")], "u2"),
        {**queue, "operation": "remove"},
        *attachments[1 : 1 + int(attached)],
        answer("m2", text("Done."), uuid="a2"),
    ]
    found = session(path, events)
    assert contents(found) == ["tidy up", [use("t1")], [result("t1")], "no tabs, please", [text("Done.")]]
    assert [message.parent for message in found.messages] == [None] * 5
    # What waits is known when reading goes on behind it, too.
    at = [*map(json.dumps, events)].index(json.dumps(events[-3 - int(attached)]))
    size = sum(len(json.dumps(event)) + 1 for event in events[:at])
    behind = claude_code.read(path, Position(size, "a1", at))[0]
    assert [message.id for message in behind.messages] == [message.id for message in found.messages[2:]]


# Branches.


def parents(found: RecordedSession) -> dict[str, str | None]:
    """Return the messages of a session that do not simply stand behind the one in front."""
    return {message.id: message.parent for message in found.messages if message.parent is not None}


TALK: Final[list[Event]] = chained(
    user("one"),
    answer("m1", use("t1"), use("t2")),
    user([result("t1")]),
    user([result("t2")], parentUuid="e1"),
    answer("m2", text("Done.")),
    {"type": "system", "subtype": "turn_duration"},
    user("two"),
    answer("m3", text("Yes.")),
)


def test_talk_without_a_branch_has_none(path: Path) -> None:
    """Results fork the links, other entries stand between, and neither means a branch."""
    assert not parents(session(path, TALK))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(user("no", "p", parentUuid="e5"), {"p": "e4"}, id="behind an entry that is no message"),
        pytest.param(user("no", "p", parentUuid="e2"), {"p": "e3"}, id="inside of a step: behind all of it"),
        pytest.param(user("no", "p", parentUuid="e7"), {}, id="behind the newest message"),
        pytest.param(user("no", "p", parentUuid="who"), {}, id="a broken link"),
        pytest.param(user("no", "p", parentUuid=7), {}, id="a link of a wrong type"),
        pytest.param(user("no", "p", parentUuid=None), {"p": START}, id="the first message edited"),
        pytest.param(user([result("t9")], "p", parentUuid="e2"), {}, id="a result"),
        pytest.param({**answer("m9", text("x"), uuid="p"), "parentUuid": "e0"}, {}, id="an answer"),
    ],
)
def test_only_a_prompt_that_goes_back_begins_a_branch(path: Path, event: Event, expected: dict[str, str]) -> None:
    """It names the message that it stands behind; replay takes the branch that is talked on."""
    found = session(path, [*TALK, event])
    assert parents(found) == expected
    if expected:
        (talk,) = read_transcripts(path)
        front = [*(message.id for message in found.messages)]
        assert len(talk.messages) == (front.index(expected["p"]) + 2 if expected["p"] else 1)


def test_branch_goes_on_from_its_own_messages(path: Path) -> None:
    """The newest message is the newest of the branch, and somebody may go back twice."""
    events: list[Event] = [
        *TALK,
        user("no", "p1", parentUuid="e4"),
        {**answer("m4", text("Ok."), uuid="p2"), "parentUuid": "p1"},
        user("fine", "p3", parentUuid="p2"),
        user("two, after all", "p4", parentUuid="e7"),
    ]
    assert parents(session(path, events)) == {"p1": "e4", "p4": "e7"}
    (talk,) = read_transcripts(path)
    assert [message.text for message in talk.messages][-3:] == ["two", "Yes.", "two, after all"]


def test_compaction_is_no_branch(path: Path) -> None:
    """Its entry and what follows have new links."""
    boundary: Event = {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": "e7"}
    summary = user("So far: two.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    events: list[Event] = [*TALK, *chained(*TALK, boundary, summary, user("three"))[len(TALK) :]]
    assert not parents(session(path, events))
    events = [*TALK, {**boundary, "uuid": "b"}, user("three", "p", parentUuid=None)]
    assert not parents(session(path, events))
    hook: Event = {"type": "progress", "uuid": "h", "parentUuid": None, "data": {"type": "hook_progress"}}
    assert not parents(session(path, [*TALK, hook, user("three", "p", parentUuid="h")]))


# Sub-agents.


SIDE: Final[Event] = {"isSidechain": True}


def test_sub_agents_among_the_entries_are_sessions_of_their_own(path: Path) -> None:
    """Each chain from a root is one; the call is the one that asked for its first text."""
    events: list[Event] = [
        user("look at both", "u1"),
        answer("m1", use("t1", "Task", prompt="look at a"), use("t2", "Task", prompt="look at b"), uuid="a1"),
        user("look at a", "r1", parentUuid=None, isSidechain=True),
        user("look at b", "r2", parentUuid=None, isSidechain=True),
        {**answer("n1", use("t3"), uuid="r3"), "parentUuid": "r2", **SIDE},
        {**answer("n2", text("a is fine"), uuid="r4"), "parentUuid": "r1", **SIDE},
        user([result("t3")], "r5", parentUuid="r3", isSidechain=True),
        user([result("t1")], "u2"),
        user([result("t2")], "u3"),
    ]
    main, first, second = claude_code.read(written(path, events))
    assert [message.id for message in main.messages] == ["u1", "a1", "u2", "u3"]
    assert [(each.id, each.parent, each.call_id, each.project) for each in (first, second)] == [
        ("r1", "s", "t1", "/work/shop"),
        ("r2", "s", "t2", "/work/shop"),
    ]
    assert [message.id for message in second.messages] == ["r2", "r3", "r5"]
    assert first.position == second.position == main.position
    assert [talk.id for talk in read_transcripts(path)] == ["session", "session/r1", "session/r2"]


def progress(inner: Event, agent: str = "ab1", call: str = "t1") -> Event:
    """Return an entry about what a sub-agent does."""
    data = {"type": "agent_progress", "agentId": agent, "prompt": "look", "message": inner}
    return {
        "type": "progress",
        "data": data,
        "parentToolUseID": call,
        "parentUuid": "a1",
        "uuid": f"of {inner['uuid']}",
    }


def test_sub_agent_is_read_from_its_progress_unless_it_has_a_file(path: Path) -> None:
    """The same messages with the same ids stand in both."""
    events: list[Event] = [
        user("look", "u1"),
        answer("m1", use("t1", "Task", prompt="look"), uuid="a1"),
        progress(user([text("look")], "r1")),
        progress(answer("n1", use("t3"), uuid="r2")),
        progress(user([result("t3")], "r3")),
        user([result("t1")], "u2", parentUuid="of r3", toolUseResult={"agentId": "ab1"}),
        user("thanks", "u3", parentUuid="u2"),
    ]
    main, agent = claude_code.read(written(path, events))
    assert (agent.id, agent.call_id, [message.id for message in agent.messages]) == ("ab1", "t1", ["r1", "r2", "r3"])
    assert [message.id for message in main.messages] == ["u1", "a1", "u2", "u3"]
    assert not parents(main)
    own = written(
        path.parent / "session" / "subagents" / "agent-ab1.jsonl", [user("look", "r1", agentId="ab1", isSidechain=True)]
    )
    (main,) = claude_code.read(path)
    assert main.unread == {"progress entries": 3}
    (agent,) = claude_code.read(own)
    assert (agent.id, agent.parent, agent.call_id) == ("ab1", "session", "t1")


@pytest.mark.parametrize("told", ["result", "progress", "prompt", "nothing"])
@pytest.mark.parametrize("place", ["s/subagents/agent-ab1.jsonl", "agent-ab1.jsonl"])
def test_sub_agent_with_a_file_of_its_own_names_its_session_and_call(tmp_path: Path, place: str, told: str) -> None:
    """The session's file tells the call: the result names the agent, or the prompt is what the agent was asked."""
    asked = {"prompt": "count them" if told == "prompt" else "other words"}
    events: list[Event] = [user("go", "u1"), answer("m1", use("t0"), use("t1", "Agent", **asked), uuid="a1")]
    if told == "progress":
        events.append(progress(user("count them", "r1")))
    if told == "result":
        events.append(user([result("t1")], toolUseResult={"agentId": "ab1"}))
    written(tmp_path / "s.jsonl", events)
    chain = chained(
        user("count them", agentId="ab1", isSidechain=True),
        {**answer("n1", text("Three.")), "agentId": "ab1", "sessionId": "s", **SIDE},
        user("sure?", agentId="ab1", isSidechain=True),
        user("sure, really?", agentId="ab1", parentUuid="e1", isSidechain=True),
    )
    (found,) = claude_code.read(written(tmp_path / place, chain))
    assert (found.id, found.parent, found.call_id) == ("ab1", "s", "t1" if told != "nothing" else "")
    assert contents(found)[:2] == ["count them", [text("Three.")]]
    assert parents(found) == {"e3": "e1"}


def test_parent_of_a_sub_agent_is_no_path(tmp_path: Path) -> None:
    """What a file says never leads out of its folder."""
    written(tmp_path / "secret.jsonl", [answer("m1", use("t1", "Agent", prompt="hi"))])
    own = written(tmp_path / "p" / "agent-x.jsonl", [user("hi", sessionId="../secret", agentId="x", isSidechain=True)])
    (found,) = claude_code.read(own)
    assert (found.parent, found.call_id) == ("../secret", "")


# Titles, names and places.


def test_title_is_the_strongest_and_newest_of_this_session(path: Path) -> None:
    """The user's own counts most; summaries of other sessions do not."""
    events: list[Event] = [{"type": "summary", "summary": "Tidying", "leafUuid": "e7"}, *TALK]
    assert session(path, events).title == "Tidying"
    events += [{"type": "ai-title", "aiTitle": "Shop"}, {"type": "ai-title", "aiTitle": "Shop, tidied"}]
    assert session(path, events).title == "Shop, tidied"
    assert session(path, [*events, {"type": "custom-title", "customTitle": "Mine"}, *events[-2:]]).title == "Mine"


def test_session_has_the_name_of_its_file_when_that_is_an_id(tmp_path: Path) -> None:
    """A session that goes on from another one may begin with its entries."""
    name = "0e1cbd60-7a0b-4f1e-9c55-1f0e6f0c8b11"
    assert session(tmp_path / f"{name}.jsonl", [user("hi")]).id == name
    assert session(tmp_path / "full.jsonl", [user("hi")]).id == "s"
    assert session(tmp_path / "bare.jsonl", [{"type": "user", "message": {"content": "hi"}}]).id == "bare"


def test_places_are_those_of_the_agent(tmp_path: Path) -> None:
    """Sub-agents behind their sessions; links are left out, for they could lead to another project."""
    names = ["-p/b.jsonl", "-p/agent-1.jsonl", "-p/a/subagents/agent-2.jsonl", "-q/a.jsonl", "-p/a.txt"]
    for name in names:
        written(tmp_path / ".claude" / "projects" / name, [])
    (tmp_path / ".claude" / "projects" / "-q" / "b.jsonl").symlink_to(tmp_path / ".claude" / "projects" / names[0])
    root = tmp_path / ".claude" / "projects"
    found = [str(each.relative_to(root)) for each in claude_code.places(tmp_path, {})]
    assert found == ["-p/b.jsonl", "-p/a/subagents/agent-2.jsonl", "-p/agent-1.jsonl", "-q/a.jsonl"]
    assert len([*claude_code.places(Path("/nowhere"), {"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")})]) == 4
    assert not [*claude_code.places(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path)})]


def test_form_is_known_by_its_structure() -> None:
    """An entry wraps a message; a message has its role outside."""
    assert claude_code.is_form([{"type": "summary"}, user("hi")])
    assert claude_code.is_form([{"type": "progress", "parentUuid": None}])
    assert claude_code.is_form([{"type": "summary", "leafUuid": "x"}])
    assert not claude_code.is_form([{"role": "user", "content": "hi"}])
    assert not claude_code.is_form([{"role": "user", "content": "hi"}, user("hi")])
    assert not claude_code.is_form([{"type": "summary"}, {"type": ["user"]}, 5])
    assert not claude_code.is_form([])


def test_session_is_known_whatever_stands_at_the_head_of_its_file(path: Path) -> None:
    """A file that was renamed may begin with dozens of titles, before an entry says of which session it is."""
    titles: list[Event] = [{"type": "summary", "summary": "Work", "leafUuid": f"l{at}"} for at in range(30)]
    found = session(path, [*titles, user("go", "u1")])
    assert (found.id, found.project) == ("s", "/work/shop")


# Reading on.


@pytest.mark.parametrize(
    ("events", "kept"),
    [
        pytest.param([answer("m1", text("a"))], 1, id="more blocks may come"),
        pytest.param([answer("m1", text("a"), stop_reason="end_turn")], 2, id="its last block came"),
        pytest.param([answer("m1", text("a")), {"type": "system", "subtype": "turn_duration"}], 2, id="the turn ended"),
        pytest.param([answer("m1", text("a")), user("b")], 3, id="the user spoke"),
        pytest.param([answer("m1", use("t1"), stop_reason="tool_use")], 1, id="no result"),
        pytest.param(
            [answer("m1", use("t1"), use("t2"), stop_reason="tool_use"), user([result("t1")])], 1, id="one of 2"
        ),
        pytest.param([answer("m1", use("t1"), stop_reason="tool_use"), user([result("t1")])], 3, id="all results"),
        pytest.param([answer("m1", use("t1")), user([result("t1")])], 1, id="a call may still come"),
        pytest.param([answer("m1", use("t1")), user([result("t1")]), answer("m2", text("b"))], 3, id="the next answer"),
        pytest.param([answer("m1", use("t1")), user([result("t1")]), answer("m1", use("t2"))], 1, id="it went on"),
    ],
)
def test_answer_that_is_not_complete_is_left_for_the_next_time(path: Path, events: list[Event], kept: int) -> None:
    """The position is in front of it, and nothing behind it is counted."""
    every: list[Event] = [user("go"), *events, {"type": "pr-link"}]
    found = claude_code.read(written(path, every), is_over=False)[0]
    assert len(found.messages) == kept
    assert len(session(path, every).messages) == len(
        {json.dumps(event.get("message")) for event in every} - {"null"}
    ) - (json.dumps(every).count('"m1"') - 1)
    rest = claude_code.read(path, found.position)[0]
    assert found.unread + rest.unread == session(path, every).unread


LONG: Final[list[Event]] = [
    *TALK,
    *chained(*TALK, user("go on"), answer("m5", use("t5", "Task", prompt="look"), stop_reason="tool_use"))[len(TALK) :],
    progress(user([text("look")], "r1"), call="t5"),
    progress(answer("n1", text("nothing"), uuid="r2"), call="t5"),
    user([result("t5")], "f1", parentUuid="e9"),
    {"type": "system", "subtype": "turn_duration", "uuid": "f2", "parentUuid": "f1"},
    user("back to the first", "f3", parentUuid="e5"),
    {**answer("m6", text("Fine."), uuid="f4", stop_reason="end_turn"), "parentUuid": "f3"},
    user("from the beginning", "f5", parentUuid=None),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(cuts=st.sets(st.integers(1, 6000), max_size=6))
def test_reading_on_finds_the_same_as_reading_once(path: Path, cuts: set[int]) -> None:
    """Wherever the file ended in between, inside of a line or a step; branches into what was read before, too."""
    whole = claude_code.read(written(path, LONG))
    data = path.read_bytes()
    position = Position()
    found: dict[str, list[object]] = {}
    unread: Counter[str] = Counter()
    for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        path.write_bytes(data[:end])
        sessions = claude_code.read(path, position, is_over=end == len(data))
        position = sessions[0].position
        unread += sessions[0].unread
        for each in sessions:
            if each.messages:
                found.setdefault(each.id, []).extend(each.messages)
    assert found == {each.id: each.messages for each in whole}
    assert unread == whole[0].unread
    assert position in (Position(end, "f5", len(LONG)) for end in (len(data), len(data) - 1))


def test_file_that_became_shorter_is_read_from_its_beginning(path: Path) -> None:
    """It is another one."""
    assert len(claude_code.read(written(path, TALK), Position(1_000_000, "x", 99))[0].messages) == 7


# Hostile files.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner),
    max_leaves=6,
)
PLACES: Final = (
    ("type",), ("uuid",), ("parentUuid",), ("sessionId",), ("cwd",), ("isSidechain",), ("timestamp",), ("isMeta",),
    ("message",), ("message", "id"), ("message", "role"), ("message", "content"), ("message", "usage"),
    ("message", "model"), ("message", "stop_reason"), ("message", "content", 0), ("message", "content", 0, "type"),
    ("message", "content", 0, "id"), ("message", "content", 0, "name"), ("message", "content", 0, "input"),
    ("message", "content", 0, "tool_use_id"), ("message", "content", 0, "content"), ("toolUseResult",), ("subtype",),
    ("data",), ("data", "message"), ("data", "agentId"), ("data", "message", "uuid"), ("data", "message", "type"),
    ("attachment",), ("attachment", "prompt"), ("summary",), ("leafUuid",), ("operation",), ("content",),
)  # fmt: skip
SEEDS: Final[list[Event]] = [
    *LONG,
    {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x"}},
    {"type": "queue-operation", "operation": "enqueue", "content": "x"},
    {"type": "queue-operation", "operation": "remove"},
    {"type": "summary", "summary": "x", "leafUuid": "e1"},
]


def replaced(value: object, place: tuple[object, ...], instead: object) -> object:
    """Return a JSON value with another one at a place, if it has that place."""
    if not place:
        return instead
    if isinstance(value, dict) and (place[0] in value or len(place) == 1):
        return {**value, place[0]: replaced(value.get(place[0]), place[1:], instead)}
    if isinstance(value, list) and value and place[0] == 0:
        return [replaced(value[0], place[1:], instead), *value[1:]]
    return value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400, deadline=None)
@given(at=st.integers(0, len(SEEDS) - 1), place=st.sampled_from(PLACES), instead=JSON)
def test_any_value_in_any_place_is_read_or_counted(
    path: Path, at: int, place: tuple[object, ...], instead: object
) -> None:
    """What is returned is a message of the codec; no id stands twice."""
    events: list[object] = [*SEEDS[:at], replaced(SEEDS[at], place, instead), *SEEDS[at + 1 :]]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    for is_over in (True, False):
        for each in claude_code.read(path, is_over=is_over):
            for message in each.messages:
                AnthropicMessages().to_message(message.value)
            assert len({message.id for message in each.messages}) == len(each.messages)


def test_more_sub_agents_than_anybody_has_are_counted(path: Path) -> None:
    """Each would be a session."""
    events: list[Event] = [user("x", f"r{number}", parentUuid=None, isSidechain=True) for number in range(1_005)]
    found = claude_code.read(written(path, [user("go", "u1"), *events]))
    assert len(found) == 1_001
    assert found[0].unread == {"sub-agents' entries": 5}


def test_names_of_unread_entries_are_few_and_short(path: Path) -> None:
    """A file chooses them."""
    events: list[Event] = [{"type": f"{number}" + "x" * 99, "parentUuid": None} for number in range(150)]
    unread = session(path, events).unread
    assert len(unread) == 101
    assert (unread.total(), unread["other entries"], max(map(len, unread))) == (150, 50, 48)


def test_file_that_is_none_is_refused(path: Path) -> None:
    """With the error of every transcript."""
    with pytest.raises(TranscriptError, match="can't be read"):
        claude_code.read(path)
