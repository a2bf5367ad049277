"""What the next request holds of a session, run by run, its costs and reasons; and the story of one message."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.cli.jobs import unread
from squidbot.cli.memory import others, owner_name
from squidbot.cli.output import Result, command
from squidbot.cli.texts import ago, clock, count, event_line, named, parameters, percent, prompt_line, shorter, span
from squidbot.core.budget import (
    LAYOUT_LEVELS,
    LEAST_FRACTION,
    RECENT,
    SESSION,
    CategoryShare,
    level_of,
    pressure_of,
    reliability,
    shares,
)
from squidbot.core.compaction.pressure import marked_fraction
from squidbot.core.compaction.turn import share_of
from squidbot.core.errors import BudgetError, ConfigError, DamagedStoreError, SquidbotError
from squidbot.core.memories import NOBODY, Scope, is_from_session
from squidbot.core.memory.injection import COLD_FACTS, COLD_QUERY_CHARS, INDEX, cold_start
from squidbot.core.memory.injection import memories_in as facts_in
from squidbot.core.memory.text import COUNTED, counted
from squidbot.core.messages import Category, Cost, Kind
from squidbot.core.notes.extract import sentences
from squidbot.core.plan import Representation
from squidbot.core.text import bounded
from squidbot.core.transcript.goals import ARCHITECTURE_SECTION as BUILT
from squidbot.core.transcript.goals import GOALS_SECTION as NAME
from squidbot.core.transcript.lineage import BELOW, SUB_AGENT
from squidbot.core.transcript.scopes import SCOPE
from squidbot.core.view.assembly import account, remembered, used, without_gaps
from squidbot.core.view.marks import memories_in, memory_texts
from squidbot.core.view.renderer import is_note, is_user_part, spent
from squidbot.display import outlook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from squidbot.cli.open_store import OpenStore, SeenSession, ShownMessage
    from squidbot.cli.printer import Printer
    from squidbot.core.compaction.turn import Room
    from squidbot.core.memory.text import MemoryPage
    from squidbot.core.memory.view import Memories
    from squidbot.core.messages import ContextWindow, Part, StoredMessage, Summary
    from squidbot.core.plan import PlanRecord, Segment
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.transcript.lines import LineStore
    from squidbot.core.view.assembly import Span
    from squidbot.core.view.current import CurrentView

# Longer sessions don't have their messages counted one by one.
MOST_COUNTED = 20_000
BAR_CHARS, CALL_CHARS = 32, 40
# Notes that begin a sentence like this quote it.
QUOTED_CHARS = 60
# The first message of a user is among so many.
FIRST_LOOKED = 20
# How a session that perhaps works for a call is known.
BY_TIME: Final = "it began between this call and its result"
VERBATIM, SLIMMED, SUMMARY, ABSENT = "verbatim", "slimmed", "summary", "absent"
HOW = {
    VERBATIM: "sent word for word",
    SLIMMED: "cut to head and tail",
    SUMMARY: "notes stand for it",
    ABSENT: "not sent: one line says it is stored",
    "recalled": "an answer of history: a message found or recalled",
    "forgotten": "forgotten: a placeholder remains",
}
# How a raw message with no author is sent.
_UNSAID = {Category.RECALLED: "recalled", Category.FORGOTTEN: "forgotten"}
_GOALS: Final = {NAME: "task", BUILT: "architecture"}


class Explanation(NamedTuple):
    """What the next request holds of a session; `budget` has names, tokens, meanings; `values` all as JSON."""

    view: CurrentView
    due: PlanRecord | None
    budget: list[tuple[str, int, str]]
    values: dict[str, Any]

    @property
    def shown_budget(self) -> list[tuple[str, int, str]]:
        """The lines for people: without those of no tokens."""
        over = any(name == "too many" and tokens for name, tokens, _ in self.budget)
        return [row for row in self.budget if row[1] or row[0] == "window" or (row[0] == "free" and not over)]


def explain(place: OpenStore, session_id: str, wanted: int | None = None) -> Result:
    """Return what the next request holds, what it costs, and why; or the story of one message.

    Raises:
        StoreError: the store failed, or is damaged.
        BudgetError: no window is recorded, and the settings leave no token for input.
    """
    found, now = _explained(place, session_id), time.time()
    if wanted is not None:
        return _story(place, session_id, wanted, found, now)
    return Result(found.values, lambda out: _put(out, found, now))


def _explained(place: OpenStore, session_id: str) -> Explanation:
    seen = place.seen(session_id)
    session, (window, source) = seen.core, place.window(session_id)
    settings, room = session.settings, session.room()
    view, whole, line = room.view, room.view.history.plus(room.whole), session.line
    is_same = place.wired.meter(window.model).name == window.counter
    due, unfit = outlook(session)
    budget, reserve = _budget(room, window, source, compacts=due is not None), room.newest.reserve_under(window)
    reliable = reliability(view.generations, window.parameters_billion)
    facts = {name: cost.bound for name, cost in remembered(view)}
    if first := _first_tokens(seen, view):
        facts["first words"] = first
    values: dict[str, Any] = {
        "session": session_id,
        "messages": view.messages,
        "elsewhere": view.messages - line.count_between(0, view.messages - 1),
        **parent_json(place, session_id),
        "children": place.children(session_id),
        "model": window.model,
        "lease": {"source": source, "id": window.window_id, "counter": window.counter},
        "counted": place.wired.why_counted(window.model) if is_same and window.model else "",
        "plan": plan_json(view.plan),
        "due": plan_json(due),
        "unfit": unfit,
        "budget": {name.replace(" ", "_"): tokens for name, tokens, _ in budget},
        "budget_used": spent(view.sent).bound,
        "budget_available": max(0, whole.bound),
        "response_percentage": (reserve.tokens if reserve else window.reserved_output_tokens) / window.window_tokens,
        "categories": _shares_json(_categories(room, settings.category_weights)),
        "parts": _shares_json(_layout_parts(room, settings.layout)),
        "remembered": {name.replace(" ", "_"): tokens for name, tokens in facts.items()},
        "facts": _facts(place, seen, room),
        "prompt": prompt_json(_prompt(seen, room.newest.mode)),
        "complexity": reserve.score if reserve else None,
        "pressure": marked_fraction(view, whole, settings),
        "marks": {"high": settings.high_fraction, "low": settings.low_fraction},
        "rungs": [*settings.ladder.told(pressure_of(view.history, view.summaries, whole))],
        "reliability": {"fraction": reliable, "level": level_of(reliable)},
        "runs": [*_runs(view, _makers(place.plans(session_id)), _costs(place, line, view.messages))],
        "spans": [_span_json(one) for one in _spans(view, line)],
    }
    return Explanation(view, due, budget, values)


def parent_json(place: OpenStore, session_id: str) -> dict[str, object]:
    """Return the session above one, how it comes from it, and the call of it that it works for, as values for JSON.

    What can't be read is None: the messages are shown anyway.
    """
    parent, found = None, None
    with suppress(DamagedStoreError):
        parent = place.parent(session_id)
        found = place.caller(session_id, parent.other) if parent else None
    call = {"message": span(found[0]), "id": found[1] or None} if found else None
    return {"parent": parent.other if parent else None, "way": parent.way if parent else None, "call": call}


def parent_line(values: Mapping[str, Any]) -> str:
    """Return a sentence about the session above one, given as by `parent_json`; "" if there is none."""
    parent, way, call = values["parent"], values["way"], values["call"]
    if parent is None:
        return ""
    from_it = {BELOW: f"below {parent}", SUB_AGENT: f"sub-agent of {parent}"}.get(way, f"continues {parent}")
    if call is None:
        return f"{from_it}; {command('session', 'explain', parent)}"
    by_time = f"{from_it}; by its time called by {call['message']}"
    known = f"called by {parent} {call['message']}" if way == BELOW else f"{from_it}, called by {call['message']}"
    return f"{known if call['id'] else by_time}; {command('session', 'explain', parent, call['message'])}"


def plan_json(plan: PlanRecord | None) -> dict[str, object] | None:
    """Return a plan change as values that JSON holds; `None` for none."""
    if plan is None:
        return None
    place, price = plan.first_changed, plan.price
    return {
        "plan": plan.plan_id,
        "cause": plan.cause,
        "time": plan.created_at,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "kept_tokens": place.token_offset if place else None,
        "first_changed": place.seq if place and place.seq >= 0 else None,
        "price": price.written_tokens if price else None,
        "summary_price": price.summary_tokens if price else None,
        "pays_after_requests": price.break_even_requests if price else None,
    }


def prompt_json(prompt: SystemPrompt | None) -> dict[str, object] | None:
    """Return the system text of a mode as values that JSON holds; `None` for none."""
    if prompt is None:
        return None
    return {
        "mode": prompt.mode,
        "tokens": prompt.cost.estimate,
        "cap": prompt.cap_tokens,
        "parts": {part.name: part.cost.estimate for part in prompt.parts if part.text},
        "left_out": prompt.left_out,
    }


def _span_json(one: Span) -> dict[str, object]:
    values = {"first": span(one.first_seq), "last": span(one.last_seq), "how": one.how}
    return {**values, "summary": one.summary_id, "reason": one.reason}


def _shares_json(found: Iterable[CategoryShare]) -> dict[str, dict[str, int]]:
    return {one.name: {"used": one.used, "allotted": one.allotted} for one in found}


# -- what is found ---------------------------------------------------------------------------------------------


def _limit(room: Room) -> int:
    """Return the most that a request may cost as counted; above the window if the provider bills less."""
    return room.limit_tokens


def _budget(room: Room, window: ContextWindow, source: str, *, compacts: bool) -> list[tuple[str, int, str]]:
    view, over = room.view, room.overcounted_tokens
    lead, head, history = spent(view.lead).bound, spent(view.head).bound, view.history.bound
    block = {"notes": 0, "users": 0, "older": 0}
    for part in (part for one in view.blocks for part in one.parts):
        is_written = part.payload is None and part.kind is not Kind.SLIMMED
        block["notes" if is_written else "users" if is_user_part(part) else "older"] += part.cost.bound
    reserve = room.newest.reserve_under(window)
    answer = f"for the answer, sized by the question (complexity {reserve.score:.2f})" if reserve else "for the answer"
    known = {"recorded": window.source, "settings": "as the settings have it"}
    origin = known.get(source, "as the settings have it now; none is recorded")
    outside = "the host's system text and tools, in the newest request, and the template around all"
    return [
        ("window", window.window_tokens, f"input and output; {origin}"),
        ("reserve", reserve.tokens if reserve else window.reserved_output_tokens, answer),
        ("input limit", _limit(room) - over, "what a request may cost"),
        ("overcounted", over, "so far the counts exceed the provider's reports: so much more fits"),
        ("system", lead, "system messages of the transcript"),
        ("outside", max(0, room.used_tokens - lead - head - history), outside),
        ("head", head, "documents, pinned texts and facts"),
        ("notes", block["notes"], "notes on messages that are not sent"),
        ("users", block["users"], "user messages kept beside the notes"),
        ("older", block["older"], "other messages before the tail"),
        ("tail", view.tail.cost.bound, "newest messages, verbatim"),
        ("free", room.whole.bound, f"{max(0, room.marked.bound):,} of them until the high-water mark"),
        (
            "too many",
            max(0, room.used_tokens - _limit(room)),
            f"above the limit{', so it compacts first' if compacts else ''}",
        ),
    ]


def _categories(room: Room, weights: Any) -> Sequence[CategoryShare]:  # noqa: ANN401  # as the settings have them
    """Return the use and the allotment of each category in the next request, if settings set shares."""
    if weights is None:
        return ()
    view = room.view
    has = used(view.sent, view.lead_count)
    has["system"] = has.get("system", 0) + max(0, room.used_tokens - spent(view.sent).bound)
    return shares(_limit(room), has, weights)


def _layout_parts(room: Room, layout: Any) -> Sequence[CategoryShare]:  # noqa: ANN401  # as the settings have it
    """Return the use and the allotment of each part in the next request, if the window's tier sets them.

    Parts that the tier does not name count as recent: also notes on messages older than all summaries, and pointers.
    """
    if layout is None:
        return ()
    view, costs = room.view, dict[str, int]()
    for name, part in _named_parts(view):
        costs[name] = costs.get(name, 0) + part.cost.bound
    costs["system"] = costs.get("system", 0) + max(0, room.used_tokens - spent(view.sent).bound)
    allotted = layout.within(_limit(room))
    costs[RECENT] = costs.get(RECENT, 0) + sum(cost for name, cost in costs.items() if name not in allotted)
    return [CategoryShare(name, costs.get(name, 0), most) for name, most in allotted.items()]


def _named_parts(view: CurrentView) -> Iterator[tuple[str, Part]]:
    """Yield the name of a layout part with each part of the current view."""
    yield from (("system", part) for part in view.lead)
    sections = view.plan.sections if view.plan else ()
    for section, part in zip_longest(sections[: len(view.head)], view.head):
        goals = _GOALS.get(section.name) if section else None
        yield goals or ("contracts" if part.kind is Kind.PIN else "system"), part
    levels = ((block.segment.representation.level, block.parts) for block in view.blocks)
    for level, parts in (*levels, (SESSION, view.tail.parts)):
        yield from ((_body_part(view, level, part), part) for part in parts)


def _body_part(view: CurrentView, level: str, part: Part) -> str:
    """Return the layout part of a block's or the tail's part: notes by their level, if it has one."""
    if is_note(part):
        return level if level in LAYOUT_LEVELS else SESSION
    return "contracts" if part.first_seq in view.pins.seqs else RECENT


def _prompt(seen: SeenSession, mode: str) -> SystemPrompt | None:
    """Return the text of a mode, if a mode of that name still exists."""
    if not mode:
        return None
    try:
        return seen.wired.prompts.prompt(mode, seen.core.window.window_tokens, seen.meter.physical)
    except (BudgetError, ConfigError):
        return None


def _first_tokens(seen: SeenSession, view: CurrentView) -> int:
    """Return the cost of facts behind the first words, as a bound."""
    notices = (part.notice for part in view.sent if part.notice)
    return sum(seen.meter.text(said).bound for notice in notices for said in memory_texts(notice))


def _facts(place: OpenStore, seen: SeenSession, room: Room) -> dict[str, Any]:
    """Return whose facts the session uses, how many there are and are shown, and why others are not."""
    wired, session_id, view = place.wired, seen.core.session_id, room.view
    settings = wired.loaded.settings
    scopes = SCOPE.state(place.store, session_id)
    scope = scopes[-1].scope if scopes else NOBODY
    sections = view.plan.sections if view.plan else ()
    head, named = facts_in(sections), sum(len(one.memories) for one in sections if one.name == INDEX)
    found: dict[str, Any] = {"scope": scope._asdict(), "kept": 0, "in_head": len(head), "in_index": named}
    found |= {"after_first": 0, "answer_first": 0, "why": "", "others": [], "unread": 0}
    found["learned"] = wired.remembering.learns_of(scope)
    try:
        found["unread"] = max((one.last_seq - one.first_seq + 1 for one in unread(place, session_id)), default=0)
        if not settings.memory_of(scope.bot).enabled:
            off = f"bots.{scope.bot}.requires_memory" if settings.memory.enabled else "memory.enabled"
            return found | {"why": f"{off} = false"}
        if wired.remembering.may_hold():
            memories = wired.remembering.memories(seen.meter, scope, session_id, by_words=True)
            found["kept"] = len(memories.store.listed(memories.view, limit=COUNTED + 1))
            found |= (
                _first_facts(seen, memories, room, head)
                if found["kept"]
                else {"others": [*others(memories, elsewhere=True)]}
            )
    except SquidbotError as error:
        found["why"] = str(error)
    return found


def _first_facts(seen: SeenSession, memories: Memories, room: Room, head: frozenset[str]) -> dict[str, Any]:
    """Return how many facts answer a session's first message and are shown after it, and why none is."""
    settings, line, session_id = seen.wired.loaded.settings.memory, seen.core.line, seen.core.session_id
    off = "" if settings.in_prompt else "memory.in_prompt = false"
    rows = line.pick(session_id, range(min(room.view.messages, FIRST_LOOKED)))
    asked = next((row for row in rows if row.role == "user"), None)
    if asked is None:
        return {"why": off}
    shown = sum(len(memories_in(text)) for text in memory_texts(asked.notice or ""))
    text = seen.wired.codecs[asked.codec].decode(asked.payload).text
    now = time.time() if asked.time is None else asked.time
    known = memories.relevant(text[:COLD_QUERY_CHARS], 4 * COLD_FACTS, now)
    found = {"after_first": shown, "answer_first": max(shown, len(known))}
    if off or shown:
        return found | {"why": off}
    by_then = [one for one in known if one.time <= now and not is_from_session(one, session_id)]
    new = frozenset(one.memory_id for one in by_then) - head
    if not new:
        words = ("none answers it", "none was known by then", "they are in the head")
        return found | {"why": words[bool(known) + bool(by_then)]}
    ids = [one.memory_id for one in known]

    def page_of(wanted: frozenset[str]) -> MemoryPage | None:
        return cold_start(memories, text, now, head.union(ids) - wanted, sys.maxsize, tool="memory")

    return found | {"why": _no_room(page_of, new, settings.cold_start_tokens, room)}


def _no_room(page_of: Callable[[frozenset[str]], MemoryPage | None], new: frozenset[str], most: int, room: Room) -> str:
    """Return why no fact is shown after a first message, though those of `new` answer it.

    `page_of` writes facts as they would be shown. `most`: the setting, in tokens. `room`: that of the next request.
    """
    page = page_of(new)
    if page is None:
        return "output of tools is never shown automatically"
    first, *rest = (one.memory_id for one in page.memories)
    page = page_of(frozenset({first})) or page
    limit_tokens = _limit(room) - room.overcounted_tokens
    tenth, cost = share_of(Cost(limit_tokens, limit_tokens)), page.cost.bound
    needs = f"{'the first' if rest else 'this fact'} needs about {cost:,}"
    if tenth < min(most, cost):
        return f"no room: a tenth of the request is {tenth:,} tokens, {needs}; raise the budget"
    if most < cost:
        return f"no room: memory.cold_start_tokens = {most:,} by the settings here, {needs}"
    return "the program did not show them; by the settings here there is room"


def _is_said(part: Part) -> bool:
    return part.payload is not None or part.kind is Kind.SLIMMED


def _spans(view: CurrentView, line: LineStore) -> tuple[Span, ...]:
    shown = {part.first_seq: part.kind for block in view.blocks for part in block.parts if _is_said(part)}
    segments = [block.segment for block in view.blocks]
    spans = account(segments, view.lead_count, shown, view.tail.parts)
    return without_gaps(spans, line.gaps(view.messages))


def _costs(place: OpenStore, line: LineStore, messages: int) -> list[int] | None:
    """Return what each message of a line cost, as a bound, 0 for others; `None` for a session too long to count."""
    if messages > MOST_COUNTED:
        return None
    costs = [0] * messages
    for rows, _ in place.pages(line.session_id):
        for row in filter(lambda row: line.has(row.seq), rows):
            costs[row.seq] = row.cost.bound
    return costs


def _key(segment: Segment) -> object:
    return segment.summary_id or (segment.representation, segment.first_seq, segment.last_seq)


def _makers(every: Iterable[PlanRecord]) -> dict[object, PlanRecord]:
    """Return the plan that first had each present segment, by its notes, or by its run."""
    makers: dict[object, PlanRecord] = {}
    for plan in every:
        for segment in plan.segments:
            makers.setdefault(_key(segment), plan)
    return makers


def _runs(view: CurrentView, makers: Mapping[object, PlanRecord], costs: list[int] | None) -> Iterator[dict[str, Any]]:
    """Yield the pieces of the plan, with the sent and the original cost of each, as bounds.

    `sent` are messages of a summarized or absent run that are sent word for word beside its replacement, `cut` those
    sent with their middle left out; `event` is the plan change behind that.
    """
    if view.lead:
        yield _run(0, view.lead[-1].last_seq, VERBATIM, spent(view.lead).bound, costs)
    for block in view.blocks:
        segment, parts = block.segment, [part for part in block.parts if _is_said(part)]
        raw = {Representation.RAW: VERBATIM, Representation.SLIMMED: SLIMMED}.get(segment.representation)
        how = raw or (SUMMARY if segment.summary_id else ABSENT)
        yield _run(segment.first_seq, segment.last_seq, how, block.cost.bound, costs, parts) | {
            "sent": [] if raw else [span(part.first_seq) for part in parts],
            "summary": segment.summary_id,
            "event": plan_json(makers.get(_key(segment))),
        }
    if tail := [part for part in view.tail.parts if _is_said(part)]:
        yield _run(tail[0].first_seq, tail[-1].last_seq, VERBATIM, view.tail.cost.bound, costs, tail)


def _run(  # noqa: PLR0913, PLR0917  # a run with its costs
    first: int, last: int, how: str, here_tokens: int, costs: list[int] | None, parts: Iterable[Part] = ()
) -> dict[str, Any]:
    return {
        "first": span(first),
        "last": span(last),
        "how": how,
        "here_tokens": here_tokens,
        "said_tokens": sum(costs[first : last + 1]) if costs is not None else None,
        "sent": [],
        "cut": [span(part.first_seq) for part in parts if part.kind is Kind.SLIMMED],
        "summary": None,
        "event": None,
    }


# -- for people ------------------------------------------------------------------------------------------------


def _put(out: Printer, found: Explanation, now: float) -> None:
    values = found.values
    out.heading(f"{values['session']}: {count(values['messages'], 'message')}; {_held(values['spans'])}")
    if elsewhere := values["elsewhere"]:
        lines = command("session", "lines", values["session"])
        out.say(f"the model does not see {elsewhere:,} of them: {lines}", "dim")
    if line := parent_line(values):
        out.say(line, "dim")
    if children := len(values["children"]):
        under = command("session", "list", "--under", values["session"])
        out.say(f"{count(children, 'session')} below it: {under}", "dim")
    if plan := found.view.plan:
        out.say(f"{event_line(plan)}; {ago(plan.created_at, now)}", "dim")
    if found.due is not None:
        out.say(f"the next request will compact: {event_line(found.due)}")
    if values["unfit"] is not None:
        out.say(f"no request fits now: {values['unfit']}")
    if rows := [_row(run, now) for run in values["runs"]]:
        out.blank()
        out.table(rows)
        out.say("here: tokens in the next request; said: tokens of the original messages (bounds)", "dim")
    out.blank()
    out.heading("Budget of the next request (bounds, in tokens)")
    out.say(f"counted by {values['lease']['counter']}{f': {why}' if (why := values['counted']) else ''}", "dim")
    out.numbers(found.shown_budget)
    borrowed = "Categories (bounds, in tokens; unused shares are borrowed)"
    _put_shares(out, borrowed, values["categories"], ", above its share")
    by_tier = "Parts by tier (bounds, in tokens; recent messages get what others leave)"
    _put_shares(out, by_tier, values["parts"], ", above its part: borrowed from recent", but=RECENT)
    out.blank()
    _put_pressure(out, values)
    if runs := [run for run in values["runs"] if run["how"] in {SUMMARY, ABSENT}]:
        wanted = values["session"], runs[0]["first"]
        out.say(f"what became of a message: {command('session', 'explain', *wanted)}", "dim")
        out.say(f"its words: {command('session', 'recall', *wanted)}", "dim")


def _put_shares(out: Printer, heading: str, shares: Mapping[str, Any], above: str, but: str = "") -> None:
    if shares:
        out.blank()
        out.heading(heading)
        over = {name: above for name, one in shares.items() if one["used"] > one["allotted"] and name != but}
        out.numbers(
            (name, one["used"], f"of {one['allotted']:,} allotted{over.get(name, '')}") for name, one in shares.items()
        )


def _held(spans: Iterable[Mapping[str, Any]]) -> str:
    """Return how many messages the next request holds in which way."""
    counts: dict[str, int] = {}
    for one in spans:
        counts[one["how"]] = counts.get(one["how"], 0) + int(one["last"][1:]) - int(one["first"][1:]) + 1
    names = {VERBATIM: "word for word", SLIMMED: "cut", SUMMARY: "in notes", "recalled": "found or recalled"}
    shown = ", ".join(f"{number:,} {names.get(how, how)}" for how, number in counts.items())
    return f"the next request has {shown or 'nothing of it'}"


def _row(run: Mapping[str, Any], now: float) -> dict[str, object]:
    what = {SUMMARY: f"notes {run['summary']}", ABSENT: "absent, a pointer"}.get(run["how"], run["how"])
    beside = f"; word for word: {named(run['sent'], 3)}" if run["sent"] else ""
    cut = f"; cut: {named(run['cut'], 3)}" if run["cut"] else ""
    event = run["event"]
    since = f"{event['cause']}, plan {event['plan']}, {ago(event['time'], now)}" if event else ""
    counts = {"here": run["here_tokens"], "said": run["said_tokens"]}
    return {"messages": _messages(run), "sent as": f"{what}{beside}{cut}", **counts, "since": since}


def _messages(run: Mapping[str, Any]) -> str:
    return str(run["first"]) if run["first"] == run["last"] else f"{run['first']}-{run['last']}"


def _put_facts(out: Printer, values: Mapping[str, Any]) -> None:
    """Put whose facts a session uses, how many are shown, and why others are missing."""
    facts = values["facts"]
    scope, kept, why = Scope(**facts["scope"]), facts["kept"], facts["why"]
    nobody = (
        "no user named, so those of this session alone" if scope.thread else "no user named, so those that all share"
    )
    first = f"{facts['after_first']} of {facts['answer_first']}" if facts["answer_first"] else "none"
    index = facts["in_index"]
    head = (
        f"{facts['in_head']} in the profile, {index} named in the index" if index else f"{facts['in_head']} in the head"
    )
    shown = f"; shown: {head}, {first} after the first message" if kept else ""
    because = f" ({why})" if why else ""
    out.say(f"facts: {owner_name(scope) if scope.user else nobody}; {counted(kept)} kept{shown}{because}")
    for hint in facts["others"]:
        out.say(hint)
    if number := facts["unread"]:
        jobs = command("session", "jobs", values["session"], "--run")
        out.say(f"{count(number, 'message')} not yet read for facts: {jobs}")
    elif not facts["learned"]:
        out.say("nothing is learned from this session: memory.extract is off, or no user is named")


def _put_pressure(out: Printer, values: Mapping[str, Any]) -> None:
    """Put history's share of its room as a bar, with the marks where a compaction begins and where it ends."""
    _put_facts(out, values)
    if facts := values["remembered"]:
        names = ((name.removeprefix("remembered_").replace("_", " "), tokens) for name, tokens in facts.items())
        shown = "; ".join(f"{name} {tokens:,}" for name, tokens in names)
        out.say(f"facts shown automatically (in the head, and after the first message): {shown} tokens")
    if values["prompt"] is not None:
        out.say(prompt_line(values["prompt"]))
    low, high, share = values["marks"]["low"], values["marks"]["high"], values["pressure"]
    bar = ["#" if place < share * BAR_CHARS else "." for place in range(BAR_CHARS)]
    for mark in (low, high):
        bar[min(BAR_CHARS - 1, int(mark * BAR_CHARS))] = "|"
    marks = f"compacts at {percent(high)}, down to {percent(low)}"
    out.say(f"pressure {percent(share)} [{''.join(bar)}] {marks}")
    if values["rungs"]:
        out.say(f"rungs reached: {', '.join(values['rungs'])}")
    fraction = values["reliability"]["fraction"]
    advice = "; a new conversation is better" if fraction < LEAST_FRACTION else ""
    out.say(f"reliability {percent(fraction)}, {values['reliability']['level']}{advice}")


# -- the story of one message ----------------------------------------------------------------------------------


class SentState(NamedTuple):
    """How a message was sent under a run of plans, `first_plan` to `last_plan` (-1: before the first plan)."""

    first_plan: int
    last_plan: int
    how: str
    summary_id: str | None = None
    event: PlanRecord | None = None


def _story(place: OpenStore, session_id: str, seq: int, found: Explanation, now: float) -> Result:
    """Return the story of one message, from its arrival to the next request."""
    view = found.view
    ((entry,), _) = place.shown(session_id, seq, seq)
    run = next(one for one in found.values["runs"] if int(one["first"][1:]) <= seq <= int(one["last"][1:]))
    here_tokens = spent([part for part in view.sent if part.first_seq == part.last_seq == seq]).bound
    notes = place.store.by_id(session_id, [run["summary"]]) if run["summary"] else []
    note = notes[0] if notes and span(seq) not in run["sent"] else None
    states = [*_states(entry, place.plans(session_id))]
    pinned = seq in view.pins.seqs
    values: dict[str, Any] = {
        "session": session_id,
        "message": entry.to_json(),
        "how": states[-1].how,
        "here_tokens": here_tokens,
        "pinned": pinned,
        "states": [
            {
                "first_plan": state.first_plan,
                "last_plan": state.last_plan,
                "how": state.how,
                "summary": state.summary_id,
                "event": plan_json(state.event),
            }
            for state in states
        ],
        "summary": {"id": note.summary_id, "level": note.level, "text": note.text} if note else None,
    }
    rows = [
        *_arrival(entry),
        *_agents(entry),
        *_path(states, now),
        ("now", _now(states[-1], run, here_tokens, pinned=pinned)),
        (
            "whole",
            f"{command('session', 'recall', session_id, entry.handle)}; the model: history, recall {entry.handle}",
        ),
    ]
    return Result(values, lambda out: _put_story(out, entry, rows, note, now))


def _put_story(
    out: Printer, entry: ShownMessage, rows: Sequence[tuple[str, str]], note: Summary | None, now: float
) -> None:
    row = entry.row
    out.heading(f"{entry.handle} {entry.who}, {clock(row.time)} ({ago(row.time, now)})")
    out.body(entry.text or " ".join(f"-> {call.name} {call.arguments}" for call in entry.calls), most_lines=4)
    out.blank()
    out.pairs(rows)
    if note is not None:
        out.blank()
        out.heading(f"Notes {note.summary_id}{'' if _is_quoted(entry, note) else ': no sentence of it is in them'}")
        out.body(note.text, most_lines=4)
    if entry.children:
        out.blank()
        out.say(f"an agent's session: {command('session', 'show', 'ID')}", "dim")


def _is_quoted(entry: ShownMessage, note: Summary) -> bool:
    """Return whether notes have a sentence of a message, or its beginning; also if it has none, as tool output."""
    parts = sentences(bounded(entry.text)) if not entry.answers else []
    return not parts or any(part[:QUOTED_CHARS] in note.text for part in parts)


def _states(entry: ShownMessage, every: Sequence[PlanRecord]) -> Iterator[SentState]:
    """Yield the state of a message under the plan at its arrival, and under each later plan that changed it."""
    row = entry.row
    raw = _UNSAID.get(row.category) or (SLIMMED if entry.is_cut else VERBATIM)
    under = [plan for plan in every if plan.made_at_seq <= row.seq]
    state = SentState(under[-1].plan_id if under else -1, -1, raw)
    last = state.first_plan
    for plan in every[len(under) :]:
        how, summary_id = _under(plan, row, raw)
        if (how, summary_id) != (state.how, state.summary_id):
            yield state._replace(last_plan=last)
            state = SentState(plan.plan_id, -1, how, summary_id, plan)
        last = plan.plan_id
    yield state._replace(last_plan=last)


def _under(plan: PlanRecord, row: StoredMessage, raw: str) -> tuple[str, str | None]:
    """Return how a message is sent under a plan, and the notes that represent it."""
    for segment in plan.segments:
        if segment.first_seq <= row.seq <= segment.last_seq:
            if row.seq in segment.verbatim or segment.representation is Representation.RAW:
                return raw, None
            if segment.representation is Representation.SLIMMED:
                slim = bool(row.result_ids) and row.sent_cost.bound > plan.slim_tokens
                return SLIMMED if slim else raw, None
            return (SUMMARY, segment.summary_id) if segment.summary_id else (ABSENT, None)
    return raw, None


def _arrival(entry: ShownMessage) -> list[tuple[str, str]]:
    row = entry.row
    rows = [("said", f"in the turn of m{row.turn}; {row.cost.bound:,} tokens by {row.counter}, as a bound")]
    if entry.is_cut:
        what = "tool output" if row.result_ids else "step"
        cut = f"cut to {row.sent_cost.bound:,} tokens on arrival; the transcript has all of it"
        rows.append(("arrived", f"{cut}. This {what} was too large for the room"))
    if row.notice:
        facts = memories_in(row.notice)
        added = f"facts {named(facts, 8, ', ')}" if facts else shorter(row.notice, 60)
        rows.append(("notice", f"added behind it on arrival: {added}"))
    return rows


def _agents(entry: ShownMessage) -> Iterator[tuple[str, str]]:
    """Yield a line for each session that works for a call of a message."""
    calls = {call.id: f"{call.name} {parameters(call.arguments, CALL_CHARS)}".rstrip() for call in entry.calls}
    for child, call_id in entry.children:
        yield "agent", f"{child}, called by {calls.get(call_id, call_id)}" if call_id else f"perhaps {child}: {BY_TIME}"


def _path(states: Sequence[SentState], now: float) -> Iterator[tuple[str, str]]:
    """Yield a line for each way in which it was sent; consecutive notes share one."""
    for _, grouped in groupby(states if len(states) > 1 else (), key=lambda state: state.how):
        group = list(grouped)
        first, last = max(0, group[0].first_plan), group[-1].last_plan
        name = "at first" if last < 0 else f"plan {first}" if first == last else f"plans {first}-{last}"
        yield name, _how(group, now)


def _how(group: Sequence[SentState], now: float) -> str:
    state, event = group[0], group[0].event
    text = HOW.get(state.how, state.how)
    if state.summary_id:
        others = f", at last {group[-1].summary_id}" if len(group) > 1 else ""
        text = f"notes {state.summary_id}{others} stand for it"
    if event is None:
        return text
    price = f", at {event.price.tokens:,.0f} input tokens" if event.price else ""
    what = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens{price}"
    return f"{text}: {event.cause} {ago(event.created_at, now)}, {what}"


def _now(state: SentState, run: Mapping[str, Any], here_tokens: int, *, pinned: bool) -> str:
    if state.how == SUMMARY:
        return f"notes {state.summary_id} stand for {_messages(run)}, {run['here_tokens']:,} tokens"
    text = f"{HOW.get(state.how, state.how)}{'; pinned: it stays so' if pinned else ''}"
    return f"{text}, {here_tokens:,} tokens" if here_tokens else text
