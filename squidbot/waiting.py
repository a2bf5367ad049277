"""Time that passes: what the core can't do itself."""

from __future__ import annotations

import random
import time

__all__ = ["wait"]


def wait(most_seconds: float) -> float:
    """Wait for a random part of so many seconds, and return the time in seconds, by a clock that is never set back.

    Random, so that those who wait for the same do not come again at the same time.
    """
    if most_seconds > 0:
        time.sleep(random.uniform(0, most_seconds))  # noqa: S311  # no secret
    return time.monotonic()
