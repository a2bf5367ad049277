"""Servers that tests of adapters share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a PostgreSQL server of the wheel's, without a pooler in between."""
    from .postgresql import DatabaseServer  # noqa: PLC0415  # optional packages

    server = DatabaseServer(tmp_path_factory.mktemp("pg"))
    yield server.url
    server.close()


@pytest.fixture(scope="session")
def postgresql(request: pytest.FixtureRequest) -> str:
    """Return the address of a PostgreSQL server: one for all tests of a process."""
    from .postgresql import YOURS  # noqa: PLC0415  # optional packages

    return os.environ.get(YOURS) or str(request.getfixturevalue("direct"))
