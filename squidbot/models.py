"""The models of the settings: their files, the windows that fit, and how to open them."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common import providers
from squidbot.adapters.common.threads import SharedLock, Waiting
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

_LOG = logging.getLogger("squidbot")


def place_of(loaded: Loaded, alias: str) -> str:
    """Return the place in the settings that defines a model."""
    return f"{loaded.source}.models[{alias!r}]"


def model_file(loaded: Loaded, alias: str) -> str:
    """Return the absolute path of a model's file, or of its first part; "" for a model behind a server.

    A hub's model is searched for in the download folders of the usual tools; nothing is ever downloaded.

    Raises:
        ConfigError: the settings name half a file, or two; or the hub's file does not exist.
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
    from squidbot.adapters.hub import find_model  # noqa: PLC0415  # few models come from a hub

    try:
        return str(find_model(model.repo_id, model.filename))
    except ConfigError as error:
        raise ConfigError(f"{error} @ {place}") from error


def read_header(path: str) -> Header:
    """Return the header of a GGUF file, with `adapters.gguf.read_header`, imported on first use."""
    from squidbot.adapters import gguf  # noqa: PLC0415  # 11 ms of a start, which no model behind an API needs

    return gguf.read_header(path)


def header_of(loaded: Loaded, alias: str) -> Header | None:
    """Return the header of a model's file; `None` for a model behind a server.

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
    """Return the loading options of a model with a window of `n_ctx` tokens (0: as trained); "auto" layers are all."""
    kv_type = model.kv_type or loaded.settings.window.kv_type
    own = {**core_values(Loading, model), "n_gpu_layers": max(model.n_gpu_layers, -1)}
    return Loading(n_ctx=n_ctx, type_k=kv_type, type_v=kv_type, **own)


def projector_bytes(loaded: Loaded, alias: str) -> int:
    """Return the bytes of a vision model's projector; 0 if the settings name none.

    Raises:
        ModelFileError: the file is damaged, or not there.
    """
    projector = loaded.settings.model(alias).projector
    return read_header(loaded.absolute(projector)).file_bytes if projector else 0


# Runtimes report buffer sizes in MiB with two decimals: rounding may remove this much from each.
ROUNDED_BYTES = MIB // 100


class LoadedRuntime(NamedTuple):
    """An open model, its final loading options, and a sentence for each failed attempt."""

    model: LoadedModel
    definition: Definition
    failed: tuple[str, ...]


def open_model(opens: Callable[[Definition], LoadedModel], definition: Definition, min_tokens: int) -> LoadedRuntime:
    """Return a model opened by `opens`; each failure to load shrinks the window, down to `min_tokens`.

    Raises:
        ModelLoadError: it did not load with any window; the text has all that were tried.
        SquidbotError: `opens` failed in a way that a smaller window would not fix.
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
    """Return a sentence for each difference between a runtime's buffers and the header's prediction.

    The cache must be equal, compute buffers must not be larger, and weights on GPUs must be equal: weights in main
    memory are mapped from the file, gaps included. Sizes that the runtime does not report are not compared.
    """
    if predicted is None:
        return ()
    # Weights on GPUs; `None` if the runtime reports none.
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


# The user waits for this answer when a session opens.
PATIENCE_SECONDS = 2.0


class ServerFacts(NamedTuple):
    """The known facts of a model behind a server.

    Attributes:
        header: the file's header, if the server is on this machine and reports all of it; else `None`.
        native_tokens: its trained window; `None` if unknown.
        served_tokens: its window at the server; `None` if unknown, or if squidbot chooses it.
        reason: why a fact is unknown, in a sentence; "" if none is.
    """

    header: Header | None = None
    native_tokens: int | None = None
    served_tokens: int | None = None
    reason: str = ""


def server_facts(model: ModelTable, alias: str) -> ServerFacts | None:
    """Return the facts from a model's server; `None` if its settings name no own server.

    Waits for a few seconds at most, and loads nothing.

    Raises:
        ConfigError: the server's address is invalid.
    """
    name = model.model or alias
    if model.adapter == "ollama":
        return _ollama_facts(model.url or "", name)
    if model.adapter == "anthropic":
        # Do not ask it if the settings have the window.
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
    """Checks the GPUs of an open model every `interval_seconds`, in a thread that ends with the process.

    Low memory becomes an event, and changes no window.
    """

    def __init__(
        self, probe: Callable[[], ProbeResult], observer: Observer, margin_bytes: int, interval_seconds: float
    ) -> None:
        """Make the first check: the open model itself causes the present use of memory."""
        self._probe = probe
        self._observer = observer
        self._interval_seconds = interval_seconds
        devices = probe().devices
        self._watch = Watch.opened(devices, margin_bytes)
        # Whether there is any device, and how full each was at the first check.
        self.sees = bool(self._watch.devices)
        self.opened = "after loading " + ", ".join(map(fullness, devices)) if devices else ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="squidbot-memory", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def look(self, now: float) -> None:
        """Check once, at `now`, in seconds since 1970, and report new levels."""
        notices, self._watch = self._watch.look(self._probe().devices, now)
        for notice in notices:
            self._observer.notify(Event(notice.name, "", notice.cause, fraction=notice.fraction))

    def close(self) -> None:
        """Stop the thread, after a running check."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_seconds):
            self.look(time.time())


# llama.cpp's server first tries a model with two tokens at once.
LEAST_BATCH = 2


class Catalog:
    """The models of one engine. Devices are probed once, and again right before and after a model is opened."""

    def __init__(
        self, loaded: Loaded, registry: Registry, observer: Observer, counter: Callable[[str], TokenCounter]
    ) -> None:
        """Take the settings, and the functions that open models and find devices.

        `counter` returns the token counter for the model of an alias.
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
        self._lock = SharedLock()

    def check(self, alias: str) -> None:
        """Check that a model's adapter exists, if the settings name one.

        Raises:
            ConfigError: it does not; the text lists the adapters.
        """
        adapter = self._loaded.settings.model(alias).adapter
        if adapter is not None:
            check_offered("runtime", self._registry.runtimes, adapter, f"{place_of(self._loaded, alias)}.adapter")

    def probed(self, *, again: bool = False) -> ProbeResult:
        """Return the devices; `again` probes anew.

        Raises:
            ConfigError: `gpu.probe` names an unknown source.
        """
        with self._lock:
            if self._probed is None or again:
                self._probed = self._look()
            return self._probed

    def sized(self, alias: str) -> SizedWindow | None:
        """Return the size of a model on this machine, computed once; `None` if it has none, or settings want none.

        Raises:
            ConfigError: the settings contradict themselves, or the hub's file does not exist.
            ModelFileError: the file is damaged or missing.
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
        """Return the window of sessions with that model; `asked_tokens` has priority.

        Raises:
            ConfigError: the settings contradict themselves, the hub's file does not exist, or `asked_tokens` exceeds
                the open model's window.
            ModelFileError: the file is damaged or missing.
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
        """Report a window that nobody has set: found by a file, a server, an extension or a refusal.

        It is reported once, and again if it changes: by an event, and in the log at the level INFO.
        """
        if window.source in PLAIN_SOURCES or self._announced.get(alias) == window[:2]:
            return
        self._announced[alias] = window[:2]
        cause, tokens = f"{window.source}: {'; '.join(window.steps)}", window.window_tokens
        event = Event(events.CONTEXT_DISCOVERED, "", cause, tokens_before=tokens, tokens_after=tokens, model=alias)
        self._observer.notify(event)
        _LOG.info("window of %s: %s tokens, %s", alias, f"{tokens:,}", cause)

    def loading(self, alias: str) -> Loading:
        """Return the loading options of a model: its window, and for "auto" as many layers as fit.

        Raises:
            ConfigError: as `resolved`.
            ModelFileError: as `resolved`.
        """
        if alias in self._open:
            return self._open[alias][0].definition.loading
        sized, model = self.sized(alias), self._loaded.settings.model(alias)
        loading = sized.loading if sized else loading_of(self._loaded, model)
        # llama.cpp rounds any window to whole steps, and cuts its batches to the requested size.
        return replace(loading, n_ctx=max(self.resolved(alias).window_tokens, CELLS_STEP))

    def opened(self, alias: str) -> LoadedModel | None:
        """Return a model if it is open."""
        return self._open[alias][0].model if alias in self._open else None

    def open(self, alias: str) -> LoadedModel:
        """Return a model, opened by its adapter at the first call and kept open until `close`.

        Raises:
            ConfigError: the settings name no adapter or file for it, or contradict themselves; or the adapter's package
                is not installed.
            ModelFileError: the file is damaged or missing.
            ModelLoadError: it does not load with any allowed window.
            LLMError: its server was not reached.
        """
        with self._lock:
            if alias not in self._open:
                with Waiting():
                    runtime, window = self._open[alias] = self._opening(alias)
                # It uses memory from now on: other models are sized by the rest.
                self._sized = {name: sized for name, sized in self._sized.items() if name in self._open}
                self._probed = None
                self.watch()
                if self._watch is not None and self._watch.opened:
                    self._open[alias] = runtime, window._replace(steps=(*window.steps, self._watch.opened))
            return self._open[alias][0].model

    def llm(self, alias: str) -> LLM:
        """Return a model that writes summaries; its first task opens it."""
        return DeferredModel(self, alias)

    def watch(self) -> None:
        """Watch the devices from now on, and report when memory runs low; their present use is taken as normal.

        Without a GPU, or with `gpu.watch_seconds` 0, this does nothing.

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
        """Close all open models, and stop watching devices."""
        with self._lock:
            self._unwatch()
            while self._open:
                self._open.popitem()[1][0].model.close()

    def _look(self) -> ProbeResult:
        name, place = self._loaded.settings.gpu.probe, f"{self._loaded.source}.gpu.probe"
        with Waiting():
            return make("GPU probe", self._registry.probes, name, "", place).probe()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _known(self, alias: str, asked_tokens: int | None = None) -> WindowSources:
        """Return each source's window of a model; `resolve` says which has priority."""
        settings = self._loaded.settings
        model, window = settings.model(alias), settings.window
        sized = self.sized(alias) if asked_tokens is None else None
        facts = self._server_facts(alias) or ServerFacts()
        global_tokens = window.default if self._loaded.sets("window", "default") else None
        # The file decides, unless another window was chosen.
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
            with Waiting():
                self._facts[alias] = server_facts(self._loaded.settings.model(alias), alias)
        return self._facts[alias]

    def _opening(self, alias: str) -> tuple[LoadedRuntime, ResolvedWindow]:
        """Open a model, with a smaller window after each failure, and return it with its sessions' window."""
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
    """A model of the settings as a language model; its first task opens it."""

    def __init__(self, catalog: Catalog, alias: str) -> None:
        self._catalog = catalog
        self.name = alias

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer; a failure to open it is an LLMError, because a later try may succeed."""
        try:
            model = self._catalog.open(self.name)
        except (ConfigError, ModelFileError, ModelLoadError) as error:
            raise LLMError("unreachable", str(error)) from error
        return model.complete(system, prompt, max_output_tokens)


def _checked(definition: Definition, place: str, *, here: bool) -> bool:
    """Return whether a file is sure to load with these options; `here`: in this process, which llama.cpp may abort.

    Raises:
        ConfigError: it does not load.
        ModelFileError: the file is damaged or missing.
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
        return False  # an unknown layout cannot be checked before loading
    return True


def _check_chat(header: Header, definition: Definition) -> None:
    """Check for causes that crash llama.cpp's server (commit 0c1e57098), but not llama.cpp itself.

    Raises:
        ConfigError: batches have one token.
        ModelFileError: the file has no vocabulary.
    """
    if header.metadata.get("tokenizer.ggml.tokens") is None:
        raise ModelFileError(f"{definition.path} has no vocabulary, so it accepts no text; use a whole model file")
    if definition.loading.n_batch < LEAST_BATCH:
        raise ConfigError(f"n_batch must be {LEAST_BATCH} or more, not {definition.loading.n_batch}")


def _as_opened(resolved: ResolvedWindow, runtime: LoadedRuntime) -> ResolvedWindow:
    """Return the window of sessions with an open model."""
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


# The name in `ResolvedWindow.source`.
SOURCE = "overflow"
# Sources of windows that somebody has set: no report is needed.
PLAIN_SOURCES = ("manual", "model-definition", "global-config", "default")


def learned_for(alias: str, model: ModelTable, found: ResolvedWindow) -> str:
    """Return the key of a learned window: the model behind an alias, and its window by the settings.

    If either changes, the learned window no longer applies.
    """
    return f"{model.model or alias}@{model.url or model.adapter or ''} {found.window_tokens}"


def refused(found: ResolvedWindow, window_tokens: int, refused_tokens: int) -> ResolvedWindow:
    """Return the smaller window after a provider refused this many tokens, in place of the found one."""
    step = f"limited to {window_tokens:,}: the provider refused {refused_tokens:,}"
    return ResolvedWindow(window_tokens, SOURCE, (*found.steps, step))


class LearnedWindows:
    """Smaller windows learned from refusals, as recorded in a store's sessions; looked up once for each model."""

    def __init__(self, store: TranscriptStore, observer: Observer) -> None:
        """Take the store, without a lookup; a store that can't find sessions by their records has none."""
        self._store = store
        self._observer = observer
        self._known: dict[str, int | None] = {}
        # Windows that this process's sessions will record; other processes may have recorded smaller ones.
        self._awaited: dict[str, int] = {}

    def within(self, found: ResolvedWindow, name: str) -> ResolvedWindow:
        """Return a window, limited by refusals; `name` is its key."""
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
        """Look again until a window is recorded for a name: a session records it after its next answer."""
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


# The allocation rules of llama.cpp's usual builds on a vendor's devices.
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
        window_tokens: `None` if none fits, or if the size is unknown.
        source: "auto-vram", or "auto-ram" without a GPU.
        reason: how the window was found, or why there is none, in a sentence.
        native_tokens: the trained window; `None` if the file does not say.
        loading: the loading options, without the window.
        cards: the devices that it was sized for.
        reserved: memory reserved for other things.
        model, fit: the details; `None` if the size is unknown.
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
        """Return the memory of the model with these options; `None` if unknown."""
        return measure(self.model, loading, self.cards, self.reserved) if self.model else None


def cards_of(probed: ProbeResult, main: MainMemory | None) -> tuple[Card, ...]:
    """Return the devices that a model can use: GPUs in their order, then main memory.

    A runtime is built for one vendor: with several, the one with most free memory on its GPUs. If one of these GPUs
    does not report free memory, no device is returned, nor main memory: a runtime would still use that GPU.
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
    """Return the largest window of a model on the devices as they are now, or a result without one.

    Raises:
        ConfigError: llama.cpp would not load it with these options.
        ModelFileError: the header is wrong, or the projector is missing.
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
        # Sized for main memory only: a GPU that was not found, or is turned off, must not get any of it.
        loading = replace(loading, n_gpu_layers=0)
        sized = sized._replace(loading=loading)
    try:
        model = model_of(header)
    except SizingError as error:
        return sized._replace(reason=str(error))
    cap = table.context_window
    # Settings may ask for less than sizing would ever choose; all other caps apply to the window that fits.
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
