"""Tokens of long texts by the provider's own count, each text asked for once; short ones are estimated here."""

from __future__ import annotations

import hashlib
import threading
import time
from typing import TYPE_CHECKING, Final

from squidbot.accounts import Patience
from squidbot.adapters.anthropic.client import Account
from squidbot.adapters.anthropic.model import AnthropicModel
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ContextOverflowError, LLMError

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate

__all__ = ["AnthropicCounter"]

# A shorter text is not worth a question: of 500 tokens an estimate is wrong by some dozens.
LEAST_CHARS: Final = 2_000
# What is asked while a message is recorded must not keep anybody waiting; after a failure nobody is asked for so long.
PATIENCE: Final = Patience(connect_seconds=2.0, answer_seconds=5.0, retries=0)
REST_SECONDS: Final = 60.0
# The provider calls its count an estimate (Anthropic's documentation, token counting): so much more is the bound.
MARGIN_FRACTION, MARGIN_TOKENS = 0.02, 8
# A digest and a number each: some megabytes.
MOST_TEXTS: Final = 65_536


class AnthropicCounter:
    """A `TokenCounter`. Threads may share it. What the provider does not count is estimated, as short texts are."""

    def __init__(self, model: str, url: str = "", *, account: Account | None = None) -> None:
        """Name a model, and a server's address; "" is Anthropic's. Nothing is asked yet.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
        """
        self._asked = AnthropicModel(model, account=account or Account(url, patience=PATIENCE))
        self._name = f"anthropic:{model}"
        self._plain = builtin_counter("classes")
        self._frame: int | None = None
        self._known: dict[bytes, int | None] = {}
        self._rests_until = 0.0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name, behind its provider's."""
        return self._name

    @property
    def certificate(self) -> Certificate:
        """Measured: short texts are estimated, and the provider's count is no promise either."""
        return "measured"

    def count(self, text: str) -> int:
        """Return the provider's count of a long text, the estimate of any other."""
        counted = self._counted(text)
        return self._plain.count(text) if counted is None else counted

    def upper_bound(self, text: str) -> int:
        """Return the smaller of both bounds of a long text, the estimate's of any other."""
        plain, counted = self._plain.upper_bound(text), self._counted(text)
        if counted is None:
            return plain
        return max(counted, min(plain, round(counted * (1 + MARGIN_FRACTION)) + MARGIN_TOKENS))

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._asked.close()

    def _counted(self, text: str) -> int | None:
        """Return the provider's count; None where it was not asked, or did not say. That stays so for a text."""
        if len(text) < LEAST_CHARS:
            return None
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if key not in self._known:
                if len(self._known) >= MOST_TEXTS:
                    self._known.pop(next(iter(self._known)))
                self._known[key] = self._ask(text)
            return self._known[key]

    def _ask(self, text: str) -> int | None:
        if time.monotonic() < self._rests_until:
            return None
        try:
            if self._frame is None:
                self._frame = self._asked.count_tokens([{"role": "user", "content": "."}]) - 1
            return max(0, self._asked.count_tokens([{"role": "user", "content": text}]) - self._frame)
        except ContextOverflowError:
            return None
        except LLMError:
            self._rests_until = time.monotonic() + REST_SECONDS
            return None
