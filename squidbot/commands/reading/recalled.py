"""What was said, brought back: by the ids that requests show, and by the words in it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from squidbot.commands.reading.entries import page
from squidbot.commands.reading.terms import history_of, session_of
from squidbot.commands.texts import span
from squidbot.core.memory.injected import Turns
from squidbot.core.recall.history import hits_of, in_view, resolve
from squidbot.core.recall.search import read_query

if TYPE_CHECKING:
    from squidbot.commands.reading.entries import Page
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import Summary
    from squidbot.core.recall.history import Asked, Hit

__all__ = ["Recalled", "Searched", "brought_back", "found_by", "recalled"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The messages behind an id, `first_seq` to `last_seq`, of which `page` has some; `summary` where it named one."""

    handle: str
    first_seq: int
    last_seq: int
    page: Page
    summary: Summary | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "id": self.handle,
            "stands_for": span(self.first_seq, self.last_seq),
            "summary": self.summary.text if self.summary else None,
            **self.page.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Searched:
    """One page of a search: `next_offset` is where the next one begins, None where nothing follows."""

    session_id: str
    query: str
    hits: tuple[Hit, ...]
    next_offset: int | None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "session": self.session_id,
            "query": self.query,
            "hits": [
                {
                    "id": span(hit.row.seq, hit.row.seq),
                    "score": hit.score,
                    "role": hit.row.role,
                    "time": hit.row.time,
                    "snippet": hit.snippet,
                    "in_next_request": hit.shown or None,
                }
                for hit in self.hits
            ],
            "next_offset": self.next_offset,
        }


def recalled(place: Opened, session_id: str, handle: str, start: int | None, limit: int) -> Recalled:
    """Return the messages behind an id, from `start` on, at most `limit`.

    Raises:
        RecallError: nothing is stored under the id.
        StoreError: the store failed.
    """
    run = resolve(handle, place.length(session_id), place.store, session_id)
    first = max(run.first_seq, start or 0)
    shown = page(place, session_id, first, min(run.last_seq, first + limit - 1))
    named = place.store.by_id(session_id, [handle])
    return Recalled(handle, run.first_seq, run.last_seq, shown, named[0] if named else None)


def brought_back(place: Opened, session_id: str, handle: str, now: float) -> dict[str, object]:
    """Record what stands behind an id behind the transcript, as much as fits, and return what was recorded.

    Raises:
        RecallError: nothing is stored under the id.
        BudgetError: there is no room for it.
        InvalidRequestError: results of tool calls are awaited.
        StoreError: nothing was written.
    """
    made = history_of(place, session_id).recall(handle, now=now)
    shown = span(made.pieces[0].seq, made.pieces[-1].seq)
    return {"session": session_id, "id": handle, "shown": shown, "recorded": made.recorded, "text": made.text}


def found_by(place: Opened, session_id: str, asked: Asked) -> Searched:
    """Return the messages that answer a query, best first.

    Raises:
        ValueError: there is nothing to look for in the query.
        StoreError: the store failed.
    """
    words = read_query(asked.query)
    shown = in_view(session_of(place, session_id).room().standing)
    found = Turns(place.store, session_id, place.codec).found(asked.query, asked.now)
    every = hits_of(found, words, place.codec, shown)
    end = asked.offset + asked.limit
    hits = tuple(islice(every, asked.offset, end + 1))
    return Searched(session_id, asked.query, hits[: asked.limit], end if len(hits) > asked.limit else None)
