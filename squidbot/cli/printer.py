"""Text for people: at most as wide as the terminal, coloured only there, and free of what a terminal obeys."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from squidbot.cli.texts import line, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

__all__ = ["Printer", "bar"]

# The width of a page in a pipe or a file.
PIPE_COLUMNS = 100
# Lines longer than this are hard to read; a wider terminal keeps a margin.
MOST_COLUMNS = 140
# Of a text that is not shown whole.
MOST_LINES = 8
MOST_CHARS = 800


class Printer:
    """One page of text, printed at once by `print`."""

    def __init__(self) -> None:
        """Ask the terminal, if there is one, how wide it is."""
        console = Console(highlight=False, markup=False, emoji=False)
        self.columns = max(40, min(MOST_COLUMNS, console.width)) if sys.stdout.isatty() else PIPE_COLUMNS
        self._console = Console(highlight=False, markup=False, emoji=False, width=self.columns)
        self._lines: list[str] = []

    def say(self, text: str, style: str = "", indent: str = "") -> None:
        """Add a sentence, folded between words."""
        said, room = line(text), self.columns - len(indent)
        pieces = [said] if cell_len(said) <= room else [one.plain for one in Text(said).wrap(self._console, room)]
        for piece in pieces:
            # Most lines are plain, and rich takes its time.
            if style and self._console.is_terminal:
                self._render(Text(indent + piece, style=style, no_wrap=True))
            else:
                self._lines.append(indent + piece)

    def heading(self, text: str, style: str = "bold") -> None:
        """Add a line that stands out."""
        self.say(text, style)

    def blank(self) -> None:
        """Add an empty line."""
        self._lines.append("")

    def rule(self, text: str) -> None:
        """Add a line across the page, with a text in it."""
        said = f"── {line(text)} "
        self.say(f"{said}{'─' * max(2, self.columns - cell_len(said))}", "bold")

    def body(
        self, text: str, *, whole: bool = False, indent: str = "  ", style: str = "", most_lines: int = MOST_LINES
    ) -> None:
        """Add a stored text, indented and folded; unless `whole` its beginning, and how much more there is."""
        head = text if whole else "\n".join(text[:MOST_CHARS].splitlines()[:most_lines])
        is_cut = not whole and (len(text) > MOST_CHARS or len(text.splitlines()) > most_lines)
        for one in lines(head):
            self.say(one, style, indent)
        if is_cut:
            self.say(f"… {len(text) - len(head):,} of {len(text):,} characters more", "dim", indent)

    def pairs(self, rows: Sequence[tuple[str, str]], indent: str = "") -> None:
        """Add names with their meaning."""
        self._grid([(f"{indent}{line(name)}", line(text)) for name, text in rows], styles=("bold", ""))

    def numbers(self, rows: Sequence[tuple[str, int, str]]) -> None:
        """Add numbers, each between its name and its meaning."""
        self._grid([(f"  {line(name)}", f"{number:,}", line(text)) for name, number, text in rows], ("", "", "dim"))

    def table(
        self, names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str] = (), indent: str = ""
    ) -> None:
        """Add a table; the columns named in `texts` stand left and may fold, the others right."""
        made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        if indent:
            made.add_column("", width=len(indent) - 2)
        for name in names:
            is_text = name in texts
            made.add_column(name, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
        for row in rows:
            made.add_row(*([""] if indent else []), *(Text(line(cell)) for cell in row))
        self._render(made)

    def print(self) -> None:
        """Print the page, without blanks at the ends of lines."""
        sys.stdout.write("".join(f"{one.rstrip()}\n" for one in self._lines))
        sys.stdout.flush()

    def _grid(self, rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
        """Add columns without heads: the last one folds, one between the first and the last stands right."""
        grid, last = Table.grid(padding=(0, 2)), len(styles) - 1
        for place in range(len(styles)):
            grid.add_column(justify="right" if 0 < place < last else "left", no_wrap=place < last, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(cell, style=style) for cell, style in zip(row, styles, strict=True)))
        self._render(grid)

    def _render(self, renderable: RenderableType) -> None:
        with self._console.capture() as captured:
            self._console.print(renderable)
        self._lines += captured.get().removesuffix("\n").split("\n")


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many are done, of how many, on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda done, among: shown.update(task, completed=done, total=among)
