"""Checks of the arguments of public calls; errors name the argument."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import chain, repeat
from numbers import Integral, Real
from typing import TYPE_CHECKING, Final, ParamSpec, TypeAlias, TypeVar, get_args

from squidbot.core.budget import read_tokens
from squidbot.core.errors import ArgumentError, ConfigError
from squidbot.core.messages import Category, Message, Role, StoredMessage, ToolCall

if TYPE_CHECKING:
    from collections.abc import Collection


Given = ParamSpec("Given")
Value = TypeVar("Value")
# Takes a name and a value, and returns the value as it is meant; raises ArgumentError.
Check: TypeAlias = Callable[[str, object], object]

# The end of the year 9999.
LAST_SECOND: Final = 253_402_300_799
# What any counter of ours, and every store, can hold.
MOST: Final = 10**15
ROLES: Final[tuple[str, ...]] = get_args(Role)
MOST_ID_CHARS: Final = 1024
_MESSAGE: Final = re.compile(r"[\s\[(`'\"]*m([0-9]{1,15})[\s\])`'\"]*\Z")


def refused(name: str, value: object, wanted: str, hint: str = "") -> ArgumentError:
    """Return the error of a wrong argument: its name, what it must be, and what it is."""
    shown = f"{value!a:.60}" if isinstance(value, str | int | float | bytes | None) else f"a {type(value).__name__}"
    return ArgumentError(f"{name} must be {wanted}, not {shown}{hint}")


def takes(**checks: Check) -> Callable[[Callable[Given, Value]], Callable[Given, Value]]:
    """Check these arguments before each call, and pass what the checks return.

    Omitted arguments are not checked. Those of `*name` are checked one by one.
    """

    def decorated(act: Callable[Given, Value]) -> Callable[Given, Value]:
        parameters = signature(act).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]
        rest = next((parameter.name for parameter in parameters if parameter.kind is Parameter.VAR_POSITIONAL), "")
        # Most calls pass no checked argument by position.
        first = min((place for place, name in enumerate((*names, rest)) if name in checks), default=math.inf)

        @wraps(act)
        def checked(*args: Given.args, **kwargs: Given.kwargs) -> Value:
            placed = zip(chain(names, repeat(rest)), args, strict=False)
            given = args if len(args) <= first else [_checked(checks, name, value) for name, value in placed]
            passed = {name: _checked(checks, name, value) for name, value in kwargs.items()}
            return act(*given, **passed)  # type: ignore[arg-type]  # as they came, or as the checks return them

        return checked

    return decorated


def _checked(checks: Mapping[str, Check], name: str, value: object) -> object:
    return checks[name](name, value) if name in checks else value


def optional(check: Check) -> Check:
    """Return a check that lets None pass."""
    return partial(_optional, check)


def _optional(check: Check, name: str, value: object) -> object:
    return None if value is None else check(name, value)


def text(name: str, value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise refused(name, value, "a string")
    return value


def flag(name: str, value: object) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise refused(name, value, "True or False")
    return value


def timestamp(name: str, value: object) -> float | None:
    """Return a time in seconds since 1970, as a float; None stays None."""
    if value is None:
        return None
    if type(value) is float and 0 <= value <= LAST_SECOND:  # what nearly all give, once for each call
        return value
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= LAST_SECOND:
        late = isinstance(value, Real) and LAST_SECOND < float(value) < math.inf
        hint = "; did you pass milliseconds?" if late else ""
        raise refused(name, value, "seconds since 1970, such as time.time(), up to the year 9999", hint)
    return float(value)


def duration(name: str, value: object) -> float:
    """Return a number of seconds, 0 or more; infinity is one."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise refused(name, value, "a number of seconds, 0 or more")
    return float(value)


def path(name: str, value: object) -> object:
    """Return the path of a file or a folder."""
    spelled = value if isinstance(value, str) or not hasattr(value, "__fspath__") else value.__fspath__()
    if not isinstance(spelled, str) or not_in_paths(spelled):
        raise refused(name, value, "a path")
    return value


def not_in_paths(spelled: str) -> str:
    """Return the kind of characters in a text that no file system takes in a path; "" for none."""
    if "\0" in spelled:
        return "a null character"
    try:
        spelled.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "a lone surrogate"
    return ""


def anything(name: str, value: object) -> object:
    """Return any value."""
    del name
    return value


def a_timestamp(name: str, value: object) -> float | None:
    """Return a time as `timestamp` does; None is none."""
    if value is None:
        raise refused(name, value, "seconds since 1970, such as time.time()")
    return timestamp(name, value)


def whole(least: int, most: int = MOST) -> Check:
    """Return a check for whole numbers from `least` to `most`."""
    return partial(_whole, least, most)


def _whole(least: int, most: int, name: str, value: object) -> int:
    if type(value) is int and least <= value <= most:  # as in `moment`
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise refused(name, value, f"a whole number, {least:,} to {most:,}")
    return int(value)


def of_message(name: str, value: object) -> int:
    """Return the seq of a message: a number from 0, or its id as requests and commands show it, "m3"."""
    if isinstance(value, str) and (found := _MESSAGE.match(value)):
        return int(found[1])
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) <= MOST:
        raise refused(name, value, 'a message: its number (from 0) or its id, such as "m3"')
    return int(value)


def tokens(name: str, value: object) -> int:
    """Return a number of tokens, given as one or as a text such as "32k"."""
    try:
        return read_tokens(value, name)
    except ConfigError:
        raise refused(name, value, 'a whole number of tokens, above 0, such as 32000 or "32k"') from None


def an_id(name: str, value: object) -> str:
    """Return the id of a session: a string that every store can hold."""
    if not isinstance(value, str) or not 1 <= len(value) <= MOST_ID_CHARS:
        raise refused(name, value, f"a string of 1 to {MOST_ID_CHARS:,} characters, such as 'support/42'")
    return value


# Of any size: the caller checks the range.
number: Final = whole(-MOST)


def mapping(name: str, value: object) -> Mapping[str, object]:
    """Return a mapping with texts as keys."""
    if type(value) is dict and {*map(type, value)} <= {str}:  # as in `moment`
        return value
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise refused(name, value, "a dict with string keys")
    return value


def items(check: Check, wanted: str) -> Check:
    """Return a check for a list of values that each pass `check`; a string is not a list."""
    return partial(_items, check, wanted)


def _items(check: Check, wanted: str, name: str, value: object) -> list[object]:
    if type(value) is not list and (isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)):
        raise refused(name, value, wanted)
    given = [*value]
    try:
        return [check(name, item) for item in given]
    except ArgumentError:  # then it is worth saying which
        return [check(f"{name}[{place}]", item) for place, item in enumerate(given)]


def instance(*kinds: type, called: str) -> Check:
    """Return a check for values of these classes; `called` is what they are in words."""
    return partial(_instance, kinds, called)


def _instance(kinds: tuple[type, ...], called: str, name: str, value: object) -> object:
    if not isinstance(value, kinds):
        raise refused(name, value, called)
    return value


# Made once: each message that comes and goes passes them.
_MESSAGES: Final = instance(Message, StoredMessage, called="a message")
_CATEGORIES: Final = instance(Category, called="a Category")
_CALLS: Final = items(instance(ToolCall, called="a ToolCall"), "tool calls")
_RESULTS: Final = items(text, "ids of calls")
_TEXTS: Final = tuple((name, f"the message's {name}") for name in ("role", "payload", "codec", "sender"))


def check_message(message: Message | StoredMessage, codecs: Collection[str]) -> None:
    """Check a message of our own classes, which anybody can make: that it can be counted, stored and read back.

    Raises:
        ArgumentError: a field is not what it has to be.
    """
    _MESSAGES("said", message)
    for name, called in _TEXTS:
        text(called, getattr(message, name))
    if message.role not in ROLES:
        raise refused("the message's role", message.role, f"one of {', '.join(ROLES)}")
    if message.codec not in codecs:
        raise refused("the message's codec", message.codec, f"one of {', '.join(codecs)}")
    timestamp("the message's time", message.time)
    _CATEGORIES("the message's category", message.category)
    if isinstance(message, Message):
        text("the message's text", message.text)
        _CALLS("the message's calls", message.calls)
        _RESULTS("the message's results", message.results)


def parts(kind: type, called: str, **checks: Check) -> Check:
    """Return a check for values of a class, whose fields of these names pass checks of their own."""
    return partial(_parts, kind, called, checks)


def _parts(kind: type, called: str, checks: Mapping[str, Check], name: str, value: object) -> object:
    _instance((kind,), called, name, value)
    for field, check in checks.items():
        check(f"{name}.{field}", getattr(value, field))
    return value
