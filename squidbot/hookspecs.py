"""The hooks, by which others reach in: what each is given, and when it is called.

An extension is a module, or an object, with functions marked `@squidbot.hookimpl`. A hook may be written with fewer
arguments than it is given. Those of several extensions are called by priority, the highest first
(`@squidbot.hookimpl(priority=10)`; 0 where nothing is said), then by the extensions' names; where a hook says that the
first result wins, the others are not asked behind the first that is not None. What a listening hook returns is ignored.
What a hook raises stays with it, and what it returns is checked: the turn goes on without it, and all others are told
so by a `degraded` event. What changes a request is stored with it: it can be made again without the extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, overload

import pluggy

from squidbot.core.ports import SummaryStore, TranscriptStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.events import Event
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.messages import Job, Message, Summary
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.core.vectors import VectorIndex
    from squidbot.core.view.assembly import Assembly

__all__ = [
    "PROJECT",
    "Register",
    "Store",
    "allocate",
    "assembled",
    "before_store",
    "classify_message",
    "compacted",
    "contribute_sections",
    "contribute_tail",
    "filter_memories",
    "grant_tools",
    "hookimpl",
    "on_event",
    "recalled",
    "redact",
    "register_adapters",
    "represent",
    "resolve_model",
    "score_complexity",
    "should_compact",
    "size_window",
    "summarize",
]

Hook = TypeVar("Hook", bound="Callable[..., object]")

# The name under which pluggy and the entry points of other distributions know us.
PROJECT = "squidbot"

# Where `hookimpl` leaves the priority.
PRIORITY = "squidbot_priority"

hookspec = pluggy.HookspecMarker(PROJECT)
_marked = pluggy.HookimplMarker(PROJECT)


@overload
def hookimpl(function: Hook) -> Hook: ...
@overload
def hookimpl(*, priority: int = 0, optional: bool = False) -> Callable[[Hook], Hook]: ...
def hookimpl(
    function: Hook | None = None, *, priority: int = 0, optional: bool = False
) -> Hook | Callable[[Hook], Hook]:
    """Mark a function as a hook. Of several extensions' those with the highest priority are called first.

    `optional`: it is passed over where this version of squidbot has no hook of its name; else that is a ConfigError.
    """

    def mark(hook: Hook) -> Hook:
        setattr(hook, PRIORITY, priority)
        return _marked(hook, optionalhook=optional)

    return mark if function is None else mark(function)


class Store(TranscriptStore, SummaryStore, Protocol):
    """What keeps a session: both stores in one. With a `close` method it is closed with its engine."""


class Register(Protocol):
    """Takes adapters under the names that squidbot.toml uses. A name that is taken already is a ConfigError."""

    def store(self, name: str, factory: Callable[[str], Store]) -> None:
        """Offer a store for `store.adapter`; the factory gets `store.path`, absolute, or "" where none is set."""

    def counter(self, name: str, factory: Callable[[str], TokenCounter]) -> None:
        """Offer a token counter for `budget.counter`; of "NAME:REST" the factory gets REST, of "NAME" ""."""

    def observer(self, name: str, factory: Callable[[], Observer]) -> None:
        """Offer an observer for `observers`."""

    def llm(self, name: str, factory: Callable[[str], LLM]) -> None:
        """Offer a language model for `summary.llm`; of "NAME:REST" the factory gets REST, of "NAME" "".

        It is called when an engine whose settings name the model is loaded.
        """

    def memory(self, name: str, factory: Callable[[str], MemoryStore]) -> None:
        """Offer a store of durable facts for `memory.provider`; the factory gets its path, absolute, or ""."""

    def embedder(self, name: str, factory: Callable[[str], Embedder]) -> None:
        """Offer what makes vectors of texts for `memory.embedder`; of "NAME:REST" the factory gets REST, of "NAME" "".

        REST that is the path of something beside the settings is made absolute. For the alias of a model whose adapter
        is NAME, and which no runtime opens, it is "MODEL", or "MODEL@URL" where the model has a url. It is called at
        the first search, or when vectors are first made; what it makes may have a `close`, and an `even` (see
        `ports.Calibrated`).
        """

    def vector_index(self, name: str, factory: Callable[[str, str, int], VectorIndex]) -> None:
        """Offer what finds the nearest of many vectors for `memory.index`.

        The factory gets a path of its own, absolute, for a file or a folder that is a view of the truth and may be
        deleted at any time, or "" where nothing is to be kept; the name of the model that makes the vectors; and how
        many numbers each has.
        """

    def runtime(self, name: str, factory: Callable[[Definition, TokenCounter], LoadedModel]) -> None:
        """Offer what opens the models whose `models.<alias>.adapter` names it.

        It gets the token counter of the settings, too: what has no vocabulary of the model counts by that. It is
        called by `Engine.model`, once for each model; what it raises as a ModelLoadError is tried again with a smaller
        window.
        """

    def probe(self, name: str, factory: Callable[[], GpuProbe]) -> None:
        """Offer what looks for devices, for `gpu.probe`."""

    def codec(self, codec: Codec) -> None:
        """Offer a form of messages, by its own tag, for `Engine.session`."""


@hookspec
def register_adapters(register: Register) -> None:
    """Offer adapters. Called once for each engine, while it is wired, before any of its adapters is made."""


@hookspec(firstresult=True)
def resolve_model(alias: str) -> Mapping[str, object] | None:
    """Say what a model is that the settings do not name, as keys of `models.<alias>`; the first result wins.

    Called when a session is opened with it, once for each engine and alias, before its window is found.
    """


@hookspec(firstresult=True)
def size_window(alias: str, window_tokens: int, source: str) -> int | None:
    """Say which window sessions with a model get, in tokens, in the place of the one that was found.

    Called when a session is opened, but where its caller names the window; the first result wins. What fits the
    devices, what the model was trained with and what it was opened with is never exceeded: it can only be less then.
    """


@hookspec
def grant_tools(session_id: str, alias: str, tools: Sequence[str]) -> Sequence[str] | None:
    """Say which of squidbot's own tools (`history`, `memory`) a session's model gets; None leaves all.

    Called once when a session is opened and its tools are asked for. A tool needs every extension's leave; where a hook
    fails, or returns rubbish, it gets none.
    """


@hookspec(firstresult=True)
def score_complexity(session_id: str, text: str, tools_mode: bool) -> float | None:  # noqa: FBT001  # hooks have no marks
    """Say how much the words that open a turn ask for, from 0 to 1; the first result wins.

    Called where `allocation.adaptive` is on, once for each request that opens a turn. `tools_mode`: whether the host
    gives tools. Only the room for the answer goes by it.
    """


@hookspec(firstresult=True)
def allocate(
    session_id: str,
    score: float,
    window_tokens: int,
    tools_mode: bool,  # noqa: FBT001  # as above
    reserved_tokens: int,
) -> int | None:
    """Say how much room the answers of a turn get, in tokens, in the place of `reserved_tokens`; the first result wins.

    Called right behind `score_complexity`, whoever has scored. A session never gives more than it was opened with.
    """


@hookspec(firstresult=True)
def classify_message(session_id: str, message: Message) -> str | None:
    """Say what a message is for: one of the names of `squidbot.Category`; the first result wins.

    Called for each message that a host hands over, before it is stored. "recalled" and "forgotten" are ours to say.
    """


@hookspec
def before_store(session_id: str, message: Message) -> Mapping[str, object] | None:
    """Give a message what it does not bring itself: `{"time": seconds since 1970}`. What was said never changes.

    Called for each message that a host hands over, before it is stored; what an earlier hook gave stays.
    """


@hookspec
def redact(text: str) -> str | None:
    """Return a text without its secrets; None leaves it. Called for each text that becomes a durable fact.

    It gets what the built-in redaction, and the hooks before it, have left.
    """


@hookspec
def contribute_sections(session_id: str, scope: Scope, limit_tokens: int) -> Mapping[str, str] | None:
    """Give texts for the head of the request, by their names; None for none.

    Called at an event only; the texts stay as they are until the next one, stored with its plan. All of them together
    may cost `limit_tokens`, as a bound: what is more is left out. They are the first to give way.
    """


@hookspec(firstresult=True)
def represent(session_id: str, summary: Summary, limit_tokens: int) -> str | None:
    """Give a text to show for messages of the past in the place of `summary`; the first result wins.

    Called at an event only, perhaps several times with different limits; it must cost at most `limit_tokens`, as a
    bound. It is stored with the plan.
    """


@hookspec
def contribute_tail(session_id: str, scope: Scope, prompt: str, now: float, limit_tokens: int) -> str | None:
    """Give volatile text behind the user's newest message, `prompt`; None for none.

    Called at each new user turn. It stays where it was said, stored with the message. `now` is in seconds since 1970;
    it must cost at most `limit_tokens` as a bound, together with what others give, and gives way to all else.
    """


@hookspec
def filter_memories(session_id: str, query: str, memories: Sequence[Memory]) -> Sequence[str] | None:
    """Return the ids of the memories to tell of those that were found, best first; None leaves them.

    Called after each search, before its result is told. Nothing can be added.
    """


@hookspec
def should_compact(session_id: str, fraction: float, due: bool) -> bool | None:  # noqa: FBT001  # hooks have no marks
    """Say whether history is shortened now: False vetoes, True asks, None leaves it to the marks, which say `due`.

    Called at most once for each call that opens a turn, where history may be shortened: not while that rests. A veto
    goes before all that ask. What does not fit is shortened whatever is said; what is asked for must save as much as
    what is due. `fraction` is history's share of its room.
    """


@hookspec(firstresult=True)
def summarize(job: Job, source: str, limit_tokens: int) -> str | None:
    """Write a summary in the place of the language model of `summary.llm`; the first result wins.

    Called inside a job, outside of any request. What it writes is checked as a model's answer is.
    """


@hookspec
def compacted(session_id: str, plan: PlanRecord) -> None:
    """Look at a plan that changes what is sent of the past. Called after it is stored, by a call or by `compact`."""


@hookspec
def recalled(session_id: str, tool: str, text: str) -> None:
    """Look at what was brought back. Called with the text of each page and answer, before the host gets it.

    `tool` is the name of the tool that was called, such as "history" or "memory_search".
    """


@hookspec
def on_event(event: Event) -> None:
    """Take what has happened. Called inside the turn, as it happens: events that this makes wait until it returns."""


@hookspec
def assembled(assembly: Assembly) -> None:
    """Look at a request. Called after each successful `assemble`, before the host gets the request; it is frozen."""
