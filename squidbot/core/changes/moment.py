"""The circumstances of one call: what room they leave for history, how full it is, and what does not fit in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.ladder import pressure_of
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Cost, Kind
from squidbot.core.view.renderer import is_user_part, spent

if TYPE_CHECKING:
    from squidbot.core.extended import Extended
    from squidbot.core.messages import Part
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Standing

__all__ = ["IN_FLIGHT", "Moment", "check_fixed", "fullness", "pressure_fraction", "room_of", "too_much"]

# What to change where a request does not fit (docs/configuration.md).
_WINDOW_KEY = "window.default or models.<name>.context_window"
_PINNED_KEY = "history.pinned_fraction"
# Beside these, by what is too much.
_MORE = {"user messages": ", or set history.user_messages to graceful"}
# What is too much where nothing else is: what must be sent of the newest turn.
IN_FLIGHT = "current turn"
# How many pins an error names.
MOST_NAMED = 8
_POLICY_KEY = "window.safety_fraction or budget.context_total_max_words"


class Moment(NamedTuple):
    """The circumstances of one call.

    Attributes:
        limit: what the whole request may cost.
        system: the host's system text as a part; empty for none.
        tools: what its tool definitions cost.
        notices: what the notices cost that keep a request valid: the one in front, the one behind.
        new_turn: whether the newest message opens a turn.
        cold: whether the provider has forgotten the cached prefix.
        stored: how many messages are in the store; later ones came with this call and stay raw.
        changed: the cause that lies outside the history ("tools-changed", ...), None where there is none.
        now: seconds since 1970, None where unknown.
        paused: whether compaction rests, having saved too little.
        unit: what estimates count: "tokens", or the policy's "words".
        outside_changed: whether system text or tools are others than in the request before, whatever the cause is.
        extended: what extensions say of the call; None for none.
        strict: whether no message of the user's may give way.
        again: whether the plan in force was made by this very call, which is tried once more.
        most_pinned: what is pinned may cost so many tokens, as a bound; 0 for any number.
    """

    limit: Cost
    system: tuple[Part, ...]
    tools: Cost
    notices: tuple[Cost, Cost]
    new_turn: bool
    cold: bool
    stored: int
    changed: str | None
    now: float | None
    paused: bool
    unit: str
    outside_changed: bool = False
    extended: Extended | None = None
    strict: bool = False
    most_pinned: int = 0
    again: bool = False

    def verdict(self, due: str | None, fraction: float) -> str | None:
        """Return the cause of an event before a new turn as extensions want it: `due`, "high-water", or None for none.

        What they ask for has to save as much as what a mark fires.
        """
        said = None if self.extended is None else self.extended.should_compact(fraction, due=due is not None)
        if said is None:
            return due
        return (due or "high-water") if said else None

    def outside(self, standing: Standing) -> Cost:
        """Return what is sent beside the session: system text, tools, and the notices that it needs."""
        estimate, bound = self.tools
        for part in self.system:
            estimate += part.cost.estimate
            bound += part.cost.bound
        cost, (opening, closing) = Cost(estimate, bound), standing.needs_notices
        cost = cost.plus(self.notices[0]) if opening else cost
        return cost.plus(self.notices[1]) if closing else cost


def room_of(standing: Standing, moment: Moment) -> Cost:
    """Return what history may cost: the limit less system text, tools and head; below 0 where these don't fit."""
    limit, fixed, beside = moment.limit, standing.fixed, moment.outside(standing)
    return Cost(limit.estimate - fixed.estimate - beside.estimate, limit.bound - fixed.bound - beside.bound)


def pressure_fraction(history: Cost, room: Cost) -> float:
    """Return history's share of its room, in the unit that binds; above 1 where it does not fit."""
    if room.bound <= 0 or room.estimate <= 0:
        return float("inf") if history.bound or history.estimate else 0.0
    return max(history.bound / room.bound, history.estimate / room.estimate)


def fullness(standing: Standing, moment: Moment) -> float:
    """Return how full the room beside the summaries is, as the ladder takes it; above 1 where it does not fit."""
    return pressure_of(standing.history, standing.summaries, room_of(standing, moment))


def check_fixed(standing: Standing, moment: Moment, renderer: Renderer) -> None:
    """Check that what is sent in any case leaves room for a conversation, and what is pinned keeps below its ceiling.

    Raises:
        BudgetError: it does not.
    """
    if moment.most_pinned:
        _check_pinned(standing, moment.most_pinned, renderer)
    room = room_of(standing, moment)
    if room.bound <= 0 or room.estimate <= 0:
        raise too_much(standing, moment, standing.fixed.plus(moment.outside(standing)))


def _check_pinned(standing: Standing, most_tokens: int, renderer: Renderer) -> None:
    pins = standing.pins
    said = [part for part in standing.sent if part.first_seq in pins.seqs and part.kind is not Kind.PIN]
    cost = spent((*said, *map(renderer.section, pins.texts))).bound
    if cost <= most_tokens:
        return
    named = [one.name.removeprefix("pin ") for one in pins.texts] + [f"m{part.first_seq}" for part in said]
    named = [*named[:MOST_NAMED], *(["..."] if len(named) > MOST_NAMED else [])]
    detail = f"pinned are {', '.join(named)}; take some away with `pin`; together they cost"
    raise BudgetError("pins", cost=cost, budget=most_tokens, unit="tokens", key=_PINNED_KEY, detail=detail)


def too_much(standing: Standing, moment: Moment, cost: Cost, rest_is: str = IN_FLIGHT) -> BudgetError:
    """Return the error for a request of `cost` that can't be made smaller; the largest of its parts is named.

    `rest_is` says what all is that has no name of its own here.
    """
    by_estimate = cost.bound <= moment.limit.bound
    what = {
        "system text": spent((*standing.lead, *moment.system)),
        "tools": moment.tools,
        "marked lines": spent(part for part in standing.sent if part.kind is Kind.MARKED),
        "pins": spent(part for part in standing.sent if _is_pinned(part, standing)),
        "memory document": spent(part for part in standing.head if part.kind is Kind.MEMORY),
    }
    if moment.strict:
        what["user messages"] = spent(part for part in standing.sent if _stays(part, standing))
    rest = cost
    for one in what.values():
        rest = Cost(rest.estimate - one.estimate, rest.bound - one.bound)
    what[rest_is] = rest

    def size(one: Cost) -> int:
        return one.estimate if by_estimate else one.bound

    culprit = max(what, key=lambda name: size(what[name]))
    told = _marked_count(standing) if culprit == "marked lines" else ""
    shown = f"{culprit}: {size(what[culprit])}{told}; with all that must stand beside it the request costs"
    unit, key = (moment.unit, _POLICY_KEY) if by_estimate else ("tokens", _WINDOW_KEY)
    key += _MORE.get(culprit, "")
    return BudgetError(culprit, cost=size(cost), budget=size(moment.limit), unit=unit, key=key, detail=shown)


def _marked_count(standing: Standing) -> str:
    """Return how many lines are marked, and how they can be taken away."""
    lines = standing.markers.between(0, standing.messages)
    return f" ({len(lines)} goals and decisions; `forget` takes away those of a message)"


def _stays(part: Part, standing: Standing) -> bool:
    """Return whether a part is a message of the user's from before the current turn, pinned ones aside."""
    return is_user_part(part) and part.first_seq < standing.turn and not _is_pinned(part, standing)


def _is_pinned(part: Part, standing: Standing) -> bool:
    return part.kind is Kind.PIN or part.first_seq in standing.pins.seqs
