"""The SDK with a key from the environment; its failures in our words.

Retries, with what the server says of when, are the SDK's: of connections, time-outs, 408, 409, 429 and 5xx.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import anthropic
import httpx2

from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, StaleThinkingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["KEY", "Account", "Patience", "UnfitError"]

KEY: Final = "ANTHROPIC_API_KEY"
USUAL_URL: Final = "https://api.anthropic.com"
# What servers that ask for no key are given: the SDK sends none that is empty.
NO_KEY: Final = "none"
# Of what a server says, as much as a person reads.
MOST_SAID_CHARS: Final = 400

_TOO_LONG: Final = re.compile(r"prompt is too long|exceed context limit|request_too_large", re.IGNORECASE)
_THINKING: Final = re.compile(
    r"in `(?:redacted_)?thinking` block|blocks in the latest assistant message|Expected `thinking`"
)
_MAXIMUM: Final = re.compile(r"> ?(\d+) maximum")


class UnfitError(LLMError):
    """The server refused a request for what was in it."""


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
        """Take the server's address; "" is Anthropic's.

        The key is `key_name` of the environment, "" ANTHROPIC_API_KEY. Servers on this machine need none.

        Raises:
            ConfigError: that is no address, or there is no key for it.
        """
        self.url = (url or USUAL_URL).rstrip("/")
        host = _host(self.url)
        here = host in {"localhost", "::1"} or host.startswith("127.")
        self._key_name = key_name or KEY
        self._key = environment.get(self._key_name, "").strip()
        if not self._key and not here:
            raise ConfigError(f"no key for {self.url}; set {self._key_name} in the environment")
        patience = patience or Patience()
        self.client = anthropic.Anthropic(
            api_key=self._key or NO_KEY,
            base_url=self.url,
            timeout=anthropic.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )
        # The window that the server named when it refused; None: it has not.
        self.refused_window_tokens: int | None = None

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self.client.close()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Let the SDK's failures out as ours.

        Raises:
            ContextOverflowError: the request is too long.
            StaleThinkingError: reasoning in it is refused.
            UnfitError: it was refused for something else that was in it.
            LLMError: the server was not reached, is too busy, refused, or said what can't be used; or this is closed.
        """
        if self.client.is_closed():
            raise LLMError("unreachable", f"the connections to {self.url} are closed")
        try:
            yield
        except anthropic.APITimeoutError as error:
            raise LLMError("unreachable", f"{self.url} did not answer in time") from error
        except anthropic.APIConnectionError as error:
            why = self._said(error.__cause__ or error)
            raise LLMError("unreachable", f"{self.url} is not reached: {why}") from error
        except anthropic.APIStatusError as error:
            raise self._refusal(error) from error
        except httpx2.HTTPError as error:
            raise LLMError("unreachable", f"{self.url} broke off: {self._said(error)}") from error
        except (anthropic.APIError, ValueError) as error:
            raise LLMError("unusable", f"{self.url} answers something else: {self._said(error)}") from error

    def _refusal(self, error: anthropic.APIStatusError) -> LLMError | ContextOverflowError:
        said, status, kind = self._said(error), error.status_code, error.type
        if status in {401, 403}:
            return LLMError("refused", f"{self.url} does not take the key in {self._key_name} ({status}): {said}")
        if status == 429 or kind == "rate_limit_error":
            return LLMError("rate-limit", f"{self.url} is asked too often: {said}")
        if status >= 500 or kind in {"overloaded_error", "api_error"}:
            return LLMError("unreachable", f"{self.url} fails ({status}): {said}")
        if _TOO_LONG.search(f"{kind} {said}"):
            if found := _MAXIMUM.search(said):
                self.refused_window_tokens = int(found[1])
            return ContextOverflowError(f"{self.url} refuses a request: {said}")
        if _THINKING.search(said):
            return StaleThinkingError("refused", f"{self.url} refuses reasoning that comes back: {said}")
        return UnfitError("refused", f"{self.url} refuses ({status}): {said}")

    def _said(self, error: BaseException) -> str:
        """Return what an error says, in one line, without the key."""
        words = " ".join(str(getattr(error, "api_message", None) or error).split())[:MOST_SAID_CHARS]
        return words.replace(self._key, "***") if self._key else words


def _host(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"url {url!a:.80} is no address; write one like {USUAL_URL}")
    return parts.hostname
