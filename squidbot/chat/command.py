"""`squidbot chat`: its options, and how it ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from squidbot.chat.cut import BY_USER
from squidbot.chat.screen import Screen
from squidbot.chat.starting import Asked, NoModelError, begun
from squidbot.cli.output import JSON_OPTION, print_json
from squidbot.cli.texts import ANSWER_IS_NO, INTERRUPTED, USAGE
from squidbot.core.memories import Scope

if TYPE_CHECKING:
    from squidbot.chat.conversation import Turn
    from squidbot.chat.room import Talk

__all__ = ["chat"]

SYSTEM = (
    "You are a helpful assistant in a conversation on a terminal. Answer briefly, in plain text. Older messages may be "
    "told as notes; the tools bring back what was said, and what is remembered."
)


@click.command()
@click.option("--model", metavar="ALIAS", default="", help="A model of the settings.  [default: the first]")
@click.option("--session", metavar="ID", default="", help="The session.  [default: the newest of your own]")
@click.option("--new", is_flag=True, help="Begin another session.")
@click.option("--user", metavar="USER", default="", help="Who speaks: whose durable facts are seen and learned.")
@click.option("-p", "--print", "question", metavar="TEXT", help="Say this, print the answer, end; - is standard input.")
@click.option("--mode", metavar="NAME", help="What is worked at: developer, planning, assistant, debugger, off.")
@click.option("--system", metavar="TEXT", default=SYSTEM, help="The system text, in the place of a short one.")
@click.option("--no-tools", "no_tools", is_flag=True, help="Give the model no tools.")
@click.option("--config", metavar="FILE", help="The settings.  [default: ./squidbot.toml]")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt, or where debug.turn_log says.")
@click.option("--demo", is_flag=True, help="A tiny model of random weights, in memory: to see how it works.")
@JSON_OPTION
def chat(  # noqa: PLR0913  # an argument for each option
    *,
    model: str,
    session: str,
    new: bool,
    user: str,
    question: str | None,
    mode: str | None,
    system: str,
    no_tools: bool,
    config: str | None,
    debug: bool,
    demo: bool,
    as_json: bool,
) -> None:
    """Talk to a model of the settings, in a session that is kept: its history stays within the model's window.

    On a terminal lines are edited and /help lists commands; in a pipe each line is said on its own.
    """
    if as_json and question is None:
        raise click.UsageError("--json prints one answer: say what is asked with --print")
    if new and session:
        raise click.UsageError("--new and --session exclude each other")
    asked = Asked(config, model, session, new=new, demo=demo, scope=Scope(user=user), mode=mode, debug=debug)
    try:
        with begun(asked) as found:
            from squidbot.chat.room import Talk  # noqa: PLC0415  # where there is no model, nothing of it is needed

            shown = found.engine.wired.loaded.settings.ui.show_context_messages
            screen = Screen(quiet=question is not None, mute=as_json, outputs=shown)
            if demo:
                system, no_tools = "", True  # in a window of 2,048 characters they would leave no room
            talk = Talk(asked, found, screen, system=system, tools=not no_tools)
            code = _asked_once(talk, question, as_json=as_json) if question is not None else _talked(talk)
    except NoModelError as error:
        click.echo(f"squidbot: {error}", err=True)
        code = USAGE
    click.get_current_context().exit(code)


def _talked(talk: Talk) -> int:
    from squidbot.chat.commands import COMMANDS  # noqa: PLC0415  # as above
    from squidbot.chat.lines import lines_from  # noqa: PLC0415  # as above

    talk.run(lines_from([f"/{name}" for name in COMMANDS]))
    return 0 if talk.screen.is_terminal or not talk.failed else ANSWER_IS_NO


def _asked_once(talk: Talk, question: str, *, as_json: bool) -> int:
    said = sys.stdin.read() if question == "-" else question
    if not said.strip():
        raise click.UsageError("there is nothing to say")
    turn = talk.turn(said)
    if turn is None:
        return ANSWER_IS_NO
    if as_json:
        print_json(_json(talk, turn))
    if turn.broken == BY_USER:
        return INTERRUPTED
    return ANSWER_IS_NO if turn.broken else 0


def _json(talk: Talk, turn: Turn) -> dict[str, object]:
    return {
        "session": talk.begun.session_id,
        "model": talk.begun.alias,
        "answer": turn.text,
        "broken": turn.broken or None,
        "tools": turn.calls,
        "requests": [
            {
                "bound": one.bound_tokens,
                "limit": one.limit_tokens,
                "usage": one.usage._asdict() if one.usage else None,
            }
            for one in turn.sent
        ],
    }
