"""CPU and wall times of what is called, and their quantiles."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Times", "median", "quantile"]

Value = TypeVar("Value")


@dataclass(slots=True)
class Times:
    """What calls of one kind took, in seconds: CPU of this process, and wall."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def of(self, call: Callable[[], Value]) -> Value:
        """Call, note what it took, and return what it returned."""
        wall, cpu = time.perf_counter(), time.process_time()
        value = call()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)
        return value

    def move_last_to(self, other: Times) -> None:
        """Count the newest call among the others: what kind it is may show only afterwards."""
        other.cpu.append(self.cpu.pop())
        other.wall.append(self.wall.pop())

    @property
    def cpu_ms(self) -> float:
        """Median CPU time in milliseconds; not a number where nothing was called."""
        return median(self.cpu) * 1e3

    def wall_ms(self, fraction: float) -> float:
        """Return a quantile of the wall times in milliseconds."""
        return quantile(self.wall, fraction) * 1e3


def median(values: Sequence[float]) -> float:
    """Return the median; not a number for no values."""
    return statistics.median(values) if values else float("nan")


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return the value that a share of `fraction` of all does not pass; not a number for no values."""
    return sorted(values)[min(len(values) - 1, int(len(values) * fraction))] if values else float("nan")
