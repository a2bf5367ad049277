"""Runs `squidbot replay`, and turns its results into text or JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from squidbot.cli.output import Result
from squidbot.cli.printer import bar
from squidbot.cli.texts import ANSWER_IS_NO, BUDGET_IMPOSSIBLE, stop
from squidbot.core.budget import default_reserve_tokens
from squidbot.core.errors import BudgetError
from squidbot.replay import runner
from squidbot.replay.results import conditions, facts, heading, on_front, percentile, policy_rows, share_text
from squidbot.replay.runner import FailedCall, ReplayOutcome
from squidbot.replay.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.cli.printer import Printer
    from squidbot.core.plan import PlanRecord
    from squidbot.replay.metrics import Tally
    from squidbot.replay.runner import Results
    from squidbot.replay.terms import Terms, Unit

COLUMNS = 80
MOST_EVENTS, MOST_WORST = 12, 8
EVENT_KEYS = (
    ("before", "tokens of the request before the compaction, then after it (bounds)"),
    ("kept", "tokens at its beginning that did not change, and stay cached"),
    ("from", "the first message of the recording behind them"),
    ("price", "of writing the rest to the cache anew, in input tokens"),
    ("pays after", "requests until the savings pay for it; - never"),
)
COMPARED_KEYS = (
    ("cached", "share of the input that the prompt cache had already"),
    ("over", "calls that do not fit the window less the reserve, by the bound"),
    ("pairs", "calls that separate a tool call from its result; providers reject them"),
    ("breaks", "calls that do not extend the one before: their cache is lost"),
    ("users", "share of the user's earlier messages that stand there word for word"),
    ("recall", "share of the names and numbers that the agent used next"),
    (">8K", "the same for those last seen 8,000 tokens ago or earlier"),
)
COMPARED_NOTE = (
    "* replayed above; + best trade-off: no policy that fits costs less with the same",
    "recall, or recalls more at the same cost",
)
WORST_KEYS = (
    ("of all", "the same as a share of what sending everything would cost"),
    ("no fit", "calls without a request that fits"),
)


def replayed(  # noqa: PLR0913  # an argument for each option
    *,
    transcripts: tuple[str, ...],
    window: int,
    reserve: int | None,
    profile: str | None,
    strategy: str | None,
    counter: str,
    unit: Unit | None,
    prices: str | None,
    usage: str,
    mode: str,
    store: str | None,
    dump: str | None,
    html: str | None,
    no_text: bool,
    keep_secrets: bool,
    debug: bool,
    compare: bool,
) -> Result:
    """Run a replay; the arguments are the options of the command."""
    if (no_text or keep_secrets) and not html:
        raise click.UsageError("--no-text and --keep-secrets are for the page of --html FILE")
    try:
        under, beside = terms_of(
            window, reserve, profile, strategy, counter, unit, prices, usage=usage, mode=mode, compare=compare
        )
    except BudgetError:
        given = default_reserve_tokens(window) if reserve is None else reserve
        problem = f"--reserve {given} leaves no room for input in --window {window}"
        stop(f"{problem}; make it smaller or the window larger", BUDGET_IMPOSSIBLE)
    places = runner.Places(transcripts, store, dump, "debug_turn.txt" if debug else None, html)
    pages = None
    if html:
        from squidbot.cli.report import ReplayPages  # noqa: PLC0415  # what is off costs nothing

        pages = ReplayPages(html, under, store, no_text=no_text, keeps_secrets=keep_secrets)
    with bar("replaying") as tick:
        results = runner.run_files(places, under, beside, tick, pages.see if pages else None)
    result = result_of(results)
    return result._replace(remarks=[pages.write(results.rows)]) if pages else result


def result_of(results: Results) -> Result:
    """Return the results of a run with the exit code, and the errors."""
    total = results.total
    unfit, refused = _sorted_out(total.failures)
    wrong = []
    if refused:
        first = refused[0]
        no = f"no request for {len(refused)} of {total.calls} calls, the first is call {first.call}"
        wrong.append(f"{first.conversation}: {no}: {first.error}")
    for first, error in [(one, one.error) for one in unfit[:1]]:
        no = f"no request fits for {len(unfit)} of {total.calls} calls, the first is call {first.call}"
        assert isinstance(error, BudgetError)  # noqa: S101  # by `_sorted_out`
        costs = f"{error.culprit} cost {error.cost} of {error.budget} {error.unit}"
        wrong.append(f"{first.conversation}: {no}: {costs}; make --window larger or --reserve smaller")
    bad = total.tally.over or total.tally.pairs_broken or total.unexplained
    code = BUDGET_IMPOSSIBLE if unfit else ANSWER_IS_NO if bad else 0
    return Result(lambda: to_json(results), lambda out: _put(out, results, total), code, wrong)


def _sorted_out(failures: Iterable[FailedCall]) -> tuple[list[FailedCall], list[FailedCall]]:
    """Return the calls for which no request fits, and those refused for other reasons."""
    unfit, refused = list[FailedCall](), list[FailedCall]()
    for failure in failures:
        (unfit if isinstance(failure.error, BudgetError) else refused).append(failure)
    return unfit, refused


# -- as JSON -----------------------------------------------------------------------------------------------------------


def to_json(results: Results) -> dict[str, object]:
    """Return the one object that `squidbot replay --json` prints."""
    outcomes, terms = results.outcomes, results.terms
    compared: dict[str, object] = {}
    if results.rows:
        compared["compare"] = [
            {
                "policy": row.name,
                "squidbot": row.ours,
                "front": front,
                "calls": row.tally.calls,
                **_tally_json(row.tally),
            }
            for row, front in zip(results.rows, on_front([row.tally for row in results.rows]), strict=True)
        ]
    if len(outcomes) == 1:
        return {**_outcome_json(outcomes[0], terms), **compared}
    total = results.total
    unfit, refused = _sorted_out(total.failures)
    totals = {
        **_terms_json(terms),
        "conversations": len(outcomes),
        **_measures_json(total),
        "events": len(total.events),
        "budget_errors": len(unfit),
        "refused": len(refused),
    }
    return {"conversations": [_outcome_json(outcome, terms) for outcome in outcomes], "totals": totals, **compared}


def _outcome_json(outcome: ReplayOutcome, terms: Terms) -> dict[str, object]:
    unfit, refused = _sorted_out(outcome.failures)
    keys = ("culprit", "cost", "budget", "unit", "key")
    return {
        "transcript": outcome.path,
        "id": outcome.id,
        **_terms_json(terms),
        **_measures_json(outcome),
        "breaks_without_event": outcome.unexplained,
        "events": [
            {
                "call": call,
                "cause": plan.cause,
                "first_changed": asdict(plan.first_changed) if plan.first_changed else None,
                "tokens_before": plan.tokens_before,
                "tokens_after": plan.tokens_after,
                "price": plan.price._asdict() if plan.price else None,
            }
            for call, plan in outcome.events
        ],
        "budget_errors": [{"call": one.call, **{key: getattr(one.error, key) for key in keys}} for one in unfit],
        "refused": [{"call": one.call, "reason": str(one.error)} for one in refused],
    }


def _terms_json(terms: Terms) -> dict[str, object]:
    charges = terms.charges
    return {
        "window": terms.window.window_tokens,
        "reserve": terms.window.reserved_output_tokens,
        "strategy": terms.strategy,
        **({"profile": terms.profile} if terms.profile else {}),
        "counter": terms.meter.physical.name,
        "certificate": terms.meter.certificate,
        "unit": terms.unit,
        "mode": terms.mode,
        "prices": charges.to_json(),
    }


def _measures_json(outcome: ReplayOutcome) -> dict[str, object]:
    return {
        "calls": outcome.calls,
        "messages": outcome.messages,
        "said_tokens": outcome.said_tokens,
        **_tally_json(outcome.tally),
        "largest_bound_tokens": outcome.largest_bound_tokens if outcome.tally.calls else None,
        "bite_of_everything": outcome.everything_bite,
        "seconds_per_call": {"p50": percentile(outcome.seconds, 0.5), "p99": percentile(outcome.seconds, 0.99)},
    }


def _tally_json(tally: Tally) -> dict[str, object]:
    """Return the measures of requests; null without requests."""
    keys = ("over", "pairs_broken", "breaks", "mean_tokens", "largest_tokens", "reuse", "bite", "users_verbatim")
    recall = {str(age): share for age, share in tally.nlr.items()}
    return {**{key: getattr(tally, key) if tally.calls else None for key in keys}, "nlr": recall}


# -- for people --------------------------------------------------------------------------------------------------------


def _put(out: Printer, results: Results, total: ReplayOutcome) -> None:
    outcomes, terms = results.outcomes, results.terms
    out.columns = min(out.columns, COLUMNS)
    out.heading(heading(results))
    out.say(conditions(terms))
    out.blank()
    out.pairs(facts(total, terms))
    cost = f"in input tokens per call: cached {terms.charges.prices.read:g}, new {terms.charges.prices.write:g}"
    if len(outcomes) > 1:
        worst = sorted(outcomes, key=_badness, reverse=True)[:MOST_WORST]
        _put_table(
            out,
            "Conversations, those that lost most first",
            map(_worst_row, worst),
            (("cost", cost), *WORST_KEYS),
            len(outcomes),
        )
    elif events := total.events:
        title = "Compactions: where a request stopped extending the one before it"
        _put_table(out, title, (_event_row(*event) for event in events[:MOST_EVENTS]), EVENT_KEYS, len(events))
    if results.rows:
        rows = policy_rows(results)
        title = f"Beside other policies, all counted by {terms.meter.physical.name} (over: by its bounds)"
        keys = (("cost", f"{cost}; summaries in 1, out {terms.charges.prices.output:g}"), *COMPARED_KEYS)
        _put_table(out, title, rows, keys, len(rows), COMPARED_NOTE, [row.ours for row in results.rows])


def _event_row(call: int, plan: PlanRecord) -> dict[str, object]:
    place, price = plan.first_changed, plan.price
    pays = price.break_even_requests if price else None
    return {
        "call": call,
        "cause": plan.cause,
        "before": plan.tokens_before,
        "after": plan.tokens_after,
        "kept": place.token_offset if place else None,
        "from": f"m{place.seq}" if place and place.seq >= 0 else None,
        "price": round(price.tokens) if price else None,
        "pays after": math.ceil(pays) if pays is not None else None,
    }


def _worst_row(outcome: ReplayOutcome) -> dict[str, object]:
    tally = outcome.tally
    row = {
        "mean": round(tally.mean_tokens),
        "cost": round(tally.bite),
        "of all": share_text(_of_everything(outcome)),
        "cached": share_text(tally.reuse),
        "users": share_text(tally.users_verbatim),
        "recall": share_text(tally.nlr[0]),
    }
    shown = row if tally.calls else dict.fromkeys(row)
    return {"conversation": outcome.id[-24:], "calls": outcome.calls, **shown, "no fit": len(outcome.failures)}


def _badness(outcome: ReplayOutcome) -> tuple[float, ...]:
    tally = outcome.tally
    wrong = len(outcome.failures) + tally.over + tally.pairs_broken + len(outcome.unexplained)
    recall = tally.nlr[0]
    return (wrong, 0.0 if recall is None else 1.0 - recall, _of_everything(outcome) or 0.0)


def _of_everything(outcome: ReplayOutcome) -> float | None:
    return outcome.tally.billed / outcome.everything_billed if outcome.everything_billed else None


def _put_table(  # noqa: PLR0913, PLR0917  # a table with all that belongs to it
    out: Printer,
    title: str,
    rows: Iterable[dict[str, object]],
    keys: Sequence[tuple[str, str]],
    every: int,
    notes: Sequence[str] = (),
    bold: Sequence[bool] = (),
) -> None:
    shown = list(rows)
    out.blank()
    out.heading(title)
    out.table(shown, bold=bold)
    if every > len(shown):
        out.say(f"... {every - len(shown):,} more; --json lists all")
    for note in notes:
        out.say(note)
    out.pairs(keys, style="dim")
