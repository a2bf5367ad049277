"""Memories as text: in groups, with ids, times and sources, as many as fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import CATEGORIES, JOURNAL
from squidbot.core.memory.chunks import JOINT
from squidbot.core.recall.history import run_id
from squidbot.core.text import ago, clip, one_line
from squidbot.core.view.marks import MEMORIES, fence

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from squidbot.core.memories import Memory, Source
    from squidbot.core.messages import Cost
    from squidbot.core.tokens.counters import Meter


# More of one kind are counted as "200+".
COUNTED = 200
# A fact is a sentence; a longer text is cut to this, and further where not even one fits.
FACT_CHARS: Final = 300
PIECE_CHARS: Final = 600
LESS_CHARS: Final = (120, 60)
PAST_CHARS: Final = 80
PLACE_CHARS: Final = 60
PATH_CHARS: Final = 100
# A clock may be behind by so much.
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
    "tool": "from a tool's output, untrusted",
}


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories as text.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        memories: those that it shows, in the order given.
        following: how many of those given are not shown.
    """

    text: str
    cost: Cost
    memories: tuple[Memory, ...] = ()
    following: int = 0


def when(seconds: float, now: float | None) -> str:
    """Return a distance in time: "3 days ago", "just now", "in 2 weeks" if a clock is behind; "" without `now`.

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
    """Return lines between the marks of memories; `about` stands in the first mark, `behind` after the last."""
    text, after = fence(MEMORIES, about, lines), "; ".join(filter(None, behind))
    return f"{text}\n[{after}]" if after else text


class MemoryFormatter(NamedTuple):
    """Formats memories.

    Attributes:
        meter: counts the text.
        now: in seconds since 1970; `None`: distances in time are left out.
        session_id: the current session; its messages are named by their handles alone.
        others: older and newer versions of the memories, by id.
        scores: 0 to 1, higher is closer, by id.
        off: the ids of those that nobody said on a line that is talked on.
    """

    meter: Meter
    now: float | None = None
    session_id: str = ""
    others: Mapping[str, Memory] = {}
    scores: Mapping[str, float] = {}
    off: Container[str] = ()

    def page(
        self, memories: Sequence[Memory], limit_tokens: int, frame: Callable[[int, str], str], *, most: int
    ) -> MemoryPage | None:
        """Return as many memories as fit, the first before later ones, at most `most`; `None` if not one fits.

        `frame` makes the text of a page from the number of memories and their lines. They stand in groups by category,
        most lasting first; within a group in the order given.
        """
        sizes = [(count, FACT_CHARS) for count in range(min(most, len(memories)), 0, -1)]
        for count, chars in (*sizes, *((1, chars) for chars in LESS_CHARS if memories)):
            shown = memories[:count]
            text = frame(count, self._grouped(shown, chars))
            cost = self.meter.message(text)
            if cost.bound <= limit_tokens:
                return MemoryPage(text, cost, tuple(shown), len(memories) - count)
        return None

    def _grouped(self, memories: Sequence[Memory], chars: int) -> str:
        groups: dict[str, list[str]] = {name: [] for name in (*CATEGORIES, "files")}
        for memory in memories:
            groups["files" if memory.scope.collection else memory.category].append(self.line(memory, chars))
        return "\n".join("\n".join((f"{name}:", *lines)) for name, lines in groups.items() if lines)

    def line(self, memory: Memory, chars: int = FACT_CHARS) -> str:
        """Return the line of one memory: its id, its words, and in brackets its source.

        It names the memory's newer version, or the older one and until when that held.
        """
        score = self.scores.get(memory.memory_id)
        is_piece = bool(memory.scope.collection and memory.sources)
        about = (
            when(memory.time, self.now),
            safe(memory.speaker, PLACE_CHARS),
            *(() if is_piece else dict.fromkeys(map(self._place, memory.sources[:2]))),
            "" if is_piece and memory.trust == "import" else _TRUSTED.get(memory.trust, memory.trust),
            "" if score is None else f"{100 * score:.0f} %",
            "on another line" if memory.memory_id in self.off else "",
        )
        origin = ", ".join(filter(None, about))
        if is_piece:
            return f"- {memory.memory_id}: {_place_of(memory)} ({origin})\n{_lines_of(memory, chars)}"
        return f"- {memory.memory_id}: {self._words(memory, chars)}" + (f" ({origin})" if origin else "")

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
        ids = run_id(source.first_seq, source.last_seq)
        here = not source.session_id or source.session_id == self.session_id
        return ids if here else f"{ids} of session {safe(source.session_id, PLACE_CHARS)}"


def _place_of(memory: Memory) -> str:
    """Return the place of a chunk: its path, its conversation, its headings."""
    source = memory.sources[0]
    stem = source.path.rpartition("/")[2].rpartition(".")[0]
    above = [name for name in (source.session_id, *memory.tags) if name and name != stem]
    place = safe(source.path, PATH_CHARS)
    return f"{place}, {JOINT.join(safe(name, PLACE_CHARS) for name in above)}" if above else place


def _lines_of(memory: Memory, chars: int) -> str:
    """Return the words of a chunk, line by line, so that code and lists stay readable."""
    is_headed = any(tag != JOURNAL for tag in memory.tags)
    body = memory.text.split("\n", 1)[-1] if is_headed else memory.text
    clean = _UNSAFE.sub("", _BARE_ROW.sub("", body))
    lines = [line.rstrip() for line in clean.expandtabs(4).split("\n") if line.strip()]
    text = "\n".join(f"  {line}" for line in lines)
    most = PIECE_CHARS if chars >= FACT_CHARS else chars
    return text if len(text) <= most else f"{text[:most].rsplit(None, 1)[0]} \u2026"


def counted(count: int) -> str:
    """Return a count, from 201 on "200+"."""
    return f"{COUNTED}+" if count > COUNTED else str(count)


# The ids of memories as a model copies them.

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:*-"
_VERB: Final = re.compile(r"(?:forget|memory|id)[\s:=]+", re.IGNORECASE)


def read_id(text: str) -> str:
    """Return the id in a model's text for one; "" if there is none."""
    return _VERB.sub("", text.strip(_AROUND), count=1).strip(_AROUND)
