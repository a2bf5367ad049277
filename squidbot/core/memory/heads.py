"""What of memory stands in a request unasked: a tiny index, facts for a cold start, the sections on user and self.

Texts for the head of a request tell no distances in time: they stay as they are until a memory comes or goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import CATEGORIES
from squidbot.core.memory.facts import TRAIT
from squidbot.core.memory.telling import Teller, Told, framed, safe, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.counting.meter import Meter
    from squidbot.core.memories import Category, Memory, MemoryStore, View
    from squidbot.core.memory.asking import Memories

__all__ = ["Overview", "Start", "cold_start", "index", "overview", "profile", "traits"]

# B-33: facts at a cold start, and below how many messages said before.
COLD_MESSAGES = 3
COLD_FACTS = 3
COLD_TOKENS = 200
# Section 4 of the measurements of memory: about 200 tokens for the index.
INDEX_TOKENS = 200
SECTION_TOKENS = 300
# The index names a few of each category; each in a few words.
SUBJECTS, SUBJECT_CHARS = 5, 40
COLD_CHARS, SECTION_CHARS = 160, 200
# More of one category are told as "200+".
COUNTED = 200
COLD_QUERY_CHARS = 1_000
# Who may speak in a request unasked: never what a tool printed.
_UNASKED: Final = frozenset({"user", "assistant", "import"})
_OF_USER: Final = frozenset({"user", "import"})


class Overview(NamedTuple):
    """How many memories of each category a view has, and the newest of each.

    A count above `COUNTED` says that there are more than that.
    """

    counts: Mapping[Category, int]
    newest: tuple[Memory, ...]


def overview(store: MemoryStore, view: View) -> Overview:
    """Return what there is in a view, at most 201 of each category looked at.

    Raises:
        StoreError: the store failed.
    """
    found = {kind: store.listed(view, kind, limit=COUNTED + 1) for kind in CATEGORIES}
    newest = tuple(one for kind in CATEGORIES for one in found[kind][:SUBJECTS])
    return Overview({kind: len(memories) for kind, memories in found.items()}, newest)


def index(seen: Overview, meter: Meter, limit_tokens: int = INDEX_TOKENS) -> Told | None:
    """Return the index for a prompt: categories, counts and newest subjects; None where there is nothing, or no room.

    It says that there is something to look for, not what: memories themselves come by the tool. Subjects that tools
    printed are counted and not named.
    """
    named = [one for one in seen.newest if one.trust in _UNASKED]
    if not any(seen.counts.values()):
        return None
    for subjects in range(SUBJECTS, -1, -1):
        lines = "\n".join(_row(kind, seen.counts.get(kind, 0), named, subjects) for kind in CATEGORIES)
        text = framed("what there is; the tool memory finds it", lines)
        cost = meter.message(text)
        if within(cost, limit_tokens):
            return Told(text, cost)
    return None


def _row(kind: Category, count: int, named: Sequence[Memory], subjects: int) -> str:
    of_kind = [safe(one.text, SUBJECT_CHARS) for one in named if one.category == kind][:subjects]
    told = f"{COUNTED}+" if count > COUNTED else str(count)
    return f"{kind}: {told}" + (f", newest: {'; '.join(one.rstrip('.') for one in of_kind)}" if of_kind else "")


class Start(NamedTuple):
    """The beginning of a conversation: what was asked, how many messages were said before it, and when.

    The message in flight, which asks, is none of those before. `now` is in seconds since 1970.
    """

    prompt: str
    messages_before: int
    now: float


def cold_start(memories: Memories, start: Start, limit_tokens: int = COLD_TOKENS) -> Told | None:
    """Return two or three facts that answer the first words of a conversation, for the tail of that message.

    None from the third message on, and where nothing relevant is remembered or there is no room. What tools printed is
    never told unasked.

    Raises:
        StoreError: the store failed.
    """
    if start.messages_before >= COLD_MESSAGES:
        return None
    found = memories.relevant(start.prompt[:COLD_QUERY_CHARS], 4 * COLD_FACTS, start.now)
    facts = [one for one in found if one.trust in _UNASKED][:COLD_FACTS]
    teller = Teller(memories.meter, start.now, memories.session_id)

    def text(count: int) -> str:
        lines = "\n".join(teller.line(one, COLD_CHARS) for one in facts[:count])
        return framed("perhaps of use here, from before; the tool memory finds more", lines)

    return _most(facts, text, memories.meter, limit_tokens)


def profile(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> Told | None:
    """Return the section "## About the User" of what users said of themselves; None where there is nothing, or no room.

    Core facts come before preferences; where not all fit the newest of them stay. What the assistant noted and what
    tools printed is left out, as is what was replaced.
    """
    mine = [one for one in memories if _holds(one, _OF_USER) and TRAIT not in one.tags]
    ranked = [one for kind in ("core", "preferences") for one in _newest(mine) if one.category == kind]
    return _section("## About the User", ranked, meter, limit_tokens)


def traits(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> Told | None:
    """Return the section "## Your Developed Traits": how users want the assistant to be, newest kept; None as above."""
    ranked = _newest([one for one in memories if _holds(one, _OF_USER) and TRAIT in one.tags])
    return _section("## Your Developed Traits", ranked, meter, limit_tokens)


def _holds(memory: Memory, trusted: frozenset[str]) -> bool:
    return memory.trust in trusted and not memory.superseded_by


def _newest(memories: Sequence[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda one: (-one.time, one.memory_id))


def _section(heading: str, ranked: Sequence[Memory], meter: Meter, limit_tokens: int) -> Told | None:
    def text(count: int) -> str:
        # Oldest first: what is new comes behind, and the text before it stays as it was sent.
        kept = sorted(ranked[:count], key=lambda one: (CATEGORIES.index(one.category), one.time, one.memory_id))
        return "\n".join([heading, *(f"- {safe(one.text, SECTION_CHARS)}" for one in kept)])

    return _most(ranked, text, meter, limit_tokens)


def _most(memories: Sequence[Memory], text: Callable[[int], str], meter: Meter, limit_tokens: int) -> Told | None:
    """Return the text of as many memories as fit, the first before the later ones; None for not even one."""
    for count in range(min(len(memories), COUNTED), 0, -1):
        made = text(count)
        cost = meter.message(made)
        if within(cost, limit_tokens):
            return Told(made, cost, tuple(memories[:count]), len(memories) - count)
    return None
