"""Memories and passages, whose they are, what a search for them returns, and the port of what keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CATEGORIES",
    "Category",
    "Hit",
    "Isolation",
    "Memory",
    "MemoryStore",
    "Passage",
    "Scope",
    "Source",
    "Trust",
    "View",
]

# B-34: the groups in which a search's answer stands, most lasting first.
Category = Literal["core", "concerns", "preferences", "background"]
CATEGORIES: tuple[Category, ...] = ("core", "concerns", "preferences", "background")
# Who a memory is from, most trusted first: what a tool printed never makes a core fact.
Trust = Literal["user", "assistant", "import", "tool"]
# Which parts of a scope part memories from each other (C6): the tenant and the user always do.
Isolation = Literal["bot", "model", "global", "agent"]


class Scope(NamedTuple):
    """Whose a memory is (C6); "" where a part does not apply."""

    tenant: str = ""
    user: str = ""
    bot: str = ""
    agent: str = ""
    model: str = ""
    channel: str = ""
    thread: str = ""


class View(NamedTuple):
    """Whose memories are seen: those of a scope, and of all that an isolation policy does not part from it."""

    scope: Scope
    isolation: Isolation = "bot"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What scopes have in common whose memories see each other.

        Tenant and user part memories under every policy; "global" by nothing else, "bot", "model" and "agent" by that
        part, too.
        """
        part = "" if self.isolation == "global" else getattr(self.scope, self.isolation)
        return (self.scope.tenant, self.scope.user, self.isolation, str(part))


class Source(NamedTuple):
    """Where a memory is from: messages first_seq..last_seq of a session, or a file with the digest it then had."""

    session_id: str = ""
    first_seq: int = -1
    last_seq: int = -1
    path: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One durable fact.

    Attributes:
        memory_id: its own, in all of a store; follows from scope, text and sources, so that the same is not kept twice.
        text: the fact, as a sentence.
        category: the group in which it is shown.
        scope: whose it is.
        time: when it was said or written, in seconds since 1970.
        trust: who it is from.
        speaker: the name of who said it, "" where unknown.
        tags: words to list it by.
        sources: where it is from.
        importance: 0 to 1; .5 where nobody says.
        reason: why it is kept, in a sentence: the rule or the model that made it, or who asked for it.
        supersedes: the memory whose place it takes; "" for none.
        superseded_by: what has taken its place; "" while it holds. It is history then: found only where that is asked.
    """

    memory_id: str
    text: str
    category: Category
    scope: Scope
    time: float
    trust: Trust = "user"
    speaker: str = ""
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    importance: float = 0.5
    reason: str = ""
    supersedes: str = ""
    superseded_by: str = ""


class Passage(NamedTuple):
    """A text that can be found: a memory, or a turn of a conversation.

    Attributes:
        key: what finds it again.
        text: its words.
        speaker: who said it; "" where unknown.
        time: when, in seconds since 1970; None where unknown.
        group: what it stands in one row with: a session, a file; "" for nothing.
        position: its place in that row, from 0; neighbours have one less and one more.
    """

    key: str
    text: str
    speaker: str = ""
    time: float | None = None
    group: str = ""
    position: int = 0


class Hit(NamedTuple):
    """What answers a query: the key of a passage, and how well, 0 to 1, higher is closer, the same in every store."""

    key: str
    score: float


class MemoryStore(Protocol):
    """Durable facts, and their search. Memories of one view are never seen in another."""

    def add(self, memories: Sequence[Memory]) -> None:
        """Store memories in one transaction; durable on return, and found at once. Storing an equal one does nothing.

        One that names what it supersedes takes its place in the same transaction: the old one is history from then on.

        Raises:
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                scope's, or the disk failed.
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

        Raises:
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
