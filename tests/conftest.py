"""How the tests run: each property on the same examples everywhere, and what is more than a file on several cores.

A property that does not say otherwise has 25 examples; with `--hypothesis-profile=deep` 100, as fixed; with
`--hypothesis-profile=fresh --hypothesis-seed=1` 100 new ones: what these find becomes an `@example`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

if TYPE_CHECKING:
    import pytest

# More would spend more in reading the tests, which each of them does, than the last of them is worth.
MOST_WORKERS = 4

# No check of how fast examples are made: on a busy machine it fails what is sound.
settings.register_profile(
    "deep", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fixed", settings.get_profile("deep"), max_examples=25)
settings.register_profile("fresh", settings.get_profile("deep"), derandomize=False, database=None)
settings.load_profile("fixed")

# Hypothesis mixes the constants of all modules that are imported so far into its examples: these would be others for
# each selection of tests, for each worker, and after each change of a number anywhere.
NO_CONSTANTS = Constants()
providers._get_local_constants = lambda: NO_CONSTANTS  # it has no setting for this


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes run the tests: this one alone, where only files are asked for."""
    if all(Path(argument.partition("::")[0]).is_file() for argument in config.args):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS) if cores > 1 else 0
