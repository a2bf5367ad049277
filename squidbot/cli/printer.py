"""Text for people: at most as wide as the terminal, coloured only there, and free of control characters."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from squidbot.cli.texts import line, lines
from squidbot.core.text import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

T = TypeVar("T")

# The width of a page in a pipe or a file.
PIPE_COLUMNS = 100
# Lines longer than this are hard to read; a wider terminal keeps a margin.
MOST_COLUMNS = 140
# The limit on a text that is not shown whole.
MOST_LINES = 8
MOST_CHARS = 800
# Blanks between the columns of a table.
CELL_GAP = 2
# A longer word in a table may break over lines.
MOST_WORD_CHARS = 16
# Table cells to align right, as numbers: "1,234", "12.5 %".
_FIGURE = re.compile(r"-?[0-9][0-9,.]*(?: %)?")


class Printer:
    """One page of text, printed at once by `print`."""

    def __init__(self) -> None:
        """Get the width of the terminal, if there is one."""
        console = Console(highlight=False, markup=False, emoji=False)
        self.columns = max(40, min(MOST_COLUMNS, console.width)) if sys.stdout.isatty() else PIPE_COLUMNS
        self._console = Console(highlight=False, markup=False, emoji=False, width=self.columns)
        self._lines: list[str] = []

    def say(self, text: str, style: str = "", indent: str = "") -> None:
        """Add a sentence, folded between words."""
        pieces, room = [line(text)], self.columns - len(indent)
        if cell_len(pieces[0]) > room:
            pieces = [piece.plain.rstrip() for piece in Text(pieces[0]).wrap(self._console, room)]
        for piece in pieces:
            # Most lines are plain, and rich is slow.
            if style and self._console.is_terminal:
                self._render(Text(indent + piece, style=style, no_wrap=True))
            else:
                self._lines.append(indent + piece)

    def heading(self, text: str, style: str = "bold") -> None:
        """Add an emphasized line."""
        self.say(text, style)

    def section(self, title: str, lines: Iterable[str]) -> None:
        """Add lines below a title, and an empty one; a line that begins with blanks is a detail, and dim."""
        self.heading(title)
        for text in lines:
            detail = len(text) - len(text.lstrip(" "))
            self.say(text.lstrip(" "), "dim" if detail else "", " " * (2 + detail))
        self.blank()

    def blank(self) -> None:
        """Add an empty line."""
        self._lines.append("")

    def apart(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items, with an empty line between what you add for each."""
        for number, item in enumerate(items):
            if number:
                self.blank()
            yield item

    def rule(self, text: str) -> None:
        """Add a line across the page, with a text in it."""
        sentence = f"── {line(text)} "
        self.say(f"{sentence}{'─' * max(2, self.columns - cell_len(sentence))}", "bold")

    def body(
        self, text: str, *, whole: bool = False, indent: str = "  ", style: str = "", most_lines: int = MOST_LINES
    ) -> None:
        """Add a stored text, indented and folded; unless `whole`, only its beginning and the length of the rest."""
        head = text if whole else "\n".join(text[:MOST_CHARS].splitlines()[:most_lines])
        is_cut = not whole and (len(text) > MOST_CHARS or len(text.splitlines()) > most_lines)
        for one in lines(head):
            self.say(one, style, indent)
        if is_cut:
            self.say(f"… {len(text) - len(head):,} of {len(text):,} characters more", "dim", indent)

    def pairs(self, rows: Iterable[tuple[str, str]], indent: str = "", style: str = "bold") -> None:
        """Add names with their meaning; leave out names without a text."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True, style=style)
        grid.add_column(overflow="fold", style="" if style == "bold" else style)
        for name, text in rows:
            if text:
                grid.add_row(Text(f"{indent}{line(name)}"), Text(line(text)))
        self._render(grid)

    def numbers(self, rows: Iterable[tuple[str, int, str]]) -> None:
        """Add numbers, each between its name and its meaning."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, justify="right")
        grid.add_column(overflow="fold", style="dim")
        for name, number, text in rows:
            grid.add_row(Text(f"  {line(name)}"), f"{number:,}", Text(line(text)))
        self._render(grid)

    def fits(self, rows: Sequence[Mapping[str, object]]) -> bool:
        """Return whether no cell of a table would break over lines."""
        widths = (max(cell_len(line(cell(text))) for text in (name, *(row[name] for row in rows))) for name in rows[0])
        return sum(widths) + CELL_GAP * (len(rows[0]) - 1) <= self.columns

    def table(
        self, rows: Sequence[Mapping[str, object]], indent: str = "", bold: Sequence[bool] = (), whole: str = ""
    ) -> None:
        """Add a table; the keys of a row are its columns.

        Number columns are right-aligned; others are left-aligned and may fold. `None` is a dash. `bold` emphasizes
        rows; the column `whole` does not fold.
        """
        table = Table(box=None, padding=(0, CELL_GAP, 0, 0), pad_edge=False, header_style="bold")
        for name in rows[0] if rows else ():
            is_number = any(_FIGURE.fullmatch(cell(row[name])) for row in rows)
            is_whole = is_number or name == whole
            # A line breaks between words, unless one is longer than a line of a table should be.
            words = chain.from_iterable(line(cell(row[name])).split() for row in (*rows, {name: name}))
            least = min(MOST_WORD_CHARS, max(map(cell_len, words), default=0))
            justify: Literal["left", "right"] = "right" if is_number else "left"
            table.add_column(name, justify=justify, no_wrap=is_whole, overflow="fold", min_width=least)
        for place, row in enumerate(rows):
            cells = (Text(line(cell(value))) for value in row.values())
            table.add_row(*cells, style="bold" if bold and bold[place] else None)
        self._render(Padding(table, (0, 0, 0, len(indent))))

    def print(self) -> None:
        """Print the page, without blanks at the ends of lines."""
        sys.stdout.write("".join(f"{one.rstrip()}\n" for one in self._lines))
        sys.stdout.flush()

    def _render(self, renderable: RenderableType) -> None:
        with self._console.capture() as captured:
            self._console.print(renderable, width=self.columns)
        self._lines += captured.get().removesuffix("\n").split("\n")


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress, done of total, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, among: shown.update(task, completed=done, total=among)
