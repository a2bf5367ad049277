"""The points of the check of hosts, as parameters: the long ones are for .ci/run; the toy host's is always run."""

from __future__ import annotations

from typing import Final

import pytest

from squidbot.testing import HOST_CHECKS

__all__ = ["POINTS"]

# Each host's example is run by two processes, one after the other, in any run.
LONG: Final = ("300 steps", "C1 restart")
POINTS: Final = [pytest.param(point, marks=pytest.mark.slow) if point in LONG else point for point in HOST_CHECKS]
