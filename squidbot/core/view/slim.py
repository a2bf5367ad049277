"""Cuts oversized text to its head, its tail and a handle under which the whole of it can be had again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from squidbot.core.markers import marked_lines

if TYPE_CHECKING:
    from squidbot.core.counting.meter import Meter

__all__ = ["shortened", "slim", "slim_arguments", "with_marked"]

# Of the text that is kept, the share in front: beginnings say what a listing or a file is, ends say how it went.
HEAD_FRACTION = 0.6
# No tokenizer in use makes fewer than about one token of eight characters of running text (whitespace runs aside), so
# a cut never needs to look at more than this many characters for each token it may keep.
MOST_CHARACTERS_A_TOKEN = 8


def slim(text: str, limit_tokens: int, meter: Meter, handle: str) -> str:
    """Return `text` cut in its middle so that its bound is at most `limit_tokens`, or as near as the marker allows.

    The marker says how many characters are left out, a hash of the whole, and `handle`, under which the transcript
    has all of it. A text that costs no more than the limit comes back unchanged. The head and the tail are cut at line
    ends where one is near.
    """
    if len(text) <= limit_tokens * MOST_CHARACTERS_A_TOKEN and meter.text(text).bound <= limit_tokens:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = min(len(text) - 1, limit_tokens * MOST_CHARACTERS_A_TOKEN)
    while True:
        made = _cut(text, max(0, kept), digest, handle)
        over = meter.text(made).bound
        if over <= limit_tokens or kept <= 0:
            return made
        # Shrinks in proportion, always by at least a tenth, so that it ends after a few dozen steps.
        kept = min(kept * 9 // 10, kept * limit_tokens // over)


def shortened(text: str, limit: int, meter: Meter, handle: str) -> str:
    """Return `text` cut as `slim` does so that its estimate, in the policy's unit, is at most `limit`."""
    if meter.text(text).estimate <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = len(text) - 1
    while True:
        made = _cut(text, max(0, kept), digest, handle)
        over = meter.text(made).estimate
        if over <= limit or kept <= 0:
            return made
        kept = min(kept * 99 // 100, kept * limit // over + 1)


def _cut(text: str, kept: int, digest: str, handle: str) -> str:
    head = text[: round(kept * HEAD_FRACTION)]
    tail = text[len(text) - (kept - len(head)) :] if kept > len(head) else ""
    head = _to_line_end(head)
    tail = _from_line_start(tail)
    left_out = len(text) - len(head) - len(tail)
    return (
        f"{head}\n[... {left_out:,} of {len(text):,} characters left out, sha256 {digest}; recall {handle} ...]\n{tail}"
    )


def _to_line_end(head: str) -> str:
    end = head.rfind("\n")
    return head[:end] if end >= len(head) * 3 // 4 else head


def _from_line_start(tail: str) -> str:
    start = tail.find("\n")
    return tail[start + 1 :] if 0 <= start <= len(tail) // 4 else tail


def with_marked(text: str, said: str) -> str:
    """Return a text that was cut, with the lines behind it that were marked in what was left out."""
    missing = [one.line for one in marked_lines(said) if one.line not in text] if text != said else []
    return "\n".join((text, *missing))


def slim_arguments(arguments: str, limit_tokens: int, meter: Meter, handle: str) -> str:
    """Return a tool call's argument string with its long strings cut, still JSON, near `limit_tokens` at most.

    Keys and short values stay. Arguments that are no JSON object become an object with the cut text under "cut".
    """
    if len(arguments) <= limit_tokens * MOST_CHARACTERS_A_TOKEN and meter.text(arguments).bound <= limit_tokens:
        return arguments
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not values:
        return _dumped({"cut": slim(arguments, max(1, limit_tokens - 8), meter, handle)})
    share = max(1, limit_tokens)
    while True:
        made = _dumped({key: _shorter(value, share, meter, handle) for key, value in values.items()})
        if meter.text(made).bound <= limit_tokens or share <= 1:
            return made
        share = share * 2 // 3


def _shorter(value: object, limit_tokens: int, meter: Meter, handle: str) -> object:
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    text = value if isinstance(value, str) else _dumped(value)
    shorter = slim(text, limit_tokens, meter, handle)
    return value if shorter == text else shorter


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
