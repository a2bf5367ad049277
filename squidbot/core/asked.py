"""What somebody asks of a session beside a request: to compact, to bring an earlier plan back, to forget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.changes.event import Ask, make_change
from squidbot.core.changes.pricing import pays_by_hand
from squidbot.core.changes.undo import again
from squidbot.core.view.loading import load

if TYPE_CHECKING:
    from squidbot.core.changes.event import Change
    from squidbot.core.changes.undo import Return
    from squidbot.core.forgetting import Forgetting
    from squidbot.core.request import Inputs
    from squidbot.core.turn import Turn
    from squidbot.core.view.standing import Standing

__all__ = ["back", "by_hand", "without"]


def by_hand(turn: Turn, stored: Standing, given: Inputs) -> Change | None:
    """Return the change that somebody asks for, or None where it would do nothing.

    Raises:
        BudgetError: what must be sent in any case does not fit.
        StoreError: the store failed.
    """
    turn = turn.reserving(given.reserve)
    moment = turn.moment(stored, stored, given)
    head = turn.wanted(stored, given)
    ask, makers = Ask("manual", head.told, stored.pins.seqs), turn.makers(turn.settings)
    change = head.tried(lambda sections: make_change(makers, stored, moment, ask._replace(sections=sections)))
    if change is None or not pays_by_hand(change.record, stored):
        return None
    return turn.signed(change, stored, turn.last_made(stored))


def back(turn: Turn, stored: Standing, given: Inputs, wanted: Return) -> Change:
    """Return the change that makes an earlier plan stand again.

    Raises:
        BudgetError: that does not fit.
        NotFoundError: a summary of the plan is no longer stored.
    """
    turn = turn.reserving(given.reserve)
    change = again(turn.shelf, turn.settings, stored, turn.moment(stored, stored, given), wanted)
    return turn.signed(change, stored, turn.last_made(stored), held=True)


def without(turn: Turn, stored: Standing, given: Inputs, forgetting: Forgetting) -> Change | None:
    """Return the change under which the session goes on without what is forgotten; None where none is needed.

    Raises:
        BudgetError: what must be sent in any case does not fit.
    """
    from squidbot.core.forgetting import change_without  # noqa: PLC0415  # most sessions forget nothing

    turn = turn.reserving(given.reserve)
    left = load(forgetting.shelf, turn.lease.window_tokens, turn.lease.lease_id)
    asked = turn.last_made(stored) is not None
    if left.opened or not asked or (left.sent == stored.sent and not forgetting.retells):
        return None
    moment, head = turn.moment(left, left, given), turn.wanted(left, given)
    change = head.tried(lambda sections: change_without(forgetting, turn.settings, moment, left, sections))
    return change and turn.signed(change, stored, turn.last_made(stored))
