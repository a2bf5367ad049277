"""The command line: the commands by name, each imported when it is called, and how what they raise ends.

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
from squidbot.commands.ending import ANSWER_IS_NO, INTERRUPTED, exit_code, stop
from squidbot.core.errors import SquidbotError

__all__ = ["main"]

# Each command with the module of squidbot.commands, or of squidbot (with a dot), that it is in, and its line of help:
# `squidbot --help` imports none.
COMMANDS = {
    "chat": ("chat.command", "Talk to a model of the settings, in a session that is kept."),
    "replay": ("replay", "Replay recorded conversations: what would be sent, what it costs."),
    "config": ("config", "Show what is set, and where; explain a key; show a profile."),
    "status": ("status", "Show devices, models, windows, stores: what is active, what is not, and why."),
    "size": ("size", "Say what a model file takes of memory, and the largest window that fits."),
    "sessions": ("sessions", "List the sessions of a store."),
    "show": ("show", "Show what was said, or a request part by part."),
    "explain": ("explain", "Explain what the next request holds, what it costs, and why."),
    "log": ("log", "Show turns: requests, tool calls, response, usage, budget."),
    "search": ("recall", "Search all that was said."),
    "recall": ("recall", "Show the words behind an id that a request shows."),
    "export": ("export", "Write a session: as stored, for another host, or to read; or a store as files."),
    "import": ("bringing", "Bring in the files of an export, one for each model."),
    "migrate": ("bringing", "Bring in older files of WorkspaceAI, with a copy kept; or take them back."),
    "compact": ("changes", "Shorten what is sent now."),
    "undo": ("changes", "Take the newest event back."),
    "memory": ("memory", "Search, list, add and forget durable facts."),
    "journal": ("journal", "Show what was done, decided and left open, newest first."),
    "continued": ("continued", "Begin a session with the context of another one."),
    "context": ("context", "Show the documents in a session's head, load or drop one."),
    "goals": ("goals", "Show what a session is after: goal, decisions, blockers."),
    "jobs": ("jobs", "List messages to be read for facts and summaries that are due, or do them."),
    "snapshot": ("snapshots", "Keep what is sent now under a name."),
    "snapshots": ("snapshots", "List the snapshots of a session."),
    "restore": ("snapshots", "Go back to a snapshot."),
    "forget": ("forget", "Remove messages for good."),
    "doctor": ("upkeep", "Say whether a store is whole, and save what can be saved."),
    "backup": ("upkeep", "Copy a store while it is in use."),
    "mcp": ("mcp", "Serve memory and history to clients of the Model Context Protocol."),
}


class _Faces(click.Group):
    """The commands; whatever they raise on purpose ends in one line and an exit code, never in a traceback."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        place = COMMANDS[cmd_name][0]
        module = import_module(f"squidbot.{place}" if "." in place else f"squidbot.commands.{place}")
        # `import` is a word of Python's own.
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
                raise  # click ends quietly where nobody reads on
            stop(str(error), ANSWER_IS_NO)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_Faces, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def main() -> None:
    """Keep an agent's context window within budget, and what falls out of it recallable."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
