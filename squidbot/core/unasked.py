"""What memory and extensions say unasked, beside the conversation: how much room they have, and when it gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.messages import Category
from squidbot.core.view.marks import tells_memories
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.extended import Extended
    from squidbot.core.messages import Cost, Message, StoredMessage
    from squidbot.core.request import Unasked
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Shelf, Standing

__all__ = ["COLD_MESSAGES", "share_of", "speaks", "start_of", "tail_of", "without_remembered"]

# B-33: a conversation begins cold while fewer messages than this were said before the one in flight.
COLD_MESSAGES = 3
# Of what a request may cost, head and cold start may each take a tenth: at 2K it holds a line or two, from 16K on all.
SHARE = 10


def share_of(limit: Cost) -> int:
    """Return what the sections of memory may cost together, and so much again a cold start, in tokens as a bound."""
    return max(0, limit.bound) // SHARE


def start_of(
    shelf: Shelf, stored: Standing, incoming: Sequence[Message], unasked: Unasked | None, limit: Cost
) -> str | None:
    """Return facts to freeze behind the newest of the user's messages where a conversation begins; None for none.

    They are told once: not where any message before it carries some already. Nothing of this depends on the plan in
    force: a call that brought an event says the same when it is tried again.

    Raises:
        StoreError: the store failed.
    """
    newest = _newest(incoming)
    if unasked is None or newest < 0:
        return None
    before = stored.messages - stored.lead_count + sum(one.role != "system" for one in incoming[:newest])
    if before >= COLD_MESSAGES or any(tells_memories(row.notice or "") for row in _said(shelf, stored)):
        return None
    share = share_of(limit)
    # The head as an event of this very call would make it: once it has, that head stands.
    return unasked.start(incoming[newest].text, share, unasked.head(share))


def tail_of(incoming: Sequence[Message], extended: Extended | None, limit: Cost) -> str | None:
    """Return what extensions say behind the newest of the user's messages; None for nothing, or where none came."""
    newest = _newest(incoming)
    return None if extended is None or newest < 0 else extended.tail(incoming[newest].text, share_of(limit))


def _newest(incoming: Sequence[Message]) -> int:
    return max((place for place, one in enumerate(incoming) if speaks(one)), default=-1)


def _said(shelf: Shelf, stored: Standing) -> Sequence[StoredMessage]:
    """Return all that was said so far of a conversation that begins, sent still or not."""
    return shelf.read(stored.lead_count, stored.messages - 1) if stored.messages > stored.lead_count else ()


def without_remembered(standing: Standing, renderer: Renderer) -> Standing:
    """Return what stands with a head that costs nothing for what memory says, since that can give way."""
    sections = standing.plan.remembered if standing.plan else ()
    return (
        standing._replace(fixed=standing.fixed.less(spent(map(renderer.section, sections)))) if sections else standing
    )


def speaks(message: Message) -> bool:
    """Return whether a message is the user's own words, so that it opens a turn."""
    return message.role == "user" and not message.results and message.category is not Category.RECALLED
