"""One call decided: the request, the change it is made under, what it leaves behind. Nothing is written here."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from squidbot.core import events
from squidbot.core.budget import WARN, tier_of
from squidbot.core.compaction.bounds import certain, limits_by_bills, plain_limit
from squidbot.core.compaction.planner import Ask, Change, Makers, due, make_change
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
from squidbot.core.compaction.undo import RAW, again, plan_of
from squidbot.core.errors import BudgetError, InvalidRequestError, NotFoundError
from squidbot.core.events import Event
from squidbot.core.last_request import REQUEST, SEALED_PARTS, LastRequest, Mode, digest, seal
from squidbot.core.messages import Category, Cost, Kind, Part
from squidbot.core.plan import JOURNAL_SECTION, Representation
from squidbot.core.tokens.calibration import MOST_FACTOR, UsageCalibration
from squidbot.core.transcript.goals import goals_most_tokens, goals_overrun
from squidbot.core.transcript.pins import Pins
from squidbot.core.transcript.removals import RETRACTION, forgotten_since, retracted_since
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.assembly import Assembly, shorter
from squidbot.core.view.current import bare, load, marked, released, under
from squidbot.core.view.marks import tells_memories
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import check_request
from squidbot.core.view.truncation import ArrivalTruncation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from squidbot.core.budget import Reserve
    from squidbot.core.compaction.bounds import Limits
    from squidbot.core.compaction.undo import Return
    from squidbot.core.forgetting import SessionWithout
    from squidbot.core.messages import ContextWindow, Message, Record, StoredMessage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.plan import PlanRecord, Section, Segment
    from squidbot.core.ports import CallExtensions
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.truncation import ArrivalLimits


# One call: what the host gives beside the conversation, and the request that is built of it all.

Made = TypeVar("Made")
NO_MODE = Mode()


class Unseen(NamedTuple):
    """System text and tools that a host sends and did not give for a call: what they cost, and their hashes."""

    cost: Cost
    system: str
    tools: str


class Unasked(Protocol):
    """What durable memory says in requests unasked. No failure of it ever fails a call: it then says nothing."""

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return the sections for the head of a request, which together cost at most so much, as a bound.

        The journal's digest may cost so much beside the others.

        Each `Section.is_remembered`. While nothing is added, replaced or forgotten they are the same.
        """

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return facts that answer the first words of a conversation, between marks of ours; None for none.

        Those that `head` says already are not said again.
        """

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return what the journal tells of the work where a conversation goes on after a pause; None for nothing.

        What `head` or one of the texts that stand behind messages says already is not said again.
        """

    def untold(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return which of these facts must not be told here any more: they were forgotten, or are another one's."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the host gives beside the conversation for one call.

    Attributes:
        system: its system text, sent first; "" where the transcript brings its own.
        tools: its tool definitions as they are sent, JSON text; counted, not kept. "" for none.
        sections: texts for the head of the request: the memory document, profiles. Frozen until the next event.
        notice: volatile text (time, percent used, facts) frozen behind the newest user message; None for none.
        now: seconds since 1970; None where time is not known.
        unasked: what durable memory says; None: what the plan in force has of it stays.
        extended: what extensions say; None for none.
        unseen: the system text and tools that the host sends with it, where they are not given.
        mode: what the system text is for; another one than before only where the call opens a turn.
        reserve: the room for the answers of the turn; None: as the window has it.
    """

    system: str = ""
    tools: str = ""
    sections: tuple[Section, ...] = ()
    notice: str | None = None
    now: float | None = None
    unasked: Unasked | None = None
    unseen: Unseen | None = None
    extended: CallExtensions | None = None
    mode: Mode = NO_MODE
    reserve: Reserve | None = None

    @property
    def system_digest(self) -> str:
        """A hash of the system text; "" for none."""
        return self.unseen.system if self.unseen else digest(self.system)

    @property
    def tools_digest(self) -> str:
        """A hash of the tool definitions; "" for none."""
        return self.unseen.tools if self.unseen else digest(self.tools)

    def system_parts(self, meter: Meter) -> tuple[Part, ...]:
        """Return the host's system text as a part; nothing where there is none."""
        if not self.system:
            return ()
        return (Part(Kind.SYSTEM, "system", meter.fixed(self.system), text=self.system),)

    def tools_cost(self, meter: Meter) -> Cost:
        """Return what the tool definitions cost, in tokens, with all that is sent beside messages and was not given."""
        # What was sent before and is not given had the template around it already.
        around = self.unseen.cost if self.unseen else meter.request
        return meter.tools(self.tools).plus(around)

    @classmethod
    def as_before(cls, plan: PlanRecord | None) -> Inputs:
        """Return inputs with the head that a plan has, kept and remembered texts aside; nothing without a plan."""
        sections = plan.sections if plan else ()
        return cls(sections=tuple(one for one in sections if not one.is_remembered and not one.is_kept))

    def head(self, pins: Pins) -> tuple[Section, ...]:
        """Return the head that the next event freezes: the host's, documents, goals, pins; not memory's own."""
        said = (section for section in self.sections if section.text)
        return (*said, *pins.documents, *(pins.goals or ()), *pins.texts)


class Call(NamedTuple):
    """One call of `assemble`: the window, the circumstances, the messages that came with it, the head it wants.

    `reserve` is as in `Inputs`.
    """

    window: ContextWindow
    moment: CallContext
    born: tuple[StoredMessage, ...]
    head: Wanted
    reserve: Reserve | None = None


class Met(NamedTuple):
    """What a call meets: its messages as they are stored, what would stand with them, and the circumstances.

    `notice`: the line by which the model is told of the ladder's first rung; None where it is not.
    """

    born: tuple[StoredMessage, ...]
    trial: CurrentView
    moment: CallContext
    notice: str | None = None


class Wanted(NamedTuple):
    """The head that an event makes: what the host and pins say, and behind it what memory says of itself, if it fits.

    `remembered` is asked for at most once, where an event is made.
    """

    told: tuple[Section, ...]
    remembered: Callable[[], tuple[Section, ...]]

    def tried(self, make: Callable[[tuple[Section, ...]], Made]) -> Made:
        """Return what is made with the whole head; where that does not fit, without what memory says, the journal last.

        Raises:
            BudgetError: it does not fit without it, either.
        """
        remembered = self.remembered()
        journal = tuple(one for one in remembered if one.name == JOURNAL_SECTION)
        for kept in filter(None, dict.fromkeys((remembered, journal))):
            with suppress(BudgetError):
                return make((*self.told, *kept))
        return make(self.told)


class Telling(NamedTuple):
    """What a call tells beside what is said: the head it wants, what the model knows, memory's facts, and the news.

    `cause`: of the event that it makes in any case; None for the one that is due.
    """

    wanted: Wanted
    known: LastRequest
    started: str | None
    news: str | None
    cause: str | None = None


class Outcome(NamedTuple):
    """What one call comes to.

    Attributes:
        assembly: the request.
        change: the event that it is made under; None where it extends the one before.
        renewed: records of notes begun anew, to store with the change.
        leaves: what it leaves behind once it is recorded.
        skipped: events to tell of a change that would not have paid, each with its plan.
        pressing: whether history reaches the mark at which a snapshot is made unasked, and did not before.
        fullness: how full the room for history is without the event; rungs: those of the ladder that it reaches with
            this, and the request before did not.
    """

    assembly: Assembly
    change: Change | None
    renewed: tuple[Record, ...]
    leaves: LastRequest
    skipped: tuple[tuple[str, PlanRecord], ...]
    pressing: bool
    fullness: float
    rungs: tuple[str, ...]


class Room(NamedTuple):
    """What the next request has free behind what is stored.

    Attributes:
        standing: what is stored, as it is sent.
        used_tokens: what the request costs so far, as a bound.
        marked: what is free up to the high-water mark; below 0 beyond it. whole: until the request is full.
        output_tokens: above it, as a bound, a tool output that comes next is cut.
        step_tokens: above it a whole step is.
        newest: what the newest request has left, recorded or not.
        overcounted_tokens: how much of these bounds the provider does not bill: what is free is more by that.
    """

    standing: CurrentView
    used_tokens: int
    marked: Cost
    whole: Cost
    output_tokens: int
    step_tokens: int
    newest: LastRequest
    overcounted_tokens: int = 0

    @property
    def awaited(self) -> tuple[StoredMessage, ...]:
        """The newest step, where results of its calls are missing; else nothing."""
        newest = self.standing.tail.steps[-1] if self.standing.tail.steps else None
        return newest.messages if newest and not newest.whole and newest.messages[0].call_ids else ()

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of that step's calls whose results are missing, in the order of the calls; else nothing."""
        done = {call_id for row in self.awaited[1:] for call_id in row.result_ids}
        return tuple(call_id for row in self.awaited[:1] for call_id in row.call_ids if call_id not in done)

    @classmethod
    def behind(
        cls,
        standing: CurrentView,
        beside: tuple[LastRequest, Cost],
        limits: tuple[Cost, int],
        birth: ArrivalLimits,
        high_fraction: float,
    ) -> Room:
        """Return the room behind what stands; `beside` it are what the newest request left, and what came since.

        `limits` are what a request may cost as counted, and what the window leaves for it.
        """
        (newest, came), (limit, room_tokens) = beside, limits
        outside = newest.outside
        fixed, history = spent(standing.lead).plus(outside), standing.history.plus(came)
        used, most = fixed.plus(history), limit.less(fixed)
        return cls(
            standing=standing,
            used_tokens=used.bound,
            marked=Cost(
                int(high_fraction * most.estimate) - history.estimate, int(high_fraction * most.bound) - history.bound
            ),
            whole=limit.less(used),
            output_tokens=birth.output_tokens,
            step_tokens=birth.step_tokens,
            newest=newest,
            overcounted_tokens=max(0, limit.bound - room_tokens),
        )


def change_for(makers: Makers, trial: CurrentView, moment: CallContext, ask: Ask, head: Wanted) -> Change | None:
    """Return the change that an event makes; what was recalled and not sent yet stays raw like what came with the call.

    The sections of `ask` are those of `head`, as far as they fit.

    Raises:
        BudgetError: nothing makes the request fit, not even without what was recalled.
    """
    unseen = moment._replace(stored=_unseen_from(trial, moment.stored))
    try:
        return head.tried(lambda sections: make_change(makers, trial, unseen, ask._replace(sections=sections)))
    except BudgetError:
        if unseen.stored == moment.stored:
            raise
        return make_change(makers, trial, moment, ask._replace(sections=head.told))


def _unseen_from(trial: CurrentView, stored: int) -> int:
    """Return the seq of the oldest recalled record behind the last reply; `stored` where there is none."""
    for step in reversed(trial.tail.steps):
        first = step.messages[0]
        if first.role == "assistant":
            break
        if first.category is Category.RECALLED:
            stored = min(stored, first.seq)
    return stored


def build(shelf: SessionContext, call: Call, standing: CurrentView, event: PlanRecord | None) -> Assembly:
    """Return the request that stands, checked against the window and the providers' rules.

    Raises:
        BudgetError: it does not fit.
        InvalidRequestError: there is nothing to answer.
    """
    if not standing.messages:
        raise InvalidRequestError("R5", "nothing has been said; give the user's message to assemble, or record it")
    window, moment, born, _, reserve = call
    renderer = shelf.renderer
    parts = standing.parts(moment.system, renderer)
    cost = spent(parts).plus(moment.tools)
    if cost.bound > moment.limit.bound or cost.estimate > moment.limit.estimate:
        raise too_much(standing, moment, cost)
    check_request(parts)
    return Assembly(
        session_id=shelf.session_id,
        window=window,
        parts=parts,
        incoming=born,
        cost=cost,
        limit=moment.limit,
        certificate=renderer.meter.certificate,
        standing=standing,
        event=event,
        codecs=renderer.codecs,
        reserve=reserve,
    )


# What memory and extensions say unasked, beside the conversation: how much room they have, and when
# it gives way.

# B-33: a conversation begins cold while fewer messages than this were said before the one in flight.
COLD_MESSAGES = 3
# Of what a request may cost, head and cold start may each take a tenth: at 2K it holds a line or two, from 16K on all.
SHARE = 10


def share_of(limit: Cost) -> int:
    """Return what the sections of memory may cost together, and so much again a cold start, in tokens as a bound."""
    return max(0, limit.bound) // SHARE


class Beginning(NamedTuple):
    """A call that may begin a conversation: what facts to freeze behind the newest of the user's messages.

    Attributes:
        shelf: what was said before.
        stored: what stands.
        incoming: what comes.
        unasked: what memory says; None for nothing.
        share_tokens: what it may cost, as a bound.
        resumes: whether it comes after a pause that parts session blocks.
    """

    shelf: SessionContext
    stored: CurrentView
    incoming: Sequence[Message]
    unasked: Unasked | None
    share_tokens: int
    resumes: bool = False

    def facts(self, head: Sequence[Section]) -> str | None:
        """Return facts that are not in a head, and after a pause what the journal tells; None for nothing.

        Facts are told where a conversation begins, once: not where any message before carries some. Of the plan in
        force nothing of it depends on more than the head, and what stands raw behind it.

        Raises:
            StoreError: the store failed.
        """
        newest = _newest(self.incoming)
        if self.unasked is None or newest < 0:
            return None
        stored = self.stored
        before = stored.messages - stored.lead_count + sum(one.role != "system" for one in self.incoming[:newest])
        if before >= COLD_MESSAGES or any(tells_memories(row.notice or "") for row in self._said()):
            return self._resumed(self.unasked, head)
        started = self.unasked.start(self.incoming[newest].text, self.share_tokens, head)
        return joined(started, self._resumed(self.unasked, head))

    def _resumed(self, unasked: Unasked, head: Sequence[Section]) -> str | None:
        """Return what the journal tells where the conversation goes on after a pause, unless it is in view."""
        if not self.resumes:
            return None
        noticed = [row.notice for step in self.stored.tail.steps for row in step.messages if row.notice]
        return unasked.resume(self.share_tokens, head, noticed)

    def _said(self) -> Sequence[StoredMessage]:
        """Return all that was said so far, sent still or not."""
        first, last = self.stored.lead_count, self.stored.messages - 1
        return self.shelf.read(first, last) if first <= last else ()


def tail_of(incoming: Sequence[Message], extended: CallExtensions | None, limit: Cost) -> str | None:
    """Return what extensions say behind the newest of the user's messages; None for nothing, or where none came."""
    newest = _newest(incoming)
    return None if extended is None or newest < 0 else extended.tail(incoming[newest].text, share_of(limit))


def _newest(incoming: Sequence[Message]) -> int:
    return max((place for place, one in enumerate(incoming) if speaks(one)), default=-1)


def remembered_of(plan: PlanRecord | None) -> tuple[Section, ...]:
    """Return what memory says in the head of a plan."""
    return plan.remembered if plan else ()


def joined(*texts: str | None) -> str | None:
    """Return what is told behind one message, each text on lines of its own; None where there is none."""
    return "\n".join(filter(None, texts)) or None


def is_noticed(rows: Sequence[StoredMessage], text: str | None) -> bool:
    """Return whether a text stands behind one of these messages."""
    return text is not None and any(text in (row.notice or "") for row in rows)


def without_remembered(standing: CurrentView, renderer: Renderer) -> CurrentView:
    """Return what stands with a head that costs nothing for what memory says, since that can give way."""
    sections = remembered_of(standing.plan)
    return (
        standing._replace(fixed=standing.fixed.less(spent(map(renderer.section, sections)))) if sections else standing
    )


def speaks(message: Message) -> bool:
    """Return whether a message is the user's own words, so that it opens a turn."""
    return message.role == "user" and not message.results and message.category is not Category.RECALLED


# Events in a row that saved too little, after which compaction rests (decisions.md section 5, 11).
MOST_SKIPS = 2
NOTHING = Cost(0, 0)
# Causes of plans that no call for a request has made.
BY_HAND = frozenset({"manual", "undo", "restore", "forget"})
# Causes that leave a plan held that somebody brought back: nobody asked for less.
_KEEPING = frozenset({"tools-changed", "system-changed", "mode-changed", "repaired", "forget"})


class Turn(NamedTuple):
    """What a call is decided from: where the session's data stand, its window, and what the newest request left.

    Attributes:
        notes: gives the session's notes, which an event alone needs.
        auto_fraction: history's share of its room at which a snapshot is made unasked; 0 for never.
        reserved_tokens: the room for the answer; None: as the newest request had it.
        limits: what a request may cost by what was billed; None: by the counter alone.
    """

    shelf: SessionContext
    window: ContextWindow
    settings: HistorySettings
    notes: Callable[[], Notebook]
    last_request: LastRequest
    auto_fraction: float = 0.0
    reserved_tokens: int | None = None
    limits: Limits | None = None

    @property
    def plain(self) -> Cost:
        """What a whole request may cost; smaller where reported usage has shown that the counter is under."""
        return plain_limit(self.window, self.settings, self.last_request.bills, self.room_tokens)

    @property
    def unbilled(self) -> Turn:
        """The same by the counter alone: what was billed is forgotten."""
        return self._replace(last_request=self.last_request._replace(bills=UsageCalibration()), limits=None)

    def sane(self, fixed_tokens: int) -> Turn:
        """Return the same; by the counter alone where what was billed leaves hardly a room for a conversation.

        Beside what is sent in any case, `fixed_tokens` as a bound, texts have a third of the room that the counter
        leaves them, at least: no text costs more than three times its bound.
        """
        left_tokens = max(0, self.room_tokens - fixed_tokens)
        enough = self.plain.bound - fixed_tokens >= left_tokens // MOST_FACTOR
        return self if enough or not self.last_request.bills.reports else self.unbilled

    def fixed(self, stored: CurrentView, given: Inputs) -> int:
        """Return the bound of what a request sends in any case: system text, tools, the head that is wanted."""
        return self._outside(given, self.wanted(stored, given).told).plus(spent(stored.lead)).bound

    @property
    def room_tokens(self) -> int:
        """What the window leaves for input beside the room for the answer."""
        turn = (
            self if self.reserved_tokens is not None else self.reserving(self.last_request.reserve_under(self.window))
        )
        return self.window.window_tokens - (turn.reserved_tokens or 0)

    @property
    def limit(self) -> Cost:
        """What a request may cost that makes no event: larger than `plain` where it is known what the last one cost."""
        return self.limits.extends if self.limits else self.plain

    def reserving(self, reserve: Reserve | None) -> Turn:
        """Return the same with that room for the answer; None: as the window has it."""
        return self._replace(reserved_tokens=reserve.tokens if reserve else self.window.reserved_output_tokens)

    def births(self, stored: CurrentView, outside: Cost) -> ArrivalTruncation:
        """Return what places messages behind what stands, beside which `outside` is sent."""
        # Nothing counts more words, or more tokens by estimate, than its bound: the smaller limit holds in both units.
        limit = self.plain
        kept = self.shelf.renderer.marked_cost(stored.markers)
        room = min(limit.bound - outside.bound - kept.bound, limit.estimate - outside.estimate - kept.estimate)
        return ArrivalTruncation.within(self.shelf.renderer, self.settings, room, stored)

    def as_before(self, stored: CurrentView, now: float | None = None) -> Inputs:
        """Return the inputs of the newest request as far as they are known; its system text and tools are counted."""
        reserve = self.last_request.reserve_under(self.window)
        given = replace(Inputs.as_before(stored.plan), mode=self.last_request.in_its_mode, reserve=reserve)
        last = self.last_made(stored)
        if last is None:
            return replace(given, now=now)
        sections = (*given.head(stored.pins), *remembered_of(stored.plan))
        head = spent(map(self.shelf.renderer.section, sections))
        unseen = Unseen(self.last_request.outside.less(head), last.system, last.tools)
        return replace(given, now=now, unseen=unseen)

    def outcome(
        self, stored: CurrentView, incoming: Sequence[Message], given: Inputs, started: str | None = None
    ) -> Outcome:
        """Return the request with `incoming` behind what is stored, and all that has to be written with it.

        `started` is what memory says unasked, frozen behind the newest of the user's messages where that fires no
        event. Under `limits` the request has to be checked: `billed.decided` does.

        Raises:
            BudgetError: nothing makes the request fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        wanted = self.wanted(stored, given)
        known = self.last_request.told_by(stored.plan)
        news = known.news(wanted.told) if stored.messages else None
        made = self._made(stored, incoming, given, Telling(wanted, known, started, news))
        # Behind a message a document is outside of the caps.
        anew = self.settings.cap is not None and is_noticed(made.assembly.incoming, news)
        if news is None or (made.change is None and not anew):
            return made
        # The head of the event says it: behind the message it would be said twice, for good.
        self.notes().reopen()
        cause = made.change.record.cause if made.change else "system-changed"
        return self._made(stored, incoming, given, Telling(wanted, known, started, None, cause))

    def _made(self, stored: CurrentView, incoming: Sequence[Message], given: Inputs, telling: Telling) -> Outcome:
        wanted, known, started, news, cause = telling
        # Without what memory says: it gives way, and an event of this call may bring it. Tried again behind that, the
        # call has to cut what comes with it as before.
        outside = self._outside(given, wanted.told)
        given = replace(given, notice=joined(given.notice, news, label := known.labelled(given.mode)))
        met = self._met(stored, incoming, given, outside, started)
        born, trial, moment, notice = met
        renewed = self.notes().restart() if trial.opened else ()
        last_request = known._replace(system=given.system_digest, tools=given.tools_digest)
        call = Call(self.window, moment, born, wanted, given.reserve)
        change, last_request, skipped = self._decided(trial, call, last_request, cause)
        assembly, change = self._built(trial, call, change, last_request)
        told = change is not None or is_noticed(born, news)
        full, pressed = fullness(trial, moment), self._pressed(trial, moment)
        outside = self._outside(given, (*wanted.told, *remembered_of(assembly.plan)))
        last_request = last_request._replace(outside=outside, reserve=given.reserve)
        last_request = last_request.in_mode(given.mode, told=is_noticed(born, label))
        leaves, assembly = self._leaving(assembly, last_request.told_of(wanted.told) if told else last_request)
        rungs = self.settings.ladder.told(full if change is None else fullness(assembly.standing, moment))
        heard = WARN in rungs and (self.last_request.noticed or notice is not None)
        return Outcome(
            assembly=assembly,
            change=change,
            renewed=renewed,
            leaves=leaves._replace(messages=trial.messages, pressed=pressed, rungs=rungs, noticed=heard),
            skipped=skipped,
            pressing=pressed and not self.last_request.pressed and not self.last_request.is_before(stored.plan),
            fullness=full,
            rungs=self.settings.ladder.crossed(full, self.last_request.rungs),
        )

    def _met(
        self, stored: CurrentView, incoming: Sequence[Message], given: Inputs, outside: Cost, started: str | None
    ) -> Met:
        """Return what a call meets, the model told of the ladder's first rung where that is due, and of `started`.

        Raises:
            BudgetError: what is sent in any case leaves no room for a conversation.
        """
        met = self._met_with(given.notice, stored, incoming, given, outside)
        check_fixed(without_remembered(met.trial, self.shelf.renderer), met.moment, self.shelf.renderer)
        line = self._line(met, stored)
        # What would itself fire an event is not worth it.
        if line is not None:
            warned = self._met_with(joined(given.notice, line), stored, incoming, given, outside)
            met = warned._replace(notice=line) if is_noticed(warned.born, line) and not self._due(warned) else met
        if started is not None:
            begun = self._met_with(joined(given.notice, met.notice, started), stored, incoming, given, outside)
            met = begun._replace(notice=met.notice) if self._due(begun) == self._due(met) else met
        return met

    def _met_with(
        self, notice: str | None, stored: CurrentView, incoming: Sequence[Message], given: Inputs, outside: Cost
    ) -> Met:
        born = self.births(stored, outside).placed(incoming, stored, given.now, notice)
        trial = self._trial(stored, born)
        return Met(born, trial, self.moment(stored, trial, given))

    def _line(self, met: Met, stored: CurrentView) -> str | None:
        """Return what to tell the model of the room, at a new turn that brings no event; None where nothing is due."""
        opens = met.trial.at_turn and met.trial.turn >= stored.messages
        # A call that brought an event was sent without a line, and is when it is tried again.
        if self.last_request.noticed or not opens or self.last_request.is_before(stored.plan):
            return None
        line = self.settings.ladder.first_notice(fullness(met.trial, met.moment))
        return None if line is None or self._due(met) else line

    def _due(self, met: Met) -> str | None:
        return due(met.trial, met.moment, self._patience(met.trial))

    def _trial(self, stored: CurrentView, born: Sequence[StoredMessage]) -> CurrentView:
        """Return what would stand with these messages behind what is stored."""
        trial = stored.extended(born, self.shelf.renderer)
        return released(self.shelf, trial, stored.turn) if stored.opened else trial

    # -- when and why -----------------------------------------------------------------------------------------

    def moment(self, stored: CurrentView, trial: CurrentView, given: Inputs) -> CallContext:
        """Return the circumstances of a call that finds `stored`, `trial` being what would stand with its messages."""
        renderer = self.shelf.renderer
        now = given.now if given.now is not None else trial.newest_time
        idle = now - stored.newest_time if now is not None and stored.newest_time is not None else 0.0
        rests_until = self.last_request.rests_until
        rests = rests_until is not None and now is not None and now < rests_until
        return CallContext(
            limit=self.limit,
            system=given.system_parts(renderer.meter),
            tools=given.tools_cost(renderer.meter),
            notices=renderer.notices,
            new_turn=trial.at_turn,
            cold=idle > self.settings.cache_ttl_seconds,
            stored=stored.messages,
            changed=self.changed(stored, given),
            now=now,
            paused=rests or self.last_request.is_before(stored.plan),
            unit="tokens" if self.settings.policy_limit is None else "words",
            outside_changed=self._outside_changed(stored, given),
            extended=given.extended,
            strict=self.settings.strict,
            most_pinned=int(self.settings.pinned_fraction * self.window.window_tokens),
            again=stored.plan is not None
            and self.last_request.is_before(stored.plan)
            and stored.plan.cause not in BY_HAND,
        )

    def changed(self, stored: CurrentView, given: Inputs) -> str | None:
        """Return the cause that lies outside the history, or None."""
        if stored.opened or self._opens(stored, given):
            return "opened"
        if stored.withdrawn is not None:
            plan_id = stored.plan.plan_id if stored.plan else -1
            if RETRACTION.read(stored.withdrawn).is_missed(plan_id, [part.first_seq for part in stored.sent]):
                return "forget"
        last = self.last_made(stored)
        if last is None or not self._outside_changed(stored, given):
            return None
        system = "system-changed" if self.last_request.mode == given.mode.name else "mode-changed"
        return "tools-changed" if last.tools != given.tools_digest else system

    def _opens(self, stored: CurrentView, given: Inputs) -> bool:
        """Return whether a head is made for the first request of all, or under another window: nothing is cached."""
        if stored.plan is not None or self.last_request.window_id == self.window.window_id:
            return False
        wanted = self.wanted(stored, given)
        return bool((wanted.told and stored.messages <= stored.lead_count) or wanted.remembered())

    def _outside_changed(self, stored: CurrentView, given: Inputs) -> bool:
        """Return whether system text or tools are others than in the newest request, where there has been one."""
        last = self.last_made(stored)
        return last is not None and (last.tools, last.system) != (given.tools_digest, given.system_digest)

    def last_made(self, stored: CurrentView) -> PlanRecord | LastRequest | None:
        """Return what knows system text and tools of the newest request; None where there has been none.

        A plan that is younger than the newest recorded request was made for one that is being tried again.
        """
        if self.last_request.is_before(stored.plan):
            return stored.plan
        return self.last_request if self.last_request.known else None

    def wanted(self, stored: CurrentView, given: Inputs) -> Wanted:
        """Return the head that an event makes; without `given.unasked` what memory says stays as the plan has it."""
        unasked = given.unasked
        limit_tokens = share_of(self.plain)
        stands = remembered_of(stored.plan)
        return Wanted(given.head(stored.pins), lambda: unasked.head(limit_tokens) if unasked else stands)

    def _outside(self, given: Inputs, head: tuple[Section, ...]) -> Cost:
        """Return what is sent beside lead and history: system text, tools, and the head that is wanted."""
        meter = self.shelf.renderer.meter
        sections = map(self.shelf.renderer.section, head)
        return spent((*given.system_parts(meter), *sections)).plus(given.tools_cost(meter))

    def _pressed(self, trial: CurrentView, moment: CallContext) -> bool:
        mark = self.auto_fraction
        return mark > 0 and pressure_fraction(trial.history, room_of(trial, moment)) >= mark

    # -- what is decided --------------------------------------------------------------------------------------

    def _built(
        self, trial: CurrentView, call: Call, change: Change | None, last_request: LastRequest
    ) -> tuple[Assembly, Change | None]:
        """Return the request, checked, and the change it is made under: one more where it would break the prefix."""
        if change is None:
            assembly = build(self.shelf, call, trial, None)
            if not self._breaks(assembly, hidden=bool(last_request.system and not call.moment.system)):
                return assembly, None
            change = self._asked(trial, call, "repaired")
        if change is None:
            return build(self.shelf, call, trial, None), None
        change = self.signed(change, trial, last_request)
        call = call._replace(moment=self._changing(call.moment))
        return build(self.shelf, call, change.standing, change.record), change

    def _breaks(self, assembly: Assembly, *, hidden: bool) -> bool:
        """Return whether a request breaks the prefix; `hidden`: the system text in front of it is not at hand."""
        parts, plan_id = assembly.parts, assembly.plan.plan_id if assembly.plan else -1
        if not hidden:
            return self.last_request.broken_by(parts, plan_id)
        # Any part will do in its place: the seal of a longer request does not reach it.
        return self.last_request.parts > SEALED_PARTS and self.last_request.broken_by((parts[0], *parts), plan_id)

    def _leaving(self, assembly: Assembly, last_request: LastRequest) -> tuple[LastRequest, Assembly]:
        """Return what a request leaves behind once it is recorded, and the request with what it costs at most."""
        left = last_request._replace(
            number=self.last_request.number + 1,
            cost=assembly.cost,
            limit=assembly.limit,
            window_id=self.window.window_id,
            plan_id=assembly.plan.plan_id if assembly.plan else -1,
            parts=len(assembly.parts),
            seal=seal(assembly.parts),
            certified=0,
            certificate="",
        )
        return certain(left, assembly, self.last_request, self.shelf.renderer.meter.certificate)

    def _decided(
        self, trial: CurrentView, call: Call, last_request: LastRequest, known_cause: str | None
    ) -> tuple[Change | None, LastRequest, tuple[tuple[str, PlanRecord], ...]]:
        """Return the change that is due, None where none is or it would not pay, what to remember, what to tell.

        With a `known_cause` it is due by that and pays.

        Raises:
            BudgetError: nothing makes the request fit.
        """
        cause = known_cause or due(trial, call.moment, self._patience(trial))
        change = self._asked(trial, call, cause) if cause else None
        if change is None:
            return None, last_request, ()
        asked = known_cause or self.settings.cap
        if cause == "high-water" and not asked and not saves_enough(change.record, self.settings):
            self.notes().reopen()
            last_request, told = self._skipping(call.moment, last_request)
            return None, last_request, tuple((name, change.record) for name in told)
        return change, last_request._replace(skipped=0, rests_until=None), ()

    def _asked(self, trial: CurrentView, call: Call, cause: str) -> Change | None:
        settings = self.settings if cause in {"overflow", "opened", "rollover"} else self._patience(trial)
        ask = Ask(cause, call.head.told, trial.pins.seqs)
        return change_for(self.makers(settings), trial, self._changing(call.moment), ask, call.head)

    def _changing(self, moment: CallContext) -> CallContext:
        """Return the circumstances of a call that makes an event: less is known of what that sends."""
        return moment._replace(limit=self.limits.changes) if self.limits else moment

    def makers(self, settings: HistorySettings) -> Makers:
        """Return what a change is made with under these settings."""
        return Makers(self.shelf, self.notes(), settings)

    def _patience(self, trial: CurrentView) -> HistorySettings:
        """Return the settings; where somebody brought a plan back, those under which no mark changes it."""
        if not _is_held(trial):
            return self.settings
        ladder = self.settings.ladder.without_marks()
        return replace(self.settings, high_fraction=math.inf, patience=0.0, scope="inline+summaries", ladder=ladder)

    def signed(
        self, change: Change, stored: CurrentView, outside: PlanRecord | LastRequest | None, *, held: bool = False
    ) -> Change:
        """Return a change whose plan names the window, the system text and the tools that it is made for.

        A plan that somebody brought back is held on where it had to change for what lies outside the history.
        """
        last = self.last_made(stored)
        system, tools = (outside.system, outside.tools) if outside else ("", "")
        keeps = _is_held(stored) and change.record.cause in _KEEPING
        plan = replace(
            change.record,
            window_id=self.window.window_id,
            system=system,
            tools=tools,
            held=held or keeps,
            outside_changed=last is not None and (last.system, last.tools) != (system, tools),
        )
        return change._replace(record=plan, standing=change.standing._replace(plan=plan))

    def _skipping(self, moment: CallContext, last_request: LastRequest) -> tuple[LastRequest, tuple[str, ...]]:
        """Return the past with an event skipped that would not pay, and what to tell; after two compaction rests."""
        if last_request.skipped + 1 < MOST_SKIPS or moment.now is None:
            return last_request._replace(skipped=last_request.skipped + 1), (events.COMPRESSION_SKIPPED,)
        rested = last_request._replace(skipped=0, rests_until=moment.now + self.settings.backoff_seconds)
        return rested, (events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED)


def _is_held(standing: CurrentView) -> bool:
    return standing.plan is not None and standing.plan.held and not standing.opened


# One call decided by what the requests before it were billed; by the counter alone where that is not
# known.

# What an error names where answers, with what no message shows of them, are too much.
WITH_ANSWERS = "the request, with what its provider adds to answers,"
# How often an event is made for a limit by what was billed, before the counter's own is taken.
MOST_GUESSES = 4


def decided(turn: Turn, stored: CurrentView, incoming: Sequence[Message], given: Inputs) -> Outcome:
    """Return the request with `incoming` behind what is stored, and all that has to be written with it.

    Raises:
        BudgetError: nothing makes the request fit.
        InvalidRequestError: there is nothing to answer.
        StoreError: the store failed.
    """
    try:
        return _by_bills(turn, stored, incoming, given)
    except BudgetError as error:
        forgetting = _forgetting(turn, stored, given, error)
        if forgetting is None:
            raise
        turn.notes().reopen()
        return _by_bills(forgetting, stored, incoming, given)


def _forgetting(turn: Turn, stored: CurrentView, given: Inputs, error: BudgetError) -> Turn | None:
    """Return what decides by the counter alone; None where what was billed is not what leaves no room.

    What reports have taught is never the reason for that no request can be made: none would be answered, so none could
    show that it was wrong. The provider then says whether a request is too long. A turn that is too large by what texts
    have really cost stays an error: the next one need not be.
    """
    if not turn.last_request.bills.reports:
        return None
    fixed = turn.fixed(stored, given)
    if error.culprit in {IN_FLIGHT, WITH_ANSWERS} and turn.sane(fixed) is turn:
        return None
    return turn.unbilled


def _by_bills(turn: Turn, stored: CurrentView, incoming: Sequence[Message], given: Inputs) -> Outcome:
    begins = Beginning(turn.shelf, stored, incoming, given.unasked, share_of(turn.plain), _resumes(turn, stored, given))
    said = _Said(begins, tail_of(incoming, given.extended, turn.plain), given)
    trusting = believing(turn, stored, given)
    for guess in range(MOST_GUESSES if trusting.limits else 0):
        try:
            outcome = said.beside(trusting)
        except BudgetError:  # by the counter alone it may fit, or say better what does not
            turn.notes().reopen()
            break
        over_tokens = outcome.leaves.certified - turn.room_tokens
        if over_tokens <= 0:
            return outcome
        trusting = trusting._replace(limits=trusting.limits and trusting.limits.less(over_tokens, guess))
        turn.notes().reopen()
    return _by_counter(turn, said.beside(turn))


def _resumes(turn: Turn, stored: CurrentView, given: Inputs) -> bool:
    """Return whether a call comes after a pause that parts session blocks."""
    if given.now is None or stored.newest_time is None:
        return False
    return given.now - stored.newest_time >= turn.settings.gap_seconds


def _by_counter(turn: Turn, outcome: Outcome) -> Outcome:
    """Return a request with the counter's own bound where what may come back of reasoning makes it too large.

    Raises:
        BudgetError: it is too large by what has come back.
    """
    left = outcome.leaves
    if left.certified <= turn.room_tokens:
        return outcome
    # Of a request that is far smaller than the room it is not believed: each one after it would be refused, too.
    if turn.last_request.bills.kept.comes_back and MOST_FACTOR * left.cost.bound > turn.room_tokens:
        turn.notes().reopen()
        raise BudgetError(
            WITH_ANSWERS,
            cost=left.certified,
            budget=turn.room_tokens,
            unit="tokens",
            key="models.<alias>.context_window",
        )
    tokens, certificate = turn.last_request.bills.plain_bound(left.cost.bound), turn.shelf.renderer.meter.certificate
    assembly = replace(outcome.assembly, certified_tokens=tokens, certificate=certificate)
    return outcome._replace(assembly=assembly, leaves=left._replace(certified=tokens, certificate=certificate))


def believing(turn: Turn, stored: CurrentView, given: Inputs) -> Turn:
    """Return what decides by what was billed, as far as that is known."""
    if not turn.last_request.bills.reported_tokens:
        return turn
    meter = turn.shelf.renderer.meter
    fixed = spent((*given.system_parts(meter), *stored.lead)).plus(given.tools_cost(meter))
    limits = limits_by_bills(turn.window, turn.settings, turn.last_request, turn.room_tokens, fixed.bound)
    if limits is None:
        return turn
    plan_id = stored.plan.plan_id if stored.plan else -1
    if (plan_id, turn.window.window_id) != (turn.last_request.plan_id, turn.last_request.window_id) or turn.changed(
        stored, given
    ):
        limits = limits._replace(extends=limits.changes)
    return turn._replace(limits=limits)


class _Said(NamedTuple):
    """A call with what is said unasked beside it: facts where a conversation begins, and what extensions say."""

    begins: Beginning
    tail: str | None
    given: Inputs

    def beside(self, turn: Turn) -> Outcome:
        """Return the request of the call."""
        started = self.begins.facts(remembered_of(self.begins.stored.plan))
        made = self._begun(turn, joined(started, self.tail))
        if made.change is None:
            return made
        # Tried again behind its event, the call finds another head, and has to say the same.
        again = self.begins.facts(made.change.record.remembered)
        if again == started:
            return made
        turn.notes().reopen()
        return self._begun(turn, joined(again, self.tail))

    def _begun(self, turn: Turn, started: str | None) -> Outcome:
        stored, incoming = self.begins.stored, self.begins.incoming
        if started is not None:
            try:
                return turn.outcome(stored, incoming, self.given, started)
            except BudgetError:  # what memory and extensions say unasked is the first that gives way
                turn.notes().reopen()
        return turn.outcome(stored, incoming, self.given)


# What somebody asks of a session beside a request: to compact, to bring an earlier plan back, to
# forget.


def by_hand(turn: Turn, stored: CurrentView, given: Inputs) -> Change | None:
    """Return the change that somebody asks for, or None where it would do nothing.

    Raises:
        BudgetError: what must be sent in any case does not fit.
        StoreError: the store failed.
    """
    turn = turn.reserving(given.reserve)
    moment = turn.moment(stored, stored, given)
    head = turn.wanted(stored, given)
    ask, makers = Ask("manual", head.told, stored.pins.seqs), turn.makers(turn.settings)
    change = head.tried(lambda sections: make_change(makers, stored, moment, ask._replace(sections=sections)))
    if change is None or not pays_by_hand(change.record, stored):
        return None
    return turn.signed(change, stored, turn.last_made(stored))


def back(turn: Turn, stored: CurrentView, given: Inputs, wanted: Return) -> Change:
    """Return the change that makes an earlier plan stand again.

    Raises:
        BudgetError: that does not fit.
        NotFoundError: a summary of the plan is no longer stored.
    """
    turn = turn.reserving(given.reserve)
    change = again(turn.shelf, turn.settings, stored, turn.moment(stored, stored, given), wanted)
    return turn.signed(change, stored, turn.last_made(stored), held=True)


def without(turn: Turn, stored: CurrentView, given: Inputs, forgetting: SessionWithout) -> Change | None:
    """Return the change under which the session goes on without what is forgotten; None where none is needed.

    Raises:
        BudgetError: what must be sent in any case does not fit.
    """
    turn = turn.reserving(given.reserve)
    left = load(forgetting.shelf, turn.window.window_tokens, turn.window.window_id)
    asked = turn.last_made(stored) is not None
    if left.opened or not asked or (left.sent == stored.sent and not forgetting.retells):
        return None
    moment, head = turn.moment(left, left, given), turn.wanted(left, given)
    makers = Makers(forgetting.shelf, forgetting.notes, turn.settings)

    def changed(sections: tuple[Section, ...]) -> Change | None:
        asked = Ask("forget", sections, left.pins.seqs, retells=forgetting.retells)
        return make_change(makers, left, moment, asked)

    change = head.tried(changed)
    return change and turn.signed(change, stored, turn.last_made(stored))


# A request that was sent, made once more from its plan and the transcript.


def sent(shelf: SessionContext, window: ContextWindow, number: int | None, given: Inputs) -> Assembly:
    """Return the recorded request of a number, from 0; None is the newest one.

    Its messages are those that were sent, byte for byte. System text and tools are the host's and are not stored: the
    system text of `given` stands in front. Cost, limit and window are those of then; where no record tells the window,
    it is `window`.

    Raises:
        NotFoundError: there is no such request, it can't be made again since what came with it was never recorded, or
            what it was made of is not stored any more.
        DamagedStoreError: what is stored can't be read.
    """
    place = shelf.transcripts, shelf.session_id
    last_request = _past(shelf, number)
    if last_request.messages < 0:
        raise NotFoundError(
            f"request {last_request.number} can't be rebuilt: what came with it was not recorded as it was sent"
        )
    gone = sorted(seq for seq in forgotten_since(*place, last_request.number) if seq < last_request.messages)
    if gone:
        raise NotFoundError(f"request {last_request.number} can't be rebuilt: m{gone[0]} was forgotten since")
    facts = retracted_since(*place, last_request.number, last_request.messages, last_request.plan_id)
    if facts:
        raise NotFoundError(f"request {last_request.number} can't be rebuilt: a fact that it told was forgotten since")
    plan = None if last_request.plan_id == RAW else plan_of(shelf, last_request.plan_id)
    windows = WINDOW.all(*place)
    window = next((one for one in windows if one.window_id == last_request.window_id), window)
    _check_counter(shelf, window, plan, last_request)
    counts = bare(plan)._replace(messages=last_request.messages, pins=Pins(), markers=marked(shelf))
    stood = under(shelf, plan, counts)
    parts = stood.parts(given.system_parts(shelf.renderer.meter), shelf.renderer)
    if given.system_digest == last_request.system:
        _check_same(parts, last_request)
    return Assembly(
        session_id=shelf.session_id,
        window=window,
        parts=parts,
        incoming=(),
        cost=last_request.cost,
        limit=last_request.limit,
        certificate=last_request.certificate or (plan.certificate if plan else shelf.renderer.meter.certificate),
        standing=stood,
        event=None,
        codecs=shelf.renderer.codecs,
        reserve=last_request.reserve,
        certified_tokens=last_request.certified,
    )


def _past(shelf: SessionContext, number: int | None) -> LastRequest:
    last = shelf.transcripts.last_record(shelf.session_id, REQUEST)
    if number is not None and last is not None and number != last.number:
        found = shelf.transcripts.records(shelf.session_id, REQUEST, number) if 0 <= number < last.number else []
        last = found[0] if found and found[0].number == number else None
    if last is None:
        raise NotFoundError(f"no request {'' if number is None else number} of {shelf.session_id!a:.80} is recorded")
    return LastRequest.of(last)


def _check_counter(
    shelf: SessionContext, window: ContextWindow, plan: PlanRecord | None, last_request: LastRequest
) -> None:
    """Check that what was cut to a size by a counter is cut by the same one now."""
    cut = plan is not None and any(one.representation is Representation.SLIMMED for one in plan.segments)
    if cut and window.counter != shelf.renderer.meter.name:
        raise NotFoundError(
            f"request {last_request.number} was counted by {window.counter}: open the session under its lease to see it"
        )


def _check_same(parts: tuple[Part, ...], last_request: LastRequest) -> None:
    if (len(parts), seal(parts)) != (last_request.parts, last_request.seal):
        raise NotFoundError(
            f"request {last_request.number} can't be rebuilt: what it was made of is not stored any more"
        )


# What is told of a plan that takes another's place, and of a context window that does.

# From most to least detailed; what stands in front of a summary has not aged, it was compressed.
LEVELS = list(Representation)
SUMMARIZED = LEVELS.index(Representation.SUMMARY_USER)


def closed(before: ContextWindow) -> Event:
    """Return that a session goes on under another context window than this one."""
    said = f"{before.window_tokens:,} tokens, {before.source}"
    return Event(
        events.LEASE_CLOSED,
        "",
        said,
        before.window_id,
        tokens_before=before.window_tokens,
        tokens_after=before.window_tokens,
        model=before.model,
    )


def opened(before: ContextWindow | None, window: ContextWindow) -> Iterator[Event]:
    """Yield what is told of a window that takes the place of another, or (None) of none: its size, its tier."""
    yield Event(events.LEASE_OPENED, "", f"{window.source}: {window.detail}" if window.detail else window.source)
    if before is None or before.window_tokens == window.window_tokens:
        return
    was, tokens = before.window_tokens, window.window_tokens
    yield Event(events.CONTEXT_RECALCULATED, "", window.source, tokens_before=was, tokens_after=tokens)
    old, new = tier_of(was), tier_of(tokens)
    if old.number != new.number:
        cause = f"{old.number} {old.label} -> {new.number} {new.label}"
        yield Event(events.TIER_CHANGED, "", cause, tokens_before=was, tokens_after=tokens)


def broken(last_request: LastRequest, plan: PlanRecord) -> Event | None:
    """Return that the next request does not begin with all of the newest recorded one; None where it does.

    Once a plan has broken it, another one that comes before the next request is told no more. The tokens are what the
    request cost, and how many in front of it stay as they were, as bounds.
    """
    place = plan.first_changed
    parent_id = -1 if plan.parent_plan_id is None else plan.parent_plan_id
    if (
        not last_request.known
        or parent_id != last_request.plan_id
        or place is None
        or place.index >= last_request.parts
    ):
        return None
    kept = 0 if plan.outside_changed else place.token_offset
    return Event(events.PREFIX_BROKEN, "", plan.cause, "", plan.plan_id, last_request.cost.bound, kept)


def aged(before: PlanRecord | None, plan: PlanRecord) -> Iterator[Event]:
    """Yield one event for each run of messages whose summary tells less of them than in the plan before.

    The tokens are what the summaries cost that stood for them, and what stands now does, as bounds.
    """
    known = [one for one in before.segments if _level(one) >= SUMMARIZED] if before else []
    start = 0
    for one in plan.segments:
        while start < len(known) and known[start].last_seq < one.first_seq:
            start += 1
        met = _overlapping(known, start, one)
        fell = sorted({_level(each) for each in met if _level(each) < _level(one)})
        if fell:
            cause = f"m{one.first_seq}-m{one.last_seq}: {', '.join(map(_said, fell))} -> {_said(_level(one))}"
            cost = sum(each.note_tokens for each in met)
            yield Event(events.CHECKPOINT_AGED, "", cause, "", plan.plan_id, cost, one.note_tokens)


def shortened(before: CurrentView, after: CurrentView, plan: PlanRecord) -> Iterator[Event]:
    """Yield, for a user interface, one event for each category of which less is sent than before a plan (P-09)."""
    for one in shorter(before, after):
        cause, plan_id = f"{one.category}: m{one.first_seq}-m{one.last_seq}", plan.plan_id
        yield Event(events.CATEGORY_TRUNCATED, "", cause, "", plan_id, one.tokens_before, one.tokens_after)


def _overlapping(known: Sequence[Segment], start: int, one: Segment) -> list[Segment]:
    """Return the segments from `start` on that have messages of one."""
    met = []
    for each in known[start:]:
        if each.first_seq > one.last_seq:
            break
        met.append(each)
    return met


def _level(segment: Segment) -> int:
    return LEVELS.index(segment.representation)


def _said(level: int) -> str:
    return LEVELS[level].value.removeprefix("summary:")


def overrun(
    before: PlanRecord | None, plan: PlanRecord, window: ContextWindow, count: Callable[[str], int]
) -> Iterator[Event]:
    """Yield that goals which were set in a larger window take more than their share of this one: they stay whole.

    `count` says what a text costs at most, in tokens.
    """
    if before is not None and before.sections == plan.sections and before.window_id == plan.window_id:
        return
    cost = goals_overrun(plan.sections, window.window_tokens, count)
    most = goals_most_tokens(window.window_tokens)
    if cost:
        cause = f"goals cost {cost:,} of {most:,} tokens in this window: close the goal, lift blockers or locks"
        yield Event(events.BUDGET_OVERRUN, "", cause, "", plan.plan_id, cost, most)
