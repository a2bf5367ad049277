"""The points of the check of hosts, as parameters: the long one is for .ci/run; the toy host's is always run."""

from __future__ import annotations

from typing import Final

import pytest

from squidbot.testing import HOST_CHECKS

__all__ = ["POINTS"]

LONG: Final = "300 steps"
POINTS: Final = [pytest.param(point, marks=pytest.mark.slow) if point == LONG else point for point in HOST_CHECKS]
