"""`squidbot config`: the settings, their sources, and what each key does."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from squidbot.cli.open_store import without_store
from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.texts import exit_code
from squidbot.config import load_settings, meant
from squidbot.config.loading import ALIASES, Origin
from squidbot.config.presets import profile_of, profiles
from squidbot.config.schema import Key, Settings, keys_of
from squidbot.core.budget import Ladder
from squidbot.core.errors import SquidbotError
from squidbot.core.settings import LEVEL_BLOCKS, STRATEGIES, strategy
from squidbot.core.summaries import SummarySettings
from squidbot.wiring.registry import check_offered, collected, store_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.cli.printer import Printer
    from squidbot.config import Loaded

# The audience of settings, by the tiers of `Origin`.
TIERS = {"job": "for the engine", "physical": "for models", "policy": "for how conversations are kept"}
# One sample room for each size that strategies distinguish.
ROOMS_TOKENS = [min(below_tokens - 1, 100_000) for below_tokens, _ in LEVEL_BLOCKS]
# A user-chosen name, as dotted keys write it.
_CHOSEN = r'(?:[\w-]+|"[^"]*")'
_KEYS = {
    re.compile(r"\.".join(_CHOSEN if part[0] == "<" else part for part in key.path) + r"\."): key
    for key in keys_of(Settings)
}


@click.command(cls=ResultCommand)
@click.argument("keys", metavar="[KEY...]", nargs=-1)
@click.option("--config", "file", metavar="FILE", help="The settings file.  [default: ./squidbot.toml]")
@click.option("--all", "every", is_flag=True, help="Show all keys, not only those that are set.")
@click.option("--profile", metavar="NAME", help="Print what this profile sets, as squidbot.toml would.")
def config(*, keys: tuple[str, ...], file: str | None, every: bool, profile: str | None) -> Result:
    """Show settings, and where each comes from: a line of the file, an environment variable or a profile.

    With KEYs, explain them: window.default, or window for a whole table. `squidbot config profile` lists the profiles.
    Exit code 2: a setting is wrong.
    """
    if profile is not None:
        return _profile(profile)
    loaded = load_settings(file)
    shown = [
        _entry(*origin, origin.tier) for origin in _origins(loaded, keys) if every or keys or origin.source != "default"
    ]
    finite = [{**one, "value": None if one["value"] == math.inf else one["value"]} for one in shown]
    values = {"settings": loaded.source, "keys": finite}
    code, wrong = 0, []
    try:
        with without_store(loaded):
            pass
        check_offered("store", collected(loaded)[1].stores, store_name(loaded), f"{loaded.source}.store.adapter")
    except SquidbotError as error:
        code, wrong = exit_code(error), [str(error)]
    put = partial(_explain, shown=shown) if keys else partial(_put_settings, source=loaded.source, shown=shown)
    return Result(values, put, code, wrong)


def _origins(loaded: Loaded, keys: tuple[str, ...]) -> list[Origin]:
    """Return the settings of these keys and tables; without any, all of them.

    Raises:
        click.UsageError: there is no such key.
    """
    every, known = loaded.origins(), [".".join(key.path) for key in keys_of(Settings)]
    if not keys:
        return every
    # Nobody may have set a table with a name of its own; its keys are explained anyway.
    unnamed = [Origin(name, None, "default") for name in known if "<" in name]
    found = list[Origin]()
    for key in keys:
        chosen = [origin for origin in every if f"{origin.key}.".startswith(f"{key}.")]
        chosen = chosen or [origin for origin in unnamed if f"{origin.key}.".startswith(f"{key}.")]
        if not chosen:
            raise click.UsageError(f"unknown key {key}{meant([key], known)}")
        found += [origin for origin in chosen if origin not in found]
    return found


def _put_settings(out: Printer, source: str, shown: Sequence[dict[str, object]]) -> None:
    out.heading(f"Settings of {source}")
    for tier, whom in TIERS.items():
        if rows := [(str(one["key"]), _value(one)) for one in shown if one["tier"] == tier]:
            out.say(whom, "dim", indent="  ")
            out.pairs(rows, indent="    ")


def default_of(key: Key) -> object:
    """Return the value if nobody sets a key: "strategy" if it depends on the strategy and the room."""
    name = key.field.metadata["core"] or key.path[-1]
    if key.default is not None or key.path[0] == "models":
        return key.default
    chosen = [strategy(one, room_tokens) for one in STRATEGIES for room_tokens in ROOMS_TOKENS]
    found = {getattr(one, name) for one in (Ladder(), SummarySettings(), *chosen) if hasattr(one, name)}
    return found.pop() if len(found) == 1 else "strategy" if found else None


def _entry(name: str, value: object, source: str, tier: str) -> dict[str, Any]:
    """Return a setting with its schema entry."""
    entry = {"key": name, "value": value, "source": source, "tier": tier, "default": None, "unit": "", "choices": []}
    entry |= {"expert": False, "doc": "", "names": []}
    key = next((key for at, key in _KEYS.items() if at.match(f"{name}.") or ".".join(key.path) == name), None)
    if key is None:
        return entry
    metadata = key.field.metadata
    names = [".".join(other) for other, own in ALIASES.items() if own == key.path]
    names += [metadata["env"]] if metadata["env"] else []
    about = {"expert": metadata["expert"], "doc": metadata["doc"], "names": names}
    return {**entry, "default": default_of(key), "unit": key.unit, "choices": key.choices, **about}


def _value(one: dict[str, object]) -> str:
    return f"{'not set' if one['value'] is None else written(one['value'])}  ({one['source']})"


def written(value: object) -> str:
    """Return a value as TOML writes it, a text without quotes; "" for none."""
    if value in (None, "", {}):
        return ""
    return json.dumps(value) if isinstance(value, bool | list | tuple | dict) else str(value)


def _explain(out: Printer, shown: Sequence[dict[str, Any]]) -> None:
    for one in shown:
        out.heading(one["key"])
        out.say(one["doc"], indent="  ")
        rows = {"value": _value(one), "default": written(one["default"]), "unit": one["unit"]}
        rows |= {name: ", ".join(one[name]) for name in ("choices", "names")}
        out.pairs(rows.items(), indent="  ")
        if one["key"] == "profile":
            out.pairs([(profile.name, profile.about) for profile in profiles().values()], indent="  ")


def _profile(name: str) -> Result:
    """Return a profile as the equivalent squidbot.toml."""
    profile = profile_of(name)
    settings = [{"key": key, "value": value} for key, value in profile.keys.items()]
    # JSON writes booleans, numbers and texts as TOML does.
    lines = [profile.about, "", f'profile = "{name}"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in profile.keys.items()]
    return Result({"profile": name, "about": profile.about, "settings": settings}, "\n".join(lines))
