"""Text that comes in pieces, folded between words; nothing of it is obeyed by a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from squidbot.cli.texts import line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Wrapping"]

# Lines longer than this are hard to read.
MOST_COLUMNS: Final = 100
FENCE: Final = "```"
TAB: Final = 4
_SPACE: Final = " \t\n"


class Wrapping:
    """Writes text as it comes: whole words, on lines that fit the terminal as wide as it is then.

    What stands between code fences is not folded: it would not be the same code.
    """

    def __init__(self, write: Callable[[str], object], columns: Callable[[], int] | None) -> None:
        """Take what writes, and what tells how many columns there are; None: nothing is folded."""
        self._write = write
        self._columns = columns
        self._column = self._blanks = 0
        self._word = self._start = ""
        self._fenced = False

    def add(self, text: str) -> None:
        """Write what is sure of a further piece."""
        for char in text:
            if char in _SPACE:
                self._space(char)
            elif char != "\r":
                self._word += char

    def end(self) -> None:
        """Write what is left, and end the line if there is any."""
        self._flush()
        self._fill()
        if self._column:
            self._newline()
        self._fenced = False

    def _space(self, char: str) -> None:
        self._flush()
        if char == "\n":
            self._fill()
            self._fenced ^= self._start == FENCE
            self._newline()
        else:
            self._blanks += 1 if char == " " else TAB - (self._column + self._blanks) % TAB

    def _newline(self) -> None:
        self._write("\n")
        self._column, self._start = 0, ""

    def _fill(self) -> None:
        """Write blanks at the end of a line, where nobody folds it."""
        blanks, self._blanks = self._blanks, 0
        if blanks and self._columns is None:
            self._put(" " * blanks, blanks)

    def _flush(self) -> None:
        """Write the word that came, and the blanks in front of it; where it does not fit, on a line of its own."""
        word, self._word = line(self._word), ""
        if not word:
            return
        cells, blanks = cell_len(word), self._blanks
        if self._folds and self._column and self._column + blanks + cells > self._width():
            self._newline()
            blanks = 0
        self._blanks = 0
        self._put(" " * blanks + word, blanks + cells)

    def _put(self, text: str, cells: int) -> None:
        self._write(text)
        self._column += cells
        self._start = (self._start + text)[: len(FENCE)]

    @property
    def _folds(self) -> bool:
        return self._columns is not None and not self._fenced

    def _width(self) -> int:
        return min(MOST_COLUMNS, max(20, self._columns() - 1)) if self._columns else MOST_COLUMNS
