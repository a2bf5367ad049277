"""MCP clients: the files in which they name servers, what to write there, and whether our server there works."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.adapters.common.packages import missing
from squidbot.cli.install import checked_python
from squidbot.core.text import clip, line, one_line
from squidbot.services.agents import START, WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# The options that may stand behind it, with a value and without. None reads settings, which may name code.
WITH_VALUE: Final = frozenset({"--project", "--store", "--answer-tokens", "--user"})
FLAGS: Final = frozenset({"--shared"})
KEYS: Final = frozenset({"command", "args", "type"})
# A file of servers has a few kilobytes; Claude Code's own one, with its history, megabytes.
MOST_BYTES: Final = 64 * 2**20
START_SECONDS: Final = 10.0
PROBLEM_CHARS: Final = 300


class Client(NamedTuple):
    """A client of the Model Context Protocol.

    Attributes:
        name: as `squidbot mcp --config` takes it.
        title: its own name.
        project: its file in a project's folder; "" for none.
        user: its file in a user's folder, by the operating system as `sys.platform` has it, "" for all others.
        key: under which key it lists servers.
        folder: what stands for the project's folder in its file; "" where it starts servers in that folder.
        typed: whether an entry says that it is started by a command.
    """

    name: str
    title: str
    project: str
    user: Mapping[str, str]
    key: str = "mcpServers"
    folder: str = ""
    typed: bool = False


_CODE: Final = {
    "darwin": "Library/Application Support/Code/User/mcp.json",
    "win32": "AppData/Roaming/Code/User/mcp.json",
    "": ".config/Code/User/mcp.json",
}
_DESKTOP: Final = {
    "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
    "": ".config/Claude/claude_desktop_config.json",
}
# By the clients' documentation, 2026.
CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", ".mcp.json", {"": ".claude.json"}),
        Client("cursor", "Cursor", ".cursor/mcp.json", {"": ".cursor/mcp.json"}, folder=WORKSPACE),
        Client("vscode", "VS Code", ".vscode/mcp.json", _CODE, "servers", WORKSPACE, typed=True),
        Client("claude-desktop", "Claude Desktop", "", _DESKTOP, folder="."),
        Client("gemini-cli", "Gemini CLI", ".gemini/settings.json", {"": ".gemini/settings.json"}),
        Client("windsurf", "Windsurf", "", {"": ".codeium/windsurf/mcp_config.json"}, folder="."),
    )
}


class ServerEntry(NamedTuple):
    """An entry that names squidbot, in a client's file.

    Attributes:
        file: the file's path.
        server: what the client calls the server, on one line.
        value: the entry.
    """

    file: Path
    server: str
    value: Mapping[str, object]


def block(client: Client, options: Sequence[str] = (), project: str = "") -> str:
    """Return what to paste into a client's file: JSON that starts this interpreter's server for coding agents.

    `options` go to `squidbot mcp`; `project` is a folder, "" for the one that the client is in.

    Raises:
        ConfigError: this interpreter does not find squidbot without the user's own packages and variables.
    """
    folder = project or client.folder
    places = ["--project", folder if folder == WORKSPACE else str(Path(folder).resolve())] if folder else []
    entry: dict[str, object] = {"type": "stdio"} if client.typed else {}
    entry |= {"command": checked_python(), "args": [*START, *places, *options]}
    return json.dumps({client.key: {"squidbot": entry}}, indent=2, ensure_ascii=False)


def entries(client: Client, folder: Path, home: Path) -> Iterator[ServerEntry]:
    """Yield the entries that name squidbot in a client's files: those of a project's folder, then the user's."""
    user = client.user.get(sys.platform, client.user.get("", ""))
    places = dict.fromkeys(path for path in (client.project and folder / client.project, user and home / user) if path)
    for path in places:
        told = _json(path)
        tables = [told.get(client.key)]
        if client.name == "claude-code":  # what `claude mcp add` writes for one project
            projects = told.get("projects")
            mine = projects.get(str(folder)) if isinstance(projects, dict) else None
            tables.append(mine.get(client.key) if isinstance(mine, dict) else None)
        for table in tables:
            for name, value in table.items() if isinstance(table, dict) else ():
                if isinstance(value, dict) and _names_us(value):
                    yield ServerEntry(path, _shown(name), value)


def _names_us(entry: Mapping[str, object]) -> bool:
    try:
        return "squidbot" in json.dumps(entry)
    except RecursionError:
        return False


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one if there is none."""
    try:
        told = json.loads(path.read_bytes()) if path.is_file() and path.stat().st_size <= MOST_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def startable(entry: Mapping[str, object], folder: Path) -> list[str] | str:
    """Return the arguments with which this interpreter starts an entry's server, or why it is not started.

    A project's file is anybody's: only what `block` writes is started, and only by this interpreter.
    """
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(args, list) or tuple(args[: len(START)]) != START or not {*entry} <= KEYS:
        return "not as squidbot mcp --config writes it: not started"
    if command != sys.executable:
        return f"by another interpreter: not started; ask {_shown(command)} -I -m squidbot status --check"
    try:
        options = _options_in(args[len(START) :])
    except ValueError as error:
        return f"with {error}, which squidbot mcp --config does not write: not started"
    store = options.get("--store")
    if store is not None and not Path(folder, store).is_file():
        return f"its store {_shown(store)} is not there: not started"
    return [str(folder) if one == WORKSPACE else one for one in args]


def _options_in(words: Iterable[object]) -> dict[str, str]:
    """Return the values of options by name, "" for a flag.

    Raises:
        ValueError: `block` does not write one of these words, which the error names.
    """
    named: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name = word if isinstance(word, str) else ""
        value = next(rest, None) if name in WITH_VALUE else ""
        if name not in WITH_VALUE | FLAGS or not isinstance(value, str):
            raise ValueError(_shown(word))
        named[name] = value
    return named


def _shown(value: object) -> str:
    return line(clip(one_line(str(value)), 120))


def tools_listed(arguments: Sequence[str], folder: Path) -> tuple[int | None, str]:
    """Start the server with this interpreter, and return how many tools it lists, or `None` and why it does not."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            found = asyncio.run(asyncio.wait_for(_listed(arguments, folder, log), START_SECONDS))
        except ImportError as error:
            return None, f"{error}; {missing('mcp')}"
        except TimeoutError:
            return None, f"no answer within {START_SECONDS:.0f} s"
        except Exception as error:  # noqa: BLE001  # of the package, and of what it starts: groups of any kind
            log.seek(0)
            said = [one for one in log.read(MOST_BYTES).splitlines() if one.strip()]
            return None, clip(line(said[-1].strip() if said else type(error).__name__), PROBLEM_CHARS)
        return found, ""


async def _listed(arguments: Sequence[str], folder: Path, log: Any) -> int:  # noqa: ANN401  # a text file
    from mcp import Client as Session  # noqa: PLC0415  # an extra, and most of a second
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

    started = StdioServerParameters(command=sys.executable, args=[*arguments], env={**os.environ}, cwd=folder)
    async with Session(stdio_client(started, log)) as session:
        return len((await session.list_tools()).tools)
