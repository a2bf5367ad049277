"""The Python face of a session: it takes what a host has, and gives back what a host sends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from squidbot.adapters.common.threads import SharedLock
from squidbot.codecs import jsontext
from squidbot.codecs.fields import read_usage
from squidbot.codecs.jsontext import dumped
from squidbot.core.arguments import (
    check_message,
    flag,
    items,
    mapping,
    number,
    of_message,
    optional,
    takes,
    text,
    timestamp,
    tokens,
    whole,
)
from squidbot.core.cached import cached_property
from squidbot.core.engine import Inputs
from squidbot.core.errors import ArgumentError, NotFoundError
from squidbot.core.memories import NOBODY
from squidbot.core.messages import Message, StoredMessage, Usage
from squidbot.core.operations import Operation
from squidbot.core.text import count, span
from squidbot.services.documents import CapPolicy
from squidbot.services.forget import forget_messages, forget_named
from squidbot.services.injected import MemoryCall, UnpromptedMemory, is_searchable
from squidbot.tools.session import SessionTools
from squidbot.tools.tool import Answer, definition
from squidbot.wiring.calls import awaited, to_end
from squidbot.wiring.claims import one_by_one
from squidbot.wiring.extensions import SessionHooks
from squidbot.wiring.prompting import SessionPrompt

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection

    from squidbot.bootstrap import Wired
    from squidbot.core.engine import CoreSession
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.memories import Scope
    from squidbot.core.messages import ContextWindow
    from squidbot.core.operations import SessionOperation
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import Codec
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.recall.history import HitPage, Page
    from squidbot.core.transcript.documents import Document
    from squidbot.core.transcript.goals import GoalBook
    from squidbot.core.transcript.lines import LineState
    from squidbot.core.transcript.snapshots import Snapshot
    from squidbot.core.view.assembly import CoreAssembly, Report
    from squidbot.display import Display
    from squidbot.services.documents import DocumentSources


# What a host hands over for one model call, as messages, and what it gets, in its own form.


class ToDict(Protocol):
    """An object of a provider's SDK: it says of itself what the provider said."""

    def to_dict(self) -> Mapping[str, object]:
        """Return that."""


class ModelDump(Protocol):
    """An object of pydantic's, or one like it."""

    def model_dump(self) -> Mapping[str, object]:
        """Return its fields."""


# What a provider reports: as its own object, a dict, or ours.
Reported: TypeAlias = "Usage | Mapping[str, object] | ToDict | ModelDump | None"
# What a host may hand over as one message or several: a text, a message in its own form, as a dict or as its SDK's
# object, one of ours, or a list.
Said: TypeAlias = "str | Mapping[str, object] | Message | StoredMessage | ToDict | ModelDump | Iterable[Said]"


def spoken(
    said: Iterable[Said], role: str, codec: Codec, marked: Callable[[Message], Message], sender: str = ""
) -> Iterator[Message | StoredMessage]:
    """Yield what a host hands over as messages, in order; a bare text has that role, `marked` is asked of new ones.

    `sender` is who says the user's; "": each message says so itself, or none does.

    Raises:
        ValueError: something is not a message of the codec's form.
    """
    for one in _flat(said):
        if isinstance(one, StoredMessage):
            yield one
        elif isinstance(one, Message):
            yield marked(_from(_readable(one), sender))
        else:
            made = codec.to_message({"role": role, "content": one} if isinstance(one, str) else one)
            yield marked(_from(made, sender))


def unstored(messages: Iterable[Message | StoredMessage], codecs: Mapping[str, Codec]) -> Iterator[Message]:
    """Yield messages as they were before they were stored, with their times."""
    for message in messages:
        if isinstance(message, Message):
            yield message
        else:
            yield replace(codecs[message.codec].decode(message.payload), time=message.time, sender=message.sender)


def _readable(message: Message) -> Message:
    """Return a message that a host has made itself, whose payload is JSON: what can't be sent is not stored either."""
    json.loads(message.payload)
    return message


def _from(message: Message, sender: str) -> Message:
    return replace(message, sender=sender) if sender and message.role == "user" else message


def _flat(said: Iterable[Said]) -> Iterator[str | Mapping[str, object] | Message | StoredMessage]:
    """Return what a host hands over one by one, in order.

    Raises:
        ValueError: something is no message, nor a list of such.
    """
    for one in said:
        if isinstance(one, (str, Mapping, Message, StoredMessage)):
            yield one
        elif (told := dumped(one)) is not None:
            yield told
        elif isinstance(one, Iterable) and not isinstance(one, (bytes, bytearray)):
            yield from _flat(one)
        else:
            what = "a text, a dict, an object with to_dict() or model_dump(), or a list of these"
            raise ValueError(f"a message is {what}, not {type(one).__name__}")


def reported_by(usage: Reported) -> Usage | None:
    """Return what a provider reported; None where it did not, or in a form that is not known."""
    if usage is None or isinstance(usage, Usage):
        return usage
    return read_usage(dict(usage) if isinstance(usage, Mapping) else dumped(usage))


@dataclass(frozen=True)
class Assembly:
    """What to send for one model call. `core` is the engine's own value, with all there is to know.

    `prompt` is the text of the session's mode in it, behind the host's system text; None where it is in none.
    """

    core: CoreAssembly
    prompt: SystemPrompt | None = None

    @cached_property
    def messages(self) -> list[Any]:
        """The request in the host's own form, dicts, oldest first; tools are the host's to send beside it.

        They are typed as what any SDK calls its messages.
        """
        return [message for one in self._sent for message in one]

    def read(self, loads: Callable[[str], object], without: Collection[int] = ()) -> list[dict[str, object]]:
        """Return the messages of the request's parts, each payload as `loads` reads it; not of those at some places.

        A reader that knows payloads again has most of them read already: from one request to the next few are new.
        """
        payloads = self.core.payloads
        return [
            message
            for place, payload in enumerate(payloads)
            if place not in without
            for message in _each(loads(payload))
        ]

    @property
    def stable(self) -> tuple[int, ...]:
        """How many of the messages, from the first, stay longest as they are: where a prompt cache is worth keeping."""
        ends = [0, *accumulate(map(len, self._sent))]
        return tuple(ends[count] for count in self.core.stable)

    @cached_property
    def _sent(self) -> list[list[dict[str, object]]]:
        """The messages that each part of the request is sent as."""
        return [_each(json.loads(payload)) for payload in self.core.payloads]

    @property
    def incoming(self) -> tuple[StoredMessage, ...]:
        """The messages that came with this call, for `record`."""
        return self.core.incoming

    @property
    def report(self) -> Report:
        """What the request costs, and what became of every message of the transcript."""
        return self.core.report

    @property
    def max_output_tokens(self) -> int:
        """The room for the answer: what to ask the model for at most."""
        return self.core.max_output_tokens

    @property
    def event(self) -> PlanRecord | None:
        """The new plan, where this call has changed what is sent of the past; None where it only added at the end."""
        return self.core.event

    def __str__(self) -> str:
        spans, elsewhere = self.core.report.spans, self.core.report.elsewhere
        said = [f"{span(one.first_seq, one.last_seq)} {one.summary_id or one.how}" for one in spans[:MOST_SPANS]]
        said += [f"... {len(spans) - MOST_SPANS:,} more"] if len(spans) > MOST_SPANS else []
        said += [f"{elsewhere:,} not on this line"] if elsewhere else []
        return "; ".join([self._size, *said])

    def _repr_html_(self) -> str:
        return self.__rich__().html()

    def __rich__(self) -> Display:
        from squidbot.display import request_display  # noqa: PLC0415  # nothing is drawn unless it is shown

        return request_display(self.core, self._size)

    @property
    def _size(self) -> str:
        """A sentence about its size, and how it is known."""
        used = self.core.report.usage
        tokens = f"{used.current_tokens:,} of {used.max_tokens:,} tokens ({self.core.report.certificate})"
        return f"{count(len(self.messages), 'message')}, {tokens}"


def _each(read: Any) -> list[dict[str, object]]:  # noqa: ANN401  # what JSON text holds
    """Return the messages of a payload: one, or several where one of another form answered several calls."""
    return read if isinstance(read, list) else [read]


# How many runs of messages a text names.
MOST_SPANS = 20
# What a provider counts.
COUNT = whole(0)
# What reading a stranger's object may raise, whatever it is.
FOREIGN = (ValueError, TypeError, AttributeError, KeyError, RecursionError)
Given = ParamSpec("Given")
Value = TypeVar("Value")


def _alone(act: Callable[Concatenate[Session, Given], Value]) -> Callable[Concatenate[Session, Given], Value]:
    """Make a call of a session wait until no other thread is in one: what they share is changed by one at a time."""

    @wraps(act)
    def called(self: Session, /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
        with self.lock:
            return act(self, *args, **kwargs)

    return called


def _watched(
    name: SessionOperation, seen: Callable[[Operation, Value], object]
) -> Callable[[Callable[Concatenate[Session, Given], Value]], Callable[Concatenate[Session, Given], Value]]:
    """Let observers watch a call of a session; `seen` writes the result into the operation."""

    def decorated(act: Callable[Concatenate[Session, Given], Value]) -> Callable[Concatenate[Session, Given], Value]:
        @wraps(act)
        def called(self: Session, /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
            relay, window = self.wired.relay, self.window
            if not relay.watches:
                return act(self, *args, **kwargs)
            operation = Operation(
                name=name, session_id=self.session_id, model=window.model, window_tokens=window.window_tokens
            )
            with relay.watch(operation):
                result = act(self, *args, **kwargs)
                seen(operation, result)
            return result

        return called

    return decorated


def _assembled(operation: Operation, made: Assembly) -> None:
    operation.request_tokens = made.core.used_tokens
    operation.plan, operation.is_changed = made.core.plan, made.event is not None


def _compacted(operation: Operation, plan: PlanRecord | None) -> None:
    operation.plan, operation.is_changed = plan, plan is not None


def _restored(operation: Operation, plan: PlanRecord) -> None:
    operation.plan, operation.is_changed = plan, True


def _narrowed(operation: Operation, smaller: Session) -> None:
    operation.window_tokens = smaller.window.window_tokens


def _forgotten(operation: Operation, result: ForgetResult) -> None:
    operation.store, operation.records = "messages", len(result.asked) + len(result.copies)
    operation.plan, operation.is_changed = result.plan, result.plan is not None


class Session:
    """One conversation in one context window. Threads may share it: its calls follow each other.

    A hook, or whoever listens to events, may call the session that it is called from; only waiting there for another
    thread's call of it never ends. `usage` is of the newest request: where several threads ask and record, hold `lock`
    from the one to the other.

    Attributes:
        lock: is held by each call, again by a call within it. Hold it for several calls that belong together.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what `Engine.session` has found out
        self,
        wired: Wired,
        session_id: str,
        window: ContextWindow,
        codec: Codec,
        recorded: Callable[[Session], None] | None = None,
        scope: Scope = NOBODY,
        mode: str | None = None,
    ) -> None:
        """Use `Engine.session`. `recorded` is called behind each `record`, and raises nothing."""
        self.wired = wired
        self.lock = SharedLock()
        self._recorded = recorded
        # Shared with this process's other sessions of that id.
        self._appends = wired.appends_of(session_id)
        # Whose durable facts its tool `memory` sees, and whose what is said in it becomes.
        self.scope = scope
        self.codec = codec
        self.meter = meter = wired.meter(window.model)
        self._prompting = SessionPrompt(wired.prompts, window, meter.physical, wired.codecs, mode)
        rule = wired.loaded.settings.budget.trim_rule
        self._policy = CapPolicy(wired.loaded.settings.budget.caps, meter, rule)
        # What the newest request was asked for with, None: this process has asked for none; and what it costs at most.
        self._inputs: Inputs | None = None
        self._asked_tokens = window.window_tokens
        self.core: CoreSession = wired.engine.session(session_id, window, meter, wired.history(window, scope), scope)
        self._place = SessionHooks(wired.hooks, session_id, scope, meter)
        log = wired.turn_log
        self._log = log.session(session_id, window.model, wired.codecs) if log else None
        self._tools = jsontext.Rewriter()
        self.lookups = SessionTools(wired, self.core, meter, self._place)
        self._offered: tuple[dict[str, object], ...] | None = None

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.core.session_id

    @property
    def window(self) -> ContextWindow:
        """The session's context window, and where it comes from."""
        return self.core.window

    @property
    @_alone
    def mode(self) -> str:
        """The mode of the next turn (docs/prompts.md), "off" for none; a turn that is in flight ends in its own.

        What is set is kept with the session's next request. Setting raises ConfigError where there is no such mode, or
        not in a window of that size, and BudgetError where its text does not fit. Asking raises StoreError where the
        mode of the newest request can't be read.
        """
        if self._prompting.looks:
            self._prompting.look(self.core.room().newest)
        return self._prompting.mode

    @mode.setter
    @_alone
    @takes(name=text)
    def mode(self, name: str) -> None:
        self._prompting.choose(name)

    @_alone
    @_watched("assemble", _assembled)
    @takes(
        system=text,
        tools=items(mapping, "several definitions of tools"),
        memory=text,
        summary=text,
        notice=optional(text),
        now=timestamp,
        sender=text,
    )
    def assemble(  # noqa: PLR0913  # each is the host's, and each may be left out
        self,
        *said: Said,
        system: str = "",
        tools: Iterable[Mapping[str, object]] = (),
        memory: str = "",
        summary: str = "",
        notice: str | None = None,
        now: float | None = None,
        sender: str = "",
    ) -> Assembly:
        """Return the request for one model call, with `said` behind what is recorded. A bare text is the user's.

        `system` and `tools` are what the host sends with every request. `memory` and `summary` are its documents for
        the head of the request, capped and deduplicated as `[budget]` says, and frozen there until the next event.
        `notice` is text for this turn only (the time, facts that were found): it stays where it was said. `now` is in
        seconds since 1970; None takes the clock. `sender` is the id of who says the user's messages (`history.labels`).

        Raises:
            BudgetError: nothing makes the request fit; the text names what is too large, and the key to change.
            InvalidRequestError: there is nothing to answer.
            ArgumentError: something said is no message, or an argument is not what it has to be; nothing was done.
            StoreError: the store failed.
        """
        definitions, now = list(tools), time.time() if now is None else now
        if self.lookups.wants_documents:
            self.lookups.sources.refresh()
        given = Inputs(
            system=system,
            tools=self._written(definitions) if definitions else "",
            sections=self._policy.sections(memory, summary),
            notice=notice,
            now=now,
            unprompted=UnpromptedMemory(
                self.wired, MemoryCall(self.session_id, self.scope, self.meter, now, is_searchable(definitions))
            ),
            extended=self._place.asking(now),
        )
        incoming = [*unstored(self._spoken(said, "user", sender), self.wired.codecs)]
        self._inputs = self._prompting.inputs(given, definitions, incoming, self.core)
        if not self.wired.loaded.policy:
            made = self.core.assemble(incoming, self._inputs)
        else:
            made = self._policy.assemble(self.core, incoming, self._inputs, self.wired.relay)
        self._place.compacted(made.event)
        self.wired.relay.assembled(made)
        if self._log is not None:
            self._log.asked(made)
        self._asked_tokens = made.used_tokens
        return Assembly(made, self._prompting.newest)

    @_alone
    @_watched("overflowed", _narrowed)
    @takes(window_tokens=optional(tokens))
    def overflowed(self, window_tokens: int | None = None) -> Session:
        """Return this session in a smaller window, where the provider refused the newest request as too long.

        Go on with it: `assemble` makes a shorter request. `window_tokens` is the window that the provider tells, None
        where it tells none. Once an answer is recorded in it, no session with the model gets a larger one, in any
        process, until settings name another window or model (docs/models.md). Nothing is written yet.

        Raises:
            BudgetError: so small a window leaves no token for input, or the text of the mode no room.
            ConfigError: the mode is none for so small a window.
        """
        window = self.wired.window_below_refusal(self.window, self._asked_tokens, window_tokens)
        mode = self._prompting.chosen
        made = Session(self.wired, self.session_id, window, self.codec, self._recorded, self.scope, mode)
        made.lock = self.lock
        return made

    @_alone
    @takes(now=timestamp, key=text, sender=text)
    def record(
        self, *said: Said, usage: Reported = None, now: float | None = None, key: str = "", sender: str = ""
    ) -> tuple[StoredMessage, ...]:
        """Store messages behind the transcript, durably, and return them as stored. A bare text is the model's.

        Take `Assembly.incoming` as it came, then the reply; or the former before the model is called, so that it is
        kept whatever happens, and the reply behind it. Messages are texts, dicts, objects of the provider's SDK, or
        lists of these. `usage` is what the provider reported for the newest request, as its own
        object or ours: it corrects the counting. `now` and `sender` are as in `assemble`. `key` is what a client calls
        them: what is recorded under it already is returned, and nothing is stored.

        Raises:
            ArgumentError: something said is no message, or an argument is not what it has to be; nothing was done.
            StoreError: nothing was stored.
        """
        messages = self._spoken(said, "assistant", sender)
        reported = _reported(usage)
        now = time.time() if now is None else now
        operation = Operation(name="record", session_id=self.session_id, model=self.window.model, usage=reported)
        with self.wired.relay.watch(operation), one_by_one(self._appends):
            stored = self.core.record(*messages, usage=reported, now=now, key=key)
        if self._log is not None:
            self._log.recorded(stored, reported)
        if self._recorded is not None:
            self._recorded(self)
        return stored

    def kept(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the pieces of a streamed answer; if nobody reads on, or the stream fails, record what came.

        Record a whole answer yourself, with its usage; before the first piece, record what was asked.

        Raises:
            StoreError: the stream was cut, and nothing was stored.
        """
        came: list[str] = []
        try:
            for piece in pieces:
                came.append(piece)
                yield piece
        except BaseException:
            if came:
                self.record("".join(came))
            raise

    async def akept(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """Do as `kept`, for asyncio.

        Raises:
            StoreError: as there.
        """
        came: list[str] = []
        try:
            async for piece in pieces:
                came.append(piece)
                yield piece
        except BaseException:
            if came:
                await to_end(self.record, "".join(came))
            raise

    @_alone
    @takes(on=flag)
    def pin(self, seq: int | str, *, on: bool = True) -> None:
        """Keep a message of the transcript verbatim whatever happens, or (`on` false) no longer; durable.

        `seq` is its number, or its id as it is shown, "m3".

        Raises:
            ArgumentError: that is no id.
            NotFoundError: there is no such message; nothing was stored.
            StoreError: nothing was stored.
        """
        number = of_message("seq", seq)
        line = self.core.line
        line.head(self.session_id)
        if not line.has(number):
            there = f"there are m0 to m{line.last_seq}" if line.runs else "nothing is recorded yet"
            raise NotFoundError(f"m{number} is no message of {self.session_id!a:.80}: {there}; nothing was pinned")
        self.core.pin(number, on=on)

    @_alone
    @takes(name=text, text=text)
    def pin_text(self, name: str, text: str) -> None:
        """Put a goal or a decision into the head of every request from the next event on; an empty text takes it away.

        Raises:
            StoreError: nothing was stored.
        """
        self.core.pin_text(name, text)

    @_alone
    def lines(self) -> tuple[LineState, ...]:
        """Return the lines of the conversation, in the order in which they were begun.

        A conversation has one, until somebody goes back in it: see `branch`.

        Raises:
            StoreError: the store failed.
        """
        return self.core.current_line().states()

    @_alone
    def branch(self, at: int | str) -> int:
        """Leave the conversation in front of a message, and return the number of the new line; durable.

        What is recorded from now on follows the messages before `at`, which is a number or an id as it is shown, "m3".
        The model sees this line only, and the messages behind stay stored on the line that was left: `switch` goes back
        to it.

        Raises:
            ArgumentError: that is no id.
            NotFoundError: the line has no such message; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.branch(of_message("at", at), now=time.time())

    @_alone
    @takes(line=whole(0))
    def switch(self, line: int) -> None:
        """Go on along a line, by its number in `lines`; durable.

        Its next request extends the last one that it had, unless what is always sent has changed since.

        Raises:
            NotFoundError: there is no such line; nothing was changed.
            StoreError: nothing was changed.
        """
        self.core.switch(line)

    @_alone
    @_watched("compact", _compacted)
    def compact(self) -> PlanRecord | None:
        """Shorten what is sent now, whatever the pressure; None where there is nothing to shorten.

        Raises:
            StoreError: nothing was changed.
        """
        return self._place.compacted(self.core.compact(self._inputs_again(), now=time.time()))

    @_alone
    @_watched("undo", _restored)
    def undo(self) -> PlanRecord:
        """Take the newest event back: the next request is the former one byte for byte, and what came since behind it.

        Undoing again goes further back, as far as everything raw. From then on only a request that does not fit,
        `compact` or another window changes what is sent.

        Raises:
            NotFoundError: there is nothing to undo, or what would be sent again is no longer stored.
            BudgetError: that does not fit any more; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.undo(self._inputs_again(), now=time.time())

    @_alone
    @takes(name=text)
    def snapshot(self, name: str) -> Snapshot:
        """Keep what is sent of the past, and what is pinned, as it is now, under a name; durable.

        A name that is given again takes the place of the one before; `[snapshots]` says how many are kept.

        Raises:
            ValueError: the name is empty, longer than 200 characters, or begins with "auto-".
            StoreError: nothing was stored.
        """
        return self.core.snapshot(name, now=time.time())

    @_alone
    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the snapshots that are kept, oldest first: named ones, and those that were made unasked.

        Raises:
            StoreError: the store failed.
        """
        return self.core.snapshots()

    @_alone
    @_watched("restore", _restored)
    @takes(name=text)
    def restore(self, name: str) -> PlanRecord:
        """Send again what was sent at a snapshot, what came since behind it, and pin what was pinned then.

        What is sent now is kept as a snapshot first. The rest is as after `undo`.

        Raises:
            NotFoundError: there is no snapshot of that name, or what it was made of is no longer stored.
            BudgetError: that does not fit any more; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.restore(name, self._inputs_again(), now=time.time())

    @_alone
    @_watched("forget", _forgotten)
    @takes(reason=text)
    def forget(self, *seqs: int | str, reason: str = "") -> ForgetResult:
        """Remove messages for good, with the notes that tell of them, copies of them, and what search knows of them.

        With them go the durable facts that nothing else says, what entries of the journal tell of them, and their turns
        in the log. A mark stands in the place of each. What other messages say of them stays, and so do backups and
        exports made before (docs/commands.md). `seqs` are their numbers, or their ids as they are shown, "m3".
        `reason` is kept beside the ids; it must not repeat what is to be forgotten.

        Raises:
            NotFoundError: a message is not there; nothing was forgotten.
            BudgetError: what must be sent in any case does not fit; nothing was forgotten.
            StoreError: nothing was forgotten; or the messages were, and the rest is when the store is next opened.
        """
        asked = [of_message("seqs", seq) for seq in seqs]
        return forget_messages(self.wired, self.core, asked, reason=reason, inputs=self._inputs_again())

    @_alone
    @takes(text=text, reason=text)
    def forget_goal(self, text: str, *, reason: str = "") -> int:
        """Take a goal, decision, artifact or the like out for good, wherever calls named it; return how many did.

        White space, case and punctuation at the ends aside. Lines that messages mark go with their messages (`forget`).
        `reason` is kept; it must not repeat the text.

        Raises:
            NotFoundError: no call has named it; nothing was taken out.
            StoreError: nothing was taken out.
        """
        return forget_named(self.wired, self.session_id, text, reason=reason)

    @_alone
    def preview(self) -> Assembly:
        """Return the request that would be sent next if nothing new was said; writes nothing and tells nobody.

        Raises:
            BudgetError: nothing makes it fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        return Assembly(self.core.preview(self._inputs_again()))

    @_alone
    @takes(number=optional(whole(0)), system=text)
    def request(self, number: int | None = None, *, system: str = "") -> Assembly:
        """Return a recorded request as it was sent, by its number from 0; None: the newest one.

        `system` is the host's own text and not stored: given again, it stands in front, with the mode's behind it.

        Raises:
            NotFoundError: there is no such request, or it can't be made again; the text says why.
            StoreError: the store failed.
        """
        system = self._prompting.system_of(self.core.line, self.session_id, number, system)
        return Assembly(self.core.request(number, Inputs(system=system)))

    def _spoken(self, said: Iterable[Said], role: str, sender: str) -> list[Message | StoredMessage]:
        """Return what a host hands over as messages, in order.

        Raises:
            ArgumentError: something is none.
        """
        try:
            found = [*spoken(said, role, self.codec, self._place.marked, sender)]
            for one in found:
                check_message(one, self.wired.codecs)
        except FOREIGN as error:
            raise _no("what is said", error) from error
        return found

    def _written(self, definitions: list[Mapping[str, object]]) -> str:
        try:
            return self._tools.write(definitions)
        except FOREIGN as error:
            raise _no("tools", error) from error

    def _inputs_again(self) -> Inputs | None:
        """Return what the newest request was asked for with, for now; None where this process has asked for none."""
        return self._inputs and replace(self._inputs, notice=None, now=time.time())

    @_alone
    @takes(handle=text, offset=number, now=timestamp)
    def recall(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Bring back what was said: a page of it is recorded behind the transcript, and stands in the next request.

        For hosts without tools, between two turns; with tools, see `history`. `handle` is an id that a request shows:
        a summary's, "m17", or "m17-m40"; `offset` counts characters into its first message. The page says where the
        next one begins. What it copies stays as it is. `now` is in seconds since 1970; None takes the clock.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room; nothing was written.
            InvalidRequestError: results of tool calls are awaited; record these first.
            StoreError: nothing was written.
        """
        return self.lookups.recall(handle, offset, time.time() if now is None else now)

    @_alone
    @takes(handle=text, offset=number, now=timestamp)
    def expand(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Return what was said as far as there is room for it, as a page, and write nothing; else as `recall`.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room.
            StoreError: the store failed.
        """
        return self.lookups.expand(handle, offset, time.time() if now is None else now)

    @_alone
    @takes(query=text, limit=number, offset=number, now=timestamp)
    def search(self, query: str, *, limit: int = 8, offset: int = 0, now: float | None = None) -> HitPage:
        """Return the messages of the whole transcript that answer a query, best first, as a page.

        A query is words, any of which will do, and "quoted phrases", which must occur. At most `limit` messages are
        listed, behind `offset` better ones. `now` is in seconds since 1970; None takes the clock.

        Raises:
            RecallError: there is nothing to look for in the query, or limit or offset are out of range.
            BudgetError: there is no room.
            StoreError: the store failed.
        """
        return self.lookups.search(query, limit, offset, time.time() if now is None else now)

    @_alone
    @takes(now=timestamp)
    def history(self, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Return what a model's call of the tool `history` answers (`tools.history_tool` defines it for the model).

        `arguments` are the model's: an object or its JSON text. Wrong ones never raise: the answer says what was
        wrong, and `is_error` is set. Record its text as the result of the call; it is then known as recalled.

        Raises:
            StoreError: the store failed.
        """
        return self.call("history", arguments, now=now)

    @_alone
    @takes(now=timestamp)
    def memory(self, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Return what a model's call of the tool `memory` answers (`memory_tool` defines it for the model).

        As `history` does; what it adds is of the session's scope, with the newest message as its source. It may write
        where `memory.write` says so. An answer is never larger than what the next request has free.

        Raises:
            ConfigError: memory is switched off, or its settings are wrong.
            StoreError: the store failed.
        """
        return self.call("memory", arguments, now=now)

    @_alone
    @takes(tool=text, now=timestamp)
    def call(self, tool: str, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Return what a model's call of one of `tools` answers, by the tool's name; else as `history` and `memory`."""
        from squidbot.tools import table  # noqa: PLC0415  # no turn needs it

        return table.call(self.lookups, tool, arguments, time.time() if now is None else now)

    @property
    def context(self) -> DocumentSources:
        """The documents in the head of its requests: `load(path)`, `drop(path)`, and `documents.all()` lists them."""
        return self.lookups.sources

    @_alone
    @takes(path=text)
    def load_context(self, path: str) -> Document:
        """Keep a file below `context.folder` in the head of requests, as it is then, whatever else falls out; durable.

        Raises:
            ConfigError: settings name no folder, the path leads out of it, or the file is no text.
            NotFoundError: there is no such file.
            BudgetError: documents would be more than a quarter of the window; nothing was kept.
            StoreError: nothing was kept.
        """
        return self.lookups.sources.load(path)

    @property
    def goals(self) -> GoalBook:
        """What the session is after: `goals.goals()` reads it, `goals.change(action, text)` changes it, durably."""
        return self.lookups.goals

    @property
    @_alone
    def tools(self) -> tuple[Any, ...]:
        """Our tools for this session's model, as `assemble` takes them and the host sends them; `call` executes one.

        `history`, `memory`, `goal` and `context`, if they are on; extensions may withhold any. They stay
        the same for as long as the session is open: another set would break the provider's cache.

        Raises:
            ConfigError: no tools are known in the session's form of messages.
        """
        if self._offered is None:
            from squidbot.tools.table import FOR_SESSIONS, offered  # noqa: PLC0415  # no turn needs it

            settings, form = self.wired.loaded.settings, self.codec.tag
            every = {tool.name: definition(tool, form) for tool in offered(FOR_SESSIONS, settings, self.scope.bot)}
            granted = self._place.granted(self.window.model, tuple(every))
            self._offered = tuple(every[name] for name in granted)
        return self._offered

    def __str__(self) -> str:
        return self.__rich__().text

    def _repr_html_(self) -> str:
        return self.__rich__().html()

    def __rich__(self) -> Display:
        """Return what shows it: read now, without writing, and without waiting for a call in another thread."""
        from squidbot.display import session_display  # noqa: PLC0415  # nothing is read or drawn unless it is shown

        if not self.lock.acquire(0):
            return session_display(self.core, self._inputs, "in use by another thread; show it again later")
        try:
            return session_display(self.core, self._inputs)
        finally:
            self.lock.release()

    # For asyncio: each does as the method of its name, in a thread (`squidbot.in_thread`).
    aassemble = awaited(assemble)
    aoverflowed = awaited(overflowed)
    arecord = awaited(record)
    apin = awaited(pin)
    apin_text = awaited(pin_text)
    alines = awaited(lines)
    abranch = awaited(branch)
    aswitch = awaited(switch)
    acompact = awaited(compact)
    aundo = awaited(undo)
    asnapshot = awaited(snapshot)
    asnapshots = awaited(snapshots)
    arestore = awaited(restore)
    aforget = awaited(forget)
    aforget_goal = awaited(forget_goal)
    apreview = awaited(preview)
    arequest = awaited(request)
    arecall = awaited(recall)
    aexpand = awaited(expand)
    asearch = awaited(search)
    ahistory = awaited(history)
    amemory = awaited(memory)
    acall = awaited(call)
    aload_context = awaited(load_context)


def _reported(usage: Reported) -> Usage | None:
    """Return what a provider reported.

    Raises:
        ArgumentError: it is no report.
    """
    try:
        found = reported_by(usage)
        for name, value in found._asdict().items() if found else ():
            COUNT(f"usage.{name}", value)
    except FOREIGN as error:
        raise _no("usage", error) from error
    return found


def _no(name: str, error: Exception) -> ArgumentError:
    """Return the error of an argument that could not be read."""
    if isinstance(error, ArgumentError):
        return error
    why = "it holds itself, or is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return ArgumentError(f"{name} can't be taken: {why or type(error).__name__}")
