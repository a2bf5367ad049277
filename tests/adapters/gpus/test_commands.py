"""Programs that are run for what they print: real scripts on a PATH of the test's own."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from squidbot.adapters.common.looks import Unanswered
from squidbot.adapters.gpus import MOST_BYTES, Commands, Printed

from ...listeners import until
from .fakes import program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


def test_run_gives_both_outputs_and_the_code_when_a_program_ends(tmp_path: Path) -> None:
    """Standard output and error in one text, the exit code beside it; arguments pass no shell."""
    program(tmp_path, "asks", "text\n", 9, before='echo "$1" >&2; echo "$LC_ALL" >&2')
    environ = {"PATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"}
    assert Commands(environ).run("asks", "$(id); *") == Printed("$(id); *\nC\ntext\n", 9)


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


@pytest.mark.parametrize("before", ["exec /bin/sleep 30", "/bin/sleep 30 &", "trap '' TERM; /bin/sleep 30"])
def test_run_ends_the_program_when_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """The time limit holds for those that it started, too: nobody is left who holds its output."""
    program(tmp_path, "slow", "", before=before)
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401  # as that takes them
        started.append(popen(*args, **kwargs))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    began = time.monotonic()
    with pytest.raises(Unanswered, match=r"slow did not end within 0\.3 s"):
        Commands({"PATH": str(tmp_path)}, 0.3).run("slow")
    assert time.monotonic() - began < 20
    assert until(lambda: not living(started[0].pid))


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
        Commands({"PATH": str(tmp_path)}).run("endless")
    program(tmp_path, "most", b"y" * MOST_BYTES)
    assert len(Commands({"PATH": str(tmp_path)}).run("most").text) == MOST_BYTES


def test_first_line_says_something_when_there_is_an_output() -> None:
    """Empty lines are passed over; without any line there is the code."""
    assert Printed("\n  \n No devices were found \nmore", 6).first_line() == "No devices were found"
    assert Printed(" \n", 6).first_line() == "it printed nothing, exit code 6"
