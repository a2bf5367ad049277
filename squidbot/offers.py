"""What squidbot.toml can name: the registry of adapters, and how one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from squidbot.checks import meant
from squidbot.core.errors import ConfigError
from squidbot.extras import extra_of, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.context import Definition
    from squidbot.core.vectors.values import VectorIndex
    from squidbot.hookspecs import Store

__all__ = [
    "KeepsCounts",
    "Registry",
    "Timer",
    "check_offered",
    "make",
]

Offer = TypeVar("Offer")
Given = TypeVar("Given")
Made = TypeVar("Made")


class Timer(Protocol):
    """Calls something at an interval."""

    def start(self, work: Callable[[], object], interval_seconds: float) -> None:
        """Begin to call `work` each `interval_seconds`, in a thread of its own, until `stop`."""

    def stop(self) -> None:
        """End it, and leave nothing behind; stopping one that was not started does nothing."""


@runtime_checkable
class KeepsCounts(Protocol):
    """What a token counter may have beside its port, if it asks others: connections, and counts worth keeping."""

    def keep(self, path: str) -> None:
        """Keep all counts in a file, beside those that any process has kept there; it need not be there yet."""

    def close(self) -> None:
        """Close its connections; a second call does nothing."""


class Registry:
    """What has been offered, by the names of squidbot.toml."""

    def __init__(self) -> None:
        self.stores: dict[str, Callable[[str], Store]] = {}
        self.counters: dict[str, Callable[[str], TokenCounter]] = {}
        self.observers: dict[str, Callable[[str], Observer]] = {}
        self.llms: dict[str, Callable[[str], LLM]] = {}
        self.runtimes: dict[str, Callable[[tuple[Definition, TokenCounter]], LoadedModel]] = {}
        self.memories: dict[str, Callable[[str], MemoryStore]] = {}
        self.embedders: dict[str, Callable[[str], Embedder]] = {}
        self.vector_indexes: dict[str, Callable[[tuple[str, str, int]], VectorIndex]] = {}
        self.probes: dict[str, Callable[[str], GpuProbe]] = {}
        self.codecs: dict[str, Codec] = {}

    def store(self, name: str, factory: Callable[[str], Store]) -> None:
        """Take a store."""
        _add("store", self.stores, name, factory)

    def counter(self, name: str, factory: Callable[[str], TokenCounter]) -> None:
        """Take a token counter."""
        _add("token counter", self.counters, name, factory)

    def observer(self, name: str, factory: Callable[[], Observer]) -> None:
        """Take an observer."""
        _add("observer", self.observers, name, lambda _: factory())

    def llm(self, name: str, factory: Callable[[str], LLM]) -> None:
        """Take a language model."""
        _add("language model", self.llms, name, factory)

    def memory(self, name: str, factory: Callable[[str], MemoryStore]) -> None:
        """Take a store of durable facts."""
        _add("memory provider", self.memories, name, factory)

    def embedder(self, name: str, factory: Callable[[str], Embedder]) -> None:
        """Take what makes vectors."""
        _add("embedder", self.embedders, name, factory)

    def vector_index(self, name: str, factory: Callable[[str, str, int], VectorIndex]) -> None:
        """Take what finds the nearest of vectors."""
        _add("index of vectors", self.vector_indexes, name, lambda all_three: factory(*all_three))

    def runtime(self, name: str, factory: Callable[[Definition, TokenCounter], LoadedModel]) -> None:
        """Take what opens models."""
        _add("runtime", self.runtimes, name, lambda both: factory(*both))

    def probe(self, name: str, factory: Callable[[], GpuProbe]) -> None:
        """Take what looks for devices."""
        _add("GPU probe", self.probes, name, lambda _: factory())

    def codec(self, codec: Codec) -> None:
        """Take a form of messages."""
        _add("codec", self.codecs, codec.tag, codec)


def check_offered(kind: str, offers: Collection[str], name: str, source: str) -> None:
    """Check that somebody offers what settings name.

    Raises:
        ConfigError: nobody does; the text says what there is, and which of these is nearest.
    """
    if name not in offers:
        # A name that begins with "_" is squidbot's own, and no user's.
        every = sorted(each for each in offers if not each.startswith("_"))
        known = ", ".join(every) or "none"
        raise ConfigError(
            f"no {kind} {name!r}, known: {known}; others come with extensions{meant([name], every)} @ {source}"
        )


def make(kind: str, offers: Mapping[str, Callable[[Given], Made]], name: str, rest: Given, source: str) -> Made:
    """Return what the factory of that name makes.

    Raises:
        ConfigError: nobody offers it, the package that it needs is not installed, or it wants something else to be set.
    """
    check_offered(kind, offers, name, source)
    try:
        return offers[name](rest)
    except ConfigError as error:
        raise error if " @ " in str(error) else ConfigError(f"{error} @ {source}") from error
    except ImportError as error:
        extra = extra_of(name)
        mended = f"; {missing(extra)}" if extra else ""
        raise ConfigError(f"the {kind} {name!r} can't be imported: {error}{mended} @ {source}") from error


def _add(kind: str, offers: dict[str, Offer], name: str, offer: Offer) -> None:
    if name in offers:
        raise ConfigError(f"two extensions offer the {kind} {name}; load one of them")
    offers[name] = offer
