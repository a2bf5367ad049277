"""What of memory stands in a request unasked: a tiny index, facts for a cold start, the sections on user and self.

Texts for the head of a request tell no distances in time: they stay as they are until a memory comes or goes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import CARDS, CATEGORIES
from squidbot.core.memory.facts import TRAIT
from squidbot.core.memory.telling import COUNTED, Teller, Told, counted, framed, safe, within
from squidbot.core.plan import REMEMBERED, Section
from squidbot.core.view.renderer import fenced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.counting.meter import Meter
    from squidbot.core.memories import Category, Memory, View
    from squidbot.core.memory.asking import Memories
    from squidbot.core.messages import Cost
    from squidbot.core.ports import MemoryStore

__all__ = ["Caps", "Overview", "Start", "cold_start", "index", "overview", "profile", "sections", "told_in", "traits"]

# B-33: facts at a cold start.
COLD_FACTS = 3
COLD_TOKENS = 200
# Section 4 of the measurements of memory: about 200 tokens for the index.
INDEX_TOKENS = 200
SECTION_TOKENS = 300
# The index names a few of each category; each in a few words.
SUBJECTS, SUBJECT_CHARS = 5, 40
COLD_CHARS, SECTION_CHARS = 160, 200
COLD_QUERY_CHARS = 1_000
# Who may speak in a request unasked: never what a tool printed.
_UNASKED: Final = frozenset({"user", "assistant", "import"})
_OF_USER: Final = frozenset({"user", "import"})
INDEX, PROFILE, TRAITS = f"{REMEMBERED}index", f"{REMEMBERED}profile", f"{REMEMBERED}traits"


class Caps(NamedTuple):
    """What each may cost, in tokens as a bound, its fence included; 0 leaves it out."""

    index_tokens: int = INDEX_TOKENS
    profile_tokens: int = SECTION_TOKENS
    cold_start_tokens: int = COLD_TOKENS


class Overview(NamedTuple):
    """What there is in a view: of each category the newest memories, newest first, at most 201 of each; and files.

    Attributes:
        found: the memories by their category.
        files: how many files are indexed, at most 201.
    """

    found: Mapping[Category, Sequence[Memory]]
    files: int = 0

    @property
    def any(self) -> bool:
        """Whether there is anything."""
        return bool(self.files) or any(self.found.values())


def overview(store: MemoryStore, view: View) -> Overview:
    """Return what there is in a view, at most 201 of each category, and of files, looked at.

    Raises:
        StoreError: the store failed.
    """
    cards = view._replace(scope=view.scope._replace(shelf=CARDS))
    files = len(store.listed(cards, limit=COUNTED + 1))
    return Overview({kind: store.listed(view, kind, limit=COUNTED + 1) for kind in CATEGORIES}, files)


def sections(memories: Memories, caps: Caps, limit_tokens: int, *, searchable: bool) -> tuple[Section, ...]:
    """Return the sections for the head of a request, what changes least first; they cost at most so much together.

    The index is there only where the memories are `searchable`: where the model has the tool. It is the first to be
    given room, up to half of it: it says what can be asked for, the others are answers already.

    Raises:
        StoreError: the store failed.
    """
    meter = memories.meter
    seen = overview(memories.store, memories.view)
    given = [one for kind in CATEGORIES for one in seen.found[kind]]
    shown = index(seen, meter, min(caps.index_tokens, limit_tokens // 2)) if searchable else None
    left = limit_tokens - (shown.cost.bound if shown else 0)
    mine = profile(given, meter, min(caps.profile_tokens, left))
    left -= mine.cost.bound if mine else 0
    own = traits(given, meter, min(caps.profile_tokens, left))
    made = ((TRAITS, own), (PROFILE, mine), (INDEX, shown))
    return tuple(Section(name, one.text, tuple(each.memory_id for each in one.memories)) for name, one in made if one)


def index(seen: Overview, meter: Meter, limit_tokens: int = INDEX_TOKENS) -> Told | None:
    """Return the index for a prompt: categories, counts and newest subjects; None where there is nothing, or no room.

    It says that there is something to look for, not what: memories themselves come by the tool. Subjects that tools
    printed are counted and not named, and so are files: whoever wrote one may have named it.
    """
    if not seen.any:
        return None
    for subjects in range(SUBJECTS, -1, -1):
        named = {kind: _subjects(seen.found.get(kind, ()), subjects) for kind in CATEGORIES}
        rows = [_row(kind, len(seen.found.get(kind, ())), named[kind]) for kind in CATEGORIES]
        rows += [f"files: {counted(seen.files)}"] if seen.files else []
        text = "\n".join(("what there is; the tool memory finds it", *rows))
        cost = meter.message(fenced(INDEX, text))
        if within(cost, limit_tokens):
            return Told(text, cost, tuple(one for kind in CATEGORIES for one in named[kind]))
    return None


def _subjects(memories: Sequence[Memory], most: int) -> list[Memory]:
    return [one for one in memories[:SUBJECTS] if one.trust in _UNASKED][:most]


def _row(kind: Category, count: int, named: Sequence[Memory]) -> str:
    subjects = "; ".join(safe(one.text, SUBJECT_CHARS).rstrip(".") for one in named)
    return f"{kind}: {counted(count)}" + (f", newest: {subjects}" if subjects else "")


class Start(NamedTuple):
    """The beginning of a conversation: what was asked, when, in seconds since 1970, and the ids of what is said."""

    prompt: str
    now: float
    known: frozenset[str] = frozenset()


def told_in(head: Sequence[Section]) -> frozenset[str]:
    """Return the ids of memories that a head tells; those that the index only names are not."""
    return frozenset(each for one in head if one.name != INDEX for each in one.memories)


def cold_start(memories: Memories, start: Start, limit_tokens: int = COLD_TOKENS, *, searchable: bool) -> Told | None:
    """Return two or three facts that answer the first words of a conversation, for the tail of that message.

    None where nothing relevant is remembered or there is no room. What tools printed is never told unasked.
    `searchable` says whether the model has the tool that finds more.

    Raises:
        StoreError: the store failed.
    """
    found = memories.relevant(start.prompt[:COLD_QUERY_CHARS], 4 * COLD_FACTS, start.now)
    facts = [one for one in found if one.trust in _UNASKED and one.memory_id not in start.known][:COLD_FACTS]
    teller = Teller(memories.meter, start.now, memories.session_id)
    about = "perhaps of use here, from before" + ("; the tool memory finds more" if searchable else "")

    def text(count: int) -> str:
        return framed(about, "\n".join(teller.line(one, COLD_CHARS) for one in facts[:count]))

    return _most(facts, text, memories.meter.message, limit_tokens)


def profile(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> Told | None:
    """Return the section "## About the User" of what users said of themselves; None where there is nothing, or no room.

    Core facts come before preferences; where not all fit the newest of them stay. What the assistant noted and what
    tools printed is left out, as is what was replaced.
    """
    mine = [one for one in memories if _holds(one, _OF_USER) and TRAIT not in one.tags]
    ranked = [one for kind in ("core", "preferences") for one in _newest(mine) if one.category == kind]
    return _section(PROFILE, "## About the User", ranked, meter, limit_tokens)


def traits(memories: Sequence[Memory], meter: Meter, limit_tokens: int = SECTION_TOKENS) -> Told | None:
    """Return the section "## Your Developed Traits": how users want the assistant to be, newest kept; None as above."""
    ranked = _newest([one for one in memories if _holds(one, _OF_USER) and TRAIT in one.tags])
    return _section(TRAITS, "## Your Developed Traits", ranked, meter, limit_tokens)


def _holds(memory: Memory, trusted: frozenset[str]) -> bool:
    return memory.trust in trusted and not memory.superseded_by


def _newest(memories: Sequence[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda one: (-one.time, one.memory_id))


def _section(name: str, heading: str, ranked: Sequence[Memory], meter: Meter, limit_tokens: int) -> Told | None:
    def text(count: int) -> str:
        # Oldest first: what is new comes behind, and the text before it stays as it was sent.
        kept = sorted(ranked[:count], key=lambda one: (CATEGORIES.index(one.category), one.time, one.memory_id))
        return "\n".join([heading, *(f"- {safe(one.text, SECTION_CHARS)}" for one in kept)])

    return _most(ranked, text, lambda made: meter.message(fenced(name, made)), limit_tokens)


def _most(
    memories: Sequence[Memory], text: Callable[[int], str], cost_of: Callable[[str], Cost], limit_tokens: int
) -> Told | None:
    """Return the text of as many memories as fit, the first before the later ones; None for not even one."""
    counts = range(1, min(len(memories), COUNTED) + 1)
    # A longer text never costs less by any counter that is in use; were one otherwise, fewer would be told.
    most = bisect_right(counts, limit_tokens, key=lambda count: cost_of(text(count)).bound)
    if not most:
        return None
    made = text(most)
    return Told(made, cost_of(made), tuple(memories[:most]), len(memories) - most)
