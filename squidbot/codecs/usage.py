"""What a model call cost, in the words of its provider."""

from __future__ import annotations

from squidbot.core.messages import Usage

__all__ = ["read_usage"]


def read_usage(usage: object) -> Usage | None:
    """Return what a provider reported, in tokens; None for nothing, or for a form that is not known.

    Read are the objects of OpenAI (`prompt_tokens` or `input_tokens`), of Anthropic (`input_tokens`, without what the
    cache read and wrote), and of recordings that write `input`, `output`, `cache_read` and `cache_write`.
    """
    if not isinstance(usage, dict):
        return None
    if "prompt_tokens" in usage:
        cached = _tokens(usage.get("prompt_tokens_details"), "cached_tokens")
        return Usage(_tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"), cached)
    if "input_tokens" in usage:
        # Anthropic's input leaves out what was read from and written to the cache; OpenAI's holds all of it.
        read, written = (_tokens(usage, f"cache_{what}_input_tokens") for what in ("read", "creation"))
        cached = read or _tokens(usage.get("input_tokens_details"), "cached_tokens")
        return Usage(_tokens(usage, "input_tokens") + read + written, _tokens(usage, "output_tokens"), cached)
    if "input" in usage:
        read, written = _tokens(usage, "cache_read"), _tokens(usage, "cache_write")
        return Usage(_tokens(usage, "input") + read + written, _tokens(usage, "output"), read)
    return None


def _tokens(usage: object, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
