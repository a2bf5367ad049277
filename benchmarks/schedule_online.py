"""The engine's own schedule on a recorded conversation, and that conversation in the numbers of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.schedule_model import READ_PRICE, WRITE_PRICE, CallContext, Fills, Model, Sizes, Stand
from benchmarks.schedule_search import Change, Found
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.notes.extract import render
from squidbot.core.notes.notebook import Ledger, Notebook
from squidbot.core.plan import Representation
from squidbot.core.view.renderer import Renderer
from squidbot.core.view.steps import session_blocks, steps_of, total
from squidbot.replay.metrics import CACHE_TTL_SECONDS, Ruler
from squidbot.replay.recording import CODECS
from squidbot.replay.runner import replay

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import StoredMessage
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import TokenCounter
    from squidbot.core.view.steps import Step
    from squidbot.replay.runner import ReplayCall, ReplayOutcome
    from squidbot.replay.terms import Terms

__all__ = ["Online", "Spent", "driven", "run", "spent_on"]

# Between two messages without a time; as the replay assumes it.
ASSUMED_STEP_SECONDS = 8.0
# Depths to choose from at an event, beside the one of the rule for what stays raw. With 16 instead of 8 the bound on a
# recorded coding session at 128K was 5,431 instead of 5,448, and 6,380 as before under the engine's own marks.
DEPTHS = 8


class Online(NamedTuple):
    """What the engine did: its measures, the model of its conversation, its events as the model has them."""

    outcome: ReplayOutcome
    model: Model
    changes: tuple[Change, ...]


class Spent(NamedTuple):
    """What a schedule's price is spent on, in input-token equivalents: they add up to it."""

    what_is_new: float
    read_again: float
    written_anew_at_events: float
    written_anew_after_pauses: float


class _Event(NamedTuple):
    """An event as it was recorded: what the model takes of it, and the tokens of the notes that it made."""

    call: int
    stand: Stand
    before: Stand
    folds: bool
    notes_tokens: int


def run(conversation: Conversation, terms: Terms, counter: TokenCounter) -> Online:
    """Replay a conversation through the engine, and return its schedule beside the model of it.

    Raises:
        ValueError: the settings cut outputs inside the history, which the model does not know.
    """
    if terms.settings.slim_fraction:
        raise ValueError(f"the model knows no slimmed outputs, so the strategy {terms.strategy!r} is not for it")
    store = InMemoryStore()
    calls: list[ReplayCall] = []
    outcome = replay(conversation, terms, store, Ruler(counter), calls.append)
    rows = store.read(conversation.id, 0, len(conversation.messages))
    lead = next((at for at, row in enumerate(rows) if row.role != "system"), len(rows))
    steps = tuple(steps_of(rows[lead:]))
    moments = _moments(rows, steps, calls)
    sizes = Sizes(steps, moments, total(row.sent_cost for row in rows[:lead]), (), terms.limit_tokens)
    model = Model(sizes, terms.settings)
    notes = Notebook(conversation.id, Renderer(terms.meter, CODECS), store, store)
    model = Model(sizes._replace(told=_told(notes, model, counter)), terms.settings)
    events = list(_events(steps, outcome))
    made = store.for_range(conversation.id, 0, len(rows))
    cost = total(summary.cost for summary in made)
    fills = Fills(billed=cost.estimate / cost.bound if cost.bound else 1.0)
    model = Model(model.sizes, terms.settings, _measured(model, events, fills), DEPTHS)
    return Online(outcome, model, tuple(_changes(model, events)))


def driven(model: Model, changes: Iterable[Change]) -> tuple[Found, float]:
    """Return a schedule with what it costs in the model, and the mean size of its requests in billed tokens."""
    by_call = {change.call: change for change in changes}
    stand, notes = Stand(), 0.0
    price = tokens = 0.0
    for call, moment in enumerate(model.sizes.moments):
        change = by_call.get(call)
        if change is None:
            price += model.extended(call, stand, notes)
        else:
            kept = model.sizes.fixed.estimate if change.folds else model.standing_billed(stand, notes)
            stand, notes = change.stand, change.notes_tokens
            price += model.changed(call, stand, notes, kept)
        tokens += model.request_billed(stand, notes, moment.steps)
    return Found(price, tuple(by_call.values())), tokens / max(1, len(model.sizes.moments))


def spent_on(model: Model, changes: Iterable[Change]) -> Spent:
    """Return what a schedule's price is spent on."""
    by_call = {change.call: change for change in changes}
    stand, notes, said = Stand(), 0.0, 0
    parts = Spent(0.0, 0.0, 0.0, 0.0)
    for call, moment in enumerate(model.sizes.moments):
        before = model.request_billed(stand, notes, said) if call else 0.0
        kept, change = before, by_call.get(call)
        if change is not None:
            kept = model.sizes.fixed.estimate if change.folds else model.standing_billed(stand, notes)
            stand, notes = change.stand, change.notes_tokens
        tokens = model.request_billed(stand, notes, moment.steps)
        cached = 0.0 if moment.cold or not call else kept
        new = model.billed[moment.steps] - model.billed[said] if call else tokens
        anew = WRITE_PRICE * (tokens - cached - new)
        cold = bool(call) and moment.cold
        parts = Spent(
            parts.what_is_new + WRITE_PRICE * new,
            parts.read_again + READ_PRICE * cached,
            parts.written_anew_at_events + (0.0 if cold else anew),
            parts.written_anew_after_pauses + (anew if cold else 0.0),
        )
        said = moment.steps
    return parts


def _moments(
    rows: Sequence[StoredMessage], steps: Sequence[Step], calls: Sequence[ReplayCall]
) -> tuple[CallContext, ...]:
    times: list[float] = []
    for row in rows:
        times.append(row.time if row.time is not None else times[-1] + ASSUMED_STEP_SECONDS if times else 0.0)
    moments: list[CallContext] = []
    said, sent_at = 0, float("-inf")
    for call in calls:
        while said < len(steps) and steps[said].last_seq < call.index:
            said += 1
        now = times[call.index - 1]
        moments.append(CallContext(said, bool(said) and steps[said - 1].is_user, now - sent_at > CACHE_TTL_SECONDS))
        sent_at = now
    return tuple(moments)


def _told(notes: Notebook, model: Model, counter: TokenCounter) -> tuple[int, ...]:
    """Return for each cut the most that one note on everything before it says, up to the largest that is asked for."""
    settings, steps = model.settings, model.sizes.steps
    most = round(settings.notes_fraction * model.room * settings.fold_fraction)
    blocks = session_blocks(steps, gap_seconds=settings.gap_seconds, max_tokens=settings.block_max_tokens(model.room))
    ledger, said = Ledger(), 0
    told = [0]
    for block in blocks:
        if said < most:
            ledger = ledger.taking(notes.read(block)[0], settings.fading_tokens)
            text = render(ledger.reading, header="", limit_tokens=most, counter=counter).text or ""
            said = max(said, most if _nearly(counter.upper_bound(text), most) else counter.upper_bound(text))
        step = (said - told[-1]) / len(block)
        told += [round(told[-1] + step * (at + 1)) for at in range(len(block))]
    return tuple(told)


def _nearly(tokens: int, most: int) -> bool:
    return tokens >= 0.95 * most


def _events(steps: Sequence[Step], outcome: ReplayOutcome) -> Iterable[_Event]:
    before = Stand()
    standing: PlanRecord | None = None
    for call, plan in outcome.events:
        cut = sum(step.last_seq < plan.tail_from_seq for step in steps)
        stand = Stand(cut, _users_gone(steps[:cut], plan))
        old = standing.segments if standing else ()
        appended = {segment.representation for segment in plan.segments[len(old) :]} <= {Representation.SUMMARY_USER}
        folds = plan.segments[: len(old)] != old or not appended
        made = plan.segments if folds else plan.segments[len(old) :]
        yield _Event(call, stand, before, folds, sum(one.note_tokens for one in made))
        before, standing = stand, plan


def _users_gone(noted: Sequence[Step], plan: PlanRecord) -> int:
    """Return how many of the user's messages in front of the cut are not sent any more."""
    verbatim = {seq for segment in plan.segments for seq in segment.verbatim}
    return sum(step.is_user and step.first_seq not in verbatim for step in noted)


def _measured(model: Model, events: Sequence[_Event], fills: Fills) -> Fills:
    """Return the shares of their room that the engine's notes took."""
    appended = [event for event in events if not event.folds]
    folded = [event for event in events if event.folds]
    by_rule = sum(model.appended(event.before.cut, event.stand.cut) for event in appended)
    limits = sum(_folded(model, event) for event in folded)
    return fills._replace(
        appended=sum(event.notes_tokens for event in appended) / by_rule if by_rule else 1.0,
        folded=sum(event.notes_tokens for event in folded) / limits if limits else 1.0,
    )


def _folded(model: Model, event: _Event) -> float:
    """Return what the model leaves to the notes of a fold: by the first attempt that fits with these users."""
    steps = model.sizes.moments[event.call].steps
    for attempt in model.attempts():
        made = model.folded(event.stand.cut, event.before.users, steps, attempt)
        if made and model.history(made[0], made[1], steps) <= model.room:
            return made[1]
    return 0.0


def _changes(model: Model, events: Iterable[_Event]) -> Iterable[Change]:
    notes = 0.0
    for event in events:
        new = model.appended(event.before.cut, event.stand.cut)
        notes = _folded(model, event) if event.folds else notes + new
        yield Change(event.call, event.stand, notes, folds=event.folds, attempt=0, borrowed=False)
