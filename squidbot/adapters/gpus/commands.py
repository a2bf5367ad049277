"""Programs run for what they print: no shell, in the C locale, with a time limit, of bounded output."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.gpus.looks import Unanswered

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Commands", "Printed"]

# What a driver that hangs may cost.
TIMEOUT_SECONDS = 5.0
# 256 GPUs in the most talkative of all forms take a tenth of it.
MOST_BYTES = 1 << 20


class Printed(NamedTuple):
    """What a program printed on both of its outputs, and its exit code."""

    text: str
    code: int

    def first_line(self) -> str:
        """Return the first line that says something, or the exit code: a reason for people."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[0] if lines else f"it printed nothing, exit code {self.code}"


class Commands:
    """Programs on the PATH of an environment; None: this process's own."""

    def __init__(self, environ: Mapping[str, str] | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._environ = os.environ if environ is None else environ
        self._timeout_seconds = timeout_seconds

    def run(self, program: str, *arguments: str) -> Printed:
        """Run a program that is named, or given by its full path, and return what it printed.

        Raises:
            Unanswered: it is not installed, could not be started, did not end in time, or printed more than 1 MiB.
        """
        path = shutil.which(program, path=self._environ.get("PATH", ""))
        if path is None:
            raise Unanswered(f"{os.path.basename(program)} is not installed")  # noqa: PTH119  # a name, no path
        try:
            process = subprocess.Popen(  # noqa: S603  # no shell; the program is one of a few that are named in this room
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**self._environ, "LC_ALL": "C"},
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except (OSError, ValueError) as error:
            raise Unanswered(f"{path} does not start: {error}") from error
        return self._printed(path, process)

    def _printed(self, path: str, process: subprocess.Popen[bytes]) -> Printed:
        """Return what a program prints, or kill it when it takes too long or says too much."""
        told: list[bytes] = []

        def listen() -> None:
            if process.stdout is not None:
                told.append(process.stdout.read(MOST_BYTES + 1))

        listener = threading.Thread(target=listen, name="squidbot-probe", daemon=True)
        listener.start()
        listener.join(self._timeout_seconds)
        try:
            if not told or len(told[0]) > MOST_BYTES:
                late = "did not end within" if not told else "printed too much in"
                raise Unanswered(f"{path} {late} {self._timeout_seconds:g} s")
            code = process.wait(self._timeout_seconds)
        except subprocess.TimeoutExpired as error:
            raise Unanswered(f"{path} did not end within {self._timeout_seconds:g} s") from error
        finally:
            _end(process, listener)
        return Printed(told[0].decode("utf-8", "replace"), code)


def _end(process: subprocess.Popen[bytes], listener: threading.Thread) -> None:
    """See that nothing is left of a program: it may have started others, which hold its output open."""
    if process.poll() is None or listener.is_alive():
        try:
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
        process.wait()
    listener.join(1.0)
    if process.stdout is not None and not listener.is_alive():
        process.stdout.close()
