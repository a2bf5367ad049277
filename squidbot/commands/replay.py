"""`squidbot replay`: its options; squidbot.replay does the work."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, BUDGET_IMPOSSIBLE, complain, stop
from squidbot.core.budget.window import default_reserve_tokens
from squidbot.core.errors import BudgetError
from squidbot.core.settings import STRATEGIES

if TYPE_CHECKING:
    from squidbot.core.ports import TokenCounter
    from squidbot.replay.charges import Charges
    from squidbot.replay.report import Results
    from squidbot.replay.wiring import Terms, Unit

__all__ = ["replay"]


@click.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option(
    "--window", metavar="N", callback=options.tokens, required=True, help="In and out: 32000, 32k, 32Ki tokens."
)
@click.option(
    "--reserve", metavar="N", callback=options.tokens, help="For the answer.  [default: 4096, at most a quarter]"
)
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), default="balanced", show_default=True)
@click.option("--counter", default="classes", show_default=True, help="Token counter: a name or a FILE.tiktoken.")
@click.option(
    "--unit", type=click.Choice(["words", "tokens"]), default="tokens", show_default=True, help="Of the caps."
)
@click.option("--prices", metavar="NAME", help="Plan and bill by an entry of the price table.  [default: default]")
@click.option(
    "--usage", default="none", metavar="HOW", help="Reported: none, recorded, or by a counter.  [default: none]"
)
@click.option("--mode", metavar="NAME", default="off", help="With the system text of a mode.  [default: off]")
@click.option("--store", metavar="FILE.db", help="Keep the sessions there.  [default: a temporary file]")
@click.option("--dump", metavar="FILE", help="Write every request; into FILE/, a file for each conversation.")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt.")
@click.option("--compare", is_flag=True, help="Set other policies beside it.")
@options.as_json
@click.pass_context
def replay(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    *,
    transcripts: tuple[str, ...],
    window: int,
    reserve: int | None,
    strategy: str,
    counter: str,
    unit: Unit,
    prices: str | None,
    usage: str,
    mode: str,
    store: str | None,
    dump: str | None,
    debug: bool,
    compare: bool,
    as_json: bool,
) -> None:
    """Replay recorded conversations call by call: what would be sent, that it fits, what it costs.

    TRANSCRIPT is a file or a directory: messages as OpenAI or Anthropic have them, items of Responses, or a session of
    Claude Code, as JSONL or JSON. Nothing is sent anywhere.
    """
    from squidbot.replay import charges, command, modes, report, table, wiring  # noqa: PLC0415  # its help stays quick

    bill = charges.SCORING if prices is None else charges.charges_of(prices)
    terms = _terms(window, reserve, strategy, wiring.open_counter(counter), unit, bill)
    terms = replaced(terms, usage=usage, mode=mode)
    prompt = modes.prompt_of(mode, terms)
    places = command.Places(transcripts, store, dump, "debug_turn.txt" if debug else None)
    conversations = command.conversations_of(places)
    if prompt is not None:
        conversations = modes.in_mode(conversations, prompt)
    with table.progress(command.ticks_of(conversations, compare=compare)) as tick:
        results = command.run(conversations, terms, places, compare=compare, tick=tick)
    if as_json:
        options.print_json(report.to_json(results))
    else:
        click.echo(table.as_text(results), nl=False)
    ctx.exit(_verdict(results))


def _terms(  # noqa: PLR0913, PLR0917  # an argument for each option
    window: int, reserve: int | None, strategy: str, counter: TokenCounter, unit: Unit, bill: Charges
) -> Terms:
    from squidbot.replay.wiring import terms_for  # noqa: PLC0415  # as above

    try:
        return terms_for(window, reserve, strategy, counter, unit, bill)
    except BudgetError:
        given = default_reserve_tokens(window) if reserve is None else reserve
        text = f"--reserve {given} leaves no room for input in --window {window}; make it smaller or the window larger"
        stop(text, BUDGET_IMPOSSIBLE)


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
