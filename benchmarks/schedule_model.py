"""What a schedule of events costs on a recorded conversation: the model that `schedule` searches for the cheapest one.

A request is fixed text, notes, the user's messages that stand verbatim behind them, and messages raw from a cut on.
Without an event it extends the one before it; an event moves the cut forward, and either appends notes on what it
passes to those that stand, or folds everything into new notes. Prices as in `squidbot.replay.metrics`: 0.1 for a token
read from the prompt cache, 1.25 for one written to it; after a pause of more than 300 s all of it is written anew.

Assumed, beside that:

- messages cost what the engine stored for them as sent; their order, times and sizes stay, whatever was forgotten;
- a note costs a fixed share of the room that the engine's rule leaves it (`note_rate` and the bounds of its level where
  notes are appended; what the fold's rule leaves, and no more than there is to tell, where they are folded). Both
  shares are measured on the engine's own run;
- no pins, no head, no slimmed outputs, no tools, no notices, no model that summarizes;
- everything raw at the beginning; only the newest request is in the cache.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.compaction.planner import HEADER_TOKENS, filled
from squidbot.core.plan import Representation
from squidbot.core.view.steps import session_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Cost
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.steps import Step

__all__ = [
    "READ_PRICE",
    "WRITE_PRICE",
    "Attempt",
    "CallContext",
    "Fills",
    "Model",
    "Rules",
    "Sizes",
    "Stand",
    "permitted_by",
]

READ_PRICE, WRITE_PRICE = 0.1, 1.25


class CallContext(NamedTuple):
    """One model call: the steps said before it, whether a turn opens with it, whether the cache has gone cold."""

    steps: int
    new_turn: bool
    cold: bool


class Fills(NamedTuple):
    """How much of their room notes take, appended and folded, and what one of their tokens by the bound is billed."""

    appended: float = 1.0
    folded: float = 1.0
    billed: float = 1.0


class Sizes(NamedTuple):
    """A conversation in numbers, in tokens.

    `steps` behind the system text, which costs `fixed`; `told[k]` is the most that one note on the first k steps says.
    """

    steps: tuple[Step, ...]
    moments: tuple[CallContext, ...]
    fixed: Cost
    told: tuple[int, ...]
    limit: int


class Stand(NamedTuple):
    """What stands after an event: raw from step `cut` on, and in front of it the user's messages from `users` on.

    `users` counts the user's messages.
    """

    cut: int = 0
    users: int = 0


class Rules(NamedTuple):
    """When an event is permitted, as shares of the room that the history has to pass, and what it has to leave.

    `first_fraction` before a turn for the first event: what fits below it is sent whole (promise 9). For later ones
    `turn_fraction`, `cold_fraction` if the cache is cold; `loop_fraction` inside a tool loop, for any.
    The engine's rule for what stays raw, with this `low_fraction`, says what it leaves; 0 for no more than
    `keep_fraction`. Where the history does not fit, an event is always permitted.
    """

    first_fraction: float
    turn_fraction: float
    cold_fraction: float
    loop_fraction: float
    low_fraction: float

    def mark(self, *, new_turn: bool, cold: bool, first: bool) -> float:
        """Return the share that the history has to pass at a call."""
        if not new_turn:
            return self.loop_fraction
        if first:
            return self.first_fraction
        return min(self.turn_fraction, self.cold_fraction) if cold else self.turn_fraction


class Attempt(NamedTuple):
    """How hard an event tries: the shares of the room for raw messages, users and notes, the notes it must leave."""

    keep_fraction: float
    user_fraction: float
    notes_fraction: float
    least_notes_tokens: float


@dataclass(slots=True)
class Model:
    """Costs and floors for one conversation under one room; `depths` to choose from at an event, 0 for every step."""

    sizes: Sizes
    settings: HistorySettings
    fills: Fills = field(default_factory=Fills)
    depths: int = 0
    room: int = 0
    bounds: list[int] = field(default_factory=list)
    billed: list[int] = field(default_factory=list)
    user_atoms: list[int] = field(default_factory=list)
    user_bounds: list[int] = field(default_factory=list)
    user_billed: list[int] = field(default_factory=list)
    blocks: dict[tuple[int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add up sizes, so that any run of messages is a difference."""
        sizes = self.sizes
        self.room = sizes.limit - sizes.fixed.bound
        sent = [step.sent_cost for step in sizes.steps]
        self.bounds = _sums([cost.bound for cost in sent])
        self.billed = _sums([cost.estimate for cost in sent])
        self.user_atoms = [place for place, step in enumerate(sizes.steps) if step.is_user]
        self.user_bounds = _sums([sent[place].bound for place in self.user_atoms])
        self.user_billed = _sums([sent[place].estimate for place in self.user_atoms])

    # -- sizes ------------------------------------------------------------------------------------------------

    def said_by(self, cut: int) -> int:
        """Return how many of the user's messages stand before a cut."""
        return bisect_left(self.user_atoms, cut)

    def users_bound(self, stand: Stand) -> int:
        """Return what the user's messages in front of the cut may cost."""
        return self.user_bounds[self.said_by(stand.cut)] - self.user_bounds[stand.users]

    def raw_bound(self, cut: int, steps: int) -> int:
        """Return what messages from a cut on may cost at a call."""
        return self.bounds[steps] - self.bounds[cut]

    def history(self, stand: Stand, notes: float, steps: int) -> float:
        """Return what the history costs as a bound."""
        return notes + self.users_bound(stand) + self.raw_bound(stand.cut, steps)

    def standing_billed(self, stand: Stand, notes: float) -> float:
        """Return what is billed for what stands in front of the raw messages, fixed text included."""
        users = self.user_billed[self.said_by(stand.cut)] - self.user_billed[stand.users]
        return self.sizes.fixed.estimate + self.fills.billed * notes + users

    def request_billed(self, stand: Stand, notes: float, steps: int) -> float:
        """Return what is billed for a request."""
        return self.standing_billed(stand, notes) + self.billed[steps] - self.billed[stand.cut]

    # -- prices -----------------------------------------------------------------------------------------------

    def extended(self, call: int, stand: Stand, notes: float) -> float:
        """Return the price of a call that extends the request before it."""
        moment = self.sizes.moments[call]
        cached = 0.0
        if call and not moment.cold:
            cached = self.request_billed(stand, notes, self.sizes.moments[call - 1].steps)
        return _price(self.request_billed(stand, notes, moment.steps), cached)

    def changed(self, call: int, stand: Stand, notes: float, kept: float) -> float:
        """Return the price of a call with an event, of which `kept` tokens stood in front of the request before."""
        moment = self.sizes.moments[call]
        cached = kept if call and not moment.cold else 0.0
        return _price(self.request_billed(stand, notes, moment.steps), cached)

    # -- what an event may do ---------------------------------------------------------------------------------

    def attempts(self) -> list[Attempt]:
        """Return the attempts of an event, gentlest first: with the floors, then with less, to fit at all."""
        settings = self.settings
        users, notes = settings.user_verbatim_fraction, settings.notes_fraction
        least = notes * settings.fold_fraction * self.room / 2
        return [
            Attempt(settings.keep_fraction, users, notes, least),
            Attempt(0.0, users, notes, least),
            Attempt(0.0, users, notes / 2, settings.min_note_tokens),
            Attempt(0.0, users, notes / 6, settings.min_note_tokens),
            Attempt(0.0, users / 4, notes / 6, 0),
            Attempt(0.0, 0.0, 0.0, 0),
        ]

    def last_cut(self, steps: int, keep_fraction: float) -> int:
        """Return the last cut that leaves the newest messages raw up to a share of the room, at least one step."""
        keep = keep_fraction * self.room
        return max(0, min(steps - 1, bisect_left(self.bounds, self.bounds[steps] - keep, 0, steps + 1)))

    def cuts(self, steps: int, keep_fraction: float) -> list[int]:
        """Return the cuts to choose from, in order: each step, or those that leave so many shares of the room raw."""
        last = self.last_cut(steps, keep_fraction)
        if not self.depths:
            return list(range(1, last + 1))
        shares = (keep_fraction + (1 - keep_fraction) * depth / self.depths for depth in range(self.depths))
        return sorted({cut for cut in (last, *(self.last_cut(steps, share) for share in shares)) if 0 < cut <= last})

    def appended(self, first: int, last: int) -> float:
        """Return what notes cost on the steps from `first` to the one before `last`."""
        if (first, last) not in self.blocks:
            settings = self.settings
            most = settings.block_max_tokens(self.room)
            noted = session_blocks(self.sizes.steps[first:last], gap_seconds=settings.gap_seconds, max_tokens=most)
            tokens = [self._note_tokens(sum(step.cost.bound for step in block)) for block in noted]
            self.blocks[first, last] = self.fills.appended * sum(tokens)
        return self.blocks[first, last]

    def _note_tokens(self, said_tokens: int) -> int:
        """Return the engine's room for a detailed note on so many tokens."""
        settings = self.settings
        most = settings.level_tokens(Representation.DETAILED, self.room)
        return max(settings.min_note_tokens, min(most, HEADER_TOKENS + round(said_tokens * settings.note_rate)))

    def floor(self, stand: Stand, notes: float, steps: int, low_fraction: float) -> int:
        """Return the last cut of an event: by the engine's rule for what stays raw, from a low-water mark down.

        What stands and what notes on all that is raw would cost is taken off the mark; so the more notes stand, the
        later the cut.
        """
        settings = self.settings
        new = min(self.raw_bound(stand.cut, steps) * settings.note_rate, settings.notes_fraction * self.room)
        raw = low_fraction * self.room - notes - self.users_bound(stand) - new
        return self.last_cut(steps, max(settings.keep_fraction, raw / self.room))

    def append_allowed(self, stand: Stand, notes: float) -> bool:
        """Return whether a chain of notes and the user's messages beside it stay within their shares."""
        settings = self.settings
        within = notes <= settings.notes_fraction * self.room
        return settings.chain and within and self.users_bound(stand) <= settings.user_verbatim_fraction * self.room

    def folded(self, cut: int, users: int, steps: int, attempt: Attempt) -> tuple[Stand, float] | None:
        """Return what a fold up to `cut` leaves, and the tokens of its notes; None where it leaves too little.

        `users` is the first of the user's messages that stood verbatim before.
        """
        behind = self.raw_bound(cut, steps)
        share = attempt.user_fraction * self.room
        if self.users_bound(Stand(cut, users)) > share:
            share *= self.settings.user_low_fraction
        room = filled(self.room, self.settings)
        left = room - attempt.least_notes_tokens - behind
        if left < min(share, self.users_bound(Stand(cut, users))) and self._raw_can_yield(cut, steps, attempt):
            return None
        share = min(share, left)
        stand = Stand(cut, self._users_from(cut, users, share))
        left = room - behind - self.users_bound(stand)
        limit = min(attempt.notes_fraction * self.room * self.settings.fold_fraction, left)
        told = self.sizes.told[cut]
        if limit < min(attempt.least_notes_tokens, told):
            return None
        notes = min(self.fills.folded * limit, told) if limit >= self.settings.min_note_tokens else 0.0
        return stand, notes

    def _raw_can_yield(self, cut: int, steps: int, attempt: Attempt) -> bool:
        """Return whether raw messages have to give way before the user's do: the order of loss of the engine."""
        least = 0.0 if attempt.user_fraction < self.settings.user_verbatim_fraction else self.settings.keep_fraction
        return bool(least) and cut < self.last_cut(steps, least)

    def _users_from(self, cut: int, users: int, share: float) -> int:
        """Return the first of the user's messages that stays: the newest ones, and the one that is being answered."""
        said = self.said_by(cut)
        first = max(users, bisect_left(self.user_bounds, self.user_bounds[said] - max(0.0, share), 0, said + 1))
        return min(first, max(users, said - 1))


def permitted_by(rules: Rules, model: Model, call: int, cut: int, history: float) -> bool:
    """Return whether a history of this size, notes standing for it up to a cut, permits an event at a call."""
    moment = model.sizes.moments[call]
    return history > min(1.0, rules.mark(new_turn=moment.new_turn, cold=moment.cold, first=not cut)) * model.room


def _price(tokens: float, cached: float) -> float:
    return READ_PRICE * cached + WRITE_PRICE * (tokens - cached)


def _sums(values: Sequence[int]) -> list[int]:
    return [0, *accumulate(values)]
