"""`squidbot chat` without a terminal: one question, lines of a pipe, what is said where there is no model."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.chat.talk import COMMANDS
from squidbot.core.journal import JournalEntry
from squidbot.wiring.person import machine_user

from .conftest import COMMAND, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def start(folder: Path, environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run it in the folder as a process of its own."""

    def started(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return started


def test_one_question_prints_the_answer_alone(
    start: Callable[..., subprocess.CompletedProcess[str]], run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """It is one turn of the session, whose process ends; - takes all of standard input as the question."""
    ran = start("-p", "hello  there")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "You said: hello  there \n", "")
    assert run("--print", "-", given="two\nlines").stdout == "You said: two\nlines \n"
    assert run("-p", "first").stdout == "The first thing you said was: hello  there \n"


def test_two_sessions_know_nothing_of_each_other(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """`--new` begins one, which then is the one that goes on; another is named."""
    run("-p", "alpha")
    for arguments, first in (("--new",), "first"), ((), "first"), (("--session", "chat"), "alpha"):
        told = json.loads(run("-p", "first", "--json", *arguments).stdout)
        assert told["answer"].rstrip() == f"The first thing you said was: {first}"
        assert told["session"] == ("chat" if first == "alpha" else "chat-2")


def test_answer_comes_as_json(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """One object, and nothing beside it; a failure is in it, too, and in the exit code."""
    told = json.loads(run("-p", "look herring", "--json", "--session", "s").stdout)
    assert (told["session"], told["model"], told["broken"]) == ("s", "robot", None)
    assert told["answer"].startswith("The tools said 3 things")
    assert told["tools"] == ["history", "memory", "weather"]
    assert [sorted(one) for one in told["requests"]] == [["bound", "limit", "usage"]] * 2
    assert told["requests"][0]["usage"]["input_tokens"] > 0
    ran = run("-p", "break", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["answer"] == "The answer begins "
    assert json.loads(ran.stdout)["broken"] in ran.stderr


def test_lines_of_a_pipe_are_said_one_by_one(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Answers and what commands say on standard output, what goes wrong on the other; then the exit code is 1."""
    ran = run(given="hello\n\nfirst\n/journal\n")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("You said: hello \nThe first thing you said was: hello \n")
    assert ran.stderr == ""
    ran = run(given="break\n/nothing\nhello\n/quit\nnever\n")
    assert ran.returncode == 1
    assert ran.stdout == "The answer begins \nYou said: hello \n"
    assert [line.partition(":")[0] for line in ran.stderr.splitlines()] == ["squidbot", "squidbot"]
    assert "unreachable" in ran.stderr
    assert "unknown command /nothing" in ran.stderr


def test_no_model_is_one_message_that_says_what_to_do(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    """Which file, with what in it; an example's lines are settings that are taken."""
    (folder / "squidbot.toml").write_text("[models.other]\ncontext_window = 4096\n", encoding="utf-8")
    ran = run(given="hello\n")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert str(folder / "squidbot.toml") in ran.stderr
    assert 'adapter = "xllamacpp"' in ran.stderr
    assert "[store]" in ran.stderr
    assert "squidbot chat --demo" in ran.stderr
    assert max(len(line) for line in ran.stderr.splitlines() if not line.startswith("/")) <= 100
    lines = [line.strip() for line in ran.stderr.splitlines() if line.startswith("  ")]
    (folder / "squidbot.toml").write_text("\n".join(lines), encoding="utf-8")
    again = run(given="hello\n")
    assert "no model is configured" not in again.stderr


def test_mode_is_the_session_s_from_then_on(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Its text stands behind ours; /status tells it; one that is not known is named with those that are."""
    assert "mode         developer" in run("--mode", "developer", given="hello\n/status\n").stdout
    assert "mode         developer" in run(given="again\n/status\n").stdout
    ran = run("--mode", "developper", "-p", "hello")
    assert ran.returncode == 2
    assert "known: off, developer" in ran.stderr


def test_each_model_has_conversations_of_its_own_where_they_are_parted(
    run: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    """W-07: by `history.isolation`; --new begins another one there, too, and what goes on is the newest."""
    more = '[models.second]\nadapter = "scripted"\ncontext_window = 8192\n[history]\nisolation = "model"\n'
    (folder / "squidbot.toml").write_text((folder / "squidbot.toml").read_text("utf-8") + more, encoding="utf-8")
    run("-p", "alpha")
    assert run("-p", "first", "--model", "second").stdout == "The first thing you said was: first \n"
    assert run("-p", "first").stdout == "The first thing you said was: alpha \n"
    assert run("-p", "first", "--new").stdout == "The first thing you said was: first \n"
    assert run("-p", "first", "--session", "chat@model:robot").stdout == "The first thing you said was: alpha \n"


def test_wrong_wishes_are_one_line(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """A model that is not there, options that exclude each other."""
    ran = run("--model", "roboter", "-p", "hello")
    said = "squidbot: no model 'roboter' that has an adapter, known: robot @ squidbot.toml.models\n"
    assert (ran.returncode, ran.stderr) == (2, said)
    assert run("--json").returncode == 2
    assert run("--new", "--session", "s", "-p", "x").returncode == 2
    assert run("-p", "  ").returncode == 2
    ran = run("-p", "-", given="word " * 30_000)
    assert ran.returncode == 1
    assert ran.stderr.startswith("squidbot: current turn")


def test_page_names_every_command_and_key(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """What is typed behind a slash, and what `--json` prints."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.partition("## `chat`")[2].partition("\n## ")[0]
    assert set(re.findall(r"`/([a-z]+)(?: \w+)?`", section)) == set(COMMANDS)
    keys = (ROOT / "docs" / "json.md").read_text(encoding="utf-8").partition("## `chat`")[2].partition("\n## ")[0]
    told = json.loads(run("-p", "hello", "--json").stdout)
    assert {*told, *told["requests"][0]} <= set(re.findall(r"`(\w+)`", keys))


def test_journal_is_shown_by_tag(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> None:
    """J-06: `/journal` begins with the person's newest entry; with a tag, those that have it."""
    with (folder / "squidbot.toml").open("a", encoding="utf-8") as file:
        file.write("[journal]\nenabled = true\n")
    with squidbot.load(folder / "squidbot.toml") as engine:
        engine.journal(machine_user()).append(
            JournalEntry(1_769_517_296, "Moved the facts.", decisions=("one file",), tags=("store",))
        )
        engine.journal(machine_user()).append(JournalEntry(1_769_517_300, "Wrote docs."))
    ran = run(given="- [GOAL] Ship it\n/journal\n/journal #store\n/journal nothing\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    newest, tagged = ran.stdout.split("Moved the facts.")
    assert "Wrote docs." in newest
    assert newest.index("Wrote docs.") < newest.index("Goals")
    assert "decided: one file" in tagged
    assert "no entries tagged 'nothing'" in tagged


def test_debug_writes_each_turn_to_a_file(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> None:
    """debug_turn.txt in the current folder, or where the settings say (B-50)."""
    ran = run("-p", "look herring", "--debug")
    assert ran.returncode == 0, ran.stderr
    text = (folder / "debug_turn.txt").read_text(encoding="utf-8")
    assert "TOOL CALLS (3 calls across 1 iteration)" in text
    assert "look herring" in text
    with (folder / "squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[debug]\nturn_log = "mine.txt"\n')
    assert "debug_turn.txt" in next(folder.glob("*-written")).read_text(), "so `forget` names it"
    run("-p", "hello", "--debug")
    assert "hello" in (folder / "mine.txt").read_text(encoding="utf-8")
    assert (folder / "debug_turn.txt").read_text(encoding="utf-8") == text
