"""What llama.cpp says while it loads: kept, and not printed.

It writes to the standard error of the process, in a thread of its own, and has no other way out. While a model loads
no Python runs, so that hardly anything else is written meanwhile; what is, is passed on afterwards.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from contextlib import contextmanager
from threading import Lock
from typing import IO, TYPE_CHECKING

import xllamacpp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["loading_verbosity", "overheard", "reason"]

STDERR = 2
# llama.cpp's levels: -1 is silence, 1 errors, 4 what its library says of buffers.
SILENT, ERRORS, BUFFERS = -1, 1, 4
# It sets the level when it loads, and has no documented way to set it again: a C++ function, where it can be found.
_LEVEL_SETTER = "_Z30common_log_set_verbosity_tholdi"
# Its thread writes within a millisecond; these are its last words, good and bad.
PATIENCE_SECONDS, LOOK_SECONDS = 0.5, 0.002
_LAST = (b"listening on", b"exiting due to")
# "0.00.006.468 I load_tensors:   CPU_Mapped model buffer size =     0.08 MiB"
_LINE = re.compile(r"\d+\.\d{2}\.\d{3}\.\d{3} ([A-Z] .*)")
# It looks once whether standard error is a terminal, and colours what it writes from then on, wherever that goes.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ONE_AT_A_TIME = Lock()


def loading_verbosity() -> int:
    """Return the level to load with: with buffers where it can be lowered again, else errors alone."""
    return ERRORS if _level_setter() is None else BUFFERS


@contextmanager
def overheard() -> Iterator[list[str]]:
    """Return the lines that llama.cpp writes while the block runs, from their level on; filled when it ends."""
    lines: list[str] = []
    # To be appended to: reading moves the place where its thread would write next, which both share.
    with _ONE_AT_A_TIME, tempfile.TemporaryFile("a+b") as file:
        if sys.stderr is not None:
            sys.stderr.flush()
        try:
            own = os.dup(STDERR)
        except OSError:  # a process without a standard error: nothing is printed, and nothing heard
            yield lines
            return
        os.dup2(file.fileno(), STDERR)
        try:
            yield lines
        finally:
            if (setter := _level_setter()) is not None:
                setter(SILENT)
            text = _all_said(file)
            os.dup2(own, STDERR)
            os.close(own)
            _sort(text, lines)


def reason(lines: Sequence[str]) -> str:
    """Return the first error among lines: those behind it only say what came of it. Without one the last line."""
    errors = [line for line in lines if line.startswith("E ")]
    return errors[0][2:].strip() if errors else lines[-1][2:].strip() if lines else "nothing"


def _level_setter() -> ctypes._NamedFuncPointer | None:
    library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
    return getattr(library, _LEVEL_SETTER, None)


def _all_said(file: IO[bytes]) -> str:
    """Return the text of a file that another thread may still be writing to the end."""
    end = time.monotonic() + PATIENCE_SECONDS
    before, text = b"", b" "
    while time.monotonic() < end and not (before == text and any(words in text for words in _LAST)):
        before = text
        time.sleep(LOOK_SECONDS)
        file.seek(0)
        text = file.read()
    return text.decode("utf-8", "replace")


def _sort(text: str, lines: list[str]) -> None:
    """Add llama.cpp's lines to `lines`; write the others where they were to go."""
    ours = False
    for line in text.splitlines():
        if said := _LINE.match(_COLOURS.sub("", line)):
            lines.append(said[1].strip())
        elif not ours and sys.stderr is not None:
            sys.stderr.write(f"{line}\n")
        ours = said is not None or ours
