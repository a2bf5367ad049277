"""Hosts whose pins exclude the others: their tests run in an environment of their own, and are started from here."""

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


@pytest.mark.slow
@pytest.mark.parametrize("which", ["not slow", "slow"])
@pytest.mark.parametrize("group", OWN)
def test_a_host_passes_its_tests_in_an_environment_of_its_own(group: str, which: str) -> None:
    """It is made by uv, away from the tree, with the host and what tests it; nothing of it is skipped."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv makes the environment: start the tests by `uv run pytest`")
    made = [uv, "run", "--isolated", "--no-default-groups", "--group", group]
    command = [*made, "pytest", "-m", f"{group} and {which}", OWN[group]]
    told = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}
    # The cache of pytest is this run's.
    ended = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider", "--show-capture=no"],
        cwd=ROOT,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout
    assert "skipped" not in ended.stdout
