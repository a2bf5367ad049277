"""The outcome of a replay for people: plain text that reads well at 80 columns, in a terminal and in a pipe."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from squidbot.core.prompts.modes import OFF
from squidbot.replay.charges import SCORING
from squidbot.replay.metrics import AGES_TOKENS
from squidbot.replay.report import Totals, on_front, percentile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.replay.charges import Charges
    from squidbot.replay.metrics import Tally
    from squidbot.replay.report import Results
    from squidbot.replay.runner import Event, Outcome
    from squidbot.replay.wiring import Terms

__all__ = ["as_text", "plain", "progress"]

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
    lease, meter = terms.lease, terms.meter
    profile = f"profile {terms.profile}, " if terms.profile else ""
    most = terms.settings.policy_limit
    words = f", and at most {most:,} words" if most else ", and within its caps" if terms.unit == "words" else ""
    return (
        f"window {lease.window_tokens:,} tokens, {lease.reserved_output_tokens:,} of them for the answer{words}; "
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
