"""A prompt as pieces in the order in which a provider reads them: what caches keep, and signatures are bound to."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from .script import Json, World

THINKING = ("thinking", "redacted_thinking")
# An image costs so much, however large; the real price goes by its size.
IMAGE_TOKENS = 1_600


class Segment(NamedTuple):
    """One piece of a prompt.

    Attributes:
        place: "tools", "system" or "messages".
        role: whose turn it stands in.
        at: the message, and the block in it; the places that error messages name.
        type: of block.
        key: the piece as text, without marks for the cache: pieces with one key are one for every cache and signature.
        tokens: what it costs.
        ttl: of the breakpoint behind it, "5m" or "1h"; None where there is none.
    """

    place: str
    role: str
    at: tuple[int, int]
    type: str
    key: str
    tokens: int
    ttl: str | None


def blocks_of(content: object) -> list[Json]:
    """Return content as blocks; a string is one block of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    assert isinstance(content, list)
    return content


def canonical(block: Json) -> str:
    """Return a block as text: without its mark for the cache, fields that are null or the order of its fields.

    The order inside its values stays: a model reads the arguments of a call as they are written.
    """
    kept = sorted((key, value) for key, value in block.items() if key != "cache_control" and value is not None)
    return json.dumps(dict(kept), ensure_ascii=True)


# The field of a block that a model reads as it is.
_READ = {"text": "text", "thinking": "thinking", "redacted_thinking": "data"}


def readable(block: Json) -> str:
    """Return what a model reads of a block."""
    kind = str(block.get("type"))
    if kind in _READ:
        return str(block[_READ[kind]])
    match kind:
        case "tool_use":
            return f"{block['name']} {json.dumps(block['input'], ensure_ascii=False)}"
        case "tool_result":
            return "\n".join(map(readable, blocks_of(block.get("content", ""))))
        case "image":
            return ""
        case _:
            return canonical(block)


def segments_of(body: Json, world: World, gone: Container[str] = ()) -> list[Segment]:
    """Return an Anthropic request as segments: tools, system, messages. The first piece of a turn bears its frame.

    `gone` are the paths of blocks that are not read.
    """
    found = list(_head("tools", body.get("tools", []), world))
    found += _head("system", blocks_of(body.get("system", [])), world)
    messages = body["messages"]
    assert isinstance(messages, list)
    before = ""
    for number, message in enumerate(messages):
        role = str(message["role"])
        for place, block in enumerate(blocks_of(message["content"])):
            if f"messages.{number}.content.{place}" in gone:
                continue
            frame = world.turn_tokens if role != before else 0
            before = role
            made = _segment(("messages", role), (number, place), block, world)
            found.append(made._replace(tokens=made.tokens + frame))
    return found


def _head(place: str, blocks: object, world: World) -> Iterator[Segment]:
    assert isinstance(blocks, list)
    for number, block in enumerate(blocks):
        yield _segment((place, place), (-1, number), block, world)


def _segment(where: tuple[str, str], at: tuple[int, int], block: Json, world: World) -> Segment:
    tokens = world.count(readable(block)) + IMAGE_TOKENS * _images(block)
    return Segment(*where, at, str(block.get("type", where[0])), canonical(block), tokens, ttl_of(block))


def _images(block: Json) -> int:
    if block.get("type") == "tool_result":
        return sum(map(_images, blocks_of(block.get("content", ""))))
    return int(block.get("type") == "image")


def ttl_of(block: Json) -> str | None:
    """Return how long the prefix up to a block is to be kept; None where nothing is said."""
    mark = block.get("cache_control")
    return str(mark.get("ttl", "5m")) if isinstance(mark, dict) else None


def digest(*parts: str) -> str:
    """Return a digest of texts, in order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def chain(segments: Sequence[Segment], salt: str, later: str = "") -> list[str]:
    """Return for each segment the digest of all up to it; `salt` stands before them, `later` before the messages."""
    found = []
    before = digest(salt)
    for segment in segments:
        if segment.place == "messages" and later:
            before, later = digest(before, later), ""
        before = digest(before, segment.role, segment.key)
        found.append(before)
    return found


def total(segments: Iterable[Segment]) -> int:
    """Return what segments cost, in tokens."""
    return sum(segment.tokens for segment in segments)
