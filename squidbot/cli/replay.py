"""`squidbot replay`: its options; `replay_results` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from squidbot.cli.output import ResultCommand, tokens
from squidbot.core.settings import STRATEGIES

if TYPE_CHECKING:
    from squidbot.cli.output import Result


@click.command(cls=ResultCommand)
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option(
    "--window",
    metavar="N",
    callback=tokens,
    required=True,
    help="Window, input and output together: 32000, 32k (32,000) or 32Ki (32,768) tokens.",
)
@click.option(
    "--reserve",
    metavar="N",
    callback=tokens,
    help="Tokens kept free for the answer.  [default: 4096, at most a quarter]",
)
@click.option(
    "--profile", metavar="NAME", help="Settings profile; `squidbot config profile` lists them. Options override it."
)
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    help="Compaction strategy.  [default: the profile's, else balanced]",
)
@click.option(
    "--counter",
    default="classes",
    show_default=True,
    help="Token counter: a name, or a FILE.tiktoken. With --profile it measures; sessions count as the profile says.",
)
@click.option(
    "--unit", type=click.Choice(["words", "tokens"]), help="Unit of the caps.  [default: the profile's, else tokens]"
)
@click.option("--prices", metavar="NAME", help="Plan and bill by this entry of the price table.  [default: default]")
@click.option(
    "--usage",
    default="none",
    show_default=True,
    metavar="HOW",
    help="Who reports token usage: none; recorded, as the recording was billed; or a counter that plays the provider.",
)
@click.option("--mode", metavar="NAME", default="off", help="Add the system text of this mode.  [default: off]")
@click.option("--store", metavar="FILE.db", help="Keep the sessions in this file.  [default: a temporary file]")
@click.option(
    "--dump", metavar="FILE", help="Write each request as a JSON line; with FILE/, one file per conversation."
)
@click.option("--html", metavar="FILE", help="Draw the replay in an HTML file; with FILE/, one file per conversation.")
@click.option("--no-text", is_flag=True, help="In the HTML file: figures only, to share.")
@click.option("--keep-secrets", is_flag=True, help="In the HTML file: leave keys and passwords in the texts.")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt.")
@click.option(
    "--compare", is_flag=True, help="Also run other policies and all strategies; with --profile, all profiles."
)
def replay(**given: Any) -> Result:  # noqa: ANN401  # options
    """Replay recorded conversations call by call, and report what squidbot would send and what it would cost.

    TRANSCRIPT is a file or a folder: messages of OpenAI's chat completions or of Anthropic, items or responses of
    OpenAI's Responses, or sessions of coding agents, as JSON or JSON lines. Nothing is sent.
    """
    from squidbot.cli.replay_results import replayed  # noqa: PLC0415  # --help is quick

    return replayed(**given)
