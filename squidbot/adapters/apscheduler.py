"""A timer over APScheduler 3 for periodic jobs."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ApschedulerTimer"]


class ApschedulerTimer:
    """Calls a function at an interval, with its own scheduler, which ends with `stop`.

    The function should return at once: at exit the process waits for an executor's running work.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._scheduler: BackgroundScheduler | None = None

    def start(self, work: Callable[[], object], interval_seconds: float) -> None:
        """Call `work` every `interval_seconds` in a thread of the scheduler, until `stop`.

        Calls missed during the machine's sleep become one; no two run at once.
        """
        self.stop()
        # Intervals need no local time, and asking for it fails on a machine without a time zone.
        scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(1)}, timezone=UTC, daemon=True)
        scheduler.add_job(
            work, "interval", seconds=interval_seconds, id="squidbot-jobs",
            coalesce=True, max_instances=1, misfire_grace_time=None,
        )  # fmt: skip
        scheduler.start()
        self._scheduler = scheduler

    def stop(self) -> None:
        """End the scheduler and its threads; do nothing if it was not started."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.shutdown(wait=True)
