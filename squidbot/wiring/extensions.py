"""Calls the hooks of extensions, each on its own: what one raises or returns by mistake stays with it, and is told."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from squidbot.config import ModelTable, structured
from squidbot.core import events
from squidbot.core.errors import SquidbotError
from squidbot.core.events import Event
from squidbot.core.messages import Category, Completion
from squidbot.core.plan import EXTENDED, Section
from squidbot.core.redaction import Redactor
from squidbot.core.view.renderer import fenced
from squidbot.hookspecs import PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pluggy

    from squidbot.config import Loaded
    from squidbot.core.budget import ResolvedWindow
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.messages import Message, Summary, SummaryTask
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import Summarizer
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.assembly import Assembly


Value = TypeVar("Value")


class RubbishError(ValueError):
    """What a hook returned is nothing that it may return; the text says what would be."""


class Implementation(NamedTuple):
    """A hook of one extension: whose it is, what is called, and the arguments that it takes."""

    name: str
    function: Callable[..., object]
    arguments: Sequence[str]

    def called(self, given: Mapping[str, object]) -> object:
        """Return what it returns; raises what it raises."""
        return self.function(*[given[argument] for argument in self.arguments])


def implementations(plugins: pluggy.PluginManager, hook: str) -> tuple[Implementation, ...]:
    """Return the hooks of that name, in the order in which they are called: by priority, then by name."""
    found = getattr(plugins.hook, hook).get_hookimpls()
    ordered = sorted(found, key=lambda one: (-getattr(one.function, PRIORITY, 0), one.plugin_name))
    return tuple(Implementation(one.plugin_name, one.function, one.argnames) for one in ordered)


class Answered(NamedTuple, Generic[Value]):
    """What an extension's hook answered: None where it had nothing to say, or failed."""

    name: str
    value: Value | None
    failed: bool = False


class Hooks:
    """The hooks of one engine. Where nobody has one, asking for it costs a look into a table."""

    def __init__(self, plugins: pluggy.PluginManager, relay: Relay) -> None:
        """Take the extensions, and what tells of those that fail."""
        every = {one.name: implementations(plugins, one.name) for one in vars(plugins.hook).values()}
        self._found = {name: found for name, found in every.items() if found}
        self._relay = relay

    def has(self, *hooks: str) -> bool:
        """Return whether anybody has one of these hooks."""
        return any(hook in self._found for hook in hooks)

    def answers(self, hook: str, check: Callable[[object], Value | None], **given: object) -> Iterator[Answered[Value]]:
        """Yield what each extension's hook answers to what is given, in order; where it fails, nothing but that.

        What a hook raises, and what `check` refuses, is told as the event `degraded` of the `session_id` in `given`.
        """
        session_id = str(given.get("session_id", ""))
        for one in self._found.get(hook, ()):
            try:
                value = one.called(given)
                answered = Answered(one.name, None if value is None else check(value))
            except Exception as error:  # noqa: BLE001  # a stranger's failure never fails a turn (promise 10)
                self._relay.degraded(one.name, hook, session_id, error)
                answered = Answered(one.name, None, failed=True)
            yield answered

    def each(self, hook: str, check: Callable[[object], Value | None], **given: object) -> Iterator[tuple[str, Value]]:
        """Yield what is answered and not None, each with whose it is."""
        for one in self.answers(hook, check, **given):
            if one.value is not None:
                yield one.name, one.value

    def through(
        self, hook: str, check: Callable[[Value, object], Value], value: Value, argument: str, **given: object
    ) -> Value:
        """Return a value that each hook in turn had as its `argument`; `check` makes the next of what it answers."""
        session_id = str(given.get("session_id", ""))
        for one in self._found.get(hook, ()):
            try:
                said = one.called({**given, argument: value})
                value = value if said is None else check(value, said)
            except Exception as error:  # noqa: BLE001  # as above
                self._relay.degraded(one.name, hook, session_id, error)
        return value

    def refuse(self, name: str, hook: str, session_id: str, why: str) -> None:
        """Tell that what an extension's hook gave was not used."""
        self._relay.degraded(name, hook, session_id, RubbishError(why))

    def tell(self, hook: str, **given: object) -> None:
        """Call all listeners of a hook. Never raises an Exception."""
        for _ in self.answers(hook, lambda _: None, **given):
            pass


# What extensions say of sessions, their calls and their messages: asked once, checked, and within
# what is free.

# What a session may be, of all categories: the others are ours to say.
OURS = frozenset({Category.RECALLED, Category.FORGOTTEN})
# A section's name stands in a mark of ours.
NAME = re.compile(r"[\w .,/+-]{1,60}")
# The end of the year 9999: no calendar tells later times.
LAST_SECOND = 253_402_300_799


class Place(NamedTuple):
    """Where extensions are asked: whose hooks, in which session, of whose scope, counted by what."""

    hooks: Hooks
    session_id: str
    scope: Scope
    meter: Meter

    def asking(self, now: float) -> Asking | None:
        """Return what is asked for a call, made at `now`; None where nobody would say anything."""
        return Asking(self, now) if self.hooks.has("contribute_tail", "should_compact", "represent") else None

    def marked(self, message: Message) -> Message:
        """Return a message with what extensions say of it: what it is for, and what it does not bring itself."""
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
        """Show a plan that changes what is sent of the past to all who listen, and return it."""
        if plan is not None:
            self.hooks.tell("compacted", session_id=self.session_id, plan=plan)
        return plan

    def recalled(self, tool: str, text: str) -> None:
        """Show what was brought back to all who listen."""
        self.hooks.tell("recalled", session_id=self.session_id, tool=tool, text=text)

    def granted(self, alias: str, tools: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of our tools that every extension grants; one that fails to say grants none (C19)."""
        left, given = tools, {"session_id": self.session_id, "alias": alias, "tools": tools}
        for one in self.hooks.answers("grant_tools", _names, **given):
            kept = () if one.failed else tools if one.value is None else one.value
            left = tuple(tool for tool in left if tool in kept)
        return left


# -- what may be returned ---------------------------------------------------------------------------------------------


def _plain(value: object) -> str:
    if not isinstance(value, str):
        raise RubbishError(f"{type(value).__name__} is no text")
    text = str.__str__(value)  # of no other class, whatever that does
    text.encode()
    return text


def text_of(value: object) -> str | None:
    """Return a text that may be sent; None where it is empty.

    Raises:
        RubbishError: it is no text, no UTF-8, or has marks in it that only squidbot makes.
    """
    text = _plain(value)
    if "<squidbot " in text or "</squidbot " in text:
        raise RubbishError("there are marks in it that only squidbot makes")
    return text if text.strip() else None


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise RubbishError(f"{type(value).__name__} is neither True nor False")
    return value


def _names(value: object) -> list[str]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise RubbishError(f"{type(value).__name__} is no list of names")
    names = [one for one in value if isinstance(one, str)]
    if len(names) != len(value):
        raise RubbishError("not all of it are names")
    return [_plain(one) for one in names]


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise RubbishError(f"{value!a:.40} is not a number of tokens")
    return int(value)


def _category(value: object) -> Category:
    named = Category(_plain(value))
    if named in OURS:
        raise RubbishError(f"{named} is not an extension's to say")
    return named


def _time(value: object) -> float | None:
    """Return the time of index columns; None where they have none."""
    if not isinstance(value, Mapping) or set(value) - {"time"}:
        raise RubbishError("it is no mapping of index columns; that is: time")
    seconds = value.get("time")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= LAST_SECOND:
        raise RubbishError(f"{seconds!a:.40} is no time in seconds since 1970")
    return float(seconds)


def _texts(value: object) -> list[tuple[str, str]]:
    """Return sections by their names."""
    if not isinstance(value, Mapping):
        raise RubbishError(f"{type(value).__name__} is no mapping of texts by their names")
    pairs = [(text_of(name), text_of(text)) for name, text in value.items()]
    named = [(name, text) for name, text in pairs if name and text]
    wrong = [name for name, _ in named if not NAME.fullmatch(name)]
    if wrong:
        raise RubbishError(f"{wrong[0]!a:.80} is no name of a section")
    return named


# -- a call -----------------------------------------------------------------------------------------------------------


class Asking:
    """`core.extended.Extended` for one call of one session: nothing is asked again, but for what stands for a block."""

    def __init__(self, place: Place, now: float) -> None:
        """Take where it is asked, and when, in seconds since 1970."""
        self._place = place
        self._now = now
        self._tails: dict[str, str | None] = {}
        self._verdicts: list[bool | None] = []

    def tail(self, prompt: str, limit_tokens: int) -> str | None:
        """Return text to freeze behind the user's newest message, of at most that cost as a bound; None for none."""
        if prompt not in self._tails:
            self._tails[prompt] = self._tail(prompt, limit_tokens) if self._hooks.has("contribute_tail") else None
        return self._tails[prompt]

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return whether history is to be shortened; a veto goes before all that ask."""
        if not self._verdicts:
            said = self._said("should_compact", _truth, fraction=fraction, due=due)
            found = [verdict for _, verdict in said]
            self._verdicts.append(all(found) if found else None)
        return self._verdicts[0]

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return a text to show for messages in the place of `told`, of at most that cost as a bound; None for none."""
        for name, text in self._said("represent", text_of, summary=told, limit_tokens=limit_tokens):
            if self._fits(name, "represent", text, limit_tokens):
                return text
        return None

    @property
    def _hooks(self) -> Hooks:
        return self._place.hooks

    def _tail(self, prompt: str, limit_tokens: int) -> str | None:
        told = ""
        given = {"scope": self._place.scope, "prompt": prompt, "now": self._now, "limit_tokens": limit_tokens}
        for name, text in self._said("contribute_tail", text_of, **given):
            more = f"{told}\n{text}" if told else text
            if self._fits(name, "contribute_tail", more, limit_tokens):
                told = more
        return told or None

    def _said(self, hook: str, check: Callable[[object], Value | None], **given: object) -> Iterator[tuple[str, Value]]:
        session_id = self._place.session_id
        return self._hooks.each(hook, check, session_id=session_id, **given)

    def _fits(self, name: str, hook: str, text: str, limit_tokens: int) -> bool:
        tokens = self._place.meter.text(text).bound
        if tokens > limit_tokens:
            self._hooks.refuse(name, hook, self._place.session_id, f"{tokens:,} of {limit_tokens:,} tokens")
        return tokens <= limit_tokens


def sections_of(place: Place, before: Sequence[Section], limit_tokens: int) -> tuple[Section, ...]:
    """Return what extensions give for the head of a request, beside the sections that memory has made for it."""
    hooks, session_id, scope, meter = place
    if not hooks.has("contribute_sections"):
        return ()

    def cost(one: Section) -> int:
        return meter.message(fenced(one.name, one.text)).bound

    left = limit_tokens - sum(map(cost, before))
    given: dict[str, object] = {"scope": scope, "limit_tokens": max(0, left)}
    kept: dict[str, Section] = {}
    said = hooks.each("contribute_sections", _texts, session_id=session_id, **given)
    for extension, name, text in chain.from_iterable([(one, *pair) for pair in pairs] for one, pairs in said):
        section = Section(f"{EXTENDED}{name}", text)
        tokens = cost(section)
        if section.name in kept:
            hooks.refuse(extension, "contribute_sections", session_id, f"there is a section {name} already")
        elif tokens > left:
            hooks.refuse(extension, "contribute_sections", session_id, f"{name}: {tokens:,} of {left:,} tokens")
        else:
            kept[section.name], left = section, left - tokens
    return tuple(kept.values())


# -- a session that is opened -----------------------------------------------------------------------------------------


def learn_model(loaded: Loaded, hooks: Hooks, alias: str, check: Callable[[], object]) -> str:
    """Take what extensions know of a model into the settings, unless these name it; return who did, "" for nobody.

    It is asked once. `check` raises a SquidbotError where it can't be used.
    """
    if not alias or alias in loaded.settings.models or not hooks.has("resolve_model"):
        return ""

    def model_of(value: object) -> tuple[Mapping[str, object], ModelTable]:
        if not isinstance(value, Mapping):
            raise RubbishError(f"{type(value).__name__} is no mapping of the keys of a model")
        keys = {str(key): one for key, one in value.items()}
        return keys, structured(keys, ModelTable, "models")

    loaded.settings.models[alias] = ModelTable()
    for name, (keys, model) in hooks.each("resolve_model", model_of, alias=alias):
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
    """Return the window that extensions want for a model in the place of `found`, and whose it is; "" for nobody's.

    It is at least the first of `bounds`, and at most the second.
    """
    least, most = bounds
    given: dict[str, object] = {"alias": alias, "window_tokens": found.window_tokens, "source": found.source}
    for name, wanted in hooks.each("size_window", _whole, **given):
        tokens = wanted if most is None else min(wanted, most)
        if tokens >= min(least, found.window_tokens):
            return tokens, name
        hooks.refuse(name, "size_window", "", f"{tokens:,} tokens are less than window.min, {least:,}")
    return found.window_tokens, ""


# -- memories ---------------------------------------------------------------------------------------------------------


def chosen(hooks: Hooks, session_id: str) -> Callable[[str, Sequence[Memory]], list[Memory]] | None:
    """Return what picks and orders the memories that a search has found; None where no extension does."""
    if not hooks.has("filter_memories"):
        return None

    def kept(memories: tuple[Memory, ...], said: object) -> tuple[Memory, ...]:
        found = {one.memory_id: one for one in memories}
        return tuple(found[name] for name in dict.fromkeys(_names(said)) if name in found)

    def choose(query: str, memories: Sequence[Memory]) -> list[Memory]:
        given = {"session_id": session_id, "query": query}
        return [*hooks.through("filter_memories", kept, tuple(memories), "memories", **given)]

    return choose


@dataclass(frozen=True)
class HookedRedactor(Redactor):
    """The built-in redaction, and behind it what extensions take out."""

    hooks: Hooks | None = None

    def redacted(self, text: str) -> str:
        """Return a text in which a mark stands for each secret that either knows."""
        text = super().redacted(text)
        return text if self.hooks is None else self.hooks.through("redact", lambda _, said: _plain(said), text, "text")


# -- jobs -------------------------------------------------------------------------------------------------------------


class Summarizing:
    """A summarizer in whose place extensions may write."""

    def __init__(self, hooks: Hooks, otherwise: Summarizer) -> None:
        """Take who writes where no extension does."""
        self._hooks = hooks
        self._otherwise = otherwise
        self._written = ""

    @property
    def name(self) -> str:
        """Who wrote the newest summary."""
        return self._written or self._otherwise.name

    def summarize(self, job: SummaryTask, source: str, limit_tokens: int) -> str | Completion:
        """Return the summary of a job: an extension's, which no model was paid for, or the model's.

        Raises:
            SquidbotError: the model failed.
        """
        given: dict[str, object] = {"job": job, "source": source, "limit_tokens": limit_tokens}
        for name, text in self._hooks.each("summarize", text_of, **given):
            self._written = name
            return Completion(text, 0, 0)
        self._written = ""
        return self._otherwise.summarize(job, source, limit_tokens)


# Passes what happens to everybody who listens; what a listener raises never reaches the turn.

_LOG = logging.getLogger("squidbot")


class Relay:
    """The core's Observer: hands each event, and each finished request, to named listeners in order.

    Where a listener raises, the others are told by the event `degraded`, and the log gets a warning with the traceback.
    """

    def __init__(
        self,
        on_event: Sequence[tuple[str, Callable[[Event], object]]] = (),
        assembled: Sequence[tuple[str, Callable[[Assembly], object]]] = (),
    ) -> None:
        self._on_event = tuple(on_event)
        self._assembled = tuple(assembled)

    def listen(self, name: str, listener: Callable[[Event], object]) -> None:
        """Have one more listen, behind all others."""
        self._on_event = (*self._on_event, (name, listener))

    def notify(self, event: Event) -> None:
        """Hand an event to everybody who listens. Never raises an Exception."""
        for name, listen in self._on_event:
            try:
                listen(event)
            except Exception as error:  # noqa: BLE001  # observers never fail a turn (promise 10); it is told and logged
                self._degraded(name, event, error)

    def assembled(self, assembly: Assembly) -> None:
        """Show a finished request to everybody who listens. Never raises an Exception."""
        for name, listen in self._assembled:
            try:
                listen(assembly)
            except Exception as error:  # noqa: BLE001  # as above
                window = assembly.window
                made = Event("assembled", assembly.session_id, "", window.window_id, model=window.model)
                self._degraded(name, made, error)

    def degraded(self, failed: str, hook: str, session_id: str, error: Exception) -> None:
        """Tell all others that an extension's hook has failed. Never raises an Exception."""
        self._degraded(failed, Event(hook, session_id, ""), error)

    def _degraded(self, failed: str, event: Event, error: Exception) -> None:
        _LOG.warning("%s failed at %s; the turn goes on", failed, event.name, exc_info=error)
        cause = f"{failed} failed at {event.name}: {type(error).__name__}: {_said(error)}"
        told = replace(event, name=events.DEGRADED, cause=cause, tokens_before=0, tokens_after=0, fraction=0.0)
        for name, listen in self._on_event:
            if name != failed:
                try:
                    listen(told)
                except Exception as second:  # noqa: BLE001  # telling it again could go on for ever
                    _LOG.warning("%s failed at %s", name, told.name, exc_info=second)


def _said(error: Exception) -> str:
    """Return an error's text; that of a stranger's own class may fail, too."""
    try:
        return f"{error}"
    except Exception:  # noqa: BLE001  # as above
        return "it can't say why"
