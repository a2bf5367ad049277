"""Input on a terminal, with prompt_toolkit: editing, history and several lines at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from squidbot.adapters.common.files import make_file, state_folder
from squidbot.chat.screen import colours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from prompt_toolkit.key_binding import KeyPressEvent

PROMPT: Final = "> "
# How often the lines below the input are drawn anew, for a status that comes while nobody types.
REFRESH_SECONDS: Final = 10.0


def typed_lines(words: Iterable[str]) -> Callable[[Callable[[], str]], str]:
    """Return a function that reads the next message; Tab completes the words. Pasted text is one message.

    Enter sends it; Alt-Enter, or a backslash before Enter, starts a new line.
    """
    path = _history_file()
    session: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=" " * len(PROMPT),
        key_bindings=_keys(),
        history=FileHistory(path) if path else InMemoryHistory(),
        completer=WordCompleter(list(words), sentence=True),
        complete_while_typing=False,
        color_depth=None if colours(sys.stdout) else ColorDepth.DEPTH_1_BIT,
        style=Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "bold"}),
        # Suspending the process during a turn would leave a model's answer half read.
        enable_suspend=False,
    )
    return lambda toolbar: str(session.prompt(bottom_toolbar=toolbar, refresh_interval=REFRESH_SECONDS))


def _history_file() -> Path | None:
    """Return the history file, created if missing, for its owner only; None if it can't be created."""
    folder = state_folder()
    try:
        if folder is not None:
            make_file(folder / "chat-history")
    except OSError:  # read-only
        return None
    return folder / "chat-history" if folder else None


def _keys() -> KeyBindings:
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
