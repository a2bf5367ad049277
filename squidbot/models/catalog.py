"""What is known of each model by its alias, and the models that are open."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.builtin import OPEN_FILES
from squidbot.core import events
from squidbot.core.budget.resolution import Known, Resolved, resolve
from squidbot.core.errors import ConfigError, LLMError, ModelFileError, ModelLoadError, SizingError
from squidbot.core.events import Event
from squidbot.core.sizing.context import Definition
from squidbot.models.files import header_of, loading_of, model_file
from squidbot.models.opening import MIB, differences, open_model
from squidbot.models.servers import Behind, behind
from squidbot.models.watching import MemoryWatch
from squidbot.offers import check_offered, make

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.config import Loaded
    from squidbot.core.devices import Probed
    from squidbot.core.messages import Completion
    from squidbot.core.ports import LLM, LoadedModel, Observer, TokenCounter
    from squidbot.core.sizing.context import Loading
    from squidbot.core.sizing.header import Header
    from squidbot.models.opening import Opened
    from squidbot.models.windows import Sized
    from squidbot.offers import Registry

__all__ = ["Catalog"]

# llama.cpp's server tries a model with two tokens at once before anything else.
LEAST_BATCH = 2


class _Open(NamedTuple):
    """A model that is open, and the window that its sessions have."""

    opened: Opened
    resolved: Resolved


class Catalog:
    """The models of one engine. Devices are looked at once, and again right before a model is opened, and after."""

    def __init__(
        self, loaded: Loaded, registry: Registry, observer: Observer, counter: Callable[[str], TokenCounter]
    ) -> None:
        """Take what the settings say, and what opens models and looks for devices.

        `counter` returns what the settings count with for the model of an alias.
        """
        self._loaded = loaded
        self._counter = counter
        self._registry = registry
        self._observer = observer
        self._probed: Probed | None = None
        self._sized: dict[str, Sized] = {}
        self._told: dict[str, Behind | None] = {}
        self._open: dict[str, _Open] = {}
        self._watch: MemoryWatch | None = None
        # Opening may take minutes, and two threads must not load the same model.
        self._lock = threading.RLock()

    def check(self, alias: str) -> None:
        """Check that somebody offers the adapter of a model, if it has any.

        Raises:
            ConfigError: nobody does; the text says what there is.
        """
        adapter = self._loaded.settings.model(alias).adapter
        if adapter is not None:
            check_offered(
                "runtime", self._registry.runtimes, adapter, f"{self._loaded.source}.models[{alias!r}].adapter"
            )

    def probed(self, *, again: bool = False) -> Probed:
        """Return what devices there are; `again` looks anew.

        Raises:
            ConfigError: `gpu.probe` names a source that nobody offers.
        """
        with self._lock:
            if self._probed is None or again:
                self._probed = self._look()
            return self._probed

    def sized(self, alias: str) -> Sized | None:
        """Return the size of a model on this machine, worked out once; None of others, and where none is wanted.

        Raises:
            ConfigError: the settings contradict themselves, or the file of a hub is not there.
            ModelFileError: the file is damaged, or not there.
        """
        if self._loaded.settings.window.sizing == "manual":
            return None
        with self._lock:
            if alias not in self._sized:
                header = header_of(self._loaded, alias)
                if header is None and (told := self._behind(alias)) is not None:
                    header = told.header
                if header is None:
                    return None
                from squidbot.models.windows import cards_of, size_window  # noqa: PLC0415  # a host of an API needs none
                from squidbot.probes import Machine  # noqa: PLC0415  # as above

                cards = cards_of(self.probed(), Machine().main_memory())
                self._sized[alias] = size_window(self._loaded, alias, header, cards)
            return self._sized[alias]

    def resolved(self, alias: str, asked_tokens: int | None = None) -> Resolved:
        """Return the window of sessions with that model; `asked_tokens` goes before all else.

        Raises:
            ConfigError: the settings contradict themselves, the file of a hub is not there, or more is asked for than
                the model was opened with.
            ModelFileError: the file is damaged, or not there.
        """
        held = self._open.get(alias)
        if held is None:
            return resolve(self._known(alias, asked_tokens))
        has = held.resolved.window_tokens
        if asked_tokens is None:
            return held.resolved
        if asked_tokens > has:
            raise ConfigError(f"{alias!r} is open with a window of {has:,} tokens, not {asked_tokens:,}; ask for less")
        return Resolved(asked_tokens, "manual", (f"{asked_tokens:,} of {has:,} tokens asked for by the caller",))

    def loading(self, alias: str) -> Loading:
        """Return how a model is to be loaded: the window always named, and layers as many as fit where they are "auto".

        Raises:
            ConfigError: as `resolved` does.
            ModelFileError: as `resolved` does.
        """
        from squidbot.core.sizing.cells import CELLS_STEP  # noqa: PLC0415  # a host of an API needs none

        held = self._open.get(alias)
        if held is not None:
            return held.opened.definition.loading
        sized, model = self.sized(alias), self._loaded.settings.model(alias)
        loading = sized.loading if sized else loading_of(self._loaded, model)
        # llama.cpp makes whole steps of any window, and cuts its batches to what it was asked for.
        return replace(loading, n_ctx=max(self.resolved(alias).window_tokens, CELLS_STEP))

    def opened(self, alias: str) -> LoadedModel | None:
        """Return a model if it is open."""
        held = self._open.get(alias)
        return held.opened.model if held else None

    def open(self, alias: str) -> LoadedModel:
        """Return a model, opened by its adapter at the first call and held until `close`.

        Raises:
            ConfigError: the settings name no adapter for it, no file, or contradict themselves; the adapter's package
                is not installed.
            ModelFileError: the file is damaged, or not there.
            ModelLoadError: it does not load with any window that is allowed.
            LLMError: its server was not reached.
        """
        with self._lock:
            if alias not in self._open:
                self._open[alias] = self._opening(alias)
                # It holds memory from now on: others are sized by what it leaves.
                self._sized = {name: sized for name, sized in self._sized.items() if name in self._open}
                self._probed = None
                self.watch()
                self._open[alias] = self._filled(self._open[alias])
            return self._open[alias].opened.model

    def llm(self, alias: str) -> LLM:
        """Return a model as what writes summaries; it is opened when it is asked for the first."""
        return _Opening(self, alias)

    def watch(self) -> None:
        """Look at the devices from now on, and tell when memory runs short; how full they are now is as it should be.

        Nothing is done where there is no GPU, or `gpu.watch_seconds` is 0.

        Raises:
            ConfigError: `gpu.probe` names a source that nobody offers.
        """
        settings = self._loaded.settings
        with self._lock:
            self._unwatch()
            if not settings.gpu.watch_seconds or not self.probed().devices:
                return
            margin_bytes = settings.window.vram_margin_mib * MIB
            self._watch = MemoryWatch(self._look, self._observer, margin_bytes, settings.gpu.watch_seconds)
            if self._watch.sees:
                self._watch.start()

    def close(self) -> None:
        """Close all models that are open, and look at no device any more."""
        with self._lock:
            self._unwatch()
            while self._open:
                self._open.popitem()[1].opened.model.close()

    def _look_anew(self, alias: str) -> None:
        """Forget what was found of a model, of its server and of devices: another time it may be otherwise."""
        self._sized.pop(alias, None)
        self._told.pop(alias, None)
        self._probed = None

    def _look(self) -> Probed:
        """Return what devices there are now; what was sized for stays as it was."""
        name, place = self._loaded.settings.gpu.probe, f"{self._loaded.source}.gpu.probe"
        return make("GPU probe", self._registry.probes, name, "", place).probe()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _known(self, alias: str, asked_tokens: int | None = None) -> Known:
        settings = self._loaded.settings
        model, window = settings.model(alias), settings.window
        sized = self.sized(alias) if asked_tokens is None else None
        told = self._behind(alias) or Behind()
        global_tokens = window.default if self._loaded.sets("window", "default") else None
        picked = asked_tokens or model.context_window or global_tokens
        native = [model.native_context_limit, self._trained(alias, sized, picked), told.native_tokens]
        return Known(
            asked_tokens=asked_tokens,
            model_tokens=model.context_window,
            global_tokens=global_tokens,
            native_tokens=min((tokens for tokens in native if tokens), default=None),
            sized_tokens=sized.window_tokens if sized else None,
            sized_source=sized.source if sized else "auto-vram",
            sized_reason=sized.reason if sized else told.reason,
            served_tokens=told.served_tokens,
            sizing=window.sizing,  # type: ignore[arg-type]  # one of them, checked when it was read
            min_tokens=window.min,
        )

    def _trained(self, alias: str, sized: Sized | None, picked_tokens: int | None) -> int | None:
        """Return the window that a model was trained with, as its file says, unless somebody has picked another."""
        if sized is not None:
            return sized.native_tokens
        header = None if picked_tokens else header_of(self._loaded, alias)
        return header.number("context_length", 0) or None if header else None

    def _behind(self, alias: str) -> Behind | None:
        """Return what a model's server says of it, asked once."""
        if alias not in self._told:
            self._told[alias] = behind(self._loaded.settings.model(alias), alias)
        return self._told[alias]

    def _opening(self, alias: str) -> _Open:
        model = self._loaded.settings.model(alias)
        place = f"{self._loaded.source}.models[{alias!r}]"
        if model.adapter is None:
            known = ", ".join(sorted(self._registry.runtimes))
            raise ConfigError(f"no adapter opens it; set adapter to one of {known} @ {place}")
        self.check(alias)
        self._look_anew(alias)
        path = model_file(self._loaded, alias)
        if not path and model.adapter in OPEN_FILES:
            raise ConfigError(f"{model.adapter} opens files; set path, or repo_id and filename @ {place}")
        if model.options and model.adapter in OPEN_FILES:
            raise ConfigError(f"{model.adapter} takes no options; remove them @ {place}.options")
        definition = self._definition(alias, path)
        definition = definition._replace(checked=_checked(definition, place, here=model.adapter in OPEN_FILES))
        resolved, counter = self.resolved(alias), self._counter(alias)

        def opens(asked: Definition) -> LoadedModel:
            try:
                return make("runtime", self._registry.runtimes, model.adapter or "", (asked, counter), place)
            except ConfigError as error:
                raise error if " @ " in str(error) else ConfigError(f"{error} @ {place}") from error

        found = open_model(opens, definition, min(self._loaded.settings.window.min, definition.loading.n_ctx))
        self._compare(alias, found)
        return _Open(found, _served(resolved, found))

    def _definition(self, alias: str, path: str) -> Definition:
        """Return what opens a model, as the settings have it."""
        model = self._loaded.settings.model(alias)
        return Definition(
            alias,
            path,
            self.loading(alias),
            model.model or alias,
            model.url or "",
            model.max_tokens,
            api=model.api or "",
            key_env=model.key_env or "",
            options=model.options,
        )

    def _filled(self, held: _Open) -> _Open:
        """Return a model with how full it has left the devices, where they are watched: a lease has it, too."""
        steps = (self._watch.opened,) if self._watch is not None and self._watch.opened else ()
        return held._replace(resolved=held.resolved._replace(steps=(*held.resolved.steps, *steps)))

    def _compare(self, alias: str, found: Opened) -> None:
        """Tell where a runtime has set up something else than was predicted."""
        sized = self._sized.get(alias)
        if sized is None:
            return
        for said in differences(sized.predicted(found.definition.loading), found.model.served):
            self._observer.notify(Event(events.SIZING_DIFFERS, "", f"{alias}: {said}"))


class _Opening:
    """A model of the settings as a language model: opened at the first question."""

    def __init__(self, catalog: Catalog, alias: str) -> None:
        self._catalog = catalog
        self._alias = alias

    @property
    def name(self) -> str:
        """The alias."""
        return self._alias

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer; that it can't be opened is an LLMError, because another time it may be."""
        try:
            model = self._catalog.open(self._alias)
        except (ConfigError, ModelFileError, ModelLoadError) as error:
            raise LLMError("unreachable", str(error)) from error
        return model.complete(system, prompt, max_output_tokens)


def _checked(definition: Definition, place: str, *, here: bool) -> bool:
    """Return whether a file is known to load as it is asked for: llama.cpp ends its process where some of it is wrong.

    `here` says whether that process is ours.

    Raises:
        ConfigError: it can't be.
        ModelFileError: the file is damaged, or not there.
    """
    if not definition.path:
        return False
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # only who opens a file needs it
    from squidbot.core.sizing.validity import check_loading  # noqa: PLC0415  # as above

    try:
        header = read_header(definition.path)
        if here:
            _check_chat(header, definition)
        check_loading(header, definition.loading)
    except (ConfigError, ModelFileError) as error:
        raise type(error)(f"{error} @ {place}") from error
    except SizingError:
        return False  # of an unknown layout nothing can be said before it is loaded
    return True


def _check_chat(header: Header, definition: Definition) -> None:
    """Check what llama.cpp's server (commit 0c1e57098) dies of that chats with a model, and llama.cpp itself does not.

    Raises:
        ConfigError: batches of one token.
        ModelFileError: there is no vocabulary.
    """
    if header.metadata.get("tokenizer.ggml.tokens") is None:
        raise ModelFileError(f"{definition.path} has no vocabulary: it can be told no text; take a whole model file")
    if definition.loading.n_batch < LEAST_BATCH:
        raise ConfigError(f"n_batch must be {LEAST_BATCH} or more, not {definition.loading.n_batch}")


def _served(resolved: Resolved, found: Opened) -> Resolved:
    """Return the window of sessions with a model as it was opened."""
    asked = found.definition.loading.n_ctx
    if found.failed:
        steps = (*resolved.steps, *(f"did not load with {said}" for said in found.failed), f"loaded with {asked:,}")
        resolved = Resolved(asked, "load-retry", steps)
    served = found.model.served.window_tokens
    if served is None or served >= resolved.window_tokens:
        return resolved
    return Resolved(served, "served", (*resolved.steps, f"cut to {served:,}: what the runtime gives the model"))
