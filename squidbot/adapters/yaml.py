"""YAML of notes and context folders: plain values only, read as YAML 1.2, by PyYAML.

| in a file                          | becomes                                              |
|------------------------------------|------------------------------------------------------|
| `true`, `false`; `null`, `~`, nothing | truths; None                                      |
| `7`, `-7`; `7.5`, `1e3`            | numbers; `007`, `7_000`, `12:30`, `.inf` are texts    |
| `yes`, `on`, `2026-11-22`          | texts: YAML 1.1 takes them for truths and days        |
| keys                               | texts, as they stand                                  |

Tags, repeated keys, and `&` with `*` are refused: a file of ten lines could be gigabytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import yaml

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Plain", "read", "write"]

# A file's possible values.
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

_TAG: Final = "tag:yaml.org,2002:"
_NULL, _BOOL, _INT, _FLOAT, _STR = (f"{_TAG}{name}" for name in ("null", "bool", "int", "float", "str"))
_SCALARS: Final[dict[str, tuple[str, str]]] = {
    _NULL: (r"(?:~|null|Null|NULL|)", "~nN\0"),
    _BOOL: (r"(?:true|True|TRUE|false|False|FALSE)", "tTfF"),
    _INT: (r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    _FLOAT: (r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?", "-+0123456789."),
}
_MADE: Final[dict[str, Callable[[str], Plain]]] = {
    _NULL: lambda _: None,
    _BOOL: lambda text: text.lower() == "true",
    _INT: int,
    _FLOAT: float,
    _STR: str,
}
# A text of several lines is written as lines if that loses nothing.
_INK: Final = r"!-~\xa1-\u1fff\u2030-\u2fef\u3001-\ud7ff"
# Each character can match in one way only: no text, however odd, takes longer than its length.
_LINES: Final = re.compile(rf"(?=[{_INK}])(?:[{_INK}\n]++|\x20++(?=[{_INK}])|(?!))*+\Z")
_ENDS: Final = re.compile("[\n\r\x85\u2028\u2029]")
_COLUMNS: Final = 120
# PyYAML's patterns of numbers and times see this much of a text, and a longer text that begins like one is quoted: they
# are linear, but the memory of a match on 1 MB outgrows the caches.
_PLAIN_CHARS: Final = 200
_NUMBERS_BEGIN: Final = "-+.0123456789"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it brings no types
    """Knows the words of YAML 1.2, and no more."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[object]]] = {}


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # as above
    """Quotes texts that either version would read as something else."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[object]]] = {
        key: [*each] for key, each in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # of no value: what is the same twice is written twice
        return True

    def resolve(self, kind: type[yaml.Node], value: object, implicit: tuple[bool, bool]) -> object:
        """Return the tag that a reader would give a value, by its first characters."""
        return super().resolve(kind, value[:_PLAIN_CHARS] if isinstance(value, str) else value, implicit)


for _tag, (_pattern, _first) in _SCALARS.items():
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), [*_first.replace("\0", ""), ""])


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _ENDS.search(text):  # quoted, with all others written plainly
        style = "|" if _LINES.match(text) else '"'
    elif len(text) > _PLAIN_CHARS and text[0] in _NUMBERS_BEGIN:
        style = '"'
    return dumper.represent_scalar(_STR, text, style=style)


_Dumper.add_representer(str, _text)


def read(text: str, place: str) -> Plain:
    """Return the value of a YAML text; `None` for an empty one. Errors call the text `place`.

    Raises:
        ConfigError: it is invalid YAML, or more than plain values; with the line.
    """
    try:
        node = yaml.compose(_without_aliases(text, place), Loader=_Loader)
        return None if node is None else _value(node, place)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{place}{line}: no YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: no YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise ConfigError(f"{place}: nested too deep") from error


def write(value: Plain) -> str:
    """Return a value in YAML; texts of several lines as lines, keys in their order. `read` restores it.

    Raises:
        ValueError: it has something else than plain values, or an infinite or undefined number.
    """
    try:
        return str(yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_COLUMNS))
    except yaml.YAMLError as error:
        raise ValueError(f"no plain value for YAML: {error}") from error


def _without_aliases(text: str, place: str) -> str:
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1
            raise ConfigError(f"{place}, line {line}: what is named by & and repeated by * is not read; write it out")
    return text


def _value(node: yaml.Node, place: str) -> Plain:
    if isinstance(node, yaml.ScalarNode):
        make = _MADE.get(node.tag)
        if make is not None:
            try:
                return make(node.value)
            except ValueError as error:
                raise _refused(node, place, f"{node.value:.20} is no {node.tag.removeprefix(_TAG)}") from error
    elif isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
        return [_value(one, place) for one in node.value]
    elif isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
        return _mapping(node, place)
    raise _refused(node, place, f"{node.tag:.60} is no plain value")


def _mapping(node: yaml.MappingNode, place: str) -> dict[str, Plain]:
    mapping: dict[str, Plain] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _refused(key, place, "a key has to be a text")
        if key.value in mapping:
            raise _refused(key, place, f"the key {key.value:.60} stands twice")
        mapping[key.value] = _value(value, place)
    return mapping


def _refused(node: yaml.Node, place: str, why: str) -> ConfigError:
    return ConfigError(f"{place}, line {node.start_mark.line + 1}: {why}")
