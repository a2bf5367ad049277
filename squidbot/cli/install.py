"""`squidbot install` and `uninstall`: squidbot's MCP server and hooks in the settings of a coding agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from squidbot.adapters.common.files import make_folder
from squidbot.adapters.common.packages import missing
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.cli.output import Result, ResultCommand
from squidbot.core.errors import ConfigError
from squidbot.core.redaction import Redactor
from squidbot.services.agents import AGENTS, Installation, read_version, settings_files
from squidbot.services.file_edits import apply
from squidbot.services.install import install_edit, uninstall_edit
from squidbot.services.recordings import default_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.cli.printer import Printer
    from squidbot.services.agents import CodingAgent, Version
    from squidbot.services.file_edits import FileEdit

# An agent in JavaScript takes a second to say its version.
VERSION_SECONDS: Final = 20
# As the agent will start it: without the working directory and PYTHONPATH.
_CHECK: Final = (
    "import importlib.util as u; print(*(int(u.find_spec(name) is not None) for name in ('squidbot', 'mcp')))"
)


def _options(command: Callable[..., Result]) -> Callable[..., Result]:
    """Add what both commands take."""
    for option in (
        click.option(
            "--dry-run", is_flag=True, help="Show the changes as a unified diff, without secrets, and write nothing."
        ),
        click.option(
            "--user", "scope", flag_value="user", default="user", help="For all projects of this user; the default."
        ),
        click.option(
            "--project",
            "scope",
            flag_value="project",
            help="For the project in this folder alone; only with claude-code.",
        ),
        click.argument("agent", metavar="AGENT", type=click.Choice(list(AGENTS))),
    ):
        command = option(command)
    return command


@click.command(cls=ResultCommand)
@click.option(
    "--store",
    metavar="FILE.db",
    help="File that the hooks and the server use.  [default: one for all coding agents of this user]",
)
@click.option(
    "--tokens",
    metavar="N",
    type=click.IntRange(0),
    help="Tokens that a hook may give back after a compaction; 0 for none.  [default: 1500]",
)
@click.option("--redact", is_flag=True, help="Store a mark in place of keys and passwords.")
@_options
def install(  # noqa: PLR0913  # an argument for each option
    *, agent: str, scope: str, store: str | None, tokens: int | None, redact: bool, dry_run: bool
) -> Result:
    """Give a coding agent squidbot's MCP server, and hooks that store what is said. Needs the extra `mcp`.

    AGENT is claude-code, codex, gemini-cli, opencode, copilot-cli, cursor or vscode. Its other settings stay as they
    are, byte for byte.
    """
    if store is not None and "://" in store:
        raise click.UsageError("--store: the hooks need a file")
    chosen = AGENTS[agent]
    python = checked_python()
    version = found_version(chosen)
    # The store is named in each command: a project's settings can set variables, and so move the usual place.
    place = Path(os.path.abspath(store or default_store()))  # noqa: PTH100  # links stay
    options = (*(("--tokens", str(tokens)) if tokens is not None else ()), *(("--redact",) if redact else ()))
    setup = _setup(scope, python, str(place), version)._replace(hook_options=options)
    edits = [install_edit(file) for file in settings_files(chosen, setup)]
    if not dry_run:
        make_folder(place.parent)
        SqliteStore(place).close()
        apply(edits)
    remarks = [*(edit.remark for edit in edits if edit.remark), _captured(chosen, setup)]
    remarks += [chosen.trust] if chosen.trust and chosen.events_of(version) else []
    steps = [f"Next: start a new session of {chosen.title}"]
    steps += [f"To bring in earlier sessions: {_program()} import {chosen.name}"] if chosen.is_read else []
    known = f" {_version_text(version)}" if version else ", version unknown" if chosen.program else ""
    return _result(chosen, setup, edits, dry_run=dry_run, verb="added", known=known, remarks=remarks, steps=steps)


@click.command(cls=ResultCommand)
@_options
def uninstall(*, agent: str, scope: str, dry_run: bool) -> Result:
    """Take squidbot's MCP server and hooks out of a coding agent's settings. What was stored stays.

    AGENT is claude-code, codex, gemini-cli, opencode, copilot-cli, cursor or vscode. Its other settings stay as they
    are. If nothing else changed meanwhile, each file is as it was before, byte for byte.
    """
    chosen = AGENTS[agent]
    setup = _setup(scope, sys.executable, "", None)
    edits = [uninstall_edit(file) for file in settings_files(chosen, setup)]
    if not dry_run:
        apply(edits)
    return _result(chosen, setup, edits, dry_run=dry_run, verb="removed")


def checked_python(python: str | None = None) -> str:
    """Return the absolute path of this interpreter, or of another one, if squidbot and its MCP server start with it.

    Raises:
        ConfigError: they don't, as agents will start them.
    """
    if not (python or sys.executable):
        raise ConfigError(
            "this Python does not know its own path, which coding agents need; install squidbot into an environment of "
            "its own (python -m venv), and run it from there"
        )
    python = os.path.abspath(python or sys.executable)  # noqa: PTH100  # a link is a virtual environment's
    try:
        done = subprocess.run(  # noqa: S603  # this interpreter
            [python, "-I", "-c", _CHECK], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{python} does not start: {error}") from error
    found = done.stdout.split()
    if found[:1] != ["1"]:
        raise ConfigError(
            f"{python} finds squidbot only by PYTHONPATH, in this folder or among a user's packages, where agents "
            "do not look; install it into an environment of its own (python -m venv)"
        )
    if found[1:] != ["1"]:
        raise ConfigError(missing("mcp"))
    return python


def found_version(agent: CodingAgent) -> Version | None:
    """Return the version of the agent on PATH; `None` if there is none, or it does not say."""
    program = shutil.which(agent.program) if agent.program else None
    # Windows looks into the working directory first: what a repository has there is not run.
    if program is None or not Path(program).is_absolute() or Path(program).parent == Path.cwd():
        return None
    try:
        done = subprocess.run(  # noqa: S603  # the user's own agent
            [program, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=Path.home(),
            check=False,
            timeout=VERSION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return read_version(done.stdout[:1_000].decode("utf-8", errors="replace"))


def _setup(scope: str, python: str, store: str, version: Version | None) -> Installation:
    project = Path.cwd() if scope == "project" else None
    return Installation(python, Path.home(), os.environ, sys.platform, store, project, version)


def _captured(agent: CodingAgent, setup: Installation) -> str:
    """Return a sentence on what stores the sessions of an agent."""
    if agent.events_of(setup.version):
        return "its hooks store what is said"
    if agent.is_read:
        return f"it has no hooks: `squidbot import {agent.name} --watch` stores what is said"
    return "it has no hooks, and squidbot can't read its sessions: it finds what other agents said"


def _result(  # noqa: PLR0913  # all that both commands show
    agent: CodingAgent,
    setup: Installation,
    edits: Sequence[FileEdit],
    *,
    dry_run: bool,
    verb: str,
    known: str = "",
    remarks: Sequence[str] = (),
    steps: Sequence[str] = (),
) -> Result:
    """Return the changes: as a diff if none is made yet, else in words, with what is `known` of the version."""
    diffs = [Redactor().redacted(edit.diff()) if dry_run else None for edit in edits]
    values: dict[str, object] = {
        "agent": agent.name,
        "version": _version_text(setup.version) or None,
        "project": str(setup.project) if setup.project else None,
        "dry_run": dry_run,
        "files": [_file_values(edit, diff) for edit, diff in zip(edits, diffs, strict=True)],
        "remarks": list(remarks),
    }
    if dry_run:
        return Result(values, "".join(filter(None, diffs)))

    def put(out: Printer) -> None:
        out.heading(f"{agent.title}{known}")
        for edit in edits:
            what = "nothing to do" if edit.became == "unchanged" else f"{verb} {' and '.join(edit.entries)}"
            out.say(f"{edit.found.path}: {what}", indent="  ")
        for remark in remarks:
            out.say(remark, indent="  ")
        for step in steps:
            out.say(step)

    return Result(values, put)


def _version_text(version: Version | None) -> str:
    return ".".join(map(str, version)) if version else ""


def _program() -> str:
    """Return how a shell finds squidbot: by its name only where its environment is on the path."""
    beside = Path(sys.executable).with_name("squidbot")
    return str(beside) if beside.exists() and not shutil.which("squidbot") else "squidbot"


def _file_values(edit: FileEdit, diff: str | None) -> dict[str, Any]:
    is_kept = edit.became not in {"unchanged", "new"} and edit.backup.exists()
    return {
        "path": str(edit.found.path),
        "became": edit.became,
        "entries": list(edit.entries),
        "backup": str(edit.backup) if is_kept else None,
        "diff": diff,
    }
