"""Calls the hooks of extensions; errors and wrong results of one are reported and do not disturb the others."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from squidbot.config import ModelTable, structured
from squidbot.core import events
from squidbot.core.budget import MOST_TOKENS
from squidbot.core.errors import SquidbotError
from squidbot.core.events import Event
from squidbot.core.messages import Category, Completion, Usage
from squidbot.core.operations import Operation, unwatched
from squidbot.core.plan import EXTENDED, Section
from squidbot.core.redaction import Redactor
from squidbot.core.view.marks import harmless
from squidbot.core.view.renderer import fenced
from squidbot.hookspecs import PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    import pluggy

    from squidbot.config import Loaded
    from squidbot.core.budget import ResolvedWindow
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.messages import Message, Summary, SummaryTask
    from squidbot.core.operations import Watch
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import LLM, OperationObserver, Summarizer
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.assembly import CoreAssembly

    # The name of an extension, and a hook of it that takes its arguments by name.
    Implementation = tuple[str, Callable[[Mapping[str, object]], object]]

Value = TypeVar("Value")

_LOG = logging.getLogger("squidbot")


class HookResultError(ValueError):
    """A hook returned a wrong value; the text says which values are right."""


def implementations(plugins: pluggy.PluginManager, hook: str) -> tuple[Implementation, ...]:
    """Return the hooks of that name in calling order: by priority, then by extension name."""

    def calling(function: Callable[..., object], names: Sequence[str]) -> Callable[[Mapping[str, object]], object]:
        return lambda given: function(*[given[name] for name in names])

    found = getattr(plugins.hook, hook).get_hookimpls()
    ordered = sorted(found, key=lambda impl: (-getattr(impl.function, PRIORITY, 0), impl.plugin_name))
    return tuple((impl.plugin_name, calling(impl.function, impl.argnames)) for impl in ordered)


class Hooks:
    """The hooks of one engine. A hook that no extension has costs a dictionary lookup."""

    def __init__(self, plugins: pluggy.PluginManager, relay: Relay) -> None:
        """Take the extensions, and the relay that reports failures."""
        every = {caller.name: implementations(plugins, caller.name) for caller in vars(plugins.hook).values()}
        self._found = {name: found for name, found in every.items() if found}
        self._relay = relay

    def has(self, *hooks: str) -> bool:
        """Return whether any extension has one of these hooks."""
        return not self._found.keys().isdisjoint(hooks)

    def answers(
        self, hook: str, check: Callable[[Any], Value | None], given: Mapping[str, object]
    ) -> Iterator[tuple[str, Value | None, bool]]:
        """Yield the name of each extension with the hook, its checked answer, and whether it failed, in order.

        A hook's error, or an answer that `check` refuses, becomes the event `degraded` of `given`'s `session_id`.
        """
        for name, call in self._found.get(hook, ()):
            try:
                answer = call(given)
                checked = None if answer is None else check(answer)
            except Exception as error:  # noqa: BLE001  # an extension's failure never fails a turn
                self._relay.degraded(name, hook, str(given.get("session_id", "")), error)
                yield name, None, True
            else:
                yield name, checked, False

    def each(self, hook: str, check: Callable[[Any], Value | None], **given: object) -> Iterator[tuple[str, Value]]:
        """Yield the name of each extension with the hook, and its answer, if it has one."""
        for name, value, _ in self.answers(hook, check, given):
            if value is not None:
                yield name, value

    def through(
        self, hook: str, check: Callable[[Value, object], Value], value: Value, argument: str, **given: object
    ) -> Value:
        """Pass a value through each hook as its `argument`; `check` makes the next value of the answer."""
        passed: dict[str, Any] = {**given, argument: value}
        for _, changed, _ in self.answers(hook, lambda answer: check(passed[argument], answer), passed):
            if changed is not None:
                passed[argument] = changed
        return passed[argument]  # type: ignore[no-any-return]

    def refuse(self, name: str, hook: str, session_id: str, why: str) -> None:
        """Report that an answer of an extension's hook was not used."""
        self._relay.degraded(name, hook, session_id, HookResultError(why))

    def tell(self, hook: str, **given: object) -> None:
        """Call all listeners of a hook. Never raises an Exception."""
        for _ in self.answers(hook, lambda _: None, given):
            pass


# Checks of hooks' answers.

# Categories that only squidbot assigns.
OURS = frozenset({Category.RECALLED, Category.FORGOTTEN})
# Our marks contain the names of sections.
NAME = re.compile(r"[\w .,/+-]{1,60}")
# The end of the year 9999: no calendar has later times.
LAST_SECOND = 253_402_300_799


def _plain(value: object) -> str:
    if not isinstance(value, str):
        raise HookResultError(f"expected a string, got {type(value).__name__}")
    text = str.__str__(value)  # not of a subclass, which could do anything
    text.encode()
    return text


def text_of(value: object) -> str | None:
    """Return a text that may be sent; None if it is empty.

    Raises:
        HookResultError: it is not text, not UTF-8, or has marks that only squidbot makes.
    """
    text = _plain(value)
    if "<squidbot " in text or "</squidbot " in text:
        raise HookResultError("contains markers reserved for squidbot")
    return text if text.strip() else None


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise HookResultError(f"expected True or False, got {type(value).__name__}")
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise HookResultError(f"expected a list of names, got {type(value).__name__}")
    if not all(isinstance(name, str) for name in value):
        raise HookResultError("expected a list of names")
    return [_plain(name) for name in value]


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise HookResultError(f"{value!a:.40} is not a number of tokens")
    return int(value)


def _category(value: object) -> Category:
    category = Category(_plain(value))
    if category in OURS:
        raise HookResultError(f"an extension may not set {category}")
    return category


def _time(value: object) -> float | None:
    """Return the time in index columns; None if they have none."""
    if not isinstance(value, Mapping) or set(value) - {"time"}:
        raise HookResultError('expected {"time": seconds}')
    seconds = value.get("time")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LAST_SECOND:
        raise HookResultError(f"{seconds!a:.40} is not a time in seconds since 1970")
    return float(seconds)


def _sections(value: object) -> list[tuple[str, str]]:
    if not isinstance(value, Mapping):
        raise HookResultError(f"expected a mapping of names to strings, got {type(value).__name__}")
    pairs = [(text_of(name), text_of(text)) for name, text in value.items()]
    named = [(name, text) for name, text in pairs if name and text]
    wrong = [name for name, _ in named if not NAME.fullmatch(name)]
    if wrong:
        raise HookResultError(f"{wrong[0]!a:.80} is not a valid section name")
    return named


def _model(value: object) -> tuple[dict[str, object], ModelTable]:
    if not isinstance(value, Mapping):
        raise HookResultError(f"expected a mapping of a model's keys, got {type(value).__name__}")
    keys = {str(key): setting for key, setting in value.items()}
    return keys, structured(keys, ModelTable, "models")


# Sessions and their calls.


class SessionHooks(NamedTuple):
    """The hooks of one session, with its scope and meter."""

    hooks: Hooks
    session_id: str
    scope: Scope
    meter: Meter

    def asking(self, now: float) -> CallHooks | None:
        """Return the hooks of a call made at `now`; None if no extension has one."""
        return CallHooks(self, now) if self.hooks.has("contribute_tail", "should_compact", "represent") else None

    def marked(self, message: Message) -> Message:
        """Return a message with the category and time from extensions."""
        if not self.hooks.has("classify_message", "before_store"):
            return message
        given: dict[str, object] = {"session_id": self.session_id, "message": message}
        if message.category not in OURS:
            for _, category in self.hooks.each("classify_message", _category, **given):
                message = replace(message, category=category)
                break
        for _, seconds in self.hooks.each("before_store", _time, **given):
            if message.time is None:
                message = replace(message, time=seconds)
        return message

    def compacted(self, plan: PlanRecord | None) -> PlanRecord | None:
        """Show a plan that changes later requests to listeners, and return it."""
        if plan is not None:
            self.hooks.tell("compacted", session_id=self.session_id, plan=plan)
        return plan

    def recalled(self, tool: str, text: str) -> None:
        """Show recalled text to listeners."""
        self.hooks.tell("recalled", session_id=self.session_id, tool=tool, text=text)

    def granted(self, alias: str, tools: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tools that all extensions grant; one that fails grants none."""
        left = tools
        given = {"session_id": self.session_id, "alias": alias, "tools": tools}
        for _, names, failed in self.hooks.answers("grant_tools", _names, given):
            kept = () if failed else tools if names is None else names
            left = tuple(tool for tool in left if tool in kept)
        return left


class CallHooks:
    """`core.ports.Extended` for one call of one session. Each hook is asked once, except `represent`."""

    def __init__(self, session: SessionHooks, now: float) -> None:
        """Take the session's hooks, and the time of the call in seconds since 1970."""
        self._hooks, self._session_id, self._scope, self._meter = session
        self._now = now
        self._tails: dict[str, str | None] = {}
        self._verdicts: list[bool | None] = []

    def tail(self, prompt: str, limit_tokens: int) -> str | None:
        """Return text to freeze after the user's newest message, within that cost as a bound; None for none."""
        if prompt not in self._tails:
            tail = ""
            given = {"scope": self._scope, "prompt": prompt, "now": self._now, "limit_tokens": limit_tokens}
            for name, text in self._each("contribute_tail", text_of, **given):
                longer = f"{tail}\n{text}" if tail else text
                if self._fits(name, "contribute_tail", longer, limit_tokens):
                    tail = longer
            self._tails[prompt] = tail or None
        return self._tails[prompt]

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return whether to shorten history; one veto wins."""
        if not self._verdicts:
            found = [verdict for _, verdict in self._each("should_compact", _truth, fraction=fraction, due=due)]
            self._verdicts.append(all(found) if found else None)
        return self._verdicts[0]

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return a text to show for messages in place of `told`, within that cost as a bound; None for none."""

        def quoted(value: object) -> str | None:  # `told` may quote what squidbot wrote, such as a search result
            return text_of(harmless(_plain(value)))

        for name, text in self._each("represent", quoted, summary=told, limit_tokens=limit_tokens):
            if self._fits(name, "represent", text, limit_tokens):
                return text
        return None

    def _each(self, hook: str, check: Callable[[Any], Value | None], **given: object) -> Iterator[tuple[str, Value]]:
        return self._hooks.each(hook, check, session_id=self._session_id, **given)

    def _fits(self, name: str, hook: str, text: str, limit_tokens: int) -> bool:
        tokens = self._meter.text(text).bound
        if tokens > limit_tokens:
            self._hooks.refuse(name, hook, self._session_id, f"{tokens:,} of {limit_tokens:,} tokens")
        return tokens <= limit_tokens


def sections_of(session: SessionHooks, before: Sequence[Section], limit_tokens: int) -> tuple[Section, ...]:
    """Return extensions' sections for the head of a request, beside those of memory."""
    hooks, session_id, scope, meter = session
    if not hooks.has("contribute_sections"):
        return ()

    def cost(section: Section) -> int:
        return meter.message(fenced(section.name, section.text)).bound

    left = limit_tokens - sum(map(cost, before))
    given: dict[str, object] = {"session_id": session_id, "scope": scope, "limit_tokens": max(0, left)}
    kept: dict[str, Section] = {}
    for extension, pairs in hooks.each("contribute_sections", _sections, **given):
        for name, text in pairs:
            section = Section(f"{EXTENDED}{name}", text)
            tokens = cost(section)
            if section.name in kept:
                hooks.refuse(extension, "contribute_sections", session_id, f"there is a section {name} already")
            elif tokens > left:
                hooks.refuse(extension, "contribute_sections", session_id, f"{name}: {tokens:,} of {left:,} tokens")
            else:
                kept[section.name], left = section, left - tokens
    return tuple(kept.values())


def learn_model(loaded: Loaded, hooks: Hooks, alias: str, check: Callable[[], object]) -> str:
    """Add an extension's keys of a model to the settings, unless these name it; return the extension, "" for none.

    Each extension is called once. `check` raises a SquidbotError if the model can't be used.
    """
    if not alias or alias in loaded.settings.models or not hooks.has("resolve_model"):
        return ""
    loaded.settings.models[alias] = ModelTable()
    for name, (keys, model) in hooks.each("resolve_model", _model, alias=alias):
        loaded.settings.models[alias] = model
        try:
            check()
        except SquidbotError as error:
            hooks.refuse(name, "resolve_model", "", str(error))
            loaded.settings.models[alias] = ModelTable()
        else:
            loaded.learned(alias, keys, f"extension {name}")
            return name
    return ""


def window_of(hooks: Hooks, alias: str, found: ResolvedWindow, bounds: tuple[int, int | None]) -> tuple[int, str]:
    """Return an extension's window for a model, and the extension's name; `found` and "" if none has one.

    The window is between the two `bounds`; a second bound of None means no limit.
    """
    least, most = bounds
    given: dict[str, object] = {"alias": alias, "window_tokens": found.window_tokens, "source": found.source}
    for name, wanted in hooks.each("size_window", _whole, **given):
        tokens = min(wanted, MOST_TOKENS if most is None else most)
        if tokens >= min(least, found.window_tokens):
            return tokens, name
        hooks.refuse(name, "size_window", "", f"{tokens:,} tokens are less than window.min, {least:,}")
    return found.window_tokens, ""


# Memories and summaries.


def chosen(hooks: Hooks, session_id: str) -> Callable[[str, Sequence[Memory]], list[Memory]] | None:
    """Return the function that selects and sorts found memories; None if no extension has one."""
    if not hooks.has("filter_memories"):
        return None

    def kept(memories: tuple[Memory, ...], answer: object) -> tuple[Memory, ...]:
        found = {memory.memory_id: memory for memory in memories}
        return tuple(found[name] for name in dict.fromkeys(_names(answer)) if name in found)

    def choose(query: str, memories: Sequence[Memory]) -> list[Memory]:
        given = {"session_id": session_id, "query": query}
        return [*hooks.through("filter_memories", kept, tuple(memories), "memories", **given)]

    return choose


@dataclass(frozen=True)
class HookedRedactor(Redactor):
    """The built-in redaction, then the extensions' redaction."""

    hooks: Hooks | None = None

    def redacted(self, text: str) -> str:
        """Return a text with a mark in place of each secret."""
        text = super().redacted(text)
        return text if self.hooks is None else self.hooks.through("redact", lambda _, new: _plain(new), text, "text")


class HookedSummarizer:
    """A summarizer that extensions may replace."""

    def __init__(self, hooks: Hooks, otherwise: Summarizer) -> None:
        """Take the summarizer that writes if no extension does."""
        self._hooks, self._otherwise = hooks, otherwise
        self._writer = ""

    @property
    def name(self) -> str:
        """The author of the newest summary."""
        return self._writer or self._otherwise.name

    def summarize(self, job: SummaryTask, source: str, limit_tokens: int) -> str | Completion:
        """Return the summary of a task: an extension's, without a call of the model, or the model's.

        Raises:
            SquidbotError: the model failed.
        """
        given: dict[str, object] = {"job": job, "source": source, "limit_tokens": limit_tokens}
        for name, text in self._hooks.each("summarize", text_of, **given):
            self._writer = name
            return Completion(text, 0, 0)
        self._writer = ""
        return self._otherwise.summarize(job, source, limit_tokens)


class OperationContext:
    """An operation while observers watch it; what they raise is reported, and disturbs nobody."""

    def __init__(
        self,
        operation: Operation,
        observers: Sequence[tuple[str, OperationObserver]],
        failed: Callable[[str, Operation, Exception], object],
    ) -> None:
        self._operation, self._observers, self._failed = operation, observers, failed
        self._entered: list[tuple[str, AbstractContextManager[object]]] = []

    def __enter__(self) -> Operation:
        for name, observer in self._observers:
            try:
                context = observer.watch(self._operation)
                context.__enter__()
            except Exception as error:  # noqa: BLE001  # an observer's failure never fails a turn
                self._failed(name, self._operation, error)
            else:
                self._entered.append((name, context))
        return self._operation

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for name, context in reversed(self._entered):
            try:
                context.__exit__(kind, error, traceback)
            except Exception as failure:  # noqa: BLE001  # as above
                self._failed(name, self._operation, failure)


class WatchedModel:
    """A language model whose calls observers watch."""

    def __init__(self, llm: LLM, provider: str, watch: Watch) -> None:
        self._llm, self._provider, self._watch = llm, provider, watch

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer; raises as the model does."""
        with self._watch(Operation(name="chat", model=self.name, provider=self._provider)) as operation:
            completion = self._llm.complete(system, prompt, max_output_tokens)
            operation.usage = Usage(completion.input_tokens, completion.output_tokens)
        return completion


def watched_model(llm: LLM, provider: str, relay: Relay) -> LLM:
    """Return a language model that observers watch; without any, the model itself."""
    return WatchedModel(llm, provider, relay.watch) if relay.watches else llm


class Relay:
    """The core's Observer: passes each event, and each finished request, to named listeners in order.

    If a listener raises, the others get the event `degraded`. The log gets a warning with the traceback, once for each
    listener and class of error. `watching` are the observers that watch operations.
    """

    def __init__(
        self,
        on_event: Sequence[tuple[str, Callable[[Event], object]]] = (),
        assembled: Sequence[tuple[str, Callable[[CoreAssembly], object]]] = (),
        watching: Sequence[tuple[str, OperationObserver]] = (),
    ) -> None:
        self._on_event, self._on_assembled, self._watching = tuple(on_event), tuple(assembled), tuple(watching)
        self._logged: set[tuple[str, str, str]] = set()

    @property
    def watches(self) -> bool:
        """Whether an observer watches operations."""
        return bool(self._watching)

    def watch(self, operation: Operation) -> AbstractContextManager[Operation]:
        """Return a context in which the observers watch an operation. It never raises an Exception of theirs."""
        return OperationContext(operation, self._watching, self._failed) if self._watching else unwatched(operation)

    def _failed(self, name: str, operation: Operation, error: Exception) -> None:
        self._report(name, Event(operation.name, operation.session_id, "", model=operation.model), error, "watch")

    def listen(self, name: str, listener: Callable[[Event], object]) -> None:
        """Add a listener after all others."""
        self._on_event = (*self._on_event, (name, listener))

    def notify(self, event: Event) -> None:
        """Pass an event to all listeners. Never raises an Exception."""
        for name, listen in self._on_event:
            try:
                listen(event)
            except Exception as error:  # noqa: BLE001  # listeners never fail a turn; it is logged and reported
                self._report(name, event, error, "on_event")

    def assembled(self, assembly: CoreAssembly) -> None:
        """Pass a finished request to all listeners. Never raises an Exception."""
        for name, listen in self._on_assembled:
            try:
                listen(assembly)
            except Exception as error:  # noqa: BLE001  # as above
                window = assembly.window
                event = Event("assembled", assembly.session_id, "", window.window_id, model=window.model)
                self._report(name, event, error, "assembled")

    def degraded(self, failed: str, hook: str, session_id: str, error: Exception) -> None:
        """Report to all other listeners that an extension's hook failed. Never raises an Exception."""
        self._report(failed, Event(hook, session_id, ""), error, hook)

    def _warn(self, failed: str, name: str, error: Exception, hook: str) -> None:
        """Log a failure; only the first of a listener, a hook of it, and a class of error."""
        kind = type(error).__name__
        if (failed, hook, kind) in self._logged:
            return
        self._logged.add((failed, hook, kind))
        _LOG.warning(
            "%s failed at %s; squidbot goes on without its result, and logs no other %s of it",
            failed,
            name,
            kind,
            exc_info=error,
        )

    def _report(self, failed: str, event: Event, error: Exception, hook: str) -> None:
        self._warn(failed, event.name, error, hook)
        try:
            text = f"{error}"
        except Exception:  # noqa: BLE001  # its own class may fail, too
            text = "no message"
        cause = f"{failed} failed at {event.name}: {type(error).__name__}: {text}"
        report = replace(event, name=events.DEGRADED, cause=cause, tokens_before=0, tokens_after=0, fraction=0.0)
        for name, listen in self._on_event:
            if name != failed:
                try:
                    listen(report)
                except Exception as second:  # noqa: BLE001  # reporting this, too, might never end
                    self._warn(name, report.name, second, "on_event")
