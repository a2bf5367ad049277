"""A recorded conversation, and the requests of its replay, as blocks of text, as a model would read them.

Blocks of a request come from the exact payloads that would be sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.messages import Cost, Kind, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.ports import Codec
    from squidbot.core.view.assembly import CoreAssembly

CODECS: Mapping[str, Codec] = {
    codec.tag: codec for codec in (OpenAIChat(), AnthropicMessages(), OpenAIResponses(), PydanticAI(), LangChain())
}
# The time between two messages without times; the scorer of dumps assumes the same.
ASSUMED_STEP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """One message of a request, or one of the tool results that a message carries.

    Attributes:
        role: the role that the provider sees.
        kind: a value of `Kind`.
        text: its text for the model, with tool calls as lines `name arguments`.
        source: the places in the recording, from 0, of its original messages; empty for none.
        tool_calls: the ids of the calls it makes.
        tool_result: the id of the call it answers; None for none.
    """

    role: str
    kind: str
    text: str
    source: tuple[int, ...] = ()
    tool_calls: tuple[str, ...] = ()
    tool_result: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A conversation as blocks, one or more for each message, with the time of each message in seconds."""

    messages: tuple[tuple[RequestBlock, ...], ...]
    times: tuple[float, ...]

    @property
    def calls(self) -> list[int]:
        """The places of assistant messages after another message: each answered one model call."""
        return [at for at, blocks in enumerate(self.messages) if at and blocks[0].role == "assistant"]


class Reader:
    """Reads the requests of one conversation as blocks. It reads a part that stays in later requests only once."""

    def __init__(self, conversation: Conversation, codecs: Mapping[str, Codec]) -> None:
        """Take the conversation, whose places become sources, and the codecs of its payloads by tag."""
        self._sources = conversation.sources
        self._codecs = codecs
        self._known: dict[Part, tuple[RequestBlock, ...]] = {}

    def blocks(self, assembly: CoreAssembly) -> tuple[RequestBlock, ...]:
        """Return a request as blocks, in order."""
        sent = {part.first_seq for part in assembly.parts if part.first_seq == part.last_seq}
        found: list[RequestBlock] = []
        for part in assembly.parts:
            if part.payload is None and part.first_seq < part.last_seq:
                # Notes and pointers replace the messages of their run that are not sent themselves.
                found.append(self._written(part, (seq for seq in _run(part) if seq not in sent)))
                continue
            found += self.of(part)
        return tuple(found)

    def of(self, part: Part) -> tuple[RequestBlock, ...]:
        """Return one part as blocks, in order."""
        if part not in self._known:
            self._known[part] = self.verbatim(part) if part.payload is not None else (self._written(part),)
        return self._known[part]

    def verbatim(self, part: Part) -> tuple[RequestBlock, ...]:
        """Return a part with the payload that would be sent: encoded and decoded again."""
        codec = self._codecs[part.codec or ""]
        sent, places = codec.encode(part), self._places(_run(part))
        if len(part.result_ids) > 1:
            return tuple(_results(part, sent, codec, places))
        result = part.result_ids[0] if part.result_ids else None
        return (RequestBlock(part.role, part.kind.value, rendered(codec, sent), places, part.call_ids, result),)

    def _written(self, part: Part, seqs: Iterable[int] | None = None) -> RequestBlock:
        return RequestBlock(
            part.role, part.kind.value, part.text or "", self._places(_run(part) if seqs is None else seqs)
        )

    def _places(self, seqs: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted({self._sources[seq] for seq in seqs if self._sources[seq] >= 0}))


def recording_of(conversation: Conversation, reader: Reader) -> Recording:
    """Return a conversation as blocks. A message without a time comes 8 seconds after the one before it."""
    times: list[float] = []
    messages = []
    for seq, message in enumerate(conversation.messages):
        assumed = times[-1] + ASSUMED_STEP_SECONDS if times else 0.0
        times.append(assumed if message.time is None else message.time)
        part = Part(
            kind=Kind.SYSTEM if message.role == "system" else Kind.MESSAGE,
            role=message.role,
            cost=Cost(0, 0),
            first_seq=seq,
            last_seq=seq,
            payload=message.payload,
            codec=message.codec,
            call_ids=tuple(call.id for call in message.calls),
            result_ids=message.results,
        )
        messages.append(reader.verbatim(part))
    return Recording(tuple(messages), tuple(times))


def with_system_text(conversation: Conversation, text: str) -> Conversation:
    """Return a conversation with a text after its first system messages; the text is not part of the recording."""
    messages = conversation.messages
    at = next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))
    line = conversation.lines[min(at, len(messages) - 1)]
    message = CODECS[conversation.codec].to_message({"role": "system", "content": text})
    return replace(
        conversation,
        messages=(*messages[:at], message, *messages[at:]),
        lines=(*conversation.lines[:at], line, *conversation.lines[at:]),
        sources=(*conversation.sources[:at], -1, *conversation.sources[at:]),
        usages=(*conversation.usages[:at], None, *conversation.usages[at:]),
        unanswered=tuple((place + (place >= at), call) for place, call in conversation.unanswered),
    )


def _run(part: Part) -> range:
    return range(part.first_seq, part.last_seq + 1) if part.first_seq >= 0 else range(0)


def rendered(codec: Codec, sent: str) -> str:
    """Return the text of a sent payload for the model: a message, or the items of a step."""
    value = jsontext.parse(sent)
    return codec.decode(jsontext.write({"output": value}) if isinstance(value, list) else sent).rendered


def _results(part: Part, sent: str, codec: Codec, places: tuple[int, ...]) -> Iterator[RequestBlock]:
    """Yield a block for each tool result of a message with several, as Anthropic's have."""
    value = jsontext.parse(sent)
    content = value.get("content") if isinstance(value, dict) else None
    items: list[object] = content if isinstance(content, list) else []
    results = [item for item in items if isinstance(item, dict) and item.get("type") == "tool_result"]
    for identifier, item in zip(part.result_ids, results, strict=True):
        alone = codec.decode(jsontext.write({"role": "user", "content": [item]}))
        yield RequestBlock(part.role, part.kind.value, alone.rendered, places, (), identifier)
    if beside := [item for item in items if item not in results]:
        alone = codec.decode(jsontext.write({"role": "user", "content": beside}))
        yield RequestBlock("user", part.kind.value, alone.rendered, places)
