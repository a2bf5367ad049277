"""The reader of recorded conversations: one file or a directory, any of the forms below, told apart by structure.

- one conversation as JSONL: an OpenAI-style or Anthropic message, or an item or a response of Responses, on each line;
- many conversations as JSONL: `{"id", "messages": [...]}` on each line;
- a JSON array of messages, or of conversations;
- a JSON object `{"messages": [...]}`, with `"system"` beside it if it comes from Anthropic; or the input of Responses,
  `{"input": [...]}` and `"instructions"`;
- what a coding agent recorded, in any of the forms of `recordings.readers`.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.fields import kind, read_entries, read_usage
from squidbot.codecs.langchain import LangChain
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.codecs.recordings import START, readers
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.codecs.fields import JsonEntry
    from squidbot.codecs.recordings import RecordedMessage, RecordedSession
    from squidbot.core.messages import Message, Usage

__all__ = ["Conversation", "read_transcripts"]

_Codec: TypeAlias = AnthropicMessages | OpenAIChat | OpenAIResponses | PydanticAI | LangChain

_CODECS: Final[dict[str, _Codec]] = {
    codec.tag: codec for codec in (AnthropicMessages(), OpenAIChat(), OpenAIResponses(), PydanticAI(), LangChain())
}

# The reader of dumps in OpenAI's form: this module reads these itself, and says in which line they are wrong.
OWN: Final = "openai-dump"
# The limit on a session's id (see `ports.TranscriptStore`).
_LONGEST_ID_CHARS: Final = 1024

# Searched among values of any type: a set would refuse unhashable ones.
_OPENAI_ROLES: Final = ("developer", "function", "tool")
_ANTHROPIC_BLOCKS: Final = (
    "document",
    "image",
    "redacted_thinking",
    "server_tool_use",
    "thinking",
    "tool_result",
    "tool_use",
)
_OPENAI_KEYS: Final = frozenset({"function_call", "tool_call_id", "tool_calls"})
_RESPONSES_PARTS: Final = ("input_file", "input_image", "input_text", "output_text")
_ANTHROPIC_KEYS: Final = frozenset({"stop_reason", "stop_sequence"})


@dataclass(frozen=True, slots=True)
class Conversation:
    """One recorded conversation.

    Attributes:
        id: its own id; without one the file's name, with a number if the file holds several. A sub-agent's is that of
            its session, a slash, and its own.
        path: its file, as given.
        codec: the tag of the codec of all its messages.
        messages: the messages, in the order of the file.
        lines: for each message the first line of it, or of its conversation, in the file; from 1.
        sources: for each message its place in the recording from 0: among the file's non-blank lines if each line is a
            message, its line if an agent recorded it, else among the conversation's messages. Two messages made of one
            recorded message share it; a system text beside the messages has -1.
        usages: for each message the provider's report on its call; `None` without one.
        unanswered: the calls without a result, as (index of the message, id of the call), in order.
        skipped: entries of the recording that are no message of this conversation.
    """

    id: str
    path: str
    codec: str
    messages: tuple[Message, ...]
    lines: tuple[int, ...]
    sources: tuple[int, ...]
    usages: tuple[Usage | None, ...]
    unanswered: tuple[tuple[int, str], ...] = ()
    skipped: int = 0


class RawMessage(NamedTuple):
    """A message before its codec reads it: its JSON value, its text if the file has it alone, and its place."""

    value: object
    text: str | None
    line: int
    source: int
    place: str = ""


class RawTalk(NamedTuple):
    """A conversation before its codec reads it: its name, its first line, and the codec if its form says it."""

    name: str
    line: int
    messages: Sequence[RawMessage]
    codec: _Codec | None = None
    skipped: int = 0


def read_transcripts(path: str | pathlib.Path, *, strict: bool = True) -> list[Conversation]:
    """Return the conversations of a file, or of every *.jsonl and *.json file in a directory, in order of name.

    A tool result without an earlier, unanswered call is an error; with `strict=False` it stays.

    Raises:
        TranscriptError: a file can't be read as a transcript; the text says where, why and what to do.
    """
    found: list[Conversation] = []
    seen: set[str] = set()
    for file in _files(pathlib.Path(path)):
        for talk in _conversations(file, file.stem if file.stem not in seen else file.name):
            if talk.name in seen:
                raise TranscriptError(str(file), talk.line, f"the id {talk.name!r:.80} came before; give it another")
            seen.add(talk.name)
            found.append(_conversation(file, talk, strict=strict))
    if not any(conversation.messages for conversation in found):
        raise TranscriptError(str(path), None, "there is no message in it; a transcript holds at least one")
    return found


def _files(path: pathlib.Path) -> list[pathlib.Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in {".json", ".jsonl"} and file.is_file())
    if not files:
        raise TranscriptError(
            str(path), None, "no *.jsonl or *.json file is in this directory; name another, or a file"
        )
    return files


def _conversations(file: pathlib.Path, name: str) -> Iterator[RawTalk]:
    """Yield the conversations of a file."""
    reader = readers.reader_of(file) if file.is_file() else None
    if reader is not None and reader.NAME != OWN:
        yield from _recorded(reader.read(file), name)
        return
    entries = read_entries(file)
    first = entries[0]
    array = first.value if len(entries) == 1 and isinstance(first.value, list) else None
    raw = [_line(file, entry) for entry in entries] if array is None else _numbered(first.line, array)
    values = [one.value for one in raw]
    if any(map(_holds_messages, values)):
        is_alone = array is None and len(raw) == 1
        for one in raw:
            yield RawTalk(*_named(file, name if is_alone else f"{name}-{one.source + 1}", one.line, one.value))
    else:
        yield RawTalk(name, first.line, raw)


def _recorded(sessions: Sequence[RecordedSession], name: str) -> Iterator[RawTalk]:
    """Yield what is left of sessions that an agent recorded: of each the branch that is talked on, without summaries.

    A file's only session has the name of the file, as any conversation.
    """
    mains = [session for session in sessions if not session.parent]
    names = {session.id: name if len(mains) < 2 else session.id for session in mains or sessions[:1]}
    for session in sessions:
        parent = names.get(session.parent, session.parent)
        branch = _branch(session.messages)
        messages = [one for at, one in enumerate(branch) if not (at and one.is_summary)]
        yield RawTalk(
            names.get(session.id) or f"{parent}/{session.id}",
            next((one.line for one in messages), 1),
            [
                RawMessage(one.value, None, one.line or 1, one.line - 1 if one.line else at)
                for at, one in enumerate(messages)
            ],
            _CODECS[session.codec],
            session.unread.total() + len(session.messages) - len(messages),
        )


def _branch(messages: Sequence[RecordedMessage]) -> list[RecordedMessage]:
    """Return the newest message and those that it stands behind, the oldest first."""
    places = {message.id: at for at, message in enumerate(messages)}
    found: list[RecordedMessage] = []
    at = len(messages) - 1
    while at >= 0:
        message = messages[at]
        found.append(message)
        if message.parent == START:
            break
        behind = places.get(message.parent or "", at)
        # A link forwards would never end.
        at = behind if behind < at else at - 1
    return found[::-1]


def _line(file: pathlib.Path, entry: JsonEntry) -> RawMessage:
    if not isinstance(entry.value, dict):
        wrong = f"the line is {kind(entry.value)}; expected an object: a message or a conversation"
        raise TranscriptError(str(file), entry.line, wrong)
    return RawMessage(entry.value, entry.text, entry.line, entry.index)


def _holds_messages(value: object) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    return "messages" in value or isinstance(value.get("input"), list)


def _numbered(line: int, values: Sequence[object]) -> list[RawMessage]:
    return [RawMessage(value, None, line, at, f"message {at}: ") for at, value in enumerate(values)]


def _named(file: pathlib.Path, name: str, line: int, value: object) -> tuple[str, int, list[RawMessage]]:
    """Return the id, the line and the messages of a conversation in one object."""
    given = value.get("messages", value.get("input")) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(given, list):
        raise TranscriptError(str(file), line, 'messages must be a list: {"id": ..., "messages": [...]}')
    raw = _numbered(line, given)
    if text := value.get("system") or value.get("instructions"):
        raw = [RawMessage({"role": "system", "content": text}, None, line, -1, "system: "), *raw]
    own = value.get("id", name)
    own = name if own is None else own
    identifier = str(own) if isinstance(own, str | int) and not isinstance(own, bool) else ""
    if not 1 <= len(identifier) <= _LONGEST_ID_CHARS:
        raise TranscriptError(str(file), line, f"the id is not a string of 1 to {_LONGEST_ID_CHARS} characters")
    return identifier, line, raw


def _conversation(file: pathlib.Path, talk: RawTalk, *, strict: bool) -> Conversation:
    codec = talk.codec or _codec(talk.messages)
    raw = [*_regrouped(codec, talk.messages)]
    messages = tuple(_message(file, codec, one) for one in raw)
    return Conversation(
        id=talk.name,
        path=str(file),
        codec=codec.tag,
        messages=messages,
        lines=tuple(one.line for one in raw),
        sources=tuple(one.source for one in raw),
        usages=tuple(read_usage(one.value.get("usage")) if isinstance(one.value, dict) else None for one in raw),
        unanswered=_unanswered(file, raw, messages, strict=strict),
        skipped=talk.skipped,
    )


def _codec(raw: Iterable[RawMessage]) -> _Codec:
    """Return the codec whose marks the messages have; plain messages without any are OpenAI's."""
    values = [one.value for one in raw if isinstance(one.value, dict)]
    if any(map(_is_of_responses, values)):
        return OpenAIResponses()
    if any(value.get("role") in _OPENAI_ROLES or not _OPENAI_KEYS.isdisjoint(value) for value in values):
        return OpenAIChat()
    if any(not _ANTHROPIC_KEYS.isdisjoint(value) or _has_blocks(value.get("content")) for value in values):
        return AnthropicMessages()
    return OpenAIChat()


def _is_of_responses(value: dict[str, object]) -> bool:
    """Return whether a value is a response, or an item that no other form has."""
    if "role" not in value:
        return "call_id" in value or value.get("type") == "reasoning" or isinstance(value.get("output"), list)
    return _has_blocks(value.get("content"), _RESPONSES_PARTS)


def _has_blocks(content: object, types: Sequence[str] = _ANTHROPIC_BLOCKS) -> bool:
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") in types for block in blocks)


def _regrouped(codec: _Codec, raw: Iterable[RawMessage]) -> Iterator[RawMessage]:
    """Yield messages in the codec's units: Anthropic's results alone, the items of a step together."""
    if not isinstance(codec, OpenAIResponses):
        for one in raw:
            parts: list[dict[str, object]] = []
            if isinstance(codec, AnthropicMessages) and isinstance(one.value, dict):
                parts = codec.split(one.value)
            yield from [one._replace(value=part, text=None) for part in parts] if len(parts) > 1 else [one]
        return
    for is_made, run in groupby(raw, lambda one: _is_made(codec, one.value)):
        if is_made:
            step = [*run]
            yield step[0]._replace(value={"output": [one.value for one in step]}, text=None)
        else:
            yield from run


def _is_made(codec: OpenAIResponses, value: object) -> bool:
    try:
        return isinstance(value, dict) and codec.is_made(value)
    except ValueError:
        return False  # reading the value raises the error


def _message(file: pathlib.Path, codec: _Codec, raw: RawMessage) -> Message:
    try:
        if raw.text is not None:
            return codec.decode(raw.text)
        if not isinstance(raw.value, dict):
            raise TranscriptError(str(file), raw.line, f"{raw.place}is {kind(raw.value)}; expected an object")
        return codec.to_message(raw.value)
    except ValueError as error:
        raise TranscriptError(str(file), raw.line, f"{raw.place}{error}") from error


def _unanswered(
    file: pathlib.Path, raw: Sequence[RawMessage], messages: Sequence[Message], *, strict: bool
) -> tuple[tuple[int, str], ...]:
    """Return the calls that stay without a result; ids may recur once they are answered."""
    waiting: dict[str, list[int]] = {}
    answered: set[str] = set()
    for at, message in enumerate(messages):
        for result in message.results:
            if waiting.get(result):
                waiting[result].pop(0)
                answered.add(result)
            elif strict:
                wrong = "was answered before" if result in answered else "has no call before it"
                raise TranscriptError(
                    str(file), raw[at].line, f"{raw[at].place}tool result {result!r:.80} {wrong}; take it out"
                )
        for call in message.calls:
            waiting.setdefault(call.id, []).append(at)
    return tuple(sorted((at, call) for call, places in waiting.items() for at in places))
