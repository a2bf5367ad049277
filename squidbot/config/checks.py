"""The types of settings: their values and units, how to read them, and the errors of wrong values."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

from squidbot.adapters.common.options import what_is_wrong
from squidbot.core.arguments import not_in_paths
from squidbot.core.budget import MOST_TOKENS, Sizing, parse_tokens
from squidbot.core.errors import ConfigError
from squidbot.core.redaction import Redactor

Table = TypeVar("Table")
# The names of tables, then of a key.
Place = tuple[str, ...]
# The keys that stand in no table.
AT_TOP: Final = ("profile", "prices", "observers", "extensions")


def is_a(kind: type, name: str) -> Callable[[object], Any]:
    """Return a check for values of one type: a whole number is a number, too; True is not."""
    kinds = (int, float) if kind is float else (kind,)

    def check(value: object) -> object:
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, kinds):
            raise ValueError(f"must be {name}, not {value!a:.60}")
        return value

    return check


PLAIN: Final[Mapping[object, Callable[[object], Any]]] = {
    int: is_a(int, "a whole number"),
    float: is_a(float, "a number"),
    str: is_a(str, "a string"),
    bool: is_a(bool, "true or false"),
}


def number(kind: type, fits: Callable[[float], bool], what: str) -> Callable[[object], Any]:
    """Return a check for numbers that fit; `what` describes these in errors."""

    def check(value: object) -> object:
        if not fits(PLAIN[kind](value)):  # no comparison holds for a NaN
            raise ValueError(f"must be {what}, not {value}")
        return value

    return check


def tokens(least: int) -> Callable[[object], Any]:
    """Return a check for token counts, which may be written as "8k"."""

    def check(value: object) -> object:
        size = 0 if value == "0" else parse_tokens(value) if isinstance(value, str) else PLAIN[int](value)
        if size < least:
            raise ValueError(f"must be {'>' if least else '>='} 0, not {value}")
        if size > MOST_TOKENS:
            raise ValueError(f"must be at most {MOST_TOKENS}, not {value}")
        return size

    return check


def a_path(value: object) -> object:
    """Refuse invalid paths, and SQLite's name for a store in memory."""
    if wrong := not_in_paths(PLAIN[str](value)):
        raise ValueError(f"is not a path, it has {wrong}: {value!a:.60}")
    if value == ":memory:":
        raise ValueError("must be a file name, not ':memory:'; remove the key to keep sessions in memory")
    return value


def a_url(value: object) -> object:
    """Refuse what is no address of a server, and passwords in its options: files are copied and shown."""
    url = str(PLAIN[str](value)).strip()
    scheme, _, rest = url.partition("://")
    if not rest or not scheme.isascii() or not scheme.replace("+", "").isalnum():
        raise ValueError("must be an address, such as postgresql://USER@HOST/DATABASE")
    if "+" in scheme or scheme == "postgres":
        raise ValueError(f"must begin with postgresql://, not {scheme}://")
    if "password=" in url.partition("?")[2].lower():
        raise ValueError("holds a password: set PGPASSWORD, or write it into ~/.pgpass")
    return url


def a_schema(value: object) -> object:
    """Refuse names that PostgreSQL takes in quotes only."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", str(PLAIN[str](value))):
        raise ValueError("must be a name of a-z, 0-9 and _, at most 63 characters")
    return value


def an_embedder(value: object) -> object:
    """Refuse the names that a Python package of other systems loads; squidbot runs an export of the same model."""
    name = PLAIN[str](value)
    if str(name).startswith("sentence-transformers/"):
        raise ValueError(
            f"cannot load {name!r:.80} by its name: download its ONNX export into a folder as docs/memory.md shows, "
            'and write embedder = "onnxruntime:FOLDER"'
        )
    return name


def a_file(value: object) -> object:
    """Refuse paths without a file name."""
    if not str(a_path(value)).strip():
        raise ValueError(f"must name a file, not {value!r}; remove the key to keep sessions in memory")
    if str(value).startswith(("postgresql://", "postgres://")):
        raise ValueError("must name a file: write the address of a database into url instead")
    return value


def a_log(value: object) -> object:
    """Return the file of the turn log; true means `debug_turn.txt`."""
    text = str(value).strip().lower()
    if text in {"1", "true", "yes", "on"}:
        return "debug_turn.txt"
    return "" if text in {"", "0", "false", "no", "off"} else str(a_path(value)).strip()


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"must be a list of strings, not {value!a:.60}")
    return tuple(value)


def patterns(value: object) -> tuple[str, ...]:
    """Refuse invalid regular expressions."""
    Redactor(patterns=texts(value))
    return texts(value)


def a_day(value: object) -> str:
    """Return a day as YYYY-MM-DD, from a TOML date or from such a text."""
    try:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value.isoformat()
        return date.fromisoformat(str(value) if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise ValueError(f"must be a day as YYYY-MM-DD, not {value!r:.40}") from None


def gpu_layers(value: object) -> int:
    """Return a number of layers; "auto" is AUTO_LAYERS."""
    if value == "auto":
        return AUTO_LAYERS
    if isinstance(value, bool) or not isinstance(value, int) or value < -1:
        raise ValueError(f'must be a number of layers, -1 (all), or "auto", not {value!a:.60}')
    return value


def a_variable(value: object) -> str:
    """Refuse an invalid name of an environment variable. It may be a secret, so the error does not repeat it."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", value):
        raise ValueError(
            "must be the name of an environment variable, such as OPENROUTER_API_KEY, never the key itself"
        )
    return value


def a_table(value: object) -> Mapping[Any, object]:
    """Refuse values that are not tables."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table, not {value!a:.60}")  # noqa: TRY004  # all checks raise the same
    return value


def request_options(value: object) -> object:
    """Refuse options that would break a conversation."""
    if wrong := what_is_wrong(dict(a_table(value))):
        raise ValueError(wrong)
    return value


def shares(value: object) -> tuple[float, ...]:
    """Return shares of devices; they need not sum to 1."""
    given = value if isinstance(value, list | tuple) else (None,)
    numbers = tuple(float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool))
    if len(numbers) != len(given):
        raise ValueError(f"must be a list of numbers, not {value!a:.60}")
    if not all(0 <= one < math.inf for one in numbers) or (numbers and sum(numbers) <= 0):
        raise ValueError(f"must be numbers >= 0, one of them above 0, not {value!r:.60}")
    return numbers


def word_or_switch(kind: object, on: str, off: str) -> Callable[[object], Any]:
    """Return a check for the words of a Literal; true is the word `on`, false is `off`."""

    def check(value: object) -> object:
        try:
            return one_of(kind, {True: on, False: off}[value] if isinstance(value, bool) else value)
        except ValueError as error:
            raise ValueError(f"{error}, true ({on}), false ({off})") from None

    return check


def an_adapter(value: object) -> object:
    """Return the name of an adapter: "gguf" is the one that opens such files."""
    return {"gguf": "llama_cpp"}.get(said := str(PLAIN[str](value)), said)


def one_of(kind: object, value: object) -> object:
    """Refuse values other than the words of a Literal."""
    if value not in get_args(kind):
        raise ValueError(f"unknown {value!r:.60}, known: {', '.join(get_args(kind))}")
    return value


# `n_gpu_layers = "auto"`: as many as fit.
AUTO_LAYERS: Final = -2
# A year: any timer can wait this long.
MOST_MINUTES = 525_600

# Each type: the type of its value, the check that reads it, and its unit. A check returns the value; it raises a
# ValueError or ConfigError that says what is wrong.
at_least_0 = number(float, lambda one: 0 <= one < math.inf, ">= 0")
whole_from_0 = number(int, lambda one: one >= 0, ">= 0")
Tokens = Annotated[int, tokens(1), "tokens"]
TokensOrZero = Annotated[int, tokens(0), "tokens"]
Count = Annotated[int, whole_from_0]
MiB = Annotated[int, whole_from_0, "MiB"]
Bytes = Annotated[int, whole_from_0, "bytes"]
Fraction = Annotated[float, number(float, lambda one: 0 <= one <= 1, "at least 0 and at most 1"), "fraction"]
Share = Annotated[float, number(float, lambda one: 0 < one <= 1, "above 0 and at most 1"), "fraction"]
Amount = Annotated[float, at_least_0]
Seconds = Annotated[float, at_least_0, "seconds"]
Hours = Annotated[float, at_least_0, "hours"]
Days = Annotated[float, at_least_0, "days"]
Lifetime = Annotated[float, number(float, lambda one: one >= 0, ">= 0, or inf"), "seconds"]
Minutes = Annotated[
    float, number(float, lambda one: 0 < one <= MOST_MINUTES, f"above 0 and at most {MOST_MINUTES}"), "minutes"
]
FilePath = Annotated[str, a_path]
StoreFile = Annotated[str, a_file]
StoreUrl = Annotated[str, a_url]
SchemaName = Annotated[str, a_schema]
Connections = Annotated[int, number(int, lambda one: one > 0, "> 0")]
LogFile = Annotated[str, a_log]
Names = Annotated[tuple[str, ...], texts]
Patterns = Annotated[tuple[str, ...], patterns]
Day = Annotated[str, a_day]
Variable = Annotated[str, a_variable]
Vectors = Annotated[str, an_embedder]
Layers = Annotated[int, gpu_layers]
Shares = Annotated[tuple[float, ...], shares]
Options = Annotated[dict[str, object], request_options]
# What a plain switch means: size the window with a tier in reserve; quantize the cache with the least loss.
Sized = Annotated[Sizing, word_or_switch(Sizing, "one_tier_below", "manual")]
AdapterName = Annotated[str, an_adapter]
KvType = Literal["f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]  # as llama.cpp names them
CacheType = Annotated[KvType, word_or_switch(KvType, "q8_0", "f16")]
Mode = Literal["developer", "planning", "assistant", "debugger"]

# -- reading values ----------------------------------------------------------------------------------------------------


def structured(raw: object, table: type[Table], source: str, lines: Mapping[Place, int] | None = None) -> Table:
    """Return a table with the values of `raw`.

    Raises:
        ConfigError: a line for each unknown key and each wrong value, with its path.
    """
    wrong: list[tuple[Place, str]] = []
    made = read_value(table, raw, ((), source), wrong)
    if wrong:
        raise ConfigError("\n".join(f"{text}{at_line(path, lines or {})}" for path, text in wrong))
    return made  # type: ignore[no-any-return]  # `read_value` returns what the type says


def read_value(kind: Any, value: object, at: tuple[Place, str], wrong: list[tuple[Place, str]]) -> Any:  # noqa: ANN401
    """Return a value converted to its type; add errors, with their paths, to `wrong`."""
    path, place = at
    if value is None and kind is not inner(kind):
        return None
    kind, origin = inner(kind), get_origin(inner(kind))
    try:
        if origin is dict:
            below = get_args(kind)[1]
            return {
                str(name): read_value(below, one, ((*path, str(name)), f"{place}[{name!r}]"), wrong)
                for name, one in a_table(value).items()
            }
        if dataclasses.is_dataclass(kind):
            return _read_table(kind, a_table(value), at, wrong)
        if origin is Annotated:
            return kind.__metadata__[0](value)
        return one_of(kind, value) if origin is Literal else PLAIN[kind](value)
    except (ValueError, ConfigError) as error:
        wrong.append((path, f"{error} @ {place}"))
        return None


def _read_table(kind: Any, value: Mapping[str, object], at: tuple[Place, str], wrong: list[tuple[Place, str]]) -> Any:  # noqa: ANN401
    path, place = at
    kinds, before = {field.name: field.type for field in dataclasses.fields(kind)}, len(wrong)
    if unknown := sorted(value.keys() - kinds):
        others = [one for one in unknown if not path or one not in AT_TOP]
        text = "" if all(meant([one], kinds) for one in others) else f", known: {', '.join(kinds)}"
        misplaced = ", ".join(one for one in unknown if one not in others)
        where = f"; put {misplaced} at the top of the file, above the first [table]" if misplaced else ""
        sentence = f"unknown key {', '.join(unknown)}{text}{meant(others, kinds)}{where}"
        wrong.append(((*path, unknown[0]), f"{sentence} @ {place}"))
    given = {
        name: read_value(one, value[name], ((*path, name), f"{place}.{name}"), wrong)
        for name, one in kinds.items()
        if name in value
    }
    return kind(**given) if len(wrong) == before else None


def meant(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Return a suggestion with the known names nearest to the unknown ones; "" if none is near."""
    every = tuple(known)
    near = [close for one in unknown for close in get_close_matches(one, every, 1)]
    return f"; did you mean {', '.join(near)}?" if near else ""


def line_of(path: Place, lines: Mapping[Place, int]) -> int:
    """Return the line of a key, or of the table or the one word that sets it; 0 for none."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)


def at_line(path: Place, lines: Mapping[Place, int]) -> str:
    """Return the place of a key, as the end of an error; "" without lines."""
    line = line_of(path, lines)
    return f" (line {line})" if line else ""


def inner(kind: Any) -> Any:  # noqa: ANN401  # a type has no type that mypy knows
    """Return a type without "or None"."""
    args = get_args(kind)
    return args[0] if type(None) in args else kind
