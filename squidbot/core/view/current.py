"""The current view: what a session sends right now. Bounded by what is sent, and the same in every process."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import NotFoundError
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import PlanRecord, Representation, Segment
from squidbot.core.ports import SupportsGaps
from squidbot.core.settings import HistorySettings
from squidbot.core.transcript.documents import DOCUMENT, sections
from squidbot.core.transcript.goals import GOAL, folded, goal_sections
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.markers import MARKED, Markers
from squidbot.core.transcript.pins import PIN, Pins
from squidbot.core.transcript.removals import RETRACTION
from squidbot.core.transcript.scopes import SCOPE, check_user
from squidbot.core.view.renderer import is_note, raw_part, spent, unanswerable
from squidbot.core.view.steps import Step, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import Scope
    from squidbot.core.messages import Opening, Part, Record, StoredMessage, Summary
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.transcript.records import Claimed, Wait
    from squidbot.core.view.renderer import Renderer


# The raw end of a request: the steps behind the last segment. It grows without being rebuilt.

NOTHING = Cost(0, 0)


class Tail(NamedTuple):
    """Steps sent raw, as they were stored on arrival, oldest first.

    Attributes:
        steps: the steps, in order.
        parts: what is sent for them, in order.
        cost: tokens of the parts.
        last_parts: how many of the parts belong to the newest step, which may still grow.
        after_assistant: whether the part in front of the tail can't be answered (`renderer.unanswerable`).
    """

    steps: tuple[Step, ...] = ()
    parts: tuple[Part, ...] = ()
    cost: Cost = NOTHING
    last_parts: int = 0
    after_assistant: bool = False

    @property
    def messages(self) -> int:
        """The number of its messages."""
        return sum(len(step.messages) for step in self.steps)

    @property
    def as_sent(self) -> tuple[Step, ...]:
        """The steps at the cost of what is sent of them: less than on arrival where a plan cuts them."""
        costs = {part.first_seq: part.cost for part in self.parts if part.payload is not None}
        return tuple(_costing(step, costs) for step in self.steps)

    @property
    def step_tokens(self) -> Iterator[tuple[Step, int]]:
        """The steps, newest first, each with the cost of what is sent of it, as a bound."""
        bounds = {part.first_seq: part.cost.bound for part in self.parts if part.payload is not None}
        for step in reversed(self.steps):
            tokens = 0
            for row in step.messages:
                tokens += bounds.get(row.seq, row.sent_cost.bound)
            yield step, tokens

    def extended(
        self,
        messages: Sequence[StoredMessage],
        renderer: Renderer,
        dropped_before: int,
        dropped: Sequence[tuple[int, int]] = (),
    ) -> Tail:
        """Return the tail with messages behind it; the newest step is rendered again only if it takes some of them.

        Reasoning is left out of steps before the seq `dropped_before`, and of steps in the ranges `dropped`: (first
        seq, first seq behind it).
        """
        if not messages:
            return self
        steps, parts, cost = self.steps, self.parts, self.cost
        open_messages: tuple[StoredMessage, ...] = ()
        if steps and messages[0].result_ids:
            parts = self.parts[: len(self.parts) - self.last_parts]
            cost = _less(cost, spent(self.parts[len(parts) :]))
            steps, open_messages = steps[:-1], steps[-1].messages
        grown = steps_of((*open_messages, *messages))
        made: list[Part] = []
        last = 0
        for step in grown:
            behind = made or parts
            after = unanswerable(behind[-1]) if behind else self.after_assistant
            seq = step.first_seq
            stale = seq < dropped_before or bool(dropped and any(first <= seq < end for first, end in dropped))
            rendered = renderer.raw([step], after_assistant=after, drop_thinking=stale)
            made.extend(rendered)
            last = len(rendered)
        return Tail((*steps, *grown), (*parts, *made), cost.plus(spent(made)), last, self.after_assistant)


def _costing(step: Step, costs: Mapping[int, Cost]) -> Step:
    if all(costs.get(row.seq, row.sent_cost) == row.sent_cost for row in step.messages):
        return step
    rows = (replace(row, sent_cost=costs.get(row.seq, row.sent_cost)) for row in step.messages)
    return Step.of(tuple(rows), whole=step.whole)


def _less(cost: Cost, part: Cost) -> Cost:
    return Cost(cost.estimate - part.estimate, cost.bound - part.bound)


# How many messages are read at once where the needed number is unknown.
READ_BACK_MESSAGES = 64
NO_PINS = Pins()
NO_MARKERS = Markers()


class PlanBlock(NamedTuple):
    """A segment of the plan as it is sent now."""

    segment: Segment
    parts: tuple[Part, ...]

    @property
    def cost(self) -> Cost:
        """Its cost in tokens."""
        return spent(self.parts)


class CurrentView(NamedTuple):
    """The parts of a session's next request that are stored already.

    Attributes:
        plan: the plan in force; None while there is none.
        lead: the system messages that open the transcript, verbatim.
        head: the plan's frozen sections.
        blocks: the plan's segments.
        tail: everything behind them.
        prefix: lead, head and blocks as parts, in order.
        fixed: what lead and head cost; history: what blocks and tail cost; in tokens.
        summaries: what notes and pointers cost of it, which stand for messages that are not sent.
        messages, records: how many the store holds.
        turn: the seq that opened the newest turn.
        newest_time: the time of the newest message, in seconds since 1970; `None` if unknown.
        pins: what is pinned.
        markers: the goals and decisions that messages in the store mark.
        opened: whether the next request needs a new plan: the window is another, or history is too long to read whole.
        asked: what the message that opened the newest turn costs, if it is not sent.
        withdrawn: the newest record of facts that were withdrawn after they were sent; `None` for none.
    """

    plan: PlanRecord | None
    lead: tuple[Part, ...]
    head: tuple[Part, ...]
    blocks: tuple[PlanBlock, ...]
    tail: Tail
    prefix: tuple[Part, ...]
    fixed: Cost
    history: Cost
    messages: int
    records: int
    turn: int
    newest_time: float | None = None
    opened: bool = False
    pins: Pins = NO_PINS
    markers: Markers = NO_MARKERS
    asked: Cost = NOTHING
    withdrawn: Record | None = None
    summaries: Cost = NOTHING

    def parts(self, system: Sequence[Part], renderer: Renderer) -> tuple[Part, ...]:
        """Return the whole request: the host's system text, the view, and the notices that keep it valid."""
        said = self.prefix[self.lead_count :] + self.tail.parts
        return (*system, *self.lead, *renderer.opening(said), *said, *renderer.closing(said))

    @property
    def generations(self) -> int:
        """How often the words in the view were summarized: 1 for notes, which are made of messages; 0 without notes."""
        whole = {Representation.RAW, Representation.SLIMMED}
        return int(any(block.segment.representation not in whole for block in self.blocks))

    @property
    def needs_notices(self) -> tuple[bool, bool]:
        """Whether a request of this view needs a notice in front, and one behind, to be valid (R5)."""
        prefix, parts, lead = self.prefix, self.tail.parts, len(self.lead)
        if len(prefix) == lead and not parts:
            return True, False
        first, last = prefix[lead] if len(prefix) > lead else parts[0], parts[-1] if parts else prefix[-1]
        return unanswerable(first), unanswerable(last)

    @property
    def sent(self) -> tuple[Part, ...]:
        """The parts in order, without the host's system text and without notices."""
        return (*self.prefix, *self.tail.parts)

    @property
    def at_turn(self) -> bool:
        """Whether the newest message opens a turn."""
        return bool(self.tail.steps) and self.tail.steps[-1].is_user

    @property
    def in_flight(self) -> Cost:
        """The cost of the message that opened the newest turn, sent or not: tool outputs behind it share the rest."""
        for part in chain(reversed(self.tail.parts), reversed(self.prefix[self.lead_count :])):
            if part.first_seq == self.turn and part.payload is not None:
                return part.cost
        return self.asked

    @property
    def dropped_before(self) -> int:
        """Steps before this seq are sent without their reasoning."""
        return self.plan.thinking_dropped_before_seq if self.plan else 0

    @property
    def lead_count(self) -> int:
        """How many system messages open the transcript."""
        return len(self.lead)

    def extended(self, messages: Sequence[StoredMessage], renderer: Renderer) -> CurrentView:
        """Return the view with messages behind it, stored or about to be."""
        if not messages:
            return self
        opening = 0 if self.blocks or self.tail.steps else _opening(messages)
        dropped = self.plan.thinking_dropped if self.plan else ()
        # The newest step is rendered again, and the plan may cut it.
        renderer = renderer.showing(self.plan)
        tail = self.tail.extended(messages[opening:], renderer, self.dropped_before, dropped)
        added = Cost(tail.cost.estimate - self.tail.cost.estimate, tail.cost.bound - self.tail.cost.bound)
        last, history = messages[-1], self.history.plus(added)
        behind = max(self.messages, last.seq + 1)  # what other lines say may be newer
        grown = self._replace(tail=tail, turn=last.turn, messages=behind, newest_time=last.time, history=history)
        if self.asked != NOTHING and last.turn != self.turn:
            grown = grown._replace(asked=NOTHING)
        if not opening:
            return grown
        lead = (*self.lead, *(raw_part(message) for message in messages[:opening]))
        return view_of(grown.plan, Pieces(lead, self.head, self.blocks, tail), grown)


def _opening(messages: Sequence[StoredMessage]) -> int:
    """Return how many system messages open a transcript."""
    return next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))


class Pieces(NamedTuple):
    """What a view is made of, in the order in which it is sent."""

    lead: tuple[Part, ...]
    head: tuple[Part, ...]
    blocks: tuple[PlanBlock, ...]
    tail: Tail


def view_of(plan: PlanRecord | None, pieces: Pieces, counts: CurrentView | None = None) -> CurrentView:
    """Return the view of these pieces; counts, turn and time are those of `counts`."""
    counts = counts or empty_view(plan)
    lead, head, blocks, tail = pieces
    sent = tuple([part for block in blocks for part in block.parts])
    return CurrentView(
        plan=plan,
        lead=lead,
        head=head,
        blocks=blocks,
        tail=tail,
        prefix=(*lead, *head, *sent),
        fixed=spent((*lead, *head)),
        history=spent(sent).plus(tail.cost),
        messages=counts.messages,
        records=counts.records,
        turn=counts.turn,
        newest_time=counts.newest_time,
        opened=counts.opened,
        pins=counts.pins,
        markers=counts.markers,
        asked=counts.asked,
        withdrawn=counts.withdrawn,
        summaries=spent([part for part in sent if is_note(part)]),
    )


def empty_view(plan: PlanRecord | None) -> CurrentView:
    """Return the view of a session in which nothing has been said; `plan` is the one in force."""
    return CurrentView(plan, (), (), (), Tail(), (), NOTHING, NOTHING, messages=0, records=0, turn=0)


class SessionContext(NamedTuple):
    """Where a session's data are, how they are rendered, and whose its next messages are (`None`: as before).

    `wait`: how to wait for other writers, and how to let other threads go on, which is a wait of 0 seconds; `None`: not
    at all. `claimed`: how one of them at a time makes a plan; `None`: they may all.
    """

    session_id: str
    transcripts: TranscriptStore
    summaries: SummaryStore
    renderer: Renderer
    scope: Scope | None = None
    history: HistorySettings = HistorySettings()
    wait: Wait | None = None
    claimed: Claimed | None = None

    def pause(self) -> None:
        """Let other threads go on."""
        if self.wait:
            self.wait(0.0)

    def showing(self, plan: PlanRecord | None) -> SessionContext:
        """Return the context whose messages are rendered as a plan sends them; None: without one."""
        renderer = self.renderer.showing(plan)
        return self if renderer is self.renderer else self._replace(renderer=renderer)

    def check_user(self, newest: Record | None) -> None:
        """Check that the session is not another user's; `newest` is the record of its newest scope, None for none.

        Raises:
            ConfigError: it is.
            DamagedStoreError: the record is no scope.
        """
        if self.history.one_user and self.scope and newest:
            check_user(self.session_id, SCOPE.read(newest).scope, self.scope)

    def read(self, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return messages first_seq..last_seq with their costs by this session's counter."""
        return self.renderer.all_counted(self.transcripts.read(self.session_id, first_seq, last_seq))

    def count_between(self, first_seq: int, last_seq: int) -> int:
        """Return how many messages the session's line has from the first to the last number, both included."""
        if first_seq > last_seq or not isinstance(self.transcripts, SupportsGaps):
            return max(0, last_seq - first_seq + 1)
        return self.transcripts.count_between(first_seq, last_seq)

    def gaps(self, messages: int) -> tuple[tuple[int, int], ...]:
        """Return the runs of so many stored messages that are not on the session's line: edited, removed, on others."""
        return self.transcripts.gaps(messages) if isinstance(self.transcripts, LineStore) else ()

    def blocks(  # noqa: PLR0913, PLR0917  # what is sent, and all that is at hand for it
        self,
        segments: Sequence[Segment],
        slim_tokens: int,
        markers: Markers,
        made: Sequence[Summary] = (),
        kept: Sequence[PlanBlock] = (),
        held: Sequence[StoredMessage] = (),
    ) -> list[PlanBlock]:
        """Return segments as they are sent behind `kept` blocks.

        Summaries that are not stored yet are taken from `made`, messages in `held` are not read again. Marked lines of
        their messages come with them.
        """
        texts = self._texts(segments, made)
        rows = self._picked(segments, held)
        blocks: list[PlanBlock] = []
        told = any(one.segment.summary_id for one in kept)
        after = bool(kept) and unanswerable(kept[-1].parts[-1])
        for segment in segments:
            said = self._rows(segment, rows)
            summary = texts.get(segment.summary_id or "")
            count = self.count_between(segment.first_seq, segment.last_seq)
            parts = self.renderer.segment(segment, summary, said, slim_tokens, count, after_assistant=after)
            line = [self.renderer.saying] if self.history.says_notes and summary is not None and not told else []
            told = told or summary is not None
            blocks.append(PlanBlock(segment, (*line, *self.marked(segment, markers), *parts)))
            after = unanswerable(parts[-1])
        return blocks

    def marked(self, segment: Segment, markers: Markers) -> list[Part]:
        """Return the parts with the marked lines of a segment's messages that are not sent."""
        if not markers.said or segment.representation in {Representation.RAW, Representation.SLIMMED}:
            return []
        lines = markers.between(segment.first_seq, segment.last_seq, frozenset(segment.verbatim))
        return self.renderer.marked(lines)

    def check_summaries(self, segments: Sequence[Segment]) -> None:
        """Check that the summaries of segments are stored.

        Raises:
            NotFoundError: one is not; the text names it.
        """
        wanted = [segment.summary_id for segment in segments if segment.summary_id]
        found = {one.summary_id for one in self.summaries.by_id(self.session_id, wanted)} if wanted else set()
        for summary_id in wanted:
            if summary_id not in found:
                raise NotFoundError(f"summary {summary_id} is no longer stored: what showed it can't be rebuilt")

    def _texts(self, segments: Sequence[Segment], made: Sequence[Summary]) -> dict[str, Summary]:
        texts = {summary.summary_id: summary for summary in made}
        wanted = [segment.summary_id for segment in segments if segment.summary_id and segment.summary_id not in texts]
        stored = self.summaries.by_id(self.session_id, wanted) if wanted else []
        return texts | {one.summary_id: one for one in stored}

    def _picked(self, segments: Sequence[Segment], held: Sequence[StoredMessage]) -> dict[int, StoredMessage]:
        wanted = {seq for segment in segments for seq in segment.verbatim}
        known = {row.seq: row for row in held if row.seq in wanted}
        seqs = sorted(wanted - known.keys())
        found = self.transcripts.pick(self.session_id, seqs) if seqs else []
        return known | {row.seq: row for row in self.renderer.all_counted(found)}

    def steps_with(self, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return all messages of the steps that hold the named ones, in order, each once."""
        wanted = sorted(seqs)
        found = self._alone(wanted) if wanted else {}
        for seq in wanted:
            if seq not in found:
                near = self.read(max(0, seq - READ_BACK_MESSAGES), seq + READ_BACK_MESSAGES)
                found_step = next((step for step in steps_of(near) if step.first_seq <= seq <= step.last_seq), None)
                found.update({row.seq: row for row in (found_step.messages if found_step else ())})
        return [found[seq] for seq in sorted(found)]

    def _alone(self, seqs: Sequence[int]) -> dict[int, StoredMessage]:
        """Return the named messages that are steps of their own: they neither call a tool nor answer a call."""
        named = self.transcripts.pick(self.session_id, seqs)
        return {row.seq: self.renderer.counted(row) for row in named if not row.call_ids and not row.result_ids}

    def _rows(self, segment: Segment, rows: dict[int, StoredMessage]) -> list[StoredMessage]:
        if segment.representation in {Representation.RAW, Representation.SLIMMED}:
            return self.read(segment.first_seq, segment.last_seq)
        return [rows[seq] for seq in segment.verbatim if seq in rows]

    def lead(self, before_seq: int | None) -> list[StoredMessage]:
        """Return the system messages that open the transcript; at most those before `before_seq` where it is given."""
        found: list[StoredMessage] = []
        while before_seq is None or len(found) < before_seq:
            row = self.read(len(found), len(found))
            if not row or row[0].role != "system":
                break
            found.extend(row)
        return found


# The view, read from a session's store: the same in every process.

# A session with messages but no plan (imported, or never assembled) is read back this many windows for its first notes,
# and in a small one at least so far: the user's messages and what was named go as far back whatever the window is. A
# pointer stands for what is older. On 24 recorded sessions of 40,000 to 150,000 tokens, taken up in windows of 3,000 to
# 20,000, the user's messages that stand whole went from .63 to 1 in the median.
READ_BACK_WINDOWS, READ_BACK_TOKENS = 4, 200_000
# More tokens than any session has.
EVERYTHING = 10**12
PLAN = "plan"
# The kinds of records that a view is made of.
VIEW_KINDS = (PIN.name, GOAL.name, DOCUMENT.name, MARKED.name, PLAN, RETRACTION.name)
_SAID = frozenset({Kind.SYSTEM, Kind.MESSAGE, Kind.SLIMMED, Kind.AUTOMATED, Kind.RECALLED, Kind.FORGOTTEN})


def load(
    context: SessionContext,
    window_tokens: int,
    window_id: str,
    opening: Opening | None = None,
    *,
    reads_all: bool = False,
) -> CurrentView:
    """Return the view of a session from its store.

    `window_tokens` bounds documents, and what is read without a plan, unless `reads_all`. A plan made under another
    window is not in force: detail may come back in a larger one. `opening` has the newest records of at least the
    kinds `VIEW_KINDS`; it is read if it is not given.
    """
    opening = opening or context.transcripts.opening(context.session_id, VIEW_KINDS)
    stored = opening.newest.get(PLAN)
    plan = PlanRecord.from_json(stored.body) if stored else None
    valid = plan if plan and plan.window_id == window_id else None
    other = plan is not None and valid is None
    context = context.showing(valid)
    counts = empty_view(plan)._replace(messages=opening.messages, records=opening.records, opened=other)
    counts = _with_kept(context, counts, opening, window_tokens)._replace(withdrawn=opening.newest.get(RETRACTION.name))
    if not counts.messages:
        return _view_with(context, valid, ((), ()), (), counts)
    if valid and valid.segments:
        return _planned(context, valid, counts)
    return _read_back(context, valid, counts, EVERYTHING if reads_all else read_back_tokens(window_tokens))


def read_back_tokens(window_tokens: int) -> int:
    """Return how far a session without a plan is read back, in tokens as a bound."""
    return max(READ_BACK_WINDOWS * window_tokens, READ_BACK_TOKENS)


def _with_kept(context: SessionContext, counts: CurrentView, opening: Opening, window_tokens: int) -> CurrentView:
    """Return the counts with pins and marks; kinds without a record are not read."""
    place, known = (context.transcripts, context.session_id), opening.newest
    pins = PIN.state(*place) if PIN.name in known else NO_PINS
    markers = MARKED.state(*place) if MARKED.name in known else NO_MARKERS
    if GOAL.name in known:
        pins = replace(pins, goals=goal_sections(folded(GOAL.all(*place), markers.said)))
    if DOCUMENT.name in known:
        bound = context.renderer.meter.text
        told = sections(DOCUMENT.state(*place), window_tokens, lambda text: bound(text).bound)
        pins = replace(pins, documents=told)
    return counts._replace(pins=pins, markers=markers)


def marked(context: SessionContext) -> Markers:
    """Return the marked lines of a session's messages.

    Raises:
        DamagedStoreError: it can't be read.
    """
    return MARKED.state(context.transcripts, context.session_id)


def view_after(context: SessionContext, plan: PlanRecord, stored: CurrentView, made: CurrentView) -> CurrentView:
    """Return the view after a plan is stored, as `load` would read it, made of what is held.

    `stored` is the view before, `made` the plan's view with the new messages of its call.
    """
    context = context.showing(plan)
    rows = [row for step in made.tail.steps for row in step.messages if row.seq < stored.messages]
    counts = stored._replace(plan=plan, opened=False, asked=NOTHING)
    return _view_with(context, plan, (stored.lead, made.blocks), rows, counts, stored.tail.steps)


def without_question(context: SessionContext, opened: CurrentView, asked: int) -> CurrentView:
    """Return the view once a new turn follows what was read back: the question of the turn `asked` may then go.

    It was kept because it might have been the one that is being answered.
    """
    context = context.showing(opened.plan)
    first = opened.blocks[0].segment if opened.blocks else None
    if first is None or opened.turn == asked or not first.first_seq <= asked <= first.last_seq:
        return opened
    segment = _absent(context, first.first_seq, first.last_seq, opened.pins.seqs)
    rows = [row for step in opened.tail.steps for row in step.messages]
    return _view_with(
        context, opened.plan, (opened.lead, tuple(context.blocks([segment], 0, opened.markers))), rows, opened
    )


def view_under(
    context: SessionContext, plan: PlanRecord | None, counts: CurrentView, most_tokens: int | None = None
) -> CurrentView:
    """Return the view under a plan of any window, or (`None`) without one, for the messages of `counts`.

    Reading stops once `most_tokens` are passed: then `CurrentView.opened` is set, and the oldest messages are missing.

    Raises:
        NotFoundError: a summary of the plan is no longer stored.
    """
    context = context.showing(plan)
    counts = counts._replace(plan=plan, opened=False)
    if plan is not None and plan.segments:
        context.check_summaries(plan.segments)
        return _planned(context, plan, counts, most_tokens)
    lead = context.lead(counts.messages)
    rows = _behind(context, len(lead), counts, most_tokens)
    counts = counts._replace(opened=bool(rows) and context.count_between(len(lead), rows[0].seq - 1) > 0)
    return _view_with(context, plan, (tuple(raw_part(row) for row in lead), ()), rows, counts)


def _behind(
    context: SessionContext, first_seq: int, counts: CurrentView, most_tokens: int | None
) -> list[StoredMessage]:
    if most_tokens is None:
        return context.read(first_seq, counts.messages - 1)
    return _newest(context, first_seq, most_tokens) if counts.messages else []


def _planned(
    context: SessionContext, plan: PlanRecord, counts: CurrentView, most_tokens: int | None = None
) -> CurrentView:
    """Return the view under a plan with segments: these, and the messages behind them, as for `view_under`."""
    lead = tuple(raw_part(row) for row in context.lead(plan.segments[0].first_seq))
    blocks = tuple(context.blocks(plan.segments, plan.slim_tokens, counts.markers))
    rows = _behind(context, plan.tail_from_seq, counts, most_tokens)
    counts = counts._replace(opened=bool(rows) and context.count_between(plan.tail_from_seq, rows[0].seq - 1) > 0)
    return _view_with(context, plan, (lead, blocks), rows, counts)


def _read_back(
    context: SessionContext, plan: PlanRecord | None, counts: CurrentView, budget_tokens: int
) -> CurrentView:
    """Return the view without segments: the newest messages, behind a pointer to those too old to be read."""
    lead = context.lead(None)
    rows = _newest(context, len(lead), budget_tokens)
    unread = bool(rows) and context.count_between(len(lead), rows[0].seq - 1) > 0
    absent = [_absent(context, len(lead), rows[0].seq - 1, (*counts.pins.seqs, rows[-1].turn))] if unread else []
    counts = counts._replace(opened=True) if unread else counts
    pieces = tuple(raw_part(row) for row in lead), tuple(context.blocks(absent, 0, counts.markers))
    return _view_with(context, plan, pieces, rows, counts)


def _view_with(  # noqa: PLR0913, PLR0917  # its pieces, and what is at hand for it
    context: SessionContext,
    plan: PlanRecord | None,
    pieces: tuple[tuple[Part, ...], tuple[PlanBlock, ...]],
    rows: Sequence[StoredMessage],
    counts: CurrentView,
    held: Sequence[Step] | None = None,
) -> CurrentView:
    """Return the view of lead and blocks with raw messages behind them.

    `held`: steps of a view that knows its newest turn; `None`: that is read where `rows` do not have it.
    """
    lead, blocks = pieces
    head = tuple(context.renderer.section(section) for section in plan.sections) if plan else ()
    behind = Tail(after_assistant=bool(blocks) and unanswerable(blocks[-1].parts[-1]))
    grown = view_of(counts.plan, Pieces(lead, head, blocks, behind), counts).extended(rows, context.renderer)
    if not rows and counts.messages and held is None:
        for newest in context.transcripts.newest(context.session_id, 0)[-1:]:  # none where a line has no message yet
            grown = grown._replace(turn=newest.turn, newest_time=newest.time)
    return _with_asked(context, grown, held or ()) if counts.messages else grown


def _with_asked(context: SessionContext, view: CurrentView, held: Sequence[Step]) -> CurrentView:
    """Return the view with the cost of the message that opened the newest turn, if that is not sent.

    A step that is sent as text, because a call or a result is missing, costs nothing here either. Steps in `held` are
    not read again.
    """
    if any(part.first_seq == view.turn and part.kind in _SAID for part in reversed(view.sent)):
        return view
    opened = [step for step in held if step.first_seq == view.turn] or steps_of(context.steps_with([view.turn]))[:1]
    return view._replace(asked=opened[0].messages[0].sent_cost) if opened and opened[0].whole else view


def _absent(context: SessionContext, first_seq: int, last_seq: int, wanted: Iterable[int]) -> Segment:
    """Return the segment for messages too old to be read, with those that must stay verbatim."""
    rows = context.steps_with(seq for seq in wanted if first_seq <= seq <= last_seq)
    verbatim = tuple(row.seq for row in rows if first_seq <= row.seq <= last_seq)
    return Segment(first_seq, last_seq, Representation.ABSENT, None, verbatim)


def _newest(context: SessionContext, lead: int, budget_tokens: int) -> list[StoredMessage]:
    """Return the newest messages behind the lead, until their cost passes the budget."""
    rows = context.renderer.all_counted(context.transcripts.newest(context.session_id, budget_tokens))
    sent = sum(row.sent_cost.bound for row in rows)
    first = rows[0].seq if rows else lead
    while first > lead and sent <= budget_tokens:
        behind, first = first, max(lead, first - READ_BACK_MESSAGES)
        more = context.read(first, behind - 1)
        sent += sum(row.sent_cost.bound for row in more)
        rows = more + rows
    rows = [row for row in rows if row.seq >= lead]
    if rows and context.count_between(lead, rows[0].seq - 1):
        # The oldest rows read may stand inside a step whose beginning was not: start at a message that opens one.
        opening = next((place for place, row in enumerate(rows) if not row.result_ids), len(rows) - 1)
        rows = rows[opening:]
    return rows
