"""Events about a plan or a context window that replaces another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.budget import tier_of
from squidbot.core.events import Event
from squidbot.core.plan import Representation
from squidbot.core.transcript.goals import goals_most_tokens, goals_overrun
from squidbot.core.view.assembly import shorter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.last_request import LastRequest
    from squidbot.core.messages import ContextWindow
    from squidbot.core.plan import PlanRecord, Segment
    from squidbot.core.view.current import CurrentView

# From most to least detailed; the step from a message to its first summary is compression, not aging.
LEVELS = list(Representation)
SUMMARIZED = LEVELS.index(Representation.SUMMARY_USER)


def closed(before: ContextWindow) -> Event:
    """Return the event that a session leaves this context window for another one."""
    cause = f"{before.window_tokens:,} tokens, {before.source}"
    return Event(
        events.LEASE_CLOSED,
        "",
        cause,
        before.window_id,
        tokens_before=before.window_tokens,
        tokens_after=before.window_tokens,
        model=before.model,
    )


def opened(before: ContextWindow | None, window: ContextWindow) -> Iterator[Event]:
    """Yield the events of a window that replaces another one, or none (`None`): its size, its tier."""
    yield Event(events.LEASE_OPENED, "", f"{window.source}: {window.detail}" if window.detail else window.source)
    if before is None or before.window_tokens == window.window_tokens:
        return
    was, tokens = before.window_tokens, window.window_tokens
    yield Event(events.CONTEXT_RECALCULATED, "", window.source, tokens_before=was, tokens_after=tokens)
    old, new = tier_of(was), tier_of(tokens)
    if old.number != new.number:
        cause = f"{old.number} {old.label} -> {new.number} {new.label}"
        yield Event(events.TIER_CHANGED, "", cause, tokens_before=was, tokens_after=tokens)


def broken(last_request: LastRequest, plan: PlanRecord) -> Event | None:
    """Return the event that the next request breaks the prefix of the newest recorded one; `None` if it extends it.

    Only the first plan after a request breaks it. The tokens are the request's cost and its unchanged prefix, as
    bounds.
    """
    place = plan.first_changed
    parent_id = -1 if plan.parent_plan_id is None else plan.parent_plan_id
    if (
        not last_request.known
        or parent_id != last_request.plan_id
        or place is None
        or place.index >= last_request.parts
    ):
        return None
    kept = 0 if plan.outside_changed else place.token_offset
    return Event(events.PREFIX_BROKEN, "", plan.cause, "", plan.plan_id, last_request.cost.bound, kept)


def aged(before: PlanRecord | None, plan: PlanRecord) -> Iterator[Event]:
    """Yield an event for each run of messages with a less detailed summary than in the plan before.

    The tokens are the costs of the old summaries and of what replaces them, as bounds.
    """
    known = [segment for segment in before.segments if _level(segment) >= SUMMARIZED] if before else []
    for run in plan.segments:
        replaced = [old for old in known if old.first_seq <= run.last_seq and old.last_seq >= run.first_seq]
        fell = sorted({_level(old) for old in replaced if _level(old) < _level(run)})
        if fell:
            cause = f"m{run.first_seq}-m{run.last_seq}: {', '.join(map(_name, fell))} -> {_name(_level(run))}"
            cost = sum(old.note_tokens for old in replaced)
            yield Event(events.CHECKPOINT_AGED, "", cause, "", plan.plan_id, cost, run.note_tokens)


def shortened(before: CurrentView, after: CurrentView, plan: PlanRecord) -> Iterator[Event]:
    """Yield, for a user interface, one event for each category of which the plan sends less."""
    for cut in shorter(before, after):
        cause, plan_id = f"{cut.category}: m{cut.first_seq}-m{cut.last_seq}", plan.plan_id
        yield Event(events.CATEGORY_TRUNCATED, "", cause, "", plan_id, cut.tokens_before, cut.tokens_after)


def _level(segment: Segment) -> int:
    return LEVELS.index(segment.representation)


def _name(level: int) -> str:
    return LEVELS[level].value.removeprefix("summary:")


def overrun(
    before: PlanRecord | None, plan: PlanRecord, window: ContextWindow, count: Callable[[str], int]
) -> Iterator[Event]:
    """Yield the event that goals set in a larger window exceed their share of this one; they stay whole.

    `count` gives the most that a text costs, in tokens.
    """
    if before is not None and before.sections == plan.sections and before.window_id == plan.window_id:
        return
    cost = goals_overrun(plan.sections, window.window_tokens, count)
    most = goals_most_tokens(window.window_tokens)
    if cost:
        cause = f"goals cost {cost:,} of {most:,} tokens in this window: close the goal, lift blockers or locks"
        yield Event(events.BUDGET_OVERRUN, "", cause, "", plan.plan_id, cost, most)
