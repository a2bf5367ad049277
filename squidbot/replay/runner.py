"""Runs recorded conversations through the engine: it makes the request for each of their model calls."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import combinations
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import BudgetError, ConfigError, InvalidRequestError
from squidbot.core.redaction import Redactor
from squidbot.core.text import line
from squidbot.replay.dump import is_folder, open_dump
from squidbot.replay.metrics import Bill, Missing, Ruler, Scorer, Tally, price_of_everything
from squidbot.replay.recording import CODECS, Reader, recording_of, with_system_text
from squidbot.replay.results import results_display, sentence
from squidbot.replay.rivals import RIVALS, score_rival
from squidbot.replay.terms import open_replay_store, prompt_of, terms_of
from squidbot.replay.usage import reporter_of
from squidbot.wiring.turnlog import TurnLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.plan import PlanRecord
    from squidbot.core.session import CoreSession
    from squidbot.display import Display
    from squidbot.hookspecs import Store
    from squidbot.replay.dump import Dump
    from squidbot.replay.recording import RequestBlock
    from squidbot.replay.terms import Terms, Unit
    from squidbot.wiring.turnlog import SessionLog


@dataclass(frozen=True, slots=True)
class Places:
    """The inputs and outputs of a run, as the user named them; None: a temporary store, no dump, log or page."""

    transcripts: tuple[str, ...]
    store: str | None = None
    dump: str | None = None
    log: str | None = None
    html: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayCall:
    """One model call of the replay.

    Attributes:
        number: counts the assistant's messages behind another message, from 0.
        index: the place of the recorded answer in the conversation.
        seconds: CPU time of the decision on the request: what else the machine does plays no part.
        bound_tokens: the enforced bound of the request; 0 without a request.
        limit_tokens: the window less the room for the answer.
        blocks: the request; None if none could be made.
        plan: the plan that this call made; None if it kept the one in force.
        error: why there is no request; None if there is one.
    """

    number: int
    index: int
    seconds: float
    bound_tokens: int = 0
    limit_tokens: int = 0
    blocks: tuple[RequestBlock, ...] | None = None
    plan: PlanRecord | None = None
    error: BudgetError | InvalidRequestError | None = None


class PlanEvent(NamedTuple):
    """A plan change in a replay.

    Attributes:
        call: the number of the model call that it came with, from 0.
        plan: the new plan.
    """

    call: int
    plan: PlanRecord


class FailedCall(NamedTuple):
    """A model call of a replay for which no request could be made.

    Attributes:
        call: its number, from 0.
        error: why.
        conversation: the conversation; "" if there is only one.
    """

    call: int
    error: BudgetError | InvalidRequestError
    conversation: str = ""


@dataclass(slots=True)
class ReplayOutcome:
    """The outcome of replaying one conversation, or several together.

    Attributes:
        id: the conversation; "" for several.
        path: its file.
        messages: the number of replayed messages.
        said_tokens: an estimate of all of them.
        everything_billed: the bill of sending everything, in input-token equivalents.
        tally: the measures of the requests.
        calls: model calls of the recording, including those without a request.
        largest_bound_tokens: the largest enforced bound.
        limit_tokens: the limit of that request.
        events: every plan change, in order.
        failures: the calls without a request, in order.
        unexplained: calls that broke the prefix without an event; there are none unless the engine is wrong.
        seconds: how long the decision on each call took.
        newest_request: the newest call with a request; -1 before there is one.
        bills: what each request cost.
        missing: the names that an answer used and its request had not.
    """

    id: str = ""
    path: str = ""
    messages: int = 0
    said_tokens: int = 0
    everything_billed: float = 0.0
    tally: Tally = field(default_factory=Tally)
    calls: int = 0
    largest_bound_tokens: int = 0
    limit_tokens: int = 0
    events: list[PlanEvent] = field(default_factory=list)
    failures: list[FailedCall] = field(default_factory=list)
    unexplained: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    newest_request: int = -1
    bills: list[Bill] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    @classmethod
    def total(cls, outcomes: Iterable[ReplayOutcome]) -> ReplayOutcome:
        """Return the sums of several conversations."""
        total = cls()
        for outcome in outcomes:
            total.tally.add(outcome.tally)
            for name in ("messages", "said_tokens", "everything_billed", "calls"):
                setattr(total, name, getattr(total, name) + getattr(outcome, name))
            for name in ("events", "failures", "unexplained", "seconds"):
                getattr(total, name).extend(getattr(outcome, name))
            total._widen(outcome.largest_bound_tokens, outcome.limit_tokens)
        return total

    def add(self, call: ReplayCall, *, broken: bool) -> None:
        """Add a call; `broken` says whether its request does not extend the one before."""
        self.calls += 1
        self.seconds.append(call.seconds)
        self._widen(call.bound_tokens, call.limit_tokens)
        if call.plan is not None:
            self.events.append(PlanEvent(call.number, call.plan))
        if call.error is not None:
            self.failures.append(FailedCall(call.number, call.error, self.id))
        if broken and (not self.events or self.events[-1].call <= self.newest_request):
            self.unexplained.append(call.number)
        if call.blocks is not None:
            self.newest_request = call.number

    def _widen(self, bound_tokens: int, limit_tokens: int) -> None:
        largest = self.largest_bound_tokens, self.limit_tokens
        self.largest_bound_tokens, self.limit_tokens = max(largest, (bound_tokens, limit_tokens))

    @property
    def everything_bite(self) -> float:
        """The bill of a call that sends everything, in input-token equivalents, on average."""
        return self.everything_billed / max(1, self.calls)


class PolicyRow(NamedTuple):
    """One policy of a comparison, over all conversations.

    Attributes:
        name: its name.
        ours: whether it is one of squidbot's strategies.
        tally: the measures of its requests.
        bills: the cost of each request, by conversation.
    """

    name: str
    ours: bool
    tally: Tally
    bills: tuple[Sequence[Bill], ...] = ()


class Results(NamedTuple):
    """The results of a replay.

    Attributes:
        terms: the window, the counter and the other inputs of the replay.
        outcomes: the outcome of each conversation.
        rows: squidbot's strategies and other policies, with `compare=True`; else empty.
    """

    terms: Terms
    outcomes: tuple[ReplayOutcome, ...]
    rows: tuple[PolicyRow, ...] = ()

    @property
    def total(self) -> ReplayOutcome:
        """The sums of all conversations."""
        return ReplayOutcome.total(self.outcomes)

    def __str__(self) -> str:
        return line(sentence(self))

    def _repr_html_(self) -> str:
        return results_display(self).html()

    def __rich__(self) -> Display:
        return results_display(self)


# Gets a conversation, its outcome and its session, while the store is open.
Seen: TypeAlias = "Callable[[Conversation, ReplayOutcome, CoreSession], None]"


def replay(  # noqa: PLR0913, PLR0917  # its inputs, and its observers
    conversation: Conversation,
    terms: Terms,
    store: Store,
    ruler: Ruler,
    watch: Callable[[ReplayCall], None],
    log: SessionLog | None = None,
) -> ReplayOutcome:
    """Replay a conversation into an empty session of the store, and return the outcome.

    `watch` gets every call as soon as it is decided, `log` every request and message. `Terms.usage` says who reports
    usage: the recording's own reports belong to the requests sent then.

    Raises:
        ConfigError: nothing can report usage.
        StoreError: the store failed; earlier messages stay in it.
    """
    reader = Reader(conversation, CODECS)
    recording = recording_of(conversation, reader)
    scorer = Scorer(recording, ruler, terms.limit_tokens, terms.charges)
    outcome = ReplayOutcome(
        conversation.id,
        conversation.path,
        len(conversation.messages),
        sum(ruler.cost(blocks).estimate for blocks in recording.messages),
        price_of_everything(recording, ruler, terms.charges),
        scorer.tally,
        bills=scorer.bills,
        missing=scorer.missing,
    )
    for call in _calls(conversation, terms, store, reader, log):
        within = call.bound_tokens, call.limit_tokens
        outcome.add(call, broken=call.blocks is not None and scorer.take(call.index, call.blocks, within=within))
        watch(call)
    return outcome


def _calls(
    conversation: Conversation, terms: Terms, store: Store, reader: Reader, log: SessionLog | None
) -> Iterator[ReplayCall]:
    """Record the conversation message by message, and yield the request for each answer."""
    session, number, usage = terms.open(conversation, store), 0, None
    report = reporter_of(terms.usage, conversation, terms.meter, Reader(conversation, CODECS))
    for index, message in enumerate(conversation.messages):
        if message.role == "assistant" and index:
            began = time.thread_time()
            try:
                assembly = session.assemble()
            except (BudgetError, InvalidRequestError) as error:
                yield ReplayCall(number, index, time.thread_time() - began, error=error)
            else:
                seconds = time.thread_time() - began
                if log is not None:
                    log.asked(assembly)
                usage = report(assembly, index) if report else None
                bound_tokens = assembly.certified_tokens or assembly.cost.bound
                limit_tokens = assembly.window.window_tokens - assembly.max_output_tokens
                blocks = reader.blocks(assembly)
                yield ReplayCall(number, index, seconds, bound_tokens, limit_tokens, blocks, assembly.event)
            number += 1
        stored = session.record(message, usage)
        if log is not None:
            log.recorded(stored, usage)
        usage = None


# -- a run over all conversations --------------------------------------------------------------------------------------


def conversations_of(places: Places) -> list[Conversation]:
    """Return every conversation of the transcripts, in order; a repeated id gets a number at its end.

    Raises:
        TranscriptError: one of them can't be read.
        ConfigError: the run would overwrite an input file, or write one file twice.
    """
    found: dict[str, Conversation] = {}
    for path in places.transcripts:
        for conversation in read_transcripts(path):
            name, number = conversation.id, 1
            while name in found:
                number += 1
                name = f"{conversation.id[:1000]}-{number}"  # a session's id may have 1,024 characters
            found[name] = replace(conversation, id=name)
    read = {os.path.realpath(conversation.path) for conversation in found.values()}
    outputs = {"--store": places.store, "--dump": places.dump, "--html": places.html}
    for option, output in outputs.items():
        if output and os.path.realpath(output) in read:
            raise ConfigError(f"{option} {output} is an input transcript; choose another file")
    if places.html and len(found) > 1 and not is_folder(places.html):
        raise ConfigError(f"--html {places.html}: there are {len(found)} conversations; end it with a slash")
    for (one, first), (other, second) in combinations(outputs.items(), 2):
        if first and second and os.path.realpath(first) == os.path.realpath(second):
            raise ConfigError(f"{one} and {other} are the same file, {second}")
    return list(found.values())


def ticks_of(conversations: Iterable[Conversation], beside: Sequence[Terms]) -> int:
    """Return the number of ticks of `run`: one for each model call and policy."""
    calls = sum(
        message.role == "assistant" and at > 0
        for conversation in conversations
        for at, message in enumerate(conversation.messages)
    )
    return calls * (len(RIVALS) + len(beside) if beside else 1)


def run(  # noqa: PLR0913  # its inputs, and its observers
    conversations: Sequence[Conversation],
    terms: Terms,
    places: Places,
    *,
    beside: Sequence[Terms] = (),
    tick: Callable[[], None],
    seen: Seen | None = None,
) -> Results:
    """Replay conversations, and return the results.

    With `beside`, which includes `terms`, the same conversations are also replayed under those terms, and under
    other policies. `seen` gets each conversation, its outcome and its session, while the store is open.

    Raises:
        ConfigError: the store has one of the sessions already, or a place can't be written.
        StoreError: the store failed.
    """
    ruler, outcomes = Ruler(terms.meter.physical), []
    with ExitStack() as stack:
        store = stack.enter_context(open_replay_store(Path(places.store) if places.store else None))
        for conversation in conversations:
            if store.head(conversation.id) != (0, 0):
                raise ConfigError(
                    f"--store already has a session {conversation.id!a:.80}; choose a new file, or omit --store"
                )
        several = len(conversations) > 1
        dump = stack.enter_context(open_dump(places.dump, several=several)) if places.dump else None
        log = TurnLog(places.log, Redactor()) if places.log else None
        for conversation in conversations:
            session_log = log.session(conversation.id, terms.window.model, CODECS) if log else None
            outcomes.append(_replayed(conversation, terms, store, ruler, tick, dump, session_log))
            if seen is not None:
                seen(conversation, outcomes[-1], terms.open(conversation, store).core)
    rows: list[PolicyRow] = []
    if beside:
        rows = [
            *_rivals(conversations, terms, ruler, tick),
            *_ours(conversations, terms, outcomes, beside, ruler, tick),
        ]
    return Results(terms, tuple(outcomes), tuple(rows))


def run_files(
    places: Places,
    terms: Terms,
    beside: Sequence[Terms] = (),
    progress: Callable[[int, int], None] | None = None,
    seen: Seen | None = None,
) -> Results:
    """Replay the transcripts of `places` under these terms, and return the results; `beside` and `seen` as in `run`.

    `progress` is called with the number of ticks so far and of all.

    Raises:
        TranscriptError: a transcript can't be read.
        ConfigError: a place can't be used, or there is no such mode.
        BudgetError: the text of the mode does not fit.
        StoreError: the store failed.
    """
    prompt = prompt_of(terms.mode, terms)
    conversations = conversations_of(places)
    if prompt is not None:
        conversations = [with_system_text(conversation, prompt.text) for conversation in conversations]
    every, done = ticks_of(conversations, beside), numbers(1)

    def tick() -> None:
        if progress is not None:
            progress(next(done), every)

    return run(conversations, terms, places, beside=beside, tick=tick, seen=seen)


def replay_files(  # noqa: PLR0913  # the options of `squidbot replay`
    *transcripts: str | os.PathLike[str],
    window_tokens: int,
    reserved_output_tokens: int | None = None,
    profile: str | None = None,
    strategy: str | None = None,
    counter: str = "classes",
    unit: Unit | None = None,
    prices: str | None = None,
    usage: str = "none",
    mode: str = "off",
    compare: bool = False,
    store: str | None = None,
) -> Results:
    """Replay recorded conversations call by call, as `squidbot replay` does, and return the results.

    Args:
        transcripts: files or folders.
        window_tokens: the model's window, input and output together.
        reserved_output_tokens: the room for the answer; None for a quarter of the window, at most 4,096 tokens.
        profile: the name of a profile; None for none.
        strategy: the strategy of compaction; None for that of the profile, else "balanced".
        counter: the token counter, as a name or a FILE.tiktoken.
        unit: the unit of the caps; None for that of the profile, else tokens.
        prices: an entry of the price table; None for the default one.
        usage: the usage to report: "none", "recorded", or a counter.
        mode: the mode whose system text is sent; "off" for none.
        compare: whether to add the other strategies, or under a profile all profiles, and other policies.
        store: a new file for the sessions; None keeps none.

    Raises:
        TranscriptError: a transcript can't be read.
        ConfigError: a value is unknown or out of range, or the store can't be written.
        BudgetError: the reserve leaves no room for input.
        StoreError: the store failed.
    """
    given = (reserved_output_tokens, profile, strategy, counter, unit, prices)
    terms, beside = terms_of(window_tokens, *given, usage=usage, mode=mode, compare=compare)
    return run_files(Places(tuple(os.fspath(path) for path in transcripts), store), terms, beside)


def _replayed(  # noqa: PLR0913, PLR0917  # as `replay`
    conversation: Conversation,
    terms: Terms,
    store: Store,
    ruler: Ruler,
    tick: Callable[[], None],
    dump: Dump | None = None,
    log: SessionLog | None = None,
) -> ReplayOutcome:
    with ExitStack() as stack:
        write = stack.enter_context(dump.of(conversation.id)) if dump else None

        def watch(call: ReplayCall) -> None:
            if write and call.blocks is not None:
                write(call.number, call.bound_tokens, call.blocks)
            tick()

        return replay(conversation, terms, store, ruler, watch, log)


def _rivals(
    conversations: Sequence[Conversation], terms: Terms, ruler: Ruler, tick: Callable[[], None]
) -> Iterator[PolicyRow]:
    recordings = [recording_of(conversation, Reader(conversation, CODECS)) for conversation in conversations]
    for kind in RIVALS:
        scored = [
            score_rival(kind(terms.limit_tokens, ruler), recording, ruler, tick, terms.charges)
            for recording in recordings
        ]
        yield _row(kind.name, scored, ours=False)


def _ours(  # noqa: PLR0913, PLR0917  # the replayed conversations, and the inputs of a replay
    conversations: Sequence[Conversation],
    terms: Terms,
    outcomes: Sequence[ReplayOutcome],
    beside: Iterable[Terms],
    ruler: Ruler,
    tick: Callable[[], None],
) -> Iterator[PolicyRow]:
    for other in beside:
        found = outcomes
        if other.label != terms.label:
            store = InMemoryStore()
            found = [_replayed(conversation, other, store, ruler, tick) for conversation in conversations]
        yield _row(other.label, found, ours=True)


def _row(name: str, scored: Sequence[Scorer | ReplayOutcome], *, ours: bool) -> PolicyRow:
    return PolicyRow(name, ours, Tally.total(one.tally for one in scored), tuple(one.bills for one in scored))
