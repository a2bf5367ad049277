"""Sessions of Gemini CLI: chats in both forms, logs, checkpoints, sub-agents, rewinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from squidbot.codecs.recordings import Position, gemini_cli
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

HEAD: dict[str, object] = {"sessionId": "s-1", "projectHash": "ab12", "startTime": "2026-01-02T03:04:05Z"}


def message(name: str, kind: str, content: object, **more: object) -> dict[str, object]:
    """Return a record of a message."""
    return {"id": name, "timestamp": "2026-01-02T03:04:06.500Z", "type": kind, "content": content, **more}


def called(name: str, output: object, status: str = "success") -> dict[str, object]:
    """Return the record of a call with its result."""
    response = {"functionResponse": {"id": name, "name": "read_file", "response": output}}
    time = "2026-01-02T03:04:07Z"
    result = [response] if output is not None else None
    return {
        "id": name,
        "name": "read_file",
        "args": {"path": "a.py"},
        "result": result,
        "status": status,
        "timestamp": time,
    }


ANSWER = message(
    "m2",
    "gemini",
    "I read it.",
    thoughts=[{"subject": "Plan", "description": "Look first.", "timestamp": "2026-01-02T03:04:06Z"}],
    tokens={"input": 100, "output": 7, "cached": 40, "thoughts": 3, "tool": 0, "total": 110},
    model="gemini-x",
    toolCalls=[called("c1", {"output": "print()"}), called("c2", {"error": "no such file"})],
)
TALK: list[object] = [
    message("m1", "user", "Read a.py"),
    message("i1", "info", "Update available"),
    ANSWER,
    message("m3", "user", [{"text": "And this?"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]),
    message("m4", "gemini", "A picture.", model="gemini-x"),
]
WHOLE: list[object] = [{**HEAD, "lastUpdated": "2026-01-02T03:05:00Z", "messages": TALK}]
LINES: list[object] = [HEAD, *TALK, {"$set": {"summary": "Reading", "lastUpdated": "2026-01-02T03:05:00Z"}}]


def named(path: Path) -> Path:
    """Return where a chat lies in a folder of Gemini CLI's."""
    return path / ".gemini" / "tmp" / "proj" / "chats" / "session-2026-01-02T03-04-s-1.jsonl"


@pytest.mark.parametrize("lines", [True, False])
def test_read_gives_calls_results_thoughts_and_usage(tmp_path: Path, *, lines: bool) -> None:
    """In both forms, the same messages under the same ids."""
    path = written(named(tmp_path), LINES if lines else WHOLE, lines=lines)
    (path.parent.parent / ".project_root").write_text("/home/me/proj\n", encoding="utf-8")
    (session,) = gemini_cli.read(path)
    assert [each.id for each in session.messages] == ["m1", "m2", "m2/c1", "m2/c2", "m3", "m4"]
    assert roles(session) == ["user", "assistant", "tool", "tool", "user", "assistant"]
    answer = session.messages[1]
    assert (answer.model, answer.time) == ("gemini-x", 1767323046.5)
    assert answer.value["reasoning_content"] == "Plan\nLook first."
    assert answer.value["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    assert [each.value["content"] for each in session.messages[2:4]] == ["print()", "no such file"]
    assert [each.category for each in session.messages[2:4]] == [None, Category.ERROR]
    picture: Any = session.messages[4].value["content"]
    assert picture[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert dict(session.unread) == {"info messages": 1}
    assert (session.id, session.project, session.title) == ("s-1", "/home/me/proj", "Reading" if lines else "")
    assert all(each.parent is None for each in session.messages)


def test_read_keeps_the_last_answer_for_later_while_it_may_still_get_calls(tmp_path: Path) -> None:
    """Reading on gives what one reading of all gives, whenever it stopped."""
    path = written(named(tmp_path), LINES[:4])
    (first,) = gemini_cli.read(path, is_over=False)
    assert [each.id for each in first.messages] == ["m1"]
    written(path, LINES)
    (second,) = gemini_cli.read(path, first.position, is_over=False)
    (third,) = gemini_cli.read(path, second.position)
    whole = gemini_cli.read(path)[0]
    assert [*first.messages, *second.messages, *third.messages] == whole.messages
    assert first.unread + second.unread + third.unread == whole.unread
    assert gemini_cli.read(path, third.position) == []
    assert third.position == Position(path.stat().st_size, "m4", len(LINES))


def test_read_takes_the_newest_version_of_a_message_at_its_first_place(tmp_path: Path) -> None:
    """A record that comes again replaces the former one."""
    early = {**ANSWER, "toolCalls": []}
    (session,) = gemini_cli.read(written(named(tmp_path), [HEAD, TALK[0], early, ANSWER]))
    assert [each.id for each in session.messages] == ["m1", "m2", "m2/c1", "m2/c2"]


def test_read_makes_a_branch_of_what_follows_a_rewind(tmp_path: Path) -> None:
    """What was taken back stays, on a line of its own."""
    again = [{"$rewindTo": "m3"}, message("m5", "user", "Rather b.py"), message("m6", "gemini", "Done.")]
    (session,) = gemini_cli.read(written(named(tmp_path), [*LINES, *again]))
    assert line_of(session, session.messages[-1]) == ["m1", "m2", "m2/c1", "m2/c2", "m5", "m6"]
    from_start = [{"$rewindTo": "m1"}, message("m7", "user", "Something else")]
    (session,) = gemini_cli.read(written(named(tmp_path), [*LINES, *from_start]))
    assert line_of(session, session.messages[-1]) == ["m7"]


def test_read_marks_a_summary_that_the_program_wrote(tmp_path: Path) -> None:
    """A compressed history repeats what it keeps; only its own message is new."""
    shorter = {"$set": {"messages": [message("x1", "user", "Summary: read a.py"), TALK[4]]}}
    (session,) = gemini_cli.read(written(named(tmp_path), [*LINES, shorter]))
    assert [each.category for each in session.messages if each.id in ("m1", "x1")] == [None, Category.CONTEXT]
    assert len(session.messages) == 7


def test_read_names_the_parent_of_a_sub_agent(tmp_path: Path) -> None:
    """Its chat lies in a folder with the id of its session."""
    path = named(tmp_path).parent / "s-1" / "h-1.jsonl"
    head = {**HEAD, "sessionId": "h-1", "kind": "subagent", "directories": ["/home/me/proj"]}
    (session,) = gemini_cli.read(written(path, [head, TALK[0]]))
    assert (session.id, session.parent, session.project) == ("h-1", "s-1", "/home/me/proj")


def test_read_gives_prompts_of_logs_unless_their_chat_is_recorded(tmp_path: Path) -> None:
    """The prompts of one session are not stored twice."""
    chats = named(tmp_path)
    own = "0badcafe-1"
    entry = {"sessionId": own, "messageId": 0, "type": "user", "message": "Hi", "timestamp": "2026-01-02T03:04:05Z"}
    path = written(
        chats.parent.parent / "logs.json",
        [[entry, {**entry, "messageId": 1}, {**entry, "sessionId": "t"}]],
        lines=False,
    )
    found = gemini_cli.read(path)
    assert [(each.id, len(each.messages)) for each in found] == [(own, 2), ("t", 1)]
    written(chats.with_name("session-2026-01-02T03-04-0badcafe.jsonl"), [HEAD])
    assert [len(each.messages) for each in gemini_cli.read(path)] == [0, 1]
    assert gemini_cli.read(path)[0].unread == {"prompts of sessions whose chat is recorded": 2}


@pytest.mark.parametrize("key", ["", "history", "clientHistory"])
def test_read_pairs_calls_and_results_of_a_checkpoint_that_have_no_ids(tmp_path: Path, key: str) -> None:
    """By their order; the ids are made of the place."""
    ask = {"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Read"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, ask, ask]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "read_file", "response": {"output": n}}} for n in "ab"],
        },
        {"role": "model", "parts": [{"text": "Done."}, {"executableCode": {"code": "1"}}]},
    ]
    value: object = {key: contents, "toolCall": {}} if key else contents
    path = written(tmp_path / "checkpoint-before.json", [value], lines=False)
    (session,) = gemini_cli.read(path)
    read = checked(session)
    assert [each.role for each in read] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [call.id for call in read[1].calls] == [*read[2].results, *read[3].results]
    assert session.messages[1].value["reasoning_content"] == "hm"
    assert [each.id for each in session.messages] == [each.id for each in gemini_cli.read(path)[0].messages]


def test_places_are_sorted_and_follow_the_environment(tmp_path: Path) -> None:
    """Chats, logs and checkpoints; `GEMINI_CLI_HOME` replaces the home."""
    chats = named(tmp_path)
    others = [chats.parent.parent / name for name in ("logs.json", "checkpoint-a.json", "other.json")]
    for path in (chats, *others):
        written(path, [HEAD])
    expected = sorted([chats, *others[:2]])
    assert [*gemini_cli.places(tmp_path, {})] == expected
    assert [*gemini_cli.places(tmp_path / "no", {"GEMINI_CLI_HOME": str(tmp_path)})] == expected
    assert [*gemini_cli.places(tmp_path / "no", {})] == []


def test_read_refuses_what_is_no_recording(tmp_path: Path) -> None:
    """The error says which file."""
    with pytest.raises(TranscriptError, match="no recording of Gemini CLI"):
        gemini_cli.read(written(tmp_path / "a.json", [{"some": "thing"}], lines=False))
    with pytest.raises(TranscriptError, match=r"gone\.json"):
        gemini_cli.read(tmp_path / "gone.json")


def entries(values: list[object]) -> int:
    """Count what has to become a message, or be counted, by rules of the test's own."""
    named: set[str] = set()
    without = 0
    for value in values:
        if (
            isinstance(value, dict)
            and isinstance(own := value.get("id"), str)
            and own
            and isinstance(value.get("type"), str)
        ):
            named.add(own)
        elif not isinstance(value, dict) or not {"$set", "sessionId"} & set(value):
            without += 1
    return len(named) + without


@HOSTILE
@given(sample=gone_wrong(LINES))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[object]) -> None:
    """Each entry is a message or counted, whatever stands in it."""
    path = written(named(tmp_path), sample)
    found = read_or_refused(lambda: gemini_cli.read(path))
    read_or_refused(lambda: gemini_cli.read(path, is_over=False))
    if found and len(sample) > 1:
        assert accounted(found, lambda own: "/" not in own) >= entries(sample)


@HOSTILE
@given(sample=gone_wrong(WHOLE))
def test_read_survives_any_value_in_one_object(tmp_path: Path, sample: list[object]) -> None:
    """As in lines."""
    path = written(named(tmp_path), sample, lines=False)
    read_or_refused(lambda: gemini_cli.read(path))
