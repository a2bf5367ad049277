"""Fields and their types: what a request may hold, said once for all providers, each of which has its own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
Check: TypeAlias = Callable[[object, Path], None]


class Flaw(Exception):  # noqa: N818  # it becomes an answer
    """Something in a request that may not be there.

    Attributes:
        kind: "missing", "unknown" (a field), "type" or "value".
        path: where.
        expected: the types, or the values, that would do.
        got: what is there.
    """

    def __init__(self, kind: str, path: Path, expected: tuple[str, ...] = (), got: object = None) -> None:
        super().__init__(f"{kind} {path} {expected} {got!r:.80}")
        self.kind = kind
        self.path = path
        self.expected = expected
        self.got = got


def _typed(name: str, *types: type) -> Check:
    def check(value: object, path: Path) -> None:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise Flaw("type", path, (name,), value)

    return check


string = _typed("string", str)
integer = _typed("integer", int)
number = _typed("number", int, float)
boolean = _typed("boolean", bool)
mapping = _typed("object", dict)
array = _typed("array", list)


def anything(_: object, __: Path) -> None:
    """Take any value."""


def optional(check: Check) -> Check:
    """Return a check that takes null, too."""
    return lambda value, path: None if value is None else check(value, path)


def literal(*values: object) -> Check:
    """Return a check for one of some values."""

    def check(value: object, path: Path) -> None:
        if value not in values:
            raise Flaw("value", path, tuple(str(one) for one in values), value)

    return check


def items(check: Check) -> Check:
    """Return a check for a list."""

    def inner(value: object, path: Path) -> None:
        array(value, path)
        assert isinstance(value, list)
        for place, one in enumerate(value):
            check(one, (*path, place))

    return inner


def text_or(check: Check) -> Check:
    """Return a check for a string, or else for what `check` takes."""

    def inner(value: object, path: Path) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, list | dict):
            raise Flaw("type", path, ("string", "array"), value)
        check(value, path)

    return inner


def fields(needed: Mapping[str, Check], allowed: Mapping[str, Check] | None = None, *, open_: bool = False) -> Check:
    """Return a check for an object with these fields; with `open_` any others are taken, too."""
    known = {**needed, **(allowed or {})}

    def check(value: object, path: Path) -> None:
        mapping(value, path)
        assert isinstance(value, dict)
        for name in needed:
            if name not in value:
                raise Flaw("missing", (*path, name))
        for name, inner in value.items():
            if name in known:
                known[name](inner, (*path, name))
            elif not open_:
                raise Flaw("unknown", (*path, name))

    return check


def tagged(kinds: Mapping[str, Check], tag: str = "type", default: str | None = None) -> Check:
    """Return a check for objects of several kinds that a field tells apart; without the field it is the default one."""

    def check(value: object, path: Path) -> None:
        mapping(value, path)
        assert isinstance(value, dict)
        kind = value.get(tag, default)
        if kind is None:
            raise Flaw("missing", (*path, tag))
        if kind not in kinds:
            raise Flaw("value", (*path, tag), tuple(kinds), kind)
        kinds[str(kind)](value, path)

    return check
