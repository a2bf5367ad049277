"""What a message is for: by kind and place, and by words only where that is asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Category, Kind
from squidbot.core.view.steps import categorized, is_automated, is_carried

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.ports import Codec

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TALK: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "The result is 3."},
    {"role": "system", "content": "Action executed: 3 files."},
    {"role": "system", "content": "The user is in Rome."},
    {"role": "user", "content": [{"type": "hologram", "data": "?"}]},
]


@pytest.mark.parametrize(
    ("by_words", "fourth"), [(False, Category.CONTEXT), (True, Category.SYSTEM_OUTPUT)], ids=["by place", "by words"]
)
def test_session_records_what_each_message_is_for(tmp_path: Path, *, by_words: bool, fourth: Category) -> None:
    """A system text behind others is context; words make it output only where settings say so (P-01)."""
    settings = {"store": {"path": str(tmp_path / "s.db")}, "history": {"categories_by_words": by_words}}
    with squidbot.load(settings) as engine:
        stored = [engine.session("s").record(message)[0] for message in TALK]
    assert [row.category for row in stored] == [
        Category.SYSTEM,
        Category.DIALOG,
        Category.DIALOG,
        Category.SYSTEM_OUTPUT,
        fourth,
        Category.CONTEXT,
        Category.UNKNOWN,
    ]
    with squidbot.load(settings) as engine:
        assert [row.category for row in engine.wired.store.read("s", 0, 9)] == [row.category for row in stored]


def test_words_in_the_user_s_text_say_nothing() -> None:
    """Neither do those of tools and of the first system text: that pitfall of the document is not taken over (P-01)."""
    codec = OpenAIChat()
    for message in (TALK[1], TALK[3], {"role": "user", "content": "status: the result"}):
        said = codec.to_message(message)
        assert categorized(said, codec, opens=False, by_words=True) is said
    first = codec.to_message({"role": "system", "content": "Report the status."})
    assert categorized(first, codec, opens=True, by_words=True).category is Category.SYSTEM


def test_word_of_a_hook_goes_before() -> None:
    """What an extension says a message is for stays."""

    class Host:
        @squidbot.hookimpl
        def classify_message(self) -> str:
            return "internal"

    session = squidbot.load(extensions=[Host()]).session("s")
    session.record({"role": "user", "content": "Hello"})
    assert session.record({"role": "system", "content": "Note."})[0].category is Category.INTERNAL


FAILED: dict[str, tuple[Codec, dict[str, object]]] = {
    "anthropic": (
        AnthropicMessages(),
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}],
        },
    ),
    "langchain": (
        LangChain(),
        {"type": "tool", "data": {"type": "tool", "content": "no", "tool_call_id": "t", "status": "error"}},
    ),
    "llm": (
        LLMMessages(),
        {
            "role": "tool",
            "parts": [
                {"type": "tool_result", "tool_call_id": "t", "name": "x", "output": "no", "exception": "ValueError"}
            ],
        },
    ),
    "pydantic-ai": (
        PydanticAI(),
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "tool_name": "x", "tool_call_id": "t", "content": "no"}],
        },
    ),
}


@pytest.mark.parametrize("form", FAILED)
def test_result_that_failed_is_an_error(form: str) -> None:
    """Where its host says so: errors are no output (P-01)."""
    codec, native = FAILED[form]
    said = codec.to_message(native)
    assert said.category is Category.ERROR
    fine = json.dumps(native).replace(', "is_error": true', "").replace('"status": "error"', '"status": "success"')
    fine = fine.replace(', "exception": "ValueError"', "").replace("retry-prompt", "tool-return")
    assert codec.to_message(json.loads(fine)).category is Category.SYSTEM_OUTPUT


def test_text_is_added_to_the_context_of_a_session(tmp_path: Path) -> None:
    """Under a name, in the head of requests, for any process; nothing is added without either (P-01)."""
    settings = {"store": {"path": str(tmp_path / "s.db")}}
    with squidbot.load(settings) as engine:
        session = engine.session("s")
        session.context.add("weather", "It rains in Rome.")
        for name, text in (("", "x"), ("x", " ")):
            with pytest.raises(ConfigError, match=r"^a document needs a name and a text"):
                session.context.add(name, text)
    with squidbot.load(settings) as engine:
        (first, _) = engine.session("s").assemble("What is the weather?").messages
        assert "It rains in Rome." in str(first["content"])


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<task-id>b1</task-id>\nDone.\n</task-notification>",
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>\nFull transcript available at: /b1.out",
        "<system-reminder>a</system-reminder>\n\n<local-command-stdout>b</local-command-stdout>\n",
        '<skill name="x">\nDo it like this.\n</skill>',
        "<environment_context>\n  <cwd>/home/ann</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /home/ann/shop\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "[Request interrupted by user for tool use]",
        "[WebSurfer]\nI clicked the first link.",
        "This session is being continued from a previous conversation that ran out of context.",
    ],
)
def test_what_a_program_wrote_is_known_by_its_form(text: str) -> None:
    """Agent programs put it into the user's role."""
    assert is_automated(text)
    assert is_carried(text) is text.startswith("This session")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Why does <task-notification>x</task-notification> stand there?",
        "<task-notification>x</task-notification> What is that?",
        "<task-notification>x</task-notification>\nFull transcript available at: /b1.out\nThat is wrong.",
        "<html><body>Mend this page.</body></html>",
        "<command-name>/review</command-name>\n<command-args>the last commit</command-args>",
        "[WebSurfer] is slow: why?",
        "# AGENTS.md\nWrite one.",
        "<skill>" * 40_000,
    ],
)
def test_what_a_person_wrote_is_not(text: str) -> None:
    """A text with a tag in it, a page, a command with its arguments; a huge one takes no time."""
    assert not is_automated(text)


def test_what_a_program_wrote_gives_way_and_is_told_and_what_the_user_said_stays() -> None:
    """Behind notes the user's own words stand, and nothing else in the user's role."""
    report = "".join(f"Row {at} of the nightly report is fine.\n" for at in range(40))
    with squidbot.load({"window": {"default": 4096}}) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": f"<task-notification>\n{report}</task-notification>"}, "Fine.")
        session.record({"role": "user", "content": "Mend the clock in the hall."}, "It ticks.")
        for number in range(30):
            session.record({"role": "user", "content": f"{number}: and now?"}, "Some words of no weight. " * 20)
        made = session.assemble("Go on.")
        shown = {part.first_seq: part.kind for part in made.core.parts if part.payload is not None}
        assert engine.wired.store.read("s", 0, 0)[0].category is Category.AUTOMATED
    assert 0 not in shown
    assert shown[2] is Kind.MESSAGE
    assert "nightly report" in "".join(part.text or "" for part in made.core.parts if part.kind is Kind.SUMMARY)
