"""What each part of the next request uses, and what it is allotted by the tier of its window (O-04)."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from squidbot.core.budget import LAYOUT_LEVELS, RECENT, SESSION, Share
from squidbot.core.messages import Kind
from squidbot.core.transcript.goals import ARCHITECTURE_SECTION as BUILT
from squidbot.core.transcript.goals import GOALS_SECTION as NAME
from squidbot.core.view.renderer import is_note, spent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.budget import Layout
    from squidbot.core.messages import Part
    from squidbot.core.view.current import Standing

__all__ = ["parts"]

_GOALS = {NAME: "task", BUILT: "architecture"}


def parts(layout: Layout, standing: Standing, limit_tokens: int, used_tokens: int) -> tuple[Share, ...]:
    """Return what each part uses and is allotted, in the document's order, in tokens as bounds.

    `used_tokens` is what the whole request costs. A part that its tier does not name is recent's: so are the notes on
    what is older than all summaries, and the pointers (C23).
    """
    costs: dict[str, int] = {}
    for name, part in _named(standing):
        costs[name] = costs.get(name, 0) + part.cost.bound
    costs["system"] = costs.get("system", 0) + max(0, used_tokens - spent(standing.sent).bound)
    allotted = layout.within(limit_tokens)
    elsewhere = sum(cost for name, cost in costs.items() if name not in allotted)
    costs[RECENT] = costs.get(RECENT, 0) + elsewhere
    return tuple(Share(name, costs.get(name, 0), most) for name, most in allotted.items())


def _named(standing: Standing) -> Iterator[tuple[str, Part]]:
    """Yield each part of a request that stands, with the part of the layout that it belongs to."""
    yield from (("system", part) for part in standing.lead)
    yield from _head(standing)
    for block in standing.blocks:
        level = block.segment.representation.level
        note = level if level in LAYOUT_LEVELS else SESSION
        yield from ((note if is_note(part) else _said(part, standing), part) for part in block.parts)
    yield from ((_said(part, standing), part) for part in standing.tail.parts)


def _head(standing: Standing) -> Iterator[tuple[str, Part]]:
    sections = standing.plan.sections if standing.plan else ()
    for section, part in zip_longest(sections[: len(standing.head)], standing.head):
        goals = _GOALS.get(section.name) if section else None
        yield goals or ("contracts" if part.kind is Kind.PIN else "system"), part


def _said(part: Part, standing: Standing) -> str:
    return "contracts" if part.first_seq in standing.pins.seqs else RECENT
