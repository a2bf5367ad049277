"""The outcome of a replay as values that JSON holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from squidbot.core.errors import BudgetError
from squidbot.replay.metrics import AGES_TOKENS, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.replay.charges import Charges
    from squidbot.replay.runner import Event, Failure, Outcome
    from squidbot.replay.wiring import Terms

__all__ = ["Results", "Row", "Totals", "on_front", "percentile", "to_json"]

JsonObject = dict[str, object]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy of a comparison, over all conversations; `ours` says that it is squidbot's."""

    name: str
    ours: bool
    tally: Tally


@dataclass(frozen=True, slots=True)
class Results:
    """What one run came to: under which terms, each conversation, the policies beside it (none: not asked for)."""

    terms: Terms
    outcomes: tuple[Outcome, ...]
    rows: tuple[Row, ...] = ()


def on_front(rows: Sequence[Row]) -> tuple[bool, ...]:
    """Return of each policy whether it is on the front of cost and recall.

    Only those count that made every request, within the window and with whole pairs. One of them is on the front where
    no other is cheaper and recalls as much, or costs as much and recalls more: of the names and numbers of any age.
    """
    most = max((row.tally.calls for row in rows), default=0)
    points = [
        (row.tally.bite, -(row.tally.nlr[AGES_TOKENS[0]] or 0.0)) if _sound(row.tally, most) else None for row in rows
    ]
    sound = [point for point in points if point is not None]
    return tuple(point is not None and not any(_better(other, point) for other in sound) for point in points)


def _sound(tally: Tally, calls: int) -> bool:
    return tally.calls == calls and not tally.over and not tally.pairs_broken


def _better(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether a point is worse in nothing, and better in something; less is better in both."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@dataclass(slots=True)
class Totals:
    """All conversations of a run together; the names are those of `Outcome`, `failures` with the conversation's id."""

    tally: Tally = field(default_factory=Tally)
    messages: int = 0
    calls: int = 0
    said_tokens: int = 0
    everything_billed: float = 0.0
    largest_bound_tokens: int = 0
    limit_tokens: int = 0
    events: int = 0
    unexplained: int = 0
    failures: list[tuple[str, Failure]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Totals:
        """Return the sums; of one conversation they are its own figures."""
        totals = cls()
        for outcome in outcomes:
            totals.add(outcome)
        return totals

    def add(self, outcome: Outcome) -> None:
        """Take in one conversation."""
        self.tally.add(outcome.tally)
        self.messages += len(outcome.conversation.messages)
        self.calls += outcome.calls
        self.said_tokens += outcome.said_tokens
        self.everything_billed += outcome.everything_billed
        largest = max((one.largest_bound_tokens, one.limit_tokens) for one in (self, outcome))
        self.largest_bound_tokens, self.limit_tokens = largest
        self.events += len(outcome.events)
        self.unexplained += len(outcome.unexplained)
        self.failures.extend((outcome.conversation.id, failure) for failure in outcome.failures)
        self.seconds.extend(outcome.seconds)

    @property
    def everything_bite(self) -> float:
        """What sending everything would be billed a call, in input-token equivalents."""
        return self.everything_billed / max(1, self.calls)

    @property
    def over_budget(self) -> list[BudgetError]:
        """The errors of the calls whose request can't be made to fit."""
        return [failure.error for _, failure in self.failures if isinstance(failure.error, BudgetError)]


def to_json(results: Results) -> JsonObject:
    """Return the one object that `squidbot replay --json` prints."""
    outcomes = results.outcomes
    compared: JsonObject = {"compare": [*map(_row, results.rows, on_front(results.rows))]} if results.rows else {}
    if len(outcomes) == 1:
        return {**_conversation(outcomes[0], results.terms), **compared}
    totals = Totals.of(outcomes)
    return {
        "conversations": [_conversation(outcome, results.terms) for outcome in outcomes],
        "totals": {
            **_terms(results.terms),
            "conversations": len(outcomes),
            **_measures(totals),
            "events": totals.events,
            "budget_errors": len(totals.over_budget),
            "refused": len(totals.failures) - len(totals.over_budget),
        },
        **compared,
    }


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the smallest value that `share` of the values don't pass (nearest rank); None for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _conversation(outcome: Outcome, terms: Terms) -> JsonObject:
    return {
        "transcript": outcome.conversation.path,
        "id": outcome.conversation.id,
        **_terms(terms),
        **_measures(Totals.of([outcome])),
        "breaks_without_event": outcome.unexplained,
        "events": [_event(event) for event in outcome.events],
        **_failures(outcome),
    }


def _terms(terms: Terms) -> JsonObject:
    return {
        "window": terms.lease.window_tokens,
        "reserve": terms.lease.reserved_output_tokens,
        "strategy": terms.strategy,
        **({"profile": terms.profile} if terms.profile else {}),
        "counter": terms.meter.physical.name,
        "certificate": terms.meter.certificate,
        "unit": terms.unit,
        "mode": terms.mode,
        "prices": _prices(terms.charges),
    }


def _prices(charges: Charges) -> JsonObject:
    """Return what was billed; a cache that is never forgotten has no number in JSON."""
    forgotten = None if math.isinf(charges.ttl_seconds) else charges.ttl_seconds
    as_of = charges.as_of or None
    return {"name": charges.name, "as_of": as_of, **charges.prices._asdict(), "ttl_seconds": forgotten}


def _measures(totals: Totals) -> JsonObject:
    tally = totals.tally
    return {
        "calls": totals.calls,
        "messages": totals.messages,
        "said_tokens": totals.said_tokens,
        **_tally(tally),
        "largest_bound_tokens": totals.largest_bound_tokens if tally.calls else None,
        "bite_of_everything": totals.everything_bite,
        "seconds_per_call": {"p50": percentile(totals.seconds, 0.5), "p99": percentile(totals.seconds, 0.99)},
    }


def _tally(tally: Tally) -> JsonObject:
    """Return the measures of requests; null where there was none: nothing is kept, and nothing is saved, by none."""
    made = {
        "over": tally.over,
        "pairs_broken": tally.pairs_broken,
        "breaks": tally.breaks,
        "mean_tokens": tally.mean_tokens,
        "largest_tokens": tally.largest_tokens,
        "reuse": tally.reuse,
        "bite": tally.bite,
        "users_verbatim": tally.users_verbatim,
        "nlr": {str(age): share for age, share in tally.nlr.items()},
    }
    return made if tally.calls else {name: value if name == "nlr" else None for name, value in made.items()}


def _row(row: Row, front: bool) -> JsonObject:  # noqa: FBT001  # it comes from a map over both
    return {"policy": row.name, "squidbot": row.ours, "front": front, "calls": row.tally.calls, **_tally(row.tally)}


def _event(event: Event) -> JsonObject:
    plan = event.plan
    return {
        "call": event.call,
        "cause": plan.cause,
        "first_changed": asdict(plan.first_changed) if plan.first_changed else None,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "price": plan.price._asdict() if plan.price else None,
    }


def _failures(outcome: Outcome) -> JsonObject:
    unfit, refused = [], []
    for call, error in outcome.failures:
        if isinstance(error, BudgetError):
            amounts = {"cost": error.cost, "budget": error.budget, "unit": error.unit}
            unfit.append({"call": call, "culprit": error.culprit, **amounts, "key": error.key})
        else:
            refused.append({"call": call, "reason": str(error)})
    return {"budget_errors": unfit, "refused": refused}
