"""The SDK with a key from the environment; its failures in our words.

Retries, with what the server says of when, are the SDK's: of connections, time-outs, 408, 409, 429 and 5xx.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anthropic
import httpx2

from squidbot import accounts
from squidbot.accounts import Patience
from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Account"]


class Account(accounts.Account):
    """Who asks Anthropic, or a server that speaks like it. Threads may share it."""

    usual_url = "https://api.anthropic.com"
    usual_key = accounts.USUAL_KEYS["anthropic"]
    words = accounts.Words(
        too_long=re.compile(r"prompt is too long|exceed context limit|request_too_large", re.IGNORECASE),
        window=re.compile(r"> ?(\d+) maximum"),
        stale=re.compile(
            r"in `(?:redacted_)?thinking` block|blocks in the latest assistant message|Expected `thinking`"
        ),
    )

    def __init__(
        self,
        url: str = "",
        *,
        patience: Patience | None = None,
        environment: Mapping[str, str] = os.environ,
        key_name: str = "",
    ) -> None:
        """Take the server's address, "" is Anthropic's, and where its key is, as `accounts.Account` does.

        Raises:
            ConfigError: that is no address, or there is no key for it.
        """
        super().__init__(url, environment=environment, key_name=key_name)
        patience = patience or Patience()
        self.client: anthropic.Anthropic = anthropic.Anthropic(
            api_key=self.sent_key,
            base_url=self.url,
            timeout=anthropic.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Let the SDK's failures out as ours.

        Raises:
            ContextOverflowError: the request is too long.
            StaleThinkingError: reasoning in it is refused.
            UnfitError: it was refused for something else that was in it.
            LLMError: the server was not reached, is too busy, refused, or said what can't be used; or this is closed.
        """
        self.check_open()
        try:
            yield
        except anthropic.APITimeoutError as error:
            raise self.too_late() from error
        except anthropic.APIConnectionError as error:
            raise self.not_reached(error.__cause__ or error) from error
        except anthropic.APIStatusError as error:
            raise self.refusal(error.status_code, error.type or "", self.said(error)) from error
        except httpx2.HTTPError as error:
            raise LLMError("unreachable", f"{self.url} broke off: {self.said(error)}") from error
        except (anthropic.APIError, ValueError) as error:
            raise self.unusable(self.said(error)) from error
