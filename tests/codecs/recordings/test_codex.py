"""Sessions that Codex recorded: which lines are messages, which usage is whose, and how reading goes on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.recordings import START, Position, RecordedSession, codex
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.messages import Category, Usage

Line = dict[str, object]

ID: Final = "0199-aa"


def line(kind: str, **payload: object) -> Line:
    """Return a line of a rollout."""
    return {"timestamp": "2025-10-01T09:00:00.500Z", "type": kind, "payload": payload}


def item(kind: str, **more: object) -> Line:
    """Return a line with an item of Responses."""
    return line("response_item", type=kind, **more)


def event(kind: str, **more: object) -> Line:
    """Return a line with an event."""
    return line("event_msg", type=kind, **more)


def said(role: str, *texts: str) -> Line:
    """Return a line in which somebody says something."""
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text} for text in texts])


def call(identifier: str) -> Line:
    """Return a line in which a tool is called."""
    return item("function_call", call_id=identifier, name="shell", arguments='{"cmd": "ls"}')


def output(identifier: str) -> Line:
    """Return a line with what a tool said."""
    return item("function_call_output", call_id=identifier, output="a.py")


def tokens(total: int, last: int) -> Line:
    """Return a line with the usage of a call."""
    used = {"input_tokens": last, "cached_input_tokens": 2, "output_tokens": 3, "reasoning_output_tokens": 1}
    return event("token_count", info={"total_token_usage": {"total_tokens": total}, "last_token_usage": used})


META: Final = line("session_meta", id=ID, cwd="/work/shop", git={"branch": "main"}, source="cli")
SEALED: Final = item("reasoning", summary=[], encrypted_content="c2VhbGVk")
TURN: Final = [
    event("task_started"),
    said("user", "list the files"),
    event("user_message", message="list the files"),
    SEALED,
    event("agent_message", message="Listing."),
    said("assistant", "Listing."),
    call("c1"),
    call("c2"),
    tokens(10, 10),
    output("c1"),
    output("c2"),
    tokens(10, 10),
    said("assistant", "One file."),
    tokens(30, 20),
    event("task_complete", last_agent_message="One file."),
]
TALK: Final = [
    META,
    said("developer", "<permissions instructions>all"),
    said("user", "# AGENTS.md instructions for /work/shop", "<environment_context>\n<cwd>/work/shop</cwd>"),
    line("turn_context", cwd="/work/shop", model="gpt-5.5"),
    *TURN,
]


def written(path: Path, lines: list[Line]) -> Path:
    """Write lines into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the place of a session's file."""
    return tmp_path / "rollout-1.jsonl"


def session(path: Path, lines: list[Line]) -> RecordedSession:
    """Return the session of lines."""
    (found,) = codex.read(written(path, lines))
    return found


def texts(found: RecordedSession) -> list[str]:
    """Return what was said, calls included."""
    return [OpenAIResponses().to_message(message.value).rendered for message in found.messages]


def test_items_of_a_step_are_one_message_with_its_usage(path: Path) -> None:
    """Reasoning and calls stay together; what events repeat is counted."""
    found = session(path, TALK)
    assert (found.agent, found.id, found.project, found.codec) == ("codex", ID, "/work/shop", "openai.responses")
    messages = [OpenAIResponses().to_message(message.value) for message in found.messages]
    assert [message.role for message in messages] == [
        "system",
        "user",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert [message.category for message in found.messages] == [Category.CONTEXT, Category.CONTEXT, *[None] * 5]
    assert [message.line for message in found.messages] == [2, 3, 6, 8, 14, 15, 17]
    step = found.messages[3]
    made = [each["payload"] for each in (SEALED, said("assistant", "Listing."), call("c1"), call("c2"))]
    assert step.value["output"] == made
    assert (step.model, step.time, step.value["model"]) == ("gpt-5.5", 1759309200.5, "gpt-5.5")
    assert messages[4].results == ("c1",)
    assert found.unread == {
        "task_started events": 1,
        "repeated user_message events": 1,
        "repeated agent_message events": 1,
        "repeated token_count events": 1,
        "task_complete events": 1,
    }
    (talk,) = read_transcripts(path)
    assert talk.usages == (None, None, None, Usage(10, 3, 2), None, None, Usage(20, 3, 2))
    assert (talk.id, talk.sources, talk.skipped) == ("rollout-1", (1, 2, 5, 7, 13, 14, 16), 5)


def test_call_ends_with_its_usage(path: Path) -> None:
    """What the model makes behind it is another step, even without a result in between."""
    lines = [META, said("user", "go"), said("assistant", "a"), tokens(5, 5), said("assistant", "b"), tokens(9, 4)]
    assert texts(session(path, lines)) == ["go", "a", "b"]
    usages = read_transcripts(path)[0].usages
    assert usages == (None, Usage(5, 3, 2), Usage(4, 3, 2))


def test_older_rollouts_have_bare_items(path: Path) -> None:
    """Their first line is about the session."""
    meta: Line = {"id": ID, "timestamp": "2025-06-01T09:00:00Z", "instructions": None}
    bare: list[Line] = [{**each["payload"]} for each in TURN if each["type"] == "response_item"]  # type: ignore[dict-item]
    found = session(path, [meta, *bare[:2], {"record_type": "state"}, *bare[2:]])
    assert codex.is_form([meta, *bare])
    assert found.id == ID
    assert len(found.messages) == 5
    assert found.unread == {"state entries": 1}
    assert found.messages[0].time is None


def test_events_are_messages_when_no_items_repeat_them(path: Path) -> None:
    """Nothing is lost."""
    found = session(path, [META, *[each for each in TURN if each["type"] == "event_msg"]])
    assert texts(found) == ["list the files", "Listing."]
    assert found.messages[1].value["usage"] == session(path, TALK).messages[-1].value["usage"]


@pytest.mark.parametrize("summary", ["So far: listed.", ""])
def test_compaction_is_a_summary_and_repeats_the_rest(path: Path, summary: str) -> None:
    """Newer versions seal it; a replay needs none."""
    history = [said("user", "list the files")["payload"], {"type": "compaction", "encrypted_content": "x"}]
    found = session(path, [*TALK, line("compacted", message=summary, replacement_history=history), said("user", "on")])
    assert found.unread["items repeated by a compaction"] == 2
    assert found.unread["compactions without a summary"] == (not summary)
    assert texts(found)[7:] == ([summary, "on"] if summary else ["on"])
    marked = [(message.category, message.is_summary) for message in found.messages[7:]]
    assert marked == ([(Category.CONTEXT, True)] if summary else []) + [(None, False)]
    assert [message.text for message in read_transcripts(path)[0].messages[7:]] == ["on"]


@pytest.mark.parametrize(("turns", "front"), [(1, 7), (2, 2), (3, None), (99, None)])
def test_turns_rolled_back_begin_a_branch(path: Path, turns: int, front: int | None) -> None:
    """The next message stands behind what was in front of them."""
    lines = [*TALK, said("user", "two"), said("assistant", "2"), event("thread_rolled_back", num_turns=turns)]
    found = session(path, [*lines, said("user", "three")])
    expected = START if front is None else found.messages[front - 1].id
    assert [message.parent for message in found.messages] == [*[None] * 9, expected]
    (talk,) = read_transcripts(path)
    assert len(talk.messages) == (front or 0) + 1


@pytest.mark.parametrize("turns", [0, -1, None, "1", True])
def test_roll_back_by_no_number_is_none(path: Path, turns: object) -> None:
    """True is one turn, as in any arithmetic."""
    found = session(path, [*TALK, event("thread_rolled_back", num_turns=turns), said("user", "x")])
    assert (found.messages[-1].parent is None) == (turns is not True)


@pytest.mark.parametrize(
    "meta",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}},
        {"source": "cli", "parent_thread_id": "p1"},
    ],
)
def test_sub_agent_names_its_parent(path: Path, meta: Line) -> None:
    """In today's form and the former one."""
    assert session(path, [line("session_meta", id="c1", **meta), *TURN]).parent == "p1"
    assert session(path, [line("session_meta", id="c1", source={"subagent": "review"}), *TURN]).parent == ""


def test_fork_has_its_own_id_and_its_title(path: Path) -> None:
    """It begins with what the other session said, that session's first line included."""
    own = line("session_meta", id="fork", cwd="/work/shop", forked_from_id=ID)
    found = session(path, [own, *TALK, event("thread_name_updated", thread_name="Shop")])
    assert (found.id, found.title, len(found.messages)) == ("fork", "Shop", 7)
    assert found.unread["repeated session_meta entries"] == 1


# Ids that Codex makes begin with their time (UUID version 7): of a parent, its turns, its child, the child's turn.
PARENT: Final = "01990000-0000-7000-8000-000000000001"
PARENTS_TURN: Final = "01990000-0001-7000-8000-000000000002"
CHILD: Final = "01990000-0002-7000-8000-000000000003"
CHILDS_TURN: Final = "01990000-0003-7000-8000-000000000004"
# What a child does.
WORK: Final = [
    event("task_started", turn_id=CHILDS_TURN),
    line("turn_context", cwd="/work/shop", model="gpt-5.6", turn_id=CHILDS_TURN),
    said("user", "count the files"),
    said("assistant", "Twelve."),
    tokens(70, 10),
]
# What it has from its parent, which says so of itself first.
FROM_PARENT: Final = [
    line("session_meta", id=PARENT, cwd="/work/shop"),
    event("task_started", turn_id=PARENTS_TURN),
    line("turn_context", cwd="/work/shop", model="gpt-5.5", turn_id=PARENTS_TURN),
    *TURN,
]


def child(**meta: object) -> Line:
    """Return the first line of a sub-agent that was begun at half past nine."""
    begun = {"timestamp": "2025-10-01T09:30:00.000Z", "id": CHILD, "cwd": "/work/shop"}
    return {**line("session_meta", **begun, **meta), "timestamp": "2025-10-01T09:30:00.400Z"}


def later(lines: list[Line], stamp: str = "2025-10-01T09:31:00.000Z") -> list[Line]:
    """Return lines that were written then."""
    return [{**each, "timestamp": stamp} for each in lines]


def numbered(lines: list[Line]) -> list[Line]:
    """Return lines with the numbers that Codex gives them since 2026."""
    return [{**each, "ordinal": number} for number, each in enumerate(lines)]


OF_PARENT: Final = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}}
FIRST_OF_CHILD: Final = len(FROM_PARENT) + 1
COPIES: Final = {
    "with their times": [child(**OF_PARENT), *FROM_PARENT, *later(WORK)],
    "with new times": [child(**OF_PARENT), *later(FROM_PARENT), *later(WORK)],
    "with numbers": numbered(
        [child(**OF_PARENT, subagent_history_start_ordinal=FIRST_OF_CHILD), *later(FROM_PARENT), *later(WORK)]
    ),
}


@pytest.mark.parametrize("lines", [pytest.param(lines, id=name) for name, lines in COPIES.items()])
def test_what_a_sub_agent_has_from_its_parent_is_the_parent_s(path: Path, lines: list[Line]) -> None:
    """Since 2026 its file begins with a copy of the parent's, usage included: it would be stored and billed twice."""
    found = session(path, lines)
    assert (found.id, found.parent, texts(found)) == (CHILD, PARENT, ["count the files", "Twelve."])
    assert found.messages[-1].model == "gpt-5.6"
    assert found.unread["copied entries"] == len(FROM_PARENT) - 1
    (first,) = codex.read(written(path, lines[: FIRST_OF_CHILD + 2]))
    (rest,) = codex.read(written(path, lines), first.position)
    assert [*first.messages, *rest.messages] == found.messages


@pytest.mark.parametrize("lines", [pytest.param(lines, id=name) for name, lines in COPIES.items()])
@pytest.mark.parametrize("is_fork", [True, False])
def test_copies_are_known_however_often_their_file_is_read(path: Path, lines: list[Line], is_fork: bool) -> None:  # noqa: FBT001  # both
    """A hook may read it while Codex writes them."""
    if is_fork:
        lines = [json.loads(json.dumps(lines[0]).replace('"source"', '"was"')), *lines[1:]]
        lines[0]["payload"] |= {"forked_from_id": PARENT}  # type: ignore[operator]
    whole = session(path, lines)
    for cut in range(1, len(lines)):
        (first,) = codex.read(written(path, lines[:cut]), is_over=False)
        (rest,) = codex.read(written(path, lines), first.position)
        assert [*first.messages, *rest.messages] == whole.messages


def test_sub_agent_that_has_nothing_from_its_parent_keeps_all(path: Path) -> None:
    """Some versions write only the parent's first line: what stands behind it is the sub-agent's own."""
    head = [child(**OF_PARENT), *later(FROM_PARENT[:1])]
    found = session(path, [*head, *later([said("developer", "<skill>all"), *WORK])])
    assert texts(found) == ["<skill>all", "count the files", "Twelve."]
    own_turns = [event("task_started", turn_id="7"), *WORK[2:]]
    assert texts(session(path, [*head, *later(own_turns)])) == ["count the files", "Twelve."]


def test_fork_does_not_pay_again_for_what_it_copies(path: Path) -> None:
    """It goes on with the messages of the session that it comes from, which has their usage."""
    lines = [child(forked_from_id=PARENT), *FROM_PARENT, *later(WORK)]
    found = session(path, lines)
    assert len(found.messages) == 5 + 2
    assert [isinstance(one.value.get("usage"), dict) for one in found.messages] == [False] * 6 + [True]


def test_agents_speak_to_each_other(path: Path) -> None:
    """What another agent says was not made by the model; only a parent's task is what a sub-agent is asked."""
    task = {"author": "/root", "recipient": "/root/count", "content": [{"type": "input_text", "text": "count"}]}
    former = {**task, "content": "count again", "trigger_turn": True}
    answer = {"author": "/root/count/a", "recipient": "/root/count", "content": [{"type": "input_text", "text": "12"}]}
    lines = [
        child(**OF_PARENT),
        item("agent_message", **task),
        said("assistant", "Yes."),
        item("agent_message", **answer),
    ]
    found = session(path, later([*lines, line("inter_agent_communication", **former)]))
    read = [OpenAIResponses().to_message(one.value) for one in found.messages]
    assert [(one.role, one.rendered) for one in read] == [
        ("user", "count"),
        ("assistant", "Yes."),
        ("user", "12"),
        ("user", "count again"),
    ]
    assert [one.category for one in found.messages] == [None, None, Category.CONTEXT, None]
    assert found.messages[0].value["author"] == "/root"
    sealed = item("agent_message", **{**task, "content": [{"type": "encrypted_content", "encrypted_content": "c2Vh"}]})
    found = session(path, [child(**OF_PARENT), *later([sealed])])
    assert (found.messages, found.unread["sealed agent_message entries"]) == ([], 1)


def test_what_codex_writes_for_the_user_is_not_the_user_s(path: Path) -> None:
    """Goals that go on by themselves, what hooks say, lists of plugins, commands with their output."""
    texts = [
        '<codex_internal_context source="goal">Go on.</codex_internal_context>',
        '<hook_prompt hook_run_id="h1">Test it first.</hook_prompt>',
        "<recommended_plugins>many</recommended_plugins>",
        "<user_shell_command>\n<command>ls</command>\n<result>a.py</result>\n</user_shell_command>",
        "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead of exec_command.",
    ]
    found = session(path, [META, *(said("user", text) for text in (*texts, "Warning: it is late"))])
    assert [one.category for one in found.messages] == [Category.CONTEXT] * 5 + [None]


def test_what_was_spoken_aloud_is_said(path: Path) -> None:
    """Of a talk by voice, Codex writes what it heard and what it said."""
    spoken = [line("realtime_item", type="realtime_session_started", id="v0")]
    spoken += [
        line("realtime_item", type="transcript_segment", id="v1", role=role, text=text)
        for role, text in (("user", "is it done?"), ("assistant", "It is."), ("assistant", ""))
    ]
    found = session(path, [META, *spoken])
    assert [OpenAIResponses().to_message(one.value).role for one in found.messages] == ["user", "assistant"]
    assert texts(found) == ["is it done?", "It is."]
    assert found.unread == {"realtime_session_started entries": 1, "transcript_segment entries": 1}


@pytest.mark.parametrize("both", [True, False])
def test_usage_stands_in_records_of_its_own(path: Path, both: bool) -> None:  # noqa: FBT001  # with events, and without
    """Since 2026 beside the events; a record alone is enough, and both count once."""
    lines: list[Line] = []
    for each in LONG:
        payload = each["payload"]
        if not isinstance(payload, dict) or payload.get("type") != "token_count":
            lines.append(each)
            continue
        used = payload["info"]["last_token_usage"]
        total = payload["info"]["total_token_usage"]
        record = line("token_usage_record", response_id=str(total), usage=used, thread_token_usage=total)
        is_new = record not in lines
        lines += [*([each] if both else []), *([record] if is_new else [])]
    found, same = session(path, lines), session(path, LONG)
    assert [one.value.get("usage") for one in found.messages] == [one.value.get("usage") for one in same.messages]


def segment(folder: Path, number: int, lines: list[Line], base: Path | None = None, end: int | None = None) -> Path:
    """Write a piece of a session, which goes on where another one ends, or ended at a place in bytes."""
    own = PARENT if base is None else f"{PARENT}_{CHILD[:-1]}{number}"
    meta: Line = {"id": PARENT, "cwd": "/work/shop"}
    if base is not None:
        size = base.stat().st_size if end is None else end
        meta["history_base"] = {"thread_id": base.stem[-36:], "end_ordinal_exclusive": 9, "end_byte_offset": size}
    path = folder / "sessions" / "2026" / "09" / f"0{number}" / f"rollout-2026-09-0{number}T10-00-00-{own}.jsonl"
    return written(path, later([line("session_meta", **meta), *lines], f"2026-09-0{number}T10:00:00.000Z"))


def test_pieces_of_a_session_stand_behind_each_other(tmp_path: Path) -> None:
    """Codex goes on in another file since 2026; whoever went back goes on behind what the piece before had by then."""
    one, two = [said("user", "one"), said("assistant", "1")], [said("user", "two"), said("assistant", "2")]
    first = segment(tmp_path, 1, [*one, *two])
    end = sum(len(each) for each in first.read_bytes().splitlines(keepends=True)[:3])
    (whole,) = codex.read(first)
    second = segment(tmp_path, 2, [said("user", "three")], first)
    back = segment(tmp_path, 3, [said("user", "instead"), said("assistant", "i")], second, 0)
    other = segment(tmp_path, 4, [said("user", "other"), said("assistant", "o")], first, end)
    begun = segment(tmp_path, 5, [said("user", "anew")], first, 1)
    parents = [[one.parent for one in codex.read(each)[0].messages] for each in (second, back, other, begun)]
    assert parents == [[None], [whole.messages[-1].id, None], [whole.messages[1].id, None], [START]]
    assert {codex.read(each)[0].id for each in (first, second, back)} == {PARENT}
    assert codex.read(other, codex.read(other)[0].position)[0].messages == []
    # A hook reads it as soon as it is there.
    lines = other.read_bytes()
    for is_over in (True, False):
        other.write_bytes(lines.splitlines(keepends=True)[0])
        (begun_only,) = codex.read(other, is_over=is_over)
        other.write_bytes(lines)
        found = codex.read(other, begun_only.position)[0].messages
        assert (begun_only.messages, [one.parent for one in found]) == ([], [whole.messages[1].id, None])


@pytest.mark.parametrize(
    "base",
    [
        {"thread_id": CHILD, "end_byte_offset": 9},
        {"thread_id": "../" + PARENT, "end_byte_offset": 9},
        {"thread_id": "*", "end_byte_offset": 9},
        {"thread_id": PARENT, "end_byte_offset": "9"},
        {"thread_id": PARENT},
        [PARENT],
    ],
)
def test_piece_without_the_one_in_front_of_it_is_read(tmp_path: Path, base: object) -> None:
    """It is gone, somebody else's, or named by what is no name."""
    other = segment(tmp_path, 1, [said("user", "one")])
    written(other, [line("session_meta", id="other"), said("user", "one")])
    path = tmp_path / "sessions" / "2026" / "09" / "02" / f"rollout-2-{PARENT}_{CHILD}.jsonl"
    written(path, [line("session_meta", id=PARENT, history_base=base), said("user", "two")])
    assert [one.parent for one in codex.read(path)[0].messages] == [None]


def test_places_are_those_of_the_agent(tmp_path: Path) -> None:
    """The archive last."""
    names = [
        "archived_sessions/rollout-0.jsonl",
        "sessions/2025/10/01/rollout-2.jsonl",
        "sessions/2025/09/30/rollout-9.jsonl",
    ]
    for name in (*names, "sessions/2025/notes.jsonl", "history.jsonl"):
        written(tmp_path / ".codex" / name, [])
    (tmp_path / ".codex" / "sessions" / "rollout-3.jsonl").symlink_to(tmp_path / ".codex" / names[0])
    found = [str(each.relative_to(tmp_path / ".codex")) for each in codex.places(tmp_path, {})]
    assert found == names[::-1]
    assert len([*codex.places(Path("/nowhere"), {"CODEX_HOME": str(tmp_path / ".codex")})]) == 3


def test_form_is_known_by_its_structure() -> None:
    """Not by the file's name."""
    assert codex.is_form([META])
    assert codex.is_form([said("user", "x")])
    assert not codex.is_form([{"type": "event_msg"}, {"type": ["event_msg"], "payload": {}}, 5])
    assert not codex.is_form([{"id": "a", "timestamp": "b", "instructions": "c", "input": []}])
    assert not codex.is_form([])


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        pytest.param(TALK[:9], 3, id="no usage and no results"),
        pytest.param(TALK[:-2], 6, id="the last step without its usage"),
        pytest.param(TALK, 7, id="the turn is over"),
        pytest.param([*TALK[:-2], said("user", "stop")], 8, id="the user spoke"),
        pytest.param([*TALK, event("thread_rolled_back", num_turns=1)], 7, id="a roll back is read again"),
    ],
)
def test_step_that_is_not_complete_is_left_for_the_next_time(path: Path, lines: list[Line], kept: int) -> None:
    """Its usage comes last."""
    (found,) = codex.read(written(path, lines), is_over=False)
    assert len(found.messages) == kept
    assert found.position.line < len(lines) or lines in ([*TALK], [*TALK[:-2], said("user", "stop")])


LONG: Final = [
    *TALK,
    line("turn_context", model="gpt-5.6"),
    said("user", "two"),
    call("c3"),
    output("c3"),
    tokens(40, 10),
    said("assistant", "2"),
    tokens(45, 5),
    event("turn_aborted"),
    event("thread_rolled_back", num_turns=1),
    event("task_started"),
    said("user", "three"),
    said("assistant", "3"),
    tokens(60, 15),
    line("token_usage_record", usage={"input_tokens": 15}),
    item("agent_message", author="/root/a", recipient="/root", content=[{"type": "input_text", "text": "done"}]),
    line("realtime_item", type="transcript_segment", role="assistant", text="Indeed."),
    line("token_usage_record", usage={"input_tokens": 16, "output_tokens": 4}),
    event("thread_rolled_back", num_turns=9),
    said("user", "four"),
    item("ghost_snapshot", ghost_commit={}),
    line("compacted", message="all of it"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@example(cuts={len("".join(json.dumps(each) + "\n" for each in TALK[:4])) - 1})
@given(cuts=st.sets(st.integers(200, 6500), max_size=6))
def test_reading_on_finds_the_same_as_reading_once(path: Path, cuts: set[int]) -> None:
    """Wherever the file ended in between, its models and branches too."""
    whole = session(path, LONG)
    data = path.read_bytes()
    position = Position()
    found: list[object] = []
    unread: Counter[str] = Counter()
    for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        path.write_bytes(data[:end])
        (each,) = codex.read(path, position, is_over=end == len(data))
        position = each.position
        unread += each.unread
        found += each.messages
        assert (each.id, each.project) == (whole.id, whole.project)
    assert found == whole.messages
    assert unread == whole.unread
    assert position in (Position(end, "", len(LONG)) for end in (len(data), len(data) - 1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "call_id", "subagent"]), inner)
    ),
    max_leaves=6,
)
KEYS: Final = (
    "type", "role", "content", "call_id", "name", "arguments", "output", "summary", "id", "cwd", "source", "model",
    "info", "message", "num_turns", "replacement_history", "timestamp", "payload", "thread_name", "parent_thread_id",
    "action", "author", "recipient", "text", "usage", "turn_id", "history_base", "forked_from_id", "ordinal",
    "subagent_history_start_ordinal",
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400, deadline=None)
@given(at=st.integers(0, len(LONG) - 1), key=st.sampled_from(KEYS), inside=st.integers(0, 1), instead=JSON)
def test_any_value_in_any_place_is_read_or_counted(path: Path, at: int, key: str, inside: int, instead: object) -> None:
    """What is returned is a message of the codec; no id stands twice."""
    payload = LONG[at]["payload"]
    assert isinstance(payload, dict)
    changed = {**LONG[at], "payload": {**payload, key: instead}} if inside else {**LONG[at], key: instead}
    written(path, [*LONG[:at], changed, *LONG[at + 1 :]])
    for is_over in (True, False):
        (found,) = codex.read(path, is_over=is_over)
        for message in found.messages:
            OpenAIResponses().to_message(message.value)
        assert len({message.id for message in found.messages}) == len(found.messages)


def test_ids_of_messages_stay_when_their_contents_are_redacted(path: Path) -> None:
    """Who archives rollouts takes sealed reasoning out, or a secret: a copy of a session is known all the same."""
    redacted = json.loads(json.dumps(TALK).replace('"encrypted_content": "c2VhbGVk"', '"content": null'))
    redacted = json.loads(json.dumps(redacted).replace("list the files", "list the REDACTED"))
    found, copy = session(path, TALK), session(path, redacted)
    assert [one.id for one in found.messages] == [one.id for one in copy.messages]
    assert [one.value for one in found.messages] != [one.value for one in copy.messages]
    # Without times, what is said tells messages apart.
    bare = [{"id": ID, "timestamp": "2025-10-01T09:00:00Z", "instructions": ""}]
    others = [session(path, [*bare, said("user", text)["payload"]]) for text in ("a", "b")]  # type: ignore[list-item]
    assert others[0].messages[0].id != others[1].messages[0].id
