"""Marked lines: goals and decisions in messages, found where they are said and kept word for word."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.cached import cached_property
from squidbot.core.messages import Category
from squidbot.core.transcript.records import RecordKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Message, StoredMessage


GOAL, DECISION, ARTIFACT, NEXT, CHECKPOINT = "GOAL", "DECISION", "ARTIFACT", "NEXT", "CHECKPOINT"
# Markers of lines that stay for ever, and of lines of which only the newest matter.
LASTING: Final = frozenset({GOAL, DECISION})
PASSING: Final = (CHECKPOINT, NEXT)
# How many lines with each of the latter stand in one note.
NEWEST_LINES = 3
# A longer line is cut here, with a mark that names its message: a decision is no longer than a page.
LINE_CHARS = 2_000

_MARKER = re.compile(r"\[(?:GOAL|DECISION|ARTIFACT|NEXT|CHECKPOINT)\]")
# A list's, a heading's, a quote's characters may stand in front of a marker, and marks of bold type around it.
_LINE = re.compile(
    r"^[ \t>#*+\-\u2022_0-9.)]{0,24}\[(GOAL|DECISION|ARTIFACT|NEXT|CHECKPOINT)\][*_]{0,3}:?[*_]{0,3}(.*)", re.MULTILINE
)
# A fence opens with nothing but a name behind it, and closes with nothing (CommonMark 0.31, section 4.5).
_FENCE = re.compile(r"^[ \t>]{0,12}(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_COMPLETED = re.compile(r"\bcompleted\b[\s.!)*_]*\Z", re.IGNORECASE)
_BEFORE_COMPLETED = " \t\r\n\f\v:(-\u2013\u2014"
_LOCKED = re.compile(r"\bLOCKED\b[\s.!)\]*_]{0,8}\Z")
_DETAIL = re.compile(r"\s?[:;,(\u2013\u2014-]")
# Control characters and lone surrogates, which some providers refuse.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_PASSED = frozenset({Category.RECALLED, Category.FORGOTTEN})


class MarkedLine(NamedTuple):
    """One marked line.

    Attributes:
        marker: "GOAL", "DECISION", "ARTIFACT", "NEXT" or "CHECKPOINT".
        line: the whole line, without white space around it.
        said: the text behind the marker.
    """

    marker: str
    line: str
    said: str

    @property
    def completes(self) -> str | None:
        """The name of what a checkpoint completes; None for any other line."""
        found = _COMPLETED.search(self.said) if self.marker == CHECKPOINT else None
        return _named(self.said[: found.start()].rstrip(_BEFORE_COMPLETED)) if found else None


def marked_lines(text: str) -> list[MarkedLine]:
    """Return the lines of a text that open with a marker, in order, without those in code fences."""
    return [line for _, _, line in _found(text)]


def parted(text: str) -> tuple[str, list[MarkedLine]]:
    """Return a text without its marked lines, and the lines."""
    found = list(_found(text))
    if not found:
        return text, []
    ends = (0, *(end for _, end, _ in found))
    starts = (*(start for start, _, _ in found), len(text))
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True)), [line for _, _, line in found]


def _found(text: str) -> Iterator[tuple[int, int, MarkedLine]]:
    """Yield (start, end, line) of marked lines."""
    candidates = list(_LINE.finditer(text)) if _MARKER.search(text) else []
    fenced = _fenced(text) if candidates else []
    for found in candidates:
        said = found[2].strip()
        place = bisect_right(fenced, (found.start(), len(text)))
        if any(map(str.isalnum, said)) and not (place and found.start() < fenced[place - 1][1]):
            yield found.start(), found.end(), MarkedLine(found[1], found[0].strip(), said)


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of what code fences enclose; one that is never closed reaches to the end."""
    spans: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for found in _FENCE.finditer(text):
        fence, behind = found[1], found[2]
        if opened is None:
            if fence[0] == "~" or "`" not in behind:
                opened = found.start(), fence
        elif fence.startswith(opened[1]) and not behind.strip():
            spans.append((opened[0], found.end()))
            opened = None
    return spans if opened is None else [*spans, (opened[0], len(text))]


def _named(text: str) -> str:
    """Return a goal's name as it is compared: without case, punctuation at the ends and runs of white space."""
    return " ".join(text.casefold().split()).strip(" .,:;!*_\"'`-")


def may_mark(row: StoredMessage) -> bool:
    """Return whether a stored message may have marked lines: the user's or the assistant's own words, not a copy."""
    speaks = row.role in {"user", "assistant"} and not row.result_ids and row.category not in _PASSED
    return speaks and _MARKER.search(row.payload) is not None


def counted_lines(role: str, text: str) -> list[MarkedLine]:
    """Return the marked lines of a message that count: of a user, only the own ones (`MarkedMessage.is_own`)."""
    if role != "user" or not _MARKER.search(text):
        return marked_lines(text)
    from squidbot.core.own_words import own_marks  # noqa: PLC0415  # a third of the core's start; few mark a line

    return marked_lines("\n".join(own_marks(text)))


class MarkedMessage(NamedTuple):
    """The lines that one message marks. Artifacts among them stand in notes and have no line of their own.

    `is_own` says whether they are a user's: an assistant may have read a line anywhere, so its lines set no goal and
    no decision; they may close, complete and detail those that a user, or a call, has set.
    """

    seq: int
    lines: tuple[str, ...]
    is_own: bool = True

    @classmethod
    def of(cls, seq: int, message: Message) -> MarkedMessage | None:
        """Return the lines that a message marks; None if there are none.

        Characters that providers refuse are left out. A line longer than `LINE_CHARS` is cut there, and names its
        message.
        """
        lines = [marked.line for marked in counted_lines(message.role, message.text)]
        return cls(seq, tuple(_shortened(line, seq) for line in lines), message.role == "user") if lines else None


def _shortened(line: str, seq: int) -> str:
    safe = _UNSAFE.sub("", line)
    return safe if len(safe) <= LINE_CHARS else f"{safe[:LINE_CHARS]} \u2026 [recall m{seq} shows the rest]"


class _MarkedPlace(NamedTuple):
    """A line with its number among all marked lines; `done_seq` is the message that completes the goal, or None."""

    number: int
    seq: int
    marker: str
    line: str
    done_seq: int | None


@dataclass(frozen=True, eq=False)
class Markers:
    """All marked lines of a session, by message in order of seq; `count` is how many records hold them.

    Equal to itself only, so that results that are cached for it are found again at no cost.
    """

    said: tuple[MarkedMessage, ...] = ()
    count: int = 0

    @classmethod
    def of(cls, messages: Sequence[MarkedMessage]) -> Markers:
        """Return the markers of all messages that mark lines, in order."""
        return cls(tuple(messages), len(messages))

    def taking(self, messages: Sequence[MarkedMessage]) -> Markers:
        """Return the markers with those of newer messages."""
        return Markers((*self.said, *messages), self.count + len(messages)) if messages else self

    def between(self, first_seq: int, last_seq: int, shown: Collection[int] = ()) -> list[str]:
        """Return the lines that have to stand for messages first_seq..last_seq, of which those in `shown` are sent.

        Goals and decisions in order, each where it was first said; goals that are completed up to there are left out.
        Behind them the newest checkpoints and next steps among these messages.
        """
        placed, seqs = self._placed
        run = placed[bisect_left(seqs, first_seq) : bisect_right(seqs, last_seq)]
        hidden = [place for place in run if place.seq not in shown]
        lasting = [
            place.line
            for place in hidden
            if place.marker in LASTING and (place.done_seq is None or place.done_seq > last_seq)
        ]
        return [*lasting, *(line for marker in PASSING for line in _newest(hidden, marker))]

    @cached_property
    def _placed(self) -> tuple[list[_MarkedPlace], list[int]]:
        """Goals and decisions where they were first said, and all other lines, in order; and the seq of each.

        A completed goal may be set again. Later messages change nothing about a line but when it was completed, so a
        note goes on saying the same.
        """
        lasting: dict[str, _MarkedPlace] = {}
        others: list[_MarkedPlace] = []
        lines = ((message.seq, line) for message in self.said for line in filter(None, map(_parsed, message.lines)))
        for number, (seq, line) in enumerate(lines):
            place = _MarkedPlace(number, seq, line.marker, line.line, None)
            if line.marker in LASTING:
                lasting.setdefault(line.line, place)
                continue
            others.append(place)
            if line.completes is not None:
                others += _completed(lasting, line.completes, seq)
        places = sorted((*others, *lasting.values()))
        return places, [place.seq for place in places]


def _read(text: str) -> MarkedMessage:
    seq, lines, *by = json.loads(text)
    return MarkedMessage(int(seq), tuple(map(str, lines)), not by)


def _without(message: MarkedMessage, seqs: AbstractSet[int]) -> MarkedMessage | None:
    return MarkedMessage(message.seq, ()) if message.seq in seqs else None


# One record for each message that marks lines.
MARKED = RecordKind(
    "marked",
    _read,
    Markers.of,
    lambda message: [message.seq, message.lines, *([] if message.is_own else ["assistant"])],
    title="marked lines",
    without=_without,
    until=lambda message: message.seq + 1,
)


def details(text: str, known: Iterable[str]) -> bool:
    """Return whether a text repeats a known one, or begins with it and goes on behind a sign: then it details it."""
    name = _decided(text)
    return any(
        name == begin or (name.startswith(begin) and _DETAIL.match(name, len(begin)))
        for begin in filter(None, map(_decided, known))
    )


def _decided(text: str) -> str:
    return _named(_LOCKED.sub("", text)).rstrip(" :([-\u2013\u2014")


@lru_cache(maxsize=8192)
def _parsed(line: str) -> MarkedLine | None:
    # Every line of a session is looked at again when one is added.
    return next(iter(marked_lines(line)), None)


def _newest(placed: Sequence[_MarkedPlace], marker: str) -> list[str]:
    """Return the newest lines with a marker, each once, in order."""
    newest = dict.fromkeys(place.line for place in reversed(placed) if place.marker == marker)
    return list(islice(newest, NEWEST_LINES))[::-1]


def _completed(lasting: dict[str, _MarkedPlace], name: str, seq: int) -> Iterator[_MarkedPlace]:
    """Remove the goals of a name from the lasting lines, and yield them as completed."""
    for line in [place.line for place in lasting.values() if place.marker == GOAL]:
        goal = _parsed(line)
        if goal is not None and _named(goal.said) == name:
            yield lasting.pop(line)._replace(done_seq=seq)
