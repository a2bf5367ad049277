"""squidbot.toml, read: every error names the key, its line and what would be right; every value knows its origin."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.config.checks import AUTO_LAYERS, Place, at_line, line_of, structured
from squidbot.config.environment import check_secrets, from_environment
from squidbot.config.presets import entry_of, profile_of
from squidbot.config.schema import TIERS, BudgetTable, Settings, keys_of
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.config.schema import PriceEntry

FILE_NAME = "squidbot.toml"
Raw = dict[str, Any]

# Other names of keys: where they may stand, and the key that they mean.
ALIASES = {
    tuple(alias.split(".")) if "." in alias else (*key.path[:-1], alias): key.path
    for key in keys_of(Settings)
    if (alias := key.field.metadata["alias"])
}


class Origin(NamedTuple):
    """One setting: its key with dots, its value, and where that is from.

    `source` is "FILE:LINE", "env NAME", "profile NAME", "argument" or "default".
    """

    key: str
    value: object
    source: str

    @property
    def tier(self) -> str:
        """Whom it is for: "job" the engine as a whole, "physical" a model, "policy" how a conversation is kept."""
        return next(tier for tier, tables in TIERS.items() if self.key.partition(".")[0] in tables)


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Settings, and where they come from.

    Attributes:
        settings: the values.
        source: the name of the file, "argument", or "default" where there is neither.
        folder: what relative paths are relative to: the file's folder, else the current one.
        named: where each key that is set is from, as `Origin.source`; "extension NAME", too.
    """

    settings: Settings
    source: str
    folder: Path
    named: dict[Place, str] = dataclasses.field(default_factory=dict)

    @property
    def policy(self) -> bool:
        """Whether the caps on history and total hold: as `budget.policy` says, else if any cap is set."""
        if self.settings.budget.policy is not None:
            return self.settings.budget.policy
        caps = [one.name for one in dataclasses.fields(BudgetTable) if one.name.startswith("context_")]
        return any(self.sets("budget", name) for name in caps)

    def sets(self, *path: str) -> bool:
        """Return whether something sets a key."""
        return path in self.named

    def learned(self, alias: str, keys: Iterable[str], source: str) -> None:
        """Keep where the keys of a model are from that `settings` has learned of."""
        self.named.update({("models", alias, key): source for key in keys})

    def changed(self, **tables: Mapping[str, object]) -> Loaded:
        """Return the same with other values: `changed(store={"path": "a.db"})`."""
        made: Raw = {name: dataclasses.replace(getattr(self.settings, name), **keys) for name, keys in tables.items()}
        return dataclasses.replace(self, settings=dataclasses.replace(self.settings, **made))

    def origins(self) -> list[Origin]:
        """Return every setting with its value and where that is from, in the order of `Settings`."""
        return [self._origin(path, value) for path, value in _leaves((), self.settings)]

    def prices(self, alias: str = "") -> PriceEntry:
        """Return what tokens cost with a model."""
        return entry_of(self.settings.model(alias).prices or self.settings.prices, self.settings.price_table)

    def _origin(self, path: Place, value: object) -> Origin:
        shown = "auto" if path[-1] == "n_gpu_layers" and value == AUTO_LAYERS else value
        return Origin(_dotted(path), shown, self.named.get(path, "default"))

    def absolute(self, path: str) -> str:
        """Return a path of the settings as an absolute one; "~" is the user's home."""
        return str((self.folder / Path(path).expanduser()).absolute())


def load_settings(source: str | Path | Mapping[str, object] | None = None) -> Loaded:
    """Return the settings of a file, of a mapping of the same form, or (None) of ./squidbot.toml if there is one.

    Raises:
        ConfigError: the file can't be read, a key is unknown, a value has the wrong type or is out of its range.
    """
    if isinstance(source, Mapping):
        return _load(source, "argument", Path.cwd(), {})
    if source is None and not Path(FILE_NAME).is_file():
        return Loaded(Settings(), "default", Path.cwd())
    path = Path(source or FILE_NAME)
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read it: {error.strerror or error} @ {path}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise ConfigError(f"{error} @ {path.name}") from error
    return _load(raw, path.name, path.absolute().parent, lines_of(text))


def _load(given: Mapping[str, object], source: str, folder: Path, lines: Mapping[Place, int]) -> Loaded:
    """Return settings, the layers in this order: what is given, the environment, the profile, the defaults."""
    check_secrets(given, source)
    raw, lines = _copied(given), dict(lines)
    _rename(raw, source, lines)
    _drop_foreign(raw, source, lines)
    places = ((path, line_of(path, lines)) for path, _ in _leaves((), raw))
    named = {path: f"{source}:{line}" if line else source for path, line in places}
    if _found(raw, ("compat", "env")) is True:
        named |= _fill(raw, {path: (value, f"env {name}") for name, path, value in from_environment()})
    raw, of_profile = with_profile(raw, source)
    settings = structured(raw, Settings, source, lines)
    loaded = Loaded(settings, source, folder, named | of_profile)
    _check_prices(loaded)
    return loaded


def with_profile(given: Mapping[str, object], source: str) -> tuple[Raw, dict[Place, str]]:
    """Return settings above those of the profile that they name, and "profile NAME" by each key that it has set.

    Raises:
        ConfigError: there is no such profile; the text ends with the path.
    """
    raw, name = _copied(given), given.get("profile")
    if not isinstance(name, str):
        return raw, {}  # whoever checks types says so
    try:
        profile = profile_of(name)
    except ConfigError as error:
        raise ConfigError(f"{error} @ {source}.profile") from None
    return raw, _fill(raw, {tuple(key.split(".")): (value, f"profile {name}") for key, value in profile.keys.items()})


# -- one mechanism for all layers -------------------------------------------------------------------------------------

_NOTHING = object()


def _copied(raw: Mapping[str, object]) -> Raw:
    return {str(key): _copied(value) if isinstance(value, Mapping) else value for key, value in raw.items()}


def _found(raw: object, path: Iterable[str]) -> object:
    """Return what stands at a path; _NOTHING where nothing does."""
    for name in path:
        if not isinstance(raw, Mapping) or name not in raw:
            return _NOTHING
        raw = raw[name]
    return raw


def _fill(raw: Raw, layer: Mapping[Place, tuple[object, str]]) -> dict[Place, str]:
    """Set what nothing has set yet, and return the origins of what was set."""
    named = {}
    for path, (value, source) in layer.items():
        above = [_found(raw, path[:end]) for end in range(1, len(path))]
        if _found(raw, path) is _NOTHING and all(one is _NOTHING or isinstance(one, dict) for one in above):
            _put(raw, path, value)
            named[path] = source
    return named


def _put(raw: Raw, path: Place, value: object) -> None:
    for name in path[:-1]:
        raw = raw.setdefault(name, {})
    raw[path[-1]] = value


def _rename(raw: Raw, source: str, lines: dict[Place, int]) -> None:
    """Move values under other names to their keys.

    Raises:
        ConfigError: a key is set under both of its names.
    """
    for path, own in ALIASES.items():
        value = _found(raw, path)
        if value is _NOTHING or not isinstance(raw.get(own[0], {}), dict):
            continue
        if _found(raw, own) is not _NOTHING:
            name = own[-1] if own[0] == path[0] else ".".join(own)
            raise ConfigError(
                f"{path[-1]} and {name} are the same setting; keep one @ {source}.{path[0]}{at_line(path, lines)}"
            )
        del raw[path[0]][path[1]]
        _put(raw, own, value)
        lines[own] = lines.get(path, 0)


def _drop_foreign(raw: Raw, source: str, lines: Mapping[Place, int]) -> None:
    """Drop tables of other systems, whose keys were moved.

    Raises:
        ConfigError: one has an unknown key.
    """
    foreign = {path[0] for path in ALIASES} - {one.name for one in dataclasses.fields(Settings)}
    for table in sorted(foreign & raw.keys()):
        if unknown := [*raw[table]] if isinstance(raw[table], dict) else [table]:
            known = ", ".join(path[1] for path in ALIASES if path[0] == table)
            line = at_line((table, unknown[0]), lines)
            raise ConfigError(f"unknown key {unknown[0]}, known: {known} @ {source}.{table}{line}")
        del raw[table]


def _check_prices(loaded: Loaded) -> None:
    """Check that the price table has every entry that is named.

    Raises:
        ConfigError: a line for each one that it has not, with its path.
    """
    wrong = []
    for alias, place in {"": "", **{alias: f".models[{alias!r}]" for alias in loaded.settings.models}}.items():
        try:
            if not alias or loaded.settings.model(alias).prices:
                loaded.prices(alias)
        except ConfigError as error:
            wrong.append(f"{error} @ {loaded.source}{place}.prices")
    if wrong:
        raise ConfigError("\n".join(wrong))


def _leaves(path: Place, value: object) -> Iterator[tuple[Place, object]]:
    """Yield the settings below a value by their paths, in order."""
    if dataclasses.is_dataclass(value):
        pairs = [(one.name, getattr(value, one.name)) for one in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        pairs = [(str(name), below) for name, below in value.items()]
    else:
        yield path, value
        return
    for name, below in pairs:
        yield from _leaves((*path, name), below)


def _dotted(path: Place) -> str:
    return ".".join(name if re.fullmatch(r"[\w-]+", name) else f'"{name}"' for name in path)


# -- lines ------------------------------------------------------------------------------------------------------------


def lines_of(text: str) -> dict[Place, int]:
    """Return by the path of each key of a TOML text the line, from 1, on which it is set, or its table begins."""
    found: dict[Place, int] = {}
    table: Place = ()
    for number, statement in _statements(text):
        said = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = next(iter(_paths((), said)))
            found.setdefault(table, number)
        else:
            found.update((path, number) for path in _paths(table, said))
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield tables' headings, and keys with their whole values, each with the line that it begins on."""
    begun, pending = 0, ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun, pending = (begun, pending + line) if pending else (number, line)
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue  # a value of several lines: it ends where it can be read
        yield begun, pending
        pending = ""


def _paths(above: Place, said: Mapping[str, object]) -> Iterator[Place]:
    """Yield the paths of what is said, the innermost first."""
    for name, value in said.items():
        if isinstance(value, Mapping):
            yield from _paths((*above, name), value)
        yield (*above, name)
