"""The hooks for extensions: their arguments, and when each is called.

An extension is a module, or an object, with functions marked `@squidbot.hookimpl`. A hook may take fewer arguments than
it is given. Hooks are called by priority, the highest first (`@squidbot.hookimpl(priority=10)`, default 0), then by the
extensions' names. Where "the first result wins", the remaining extensions are not asked after a result that is not
None. Results of listening hooks are ignored. If a hook raises, or returns something invalid, the turn goes on without
it, and the others get a `degraded` event. What changes a request is stored with it, so that it can be made again
without the extension.
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

# Our name for pluggy and for the entry points of other distributions.
PROJECT = "squidbot"

# The attribute in which `hookimpl` keeps the priority.
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
    """Mark a function as a hook. Hooks with a higher priority are called first.

    `optional`: ignore the hook if this version of squidbot has none of its name; otherwise that is a ConfigError.
    """

    def mark(hook: Hook) -> Hook:
        setattr(hook, PRIORITY, priority)
        return _marked(hook, optionalhook=optional)

    return mark if function is None else mark(function)


class Store(TranscriptStore, SummaryStore, Protocol):
    """Keeps sessions: both stores in one. Its `close` method, if any, is called when its engine is closed."""


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
    """Return the keys of `models.<alias>` for a model that the settings do not name; the first result wins.

    Called when a session is opened with the model, once for each engine and alias, before its window is found.
    """


@hookspec(firstresult=True)
def size_window(alias: str, window_tokens: int, source: str) -> int | None:
    """Return the window in tokens for sessions with a model, instead of the one that was found; the first result wins.

    Called when a session is opened whose caller names no window. The window never exceeds what fits the devices, what
    the model was trained with, and what it was opened with.
    """


@hookspec
def grant_tools(session_id: str, alias: str, tools: Sequence[str]) -> Sequence[str] | None:
    """Return which of squidbot's own tools (`history`, `memory`) a session's model gets; None leaves all.

    Called once, when a session's tools are first asked for. A tool has to be granted by every extension; one that
    fails, or returns something invalid, grants none.
    """


@hookspec(firstresult=True)
def score_complexity(session_id: str, text: str, tools_mode: bool) -> float | None:  # noqa: FBT001  # pluggy passes arguments by name
    """Return how much the user's message asks for, from 0 to 1; the first result wins.

    Called if `allocation.adaptive` is on, once for each request that opens a turn. `tools_mode`: whether the host has
    tools. Only the room for the answer depends on it.
    """


@hookspec(firstresult=True)
def allocate(
    session_id: str,
    score: float,
    window_tokens: int,
    tools_mode: bool,  # noqa: FBT001  # as above
    reserved_tokens: int,
) -> int | None:
    """Return the room for the answers of a turn, in tokens, instead of `reserved_tokens`; the first result wins.

    Called right after `score_complexity`, whoever has scored. A session never reserves more than it was opened with.
    """


@hookspec(firstresult=True)
def classify_message(session_id: str, message: Message) -> str | None:
    """Return the category of a message, a name of `squidbot.Category`; the first result wins.

    Called for each message that a host hands over, before it is stored. Only squidbot gives "recalled" and "forgotten".
    """


@hookspec
def before_store(session_id: str, message: Message) -> Mapping[str, object] | None:
    """Return index columns that a message lacks: `{"time": seconds since 1970}`. Its words never change.

    Called for each message that a host hands over, before it is stored; the first extension's value stays.
    """


@hookspec
def redact(text: str) -> str | None:
    """Return a text without its secrets; None leaves it. Called for each text that becomes a durable fact.

    The built-in redaction, and the hooks before this one, have been applied already.
    """


@hookspec
def contribute_sections(session_id: str, scope: Scope, limit_tokens: int) -> Mapping[str, str] | None:
    """Return texts for the head of the request, by their names; None for none.

    Called at a plan change only. The texts stay until the next one, stored with its plan. All of them together may cost
    `limit_tokens`, as a bound; the rest is left out. They are the first to give way.
    """


@hookspec(firstresult=True)
def represent(session_id: str, summary: Summary, limit_tokens: int) -> str | None:
    """Return a text to show for past messages instead of `summary`; the first result wins.

    Called at a plan change only, perhaps several times with different limits. The text may cost `limit_tokens`, as a
    bound, and is stored with the plan.
    """


@hookspec
def contribute_tail(session_id: str, scope: Scope, prompt: str, now: float, limit_tokens: int) -> str | None:
    """Return text to put behind the user's newest message, `prompt`; None for none.

    Called at each new user turn. The text stays there, stored with the message. `now` is in seconds since 1970. The
    texts of all extensions together may cost `limit_tokens`, as a bound, and give way to everything else.
    """


@hookspec
def filter_memories(session_id: str, query: str, memories: Sequence[Memory]) -> Sequence[str] | None:
    """Return the ids of the memories to show, best first, of those that a search found; None leaves them.

    Called after each search, before its result is shown. Nothing can be added.
    """


@hookspec
def should_compact(session_id: str, fraction: float, due: bool) -> bool | None:  # noqa: FBT001  # pluggy passes arguments by name
    """Return whether to shorten history now: False vetoes, True asks, None leaves it to the marks, which say `due`.

    Called at most once for each call that opens a turn, if history may be shortened then. A veto wins over all that
    ask. A request that does not fit is shortened in any case, and a shortening that is asked for must save as much as
    one that is due. `fraction` is history's share of its room.
    """


@hookspec(firstresult=True)
def summarize(job: Job, source: str, limit_tokens: int) -> str | None:
    """Return a summary instead of the language model of `summary.llm`; the first result wins.

    Called inside a job, outside of any request. The summary is checked like a model's answer.
    """


@hookspec
def compacted(session_id: str, plan: PlanRecord) -> None:
    """Look at a plan that changes what is sent of the past. Called after it is stored, by a call or by `compact`."""


@hookspec
def recalled(session_id: str, tool: str, text: str) -> None:
    """Look at recalled text. Called with each page and answer, before the host gets it.

    `tool` is the name of the called tool, such as "history" or "memory_search".
    """


@hookspec
def on_event(event: Event) -> None:
    """Take an event. Called inside the turn, when it happens; events that this causes wait until it returns."""


@hookspec
def assembled(assembly: Assembly) -> None:
    """Look at a request. Called after each successful `assemble`, before the host gets the request; it is frozen."""
