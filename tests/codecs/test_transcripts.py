"""Recorded conversations: the forms they come in, told apart by structure."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.codecs.transcripts import Conversation, read_transcripts
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = pathlib.Path(__file__).parents[2] / ".." / "shared" / "data"

CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
CHAT: list[dict[str, object]] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "read a.py", "timestamp": "2025-03-01T09:00:00Z"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [CALL],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5},
    },
    {"role": "tool", "tool_call_id": "c1", "content": "print()"},
    {"role": "assistant", "content": "It prints nothing."},
]
USED: list[dict[str, object]] = [
    {"role": "user", "content": "read a.py"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "and hurry"},
            {"type": "tool_result", "tool_use_id": "t1", "content": "print()"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Nothing."}], "stop_reason": "end_turn"},
]


def jsonl(values: Sequence[object], end: str = "\n") -> str:
    """Return a line of JSON for each value."""
    return "".join(json.dumps(value) + end for value in values)


def read(tmp_path: pathlib.Path, text: str | bytes, name: str = "talk.jsonl") -> list[Conversation]:
    """Write a file and read it as transcripts."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_transcripts(path)


def texts(conversation: Conversation) -> list[str]:
    """Return what was said, message by message, tool calls included."""
    return [message.rendered for message in conversation.messages]


def test_read_transcripts_gives_a_message_a_line_when_a_file_is_one_conversation(tmp_path: pathlib.Path) -> None:
    """Message i is line i; its payload is the line as it stands in the file."""
    (talk,) = read(tmp_path, jsonl(CHAT))
    assert (talk.id, talk.codec, talk.path) == ("talk", "openai.chat", str(tmp_path / "talk.jsonl"))
    assert [message.role for message in talk.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [message.payload for message in talk.messages] == [json.dumps(obj) for obj in CHAT]
    assert talk.messages[3].results == ("c1",)
    assert (talk.lines, talk.sources) == ((1, 2, 3, 4, 5), (0, 1, 2, 3, 4))
    assert talk.usages == (None, None, Usage(20, 5), None, None)


def test_read_transcripts_counts_lines_that_are_not_blank_when_some_are(tmp_path: pathlib.Path) -> None:
    """`sources` is how the score counts, `lines` is what an editor shows; line ends may be those of Windows."""
    text = "\r\n" + jsonl(CHAT[:2], "\r\n \r\n") + json.dumps(CHAT[4])
    (talk,) = read(tmp_path, text)
    assert (talk.lines, talk.sources) == ((2, 4, 6), (0, 1, 2))
    assert texts(talk) == ["You help.", "read a.py", "It prints nothing."]


def test_read_transcripts_keeps_a_line_whole_when_unicode_has_other_line_ends(tmp_path: pathlib.Path) -> None:
    """A line of JSONL ends at a line feed; U+2028, U+0085 and a form feed are text."""
    said = "a\u2028b\u0085c\x0cd"
    text = json.dumps({"role": "user", "content": said}, ensure_ascii=False) + "\n"
    (talk,) = read(tmp_path, text)
    assert texts(talk) == [said]


def test_read_transcripts_gives_each_conversation_when_a_line_is_a_conversation(tmp_path: pathlib.Path) -> None:
    """Their own ids count; one without gets the file's name and its number."""
    lines = [{"id": "a", "messages": CHAT}, {"messages": CHAT[:2]}, {"id": 7, "messages": []}]
    talks = read(tmp_path, jsonl(lines))
    assert [talk.id for talk in talks] == ["a", "talk-2", "7"]
    assert [len(talk.messages) for talk in talks] == [5, 2, 0]
    assert (talks[1].lines, talks[1].sources) == ((2, 2), (0, 1))


@pytest.mark.parametrize("indent", [None, 2])
def test_read_transcripts_gives_one_conversation_when_a_file_is_an_array(
    tmp_path: pathlib.Path, indent: int | None
) -> None:
    """In one line or over many."""
    (talk,) = read(tmp_path, json.dumps(CHAT, indent=indent), "talk.json")
    assert texts(talk) == texts(read(tmp_path, jsonl(CHAT))[0])
    assert talk.sources == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("indent", [None, 2])
def test_read_transcripts_gives_one_conversation_when_a_file_is_an_object(
    tmp_path: pathlib.Path, indent: int | None
) -> None:
    """With its own id."""
    (talk,) = read(tmp_path, json.dumps({"id": "x", "messages": CHAT}, indent=indent), "talk.json")
    assert (talk.id, len(talk.messages)) == ("x", 5)


def test_read_transcripts_gives_each_conversation_when_an_array_holds_several(tmp_path: pathlib.Path) -> None:
    """As exports do."""
    talks = read(tmp_path, json.dumps([{"id": "a", "messages": CHAT}, {"messages": CHAT}]), "talk.json")
    assert [talk.id for talk in talks] == ["a", "talk-2"]


def test_read_transcripts_puts_the_system_text_first_when_it_stands_beside(tmp_path: pathlib.Path) -> None:
    """Anthropic's form; the system text has no place among the messages."""
    system = [{"type": "text", "text": "You help."}]
    (talk,) = read(tmp_path, json.dumps({"system": system, "messages": USED}), "talk.json")
    assert talk.codec == "anthropic.messages"
    assert (talk.messages[0].role, talk.messages[0].text) == ("system", "You help.")
    assert talk.sources == (-1, 0, 1, 2, 2, 3)


def test_read_transcripts_takes_results_and_words_apart_when_anthropic_has_both_in_one(tmp_path: pathlib.Path) -> None:
    """Results come first, directly behind their calls; both halves have one source."""
    (talk,) = read(tmp_path, jsonl(USED))
    assert talk.codec == "anthropic.messages"
    assert [message.role for message in talk.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert [message.text for message in talk.messages[2:4]] == ["print()", "and hurry"]
    assert (talk.sources, talk.lines) == ((0, 1, 2, 2, 3), (1, 2, 3, 3, 4))


# What Responses is asked with: what the model made stands item by item.
ITEMS: list[dict[str, object]] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "input_text", "text": "read a.py"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a.py"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "print()"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Nothing."}]},
]
RESPONSES: list[dict[str, object]] = [
    *ITEMS[:2],
    {
        "id": "resp_1",
        "output": ITEMS[2:4],
        "usage": {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 5},
    },
    ITEMS[4],
    {"id": "resp_2", "output": ITEMS[5:]},
]


@pytest.mark.parametrize(
    "text",
    [
        jsonl(ITEMS),
        jsonl(RESPONSES),
        json.dumps(ITEMS),
        json.dumps({"model": "gpt-5.6", "input": ITEMS[1:], "instructions": "You help."}),
        json.dumps({"id": "x", "messages": RESPONSES}),
    ],
)
def test_read_transcripts_reads_items_and_responses_as_the_same_steps(tmp_path: pathlib.Path, text: str) -> None:
    """What the model made in a row is one message: reasoning and calls stay together."""
    (found,) = read(tmp_path, text, "talk.json")
    assert found.codec == "openai.responses"
    assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [message.text for message in found.messages] == ["You help.", "read a.py", "", "print()", "Nothing."]
    assert [call.id for call in found.messages[2].calls] == ["c1"]
    assert found.messages[3].results == ("c1",)
    assert json.loads(found.messages[2].payload)["output"] == ITEMS[2:4]


def test_read_transcripts_reads_the_usage_of_responses(tmp_path: pathlib.Path) -> None:
    """Of whole responses; items have none."""
    assert read(tmp_path, jsonl(RESPONSES))[0].usages == (None, None, Usage(20, 5, 8), None, None)
    assert set(read(tmp_path, jsonl(ITEMS))[0].usages) == {None}


def test_read_transcripts_names_the_line_of_an_item_that_is_none(tmp_path: pathlib.Path) -> None:
    """In the words of the codec."""
    with pytest.raises(TranscriptError, match=r"talk.jsonl:3: an item_reference names what only the provider holds"):
        read(tmp_path, jsonl([*ITEMS[1:3], {"type": "item_reference", "id": "rs_9"}]))


def test_read_transcripts_reads_a_session_when_claude_code_recorded_it(tmp_path: pathlib.Path) -> None:
    """Events become Anthropic messages; what is none is counted."""
    events: list[object] = [{"type": "summary", "summary": "A title", "leafUuid": "u"}]
    for at, message in enumerate(USED):
        stamp = f"2025-03-01T09:00:0{at}Z"
        events.append({"type": message["role"], "message": {"id": f"m{at}", **message}, "timestamp": stamp})
    (talk,) = read(tmp_path, jsonl(events))
    assert talk.codec == "anthropic.messages"
    assert [message.role for message in talk.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert talk.sources == (1, 2, 3, 3, 4)
    assert talk.skipped == 1
    first, last = talk.messages[0].time, talk.messages[-1].time
    assert first is not None
    assert last == first + 3


def test_read_transcripts_reads_every_file_when_it_gets_a_directory(tmp_path: pathlib.Path) -> None:
    """In order of name, JSON files only; equal stems are told apart by their ending."""
    (tmp_path / "b.jsonl").write_text(jsonl(CHAT))
    (tmp_path / "a.json").write_text(json.dumps(CHAT))
    (tmp_path / "a.jsonl").write_text(jsonl(CHAT[:2]))
    (tmp_path / "notes.txt").write_text("none of it")
    (tmp_path / "c.json").mkdir()
    talks = read_transcripts(str(tmp_path))
    assert [(talk.id, len(talk.messages)) for talk in talks] == [("a", 5), ("a.jsonl", 2), ("b", 5)]


def test_read_transcripts_takes_a_byte_order_mark_when_the_file_is_utf_8(tmp_path: pathlib.Path) -> None:
    """Some editors write one."""
    (talk,) = read(tmp_path, b"\xef\xbb\xbf" + jsonl(CHAT).encode())
    assert len(talk.messages) == 5


def test_read_transcripts_names_open_calls_when_a_run_was_interrupted(tmp_path: pathlib.Path) -> None:
    """An unanswered call is no error, at the end or before it; whoever assembles has to know."""
    open_call = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "c9"}, {**CALL, "id": "c8"}]}
    (talk,) = read(tmp_path, jsonl([*CHAT[:2], open_call, *CHAT[1:3]]))
    assert talk.unanswered == ((2, "c8"), (2, "c9"), (4, "c1"))


def test_read_transcripts_pairs_ids_anew_when_they_come_again(tmp_path: pathlib.Path) -> None:
    """Some hosts start counting again; a call that was answered is closed."""
    (talk,) = read(tmp_path, jsonl([*CHAT, *CHAT[1:]]))
    assert talk.unanswered == ()


def test_read_transcripts_lets_unpaired_results_through_when_it_is_not_strict(tmp_path: pathlib.Path) -> None:
    """For whoever repairs afterwards."""
    path = tmp_path / "talk.jsonl"
    path.write_text(jsonl([CHAT[1], CHAT[3]]))
    (talk,) = read_transcripts(path, strict=False)
    assert talk.messages[1].results == ("c1",)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 5, "output": 7, "cache_read": 90, "cache_write": 5}, Usage(100, 7, 90)),
        (
            {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5},
            Usage(100, 7, 90),
        ),
        ({"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 90}}, Usage(100, 7, 90)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 90}},
            Usage(100, 7, 90),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": None}, Usage(100, 7)),
        ({"input": None, "output": -4}, Usage(0)),
        ({"cost": 0.2}, None),
        (None, None),
        ("100", None),
    ],
)
def test_read_transcripts_reads_usage_when_a_provider_reported_it(
    tmp_path: pathlib.Path, usage: object, expected: Usage | None
) -> None:
    """Input counts cached tokens, whether the provider adds them or not; an unknown form is none."""
    (talk,) = read(tmp_path, jsonl([{"role": "user", "content": "hi"}, {**CHAT[4], "usage": usage}]))
    assert talk.usages == (None, expected)


def test_read_transcripts_reads_a_line_when_it_has_16_megabytes(tmp_path: pathlib.Path) -> None:
    """Tool output knows no limits."""
    big = "x" * 16_000_000
    (talk,) = read(tmp_path, jsonl([{"role": "user", "content": big}]))
    assert talk.messages[0].text == big


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=50)
@given(said=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=6))
def test_read_transcripts_gives_the_same_texts_when_the_form_differs(tmp_path: pathlib.Path, said: list[str]) -> None:
    """JSONL, array and object say the same; escaped or not."""
    values = [{"role": "user", "content": text} for text in said]
    raw = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    forms = [raw, jsonl(values), json.dumps(values, indent=1), json.dumps({"messages": values})]
    assert all(texts(read(tmp_path, form)[0]) == said for form in forms)


@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings that are measured with are not here")
@pytest.mark.parametrize(("name", "talks", "messages"), [("coding-session-a", 1, 968), ("airline-open", 100, 2658)])
def test_read_transcripts_reads_real_recordings_when_they_are_here(name: str, talks: int, messages: int) -> None:
    """Every call in them is answered, and no payload costs more than its text."""
    found = read_transcripts(DATA / f"{name}.jsonl")
    assert (len(found), sum(len(talk.messages) for talk in found)) == (talks, messages)
    assert all(talk.sources == tuple(range(len(talk.messages))) for talk in found)
    assert [talk.unanswered for talk in found if talk.unanswered] == []
