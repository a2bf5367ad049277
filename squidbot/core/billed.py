"""One call decided by what the requests before it were billed; by the counter alone where that is not known.

A limit by what was billed is larger than the counter's own, and for an event it is a guess: what an event sends is
known only once it is made. So each request is checked, and where it may be too large the event is made anew for less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.certified import limits_by_bills
from squidbot.core.changes.moment import IN_FLIGHT
from squidbot.core.counting.bills import MOST_FACTOR
from squidbot.core.errors import BudgetError
from squidbot.core.unasked import Beginning, joined, remembered_of, share_of, tail_of
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message
    from squidbot.core.request import Inputs, Outcome
    from squidbot.core.turn import Turn
    from squidbot.core.view.standing import Standing

__all__ = ["believing", "decided"]

# What an error names where answers, with what no message shows of them, are too much.
WITH_ANSWERS = "the request, with what its provider adds to answers,"
# How often an event is made for a limit by what was billed, before the counter's own is taken.
MOST_GUESSES = 4


def decided(turn: Turn, stored: Standing, incoming: Sequence[Message], given: Inputs) -> Outcome:
    """Return the request with `incoming` behind what is stored, and all that has to be written with it.

    Raises:
        BudgetError: nothing makes the request fit.
        InvalidRequestError: there is nothing to answer.
        StoreError: the store failed.
    """
    try:
        return _by_bills(turn, stored, incoming, given)
    except BudgetError as error:
        forgetting = _forgetting(turn, stored, given, error)
        if forgetting is None:
            raise
        turn.notes().reopen()
        return _by_bills(forgetting, stored, incoming, given)


def _forgetting(turn: Turn, stored: Standing, given: Inputs, error: BudgetError) -> Turn | None:
    """Return what decides by the counter alone; None where what was billed is not what leaves no room.

    What reports have taught is never the reason for that no request can be made: none would be answered, so none could
    show that it was wrong. The provider then says whether a request is too long. A turn that is too large by what texts
    have really cost stays an error: the next one need not be.
    """
    if not turn.past.bills.reports:
        return None
    fixed = turn.fixed(stored, given)
    if error.culprit in {IN_FLIGHT, WITH_ANSWERS} and turn.sane(fixed) is turn:
        return None
    return turn.unbilled


def _by_bills(turn: Turn, stored: Standing, incoming: Sequence[Message], given: Inputs) -> Outcome:
    begins = Beginning(turn.shelf, stored, incoming, given.unasked, share_of(turn.plain), _resumes(turn, stored, given))
    said = _Said(begins, tail_of(incoming, given.extended, turn.plain), given)
    trusting = believing(turn, stored, given)
    for guess in range(MOST_GUESSES if trusting.limits else 0):
        try:
            outcome = said.beside(trusting)
        except BudgetError:  # by the counter alone it may fit, or say better what does not
            turn.notes().reopen()
            break
        over_tokens = outcome.leaves.certified - turn.room_tokens
        if over_tokens <= 0:
            return outcome
        trusting = trusting._replace(limits=trusting.limits and trusting.limits.less(over_tokens, guess))
        turn.notes().reopen()
    return _by_counter(turn, said.beside(turn))


def _resumes(turn: Turn, stored: Standing, given: Inputs) -> bool:
    """Return whether a call comes after a pause that parts session blocks."""
    if given.now is None or stored.newest_time is None:
        return False
    return given.now - stored.newest_time >= turn.settings.gap_seconds


def _by_counter(turn: Turn, outcome: Outcome) -> Outcome:
    """Return a request with the counter's own bound where what may come back of reasoning makes it too large.

    Raises:
        BudgetError: it is too large by what has come back.
    """
    left = outcome.leaves
    if left.certified <= turn.room_tokens:
        return outcome
    # Of a request that is far smaller than the room it is not believed: each one after it would be refused, too.
    if turn.past.bills.kept.comes_back and MOST_FACTOR * left.cost.bound > turn.room_tokens:
        turn.notes().reopen()
        raise BudgetError(
            WITH_ANSWERS,
            cost=left.certified,
            budget=turn.room_tokens,
            unit="tokens",
            key="models.<alias>.context_window",
        )
    tokens, certificate = turn.past.bills.plain_bound(left.cost.bound), turn.shelf.renderer.meter.certificate
    assembly = replace(outcome.assembly, certified_tokens=tokens, certificate=certificate)
    return outcome._replace(assembly=assembly, leaves=left._replace(certified=tokens, certificate=certificate))


def believing(turn: Turn, stored: Standing, given: Inputs) -> Turn:
    """Return what decides by what was billed, as far as that is known."""
    if not turn.past.bills.reported_tokens:
        return turn
    meter = turn.shelf.renderer.meter
    fixed = spent((*given.system_parts(meter), *stored.lead)).plus(given.tools_cost(meter))
    limits = limits_by_bills(turn.lease, turn.settings, turn.past, turn.room_tokens, fixed.bound)
    if limits is None:
        return turn
    plan_id = stored.plan.plan_id if stored.plan else -1
    if (plan_id, turn.lease.lease_id) != (turn.past.plan_id, turn.past.lease_id) or turn.changed(stored, given):
        limits = limits._replace(extends=limits.changes)
    return turn._replace(limits=limits)


class _Said(NamedTuple):
    """A call with what is said unasked beside it: facts where a conversation begins, and what extensions say."""

    begins: Beginning
    tail: str | None
    given: Inputs

    def beside(self, turn: Turn) -> Outcome:
        """Return the request of the call."""
        started = self.begins.facts(remembered_of(self.begins.stored.plan))
        made = self._begun(turn, joined(started, self.tail))
        if made.change is None:
            return made
        # Tried again behind its event, the call finds another head, and has to say the same.
        again = self.begins.facts(made.change.record.remembered)
        if again == started:
            return made
        turn.notes().reopen()
        return self._begun(turn, joined(again, self.tail))

    def _begun(self, turn: Turn, started: str | None) -> Outcome:
        stored, incoming = self.begins.stored, self.begins.incoming
        if started is not None:
            try:
                return turn.outcome(stored, incoming, self.given, started)
            except BudgetError:  # what memory and extensions say unasked is the first that gives way
                turn.notes().reopen()
        return turn.outcome(stored, incoming, self.given)
