"""A timer over APScheduler 3: it says when the periodic jobs are due, and does none of them itself."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ApschedulerTimer"]


class ApschedulerTimer:
    """Calls something at an interval, by a scheduler of its own, which is gone when it is stopped.

    What is called should return at once: the process waits at its end for what an executor still runs, which is why a
    language model, which may hang, is asked elsewhere.
    """

    def __init__(self) -> None:
        """Begin nothing yet."""
        self._scheduler: BackgroundScheduler | None = None

    def start(self, work: Callable[[], object], interval_seconds: float) -> None:
        """Begin to call `work` each `interval_seconds`, in a thread of the scheduler's, until `stop`.

        Calls that were missed, while the machine slept, come as one; no two run at once.
        """
        self.stop()
        # Intervals need no local time, and where the machine does not tell its own, asking for it fails.
        made = BackgroundScheduler(executors={"default": ThreadPoolExecutor(1)}, timezone=UTC, daemon=True)
        made.add_job(
            work, "interval", seconds=interval_seconds, id="squidbot-jobs",
            coalesce=True, max_instances=1, misfire_grace_time=None,
        )  # fmt: skip
        made.start()
        self._scheduler = made

    def stop(self) -> None:
        """End it, and its threads; stopping one that was not started does nothing."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.shutdown(wait=True)
