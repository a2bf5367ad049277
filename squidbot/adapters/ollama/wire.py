"""One server over HTTP: requests, streams of JSON lines, and failures in our words. Nothing is retried."""

from __future__ import annotations

import http.client
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from squidbot.accounts import MOST_SAID_CHARS, address, is_here
from squidbot.core.errors import ContextOverflowError, LLMError

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator, Iterator, Mapping

__all__ = ["Patience", "RefusedError", "Wire", "without_memory"]

USUAL_URL = "http://127.0.0.1:11434"
# An answer of the largest window at four bytes a token stays far below; what is longer is no answer of a model.
MOST_BYTES = 64 * 2**20

# Ollama's words for a prompt that is too long, of its own and of the llama-server behind it, which differ by version.
_TOO_LONG = re.compile(
    r"exceed.{0,50}\bcontext|longer than the context|prompt (?:is )?too long|input length exceeds"
    r"|exceed_context_size",
    re.IGNORECASE | re.DOTALL,
)
_NO_MEMORY = re.compile(
    r"out of memory|requires more system memory|cudamalloc failed|(?:unable|failed) to allocate|insufficient memory"
    r"|runner process has terminated|unable to load model|failed to load model|model runner has unexpectedly stopped"
    r"|timed out waiting for llama",
    re.IGNORECASE,
)


class Patience(NamedTuple):
    """How long to wait, in seconds: for a connection, for a short answer, for a first piece, and between two pieces.

    Before the first piece Ollama loads the model, which it gives up after five minutes itself, and reads the prompt,
    which a CPU does at some ten tokens a second.
    """

    connect_seconds: float = 5.0
    short_seconds: float = 30.0
    first_seconds: float = 900.0
    gap_seconds: float = 120.0


class RefusedError(LLMError):
    """The server answered, and what it said is that it won't.

    Attributes:
        status: of HTTP; 200 where the refusal came in the midst of a stream.
        said: in the server's words.
    """

    def __init__(self, status: int, said: str, advice: str = "") -> None:
        """Take the status and the words; `advice` says what to do."""
        kind = "rate-limit" if status in (429, 503) else "refused"
        words = " ".join(said.split())[:MOST_SAID_CHARS] or "nothing more"
        super().__init__(kind, f"Ollama answered {status}: {words}{advice}")
        self.status = status
        self.said = said


def without_memory(refusal: RefusedError) -> bool:
    """Return whether a refusal is that the model could not be put into memory, or fell over there."""
    return _NO_MEMORY.search(refusal.said) is not None


class Wire:
    """A server. Each request has a connection of its own, so that threads may share this."""

    def __init__(self, url: str, patience: Patience) -> None:
        """Take the server's address, such as "http://127.0.0.1:11434"; "" for the usual one.

        Raises:
            ConfigError: that is no http or https address.
        """
        self.url = (url or USUAL_URL).rstrip("/").removesuffix("/v1").removesuffix("/api")
        self._patience = patience
        parts = address(self.url, USUAL_URL)
        self._host, self._port, self._secure = parts.hostname or "", parts.port, parts.scheme == "https"
        self._base = parts.path
        self.is_here = is_here(parts)

    def ask(self, path: str, body: Mapping[str, object] | None = None, *, long: bool = False) -> dict[str, object]:
        """Return the JSON object that answers a request; without a body it is a GET. `long` waits for a model.

        Raises:
            LLMError: no server, or no JSON object, is there; RefusedError: it says no.
            ContextOverflowError: it says that the prompt is too long.
        """
        seconds = self._patience.first_seconds if long else self._patience.short_seconds
        with self._failures(path), self._open(path, body, seconds) as (answer, _):
            text = answer.read(MOST_BYTES + 1)
        return _object(text)

    def lines(self, path: str, body: Mapping[str, object]) -> Generator[dict[str, object]]:
        """Return the JSON objects of a streamed answer as they come; closing the iterator closes the connection.

        Raises:
            LLMError: as `ask`, also where the stream stalls or says in its midst that it has failed.
            ContextOverflowError: as `ask`.
        """
        with self._failures(path), self._open(path, body, self._patience.first_seconds) as (answer, line):
            left = MOST_BYTES
            while text := answer.readline(left + 1):
                line.settimeout(self._patience.gap_seconds)
                left -= len(text)
                if left < 0:
                    raise LLMError("unusable", f"{self.url}{path} answers without an end")
                if text.strip():
                    piece = _object(text)
                    if "error" in piece:
                        raise _refusal(200, piece, body)
                    yield piece

    @contextmanager
    def _open(
        self, path: str, body: Mapping[str, object] | None, seconds: float
    ) -> Iterator[tuple[http.client.HTTPResponse, socket.socket]]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._patience.connect_seconds)
        try:
            connection.connect()
            line: socket.socket = connection.sock  # the connection lets go of it once an answer has begun
            line.settimeout(seconds)
            headers = {"Content-Type": "application/json", "Connection": "close"}
            data = None if body is None else _json(body)
            connection.request("GET" if data is None else "POST", f"{self._base}{path}", data, headers)
            answer = connection.getresponse()
            try:
                if answer.status != http.client.OK:
                    raise _refusal(answer.status, _said(answer.read(MOST_BYTES)), body)
                yield answer, line
            finally:
                answer.close()
        finally:
            connection.close()

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        """Let failures of the connection out as ours."""
        try:
            yield
        except TimeoutError as error:
            raise LLMError("unreachable", f"{self.url}{path} did not go on: {error}; is the server busy?") from error
        except ConnectionRefusedError as error:
            raise LLMError("unreachable", f"nothing listens at {self.url}; start it with `ollama serve`") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A ValueError: a name that can't be a host's.
            raise LLMError("unreachable", f"{self.url}{path} broke off: {error!r:.200}") from error


def _json(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise LLMError("refused", f"no JSON can be made of the request: {error}") from error


def _object(text: bytes) -> dict[str, object]:
    if len(text) > MOST_BYTES:
        raise LLMError("unusable", "the server answers without an end")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise LLMError("unusable", f"the server's answer is no JSON: {text[:80]!r}") from error
    if not isinstance(value, dict):
        raise LLMError("unusable", f"the server's answer is no JSON object: {text[:80]!r}")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _said(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace")


def _words(said: object) -> str:
    """Return what an error says; llama-server's is an object, and Ollama may pass it on as JSON in a string."""
    for _ in range(3):
        if isinstance(said, dict):
            said = said.get("error", said.get("message", ""))
        elif isinstance(said, str) and said.startswith("{"):
            inner = _said(said.encode("utf-8", "replace"))
            if not isinstance(inner, dict):
                break
            said = inner
    return said if isinstance(said, str) else json.dumps(said)


def _refusal(status: int, said: object, body: Mapping[str, object] | None) -> LLMError | ContextOverflowError:
    words = _words(said)
    if _TOO_LONG.search(words):
        return ContextOverflowError(f"Ollama refuses the prompt: {words[:MOST_SAID_CHARS]}")
    model = (body or {}).get("model", "")
    advice = f"; get it with `ollama pull {model}`" if status == http.client.NOT_FOUND and "not found" in words else ""
    refusal = RefusedError(status, words, advice)
    if without_memory(refusal):
        return RefusedError(status, words, "; a smaller window, or other models unloaded, would make room")
    return refusal
