"""The caps of document 001 around a session: what memory and summary documents may cost, and all of it together (C7).

They are policy, in words or tokens, and give way where the newest messages alone are more. The window never gives way:
that is the engine's guard, in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.budget.caps import measure_for, truncate_newest
from squidbot.core.budget.dedupe import dedupe
from squidbot.core.changes.capping import floor_of, history_of
from squidbot.core.events import Event
from squidbot.core.plan import Section
from squidbot.core.unasked import speaks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.budget.caps import Capped, Caps, TrimRule
    from squidbot.core.counting.meter import Meter
    from squidbot.core.engine import Inputs, Session
    from squidbot.core.messages import Message
    from squidbot.core.ports import Observer
    from squidbot.core.view.assembly import Assembly

__all__ = ["Documents", "Policy"]

# What the caps of documents are for, by the names of their sections.
DOCUMENTS = ("memory", "summary")


@dataclass(frozen=True, slots=True)
class Documents:
    """Makes the head of a request from the host's documents."""

    caps: Caps
    meter: Meter

    def sections(self, memory: str, summary: str) -> tuple[Section, ...]:
        """Return the documents as sections: deduplicated, then each cut to its newest lines (Q-03 to Q-05)."""
        count = measure_for(self.caps.unit, self.meter.physical.count).count
        if self.caps.dedupe and memory and summary:
            summary, _ = dedupe(summary, memory)
        texts = {
            "memory": truncate_newest(memory, self.caps.memory, count),
            "summary": truncate_newest(summary, self.caps.summary, count),
        }
        return tuple(Section(name, text) for name, text in texts.items() if text)


@dataclass(slots=True)
class Policy:
    """Assembles under the caps on history and total. The host's system text and tools are outside of them (Q-07).

    So is the current turn: history is what was said before it. `told` are the fallbacks that were told of already.
    """

    caps: Caps
    meter: Meter
    rule: TrimRule = "ladder"
    told: set[str] = field(default_factory=set)

    def assemble(self, session: Session, incoming: Sequence[Message], inputs: Inputs, observer: Observer) -> Assembly:
        """Return the request within the caps, or the nearest to them that holds what must be sent, and tell so.

        Raises:
            BudgetError: it does not fit the window.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        given = self._within(session, incoming, inputs)
        session.settings = replace(session.settings, cap=self._left(given))
        assembly = session.assemble(incoming, given)
        self._tell(assembly, given, observer, emptied=given is not inputs)
        return assembly

    def _left(self, inputs: Inputs) -> Capped:
        """Return what documents leave of the caps."""
        memory, summary = (self._units(inputs, name) for name in DOCUMENTS)
        return self.caps.left(memory, summary, reduces=self.rule == "ladder")

    def _units(self, inputs: Inputs, name: str) -> int:
        """Return what a document costs, in the unit of the caps."""
        return sum(self.meter.text(one.text).estimate for one in inputs.sections if one.name == name)

    def _within(self, session: Session, incoming: Sequence[Message], inputs: Inputs) -> Inputs:
        """Return the inputs with the documents that the newest messages leave room for: first the summary gives way.

        By the rule "ladder" the messages are cut instead, or nothing helps.
        """
        if self.rule == "ladder":
            return inputs
        standing, left = session.room().standing, self._left(inputs)
        behind = standing.messages if any(map(speaks, incoming)) else standing.turn
        over = floor_of(standing, behind, left) - left.total
        texts = {one.name: one.text for one in inputs.sections}
        for name in reversed(DOCUMENTS):
            cost = self._units(inputs, name)
            if over > 0 < cost:
                texts[name] = truncate_newest(texts[name], max(0, cost - over), self._count)
                over -= cost
        cut = (one._replace(text=texts[one.name]) for one in inputs.sections)
        sections = tuple(one for one in cut if one.text)
        return inputs if sections == inputs.sections else replace(inputs, sections=sections)

    def _count(self, text: str) -> int:
        return self.meter.text(text).estimate

    def _tell(self, assembly: Assembly, inputs: Inputs, observer: Observer, *, emptied: bool) -> None:
        """Tell what is above the caps at a new turn, and how they were met, each way once."""
        fallbacks = [cause for cause in self._fallbacks(emptied=emptied) if cause not in self.told]
        self.told.update(fallbacks)
        told = [(events.BUDGET_FALLBACK, cause) for cause in fallbacks]
        if (cause := self._overrun(assembly, inputs)) is not None:
            told.append((events.BUDGET_OVERRUN, cause))
        lease, bound = assembly.lease, assembly.cost.bound
        for name, cause in told:
            costs = (bound, bound) if name == events.BUDGET_FALLBACK else (0, 0)
            event = Event(name, assembly.session_id, cause, lease.lease_id, -1, *costs, model=lease.model)
            observer.notify(event)

    def _overrun(self, assembly: Assembly, inputs: Inputs) -> str | None:
        standing, caps = assembly.standing, self.caps
        if not standing.at_turn:
            return None
        history, notes = history_of(standing), standing.summaries.estimate
        if max(history, standing.in_flight.estimate) > caps.history:
            return f"the newest messages need more than the {caps.history:,} {caps.unit} of [budget]"
        documents = sum(self._units(inputs, name) for name in DOCUMENTS)
        over = history + notes + documents > caps.total
        return f"history and documents need more than the {caps.total:,} {caps.unit} of [budget]" if over else None

    def _fallbacks(self, *, emptied: bool) -> Iterator[str]:
        if emptied:
            yield "the newest messages leave summary and memory less room than they have"
        if self.caps.unit == "tokens" and self.meter.physical.name == "words":
            yield "the caps are set in tokens, but budget.counter counts words: words are counted"
