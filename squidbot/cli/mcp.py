"""`squidbot mcp`: memory and history for clients of the Model Context Protocol."""

from __future__ import annotations

import os
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from squidbot.cli.clients import CLIENTS, block
from squidbot.cli.texts import USAGE, complain, stop
from squidbot.config import load_settings
from squidbot.core.access import (
    AccessTokens,
    UserDigest,
    check_listening,
    checked_token,
    checked_user,
    digest_of,
    is_loopback,
    read_digests,
)
from squidbot.core.errors import ConfigError
from squidbot.core.memories import SHARED, Scope
from squidbot.services.agents import WORKSPACE
from squidbot.services.recordings import default_store

if TYPE_CHECKING:
    from squidbot.cli.clients import Client
    from squidbot.plugins.mcp import Squidbot

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.]+)]|([^\s:/\[\]]+)):([0-9]{1,5})")
# The variable with the token of one user: `--user`, or nobody.
VARIABLE: Final = "SQUIDBOT_MCP_TOKEN"
TOKEN_BYTES: Final = 32
# Claude Code warns at 10,000 tokens of an answer, and cuts at the 25,000 of MAX_MCP_OUTPUT_TOKENS.
LEAST_ANSWER, MOST_ANSWER = 500, 25_000


def _address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return the host and the port in an option."""
    if value is None:
        return None
    found = _ADDRESS.fullmatch(value)
    if found is None or not 0 < int(found[3]) < 65_536:
        raise click.BadParameter(f"{value[:80]!r} is not an address; write for example 127.0.0.1:8000")
    return found[1] or found[2], int(found[3])


def _new_token(context: click.Context, _: click.Parameter, user: str | None) -> None:
    """Print a new token on standard error, its line for the file on standard output, and end."""
    if user is None or context.resilient_parsing:
        return
    checked_user(user, "--new-token")
    token = f"squidbot_{secrets.token_urlsafe(TOKEN_BYTES)}"
    click.echo(f"{user} {digest_of(token.encode('ascii'))}")
    click.echo(f"The token of {user}, which is not stored and not shown again:\n{token}", err=True)
    context.exit()


@click.command()
@click.option("--store", metavar="FILE.db", help="The store, which is created if it is missing.")
@click.option(
    "--config",
    metavar="FILE|CLIENT",
    help="The settings file; or print the JSON that a client's file needs, and end: "
    f"{', '.join(CLIENTS)}.  [default: ./squidbot.toml]",
)
@click.option(
    "--agents", is_flag=True, help="Serve coding agents: search, recall, decisions and sessions of the project."
)
@click.option(
    "--project",
    metavar="FOLDER",
    help="With --agents: the project's folder.  [default: CLAUDE_PROJECT_DIR, else this folder]",
)
@click.option(
    "--answer-tokens",
    metavar="N",
    type=click.IntRange(LEAST_ANSWER, MOST_ANSWER),
    help="Most tokens of an answer, 500 to 25,000. Claude Code warns at 10,000.  [default: 4,000]",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    callback=_address,
    help="Serve streamable HTTP at http://HOST:PORT/mcp instead; without tokens only on this machine.",
)
@click.option(
    "--user",
    metavar="USER",
    default="",
    help="Whose facts to use, or who owns SQUIDBOT_MCP_TOKEN.  [default: the user of this machine]",
)
@click.option("--shared", is_flag=True, help="Use the facts that all share.")
@click.option(
    "--tokens",
    metavar="FILE",
    help="File of the users who may connect by HTTP: lines of a user and the SHA-256 of a token.",
)
@click.option(
    "--new-token",
    metavar="USER",
    callback=_new_token,
    expose_value=False,
    is_eager=True,
    help="Make a token for this user and end: the token on standard error, its line for --tokens on standard output.",
)
def mcp(  # noqa: PLR0913  # its options
    *,
    store: str | None,
    config: str | None,
    agents: bool,
    project: str | None,
    answer_tokens: int | None,
    http: tuple[str, int] | None,
    user: str,
    shared: bool,
    tokens: str | None,
) -> None:
    """Serve memory and history to a client of the Model Context Protocol, on standard input and output.

    Claude Code, Cursor, VS Code and others start it themselves; --config CLIENT prints the lines for their files. Needs
    the extra `mcp`.
    """
    if shared and (user or tokens):
        raise click.UsageError("--shared is for all: leave --user and --tokens out")
    if config in CLIENTS:
        _print_block(CLIENTS[config])
        return
    if agents and http:
        raise click.UsageError("--agents is for an agent on this machine, which starts the server: leave --http out")
    if project is not None and not agents:
        raise click.UsageError("--project is the project of --agents: add --agents")
    host, port = http or ("", 0)
    if tokens is not None and not host:
        raise ConfigError("--tokens is for a server by HTTP: add --http 127.0.0.1:8000")
    access = access_of(tokens, user, host) if host else None
    scope = SHARED if shared else Scope(user=user) if user else None
    store = _agent_store() if agents and store is None and config is None else store
    served = _served(store, config, scope, project=_project(project) if agents else None, answer_tokens=answer_tokens)
    if access and not is_loopback(host):
        complain(f"{host}:{port} is not encrypted: put a server with TLS in front, or tokens can be read on the way")
    if host:
        complain(f"serves http://{f'[{host}]' if ':' in host else host}:{port}/mcp. Ctrl-C ends it.")
    served.run(host, port, access)


def access_of(file: str | None, user: str, host: str) -> AccessTokens | None:
    """Return the tokens of a server by HTTP; `None` without any.

    Raises:
        ConfigError: they are wrong, or there are none where other machines can connect.
    """
    digests: tuple[UserDigest, ...] = ()
    if file is not None:
        digests = read_digests(_text_of(file), file)
    token = os.environ.get(VARIABLE)
    if token is not None:
        own = UserDigest(user, digest_of(checked_token(token, VARIABLE)))
        if any(other.digest == own.digest and other.user != user for other in digests):
            raise ConfigError(f"{VARIABLE}: another user in {file} has the same token; make one for each user")
        digests += (own,)
    elif file is not None and user:
        raise ConfigError(f"--user names the user of {VARIABLE}, which is not set; {file} names its own users")
    access = AccessTokens(digests) if digests else None
    check_listening(host, access)
    return access


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--tokens {file}: it can't be read as UTF-8: {type(error).__name__}") from error


def _print_block(client: Client) -> None:
    """Print what to paste into a client's file, with the options of the command line; where that is on standard error.

    Raises:
        ConfigError: the block would not work.
    """
    context = click.get_current_context()
    given = {name: value for name, value in context.params.items() if value and _is_given(context, name)}
    if wrong := sorted({*given} - {"config", "agents", "project", "store", "answer_tokens", "user", "shared"}):
        raise click.UsageError(f"--{wrong[0]} is not for {client.title}, which starts the server itself")
    options = ["--store", str(Path(given["store"]).absolute())] if "store" in given else []
    options += ["--answer-tokens", str(given["answer_tokens"])] if "answer_tokens" in given else []
    options += ["--user", given["user"]] if "user" in given else ["--shared"] if "shared" in given else []
    click.echo(block(client, options, given.get("project", "")))
    user = client.user.get(sys.platform, client.user.get("", ""))
    files = " or ".join(filter(None, (client.project, f"~/{user}")))
    click.echo(f"Put this into {files}; beside other servers, put its entry under {client.key}.", err=True)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _agent_store() -> str:
    """Return the store for the sessions of coding agents; its folder is made, for its owner alone."""
    path = default_store()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(path)


def _project(given: str | None) -> str:
    """Return the folder of the project that an agent is in; a name that its client did not replace is passed over."""
    named = given if given and given != WORKSPACE else os.environ.get("CLAUDE_PROJECT_DIR")
    return named or str(Path.cwd())


def _served(
    store: str | None, config: str | None, scope: Scope | None, *, project: str | None, answer_tokens: int | None
) -> Squidbot:
    """Return the server.

    Raises:
        ConfigError: a setting is wrong, or no store is named.
    """
    if store is None and not load_settings(config).store_place:
        raise ConfigError("no store: pass --store FILE.db, or set store.path or store.url in ./squidbot.toml")
    try:
        from squidbot.plugins.mcp import Squidbot  # noqa: PLC0415  # an extra
    except ImportError as error:
        stop(str(error), USAGE)
    return Squidbot(store, settings=config, scope=scope, project=project, answer_tokens=answer_tokens)
