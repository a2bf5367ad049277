"""Programs that are run for what they print: real scripts on a PATH of the test's own."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from squidbot.adapters.common.looks import Unanswered
from squidbot.adapters.gpus import MOST_BYTES, Commands, Printed

from .fakes import PATIENCE_SECONDS, program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


def test_run_gives_both_outputs_and_the_code_when_a_program_ends(tmp_path: Path) -> None:
    """Standard output and error in one text, the exit code beside it; arguments pass no shell."""
    program(tmp_path, "asks", "text\n", 9, before='echo "$1" >&2; echo "$LC_ALL" >&2')
    environ = {"PATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"}
    assert Commands(environ, PATIENCE_SECONDS).run("asks", "$(id); *") == Printed("$(id); *\nC\ntext\n", 9)


def test_run_is_refused_when_a_program_is_not_on_the_path(tmp_path: Path) -> None:
    """Nothing is started; the name is in the reason. What is no program does not start."""
    for environ in ({"PATH": str(tmp_path)}, {}):
        with pytest.raises(Unanswered, match=r"^nvidia-smi is not installed$"):
            Commands(environ).run("nvidia-smi")
    script = tmp_path / "broken"
    script.write_bytes(b"\x7fELF nothing")
    script.chmod(0o755)
    with pytest.raises(Unanswered, match=r"cannot start .*broken"):
        Commands({"PATH": str(tmp_path)}).run("broken")


@pytest.mark.parametrize("before", ["exec /bin/sleep 300", "/bin/sleep 300 &", "trap '' TERM; /bin/sleep 300"])
def test_run_ends_the_program_when_it_takes_too_long(tmp_path: Path, before: str) -> None:
    """The time limit holds for those that it started, too: nobody is left who holds its output."""
    said = tmp_path / "pid"
    program(tmp_path, "slow", "", before=f"echo $$ > {said}\n{before}")
    start = time.monotonic()
    for seconds in (0.3, 3.0, 30.0):  # where a machine has much to do, a program may not even have begun
        with pytest.raises(Unanswered, match=rf"slow did not end within {seconds:g} s"):
            Commands({"PATH": str(tmp_path)}, seconds).run("slow")
        if said.exists() and said.read_text(encoding="utf-8").endswith("\n"):
            break
    assert time.monotonic() - start < 100
    group = int(said.read_text(encoding="utf-8"))
    deadline = time.monotonic() + 60
    while living(group) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert living(group) == []


def living(group: int) -> list[str]:
    """Return what still runs of a group of processes; the dead whom nobody has waited for run no more."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, member, *_ = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            found += [state] if int(member) == group and state != "Z" else []
    return found


def test_run_ends_the_program_when_it_never_stops_printing(tmp_path: Path) -> None:
    """An output of more than 1 MiB is no answer; one of exactly that is."""
    program(tmp_path, "endless", "", before="while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
    with pytest.raises(Unanswered, match="printed too much"):
        Commands({"PATH": str(tmp_path)}, PATIENCE_SECONDS).run("endless")
    program(tmp_path, "most", b"y" * MOST_BYTES)
    assert len(Commands({"PATH": str(tmp_path)}, PATIENCE_SECONDS).run("most").text) == MOST_BYTES


def test_first_line_says_something_when_there_is_an_output() -> None:
    """Empty lines are passed over; without any line there is the code."""
    assert Printed("\n  \n No devices were found \nmore", 6).first_line() == "No devices were found"
    assert Printed(" \n", 6).first_line() == "it printed nothing, exit code 6"
