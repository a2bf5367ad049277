"""The example of each host runs offline, twice, and squidbot has what was said."""

from __future__ import annotations

import asyncio
import os
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from llm.plugins import pm

import squidbot
from squidbot.cli.status import HOSTS
from squidbot.plugins.mcp import Squidbot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"
# Those of hosts that have an environment of their own are run there.
ALONE = {"hermes"}
HERE = sorted({host.module for host in HOSTS} - ALONE)
# What an example wants done before, as it says.
BEFORE = {"llm": ["-m", "llm", "squidbot", "on", "--store", "squid.db"]}
MOST_LINES = 30
CONVERSATION = "harbour"


def run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, in a process of its own, and return what it prints."""
    # The program squidbot is the one of this environment.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    env = {**os.environ, "LLM_USER_PATH": str(folder), "PATH": path}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Run Python in the same folder and in this process, which has imported the hosts for other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), os.pathsep)
    loop = asyncio.new_event_loop()  # hosts that run something synchronously leave theirs open
    asyncio.set_event_loop(loop)
    known = pm.get_plugins()
    # The client, and what it asks, without the process between them: tests of the plugin start that.
    monkeypatch.setattr("mcp.StdioServerParameters", lambda args, **_: Squidbot(args[-1]).server)

    def run_here(_: Path, *arguments: str) -> str:
        out = StringIO()
        with redirect_stdout(out):
            if arguments[0] == "-m":
                monkeypatch.setattr(sys, "argv", list(arguments[1:]))
                with pytest.raises(SystemExit, match=r"^0$"):
                    runpy.run_module(arguments[1], run_name="__main__")
            else:
                runpy.run_path(arguments[0], run_name=Path(arguments[0]).stem)
        for plugin in pm.get_plugins() - known:
            pm.unregister(plugin)
        return out.getvalue()

    yield run_here
    asyncio.set_event_loop(None)
    loop.close()


def test_every_host_has_an_example() -> None:
    """None is longer than what is read at a glance."""
    examples = {path.stem.removeprefix("in_"): path for path in EXAMPLES.glob("in_*.py")}
    assert {*examples} == {host.module for host in HOSTS}
    for path in examples.values():
        assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES, path.name


@pytest.mark.slow
@pytest.mark.parametrize("host", HERE)
def test_an_example_runs_and_goes_on_in_another_process(host: str, tmp_path: Path) -> None:
    """As it says how to run it."""
    check_goes_on(host, tmp_path, run)


@pytest.mark.parametrize("host", HERE)
def test_an_example_runs_and_goes_on(host: str, tmp_path: Path, run_here: Callable[..., str]) -> None:
    """What an agent that was made anew goes on with is in the store."""
    check_goes_on(host, tmp_path, run_here)


def check_goes_on(host: str, folder: Path, run: Callable[..., str]) -> None:
    """Check that the second run goes on with what the first has said; a client of MCP records it once."""
    if host in BEFORE:
        run(folder, *BEFORE[host])
    told = [run(folder, str(EXAMPLES / f"in_{host}.py")) for _ in range(2)]
    assert all(told)
    with squidbot.load({"store": {"path": str(folder / "squid.db")}}) as engine:
        sessions: list[tuple[str, int]] = engine.wired.store.sessions()  # type: ignore[attr-defined]  # SQLite's
        said = [engine.wired.store.read(name, 0, 0)[0].payload for name, _ in sessions]
    assert all("Heron" in each for each in said)
    if host == "mcp":
        assert sessions == [(CONVERSATION, 1)]
        assert "Heron" in told[1].rpartition("not")[2]
    elif host != "llm":  # whose conversations have ids of their own
        assert sessions == [(CONVERSATION, 8)]
