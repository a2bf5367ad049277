"""Messages of LangChain as `message_to_dict` writes them: a type, and its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    as_dict,
    as_list,
    as_name,
    bare,
    data_url,
    kind,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    told,
    with_label,
)
from squidbot.codecs.form import THOUGHT, Block, MessageForm, PartView, as_arguments
from squidbot.core.messages import Media, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Part

__all__ = ["LangChain"]

_ROLES: Final[dict[str, Role]] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_TYPES: Final[dict[str, str]] = {role: what for what, role in _ROLES.items()}
_THINKING: Final = ("reasoning", "reasoning_content", "redacted_thinking", "thinking")
# Some providers also have calls among the blocks; they are read from LangChain's common list.
_CALLS: Final = ("function_call", "tool_call", "tool_use")
_IMAGES: Final = ("image", "image_url", "input_image")
_MEDIA: Final = (*_IMAGES, "audio", "document", "file", "input_audio", "input_file", "video")


class LangChain(MessageForm):
    """The codec of LangChain's messages. Blocks of unknown types stay in the payload and count as their JSON text."""

    tag = "lc/1"
    roles = _ROLES
    image_types = ("image", "image_url")

    def _stamp(self, obj: Block) -> object:
        return None

    def _role(self, obj: Block) -> Role:
        """Return a message's role; a stream chunk has the role of its message."""
        what = obj.get("type")
        name = what.removesuffix("MessageChunk").lower() if isinstance(what, str) else what
        return self._known_role({"type": name}, "type")

    def _views(self, obj: Block) -> list[PartView]:
        data = _data(obj)
        views = list(map(_view, _blocks(data.get("content"))))
        match self._role(obj):
            case "tool":
                said = tuple(piece for view in views for piece in view.pieces if isinstance(piece, Words | Media))
                outcome = ToolResult(
                    as_name(data, "tool_call_id", "a tool message"), said, data.get("status") == "error"
                )
                return [*(view._replace(pieces=()) for view in views), PartView(pieces=(outcome,))]
            case "assistant":
                return [*views, *(PartView(pieces=(_call(call),)) for call in _calls(data))]
            case _:
                return views

    def _made(self, role: str, text: str) -> Block:
        if role not in _TYPES:
            raise PayloadError(f"unknown role {role!r:.60}; expected one of {', '.join(_TYPES)}")
        # A lone result answers nothing: squidbot's own text beside tools goes to the model as the user's.
        what = "human" if role == "tool" else _TYPES[role]
        return {"type": what, "data": {"content": text, "type": what}}

    def _cut(self, sent: Block, part: Part) -> Block:
        data = _data(sent)
        if part.drop_thinking:
            data = _without_thinking(data)
        if part.text is not None:
            data = {key: value for key, value in data.items() if key not in ("additional_kwargs", "artifact")}
            data["content"] = part.text
        if part.arguments is not None:
            calls = zip(_calls(data), part.arguments, strict=False)
            made = [{**call, "args": as_arguments(arguments)} for call, arguments in calls]
            blocks = [each for each in _blocks(data.get("content")) if each.get("type") not in _CALLS]
            data = {**data, "tool_calls": made, "content": _plain(blocks)}
        if part.label:
            data = {**data, "content": with_label(data.get("content"), part.label)}
        return {**sent, "data": data}

    def _noticed(self, sent: Block, notice: str) -> Block:
        data = _data(sent)
        return {**sent, "data": {**data, "content": [*_blocks(data.get("content")), {"type": "text", "text": notice}]}}

    def _emptied(self, obj: Block, text: str) -> Block:
        data, role = _data(obj), self._role(obj)
        left: Block = {"content": text, "type": obj["type"]}
        if data.get("id"):  # by it the host's list is compared with what is recorded
            left["id"] = data["id"]
        if "tool_call_id" in data:
            left["tool_call_id"] = data["tool_call_id"]
        if data.get("status") == "error" and role == "tool":
            left["status"] = data["status"]
        if calls := [_call(each) for each in _calls(data)]:
            left["tool_calls"] = [_called(call._replace(arguments="{}")) for call in calls]
        return {"type": obj["type"], "data": left}

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        made: list[Block] = [{"type": "tool", "data": _result(each)} for each in results]
        if words or calls or not results:
            last = self._made(role, "")
            called = {"tool_calls": [_called(call) for call in calls]} if calls else {}
            content = _plain([_block(piece) for piece in words])
            made.append({**last, "data": {**_data(last), "content": content, **called}})
        return made


def _data(obj: Mapping[str, object]) -> Block:
    return as_dict(obj.get("data"), "data")


def _without_thinking(data: Block) -> Block:
    if not isinstance(data.get("content"), list):
        return data
    kept = [each for each in _blocks(data["content"]) if each.get("type") not in _THINKING]
    return {**data, "content": kept or ([] if _calls(data) else THOUGHT)}


def _blocks(content: object) -> list[Block]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; expected a string or a list of blocks")
    return [{"type": "text", "text": each} if isinstance(each, str) else as_dict(each, "a block") for each in content]


def _view(block: Block) -> PartView:
    what = block.get("type")
    if what == "text":
        text = _string(block, "text")
        return PartView(text, (Words(text),) if text else ())
    if what in _CALLS:
        return PartView()
    if what in _THINKING:
        thought = block.get(str(what), block.get("reasoning"))
        return PartView(thought if isinstance(thought, str) else jsontext.write(block))
    tokens = _tokens(block)
    if what in _MEDIA:
        return PartView("", (_media(block),), tokens)
    return PartView(jsontext.write(block), (Words(jsontext.write(bare(block))),), tokens)


def _tokens(block: Block) -> int:
    """Return the tokens of a picture or another medium; 0 for other blocks."""
    if block.get("type") in _IMAGES or str(block.get("mime_type", "")).startswith("image/"):
        shown = block.get("image_url")
        return openai_image_tokens(shown.get("detail") if isinstance(shown, dict) else block.get("detail"))
    return media_tokens(len(jsontext.write(block))) if block.get("type") in _MEDIA else 0


def _calls(data: Mapping[str, object]) -> list[Block]:
    return [as_dict(each, "a tool call") for each in as_list(data.get("tool_calls"), "tool_calls")]


def _call(call: Block) -> ToolCall:
    given = call.get("args")
    return ToolCall(
        as_name(call, "id", "a tool call"),
        as_name(call, "name", "a tool call"),
        jsontext.write({} if given is None else given),
    )


def _called(call: ToolCall) -> Block:
    args = as_arguments(call.arguments)
    return {"name": call.name, "args": args, "id": portable_id(call.id), "type": "tool_call"}


def _result(outcome: ToolResult) -> Block:
    return {
        "content": _plain([_block(each) for each in outcome.said]),
        "type": "tool",
        "tool_call_id": portable_id(outcome.call_id),
        "status": "error" if outcome.failed else "success",
    }


def _plain(blocks: list[Block]) -> object:
    """Return blocks as a content: a single text as a string."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else blocks


def _media(block: Block) -> Media:
    shown, source = block.get("image_url"), block.get("source")
    if isinstance(shown, dict | str):
        return media_from(shown.get("url", "") if isinstance(shown, dict) else shown, "image/*")
    if isinstance(source, dict):
        return Media(
            _string(source, "media_type"), _string(source, "data"), _string(source, "url"), _string(block, "title")
        )
    mime = _string(block, "mime_type") or ("image/*" if block.get("type") == "image" else "application/octet-stream")
    data = _string(block, "base64") or _string(block, "data")
    return Media(mime, data, _string(block, "url"), _string(block, "filename"))


def _string(block: Mapping[str, object], key: str) -> str:
    return str(block.get(key) or "")


def _block(piece: Words | Media) -> Block:
    if isinstance(piece, Words):
        return {"type": "text", "text": piece.text}
    if piece.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(piece)}}
    if not piece.data:
        return {"type": "text", "text": told(piece)}
    named = {"filename": piece.name} if piece.name else {}
    return {"type": "file", "mime_type": piece.mime, "base64": piece.data, **named}
