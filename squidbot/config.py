"""squidbot.toml, read: a wrong key or value is named with its path, and each value says where it is from.

The tables are in tables/; what a key does stands in docs/configuration.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from squidbot.checks import AUTO_LAYERS, structured
from squidbot.core.errors import ConfigError
from squidbot.environment import check_secrets, with_aliases
from squidbot.origins import Origin, lines_of
from squidbot.prices import FILE_NAME as PRICES_NAME
from squidbot.prices import entry_of
from squidbot.profiles import with_profile
from squidbot.tables import Budget, Prices, Settings

__all__ = ["FILE_NAME", "Loaded", "Origin", "load_settings"]

FILE_NAME = "squidbot.toml"


@attrs.frozen
class Loaded:
    """Settings, and where they come from.

    Attributes:
        settings: the values.
        source: the name of the file, "argument", or "default" where there is neither.
        folder: what relative paths are relative to: the file's folder, else the current one.
        raw: what the source sets, and the environment, and the profile.
        text: the file's own text; "" where there is none.
        named: where keys are from that something else than the file has set: "env NAME", "extension NAME",
            "profile NAME".
    """

    settings: Settings
    source: str
    folder: Path
    raw: Mapping[str, object] = attrs.Factory(dict)
    text: str = ""
    named: dict[tuple[str, ...], str] = attrs.Factory(dict)

    @property
    def policy(self) -> bool:
        """Whether the caps on history and total hold: as `budget.policy` says, else if any cap is set (C7)."""
        if self.settings.budget.policy is not None:
            return self.settings.budget.policy
        return any(self.sets("budget", key) for key in _names_of(Budget) if key.startswith("context_"))

    def sets(self, *path: str) -> bool:
        """Return whether the source sets a key, or has a table of that name."""
        raw: object = self.raw
        for name in path:
            if not isinstance(raw, Mapping) or name not in raw:
                return False
            raw = raw[name]
        return True

    def learned(self, alias: str, keys: Iterable[str], source: str) -> None:
        """Keep where the keys of a model are from that `settings` has learned of."""
        self.named.update({("models", alias, key): source for key in keys})

    def origins(self) -> list[Origin]:
        """Return every setting with its value and where that is from, in the order of `Settings`."""
        lines = lines_of(self.text)
        return [self._origin(path, value, lines) for path, value in _leaves((), self.settings)]

    def prices(self, alias: str = "") -> Prices:
        """Return what tokens cost with a model, with the values of the entry of the price table that is named."""
        own = self.settings.model(alias).prices
        prices = self.settings.prices if own is None else own
        if prices.entry is None:
            return prices
        entry = entry_of(prices.entry, self.settings.price_table)
        missing = [name for name in _names_of(Prices) if getattr(prices, name) is None]
        return attrs.evolve(prices, **{name: getattr(entry, name) for name in missing})

    def _origin(self, path: tuple[str, ...], value: object, lines: Mapping[tuple[str, ...], int]) -> Origin:
        *table, key = path
        if value is None and table in (["prices"], ["models", *table[1:2], "prices"]):
            prices = self.prices(table[1] if len(table) > 1 else "")
            if prices.entry is not None:
                return Origin(_dotted(path), getattr(prices, key), self._entry(prices.entry))
        if key == "n_gpu_layers" and value == AUTO_LAYERS:
            value = "auto"
        if path not in self.named and not self.sets(*path):
            return Origin(_dotted(path), value, "default")
        return Origin(_dotted(path), value, self.named.get(path) or self._place(path, lines))

    def _place(self, path: tuple[str, ...], lines: Mapping[tuple[str, ...], int]) -> str:
        """Return where a key that is set stands: under its own name, another one of it, or as one word for a table."""
        *table, key = path
        others = [(*table, other) for other, own in WINDOW_ALIASES.items() if own == key and table == ["window"]]
        others += [place for place, own in OTHER_ALIASES.items() if own == path]
        line = next((lines[one] for one in (path, *others, tuple(table)) if one in lines), 0)
        return f"{self.source}:{line}" if line else self.source

    def _entry(self, name: str) -> str:
        """Return which entry of the price table a name means, and when it was true."""
        entry = entry_of(name, self.settings.price_table)
        file = self.source if name in self.settings.price_table else PRICES_NAME
        return f"{file}: {_dotted(('price_table', name))}{f' of {entry.as_of}' if entry.as_of else ''}"

    def absolute(self, path: str) -> str:
        """Return a path of the settings as an absolute one; "~" is the user's home."""
        return str((self.folder / Path(path).expanduser()).absolute())


def load_settings(source: str | Path | Mapping[str, object] | None = None) -> Loaded:
    """Return the settings of a file, of a mapping of the same form, or (None) of ./squidbot.toml if there is one.

    Raises:
        ConfigError: the file can't be read, a key is unknown, a value has the wrong type or is out of its range.
    """
    if isinstance(source, Mapping):
        return _structured(source, "argument", Path.cwd())
    if source is None and not Path(FILE_NAME).is_file():
        return Loaded(Settings(), "default", Path.cwd())
    path = Path(source or FILE_NAME)
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror or error} @ {path}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise ConfigError(f"{error} @ {path.name}") from error
    return _structured(raw, path.name, path.absolute().parent, text)


def _structured(raw: Mapping[str, object], source: str, folder: Path, text: str = "") -> Loaded:
    check_secrets(raw, source)
    _check_aliases(raw, source)
    spelled, aliased = with_aliases(_spelled_out(raw))
    spelled, named = with_profile(spelled, source)
    named.update(aliased)
    settings = structured(spelled, Settings, source)
    try:
        _ = settings.budget.caps
    except ConfigError as error:
        raise ConfigError(f"{error} @ {source}.budget") from error
    if settings.allocation.by_category and not any(settings.allocation.weights or ()):
        raise ConfigError(f"no category has a weight; set one of the four above 0 @ {source}.allocation")
    least, most = settings.window.min, settings.window.max
    if least > most:
        raise ConfigError(f"min must be at most max, not {least} > {most} @ {source}.window")
    left, mark = settings.pressure.low_water_messages or 0, settings.pressure.compact_at_messages or 0
    if left and left >= mark:
        raise ConfigError(
            f"low_water_messages must be below compact_at_messages, not {left} >= {mark} @ {source}.pressure"
        )
    _check_entries(settings, source)
    return Loaded(settings, source, folder, spelled, text, named)


# The names of document 004 (O-15) for keys of `[window]`; its buffer is in MB of 2^20 bytes.
WINDOW_ALIASES = {
    "targetSize": "default",
    "minSize": "min",
    "maxSize": "max",
    "autoSize": "sizing",
    "vramBuffer": "vram_margin_mib",
    "kvQuantization": "kv_type",
}
AUTO_SIZES = {True: "max_safe", False: "manual"}
# The same of its tables for compression and snapshots: of each key the table and the key that it is with us.
OTHER_ALIASES = {
    ("compression", "preserveRecent"): ("history", "keep_recent_tokens"),
    ("compression", "summaryMaxTokens"): ("summary", "max_tokens"),
    ("snapshot", "autoThreshold"): ("snapshots", "auto_fraction"),
}


def _spelled_out(raw: Mapping[str, object]) -> dict[str, object]:
    """Return settings under our own names: a table for prices that are one word, at the top and in models."""
    window = raw.get("window")
    if isinstance(window, Mapping):
        raw = {**raw, "window": {WINDOW_ALIASES.get(key, key): _sizing(key, window[key]) for key in window}}
    raw = _moved(raw)
    models = raw.get("models")
    if isinstance(models, Mapping):
        raw = {**raw, "models": {alias: _with_table(model) for alias, model in models.items()}}
    return dict(_with_table(raw))


def _moved(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return settings whose keys stand in our tables; what is unknown in those of others stays where it is."""
    made = dict(raw)
    for (table, key), (own_table, own_key) in OTHER_ALIASES.items():
        given, own = made.get(table), made.get(own_table, {})
        if isinstance(given, Mapping) and key in given and isinstance(own, Mapping):
            made[own_table] = {**own, own_key: given[key]}
            made[table] = {name: value for name, value in given.items() if name != key}
    emptied = {table for table, _ in OTHER_ALIASES if made.get(table) == {}}
    return {table: value for table, value in made.items() if table not in emptied}


def _check_aliases(raw: Mapping[str, object], source: str) -> None:
    """Check that no key is set under both of its names, and that there is no other in a table of another's.

    Raises:
        ConfigError: one is.
    """
    _check_foreign(raw, source)
    for (table, key), (own_table, own_key) in OTHER_ALIASES.items():
        if key in _table(raw, table) and own_key in _table(raw, own_table):
            raise ConfigError(f"{key} is another name of {own_table}.{own_key}; keep one @ {source}.{table}")
    both = [key for key, own in WINDOW_ALIASES.items() if {key, own} <= _table(raw, "window").keys()]
    if both:
        raise ConfigError(f"{both[0]} is another name of {WINDOW_ALIASES[both[0]]}; keep one @ {source}.window")


def _check_foreign(raw: Mapping[str, object], source: str) -> None:
    for table in dict.fromkeys(table for table, _ in OTHER_ALIASES):
        known = [key for other, key in OTHER_ALIASES if other == table]
        unknown = [key for key in _table(raw, table) if key not in known]
        if unknown:
            raise ConfigError(f"unknown key {unknown[0]}, known: {', '.join(known)} @ {source}.{table}")


def _table(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return a table of settings; an empty one for what is none: who checks types says so."""
    given = raw.get(name)
    return given if isinstance(given, Mapping) else {}


def _sizing(key: str, value: object) -> object:
    return AUTO_SIZES.get(value, value) if key == "autoSize" and isinstance(value, bool) else value


def _with_table(owner: Mapping[str, object]) -> Mapping[str, object]:
    """Return settings, or a model, whose one word for prices is a table; what is none of both is left as it is."""
    named = isinstance(owner, Mapping) and isinstance(owner.get("prices"), str)
    return {**owner, "prices": {"entry": owner["prices"]}} if named else owner


def _check_entries(settings: Settings, source: str) -> None:
    """Check that every entry of the price table that is named is there.

    Raises:
        ConfigError: a line for each one that is not, with its path; it lists those there are.
    """
    models = {f"{source}.models[{alias!r}]": model.prices for alias, model in settings.models.items()}
    wrong = []
    for place, prices in {source: settings.prices, **models}.items():
        if prices is not None and prices.entry is not None:
            try:
                entry_of(prices.entry, settings.price_table)
            except ConfigError as error:
                wrong.append(f"{error} @ {place}.prices")
    if wrong:
        raise ConfigError("\n".join(wrong))


def _leaves(path: tuple[str, ...], value: object) -> list[tuple[tuple[str, ...], object]]:
    """Return the settings below a value by their paths, in order."""
    if attrs.has(type(value)):
        pairs = [(name, getattr(value, name)) for name in _names_of(type(value))]
    elif isinstance(value, dict):
        pairs = [(str(name), inner) for name, inner in value.items()]
    else:
        return [(path, value)]
    return [leaf for name, inner in pairs for leaf in _leaves((*path, name), inner)]


def _names_of(group: type) -> list[str]:
    return [field.name for field in attrs.fields(group)]


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(name if re.fullmatch(r"[\w-]+", name) else f'"{name}"' for name in path)
