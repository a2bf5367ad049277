"""What memory and extensions say unasked, beside the conversation: how much room they have, and when it gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Category
from squidbot.core.view.marks import tells_memories
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.extended import Extended
    from squidbot.core.messages import Cost, Message, StoredMessage
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.request import Unasked
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Shelf, Standing

__all__ = [
    "COLD_MESSAGES",
    "Beginning",
    "is_noticed",
    "joined",
    "remembered_of",
    "share_of",
    "speaks",
    "tail_of",
    "without_remembered",
]

# B-33: a conversation begins cold while fewer messages than this were said before the one in flight.
COLD_MESSAGES = 3
# Of what a request may cost, head and cold start may each take a tenth: at 2K it holds a line or two, from 16K on all.
SHARE = 10


def share_of(limit: Cost) -> int:
    """Return what the sections of memory may cost together, and so much again a cold start, in tokens as a bound."""
    return max(0, limit.bound) // SHARE


class Beginning(NamedTuple):
    """A call that may begin a conversation: what facts to freeze behind the newest of the user's messages.

    Attributes:
        shelf: what was said before.
        stored: what stands.
        incoming: what comes.
        unasked: what memory says; None for nothing.
        share_tokens: what it may cost, as a bound.
        resumes: whether it comes after a pause that parts session blocks.
    """

    shelf: Shelf
    stored: Standing
    incoming: Sequence[Message]
    unasked: Unasked | None
    share_tokens: int
    resumes: bool = False

    def facts(self, head: Sequence[Section]) -> str | None:
        """Return facts that are not in a head, and after a pause what the journal tells; None for nothing.

        Facts are told where a conversation begins, once: not where any message before carries some. Of the plan in
        force nothing of it depends on more than the head, and what stands raw behind it.

        Raises:
            StoreError: the store failed.
        """
        newest = _newest(self.incoming)
        if self.unasked is None or newest < 0:
            return None
        stored = self.stored
        before = stored.messages - stored.lead_count + sum(one.role != "system" for one in self.incoming[:newest])
        if before >= COLD_MESSAGES or any(tells_memories(row.notice or "") for row in self._said()):
            return self._resumed(self.unasked, head)
        started = self.unasked.start(self.incoming[newest].text, self.share_tokens, head)
        return joined(started, self._resumed(self.unasked, head))

    def _resumed(self, unasked: Unasked, head: Sequence[Section]) -> str | None:
        """Return what the journal tells where the conversation goes on after a pause, unless it is in view."""
        if not self.resumes:
            return None
        noticed = [row.notice for atom in self.stored.tail.atoms for row in atom.messages if row.notice]
        return unasked.resume(self.share_tokens, head, noticed)

    def _said(self) -> Sequence[StoredMessage]:
        """Return all that was said so far, sent still or not."""
        first, last = self.stored.lead_count, self.stored.messages - 1
        return self.shelf.read(first, last) if first <= last else ()


def tail_of(incoming: Sequence[Message], extended: Extended | None, limit: Cost) -> str | None:
    """Return what extensions say behind the newest of the user's messages; None for nothing, or where none came."""
    newest = _newest(incoming)
    return None if extended is None or newest < 0 else extended.tail(incoming[newest].text, share_of(limit))


def _newest(incoming: Sequence[Message]) -> int:
    return max((place for place, one in enumerate(incoming) if speaks(one)), default=-1)


def remembered_of(plan: PlanRecord | None) -> tuple[Section, ...]:
    """Return what memory says in the head of a plan."""
    return plan.remembered if plan else ()


def joined(*texts: str | None) -> str | None:
    """Return what is told behind one message, each text on lines of its own; None where there is none."""
    return "\n".join(filter(None, texts)) or None


def is_noticed(rows: Sequence[StoredMessage], text: str | None) -> bool:
    """Return whether a text stands behind one of these messages."""
    return text is not None and any(text in (row.notice or "") for row in rows)


def without_remembered(standing: Standing, renderer: Renderer) -> Standing:
    """Return what stands with a head that costs nothing for what memory says, since that can give way."""
    sections = remembered_of(standing.plan)
    return (
        standing._replace(fixed=standing.fixed.less(spent(map(renderer.section, sections)))) if sections else standing
    )


def speaks(message: Message) -> bool:
    """Return whether a message is the user's own words, so that it opens a turn."""
    return message.role == "user" and not message.results and message.category is not Category.RECALLED
