"""Messages of pydantic-ai 2 as its own adapter writes them: requests and responses of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    as_name,
    bare,
    is_image_type,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    with_label,
)
from squidbot.codecs.form import Block, PartView, PartwiseForm
from squidbot.core.messages import Media, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Piece

__all__ = ["PydanticAI"]

# The time of squidbot's own texts: pydantic-ai would write the time of reading, a new one in each request.
_ALWAYS: Final = "1970-01-01T00:00:00Z"
# Parts with text for the model in `content`.
_SAID: Final = ("retry-feedback", "retry-prompt", "system-prompt", "text", "tool-return", "user-prompt")
# Outcomes of results whose tool failed.
_FAILED: Final = ("failed", "denied", "interrupted", "retried")
_ADDRESSES: Final = {
    "image-url": "image/*",
    "audio-url": "audio/*",
    "video-url": "video/*",
    "document-url": "application/pdf",
}
_MARKS: Final = ("cache-point",)
# Parts with words of a user or of the model.
_SPOKEN: Final = ("text", "user-prompt")
_KINDS: Final[dict[Role, str]] = {
    "system": "system-prompt",
    "user": "user-prompt",
    "assistant": "text",
    "tool": "user-prompt",
}


class PydanticAI(PartwiseForm):
    """The codec of pydantic-ai's messages, as `ModelMessagesTypeAdapter` writes them.

    Parts of unknown kinds stay in the payload and count as their JSON text.
    """

    tag = "pydantic_ai/2"
    type_key, call_type, thinking = "part_kind", "tool-call", ("thinking",)

    def _is_image(self, one: Mapping[str, object]) -> bool:
        return one.get("kind") == "image-url" or (one.get("kind") == "binary" and is_image_type(one.get("media_type")))

    def _placeholder(self, text: str) -> object:
        return text

    def _role(self, obj: Block) -> Role:
        """Return a message's role: a tool's if it answers a call, the system's if it holds nothing else.

        Raises:
            PayloadError: it is neither a request nor a response.
        """
        if (what := obj.get("kind")) == "response":
            return "assistant"
        if what != "request":
            raise PayloadError(f"kind is {what!r:.60}; expected request or response")
        parts = self._parts(obj)
        if any(map(self._is_result, parts)):
            return "tool"
        is_system = bool(parts) and all(part.get("part_kind") == "system-prompt" for part in parts)
        return "system" if is_system else "user"

    def _made(self, role: str, text: str) -> Block:
        if role not in _KINDS:
            raise PayloadError(f"unknown role {role!r:.60}; expected one of {', '.join(_KINDS)}")
        kind = "response" if role == "assistant" else "request"
        return {"parts": [_said(_KINDS[role], text)], "timestamp": _ALWAYS, "kind": kind}

    def _noticed(self, sent: Block, notice: str) -> Block:
        return {**sent, "parts": [*self._parts(sent), _said("user-prompt", notice)]}

    def _emptied(self, obj: Block, text: str) -> Block:
        return super()._emptied({"parts": obj.get("parts"), "kind": obj.get("kind")}, text)

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        parts = [_part(piece, role) for piece in (*results, *words, *calls)]
        made = self._made(role, "")
        return [{**made, "parts": parts or made["parts"]}]

    def _is_result(self, part: Mapping[str, object]) -> bool:
        """Return whether a part is the result of a call; a retry is one if it names a tool."""
        what = part.get("part_kind")
        return what == "tool-return" or (what == "retry-prompt" and part.get("tool_name") is not None)

    def _labelled(self, parts: list[Block], label: str) -> list[Block]:
        first = next((part for part in parts if part.get("part_kind") in _SPOKEN and part.get("content")), None)
        return [{**part, "content": with_label(part["content"], label)} if part is first else part for part in parts]

    def _slimmed(self, parts: list[Block], text: str, role: Role) -> list[Block]:
        calls = [part for part in parts if self._is_call(part)]
        spoken = (str(part["part_kind"]) for part in parts if part.get("part_kind") in _SPOKEN)
        return [_said("text" if calls else next(spoken, "text"), text), *calls]

    def _view(self, part: Block) -> PartView:
        what, items = part.get("part_kind"), _items(part.get("content"))
        tokens = sum(map(_media_tokens, items))
        if self._is_call(part):
            return PartView(pieces=(self._call(part),), tokens=tokens)
        if what == "thinking":
            return PartView(str(part.get("content") or ""), (), tokens)
        if what not in _SAID:
            return PartView(jsontext.write(part), (Words(jsontext.write(bare(part))),), tokens)
        said = tuple(piece for item in items for piece in _shown(item))
        text = "\n".join(filter(None, map(_item_text, items)))
        if not self._is_result(part):
            return PartView(text, said, tokens)
        outcome = ToolResult(as_name(part, "tool_call_id", "a result"), said, _has_failed(part))
        return PartView(text, (outcome,), tokens)

    def _call(self, part: Block) -> ToolCall:
        identifier, name = (as_name(part, key, "a tool-call") for key in ("tool_call_id", "tool_name"))
        given = part.get("args")
        return ToolCall(identifier, name, given if isinstance(given, str) else jsontext.write(given or {}))

    def _called(self, call: ToolCall) -> Block:
        return _called(call)

    def _with_arguments(self, part: Block, arguments: str) -> Block:
        return {**part, "args": arguments}

    def _words(self, role: Role, text: str) -> Block:
        return _said(_KINDS[role], text)

    def _cut_results(self, parts: list[Block], text: str) -> list[Block]:
        answers: list[Block] = []
        for part in filter(self._is_result, parts):
            kept: Block = {key: part[key] for key in ("tool_name", "tool_call_id", "part_kind") if key in part}
            outcome = {"outcome": part["outcome"]} if part.get("outcome") in _FAILED else {}
            stamp = jsontext.stamp_alone(part.get("timestamp")) or _ALWAYS
            answers.append({**kept, **outcome, "content": "" if answers else text, "timestamp": stamp})
        return answers


def _has_failed(result: Mapping[str, object]) -> bool:
    return result.get("outcome") in _FAILED or result.get("part_kind") == "retry-prompt"


def _items(content: object) -> list[object]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _item_text(item: object) -> str:
    """Return the text of one item of a content, "" for media and marks; other values as JSON."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict):
        if _is_media(item) or item.get("kind") in _MARKS:
            return ""
        if item.get("kind") == "text-content":
            return str(item.get("content", ""))
    return jsontext.write(item)


def _is_media(item: object) -> bool:
    what = item.get("kind") if isinstance(item, dict) else None
    return what in (*_ADDRESSES, "binary", "uploaded-file")


def _media_tokens(item: object) -> int:
    if not isinstance(item, dict) or not _is_media(item):
        return 0
    mime = str(item.get("media_type") or _ADDRESSES.get(str(item.get("kind")), ""))
    if mime.startswith("image/"):
        return openai_image_tokens(None)
    return media_tokens(len(str(item.get("data", ""))))


def _said(what: str, text: str) -> Block:
    stamp = {} if what == "text" else {"timestamp": _ALWAYS}
    return {"content": text, **stamp, "part_kind": what}


def _shown(item: object) -> list[Words | Media]:
    if not isinstance(item, dict) or not _is_media(item):
        text = _item_text(item)
        return [Words(text)] if text else []
    if (what := str(item["kind"])) in _ADDRESSES:
        return [media_from(item.get("url", ""), str(item.get("media_type") or _ADDRESSES[what]))]
    return [Media(str(item.get("media_type") or "application/octet-stream"), data=str(item.get("data", "")))]


def _part(piece: Piece, role: Role) -> Block:
    match piece:
        case Words(text):
            return _said(_KINDS[role], text)
        case ToolCall():
            return _called(piece._replace(id=portable_id(piece.id)))
        case ToolResult(identifier, said, failed):
            content = [_item(each) for each in said]
            return {
                "tool_name": "tool",
                "content": content[0] if len(content) == 1 else content,
                "tool_call_id": portable_id(identifier),
                "timestamp": _ALWAYS,
                "outcome": "failed" if failed else "success",
                "part_kind": "tool-return",
            }
        case _:
            return {"content": [_item(piece)], "timestamp": _ALWAYS, "part_kind": "user-prompt"}


def _item(piece: Words | Media) -> object:
    if isinstance(piece, Words):
        return piece.text
    if not piece.url:
        return {"data": piece.data, "media_type": piece.mime, "kind": "binary"}
    what = next(
        (each for each, mime in _ADDRESSES.items() if mime.partition("/")[0] == piece.mime.partition("/")[0]),
        "document-url",
    )
    return {"url": piece.url, "media_type": piece.mime, "kind": what}


def _called(call: ToolCall) -> Block:
    return {"tool_name": call.name, "args": call.arguments, "tool_call_id": call.id, "part_kind": "tool-call"}
