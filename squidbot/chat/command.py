"""`squidbot chat`: its options, its engine, model and session, and its end."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click
from click.core import ParameterSource

from squidbot.adapters.common.packages import command
from squidbot.chat.conversation import BY_USER
from squidbot.chat.screen import Screen
from squidbot.chat.talk import COMMANDS, ChatSetup, Notices, Talk, piped_line
from squidbot.cli.output import JSON_OPTION, print_json
from squidbot.cli.texts import ANSWER_IS_NO, INTERRUPTED, USAGE
from squidbot.core.errors import ConfigError
from squidbot.core.memories import HistoryIsolation, Scope
from squidbot.core.ports import SupportsSessions
from squidbot.engine import load
from squidbot.services.forget import WrittenFile, note_written
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.chat.conversation import ChatTurn
    from squidbot.engine import Engine
    from squidbot.hookspecs import Store

# The default session.
SESSION: Final = "chat"
# The file of turns with --debug, in the current folder.
TURN_LOG: Final = "debug_turn.txt"
API_EXAMPLES: Final = {
    "anthropic": f"""  # Claude; its key in the environment, ANTHROPIC_API_KEY; {command("anthropic")}
  [models.claude]
  adapter = "anthropic"
  model = "claude-sonnet-5-5"
""",
    "openai": f"""  # OpenAI, or with url a compatible server; OPENAI_API_KEY; {command("openai")}
  [models.gpt]
  adapter = "openai"
  model = "gpt-5.6"
  context_window = 400000     # OpenAI does not report it
""",
    "ollama": """  # a model that Ollama serves
  [models.llama]
  adapter = "ollama"
  model = "llama3.1:8b"
""",
    "xllamacpp": f"""  # a GGUF file, opened in this process; {command("xllamacpp")}
  [models.local]
  adapter = "xllamacpp"
  path = "qwen2.5-7b-instruct-q4_k_m.gguf"
""",
}
NO_MODEL: Final = """no model is configured. Add one to
{file}
and run squidbot chat again, for example:

{examples}
To keep the conversation after it ends, add:

  [store]
  path = "sessions.db"

Without a model: squidbot chat --demo plays a recorded conversation, and shows
what squidbot does."""


class NoModelError(ConfigError):
    """No model is configured. The text, of several lines, shows how to add one."""


@contextmanager
def _begun(  # noqa: PLR0913  # the user's options
    config: str | None, model: str, session: str, *, new: bool, debug: bool, user: str, mode: str | None
) -> Iterator[ChatSetup]:
    """Yield the setup of a conversation, and close the engine afterwards. The model is not opened yet.

    Raises:
        ConfigError: a setting is wrong, or there is no model of that name, or none at all: the text says what to do.
        StoreError: the store can't be opened.
    """
    notices = Notices()
    with load(config, extensions=[notices]) as engine:
        alias = _model(engine, model)
        if debug and engine.wired.turn_log is None:
            engine.wired.log_turns(TURN_LOG)
            # A later `forget` does not know this log, so record it for its report.
            note_written(engine.wired.written, WrittenFile(str(Path(TURN_LOG).absolute()), "turns"))
        session_id = session or _newest_session(engine, user, new=new)
        scope = Scope(user=user) if user else machine_user()
        yield ChatSetup(engine, alias, session_id, notices, scope, mode)


def _model(engine: Engine, wanted: str) -> str:
    """Return the alias of the model to talk to: the named one, else the first with an adapter."""
    loaded = engine.wired.loaded
    able = [alias for alias, model in loaded.settings.models.items() if model.adapter]
    if wanted in able:
        return wanted
    if wanted:
        known = ", ".join(able) or "none"
        raise ConfigError(f"no model {wanted!r} that has an adapter, known: {known} @ {loaded.source}.models")
    if not able:
        file = str(loaded.folder / (loaded.source if Path(loaded.source).suffix else "squidbot.toml"))
        examples = "\n".join(API_EXAMPLES.values())
        raise NoModelError(NO_MODEL.format(file=file, examples=examples))
    return able[0]


def _newest_session(engine: Engine, user: str, *, new: bool) -> str:
    """Return the id of the user's newest session, or (`new`) of the next one."""
    first = f"{SESSION}/{user}" if user else SESSION
    numbers = sorted(_numbers(engine.wired.store, first))
    newest = numbers[-1] if numbers else 1
    number = newest + 1 if new and numbers else newest
    return first if number == 1 else f"{first}-{number}"


def _numbers(store: Store, first: str) -> Iterator[int]:
    """Yield the numbers of the sessions with this name: "chat" is 1, "chat-2" is 2; in any scope."""
    called = re.compile(
        rf"{re.escape(first)}(?:-([1-9][0-9]{{0,8}}))?(?:@(?:{'|'.join(get_args(HistoryIsolation))}):.*)?", re.DOTALL
    )
    for session_id, _ in store.sessions() if isinstance(store, SupportsSessions) else ():
        if found := called.fullmatch(session_id):
            yield int(found[1] or 1)


SYSTEM = (
    "You are a helpful assistant in a conversation on a terminal. Answer briefly, in plain text. Notes may replace "
    "older messages; your tools bring back the originals and stored facts."
)


@click.command()
@click.option("--model", metavar="ALIAS", default="", help="Alias of the model.  [default: the first with an adapter]")
@click.option(
    "--session", metavar="ID", default="", help="Id of the session.  [default: the newest of chat, chat-2, …]"
)
@click.option("--new", is_flag=True, help="Begin the next of these sessions.")
@click.option(
    "--user",
    metavar="USER",
    default="",
    help="Use and learn this user's facts; sessions are USER's own.  [default: the user of this machine]",
)
@click.option(
    "-p",
    "--print",
    "question",
    metavar="TEXT",
    help="Send this text, print the answer and exit; - reads standard input.",
)
@click.option(
    "--mode", metavar="NAME", help="Mode from now on: developer, planning, assistant, debugger, one of yours, or off."
)
@click.option("--system", metavar="TEXT", default=SYSTEM, help="System text, instead of the short default.")
@click.option("--no-tools", "no_tools", is_flag=True, help="Give the model no tools; they take much of a small window.")
@click.option("--config", metavar="FILE", help="The settings file.  [default: ./squidbot.toml]")
@click.option("--debug", is_flag=True, help="Write each turn to debug_turn.txt, or to debug.turn_log, without secrets.")
@click.option(
    "--demo", is_flag=True, help="Play a recorded conversation. Needs no model, key or settings, and stores nothing."
)
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
    """Chat with a configured model in a stored session. The history stays within the model's window.

    On a terminal, /help lists commands. In a pipe, each line is a message.
    """
    if demo:
        _demo(click.get_current_context())
        return
    if as_json and question is None:
        raise click.UsageError("--json needs --print")
    if new and session:
        raise click.UsageError("pass --new or --session, not both")
    begun = _begun(config, model, session, new=new, debug=debug, user=user, mode=mode)
    try:
        with begun as setup:
            shown = setup.engine.wired.loaded.settings.ui.show_context_messages
            screen = Screen(quiet=question is not None, mute=as_json, outputs=shown)
            talk = Talk(setup, screen, system=system, tools=not no_tools)
            code = _asked_once(talk, question, as_json=as_json) if question is not None else _talked(talk)
    except NoModelError as error:
        click.echo(f"squidbot: {error}", err=True)
        code = USAGE
    click.get_current_context().exit(code)


def _demo(context: click.Context) -> None:
    given = (name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    if {*given} != {"demo"}:
        raise click.UsageError("--demo takes no other option")
    from squidbot.chat.demo import play  # noqa: PLC0415  # only the demo needs it

    play()


def _talked(talk: Talk) -> int:
    if sys.stdin.isatty() and sys.stdout.isatty():
        from squidbot.chat.terminal import typed_lines  # noqa: PLC0415  # nothing else needs prompt_toolkit

        talk.run(typed_lines([f"/{name}" for name in COMMANDS]))
    else:
        talk.run(piped_line)
    return 0 if talk.screen.is_terminal or not talk.failed else ANSWER_IS_NO


def _asked_once(talk: Talk, question: str, *, as_json: bool) -> int:
    said = sys.stdin.read() if question == "-" else question
    if not said.strip():
        raise click.UsageError("the message is empty")
    turn = talk.turn(said)
    if turn is None:
        return ANSWER_IS_NO
    if as_json:
        print_json(_json(talk, turn))
    if turn.broken == BY_USER:
        return INTERRUPTED
    return ANSWER_IS_NO if turn.broken else 0


def _json(talk: Talk, turn: ChatTurn) -> dict[str, object]:
    return {
        "session": talk.setup.session_id,
        "model": talk.setup.alias,
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
