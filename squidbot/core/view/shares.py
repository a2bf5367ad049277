"""What each category has of a request, and what became shorter of it (P-08, P-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.messages import Part
    from squidbot.core.view.standing import Standing

__all__ = ["Shorter", "category_of", "shorter", "used"]

_HEAD = frozenset({Kind.MEMORY, Kind.PIN})


class Shorter(NamedTuple):
    """A category of which less is sent: from which message to which, and what it costs, before and now, as bounds."""

    category: str
    first_seq: int
    last_seq: int
    tokens_before: int
    tokens_after: int


def category_of(part: Part, lead: int = 0) -> str:
    """Return the category of a part; `lead` messages open the transcript as system text."""
    if part.kind in _HEAD:
        return "context"
    if part.result_ids:
        return "output"
    if part.kind is Kind.SYSTEM:
        return "context" if part.first_seq >= lead else "system"
    return "dialog"


def used(parts: Sequence[Part], lead: int = 0) -> dict[str, int]:
    """Return what parts cost by category, in tokens as bounds."""
    costs: dict[str, int] = {}
    for part in parts:
        name = category_of(part, lead)
        costs[name] = costs.get(name, 0) + part.cost.bound
    return costs


def shorter(before: Standing, after: Standing) -> Iterator[Shorter]:
    """Yield each category of which a plan sends less than the one before it did (P-09)."""
    old, new = used(before.sent, before.lead_count), used(after.sent, after.lead_count)
    still = {part.first_seq: part for part in after.sent if part.payload is not None}
    for name in sorted(old):
        gone = [
            part.first_seq
            for part in before.sent
            if part.payload is not None
            and category_of(part, before.lead_count) == name
            and still.get(part.first_seq) != part
        ]
        if gone and new.get(name, 0) < old[name]:
            yield Shorter(name, min(gone), max(gone), old[name], new.get(name, 0))
