"""Candidates for memories, and how their words are compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import Memory, Source, memory_id_of
from squidbot.core.messages import Category as MessageCategory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.memories import FactCategory, Scope, Trust
    from squidbot.core.messages import Role, StoredMessage
    from squidbot.core.ports import Codec


# Words of facts, compared.

_NEGATIONS = frozenset(("no", "not", "never", "nobody", "none", "neither", "nor", "cannot", "longer", "dislikes"))
_ARTICLES: Final = frozenset(("a", "an", "the", "my", "our", "their", "some", "to", "very", "really", "using", "use"))
# Opposites: one replaces the other.
_CONTRASTS: Final = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "tabs/spaces", "tea/coffee", "dark/light", "dark mode/light mode", "single quotes/double quotes", "cats/dogs",
        "metric units/imperial units", "celsius/fahrenheit", "merge/rebase", "merging/rebasing", "metric/imperial",
        "short answers/long answers", "brief answers/detailed answers", "mornings/evenings", "vim/emacs/neovim",
        "window seats/aisle seats", "window seat/aisle seat", "city/countryside",
        "british english/american english", "24-hour clock/12-hour clock", "formal/informal", "email/phone",
    )
)  # fmt: skip
_FOR: Final = re.compile(r"\b(?:for|in|when|while|on|at)\s+(.+)\Z")


def sentence_of(text: str) -> str:
    """Return a text as a sentence, with a capital and a stop."""
    words = text.strip()
    stop = "." if words[-1:] < "\u3000" else "\u3002"
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '!', '?', stop)) else stop}"


def key_of(text: str) -> str:
    """Return a text for comparison: its words, in lower case, without articles and punctuation."""
    words = re.findall(r"[^\W_][\w'+#./\-]*", text.lower())
    kept = [word.strip(".'-/") for word in words if word not in _ARTICLES]
    return " ".join(filter(None, kept)) or " ".join(words)


def rivals(first_key: str, second_key: str, *, changes: bool) -> bool:
    """Return whether two preferences, by their keys, exclude each other.

    They are known opposites, or for the same use; or they are of one kind, by their last word, and the second one is
    said to be new (`changes`).
    """
    if first_key == second_key:
        return False
    if any({first_key, second_key} <= pair for pair in _CONTRASTS):
        return True
    uses = _FOR.search(first_key), _FOR.search(second_key)
    if uses[0] and uses[1]:
        return uses[0][1] == uses[1][1]
    first, second = first_key.split(), second_key.split()
    return changes and min(len(first), len(second)) > 1 and first[-1] == second[-1]


@lru_cache(4096)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as facts are compared: in lower case, without punctuation but apostrophes."""
    plain = text.casefold().replace("\u2019", "'")
    return tuple("".join(char if char.isalnum() or char == "'" else " " for char in plain).split())


def is_negation(word: str) -> bool:
    """Return whether a word, as `words_of` returns it, negates a sentence."""
    return word in _NEGATIONS or word.endswith("n't")


# Messages and candidates.

# Tags for what a memory is about, and for what it ends: they find repeated and changed facts.
ABOUT: Final = "about:"
ENDS: Final = "ends:"
# The tag of memories about the assistant's behaviour, for the section on its traits.
TRAIT: Final = "trait"
_RANKS: Final[Mapping[str, int]] = {"user": 0, "assistant": 1, "import": 2, "tool": 3}
_PASSED: Final = frozenset({MessageCategory.RECALLED, MessageCategory.FORGOTTEN})


class Utterance(NamedTuple):
    """A message to find facts in.

    Attributes:
        role: of the speaker; results of tools have the role "tool", whatever message they come in.
        text: its words.
        seq: its place in the session's transcript.
        time: in seconds since 1970; `None` if unknown.
        speaker: the speaker's name; "" if only the role is known.
    """

    role: Role
    text: str
    seq: int
    time: float | None = None
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A fact that may be remembered.

    Attributes:
        text, category, trust, speaker, importance, reason: as in `Memory`.
        first_seq, last_seq: the messages that say it.
        time: when it was said, in seconds since 1970; `None` if unknown.
        slot: what it is about, as "user/home": a newer fact about the same replaces it. "" if that is open.
        ends: slots of facts that it ends, behind `=` the words that these must have.
        changes: whether its words say that something is new.
        trait: whether it is about the assistant's behaviour.
        replaces: the id of the memory that it replaces, if that is known, otherwise "".
        sentence: its source's words, without secrets; "" if the text has them as they are.
    """

    text: str
    category: FactCategory
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
    """Return stored messages as utterances, without recalled copies and forgotten ones.

    What a program wrote in the user's role is a tool's.

    Raises:
        ValueError: a payload is not of its codec's form.
    """
    return [
        Utterance(
            "tool" if row.result_ids or row.category is MessageCategory.AUTOMATED else row.role,
            codecs[row.codec].text(row.payload),
            row.seq,
            row.time,
        )
        for row in rows
        if row.category not in _PASSED
    ]


def memory_of(candidate: FactCandidate, scope: Scope, session_id: str, now: float, supersedes: str = "") -> Memory:
    """Return the memory that a candidate becomes; its time is `now`, in seconds since 1970, if it has none."""
    sources = (Source(session_id, candidate.first_seq, candidate.last_seq),)
    slot = ABOUT + candidate.slot if candidate.slot else ""
    tags = (TRAIT if candidate.trait else "", slot, *(ENDS + slot for slot in candidate.ends))
    return Memory(
        memory_id_of(scope, candidate.text, sources),
        candidate.text,
        candidate.category,
        scope,
        now if candidate.time is None else candidate.time,
        trust=candidate.trust,
        speaker=candidate.speaker,
        tags=tuple(filter(None, tags)),
        sources=sources,
        importance=candidate.importance,
        reason=candidate.reason,
        supersedes=supersedes,
    )


def slot_of(memory: Memory) -> str:
    """Return the slot of a memory; "" if it has none."""
    return next((tag.removeprefix(ABOUT) for tag in memory.tags if tag.startswith(ABOUT)), "")


def ended_slots(memory: Memory) -> tuple[str, ...]:
    """Return the slots of facts that a memory ends."""
    return tuple(tag.removeprefix(ENDS) for tag in memory.tags if tag.startswith(ENDS))


def rank(trust: str) -> int:
    """Return the rank of a source's trust: 0 is best."""
    return _RANKS.get(trust, len(_RANKS))
