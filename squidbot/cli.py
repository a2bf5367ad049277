"""The command line. A command takes its options, calls what does the work and prints what came of it.

Exit codes: 0 ok, 1 the answer is no or the work could not be done, 2 usage, 3 budget impossible, 4 damaged data.
"""

from __future__ import annotations

import errno
import io
import json
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from squidbot.core.budget.window import default_reserve_tokens, parse_tokens
from squidbot.core.errors import (
    BudgetError,
    ConfigError,
    DamagedStoreError,
    SquidbotError,
    TranscriptError,
)
from squidbot.core.settings import STRATEGIES

if TYPE_CHECKING:
    from squidbot.core.ports import TokenCounter
    from squidbot.replay.report import Results
    from squidbot.replay.wiring import Terms, Unit

__all__ = ["main"]

ANSWER_IS_NO, USAGE, BUDGET_IMPOSSIBLE, DAMAGED_DATA, INTERRUPTED = 1, 2, 3, 4, 130


class _Faces(click.Group):
    """The commands; whatever they raise on purpose ends in one line and an exit code, never in a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SquidbotError as error:
            _stop(str(error), _exit_code(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # click ends quietly where nobody reads on
            _stop(str(error), ANSWER_IS_NO)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


def _tokens(_: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the tokens that an option names; a reserve of 0 is one, a window of 0 is none."""
    if value is None or (value == "0" and param.name == "reserve"):
        return None if value is None else 0
    try:
        return parse_tokens(value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


@click.group(cls=_Faces, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="squidbot")
def main() -> None:
    """Keep an agent's context window within budget, and what falls out of it recallable."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@main.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option("--window", metavar="N", callback=_tokens, required=True, help="In and out: 32000, 32k, 32Ki tokens.")
@click.option("--reserve", metavar="N", callback=_tokens, help="For the answer.  [default: 4096, at most a quarter]")
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), default="balanced", show_default=True)
@click.option("--counter", default="classes", show_default=True, help="Token counter: a name or a FILE.tiktoken.")
@click.option(
    "--unit", type=click.Choice(["words", "tokens"]), default="tokens", show_default=True, help="Of the caps."
)
@click.option("--store", metavar="FILE.db", help="Keep the sessions there.  [default: a temporary file]")
@click.option("--dump", metavar="FILE", help="Write every request; into FILE/, a file for each conversation.")
@click.option("--compare", is_flag=True, help="Set other policies beside it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    store: str | None,
    dump: str | None,
    compare: bool,
    as_json: bool,
) -> None:
    """Replay recorded conversations call by call: what would be sent, that it fits, what it costs.

    TRANSCRIPT is a file or a directory: messages as OpenAI or Anthropic have them, or a session of Claude Code, as
    JSONL or JSON. Nothing is sent anywhere.
    """
    from squidbot.replay import command, report, table, wiring  # noqa: PLC0415  # help and other commands stay quick

    terms = _terms(window, reserve, strategy, wiring.open_counter(counter), unit)
    places = command.Places(transcripts, store, dump)
    conversations = command.conversations_of(places)
    with table.progress(command.ticks_of(conversations, compare=compare)) as tick:
        results = command.run(conversations, terms, places, compare=compare, tick=tick)
    if as_json:
        click.echo(json.dumps(report.to_json(results), indent=2))
    else:
        click.echo(table.as_text(results), nl=False)
    ctx.exit(_verdict(results))


def _terms(window: int, reserve: int | None, strategy: str, counter: TokenCounter, unit: Unit) -> Terms:
    from squidbot.replay.wiring import terms_for  # noqa: PLC0415

    try:
        return terms_for(window, reserve, strategy, counter, unit)
    except BudgetError:
        given = default_reserve_tokens(window) if reserve is None else reserve
        text = f"--reserve {given} leaves no room for input in --window {window}; make it smaller or the window larger"
        _stop(text, BUDGET_IMPOSSIBLE)


def _verdict(results: Results) -> int:
    """Return the exit code, and say on standard error what it is about."""
    from squidbot.replay.report import Totals  # noqa: PLC0415

    totals = Totals.of(results.outcomes)
    unfit = [(name, one.call, one.error) for name, one in totals.failures if isinstance(one.error, BudgetError)]
    refused = [(name, one.call, one.error) for name, one in totals.failures if not isinstance(one.error, BudgetError)]
    if refused:
        name, call, error = refused[0]
        _complain(f"{name}: no request for {len(refused)} of {totals.calls} calls, the first is call {call}: {error}")
    if unfit:
        name, call, over = unfit[0]
        where = f"{name}: no request fits for {len(unfit)} of {totals.calls} calls, the first is call {call}"
        what = f"{over.culprit} cost {over.cost} of {over.budget} {over.unit}"
        _complain(f"{where}: {what}; make --window larger or --reserve smaller")
        return BUDGET_IMPOSSIBLE
    wrong = totals.tally.over or totals.tally.pairs_broken or totals.unexplained
    return ANSWER_IS_NO if wrong else 0


def _stop(text: str, exit_code: int) -> NoReturn:
    _complain(text)
    raise click.exceptions.Exit(exit_code)


def _complain(text: str) -> None:
    from squidbot.replay.table import plain  # noqa: PLC0415

    click.echo(f"squidbot: {plain(text)}", err=True)


def _exit_code(error: SquidbotError) -> int:
    if isinstance(error, BudgetError):
        return BUDGET_IMPOSSIBLE
    if isinstance(error, ConfigError):
        return USAGE
    return DAMAGED_DATA if isinstance(error, TranscriptError | DamagedStoreError) else ANSWER_IS_NO
