"""What of a text belongs together: paragraphs, lists, code, tables; and the headings that each stands under."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Block", "Kind", "markdown", "paragraphs", "yaml"]

Kind = Literal["text", "list", "code", "table", "front"]

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?")
_CLOSING: Final = re.compile(r"(?:\A|[ \t])#+\Z")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|(?:-[ \t]*+){3,}+)")
_FENCE: Final = re.compile(r" {0,8}(?:[-*+>] +)?(`{3,}|~{3,})([^`]*)")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_TABLE: Final = re.compile(r"[ \t]*\|")
_KEY: Final = re.compile(r"(?:- |[^\s#\-][^:]*:(?:\s|\Z)|---)")
_TITLE: Final = re.compile(r"^title[^\S\n]*+[:=](.+)", re.MULTILINE | re.IGNORECASE)
_FRONTS: Final = ("---", "+++")
_MARKUP: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^\[)\n]*\)|[`*]+|<[^<>\n]*>")
MOST_NAME_CHARS, MOST_HEADING_CHARS = 500, 120


class Block(NamedTuple):
    """Lines that belong together, and the headings above them, outermost first."""

    text: str
    headings: tuple[str, ...]
    kind: Kind = "text"


def markdown(text: str) -> list[Block]:
    """Return the blocks of Markdown: paragraphs, items of lists with what is indented below, code in fences, tables.

    A heading with nothing below it is one, too.
    """
    return list(_Reader(text.split("\n")).blocks())


def paragraphs(text: str) -> list[Block]:
    """Return what blank lines part."""
    return [Block(part.strip("\n"), ()) for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def yaml(text: str) -> list[Block]:
    """Return the entries of YAML that begin at the margin, with what is indented below each."""
    entries: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _KEY.match(line):
            entries.append([])
        if line.strip() and line.strip() not in {"---", "..."}:
            entries[-1].append(line.rstrip())
    return [Block("\n".join(lines), ()) for lines in entries if lines]


class _Reader:
    """Reads Markdown once, from its first line to its last."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._above: list[tuple[int, str]] = []
        self._is_bare = False  # nothing has come below the last heading

    def blocks(self) -> Iterator[Block]:
        yield from self._front()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            heading = _HEADING.fullmatch(line)
            if heading:
                yield from self._enter(len(heading[1]), heading[2] or "")
                self._at += 1
            elif not line.strip() or _UNDERLINE.fullmatch(line) or _RULE.fullmatch(line):
                self._at += 1
            elif _FENCE.match(line):
                yield self._block(self._fenced(), "code")
            elif _TABLE.match(line):
                yield self._block(self._while(lambda each: bool(_TABLE.match(each))), "table")
            elif _ITEM.match(line):
                yield self._block(self._item(), "list")
            else:
                yield from self._paragraph()
        yield from self._enter(0, "")

    def _block(self, lines: list[str], kind: Kind = "text") -> Block:
        text = "\n".join(each.rstrip() for each in lines).strip("\n")
        self._is_bare = self._is_bare and not any(map(str.isalnum, text))
        return Block(text, tuple(name for _, name in self._above), kind)

    def _enter(self, level: int, name: str) -> Iterator[Block]:
        """Stand under another heading; yield the one before it where that has nothing below it."""
        if self._is_bare and self._above and self._above[-1][0] >= level:
            last = self._above.pop()
            yield self._block([last[1]])
        self._above = [each for each in self._above if each[0] < level]
        cut = _CLOSING.sub("", name.strip()[:MOST_NAME_CHARS])
        plain = " ".join(_MARKUP.sub(lambda found: found[1] or "", cut).split())[:MOST_HEADING_CHARS]
        if plain:
            self._above.append((level, plain))
            self._is_bare = True

    def _front(self) -> Iterator[Block]:
        """Yield what stands before the text between two lines of dashes; its title is above all."""
        mark = self._lines[0].rstrip()
        if mark not in _FRONTS:
            return
        end = next((at for at, line in enumerate(self._lines[1:], 1) if line.rstrip() == mark), 0)
        if not end or any(not line.strip() for line in self._lines[1:end]):
            return
        said = "\n".join(self._lines[1:end])
        title = _TITLE.search(said)
        if title:
            yield from self._enter(0, title[1].strip().strip("\"'"))
        self._at = end + 1
        yield self._block([said], "front")

    def _fenced(self) -> list[str]:
        opened = _FENCE.match(self._lines[self._at])
        mark = opened[1] if opened else "```"
        start = self._at
        self._at += 1
        while self._at < len(self._lines):
            inner = self._lines[self._at].strip().lstrip("> ")
            self._at += 1
            if inner.startswith(mark) and not inner.strip(mark[0]):
                break
        return self._lines[start : self._at]

    def _while(self, belongs: Callable[[str], bool]) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and belongs(self._lines[self._at]):
            self._at += 1
        return self._lines[start : self._at]

    def _item(self) -> list[str]:
        """Return an item of a list, with what is indented below it."""
        start = self._at
        indent = _indent(self._lines[start])
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if _FENCE.match(line) and _indent(line) > indent:
                self._fenced()
                continue
            if not line.strip():
                if self._indent_behind() <= indent:
                    break
            elif _HEADING.fullmatch(line) or (_ITEM.match(line) and _indent(line) <= indent):
                break
            self._at += 1
        return self._lines[start : self._at]

    def _indent_behind(self) -> int:
        """Return how far the next line that says something is indented; 0 for none."""
        at = self._at
        while at < len(self._lines) and not self._lines[at].strip():
            at += 1
        return _indent(self._lines[at]) if at < len(self._lines) else 0

    def _paragraph(self) -> Iterator[Block]:
        lines = self._while(lambda each: bool(each.strip()) and not self._begins(each))
        under = _UNDERLINE.fullmatch(self._lines[self._at]) if self._at < len(self._lines) else None
        if under:
            *lines, name = lines
            if lines:
                yield self._block(lines)
            yield from self._enter(1 if under[1][0] == "=" else 2, name.strip())
            self._at += 1
        else:
            yield self._block(lines)

    def _begins(self, line: str) -> bool:
        """Say whether something else than a paragraph begins at a line."""
        if _UNDERLINE.fullmatch(line):
            return True
        return any(each.match(line) for each in (_FENCE, _TABLE, _ITEM)) or _HEADING.fullmatch(line) is not None


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
