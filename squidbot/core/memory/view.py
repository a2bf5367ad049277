"""The memories of one view: searched, added, listed, forgotten and merged, with answers as text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, combinations, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.arguments import a_timestamp, flag, instance, items, number, optional, parts, takes, text, whole
from squidbot.core.errors import BudgetError, NotFoundError, RecallError
from squidbot.core.memories import CARDS, CATEGORIES, FactCategory, Memory, Source, memory_id_of
from squidbot.core.memory.chunks import FILES
from squidbot.core.memory.facts import is_negation, rank, slot_of, words_of
from squidbot.core.memory.search import BLOCK, MIN_RELEVANCE, distinct, in_final_order
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.memory.standing import StandingFacts, stands
from squidbot.core.memory.text import COUNTED, MemoryFormatter, MemoryPage, counted, framed, read_id, safe, when
from squidbot.core.operations import GenAIOperation, Operation, Watch, unwatched
from squidbot.core.recall.history import within
from squidbot.core.redaction import Redactor
from squidbot.core.vectors import dot
from squidbot.core.view.marks import HINTS, Hints

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import MemoryHit, Trust, View
    from squidbot.core.memory.standing import IsSaid
    from squidbot.core.ports import MemoryStore
    from squidbot.core.tokens.counters import Meter


# Memories on a page by default, and at most.
HITS, MOST_HITS = 8, 50
# The most memories on earlier pages.
MOST_OFFSET = 1_000
QUERY_CHARS = 1_000
TEXT_CHARS = 1_000
# What a page may cost by default, and the least that holds one memory.
ANSWER_TOKENS = 1_000
LEAST_TOKENS = 160
# With a category so many times as many hits are looked through.
_PER_CATEGORY = 4
QUERY_SHOWN_CHARS = 80
# How many are read at once where all are.
PAGE: Final = 500
# Chunks of files are background.
_OF_FILES: Final = (None, "background")
_AGAIN: Final = "try other or fewer words, or an exact name"


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A search, or a page of a list.

    Attributes:
        query: the words; "" for a list.
        category: only this category; `None` for all.
        limit: how many memories at most.
        offset: for a search, how many memories are on the pages before.
        after: for a list, the id of the last memory of the page before; "" for the first page.
        past: whether to include replaced memories.
        tag: only chunks of files with this tag; "" for everything.
    """

    query: str = ""
    category: FactCategory | None = None
    limit: int = HITS
    offset: int = 0
    after: str = ""
    past: bool = False
    tag: str = ""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A fact to add.

    Attributes:
        text: the fact, as a sentence.
        category: the group in which it is shown.
        replaces: the id of the memory that it replaces; "" for none.
        tags: words to list it by.
        trust: who it is from.
        speaker: the speaker's name; "" if unknown.
        reason: why it is stored.
        source: the messages or the file that it is from; None for the session's newest message.
    """

    text: str
    category: FactCategory = "background"
    replaces: str = ""
    tags: tuple[str, ...] = ()
    trust: Trust = "assistant"
    speaker: str = ""
    reason: str = "the model called a memory tool"
    source: Source | None = None


QUERY_PARTS: Final = parts(
    MemoryQuery,
    "a MemoryQuery",
    query=text,
    category=optional(text),
    limit=number,
    offset=number,
    after=text,
    past=flag,
    tag=text,
)
MEMORY_PARTS: Final = parts(
    NewMemory,
    "a NewMemory",
    text=text,
    category=text,
    replaces=text,
    tags=items(text, "several words"),
    trust=text,
    speaker=text,
    reason=text,
    source=optional(instance(Source, called="a Source")),
)


@dataclass(frozen=True, slots=True)
class Memories:
    """The durable facts of one scope, as text. `Engine.memories` returns it.

    Attributes:
        store: where they are.
        view: the memories that are visible; new ones are of its scope. Other ids are unknown here.
        meter: counts texts.
        redactor: removes secrets from new memories.
        session_id: the current session.
        min_relevance: hits with a lower score, 0 to 1, are left out.
        limit_tokens: what an answer may cost, as a bound.
        forgot: called after each `forget` with the ids, the id of the memory that had replaced it ("" for none), and
            the reason, to retract the memory from sessions; `None`: no session has it.
        chosen: selects and orders the hits of a query; `None`: all.
        hints: what the reader of an answer can call next.
        is_said: tells which messages are on the line that is talked on; `None`: nobody asks.
        every_line: whether to show facts of other lines, too, marked: people see everything, models the current line.
        watch: lets observers watch searches and changes.
    """

    store: MemoryStore
    view: View
    meter: Meter
    redactor: Redactor = field(default_factory=Redactor)
    session_id: str = ""
    min_relevance: float = MIN_RELEVANCE
    limit_tokens: int = ANSWER_TOKENS
    forgot: Callable[[Sequence[str], str, str], object] | None = None
    chosen: Callable[[str, Sequence[Memory]], list[Memory]] | None = None
    hints: Hints = HINTS
    is_said: IsSaid | None = None
    every_line: bool = False
    watch: Watch = unwatched

    @takes(request=QUERY_PARTS, now=a_timestamp)
    def search(self, request: MemoryQuery, now: float) -> MemoryPage:
        """Search the facts, and return a page of them, best first, in groups. `now` is in seconds since 1970.

        Raises:
            RecallError: the query has no word or is too long, or limit or offset are out of range.
            BudgetError: there is no room for a page.
            StoreError: the store failed.
        """
        within(request.limit, 1, MOST_HITS, "limit")
        within(request.offset, 0, MOST_OFFSET, "offset")
        if len(request.query) > QUERY_CHARS:
            raise RecallError(f"the query has {len(request.query):,} characters; at most {QUERY_CHARS:,} are allowed")
        with self.watch(self._operation("search_memory", request.query)) as operation:
            page = self._search(request, now)
            _found(operation, page.memories)
        return page

    def _search(self, request: MemoryQuery, now: float) -> MemoryPage:
        memories, scores = self._hits(request, now)
        words = safe(request.query, QUERY_SHOWN_CHARS)
        if not memories and request.offset:
            return self._plain(f"no further memories for: {words}", "There are no more matches.")
        if not memories:
            best = max(scores.values(), default=1.0)
            nearest = f" The nearest scores {100 * best:.0f} %, under {100 * self.min_relevance:.0f} %: a guess."
            line = self._searched(request) + (nearest if best < self.min_relevance else "")
            behind = (self._replaced_hits(request, now), _AGAIN, self.hints.search)
            return self._plain(f"nothing relevant found for: {words}", line, behind=behind)

        def frame(count: int, lines: str) -> str:
            about = f"{count} found, best first in each group, for: {words}"
            further = self.hints.facts.format(request.offset + count) if len(memories) > count else ""
            return framed(about, lines, "scores are guesses", self.hints.forget, further)

        return self._page(memories, frame, request, now, scores)

    def _replaced_hits(self, request: MemoryQuery, now: float) -> str:
        """Return how many replaced facts match a query without other hits, and how to find them; "" for none."""
        if request.past or request.tag or not self.hints.past:
            return ""
        found, _ = self._hits(replace(request, past=True), now)
        count = sum(bool(memory.superseded_by) for memory in found)
        matches = "fact matches" if count == 1 else "facts match"
        return f"{count} replaced {matches}: {self.hints.past}" if count else ""

    @takes(text=text, limit=whole(0), now=a_timestamp)
    def relevant(self, text: str, limit: int, now: float) -> list[Memory]:
        """Return at most `limit` facts that answer a text well, best first; none if the text has no word.

        `now` is in seconds since 1970.

        Raises:
            StoreError: the store failed.
        """
        with self.watch(self._operation("search_memory", text)) as operation:
            try:
                hits = self._by_words.search(text, self.view, limit=_blocks(limit), now=now)
            except ValueError:
                hits = []
            memories = distinct(self._relevant(hits, now))
            memories = (self.chosen(text, memories) if self.chosen else memories)[:limit]
            _found(operation, memories)
        return memories

    def hidden(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return the ids of these memories that this view must not show any more: forgotten ones, and those of others.

        Raises:
            StoreError: the store failed.
        """
        ids = sorted(memory_ids)
        others = {memory.memory_id for memory in self.store.get(ids) if not self._sees(memory)}
        return frozenset({*self.store.forgotten(ids), *others})

    @takes(request=QUERY_PARTS, now=a_timestamp)
    def listed(self, request: MemoryQuery, now: float) -> MemoryPage:
        """Return a page of facts, newest first, in groups. `now` is in seconds since 1970.

        Raises:
            RecallError: limit is out of range, or there is no memory `after`.
            BudgetError: there is no room for a page.
            StoreError: the store failed.
        """
        within(request.limit, 1, MOST_HITS, "limit")
        after = read_id(request.after)
        try:
            memories = self.shown.listed(
                self.view, request.category, limit=request.limit + 1, after=after, past=request.past
            )
        except NotFoundError as error:
            raise RecallError(str(error)) from error
        kind = f" in {request.category}" if request.category else ""
        if not memories:
            return self._plain(f"no {'further ' * bool(after)}memories{kind}", self._none_listed(request))

        def frame(count: int, lines: str) -> str:
            further = self.hints.listed.format(memories[count - 1].memory_id) if len(memories) > count else ""
            return framed(f"the newest {count}{kind}", lines, self.hints.forget, further)

        return self._page(memories, frame, request, now, {})

    def _none_listed(self, request: MemoryQuery) -> str:
        if request.after:
            return "There are no more."
        if request.category and self.shown.listed(self.view, limit=1):
            return "Other categories have some; list without a category shows them."
        files = self._file_count() if request.category in _OF_FILES else ""
        return "Nothing is remembered here." + (f" Search also finds text in {files}." if files else "")

    @takes(added=MEMORY_PARTS, now=a_timestamp)
    def add(self, added: NewMemory, now: float) -> MemoryPage:
        """Store a fact, durably, without secrets. `now` is in seconds since 1970.

        The page shows the fact, or the one that was known already.

        Raises:
            RecallError: the text has no word, is too long, or there is no memory that it can replace.
            StoreError: nothing was stored.
        """
        with self.watch(self._operation("update_memory" if added.replaces else "create_memory")) as operation:
            return self._add(added, now, operation)

    def _add(self, added: NewMemory, now: float, operation: Operation) -> MemoryPage:
        text = self._checked_text(added.text)
        old = self._replaceable(added.replaces) if added.replaces else None
        try:
            hits = self._by_words.search(text, self.view, limit=HITS, now=now)
        except ValueError as error:
            raise RecallError(str(error)) from error
        same = (memory for memory in self._seen(hit.key for hit in hits) if words_of(memory.text) == words_of(text))
        known = next(same, None)
        if known is not None and (old is None or old.memory_id == known.memory_id):
            age = when(known.time, now)
            operation.records = 0
            return self._plain("known already", f"{known.memory_id} says so{f' ({age})' if age else ''}.", known)
        memory = self._memory(added, text, old, now)
        self.store.add([memory])
        _found(operation, [memory])
        operation.record_id = memory.memory_id
        replaced = f" It replaces {old.memory_id}, which is kept as history." if old else ""
        secret = " A secret in it was removed." if text != safe(added.text, TEXT_CHARS) else ""
        return self._plain(f"added to {memory.category}", f"Its id is {memory.memory_id}.{replaced}{secret}", memory)

    @takes(memory_id=text, reason=text)
    def forget(self, memory_id: str, reason: str = "") -> MemoryPage:
        """Remove a fact for good. The page does not repeat its words. `reason` is stored; do not repeat them there.

        Raises:
            RecallError: there is no such memory.
            StoreError: nothing was removed.
        """
        with self.watch(self._operation("delete_memory")) as operation:
            return self._forget(memory_id, reason, operation)

    def _forget(self, memory_id: str, reason: str, operation: Operation) -> MemoryPage:
        try:
            memory = self.find(memory_id)
        except RecallError:
            # A process that forgot it may have died before it was retracted from all sessions.
            if self.forgot and self.store.forgotten([read_id(memory_id)]):
                self.forgot([read_id(memory_id)], "", reason)
            raise
        operation.record_id, operation.records = memory.memory_id, 1
        self.store.forget([memory.memory_id], reason)
        if self.forgot:
            self.forgot([memory.memory_id], memory.superseded_by, reason)
        older = self._seen([memory.supersedes])
        kept = f" The fact it replaced is still kept. To forget it, too: forget {older[0].memory_id}" if older else ""
        where = f"from {memory.category}"
        if memory.scope.collection:
            where = f"and not read from {safe(memory.sources[0].path)} again while that says the same"
        return self._plain(f"forgot {memory.memory_id}", f"It is gone for good {where}.{kept}")

    def find(self, memory_id: str) -> Memory:
        """Return the fact with an id, as a model or a person writes the id.

        Raises:
            RecallError: there is no such memory in this view.
            StoreError: the store failed.
        """
        found = self._seen([read_id(memory_id)])
        if not found:
            raise RecallError(f"no memory has the id {memory_id!a:.60}; ids look like f-abcde23456; {self.hints.ids}")
        return found[0]

    @property
    def shown(self) -> MemoryStore | StandingFacts:
        """What of the store is shown: without facts of other lines, unless everything is."""
        return self._standing(self.store)

    @property
    def _by_words(self) -> MemoryStore | StandingFacts:
        """The same without vectors: requests and new facts don't wait for an embedder."""
        return self._standing(self.store.by_words if isinstance(self.store, SemanticStore) else self.store)

    def _operation(self, name: GenAIOperation, query: str = "") -> Operation:
        return Operation(name=name, session_id=self.session_id, store="facts", query=query)

    def _standing(self, store: MemoryStore) -> MemoryStore | StandingFacts:
        return store if self.is_said is None or self.every_line else StandingFacts(store, self.is_said)

    def _is_off(self, memory: Memory) -> bool:
        """Return whether nobody said a memory on a line that is talked on."""
        return self.is_said is not None and not stands(memory, self.is_said)

    def _hits(self, request: MemoryQuery, now: float) -> tuple[list[Memory], dict[str, float]]:
        """Return the memories of a page and one more, each text once, and the scores of all hits."""
        end = request.offset + request.limit + 1
        limit = _blocks(end * (_PER_CATEGORY if request.category or request.tag else 1))
        views = [] if request.tag else [self.view]
        # Without files there is one search, and one vector of the query.
        if request.category in _OF_FILES:
            kept = zip(self.view.searched(CARDS), self.view.searched(FILES), strict=True)
            views += [files for cards, files in kept if self.store.listed(cards, limit=1)]
        try:
            found = [self.shown.search(request.query, view, limit=limit, now=now, past=request.past) for view in views]
        except ValueError as error:
            raise RecallError(str(error)) from error
        # Facts and chunks take turns: a fact is a line, a chunk a paragraph that has more of any query.
        turns = chain.from_iterable(zip_longest(*(self._relevant(hits, now) for hits in found)))
        memories = [
            memory
            for memory in distinct(filter(None, turns))
            if request.category in (None, memory.category) and request.tag in {"", *memory.tags}
        ]
        memories = self.chosen(request.query, memories) if self.chosen else memories
        return memories[request.offset : end], {hit.key: hit.score for hit in chain.from_iterable(found)}

    def _relevant(self, hits: Sequence[MemoryHit], now: float) -> list[Memory]:
        """Return the memories of hits that answer well enough, in their final order."""
        relevant = [hit for hit in hits if hit.score >= self.min_relevance]
        seen = {memory.memory_id: memory for memory in self._seen(hit.key for hit in relevant)}
        return in_final_order(relevant, seen, now)

    def _seen(self, memory_ids: Iterable[str]) -> list[Memory]:
        """Return the named memories, without those that this view does not see."""
        ids = list(filter(None, memory_ids))
        return [memory for memory in self.shown.get(ids) if self._sees(memory)] if ids else []

    def _sees(self, memory: Memory) -> bool:
        key = self.view._replace(scope=memory.scope).key
        return key == self.view.key or any(key == view.key for view in self.view.searched(FILES))

    def _replaceable(self, memory_id: str) -> Memory:
        """Return the fact of an id, which still holds."""
        old = self.find(memory_id)
        if old.scope.collection:
            raise RecallError(f"{old.memory_id} comes from the file {safe(old.sources[0].path)}: change it there")
        if old.superseded_by:
            raise RecallError(f"{old.memory_id} was replaced by {old.superseded_by}; replace that one")
        return old

    def _checked_text(self, text: str) -> str:
        """Return a text as it is stored, without secrets."""
        if len(text) > TEXT_CHARS:
            raise RecallError(f"the text has {len(text):,} characters; a fact has at most {TEXT_CHARS:,}")
        redacted = safe(self.redactor.redacted(text), TEXT_CHARS)
        if not any(map(str.isalnum, redacted.replace(self.redactor.mark, ""))):
            raise RecallError("text has nothing to remember: no word, or only a secret, which is never stored")
        return redacted

    def _memory(self, added: NewMemory, text: str, old: Memory | None, now: float) -> Memory:
        sources = () if added.source is None else (added.source,)
        memory_id = memory_id_of(self.view.scope, text, sources)
        if self.store.get([memory_id]):
            # Said again in one message, after it was replaced or in another category: another fact.
            sources = (*sources, Source(digest=f"{now:.6f}"))
            memory_id = memory_id_of(self.view.scope, text, sources)
        return Memory(
            memory_id,
            text,
            added.category,
            self.view.scope,
            now,
            trust=added.trust,
            speaker=added.speaker,
            tags=added.tags,
            sources=sources,
            reason=added.reason,
            supersedes=old.memory_id if old else "",
        )

    def _page(
        self,
        memories: Sequence[Memory],
        frame: Callable[[int, str], str],
        request: MemoryQuery,
        now: float,
        scores: Mapping[str, float],
    ) -> MemoryPage:
        versions = self._seen(other for memory in memories for other in (memory.supersedes, memory.superseded_by))
        others = {memory.memory_id: memory for memory in versions}
        off = frozenset(memory.memory_id for memory in memories if self._is_off(memory))
        formatter = MemoryFormatter(self.meter, now, self.session_id, others, scores, off)
        page = formatter.page(memories, self.limit_tokens, frame, most=request.limit)
        if page is None:
            raise BudgetError(
                "answer of memory",
                cost=LEAST_TOKENS,
                budget=self.limit_tokens,
                detail="no room for memories: the smallest answer costs",
                remedy="compact first, then ask again,",
            )
        return page

    def _searched(self, request: MemoryQuery) -> str:
        """Return how much was searched."""
        kinds = (request.category,) if request.category else CATEGORIES
        counts = {kind: len(self.shown.listed(self.view, kind, limit=COUNTED + 1)) for kind in kinds}
        files = self._file_count() if request.category in _OF_FILES else ""
        if not files and not any(counts.values()):
            return f"Nothing is remembered yet{f' in {request.category}' if request.category else ''}."
        parts = [f"{kind} {counted(count)}" for kind, count in counts.items()]
        without = "" if request.past else ", without replaced facts"
        return f"Searched: {', '.join(filter(None, (*parts, files)))}{without}."

    def _file_count(self) -> str:
        """Return the number of indexed files, as "9 files"; "" for none."""
        count = sum(len(self.store.listed(cards, limit=COUNTED + 1)) for cards in self.view.searched(CARDS))
        return f"{counted(count)} file{'s' * (count != 1)}" if count else ""

    def _plain(self, about: str, line: str, *memories: Memory, behind: Sequence[str] = ()) -> MemoryPage:
        text = framed(about, line, *behind)
        return MemoryPage(text, self.meter.message(text), memories)


def _found(operation: Operation, memories: Sequence[Memory]) -> None:
    operation.records = len(memories)
    operation.contents = tuple((memory.memory_id, memory.text) for memory in memories)


def _blocks(hits: int) -> int:
    """Return the number of hits to search for: whole blocks, each of which is put in order."""
    return -(-hits // BLOCK) * BLOCK


# Merging: memories that say nearly the same are replaced by one of them. Nothing is removed.

# From these similarities on two memories are one: of one category, and of two.
SAME_CATEGORY, OTHER_CATEGORY = 0.75, 0.90
# At most so many are merged at once, so that people can follow.
MOST_MERGES = 10
# More are not compared with each other: a quarter of a million pairs take about a second.
MOST_COMPARED = 700
# Beside negations: words that make two texts opposites if one text only has them.
_TURNING = frozenset(("hates", "without"))


def every(store: MemoryStore | StandingFacts, view: View, *, past: bool = False) -> Iterator[Memory]:
    """Yield all memories of a view, newest first; with `past` history, too."""
    after = ""
    while page := store.listed(view, limit=PAGE, after=after, past=past):
        yield from page
        after = page[-1].memory_id


class Merge(NamedTuple):
    """A memory, the memories that it replaces, which become history, and the reason."""

    kept: Memory
    gone: tuple[Memory, ...]
    reason: str


def merges(
    memories: Sequence[Memory],
    similar: Callable[[Memory, Memory], float] | None = None,
    only: Collection[str] = (),
) -> tuple[Merge, ...]:
    """Return the merges of memories of one view, at most 10 of them replaced; the same from the same.

    `similar` is the similarity of two, 0 to 1: the cosine of their vectors, or `alike` if it is `None`. The more
    trusted stays, of equals the newer. Replaced memories, memories about different things, and those that differ in
    numbers or negations are never merged. With `only` one of two must be of these ids.
    """
    near = similar or alike
    held = [memory for memory in memories if not memory.superseded_by][:MOST_COMPARED]
    pairs = sorted(
        _pairs(held, near, frozenset(only)), key=lambda pair: (-pair[0], pair[1].memory_id, pair[2].memory_id)
    )
    gone: set[str] = set()
    plan: dict[str, Merge] = {}
    for score, kept, other in pairs:
        # No chains within one plan: a memory that stands for others is not taken away itself.
        if len(gone) < MOST_MERGES and not {kept.memory_id, other.memory_id} & gone and other.memory_id not in plan:
            gone.add(other.memory_id)
            others = plan[kept.memory_id].gone if kept.memory_id in plan else ()
            reason = f"says nearly the same, {100 * score:.0f} % alike"
            plan[kept.memory_id] = Merge(kept, (*others, other), reason)
    return tuple(plan.values())


def places_of(plan: Sequence[Merge]) -> dict[str, str]:
    """Return a plan as `MemoryStore.supersede` takes it: by each memory's id the id of the one that replaces it."""
    return {other.memory_id: merge.kept.memory_id for merge in plan for other in merge.gone}


def as_near(vectors: Mapping[str, Sequence[float]]) -> Callable[[Memory, Memory], float]:
    """Return a similarity by vectors of length 1, by id: the cosine, not below 0."""

    def near(first: Memory, second: Memory) -> float:
        return max(0.0, dot(vectors[first.memory_id], vectors[second.memory_id]))

    return near


def among_nearest(found: Mapping[str, Mapping[str, float]]) -> Callable[[Memory, Memory], float]:
    """Return a similarity from the cosines of nearest memories; by words if there is none."""

    def near(one: Memory, other: Memory) -> float:
        pairs = (one.memory_id, other.memory_id), (other.memory_id, one.memory_id)
        known = [found[first][second] for first, second in pairs if second in found.get(first, ())]
        return max(0.0, *known) if known else alike(one, other)

    return near


def _pairs(
    held: Sequence[Memory], near: Callable[[Memory, Memory], float], only: frozenset[str]
) -> Iterator[tuple[float, Memory, Memory]]:
    for pair in combinations(held, 2):
        one, other = pair
        if (not only or not only.isdisjoint((one.memory_id, other.memory_id))) and _may_merge(one, other):
            score = near(one, other)
            if score >= (SAME_CATEGORY if one.category == other.category else OTHER_CATEGORY):
                kept, gone = sorted(pair, key=lambda each: (rank(each.trust), -each.time, each.memory_id))
                yield score, kept, gone


def _may_merge(one: Memory, other: Memory) -> bool:
    """Return whether two memories are of one speaker, and nothing known tells them apart."""
    slots = {slot_of(one), slot_of(other)} - {""}
    if one.speaker != other.speaker or len(slots) > 1:
        return False
    apart = set(words_of(one.text)) ^ set(words_of(other.text))
    return not any(word in _TURNING or is_negation(word) or any(map(str.isdigit, word)) for word in apart)


def alike(one: Memory, other: Memory) -> float:
    """Return the similarity of two memories by their words, 0 to 1: the fraction of all their words that both have."""
    first, second = set(words_of(one.text)), set(words_of(other.text))
    return len(first & second) / max(1, len(first | second))
