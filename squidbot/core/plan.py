"""The view plan: a small durable value that says how each block of a transcript is sent."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Cost, Usage


# Why a plan may change. "repaired": a tool result came after its step was sent without it.
# "tool-answer": the answer of a tool of ours had no room.
# "rollover": only the current turn is wanted, or fits. "branch": what was sent is not on the line that is talked on.
CAUSES = frozenset(
    {
        "opened",
        "high-water",
        "cold-cache",
        "overflow",
        "rollover",
        "model-changed",
        "mode-changed",
        "tools-changed",
        "system-changed",
        "manual",
        "tool-answer",
        "undo",
        "restore",
        "branch",
        "forget",
        "repaired",
    },
)


class Representation(StrEnum):
    """How a run of messages is sent, from most to least detailed."""

    RAW = "raw"
    SLIMMED = "slimmed"
    SUMMARY_USER = "summary+user"
    DETAILED = "summary:detailed"
    MODERATE = "summary:moderate"
    COMPACT = "summary:compact"
    MERGED = "summary:merged"
    ABSENT = "absent"

    @property
    def level(self) -> str:
        """The name of a summary's level: "detailed", "moderate", "compact", "merged"."""
        return self.value.removeprefix("summary:")


class Segment(NamedTuple):
    """One run of messages and how it is sent.

    Attributes:
        first_seq, last_seq: the run, both included.
        representation: what is sent for it.
        summary_id: the summary that stands for it; None for raw, slimmed and absent.
        verbatim: the messages of the run that are sent verbatim behind its summary, in order of seq: the user's,
            and pinned steps whole.
        note_tokens: what the summary, or the pointer of an absent run, costs, as a bound.
        limits: (seq, estimate) of the messages of a slimmed run that are cut so as to cost no more, by the policy's
            counter.
    """

    first_seq: int
    last_seq: int
    representation: Representation
    summary_id: str | None = None
    verbatim: tuple[int, ...] = ()
    note_tokens: int = 0
    limits: tuple[tuple[int, int], ...] = ()


class NoteBlock(NamedTuple):
    """A session block in notes: its first and last message, and the bound of its messages."""

    first_seq: int
    last_seq: int
    tokens: int


# How the names of sections begin that durable memory makes, and that extensions do.
REMEMBERED, EXTENDED = "remembered ", "extension "
# The digest of the journal: it gives way behind all else of these.
JOURNAL_SECTION = f"{REMEMBERED}journal"
# And those of documents that the session keeps.
CONTEXT = "context "


class Section(NamedTuple):
    """A text in the head of the request. It stays the same until the next plan change.

    Attributes:
        name: its name, such as "pin style".
        text: its words.
        memories: the ids of the durable facts that it shows.
    """

    name: str
    text: str
    memories: tuple[str, ...] = ()

    @property
    def is_remembered(self) -> bool:
        """Whether memory or an extension made it: nobody is told that it has changed, and it gives way to all else."""
        return self.name.startswith((REMEMBERED, EXTENDED))

    @property
    def is_kept(self) -> bool:
        """Whether it is a pinned text, a goal or a document of the session; each compaction reads these anew."""
        return self.name.startswith(("pin ", CONTEXT))


@dataclass(frozen=True, slots=True)
class FirstChanged:
    """Where a request stops being the one before it.

    `index` counts messages of the new request from 0, `seq` is the first transcript message standing there (-1: none),
    `token_offset` the tokens before it, as a bound.
    """

    index: int
    seq: int
    token_offset: int


class Prices(NamedTuple):
    """Prices of tokens, in uncached input tokens.

    Attributes:
        read, write: an input token that the provider has cached; one that it writes to its cache.
        output: a token that a model writes.
        least_tokens: of a request shorter than this nothing is cached: each of its tokens costs 1, every time.
    """

    read: float
    write: float
    output: float = 5.0
    least_tokens: int = 0

    def again(self, tokens: int) -> float:
        """Return the cost of a request of that many tokens that was sent before."""
        return tokens * (self.read if tokens >= self.least_tokens else 1.0)

    def anew(self, tokens: int, unchanged_tokens: int) -> float:
        """Return the cost of a request above `again` if only its first tokens were sent before; 0 or more."""
        cached = unchanged_tokens if unchanged_tokens >= self.least_tokens else 0
        added = max(0.0, self.write - self.read) * max(0, tokens - cached)
        return added if tokens >= self.least_tokens else 0.0

    def asked(self, usage: Usage) -> float:
        """Return the cost of calls of a model that were sent once: none of their tokens are cached."""
        return usage.input_tokens + self.output * usage.output_tokens

    def billed(self, usage: Usage) -> float:
        """Return the cost of a call as its provider reports it: tokens that the cache lacked are written to it."""
        new = usage.input_tokens - usage.cached_tokens
        write = self.write if usage.input_tokens >= self.least_tokens else 1.0
        return self.read * usage.cached_tokens + write * new + self.output * usage.output_tokens


class Price(NamedTuple):
    """The cost and the gain of a compaction, in input tokens.

    Attributes:
        written_tokens: tokens behind the first changed position, written to the prompt cache anew; 0 on a cold one.
        saved_tokens_per_request: what each later request saves, at the price of a cached read.
        summary_tokens: what a language model took to write the summaries that the plan before did not show; 0 for
            notes by rule.
        break_even_requests: requests until it has paid for itself; None if it never does by cache price alone.
    """

    written_tokens: float
    saved_tokens_per_request: float
    summary_tokens: float
    break_even_requests: float | None

    @property
    def tokens(self) -> float:
        """The whole cost of the compaction, in input tokens: cache writes and summaries."""
        return self.written_tokens + self.summary_tokens

    def with_summaries(self, tokens: float) -> Price:
        """Return the price with summaries that cost so much."""
        saved = self.saved_tokens_per_request
        pays = (self.written_tokens + tokens) / saved if saved > 0 else None
        return self._replace(summary_tokens=tokens, break_even_requests=pays)


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """One plan of one session. Records are append-only; the newest is in force.

    Attributes:
        plan_id: the number of the plan in its session, from 0.
        parent_plan_id: the plan before; None for the first.
        window_id: the context window that it was made for.
        created_at: seconds since 1970; None if unknown.
        cause: why the plan changed, such as "high-water" or "manual".
        sections: the texts in the head of the request, in order.
        segments: what is sent for the messages before `tail_from_seq`, without holes, oldest first.
        tail_from_seq: from this message on, each is sent as it was stored.
        slim_tokens: the size above which a tool output in a slimmed segment is cut, as a bound.
        thinking_dropped_before_seq: reasoning of earlier steps is not sent: the change before it made it invalid.
        tokens_before, tokens_after: bound of the request on both sides of the change.
        system, tools: hashes of the host's system text and tools that it was made with; "" for none.
        certificate: how far these bounds can be trusted.
        first_changed, price: where the prefix broke and what that costs; None for the first plan of a session.
        made_at_seq: how many messages were stored when it was made; later steps were said under it.
        thinking_dropped: runs (first seq, first seq behind) of steps sent without their reasoning although what is in
            front of them is as it was before the plan that they were said under.
        held: somebody brought it back: only a request that does not fit, `compact` or another window changes it.
        repeats: the plan that an undo brought back, -1 for everything raw; None if it repeats none.
        outside_changed: whether system text or tools were others than in the request before it.
        notes: how many records of notes there were behind it: (ledgers, fragments).
        imageless: messages of which pictures are not sent: (seq, how many of them, from the first).
        limits: messages of the model's or a tool's whose texts are cut so as to cost no more: (seq, tokens as a bound).
    """

    plan_id: int
    parent_plan_id: int | None
    window_id: str
    created_at: float | None
    cause: str
    segments: tuple[Segment, ...] = ()
    tail_from_seq: int = 0
    sections: tuple[Section, ...] = ()
    slim_tokens: int = 0
    thinking_dropped_before_seq: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    system: str = ""
    tools: str = ""
    certificate: str = "measured"
    first_changed: FirstChanged | None = None
    price: Price | None = None
    made_at_seq: int = 0
    thinking_dropped: tuple[tuple[int, int], ...] = ()
    held: bool = False
    repeats: int | None = None
    outside_changed: bool = False
    notes: tuple[int, int] = (0, 0)
    imageless: tuple[tuple[int, int], ...] = ()
    limits: tuple[tuple[int, int], ...] = ()

    @property
    def remembered(self) -> tuple[Section, ...]:
        """The sections that durable memory made."""
        return tuple(section for section in self.sections if section.is_remembered)

    @property
    def merged_through(self) -> int:
        """The last message that a merged summary stands for; -1 if there is none."""
        return merged_through(self.segments)

    def to_json(self) -> str:
        """Return the plan as JSON text, without default values, verbatim messages as steps from one to the next."""
        body = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        spelled = (segment._replace(verbatim=_steps(segment)) for segment in self.segments)
        body["segments"] = [segment if segment.limits else segment[:-1] for segment in spelled]
        if self.sections:
            body["sections"] = [section if section.memories else section[:2] for section in self.sections]
        return json.dumps(body, separators=(",", ":"), default=astuple)

    @classmethod
    def from_json(cls, body: str) -> PlanRecord:
        """Return the plan that `to_json` wrote.

        Raises:
            DamagedStoreError: the text is not a plan.
        """
        try:
            raw = json.loads(body)
            return cls(
                **{
                    **raw,
                    "segments": tuple(_segment(*segment) for segment in raw["segments"]),
                    "sections": tuple(_section(*pair) for pair in raw.get("sections", ())),
                    "first_changed": FirstChanged(*raw["first_changed"]) if "first_changed" in raw else None,
                    "price": Price(*raw["price"]) if "price" in raw else None,
                    "thinking_dropped": tuple(_pair(run) for run in raw.get("thinking_dropped", ())),
                    "notes": _pair(raw.get("notes", [0, 0])),
                    "imageless": tuple(_pair(pair) for pair in raw.get("imageless", ())),
                    "limits": tuple(_pair(pair) for pair in raw.get("limits", ())),
                },
            )
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedStoreError(f"cannot read a stored plan: {error}") from error


def _steps(segment: Segment) -> tuple[int, ...]:
    return tuple([seq - before for before, seq in pairwise((segment.first_seq, *segment.verbatim))])


def _segment(  # noqa: PLR0913, PLR0917  # as `Segment` has them
    first_seq: int,
    last_seq: int,
    representation: str,
    summary_id: str | None,
    steps: object,
    note_tokens: int,
    limits: Sequence[object] = (),
) -> Segment:
    verbatim = tuple(accumulate(_seqs(steps), initial=first_seq))[1:]
    cut = tuple(map(_pair, limits))
    return Segment(first_seq, last_seq, Representation(representation), summary_id, verbatim, note_tokens, cut)


def _section(name: str, text: str, memories: Sequence[str] = ()) -> Section:
    return Section(name, text, tuple(memories))


def _pair(raw: object) -> tuple[int, int]:
    first, second = _seqs(raw)
    return first, second


def _seqs(raw: object) -> tuple[int, ...]:
    if not isinstance(raw, list):
        raise TypeError(f"{raw!r:.40} is not a list of numbers")
    return tuple(map(int, raw))


def merged_through(segments: Iterable[Segment]) -> int:
    """Return the last message that a merged summary among the segments stands for; -1 if there is none."""
    merged = [segment.last_seq for segment in segments if segment.representation is Representation.MERGED]
    return max(merged, default=-1)


def price_of(before: Cost, after: Cost, unchanged_tokens: int, prices: Prices, *, cold: bool) -> Price:
    """Return the price of a change whose summaries cost nothing.

    `before` and `after` are whole requests, `unchanged_tokens` the part of `after` in front of the first change. On a
    cold cache everything is written whatever is done, so the change itself writes nothing.
    """
    written = 0.0 if cold else prices.anew(after.bound, unchanged_tokens)
    saved = prices.again(before.bound) - prices.again(after.bound)
    return Price(written, saved, 0.0, written / saved if saved > 0 else None)
