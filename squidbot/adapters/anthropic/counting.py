"""Tokens of long texts by the provider's own count, each text asked for once; short ones are estimated here."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from squidbot.accounts import Patience
from squidbot.adapters.anthropic.client import Account
from squidbot.adapters.anthropic.model import AnthropicModel
from squidbot.adapting.counts import MOST_TEXTS, KeptCounts
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
# What the frame of a message is counted with.
LEAST_TEXT: Final = "."


class AnthropicCounter:
    """A `TokenCounter`. Threads may share it. What the provider does not count is estimated, as short texts are."""

    def __init__(self, model: str, url: str = "", *, key_name: str = "") -> None:
        """Name a model, a server's address, "" is Anthropic's, and where its key is in the environment, "" as usual.

        Nothing is asked yet.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
        """
        account = Account(url, patience=PATIENCE, key_name=key_name)
        self._asked = AnthropicModel(model, account=account)
        self._name = f"anthropic:{model}"
        self._plain = builtin_counter("classes")
        self._kept = KeptCounts(f"{account.url} {model}")
        # What was not counted stays so while the process lives: a text always costs the same.
        self._uncounted: dict[str, None] = {}
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

    def keep(self, path: str) -> None:
        """Keep all counts in a file, beside those that are there: no text is asked for that any process asked for."""
        self._kept.keep(path)

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
        key = self._kept.key(text)
        with self._lock:
            if key not in self._uncounted and self._kept.get(key) is None and not self._asks(text):
                if len(self._uncounted) >= MOST_TEXTS:
                    self._uncounted.pop(next(iter(self._uncounted)))
                self._uncounted[key] = None
            return self._kept.get(key)

    def _asks(self, text: str) -> bool:
        """Have a text counted, and return whether it was."""
        if time.monotonic() < self._rests_until:
            return False
        try:
            frame_tokens = self._once(LEAST_TEXT, 1)
            self._once(text, frame_tokens)
        except ContextOverflowError:
            return False
        except LLMError:
            self._rests_until = time.monotonic() + REST_SECONDS
            return False
        return True

    def _once(self, text: str, frame_tokens: int) -> int:
        """Return what a text takes beside so much around it, asked for once."""
        key = self._kept.key(text)
        known = self._kept.get(key)
        if known is None:
            asked = self._asked.count_tokens([{"role": "user", "content": text}])
            known = max(0, asked - frame_tokens)
            self._kept.put(key, known)
        return known
