"""Where each coding agent keeps its MCP servers and hooks, and what squidbot puts there."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# The name of the MCP server, and what its command and that of a hook have in them: by this they are known as ours.
SERVER: Final = "squidbot"
SERVER_WORDS: Final = ("-I", "-m", "squidbot", "mcp")
HOOK_WORDS: Final = ("-I", "-m", "squidbot", "hook")
HOOK_SECONDS: Final = 10
# What Cursor and VS Code put their folder in the place of: https://code.visualstudio.com/docs/reference/variables-reference
WORKSPACE: Final = "${workspaceFolder}"
# How agents start the server: isolated, so that no folder and no variable brings other code.
START: Final = (*SERVER_WORDS, "--agents")

# Since which version an event exists: CHANGELOG.md of anthropics/claude-code. Up to 2.1.100 an unknown event made
# Claude Code ignore the whole file.
_CLAUDE_CODE: Final = {
    "SessionStart": (1, 0, 62),
    "UserPromptSubmit": (1, 0, 54),
    "PostToolUse": (1, 0, 38),
    "PreCompact": (1, 0, 48),
    "PostCompact": (2, 1, 76),
    "Stop": (1, 0, 38),
    "SessionEnd": (1, 0, 85),
    "SubagentStop": (1, 0, 41),
}
# It goes on without waiting for these: the next one, or the session's end, stores what is missing. `async` is a key of
# hooks in https://code.claude.com/docs/en/hooks; how long it is known is not written, so that older versions get none.
_IN_BACKGROUND: Final = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"})
_IN_BACKGROUND_SINCE: Final = (2, 1, 101)
# Codex runs hooks by default since 0.124.0 (openai/codex pull request 19012), and ignores events that it does not know.
_CODEX: Final = dict.fromkeys(
    ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "Stop", "SubagentStop"),
    (0, 124, 0),
)
# docs/hooks/reference.md of google-gemini/gemini-cli; switched on by default since 0.26.0.
_GEMINI: Final = dict.fromkeys(
    ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"), (0, 26, 0)
)
_SHELL_SAFE: Final = re.compile(r"[\w@%+=:,./\\-]+", re.ASCII)
_VERSION: Final = re.compile(r"(?<![\d.])(\d{1,9})\.(\d{1,9})\.(\d{1,9})")

Version = tuple[int, int, int]


class Installation(NamedTuple):
    """What an installation is about.

    Attributes:
        python: the absolute path of the interpreter that has squidbot.
        home: the user's folder.
        environ: the environment.
        platform: as `sys.platform`.
        store: the absolute path of the store; "" for the usual one.
        project: the project alone; `None`: all projects of this user.
        version: that of the agent; `None` if it is unknown.
        hook_options: further words of the commands of hooks.
    """

    python: str
    home: Path
    environ: Mapping[str, str]
    platform: str
    store: str = ""
    project: Path | None = None
    version: Version | None = None
    hook_options: tuple[str, ...] = ()


class SettingsFile(NamedTuple):
    """A settings file of an agent, and what squidbot puts there.

    Attributes:
        path: the file, which may be missing.
        servers: the keys that lead to its MCP servers; none: it has no servers.
        server: ours.
        hooks: our hooks, by event.
        notify: for Codex, the command that it calls after each turn.
        within: the folder that the file must not lead out of by a symbolic link; `None`: it may be anywhere.
    """

    path: Path
    servers: tuple[str, ...] = ()
    server: Mapping[str, object] = {}
    hooks: Mapping[str, object] = {}
    notify: Sequence[str] = ()
    within: Path | None = None


class CodingAgent(NamedTuple):
    """A coding agent.

    Attributes:
        name: its name in commands.
        title: its name for people.
        files: returns its settings files.
        program: prints its version with `--version`; "" where none is needed.
        events: its events that squidbot hooks into, each with its first version.
        is_read: whether `squidbot import` reads its sessions.
        trust: what else a user has to do, as a sentence; "" for nothing.
    """

    name: str
    title: str
    files: Callable[[Installation], list[SettingsFile]]
    program: str = ""
    events: Mapping[str, Version] = {}
    is_read: bool = True
    trust: str = ""

    def events_of(self, version: Version | None) -> list[str]:
        """Return the events that a version has; of an unknown version all."""
        return [event for event, first in self.events.items() if version is None or version >= first]


def read_version(printed: str) -> Version | None:
    """Return the first version in a text, such as "2.1.114 (Claude Code)"; `None` without one."""
    found = _VERSION.search(printed)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def hook_command(agent: str, setup: Installation) -> str:
    """Return the line that runs our hook in a shell.

    Raises:
        ConfigError: on Windows, a path has a sign that shells replace.
    """
    words = _hook_words(agent, setup)
    if setup.platform != "win32":
        return shlex.join(words)
    # Git Bash, PowerShell or cmd runs it: all of them take slashes, and Git Bash eats backslashes.
    return " ".join(_windows_word(word.replace("\\", "/")) for word in words)


def _hook_words(agent: str, setup: Installation) -> list[str]:
    place = ["--store", setup.store] if setup.store else []
    return [setup.python, *HOOK_WORDS, agent, *place, *setup.hook_options]


def _windows_word(word: str) -> str:
    if any(sign in word for sign in '"$`%!\r\n'):
        raise ConfigError(f"{word!a:.200} can't be written so that every shell reads it; use a path without \" $ ` % !")
    return word if _SHELL_SAFE.fullmatch(word) else f'"{word}"'


def _server_words(setup: Installation, project: str = "") -> list[str]:
    """Return the words behind the interpreter; `project`: what the agent puts its folder in the place of."""
    project = str(setup.project) if setup.project else project
    words = [*START, *(["--store", setup.store] if setup.store else [])]
    return words + (["--project", project] if project else [])


def _server(setup: Installation, **more: object) -> dict[str, object]:
    """Return the MCP server as most agents write it."""
    return {**more, "command": setup.python, "args": _server_words(setup)}


def _hooks(agent: CodingAgent, setup: Installation, **more: object) -> dict[str, object]:
    """Return a group with one hook for each event, as Claude Code, Codex and Gemini CLI write it."""
    hook = {"type": "command", "command": hook_command(agent.name, setup), "timeout": HOOK_SECONDS, **more}
    return {event: {"hooks": [hook]} for event in agent.events_of(setup.version)}


def _claude_code(setup: Installation) -> list[SettingsFile]:
    """Return the files of Claude Code; $CLAUDE_CONFIG_DIR moves both of them."""
    moved = setup.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(moved) if moved else setup.home / ".claude"
    config = (folder if moved else setup.home) / ".claude.json"
    server, hooks = _server(setup, type="stdio"), _hooks(AGENTS["claude-code"], setup)
    if setup.version and setup.version >= _IN_BACKGROUND_SINCE:
        behind = _hooks(AGENTS["claude-code"], setup, **{"async": True})
        hooks |= {event: group for event, group in behind.items() if event in _IN_BACKGROUND}
    if setup.project is None:
        return [SettingsFile(folder / "settings.json", hooks=hooks), SettingsFile(config, ("mcpServers",), server)]
    local = setup.project / ".claude" / "settings.local.json"
    keys = ("projects", _repository(setup.project).as_posix(), "mcpServers")
    return [SettingsFile(local, hooks=hooks, within=setup.project), SettingsFile(config, keys, server)]


def _repository(project: Path) -> Path:
    """Return the repository's folder, by which Claude Code keeps a project's servers; else the project itself."""
    return next((folder for folder in (project, *project.parents) if (folder / ".git").exists()), project)


def _codex(setup: Installation) -> list[SettingsFile]:
    folder = Path(setup.environ.get("CODEX_HOME") or setup.home / ".codex")
    # No shell runs it, and Codex adds a JSON object as the last argument.
    config = SettingsFile(folder / "config.toml", ("mcp_servers",), _server(setup), notify=_hook_words("codex", setup))
    hooks = _hooks(AGENTS["codex"], setup)
    return [config, SettingsFile(folder / "hooks.json", hooks=hooks)]


def _gemini(setup: Installation) -> list[SettingsFile]:
    # Its timeouts are in milliseconds.
    hooks = _hooks(AGENTS["gemini-cli"], setup, name=SERVER, timeout=HOOK_SECONDS * 1_000)
    return [SettingsFile(setup.home / ".gemini" / "settings.json", ("mcpServers",), _server(setup), hooks)]


def _opencode(setup: Installation) -> list[SettingsFile]:
    folder = Path(setup.environ.get("XDG_CONFIG_HOME") or setup.home / ".config") / "opencode"
    plain, with_comments = folder / "opencode.json", folder / "opencode.jsonc"
    server = {"type": "local", "command": [setup.python, *_server_words(setup)], "enabled": True}
    is_plain = plain.exists() or not with_comments.exists()
    return [SettingsFile(plain if is_plain else with_comments, ("mcp",), server)]


def _copilot(setup: Installation) -> list[SettingsFile]:
    folder = Path(setup.environ.get("COPILOT_HOME") or setup.home / ".copilot")
    server = {**_server(setup, type="local"), "tools": ["*"]}
    return [SettingsFile(folder / "mcp-config.json", ("mcpServers",), server)]


def _cursor(setup: Installation) -> list[SettingsFile]:
    server = {**_server(setup), "args": _server_words(setup, WORKSPACE)}
    return [SettingsFile(setup.home / ".cursor" / "mcp.json", ("mcpServers",), server)]


def _vscode(setup: Installation) -> list[SettingsFile]:
    """Return the file of the default profile: mcp.json in VS Code's folder of the user."""
    if setup.platform == "win32":
        folder = Path(setup.environ.get("APPDATA") or setup.home / "AppData" / "Roaming")
    elif setup.platform == "darwin":
        folder = setup.home / "Library" / "Application Support"
    else:
        folder = Path(setup.environ.get("XDG_CONFIG_HOME") or setup.home / ".config")
    server = {**_server(setup, type="stdio"), "args": _server_words(setup, WORKSPACE)}
    return [SettingsFile(folder / "Code" / "User" / "mcp.json", ("servers",), server)]


_TRUST: Final = "Codex runs new hooks after you have approved them: type /hooks there"
AGENTS: Final = {
    agent.name: agent
    for agent in (
        CodingAgent("claude-code", "Claude Code", _claude_code, "claude", _CLAUDE_CODE),
        CodingAgent("codex", "Codex", _codex, "codex", _CODEX, trust=_TRUST),
        CodingAgent("gemini-cli", "Gemini CLI", _gemini, "gemini", _GEMINI),
        CodingAgent("opencode", "OpenCode", _opencode),
        CodingAgent("copilot-cli", "Copilot CLI", _copilot),
        CodingAgent("cursor", "Cursor", _cursor, is_read=False),
        CodingAgent("vscode", "VS Code", _vscode, is_read=False),
    )
}


def settings_files(agent: CodingAgent, setup: Installation) -> list[SettingsFile]:
    """Return the settings files of an agent, in the order in which they are written.

    Raises:
        ConfigError: it has no settings for one project that are this user's alone.
    """
    if setup.project is not None and agent.name != "claude-code":
        raise ConfigError(
            f"{agent.title} keeps a project's settings in a file that all share who work on it, and squidbot's have "
            "paths of this machine; install it with --user"
        )
    return [file._replace(path=Path(os.path.abspath(file.path))) for file in agent.files(setup)]  # noqa: PTH100  # links stay
