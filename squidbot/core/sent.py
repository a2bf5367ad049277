"""A request that was sent, made once more from its plan and the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.changes.undo import RAW, plan_of
from squidbot.core.errors import NotFoundError
from squidbot.core.forgetting import forgotten_since
from squidbot.core.leases import lease_named
from squidbot.core.past import REQUEST, Past, seal
from squidbot.core.pins import Pins
from squidbot.core.plan import Representation
from squidbot.core.view.assembly import Assembly
from squidbot.core.view.loading import marked, under
from squidbot.core.view.standing import bare
from squidbot.core.withdrawing import withdrawn_since

if TYPE_CHECKING:
    from squidbot.core.messages import Lease, Part
    from squidbot.core.plan import PlanRecord
    from squidbot.core.request import Inputs
    from squidbot.core.view.standing import Shelf

__all__ = ["sent"]


def sent(shelf: Shelf, lease: Lease, number: int | None, given: Inputs) -> Assembly:
    """Return the recorded request of a number, from 0; None is the newest one.

    Its messages are those that were sent, byte for byte. System text and tools are the host's and are not stored: the
    system text of `given` stands in front. Cost, limit and lease are those of then; where no record tells the lease, it
    is `lease`.

    Raises:
        NotFoundError: there is no such request, it can't be made again since what came with it was never recorded, or
            what it was made of is not stored any more.
        DamagedStoreError: what is stored can't be read.
    """
    past = _past(shelf, number)
    if past.messages < 0:
        raise NotFoundError(
            f"request {past.number} can't be rebuilt: what came with it was not recorded as it was sent"
        )
    gone = sorted(seq for seq in forgotten_since(shelf, past.number) if seq < past.messages)
    if gone:
        raise NotFoundError(f"request {past.number} can't be rebuilt: m{gone[0]} was forgotten since")
    facts = withdrawn_since(shelf, past.number, past.messages, past.plan_id)
    if facts:
        raise NotFoundError(f"request {past.number} can't be rebuilt: a fact that it told was forgotten since")
    plan = None if past.plan_id == RAW else plan_of(shelf, past.plan_id)
    lease = lease_named(shelf.transcripts, shelf.session_id, past.lease_id) or lease
    _check_counter(shelf, lease, plan, past)
    counts = bare(plan)._replace(messages=past.messages, pins=Pins(), markers=marked(shelf))
    stood = under(shelf, plan, counts)
    parts = stood.parts(given.system_parts(shelf.renderer.meter), shelf.renderer)
    if given.system_digest == past.system:
        _check_same(parts, past)
    return Assembly(
        session_id=shelf.session_id,
        lease=lease,
        parts=parts,
        incoming=(),
        cost=past.cost,
        limit=past.limit,
        certificate=past.certificate or (plan.certificate if plan else shelf.renderer.meter.certificate),
        standing=stood,
        event=None,
        codecs=shelf.renderer.codecs,
        reserve=past.reserve,
        certified_tokens=past.certified,
    )


def _past(shelf: Shelf, number: int | None) -> Past:
    last = shelf.transcripts.last_record(shelf.session_id, REQUEST)
    if number is not None and last is not None and number != last.number:
        found = shelf.transcripts.records(shelf.session_id, REQUEST, number) if 0 <= number < last.number else []
        last = found[0] if found and found[0].number == number else None
    if last is None:
        raise NotFoundError(f"no request {'' if number is None else number} of {shelf.session_id!a:.80} is recorded")
    return Past.of(last)


def _check_counter(shelf: Shelf, lease: Lease, plan: PlanRecord | None, past: Past) -> None:
    """Check that what was cut to a size by a counter is cut by the same one now."""
    cut = plan is not None and any(one.representation is Representation.SLIMMED for one in plan.segments)
    if cut and lease.counter != shelf.renderer.meter.name:
        raise NotFoundError(
            f"request {past.number} was counted by {lease.counter}: open the session under its lease to see it"
        )


def _check_same(parts: tuple[Part, ...], past: Past) -> None:
    if (len(parts), seal(parts)) != (past.parts, past.seal):
        raise NotFoundError(f"request {past.number} can't be rebuilt: what it was made of is not stored any more")
