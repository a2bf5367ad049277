"""Whether a prompt fits a window, and whether an answer was made from the whole of it.

Ollama cuts a prompt that is too long and answers as if nothing had happened: it leaves out the oldest messages, or the
middle of the text, and reports what is left as the prompt's size. Since the autumn of 2025 it can be told not to
(`truncate` and `shift`), and then refuses; what is here is for servers that are older, and for those that only speak
like Ollama.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.counting.meter import Meter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.ports import TokenCounter

__all__ = ["SMALLEST_WINDOW_TOKENS", "Weight", "doubt", "weigh"]

# What Ollama's own reckoning of a prompt allows for a picture (0.34, chatPrompt); models take more or less.
PICTURE_TOKENS = 768
# Ollama never had a smaller default window; a prompt below it is cut by none of them.
SMALLEST_WINDOW_TOKENS = 2_048
# No token in use holds more letters of one word, but for runs of one character, of which there are up to 16 in one.
MOST_LETTERS_A_TOKEN = 24
_LETTERS = re.compile(r"[^\W_]+")


class Weight(NamedTuple):
    """What a request takes, in tokens: as a bound, as an estimate, and the fewest that any tokenizer makes of it."""

    bound_tokens: int
    estimate_tokens: int
    fewest_tokens: int


def weigh(
    messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]], counter: TokenCounter
) -> Weight:
    """Return what messages and tools take, counted as the engine counts them."""
    meter = Meter(counter)
    costs = [meter.message(_rendered(message), PICTURE_TOKENS * _pictures(message)) for message in messages]
    if tools:
        costs.append(meter.message(_written(list(tools))))
    return Weight(
        sum(cost.bound for cost in costs),
        sum(cost.estimate for cost in costs),
        sum(_fewest(message) for message in messages),
    )


def doubt(weight: Weight, counted_tokens: int, told_tokens: int | None) -> str:
    """Return why an answer can't have been made from the whole prompt, or ""; only asked where the count is low.

    `counted_tokens` is what the server reports, 0 for nothing; `told_tokens` the window that it says it runs with. A
    low count alone proves nothing where the window is known to be large enough: some releases (before 0.4, and the
    first of 0.30) report only what was not in the prompt cache.
    """
    if told_tokens is not None:
        if weight.bound_tokens <= told_tokens:
            return ""
        return f"the model runs with a window of {told_tokens} tokens, and the prompt takes up to {weight.bound_tokens}"
    if 0 < counted_tokens < weight.fewest_tokens and weight.bound_tokens > SMALLEST_WINDOW_TOKENS:
        return f"the server read {counted_tokens} tokens of a prompt that takes at least {weight.fewest_tokens}"
    return ""


def _rendered(message: Mapping[str, object]) -> str:
    texts = [_text(message)]
    texts += [said for key in ("reasoning", "reasoning_content") if isinstance(said := message.get(key), str)]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        kept = call.get("function", call.get("custom")) if isinstance(call, dict) else None
        if isinstance(kept, dict):
            given = kept.get("arguments", kept.get("input"))
            texts.append(f"\n{kept.get('name')} {given if isinstance(given, str) else _written(given)}")
    return "".join(texts)


def _written(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""  # no request is made of it: the wire says what is wrong


def _parts(message: Mapping[str, object]) -> list[object]:
    content = message.get("content")
    return content if isinstance(content, list) else [content]


def _text(message: Mapping[str, object]) -> str:
    said = [part.get("text") if isinstance(part, dict) else part for part in _parts(message)]
    return "".join(text for text in said if isinstance(text, str))


def _pictures(message: Mapping[str, object]) -> int:
    return sum(isinstance(part, dict) and not isinstance(part.get("text"), str) for part in _parts(message))


def _fewest(message: Mapping[str, object]) -> int:
    """Return the fewest tokens of what every template shows: no token holds parts of two words.

    Of system texts, tool results and reasoning, templates leave out some; what a model thought before its answer stands
    in the text itself with some servers.
    """
    if message.get("role") not in ("user", "assistant"):
        return 0
    words = _text(message).rpartition("</think>")[2].split()
    return sum(max(1, sum(len(run) // MOST_LETTERS_A_TOKEN for run in _LETTERS.findall(word))) for word in words)
