"""What was said in a session, found as memories are: a store knows whose words match, and what stands around speaks.

Candidates are what the store finds by the query's words and by others of their subjects, and the messages beside the
best of these: an answer rarely repeats the question. All that is ranked was read, so what is read is bounded, however
long the session and its messages are; behind it comes what else has any of the words, in the store's own order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.finding.words import QUERY_WORDS, read_query
from squidbot.core.history.hits import searched_text
from squidbot.core.memories import Passage
from squidbot.core.memory.search.index import CANDIDATES
from squidbot.core.memory.search.kin import kin
from squidbot.core.memory.search.query import Query
from squidbot.core.memory.search.ranking import score
from squidbot.core.memory.search.signals import Candidate
from squidbot.core.memory.search.texts import prepared
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.messages import Found, StoredMessage
    from squidbot.core.ports import Codec, TranscriptStore

__all__ = ["Turns"]

# How many are looked for by words of the query's subjects; beside how many of the best the neighbours are read: 64 of
# these found no more.
SUBJECTS = 64
BESIDE = 32
STEPS = (-1, 1, -2, 2)
# At 1,000,000 characters of payload, about 50 ms of reading, nothing more is read.
READ_CHARS = 1_000_000
READ_MESSAGES = 32  # at once
# Of a longer message the piece with most of the words counts: about 1 ms of work.
PIECE_CHARS = 1_600
BEFORE_CHARS = 200  # of a piece, before the first word that was looked for
# What is parted by a longer pause is another conversation.
PAUSE_SECONDS = 4 * 3600.0
# From so many messages on that were not looked for by their words, these tell how common a word is.
SAMPLE = 20
_GONE = frozenset((Category.RECALLED, Category.FORGOTTEN))


@dataclass(frozen=True, slots=True)
class Turns:
    """One session's messages, to be searched; `codec` returns the one of a tag."""

    transcripts: TranscriptStore
    session_id: str
    codec: Callable[[str], Codec]

    def found(self, query: str, now: float | None = None) -> Iterator[tuple[StoredMessage, float]]:
        """Yield the messages that answer a query, with their scores, best first, ties newest first.

        Scores are 0 to 1 and mean what those of memories do; 0: it has some word, and was not ranked. Copies,
        tombstones and what only asks `history` are left out. Whoever gives a phrase, or one word, wants what has it:
        what stands beside only speaks for it then. `now` is in seconds since 1970: "last week" is told from there.

        Raises:
            ValueError: there is no letter or digit in the query.
            StoreError: the store failed.
        """
        phrases = read_query(query).phrases
        first = self.transcripts.search(self.session_id, query, CANDIDATES)
        try:
            asked = Query.of(query, now)
        except ValueError:  # nothing but data, as hashes
            yield from self._rest(query, first, set())
            return
        is_literal = bool(phrases) or len(asked.terms) == 1
        rows, texts, having = self._read(first, () if is_literal else self._of_subjects(asked))
        for seq, chance in self._ranked(query, now, rows, texts, having):
            if seq in having or not is_literal:
                yield rows[seq], chance
        yield from self._rest(query, first, set(rows))

    def _of_subjects(self, asked: Query) -> list[int]:
        """Return the messages that have other words of the query's subjects."""
        fellows = list(dict.fromkeys(each.word for term in asked.terms for each in kin(term)))[:QUERY_WORDS]
        found = self.transcripts.search(self.session_id, " ".join(fellows), SUBJECTS) if fellows else []
        return [each.seq for each in found]

    def _read(
        self, first: Sequence[Found], others: Sequence[int]
    ) -> tuple[dict[int, StoredMessage], dict[int, str], set[int]]:
        """Return the rows that are ranked and their texts, by seq, and which of them have words that are looked for."""
        best = dict.fromkeys((*(each.seq for each in first), *others))
        near = [seq + step for seq in list(best)[:BESIDE] for step in STEPS if seq + step >= 0]
        wanted = list(dict.fromkeys((*list(best)[:BESIDE], *near, *best)))
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
        """Return what of a message is searched, None where nothing is."""
        return None if row.category in _GONE else searched_text(self.codec(row.codec).decode(row.payload))

    def _ranked(
        self,
        query: str,
        now: float | None,
        rows: Mapping[int, StoredMessage],
        texts: Mapping[int, str],
        having: set[int],
    ) -> list[tuple[int, float]]:
        """Return the seqs of rows with their scores, best first, ties newest first."""
        terms = [term for word in read_query(query).words for alternative in word for term in alternative]
        passages = list(_passages(rows, texts, terms))
        asked = Query.of(query, now, {each.speaker for each in passages})
        candidates = [Candidate(each, prepared(each)) for each in passages]
        known = _Known(candidates, having, self.transcripts.head(self.session_id)[0])
        hits = [(int(hit.key), hit.score) for hit in score(asked, candidates, known)]
        return sorted(hits, key=lambda hit: (-hit[1], -hit[0]))

    def _rest(self, query: str, page: Sequence[Found], ranked: set[int]) -> Iterator[tuple[StoredMessage, float]]:
        """Yield what was found and not ranked, as the store orders it."""
        size = CANDIDATES
        while page:
            picked = self.transcripts.pick(self.session_id, [each.seq for each in page if each.seq not in ranked])
            rows = {row.seq: row for row in picked if self._text(row) is not None}
            yield from ((rows[each.seq], 0.0) for each in page if each.seq in rows)
            if len(page) < size:
                return
            size = READ_MESSAGES
            page = self.transcripts.search(self.session_id, query, size, page[-1])


class _Known:
    """What the candidates tell of all messages: `matching.Statistics`.

    Those that were read only for standing beside others are a sample of all: how common a word is, is told by them.
    """

    def __init__(self, candidates: Sequence[Candidate], having: set[int], messages: int) -> None:
        self.passages = messages
        self.average_terms = max(1.0, sum(len(each.prepared.terms) for each in candidates) / max(1, len(candidates)))
        sample = [each for each in candidates if int(each.passage.key) not in having]
        self._found = _counts(candidates)
        self._sampled = _counts(sample) if len(sample) >= SAMPLE else {}
        self._times = messages / max(1, len(sample))

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return in about how many messages terms are."""
        return {term: self._count(term) for term in terms if term in self._found}

    def _count(self, term: str) -> int:
        sampled = self._sampled.get(term, 0)
        about = int(sampled * self._times) if sampled > 1 else 0
        return min(self.passages, max(self._found[term], about))


def _counts(candidates: Iterable[Candidate]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in candidates:
        for term in set(each.prepared.terms):
            counts[term] = counts.get(term, 0) + 1
    return counts


def _passages(rows: Mapping[int, StoredMessage], texts: Mapping[int, str], terms: Sequence[str]) -> Iterator[Passage]:
    """Yield messages as passages: grouped by the pauses between them, neighbours by their seqs."""
    group, before = 0, None
    for seq in sorted(rows):
        time = rows[seq].time
        if time is not None:
            group += before is not None and abs(time - before) > PAUSE_SECONDS
            before = time
        yield Passage(str(seq), _piece(texts[seq], terms), _name(rows[seq]), time, f"{group}", seq)


def _piece(text: str, terms: Sequence[str]) -> str:
    """Return a text, of a long one the piece in which most of the terms begin."""
    if len(text) <= PIECE_CHARS:
        return text
    lower = text.lower()
    places = sorted(place for term in terms if (place := lower.find(term.partition("_")[0])) >= 0)
    within = PIECE_CHARS - BEFORE_CHARS
    best = max(places, key=lambda one: sum(one <= other < one + within for other in places), default=0)
    start = max(0, best - BEFORE_CHARS)
    return text[start : start + PIECE_CHARS]


def _name(row: StoredMessage) -> str:
    """Return the name that a host gave who speaks, "" where it gave none."""
    if '"name"' not in row.payload or row.role not in {"user", "assistant"}:
        return ""
    try:
        root = json.loads(row.payload)
    except (ValueError, RecursionError):  # a form of an extension
        return ""
    name = root.get("name") if isinstance(root, dict) else None
    return name if isinstance(name, str) else ""
