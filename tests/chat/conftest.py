"""A folder with settings whose model is scripted, and `squidbot chat` in a process of its own, on a terminal or not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from squidbot.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from squidbot.cli import main; main(prog_name='squidbot')", "chat"]
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")
# What a terminal is told where something can be typed: to mark what is pasted.
TYPING = "\x1b[?2004h"
SETTINGS = """
[store]
path = "kept.db"

[models.robot]
adapter = "scripted"
context_window = 8192
"""


def folder_in(place: Path) -> Path:
    """Make a folder with settings, and beside it a distribution that brings the scripted model."""
    made = place / "lib" / "scripted_chat-1.0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-chat\nVersion: 1.0\n", encoding="utf-8")
    (made / "entry_points.txt").write_text("[squidbot]\nscripted = scripted_chat:extension\n", encoding="utf-8")
    shutil.copy(Path(__file__).with_name("scripted.py"), place / "lib" / "scripted_chat.py")
    work = place / "work"
    work.mkdir()
    (work / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    return work


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of a process that has nothing of this one's home."""
    names = {"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH"}
    kept = {name: value for name, value in os.environ.items() if name in names}
    paths = os.pathsep.join([str(ROOT), str(folder.parent / "lib"), os.environ.get("PYTHONPATH", "")])
    home = {"HOME": str(folder.parent), "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    return kept | home | {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with settings, and beside it a distribution that brings the scripted model."""
    return folder_in(tmp_path)


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    """The environment of a process that has nothing of this one's home."""
    return environment_of(folder)


@pytest.fixture
def run(
    folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run it in the folder, with standard input: in this process, which has imported all that it needs."""
    monkeypatch.chdir(folder)
    for name in set(os.environ) - {*environment, "PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(folder.parent / "lib"))
    monkeypatch.delitem(sys.modules, "scripted_chat", raising=False)

    def called(*arguments: str, given: str = "", command: str = "chat") -> subprocess.CompletedProcess[str]:
        line = [*command.split(), *arguments]
        done = CliRunner().invoke(main, line, input=given, env=environment, prog_name="squidbot")
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    return called


class Terminal:
    """`squidbot chat` on a terminal, as somebody drives it who waits for what is to be seen."""

    def __init__(self, spawned: Any) -> None:  # noqa: ANN401  # pexpect brings no types
        self.spawned = spawned
        self.wait("/help lists the commands")

    def type(self, text: str) -> None:
        """Type it, with Enter, as soon as something can be typed."""
        self.spawned.expect_exact(TYPING)
        self.spawned.send(f"{text}\r")

    def wait(self, text: str) -> str:
        """Wait until a text is seen, and return what was seen up to it, as plain text."""
        self.spawned.expect_exact(text)
        return ESCAPES.sub("", self.spawned.before).replace("\r", "") + text

    def say(self, text: str, until: str = " tokens (") -> str:
        """Say something, and return what is seen until the turn has ended: until its cost, or something else."""
        self.type(text)
        return self.wait(until)

    def end(self) -> str:
        """Type Ctrl-D, and return what is seen until the process has ended well."""
        import pexpect  # noqa: PLC0415  # what makes this has imported it

        self.spawned.expect_exact(TYPING)
        self.spawned.sendeof()
        self.spawned.expect(pexpect.EOF)
        seen = ESCAPES.sub("", self.spawned.before)
        self.spawned.close()
        assert self.spawned.exitstatus == 0, seen
        return seen


@pytest.fixture
def terminal(folder: Path, environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Start `squidbot chat` on a terminal of 80 columns; all are gone behind the test."""
    pexpect = pytest.importorskip("pexpect")
    pytest.importorskip("prompt_toolkit")
    started: list[Any] = []

    def start(*arguments: str, columns: int = 80, **more: str) -> Terminal:
        spawned = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], *arguments],
            cwd=folder,
            env=environment | more,
            dimensions=(40, columns),
            timeout=30,
            encoding="utf-8",
        )
        started.append(spawned)
        return Terminal(spawned)

    yield start
    for spawned in started:
        spawned.close(force=True)
