"""What a search found, as text: one line a message, the words around what was looked for, the id to recall it by."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.history.pages import speaker
from squidbot.core.history.when import ago, stamp
from squidbot.core.messages import Cost, Kind
from squidbot.core.notes.quotes import one_line
from squidbot.core.view.marks import asks_past, fence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.counting.meter import Meter
    from squidbot.core.finding.words import Query
    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.core.view.standing import Standing

__all__ = ["Asked", "Hit", "Hits", "around", "hits_of", "in_view", "line_of", "listed", "searched_text", "snippet"]

# A snippet is about as long as two lines of a terminal.
SNIPPET_CHARS = 160
BEFORE_CHARS = 40
QUERY_CHARS = 80
# Places of the words in one message that are looked at, and characters that are looked through.
MOST_PLACES = 200
MOST_CHARS = 200_000


class Hit(NamedTuple):
    """A message that was found.

    `score` is 0 to 1, higher is better. `shown` says how it stands in the next request: "in view", "in view, cut", or
    "" where it does not.
    """

    row: StoredMessage
    score: float
    snippet: str
    shown: str

    @property
    def seq(self) -> int:
        """The message's place in the transcript."""
        return self.row.seq


@dataclass(frozen=True, slots=True)
class Hits:
    """One page of a search.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        hits: what it lists, best first.
        next_offset: where the next page begins; None where nothing follows.
    """

    text: str
    cost: Cost
    hits: tuple[Hit, ...]
    next_offset: int | None = None


class Asked(NamedTuple):
    """What was asked: the query, how many hits stand before this page, at most how many on it, and when.

    `now` is in seconds since 1970, None where unknown.
    """

    query: str
    offset: int
    limit: int
    now: float | None


def listed(asked: Asked, hits: Sequence[Hit], meter: Meter, room: Cost) -> Hits | None:
    """Return the page with as many hits as fit, None where not one does; hits beyond the limit only tell of more."""
    words = _cut(one_line(asked.query), QUERY_CHARS)
    if not hits:
        nothing = f"no {'further ' * bool(asked.offset)}message for: {words}"
        made = _page(nothing, "[try other words, fewer, or a name as it was written]", (), None, meter)
        return made if _fits(made.cost, room) else None
    for count in range(min(asked.limit, len(hits)), 0, -1):
        lines = "\n".join(line_of(hit, asked.now) for hit in hits[:count])
        following = asked.offset + count if count < len(hits) else None
        about = f"{count} message{'s' * (count > 1)}, best first, times are UTC, for: {words}"
        made = _page(about, lines, tuple(hits[:count]), following, meter)
        if _fits(made.cost, room):
            return made
    return None


def _page(about: str, lines: str, hits: tuple[Hit, ...], following: int | None, meter: Meter) -> Hits:
    text = fence("found", about, lines)
    if hits:
        more = f"; more: search offset {following}" if following is not None else ""
        text += f"\n[recall m{hits[0].seq} shows that message whole{more}]"
    return Hits(text, meter.message(text), hits, following)


def _fits(cost: Cost, room: Cost) -> bool:
    return cost.bound <= room.bound and cost.estimate <= room.estimate


def line_of(hit: Hit, now: float | None) -> str:
    """Return the line that tells of a hit; `now` is in seconds since 1970, None where unknown."""
    row = hit.row
    told = (f"m{row.seq} {speaker(row)}", stamp(row.time), ago(row.time, now), f"score {hit.score:.2f}", hit.shown)
    return f"{', '.join(filter(None, told))}: {hit.snippet}"


def in_view(standing: Standing) -> dict[int, str]:
    """Return how messages that a request shows stand in it, by seq."""
    told = {Kind.MESSAGE: "in view", Kind.SYSTEM: "in view", Kind.SLIMMED: "in view, cut"}
    return {part.first_seq: told[part.kind] for part in standing.sent if part.kind in told}


def hits_of(
    found: Iterable[tuple[StoredMessage, float]], words: Query, codec: Callable[[str], Codec], shown: Mapping[int, str]
) -> Iterator[Hit]:
    """Yield what was found as hits, in that order, without what only asks for what was said before.

    `codec` returns the one of a tag; `shown` says how messages stand in the next request, by seq.
    """
    for row, score in found:
        said = codec(row.codec).decode(row.payload)
        text = searched_text(said)
        words_around = snippet(text, words) if text is not None else None
        if text is not None and (words_around is not None or text == said.rendered):
            yield Hit(row, score, words_around or around(text, 0), shown.get(row.seq, ""))


def searched_text(message: Message) -> str | None:
    """Return what of a message may answer a search; None where it only asks for what was said before."""
    calls = [call for call in message.calls if not asks_past(call.name)]
    if not calls and message.calls and not message.text.strip():
        return None
    return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in calls)])


def snippet(text: str, query: Query) -> str | None:
    """Return the words around most of what is looked for, on one line; None where none of it stands there as such."""
    looked = text[:MOST_CHARS]
    places = sorted(_places(looked, query))
    if not places:
        return None
    return around(looked, _densest(places))


def around(text: str, place: int) -> str:
    """Return the words of a text around a place, on one line, with marks where it goes on."""
    start = max(0, place - BEFORE_CHARS)
    if start:
        gap = text.find(" ", start, place)
        start = gap + 1 if gap >= 0 else start
    # White space is joined before the cut, so more of it is read than will be shown.
    shown = _cut(one_line(text[start : start + 4 * SNIPPET_CHARS]), SNIPPET_CHARS)
    return f"\u2026{shown}" if start else shown


def _cut(text: str, most_chars: int) -> str:
    if len(text) <= most_chars:
        return text
    words = text[:most_chars].rpartition(" ")[0]
    return f"{words if len(words) > most_chars // 2 else text[:most_chars]}\u2026"


def _places(text: str, query: Query) -> Iterator[tuple[int, str]]:
    """Yield where terms of a query stand in a text, with the term; the parts of a term may be joined by anything."""
    terms = {term for word in query.words for alternative in word for term in alternative}
    terms.update("_".join(phrase) for phrase in query.phrases)
    for term in sorted(terms):
        pattern = re.compile(r"[\W_]{0,3}".join(map(re.escape, term.split("_"))), re.IGNORECASE)
        for count, found in enumerate(pattern.finditer(text)):
            if count >= MOST_PLACES:
                break
            yield found.start(), term


def _densest(places: Sequence[tuple[int, str]]) -> int:
    """Return the place behind which most different terms stand within a snippet; the first of equals."""
    best, most = places[0][0], 0
    near: Counter[str] = Counter()
    end = 0
    for start, (place, term) in enumerate(places):
        while end < len(places) and places[end][0] < place + SNIPPET_CHARS - BEFORE_CHARS:
            near[places[end][1]] += 1
            end += 1
        if len(near) > most:
            best, most = place, len(near)
        near[term] -= 1
        if not near[term]:
            del near[term]
        end = max(end, start + 1)
    return best
