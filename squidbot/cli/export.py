"""`squidbot session export`: a session as a file, in its own form, in another host's, or for reading.

Another host gets text and tool calls with their results. Signatures, sealed thoughts, ids, pictures and documents are
left out and counted.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from squidbot.adapters.common.files import open_own
from squidbot.cli.open_store import shown_messages
from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.texts import block, clock, complain, count, left_out, line
from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.fields import adopted, as_object
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.errors import DamagedStoreError, SquidbotError
from squidbot.core.messages import Media, Portable, ToolCall, ToolResult, Words
from squidbot.services.forget import WrittenFile, digest_of, note_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.cli.open_store import OpenStore, ShownMessage
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import Piece, Role, StoredMessage
    from squidbot.core.ports import Codec

# Content that another form leaves out, by its kind.
Left = Counter[str]
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
# The keys of an OpenAI-style message that every host knows.
_KNOWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "timestamp", "usage", "model"})


def _stored(shown: ShownMessage, _: Left) -> Iterator[str]:
    """Yield the payload as it is stored, byte for byte."""
    yield shown.row.payload


def _adopted(target: Codec, shown: ShownMessage, left: Left) -> Iterator[str]:
    """Yield a message in the form of another host: its text, its tool calls and their results, each on its own."""
    row, codec = shown.row, shown.codec
    if row.codec == target.tag:
        yield _one_line(row.payload)
        return
    pieces: Sequence[Piece] = codec.portable(row.payload).pieces if codec else (Words(shown.text), *shown.calls)
    left.update(_private(row))
    answered = False
    for piece in pieces:
        if isinstance(piece, ToolResult):
            answered = True
            outcome = piece._replace(said=(Words(_words(piece.said, left)),))
            yield from map(jsontext.write, adopted(target, Portable("tool", (outcome,))))
    text = _words(pieces, left)
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    if text or not answered:
        role: Role = "user" if answered else row.role
        words = (Words(text),) if text or not calls else ()
        yield from map(jsontext.write, adopted(target, Portable(role, (*words, *calls))))


def _one_line(payload: str) -> str:
    """Return a payload without line breaks: JSON allows them between its values, a file of lines does not."""
    return jsontext.write(jsontext.parse(payload)) if "\n" in payload or "\r" in payload else payload


def _markdown(shown: ShownMessage, _: Left) -> Iterator[str]:
    """Yield a message as Markdown: who, when, what; tool calls and results as code."""
    row = shown.row
    when = f", {clock(row.time)}" if row.time is not None else ""
    yield f"## {shown.handle} {line(shown.who)}{when}\n"
    if shown.text:
        yield block(_fenced(shown.text) if shown.answers else shown.text) + "\n"
    for call in shown.calls:
        yield f"Calls `{line(call.name)}`:\n\n{block(_fenced(_pretty(call.arguments), 'json'))}\n"


FORMS: dict[str, Callable[[ShownMessage, Left], Iterator[str]]] = {
    "stored": _stored,
    "openai": partial(_adopted, OpenAIChat()),
    "anthropic": partial(_adopted, AnthropicMessages()),
    "markdown": _markdown,
}


def results_of(shown: ShownMessage) -> dict[str, str]:
    """Return a message's results by the ids of their calls; for a single one, the whole text."""
    if len(shown.answers) == 1 or shown.codec is None:
        return {call_id: shown.text for call_id, _ in shown.answers}
    results = (piece for piece in shown.codec.portable(shown.row.payload).pieces if isinstance(piece, ToolResult))
    return {result.call_id: _words(result.said, Left()) for result in results}


def _words(pieces: Sequence[Piece], left: Left) -> str:
    left.update(piece.mime.partition("/")[0] or "file" for piece in pieces if isinstance(piece, Media))
    return "\n".join(piece.text for piece in pieces if isinstance(piece, Words))


def _private(row: StoredMessage) -> Iterator[str]:
    """Yield the parts of a payload that no other host can read: the types of its reasoning, its own keys."""
    if row.codec == "openai.chat":
        yield from (f"key {key}" for key in as_object(row.payload).keys() - _KNOWN_KEYS)
    values: list[object] = [jsontext.parse(row.payload)]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if value.get("type") in _THOUGHTS:
                yield str(value["type"])
            values += [value.get("content"), value.get("output")]
        elif isinstance(value, list):
            values += value


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
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMS]),
    default="stored",
    show_default=True,
    help="The form of the messages.",
)
@click.option(
    "-o", "--output", "--out", "output", metavar="FILE", help="Write to this new file.  [default: standard output]"
)
def export(place: OpenStore, name: str, *, form: str, output: str | None) -> Result:
    """Write a session to a file or standard output.

    stored: your host's own messages, byte for byte, one on each line, or a JSON array if a message has line breaks.
    openai, anthropic: text and tool calls in that form, as JSON lines. markdown: to read.
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
        entry = {"session": name, "format": form, "messages": place.length(name), "file": output, "lines": texts}
        return {**entry, "left_out": dict(left)}

    def put(out: Printer) -> None:
        if output is None:
            _spell(sys.stdout.buffer, _texts(place, name, form, left), array=array)
        else:
            out.say(output)
        if names := left_out(left):
            complain(f"left out: other hosts cannot read it: {names}")

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
    """Yield the pieces of the export.

    Raises:
        DamagedStoreError: a message can't be read; the text says how to save the others.
    """
    for rows, damaged in place.pages(name):
        if damaged:
            raise DamagedStoreError(
                f"{name}: {count(len(damaged), 'message')} from m{damaged[0]} on cannot be read; "
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
    """Yield a file that gets its name if the block succeeds; never overwrite an existing one.

    Raises:
        SquidbotError: it exists.
        OSError: it can't be written.
    """
    if os.path.lexists(output):
        raise SquidbotError(f"{output}: already exists; choose another file name")
    part = Path(f"{output}.part-{os.getpid()}")
    try:
        with open_own(part, "x") as file:
            yield file
        os.link(part, output)
    finally:
        part.unlink(missing_ok=True)
