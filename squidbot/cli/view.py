"""`squidbot view`: a store in the browser, on this machine, updated while agents work."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import click

from squidbot.cli.mcp import access_of
from squidbot.cli.open_store import open_store
from squidbot.cli.output import STORE_OPTION
from squidbot.cli.texts import USAGE, complain, stop
from squidbot.core.access import is_loopback
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.memories import SHARED, Scope
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.access import AccessTokens
    from squidbot.report.server import ReportServer

# The parts of `squidbot status` that a page shows, how long they are kept, and how long they may take.
_STATUS_KEYS: Final = ("settings", "devices", "main_memory", "models", "store", "memory", "problems")
STATUS_SECONDS: Final = 60.0
MOST_STATUS_SECONDS: Final = 120.0
_ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://(?P<name>\[[0-9a-f:.]+\]|[^\s/:@?#\[\]]+)(?::(?P<port>[0-9]{1,5}))?/?", re.IGNORECASE
)


def _url(_: click.Context, __: click.Parameter, value: str | None) -> str:
    """Return the origin in an option, as browsers write it; "" for none."""
    if value is None:
        return ""
    found = _ORIGIN.fullmatch(value)
    if found is None or not found["name"].isascii() or int(found["port"] or 0) > 65_535:
        raise click.BadParameter(f"{value[:80]!r} is not an address; write for example https://view.example")
    scheme, port = found["scheme"].lower(), found["port"] or ""
    is_usual = not port or int(port) == {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{found['name'].lower()}{'' if is_usual else f':{int(port)}'}"


@click.command()
@STORE_OPTION
@click.option("--config", metavar="FILE", help="The settings file.  [default: ./squidbot.toml]")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65_535), default=0, help="Listen on this port.  [default: a free one]"
)
@click.option(
    "--host",
    metavar="HOST",
    default="127.0.0.1",
    help="Listen on this address. One that other machines can reach needs tokens.  [default: 127.0.0.1]",
)
@click.option(
    "--url",
    metavar="URL",
    callback=_url,
    help="Address at which browsers reach a server with TLS in front: https://view.example.",
)
@click.option(
    "--user",
    metavar="USER",
    default="",
    help="Whose facts and journal to show, or who owns SQUIDBOT_MCP_TOKEN.  [default: the user of this machine]",
)
@click.option("--shared", is_flag=True, help="Show the facts that all share.")
@click.option(
    "--tokens",
    metavar="FILE",
    help="File of the users who may log in, as for `squidbot mcp`. They see only their own facts and sessions.",
)
@click.option("--write", is_flag=True, help="Let the page forget facts and messages; without it nothing is written.")
@click.option("--no-browser", is_flag=True, help="Only print the address, open no browser.")
def view(  # noqa: PLR0913  # its options
    *,
    store: str | None,
    config: str | None,
    port: int,
    host: str,
    url: str,
    user: str,
    shared: bool,
    tokens: str | None,
    write: bool,
    no_browser: bool,
) -> None:
    """Show a store in your browser: sessions, every request, facts, goals, the journal, status. Needs the extra `view`.

    It prints an address that logs one browser in, once. Open pages follow agents that work in other processes, at most
    a second behind. Press Ctrl-C to end.
    """
    if shared and (user or tokens):
        raise click.UsageError("--shared is for all: leave --user and --tokens out")
    needs_tokens = tokens is not None or not is_loopback(host)
    users = access_of(tokens, user, host) if needs_tokens else None
    scope = SHARED if shared or users else Scope(user=user) if user else machine_user()
    try:
        from squidbot.report.server import ReportServer, ViewOptions  # noqa: PLC0415  # an extra
    except ImportError as error:
        stop(str(error), USAGE)
    with (
        closing(listen_on(host, port)) as listening,
        open_store(store, config=config, writes=write, follows=True) as place,
    ):
        own_port, path = listening.getsockname()[1], place.file
        status = _Status(store, config) if users is None else None
        server = ReportServer(place, ViewOptions(scope, host, own_port, users, write, path, status, url))
        with closing(server):
            server.serve(listening, lambda: _started(server, place.wired.loaded.store_place, users, write, no_browser))


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; on a free port for 0.

    Raises:
        ConfigError: it can't be had.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"can't listen on {host!a:.100}, port {port}: {why}; pass another --port") from error


def _started(server: ReportServer, place: str, users: AccessTokens | None, write: bool, no_browser: bool) -> None:  # noqa: FBT001
    """Say where the server is, and open a browser."""
    click.echo(server.address())
    what = "facts and messages can be forgotten" if write else "read only"
    if users is not None:
        complain(f"shows {place}, {what}, to whoever logs in with a token. Ctrl-C ends it.")
        if not is_loopback(server.host) and not server.address().startswith("https:"):
            complain(
                f"{server.host} is not encrypted: put a server with TLS in front, and pass --url, or tokens can be "
                "read on the way"
            )
        return
    again = "Press Enter for another one, " if sys.stdin.isatty() else "Press "
    complain(f"shows {place}, {what}. The address works once. {again}Ctrl-C to end.")
    if sys.stdin.isatty():
        threading.Thread(target=_offer, args=(server.address,), name="squidbot-addresses", daemon=True).start()
    if not no_browser and _has_browser(os.environ):
        click.launch(server.address())  # the printed one stays for another browser


def _offer(address: Callable[[], str]) -> None:
    """Print a new address for each line of standard input."""
    for _ in sys.stdin:
        click.echo(address())


def _has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser would open before the person who has called this: on a screen of this machine."""
    is_remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY"))
    has_screen = sys.platform in {"darwin", "win32"} or any(map(environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return sys.stdout.isatty() and has_screen and not is_remote


class _Status:
    """What `squidbot status` says, kept for a minute.

    In a process of its own: it reads files of the store in ways that take SQLite's locks from this process.
    """

    def __init__(self, store: str | None, config: str | None) -> None:
        named = {"--store": store, "--config": config}
        given = [part for option, value in named.items() if value is not None for part in (option, value)]
        self._command = [sys.executable, "-m", "squidbot", "status", "--json", *given]
        self._lock = threading.Lock()
        self._held: tuple[float, dict[str, Any]] | None = None

    def __call__(self) -> dict[str, Any]:
        """Return it.

        Raises:
            StoreError: the command failed.
        """
        with self._lock:
            now = time.monotonic()
            if self._held is None or now > self._held[0] + STATUS_SECONDS:
                self._held = now, self._read()
            return self._held[1]

    def _read(self) -> dict[str, Any]:
        try:
            done = subprocess.run(  # noqa: S603  # ourselves
                self._command, capture_output=True, text=True, check=False, timeout=MOST_STATUS_SECONDS
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"squidbot status failed ({type(error).__name__}); run it yourself") from error
        try:
            values = json.loads(done.stdout)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            lines = done.stderr.strip().splitlines()
            why = f": {lines[-1]}" if lines else f" (exit code {done.returncode}); run it yourself"
            raise StoreError(f"squidbot status failed{why}")
        return {**dict.fromkeys(_STATUS_KEYS), "problems": []} | {k: values[k] for k in _STATUS_KEYS if k in values}
