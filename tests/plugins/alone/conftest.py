"""Hosts that can't be installed beside the others: where they are not, their tests are not read."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec

collect_ignore = [] if find_spec("hermes_cli") else ["test_hermes.py", "test_hermes_family.py", "test_hermes_lists.py"]
# hermes makes itself a home as soon as it is imported, and nobody's own is to be touched.
HOME = tempfile.TemporaryDirectory(prefix="hermes")
if not collect_ignore:
    os.environ["HERMES_HOME"] = HOME.name


def pytest_unconfigure() -> None:
    """Take it away."""
    HOME.cleanup()
