"""How far the engine's schedule of events is from the cheapest one for a known future, under the same floors.

A recorded conversation is replayed through the engine; its events, and what notes cost, go into a model of prices
(`schedule_model` says what it assumes), which is then searched for the cheapest schedule (`schedule_search`). How far
the model is from what was measured says how much a comparison means. The floors are the engine's: the newest messages
that stay raw (`keep_fraction`), the user's messages that stay verbatim, the room of notes, and that everything is sent
raw until it passes the high-water mark once (promise 9). Above them events may come before any turn, and inside a tool
loop where nothing fits, at whatever size. A second search leaves promise 9 out: it shows what that costs.

The search gives up ways that hardly can be best, so beside the schedule that it found stands a price below which there
is none. Where the rest goes is in the rows: what is new costs the same whoever schedules; to wait is to read more
again, to be early is to write more anew.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.host import CODEC
from benchmarks.report import Bar, Result, Table
from benchmarks.schedule_model import Rules
from benchmarks.schedule_online import Spent, driven, run, spent_on
from benchmarks.schedule_search import cheapest
from benchmarks.talk import conversation
from squidbot.codecs.transcripts import Conversation, read_transcripts
from squidbot.core.tokens.counters import builtin_counter
from squidbot.replay.terms import terms_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.schedule_model import Model
    from benchmarks.schedule_online import Online
    from benchmarks.schedule_search import Change, Found
    from squidbot.core.ports import TokenCounter
    from squidbot.core.settings import HistorySettings

__all__ = ["MOST_TURNS", "Amount", "conversations", "measure"]

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "session.jsonl"
# For the answer, as the scorer of recorded conversations has it.
RESERVE_TOKENS = 4_096
# Of the generated talk: half a million tokens.
MOST_TURNS = 150
# Issue 4: at most so many times the best schedule in hindsight.
MOST_TIMES = 1.15
# Beyond that the comparison says nothing.
MOST_ERROR = 0.05
HINDSIGHT, UNBOUND = "in hindsight", "without promise 9"
# The engine's schedule is no upper bound: the model may refuse an event of it by a few tokens.
SLACK = 1.1


class Amount(NamedTuple):
    """What is measured: windows in tokens, turns of the generated talk, a transcript instead of it and the example."""

    windows: tuple[int, ...]
    turns: int
    transcript: Path | None = None


class _Best(NamedTuple):
    """The cheapest schedule found under a set of rules, all of it permitted, and the price below which none is."""

    found: Found
    least: float


def measure(amount: Amount, counter: TokenCounter | None, progress: Callable[[str], None]) -> Result:
    """Compare the engine's schedule with the cheapest ones, for each conversation and window."""
    counts = counter or builtin_counter("classes")
    result = Result("schedule")
    for said in conversations(amount):
        for window in amount.windows:
            name = f"{said.id} at {window:,}"
            progress(f"schedule: {name}: replaying")
            terms = terms_for(window, RESERVE_TOKENS, "balanced", counts, "tokens")
            online = run(said, terms, counts)
            best: dict[str, _Best] = {}
            for rules_name, rules in _rules(terms.settings).items():
                progress(f"schedule: {name}: searching, {rules_name}")
                found = _best(online, rules, [one.least for one in best.values()])
                if found:
                    best[rules_name] = found
            _enter(result, name, online, best)
    return result


def conversations(amount: Amount) -> Iterable[Conversation]:
    """Return what is replayed: a transcript's conversations, or the example and the generated talk."""
    if amount.transcript is not None:
        return read_transcripts(str(amount.transcript))
    return [*read_transcripts(str(EXAMPLE)), _talk(amount.turns)]


def _talk(turns: int) -> Conversation:
    """Return the generated talk as a recorded conversation."""
    said = [
        replace(message, time=call.time)
        for turn in conversation(turns)
        for call in turn
        for message in (*call.incoming, call.reply)
    ]
    places = tuple(range(len(said)))
    return Conversation("talk", "", CODEC.tag, tuple(said), places, places, (None,) * len(said))


def _rules(settings: HistorySettings) -> dict[str, Rules]:
    return {HINDSIGHT: Rules(settings.high_fraction, 0.0, 0.0, 1.0, 0.0), UNBOUND: Rules(0.0, 0.0, 0.0, 1.0, 0.0)}


def _best(online: Online, rules: Rules, narrower: list[float]) -> _Best | None:
    model = online.model
    at_most = SLACK * driven(model, online.changes)[0].price
    found = cheapest(model, rules, at_most, inherits=False) or cheapest(model, rules, inherits=False)
    if found is None:
        return None
    bound = cheapest(model, rules, found.price)
    least = min([found.price if bound is None else bound.price, *narrower])
    return _Best(found, least)


def _enter(result: Result, name: str, online: Online, best: dict[str, _Best]) -> None:
    mine, _ = driven(online.model, online.changes)
    measured = online.outcome.tally.billed
    result.tables.append(Table(f"schedule of events, {name}", ("the engine", *best), _rows(online, mine, best)))
    error = abs(mine.price / measured - 1) if measured else float("nan")
    result.bars.append(Bar(f"error of the model, {name}", error, at_most=MOST_ERROR))
    if HINDSIGHT in best:
        times = mine.price / best[HINDSIGHT].found.price
        result.bars.append(Bar(f"x the best schedule found, {name}", times, at_most=MOST_TIMES))


def _rows(online: Online, mine: Found, best: dict[str, _Best]) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    model = online.model
    calls = max(1, len(model.sizes.moments))
    others = list(best.values())
    schedules = [mine, *(other.found for other in others)]
    figures = [_figures(model, schedule.changes) for schedule in schedules]
    return (
        ("bite, measured", (online.outcome.tally.bite, *(None for _ in best))),
        ("bite, by the model", tuple(schedule.price / calls for schedule in schedules)),
        ("no schedule costs less than", (None, *(other.least / calls for other in others))),
        ("the engine's is x times it", (None, *(mine.price / other.found.price for other in others))),
        ("  at most", (None, *(mine.price / other.least for other in others))),
        *_spent(model, schedules),
        *((row, tuple(each[row] for each in figures)) for row in figures[0]),
    )


def _spent(model: Model, schedules: Sequence[Found]) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """Yield what a call costs, part by part."""
    calls = max(1, len(model.sizes.moments))
    spent = [spent_on(model, schedule.changes) for schedule in schedules]
    for part in Spent._fields:
        yield f"  {part.replace('_', ' ')}", tuple(getattr(one, part) / calls for one in spent)


def _figures(model: Model, changes: tuple[Change, ...]) -> dict[str, float | None]:
    return {
        "events": len(changes),
        "  folds": sum(change.folds for change in changes),
        "  inside a tool loop": _inside(model, changes),
        "history before an event, of its room": _before(model, changes),
        "history behind it": _behind(model, changes),
        "raw messages behind it": _raw(model, changes),
        "mean request, tokens": driven(model, changes)[1],
    }


def _inside(model: Model, changes: tuple[Change, ...]) -> int:
    return sum(not model.sizes.moments[change.call].new_turn for change in changes)


def _before(model: Model, changes: tuple[Change, ...]) -> float | None:
    """Return the mean share of the room that the history had before an event."""
    if not changes:
        return None
    first = model.raw_bound(0, model.sizes.moments[changes[0].call].steps)
    sizes = [float(first)]
    for before, change in pairwise(changes):
        sizes.append(model.history(before.stand, before.notes_tokens, model.sizes.moments[change.call].steps))
    return sum(sizes) / len(sizes) / model.room


def _behind(model: Model, changes: tuple[Change, ...]) -> float | None:
    sizes = [
        model.history(change.stand, change.notes_tokens, model.sizes.moments[change.call].steps) / model.room
        for change in changes
    ]
    return sum(sizes) / len(sizes) if sizes else None


def _raw(model: Model, changes: tuple[Change, ...]) -> float | None:
    sizes = [
        model.raw_bound(change.stand.cut, model.sizes.moments[change.call].steps) / model.room for change in changes
    ]
    return sum(sizes) / len(sizes) if sizes else None
