"""`squidbot session export`: a session as a file, in its own form, in that of another host, or to read.

To another host go text and tool calls with their results. Its own signatures, sealed thoughts and ids, pictures and
documents stay behind, and are counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from squidbot.adapters.common.files import open_own
from squidbot.cli.open_store import shown_messages
from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.texts import block, clock, complain, count, left_out, line
from squidbot.codecs import jsontext
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core.errors import DamagedStoreError, SquidbotError
from squidbot.core.messages import Media, ToolResult, Words
from squidbot.services.forget import WrittenFile, digest_of, note_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.cli.open_store import OpenStore, ShownMessage
    from squidbot.cli.printer import Printer

__all__ = ["FORMS", "Left", "export", "new_file", "results_of", "texts_of"]

# What did not go into another form, by its kind.
Left = Counter[str]
_THOUGHTS = ("thinking", "redacted_thinking")
# The keys of an OpenAI-style message that every host knows.
_KNOWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "timestamp", "usage", "model"})


def _stored(shown: ShownMessage, _: Left) -> Iterator[str]:
    """Yield the payload as it is stored, byte for byte."""
    yield shown.row.payload


def _to_openai(shown: ShownMessage, left: Left) -> Iterator[str]:
    """Yield a message as OpenAI has it; a message that answers several calls becomes several."""
    row = shown.row
    if row.codec == "openai.chat":
        yield _one_line(row.payload)
        return
    text, results = _said(shown, left)
    for call_id, _ in shown.answers:
        yield jsontext.write({"role": "tool", "tool_call_id": call_id, "content": results.get(call_id, "")})
    if shown.answers and not text:
        return
    made: dict[str, object] = {"role": "user" if shown.answers else row.role, "content": text}
    if shown.calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in shown.calls
        ]
    yield jsontext.write(made)


def _to_anthropic(shown: ShownMessage, left: Left) -> Iterator[str]:
    """Yield a message as Anthropic has it; the results of one step become one message each, as providers take them."""
    row = shown.row
    if row.codec == "anthropic.messages":
        yield _one_line(row.payload)
        return
    text, results = _said(shown, left)
    blocks: list[dict[str, object]] = [
        {"type": "tool_result", "tool_use_id": call_id, "content": results.get(call_id, "")}
        for call_id, _ in shown.answers
    ]
    if blocks:
        yield jsontext.write({"role": "user", "content": blocks})
        return
    if not shown.calls:
        yield jsontext.write({"role": row.role, "content": text})
        return
    said: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
    calls = [
        {"type": "tool_use", "id": one.id, "name": one.name, "input": _input(one.arguments)} for one in shown.calls
    ]
    yield jsontext.write({"role": row.role, "content": [*said, *calls]})


def _markdown(shown: ShownMessage, _: Left) -> Iterator[str]:
    """Yield a message as Markdown: who, when, what; tool calls and results as code."""
    row = shown.row
    tools = ", ".join(tool or call_id for call_id, tool in shown.answers)
    who = f"{row.role} {tools}".rstrip()
    when = f", {clock(row.time)}" if row.time is not None else ""
    yield f"## {shown.handle} {line(who)}{when}\n"
    if shown.text:
        yield block(_fenced(shown.text) if shown.answers else shown.text) + "\n"
    for call in shown.calls:
        yield f"Calls `{line(call.name)}`:\n\n{block(_fenced(_pretty(call.arguments), 'json'))}\n"


FORMS: dict[str, Callable[[ShownMessage, Left], Iterator[str]]] = {
    "stored": _stored,
    "openai": _to_openai,
    "anthropic": _to_anthropic,
    "markdown": _markdown,
}


def results_of(shown: ShownMessage) -> dict[str, str]:
    """Return the results that a message carries by the ids of their calls; of a single one all that it says."""
    if len(shown.answers) == 1:
        return _same_for(shown, shown.text)
    return _said(shown, Left())[1] if shown.answers else {}


def _said(shown: ShownMessage, left: Left) -> tuple[str, dict[str, str]]:
    """Return what a message says in text, and its tool results by the ids of their calls; count what is left out."""
    if shown.row.codec == OpenAIResponses.tag:
        return _said_in_items(shown, left)
    payload = _payload(shown)
    if shown.row.codec == "openai.chat":
        left.update(f"key {key}" for key in payload if key not in _KNOWN_KEYS)
    content = payload.get("content")
    if not isinstance(content, list):
        return shown.text, _same_for(shown, shown.text)
    text, results = _said_in_blocks(content, left)
    return ("", _same_for(shown, text)) if shown.answers and not results else (text, results)


def _said_in_blocks(content: Sequence[object], left: Left) -> tuple[str, dict[str, str]]:
    blocks: list[dict[str, object]] = [
        one if isinstance(one, dict) else {"type": "text", "text": str(one)} for one in content
    ]
    answers = (one for one in blocks if one.get("type") == "tool_result")
    results = {str(one.get("tool_use_id")): _text(_inner(one.get("content")), left) for one in answers}
    return _text([one for one in blocks if one.get("type") not in {"tool_result", "tool_use"}], left), results


def _said_in_items(shown: ShownMessage, left: Left) -> tuple[str, dict[str, str]]:
    codec = OpenAIResponses()
    said = codec.portable(shown.row.payload).pieces
    left.update(["reasoning"] * codec.thoughts(shown.row.payload))
    results = {one.call_id: _words(one.said, left) for one in said if isinstance(one, ToolResult)}
    return _words([one for one in said if isinstance(one, Words | Media)], left), results


def _words(pieces: Iterable[Words | Media], left: Left) -> str:
    said = list(pieces)
    left.update(piece.mime for piece in said if isinstance(piece, Media))
    return "\n".join(piece.text for piece in said if isinstance(piece, Words))


def _payload(shown: ShownMessage) -> dict[str, object]:
    try:
        value = jsontext.parse(shown.row.payload)
    except jsontext.JsonTextError:
        return {}
    return value if isinstance(value, dict) else {}


def _same_for(shown: ShownMessage, text: str) -> dict[str, str]:
    return {call_id: text for call_id, _ in shown.answers}


def _one_line(payload: str) -> str:
    """Return a payload without line breaks: between its values JSON allows them, a file of lines does not."""
    return jsontext.write(jsontext.parse(payload)) if "\n" in payload or "\r" in payload else payload


def _inner(content: object) -> list[dict[str, object]]:
    if isinstance(content, list):
        return [one for one in content if isinstance(one, dict)]
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def _text(blocks: Sequence[dict[str, object]], left: Left) -> str:
    texts = []
    for one in blocks:
        text = one.get("text")
        if one.get("type") in _THOUGHTS or not isinstance(text, str):
            left[str(one.get("type", "a part without a type"))] += 1
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


# -- the command -----------------------------------------------------------------------------------------------


@click.command(cls=ResultCommand, on="session")
@click.option("--format", "form", type=click.Choice([*FORMS]), default="stored", show_default=True, help="The form.")
@click.option("-o", "--output", metavar="FILE", help="Write there.  [default: standard output]")
def export(place: OpenStore, name: str, *, form: str, output: str | None) -> Result:
    """Write a session: as stored, for another host, or to read.

    stored: the host's own messages byte for byte, one on each line (a JSON array where one has line breaks in it).
    openai, anthropic: messages of that form as JSONL; from another one go text and tool calls with their results.
    """
    left = Left()
    array = _is_array(place, name, form)
    if output is not None:
        with new_file(output) as file:
            _spell(file, _texts(place, name, form, left), array=array)
        path = Path(output).absolute()
        note_written(place.wired.written, WrittenFile(str(path), form, (name,), digest_of(path.read_bytes())))

    def values() -> dict[str, object]:
        texts = None if output else [*_texts(place, name, form, left)]
        said = {"session": name, "format": form, "messages": place.length(name), "file": output, "lines": texts}
        return {**said, "left_out": dict(left)}

    def put(out: Printer) -> None:
        if output is None:
            _spell(sys.stdout.buffer, _texts(place, name, form, left), array=array)
        else:
            out.say(output)
        if named := left_out(left):
            complain(f"left out, as no other host can read it: {named}")

    return Result(values, put)


def texts_of(place: OpenStore, name: str, form: str) -> bytes:
    """Return an export of a session as a file has it.

    Raises:
        DamagedStoreError: a message can't be read.
    """
    made = BytesIO()
    _spell(made, _texts(place, name, form, Left()), array=_is_array(place, name, form))
    return made.getvalue()


def _texts(place: OpenStore, name: str, form: str, left: Left) -> Iterator[str]:
    """Yield what the export is made of.

    Raises:
        DamagedStoreError: a message can't be read; the text says how to save the others.
    """
    for rows, damaged in place.pages(name):
        if damaged:
            raise DamagedStoreError(
                f"{name}: {count(len(damaged), 'message')} from m{damaged[0]} on can't be read; "
                "squidbot store doctor --repair saves the others into a new store"
            )
        for shown in shown_messages(rows, place.codecs):
            yield from FORMS[form](shown, left)


def _is_array(place: OpenStore, name: str, form: str) -> bool:
    """Return whether a message of its own form has line breaks, so that the file is a JSON array."""
    rows = (row for rows, _ in place.pages(name) for row in rows)
    return form == "stored" and any("\n" in row.payload or "\r" in row.payload for row in rows)


def _spell(file: IO[bytes], texts: Iterable[str], *, array: bool) -> None:
    begins, parts, ends = (b"[\n", b",\n", b"\n]\n") if array else (b"", b"\n", b"\n")
    between = begins
    for text in texts:
        file.write(between + text.encode("utf-8", "surrogatepass"))
        between = parts
    file.write(ends if between is parts else b"[]\n" if array else b"")
    file.flush()


@contextmanager
def new_file(output: str) -> Iterator[IO[bytes]]:
    """Give a file that has its name when the block ends well; an existing one is not overwritten.

    Raises:
        SquidbotError: there is one.
        OSError: it can't be written.
    """
    if os.path.lexists(output):
        raise SquidbotError(f"{output}: exists; an export overwrites nothing, name a new file")
    part = Path(f"{output}.part-{os.getpid()}")
    try:
        with open_own(part, "x") as file:
            yield file
        os.link(part, output)
    finally:
        part.unlink(missing_ok=True)
