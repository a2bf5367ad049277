"""Write the tables of settings and commands into their pages, from the code: `python docs/tables.py`."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple, cast

import click

from squidbot.cli import main
from squidbot.cli.config import default_of, written
from squidbot.cli.output import CONFIG, JSON, STORE
from squidbot.config.loading import ALIASES
from squidbot.config.presets import shipped
from squidbot.config.schema import Key, Settings, keys_of

PAGES = tuple(Path(__file__).with_name(name) for name in ("configuration.md", "experts.md", "commands.md"))
MARK = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
# What an option's help says of its default; what is code in a sentence, and options, which are to be.
DEFAULT = re.compile(r"\s*\[default: (.*?)\]")
CODE = re.compile(r"(`[^`]*`)|((?<![\w-])--[a-z][a-z-]*(?: [A-Z]{3,})?)")


def with_tables(page: str) -> str:
    """Return the page with its tables as the code has them."""
    return MARK.sub(lambda found: found[1] + "\n".join(_table(*found[2].split())) + "\n" + found[3], page)


def _table(kind: str, *names: str) -> Iterator[str]:
    if kind == "command":
        yield from _command(" ".join(names))
    elif kind == "group":
        yield from _group(names[0], names[2:])
    else:
        yield from _settings(kind, *names)


# -- settings ----------------------------------------------------------------------------------------------------------


def _settings(*tables: str) -> Iterator[str]:
    keys = list(keys_of(Settings))
    if tables == ("entries",):
        yield "| entry | read | write | output | forgotten after | from | as of |"
        yield "|---|---|---|---|---|---|---|"
        for name, one in shipped().items():
            pause = "never" if one.ttl_seconds == float("inf") else f"{one.ttl_seconds:,.0f} s"
            figures = f"{one.read:g} | {one.write:g} | {one.output:g} | {pause} | {one.least_tokens:,} tokens"
            yield f"| {name} | {figures} | {one.as_of} |"
    elif tables == ("names",):
        yield from ("| name | key |", "|---|---|")
        yield from (f"| {'.'.join(name)} | `{'.'.join(path)}` |" for name, path in ALIASES.items())
        named = {key.field.metadata["env"]: key for key in keys}
        yield from (f"| {name} (environment) | `{'.'.join(key.path)}` |" for name, key in named.items() if name)
    elif tables == ("experts",):
        yield from _rows(key for key in keys if key.field.metadata["expert"])
    else:
        yield from _rows(key for key in keys if key.path[0] in tables and not key.field.metadata["expert"])


def _rows(keys: Iterable[Key]) -> Iterator[str]:
    yield from ("| key | default | values | what it does |", "|---|---|---|---|")
    for key in keys:
        values = ", ".join(key.choices) or key.unit
        yield f"| `{'.'.join(key.path)}` | {written(default_of(key))} | {values} | {key.field.metadata['doc']} |"


# -- commands ----------------------------------------------------------------------------------------------------------


class OptionRow(NamedTuple):
    """An option as a row shows it."""

    names: str
    does: str
    default: str


def _command(name: str) -> Iterator[str]:
    """Yield a command's usage, its help, and its options."""
    found, context = _found(name)
    yield f"`{_usage(name, found)}`"
    for paragraph in cleandoc(found.help or "").split("\n\n"):
        yield from ("", textwrap.fill(_line(paragraph), 120, break_on_hyphens=False, break_long_words=False))
    options = [_option(one, context) for one in found.params if isinstance(one, click.Option) and _is_own(one)]
    if options:
        yield from ("", "| option | what it does | default |", "|---|---|---|")
        yield from (f"| {one.names} | {one.does} | {one.default or '-'} |" for one in options)


def _group(name: str, without: tuple[str, ...]) -> Iterator[str]:
    """Yield the commands of a group, and their options, each once, with the commands that have it."""
    group = cast("click.Group", _found(name)[0])
    inner = {one: _found(f"{name} {one}") for one in group.commands if one not in without}
    yield from ("| command | what it does |", "|---|---|")
    for one, (found, _) in inner.items():
        yield f"| `{_usage(one, found).removeprefix('squidbot ')}` | {_line(found.help or '')} |"
    having: dict[OptionRow, list[str]] = {}
    for one, (found, context) in inner.items():
        for param in found.params:
            if isinstance(param, click.Option) and _is_own(param):
                having.setdefault(_option(param, context), []).append(one)
    yield from ("", "| option | of | what it does | default |", "|---|---|---|---|")
    order = list(dict.fromkeys(row.names for row in having))
    for row, names in sorted(having.items(), key=lambda one: (len(one[1]) == len(inner), order.index(one[0].names))):
        of = "all" if len(names) == len(inner) else ", ".join(f"`{one}`" for one in names)
        yield f"| {row.names} | {of} | {row.does} | {row.default or '-'} |"


def _found(name: str) -> tuple[click.Command, click.Context]:
    """Return a command by its name, with its group in front."""
    found, context = cast("click.Command", main), click.Context(main, info_name="squidbot")
    for part in name.split():
        found = cast("click.Command", cast("click.Group", found).get_command(context, part))
        context = click.Context(found, context, info_name=part)
    return found, context


def _usage(name: str, command: click.Command) -> str:
    params = command.params
    needed = [f"{one.opts[0]} {one.metavar}" for one in params if isinstance(one, click.Option) and one.required]
    arguments = [
        one.metavar or (one.human_readable_name if one.required else f"[{one.human_readable_name}]")
        for one in params
        if isinstance(one, click.Argument)
    ]
    return " ".join(("squidbot", name, *needed, *arguments))


def _is_own(option: click.Option) -> bool:
    """Return whether an option is not one that the page's first table has for all commands."""
    shared = [(one.opts, one.help) for one in (STORE, CONFIG, JSON)]
    return not option.hidden and (option.opts, option.help) not in shared


def _option(option: click.Option, context: click.Context) -> OptionRow:
    takes = "" if option.is_flag or isinstance(option.type, click.Choice) else f" {option.make_metavar(context)}"
    names = ", ".join(f"`{one}{takes if one == option.opts[-1] else ''}`" for one in option.opts)
    says = _line(option.help or "")
    default = "; ".join(DEFAULT.findall(says))
    if isinstance(option.type, click.Choice) and not option.is_flag:
        values = ", ".join(f"`{one}`" for one in option.type.choices)
        says = f"{DEFAULT.sub('', says)} One of {values}."
    if option.show_default is True:
        default = f"{option.default:g}" if isinstance(option.default, float) else str(option.default)
    return OptionRow(names.replace("|", r"\|"), DEFAULT.sub("", says), "required" if option.required else default)


def _line(text: str) -> str:
    return _marked(" ".join(text.split()))


def _marked(text: str) -> str:
    """Return a text with its options as code, and what Markdown would take for a column or a tag written out."""
    return CODE.sub(lambda found: found[1] or f"`{found[2]}`", text).replace("|", r"\|").replace("<", r"\<")


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
