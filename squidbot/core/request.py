"""One call's inputs and outcome: what the host gives, what is built of it, what is remembered of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.assembly import Assembly
from squidbot.core.errors import BudgetError, DamagedStoreError
from squidbot.core.messages import Cost, Kind, Part, Record
from squidbot.core.validity import check_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.event import Moment
    from squidbot.core.messages import Lease, StoredMessage, Usage
    from squidbot.core.meter import Meter
    from squidbot.core.pins import Pins
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.standing import Shelf, Standing

__all__ = ["Call", "Inputs", "Sent", "build", "check_fixed", "pin_record", "request_record", "sections_for"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the host gives beside the conversation for one call.

    Attributes:
        system: its system text, sent first; "" where the transcript brings its own.
        tools: its tool definitions as they are sent, JSON text; counted, not kept. "" for none.
        sections: texts for the head of the request: the memory document, profiles. Frozen until the next event.
        notice: volatile text (time, percent used, facts) frozen behind the newest user message; None for none.
        now: seconds since 1970; None where time is not known.
    """

    system: str = ""
    tools: str = ""
    sections: tuple[Section, ...] = ()
    notice: str | None = None
    now: float | None = None

    @property
    def system_digest(self) -> str:
        """A hash of the system text; "" for none."""
        return _digest(self.system)

    @property
    def tools_digest(self) -> str:
        """A hash of the tool definitions; "" for none."""
        return _digest(self.tools)

    def system_parts(self, meter: Meter) -> tuple[Part, ...]:
        """Return the host's system text as a part; nothing where there is none."""
        if not self.system:
            return ()
        return (Part(Kind.SYSTEM, "system", meter.message(self.system), text=self.system),)

    def outside(self, meter: Meter) -> Cost:
        """Return what system text and tools cost, in tokens."""
        system = meter.message(self.system) if self.system else Cost(0, 0)
        return system.plus(meter.message(self.tools)) if self.tools else system

    def notice_with(self, announcement: str | None) -> str | None:
        """Return the volatile text with an announcement behind it; None where there is neither."""
        return "\n".join(text for text in (self.notice, announcement) if text) or None


@dataclass(frozen=True, slots=True)
class Sent:
    """What is remembered of the newest request: enough to see that the next one extends it.

    `parts` is empty where the request was made by another process. `system`, `tools` and `head` are hashes; `recorded`
    says that its record is stored.
    """

    parts: tuple[Part, ...]
    cost: Cost
    system: str
    tools: str
    head: str
    recorded: bool = False

    @classmethod
    def from_assembly(cls, assembly: Assembly, given: Inputs, head: tuple[Section, ...]) -> Sent:
        """Return what to remember of a request that was made with `head` wanted in front."""
        return cls(assembly.parts, assembly.cost, given.system_digest, given.tools_digest, head_digest(head))

    @classmethod
    def of(cls, record: Record) -> Sent:
        """Return what a stored record remembers.

        Raises:
            DamagedStoreError: the record can't be read.
        """
        try:
            body = json.loads(record.body)
            cost = Cost(int(body["estimate"]), int(body["bound"]))
            system, tools, head = (str(body[name]) for name in ("system", "tools", "head"))
            return cls((), cost, system, tools, head, recorded=True)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"request {record.number} can't be read: {error}") from error


def request_record(number: int, sent: Sent, stored: Standing, usage: Usage | None) -> Record:
    """Return the record of a request: under which plan, up to which message, what it cost, what was reported."""
    body = {
        "plan": stored.plan.plan_id if stored.plan else None,
        "messages": stored.messages,
        "estimate": sent.cost.estimate,
        "bound": sent.cost.bound,
        "system": sent.system,
        "tools": sent.tools,
        "head": sent.head,
        "usage": asdict(usage) if usage else None,
    }
    return Record("request", number, json.dumps(body, separators=(",", ":")))


def pin_record(number: int, body: Mapping[str, object]) -> Record:
    """Return the record of one change of the pins."""
    return Record("pin", number, json.dumps(body, separators=(",", ":")))


def sections_for(pins: Pins, given: Inputs) -> tuple[Section, ...]:
    """Return the head that the next event freezes: what the host gives, then pinned texts."""
    return (*(section for section in given.sections if section.text), *pins.texts)


def head_digest(sections: tuple[Section, ...]) -> str:
    """Return a hash of a head; "" for an empty one."""
    return _digest(json.dumps([[section.name, section.text] for section in sections])) if sections else ""


def announcement(frozen: tuple[Section, ...], wanted: tuple[Section, ...]) -> str | None:
    """Return the text that tells the model at the tail what has changed in the head; None where nothing has (D3)."""
    old = {section.name: section.text for section in frozen}
    changed = [section for section in wanted if old.pop(section.name, None) != section.text]
    lines = [f"[{section.name} is now:]\n{section.text}" for section in changed]
    lines.extend(f"[{name} no longer holds]" for name in old)
    return "\n".join(lines) or None


def check_fixed(trial: Standing, moment: Moment, given: Inputs, meter: Meter) -> None:
    """Check that what is sent in any case leaves room for a conversation.

    Raises:
        BudgetError: it does not; the largest of system text, tools, pins and memory is named.
    """
    fixed = trial.fixed.plus(moment.outside)
    if fixed.bound < moment.limit.bound and fixed.estimate < moment.limit.estimate:
        return
    costs = {
        "system text": sum(part.cost.bound for part in (*trial.lead, *given.system_parts(meter))),
        "tools": meter.message(given.tools).bound if given.tools else 0,
        "pins": sum(part.cost.bound for part in trial.head if part.kind is Kind.PIN),
        "memory document": sum(part.cost.bound for part in trial.head if part.kind is Kind.MEMORY),
    }
    culprit = max(costs, key=lambda name: costs[name])
    raise BudgetError(culprit, cost=fixed.bound, budget=moment.limit.bound, unit="tokens", key="window.default")


class Call(NamedTuple):
    """One call of `assemble`: the lease, what the host gave, the circumstances, the messages that came with it."""

    lease: Lease
    given: Inputs
    moment: Moment
    born: tuple[StoredMessage, ...]


def build(shelf: Shelf, call: Call, trial: Standing, event: PlanRecord | None) -> Assembly:
    """Return the request that stands, checked against the window and the providers' rules.

    Raises:
        BudgetError: it does not fit.
        InvalidRequestError: there is nothing to answer.
    """
    lease, given, moment, born = call
    renderer = shelf.renderer
    system = given.system_parts(renderer.meter)
    behind_lead = trial.prefix[trial.lead_count :] + trial.tail.parts
    opening = renderer.opening(behind_lead)
    parts = (*system, *trial.lead, *opening, *behind_lead, *renderer.closing(behind_lead))
    notices = [part.cost for part in (*opening, *renderer.closing(behind_lead))]
    tools = renderer.meter.message(given.tools) if given.tools else Cost(0, 0)
    cost = trial.fixed.plus(trial.history).plus(tools)
    for one in (*notices, *(part.cost for part in system)):
        cost = cost.plus(one)
    if cost.bound > moment.limit.bound or cost.estimate > moment.limit.estimate:
        key = "window.default"
        culprit = "the turn in flight, with what must stand beside it,"
        raise BudgetError(culprit, cost=cost.bound, budget=moment.limit.bound, unit="tokens", key=key)
    check_request(parts)
    return Assembly(
        session_id=shelf.session_id,
        lease=lease,
        parts=parts,
        incoming=born,
        cost=cost,
        limit=moment.limit,
        certificate=renderer.meter.certificate,
        standing=trial,
        event=event,
        codecs=renderer.codecs,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if text else ""
