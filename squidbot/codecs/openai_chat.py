"""OpenAI-style chat messages: role, content, tool_calls, tool_call_id; the form of most hosts and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    as_dict,
    as_list,
    as_name,
    as_text,
    bare,
    content_of,
    data_url,
    joined,
    kind,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    told,
    with_label,
    with_notice,
)
from squidbot.codecs.form import Block, MessageForm, PartView
from squidbot.core.messages import Media, Message, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Part

__all__ = ["TRANSCRIPT_KEYS", "OpenAIChat"]

# Keys that recordings add and a provider would refuse. Kept in the payload, not sent.
TRANSCRIPT_KEYS: Final = frozenset({"timestamp", "usage", "model"})

# Where hosts keep a model's reasoning beside its answer.
_THINKING_KEYS: Final = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"})

# A payload without any of these has no key to leave out. ASCII letters may also be spelled as escapes.
_LEFT_OUT: Final = tuple(f'"{key}"' for key in TRANSCRIPT_KEYS)
_ALL_LEFT_OUT: Final = (*_LEFT_OUT, *(f'"{key}"' for key in _THINKING_KEYS))

# Keys that cost tokens through `Message.rendered`, or next to none.
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


class OpenAIChat(MessageForm):
    """The codec of OpenAI-style chat messages. Unknown keys and parts stay in the payload and are sent unchanged."""

    tag = "openai.chat"
    roles = _ROLES
    image_types, joint = _IMAGES, ""

    def to_dict(self, message: Message) -> Block:
        """Return the message as a host's dict, without the keys of recordings (TRANSCRIPT_KEYS).

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._sendable(message.payload)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        A verbatim part is its stored payload without TRANSCRIPT_KEYS; a slimmed one has `part.text` for its content and
        `part.arguments` for those of its calls; one made by squidbot is `part.text` in its role. A notice follows the
        content: in a list as a text part of its own, else fenced behind the string.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        return (part.payload or "") if _goes_as_stored(part) else super().encode(part)

    # Only a payload with nothing to leave out is sent as stored: see above.
    sent_as_stored = False

    def _given(self, obj: Mapping[str, object]) -> Block:
        return dict(obj)

    def _views(self, obj: Block) -> list[PartView]:
        self._known_role(obj)
        views = _content_views(obj.get("content"))
        if isinstance(refusal := obj.get("refusal"), str):
            views.append(PartView(pieces=(Words(refusal),)))
        if (answered := _answered(obj)) is not None:
            said = tuple(piece for view in views for piece in view.pieces if isinstance(piece, Words | Media))
            views = [*(view._replace(pieces=()) for view in views), PartView(pieces=(ToolResult(answered, said),))]
        beside = {
            key: value for key, value in obj.items() if key not in _COUNTED_KEYS and value not in (None, "", [], {})
        }
        spelled = jsontext.utf8_bytes(jsontext.write(beside)) if beside else 0
        return [*views, PartView(pieces=_calls(obj), tokens=spelled)]

    def _sender(self, obj: Block) -> str:
        return str(obj.get("name") or "") if obj["role"] == "user" else ""

    def _emptied(self, obj: Block, text: str) -> Block:
        self._known_role(obj)
        left: Block = {"role": obj["role"], "content": text}
        if (answered := _answered(obj)) is not None:
            left["tool_call_id" if obj["role"] == "tool" else "name"] = answered
        if calls := [_emptied(call) for call in as_list(obj.get("tool_calls"), "tool_calls")]:
            left["tool_calls"] = calls
        if obj.get("function_call") is not None:
            left["function_call"] = {"name": _function(obj["function_call"], "function_call")[0], "arguments": "{}"}
        return left

    def _made(self, role: str, text: str) -> Block:
        return {"role": role, "content": text}

    def _sendable(self, payload: str) -> Block:
        return {key: value for key, value in self._read(payload).items() if key not in TRANSCRIPT_KEYS}

    def _cut(self, sent: Block, part: Part) -> Block:
        if part.text is not None:
            sent["content"] = part.text
        if part.arguments is not None:
            _cut_arguments(sent, part.arguments)
        if part.drop_thinking:
            sent = {key: value for key, value in sent.items() if key not in _THINKING_KEYS}
        if part.label:
            sent["content"] = with_label(sent.get("content"), part.label)
        return sent

    def _noticed(self, sent: Block, notice: str) -> Block:
        return {**sent, "content": with_notice(sent.get("content"), notice)}

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        made = [_adopted_answer(each) for each in results]
        if words or calls or not results:
            content = content_of(words, _part) if role in {"user", "tool"} else joined(words)
            called = {"content": content or None, "tool_calls": [_adopted_call(each) for each in calls]}
            said: Block = {"role": "user" if role == "tool" else role, "content": content}
            made.append({**said, **called} if calls else said)
        return made


def _goes_as_stored(part: Part) -> bool:
    """Return whether a part's stored payload is sent unchanged, without parsing it."""
    payload = part.payload
    if payload is None or not (part.text is None and part.arguments is None and part.notice is None and not part.label):
        return False
    # A backslash alone is found ten times faster than an escape, and most texts have none.
    if "\\" in payload and "\\u00" in payload:
        return False
    for name in _ALL_LEFT_OUT if part.drop_thinking else _LEFT_OUT:  # noqa: SIM110  # a generator takes twice as long
        if name in payload:
            return False
    return True


def _content_views(content: object) -> list[PartView]:
    if isinstance(content, str):
        return [PartView(content, (Words(content),))]
    if content is None or isinstance(content, list):
        return [_view(part) for part in content or ()]
    raise PayloadError(f"content is {kind(content)}; expected a string, null or a list of parts")


def _view(part: object) -> PartView:
    """Return a part of content. Images cost a fixed number by their `detail`, other parts the bytes of their JSON."""
    if isinstance(part, str):
        return PartView(part, (Words(part),))
    given = as_dict(part, "a part of content")
    text = as_text(given.get("text", ""), "text of a part of content")
    what = given.get("type")
    if what in _IMAGES:
        image = given.get("image_url")
        tokens = openai_image_tokens(image.get("detail") if isinstance(image, dict) else given.get("detail"))
    else:
        rest = {key: value for key, value in given.items() if key not in {"type", "text"}}
        tokens = jsontext.utf8_bytes(jsontext.write(rest)) if rest else 0
        tokens = media_tokens(tokens) if what in _MEDIA else tokens
    return PartView(text, (_piece(given, text),), tokens)


def _calls(obj: Block) -> tuple[ToolCall, ...]:
    calls = tuple(map(_call, as_list(obj.get("tool_calls"), "tool_calls")))
    if obj.get("function_call") is None:
        return calls
    # Calls without ids came one at a time; the answer had the function's name.
    name, arguments = _function(obj["function_call"], "function_call")
    return (*calls, ToolCall(name, name, arguments))


def _call(value: object) -> ToolCall:
    call = as_dict(value, "a tool call")
    identifier = as_name(call, "id", "a tool call")
    kept = "custom" if "custom" in call else "function"
    return ToolCall(identifier, *_function(call.get(kept), f"{kept} of tool call {identifier:.80}"))


def _emptied(value: object) -> Block:
    call = _call(value)
    kept, key = ("custom", "input") if "custom" in as_dict(value, "a tool call") else ("function", "arguments")
    return {"id": call.id, "type": kept, kept: {"name": call.name, key: "{}"}}


def _function(value: object, what: str) -> tuple[str, str]:
    function = as_dict(value, what)
    arguments = function.get("arguments", function.get("input"))
    if not isinstance(arguments, str):
        # Some recorders store the object instead of its string, and nothing if there are no arguments.
        arguments = jsontext.write({} if arguments is None else arguments)
    return as_name(function, "name", what), arguments


def _cut_arguments(sent: Block, arguments: tuple[str, ...]) -> None:
    calls = [dict(as_dict(call, "a tool call")) for call in as_list(sent.get("tool_calls"), "tool_calls")]
    for call, cut in zip(calls, arguments, strict=False):
        kept, key = ("custom", "input") if "custom" in call else ("function", "arguments")
        call[kept] = {**as_dict(call.get(kept), kept), key: cut}
    if calls:
        sent["tool_calls"] = calls
    if sent.get("function_call") is not None:
        sent["function_call"] = {**as_dict(sent["function_call"], "function_call"), "arguments": arguments[-1]}


def _answered(obj: Block) -> str | None:
    """Return the id of the call that a message answers."""
    if obj["role"] == "tool":
        return as_name(obj, "tool_call_id", "a tool message")
    return as_name(obj, "name", "a function message") if obj["role"] == "function" else None


def _piece(part: Block, text: str) -> Words | Media:
    match part.get("type"):
        case "text":
            return Words(text)
        case "refusal":
            return Words(str(part.get("refusal", "")))
        case "image_url" | "input_audio" | "file" as shown:
            inner = part.get(shown)
            return _media_piece(shown, inner if isinstance(inner, dict) else {"url": inner})
        case _:
            return Words(jsontext.write(bare(part)))


def _media_piece(shown: str, inner: Block) -> Words | Media:
    if shown == "image_url":
        return media_from(inner.get("url"), "image/*")
    if shown == "input_audio":
        return Media(f"audio/{inner.get('format', 'wav')}", data=str(inner.get("data", "")))
    if inner.get("file_data"):
        return media_from(inner["file_data"], "application/pdf", inner.get("filename"))
    return Words(told(Media("file")))


def _adopted_call(call: ToolCall) -> Block:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": portable_id(call.id), "type": "function", "function": function}


def _adopted_answer(outcome: ToolResult) -> Block:
    said = joined(outcome.said)
    content = f"[error]\n{said}" if outcome.failed else said
    return {"role": "tool", "tool_call_id": portable_id(outcome.call_id), "content": content}


def _part(piece: Words | Media) -> Block:
    if isinstance(piece, Words):
        return {"type": "text", "text": piece.text}
    if piece.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(piece)}}
    if piece.mime.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": piece.data, "format": piece.mime.removeprefix("audio/")}}
    if piece.url:
        return {"type": "text", "text": f"{told(piece)} {piece.url}"}
    return {"type": "file", "file": {"filename": piece.name or "document", "file_data": data_url(piece)}}
