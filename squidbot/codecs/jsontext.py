"""JSON text with precise errors, able to hold any str: all codecs read and write it."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import cast

from squidbot.core.text import read_iso_time

__all__ = [
    "DEEPEST_LEVELS",
    "JsonTextError",
    "Rewriter",
    "dumped",
    "parse",
    "seconds",
    "stamp_alone",
    "utf8_bytes",
    "write",
]

# Python's own reader gives up at about 1,000 levels, less its caller's frames. Tool arguments stay far below this; a
# fixed number gives every caller the same answer.
DEEPEST_LEVELS = 200

# Seconds since 1970 pass this in the year 5138; milliseconds passed it in 1973.
_MILLISECONDS_FROM = 1e11
# The year 9999 in milliseconds, the last one that Python reads in ISO 8601.
_LAST_TIME = 253_402_300_800_000


class JsonTextError(ValueError):
    """A text is not JSON that every reader accepts.

    Attributes:
        line, column: the place, both from 1; `None` if unknown.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Take the error text, and the line and column from 1 if known."""
        super().__init__(message)
        self.line = line
        self.column = column


def parse(text: str) -> object:
    """Return the value of a JSON text.

    NaN, Infinity and numbers too large for a double are refused: RFC 8259 has no such values, and a provider would
    refuse the request with them. Integers of up to 4,300 digits, Python's own limit, are exact.

    Raises:
        JsonTextError: the text is not JSON, or is nested deeper than DEEPEST_LEVELS.
    """
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(f"broken JSON: {error.msg}", error.lineno, error.colno) from error
    except RecursionError as error:
        raise JsonTextError(f"nested deeper than {DEEPEST_LEVELS} levels") from error
    except JsonTextError:
        raise
    except ValueError as error:
        raise JsonTextError("an integer of more than 4300 digits; write it as a string") from error
    # Each level has a bracket: most texts have fewer brackets than allowed levels.
    if text.count("[") + text.count("{") > DEEPEST_LEVELS:
        _refuse_depth(value)
    return value


def _refuse_constant(name: str) -> float:
    raise JsonTextError(f"{name} is not JSON; write null or a string")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JsonTextError(f"the number {digits[:40]} is too large; write it as a string")
    return number


# What the streams of OpenAI's and Anthropic's SDKs add to what the provider sent, which refuses it: what they have
# parsed, and the place of a call.
_PARSED = frozenset({"parsed", "parsed_arguments", "parsed_output"})
# A stream of OpenAI's SDK that calls nothing says so by `None`, as some servers do.
_NO_CALLS = frozenset({"tool_calls", "function_call"})


def dumped(value: object) -> dict[str, object] | None:
    """Return the dict of an object's `to_dict()` or `model_dump()`; `None` without either, or without a dict.

    Objects of OpenAI's and Anthropic's SDKs have both, and the former returns what the provider sent. The latter has a
    `None` for each unset field, which providers refuse: those are dropped, except a `None` as content. So is what the
    SDKs have parsed of an answer.
    """
    if isinstance(value, type):
        return None
    for name in ("to_dict", "model_dump"):
        tell = getattr(value, name, None)
        try:
            told = tell() if callable(tell) else None
        except TypeError:  # it needs arguments: another method of that name
            continue
        if isinstance(told, Mapping):
            bare = name == "model_dump"
            return _unparsed(
                {str(key): one for key, one in told.items() if one is not None or not bare or key == "content"}
            )
    return None


def _unparsed(told: dict[str, object], added: AbstractSet[str] = _PARSED) -> dict[str, object]:
    return {
        key: _without_parsed(key, value)
        for key, value in told.items()
        if key not in added and not (value is None and key in _NO_CALLS)
    }


def _without_parsed(key: str, value: object) -> object:
    if isinstance(value, dict):
        return _unparsed(value) if key == "function" else value
    if isinstance(value, list) and key in {"content", "tool_calls", "output"}:
        added = _PARSED | {"index"} if key == "tool_calls" else _PARSED
        return [_unparsed(one, added) if isinstance(one, dict) else one for one in value]
    return value


def _plain(value: object) -> dict[str, object]:
    """Return a dict for an object without a form in JSON.

    Raises:
        TypeError: it has no form as a dict.
    """
    if (told := dumped(value)) is None:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return told


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)


def _refuse_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST_LEVELS + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise JsonTextError(f"nested deeper than {DEEPEST_LEVELS} levels")


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    if isinstance(value, list):
        return [inner for inner in value if isinstance(inner, dict | list)]
    return []


def write(value: object) -> str:
    """Return a value as JSON text, keys in their own order, always the same for equal values.

    The text can always be encoded as UTF-8: characters stay as they are, unless there is a lone surrogate; then all
    that is not ASCII is escaped. Objects are written as their `dumped` dict.

    Raises:
        ValueError: the value holds a NaN or an infinity, or something without a form in JSON, or is nested too deep.
    """
    try:
        text = _ENCODER.encode(value)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no JSON can be made of it: {error}") from error
    return text


class Rewriter:
    """Writes a value that rarely changes, such as the tools of a request.

    The check for a change takes a tenth of the time of writing.
    """

    def __init__(self) -> None:
        """Start without a text."""
        self._text = ""
        self._value: object = None

    def write(self, value: object) -> str:
        """Return a value as JSON text, as `write` does.

        1, 1.0 and True count as equal here, and so do keys in any order: if a value differs in nothing else, the former
        text is returned.

        Raises:
            ValueError: the value has no JSON form; see `write`.
        """
        # The kept value is read from the text: a caller may change its own and pass the same object again.
        if not self._text or value != self._value:
            self._text = write(value)
            self._value = json.loads(self._text)
        return self._text


def utf8_bytes(text: str) -> int:
    """Return the length of a text in UTF-8, in bytes; a lone surrogate counts the 3 bytes it would take."""
    return len(text.encode("utf-8", "surrogatepass"))


def seconds(stamp: object) -> float | None:
    """Return a point in time in seconds since 1970; `None` for `None`.

    A str is ISO 8601; without an offset it is read as UTC, so that every machine reads the same. A number is seconds,
    or milliseconds above 1e11.

    Raises:
        ValueError: it is neither, or lies beyond the year 9999.
    """
    if stamp is None:
        return None
    if isinstance(stamp, str):
        return _iso_seconds(stamp)
    if isinstance(stamp, bool) or not isinstance(stamp, int | float) or not -_LAST_TIME <= stamp <= _LAST_TIME:
        raise ValueError(f"timestamp {stamp!r:.40} is not a time; write ISO 8601 or seconds since 1970")
    number = float(stamp)
    return number / 1000 if abs(number) > _MILLISECONDS_FROM else number


def stamp_alone(stamp: object) -> str | int | float | None:
    """Return the bare point in time, which `seconds` reads as the same; `None` if it is none."""
    try:
        seconds(stamp)
    except ValueError:
        return None
    # Python's reader accepts any character between date and time, so the result is written again.
    return dt.datetime.fromisoformat(stamp).isoformat() if isinstance(stamp, str) else cast("int | float | None", stamp)


def _iso_seconds(stamp: str) -> float:
    try:
        return read_iso_time(stamp)
    except ValueError as error:
        raise ValueError(f"timestamp {stamp[:40]!r} is not ISO 8601, such as 2025-03-01T09:00:00Z") from error
