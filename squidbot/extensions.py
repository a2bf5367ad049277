"""Finds what settings name among installed distributions, and collects what all of them offer, and who listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from squidbot import hookspecs
from squidbot.builtin import BuiltIn
from squidbot.core.errors import ConfigError
from squidbot.hooks import implementations
from squidbot.hookspecs import PROJECT
from squidbot.offers import Registry, make
from squidbot.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from squidbot.config import Loaded
    from squidbot.hooks import Implementation

__all__ = ["AUTO", "DEFAULT", "PROVIDER", "collected", "counter_specs", "relay_of", "split_spec", "store_name"]

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
    for one in implementations(plugins, "register_adapters"):
        try:
            one.called({"register": registry})
        except ConfigError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ConfigError(f"the extension {one.name} failed at register_adapters: {said}") from error
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
    return [(one.name, _call(one, argument)) for one in implementations(plugins, hook)]


def _call(one: Implementation, argument: str) -> Callable[[object], object]:
    return lambda value: one.called({argument: value})
