"""`squidbot explain`: what the next request holds of a session, and the story of one message."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.events import event_line
from squidbot.commands.paper import Paper
from squidbot.commands.reading.explained import SUMMARY, Explained, explained
from squidbot.commands.reading.modes import prompt_line
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.stories import story
from squidbot.commands.texts import ago, clock, count, percent, seqs, shorter, span
from squidbot.core.budget import LEAST_FRACTION, RECENT, level_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.commands.reading.explained import Run
    from squidbot.commands.reading.stories import State, Story

__all__ = ["explain", "put_explained", "put_story"]

COLUMNS = ("messages", "sent as", "here", "said", "since")
BAR_CHARS = 32
NOTE_CHARS = 180
HOW = {
    "verbatim": "said word for word",
    "slimmed": "cut to head and tail",
    "summary": "told by notes",
    "absent": "not at all: a line says that it is stored",
    "recalled": "a copy of what was brought back",
    "forgotten": "forgotten: a mark stands in its place",
}


@click.command()
@options.session
@click.argument("wanted", metavar="[MESSAGE]", required=False, callback=options.message)
@options.store
@options.as_json
def explain(*, session_id: str, wanted: int | None, store: str | None, as_json: bool) -> None:
    """Explain what the next request holds of a session, what it costs, and why; or what became of MESSAGE (m17)."""
    with opened(store) as place:
        name = place.find(session_id)
        if wanted is not None and wanted >= place.length(name):
            raise click.UsageError(f"there is no m{wanted}: the session has {count(place.length(name), 'message')}")
        found = explained(place, name) if wanted is None else story(place, name, wanted)
    if as_json:
        options.print_json(found.to_json())
        return
    paper = Paper()
    if isinstance(found, Explained):
        put_explained(paper, found, time.time())
    else:
        put_story(paper, found, time.time())
    paper.print()


def put_explained(paper: Paper, found: Explained, now: float) -> None:
    """Put down what the next request holds, what it costs, and why; `now` is in seconds since 1970."""
    _print_plan(paper, found, now)
    if found.runs:
        paper.blank()
        paper.table(COLUMNS, [_row(run, now) for run in found.runs], texts=("messages", "sent as", "since"))
        paper.say("here: tokens in the next request; said: tokens of what was said (bounds)", "dim")
    paper.blank()
    paper.heading("Budget of the next request (bounds, in tokens)")
    counted = f"counted by {found.terms.lease.counter}"
    paper.say(f"{counted}: {found.counted}" if found.counted else counted, "dim")
    paper.numbers([line for line in found.budget() if line[1] or line[0] in {"window", "free"}])
    _print_categories(paper, found)
    _print_parts(paper, found)
    paper.blank()
    if found.remembered:
        said = "; ".join(f"{name.removeprefix('remembered ')} {tokens:,}" for name, tokens in found.remembered.items())
        paper.say(f"memory says unasked (head, and behind the first words): {said} tokens")
    if found.prompt is not None:
        paper.say(prompt_line(found.prompt))
    _print_pressure(paper, found)
    if not {"summary", "absent"}.isdisjoint(run.how for run in found.runs):
        paper.say("squidbot explain SESSION m17 tells of one message, squidbot recall SESSION m17 shows it", "dim")


def _print_categories(paper: Paper, found: Explained) -> None:
    shares = found.categories()
    if shares:
        paper.blank()
        paper.heading("Categories (bounds, in tokens; a share that nobody uses is borrowed)")
    over = ("", ", above its share")
    paper.numbers([(one.name, one.used, f"of {one.allotted:,} allotted{over[one.is_over]}") for one in shares])


def _print_parts(paper: Paper, found: Explained) -> None:
    shares = found.parts()
    if shares:
        paper.blank()
        paper.heading("Parts by tier (bounds, in tokens; what a part leaves is recent's, what it has more is borrowed)")
    over = ("", ", above its part: borrowed from recent")
    told = [(one, one.is_over and one.name != RECENT) for one in shares]
    paper.numbers([(one.name, one.used, f"of {one.allotted:,} allotted{over[above]}") for one, above in told])


def _print_plan(paper: Paper, found: Explained, now: float) -> None:
    """Put down which session it is, what its plan is, and what will become of that."""
    messages = found.room.standing.messages
    paper.heading(f"{found.session_id}: {count(messages, 'message')}; {_shares(found)}")
    if found.plan is not None:
        paper.say(f"{event_line(found.plan)}; {ago(found.plan.created_at, now)}", "dim")
    if found.due is not None:
        paper.say(f"the next request will change this: {event_line(found.due)}")
    if found.unfit is not None:
        paper.say(f"no request can be made now: {found.unfit}")


def _shares(found: Explained) -> str:
    """Return how many messages the next request holds in which way."""
    counts: dict[str, int] = {}
    for one in found.spans:
        counts[one.how] = counts.get(one.how, 0) + one.last_seq - one.first_seq + 1
    named = {"verbatim": "word for word", "slimmed": "cut", "summary": "in notes", "absent": "absent"}
    said = [f"{number:,} {named.get(how, how)}" for how, number in counts.items()]
    return f"the next request has {', '.join(said)}" if said else "the next request has nothing of it"


def _row(run: Run, now: float) -> tuple[str, ...]:
    said = "-" if run.said_tokens is None else f"{run.said_tokens:,}"
    event = run.event
    since = f"{event.cause}, plan {event.plan_id}, {ago(event.created_at, now)}" if event else ""
    return (span(run.first_seq, run.last_seq), _as(run), f"{run.here_tokens:,}", said, since)


def _as(run: Run) -> str:
    what = {"summary": f"notes {run.summary_id}", "absent": "absent, a pointer"}.get(run.how, run.how)
    beside = f"; word for word: {seqs(run.sent, 3)}" if run.sent else ""
    cut = f"; cut: {seqs(run.cut, 3)}" if run.cut else ""
    return f"{what}{beside}{cut}"


def _print_pressure(paper: Paper, found: Explained) -> None:
    """Put down history's share of its room as a bar, with the marks at which an event comes and to which it goes."""
    settings, share = found.settings, found.pressure_fraction
    bar = ["#" if place < share * BAR_CHARS else "." for place in range(BAR_CHARS)]
    for mark in (settings.low_fraction, settings.high_fraction):
        bar[min(BAR_CHARS - 1, int(mark * BAR_CHARS))] = "|"
    marks = f"an event at {percent(settings.high_fraction)}, down to {percent(settings.low_fraction)}"
    paper.say(f"pressure {percent(share)} [{''.join(bar)}] {marks}")
    if found.rungs:
        paper.say(f"rungs reached: {', '.join(found.rungs)}")
    level = level_of(found.reliability)
    advice = "; a new conversation is better" if found.reliability < LEAST_FRACTION else ""
    paper.say(f"reliability {percent(found.reliability)}, {level}{advice}")


def put_story(paper: Paper, found: Story, now: float) -> None:
    """Put down what became of one message; `now` is in seconds since 1970."""
    entry = found.entry
    row = entry.row
    tools = f" {', '.join(tool or call_id for call_id, tool in entry.answers)}" if entry.answers else ""
    paper.heading(f"{entry.handle} {row.role}{tools}, {clock(row.time)} ({ago(row.time, now)})")
    paper.body(entry.text or " ".join(f"-> {call.name} {call.arguments}" for call in entry.calls), most_lines=4)
    paper.blank()
    paper.pairs([*_born(found), *_path(found, now), *_now(found)])
    if found.note is not None:
        paper.blank()
        paper.heading(f"What notes {found.note.summary_id} tell of it")
        for one in found.lines or ("(no line of them names what it names)",):
            paper.say(shorter(one, NOTE_CHARS), indent="  ")
    paper.blank()
    paper.say(f"whole: squidbot recall SESSION {entry.handle}; the model: history, recall {entry.handle}", "dim")


def _born(found: Story) -> list[tuple[str, str]]:
    row = found.entry.row
    counted = f"{row.cost.bound:,} tokens by {row.counter}, as a bound"
    lines = [("said", f"in the turn of m{row.turn}; {counted}")]
    if found.entry.is_cut:
        what = "tool output" if row.result_ids else "step"
        cut = f"cut to {row.sent_cost.bound:,} tokens before it was first sent; the transcript has all of it"
        lines.append(("born", f"{cut}. A {what} that large would have taken too much of the room there was"))
    if row.notice:
        lines.append(("notice", f"frozen behind it at its birth: {shorter(row.notice, 60)}"))
    return lines


def _path(found: Story, now: float) -> list[tuple[str, str]]:
    """Return a line for each way in which it was sent; notes behind notes are told as one."""
    if len(found.states) < 2:
        return []
    groups = [list(group) for _, group in groupby(found.states, key=lambda state: state.how)]
    return [(_plans(group[0], group[-1]), _how(group, now)) for group in groups]


def _plans(first: State, last: State) -> str:
    if last.last_plan < 0:
        return "at first"
    number = max(0, first.first_plan)
    return f"plan {number}" if number == last.last_plan else f"plans {number}-{last.last_plan}"


def _how(group: Sequence[State], now: float) -> str:
    state, event = group[0], group[0].event
    said = HOW.get(state.how, state.how)
    if state.summary_id:
        others = f", at last {group[-1].summary_id}" if len(group) > 1 else ""
        said = f"told by notes {state.summary_id}{others}"
    if event is None:
        return said
    price = f", at {event.price.tokens:,.0f} input tokens" if event.price else ""
    what = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens{price}"
    return f"{said}: {event.cause} {ago(event.created_at, now)}, {what}"


def _now(found: Story) -> list[tuple[str, str]]:
    state, run = found.now, found.run
    pinned = "; pinned: it stays so" if found.pinned else ""
    said = f"{HOW.get(state.how, state.how)}{pinned}"
    if state.how == SUMMARY:
        said = f"notes {state.summary_id} stand for {span(run.first_seq, run.last_seq)}, {run.here_tokens:,} tokens"
    elif found.here_tokens:
        said = f"{said}, {found.here_tokens:,} tokens"
    return [("now", said)]
