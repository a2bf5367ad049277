"""On a terminal of 100 columns nothing is wider than it and colours show; in a pipe and a file there are none."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from click.testing import Result

COLUMNS = 100
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [
    ["sessions"],
    ["show", "support/42", "--limit", "6"],
    ["show", "support/42", "m14"],
    ["show", "support/42", "--request"],
    ["show", "对话"],
    ["explain", "support/42"],
    ["explain", "support/42", "m14"],
    ["log", "support/42", "--last", "3"],
    ["recall", "support/42", "m3"],
    ["search", "support/42", "limit"],
    ["snapshots", "support/42"],
    ["doctor"],
]


def command(arguments: Sequence[str]) -> list[str]:
    """Return the command line as a process of its own."""
    return [sys.executable, "-c", "from squidbot.cli import main; main(prog_name='squidbot')", *arguments]


def on_a_terminal(folder: Path, arguments: Sequence[str], columns: int) -> str:
    """Run a command with a terminal for its output, and return what stands there."""
    pty = pytest.importorskip("pty")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    names = {"PATH", "HOME", "PYTHONPATH", "LANG", "LC_ALL"}
    environment = {name: value for name, value in os.environ.items() if name in names} | {"TERM": "xterm-256color"}
    environment |= {"PYTHONIOENCODING": "utf-8"}
    running = subprocess.Popen(command(arguments), stdout=side, stderr=side, cwd=folder, env=environment)
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while chunk := os.read(terminal, 65_536):
            seen += chunk
    os.close(terminal)
    assert running.wait(20) == 0
    return seen.decode()


@pytest.mark.parametrize("arguments", COMMANDS[:8], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(made: Path, arguments: list[str]) -> None:
    """Wide characters count double; what is emphasised is so by escapes."""
    seen = on_a_terminal(made, arguments, COLUMNS)
    lines = [ESCAPES.sub("", line) for line in seen.replace("\r\n", "\n").split("\n")]
    assert max(map(cell_len, lines)) <= COLUMNS
    assert ESCAPES.search(seen)
    assert "\x1b" not in ESCAPES.sub("", seen)


def test_narrow_terminal_is_enough(made: Path) -> None:
    """Tables fold."""
    for arguments in (["sessions"], ["explain", "support/42"], ["log", "support/42"]):
        lines = ESCAPES.sub("", on_a_terminal(made, arguments, 60)).replace("\r\n", "\n").split("\n")
        assert max(map(cell_len, lines)) <= 60


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_output_that_is_no_terminal_is_plain(run: Callable[..., Result], arguments: list[str]) -> None:
    """No escape, no blanks at the ends of lines, at most 100 columns."""
    result = run(*arguments)
    assert result.exit_code == 0
    lines = result.output.split("\n")
    assert "\x1b" not in result.output
    assert all(line == line.rstrip() for line in lines)
    assert max(map(cell_len, lines)) <= COLUMNS


def test_output_in_a_pipe_is_what_it_is_elsewhere(made: Path, run: Callable[..., Result]) -> None:
    """A process of its own, whose output somebody reads: no escape, and nothing on standard error."""
    arguments = ["show", "support/42", "--request"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(command(arguments), capture_output=True, check=True, cwd=made, env=environment)
    assert ran.stdout.decode() == run(*arguments).output
    assert ran.stderr == b""
