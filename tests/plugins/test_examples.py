"""The example of each host runs offline, twice, and squidbot has what was said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import squidbot
from squidbot.commands.reading.hosts import HOSTS

EXAMPLES = Path(__file__).parents[2] / "examples"
# Those of hosts that have an environment of their own are run there.
ALONE = {"hermes"}
HERE = sorted({host.module for host in HOSTS} - ALONE)
# What an example wants done before, as it says.
BEFORE = {"llm": ["-m", "llm", "squidbot", "on", "--store", "squid.db"]}
MOST_LINES = 30
CONVERSATION = "harbour"


def run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, and return what it prints."""
    # The program squidbot is the one of this environment.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    env = {**os.environ, "LLM_USER_PATH": str(folder), "PATH": path}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_host_has_an_example() -> None:
    """None is longer than what is read at a glance."""
    examples = {path.stem.removeprefix("in_"): path for path in EXAMPLES.glob("in_*.py")}
    assert {*examples} == {host.module for host in HOSTS}
    for path in examples.values():
        assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES, path.name


@pytest.mark.parametrize("host", HERE)
def test_an_example_runs_and_goes_on(host: str, tmp_path: Path) -> None:
    """The second run goes on with what the first has said; a client of MCP records it once."""
    if host in BEFORE:
        run(tmp_path, *BEFORE[host])
    told = [run(tmp_path, str(EXAMPLES / f"in_{host}.py")) for _ in range(2)]
    assert all(told)
    with squidbot.load({"store": {"path": str(tmp_path / "squid.db")}}) as engine:
        sessions: list[tuple[str, int]] = engine.wired.store.sessions()  # type: ignore[attr-defined]  # SQLite's
        said = [engine.wired.store.read(name, 0, 0)[0].payload for name, _ in sessions]
    assert all("Heron" in each for each in said)
    if host == "mcp":
        assert sessions == [(CONVERSATION, 1)]
        assert "Heron" in told[1].rpartition("not")[2]
    elif host != "llm":  # whose conversations have ids of their own
        assert sessions == [(CONVERSATION, 8)]
