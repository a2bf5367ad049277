"""`squidbot install` and `uninstall`, with a home and an agent of their own."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from squidbot.cli import main
from squidbot.cli.install import checked_python
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose Claude Code says its version."""
    for name in ("bin", "home", "project"):
        (tmp_path / name).mkdir()
    program(tmp_path / "bin" / "claude", "echo '2.1.75 (Claude Code)'")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("CLAUDE_CONFIG_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def program(path: Path, line: str) -> None:
    """Write a program of one line."""
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def run(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, arguments)


def test_one_command_installs_and_one_removes(home: Path) -> None:
    """A list of files, what comes next, and nothing left."""
    done = run("install", "claude-code")
    assert done.exit_code == 0, done.output
    assert "Claude Code 2.1.75" in done.output
    assert "SubagentStop" in done.output
    assert "PostCompact" not in done.output
    assert "squidbot import claude-code" in done.output
    hook = json.loads((home / ".claude/settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]
    assert shlex.split(hook["command"])[0] == sys.executable
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["squidbot"]
    assert server["command"] == sys.executable
    assert "nothing to do" in run("install", "claude-code").output
    told = json.loads(run("status", "--json").output)
    (claude,) = (one for one in told["agents"] if one["agent"] == "claude-code")
    assert [one["entries"][0].split()[1] for one in claude["files"]] == ["hooks", "MCP"]
    assert "Claude Code: the hooks SessionStart" in " ".join(run("status").output.split())
    (home / ".local/share/squidbot/agents.db-hooks.log").write_text("2026-11-01T10:00:00Z StoreError: locked\n")
    assert json.loads(run("status", "--json").output)["hook_failure"].endswith("StoreError: locked")
    assert run("uninstall", "claude-code").exit_code == 0
    # What was stored stays.
    assert {path.parent.name for path in home.rglob("*") if path.is_file()} == {"squidbot"}


@pytest.mark.parametrize("is_named", [True, False])
def test_what_to_type_next_can_be_typed(home: Path, monkeypatch: pytest.MonkeyPatch, *, is_named: bool) -> None:
    """An environment that is not on the path is named."""
    own = home.parent / "own"
    own.mkdir()
    program(own / "squidbot", "true")
    if is_named:
        program(home.parent / "bin" / "squidbot", "true")
    monkeypatch.setattr("squidbot.cli.install.sys.executable", str(own / "python"))
    monkeypatch.setattr("squidbot.cli.install.checked_python", lambda: "/python")
    named = "squidbot" if is_named else str(own / "squidbot")
    assert f"earlier sessions: {named} import claude-code" in " ".join(run("install", "claude-code").output.split())


def test_options_of_hooks_stand_in_their_commands(home: Path) -> None:
    """The store always does: a variable that a project sets moves nothing."""
    assert run("install", "claude-code", "--tokens", "800", "--redact").exit_code == 0
    hook = json.loads((home / ".claude/settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]
    store = home / ".local/share/squidbot/agents.db"
    assert shlex.split(hook["command"])[3:] == [
        "squidbot", "hook", "claude-code", "--store", str(store), "--tokens", "800", "--redact"
    ]  # fmt: skip
    assert store.stat().st_mode & 0o077 == 0
    assert run("install", "claude-code").exit_code == 0
    hook = json.loads((home / ".claude/settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]
    assert "--redact" not in hook["command"]


def test_dry_run_shows_the_change_without_secrets_and_writes_nothing(home: Path) -> None:
    """A unified diff, which names the file."""
    (home / ".claude.json").write_text('{\n  "token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"\n}\n')
    done = run("install", "claude-code", "--dry-run")
    assert f"+++ {home / '.claude.json'}\n" in done.output
    assert '\n+  "mcpServers": {\n' in done.output
    assert "ghp_" not in done.output
    assert [path.name for path in home.rglob("*")] == [".claude.json"]


def test_json_says_what_was_done(home: Path) -> None:
    """The version, the files, the copies."""
    (home / ".claude.json").write_text("{}")
    made = json.loads(run("install", "claude-code", "--project", "--store", "mem.db", "--json").output)
    assert (made["agent"], made["version"], made["dry_run"]) == ("claude-code", "2.1.75", False)
    assert made["project"] == str(home.parent / "project")
    assert [(one["became"], one["backup"]) for one in made["files"]] == [
        ("new", None),
        ("changed", str(home / ".claude.json.squidbot-backup")),
    ]


def test_agent_of_the_working_directory_is_not_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository can't have a program of its own started."""
    program(home.parent / "project" / "claude", "touch ran; echo 1.0.0")
    monkeypatch.setenv("PATH", f"{home.parent / 'project'}:/usr/bin:/bin")
    assert json.loads(run("install", "claude-code", "--json").output)["version"] is None
    assert not (home.parent / "project" / "ran").exists()


def test_wrong_use_says_what_to_do(home: Path) -> None:
    """Exit code 2, one line, and nothing written."""
    for arguments in (["emacs"], ["cursor", "--project"], ["codex", "--store", "postgresql://x/y"]):
        done = run("install", *arguments)
        assert done.exit_code == 2, done.output
    (home / ".claude.json").write_text("{")
    done = run("install", "claude-code")
    assert done.exit_code == 2
    assert f"{home / '.claude.json'}:1: it is not JSON" in done.output
    assert not (home / ".claude").exists()


@pytest.mark.parametrize(
    ("prints", "says"),
    [("echo 0 1", "PYTHONPATH"), ("echo 1 0", "extra mcp"), ("exit 1", "PYTHONPATH"), ("sleep 0; echo", "PYTHONPATH")],
)
def test_interpreter_that_does_not_find_squidbot_is_refused(tmp_path: Path, prints: str, says: str) -> None:
    """It would fail in every hook."""
    program(tmp_path / "python", prints)
    with pytest.raises(ConfigError, match=says):
        checked_python(str(tmp_path / "python"))


def test_interpreter_is_asked_as_agents_start_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the working directory nor PYTHONPATH counts."""
    (tmp_path / "squidbot.py").write_text("")
    (tmp_path / "mcp.py").write_text("")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="only by PYTHONPATH"):
        checked_python(str(tmp_path / "bare" / "bin" / "python"))
