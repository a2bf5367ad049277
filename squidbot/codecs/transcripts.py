"""The reader of recorded conversations: one file or a directory, any of the forms below, told apart by structure.

- one conversation as JSONL: an OpenAI-style or Anthropic message, or an item or a response of Responses, on each line;
- many conversations as JSONL: `{"id", "messages": [...]}` on each line;
- a JSON array of messages, or of conversations;
- a JSON object `{"messages": [...]}`, with `"system"` beside it where it comes from Anthropic; or what Responses is
  asked with, `{"input": [...]}` and `"instructions"`;
- a session that Claude Code recorded.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from squidbot.codecs import claude_code
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.fields import Entry, kind, read_entries, read_usage
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Message, Usage

__all__ = ["Conversation", "read_transcripts"]

_Codec: TypeAlias = AnthropicMessages | OpenAIChat | OpenAIResponses

# A session's id may be this long (see `ports.TranscriptStore`).
_LONGEST_ID_CHARS: Final = 1024

# Looked for among values of any type: a set would refuse those that have no hash.
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
        id: its own id; without one the name of its file, with a number where the file holds several.
        path: the file it comes from, as it was given.
        codec: the tag of the codec of all its messages.
        messages: what was said, in the order of the file.
        lines: for each message the line of the file on which it, or the conversation that holds it, starts; from 1.
        sources: for each message its place in the recording from 0: among the file's lines that are not blank where
            each line is a message or an event, else among the conversation's messages. Two messages made of one
            recorded message share it; a system text beside the messages has -1.
        usages: for each message what its provider reported for the call that made it; None where nothing was.
        unanswered: the calls without a result, as (index of the message, id of the call), in order.
        skipped: events of the recording that are no message of this conversation.
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


@dataclass(frozen=True, slots=True)
class _Said:
    """A message before its codec read it: its JSON value, its text where the file has it alone, and where it stands."""

    value: object
    text: str | None
    line: int
    source: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation before its codec is known."""

    id: str
    line: int
    said: tuple[_Said, ...]
    skipped: int = 0


def read_transcripts(path: str | pathlib.Path, *, strict: bool = True) -> list[Conversation]:
    """Return the conversations of a file, or of every *.jsonl and *.json file in a directory, in order of name.

    A tool result whose call never came before it, or was answered already, is an error; with `strict=False` it stays.

    Raises:
        TranscriptError: a file can't be read as a transcript; the text says where, why and what to do.
    """
    found: list[Conversation] = []
    seen: set[str] = set()
    for file in _files(pathlib.Path(path)):
        for talk in _talks(file, file.stem if file.stem not in seen else file.name):
            if talk.id in seen:
                raise TranscriptError(str(file), talk.line, f"the id {talk.id!r:.80} came before; give it another")
            seen.add(talk.id)
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


def _talks(file: pathlib.Path, name: str) -> list[_Talk]:
    """Return the conversations of a file, before their messages are read."""
    entries = read_entries(file)
    if len(entries) == 1 and isinstance(entries[0].value, list):
        return _talks_in_list(file, name, entries[0].line, entries[0].value)
    values = [_as_object(file, entry) for entry in entries]
    if any(map(_holds_messages, values)):
        alone = len(entries) == 1
        return [_talk(file, name if alone else f"{name}-{e.index + 1}", e.line, e.value) for e in entries]
    if claude_code.is_session(values):
        found, skipped = claude_code.messages(values)
        return [_Talk(name, 1, tuple(_Said(value, None, entries[at].line, at) for at, value in found), skipped)]
    return [_Talk(name, 1, tuple(_Said(entry.value, entry.text, entry.line, entry.index) for entry in entries))]


def _talks_in_list(file: pathlib.Path, name: str, line: int, values: list[object]) -> list[_Talk]:
    if any(map(_holds_messages, values)):
        return [_talk(file, f"{name}-{number}", line, value) for number, value in enumerate(values, 1)]
    return [_Talk(name, line, _said(line, values))]


def _as_object(file: pathlib.Path, entry: Entry) -> dict[str, object]:
    if isinstance(entry.value, dict):
        return entry.value
    wrong = f"the line is {kind(entry.value)}; it is an object: a message or a conversation"
    raise TranscriptError(str(file), entry.line, wrong)


def _holds_messages(value: object) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    return "messages" in value or isinstance(value.get("input"), list)


def _said(line: int, values: Sequence[object]) -> tuple[_Said, ...]:
    return tuple(_Said(value, None, line, at, f"message {at}: ") for at, value in enumerate(values))


def _talk(file: pathlib.Path, name: str, line: int, value: object) -> _Talk:
    given = value.get("messages", value.get("input")) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(given, list):
        raise TranscriptError(str(file), line, 'a conversation is {"id": ..., "messages": [...]}; messages is no list')
    said = _said(line, given)
    if text := value.get("system") or value.get("instructions"):
        system = {"role": "system", "content": text}
        said = (_Said(system, None, line, -1, "system: "), *said)
    return _Talk(_id(file, name, line, value.get("id")), line, said)


def _id(file: pathlib.Path, name: str, line: int, given: object) -> str:
    if given is None:
        return name
    text = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
    if not 1 <= len(text) <= _LONGEST_ID_CHARS:
        raise TranscriptError(str(file), line, f"the id is not a string of 1 to {_LONGEST_ID_CHARS} characters")
    return text


def _conversation(file: pathlib.Path, talk: _Talk, *, strict: bool) -> Conversation:
    codec = _codec(talk.said)
    if isinstance(codec, AnthropicMessages):
        talk = replace(talk, said=tuple(_split(codec, talk.said)))
    elif isinstance(codec, OpenAIResponses):
        talk = replace(talk, said=tuple(_steps(codec, talk.said)))
    messages = tuple(_message(file, codec, said) for said in talk.said)
    return Conversation(
        id=talk.id,
        path=str(file),
        codec=codec.tag,
        messages=messages,
        lines=tuple(said.line for said in talk.said),
        sources=tuple(said.source for said in talk.said),
        usages=tuple(
            read_usage(said.value.get("usage")) if isinstance(said.value, dict) else None for said in talk.said
        ),
        unanswered=_unanswered(file, talk.said, messages, strict=strict),
        skipped=talk.skipped,
    )


def _codec(said: Iterable[_Said]) -> _Codec:
    """Return the codec whose marks the messages bear; the plain ones, that bear none, are OpenAI's."""
    values = [one.value for one in said if isinstance(one.value, dict)]
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


def _split(codec: AnthropicMessages, said: Iterable[_Said]) -> Iterable[_Said]:
    for one in said:
        parts = codec.split(one.value) if isinstance(one.value, dict) else []
        if len(parts) > 1:
            yield from (_Said(part, None, one.line, one.source, one.place) for part in parts)
        else:
            yield one


def _steps(codec: OpenAIResponses, said: Iterable[_Said]) -> Iterable[_Said]:
    """Yield what the model made in a row as one message: a step."""
    made: list[_Said] = []
    for one in said:
        if _is_made(codec, one.value):
            made.append(one)
            continue
        yield from _step(made)
        made = []
        yield one
    yield from _step(made)


def _is_made(codec: OpenAIResponses, value: object) -> bool:
    try:
        return isinstance(value, dict) and codec.is_made(value)
    except ValueError:
        return False  # what is wrong with it is told where it is read


def _step(made: Sequence[_Said]) -> Iterable[_Said]:
    if made:
        yield replace(made[0], value={"output": [one.value for one in made]}, text=None)


def _message(file: pathlib.Path, codec: _Codec, said: _Said) -> Message:
    try:
        if said.text is not None:
            return codec.decode(said.text)
        if not isinstance(said.value, dict):
            raise TranscriptError(str(file), said.line, f"{said.place}is {kind(said.value)}; a message is an object")
        return codec.to_message(said.value)
    except ValueError as error:
        raise TranscriptError(str(file), said.line, f"{said.place}{error}") from error


def _unanswered(
    file: pathlib.Path, said: Sequence[_Said], messages: Sequence[Message], *, strict: bool
) -> tuple[tuple[int, str], ...]:
    """Return the calls that stay without a result; ids may come again once they are answered."""
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
                    str(file), said[at].line, f"{said[at].place}tool result {result!r:.80} {wrong}; take it out"
                )
        for call in message.calls:
            waiting.setdefault(call.id, []).append(at)
    return tuple(sorted((at, call) for call, places in waiting.items() for at in places))
