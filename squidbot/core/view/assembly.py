"""One request as a frozen value, and the report that accounts for every message of the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import ContextUsage, reliability
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
    """A run of messages that are sent in one way.

    `how` is "verbatim", "slimmed", "recalled" (a copy of messages that count on their own), "summary" (then
    `summary_id` names it) or "absent". `reason` says why it is not verbatim, None where it is.
    """

    first_seq: int
    last_seq: int
    how: str
    summary_id: str | None = None
    reason: str | None = None


class Report(NamedTuple):
    """What a request costs and what became of every message: `spans` is a partition of the transcript.

    Attributes:
        cost: of the whole request; the bound is what was enforced.
        limit: what the request might have cost.
        certificate: how far `usage` can be trusted.
        pressure_fraction: history's share of its room.
        spans: each message of the transcript once, in order of seq.
        reliability: the share of what was said that the model can be relied on to go by.
        remembered: what durable memory says in the head unasked: the name of each section, and what it costs.
        max_output_tokens: the room for the answer: what to ask the model for at most.
        complexity: of the question that opened the turn, 0 to 1, where the answer's room goes by it; else None.
        certified: what it costs at most and what the window leaves for input, by what was billed before ("anchored",
            "calibrated"); None where nothing was. `cost` and `limit` are as counted, and may then be beyond the window.
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

    @property
    def usage(self) -> ContextUsage:
        """How much of what the request might have cost is used: the smallest bounds that are known to hold."""
        return self.certified or ContextUsage(self.cost.bound, self.limit.bound)


@dataclass(frozen=True)
class CoreAssembly:
    """What to send for one model call.

    Attributes:
        session_id, window: whose request, and under which window.
        parts: the request in order.
        incoming: the messages that came with this call, as `record` takes them.
        cost, limit: tokens of the whole request, tools included, and what it might have cost.
        certificate: how far the bound can be trusted.
        standing: what the request was built from.
        event: the plan, where this call changed it; else None.
        codecs: the codecs of the payloads, by tag.
        reserve: the room for the answers of the turn; None: as the window has it.
        certified_tokens: what it costs at most, as reported usage has taught; 0 where the bound of `cost` says it.
    """

    session_id: str
    window: ContextWindow
    parts: tuple[Part, ...]
    incoming: tuple[StoredMessage, ...]
    cost: Cost
    limit: Cost
    certificate: str
    standing: CurrentView
    event: PlanRecord | None
    codecs: Mapping[str, Codec]
    reserve: Reserve | None = None
    certified_tokens: int = 0

    @property
    def plan(self) -> PlanRecord | None:
        """The plan in force; None while everything is sent as it was said."""
        return self.standing.plan

    @property
    def max_output_tokens(self) -> int:
        """The room for the answer in tokens: what to ask the model for at most."""
        return self.reserve.tokens if self.reserve else self.window.reserved_output_tokens

    @cached_property
    def payloads(self) -> tuple[str, ...]:
        """The request in the form of its newest message, one JSON text for each part; others cross over to it (M8)."""
        form = self.form
        return tuple(_sent(part, self.codecs, form) for part in self.parts)

    @property
    def stable(self) -> tuple[int, ...]:
        """How many parts, from the first, stay longest as they are: up to the head's end, and up to the tail.

        Requests to come share the second with this one even when the plan puts the tail shorter, most often; the first
        when it also tells anew what was put shorter before.
        """
        _, closed = self.standing.needs_notices
        behind = len(self.standing.tail.parts) + closed
        shown = sum(len(block.parts) for block in self.standing.blocks)
        ends = (len(self.parts) - behind - shown, len(self.parts) - behind)
        return tuple(sorted({end for end in ends if end > 0}))

    @property
    def form(self) -> str:
        """The tag of the codec that the whole request is written in: that of its newest message."""
        return next((part.codec for part in reversed(self.parts) if part.codec), None) or next(iter(self.codecs))

    @property
    def used_tokens(self) -> int:
        """What the request costs at most: as `Report.usage` says it, without the rest of the report."""
        return self.certified_tokens or self.cost.bound

    @cached_property
    def report(self) -> Report:
        """What it costs, and what became of every message."""
        room = Cost(self.limit.estimate - self.standing.fixed.estimate, self.limit.bound - self.standing.fixed.bound)
        history = self.standing.history
        pressure = max(history.bound / max(1, room.bound), history.estimate / max(1, room.estimate))
        segments = [block.segment for block in self.standing.blocks]
        shown = {
            part.first_seq: part.kind
            for block in self.standing.blocks
            for part in block.parts
            if part.payload is not None or part.kind is Kind.SLIMMED
        }
        spans = account(segments, self.standing.lead_count, shown, self.standing.tail.parts)
        left = reliability(self.standing.generations, self.window.parameters_billion)
        said = remembered(self.standing)
        score = self.reserve.score if self.reserve else None
        most = self.max_output_tokens
        room_tokens = self.window.window_tokens - most
        used = ContextUsage(self.certified_tokens, room_tokens) if self.certified_tokens else None
        return Report(self.cost, self.limit, self.certificate, pressure, spans, left, said, most, score, used)


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


def remembered(standing: CurrentView) -> tuple[tuple[str, Cost], ...]:
    """Return what durable memory says in the head that stands: the name of each section, and what it costs."""
    sections = standing.plan.sections if standing.plan else ()
    shown = zip(sections, standing.head, strict=False)
    return tuple((section.name, part.cost) for section, part in shown if section.is_remembered)


def account(
    segments: Sequence[Segment],
    lead_count: int,
    shown: Mapping[int, Kind],
    tail: Sequence[Part],
) -> tuple[Span, ...]:
    """Return the partition of the transcript that a request stands for.

    `lead_count` messages stand in front of the first segment, `shown` says for each message sent inside a segment
    what kind of part it is, `tail` are the parts behind the segments.
    """
    spans: list[Span] = []
    if lead_count:
        spans.append(Span(0, lead_count - 1, "verbatim"))
    for segment in segments:
        spans.extend(_of_segment(segment, shown))
    said = (part for part in tail if part.payload is not None or part.kind is Kind.SLIMMED)
    spans.extend(_of_part(part.first_seq, part.kind) for part in said)
    return tuple(_joined(spans))


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


# What each category has of a request, and what became shorter of it.

_HEAD = frozenset({Kind.MEMORY, Kind.PIN})


class Shorter(NamedTuple):
    """A category of which less is sent: from which message to which, and what it costs, before and now, as bounds."""

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
    """Return what parts cost by category, in tokens as bounds."""
    costs: dict[str, int] = {}
    for part in parts:
        name = category_of(part, lead)
        costs[name] = costs.get(name, 0) + part.cost.bound
    return costs


def shorter(before: CurrentView, after: CurrentView) -> Iterator[Shorter]:
    """Yield each category of which a plan sends less than the one before it did."""
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
