"""How far bounds stand above the bill, with what reports teach and without it.

First the recording's own calls: each bill is foretold from the reports before it. Where a bill is less than the one
before it, the recorded host had begun anew: what it sent then is not in the recording, and counts as a first request.
Then replays under windows, billed as the recording was where it says how, else by the real tokenizer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.report import Bar, Result, Table
from benchmarks.schedule import Amount, conversations
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.tokens.calibration import RequestGrowth, UsageCalibration, UsageReport, inputs_kept
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.replay.recording import CODECS, Reader
from squidbot.replay.terms import terms_for
from squidbot.replay.usage import reporter_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.codecs.transcripts import Conversation
    from squidbot.replay.terms import Terms
    from squidbot.replay.usage import UsageReporter

__all__ = ["measure", "recorded_calls"]

# Calls from which is learned before anything is scored, and what the mean may be then: the bar of the project.
LEARNED_CALLS = 10
MOST_RATIO = 1.10
WINDOWS = (8192, 32_768, 131_072)
MOST_TURNS = 300
UNTOLD = (
    "A replay bills each message what the recorded step cost in which it stood, with what the recording leaves out "
    "(reasoning): without reports that is not foreseen, and calls fall under their bill."
)
REPORTED = "with reports"
METHODS = ("the counter's bound", "largest ratio so far", "largest step so far", "what was billed")


class BilledCall(NamedTuple):
    """A recorded call, in tokens: its bill, its answer as billed and as counted, and all before it as counted."""

    place: int
    reported_tokens: int
    output_tokens: int
    answer_tokens: int
    bound_tokens: int


NOT_MEASURED = (
    "Nothing was measured: pass --ranks FILE, a tokenizer's ranks, or --transcript FILE with what was billed."
)


def measure(amount: Amount, ranks: str | None, progress: Callable[[str], None]) -> Result:
    """Set the bounds beside the bills, for each conversation and window; `ranks` is a rank file, None for none."""
    result, remarked = Result("calibration"), False
    for said in conversations(amount):
        progress(f"calibration: {said.id}")
        calls = recorded_calls(said)
        if len(calls) > LEARNED_CALLS + 1:
            foretold = {method: _ratios(calls, method) for method in METHODS}
            _enter(result, f"recorded calls of {said.id}", foretold)
            mine = foretold[METHODS[-1]]
            result.bars.append(Bar(f"mean of bound by bill, {said.id}", sum(mine) / len(mine), at_most=MOST_RATIO))
            result.bars.append(Bar(f"calls under their bill, {said.id}", float(_under(mine)), at_most=0.0))
        for window in amount.windows:
            progress(f"calibration: {said.id} at {window:,}")
            how = "recorded" if len(calls) > 1 else ranks
            if how is not None:
                replayed = _replayed(said, window, how)
                _enter(result, f"{said.id} at {window:,}", replayed)
                under = _under(replayed[REPORTED])
                result.bars.append(Bar(f"calls under their bill, {said.id} at {window:,}", float(under), at_most=0.0))
                remarked = remarked or how == "recorded"
    if remarked:
        result.remarks.append(UNTOLD)
    if not result.tables:
        result.remarks.append(NOT_MEASURED)
    return result


def recorded_calls(said: Conversation) -> list[BilledCall]:
    """Return the calls of a recording that were billed."""
    meter, bound, calls = Meter(builtin_counter("classes")), 0, []
    for place, (message, usage) in enumerate(zip(said.messages, said.usages, strict=True)):
        cost = meter.said(message).bound
        if message.role == "assistant" and usage is not None and usage.input_tokens and bound:
            calls.append(BilledCall(place, usage.input_tokens, usage.output_tokens, cost, bound))
        bound += cost
    return calls


def _ratios(calls: Sequence[BilledCall], method: str) -> list[float]:
    """Return bound by bill for each call behind the ones that are learned from."""
    bills, whole, steps, ratios = UsageCalibration(), 0.0, 0.0, []
    last: BilledCall | None = None
    for number, call in enumerate(calls):
        appended = call.bound_tokens - last.bound_tokens if last else None
        if number > LEARNED_CALLS and last is not None and appended is not None:
            bounds = {
                METHODS[0]: call.bound_tokens,
                METHODS[1]: inputs_kept(round(whole * call.bound_tokens)),
                METHODS[2]: last.reported_tokens + inputs_kept(round(steps * appended)),
                METHODS[3]: bills.extended_bound(appended),
            }
            ratios.append(bounds[method] / call.reported_tokens)
        whole = max(whole, call.reported_tokens / call.bound_tokens)
        if last is not None and appended:
            steps = max(steps, (call.reported_tokens - last.reported_tokens) / appended)
        anew = last is None or call.reported_tokens < last.reported_tokens
        first = last.place if last else 0
        bills = (UsageCalibration() if anew else bills).learn(
            UsageReport(
                call.reported_tokens,
                call.output_tokens,
                call.bound_tokens,
                call.answer_tokens,
                RequestGrowth(None if anew else appended, is_step=True, first_seq=first),
                messages=call.place,
            )
        )
        last = call
    return ratios


def _replayed(said: Conversation, window: int, how: str) -> dict[str, list[float]]:
    """Return bound by bill for each request of a replay, without reports and with them."""
    terms = terms_for(window, None, "balanced", builtin_counter("classes"), "tokens")
    truth = reporter_of(how, said, terms.meter, Reader(said, CODECS))
    if truth is None:
        raise ConfigError(f"nobody bills {said.id}")
    run = partial(_run, said, terms, truth)
    return {"without reports": run(reports=False), REPORTED: run(reports=True)}


def _run(said: Conversation, terms: Terms, truth: UsageReporter, *, reports: bool) -> list[float]:
    store, ratios = InMemoryStore(), []
    session = ContextEngine(store, store, CODECS).session(said.id, terms.window, terms.meter, terms.settings)
    for index, message in enumerate(said.messages):
        usage = None
        if message.role == "assistant" and index:
            try:
                request = session.assemble((), Inputs(now=said.messages[index - 1].time))
            except BudgetError:
                continue
            usage = truth(request, index)
            if usage is not None:
                ratios.append((request.certified_tokens or request.cost.bound) / usage.input_tokens)
        session.record(message, usage=usage if reports else None)
    return ratios[LEARNED_CALLS:]


def _enter(result: Result, name: str, ratios: dict[str, list[float]]) -> None:
    rows = tuple((method, _figures(found)) for method, found in ratios.items())
    result.tables.append(Table(f"bound by bill, {name}", ("calls", "mean", "smallest", "under"), rows))


def _figures(ratios: Sequence[float]) -> tuple[float | None, ...]:
    if not ratios:
        return 0.0, None, None, 0.0
    return float(len(ratios)), sum(ratios) / len(ratios), min(ratios), float(_under(ratios))


def _under(ratios: Iterable[float]) -> int:
    return sum(ratio < 1.0 for ratio in ratios)
