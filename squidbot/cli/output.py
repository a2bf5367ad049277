"""How commands print: a `Result` as a page of text for people, or as one JSON object; and the options they share."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click

from squidbot.cli.texts import block, complain
from squidbot.core.budget import parse_tokens
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.cli.printer import Printer


# Where a click context keeps the values of --store and --config.
STORE_OPTION_VALUE, CONFIG_OPTION_VALUE = "squidbot.store", "squidbot.config"
_MESSAGE = re.compile(r"m?([0-9]{1,12})")


class Result(NamedTuple):
    """The result of a command.

    Attributes:
        values: values for JSON, or a function that computes them.
        text: text for people, or a function that puts it on a page.
        code: the exit code.
        wrong: errors, a line each on standard error, beside text and JSON.
        remarks: the same, beside text only.
    """

    values: Mapping[str, object] | Callable[[], Mapping[str, object]]
    text: str | Callable[[Printer], None]
    code: int = 0
    wrong: Sequence[str] = ()
    remarks: Sequence[str] = ()

    def print(self) -> None:
        """Print it for people."""
        if isinstance(self.text, str):
            click.echo(block(self.text), nl=bool(self.text))
            return
        from squidbot.cli.printer import Printer  # noqa: PLC0415  # rich takes time that --help and JSON don't need

        out = Printer()
        self.text(out)
        out.print()


def print_json(value: object) -> None:
    """Print one JSON value. What the stream can't encode is escaped, lone surrogates too."""
    click.echo(json.dumps(value, indent=2))


JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help=JSON.help)
STORE = click.Option(
    ["--store"],
    metavar="FILE.db",
    help="The store: a file, or postgresql://….  [default: that of ./squidbot.toml, else of coding agents]",
)
STORE_OPTION = click.option("--store", metavar="FILE.db", help=STORE.help)


def _kept(context: click.Context, _: click.Parameter, value: str | None) -> None:
    context.meta[CONFIG_OPTION_VALUE] = value


CONFIG = click.Option(
    ["--config"],
    metavar="FILE",
    expose_value=False,
    callback=_kept,
    help="The settings file.  [default: ./squidbot.toml]",
)
CONFIG_OPTION = click.option("--config", metavar="FILE", expose_value=False, callback=_kept, help=CONFIG.help)
TENANT_OPTION = click.option(
    "--tenant", metavar="NAME", help="The tenant of a database whose sessions to use.  [default: store.tenant]"
)
SESSION = click.Argument(["session_id"], metavar="SESSION")


class ResultCommand(click.Command):
    """A command whose function returns a `Result`, which is printed as text or, with --json, as JSON.

    `on` "store" opens the store and passes it first; "session" also passes a session's id behind it. The store may be
    written if `writes` is true, or if the option of that name is given.
    """

    def __init__(self, name: str | None, on: str = "", *, writes: bool | str = False, **attrs: Any) -> None:  # noqa: ANN401  # click's own
        """Add the arguments and options of its kind."""
        super().__init__(name, **attrs)
        self.params = [*([SESSION] if on == "session" else []), *self.params, *([STORE, CONFIG] if on else []), JSON]
        self._on, self._writes = on, writes

    def invoke(self, ctx: click.Context) -> None:
        """Run it, print its result, and exit with its code."""
        given = ctx.params
        as_json, before = given.pop("as_json"), list[object]()
        with ExitStack() as stack:
            if self._on:
                from squidbot.cli.open_store import open_store  # noqa: PLC0415  # so that --help is quick

                writes = bool(given.get(self._writes)) if isinstance(self._writes, str) else self._writes
                ctx.meta[STORE_OPTION_VALUE] = given.pop("store")
                place = stack.enter_context(open_store(ctx.meta[STORE_OPTION_VALUE], writes=writes))
                before = [place, *([place.find(given.pop("session_id"))] if self._on == "session" else [])]
            result = ctx.invoke(cast("Callable[..., Result]", self.callback), *before, **given)
            if as_json:
                print_json(result.values() if callable(result.values) else result.values)
            else:
                result.print()
        for one in (*([] if as_json else result.remarks), *result.wrong):
            complain(one)
        ctx.exit(result.code)


class ResultGroup(click.Group):
    """A group of such commands."""

    command_class = ResultCommand


def tokens(_: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the tokens in an option; a reserve may be 0, a window may not."""
    if value is None or (value == "0" and param.name == "reserve"):
        return None if value is None else 0
    try:
        return parse_tokens(value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


def command(*words: str) -> str:
    """Return a command line of squidbot for the store and settings of this command; an address is left out."""
    context = click.get_current_context(silent=True)
    store = context.meta.get(STORE_OPTION_VALUE) if context else None
    # An address may hold a password.
    option = ["--store", store] if store and "://" not in store else []
    option += ["--config", config] if (config := config_given()) else []
    return shlex.join(["squidbot", *words, *option]) + (" --store postgresql://…" if store and "://" in store else "")


def config_given() -> str | None:
    """Return the settings file that the running command was given; `None` for ./squidbot.toml."""
    context = click.get_current_context(silent=True)
    return context.meta.get(CONFIG_OPTION_VALUE) if context else None


def message(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return the seq of the message "m17" or "17"."""
    if value is None:
        return None
    found = _MESSAGE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value[:40]!r} is not a message; write m17 or 17")
    return int(found[1])


def form_version(
    what: str = "Treat files as this version, whatever they say.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --form-version; `what` says what is done with files of the version."""
    return click.option(
        "--form-version",
        "version",
        type=click.Choice(["1.0", "2.0", "3.0"]),
        envvar="SQUIDBOT_WORKSPACEAI_VERSION",
        callback=lambda _, __, value: value or "",
        help=f"{what}  [default: SQUIDBOT_WORKSPACEAI_VERSION]",
    )


def limit(number: int, what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --limit; `what` names the things to show."""
    return click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(1),
        default=number,
        show_default=True,
        help=f"Number of {what} to show.",
    )
