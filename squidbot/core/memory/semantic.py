"""A store that is searched by vectors, too: they are made after memories are stored."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, SquidbotError
from squidbot.core.ports import SupportsCalibration
from squidbot.core.vectors import QueryMeaning, SupportsNearest, VectorSearch, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from squidbot.core.memories import Mark, Memory, MemoryHit, NewSources, View
    from squidbot.core.ports import Embedder
    from squidbot.core.vectors import NearestVectors, VectorIndex, VectorStore


Value = TypeVar("Value")

# Vectors of one batch: a third of a second with a small model on two cores. Work may end between batches.
BATCH_MEMORIES = 32
# If so few wait, their vectors are made right before a search.
SEARCH_MEMORIES = 16
# How many of the nearest are ranked beside the candidates by words; among many vectors fewer, as each takes longer to
# read.
NEAREST, NEAREST_OF_MANY = 100, 80
MANY_VECTORS = 50_000


class VectorBackend(NamedTuple):
    """An open embedder, and what finds the nearest of its vectors."""

    embedder: Embedder
    nearest: NearestVectors


def vector_text(memory: Memory) -> str:
    """Return the text of a memory's vector: the speaker belongs to its meaning."""
    return f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text


class SemanticStore:
    """A MemoryStore over a store with vectors; threads may share it.

    `add` is as fast as without vectors, and new memories are found by their words at once. `embed` makes their vectors
    later, or a search does if few wait. Vectors of two models never meet: after a change of the model words alone are
    searched until nearly all memories have new vectors. If no vectors can be had, words alone are searched, and
    `report` gets a line that says why.
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: Callable[[], Embedder],
        index: Callable[[str, int], VectorIndex],
        report: Callable[[str], None] | None = None,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        """Take a store, and factories of the embedder and of the index of a model's name and dimensions.

        Both are called at first need, the index only where the store's server does not compare vectors itself. `lock`
        is needed if threads share the store.
        """
        self._store = store
        self.mark, self.supersede, self.from_session = store.mark, store.supersede, store.from_session
        self.get, self.listed, self.newest, self.forgotten = store.get, store.listed, store.newest, store.forgotten
        self._make_embedder = embedder
        self._make_index = index
        self._report = report or (lambda _: None)
        self._opened: VectorBackend | None = None
        self._lock = lock or nullcontext()
        self._is_file_gone = False
        self._was_whole = False
        # The last query, and its vector.
        self._last_query: tuple[str, tuple[float, ...]] = ("", ())
        # Memories without a vector because the embedder refused them; while the process lives.
        self._refused: set[str] = set()
        self.fault = ""
        self.added: Callable[[], None] = lambda: None

    @property
    def by_words(self) -> VectorStore:
        """The same store, searched by words alone, without waiting for an embedder."""
        return self._store

    # -- MemoryStore ------------------------------------------------------------------------------------------------

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories in one transaction; durable on return, and found by their words at once.

        Raises:
            StoreError: nothing was stored.
        """
        self._store.add(memories, mark, was, said, places)
        self.added()

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Remove messages from the sources of memories; return the ids of memories that were forgotten by that.

        Raises:
            StoreError: nothing was changed.
        """
        with self._forgetting([memory.memory_id for memory in self._store.from_session(session_id)]):
            return self._store.forget_messages(session_id, seqs, reason)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there, or no more.
            StoreError: nothing was changed.
        """
        with self._forgetting(gone):
            self._store.exchange(gone, memories, reason)
        self.added()

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, by words and vectors, best first, ties newest first.

        Raises:
            ValueError: there is no letter or digit in the query.
        """
        meant = None
        if limit > 0 and any(map(str.isalnum, query)):
            meant = self._or_words(lambda: self._meaning(query, view, past=past))
        return self._store.search(query, view, limit=limit, now=now, past=past, meant=meant)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories and their vectors for good, and return how many there were.

        The file of the index goes first; `embed` and `close` write it anew.

        Raises:
            StoreError: nothing was removed.
        """
        with self._forgetting(memory_ids):
            return self._store.forget(memory_ids, reason)

    # -- vectors ----------------------------------------------------------------------------------------------------

    def opened(self) -> VectorBackend:
        """Return the embedder and the index, opened at the first call.

        Raises:
            ConfigError: there are none such, or their package is not installed.
            LLMError: the embedder can't be opened.
        """
        with self._lock:
            if self._opened is None:
                embedder = self._make_embedder()
                model, dimensions = embedder.name, embedder.dimensions
                if self._store.models().get(model, dimensions) != dimensions:
                    # Another model of the same name: the old vectors can't be compared with its vectors.
                    self._store.drop_vectors(model)
                self._opened = VectorBackend(embedder, self._nearest(model, dimensions))
                if self._opened.nearest.fault:
                    self._report(self._opened.nearest.fault)
            return self._opened

    def _nearest(self, model: str, dimensions: int) -> NearestVectors:
        store = self._store
        found = store.nearest(model, dimensions) if isinstance(store, SupportsNearest) else None
        if found is not None:
            return found
        return VectorSearch(self._make_index(model, dimensions), store.vectors_of(model, dimensions))

    def near(self, memories: Sequence[Memory], view: View) -> dict[str, dict[str, float]] | None:
        """Return for each of some stored memories, by id, the nearest ones of a view with their cosines.

        Their vectors are made first. `None` if no vectors can be had, which is reported.
        """
        return self._or_words(lambda: self._near(memories, view))

    def embed(
        self, progress: Callable[[int, int], None] | None = None, stopping: Callable[[], bool] = lambda: False
    ) -> bool:
        """Make the missing vectors, update and save the index; return whether none is missing any more.

        Each batch is durable when the next begins, so a killed process loses at most one. When all are made, vectors of
        other models are dropped. `progress` gets the numbers made and due; `stopping` ends it after the current batch.

        Raises:
            ConfigError: as `opened`, or another process keeps vectors of another model in this store.
            LLMError: vectors could not be made; earlier ones are kept.
            StoreError: the disk failed.
        """
        embedder, nearest = self.opened()
        model = embedder.name
        self._refuse_rival(model)
        total, done, after = self._store.waiting(model), 0, ""
        while not stopping():
            batch = self._batch(model, after, total) if done < total else []
            if not batch:
                break
            self._put(embedder, [memory for memory in batch if memory.memory_id not in self._refused])
            after, done = batch[-1].memory_id, done + len(batch)
            if progress is not None:
                progress(min(done, total), total)
        else:
            return False
        self._drop_others(model)
        nearest.refresh()
        if self._is_file_gone:
            self._is_file_gone = False
            nearest.save()
        self.fault = ""
        return True

    def reembed(
        self, progress: Callable[[int, int], None] | None = None, stopping: Callable[[], bool] = lambda: False
    ) -> bool:
        """Drop all vectors and make them anew, as `embed` does."""
        model = self.opened().embedder.name
        self._store.drop_vectors(model)
        self._was_whole = False
        self._is_file_gone = True
        self._refused.clear()
        return self.embed(progress, stopping)

    def close(self) -> None:
        """Save the index if its file was removed, and close everything; a second call does nothing."""
        opened, self._opened = self._opened, None
        if opened is not None:
            if self._is_file_gone:
                self._or_words(opened.nearest.save)
            opened.nearest.close()
        for part in (opened.embedder if opened else None, self._store):
            close = getattr(part, "close", None)
            if callable(close):
                close()

    def _meaning(self, query: str, view: View, *, past: bool) -> QueryMeaning:
        embedder, nearest = self.opened()
        waiting = self._store.newest_without(embedder.name, SEARCH_MEMORIES + 1)
        if len(waiting) <= SEARCH_MEMORIES:
            self._put(embedder, [memory for memory in waiting if memory.memory_id not in self._refused])
        last, vector = self._last_query
        if last != query:  # facts and files are searched one behind the other
            vector = _vectors(embedder, [query])[0]
            self._last_query = query, vector
        limit = NEAREST_OF_MANY if nearest.vectors > MANY_VECTORS else NEAREST
        near = nearest.places(vector, view, limit=limit, past=past)
        even = embedder.even if isinstance(embedder, SupportsCalibration) else None
        return QueryMeaning(embedder.name, vector, near, even, nearest.dots)

    def _near(self, memories: Sequence[Memory], view: View) -> dict[str, dict[str, float]]:
        embedder, nearest = self.opened()
        by_id = _vectors_of(embedder, memories)
        self._store.put_vectors(embedder.name, embedder.dimensions, by_id)
        return {name: nearest.search(vector, view, limit=NEAREST) for name, vector in by_id.items()}

    def _batch(self, model: str, after: str, waiting: int) -> list[Memory]:
        """Return the next memories without a vector; to look for few among a million takes a second."""
        newest = self._store.newest_without(model, BATCH_MEMORIES) if waiting <= BATCH_MEMORIES else []
        return newest if len(newest) == waiting else self._store.without_vectors(model, after, BATCH_MEMORIES)

    def _put(self, embedder: Embedder, memories: Sequence[Memory]) -> None:
        if not memories:
            return
        try:
            by_id = _vectors_of(embedder, memories)
        except (ContextOverflowError, LLMError) as error:
            if isinstance(error, LLMError) and error.kind != "unusable":
                raise
            if len(memories) == 1:  # it is found by its words, as before
                self._refused.add(memories[0].memory_id)
                self._report(f"memory {memories[0].memory_id} has no vector: {error}")
                return
            for memory in memories:
                self._put(embedder, [memory])
            return
        self._store.put_vectors(embedder.name, embedder.dimensions, by_id)

    def _refuse_rival(self, model: str) -> None:
        """Check that no other process drops these vectors.

        Raises:
            ConfigError: one did: two embedders would make all vectors anew for ever.
        """
        kept = self._store.models()
        if self._was_whole and kept and model not in kept:
            raise ConfigError(
                f"another process stores vectors of {', '.join(kept)!a:.80} and has dropped those of {model!a:.80}: "
                "set the same memory.embedder in all of them; this one searches words only"
            )

    def _drop_others(self, model: str) -> None:
        kept = self._store.models()
        self._was_whole = model in kept
        for other in kept if self._was_whole else ():
            if other != model:
                self._store.drop_vectors(other)
                self._is_file_gone = True
                self._report(f"all vectors are of {model!a:.80} now: dropped those of {other!a:.80}")

    @contextmanager
    def _forgetting(self, memory_ids: Sequence[str]) -> Iterator[None]:
        """Open the index while its file still exists; the file is removed before the memories.

        The index has to be saved again afterwards: a save in between may have had what was forgotten.
        """
        is_due = bool(memory_ids) and bool(self._store.models())
        if is_due:
            self._or_words(self.opened)
        try:
            yield
        finally:
            if is_due:
                self._is_file_gone = True
                self.added()

    def _or_words(self, act: Callable[[], Value]) -> Value | None:
        """Return the result of an act that needs vectors; `None`, and a line is reported, if it fails."""
        try:
            value = act()
        except SquidbotError as error:
            if str(error) != self.fault:
                self.fault = str(error)
                self._report(f"searching words only: {error}")
            return None
        self.fault = ""
        return value


def _vectors_of(embedder: Embedder, memories: Sequence[Memory]) -> dict[str, tuple[float, ...]]:
    """Return the vectors of memories, by id; raises as `_vectors`."""
    vectors = _vectors(embedder, list(map(vector_text, memories)))
    return dict(zip((memory.memory_id for memory in memories), vectors, strict=True))


def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Return a vector of length 1 for each text.

    Raises:
        ContextOverflowError: a text is too long.
        LLMError: there are none, or they are not what they have to be.
    """
    vectors = embedder.embed(texts)
    if len(vectors) != len(texts) or any(len(vector) != embedder.dimensions for vector in vectors):
        raise LLMError("unusable", f"{embedder.name!a:.80} returned too few vectors, or vectors of another length")
    try:
        return [unit(vector) for vector in vectors]
    except ValueError as error:
        raise LLMError("unusable", f"{embedder.name!a:.80}: {error}") from error
