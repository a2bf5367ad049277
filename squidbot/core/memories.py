"""Memories and passages, whose they are, and what a search for them returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = [
    "CATEGORIES",
    "Category",
    "Hit",
    "Isolation",
    "Memory",
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
