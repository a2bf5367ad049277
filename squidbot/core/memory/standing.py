"""Which facts stand: those that somebody said on a line that is talked on. The others come back with their line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from squidbot.core.transcript.lines import Lines, LineStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import FactCategory, Memory, MemoryHit, Source, View
    from squidbot.core.ports import MemoryStore, TranscriptStore

# Whether the messages of a source are on the current line of their session.
IsSaid: TypeAlias = Callable[["Source"], bool]


def said_in(transcripts: TranscriptStore, only: str | None = None) -> IsSaid:
    """Return what tells whether the messages of a source are on the current line of their session.

    Each session's lines are read once. With `only`, other sessions are not looked at: their messages count as said.
    """
    known: dict[str, LineStore | None] = {}

    def is_said(source: Source) -> bool:
        name = source.session_id
        if only not in {None, name}:
            return True
        if name not in known:
            known[name] = LineStore(transcripts, name) if Lines.read(transcripts, name).made else None
        line = known[name]
        return line is None or line.has_all(source.first_seq, source.last_seq)

    return is_said


def stands(memory: Memory, is_said: IsSaid) -> bool:
    """Return whether a memory may be told: one of its sources is said, or none of them is a message."""
    messages = [source for source in memory.sources if source.session_id and not source.path and source.first_seq >= 0]
    return not messages or any(source.path for source in memory.sources) or any(map(is_said, messages))


def instead_of(memory: Memory, store: MemoryStore, is_said: IsSaid) -> Memory | None:
    """Return the memory that holds where one doesn't stand: the newest that it replaced, and that stands; or None."""
    seen = {memory.memory_id}
    while memory.supersedes and memory.supersedes not in seen:
        seen.add(memory.supersedes)
        older = store.get([memory.supersedes])
        if not older or older[0].superseded_by != memory.memory_id:
            return None
        memory = older[0]
        if stands(memory, is_said):
            return replace(memory, superseded_by="")
    return None


@dataclass(frozen=True, slots=True)
class StandingFacts:
    """The facts of a store that stand, to read. One that doesn't is left out: what it replaced holds in its place."""

    store: MemoryStore
    is_said: IsSaid

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return those of the named memories that stand, in the order asked for."""
        found = [memory for memory in self.store.get(memory_ids) if stands(memory, self.is_said)]
        newer = [memory.superseded_by for memory in found if memory.superseded_by]
        off = {one.memory_id for one in self.store.get(newer) if not stands(one, self.is_said)} if newer else set[str]()
        return [replace(one, superseded_by="") if one.superseded_by in off else one for one in found]

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return memories as `MemoryStore.listed`; one that holds again stands at the place of what replaced it."""
        found: list[Memory] = []
        after = after if past else self._newest(after)
        while (wanted := limit - len(found)) > 0:
            page = self.store.listed(view, category, limit=wanted, after=after, past=past)
            found += (one for one in self._shown(page, past=past).values() if category in {None, one.category})
            if len(page) < wanted:
                break
            after = page[-1].memory_id
        return found

    def newest(self, views: Sequence[View], *, limit: int = 100) -> list[dict[FactCategory, list[Memory]]]:
        """Return memories as `MemoryStore.newest`; of a category where some don't stand, as `listed`."""
        found = self.store.newest(views, limit=limit)
        for view, of_view in zip(views, found, strict=True):
            for kind, page in of_view.items():
                shown = [one for one in self._shown(page, past=False).values() if one.category == kind]
                full = len(page) == limit and len(shown) < limit
                of_view[kind] = self.listed(view, kind, limit=limit) if full else shown
        return found

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:
        """Return hits as `MemoryStore.search`; one that holds again is found where what replaced it is."""
        wanted = limit
        while True:
            hits = self.store.search(query, view, limit=wanted, now=now, past=past)
            shown = self._shown(self.store.get([hit.key for hit in hits]), past=past)
            found = [hit._replace(key=shown[hit.key].memory_id) for hit in hits if hit.key in shown]
            if len(found) >= limit or len(hits) < wanted:
                return found[:limit]
            wanted *= 2

    def _shown(self, memories: Sequence[Memory], *, past: bool) -> dict[str, Memory]:
        """Return what is shown of memories, by their ids."""
        found: dict[str, Memory] = {}
        for memory in memories:
            one = memory if stands(memory, self.is_said) else None
            if one is None and not past:
                one = instead_of(memory, self.store, self.is_said)
            if one is not None:
                found[memory.memory_id] = one
        return found

    def _newest(self, memory_id: str) -> str:
        """Return the id of what a memory was replaced by in the end; its own if nothing replaced it."""
        seen = {memory_id}
        while memory_id and (held := self.store.get([memory_id])) and held[0].superseded_by not in {"", *seen}:
            memory_id = held[0].superseded_by
            seen.add(memory_id)
        return memory_id
