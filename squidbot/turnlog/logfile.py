"""The file that turns are written to, one behind the other, when they have ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapting.disk import append, replace
from squidbot.core import events
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.events import Event
from squidbot.turnlog.text import text_of, turns_of
from squidbot.turnlog.turns import Turn, asked_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import StoredMessage, Usage
    from squidbot.core.ports import Codec, Observer
    from squidbot.core.redaction import Redactor
    from squidbot.core.view.assembly import Assembly

__all__ = ["SessionLog", "TurnLog"]


class TurnLog:
    """A file that turns are appended to. Whoever may read it reads what was said: nobody but its owner may."""

    def __init__(self, path: str, redactor: Redactor, observer: Observer | None = None, place: str = "--debug") -> None:
        """Take a file, and who named it; it is made when a turn has ended.

        Raises:
            ConfigError: it is a folder, or it has none that it could stand in.
        """
        self.path = Path(path)
        if self.path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file for the log of turns @ {place}")
        if not self.path.parent.is_dir():
            raise ConfigError(f"there is no folder {self.path.parent}; make it, or name another file @ {place}")
        self.redactor = redactor
        self._observer = observer
        self._failed = False

    def session(self, session_id: str, model: str, codecs: Mapping[str, Codec]) -> SessionLog:
        """Return what follows a session and writes its turns here."""
        return SessionLog(self, session_id, model, codecs)

    def append(self, session_id: str, text: str) -> None:
        """Write behind what stands there; that it can't be is told once, and fails no turn."""
        try:
            append(self.path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            if self._observer is not None and not self._failed:
                cause = f"the log of turns can't be written: {error}"
                self._observer.notify(Event(events.DEGRADED, session_id, cause))
            self._failed = True
        else:
            self._failed = False

    def forget(self, goes: Callable[[str, int, str], bool]) -> int:
        """Take turns out for good, and return how many; `goes` says of a session, a turn and its text whether it does.

        A turn that was cut, when its process died, is of the session "" and the turn -1.

        Raises:
            StoreError: the log is as it was: the disk failed.
        """
        gone = 0

        def without(data: bytes) -> bytes:
            nonlocal gone
            turns = turns_of(data.decode("utf-8", "replace"))
            kept = [one for one in turns if not goes(*one)]
            gone = len(turns) - len(kept)
            return "".join(one.text for one in kept).encode("utf-8", "replace") if gone else data

        try:
            replace(self.path, without)
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}; it still tells what was forgotten") from error
        return gone


class SessionLog:
    """Follows one session: what it asks, and what is recorded in it; turns that have ended are written."""

    def __init__(self, log: TurnLog, session_id: str, model: str, codecs: Mapping[str, Codec]) -> None:
        """Take a session's name, its model's, and what reads its messages."""
        self._log = log
        self._session_id = session_id
        self._model = model
        self._codecs = codecs
        self._turn = Turn()
        # The newest request, byte for byte: what follows is set beside it.
        self._before: tuple[str, ...] = ()

    def asked(self, made: Assembly) -> None:
        """Take a request; where it opens a turn, one that has not ended is written as far as it went."""
        incoming = made.incoming
        if incoming and incoming[0].turn == incoming[0].seq and self._turn.iterations:
            self._write()
        self._turn.asked.append(asked_of(made, self._before))
        self._before = made.payloads

    def recorded(self, rows: Sequence[StoredMessage], usage: Usage | None) -> None:
        """Take what was recorded, with what was reported for the newest request."""
        if self._turn.iterations and any(row.turn == row.seq for row in rows):
            self._write()
        self._turn.reported(usage)
        self._turn.take(rows, self._codecs)
        if self._turn.ended:
            self._write()

    def _write(self) -> None:
        turn, self._turn = self._turn, Turn()
        self._log.append(self._session_id, text_of(turn, self._session_id, self._model, self._log.redactor))
