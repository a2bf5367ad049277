"""On a terminal of 100 columns nothing is wider than it and colours show; in a pipe and a file there are none."""

from __future__ import annotations

import contextlib
import json
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
    ["session", "list"],
    ["session", "show", "support/42", "--limit", "6"],
    ["session", "show", "support/42", "m14"],
    ["session", "show", "support/42", "--request"],
    ["session", "show", "对话"],
    ["session", "explain", "support/42"],
    ["session", "explain", "support/42", "m14"],
    ["session", "log", "support/42", "--last", "3"],
    ["session", "recall", "support/42", "m3"],
    ["session", "search", "support/42", "limit"],
    ["session", "snapshots", "support/42"],
    ["store", "doctor"],
]


# Each of several commands in one process, which is what takes the time; a page break behind each.
EACH = """
import json, sys
from squidbot.cli import main
for arguments in json.loads(sys.argv[1]):
    assert not main(arguments, prog_name="squidbot", standalone_mode=False)
    print(end="\\f")
"""


def on_a_terminal(folder: Path, commands: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Run commands with a terminal for their output, and return what each leaves there."""
    pty = pytest.importorskip("pty")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    names = {"PATH", "HOME", "PYTHONPATH", "LANG", "LC_ALL"}
    environment = {name: value for name, value in os.environ.items() if name in names} | {"TERM": "xterm-256color"}
    environment |= {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", EACH, json.dumps(commands)]
    running = subprocess.Popen(command, stdout=side, stderr=side, cwd=folder, env=environment)
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error on Linux
        while chunk := os.read(terminal, 65_536):
            seen += chunk
    os.close(terminal)
    assert running.wait(20) == 0
    *screens, rest = seen.decode().split("\f")
    assert (len(screens), rest) == (len(commands), "")
    return screens


@pytest.fixture(scope="module")
def screens(made: Path) -> dict[str, str]:
    """What a terminal shows of the first commands."""
    return dict(zip(map(" ".join, COMMANDS[:8]), on_a_terminal(made, COMMANDS[:8], COLUMNS), strict=True))


@pytest.mark.parametrize("arguments", COMMANDS[:8], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(screens: dict[str, str], arguments: list[str]) -> None:
    """Wide characters count double; what is emphasised is so by escapes."""
    seen = screens[" ".join(arguments)]
    lines = [ESCAPES.sub("", line) for line in seen.replace("\r\n", "\n").split("\n")]
    assert max(map(cell_len, lines)) <= COLUMNS
    assert ESCAPES.search(seen)
    assert "\x1b" not in ESCAPES.sub("", seen)


def test_narrow_terminal_is_enough(made: Path) -> None:
    """Tables fold."""
    for seen in on_a_terminal(
        made, [["session", "list"], ["session", "explain", "support/42"], ["session", "log", "support/42"]], 60
    ):
        lines = ESCAPES.sub("", seen).replace("\r\n", "\n").split("\n")
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
    arguments = ["session", "show", "support/42", "--request"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", "from squidbot.cli import main; main(prog_name='squidbot')", *arguments]
    ran = subprocess.run(command, capture_output=True, check=True, cwd=made, env=environment)
    assert ran.stdout.decode() == run(*arguments).output
    assert ran.stderr == b""
