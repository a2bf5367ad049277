"""NVIDIA's library, compiled once for all tests of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .fakes import compiled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libnvidia-ml of ours, for LD_LIBRARY_PATH."""
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as an old driver has it: the second version of the call for memory is not in it."""
    return compiled(tmp_path_factory.mktemp("old-nvml"), "-DOLD")
