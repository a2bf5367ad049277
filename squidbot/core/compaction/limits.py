"""What a compaction leaves raw whatever its low-water mark, and what it cuts first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import WEIGHTS, shares
from squidbot.core.compaction.pressure import Compaction, by_bound, by_estimate, imageless, still_sent
from squidbot.core.messages import Cost
from squidbot.core.plan import Representation, Segment
from squidbot.core.settings import LEAST_CUT_FRACTION
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import is_output, open_step, total

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from squidbot.core.budget import CategoryShare
    from squidbot.core.compaction.pressure import CompactionInput
    from squidbot.core.messages import StoredMessage
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.current import CurrentView
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.steps import Step


class Floors(NamedTuple):
    """How many of the newest steps stay raw.

    Attributes:
        tail: the steps that are sent raw, oldest first.
        stored: how many messages the store holds; later ones came with this call.
        in_flight_seq: the message that opened the current turn.
        settings: the floors that are set.
    """

    tail: Sequence[Step]
    stored: int
    in_flight_seq: int
    settings: HistorySettings

    def always(self) -> int:
        """Return how many stay at any cost: the newest, and those that came with this call."""
        stays_from = min(self.in_flight_seq, self.stored) if self.settings.only_in_flight else self.stored
        return min(len(self.tail), max(1, sum(step.last_seq >= stays_from for step in self.tail)))

    def fitting(self, fits: Callable[[Sequence[Step]], bool]) -> int:
        """Return how many stay if `fits` accepts them: the union of all floors.

        If that does not fit, it shrinks to the newest complete turn, and then to the steps that always stay.
        """
        if self.settings.only_in_flight:
            return self.always()
        wanted = max(self._turns(self.settings.floor_turns), self._messages(), self._tokens())
        for count in (wanted, min(wanted, self._turns(1))):
            if count and fits(self.tail[len(self.tail) - count :]):
                return max(count, self.always())
        return self.always()

    def by_number(self, most: int) -> int:
        """Return how many of the newest steps together hold at most `most` messages."""
        return self._while(most, lambda step: len(step.messages))

    def _turns(self, turns: int) -> int:
        """Return how many steps hold `turns` complete turns, and the one in flight behind them."""
        if not turns:
            return 0
        opening = [place for place, step in enumerate(self.tail) if step.is_user and step.last_seq < self.in_flight_seq]
        return len(self.tail) - opening[-turns] if len(opening) >= turns else len(self.tail)

    def _messages(self) -> int:
        """Return how many steps it takes to hold the configured number of messages."""
        most = self.settings.min_recent_messages
        count = self._while(most, lambda step: len(step.messages))
        held = sum(len(step.messages) for step in self.tail[len(self.tail) - count :])
        return min(len(self.tail), count + (held < most))

    def _tokens(self) -> int:
        return self._while(self.settings.keep_recent_tokens, lambda step: step.sent_cost.bound)

    def _while(self, most: int, size: Callable[[Step], int]) -> int:
        used = 0
        for count, step in enumerate(reversed(self.tail)):
            used += size(step)
            if used > most:
                return count
        return len(self.tail)


# The model's own texts that give way: a compaction cuts each one above its share of the room.

# No text is cut below this, in tokens as a bound: head and tail should be useful beside the mark.
LEAST_TOKENS = 128
# What the newest steps may take of the room where their outputs are cut again; the rest is for notes and the next step.
_NEWEST_FRACTION = 0.8


def reduced(  # noqa: PLR0913, PLR0917  # the inputs that decide what gives way
    base: CurrentView,
    slimmed: Callable[[], Sequence[Step]],
    renderer: Renderer,
    settings: HistorySettings,
    pinned: Collection[int],
    room: Cost,
) -> Renderer | None:
    """Return the renderer that sends less of single messages: pictures first, then the model's long texts.

    `slimmed` reads the steps before the tail that are sent one by one. `None` if nothing would change.
    """
    share = settings.assistant_fraction
    gone = imageless(base, renderer, settings.most_images, pinned)
    steps = (*slimmed(), *_earlier(base)) if share else ()
    most = Cost(int(share * room.estimate), int(share * room.bound))
    limits = tuple(limited(steps, renderer, most, pinned))
    if (gone, limits) == (still_sent(base, renderer), still_limited(base, renderer)):
        return None
    return renderer._replace(imageless=gone, limits=limits)


def limited(
    steps: Sequence[Step], renderer: Renderer, most: Cost, pinned: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield (seq, the most for its text, in tokens as a bound) of each message of the model above `most`.

    Steps with a pinned message stay whole, and so do those sent as text (R1).
    """
    for step in steps:
        if not step.whole or any(row.seq in pinned for row in step.messages):
            continue
        for row in step.messages:
            limit = _limit(row, renderer, most) if row.role == "assistant" else None
            if limit is not None:
                yield row.seq, limit


def _limit(row: StoredMessage, renderer: Renderer, most: Cost) -> int | None:
    """Return the most that a message's text may cost, in tokens as a bound; `None` if it is not to be cut."""
    if not _is_above(row.sent_cost, most):
        return None
    cost = renderer.meter.text(renderer.text_of(row) if row.sent_text is None else row.sent_text)
    limit = max(LEAST_TOKENS, min(most.bound, cost.bound * most.estimate // max(1, cost.estimate)))
    return limit if _is_above(cost, most) and cost.bound > limit else None


def _is_above(cost: Cost, most: Cost) -> bool:
    return cost.bound > most.bound or cost.estimate > most.estimate


def newest_cut(source: CompactionInput, settings: HistorySettings, renderer: Renderer) -> tuple[tuple[int, int], ...]:
    """Return (seq, the most for its text, in tokens as a bound) of each output that always stays, and is too large.

    Outputs of the newest steps were cut on arrival to what a larger window had room for. Where they no longer fit, the
    largest give way to one size. Empty where that is no help.
    """
    count = Floors(source.tail, source.stored, source.in_flight_seq, settings).always()
    newest = [row for step in source.tail[len(source.tail) - count :] for row in step.messages]
    outputs = [row for row in newest if is_output(row) and row.seq not in source.pinned]
    cost = total([row.sent_cost for row in outputs])
    beside = _beside(source, newest, {row.seq for row in outputs})
    left = [size(source.room) * _NEWEST_FRACTION - size(beside) for size in (by_bound, by_estimate)]
    most = min(left[0], left[1] * cost.bound / max(1, cost.estimate))
    level = _level([row.sent_cost.bound for row in outputs], most)
    large = [row for row in outputs if row.sent_cost.bound > level]
    return tuple((row.seq, max(LEAST_TOKENS, int(level) - _around(row, renderer))) for row in large)


def _beside(source: CompactionInput, newest: Sequence[StoredMessage], outputs: Collection[int]) -> Cost:
    """Return what must be sent beside the outputs of the newest steps."""
    rows = {row.seq: row for step in source.tail for row in step.messages}
    stays = {source.in_flight_seq, *source.pinned, *(row.seq for row in newest)}
    kept = [row for seq, row in rows.items() if seq in stays and seq not in outputs]
    marked = spent(source.marked(0, source.stored, ()))
    return total([row.sent_cost for row in (*source.held, *kept)]).plus(marked)


def _around(row: StoredMessage, renderer: Renderer) -> int:
    """Return what a message costs around its text, in tokens as a bound."""
    return max(0, row.cost.bound - renderer.meter.text(renderer.text_of(row)).bound)


def _level(costs: Sequence[int], most: float) -> float:
    """Return the size to which the largest have to come down, so that all together cost at most `most`."""
    left, level = max(0.0, most), 0.0
    for count, cost in enumerate(sorted(costs)):
        level = left / (len(costs) - count)
        if cost > level:
            return level
        left -= cost
    return math.inf


def still_limited(made: CurrentView, renderer: Renderer) -> tuple[tuple[int, int], ...]:
    """Return the limits of a renderer on messages that are sent, in order of seq."""
    sent = {part.first_seq for part in made.sent if part.payload is not None} if renderer.limits else set()
    return tuple(limit for limit in renderer.limits if limit[0] in sent)


def _earlier(base: CurrentView) -> Sequence[Step]:
    """Return the steps of the tail before the newest step, and before the one whose tool loop is open (R3)."""
    steps = base.tail.steps[:-1]
    loop = open_step([row for step in base.tail.steps for row in step.messages])
    return steps if loop is None else [step for step in steps if step.last_seq < loop]


# Tool outputs give way first if they exceed their share of a request.


def outputs_first(
    source: CompactionInput, settings: HistorySettings, stay: int, slim_cost: Callable[[Step], Cost]
) -> Compaction | None:
    """Return the compaction that only cuts tool outputs, oldest first; `None` if there is no call for it.

    There is none if they are within their share, or if cutting all that may be cut is not enough. The `stay` newest
    steps stay unchanged; `slim_cost` gives the cost of a step with its outputs cut.
    """
    movable = (*source.slimmed, *source.tail)
    history = total((*[block.cost for block in source.blocks], *[step.sent_cost for step in movable]))
    output = total(map(_output, movable))
    most = max(settings.low_fraction, settings.high_fraction - LEAST_CUT_FRACTION)
    share = _share(source, settings, most, history, output)
    if not share.is_over:
        return None
    for count, step in enumerate(movable[: len(movable) - max(1, stay)], 1):
        saved = _less(step.sent_cost, slim_cost(step))
        history, output = _less(history, saved), _less(output, saved)
        fits = all(size(history) <= most * size(source.room) for size in (by_bound, by_estimate))
        if fits and count > len(source.slimmed) and output.bound <= share.allotted:
            return _cut(source, movable[:count])
    return None


def _share(
    source: CompactionInput, settings: HistorySettings, most: float, history: Cost, output: Cost
) -> CategoryShare:
    """Return the share of tool outputs in a request, and their allowance of the room that a compaction leaves.

    That room is `most` of the whole: below the mark that triggers a compaction everything fits, and no share is over.
    """
    system, context = source.beside
    used = {"system": system, "context": context, "output": output.bound, "dialog": history.bound - output.bound}
    total_tokens = int(most * source.room.bound) + system + context
    return shares(total_tokens, used, settings.category_weights or WEIGHTS)[-1]


def _less(cost: Cost, part: Cost) -> Cost:
    return Cost(cost.estimate - part.estimate, cost.bound - part.bound)


def _output(step: Step) -> Cost:
    return total([row.sent_cost for row in step.messages if row.result_ids])


def _cut(source: CompactionInput, steps: Sequence[Step]) -> Compaction:
    whole = tuple(row.seq for step in steps for row in step.messages if row.seq in source.pinned)
    segment = Segment(steps[0].first_seq, steps[-1].last_seq, Representation.SLIMMED, None, whole)
    segments = (*(block.segment for block in source.blocks), segment)
    return Compaction(segments, (), steps[-1].last_seq + 1, len(source.blocks))
