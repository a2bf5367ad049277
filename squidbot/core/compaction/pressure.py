"""The circumstances of one call: the room for history, how full it is, and what does not fit in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.budget import HistoryItem, pressure_of
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Representation, Segment
from squidbot.core.view.renderer import is_user_part, spent
from squidbot.core.view.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.budget import HistoryCaps
    from squidbot.core.messages import Part, StoredMessage, Summary
    from squidbot.core.plan import NoteBlock, PlanRecord, Prices
    from squidbot.core.ports import CallExtensions
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.current import CurrentView, PlanBlock
    from squidbot.core.view.renderer import Renderer


# What to change if a request does not fit (docs/configuration.md).
_WINDOW_KEY = "window.default or models.<name>.context_window"
_PINNED_KEY = "history.pinned_fraction"
# Further advice, by the part that is too large.
_MORE = {"user messages": ", or set history.user_messages to graceful"}
# What to blame if no other part is too large: what must be sent of the newest turn.
IN_FLIGHT = "current turn"
# How many pins an error names.
MOST_NAMED = 8
_POLICY_KEY = "window.safety_fraction or budget.context_total_max_words"


class CallContext(NamedTuple):
    """The context of one call.

    Attributes:
        limit: the most that the whole request may cost.
        system: the host's system text as a part; empty without one.
        tools: the cost of its tool definitions.
        notices: the costs of the notices that keep a request valid: the opening one, the closing one.
        new_turn: whether the newest message opens a turn.
        cold: whether the provider has forgotten the cached prefix.
        stored: how many messages are in the store; later ones came with this call and stay raw.
        changed: the cause outside the history ("tools-changed", ...), or `None`.
        now: seconds since 1970; `None` if unknown.
        paused: whether compaction pauses because it saved too little.
        unit: what estimates count: "tokens", or the policy's "words".
        outside_changed: whether system text or tools differ from the previous request, whatever the cause is.
        extended: what extensions say about the call; `None` if nothing.
        strict: whether every message of the user must stay.
        again: whether this very call, now retried, made the plan in force.
        most_pinned: the most that pins may cost in tokens, as a bound; 0 for no limit.
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
    extended: CallExtensions | None = None
    strict: bool = False
    most_pinned: int = 0
    again: bool = False

    def verdict(self, due: str | None, fraction: float) -> str | None:
        """Return the cause of a compaction before a new turn, as extensions want it: `due`, "high-water", or `None`.

        What they ask for must save as much as what a mark triggers.
        """
        said = None if self.extended is None else self.extended.should_compact(fraction, due=due is not None)
        if said is None:
            return due
        return (due or "high-water") if said else None

    def outside(self, view: CurrentView) -> Cost:
        """Return the cost beside the session: system text, tools, and the notices that it needs."""
        estimate, bound = self.tools
        for part in self.system:
            estimate += part.cost.estimate
            bound += part.cost.bound
        cost, (opening, closing) = Cost(estimate, bound), view.needs_notices
        cost = cost.plus(self.notices[0]) if opening else cost
        return cost.plus(self.notices[1]) if closing else cost


def room_of(view: CurrentView, call: CallContext) -> Cost:
    """Return the room for history: the limit less system text, tools and head; below 0 if these don't fit."""
    limit, fixed, beside = call.limit, view.fixed, call.outside(view)
    return Cost(limit.estimate - fixed.estimate - beside.estimate, limit.bound - fixed.bound - beside.bound)


def pressure_fraction(history: Cost, room: Cost) -> float:
    """Return history's share of its room, in the unit that binds; above 1 if it does not fit."""
    if room.bound <= 0 or room.estimate <= 0:
        return float("inf") if history.bound or history.estimate else 0.0
    return max(history.bound / room.bound, history.estimate / room.estimate)


def fullness(view: CurrentView, room: Cost) -> float:
    """Return how full the room beside the summaries is, for the ladder; above 1 if history does not fit."""
    return pressure_of(view.history, view.summaries, room)


def marked_fraction(view: CurrentView, room: Cost, settings: HistorySettings) -> float:
    """Return history's share of its room as the high-water mark measures it; above 1 if it does not fit.

    The room is smaller where a number of tokens is the mark, and summaries leave both shares where settings say so.
    """
    room = settings.ladder.marked_room(room, settings.high_fraction)
    return fullness(view, room) if settings.beside_summaries else pressure_fraction(view.history, room)


def check_fixed(view: CurrentView, call: CallContext, renderer: Renderer, room: Cost | None = None) -> None:
    """Check that what is always sent leaves room for a conversation, and that pins stay below their ceiling.

    `room` is the room left for the conversation.

    Raises:
        BudgetError: one of them fails.
    """
    if call.most_pinned:
        _check_pinned(view, call.most_pinned, renderer)
    room = room or room_of(view, call)
    if room.bound <= 0 or room.estimate <= 0:
        raise too_much(view, call, view.fixed.plus(call.outside(view)))


def _check_pinned(view: CurrentView, most_tokens: int, renderer: Renderer) -> None:
    pins = view.pins
    if not pins.seqs and not pins.texts:
        return
    said = [part for part in view.sent if part.first_seq in pins.seqs and part.kind is not Kind.PIN]
    cost = spent((*said, *map(renderer.section, pins.texts))).bound
    if cost <= most_tokens:
        return
    named = [text.name.removeprefix("pin ") for text in pins.texts] + [f"m{part.first_seq}" for part in said]
    named = [*named[:MOST_NAMED], *(["..."] if len(named) > MOST_NAMED else [])]
    detail = f"pinned are {', '.join(named)}; take some away with `pin`; together they cost"
    raise BudgetError("pins", cost=cost, budget=most_tokens, unit="tokens", key=_PINNED_KEY, detail=detail)


def too_much(view: CurrentView, call: CallContext, cost: Cost, rest_is: str = IN_FLIGHT) -> BudgetError:
    """Return the error for a request of `cost` that can't be made smaller; it names the largest part.

    `rest_is` names everything that has no name of its own here.
    """
    by_estimate = cost.bound <= call.limit.bound
    what = {
        "system text": spent((*view.lead, *call.system)),
        "tools": call.tools,
        "marked lines": spent(part for part in view.sent if part.kind is Kind.MARKED),
        "pins": spent(part for part in view.sent if _is_pinned(part, view)),
        "memory document": spent(part for part in view.head if part.kind is Kind.MEMORY),
    }
    if call.strict:
        what["user messages"] = spent(part for part in view.sent if _stays(part, view))
    rest = cost
    for one in what.values():
        rest = Cost(rest.estimate - one.estimate, rest.bound - one.bound)
    what[rest_is] = rest

    def size(one: Cost) -> int:
        return one.estimate if by_estimate else one.bound

    culprit = max(what, key=lambda name: size(what[name]))
    told = _marked_count(view) if culprit == "marked lines" else ""
    shown = f"{culprit}: {size(what[culprit])}{told}; with all that must stand beside it the request costs"
    unit, key = (call.unit, _POLICY_KEY) if by_estimate else ("tokens", _WINDOW_KEY)
    key += _MORE.get(culprit, "")
    return BudgetError(culprit, cost=size(cost), budget=size(call.limit), unit=unit, key=key, detail=shown)


def _marked_count(view: CurrentView) -> str:
    """Return how many lines are marked, and how to remove them."""
    lines = view.markers.between(0, view.messages)
    return f" ({len(lines)} goals and decisions; `forget` takes away those of a message)"


def _stays(part: Part, view: CurrentView) -> bool:
    """Return whether a part is an unpinned message of the user from before the current turn."""
    return is_user_part(part) and part.first_seq < view.turn and not _is_pinned(part, view)


def _is_pinned(part: Part, view: CurrentView) -> bool:
    return part.kind is Kind.PIN or part.first_seq in view.pins.seqs


# The input of a compaction, how hard it tries, and the port that takes notes for it.


class CompactionInput(NamedTuple):
    """The input of a compaction.

    Attributes:
        room: the room for history: the input limit less the fixed parts.
        blocks: the plan's segments as they are sent, oldest first, up to the first slimmed one.
        slimmed: the steps of the slimmed segments behind them, oldest first.
        tail: the steps behind those, all sent raw; the messages in flight are at their end.
        stored: how many messages the store holds; later ones came with this call and must stay raw.
        pinned: seqs of the messages of pinned steps.
        held: messages inside `blocks` that must be sent verbatim: pinned steps, the message being answered.
        in_flight_seq: the user message being answered.
        marked: gives the parts for a run's marked lines, by first and last seq, without the messages sent verbatim.
        raw_messages: how many messages the tail may keep beyond the mandatory ones; `None` for any number.
        cut_by_number: whether too many messages triggered it, so that it must leave just `raw_messages`.
        kept: what the caps leave raw of `slimmed` and `tail`; `None` without caps.
        unread: whether older messages were not read back, so that the user's words in them are unknown.
        beside: the cost of what is sent beside history: system text and tools, then the head, in tokens as bounds.
    """

    room: Cost
    blocks: tuple[PlanBlock, ...]
    slimmed: tuple[Step, ...]
    tail: tuple[Step, ...]
    stored: int
    pinned: frozenset[int]
    held: tuple[StoredMessage, ...]
    in_flight_seq: int
    marked: Callable[[int, int, Collection[int]], Sequence[Part]] = lambda _first, _last, _shown: ()
    raw_messages: int | None = None
    cut_by_number: bool = False
    kept: CapLimits | None = None
    unread: bool = False
    beside: tuple[int, int] = (0, 0)


class Compaction(NamedTuple):
    """One possible compaction: its segments, their new summaries, and where the raw tail begins.

    The first `kept_blocks` blocks stay unchanged; `runs` are (first, last) seqs of messages noted for the first time.
    """

    segments: tuple[Segment, ...]
    summaries: tuple[Summary, ...]
    tail_from_seq: int
    kept_blocks: int
    runs: tuple[tuple[int, int], ...] = ()

    def cause(self, asked: str) -> str:
        """Return the cause of its plan: a rollover if a request must be made to fit and there is no room for notes.

        Then only what must be sent remains, with the user's newest messages as far as they fit.
        """
        told = any(segment.representation is not Representation.ABSENT for segment in self.segments)
        return "rollover" if asked == "overflow" and not told else asked

    @property
    def merged_through(self) -> int:
        """The last message that a merged summary covers; -1 without one."""
        merged = [segment.last_seq for segment in self.segments if segment.representation is Representation.MERGED]
        return max(merged, default=-1)


class NoteTaker(Protocol):
    """Makes the notes that represent messages, with what language models wrote of them."""

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything covers.

        It includes noted messages that nothing represents now; `new_seq` if nothing was noted before.
        """

    def runs(self, after_seq: int) -> tuple[NoteBlock, ...]:
        """Return the blocks behind `after_seq`, oldest first; the kept part of each makes its own note."""

    def read_block(self, steps: Sequence[Step]) -> NoteBlock:
        """Read steps as a block that is noted for the first time; a compaction reads the same steps once."""

    def note(
        self,
        run: NoteBlock,
        before: Sequence[Part],
        limit_tokens: int,
        level: Representation = Representation.DETAILED,
    ) -> Summary:
        """Return notes on a block, without repeating `before`, the parts in front of them."""

    def merged_note(
        self, first_seq: int, last_seq: int, new: Sequence[NoteBlock], before: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, the end of a block.

        The blocks in `new` among them are noted for the first time; `before` is sent verbatim beside it.
        """

    def texts_on(self, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the language models' summaries that notes on these messages take sentences from, oldest first."""

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of its storage id; `source`: the digest of the input."""


class Reduction(NamedTuple):
    """How hard a compaction tries, as shares of the room: raw messages, slimmed ones, user messages, notes."""

    keep_fraction: float
    slim_fraction: float
    user_fraction: float
    notes_fraction: float
    gentle: bool = False


def reductions(settings: HistorySettings) -> list[Reduction]:
    """Return the attempts of one compaction, gentlest first; each is made only if the one before did not fit."""
    notes = settings.notes_fraction if settings.takes_notes else 0.0
    if settings.only_in_flight:
        fewer = [Reduction(0.0, 0.0, 0.0, share) for share in (notes, notes / 2, notes / 6) if share]
        return [*([fewer[0]._replace(gentle=True)] if fewer else []), *fewer, Reduction(0.0, 0.0, 0.0, 0.0)]
    users, low = settings.user_verbatim_fraction, settings.low_fraction
    return [
        Reduction(low, settings.slim_fraction, users, notes, gentle=True),
        Reduction(low, 0.0, users, notes),
        Reduction(low / 2, 0.0, users, notes),
        Reduction(low / 4, 0.0, users, notes),
        Reduction(0.0, 0.0, users, notes),
        # The assistant's messages and tool outputs give way before the user's messages.
        Reduction(0.0, 0.0, users, notes / 2),
        Reduction(0.0, 0.0, users, notes / 6),
        Reduction(0.0, 0.0, users / 4, notes / 6),
        Reduction(0.0, 0.0, 0.0, 0.0),
    ]


def retelling(settings: HistorySettings) -> list[Reduction]:
    """Return the attempts that rebuild all notes and keep the messages behind them while they fit."""
    if settings.only_in_flight:
        return reductions(settings)[1:2] if settings.takes_notes else []
    notes = settings.notes_fraction if settings.takes_notes else 0.0
    return [Reduction(1.0, settings.slim_fraction, settings.user_verbatim_fraction, notes)]


def by_bound(cost: Cost) -> int:
    """Return a cost in tokens, as a bound."""
    return cost.bound


def by_estimate(cost: Cost) -> int:
    """Return a cost in the policy's unit."""
    return cost.estimate


def noted_as(summary: Summary, representation: Representation, verbatim: tuple[int, ...]) -> Segment:
    """Return the segment of messages that a summary represents, with the `verbatim` ones behind it."""
    first, last = summary.first_seq, summary.last_seq
    return Segment(first, last, representation, summary.summary_id, verbatim, summary.cost.bound)


# When continuing costs more than a compaction: a high-water mark by price, below the one by size.

# The growth of requests is taken from the messages that are still raw and from these assumed earlier calls: right after
# a compaction there are too few. Its square root counts, so a guess that is off by half moves the mark by a quarter.
SUPPOSED_CALLS, SUPPOSED_TOKENS = 20, 500


class CompactionCost(NamedTuple):
    """What a compaction would remove from the request, and write to it; in tokens.

    Attributes:
        said: the raw messages.
        calls: how many requests they came with.
        taken: the part of them that it would remove.
        written: what it would rewrite: notes on them, and everything behind these.
        saved: how much shorter the request would be.
    """

    said: float
    calls: int
    taken: float
    written: float
    saved: float

    def pays_by(self, prices: Prices) -> float:
        """Return how much there is to remove; at 1, compactions cost least in the long run.

        The result is 0 if rereading is free, and infinite if a compaction is free: waiting then gains nothing.

        A compaction costs c = (write - read) written; what it removes, x, would be read again by each request. If x
        grows by g with each request, a request costs least on average if the next compaction comes at
        x = sqrt(2 c g / read): the order quantity of Harris (Factory 10, 1913), where a compaction is a setup and a
        reread token an item held. As x never falls until then, one more request also costs more than the mean from here
        on: the best stopping rule if x grows by chance.
        """
        growth = (self.said + SUPPOSED_CALLS * SUPPOSED_TOKENS) / (self.calls + SUPPOSED_CALLS)
        least = math.sqrt(2 * max(0.0, prices.write - prices.read) * self.written * growth)
        if not self.taken or not prices.read:
            return 0.0
        return math.sqrt(prices.read) * self.taken / least if least else math.inf


def pays(view: CurrentView, call: CallContext, settings: HistorySettings) -> bool:
    """Return whether continuing would cost more than a compaction now, and the compaction saves enough.

    Before the first compaction everything is sent raw up to the high-water mark, at any cost (promise 9).
    """
    if not settings.patience or not settings.chain or not view.blocks:
        return False
    room = room_of(view, call).bound
    cost = _cost_of_compaction(view, room, settings)
    whole = view.history.plus(view.fixed).plus(call.outside(view)).bound
    enough = cost.saved >= settings.min_saving_fraction * whole
    return enough and cost.pays_by(settings.prices) > settings.patience


def _cost_of_compaction(view: CurrentView, room: int, settings: HistorySettings) -> CompactionCost:
    said = view.tail.cost.bound
    prefix = view.history.bound - said
    notes = min(settings.note_rate * said, settings.notes_fraction * room)
    keeps = settings.raw_tokens(settings.low_fraction, room, prefix + notes)
    calls = passed = taken = 0
    for step, tokens in view.tail.step_tokens:
        passed += tokens
        if not step.is_own:  # the user's messages stay verbatim behind the notes
            calls += 1
            taken += tokens if passed > keeps else 0
    notes = settings.note_rate * taken
    told = sum(block.segment.note_tokens for block in view.blocks)
    folds = told + notes > settings.notes_fraction * room
    written = said - taken + notes + (prefix if folds else 0.0)
    return CompactionCost(said, calls, taken, written, taken - notes)


# The cost and the gain of breaking a prompt cache, in tokens weighted by their price.


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected after a compaction: requests grow by `growth_tokens` each until they reach `high_tokens`.

    `read_price` and `write_price` are the prices of a cached and of a newly written input token; an uncached one is 1.
    """

    high_tokens: float
    growth_tokens: float
    read_price: float
    write_price: float

    def cost_per_request(self, *, after: float, written: float) -> float:
        """Return the mean price of a request until the next compaction, with its share of what this one rewrites.

        `after` is the cost of history after the compaction, `written` the part that is rewritten. If a compaction
        leaves no room to grow, every request pays for its rewriting.
        """
        requests = max(1.0, (self.high_tokens - after) / max(1.0, self.growth_tokens))
        rewriting = (self.write_price - self.read_price) * written / requests
        return self.read_price * (after + self.high_tokens) / 2 + rewriting


def saves_enough(record: PlanRecord, settings: HistorySettings) -> bool:
    """Return whether a compaction shrinks the request enough to be worth breaking the cached prefix."""
    return record.tokens_before - record.tokens_after >= settings.min_saving_fraction * record.tokens_before


def pays_by_hand(record: PlanRecord, before: CurrentView) -> bool:
    """Return whether a compaction by hand changes anything: smaller, or with something verbatim again."""
    sent = {part.first_seq for part in before.sent if part.payload is not None}
    back = any(seq not in sent for segment in record.segments for seq in segment.verbatim)
    return back or record.tokens_after < record.tokens_before


# Caps in words on history: what stays raw, and what is cut, newest to oldest.

# The least that a cut leaves of a message, in the unit of the caps: the mark alone has 13 words.
LEAST_UNITS = 40


class CapLimits(NamedTuple):
    """What the caps leave raw.

    Attributes:
        steps: how many of the newest steps, including those of the current turn.
        limits: (seq, its most in the unit of the caps) of each message that is cut, in order.
        notes: the most that notes may cost, in that unit.
    """

    steps: int
    limits: tuple[tuple[int, int], ...]
    notes: int


def capped(
    steps: Sequence[Step], behind_seq: int, caps: HistoryCaps | None, pinned: Collection[int], *, noted: bool
) -> CapLimits | None:
    """Return what the caps leave of steps, oldest first; steps from `behind_seq` on are outside the caps.

    `None` without caps. `noted` means that notes represent older ones.
    """
    if caps is None:
        return None
    earlier = [step for step in steps if step.last_seq < behind_seq]
    items = [_item(step, pinned) for step in earlier]
    most = caps.kept(items, noted=noted)
    kept = sum(one is not None for one in most)
    limits = [
        limit
        for step, item, left in zip(earlier, items, most, strict=True)
        if left is not None and left < item.cost
        for limit in _limits(step, item.cost - left, pinned)
    ]
    spare = caps.total - sum(one or 0 for one in most)
    return CapLimits(kept + len(steps) - len(earlier), tuple(limits), max(0, min(caps.notes, spare)))


def is_over(view: CurrentView, behind_seq: int, caps: HistoryCaps) -> bool:
    """Return whether more is raw than the caps leave, and some of it can give way."""
    cut = [block for block in view.blocks if block.segment.representation is Representation.SLIMMED]
    items = [
        *(HistoryItem(spent(one.parts).estimate, one.segment.last_seq - one.segment.first_seq + 1) for one in cut),
        *(_item(step, view.pins.seqs) for step in view.tail.as_sent if step.last_seq < behind_seq),
    ]
    least = caps._replace(total=caps.total - view.summaries.estimate, pointer=0)
    return any(left != item.cost for item, left in zip(items, least.kept(items), strict=True))


def floor_of(view: CurrentView, behind_seq: int, caps: HistoryCaps) -> int:
    """Return the cost of the newest messages that always stay, in the unit of the caps."""
    least = caps._replace(history=1, total=1)
    steps = [step for step in view.tail.as_sent if step.last_seq < behind_seq]
    return sum(one or 0 for one in least.kept([_item(step, view.pins.seqs) for step in steps]))


def history_of(view: CurrentView) -> int:
    """Return the cost of all that is sent, raw or cut, from before the current turn, in the unit of the caps."""
    cut = [block for block in view.blocks if block.segment.representation is Representation.SLIMMED]
    tail = (step.sent_cost.estimate for step in view.tail.as_sent if step.last_seq < view.turn)
    return sum(spent(one.parts).estimate for one in cut) + sum(tail)


def _item(step: Step, pinned: Collection[int]) -> HistoryItem:
    least = None
    if not step.is_user:
        least = sum(row.sent_cost.estimate - _cuttable(row, pinned) for row in step.messages)
    return HistoryItem(step.sent_cost.estimate, len(step.messages), least=least)


def _cuttable(row: StoredMessage, pinned: Collection[int]) -> int:
    """Return by how much a message can be cut: only its text, not the arguments of tool calls."""
    if row.seq in pinned or row.role not in {"assistant", "tool"} or row.call_ids:
        return 0
    return max(0, row.sent_cost.estimate - LEAST_UNITS)


def _limits(step: Step, over: int, pinned: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the limits of a step's messages that make it cheaper by `over`; its oldest is cut first."""
    for row in step.messages:
        cut = min(over, _cuttable(row, pinned))
        if cut > 0:
            yield row.seq, row.sent_cost.estimate - cut
            over -= cut


# Pictures that give way: a compaction removes the oldest before anything else.


def imageless(base: CurrentView, renderer: Renderer, most: int, pinned: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Return the messages that lose pictures: all but the `most` newest pictures, counted one by one.

    The message that opened the newest turn, the newest step and pinned messages always keep theirs.
    """
    newest = base.tail.steps[-1].first_seq if base.tail.steps else base.messages
    gone, left = dict(still_sent(base, renderer)), most
    for part in reversed(base.sent):
        shown = renderer.images(part)
        fixed = part.first_seq == base.turn or part.first_seq >= newest or part.first_seq in pinned
        kept = shown if fixed else min(shown, max(0, left))
        left -= kept
        if shown > kept:
            gone[part.first_seq] = gone.get(part.first_seq, 0) + shown - kept
    return tuple(sorted(gone.items()))


def still_sent(made: CurrentView, renderer: Renderer) -> tuple[tuple[int, int], ...]:
    """Return what a renderer leaves out of messages that are sent, in order of seq."""
    sent = {part.first_seq for part in made.sent if part.payload is not None} if renderer.imageless else set()
    return tuple(one for one in renderer.imageless if one[0] in sent)


def lighter(steps: Sequence[Step], renderer: Renderer) -> tuple[Step, ...]:
    """Return steps at the cost of what is sent: without pictures, with long texts cut, or as text."""
    gone = {seq for seq, _ in (*renderer.imageless, *renderer.limits)}
    return tuple(
        Step.of(tuple(_lighter(step, gone, renderer)), whole=step.whole)
        if not step.whole or (gone and any(row.seq in gone for row in step.messages))
        else step
        for step in steps
    )


def _lighter(step: Step, gone: AbstractSet[int], renderer: Renderer) -> Iterator[StoredMessage]:
    # A call without its result, and a result without its call, are sent as text, which costs more.
    told = {} if step.whole else {part.first_seq: part.cost for part in renderer.raw([step])}
    for row in step.messages:
        cost = told.get(row.seq) or (renderer.sent_cost(row) if row.seq in gone else row.sent_cost)
        yield row if cost == row.sent_cost else replace(row, sent_cost=cost)
