"""`squidbot session log`: turns with their requests, tool calls with parameters and results, response, and budget."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.cli.explain import plan_json
from squidbot.cli.export import results_of
from squidbot.cli.open_store import shown_messages
from squidbot.cli.output import Result, ResultCommand, message
from squidbot.cli.texts import clock, count, event_line, shorter, span
from squidbot.core.last_request import REQUEST, LastRequest, usage_of
from squidbot.wiring.turnlog import CallEntry, call_lines, calls_heading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.cli.open_store import OpenStore, ShownMessage
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import ContextWindow, Record, Usage
    from squidbot.core.plan import PlanRecord


class LoggedRequest(NamedTuple):
    """A recorded request: its number from 0, its record, and its provider's report.

    `event` is its plan, if the request before had another one.
    """

    number: int
    record: LastRequest
    usage: Usage | None
    event: PlanRecord | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        record, usage = self.record, self.usage
        keys = ("input_tokens", "output_tokens", "cached_tokens")
        return {
            "number": self.number,
            "tokens": record.cost.estimate,
            "bound": record.cost.bound,
            "limit": record.limit.bound,
            "outside_tokens": record.outside.estimate,
            "outside_bound": record.outside.bound,
            "parts": record.parts,
            "plan": record.plan_id if record.plan_id >= 0 else None,
            "event": plan_json(self.event),
            "usage": {key: getattr(usage, key) for key in keys} if usage else None,
        }


class LoggedTurn(NamedTuple):
    """A turn as values for JSON, with its requests, and a note for each truncated tool result."""

    values: dict[str, Any]
    requests: list[LoggedRequest]
    cuts: list[str]
    budget: list[tuple[str, int, str]]


@click.command(cls=ResultCommand, on="session")
@click.argument("wanted", metavar="[MESSAGE]", required=False, callback=message)
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of turns to show, up to that one.",
)
@click.option("--whole", is_flag=True, help="Print long texts whole.")
def log(place: OpenStore, name: str, *, wanted: int | None, last: int, whole: bool) -> Result:
    """Show the newest turn, or that of MESSAGE: requests, tool calls and results, response, usage, budget."""
    place.check_message(name, wanted)
    end = place.length(name) - 1 if wanted is None else _end(place, name, wanted)
    turns = _turns(place, name, end, last)

    def put(out: Printer) -> None:
        if not turns:
            out.say(f"{name}: nothing has been said yet")
        for turn in out.apart(turns):
            _put_turn(out, turn, whole=whole)

    return Result({"session": name, "turns": [turn.values for turn in turns]}, put)


def _turns(place: OpenStore, name: str, end: int, last: int) -> list[LoggedTurn]:
    """Return the `last` newest turns up to the message `end`, oldest first."""
    window, source = place.window(name)
    starts: list[int] = []
    seq = end
    while seq >= 0 and len(starts) < last:
        (row,) = place.store.read(name, seq, seq)
        starts.insert(0, min(row.turn, seq))
        seq = starts[0] - 1
    if not starts:
        return []
    first = starts[0]
    rows, requests = place.store.read(name, first, end), _requests(place, name, first)
    return [
        _turn(
            shown_messages(rows[start - first : behind - first], place.codecs),
            requests,
            window if source != "assumed" else None,
        )
        for start, behind in pairwise([*starts, end + 1])
    ]


def _end(place: OpenStore, name: str, wanted: int) -> int:
    """Return the last message of the turn of a message."""
    turn: int | None = None
    for rows, _ in place.pages(name, wanted):
        for row in rows:
            if turn is not None and row.turn != turn:
                return row.seq - 1
            turn = row.turn
    return place.length(name) - 1


def _requests(place: OpenStore, name: str, first_seq: int) -> dict[int, LoggedRequest]:
    """Return the recorded requests by the seqs of the messages that answered them, from `first_seq` on.

    Requests that were not recorded as sent are left out: their place is unknown.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    newest = place.line(name).last_record(name, REQUEST)
    if newest is None:
        return {}
    # Each is stored with at least one message, so older ones were answered earlier; one more shows the plan.
    first = max(0, newest.number - (place.length(name) - first_seq))
    found = [_request(record) for record in place.line(name).records(name, REQUEST, first)]
    plans = {plan.plan_id: plan for plan in place.plans(name)}
    by_answer: dict[int, LoggedRequest] = {}
    before = found.pop(0).record.plan_id if first else None
    for request in found:
        plan_id, answer = request.record.plan_id, request.record.messages
        if answer >= 0:
            # A request recorded before its answer is recorded again, with its usage.
            event = plans.get(plan_id) if plan_id != before else by_answer.get(answer, request).event
            by_answer[answer] = request._replace(event=event)
        before = plan_id
    return by_answer


def _request(record: Record) -> LoggedRequest:
    return LoggedRequest(record.number, LastRequest.of(record), usage_of(record))


def _turn(
    messages: Sequence[ShownMessage], requests: dict[int, LoggedRequest], window: ContextWindow | None
) -> LoggedTurn:
    answers = [one for one in messages if one.row.role == "assistant"]
    logged = {number: requests[one.row.seq] for number, one in enumerate(answers, 1) if one.row.seq in requests}
    newest = logged.get(len(answers))
    budget = [*_budget(newest.record, window)] if newest else []
    calls, cuts = _calls(messages, answers)
    values = {
        "turn": span(messages[0].row.seq),
        "last": span(messages[-1].row.seq),
        "time": messages[0].row.time,
        "asked": [
            {"id": one.handle, "role": one.row.role, "text": one.text}
            for one in messages
            if one.row.role in {"user", "system"} and not one.row.result_ids
        ],
        "requests": [
            {"iteration": number, "answer": answers[number - 1].handle, **request.to_json()}
            for number, request in logged.items()
        ],
        "tool_calls": calls,
        "response": answers[-1].text if answers and not answers[-1].calls else None,
        "budget": {name.replace(" ", "_"): tokens for name, tokens, _ in budget} or None,
    }
    return LoggedTurn(values, [*logged.values()], cuts, budget)


def _calls(messages: Sequence[ShownMessage], answers: Sequence[ShownMessage]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the tool calls of answers as values for JSON, and a note for each truncated result."""
    results = {call_id: (one, text) for one in messages for call_id, text in results_of(one).items()}
    calls, cuts = [], []
    for number, answer in enumerate(answers, 1):
        for call in answer.calls:
            result, text = results.get(call.id, (None, None))
            calls.append(CallEntry(call.id, call.name, call.arguments, number, text).to_json())
            sent_tokens = result.row.sent_cost.estimate if result and result.is_cut else 0
            cuts.append(f"; truncated to {sent_tokens:,} tokens" if sent_tokens else "")
    return calls, cuts


def _budget(record: LastRequest, window: ContextWindow | None) -> Iterator[tuple[str, int, str]]:
    """Yield the lines of a request's budget: a name, tokens (bounds), what it is."""
    if window:
        yield "window", window.window_tokens, "input and output"
        reserve, limit_tokens = record.reserve_under(window), record.limit_under(window)
        yield "reserve", reserve.tokens if reserve else window.reserved_output_tokens, "for the answer"
        yield "input limit", limit_tokens, "what a request may cost"
        if over := record.limit.bound - limit_tokens:
            yield "overcounted", over, "so far the counts exceed the provider's reports: so much more fits"
    yield "outside", record.outside.bound, "system text, tools and head"
    history = record.cost.bound - record.outside.bound
    yield "history", history, f"{count(record.parts, 'message')}, counting notes"
    billed = f"; at most {record.certified:,} by earlier bills" if record.certified else ""
    yield "request", record.cost.bound, f"about {record.cost.estimate:,}{billed}"
    if window:
        yield "free", record.limit.bound - record.cost.bound, "what was left"


def _put_turn(out: Printer, turn: LoggedTurn, *, whole: bool) -> None:
    values, calls = turn.values, turn.values["tool_calls"]
    when = f", {clock(values['time'])}" if values["time"] is not None else ""
    out.rule(f"turn {values['turn']}: {'-'.join(dict.fromkeys((values['turn'], values['last'])))}{when}")
    out.heading("REQUEST MESSAGES")
    for one in values["asked"]:
        out.body(f"[{one['role']}] {one['text']}", whole=whole)
    if values["requests"]:
        out.table([*map(_request_row, values["requests"])], indent="  ")
    else:
        out.say("no request is recorded for this turn", "dim", indent="  ")
    for event in filter(None, (request.event for request in turn.requests)):
        out.say(event_line(event), indent="  ")
    out.heading(calls_heading(len(calls), len({call["iteration"] for call in calls})))
    for number, (call, cut) in enumerate(zip(calls, turn.cuts, strict=True), 1):
        _put_call(out, number, call, cut, whole=whole)
    out.heading("RESPONSE")
    response = values["response"]
    out.body("(none yet)" if response is None else response, whole=whole)
    if turn.budget:
        out.heading(f"BUDGET of request {values['requests'][-1]['number']} (bounds, in tokens)")
        out.numbers(turn.budget)


def _request_row(request: dict[str, Any]) -> dict[str, object]:
    usage, event = request["usage"], request["event"]
    cached = f" ({usage['cached_tokens']:,} cached)" if usage and usage["cached_tokens"] else ""
    return {
        "iteration": request["iteration"],
        "answer": request["answer"],
        "request": request["number"],
        "parts": request["parts"],
        "tokens": request["bound"],
        "reported": f"{usage['input_tokens']:,}{cached} + {usage['output_tokens']:,}" if usage else None,
        "plan": request["plan"],
        "event": event["cause"] if event else "",
    }


def _put_call(out: Printer, number: int, call: dict[str, Any], cut: str, *, whole: bool) -> None:
    tool, *others = call_lines(number, call["tool"], call["parameters"], call["result"], cut)
    out.say(f"{tool}  (iteration {call['iteration']})")
    for other in others:
        is_cut = not whole and other.startswith("Parameters: ")
        out.say(shorter(other, out.columns - 4) if is_cut else other, indent="    ")
    if call["result"] is not None:
        out.body(call["result"], whole=whole, indent="      ", most_lines=4)
