"""Which reader a recording belongs to: exactly one says yes to each form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.codecs.recordings import (
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    langgraph,
    openai_dump,
    opencode,
    openhands,
    pydantic_ai,
    swe_agent,
)
from squidbot.codecs.recordings.lines import first_values
from tests.codecs.recordings import (
    test_copilot_cli,
    test_gemini_cli,
    test_langgraph,
    test_openai_dump,
    test_opencode,
    test_openhands,
    test_pydantic_ai,
    test_swe_agent,
)
from tests.codecs.recordings.reading import written

if TYPE_CHECKING:
    from types import ModuleType

READERS: list[ModuleType] = [
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    langgraph,
    openai_dump,
    opencode,
    openhands,
    pydantic_ai,
    swe_agent,
]

CLAUDE_CODE: list[object] = [
    {"type": "summary", "summary": "Work", "leafUuid": "u2"},
    {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "Hi"}},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": {"role": "assistant", "content": []}},
]
CODEX: list[object] = [
    {"timestamp": "2026-01-02T03:04:05Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/p"}},
    {"timestamp": "2026-01-02T03:04:06Z", "type": "response_item", "payload": {"type": "message", "role": "user"}},
]
FORMER_CODEX: list[object] = [
    {"id": "s", "timestamp": "2026-01-02T03:04:05Z", "instructions": None, "git": {}},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
]
LOG = {"sessionId": "s", "messageId": 0, "type": "user", "message": "Hi", "timestamp": "2026-01-02T03:04:05Z"}
CONTENT = {"role": "user", "parts": [{"text": "Hi"}]}

# The name of its agent, "" for those whose readers are tested elsewhere; the values of a file; whether in lines.
FORMS: dict[str, tuple[str, list[Any], bool]] = {
    "claude code": ("claude-code", CLAUDE_CODE, True),
    "codex": ("codex", CODEX, True),
    "former codex": ("codex", FORMER_CODEX, True),
    "gemini chat": ("gemini-cli", test_gemini_cli.WHOLE, False),
    "gemini chat in lines": ("gemini-cli", test_gemini_cli.LINES, True),
    "gemini logs": ("gemini-cli", [[LOG]], False),
    "gemini checkpoint": ("gemini-cli", [{"history": [CONTENT]}], False),
    "gemini former checkpoint": ("gemini-cli", [[CONTENT]], False),
    "gemini checkpoint of a tool": ("gemini-cli", [{"history": [{"type": "user"}], "clientHistory": [CONTENT]}], False),
    "opencode session": ("opencode", [test_opencode.session("ses_1")], False),
    "opencode export": ("opencode", [{"info": test_opencode.session("s"), "messages": test_opencode.MESSAGES}], False),
    "copilot": ("copilot-cli", test_copilot_cli.TALK, True),
    "swe-agent": ("swe-agent", [test_swe_agent.RUN], False),
    "swe-agent attempts": ("swe-agent", [{"attempts": [test_swe_agent.RUN], "info": {}}], False),
    "openhands event": ("openhands", test_openhands.EVENTS[:1], False),
    "openhands event of the sdk": ("openhands", test_openhands.SDK[:1], False),
    "openhands trajectory": ("openhands", [test_openhands.EVENTS], False),
    "openhands evaluation": ("openhands", [{"instance_id": "i", "history": test_openhands.EVENTS}], True),
    "pydantic-ai": ("pydantic-ai", [test_pydantic_ai.DUMP], False),
    "pydantic-ai in lines": ("pydantic-ai", list(test_pydantic_ai.DUMP), True),
    "openai messages": ("openai-dump", test_openai_dump.CHAT, True),
    "openai conversation": ("openai-dump", [{"messages": test_openai_dump.CHAT}], False),
    "openai items": ("openai-dump", test_openai_dump.ITEMS, True),
    "openai request": ("openai-dump", [{"input": test_openai_dump.ITEMS}], False),
    "chatgpt": ("openai-dump", [[test_openai_dump.TREE]], False),
    "nothing": ("", [{}], True),
    "an empty list": ("", [[]], False),
    "a configuration": ("", [{"name": "x", "version": "1", "dependencies": {}, "time": 1}], False),
}


@pytest.mark.parametrize(("agent", "values", "lines"), FORMS.values(), ids=FORMS)
def test_exactly_one_reader_knows_a_form(tmp_path: Path, agent: str, values: list[object], *, lines: bool) -> None:
    """By the first values of its file."""
    first = first_values(written(tmp_path / "file", values, lines=lines))
    knowing = [reader.NAME for reader in READERS if reader.is_form(first)]
    assert knowing == ([agent] if agent else [])


def test_exactly_one_reader_knows_a_database(tmp_path: Path) -> None:
    """By its tables; neither knows the other's, or a file that is none."""
    of_opencode = test_opencode.in_database(tmp_path / "a.db", [])
    of_langgraph = test_langgraph.saved(tmp_path / "b.db")
    other = written(tmp_path / "c.db", [{}])
    databases = (of_opencode, of_langgraph, other, tmp_path, tmp_path / "gone.db")
    assert [opencode.is_database(path) for path in databases] == [True, False, False, False, False]
    assert [langgraph.is_database(path) for path in databases] == [False, True, False, False, False]


def test_names_are_those_of_the_modules() -> None:
    """A reader is found by its agent's name."""
    assert [each.NAME for each in READERS] == [Path(str(each.__file__)).stem.replace("_", "-") for each in READERS]
