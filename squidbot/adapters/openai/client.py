"""The SDK with a key from the environment; its failures in our words.

Retries, with what the server says of when, are the SDK's: of connections, time-outs, 408, 409, 429 and 5xx.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlsplit

import openai

from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from urllib.parse import SplitResult

__all__ = ["KEY", "Account", "Patience", "UnfitError"]

KEY = "OPENAI_API_KEY"
USUAL_URL = "https://api.openai.com/v1"
# What servers that ask for no key are given: the SDK sends none that is empty.
NO_KEY = "none"
# Of what a server says, as much as a person reads.
MOST_SAID_CHARS = 400

# The words of OpenAI, OpenRouter, vLLM, llama-server, LM Studio and text-embeddings-inference for what is too long.
_TOO_LONG = re.compile(
    r"maximum (?:context|input) length|context_length_exceeded|exceed\w*.{0,40}\b(?:context|tokens)"
    r"|input is too (?:long|large)|must have less than \d+ tokens|longer than the maximum"
    r"|context (?:the )?overflows|context length of only|greater than the context length",
    re.IGNORECASE | re.DOTALL,
)
# Where one of them tells the window beside it.
_WINDOW = re.compile(
    r"(?:maximum context length is|maximum model length of|available context size \(|context length of only) ?(\d+)"
)


class UnfitError(LLMError):
    """The server refused a request for what was in it, which a smaller one may not have."""


class Patience(NamedTuple):
    """How long to wait for a connection and for each piece of an answer, in seconds, and how often to try again."""

    connect_seconds: float = 10.0
    answer_seconds: float = 120.0
    retries: int = 5


class Account:
    """Who asks whom: a server's address, a key, and the SDK's client for both. Threads may share it."""

    def __init__(
        self,
        url: str = "",
        *,
        patience: Patience | None = None,
        environment: Mapping[str, str] = os.environ,
        key_name: str = "",
    ) -> None:
        """Take the server's address, with its "/v1"; "" is OpenAI's.

        The key is `key_name` of the environment, "" OPENAI_API_KEY. Servers on this machine need none.

        Raises:
            ConfigError: that is no address, or there is no key for it.
        """
        self.url = (url or USUAL_URL).rstrip("/")
        parts = _parts(self.url)
        self.host = parts.netloc
        here = parts.hostname in {"localhost", "::1"} or str(parts.hostname).startswith("127.")
        self._key_name = key_name or KEY
        self._key = environment.get(self._key_name, "").strip()
        if not self._key and not here:
            raise ConfigError(f"no key for {self.url}; set {self._key_name} in the environment")
        patience = patience or Patience()
        self.client = openai.OpenAI(
            api_key=self._key or NO_KEY,
            base_url=self.url,
            timeout=openai.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )
        # The window that the server named when it refused; None: it has not.
        self.refused_window_tokens: int | None = None

    @property
    def is_usual(self) -> bool:
        """Whether the server is OpenAI's own."""
        return self.url == USUAL_URL

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self.client.close()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Let the SDK's failures out as ours.

        Raises:
            ContextOverflowError: a text is too long.
            UnfitError: the request was refused for what was in it.
            LLMError: the server was not reached, is too busy, refused, or said what can't be used; or this is closed.
        """
        if self.client.is_closed():
            raise LLMError("unreachable", f"the connections to {self.url} are closed")
        try:
            yield
        except openai.APITimeoutError as error:
            raise LLMError("unreachable", f"{self.url} did not answer in time") from error
        except openai.APIConnectionError as error:
            raise LLMError(
                "unreachable", f"{self.url} is not reached: {self._said(error.__cause__ or error)}"
            ) from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from error
        except openai.APIError as error:
            raise self.broken_off(error.body, self._said(error)) from error
        except ValueError as error:
            raise LLMError("unusable", f"{self.url} answers something else: {self._said(error)}") from error

    def broken_off(self, body: object, said: str) -> LLMError | ContextOverflowError:
        """Return the failure that a stream ends with, as its last event tells it."""
        told: dict[str, object] = cast("dict[str, object]", body) if isinstance(body, dict) else {}
        kind = f"{told.get('code') or ''} {told.get('type') or ''}"
        if _TOO_LONG.search(f"{kind} {said}"):
            return self._overflow(said)
        if "rate_limit" in kind or told.get("code") == 429:
            return LLMError("rate-limit", f"{self.url} is asked too often: {said}")
        if "server_error" in kind or "overloaded" in kind or "unavailable" in kind:
            return LLMError("unreachable", f"{self.url} fails: {said}")
        return LLMError("unusable", f"{self.url} answers something else: {said}")

    def _overflow(self, said: str) -> ContextOverflowError:
        if found := _WINDOW.search(said):
            self.refused_window_tokens = int(found[1])
        return ContextOverflowError(f"{self.url} refuses a text: {said}")

    def _refusal(self, error: openai.APIStatusError) -> LLMError | ContextOverflowError:
        said, status = self._said(error), error.status_code
        if status in {401, 403}:
            return LLMError("refused", f"{self.url} does not take the key in {self._key_name} ({status}): {said}")
        if status == 429 and error.code != "insufficient_quota":
            return LLMError("rate-limit", f"{self.url} is asked too often: {said}")
        if status >= 500:
            return LLMError("unreachable", f"{self.url} fails ({status}): {said}")
        if status in {400, 413, 422}:
            if _TOO_LONG.search(f"{error.code} {said}"):
                return self._overflow(said)
            return UnfitError("refused", f"{self.url} refuses ({status}): {said}")
        return LLMError("refused", f"{self.url} refuses ({status}): {said}")

    def _said(self, error: BaseException) -> str:
        """Return what an error says, in one line, without the key."""
        body = getattr(error, "body", None)
        said = body.get("message") if isinstance(body, dict) else None
        words = " ".join(str(said or error).split())[:MOST_SAID_CHARS]
        return words.replace(self._key, "***") if self._key else words


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"url {url!a:.80} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ConfigError(f"url {url!a:.80} is no address; write one like {USUAL_URL}")
    return parts
