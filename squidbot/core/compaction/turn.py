"""Decides one call: its request, its plan, and what the next call has to know. Nothing is written here.

`decide` makes one attempt after another until a request fits and says what it must:

============================================  ==============================================================
problem                                       next attempt
============================================  ==============================================================
the request does not fit                      without what memory and extensions add to the user's message
it still does not fit                         by the token counter alone, not by reported usage
it still does not fit                         without the calibration, where that leaves no room
the head changed, and a new plan is due       the new plan's head says so, not the message
the new plan has another head                 with the facts that this head lacks
reported usage says it exceeds the window     with a smaller limit, a few times; then by the counter alone
============================================  ==============================================================
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core import events
from squidbot.core.budget import WARN
from squidbot.core.cached import cached_property
from squidbot.core.compaction.bounds import added_by, certified, limits_by_bills, plain_limit
from squidbot.core.compaction.planner import MARKED, PlanBuilder, due
from squidbot.core.compaction.pressure import (
    IN_FLIGHT,
    CallContext,
    check_fixed,
    fullness,
    pays_by_hand,
    pressure_fraction,
    room_of,
    saves_enough,
    too_much,
)
from squidbot.core.compaction.undo import again
from squidbot.core.errors import BudgetError, InvalidRequestError, NotFoundError
from squidbot.core.last_request import SEALED_PARTS, LastRequest, Mode, digest, seal
from squidbot.core.messages import Category, Cost, Kind, Part
from squidbot.core.plan import JOURNAL_SECTION
from squidbot.core.tokens.calibration import MOST_FACTOR, UsageCalibration
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.removals import RETRACTION
from squidbot.core.view.assembly import CoreAssembly
from squidbot.core.view.current import load, without_question
from squidbot.core.view.marks import tells_memories
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import check_request, speaks
from squidbot.core.view.truncation import ArrivalTruncation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from squidbot.core.budget import Reserve
    from squidbot.core.compaction.bounds import Limits
    from squidbot.core.compaction.planner import NewPlan
    from squidbot.core.compaction.undo import Return
    from squidbot.core.forgetting import SessionWithout
    from squidbot.core.messages import ContextWindow, Message, Record, StoredMessage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.ports import CallExtensions
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.pins import Pins
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer

__all__ = [
    "COLD_MESSAGES",
    "Decision",
    "Inputs",
    "Planner",
    "Room",
    "UnpromptedContext",
    "arrival",
    "build",
    "decide",
    "inputs_as_before",
    "share_of",
]

NO_MODE = Mode()
NOTHING = Cost(0, 0)
# A conversation is cold while it has fewer messages than this before the user's newest one.
COLD_MESSAGES = 3
# Head and cold start may each take a tenth of a request: a line or two at 2K, everything from 16K on.
SHARE = 10
# After so many plans in a row that would have saved too little, compaction pauses.
MOST_SKIPS = 2
# Causes of plans that were made beside a call.
BY_HAND = frozenset({"manual", "tool-answer", "undo", "restore", "branch", "forget"})
# Causes that keep a restored plan in force: nobody asked for less.
_KEEPING = frozenset({"tools-changed", "system-changed", "mode-changed", "repaired", "branch", "forget"})
# Causes that replace even a restored plan.
_URGENT = frozenset({"overflow", "opened", "rollover"})
# What an error blames where answers are too large with what their messages do not show, such as reasoning.
WITH_ANSWERS = "the request, with what its provider adds to answers,"
# How many limits by reported usage are tried before the counter's own.
MOST_GUESSES = 4


class HiddenPrefix(NamedTuple):
    """System text and tools that the host sends but did not pass for a call: their cost and their hashes."""

    cost: Cost
    system: str
    tools: str


class UnpromptedContext(Protocol):
    """What durable memory adds to requests unprompted. Its failures never fail a call: it then adds nothing."""

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return the sections for the head of a request; together they cost at most `limit_tokens`, as a bound.

        The journal's digest has the same limit once more. Each is `Section.is_remembered`. They stay the same until a
        fact is added, replaced or forgotten.
        """

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return facts that answer the first message of a conversation, between our marks; `None` for none.

        Facts in `head` are left out.
        """

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return what the journal says when a conversation goes on after a pause; `None` for nothing.

        What `head` or one of the notices says already is left out.
        """

    def withdrawn(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return which of these facts must not be sent any more: they were forgotten, or belong to somebody else."""

    def unsaid(self, memory_ids: Collection[str]) -> bool:
        """Return whether one of these facts was said by this session alone, and not on the line that is talked on."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the host passes for one call, beside the conversation.

    Attributes:
        system: its system text, sent first; "" where the transcript has its own.
        tools: its tool definitions as they are sent, JSON text; counted, not stored. "" for none.
        sections: texts for the head of the request: the memory document, profiles. Frozen until the next plan.
        notice: volatile text (time, percent used, facts), frozen behind the newest user message; `None` for none.
        now: seconds since 1970; `None` if unknown.
        unprompted: what durable memory adds; `None` keeps what the plan in force has of it.
        extended: what extensions add; `None` for nothing.
        hidden: the system text and tools that the host sends but does not pass.
        mode: what the system text is for; it changes only where the call opens a turn.
        reserve: the room for the answers of the turn; `None`: the window's.
    """

    system: str = ""
    tools: str = ""
    sections: tuple[Section, ...] = ()
    notice: str | None = None
    now: float | None = None
    unprompted: UnpromptedContext | None = None
    hidden: HiddenPrefix | None = None
    extended: CallExtensions | None = None
    mode: Mode = NO_MODE
    reserve: Reserve | None = None

    @property
    def system_digest(self) -> str:
        """A hash of the system text; "" for none."""
        return self.hidden.system if self.hidden else digest(self.system)

    @property
    def tools_digest(self) -> str:
        """A hash of the tool definitions; "" for none."""
        return self.hidden.tools if self.hidden else digest(self.tools)

    def system_parts(self, meter: Meter) -> tuple[Part, ...]:
        """Return the host's system text as a part; nothing where there is none."""
        if not self.system:
            return ()
        return (Part(Kind.SYSTEM, "system", meter.fixed(self.system), text=self.system),)

    def tools_cost(self, meter: Meter) -> Cost:
        """Return what the tool definitions cost, in tokens, with all that is sent beside messages and was not given."""
        # Hidden text was counted with the template around it.
        around = self.hidden.cost if self.hidden else meter.request
        return meter.tools(self.tools).plus(around)

    def head(self, pins: Pins) -> tuple[Section, ...]:
        """Return the head that the next plan freezes: the host's, documents, goals, pins; not memory's own."""
        sections = tuple(section for section in self.sections if section.text)
        return (*sections, *pins.documents, *(pins.goals or ()), *pins.texts)


class Decision(NamedTuple):
    """The outcome of one call.

    Attributes:
        assembly: the request.
        change: its new plan; `None` where the request extends the one before.
        renewed: records of notes begun anew, to store with the change.
        leaves: the request as the next call has to know it.
        skipped: events about a plan that would not have paid: (name, plan).
        pressing: whether history reaches the mark for an automatic snapshot, and did not before.
        fullness: how full the room for history is without the new plan; rungs: those of the ladder that this reaches,
            and the request before did not.
    """

    assembly: CoreAssembly
    change: NewPlan | None
    renewed: tuple[Record, ...]
    leaves: LastRequest
    skipped: tuple[tuple[str, PlanRecord], ...]
    pressing: bool
    fullness: float
    rungs: tuple[str, ...]


class Room(NamedTuple):
    """How much room the next request has.

    Attributes:
        view: what is stored, as it is sent.
        used_tokens: what the request costs so far, as a bound.
        marked: what is free up to the high-water mark, below 0 beyond it; whole: what is free until it is full.
        limit_tokens: the most that the request may cost, as counted; `used_tokens` above it need a compaction.
        output_tokens, step_tokens: a tool output, or a whole step, above this bound is truncated on arrival.
        newest: the newest request, recorded or not.
        overcounted_tokens: how far these bounds are above what the provider bills: so much more is free.
    """

    view: CurrentView
    used_tokens: int
    marked: Cost
    whole: Cost
    limit_tokens: int
    output_tokens: int
    step_tokens: int
    newest: LastRequest
    overcounted_tokens: int = 0

    @property
    def awaited(self) -> tuple[StoredMessage, ...]:
        """The messages of the newest step, if results of its calls are missing; else nothing."""
        newest = self.view.tail.steps[-1] if self.view.tail.steps else None
        return newest.messages if newest and not newest.whole and newest.messages[0].call_ids else ()

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of the calls in that step without a result, in order."""
        done = {call_id for row in self.awaited[1:] for call_id in row.result_ids}
        return tuple(call_id for row in self.awaited[:1] for call_id in row.call_ids if call_id not in done)


class Attempt(NamedTuple):
    """The terms of one attempt at a request.

    Attributes:
        limits: what it may cost by reported usage; `None`: by the counter alone.
        guesses: how many limits were too large.
        facts: what memory adds to the user's newest message; `None` for nothing.
        says: whether facts, and what extensions add there, are sent at all.
        is_for_new_head: whether `facts` are those that a new plan's head lacks.
        cause: the cause of a plan that is made in any case, to say what changed; `None`: only if one is due.
        cuts: whether outputs of the newest steps are cut again, because nothing else makes the request fit.
    """

    limits: Limits | None
    facts: str | None
    guesses: int = 0
    says: bool = True
    is_for_new_head: bool = False
    cause: str | None = None
    cuts: bool = False


class Draft:
    """The new messages of a call as they would be stored, the view with them, and the call's context."""

    def __init__(self, planner: Planner, rows: tuple[StoredMessage, ...], view: CurrentView, call: CallContext) -> None:
        """Take the placed messages; `planner` has the settings under which a plan is due."""
        self._settings = planner.patient_settings
        self.rows = rows
        self.view = view
        self.call = call
        # What history may cost, and how full the room beside the summaries is: above 1, it does not fit.
        self.room = room_of(view, call)
        self.fullness = fullness(view, self.room)

    @cached_property
    def due(self) -> str | None:
        """Why the plan must change before this call; `None` if it need not."""
        return due(self.view, self.call, self._settings, self.room)

    def has(self, text: str | None) -> bool:
        """Return whether a text stands behind one of the messages."""
        return _has(self.rows, text)


def decide(planner: Planner, incoming: Sequence[Message]) -> Decision:
    """Return the request of what is stored and `incoming`, and everything to write with it.

    Raises:
        BudgetError: nothing makes the request fit.
        InvalidRequestError: there is nothing to answer.
        StoreError: the store failed.
    """
    attempt = planner.first_attempt(incoming)
    while True:
        try:
            decision = planner.attempted(incoming, attempt)
            following = planner.better_attempt(incoming, attempt, decision)
            if following is None:
                return planner.certified(decision)
        except BudgetError as error:
            smaller = planner.smaller_attempt(incoming, attempt, error)
            if smaller is None:
                raise
            planner, following = smaller
        planner.notes().reopen()
        attempt = following


def inputs_as_before(
    context: SessionContext, window: ContextWindow, last_request: LastRequest, stored: CurrentView, now: float | None
) -> Inputs:
    """Return the inputs of the newest request as far as they are known; its system text and tools as their cost."""
    sections = stored.plan.sections if stored.plan else ()
    given = Inputs(
        sections=tuple(section for section in sections if not section.is_remembered and not section.is_kept),
        now=now,
        mode=last_request.in_its_mode,
        reserve=last_request.reserve_under(window),
    )
    last = sent_with(last_request, stored)
    if last is None:
        return given
    head = spent(map(context.renderer.section, (*given.head(stored.pins), *remembered_of(stored.plan))))
    return replace(given, hidden=HiddenPrefix(last_request.outside.less(head), last.system, last.tools))


class Planner:
    """Decides what is sent in one call, from the `stored` view and the call's inputs; each value is computed once."""

    def __init__(  # noqa: PLR0913  # what a call is decided from
        self,
        context: SessionContext,
        window: ContextWindow,
        settings: HistorySettings,
        stored: CurrentView,
        inputs: Inputs,
        *,
        last_request: LastRequest,
        notes: Callable[[], Notebook],
        auto_fraction: float = 0.0,
        leaves_plan: Callable[[bool], bool] | None = None,
    ) -> None:
        """Take where the data are, and what the call brings.

        `notes` returns the session's notes, which only a new plan needs. `auto_fraction`: the share of its room at
        which history gets an automatic snapshot; 0 for never. `leaves_plan`: whether the next plan is another
        writer's to make; it is told whether it can wait.
        """
        self.context = context
        self.window = window
        self.settings = settings
        self.stored = stored
        self.inputs = inputs
        self.last_request = last_request
        self.notes = notes
        self._leaves_plan = leaves_plan
        self._auto_fraction = auto_fraction
        meter, plan, reserve = context.renderer.meter, stored.plan, inputs.reserve
        # What the window leaves for input beside the room for the answer.
        self.room_tokens = window.window_tokens - (reserve.tokens if reserve else window.reserved_output_tokens)
        # What a whole request may cost: less where reported usage has shown that the counter is below it.
        self.plain_limit = plain_limit(window, settings, last_request.bills, self.room_tokens)
        # The host's system text as a part, what its tools and all else around the messages cost, the hashes of both.
        self.system = inputs.system_parts(meter)
        self.tools_cost = inputs.tools_cost(meter)
        self.digests = inputs.system_digest, inputs.tools_digest
        # The head that a new plan freezes, without what memory says.
        self.head = inputs.head(stored.pins)
        # The plan or request that knows the newest system text and tools; None where there has been no request.
        self.last_sent = last = sent_with(last_request, stored)
        # Whether these are others than in the newest request.
        self.outside_changed = last is not None and (last.system, last.tools) != self.digests
        # Whether the plan in force is newer than the newest recorded request: its call is being retried.
        self.is_again = last_request.is_before(plan)
        # Whether the plan in force was restored by hand.
        self.is_held = plan is not None and plan.held and not stored.opened
        # What is sent beside lead and history: system text, tools and the wanted head.
        self.outside = self._outside_with(self.head)

    @cached_property
    def remembered(self) -> tuple[Section, ...]:
        """What memory says in the head; the plan's, if the call does not ask memory."""
        unprompted = self.inputs.unprompted
        return unprompted.head(share_of(self.plain_limit)) if unprompted else remembered_of(self.stored.plan)

    @cached_property
    def patient_settings(self) -> HistorySettings:
        """The settings; for a restored plan, those under which no mark changes it."""
        if not self.is_held:
            return self.settings
        ladder = self.settings.ladder.without_marks()
        return replace(self.settings, high_fraction=math.inf, patience=0.0, scope="inline+summaries", ladder=ladder)

    @cached_property
    def changed(self) -> str | None:
        """The cause of a new plan that lies outside history; `None` for none."""
        stored = self.stored
        if stored.opened or self._opens():
            return "opened"
        if stored.withdrawn is not None:
            plan_id = stored.plan.plan_id if stored.plan else -1
            if RETRACTION.read(stored.withdrawn).is_missed(plan_id, [part.first_seq for part in stored.sent]):
                return "forget"
        if self._tells_of_others():
            return "branch"
        last = self.last_sent
        if last is None or not self.outside_changed:
            return None
        if last.tools != self.digests[1]:
            return "tools-changed"
        return "system-changed" if self.last_request.mode == self.inputs.mode.name else "mode-changed"

    def _opens(self) -> bool:
        """Return whether this is the first request, or the first under another window, so that nothing is cached."""
        stored = self.stored
        if stored.plan is not None or self.last_request.window_id == self.window.window_id:
            return False
        return bool((self.head and stored.messages <= stored.lead_count) or self.remembered)

    def _tells_of_others(self) -> bool:
        """Return whether the plan's head has facts that stand on other lines alone."""
        unprompted, plan, on = self.inputs.unprompted, self.stored.plan, self.context.transcripts
        if unprompted is None or plan is None or not (isinstance(on, LineStore) and on.lines.made):
            return False
        facts = [fact for section in plan.remembered for fact in section.memories]
        return bool(facts) and unprompted.unsaid(facts)

    def _outside_with(self, head: Sequence[Section]) -> Cost:
        return spent((*self.system, *map(self.context.renderer.section, head))).plus(self.tools_cost)

    @cached_property
    def _known(self) -> LastRequest:
        """The newest request; where a plan was made or restored since, with the head of that plan."""
        return self.last_request.told_by(self.stored.plan)

    @cached_property
    def _news(self) -> str | None:
        """What differs in the head from what the model was sent; `None` for nothing."""
        return self._known.news(self.head) if self.stored.messages else None

    @cached_property
    def _arrival(self) -> ArrivalTruncation:
        # Without what memory says: it gives way, and a plan of this call may add it. A retry behind that plan has to
        # truncate the new messages as before.
        return arrival(self.context.renderer, self.settings, self.stored, self.plain_limit, self.outside)

    # -- reported usage -----------------------------------------------------------------------------------------------

    def billed_limits(self) -> Limits | None:
        """Return what a request may cost by reported usage; `None` where nothing is known."""
        if not self.last_request.bills.reported_tokens:
            return None
        fixed = spent((*self.system, *self.stored.lead)).plus(self.tools_cost)
        limits = limits_by_bills(self.window, self.settings, self.last_request, self.room_tokens, fixed.bound)
        if limits is None:
            return None
        plan_id = self.stored.plan.plan_id if self.stored.plan else -1
        same = (plan_id, self.window.window_id) == (self.last_request.plan_id, self.last_request.window_id)
        return limits if same and not self.changed else limits._replace(extends=limits.changes)

    def leaves_room(self, fixed_tokens: int) -> bool:
        """Return whether reported usage leaves room for a conversation beside what is always sent.

        Texts have at least a third of the room that the counter leaves them: no text costs more than three times its
        bound.
        """
        left_tokens = max(0, self.room_tokens - fixed_tokens)
        return self.plain_limit.bound - fixed_tokens >= left_tokens // MOST_FACTOR

    def unbilled(self) -> Planner:
        """Return the planner without calibration, by the counter alone."""
        return self._with(self.stored, self.last_request._replace(bills=UsageCalibration()))

    def _with(self, stored: CurrentView, last_request: LastRequest) -> Planner:
        return Planner(
            self.context,
            self.window,
            self.settings,
            stored,
            self.inputs,
            last_request=last_request,
            notes=self.notes,
            auto_fraction=self._auto_fraction,
            leaves_plan=self._leaves_plan,
        )

    def sane(self) -> Planner:
        """Return the planner; by the counter alone where the calibration leaves hardly any room to compact."""
        enough = not self.last_request.bills.reports or self.leaves_room(self.last_request.outside.bound)
        return self if enough else self.unbilled()

    # -- which attempt ------------------------------------------------------------------------------------------------

    def first_attempt(self, incoming: Sequence[Message]) -> Attempt:
        """Return the attempt to begin with."""
        return Attempt(self.billed_limits(), self._facts(incoming, remembered_of(self.stored.plan)))

    def smaller_attempt(
        self, incoming: Sequence[Message], attempt: Attempt, error: BudgetError
    ) -> tuple[Planner, Attempt] | None:
        """Return the planner and the attempt to try when a request does not fit; `None` when nothing is left."""
        smaller = self._without_more(incoming, attempt, error)
        return (self, attempt._replace(cuts=True)) if smaller is None and not attempt.cuts else smaller

    def _without_more(
        self, incoming: Sequence[Message], attempt: Attempt, error: BudgetError
    ) -> tuple[Planner, Attempt] | None:
        """Return the attempt without what need not be said, then by the counter alone; `None` where it is neither."""
        is_decided = error.culprit == WITH_ANSWERS
        if not is_decided and attempt.says and (attempt.facts or self._tail(incoming)):
            return self, attempt._replace(says=False, cause=None)
        first = self.first_attempt(incoming)
        if not is_decided and attempt.limits:
            return self, first._replace(limits=None)
        # Calibration must never be the reason that no request can be made: without an answer, nothing could correct it.
        # A turn whose texts have really cost too much stays an error.
        if not self.last_request.bills.reports:
            return None
        fixed = self.outside.plus(spent(self.stored.lead)).bound
        if error.culprit in {IN_FLIGHT, WITH_ANSWERS} and self.leaves_room(fixed):
            return None
        planner = self.unbilled()
        return planner, planner.first_attempt(incoming)

    def better_attempt(self, incoming: Sequence[Message], attempt: Attempt, decision: Decision) -> Attempt | None:
        """Return the attempt to try when a request fits but does not say what it must; `None` when it is good.

        Raises:
            BudgetError: with what comes back of answers, it is too large.
        """
        change, news = decision.change, None if attempt.cause else self._news
        # Behind a message a document is outside of the caps.
        beyond = self.settings.cap is not None and _has(decision.assembly.incoming, news)
        if news is not None and (change is not None or beyond):
            # The plan's head says it; behind the message it would be said twice, for good.
            return attempt._replace(cause=change.record.cause if change else "system-changed")
        if change is not None and not attempt.is_for_new_head:
            # A retry behind this plan finds another head, and has to say the same.
            facts = self._facts(incoming, change.record.remembered)
            if facts != attempt.facts:
                return attempt._replace(facts=facts, is_for_new_head=True, says=True, cause=None)
        if attempt.limits is None:
            self._check_answers(decision)
            return None
        over_tokens = decision.leaves.certified - self.room_tokens
        if over_tokens <= 0:
            return None
        limits = attempt.limits.less(over_tokens, attempt.guesses) if attempt.guesses + 1 < MOST_GUESSES else None
        return self.first_attempt(incoming)._replace(limits=limits, guesses=attempt.guesses + 1)

    def _check_answers(self, decision: Decision) -> None:
        left = decision.leaves
        # For a request far smaller than the room it is not credible: every later one would be refused, too.
        dear = self.last_request.bills.kept.comes_back and MOST_FACTOR * left.cost.bound > self.room_tokens
        if left.certified > self.room_tokens and dear:
            key = "models.<alias>.context_window"
            raise BudgetError(WITH_ANSWERS, cost=left.certified, budget=self.room_tokens, unit="tokens", key=key)

    def certified(self, decision: Decision) -> Decision:
        """Return the decision, with the counter's own bound where possible reasoning makes the request too large."""
        left = decision.leaves
        if left.certified <= self.room_tokens:
            return decision
        tokens = self.last_request.bills.plain_bound(left.cost.bound)
        certificate = self.context.renderer.meter.certificate
        assembly = replace(decision.assembly, certified_tokens=tokens, certificate=certificate)
        return decision._replace(assembly=assembly, leaves=left._replace(certified=tokens, certificate=certificate))

    def _facts(self, incoming: Sequence[Message], head: Sequence[Section]) -> str | None:
        """Return facts that are not in a head and, after a pause, what the journal says; `None` for nothing.

        Facts are sent once, where a conversation begins: not if an earlier message carries some.
        """
        unprompted, newest = self.inputs.unprompted, _newest(incoming)
        if unprompted is None or newest < 0:
            return None
        limit_tokens, started = share_of(self.plain_limit), None
        if self._is_cold(incoming[:newest]):
            started = unprompted.start(incoming[newest].text, limit_tokens, head)
        return joined(started, self._resumed(unprompted, limit_tokens, head))

    def _is_cold(self, before: Sequence[Message]) -> bool:
        """Return whether the conversation has just begun, and no facts were sent with it."""
        stored = self.stored
        first, last = stored.lead_count, stored.messages - 1
        messages = self.context.count_between(first, last) + sum(message.role != "system" for message in before)
        if messages >= COLD_MESSAGES:
            return False
        rows = self.context.read(first, last) if first <= last else ()
        return not any(tells_memories(row.notice or "") for row in rows)

    def _resumed(self, unprompted: UnpromptedContext, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return what the journal says after a pause, unless it is in view."""
        now, before = self.inputs.now, self.stored.newest_time
        if now is None or before is None or now - before < self.settings.gap_seconds:
            return None
        noticed = [row.notice for step in self.stored.tail.steps for row in step.messages if row.notice]
        return unprompted.resume(limit_tokens, head, noticed)

    def _tail(self, incoming: Sequence[Message]) -> str | None:
        """Return what extensions add to the user's newest message; `None` for nothing."""
        extended = self.inputs.extended
        if extended is None or (newest := _newest(incoming)) < 0:
            return None
        return extended.tail(incoming[newest].text, share_of(self.plain_limit))

    # -- one attempt --------------------------------------------------------------------------------------------------

    def attempted(self, incoming: Sequence[Message], attempt: Attempt) -> Decision:
        """Return the outcome of one attempt. Under `limits`, its bound is still to be checked.

        Raises:
            BudgetError: nothing makes the request fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        news = None if attempt.cause else self._news
        label = self._known.labelled(self.inputs.mode)
        draft, warning = self._drafted(incoming, attempt, joined(self.inputs.notice, news, label))
        view, call = draft.view, draft.call
        renewed = self.notes().restart() if view.opened else ()
        change, before, skipped = self._due_plan(draft, attempt)
        assembly, change = self._built(draft, attempt, change)
        full, pressed = draft.fullness, self._is_pressed(draft)
        before = before.told_of(self.head) if change is not None or draft.has(news) else before
        ladder = self.settings.ladder
        rungs = ladder.told(full if change is None else fullness(assembly.view, room_of(assembly.view, call)))
        left, assembly = self._leaving(assembly, before)
        mode = self.inputs.mode
        knows_mode = not before.known or label is None or draft.has(label)
        return Decision(
            assembly=assembly,
            change=change,
            renewed=renewed,
            leaves=left._replace(
                messages=view.messages,
                pressed=pressed,
                rungs=rungs,
                noticed=WARN in rungs and (self.last_request.noticed or warning),
                mode=mode.name,
                mode_chosen=mode.chosen,
                mode_told=mode.label if knows_mode else before.mode_told,
            ),
            skipped=skipped,
            pressing=pressed and not self.last_request.pressed and not self.is_again,
            fullness=full,
            rungs=ladder.crossed(full, self.last_request.rungs),
        )

    def _drafted(self, incoming: Sequence[Message], attempt: Attempt, notice: str | None) -> tuple[Draft, bool]:
        """Return the draft with the ladder's warning and memory's facts, as far as they cause no new plan.

        Raises:
            BudgetError: what is always sent leaves no room for a conversation.
        """
        draft, warning = self._placed(incoming, attempt, notice), None
        self._check_fixed(draft)
        line = self._warning(draft)
        if line is not None:
            warned = self._placed(incoming, attempt, joined(notice, line), draft)
            if warned.has(line) and not warned.due:
                draft, warning = warned, line
        opening = joined(attempt.facts, self._tail(incoming)) if attempt.says else None
        if opening is not None:
            begun = self._placed(incoming, attempt, joined(notice, warning, opening), draft)
            draft = begun if begun.due == draft.due else draft
        return draft, warning is not None

    def _placed(
        self, incoming: Sequence[Message], attempt: Attempt, notice: str | None, before: Draft | None = None
    ) -> Draft:
        """Return the draft with a notice; `before` is the draft with another notice."""
        stored, rows = self.stored, None
        if before is not None and notice is not None:
            rows = self._arrival.noticed(incoming, before.rows, notice)
        if rows is None:
            rows = self._arrival.placed(incoming, stored, self.inputs.now, notice)
        view = stored.extended(rows, self.context.renderer)
        view = without_question(self.context, view, stored.turn) if stored.opened else view
        return Draft(self, rows, view, self.call_context(view, attempt.limits.extends if attempt.limits else None))

    def _warning(self, draft: Draft) -> str | None:
        """Return the line that says how full the room is, at a new turn without a new plan; `None` if none is due."""
        opens = draft.view.at_turn and draft.view.turn >= self.stored.messages
        # A call with a new plan was sent without the line, and so is its retry.
        if self.last_request.noticed or not opens or self.is_again:
            return None
        line = self.settings.ladder.first_notice(draft.fullness)
        return None if line is None or draft.due else line

    def _check_fixed(self, draft: Draft) -> None:
        """Check that what is always sent leaves room; memory's part of the head does not count, because it gives way.

        Raises:
            BudgetError: it does not.
        """
        view, room, sections = draft.view, draft.room, remembered_of(draft.view.plan)
        if sections:
            cost = spent(map(self.context.renderer.section, sections))
            view = view._replace(fixed=view.fixed.less(cost))
            room = room_of(view, draft.call)
        check_fixed(view, draft.call, self.context.renderer, room)

    def call_context(self, view: CurrentView, limit: Cost | None = None) -> CallContext:
        """Return the context of a call with `view`; `limit` `None`: by the counter alone."""
        renderer, settings, stored = self.context.renderer, self.settings, self.stored
        now = self.inputs.now if self.inputs.now is not None else view.newest_time
        idle = now - stored.newest_time if now is not None and stored.newest_time is not None else 0.0
        rests_until = self.last_request.rests_until
        rests = rests_until is not None and now is not None and now < rests_until
        return CallContext(
            limit=limit or self.plain_limit,
            system=self.system,
            tools=self.tools_cost,
            notices=renderer.notices,
            new_turn=view.at_turn,
            cold=idle > settings.cache_ttl_seconds,
            stored=stored.messages,
            changed=self.changed,
            now=now,
            paused=rests or self.is_again,
            unit="tokens" if settings.policy_limit is None else "words",
            outside_changed=self.outside_changed,
            extended=self.inputs.extended,
            strict=settings.strict,
            most_pinned=int(settings.pinned_fraction * self.window.window_tokens),
            again=self.is_again and stored.plan is not None and stored.plan.cause not in BY_HAND,
        )

    def _is_pressed(self, draft: Draft) -> bool:
        mark = self._auto_fraction
        return mark > 0 and pressure_fraction(draft.view.history, draft.room) >= mark

    # -- a new plan ---------------------------------------------------------------------------------------------------

    def _due_plan(
        self, draft: Draft, attempt: Attempt
    ) -> tuple[NewPlan | None, LastRequest, tuple[tuple[str, PlanRecord], ...]]:
        """Return the due plan, `None` if none is due or it does not pay; the request to remember; skipped events."""
        cause = attempt.cause or draft.due
        if cause and not attempt.cause and self._leaves(cause):
            cause = None
        change = self._new_plan(draft, attempt, cause) if cause else None
        if change is None:
            return None, self._known, ()
        in_any_case = attempt.cause or self.settings.cap
        if cause != "high-water" or in_any_case or saves_enough(change.record, self.settings):
            return change, self._known._replace(skipped=0, rests_until=None), ()
        self.notes().reopen()
        skipped, now = self._known.skipped + 1, draft.call.now
        if skipped < MOST_SKIPS or now is None:
            return None, self._known._replace(skipped=skipped), ((events.COMPRESSION_SKIPPED, change.record),)
        rested = self._known._replace(skipped=0, rests_until=now + self.settings.backoff_seconds)
        names = (events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED)
        return None, rested, tuple((name, change.record) for name in names)

    def _leaves(self, cause: str) -> bool:
        """Return whether the plan of a cause is another writer's to make."""
        return self._leaves_plan is not None and self._leaves_plan(cause in MARKED)

    def _new_plan(self, draft: Draft, attempt: Attempt, cause: str) -> NewPlan | None:
        """Return the new plan for a cause; `None` where it may change nothing.

        While it fits, recalled messages that were not sent yet stay raw like those of the call, and the head has what
        memory says.

        Raises:
            BudgetError: nothing makes the request fit, not even without these.
        """
        settings = self.settings if cause in _URGENT else self.patient_settings
        call = self._changing(draft.call, attempt)
        unsent = call._replace(stored=_unsent_from(draft.view, call.stored))
        tries = [(unsent, head) for head in self.heads()]
        if unsent.stored != call.stored:
            tries.append((call, self.head))
        view, pinned = draft.view, draft.view.pins.seqs
        place = self.context.showing(view.plan), self.notes(), settings, view
        builders = [PlanBuilder(*place, one, head, pinned, cuts=attempt.cuts) for one, head in tries]
        return _first_fitting(builders, cause)

    def heads(self) -> Iterator[tuple[Section, ...]]:
        """Yield the heads that a plan may have: with all of memory, with the journal's digest alone, with neither."""
        journal = tuple(section for section in self.remembered if section.name == JOURNAL_SECTION)
        for kept in dict.fromkeys((self.remembered, journal, ())):
            yield (*self.head, *kept)

    def _changing(self, call: CallContext, attempt: Attempt) -> CallContext:
        """Return the context of a call that makes a plan: less is known about the cost of what it sends."""
        return call._replace(limit=attempt.limits.changes) if attempt.limits else call

    # -- the request --------------------------------------------------------------------------------------------------

    def _built(self, draft: Draft, attempt: Attempt, change: NewPlan | None) -> tuple[CoreAssembly, NewPlan | None]:
        """Return the checked request and its new plan: one is made where the request would break the prefix."""
        if change is None:
            assembly = build(self, draft, draft.view, None)
            if not self._breaks(assembly) or self._leaves("repaired"):
                return assembly, None
            change = self._new_plan(draft, attempt, "repaired")
            if change is None:
                return assembly, None
        change = self.signed(change, self.digests)
        changing = Draft(self, draft.rows, draft.view, self._changing(draft.call, attempt))
        return build(self, changing, change.view, change.record), change

    def _breaks(self, assembly: CoreAssembly) -> bool:
        """Return whether a request breaks the prefix of the one before."""
        parts, plan_id = assembly.parts, assembly.plan.plan_id if assembly.plan else -1
        if self.system or not self.digests[0]:
            return self.last_request.broken_by(parts, plan_id)
        # The system text in front is not at hand. Any part will do in its place: the seal does not reach it in a longer
        # request.
        return self.last_request.parts > SEALED_PARTS and self.last_request.broken_by((parts[0], *parts), plan_id)

    def _leaving(self, assembly: CoreAssembly, before: LastRequest) -> tuple[LastRequest, CoreAssembly]:
        """Return the request as the next call has to know it, and the request with its certified cost."""
        remembered, last = remembered_of(assembly.plan), self.last_request
        outside = self._outside_with((*self.head, *remembered)) if remembered else self.outside
        added = added_by(assembly, last, self.digests, outside)
        tokens, certificate = 0, ""
        if before.bills.reports:
            tokens, certificate = certified(assembly, last, added, self.context.renderer.meter.certificate)
            assembly = replace(assembly, certificate=certificate, certified_tokens=tokens)
        left = before._replace(
            number=last.number + 1,
            system=self.digests[0],
            tools=self.digests[1],
            cost=assembly.cost,
            outside=outside,
            limit=assembly.limit,
            window_id=self.window.window_id,
            plan_id=assembly.plan.plan_id if assembly.plan else -1,
            parts=len(assembly.parts),
            seal=seal(assembly.parts),
            certified=tokens,
            certificate=certificate,
            reserve=self.inputs.reserve,
            added=added,
            sent=assembly.parts,
        )
        return left, assembly

    def signed(self, change: NewPlan, digests: tuple[str, str], *, held: bool = False) -> NewPlan:
        """Return a plan with its window, and the hashes of its system text and tools.

        A restored plan stays held where it had to change for a reason outside history.
        """
        last = self.last_sent
        plan = replace(
            change.record,
            window_id=self.window.window_id,
            system=digests[0],
            tools=digests[1],
            held=held or (self.is_held and change.record.cause in _KEEPING),
            outside_changed=last is not None and (last.system, last.tools) != digests,
        )
        return change._replace(record=plan, view=change.view._replace(plan=plan))

    # -- beside a call ------------------------------------------------------------------------------------------------

    @property
    def _last_digests(self) -> tuple[str, str]:
        return (self.last_sent.system, self.last_sent.tools) if self.last_sent else ("", "")

    def compacted(self, cause: str = "manual") -> NewPlan | None:
        """Return the plan of a compaction by hand, or for a tool's answer; `None` where it would do nothing.

        Raises:
            BudgetError: what must always be sent does not fit.
            StoreError: the store failed.
        """
        call, stored = self.call_context(self.stored), self.stored
        builders = [
            PlanBuilder(
                self.context.showing(stored.plan),
                self.notes(),
                self.settings,
                stored,
                call,
                head,
                stored.pins.seqs,
            )
            for head in self.heads()
        ]
        change = _first_fitting(builders, cause)
        if change is None or not pays_by_hand(change.record, stored):
            return None
        return self.signed(change, self._last_digests)

    def restored(self, back: Return) -> NewPlan:
        """Return the new plan that returns to an earlier one.

        Raises:
            BudgetError: that does not fit.
            NotFoundError: a summary of the plan is no longer stored.
        """
        change = again(self.context, self.settings, self.stored, self.call_context(self.stored), back)
        return self.signed(change, self._last_digests, held=True)

    def branched(self, back: Return, left: CurrentView) -> NewPlan | None:
        """Return the plan with which a new line begins; `left` is what was sent on the one that it left.

        None where that does not fit, or shows what was forgotten: the next request has another plan.
        """
        call = self.call_context(self.stored)
        try:
            change = again(self.context, self.settings, self.stored, call, back, left=left)
        except (BudgetError, NotFoundError):
            return None
        return self.signed(change, self._last_digests)

    def without(self, forgetting: SessionWithout) -> NewPlan | None:
        """Return the plan with which the session goes on without forgotten messages; `None` where none is needed.

        Raises:
            BudgetError: what must always be sent does not fit.
        """
        left = load(forgetting.context, self.window.window_tokens, self.window.window_id)
        if left.opened or self.last_sent is None or (left.sent == self.stored.sent and not forgetting.retells):
            return None
        planner = self._with(left, self.last_request)
        call = planner.call_context(left)
        builders = [
            PlanBuilder(
                forgetting.context.showing(left.plan),
                forgetting.notes,
                self.settings,
                left,
                call,
                head,
                left.pins.seqs,
                forgetting.retells,
            )
            for head in planner.heads()
        ]
        change = _first_fitting(builders, "forget")
        return change and self.signed(change, self._last_digests)

    def room(self, waiting: LastRequest | None) -> Room:
        """Return how much room the next request has; `waiting` is the newest request if it is not recorded yet."""
        stored, newest = self.stored, waiting or self.last_request
        outside, sent = newest.outside, spent(self.stored.lead)
        came = newest.cost.less(sent.plus(outside).plus(stored.history)) if waiting else NOTHING
        limits = self.billed_limits()
        limit = limits.extends if limits else self.plain_limit
        cuts = arrival(self.context.renderer, self.settings, stored, self.plain_limit, outside.plus(came)).limits
        fixed, history = sent.plus(outside), stored.history.plus(came)
        used, high = fixed.plus(history), self.settings.high_fraction
        beside = stored.summaries if self.settings.beside_summaries else NOTHING
        most, raw = self.settings.ladder.marked_room(limit.less(fixed), high).less(beside), history.less(beside)
        return Room(
            view=stored,
            used_tokens=used.bound,
            marked=Cost(int(high * most.estimate) - raw.estimate, int(high * most.bound) - raw.bound),
            whole=limit.less(used),
            limit_tokens=max(0, limit.bound),
            output_tokens=cuts.output_tokens,
            step_tokens=cuts.step_tokens,
            newest=newest,
            overcounted_tokens=max(0, limit.bound - self.room_tokens),
        )


def arrival(
    renderer: Renderer, settings: HistorySettings, stored: CurrentView, limit: Cost, outside: Cost
) -> ArrivalTruncation:
    """Return what places messages behind the stored view, beside which `outside` is sent."""
    # Nothing counts more words, or more tokens by estimate, than its bound: the smaller limit holds in both units.
    kept = renderer.marked_cost(stored.markers)
    room = min(limit.bound - outside.bound - kept.bound, limit.estimate - outside.estimate - kept.estimate)
    return ArrivalTruncation.within(renderer, settings, room, stored)


def build(planner: Planner, draft: Draft, view: CurrentView, event: PlanRecord | None) -> CoreAssembly:
    """Return the request of a view, checked against the window and the providers' rules.

    Raises:
        BudgetError: it does not fit.
        InvalidRequestError: there is nothing to answer.
    """
    if not view.messages:
        raise InvalidRequestError("R5", "nothing has been said; give the user's message to assemble, or record it")
    call, renderer = draft.call, planner.context.renderer
    parts = view.parts(call.system, renderer)
    cost = spent(parts).plus(call.tools)
    if cost.bound > call.limit.bound or cost.estimate > call.limit.estimate:
        raise too_much(view, call, cost)
    check_request(parts)
    return CoreAssembly(
        session_id=planner.context.session_id,
        window=planner.window,
        parts=parts,
        incoming=draft.rows,
        cost=cost,
        limit=call.limit,
        certificate=renderer.meter.certificate,
        view=view,
        event=event,
        codecs=renderer.codecs,
        reserve=planner.inputs.reserve,
        gaps=planner.context.gaps(planner.stored.messages),
    )


def sent_with(last_request: LastRequest, stored: CurrentView) -> PlanRecord | LastRequest | None:
    """Return the plan or request that knows the newest system text and tools; `None` without any request.

    A plan that is newer than the newest recorded request was made for one that is being retried.
    """
    if last_request.is_before(stored.plan):
        return stored.plan
    return last_request if last_request.known else None


def share_of(limit: Cost) -> int:
    """Return what the sections of memory may cost together, and a cold start once more; in tokens, as a bound."""
    return max(0, limit.bound) // SHARE


def remembered_of(plan: PlanRecord | None) -> tuple[Section, ...]:
    """Return what memory says in the head of a plan."""
    return plan.remembered if plan else ()


def joined(*texts: str | None) -> str | None:
    """Return texts as one notice, each on lines of its own; `None` for none."""
    return "\n".join(filter(None, texts)) or None


def _first_fitting(builders: Sequence[PlanBuilder], cause: str) -> NewPlan | None:
    """Return the plan of the first builder whose plan fits; only the last one may raise."""
    for builder in builders[:-1]:
        with suppress(BudgetError):
            return builder.new_plan(cause)
    return builders[-1].new_plan(cause)


def _has(rows: Sequence[StoredMessage], text: str | None) -> bool:
    """Return whether a text is in the notice of one of these messages."""
    return text is not None and any(text in row.notice for row in rows if row.notice)


def _newest(incoming: Sequence[Message]) -> int:
    """Return the place of the user's newest message; -1 where there is none."""
    for place in range(len(incoming) - 1, -1, -1):
        if speaks(incoming[place]):
            return place
    return -1


def _unsent_from(view: CurrentView, stored: int) -> int:
    """Return the seq of the oldest recalled record behind the last reply; `stored` where there is none."""
    for step in reversed(view.tail.steps):
        first = step.messages[0]
        if first.role == "assistant":
            break
        if first.category is Category.RECALLED:
            stored = min(stored, first.seq)
    return stored
