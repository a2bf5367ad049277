"""Loads squidbot.toml: each error names the key, its line and the right values; each value knows its origin."""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.common.packages import missing
from squidbot.config.checks import AUTO_LAYERS, Place, at_line, line_of, structured
from squidbot.config.environment import check_secrets, from_environment
from squidbot.config.presets import entry_of, profile_of
from squidbot.config.schema import TIERS, BudgetTable, Settings, keys_of
from squidbot.core.cached import cached_property
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.config.schema import PriceEntry

FILE_NAME = "squidbot.toml"
# The variable with the address of the database server.
STORE_URL = "SQUIDBOT_STORE_URL"
Raw = dict[str, Any]

# Other names of keys: their paths, and the keys they stand for.
ALIASES = {
    tuple(alias.split(".")) if "." in alias else (*key.path[:-1], alias): key.path
    for key in keys_of(Settings)
    for alias in key.field.metadata["alias"].split()
}
CAPS = [field.name for field in dataclasses.fields(BudgetTable) if field.name.startswith("context_")]
# The system that the caps come from has them in a table `agents`.
ALIASES |= {("agents", name): ("budget", name) for name in CAPS}


# The folder and the file of facts, as another system names them.
_FOLDER: Place = ("memory", "storage_path")
_FILE: Place = ("memory", "providers", "sqlite", "database_file")


class Origin(NamedTuple):
    """One setting, and where its value comes from.

    Attributes:
        key: its dotted name, such as "store.path".
        value: its value.
        source: `FILE:LINE`, `env NAME`, `profile NAME`, `argument` or `default`.
    """

    key: str
    value: object
    source: str

    @property
    def tier(self) -> str:
        """Its subject: "job" for the engine as a whole, "physical" for a model, "policy" for a conversation."""
        return next(tier for tier, tables in TIERS.items() if self.key.partition(".")[0] in tables)


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Settings, and their sources.

    Attributes:
        settings: the values.
        source: the name of the file, "argument", or "default" without either.
        folder: the base of relative paths: the file's folder, else the current one.
        named: the source of each set key, as `Origin.source`; "extension NAME", too.
    """

    settings: Settings
    source: str
    folder: Path
    named: dict[Place, str] = dataclasses.field(default_factory=dict)

    @cached_property
    def policy(self) -> bool:
        """Whether the caps on history and total apply: as `budget.policy` says, else if any cap is set."""
        if self.settings.budget.policy is not None:
            return self.settings.budget.policy
        return any(self.sets("budget", name) for name in CAPS)

    def sets(self, *path: str) -> bool:
        """Return whether a key is set."""
        return path in self.named

    def learned(self, alias: str, keys: Iterable[str], source: str) -> None:
        """Return the same with the source of a model's new keys."""
        self.named.update({("models", alias, key): source for key in keys})

    def changed(self, **tables: Mapping[str, object]) -> Loaded:
        """Return the same with other values: `changed(store={"path": "a.db"})`."""
        made: Raw = {name: dataclasses.replace(getattr(self.settings, name), **keys) for name, keys in tables.items()}
        return dataclasses.replace(self, settings=dataclasses.replace(self.settings, **made))

    def origins(self) -> list[Origin]:
        """Return each setting with its value and source, in the order of `Settings`."""
        return [self._origin(path, value) for path, value in _leaves((), self.settings)]

    def prices(self, alias: str = "") -> PriceEntry:
        """Return the token prices of a model."""
        return entry_of(self.settings.model(alias).prices or self.settings.prices, self.settings.price_table)

    def _origin(self, path: Place, value: object) -> Origin:
        shown = "auto" if path[-1] == "n_gpu_layers" and value == AUTO_LAYERS else value
        return Origin(_dotted(path), shown, self.named.get(path, "default"))

    @property
    def store_url(self) -> str:
        """The address of the database server that keeps sessions; "" for none.

        That of the variable SQUIDBOT_STORE_URL, where the settings name no store. It may hold a password.
        """
        store = self.settings.store
        return store.url or ("" if store.path or store.adapter else os.environ.get(STORE_URL, ""))

    @property
    def store_place(self) -> str:
        """Where sessions are kept, for people: a file, or an address without its password; "" for in memory."""
        store, url = self.settings.store, self.store_url
        if store.path and not url:
            return self.absolute(store.path)
        scheme, separator, rest = url.partition("://")
        login, at, host = rest.partition("?")[0].rpartition("@")
        return f"{scheme}{separator}{login.partition(':')[0]}{at}{host}"

    def absolute(self, path: str) -> str:
        """Return a path of the settings as an absolute path; "~" is the user's home."""
        return str((self.folder / Path(path).expanduser()).absolute())


def load_settings(source: str | Path | Mapping[str, object] | None = None) -> Loaded:
    """Return the settings of a file, of a mapping of the same form, or (None) of ./squidbot.toml if there is one.

    Raises:
        ConfigError: the file can't be read, a key is unknown, or a value has the wrong type or is out of range.
    """
    if isinstance(source, Mapping):
        return _load(source, "argument", Path.cwd(), {})
    if source is None and not Path(FILE_NAME).is_file():
        return Loaded(Settings(), "default", Path.cwd())
    path = Path(source or FILE_NAME)
    folder = path.absolute().parent
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() in {".yaml", ".yml"}:
            return _load(_from_yaml(text, path.name), path.name, folder, {})
        raw = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read it: {error.strerror or error} @ {path}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise ConfigError(f"{error} @ {path.name}") from error
    return _load(raw, path.name, folder, lines_of(text))


def _from_yaml(text: str, name: str) -> Raw:
    """Return the tables of settings in YAML: the same keys as in TOML.

    Raises:
        ConfigError: it is no YAML, or no tables, or the extra `yaml` is not installed.
    """
    try:
        from squidbot.adapters.yaml import read  # noqa: PLC0415  # an optional package
    except ImportError as error:
        raise ConfigError(f"settings in YAML: {missing('yaml')}; or write TOML @ {name}") from error
    tables = read(text, name)
    if not isinstance(tables, dict):
        raise ConfigError(f"must be tables of settings, not {tables!a:.60} @ {name}")
    return tables


def _load(given: Mapping[str, object], source: str, folder: Path, lines: Mapping[Place, int]) -> Loaded:
    """Return settings from these layers, in order: the given values, the environment, the profile, the defaults."""
    check_secrets(given, source)
    raw, lines = _copied(given), dict(lines)
    _join_memory_file(raw, source, lines)
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
    """Return settings completed by the profile that they name, and "profile NAME" for each key that it sets.

    Raises:
        ConfigError: there is no such profile; the text ends with the path.
    """
    raw, name = _copied(given), given.get("profile")
    if not isinstance(name, str):
        return raw, {}  # the check of types reports it
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
    """Return the value at a path; _NOTHING without one."""
    for name in path:
        if not isinstance(raw, Mapping) or name not in raw:
            return _NOTHING
        raw = raw[name]
    return raw


def _fill(raw: Raw, layer: Mapping[Place, tuple[object, str]]) -> dict[Place, str]:
    """Set the keys that are not set yet, and return their origins."""
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
    """Move values from other names to their keys.

    Raises:
        ConfigError: a key is set under two names, or another name stands in no table.
    """
    tables = {path[-1]: ".".join(path) for path in reversed(ALIASES)}
    for name in raw.keys() & tables:
        raise ConfigError(f"unknown key {name}; did you mean {tables[name]}? @ {source}{at_line((name,), lines)}")
    for path, own in _aliases(raw):
        value = _found(raw, path)
        if value is _NOTHING or not isinstance(raw.get(own[0], {}), dict):
            continue
        if _found(raw, own) is not _NOTHING:
            name = own[-1] if own[0] == path[0] else ".".join(own)
            raise ConfigError(
                f"{path[-1]} and {name} are the same setting; keep one @ {source}.{path[0]}{at_line(path, lines)}"
            )
        del _found(raw, path[:-1])[path[-1]]  # type: ignore[attr-defined]  # a table, as it has the value
        _put(raw, own, value)
        lines[own] = lines.get(path, 0)


def _aliases(raw: Raw) -> Iterator[tuple[Place, Place]]:
    """Yield each other name and its key, with the models that are named in the place of "<alias>"."""
    models = raw.get("models")
    for path, own in ALIASES.items():
        if "<alias>" not in path:
            yield path, own
        elif isinstance(models, dict):
            yield from (((path[0], name, path[2]), (own[0], name, own[2])) for name in models)


def _join_memory_file(raw: Raw, source: str, lines: dict[Place, int]) -> None:
    """Make `memory.path` of a folder and a file's name, which other systems set apart; and "sqlite" is `sqlite3`.

    Raises:
        ConfigError: `memory.path` is set, too, or the folder is a placeholder that only another system fills in.
    """
    memory = raw.get("memory")
    if not isinstance(memory, dict):
        return
    if memory.get("provider") == "sqlite":
        memory["provider"] = "sqlite3"
    found = [path for path in (_FOLDER, _FILE) if _found(raw, path) is not _NOTHING]
    if not found:
        return
    for path in found:
        if why := _no_part_of_a_path(_found(raw, path)):
            raise ConfigError(f"{why} @ {source}.{_dotted(path)}{at_line(path, lines)}")
    if "path" in memory:
        at = f"@ {source}.memory{at_line(found[0], lines)}"
        raise ConfigError(f"{found[0][-1]} and path are the same setting; keep path {at}")
    folder, file = memory.pop("storage_path", "memory_db"), "penguin_memory.db"
    if _FILE in found:
        file = memory["providers"]["sqlite"].pop("database_file")
    if memory.get("providers") in ({}, {"sqlite": {}}):
        del memory["providers"]
    memory["path"] = (Path(folder) / file).as_posix()
    lines["memory", "path"] = line_of(found[0], lines)


def _no_part_of_a_path(value: object) -> str:
    """Return why a value is no folder and no file; "" if it may be one."""
    if not isinstance(value, str) or not value.strip():
        return f"must be a path, not {value!a:.60}"
    return f"squidbot fills in no placeholders: write the folder itself, not {value!a:.60}" if "${" in value else ""


def _drop_foreign(raw: Raw, source: str, lines: Mapping[Place, int]) -> None:
    """Drop tables of other systems, whose keys were moved.

    Raises:
        ConfigError: one has an unknown key.
    """
    foreign = {path[0] for path in ALIASES} - {field.name for field in dataclasses.fields(Settings)}
    for table in sorted(foreign & raw.keys()):
        if unknown := [*raw[table]] if isinstance(raw[table], dict) else [table]:
            known = ", ".join(path[1] for path in ALIASES if path[0] == table)
            line = at_line((table, unknown[0]), lines)
            raise ConfigError(f"unknown key {unknown[0]}, known: {known} @ {source}.{table}{line}")
        del raw[table]


def _check_prices(loaded: Loaded) -> None:
    """Check that the price table has all named entries.

    Raises:
        ConfigError: a line for each missing entry, with its path.
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
        pairs = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
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
    """Return by path the line, from 1, on which each key of a TOML text is set, or its table begins."""
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
    """Yield tables' headings, and keys with their whole values, each with its first line."""
    begun, pending = 0, ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun, pending = (begun, pending + line) if pending else (number, line)
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue  # a value of several lines ends where it can be parsed
        yield begun, pending
        pending = ""


def _paths(above: Place, said: Mapping[str, object]) -> Iterator[Place]:
    """Yield the paths of a statement, the innermost first."""
    for name, value in said.items():
        if isinstance(value, Mapping):
            yield from _paths((*above, name), value)
        yield (*above, name)
