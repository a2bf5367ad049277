"""OpenAI-style chat messages: role, content, tool_calls, tool_call_id; what most hosts and recordings speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    Pictures,
    as_dict,
    as_list,
    as_name,
    as_object,
    bare,
    data_url,
    kind,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    told,
    with_label,
    with_notice,
)
from squidbot.core.messages import Category, Media, Message, Outcome, Portable, Role, ToolCall, Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part

__all__ = ["TRANSCRIPT_KEYS", "OpenAIChat"]

# What recordings write beside a message and a provider would refuse. Kept in the payload, not sent.
TRANSCRIPT_KEYS: Final = frozenset({"timestamp", "usage", "model"})

# Where hosts keep a model's reasoning beside its answer.
_THINKING_KEYS: Final = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"})

# A payload with none of these in it has no key that is left out. ASCII letters may also be spelled as escapes.
_LEFT_OUT: Final = tuple(f'"{key}"' for key in TRANSCRIPT_KEYS)
_ALL_LEFT_OUT: Final = (*_LEFT_OUT, *(f'"{key}"' for key in _THINKING_KEYS))

# What costs tokens through `Message.rendered`, or next to none.
_COUNTED_KEYS: Final = TRANSCRIPT_KEYS | {"role", "content", "name", "tool_calls", "tool_call_id", "function_call"}

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

_IMAGES: Final = ("image_url", "input_image", "image")
_MEDIA: Final = ("file", "input_file", "input_audio")

_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}


class OpenAIChat(Pictures):
    """The codec of OpenAI-style chat messages. Unknown keys and parts stay in the payload and are sent as they came."""

    tag: Final = "openai.chat"
    image_types = _IMAGES

    def text(self, payload: str) -> str:
        """Return the content of a payload: the string, or its text parts joined without anything between them.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _text(as_object(payload).get("content"))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. `time` is the payload's `timestamp`, in seconds since 1970.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, as_object(payload), None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a host's own dict. `time` in seconds since 1970 wins over its `timestamp`.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        payload = jsontext.write(dict(obj))
        return self._index(payload, as_object(payload), time)

    def to_dict(self, message: Message) -> dict[str, object]:
        """Return the message as a host's dict, without what only recordings have (TRANSCRIPT_KEYS).

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _sendable(message.payload)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        A verbatim part is its stored payload without TRANSCRIPT_KEYS; a slimmed one has `part.text` for its content and
        `part.arguments` for those of its calls; one made by squidbot is `part.text` said in its role. A notice follows
        the content: as a text part of its own where the content is a list, else fenced behind the string.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if _goes_as_stored(part):
            return part.payload or ""
        if part.payload is None:
            sent: dict[str, object] = {"role": part.role, "content": part.text or ""}
        else:
            sent = _sendable(part.payload)
            if part.text is not None:
                sent["content"] = part.text
            if part.arguments is not None:
                _cut_arguments(sent, part.arguments)
            if part.drop_thinking:
                sent = {key: value for key, value in sent.items() if key not in _THINKING_KEYS}
        return jsontext.write(_surrounded(sent, part))

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: images, other parts, unknown keys.

        An image costs a fixed number by its `detail` (R9). Any other part or key is sent as it is and costs at most
        the UTF-8 bytes of its JSON text; a key without a value costs nothing.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        content = obj.get("content")
        parts = content if isinstance(content, list) else []
        keys = {
            key: value for key, value in obj.items() if key not in _COUNTED_KEYS and value not in (None, "", [], {})
        }
        return sum(map(_part_tokens, parts)) + (jsontext.utf8_bytes(jsontext.write(keys)) if keys else 0)

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are "{}".

        What it answers and when it was said stay; nothing else does.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        _role(obj)
        left: dict[str, object] = {"role": obj["role"], "content": text}
        for answered in _results(obj):
            left["tool_call_id" if obj["role"] == "tool" else "name"] = answered
        if calls := [_emptied(call) for call in as_list(obj.get("tool_calls"), "tool_calls")]:
            left["tool_calls"] = calls
        if obj.get("function_call") is not None:
            left["function_call"] = {"name": _function(obj["function_call"], "function_call")[0], "arguments": "{}"}
        if (stamp := jsontext.stamp_alone(obj.get("timestamp"))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: reasoning and keys of its own stay behind.

        Parts of an unknown type go as text.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        role, content = _role(obj), obj.get("content")
        parts = [content] if isinstance(content, str) else as_list(content, "content")
        said = tuple(_piece(part) for part in parts)
        if isinstance(refusal := obj.get("refusal"), str):
            said = (*said, Words(refusal))
        answered = tuple(Outcome(identifier, said) for identifier in _results(obj))
        return Portable(role, answered or (*said, *_calls(obj)))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said; a list where it answers several calls."""
        answers = [_adopted_answer(piece) for piece in said.pieces if isinstance(piece, Outcome)]
        calls = [_adopted_call(piece) for piece in said.pieces if isinstance(piece, ToolCall)]
        words = [piece for piece in said.pieces if isinstance(piece, Words | Media)]
        beside = [_adopted_words(said.role, words, calls)] if words or calls or not answers else []
        sent = [*answers, *beside]
        return jsontext.write(sent[0] if len(sent) == 1 else sent)

    def _index(self, payload: str, obj: dict[str, object], time: float | None) -> Message:
        role = _role(obj)
        return Message(
            role=role,
            text=_text(obj.get("content")),
            payload=payload,
            codec=self.tag,
            calls=_calls(obj),
            results=_results(obj),
            category=_CATEGORIES.get(role, Category.DIALOG),
            sender=str(obj.get("name") or "") if role == "user" else "",
            time=jsontext.seconds(obj.get("timestamp")) if time is None else time,
        )


def _goes_as_stored(part: Part) -> bool:
    """Return whether a part's stored payload is what is sent, seen without reading it."""
    payload = part.payload
    if payload is None or not (part.text is None and part.arguments is None and part.notice is None and not part.label):
        return False
    # A backslash alone is found ten times faster than an escape, and most of what people say has none.
    if "\\" in payload and "\\u00" in payload:
        return False
    left_out = _ALL_LEFT_OUT if part.drop_thinking else _LEFT_OUT
    return not any(name in payload for name in left_out)


def _surrounded(sent: dict[str, object], part: Part) -> dict[str, object]:
    """Return a message with what was frozen in front of its content and behind it."""
    if part.label:
        sent["content"] = with_label(sent.get("content"), part.label)
    if part.notice is not None:
        sent["content"] = with_notice(sent.get("content"), part.notice)
    return sent


def _sendable(payload: str) -> dict[str, object]:
    return {key: value for key, value in as_object(payload).items() if key not in TRANSCRIPT_KEYS}


def _role(obj: dict[str, object]) -> Role:
    if "role" not in obj:
        raise PayloadError(f"role is missing; it is one of {', '.join(_ROLES)}")
    role = obj["role"]
    if not isinstance(role, str) or role not in _ROLES:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_ROLES)}")
    return _ROLES[role]


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; it is a string, null or a list of parts")
    return "".join(map(_part_text, content))


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    text = as_dict(part, "a part of content").get("text", "")
    if not isinstance(text, str):
        raise PayloadError(f"text of a part of content is {kind(text)}; it is a string")
    return text


def _part_tokens(part: object) -> int:
    if not isinstance(part, dict):
        return 0
    if part.get("type") in _IMAGES:
        image = part.get("image_url")
        detail = image.get("detail") if isinstance(image, dict) else part.get("detail")
        return openai_image_tokens(detail)
    rest = {key: value for key, value in part.items() if key not in {"type", "text"}}
    spelled = jsontext.utf8_bytes(jsontext.write(rest)) if rest else 0
    return media_tokens(spelled) if part.get("type") in _MEDIA else spelled


def _calls(obj: dict[str, object]) -> tuple[ToolCall, ...]:
    calls = tuple(map(_call, as_list(obj.get("tool_calls"), "tool_calls")))
    if obj.get("function_call") is None:
        return calls
    # Before calls had ids there was one at a time, answered by the function's name.
    name, arguments = _function(obj["function_call"], "function_call")
    return (*calls, ToolCall(name, name, arguments))


def _call(value: object) -> ToolCall:
    call = as_dict(value, "a tool call")
    identifier = as_name(call, "id", "a tool call")
    kept = "custom" if "custom" in call else "function"
    return ToolCall(identifier, *_function(call.get(kept), f"{kept} of tool call {identifier:.80}"))


def _emptied(value: object) -> dict[str, object]:
    call = _call(value)
    kept, key = ("custom", "input") if "custom" in as_dict(value, "a tool call") else ("function", "arguments")
    return {"id": call.id, "type": kept, kept: {"name": call.name, key: "{}"}}


def _function(value: object, what: str) -> tuple[str, str]:
    function = as_dict(value, what)
    arguments = function.get("arguments", function.get("input"))
    if not isinstance(arguments, str):
        # Some recorders store the object that the string stood for, and nothing where there are no arguments.
        arguments = jsontext.write({} if arguments is None else arguments)
    return as_name(function, "name", what), arguments


def _cut_arguments(sent: dict[str, object], arguments: tuple[str, ...]) -> None:
    calls = [dict(as_dict(call, "a tool call")) for call in as_list(sent.get("tool_calls"), "tool_calls")]
    for call, cut in zip(calls, arguments, strict=False):
        kept, key = ("custom", "input") if "custom" in call else ("function", "arguments")
        call[kept] = {**as_dict(call.get(kept), kept), key: cut}
    if calls:
        sent["tool_calls"] = calls
    if sent.get("function_call") is not None:
        sent["function_call"] = {**as_dict(sent["function_call"], "function_call"), "arguments": arguments[-1]}


def _results(obj: dict[str, object]) -> tuple[str, ...]:
    if obj["role"] == "tool":
        return (as_name(obj, "tool_call_id", "a tool message"),)
    if obj["role"] == "function":
        return (as_name(obj, "name", "a function message"),)
    return ()


# -- crossing ---------------------------------------------------------------------------------------------------------


def _piece(part: object) -> Words | Media:
    if isinstance(part, str):
        return Words(part)
    given = as_dict(part, "a part of content")
    match given.get("type"):
        case "text":
            return Words(_part_text(given))
        case "refusal":
            return Words(str(given.get("refusal", "")))
        case "image_url" | "input_audio" | "file" as shown:
            inner = given.get(shown)
            return _media_piece(shown, inner if isinstance(inner, dict) else {"url": inner})
        case _:
            return Words(jsontext.write(bare(given)))


def _media_piece(shown: str, inner: dict[str, object]) -> Words | Media:
    if shown == "image_url":
        return media_from(inner.get("url"), "image/*")
    if shown == "input_audio":
        return Media(f"audio/{inner.get('format', 'wav')}", data=str(inner.get("data", "")))
    if inner.get("file_data"):
        return media_from(inner["file_data"], "application/pdf", inner.get("filename"))
    return Words(told(Media("file")))


def _adopted_call(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": portable_id(call.id), "type": "function", "function": function}


def _adopted_answer(outcome: Outcome) -> dict[str, object]:
    said = _joined(outcome.said)
    content = f"[error]\n{said}" if outcome.failed else said
    return {"role": "tool", "tool_call_id": portable_id(outcome.call_id), "content": content}


def _adopted_words(role: Role, words: Sequence[Words | Media], calls: list[dict[str, object]]) -> dict[str, object]:
    content = _content(words, role)
    made: dict[str, object] = {"role": "user" if role == "tool" else role, "content": content}
    return {**made, "content": content or None, "tool_calls": calls} if calls else made


def _joined(pieces: Sequence[Words | Media]) -> str:
    return "\n".join(piece.text if isinstance(piece, Words) else told(piece) for piece in pieces)


def _content(pieces: Sequence[Words | Media], role: Role) -> object:
    if role not in {"user", "tool"} or (len(pieces) < 2 and not any(isinstance(one, Media) for one in pieces)):
        return _joined(pieces)
    return [_part(piece) for piece in pieces]


def _part(piece: Words | Media) -> dict[str, object]:
    if isinstance(piece, Words):
        return {"type": "text", "text": piece.text}
    if piece.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(piece)}}
    if piece.mime.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": piece.data, "format": piece.mime.removeprefix("audio/")}}
    if piece.url:
        return {"type": "text", "text": f"{told(piece)} {piece.url}"}
    return {"type": "file", "file": {"filename": piece.name or "document", "file_data": data_url(piece)}}
