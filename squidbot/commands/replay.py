"""`squidbot replay`: its options; squidbot.replay does the work."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import TYPE_CHECKING, NamedTuple

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, BUDGET_IMPOSSIBLE, complain, stop
from squidbot.config.presets import profiles
from squidbot.core.budget import default_reserve_tokens
from squidbot.core.errors import BudgetError
from squidbot.core.settings import STRATEGIES

if TYPE_CHECKING:
    from squidbot.core.ports import TokenCounter
    from squidbot.replay.report import Results
    from squidbot.replay.setup import Charges, Terms, Unit

__all__ = ["replay"]


@click.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option(
    "--window", metavar="N", callback=options.tokens, required=True, help="In and out: 32000, 32k, 32Ki tokens."
)
@click.option(
    "--reserve", metavar="N", callback=options.tokens, help="For the answer.  [default: 4096, at most a quarter]"
)
@click.option("--profile", metavar="NAME", help="As a program that names it: `squidbot config profile`.")
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
@options.as_json
@click.pass_context
def replay(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
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
    debug: bool,
    compare: bool,
    as_json: bool,
) -> None:
    """Replay recorded conversations call by call: what would be sent, that it fits, what it costs.

    TRANSCRIPT is a file or a directory: messages as OpenAI or Anthropic have them, items of Responses, or a session of
    Claude Code, as JSONL or JSON. Nothing is sent anywhere. Under a profile --counter measures what is sent; the
    sessions count by what the profile says.
    """
    from squidbot.replay import command, report, setup  # noqa: PLC0415  # its help stays quick
    from squidbot.replay import report as table  # noqa: PLC0415

    bill = setup.SCORING if prices is None else setup.charges_of(prices)
    asked = _Asked(window, reserve, strategy, setup.open_counter(counter), unit, bill, prices)
    terms = replaced(asked.terms(profile), usage=usage, mode=mode)
    beside = [replaced(each, usage=usage, mode=mode) for each in asked.beside(terms)] if compare else []
    prompt = setup.prompt_of(mode, terms)
    places = command.Places(transcripts, store, dump, "debug_turn.txt" if debug else None)
    conversations = command.conversations_of(places)
    if prompt is not None:
        conversations = setup.in_mode(conversations, prompt)
    with table.progress(command.ticks_of(conversations, beside)) as tick:
        results = command.run(conversations, terms, places, beside=beside, tick=tick)
    if as_json:
        options.print_json(report.to_json(results))
    else:
        click.echo(table.as_text(results), nl=False)
    ctx.exit(_verdict(results))


class _Asked(NamedTuple):
    """What the options say of sessions."""

    window: int
    reserve: int | None
    strategy: str | None
    counter: TokenCounter
    unit: Unit | None
    bill: Charges
    prices: str | None

    def terms(self, profile: str | None) -> Terms:
        """Return the terms under a profile, or without one."""
        try:
            return self._plain() if profile is None else self._profiled(profile)
        except BudgetError:
            given = default_reserve_tokens(self.window) if self.reserve is None else self.reserve
            says = f"--reserve {given} leaves no room for input in --window {self.window}"
            stop(f"{says}; make it smaller or the window larger", BUDGET_IMPOSSIBLE)

    def beside(self, terms: Terms) -> list[Terms]:
        """Return what is set beside these terms, them included: every strategy, or every profile."""
        if not terms.profile:
            return [terms.with_strategy(name) for name in STRATEGIES]
        return [self.terms(name) for name in profiles()]

    def _plain(self) -> Terms:
        from squidbot.replay.setup import terms_for  # noqa: PLC0415  # as above

        strategy, unit = self.strategy or "balanced", self.unit or "tokens"
        return terms_for(self.window, self.reserve, strategy, self.counter, unit, self.bill)

    def _profiled(self, profile: str) -> Terms:
        from squidbot.replay.setup import profiled_terms, settings_of  # noqa: PLC0415  # as above

        settings = settings_of(
            profile,
            budget__reserved_output_tokens=self.reserve,
            budget__policy=None if self.unit is None else self.unit == "words",
            pressure__strategy=self.strategy,
            prices__entry=self.prices,
        )
        return profiled_terms(settings, self.window, self.counter, self.bill)


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
