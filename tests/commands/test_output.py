"""What commands print: within the terminal's width, and nothing that a terminal obeys."""

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
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from squidbot.cli.printer import Printer
from squidbot.cli.texts import ago, clock, count, event_line, line, lines, seqs, short_ago, shorter, span
from squidbot.core.plan import FirstChanged, PlanRecord, Price

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from click.testing import Result


# -- on a terminal of 100 columns nothing is wider than it and colours show; in a pipe and a file there are none ------

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
    assert running.wait(60) == 0
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


# -- small texts for people: nothing that a terminal would obey, nothing longer than it may be ------------------------

NOW = 1_760_000_000.0


@given(st.text(), st.integers(1, 60))
def test_shorter_is_one_printable_line_of_at_most_so_many_characters(text: str, chars: int) -> None:
    """Whatever the text; what is short enough comes out whole, with single spaces."""
    made = shorter(text, chars)
    assert len(made) <= chars
    assert made.isprintable()
    if made and made != "…" and not made.endswith("…"):
        assert made == line(" ".join(text.split())) or len(text) > 4 * chars


@given(st.text())
def test_lines_obey_no_text(text: str) -> None:
    """No escape, no bell, no line break inside a line; all that can be seen is there."""
    made = lines(text)
    assert all(one.isprintable() for one in made)
    assert sum(map(len, made)) >= sum(char.isprintable() for char in text)


def test_shorter_looks_at_no_more_than_it_needs() -> None:
    """A megabyte of blanks is no reason to wait, and is marked as more."""
    assert shorter("a" + " " * 10_000_000 + "b", 20) == "a…"


@pytest.mark.parametrize(
    ("time", "told"),
    [
        (NOW - 3, "just now"),
        (NOW - 61, "1 minute ago"),
        (NOW - 7_300, "2 hours ago"),
        (NOW - 3 * 86_400, "3 days ago"),
        (NOW - 800 * 86_400, "2 years ago"),
        (NOW + 5, "-"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_ago_tells_distances_in_one_unit(time: float | None, told: str) -> None:
    """What is not known, or has not been, is a dash."""
    assert ago(time, NOW) == told


def test_clock_is_utc_and_knows_what_is_no_time() -> None:
    """Also where the calendar ends."""
    assert clock(NOW) == "2025-10-09 08:53:20 UTC"
    assert clock(None) == clock(1e300) == clock(float("inf")) == "-"


def test_ids_and_counts_read_as_words() -> None:
    """One is one, a run is a run, many are the first and how many more."""
    assert (span(3, 3), span(3, 9)) == ("m3", "m3-m9")
    assert (count(1, "message"), count(1_200, "message")) == ("1 message", "1,200 messages")
    assert seqs([1, 2, 3], 3) == "m1 m2 m3"
    assert seqs([1, 2, 3, 4, 5], 3) == "m1 m2 m3 and 2 more"


# -- an event as one sentence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (Price(3450.0, 600.0, 0.0, 5.75), "; costs 3,450 input tokens, worth it after 6 requests"),
        (
            Price(3450.0, 600.0, 1000.0, 7.4),
            "; costs 4,450 input tokens (1,000 for summaries), worth it after 8 requests",
        ),
        (Price(0.0, 600.0, 1000.0, 1.6), "; costs 1,000 input tokens (1,000 for summaries), worth it after 2 requests"),
        (Price(3000.0, 0.0, 0.0, None), "; costs 3,000 input tokens, not repaid by smaller requests"),
        (Price(0.0, 600.0, 0.0, 0.0), ""),
        (None, ""),
    ],
)
def test_event_line_says_what_an_event_costs(price: Price | None, said: str) -> None:
    """What is written anew and the summaries together; nothing where it costs nothing."""
    plan = PlanRecord(
        3,
        2,
        "l",
        None,
        "high-water",
        tokens_before=900,
        tokens_after=300,
        first_changed=FirstChanged(1, 4, 88),
        price=price,
    )
    sizes = "900 -> 300 tokens as counted, with system text and tools, 88 in front unchanged"
    assert event_line(plan) == f"plan 3, high-water: {sizes}{said}"


def test_a_cell_breaks_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    """However narrow the page: a plan is no "high-wat / er"."""
    out = Printer()
    name = "a-session-with-a-name-of-its-own-" * 2
    out.table([{"session": name, "newest": "21 hours ago", "plan": "3 high-water", "model": "m"}], whole="session")
    out.print()
    words = capsys.readouterr().out.split()
    assert {"hours", "high-water", "newest"} <= {*words}


def test_a_short_age_has_short_units() -> None:
    """For columns; words for people keep theirs."""
    assert [short_ago(NOW - seconds, NOW) for seconds in (1, 61, 7200, 90_000)] == [
        "just now",
        "1 min ago",
        "2 h ago",
        "1 day ago",
    ]
