"""A conversation as it is stored: what a program reads of it, and takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.messages import Category
from squidbot.plugins.openai_agents.told import CODEC, items_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.hosting.hosted import Hosted
    from squidbot.plugins.openai_agents.told import Item

__all__ = ["StoredSession", "stored"]

# How many messages are read at once.
READ_MESSAGES: Final = 1_000
NO_CONFIG: Final = (
    "squidbot's session came without its run configuration, nothing is bounded: pass **squid.options(...)"
)


class StoredSession:
    """The host's `Session` for a program: all that was said. Runs have one of their own, by `Squidbot.options`."""

    def __init__(self, hosted: Hosted, conversation_id: str, warn: Callable[..., None]) -> None:
        """Take the conversation's id; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted, self._warn = hosted, warn

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return what was said, oldest first, or the newest `limit` items of it.

        Raises:
            StoreError: it can't be read.
        """
        return stored(self._hosted, self.session_id, limit)

    async def add_items(self, items: Sequence[Item]) -> None:
        """Record what was said, durably.

        Raises:
            ValueError: an item is none.
            StoreError: nothing was stored.
        """
        self._warn(NO_CONFIG)
        self._hosted.conversation(self.session_id).said(CODEC.steps(dict(each) for each in items))

    async def pop_item(self) -> Item | None:
        """Forget the newest message for good, a step of the model whole, and return its last item; None for none.

        Raises:
            StoreError: it was not forgotten.
        """
        row = next(_backwards(self._hosted, self.session_id), None)
        if row is None:
            return None
        self._hosted.forget(self.session_id, [row.seq], "pop_item")
        return items_of(row, self._hosted.engine.wired.codecs)[-1]

    async def clear_session(self) -> None:
        """Forget all that was said, for good.

        Raises:
            StoreError: it was not forgotten.
        """
        seqs = [row.seq for row in _backwards(self._hosted, self.session_id)]
        self._hosted.forget(self.session_id, seqs, "clear_session")


def stored(hosted: Hosted, session_id: str, limit: int | None) -> list[Item]:
    """Return the items of a conversation, oldest first, or the newest `limit` of them; without what was forgotten.

    Raises:
        StoreError: they can't be read.
    """
    found: list[Item] = []
    for row in _backwards(hosted, session_id):
        if limit is not None and len(found) >= limit:
            break
        found += reversed(items_of(row, hosted.engine.wired.codecs))
    return found[:limit][::-1]


def _backwards(hosted: Hosted, session_id: str) -> Iterator[StoredMessage]:
    """Yield what was said and is not forgotten, newest first: the last ones alone are read for a few."""
    store, most = hosted.engine.wired.store, 1
    end = store.head(session_id)[0]
    while end > 0:
        first = max(0, end - most)
        rows = store.read(session_id, first, end - 1)
        yield from (row for row in reversed(rows) if row.category is not Category.FORGOTTEN)
        end, most = first, READ_MESSAGES
