"""squidbot.toml as frozen settings: a wrong key or value is named with its path, and each value says where it is from.

What a key does stands in docs/configuration.md. None means: as the strategy, the counter or the model has it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import attrs

from squidbot.checks import (
    Amount,
    Lifetime,
    Minutes,
    Mode,
    Names,
    Portion,
    Scheduler,
    Scope,
    Share,
    Strategy,
    Tokens,
    Whole,
    structured,
)
from squidbot.core.budget.caps import Caps
from squidbot.core.errors import ConfigError
from squidbot.core.snapshots import Retention
from squidbot.prices import FILE_NAME as PRICES_NAME
from squidbot.prices import Entry, entry_of

__all__ = [
    "FILE_NAME",
    "Budget",
    "History",
    "Loaded",
    "Model",
    "Origin",
    "Pressure",
    "Prices",
    "Settings",
    "Snapshots",
    "Store",
    "Summary",
    "Window",
    "load_settings",
]

FILE_NAME = "squidbot.toml"

# Where neither the model nor the user names a window (C10).
WINDOW_TOKENS = Tokens(32_768)
STRATEGY = Strategy("balanced")
SCOPE = Scope("inline+summaries")
# B-40: every 15 to 30 minutes.
INTERVAL_MINUTES = Minutes(30)
SCHEDULER = Scheduler("thread")
# The core's own (decisions.md, section 11).
KEEPING = Retention()
SNAPSHOTS_MAX, SNAPSHOTS_NTH = Whole(KEEPING.most_named), Whole(KEEPING.keep_every_nth)
SNAPSHOTS_AUTO = Portion(KEEPING.auto_fraction)
SNAPSHOTS_HOURS, SNAPSHOTS_DAYS = Amount(KEEPING.keep_all_hours), Amount(KEEPING.most_days)
NO_NAMES = Names(())


@attrs.frozen
class Window:
    """`[window]`: the context window of sessions whose model says nothing else."""

    default: Tokens = WINDOW_TOKENS
    safety_fraction: Share | None = None


@attrs.frozen
class Prices:
    """`[prices]`: what tokens cost, an uncached input token being 1, and how long a provider keeps a cached prefix.

    What is None is as in the entry of the price table that `entry` names. `prices = "NAME"` is short for that.
    """

    entry: str | None = None
    read: Amount | None = None
    write: Amount | None = None
    output: Amount | None = None
    ttl_seconds: Lifetime | None = None
    least_tokens: Whole | None = None


@attrs.frozen
class Model:
    """`[models.<alias>]`: one model; the alias is what `Engine.session` is given."""

    context_window: Tokens | None = None
    max_tokens: Tokens | None = None
    tokenizer: str | None = None
    parameters_billion: Amount | None = None
    prices: Prices | None = None


@attrs.frozen
class Budget:
    """`[budget]`: how tokens are counted, the room for the answer, and the caps of document 001 by their own names."""

    counter: str = "classes"
    reserved_output_tokens: Whole | None = None
    policy: bool | None = None
    context_budget_mode: str = "words"
    context_memory_max_words: int = 300
    context_summary_max_words: int = 500
    context_history_max_words: int = 2500
    context_total_max_words: int = 4500
    context_min_recent_messages: int = 2
    context_dedupe_summary_against_memory: bool = True

    @property
    def caps(self) -> Caps:
        """The caps as the core takes them.

        Raises:
            ConfigError: a cap is out of its range.
        """
        return Caps(
            memory=self.context_memory_max_words,
            summary=self.context_summary_max_words,
            history=self.context_history_max_words,
            total=self.context_total_max_words,
            min_recent_messages=self.context_min_recent_messages,
            unit=self.context_budget_mode,  # type: ignore[arg-type]  # Caps refuses what is no unit, in its own words
            dedupe=self.context_dedupe_summary_against_memory,
        )


@attrs.frozen
class Pressure:
    """`[pressure]`: when history gives way, and how far."""

    strategy: Strategy = STRATEGY
    compact_at_fraction: Share | None = None
    low_water_fraction: Portion | None = None
    patience: Amount | None = None
    min_saving_fraction: Portion | None = None
    backoff_seconds: Amount | None = None
    warn_fraction: Portion | None = None
    journal_fraction: Portion | None = None
    critical_fraction: Portion | None = None
    emergency_fraction: Portion | None = None
    notice: bool | None = None
    compact_at_tokens: Whole | None = None
    compact_at_messages: Whole | None = None


@attrs.frozen
class History:
    """`[history]`: what stays verbatim."""

    scope: Scope = SCOPE
    keep_fraction: Portion | None = None
    slim_fraction: Portion | None = None
    user_verbatim_fraction: Portion | None = None
    user_low_fraction: Portion | None = None
    birth_fraction: Portion | None = None
    step_fraction: Portion | None = None


@attrs.frozen
class Summary:
    """`[summary]`: where session blocks end, how much of the room notes take, and which model writes summaries."""

    gap_seconds: Amount | None = None
    notes_fraction: Portion | None = None
    note_rate: Portion | None = None
    chain: bool | None = None
    fold_fraction: Portion | None = None
    detailed_blocks: Whole | None = None
    moderate_blocks: Whole | None = None
    compact_blocks: Whole | None = None
    level_fraction: Portion | None = None
    min_note_tokens: Whole | None = None
    llm: str | None = None
    mode: Mode | None = None
    min_messages: Whole | None = None
    min_input_tokens: Whole | None = None
    source_tokens: Tokens | None = None
    backoff_seconds: Amount | None = None
    scheduler: Scheduler = SCHEDULER
    interval_minutes: Minutes = INTERVAL_MINUTES


@attrs.frozen
class Snapshots:
    """`[snapshots]`: when a restore point is made unasked, and which are kept."""

    max: Whole = SNAPSHOTS_MAX
    auto_fraction: Portion = SNAPSHOTS_AUTO
    keep_all_hours: Amount = SNAPSHOTS_HOURS
    keep_every_nth: Whole = SNAPSHOTS_NTH
    max_age_days: Amount = SNAPSHOTS_DAYS

    @property
    def retention(self) -> Retention:
        """The same as the core takes it."""
        return Retention(self.max, self.auto_fraction, self.keep_all_hours, self.keep_every_nth, self.max_age_days)


@attrs.frozen
class Store:
    """`[store]`: where sessions are kept. Without a path, and without an adapter: in memory."""

    path: str = ""
    adapter: str | None = None


@attrs.frozen
class Settings:
    """All of squidbot.toml."""

    window: Window = Window()
    models: dict[str, Model] = attrs.Factory(dict)
    prices: Prices = Prices()
    price_table: dict[str, Entry] = attrs.Factory(dict)
    budget: Budget = Budget()
    pressure: Pressure = Pressure()
    history: History = History()
    summary: Summary = Summary()
    snapshots: Snapshots = Snapshots()
    store: Store = Store()
    observers: Names = NO_NAMES
    extensions: Names = NO_NAMES

    def model(self, alias: str) -> Model:
        """Return what is known of a model; nothing but defaults for one that is not named."""
        return self.models.get(alias, Model())


class Origin(NamedTuple):
    """One setting: its key with dots, its value, and where it is from.

    `source` is a file's name, "argument", "default", or the entry of the price table that the value is from.
    """

    key: str
    value: object
    source: str


@attrs.frozen
class Loaded:
    """Settings, and where they come from.

    Attributes:
        settings: the values.
        source: the name of the file, "argument", or "default" where there is neither.
        folder: what relative paths are relative to: the file's folder, else the current one.
        raw: what the source sets.
    """

    settings: Settings
    source: str
    folder: Path
    raw: Mapping[str, object] = attrs.Factory(dict)

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

    def origins(self) -> list[Origin]:
        """Return every setting with its value and where that is from, in the order of `Settings`."""
        return [self._origin(path, value) for path, value in _leaves((), self.settings)]

    def prices(self, alias: str = "") -> Prices:
        """Return what tokens cost with a model, with the values of the entry of the price table that is named."""
        own = self.settings.model(alias).prices
        prices = self.settings.prices if own is None else own
        if prices.entry is None:
            return prices
        entry = entry_of(prices.entry, self.settings.price_table)
        missing = [name for name in _names_of(Prices) if getattr(prices, name) is None]
        return attrs.evolve(prices, **{name: getattr(entry, name) for name in missing})

    def _origin(self, path: tuple[str, ...], value: object) -> Origin:
        *table, key = path
        if value is None and table in (["prices"], ["models", *table[1:2], "prices"]):
            prices = self.prices(table[1] if len(table) > 1 else "")
            if prices.entry is not None:
                return Origin(_dotted(path), getattr(prices, key), self._entry(prices.entry))
        return Origin(_dotted(path), value, self.source if self.sets(*path) else "default")

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
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror or error} @ {path}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise ConfigError(f"{error} @ {path.name}") from error
    return _structured(raw, path.name, path.absolute().parent)


def _structured(raw: Mapping[str, object], source: str, folder: Path) -> Loaded:
    spelled = _spelled_out(raw)
    settings = structured(spelled, Settings, source)
    try:
        _ = settings.budget.caps
    except ConfigError as error:
        raise ConfigError(f"{error} @ {source}.budget") from error
    _check_entries(settings, source)
    return Loaded(settings, source, folder, spelled)


def _spelled_out(raw: Mapping[str, object]) -> dict[str, object]:
    """Return settings with a table for prices that are one word, at the top and in models."""
    models = raw.get("models")
    if isinstance(models, Mapping):
        raw = {**raw, "models": {alias: _with_table(model) for alias, model in models.items()}}
    return dict(_with_table(raw))


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
