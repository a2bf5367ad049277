"""What a text costs: the built-in token counters, and how reported usage corrects them (D5, C3).

Policy caps and reports use `words`, `chars4` and `chars3`; requests are enforced with `classes` (the default),
`bytes`, or an adapter that holds the model's own tokenizer. Every counter takes any str and never raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from squidbot.core.counting.classes import ClassCounter, utf8_bytes
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.ports import Certificate, TokenCounter

__all__ = ["Anchor", "Calibration", "builtin_counter", "calibrated", "measure"]

# What a raised bound keeps above the report that raised it: the next request is never quite like the last one.
BOUND_MARGIN = 1.02
# Weight of the newest report in the ratio that estimates follow; reports of the last dozen calls dominate.
ESTIMATE_WEIGHT = 0.2


class _Measuring(Protocol):
    """A counter that has count and bound from one pass over the text."""

    def measure(self, text: str) -> Cost:
        """Return both numbers, in tokens."""


@lru_cache
def _measures(kind: type) -> bool:
    # Asked for every message that is recorded: a protocol checked at run time would cost as much as the count itself.
    return callable(getattr(kind, "measure", None))


def measure(counter: TokenCounter, text: str) -> Cost:
    """Return estimate and bound of a text in tokens, in one pass where the counter can do that."""
    if _measures(type(counter)):
        return cast("_Measuring", counter).measure(text)
    return Cost(counter.count(text), counter.upper_bound(text))


def _count_words(text: str) -> int:
    return len(text.split())


def _count_chars4(text: str) -> int:
    return len(text) // 4


def _count_chars3(text: str) -> int:
    return max(1, len(text) // 3)


def _count_classes(text: str) -> int:
    return ClassCounter().count(text)


@dataclass(frozen=True, slots=True)
class _NamedCounter:
    """A count by a named rule; the bound is the length in UTF-8 bytes, or the count where that is more."""

    name: str
    certificate: Certificate
    rule: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return what the rule says, in its own unit: words, characters per token, or tokens."""
        return self.rule(text)

    def upper_bound(self, text: str) -> int:
        """Return the UTF-8 bytes of the text: no byte-level tokenizer makes more tokens than bytes."""
        return max(utf8_bytes(text), self.rule(text))


_BUILTIN: dict[str, TokenCounter] = {
    "words": _NamedCounter("words", "none", _count_words),
    "chars4": _NamedCounter("chars4", "none", _count_chars4),
    "chars3": _NamedCounter("chars3", "none", _count_chars3),
    "bytes": _NamedCounter("bytes", "proved", _count_classes),
    "classes": ClassCounter(),
}


def builtin_counter(name: str) -> TokenCounter:
    """Return the counter of that name: "words", "chars4", "chars3", "bytes" or "classes" (C3).

    `words` and `chars4` of an empty text are 0, `chars3` is 1. `bytes` estimates as `classes` does; only its bound
    is proved, for byte-level BPE and byte fallback, after whatever normalisation the tokenizer does itself.

    Raises:
        ConfigError: there is no such counter; the text lists those there are.
    """
    try:
        return _BUILTIN[name]
    except KeyError:
        raise ConfigError(f"unknown token counter {name!r}; known: {', '.join(sorted(_BUILTIN))}") from None


class Calibration(NamedTuple):
    """What a provider's reported usage has taught about a counter; immutable.

    Attributes:
        bound_ratio: factor on every bound, 1.0 or more; it never falls (running maximum of reported / bound).
        estimate_ratio: factor on every estimate; it follows reported / estimate.
        reports: how many reports it has learned from.
    """

    bound_ratio: float = 1.0
    estimate_ratio: float = 1.0
    reports: int = 0

    def learn(self, cost: Cost, reported_tokens: int) -> Calibration:
        """Return what is known after one more report.

        `cost` is the whole request's, as counted without calibration, and `reported_tokens` the provider's input
        tokens, cached ones included. Feed only requests whose every token `cost` has counted: a picture that was
        left out would raise every later bound. A report of nothing, or for nothing, teaches nothing.
        """
        if reported_tokens <= 0 or cost.bound <= 0 or cost.estimate <= 0:
            return self
        seen = reported_tokens / cost.estimate
        weight = ESTIMATE_WEIGHT if self.reports else 1.0
        needed = reported_tokens / cost.bound
        raised = max(self.bound_ratio, needed * BOUND_MARGIN) if needed > 1.0 else self.bound_ratio
        return Calibration(raised, self.estimate_ratio + weight * (seen - self.estimate_ratio), self.reports + 1)

    def apply(self, cost: Cost) -> Cost:
        """Return a cost corrected by what was learned; its bound is never below the uncorrected one."""
        bound = max(cost.bound, math.ceil(cost.bound * self.bound_ratio))
        return Cost(min(bound, round(cost.estimate * self.estimate_ratio)), bound)

    def to_json(self) -> dict[str, float]:
        """Return it as values that JSON holds exactly."""
        return {"bound_ratio": self.bound_ratio, "estimate_ratio": self.estimate_ratio, "reports": self.reports}

    @classmethod
    def from_json(cls, stored: Mapping[str, float]) -> Calibration:
        """Return what `to_json` wrote.

        Raises:
            ValueError: a ratio is missing, no finite number, or a bound ratio below 1.0.
        """
        try:
            bound, estimate, reports = stored["bound_ratio"], stored["estimate_ratio"], stored["reports"]
        except KeyError as missing:
            raise ValueError(f"calibration without {missing}") from None
        if not (math.isfinite(bound) and math.isfinite(estimate) and bound >= 1.0 and estimate >= 0.0 and reports >= 0):
            raise ValueError(f"calibration out of range: {dict(stored)}")
        return cls(bound, estimate, int(reports))


@dataclass(frozen=True, slots=True)
class _CalibratedCounter:
    counter: TokenCounter
    calibration: Calibration

    @property
    def name(self) -> str:
        return f"calibrated:{self.counter.name}"

    @property
    def certificate(self) -> Certificate:
        return self.counter.certificate

    def measure(self, text: str) -> Cost:
        """Return both numbers, corrected, in tokens."""
        return self.calibration.apply(measure(self.counter, text))

    def count(self, text: str) -> int:
        """Return the corrected estimate in tokens."""
        return self.measure(text).estimate

    def upper_bound(self, text: str) -> int:
        """Return the corrected bound in tokens."""
        return self.measure(text).bound


def calibrated(counter: TokenCounter, calibration: Calibration) -> TokenCounter:
    """Return a counter named "calibrated:<name>" whose numbers are corrected by what reported usage has taught.

    Its bound of any text is at least the inner counter's; the bound of a request that was learned from is at least
    what the provider reported for it, also when it is the sum of the bounds of the request's parts.
    """
    return _CalibratedCounter(counter, calibration)


class Anchor(NamedTuple):
    """A request whose real size is known: what the provider reported for it, and what its bound had been.

    `reported_tokens` counts cached input tokens too. `bound_tokens` is the uncalibrated bound of the same request.
    """

    reported_tokens: int
    bound_tokens: int

    def bound(self, request_bound_tokens: int) -> int:
        """Return the "anchored" bound, in tokens, of a request that extends the anchored one at its end.

        It is the reported size plus the bound of what was appended. The caller vouches for the extension: the same
        model, tools and system text, every earlier message unchanged. A request whose bound is smaller than the
        anchored one's can't be an extension: its own bound comes back.
        """
        appended_tokens = request_bound_tokens - self.bound_tokens
        return request_bound_tokens if appended_tokens < 0 else self.reported_tokens + appended_tokens
