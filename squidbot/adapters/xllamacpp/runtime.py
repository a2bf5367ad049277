"""llama.cpp's server in this process: loaded, asked, given back."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any

import xllamacpp

from squidbot.adapters.xllamacpp.answers import failure, spelled
from squidbot.adapters.xllamacpp.logs import loading_verbosity, overheard, reason
from squidbot.adapting.buffers import read_buffers
from squidbot.core.errors import LLMError, ModelLoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.adapting.buffers import Buffers

__all__ = ["Runtime"]

# Counting answers within milliseconds, a text of megabytes within seconds; generating has no limit.
TIMEOUT_SECONDS = 60.0


class Runtime:
    """One loaded server. Threads may share it: it answers one after the other.

    Attributes:
        sizes: what its buffers take; None where its log does not say.
    """

    def __init__(self, made: Callable[[str, int], xllamacpp.CommonParams], path: str) -> None:
        """Load it: `made` returns its parameters for a key to its port and a level of its log.

        Raises:
            ModelLoadError: it can't be loaded; the text has what llama.cpp said.
        """
        if not Path(path).is_file():
            raise ModelLoadError(f"there is no model file @ {path}")
        self._key = token_hex(16)
        lines: list[str] = []
        try:
            with overheard() as lines:
                self._server: xllamacpp.Server | None = xllamacpp.Server(made(self._key, loading_verbosity()))
        except (RuntimeError, ValueError) as error:
            raise ModelLoadError(f"llama.cpp can't load {path}: {reason(lines)}") from error
        buffers = read_buffers(lines)
        self.sizes: Buffers | None = buffers if any(buffers) else None
        self._lock = Lock()
        address = self._server.listening_address.removeprefix("http://")
        self._port = http.client.HTTPConnection(address, timeout=TIMEOUT_SECONDS)
        self._wait_for_loop()

    @property
    def server(self) -> xllamacpp.Server:
        """What answers in this process, without the port.

        Raises:
            LLMError: it was closed.
        """
        if (server := self._server) is None:
            raise LLMError("unreachable", "the model was closed")
        return server

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Return the answer to what can be asked by its port only.

        Raises:
            ContextOverflowError, LLMError: it says so, was closed, or can't be reached.
        """
        return dict(self._ask(method, path, body))

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401  # as it comes
        sent = None if body is None else spelled(body)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        with self._lock:
            try:
                status, text = self._sent(method, path, sent, headers)
            except (OSError, http.client.HTTPException):
                # It hangs up on who was silent for some seconds, or has asked often; once more, on a new line.
                try:
                    status, text = self._sent(method, path, sent, headers)
                except (OSError, http.client.HTTPException) as error:
                    raise LLMError("unreachable", f"llama.cpp's server in this process: {error!r}") from error
        answer = json.loads(text)
        if status != http.client.OK:
            raise failure(answer.get("error", {"message": f"{path}: status {status}"}))
        return answer

    def close(self) -> None:
        """Give back its memory, when all who wait for an answer have it; a second call does nothing."""
        with self._lock:
            # An open line would keep its threads for some seconds.
            self._port.close()
            self._server = None

    def _wait_for_loop(self) -> None:
        """Wait until its loop takes tasks.

        One that is given back before waits for the end of its loop for ever: what begins then does not know that it
        was told to end (xllamacpp 2026.10, on a busy machine). Telling of its slots is a task of that loop.

        Raises:
            ModelLoadError: it does not answer.
        """
        try:
            self._ask("GET", "/slots")
        except LLMError as error:
            raise ModelLoadError(
                f"llama.cpp's server in this process was loaded, and does not answer: {error}"
            ) from error

    def _sent(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        _ = self.server
        try:
            self._port.request(method, path, body, headers)
            answer = self._port.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self._port.close()
            raise
