"""The points of the check of hosts, as parameters: the long ones are for .ci/run, but two of a toy host's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from squidbot.testing import HOST_CHECKS

if TYPE_CHECKING:
    from squidbot.testing.hosts import HostDriver

__all__ = ["points_of"]

# Each host's example is run twice, one run after the other, and meets one bug of ours, in any run.
LONG: Final = frozenset({"300 steps", "C1 restart", "C8 fail open"})
# Where a host that is set up in another way may go another way of the plugin's.
OTHERWISE: Final = frozenset({"C4 append-only", "C6 stream", "C9 failed or cancelled run", "C12 non-destructive"})


def points_of(**hosts: HostDriver) -> list[Any]:
    """Return a host with each point, set up in one way or several: the first at all in any run, others at some."""
    in_any_run = [HOST_CHECKS.keys() - LONG, *[OTHERWISE] * (len(hosts) - 1)]
    return [
        pytest.param(host, point, id=f"{name}-{point}", marks=[] if point in often else [pytest.mark.slow])
        for (name, host), often in zip(hosts.items(), in_any_run, strict=True)
        for point in HOST_CHECKS
    ]
