"""What all tests of plugins have."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.plugins.host import HostRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def all_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a test leaves open, as a program's end does: where a person is known, a thread reads for facts."""
    made: list[HostRuntime] = []
    begin = HostRuntime.__init__

    @wraps(begin)
    def noted(self: HostRuntime, *given: Any, **named: Any) -> None:  # noqa: ANN401  # its own
        begin(self, *given, **named)
        made.append(self)

    monkeypatch.setattr(HostRuntime, "__init__", noted)
    yield
    for each in made:
        each.close()
