"""The hooks, by which others reach in: what each is given, and when it is called.

An extension is a module, or an object, with functions marked `@squidbot.hookimpl`. A hook may be written with fewer
arguments than it is given. Hooks of several extensions are called in the order of the extensions' names. What
a listening hook returns is ignored, and what it raises stays with it: the turn goes on, and the others are told so
by a `degraded` event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pluggy

from squidbot.core.ports import SummaryStore, TranscriptStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.events import Event
    from squidbot.core.memories import MemoryStore
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, Observer, TokenCounter
    from squidbot.core.sizing.context import Definition
    from squidbot.core.vectors.values import VectorIndex
    from squidbot.core.view.assembly import Assembly

__all__ = ["PROJECT", "Register", "Store", "assembled", "hookimpl", "on_event", "register_adapters"]

# The name under which pluggy and the entry points of other distributions know us.
PROJECT = "squidbot"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


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


@hookspec
def on_event(event: Event) -> None:
    """Take what has happened. Called inside the turn, as it happens: events that this makes wait until it returns."""


@hookspec
def assembled(assembly: Assembly) -> None:
    """Look at a request. Called after each successful `assemble`, before the host gets the request; it is frozen."""
