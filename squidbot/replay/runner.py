"""Drives the engine over one recorded conversation: for each of its model calls, the request that would be sent."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.replay.metrics import Scorer, Tally, bill_of_everything
from squidbot.replay.setup import CODECS, Reader, biller_of, recording_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import Message, StoredMessage, Usage
    from squidbot.core.plan import PlanRecord
    from squidbot.core.view.assembly import ModelRequest
    from squidbot.replay.metrics import Ruler
    from squidbot.replay.setup import Biller, Block, Live, Store, Terms
    from squidbot.wiring.turnlog import SessionLog

__all__ = ["Call", "Event", "Failure", "Outcome", "replay"]


class Event(NamedTuple):
    """A change of the plan, and the call that it came with."""

    call: int
    plan: PlanRecord


class Failure(NamedTuple):
    """A call for which no request could be made, and why."""

    call: int
    error: BudgetError | InvalidRequestError


@dataclass(frozen=True, slots=True)
class Call:
    """One model call of the replay.

    Attributes:
        number: counts the assistant's messages that something stands before, from 0.
        index: the place of the recorded answer in the conversation.
        seconds: what deciding on the request took.
        bound_tokens: the bound of the request that was enforced; 0 where there is none.
        limit_tokens: what it might have cost: the window less the room for the answer.
        blocks: the request; None where none could be made.
        plan: the plan that this call made; None where it kept the one in force.
        error: why there is no request; None where there is one.
    """

    number: int
    index: int
    seconds: float
    bound_tokens: int = 0
    limit_tokens: int = 0
    blocks: tuple[Block, ...] | None = None
    plan: PlanRecord | None = None
    error: BudgetError | InvalidRequestError | None = None


@dataclass(slots=True)
class Outcome:
    """What the replay of one conversation came to.

    Attributes:
        conversation: what was replayed.
        said_tokens: all that was said, as an estimate.
        everything_billed: what sending everything would have been billed, in input-token equivalents.
        tally: the measures of the requests.
        calls: model calls of the recording, those included for which no request could be made.
        largest_bound_tokens: the largest bound that was enforced.
        certificate: how far the bounds can be trusted.
        events: every change of the plan, in order.
        failures: the calls without a request, in order.
        unexplained: calls that broke the prefix without an event; there are none unless the engine is wrong.
        seconds: what each call took to decide.
        newest_request: the newest call for which there is a request; -1 before there is one.
        limit_tokens: what the request of the largest bound might have cost.
    """

    conversation: Conversation
    said_tokens: int
    everything_billed: float
    tally: Tally
    calls: int = 0
    largest_bound_tokens: int = 0
    events: list[Event] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unexplained: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    newest_request: int = -1
    limit_tokens: int = 0


def replay(  # noqa: PLR0913, PLR0917  # what it runs on, and who is told
    conversation: Conversation,
    terms: Terms,
    store: Store,
    ruler: Ruler,
    watch: Callable[[Call], None],
    log: SessionLog | None = None,
) -> Outcome:
    """Replay a conversation into an empty session of the store and return what it came to.

    `watch` is told every call as soon as it is decided, `log` every request and message. Who bills requests is
    `Terms.usage`'s (`usage.biller_of`): what the recording says of its own calls belongs to the requests sent then.

    Raises:
        ConfigError: nobody can bill them.
        StoreError: the store failed; what was recorded before stays in it.
    """
    reader = Reader(conversation, CODECS)
    recording = recording_of(conversation, reader)
    scorer = Scorer(recording, ruler, terms.limit_tokens, terms.charges)
    said_tokens = sum(ruler.cost(said).estimate for said in recording.said)
    everything = bill_of_everything(recording, ruler, terms.charges)
    outcome = Outcome(conversation, said_tokens, everything, scorer.tally)
    biller = biller_of(terms.usage, conversation, terms.meter, Reader(conversation, CODECS))
    for call in _Driver(conversation, terms, store, reader, biller, log).calls():
        within = call.bound_tokens, call.limit_tokens
        broken = call.blocks is not None and scorer.take(call.index, call.blocks, within=within)
        _enter(outcome, call, broken=broken)
        watch(call)
    return outcome


class _Driver:
    """A session and a reader of its requests, for one conversation."""

    def __init__(  # noqa: PLR0913, PLR0917  # what a replay has made ready
        self,
        conversation: Conversation,
        terms: Terms,
        store: Store,
        reader: Reader,
        biller: Biller | None,
        log: SessionLog | None,
    ) -> None:
        opened = terms.opens.live(conversation, terms, store) if terms.opens else None
        self._session: Live = opened or _Engine(conversation, terms, store)
        self._messages = conversation.messages
        self._reader = reader
        self._biller = biller
        self._log = log
        self._usage: Usage | None = None

    def calls(self) -> Iterator[Call]:
        """Record the conversation message by message, and yield the request that stands before each answer."""
        number = 0
        for index, message in enumerate(self._messages):
            if message.role == "assistant" and index:
                yield self._decided(number, index)
                number += 1
            stored = self._session.record(message, self._usage)
            if self._log is not None:
                self._log.recorded(stored, self._usage)
            self._usage = None

    def _decided(self, number: int, index: int) -> Call:
        began = time.perf_counter()
        try:
            assembly = self._session.assemble()
        except (BudgetError, InvalidRequestError) as error:
            return Call(number, index, time.perf_counter() - began, error=error)
        seconds = time.perf_counter() - began
        if self._log is not None:
            self._log.asked(assembly)
        self._usage = self._biller.usage(assembly, index) if self._biller else None
        bound_tokens = assembly.certified_tokens or assembly.cost.bound
        limit_tokens = assembly.window.window_tokens - assembly.max_output_tokens
        blocks = self._reader.blocks(assembly)
        return Call(number, index, seconds, bound_tokens, limit_tokens, blocks, assembly.event)


class _Engine:
    """A session of the engine alone."""

    def __init__(self, conversation: Conversation, terms: Terms, store: Store) -> None:
        engine = ContextEngine(store, store, CODECS)
        self._session = engine.session(conversation.id, terms.window, terms.meter, terms.settings)
        self._now: float | None = None

    def record(self, message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
        """Record a message, and what the newest request was billed; return it as stored."""
        self._now = message.time
        return self._session.record(message, usage=usage)

    def assemble(self) -> ModelRequest:
        """Return the request for what is recorded."""
        return self._session.assemble((), Inputs(now=self._now))


def _enter(outcome: Outcome, call: Call, *, broken: bool) -> None:
    outcome.calls += 1
    outcome.seconds.append(call.seconds)
    largest = outcome.largest_bound_tokens, outcome.limit_tokens
    outcome.largest_bound_tokens, outcome.limit_tokens = max(largest, (call.bound_tokens, call.limit_tokens))
    if call.plan is not None:
        outcome.events.append(Event(call.number, call.plan))
    if call.error is not None:
        outcome.failures.append(Failure(call.number, call.error))
    if broken and (not outcome.events or outcome.events[-1].call <= outcome.newest_request):
        outcome.unexplained.append(call.number)
    if call.blocks is not None:
        outcome.newest_request = call.number
