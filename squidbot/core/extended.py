"""What the core asks of extensions while a call is decided; what changes a request is frozen with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from squidbot.core.messages import Summary

__all__ = ["Extended"]


class Extended(Protocol):
    """What extensions say of a call. No failure of theirs ever fails one: they then say nothing."""

    def tail(self, prompt: str, limit_tokens: int) -> str | None:
        """Return text to freeze behind the user's newest message, of at most that cost as a bound; None for none."""

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return whether history is to be shortened before a new turn; None: as its marks say, which is `due`.

        `fraction` is history's share of its room. True and no mark is one: it is shortened if that saves enough.
        """

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return a text to show for messages in the place of `told`, of at most that cost as a bound; None for none."""
