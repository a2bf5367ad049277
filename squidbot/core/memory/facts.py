"""What facts are made from, and what they are before they are memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import Memory, Source, memory_id_of
from squidbot.core.messages import Category as MessageCategory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.memories import Category, Scope, Trust
    from squidbot.core.messages import Role, StoredMessage
    from squidbot.core.ports import Codec

__all__ = ["ABOUT", "ENDS", "TRAIT", "Candidate", "Utterance", "about", "ended", "memory_of", "rank", "utterances"]

# Tags that say what a memory is about, and which others it ends: who repeats or changes a fact is known by them.
ABOUT: Final = "about:"
ENDS: Final = "ends:"
# The tag of memories about how the assistant is to be: the section on its traits shows them.
TRAIT: Final = "trait"
_RANKS: Final[Mapping[str, int]] = {"user": 0, "assistant": 1, "import": 2, "tool": 3}
_PASSED: Final = frozenset({MessageCategory.RECALLED, MessageCategory.FORGOTTEN})


class Utterance(NamedTuple):
    """One message as facts are looked for in it.

    Attributes:
        role: who says it; results of tools have the role "tool", whatever message they come in.
        text: its words.
        seq: its place in the session's transcript.
        time: in seconds since 1970; None where unknown.
        speaker: the name of who says it; "" where only the role is known.
    """

    role: Role
    text: str
    seq: int
    time: float | None = None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may be remembered.

    Attributes:
        text, category, trust, speaker, importance, reason: as in `Memory`.
        first_seq, last_seq: the messages that say it.
        time: when it was said, in seconds since 1970; None where unknown.
        slot: what it is about, as "user/home": a newer fact about the same takes its place. "" where that is open.
        ends: slots of facts that hold no longer, because of this one.
        changes: whether its words say that something is new.
        trait: whether it is about how the assistant is to be.
        replaces: the memory that it takes the place of, where that is known; "" else.
        sentence: the words that say it, without secrets; "" where it has them as they are.
    """

    text: str
    category: Category
    trust: Trust
    first_seq: int
    last_seq: int
    time: float | None = None
    speaker: str = ""
    importance: float = 0.5
    reason: str = ""
    slot: str = ""
    ends: tuple[str, ...] = ()
    changes: bool = False
    trait: bool = False
    replaces: str = ""
    sentence: str = ""


def utterances(rows: Iterable[StoredMessage], codecs: Mapping[str, Codec]) -> list[Utterance]:
    """Return stored messages as utterances; copies that were recalled and what was forgotten are passed over.

    Raises:
        ValueError: a payload is not of its codec's form.
    """
    return [
        Utterance("tool" if row.result_ids else row.role, codecs[row.codec].text(row.payload), row.seq, row.time)
        for row in rows
        if row.category not in _PASSED
    ]


def memory_of(candidate: Candidate, scope: Scope, session_id: str, now: float, supersedes: str = "") -> Memory:
    """Return the memory that a candidate becomes; `now`, in seconds since 1970, where it has no time of its own."""
    sources = (Source(session_id, candidate.first_seq, candidate.last_seq),)
    tags = (
        *((TRAIT,) if candidate.trait else ()),
        *((ABOUT + candidate.slot,) if candidate.slot else ()),
        *(ENDS + one for one in candidate.ends),
    )
    return Memory(
        memory_id_of(scope, candidate.text, sources),
        candidate.text,
        candidate.category,
        scope,
        now if candidate.time is None else candidate.time,
        trust=candidate.trust,
        speaker=candidate.speaker,
        tags=tags,
        sources=sources,
        importance=candidate.importance,
        reason=candidate.reason,
        supersedes=supersedes,
    )


def about(memory: Memory) -> str:
    """Return the slot of a memory; "" where it has none."""
    return next((tag.removeprefix(ABOUT) for tag in memory.tags if tag.startswith(ABOUT)), "")


def ended(memory: Memory) -> tuple[str, ...]:
    """Return the slots of facts that a memory says to hold no longer."""
    return tuple(tag.removeprefix(ENDS) for tag in memory.tags if tag.startswith(ENDS))


def rank(trust: str) -> int:
    """Return how far a source is trusted: 0 is best."""
    return _RANKS.get(trust, len(_RANKS))
