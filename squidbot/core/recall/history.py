"""The history of one session: earlier messages are searched, recalled and opened in pages that fit."""

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
from squidbot.core.tokens.counters import NOTHING
from squidbot.core.view.marks import HINTS, Hints, fence, holds, recalled_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.compaction.turn import Room
    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.operations import Operation
    from squidbot.core.ports import Codec, Observer, SummaryStore
    from squidbot.core.recall.search import SearchQuery
    from squidbot.core.session import CoreSession
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer


# Ids in requests, and their messages.

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:"
_VERB: Final = re.compile(r"(?:recall|expand)\s+", re.IGNORECASE)
_NUMBER: Final = "m?([0-9]{1,18})"
_MESSAGES: Final = re.compile(rf"m([0-9]{{1,18}})(?:(?:-|\s+to\s+|\.\.){_NUMBER})?\Z", re.IGNORECASE)
# The characters and the longest name of a summary.
_SUMMARY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,127}\Z")
_LOOK: Final = "ids look like m17, m17-m40 or s12-80.ab12; copy one from a note, a cut output or a search"


class RecallRange(NamedTuple):
    """The messages of an id, both ends included; `alone` if it names one message and no run."""

    first_seq: int
    last_seq: int
    alone: bool = False


def resolve(text: str, messages: int, summaries: SummaryStore, session_id: str) -> RecallRange:
    """Return the messages of an id in a session of `messages` messages; a longer run ends with the last one.

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


def run_id(first_seq: int, last_seq: int) -> str:
    """Return the id of a run of messages: "m17", or "m17-m40"."""
    return f"m{first_seq}" if first_seq == last_seq else f"m{first_seq}-m{last_seq}"


def _of_messages(found: re.Match[str]) -> RecallRange:
    first = int(found[1])
    return RecallRange(first, first, alone=True) if found[2] is None else RecallRange(first, int(found[2]))


def _of_summary(summary_id: str, summaries: SummaryStore, session_id: str) -> RecallRange | None:
    if not _SUMMARY.match(summary_id):
        return None
    found = summaries.by_id(session_id, [summary_id])
    return RecallRange(found[0].first_seq, found[0].last_seq) if found else None


# Pages: verbatim messages, as many as fit, and where the next page begins.

# A page smaller than this is little more than its own marks, which cost about 80 tokens.
LEAST_TOKENS = 160
# No tokenizer in use makes fewer than about one token of eight characters of running text (see `view.slim`).
MOST_CHARACTERS_A_TOKEN = 8
# How many messages are read at once: a page rarely holds more.
READ_MESSAGES = 16
NAME_CHARS = 60


class PageExcerpt(NamedTuple):
    """The part of a message on a page.

    Attributes:
        seq: the message.
        start, end: the first character of its body on the page, and the first one behind.
        whole: the length of its body in characters.
    """

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


class _PageBlock(NamedTuple):
    """A message on a page: the part of it, as text with a line in front, and its cost."""

    row: StoredMessage
    piece: PageExcerpt
    text: str
    cost: Cost


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
        first, last_seq = next(self._rows(), None), self.run.last_seq
        if first is None:
            raise RecallError(f"{run_id(self.run.first_seq, last_seq)} stands on another line of the conversation")
        # The marks around a page, as long as they can be.
        widest = _PageBlock(first, PageExcerpt(last_seq, 0, 0, 0), "\n", NOTHING)
        left = room.less(self.context.renderer.meter.message(self._framed([widest], last_seq, 10**6)))
        while left.bound > 0 and left.estimate > 0 and (blocks := list(self._filled(offset, left))):
            page = self._page(blocks)
            if _fits(page.cost, room):
                return page
            # The parts together cost more than one by one: a rare case, and so less is tried until it fits.
            left = Cost(left.estimate * 9 // 10, left.bound * 9 // 10)
        return None

    def _rows(self) -> Iterator[StoredMessage]:
        first = self.run.first_seq
        while first <= self.run.last_seq:
            yield from self.context.read(first, min(self.run.last_seq, first + READ_MESSAGES - 1))
            first += READ_MESSAGES

    def _filled(self, offset: int, room: Cost) -> Iterator[_PageBlock]:
        """Yield messages, and a part of one that does not fit if it is the first, or half the room is left."""
        left, start = room, offset
        for row in self._rows():
            body = self._body(row, start)
            block = self._block(row, body, start, left)
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

    def _block(self, row: StoredMessage, body: str, start: int, left: Cost) -> _PageBlock | None:
        """Return as much of a message from `start` on as fits, cut at a line's end where one is near."""
        if not start and row.category is not Category.RECALLED and not row.call_ids:
            # Its words were counted when it was recorded.
            piece = PageExcerpt(row.seq, 0, len(body), len(body))
            head = _head(row, piece)
            cost = row.cost.plus(self._cost(head))
            if _fits(cost, left):
                return _PageBlock(row, piece, f"{head}\n{body}", cost)
        kept = min(len(body) - start, left.bound * MOST_CHARACTERS_A_TOKEN)
        while True:
            piece = PageExcerpt(row.seq, start, _line_end(body, start, start + kept), len(body))
            text = f"{_head(row, piece)}\n{body[start : piece.end]}"
            cost = self._cost(text)
            if _fits(cost, left):
                return _PageBlock(row, piece, text, cost) if piece.end > start or not body else None
            if kept <= 0:
                return None
            kept = min(kept * 9 // 10, kept * left.bound // max(1, cost.bound))

    def _cost(self, text: str) -> Cost:
        return self.context.renderer.meter.text(f"\n{text}")

    def _page(self, blocks: Sequence[_PageBlock]) -> Page:
        piece = blocks[-1].piece
        following, next_offset = (piece.seq, piece.end) if piece.end < piece.whole else (piece.seq + 1, 0)
        text = self._framed(blocks, following, next_offset)
        return Page(
            text=text,
            cost=self.context.renderer.meter.message(text),
            pieces=tuple(block.piece for block in blocks),
            messages=tuple(block.row for block in blocks),
            next_id="" if following > self.run.last_seq else self._rest(following),
            next_offset=next_offset,
        )

    def _rest(self, following: int) -> str:
        return f"m{following}" if self.run.alone else f"m{following}-m{self.run.last_seq}"

    def _framed(self, blocks: Sequence[_PageBlock], following: int, next_offset: int) -> str:
        first, last = blocks[0].row, blocks[-1].row
        ids = run_id(self.run.first_seq, blocks[-1].piece.seq)
        text = fence(f"recalled {ids}", self._about(first.time, last.time), "\n".join(block.text for block in blocks))
        if following > self.run.last_seq:
            return text
        offset = f" offset {next_offset}" if next_offset else ""
        return f"{text}\n[{self.hints.page.format(self._rest(following))}{offset}]"

    def _about(self, first: float | None, last: float | None) -> str:
        times = list(dict.fromkeys(filter(None, (ago(first, self.now), ago(last, self.now)))))
        return f"said {' to '.join(times)}, times are UTC" if times else "times are UTC"


def body_of(row: StoredMessage, renderer: Renderer, *, alone: bool = True) -> str:
    """Return the body of a message: its text, then each tool call under a line with its name and size.

    In a run, a copy is named and not repeated: the original is stored once.
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


def _head(row: StoredMessage, piece: PageExcerpt) -> str:
    _, start, end, whole = piece
    shown = f"{whole:,} characters" if not start and end == whole else f"characters {start:,} to {end:,} of {whole:,}"
    return f"[{', '.join(filter(None, (f'm{row.seq} {speaker(row)}', stamp(row.time), shown)))}]"


def speaker(row: StoredMessage) -> str:
    """Return the speaker of a message: its role; "recalled" for a copy, "program" for one in the user's role."""
    if row.category is Category.RECALLED:
        return "recalled"
    if row.category is Category.AUTOMATED and not row.result_ids:
        return "program"
    return "tool result" if row.result_ids else row.role


def _line_end(text: str, start: int, end: int) -> int:
    """Return where to cut a text that can't go on behind `end`: at the last line's end, if that is near."""
    if end >= len(text):
        return len(text)
    at = text.rfind("\n", start, end)
    return at + 1 if at >= start + (end - start) * 3 // 4 else end


# Search results as text: a line for each message, with the words around the match, and the id to recall it by.

# Hits on one page by default, and at most.
HITS, MOST_HITS = 8, 50
# The most hits before a page: whoever has read so many looks for something else.
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

    Attributes:
        row: the message, as it is stored.
        score: 0 to 1, higher is better.
        snippet: the part of its text that matches.
        shown: how the next request has it: "in view", "in view, cut", or "" if it does not.
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


def found_messages(operation: Operation, page: HitPage) -> None:
    """Write what a search found into its operation."""
    operation.records = len(page.hits)
    operation.contents = tuple((f"m{hit.seq}", hit.snippet) for hit in page.hits)


class SearchRequest(NamedTuple):
    """A search: the query, the number of hits before this page, the most hits on it, and the time.

    `now` is in seconds since 1970, None if unknown.
    """

    query: str
    offset: int = 0
    limit: int = HITS
    now: float | None = None

    def words(self) -> SearchQuery:
        """Return the words and phrases to look for.

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


def hit_page(
    request: SearchRequest, hits: Sequence[HistoryHit], meter: Meter, room: Cost, hints: Hints = HINTS
) -> HitPage | None:
    """Return the page with as many hits as fit, None if not one does; further hits only show that there are more."""
    words = _cut(one_line(request.query), _QUOTED_CHARS)
    if not hits:
        nothing = f"no {'further ' * bool(request.offset)}message for: {words}"
        text = fence("found", nothing, "[try other or fewer words, or an exact name]")
        page = HitPage(text, meter.message(text), ())
        return page if _fits(page.cost, room) else None
    for count in range(min(request.limit, len(hits)), 0, -1):
        lines = "\n".join(line_of(hit, request.now) for hit in hits[:count])
        following = request.offset + count if count < len(hits) else None
        about = f"{count} message{'s' * (count > 1)}, best first, times are UTC, for: {words}"
        more = f"; {hints.found.format(following)}" if following is not None and hints.found else ""
        told = next((hit for hit in hits[:count] if hit.shown != IN_VIEW), hits[0])
        behind = f"{hints.recall.format(f'm{told.seq}')} shows the whole message{more}"
        text = f"{fence('found', about, lines)}\n[{behind}]"
        page = HitPage(text, meter.message(text), tuple(hits[:count]), following)
        if _fits(page.cost, room):
            return page
    return None


def _fits(cost: Cost, room: Cost) -> bool:
    return cost.bound <= room.bound and cost.estimate <= room.estimate


def line_of(hit: HistoryHit, now: float | None) -> str:
    """Return the line of a hit; `now` is in seconds since 1970, None if unknown."""
    row = hit.row
    fields = (f"m{row.seq} {speaker(row)}", stamp(row.time), ago(row.time, now), f"score {hit.score:.2f}", hit.shown)
    return f"{', '.join(filter(None, fields))}: {hit.snippet}"


# What is said of a message that the next request has whole.
IN_VIEW: Final = "in view"


def asks(hit: HistoryHit, standing: CurrentView) -> bool:
    """Return whether a message is what the user asks in the turn under way, and stands whole in the next request."""
    steps = standing.tail.steps
    is_under_way = bool(steps) and (steps[-1].is_user or bool(steps[-1].messages[0].call_ids))
    return is_under_way and hit.seq >= standing.turn and hit.row.role == "user" and hit.shown == IN_VIEW


def in_view(standing: CurrentView) -> dict[int, str]:
    """Return how a request shows messages, by seq."""
    labels = dict.fromkeys((Kind.MESSAGE, Kind.SYSTEM, Kind.AUTOMATED), IN_VIEW) | {Kind.SLIMMED: "in view, cut"}
    return {part.first_seq: labels[part.kind] for part in standing.sent if part.kind in labels}


def hits_of(
    found: Iterable[tuple[StoredMessage, float]],
    words: SearchQuery,
    codec: Callable[[str], Codec],
    shown: Mapping[int, str],
) -> Iterator[HistoryHit]:
    """Yield found messages as hits, in that order, without those that only ask for earlier ones.

    `codec` returns the one of a tag; `shown` says how messages stand in the next request, by seq.
    """
    for row, score in found:
        message = codec(row.codec).decode(row.payload)
        text = searched_text(message)
        words_around = snippet(text, words) if text is not None else None
        if text is not None and (words_around is not None or text == message.rendered):
            yield HistoryHit(row, score, words_around or around(text, 0), shown.get(row.seq, ""))


def searched_text(message: Message) -> str | None:
    """Return the text of a message that may answer a search; None if it only asks for earlier messages."""
    calls = [call for call in message.calls if "said" not in holds(call.name)]
    if not calls and message.calls and not message.text.strip():
        return None
    return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in calls)])


def snippet(text: str, query: SearchQuery) -> str | None:
    """Return the words around most of the searched terms, on one line; None if none of them is in the text."""
    looked = text[:MOST_CHARS]
    places = sorted(_places(looked, query))
    if not places:
        return None
    return around(looked, _densest(places))


def around(text: str, place: int) -> str:
    """Return the words of a text around a place, on one line, with marks if it is cut."""
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
    # Finds messages by a query, asked at a time in seconds since 1970, None if unknown; with scores, best first.
    Finder = Callable[[str, float | None], Iterator[tuple[StoredMessage, float]]]


class History:
    """The history of one session. `recall` adds a record; the other methods only read.

    Pages of `expand` and `search` are sized as results of a tool call that the host records, those of `recall` as a
    record of their own.
    """

    def __init__(self, session: CoreSession, context: SessionContext, observer: Observer | None, find: Finder) -> None:
        """Use `ContextEngine.history`."""
        self._session = session
        self._context = context
        self._observer = observer
        self._find = find
        # The cost of answers of the tool since the request last grew: the calls of one step share its room.
        self._answered: tuple[tuple[int, int], Cost] = ((0, 0), NOTHING)

    def search(  # noqa: PLR0913  # by name, all but the query
        self,
        query: str,
        *,
        limit: int = HITS,
        offset: int = 0,
        now: float | None = None,
        hints: Hints = HINTS,
        beside: Cost = NOTHING,
        for_model: bool = False,
    ) -> HitPage:
        """Return the messages that answer a query, best first, as a page that fits: at most `limit`, behind `offset`.

        The page leaves room for `beside`, which the same answer has.
        Copies that were recalled, and what `history` itself was asked and answered, are passed over. `now` is in
        seconds since 1970; without it no distances are told. `for_model`: without the question that it is answering.

        Raises:
            RecallError: there is nothing to look for in the query, or limit or offset are out of range.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed.
        """
        request = SearchRequest(query, offset, limit, now)
        words = request.words()
        room = self._session.room()
        free = self._free(room, beside, as_tool=True)
        codecs = self._context.renderer.codecs
        hits = hits_of(self._find(query, now), words, codecs.__getitem__, in_view(room.view))
        hits = (hit for hit in hits if not (for_model and asks(hit, room.view)))
        # One hit more than the page has tells whether another page follows.
        hits = islice(hits, offset, offset + limit + 1)
        page = hit_page(request, list(hits), self._context.renderer.meter, free, hints)
        if page is None:
            raise _no_room(free)
        return page

    def expand(self, handle: str, offset: int = 0, *, now: float | None = None, hints: Hints = HINTS) -> Page:
        """Return the messages of an id, as much as fits, as a page to be recorded as a tool's result.

        `handle` is a summary's id, "m17" or "m17-m40"; `offset` counts characters into the first message. The page
        says where the next one begins. `now` is in seconds since 1970.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed; DamagedStoreError where a row does not match its checksum.
        """
        room, page = self._page(handle, offset, now, hints, as_tool=True)
        self._notify(events.BLOCK_RECALLED, _ids(page), room, page.cost)
        return page

    def recall(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Bring back the messages of an id: a page of them is recorded behind the transcript, and sent from then on.

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
        (row,) = self._session.record(self._message(page), now=now)
        self._notify(events.BLOCK_RECALLED, _ids(page), room, page.cost)
        return replace(page, recorded=row.seq)

    def free(self, beside: Cost = NOTHING) -> Cost:
        """Return the most that an answer of a tool may cost now, `beside` other answers; 0 if none fits."""
        try:
            return self._free(self._session.room(), beside, as_tool=True)
        except BudgetError:
            return NOTHING

    def hand_out(self, cost: Cost) -> None:
        """Take an answer's cost from the room of further calls of the same step, which are answered beside it."""
        room = self._session.room()
        self._answered = _state(room), cost.plus(self._of_step(room))

    def _of_step(self, room: Room) -> Cost:
        """Return the cost of answers to other calls of the newest step."""
        return self._answered[1] if self._answered[0] == _state(room) else NOTHING

    def _page(self, handle: str, offset: int, now: float | None, hints: Hints, *, as_tool: bool) -> tuple[Room, Page]:
        room = self._session.room()
        if room.awaited and not as_tool:
            raise InvalidRequestError("R1", f"m{room.awaited[0].seq} awaits results of its calls; record these first")
        self._notify(events.RECALL_REQUESTED, f"{handle!a:.80}", room, NOTHING)
        run = resolve(handle, room.view.messages, self._context.summaries, self._context.session_id)
        free = self._free(room, as_tool=as_tool)
        page = PageMaker(self._context, run, now, hints).page(within(offset, 0, None, "offset"), free)
        if page is None:
            raise _no_room(free)
        return room, page

    def _message(self, page: Page) -> Message:
        """Return the record of a page in the form in which the newest message came."""
        newest = self._context.transcripts.newest(self._context.session_id, 0)[-1]
        codec = self._context.renderer.codecs[newest.codec]
        payload = codec.encode(Part(Kind.RECALLED, "user", page.cost, text=page.text))
        return replace(codec.decode(payload), category=Category.RECALLED)

    def _free(self, room: Room, beside: Cost = NOTHING, *, as_tool: bool) -> Cost:
        """Return the most that a page may cost: the room up to the high-water mark, and at least a small page.

        Inside a tool loop the mark brings no event, so there it may be half of the whole room.

        Raises:
            BudgetError: not even a small page fits.
        """
        answered = beside.plus(self._of_step(room)) if as_tool else beside
        marked, whole = room.marked.less(answered), room.whole.less(answered)
        least = Cost(min(LEAST_TOKENS, whole.estimate), min(LEAST_TOKENS, whole.bound))
        free = Cost(max(marked.estimate, least.estimate), max(marked.bound, least.bound))
        if as_tool:
            free = Cost(max(free.estimate, whole.estimate // 2), max(free.bound, whole.bound // 2))
            # A result above these would be cut when it is recorded (`view.truncation`).
            step = sum(row.sent_cost.bound for row in room.awaited) + answered.bound
            free = Cost(free.estimate, min(free.bound, room.output_tokens, (room.step_tokens - step) * 2 // 3))
        if min(free) < LEAST_TOKENS:
            raise _no_room(free)
        return free

    def _notify(self, name: str, cause: str, room: Room, cost: Cost) -> None:
        if self._observer is not None:
            plan, window, used = room.view.plan, self._session.window, room.used_tokens
            ids = self._session.session_id, cause, window.window_id, plan.plan_id if plan else -1
            self._observer.notify(Event(name, *ids, used, used + cost.bound, model=window.model))


def _state(room: Room) -> tuple[int, int]:
    return room.view.messages, room.used_tokens


def _ids(page: Page) -> str:
    return run_id(page.pieces[0].seq, page.pieces[-1].seq)


def _no_room(free: Cost) -> BudgetError:
    """Return the error for a room that does not hold a page."""
    detail, remedy = "no room for earlier messages: the smallest page costs", "compact first, then ask again,"
    return BudgetError("recalled page", cost=LEAST_TOKENS, budget=max(0, min(free)), detail=detail, remedy=remedy)
