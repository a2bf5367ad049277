"""Points C16 to C18: what else shortens requests, and why nothing is done, is said once; nobody imports a host."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from squidbot.testing.hosts.listening import listening
from squidbot.testing.hosts.models import Model
from squidbot.testing.hosts.opened import BUDGET, home
from squidbot.testing.hosts.programs import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from squidbot.testing.hosts.programs import Host

__all__ = ["hygienic", "inactive", "rivalled"]


def rivalled(host: Host, folder: Path) -> None:
    """C16: beside each manager of the host's own that shortens what is said, one warning names it."""
    assert host.rivals, "Host.rivals has the host's own managers, or Host.otherwise says why there is none"
    _checks_warnings(host, folder, host.rivals)


def inactive(host: Host, folder: Path) -> None:
    """C17: where squidbot does nothing, one warning says why, however often that happens."""
    assert host.inactive, "Host.inactive has the ways to do nothing, or Host.otherwise says why there is none"
    _checks_warnings(host, folder, host.inactive)


def _checks_warnings(host: Host, folder: Path, acts: Mapping[str, Callable[[Setting], object]]) -> None:
    for number, (word, act) in enumerate(acts.items()):
        with listening() as told:
            act(Setting(home(folder, f"{number}"), Model(None, host.search), BUDGET))
        lines = told.lines
        assert len(lines) == 1, f"one warning says {word!r}: expected one, logged {lines}"
        assert word in lines[0], f"the warning says {word!r}: logged {lines[0]!r}"


def hygienic(host: Host, folder: Path) -> None:
    """C18: squidbot imports no host, and the plugin without its host names what installs both."""
    del folder
    inside = f"[each for each in sys.modules if (each + '.').startswith({host.package + '.'!r})]"
    code = f"import sys, squidbot\nprint({inside})"
    found = _run(host, code)
    assert found.strip() == "[]", f"`import squidbot` imports no host: {found[:200]}"
    missing = _run(host, f"import sys\nsys.modules[{host.package!r}] = None\nimport {host.plugin}")
    wanted = f"[{host.extra}]"
    assert wanted in missing, f"a plugin without its host names its extra, {wanted}: {missing[-300:]}"


def _run(host: Host, code: str) -> str:
    """Return what a new Python prints, what it raises included."""
    roots = [str(host.root)] if host.root is not None else []
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *filter(None, sys.path)])}
    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100, env=told)  # noqa: S603
    return ended.stdout + ended.stderr
