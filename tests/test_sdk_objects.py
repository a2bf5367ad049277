"""Objects of OpenAI's and Anthropic's SDKs go in as they are, and requests go into the SDKs; type checkers agree."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.codecs.jsontext import dumped

from .example_programs import EXAMPLES, program

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("with_anthropic", "with_openai")
ASKED = {"operation": "search", "query": "Heron"}


def openai_says(message: dict[str, Any]) -> object:
    """Return a completion as OpenAI's SDK reads it off the wire."""
    from openai.types.chat import ChatCompletion  # noqa: PLC0415  # half a second

    usage = {"prompt_tokens": 590, "completion_tokens": 5, "total_tokens": 595}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", **message}}
    told = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt", "choices": [choice]}
    details = {"prompt_tokens_details": {"cached_tokens": 64}}
    return ChatCompletion.model_validate({**told, "usage": {**usage, **details}})


def anthropic_says(*blocks: dict[str, Any]) -> object:
    """Return a message as Anthropic's SDK reads it off the wire."""
    from anthropic.types import Message  # noqa: PLC0415  # half a second

    usage = {"input_tokens": 520, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 6, "output_tokens": 5}
    told = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn"}
    return Message.model_validate({**told, "stop_sequence": None, "content": [*blocks], "usage": usage})


def test_a_program_of_openai_s_sdk_has_a_turn_with_tools() -> None:
    """What the SDK returns is recorded as the provider said it, and sent back so; usage counts."""
    function = {"name": "history", "arguments": '{"operation": "search", "query": "Heron"}'}
    call = {"id": "c1", "type": "function", "function": function}
    answers = [openai_says({"content": None, "tool_calls": [call]}), openai_says({"content": "Aye.", "refusal": None})]
    sent: list[dict[str, Any]] = []

    def create(**request: object) -> object:
        sent.append(request)
        return answers[len(sent) - 1]

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    session = squidbot.load({}).session("harbour")
    assert program("with_openai").turn(client, session, "My boat is called Heron.") == "Aye."
    boat = {"role": "user", "content": "My boat is called Heron."}
    assert sent[1]["messages"][:2] == [boat, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert sent[1]["messages"][2]["tool_call_id"] == "c1"
    assembly = session.assemble("Thanks!", tools=session.tools)
    assert assembly.messages[3] == {"role": "assistant", "content": "Aye.", "refusal": None}
    assert assembly.report.certificate == "anchored"


def test_a_program_of_anthropic_s_sdk_has_a_turn_with_tools() -> None:
    """The envelope of an answer is not sent back, its blocks are."""
    use = {"type": "tool_use", "id": "t1", "name": "history", "input": ASKED}
    said = {"type": "text", "text": "Aye.", "citations": None}
    answers = [anthropic_says(use), anthropic_says(said)]
    sent: list[dict[str, Any]] = []

    def create(**request: object) -> object:
        sent.append(request)
        return answers[len(sent) - 1]

    client = SimpleNamespace(messages=SimpleNamespace(create=create))
    session = squidbot.load({}).session("harbour", form="anthropic.messages")
    made = program("with_anthropic")
    assert made.turn(client, session, "My boat is called Heron.") == "Aye."
    assert sent[0]["system"] == made.SYSTEM
    assert sent[0]["messages"] == [{"role": "user", "content": "My boat is called Heron."}]
    assert sent[1]["messages"][1] == {"role": "assistant", "content": [use]}
    assert sent[1]["messages"][2]["content"][0]["tool_use_id"] == "t1"
    assembly = session.assemble("Thanks!", system=made.SYSTEM, tools=session.tools)
    assert assembly.messages[4] == {"role": "assistant", "content": [said]}
    assert assembly.report.certificate == "anchored"


def test_objects_inside_a_dict_are_taken_too() -> None:
    """As programs build messages from an answer's parts."""
    message: Any = anthropic_says({"type": "text", "text": "Aye."})
    session = squidbot.load({}).session("harbour", form="anthropic.messages")
    session.record(session.assemble("Ahoy").incoming, {"role": "assistant", "content": message.content})
    assert session.assemble("So?").messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "Aye."}]}


class Dumping:
    """What has `model_dump`, with a field that nobody has set."""

    def model_dump(self) -> dict[str, object]:
        """Return its fields."""
        return {"role": "assistant", "content": None, "audio": None, "tool_calls": [CALL]}


class Telling:
    """What has `to_dict`."""

    def to_dict(self) -> dict[str, object]:
        """Return its fields."""
        return {"role": "assistant", "content": "Aye.", "refusal": None}


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def test_any_object_that_says_itself_as_a_dict_is_taken() -> None:
    """By `to_dict` as it says it, by `model_dump` without what nobody has set; alone, or in a list."""
    session = squidbot.load({}).session("harbour")
    session.record(
        session.assemble("Read").incoming, [Dumping()], {"role": "tool", "tool_call_id": "c1", "content": "x"}
    )
    session.record(session.assemble().incoming, Telling())
    assert session.assemble("So?").messages[1::2] == [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "Aye.", "refusal": None},
    ]


@pytest.mark.parametrize("wrong", [3, None, 2.5, b"Aye.", object(), Telling, SimpleNamespace(to_dict=lambda: 3)])
def test_what_is_no_message_is_said_in_one_sentence(wrong: Any) -> None:  # noqa: ANN401  # all that it must not be
    """And nothing is stored."""
    session = squidbot.load({}).session("harbour")
    with pytest.raises(ValueError, match=r"^what is said can't be taken: a message is a text, a dict, .*, not \w+$"):
        session.record("Ahoy", wrong)
    assert dumped(wrong) is None
    assert len(session.assemble("Ahoy").messages) == 1


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_user_s_program_passes_a_strict_type_checker(checker: str, tmp_path: Path) -> None:
    """With squidbot and the SDKs as they are installed, and a setting of the user's alone. .ci/run installs pyright."""
    pytest.importorskip(checker, reason=f"{checker} is not installed")
    files = [str(EXAMPLES / f"{name}.py") for name in PROGRAMS]
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "include": ["{EXAMPLES}/with_*.py"]}}'
    )
    given = ["--strict", "--config-file=", *files] if checker == "mypy" else ["-p", str(tmp_path)]
    command = [sys.executable, "-m", checker, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
