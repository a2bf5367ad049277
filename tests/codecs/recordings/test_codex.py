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
    "action",
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
