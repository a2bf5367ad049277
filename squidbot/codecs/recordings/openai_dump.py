"""Dumps of messages in OpenAI's forms, and the conversations that ChatGPT exports.

- a list of messages of Chat Completions, or items of Responses; or one of them on each line;
- a conversation, an object with `messages`, or with `input` of Responses; a list of them, or one on each line;
- `conversations.json` of ChatGPT's export: the messages of each are a tree, `mapping`, of which the user sees one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.recordings import START, chat
from squidbot.codecs.recordings.builder import (
    GrowingFile,
    MessageSource,
    SessionBuilder,
    dump_name,
    finished,
    place_name,
)
from squidbot.codecs.recordings.values import get, items, label, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "openai-dump"

_ROLES: Final = ("assistant", "developer", "function", "system", "tool", "user")
_SAID: Final = ("content", "tool_calls", "function_call")
_RESPONSES_PARTS: Final = ("input_file", "input_image", "input_text", "output_text")
# Blocks of Anthropic's messages, which have the same roles.
_OTHERS_BLOCKS: Final = ("tool_result", "tool_use", "thinking", "redacted_thinking", "document", "image")
_RESPONSES: Final = OpenAIResponses()


class _Given(NamedTuple):
    """A value of a file and its line, 0 if the file has none."""

    value: object
    line: int = 0


def is_form(values: Sequence[object]) -> bool:
    """Return whether these are the first values of such a dump: all are messages, or all conversations."""
    first = values[0] if values else None
    given = first[:20] if isinstance(first, list) else values[:20]
    if not given:
        return False
    return all(map(_is_message, given)) or all(_is_tree(each) or bool(_messages(each)) for each in given)


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG001  # as every reader
    """Yield nothing: dumps are where somebody put them."""
    yield from ()


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return the sessions of a dump; a file with a message on each line has a position.

    Raises:
        TranscriptError: the file can't be read, or is no such dump.
    """
    file = GrowingFile(path, start)
    if file.is_read:
        return []
    given = [_Given(*each) for each in file.values()]
    if any(_is_message(each.value) for each in given):
        made = _listed(dump_name(path), given, "")
        return finished([made], file, is_over=is_over, grows=made.session.codec == _RESPONSES.tag)
    found: list[SessionBuilder] = []
    odd: list[int] = []
    for at, each in enumerate(given):
        number = at if len(given) > 1 else None
        if _is_tree(each.value):
            found.append(_tree(mapping(each.value), dump_name(path, _own(each.value), number)))
        elif messages := _messages(each.value):
            model = text(get(each.value, "model"))
            named = dump_name(path, get(each.value, "id"), number)
            found.append(_listed(named, [_Given(message, each.line) for message in messages], model))
        else:
            odd.append(each.line)
    if not found:
        raise TranscriptError(str(path), None, "is no dump of OpenAI's messages: it has no messages")
    for line in odd:
        found[0].count("unknown entries", line)
    # A conversation on a line is whole.
    return finished(found, file, is_over=is_over or file.has_lines)


def _own(tree: object) -> object:
    return get(tree, "conversation_id") or get(tree, "id")


# -- messages in a list -----------------------------------------------------------------------------------------------


def _is_message(value: object) -> bool:
    """Return whether a value is a message of Chat Completions, or an item of Responses; not one of Anthropic's."""
    if not isinstance(value, dict) or "parts" in value:
        return False
    blocks = items(value.get("content"))
    if any(get(block, "type") in _OTHERS_BLOCKS for block in blocks):
        return False
    return (value.get("role") in _ROLES and any(key in value for key in _SAID)) or _is_item(value)


def _is_item(value: Mapping[str, object]) -> bool:
    """Return whether a value is an item of Responses, or a response, that no other form has."""
    if value.get("object") == "response":
        return True
    if any(get(part, "type") in _RESPONSES_PARTS for part in items(value.get("content"))):
        return value.get("role") in _ROLES
    what = text(value.get("type"))
    return what == "reasoning" or (isinstance(value.get("call_id"), str) and what.endswith(("_call", "_output")))


def _messages(value: object) -> list[object]:
    """Return the messages of a conversation in one object; none if it is none."""
    if not isinstance(value, dict) or "role" in value:
        return []
    given = value.get("messages", value.get("input"))
    if isinstance(given, str) and ("model" in value or "instructions" in value):
        given = [{"role": "user", "content": given}]
    listed = items(given)
    if not any(map(_is_message, listed[:20])):
        return []
    if isinstance(told := value.get("instructions"), str) and told and "input" in value:
        listed = [{"role": "system", "content": told}, *listed]
    return [*listed, *items(value.get("output"))]


def _listed(name: str, given: Iterable[_Given], model: str) -> SessionBuilder:
    """Return the session of messages in a list."""
    listed = [*given]
    if any(isinstance(each.value, dict) and _is_item(each.value) for each in listed):
        return _stepped(name, listed, model)
    made = SessionBuilder(NAME, chat.CODEC, name)
    for at, (value, line) in enumerate(listed):
        if not isinstance(value, dict) or value.get("role") not in _ROLES:
            made.count("unknown entries", line)
            continue
        made.add(place_name(at, value), value, _source(value, line, model))
    return made


def _source(value: dict[str, object], line: int, model: str) -> MessageSource:
    stamp = next((value[key] for key in ("timestamp", "created_at", "created") if value.get(key) is not None), None)
    named = text(value.get("model")) or (model if value.get("role", "assistant") == "assistant" else "")
    return MessageSource(stamp=stamp, model=named, usage=value.get("usage"), line=line)


def _stepped(name: str, given: Sequence[_Given], model: str) -> SessionBuilder:
    """Return the session of items of Responses: those of one answer are one message."""
    made = SessionBuilder(NAME, _RESPONSES, name)
    step: list[tuple[int, _Given]] = []
    for at, each in enumerate(given):
        if (is_made := _is_made(each.value)) is None:
            made.count("unknown entries", each.line)
        elif is_made:
            step.append((at, each))
        else:
            _add_step(made, step, model)
            step = []
            value = mapping(each.value)
            made.add(place_name(at, value), value, _source(value, each.line, model))
    _add_step(made, step, model)
    return made


def _is_made(value: object) -> bool | None:
    """Return whether an item is the model's, and no response; `None` if it is no item."""
    try:
        return _RESPONSES.is_made(value) if isinstance(value, dict) else None
    except ValueError:
        return None


def _add_step(made: SessionBuilder, step: Sequence[tuple[int, _Given]], model: str) -> None:
    if not step:
        return
    at, (first, line) = step[0]
    source = _source(mapping(first), line, model)
    if not made.add(place_name(at, first), {"output": [each.value for _, each in step]}, source):
        for _, each in step[1:]:
            made.count("messages that cannot be read", each.line)


# -- ChatGPT ----------------------------------------------------------------------------------------------------------


def _is_tree(value: object) -> bool:
    return isinstance(get(value, "mapping"), dict) and ("title" in mapping(value) or "current_node" in mapping(value))


def _tree(value: dict[str, object], name: str) -> SessionBuilder:
    """Return a conversation of ChatGPT: each message behind the next one above it that says something."""
    made = SessionBuilder(NAME, chat.CODEC, name, has_branches=True)
    made.session.title = text(value.get("title"))
    nodes = mapping(value["mapping"])
    # By node: the message above its children, and the call that waits for its result there.
    above: dict[str, tuple[str, str]] = {}
    for own, parent in _ordered(nodes, text(value.get("current_node"))):
        before, call = above.get(parent, (START, ""))
        above[own] = _say(made, own, get(nodes[own], "message"), before, call)
    return made


def _ordered(nodes: dict[str, object], current: str) -> Iterator[tuple[str, str]]:
    """Yield each node and its parent, parents first; the line that the user sees is the last one."""
    parents = {own: text(get(node, "parent")) for own, node in nodes.items()}
    children: dict[str, list[str]] = {}
    for own, parent in parents.items():
        children.setdefault(parent if parent in nodes and parent != own else "", []).append(own)
    shown: set[str] = set()
    while current in nodes and current not in shown:
        shown.add(current)
        current = parents[current]
    met: set[str] = set()
    # Nodes in a circle hang on no root: each is taken as one.
    for first in [*sorted(children.get("", ()), key=shown.__contains__), *nodes]:
        waiting = [(first, "")]
        while waiting:
            own, parent = waiting.pop()
            if own in met:
                continue
            met.add(own)
            yield own, parent
            listed = sorted(children.get(own, ()), key=shown.__contains__, reverse=True)
            waiting.extend((child, own) for child in listed)


def _say(made: SessionBuilder, own: str, message: object, before: str, call: str) -> tuple[str, str]:
    """Add the message of a node; return the one above its children, and the call that waits there."""
    if not isinstance(message, dict):
        made.count("nodes without a message")
        return before, call
    role, to = text(get(message, "author", "role")), text(message.get("recipient"))
    parts, thoughts = _parts(message.get("content"))
    if role not in ("assistant", "system", "tool", "user") or not (parts or thoughts):
        made.count("empty messages" if role else "unknown entries")
        return before, call
    what = get(message, "content", "content_type")
    category = Category.CONTEXT if what == "user_editable_context" else None
    waits = ""
    if role == "assistant" and to not in ("", "all"):
        waits = own
        said = "\n".join(text(part.get("text")) for part in parts)
        value = chat.assistant("", [chat.call(own, to, said)], thoughts)
    elif role == "assistant":
        value = chat.assistant(chat.content(parts), (), thoughts)
    elif role == "tool" and call:
        value = chat.answer(call, chat.content(parts))
    else:
        # A tool says several things to one call; only the first is its result.
        category = Category.AUTOMATED if role == "tool" else category
        value = {"role": "user" if role == "tool" else role, "content": chat.content(parts)}
    model = text(get(message, "metadata", "model_slug")) if role == "assistant" else ""
    source = MessageSource(before, message.get("create_time"), model, None, category)
    added = made.add(text(message.get("id")) or own, value, source)
    return (added or before, waits if added else call)


def _parts(content: object) -> tuple[list[dict[str, object]], str]:
    """Return what a content says, as parts, and its thoughts."""
    what = get(content, "content_type")
    if what == "thoughts":
        told = [
            f"{text(get(each, 'summary'))}\n{text(get(each, 'content'))}" for each in items(get(content, "thoughts"))
        ]
        return [], "\n".join(each.strip() for each in told)
    if what == "reasoning_recap":
        return [], text(get(content, "content"))
    if what == "user_editable_context":
        said = (text(get(content, key)) for key in ("user_profile", "user_instructions"))
        return [chat.words(each) for each in said if each], ""
    given = items(get(content, "parts")) or [get(content, key) for key in ("text", "result") if get(content, key)]
    return [part for each in given if (part := _part(each))], ""


def _part(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        return chat.words(value) if value else None
    if isinstance(where := get(value, "asset_pointer"), str):
        is_image = "image" in text(get(value, "content_type"))
        return chat.picture("image/*" if is_image else "", where, label(get(value, "content_type"), "file"))
    said = text(get(value, "text")) or (spelled(value) if value else "")
    return chat.words(said) if said else None
