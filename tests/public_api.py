"""The public API as text: what stands on the pages below docs/api, as the code has it.

`uv run python -m tests.public_api` records it in tests/public_api.txt.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import squidbot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "public_api.txt"
_DIRECTIVE = re.compile(r"^\.\. (?:py:|auto)(class|exception|function|data):: (\S+)$")
_OPTION = re.compile(r"^   :([\w-]+):(.*)$")
# In a docstring, an attribute or several with their text.
_ATTRIBUTES = re.compile(r"^    ((?:\w+(?:, )?)+): ", re.MULTILINE)
# An object without a text of its own, such as a function that is a default.
_ADDRESS = re.compile(r"<(?:factory|[^<>]* at 0x[0-9a-f]+)>")


class PublicName(NamedTuple):
    """A name on a page of the API: the import that users write, with the members that the page shows.

    Attributes:
        kind: "class", "exception", "function" or "data".
        path: the dotted name.
        members: the shown members; None for all that have a docstring.
        excluded: those that are left out; with `__init__`, users get the object from a call.
        inherits: whether members of base classes are shown, too.
    """

    kind: str
    path: str
    members: frozenset[str] | None
    excluded: frozenset[str]
    inherits: bool

    @property
    def value(self) -> Any:  # noqa: ANN401  # anything may be public
        """The object itself."""
        module, _, name = self.path.rpartition(".")
        return resolve_name(f"{module}:{name}")


def public_names() -> list[PublicName]:
    """Return the names of all pages of the API, page by page."""
    return [name for page in sorted((ROOT / "docs" / "api").glob("*.md")) for name in _names_on(page)]


def _names_on(page: Path) -> Iterator[PublicName]:
    lines = page.read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        if found := _DIRECTIVE.match(line):
            options = {}
            for following in lines[at + 1 :]:
                option = _OPTION.match(following)
                if option is None:
                    break
                options[option[1]] = frozenset(option[2].replace(",", " ").split())
            members = options.get("members", frozenset(["-"])) or None
            excluded = options.get("exclude-members", frozenset())
            yield PublicName(found[1], found[2], members, excluded, "inherited-members" in options)


def recorded(names: Iterable[PublicName]) -> str:
    """Return names as text: a line for each name, attribute and method; fields in their order, all else sorted."""
    return "".join(f"{line}\n" for name in sorted(names, key=lambda name: name.path) for line in _lines(name))


def _lines(name: PublicName) -> Iterator[str]:
    value = name.value
    if name.kind == "function":
        yield f"{name.path}{_signature(value)}"
    elif name.kind == "data":
        yield f"{name.path} = {_shown(value)}"
    else:
        own = [kind for kind in value.__mro__ if kind.__module__.startswith("squidbot")]
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"{name.path}({bases})" if name.kind == "exception" else name.path
        yield from _members(name, value, own)


def _members(name: PublicName, value: type, own: list[type]) -> Iterator[str]:
    fields = fields_of(value)
    for field, text in fields.items():
        if field not in name.excluded:
            yield f"{name.path}.{text}"
    for attribute in sorted(documented(value) - {*fields, *name.excluded} - {*dir(value)}):
        yield f"{name.path}.{attribute}"  # of an object: only its docstring names it
    if not fields and "__init__" not in name.excluded and any("__init__" in vars(kind) for kind in own):
        yield f"{name.path}.__init__{_signature(value.__init__)}"  # type: ignore[misc]  # of this very class
    found = {
        member: given for kind in reversed(own if name.inherits else own[:1]) for member, given in vars(kind).items()
    }
    for member in sorted(found):
        is_shown = name.members is None or member in name.members
        if is_shown and not member.startswith("_") and member not in {*name.excluded, *fields}:
            yield from _member(f"{name.path}.{member}", found[member])


def documented(kind: type) -> set[str]:
    """Return the attributes that the docstring of a class names in its section for them."""
    section = (inspect.getdoc(kind) or "").partition("\nAttributes:\n")[2].partition("\nRaises:\n")[0]
    return {word for line in _ATTRIBUTES.findall(section) for word in line.split(", ")}


def _member(path: str, given: object) -> Iterator[str]:
    """Yield the line of a method, a property, or a member of an enumeration; none of one without a docstring."""
    if isinstance(given, enum.Enum):
        yield f"{path} = {given.value!r}"
    elif isinstance(given, (classmethod, staticmethod)):
        yield f"{path}{_signature(given.__func__)}"
    elif inspect.isfunction(given) and given.__doc__:
        yield f"{path}{_signature(given)}"
    elif (getter := getattr(given, "fget", None) or getattr(given, "func", None)) and getter.__doc__:
        yield f"{path}: {_type(inspect.signature(getter).return_annotation)}"


def fields_of(kind: type) -> dict[str, str]:
    """Return the fields of a NamedTuple or a dataclass, each with its type and its default."""
    made = vars(kind).get("__init__")
    if made is not None and made.__doc__:
        return {}  # a subclass of a host's dataclass, with arguments of its own
    defaults: dict[str, object] = getattr(kind, "_field_defaults", {})
    if dataclasses.is_dataclass(kind):
        given = dataclasses.fields(kind)
        types = {field.name: field.type for field in given}
        defaults = {field.name: field.default for field in given if field.default is not dataclasses.MISSING}
        defaults |= {field.name: ... for field in given if field.default_factory is not dataclasses.MISSING}
    else:
        types = {field: kind.__annotations__[field] for field in getattr(kind, "_fields", ())}
    return {
        name: f"{name}: {_type(written)}" + (f" = {_shown(defaults[name])}" if name in defaults else "")
        for name, written in types.items()
        if not name.startswith("_")
    }


def _signature(function: Any) -> str:  # noqa: ANN401  # a function, decorated or not
    signature = inspect.signature(function)
    parameters = [
        one.replace(annotation=_Text(_type(one.annotation)) if one.annotation is not one.empty else one.empty)
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    made = str(signature.replace(parameters=[one.replace(default=_default(one)) for one in parameters]))
    kind = "async " if inspect.iscoroutinefunction(function) else ""
    return f"{kind and ' '}{kind}{made.partition(' -> ')[0]} -> {_type(signature.return_annotation)}"


class _Text:
    """A text that stands in a signature as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _default(one: inspect.Parameter) -> object:
    return one.empty if one.default is one.empty else _Text(_shown(one.default))


def _type(written: object) -> str:
    """Return an annotation as the code has it."""
    if isinstance(written, str):
        return written
    return getattr(written, "__forward_arg__", None) or getattr(written, "__name__", None) or repr(written)


def _shown(value: object) -> str:
    """Return a value as text that is the same in every process."""
    if isinstance(value, dict):
        return f"{{{', '.join(repr(key) for key in value)}}}"
    if value is ...:
        return "..."
    if value == squidbot.NOBODY:
        return "NOBODY"
    if isinstance(value, type) or inspect.isfunction(value):
        return value.__name__.replace("<lambda>", "...")
    return _ADDRESS.sub("...", repr(value))


if __name__ == "__main__":
    RECORD.write_text(recorded(public_names()), encoding="utf-8")
