"""What counts tokens, and how far its counts can be trusted."""

from __future__ import annotations

from typing import Literal, Protocol

__all__ = ["Certificate", "TokenCounter"]

# How far a bound can be trusted, best first (D5). "none": a counter for policy caps and reports only.
Certificate = Literal["exact", "anchored", "calibrated", "proved", "measured", "none"]


class TokenCounter(Protocol):
    """Counts tokens. The same text always gets the same answer; never raises on any str, lone surrogates included."""

    @property
    def name(self) -> str:
        """The name that configuration and stored counts use."""

    @property
    def certificate(self) -> Certificate:
        """How far `upper_bound` can be trusted."""

    def count(self, text: str) -> int:
        """Return the best estimate of the tokens of `text`; 0 or more."""

    def upper_bound(self, text: str) -> int:
        """Return a number of tokens that the model's own count of `text` never passes; at least `count(text)`."""
