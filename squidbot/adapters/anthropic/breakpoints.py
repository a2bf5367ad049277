"""Where the prompt cache is told to keep a prefix: behind what never changes, what seldom does, and at the end.

A request that extends the one before it finds what that one wrote where a breakpoint is no more than twenty blocks
behind its end (Anthropic's documentation, prompt caching). A step with many parallel calls adds more: breakpoints stand
at that distance from each other, from the end backwards, until they reach what the request before had. Those that are
left stand behind what stays as it is when the end is put shorter: there the next plan goes on from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LOOK_BACK_BLOCKS", "MOST_BREAKPOINTS", "marked"]

MOST_BREAKPOINTS: Final = 4
# What a breakpoint finds: an entry at its own place, or at one of the 19 before it.
LOOK_BACK_BLOCKS: Final = 20
# The provider refuses a breakpoint on these.
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})

Block = dict[str, object]


def marked(
    system: Sequence[Block],
    messages: Sequence[Mapping[str, object]],
    mark: Mapping[str, object],
    stable: Sequence[int] = (),
) -> tuple[list[Block], list[dict[str, object]]]:
    """Return system and messages with breakpoints, at most four; those that stood there before are taken away.

    `stable` says how many messages stay as they are, from the first. Beside the breakpoints nothing changes: a string
    that gets one becomes the block that it stands for.
    """
    kept = [_bare(block) for block in system]
    said = [_without_marks(message) for message in messages]
    places = [(at, index) for at, message in enumerate(said) for index in range(_count(message))]
    left = MOST_BREAKPOINTS
    if kept:
        kept[-1]["cache_control"] = dict(mark)
        left -= 1
    firm = [sum(at < count for at, _ in places) for count in sorted(set(stable), reverse=True) if count > 0]
    for end in _ends(len(places), firm, _new(said), left):
        _mark(said, places[max(0, end - LOOK_BACK_BLOCKS) : end], mark)
    return kept, said


def _ends(blocks: int, firm: Sequence[int], new: int, left: int) -> set[int]:
    """Return behind how many blocks breakpoints stand, `left` at most: along the end first, then where it is firm."""
    along = range(blocks, 0, -LOOK_BACK_BLOCKS)
    needed = min(left, new // LOOK_BACK_BLOCKS + 1) if firm else left
    kept = [end for end in firm if end < blocks][: left - needed]
    return {*kept, *along[: left - len(kept)]}


def _new(said: Sequence[Mapping[str, object]]) -> int:
    """Return how many blocks the request before can't have had: the assistant's last words, and what followed."""
    last = max((at for at, message in enumerate(said) if message.get("role") == "assistant"), default=0)
    return sum(map(_count, said[last:]))


def _mark(said: list[dict[str, object]], places: Sequence[tuple[int, int]], mark: Mapping[str, object]) -> None:
    """Mark the last of some blocks that can be marked; none where none can."""
    for at, index in reversed(places):
        blocks = _blocks(said[at])
        block = blocks[index]
        if block.get("type") in _UNMARKED or block.get("text") == "":
            continue
        blocks[index] = {**block, "cache_control": dict(mark)}
        said[at] = {**said[at], "content": blocks}
        return


def _blocks(message: Mapping[str, object]) -> list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _count(message: Mapping[str, object]) -> int:
    return len(_blocks(message))


def _without_marks(message: Mapping[str, object]) -> dict[str, object]:
    content = message.get("content")
    if not isinstance(content, list) or not any(
        isinstance(block, dict) and "cache_control" in block for block in content
    ):
        return dict(message)
    return {**message, "content": [_bare(block) if isinstance(block, dict) else block for block in content]}


def _bare(block: Mapping[str, object]) -> Block:
    return {key: value for key, value in block.items() if key != "cache_control"}
