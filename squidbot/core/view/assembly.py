"""One request as a frozen value, and the report that accounts for every message of the transcript."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from squidbot.core.budget import ContextUsage, reliability
from squidbot.core.cached import cached_property
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Representation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.core.budget import Reserve
    from squidbot.core.messages import ContextWindow, Part, StoredMessage
    from squidbot.core.plan import PlanRecord, Segment
    from squidbot.core.ports import Codec
    from squidbot.core.view.current import CurrentView


class Span(NamedTuple):
    """A run of messages that are sent the same way.

    Attributes:
        first_seq, last_seq: the run, both ends included.
        how: "verbatim", "slimmed", "recalled" (a copy of messages that count on their own), "summary" or "absent".
        summary_id: the summary that is sent for it; None for none.
        reason: why it is not sent word for word; None if it is.
    """

    first_seq: int
    last_seq: int
    how: str
    summary_id: str | None = None
    reason: str | None = None


class Report(NamedTuple):
    """The cost of a request and the fate of every message: `spans` is a partition of the transcript.

    Attributes:
        cost: of the whole request; the bound is what was enforced.
        limit: the most that the request could have cost.
        certificate: how far `usage` can be trusted.
        pressure_fraction: history's share of its room.
        spans: each message of the transcript once, in order of seq.
        reliability: the share of the conversation that the model can be relied on to follow.
        remembered: what durable memory adds to the head unprompted: the name of each section, and its cost.
        max_output_tokens: the room for the answer: the most to ask the model for.
        complexity: of the question that opened the turn, 0 to 1, if the answer's room depends on it; else `None`.
        certified: the most that it costs and the window's room for input, by earlier bills ("anchored",
            "calibrated"); `None` without any. `cost` and `limit` are as counted, and may then exceed the window.
        budget_used: what its messages cost, in tokens as a bound: `cost` without tools and the template around all.
        budget_available: what history may cost, in tokens as a bound: `limit` less all else in the request; 0 or more.
        response_percentage: the room for the answer as a fraction of the window, 0 to 1.
        elsewhere: how many stored messages the conversation does not have as it goes on now: edited, removed, or on
            another line.
    """

    cost: Cost
    limit: Cost
    certificate: str
    pressure_fraction: float
    spans: tuple[Span, ...]
    reliability: float = 1.0
    remembered: tuple[tuple[str, Cost], ...] = ()
    max_output_tokens: int = 0
    complexity: float | None = None
    certified: ContextUsage | None = None
    budget_used: int = 0
    budget_available: int = 0
    response_percentage: float = 0.0
    elsewhere: int = 0

    @property
    def usage(self) -> ContextUsage:
        """How much of the limit is used, by the smallest bounds that are known to hold."""
        return self.certified or ContextUsage(self.cost.bound, self.limit.bound)


# Parts and their payloads by the identity of the part, which the entry keeps, and the form.
WrittenParts: TypeAlias = "dict[tuple[int, str], tuple[Part, str]]"


@dataclass(frozen=True)
class CoreAssembly:
    """What to send for one model call.

    Attributes:
        session_id, window: the session of the request, and its window.
        parts: the request in order.
        incoming: the messages of this call, as `record` takes them.
        cost, limit: tokens of the whole request, tools included, and the most that it could have cost.
        certificate: how far the bound can be trusted.
        view: what the request was built from.
        event: the plan, if this call changed it; else `None`.
        codecs: the codecs of the payloads, by tag.
        reserve: the room for the answers of the turn; `None`: as the window has it.
        certified_tokens: the most that it costs, by reported usage; 0 if the bound of `cost` says it.
        written: the payloads of the session's newest request: a part stays the same object while it is sent alike.
        gaps: the runs of stored messages that are not on the session's line.
    """

    session_id: str
    window: ContextWindow
    parts: tuple[Part, ...]
    incoming: tuple[StoredMessage, ...]
    cost: Cost
    limit: Cost
    certificate: str
    view: CurrentView
    event: PlanRecord | None
    codecs: Mapping[str, Codec]
    reserve: Reserve | None = None
    certified_tokens: int = 0
    written: WrittenParts = field(default_factory=dict, repr=False, compare=False)
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def plan(self) -> PlanRecord | None:
        """The plan in force; `None` while everything is sent raw."""
        return self.view.plan

    @property
    def max_output_tokens(self) -> int:
        """The room for the answer in tokens: the most to ask the model for."""
        return self.reserve.tokens if self.reserve else self.window.reserved_output_tokens

    @cached_property
    def payloads(self) -> tuple[str, ...]:
        """The request in the form of its newest message: one JSON text for each part; others are converted (M8)."""
        form, written = self.form, self.written
        made = [written.get((id(part), form)) or (part, _sent(part, self.codecs, form)) for part in self.parts]
        written.clear()
        written.update({(id(one[0]), form): one for one in made})
        return tuple([payload for _, payload in made])

    @property
    def stable(self) -> tuple[int, ...]:
        """How many leading parts stay unchanged longest: up to the end of the head, and up to the tail.

        Future requests mostly share the second with this one, even if the plan shortens the tail. They share only the
        first if it also rebuilds what was shortened before.
        """
        _, closed = self.view.needs_notices
        behind = len(self.view.tail.parts) + closed
        shown = sum(len(block.parts) for block in self.view.blocks)
        ends = (len(self.parts) - behind - shown, len(self.parts) - behind)
        return tuple(sorted({end for end in ends if end > 0}))

    @property
    def form(self) -> str:
        """The tag of the codec for the whole request: that of its newest message."""
        return next((part.codec for part in reversed(self.parts) if part.codec), None) or next(iter(self.codecs))

    @property
    def used_tokens(self) -> int:
        """The most that the request costs: as in `Report.usage`, without building the report."""
        return self.certified_tokens or self.cost.bound

    @cached_property
    def report(self) -> Report:
        """Its cost, and the fate of every message."""
        room = Cost(self.limit.estimate - self.view.fixed.estimate, self.limit.bound - self.view.fixed.bound)
        history = self.view.history
        pressure = max(history.bound / max(1, room.bound), history.estimate / max(1, room.estimate))
        segments = [block.segment for block in self.view.blocks]
        shown = {
            part.first_seq: part.kind
            for block in self.view.blocks
            for part in block.parts
            if part.payload is not None or part.kind is Kind.SLIMMED
        }
        spans = without_gaps(account(segments, self.view.lead_count, shown, self.view.tail.parts), self.gaps)
        left = reliability(self.view.generations, self.window.parameters_billion)
        said = remembered(self.view)
        score = self.reserve.score if self.reserve else None
        most = self.max_output_tokens
        room_tokens = self.window.window_tokens - most
        used = ContextUsage(self.certified_tokens, room_tokens) if self.certified_tokens else None
        sent = sum(part.cost.bound for part in self.parts)
        available = max(0, self.limit.bound - self.cost.bound + history.bound)
        fraction = most / self.window.window_tokens
        budget = (sent, available, fraction, sum(last - first + 1 for first, last in self.gaps))
        return Report(self.cost, self.limit, self.certificate, pressure, spans, left, said, most, score, used, *budget)


def _sent(part: Part, codecs: Mapping[str, Codec], form: str) -> str:
    if part.payload is None or part.codec is None or part.codec == form:
        return codecs[form].encode(part)
    said = codecs[part.codec].portable(part.payload)
    if part.text is not None:
        said = said.cut(part.text)
    if part.arguments is not None:
        said = said.with_arguments(part.arguments)
    if part.label:
        said = said.labelled(part.label)
    return codecs[form].adopt(said if part.notice is None else said.noticed(part.notice))


def remembered(view: CurrentView) -> tuple[tuple[str, Cost], ...]:
    """Return what durable memory adds to the current head: the name of each section, and its cost."""
    sections = view.plan.sections if view.plan else ()
    shown = zip(sections, view.head, strict=False)
    return tuple((section.name, part.cost) for section, part in shown if section.is_remembered)


def account(
    segments: Sequence[Segment],
    lead_count: int,
    shown: Mapping[int, Kind],
    tail: Sequence[Part],
) -> tuple[Span, ...]:
    """Return the partition of the transcript that a request represents.

    `lead_count` messages precede the first segment, `shown` gives the kind of part for each message sent inside a
    segment, and `tail` are the parts behind the segments.
    """
    spans: list[Span] = []
    if lead_count:
        spans.append(Span(0, lead_count - 1, "verbatim"))
    for segment in segments:
        spans.extend(_of_segment(segment, shown))
    said = (part for part in tail if part.payload is not None or part.kind is Kind.SLIMMED)
    spans.extend(_of_part(part.first_seq, part.kind) for part in said)
    return tuple(_joined(spans))


def without_gaps(spans: Sequence[Span], gaps: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    """Return spans without the messages of these runs."""
    for first, last in gaps:
        spans = [
            span._replace(first_seq=start, last_seq=end)
            for span in spans
            for start, end in (
                (span.first_seq, min(span.last_seq, first - 1)),
                (max(span.first_seq, last + 1), span.last_seq),
            )
            if start <= end
        ]
    return tuple(spans)


def _of_segment(segment: Segment, shown: Mapping[int, Kind]) -> Iterator[Span]:
    hidden = _hidden(segment)
    whole = segment.representation in {Representation.RAW, Representation.SLIMMED}
    seqs = range(segment.first_seq, segment.last_seq + 1) if whole else segment.verbatim
    following = segment.first_seq
    for seq in seqs:
        if seq > following:
            yield Span(following, seq - 1, *hidden)
        yield _of_part(seq, shown.get(seq, Kind.MESSAGE))
        following = seq + 1
    if following <= segment.last_seq:
        yield Span(following, segment.last_seq, *hidden)


def _hidden(segment: Segment) -> tuple[str, str | None, str]:
    if segment.summary_id is None:
        return "absent", None, "too old for the notes of this window"
    return "summary", segment.summary_id, "summarized to keep the request within its window"


def _of_part(seq: int, kind: Kind) -> Span:
    if kind is Kind.SLIMMED:
        return Span(seq, seq, "slimmed", None, "cut to head and tail: it was oversized, or its pair is missing")
    if kind is Kind.FORGOTTEN:
        return Span(seq, seq, "forgotten", None, "removed on request; a mark stands in its place")
    if kind is Kind.RECALLED:
        return Span(seq, seq, "recalled", None, "brought back: a copy of earlier messages, or an answer about them")
    return Span(seq, seq, "verbatim")


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    held: Span | None = None
    for span in spans:
        if held and (held.how, held.summary_id) == (span.how, span.summary_id) and held.last_seq + 1 == span.first_seq:
            held = Span(held.first_seq, span.last_seq, held.how, held.summary_id, held.reason)
            continue
        if held:
            yield held
        held = span
    if held:
        yield held


# What each category costs in a request, and which became shorter.

_HEAD = frozenset({Kind.MEMORY, Kind.PIN})


class Shorter(NamedTuple):
    """A category of which less is sent: its first and last message, and its cost before and now, as bounds."""

    category: str
    first_seq: int
    last_seq: int
    tokens_before: int
    tokens_after: int


def category_of(part: Part, lead: int = 0) -> str:
    """Return the category of a part; `lead` messages open the transcript as system text."""
    if part.kind in _HEAD:
        return "context"
    if part.result_ids:
        return "output"
    if part.kind is Kind.SYSTEM:
        return "context" if part.first_seq >= lead else "system"
    return "dialog"


def used(parts: Sequence[Part], lead: int = 0) -> dict[str, int]:
    """Return the cost of parts by category, in tokens as bounds."""
    costs: dict[str, int] = {}
    for part in parts:
        name = category_of(part, lead)
        costs[name] = costs.get(name, 0) + part.cost.bound
    return costs


def shorter(before: CurrentView, after: CurrentView) -> Iterator[Shorter]:
    """Yield each category of which a plan sends less than the previous plan."""
    old, new = used(before.sent, before.lead_count), used(after.sent, after.lead_count)
    still = {part.first_seq: part for part in after.sent if part.payload is not None}
    for name in sorted(old):
        gone = [
            part.first_seq
            for part in before.sent
            if part.payload is not None
            and category_of(part, before.lead_count) == name
            and still.get(part.first_seq) != part
        ]
        if gone and new.get(name, 0) < old[name]:
            yield Shorter(name, min(gone), max(gone), old[name], new.get(name, 0))
