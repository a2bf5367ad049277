"""The search for the cheapest schedule of events: held against every schedule there is, on small conversations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.schedule_least import least_rest
from benchmarks.schedule_model import CallContext, Fills, Model, Rules, Sizes, Stand, permitted_by
from benchmarks.schedule_online import driven, spent_on
from benchmarks.schedule_search import FULL_TRIES, cheapest
from squidbot.core.messages import Category, Cost, StoredMessage
from squidbot.core.settings import HistorySettings
from squidbot.core.view.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

NEVER = float("inf")
BASE = HistorySettings(high_fraction=0.6, low_fraction=0.3, keep_fraction=0.2, min_note_tokens=4, note_rate=0.2)
ANYWHERE = Rules(0.0, 0.0, 0.0, 0.0, 0.0)


def _atom(seq: int, tokens: int, *, user: bool) -> Step:
    cost = Cost(tokens, tokens)
    row = StoredMessage(seq, 0, "user" if user else "assistant", Category.DIALOG, "", "", (), (), cost, cost, "")
    return Step.of((row,), whole=True)


@st.composite
def _models(draw: st.DrawFn) -> Model:
    """Draw a conversation of a few steps, a call behind each, in a room that most of them overflow, or none nearly."""
    count = draw(st.integers(2, 8))
    calm = draw(st.booleans())
    users = [True, *(draw(st.booleans()) for _ in range(count - 1))]
    most = (3, 70) if calm else (60, 60)
    steps = tuple(_atom(seq, draw(st.integers(2, most[not user])), user=user) for seq, user in enumerate(users))
    moments = tuple(CallContext(at + 1, user, draw(st.integers(0, 5)) == 0) for at, user in enumerate(users))
    told = tuple(min(draw(st.sampled_from((8, 40))), 10 * at) for at in range(count + 1))
    chosen = replace(
        BASE,
        chain=draw(st.booleans()),
        note_rate=draw(st.sampled_from((0.1, 0.5))),
        user_verbatim_fraction=draw(st.sampled_from((0.1, 0.5))),
    )
    limit = draw(st.integers(200, 300) if calm else st.integers(90, 300))
    fills = Fills(draw(st.sampled_from((0.5, 1.0))), draw(st.sampled_from((0.7, 1.0))))
    return Model(Sizes(steps, moments, Cost(5, 5), told, limit), chosen, fills, depths=draw(st.sampled_from((0, 3))))


_RULES = st.sampled_from(
    (
        ANYWHERE,
        Rules(0.6, 0.6, 0.45, 1.0, 0.3),
        Rules(0.0, 0.0, 0.0, 1.0, 0.3),
        Rules(0.6, 0.0, 0.0, 1.0, 0.3),
        Rules(0.6, 0.0, 0.0, 1.0, 0.0),
    )
)


def _least(model: Model, rules: Rules, call: int = 0, stand: Stand = Stand(), notes: float = 0.0) -> float:  # noqa: B008
    """Return the price of the cheapest schedule from a call on, by trying them all."""
    if call == len(model.sizes.moments):
        return 0.0
    steps = model.sizes.moments[call].steps
    history = model.history(stand, notes, steps)
    best = NEVER
    if history <= model.room:
        best = model.extended(call, stand, notes) + _least(model, rules, call + 1, stand, notes)
    for left, then, kept in _events(model, rules, call, stand, notes):
        rest = model.changed(call, left, then, kept) + _least(model, rules, call + 1, left, then)
        best = min(best, rest)
    return best


def _events(model: Model, rules: Rules, call: int, stand: Stand, notes: float) -> Iterator[tuple[Stand, float, float]]:
    """Yield what each event leaves that is permitted: the stand, its notes, and the billed tokens kept in front."""
    steps = model.sizes.moments[call].steps
    history = model.history(stand, notes, steps)
    if not permitted_by(rules, model, call, stand.cut, history):
        return
    reach = max(stand.cut, model.floor(stand, notes, steps, rules.low_fraction))
    cuts = {cut for cut in model.cuts(steps, model.settings.keep_fraction) if stand.cut <= cut <= reach} | {reach}
    for cut in sorted(cuts) if model.settings.chain else ():
        left, then = Stand(cut, stand.users), notes + model.appended(stand.cut, cut)
        fits = model.history(left, then, steps) <= model.room
        if cut > stand.cut and fits and model.append_allowed(left, then):
            yield left, then, model.standing_billed(stand, notes)
    for tries, attempt in enumerate(model.attempts()):
        if tries:
            reach = max(stand.cut, model.last_cut(steps, attempt.keep_fraction))
            gentler = model.cuts(steps, attempt.keep_fraction) if tries < FULL_TRIES else []
            cuts = {cut for cut in gentler if stand.cut <= cut <= reach} | {reach}
        made = [model.folded(cut, stand.users, steps, attempt) for cut in sorted(cuts) if cut]
        fitting = [each for each in made if each and model.history(*each, steps) <= model.room]
        for left, then in fitting:
            yield left, then, model.sizes.fixed.estimate
        if fitting or history <= model.room:
            return


def test_a_dearer_way_with_fewer_notes_is_kept_when_it_may_turn_out_cheaper() -> None:
    """By price alone the way to the optimum is given up, and 243.55 is what is left."""
    tokens = (2, 5, 41, 23, 4, 6, 3, 9, 68)
    steps = tuple(_atom(seq, size, user=not seq) for seq, size in enumerate(tokens))
    moments = tuple(CallContext(at + 1, new_turn=True, cold=False) for at in range(len(steps)))
    chosen = replace(BASE, note_rate=0.5, notes_fraction=0.9, fold_fraction=0.1)
    model = Model(Sizes(steps, moments, Cost(5, 5), (0, *(4,) * len(steps)), 94), chosen)
    rules = Rules(0.0, 0.0, 0.0, 1.0, 0.0)
    found = cheapest(model, rules, inherits=False)
    assert found is not None
    assert found.price == pytest.approx(240.35)
    assert found.price == pytest.approx(_least(model, rules))


@given(_models())
def test_the_cheapest_schedule_is_the_best_of_all_when_events_are_permitted_anywhere(model: Model) -> None:
    """Nothing can be inherited there but what a fold has to be tried harder for, so both are equal unless it was."""
    found = cheapest(model, ANYWHERE)
    least = _least(model, ANYWHERE)
    if found is None:
        assert least == NEVER
    elif found.borrowed:
        assert found.price <= least + 1e-6
    else:
        assert found.price == pytest.approx(least)


@given(_models(), _RULES)
def test_the_best_of_all_lies_between_the_bound_and_what_was_found(model: Model, rules: Rules) -> None:
    """With inherited permissions nothing is cheaper, without them every event is permitted; equal without a loan."""
    least = _least(model, rules)
    bound, found = cheapest(model, rules), cheapest(model, rules, inherits=False)
    assert (bound.price if bound else NEVER) <= least + 1e-6
    assert (found.price if found else NEVER) >= least - 1e-6
    if bound and not bound.borrowed:
        assert bound.price == pytest.approx(least)


@given(_models(), _RULES)
def test_a_schedule_costs_what_the_search_says_when_it_is_driven_through_the_model(model: Model, rules: Rules) -> None:
    """Call by call, with its own events."""
    found = cheapest(model, rules, inherits=False)
    if found is not None:
        again, mean = driven(model, found.changes)
        assert again.price == pytest.approx(found.price)
        assert sum(spent_on(model, found.changes)) == pytest.approx(found.price)
        assert mean > 0


@given(_models(), _RULES)
def test_the_least_of_the_rest_is_no_more_than_a_schedule_costs_from_there_on(model: Model, rules: Rules) -> None:
    """At each event of the cheapest schedule: what stands behind it is continued at no less."""
    found = cheapest(model, rules, inherits=False)
    rest = least_rest(model, rules)
    stand, notes = Stand(), 0.0
    for change in found.changes if found else ():
        assert rest[change.call][stand.cut] <= _least(model, rules, change.call, stand, notes) + 1e-6
        stand, notes = change.stand, change.notes_tokens


@given(_models(), _RULES)
def test_a_limit_leaves_the_cheapest_schedule_when_it_costs_no_more(model: Model, rules: Rules) -> None:
    """What is left out by the least that the rest can cost is never the optimum."""
    found = cheapest(model, rules)
    if found is not None:
        again = cheapest(model, rules, found.price)
        assert again is not None
        assert again.price == pytest.approx(found.price)
        assert sum(spent_on(model, found.changes)) == pytest.approx(found.price)
        assert cheapest(model, rules, found.price * 0.99 - 1) is None
