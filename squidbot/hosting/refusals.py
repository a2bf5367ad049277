"""What is refused: by a provider a request that is too long, where a host has no error for that; by us a switch."""

from __future__ import annotations

import re
from typing import Final

from squidbot.core.errors import ConfigError

__all__ = ["is_too_long", "server_held"]

# The words of Anthropic, OpenAI, Gemini, Mistral, vLLM, llama.cpp and LM Studio. Tokens alone are no sign: limits of a
# minute are counted in them, too.
_WORDS: Final = re.compile(
    r"prompt is too long|request_too_large|maximum (?:context|input) length|maximum number of tokens allowed"
    r"|context_length_exceeded|exceed.{0,50}\bcontext|input is too (?:long|large)|longer than the maximum"
    r"|greater than the context length|context (?:the )?overflows|too large for model with \d+ maximum context",
    re.IGNORECASE | re.DOTALL,
)
# The states by which HTTP refuses what was asked for; none is known of a model in this process.
_REFUSED: Final = (None, 400, 413, 422)


def is_too_long(error: BaseException) -> bool:
    """Say whether an error of a model is its provider's refusal of a request that does not fit the window."""
    if getattr(error, "status_code", None) not in _REFUSED:
        return False
    return _WORDS.search(f"{getattr(error, 'code', '')} {error}") is not None


def server_held(switch: str) -> ConfigError:
    """Return the error for a switch that has the provider hold the conversation, by the switch's name (V10)."""
    return ConfigError(
        f"{switch} has the provider keep the conversation, which squidbot then can't bound: leave it out, or leave "
        "squidbot out"
    )
