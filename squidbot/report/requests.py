"""Every recorded request of a session, rebuilt from its store in the order in which they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.last_request import REQUEST, LastRequest, seal, usage_of
from squidbot.core.plan import PlanRecord
from squidbot.core.transcript.pins import Pins
from squidbot.core.view.current import PLAN, CurrentView, empty_view, marked, view_under

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.messages import Part, Record, Usage
    from squidbot.core.session import CoreSession
    from squidbot.core.transcript.lines import LineStore
    from squidbot.core.transcript.markers import Markers
    from squidbot.core.view.current import SessionContext


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request as it was sent.

    Attributes:
        line, number: the line of the conversation that it was made on, and its number there, from 0.
        record: what is recorded of it.
        plan: the plan that it was made under; `None` without one.
        parts: what was sent behind the host's system text; `None` if it can't be rebuilt.
        is_same: whether the recorded hash says that these parts are what was sent.
        usage: what the provider reported; `None` for nothing.
        problem: why it can't be rebuilt; "" if it can.
        model: the model that answered; "" where the request does not say.
    """

    line: int
    number: int
    record: LastRequest
    plan: PlanRecord | None
    parts: Sequence[Part] | None
    is_same: bool
    usage: Usage | None
    problem: str = ""
    model: str = ""


def recorded_requests(session: CoreSession) -> list[RecordedRequest]:
    """Return the recorded requests of a session on all its lines, in the order in which they were answered.

    A request that was recorded twice, the second time with its usage, is in it once.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    return RequestReader().read(session)


class RequestReader:
    """Reads the recorded requests of a session that grows: a request that it has read is not rebuilt again.

    Only for a session of which nothing was forgotten or withdrawn since, on the same lines.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lines: dict[int, _Line] = {}
        self._found: dict[tuple[int, int, int], RecordedRequest] = {}

    def read(self, session: CoreSession) -> list[RecordedRequest]:
        """Return all requests, known ones as the same objects; as `recorded_requests`, and raises as that."""
        markers = marked(session.context)
        for line in reversed([*session.line.all()]):
            on = self._lines.setdefault(line.line, _Line())
            on.go_on(session.context._replace(transcripts=line), line, markers)
            for request in on.requests():
                place = (line.line, request.record.messages, request.number if request.record.messages < 0 else -1)
                self._found[place] = request
        every = self._found.values()
        return sorted(every, key=lambda one: (one.record.messages < 0, one.record.messages, one.line, one.number))


class _Line:
    """One line of a session, whose requests are rebuilt one behind the other."""

    _context: SessionContext
    _line: LineStore
    _markers: Markers

    def __init__(self) -> None:
        # The plans by their numbers, how many were read, and the first request that was not.
        self._plans: dict[int, PlanRecord] = {}
        self._read_plans, self._next = 0, -1
        # The newest view, and the plan that it was made under.
        self._view: CurrentView | None = None

    def go_on(self, context: SessionContext, line: LineStore, markers: Markers) -> None:
        """Take the line as it is now."""
        self._context, self._line, self._markers = context, line, markers
        records = line.records(line.session_id, PLAN, self._read_plans)
        self._read_plans += len(records)
        self._plans |= {plan.plan_id: plan for plan in (PlanRecord.from_json(record.body) for record in records)}

    def requests(self) -> Iterator[RecordedRequest]:
        """Yield the requests that were not read before."""
        session_id = self._line.session_id
        first = self._next if self._next >= 0 else self._line.inherited(REQUEST)
        for record in self._line.records(session_id, REQUEST, first):
            self._next = record.number + 1
            yield self._request(record)

    def _request(self, record: Record) -> RecordedRequest:
        last, usage, plan = LastRequest.of(record), usage_of(record), None
        parts, is_same, problem = None, False, "what came with it was not recorded as it was sent"
        if last.plan_id >= 0:
            plan = self._plans.get(last.plan_id)
        if last.messages >= 0:
            try:
                parts = self._parts(last, plan)
                is_same, problem = seal(parts) == last.seal, ""
            except NotFoundError as error:
                self._view, problem = None, str(error)
        return RecordedRequest(self._line.line, record.number, last, plan, parts, is_same, usage, problem)

    def _parts(self, last: LastRequest, plan: PlanRecord | None) -> tuple[Part, ...]:
        view, context = self._view, self._context
        if last.plan_id >= 0 and plan is None:
            raise NotFoundError(f"plan {last.plan_id} is not stored")
        if view is not None and view.plan == plan and 0 < view.messages <= last.messages:
            view = view.extended(context.read(view.messages, last.messages - 1), context.renderer)
        else:
            counts = empty_view(plan)._replace(messages=last.messages, pins=Pins(), markers=self._markers)
            view = view_under(context, plan, counts)
        self._view = view
        return view.parts((), context.renderer.showing(plan))
