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
from squidbot.codecs.form import THOUGHT, Block, SingleMessageForm, as_arguments
from squidbot.core.messages import Media, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.messages import Part, Piece

__all__ = ["LangChain"]

_ROLES: Final[dict[str, Role]] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_TYPES: Final[dict[str, str]] = {role: what for what, role in _ROLES.items()}
_THINKING: Final = ("reasoning", "reasoning_content", "redacted_thinking", "thinking")
# Calls stand among the blocks of some providers, too; they are read where LangChain puts those of all.
_CALLS: Final = ("function_call", "tool_call", "tool_use")
_IMAGES: Final = ("image", "image_url", "input_image")
_MEDIA: Final = (*_IMAGES, "audio", "document", "file", "input_audio", "input_file", "video")


class LangChain(SingleMessageForm):
    """The codec of LangChain's messages. Blocks of unknown types stay in the payload and count as their JSON text."""

    tag = "lc/1"
    roles = _ROLES
    image_types = ("image", "image_url")

    def _stamp(self, obj: Block) -> object:
        return None

    def _parts(self, obj: Block) -> list[Block]:
        return _blocks(_data(obj).get("content"))

    def _role(self, obj: Block, parts: list[Block]) -> Role:
        """Return whose a message is; a piece of a stream is what it is a piece of."""
        what = obj.get("type")
        name = what.removesuffix("MessageChunk").lower() if isinstance(what, str) else what
        return self._known_role({"type": name}, "type")

    def _said(self, obj: Block, parts: list[Block]) -> str:
        return "\n".join(filter(None, map(_block_text, parts)))

    def _calls(self, obj: Block, parts: list[Block]) -> Iterable[ToolCall]:
        return map(_call, _calls(_data(obj))) if self._role(obj, parts) == "assistant" else ()

    def _results(self, obj: Block, parts: list[Block]) -> Iterable[str]:
        return [as_name(_data(obj), "tool_call_id", "a tool message")] if self._role(obj, parts) == "tool" else []

    def _failed(self, obj: Block, parts: list[Block]) -> bool:
        return self._role(obj, parts) == "tool" and _data(obj).get("status") == "error"

    def _hidden_tokens(self, obj: Block, parts: list[Block]) -> int:
        return sum(map(_media_tokens, parts))

    def _pieces(self, obj: Block, parts: list[Block]) -> Iterable[Piece]:
        kept = (block for block in parts if block.get("type") not in (*_THINKING, *_CALLS))
        said = [piece for block in kept if (piece := _piece(block)) != Words("")]
        if answered := [*self._results(obj, parts)]:
            return [ToolResult(answered[0], tuple(said), self._failed(obj, parts))]
        return [*said, *map(_call, _calls(_data(obj)))]

    def _made(self, role: str, text: str) -> Block:
        if role not in _TYPES:
            raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_TYPES)}")
        # A result by itself answers nothing: what squidbot says beside tools it says to the model as the user.
        what = "human" if role == "tool" else _TYPES[role]
        return {"type": what, "data": {"content": text, "type": what}}

    def _cut(self, sent: Block, part: Part) -> Block:
        data = _data(sent)
        if part.drop_thinking and isinstance(data.get("content"), list):
            kept = [each for each in _blocks(data["content"]) if each.get("type") not in _THINKING]
            data = {**data, "content": kept or ([] if _calls(data) else THOUGHT)}
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
        content = [*self._parts(sent), {"type": "text", "text": notice}]
        return {**sent, "data": {**_data(sent), "content": content}}

    def _emptied(self, obj: Block, parts: list[Block], text: str) -> Block:
        data = _data(obj)
        left: Block = {"content": text, "type": obj["type"]}
        if "tool_call_id" in data:
            left["tool_call_id"] = data["tool_call_id"]
        if self._failed(obj, parts):
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


def _blocks(content: object) -> list[Block]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; it is a string or a list of blocks")
    return [{"type": "text", "text": each} if isinstance(each, str) else as_dict(each, "a block") for each in content]


def _block_text(block: Mapping[str, object]) -> str:
    what = block.get("type")
    if what == "text":
        return str(block.get("text") or "")
    if what in _CALLS or what in _MEDIA:
        return ""
    if what in _THINKING and isinstance(said := block.get(str(what), block.get("reasoning")), str):
        return said
    return jsontext.write(block)


def _media_tokens(block: Mapping[str, object]) -> int:
    what = block.get("type")
    if what in _IMAGES or str(block.get("mime_type", "")).startswith("image/"):
        shown = block.get("image_url")
        return openai_image_tokens(shown.get("detail") if isinstance(shown, dict) else block.get("detail"))
    return media_tokens(len(jsontext.write(block))) if what in _MEDIA else 0


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
    """Return blocks as a content: one text as a string."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else blocks


def _piece(block: Block) -> Words | Media:
    what = block.get("type")
    if what == "text":
        return Words(_string(block, "text"))
    if what not in _MEDIA:
        return Words(jsontext.write(bare(block)))
    shown, source = block.get("image_url"), block.get("source")
    if isinstance(shown, dict | str):
        return media_from(shown.get("url", "") if isinstance(shown, dict) else shown, "image/*")
    if isinstance(source, dict):
        return Media(
            _string(source, "media_type"), _string(source, "data"), _string(source, "url"), _string(block, "title")
        )
    mime = _string(block, "mime_type") or ("image/*" if what == "image" else "application/octet-stream")
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
