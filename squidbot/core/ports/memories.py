"""What keeps durable facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import Category, Hit, Mark, Memory, Said, View

__all__ = ["MemoryStore"]


class MemoryStore(Protocol):
    """Durable facts, and their search. Memories of one view are never seen in another."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: Said | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories in one transaction; durable on return, and found at once. Storing an equal one does nothing.

        One that names what it supersedes takes its place in the same transaction: the old one is history from then on,
        whatever becomes of the new one. It must be there, or stand earlier in `memories`; where another has taken its
        place already, that stays so. `superseded_by` and `sources` don't count for being equal: a store keeps its own.

        With `mark` how far a session was read is stored in the same transaction, in the place of `was`, which is what
        `mark` returned before: of two that read the same, the second one stores nothing. With `said`, memories get
        sources that say them, too, by id, in the same transaction: those that they do not have yet (`said_too`). With
        `places` memories are put into the places of others there, as `supersede` does, once all of `memories` are
        stored: for one that takes the places of several.

        Raises:
            NotFoundError: nothing was stored: one of `said` is not there, or no more.
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                tenant's or user's, a value can't be stored (see `refuse_misfit`), the session's mark is not `was`, a
                place can't be taken, or the disk failed.
        """

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, in one transaction: of each id, the one that takes its place.

        "" takes it back: the memory holds again, and whatever had taken its place holds, too. Nothing is removed, and
        what is so already stays so.

        Raises:
            StoreError: nothing was changed: a memory is not there, or another tenant's or user's, what is to take a
                place is history itself, another one has taken a place already, or the disk failed.
        """

    def said_in(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, whosever they are, history too, in any order.

        For who forgets messages; it may look at every memory there is.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def unsay(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages of a session out of the sources of memories, and return the ids of those forgotten by that.

        In one transaction. Forgotten, as by `forget`, are those that named no other source, whosever they are, history
        too; a source of several messages in a row goes with any of them. It may look at every memory there is.

        Raises:
            StoreError: nothing was changed: the disk failed.
            DamagedStoreError: nothing was changed: a row does not match its checksum.
        """

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction: whoever looks finds all of it done, or nothing.

        An id that is in both is not forgotten: its memory is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there, or no more.
            StoreError: nothing was changed: as `add` and `forget` do.
        """

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def listed(
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        `after` is the id of the last one of the page before, "" for the first page; those of the same time come in the
        same order each time. Where it has been forgotten since, the pages go on where it stood.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
            DamagedStoreError: a row does not match its checksum.
        """

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:
        """Return the memories of a view that answer a query, best first, ties newest first.

        Every score is 0 to 1, higher is closer, and means the same in every store. What was added is found, what was
        superseded (but with `past`) or forgotten is not, from the moment that the call that did so returned. Searching
        changes no score.

        Raises:
            ValueError: there is no letter or digit in the query.
        """

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, from all that is searched, too, and return how many were there.

        What was there can't be read back from its files afterwards. That something was forgotten, and why, is kept.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given.

        Who makes memories by rule asks first: what somebody wanted forgotten does not come back by itself.
        """
