"""The least that the rest of a recorded conversation can cost: what the search leaves out by.

Notes and the user's messages in front of a cut are taken at the least that any schedule has there, and an event as
permitted wherever notes at their most would permit it. So no schedule costs less, and what is found is the optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.schedule_model import READ_PRICE, WRITE_PRICE, Stand, permitted_by
from squidbot.core.compaction.planner import filled
from squidbot.core.plan import Representation

if TYPE_CHECKING:
    from benchmarks.schedule_model import Model, Rules

__all__ = ["least_rest"]

_NEVER = float("inf")


class _Notes(NamedTuple):
    """The least notes by cut: those that any schedule has, all that appending adds up to there, what a fold leaves.

    `keeps_users`: no schedule drops a message of the user.
    """

    stand: list[float]
    added: list[float]
    folded: list[float]
    keeps_users: bool


def least_rest(model: Model, rules: Rules) -> list[list[float]]:
    """Return for each call and cut the least that the calls from there on cost; a row of zeros behind the last."""
    notes = _least_notes(model)
    rest = [[0.0] * (len(model.sizes.steps) + 1)]
    for call in range(len(model.sizes.moments) - 1, -1, -1):
        rest.append(_Call(model, rules, notes, call).rest(rest[-1]))
    return rest[::-1]


def _least_notes(model: Model) -> _Notes:
    sizes, settings = model.sizes, model.settings
    nothing = [0.0] * (len(sizes.steps) + 1)
    least = model.attempts()[0].least_notes_tokens
    users = model.user_bounds[-1]
    largest = max((step.sent_cost.bound for step in sizes.steps), default=0)
    behind = max(largest, settings.keep_fraction * model.room)
    calm = (
        users + behind + least <= filled(model.room, settings) and users <= settings.user_verbatim_fraction * model.room
    )
    most = settings.level_tokens(Representation.DETAILED, model.room)
    if not calm or settings.note_rate * settings.block_max_tokens(model.room) > most:
        return _Notes(nothing, nothing, nothing, keeps_users=False)
    # A note is rounded, and a block is at least one step.
    each = [max(0.0, min(settings.note_rate * step.cost.bound, most) - 0.5) for step in sizes.steps]
    share = min(1.0, model.fills.folded)
    folded = [share * min(least, told) for told in sizes.told]
    folded = [tokens if tokens >= settings.min_note_tokens else 0.0 for tokens in folded]
    stand, added = [0.0], [0.0]
    for cut, each_tokens in enumerate(each, 1):
        tokens = each_tokens * model.fills.appended
        added.append(added[-1] + tokens)
        stand.append(min(stand[-1] + tokens, folded[cut]))
    return _Notes(stand, added, folded, keeps_users=True)


class _Call(NamedTuple):
    """What the least price of the calls from one on depends on."""

    model: Model
    rules: Rules
    notes: _Notes
    call: int

    def rest(self, behind: list[float]) -> list[float]:
        """Return the least price from this call on by cut, given that from the next one on."""
        model = self.model
        steps = model.sizes.moments[self.call].steps
        last = model.last_cut(steps, model.settings.keep_fraction)
        found = [_NEVER] * len(behind)
        appended = gently = hard = _NEVER
        for cut in range(steps, -1, -1):
            stand, most = self._stand(cut), self._most(cut)
            if cut <= last:
                gently = min(gently, self._folded(stand) + behind[cut])
            hard = min(hard, self._folded(stand) + behind[cut]) if cut < steps else hard
            event = min(appended - self._standing(stand), hard if most > model.room or cut > last else gently)
            if not permitted_by(self.rules, model, self.call, cut, most):
                event = _NEVER
            found[cut] = min(self._extended(stand) + behind[cut], event)
            if cut <= last:
                appended = min(appended, self._appended(stand) + behind[cut])
        return found

    def _extended(self, stand: Stand) -> float:
        model, notes = self.model, self.notes.stand[stand.cut]
        fits = model.history(stand, notes, model.sizes.moments[self.call].steps) <= model.room
        return model.extended(self.call, stand, notes) if fits else _NEVER

    def _folded(self, stand: Stand) -> float:
        return self.model.changed(self.call, stand, self.notes.folded[stand.cut], self.model.sizes.fixed.estimate)

    def _appended(self, stand: Stand) -> float:
        """Return the price of an event that appends, less what `_standing` says of where it came from."""
        return self.model.changed(self.call, stand, self.notes.added[stand.cut], 0.0)

    def _standing(self, stand: Stand) -> float:
        """Return what an event that appends does not write anew of what stood: notes were counted as appended."""
        model, notes = self.model, self.notes
        written = model.changed(self.call, stand, notes.added[stand.cut], 0.0)
        raw = model.billed[model.sizes.moments[self.call].steps] - model.billed[stand.cut]
        kept = model.standing_billed(stand, notes.stand[stand.cut])
        return written - WRITE_PRICE * raw - (READ_PRICE if self.call and not self._cold else WRITE_PRICE) * kept

    @property
    def _cold(self) -> bool:
        return self.model.sizes.moments[self.call].cold

    def _stand(self, cut: int) -> Stand:
        return Stand(cut, 0 if self.notes.keeps_users else self.model.said_by(cut))

    def _most(self, cut: int) -> float:
        """Return the most that the history can cost with a cut, as a bound."""
        model, steps = self.model, self.model.sizes.moments[self.call].steps
        return model.settings.notes_fraction * model.room + model.history(Stand(cut), 0.0, steps)
