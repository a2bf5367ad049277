"""What a request holds, as text: its parts read back from the very payloads that would be sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from squidbot.codecs import jsontext
from squidbot.core.messages import Cost, Kind, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.ports import Codec
    from squidbot.core.view.assembly import Assembly

__all__ = ["Block", "Reader", "Recording", "recording_of"]

# Between two messages without a time; as the scorer of dumps assumes it.
ASSUMED_STEP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Block:
    """One message of a request, or one of the tool results that a message carries.

    Attributes:
        role: whose turn it is for the provider.
        kind: a value of `Kind`.
        text: what the model reads of it, tool calls as lines `name arguments`.
        source: the places in the recording, from 0, of what it stands for; empty for none.
        tool_calls: the ids of the calls it makes.
        tool_result: the id of the call it answers; None where it answers none.
    """

    role: str
    kind: str
    text: str
    source: tuple[int, ...] = ()
    tool_calls: tuple[str, ...] = ()
    tool_result: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A conversation as blocks: what was said, each message as one block or more, and when, in seconds."""

    said: tuple[tuple[Block, ...], ...]
    times: tuple[float, ...]

    @property
    def calls(self) -> list[int]:
        """The places of the assistant's messages that something stands before: each answered one model call."""
        return [at for at, blocks in enumerate(self.said) if at and blocks[0].role == "assistant"]


class Reader:
    """Reads requests of one conversation. A part that stays from request to request is read once."""

    def __init__(self, conversation: Conversation, codecs: Mapping[str, Codec]) -> None:
        """Take the conversation, whose places become sources, and the codecs of its payloads by tag."""
        self._sources = conversation.sources
        self._codecs = codecs
        self._known: dict[Part, tuple[Block, ...]] = {}
        self._ranges: dict[Part, tuple[Block, ...]] = {}
        self._plan_id: int | None = None

    def blocks(self, assembly: Assembly) -> tuple[Block, ...]:
        """Return the request as blocks, in order."""
        plan_id = assembly.plan.plan_id if assembly.plan else None
        if plan_id != self._plan_id:
            self._ranges, self._plan_id = {}, plan_id
        return tuple(block for part in assembly.parts for block in self._read(part, assembly.parts))

    def said(self, conversation: Conversation) -> tuple[tuple[Block, ...], ...]:
        """Return every message of the conversation as it was said."""
        return tuple(
            self._verbatim(
                Part(
                    kind=Kind.SYSTEM if message.role == "system" else Kind.MESSAGE,
                    role=message.role,
                    cost=Cost(0, 0),
                    first_seq=seq,
                    last_seq=seq,
                    payload=message.payload,
                    codec=message.codec,
                    call_ids=tuple(call.id for call in message.calls),
                    result_ids=message.results,
                ),
            )
            for seq, message in enumerate(conversation.messages)
        )

    def _read(self, part: Part, request: Sequence[Part]) -> tuple[Block, ...]:
        if part.payload is None and part.first_seq < part.last_seq:
            if part not in self._ranges:
                self._ranges[part] = self._standing_for(part, request)
            return self._ranges[part]
        if part not in self._known:
            self._known[part] = self._verbatim(part) if part.payload is not None else (self._made(part),)
        return self._known[part]

    def _standing_for(self, part: Part, request: Sequence[Part]) -> tuple[Block, ...]:
        """Return a summary or a pointer; its sources are the messages of its run that are not sent themselves."""
        sent = {one.first_seq for one in request if one.first_seq == one.last_seq}
        hidden = (seq for seq in range(part.first_seq, part.last_seq + 1) if seq not in sent)
        return (replace(self._made(part), source=self._places(hidden)),)

    def _made(self, part: Part) -> Block:
        return Block(part.role, part.kind.value, part.text or "", self._places(_run(part)))

    def _verbatim(self, part: Part) -> tuple[Block, ...]:
        """Return a part with a payload as it is sent: encoded, and read back from that."""
        codec = self._codecs[part.codec or ""]
        sent = codec.encode(part)
        places = self._places(_run(part))
        if len(part.result_ids) > 1:
            return tuple(_answers(part, sent, codec, places))
        result = part.result_ids[0] if part.result_ids else None
        return (Block(part.role, part.kind.value, _rendered(codec, sent), places, part.call_ids, result),)

    def _places(self, seqs: Iterator[int] | range) -> tuple[int, ...]:
        return tuple(sorted({self._sources[seq] for seq in seqs if self._sources[seq] >= 0}))


def recording_of(conversation: Conversation, reader: Reader) -> Recording:
    """Return a conversation as blocks. A message without a time is taken to come 8 seconds after the one before it."""
    times: list[float] = []
    for message in conversation.messages:
        assumed = times[-1] + ASSUMED_STEP_SECONDS if times else 0.0
        times.append(assumed if message.time is None else message.time)
    return Recording(reader.said(conversation), tuple(times))


def _run(part: Part) -> range:
    return range(part.first_seq, part.last_seq + 1) if part.first_seq >= 0 else range(0)


def _rendered(codec: Codec, sent: str) -> str:
    """Return what the model reads of a payload that is sent: a message, or the items of a step."""
    value = jsontext.parse(sent)
    return codec.decode(jsontext.write({"output": value}) if isinstance(value, list) else sent).rendered


def _answers(part: Part, sent: str, codec: Codec, places: tuple[int, ...]) -> Iterator[Block]:
    """Yield a block for each tool result of a message that carries several, as Anthropic's do."""
    content = _content(sent)
    results = [item for item in content if isinstance(item, dict) and item.get("type") == "tool_result"]
    for identifier, item in zip(part.result_ids, results, strict=True):
        alone = codec.decode(jsontext.write({"role": "user", "content": [item]}))
        yield Block(part.role, part.kind.value, alone.rendered, places, (), identifier)
    beside = [item for item in content if item not in results]
    if beside:
        alone = codec.decode(jsontext.write({"role": "user", "content": beside}))
        yield Block("user", part.kind.value, alone.rendered, places)


def _content(payload: str) -> list[object]:
    value = jsontext.parse(payload)
    content = value.get("content") if isinstance(value, dict) else None
    return content if isinstance(content, list) else []
