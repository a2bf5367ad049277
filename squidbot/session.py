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
from squidbot.services.injected import MemoryCall, UnpromptedMemory, search_tool
from squidbot.tools.session import SessionTools
from squidbot.tools.tool import Answer, definition
from squidbot.wiring.calls import awaited, to_end
from squidbot.wiring.claims import one_by_one
from squidbot.wiring.extensions import SessionHooks
from squidbot.wiring.prompting import SessionPrompt

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Sequence

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
    """The request for one model call: what to send, what it costs, and what became of every message.

    Attributes:
        core: the engine's own value, as the hook `assembled` gets it.
        prompt: the text of the session's mode, which stands behind your system text; None without a mode.
    """

    core: CoreAssembly
    prompt: SystemPrompt | None = None

    @cached_property
    def messages(self) -> list[Any]:
        """The messages to send, oldest first, as dicts in the session's form. Send your tools beside them.

        Their type is `Any`, so that they fit the message type of any SDK.
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
        """How many messages from the first stay unchanged longest: prompt-cache breakpoints pay behind these."""
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
        """The cost of the request in tokens, and what became of every message of the transcript."""
        return self.core.report

    @property
    def max_output_tokens(self) -> int:
        """The room for the answer, in tokens: ask the model for at most this."""
        return self.core.max_output_tokens

    @property
    def event(self) -> PlanRecord | None:
        """The plan change that this call made; None if the request only grew at its end."""
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
    """One conversation in one context window. `Engine.session` opens it. Threads may share it: its calls take turns.

    A hook or an observer may call the session that called it. It must not wait there for a call in another thread: that
    would never end. If several threads use a session, hold `lock` from `assemble` to `record`, because `usage` belongs
    to the newest request.

    Attributes:
        lock: each call holds it. Hold it yourself for several calls that belong together; a thread may hold it twice.
        scope: whose durable facts the session uses.
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
        """The mode of the next turn (docs/prompts.md); "off" for none. A turn that has begun ends in its own mode.

        You can set it; the session's next request stores it. Setting raises a ConfigError if there is no such mode, or
        none for so small a window, and a BudgetError if its text does not fit. Reading raises a StoreError if the store
        failed.
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
        """Return the request for the next model call. It stores no message: `record` does.

        Args:
            said: new messages, to follow the recorded ones, or none. A bare text is the user's.
            system: your system text; it is counted, sent first, and not stored.
            tools: the definitions of the tools that you send beside the messages; they are counted.
            memory: a text for the head, capped as `[budget]` says; a changed one waits for the next plan change.
            summary: another such text.
            notice: a text for this turn, such as the time; it stays behind the user's message. None for none.
            now: the time, in seconds since 1970; None takes the clock.
            sender: the id of the author of the user's messages (`history.labels`); "" if it does not matter.

        Raises:
            BudgetError: the request can't be made to fit; the text names what is too large, and which key to change.
            InvalidRequestError: there is nothing to answer.
            ArgumentError: an argument is wrong; nothing was done.
            StoreError: the store failed.
        """
        definitions, now = [*tools], time.time() if now is None else now
        if self.lookups.wants_documents:
            self.lookups.sources.refresh()
        given = Inputs(
            system=system,
            tools=self._written(definitions) if definitions else "",
            sections=self._policy.sections(memory, summary),
            notice=notice,
            now=now,
            unprompted=UnpromptedMemory(
                self.wired, MemoryCall(self.session_id, self.scope, self.meter, now, search_tool(definitions))
            ),
            extended=self._place.asking(now),
        )
        incoming = [*unstored(self._spoken(said, "user", sender), self.wired.codecs)]
        self._inputs = self._prompting.inputs(given, definitions, incoming, self.core)
        made = self._assembled(incoming, self._inputs)
        self._asked_tokens = made.used_tokens
        return Assembly(made, self._prompting.newest)

    def _assembled(self, incoming: Sequence[Message], inputs: Inputs) -> CoreAssembly:
        """Return the request, and tell hooks and the log of it."""
        if not self.wired.loaded.policy:
            made = self.core.assemble(incoming, inputs)
        else:
            made = self._policy.assemble(self.core, incoming, inputs, self.wired.relay)
        self._place.compacted(made.event)
        self.wired.relay.assembled(made)
        if self._log is not None:
            self._log.asked(made)
        return made

    @_alone
    @_watched("overflowed", _narrowed)
    @takes(window_tokens=optional(tokens))
    def overflowed(self, window_tokens: int | None = None) -> Session:
        """Return this session with a smaller window. Call it if the provider refused the newest request as too long.

        Go on with the result: its `assemble` makes a shorter request. `window_tokens` is the window that the provider
        names; None if it names none. This writes nothing. Once you record an answer, no session with this model gets a
        larger window, in any process, until the settings name another window or model (docs/models.md).

        Raises:
            BudgetError: so small a window leaves no token for input, or no room for the text of the mode.
            ConfigError: the mode does not exist for so small a window.
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
        """Store messages at the end of the transcript, durably, and return them as they are stored.

        Pass `Assembly.incoming` and then the reply. You may also record `Assembly.incoming` before you call the model,
        so that a crash can't lose it, and the reply afterwards.

        Args:
            said: the messages, oldest first. A bare text is the model's.
            usage: the usage that the provider reported for the newest request; it corrects squidbot's token counts.
            now: the time, in seconds since 1970; None takes the clock.
            key: your own name for these messages. If messages are recorded under it already, these are returned, and
                nothing is stored. "" for no name.
            sender: the id of the author of the user's messages, as in `assemble`.

        Raises:
            ArgumentError: a message or another argument is wrong; nothing was done.
            StoreError: nothing was stored.
            BusyError: other processes kept writing to the session; nothing was stored.
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
        """Yield the pieces of a streamed answer. If the stream fails or you stop reading, record the pieces so far.

        Record the user's messages before the first piece. A complete answer is not recorded: do that with its usage.

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
            StoreError: the stream was cut, and nothing was stored.
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
        """Keep a message word for word in every request, durably; with `on=False`, keep it no longer.

        `seq` is its number, or its id as requests show it, such as "m3".

        Raises:
            ArgumentError: `seq` is not an id.
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
        """Put a text, such as a decision, into the head of every request, durably. An empty text removes it.

        It is sent from the next plan change on. `name` is your own; a text of the same name is replaced.

        Raises:
            StoreError: nothing was stored.
        """
        self.core.pin_text(name, text)

    @_alone
    def lines(self) -> tuple[LineState, ...]:
        """Return the lines of the conversation, oldest first. A conversation has one line until you `branch` it.

        Raises:
            StoreError: the store failed.
        """
        return self.core.current_line().states()

    @_alone
    def branch(self, at: int | str) -> int:
        """Go back to the place before a message, durably, and return the number of the new line.

        `at` is the message's number, or its id, such as "m3". New messages follow those before it. The model no longer
        sees the message and all behind it. They stay stored on the line that you left: `switch` goes back to it.

        Raises:
            ArgumentError: `at` is not an id.
            NotFoundError: the line has no such message; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.branch(of_message("at", at), now=time.time())

    @_alone
    @takes(line=whole(0))
    def switch(self, line: int) -> None:
        """Go on with another line, by its number in `lines`, durably.

        Its next request extends the last request of that line, unless the system text or the tools have changed.

        Raises:
            NotFoundError: there is no such line; nothing was changed.
            StoreError: nothing was changed.
        """
        self.core.switch(line)

    @_alone
    @takes(for_tool=flag)
    @_watched("compact", _compacted)
    def compact(self, *, for_tool: bool = False) -> PlanRecord | None:
        """Compact now, however full the window is, and return the plan change; None if nothing can be shortened.

        Its cause is `manual`. With `for_tool`, it is `tool-answer`: a tool's answer needs the room.

        Raises:
            StoreError: nothing was changed.
        """
        return self._place.compacted(self.core.compact(self._inputs_again(), now=time.time(), for_tool=for_tool))

    @_alone
    @_watched("undo", _restored)
    def undo(self) -> PlanRecord:
        """Undo the newest plan change, durably, and return the plan that is in force now.

        The next request begins with the former one, byte for byte; newer messages follow. Call it again to go further
        back, until every message is sent word for word. From then on only a request that does not fit, `compact` or
        another window changes the plan.

        Raises:
            NotFoundError: there is nothing to undo, or a message of the former request is no longer stored.
            BudgetError: the former request no longer fits; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.undo(self._inputs_again(), now=time.time())

    @_alone
    @takes(name=text)
    def snapshot(self, name: str) -> Snapshot:
        """Save the plan and the pins as a restore point, durably, and return it.

        A restore point of the same name is replaced. `[snapshots]` in the settings says how many are kept.

        Raises:
            ValueError: the name is empty, longer than 200 characters, or begins with "auto-".
            StoreError: nothing was stored.
        """
        return self.core.snapshot(name, now=time.time())

    @_alone
    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the restore points, oldest first: yours, and those that squidbot saved by itself.

        Raises:
            StoreError: the store failed.
        """
        return self.core.snapshots()

    @_alone
    @_watched("restore", _restored)
    @takes(name=text)
    def restore(self, name: str) -> PlanRecord:
        """Go back to the plan and the pins of a restore point, durably, and return the plan that is in force now.

        The present state is saved as a restore point first. Newer messages stay, and follow. As after `undo`, only a
        request that does not fit, `compact` or another window changes the plan.

        Raises:
            NotFoundError: there is no restore point of that name, or a message of its plan is no longer stored.
            BudgetError: its request no longer fits; nothing was changed.
            StoreError: nothing was changed.
        """
        return self.core.restore(name, self._inputs_again(), now=time.time())

    @_alone
    @_watched("forget", _forgotten)
    @takes(reason=text)
    def forget(self, *seqs: int | str, reason: str = "") -> ForgetResult:
        """Remove messages for good, with their copies, the notes on them, and their entries in the search index.

        Durable facts that no other message says go with them, and so do their lines in the journal and in the log. A
        mark takes the place of each message. Other messages that repeat their words stay, and so do earlier backups
        and exports (docs/commands.md).

        Args:
            seqs: the messages' numbers, or their ids, such as "m3".
            reason: it is stored beside the ids, so it must not repeat the content.

        Raises:
            NotFoundError: a message does not exist; nothing was forgotten.
            BudgetError: the next request would not fit; nothing was forgotten.
            StoreError: nothing was forgotten; or the messages were, and the rest follows when the store is next opened.
        """
        asked = [of_message("seqs", seq) for seq in seqs]
        return forget_messages(self.wired, self.core, asked, reason=reason, inputs=self._inputs_again())

    @_alone
    @takes(text=text, reason=text)
    def forget_goal(self, text: str, *, reason: str = "") -> int:
        """Remove a goal, a decision or another item for good, and return how many of its changes were removed.

        `text` is its words; case, white space and punctuation at the ends do not matter. Marked lines in messages go
        with their messages: use `forget`. `reason` is stored, so it must not repeat the text.

        Raises:
            NotFoundError: no change has this text; nothing was removed.
            StoreError: nothing was removed.
        """
        return forget_named(self.wired, self.session_id, text, reason=reason)

    @_alone
    def preview(self) -> Assembly:
        """Return the next request as it would be without new messages. This writes nothing and sends no event.

        Raises:
            BudgetError: the request can't be made to fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        return Assembly(self.core.preview(self._inputs_again()))

    @_alone
    @takes(number=optional(whole(0)), system=text)
    def request(self, number: int | None = None, *, system: str = "") -> Assembly:
        """Return an earlier request as it was sent, by its number from 0; None for the newest one.

        Your system text is not stored: pass it as `system` again to have it in front.

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
        """Bring messages back: record a page of them at the end of the transcript, for the next request, and return it.

        It is for programs without tools, between two turns. With tools, use `call`.

        Args:
            handle: an id that a request shows: that of a summary, "m17", or "m17-m40".
            offset: where to begin, in characters from the start of the first message. The page says where the next one
                begins.
            now: the time, in seconds since 1970; None takes the clock.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room; nothing was written.
            InvalidRequestError: a tool call has no result yet; record the result first.
            StoreError: nothing was written.
        """
        return self.lookups.recall(handle, offset, time.time() if now is None else now)

    @_alone
    @takes(handle=text, offset=number, now=timestamp)
    def expand(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Return a page of messages, as large as the next request has room for. This writes nothing.

        The arguments are those of `recall`.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room.
            StoreError: the store failed.
        """
        return self.lookups.expand(handle, offset, time.time() if now is None else now)

    @_alone
    @takes(query=text, limit=number, offset=number, now=timestamp)
    def search(self, query: str, *, limit: int = 8, offset: int = 0, now: float | None = None) -> HitPage:
        """Search the whole transcript, and return a page of messages, best first.

        Args:
            query: words, of which a message needs any, and "quoted phrases", which a message must have.
            limit: the most messages on the page.
            offset: how many better messages to skip.
            now: the time, in seconds since 1970; None takes the clock.

        Raises:
            RecallError: the query has no word, or `limit` or `offset` is out of range.
            BudgetError: there is no room.
            StoreError: the store failed.
        """
        return self.lookups.search(query, limit, offset, time.time() if now is None else now)

    @_alone
    @takes(now=timestamp)
    def history(self, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Answer a model's call of the tool `history`, which `squidbot.history_tool` defines.

        `arguments` are the model's, as a mapping or as JSON text. Wrong arguments never raise: the answer says what is
        wrong, and its `is_error` is true. Record the answer's text as the result of the call. `now` is in seconds since
        1970; None takes the clock.

        Raises:
            StoreError: the store failed.
        """
        return self.call("history", arguments, now=now)

    @_alone
    @takes(now=timestamp)
    def memory(self, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Answer a model's call of the tool `memory`, which `squidbot.memory_tool` defines; see `history`.

        New facts belong to the session's scope, and their source is the newest message. The model may add facts only if
        `memory.write` allows it. The answer always fits into the next request.

        Raises:
            ConfigError: memory is off, or its settings are wrong.
            StoreError: the store failed.
        """
        return self.call("memory", arguments, now=now)

    @_alone
    @takes(tool=text, now=timestamp)
    def call(self, tool: str, arguments: Mapping[str, object] | str, *, now: float | None = None) -> Answer:
        """Answer a model's call of one of `tools`, by the tool's name.

        `arguments` are the model's, as a mapping or as JSON text. Wrong arguments and unknown tools never raise: the
        answer says what is wrong, and its `is_error` is true. `now` is in seconds since 1970; None takes the clock.

        Raises:
            ConfigError: memory is off, or its settings are wrong.
            StoreError: the store failed.
        """
        from squidbot.tools import table  # noqa: PLC0415  # no turn needs it

        return table.call(self.lookups, tool, arguments, time.time() if now is None else now)

    @property
    def context(self) -> DocumentSources:
        """The documents in the head of the session's requests, to load, list and drop."""
        return self.lookups.sources

    @_alone
    @takes(path=text)
    def load_context(self, path: str) -> Document:
        """Keep the present text of a file in the head of every request, durably, and return it.

        `path` is relative to `context.folder`.

        Raises:
            ConfigError: the settings name no folder, the path leads out of it, or the file is not text.
            NotFoundError: there is no such file.
            BudgetError: all documents would take more than a quarter of the window; nothing was stored.
            StoreError: nothing was stored.
        """
        return self.lookups.sources.load(path)

    @property
    def goals(self) -> GoalBook:
        """The session's goals, decisions and milestones, to read and change."""
        return self.lookups.goals

    @property
    @_alone
    def tools(self) -> tuple[Any, ...]:
        """The definitions of squidbot's tools for this session's model, in the session's form of messages.

        Pass them to `assemble` and to your model, beside your own; `call` answers a call. They are `history`, `memory`,
        and others that the settings turn on; extensions may withhold any. They stay the same while the session is open,
        so that the provider's prompt cache holds.

        Raises:
            ConfigError: there are no tools in the session's form of messages.
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
