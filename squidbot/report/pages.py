"""What a store's pages show beside a session's report: the list, search, facts, goals, the journal; and changes."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from squidbot.adapters.common.threads import Waiting
from squidbot.core.errors import ConfigError, NotFoundError, SquidbotError
from squidbot.core.journal import LISTS
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.recall.history import SearchRequest, hits_of, speaker
from squidbot.core.transcript.goals import stored_goals
from squidbot.core.transcript.identity import identity_of
from squidbot.plugins.store_tools import SessionOwners
from squidbot.report.data import ReportSource
from squidbot.report.listing import SessionRows, charges_of_session, id_of, key_of
from squidbot.report.snapshots import ReportCache
from squidbot.services.forget import forget_messages
from squidbot.tools.history import codec_of
from squidbot.wiring.journal import journal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.journal import JournalEntry
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.memory.view import Memories
    from squidbot.core.recall.history import HistoryHit
    from squidbot.report.data import GrowingReport, ReportData
    from squidbot.report.gate import Viewer
    from squidbot.report.listing import ShownStore

# A page of each list, and at most.
LISTED: Final = 50
MOST_ON_A_PAGE: Final = 200
# How many sessions are searched at once, for how long, and what is shown of each.
MOST_SEARCHED: Final = 500
SEARCH_SECONDS: Final = 3.0
HITS_OF_EACH: Final = 3
MOST_HITS: Final = 60
# Characters of a reason, and of a user's name.
MOST_REASON_CHARS: Final = 200
MOST_FORGOTTEN: Final = 100


class StorePages:
    """The values of pages, each for who looks. Threads may share it."""

    def __init__(self, place: ShownStore, status: Callable[[], Mapping[str, Any]] | None = None) -> None:
        """Take the store, and what returns its status; `None`: no page shows that."""
        self._place, self._status = place, status
        self._owners, self._rows = SessionOwners(), SessionRows(place)
        self.reports = ReportCache(self._built, partial(identity_of, place.store))

    def sees(self, viewer: Viewer, session_id: str, messages: int) -> bool:
        """Return whether a viewer may see a session: with a user's token only if all of it is theirs."""
        if not viewer.is_limited:
            return True
        owners = self._owners.of(self._place.store, session_id, messages)
        return messages > 0 and owners <= {viewer.scope[:2]}

    def _lists(self, viewer: Viewer, session_id: str, messages: int) -> bool:
        """Return whether a list shows a session to a viewer, as `sees`, but cheaper for many."""
        if not viewer.is_limited:
            return True
        return messages > 0 and self._owners.lists(self._place.store, session_id, messages, viewer.scope[:2])

    def found(self, viewer: Viewer, key: str) -> str:
        """Return the id of a session by its key.

        Raises:
            NotFoundError: there is none that the viewer may see.
        """
        session_id = id_of(key)
        head = self._place.store.head(session_id)
        if head == (0, 0) or not self.sees(viewer, session_id, head[0]):
            raise NotFoundError("there is no such session")
        return session_id

    def _built(self, session_id: str, growing: GrowingReport) -> ReportData:
        session, charges = self._place.session(session_id), charges_of_session(self._place, session_id)
        return growing.report(ReportSource(session, charges), time.time())

    # -- lists -----------------------------------------------------------------------------------------------------

    def sessions(self, viewer: Viewer, name: str, offset: int, limit: int) -> dict[str, Any]:
        """Return a page of the list of sessions."""
        limit = min(limit, MOST_ON_A_PAGE)
        page = self._rows.page(partial(self._lists, viewer), name=name, offset=offset, limit=limit)
        if viewer.is_limited:  # the reason names the store's file
            for row in page["sessions"]:
                row["damaged"] = row["damaged"] and "it is damaged, and can't be read"
        return page

    def search(self, viewer: Viewer, query: str, name: str = "") -> dict[str, Any]:
        """Return the messages that match a query, best first, of the sessions with the newest messages.

        `left_out`: messages of these sessions that a store that is read only does not look through.

        Raises:
            RecallError: there is nothing to look for in the query.
        """
        SearchRequest(query).words()
        every, total = self._rows.ids(partial(self._lists, viewer), name)
        ends, searched, damaged, left_out = time.monotonic() + SEARCH_SECONDS, 0, 0, 0
        found: list[tuple[HistoryHit, str]] = []
        left_out_of = getattr(self._place.store, "left_out", None)
        for session_id in every[:MOST_SEARCHED]:
            if time.monotonic() > ends:
                break
            searched += 1
            try:
                found += [(hit, session_id) for hit in self._hits(session_id, query)]
                left_out += left_out_of(session_id) if left_out_of else 0
            except SquidbotError:
                damaged += 1
        found.sort(key=lambda one: -one[0].score)
        hits = [_hit_json(*one) for one in found[:MOST_HITS]]
        counts = {"searched": searched, "total": total, "damaged": damaged, "left_out": left_out}
        return {"query": query, "hits": hits, **counts}

    def _hits(self, session_id: str, query: str) -> list[HistoryHit]:
        codec = partial(codec_of, self._place.wired)
        line = self._place.line(session_id).to_look_up()
        found = MessageSearch(line, session_id, codec).found(query, time.time())
        return [*islice(hits_of(found, SearchRequest(query).words(), codec, {}), HITS_OF_EACH)]

    def goals(self, session_id: str) -> dict[str, Any]:
        """Return the goals of a session."""
        goals = stored_goals(self._place.line(session_id), session_id)
        return {
            "active": goals.active.text if goals.active else None,
            "next": goals.next_step or None,
            "ended": [{"text": one.text, "how": one.ended} for one in goals.ended],
            "items": [{"kind": one.kind, "text": one.text, "done": one.done, "goal": one.goal} for one in goals.items],
        }

    def facts(self, viewer: Viewer, user: str | None, after: str, *, past: bool) -> dict[str, Any]:
        """Return a page of durable facts, the newest first; `user`: of another one, "" for those that all share.

        Raises:
            NotFoundError: no fact has the id `after`.
        """
        scope = self._scope(viewer, user)
        values: dict[str, Any] = {"user": scope.user, "facts": [], "next": None, "enabled": True}
        if not self._place.wired.loaded.settings.memory.enabled:
            return values | {"enabled": False}
        try:
            memories = self._memories(scope)
        except NotFoundError:  # none was ever stored
            return values
        found = memories.store.listed(memories.view, limit=LISTED + 1, after=after, past=past)
        values["facts"] = [self._fact_json(viewer, one) for one in found[:LISTED]]
        return values | {"next": found[LISTED - 1].memory_id if len(found) > LISTED else None}

    def _scope(self, viewer: Viewer, user: str | None) -> Scope:
        if user is None or user == viewer.scope.user:
            return viewer.scope
        if viewer.is_limited:
            raise NotFoundError("there is no such user")
        return viewer.scope._replace(user=user)

    def _memories(self, scope: Scope) -> Memories:
        wired = self._place.wired
        memories = wired.memories(wired.meter(), scope, every_line=True)
        # Without a bot, the facts of all bots of a user are shown.
        of_all_bots = memories.view.isolation == "bot" and not scope.bot
        return replace(memories, view=memories.view._replace(isolation="global")) if of_all_bots else memories

    def _fact_json(self, viewer: Viewer, one: Memory) -> dict[str, Any]:
        sources = []
        for source in one.sources:
            name = source.session_id
            is_seen = bool(name) and self.sees(viewer, name, self._place.store.head(name)[0])
            place = {"session": name, "key": key_of(name)} if is_seen else {"session": None, "key": None}
            first, last = (source.first_seq, source.last_seq) if is_seen else (None, None)
            sources.append({**place, "first": first, "last": last, "path": source.path or None})
        scope = {name: value for name, value in one.scope._asdict().items() if value}
        return {**asdict(one), "scope": scope, "sources": sources}

    def journal(self, viewer: Viewer, user: str | None, limit: int) -> dict[str, Any]:
        """Return the newest entries of the journal, newest first."""
        scope = self._scope(viewer, user)
        book = journal_of(self._place.wired.loaded, None, scope)
        page = book.latest(min(limit, MOST_ON_A_PAGE))
        entries = [self._entry_json(viewer, one) for one in page.entries]
        return {"user": scope.user, "entries": entries, "faults": [] if viewer.is_limited else [*page.faults]}

    def _entry_json(self, viewer: Viewer, one: JournalEntry) -> dict[str, Any]:
        name = one.source_session
        is_seen = 1 <= len(name) <= 1024 and self.sees(viewer, name, self._place.store.head(name)[0])
        keys = ("time", "agent_id", "run_id", "summary", "total_tokens")
        values = {key: getattr(one, key) for key in keys} | {key: [*getattr(one, key)] for key in LISTS}
        return values | {"session": name if is_seen else None, "key": key_of(name) if is_seen else None}

    def status(self, viewer: Viewer) -> Mapping[str, Any]:
        """Return what is known of models, devices and stores.

        Raises:
            NotFoundError: the viewer may not see it.
        """
        if self._status is None or viewer.is_limited:
            raise NotFoundError("there is no status to show")
        with Waiting():  # for another process
            return self._status()

    # -- changes ---------------------------------------------------------------------------------------------------

    def forget_fact(self, viewer: Viewer, user: str | None, memory_id: str, reason: str) -> dict[str, Any]:
        """Remove a fact for good, also from the requests of sessions that had it.

        Raises:
            RecallError: the viewer has no such fact.
            StoreError: nothing was removed.
        """
        memories = self._memories(self._scope(viewer, user))
        memories.forget(memory_id, reason[:MOST_REASON_CHARS])
        self.reports.drop()
        return {"forgotten": memory_id}

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str) -> dict[str, Any]:
        """Remove messages of a session for good, with all that was made from them.

        Raises:
            NotFoundError, BudgetError: nothing was forgotten.
            StoreError: the store failed.
            ConfigError: there are too many, or none.
        """
        if not 1 <= len(seqs) <= MOST_FORGOTTEN:
            raise ConfigError(f"pass 1 to {MOST_FORGOTTEN} messages at once")
        done = forget_messages(
            self._place.wired, self._place.session(session_id), seqs, reason=reason[:MOST_REASON_CHARS]
        )
        self.reports.drop()
        return {"forgotten": [*done.asked], "copies": [*done.copies], "facts": [*done.facts]}


def _hit_json(hit: HistoryHit, session_id: str) -> dict[str, Any]:
    return {
        "session": session_id,
        "key": key_of(session_id),
        "message": hit.seq,
        "who": speaker(hit.row),
        "time": hit.row.time,
        "score": hit.score,
        "snippet": hit.snippet,
    }
