"""The caps of document 001 around a session: what memory and summary documents may cost, and all of it together (C7).

They are policy, in words or tokens, and give way where the newest messages alone are more. The window never gives way:
that is the engine's guard, in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.budget.caps import measure_for, truncate_newest
from squidbot.core.budget.dedupe import dedupe
from squidbot.core.errors import BudgetError
from squidbot.core.events import Event
from squidbot.core.plan import Section
from squidbot.core.view.renderer import fenced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.budget.caps import Caps
    from squidbot.core.counting.meter import Meter
    from squidbot.core.engine import Inputs, Session
    from squidbot.core.messages import Message
    from squidbot.core.ports import Observer
    from squidbot.core.view.assembly import Assembly

__all__ = ["Documents", "Policy"]


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


@dataclass(frozen=True, slots=True)
class Policy:
    """Assembles under the caps on history and total. The host's system text and tools are outside of them (Q-07)."""

    caps: Caps
    meter: Meter

    def limit(self, inputs: Inputs) -> int:
        """Return what a request may cost by the caps, in their unit."""
        head = [inputs.system, inputs.tools, *(fenced(one.name, one.text) for one in inputs.sections)]
        fixed = sum(self.meter.message(text).estimate for text in head if text)
        documents = sum(self.meter.text(one.text).estimate for one in inputs.sections)
        history = min(self.caps.history, max(1, self.caps.total - documents))
        return fixed + history

    def assemble(self, session: Session, incoming: Sequence[Message], inputs: Inputs, observer: Observer) -> Assembly:
        """Return the request within the caps, or the nearest to them that holds what must be sent, and tell so.

        Raises:
            BudgetError: it does not fit the window either.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        most = session.lease.window_tokens
        limit = self.limit(inputs)
        asked = limit
        while True:
            session.settings = replace(session.settings, policy_limit=limit)
            try:
                assembly = session.assemble(incoming, inputs)
            except BudgetError:
                # A word is no more than a token, and a request never more than its window: from there on it is final.
                if limit >= most:
                    raise
                limit = min(most, 2 * limit)
                continue
            if limit > asked:
                cause = f"the newest messages need more than the {asked:,} {self.caps.unit} of [budget]"
                lease = session.lease
                told = Event(events.BUDGET_OVERRUN, session.session_id, cause, lease.lease_id, model=lease.model)
                observer.notify(told)
            return assembly
