"""Processes that are killed in the midst of a turn."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts.models import FACT, Model
from squidbot.testing.hosts.opened import BUDGET, Opened
from squidbot.testing.hosts.programs import Setting
from squidbot.testing.hosts.values import Call, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.testing.hosts.programs import Host

__all__ = ["KILLED", "SCENES", "die", "killed", "main"]

# By what a child ends that is killed where it should be: no clean-up of Python's runs.
KILLED: Final = 9
MOST_SECONDS: Final = 300
_CODE: Final = "import sys; from squidbot.testing.hosts import main; main(*sys.argv[1:])"


def killed(host: Host, scenes: Mapping[str, Path], budget: int = BUDGET) -> dict[str, int]:
    """Play scenes at once, each in a process of its own on a file of its own, and return how they ended."""
    roots = [str(host.root)] if host.root is not None else []
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *filter(None, sys.path)])}
    started = {}
    for scene, path in scenes.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-c", _CODE, host.origin, str(path), scene, str(budget)]
        started[scene] = subprocess.Popen(words, env=told)  # noqa: S603  # this Python, and what is named here
    return {scene: process.wait(MOST_SECONDS) for scene, process in started.items()}


def main(origin: str, path: str, scene: str, budget: str) -> None:
    """Be the process: make the host's program and play a scene in it."""
    module, _, name = origin.partition(":")
    host: Host = getattr(import_module(module), name)
    SCENES[scene](Opened(host, Setting(Path(path), Model(int(budget), host.search), int(budget))))


def die(code: int = KILLED) -> str:
    """End this process as a killed one ends."""
    os._exit(code)


def _in_a_tool(run: Opened) -> None:
    """Be killed between a call and its result."""
    run.say(FACT)
    run.model.looks = lambda _at: die()
    run.scripted(_one_look)
    run.say("Look!")


def _before_an_answer(run: Opened) -> None:
    """Be killed between a result and the answer."""
    run.say(FACT)
    run.scripted(lambda heard: _one_look(heard) or Step(die()))
    run.say("Look!")


def _one_look(heard: object) -> Step | None:
    return Step(calls=(Call("look", {"at": 1}, "c1"),)) if getattr(heard, "number", 0) == 1 else None


SCENES: Final[dict[str, Callable[[Opened], None]]] = {
    "killed in a tool": _in_a_tool,
    "killed before an answer": _before_an_answer,
}
