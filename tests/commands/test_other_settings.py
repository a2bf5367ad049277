"""`--config`: each command that opens a store can take another settings file than ./squidbot.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import COMMANDS, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The replay has settings of its own, and makes its store anew.
WITHOUT = {"replay", "install", "uninstall"}


def commands(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield each command, by its name with its groups in front."""
    for name in group.list_commands(context := click.Context(group)):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*names, name))
        else:
            yield " ".join((*names, name)), found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: the store and the facts of one settings file, and another one that names a missing store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text("[store]\npath = 'missing.db'\n", encoding="utf-8")
    (tmp_path / "bot.toml").write_text("[store]\npath = 'bot.db'\n[memory]\npath = 'facts.db'\n", encoding="utf-8")
    with squidbot.load("bot.toml") as engine:
        engine.session("dives").record({"role": "user", "content": "How deep is it?"}, "Ten metres.", now=0.0)
    return tmp_path


def run(*arguments: str) -> str:
    """Run a command, and return what it printed."""
    done = CliRunner().invoke(main, [*arguments, "--config", "bot.toml"])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_command_of_a_store_takes_a_settings_file() -> None:
    """One option of one name, whatever the command; and `--help` says so."""
    lacking = [
        name for name, one in commands(main) if "--config" not in {opt for each in one.params for opt in each.opts}
    ]
    assert {*lacking} == WITHOUT
    assert {*COMMANDS} > WITHOUT
    assert "--config FILE" in CliRunner().invoke(main, ["memory", "list", "--help"]).stdout


@pytest.mark.usefixtures("folder")
def test_settings_file_names_store_and_facts() -> None:
    """Facts, sessions, the journal: from the named file, and none from ./squidbot.toml."""
    run("memory", "add", "The bay is ten metres deep.", "--shared")
    assert "ten metres" in run("memory", "list", "--shared")
    assert "--shared" in run("memory", "owners")
    assert "dives" in run("session", "list")
    assert "1 session, 2 messages" in run("store", "doctor")
    assert CliRunner().invoke(main, ["session", "list"]).exit_code == 1


@pytest.mark.usefixtures("folder")
def test_next_command_names_the_settings_file_too() -> None:
    """A command line that is printed to go on with works as it stands."""
    assert "squidbot session recall dives m0 --config bot.toml" in run("session", "explain", "dives", "m0")


def test_wrong_settings_file_is_named(folder: Path) -> None:
    """By its own name, not by ./squidbot.toml."""
    (folder / "bot.toml").write_text("[memory]\npaht = 'facts.db'\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["memory", "list", "--config", "bot.toml"])
    assert "did you mean path? @ bot.toml.memory" in done.stderr
    missing = CliRunner().invoke(main, ["store", "doctor", "--config", "no.toml"])
    assert (missing.exit_code, "no.toml" in missing.stderr) == (2, True)
