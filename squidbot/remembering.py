"""Durable facts as the settings want them kept: the store, opened at first use, and whose memories are seen."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from squidbot.core.errors import ConfigError
from squidbot.core.memories import Scope, View
from squidbot.offers import make

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.counting.meter import Meter
    from squidbot.core.memories import MemoryStore
    from squidbot.core.memory.asking import Memories
    from squidbot.offers import Registry

__all__ = ["NOBODY", "Remembering", "provider_of"]

NOBODY = Scope()


def provider_of(loaded: Loaded) -> tuple[str, str]:
    """Return which provider keeps durable facts, and its file, absolute, or "".

    "auto" is SQLite in `memory.path`, else beside the sessions in `store.path`; without either they live in memory.
    "file" is one of JSON lines, which no sessions are in.
    """
    memory, store = loaded.settings.memory, loaded.settings.store
    sessions = store.path if store.adapter in {None, "sqlite3"} else ""
    path = memory.path or sessions
    name = memory.provider
    if name == "auto":
        name = "sqlite3" if path else "stdlib"
    if name == "stdlib":
        return name, ""
    if name == "file":
        path = memory.path
    return name, loaded.absolute(path) if path else ""


class Remembering:
    """The durable facts of one engine. Threads may share it."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        """Take what the settings say; nothing is opened yet."""
        self._loaded = loaded
        self._registry = registry
        self._store: MemoryStore | None = None
        self._lock = threading.Lock()

    @property
    def store(self) -> MemoryStore:
        """What keeps them.

        Raises:
            ConfigError: they are switched off, the provider is unknown, or its package is not installed.
            StoreError: the store can't be opened.
        """
        if not self._loaded.settings.memory.enabled:
            raise ConfigError(f"memory is switched off; set enabled @ {self._loaded.source}.memory")
        with self._lock:
            if self._store is None:
                name, path = provider_of(self._loaded)
                place = f"{self._loaded.source}.memory.provider"
                self._store = make("memory provider", self._registry.memories, name, path, place)
            return self._store

    def memories(self, meter: Meter, scope: Scope = NOBODY, session_id: str = "") -> Memories:
        """Return what of the store a scope sees, told as text that `meter` counts.

        Raises:
            ConfigError: as `store` does, or a pattern of `memory.redact_patterns` is none.
            StoreError: the store can't be opened.
        """
        from squidbot.core.memory.asking import Memories  # noqa: PLC0415  # no turn needs it
        from squidbot.core.redaction import NAMES, Redactor  # noqa: PLC0415

        memory = self._loaded.settings.memory
        names = NAMES if memory.redact_names is None else memory.redact_names
        return Memories(
            self.store,
            View(scope, memory.isolation),  # type: ignore[arg-type]  # one of them, checked when it was read
            meter,
            Redactor(names, memory.redact_patterns),
            session_id,
            memory.min_relevance,
        )

    def close(self) -> None:
        """Close the store, if it was opened and is one that can be closed."""
        with self._lock:
            close = getattr(self._store, "close", None)
            if callable(close):
                close()
