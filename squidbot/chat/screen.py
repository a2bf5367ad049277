"""Shows a turn and its cost: on a terminal with a budget bar, in a pipe only the answer."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from squidbot.cli.texts import complain, count, event_line, line, parameters, percent, shorter
from squidbot.core.budget import CRITICAL, EMERGENCY, pressure_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from squidbot.chat.conversation import ChatTurn
    from squidbot.core.compaction.turn import Room
    from squidbot.core.messages import ToolCall
    from squidbot.core.plan import Prices
    from squidbot.core.settings import HistorySettings
    from squidbot.session import Assembly
    from squidbot.tools.tool import Answer

# Lines longer than this are hard to read.
MOST_COLUMNS: Final = 100
FENCE: Final = "```"
TAB: Final = 4
_SPACE: Final = " \t\n"


class Wrapping:
    """Writes text as it arrives: whole words, on lines that fit the terminal's current width.

    Fenced code is not wrapped: it would not be the same code.
    """

    def __init__(self, write: Callable[[str], object], columns: Callable[[], int] | None) -> None:
        """Take the writer, and a function that returns the number of columns; None: do not wrap."""
        self._write = write
        self._columns = columns
        self._column = self._blanks = 0
        self._word = self._start = ""
        self._fenced = False

    def add(self, text: str) -> None:
        """Write the complete words of a further piece."""
        for char in text:
            if char in _SPACE:
                self._space(char)
            elif char != "\r":
                self._word += char

    def end(self) -> None:
        """Write the rest, and end a started line."""
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
        """Write blanks at the end of a line that is not wrapped."""
        blanks, self._blanks = self._blanks, 0
        if blanks and self._columns is None:
            self._put(" " * blanks, blanks)

    def _flush(self) -> None:
        """Write a word and the blanks before it; on a new line if it does not fit."""
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


BAR_CHARS: Final = 20
# SGR codes (ECMA-48, 8.3.117).
STYLES: Final = {"dim": "2", "bold": "1", "warn": "33", "error": "31", "tool": "36"}


def colours(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows colours, and the user wants them (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def bar(share: float, chars: int = BAR_CHARS) -> str:
    """Return a share as a bar: full at 1."""
    full = min(chars, max(0, round(share * chars)))
    return f"[{'#' * full}{'.' * (chars - full)}]"


def used_of(room: Room) -> tuple[int, int]:
    """Return the tokens of the next request, and the most that it may have."""
    used = max(0, room.used_tokens - room.overcounted_tokens)
    return used, max(0, room.limit_tokens - room.overcounted_tokens)


def budget_line(room: Room, settings: HistorySettings) -> tuple[str, str]:
    """Return the budget of the next request as one line, and the style of its highest rung; "" for none.

    The line names the rung, for users who see no colours.
    """
    used, limit = used_of(room)
    share = used / max(1, limit)
    rungs = settings.ladder.told(room_pressure(room))
    rung = rungs[-1] if rungs else ""
    style = "error" if rung in {CRITICAL, EMERGENCY} else "warn" if rung else ""
    named = f", {rung}" if rung else ""
    return f"{bar(share)} {used:,} of {limit:,} tokens ({percent(share)}{named})", style


def room_pressure(room: Room) -> float:
    """Return how full the room beside notes is, on the scale of the rungs."""
    view = room.view
    return pressure_of(view.history, view.summaries, view.history.plus(room.whole))


class Screen:
    """Shows a conversation. Without a terminal, all text but answers goes to standard error."""

    def __init__(self, *, quiet: bool = False, mute: bool = False, outputs: bool = False) -> None:
        """Inspect standard output; `quiet`: show only answers and errors; `mute`: only errors.

        `outputs`: show tool output, too.
        """
        self._outputs = outputs
        self.is_terminal = sys.stdout.isatty() and not mute
        self._mute = mute
        self._quiet = quiet or not self.is_terminal
        self._colours = colours(sys.stdout)
        self._answer = self._fresh()

    # -- conversation.Watcher ---------------------------------------------------------------------------------

    def asked(self, assembly: Assembly) -> None:
        """Show an event that came with the request."""
        if assembly.event is not None:
            self.remark(event_line(assembly.event))

    def piece(self, text: str) -> None:
        """Write a piece of the answer."""
        if not self._mute:
            self._answer.add(text)
            sys.stdout.flush()

    def ended(self) -> None:
        """End the answer's last line."""
        self._answer.end()
        sys.stdout.flush()
        self._answer = self._fresh()

    def called(self, call: ToolCall, answer: Answer) -> None:
        """Write a tool call with its arguments, and the size or the beginning of its output; always show errors."""
        if self._quiet:
            return
        columns = self.columns
        self._print(f"-> {line(call.name)} {parameters(call.arguments, columns - len(call.name) - 4)}", "tool")
        said = answer.text.splitlines()
        if not self._outputs and not answer.is_error:
            self._print(f"   {count(len(said), 'line')} of output", "dim")
            return
        first = next((one for one in said if not one.startswith("<")), said[0] if said else "")
        more = f" (+{len(said) - 1} lines)" if len(said) > 1 and call.name == "history" else ""
        room = columns - 3 - len(more)
        self._print(f"   {shorter(first, room)}{more}", "error" if answer.is_error else "dim")

    def remark(self, text: str) -> None:
        """Write a sentence for the user."""
        if not self._quiet:
            self._folded(f"* {line(text)}", "dim")

    # -- beside turns -----------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """The number of characters in a line."""
        return max(20, shutil.get_terminal_size().columns)

    def say(self, text: str, style: str = "") -> None:
        """Write a sentence for the user, wrapped; nothing if only answers are wanted."""
        if not self._quiet:
            self._folded(text, style)

    def fail(self, text: str) -> None:
        """Always write an error; in a pipe on standard error."""
        if self.is_terminal:
            self._folded(f"! {line(text)}", "error")
        else:
            complain(text)

    def cost(self, turn: ChatTurn, budget: tuple[str, str], prices: Prices) -> None:
        """Write the cost of a turn, and how full the next request is."""
        if self._quiet:
            return
        said, style = budget
        spent = _spent(turn, prices)
        if cell_len(said) + cell_len(spent) + 2 <= self.columns:
            self._print(f"{said}  {spent}".rstrip(), style or "dim")
        else:
            self._print(f"{said}\n{spent}", style or "dim")

    def _fresh(self) -> Wrapping:
        return Wrapping(sys.stdout.write, (lambda: self.columns) if self.is_terminal else None)

    def _folded(self, text: str, style: str) -> None:
        pieces: list[str] = []
        folding = Wrapping(pieces.append, lambda: self.columns)
        folding.add(text)
        folding.end()
        self._print("".join(pieces).removesuffix("\n"), style)

    def _print(self, text: str, style: str = "") -> None:
        shown = f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and self._colours else text
        sys.stdout.write(f"{shown}\n")
        sys.stdout.flush()


def _spent(turn: ChatTurn, prices: Prices) -> str:
    """Return the reported usage of a turn's requests; "" if it reports nothing."""
    usages = [one.usage for one in turn.sent if one.usage]
    if not usages:
        return ""
    read, made, cached = (sum(column) for column in zip(*usages, strict=True))
    worth = sum(prices.billed(usage) for usage in usages)
    requests = f"{count(len(usages), 'request')}: " if len(usages) > 1 else ""
    share = f" ({percent(cached / read)} cached)" if cached else ""
    return f"{requests}{read:,} in{share}, {made:,} out; worth {worth:,.0f} in"
