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
    "--window", metavar="N", callback=tokens, required=True, help="Window (input and output): 32000, 32k, 32Ki."
)
@click.option("--reserve", metavar="N", callback=tokens, help="For the answer.  [default: 4096, at most a quarter]")
@click.option("--profile", metavar="NAME", help="Settings profile; see `squidbot config --profile`.")
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), help="[default: the profile's, else balanced]")
@click.option("--counter", default="classes", show_default=True, help="Token counter: a name or a FILE.tiktoken.")
@click.option(
    "--unit", type=click.Choice(["words", "tokens"]), help="Unit of the caps.  [default: the profile's or tokens]"
)
@click.option("--prices", metavar="NAME", help="Plan and bill by an entry of the price table.  [default: default]")
@click.option(
    "--usage", default="none", metavar="HOW", help="Usage to report: none, recorded, or a counter.  [default: none]"
)
@click.option("--mode", metavar="NAME", default="off", help="With the system text of a mode.  [default: off]")
@click.option("--store", metavar="FILE.db", help="Store the sessions in this file.  [default: a temporary file]")
@click.option("--dump", metavar="FILE", help="Write every request; into FILE/, a file for each conversation.")
@click.option("--html", metavar="FILE", help="Draw it in an HTML file; into FILE/, a file for each conversation.")
@click.option("--no-text", is_flag=True, help="In the HTML file: figures only, to share.")
@click.option("--keep-secrets", is_flag=True, help="In the HTML file: leave keys and passwords.")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt.")
@click.option("--compare", is_flag=True, help="Set other policies beside it.")
def replay(**given: Any) -> Result:  # noqa: ANN401  # options
    """Replay recorded conversations call by call: what would be sent, that it fits, what it costs.

    TRANSCRIPT is a file or a directory: messages as OpenAI or Anthropic have them, items of Responses, or a session of
    Claude Code, as JSONL or JSON. Nothing is sent anywhere. Under a profile --counter measures what is sent; the
    sessions count by what the profile says.
    """
    from squidbot.cli.replay_results import replayed  # noqa: PLC0415  # --help is quick

    return replayed(**given)
