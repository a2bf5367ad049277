"""The messages of a job: what is shown of them, what an answer is checked against, which files they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Category
from squidbot.core.notes.reading import read
from squidbot.core.view.atoms import opens_turn, total
from squidbot.core.view.marks import without_recalled
from squidbot.core.view.slim import slim, slim_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.counting.meter import Meter
    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.view.renderer import Renderer

__all__ = ["Source"]

# Copies that were brought back stand in their own place (B-44), and of what was forgotten nothing is left to tell.
PASSED = frozenset({Category.RECALLED, Category.FORGOTTEN})
# The largest tool output that is shown whole (decisions.md section 11, `slim_min_tokens`), and the least that is
# shown of one.
OUTPUT_TOKENS, LEAST_TOKENS = 1500, 32
# What was done with a file is told in a line of at most so many characters, else the path alone.
DONE_CHARS = 120
# What the assistant said is what a summary is mostly made from: it is cut later than outputs are, by this factor.
_SAID_FACTOR = 4


class _Said(NamedTuple):
    row: StoredMessage
    message: Message

    @property
    def is_user(self) -> bool:
        return opens_turn(self.row)


@dataclass(frozen=True, slots=True)
class Source:
    """The raw messages of one job, never a summary of them."""

    said: tuple[_Said, ...]
    meter: Meter

    @classmethod
    def of(cls, rows: Sequence[StoredMessage], renderer: Renderer) -> Source:
        """Return the source in stored messages; what was recalled or forgotten is passed over."""
        kept = [row for row in rows if row.category not in PASSED]
        said = (_Said(row, renderer.codecs[row.codec].decode(row.payload)) for row in kept)
        return cls(tuple(said), renderer.meter)

    @property
    def tokens(self) -> int:
        """What was said, the user's messages left out, as a bound: no summary takes the place of these (C2)."""
        return total(one.row.cost for one in self.said if not one.is_user).bound

    def shown(self, most_tokens: int) -> str:
        """Return what a summarizer reads: the messages in order, outputs cut until all cost at most `most_tokens`.

        The user's messages are shown whole as long as they take no more than half of that, and never left out. What
        can't be made smaller any more is shown although it costs more.
        """
        users = sum(one.row.cost.bound for one in self.said if one.is_user)
        count = max(1, sum(one.is_user for one in self.said))
        user_tokens = users if users <= most_tokens // 2 else max(LEAST_TOKENS, most_tokens // 2 // count)
        output_tokens = OUTPUT_TOKENS
        while True:
            text = "\n\n".join(self._told(one, user_tokens, output_tokens) for one in self.said)
            if output_tokens <= LEAST_TOKENS or self.meter.text(text).bound <= most_tokens:
                return text
            output_tokens = max(LEAST_TOKENS, output_tokens * 2 // 3)

    def whole(self) -> str:
        """Return all that was said there, uncut: what an answer may quote."""
        texts = (part for one in self.said for part in (_text(one), *_calls(one)))
        return "\n".join(texts)

    def dates(self) -> str:
        """Return the days in UTC on which it was said, "2026-02-01" or "2026-02-01 to 2026-02-03"; "" for unknown."""
        days = [day for one in self.said if (day := _day(one.row.time))]
        return " to ".join(dict.fromkeys((min(days), max(days)))) if days else ""

    def files(self) -> tuple[tuple[str, str], ...]:
        """Return the files that tools were called on or that were said to be made, by rule: (path, last done with it).

        Each once: those changed first, then as they came.
        """
        lines = read([replace(one.message, category=one.row.category) for one in self.said], users_verbatim=True).lines
        named = [(subject.removeprefix("file "), line) for subject, line in lines.items() if subject[:5] == "file "]
        heaviest = max((line.weight for _, line in named), default=0.0)
        changed_first = sorted(named, key=lambda one: one[1].weight < heaviest)
        return tuple((path, line.head if len(line.head) <= DONE_CHARS else path) for path, line in changed_first)

    def _told(self, one: _Said, user_tokens: int, output_tokens: int) -> str:
        handle = f"m{one.row.seq}"
        most = output_tokens if one.row.result_ids else output_tokens * _SAID_FACTOR
        text = slim(_text(one), user_tokens if one.is_user else most, self.meter, handle)
        calls = [
            f"[calls {call.name}] {slim_arguments(call.arguments, most, self.meter, handle)}"
            for call in one.message.calls
        ]
        who = "tool result" if one.row.result_ids else one.row.role
        return "\n".join(filter(None, [f"[{handle} {who}]", text, *calls]))


def _day(seconds: float | None) -> str:
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _text(one: _Said) -> str:
    return without_recalled(one.message.text)


def _calls(one: _Said) -> list[str]:
    return [f"{call.name} {call.arguments}" for call in one.message.calls]
