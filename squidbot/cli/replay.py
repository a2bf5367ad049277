"""`squidbot replay`: its options; squidbot.replay does the work."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Any

import click

from squidbot.cli.output import JSON_OPTION, print_json, tokens
from squidbot.cli.texts import ANSWER_IS_NO, BUDGET_IMPOSSIBLE, complain, stop
from squidbot.config.presets import profiles
from squidbot.core.budget import default_reserve_tokens
from squidbot.core.errors import BudgetError
from squidbot.core.settings import STRATEGIES

if TYPE_CHECKING:
    from squidbot.core.ports import TokenCounter
    from squidbot.replay.report import Results
    from squidbot.replay.setup import Terms, Unit

__all__ = ["replay"]


@click.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option("--window", metavar="N", callback=tokens, required=True, help="In and out: 32000, 32k, 32Ki tokens.")
@click.option("--reserve", metavar="N", callback=tokens, help="For the answer.  [default: 4096, at most a quarter]")
@click.option("--profile", metavar="NAME", help="As a program that names it; see `squidbot config profile`.")
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), help="[default: the profile's, else balanced]")
@click.option("--counter", default="classes", show_default=True, help="Token counter: a name or a FILE.tiktoken.")
@click.option("--unit", type=click.Choice(["words", "tokens"]), help="Of the caps.  [default: the profile's or tokens]")
@click.option("--prices", metavar="NAME", help="Plan and bill by an entry of the price table.  [default: default]")
@click.option(
    "--usage", default="none", metavar="HOW", help="Reported: none, recorded, or by a counter.  [default: none]"
)
@click.option("--mode", metavar="NAME", default="off", help="With the system text of a mode.  [default: off]")
@click.option("--store", metavar="FILE.db", help="Keep the sessions there.  [default: a temporary file]")
@click.option("--dump", metavar="FILE", help="Write every request; into FILE/, a file for each conversation.")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt.")
@click.option("--compare", is_flag=True, help="Set other policies beside it.")
@JSON_OPTION
def replay(  # noqa: PLR0913  # an argument for each option
    *,
    transcripts: tuple[str, ...],
    profile: str | None,
    counter: str,
    usage: str,
    mode: str,
    store: str | None,
    dump: str | None,
    debug: bool,
    compare: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # options of the sessions
) -> None:
    """Replay recorded conversations call by call: what would be sent, that it fits, what it costs.

    TRANSCRIPT is a file or a directory: messages as OpenAI or Anthropic have them, items of Responses, or a session of
    Claude Code, as JSONL or JSON. Nothing is sent anywhere. Under a profile --counter measures what is sent; the
    sessions count by what the profile says.
    """
    from squidbot.replay import command, report, setup  # noqa: PLC0415  # --help is quick

    given["counter"] = setup.open_counter(counter)
    terms = replaced(_terms(profile, **given), usage=usage, mode=mode)
    others: list[Terms] = []
    if compare:
        others = [_terms(one, **given) for one in profiles()] if profile else [*map(terms.with_strategy, STRATEGIES)]
    beside = [replaced(each, usage=usage, mode=mode) for each in others]
    prompt = setup.prompt_of(mode, terms)
    places = command.Places(transcripts, store, dump, "debug_turn.txt" if debug else None)
    conversations = command.conversations_of(places)
    if prompt is not None:
        conversations = setup.in_mode(conversations, prompt)
    with report.progress(command.ticks_of(conversations, beside)) as tick:
        results = command.run(conversations, terms, places, beside=beside, tick=tick)
    if as_json:
        print_json(report.to_json(results))
    else:
        click.echo(report.as_text(results), nl=False)
    click.get_current_context().exit(_verdict(results))


def _terms(  # noqa: PLR0913  # an argument for each option
    profile: str | None,
    *,
    window: int,
    reserve: int | None,
    strategy: str | None,
    counter: TokenCounter,
    unit: Unit | None,
    prices: str | None,
) -> Terms:
    """Return the terms of sessions under a profile, or without one."""
    from squidbot.replay import setup  # noqa: PLC0415  # as above

    bill = setup.SCORING if prices is None else setup.charges_of(prices)
    try:
        if profile is None:
            return setup.terms_for(window, reserve, strategy or "balanced", counter, unit or "tokens", bill)
        settings = setup.settings_of(
            profile,
            budget__reserved_output_tokens=reserve,
            budget__policy=None if unit is None else unit == "words",
            pressure__strategy=strategy,
            prices__entry=prices,
        )
        return setup.profiled_terms(settings, window, counter, bill)
    except BudgetError:
        given = default_reserve_tokens(window) if reserve is None else reserve
        says = f"--reserve {given} leaves no room for input in --window {window}"
        stop(f"{says}; make it smaller or the window larger", BUDGET_IMPOSSIBLE)


def _verdict(results: Results) -> int:
    """Return the exit code, and say on standard error what it is about."""
    from squidbot.replay.report import Totals  # noqa: PLC0415  # as above

    totals = Totals.of(results.outcomes)
    unfit = [(name, one.call, one.error) for name, one in totals.failures if isinstance(one.error, BudgetError)]
    refused = [(name, one.call, one.error) for name, one in totals.failures if not isinstance(one.error, BudgetError)]
    if refused:
        name, call, error = refused[0]
        complain(f"{name}: no request for {len(refused)} of {totals.calls} calls, the first is call {call}: {error}")
    if unfit:
        name, call, over = unfit[0]
        where = f"{name}: no request fits for {len(unfit)} of {totals.calls} calls, the first is call {call}"
        what = f"{over.culprit} cost {over.cost} of {over.budget} {over.unit}"
        complain(f"{where}: {what}; make --window larger or --reserve smaller")
        return BUDGET_IMPOSSIBLE
    wrong = totals.tally.over or totals.tally.pairs_broken or totals.unexplained
    return ANSWER_IS_NO if wrong else 0
