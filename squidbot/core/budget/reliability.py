"""How far a model can be relied on with what it is shown: by its size, and by what stands for messages (O-17, C24)."""

from __future__ import annotations

__all__ = ["LEAST_FRACTION", "level_of", "reliability"]

# Where a model of so many billion parameters, or a larger one, starts; below all of them .3 (O-17).
SIZES = ((70.0, 0.95), (30.0, 0.85), (13.0, 0.7), (7.0, 0.5), (0.0, 0.3))
# What one lossy generation takes, and what is left at least.
LOSS_FRACTION, LEFT_FRACTION = 0.15, 0.3
LEVELS = ((0.85, "high"), (0.60, "fair"), (0.40, "low"))
# Below this a new conversation is better.
LEAST_FRACTION = 0.40


def reliability(generations: int, parameters_billion: float | None = None, *, exponential: bool = False) -> float:
    """Return the share, 0 to 1, of what was said that a model can be relied on to go by.

    `generations` is how often text was told anew from text that was told itself: 0 where all is verbatim, 1 for notes
    that are made from what was said, whatever the number of events. A model of unknown size (None) has no factor.
    Both forms of C24 are there, linear and `exponential`; they are equal up to one generation.
    """
    left = (1 - LOSS_FRACTION) ** generations if exponential else 1 - LOSS_FRACTION * generations
    return _factor(parameters_billion) * max(left, LEFT_FRACTION)


def level_of(fraction: float) -> str:
    """Return the name of a reliability: "high" from .85, "fair" from .60, "low" from .40, below it "poor"."""
    return next((name for least, name in LEVELS if fraction >= least), "poor")


def _factor(parameters_billion: float | None) -> float:
    if parameters_billion is None:
        return 1.0
    return next(factor for least, factor in SIZES if parameters_billion >= least)
