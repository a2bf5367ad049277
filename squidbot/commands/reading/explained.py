"""What the next request holds of a session, run by run, and which event has made it so; and the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.reading.modes import prompt_json
from squidbot.commands.reading.parts import parts
from squidbot.commands.reading.requests import plan_json, plans
from squidbot.commands.reading.terms import seen_of, session_of, terms_of
from squidbot.commands.texts import span
from squidbot.core.budget import level_of, pressure_of, reliability, shares
from squidbot.core.errors import BudgetError, ConfigError, InvalidRequestError
from squidbot.core.messages import Kind
from squidbot.core.plan import Representation
from squidbot.core.view.assembly import account, remembered, used
from squidbot.core.view.marks import memory_texts
from squidbot.core.view.renderer import is_user_part, spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from squidbot.commands.reading.opened import Opened
    from squidbot.commands.reading.terms import Seen, Terms
    from squidbot.core.budget import Reserve, Share
    from squidbot.core.compaction.turn import Room
    from squidbot.core.messages import Part
    from squidbot.core.plan import PlanRecord, Segment
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.session import Session
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.assembly import Span
    from squidbot.core.view.current import Block, Standing

__all__ = ["ABSENT", "SLIMMED", "SUMMARY", "VERBATIM", "Explained", "Run", "explained"]

# Of longer sessions only what is sent is counted, not what was said: rows would have to be read one by one.
MOST_COUNTED = 20_000
VERBATIM, SLIMMED, SUMMARY, ABSENT = "verbatim", "slimmed", "summary", "absent"
_WHOLE = (Representation.RAW, Representation.SLIMMED)


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that one piece of the plan stands for.

    Attributes:
        first_seq, last_seq: both included.
        how: "verbatim", "slimmed", "summary" or "absent"; of the messages in `sent` and `cut` see there.
        here_tokens: what is sent for all of it; said_tokens: what was said (None: not counted); as bounds.
        sent: those of a summarized or absent run that are sent word for word beside what stands for it.
        cut: those that are sent with their middle left out.
        summary_id: the notes that stand for it.
        event: the plan that made it so; None where nothing ever changed it.
    """

    first_seq: int
    last_seq: int
    how: str
    here_tokens: int
    said_tokens: int | None
    sent: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()
    summary_id: str | None = None
    event: PlanRecord | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "first": span(self.first_seq, self.first_seq),
            "last": span(self.last_seq, self.last_seq),
            "how": self.how,
            "here_tokens": self.here_tokens,
            "said_tokens": self.said_tokens,
            "sent": [f"m{seq}" for seq in self.sent],
            "cut": [f"m{seq}" for seq in self.cut],
            "summary": self.summary_id,
            "event": plan_json(self.event) if self.event else None,
        }


@dataclass(frozen=True, slots=True)
class Explained:
    """What the next request holds of a session, and why; `spans` has each message once.

    `due` is the event that the next request brings if nothing new is said, which changes all that; `unfit` says why
    none can be made; None for none. `first_tokens` is what facts cost that stand behind the first words, as a bound.
    `prompt` is the text of the mode that the newest request was in. `counted` says why it is counted as it is; "" where
    the settings say so, or would count otherwise now, and where no model is named.
    """

    session_id: str
    terms: Terms
    settings: HistorySettings
    room: Room
    runs: tuple[Run, ...]
    spans: tuple[Span, ...]
    plan: PlanRecord | None
    due: PlanRecord | None = None
    unfit: str | None = None
    first_tokens: int = 0
    prompt: SystemPrompt | None = None
    counted: str = ""

    @property
    def limit_tokens(self) -> int:
        """What a request may cost as counted: more than the window holds, where the provider bills less."""
        return self.room.used_tokens + self.room.whole.bound

    @property
    def pressure_fraction(self) -> float:
        """History's share of the room that it has."""
        history = self.room.standing.history.bound
        return history / max(1, history + self.room.whole.bound)

    @property
    def rungs(self) -> tuple[str, ...]:
        """The rungs of the ladder that it has reached, lowest first."""
        standing = self.room.standing
        room = standing.history.plus(self.room.whole)
        return self.settings.ladder.told(pressure_of(standing.history, standing.summaries, room))

    @property
    def reliability(self) -> float:
        """The share of what was said that the model can be relied on to go by."""
        return reliability(self.room.standing.generations, self.terms.lease.parameters_billion)

    def budget(self) -> list[tuple[str, int, str]]:
        """Return the lines of the budget: a name, tokens (bounds), what it is."""
        standing, lease = self.room.standing, self.terms.lease
        lead, head, history = spent(standing.lead).bound, spent(standing.head).bound, standing.history.bound
        outside = self.room.used_tokens - lead - head - history
        shares, over = _shares(standing), self.room.overcounted_tokens
        return [
            ("window", lease.window_tokens, f"input and output; {_source(self.terms)}"),
            ("reserve", *self._reserved()),
            ("input limit", self.limit_tokens - over, "what a request may cost"),
            ("overcounted", over, "counted above what the provider bills: so much more fits"),
            ("system", lead, "system messages of the transcript"),
            (
                "outside",
                max(0, outside),
                "the host's system text and tools, in the newest request, and the template around all",
            ),
            ("head", head, "documents, pinned texts, and what memory says"),
            ("notes", shares["notes"], "what stands for messages that are not sent"),
            ("users", shares["users"], "the user's words beside the notes"),
            ("older", shares["older"], "other messages before the tail"),
            ("tail", standing.tail.cost.bound, "the newest messages, as they were born"),
            ("free", self.room.whole.bound, f"{max(0, self.room.marked.bound):,} of them until the high-water mark"),
        ]

    def categories(self) -> tuple[Share, ...]:
        """Return what each category has of the next request, and what it is allotted where settings say so (P-08)."""
        weights = self.settings.category_weights
        if weights is None:
            return ()
        standing = self.room.standing
        has = used(standing.sent, standing.lead_count)
        has["system"] = has.get("system", 0) + max(0, self.room.used_tokens - spent(standing.sent).bound)
        return shares(self.limit_tokens, has, weights)

    def parts(self) -> tuple[Share, ...]:
        """Return what each part has of the next request, and what it is allotted by tier where that is set (O-04)."""
        layout = self.settings.layout
        return parts(layout, self.room.standing, self.limit_tokens, self.room.used_tokens) if layout else ()

    def _reserved(self) -> tuple[int, str]:
        reserve = self.reserve
        if reserve is None:
            return self.terms.lease.reserved_output_tokens, "for the answer"
        return reserve.tokens, f"for the answer, by its question (complexity {reserve.score:.2f})"

    @property
    def reserve(self) -> Reserve | None:
        """The room for the answers of the newest turn, where it goes by its question."""
        return self.room.newest.reserve_under(self.terms.lease)

    @property
    def remembered(self) -> dict[str, int]:
        """What durable memory says unasked: the sections of the head by name, and "first words"; tokens, as bounds."""
        head = {name: cost.bound for name, cost in remembered(self.room.standing)}
        return head | ({"first words": self.first_tokens} if self.first_tokens else {})

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        lease, settings = self.terms.lease, self.settings
        return {
            "session": self.session_id,
            "messages": self.room.standing.messages,
            "model": lease.model,
            "lease": {"source": self.terms.source, "id": lease.lease_id, "counter": lease.counter},
            "counted": self.counted,
            "plan": plan_json(self.plan) if self.plan else None,
            "due": plan_json(self.due) if self.due else None,
            "unfit": self.unfit,
            "budget": {name.replace(" ", "_"): tokens for name, tokens, _ in self.budget()},
            "categories": {one.name: {"used": one.used, "allotted": one.allotted} for one in self.categories()},
            "parts": {one.name: {"used": one.used, "allotted": one.allotted} for one in self.parts()},
            "remembered": {name.replace(" ", "_"): tokens for name, tokens in self.remembered.items()},
            "prompt": prompt_json(self.prompt),
            "complexity": self.reserve.score if self.reserve else None,
            "pressure": self.pressure_fraction,
            "marks": {"high": settings.high_fraction, "low": settings.low_fraction},
            "rungs": list(self.rungs),
            "reliability": {"fraction": self.reliability, "level": level_of(self.reliability)},
            "runs": [run.to_json() for run in self.runs],
            "spans": [
                {
                    "first": span(one.first_seq, one.first_seq),
                    "last": span(one.last_seq, one.last_seq),
                    "how": one.how,
                    "summary": one.summary_id,
                    "reason": one.reason,
                }
                for one in self.spans
            ],
        }


def explained(place: Opened, session_id: str) -> Explained:
    """Return what stands for a session, run by run.

    Raises:
        StoreError: the store failed, or is damaged.
        BudgetError: no lease is recorded, and the settings leave no token for input.
    """
    session = session_of(place, session_id)
    room = session.room()
    standing = room.standing
    every = plans(place, session_id)
    said = _said(place, session_id, standing.messages)
    seen = seen_of(place, session_id)
    runs = tuple(_runs(standing, _makers(every), said))
    terms = terms_of(place, session_id)
    is_same = place.wired.meter(terms.lease.model).name == terms.lease.counter
    return Explained(
        session_id,
        terms,
        session.settings,
        room,
        runs,
        _spans(standing),
        standing.plan,
        *_outlook(session),
        first_tokens=_first_tokens(standing, seen.meter),
        prompt=_prompt(seen, room.newest.mode),
        counted=place.wired.why_counted(terms.lease.model) if is_same and terms.lease.model else "",
    )


def _prompt(seen: Seen, mode: str) -> SystemPrompt | None:
    """Return the text of a mode, where there still is one of that name."""
    if not mode:
        return None
    try:
        return seen.wired.prompts.prompt(mode, seen.core.lease.window_tokens, seen.meter.physical)
    except (BudgetError, ConfigError):
        return None


def _first_tokens(standing: Standing, meter: Meter) -> int:
    notices = (part.notice for part in standing.sent if part.notice)
    return sum(meter.text(said).bound for one in notices for said in memory_texts(one))


def _outlook(session: Session) -> tuple[PlanRecord | None, str | None]:
    """Return the event that the next request would bring, and why none could be made."""
    try:
        return session.preview().event, None
    except InvalidRequestError:  # nothing has been said, or what the user says next is awaited
        return None, None
    except BudgetError as error:
        return None, str(error)


def _source(terms: Terms) -> str:
    said = {"recorded": terms.lease.source, "settings": "as the settings have it"}
    return said.get(terms.source, "as the settings have it now; none is recorded")


def _shares(standing: Standing) -> dict[str, int]:
    shares = {"notes": 0, "users": 0, "older": 0}
    for part in (part for block in standing.blocks for part in block.parts):
        made = part.payload is None and part.kind is not Kind.SLIMMED
        shares["notes" if made else "users" if is_user_part(part) else "older"] += part.cost.bound
    return shares


def _spans(standing: Standing) -> tuple[Span, ...]:
    shown = {part.first_seq: part.kind for block in standing.blocks for part in block.parts if _is_said(part)}
    segments = [block.segment for block in standing.blocks]
    return account(segments, standing.lead_count, shown, standing.tail.parts)


def _is_said(part: Part) -> bool:
    return part.payload is not None or part.kind is Kind.SLIMMED


def _said(place: Opened, session_id: str, messages: int) -> list[int] | None:
    """Return what each message cost as it was said, as a bound; None for a session too long to be counted."""
    if messages > MOST_COUNTED:
        return None
    said = [0] * messages
    for rows in place.pages(session_id):
        for row in rows.found:
            said[row.seq] = row.cost.bound
    return said


def _makers(every: Iterable[PlanRecord]) -> dict[object, PlanRecord]:
    """Return the plan that first had a segment as it is, by the notes it shows, or by its run."""
    made: dict[object, PlanRecord] = {}
    for plan in every:
        for segment in plan.segments:
            made.setdefault(_key(segment), plan)
    return made


def _key(segment: Segment) -> object:
    return segment.summary_id or (segment.representation, segment.first_seq, segment.last_seq)


def _runs(standing: Standing, makers: Mapping[object, PlanRecord], said: list[int] | None) -> Iterator[Run]:
    def counted(first: int, last: int) -> int | None:
        return sum(said[first : last + 1]) if said is not None else None

    if standing.lead:
        last = standing.lead[-1].last_seq
        yield Run(0, last, VERBATIM, spent(standing.lead).bound, counted(0, last))
    for block in standing.blocks:
        yield _block_run(
            block, makers.get(_key(block.segment)), counted(block.segment.first_seq, block.segment.last_seq)
        )
    tail = [part for part in standing.tail.parts if _is_said(part)]
    if tail:
        first, last = tail[0].first_seq, tail[-1].last_seq
        here = standing.tail.cost.bound
        yield Run(first, last, VERBATIM, here, counted(first, last), cut=_cut(tail))


def _block_run(block: Block, event: PlanRecord | None, said: int | None) -> Run:
    segment, parts = block.segment, [part for part in block.parts if _is_said(part)]
    whole = segment.representation in _WHOLE
    how = VERBATIM if segment.representation is Representation.RAW else SLIMMED if whole else SUMMARY
    if not whole and segment.summary_id is None:
        how = ABSENT
    return Run(
        segment.first_seq,
        segment.last_seq,
        how,
        block.cost.bound,
        said,
        () if whole else tuple(part.first_seq for part in parts),
        _cut(parts),
        segment.summary_id,
        event,
    )


def _cut(parts: Iterable[Part]) -> tuple[int, ...]:
    return tuple(part.first_seq for part in parts if part.kind is Kind.SLIMMED)
