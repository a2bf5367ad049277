"""The data behind a report: messages, the parts of every request, calls with their costs, compactions, and tables."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import accumulate
from operator import is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.adapters.common.packages import DISTRIBUTION
from squidbot.core.errors import BudgetError
from squidbot.core.kinds import PLAN
from squidbot.core.last_request import NOTHING
from squidbot.core.messages import Category, Cost, Kind, Part, ToolResult, Words
from squidbot.core.ports import SupportsKinds
from squidbot.core.settings import STRATEGIES
from squidbot.core.transcript.bookkeeping import BROUGHT
from squidbot.core.transcript.lines import COURSE, HEAD, LINE
from squidbot.core.transcript.pins import PIN
from squidbot.core.transcript.recordings import RECORDING
from squidbot.core.transcript.removals import FORGOTTEN, RETRACTION
from squidbot.core.view.assembly import account
from squidbot.core.view.marks import recalled_ids
from squidbot.replay.metrics import PromptCache
from squidbot.replay.recording import rendered
from squidbot.replay.rivals import RIVALS, SendEverything
from squidbot.report.recorded import FirstParts, RecordedCalls
from squidbot.report.requests import RequestReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.last_request import LastRequest
    from squidbot.core.messages import StoredMessage, ToolCall
    from squidbot.core.plan import PlanRecord
    from squidbot.core.session import CoreSession
    from squidbot.core.transcript.recordings import SourceSession
    from squidbot.replay.runner import PolicyRow, ReplayOutcome
    from squidbot.replay.terms import Charges
    from squidbot.report.recorded import AgentCompaction
    from squidbot.report.requests import RecordedRequest

# Counts the forms of the data: a reader that knows another one refuses it.
FORMAT: Final = 1
# What the figures of a request are split into, in the order in which they are drawn.
GROUPS: Final = (
    "system", "pinned", "memory", "merged", "compact", "moderate", "detailed", "summary", "carried", "absent", "user",
    "model", "tool", "recalled", "other",
)  # fmt: skip
# A provider counts what is new, and what it had, a little otherwise than we do: so much of a request is no difference.
COUNT_FRACTION: Final = 0.02
# What stands for an error in figures to be shared.
LEFT_OUT: Final = "left out"
EVERYTHING: Final = SendEverything.name
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


# Records of these kinds come with changes of what was stored before, or of what it stands for.
_CHANGING: Final = frozenset(kind.name for kind in (FORGOTTEN, RETRACTION, LINE, COURSE, HEAD, PIN, BROUGHT))
_NO_CALLS: Final[tuple[ToolCall, ...]] = ()


class ReportSource(NamedTuple):
    """Where a report's data come from, and how its figures are made.

    Attributes:
        session: the session; its store is only read.
        charges: the prices by which calls are billed that report no usage.
        redact: takes secrets out of a text.
        tokens: counts a part of a request, in tokens; `None`: as the session counted it.
        progress: is told how many messages and requests were read, and of how many; `None`: nobody is.
    """

    session: CoreSession
    charges: Charges
    redact: Callable[[str], str] = str
    tokens: Callable[[Part], int] | None = None
    progress: Callable[[int, int], None] | None = None


class ReportData(NamedTuple):
    """The data of a report: `values` as JSON has them, and the texts that they name by number."""

    values: dict[str, Any]
    texts: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as values that JSON holds."""
        return {**self.values, "texts": self.texts}


def report_data(source: ReportSource, now: float | None = None) -> ReportData:
    """Return the data of a session; `now` is when, in seconds since 1970.

    Raises:
        DamagedStoreError: a message or record can't be read.
        StoreError: the store failed.
    """
    return _Builder(source).report(now)


class GrowingReport:
    """The report of a session that grows: what was read of it is not read again, unless any of it may have changed."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._builder: _Builder | None = None
        self._basis: object = None

    def report(self, source: ReportSource, now: float | None = None) -> ReportData:
        """Return the data as `report_data` does, and raise as that; rows that stay are the same objects."""
        basis, builder = _basis(source.session), self._builder
        self._builder = None  # what fails halfway is not gone on with
        if builder is None or basis is None or basis != self._basis or not builder.goes_on(source):
            builder = _Builder(source)
        made = builder.report(now)
        self._builder, self._basis = builder, basis
        return made


def _basis(session: CoreSession) -> object:
    """Return what differs as soon as rows of a session, or records of requests, may have changed; `None` if unknown."""
    store = session.line.store
    if not isinstance(store, SupportsKinds):
        return None
    kinds = store.kinds(session.session_id)
    return session.window, {kind: count for kind, count in kinds.items() if kind.partition("@")[0] in _CHANGING}


class _Builder:
    """Reads a session, and collects the values of its report."""

    def __init__(self, source: ReportSource) -> None:
        self._take(source)
        self._reader = RequestReader()
        # What the session was imported from, if squidbot made none of its requests, and the calls of its recording.
        self._recording: SourceSession | None = None
        self._recorded = RecordedCalls()
        self._requests: list[RecordedRequest] = []
        self._said: list[dict[str, Any]] = []
        self._billing = _Billing(source.charges)
        # The numbers of texts without secrets, and by the texts as they were.
        self._texts: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._parts: dict[Part, int] = {}
        self._shown: list[dict[str, Any]] = []
        self._rows: list[StoredMessage] = []
        # The tools of calls by the ids of the calls.
        self._tools: dict[str, str] = {}
        # The messages that a message is a copy of: "m17-m40", "" for found ones.
        self._recalls: dict[int, str] = {}

    def _take(self, source: ReportSource) -> None:
        self._source, self._session = source, source.session
        self._context = source.session.context
        self._codecs = self._context.renderer.codecs

    def goes_on(self, source: ReportSource) -> bool:
        """Take the session as it is now; return whether its messages and requests go on from those that are known."""
        self._take(source)
        ends = self._rows[:1] + self._rows[-1:]
        there = source.session.line.store.pick(source.session.session_id, {row.seq for row in ends})
        if {(row.seq, row.time, row.payload) for row in ends} != {(row.seq, row.time, row.payload) for row in there}:
            return False  # it was forgotten, and begun again
        self._read()
        known = self._billing.requests
        return len(self._requests) >= len(known) and all(map(is_, self._requests, known))

    def _read(self) -> None:
        """Read what is new."""
        self._said += self._messages()
        # What another program has said meanwhile is of the next report.
        read, session = self._reader.read(self._session), self._session
        self._recording = None if read else RECORDING.newest(session.line.store, session.session_id)
        if self._recording is not None:
            read = self._recorded.read(session, self._rows)
        self._requests = [one for one in read if one.record.messages <= len(self._said)]

    def report(self, now: float | None) -> ReportData:
        session, charges, lines = self._session, self._source.charges, self._session.line
        if not self._said:
            self._read()
        messages, requests = [*self._said], self._requests
        calls = self._calls(requests)
        is_ours = self._recording is None
        plans = [*_plans(session, requests)] if is_ours else [*map(_agents, self._recorded.compactions)]
        values = {
            "format": FORMAT,
            "with_text": True,
            "squidbot": version(DISTRIBUTION),
            "made_at": now,
            "source": "store" if is_ours else "recording",
            "recording": self._imported(),
            "session": session.session_id,
            "window": self._window(calls),
            "prices": charges.to_json(),
            "groups": [*GROUPS],
            "messages": messages,
            "parts": [*self._shown],
            "calls": calls,
            "compactions": plans,
            "lines": [state._asdict() | {"runs": lines.on(state.number).runs} for state in lines.states()],
            "policies": [self._everything(calls)] if is_ours else [],
            "missing": [],
            "errors": [],
        }
        sent = self._sent(calls)
        values |= {"heaviest": _heaviest(sent, messages), "tools": self._by_tool(sent, messages)}
        values |= {"recalled": [*self._recalled(calls, messages)], "totals": _totals(values)}
        return ReportData(values, [*self._texts])

    def _imported(self) -> dict[str, str | None] | None:
        """Return where the session was imported from."""
        if self._recording is None:
            return None
        agent, _, project, title = self._recording
        return {
            name: self._source.redact(one) or None
            for name, one in zip(("agent", "project", "title"), (agent, project, title), strict=True)
        }

    def _window(self, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the window of the requests; that of another agent is unknown."""
        window = self._session.window
        sizes: tuple[int | None, ...] = (None, None, None)
        model, source = (calls[-1]["model"] or "" if calls else ""), "recording"
        if self._recording is None:
            tokens, reserve = window.window_tokens, window.reserved_output_tokens
            sizes, model, source = (tokens, reserve, tokens - reserve), window.model, window.source
        return {
            **dict(zip(("tokens", "reserve", "limit"), sizes, strict=True)),
            "model": model,
            "counter": window.counter,
            "source": source,
        }

    # -- messages ------------------------------------------------------------------------------------------------------

    def _messages(self) -> Iterable[dict[str, Any]]:
        """Yield each stored message, of all lines."""
        store, session_id = self._session.line.store, self._session.session_id
        lines = self._session.line
        pinned = PIN.state(lines, session_id).seqs
        count = store.head(session_id)[0]
        for first in range(len(self._rows), count, PAGE_MESSAGES):
            self._tell(first, count)
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
            "tools": [self._source.redact(tool) for tool in tools],
            "flags": [name for name, is_set in flags.items() if is_set],
            "text": self._text(text),
        }

    def _tell(self, done: int, among: int) -> None:
        if self._source.progress is not None:
            self._source.progress(done, among)

    def _counted(self, part: Part, tokens: int) -> int:
        return self._source.tokens(part) if self._source.tokens else tokens

    def _text(self, text: str) -> int:
        """Return the number of a text, without its secrets."""
        number = self._numbers.get(text)
        if number is None:  # taking secrets out takes time, and most texts of requests are those of messages
            number = self._numbers[text] = self._texts.setdefault(self._source.redact(text), len(self._texts))
        return number

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _part(self, part: Part, levels: Mapping[str, str], name: str) -> int:
        """Return the number of a part, which is described at its first appearance."""
        if part in self._parts:
            return self._parts[part]
        number = self._parts[part] = len(self._parts)
        how = self._how(part)
        level = levels.get(part.summary_id or "", "")
        level = _LEVELS.get(level, level)
        codec = self._codecs.get(part.codec or "")
        text = rendered(codec, codec.encode(part)) if codec and part.payload is not None else part.text or ""
        self._shown.append(
            {
                "kind": part.kind.value,
                "role": part.role,
                "how": how,
                "group": "carried" if part.first_seq in self._recorded.summaries else _group(part, level),
                "level": level or None,
                "first": part.first_seq if part.first_seq >= 0 else None,
                "last": part.last_seq if part.last_seq >= 0 else None,
                "summary": part.summary_id,
                "name": self._source.redact(name) or None,
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
        billing, messages = self._billing, len(self._rows)
        for request in requests[len(billing.requests) : -1]:
            self._tell(messages + len(billing.calls), messages + len(requests))
            call = self._billed(request, billing)
            billing.requests.append(request)
            billing.calls.append(call)
            billing.known.update(call["add"])
        # The newest may come again, with its bill or its answer.
        return [*billing.calls, *(self._billed(request, billing.copied()) for request in requests[-1:])]

    def _billed(self, request: RecordedRequest, billing: _Billing) -> dict[str, Any]:
        """Return the next call."""
        stack, known, parts = billing.stack, billing.known, request.parts or ()
        shared = stack.shared(parts)
        kept = stack.push(parts, shared, self._numbered(request, shared), self._shown)
        call = self._call(len(billing.calls), request, stack, kept)
        if self._recording is not None:
            call |= {"time": self._rows[call["answer"]].time, "bound": None, "limit": None, "is_same": None}
        is_new = request.plan and request.record.plan_id != billing.plan_id
        call["cause"] = request.plan.cause if request.plan and is_new else None
        added = sum(self._shown[number]["tokens"] for number in call["add"] if number not in known)
        self._bill(call, request, added + (0 if known else call["outside"]), self._cached(call, request, billing))
        billing.plan_id = request.record.plan_id
        return call

    def _numbered(self, request: RecordedRequest, shared: int) -> list[int]:
        """Return the numbers of a request's parts behind those that it shares with the request before."""
        plan, parts = request.plan, request.parts or ()
        if plan is None:
            return [self._part(part, {}, "") for part in parts[shared:]]
        noted = [one for one in plan.segments if one.summary_id]
        levels = {
            one.summary_id or "": _LEVELS.get(one.representation.level, one.representation.level) for one in noted
        }
        is_head = [part.first_seq < 0 and part.kind in _HEAD for part in parts]
        names = iter([section.name for section in plan.sections])
        named = [next(names, "") if head else "" for head in is_head]
        return [self._part(part, levels, name) for part, name in zip(parts[shared:], named[shared:], strict=True)]

    def _call(self, at: int, request: RecordedRequest, stack: _Stack, kept: int) -> dict[str, Any]:
        record, groups = request.record, stack.groups.copy()
        # The host's system text and tools, and the template around all, are only known by their cost.
        is_counted = self._source.tokens and stack.numbers
        outside = 0 if is_counted else max(0, record.cost.estimate - stack.tokens)
        groups["system" if stack.numbers else "other"] += outside
        answer = record.messages if 0 <= record.messages < len(self._rows) else None
        return {
            "call": at,
            "request": request.number,
            "line": request.line,
            "answer": answer,
            "time": self._rows[record.messages - 1].time if record.messages > 0 else None,
            "model": self._source.redact(request.model) or None,
            "plan": record.plan_id if record.plan_id >= 0 else None,
            "keep": kept,
            "add": stack.numbers[kept:],
            "tokens": sum(groups.values()),
            "bound": record.certified or record.cost.bound,
            "limit": self._room(record) if record.certified else record.limit.bound,
            "outside": outside,
            "by": {name: groups[name] for name in GROUPS if groups[name]},
            "is_same": request.is_same,
            "problem": self._source.redact(request.problem) or None,
            "output": self._messages_cost(answer),
        }

    def _room(self, record: LastRequest) -> int:
        """Return the window's room for input: what bounds by earlier bills are kept within."""
        window = self._session.window
        reserve = record.reserve_under(window)
        return window.window_tokens - (reserve.tokens if reserve else window.reserved_output_tokens)

    def _messages_cost(self, seq: int | None) -> int:
        return 0 if seq is None else self._counted(_raw(self._rows[seq]), self._rows[seq].cost.estimate)

    def _cached(self, call: Mapping[str, Any], request: RecordedRequest, billing: _Billing) -> int:
        """Return how many tokens of the next call a provider's cache can have."""
        now = call["time"] or 0.0
        if self._recording is None:
            outside = _Item((request.record.system, request.record.tools), Cost(call["outside"], 0))
            cached = billing.cache.read([outside, *billing.stack.items], now)
            return min(int(call["tokens"]), cached)
        # What an agent sends grows, so no earlier call has a longer beginning in common than the one before.
        charges, before = self._source.charges, billing.calls[-1]["time"] or 0.0 if billing.calls else -math.inf
        kept: int = call["tokens"] - sum(self._shown[number]["tokens"] for number in call["add"])
        return charges.cached(kept) if now - before <= charges.ttl_seconds else 0

    def _bill(self, call: dict[str, Any], request: RecordedRequest, new: int, cached: int) -> None:
        """Add to a call what it costs, by its provider's report or by the prices.

        `new` tokens were never sent; a cache can have had `cached` ones.
        """
        charges, tokens, output = self._source.charges, call["tokens"], call["output"]
        price = charges.request(tokens, cached)
        if request.usage is not None:
            tokens, output, cached = request.usage
            price = charges.prices.billed(request.usage._replace(output_tokens=0))
        new = min(tokens - cached, round(new * tokens / max(1, call["tokens"])))
        if tokens - cached - new <= COUNT_FRACTION * tokens:
            new = tokens - cached
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
        """Return what the same calls would cost if each sent everything that was said on its line before it.

        Where a provider has reported usage, it is billed in the provider's tokens, and cached only if it caches.
        """
        charges, costs = self._source.charges, [(self._messages_cost(row.seq), row.cost.bound) for row in self._rows]
        row: dict[str, Any] = {
            "name": EVERYTHING,
            "ours": False,
            "is_this": False,
            "tokens": [],
            "cached": [],
            "price": [],
            "over": [],
        }
        scale, caches = _scale(calls)
        before, sent_at = 0, -math.inf
        sums: dict[int, tuple[list[int], list[Cost]]] = {}
        for call in calls:
            if call["line"] not in sums:
                runs = self._session.line.on(call["line"]).runs
                has = [seq for first, last in runs for seq in range(first, min(last + 1, len(costs)))]
                sums[call["line"]] = has, [*accumulate((Cost(*costs[seq]) for seq in has), Cost.plus, initial=NOTHING)]
            has, added = sums[call["line"]]
            answer = call["answer"] if call["answer"] is not None else len(self._rows)
            said = added[bisect_left(has, answer)]
            tokens = round(scale * (said.estimate + call["outside"]))
            now = call["time"] or 0.0
            cached = min(tokens, charges.cached(before)) if caches and now - sent_at <= charges.ttl_seconds else 0
            row["tokens"].append(tokens)
            row["cached"].append(cached)
            row["price"].append(charges.request(tokens, cached))
            row["over"].append(round(scale * (said.bound + call["outside"])) > call["limit"])
            before, sent_at = tokens, now
        return row

    # -- tables --------------------------------------------------------------------------------------------------------

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

    def _by_tool(self, sent: Sequence[tuple[int, int]], messages: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return for each tool how many results it gave, their tokens, and how many tokens of calls they took.

        `sent` is as of `_sent`.
        """
        rows: dict[str, list[int]] = {}
        for seq, row in enumerate(self._rows):
            if row.result_ids:
                for tool, share in zip(messages[seq]["tools"], self._shares(row), strict=True):
                    row_of = rows.setdefault(tool, [0, 0, 0])
                    row_of[0] += 1
                    row_of[1] += round(share * messages[seq]["tokens"])
                    row_of[2] += round(share * sent[seq][1])
        keys = ("results", "tokens", "sent_tokens")
        ordered = sorted(rows.items(), key=lambda item: (-item[1][2], -item[1][1], item[0]))
        return [{"tool": tool, **dict(zip(keys, row, strict=True))} for tool, row in ordered]

    def _shares(self, row: StoredMessage) -> list[float]:
        """Return the share of each result in a message's tokens, by the lengths of their texts."""
        codec, count = self._codecs.get(row.codec), len(row.result_ids)
        if count == 1 or codec is None:
            return [1 / count] * count
        found = [piece for piece in codec.portable(row.payload).pieces if isinstance(piece, ToolResult)]
        chars = {one.call_id: sum(len(said.text) for said in one.said if isinstance(said, Words)) for one in found}
        lengths = [1 + chars.get(call_id, 0) for call_id in row.result_ids]
        return [length / sum(lengths) for length in lengths]

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


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of a request for the prompt cache: by what it is known, and its cost."""

    known_by: object
    cost: Cost = field(compare=False)


class _Stack:
    """The newest request's parts: the next request mostly has the same ones, and others behind them."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.items: list[_Item] = []
        self.groups = Counter[str]()
        # Their tokens as the session counted them.
        self.tokens = 0
        self._parts: Sequence[Part] = ()

    def copied(self) -> _Stack:
        """Return a copy, which changes by itself."""
        other = copy(self)
        other.numbers, other.items, other.groups = [*self.numbers], [*self.items], self.groups.copy()
        return other

    def shared(self, parts: Sequence[Part]) -> int:
        """Return how many parts of another request are, from the first, the same objects."""
        most = min(len(self._parts), len(parts))
        if isinstance(parts, FirstParts) and parts.begins_as(self._parts):
            return most
        pairs = enumerate(zip(self._parts, parts, strict=False))
        return next((at for at, (one, other) in pairs if one is not other), most)

    def push(self, parts: Sequence[Part], shared: int, added: list[int], shown: Sequence[Mapping[str, Any]]) -> int:
        """Take the next request; return how many parts stay, from the first.

        It has `shared` parts of this one, from the first, and behind them those of the numbers `added`.
        """
        behind = self.numbers[shared:]
        pairs = enumerate(zip(behind, added, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(behind), len(added)))
        kept, numbers = shared + same, added[same:]
        for number in self.numbers[kept:]:
            self.groups[shown[number]["group"]] -= shown[number]["tokens"]
        for number in numbers:
            self.groups[shown[number]["group"]] += shown[number]["tokens"]
        self.tokens += sum(part.cost.estimate for part in parts[kept:])
        self.tokens -= sum(part.cost.estimate for part in self._parts[kept:])
        self.items[kept:] = [_Item(number, Cost(shown[number]["tokens"], 0)) for number in numbers]
        self.numbers[kept:], self._parts = numbers, parts
        return kept


class _Billing:
    """The calls so far, and what the next one depends on: the request before it, the cache, the parts ever sent."""

    def __init__(self, charges: Charges) -> None:
        self.stack, self.cache, self.plan_id = _Stack(), PromptCache[_Item](charges), -1
        self.requests: list[RecordedRequest] = []
        self.calls: list[dict[str, Any]] = []
        self.known: set[int] = set()

    def copied(self) -> _Billing:
        """Return a copy for one call more, which is not kept."""
        other = copy(self)
        other.stack, other.cache = self.stack.copied(), copy(self.cache)
        return other


def _heaviest(sent: Sequence[tuple[int, int]], messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the messages that took most tokens of all calls together; `sent` is as of `_sent`."""
    first = sorted(range(len(messages)), key=lambda seq: (-sent[seq][1], -messages[seq]["tokens"], seq))
    return [
        {"message": seq, "tokens": messages[seq]["tokens"], "calls": sent[seq][0], "sent_tokens": sent[seq][1]}
        for seq in first[:MOST_HEAVY]
    ]


def _raw(row: StoredMessage) -> Part:
    """Return a message as a part that was never cut."""
    part = Part(Kind.MESSAGE, row.role, row.cost, row.seq, row.seq, row.payload, row.codec)
    return part._replace(call_ids=row.call_ids, result_ids=row.result_ids)


def _scale(calls: Sequence[Mapping[str, Any]]) -> tuple[float, bool]:
    """Return how many of a provider's tokens one of ours is, and whether it caches; (1, True) without its reports."""
    reported = [call for call in calls if call["reported"]]
    if not reported:
        return 1.0, True
    billed = sum(call["reported"]["input_tokens"] for call in reported)
    own = sum(call["tokens"] for call in reported)
    return billed / max(1, own), any(call["reported"]["cached_tokens"] for call in reported)


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


def _agents(compaction: AgentCompaction) -> dict[str, Any]:
    """Return a compaction of an agent's own as a plan change; what it cost is not recorded."""
    unknown = ("plan", "kept", "price", "summary_price", "pays_after", "paid_at", "restores")
    return {
        **dict.fromkeys(unknown),
        "line": compaction.line,
        "call": compaction.call,
        "cause": "agent",
        "time": compaction.time,
        "made_at": compaction.seq,
        "before": compaction.before,
        "after": compaction.after,
        "from": compaction.first_seq,
    }


def _totals(values: Mapping[str, Any]) -> dict[str, Any]:
    calls, policies = values["calls"], values["policies"]
    keys = ("tokens", "cached", "new", "rewritten", "output", "price", "output_price")
    return {
        "calls": len(calls),
        "messages": len(values["messages"]),
        "said_tokens": sum(one["tokens"] for one in values["messages"]),
        **{key: sum(call[key] for call in calls) for key in keys},
        "everything_price": sum(policies[0]["price"]) if policies else None,
        "compactions": sum(one["call"] is not None for one in values["compactions"]),
        "rebuilt": sum(bool(call["is_same"]) for call in calls),
        "reported": sum(call["reported"] is not None for call in calls),
    }


# -- a replay ----------------------------------------------------------------------------------------------------------


def replayed_data(  # noqa: PLR0913, PLR0917  # what a replay knows
    data: ReportData,
    outcome: ReplayOutcome,
    rows: Sequence[PolicyRow],
    place: int,
    label: str,
    redact: Callable[[str], str] = str,
) -> ReportData:
    """Return the data of a replayed session with what only a replay knows: bills, needed names, other policies.

    `rows` are the policies beside it, `place` the conversation's among theirs, `label` the name of its own policy;
    `redact` takes secrets out of a text.
    """
    values = dict(data.values)
    by_answer = {call["answer"]: dict(call) for call in values["calls"]}
    for bill in outcome.bills:
        if (call := by_answer.get(bill.answer)) is not None:
            new = min(call["new"], bill.tokens - bill.cached_tokens)
            rewritten = bill.tokens - bill.cached_tokens - new
            call |= {"cached": bill.cached_tokens, "new": new, "rewritten": rewritten, "price": bill.price}
    calls = [*by_answer.values()]
    policies = [_policy(row, place, calls, label) for row in rows] or values["policies"]
    at = {call["answer"]: call["call"] for call in calls}
    found = sorted((at[one.answer], redact(one.name), one.age, one.seen) for one in outcome.missing if one.answer in at)
    values |= {
        "source": "replay",
        "calls": calls,
        "policies": policies,
        "missing": [dict(zip(("call", "name", "age", "said"), one, strict=True)) for one in found],
        "errors": [_error(at, one.call, one.error, redact) for at, one in enumerate(outcome.failures)],
    }
    return data._replace(values=values | {"totals": _totals(values)})


def _policy(row: PolicyRow, place: int, calls: Sequence[Mapping[str, Any]], label: str) -> dict[str, Any]:
    bills = {bill.answer: bill for bill in row.bills[place]}
    found = [bills.get(call["answer"]) for call in calls]
    return {
        "name": row.name,
        "ours": row.ours,
        "is_this": row.name == label,
        "tokens": [bill.tokens if bill else None for bill in found],
        "cached": [bill.cached_tokens if bill else None for bill in found],
        "price": [bill.price if bill else None for bill in found],
        "over": [bill.is_over if bill else None for bill in found],
    }


def _error(failed: int, call: int, error: Exception, redact: Callable[[str], str]) -> dict[str, Any]:
    """Return a call without a request, and the call of the report before which it stands: `failed` came before it."""
    return {
        "call": call,
        "next": call - failed,
        "kind": "budget" if isinstance(error, BudgetError) else "invalid",
        "text": redact(str(error)),
    }


# -- without words -----------------------------------------------------------------------------------------------------


def without_text(data: ReportData) -> ReportData:
    """Return figures and shapes only, to be shared: no text, name, id, path or error, and times from 0 on."""
    values = data.values
    began = min((one["time"] for one in values["messages"] if one["time"] is not None), default=0.0)
    tools: dict[str, str] = {}
    notes: dict[str, str] = {}

    def tool(name: str) -> str:
        return tools.setdefault(name, f"tool {len(tools) + 1}")

    def bare(one: Mapping[str, Any], **given: object) -> dict[str, Any]:
        """Return a row with other values, its time from the beginning on, and without its text."""
        text = {"text": None} if "text" in one else {}
        when = {key: one[key] and one[key] - began for key in ("time", "at") if key in one}
        return {**one, **text, **when, **given}

    shown = {
        "made_at": None,
        "with_text": False,
        "session": None,
        "recording": values["recording"] and dict.fromkeys(values["recording"]),
        "window": bare(values["window"], model=None, counter=None, source=None),
        "prices": bare(values["prices"], name=None, as_of=None),
        "messages": [bare(one, tools=[tool(name) for name in one["tools"]]) for one in values["messages"]],
        "parts": [
            bare(one, name=None, summary=one["summary"] and notes.setdefault(one["summary"], f"note {len(notes) + 1}"))
            for one in values["parts"]
        ],
        "calls": [bare(one, model=None, problem=one["problem"] and LEFT_OUT) for one in values["calls"]],
        "compactions": [bare(one) for one in values["compactions"]],
        "lines": [bare(one) for one in values["lines"]],
        "policies": [bare(one, name=_known(one["name"], at)) for at, one in enumerate(values["policies"])],
        "missing": [bare(one, name=None) for one in values["missing"]],
        "errors": [bare(one) for one in values["errors"]],
        "tools": [bare(one, tool=tool(one["tool"])) for one in values["tools"]],
    }
    return ReportData({**values, **shown}, [])


def _known(policy: str, at: int) -> str:
    """Return the name of a policy that squidbot ships, or a number."""
    shipped = {EVERYTHING, *(kind.name for kind in RIVALS), *(f"squidbot {name}" for name in STRATEGIES)}
    return policy if policy in shipped else f"policy {at + 1}"
