"""`squidbot mcp`: memory and history for clients of the Model Context Protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from squidbot.cli.texts import USAGE, complain, stop
from squidbot.config import load_settings
from squidbot.core.errors import ConfigError
from squidbot.core.memories import SHARED, Scope

if TYPE_CHECKING:
    from squidbot.plugins.mcp import Squidbot

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.]+)]|([^\s:/\[\]]+)):([0-9]{1,5})")
LOCAL = ("127.0.0.1", "::1", "localhost")


def _address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return the host and the port in an option."""
    if value is None:
        return None
    found = _ADDRESS.fullmatch(value)
    if found is None or not 0 < int(found[3]) < 65_536:
        raise click.BadParameter(f"{value[:80]!r} is not an address; write for example 127.0.0.1:8000")
    return found[1] or found[2], int(found[3])


@click.command()
@click.option("--store", metavar="FILE.db", help="The store; created if missing.")
@click.option("--config", metavar="FILE", help="The settings, instead of a store.  [default: ./squidbot.toml]")
@click.option("--http", metavar="HOST:PORT", callback=_address, help="Serve by streamable HTTP, at /mcp.")
@click.option("--user", default="", help="User whose facts to use.  [default: the person of this machine]")
@click.option("--shared", is_flag=True, help="Use the facts that all share.")
def mcp(*, store: str | None, config: str | None, http: tuple[str, int] | None, user: str, shared: bool) -> None:
    """Serve memory and history to a client of the Model Context Protocol, on standard input and output.

    Claude Code, Cursor, VS Code and others start it themselves: docs/hosts.md has the lines for each.
    """
    if user and shared:
        raise click.UsageError("pass --user or --shared, not both")
    served = _served(store, config, SHARED if shared else Scope(user=user) if user else None)
    host, port = http or ("", 0)
    if host and host not in LOCAL:
        complain(f"anyone who can connect to {host}:{port} can read and write this store")
    served.run(host, port)


def _served(store: str | None, config: str | None, scope: Scope | None) -> Squidbot:
    """Return the server.

    Raises:
        ConfigError: a setting is wrong, or no store is named.
    """
    if store is None and not load_settings(config).settings.store.path:
        raise ConfigError("no store: pass --store FILE.db, or set store.path in ./squidbot.toml")
    try:
        from squidbot.plugins.mcp import Squidbot  # noqa: PLC0415  # an extra
    except ImportError as error:
        stop(str(error), USAGE)
    return Squidbot(store, settings=config, scope=scope)
