"""Which hosts are installed, whether squidbot takes part in them, and if not, why; llm and hermes are imported."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.packages import Extra, command, missing
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import count
from squidbot.core.errors import SquidbotError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HOSTS", "Host", "HostFound", "forms_in", "hosts_found"]

# Of a store with more sessions, those that were made last are looked at.
MOST_SESSIONS = 1_000
# Where clients of MCP name the servers that they start, in a project and for a user.
CLIENT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")
USER_FILES = (".claude.json", ".cursor/mcp.json")


class Host(NamedTuple):
    """A host that squidbot has a plugin for.

    Attributes:
        name: what people call it.
        extra: what brings it.
        needs: the least version of each of its packages.
        form: the form of its messages; "" where it leads no conversation.
        line: what makes squidbot take part.
    """

    name: str
    extra: Extra
    needs: Mapping[str, str]
    form: str
    line: str

    @property
    def module(self) -> str:
        """The plugin's module, by its name in squidbot.plugins."""
        return self.extra.replace("-", "_")

    @property
    def command(self) -> str:
        """What installs it, and where that is run."""
        return command(self.extra)


HOSTS = (
    Host(
        "hermes",
        "hermes",
        {"hermes-agent": "0.19"},
        "hermes/1",
        "hermes plugins enable squidbot && hermes config set context.engine squidbot",
    ),
    Host("LangChain", "langchain", {"langchain": "1.4", "langgraph": "1.0"}, "lc/1", 'middleware=[Squidbot("mem.db")]'),
    Host("llm", "llm", {"llm": "0.36"}, "llm/1", "llm squidbot on"),
    Host("MCP", "mcp", {"mcp": "2.1"}, "", "squidbot mcp --store mem.db, in the client's file of servers"),
    Host(
        "OpenAI Agents SDK",
        "openai-agents",
        {"openai-agents": "0.20"},
        "openai.responses",
        'Runner.run(agent, "hi", **Squidbot("mem.db").options("chat-1"))',
    ),
    Host(
        "pydantic-ai",
        "pydantic-ai",
        {"pydantic-ai-slim": "2.68"},
        "pydantic_ai/2",
        'capabilities=[Squidbot("mem.db")]',
    ),
)


class HostFound(NamedTuple):
    """A host as it is here.

    Attributes:
        host: which one.
        versions: its packages that are installed, with their versions; None: it is not.
        reason: how it shows that squidbot takes part in it, or why it does not.
        active: whether it does.
    """

    host: Host
    versions: Mapping[str, str] | None
    reason: str
    active: bool = False


def hosts_found(forms: Mapping[str, int], where: str, folders: tuple[Path, Path]) -> list[HostFound]:
    """Return all hosts; `forms` counts the conversations of each form in the store `where`, "" for none.

    `folders`: a project's, and the user's own.
    """
    return [_found(host, forms, where, folders) for host in HOSTS]


def forms_in(path: str | None) -> dict[str, int]:
    """Return how many conversations of each form a store has; nothing where there is none, or it can't be read.

    Of a large store only those that were made last count.
    """
    try:
        with opened(path) as store:
            sessions = [name for name, messages in store.sessions() if messages][-MOST_SESSIONS:]
            return Counter(row.codec for name in sessions for row in store.rows(name, 0, 0).found)
    except SquidbotError:
        return {}


def _found(host: Host, forms: Mapping[str, int], where: str, folders: tuple[Path, Path]) -> HostFound:
    versions = {name: known for name in host.needs if (known := _version(name))}
    if not versions:
        return HostFound(host, None, missing(host.extra))
    for name, least in host.needs.items():
        if name not in versions:
            return HostFound(host, versions, f"{name} is missing; {host.command}")
        if _numbers(versions[name]) < _numbers(least):
            older = f"{name} {versions[name]} is installed, {least} or newer is needed; {host.command}"
            return HostFound(host, versions, older)
    if host.extra in _SWITCHED:
        return _SWITCHED[host.extra](HostFound(host, versions, ""))
    if host.extra == "mcp":
        return _mcp(HostFound(host, versions, ""), folders)
    return _in_code(HostFound(host, versions, ""), forms, where)


def _in_code(found: HostFound, forms: Mapping[str, int], where: str) -> HostFound:
    """Say whether conversations of a host are in the store: its agents say in code whether squidbot takes part."""
    host = found.host
    if forms.get(host.form):
        return found._replace(active=True, reason=f"{count(forms[host.form], 'conversation')} of it in {where}")
    seen = f"no conversation of it is in {where}" if where else "no store is named to see its conversations in"
    return found._replace(reason=f"{seen}; an agent has it by {host.line}")


def _llm(found: HostFound) -> HostFound:
    """Say whether squidbot is switched on in llm, which loads plugins by itself."""
    from squidbot.plugins import llm  # noqa: PLC0415  # half a second

    try:
        switch = llm.switched()
        llm.opened(switch)
    except SquidbotError as error:
        return found._replace(reason=f"{error}: {found.host.line}")
    kept = f"it keeps conversations in {switch.store}" if switch.store else f"by {switch.settings}"
    return found._replace(active=True, reason=f"switched on; {kept}")


def _hermes(found: HostFound) -> HostFound:
    """Say whether hermes's config.yaml switches squidbot on."""
    from squidbot.plugins import hermes  # noqa: PLC0415  # two seconds

    if why := hermes.inactive():
        return found._replace(reason=f"{why}: {found.host.line}")
    return found._replace(active=True, reason="switched on in its config.yaml")


def _mcp(found: HostFound, folders: tuple[Path, Path]) -> HostFound:
    """Say whether a client of MCP starts `squidbot mcp`."""
    files = [folder / name for folder, names in zip(folders, (CLIENT_FILES, USER_FILES), strict=True) for name in names]
    naming = [str(path) for path in dict.fromkeys(files) if _names_us(path)]
    if naming:
        return found._replace(active=True, reason=f"started by {', '.join(naming)}")
    none = f"none of {', '.join(CLIENT_FILES)} here or at home starts it"
    return found._replace(reason=f"{none}: docs/hosts.md has the lines")


# Hosts that load plugins by themselves, and have a switch for ours.
_SWITCHED = {"hermes": _hermes, "llm": _llm}


def _names_us(path: Path) -> bool:
    """Say whether a file of servers has one that runs squidbot."""
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    servers = told.get("mcpServers") or told.get("servers") if isinstance(told, dict) else None
    return isinstance(servers, dict) and any("squidbot" in json.dumps(one) for one in servers.values())


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _numbers(written: str) -> list[int]:
    """Return the numbers that a version begins with."""
    return [int(number) for number in re.findall(r"[0-9]+", re.split(r"[^0-9.]", written)[0])]
