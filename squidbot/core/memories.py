"""Memories, their scopes and sources, and the passages that a search returns."""

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

#: The groups of a search's answer, most lasting first.
FactCategory = Literal["core", "concerns", "preferences", "background"]
CATEGORIES: tuple[FactCategory, ...] = ("core", "concerns", "preferences", "background")
# The collection of document cards: it is listed and never searched, so nothing in it has a vector.
CARDS: Final = "cards"
# The tag of chunks of journals: a search for this category looks there alone.
JOURNAL: Final = "journal"
#: Who a memory is from, most trusted first: a tool's output never becomes a core fact.
Trust = Literal["user", "assistant", "import", "tool"]
#: Which part of a scope separates memories. The tenant and the user always do; without a user, so does the thread.
Isolation = Literal["bot", "model", "global", "agent"]
# What separates messages: users have conversations of their own; each bot, model or agent has a transcript of its own
# in a conversation; "global": nothing, as in a group's conversation.
HistoryIsolation = Literal["user", "bot", "model", "agent", "global"]


class Scope(NamedTuple):
    """The owner of a memory, and its collection; "" if a part does not apply.

    Collections are searched and listed apart: facts are in none, chunks and cards of files in theirs.

    Attributes:
        tenant: the customer or organisation; it always separates facts.
        user: the user's id; it always separates facts.
        bot: the name of the bot.
        agent: the name of the agent.
        model: the name of the model.
        channel: where the conversation takes place.
        thread: the conversation; without a user, it separates facts, too.
        collection: the collection of files; "" for facts.
    """

    tenant: str = ""
    user: str = ""
    bot: str = ""
    agent: str = ""
    model: str = ""
    channel: str = ""
    thread: str = ""
    collection: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts as they are stored and digested: seven, and the collection if there is one."""
        return tuple(self) if self.collection else self[:7]


NOBODY: Final = Scope()
# For hosts: all users and conversations share the facts. Hosts share nothing unless they are told to.
SHARED: Final = NOBODY


class View(NamedTuple):
    """The memories that a scope sees under an isolation policy.

    Attributes:
        scope: whose memories.
        isolation: the part of the scope that separates memories, beside the tenant and the user.
    """

    scope: Scope
    isolation: Isolation = "bot"

    def of(self, collection: str) -> View:
        """Return the view of a collection of the same scope."""
        return self._replace(scope=self.scope._replace(collection=collection))

    def searched(self, collection: str) -> tuple[View, ...]:
        """Return the views of a collection to search: its own, and of a thread without a user the shared one, too."""
        own = self.of(collection)
        return (own, own._replace(scope=own.scope._replace(thread=""))) if self.thread else (own,)

    @property
    def thread(self) -> str:
        """The thread whose memories these are; "" if they are a user's, or shared."""
        return "" if self.scope.user else self.scope.thread

    @property
    def key(self) -> tuple[str, ...]:
        """The same for all scopes that see each other's memories.

        Tenant, user and collection separate memories under every policy; "bot", "model" and "agent" by that part, too.
        Without a user, so does the thread: nobody knows who else is in another one.
        """
        part = "" if self.isolation == "global" else getattr(self.scope, self.isolation)
        policy = f"{self.isolation} {self.scope.collection}" if self.scope.collection else self.isolation
        shared = (self.scope.tenant, self.scope.user, policy, str(part))
        return (*shared, self.thread) if self.thread else shared


class Source(NamedTuple):
    """Where a memory is from: messages of a session, or a file.

    If it has both, it is from a conversation in that file.

    Attributes:
        session_id: the session; "" for none.
        first_seq: the first message; for a file, the place among its chunks, from 0; -1 for neither.
        last_seq: the last message; -1 for none.
        path: the file; "" for none.
        digest: the digest of the file at that time; "" for none.
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
        memory_id: unique in a store; follows from scope, text and sources, so that nothing is stored twice.
        text: the fact, as a sentence.
        category: the group in which it is shown.
        scope: whose it is.
        time: when it was said or written, in seconds since 1970.
        trust: who it is from.
        speaker: the speaker's name, "" if unknown.
        tags: words to list it by.
        sources: where it is from.
        importance: 0 to 1, by default .5.
        reason: why it is stored: the rule or the model that found it, or who asked for it.
        supersedes: the id of the memory that it replaces; "" for none.
        superseded_by: the id of the memory that replaced it; "" while it holds. Replaced memories are history, found
            only on request.
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


class Grave(NamedTuple):
    """What is left of a forgotten memory.

    Attributes:
        memory_id: its id.
        owner: the digest of its owner, as stores make it.
        time: its own, for its place in lists; in seconds since 1970, as the next.
        forgotten: when it was forgotten.
        reason: why.
    """

    memory_id: str
    owner: int
    time: float
    forgotten: float
    reason: str


class FactRow(NamedTuple):
    """A row of a store of facts: a memory, or what is left of a forgotten one.

    Attributes:
        key: its number; keys ascend in the order in which rows were added.
        memory: the memory; None if it was forgotten.
        grave: what is left of it; None while it is there.
    """

    key: int
    memory: Memory | None = None
    grave: Grave | None = None


# 50 bits: among 1,000,000 memories two have the same id once in 2,000 stores, and the second is refused then.
ID_CHARS = 10
MOST_ID_CHARS = 1024
# The most sources of a fact; forgetting all of them forgets the fact.
MOST_SOURCES = 16
# Why facts are forgotten with the messages that said them.
WITH_MESSAGES: Final = "the messages that said it were forgotten"


def memory_id_of(scope: Scope, text: str, sources: Sequence[Source] = ()) -> str:
    """Return the id of a memory: "f-" and ten letters and digits, the same in every process and version."""
    identity = json.dumps((scope.parts, text, tuple(sources)), ensure_ascii=False, separators=(",", ":"))
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return f"f-{b32encode(digest).decode().lower()[:ID_CHARS]}"


def refuse_misfit(memory: Memory) -> None:
    """Check that every store can keep a memory.

    Raises:
        StoreError: its id is not 1 to 1,024 characters long, it supersedes itself, its category is unknown, its time
            is not finite, or its importance not 0 to 1.
    """
    name = f"memory {memory.memory_id!a:.80}"
    if not 1 <= len(memory.memory_id) <= MOST_ID_CHARS:
        raise StoreError(f"{name}: its id must be 1 to {MOST_ID_CHARS} characters; nothing was written")
    if memory.memory_id in (memory.supersedes, memory.superseded_by):
        raise StoreError(f"{name}: cannot replace itself; nothing was written")
    if memory.category not in CATEGORIES:
        raise StoreError(f"{name}: category {memory.category!r} is none of {CATEGORIES}; nothing was written")
    if not isfinite(memory.time):
        raise StoreError(f"{name}: time {memory.time} is not finite; nothing was written")
    if not 0 <= memory.importance <= 1:
        raise StoreError(f"{name}: importance {memory.importance} is not 0 to 1; nothing was written")


def is_from_session(memory: Memory, session_id: str) -> bool:
    """Return whether a memory is from messages of a session, not of a conversation of that name in a file."""
    return any(source.session_id == session_id and not source.path for source in memory.sources)


def is_same(one: Memory, other: Memory) -> bool:
    """Return whether two memories of one id are equal, apart from sources and replacement, which the store keeps."""
    return replace(one, superseded_by="", sources=()) == replace(other, superseded_by="", sources=())


def with_sources(memory: Memory, sources: Iterable[Source]) -> Memory:
    """Return a memory with further sources behind its own, at most 16 in all."""
    new = [source for source in dict.fromkeys(sources) if source not in memory.sources]
    left = new[: max(0, MOST_SOURCES - len(memory.sources))]
    return replace(memory, sources=(*memory.sources, *left)) if left else memory


def without_messages(memory: Memory, session_id: str, seqs: Container[int]) -> tuple[Source, ...]:
    """Return a memory's sources without these messages of a session; a run of messages goes with any of them."""
    return tuple(
        source
        for source in memory.sources
        if source.session_id != session_id
        or source.path
        or not any(seq in seqs for seq in range(source.first_seq, source.last_seq + 1))
    )


def refuse_missing(memory_ids: Iterable[str], known: Container[str]) -> None:
    """Check that memories exist.

    Raises:
        NotFoundError: one is not among the known ones.
    """
    for memory_id in memory_ids:
        if memory_id not in known:
            raise NotFoundError(f"memory {memory_id!a:.80} does not exist, or no longer; nothing was changed")


class Passage(NamedTuple):
    """A text that can be found: a memory, or a turn of a conversation.

    Attributes:
        key: its id.
        text: its words.
        speaker: who said it; "" if unknown.
        time: when, in seconds since 1970; `None` if unknown.
        group: the session or file whose passages are its neighbours; "" for none.
        position: its place in the group, from 0.
    """

    key: str
    text: str
    speaker: str = ""
    time: float | None = None
    group: str = ""
    position: int = 0


def passage_of(memory: Memory) -> Passage:
    """Return a memory as a passage; the chunks of a file are a group."""
    source = memory.sources[0] if memory.sources else Source()
    if not source.path or source.first_seq < 0:
        return Passage(memory.memory_id, memory.text, memory.speaker, memory.time)
    group = f"{source.path}\n{source.session_id}"
    return Passage(memory.memory_id, memory.text, memory.speaker, memory.time, group, source.first_seq)


class MemoryHit(NamedTuple):
    """A passage that answers a query.

    Attributes:
        key: the id of the passage.
        score: 0 to 1, higher is closer, the same in every store.
    """

    key: str
    score: float


#: New sources of memories, by the ids of these memories.
NewSources: TypeAlias = "Mapping[str, Sequence[Source]]"


class Mark(NamedTuple):
    """How far the messages of a session were read for facts.

    Attributes:
        session_id: the session.
        reader: "rules" or "model"; each has a mark of its own.
        next_seq: all messages before this one were read.
        version: of the rules, or of model and prompts, that read last.
        stamp: tells the session from an earlier one of the same id.
    """

    session_id: str
    reader: str
    next_seq: int
    version: str = ""
    stamp: str = ""
