"""What the fields of a message have to be, in words that a user can act on; what costs tokens without being text."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.core.labels import labelled
from squidbot.core.portable import Media

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.portable import Portable
    from squidbot.core.ports import Codec

__all__ = [
    "PayloadError",
    "adopted",
    "as_dict",
    "as_list",
    "as_name",
    "as_object",
    "as_told",
    "bare",
    "data_url",
    "fenced",
    "kind",
    "media_from",
    "media_tokens",
    "openai_image_tokens",
    "portable_id",
    "told",
    "with_label",
    "with_notice",
]

# What parts of a message that say a text are called.
_SAID: Final = ("text", "input_text", "output_text")

# A page of a PDF costs up to 3,000 tokens of text and 1,600 of its picture by Anthropic's documentation. How many pages
# base64 data hold isn't known without reading them: one is assumed per 32 KiB, and media are never cheaper than one.
_PAGE_TOKENS = 4_600
_BASE64_CHARS_PER_TOKEN = 32 * 1024 // _PAGE_TOKENS

# Tokens of one image by its `detail`. OpenAI counts patches of 32 x 32 pixels, at most 2,500 of them, 10,000 at
# "original", 256 at "low", times up to 1.2; its older tile models stay below (85 + 170 x at most 8 tiles = 1,445).
# An estimate from above for these, no bound for every model: the older mini models bill images by more.
_IMAGE_TOKENS: Final = {"low": 310, "original": 12_000}
_ANY_IMAGE_TOKENS: Final = 3_000

# Anthropic takes these characters in the id of a call, and chat completions this many of them.
_PORTABLE_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_DATA_URL: Final = re.compile(r"data:([^;,]*+)(?:;(?!base64,)[^;,]*+)*+;base64,")
_PROVIDERS_OWN: Final = frozenset(
    {"cache_control", "encrypted_content", "encrypted_index", "encrypted_stdout", "id", "signature", "tool_use_id"}
)


class PayloadError(ValueError):
    """A payload is not a message of its codec's form. The text says which field, what it is and what it should be."""


def kind(value: object) -> str:
    """Return what a JSON value is, for a message to a user: "an object", "a string", "null" and so on."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def as_object(payload: str) -> dict[str, object]:
    """Return the JSON object that a payload is.

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
        raise PayloadError(f"{what} is {'missing' if value is None else kind(value)}; it is an object")
    return value


def adopted(codec: Codec, said: Portable) -> list[dict[str, object]]:
    """Return what was said as messages of a form: one, or one for each result where the form has it so."""
    made = jsontext.parse(codec.adopt(said))
    return [dict(as_dict(each, "a message")) for each in (made if isinstance(made, list) else [made])]


def as_told(obj: Mapping[str, object], made: Callable[[str, str], dict[str, object]]) -> dict[str, object]:
    """Return a host's own dict as it is; one of `role` and `content`, as texts come to a session, as `made` says."""
    if set(obj) == {"role", "content"} and isinstance(content := obj["content"], str):
        return made(str(obj["role"]), content)
    return dict(obj)


def as_list(value: object, what: str) -> list[object]:
    """Return the value if it is a list; an empty one for None.

    Raises:
        PayloadError: it is neither; the text calls it `what`.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise PayloadError(f"{what} is {kind(value)}; it is a list")
    return value


def as_name(obj: dict[str, object], key: str, what: str) -> str:
    """Return obj[key] if it is a string that is not empty.

    Raises:
        PayloadError: it is missing, empty or no string; the text calls the object `what`.
    """
    value = obj.get(key)
    if isinstance(value, str) and value:
        return value
    wrong = "missing" if value is None else "empty" if value == "" else kind(value)
    raise PayloadError(f"{key} of {what} is {wrong}; it is a string that is not empty")


def fenced(notice: str) -> str:
    """Return volatile text between marks that do not occur in it, for a place where only one string can stand."""
    mark, number = "notice", 1
    while f"</{mark}>" in notice:
        number += 1
        mark = f"notice-{number}"
    return f"<{mark}>\n{notice}\n</{mark}>"


def with_notice(content: object, notice: str) -> object:
    """Return a message's content with a notice behind it: a text part of its own in a list, else fenced in the string.

    The fence is two line breaks and the marks of `fenced`.
    """
    if isinstance(content, list):
        return [*content, {"type": "text", "text": notice}]
    return f"{content}\n\n{fenced(notice)}" if content else fenced(notice)


def with_label(content: object, label: str) -> object:
    """Return a message's content with a label in front of its text: in the first part of a list that says one.

    A content without any text comes back as it is.
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
    """Return an estimate from above, in tokens, of an image that OpenAI is given with a `detail`."""
    return _IMAGE_TOKENS.get(str(detail), _ANY_IMAGE_TOKENS)


def portable_id(call_id: str) -> str:
    """Return a call's id as every provider takes it: its own where it is of that kind, else one made from it."""
    if _PORTABLE_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def media_from(url: object, mime: str, name: object = None) -> Media:
    """Return what a URL leads to: a data URL brings its own type and bytes; `mime` is taken for any other."""
    text = str(url)
    called = name if isinstance(name, str) else ""
    if found := _DATA_URL.match(text):
        return Media(found[1] or mime, data=text[found.end() :], name=called)
    return Media(mime, url=text, name=called)


def data_url(media: Media) -> str:
    """Return a URL for media: where they are, or one that holds them."""
    return media.url or f"data:{media.mime};base64,{media.data}"


def told(media: Media) -> str:
    """Return what is said where media can't stand."""
    return f"[{media.mime}{f' {media.name}' if media.name else ''}, not sent along]"


def bare(value: object) -> object:
    """Return a JSON value without what only its own provider can read: ids, signatures, sealed content, cache marks."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in _PROVIDERS_OWN}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def media_tokens(base64_chars: int) -> int:
    """Return an estimate from above, in tokens, of a document or a recording given as so many characters of base64."""
    return max(_PAGE_TOKENS, base64_chars // _BASE64_CHARS_PER_TOKEN)
