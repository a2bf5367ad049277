"""What the user types: on a terminal with editing, history and several lines at once, else line by line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from squidbot.adapters.common.files import make_file, make_folder
from squidbot.chat.screen import colours
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

__all__ = ["Lines", "Piped", "Typed", "history_file", "lines_from"]

PROMPT: Final = "> "


class Lines(Protocol):
    """Where what is said comes from."""

    def read(self, toolbar: Callable[[], str]) -> str:
        """Return what is said next, of one or more lines; `toolbar` tells what stands below it meanwhile.

        Raises:
            EOFError: there is no more.
            KeyboardInterrupt: the user wants none of what was typed.
        """


class Piped:
    """Lines of standard input, each of them said on its own."""

    def read(self, toolbar: Callable[[], str]) -> str:  # noqa: ARG002  # nobody would see it
        """Return the next line."""
        said = sys.stdin.readline()
        if not said:
            raise EOFError
        return said.removesuffix("\n")


class Typed:
    """Lines of a terminal, by prompt_toolkit. What is pasted is one message, however many lines it has."""

    def __init__(self, words: Iterable[str], history: Path | None) -> None:
        """Take the commands, which Tab completes, and the file in which what was typed is kept (None: nowhere).

        Raises:
            ConfigError: prompt_toolkit is not installed.
        """
        try:
            from prompt_toolkit import PromptSession  # noqa: PLC0415  # the other commands need none
            from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415  # as above
            from prompt_toolkit.output import ColorDepth  # noqa: PLC0415  # as above
            from prompt_toolkit.styles import Style  # noqa: PLC0415  # as above
        except ImportError as error:
            raise ConfigError(f"a terminal needs prompt_toolkit: {error}; pip install prompt_toolkit") from error
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=" " * len(PROMPT),
            key_bindings=_keys(),
            history=_history(history),
            completer=WordCompleter(list(words), sentence=True),
            complete_while_typing=False,
            color_depth=None if colours(sys.stdout) else ColorDepth.DEPTH_1_BIT,
            style=Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "bold"}),
            # What is suspended in the middle of a turn would leave a model's answer half read.
            enable_suspend=False,
        )

    def read(self, toolbar: Callable[[], str]) -> str:
        """Return what was typed: Enter says it, Alt-Enter or a backslash in front of Enter begins another line."""
        return str(self._session.prompt(bottom_toolbar=toolbar))


def lines_from(words: Iterable[str]) -> Lines:
    """Return where what is said comes from: the terminal where standard input and output are one, else a pipe."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return Typed(words, history_file())
    return Piped()


def history_file() -> Path | None:
    """Return the file in which what was typed is kept, made where it is missing; None where it can't be.

    It is in $XDG_STATE_HOME, or ~/.local/state (XDG Base Directory 0.8), and for its owner alone.
    """
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
        path = Path(state) / "squidbot" / "chat-history"
        make_folder(path.parent)
        make_file(path)
    except (OSError, RuntimeError):  # a home that can't be written to, or none
        return None
    return path


def _history(path: Path | None) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory  # noqa: PLC0415  # as above

    return FileHistory(path) if path else InMemoryHistory()


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415  # as above

    keys = KeyBindings()
    keys.add("enter")(_entered)
    keys.add("escape", "enter")(_continued)
    return keys


def _entered(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.document.char_before_cursor == "\\":
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _continued(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")
