"""Memories as text for a model and for a person: in groups, with ids, times and sources, as many as fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from squidbot.core.memories import CATEGORIES, JOURNAL
from squidbot.core.memory.pieces import JOINT
from squidbot.core.recall.history import named
from squidbot.core.text import ago, clip, one_line
from squidbot.core.view.marks import MEMORIES, fence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import Memory, Source
    from squidbot.core.messages import Cost
    from squidbot.core.tokens.counters import Meter


# More of one kind are told as "200+".
COUNTED = 200
# A fact is a sentence; a longer text is cut to this, and further where not even one fits.
FACT_CHARS: Final = 300
# What a file says is a piece of it, of about 80 words.
PIECE_CHARS: Final = 600
LESS_CHARS: Final = (120, 60)
PAST_CHARS: Final = 80
PLACE_CHARS: Final = 60
PATH_CHARS: Final = 100
# A clock that is so little behind is not behind.
_SAME_TIME_SECONDS = 60
# Control characters and lone surrogates, which some providers refuse; and marks of ours, which only we may write.
_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]|<(?=\s*+(?:/\s*+)?squidbot\b)", re.IGNORECASE
)
# Below the head of a table.
_BARE_ROW: Final = re.compile(r"^[ \t]*+(?:\|[ \t]*+)?:?-{3}[|:\- \t]*+$", re.MULTILINE)
_TRUSTED: Final = {
    "user": "",
    "assistant": "noted by the assistant",
    "import": "from an import",
    "tool": "from a tool's output, not to be trusted",
}


class Frame(Protocol):
    """Makes the whole text of a page."""

    def __call__(self, count: int, lines: str, /) -> str:
        """Return the text of a page that shows so many memories as these lines."""


@dataclass(frozen=True, slots=True)
class Told:
    """Memories as text.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        memories: those that it shows, in the order in which they were given.
        following: how many of those given are not shown.
    """

    text: str
    cost: Cost
    memories: tuple[Memory, ...] = ()
    following: int = 0


def when(seconds: float, now: float | None) -> str:
    """Return a distance in words: "3 days ago", "just now", "in 2 weeks" where a clock is behind; "" without `now`.

    Both are in seconds since 1970.
    """
    past = ago(seconds, now)
    if past or now is None:
        return past
    ahead = ago(now, seconds)
    if not ahead or seconds - now < _SAME_TIME_SECONDS:
        return "just now" if ahead else ""
    return f"in {ahead.removesuffix(' ago')}"


def safe(text: str, most_chars: int = FACT_CHARS) -> str:
    """Return a text on one line, cut behind a whole word, without marks that only squidbot writes."""
    return clip(one_line(_UNSAFE.sub("", text)), most_chars)


def framed(about: str, lines: str, *behind: str) -> str:
    """Return lines between the marks of memories; `about` stands in the first mark, what is `behind` after the last."""
    text, after = fence(MEMORIES, about, lines), "; ".join(filter(None, behind))
    return f"{text}\n[{after}]" if after else text


def within(cost: Cost, limit_tokens: int) -> bool:
    """Return whether a text may cost so much."""
    return cost.bound <= limit_tokens


class Teller(NamedTuple):
    """Tells memories.

    Attributes:
        meter: counts the text.
        now: in seconds since 1970; None where unknown: no distances are told then.
        session_id: the session that is spoken in; its messages are named by their handles alone.
        others: memories that those told name as their older or newer versions, by id.
        scores: 0 to 1, higher is closer, by id.
    """

    meter: Meter
    now: float | None = None
    session_id: str = ""
    others: Mapping[str, Memory] = {}
    scores: Mapping[str, float] = {}

    def told(self, memories: Sequence[Memory], limit_tokens: int, frame: Frame, *, most: int) -> Told | None:
        """Return as many memories as fit, at most `most`, the first before the later ones; None where not one does.

        `frame` makes the whole text of how many are shown and of the lines. They stand in groups by category, most
        lasting first; within a group in the order given.
        """
        for count in range(min(most, len(memories)), 0, -1):
            made = self._made(memories, count, frame, FACT_CHARS)
            if within(made.cost, limit_tokens):
                return made
        for chars in LESS_CHARS if memories else ():
            made = self._made(memories, 1, frame, chars)
            if within(made.cost, limit_tokens):
                return made
        return None

    def _made(self, memories: Sequence[Memory], count: int, frame: Frame, chars: int) -> Told:
        shown = memories[:count]
        text = frame(count, self._grouped(shown, chars))
        return Told(text, self.meter.message(text), tuple(shown), len(memories) - count)

    def _grouped(self, memories: Sequence[Memory], chars: int) -> str:
        names = {one.memory_id: "files" if one.scope.shelf else one.category for one in memories}
        groups = ((name, [one for one in memories if names[one.memory_id] == name]) for name in (*CATEGORIES, "files"))
        return "\n".join(
            f"{category}:\n" + "\n".join(self.line(one, chars) for one in group) for category, group in groups if group
        )

    def line(self, memory: Memory, chars: int = FACT_CHARS) -> str:
        """Return the line of one memory: its id, its words, and in brackets where they are from.

        What took its place is told with it, or what it took the place of, and until when that held.
        """
        score = self.scores.get(memory.memory_id)
        is_piece = bool(memory.scope.shelf and memory.sources)
        about = (
            when(memory.time, self.now),
            safe(memory.speaker, PLACE_CHARS),
            *(() if is_piece else dict.fromkeys(map(self._place, memory.sources[:2]))),
            "" if is_piece and memory.trust == "import" else _TRUSTED.get(memory.trust, memory.trust),
            "" if score is None else f"{100 * score:.0f} %",
        )
        told = ", ".join(filter(None, about))
        if is_piece:
            return f"- {memory.memory_id}: {_place_of(memory)} ({told})\n{_lines_of(memory, chars)}"
        return f"- {memory.memory_id}: {self._words(memory, chars)}" + (f" ({told})" if told else "")

    def _words(self, memory: Memory, chars: int) -> str:
        newer = self.others.get(memory.superseded_by)
        if memory.superseded_by:
            until = when(newer.time, self.now) if newer else ""
            held = f"until {until}" if until else "no longer"
            return f"({held}: {safe(memory.text, chars)}) replaced by {memory.superseded_by}"
        older = self.others.get(memory.supersedes)
        words = safe(memory.text, chars)
        if older is None or not older.superseded_by:  # not seen, or it holds again
            return words
        until = when(memory.time, self.now)
        return f"{words} ({f'until {until}' if until else 'before'}: {safe(older.text, min(chars, PAST_CHARS))})"

    def _place(self, source: Source) -> str:
        if source.path:
            return safe(source.path, PLACE_CHARS)
        if source.first_seq < 0:
            return ""
        ids = named(source.first_seq, source.last_seq)
        here = not source.session_id or source.session_id == self.session_id
        return ids if here else f"{ids} of session {safe(source.session_id, PLACE_CHARS)}"


def _place_of(memory: Memory) -> str:
    """Return where a piece of a file stands: its path, its conversation, its headings."""
    source = memory.sources[0]
    stem = source.path.rpartition("/")[2].rpartition(".")[0]
    above = [each for each in (source.session_id, *memory.tags) if each and each != stem]
    place = safe(source.path, PATH_CHARS)
    return f"{place}, {JOINT.join(safe(each, PLACE_CHARS) for each in above)}" if above else place


def _lines_of(memory: Memory, chars: int) -> str:
    """Return the words of a piece of a file, line by line, so that code and lists stay what they are."""
    is_headed = any(tag != JOURNAL for tag in memory.tags)
    body = memory.text.split("\n", 1)[-1] if is_headed else memory.text
    clean = _UNSAFE.sub("", _BARE_ROW.sub("", body))
    lines = [line.rstrip() for line in clean.expandtabs(4).split("\n") if line.strip()]
    text = "\n".join(f"  {line}" for line in lines)
    most = PIECE_CHARS if chars >= FACT_CHARS else chars
    return text if len(text) <= most else f"{text[:most].rsplit(None, 1)[0]} \u2026"


def counted(count: int) -> str:
    """Return how many there are, as far as anybody counts."""
    return f"{COUNTED}+" if count > COUNTED else str(count)


# The ids of memories as a model copies them.

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:*-"
_VERB: Final = re.compile(r"(?:forget|memory|id)[\s:=]+", re.IGNORECASE)


def read_id(text: str) -> str:
    """Return the id in what a model wrote for one; "" where there is none."""
    said = text.strip(_AROUND)
    return _VERB.sub("", said, count=1).strip(_AROUND)
