"""The window that a local server really gives a model, read back from any known kind of server.

| server       | asked                | says                                                    |
|--------------|----------------------|---------------------------------------------------------|
| ollama       | GET /api/ps          | `context_length` of each model in memory                |
| llama-server | GET /props           | `default_generation_settings.n_ctx`, of one slot        |
| lm-studio    | GET /api/v0/models   | `loaded_context_length` of each model in memory         |
| vllm         | GET /v1/models       | `max_model_len` of each model                           |

The fields are those of Ollama 0.34, llama.cpp 0c1e57098, LM Studio 0.3 and vLLM 0.6.
"""

from __future__ import annotations

import http.client
import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ServedWindow", "served_window"]

# For all requests together: a user waits for them in `squidbot status`.
PATIENCE_SECONDS = 2.0
MOST_BYTES = 4 * 2**20
_LOCKED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)


class ServedWindow(NamedTuple):
    """A server's report of the window that it gives a model.

    Attributes:
        tokens: input and output together; `None` if unknown.
        server: "ollama", "llama-server", "lm-studio", "vllm", "openai" (some other compatible one), or "" if no known
            server answers.
        reason: why there are no tokens; "" if there are.
    """

    tokens: int | None
    server: str
    reason: str


class _SilentError(Exception):
    """The server does not answer at all: further requests are useless."""


def served_window(url: str, model: str, *, api_key: str = "", seconds: float = PATIENCE_SECONDS) -> ServedWindow:
    """Return the window that the server at `url` gives a model; ignore a "/v1" at its end.

    `model` "" means the only one. Loads nothing, never raises, and takes about `seconds` at most.
    """
    root, until = url.rstrip("/").removesuffix("/v1"), time.monotonic() + seconds
    try:
        for path, read in _KINDS:
            window = read(_get(f"{root}{path}", api_key, until), model)
            if window is not None:
                return window
    except _SilentError as error:
        return ServedWindow(None, "", f"no answer from {url}: {error}")
    return ServedWindow(None, "", f"{url} is not a kind of server that reports its window")


def _get(url: str, api_key: str, until: float) -> object:
    """Return the JSON of an answer by `until` (monotonic seconds); `None` if there is none, or it is no JSON.

    Raises:
        _SilentError: the server is missing, or does not answer in time.
    """
    connection, path = _connection(url, until)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        with closing(connection):
            connection.request("GET", path, headers={**headers, "Connection": "close"})
            with connection.getresponse() as answer:
                if answer.status in _LOCKED:
                    raise _SilentError("it rejects this key")
                return json.loads(_body(answer, until) if answer.status == http.client.OK else b"")
    except TimeoutError as error:
        raise _SilentError("timed out") from error
    except (OSError, http.client.InvalidURL) as error:
        raise _SilentError(str(error) or repr(error)) from error
    except (http.client.HTTPException, ValueError, RecursionError):
        return None  # another protocol answers there: the next request may suit it


def _connection(url: str, until: float) -> tuple[http.client.HTTPConnection, str]:
    """Return an unopened connection, and the path to request."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _SilentError(f"not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise _SilentError("not an address; write one like http://127.0.0.1:8080")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        return kind(host, port, timeout=_left(until)), parts.path
    except TimeoutError as error:
        raise _SilentError("timed out") from error
    except http.client.InvalidURL as error:
        raise _SilentError(str(error)) from error


def _body(answer: http.client.HTTPResponse, until: float) -> bytes:
    text = bytearray()
    while piece := answer.read1(65_536):
        text += piece
        if len(text) > MOST_BYTES:
            raise http.client.HTTPException("an endless answer")
        _left(until)
    return bytes(text)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _ollama(answer: object, model: str) -> ServedWindow | None:
    listed = _list(answer, "models")
    if listed is None:
        return None
    entry = _entry(listed, model, ("name", "model"))
    if entry is None:
        return ServedWindow(None, "ollama", f"{model or 'a model'} is not in memory; Ollama decides when it loads it")
    return _tokens(entry.get("context_length"), "ollama", "this Ollama does not report the window; 0.34 does")


def _llama_server(answer: object, _model: str) -> ServedWindow | None:
    settings = answer.get("default_generation_settings") if isinstance(answer, dict) else None
    if not isinstance(settings, dict):
        return None
    return _tokens(settings.get("n_ctx"), "llama-server", "llama-server reports no n_ctx; a router has none of its own")


def _lm_studio(answer: object, model: str) -> ServedWindow | None:
    listed = _list(answer, "data")
    if listed is None:
        return None
    entry = _entry(listed, model, ("id",))
    if entry is None:
        return ServedWindow(None, "lm-studio", f"LM Studio has no model {model!r:.80}")
    return _tokens(entry.get("loaded_context_length"), "lm-studio", f"{entry.get('id')} is not in LM Studio's memory")


def _vllm(answer: object, model: str) -> ServedWindow | None:
    listed = _list(answer, "data")
    if listed is None:
        return None
    entry = _entry(listed, model, ("id", "root"))
    if entry is None:
        return ServedWindow(None, "openai", f"the server has no model {model!r:.80}")
    if "max_model_len" in entry:
        return _tokens(entry["max_model_len"], "vllm", "max_model_len is not a number of tokens")
    return ServedWindow(None, "openai", "the server does not report its window; set it beside the model")


_KINDS: tuple[tuple[str, Callable[[object, str], ServedWindow | None]], ...] = (
    ("/api/ps", _ollama),
    ("/props", _llama_server),
    ("/api/v0/models", _lm_studio),
    ("/v1/models", _vllm),
)


def _list(answer: object, key: str) -> list[dict[str, object]] | None:
    listed = answer.get(key) if isinstance(answer, dict) else None
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else None


def _entry(listed: list[dict[str, object]], model: str, keys: tuple[str, ...]) -> dict[str, object] | None:
    """Return a model's entry, also if only one of the two names has the tag "latest"; for "" the only entry."""
    if not model:
        return listed[0] if len(listed) == 1 else None
    names = (model, f"{model}:latest", model.removesuffix(":latest"))  # values that are no text are no names
    return next((entry for entry in listed if any(entry.get(key) in names for key in keys)), None)


def _tokens(tokens: object, server: str, otherwise: str) -> ServedWindow:
    if type(tokens) is int and tokens > 0:
        return ServedWindow(tokens, server, "")
    return ServedWindow(None, server, otherwise)
