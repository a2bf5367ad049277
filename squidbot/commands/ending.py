"""How a command ends: the exit codes, and the line on standard error that says why."""

from __future__ import annotations

from typing import NoReturn

import click

from squidbot.commands.texts import line
from squidbot.core.errors import (
    BudgetError,
    ConfigError,
    DamagedStoreError,
    ModelFileError,
    SquidbotError,
    TranscriptError,
)

__all__ = [
    "ANSWER_IS_NO",
    "BUDGET_IMPOSSIBLE",
    "DAMAGED_DATA",
    "INTERRUPTED",
    "USAGE",
    "complain",
    "exit_code",
    "stop",
]

ANSWER_IS_NO, USAGE, BUDGET_IMPOSSIBLE, DAMAGED_DATA, INTERRUPTED = 1, 2, 3, 4, 130


def complain(text: str) -> None:
    """Print one line on standard error."""
    click.echo(f"squidbot: {line(text)}", err=True)


def stop(text: str, code: int) -> NoReturn:
    """Say why, and end with this exit code."""
    complain(text)
    raise click.exceptions.Exit(code)


def exit_code(error: SquidbotError) -> int:
    """Return the exit code that an error of ours ends with."""
    if isinstance(error, BudgetError):
        return BUDGET_IMPOSSIBLE
    if isinstance(error, ConfigError):
        return USAGE
    return DAMAGED_DATA if isinstance(error, TranscriptError | DamagedStoreError | ModelFileError) else ANSWER_IS_NO
