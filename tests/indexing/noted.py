"""A folder of notes and a store, as the tests of indexing have them, and what is found of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.core.memories import Memory, Scope, View
from squidbot.core.memory.chunks import FILES
from squidbot.core.memory.view import Memories
from squidbot.core.redaction import Redactor
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.services.indexing import IndexPaths, IndexReport, reindex

from .indexer import ANN

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.ports import MemoryStore

METER = Meter(builtin_counter("classes"))


def memories_of(store: MemoryStore, redactor: Redactor | None = None) -> Memories:
    """Return what Ann sees of a store."""
    return Memories(store, View(ANN), METER, redactor or Redactor())


def pieces_in(store: MemoryStore, scope: Scope = ANN) -> list[Memory]:
    """Return what is found of files, in their order."""
    found = store.listed(View(scope._replace(collection=FILES)), limit=100_000, past=True)
    return sorted(found, key=lambda one: (one.sources[0].path, one.sources[0].session_id, one.sources[0].first_seq))


class Notes:
    """A folder whose files are all of the same time, and a store."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        self.folder = folder
        self.store = store
        (folder / "notes").mkdir()

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / "notes" / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1e9, 1e9))

    def rename(self, name: str, other: str) -> None:
        """Rename a file, if it is there."""
        if (self.folder / "notes" / name).exists():
            (self.folder / "notes" / name).replace(self.folder / "notes" / other)

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / "notes" / name).unlink(missing_ok=True)

    def index(self, *asked: str, redactor: Redactor | None = None, **more: Any) -> IndexReport:  # noqa: ANN401  # as `IndexPaths` has them
        """Index it."""
        paths = IndexPaths(self.folder, ("notes",), asked, **more)
        return reindex(memories_of(self.store, redactor), paths)

    def fresh(self) -> MemoryStore:
        """Return a new store with what the files say now."""
        store = InMemoryMemoryStore()
        reindex(memories_of(store), IndexPaths(self.folder, ("notes",)))
        return store


def became(done: IndexReport) -> list[tuple[str, str]]:
    """Return what became of each file."""
    return [(outcome.path.removeprefix("notes/"), outcome.became) for outcome in done.outcomes]
