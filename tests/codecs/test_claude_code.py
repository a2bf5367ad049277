"""Sessions that Claude Code recorded: which events are messages, and how an answer is put together again."""

from __future__ import annotations

from squidbot.codecs import claude_code


def user(content: object, uuid: str | None = None, **more: object) -> dict[str, object]:
    """Return an event in which the user, or a tool, says something."""
    event: dict[str, object] = {"type": "user", "timestamp": "2025-03-01T09:00:00Z", "isSidechain": False}
    return {**event, "uuid": uuid, "message": {"role": "user", "content": content}, **more}


def answer(identifier: str, *blocks: dict[str, object], **more: object) -> dict[str, object]:
    """Return an event with blocks of the answer of that id."""
    message = {"id": identifier, "role": "assistant", "model": "m", "content": list(blocks), **more}
    return {"type": "assistant", "timestamp": "2025-03-01T09:00:05Z", "message": message}


def text(words: str) -> dict[str, object]:
    """Return a text block."""
    return {"type": "text", "text": words}


def use(identifier: str) -> dict[str, object]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": identifier, "name": "Read", "input": {"file_path": "a.py"}}


def result(identifier: str) -> dict[str, object]:
    """Return a block that answers a call."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": "print()"}


def contents(values: list[dict[str, object]]) -> list[object]:
    """Return the contents of the messages of a session."""
    return [message["content"] for _, message in claude_code.messages(values)[0]]


def test_messages_joins_an_answer_when_it_was_recorded_in_pieces() -> None:
    """One message again, at the place of its first piece, with the usage of its last."""
    session = [
        user("read it"),
        answer("m1", {"type": "thinking", "thinking": "hm", "signature": "s"}, usage={"output_tokens": 1}),
        answer("m1", text("Reading."), usage={"output_tokens": 5}),
        answer("m1", use("t1"), usage={"output_tokens": 9}, stop_reason="tool_use"),
        user([result("t1")]),
    ]
    found, skipped = claude_code.messages(session)
    assert [at for at, _ in found] == [0, 1, 4]
    joined = found[1][1]
    assert joined["content"] == [{"type": "thinking", "thinking": "hm", "signature": "s"}, text("Reading."), use("t1")]
    assert (joined["usage"], joined["stop_reason"]) == ({"output_tokens": 9}, "tool_use")
    assert joined["timestamp"] == "2025-03-01T09:00:05Z"
    assert skipped == 0


def test_messages_joins_an_answer_when_its_first_tool_answered_in_between() -> None:
    """Tools run while the answer still streams; every call comes before every result all the same."""
    session = [
        user("read"),
        answer("m1", use("t1")),
        user([result("t1")]),
        answer("m1", use("t2")),
        user([result("t2")]),
    ]
    assert contents(session) == ["read", [use("t1"), use("t2")], [result("t1")], [result("t2")]]


def test_messages_keeps_answers_apart_when_the_user_spoke_between_them() -> None:
    """Some proxies give every answer the same id."""
    session = [user("one"), answer("x", text("1")), user("two"), answer("x", text("2"))]
    assert contents(session) == ["one", [text("1")], "two", [text("2")]]


def test_messages_keeps_answers_apart_when_they_have_no_id() -> None:
    """Without an id nothing says that two events are one answer."""
    session = [user("one"), answer("x", text("1")), answer("x", text("2"))]
    for event in session[1:]:
        message = event["message"]
        assert isinstance(message, dict)
        del message["id"]
    assert contents(session) == ["one", [text("1")], [text("2")]]


def test_messages_joins_text_when_a_piece_is_a_plain_string() -> None:
    """A string is one text block."""
    first = answer("m1")
    message = first["message"]
    assert isinstance(message, dict)
    message["content"] = "Reading."
    assert contents([user("read"), first, answer("m1", use("t1"))]) == ["read", [text("Reading."), use("t1")]]


def test_messages_leaves_events_out_when_they_belong_to_no_or_another_thread() -> None:
    """What is left out is counted, so that a report can say it."""
    session = [
        {"type": "summary", "summary": "A title", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        user("hello"),
        {"type": "system", "content": "hook ran", "subtype": "informational"},
        user("do a part", isSidechain=True),
        {**answer("s1", text("part done")), "isSidechain": True},
        {**answer("e1", text("API Error: 529 overloaded")), "isApiErrorMessage": True},
        answer("e2", text("No response requested."), model="<synthetic>"),
        user("shown only", isVisibleInTranscriptOnly=True),
        user(None),
        {"type": "user", "message": "hello"},
        {"type": "of-next-year", "message": {"role": "user", "content": "?"}},
        answer("m1", text("Hi.")),
    ]
    found, skipped = claude_code.messages(session)
    assert [message["content"] for _, message in found] == ["hello", [text("Hi.")]]
    assert skipped == len(session) - 2


def test_messages_takes_an_event_once_when_the_file_repeats_it() -> None:
    """A resumed session is known to write its past again."""
    session = [user("one", "u1"), user("two", "u2"), user("one", "u1"), user("two", "u2"), user("three", "u3")]
    found, skipped = claude_code.messages(session)
    assert [message["content"] for _, message in found] == ["one", "two", "three"]
    assert skipped == 2


def test_messages_leaves_a_summary_out_when_the_file_holds_what_it_stands_for() -> None:
    """A file that goes on from another one has its past in the summary alone, and keeps it."""
    summary = user("This stands for the past.", isCompactSummary=True)
    assert contents([user("one"), summary, user("two")]) == ["one", "two"]
    assert contents([summary, user("two")]) == ["This stands for the past.", "two"]


def test_messages_keeps_what_the_program_said_for_the_user_when_the_model_read_it() -> None:
    """Events marked as meta were part of the request."""
    assert contents([user("Caveat: a command ran.", isMeta=True), user("go")]) == ["Caveat: a command ran.", "go"]


def test_messages_gives_a_role_when_the_event_has_it_alone() -> None:
    """Older files name the speaker outside of the message only."""
    found, _ = claude_code.messages([{"type": "user", "message": {"content": "hi"}, "timestamp": 5}])
    assert found == [(0, {"role": "user", "content": "hi", "timestamp": 5})]


def test_messages_changes_nothing_when_it_joins_what_it_was_given() -> None:
    """The events stay as they were read."""
    session = [user("read"), answer("m1", text("a")), answer("m1", text("b"))]
    before = repr(session)
    assert claude_code.messages(session) == claude_code.messages(session)
    assert repr(session) == before


def test_is_session_tells_events_from_messages_when_it_sees_their_structure() -> None:
    """An event wraps a message; a message has its role outside."""
    assert claude_code.is_session([{"type": "summary"}, user("hi")])
    assert not claude_code.is_session([{"role": "user", "content": "hi"}])
    assert not claude_code.is_session([{"role": "user", "content": "hi"}, user("hi")])
    assert not claude_code.is_session([{"type": "summary"}])
    assert not claude_code.is_session([])
