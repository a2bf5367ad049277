"""The text that stands for goals in the head of a request, never shortened, and how large it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.budget import tier_of
from squidbot.core.errors import BudgetError
from squidbot.core.plan import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from squidbot.core.goals.values import Goals, Item

__all__ = ["BUILT", "NAME", "beyond", "built", "check", "most_tokens", "sections", "text_of"]

# Of the form that sections of pins have: an event takes them from what is stored, and gives the place to no other text.
NAME: Final = "pin [goals]"
BUILT: Final = "pin [architecture]"


def sections(goals: Goals) -> tuple[Section, ...]:
    """Return the sections of the head that say them: goals, architecture; none where there is nothing to say."""
    told = {NAME: text_of(goals), BUILT: built(goals)}
    return tuple(Section(name, text) for name, text in told.items() if text)


def built(goals: Goals) -> str:
    """Return the lines on the architecture; empty for nothing."""
    return "\n".join(f"- {one.text}" for one in goals.architecture)


def text_of(goals: Goals) -> str:
    """Return what calls have set, and the active goal with it, architecture aside; empty for nothing.

    What marked lines say is left out: these stand for their messages already, wherever these are not sent.
    """
    lines = list(_lines(goals))
    if goals.active and (lines or goals.active.told):
        lines.insert(0, f"Goal: {goals.active.text}")
    return "\n".join(lines)


def most_tokens(window_tokens: int) -> int:
    """Return how many tokens that text may have in a window: the share of pinned content in its tier (O-05)."""
    return int(window_tokens * tier_of(window_tokens).pinned_fraction)


def check(goals: Goals, window_tokens: int, count: Callable[[str], int]) -> None:
    """Check that what the head says of them fits; `count` says what a text costs at most, in tokens.

    Raises:
        BudgetError: it does not.
    """
    if cost := beyond(sections(goals), window_tokens, count):
        share = f"{tier_of(window_tokens).pinned_fraction:.0%} of the window of {window_tokens:,} tokens"
        ways = "close the goal, lift blockers or locks, or forget text: `squidbot session goals SESSION forget TEXT`"
        detail = f"goals may take {share}; {ways}; with this change they cost"
        key = "window.default or models.<name>.context_window"
        raise BudgetError("goals", cost=cost, budget=most_tokens(window_tokens), unit="tokens", key=key, detail=detail)


def beyond(sections: Iterable[Section], window_tokens: int, count: Callable[[str], int]) -> int:
    """Return what goals in the head cost where that is more than their share of a window, in tokens; else 0."""
    texts = [one.text for one in sections if one.name in {NAME, BUILT}]
    cost = count("\n".join(texts)) if texts else 0
    return cost if cost > most_tokens(window_tokens) else 0


def _lines(goals: Goals) -> Iterator[str]:
    for one in _told(goals.milestones):
        yield f"- milestone{' (reached)' if one.done else ''}: {one.text}"
    for one in _told(goals.decisions):
        yield f"- decision{' (locked)' if one.done else ''}: {one.text}"
    yield from (f"- artifact: {one.text}" for one in _told(goals.artifacts))
    yield from (f"- blocked by: {one.text}" for one in _told(goals.blockers))


def _told(items: tuple[Item, ...]) -> Iterator[Item]:
    return (one for one in items if one.told)
