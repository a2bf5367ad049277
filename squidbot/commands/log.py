"""`squidbot log`: the turn log, for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.events import event_line
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.turns import budget, turn_log
from squidbot.commands.texts import clock, count, shorter, span

if TYPE_CHECKING:
    from squidbot.commands.reading.requests import Sent
    from squidbot.commands.reading.turns import Called, Turn
    from squidbot.core.messages import Lease

__all__ = ["log"]

COLUMNS = ("iteration", "answer", "request", "parts", "tokens", "reported", "plan", "event")


@click.command()
@options.session
@click.argument("wanted", metavar="[MESSAGE]", required=False, callback=options.message)
@click.option("--last", metavar="N", type=click.IntRange(1), default=1, show_default=True, help="So many turns.")
@click.option("--whole", is_flag=True, help="Print long texts whole.")
@options.store
@options.as_json
def log(  # noqa: PLR0913  # an argument for each option
    *, session_id: str, wanted: int | None, last: int, whole: bool, store: str | None, as_json: bool
) -> None:
    """Show the newest turn, or that of MESSAGE, with those before it: requests, tool calls, response, budget."""
    with opened(store) as place:
        name = place.find(session_id)
        if wanted is not None and wanted >= place.length(name):
            raise click.UsageError(f"there is no m{wanted}: the session has {count(place.length(name), 'message')}")
        found = turn_log(place, name, last, wanted)
    if as_json:
        options.print_json(found.to_json())
        return
    paper = Paper()
    if not found.turns:
        paper.say(f"{name}: nothing has been said yet")
    for number, turn in enumerate(found.turns):
        if number:
            paper.blank()
        _print_turn(paper, turn, found.lease, whole=whole)
    paper.print()


def _print_turn(paper: Paper, turn: Turn, lease: Lease | None, *, whole: bool) -> None:
    messages = span(turn.first_seq, turn.last_seq)
    when = f", {clock(turn.entries[0].row.time)}" if turn.entries[0].row.time is not None else ""
    paper.rule(f"turn m{turn.first_seq}: {messages}{when}")
    paper.heading("REQUEST MESSAGES")
    for entry in turn.asked:
        paper.body(f"[{entry.row.role}] {entry.text}", whole=whole)
    _print_requests(paper, turn)
    iterations = count(len({call.iteration for call in turn.calls}), "iteration")
    paper.heading(f"TOOL CALLS ({count(len(turn.calls), 'call')} across {iterations})")
    for number, call in enumerate(turn.calls, 1):
        _print_call(paper, number, call, whole=whole)
    paper.heading("RESPONSE")
    paper.body(turn.response.text if turn.response else "(none yet)", whole=whole)
    last = turn.steps[-1].sent if turn.steps else None
    if last is not None:
        paper.heading(f"BUDGET of request {last.number} (bounds, in tokens)")
        paper.numbers(budget(last, lease))


def _print_requests(paper: Paper, turn: Turn) -> None:
    sent = [(step, step.sent) for step in turn.steps if step.sent]
    if not sent:
        paper.say("no request is recorded for this turn", "dim", indent="  ")
        return
    rows = [
        (
            f"{step.iteration}",
            step.entry.handle,
            f"{one.number}",
            f"{one.parts}",
            f"{one.cost.bound:,}",
            _reported(one),
            f"{one.plan_id}" if one.plan_id >= 0 else "-",
            one.event.cause if one.event else "",
        )
        for step, one in sent
    ]
    paper.table(COLUMNS, rows, texts=("event",), indent="  ")
    for _, one in sent:
        if one.event is not None:
            paper.say(event_line(one.event), indent="  ")


def _reported(sent: Sent) -> str:
    usage = sent.usage
    if usage is None:
        return "-"
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,}{cached} + {usage.output_tokens:,}"


def _print_call(paper: Paper, number: int, call: Called, *, whole: bool) -> None:
    paper.say(f"[{number}] Tool: {call.call.name}  (iteration {call.iteration})")
    if call.action is not None:
        paper.say(f"Action: {call.action}", indent="    ")
    shown = json.dumps(call.parameters, ensure_ascii=False)
    if whole:
        paper.body(f"Parameters: {shown}", whole=True, indent="    ")
    else:
        paper.say(f"Parameters: {shorter(shown, paper.columns - 16)}", indent="    ")
    if call.result is None or call.text is None:
        paper.say("Result: none is recorded", indent="    ")
        return
    cut = f"; cut at birth to {call.result.row.sent_cost.estimate:,} tokens" if call.result.is_cut else ""
    paper.say(f"Result ({len(call.text):,} chars{cut}):", indent="    ")
    paper.body(call.text, whole=whole, indent="      ", most_lines=4)
