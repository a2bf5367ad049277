"""The data behind a report: messages, the parts of every request, calls with their costs, compactions, and tables."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.adapters.common.packages import DISTRIBUTION
from squidbot.codecs import jsontext
from squidbot.core.errors import BudgetError
from squidbot.core.kinds import PLAN
from squidbot.core.messages import Category, Cost, Kind, Part
from squidbot.core.transcript.pins import PIN
from squidbot.core.view.assembly import account
from squidbot.core.view.marks import recalled_ids
from squidbot.replay.metrics import PromptCache
from squidbot.report.requests import recorded_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.messages import StoredMessage, ToolCall
    from squidbot.core.plan import PlanRecord
    from squidbot.core.session import CoreSession
    from squidbot.replay.runner import PolicyRow, ReplayOutcome
    from squidbot.replay.terms import Charges
    from squidbot.report.requests import RecordedRequest

# What the figures of a request are split into, in the order in which they are drawn.
GROUPS: Final = (
    "system", "pinned", "memory", "merged", "compact", "moderate", "detailed", "summary", "absent", "user", "model",
    "tool", "recalled", "other",
)  # fmt: skip
# Rows of a table of the heaviest.
MOST_HEAVY: Final = 40
# How many messages are read at once.
PAGE_MESSAGES: Final = 500
_LEVELS: Final = {"summary+user": "summary"}
_BY_KIND: Final = {
    Kind.SYSTEM: "system", Kind.PIN: "pinned", Kind.MARKED: "pinned", Kind.MEMORY: "memory",
    Kind.RECALLED: "recalled", Kind.AUTOMATED: "tool",
}  # fmt: skip
_BY_ROLE: Final = {"user": "user", "assistant": "model", "tool": "tool", "system": "system"}


_NO_CALLS: Final[tuple[ToolCall, ...]] = ()


class Source(NamedTuple):
    """Where a report's data come from, and how its figures are made.

    Attributes:
        session: the session; its store is only read.
        charges: the prices by which calls are billed that report no usage.
        per_million: what a million uncached input tokens cost, in money; `None`: no sums of money.
        redact: takes secrets out of a text.
        tokens: counts a part of a request, in tokens; `None`: as the session counted it.
    """

    session: CoreSession
    charges: Charges
    per_million: float | None = None
    redact: Callable[[str], str] = str
    tokens: Callable[[Part], int] | None = None


class ReportData(NamedTuple):
    """The data of a report: `values` as JSON has them, and the texts that they name by number."""

    values: dict[str, Any]
    texts: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as values that JSON holds."""
        return {**self.values, "texts": self.texts}


def report_data(source: Source, now: float | None = None) -> ReportData:
    """Return the data of a session; `now` is when, in seconds since 1970.

    Raises:
        DamagedStoreError: a message or record can't be read.
        StoreError: the store failed.
    """
    return _Builder(source).report(now)


class _Builder:
    """Reads a session, and collects the values of its report."""

    def __init__(self, source: Source) -> None:
        self._source, self._session = source, source.session
        self._context = source.session.context
        self._codecs = self._context.renderer.codecs
        self._texts: dict[str, int] = {}
        self._parts: dict[Part, int] = {}
        self._shown: list[dict[str, Any]] = []
        self._rows: list[StoredMessage] = []
        # The tools of calls by the ids of the calls.
        self._tools: dict[str, str] = {}
        # The messages that a message is a copy of: "m17-m40", "" for found ones.
        self._recalls: dict[int, str] = {}

    def report(self, now: float | None) -> ReportData:
        session, charges, window = self._session, self._source.charges, self._session.window
        lines = session.line
        messages = [*self._messages()]
        requests = recorded_requests(session)
        calls = self._calls(requests)
        plans = [*_plans(session, requests)]
        values = {
            "format": 1,
            "squidbot": version(DISTRIBUTION),
            "made_at": now,
            "source": "store",
            "session": session.session_id,
            "window": {
                "tokens": window.window_tokens,
                "reserve": window.reserved_output_tokens,
                "limit": window.window_tokens - window.reserved_output_tokens,
                "model": window.model,
                "counter": window.counter,
                "source": window.source,
            },
            "prices": charges.to_json() | {"per_million": self._source.per_million},
            "groups": [*GROUPS],
            "messages": messages,
            "parts": self._shown,
            "calls": calls,
            "compactions": plans,
            "lines": [state._asdict() | {"runs": lines.on(state.number).runs} for state in lines.states()],
            "policies": [self._everything(calls)],
            "missing": [],
            "errors": [],
        }
        values |= {"heaviest": self._heaviest(calls, messages), "tools": self._by_tool(calls, messages)}
        values |= {"recalled": [*self._recalled(calls, messages)], "totals": _totals(values)}
        return ReportData(values, [*self._texts])

    # -- messages ------------------------------------------------------------------------------------------------------

    def _messages(self) -> Iterable[dict[str, Any]]:
        """Yield each stored message, of all lines."""
        store, session_id = self._session.line.store, self._session.session_id
        lines = self._session.line
        pinned = PIN.state(lines, session_id).seqs
        for first in range(0, store.head(session_id)[0], PAGE_MESSAGES):
            page = store.read(session_id, first, first + PAGE_MESSAGES - 1)
            for row in self._context.renderer.all_counted(page):
                self._rows.append(row)
                yield self._message(row, lines.lines.line_of(row.seq), is_pinned=row.seq in pinned)

    def _message(self, row: StoredMessage, line: int, *, is_pinned: bool) -> dict[str, Any]:
        text, calls = row.payload, _NO_CALLS
        if codec := self._codecs.get(row.codec):
            said = codec.decode(row.payload)
            text, calls = said.rendered, said.calls
            if row.category is Category.RECALLED:
                self._recalls[row.seq] = recalled_ids(said.text)
        self._tools.update({call.id: call.name for call in calls})
        tools = [call.name for call in calls] or [self._tools.get(one, "") for one in row.result_ids]
        cut = row.sent_text is not None or row.sent_arguments is not None
        flags = {"truncated": cut, "pinned": is_pinned, "forgotten": row.category is Category.FORGOTTEN}
        cost = self._counted(_raw(row), row.cost.estimate)
        return {
            "id": row.seq,
            "turn": row.turn,
            "line": line,
            "role": row.role,
            "category": row.category.value,
            "time": row.time,
            "tokens": cost,
            "sent_tokens": row.sent_cost.estimate if cut else cost,
            "tools": tools,
            "flags": [name for name, is_set in flags.items() if is_set],
            "text": self._text(text),
        }

    def _counted(self, part: Part, tokens: int) -> int:
        return self._source.tokens(part) if self._source.tokens else tokens

    def _text(self, text: str) -> int:
        """Return the number of a text, without its secrets."""
        return self._texts.setdefault(self._source.redact(text), len(self._texts))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _part(self, part: Part, levels: Mapping[str, str], name: str) -> int:
        """Return the number of a part, which is described at its first appearance."""
        if part in self._parts:
            return self._parts[part]
        number = self._parts[part] = len(self._parts)
        how = self._how(part)
        level = _LEVELS.get(levels.get(part.summary_id or "", ""), levels.get(part.summary_id or "", ""))
        codec = self._codecs.get(part.codec or "")
        text = _sent_text(codec, part) if codec and part.payload is not None else part.text or ""
        self._shown.append(
            {
                "kind": part.kind.value,
                "role": part.role,
                "how": how,
                "group": _group(part, level),
                "level": level or None,
                "first": part.first_seq if part.first_seq >= 0 else None,
                "last": part.last_seq if part.last_seq >= 0 else None,
                "summary": part.summary_id,
                "name": name or None,
                "tokens": self._counted(part, part.cost.estimate),
                "bound": part.cost.bound,
                "reason": _reason(part, how),
                "text": self._text(text),
            }
        )
        return number

    def _how(self, part: Part) -> str:
        """Return how a part stands for messages: one of the states of the map, or "made" for what is no message."""
        if part.kind is Kind.SUMMARY:
            return "note"
        if part.kind is Kind.NOTICE:
            return "absent" if part.first_seq >= 0 else "made"
        if part.first_seq < 0 or part.kind in {Kind.PIN, Kind.MEMORY, Kind.MARKED}:
            return "made"
        if part.kind is Kind.SLIMMED:
            row = self._rows[part.first_seq]
            as_arrived = (part.text, part.arguments) == (row.sent_text, row.sent_arguments)
            return "truncated" if as_arrived else "slimmed"
        return {Kind.RECALLED: "recalled", Kind.FORGOTTEN: "forgotten"}.get(part.kind, "raw")

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _calls(self, requests: Sequence[RecordedRequest]) -> list[dict[str, Any]]:
        """Return the calls in order: each keeps the first parts of the one before, and adds others."""
        cache, calls = PromptCache[_Item](self._source.charges), list[dict[str, Any]]()
        before: list[int] = []
        known: set[int] = set()
        plan_id = -1
        for at, request in enumerate(requests):
            numbers = self._numbered(request)
            kept = next((n for n, pair in enumerate(zip_longest(before, numbers)) if pair[0] != pair[1]), len(before))
            call = self._call(at, request, numbers, kept)
            call["cause"] = request.plan.cause if request.plan and request.record.plan_id != plan_id else None
            self._bill(call, request, (numbers, known), cache)
            calls.append(call)
            known.update(numbers)
            before, plan_id = numbers, request.record.plan_id
        return calls

    def _numbered(self, request: RecordedRequest) -> list[int]:
        plan = request.plan
        levels = {one.summary_id: one.representation.level for one in plan.segments if one.summary_id} if plan else {}
        names = iter([section.name for section in plan.sections] if plan else [])
        return [
            self._part(part, levels, next(names, "") if part.first_seq < 0 and part.kind in _HEAD else "")
            for part in request.parts or ()
        ]

    def _call(self, at: int, request: RecordedRequest, numbers: list[int], kept: int) -> dict[str, Any]:
        record, groups = request.record, Counter[str]()
        for number in numbers:
            groups[self._shown[number]["group"]] += self._shown[number]["tokens"]
        # The host's system text and tools, and the template around all, are only known by their cost.
        counted = sum(part.cost.estimate for part in request.parts or ())
        outside = 0 if self._source.tokens and numbers else max(0, record.cost.estimate - counted)
        groups["system" if numbers else "other"] += outside
        answer = record.messages if 0 <= record.messages < len(self._rows) else None
        return {
            "call": at,
            "request": request.number,
            "line": request.line,
            "answer": answer,
            "time": self._rows[record.messages - 1].time if record.messages > 0 else None,
            "plan": record.plan_id if record.plan_id >= 0 else None,
            "keep": kept,
            "add": numbers[kept:],
            "tokens": sum(groups.values()),
            "bound": record.certified or record.cost.bound,
            "limit": record.limit.bound,
            "outside": outside,
            "by": {name: groups[name] for name in GROUPS if groups[name]},
            "is_same": request.is_same,
            "problem": request.problem or None,
            "output": self._messages_cost(answer),
        }

    def _messages_cost(self, seq: int | None) -> int:
        return 0 if seq is None else self._counted(_raw(self._rows[seq]), self._rows[seq].cost.estimate)

    def _bill(
        self,
        call: dict[str, Any],
        request: RecordedRequest,
        sent: tuple[list[int], set[int]],
        cache: PromptCache[_Item],
    ) -> None:
        """Add to a call what it costs: as its provider reported it, or by the prices."""
        charges, (numbers, known) = self._source.charges, sent
        tokens, output = call["tokens"], call["output"]
        outside = _Item((request.record.system, request.record.tools), Cost(call["outside"], call["outside"]))
        items = [outside, *(_Item(number, Cost(self._shown[number]["tokens"], 0)) for number in numbers)]
        cached = min(tokens, cache.read(items, call["time"] or 0.0))
        price = charges.request(tokens, cached)
        if request.usage is not None:
            tokens, output, cached = request.usage
            price = charges.prices.billed(request.usage._replace(output_tokens=0))
        new = sum(self._shown[number]["tokens"] for number in numbers if number not in known)
        new = min(tokens - cached, new + (call["outside"] if not known else 0))
        call |= {
            "reported": request.usage._asdict() if request.usage else None,
            "cached": cached,
            "new": new,
            "rewritten": tokens - cached - new,
            "output": output,
            "price": price,
            "output_price": charges.prices.output * output,
        }

    def _everything(self, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what the same calls would cost if each sent everything that was said on its line before it."""
        charges, costs = self._source.charges, [self._messages_cost(row.seq) for row in self._rows]
        row: dict[str, Any] = {
            "name": "send everything",
            "ours": False,
            "is_this": False,
            "tokens": [],
            "cached": [],
            "price": [],
        }
        before, sent_at = 0, -math.inf
        sums: dict[int, tuple[list[int], list[int]]] = {}
        for call in calls:
            if call["line"] not in sums:
                runs = self._session.line.on(call["line"]).runs
                has = [seq for first, last in runs for seq in range(first, last + 1)]
                total = 0
                sums[call["line"]] = has, [0, *(total := total + costs[seq] for seq in has)]
            has, added = sums[call["line"]]
            answer = call["answer"] if call["answer"] is not None else len(self._rows)
            tokens = added[bisect_left(has, answer)] + call["outside"]
            now = call["time"] or 0.0
            cached = min(tokens, charges.cached(before)) if now - sent_at <= charges.ttl_seconds else 0
            row["tokens"].append(tokens)
            row["cached"].append(cached)
            row["price"].append(charges.request(tokens, cached))
            before, sent_at = tokens, now
        return row

    # -- tables --------------------------------------------------------------------------------------------------------

    def _heaviest(self, calls: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return the messages that took most tokens of all calls together."""
        sent = self._sent(calls)
        first = sorted(range(len(messages)), key=lambda seq: (-sent[seq][1], -messages[seq]["tokens"], seq))
        return [
            {"message": seq, "tokens": messages[seq]["tokens"], "calls": sent[seq][0], "sent_tokens": sent[seq][1]}
            for seq in first[:MOST_HEAVY]
        ]

    def _sent(self, calls: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
        """Return in how many calls each message was sent itself, and how many tokens all of these together took."""
        found = [(0, 0)] * len(self._rows)
        stack: list[tuple[int, int]] = []
        for at, call in enumerate([*calls, {"keep": 0, "add": []}]):
            for number, since in stack[call["keep"] :]:
                part = self._shown[number]
                if part["how"] not in {"note", "absent", "made"}:
                    times, tokens = found[part["first"]]
                    found[part["first"]] = times + at - since, tokens + (at - since) * part["tokens"]
            stack[call["keep"] :] = [(number, at) for number in call["add"]]
        return found

    def _by_tool(self, calls: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return for each tool how many results it gave, their tokens, and how many tokens of calls they took."""
        sent, rows = self._sent(calls), dict[str, list[int]]()
        for seq, row in enumerate(self._rows):
            for tool in messages[seq]["tools"][:1] if row.result_ids else ():
                row_of = rows.setdefault(tool, [0, 0, 0])
                row_of[0] += len(row.result_ids)
                row_of[1] += messages[seq]["tokens"]
                row_of[2] += sent[seq][1]
        keys = ("results", "tokens", "sent_tokens")
        ordered = sorted(rows.items(), key=lambda item: (-item[1][2], -item[1][1], item[0]))
        return [{"tool": tool, **dict(zip(keys, row, strict=True))} for tool, row in ordered]

    def _recalled(
        self, calls: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]
    ) -> Iterable[dict[str, Any]]:
        """Yield each copy of earlier messages that was brought back, and what it is a copy of."""
        answered = [call["answer"] if call["answer"] is not None else -1 for call in calls]
        for row in self._rows:
            if row.category is Category.RECALLED:
                call = next((at for at, answer in enumerate(answered) if answer > row.seq), None)
                yield {
                    "message": row.seq,
                    "call": call,
                    "tokens": messages[row.seq]["tokens"],
                    "of": self._recalls.get(row.seq, ""),
                }


_HEAD: Final = frozenset({Kind.PIN, Kind.MEMORY})


class _Item(NamedTuple):
    """A part of a request for the prompt cache: by what it is known, and its cost."""

    known_by: object
    cost: Cost


def _raw(row: StoredMessage) -> Part:
    """Return a message as a part that was never cut."""
    part = Part(Kind.MESSAGE, row.role, row.cost, row.seq, row.seq, row.payload, row.codec)
    return part._replace(call_ids=row.call_ids, result_ids=row.result_ids)


def _sent_text(codec: Any, part: Part) -> str:  # noqa: ANN401  # a codec
    value = jsontext.parse(codec.encode(part))
    sent = {"output": value} if isinstance(value, list) else value
    return str(codec.decode(jsontext.write(sent)).rendered)


def _group(part: Part, level: str) -> str:
    if part.kind is Kind.SUMMARY:
        return level if level in GROUPS else "summary"
    if part.kind is Kind.NOTICE:
        return "absent" if part.first_seq >= 0 else "other"
    return _BY_KIND.get(part.kind) or ("tool" if part.result_ids else _BY_ROLE.get(part.role, "other"))


def _reason(part: Part, how: str) -> str | None:
    """Return why a part is not what was said, in words; `None` if it is."""
    if how == "note":
        return "notes stand for these messages, to keep the request within its window"
    if how == "absent":
        return "too old for the notes of this window; one line says that they are stored"
    if how == "truncated":
        return "too large on arrival: cut to head and tail"
    if how == "made":
        return None
    kinds = {part.first_seq: part.kind}
    return next((one.reason for one in account((), 0, kinds, [part]) if one.reason), None)


def _plans(session: CoreSession, requests: Sequence[RecordedRequest]) -> Iterable[dict[str, Any]]:
    """Yield every plan change with the call that came with it, and the call by which it had paid for itself."""
    first: dict[tuple[int, int], int] = {}
    for at, request in enumerate(requests):
        first.setdefault((request.line, request.record.plan_id), at)
    for line in reversed([*session.line.all()]):
        inherited = line.inherited(PLAN.name)
        plans = PLAN.all(line, session.session_id, inherited)
        starts = [first.get((line.line, plan.plan_id)) for plan in plans]
        for place, (plan, start) in enumerate(zip(plans, starts, strict=True)):
            later = [one for one in starts[place + 1 :] if one is not None]
            yield _plan(plan, line.line, start, min(later, default=len(requests)))


def _plan(plan: PlanRecord, line: int, call: int | None, next_call: int) -> dict[str, Any]:
    price, place = plan.price, plan.first_changed
    pays = price.break_even_requests if price else None
    paid_at = call + math.ceil(pays) if call is not None and pays is not None else None
    return {
        "line": line,
        "plan": plan.plan_id,
        "call": call,
        "cause": plan.cause,
        "time": plan.created_at,
        "made_at": plan.made_at_seq,
        "before": plan.tokens_before,
        "after": plan.tokens_after,
        "kept": place.token_offset if place else None,
        "from": place.seq if place and place.seq >= 0 else None,
        "price": price.written_tokens if price else None,
        "summary_price": price.summary_tokens if price else None,
        "pays_after": pays,
        "paid_at": paid_at if paid_at is not None and paid_at < next_call else None,
        "restores": plan.repeats,
    }


def _totals(values: Mapping[str, Any]) -> dict[str, Any]:
    calls, everything = values["calls"], values["policies"][0]
    keys = ("tokens", "cached", "new", "rewritten", "output", "price", "output_price")
    return {
        "calls": len(calls),
        "messages": len(values["messages"]),
        "said_tokens": sum(one["tokens"] for one in values["messages"]),
        **{key: sum(call[key] for call in calls) for key in keys},
        "everything_price": sum(everything["price"]),
        "compactions": sum(one["call"] is not None for one in values["compactions"]),
        "rebuilt": sum(call["is_same"] for call in calls),
        "reported": sum(call["reported"] is not None for call in calls),
    }


# -- a replay ----------------------------------------------------------------------------------------------------------


def replayed_data(
    data: ReportData, outcome: ReplayOutcome, rows: Sequence[PolicyRow], place: int, label: str
) -> ReportData:
    """Return the data of a replayed session with what only a replay knows: bills, needed names, other policies.

    `rows` are the policies beside it, `place` the conversation's among theirs, `label` the name of its own policy.
    """
    values = dict(data.values)
    by_answer = {call["answer"]: dict(call) for call in values["calls"]}
    for bill in outcome.bills:
        if (call := by_answer.get(bill.answer)) is not None:
            new = min(call["new"], bill.tokens - bill.cached_tokens)
            rewritten = bill.tokens - bill.cached_tokens - new
            call |= {"cached": bill.cached_tokens, "new": new, "rewritten": rewritten, "price": bill.price}
    calls = [*by_answer.values()]
    others = [_policy(row, place, calls) for row in rows if row.name != values["policies"][0]["name"]]
    for row in others:
        row["is_this"] = row["name"] == label
    at = {call["answer"]: call["call"] for call in calls}
    missing = sorted(
        {"call": at[one.answer], "name": one.name, "age": one.age, "said": one.seen}.items()
        for one in outcome.missing
        if one.answer in at
    )
    values |= {
        "source": "replay",
        "calls": calls,
        "policies": [values["policies"][0], *others],
        "missing": [dict(one) for one in missing],
        "errors": [_error(at, one.call, one.error) for at, one in enumerate(outcome.failures)],
    }
    return data._replace(values=values | {"totals": _totals(values)})


def _policy(row: PolicyRow, place: int, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    bills = {bill.answer: bill for bill in row.bills[place]}
    found = [bills.get(call["answer"]) for call in calls]
    return {
        "name": row.name,
        "ours": row.ours,
        "tokens": [bill.tokens if bill else None for bill in found],
        "cached": [bill.cached_tokens if bill else None for bill in found],
        "price": [bill.price if bill else None for bill in found],
        "over": [bill.is_over if bill else None for bill in found],
    }


def _error(failed: int, call: int, error: Exception) -> dict[str, Any]:
    """Return a call without a request, and the call of the report before which it stands: `failed` came before it."""
    return {
        "call": call,
        "next": call - failed,
        "kind": "budget" if isinstance(error, BudgetError) else "invalid",
        "text": str(error),
    }
