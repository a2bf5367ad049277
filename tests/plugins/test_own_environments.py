"""Tests that run in environments of their own: hosts whose pins exclude the others, and the oldest versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What tells of the environment that this runs in, and of this run.
OF_THIS_RUN = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTHONPATH", "VIRTUAL_ENV")
# By uv's group of packages, which is the mark, too: where its tests are.
OWN = {"hermes": "tests/plugins/alone"}
# The oldest versions that pyproject.toml allows, and tests that need little else.
OLDEST = {"langchain": "1.4", "langgraph": "1.2.11", "mcp": "2.1"}
TESTS_OF_OLDEST = [
    f"tests/plugins/test_{name}.py" for name in ("langchain_agents", "langchain_lists", "langchain_rivals", "mcp")
]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["not slow", "slow"])
@pytest.mark.parametrize("group", OWN)
def test_a_host_passes_its_tests_in_an_environment_of_its_own(group: str, which: str) -> None:
    """It is made by uv, away from the tree, with the host and what tests it; nothing of it is skipped."""
    ended = run_in(["--no-default-groups", "--group", group], ["-m", f"{group} and {which}", OWN[group]])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout


@pytest.mark.slow
def test_the_oldest_versions_that_an_extra_allows_pass_their_tests() -> None:
    """Those that reach into a package: another version of it may keep it elsewhere."""
    oldest = [each for name, version in OLDEST.items() for each in ("--with", f"{name}=={version}")]
    ended = run_in(oldest, TESTS_OF_OLDEST)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    extras = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f'"{name}>={version}"' in extras for name, version in OLDEST.items())


def run_in(made: list[str], told_pytest: list[str]) -> subprocess.CompletedProcess[str]:
    """Run tests in an environment that uv makes; without uv this is skipped."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv makes the environment: start the tests by `uv run pytest`")
    told = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}
    # The cache of pytest is this run's.
    return subprocess.run(
        [uv, "run", "--isolated", *made, "pytest", *told_pytest, "-q", "-p", "no:cacheprovider", "--show-capture=no"],
        cwd=ROOT,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
