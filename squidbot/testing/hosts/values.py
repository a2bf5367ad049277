"""What a host's fake model is sent and says, in words that fit every host."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Role, Usage

__all__ = ["Call", "Heard", "Request", "Sent", "Signed", "Step", "ToolFailed", "to_json"]

# About as many characters of English as a token has: by this the fake model counts.
TOKEN_BYTES = 4


class ToolFailed(Exception):  # noqa: N818  # it is the tool's outcome, told to the model
    """The tool `look` has failed: the driver has the host tell it to the model as its hosts do, as a result."""


@dataclass(frozen=True)
class Call:
    """A call of a tool that the fake model makes. `name` is "look", or that of a tool of squidbot's."""

    name: str
    arguments: Mapping[str, object]
    call_id: str


@dataclass(frozen=True)
class Step:
    """What the fake model does when it is asked.

    Attributes:
        text: what it says; where it is streamed, in pieces of 40 characters.
        calls: tools that it calls, all at once.
        error: what the driver raises in its place, as the host's models do: "failed" for a server that fails,
            "too_long" for the provider's refusal of a request that does not fit.
        pieces: how many pieces of a streamed text come before `error`, or before the model is held.
        is_held: it comes to no end: the driver calls `Model.hold`, or awaits `Model.ahold`, behind `pieces`.
        usage: what the provider reports; `Model.hear` fills in what the fake model counts where a script says nothing.
        native: the host's own reply, sent as it is, in place of all that; it is that of `Host.signed`.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    error: Literal["", "failed", "too_long"] = ""
    pieces: int = 0
    is_held: bool = False
    usage: Usage | None = None
    native: object = None

    def chunks(self) -> list[str]:
        """Return the text as it is streamed; only what comes of it."""
        made = [self.text[at : at + 40] for at in range(0, len(self.text), 40)]
        return made[: self.pieces] if self.error or self.is_held else made


@dataclass(frozen=True)
class Sent:
    """One message of a request, or one item where a host sends items.

    Attributes:
        role: whose it is; "tool" for results, whatever the host calls them.
        text: the words, of results, too.
        call_ids, result_ids: which calls it makes, and of which calls it brings results.
        wire: all that a provider gets of it, the same bytes for the same words: what is compared and counted.
        opaque: what of it only its provider can read (signatures, encrypted content, unknown parts), as text.
    """

    role: Role
    text: str
    call_ids: tuple[str, ...]
    result_ids: tuple[str, ...]
    wire: bytes
    opaque: str = ""


@dataclass(frozen=True)
class Request:
    """One request to the fake model.

    Attributes:
        messages: all that is sent as messages, system messages where they stand.
        system: system text that is sent beside them.
        tools: names, descriptions and schemas, as they are sent.
        faults: rules of the host's own form that it breaks, as its driver found (V2, V3).
        is_streamed: the host asked for a stream.
        has_items: calls are items of their own, so that several of them stand side by side.
    """

    messages: tuple[Sent, ...]
    system: str = ""
    tools: bytes = b""
    faults: tuple[str, ...] = ()
    is_streamed: bool = False
    has_items: bool = False

    @property
    def wires(self) -> list[bytes]:
        """What is compared: system text and tools first, since they stand at the front of what a cache holds."""
        return [self.system.encode(), self.tools, *(each.wire for each in self.messages)]

    @property
    def tokens(self) -> int:
        """What the fake model counts: four bytes a token, all of it."""
        return sum(map(len, self.wires)) // TOKEN_BYTES


@dataclass(frozen=True)
class Heard:
    """What a script goes by.

    Attributes:
        text: what the user said last; "" where the last message is none of the user's.
        results: the results of tools at the end of the request.
        number: which request of the program this is, from 1.
        request: the request itself.
    """

    text: str
    results: tuple[str, ...]
    number: int
    request: Request


@dataclass(frozen=True)
class Signed:
    """A reply of the host's own form with parts that only its provider can read.

    Attributes:
        native: the reply, or what the driver makes it from.
        opaque: what `Sent.opaque` is wherever the reply is sent as it was.
        left: what it is where the reply's reasoning is left out: parts that are unknown are not.
    """

    native: object
    opaque: str
    left: str = ""


def to_json(value: object) -> bytes:
    """Return a value as JSON that is the same for the same value: for `Sent.wire`, for schemas of tools."""
    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    return dict(vars(value)) if hasattr(value, "__dict__") else repr(value)
