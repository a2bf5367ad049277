"""When going on costs more than an event: the high-water mark by price, below the one by size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.changes.moment import room_of

if TYPE_CHECKING:
    from squidbot.core.changes.moment import Moment
    from squidbot.core.plan import Prices
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.standing import Standing

__all__ = ["Upkeep", "pays"]

# How fast requests grow is taken from the messages that are still raw, and from so many calls that are supposed before
# them: right behind an event there are too few. The square root of it counts, so a guess that is wrong by half moves
# the mark by a quarter.
SUPPOSED_CALLS, SUPPOSED_TOKENS = 20, 500


class Upkeep(NamedTuple):
    """What an event would take out of the request, and write to it; in tokens.

    Attributes:
        said: the raw messages.
        calls: how many requests they came with.
        taken: those of them that it would take out.
        written: what it would write anew: notes on them, and all that stays behind these.
        saved: what the request would be shorter by.
    """

    said: float
    calls: int
    taken: float
    written: float
    saved: float

    def pays_by(self, prices: Prices) -> float:
        """Return how much there is to take out, 1 being where events cost least in the long run.

        It is 0 where reading again is free, and infinite where an event is: there nothing is gained by waiting.

        An event costs c = (write - read) written; what it takes out, x, would be read again by each request. Where x
        grows by g with each of them, a request costs least on average if the next event comes at
        x = sqrt(2 c g / read): the order quantity of Harris (Factory 10, 1913), an event being a setup, and a token
        that is read again an item held. As x never falls until then, this is also where one more request costs more
        than the mean: the best stopping rule where x grows by chance.
        """
        growth = (self.said + SUPPOSED_CALLS * SUPPOSED_TOKENS) / (self.calls + SUPPOSED_CALLS)
        least = math.sqrt(2 * max(0.0, prices.write - prices.read) * self.written * growth)
        if not self.taken or not prices.read:
            return 0.0
        return math.sqrt(prices.read) * self.taken / least if least else math.inf


def pays(standing: Standing, moment: Moment, settings: HistorySettings) -> bool:
    """Return whether going on would cost more than an event now, and that saves enough to be made.

    Before the first event everything is sent raw up to the high-water mark, whatever it costs (promise 9).
    """
    if not settings.patience or not settings.chain or not standing.blocks:
        return False
    room = room_of(standing, moment).bound
    upkeep = _upkeep(standing, room, settings)
    whole = standing.history.plus(standing.fixed).plus(moment.outside(standing)).bound
    enough = upkeep.saved >= settings.min_saving_fraction * whole
    return enough and upkeep.pays_by(settings.prices) > settings.patience


def _upkeep(standing: Standing, room: int, settings: HistorySettings) -> Upkeep:
    said = standing.tail.cost.bound
    prefix = standing.history.bound - said
    notes = min(settings.note_rate * said, settings.notes_fraction * room)
    keeps = settings.raw_tokens(settings.low_fraction, room, prefix + notes)
    calls = passed = taken = 0
    for atom in reversed(standing.tail.as_sent):
        tokens = atom.sent_cost.bound
        passed += tokens
        calls += not atom.is_user
        # The user's messages stay verbatim behind the notes.
        taken += tokens if passed > keeps and not atom.is_user else 0
    notes = settings.note_rate * taken
    told = sum(block.segment.note_tokens for block in standing.blocks)
    folds = told + notes > settings.notes_fraction * room
    written = said - taken + notes + (prefix if folds else 0.0)
    return Upkeep(said, calls, taken, written, taken - notes)
