"""What a value of squidbot.toml has to be: strict about types and ranges, with the path of what is wrong."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Final, NewType, NoReturn, TypeVar

import attrs
import cattrs

from squidbot.core.arguments import not_in_paths
from squidbot.core.budget import MOST_TOKENS, parse_tokens
from squidbot.core.errors import ConfigError
from squidbot.core.prompts import MODES
from squidbot.core.redaction import Redactor
from squidbot.core.settings import STRATEGIES
from squidbot.model_options import what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "AUTO_LAYERS",
    "KV_TYPES",
    "NO_NAMES",
    "Amount",
    "Api",
    "Day",
    "Extract",
    "File",
    "GpuLayers",
    "Isolated",
    "KvType",
    "Layout",
    "Lifetime",
    "Minutes",
    "Mode",
    "Names",
    "Options",
    "Patterns",
    "Place",
    "Portion",
    "Rule",
    "Scheduler",
    "Scope",
    "Share",
    "Shares",
    "Size",
    "Sizing",
    "Strategy",
    "Tokens",
    "UserMessages",
    "Variable",
    "Verbosity",
    "Whole",
    "meant",
    "structured",
]

Tokens = NewType("Tokens", int)
Size = NewType("Size", int)
Place = NewType("Place", str)
File = NewType("File", str)
# What SQLite calls a store without a file, which squidbot would make a file of.
IN_NO_FILE: Final = ":memory:"
Patterns = NewType("Patterns", tuple[str, ...])
Whole = NewType("Whole", int)
Share = NewType("Share", float)
Portion = NewType("Portion", float)
Amount = NewType("Amount", float)
Lifetime = NewType("Lifetime", float)
Day = NewType("Day", str)
Minutes = NewType("Minutes", float)
Strategy = NewType("Strategy", str)
Scope = NewType("Scope", str)
Rule = NewType("Rule", str)
UserMessages = NewType("UserMessages", str)
Mode = NewType("Mode", str)
Scheduler = NewType("Scheduler", str)
Verbosity = NewType("Verbosity", str)
Layout = NewType("Layout", str)
Names = NewType("Names", tuple[str, ...])
GpuLayers = NewType("GpuLayers", int)
KvType = NewType("KvType", str)
Api = NewType("Api", str)
Variable = NewType("Variable", str)
Options = NewType("Options", dict[str, object])
Isolated = NewType("Isolated", str)
Extract = NewType("Extract", str)
Shares = NewType("Shares", tuple[float, ...])
Sizing = NewType("Sizing", str)

NO_NAMES = Names(())
SCOPES = ("inline+summaries", "inline", "summaries", "none")
USER_MESSAGES = ("graceful", "strict")
# What gives way where the newest messages pass the caps of document 001.
RULES = ("ladder", "squidbot-v2")
# Who reads facts out of sessions.
EXTRACTORS = ("rules", "model", "off")
ISOLATIONS = ("bot", "model", "global", "agent")
# Whether the parts of a request have shares: none, or those of document 004 by tier.
LAYOUTS = ("none", "tiers")
SIZINGS = ("max_safe", "one_tier_below", "manual")
# As llama.cpp names the types of a KV cache.
KV_TYPES = ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
# Of the environment; keys have other characters, or are longer.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
# `n_gpu_layers = "auto"`: as many as fit.
AUTO_LAYERS = GpuLayers(-2)
# Which way a server that speaks like OpenAI is asked; "chat" is chat completions.
APIS = ("chat", "responses")
VERBOSITIES = ("concise", "balanced", "detailed")
SCHEDULERS = ("thread", "apscheduler", "none")
# A year: what a timer of any kind can wait for.
MOST_MINUTES = 525_600
Table = TypeVar("Table")


def structured(raw: Mapping[str, object], table: type[Table], source: str) -> Table:
    """Return the table that `raw` fills.

    Raises:
        ConfigError: a line for each unknown key and each value that is not what its key takes, with its path.
    """
    try:
        return _CONVERTER.structure(raw, table)
    except cattrs.BaseValidationError as error:
        raise ConfigError("\n".join(cattrs.transform_error(error, source, _wrong))) from error


class _RefusedError(ValueError):
    """A value that is not what its key takes; the text says what that is."""


def _of_type(wanted: type, name: str) -> Callable[[object, object], object]:
    """Return what refuses all but one type; a whole number is a number too, but True is none."""
    kinds = (int, float) if wanted is float else (wanted,)

    def check(value: object, _: object) -> object:
        if isinstance(value, bool) != (wanted is bool) or not isinstance(value, kinds):
            raise _RefusedError(f"invalid value for type, expected {name}")
        return value

    return check


def _number(wanted: type, fits: Callable[[float], bool], what: str) -> Callable[[object, object], object]:
    """Return what refuses all but numbers of a type that fit; `what` says which those are."""
    of_type = _of_type(wanted, wanted.__name__)

    def check(value: object, _: object) -> object:
        number = of_type(value, _)
        # Of what is no number nothing is true; TOML has infinity, which few keys take.
        if not isinstance(number, (int, float)) or not fits(number):
            raise _RefusedError(f"must be {what}, not {value}")
        return number

    return check


def _size(least: int) -> Callable[[object, object], object]:
    """Return what takes a number of tokens, at least so many: an int, or a text such as "8k"."""
    of_type = _of_type(int, "int")

    def check(value: object, _: object) -> object:
        try:
            size = parse_tokens(value) if isinstance(value, str) and value != "0" else value
        except ConfigError as error:
            raise _RefusedError(str(error)) from None
        number = of_type(0 if size == "0" else size, _)
        if not isinstance(number, int) or number < least:
            raise _RefusedError(f"must be {'> 0' if least else '>= 0'}, not {value}")
        if number > MOST_TOKENS:
            raise _RefusedError(f"must be at most {MOST_TOKENS}, not {value}")
        return number

    return check


def _place(value: object, _: object) -> str:
    """Return a path that the file system takes, and that is none of SQLite's names for no file."""
    if not isinstance(value, str):
        raise _RefusedError("invalid value for type, expected str")
    if wrong := not_in_paths(value):
        raise _RefusedError(f"is no path, it has {wrong}: {value!a:.60}")
    if value == IN_NO_FILE:
        raise _RefusedError(f"is {IN_NO_FILE!r}, which is no file here; leave the key out to keep it in memory alone")
    return value


def _file(value: object, _: object) -> str:
    place = _place(value, _)
    if not place.strip():
        raise _RefusedError(f"must name a file, not {value!r}; leave the key out to keep sessions in memory alone")
    return place


def _patterns(value: object, _: object) -> tuple[str, ...]:
    """Return what is redacted: words, and regular expressions."""
    patterns = _names(value, _)
    try:
        Redactor(patterns=patterns)
    except ConfigError as error:
        raise _RefusedError(str(error)) from None
    return patterns


def _day(value: object, _: object) -> str:
    """Return a day as YYYY-MM-DD, from a date of TOML or from such a text."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) else _refused_day(value)
    except ValueError:
        return _refused_day(value)


def _refused_day(value: object) -> NoReturn:
    raise _RefusedError(f"must be a day as YYYY-MM-DD, not {value!r:.40}")


def _one_of(names: tuple[str, ...]) -> Callable[[object, object], object]:
    """Return what refuses all but these names."""

    def check(value: object, _: object) -> object:
        if value not in names:
            raise _RefusedError(f"unknown {value!r:.60}, known: {', '.join(names)}")
        return value

    return check


def _names(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise _RefusedError("invalid value for type, expected list of str")
    return tuple(value)


def _gpu_layers(value: object, _: object) -> int:
    """Return a number of layers; "auto" is `AUTO_LAYERS`."""
    if value == "auto":
        return AUTO_LAYERS
    if isinstance(value, bool) or not isinstance(value, int):
        raise _RefusedError('invalid value for type, expected int or "auto"')
    if value < -1:
        raise _RefusedError(f'must be >= 0, -1 (all), or "auto", not {value}')
    return value


def _variable(value: object, _: object) -> str:
    """Return the name of a variable of the environment. What is none may be a secret: it is not repeated."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise _RefusedError(
            "must name a variable of the environment, such as OPENROUTER_API_KEY; the key itself stays out of this file"
        )
    return value


def _options(value: object, _: object) -> dict[str, object]:
    """Return what goes into requests of a model as it is."""
    if not isinstance(value, dict):
        raise _RefusedError("invalid value for type, expected table")
    if wrong := what_is_wrong(value):
        raise _RefusedError(wrong)
    return value


def _shares(value: object, _: object) -> tuple[float, ...]:
    """Return shares of devices; they need not sum to 1."""
    given = value if isinstance(value, (list, tuple)) else (None,)
    shares = tuple(float(one) for one in given if isinstance(one, (int, float)) and not isinstance(one, bool))
    if len(shares) != len(given):
        raise _RefusedError("invalid value for type, expected list of numbers")
    if not all(0 <= share < math.inf for share in shares) or (shares and sum(shares) <= 0):
        raise _RefusedError(f"must be numbers >= 0, one of them above 0, not {value!r:.60}")
    return shares


def meant(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Return a question after the known names that the unknown ones are nearest to; "" where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415  # only who has mistyped waits for it

    every = tuple(known)
    near = [close for one in unknown for close in get_close_matches(one, every, 1)]
    return f"; did you mean {', '.join(near)}?" if near else ""


def _wrong(error: BaseException, _: type | None) -> str:
    """Return what is wrong, in front of its path."""
    if isinstance(error, _RefusedError):
        return str(error)
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        unknown, known = sorted(error.extra_fields), [field.name for field in attrs.fields(error.cl)]
        told = "" if all(meant([one], known) for one in unknown) else f", known: {', '.join(known)}"
        return f"unknown key {', '.join(unknown)}{told}{meant(unknown, known)}"
    return "invalid value for type, expected table"


def _converter() -> cattrs.Converter:
    made = cattrs.Converter(forbid_extra_keys=True)
    for wanted in (int, float, str, bool):
        made.register_structure_hook(wanted, _of_type(wanted, wanted.__name__))
    made.register_structure_hook(Tokens, _size(1))
    made.register_structure_hook(Size, _size(0))
    made.register_structure_hook(Place, _place)
    made.register_structure_hook(File, _file)
    made.register_structure_hook(Patterns, _patterns)
    made.register_structure_hook(Whole, _number(int, lambda number: number >= 0, ">= 0"))
    made.register_structure_hook(Share, _number(float, lambda number: 0 < number <= 1, "above 0 and at most 1"))
    made.register_structure_hook(Portion, _number(float, lambda number: 0 <= number <= 1, "at least 0 and at most 1"))
    made.register_structure_hook(Amount, _number(float, lambda number: 0 <= number < math.inf, ">= 0"))
    made.register_structure_hook(Lifetime, _number(float, lambda number: number >= 0, ">= 0, or inf"))
    made.register_structure_hook(Day, _day)
    in_time = _number(float, lambda number: 0 < number <= MOST_MINUTES, f"above 0 and at most {MOST_MINUTES}")
    made.register_structure_hook(Minutes, in_time)
    made.register_structure_hook(Strategy, _one_of(tuple(STRATEGIES)))
    made.register_structure_hook(Scope, _one_of(SCOPES))
    made.register_structure_hook(Rule, _one_of(RULES))
    made.register_structure_hook(UserMessages, _one_of(USER_MESSAGES))
    made.register_structure_hook(Mode, _one_of(tuple(MODES)))
    made.register_structure_hook(Verbosity, _one_of(VERBOSITIES))
    made.register_structure_hook(Layout, _one_of(LAYOUTS))
    made.register_structure_hook(Scheduler, _one_of(SCHEDULERS))
    made.register_structure_hook(Names, _names)
    made.register_structure_hook(GpuLayers, _gpu_layers)
    made.register_structure_hook(Isolated, _one_of(ISOLATIONS))
    made.register_structure_hook(Extract, _one_of(EXTRACTORS))
    made.register_structure_hook(KvType, _one_of(KV_TYPES))
    made.register_structure_hook(Api, _one_of(APIS))
    made.register_structure_hook(Variable, _variable)
    made.register_structure_hook(Options, _options)
    made.register_structure_hook(Shares, _shares)
    made.register_structure_hook(Sizing, _one_of(SIZINGS))
    return made


_CONVERTER = _converter()
