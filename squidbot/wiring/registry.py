"""The adapters that squidbot brings, by the names of squidbot.toml. Each is imported when it is made."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import pluggy

from squidbot import hookspecs
from squidbot.adapters.common.packages import extra_of, how_to_get, missing
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.config import meant
from squidbot.core.errors import ConfigError
from squidbot.core.tokens.counters import builtin_counter
from squidbot.hookspecs import PROJECT, hookimpl
from squidbot.wiring.extensions import Relay, implementations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from types import ModuleType

    from squidbot.adapters.yaml import Plain
    from squidbot.config import Loaded
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.core.vectors import VectorIndex
    from squidbot.hookspecs import Register, Store


# The sources of squidbot.wiring.gpus, which is imported where devices are looked for.
PROBE_NAMES = (
    "auto",
    "pynvml",
    "nvidia_smi",
    "torch",
    "amdgpu",
    "amd_smi",
    "rocm_smi",
    "apple",
    "ggml",
    "none",
)
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
    from squidbot.adapters.xllamacpp import open_model  # noqa: PLC0415  # as above

    return open_model(definition)


def _ollama(definition: Definition, counter: TokenCounter) -> LoadedModel:
    from squidbot.adapters.ollama import open_model  # noqa: PLC0415  # as above

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
    from squidbot.adapters.llama_cpp.model import Vocabulary  # noqa: PLC0415  # as above

    return Vocabulary(path)


def _probe(name: str) -> GpuProbe:
    from squidbot.wiring.gpus import PROBES  # noqa: PLC0415  # as above

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


# What squidbot.toml can name: the registry of adapters, and how one is made.

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


# Finds what settings name among installed distributions, and collects what all of them offer, and who
# listens.

# As the tokenizer of a model: what its own API counts (C3).
PROVIDER = "provider"
# As any counter: a model's own vocabulary where that is at hand, else the default one.
AUTO, DEFAULT = "auto", "classes"


class _Plugins(pluggy.PluginManager):
    """Looks for hooks where one can be: pluggy asks each attribute that any object has, which was half of a load."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Return how a hook is marked."""
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        """Return how a specification is marked: they are functions of a module of ours."""
        marked: pluggy.HookspecOpts | None = getattr(getattr(module_or_class, name), f"{PROJECT}_spec", None)
        return marked


def collected(loaded: Loaded, extensions: Iterable[object] = ()) -> tuple[pluggy.PluginManager, Registry]:
    """Return all extensions that there are, and what they and squidbot itself offer.

    A name of the settings that squidbot does not bring itself is looked for among the entry points of the group
    "squidbot"; `extensions` are modules or objects with hooks beside these.

    Raises:
        ConfigError: an extension is unknown, can't be imported, has a misspelt hook, fails while it offers its
            adapters, or offers what another one does.
    """
    plugins = _Plugins(PROJECT)
    plugins.add_hookspecs(hookspecs)
    plugins.register(BuiltIn(), "squidbot")
    for number, extension in enumerate(extensions, 1):
        name = str(getattr(extension, "__name__", type(extension).__name__))
        try:
            plugins.register(extension, name if not plugins.has_plugin(name) else f"{name} {number}")
        except (ValueError, TypeError) as error:
            raise ConfigError(f"extensions[{number - 1}], {name!a:.60}, can't be taken: {error}"[:300]) from error
    _load_named(plugins, loaded)
    try:
        plugins.check_pending()
    except pluggy.PluginValidationError as error:
        raise ConfigError(f"{error}; known hooks: {', '.join(_hooks())}") from error
    registry = Registry()
    for name, call in implementations(plugins, "register_adapters"):
        try:
            call({"register": registry})
        except ConfigError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ConfigError(f"the extension {name} failed at register_adapters: {said}") from error
    return plugins, registry


def _load_named(plugins: pluggy.PluginManager, loaded: Loaded) -> None:
    """Load the entry points that the settings name.

    Raises:
        ConfigError: an extension is not installed, or can't be imported.
    """
    settings, own = loaded.settings, Registry()
    BuiltIn().register_adapters(own)
    counters = {split_spec(spec)[0] for spec in counter_specs(loaded)} - set(own.counters)
    models = {split_spec(llm)[0] for llm in _llm_specs(loaded)}
    runtimes = {model.adapter for model in settings.models.values() if model.adapter} - set(own.runtimes)
    probes = {settings.gpu.probe} - set(own.probes)
    memories = {settings.memory.provider} - {"auto", *own.memories}
    embedder = settings.memory.embedder
    vectors = {settings.memory.index} - {"auto", *own.vector_indexes}
    if not settings.model(embedder).adapter:
        vectors |= {embedder.partition(":")[0]} - {"none", *own.embedders}
    adapters = {store_name(loaded), *settings.observers} - {*own.stores, *own.observers}
    for name in sorted({*counters, *adapters, *models, *runtimes, *probes, *memories, *vectors, *settings.extensions}):
        try:
            found = plugins.load_setuptools_entrypoints(PROJECT, name=name)
        except ImportError as error:
            raise ConfigError(f"the extension {name} can't be imported: {error} @ {loaded.source}") from error
        if not found and name in settings.extensions:
            raise ConfigError(f"no extension {name} is installed @ {loaded.source}.extensions")


def _hooks() -> list[str]:
    return [name for name in hookspecs.__all__ if hasattr(getattr(hookspecs, name), "squidbot_spec")]


def _llm_specs(loaded: Loaded) -> list[str]:
    """Return what the settings name as language models, but for models of the settings that have an adapter."""
    settings = loaded.settings
    return [llm for llm in (settings.summary.llm, settings.memory.llm) if llm and not settings.model(llm).adapter]


def counter_specs(loaded: Loaded) -> list[str]:
    """Return what the settings name as token counters, the common one first, but for the APIs of models."""
    tokenizers = [model.tokenizer for model in loaded.settings.models.values()]
    common = loaded.settings.budget.counter
    return [DEFAULT if common == AUTO else common, *(one for one in tokenizers if one and one not in {PROVIDER, AUTO})]


def store_name(loaded: Loaded) -> str:
    """Return the name of the store that keeps sessions."""
    return loaded.settings.store.adapter or ("sqlite3" if loaded.settings.store.path else "stdlib")


def split_spec(spec: str) -> tuple[str, str]:
    """Return the name of a counter, and what its factory gets; a rank file stands for tiktoken."""
    if spec.endswith(".tiktoken"):
        return "tiktoken", spec.removeprefix("tiktoken:")
    name, _, rest = spec.partition(":")
    return name, rest


def relay_of(plugins: pluggy.PluginManager, registry: Registry, loaded: Loaded) -> Relay:
    """Return what tells events to the observers of the settings, then to extensions.

    Raises:
        ConfigError: an observer is unknown, or its package is not installed.
    """
    observers = [
        (name, make("observer", registry.observers, name, "", f"{loaded.source}.observers").notify)
        for name in loaded.settings.observers
    ]
    return Relay(
        [*observers, *_listeners(plugins, "on_event", "event")],
        _listeners(plugins, "assembled", "assembly"),
    )


def _listeners(plugins: pluggy.PluginManager, hook: str, argument: str) -> list[tuple[str, Callable[[object], object]]]:
    """Return what calls the hook of each extension alone, with the extension's name: each fails on its own."""

    def listener(call: Callable[[Mapping[str, object]], object]) -> Callable[[object], object]:
        return lambda value: call({argument: value})

    return [(name, listener(call)) for name, call in implementations(plugins, hook)]


# The token counters that settings name, or that models have, each made once; which of them counts,
# and why.

# Token counters that read a file.
FILE_COUNTERS = ("tiktoken", "llama_cpp")
# What stands behind the name of the sessions' file, for the file with the counts of providers.
COUNTS_SUFFIX = ".counts"
# The vocabularies that OpenAI publishes, by what its models are called; as tiktoken's own table has them. In front of
# the name stands who serves it, with some hosts; behind it a date or a kind.
VOCABULARIES = {
    "o200k_base": re.compile(r"(?:ft:)?(?:gpt-5|(?:gpt-(?:4o|4\.1|4\.5|oss)|chatgpt-4o|o1|o3|o4-mini)(?![^:-]))"),
    "cl100k_base": re.compile(r"(?:ft:)?gpt-(?:4|3\.5|3\.5-turbo|35-turbo)(?![^:-])"),
}
NEWEST = "o200k_base"
_SERVED_BY = re.compile(r"(?:openai|azure)[/:]")
# The adapters of a model that is what it is called; None where the host asks it. One with a file or a url may be any.
_OPENAIS = {None, "openai"}


class Counters:
    """The token counters of one engine. Threads may share it."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        """Make those that the settings name.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        self._loaded = loaded
        self._registry = registry
        self._made: dict[tuple[str, str], TokenCounter] = {}
        for spec in counter_specs(loaded):
            self.named(spec)
        for alias, model in loaded.settings.models.items():
            if model.tokenizer == PROVIDER:
                self.of(alias)

    def named(self, spec: str) -> TokenCounter:
        """Return the counter of "NAME", "NAME:REST" or "FILE.tiktoken"; the same one each time.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        if (spec, "") not in self._made:
            name, rest = split_spec(spec)
            rest = self._loaded.absolute(rest) if name in FILE_COUNTERS and rest not in VOCABULARIES else rest
            made = make("token counter", self._registry.counters, name, rest, self._place(spec))
            self._made[spec, ""] = self._kept(made)
        return self._made[spec, ""]

    def of(self, alias: str) -> TokenCounter:
        """Return what the settings count with for a model; "provider" is what its own adapter's API counts.

        Raises:
            ConfigError: as `named`; or no API counts for the model.
        """
        settings = self._loaded.settings
        named = self._named(alias)
        if named == AUTO:
            return self._own(alias)
        if named != PROVIDER:
            return self.named(named)
        if (PROVIDER, alias) not in self._made:
            model, place = settings.model(alias), f"{self._loaded.source}.models[{alias!r}].tokenizer"
            if model.adapter is None or model.adapter not in PROVIDERS:
                able = ", ".join(PROVIDERS)
                raise ConfigError(f"nobody's API counts for this model, but for one whose adapter is {able} @ {place}")
            given = (model.model or alias, model.url or "", model.key_env or "")
            self._made[PROVIDER, alias] = self._kept(make("token counter", PROVIDERS, model.adapter, given, place))
        return self._made[PROVIDER, alias]

    def why(self, alias: str) -> str:
        """Return in one line why a model is counted as it is, and what would count it exactly; "" where settings say.

        Raises:
            ConfigError: as `of`.
        """
        if self._named(alias) != AUTO:
            return ""
        model, encoding = self._loaded.settings.model(alias), self._vocabulary(alias)
        if encoding:
            if self._own(alias).certificate == "exact":
                return "the model's own vocabulary"
            return f"its own vocabulary is not at hand; {how_to_get(encoding)}"
        if model.path or model.repo_id:
            exact = f'by its own vocabulary with models.{alias}.tokenizer = "llama_cpp:{model.path or "FILE.gguf"}"'
            return "by its own vocabulary once it is open" if model.adapter else exact
        return "no vocabulary of it is known" if alias else self._of_openai()

    def _of_openai(self) -> str:
        """Return what counts a model of OpenAI's that a host names."""
        try:
            from squidbot.adapters.tiktoken import cached  # noqa: PLC0415  # where it is installed
        except ImportError:
            known = None
        else:
            known = cached(NEWEST)
        said = "a model of OpenAI's, where a host names it, by its own vocabulary"
        return said if known else f"{said}, which is not at hand; {how_to_get(NEWEST)}"

    def _named(self, alias: str) -> str:
        settings = self._loaded.settings
        return settings.model(alias).tokenizer or settings.budget.counter

    def _own(self, alias: str) -> TokenCounter:
        """Return the counter of a model's own vocabulary, the default one where that is not at hand."""
        encoding = self._vocabulary(alias)
        if encoding and (AUTO, encoding) not in self._made:
            try:
                self._made[AUTO, encoding] = self.named(f"tiktoken:{encoding}")
            except ConfigError:  # neither here: `why` says what brings it
                self._made[AUTO, encoding] = self.named(DEFAULT)
        return self._made[AUTO, encoding] if encoding else self.named(DEFAULT)

    def _vocabulary(self, alias: str) -> str:
        """Return the published vocabulary of a model; "" where none is known."""
        model = self._loaded.settings.model(alias)
        is_called_so = model.adapter in _OPENAIS and not (model.path or model.repo_id or model.url)
        return vocabulary_of(model.model or alias) if is_called_so else ""

    def close(self) -> None:
        """Close the connections of those that have any."""
        for one in self._made.values():
            if isinstance(one, KeepsCounts):
                one.close()

    def _kept(self, made: TokenCounter) -> TokenCounter:
        """Have a counter that asks others keep what they say, where sessions are kept."""
        path = self._loaded.settings.store.path
        if path and isinstance(made, KeepsCounts):
            made.keep(f"{self._loaded.absolute(path)}{COUNTS_SUFFIX}")
        return made

    def _place(self, spec: str) -> str:
        """Return the key that names a counter."""
        settings, source = self._loaded.settings, self._loaded.source
        aliases = [alias for alias, model in settings.models.items() if model.tokenizer == spec]
        is_common = settings.budget.counter == spec or not aliases
        return f"{source}.{'budget.counter' if is_common else f'models[{aliases[0]!r}].tokenizer'}"


def vocabulary_of(model: str) -> str:
    """Return which vocabulary that OpenAI publishes a model of that name has; "" where none is known."""
    name = _SERVED_BY.sub("", model.lower(), count=1)
    return next((encoding for encoding, names in VOCABULARIES.items() if names.match(name)), "")
