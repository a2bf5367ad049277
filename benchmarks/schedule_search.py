"""The cheapest schedule of events for a known future, by dynamic programming over calls and cuts.

A state is what stands (`Stand`) and the tokens of its notes. Of two states with the same stand, the one that was
cheaper so far and has fewer notes is never worse later, but for one thing: more notes may reach a mark, and so permit
an event, earlier. The one that stays therefore inherits the other's permissions. What is found is then a lower bound;
where the path uses no inherited permission (`borrowed` is 0) it is the exact optimum of the model.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.schedule_least import least_rest
from benchmarks.schedule_model import Stand, permitted_by

if TYPE_CHECKING:
    from benchmarks.schedule_model import Attempt, Model, Rules

__all__ = ["FULL_TRIES", "Change", "Found", "cheapest"]


# The first attempts of an event give up raw messages only; those behind them notes, and what the user said.
FULL_TRIES = 2


class Change(NamedTuple):
    """An event of a schedule: the call it comes with, what it leaves, and how.

    `attempt` counts how hard it tried, from 0; `borrowed` says that only more notes than stood would have permitted it.
    """

    call: int
    stand: Stand
    notes_tokens: float
    folds: bool
    attempt: int
    borrowed: bool


class Found(NamedTuple):
    """A schedule and its price, in input-token equivalents for all calls."""

    price: float
    changes: tuple[Change, ...]

    @property
    def borrowed(self) -> int:
        """How many events used a permission that another state had."""
        return sum(change.borrowed for change in self.changes)


class _Path(NamedTuple):
    before: _Path | None
    change: Change


class _State(NamedTuple):
    """One way to a stand: its price so far, its notes, the most notes whose permissions it has, and its events."""

    price: float
    notes: float
    permits: float
    path: _Path | None


_Front = dict[Stand, list[_State]]


def cheapest(model: Model, rules: Rules, at_most: float = float("inf"), *, inherits: bool = True) -> Found | None:
    """Return the cheapest schedule, or None where none costs `at_most` or less, or where none fits.

    Without `inherits` every event of it is permitted, and there may be a cheaper one, at least as dear as with it.
    """
    search = _Search(model, rules, at_most, inherits=inherits)
    front: _Front = {Stand(): [_State(0.0, 0.0, 0.0, None)]}
    for call in range(len(model.sizes.moments)):
        front = search.through(call, front)
    best = min((state for states in front.values() for state in states), key=_price_of, default=None)
    return None if best is None else Found(best.price, tuple(_changes(best.path)))


def _changes(path: _Path | None) -> list[Change]:
    found: list[Change] = []
    while path is not None:
        found.append(path.change)
        path = path.before
    return found[::-1]


class _Search:
    def __init__(self, model: Model, rules: Rules, at_most: float, *, inherits: bool) -> None:
        self._model = model
        self._rules = rules
        self._inherits = inherits
        self._attempts = model.attempts()
        self._rest = least_rest(model, rules)
        self._at_most = at_most + 1e-6
        self._call = self._atoms = 0
        self._new: _Front = {}

    def through(self, call: int, front: _Front) -> _Front:
        """Return the states behind a call, given those in front of it."""
        model = self._model
        moment = model.sizes.moments[call]
        self._call, self._atoms, self._new = call, moment.steps, {}
        permitted: _Front = {}
        for stand, states in front.items():
            other = model.history(stand, 0.0, moment.steps)
            extended = model.extended(call, stand, 0.0)
            a_note = model.extended(call, stand, 1.0) - extended
            for state in states:
                if state.notes + other <= model.room:
                    self._add(stand, state._replace(price=state.price + extended + a_note * state.notes))
                if permitted_by(self._rules, model, call, stand.cut, state.permits + other):
                    permitted.setdefault(stand, []).append(state)
        self._append(permitted)
        self._fold(permitted)
        return self._new

    def _reach(self, stand: Stand, state: _State) -> int:
        """Return the last cut of an event that leaves what the rules ask for; `stand.cut` where nothing may move."""
        last = self._model.floor(stand, state.permits, self._atoms, self._rules.low_fraction)
        return max(stand.cut, last)

    def _append(self, front: _Front) -> None:
        cuts = self._model.cuts(self._atoms, self._attempts[0].keep_fraction)
        for stand, states in front.items() if self._model.settings.chain else ():
            reaches = [self._reach(stand, state) for state in states]
            for cut in sorted({*cuts, *reaches}):
                if cut > stand.cut:
                    able = [state for state, reach in zip(states, reaches, strict=True) if cut <= reach]
                    self._appended(stand, Stand(cut, stand.users), able)

    def _appended(self, stand: Stand, left: Stand, states: list[_State]) -> None:
        """Append notes up to a cut to each of the states of a stand; prices and sizes are lines in their notes."""
        model, call, steps = self._model, self._call, self._atoms
        added = model.appended(stand.cut, left.cut)
        most = model.room - model.history(left, added, steps)
        price = model.changed(call, left, added, model.standing_billed(stand, 0.0))
        a_note = model.changed(call, left, added + 1.0, model.standing_billed(stand, 1.0)) - price
        affordable = self._at_most - price - self._rest[call + 1][left.cut]
        for state in states:
            notes = state.notes + added
            if state.price + a_note * state.notes > affordable or state.notes > most:
                continue
            if model.append_allowed(left, notes):
                borrowed = self._borrows(stand, state, left.cut)
                path = _Path(state.path, Change(call, left, notes, folds=False, attempt=0, borrowed=borrowed))
                self._add(left, _State(state.price + price + a_note * state.notes, notes, state.permits + added, path))

    def _borrows(self, stand: Stand, state: _State, cut: int) -> bool:
        """Return whether the notes that stand would not permit an event to this cut themselves."""
        model = self._model
        last = max(stand.cut, model.floor(stand, state.notes, self._atoms, self._rules.low_fraction))
        now = model.history(stand, state.notes, self._atoms)
        return cut > last or not permitted_by(self._rules, model, self._call, stand.cut, now)

    def _fold(self, front: _Front) -> None:
        """Fold from every state; of those that a fold makes equal the cheapest is enough."""
        for users in {stand.users for stand in front}:
            waiting = {stand: states for stand, states in front.items() if stand.users == users}
            for tries, attempt in enumerate(self._attempts):
                if tries:
                    waiting = {stand: self._overflowing(stand, states) for stand, states in waiting.items()}
                sources = self._cheapest_by_cut(waiting, attempt, tries)
                reached = [cut for cut in sources if self._folded(Stand(cut, users), tries, attempt, sources[cut])]
                waiting = {stand: states for stand, states in waiting.items() if max(reached, default=-1) < stand.cut}

    def _overflowing(self, stand: Stand, states: list[_State]) -> list[_State]:
        other = self._model.history(stand, 0.0, self._atoms)
        return [state for state in states if state.permits + other > self._model.room]

    def _cheapest_by_cut(self, front: _Front, attempt: Attempt, tries: int) -> dict[int, tuple[Stand, _State]]:
        """Return for each cut that a fold may have the cheapest state that it can come from."""
        cuts = self._model.cuts(self._atoms, attempt.keep_fraction)
        last = self._model.last_cut(self._atoms, attempt.keep_fraction)
        found: dict[int, tuple[Stand, _State]] = {}
        for stand, states in front.items():
            for state in states:
                reach = max(stand.cut, last) if tries else self._reach(stand, state)
                # Notes and the user's messages give way only once no raw message can.
                gentler = cuts[bisect_left(cuts, stand.cut) : bisect_left(cuts, reach)] if tries < FULL_TRIES else []
                for cut in (*gentler, reach):
                    if cut and (cut not in found or state.price < found[cut][1].price):
                        found[cut] = stand, state
        return found

    def _folded(self, told: Stand, tries: int, attempt: Attempt, source: tuple[Stand, _State]) -> bool:
        """Fold up to a cut, if that leaves what it must; `told` has the first user message that stood before."""
        model = self._model
        made = model.folded(told.cut, told.users, self._atoms, attempt)
        if made is None or model.history(*made, self._atoms) > model.room:
            return False
        left, notes = made
        stand, state = source
        price = state.price + model.changed(self._call, left, notes, model.sizes.fixed.estimate)
        if tries:
            borrowed = model.history(stand, state.notes, self._atoms) <= model.room
        else:
            borrowed = self._borrows(stand, state, told.cut)
        change = Change(self._call, left, notes, folds=True, attempt=tries, borrowed=borrowed)
        self._add(left, _State(price, notes, notes, _Path(state.path, change)))
        return True

    def _add(self, stand: Stand, state: _State) -> None:
        if state.price + self._rest[self._call + 1][stand.cut] > self._at_most:
            return
        states = self._new.setdefault(stand, [])
        for at, other in enumerate(states):
            if _is_no_worse(other, state):
                states[at] = self._heir(other, [state])
                return
        beaten = [other for other in states if _is_no_worse(state, other)]
        if beaten:
            states[:] = [other for other in states if not _is_no_worse(state, other)]
        states.append(self._heir(state, beaten))

    def _heir(self, state: _State, beaten: list[_State]) -> _State:
        """Return a state with the permissions of those that it stands for, too."""
        most = max((other.permits for other in beaten), default=0.0)
        return state._replace(permits=most) if self._inherits and most > state.permits else state


def _is_no_worse(state: _State, other: _State) -> bool:
    """Return whether a state is neither dearer than another one nor has more notes."""
    return state.price <= other.price and state.notes <= other.notes


def _price_of(state: _State) -> float:
    return state.price
