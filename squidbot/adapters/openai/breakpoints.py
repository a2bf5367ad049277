"""Where OpenAI's prompt cache is told to keep a prefix: where the next plan goes on from, beside the end.

From gpt-5.6 on a prefix is found at breakpoints alone. OpenAI sets one where a request ends, so that a request that
extends the one before it needs none; one whose end was put shorter finds nothing unless a breakpoint was there
(OpenAI's documentation, prompt caching; the types of its SDK).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MARK", "marked", "takes_breakpoints"]

MARK: Final = "prompt_cache_breakpoint"
# Of those that a request brings so many are written, beside OpenAI's own; one more where it sets none.
_MOST_WRITTEN: Final = 3
_SINCE: Final = (5, 6)
_VERSION: Final = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?")
_EXPLICIT: Final = {"mode": "explicit"}
# What the model said bears none.
_BEARING: Final = frozenset({"text", "image_url", "input_audio", "file", "input_text", "input_image", "input_file"})


def takes_breakpoints(model: str) -> bool:
    """Return whether a model of OpenAI's has them, by its name."""
    found = _VERSION.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _SINCE


def marked(
    messages: Sequence[Mapping[str, object]], stable: Sequence[int], part: str, *, ends: bool
) -> list[Mapping[str, object]]:
    """Return messages, or items of Responses, with breakpoints; beside these nothing changes.

    `stable` says how many of them stay as they are, from the first; `ends`: they stand where this request ends, and
    where the one before it did, too. Where a message can bear none it stands behind one before. A text becomes the part
    that it stands for, of the type `part`.
    """
    said = list(messages)
    most = _MOST_WRITTEN + ends
    for count in sorted({*stable, *(_ends(said) if ends else ())})[-most:]:
        for at in range(min(count, len(said)) - 1, -1, -1):
            if (made := _with_mark(said[at], part)) is not None:
                said[at] = made
                break
    return said


def _ends(said: Sequence[Mapping[str, object]]) -> tuple[int, int]:
    """Return how many messages the request before this one had, and how many this one has."""
    before = len(said)
    while before and _bears(said[before - 1]):
        before -= 1
    while before and not _bears(said[before - 1]):
        before -= 1
    return before, len(said)


def _bears(message: Mapping[str, object]) -> bool:
    """Return whether a message was said to the model, and not by it."""
    return message.get("role", "assistant") != "assistant" or str(message.get("type", "")).endswith("_call_output")


def _with_mark(message: Mapping[str, object], part: str) -> Mapping[str, object] | None:
    """Return a message with a breakpoint at its end; None where it can bear none."""
    name = "output" if str(message.get("type", "")).endswith("_call_output") else "content"
    if not _bears(message):
        return None
    content = message.get(name)
    if isinstance(content, str) and content:
        content = [{"type": part, "text": content}]
    if not isinstance(content, list) or not content or not isinstance(content[-1], dict):
        return None
    last = content[-1]
    if last.get("type") not in _BEARING or last.get("text") == "":
        return None
    return {**message, name: [*content[:-1], {**last, MARK: last.get(MARK, _EXPLICIT)}]}
