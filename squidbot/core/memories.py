"""Memories and passages, whose they are, and what a search for them returns."""

from __future__ import annotations

import json
from base64 import b32encode
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from squidbot.core.errors import NotFoundError, StoreError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

__all__ = [
    "CARDS",
    "CATEGORIES",
    "JOURNAL",
    "FactCategory",
    "Hit",
    "Isolation",
    "Mark",
    "Memory",
    "Passage",
    "Said",
    "Scope",
    "Source",
    "Trust",
    "View",
    "is_said_in",
    "is_same",
    "memory_id_of",
    "passage_of",
    "refuse_misfit",
    "refuse_missing",
    "said_too",
    "unsaid",
]

# B-34: the groups in which a search's answer stands, most lasting first.
FactCategory = Literal["core", "concerns", "preferences", "background"]
CATEGORIES: tuple[FactCategory, ...] = ("core", "concerns", "preferences", "background")
# The shelf of what is known of files as wholes: it is listed and never searched, so nothing on it has a vector.
CARDS: Final = "cards"
# The tag of what journals say: a search by this name looks there alone (J-05).
JOURNAL: Final = "journal"
# Who a memory is from, most trusted first: what a tool printed never makes a core fact.
Trust = Literal["user", "assistant", "import", "tool"]
# Which parts of a scope part memories from each other (C6): the tenant and the user always do.
Isolation = Literal["bot", "model", "global", "agent"]


class Scope(NamedTuple):
    """Whose a memory is (C6), and on which shelf it stands; "" where a part does not apply.

    Shelves part what is searched and listed apart: facts stand on none, what is made of files on others.
    """

    tenant: str = ""
    user: str = ""
    bot: str = ""
    agent: str = ""
    model: str = ""
    channel: str = ""
    thread: str = ""
    shelf: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts as they are written down and digested; what stands on no shelf has the seven that all once had."""
        return tuple(self) if self.shelf else self[:7]


class View(NamedTuple):
    """Whose memories are seen: those of a scope, and of all that an isolation policy does not part from it."""

    scope: Scope
    isolation: Isolation = "bot"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What scopes have in common whose memories see each other.

        Tenant, user and shelf part memories under every policy; "global" by nothing else, "bot", "model" and "agent" by
        that part, too.
        """
        part = "" if self.isolation == "global" else getattr(self.scope, self.isolation)
        policy = f"{self.isolation} {self.scope.shelf}" if self.scope.shelf else self.isolation
        return (self.scope.tenant, self.scope.user, policy, str(part))


class Source(NamedTuple):
    """Where a memory is from: messages first_seq..last_seq of a session, or a file with the digest it then had.

    With both it is from a conversation in that file; of a file, first_seq is the place among its pieces, from 0.
    """

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
    category: FactCategory
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


# 50 bits: among 1,000,000 memories two have the same id once in 2,000 stores, and the second is refused then.
ID_CHARS = 10
MOST_ID_CHARS = 1024
# What is said every day makes no row longer and longer; who forgets so many messages forgets the fact.
MOST_SOURCES = 16


def memory_id_of(scope: Scope, text: str, sources: Sequence[Source] = ()) -> str:
    """Return the id of a memory: "f-" and ten letters and digits, the same in every process and version."""
    said = json.dumps((scope.parts, text, tuple(sources)), ensure_ascii=False, separators=(",", ":"))
    digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return f"f-{b32encode(digest).decode().lower()[:ID_CHARS]}"


def refuse_misfit(memory: Memory) -> None:
    """Pass a memory that every store can keep.

    Raises:
        StoreError: its id is not 1 to 1,024 characters long, it supersedes itself, its category is none, its time not
            finite, or its importance not 0 to 1.
    """
    name = f"memory {memory.memory_id!a:.80}"
    if not 1 <= len(memory.memory_id) <= MOST_ID_CHARS:
        raise StoreError(f"{name}: its id must be 1 to {MOST_ID_CHARS} characters; nothing was written")
    if memory.memory_id in (memory.supersedes, memory.superseded_by):
        raise StoreError(f"{name}: can't take its own place; nothing was written")
    if memory.category not in CATEGORIES:
        raise StoreError(f"{name}: category {memory.category!r} is none of {CATEGORIES}; nothing was written")
    if not isfinite(memory.time):
        raise StoreError(f"{name}: time {memory.time} is no time; nothing was written")
    if not 0 <= memory.importance <= 1:
        raise StoreError(f"{name}: importance {memory.importance} is not 0 to 1; nothing was written")


def is_said_in(memory: Memory, session_id: str) -> bool:
    """Return whether a memory is from messages of a session; one in a file that is called the same is another."""
    return any(one.session_id == session_id and not one.path for one in memory.sources)


def is_same(one: Memory, other: Memory) -> bool:
    """Return whether two memories of one id are equal but for what a store keeps of them by itself (`MemoryStore.add`).

    That is what has taken their place, and which messages say them.
    """
    return replace(one, superseded_by="", sources=()) == replace(other, superseded_by="", sources=())


def said_too(memory: Memory, sources: Iterable[Source]) -> Memory:
    """Return a memory with the sources that it does not have yet behind its own, at most 16 in all."""
    new = [one for one in dict.fromkeys(sources) if one not in memory.sources]
    left = new[: max(0, MOST_SOURCES - len(memory.sources))]
    return replace(memory, sources=(*memory.sources, *left)) if left else memory


def unsaid(memory: Memory, session_id: str, seqs: Container[int]) -> tuple[Source, ...]:
    """Return a memory's sources without these messages of a session; one of several in a row goes with any of them."""
    return tuple(
        one
        for one in memory.sources
        if one.session_id != session_id
        or one.path
        or not any(seq in seqs for seq in range(one.first_seq, one.last_seq + 1))
    )


def refuse_missing(memory_ids: Iterable[str], known: Container[str]) -> None:
    """Pass memories that are all there.

    Raises:
        NotFoundError: one of them is not among the known ones.
    """
    for memory_id in memory_ids:
        if memory_id not in known:
            raise NotFoundError(f"memory {memory_id!a:.80} is not there, or no more; nothing was changed")


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


def passage_of(memory: Memory) -> Passage:
    """Return what of a memory can be found; a piece of a file stands in a row with its others, any other in none."""
    source = memory.sources[0] if memory.sources else Source()
    if not source.path or source.first_seq < 0:
        return Passage(memory.memory_id, memory.text, memory.speaker, memory.time)
    group = f"{source.path}\n{source.session_id}"
    return Passage(memory.memory_id, memory.text, memory.speaker, memory.time, group, source.first_seq)


class Hit(NamedTuple):
    """What answers a query: the key of a passage, and how well, 0 to 1, higher is closer, the same in every store."""

    key: str
    score: float


# Sources that memories are to get, by their ids.
Said: TypeAlias = "Mapping[str, Sequence[Source]]"


class Mark(NamedTuple):
    """How far the messages of a session were read for facts.

    Attributes:
        session_id: the session.
        reader: who reads: "rules" or "model"; each has a mark of its own.
        next_seq: all messages before this one were read.
        version: of the rules, or of model and prompts, that read last.
        stamp: what tells the session from another one that had the same id before it.
    """

    session_id: str
    reader: str
    next_seq: int
    version: str = ""
    stamp: str = ""
