"""The dependency-free class estimator: what a text costs by the kinds of characters in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate

__all__ = ["ClassCounter", "utf8_bytes"]

_WORD = re.compile(r" ?[A-Za-z]+")


def utf8_bytes(text: str) -> int:
    """Return the length in UTF-8 bytes; a lone surrogate counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class ClassCounter:
    """Counts by classes of characters; one pass, no tokenizer."""

    @property
    def name(self) -> str:
        """The name in configuration."""
        return "classes"

    @property
    def certificate(self) -> Certificate:
        """The bound was measured, not proved."""
        return "measured"

    def measure(self, text: str) -> Cost:
        """Return estimate and bound of a text, in tokens."""
        size = utf8_bytes(text)
        letters = words = 0
        for run in _WORD.finditer(text):
            words += 1
            letters += run.end() - run.start()
        bound = min(size, size - letters + words + letters * 2 // 3)
        return Cost(min(bound, size - letters + words), bound)

    def count(self, text: str) -> int:
        """Return the best estimate in tokens."""
        return self.measure(text).estimate

    def upper_bound(self, text: str) -> int:
        """Return a number of tokens that was never under."""
        return self.measure(text).bound
