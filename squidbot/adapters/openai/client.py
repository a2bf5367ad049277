"""The SDK with a key from the environment; its failures in our words.

Retries, with what the server says of when, are the SDK's: of connections, time-outs, 408, 409, 429 and 5xx.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import openai

from squidbot import accounts
from squidbot.accounts import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.core.errors import ContextOverflowError, LLMError

__all__ = ["Account"]


class Account(accounts.Account):
    """Who asks OpenAI, or a server that speaks like it: its address with its "/v1". Threads may share it."""

    usual_url = "https://api.openai.com/v1"
    usual_key = accounts.USUAL_KEYS["openai"]
    words = accounts.Words(
        # Those of OpenAI, OpenRouter, vLLM, llama-server, LM Studio and text-embeddings-inference for what is too long.
        too_long=re.compile(
            r"maximum (?:context|input) length|context_length_exceeded|exceed.{0,50}\b(?:context|tokens)"
            r"|input is too (?:long|large)|must have less than \d+ tokens|longer than the maximum"
            r"|context (?:the )?overflows|context length of only|greater than the context length",
            re.IGNORECASE | re.DOTALL,
        ),
        # Where one of them tells the window beside it.
        window=re.compile(
            r"(?:maximum context length is|maximum model length of|available context size \(|context length of only)"
            r" ?(\d+)"
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
        """Take the server's address, "" is OpenAI's, and where its key is, as `accounts.Account` does.

        Raises:
            ConfigError: that is no address, or there is no key for it.
        """
        super().__init__(url, environment=environment, key_name=key_name)
        patience = patience or Patience()
        self.client: openai.OpenAI = openai.OpenAI(
            api_key=self.sent_key,
            base_url=self.url,
            timeout=openai.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Let the SDK's failures out as ours.

        Raises:
            ContextOverflowError: a text is too long.
            UnfitError: the request was refused for what was in it.
            LLMError: the server was not reached, is too busy, refused, or said what can't be used; or this is closed.
        """
        self.check_open()
        try:
            yield
        except openai.APITimeoutError as error:
            raise self.too_late() from error
        except openai.APIConnectionError as error:
            raise self.not_reached(error.__cause__ or error) from error
        except openai.APIStatusError as error:
            kind = f"{error.code or ''} {error.type or ''}"
            raise self.refusal(error.status_code, kind, self.said(error)) from error
        except openai.APIError as error:
            raise self.broken_off(error.body, self.said(error)) from error
        except ValueError as error:
            raise self.unusable(self.said(error)) from error

    def broken_off(self, body: object, said: str) -> LLMError | ContextOverflowError:
        """Return the failure that a stream ends with, as its last event tells it."""
        told: dict[str, object] = cast("dict[str, object]", body) if isinstance(body, dict) else {}
        code = told.get("code")
        # OpenRouter's streams end with the status that their provider answered.
        return self.refusal(code if isinstance(code, int) else 0, f"{code or ''} {told.get('type') or ''}", said)
