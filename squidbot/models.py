"""The models that settings describe: their files, the windows that fit, and how they are opened."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common import providers
from squidbot.config import core_values
from squidbot.config.checks import AUTO_LAYERS
from squidbot.core import events
from squidbot.core.budget import ResolvedWindow, WindowSources, descending, resolve
from squidbot.core.errors import ConfigError, LLMError, ModelFileError, ModelLoadError, SizingError, StoreError
from squidbot.core.events import Event
from squidbot.core.ports import SupportsRecordSearch
from squidbot.core.sizing.fit import Bounds, fit, with_layers_that_fit
from squidbot.core.sizing.header import Card, Definition, Loading
from squidbot.core.sizing.memory import MIB, Reserved, measure, model_of
from squidbot.core.sizing.vram import Watch, fullness
from squidbot.core.transcript.windows import LEARNED, learned_tokens
from squidbot.wiring.registry import OPEN_FILES, check_offered, make

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.config import Loaded, ModelTable
    from squidbot.core.devices import Device, MainMemory, Probed, Vendor
    from squidbot.core.messages import Completion
    from squidbot.core.ports import LLM, LoadedModel, Observer, TokenCounter, TranscriptStore
    from squidbot.core.sizing.fit import Fit
    from squidbot.core.sizing.header import CardKind, Header, Served
    from squidbot.core.sizing.memory import ModelLayout, Sizing
    from squidbot.wiring.registry import Registry


# Where a model's file is, and how the settings want it loaded.


def model_file(loaded: Loaded, alias: str) -> str:
    """Return the absolute path of a model's file, the first one of several; "" for a model that a server has.

    A model of a hub is looked for in the folders to which the usual tools download; nothing is ever downloaded.

    Raises:
        ConfigError: the settings name half a file, or two; or the file of a hub is not there.
    """
    model, place = loaded.settings.model(alias), f"{loaded.source}.models[{alias!r}]"
    if (model.repo_id is None) != (model.filename is None):
        missing = "filename" if model.filename is None else "repo_id"
        raise ConfigError(f"repo_id and filename name a model together; {missing} is missing @ {place}")
    if model.path is not None and model.repo_id is not None:
        raise ConfigError(f"path and repo_id both name a file; keep one @ {place}")
    if model.path is not None:
        return loaded.absolute(model.path)
    if model.repo_id is None or model.filename is None:
        return ""
    from squidbot.adapters.hub import find_model  # noqa: PLC0415  # few models are from a hub

    try:
        return str(find_model(model.repo_id, model.filename))
    except ConfigError as error:
        raise ConfigError(f"{error} @ {place}") from error


def header_of(loaded: Loaded, alias: str) -> Header | None:
    """Return the header of a model's file; None for a model that a server has.

    Raises:
        ConfigError: as `model_file` does.
        ModelFileError: the file is damaged, or not there.
    """
    path = model_file(loaded, alias)
    if not path:
        return None
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # a model that a server has needs none

    try:
        return read_header(path)
    except ModelFileError as error:
        raise ModelFileError(f"{error} @ {loaded.source}.models[{alias!r}]") from error


def loading_of(loaded: Loaded, model: ModelTable, n_ctx: int = 0) -> Loading:
    """Return how a model is to be loaded with a window of `n_ctx` tokens (0: as trained); "auto" layers are all."""
    kv_type = model.kv_type or loaded.settings.window.kv_type
    own = {**core_values(Loading, model), "n_gpu_layers": max(model.n_gpu_layers, -1)}
    return Loading(n_ctx=n_ctx, type_k=kv_type, type_v=model.kv_type_v or kv_type, **own)


def projector_bytes(loaded: Loaded, alias: str) -> int:
    """Return the bytes of a vision model's projector; 0 where the settings name none.

    Raises:
        ConfigError: the file is not there.
        ModelFileError: the file is damaged.
    """
    projector = loaded.settings.model(alias).projector
    if not projector:
        return 0
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # as above

    return read_header(loaded.absolute(projector)).file_bytes


# A model opened: with a smaller window each time it does not load, and what was predicted beside what
# it set up.

# Runtimes tell the sizes of buffers in MiB with two digits behind the point: so much may be rounded away from each.
ROUNDED_BYTES = MIB // 100


class Opened(NamedTuple):
    """A model that is open, how it was asked for in the end, and in a sentence each what failed before."""

    model: LoadedModel
    definition: Definition
    failed: tuple[str, ...]


def open_model(opens: Callable[[Definition], LoadedModel], definition: Definition, min_tokens: int) -> Opened:
    """Return a model opened by `opens`; while it does not load, its window falls, down to `min_tokens` (C8).

    Raises:
        ModelLoadError: it did not load with any window; the text has each one that was tried.
        SquidbotError: what `opens` raises for any other reason: a smaller window would not mend it.
    """
    failed: list[str] = []
    tried: dict[str, list[str]] = {}
    asked = definition.loading.n_ctx
    for n_ctx in (asked, *descending(asked, min_tokens)):
        smaller = definition._replace(loading=replace(definition.loading, n_ctx=n_ctx))
        try:
            return Opened(opens(smaller), smaller, tuple(failed))
        except ModelLoadError as error:
            failed.append(f"{n_ctx:,} tokens: {error}")
            tried.setdefault(str(error), []).append(f"{n_ctx:,}")
            last = error
    said = "; ".join(f"with {', '.join(sizes)} tokens: {reason}" for reason, sizes in tried.items())
    raise ModelLoadError(f"{definition.alias!r} does not load with any window: {said}") from last


def differences(predicted: Sizing | None, served: Served) -> tuple[str, ...]:
    """Return in a sentence each where a runtime has set up something else than was predicted from the file's header.

    The cache must be equal, compute buffers must not be larger, and on GPUs weights must be equal: those in main memory
    are mapped from the file, with what lies between them. What the runtime does not tell is not compared.
    """
    if predicted is None:
        return ()
    exact = {"KV cache": (predicted.kv_bytes, served.kv_bytes)}
    exact["recurrent state"] = (predicted.recurrent_bytes, served.recurrent_bytes)
    exact["weights on GPUs"] = (
        sum(held.weights_bytes for held in predicted.devices if held.number >= 0),
        _gpus(served),
    )
    found = [
        f"{what}: {_mib(expected)} predicted, {_mib(sum(told.values()))} set up"
        for what, (expected, told) in exact.items()
        if told is not None and abs(sum(told.values()) - expected) > ROUNDED_BYTES * max(1, len(told))
    ]
    takes = sum((served.compute_bytes or {}).values())
    if takes > predicted.compute_bytes and predicted.compute_kind != "unknown":
        found.append(f"compute buffers: at most {_mib(predicted.compute_bytes)} predicted, {_mib(takes)} set up")
    return tuple(found)


def _gpus(served: Served) -> dict[str, int] | None:
    """Return the weights that a runtime has put on GPUs; None where it tells of none."""
    return {name: size for name, size in (served.weights_bytes or {}).items() if not name.startswith("CPU")} or None


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"


# What the server of a model says of it: its file's header, and the window that it is served with.

# A server that is asked when a session opens must not keep the user waiting.
PATIENCE_SECONDS = 2.0


class Behind(NamedTuple):
    """What there is to know of a model behind a server.

    Attributes:
        header: of its file, where the server is on this machine and tells it whole; else None.
        native_tokens: the window that it was trained with; None where unknown.
        served_tokens: the window that the server gives it now; None where unknown, or where the server is to be told.
        reason: why something is not known, in a sentence; "" where nothing is missing.
    """

    header: Header | None = None
    native_tokens: int | None = None
    served_tokens: int | None = None
    reason: str = ""


def behind(model: ModelTable, alias: str) -> Behind | None:
    """Return what the server of a model says of it; None for a model whose settings name no server of one's own.

    Waits for a few seconds at most, and loads nothing.

    Raises:
        ConfigError: the server's address is none.
    """
    name = model.model or alias
    if model.adapter == "ollama":
        return _ollama(model.url or "", name)
    if model.adapter == "anthropic":
        return _anthropic(model, name)
    if model.url is None or model.adapter not in (None, "openai"):
        return _told_by_nobody(model)
    from squidbot.adapters.servers import served_window  # noqa: PLC0415  # only models with an address need it

    key = os.environ.get(model.key_env or providers.USUAL_KEYS["openai"], "").strip() if model.adapter else ""
    found = served_window(model.url, name, api_key=key, seconds=PATIENCE_SECONDS)
    return Behind(served_tokens=found.tokens, reason=found.reason)


def _told_by_nobody(model: ModelTable) -> Behind | None:
    """Return what is known of a model whose provider tells no window; None of any other."""
    if model.adapter != "openai" or model.context_window is not None:
        return None
    return Behind(reason="OpenAI does not tell the window of its models; set context_window beside the model")


def _anthropic(model: ModelTable, name: str) -> Behind | None:
    """Return what Anthropic tells of a model; it is not asked where somebody has said how large its window is."""
    if model.context_window is not None:
        return None
    try:
        from squidbot.adapters.anthropic import AnthropicAccount, AnthropicModel  # noqa: PLC0415  # as above
    except ImportError as error:
        return Behind(reason=f"the window is not known before the package is there: {error}")
    patience = providers.Patience(PATIENCE_SECONDS, PATIENCE_SECONDS, retries=0)
    try:
        account = AnthropicAccount(model.url or "", patience=patience, key_name=model.key_env or "")
        asked = AnthropicModel(name, account=account)
    except ConfigError as error:
        return Behind(reason=str(error))
    try:
        tokens, reason = asked.described()
    finally:
        asked.close()
    return Behind(served_tokens=tokens, reason=reason)


def _ollama(url: str, name: str) -> Behind:
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # as above
    from squidbot.adapters.ollama import OllamaPatience, Wire, read_facts  # noqa: PLC0415  # as above

    wire = Wire(url, OllamaPatience(PATIENCE_SECONDS, PATIENCE_SECONDS))
    try:
        facts = read_facts(wire, name, whole=wire.is_here)
    except LLMError as error:
        return Behind(reason=str(error))
    if not wire.is_here:
        return Behind(None, facts.native_tokens, reason=f"{wire.url} is another machine, whose memory is not known")
    if facts.header.tensors:
        return Behind(facts.header, facts.native_tokens)
    try:
        return Behind(read_header(facts.path), facts.native_tokens)
    except ModelFileError as error:
        return Behind(None, facts.native_tokens, reason=f"{wire.url} does not tell the tensors of {name}: {error}")


# The GPUs under a model that is open, looked at now and then; what they are short of is told, and
# changes nothing.


class MemoryWatch:
    """Looks at devices each `interval_seconds`, in a thread of its own that ends with the process, or by `close`."""

    def __init__(
        self, probe: Callable[[], Probed], observer: Observer, margin_bytes: int, interval_seconds: float
    ) -> None:
        """Take the first look: how full devices are now is the open model's own doing."""
        self._probe = probe
        self._observer = observer
        self._interval_seconds = interval_seconds
        devices = probe().devices
        self._watch = Watch.opened(devices, margin_bytes)
        self._opened = "after loading " + ", ".join(map(fullness, devices)) if devices else ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="squidbot-memory", daemon=True)

    @property
    def sees(self) -> bool:
        """Whether there is any device to look at."""
        return bool(self._watch.devices)

    @property
    def opened(self) -> str:
        """How full each device was at the first look, in a sentence: right after a model was loaded."""
        return self._opened

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def look(self, now: float) -> None:
        """Look once, at `now`, in seconds since 1970, and tell what is to be told."""
        notices, self._watch = self._watch.look(self._probe().devices, now)
        for one in notices:
            self._observer.notify(Event(one.name, "", one.cause, fraction=one.fraction))

    def close(self) -> None:
        """End it; a look that is being taken is waited for."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_seconds):
            self.look(time.time())


# What is known of each model by its alias, and the models that are open.

# llama.cpp's server tries a model with two tokens at once before anything else.
LEAST_BATCH = 2


class _Open(NamedTuple):
    """A model that is open, and the window that its sessions have."""

    opened: Opened
    resolved: ResolvedWindow


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
                # a host of an API needs none
                from squidbot.wiring.gpus import Machine  # noqa: PLC0415  # as above

                cards = cards_of(self.probed(), Machine().main_memory())
                self._sized[alias] = size_window(self._loaded, alias, header, cards)
            return self._sized[alias]

    def resolved(self, alias: str, asked_tokens: int | None = None) -> ResolvedWindow:
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
        return ResolvedWindow(asked_tokens, "manual", (f"{asked_tokens:,} of {has:,} tokens asked for by the caller",))

    def loading(self, alias: str) -> Loading:
        """Return how a model is to be loaded: the window always named, and layers as many as fit where they are "auto".

        Raises:
            ConfigError: as `resolved` does.
            ModelFileError: as `resolved` does.
        """
        from squidbot.core.sizing.memory import CELLS_STEP  # noqa: PLC0415  # a host of an API needs none

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

    def _known(self, alias: str, asked_tokens: int | None = None) -> WindowSources:
        settings = self._loaded.settings
        model, window = settings.model(alias), settings.window
        sized = self.sized(alias) if asked_tokens is None else None
        told = self._behind(alias) or Behind()
        global_tokens = window.default if self._loaded.sets("window", "default") else None
        picked = asked_tokens or model.context_window or global_tokens
        native = [model.native_context_limit, self._trained(alias, sized, picked), told.native_tokens]
        return WindowSources(
            asked_tokens=asked_tokens,
            model_tokens=model.context_window,
            global_tokens=global_tokens,
            native_tokens=min((tokens for tokens in native if tokens), default=None),
            sized_tokens=sized.window_tokens if sized else None,
            sized_source=sized.source if sized else "auto-vram",
            sized_reason=sized.reason if sized else told.reason,
            served_tokens=told.served_tokens,
            sizing=window.sizing,
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
        """Return a model with how full it has left the devices, where they are watched: a window has it, too."""
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
    from squidbot.core.sizing.memory import check_loading  # noqa: PLC0415  # as above

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


def _served(resolved: ResolvedWindow, found: Opened) -> ResolvedWindow:
    """Return the window of sessions with a model as it was opened."""
    asked = found.definition.loading.n_ctx
    if found.failed:
        steps = (*resolved.steps, *(f"did not load with {said}" for said in found.failed), f"loaded with {asked:,}")
        resolved = ResolvedWindow(asked, "load-retry", steps)
    served = found.model.served.window_tokens
    if served is None or served >= resolved.window_tokens:
        return resolved
    return ResolvedWindow(served, "served", (*resolved.steps, f"cut to {served:,}: what the runtime gives the model"))


# Windows that refusals have shown to be smaller than settings say, found where sessions are kept.

# What `ResolvedWindow.source` calls it.
SOURCE = "overflow"
# Windows that somebody has named: the source says all.
PLAIN_SOURCES = ("manual", "model-definition", "global-config", "default")


def learned_for(alias: str, model: ModelTable, found: ResolvedWindow) -> str:
    """Return what a learned window is learned for: the model behind an alias, and the window that settings give it.

    Where either becomes another, what was learned holds no longer.
    """
    return f"{model.model or alias}@{model.url or model.adapter or ''} {found.window_tokens}"


def refused(found: ResolvedWindow, window_tokens: int, refused_tokens: int) -> ResolvedWindow:
    """Return the smaller window that a refusal of so many tokens has shown, in the place of the one that was found."""
    step = f"cut to {window_tokens:,}: the provider refused {refused_tokens:,}"
    return ResolvedWindow(window_tokens, SOURCE, (*found.steps, step))


class Discoveries:
    """Tells of windows that nobody has named: found out of a file, a server, by extensions, or by a refusal."""

    def __init__(self, observer: Observer) -> None:
        """Nothing was found yet."""
        self._observer = observer
        self._told: dict[str, tuple[int, str]] = {}

    def tell(self, alias: str, found: ResolvedWindow) -> None:
        """Tell of the window of a model, once, and again where another one is found."""
        if found.source in PLAIN_SOURCES or self._told.get(alias) == found[:2]:
            return
        self._told[alias] = found[:2]
        cause, tokens = f"{found.source}: {'; '.join(found.steps)}", found.window_tokens
        told = Event(events.CONTEXT_DISCOVERED, "", cause, tokens_before=tokens, tokens_after=tokens, model=alias)
        self._observer.notify(told)


class LearnedWindows:
    """What the sessions of a store have learned; looked for once for each model, and until what is awaited is kept."""

    def __init__(self, store: TranscriptStore, observer: Observer) -> None:
        """Look nothing up yet; a store that can't find sessions by what their records say has none."""
        self._store = store
        self._observer = observer
        self._known: dict[str, int | None] = {}
        # What sessions of this process are about to keep; others may have kept less.
        self._awaited: dict[str, int] = {}

    def within(self, found: ResolvedWindow, name: str) -> ResolvedWindow:
        """Return a window as refusals have shown it; `name` is what it is learned for."""
        if name not in self._known or name in self._awaited:
            self._known[name] = self._looked_up(name)
        tokens = self._known[name]
        if tokens is not None and tokens <= self._awaited.get(name, 0):
            self._awaited.pop(name, None)
        if tokens is None or tokens >= found.window_tokens:
            return found
        step = f"cut to {tokens:,}: the provider refused more before"
        return ResolvedWindow(tokens, SOURCE, (*found.steps, step))

    def await_kept(self, name: str, window_tokens: int) -> None:
        """Look again until that window is kept for a name: a session will, once something is answered in it."""
        self._awaited[name] = window_tokens

    def _looked_up(self, name: str) -> int | None:
        store = self._store
        if not isinstance(store, SupportsRecordSearch):
            return None
        try:
            sessions = store.sessions_with(LEARNED.name, [json.dumps(name, ensure_ascii=False)])
            return learned_tokens((one for each in sessions for one in LEARNED.all(store, each)), name)
        except StoreError as error:
            self._observer.notify(Event(events.DEGRADED, "", f"learned windows were not read: {error}"))
            return None


# The window of a model with a file: the file's header, the devices and the settings -> a size, and
# why.

# By whose rules llama.cpp allocates on a vendor's devices, as its usual builds do.
KINDS: dict[Vendor, CardKind] = {
    "nvidia": "cuda",
    "amd": "hip",
    "apple": "metal",
    "intel": "sycl",
    "other": "vulkan",
}
UNTOLD = "how much memory is free is not told by each device; squidbot status says by which"
BOUNDS = {
    "vram": "the free memory of the GPUs",
    "memory": "free main memory",
    "native-limit": "what the model was trained with",
    "model-cap": "context_window",
    "window.max": "window.max",
}


class Sized(NamedTuple):
    """The size of one model's window.

    Attributes:
        window_tokens: None where none fits, or nothing can be said.
        source: "auto-vram", or "auto-ram" where there is no GPU.
        reason: in a sentence how the window came about, or why there is none.
        native_tokens: what the model was trained with; None where the file does not say.
        loading: how it is to be loaded, but for the window.
        cards: the devices that it was sized for.
        fit: all that was worked out; None where nothing can be said.
    """

    window_tokens: int | None
    source: str
    reason: str
    native_tokens: int | None
    loading: Loading
    cards: tuple[Card, ...]
    reserved: Reserved
    model: ModelLayout | None = None
    fit: Fit | None = None

    def predicted(self, loading: Loading) -> Sizing | None:
        """Return what the model takes when it is loaded so; None where that can't be said."""
        return measure(self.model, loading, self.cards, self.reserved) if self.model else None


def cards_of(probed: Probed, main: MainMemory | None) -> tuple[Card, ...]:
    """Return the devices that a model can be put on: GPUs in their order, and main memory behind them.

    A runtime is built for one vendor: of GPUs of several, those of the vendor whose have most free. Where one of these
    does not tell what is free, none is returned, nor main memory: a runtime would use it all the same.
    """
    free: dict[Vendor, int] = {}
    for one in probed.devices:
        free[one.vendor] = free.get(one.vendor, 0) + (one.free_bytes or 0)
    vendor = max(free, key=lambda name: free[name], default="other")
    used = [one for one in probed.devices if one.vendor == vendor]
    cards = [
        Card(KINDS[one.vendor], one.free_bytes, _name(one), one.unified) for one in used if one.free_bytes is not None
    ]
    if len(cards) < len(used):
        return ()
    return (*cards, *([Card("cpu", main.available_bytes, "main memory")] if main else []))


def size_window(loaded: Loaded, alias: str, header: Header, cards: tuple[Card, ...]) -> Sized:
    """Return the window of a model with that header on devices as they are now; that none fits is an answer, too.

    Raises:
        ConfigError: llama.cpp would not load it in this way, or the projector is not there.
        ModelFileError: the header is wrong.
    """
    settings, wanted = loaded.settings, loaded.settings.model(alias)
    on_gpus = any(card.kind != "cpu" for card in cards)
    loading = loading_of(loaded, wanted)
    if not on_gpus and loading.n_gpu_layers < 0 and wanted.adapter != "ollama":
        # All of it was sized for main memory: a GPU that nobody has found, or is to use, must not get it.
        loading = replace(loading, n_gpu_layers=0)
    reserved = Reserved(settings.window.vram_margin_mib * MIB, projector_bytes(loaded, alias))
    source = "auto-vram" if on_gpus else "auto-ram"
    blank = Sized(None, source, "", header.number("context_length", 0) or None, loading, cards, reserved)
    if not cards:
        return blank._replace(loading=loading_of(loaded, wanted), reason=UNTOLD)
    try:
        model = model_of(header)
    except SizingError as error:
        return blank._replace(reason=str(error))
    try:
        found = _fitted(loaded, wanted, model, blank)
    except ConfigError as error:
        raise ConfigError(f"{error} @ {loaded.source}.models[{alias!r}]") from error
    return blank._replace(
        window_tokens=found.window_tokens,
        reason=_reason(found),
        loading=found.sizing.loading,
        model=model,
        fit=found,
    )


def _fitted(loaded: Loaded, wanted: ModelTable, model: ModelLayout, blank: Sized) -> Fit:
    """Return the largest window; where none fits and layers are "auto", that of as many as hold the smallest.

    Raises:
        ConfigError: llama.cpp would not load it in this way.
    """
    window, cap = loaded.settings.window, wanted.context_window
    # A definition may ask for less than sizing would ever choose; all other caps are applied to what fits.
    least = min(window.min, cap or window.min)
    bounds = Bounds(least, window.max, cap if least == cap else None)
    loading = blank.loading
    if wanted.n_gpu_layers == AUTO_LAYERS:
        loading = with_layers_that_fit(model, loading, blank.cards, bounds, blank.reserved)
    return fit(model, loading, blank.cards, bounds, blank.reserved)


def _reason(found: Fit) -> str:
    if found.window_tokens is None:
        more = f'; n_gpu_layers = "auto" would put {found.n_gpu_layers} of them there' if found.n_gpu_layers else ""
        return f"does not fit: {found.reason}{more}"
    sizing, layers = found.sizing, found.sizing.loading.n_gpu_layers
    taken = f"{sizing.total_bytes / MIB:,.1f} MiB for weights, cache and compute buffers"
    gpus = len(sizing.devices) > 1
    partial = f", {layers} of {sizing.blocks + 1} layers on GPUs" if gpus and 0 <= layers <= sizing.blocks else ""
    bound = BOUNDS[found.bound_by] if found.bound_by else ""
    return f"{found.window_tokens:,} tokens fit, bound by {bound}: {taken}{partial}"


def _name(device: Device) -> str:
    return f"{device.number}: {device.name}" if device.name else str(device.number)
