"""What finds passages as the product does it: facts in SQLite, vectors of MiniLM beside them, the nearest by FAISS."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.finders import LIMIT
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import Memory, Scope, Source, View
from squidbot.core.memory.semantic import SemanticStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.conversations import Question
    from squidbot.core.memories import MemoryHit, Passage
    from squidbot.core.ports import Embedder

__all__ = ["Stored"]

SCOPE = Scope(user="ann", bot="squid")


class Stored:
    """Finds by the search of a store; passages are pieces of a file, as recorded conversations are."""

    def __init__(self, passages: Sequence[Passage], embedder: Callable[[], Embedder]) -> None:
        from squidbot.adapters.faiss import FaissIndex  # noqa: PLC0415  # an extra

        folder = tempfile.TemporaryDirectory(prefix="squidbot-bench-")
        path = Path(folder.name) / "facts.db"
        self._store = SemanticStore(
            SqliteMemoryStore(path),
            embedder,
            lambda model, dimensions: FaissIndex(f"{path}.minilm.vectors", model, dimensions),
        )
        self._closing = weakref.finalize(self, _close, self._store, folder)
        self._store.add([_memory(each) for each in passages])
        self._store.embed()

    def rank(self, question: Question) -> Sequence[str]:
        """Return the best."""
        return [hit.key for hit in self.hits(question)]

    def hits(self, question: Question) -> Sequence[MemoryHit]:
        """Return the best, with their scores."""
        return self._store.search(question.text, View(SCOPE), limit=LIMIT, now=question.now)


def _close(store: SemanticStore, folder: tempfile.TemporaryDirectory[str]) -> None:
    store.close()
    folder.cleanup()


def _memory(passage: Passage) -> Memory:
    source = Source(session_id=passage.group, first_seq=passage.position, last_seq=passage.position, path="talk.jsonl")
    sources = (source,) if passage.group else ()
    time = passage.time or 0.0
    return Memory(passage.key, passage.text, "background", SCOPE, time, speaker=passage.speaker, sources=sources)
