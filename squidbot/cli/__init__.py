"""The command line: a table of commands, each imported when it is called, and the exit codes of their errors.

Exit codes: 0 ok, 1 the answer is no or the work could not be done, 2 usage, 3 budget impossible, 4 damaged data.
"""

from __future__ import annotations

import errno
import io
import sys
from importlib import import_module
from typing import cast

import click

from squidbot.adapters.common.packages import DISTRIBUTION
from squidbot.cli.texts import ANSWER_IS_NO, INTERRUPTED, exit_code, stop
from squidbot.core.errors import SquidbotError

__all__ = ["main"]

# Each command with its module in squidbot, and its line of help: `squidbot --help` imports none.
COMMANDS = {
    "chat": ("chat.command", "Chat with a configured model in a stored session."),
    "replay": ("cli.replay", "Replay recorded conversations and report what squidbot would send."),
    "report": ("cli.report", "Write an HTML file that shows every call of a session."),
    "config": ("cli.config", "Show settings, where they come from, and what each key does."),
    "status": ("cli.status", "Show where squidbot is active, what to do next, models and stores."),
    "session": ("cli.session", "List, show, explain, search, change, export and forget sessions."),
    "memory": ("cli.memory", "Search, list, add and forget durable facts; read the journal."),
    "store": ("cli.store", "Check, repair, back up and export a store; forget a user."),
    "model": ("cli.model", "Show a model's memory use and the largest window that fits."),
    "import": ("cli.import_", "Import sessions of coding agents, or files of `store export`."),
    "install": ("cli.install", "Give a coding agent squidbot's memory: its MCP server and hooks."),
    "uninstall": ("cli.install", "Take squidbot out of a coding agent's settings again."),
    "mcp": ("cli.mcp", "Serve memory and history to clients of the Model Context Protocol."),
    "view": ("cli.view", "Look into a store in the browser: sessions, requests, facts."),
}


class LazyGroup(click.Group):
    """The commands; an error of ours ends in one line and an exit code, never in a traceback."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"squidbot.{COMMANDS[cmd_name][0]}")
        # `import` is a Python keyword.
        return cast("click.Command", getattr(module, "import_" if cmd_name == "import" else cmd_name))

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, says) for name, (_, says) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SquidbotError as error:
            stop(str(error), exit_code(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # click ends quietly if the reader has gone
            stop(str(error), ANSWER_IS_NO)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def main() -> None:
    """Keep an agent's context window within budget, and what falls out of it recallable."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
