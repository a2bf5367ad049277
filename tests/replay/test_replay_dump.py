"""What a request holds, as lines of a dump, and files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.common.files import open_own
from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.transcripts import Conversation, read_transcripts
from squidbot.core.errors import ConfigError
from squidbot.replay.dump import block_json, dump_line, file_name, open_dump
from squidbot.replay.recording import CODECS, Reader, RequestBlock, recording_of

CALLED = {
    "role": "assistant",
    "content": "let me look",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "x.py"}'}},
        {"id": "b", "type": "function", "function": {"name": "stat", "arguments": "{}"}},
    ],
}


def conversation(folder: Path, *messages: object) -> Conversation:
    """Return the messages as they are read from a file."""
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    return read_transcripts(path)[0]


SAID = (RequestBlock("user", "message", "hi", (0,)),)


# -- blocks ---------------------------------------------------------------------------------------------------------


def test_recording_has_a_block_for_each_message_with_its_text_calls_and_result(tmp_path: Path) -> None:
    """Tool calls stand below the text as `name arguments`; kinds and sources are those of verbatim messages."""
    talk = conversation(
        tmp_path,
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "look "}, {"type": "text", "text": "here"}]},
        CALLED,
        {"role": "tool", "tool_call_id": "a", "content": "text of x"},
        {"role": "tool", "tool_call_id": "b", "content": "size"},
    )
    said = recording_of(talk, Reader(talk, CODECS)).messages
    assert [blocks[0] for blocks in said] == [
        RequestBlock("system", "system", "be brief", (0,)),
        RequestBlock("user", "message", "look here", (1,)),
        RequestBlock("assistant", "message", 'let me look\nread {"path": "x.py"}\nstat {}', (2,), ("a", "b")),
        RequestBlock("tool", "message", "text of x", (3,), (), "a"),
        RequestBlock("tool", "message", "size", (4,), (), "b"),
    ]
    assert [len(blocks) for blocks in said] == [1] * 5


def test_message_that_answers_several_calls_becomes_several_blocks(tmp_path: Path) -> None:
    """Anthropic's results share a message; what the user says beside them is a message of its own."""
    talk = conversation(
        tmp_path,
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in "ab"]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "first"},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "second"}]},
                {"type": "text", "text": "hurry"},
            ],
        },
    )
    said = recording_of(talk, Reader(talk, CODECS)).messages
    assert [(block.role, block.text, block.tool_result) for block in said[2]] == [
        ("tool", "first", "a"),
        ("tool", "second", "b"),
    ]
    assert [(block.role, block.text, block.source) for block in said[3]] == [("user", "hurry", (2,))]


def test_recording_assumes_eight_seconds_where_a_message_has_no_time(tmp_path: Path) -> None:
    """Times that are there count; between them, and without any, messages come 8 seconds apart."""
    user = {"role": "user", "content": "x"}
    talk = conversation(tmp_path, user, user, {**user, "timestamp": 1_000.5}, user, {**user, "timestamp": 2_000})
    assert recording_of(talk, Reader(talk, CODECS)).times == (0.0, 8.0, 1_000.5, 1_008.5, 2_000.0)


def test_recording_counts_calls_only_where_something_stands_before_them(tmp_path: Path) -> None:
    """A greeting that opens the conversation answered nothing."""
    hello, ask = {"role": "assistant", "content": "hello"}, {"role": "user", "content": "x"}
    talk = conversation(tmp_path, hello, ask, hello, hello)
    assert recording_of(talk, Reader(talk, CODECS)).calls == [2, 3]


@given(st.text(), st.text(), st.sampled_from([OpenAIChat(), AnthropicMessages()]))
def test_block_of_a_verbatim_message_is_what_the_message_rendered(
    text: str, argument: str, codec: OpenAIChat | AnthropicMessages
) -> None:
    """Whatever is in it: the text that is scored is the text that was said."""
    made = codec.to_message({"role": "user", "content": text})
    talk = Conversation("x", "x", codec.tag, (made,), (1,), (0,), (None,))
    assert recording_of(talk, Reader(talk, CODECS)).messages[0][0].text == made.rendered
    arguments = jsontext.write({"a": argument})
    called = OpenAIChat().to_message(
        {
            "role": "assistant",
            "content": text,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}],
        }
    )
    talk = replace(talk, messages=(called,))
    assert recording_of(talk, Reader(talk, CODECS)).messages[0][0].text == f"{text}\nf {arguments}"


# -- lines ----------------------------------------------------------------------------------------------------------


def test_dump_line_has_exactly_the_keys_that_the_scorer_reads() -> None:
    """`call`, `reported_tokens`, `jobs`, `blocks`, and of a block its six."""
    block = RequestBlock("tool", "slimmed", "text", (3, 4), (), "c1")
    assert json.loads(dump_line(7, 17, [block_json(block)])) == {
        "call": 7,
        "reported_tokens": 17,
        "jobs": [],
        "blocks": [
            {
                "role": "tool",
                "kind": "slimmed",
                "text": "text",
                "source": [3, 4],
                "tool_calls": [],
                "tool_result": "c1",
            }
        ],
    }
    assert json.loads(dump_line(0, 17, [], 'an "odd" id'))["conversation"] == 'an "odd" id'


@given(st.text(alphabet=st.characters(codec=None), max_size=30), st.text(max_size=5))
def test_dump_line_is_one_line_of_ascii_whatever_the_text(text: str, name: str) -> None:
    """Readers that split at every kind of line break, and those that refuse lone surrogates, get along with it."""
    block = RequestBlock("user", "message", text, (0,), (name,))
    line = dump_line(0, 17, [block_json(block)], name)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    # A pair of surrogates is the character that it spells, in JSON as in every stored payload.
    spelled = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(line)["blocks"][0]["text"] == spelled


# -- files ----------------------------------------------------------------------------------------------------------


def test_dump_writes_a_line_for_each_call_that_has_a_request(tmp_path: Path) -> None:
    """Their numbers tell which calls have none."""
    target = tmp_path / "d.jsonl"
    with open_dump(str(target), several=False) as dump, dump.of("a") as write:
        write(0, 17, SAID)
        write(2, 17, SAID)
        assert not target.exists()
    lines = [json.loads(line) for line in target.read_text(encoding="ascii").splitlines()]
    assert [line["call"] for line in lines] == [0, 2]
    assert "conversation" not in lines[0]
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


def test_dump_names_the_conversation_where_one_file_holds_several(tmp_path: Path) -> None:
    """So that lines can be told apart; the scorer ignores the key."""
    target = tmp_path / "d.jsonl"
    with open_dump(str(target), several=True) as dump:
        for name in ("a", "b"):
            with dump.of(name) as write:
                write(0, 17, SAID)
    assert [json.loads(line)["conversation"] for line in target.read_text().splitlines()] == ["a", "b"]


def test_dump_into_a_folder_has_a_file_for_each_conversation(tmp_path: Path) -> None:
    """The folder is made; files have the conversations' names, and hold what the scorer reads."""
    target = tmp_path / "new" / "folder"
    with open_dump(f"{target}/", several=True) as dump:
        for name in ("a", "../b"):
            with dump.of(name) as write:
                write(0, 17, SAID)
    assert sorted(path.name for path in target.iterdir()) == ["..%2Fb.jsonl", "a.jsonl"]
    assert "conversation" not in json.loads((target / "a.jsonl").read_text())


def test_dump_leaves_nothing_behind_where_the_replay_fails(tmp_path: Path) -> None:
    """What was at its place before is still there."""
    target = tmp_path / "d.jsonl"
    target.write_text("old")

    def fails() -> None:
        with open_dump(str(target), several=False) as dump, dump.of("a") as write:
            write(0, 17, SAID)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


def test_dump_through_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    """The link stays a link."""
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.write_text("old")
    link.symlink_to(real)
    with open_dump(str(link), several=False) as dump, dump.of("a") as write:
        write(0, 17, SAID)
    assert link.is_symlink()
    assert json.loads(real.read_text())["call"] == 0


def test_dump_into_a_device_leaves_the_device(tmp_path: Path) -> None:
    """`--dump /dev/null`, or a named pipe, is written and not replaced."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_dump(str(pipe), several=False) as dump, dump.of("a") as write:
        write(0, 17, SAID)
    assert json.loads(os.read(reader, 10_000))["call"] == 0
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("folder", [True, False])
def test_dump_names_the_option_where_the_place_can_not_be_written(tmp_path: Path, *, folder: bool) -> None:
    """Before anything is replayed."""
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "below"
    with (
        pytest.raises(ConfigError, match=r"--dump: cannot write .*below"),
        open_dump(f"{target}/" if folder else str(target), several=False),
    ):
        pytest.fail("a file is no folder")


@given(st.lists(st.text(alphabet=st.characters(codec=None), min_size=1, max_size=12), unique=True, max_size=5))
def test_file_names_differ_and_stay_in_their_folder_for_any_id(names: list[str]) -> None:
    """No separator, no NUL, no character that a file system refuses."""
    made = [file_name(name) for name in names]
    assert len(set(made)) == len(made)
    for name in made:
        assert Path(name).name == name
        assert name.isascii()
        assert name.isprintable()


def test_file_names_of_long_ids_are_short_and_differ() -> None:
    """An id may have 1,024 characters; a file's name not."""
    one, other = file_name("é" * 1023 + "a"), file_name("é" * 1023 + "b")
    assert one != other
    assert max(len(one), len(other)) < 255 - len(".unfinished") - 20


def test_dump_goes_into_a_folder_that_is_there_or_written_like_one(tmp_path: Path) -> None:
    """A name that ends in a slash is a folder even before it is made."""
    (tmp_path / "there").mkdir()
    for path in (f"{tmp_path}/there", f"{tmp_path}/new/", f"{tmp_path}/file"):
        with open_dump(path, several=False) as dump, dump.of("a") as write:
            write(0, 17, SAID)
    assert {path.name for path in tmp_path.glob("*/*")} == {"a.jsonl"}
    assert (tmp_path / "file").is_file()


def test_interrupt_right_behind_the_opening_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything could be written."""

    def opened(path: Path, mode: str) -> None:
        open_own(path, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr("squidbot.adapters.common.files.open_own", opened)
    with pytest.raises(KeyboardInterrupt), open_dump(str(tmp_path / "d.jsonl"), several=False):
        pass
    assert list(tmp_path.iterdir()) == []
