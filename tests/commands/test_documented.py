"""docs/commands.md has every command, every option, and every key that `--json` prints."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.stdlib import Daybook
from squidbot.cli import COMMANDS, main
from squidbot.core.journal import Entry
from squidbot.testing import offline_chat_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.testing import Result

README = Path(__file__).parents[2] / "README.md"
PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
SECTIONS = dict(
    re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
)
LONGEST_HELP_CHARS = 80

PRINTED = [
    ["memory", "list"],
    ["memory", "merge"],
    ["memory", "reindex", "note.md"],
    ["config", "--all"],
    ["config", "--profile", "manual"],
    ["status"],
    ["size", "tiny.gguf", "--vram", "8GB,24GB", "--kv", "bf16"],
    ["sessions"],
    ["show", "support/42", "m14"],
    ["show", "support/42", "--request"],
    ["explain", "support/42"],
    ["explain", "support/42", "m14"],
    ["log", "support/42", "--last", "9"],
    ["search", "support/42", "limit"],
    ["recall", "support/42", "m14"],
    ["recall", "support/43", "m0", "--send"],
    ["export", "support/43"],
    ["export", "--format", "workspaceai", "files"],
    ["import", "files"],
    ["migrate", "memory.json"],
    ["migrate", "memory.json", "--rollback", "--yes"],
    ["compact", "support/42"],
    ["undo", "support/42"],
    ["journal"],
    ["goals", "support/42"],
    ["context", "support/42"],
    ["continued", "support/43", "support/44"],
    ["jobs"],
    ["snapshot", "support/42", "good"],
    ["restore", "support/42", "good"],
    ["snapshots", "support/42"],
    ["forget", "support/42", "m14", "--yes"],
    ["doctor"],
    ["doctor", "--repair", "saved.db"],
    ["backup", "copy.db"],
]
# Keys whose values are named by somebody else: by tools of a host, lines of a budget, a form of messages, by
# llama.cpp.
FREE = {"parameters", "budget", "left_out", "loading", "compute"}


def command(name: str) -> click.Command:
    """Return a command as the command line finds it."""
    found = main.get_command(click.Context(main), name)
    assert isinstance(found, click.Command)
    return found


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
    inner = list(found.commands.values()) if isinstance(found, click.Group) else [found]
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
    """In the order of the help."""
    assert list(SECTIONS) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    """A row for each, no row without one; arguments stand in the line that shows how to call it."""
    options = {max(one.opts, key=len) for one in params(name) if isinstance(one, click.Option) and not one.hidden}
    rows = re.findall(r"^\| `(--[\w-]+)` \| (.*) \|$", SECTIONS[name], re.MULTILINE)
    assert {row for row, _ in rows} == options
    assert all(len(meaning) > 4 for _, meaning in rows)
    shown = SECTIONS[name].splitlines()[1]
    for one in params(name):
        if isinstance(one, click.Argument):
            assert str(one.metavar or one.name or "").strip("[]").upper() in SECTIONS[name][:800], shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    """One line in the help of all, which need not be imported for it; a sentence and its options in its own."""
    _, line = COMMANDS[name]
    assert line.endswith(".")
    assert len(line) <= LONGEST_HELP_CHARS
    assert len((command(name).help or "").split()) >= 5
    assert command(name).name == name


@pytest.mark.parametrize("arguments", PRINTED, ids=" ".join)
def test_every_key_of_json_is_documented(copied: Callable[..., Result], arguments: list[str]) -> None:
    """One object, each of its keys, and of those in it, on the page."""
    if arguments[0] == "restore":
        copied("snapshot", *arguments[1:])
    if arguments[0] == "undo":
        copied("compact", "support/42")
    if arguments[0] == "memory":
        copied("memory", "add", "Ann keeps bees", "--user", "ann")
        Path("note.md").write_text("Ann keeps bees.", encoding="utf-8")
        arguments = [*arguments, "--user", "ann"]
    if arguments[0] == "journal":
        Daybook(Path("notes/journal")).append(Entry(0, "Ann was asked.", total_tokens=7))
    if arguments[0] == "goals":
        _set_goals()
    if arguments[0] == "context":
        _load_document()
    if arguments[0] == "import":
        copied("export", "--format", "workspaceai", "files")
    if arguments[0] == "migrate":
        Path("memory.json").write_text('{"current_conversation": ["hello"]}', encoding="utf-8")
        copied("migrate", "memory.json", *(["--dry-run"] if "--rollback" not in arguments else []))
    if arguments[0] == "size":
        offline_chat_model(arguments[1])
    result = copied(*arguments, "--json")
    assert result.exit_code == 0, result.output
    written = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    own = set(re.findall(r"`(\w+)`", SECTIONS[arguments[0]]))
    made = json.loads(result.output)
    assert set(keys(made)) - written == set()
    assert set(made) - own - ({*json.loads(copied("show", "support/42", "--json").output)} & written) == set()


def test_commands_of_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, from the checkout, with the store where it harms nobody; the heads of what is shown are printed."""
    monkeypatch.chdir(README.parent)
    (block,) = re.findall(r"^```console\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    printed = ""
    for line in re.findall(r"^\$ squidbot (.*)$", block, re.MULTILINE):
        result = CliRunner().invoke(main, shlex.split(line.replace("seen.db", str(tmp_path / "seen.db"))))
        assert result.exit_code == 0, (line, result.output)
        printed += result.output
    for line in ("session: 430 messages; the next request has ", "messages ", "m0         verbatim ", "m1-m"):
        assert f"\n{line}" in block
        assert f"\n{line}" in printed
