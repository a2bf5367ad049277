"""Checks of a message's fields, with errors that a user can act on; token costs of content that is not text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from squidbot.codecs import jsontext
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Media, Portable, Usage, Words, labelled

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.messages import ToolResult
    from squidbot.core.ports import Codec


# Types of message parts that hold text.
_SAID: Final = ("text", "input_text", "output_text")

# A page of a PDF costs up to 3,000 tokens of text and 1,600 of its picture by Anthropic's documentation. The number of
# pages in base64 data is unknown without reading them: one is assumed per 32 KiB, and at least one for any media.
_PAGE_TOKENS = 4_600
_BASE64_CHARS_PER_TOKEN = 32 * 1024 // _PAGE_TOKENS

# Tokens of one image by its `detail`. OpenAI counts patches of 32 x 32 pixels, at most 2,500 of them, 10,000 at
# "original", 256 at "low", times up to 1.2; its older tile models stay below (85 + 170 x at most 8 tiles = 1,445). This
# is a high estimate for these, no bound for every model: older mini models bill more per image.
_IMAGE_TOKENS: Final = {"low": 310, "original": 12_000}
_ANY_IMAGE_TOKENS: Final = 3_000

# Anthropic accepts these characters in the id of a call, and chat completions this length.
_PORTABLE_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_DATA_URL: Final = re.compile(r"data:([^;,]*+)(?:;(?!base64,)[^;,]*+|(?!))*+;base64,")
_PROVIDERS_OWN: Final = frozenset(
    {"cache_control", "encrypted_content", "encrypted_index", "encrypted_stdout", "id", "signature", "tool_use_id"}
)


class PayloadError(ValueError):
    """A payload is not a message of its codec's form. The text says which field, what it is and what it should be."""


def kind(value: object) -> str:
    """Return the type of a JSON value, for a message to a user: "an object", "a string", "null" and so on."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def as_object(payload: str) -> dict[str, object]:
    """Return the JSON object in a payload.

    Raises:
        ValueError: it is not JSON (JsonTextError) or not an object (PayloadError).
    """
    value = jsontext.parse(payload)
    if not isinstance(value, dict):
        raise PayloadError(f"a message is a JSON object, not {kind(value)}")
    return value


def as_dict(value: object, what: str) -> dict[str, object]:
    """Return the value if it is an object.

    Raises:
        PayloadError: it is not; the text calls it `what`.
    """
    if not isinstance(value, dict):
        raise PayloadError(f"{what} is {'missing' if value is None else kind(value)}; expected an object")
    return value


def adopted(codec: Codec, said: Portable) -> list[dict[str, object]]:
    """Return portable content as messages of a form: one, or one for each result if the form needs it."""
    made = jsontext.parse(codec.adopt(said))
    return [dict(as_dict(each, "a message")) for each in (made if isinstance(made, list) else [made])]


def results(codec: Codec, outcomes: Iterable[ToolResult]) -> list[dict[str, object]]:
    """Return the results of a form's own calls as its messages; each has the id of its call, whatever that is."""
    told = tuple(outcomes)
    own = {portable_id(each.call_id): each.call_id for each in told}

    def named(value: Any) -> Any:  # noqa: ANN401  # of JSON
        if isinstance(value, dict):
            return {key: named(inner) for key, inner in value.items()}
        return [*map(named, value)] if isinstance(value, list) else own.get(value, value)

    made = adopted(codec, Portable("tool", told))
    return made if all(key == call_id for key, call_id in own.items()) else named(made)


def as_list(value: object, what: str) -> list[object]:
    """Return the value if it is a list; an empty one for `None`.

    Raises:
        PayloadError: it is neither; the text calls it `what`.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise PayloadError(f"{what} is {kind(value)}; expected a list")
    return value


def as_text(value: object, what: str, expected: str = "expected a string") -> str:
    """Return the value if it is a string.

    Raises:
        PayloadError: it is not; the text calls it `what`, and says what is expected.
    """
    if not isinstance(value, str):
        raise PayloadError(f"{what} is {kind(value)}; {expected}")
    return value


def as_name(obj: dict[str, object], key: str, what: str) -> str:
    """Return obj[key] if it is a non-empty string.

    Raises:
        PayloadError: it is missing, empty or no string; the text calls the object `what`.
    """
    value = obj.get(key)
    if isinstance(value, str) and value:
        return value
    wrong = "missing" if value is None else "empty" if value == "" else kind(value)
    raise PayloadError(f"{key} of {what} is {wrong}; expected a non-empty string")


def fenced(notice: str) -> str:
    """Return volatile text between marks that do not occur in it, for a place that holds only one string."""
    mark, number = "notice", 1
    while f"</{mark}>" in notice:
        number += 1
        mark = f"notice-{number}"
    return f"<{mark}>\n{notice}\n</{mark}>"


def with_notice(content: object, notice: str, part: str = "text") -> object:
    """Return a message's content with a notice behind it: a `part` of its own in a list, else fenced in the string.

    The fence is two line breaks and the marks of `fenced`.
    """
    if isinstance(content, list):
        return [*content, {"type": part, "text": notice}]
    return f"{content}\n\n{fenced(notice)}" if content else fenced(notice)


def with_label(content: object, label: str) -> object:
    """Return a message's content with a label before its text: in a list, in the first part with text.

    A content without any text is returned unchanged.
    """
    if isinstance(content, str):
        return labelled(label, content)
    parts = list(content) if isinstance(content, list) else []
    for place, part in enumerate(parts):
        if isinstance(part, str) and part:
            return [*parts[:place], labelled(label, part), *parts[place + 1 :]]
        if isinstance(part, dict) and part.get("type") in _SAID and isinstance(said := part.get("text"), str):
            return [*parts[:place], {**part, "text": labelled(label, said)}, *parts[place + 1 :]]
    return content


def openai_image_tokens(detail: object) -> int:
    """Return a high estimate, in tokens, of an image sent to OpenAI with a `detail`."""
    return _IMAGE_TOKENS.get(str(detail), _ANY_IMAGE_TOKENS)


def portable_id(call_id: str) -> str:
    """Return a call's id in a form that every provider accepts: its own if possible, else one derived from it."""
    if _PORTABLE_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def media_from(url: object, mime: str, name: object = None) -> Media:
    """Return the media behind a URL: a data URL has its own type and bytes; any other gets `mime`."""
    text = str(url)
    called = name if isinstance(name, str) else ""
    if found := _DATA_URL.match(text):
        return Media(found[1] or mime, data=text[found.end() :], name=called)
    return Media(mime, url=text, name=called)


def data_url(media: Media) -> str:
    """Return a URL for media: their own, or one that holds their bytes."""
    return media.url or f"data:{media.mime};base64,{media.data}"


def told(media: Media) -> str:
    """Return the text that replaces media."""
    return f"[{media.mime}{f' {media.name}' if media.name else ''}, not sent]"


def joined(pieces: Iterable[Words | Media]) -> str:
    """Return content as one text."""
    return "\n".join(piece.text if isinstance(piece, Words) else told(piece) for piece in pieces)


def content_of(
    pieces: Sequence[Words | Media], part: Callable[[Words | Media], dict[str, object]]
) -> str | list[dict[str, object]]:
    """Return content in OpenAI's form: only words as a string, else a list of what `part` makes."""
    if len(pieces) < 2 and not any(isinstance(piece, Media) for piece in pieces):
        return joined(pieces)
    return [part(piece) for piece in pieces]


def bare(value: object) -> object:
    """Return a JSON value without data for its own provider: ids, signatures, sealed content, cache marks."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in _PROVIDERS_OWN}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def media_tokens(base64_chars: int) -> int:
    """Return a high estimate, in tokens, of a document or recording with this number of base64 characters."""
    return max(_PAGE_TOKENS, base64_chars // _BASE64_CHARS_PER_TOKEN)


# Pictures inside payloads: their number, and texts instead of the first ones.

# Arguments of tools, or data that hosts keep for themselves: they show no pictures.
_BESIDE: Final = frozenset({"input", "args", "arguments", "tool_calls", "function", "usage", "artifact", "metadata"})
# Payloads never nest pictures deeper; anything deeper is data.
_MOST_DEEP: Final = 12
# Every form of a picture contains it, so most payloads need no reading.
_MARK: Final = "image"


def is_image_type(mime: object) -> bool:
    """Return whether a MIME type is that of a picture."""
    return isinstance(mime, str) and mime.startswith("image/")


def placeholder(number: int, of: int, handle: str) -> str:
    """Return the text that replaces a picture, counted from 1; `handle` recalls its message."""
    return f"[image {number} of {of}: stored, not shown; recall {handle}]"


class Pictures:
    """Shared by codecs whose pictures are objects of a `type`, anywhere in the content of a message."""

    image_types: Sequence[str] = ()
    text_type: str = "text"

    def images(self, payload: str) -> int:
        """Return how many pictures a payload has; 0 if it isn't JSON."""
        return self._shown(payload, 0, "")[1]

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload with a text instead of each of its first `most` pictures.

        `handle` names the message in that text. A payload that isn't JSON is returned unchanged.
        """
        return self._shown(payload, most, handle)[0]

    def _shown(self, payload: str, most: int, handle: str) -> tuple[str, int]:
        """Return a payload without its first pictures, and how many it has."""
        if _MARK not in payload:
            return payload, 0
        try:
            value = jsontext.parse(payload)
        except ValueError:
            return payload, 0
        pictures: list[object] = []
        self._walk(value, pictures.append)
        of = len(pictures)
        if not most or not of:
            return payload, of
        numbers = iter(range(1, most + 1))

        def shown(_picture: object) -> object:
            number = next(numbers, None)
            return None if number is None else self._placeholder(placeholder(number, of, handle))

        return jsontext.write(self._walk(value, shown)), of

    def _walk(self, value: object, replaced: Callable[[object], object], depth: int = 0) -> object:
        """Return a value with each picture replaced by `replaced`, in order; `None` keeps the picture."""
        if isinstance(value, dict) and self._is_image(value):
            instead = replaced(value)
            return value if instead is None else instead
        if depth >= _MOST_DEEP:
            return value
        if isinstance(value, list):
            return [self._walk(inner, replaced, depth + 1) for inner in value]
        if not isinstance(value, dict):
            return value
        return {
            key: inner if key in _BESIDE else self._walk(inner, replaced, depth + 1) for key, inner in value.items()
        }

    def _is_image(self, one: Mapping[str, object]) -> bool:
        return one.get("type") in self.image_types

    def _placeholder(self, text: str) -> object:
        return {"type": self.text_type, "text": text}


# Files of JSON: from bytes to numbered values, with errors that name file, line and column.

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """One value of a file.

    Attributes:
        value: the parsed JSON.
        text: the JSON text as in the file, without surrounding white space.
        line: its first line, from 1.
        index: its place among the non-blank lines, from 0.
    """

    value: object
    text: str
    line: int
    index: int


def read_entries(path: pathlib.Path) -> list[JsonEntry]:
    """Return the values of a file: one for each non-blank line, or one that spans all lines.

    Raises:
        TranscriptError: the file can't be read, is not UTF-8, is empty, or holds something other than JSON.
    """
    lines = [(number, line) for number, line in enumerate(_LINE_END.split(_read_text(path)), 1) if line.strip()]
    if not lines:
        raise TranscriptError(str(path), None, "the file is empty; a transcript holds at least one message")
    if len(lines) > 1 and not _is_json(lines[0][1]):
        whole = "\n".join(line for _, line in lines)
        # If objects follow a broken first line, it is a broken line, not a value of many lines.
        if whole.lstrip().startswith("[") or _is_json(whole) or not _is_json(lines[1][1]):
            return [JsonEntry(_parse(path, lines, whole), whole, lines[0][0], 0)]
    return [
        JsonEntry(_parse(path, [(number, line)], line), line.strip(), number, index)
        for index, (number, line) in enumerate(lines)
    ]


def _is_json(text: str) -> bool:
    try:
        jsontext.parse(text)
    except jsontext.JsonTextError as error:
        # An error with a place is broken syntax; other errors concern the value and get their message later.
        return error.line is None
    return True


def _parse(path: pathlib.Path, lines: list[tuple[int, str]], text: str) -> object:
    try:
        return jsontext.parse(text)
    except jsontext.JsonTextError as error:
        line = lines[min(error.line or 1, len(lines)) - 1][0]
        where = "" if error.column is None else f" at column {error.column}"
        raise TranscriptError(str(path), line, f"{error}{where}; mend the line or take it out") from error


def _read_text(path: pathlib.Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise TranscriptError(str(path), None, "there is no such file; check the path") from error
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TranscriptError(str(path), 1, "is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start].decode("utf-8", "replace"))) + 1
        raise TranscriptError(str(path), line, f"byte {error.start} is not UTF-8; save the file as UTF-8") from error


# The usage of a model call, as its provider reports it.


def read_usage(usage: object) -> Usage | None:
    """Return what a provider reported, in tokens; `None` for nothing, or for an unknown form.

    It reads the objects of OpenAI (`prompt_tokens` or `input_tokens`), of Anthropic (`input_tokens`, without cache
    reads and writes), and of recordings with `input`, `output`, `cache_read` and `cache_write`.
    """
    if not isinstance(usage, dict):
        return None
    if "prompt_tokens" in usage:
        cached = _tokens(usage.get("prompt_tokens_details"), "cached_tokens")
        return Usage(_tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"), cached)
    if "input_tokens" in usage:
        # Anthropic's input excludes cache reads and writes; OpenAI's includes everything.
        read, written = (_tokens(usage, f"cache_{what}_input_tokens") for what in ("read", "creation"))
        cached = read or _tokens(usage.get("input_tokens_details"), "cached_tokens")
        return Usage(_tokens(usage, "input_tokens") + read + written, _tokens(usage, "output_tokens"), cached)
    if "input" in usage:
        read, written = _tokens(usage, "cache_read"), _tokens(usage, "cache_write")
        return Usage(_tokens(usage, "input") + read + written, _tokens(usage, "output"), read)
    return None


def _tokens(usage: object, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
