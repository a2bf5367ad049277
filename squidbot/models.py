"""The models that settings describe: their files, the windows that fit, and how they are opened."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import closing
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
from squidbot.core.sizing.fit import Bounds, WindowSearch
from squidbot.core.sizing.header import Card, Definition, Loading
from squidbot.core.sizing.memory import CELLS_STEP, MIB, ReservedMemory, check_loading, measure, model_of
from squidbot.core.sizing.vram import Watch, fullness
from squidbot.core.transcript.windows import LEARNED, learned_tokens
from squidbot.wiring.registry import OPEN_FILES, check_offered, make

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.config import Loaded, ModelTable
    from squidbot.core.devices import MainMemory, ProbeResult, Vendor
    from squidbot.core.messages import Completion
    from squidbot.core.ports import LLM, LoadedModel, Observer, TokenCounter, TranscriptStore
    from squidbot.core.sizing.fit import Fit
    from squidbot.core.sizing.header import CardKind, Header, RuntimeReport
    from squidbot.core.sizing.memory import ModelLayout, Sizing
    from squidbot.wiring.registry import Registry


def place_of(loaded: Loaded, alias: str) -> str:
    """Return where the settings define a model."""
    return f"{loaded.source}.models[{alias!r}]"


def model_file(loaded: Loaded, alias: str) -> str:
    """Return the absolute path of a model's file, of several parts the first; "" for a model that a server has.

    A model of a hub is looked for in the folders to which the usual tools download; nothing is ever downloaded.

    Raises:
        ConfigError: the settings name half a file, or two; or the file of a hub is not there.
    """
    model, place = loaded.settings.model(alias), place_of(loaded, alias)
    if (model.repo_id is None) != (model.filename is None):
        missing = "filename" if model.filename is None else "repo_id"
        raise ConfigError(f"repo_id and filename name a model together; {missing} is missing @ {place}")
    if model.path is not None and model.repo_id is not None:
        raise ConfigError(f"path and repo_id both name a file; keep one @ {place}")
    if model.path is not None:
        return loaded.absolute(model.path)
    if model.repo_id is None or model.filename is None:
        return ""
    from squidbot.adapters.hub import find_model  # noqa: PLC0415  # most models are files of their own

    try:
        return str(find_model(model.repo_id, model.filename))
    except ConfigError as error:
        raise ConfigError(f"{error} @ {place}") from error


def read_header(path: str) -> Header:
    """Return the header of a GGUF file; as `adapters.gguf.read_header`, which is imported only here."""
    from squidbot.adapters import gguf  # noqa: PLC0415  # 11 ms of a start, which no model behind an API needs

    return gguf.read_header(path)


def header_of(loaded: Loaded, alias: str) -> Header | None:
    """Return the header of a model's file; `None` for a model that a server has.

    Raises:
        ConfigError: as `model_file`.
        ModelFileError: the file is damaged, or not there.
    """
    path = model_file(loaded, alias)
    try:
        return read_header(path) if path else None
    except ModelFileError as error:
        raise ModelFileError(f"{error} @ {place_of(loaded, alias)}") from error


def loading_of(loaded: Loaded, model: ModelTable, n_ctx: int = 0) -> Loading:
    """Return how a model is to be loaded with a window of `n_ctx` tokens (0: as trained); "auto" layers are all."""
    kv_type = model.kv_type or loaded.settings.window.kv_type
    own = {**core_values(Loading, model), "n_gpu_layers": max(model.n_gpu_layers, -1)}
    return Loading(n_ctx=n_ctx, type_k=kv_type, type_v=kv_type, **own)


def projector_bytes(loaded: Loaded, alias: str) -> int:
    """Return the bytes of a vision model's projector; 0 where the settings name none.

    Raises:
        ModelFileError: the file is damaged, or not there.
    """
    projector = loaded.settings.model(alias).projector
    return read_header(loaded.absolute(projector)).file_bytes if projector else 0


# Runtimes tell the sizes of buffers in MiB with two digits behind the point: so much may be rounded away from each.
ROUNDED_BYTES = MIB // 100


class LoadedRuntime(NamedTuple):
    """A model that is open, how it was opened in the end, and in a sentence each what failed before."""

    model: LoadedModel
    definition: Definition
    failed: tuple[str, ...]


def open_model(opens: Callable[[Definition], LoadedModel], definition: Definition, min_tokens: int) -> LoadedRuntime:
    """Return a model opened by `opens`; each time it does not load, the window shrinks, down to `min_tokens`.

    Raises:
        ModelLoadError: it did not load with any window; the text has each one that was tried.
        SquidbotError: any other failure of `opens`, which a smaller window would not mend.
    """
    failed: list[str] = []
    sizes: dict[str, list[str]] = {}
    first = definition.loading.n_ctx
    for n_ctx in (first, *descending(first, min_tokens)):
        smaller = definition._replace(loading=replace(definition.loading, n_ctx=n_ctx))
        try:
            return LoadedRuntime(opens(smaller), smaller, tuple(failed))
        except ModelLoadError as error:
            failed.append(f"{n_ctx:,} tokens: {error}")
            sizes.setdefault(str(error), []).append(f"{n_ctx:,}")
            last = error
    reasons = "; ".join(f"with {', '.join(tried)} tokens: {reason}" for reason, tried in sizes.items())
    raise ModelLoadError(f"{definition.alias!r} does not load with any window: {reasons}") from last


def differences(predicted: Sizing | None, served: RuntimeReport) -> tuple[str, ...]:
    """Return in a sentence each where a runtime has set up something else than the file's header predicted.

    The cache must be equal, compute buffers must not be larger, and weights on GPUs must be equal: those in main memory
    are mapped from the file, with what lies between them. What the runtime does not tell is not compared.
    """
    if predicted is None:
        return ()
    # Weights on GPUs; `None` where the runtime tells of none.
    on_gpus = {name: size for name, size in (served.weights_bytes or {}).items() if not name.startswith("CPU")} or None
    weights = sum(device.weights_bytes for device in predicted.devices if device.number >= 0)
    exact = {
        "KV cache": (predicted.kv_bytes, served.kv_bytes),
        "recurrent state": (predicted.recurrent_bytes, served.recurrent_bytes),
        "weights on GPUs": (weights, on_gpus),
    }
    found = [
        f"{what}: {_mib(expected)} predicted, {_mib(sum(sizes.values()))} set up"
        for what, (expected, sizes) in exact.items()
        if sizes is not None and abs(sum(sizes.values()) - expected) > ROUNDED_BYTES * max(1, len(sizes))
    ]
    takes = sum((served.compute_bytes or {}).values())
    if takes > predicted.compute_bytes and predicted.compute_kind != "unknown":
        found.append(f"compute buffers: at most {_mib(predicted.compute_bytes)} predicted, {_mib(takes)} set up")
    return tuple(found)


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"


# A server that is asked when a session opens must not keep the user waiting.
PATIENCE_SECONDS = 2.0


class ServerFacts(NamedTuple):
    """What is known of a model behind a server.

    Attributes:
        header: of its file, where the server is on this machine and tells all of it; else `None`.
        native_tokens: the window that it was trained with; `None` where unknown.
        served_tokens: the window that the server gives it now; `None` where unknown, or where the server is to be told.
        reason: why something is not known, in a sentence; "" where nothing is missing.
    """

    header: Header | None = None
    native_tokens: int | None = None
    served_tokens: int | None = None
    reason: str = ""


def server_facts(model: ModelTable, alias: str) -> ServerFacts | None:
    """Return what the server of a model tells; `None` for a model whose settings name no server of one's own.

    Waits for a few seconds at most, and loads nothing.

    Raises:
        ConfigError: the server's address is none.
    """
    name = model.model or alias
    if model.adapter == "ollama":
        return _ollama_facts(model.url or "", name)
    if model.adapter == "anthropic":
        # It is not asked where the settings say how large its window is.
        return None if model.context_window is not None else _anthropic_facts(model, name)
    if model.url is None or model.adapter not in (None, "openai"):
        if model.adapter != "openai" or model.context_window is not None:
            return None
        return ServerFacts(reason="OpenAI does not report the window of its models; set context_window")
    from squidbot.adapters.servers import served_window  # noqa: PLC0415  # http.client takes 45 ms; few models need it

    key = os.environ.get(model.key_env or providers.USUAL_KEYS["openai"], "").strip() if model.adapter else ""
    found = served_window(model.url, name, api_key=key, seconds=PATIENCE_SECONDS)
    return ServerFacts(served_tokens=found.tokens, reason=found.reason)


def _anthropic_facts(model: ModelTable, name: str) -> ServerFacts:
    try:
        from squidbot.adapters.anthropic import AnthropicAccount, AnthropicModel  # noqa: PLC0415  # an extra
    except ImportError as error:
        return ServerFacts(reason=f"unknown window: {error}")
    patience = providers.Patience(PATIENCE_SECONDS, PATIENCE_SECONDS, retries=0)
    try:
        account = AnthropicAccount(model.url or "", patience=patience, key_name=model.key_env or "")
        client = AnthropicModel(name, account=account)
    except ConfigError as error:
        return ServerFacts(reason=str(error))
    with closing(client):
        tokens, reason = client.described()
    return ServerFacts(served_tokens=tokens, reason=reason)


def _ollama_facts(url: str, name: str) -> ServerFacts:
    from squidbot.adapters.ollama import OllamaPatience, Wire, read_info  # noqa: PLC0415  # http.client, as above

    wire = Wire(url, OllamaPatience(PATIENCE_SECONDS, PATIENCE_SECONDS))
    try:
        info = read_info(wire, name, whole=wire.is_here)
    except LLMError as error:
        return ServerFacts(reason=str(error))
    native_tokens = info.native_tokens
    if not wire.is_here:
        reason = f"{wire.url} is another machine, whose memory is not known"
        return ServerFacts(None, native_tokens, reason=reason)
    try:
        return ServerFacts(info.header if info.header.tensors else read_header(info.path), native_tokens)
    except ModelFileError as error:
        return ServerFacts(None, native_tokens, reason=f"{wire.url} does not report the tensors of {name}: {error}")


class MemoryWatch:
    """Looks at the GPUs under an open model each `interval_seconds`, in a thread that ends with the process.

    Memory that runs short is reported as an event, and changes no window.
    """

    def __init__(
        self, probe: Callable[[], ProbeResult], observer: Observer, margin_bytes: int, interval_seconds: float
    ) -> None:
        """Take the first look: how full devices are now is the open model's own doing."""
        self._probe = probe
        self._observer = observer
        self._interval_seconds = interval_seconds
        devices = probe().devices
        self._watch = Watch.opened(devices, margin_bytes)
        # Whether there is any device to look at, and how full each was at the first look.
        self.sees = bool(self._watch.devices)
        self.opened = "after loading " + ", ".join(map(fullness, devices)) if devices else ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="squidbot-memory", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def look(self, now: float) -> None:
        """Look once, at `now`, in seconds since 1970, and report what is due."""
        notices, self._watch = self._watch.look(self._probe().devices, now)
        for notice in notices:
            self._observer.notify(Event(notice.name, "", notice.cause, fraction=notice.fraction))

    def close(self) -> None:
        """End it, after a look that is in progress."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_seconds):
            self.look(time.time())


# llama.cpp's server tries a model with two tokens at once before anything else.
LEAST_BATCH = 2


class Catalog:
    """The models of one engine. Devices are looked at once, and again right before a model is opened, and after."""

    def __init__(
        self, loaded: Loaded, registry: Registry, observer: Observer, counter: Callable[[str], TokenCounter]
    ) -> None:
        """Take the settings, and what opens models and looks for devices.

        `counter` returns what the settings count with for the model of an alias.
        """
        self._loaded = loaded
        self._counter = counter
        self._registry = registry
        self._observer = observer
        self._probed: ProbeResult | None = None
        self._sized: dict[str, SizedWindow] = {}
        self._facts: dict[str, ServerFacts | None] = {}
        # Each open model, and the window of its sessions.
        self._open: dict[str, tuple[LoadedRuntime, ResolvedWindow]] = {}
        self._watch: MemoryWatch | None = None
        self._announced: dict[str, tuple[int, str]] = {}
        # Opening may take minutes, and two threads must not load the same model.
        self._lock = threading.RLock()

    def check(self, alias: str) -> None:
        """Check that there is an adapter of the name that the settings give a model, if any.

        Raises:
            ConfigError: there is none; the text says what there is.
        """
        adapter = self._loaded.settings.model(alias).adapter
        if adapter is not None:
            check_offered("runtime", self._registry.runtimes, adapter, f"{place_of(self._loaded, alias)}.adapter")

    def probed(self, *, again: bool = False) -> ProbeResult:
        """Return what devices there are; `again` looks anew.

        Raises:
            ConfigError: `gpu.probe` names an unknown source.
        """
        with self._lock:
            if self._probed is None or again:
                self._probed = self._look()
            return self._probed

    def sized(self, alias: str) -> SizedWindow | None:
        """Return the size of a model on this machine, worked out once; `None` where it has none, or none is wanted.

        Raises:
            ConfigError: the settings contradict themselves, or the file of a hub is not there.
            ModelFileError: the file is damaged, or not there.
        """
        if self._loaded.settings.window.sizing == "manual":
            return None
        with self._lock:
            if alias not in self._sized:
                header = header_of(self._loaded, alias)
                if header is None and (facts := self._server_facts(alias)) is not None:
                    header = facts.header
                if header is None:
                    return None
                from squidbot.adapters.gpus import Machine  # noqa: PLC0415  # 17 ms, and useless to a host of an API

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
        if alias not in self._open:
            return resolve(self._known(alias, asked_tokens))
        window = self._open[alias][1]
        has = window.window_tokens
        if asked_tokens is None:
            return window
        if asked_tokens > has:
            raise ConfigError(f"{alias!r} is open with a window of {has:,} tokens, not {asked_tokens:,}; ask for less")
        return ResolvedWindow(asked_tokens, "manual", (f"{asked_tokens:,} of {has:,} tokens requested by the caller",))

    def announce(self, alias: str, window: ResolvedWindow) -> None:
        """Report a window that nobody has named: found by a file, a server, an extension or a refusal.

        It is reported once, and again where another one is found.
        """
        if window.source in PLAIN_SOURCES or self._announced.get(alias) == window[:2]:
            return
        self._announced[alias] = window[:2]
        cause, tokens = f"{window.source}: {'; '.join(window.steps)}", window.window_tokens
        event = Event(events.CONTEXT_DISCOVERED, "", cause, tokens_before=tokens, tokens_after=tokens, model=alias)
        self._observer.notify(event)

    def loading(self, alias: str) -> Loading:
        """Return how a model is to be loaded: with its window, and with as many layers as fit where they are "auto".

        Raises:
            ConfigError: as `resolved`.
            ModelFileError: as `resolved`.
        """
        if alias in self._open:
            return self._open[alias][0].definition.loading
        sized, model = self.sized(alias), self._loaded.settings.model(alias)
        loading = sized.loading if sized else loading_of(self._loaded, model)
        # llama.cpp makes whole steps of any window, and cuts its batches to what it was asked for.
        return replace(loading, n_ctx=max(self.resolved(alias).window_tokens, CELLS_STEP))

    def opened(self, alias: str) -> LoadedModel | None:
        """Return a model if it is open."""
        return self._open[alias][0].model if alias in self._open else None

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
                runtime, window = self._open[alias] = self._opening(alias)
                # It holds memory from now on: others are sized by what it leaves.
                self._sized = {name: sized for name, sized in self._sized.items() if name in self._open}
                self._probed = None
                self.watch()
                if self._watch is not None and self._watch.opened:
                    self._open[alias] = runtime, window._replace(steps=(*window.steps, self._watch.opened))
            return self._open[alias][0].model

    def llm(self, alias: str) -> LLM:
        """Return a model that writes summaries; it is opened at its first job."""
        return DeferredModel(self, alias)

    def watch(self) -> None:
        """Look at the devices from now on, and report when memory runs short; how full they are now is as it should be.

        Nothing is done where there is no GPU, or `gpu.watch_seconds` is 0.

        Raises:
            ConfigError: `gpu.probe` names an unknown source.
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
        """Close all models that are open, and stop looking at devices."""
        with self._lock:
            self._unwatch()
            while self._open:
                self._open.popitem()[1][0].model.close()

    def _look(self) -> ProbeResult:
        name, place = self._loaded.settings.gpu.probe, f"{self._loaded.source}.gpu.probe"
        return make("GPU probe", self._registry.probes, name, "", place).probe()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _known(self, alias: str, asked_tokens: int | None = None) -> WindowSources:
        """Return what each source says of a model's window; `resolve` says which of them goes first."""
        settings = self._loaded.settings
        model, window = settings.model(alias), settings.window
        sized = self.sized(alias) if asked_tokens is None else None
        facts = self._server_facts(alias) or ServerFacts()
        global_tokens = window.default if self._loaded.sets("window", "default") else None
        # What the file says counts, unless another window was picked.
        trained = sized.native_tokens if sized else None
        if sized is None and not (asked_tokens or model.context_window or global_tokens):
            header = header_of(self._loaded, alias)
            trained = header.number("context_length", 0) if header else None
        native = [tokens for tokens in (model.native_context_limit, trained, facts.native_tokens) if tokens]
        return WindowSources(
            asked_tokens=asked_tokens,
            model_tokens=model.context_window,
            global_tokens=global_tokens,
            native_tokens=min(native, default=None),
            sized_tokens=sized.window_tokens if sized else None,
            sized_source=sized.source if sized else "auto-vram",
            sized_reason=sized.reason if sized else facts.reason,
            served_tokens=facts.served_tokens,
            sizing=window.sizing,
            min_tokens=window.min,
        )

    def _server_facts(self, alias: str) -> ServerFacts | None:
        if alias not in self._facts:
            self._facts[alias] = server_facts(self._loaded.settings.model(alias), alias)
        return self._facts[alias]

    def _opening(self, alias: str) -> tuple[LoadedRuntime, ResolvedWindow]:
        """Open a model, with a smaller window each time it does not load, and return it with its sessions' window."""
        model, place = self._loaded.settings.model(alias), place_of(self._loaded, alias)
        if model.adapter is None:
            known = ", ".join(sorted(self._registry.runtimes))
            raise ConfigError(f"no adapter is set for it; set adapter to one of {known} @ {place}")
        self.check(alias)
        # Its server and the devices may have changed since.
        self._sized.pop(alias, None)
        self._facts.pop(alias, None)
        self._probed = None
        path, here = model_file(self._loaded, alias), model.adapter in OPEN_FILES
        if here and not path:
            raise ConfigError(f"{model.adapter} opens files; set path, or repo_id and filename @ {place}")
        if here and model.options:
            raise ConfigError(f"{model.adapter} does not accept options; remove them @ {place}.options")
        definition = Definition(
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
        definition = definition._replace(checked=_checked(definition, place, here=here))
        resolved, counter = self.resolved(alias), self._counter(alias)

        def opens(smaller: Definition) -> LoadedModel:
            try:
                return make("runtime", self._registry.runtimes, model.adapter or "", (smaller, counter), place)
            except ConfigError as error:
                raise error if " @ " in str(error) else ConfigError(f"{error} @ {place}") from error

        runtime = open_model(opens, definition, min(self._loaded.settings.window.min, definition.loading.n_ctx))
        if (sized := self._sized.get(alias)) is not None:
            for difference in differences(sized.predicted(runtime.definition.loading), runtime.model.served):
                self._observer.notify(Event(events.SIZING_DIFFERS, "", f"{alias}: {difference}"))
        return runtime, _as_opened(resolved, runtime)


class DeferredModel:
    """A model of the settings as a language model, opened at its first job."""

    def __init__(self, catalog: Catalog, alias: str) -> None:
        self._catalog = catalog
        self.name = alias

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer; if it can't be opened, that is an LLMError, because another time it may be."""
        try:
            model = self._catalog.open(self.name)
        except (ConfigError, ModelFileError, ModelLoadError) as error:
            raise LLMError("unreachable", str(error)) from error
        return model.complete(system, prompt, max_output_tokens)


def _checked(definition: Definition, place: str, *, here: bool) -> bool:
    """Return whether a file is known to load in this way; `here`: in this process, which llama.cpp ends if it does not.

    Raises:
        ConfigError: it does not load.
        ModelFileError: the file is damaged, or not there.
    """
    if not definition.path:
        return False
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
    """Check what llama.cpp's server (commit 0c1e57098) dies of, and llama.cpp itself does not.

    Raises:
        ConfigError: batches of one token.
        ModelFileError: there is no vocabulary.
    """
    if header.metadata.get("tokenizer.ggml.tokens") is None:
        raise ModelFileError(f"{definition.path} has no vocabulary, so it accepts no text; use a whole model file")
    if definition.loading.n_batch < LEAST_BATCH:
        raise ConfigError(f"n_batch must be {LEAST_BATCH} or more, not {definition.loading.n_batch}")


def _as_opened(resolved: ResolvedWindow, runtime: LoadedRuntime) -> ResolvedWindow:
    """Return the window of sessions with a model as it was opened."""
    n_ctx = runtime.definition.loading.n_ctx
    if runtime.failed:
        steps = (
            *resolved.steps,
            *(f"did not load with {reason}" for reason in runtime.failed),
            f"loaded with {n_ctx:,}",
        )
        resolved = ResolvedWindow(n_ctx, "load-retry", steps)
    served = runtime.model.served.window_tokens
    if served is None or served >= resolved.window_tokens:
        return resolved
    return ResolvedWindow(served, "served", (*resolved.steps, f"limited to {served:,} by the runtime"))


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
    step = f"limited to {window_tokens:,}: the provider refused {refused_tokens:,}"
    return ResolvedWindow(window_tokens, SOURCE, (*found.steps, step))


class LearnedWindows:
    """Windows that refusals have shown to be smaller, as sessions of a store keep them; looked up once for a model."""

    def __init__(self, store: TranscriptStore, observer: Observer) -> None:
        """Look nothing up yet; a store that can't find sessions by their records has none."""
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
        step = f"limited to {tokens:,}: the provider refused more before"
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
            return learned_tokens((value for session in sessions for value in LEARNED.all(store, session)), name)
        except StoreError as error:
            self._observer.notify(Event(events.DEGRADED, "", f"learned windows were not read: {error}"))
            return None


# By whose rules llama.cpp allocates on a vendor's devices, as its usual builds do.
KINDS: dict[Vendor, CardKind] = {
    "nvidia": "cuda",
    "amd": "hip",
    "apple": "metal",
    "intel": "sycl",
    "other": "vulkan",
}
UNTOLD = "not every device reports its free memory; see squidbot status"
BOUNDS = {
    "vram": "the free memory of the GPUs",
    "memory": "free main memory",
    "native-limit": "the length the model was trained for",
    "model-cap": "context_window",
    "window.max": "window.max",
}


class SizedWindow(NamedTuple):
    """The largest window of a model that fits memory.

    Attributes:
        window_tokens: `None` where none fits, or nothing can be said.
        source: "auto-vram", or "auto-ram" where there is no GPU.
        reason: how the window came about, or why there is none, in a sentence.
        native_tokens: what the model was trained with; `None` where the file does not say.
        loading: how it is to be loaded, but for the window.
        cards: the devices that it was sized for.
        reserved: what was set aside besides.
        model, fit: all that was worked out; `None` where nothing can be said.
    """

    window_tokens: int | None
    source: str
    reason: str
    native_tokens: int | None
    loading: Loading
    cards: tuple[Card, ...]
    reserved: ReservedMemory
    model: ModelLayout | None = None
    fit: Fit | None = None

    def predicted(self, loading: Loading) -> Sizing | None:
        """Return what the model takes when it is loaded so; `None` where that can't be said."""
        return measure(self.model, loading, self.cards, self.reserved) if self.model else None


def cards_of(probed: ProbeResult, main: MainMemory | None) -> tuple[Card, ...]:
    """Return the devices that a model can be put on: GPUs in their order, and main memory behind them.

    A runtime is built for one vendor: of GPUs of several, those of the vendor whose have most free. Where one of these
    does not tell what is free, none is returned, nor main memory: a runtime would use it all the same.
    """
    free: dict[Vendor, int] = {}
    for device in probed.devices:
        free[device.vendor] = free.get(device.vendor, 0) + (device.free_bytes or 0)
    vendor = max(free, key=lambda name: free[name], default="other")
    cards = []
    for device in probed.devices:
        if device.vendor == vendor:
            if device.free_bytes is None:
                return ()
            name = f"{device.number}: {device.name}" if device.name else str(device.number)
            cards.append(Card(KINDS[vendor], device.free_bytes, name, device.unified))
    return (*cards, *([Card("cpu", main.available_bytes, "main memory")] if main else []))


def size_window(loaded: Loaded, alias: str, header: Header, cards: tuple[Card, ...]) -> SizedWindow:
    """Return the largest window of a model on devices as they are now; that none fits is an answer, too.

    Raises:
        ConfigError: llama.cpp would not load it in this way.
        ModelFileError: the header is wrong, or the projector is not there.
    """
    settings, table = loaded.settings, loaded.settings.model(alias)
    on_gpus = any(card.kind != "cpu" for card in cards)
    loading = loading_of(loaded, table)
    reserved = ReservedMemory(settings.window.vram_margin_mib * MIB, projector_bytes(loaded, alias))
    source = "auto-vram" if on_gpus else "auto-ram"
    sized = SizedWindow(None, source, UNTOLD, header.number("context_length", 0) or None, loading, cards, reserved)
    if not cards:
        return sized
    if not on_gpus and loading.n_gpu_layers < 0 and table.adapter != "ollama":
        # All of it is sized for main memory: a GPU that was not found, or is not to be used, must not get it.
        loading = replace(loading, n_gpu_layers=0)
        sized = sized._replace(loading=loading)
    try:
        model = model_of(header)
    except SizingError as error:
        return sized._replace(reason=str(error))
    cap = table.context_window
    # A definition may ask for less than sizing would ever choose; all other caps are applied to what fits.
    least = min(settings.window.min, cap or settings.window.min)
    bounds = Bounds(least, settings.window.max, cap if least == cap else None)
    try:
        if table.n_gpu_layers == AUTO_LAYERS:
            loading = WindowSearch(model, loading, cards, bounds, reserved).with_layers_that_fit()
        found = WindowSearch(model, loading, cards, bounds, reserved).fit()
    except ConfigError as error:
        raise ConfigError(f"{error} @ {place_of(loaded, alias)}") from error
    return sized._replace(
        window_tokens=found.window_tokens,
        reason=_reason(found),
        loading=found.sizing.loading,
        model=model,
        fit=found,
    )


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
