"""Adapters by their names in squidbot.toml, each imported on first use; and the token counter of each model."""

from __future__ import annotations

import re
from functools import partial
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import pluggy

from squidbot import hookspecs
from squidbot.adapters.common.files import append, make_file, state_folder
from squidbot.adapters.common.packages import extra_of, how_to_get, missing
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.hermes import Hermes
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.llm import LLMMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.config import meant
from squidbot.core.errors import ConfigError, SquidbotError
from squidbot.core.ports import OperationObserver
from squidbot.core.tokens.counters import builtin_counter
from squidbot.hookspecs import PROJECT, hookimpl
from squidbot.wiring.extensions import Relay, implementations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from types import ModuleType

    from squidbot.adapters.yaml import Plain
    from squidbot.config import Loaded
    from squidbot.core.ports import LLM, Codec, Embedder, GpuProbe, LoadedModel, MemoryStore, Observer, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.core.vectors import VectorIndex
    from squidbot.hookspecs import Register, Store


# The sources of `squidbot.wiring.gpus`.
PROBE_NAMES = ("auto", "pynvml", "nvidia_smi", "torch", "amdgpu", "amd_smi", "rocm_smi", "apple", "ggml", "none")
# `memory.index = "auto"` takes the first of these that is installed. LanceDB takes five times the CPU time and the disk
# space of FAISS; see docs/memory.md.
INDEXES = ("faiss", "lancedb", "stdlib")
COUNTERS = ("words", "chars4", "chars3", "bytes", "classes")


def _load(target: str) -> Any:  # noqa: ANN401  # an adapter's class or function
    """Import "module:attribute" of `squidbot.adapters`."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(f"squidbot.adapters.{module}"), attribute)


def _adapter(target: str, arguments: Callable[..., Sequence[object]]) -> Callable[..., Any]:
    """Return a factory that imports its adapter when it is called; `arguments` maps the factory's to the adapter's."""
    return lambda *given: _load(target)(*arguments(*given))


def _nothing(*_: object) -> Sequence[object]:
    return ()


def _everything(*given: object) -> Sequence[object]:
    return given


# How long a command that looks at a database waits for one that is away.
LOOK_SECONDS = 5.0


class StoreServer(str):
    """The address of a database server, and which part of it is used."""

    __slots__ = ("connections", "direct_url", "pool", "schema", "tenant")
    direct_url: str
    pool: object
    schema: str
    tenant: str | None
    connections: int

    @classmethod
    def of(cls, loaded: Loaded, pool: object = None) -> StoreServer:
        """Return that of the settings; `pool` is one of the caller's."""
        store, made = loaded.settings.store, cls(loaded.store_url)
        made.pool, made.schema, made.tenant, made.connections = pool, store.schema, store.tenant, store.connections
        made.direct_url = store.direct_url
        return made


def _server(given: object) -> Mapping[str, object]:
    """Return the arguments of a store in PostgreSQL.

    Raises:
        ConfigError: no server is named.
    """
    if not isinstance(given, StoreServer) or not (given or given.pool):
        raise ConfigError("the store psycopg needs a server; set store.url")
    more = {"schema": given.schema, "tenant": given.tenant, "pool": given.pool, "most_connections": given.connections}
    return {"url": str(given), "direct_url": given.direct_url, **more}


def database(loaded: Loaded) -> Any:  # noqa: ANN401  # of an optional package
    """Return the database server of the settings, not connected yet: `adapters.psycopg.server.Server`.

    Raises:
        ConfigError: the settings name none, or its package is not installed.
    """
    if store_name(loaded) != "psycopg":
        raise ConfigError("the store is no database: pass --store postgresql://USER@HOST/DATABASE, or set store.url")
    offers = {"psycopg": lambda given: _load("psycopg.server:Server")(**_server(given), patience_seconds=LOOK_SECONDS)}
    return make("store", offers, "psycopg", store_given(loaded), f"{loaded.source}.store.url")


def _definition(definition: Definition, _: TokenCounter) -> Sequence[object]:
    return (definition,)


def _index(path: str, *more: object) -> Sequence[object]:
    return (path or None, *more)


def _model_at_url(rest: str) -> Sequence[object]:
    """Return the model and the URL of "MODEL@URL"; of "MODEL" alone the URL is ""."""
    model, _, url = rest.partition("@http")
    return model, url and f"http{url}"


def _required(message: str) -> Callable[[str], Sequence[object]]:
    def arguments(rest: str) -> Sequence[object]:
        if not rest:
            raise ConfigError(message)
        return (rest,)

    return arguments


def _tiktoken(path: str) -> TokenCounter:
    counter: TokenCounter = _load(f"tiktoken:{'published' if path in VOCABULARIES else 'TiktokenCounter'}")(path)
    return counter


def _probe(name: str) -> GpuProbe:
    from squidbot.wiring.gpus import NamedProbe  # noqa: PLC0415  # most starts look for no device

    return NamedProbe(name)


# Runtimes that open a file in this process.
OPEN_FILES = frozenset({"llama_cpp", "xllamacpp"})
# Providers whose APIs count tokens; the factory gets the model, its URL and the name of its key, "" for the usual.
PROVIDERS: Mapping[str, Callable[[tuple[str, str, str]], TokenCounter]] = {
    "anthropic": lambda given: _load("anthropic:AnthropicCounter")(given[0], given[1], key_name=given[2])
}
# Adapters for `summary.scheduler` beside "thread" and "none".
TIMERS: Mapping[str, Callable[[str], Timer]] = {"apscheduler": _adapter("apscheduler:ApschedulerTimer", _nothing)}
# By kind and name: the adapter, and how to make its arguments from those of the factory.
ADAPTERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("store", "psycopg"): lambda given: _load("psycopg:PostgresqlStore")(**_server(given)),
    ("store", "stdlib"): _adapter("stdlib:InMemoryStore", _nothing),
    ("store", "sqlite3"): _adapter("sqlite3:SqliteStore", _required("the store sqlite3 needs a file; set store.path")),
    ("memory", "psycopg"): lambda given: _load("psycopg:PostgresqlMemoryStore")(**_server(given)),
    ("memory", "stdlib"): _adapter("sqlite3.memory.store:InMemoryMemoryStore", _nothing),
    ("memory", "sqlite3"): _adapter(
        "sqlite3.memory.store:SqliteMemoryStore",
        _required("the memory provider sqlite3 needs a file; set memory.path, or store.path"),
    ),
    ("memory", "file"): _adapter(
        "sqlite3.memory.store:SqliteMemoryStore",
        _required("the memory provider file needs a file of its own; set memory.path"),
    ),
    ("embedder", "onnxruntime"): _adapter(
        "onnxruntime:OnnxEmbedder",
        _required('onnxruntime needs a model folder: set memory.embedder = "onnxruntime:FOLDER"'),
    ),
    ("embedder", "openai"): _adapter("openai:OpenAIEmbedder", _model_at_url),
    ("llm", "anthropic"): _adapter("anthropic:AnthropicModel", _model_at_url),
    ("llm", "openai"): _adapter("openai:OpenAIChatModel", _model_at_url),
    ("vector_index", "faiss"): _adapter("faiss:FaissIndex", _index),
    ("vector_index", "lancedb"): _adapter("lancedb:LanceIndex", _index),
    ("vector_index", "stdlib"): _adapter("stdlib:ExactIndex", lambda _path, model, dimensions: (model, dimensions)),
    ("counter", "tiktoken"): _tiktoken,
    ("counter", "llama_cpp"): _adapter("llama_cpp.model:Vocabulary", _everything),
    ("counter", "anthropic"): _adapter("anthropic:AnthropicCounter", _model_at_url),
    ("observer", "opentelemetry"): _adapter("opentelemetry:OpenTelemetryObserver", _nothing),
    ("observer", "structlog"): _adapter("structlog:StructlogObserver", _nothing),
    **{("counter", name): lambda _, name=name: builtin_counter(name) for name in COUNTERS},
    **{("probe", name): partial(_probe, name) for name in PROBE_NAMES},
    # A trial in a child process, about a second: a crash of llama.cpp becomes an error.
    ("runtime", "llama_cpp"): lambda definition, _: _load("llama_cpp.model:open_model")(
        definition, trial=not definition.checked
    ),
    ("runtime", "xllamacpp"): _adapter("xllamacpp:open_model", _definition),
    ("runtime", "ollama"): lambda definition, counter: _load("ollama:open_model")(definition, counter=counter),
    ("runtime", "anthropic"): _adapter("anthropic:open_model", _everything),
    ("runtime", "openai"): _adapter("openai:open_model", _everything),
}
CODECS = (OpenAIChat, AnthropicMessages, OpenAIResponses, Hermes, LangChain, LLMMessages, PydanticAI)


class BuiltIn:
    """squidbot's own adapters, registered by the hook that extensions use."""

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Register squidbot's adapters and codecs."""
        for (kind, name), factory in ADAPTERS.items():
            getattr(register, kind)(name, factory)
        for codec in CODECS:
            register.codec(codec())


def _yaml(place: str) -> ModuleType:
    try:
        return import_module("squidbot.adapters.yaml")
    except ImportError as error:
        raise ConfigError(f"{place} needs YAML: {error}; {missing('yaml')}") from error


def read_yaml(text: str, place: str) -> Plain:
    """Return the plain values of a YAML text, `None` for an empty one; errors name `place`.

    Raises:
        ConfigError: it is not YAML, has more than plain values, or the extra `yaml` is not installed.
    """
    value: Plain = _yaml(place).read(text, place)
    return value


def write_yaml(value: Plain, place: str) -> str:
    """Return a value as YAML; errors name `place`.

    Raises:
        ConfigError: the extra `yaml` is not installed.
        ValueError: it has other than plain values.
    """
    return str(_yaml(place).write(value))


# The registry of adapters that squidbot.toml can name.

Offer = TypeVar("Offer")
Given = TypeVar("Given")
Made = TypeVar("Made")


class Timer(Protocol):
    """A timer."""

    def start(self, work: Callable[[], object], interval_seconds: float) -> None:
        """Call `work` every `interval_seconds` in another thread, until `stop`."""

    def stop(self) -> None:
        """Stop the timer; without `start`, this does nothing."""


@runtime_checkable
class KeepsCounts(Protocol):
    """An optional part of a token counter over an API: it stores counts and has connections."""

    def keep(self, path: str) -> None:
        """Store all counts in a file, which other processes may share and which need not exist yet."""

    def close(self) -> None:
        """Close its connections; a second call does nothing."""


class Registry:
    """Adapters by kind and by their names in squidbot.toml."""

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
        """Take a store of sessions."""
        _add("store", self.stores, name, factory)

    def counter(self, name: str, factory: Callable[[str], TokenCounter]) -> None:
        """Take a token counter."""
        _add("token counter", self.counters, name, factory)

    def observer(self, name: str, factory: Callable[[str], Observer]) -> None:
        """Take an observer."""
        _add("observer", self.observers, name, factory)

    def llm(self, name: str, factory: Callable[[str], LLM]) -> None:
        """Take a language model."""
        _add("language model", self.llms, name, factory)

    def memory(self, name: str, factory: Callable[[str], MemoryStore]) -> None:
        """Take a store of durable facts."""
        _add("memory provider", self.memories, name, factory)

    def embedder(self, name: str, factory: Callable[[str], Embedder]) -> None:
        """Take an embedder."""
        _add("embedder", self.embedders, name, factory)

    def vector_index(self, name: str, factory: Callable[[str, str, int], VectorIndex]) -> None:
        """Take a vector index."""
        _add("index of vectors", self.vector_indexes, name, lambda all_three: factory(*all_three))

    def runtime(self, name: str, factory: Callable[[Definition, TokenCounter], LoadedModel]) -> None:
        """Take a runtime of models."""
        _add("runtime", self.runtimes, name, lambda both: factory(*both))

    def probe(self, name: str, factory: Callable[[], GpuProbe]) -> None:
        """Take a GPU probe."""
        _add("GPU probe", self.probes, name, lambda _: factory())

    def codec(self, codec: Codec) -> None:
        """Take a codec."""
        _add("codec", self.codecs, codec.tag, codec)


def check_offered(kind: str, offers: Collection[str], name: str, source: str) -> None:
    """Check the name of an adapter.

    Raises:
        ConfigError: it is unknown; the text lists the known names and suggests the nearest.
    """
    if name not in offers:
        # Names that begin with "_" are squidbot's own, not for users.
        every = sorted(each for each in offers if not each.startswith("_"))
        known = ", ".join(every) or "none"
        raise ConfigError(
            f"unknown {kind} {name!r}, known: {known}; extensions may add others{meant([name], every)} @ {source}"
        )


def make(kind: str, offers: Mapping[str, Callable[[Given], Made]], name: str, rest: Given, source: str) -> Made:
    """Return a new adapter.

    Raises:
        ConfigError: the name is unknown, its package is not installed, another setting is missing, or it failed.
    """
    check_offered(kind, offers, name, source)
    try:
        return offers[name](rest)
    except ConfigError as error:
        raise error if " @ " in str(error) else ConfigError(f"{error} @ {source}") from error
    except ImportError as error:
        extra = extra_of(name)
        hint = f"; {missing(extra)}" if extra else ""
        raise ConfigError(f"the {kind} {name!r} cannot be imported: {error}{hint} @ {source}") from error
    except SquidbotError:
        raise
    except Exception as error:
        spec = f"{name}:{rest}" if kind == "embedder" and rest else name  # others may be given a secret
        raise failed(kind, spec, error, source) from error


def failed(kind: str, spec: str, error: Exception, source: str) -> ConfigError:
    """Return the error that an extension's adapter failed, in whatever words it says so."""
    return ConfigError(f"the {kind} {spec} failed: {type(error).__name__}: {str(error)[:200]} @ {source}")


def _add(kind: str, offers: dict[str, Offer], name: str, offer: Offer) -> None:
    if name in offers:
        raise ConfigError(f"two extensions offer the {kind} {name}; load one of them")
    offers[name] = offer


# Extensions: entry points that the settings name, and their adapters.

# The tokenizer of a model whose own API counts.
PROVIDER = "provider"
# The counter: a model's own vocabulary if it is on this machine, otherwise the default.
AUTO, DEFAULT = "auto", "classes"


class _Plugins(pluggy.PluginManager):
    """A plugin manager that skips attributes that can't be hooks: pluggy parses all, which was half of a load."""

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a plugin once: what a program passes may be installed, too, and named in the settings."""
        return self.get_name(plugin) if self.is_registered(plugin) else super().register(plugin, name)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Return the options of a hook; one with an argument that it does not have raises an error in our words."""
        options = None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)
        hook = getattr(self.hook, name, None) if options is not None else None
        if options is not None and hook is not None and hook.spec is not None:
            known = hook.spec.argnames
            given = pluggy.HookImpl(plugin, "", getattr(plugin, name), options).argnames
            wrong = [argument for argument in given if argument not in known]
            if wrong:
                said = f"hook {name} has no argument {wrong[0]!a}; it has {', '.join(known)}"
                raise pluggy.PluginValidationError(plugin, said)
        return options

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        """Return the options of a specification: these are functions of one of our modules."""
        marked: pluggy.HookspecOpts | None = getattr(getattr(module_or_class, name), f"{PROJECT}_spec", None)
        return marked


def collected(loaded: Loaded, extensions: Iterable[object] = ()) -> tuple[pluggy.PluginManager, Registry]:
    """Load all extensions, and collect their adapters and squidbot's own.

    Names of the settings that squidbot does not know are looked up among the entry points of the group "squidbot".
    `extensions` are further modules or objects with hooks.

    Raises:
        ConfigError: an extension is unknown, can't be imported, has a misspelt hook, fails while it registers its
            adapters, or registers a name that another one has.
    """
    plugins = _Plugins(PROJECT)
    plugins.add_hookspecs(hookspecs)
    plugins.register(BuiltIn(), "squidbot")
    for number, extension in enumerate(extensions, 1):
        name = str(getattr(extension, "__name__", type(extension).__name__))
        try:
            plugins.register(extension, name if not plugins.has_plugin(name) else f"{name} {number}")
        except (ValueError, TypeError, pluggy.PluginValidationError) as error:
            raise ConfigError(f"cannot load extensions[{number - 1}] ({name!a:.60}): {error}"[:300]) from error
    _load_named(plugins, loaded)
    try:
        plugins.check_pending()
    except pluggy.PluginValidationError as error:
        hooks = (name for name in hookspecs.__all__ if hasattr(getattr(hookspecs, name), f"{PROJECT}_spec"))
        raise ConfigError(f"{error}; known hooks: {', '.join(hooks)}") from error
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
        ConfigError: an extension is not installed, can't be imported, or has a hook with a misspelt argument.
    """
    settings = loaded.settings
    for name in sorted({*(name for _, name in named_adapters(loaded)), *settings.extensions}):
        try:
            found = plugins.load_setuptools_entrypoints(PROJECT, name=name)
        except ImportError as error:
            raise ConfigError(f"the extension {name} cannot be imported: {error} @ {loaded.source}") from error
        except pluggy.PluginValidationError as error:
            raise ConfigError(f"cannot load the extension {name}: {error} @ {loaded.source}.extensions") from error
        if not found and name in settings.extensions:
            raise ConfigError(
                f"no extension {name} is installed; install its package, or remove the name @ "
                f"{loaded.source}.extensions"
            )


def named_adapters(loaded: Loaded) -> list[tuple[str, str]]:
    """Return the adapters that the settings name and squidbot does not have, as (kind, name), without repeats."""
    settings = loaded.settings
    memory = settings.memory
    named = [("store", store_name(loaded)), ("GPU probe", settings.gpu.probe)]
    named += [("memory provider", memory.provider), ("vector index", memory.index)]
    named += [("observer", spec.partition(":")[0]) for spec in settings.observers]
    named += [("counter", split_spec(spec)[0]) for spec in counter_specs(loaded)]
    named += [("model", model.adapter) for model in settings.models.values() if model.adapter]
    specs = (("language model", settings.summary.llm), ("language model", memory.llm), ("embedder", memory.embedder))
    named += [(kind, spec.partition(":")[0]) for kind, spec in specs if spec and not settings.model(spec).adapter]
    known = {"auto", "none", *(name for _, name in ADAPTERS)}
    return [pair for pair in dict.fromkeys(named) if pair[1] not in known]


def counter_specs(loaded: Loaded) -> list[str]:
    """Return the token counters that the settings name, the common one first, without models' APIs."""
    tokenizers = [model.tokenizer for model in loaded.settings.models.values()]
    common = loaded.settings.budget.counter
    return [
        DEFAULT if common == AUTO else common,
        *(tokenizer for tokenizer in tokenizers if tokenizer and tokenizer not in {PROVIDER, AUTO}),
    ]


def store_name(loaded: Loaded) -> str:
    """Return the name of the store that keeps sessions."""
    store, url = loaded.settings.store, loaded.store_url
    if store.adapter or not url:
        return store.adapter or ("sqlite3" if store.path else "stdlib")
    scheme = url.partition("://")[0]
    if scheme.startswith("postgresql+"):
        raise ConfigError(f"an address begins with postgresql://, not {scheme}:// @ {loaded.source}.store.url")
    if scheme not in {"postgresql", "postgres"}:
        raise ConfigError(f"no store of ours is for {scheme}://; name its adapter @ {loaded.source}.store.adapter")
    return "psycopg"


def store_given(loaded: Loaded, pool: object = None) -> str:
    """Return what the factory of the store gets: the absolute path of a file, or an address; "" for neither."""
    path = loaded.settings.store.path
    return loaded.absolute(path) if path else StoreServer.of(loaded, pool)


def beside(loaded: Loaded) -> str:
    """Return how names of files begin that are kept beside the store; "" for none.

    With the name of the store's file; beside a server, in a folder of this user on this machine.
    """
    path = loaded.settings.store.path
    if path or store_name(loaded) != "psycopg":
        return loaded.absolute(path) if path else ""
    store, folder = loaded.settings.store, state_folder()
    place = f"{loaded.store_place} {store.schema} {store.tenant or ''}"
    made = folder / blake2b(place.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest() if folder else None
    try:
        if made is not None and not made.exists():
            make_file(made)
            append(made, f"{place}\n".encode("utf-8", "replace"))  # for people: what the files beside it are of
    except OSError:
        return ""
    return str(made or "")


def split_spec(spec: str) -> tuple[str, str]:
    """Return the name of a counter and the argument of its factory; a rank file is tiktoken's."""
    if spec.endswith(".tiktoken"):
        return "tiktoken", spec.removeprefix("tiktoken:")
    name, _, rest = spec.partition(":")
    return name, rest


def relay_of(plugins: pluggy.PluginManager, registry: Registry, loaded: Loaded) -> Relay:
    """Return the relay of events to the observers of the settings, then to extensions; one failure stops no other.

    Raises:
        ConfigError: an observer is unknown, or its package is not installed.
    """

    def listeners(hook: str, argument: str) -> list[tuple[str, Callable[[object], object]]]:
        def caller(call: Callable[[Mapping[str, object]], object]) -> Callable[[object], object]:
            return lambda value: call({argument: value})

        return [(name, caller(call)) for name, call in implementations(plugins, hook)]

    specs = [spec.partition(":") for spec in loaded.settings.observers]
    place = f"{loaded.source}.observers"
    observers = [(name, make("observer", registry.observers, name, rest, place)) for name, _, rest in specs]
    notified = [(name, observer.notify) for name, observer in observers]
    watching = [(name, observer) for name, observer in observers if isinstance(observer, OperationObserver)]
    return Relay([*notified, *listeners("on_event", "event")], listeners("assembled", "assembly"), watching)


# Token counters: chooses one for each model, and says why.

# Token counters that read a file.
FILE_COUNTERS = ("tiktoken", "llama_cpp")
# Providers' counts are stored beside the sessions' file, with this suffix after its name.
COUNTS_SUFFIX = ".counts"
# The vocabularies that OpenAI publishes, by the names of its models, as in tiktoken's own table. Some hosts put the
# provider in front of the name; a date or a kind may follow it.
VOCABULARIES = {
    "o200k_base": re.compile(r"(?:ft:)?(?:gpt-5|(?:gpt-(?:4o|4\.1|4\.5|oss)|chatgpt-4o|o1|o3|o4-mini)(?![^:-]))"),
    "cl100k_base": re.compile(r"(?:ft:)?gpt-(?:4|3\.5|3\.5-turbo|35-turbo)(?![^:-])"),
}
NEWEST = "o200k_base"
_SERVED_BY = re.compile(r"(?:openai|azure)[/:]")
# Adapters whose model names are OpenAI's; `None`: the host calls the model. With a file or a URL, it may be any model.
_OPENAIS = {None, "openai"}


class Counters:
    """The token counters of one engine. Threads may share it."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        """Create the counters that the settings name.

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
        """Return the counter of "NAME", "NAME:REST" or "FILE.tiktoken", created once.

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
        """Return the counter for a model; for "provider" its adapter's API counts.

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
                raise ConfigError(f'tokenizer = "provider" works with the adapter {able} only @ {place}')
            given = (model.model or alias, model.url or "", model.key_env or "")
            self._made[PROVIDER, alias] = self._kept(make("token counter", PROVIDERS, model.adapter, given, place))
        return self._made[PROVIDER, alias]

    def why(self, alias: str) -> str:
        """Return a line on how a model is counted, and how to count exactly; "" if the settings name the counter.

        Raises:
            ConfigError: as `of`.
        """
        if self._named(alias) != AUTO:
            return ""
        model, encoding = self._loaded.settings.model(alias), self._vocabulary(alias)
        if encoding:
            if self._own(alias).certificate == "exact":
                return "the model's own vocabulary"
            return f"its vocabulary is not on this machine; {how_to_get(encoding)}"
        if model.path or model.repo_id:
            exact = f'by its own vocabulary with models.{alias}.tokenizer = "llama_cpp:{model.path or "FILE.gguf"}"'
            return "by its own vocabulary once it is open" if model.adapter else exact
        if alias:
            return "no known vocabulary"
        try:
            known = _load("tiktoken:cached")(NEWEST)
        except ImportError:
            known = None
        line = "a model of OpenAI's, where a host names it, by its own vocabulary"
        return line if known else f"{line}, which is not on this machine; {how_to_get(NEWEST)}"

    def _named(self, alias: str) -> str:
        settings = self._loaded.settings
        return settings.model(alias).tokenizer or settings.budget.counter

    def _own(self, alias: str) -> TokenCounter:
        """Return the counter of a model's own vocabulary, or the default one if that is not on this machine."""
        encoding = self._vocabulary(alias)
        if encoding and (AUTO, encoding) not in self._made:
            try:
                self._made[AUTO, encoding] = self.named(f"tiktoken:{encoding}")
            except ConfigError:  # neither is here: `why` says how to get it
                self._made[AUTO, encoding] = self.named(DEFAULT)
        return self._made[AUTO, encoding] if encoding else self.named(DEFAULT)

    def _vocabulary(self, alias: str) -> str:
        """Return the published vocabulary of a model; "" if none is known."""
        model = self._loaded.settings.model(alias)
        is_called_so = model.adapter in _OPENAIS and not (model.path or model.repo_id or model.url)
        return vocabulary_of(model.model or alias) if is_called_so else ""

    def close(self) -> None:
        """Close their connections."""
        for counter in self._made.values():
            if isinstance(counter, KeepsCounts):
                counter.close()

    def _kept(self, made: TokenCounter) -> TokenCounter:
        """Let a counter over an API store its counts beside the sessions."""
        if isinstance(made, KeepsCounts) and (path := beside(self._loaded)):
            made.keep(f"{path}{COUNTS_SUFFIX}")
        return made

    def _place(self, spec: str) -> str:
        """Return the key that names a counter."""
        settings, source = self._loaded.settings, self._loaded.source
        aliases = [alias for alias, model in settings.models.items() if model.tokenizer == spec]
        is_common = settings.budget.counter == spec or not aliases
        return f"{source}.{'budget.counter' if is_common else f'models[{aliases[0]!r}].tokenizer'}"


def vocabulary_of(model: str) -> str:
    """Return the published vocabulary of an OpenAI model; "" if none is known."""
    name = _SERVED_BY.sub("", model.lower(), count=1)
    return next((encoding for encoding, names in VOCABULARIES.items() if names.match(name)), "")
