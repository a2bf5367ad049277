"""llama.cpp's log, kept and not printed."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

import llama_cpp

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOG", "Log"]

# The lines of loading a model of a hundred layers with all that it says of each are fewer.
MOST_LINES = 20_000
# ggml's levels: 1 is debug, 5 goes on with the line before. llama-cpp-python's own table is older and says otherwise.
DEBUG, CONTINUED = 1, 5


class Log:
    """What llama.cpp says in this process, line by line, the newest `MOST_LINES`.

    Its log is one for the whole process: of models that load at the same time the lines are mixed. Debug lines are
    left out.
    """

    def __init__(self, told: Callable[[str], None] | None = None) -> None:
        """Start empty; `told` gets each whole line, too."""
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._begun = ""
        self._level = 0
        self._total = 0
        self._told = told
        self._lock = threading.Lock()
        # ctypes keeps no callback alive: the log does.
        self._callback = llama_cpp.llama_log_callback(self._heard)

    def listen(self) -> None:
        """Get all that llama.cpp says from now on."""
        llama_cpp.llama_log_set(self._callback, None)

    def mark(self) -> int:
        """Return where the log is now, for `since`."""
        with self._lock:
            return self._total

    def since(self, mark: int) -> list[str]:
        """Return the lines behind a mark, oldest first, as far as they are kept."""
        with self._lock:
            new = min(self._total - mark, len(self._lines))
            return list(self._lines)[len(self._lines) - new :]

    def _heard(self, level: int, text: bytes, _: object) -> None:
        level = self._level if level == CONTINUED else level
        whole: list[str] = []
        with self._lock:
            self._level = level
            if level == DEBUG:
                return
            *whole, self._begun = (self._begun + text.decode("utf-8", "replace")).split("\n")
            self._lines.extend(line.strip() for line in whole)
            self._total += len(whole)
        if self._told is not None:
            for line in whole:
                self._told(line)


LOG = Log()
