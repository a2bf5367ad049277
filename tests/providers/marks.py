"""OpenAI's newer cache: prefixes that end at breakpoints, its own and those that a request brings.

From gpt-5.6 on, as OpenAI's guide and the types of its SDK say: one breakpoint at the end of the newest message that
may bear one, unless the mode is "explicit"; beside it the latest three that are written in parts of messages, else the
latest four; matches at the latest 80; half an hour at least. That a text stands alone in a list of parts changes
nothing of what a model reads, and so nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .openai_words import refusal
from .segments import chain, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Clock, Json, Model
    from .segments import Segment

MARK = "prompt_cache_breakpoint"
LEAST_TOKENS, KEPT_SECONDS = 1_024, 1_800.0
MOST_WRITTEN, MOST_SEEN = 4, 80


class Point(NamedTuple):
    """What a cache has of a prompt, in tokens: read from it, and written to it."""

    read: int
    written: int = 0


@dataclass
class MarkedCache:
    """Whole prefixes, each until its time has passed."""

    clock: Clock
    kept: dict[str, float] = field(default_factory=dict)

    def charge(self, segments: Sequence[Segment], salt: str, *, implicit: bool) -> Point:
        """Return what is read and written of a prompt, and keep what it marks."""
        digests = chain(segments, salt)
        able = [at for at, one in enumerate(segments) if one.place == "messages" and may_bear(one.role, one.type)]
        marks = [at for at, one in enumerate(segments) if one.ttl]
        seen = sorted({*marks, *(able if implicit else ())})[-MOST_SEEN:]
        hit = next((at for at in reversed(seen) if self.kept.get(digests[at], 0.0) > self.clock.now), -1)
        ends = marks[1 - MOST_WRITTEN :] + able[-1:] if implicit else marks[-MOST_WRITTEN:]
        written = [at for at in ends if total(segments[: at + 1]) >= LEAST_TOKENS]
        for at in (*written, *([hit] if hit >= 0 else [])):
            self.kept[digests[at]] = self.clock.now + KEPT_SECONDS
        read = total(segments[: hit + 1])
        return Point(read, max(0, total(segments[: max(written, default=-1) + 1]) - read))


def may_bear(role: str, kind: str) -> bool:
    """Return whether a message, or an item, has parts that may bear a breakpoint: what the model said has none."""
    return role in {"user", "system", "developer", "tool"} or kind.endswith("_call_output")


def is_implicit(body: Json, model: Model, marked: Sequence[int]) -> bool:
    """Return whether a request is cached where it ends, too.

    Raises:
        Refusal: it has breakpoints, or options of them, and the model is older than these.
    """
    options = body.get("prompt_cache_options")
    if model.marks:
        return not isinstance(options, dict) or options.get("mode") != "explicit"
    name = MARK if marked else "prompt_cache_options"
    if marked or options is not None:
        raise refusal(f"Unsupported parameter: '{name}' is not supported with this model.", name)
    return True


def plain(messages: Sequence[Json]) -> tuple[list[Json], list[int]]:
    """Return messages, or items, without their breakpoints, and which of them had any."""
    bare = [*map(_bare, messages)]
    return bare, [at for at, message in enumerate(messages) if bare[at] is not message]


def _bare(message: Json) -> Json:
    for name in ("content", "output"):
        parts = message.get(name)
        if isinstance(parts, list) and any(MARK in part for part in parts):
            kept = [{key: value for key, value in part.items() if key != MARK} for part in parts]
            alone = len(kept) == 1 and kept[0]["type"] in {"text", "input_text"}
            return {**message, name: kept[0]["text"] if alone else kept}
    return message
