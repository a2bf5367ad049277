"""The composition root: settings -> adapters and extensions -> one wired engine. It imports what settings name."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from squidbot.config import core_values
from squidbot.core import events
from squidbot.core.budget import Ladder, ResolvedWindow, WindowSettings, open_window, read_tokens, window_below
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import ConfigError
from squidbot.core.events import Event
from squidbot.core.forgetting import FactRetraction
from squidbot.core.memories import NOBODY
from squidbot.core.memory.standing import said_in
from squidbot.core.settings import HistorySettings, strategy
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.memory import MemoryService, provider_of, retract
from squidbot.models import PLAIN_SOURCES, Catalog, LearnedWindows, learned_for, refused
from squidbot.wiring.claims import PLAN_CLAIM_SECONDS, claimed, wait
from squidbot.wiring.extensions import Hooks, learn_model, watched_model, window_of
from squidbot.wiring.journal import Journals
from squidbot.wiring.prompting import PromptLibrary
from squidbot.wiring.registry import (
    INDEXES,
    TIMERS,
    Counters,
    beside,
    check_offered,
    collected,
    make,
    relay_of,
    store_given,
    store_name,
)
from squidbot.wiring.turnlog import TurnLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.config import Loaded
    from squidbot.core.memories import Scope
    from squidbot.core.memory.view import Memories
    from squidbot.core.messages import ContextWindow
    from squidbot.core.ports import LLM, Codec, Embedder, TokenCounter
    from squidbot.core.summaries import SummarySettings
    from squidbot.core.vectors import VectorIndex
    from squidbot.wiring.extensions import Relay
    from squidbot.wiring.registry import Registry, Timer


class Wired:
    """An engine with its adapters, and what its sessions are opened from."""

    def __init__(self, loaded: Loaded, registry: Registry, relay: Relay, hooks: Hooks, pool: object = None) -> None:
        """Make the adapters that the settings name; use `wire`.

        Raises:
            ConfigError: an adapter is unknown, or its package is not installed.
            StoreError: the store can't be opened.
        """
        self.loaded = loaded
        self.relay = relay
        self.hooks = hooks
        # The aliases that extensions were asked about.
        self._asked: set[str] = set()
        self._registry = registry
        self._counters = Counters(loaded, registry)
        self._check_memory()
        path, key = loaded.settings.store.path, f"{loaded.source}.store.adapter"
        self.store = make("store", registry.stores, store_name(loaded), store_given(loaded, pool), key)
        # What files beside the store are named after; "" for none. For one in a file it is the file.
        self.place = beside(loaded)
        # Beside it: what is being forgotten now, if the store keeps no tasks itself; and the files written from it.
        self.pending = f"{self.place}-forgetting" if path else ""
        self.written = f"{self.place}-written" if self.place else ""
        retention = loaded.settings.snapshots.retention
        self.prompts = PromptLibrary(loaded, hooks)
        self.models = Catalog(loaded, registry, relay, self._counters.of)
        self.learned = LearnedWindows(self.store, relay)
        # Where turns are written for who looks for a fault; None for nowhere.
        self.turn_log: TurnLog | None = None
        self.remembering = MemoryService(
            loaded,
            registry,
            relay,
            hooks,
            embedder=self.embedder,
            index_of=self.vector_index,
            pool=pool,
            watch=relay.watch,
        )
        self.journals = Journals(loaded, relay)
        # The locks of appends, by session; one that no session has is gone.
        self._appends = WeakValueDictionary[str, "threading.RLock"]()
        alone = partial(claimed, self.store, kind="plan", seconds=PLAN_CLAIM_SECONDS)
        self.engine = ContextEngine(self.store, self.store, registry.codecs, relay, retention, wait, alone)
        if loaded.settings.debug.turn_log:
            named = loaded.settings.debug.turn_log
            self.log_turns(loaded.absolute(named), f"{loaded.source}.debug.turn_log")

    def _check_memory(self) -> None:
        """Check the adapters of facts by their names: they are made only when facts are used.

        Raises:
            ConfigError: one is unknown.
        """
        memory, place = self.loaded.settings.memory, f"{self.loaded.source}.memory"
        check_offered("memory provider", self._registry.memories, provider_of(self.loaded)[0], f"{place}.provider")
        if memory.embedder != "none" and not self.loaded.settings.model(memory.embedder).adapter:
            name = memory.embedder.partition(":")[0]
            check_offered("embedder", self._registry.embedders, name, f"{place}.embedder")
        for name in _indexes(memory.index):
            check_offered("index of vectors", self._registry.vector_indexes, name, f"{place}.index")

    def appends_of(self, session_id: str) -> threading.RLock:
        """Return the lock that this process's appends to a session hold (`one_by_one`)."""
        return self._appends.setdefault(session_id, threading.RLock())

    def log_turns(self, path: str, place: str = "--debug") -> None:
        """Write each turn of sessions that are opened from now on to a file, behind what stands there.

        Raises:
            ConfigError: it is a folder, or it has none to stand in; or a pattern of what is redacted is none.
        """
        self.turn_log = TurnLog(path, self.remembering.redactor, self.relay, place)

    @property
    def codecs(self) -> Mapping[str, Codec]:
        """The forms of messages, by tag."""
        return self._registry.codecs

    def counter(self, spec: str) -> TokenCounter:
        """Return the counter of "NAME", "NAME:REST" or "FILE.tiktoken"; the same one each time.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        return self._counters.named(spec)

    def meter(self, alias: str = "") -> Meter:
        """Return what counts the texts of a session with that model: its own vocabulary, once the model is open.

        Raises:
            ConfigError: there is no such counter, or its package is not installed.
        """
        settings = self.loaded.settings
        counter = self._opened_counter(alias) or self._counters.of(alias)
        words = self.loaded.policy and settings.budget.caps.unit == "words"
        return Meter(counter, builtin_counter("words") if words else None)

    def why_counted(self, alias: str = "") -> str:
        """Return in one line why `meter` counts as it does, and what would count exactly; "" where settings say so.

        Raises:
            ConfigError: as `meter`.
        """
        return "the model's own vocabulary" if self._opened_counter(alias) else self._counters.why(alias)

    def _opened_counter(self, alias: str) -> TokenCounter | None:
        opened = self.models.opened(alias)
        return opened.counter if opened and not self.loaded.settings.model(alias).tokenizer else None

    def window(self, alias: str = "", window_tokens: int | str | None = None) -> ContextWindow:
        """Return the window of a session with that model; `window_tokens` goes before all settings.

        Raises:
            ConfigError: a setting is out of its range, or the model's file is not there.
            ModelFileError: the model's file is damaged.
            BudgetError: window, reserve and safety share leave no token for input.
        """
        asked_tokens = None if window_tokens is None else read_tokens(window_tokens, "window_tokens")
        self._learn(alias)
        if asked_tokens is not None:
            return self._opened(alias, self.models.resolved(alias, asked_tokens))
        found = self._found(alias)
        name = learned_for(alias, self.loaded.settings.model(alias), found)
        return self._opened(alias, self.learned.within(found, name))

    def window_below_refusal(
        self, window: ContextWindow, refused_tokens: int, told_tokens: int | None = None
    ) -> ContextWindow:
        """Return the smaller window that a refusal has shown, kept for its model once something is recorded under it.

        `refused_tokens` is what was refused, `told_tokens` what the provider says of its window, None for nothing.

        Raises:
            BudgetError: window, reserve and safety share leave no token for input.
        """
        alias = window.model
        found = self._found(alias)
        name = learned_for(alias, self.loaded.settings.model(alias), found)
        window_tokens = window_below(window, refused_tokens, told_tokens)
        made = self._opened(alias, refused(found, window_tokens, refused_tokens), name)
        self.learned.await_kept(name, window_tokens)
        return made

    def _found(self, alias: str) -> ResolvedWindow:
        """Return the window of a model by settings, its file, its server and extensions."""
        found = self.models.resolved(alias)
        return self._resized(alias, found) if self.hooks.has("size_window") else found

    def _opened(self, alias: str, found: ResolvedWindow, name: str = "") -> ContextWindow:
        self.models.announce(alias, found)
        settings, meter = self.loaded.settings, self.meter(alias)
        model = settings.model(alias)
        asked = WindowSettings(
            window_tokens=found.window_tokens,
            reserved_output_tokens=self.prompts.reserved_tokens(found.window_tokens, model.max_tokens),
            safety_fraction=settings.window.safety_fraction,
            model_max_output_tokens=model.max_tokens,
            model=alias,
            source=found.source,
            model_parameters_billion=model.parameters_billion,
            detail="; ".join(found.steps) if found.steps[1:] or found.source not in PLAIN_SOURCES else "",
            learned_for=name,
        )
        return open_window(asked, meter.name, meter.certificate)

    def _learn(self, alias: str) -> None:
        """Ask extensions, once, about a model that the settings do not name."""
        if alias in self._asked:
            return
        self._asked.add(alias)

        def check() -> None:
            self._counters.of(alias)
            self.loaded.prices(alias)
            tokens, least = self.models.resolved(alias).window_tokens, self.loaded.settings.window.min
            if tokens < least:
                raise ConfigError(
                    f"a window of {tokens:,} tokens is smaller than window.min, {least:,}; raise it or lower that"
                )

        if name := learn_model(self.loaded, self.hooks, alias, check):
            self.relay.notify(Event(events.CONFIG_UPDATED, "", f"models.{alias} by the extension {name}", model=alias))

    def _resized(self, alias: str, found: ResolvedWindow) -> ResolvedWindow:
        """Return a window as extensions want it: less, but where nothing is known of the model."""
        limit, least = self.loaded.settings.model(alias).native_context_limit, self.loaded.settings.window.min
        most = limit if found.source in {"global-config", "default"} else found.window_tokens
        tokens, name = window_of(self.hooks, alias, found, (least, most))
        return (
            ResolvedWindow(tokens, "extension", (*found.steps, f"{tokens:,} by the extension {name}"))
            if name
            else found
        )

    def history(self, window: ContextWindow, scope: Scope = NOBODY) -> HistorySettings:
        """Return how a session of a scope keeps its history: the strategy, and every setting that is set."""
        loaded, settings = self.loaded, self.loaded.settings
        pressure, history = settings.pressure, settings.history
        tables = (settings.prompt, settings.images, settings.summary, pressure, history, loaded.prices(window.model))
        own = core_values(HistorySettings, *tables)
        own |= {"labels": history.labels_of(scope), "one_user": history.isolation != "global"}
        own["category_weights"] = settings.allocation.weights
        own["ladder"] = Ladder(**core_values(Ladder, pressure))
        if settings.window.safety_fraction is not None:
            own["calibrated_fraction"] = settings.window.safety_fraction
        if loaded.policy:
            own["cap"] = settings.budget.caps.left(0, 0, reduces=settings.budget.trim_rule == "ladder")
            own.setdefault("min_recent_messages", settings.budget.context_min_recent_messages)
        chosen = strategy(pressure.strategy, window.window_tokens - window.reserved_output_tokens)
        layout = settings.allocation.layout == "tiers"
        return chosen.resolved(own, window, tiers=pressure.tier_targets, layout=layout)

    def llm(self, key: str = "summary.llm") -> LLM:
        """Return the language model that a key (`*.llm`) names, made anew; an alias of an open model is that one.

        Raises:
            ConfigError: none is named, nobody offers it, or its package is not installed.
        """
        spec = getattr(self.loaded.settings, key.partition(".")[0]).llm
        if not spec:
            raise ConfigError(
                f"no language model set: set {key} to a model alias, or to NAME:MODEL (docs/summaries.md)"
            )
        if adapter := self.loaded.settings.model(spec).adapter:
            return watched_model(self.models.llm(spec), adapter, self.relay)
        name, _, rest = spec.partition(":")
        place = f"{self.loaded.source}.{key}"
        if name not in self._registry.llms:
            able = [alias for alias, model in self.loaded.settings.models.items() if model.adapter]
            known = ", ".join(sorted([*able, *self._registry.llms])) or "none"
            more = "use the alias of a model that has an adapter, or load an extension"
            raise ConfigError(f"unknown language model {name!r}, known: {known}; {more} @ {place}")
        return watched_model(make("language model", self._registry.llms, name, rest, place), name, self.relay)

    def embedder(self) -> Embedder | None:
        """Return what makes vectors of durable facts, made anew; None where `memory.embedder` is "none".

        An alias of a model that has an adapter is that model.

        Raises:
            ConfigError: nobody offers it, or its package is not installed.
        """
        spec, place = self.loaded.settings.memory.embedder, f"{self.loaded.source}.memory.embedder"
        if spec == "none":
            return None
        model = self.loaded.settings.model(spec)
        if model.adapter in self._registry.embedders and model.adapter not in self._registry.runtimes:
            spec = f"{model.adapter}:{model.model or spec}{f'@{model.url}' if model.url else ''}"
        elif model.adapter:
            return self.models.open(spec).embedder()
        name, _, rest = spec.partition(":")
        beside = self.loaded.absolute(rest) if rest else ""
        rest = beside if beside and Path(beside).exists() else rest
        return make("embedder", self._registry.embedders, name, rest, place)

    def vector_index(self, path: str, model: str, dimensions: int) -> VectorIndex:
        """Return what finds the nearest of a model's vectors, as `memory.index` says; `path` "" is none.

        Raises:
            ConfigError: nobody offers it, or its package is not installed.
        """
        offers, place = self._registry.vector_indexes, f"{self.loaded.source}.memory.index"
        given, name = (path, model, dimensions), self.loaded.settings.memory.index
        *firsts, last = _indexes(name)
        for one in firsts:
            check_offered("index of vectors", offers, one, place)
            with suppress(ConfigError):
                return make("index of vectors", offers, one, given, place)
        return make("index of vectors", offers, last, given, place)

    def summary_settings(self) -> SummarySettings:
        """Return what is to be summarized by a language model."""
        from squidbot.core.summaries import SummarySettings  # noqa: PLC0415  # no turn needs it

        return SummarySettings(keeps=self.prompts.keeps, **core_values(SummarySettings, self.loaded.settings.summary))

    def timer(self) -> Timer | None:
        """Return what calls for the periodic jobs; None where their own thread sees to it, or nobody.

        Raises:
            ConfigError: its package is not installed.
        """
        name = self.loaded.settings.summary.scheduler
        place = f"{self.loaded.source}.summary.scheduler"
        return make("scheduler", TIMERS, name, "", place) if name in TIMERS else None

    def memories(self, meter: Meter, scope: Scope, session_id: str = "", *, every_line: bool = False) -> Memories:
        """Return the durable facts that a scope sees; what is forgotten of them goes from what sessions were told, too.

        `every_line`: also those that stand only on lines that nobody talks on, marked, for people.

        Raises:
            ConfigError: memory is switched off, its provider is unknown, or a pattern is none.
            StoreError: the store can't be opened.
        """
        found = self.remembering.memories(meter, scope, session_id)
        return replace(found, forgot=self.retract, is_said=said_in(self.store), every_line=every_line)

    def retract(self, memory_ids: Iterable[str], replaced_by: str = "", reason: str = "") -> list[str]:
        """Take facts out of all that sessions of the store were told of them, and return the ids of these sessions.

        `replaced_by` has taken the place of one, and answers may quote it there. What fails is told by the event
        `degraded`: the next request of such a session tries again.
        """
        facts = FactRetraction(frozenset(memory_ids), frozenset({replaced_by} - {""}), reason, time.time())
        out_of = partial(self.engine.remove_facts, meter=self.meter(), facts=facts)
        return retract(self.store, facts.memories | facts.quoting, out_of, self.relay)

    def close(self) -> None:
        """Close the models that are open, and the store, if it is one that can be closed."""
        self.models.close()
        self._counters.close()
        self.remembering.close()
        close = getattr(self.store, "close", None)
        if callable(close):
            close()


def _indexes(said: str) -> Sequence[str]:
    """Return the indexes of vectors that `memory.index` names, the first one first."""
    return INDEXES if said == "auto" else [one.strip() for one in said.split(",")]


def wire(loaded: Loaded, extensions: Iterable[object] = (), pool: object = None) -> Wired:
    """Return an engine with the adapters that the settings name; `extensions` are modules or objects with hooks.

    `pool` is one of psycopg's, in place of a pool of the store's own.

    A name that squidbot does not bring itself is looked for among the entry points of the group "squidbot".

    Raises:
        ConfigError: an adapter or extension is unknown, is offered twice, has a misspelt hook, or its package is not
            installed.
        StoreError: the store can't be opened.
    """
    plugins, registry = collected(loaded, extensions)
    relay = relay_of(plugins, registry, loaded)
    return Wired(loaded, registry, relay, Hooks(plugins, relay), pool)
