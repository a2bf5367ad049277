"""Servers that tests of adapters share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a PostgreSQL server: one for all tests of a process."""
    from .postgresql import YOURS, DatabaseServer  # noqa: PLC0415  # optional packages

    if os.environ.get(YOURS):
        yield os.environ[YOURS]
        return
    server = DatabaseServer(tmp_path_factory.mktemp("pg"))
    yield server.url
    server.close()
