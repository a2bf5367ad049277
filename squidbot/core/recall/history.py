"""One session's history: what was said before is searched, recalled and opened in pages that fit."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.errors import BudgetError, InvalidRequestError, RecallError
from squidbot.core.events import Event
from squidbot.core.messages import Category, Cost, Kind, Part
from squidbot.core.recall.search import read_query
from squidbot.core.text import ago, clip, one_line, stamp
from squidbot.core.view.marks import HINTS, Hints, fence, holds, recalled_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.compaction.turn import Room
    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.ports import Codec, Observer, SummaryStore
    from squidbot.core.recall.search import SearchQuery
    from squidbot.core.session import CoreSession
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer


# The ids that requests show, and the messages that they stand for.

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:"
_VERB: Final = re.compile(r"(?:recall|expand)\s+", re.IGNORECASE)
_NUMBER: Final = "m?([0-9]{1,18})"
_MESSAGES: Final = re.compile(rf"m([0-9]{{1,18}})(?:(?:-|\s+to\s+|\.\.){_NUMBER})?\Z", re.IGNORECASE)
# The longest name of a summary that is looked up, and what one is made of.
_SUMMARY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,127}\Z")
_LOOK: Final = "ids look like m17, m17-m40 or s12-80.ab12; copy one from a note, a cut output or a search"


class RecallRange(NamedTuple):
    """The messages that an id stands for, both ends included; `alone` where it names one message and no run."""

    first_seq: int
    last_seq: int
    alone: bool = False


def resolve(text: str, messages: int, summaries: SummaryStore, session_id: str) -> RecallRange:
    """Return what an id stands for in a session of so many messages; a run that goes on behind the last one ends there.

    Raises:
        RecallError: nothing is stored under it; the text says what ids look like.
    """
    written = text.strip(_AROUND)
    handle = _VERB.sub("", written, count=1) if _VERB.match(written) else written
    found = _MESSAGES.match(handle)
    run = _of_messages(found) if found else _of_summary(handle, summaries, session_id)
    if run is None or run.first_seq > run.last_seq:
        raise RecallError(f"nothing is stored under {text!a:.80}: {_LOOK}")
    if run.first_seq >= messages:
        there = f"the session has m0 to m{messages - 1}" if messages else "the session is empty"
        raise RecallError(f"m{run.first_seq} is not recorded: {there}")
    return run._replace(last_seq=min(run.last_seq, messages - 1))


def named(first_seq: int, last_seq: int) -> str:
    """Return the id of a run of messages: "m17", or "m17-m40"."""
    return f"m{first_seq}" if first_seq == last_seq else f"m{first_seq}-m{last_seq}"


def _of_messages(found: re.Match[str]) -> RecallRange:
    first = int(found[1])
    return RecallRange(first, first, alone=True) if found[2] is None else RecallRange(first, int(found[2]))


def _of_summary(asked: str, summaries: SummaryStore, session_id: str) -> RecallRange | None:
    if not _SUMMARY.match(asked):
        return None
    found = summaries.by_id(session_id, [asked])
    return RecallRange(found[0].first_seq, found[0].last_seq) if found else None


# Messages as they were said, as many as fit: one page, and where the next one begins.

# A page smaller than this is little more than its own marks, which cost about 80 tokens.
LEAST_TOKENS = 160
# No tokenizer in use makes fewer than about one token of eight characters of running text (see `view.slim`).
MOST_CHARACTERS_A_TOKEN = 8
# How many messages are read at once: a page rarely holds more.
READ_MESSAGES = 16
NAME_CHARS = 60


class PageExcerpt(NamedTuple):
    """What a page shows of one message: characters `start` to `end` of the `whole` that its body has."""

    seq: int
    start: int
    end: int
    whole: int


@dataclass(frozen=True, slots=True)
class Page:
    """Messages brought back, as far as they fit.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        pieces: what is shown of each message, in order.
        messages: those messages as they are stored, payloads byte for byte.
        next_id, next_offset: where the next page begins, as `expand` takes it; "" and 0 for the last page.
        recorded: the seq of the record that holds the page; None if none was written.
    """

    text: str
    cost: Cost
    pieces: tuple[PageExcerpt, ...]
    messages: tuple[StoredMessage, ...]
    next_id: str = ""
    next_offset: int = 0
    recorded: int | None = None

    @property
    def last(self) -> bool:
        """Whether nothing follows."""
        return not self.next_id


class _PageBlock(NamedTuple):
    """A message on a page: what is shown of it, its line in front, its words, what they cost."""

    row: StoredMessage
    piece: PageExcerpt
    head: str
    body: str
    cost: Cost

    @property
    def text(self) -> str:
        return f"{self.head}\n{self.body}"


@dataclass(frozen=True, slots=True)
class PageMaker:
    """Makes the pages of one run of messages; `now` is in seconds since 1970, None if unknown."""

    context: SessionContext
    run: RecallRange
    now: float | None
    hints: Hints = HINTS

    def page(self, offset: int, room: Cost) -> Page | None:
        """Return the page that begins `offset` characters into the first message; None if not even a bit fits.

        Raises:
            RecallError: the first message has no such place.
            DamagedStoreError: a stored row does not match its checksum.
        """
        meter = self.context.renderer.meter
        frame = meter.message(self._framed(list(self._widest()), self.run.last_seq, 10**6))
        left = room.less(frame)
        while left.bound > 0 and left.estimate > 0:
            blocks = list(self._filled(offset, left))
            if not blocks:
                break
            page = self._made(blocks)
            if page.cost.bound <= room.bound and page.cost.estimate <= room.estimate:
                return page
            # The parts together cost more than one by one: a rare case, and so less is tried until it fits.
            left = Cost(left.estimate * 9 // 10, left.bound * 9 // 10)
        return None

    def _widest(self) -> Iterator[_PageBlock]:
        """Yield what makes the marks as long as they can be."""
        for row in self.context.read(self.run.first_seq, self.run.first_seq):
            yield _PageBlock(row, PageExcerpt(self.run.last_seq, 0, 0, 0), "", "", Cost(0, 0))

    def _rows(self) -> Iterator[StoredMessage]:
        first = self.run.first_seq
        while first <= self.run.last_seq:
            yield from self.context.read(first, min(self.run.last_seq, first + READ_MESSAGES - 1))
            first += READ_MESSAGES

    def _filled(self, offset: int, room: Cost) -> Iterator[_PageBlock]:
        """Yield messages, and of the one that does not fit a part: where it is the first, or half the room is left."""
        left, start = room, offset
        for row in self._rows():
            body = self._body(row, start)
            block = self._fitting(row, body, start, left)
            if block is None or (block.piece.end < len(body) and left.bound < room.bound // 2):
                return
            yield block
            left = left.less(block.cost)
            if block.piece.end < len(body) or not left.bound or not left.estimate:
                return
            start = 0

    def _body(self, row: StoredMessage, start: int) -> str:
        body = body_of(row, self.context.renderer, alone=self.run.alone)
        if start and not 0 <= start < len(body):
            raise RecallError(f"offset {start} is outside m{row.seq}, which has characters 0 to {len(body) - 1}")
        return body

    def _fitting(self, row: StoredMessage, body: str, start: int, left: Cost) -> _PageBlock | None:
        """Return as much of a message from `start` on as fits, cut at a line's end where one is near."""
        if not start and row.category is not Category.RECALLED and not row.call_ids:
            # What it said was counted when it was recorded.
            head = _head(row, 0, len(body), len(body))
            cost = row.cost.plus(self._cost(head))
            if cost.bound <= left.bound and cost.estimate <= left.estimate:
                return _PageBlock(row, PageExcerpt(row.seq, 0, len(body), len(body)), head, body, cost)
        return self._cut(row, body, start, left)

    def _cut(self, row: StoredMessage, body: str, start: int, left: Cost) -> _PageBlock | None:
        kept = min(len(body) - start, left.bound * MOST_CHARACTERS_A_TOKEN)
        while True:
            end = _line_end(body, start, start + kept)
            head, words = _head(row, start, end, len(body)), body[start:end]
            cost = self._cost(f"{head}\n{words}")
            if cost.bound <= left.bound and cost.estimate <= left.estimate:
                piece = PageExcerpt(row.seq, start, end, len(body))
                return _PageBlock(row, piece, head, words, cost) if words or not body else None
            if kept <= 0:
                return None
            kept = min(kept * 9 // 10, kept * left.bound // max(1, cost.bound))

    def _cost(self, text: str) -> Cost:
        return self.context.renderer.meter.text(f"\n{text}")

    def _made(self, blocks: Sequence[_PageBlock]) -> Page:
        piece = blocks[-1].piece
        rest = piece.end < piece.whole
        following = piece.seq if rest else piece.seq + 1
        next_offset = piece.end if rest else 0
        last = following > self.run.last_seq
        text = self._framed(blocks, following, next_offset)
        return Page(
            text=text,
            cost=self.context.renderer.meter.message(text),
            pieces=tuple(block.piece for block in blocks),
            messages=tuple(block.row for block in blocks),
            next_id="" if last else self._rest(following),
            next_offset=next_offset,
        )

    def _rest(self, following: int) -> str:
        return f"m{following}" if self.run.alone else f"m{following}-m{self.run.last_seq}"

    def _framed(self, blocks: Sequence[_PageBlock], following: int, next_offset: int) -> str:
        first, last = blocks[0].row, blocks[-1].row
        ids = named(self.run.first_seq, blocks[-1].piece.seq)
        text = fence(f"recalled {ids}", self._about(first.time, last.time), "\n".join(block.text for block in blocks))
        if following > self.run.last_seq:
            return text
        offset = f" offset {next_offset}" if next_offset else ""
        return f"{text}\n[{self.hints.page.format(self._rest(following))}{offset}]"

    def _about(self, first: float | None, last: float | None) -> str:
        times = list(dict.fromkeys(filter(None, (ago(first, self.now), ago(last, self.now)))))
        return f"said {' to '.join(times)}, times are UTC" if times else "times are UTC"


def body_of(row: StoredMessage, renderer: Renderer, *, alone: bool = True) -> str:
    """Return what a message said: its text, then each tool call under a line with its name and size.

    Where a run is brought back, a copy in it is named and not repeated: what it copied is stored once.
    """
    codec = renderer.codecs[row.codec]
    message = codec.decode(row.payload)
    if row.category is Category.RECALLED and not alone:
        what = recalled_ids(message.text) or "a history or memory answer"
        return f"[{what} repeated here; recall m{row.seq} shows it]"
    parts = [message.text] if message.text else []
    for call in message.calls:
        name = clip(one_line(call.name), NAME_CHARS)
        parts.append(f"[calls {name}, {len(call.arguments):,} characters]\n{call.arguments}")
    if codec.extra_tokens(row.payload):
        parts.append("[non-text parts, such as a picture]")
    return "\n".join(parts)


def _head(row: StoredMessage, start: int, end: int, whole: int) -> str:
    shown = f"{whole:,} characters" if not start and end == whole else f"characters {start:,} to {end:,} of {whole:,}"
    return f"[{', '.join(filter(None, (f'm{row.seq} {speaker(row)}', stamp(row.time), shown)))}]"


def speaker(row: StoredMessage) -> str:
    """Return who says a message: its role; "recalled" for what was brought back."""
    if row.category is Category.RECALLED:
        return "recalled"
    return "tool result" if row.result_ids else row.role


def _line_end(text: str, start: int, end: int) -> int:
    """Return where to cut a text that can't go on behind `end`: at the last line's end, if that is near."""
    if end >= len(text):
        return len(text)
    at = text.rfind("\n", start, end)
    return at + 1 if at >= start + (end - start) * 3 // 4 else end


# What a search found, as text: one line a message, the words around what was looked for, the id to
# recall it by.

# Hits on one page where nobody says how many, and the most that may be asked for.
HITS, MOST_HITS = 8, 50
# Hits that may stand before a page: whoever has read so many looks for something else.
MOST_OFFSET = 1_000
MOST_QUERY_CHARS = 1_000
# A snippet is about as long as two lines of a terminal.
SNIPPET_CHARS = 160
BEFORE_CHARS = 40
_QUOTED_CHARS = 80
# Places of the words in one message that are looked at, and characters that are looked through.
MOST_PLACES = 200
MOST_CHARS = 200_000


class HistoryHit(NamedTuple):
    """A message that was found.

    `score` is 0 to 1, higher is better. `shown` says how it stands in the next request: "in view", "in view, cut", or
    "" if it does not.
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
class HitPage:
    """One page of a search.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        hits: what it lists, best first.
        next_offset: where the next page begins; None if nothing follows.
    """

    text: str
    cost: Cost
    hits: tuple[HistoryHit, ...]
    next_offset: int | None = None


class SearchRequest(NamedTuple):
    """What was asked: the query, how many hits stand before this page, at most how many on it, and when.

    `now` is in seconds since 1970, None if unknown.
    """

    query: str
    offset: int = 0
    limit: int = HITS
    now: float | None = None

    def words(self) -> SearchQuery:
        """Return what is looked for.

        Raises:
            RecallError: there is nothing to look for in the query, or limit or offset are out of range.
        """
        within(self.offset, 0, MOST_OFFSET, "offset")
        within(self.limit, 1, MOST_HITS, "limit")
        if len(self.query) > MOST_QUERY_CHARS:
            raise RecallError(f"the query has {len(self.query):,} characters; at most {MOST_QUERY_CHARS:,} are allowed")
        try:
            return read_query(self.query)
        except ValueError as error:
            raise RecallError(str(error)) from error


def within(number: int, least: int, most: int | None, name: str) -> int:
    """Return a number of a call that is in range; `most` is None if nothing bounds it.

    Raises:
        RecallError: it is not in range.
    """
    if number < least or (most is not None and number > most):
        raise RecallError(
            f"{name} {number!a:.40} is out of range: {least} to {most if most is not None else 'the end'}"
        )
    return number


def listed(
    asked: SearchRequest, hits: Sequence[HistoryHit], meter: Meter, room: Cost, hints: Hints = HINTS
) -> HitPage | None:
    """Return the page with as many hits as fit, None if not one does; hits beyond the limit only tell of more."""
    words = _cut(one_line(asked.query), _QUOTED_CHARS)
    if not hits:
        nothing = f"no {'further ' * bool(asked.offset)}message for: {words}"
        text = fence("found", nothing, "[try other or fewer words, or an exact name]")
        page = HitPage(text, meter.message(text), ())
        return page if _fits(page.cost, room) else None
    for count in range(min(asked.limit, len(hits)), 0, -1):
        lines = "\n".join(line_of(hit, asked.now) for hit in hits[:count])
        following = asked.offset + count if count < len(hits) else None
        about = f"{count} message{'s' * (count > 1)}, best first, times are UTC, for: {words}"
        more = f"; {hints.found.format(following)}" if following is not None and hints.found else ""
        behind = f"{hints.recall.format(f'm{hits[0].seq}')} shows the whole message{more}"
        text = f"{fence('found', about, lines)}\n[{behind}]"
        page = HitPage(text, meter.message(text), tuple(hits[:count]), following)
        if _fits(page.cost, room):
            return page
    return None


def _fits(cost: Cost, room: Cost) -> bool:
    return cost.bound <= room.bound and cost.estimate <= room.estimate


def line_of(hit: HistoryHit, now: float | None) -> str:
    """Return the line that tells of a hit; `now` is in seconds since 1970, None if unknown."""
    row = hit.row
    fields = (f"m{row.seq} {speaker(row)}", stamp(row.time), ago(row.time, now), f"score {hit.score:.2f}", hit.shown)
    return f"{', '.join(filter(None, fields))}: {hit.snippet}"


def in_view(standing: CurrentView) -> dict[int, str]:
    """Return how messages that a request shows stand in it, by seq."""
    labels = {Kind.MESSAGE: "in view", Kind.SYSTEM: "in view", Kind.SLIMMED: "in view, cut"}
    return {part.first_seq: labels[part.kind] for part in standing.sent if part.kind in labels}


def hits_of(
    found: Iterable[tuple[StoredMessage, float]],
    words: SearchQuery,
    codec: Callable[[str], Codec],
    shown: Mapping[int, str],
) -> Iterator[HistoryHit]:
    """Yield what was found as hits, in that order, without what only asks for what was said before.

    `codec` returns the one of a tag; `shown` says how messages stand in the next request, by seq.
    """
    for row, score in found:
        message = codec(row.codec).decode(row.payload)
        text = searched_text(message)
        words_around = snippet(text, words) if text is not None else None
        if text is not None and (words_around is not None or text == message.rendered):
            yield HistoryHit(row, score, words_around or around(text, 0), shown.get(row.seq, ""))


def searched_text(message: Message) -> str | None:
    """Return what of a message may answer a search; None if it only asks for what was said before."""
    calls = [call for call in message.calls if "said" not in holds(call.name)]
    if not calls and message.calls and not message.text.strip():
        return None
    return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in calls)])


def snippet(text: str, query: SearchQuery) -> str | None:
    """Return the words around most of what is looked for, on one line; None if none of it stands there as such."""
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


def _places(text: str, query: SearchQuery) -> Iterator[tuple[int, str]]:
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


if TYPE_CHECKING:
    # What finds by a query, which is asked at a time in seconds since 1970, None if unknown.
    Finds = Callable[[str, float | None], Iterator[tuple[StoredMessage, float]]]


NOTHING = Cost(0, 0)


class History:
    """What was said in one session. Nothing here changes what was said; `recall` adds a record, the others only read.

    Pages of `expand` and `search` are sized as results of a tool call that the host records, those of `recall` as a
    record of their own.
    """

    def __init__(self, session: CoreSession, context: SessionContext, observer: Observer | None, found: Finds) -> None:
        """Use `ContextEngine.history`; `found` yields the messages that answer a query, best first, with scores."""
        self._session = session
        self._context = context
        self._observer = observer
        self._found = found
        # What calls of the tool were answered since the request last grew: those of one step share its room.
        self._handed: tuple[tuple[int, int], Cost] = ((0, 0), NOTHING)

    def search(
        self, query: str, *, limit: int = HITS, offset: int = 0, now: float | None = None, hints: Hints = HINTS
    ) -> HitPage:
        """Return the messages that answer a query, best first, as a page that fits: at most `limit`, behind `offset`.

        Copies that were recalled, and what `history` itself was asked and answered, are passed over. `now` is in
        seconds since 1970; without it no distances are told.

        Raises:
            RecallError: there is nothing to look for in the query, or limit or offset are out of range.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed.
        """
        asked = SearchRequest(query, offset, limit, now)
        words = asked.words()
        room = self._session.room()
        free = self._free(room, as_tool=True)
        hits = self._hits(asked, words, room)
        page = listed(asked, hits, self._context.renderer.meter, free, hints)
        if page is None:
            raise _no_room(free)
        return page

    def expand(self, handle: str, offset: int = 0, *, now: float | None = None, hints: Hints = HINTS) -> Page:
        """Return what an id stands for, as much as fits, as a page to be recorded as a tool's result.

        `handle` is a summary's id, "m17" or "m17-m40"; `offset` counts characters into the first message. The page
        says where the next one begins. `now` is in seconds since 1970.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed; DamagedStoreError where a row does not match its checksum.
        """
        room, page = self._page(handle, offset, now, hints, as_tool=True)
        self._told(events.BLOCK_RECALLED, _ids(page), room, page.cost)
        return page

    def recall(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Bring back what an id stands for: a page of it is recorded behind the transcript, and sent from then on.

        For hosts without tools, between two turns. The record is the user's by role and recalled by category: it
        opens no turn, is never noted or searched, and what it copies stays as it is. `handle`, `offset` and `now` as
        for `expand`.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room for a page; nothing was written.
            InvalidRequestError: results of tool calls are awaited, which nothing may stand in front of.
            StoreError: nothing was written.
        """
        room, page = self._page(handle, offset, now, HINTS, as_tool=False)
        (row,) = self._session.record(self._message(page, room), now=now)
        self._told(events.BLOCK_RECALLED, _ids(page), room, page.cost)
        return replace(page, recorded=row.seq)

    def free(self, beside: Cost = NOTHING) -> Cost:
        """Return what an answer of a tool may cost now, `beside` what else is answered; 0 if none fits."""
        try:
            return self._free(self._session.room(), beside, as_tool=True)
        except BudgetError:
            return NOTHING

    def hand_out(self, cost: Cost) -> None:
        """Take an answer's cost from the room of further calls of the same step, which are answered beside it."""
        state = _state(self._session.room())
        self._handed = state, cost.plus(self._handed[1] if self._handed[0] == state else NOTHING)

    def _page(self, handle: str, offset: int, now: float | None, hints: Hints, *, as_tool: bool) -> tuple[Room, Page]:
        room = self._session.room()
        if room.awaited and not as_tool:
            raise InvalidRequestError("R1", f"m{room.awaited[0].seq} awaits results of its calls; record these first")
        self._told(events.RECALL_REQUESTED, f"{handle!a:.80}", room, NOTHING)
        run = self._run(handle, room.standing.messages)
        free = self._free(room, as_tool=as_tool)
        page = PageMaker(self._context, run, now, hints).page(within(offset, 0, None, "offset"), free)
        if page is None:
            raise _no_room(free)
        return room, page

    def _run(self, handle: str, messages: int) -> RecallRange:
        return resolve(handle, messages, self._context.summaries, self._context.session_id)

    def _message(self, page: Page, room: Room) -> Message:
        """Return the record of a page in the form in which the newest message came."""
        newest = self._context.read(room.standing.messages - 1, room.standing.messages - 1)[0]
        codec = self._context.renderer.codecs[newest.codec]
        payload = codec.encode(Part(Kind.RECALLED, "user", page.cost, text=page.text))
        return replace(codec.decode(payload), category=Category.RECALLED)

    def _free(self, room: Room, beside: Cost = NOTHING, *, as_tool: bool) -> Cost:
        """Return what a page may cost: what is free up to the high-water mark, or a little more where that is less.

        Inside a tool loop the mark brings no event, so there it may be half of all that is free.

        Raises:
            BudgetError: not even a small page fits.
        """
        handed = beside.plus(self._handed[1] if as_tool and self._handed[0] == _state(room) else NOTHING)
        marked, whole = room.marked.less(handed), room.whole.less(handed)
        least = Cost(min(LEAST_TOKENS, whole.estimate), min(LEAST_TOKENS, whole.bound))
        free = Cost(max(marked.estimate, least.estimate), max(marked.bound, least.bound))
        if as_tool:
            free = Cost(max(free.estimate, whole.estimate // 2), max(free.bound, whole.bound // 2))
            # A result above these would be cut when it is recorded (`view.birth`).
            step = sum(row.sent_cost.bound for row in room.awaited) + handed.bound
            free = Cost(free.estimate, min(free.bound, room.output_tokens, (room.step_tokens - step) * 2 // 3))
        if min(free) < LEAST_TOKENS:
            raise _no_room(free)
        return free

    def _hits(self, asked: SearchRequest, words: SearchQuery, room: Room) -> list[HistoryHit]:
        """Return the hits of a page, and one more where there is one."""
        found = self._found(asked.query, asked.now)
        hits = hits_of(found, words, self._context.renderer.codecs.__getitem__, in_view(room.standing))
        return list(islice(hits, asked.offset, asked.offset + asked.limit + 1))

    def _told(self, name: str, cause: str, room: Room, cost: Cost) -> None:
        if self._observer is not None:
            plan = room.standing.plan
            plan_id = plan.plan_id if plan else -1
            used = room.used_tokens
            window = self._session.window
            whose = self._session.session_id, cause, window.window_id
            told = Event(name, *whose, plan_id, used, used + cost.bound, model=window.model)
            self._observer.notify(told)


def _state(room: Room) -> tuple[int, int]:
    return room.standing.messages, room.used_tokens


def _ids(page: Page) -> str:
    return named(page.pieces[0].seq, page.pieces[-1].seq)


def _no_room(free: Cost) -> BudgetError:
    """Return the error where what is free does not hold a page."""
    return BudgetError(
        "recalled page",
        cost=LEAST_TOKENS,
        budget=max(0, min(free)),
        unit="tokens",
        key="window.default or models.<name>.context_window",
        detail="no room for earlier messages: compact first, then ask again; the smallest page costs",
    )
