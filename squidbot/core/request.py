"""One call: what the host gives beside the conversation, and the request that is built of it all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from squidbot.core.changes.event import make_change
from squidbot.core.changes.moment import too_much
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.core.messages import Category, Cost, Kind, Part
from squidbot.core.past import Mode, Past, digest
from squidbot.core.plan import JOURNAL
from squidbot.core.view.assembly import Assembly
from squidbot.core.view.renderer import spent
from squidbot.core.view.validity import check_request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from squidbot.core.budget.window import Reserve
    from squidbot.core.changes.event import Ask, Change, Makers
    from squidbot.core.changes.moment import Moment
    from squidbot.core.counting.meter import Meter
    from squidbot.core.extended import Extended
    from squidbot.core.messages import Lease, Record, StoredMessage
    from squidbot.core.pins import Pins
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.view.birth import Birth
    from squidbot.core.view.standing import Shelf, Standing

__all__ = ["Call", "Inputs", "Met", "Outcome", "Room", "Telling", "Unasked", "Unseen", "Wanted", "build", "change_for"]

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
        reserve: the room for the answers of the turn; None: as the lease has it.
    """

    system: str = ""
    tools: str = ""
    sections: tuple[Section, ...] = ()
    notice: str | None = None
    now: float | None = None
    unasked: Unasked | None = None
    unseen: Unseen | None = None
    extended: Extended | None = None
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
    """One call of `assemble`: the lease, the circumstances, the messages that came with it, the head it wants.

    `reserve` is as in `Inputs`.
    """

    lease: Lease
    moment: Moment
    born: tuple[StoredMessage, ...]
    head: Wanted
    reserve: Reserve | None = None


class Met(NamedTuple):
    """What a call meets: its messages as they are stored, what would stand with them, and the circumstances.

    `notice`: the line by which the model is told of the ladder's first rung; None where it is not.
    """

    born: tuple[StoredMessage, ...]
    trial: Standing
    moment: Moment
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
        journal = tuple(one for one in remembered if one.name == JOURNAL)
        for kept in filter(None, dict.fromkeys((remembered, journal))):
            with suppress(BudgetError):
                return make((*self.told, *kept))
        return make(self.told)


class Telling(NamedTuple):
    """What a call tells beside what is said: the head it wants, what the model knows, memory's facts, and the news.

    `cause`: of the event that it makes in any case; None for the one that is due.
    """

    wanted: Wanted
    known: Past
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
    leaves: Past
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

    standing: Standing
    used_tokens: int
    marked: Cost
    whole: Cost
    output_tokens: int
    step_tokens: int
    newest: Past
    overcounted_tokens: int = 0

    @property
    def awaited(self) -> tuple[StoredMessage, ...]:
        """The newest step, where results of its calls are missing; else nothing."""
        newest = self.standing.tail.atoms[-1] if self.standing.tail.atoms else None
        return newest.messages if newest and not newest.whole and newest.messages[0].call_ids else ()

    @property
    def open_calls(self) -> tuple[str, ...]:
        """The ids of that step's calls whose results are missing, in the order of the calls; else nothing."""
        done = {call_id for row in self.awaited[1:] for call_id in row.result_ids}
        return tuple(call_id for row in self.awaited[:1] for call_id in row.call_ids if call_id not in done)

    @classmethod
    def behind(
        cls,
        standing: Standing,
        beside: tuple[Past, Cost],
        limits: tuple[Cost, int],
        birth: Birth,
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


def change_for(makers: Makers, trial: Standing, moment: Moment, ask: Ask, head: Wanted) -> Change | None:
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


def _unseen_from(trial: Standing, stored: int) -> int:
    """Return the seq of the oldest recalled record behind the last reply; `stored` where there is none."""
    for atom in reversed(trial.tail.atoms):
        first = atom.messages[0]
        if first.role == "assistant":
            break
        if first.category is Category.RECALLED:
            stored = min(stored, first.seq)
    return stored


def build(shelf: Shelf, call: Call, standing: Standing, event: PlanRecord | None) -> Assembly:
    """Return the request that stands, checked against the window and the providers' rules.

    Raises:
        BudgetError: it does not fit.
        InvalidRequestError: there is nothing to answer.
    """
    if not standing.messages:
        raise InvalidRequestError("R5", "nothing has been said; give the user's message to assemble, or record it")
    lease, moment, born, _, reserve = call
    renderer = shelf.renderer
    parts = standing.parts(moment.system, renderer)
    cost = spent(parts).plus(moment.tools)
    if cost.bound > moment.limit.bound or cost.estimate > moment.limit.estimate:
        raise too_much(standing, moment, cost)
    check_request(parts)
    return Assembly(
        session_id=shelf.session_id,
        lease=lease,
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
