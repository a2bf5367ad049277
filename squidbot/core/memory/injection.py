"""Unprompted memories of a request: an index, facts for a cold start, sections on the user and the assistant.

Texts for the head of a request have no distances in time: they stay as they are until a memory comes or goes.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from squidbot.core.memories import CARDS, CATEGORIES, Passage
from squidbot.core.memory.facts import TRAIT
from squidbot.core.memory.search import (
    CANDIDATES,
    INSTRUCTION_WORDS,
    INSTRUCTIONS,
    NEIGHBOURS,
    ParsedQuery,
    PreparedPassage,
    features_of,
    instructs,
    score,
)
from squidbot.core.memory.text import COUNTED, MemoryFormatter, MemoryPage, counted, framed, safe
from squidbot.core.memory.words import synonyms
from squidbot.core.plan import REMEMBERED, Section
from squidbot.core.recall.across import SESSION_BITS
from squidbot.core.recall.history import searched_text
from squidbot.core.recall.search import QUERY_WORDS, UNSEARCHED, read_query
from squidbot.core.view.renderer import fenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import FactCategory, Memory, View
    from squidbot.core.memory.standing import StandingFacts
    from squidbot.core.memory.view import Memories
    from squidbot.core.messages import Cost, SearchMatch, StoredMessage
    from squidbot.core.ports import Codec, MemoryStore
    from squidbot.core.tokens.counters import Meter


# Facts at a cold start.
COLD_FACTS = 3
COLD_TOKENS = 200
INDEX_TOKENS = 200
SECTION_TOKENS = 300
# The index names so many memories of each category, each in so many characters.
SUBJECTS, SUBJECT_CHARS = 5, 40
COLD_CHARS, SECTION_CHARS = 160, 200
COLD_QUERY_CHARS = 1_000
# Sources whose memories may be injected: never tools.
_INJECTABLE: Final = frozenset({"user", "assistant", "import"})
_OF_USER: Final = frozenset({"user", "import"})
INDEX, PROFILE, TRAITS = f"{REMEMBERED}index", f"{REMEMBERED}profile", f"{REMEMBERED}traits"


class InjectionLimits(NamedTuple):
    """The limits of the parts, in tokens as a bound, with their fences; 0 leaves a part out."""

    index_tokens: int = INDEX_TOKENS
    profile_tokens: int = SECTION_TOKENS
    cold_start_tokens: int = COLD_TOKENS


def overview(store: MemoryStore | StandingFacts, view: View) -> tuple[Mapping[FactCategory, Sequence[Memory]], int]:
    """Return the newest memories of each category, newest first, and the number of files; at most 201 of each.

    Raises:
        StoreError: the store failed.
    """
    found, *cards = store.newest((view, *view.searched(CARDS)), limit=COUNTED + 1)
    return found, sum(len(kept) for each in cards for kept in each.values())


def sections(memories: Memories, limits: InjectionLimits, limit_tokens: int, *, tool: str) -> tuple[Section, ...]:
    """Return the sections for the head of a request, the most stable first; they cost at most `limit_tokens` together.

    The index is there only if the model has a `tool` that searches facts ("" for none). It gets room first, up to half:
    it says what can be asked for, while the others are answers already.

    Raises:
        StoreError: the store failed.
    """
    meter = memories.meter
    found, files = overview(memories.shown, memories.view)
    facts = [memory for kind in CATEGORIES for memory in found[kind]]
    shown = index(found, files, meter, min(limits.index_tokens, limit_tokens // 2), tool) if tool else None
    left = limit_tokens - (shown.cost.bound if shown else 0)
    user = profile(facts, meter, min(limits.profile_tokens, left))
    left -= user.cost.bound if user else 0
    own = traits(facts, meter, min(limits.profile_tokens, left))
    pages = ((TRAITS, own), (PROFILE, user), (INDEX, shown))
    return tuple(
        Section(name, page.text, tuple(memory.memory_id for memory in page.memories)) for name, page in pages if page
    )


def index(
    found: Mapping[FactCategory, Sequence[Memory]],
    files: int,
    meter: Meter,
    limit_tokens: int = INDEX_TOKENS,
    tool: str = "memory",
) -> MemoryPage | None:
    """Return the index for a prompt: categories, counts and newest subjects; `None` if there is nothing, or no room.

    It says that there is something to look for; the tool returns the memories. Files, and memories that tools printed,
    are counted and not named: anybody may have named them.
    """
    if not files and not any(found.values()):
        return None
    for subjects in range(SUBJECTS, -1, -1):
        named: list[Memory] = []
        rows = [f"index; search it with the tool {tool}"]
        for kind in CATEGORIES:
            known = found.get(kind, ())
            newest = [memory for memory in known[:SUBJECTS] if memory.trust in _INJECTABLE][:subjects]
            texts = "; ".join(safe(memory.text, SUBJECT_CHARS).rstrip(".") for memory in newest)
            rows.append(f"{kind}: {counted(len(known))}" + (f", newest: {texts}" if texts else ""))
            named += newest
        rows += [f"files: {counted(files)}"] if files else []
        text = "\n".join(rows)
        cost = meter.message(fenced(INDEX, text))
        if cost.bound <= limit_tokens:
            return MemoryPage(text, cost, tuple(named))
    return None


def memories_in(head: Sequence[Section]) -> frozenset[str]:
    """Return the ids of the memories in a head, without those of the index."""
    return frozenset(memory_id for section in head if section.name != INDEX for memory_id in section.memories)


def cold_start(  # noqa: PLR0913  # each limits another thing
    memories: Memories,
    prompt: str,
    now: float,
    known: frozenset[str] = frozenset(),
    limit_tokens: int = COLD_TOKENS,
    *,
    tool: str,
) -> MemoryPage | None:
    """Return two or three facts that answer the first words of a conversation, for the tail of that message.

    Of the facts that answer them, core facts come first, then the more important ones, then the better answers. `None`
    if nothing relevant is remembered or there is no room. What tools printed is left out, and so are the ids of
    `known`. `tool` finds more; "": the model has none. `now` is in seconds since 1970.

    Raises:
        StoreError: the store failed.
    """
    found = memories.relevant(prompt[:COLD_QUERY_CHARS], 4 * COLD_FACTS, now)
    facts = [memory for memory in found if memory.trust in _INJECTABLE and memory.memory_id not in known]
    facts = sorted(facts, key=lambda memory: (memory.category != "core", -memory.importance))[:COLD_FACTS]
    formatter = MemoryFormatter(memories.meter, now, memories.session_id)
    about = "remembered, may be relevant" + (f"; the tool {tool} finds more" if tool else "")

    def text(count: int) -> str:
        return framed(about, "\n".join(formatter.line(fact, COLD_CHARS) for fact in facts[:count]))

    return _most(facts, text, memories.meter.message, limit_tokens)


def profile(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> MemoryPage | None:
    """Return the section "## About the User", of facts that users stated themselves; `None` if empty, or no room.

    Core facts come before preferences; if not all fit the newest stay. The assistant's notes and what tools printed are
    left out.
    """
    own = [memory for memory in _newest_of_user(memories) if TRAIT not in memory.tags]
    ranked = [memory for kind in ("core", "preferences") for memory in own if memory.category == kind]
    return _section(PROFILE, "## About the User", ranked, meter, limit_tokens)


def traits(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> MemoryPage | None:
    """Return the section "## Your Developed Traits": how users want the assistant to be; `None` as above."""
    ranked = [memory for memory in _newest_of_user(memories) if TRAIT in memory.tags]
    return _section(TRAITS, "## Your Developed Traits", ranked, meter, limit_tokens)


def _newest_of_user(memories: Sequence[Memory]) -> list[Memory]:
    held = [memory for memory in memories if memory.trust in _OF_USER and not memory.superseded_by]
    return sorted(held, key=lambda memory: (-memory.time, memory.memory_id))


def _section(name: str, heading: str, ranked: Sequence[Memory], meter: Meter, limit_tokens: int) -> MemoryPage | None:
    def text(count: int) -> str:
        # Oldest first: a new fact comes last, and the text before it stays as it was sent.
        kept = sorted(ranked[:count], key=lambda fact: (CATEGORIES.index(fact.category), fact.time, fact.memory_id))
        return "\n".join([heading, *(f"- {safe(memory.text, SECTION_CHARS)}" for memory in kept)])

    return _most(ranked, text, lambda shown: meter.message(fenced(name, shown)), limit_tokens)


def _most(
    memories: Sequence[Memory], text: Callable[[int], str], cost_of: Callable[[str], Cost], limit_tokens: int
) -> MemoryPage | None:
    """Return the text of as many memories as fit, the first before the later ones; `None` if not one fits."""
    counts = range(1, min(len(memories), COUNTED) + 1)
    # A longer text never costs less by any counter in use; otherwise fewer memories would be shown.
    most = bisect_right(counts, limit_tokens, key=lambda count: cost_of(text(count)).bound)
    if not most:
        return None
    shown = text(most)
    return MemoryPage(shown, cost_of(shown), tuple(memories[:most]), len(memories) - most)


# Quotation marks.
_UNQUOTED: Final = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u00ab\u00bb', " "))

# Search in the messages of a session: a store finds whose words match; then they are ranked as memories are.

# How many messages are found by synonyms; and of how many of the best the neighbours are read: with 32 three in a
# hundred questions of long talks find less.
SYNONYM_HITS = 64
NEIGHBOURS_READ = 64
# The most characters of payload that are read: about 50 ms.
READ_CHARS = 1_000_000
READ_MESSAGES = 32  # at once
# Of a longer message the part with most of the words counts: about 1 ms of work.
PIECE_CHARS = 1_600
BEFORE_CHARS = 200  # of a piece, before the first word that was looked for
# A longer pause begins another conversation.
PAUSE_SECONDS = 4 * 3600.0
# So many neighbours are enough of a sample to tell how common a word is.
SAMPLE = 20


class SearchedStore(Protocol):
    """What a search reads: a store, a line of a session, or several sessions as one (`core.recall.across`)."""

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records), as `TranscriptStore.head`."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that match a query, as `TranscriptStore.search`."""

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order, as `TranscriptStore.pick`."""


@dataclass(frozen=True, slots=True)
class MessageSearch:
    """Searches one session's messages; `codec` returns the codec of a tag."""

    transcripts: SearchedStore
    session_id: str
    codec: Callable[[str], Codec]

    def found(self, query: str, now: float | None = None) -> Iterator[tuple[StoredMessage, float]]:
        """Yield the messages that answer a query, with their scores, best first, ties newest first.

        Scores are 0 to 1, as those of memories; 0: it has a word of the query, and was not ranked. Copies, tombstones
        and calls of `history` are left out. A query of a phrase or of one word finds only messages that have it; if
        nobody said the phrase, its words are searched. `now` is in seconds since 1970, for "last week".

        Raises:
            ValueError: there is no letter or digit in the query.
            StoreError: the store failed.
        """
        phrases = read_query(query).phrases
        first = self.transcripts.search(self.session_id, query, CANDIDATES)
        if phrases and not first:  # nobody said it so: a quoted question is a question
            query, phrases = query.translate(_UNQUOTED), ()
            first = self.transcripts.search(self.session_id, query, CANDIDATES)
        try:
            parsed = ParsedQuery.of(query, now)
        except ValueError:  # nothing but data, as hashes
            yield from self._rest(query, first, set())
            return
        is_literal = bool(phrases) or len(parsed.terms) == 1
        rows, texts, matching = self._read(first, () if is_literal else self._others(parsed, first))
        for seq, chance in self._ranked(query, now, rows, texts, matching):
            if seq in matching or not is_literal:
                yield rows[seq], chance
        yield from self._rest(query, first, set(rows))

    def _others(self, parsed: ParsedQuery, first: Sequence[SearchMatch]) -> Iterator[int]:
        """Yield the messages that have synonyms of the query's words, then standing instructions."""
        words = dict.fromkeys(synonym.word for term in parsed.terms for synonym in synonyms(term))
        wanted = " ".join(list(words)[:QUERY_WORDS])
        found = self.transcripts.search(self.session_id, wanted, SYNONYM_HITS) if wanted else []
        yield from (match.seq for match in found)
        if first or found:
            seqs = [match.seq for match in self.transcripts.search(self.session_id, INSTRUCTION_WORDS, INSTRUCTIONS)]
            rows = self.transcripts.pick(self.session_id, seqs)
            yield from (row.seq for row in rows if instructs(self._text(row) or ""))

    def _read(
        self, first: Sequence[SearchMatch], others: Iterable[int]
    ) -> tuple[dict[int, StoredMessage], dict[int, str], set[int]]:
        """Return the rows to rank and their texts, by seq, and which of them have words of the query or synonyms."""
        best = dict.fromkeys((*(match.seq for match in first), *others))
        near = [seq + step for seq in list(best)[:NEIGHBOURS_READ] for step in NEIGHBOURS if seq + step >= 0]
        wanted = list(dict.fromkeys((*list(best)[:NEIGHBOURS_READ], *near, *best)))
        rows: dict[int, StoredMessage] = {}
        texts: dict[int, str] = {}
        left = READ_CHARS
        for start in range(0, len(wanted), READ_MESSAGES):
            for row in self.transcripts.pick(self.session_id, wanted[start : start + READ_MESSAGES]):
                left -= len(row.payload)
                if (text := self._text(row)) is not None:
                    rows[row.seq], texts[row.seq] = row, text
            if left < 0:
                break
        return rows, texts, best.keys() & rows.keys()

    def _text(self, row: StoredMessage) -> str | None:
        """Return the searchable text of a message, `None` if it has none."""
        return None if row.category in UNSEARCHED else searched_text(self.codec(row.codec).decode(row.payload))

    def _ranked(
        self,
        query: str,
        now: float | None,
        rows: Mapping[int, StoredMessage],
        texts: Mapping[int, str],
        matching: set[int],
    ) -> list[tuple[int, float]]:
        """Return the seqs of rows with their scores, best first, ties newest first."""
        # Each word by its shortest form, which its others begin with.
        terms = dict.fromkeys(min((form[0] for form in word), key=len) for word in read_query(query).words)
        passages = list(_passages(rows, texts, terms))
        parsed = ParsedQuery.of(query, now, {passage.speaker for passage in passages})
        candidates = [PreparedPassage(passage, features_of(passage)) for passage in passages]
        known = _MessageStatistics(candidates, matching, self.transcripts.head(self.session_id)[0])
        hits = [(int(hit.key), hit.score) for hit in score(parsed, candidates, known)]
        return sorted(hits, key=lambda hit: (-hit[1], -hit[0]))

    def _rest(self, query: str, page: Sequence[SearchMatch], ranked: set[int]) -> Iterator[tuple[StoredMessage, float]]:
        """Yield the messages that were found and not ranked, in the order of the store."""
        size = CANDIDATES
        while page:
            picked = self.transcripts.pick(self.session_id, [match.seq for match in page if match.seq not in ranked])
            rows = {row.seq: row for row in picked if self._text(row) is not None}
            yield from ((rows[match.seq], 0.0) for match in page if match.seq in rows)
            if len(page) < size:
                return
            size = READ_MESSAGES
            page = self.transcripts.search(self.session_id, query, size, page[-1])


class _MessageStatistics:
    """Statistics of all messages, estimated from the candidates, as `search.Statistics`.

    Neighbours of what was found are a sample of all messages: they tell how common a word is.
    """

    def __init__(self, candidates: Sequence[PreparedPassage], matching: set[int], messages: int) -> None:
        self.passages = messages
        sample = [candidate for candidate in candidates if int(candidate.passage.key) not in matching]
        self._found = _counts(candidates)
        self._sampled = _counts(sample if len(sample) >= SAMPLE else ())
        self._times = messages / max(1, len(sample))

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return about how many messages have each term."""
        return {term: self._count(term) for term in terms if term in self._found}

    def _count(self, term: str) -> int:
        sampled = self._sampled[term]
        about = int(sampled * self._times) if sampled > 1 else 0
        return min(self.passages, max(self._found[term], about))


def _counts(candidates: Iterable[PreparedPassage]) -> Counter[str]:
    """Return how many candidates have each term."""
    return Counter(term for candidate in candidates for term in set(candidate.prepared.terms))


def _passages(rows: Mapping[int, StoredMessage], texts: Mapping[int, str], terms: Iterable[str]) -> Iterator[Passage]:
    """Yield messages as passages: grouped by sessions and the pauses in them, neighbours by their seqs."""
    group, before, session = 0, None, 0
    for seq in sorted(rows):
        time = rows[seq].time
        if seq >> SESSION_BITS != session:
            group, before, session = group + 1, None, seq >> SESSION_BITS
        if time is not None:
            group += before is not None and abs(time - before) > PAUSE_SECONDS
            before = time
        yield Passage(str(seq), _piece(texts[seq], terms), _name(rows[seq]), time, f"{group}", seq)


def _piece(text: str, terms: Iterable[str]) -> str:
    """Return a text, or the part of a long one in which most of the terms begin."""
    if len(text) <= PIECE_CHARS:
        return text
    lower = text.lower()
    places = sorted(place for term in terms if (place := lower.find(term.partition("_")[0])) >= 0)
    within = PIECE_CHARS - BEFORE_CHARS
    best = max(places, key=lambda place: sum(place <= other < place + within for other in places), default=0)
    start = max(0, best - BEFORE_CHARS)
    return text[start : start + PIECE_CHARS]


def _name(row: StoredMessage) -> str:
    """Return the name of the speaker, the role if the host gave none."""
    if '"name"' not in row.payload or row.role not in {"user", "assistant"}:
        return row.role
    try:
        root = json.loads(row.payload)
    except (ValueError, RecursionError):  # a form of an extension
        return row.role
    name = root.get("name") if isinstance(root, dict) else None
    return name if isinstance(name, str) and name else row.role
