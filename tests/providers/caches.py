"""Prompt caches: what is kept, for how long, from where, and what it is billed at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .segments import THINKING, blocks_of, chain, total
from .turns import Broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Clock, Json, Model
    from .segments import Segment

MOST_BREAKPOINTS = 4
# A breakpoint looks for what is kept at its own place and 19 before it.
LOOK_BACK_BLOCKS = 20
TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}


class Bill(NamedTuple):
    """What a request's input costs, in tokens: not cached, read, written for five minutes, written for an hour."""

    plain: int
    read: int = 0
    short: int = 0
    long: int = 0

    @property
    def usage(self) -> Json:
        """The bill as Anthropic writes it."""
        return {
            "input_tokens": self.plain,
            "cache_creation_input_tokens": self.short + self.long,
            "cache_read_input_tokens": self.read,
            "cache_creation": {"ephemeral_5m_input_tokens": self.short, "ephemeral_1h_input_tokens": self.long},
        }


@dataclass
class _Kept:
    until: float
    seconds: float


@dataclass
class PrefixCache:
    """Anthropic's cache: whole prefixes, each ending at a breakpoint, each until its time has passed."""

    clock: Clock
    kept: dict[str, _Kept] = field(default_factory=dict)

    def charge(self, segments: Sequence[Segment], salt: str, later: str, model: Model) -> Bill:
        """Return the bill of a request that is answered, and keep what it marks."""
        marks = [at for at, segment in enumerate(segments) if segment.ttl]
        digests = chain(segments, salt, later)
        hit = self._hit(marks, digests)
        read = total(segments[: hit + 1])
        ends = {"1h": hit, "5m": hit}
        for at in marks:
            ttl = segments[at].ttl or "5m"
            if total(segments[: at + 1]) >= model.least_cached:
                self._keep(digests[at], TTL_SECONDS[ttl])
                ends[ttl] = max(at, ends[ttl])
        long_end = max(hit, ends["1h"])
        last = max(long_end, ends["5m"])
        written = total(segments[hit + 1 : long_end + 1]), total(segments[long_end + 1 : last + 1])
        return Bill(total(segments[last + 1 :]), read, written[1], written[0])

    def _hit(self, marks: Sequence[int], digests: Sequence[str]) -> int:
        """Return the last place that is kept and in sight of a breakpoint; -1 for none. Using it keeps it longer."""
        for mark in reversed(marks):
            for at in range(mark, max(-1, mark - LOOK_BACK_BLOCKS), -1):
                found = self.kept.get(digests[at])
                if found is not None and found.until > self.clock.now:
                    found.until = self.clock.now + found.seconds
                    return at
        return -1

    def _keep(self, key: str, seconds: float) -> None:
        found = self.kept.get(key)
        if found is not None and found.until > self.clock.now:
            seconds = max(seconds, found.seconds)
        self.kept[key] = _Kept(self.clock.now + seconds, seconds)


def marked(body: Json) -> Json:
    """Return a request with its breakpoints where they stand: one at the top goes behind the last piece.

    Raises:
        Broken: there are more than four, one stands where none may, or a short one before a long one.
    """
    top = body.get("cache_control")
    marks = list(_marks(body))
    if len(marks) + (top is not None) > MOST_BREAKPOINTS:
        raise Broken(
            f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found"
            f" {len(marks) + (top is not None)}."
        )
    ttls = [ttl for _, ttl in marks]
    if "1h" in ttls[ttls.index("5m") :] if "5m" in ttls else False:
        place = next(path for path, ttl in reversed(marks) if ttl == "1h")
        raise Broken(
            f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control"
            " block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        )
    return body if top is None else _with_last_marked(body, top)


def _marks(body: Json) -> list[tuple[str, str]]:
    """Return each breakpoint's path and time, in the order of reading."""
    tools, messages = body.get("tools", []), body["messages"]
    assert isinstance(tools, list)
    assert isinstance(messages, list)
    places = [(f"tools.{number}", tool) for number, tool in enumerate(tools)]
    places += [(f"system.{number}", block) for number, block in enumerate(blocks_of(body.get("system", [])))]
    for number, message in enumerate(messages):
        for place, block in enumerate(blocks_of(message["content"])):
            path = f"messages.{number}.content.{place}"
            inner = block.get("content") if block["type"] == "tool_result" else None
            places += [(f"{path}.content.{n}", one) for n, one in enumerate(inner)] if isinstance(inner, list) else []
            places.append((path, block))
    found = [(path, block) for path, block in places if isinstance(block.get("cache_control"), dict)]
    for path, block in found:
        if block.get("type") == "text" and not block["text"]:
            raise Broken(f"{path}.cache_control: cache_control cannot be set for empty text blocks")
    return [(path, str(block["cache_control"].get("ttl", "5m"))) for path, block in found]


def _with_last_marked(body: Json, mark: object) -> Json:
    messages = body["messages"]
    assert isinstance(messages, list)
    blocks = [dict(block) for block in blocks_of(messages[-1]["content"])]
    for block in reversed(blocks):
        if block["type"] not in THINKING and block.get("text") != "":
            block["cache_control"] = mark
            break
    return {**body, "messages": [*messages[:-1], {**messages[-1], "content": blocks}]}


# -- OpenAI -----------------------------------------------------------------------------------------------------------

LEAST_TOKENS, STEP_TOKENS = 1_024, 128
IN_MEMORY_SECONDS = 300.0


@dataclass
class AutomaticCache:
    """OpenAI's cache: the longest beginning that a prompt shares with one before it, in steps of 128 tokens."""

    clock: Clock
    kept: dict[tuple[str, ...], float] = field(default_factory=dict)

    def read(self, segments: Sequence[Segment], salt: str) -> int:
        """Return the tokens of a prompt that are read from the cache, and keep all of it."""
        keys = (salt, *(f"{segment.role}\0{segment.key}" for segment in segments))
        alive = {prompt for prompt, until in self.kept.items() if until > self.clock.now}
        best: tuple[str, ...] = max(alive, key=lambda prompt: _shared(prompt, keys), default=())
        shared = _shared(best, keys)
        tokens = total(segments[: shared - 1]) if shared else 0
        cached = tokens // STEP_TOKENS * STEP_TOKENS if tokens >= LEAST_TOKENS else 0
        if cached:
            self.kept[best] = self.clock.now + IN_MEMORY_SECONDS
        if total(segments) >= LEAST_TOKENS:
            self.kept[keys] = self.clock.now + IN_MEMORY_SECONDS
        return cached


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return how many keys two prompts have in common at their beginning."""
    number = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        number += 1
    return number
