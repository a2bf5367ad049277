"""What tests of the core begin with."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore


@pytest.fixture
def store() -> InMemoryStore:
    """An empty store in memory."""
    return InMemoryStore()
