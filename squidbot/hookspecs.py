"""The hooks: how extensions reach in. Each docstring says when squidbot calls the hook and what you return.

An extension is a module or an object with functions marked `@squidbot.hookimpl`. You may leave out arguments that you
do not need. squidbot calls extensions by priority, highest first (`@squidbot.hookimpl(priority=10)`; the default is 0),
then by name. If a docstring says that the first result wins, the first result that is not None ends the calls. Results
of hooks that only look are ignored.

A failing hook never fails a turn: squidbot continues without its result and sends the event `degraded`. It checks every
result. Whatever a hook adds to a request is stored with it, so that it can be made again without the extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, overload

import pluggy

from squidbot.core.ports import SummaryStore, TranscriptStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.events import Event
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.messages import Message, Summary, SummaryTask
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.core.vectors import VectorIndex
    from squidbot.core.view.assembly import CoreAssembly

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

# The project name for pluggy, and the group of entry points of other distributions.
PROJECT = "squidbot"

# The attribute that holds the priority.
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

    A hook that this version of squidbot does not know raises a ConfigError, unless it is `optional`.
    """

    def mark(hook: Hook) -> Hook:
        setattr(hook, PRIORITY, priority)
        return _marked(hook, optionalhook=optional)

    return mark if function is None else mark(function)


class Store(TranscriptStore, SummaryStore, Protocol):
    """A store of sessions: transcripts and summaries. If it has a method `close`, the engine calls it at its end."""


class Register(Protocol):
    """Registers adapters under the names that squidbot.toml uses. A name that is taken raises a ConfigError."""

    def store(self, name: str, factory: Callable[[str], Store]) -> None:
        """Offer a store for `store.adapter`. The factory gets the absolute `store.path`, or `store.url`, or ""."""

    def counter(self, name: str, factory: Callable[[str], TokenCounter]) -> None:
        """Offer a token counter for `budget.counter`. The factory gets REST of "NAME:REST", or ""."""

    def observer(self, name: str, factory: Callable[[str], Observer]) -> None:
        """Offer an observer for `observers`. The factory gets REST of "NAME:REST", or "".

        To time calls, the observer may have a `watch` (see `ports.OperationObserver`).
        """

    def llm(self, name: str, factory: Callable[[str], LLM]) -> None:
        """Offer a language model for `summary.llm`. The factory gets REST of "NAME:REST", or "".

        It is called when an engine is loaded whose settings name the model.
        """

    def memory(self, name: str, factory: Callable[[str], MemoryStore]) -> None:
        """Offer a store of durable facts for `memory.provider`. The factory gets its absolute path, or ""."""

    def embedder(self, name: str, factory: Callable[[str], Embedder]) -> None:
        """Offer an embedder for `memory.embedder`. The factory gets REST of "NAME:REST", or "".

        A path in REST is made absolute. If the setting is the alias of a model whose adapter is NAME, and no runtime
        opens that model, REST is "MODEL" or "MODEL@URL". The factory is called at the first search, or when vectors
        are first computed. The embedder may have a `close`, and an `even` (see
        `ports.SupportsCalibration`).
        """

    def vector_index(self, name: str, factory: Callable[[str, str, int], VectorIndex]) -> None:
        """Offer an index of near vectors for `memory.index`.

        The factory gets an absolute path of its own for a file or folder, or "" for none; the name of the embedding
        model; and the dimensions. What you write there may be deleted at any time: the store has all vectors.
        """

    def runtime(self, name: str, factory: Callable[[Definition, TokenCounter], LoadedModel]) -> None:
        """Offer a runtime for the models whose `models.<alias>.adapter` is NAME.

        The factory gets the model and the token counter of the settings, for models without a vocabulary.
        `Engine.model` calls it once for each model. After a ModelLoadError, it is called again with a smaller window.
        """

    def probe(self, name: str, factory: Callable[[], GpuProbe]) -> None:
        """Offer a source of devices for `gpu.probe`."""

    def codec(self, codec: Codec) -> None:
        """Offer a form of messages, under its own tag, for `Engine.session`."""


@hookspec
def register_adapters(register: Register) -> None:
    """Offer adapters. Called once for each engine, before any of its adapters is made."""


@hookspec(firstresult=True)
def resolve_model(alias: str) -> Mapping[str, object] | None:
    """Return the keys of a model that the settings do not name, as in `models.<alias>`; the first result wins.

    Called once for each engine and alias, when a session opens with it, before its window is found.
    """


@hookspec(firstresult=True)
def size_window(alias: str, window_tokens: int, source: str) -> int | None:
    """Return another window for sessions with a model, in tokens; the first result wins.

    Called when a session opens, unless its caller names the window. The result may be larger only if nothing is known
    of the model: what fits the devices, what it was trained for and what it was opened with are upper limits.
    """


@hookspec
def grant_tools(session_id: str, alias: str, tools: Sequence[str]) -> Sequence[str] | None:
    """Return which of squidbot's own tools (`history`, `memory`) the model of a session gets; None allows all.

    Called once, when the session's tools are first asked for. A tool needs the consent of every extension. If a hook
    fails or returns something else, the session gets none.
    """


@hookspec(firstresult=True)
def score_complexity(session_id: str, text: str, tools_mode: bool) -> float | None:  # noqa: FBT001  # hooks have no marks
    """Return from 0 to 1 how much the text that opens a turn asks for; the first result wins.

    Called with `allocation.adaptive`, once for each request that opens a turn. `tools_mode` says whether the host
    passes tools. Only the room for the answer depends on the score.
    """


@hookspec(firstresult=True)
def allocate(
    session_id: str,
    score: float,
    window_tokens: int,
    tools_mode: bool,  # noqa: FBT001  # as above
    reserved_tokens: int,
) -> int | None:
    """Return the room for the answers of a turn, in tokens, in place of `reserved_tokens`; the first result wins.

    Called right after `score_complexity`. A session never gives more room than it was opened with.
    """


@hookspec(firstresult=True)
def classify_message(session_id: str, message: Message) -> str | None:
    """Return the category of a message: a name of `squidbot.core.messages.Category`; the first result wins.

    Called for each message from a host, before it is stored. Only squidbot may use "recalled" and "forgotten".
    """


@hookspec
def before_store(session_id: str, message: Message) -> Mapping[str, object] | None:
    """Return a message's missing time as `{"time": seconds since 1970}`. The message itself never changes.

    Called for each message from a host, before it is stored. Earlier hooks go first.
    """


@hookspec
def redact(text: str) -> str | None:
    """Return a text without its secrets; None leaves it. Called for each text that becomes a durable fact.

    The text has passed the built-in redaction and the hooks before.
    """


@hookspec
def contribute_sections(session_id: str, scope: Scope, limit_tokens: int) -> Mapping[str, str] | None:
    """Return texts for the head of the request, by name; None for none.

    Called at a plan change only; the texts stay until the next one, stored with the plan. Together they may cost
    `limit_tokens` (an upper bound); squidbot leaves out the rest. They are the first to give way.
    """


@hookspec(firstresult=True)
def represent(session_id: str, summary: Summary, limit_tokens: int) -> str | None:
    """Return a text to show for old messages in place of `summary`; the first result wins.

    Called at a plan change only, perhaps several times with different limits. The text may cost `limit_tokens` (an
    upper bound), and is stored with the plan.
    """


@hookspec
def contribute_tail(session_id: str, scope: Scope, prompt: str, now: float, limit_tokens: int) -> str | None:
    """Return a text to send behind the user's newest message, `prompt`; None for none.

    Called at each new user turn. The text is stored with the message and stays there. `now` is in seconds since 1970.
    All such texts together may cost `limit_tokens` (an upper bound), and they give way to everything else.
    """


@hookspec
def filter_memories(session_id: str, query: str, memories: Sequence[Memory]) -> Sequence[str] | None:
    """Return the `memory_id` of each memory to show, best first; None shows all of them.

    Called after each search for facts, before its result is shown. You cannot add any.
    """


@hookspec
def should_compact(session_id: str, fraction: float, due: bool) -> bool | None:  # noqa: FBT001  # hooks have no marks
    """Return False to veto compaction, True to ask for it, None to leave it to the marks, which say `due`.

    Called at most once for each call that opens a turn, unless compaction pauses. A veto overrules all that ask. A
    history that does not fit is compacted in any case, and a compaction that you ask for must save as much as one that
    is due. `fraction` is history's share of its room.
    """


@hookspec(firstresult=True)
def summarize(job: SummaryTask, source: str, limit_tokens: int) -> str | None:
    """Return a summary in place of the model of `summary.llm`; the first result wins.

    Called in background work. The summary is checked like a model's.
    """


@hookspec
def compacted(session_id: str, plan: PlanRecord) -> None:
    """Look at a plan that changes what is sent of the past. Called after it is stored."""


@hookspec
def recalled(session_id: str, tool: str, text: str) -> None:
    """Look at the text of a page or answer that a tool brought back. Called before the host gets it.

    `tool` is the name of the tool, such as "history" or "memory_search".
    """


@hookspec
def on_event(event: Event) -> None:
    """Look at an event. Called inside the turn, as it happens. Events that you cause wait until you return."""


@hookspec
def assembled(assembly: CoreAssembly) -> None:
    """Look at a request, which is frozen. Called after each successful `assemble`, before the host gets it."""
