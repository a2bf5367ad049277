"""docs/commands.md has every command and option, docs/json.md every key that `--json` prints."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.stdlib import Daybook
from squidbot.cli import COMMANDS, main
from squidbot.core.journal import JournalEntry
from squidbot.testing import offline_chat_model
from squidbot.testing.claude_code import ClaudeTranscript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.testing import Result

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
JSON_PAGE = PAGE.with_name("json.md")
# Options that many commands have: one table in front has them.
SHARED = {"--store", "--config", "--json"}


def sections(page: Path) -> dict[str, str]:
    """Return the sections of a page whose heading is a command."""
    found = re.findall(r"^## `([\w -]+)`\n(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return dict(found)


SECTIONS = sections(PAGE)
JSON_SECTIONS = sections(JSON_PAGE)
LONGEST_HELP_CHARS = 80

PRINTED = [
    ["memory", "list"],
    ["memory", "merge"],
    ["memory", "reindex", "note.md"],
    ["config", "--all"],
    ["config", "--profile", "manual"],
    ["status"],
    ["model", "size", "tiny.gguf", "--vram", "8GB,24GB", "--kv", "bf16"],
    ["report", "support/42"],
    ["session", "list"],
    ["session", "show", "support/42", "m14"],
    ["session", "show", "support/42", "--request"],
    ["session", "explain", "support/42"],
    ["session", "explain", "support/42", "m14"],
    ["session", "log", "support/42", "--last", "9"],
    ["session", "search", "support/42", "limit"],
    ["session", "recall", "support/42", "m14"],
    ["session", "recall", "support/43", "m0", "--send"],
    ["session", "export", "support/43"],
    ["store", "export", "files"],
    ["import", "files"],
    ["import", "recordings", "--store", "agents.db"],
    ["store", "import-older", "memory.json"],
    ["store", "import-older", "memory.json", "--rollback", "--yes"],
    ["session", "compact", "support/42"],
    ["session", "undo", "support/42"],
    ["memory", "journal"],
    ["session", "goals", "support/42"],
    ["session", "context", "support/42"],
    ["session", "continue", "support/43", "support/44"],
    ["session", "jobs"],
    ["session", "snapshot", "support/42", "good"],
    ["session", "restore", "support/42", "good"],
    ["session", "snapshots", "support/42"],
    ["session", "forget", "support/42", "m14", "--yes"],
    ["store", "work", "--once"],
    ["store", "doctor"],
    ["store", "doctor", "--repair", "saved.db"],
    ["store", "backup", "copy.db"],
    ["store", "copy", "kept.db", "moved.db"],
    ["store", "forget-user", "ann", "--yes"],
    ["store", "sweep", "--older-than", "1d", "--dry-run"],
    ["install", "claude-code", "--dry-run"],
    ["uninstall", "claude-code", "--dry-run"],
]
# Keys whose values are named by somebody else: by tools of a host, lines of a budget, a form of messages, by
# llama.cpp, by the groups of a report.
FREE = {"parameters", "budget", "left_out", "loading", "compute", "by"}


def command(name: str) -> click.Command:
    """Return a command as the command line finds it; `name` may have a group in front."""
    found: click.Command | None = main
    for one in name.split():
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), one)
    assert found is not None
    return found


def names() -> Iterator[str]:
    """Yield every command with its group in front; of `memory` the group, which has a section for most of its own."""
    for name in COMMANDS:
        found = command(name)
        if isinstance(found, click.Group) and name != "memory":
            yield from (f"{name} {inner}" for inner in found.commands)
        else:
            yield name
    yield "memory journal"


NAMES = list(names())


def _load_document() -> None:
    Path("documents").mkdir()
    Path("documents/a.md").write_text("The squid.", encoding="utf-8")
    Path("documents/b.md").write_text("The walrus.", encoding="utf-8")
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('[context]\nfolder = "documents"\n')
    with squidbot.load(Path("squidbot.toml")) as engine:
        engine.session("support/42").load_context("a.md")


def _set_goals() -> None:
    """Give a session a goal with all that one has, behind another."""
    with squidbot.load(Path("squidbot.toml")) as engine:
        book = engine.session("support/42").goals
        for action in ("set", "milestone", "lock"):
            book.change(action, f"{action} it")
        book.change("set", "Ship it")
        book.change("milestone", "Lexer")


def params(name: str) -> list[click.Parameter]:
    """Return what a command takes; of one that has commands of its own, what these take."""
    found = command(name)
    inner = (
        [one for key, one in found.commands.items() if key != "journal"] if isinstance(found, click.Group) else [found]
    )
    return [param for each in inner for param in each.params]


def keys(value: object) -> Iterator[str]:
    """Yield every key of a JSON value and of those in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE:
                yield from keys(inner)
    elif isinstance(value, list):
        for one in value:
            yield from keys(one)


def test_page_has_every_command_and_no_other() -> None:
    """Those of a group in its place."""
    assert set(SECTIONS) == set(NAMES)
    assert set(JSON_SECTIONS) == set(NAMES) - {"mcp", "view"}
    assert list(dict.fromkeys(one.partition(" ")[0] for one in SECTIONS)) == list(COMMANDS)


def test_usage_options_and_help_on_the_page_are_those_of_the_code() -> None:
    """`python docs/tables.py` writes them: for each command its own, for the group `memory` one of all it has."""
    page = PAGE.read_text(encoding="utf-8")
    assert runpy.run_path(str(PAGE.with_name("tables.py")))["with_tables"](page) == page
    for name, section in SECTIONS.items():
        for table in re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
        mark = "group memory without journal" if name == "memory" else f"command {name}"
        assert re.findall(r"<!-- table: (.+) -->", section) == [mark]


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_documented(name: str) -> None:
    """A row for each, here or among those that are shared, and what it does; a line with the arguments."""
    table = SECTIONS[name].partition("<!-- end -->")[0]
    rows = {
        option: [cell.strip() for cell in cells.split(" | ")][-2]
        for options, cells in re.findall(r"^\| ((?:`--?[a-z][^`]*`(?:, )?)+) \| (.*) \|$", table, re.MULTILINE)
        for option in re.findall(r"`(--[\w-]+)", options)
    }
    shown = (one for one in params(name) if isinstance(one, click.Option) and not one.hidden)
    options = {long for one in shown for long in one.opts if long.startswith("--")}
    assert rows.keys() - SHARED == options - SHARED
    assert all(len(meaning) > 4 for meaning in rows.values())
    for one in params(name):
        if isinstance(one, click.Argument):
            assert str(one.metavar or one.name or "").strip("[]").upper() in table


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(name: str) -> None:
    """A sentence and its options in its own help."""
    assert len((command(name).help or "").split()) >= 5
    assert command(name).name == name.rpartition(" ")[2]


@pytest.mark.parametrize("line", [line for _, line in COMMANDS.values()])
def test_every_command_has_a_line_in_the_help_of_all(line: str) -> None:
    """They need not be imported for it."""
    assert line.endswith(".")
    assert len(line) <= LONGEST_HELP_CHARS


def _prepare(name: str, arguments: list[str], copied: Callable[..., Result]) -> None:
    """Make what a command is about."""
    if name == "session restore":
        copied("session", "snapshot", *arguments[2:])
    if name == "session undo":
        copied("session", "compact", "support/42")
    if name in {"memory", "store forget-user"}:
        copied("memory", "add", "Ann keeps bees", "--user", "ann")
        Path("note.md").write_text("Ann keeps bees.", encoding="utf-8")
    if name == "memory journal":
        Daybook(Path("notes/journal")).append(JournalEntry(0, "Ann was asked.", total_tokens=7))
    if name == "session goals":
        _set_goals()
    if name == "session context":
        _load_document()
    if name == "import":
        copied("store", "export", "files")
        ClaudeTranscript(Path("recordings")).say("Hello")
    if name == "store import-older":
        Path("memory.json").write_text('{"current_conversation": ["hello"]}', encoding="utf-8")
        copied("store", "import-older", "memory.json", *(["--dry-run"] if "--rollback" not in arguments else []))
    if name == "model size":
        offline_chat_model(arguments[2])


@pytest.mark.parametrize("arguments", PRINTED, ids=" ".join)
def test_every_key_of_json_is_documented(
    copied: Callable[..., Result], arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object, each of its keys, and of those in it, on the page."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    name = " ".join(arguments[:2]) if " ".join(arguments[:2]) in SECTIONS else arguments[0]
    _prepare(name, arguments, copied)
    if name == "memory":
        arguments = [*arguments, "--user", "ann"]
    if name == "memory journal":
        arguments = [*arguments, "--shared"]  # the default is the person of this machine
    result = copied(*arguments, "--json")
    assert result.exit_code == 0, result.output
    written = set(re.findall(r"`(\w+)`", JSON_PAGE.read_text(encoding="utf-8")))
    own = set(re.findall(r"`(\w+)`", JSON_SECTIONS[name]))
    made = json.loads(result.output)
    assert set(keys(made)) - written == set()
    assert (
        set(made) - own - ({*json.loads(copied("session", "show", "support/42", "--json").output)} & written) == set()
    )


def test_commands_that_look_into_a_session_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, from the checkout, with the store where it harms nobody; the heads of what is shown are printed."""
    monkeypatch.chdir(PAGE.parents[1])
    (block,) = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    printed = ""
    for line in re.findall(r"^\$ squidbot (.*)$", block, re.MULTILINE):
        result = CliRunner().invoke(main, shlex.split(line.replace("seen.db", str(tmp_path / "seen.db"))))
        assert result.exit_code == 0, (line, result.output)
        printed += result.output
    for line in ("session: 430 messages; the next request has ", "messages ", "m0         verbatim ", "m1-m"):
        assert f"\n{line}" in block
        assert f"\n{line}" in printed
