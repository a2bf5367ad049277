"""Runs a history through a session call by call, as a host does, and keeps what each call gave."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.budget import WindowSettings, open_window
from squidbot.core.engine import ContextEngine, CoreSession, Inputs
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.core.settings import HistorySettings
from squidbot.core.tokens.classes import ClassCounter
from squidbot.core.tokens.counters import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.core.events import Event
    from squidbot.core.messages import ContextWindow, Cost, Message, Record, StoredMessage, Usage
    from squidbot.core.view.assembly import CoreAssembly

CODEC = OpenAIChat()


class Remembering(ClassCounter):
    """The default counter, which looks at a text once: hundreds of conversations here are made of the same ones."""

    def measure(self, text: str) -> Cost:
        """Return estimate and bound of a text, in tokens."""
        return _measured(text) if len(text) < 100_000 else ClassCounter.measure(self, text)


_measured = lru_cache(8192)(ClassCounter().measure)
CLASSES = Meter(Remembering())
NOTHING_GIVEN = Inputs()


# Events at marks alone, thin notes and much that stays raw: in a test's conversation they come where it expects them.
BY_MARKS = HistorySettings(patience=0.0, low_fraction=0.3, note_rate=0.08, notes_fraction=0.45)


@dataclass(frozen=True, repr=False)
class Setup:
    """Under which circumstances a session is opened; sizes in tokens, `reserve` None for the default one."""

    window_tokens: int = 2048
    reserve: int | None = None
    settings: HistorySettings = field(default_factory=HistorySettings)
    meter: Meter = CLASSES

    def __repr__(self) -> str:
        """Show what differs from the defaults."""
        plain = HistorySettings()
        names = (one.name for one in fields(plain))
        other = {
            name: getattr(self.settings, name) for name in names if getattr(self.settings, name) != getattr(plain, name)
        }
        return f"Setup({self.window_tokens}, {self.reserve}, HistorySettings(**{other}), {self.meter.name})"

    def _repr_pretty_(self, printer: Printer, _cycle: bool) -> None:  # noqa: FBT001  # the printer of Hypothesis asks so
        printer.text(repr(self))

    @property
    def window(self) -> ContextWindow:
        """The window of the window and the reserve."""
        settings = WindowSettings(self.window_tokens, self.reserve)
        return open_window(settings, self.meter.name, self.meter.certificate)


class Printer(Protocol):
    """What Hypothesis shows a failing example with."""

    def text(self, shown: str) -> None:
        """Print the text."""


class Heard:
    """Observer: keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def names(self) -> list[str]:
        """Return the names of the events so far."""
        return [event.name for event in self.events]


class Meddled(InMemoryStore):
    """A store in which something happens right before each append: another writer comes first, or the disk fails."""

    def __init__(self, others: int = 0) -> None:
        super().__init__()
        self.others = others

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Let it happen, then append."""
        self.before(session_id, records)
        super().append(session_id, expected_seq, messages, records)

    def before(self, session_id: str, records: Sequence[Record]) -> None:
        """Do what comes before an append of these records."""


@dataclass(frozen=True)
class Call:
    """One model call: what was given, the request or the error that came, and the store on both sides of it."""

    given: Inputs
    incoming: tuple[Message, ...]
    assembly: CoreAssembly | None
    error: BudgetError | InvalidRequestError | None
    before: Held
    after: Held

    @property
    def request(self) -> CoreAssembly:
        """The request, for a call that gave one."""
        assert self.assembly is not None
        return self.assembly


@dataclass(frozen=True)
class Held:
    """All that a store holds of one session."""

    messages: tuple[StoredMessage, ...]
    records: Mapping[str, tuple[Record, ...]]
    summaries: tuple[str, ...]


KINDS = ("goal", "window", "marked", "pin", "plan", "request", "snapshot", "told", "withdrawn")


def held(store: InMemoryStore, session_id: str = "s") -> Held:
    """Return all that the store holds of a session."""
    count = store.head(session_id)[0]
    records = {kind: tuple(store.records(session_id, kind)) for kind in KINDS}
    messages = tuple(store.read(session_id, 0, count - 1)) if count else ()
    return Held(messages, records, tuple(one.summary_id for one in store.for_range(session_id, 0, count)))


def copied(store: InMemoryStore, session_id: str = "s") -> InMemoryStore:
    """Return a store of its own that holds what the store holds of a session."""
    other = InMemoryStore()
    count = store.head(session_id)[0]
    records = [record for kind in (*KINDS, "fragment", "ledger") for record in store.records(session_id, kind)]
    for summary in store.for_range(session_id, 0, count):
        other.put(summary)
    other.append(session_id, 0, store.read(session_id, 0, count - 1) if count else [], records)
    assert other.head(session_id) == store.head(session_id)
    return other


def opened(store: InMemoryStore, setup: Setup, session_id: str = "s", observer: Heard | None = None) -> CoreSession:
    """Return a session of a fresh engine over the store, as a restarted process opens it."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC}, observer)
    return engine.session(session_id, setup.window, setup.meter, setup.settings)


@dataclass
class Host:
    """A host program: it holds what came in since the last reply, and goes on when no request can be made.

    Steps are counted from 0 by the replies there were: `inputs` returns what is given at a step, `usage` what the
    provider reports for a request; before each step in `restarts` the process is started anew.
    """

    store: InMemoryStore
    setup: Setup
    inputs: Callable[[int], Inputs] = lambda _number: NOTHING_GIVEN
    usage: Callable[[CoreAssembly], Usage | None] = lambda _assembly: None
    restarts: frozenset[int] = frozenset()
    session_id: str = "s"
    observer: Heard = field(default_factory=Heard)
    watch: bool = True
    calls: list[Call] = field(default_factory=list)
    pending: list[Message] = field(default_factory=list)
    replies: int = 0
    _open: CoreSession | None = None

    @property
    def session(self) -> CoreSession:
        """The session as the process holds it that runs now."""
        if self._open is None:
            self._open = opened(self.store, self.setup, self.session_id, self.observer)
        return self._open

    def restart(self, session: CoreSession | None = None) -> None:
        """End the process; the next one opens the session anew, or holds the one that is given."""
        self._open = session

    def run(self, history: Sequence[Message]) -> list[Call]:
        """Take every message of a history in turn, call the model for what is pending at its end, return all calls."""
        for _ in self.steps(history):
            pass
        if self.pending:
            self.call()
        return self.calls

    def steps(self, history: Sequence[Message]) -> Iterator[Call]:
        """Take every message of a history in turn; yield the call that each reply answers, once that is recorded."""
        for message in history:
            if message.role == "assistant":
                self.reply(message)
                yield self.calls[-1]
            else:
                self.pending.append(message)

    def call(self) -> Call:
        """Ask for the request that answers what is pending."""
        given = self.inputs(self.replies)
        before = self._held()
        assembly: CoreAssembly | None = None
        error: BudgetError | InvalidRequestError | None = None
        try:
            assembly = self.session.assemble(self.pending, given)
        except (BudgetError, InvalidRequestError) as raised:
            error = raised
        self.calls.append(Call(given, tuple(self.pending), assembly, error, before, self._held()))
        return self.calls[-1]

    def reply(self, message: Message) -> None:
        """Call the model, then record what was pending and its reply."""
        call = self.call()
        said = call.assembly.incoming if call.assembly else call.incoming
        usage = self.usage(call.assembly) if call.assembly else None
        rows = self.session.record(*said, message, usage=usage, now=call.given.now)
        self.pending.clear()
        self.replies += 1
        if self.replies in self.restarts:
            self.restart()
        if self.watch:
            assert self.store.read(self.session_id, rows[0].seq, rows[-1].seq) == list(rows)

    def _held(self) -> Held:
        return held(self.store, self.session_id) if self.watch else Held((), {}, ())


def requests(calls: Sequence[Call]) -> list[CoreAssembly]:
    """Return the requests that were made, in order."""
    return [call.assembly for call in calls if call.assembly is not None]


def causes(host: Host) -> list[str | None]:
    """Return the cause of each request's event."""
    return [request.event.cause if request.event else None for request in requests(host.calls)]


class Talk(list["Message"]):
    """A history whose repr is short enough to read, and to paste."""

    def __repr__(self) -> str:
        """Show the calls that make it."""
        return "[" + ", ".join(map(_shown, self)) + "]"


def _shown(one: Message) -> str:
    time = "" if one.time is None else f", time={one.time}"
    if one.role == "tool":
        return f"result({one.results[0]!r}, {_short(one.text)}{time})"
    if one.role == "assistant":
        calls = "".join(f", ({call.id!r}, {call.name!r}, {_short(call.arguments)})" for call in one.calls)
        return f"assistant({_short(one.text)}{calls}{time})"
    return f"message({one.role!r}, {_short(one.text)}{time})"


def _short(text: str) -> str:
    for size in range(1, 60):
        times = len(text) // size
        if times > 3 and text[:size] * times == text:
            return f"{text[:size]!r} * {times}"
    return repr(text)


def message(role: str, content: object = "", *, time: float | None = None, **fields: object) -> Message:
    """Return a message from the fields of its OpenAI-style dict."""
    return CODEC.to_message({"role": role, "content": content, **fields}, time)


def user(text: str, *, time: float | None = None) -> Message:
    """Return a user message."""
    return message("user", text, time=time)


def assistant(text: str = "", *calls: tuple[str, str, str], time: float | None = None) -> Message:
    """Return an assistant message with calls given as (id, name, arguments)."""
    if not calls:
        return message("assistant", text, time=time)
    listed = [{"id": one, "type": "function", "function": {"name": n, "arguments": a}} for one, n, a in calls]
    return message("assistant", text, time=time, tool_calls=listed)


def result(call_id: str, text: str, *, time: float | None = None) -> Message:
    """Return the result of a tool call."""
    return message("tool", text, time=time, tool_call_id=call_id)


def changed(setup: Setup, **fields: object) -> Setup:
    """Return the setup with other settings of the history."""
    return replace(setup, settings=replace(setup.settings, **fields))  # type: ignore[arg-type]  # a test names them
