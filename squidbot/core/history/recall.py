"""One session's history: what was said before is searched, recalled and opened in pages that fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.errors import BudgetError, InvalidRequestError, RecallError
from squidbot.core.events import Event
from squidbot.core.finding.words import read_query
from squidbot.core.history.hits import Asked, hits_of, in_view, listed
from squidbot.core.history.names import Run, named, resolve
from squidbot.core.history.pages import LEAST_TOKENS, Maker
from squidbot.core.messages import Category, Cost, Kind, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.finding.words import Query
    from squidbot.core.history.hits import Hit, Hits
    from squidbot.core.history.pages import Page
    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.ports import Observer
    from squidbot.core.request import Room
    from squidbot.core.session import Session
    from squidbot.core.view.standing import Shelf

    # What finds by a query, which is asked at a time in seconds since 1970, None where unknown.
    Finds = Callable[[str, float | None], Iterator[tuple[StoredMessage, float]]]

__all__ = ["History"]

NOTHING = Cost(0, 0)
# Hits on one page where nobody says how many, and the most that may be asked for.
HITS, MOST_HITS = 8, 50
# Hits that may stand before a page: whoever has read so many looks for something else.
MOST_OFFSET = 1_000
QUERY_CHARS = 1_000


class History:
    """What was said in one session. Nothing here changes what was said; `recall` adds a record, the others only read.

    Pages of `expand` and `search` are sized as results of a tool call that the host records, those of `recall` as a
    record of their own.
    """

    def __init__(self, session: Session, shelf: Shelf, observer: Observer | None, found: Finds) -> None:
        """Use `ContextEngine.history`; `found` yields the messages that answer a query, best first, with scores."""
        self._session = session
        self._shelf = shelf
        self._observer = observer
        self._found = found
        # What calls of the tool were answered since the request last grew: those of one step share its room.
        self._handed: tuple[tuple[int, int], Cost] = ((0, 0), NOTHING)

    def search(self, query: str, *, limit: int = HITS, offset: int = 0, now: float | None = None) -> Hits:
        """Return the messages that answer a query, best first, as a page that fits: at most `limit`, behind `offset`.

        Copies that were recalled, and what `history` itself was asked and answered, are passed over. `now` is in
        seconds since 1970; without it no distances are told.

        Raises:
            RecallError: there is nothing to look for in the query, or limit or offset are out of range.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed.
        """
        asked = Asked(query, _within(offset, 0, MOST_OFFSET, "offset"), _within(limit, 1, MOST_HITS, "limit"), now)
        if len(query) > QUERY_CHARS:
            raise RecallError(f"the query has {len(query):,} characters, at most {QUERY_CHARS:,} are looked for")
        try:
            words = read_query(query)
        except ValueError as error:
            raise RecallError(str(error)) from error
        room = self._session.room()
        free = self._free(room, as_tool=True)
        hits = self._hits(asked, words, room)
        page = listed(asked, hits, self._shelf.renderer.meter, free)
        if page is None:
            raise _no_room(free)
        return page

    def expand(self, handle: str, offset: int = 0, *, now: float | None = None) -> Page:
        """Return what an id stands for, as much as fits, as a page to be recorded as a tool's result.

        `handle` is a summary's id, "m17" or "m17-m40"; `offset` counts characters into the first message. The page
        says where the next one begins. `now` is in seconds since 1970.

        Raises:
            RecallError: nothing is stored under the id, or the message has no such place.
            BudgetError: there is no room for a page; nothing was read.
            StoreError: the store failed; DamagedStoreError where a row does not match its checksum.
        """
        room, page = self._page(handle, offset, now, as_tool=True)
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
        room, page = self._page(handle, offset, now, as_tool=False)
        (row,) = self._session.record(self._message(page, room), now=now)
        self._told(events.BLOCK_RECALLED, _ids(page), room, page.cost)
        return replace(page, recorded=row.seq)

    def free(self) -> Cost:
        """Return what an answer of a tool may cost now, as `search` and `expand` keep to; 0 where none fits."""
        try:
            return self._free(self._session.room(), as_tool=True)
        except BudgetError:
            return NOTHING

    def hand_out(self, cost: Cost) -> None:
        """Take an answer's cost from the room of further calls of the same step, which are answered beside it."""
        state = _state(self._session.room())
        self._handed = state, cost.plus(self._handed[1] if self._handed[0] == state else NOTHING)

    def _page(self, handle: str, offset: int, now: float | None, *, as_tool: bool) -> tuple[Room, Page]:
        room = self._session.room()
        if room.awaited and not as_tool:
            raise InvalidRequestError("R1", f"m{room.awaited[0].seq} awaits results of its calls; record these first")
        self._told(events.RECALL_REQUESTED, f"{handle!a:.80}", room, NOTHING)
        run = self._run(handle, room.standing.messages)
        free = self._free(room, as_tool=as_tool)
        page = Maker(self._shelf, run, now).page(_within(offset, 0, None, "offset"), free)
        if page is None:
            raise _no_room(free)
        return room, page

    def _run(self, handle: str, messages: int) -> Run:
        return resolve(handle, messages, self._shelf.summaries, self._shelf.session_id)

    def _message(self, page: Page, room: Room) -> Message:
        """Return the record of a page in the form in which the newest message came."""
        newest = self._shelf.read(room.standing.messages - 1, room.standing.messages - 1)[0]
        codec = self._shelf.renderer.codecs[newest.codec]
        payload = codec.encode(Part(Kind.RECALLED, "user", page.cost, text=page.text))
        return replace(codec.decode(payload), category=Category.RECALLED)

    def _free(self, room: Room, *, as_tool: bool) -> Cost:
        """Return what a page may cost: what is free up to the high-water mark, or a little more where that is less.

        Inside a tool loop the mark brings no event, so there it may be half of all that is free.

        Raises:
            BudgetError: not even a small page fits.
        """
        handed = self._handed[1] if as_tool and self._handed[0] == _state(room) else NOTHING
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

    def _hits(self, asked: Asked, words: Query, room: Room) -> list[Hit]:
        """Return the hits of a page, and one more where there is one."""
        found = self._found(asked.query, asked.now)
        hits = hits_of(found, words, self._shelf.renderer.codecs.__getitem__, in_view(room.standing))
        return list(islice(hits, asked.offset, asked.offset + asked.limit + 1))

    def _told(self, name: str, cause: str, room: Room, cost: Cost) -> None:
        if self._observer is not None:
            plan = room.standing.plan
            plan_id = plan.plan_id if plan else -1
            used = room.used_tokens
            lease = self._session.lease
            whose = self._session.session_id, cause, lease.lease_id
            told = Event(name, *whose, plan_id, used, used + cost.bound, model=lease.model)
            self._observer.notify(told)


def _state(room: Room) -> tuple[int, int]:
    return room.standing.messages, room.used_tokens


def _ids(page: Page) -> str:
    return named(page.pieces[0].seq, page.pieces[-1].seq)


def _within(number: int, least: int, most: int | None, name: str) -> int:
    if number < least or (most is not None and number > most):
        raise RecallError(
            f"{name} {number!a:.40} is out of range: {least} to {most if most is not None else 'the end'}"
        )
    return number


def _no_room(free: Cost) -> BudgetError:
    """Return the error where what is free does not hold a page."""
    return BudgetError(
        "recalled page",
        cost=LEAST_TOKENS,
        budget=max(0, min(free)),
        unit="tokens",
        key="window.default or models.<name>.context_window",
        detail="no room for what was said before: compact first, then ask again; the smallest page costs",
    )
