"""Messages of LangChain as `message_to_dict` writes them: a type, and its data."""

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
    as_told,
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
from squidbot.core.messages import Category, Media, Message, Outcome, Portable, Role, ToolCall, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Part

__all__ = ["LangChain"]

_ROLES: Final[dict[str, Role]] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_TYPES: Final[dict[str, str]] = {role: what for what, role in _ROLES.items()}
_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}
_THINKING: Final = ("reasoning", "reasoning_content", "redacted_thinking", "thinking")
# Calls stand among the blocks of some providers, too; they are read where LangChain puts those of all.
_CALLS: Final = ("function_call", "tool_call", "tool_use")
_IMAGES: Final = ("image", "image_url", "input_image")
_MEDIA: Final = (*_IMAGES, "audio", "document", "file", "input_audio", "input_file", "video")


class LangChain(Pictures):
    """The codec of LangChain's messages. Blocks of unknown types stay in the payload and count as their JSON text."""

    tag: Final = "lc/1"
    image_types = ("image", "image_url")

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls: its blocks, one below the other.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _text(_data(as_object(payload)).get("content"))

    def decode(self, payload: str) -> Message:
        """Return the message with its index.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, as_object(payload), None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a dict of LangChain's, or one of `role` and `content`, as texts come to a session.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        payload = jsontext.write(as_told(obj, _made))
        return self._index(payload, as_object(payload), time)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one where nothing of it is cut or added.

        A slimmed one says `part.text` instead of all that it said. A notice is a text block behind the others.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent = _made(part.role, part.text or "")
        elif part.is_uncut:
            return part.payload
        else:
            sent = as_object(part.payload)
            sent["data"] = data = _changed(_data(sent), part)
            if part.label:
                sent["data"] = {**data, "content": with_label(data.get("content"), part.label)}
        if part.notice is not None:
            data = _data(sent)
            sent["data"] = {**data, "content": [*_blocks(data.get("content")), {"type": "text", "text": part.notice}]}
        return jsontext.write(sent)

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: its images, recordings and documents, from above.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return sum(map(_media_tokens, _blocks(_data(as_object(payload)).get("content"))))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are empty.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        data = _data(obj)
        left: dict[str, object] = {"content": text, "type": obj["type"]}
        if "tool_call_id" in data:
            left["tool_call_id"] = data["tool_call_id"]
        if _failed(_role(obj), data):
            left["status"] = data["status"]
        if calls := [_call(each) for each in _calls(data)]:
            left["tool_calls"] = [_called(ToolCall(call.id, call.name, "{}")) for call in calls]
        return jsontext.write({"type": obj["type"], "data": left})

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: thinking, signatures and artifacts stay behind.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        role, data = _role(obj), _data(obj)
        kept = (block for block in _blocks(data.get("content")) if block.get("type") not in (*_THINKING, *_CALLS))
        said = [piece for block in kept if (piece := _piece(block)) != Words("")]
        if role == "tool":
            failed = _failed(role, data)
            return Portable(role, (Outcome(as_name(data, "tool_call_id", "a tool message"), tuple(said), failed),))
        return Portable(role, (*said, *(_call(each) for each in _calls(data))))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said, a message for each result."""
        made = [_result(piece) for piece in said.pieces if isinstance(piece, Outcome)]
        left = Portable(said.role, tuple(piece for piece in said.pieces if not isinstance(piece, Outcome)))
        if left.pieces or not made:
            made.append(_spoken(left))
        return jsontext.write(made[0] if len(made) == 1 else made)

    def _index(self, payload: str, obj: dict[str, object], time: float | None) -> Message:
        data, role = _data(obj), _role(obj)
        return Message(
            role=role,
            text=_text(data.get("content")),
            payload=payload,
            codec=self.tag,
            calls=tuple(map(_call, _calls(data))) if role == "assistant" else (),
            results=(as_name(data, "tool_call_id", "a tool message"),) if role == "tool" else (),
            category=Category.ERROR if _failed(role, data) else _CATEGORIES.get(role, Category.DIALOG),
            time=time,
        )


def _data(obj: Mapping[str, object]) -> dict[str, object]:
    return as_dict(obj.get("data"), "data")


def _role(obj: Mapping[str, object]) -> Role:
    """Return whose a message is; a piece of a stream is what it is a piece of.

    Raises:
        PayloadError: nobody's.
    """
    what = obj.get("type")
    name = what.removesuffix("MessageChunk").lower() if isinstance(what, str) else ""
    if name not in _ROLES:
        raise PayloadError(f"type is {what!r:.60}; it is one of {', '.join(_ROLES)}")
    return _ROLES[name]


def _blocks(content: object) -> list[dict[str, object]]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; it is a string or a list of blocks")
    return [{"type": "text", "text": each} if isinstance(each, str) else as_dict(each, "a block") for each in content]


def _text(content: object) -> str:
    return "\n".join(filter(None, map(_block_text, _blocks(content))))


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


def _calls(data: Mapping[str, object]) -> list[dict[str, object]]:
    return [as_dict(each, "a tool call") for each in as_list(data.get("tool_calls"), "tool_calls")]


def _call(call: dict[str, object]) -> ToolCall:
    given = call.get("args")
    return ToolCall(
        as_name(call, "id", "a tool call"),
        as_name(call, "name", "a tool call"),
        jsontext.write({} if given is None else given),
    )


def _called(call: ToolCall) -> dict[str, object]:
    try:
        given = jsontext.parse(call.arguments)
    except jsontext.JsonTextError:
        given = None
    args = given if isinstance(given, dict) else {"input": call.arguments}
    return {"name": call.name, "args": args, "id": portable_id(call.id), "type": "tool_call"}


# -- what squidbot says, and what it leaves ---------------------------------------------------------------------------


def _made(role: str, text: str) -> dict[str, object]:
    """Return a message that says a text.

    Raises:
        PayloadError: nobody has that role.
    """
    if role not in _TYPES:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_TYPES)}")
    # A result by itself answers nothing: what squidbot says beside tools it says to the model as the user.
    what = "human" if role == "tool" else _TYPES[role]
    return {"type": what, "data": {"content": text, "type": what}}


def _changed(data: dict[str, object], sent: Part) -> dict[str, object]:
    if sent.drop_thinking and isinstance(data.get("content"), list):
        kept = [each for each in _blocks(data["content"]) if each.get("type") not in _THINKING]
        data = {**data, "content": kept or ([] if _calls(data) else "(thinking)")}
    if sent.text is not None:
        data = {key: value for key, value in data.items() if key not in ("additional_kwargs", "artifact")}
        data["content"] = sent.text
    return data if sent.arguments is None else _with_arguments(data, sent.arguments)


def _with_arguments(data: dict[str, object], given: tuple[str, ...]) -> dict[str, object]:
    calls = zip(_calls(data), given, strict=False)
    made = [{**call, "args": _called(ToolCall("x", "x", arguments))["args"]} for call, arguments in calls]
    blocks = [each for each in _blocks(data.get("content")) if each.get("type") not in _CALLS]
    return {**data, "tool_calls": made, "content": _plain(blocks)}


def _plain(blocks: list[dict[str, object]]) -> object:
    """Return blocks as a content: one text as a string."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else blocks


# -- crossing ---------------------------------------------------------------------------------------------------------


def _result(outcome: Outcome) -> dict[str, object]:
    data: dict[str, object] = {
        "content": _plain([_block(each) for each in outcome.said]),
        "type": "tool",
        "tool_call_id": portable_id(outcome.call_id),
        "status": "error" if outcome.failed else "success",
    }
    return {"type": "tool", "data": data}


def _spoken(said: Portable) -> dict[str, object]:
    words = [_block(piece) for piece in said.pieces if isinstance(piece, Words | Media)]
    calls = [_called(piece) for piece in said.pieces if isinstance(piece, ToolCall)]
    made = _made(said.role, "")
    data = {**_data(made), "content": _plain(words)}
    return {**made, "data": {**data, "tool_calls": calls} if calls else data}


def _failed(role: Role, data: Mapping[str, object]) -> bool:
    return role == "tool" and data.get("status") == "error"


def _piece(block: dict[str, object]) -> Words | Media:
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


def _block(piece: Words | Media) -> dict[str, object]:
    if isinstance(piece, Words):
        return {"type": "text", "text": piece.text}
    if piece.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(piece)}}
    if not piece.data:
        return {"type": "text", "text": told(piece)}
    named = {"filename": piece.name} if piece.name else {}
    return {"type": "file", "mime_type": piece.mime, "base64": piece.data, **named}
