"""What texts and messages cost in both units that matter: the policy's, and the window's."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.counting.tokens import measure
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate, TokenCounter

__all__ = ["TEMPLATE_TOKENS", "Meter"]

# Tokens that a chat template puts around one message. OpenAI's cookbook counts 3 and 1 for a name; ChatML, Llama 3 and
# Gemma spend 3 to 5 on role and turn marks. The scorer of recorded conversations charges 4.
TEMPLATE_TOKENS = 4


class Meter(NamedTuple):
    """Counts with the session's token counter; with `policy` set, estimates are in that counter's unit (words)."""

    physical: TokenCounter
    policy: TokenCounter | None = None

    @property
    def name(self) -> str:
        """The name under which counts are stored: two meters with one name give the same numbers."""
        return self.physical.name if self.policy is None else f"{self.policy.name}/{self.physical.name}"

    @property
    def certificate(self) -> Certificate:
        """How far bounds can be trusted."""
        return self.physical.certificate

    def text(self, text: str) -> Cost:
        """Return what a text costs inside a message: estimate in the policy's unit, bound in tokens."""
        if self.policy is None:
            return measure(self.physical, text)
        return Cost(self.policy.count(text), self.physical.upper_bound(text))

    def fixed(self, text: str) -> Cost:
        """Return what `message` does, for a text that comes with every request: the newest ones are remembered."""
        return _fixed(self, text)

    def message(self, text: str, extra_tokens: int = 0) -> Cost:
        """Return what a message costs with its template; `extra_tokens` are those of its pictures and documents."""
        cost = self.text(text)
        added = TEMPLATE_TOKENS + extra_tokens
        return Cost(cost.estimate + (added if self.policy is None else 0), cost.bound + added)


@lru_cache(maxsize=32)
def _fixed(meter: Meter, text: str) -> Cost:
    return meter.message(text)
