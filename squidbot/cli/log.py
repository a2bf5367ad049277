"""`squidbot session log`: turns with their requests, tool calls with parameters and results, response, and budget."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.cli.explain import plan_json
from squidbot.cli.export import results_of
from squidbot.cli.open_store import shown_messages
from squidbot.cli.output import Result, ResultCommand, message
from squidbot.cli.texts import clock, count, event_line, shorter, span
from squidbot.core.errors import DamagedStoreError
from squidbot.core.last_request import REQUEST, LastRequest
from squidbot.core.messages import Usage
from squidbot.wiring.turnlog import action_of, parameters_of

if TYPE_CHECKING:
    from squidbot.cli.open_store import OpenStore, ShownMessage
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import ContextWindow, Record
    from squidbot.core.plan import PlanRecord

__all__ = ["log"]

COLUMNS = ("iteration", "answer", "request", "parts", "tokens", "reported", "plan", "event")


class LoggedRequest(NamedTuple):
    """A recorded request: its number from 0, what is remembered of it, and what its provider reported.

    `event` is its plan, where the request before had another one.
    """

    number: int
    last_request: LastRequest
    usage: Usage | None
    event: PlanRecord | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        last_request, usage = self.last_request, self.usage
        reported = None
        if usage:
            reported = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            reported["cached_tokens"] = usage.cached_tokens
        return {
            "number": self.number,
            "tokens": last_request.cost.estimate,
            "bound": last_request.cost.bound,
            "limit": last_request.limit.bound,
            "outside_tokens": last_request.outside.estimate,
            "outside_bound": last_request.outside.bound,
            "parts": last_request.parts,
            "plan": last_request.plan_id if last_request.plan_id >= 0 else None,
            "event": plan_json(self.event),
            "usage": reported,
        }


class LoggedTurn(NamedTuple):
    """A turn: its messages, the model's answers with the requests they answer, and all as values for JSON.

    `truncated` has for each tool call what is sent of its result, in tokens; 0 where all of it is.
    """

    messages: list[ShownMessage]
    steps: list[tuple[ShownMessage, LoggedRequest | None]]
    truncated: list[int]
    budget: list[tuple[str, int, str]]
    values: dict[str, Any]


@click.command(cls=ResultCommand, on="session")
@click.argument("wanted", metavar="[MESSAGE]", required=False, callback=message)
@click.option("--last", metavar="N", type=click.IntRange(1), default=1, show_default=True, help="Number of turns.")
@click.option("--whole", is_flag=True, help="Print long texts whole.")
def log(place: OpenStore, name: str, *, wanted: int | None, last: int, whole: bool) -> Result:
    """Show the newest turn, or that of MESSAGE, with those before it: requests, tool calls, response, budget."""
    length = place.length(name)
    if wanted is not None and wanted >= length:
        raise click.UsageError(f"there is no m{wanted}: the session has {count(length, 'message')}")
    turns = _turns(place, name, length - 1 if wanted is None else _end(place, name, wanted), last)

    def put(out: Printer) -> None:
        if not turns:
            out.say(f"{name}: nothing has been said yet")
        for number, turn in enumerate(turns):
            if number:
                out.blank()
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
        _turn(shown_messages(rows[start - first : behind - first], place.codecs), requests, window, source)
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

    Left out are those that were not recorded as they were sent: nothing tells where they stood.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    newest = place.store.last_record(name, REQUEST)
    if newest is None:
        return {}
    # Each is stored with one message at least, so no older one was answered from there on; one before tells the plan.
    first = max(0, newest.number - (place.length(name) - first_seq))
    found = [_request(record) for record in place.store.records(name, REQUEST, first)]
    plans = {plan.plan_id: plan for plan in place.plans(name)}
    by_answer: dict[int, LoggedRequest] = {}
    plan_id = found[0].last_request.plan_id if first else -1
    for one in found[1 if first else 0 :]:
        last_request = one.last_request
        event = plans.get(last_request.plan_id) if last_request.plan_id != plan_id else None
        plan_id = last_request.plan_id
        if last_request.messages >= 0:
            # One that was recorded before it was answered is there again, with its usage.
            before = by_answer.get(last_request.messages)
            by_answer[last_request.messages] = one._replace(event=event or (before.event if before else None))
    return by_answer


def _request(record: Record) -> LoggedRequest:
    try:
        reported = json.loads(record.body).get("usage")
        usage = Usage(*map(int, reported)) if reported else None
    except (ValueError, AttributeError, TypeError) as error:
        raise DamagedStoreError(f"request {record.number} can't be read: {error}") from error
    return LoggedRequest(record.number, LastRequest.of(record), usage)


def _turn(
    found: list[ShownMessage], requests: dict[int, LoggedRequest], window: ContextWindow, source: str
) -> LoggedTurn:
    results = {call_id: (one, text) for one in found for call_id, text in results_of(one).items()}
    steps = [(one, requests.get(one.row.seq)) for one in found if one.row.role == "assistant"]
    calls, truncated = [], []
    for number, (one, _) in enumerate(steps, 1):
        for call in one.calls:
            result, text = results.get(call.id, (None, None))
            given = parameters_of(call.arguments)
            said = {"tool": call.name, "action": action_of(given), "parameters": given, "result": text}
            calls.append({**said, "iteration": number})
            truncated.append(result.row.sent_cost.estimate if result and result.is_cut else 0)
    answer, sent = steps[-1] if steps else (None, None)
    asked = [one for one in found if one.row.role in {"user", "system"} and not one.row.result_ids]
    budget = _budget(sent, window if source != "assumed" else None) if sent else []
    values = {
        "turn": span(found[0].row.seq),
        "last": span(found[-1].row.seq),
        "time": found[0].row.time,
        "asked": [{"id": one.handle, "role": one.row.role, "text": one.text} for one in asked],
        "requests": [
            {"iteration": number, "answer": one.handle, **request.to_json()}
            for number, (one, request) in enumerate(steps, 1)
            if request
        ],
        "tool_calls": calls,
        "response": answer.text if answer and not answer.calls else None,
        "budget": {name: tokens for name, tokens, _ in budget} or None,
    }
    return LoggedTurn(found, steps, truncated, budget, values)


def _budget(sent: LoggedRequest, window: ContextWindow | None) -> list[tuple[str, int, str]]:
    """Return the lines of a request's budget: a name, tokens (bounds), what it is."""
    last_request = sent.last_request
    rows = [
        ("outside", last_request.outside.bound, "system text, tools and head"),
        (
            "history",
            last_request.cost.bound - last_request.outside.bound,
            f"{last_request.parts:,} messages with what stands for others",
        ),
        ("request", last_request.cost.bound, f"{last_request.cost.estimate:,} by estimate"),
    ]
    if window is None:
        return rows
    of_window = [
        ("window", window.window_tokens, "input and output"),
        ("reserve", window.reserved_output_tokens, "for the answer"),
    ]
    return [
        *of_window,
        *rows,
        (
            "free",
            last_request.limit.bound - last_request.cost.bound,
            f"of the input limit, {last_request.limit.bound:,}",
        ),
    ]


def _put_turn(out: Printer, turn: LoggedTurn, *, whole: bool) -> None:
    values, first = turn.values, turn.messages[0].row
    when = f", {clock(first.time)}" if first.time is not None else ""
    out.rule(f"turn m{first.seq}: {span(first.seq, turn.messages[-1].row.seq)}{when}")
    out.heading("REQUEST MESSAGES")
    for one in values["asked"]:
        out.body(f"[{one['role']}] {one['text']}", whole=whole)
    _put_requests(out, turn)
    calls = values["tool_calls"]
    iterations = count(len({call["iteration"] for call in calls}), "iteration")
    out.heading(f"TOOL CALLS ({count(len(calls), 'call')} across {iterations})")
    for number, (call, sent_tokens) in enumerate(zip(calls, turn.truncated, strict=True), 1):
        _put_call(out, number, call, sent_tokens, whole=whole)
    out.heading("RESPONSE")
    response = values["response"]
    out.body("(none yet)" if response is None else response, whole=whole)
    if turn.budget:
        out.heading(f"BUDGET of request {values['requests'][-1]['number']} (bounds, in tokens)")
        out.numbers(turn.budget)


def _put_requests(out: Printer, turn: LoggedTurn) -> None:
    rows, events = [], []
    for number, (answer, sent) in enumerate(turn.steps, 1):
        if sent is None:
            continue
        last_request, usage, event = sent.last_request, sent.usage, sent.event
        cached = f" ({usage.cached_tokens:,} cached)" if usage and usage.cached_tokens else ""
        reported = f"{usage.input_tokens:,}{cached} + {usage.output_tokens:,}" if usage else "-"
        plan = str(last_request.plan_id) if last_request.plan_id >= 0 else "-"
        sizes = (str(sent.number), str(last_request.parts), f"{last_request.cost.bound:,}")
        rows.append((str(number), answer.handle, *sizes, reported, plan, event.cause if event else ""))
        events += [event] if event else []
    if not rows:
        out.say("no request is recorded for this turn", "dim", indent="  ")
        return
    out.table(COLUMNS, rows, texts=("event",), indent="  ")
    for event in events:
        out.say(event_line(event), indent="  ")


def _put_call(out: Printer, number: int, call: dict[str, Any], sent_tokens: int, *, whole: bool) -> None:
    out.say(f"[{number}] Tool: {call['tool']}  (iteration {call['iteration']})")
    if call["action"] is not None:
        out.say(f"Action: {call['action']}", indent="    ")
    shown = json.dumps(call["parameters"], ensure_ascii=False)
    if whole:
        out.body(f"Parameters: {shown}", whole=True, indent="    ")
    else:
        out.say(f"Parameters: {shorter(shown, out.columns - 16)}", indent="    ")
    if call["result"] is None:
        out.say("Result: none is recorded", indent="    ")
        return
    cut = f"; truncated to {sent_tokens:,} tokens" if sent_tokens else ""
    out.say(f"Result ({len(call['result']):,} chars{cut}):", indent="    ")
    out.body(call["result"], whole=whole, indent="      ", most_lines=4)
