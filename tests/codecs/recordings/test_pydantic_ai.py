"""Dumps of pydantic-ai, made by pydantic-ai itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from squidbot.codecs.recordings import pydantic_ai
from squidbot.core.errors import TranscriptError
from tests.codecs.recordings.reading import HOSTILE, accounted, checked, gone_wrong, read_or_refused, roles, written

if TYPE_CHECKING:
    from pathlib import Path

DUMP: list[dict[str, Any]] = json.loads(
    ModelMessagesTypeAdapter.dump_json(
        [
            ModelRequest([SystemPromptPart("You help."), UserPromptPart("List it")]),
            ModelResponse(
                [ThinkingPart("hm"), ToolCallPart("ls", {"path": "."}, "c1")],
                usage=RequestUsage(input_tokens=9, output_tokens=3),
                model_name="model-a",
            ),
            ModelRequest([ToolReturnPart("ls", "a.py", "c1")]),
            ModelResponse([TextPart("One file.")], model_name="model-a"),
        ]
    )
)


@pytest.mark.parametrize("lines", [True, False])
def test_read_gives_the_messages_as_they_are(tmp_path: Path, *, lines: bool) -> None:
    """With the model, the usage and the time that stand in them."""
    path = written(tmp_path / "run.json", DUMP if lines else [DUMP], lines=lines)
    (session,) = pydantic_ai.read(path)
    assert roles(session) == ["user", "assistant", "tool", "assistant"]
    assert [each.value["parts"] for each in session.messages] == [each["parts"] for each in DUMP]
    answer = session.messages[1]
    assert (answer.model, answer.value["usage"]) == ("model-a", DUMP[1]["usage"])
    assert all(each.time is not None for each in session.messages)
    assert checked(session)[1].calls[0].id == "c1"
    assert not session.unread
    assert [each.line for each in session.messages] == ([1, 2, 3, 4] if lines else [0] * 4)


def test_read_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A call that waits is left for the next time."""
    path = written(tmp_path / "run.jsonl", list(DUMP[:2]))
    (first,) = pydantic_ai.read(path, is_over=False)
    written(path, list(DUMP))
    (second,) = pydantic_ai.read(path, first.position)
    assert [*first.messages, *second.messages] == pydantic_ai.read(path)[0].messages
    assert len(first.messages) == 1


def test_read_refuses_other_files(tmp_path: Path) -> None:
    """The error says what is missing."""
    with pytest.raises(TranscriptError, match="no dump of pydantic-ai"):
        pydantic_ai.read(written(tmp_path / "a.json", [[{"kind": "other", "parts": []}]], lines=False))
    assert [*pydantic_ai.places(tmp_path, {})] == []


@HOSTILE
@given(sample=gone_wrong([DUMP]))
def test_read_survives_any_value_and_drops_nothing(tmp_path: Path, sample: list[Any]) -> None:
    """Each message is one, or counted, whatever stands in it."""
    path = written(tmp_path / "a.json", sample, lines=False)
    found = read_or_refused(lambda: pydantic_ai.read(path))
    read_or_refused(lambda: pydantic_ai.read(path, is_over=False))
    if found and isinstance(sample[0], list):
        assert accounted(found) == len(sample[0])
