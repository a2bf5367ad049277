"""Texts and tables for people: at most as wide as the terminal, coloured only there, plain in a pipe."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from squidbot.commands.texts import clock, count, line, lines, shorter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.commands.reading.entries import Entry

__all__ = ["PIPE_COLUMNS", "ROLE_STYLES", "Paper", "put_entry"]

# How wide a page is where nobody says: in a pipe or a file.
PIPE_COLUMNS = 100
# Lines longer than this are hard to read; a wider terminal keeps a margin.
MOST_COLUMNS = 140
INDENT = "  "
# Of a text that is not shown whole.
MOST_LINES = 8
MOST_CHARS = 800
ROLE_STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "bold yellow", "system": "bold magenta"}


class Paper:
    """One page of output. It is printed at once, by `print`."""

    def __init__(self) -> None:
        """Look how wide the terminal is, if standard output is one."""
        self._console = Console(highlight=False, markup=False, emoji=False, width=_columns(), soft_wrap=False)
        self._lines: list[str] = []

    @property
    def columns(self) -> int:
        """How many characters a line has."""
        return self._console.width

    def heading(self, text: str, style: str = "bold") -> None:
        """Put down a line that stands out, folded where it is too long."""
        self._put(line(text), style)

    def say(self, text: str, style: str = "", indent: str = "") -> None:
        """Put down a sentence, folded between words."""
        self._put(line(text), style, indent)

    def blank(self) -> None:
        """Put down an empty line."""
        self._lines.append("")

    def rule(self, text: str) -> None:
        """Put down a line across the page, with a text in it."""
        said = f"── {line(text)} "
        self._put(f"{said}{'─' * max(2, self.columns - cell_len(said))}", "bold")

    def body(
        self, text: str, *, whole: bool = False, indent: str = INDENT, style: str = "", most_lines: int = MOST_LINES
    ) -> None:
        """Put down a text of somebody's, indented, folded; not `whole`: its beginning, and how much there is more."""
        shown, more = (text, "") if whole else beginning(text, most_lines)
        for one in lines(shown):
            self._put(one, style, indent)
        if more:
            self._put(more, "dim", indent)

    def pairs(self, rows: Sequence[tuple[str, str]], indent: str = "") -> None:
        """Put down names with what they mean, one below the other."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, text in rows:
            grid.add_row(Text(f"{indent}{line(name)}", style="bold"), Text(line(text)))
        self._render(grid)

    def numbers(self, rows: Sequence[tuple[str, int, str]], indent: str = INDENT) -> None:
        """Put down numbers under each other, between what they are called and what they are."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, number, text in rows:
            grid.add_row(f"{indent}{name}", f"{number:,}", Text(line(text), style="dim"))
        self._render(grid)

    def table(
        self, names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str] = (), indent: str = ""
    ) -> None:
        """Put down a table; the columns named in `texts` stand left and may fold, the others right."""
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
        """Print the page; blanks at the ends of lines are left away."""
        sys.stdout.write("".join(f"{one.rstrip()}\n" for one in self._lines))
        sys.stdout.flush()

    def _put(self, text: str, style: str, indent: str = "") -> None:
        for folded in self._folded(text, self.columns - len(indent)):
            # Most lines are plain, and rich takes its time.
            if style and self._console.is_terminal:
                self._render(Text(indent + folded, style=style, no_wrap=True))
            else:
                self._lines.append(indent + folded)

    def _folded(self, text: str, columns: int) -> list[str]:
        """Return a line in pieces that fit, folded between words; wide characters count as the terminal shows them."""
        if cell_len(text) <= columns:
            return [text]
        return [piece.plain.rstrip() for piece in Text(text).wrap(self._console, columns, overflow="fold")]

    def _render(self, renderable: Table | Text) -> None:
        with self._console.capture() as captured:
            self._console.print(renderable)
        self._lines += captured.get().removesuffix("\n").split("\n")


def put_entry(paper: Paper, entry: Entry, *, whole: bool) -> None:
    """Put down a message: who, when, how much, what was said, the tool calls it makes."""
    row = entry.row
    cut = f", cut at birth: {row.sent_cost.estimate:,} of them are sent" if entry.is_cut else ""
    tools = f" {', '.join(tool or call_id for call_id, tool in entry.answers)}" if entry.answers else ""
    said = f"{entry.handle}  {row.role}{tools}  {clock(row.time)}  {count(row.cost.estimate, 'token')}{cut}"
    paper.heading(said, ROLE_STYLES.get(row.role, "bold"))
    if entry.text:
        paper.body(entry.text, whole=whole)
    for call in entry.calls:
        if whole:
            paper.body(f"-> {call.name} {call.arguments}", whole=True)
        else:
            paper.body(f"-> {call.name} {parameters(call.arguments, paper.columns - len(call.name) - 6)}")
    if row.notice:
        paper.body(f"notice, frozen behind it: {row.notice}", whole=whole, style="dim")


def beginning(text: str, most_lines: int = MOST_LINES) -> tuple[str, str]:
    """Return the first lines of a text, and a line that says how much more there is; "" for nothing more."""
    head = "\n".join(text[:MOST_CHARS].splitlines()[:most_lines])
    if len(text) <= MOST_CHARS and len(text.splitlines()) <= most_lines:
        return text, ""
    return head, f"… {len(text) - len(head):,} of {len(text):,} characters more"


def parameters(arguments: str, columns: int) -> str:
    """Return a tool call's argument string for one line: `path="a.py", lines=3` where it is a JSON object."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return shorter(arguments, columns)
    said = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return shorter(", ".join(said), columns)


def _columns() -> int:
    if not sys.stdout.isatty():
        return PIPE_COLUMNS
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() and int(given) else os.get_terminal_size(sys.stdout.fileno()).columns
    return max(40, min(MOST_COLUMNS, columns)) if columns else PIPE_COLUMNS
