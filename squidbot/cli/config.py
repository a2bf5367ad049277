"""`squidbot config`: what is set, where, and what each key does."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import click

from squidbot.cli.output import Result, ResultCommand
from squidbot.config import load_settings, meant
from squidbot.config.loading import ALIASES
from squidbot.config.presets import profile_of, profiles
from squidbot.config.schema import Key, Settings, keys_of
from squidbot.core.budget import Ladder
from squidbot.core.settings import LEVEL_BLOCKS, STRATEGIES, strategy
from squidbot.core.summaries import SummarySettings

if TYPE_CHECKING:
    from squidbot.cli.printer import Printer

__all__ = ["config", "default_of", "written"]

# Whom settings are for, by the tiers of `Origin`.
TIERS = {"job": "for the engine", "physical": "for models", "policy": "for how conversations are kept"}
# A room of each size that strategies tell apart.
ROOMS_TOKENS = [min(below_tokens - 1, 100_000) for below_tokens, _ in LEVEL_BLOCKS]
# A name that the user has chosen, as dotted keys write it.
_CHOSEN = r'(?:[\w-]+|"[^"]*")'
_KEYS = {
    re.compile(r"\.".join(_CHOSEN if part[0] == "<" else part for part in key.path) + r"\."): key
    for key in keys_of(Settings)
}


@click.command(cls=ResultCommand)
@click.argument("keys", metavar="[KEY...]", nargs=-1)
@click.option("--config", "file", metavar="FILE", help="The settings.  [default: ./squidbot.toml]")
@click.option("--all", "every", is_flag=True, help="Every key, not only those that are set.")
@click.option("--profile", metavar="NAME", help="Show what a profile sets.")
def config(*, keys: tuple[str, ...], file: str | None, every: bool, profile: str | None) -> Result:
    """Show what is set, and where; or explain KEYs, such as window.default, or window for a whole table."""
    if profile is not None:
        return _profile(profile)
    loaded = load_settings(file)
    shown = [_entry(*one, one.tier) for one in loaded.origins() if every or keys or one.source != "default"]
    shown = [one for one in shown if not keys or any(f"{one['key']}.".startswith(f"{key}.") for key in keys)]
    if keys and not shown:
        known = [".".join(key.path) for key in keys_of(Settings)]
        raise click.UsageError(f"there is no key {keys[0]}{meant(keys, known)}")

    def put(out: Printer) -> None:
        if keys:
            _explain(out, shown)
            return
        out.heading(f"Settings of {loaded.source}")
        for tier, whom in TIERS.items():
            if rows := [(str(one["key"]), _value(one)) for one in shown if one["tier"] == tier]:
                out.say(whom, "dim", indent="  ")
                out.pairs(rows, indent="    ")

    finite = [{**one, "value": None if one["value"] == math.inf else one["value"]} for one in shown]
    return Result({"settings": loaded.source, "keys": finite}, put)


def default_of(key: Key) -> object:
    """Return what holds where nobody sets a key: "strategy" where that depends on the strategy and the room."""
    name = key.field.metadata["core"] or key.path[-1]
    if key.default is not None or key.path[0] == "models":
        return key.default
    chosen = [strategy(one, room_tokens) for one in STRATEGIES for room_tokens in ROOMS_TOKENS]
    found = {getattr(one, name) for one in (Ladder(), SummarySettings(), *chosen) if hasattr(one, name)}
    return found.pop() if len(found) == 1 else "strategy" if found else None


def _entry(name: str, value: object, source: str, tier: str) -> dict[str, object]:
    """Return a setting with what the schema says of it."""
    key = next((key for pattern, key in _KEYS.items() if pattern.match(f"{name}.")), None)
    told = {"key": name, "value": value, "source": source, "tier": tier}
    if key is None:
        return {**told, "default": None, "unit": "", "choices": [], "expert": False, "doc": "", "names": []}
    names = [".".join(other) for other, own in ALIASES.items() if own == key.path]
    names += [key.field.metadata["env"]] if key.field.metadata["env"] else []
    about = {one: key.field.metadata[one] for one in ("expert", "doc")}
    return {**told, "default": default_of(key), "unit": key.unit, "choices": key.choices, **about, "names": names}


def _value(one: dict[str, object]) -> str:
    return f"{'not set' if one['value'] is None else written(one['value'])}  ({one['source']})"


def written(value: object) -> str:
    """Return a value as TOML writes it, a text without its marks; "" for none."""
    if value in (None, "", {}):
        return ""
    return json.dumps(value) if isinstance(value, bool | list | tuple | dict) else str(value)


def _explain(paper: Printer, shown: list[dict[str, object]]) -> None:
    for one in shown:
        paper.heading(str(one["key"]))
        paper.say(str(one["doc"]), indent="  ")
        told = {"value": _value(one), "default": written(one["default"]), "unit": str(one["unit"])}
        told |= {name: ", ".join(one[name]) for name in ("choices", "names")}  # type: ignore[arg-type]  # of texts
        paper.pairs([(name, value) for name, value in told.items() if value], indent="  ")
        if one["key"] == "profile":
            paper.pairs([(each.name, each.about) for each in profiles().values()], indent="  ")


def _profile(name: str) -> Result:
    """Return a profile as the squidbot.toml that it stands for."""
    profile = profile_of(name)

    def put(out: Printer) -> None:
        out.say(profile.about)
        out.blank()
        out.say(f'profile = "{name}"', "bold")
        for key, value in profile.keys.items():
            out.say(f"{key} = {json.dumps(value)}")  # as TOML writes booleans, numbers and texts

    settings = [{"key": key, "value": value} for key, value in profile.keys.items()]
    return Result({"profile": name, "about": profile.about, "settings": settings}, put)
