"""`squidbot session`: a store's conversations, what is sent of them, and changes to that by hand."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import click

from squidbot.cli.explain import BY_TIME, parent_json, parent_line, plan_json
from squidbot.cli.explain import explain as explained
from squidbot.cli.export import export
from squidbot.cli.forget import forget
from squidbot.cli.jobs import jobs
from squidbot.cli.log import log
from squidbot.cli.output import Result, ResultGroup, command, limit, message
from squidbot.cli.texts import (
    ANSWER_IS_NO,
    BUDGET_IMPOSSIBLE,
    DAMAGED_DATA,
    ago,
    clock,
    count,
    event_line,
    parameters,
    seqs,
    short_ago,
    shorter,
    span,
    stop,
)
from squidbot.core.errors import BudgetError, ConfigError, DamagedStoreError, NotFoundError, SquidbotError
from squidbot.core.memory.injection import MessageSearch
from squidbot.core.messages import BEHIND_SCENES, Kind
from squidbot.core.recall.history import hits_of, in_view, resolve
from squidbot.core.recall.search import read_query
from squidbot.core.transcript.documents import DOCUMENT, SessionDocuments
from squidbot.core.transcript.goals import ACTIONS, GoalBook, stored_goals
from squidbot.core.transcript.lineage import BELOW, CONTINUED, ROTATED, above, children_of
from squidbot.core.transcript.pins import PIN
from squidbot.core.transcript.windows import WINDOW
from squidbot.engine import Engine
from squidbot.report.listing import MOST_LISTED, session_row
from squidbot.services.documents import DocumentSources
from squidbot.services.forget import forget_document, forget_named
from squidbot.tools.goals import goal_lines
from squidbot.wiring.claims import wait
from squidbot.wiring.registry import database, store_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.cli.open_store import OpenStore, ShownMessage
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import Part
    from squidbot.core.plan import PlanRecord
    from squidbot.core.recall.history import HistoryHit
    from squidbot.core.transcript.goals import Goals
    from squidbot.core.transcript.lines import LineState, LineStore
    from squidbot.core.transcript.snapshots import Snapshot
    from squidbot.core.view.assembly import CoreAssembly

ROLE_STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "bold yellow", "system": "bold magenta"}
ID_CHARS, LEAST_ID_CHARS, SNIPPET_CHARS = 28, 12, 190
LISTED = 30
# How many sessions below one are listed, and how far they are indented, in characters.
MOST_CHILDREN, MOST_INDENT = 3, 12
COLUMNS = ("project", "messages", "begun", "newest", "requests", "tokens", "plan", "window", "model")
# Of a project's path, the end is shown.
PROJECT_CHARS = 20
# The columns that a narrower page leaves out, the first ones first, behind those that are empty.
SPARED = ("begun", "requests", "window", "model")
NEXT, END = "next", 10**12
_RANGE = re.compile(r"m?([0-9]{1,12})(?:(-)(?:m?([0-9]{1,12}))?)?")
# The name of a request's part that represents no message.
_MADE = {
    Kind.MEMORY: "document",
    Kind.PIN: "pinned text",
    Kind.SYSTEM: "system text",
    Kind.MARKED: "goals and decisions",
}
_STANDS = {Kind.SLIMMED: ", cut", Kind.RECALLED: ", found or recalled", Kind.FORGOTTEN: ", forgotten"}


@click.group(cls=ResultGroup)
def session() -> None:
    """List, show, explain, search and change sessions. SESSION is an id, or the beginning of only one id."""


for inner in (export, forget, jobs, log):
    session.add_command(inner)


# -- list ------------------------------------------------------------------------------------------------------


@session.command("list", on="store")
@click.option("--under", metavar="SESSION", help="List only this session and all sessions below it.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help="Number of sessions to show.  [default: 30; with --under, all]"
)
def list_(place: OpenStore, *, under: str | None, limit: int | None) -> Result:
    """List the sessions of a store, the newest first.

    Below a session stand those that continue it, and those of agents that it called. project: the folder that a coding
    agent worked in, or the end of its path. tokens: the size of the newest
    request, an upper bound. plan: the current plan, and why it was made. window: tokens of input and output together,
    with the model that the session last used.
    """
    stored = dict(place.sessions())
    above_of = {name: above(name, stored.__contains__) for name in stored}
    if under is not None:
        family = _family(place, place.find(under), above_of)
        above_of = {name: above_of[name] for name in family}
    most = limit or (LISTED if under is None else len(stored))
    found = _with_parents(place, [*above_of][-max(most, MOST_LISTED) :], stored, above_of)
    found.sort(key=lambda one: -(one["last_time"] or 0.0))
    damaged = [f"{one['session']}: {one['damaged']}" for one in found[:most] if one["damaged"]]
    values = {"sessions": found[:most], "total": len(above_of)}
    none = "" if found else f"no sessions{_whose(place)}"

    def put(out: Printer) -> None:
        if none:
            out.say(none)
            return
        _put_list(out, found, above_of, most, MOST_CHILDREN if under is None else most)

    return Result(values, put, DAMAGED_DATA if damaged else 0, damaged)


def _whose(place: OpenStore) -> str:
    """Return whose sessions were looked for in a database, and how many other tenants it has; "" for other stores."""
    loaded = place.wired.loaded
    if store_name(loaded) != "psycopg":
        return ""
    whose = f" of tenant {loaded.settings.store.tenant}" if loaded.settings.store.tenant else " of no tenant"
    try:
        with closing(database(loaded)) as server:
            others = [name for name in server.tenants() if name != (server.tenant or "")]
    except SquidbotError:  # this role may see one tenant only
        return whose
    return f"{whose}; other tenants in this database: {len(others)} (store.tenant)" if others else whose


def _family(place: OpenStore, session_id: str, above_of: Mapping[str, str | None]) -> list[str]:
    """Return a session and all below it, each level oldest first."""
    below: dict[str | None, list[str]] = {}
    for name, parent in above_of.items():
        below.setdefault(parent, []).append(name)
    family = {session_id: None}
    todo = [session_id]
    for one in todo:
        children = below.get(one, [])
        with suppress(DamagedStoreError):
            children = [*children, *(link.other for link in children_of(place.store, one))]
        new = dict.fromkeys(name for name in children if name in above_of and name not in family)
        family |= new
        todo += new
    return todo


def _with_parents(
    place: OpenStore, names: Sequence[str], stored: Mapping[str, int], above_of: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """Return what is known about sessions, and about those above them."""
    found: dict[str, dict[str, Any]] = {}
    todo = [*names]
    for name in todo:
        if name not in found:
            found[name] = session_row(place, name, stored[name], above_of[name])
            if (parent := found[name]["parent"]) in above_of:
                todo.append(parent)
    return [*found.values()]


def _put_list(
    out: Printer, found: Sequence[dict[str, Any]], above_of: Mapping[str, str | None], limit: int, most_children: int
) -> None:
    """Put sessions as a tree; `above_of` has the id above each session, also of those that were not read."""
    rows = {one["session"]: one for one in found}
    parents = _drawn_parents(rows)
    below = _below(rows, parents)
    chosen = _chosen(below, limit, most_children)
    every = {**above_of, **parents}
    hidden = Counter(_nearest(name, every, chosen) for name in every if name not in chosen)
    now = time.time()
    lines = [_list_row(rows, hidden, *line, now) for line in _lines(below, chosen, hidden)]
    empty = [name for name in COLUMNS if all(one[name] in {None, ""} for one in lines)]
    kept = ["session", *(name for name in COLUMNS if name != "project" or name not in empty)]
    for name in dict.fromkeys(name for name in (*empty, *SPARED) if name in kept):
        if out.fits([{name: one[name] for name in kept} for one in lines]):
            break
        kept.remove(name)
    out.table([{name: one[name] for name in kept} for one in lines], whole="session")
    if any(hidden[name] for name in chosen):
        out.say(f"all of a family: {command('session', 'list', '--under', 'SESSION')}", "dim")
    if older := hidden[None]:
        out.say(f"… {count(older, 'older session')}; --limit {len(above_of)} lists all", "dim")


def _drawn_parents(rows: Mapping[str, dict[str, Any]]) -> dict[str, str | None]:
    """Return under which session each one is drawn: one chain of sessions that continue each other is one level."""
    parents: dict[str, str | None] = {}
    for name, row in rows.items():
        parent, way, seen = row["parent"], row["way"], {name}
        while way in {CONTINUED, ROTATED} and parent in rows and parent not in seen and rows[parent]["way"] == way:
            seen.add(parent)
            parent = rows[parent]["parent"]
        parents[name] = parent if parent in rows else None
    for name, parent in parents.items():
        one, seen = parent, {name}
        while one is not None and one not in seen:
            seen.add(one)
            one = parents[one]
        if one == name:  # a circle; it is cut here
            parents[name] = None
    return parents


def _below(rows: Mapping[str, dict[str, Any]], parents: Mapping[str, str | None]) -> dict[str | None, list[str]]:
    """Return the sessions drawn under each one, those of the families with the newest messages first."""
    newest = dict.fromkeys(rows, 0.0)
    below: dict[str | None, list[str]] = {}
    for name, row in rows.items():
        below.setdefault(parents[name], []).append(name)
        one: str | None = name
        while one is not None and newest[one] < (row["last_time"] or 0.0):
            newest[one] = row["last_time"]
            one = parents[one]
    return {parent: sorted(names, key=lambda name: -newest[name]) for parent, names in below.items()}


def _chosen(below: Mapping[str | None, Sequence[str]], limit: int, most_children: int) -> set[str]:
    """Return the first sessions of a tree, up to `limit`, and of many below one only `most_children`."""
    chosen = set[str]()
    todo = [*reversed(below.get(None, ()))]
    while todo and len(chosen) < limit:
        name = todo.pop()
        chosen.add(name)
        children = below.get(name, ())
        todo += reversed(children[: most_children if len(children) > most_children + 1 else None])
    return chosen


def _nearest(name: str, parents: Mapping[str, str | None], chosen: AbstractSet[str]) -> str | None:
    """Return the nearest session above one that is chosen, None if none is."""
    one, seen = parents.get(name), {name}
    while one is not None and one not in chosen and one not in seen:
        seen.add(one)
        one = parents.get(one)
    return one if one in chosen else None


def _lines(
    below: Mapping[str | None, Sequence[str]], chosen: AbstractSet[str], hidden: Mapping[str | None, int]
) -> Iterator[tuple[str, str, str | None]]:
    """Yield the lines of a tree: how it begins, a session, and the one above; "" stands for those that are hidden."""
    todo = [("", "", name, cast("str | None", None)) for name in reversed(below.get(None, ())) if name in chosen]
    while todo:
        lead, deeper, name, parent = todo.pop()
        yield lead, name, parent
        inner = [one for one in below.get(name, ()) if one in chosen] if name else []
        inner += [""] if name and hidden[name] else []
        for place, one in reversed([*enumerate(inner, 1)]):
            edge, next_deeper = ("└─ ", "   ") if place == len(inner) else ("├─ ", "│  ")
            todo.append((deeper + edge, (deeper + next_deeper)[:MOST_INDENT], one, name))


def _list_row(  # noqa: PLR0913, PLR0917  # a line of the tree
    rows: Mapping[str, dict[str, Any]],
    hidden: Mapping[str | None, int],
    lead: str,
    name: str,
    parent: str | None,
    now: float,
) -> dict[str, object]:
    if not name:
        return {"session": f"{lead}… {hidden[parent]:,} more", **dict.fromkeys(COLUMNS, "")}
    one = rows[name]
    # The rest of the id is enough below that of its parent.
    shown = name.removeprefix(f"{parent}/") if parent else name
    way = f" ({shorter(one['way'], LEAST_ID_CHARS)})" if one["way"] not in {None, BELOW} else ""
    plan = None if one["plan"] is None else f"{one['plan']} {one['cause']}"
    values = (
        one["project"] and _project_end(one["project"]),
        one["messages"],
        short_ago(one["first_time"], now),
        short_ago(one["last_time"], now),
        one["requests"],
        one["request_tokens"],
        "damaged" if one["damaged"] else plan,
        one["window"],
        one["model"],
    )
    room = max(LEAST_ID_CHARS, ID_CHARS - len(lead) - len(way))
    return {"session": f"{lead}{shorter(shown, room)}{way}", **dict(zip(COLUMNS, values, strict=True))}


def _project_end(path: str) -> str:
    """Return a project's path; of a long one, the end, from a folder's name on if there is one."""
    if len(path) <= PROJECT_CHARS:
        return path
    end = path[1 - PROJECT_CHARS :]
    return f"…{end[max(0, end.find('/')) :]}"


# -- show, explain ---------------------------------------------------------------------------------------------


def _number(_: click.Context, __: click.Parameter, value: str | None) -> str | int | None:
    if value is None or value == NEXT:
        return value
    if not value.isdecimal() or len(value) > 12:
        raise click.BadParameter(f"{value[:40]!r} is not a request number; write 17, or nothing for the next one")
    return int(value)


def _range(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    found = _RANGE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value[:40]!r} is not a range of messages; write m17, m17-m30 or m17-")
    first = int(found[1])
    last = int(found[3]) if found[3] else END if found[2] else first
    if last < first:
        raise click.BadParameter(f"m{last} stands before m{first}; write m{last}-m{first}")
    return first, last


@session.command(on="session")
@click.argument("wanted", metavar="[RANGE]", required=False, callback=_range)
@click.option(
    "--request",
    metavar="[N]",
    is_flag=False,
    flag_value=NEXT,
    callback=_number,
    help="Show the next request, part by part, or recorded request N (from 0).",
)
@click.option("--from", "start", metavar="ID", callback=message, help="Begin at this message.")
@limit(20, "messages")
@click.option(
    "--all", "everything", is_flag=True, help="Also show system text, context, tool output and automated messages."
)
@click.option("--whole", is_flag=True, help="Print long texts whole.")
@click.option("--line", "number", metavar="N", type=click.IntRange(0), help="Show only the messages of line N.")
def show(  # noqa: PLR0913  # an argument for each option
    place: OpenStore,
    name: str,
    *,
    wanted: tuple[int, int] | None,
    request: str | int | None,
    start: int | None,
    limit: int,
    everything: bool,
    whole: bool,
    number: int | None,
) -> Result:
    """Show the newest messages, or those of RANGE (m17, m17-m30, m17-). A single message is shown whole.

    System text, context, tool output and automated messages (which a program wrote in the user's role) are only
    counted, unless you pass --all or set ui.show_context_messages. After an edit or a fork, messages that the model no
    longer sees are marked; see `squidbot session lines`.

    --request shows a request instead: the next one without new messages, or one that was sent. With --json you get it
    byte for byte.
    """
    if request is not None:
        return _request(place, name, None if isinstance(request, str) else request, whole=whole)
    messages = place.length(name)
    if number is not None and wanted is None and start is None:
        newest = place.line(name, number).newest_seqs(limit)
        wanted, limit = (newest[0], newest[-1]) if newest else (0, 0), messages
    first, last = _ends(messages, wanted, start, limit)
    values, found = _page(place, name, first, last)
    if number is not None:
        found = _of_line(place.line(name, number), found)
        values |= {"line": number, "shown": [one.to_json() for one in found]}
    alone = wanted is not None and len({*wanted}) == 1
    everything = everything or alone or place.wired.loaded.settings.ui.show_context_messages

    def put(out: Printer) -> None:
        out.heading(f"{name}: {count(messages, 'message')}{f'; {span(first, last)} below' if found else ''}")
        if line := parent_line(values):
            out.say(line, "dim")
        _put_messages(out, found, everything=everything, whole=whole or alone)
        _put_ways(out, first, last, messages if found else 0, limit)

    return _with_damage(name, values, put)


def _of_line(line: LineStore, found: Sequence[ShownMessage]) -> list[ShownMessage]:
    """Return the messages that a line has."""
    return [one._replace(line=None) for one in found if line.has(one.row.seq)]


def _with_damage(name: str, values: dict[str, Any], put: Callable[[Printer], None]) -> Result:
    if not (damaged := values["damaged"]):
        return Result(values, put)
    ids = seqs([int(one[1:]) for one in damaged])
    return Result(values, put, DAMAGED_DATA, [f"{name}: {ids} cannot be read; run squidbot store doctor"])


def _page(place: OpenStore, name: str, first: int, last: int) -> tuple[dict[str, Any], list[ShownMessage]]:
    """Return the messages of a range, both ends included, as values and as they are shown."""
    found, damaged = place.shown(name, first, last)
    return {
        "session": name,
        "messages": place.length(name),
        **parent_json(place, name),
        "first": first if found else None,
        "last": last if found else None,
        "shown": [one.to_json() for one in found],
        "damaged": [span(seq) for seq in damaged],
    }, found


def _ends(messages: int, wanted: tuple[int, int] | None, start: int | None, limit: int) -> tuple[int, int]:
    """Return the first and the last message to show, both in the session."""
    first, last = wanted or (max(0, messages - limit), END)
    if wanted and start is None and first >= messages > 0:
        raise click.UsageError(f"there is no m{first}: the session has m0 to m{messages - 1}")
    first = first if start is None else start
    return first, min(last, first + limit - 1, messages - 1)


def _put_messages(out: Printer, found: Sequence[ShownMessage], *, everything: bool, whole: bool) -> None:
    """Put messages; unless `everything`, only count those of `BEHIND_SCENES`."""
    shown = [one for one in found if everything or one.row.category not in BEHIND_SCENES]
    for one in shown:
        out.blank()
        _put_message(out, one, whole=whole)
    if hidden := len(found) - len(shown):
        out.blank()
        out.say(f"{count(hidden, 'message')} of system text, context, tool output not shown: --all", "dim")


def _put_ways(out: Printer, first: int, last: int, messages: int, limit: int) -> None:
    """Say how to continue reading, in both directions."""
    after, ways = messages - 1 - last, []
    if messages and first > 0:
        ways.append(f"{first:,} earlier: --from m{max(0, first - limit)}")
    if messages and after > 0:
        ways.append(f"{after:,} later: --from m{last + 1}")
    if ways:
        out.blank()
        out.say("; ".join(ways), "dim")


def _put_message(out: Printer, shown: ShownMessage, *, whole: bool) -> None:
    """Put a message: author, time, size, text, the tool calls it makes."""
    row = shown.row
    cut = f", truncated: {row.sent_cost.estimate:,} of them are sent" if shown.is_cut else ""
    other = "" if shown.line is None else f", on line {shown.line}, not sent"
    text = f"{shown.handle}  {shown.who}  {clock(row.time)}  {count(row.cost.estimate, 'token')}{cut}{other}"
    out.heading(text, ROLE_STYLES.get(row.role, "bold"))
    if shown.text:
        out.body(shown.text, whole=whole)
    for call in shown.calls:
        arguments = call.arguments if whole else parameters(call.arguments, out.columns - len(call.name) - 6)
        out.body(f"-> {call.name} {arguments}", whole=whole)
        for child, _ in (one for one in shown.children if one[1] == call.id):
            out.say(f"=> {child}", indent="  ")
    for child, _ in (one for one in shown.children if not one[1]):
        out.say(f"=> perhaps {child}: {BY_TIME}", indent="  ")
    if row.notice:
        out.body(f"notice, frozen behind it: {row.notice}", whole=whole, style="dim")


def _request(place: OpenStore, name: str, number: int | None, *, whole: bool) -> Result:
    """Show the recorded request of a number; for `None`, the one that would be sent without new messages."""
    core = place.session(name)
    made = core.preview() if number is None else core.request(number)
    for tag in {part.codec for part in made.parts if part.codec}:
        place.codec(tag)
    outside = max(0, made.cost.bound - sum(part.cost.bound for part in made.parts))
    values = {
        "session": made.session_id,
        "request": number,
        "tokens": made.cost.estimate,
        "bound": made.cost.bound,
        "limit": made.limit.bound,
        "outside_tokens": outside,
        "plan": made.plan.plan_id if made.plan else None,
        "event": plan_json(made.event),
        "parts": [_part_json(*one) for one in zip(made.parts, made.payloads, strict=True)],
    }
    which = "the next request, without new messages" if number is None else f"request {number}"
    return Result(values, lambda out: _put_request(out, made, which, outside, whole=whole))


def _part_json(part: Part, payload: str) -> dict[str, object]:
    known = part.first_seq >= 0
    return {
        "kind": part.kind.value,
        "role": part.role,
        "tokens": part.cost.estimate,
        "bound": part.cost.bound,
        "first": span(part.first_seq) if known else None,
        "last": span(part.last_seq) if known else None,
        "summary": part.summary_id,
        "payload": payload,
    }


def _put_request(out: Printer, made: CoreAssembly, which: str, outside: int, *, whole: bool) -> None:
    limit_tokens = min(made.limit.bound, made.window.window_tokens - made.max_output_tokens)
    cost = f"at most {made.used_tokens:,} of {limit_tokens:,} tokens"
    out.heading(f"{made.session_id}: {which}: {count(len(made.parts), 'part')}, {cost}")
    if outside:
        out.say(f"{outside:,} tokens of system text, tools and template, not stored", "dim")
    if made.event is not None:
        out.say(f"it brings a plan change: {event_line(made.event)}")
    codec = made.codecs[made.form]
    for number, (part, payload) in enumerate(zip(made.parts, made.payloads, strict=True)):
        value = json.loads(payload)
        messages = [json.dumps(one) for one in value] if isinstance(value, list) else [payload]
        out.blank()
        style = ROLE_STYLES.get(part.role, "bold")
        out.heading(f"#{number}  {part.role}  {_about(part)}  {count(part.cost.bound, 'token')}", style)
        out.body("\n".join(codec.decode(one).rendered for one in messages), whole=whole, most_lines=4)


def _about(part: Part) -> str:
    """Return what a part is: its message, or its replacement for messages."""
    if part.summary_id is not None:
        return f"notes {part.summary_id} for {span(part.first_seq, part.last_seq)}"
    if part.first_seq < 0:
        return _MADE.get(part.kind, "notice")
    stands = "" if part.first_seq == part.last_seq else "pointer to "
    return f"{stands}{span(part.first_seq, part.last_seq)}{_STANDS.get(part.kind, '')}"


@session.command(on="session")
@click.argument("wanted", metavar="[MESSAGE]", required=False, callback=message)
def explain(place: OpenStore, name: str, *, wanted: int | None) -> Result:
    """Account for every message: whether the next request has it, in which form, at what cost, and why.

    With MESSAGE (m17), tell the story of that message, and which agents its calls called.
    """
    place.check_message(name, wanted)
    return explained(place, name, wanted)


# -- recall, search --------------------------------------------------------------------------------------------


@session.command(on="session", writes="send")
@click.argument("handle", metavar="ID")
@click.option("--from", "start", metavar="ID", callback=message, help="Begin at this message.")
@limit(20, "messages")
@click.option("--send", is_flag=True, help="Add as much as fits to the conversation, so that the next request has it.")
def recall(  # noqa: PLR0913  # an argument for each option
    place: OpenStore, name: str, *, handle: str, start: int | None, limit: int, send: bool
) -> Result:
    """Show the messages behind ID, whole: a message (m17), a range (m17-m40) or notes (s12-80.ab12).

    Only --send changes the session.
    """
    if send:
        return _send(place, name, handle)
    run = resolve(handle, place.length(name), place.store, name)
    first = max(run.first_seq, start or 0)
    last = min(run.last_seq, first + limit - 1)
    page_values, found = _page(place, name, first, last)
    named = place.store.by_id(name, [handle])
    stands_for, notes = span(run.first_seq, run.last_seq), named[0] if named else None
    values = {"id": handle, "stands_for": stands_for, "summary": notes.text if notes else None, **page_values}

    def put(out: Printer) -> None:
        what = f"notes {notes.summary_id} stand for " if notes else ""
        out.heading(f"{name}: {what}{stands_for}")
        _put_messages(out, found, everything=True, whole=True)
        if last < run.last_seq:
            out.blank()
            left = count(run.last_seq - last, "message")
            out.say(f"{left} more: --from m{last + 1}, or --limit {max(limit, run.last_seq)}", "dim")

    return _with_damage(name, values, put)


def _send(place: OpenStore, name: str, handle: str) -> Result:
    seen = place.seen(name)
    made = place.wired.engine.history(seen.core, seen.meter).recall(handle, now=time.time())
    shown = span(made.pieces[0].seq, made.pieces[-1].seq)
    values = {"session": name, "id": handle, "shown": shown, "recorded": made.recorded, "text": made.text}
    return Result(values, f"{shown} of {name} will be in the next request, as m{made.recorded}")


@session.command(on="session", writes=True)
@click.argument("query")
@limit(10, "hits")
@click.option(
    "--offset", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="Number of hits to skip."
)
@click.option("--all-lines", is_flag=True, help="Also search what the model no longer sees after an edit or a fork.")
def search(  # noqa: PLR0913  # an argument for each option
    place: OpenStore, name: str, *, query: str, limit: int, offset: int, all_lines: bool
) -> Result:
    """Search messages by their words and by the messages beside them, best first.

    A single word and a "quoted phrase" must match literally. A phrase that nobody said is searched by its words. New
    messages are indexed first.
    """
    now, end = time.time(), offset + limit
    try:
        line, words = place.line(name), read_query(query)
        shown = in_view(place.session(name).room().view)
        turns = MessageSearch(place.store if all_lines else line, name, place.codec)
        every = hits_of(turns.found(query, now), words, place.codec, shown)
        hits = list(islice(every, offset, end + 1))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="QUERY") from error
    next_offset = end if len(hits) > limit else None
    values = {
        "session": name,
        "query": query,
        "hits": [{**_hit_json(hit), "other_line": _other_line(line, hit.row.seq)} for hit in hits[:limit]],
        "next_offset": next_offset,
    }

    def put(out: Printer) -> None:
        for hit in out.apart(hits[:limit]):
            where = f", {hit.shown}" if hit.shown else ""
            where += "" if line.has(hit.row.seq) else f", on line {_other_line(line, hit.row.seq)}"
            when = f"{clock(hit.row.time)}, {ago(hit.row.time, now)}"
            out.heading(f"{span(hit.row.seq)}  {hit.row.role}  {when}  score {hit.score:.2f}{where}")
            out.body(shorter(hit.snippet, SNIPPET_CHARS))
        if not hits:
            out.say(f"{name}: nothing found for {query}")
        if next_offset is not None:
            out.blank()
            out.say(f"more: --offset {next_offset}", "dim")

    return Result(values, put, 0 if hits else ANSWER_IS_NO)


def _other_line(line: LineStore, seq: int) -> int | None:
    """Return the line on which a message was recorded; None if the line at hand has it."""
    return None if line.has(seq) else line.lines.line_of(seq)


def _hit_json(hit: HistoryHit) -> dict[str, object]:
    where = {"in_next_request": hit.shown or None}
    texts = {"role": hit.row.role, "time": hit.row.time, "snippet": hit.snippet}
    return {"id": span(hit.row.seq), "score": hit.score, **texts, **where}


@session.command(on="session")
def lines(place: OpenStore, name: str) -> Result:
    """List the lines of a session. An edit, a fork or a regenerated message begins a new line; the others stay.

    An asterisk marks the line that the model sees.
    """
    every = place.line(name).states()

    def put(out: Printer) -> None:
        now = time.time()
        out.table(
            [
                {
                    "line": f"{one.number}{' *' if one.is_current else ''}",
                    "forked": "" if one.parent is None else f"line {one.parent} before {span(one.left_at or 0)}",
                    "messages": one.messages,
                    "newest": span(one.last_seq) if one.messages else "",
                    "begun": "" if one.at is None else f"{clock(one.at)}, {ago(one.at, now)}",
                }
                for one in every
            ]
        )

    return Result({"session": name, "lines": [_line_json(one) for one in every]}, put)


def _line_json(one: LineState) -> dict[str, object]:
    return {
        "line": one.number,
        "parent": one.parent,
        "left_before": None if one.left_at is None else span(one.left_at),
        "messages": one.messages,
        "newest": span(one.last_seq) if one.messages else None,
        "begun": one.at,
        "current": one.is_current,
    }


@session.command(on="session", writes=True)
@click.argument("line", type=click.IntRange(0))
def switch(place: OpenStore, name: str, *, line: int) -> Result:
    """Go back to a line, by its number in `session lines`. The next request continues it."""
    try:
        place.session(name).switch(line)
    except NotFoundError as error:
        raise click.UsageError(str(error)) from error
    return Result({"session": name, "line": line}, f"{name}: line {line} is talked on")


# -- the view plan, changed by hand ----------------------------------------------------------------------------


def _changed(name: str, plan: PlanRecord, what: str) -> Result:
    text = f"{name}: {what}; {event_line(plan)}"
    return Result({"session": name, "event": plan_json(plan)}, lambda out: out.say(text))


@session.command(on="session", writes=True)
def compact(place: OpenStore, name: str) -> Result:
    """Compact the session now, however full the window is. No message is lost; `undo` takes it back."""
    plan = place.session(name).compact(now=time.time())
    if plan is None:
        return Result({"session": name, "event": None}, f"{name}: nothing to compact", ANSWER_IS_NO)
    place.wired.hooks.tell("compacted", session_id=name, plan=plan)
    return _changed(name, plan, "compacted")


@session.command(on="session", writes=True)
def undo(place: OpenStore, name: str) -> Result:
    """Take back the newest plan change. The next request is the former one, byte for byte, and newer messages.

    Run it again to go further back. After an undo, squidbot compacts only if a request does not fit, if you call
    `compact`, or if the window changes.
    """
    try:
        plan = place.session(name).undo(now=time.time())
    except BudgetError as error:
        stop(f"{name}: the earlier request no longer fits; nothing was changed: {error}", BUDGET_IMPOSSIBLE)
    return _changed(name, plan, "everything is sent verbatim" if plan.repeats == -1 else "undone")


@session.command(on="session", writes=True)
@click.argument("snapshot", metavar="NAME")
def snapshot(place: OpenStore, name: str, *, snapshot: str) -> Result:
    """Save the current view and the pins under NAME. A snapshot of the same name is replaced."""
    try:
        made = place.session(name).snapshot(snapshot, now=time.time())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from error
    text = f"{name}: snapshot {made.name} of {count(made.messages, 'message')}"
    return Result({"session": name, "snapshot": _snapshot_json(made)}, text)


@session.command(on="session")
def snapshots(place: OpenStore, name: str) -> Result:
    """List the snapshots of a session, oldest first: yours, and those that squidbot made when the window got full."""
    kept = [_snapshot_json(one) for one in place.session(name).snapshots()]

    def put(out: Printer) -> None:
        if not kept:
            out.say(f"{name}: no snapshots")
            return
        now, keys = time.time(), ("cause", "plan", "messages")
        made = (f"{clock(one['time'])}, {ago(one['time'], now)}" for one in kept)
        pairs = zip(kept, made, strict=True)
        out.table([{"name": one["name"], "made": when, **{key: one[key] for key in keys}} for one, when in pairs])

    return Result({"session": name, "snapshots": kept}, put)


def _snapshot_json(one: Snapshot) -> dict[str, Any]:
    plan = one.plan_id if one.plan_id >= 0 else None
    values = {"name": one.name, "automatic": one.automatic, "cause": one.cause, "plan": plan}
    return {**values, "messages": one.messages, "time": one.created_at}


@session.command(on="session", writes=True)
@click.argument("snapshot", metavar="NAME")
def restore(place: OpenStore, name: str, *, snapshot: str) -> Result:
    """Go back to the snapshot NAME; newer messages stay. squidbot first saves the present state as a snapshot."""
    return _changed(name, place.session(name).restore(snapshot, now=time.time()), f"restored {snapshot}")


# -- what belongs to a session beside its messages -------------------------------------------------------------


@session.command("continue", on="session", writes=True)
@click.argument("new_id", metavar="NEW")
def continue_(place: OpenStore, name: str, *, new_id: str) -> Result:
    """Start the session NEW with the goals, decisions, documents and pins of SESSION, without its conversation."""
    made = Engine(place.wired).continued(name, new_id).session_id
    known = stored_goals(place.store, made)
    goal, decisions = known.active.text if known.active else None, len(known.decisions)
    documents = len(DOCUMENT.state(place.store, made))
    pins = len(PIN.state(place.store, made).texts)
    taken = {"goal": goal, "decisions": decisions, "documents": documents, "pins": pins}

    def put(out: Printer) -> None:
        out.heading(f"{made} continues {name}")
        out.say(f"goal: {goal or 'none'}", indent="  ")
        out.say(f"{count(decisions, 'decision')}, {count(documents, 'document')}, {count(pins, 'pin')}", indent="  ")

    return Result({"session": made, "parent": name, **taken}, put)


@session.command(on="session", writes="action")
@click.argument("action", required=False, type=click.Choice([*ACTIONS, "forget"]))
@click.argument("text", required=False, default="")
@click.option(
    "--done", is_flag=True, help="Mark a milestone as reached, or end a blocker or a line on the architecture."
)
def goals(place: OpenStore, name: str, *, action: str | None, text: str, done: bool) -> Result:
    """Show the active goal, its milestones, decisions, architecture, artifacts, blockers and next step.

    With ACTION and TEXT, change them: set (the goal), milestone, decide, lock, unlock, architecture, artifact, block,
    next, close (TEXT is optional), or forget, which removes for good what was set under this name.
    """
    counter, window_tokens = _counted(place, name)
    book = GoalBook(place.line(name), name, window_tokens, counter, wait)
    if action == "forget":
        forget_named(place.wired, name, text)
    elif action:
        try:
            book.change(action, text, done=done)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    known = book.goals()

    def put(out: Printer) -> None:
        first, *others = goal_lines(known).splitlines()
        out.heading(f"{name}: {first}")
        for other in (*others, *(f"{goal.ended}: {goal.text}" for goal in known.ended)):
            out.say(other, indent="  ")

    is_none = not action and not (known.active or known.ended or known.items)
    return Result({"session": name, **_goals_json(known)}, put, ANSWER_IS_NO if is_none else 0)


def _goals_json(known: Goals) -> dict[str, object]:
    return {
        "goal": known.active.text if known.active else None,
        "next": known.next_step,
        "milestones": [{"text": milestone.text, "reached": milestone.done} for milestone in known.milestones],
        "decisions": [{"text": decision.text, "locked": decision.done} for decision in known.decisions],
        "architecture": [one.text for one in known.architecture],
        "artifacts": [artifact.text for artifact in known.artifacts],
        "blockers": [blocker.text for blocker in known.blockers],
        "ended": [{"goal": one.text, "how": one.ended} for one in known.ended],
    }


def _counted(place: OpenStore, name: str) -> tuple[Callable[[str], int], int]:
    """Return the counter for a session's texts, and its window."""
    window = WINDOW.newest(place.store, name)
    meter = place.wired.meter(window.model if window else "")
    default = place.wired.loaded.settings.window.default
    return lambda said: meter.text(said).bound, window.window_tokens if window else default


@session.command(on="session", writes="action")
@click.argument("action", required=False, type=click.Choice(["load", "drop", "forget"]))
@click.argument("path", required=False, default="")
def context(place: OpenStore, name: str, *, action: str | None, path: str) -> Result:
    """Show the documents in the head of a session's requests, and the files that you could load.

    With ACTION and PATH, change them: load a document, drop it from view, or forget it, which removes it for good.
    """
    if action and not path:
        raise click.UsageError(f"{action} needs the path of a document, as it is below context.folder")
    counter, window_tokens = _counted(place, name)
    documents = SessionDocuments(place.line(name), name, window_tokens, counter, wait)
    sources = DocumentSources.of(place.wired.loaded, documents, lambda _: None)
    actions: dict[str, Callable[[str], object]] = {"load": sources.load, "drop": sources.drop}
    actions["forget"] = partial(forget_document, place.wired, name)
    if action:
        actions[action](path)
    faults, files = sources.faults(), list[tuple[str, int]]()
    with suppress(ConfigError):  # there is no folder
        files = sources.files()
    loaded = {one.name: documents.count(one.text) for one in documents.all()}
    documents_json = [{"path": path, "tokens": tokens} for path, tokens in loaded.items()]
    files_json = [{"path": path, "bytes": size} for path, size in files if path not in loaded]
    lines = [f"{name}: {count(len(loaded), 'document')} in the head of its requests"]
    lines += ["  {path}  {tokens:,} tokens".format_map(one) for one in documents_json]
    lines += ["  {path}  {bytes:,} bytes, not loaded".format_map(one) for one in files_json]
    values = {"session": name, "documents": documents_json, "files": files_json, "faults": faults}
    return Result(values, "\n".join(lines), 0 if action or loaded else ANSWER_IS_NO, faults)
