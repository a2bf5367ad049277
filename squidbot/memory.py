"""Durable facts by the settings: the store, opened at first use, its vectors, and the memories that a scope sees."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from squidbot.adapters.common.embeddings import known_even
from squidbot.adapters.common.threads import COMPUTING, SharedLock, Waiting
from squidbot.core import events
from squidbot.core.cached import cached_property
from squidbot.core.errors import ConfigError, LLMError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.memories import NOBODY, Scope, View
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.memory.view import Memories
from squidbot.core.operations import unwatched
from squidbot.core.ports import SupportsCalibration, SupportsRecordSearch, SupportsSessions
from squidbot.core.redaction import NAMES
from squidbot.core.transcript.removals import INJECTION
from squidbot.core.vectors import VectorStore
from squidbot.wiring.extensions import HookedRedactor, chosen
from squidbot.wiring.registry import failed, make, store_given, store_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.config import Loaded
    from squidbot.core.operations import Watch
    from squidbot.core.ports import Embedder, MemoryStore, Observer
    from squidbot.core.redaction import Redactor
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.removals import Retraction
    from squidbot.core.vectors import VectorIndex
    from squidbot.wiring.extensions import Hooks
    from squidbot.wiring.registry import Registry


Value = TypeVar("Value")

_LOG = logging.getLogger("squidbot")
# After a failure: a server that is down is not asked again for every fact.
RETRY_SECONDS = 60.0


class CheckedEmbedder:
    """An embedder that raises squidbot's errors only, and knows the calibration of common models."""

    def __init__(self, embedder: Embedder, loaded: Loaded) -> None:
        self._embedder = embedder
        self._spec, self._place = loaded.settings.memory.embedder, f"{loaded.source}.memory.embedder"

    @property
    def name(self) -> str:
        """The model."""
        return self._tried(lambda: self._embedder.name)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._tried(lambda: self._embedder.dimensions)

    @cached_property
    def even(self) -> float | None:
        """See `ports.SupportsCalibration`; `None` if nobody has measured it. A known model is recognised by a vector.

        Raises:
            LLMError: no vector can be had now.
        """
        known = self._embedder.even if isinstance(self._embedder, SupportsCalibration) else None
        return known_even(self) if known is None else known

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector for each text.

        Raises:
            ContextOverflowError: a text is too long for it.
            LLMError: there are no vectors.
            ConfigError: its code failed.
        """
        with Waiting():
            return self._tried(lambda: self._embedder.embed(texts))

    def close(self) -> None:
        """Close the embedder, if it can be closed."""
        close = getattr(self._embedder, "close", None)
        if callable(close):
            close()

    def _tried(self, ask: Callable[[], Value]) -> Value:
        try:
            return ask()
        except SquidbotError:
            raise
        except OSError as error:  # of its file, or of its server
            raise LLMError("unreachable", f"{type(error).__name__}: {error}"[:300]) from error
        except Exception as error:
            raise failed("embedder", self._spec, error, self._place) from error


class VectorWorker:
    """A thread that works when it is poked, and again a minute after a failure."""

    def __init__(
        self,
        work: Callable[[Callable[[], bool]], object],
        report: Callable[[str], None],
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """Take the work, which ends soon when its argument returns true; `report` gets a line on each failure."""
        self._work = work
        self._report = report
        self._retry_seconds = retry_seconds
        self._due = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def poke(self) -> None:
        """Have the work done soon, and return at once; does nothing after `stop`."""
        self._due.set()
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="squidbot-vectors", daemon=True)
                self._thread.start()

    def stop(self, timeout_seconds: float | None = 5.0) -> bool:
        """End the thread, and return whether it ended in time; it never keeps the process alive."""
        with self._lock:
            self._stopping.set()
            self._due.set()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        with Waiting():
            thread.join(timeout_seconds)
        return not thread.is_alive()

    def _run(self) -> None:
        while self._due.wait() and not self._stopping.is_set():
            self._due.clear()
            try:
                with COMPUTING:
                    self._work(self._stopping.is_set)
            except Exception as error:  # noqa: BLE001  # a thread has nobody to raise to; it reports
                if not self._stopping.is_set():  # else the store was closed under an embedder that answered too late
                    _LOG.debug("vectors of memories could not be made", exc_info=error)
                    self._report(f"vectors could not be made: {type(error).__name__}: {error}")
                self._stopping.wait(self._retry_seconds)
                self._due.set()


LOST = (
    "facts are gone when this process ends: the store {adapter!r} keeps sessions alone; name a file for facts @ {place}"
)
# A file's name has so much of a model's name.
NAME_CHARS = 48


def provider_of(loaded: Loaded) -> tuple[str, str]:
    """Return the provider of durable facts, and its file, absolute, or "".

    "auto" is SQLite in `memory.path`, otherwise where the sessions are: in the database of `store.url`, or SQLite in
    `store.path`; without any of these, memory. "file" is SQLite in `memory.path` alone.
    """
    memory, store = loaded.settings.memory, loaded.settings.store
    sessions = store.path if store.adapter in {None, "sqlite3"} else ""
    path = memory.path or sessions
    name = memory.provider
    if name == "auto":
        elsewhere = "psycopg" if store_name(loaded) == "psycopg" else "stdlib"
        name = "sqlite3" if path else elsewhere
    if name in {"stdlib", "psycopg"}:
        return name, ""
    if name == "file":
        name, path = "sqlite3" if memory.path else name, memory.path
    return name, loaded.absolute(path) if path else ""


def vectors_path(path: str, model: str) -> str:
    """Return the path of a model's vector index, beside the file of the memories; "" if these have none."""
    if not path:
        return ""
    digest = blake2b(model.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{path}.{re.sub('[^A-Za-z0-9_-]+', '-', model)[:NAME_CHARS]}-{digest}.vectors"


def sessions_of(store: object) -> list[tuple[str, int]]:
    """Return (id, number of messages) of every session of a store, oldest first.

    Raises:
        StoreError: the store can't list its sessions, or failed.
    """
    if not isinstance(store, SupportsSessions):
        raise StoreError("this store cannot list its sessions; it has no method `sessions`")
    return store.sessions()


def retract(
    store: object, memory_ids: Iterable[str], out_of: Callable[[str], Retraction | None], observer: Observer
) -> list[str]:
    """Retract facts from all sessions whose requests carried one of them; return the ids of these sessions.

    A store that can't find these sessions lists all; if it can't do that either, none is looked at. Failures become
    events.
    """
    found: list[str] = []
    sessions: list[str] = []
    if isinstance(store, SupportsRecordSearch):
        sessions = store.sessions_with(INJECTION.name, [json.dumps(each, ensure_ascii=False) for each in memory_ids])
    elif isinstance(store, SupportsSessions):
        sessions = [session_id for session_id, _ in store.sessions()]
    for session_id in sessions:
        try:
            if out_of(session_id) is not None:
                found.append(session_id)
        except StoreError as error:
            cause = f"forgotten facts are not yet retracted from this session: {error}"
            observer.notify(Event(events.DEGRADED, session_id, cause))
    return found


class MemoryService:
    """The durable facts of one engine. Threads may share it."""

    def __init__(  # noqa: PLR0913  # what bootstrap joins
        self,
        loaded: Loaded,
        registry: Registry,
        observer: Observer,
        hooks: Hooks,
        *,
        embedder: Callable[[], Embedder | None],
        index_of: Callable[[str, str, int], VectorIndex],
        pool: object = None,
        watch: Watch = unwatched,
    ) -> None:
        """Take settings and factories; failures go to the observer. Nothing is opened yet.

        `index_of` opens the index of a path ("" for none), a model's name and its dimensions; `pool` has the caller's
        connections to a database; `watch` lets observers watch searches and changes.
        """
        self._pool = pool
        self._watch = watch
        self._hooks = hooks
        self._loaded = loaded
        self._registry = registry
        self._new_embedder, self._index_of = embedder, index_of
        self._observer = observer
        self._store: MemoryStore | None = None
        self._words: MemoryStore | None = None
        self._meaning: SemanticStore | None = None
        self._worker: VectorWorker | None = None
        self._works_in_background = False
        self._lock = SharedLock()

    @property
    def store(self) -> MemoryStore:
        """The store of facts, opened at first use.

        Raises:
            ConfigError: memory is off, the provider is unknown, or its package is not installed.
            StoreError: the store can't be opened.
        """
        if not self._loaded.settings.memory.enabled:
            raise ConfigError(f"memory is off; set memory.enabled = true @ {self._loaded.source}.memory")
        return self._opened()

    def kept(self) -> MemoryStore | None:
        """Return the store if it may hold facts or marks, otherwise `None`; memory may be switched off by now.

        Raises:
            ConfigError: as `store` does.
            StoreError: the store can't be opened.
        """
        there = self._store is not None or self._is_there("memories", "forgotten_memories", "memory_marks")
        return self._opened() if there else None

    def copied(self, *, makes: bool = False) -> MemoryStore | None:
        """Return the store without its search by meaning, for a copy; `None` where there is none, unless `makes`.

        Raises:
            ConfigError: as `store` does.
            StoreError: the store can't be opened.
        """
        if makes:
            self._opened()
        return self._words if self.kept() or makes else None

    @property
    def learns(self) -> bool:
        """Whether facts are learned from sessions."""
        memory = self._loaded.settings.memory
        return memory.enabled and memory.extract != "off"

    @property
    def learns_by_model(self) -> bool:
        """Whether a language model learns facts, too: it is asked for, or one is named and nothing is asked for."""
        memory = self._loaded.settings.memory
        return memory.extract == "model" or (memory.extract in {None, "auto"} and bool(memory.llm))

    @property
    def indexes(self) -> bool:
        """Whether files are indexed: `memory.index_paths`, or the journal."""
        settings = self._loaded.settings
        return settings.memory.enabled and bool(settings.memory.index_paths or settings.journal.enabled)

    def learns_of(self, scope: Scope) -> bool:
        """Return whether facts are learned from a scope's messages: of each bot that requires memory.

        Without a user only if `memory.extract` is set.
        """
        settings = self._loaded.settings
        is_read = bool(scope.user) or settings.memory.extract is not None
        return self.learns and is_read and settings.bot(scope.bot).requires_memory

    @cached_property
    def redactor(self) -> Redactor:
        """Removes secrets before anything is kept; a pattern of the settings that is too slow becomes an event.

        Raises:
            ConfigError: a pattern of `memory.redact_patterns` is invalid.
        """
        memory, hooks = self._loaded.settings.memory, self._hooks if self._hooks.has("redact") else None

        def slow(pattern: str) -> None:
            cause = (
                f"pattern {pattern!a:.80} took over a second and is now off, so it no longer removes secrets; "
                f"simplify it @ {self._loaded.source}.memory.redact_patterns"
            )
            self._observer.notify(Event(events.DEGRADED, "", cause))

        return HookedRedactor(NAMES, memory.redact_patterns, clock=time.thread_time, slow=slow, hooks=hooks)

    def _opened(self) -> MemoryStore:
        with self._lock:
            if self._store is None:
                name, path = provider_of(self._loaded)
                place = f"{self._loaded.source}.memory.provider"
                given = store_given(self._loaded, self._pool) if name == "psycopg" else path
                made = make("memory provider", self._registry.memories, name, given, place)
                self._warn_of_loss(name)
                if self._loaded.settings.memory.embedder != "none":
                    self._meaning = self._by_meaning(made, name, path)
                self._words, self._store = made, self._meaning or made
            return self._store

    def _warn_of_loss(self, name: str) -> None:
        """Warn if sessions last and facts do not: the store of an extension keeps sessions alone."""
        memory, adapter = self._loaded.settings.memory, self._loaded.settings.store.adapter
        if name == "stdlib" and memory.provider == "auto" and adapter not in {None, "sqlite3", "stdlib"}:
            cause = LOST.format(adapter=adapter, place=f"{self._loaded.source}.memory.path")
            _LOG.warning("%s", cause)
            self._observer.notify(Event(events.DEGRADED, "", cause))

    def may_hold(self) -> bool:
        """Return whether there may be facts; creates no file and no table."""
        if self._store is not None:
            return True
        return self._loaded.settings.memory.enabled and self._is_there("memories", "forgotten_memories")

    def _is_there(self, *tables: str) -> bool:
        """Return whether a file may hold something in one of these tables, or an extension keeps facts."""
        name, path = provider_of(self._loaded)
        if name == "sqlite3":
            from squidbot.adapters.sqlite3.memory.rows import may_have  # noqa: PLC0415  # only where it is used

            return may_have(path, *tables)
        return name != "stdlib"

    @property
    def meaning(self) -> SemanticStore | None:
        """The store with vectors; `None` if `memory.embedder` is "none". Raises as `store` does."""
        return self._meaning if self.store else None

    def work_in_background(self) -> None:
        """From now on make vectors in a thread, which starts when it is needed."""
        self._works_in_background = True

    def _by_meaning(self, store: MemoryStore, name: str, path: str) -> SemanticStore:
        """Return a store that is searched by vectors, too.

        Raises:
            ConfigError: the provider keeps no vectors.
        """
        if not isinstance(store, VectorStore):
            raise ConfigError(
                f'the memory provider {name!r} keeps no vectors; set memory.embedder to "none", or another provider'
                f" @ {self._loaded.source}.memory.embedder"
            )
        beside = path if name == "sqlite3" else ""  # a database compares them itself, or an index of this process does
        made = SemanticStore(
            store,
            self._embedder,
            lambda model, dimensions: self._index_of(vectors_path(beside, model), model, dimensions),
            self._failed,
            SharedLock(),
        )
        if self._works_in_background:
            self._worker = VectorWorker(lambda stopping: made.embed(stopping=stopping), self._failed)
            made.added = self._worker.poke
            self._worker.poke()  # what waits since the last time, or since the embedder was changed
        return made

    def _embedder(self) -> Embedder:
        made = self._new_embedder()
        if made is None:
            raise ConfigError(f"no embedder is set; set one @ {self._loaded.source}.memory.embedder")
        return CheckedEmbedder(made, self._loaded)

    def _failed(self, line: str) -> None:
        _LOG.warning("%s", line)
        self._observer.notify(Event(events.DEGRADED, "", line))

    def memories(
        self, meter: Meter, scope: Scope = NOBODY, session_id: str = "", *, by_words: bool = False
    ) -> Memories:
        """Return the memories that a scope sees, as text that `meter` counts.

        `by_words`: searched without vectors, as a request must not wait for an embedder.

        Raises:
            ConfigError: as `store` does, or a pattern of `memory.redact_patterns` is invalid.
            StoreError: the store can't be opened.
        """
        memory = self._loaded.settings.memory
        store = self.store
        return Memories(
            self._words if by_words and self._words is not None else store,
            View(scope, memory.isolation),
            meter,
            self.redactor,
            session_id,
            memory.min_relevance,
            chosen=chosen(self._hooks, session_id),
            watch=self._watch,
        )

    def close(self) -> None:
        """End the worker, and close the store if it is open."""
        if self._worker is not None:
            self._worker.stop()
        with self._lock:
            close = getattr(self._store, "close", None)
            if callable(close):
                close()
