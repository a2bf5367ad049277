"""The calls of a session that was imported from another agent's recording, as far as the recording tells them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from squidbot.codecs.fields import read_usage
from squidbot.core.last_request import LastRequest
from squidbot.core.messages import Category
from squidbot.core.view.renderer import raw_part
from squidbot.core.view.steps import is_carried
from squidbot.report.requests import RecordedRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.messages import Part, StoredMessage, Usage
    from squidbot.core.session import CoreSession

# A report of more tokens is none: no price can be made of it.
_MOST_TOKENS: Final = 10**12


class FirstParts(Sequence["Part"]):
    """The parts that a list has now. The list may grow, so that the calls of one line share it."""

    def __init__(self, parts: list[Part]) -> None:
        """Take the list as it is."""
        self.of, self._count = parts, len(parts)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    @overload
    def __getitem__(self, place: int) -> Part: ...
    @overload
    def __getitem__(self, place: slice) -> list[Part]: ...
    def __getitem__(self, place: int | slice) -> Part | list[Part]:
        """Return a part, or some of them."""
        if isinstance(place, slice):
            return self.of[slice(*place.indices(self._count))]
        return self.of[range(self._count)[place]]

    def begins_as(self, other: Sequence[Part]) -> bool:
        """Return whether this and another sequence have the same first parts, up to the end of one of them."""
        return isinstance(other, FirstParts) and other.of is self.of


class AgentCompaction(NamedTuple):
    """A compaction of the agent's own: its summary stands for the messages before it.

    Attributes:
        line, seq, time: of the summary.
        first_seq: the first message that it stands for; `None` for none.
        before, after: tokens of these messages, and of the summary.
        call: the first call behind it, from 0; `None` if none followed.
    """

    line: int
    seq: int
    time: float | None
    first_seq: int | None
    before: int
    after: int
    call: int | None = None


class RecordedCalls:
    """Makes the calls of an imported session that grows: each answer is one.

    What the agent sent is not recorded. It can have sent the messages of the answer's line since the newest summary of
    its own, and system text and tools, which no recording has.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.requests: list[RecordedRequest] = []
        self.compactions: list[AgentCompaction] = []
        # The agent's summaries, by their messages.
        self.summaries: set[int] = set()
        self._rows = 0
        self._views: dict[int, list[Part]] = {}
        self._counts = Counter[int]()
        # The newest compaction of a line that no call stands behind yet, by its place.
        self._open: dict[int, int] = {}

    def read(self, session: CoreSession, rows: Sequence[StoredMessage]) -> list[RecordedRequest]:
        """Return all calls in the order of their answers, known ones as the same objects.

        `rows` are all messages that the session has. Its lines, and what was read before, must be the same.
        """
        for row in rows[self._rows :]:
            line = session.line.lines.line_of(row.seq)
            view = self._views.get(line)
            if view is None:
                view = self._views[line] = self._beginning(session, line, rows[: row.seq])
            if self._is_summary(session, row):
                view = self._views[line] = self._compacted(row, line, view)
            elif row.role == "assistant":
                self._call(row, line, view)
            view.append(raw_part(row))
        self._rows = len(rows)
        return [*self.requests]

    def _beginning(self, session: CoreSession, line: int, rows: Sequence[StoredMessage]) -> list[Part]:
        """Return what a line has from the line that it left."""
        found: list[Part] = []
        for seq in self._backwards(session, line, len(rows)):
            found.append(raw_part(rows[seq]))
            if seq in self.summaries:
                break
        return found[::-1]

    @staticmethod
    def _backwards(session: CoreSession, line: int, messages: int) -> Iterator[int]:
        for first, last in reversed(session.line.lines.runs(line, messages)):
            yield from range(last, first - 1, -1)

    def _is_summary(self, session: CoreSession, row: StoredMessage) -> bool:
        return row.category is Category.AUTOMATED and is_carried(session.context.renderer.text_of(row))

    def _compacted(self, row: StoredMessage, line: int, view: Sequence[Part]) -> list[Part]:
        """Note a compaction, and return what stays of a view: a list of its own, for calls share the other one."""
        self.summaries.add(row.seq)
        self._open[line] = len(self.compactions)
        before = sum(part.cost.estimate for part in view)
        first = view[0].first_seq if view else None
        self.compactions.append(AgentCompaction(line, row.seq, row.time, first, before, row.cost.estimate))
        return []

    def _call(self, row: StoredMessage, line: int, view: list[Part]) -> None:
        place = self._open.pop(line, None)
        if place is not None:
            self.compactions[place] = self.compactions[place]._replace(call=len(self.requests))
        usage, model = _reported(row)
        record = LastRequest(number=self._counts[line], messages=row.seq)
        parts = FirstParts(view)
        made = RecordedRequest(line, record.number, record, None, parts, is_same=False, usage=usage, model=model)
        self.requests.append(made)
        self._counts[line] += 1


def _reported(row: StoredMessage) -> tuple[Usage | None, str]:
    """Return what an answer says of its own call: its usage, `None` for nothing, and its model, "" if unknown."""
    try:
        value = json.loads(row.payload)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return None, ""
    usage, model = read_usage(value.get("usage")), value.get("model")
    if usage is not None:
        # Some recordings have zeros for what they do not know.
        usage = usage._replace(cached_tokens=min(usage.cached_tokens, usage.input_tokens))
        usage = usage if usage.input_tokens > 0 and max(usage) <= _MOST_TOKENS else None
    return usage, model if isinstance(model, str) else ""
