"""A session in other forms: messages as stored, as OpenAI or Anthropic have them, or as a text to read.

To another host go text and tool calls with their results. Its own signatures, sealed thoughts and ids, pictures and
documents stay behind (D8), and are counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from squidbot.codecs import jsontext
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.commands import texts as ways
from squidbot.commands.texts import clock
from squidbot.core.messages import Media, Outcome, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.commands.reading.entries import Entry

__all__ = ["FORMS", "Left", "results_of", "told"]

# What did not go into another form, by its kind.
Left = Counter[str]
_THOUGHTS = ("thinking", "redacted_thinking")
# The keys of an OpenAI-style message that every host knows.
_KNOWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "timestamp", "usage", "model"})


def _stored(entry: Entry, _: Left) -> Iterator[str]:
    """Yield the payload as it is stored, byte for byte."""
    yield entry.row.payload


def _to_openai(entry: Entry, left: Left) -> Iterator[str]:
    """Yield a message as OpenAI has it; a message that answers several calls becomes several."""
    row = entry.row
    if row.codec == "openai.chat":
        yield _one_line(row.payload)
        return
    text, results = _said(entry, left)
    for call_id, _ in entry.answers:
        yield jsontext.write({"role": "tool", "tool_call_id": call_id, "content": results.get(call_id, "")})
    if entry.answers and not text:
        return
    made: dict[str, object] = {"role": "user" if entry.answers else row.role, "content": text}
    if entry.calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.calls
        ]
    yield jsontext.write(made)


def _to_anthropic(entry: Entry, left: Left) -> Iterator[str]:
    """Yield a message as Anthropic has it; the results of one step become one message each, as providers take them."""
    row = entry.row
    if row.codec == "anthropic.messages":
        yield _one_line(row.payload)
        return
    text, results = _said(entry, left)
    blocks: list[dict[str, object]] = [
        {"type": "tool_result", "tool_use_id": call_id, "content": results.get(call_id, "")}
        for call_id, _ in entry.answers
    ]
    if blocks:
        yield jsontext.write({"role": "user", "content": blocks})
        return
    if not entry.calls:
        yield jsontext.write({"role": row.role, "content": text})
        return
    said: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
    calls = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": _input(one.arguments)} for one in entry.calls
    ]
    yield jsontext.write({"role": row.role, "content": [*said, *calls]})


def _markdown(entry: Entry, _: Left) -> Iterator[str]:
    """Yield a message as Markdown: who, when, what; tool calls and results as code."""
    row = entry.row
    tools = ", ".join(tool or call_id for call_id, tool in entry.answers)
    who = f"{row.role} {tools}".rstrip()
    when = f", {clock(row.time)}" if row.time is not None else ""
    yield f"## {entry.handle} {ways.line(who)}{when}\n"
    if entry.text:
        yield ways.block(_fenced(entry.text) if entry.answers else entry.text) + "\n"
    for call in entry.calls:
        yield f"Calls `{ways.line(call.name)}`:\n\n{ways.block(_fenced(_pretty(call.arguments), 'json'))}\n"


FORMS: dict[str, Callable[[Entry, Left], Iterator[str]]] = {
    "stored": _stored,
    "openai": _to_openai,
    "anthropic": _to_anthropic,
    "markdown": _markdown,
}


def results_of(entry: Entry) -> dict[str, str]:
    """Return the results that a message carries by the ids of their calls; of a single one all that it says."""
    if len(entry.answers) == 1:
        return _same_for(entry, entry.text)
    return _said(entry, Left())[1] if entry.answers else {}


def _said(entry: Entry, left: Left) -> tuple[str, dict[str, str]]:
    """Return what a message says in text, and its tool results by the ids of their calls; count what is left out."""
    if entry.row.codec == OpenAIResponses.tag:
        return _said_in_items(entry, left)
    payload = _payload(entry)
    if entry.row.codec == "openai.chat":
        left.update(f"key {key}" for key in payload if key not in _KNOWN_KEYS)
    content = payload.get("content")
    if not isinstance(content, list):
        return entry.text, _same_for(entry, entry.text)
    text, results = _said_in_blocks(content, left)
    return ("", _same_for(entry, text)) if entry.answers and not results else (text, results)


def _said_in_blocks(content: Sequence[object], left: Left) -> tuple[str, dict[str, str]]:
    blocks: list[dict[str, object]] = [
        block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content
    ]
    results = {
        str(block.get("tool_use_id")): _text(_inner(block.get("content")), left)
        for block in blocks
        if block.get("type") == "tool_result"
    }
    return _text([block for block in blocks if block.get("type") not in {"tool_result", "tool_use"}], left), results


def _said_in_items(entry: Entry, left: Left) -> tuple[str, dict[str, str]]:
    codec = OpenAIResponses()
    said = codec.portable(entry.row.payload).pieces
    left.update(["reasoning"] * codec.thoughts(entry.row.payload))
    results = {one.call_id: _words(one.said, left) for one in said if isinstance(one, Outcome)}
    return _words([one for one in said if isinstance(one, Words | Media)], left), results


def _words(pieces: Iterable[Words | Media], left: Left) -> str:
    said = list(pieces)
    left.update(piece.mime for piece in said if isinstance(piece, Media))
    return "\n".join(piece.text for piece in said if isinstance(piece, Words))


def _payload(entry: Entry) -> dict[str, object]:
    try:
        value = jsontext.parse(entry.row.payload)
    except jsontext.JsonTextError:
        return {}
    return value if isinstance(value, dict) else {}


def _same_for(entry: Entry, text: str) -> dict[str, str]:
    return {call_id: text for call_id, _ in entry.answers}


def _one_line(payload: str) -> str:
    """Return a payload without line breaks: between its values JSON allows them, a file of lines does not."""
    return jsontext.write(jsontext.parse(payload)) if "\n" in payload or "\r" in payload else payload


def _inner(content: object) -> list[dict[str, object]]:
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _text(blocks: Sequence[dict[str, object]], left: Left) -> str:
    texts = []
    for block in blocks:
        text = block.get("text")
        if block.get("type") in _THOUGHTS or not isinstance(text, str):
            left[str(block.get("type", "a part without a type"))] += 1
        else:
            texts.append(text)
    return "\n".join(texts)


def _input(arguments: str) -> object:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    return value if isinstance(value, dict) else {"arguments": value}


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code, between fences that are longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def told(left: Left) -> str:
    """Return what was left out as a sentence; "" for nothing."""
    named = [f"{number:,} {kind}" for kind, number in sorted(left.items())]
    return f"left out, as no other host can read it: {', '.join(named)}" if named else ""
