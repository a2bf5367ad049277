"""How the tests run: each property on the same examples everywhere, and what is more than a file on several cores.

Bytecode is kept in __pycache__, whatever the environment wants: the hundreds of processes that tests start would each
compile all that they import.

A property has an eighth of the examples that it says, which are 100 where it says nothing. All of them, as fixed, with
`--hypothesis-profile=deep`; others with `--hypothesis-profile=fresh --hypothesis-seed=1`: what these find becomes an
`@example`.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

try:
    import fcntl
except ImportError:  # Windows has other locks
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.postgresql import FactTenants

# More would spend more in reading the tests, which each of them does, than the last of them is worth.
MOST_WORKERS = 4

# Where files are in memory, a store that syncs each commit costs a third less. Containers often have 64 MiB of it.
MEMORY, LEAST_FREE_BYTES = Path("/dev/shm"), 2 << 30  # noqa: S108  # pytest makes folders of its own in it

# No check of how fast examples are made: on a busy machine it fails what is sound.
settings.register_profile(
    "deep", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fresh", settings.get_profile("deep"), derandomize=False, database=None)
settings.load_profile("deep")

# What tiktoken has cached on this machine is not what others have: no test counts by it but one that makes its own.
os.environ["TIKTOKEN_CACHE_DIR"] = ""

# Hypothesis mixes the constants of all modules that are imported so far into its examples: these would be others for
# each selection of tests, for each worker, and after each change of a number anywhere.
NO_CONSTANTS = Constants()
providers._get_local_constants = lambda: NO_CONSTANTS  # it has no setting for this


def pytest_configure() -> None:
    """Keep bytecode, and files in memory, for child processes, too; collect no garbage until all is imported."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > LEAST_FREE_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
    # The store of this user's coding agents would be the one that commands open where none is named.
    os.environ["XDG_DATA_HOME"] = str(Path(tempfile.gettempdir()) / f"squidbot-tests-no-data-{os.getpid()}")
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the collector look at what tests make alone: to go through all SDKs again took a twentieth of their time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Read a file in one worker after the other: what the first compiles, with all that it imports, the next finds."""
    if not isinstance(collector, pytest.Module) or fcntl is None:
        return (yield)
    with collector.path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take an eighth of each property's examples, and at least two, where no profile is asked for.

    What uses PostgreSQL is marked so before it is chosen by its marks.
    """
    for item in items:
        if (
            "postgresql" in getattr(item, "fixturenames", ())
            or "psycopg" in item.path.name
            or "[postgresql" in item.name
        ):
            item.add_marker("postgresql")
    if config.getoption("--hypothesis-profile") or "PROMISE_EFFORT" in os.environ:
        return
    for test in {getattr(item.obj, "__func__", item.obj) for item in items if isinstance(item, pytest.Function)}:
        whole = getattr(test, "_hypothesis_internal_use_settings", None)
        if whole is not None:
            test._hypothesis_internal_use_settings = settings(whole, max_examples=max(2, whole.max_examples // 8))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes run the tests: this one alone, where only files are asked for."""
    if all(Path(argument.partition("::")[0]).is_file() for argument in config.args):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS) if cores > 1 else 0


@pytest.fixture(scope="session")
def direct() -> str:
    """Return the address of a PostgreSQL server of the wheel's, without a pooler in between."""
    from tests.postgresql import wheels_server  # noqa: PLC0415  # optional packages

    return wheels_server()


@pytest.fixture(scope="session")
def tenants(direct: str) -> FactTenants:
    """Return what opens stores of facts in PostgreSQL, each of a tenant of its own."""
    from tests.postgresql import FactTenants  # noqa: PLC0415  # as above

    return FactTenants(direct)


@pytest.fixture(scope="session")
def postgresql() -> str:
    """Return the address of a PostgreSQL server: one for all tests of a process."""
    from tests.postgresql import address  # noqa: PLC0415  # as above

    return address()
