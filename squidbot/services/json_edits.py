"""Adds a value to a JSON text, and takes it out again; every other byte stays, comments and trailing commas too.

`removed` is the inverse of `added`, without notes beside the text. So the text itself has to say what squidbot made: a
value in an object or list that had others begins on a line of its own, and so does all in one that squidbot made; what
goes into an empty one stands right behind its bracket.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPACE: Final = " \t\r\n"
# One that does not end goes up to the end of all, so that no place is read twice.
_TEXT: Final = r'"[^"\\]*+(?:\\.[^"\\]*+|(?!))*+(?:"|\\?\Z)'
_COMMENT: Final = re.compile(rf"{_TEXT}|//[^\r\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_TEXT}|,(?=[ \t\r\n]*+[}}\]])", re.DOTALL)
_TOKEN: Final = re.compile(rf"{_TEXT}|[{{}}\[\],:]", re.DOTALL)
_VISIBLE: Final = re.compile(r"[^\r\n]")
_INDENT: Final = re.compile(r"^[ \t]+(?=[^ \t\r\n])", re.MULTILINE)
_BOM: Final = "\ufeff"


class JsonItem(NamedTuple):
    """A value in an object or a list, by places in the text: from the key (else the value) up to behind the value.

    `comma` is the place of the comma behind it, `None` for none.
    """

    key: str | None
    start: int
    value: int
    end: int
    comma: int | None


class JsonSource:
    """A text in JSON, with or without comments, whose values have places.

    Attributes:
        text: the text.
        value: what it says; numbers are floats.
    """

    def __init__(self, text: str, name: str) -> None:
        """Read a text; `name` is that of its file, for errors.

        Raises:
            ConfigError: it is not JSON, or no object.
        """
        self.text, self._name = text, name
        # Of the same length, so that places are the same in both.
        self._bare = _COMMENT.sub(_blank, text) if "//" in text or "/*" in text else text
        if self._bare.startswith(_BOM):
            self._bare = f" {self._bare[1:]}"
        try:
            strict = _LAST_COMMA.sub(lambda found: " " if found[0] == "," else found[0], self._bare)
            self.value = json.loads(strict, parse_int=float, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            raise ConfigError(
                f"{name}:{error.lineno}: it is not JSON ({error.msg}); mend it, or move the file away"
            ) from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{name}: it is not JSON ({error}); mend it, or move the file away") from error
        self._root = len(self._bare) - len(self._bare.lstrip(_SPACE))
        if not isinstance(self.value, dict):
            self._stop(self._root, "the file", "an object")

    def added(self, path: Sequence[str], key: str | None, value: object) -> str:
        """Return the text with a value more: `key` of the object at `path`; `None`: at the end of the list there.

        What is missing on the path is made. The key must not be there.

        Raises:
            ConfigError: on the path stands something else than an object, or than a list at its end.
        """
        opening = self._root
        for depth, name in enumerate(path):
            found = next((item for item in reversed(self._items(opening)[0]) if item.key == name), None)
            if found is None:
                below = [value] if key is None else {key: value}
                for inner in reversed(path[depth + 1 :]):
                    below = {inner: below}
                return self._inserted(opening, name, below)
            is_list = key is None and depth == len(path) - 1
            opening = found.value
            if self._bare[opening] != ("[" if is_list else "{"):
                self._stop(opening, ".".join(path[: depth + 1]), "a list" if is_list else "an object")
        return self._inserted(opening, key, value)

    def removed(self, path: Sequence[str | int]) -> str | None:
        """Return the text without the value at `path`, and without what squidbot made around it.

        `None`: nothing is left, squidbot made the file. The value must be there.
        """
        steps, opening = [], self._root
        for name in path:
            items, closing = self._items(opening)
            where = name if isinstance(name, int) else max(at for at, item in enumerate(items) if item.key == name)
            steps.append((opening, items, closing, where))
            opening = items[where].value
        while self._is_ours(*steps[-1]):
            if len(steps) == 1:
                around = self.text[: self._root] + self.text[steps[0][2] + 1 :]
                if not around.strip(_SPACE):
                    return None
                break
            steps.pop()
        return self._without(*steps[-1])

    def _items(self, opening: int) -> tuple[list[JsonItem], int]:
        """Return what stands directly in the object or list that begins there, and the place of its last bracket."""
        items: list[JsonItem] = []
        depth, begin, colon = 0, opening + 1, -1
        for token in _TOKEN.finditer(self._bare, opening + 1):
            sign, place = token[0], token.start()
            if depth == 0 and sign in ",}]":
                self._take(items, begin, colon, place, has_comma=sign == ",")
                if sign != ",":
                    return items, place
                begin, colon = place + 1, -1
            elif sign == ":":
                colon = place if depth == 0 and colon < 0 else colon
            elif sign in "{[":
                depth += 1
            elif sign in "}]":
                depth -= 1
        raise AssertionError("the text was read as JSON before")

    def _take(self, items: list[JsonItem], begin: int, colon: int, end: int, *, has_comma: bool) -> None:
        """Add the item between two places; only behind a last comma there is none."""
        part = self._bare[begin:end]
        if not part.strip(_SPACE):
            if has_comma:
                self._stop(end, "the comma", "gone: no value is in front of it")
            return
        start = begin + len(part) - len(part.lstrip(_SPACE))
        behind = begin + len(part.rstrip(_SPACE))
        value, key = start, None
        if colon >= 0:
            key = json.loads(self._bare[start:colon])
            rest = self._bare[colon + 1 : behind]
            value = behind - len(rest.lstrip(_SPACE))
        items.append(JsonItem(key, start, value, behind, end if has_comma else None))

    def _inserted(self, opening: int, key: str | None, value: object) -> str:
        """Return the text with a value at the end of an object or a list."""
        text, (items, closing) = self.text, self._items(opening)
        newline = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
        found = _INDENT.search(self._bare)
        unit = found[0] if found else "  "
        indent = self._line_indent(items[-1].start if items else opening)
        if not items or not self._begins_line(items[-1].start):
            indent += unit
        shown = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)
        if key is not None:
            shown = f"{json.dumps(key, ensure_ascii=False)}: {shown}"
        if not items:
            return f"{text[: opening + 1]}{shown}{text[opening + 1 :]}"
        shown, last = f"{newline}{indent}{shown}", items[-1]
        if last.comma is None:
            place = self._behind_comments(last.end, closing)
            return f"{text[: last.end]},{text[last.end : place]}{shown}{text[place:]}"
        place = self._behind_comments(last.comma + 1, closing)
        return f"{text[:place]}{shown},{text[place:]}"

    def _without(self, opening: int, items: list[JsonItem], _: int, where: int) -> str:
        """Return the text without an item, its comma, and the space and comma that came with it."""
        text, item = self.text, items[where]
        behind = item.end if item.comma is None else item.comma + 1
        if len(items) == 1:
            return text[: item.start] + text[behind:]
        before = (items[where - 1].comma or opening) if where else opening
        place = self._behind_comments(before + 1, item.start)
        if item.comma is None:
            return text[:before] + text[before + 1 : place] + text[behind:]
        return text[:place] + text[behind:]

    def _is_ours(self, opening: int, items: list[JsonItem], closing: int, _: int) -> bool:
        """Return whether an object or a list has nothing but this item, and squidbot made it."""
        if len(items) > 1:
            return False
        inside = self.text[opening + 1 : items[0].start] + self.text[items[0].end : closing]
        begins_line = "\n" in self.text[opening + 1 : items[0].start]
        return begins_line and not inside.strip(f"{_SPACE},")

    def _behind_comments(self, begin: int, end: int) -> int:
        """Return the place behind the last comment between two places; without one, the first place."""
        while end > begin and self.text[end - 1] == self._bare[end - 1]:
            end -= 1
        return end

    def _begins_line(self, place: int) -> bool:
        line = self.text[self.text.rfind("\n", 0, place) + 1 : place]
        return place > 0 and "\n" in self.text[:place] and not line.strip(_SPACE)

    def _line_indent(self, place: int) -> str:
        """Return the space in front of the line of a place."""
        line = self._bare[self._bare.rfind("\n", 0, place) + 1 : place + 1]
        return line[: len(line) - len(line.lstrip(" \t"))] if self._bare[:place].count("\n") else ""

    def _stop(self, place: int, what: str, must: str) -> NoReturn:
        line = self.text.count("\n", 0, place) + 1
        raise ConfigError(f"{self._name}:{line}: {what} has to be {must}; mend it, or move the file away")


def made(path: Sequence[str], key: str | None, value: object) -> str:
    """Return the text of a new file with one value, which stands where `JsonSource.added` would put it."""
    below: Any = [value] if key is None else {key: value}
    for name in reversed(path):
        below = {name: below}
    return json.dumps(below, indent=2, ensure_ascii=False) + "\n"


def _blank(found: re.Match[str]) -> str:
    """Return spaces for a comment, on as many lines; a text in quotes as it is."""
    return found[0] if found[0].startswith('"') else _VISIBLE.sub(" ", found[0])


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value")
