"""What tests of every codec need: parts of a request, and the promises that hold in each form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from squidbot.core.messages import Cost, Kind, Message, Part

if TYPE_CHECKING:
    from squidbot.core.ports import Codec

# Stands wherever a payload can hold text, and nowhere in what tombstones are made of.
MARK = "WALRUS"
COST = Cost(1, 1)


def verbatim(message: Message, notice: str | None = None, *, stale: bool = False) -> Part:
    """Return the part of a request that is one message as it was said."""
    return Part(
        Kind.MESSAGE, message.role, COST, 0, 0, message.payload, message.codec, notice=notice, drop_thinking=stale
    )


def slimmed(message: Message, text: str | None, arguments: tuple[str, ...] | None = None) -> Part:
    """Return the part of a request that is one message cut down."""
    return Part(Kind.SLIMMED, message.role, COST, 0, 0, message.payload, message.codec, text, arguments)


def check_stored(codec: Codec, message: Message) -> None:
    """Check that the index can be made again from what is stored."""
    assert codec.decode(message.payload) == message
    assert codec.text(message.payload) == message.text
    assert codec.extra_tokens(message.payload) >= 0
    assert message.payload.encode()


def check_tombstone(codec: Codec, payload: str, text: str) -> Message:
    """Check that nothing but names is left of what is forgotten, and return what is."""
    said = codec.decode(payload)
    left = codec.decode(codec.tombstone(payload, text))
    assert MARK not in json.dumps(json.loads(left.payload), ensure_ascii=False)
    assert (left.role, left.results, left.text) == (said.role, said.results, text)
    assert (left.time, left.category) == (said.time, said.category)
    assert [(call.id, call.name, call.arguments) for call in left.calls] == [(c.id, c.name, "{}") for c in said.calls]
    assert codec.extra_tokens(left.payload) == 0
    assert codec.tombstone(left.payload, text) == left.payload
    return left


def check_cut(codec: Codec, payload: str, text: str) -> None:
    """Check that a digest takes the place of the words, and shorter arguments that of those that were said."""
    said = codec.decode(payload)
    cut = codec.decode(codec.encode(slimmed(said, text)))
    assert (cut.text, cut.calls, cut.results) == (text, said.calls, said.results)
    short = codec.decode(codec.encode(verbatim(said)._replace(arguments=('{"a":1}',) * len(said.calls))))
    assert [json.loads(call.arguments) for call in short.calls] == [{"a": 1}] * len(said.calls)


def check_refused(codec: Codec, wrong: str, why: str) -> None:
    """Check that what is no message is refused in words that say what is wrong."""
    with pytest.raises(ValueError, match=why):
        codec.decode(wrong)
