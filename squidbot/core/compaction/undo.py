"""Rebuilds what was sent before: an earlier plan, for an undo or a snapshot, and a recorded request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.compaction.planner import NewPlan, first_changed
from squidbot.core.compaction.pressure import Compaction, too_much
from squidbot.core.errors import NotFoundError
from squidbot.core.last_request import REQUEST, LastRequest, seal
from squidbot.core.messages import Cost
from squidbot.core.plan import PlanRecord, Representation, price_of
from squidbot.core.transcript.pins import Pins
from squidbot.core.transcript.removals import forgotten_since, retracted_since
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.assembly import CoreAssembly
from squidbot.core.view.current import empty_view, marked, view_under
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import open_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.compaction.pressure import CallContext
    from squidbot.core.compaction.turn import Inputs
    from squidbot.core.messages import ContextWindow, Part
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.current import CurrentView, SessionContext


# The id for the time before the first plan: everything was sent raw.
RAW = -1
# What fills a request with an earlier plan beside the named parts: notes, and more raw messages.
STOOD = "what would stand again"
_RAW_PLAN = PlanRecord(RAW, None, "", None, "opened")


class Return(NamedTuple):
    """The plan to return to.

    Attributes:
        cause: "undo", "restore" or "branch".
        target: that earlier plan; for everything raw, one with the id -1 and without segments.
        later: the plans made since, oldest first.
        first_gone: the first message that was sent and is not on the line any more; None for none.
    """

    cause: str
    target: PlanRecord
    later: tuple[PlanRecord, ...]
    first_gone: int | None = None


def plan_of(context: SessionContext, plan_id: int) -> PlanRecord:
    """Return a plan of the session by its id; -1 is everything raw.

    Raises:
        NotFoundError: it is not stored, or no longer.
        DamagedStoreError: it can't be read.
    """
    return _RAW_PLAN if plan_id == RAW else _from(context, plan_id)[0]


def to_the_one_before(context: SessionContext, newest: PlanRecord | None) -> Return:
    """Return what undoing the newest plan restores: the plan before it, or before the one that it restored.

    Undoing again goes further back, in the end to everything raw. No undo reverts an undo: restore a snapshot made
    before it instead.

    Raises:
        NotFoundError: there is nothing to undo, or the earlier plan is no longer stored.
        DamagedStoreError: a plan can't be read.
    """
    undone = newest
    while undone is not None and undone.repeats is not None:
        undone = None if undone.repeats == RAW else plan_of(context, undone.repeats)
    if undone is None or (undone.parent_plan_id is None and undone.made_at_seq == 0):
        raise NotFoundError(
            f"there is nothing to undo in {context.session_id!a:.80}: nothing has been shortened before"
        )
    return to_plan(context, "undo", RAW if undone.parent_plan_id is None else undone.parent_plan_id)


def to_plan(context: SessionContext, cause: str, plan_id: int) -> Return:
    """Return the way back to a plan by its id; -1 is everything raw.

    Raises:
        NotFoundError: it is not stored, or no longer.
        DamagedStoreError: a plan can't be read.
    """
    if plan_id == RAW:
        return Return(cause, _RAW_PLAN, tuple(_all(context, 0)))
    plans = _from(context, plan_id)
    return Return(cause, plans[0], tuple(plans[1:]))


def to_line(context: SessionContext, plan: PlanRecord | None, first_gone: int | None) -> Return:
    """Return the way of a new line to the plan that it begins with; `context` shows the line that it left."""
    target = plan or _RAW_PLAN
    return Return("branch", target, tuple(_all(context, target.plan_id + 1)), first_gone)


def _from(context: SessionContext, plan_id: int) -> list[PlanRecord]:
    plans = _all(context, plan_id)
    if not plans or plans[0].plan_id != plan_id:
        raise NotFoundError(f"plan {plan_id} of {context.session_id!a:.80} is not stored")
    return plans


def _all(context: SessionContext, first: int) -> list[PlanRecord]:
    return [
        PlanRecord.from_json(record.body) for record in context.transcripts.records(context.session_id, "plan", first)
    ]


def again(  # noqa: PLR0913  # what a plan is made of
    context: SessionContext,
    settings: HistorySettings,
    before: CurrentView,
    call: CallContext,
    back: Return,
    *,
    left: CurrentView | None = None,
) -> NewPlan:
    """Return the change that restores an earlier plan, with all later messages raw behind it.

    `left` is what was sent until now, for the price; None: what is in `before`.

    Its request is the former one byte for byte, plus the later messages. Steps from a later plan are sent without their
    reasoning, which is valid behind that plan only (R4), except for the step with the open tool loop (R3).

    Raises:
        BudgetError: that does not fit.
        NotFoundError: a summary of the plan is no longer stored.
    """
    newest = before.plan
    dropped_before, dropped = _stale(back, before)
    record = replace(
        back.target,
        plan_id=newest.plan_id + 1 if newest else 0,
        parent_plan_id=newest.plan_id if newest else None,
        created_at=call.now,
        cause=back.cause,
        held=True,
        repeats=None if back.cause == "restore" else back.target.plan_id,
        thinking_dropped_before_seq=dropped_before,
        thinking_dropped=dropped,
    )
    limit = call.limit
    made = view_under(context, record, before, limit.bound)
    cost = spent(made.parts(call.system, context.renderer)).plus(call.tools)
    if made.opened:
        # No more was read than shows that it is too much.
        cost = Cost(max(cost.estimate, limit.estimate + 1), max(cost.bound, limit.bound + 1))
    if cost.bound > limit.bound or cost.estimate > limit.estimate:
        raise too_much(made, call, cost, STOOD)
    old = (left or before).parts(call.system, context.renderer)
    record = _priced(record, old, made.parts(call.system, context.renderer), call, settings)
    record = replace(record, certificate=context.renderer.meter.certificate)
    return NewPlan(record, made._replace(plan=record), Compaction(record.segments, (), record.tail_from_seq, 0))


def _priced(
    record: PlanRecord, old: Sequence[Part], new: Sequence[Part], call: CallContext, settings: HistorySettings
) -> PlanRecord:
    """Return a plan with the cost of what was sent before it and of what is sent under it, and its price."""
    changed = first_changed(old, new)
    before, after = spent(old).plus(call.tools), spent(new).plus(call.tools)
    price = price_of(before, after, changed.token_offset + call.tools.bound, settings.prices, cold=call.cold)
    return replace(record, tokens_before=before.bound, tokens_after=after.bound, first_changed=changed, price=price)


def _stale(back: Return, before: CurrentView) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the steps that are sent without their reasoning: those before a seq, and those in runs."""
    target, later = back.target, back.later
    loop = open_step([row for step in before.tail.steps for row in step.messages])
    end = before.messages if loop is None else loop
    if any(plan.outside_changed for plan in later):
        # System text or tools, which precede all reasoning, have changed.
        return end, ()
    since = min([end, *(plan.made_at_seq for plan in later[:1])])
    since = since if back.first_gone is None else min(since, back.first_gone)
    runs = (*target.thinking_dropped, (since, end)) if since < end else target.thinking_dropped
    return target.thinking_dropped_before_seq, runs


# Rebuilds a sent request from its plan and the transcript.


def request_again(context: SessionContext, window: ContextWindow, number: int | None, given: Inputs) -> CoreAssembly:
    """Return the recorded request of a number, from 0; `None` is the newest one.

    Its messages are the sent ones, byte for byte. The host's system text and tools are not stored: the system text of
    `given` goes in front. Cost, limit and window are the original ones; if no record has the window, it is `window`.

    Raises:
        NotFoundError: there is no such request, it can't be rebuilt because what came with it was never recorded, or
            its sources are not stored any more.
        DamagedStoreError: stored data can't be read.
    """
    place = context.transcripts, context.session_id
    last_request = _recorded(context, number)
    if last_request.messages < 0:
        raise NotFoundError(
            f"request {last_request.number} can't be rebuilt: what came with it was not recorded as it was sent"
        )
    gone = sorted(seq for seq in forgotten_since(*place, last_request.number) if seq < last_request.messages)
    if gone:
        raise NotFoundError(f"request {last_request.number} can't be rebuilt: m{gone[0]} was forgotten since")
    facts = retracted_since(*place, last_request.number, last_request.messages, last_request.plan_id)
    if facts:
        raise NotFoundError(f"request {last_request.number} can't be rebuilt: a fact that it told was forgotten since")
    plan = None if last_request.plan_id == RAW else plan_of(context, last_request.plan_id)
    windows = WINDOW.all(*place)
    window = next((one for one in windows if one.window_id == last_request.window_id), window)
    _check_counter(context, window, plan, last_request)
    counts = empty_view(plan)._replace(messages=last_request.messages, pins=Pins(), markers=marked(context))
    view = view_under(context, plan, counts)
    parts = view.parts(given.system_parts(context.renderer.meter), context.renderer)
    if given.system_digest == last_request.system:
        _check_same(parts, last_request)
    return CoreAssembly(
        session_id=context.session_id,
        window=window,
        parts=parts,
        incoming=(),
        cost=last_request.cost,
        limit=last_request.limit,
        certificate=last_request.certificate or (plan.certificate if plan else context.renderer.meter.certificate),
        view=view,
        event=None,
        codecs=context.renderer.codecs,
        reserve=last_request.reserve,
        certified_tokens=last_request.certified,
    )


def _recorded(context: SessionContext, number: int | None) -> LastRequest:
    last = context.transcripts.last_record(context.session_id, REQUEST)
    if number is not None and last is not None and number != last.number:
        found = context.transcripts.records(context.session_id, REQUEST, number) if 0 <= number < last.number else []
        last = found[0] if found and found[0].number == number else None
    if last is None:
        raise NotFoundError(f"no request {'' if number is None else number} of {context.session_id!a:.80} is recorded")
    return LastRequest.of(last)


def _check_counter(
    context: SessionContext, window: ContextWindow, plan: PlanRecord | None, last_request: LastRequest
) -> None:
    """Check that texts cut to a size by a counter are cut by the same one now."""
    cut = plan is not None and any(segment.representation is Representation.SLIMMED for segment in plan.segments)
    if cut and window.counter != context.renderer.meter.name:
        raise NotFoundError(
            f"request {last_request.number} was counted by {window.counter}: open the session in its window to see it"
        )


def _check_same(parts: tuple[Part, ...], last_request: LastRequest) -> None:
    if (len(parts), seal(parts)) != (last_request.parts, last_request.seal):
        raise NotFoundError(
            f"request {last_request.number} can't be rebuilt: what it was made of is not stored any more"
        )
