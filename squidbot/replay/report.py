"""The outcome of a replay as values that JSON holds."""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from squidbot.adapters.common.files import make_folder, open_own
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.prompts import OFF
from squidbot.replay.metrics import AGES_TOKENS, Tally
from squidbot.replay.setup import SCORING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.replay.runner import Call, Event, Failure, Outcome
    from squidbot.replay.setup import Block, Charges, Terms


JsonObject = dict[str, object]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy of a comparison, over all conversations; `ours` says that it is squidbot's."""

    name: str
    ours: bool
    tally: Tally


@dataclass(frozen=True, slots=True)
class Results:
    """What one run came to: under which terms, each conversation, the policies beside it (none: not asked for)."""

    terms: Terms
    outcomes: tuple[Outcome, ...]
    rows: tuple[Row, ...] = ()


def on_front(rows: Sequence[Row]) -> tuple[bool, ...]:
    """Return of each policy whether it is on the front of cost and recall.

    Only those count that made every request, within the window and with whole pairs. One of them is on the front where
    no other is cheaper and recalls as much, or costs as much and recalls more: of the names and numbers of any age.
    """
    most = max((row.tally.calls for row in rows), default=0)
    points = [
        (row.tally.bite, -(row.tally.nlr[AGES_TOKENS[0]] or 0.0)) if _sound(row.tally, most) else None for row in rows
    ]
    sound = [point for point in points if point is not None]
    return tuple(point is not None and not any(_better(other, point) for other in sound) for point in points)


def _sound(tally: Tally, calls: int) -> bool:
    return tally.calls == calls and not tally.over and not tally.pairs_broken


def _better(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether a point is worse in nothing, and better in something; less is better in both."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@dataclass(slots=True)
class Totals:
    """All conversations of a run together; the names are those of `Outcome`, `failures` with the conversation's id."""

    tally: Tally = field(default_factory=Tally)
    messages: int = 0
    calls: int = 0
    said_tokens: int = 0
    everything_billed: float = 0.0
    largest_bound_tokens: int = 0
    limit_tokens: int = 0
    events: int = 0
    unexplained: int = 0
    failures: list[tuple[str, Failure]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Totals:
        """Return the sums; of one conversation they are its own figures."""
        totals = cls()
        for outcome in outcomes:
            totals.add(outcome)
        return totals

    def add(self, outcome: Outcome) -> None:
        """Take in one conversation."""
        self.tally.add(outcome.tally)
        self.messages += len(outcome.conversation.messages)
        self.calls += outcome.calls
        self.said_tokens += outcome.said_tokens
        self.everything_billed += outcome.everything_billed
        largest = max((one.largest_bound_tokens, one.limit_tokens) for one in (self, outcome))
        self.largest_bound_tokens, self.limit_tokens = largest
        self.events += len(outcome.events)
        self.unexplained += len(outcome.unexplained)
        self.failures.extend((outcome.conversation.id, failure) for failure in outcome.failures)
        self.seconds.extend(outcome.seconds)

    @property
    def everything_bite(self) -> float:
        """What sending everything would be billed a call, in input-token equivalents."""
        return self.everything_billed / max(1, self.calls)

    @property
    def over_budget(self) -> list[BudgetError]:
        """The errors of the calls whose request can't be made to fit."""
        return [failure.error for _, failure in self.failures if isinstance(failure.error, BudgetError)]


def to_json(results: Results) -> JsonObject:
    """Return the one object that `squidbot replay --json` prints."""
    outcomes = results.outcomes
    compared: JsonObject = {"compare": [*map(_row, results.rows, on_front(results.rows))]} if results.rows else {}
    if len(outcomes) == 1:
        return {**_conversation(outcomes[0], results.terms), **compared}
    totals = Totals.of(outcomes)
    return {
        "conversations": [_conversation(outcome, results.terms) for outcome in outcomes],
        "totals": {
            **_terms(results.terms),
            "conversations": len(outcomes),
            **_measures(totals),
            "events": totals.events,
            "budget_errors": len(totals.over_budget),
            "refused": len(totals.failures) - len(totals.over_budget),
        },
        **compared,
    }


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the smallest value that `share` of the values don't pass (nearest rank); None for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _conversation(outcome: Outcome, terms: Terms) -> JsonObject:
    return {
        "transcript": outcome.conversation.path,
        "id": outcome.conversation.id,
        **_terms(terms),
        **_measures(Totals.of([outcome])),
        "breaks_without_event": outcome.unexplained,
        "events": [_event(event) for event in outcome.events],
        **_failures(outcome),
    }


def _terms(terms: Terms) -> JsonObject:
    return {
        "window": terms.window.window_tokens,
        "reserve": terms.window.reserved_output_tokens,
        "strategy": terms.strategy,
        **({"profile": terms.profile} if terms.profile else {}),
        "counter": terms.meter.physical.name,
        "certificate": terms.meter.certificate,
        "unit": terms.unit,
        "mode": terms.mode,
        "prices": _prices(terms.charges),
    }


def _prices(charges: Charges) -> JsonObject:
    """Return what was billed; a cache that is never forgotten has no number in JSON."""
    forgotten = None if math.isinf(charges.ttl_seconds) else charges.ttl_seconds
    as_of = charges.as_of or None
    return {"name": charges.name, "as_of": as_of, **charges.prices._asdict(), "ttl_seconds": forgotten}


def _measures(totals: Totals) -> JsonObject:
    tally = totals.tally
    return {
        "calls": totals.calls,
        "messages": totals.messages,
        "said_tokens": totals.said_tokens,
        **_tally(tally),
        "largest_bound_tokens": totals.largest_bound_tokens if tally.calls else None,
        "bite_of_everything": totals.everything_bite,
        "seconds_per_call": {"p50": percentile(totals.seconds, 0.5), "p99": percentile(totals.seconds, 0.99)},
    }


def _tally(tally: Tally) -> JsonObject:
    """Return the measures of requests; null where there was none: nothing is kept, and nothing is saved, by none."""
    made = {
        "over": tally.over,
        "pairs_broken": tally.pairs_broken,
        "breaks": tally.breaks,
        "mean_tokens": tally.mean_tokens,
        "largest_tokens": tally.largest_tokens,
        "reuse": tally.reuse,
        "bite": tally.bite,
        "users_verbatim": tally.users_verbatim,
        "nlr": {str(age): share for age, share in tally.nlr.items()},
    }
    return made if tally.calls else {name: value if name == "nlr" else None for name, value in made.items()}


def _row(row: Row, front: bool) -> JsonObject:  # noqa: FBT001  # it comes from a map over both
    return {"policy": row.name, "squidbot": row.ours, "front": front, "calls": row.tally.calls, **_tally(row.tally)}


def _event(event: Event) -> JsonObject:
    plan = event.plan
    return {
        "call": event.call,
        "cause": plan.cause,
        "first_changed": asdict(plan.first_changed) if plan.first_changed else None,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "price": plan.price._asdict() if plan.price else None,
    }


def _failures(outcome: Outcome) -> JsonObject:
    unfit, refused = [], []
    for call, error in outcome.failures:
        if isinstance(error, BudgetError):
            amounts = {"cost": error.cost, "budget": error.budget, "unit": error.unit}
            unfit.append({"call": call, "culprit": error.culprit, **amounts, "key": error.key})
        else:
            refused.append({"call": call, "reason": str(error)})
    return {"budget_errors": unfit, "refused": refused}


# The outcome of a replay for people: plain text that reads well at 80 columns, in a terminal and in a
# pipe.

MOST_EVENTS = 12
MOST_WORST = 8
# The age in tokens whose recall tables show beside that of all.
OLD_TOKENS = 8_000

EVENT_KEYS = (
    ("before", "tokens of the request before the event, then after it (bounds)"),
    ("kept", "tokens at its beginning that did not change, and stay cached"),
    ("from", "the first message of the recording behind them"),
    ("price", "of writing the rest to the cache anew, in input tokens"),
    ("pays after", "so many requests, by what the shorter ones save; - never"),
)
COMPARED_KEYS = (
    ("cached", "share of the input that the prompt cache had already"),
    ("over", "calls that do not fit the window less the reserve, by the bound"),
    ("pairs", "calls with a tool call and its result parted: providers refuse them"),
    ("breaks", "calls that do not extend the one before: their cache is lost"),
    ("users", "share of the user's earlier messages that stand there word for word"),
    ("recall", "share of the names and numbers that the agent used next"),
    (">8K", "the same for those last seen 8,000 tokens ago or earlier"),
)
COMPARED_NOTE = """* as replayed above; + on the front: of those that fit with whole pairs, none
costs less and recalls as much, or costs as much and recalls more"""
WORST_KEYS = (
    ("of all", "the same as a share of what sending everything would cost"),
    ("no fit", "calls for which no request could be made"),
)


def as_text(results: Results) -> str:
    """Return the whole outcome as text, with a line break at the end; coloured where standard output is a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        _show(results, console)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


@contextmanager
def progress(total: int, what: str = "replaying") -> Iterator[Callable[[], None]]:
    """Show how far a run is, on standard error where that is a terminal; give what is called for each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def plain(text: str) -> str:
    """Return a text for one line: what a terminal might obey, or can't show, becomes a question mark."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _show(results: Results, console: Console) -> None:
    outcomes = results.outcomes
    totals = Totals.of(outcomes)
    console.print(Text(_headline(outcomes, totals), style="bold"))
    console.print(_conditions(results.terms))
    console.print()
    facts = Table.grid(padding=(0, 2))
    for label, text in _facts(totals, results.terms):
        facts.add_row(Text(label, style="bold"), Text(text))
    console.print(facts)
    if len(outcomes) == 1:
        _show_events(outcomes[0].events, console)
    else:
        _show_worst(outcomes, results.terms, console)
    if results.rows:
        _show_compared(results, console)


def _headline(outcomes: Sequence[Outcome], totals: Totals) -> str:
    whose = plain(outcomes[0].conversation.id) if len(outcomes) == 1 else f"{len(outcomes):,} conversations"
    return (
        f"{whose}: {_count(totals.messages, 'message')}, {_count(totals.calls, 'model call')}, "
        f"{totals.said_tokens:,} tokens of history"
    )


def _conditions(terms: Terms) -> str:
    window, meter = terms.window, terms.meter
    profile = f"profile {terms.profile}, " if terms.profile else ""
    most = terms.settings.policy_limit
    words = f", and at most {most:,} words" if most else ", and within its caps" if terms.unit == "words" else ""
    return (
        f"window {window.window_tokens:,} tokens, {window.reserved_output_tokens:,} of them for the answer{words}; "
        f"{profile}strategy {terms.strategy}; counted by {plain(meter.physical.name)} (bounds: {meter.certificate})"
        f"{_charged(terms.charges)}{f'; mode {plain(terms.mode)}' if terms.mode != OFF else ''}"
    )


def _charged(charges: Charges) -> str:
    if charges is SCORING:
        return ""
    return f"; prices {plain(charges.name)}{f' of {charges.as_of}' if charges.as_of else ''}"


def _facts(totals: Totals, terms: Terms) -> Iterator[tuple[str, str]]:
    tally = totals.tally
    limit_tokens = totals.limit_tokens or terms.limit_tokens
    if totals.failures and not tally.calls:
        yield "sent", f"nothing: of {_count(totals.calls, 'call')} no request fits {limit_tokens:,} tokens"
        return
    largest = f"largest {totals.largest_bound_tokens:,} of {limit_tokens:,} by its bound"
    yield "sent", f"{tally.mean_tokens:,.0f} tokens a call on average, {largest}"
    yield "", f"{_count(tally.over, 'request')} over the window, {tally.pairs_broken:,} with a broken tool pair"
    if totals.failures:
        yield "", f"no request for {_count(len(totals.failures), 'call')}"
    everything = totals.everything_bite
    share = _percent(tally.bite / everything if everything else None)
    yield "cost", f"{tally.bite:,.0f} input tokens' worth a call: {share} of sending everything ({everything:,.0f})"
    yield "", f"{_percent(tally.reuse)} of the input was cached"
    yield "", _breaks(totals)
    yield "kept", f"{_percent(tally.users_verbatim)} of the user's messages, word for word"
    yield "", _recall(tally)
    yield "time", _time(totals.seconds)


def _breaks(totals: Totals) -> str:
    breaks = totals.tally.breaks
    if not breaks:
        return "every request extends the one before it"
    explained = f"{totals.unexplained:,} WITHOUT AN EVENT" if totals.unexplained else "each at an event"
    return f"{_count(breaks, 'request')} broke the cached prefix, {explained}"


def _recall(tally: Tally) -> str:
    shares = {age: share for age, share in tally.nlr.items() if share is not None}
    if not shares:
        return "the agent used no name or number again"
    older = ", ".join(f"{_percent(share)} after {age:,}" for age, share in shares.items() if age)
    behind = f"; by tokens since last seen: {older}" if older else ""
    return f"{_percent(shares[AGES_TOKENS[0]])} of the names and numbers that the agent used next{behind}"


def _time(seconds: Sequence[float]) -> str:
    median, late = percentile(seconds, 0.5), percentile(seconds, 0.99)
    if median is None or late is None:
        return "no call"
    return f"{median * 1000:,.2f} ms to decide on a request (median), 99 of 100 within {late * 1000:,.1f} ms"


def _show_events(events: Sequence[Event], console: Console) -> None:
    if not events:
        return
    table = _table("call", "cause", "before", "after", "kept", "from", "price", "pays after", text_columns=("cause",))
    for call, plan in events[:MOST_EVENTS]:
        place, price = plan.first_changed, plan.price
        pays = price.break_even_requests if price else None
        table.add_row(
            f"{call:,}",
            plan.cause,
            f"{plan.tokens_before:,}",
            f"{plan.tokens_after:,}",
            f"{place.token_offset:,}" if place else "-",
            f"m{place.seq}" if place and place.seq >= 0 else "-",
            f"{price.tokens:,.0f}" if price else "-",
            f"{math.ceil(pays):,}" if pays is not None else "-",
        )
    more = len(events) - MOST_EVENTS
    note = f"... {more:,} more; --json lists all" if more > 0 else ""
    _show_table("Events: where a request stopped extending the one before it", table, EVENT_KEYS, console, note)


def _show_worst(outcomes: Sequence[Outcome], terms: Terms, console: Console) -> None:
    ordered = sorted(outcomes, key=_badness, reverse=True)[:MOST_WORST]
    names = ("conversation", "calls", "mean", "cost", "of all", "cached", "users", "recall", "no fit")
    table = _table(*names, text_columns=names[:1])
    for outcome in ordered:
        tally = outcome.tally
        measures = (
            f"{tally.mean_tokens:,.0f}",
            f"{tally.bite:,.0f}",
            _percent(_share_of_everything(outcome)),
            _percent(tally.reuse),
            _percent(tally.users_verbatim),
            _percent(tally.nlr[AGES_TOKENS[0]]),
        )
        table.add_row(
            plain(outcome.conversation.id)[-24:],
            f"{outcome.calls:,}",
            *(measures if tally.calls else "-" * len(measures)),
            f"{len(outcome.failures):,}",
        )
    more = len(outcomes) - len(ordered)
    note = f"... {more:,} more; --json lists all" if more > 0 else ""
    keys = (("cost", _cost(terms)), *WORST_KEYS)
    _show_table("Conversations, those that lost most first", table, keys, console, note)


def _cost(terms: Terms) -> str:
    prices = terms.charges.prices
    return f"input tokens' worth a call: cached {prices.read:g}, new {prices.write:g}"


def _badness(outcome: Outcome) -> tuple[float, ...]:
    tally = outcome.tally
    wrong = len(outcome.failures) + tally.over + tally.pairs_broken + len(outcome.unexplained)
    recall = tally.nlr[AGES_TOKENS[0]]
    return (wrong, 0.0 if recall is None else 1.0 - recall, _share_of_everything(outcome) or 0.0)


def _share_of_everything(outcome: Outcome) -> float | None:
    return outcome.tally.billed / outcome.everything_billed if outcome.everything_billed else None


def _show_compared(results: Results, console: Console) -> None:
    names = ("policy", "cost", "cached", "over", "pairs", "breaks", "users", "recall", ">8K")
    table = _table(*names, text_columns=names[:1])
    for row, front in zip(results.rows, on_front(results.rows), strict=True):
        tally = row.tally
        replayed = row.name == results.terms.label
        measures = (
            f"{tally.bite:,.0f}",
            _percent(tally.reuse),
            f"{tally.over:,}",
            f"{tally.pairs_broken:,}",
            f"{tally.breaks:,}",
            _percent(tally.users_verbatim),
            _percent(tally.nlr[AGES_TOKENS[0]]),
            _percent(tally.nlr[OLD_TOKENS]),
        )
        table.add_row(
            f"{row.name} {'*' * replayed}{'+' * front}".rstrip(),
            *(measures if tally.calls else "-" * len(measures)),
            style="bold" if row.ours else None,
        )
    title = f"Beside other policies, all counted by {plain(results.terms.meter.physical.name)} (over: by its bounds)"
    keys = (
        ("cost", f"{_cost(results.terms)}; summaries in 1, out {results.terms.charges.prices.output:g}"),
        *COMPARED_KEYS,
    )
    _show_table(title, table, keys, console, COMPARED_NOTE)


def _table(*names: str, text_columns: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in names:
        text = name in text_columns
        table.add_column(name, justify="left" if text else "right", no_wrap=not text, overflow="fold")
    return table


def _show_table(title: str, table: Table, keys: Sequence[tuple[str, str]], console: Console, note: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)
    if note:
        console.print(note)
    explained = Table.grid(padding=(0, 2))
    for name, meaning in keys:
        explained.add_row(Text(name, style="dim"), Text(meaning, style="dim"))
    console.print(explained)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _percent(share: float | None) -> str:
    """Return a share as a percentage; never 100 % or 0 % for one that only nearly is."""
    if share is None:
        return "-"
    shown = f"{share * 100:.0f}"
    if (shown == "100" and share < 1) or (shown == "0" and share > 0):
        shown = f"{min(share * 100, 99.9):.1f}" if share > 0.5 else f"{max(share * 100, 0.1):.1f}"
    return f"{shown} %"


# The requests of a replay as JSON lines, in files that are there whole or not at all.

# A file's name may have 255 bytes; the ending and the mark of an unfinished file need some.
_LONGEST_NAME_CHARS = 180


def is_folder(target: Path, given: str) -> bool:
    """Return whether a dump goes into a folder, a file for each conversation: it is one, or is written like one."""
    return target.is_dir() or given.endswith(("/", os.sep))


def file_name(conversation_id: str, *, apart: bool = False) -> str:
    """Return the name of a conversation's dump in a folder: its id, with what no file name may hold as %XX.

    `apart`: with a hash of the id behind it, for one that differs from another only in upper and lower case.
    """
    name = quote(conversation_id.encode("utf-8", "surrogatepass"), safe=" ()+,=@[]{}~")
    if apart or len(name) > _LONGEST_NAME_CHARS:
        digest = sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = f"{name[:_LONGEST_NAME_CHARS]}~{digest}"
    return f"{name}.jsonl"


def dump_line(call: Call, blocks_json: list[str], conversation_id: str | None = None) -> str:
    """Return the line of a call, ASCII only, without a line break; `blocks_json` are its blocks as JSON text."""
    named = f'"conversation": {json.dumps(conversation_id)}, ' if conversation_id is not None else ""
    return (
        f'{{{named}"call": {call.number}, "reported_tokens": {call.bound_tokens}, "jobs": [], '
        f'"blocks": [{", ".join(blocks_json)}]}}'
    )


def block_json(block: Block) -> str:
    """Return a block as JSON text, ASCII only: line separators and lone surrogates of other texts stay harmless."""
    return json.dumps(
        {
            "role": block.role,
            "kind": block.kind,
            "text": block.text,
            "source": block.source,
            "tool_calls": block.tool_calls,
            "tool_result": block.tool_result,
        },
    )


class Dump:
    """Where the requests go: one file, or a folder with a file for each conversation."""

    def __init__(self, target: Path, file: IO[str] | None, *, named: bool) -> None:
        """Take the folder, or the file that is open; `named`: lines say whose they are. `open_dump` makes one."""
        self._target = target
        self._file = file
        self._named = named
        # Names in the folder, case folded: some file systems take "A" for "a".
        self._taken: set[str] = set()

    def _apart(self, conversation_id: str) -> Path:
        """Return a conversation's file, which is no other's."""
        name = file_name(conversation_id)
        if name.casefold() in self._taken:
            name = file_name(conversation_id, apart=True)
        self._taken.add(name.casefold())
        return self._target / name

    @contextmanager
    def of(self, conversation_id: str) -> Iterator[Callable[[Call], None]]:
        """Give what writes the calls of one conversation, in order; in a folder its file takes its place behind.

        Raises:
            ConfigError: the file can't be written.
        """
        with ExitStack() as stack:
            file = self._file or stack.enter_context(_whole(self._apart(conversation_id)))
            known: dict[int, tuple[Block, str]] = {}

            def write(call: Call) -> None:
                nonlocal known
                if call.blocks is None:
                    return
                # What stays from request to request is the same object: it is spelled once, and held while it is sent.
                known = {id(block): known.get(id(block)) or (block, block_json(block)) for block in call.blocks}
                blocks = [known[id(block)][1] for block in call.blocks]
                file.write(dump_line(call, blocks, conversation_id if self._named else None) + "\n")

            yield write


@contextmanager
def open_dump(target: Path, *, folder: bool, several: bool) -> Iterator[Dump]:
    """Give a dump into a folder, made where it is missing, or into a file; `several`: of several conversations.

    The file takes its place when the block ends well; where it ends in an exception nothing of it stays.

    Raises:
        ConfigError: the place can't be written.
    """
    if not folder:
        with _whole(target) as file:
            yield Dump(target, file, named=several)
        return
    with _refusing(target):
        make_folder(target)
    yield Dump(target, None, named=False)


@contextmanager
def _whole(path: Path) -> Iterator[IO[str]]:
    """Open a file that takes its place at the end; a device or a pipe is written as it is."""
    if path.exists() and not path.is_file():
        with _refusing(path):
            device = path.open("w", encoding="ascii")
        with device:
            yield device
        return
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        # An interrupt may come right behind the opening, too.
        with _refusing(path):
            file = TextIOWrapper(open_own(unfinished, "x"), encoding="ascii", newline="\n")
        with file:
            yield file
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say which option is wrong where the system refuses a path."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"--dump {path} can't be written: {error.strerror}") from error
