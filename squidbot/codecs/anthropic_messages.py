"""Anthropic messages: user and assistant turns of content blocks; a user message may answer several tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    Pictures,
    as_dict,
    as_name,
    as_object,
    bare,
    kind,
    media_from,
    media_tokens,
    portable_id,
    told,
    with_label,
    with_notice,
)
from squidbot.core.messages import Category, Media, Message, Outcome, Portable, Role, ToolCall, Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part, Piece

__all__ = ["TRANSCRIPT_KEYS", "AnthropicMessages"]

# The envelope of an answer, and what recordings write beside a message: a request may not hold them.
TRANSCRIPT_KEYS: Final = frozenset(
    {
        "container",
        "context_management",
        "diagnostics",
        "id",
        "input_transformations",
        "model",
        "stop_details",
        "stop_reason",
        "stop_sequence",
        "timestamp",
        "type",
        "usage",
    }
)

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant"}
_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}

_THINKING: Final = ("redacted_thinking", "thinking")
_SAID_OR_FAILED: Final = frozenset({"content", "is_error"})

# What is sent for a message that says nothing: Anthropic takes no empty one.
NOTHING: Final = "(nothing)"

# A document whose source is of these types is text.
_TEXT_SOURCES: Final = ("text", "content")

# Tokens of the largest image: one for each patch of 28 x 28 pixels, after scaling to the finest resolution of current
# models. Models before them stop at about 1,600.
_IMAGE_TOKENS: Final = 4_784


class AnthropicMessages(Pictures):
    """The codec of Anthropic messages. Blocks of unknown types stay in the payload and count as their JSON text."""

    tag: Final = "anthropic.messages"
    image_types = ("image",)

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls: its blocks, one below the other.

        Thinking counts as its text, a block of an unknown type as its JSON text, images and documents not at all.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _text(_blocks(as_object(payload).get("content")))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. `time` is the payload's `timestamp`, in seconds since 1970.

        Its role is "tool" where it answers a call, whatever else it says: see `split`.

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
        """Return the message as a host's dict, without what only answers and recordings have (TRANSCRIPT_KEYS).

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _sendable(message.payload)

    def split(self, obj: Mapping[str, object]) -> list[dict[str, object]]:
        """Return a message's tool results and what the user says beside them as messages of their own, in this order.

        Anthropic reads user messages in a row as one, so nothing changes for the model; apart, tool output can be cut
        and the user's words stay whole. A message that is not both comes back alone.
        """
        content = obj.get("content")
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if _type(block) == "tool_result"]
        said = [block for block in blocks if _type(block) != "tool_result"]
        if not results or not said:
            return [dict(obj)]
        return [{**obj, "content": results}, {**obj, "content": said}]

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        A verbatim part is its stored payload without TRANSCRIPT_KEYS. A slimmed one says `part.text` instead of all
        that it said, inside its first tool result where it answers calls; calls and further results stay, the latter
        empty. A part made by squidbot is `part.text` said in its role. A notice follows the content: as a text block
        of its own where the content is a list, else fenced behind the string.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent: dict[str, object] = {"role": part.role, "content": part.text or ""}
        else:
            sent = _sendable(part.payload)
            if part.drop_thinking:
                sent["content"] = _without_thinking(sent.get("content"))
            if part.text is not None:
                sent["content"] = _slimmed(sent.get("content"), part.text)
            if part.arguments is not None:
                sent["content"] = _with_inputs(sent.get("content"), part.arguments)
        if part.label:
            sent["content"] = with_label(sent.get("content"), part.label)
        if part.notice is not None:
            sent["content"] = with_notice(sent.get("content"), part.notice)
        return jsontext.write(sent)

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: its images and documents (R9), from above.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return sum(map(_media, _blocks(as_object(payload).get("content"))))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose inputs are empty objects.

        It says so inside its first tool result where it answers calls; further results are empty. When it was said
        stays, and that every tool failed; nothing else does.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        _role(obj)
        blocks = _blocks(obj.get("content"))
        mark: dict[str, object] = {"is_error": True} if _failed(blocks) else {}
        kept = [_emptied(block, mark) for block in blocks if block.get("type") in ("tool_use", "tool_result")]
        left: dict[str, object] = {"role": obj["role"], "content": _slimmed(kept, text)}
        if (stamp := jsontext.stamp_alone(obj.get("timestamp"))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: thinking, signatures and ids of blocks stay behind.

        Blocks of an unknown type, and those of the provider's own tools, go as text.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        blocks = [block for block in _blocks(obj.get("content")) if block.get("type") not in _THINKING]
        answers = any(block.get("type") == "tool_result" for block in blocks)
        return Portable("tool" if answers else _role(obj), tuple(map(_piece, blocks)))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said: results first, then words and calls."""
        order = (Outcome, (Words, Media), ToolCall)
        blocks = [_block(piece) for kinds in order for piece in said.pieces if isinstance(piece, kinds)]
        blocks = [block for block in blocks if block.get("text") != ""]
        content: object = blocks or NOTHING
        if len(blocks) == 1 and blocks[0]["type"] == "text":
            content = blocks[0]["text"]
        return jsontext.write({"role": "user" if said.role == "tool" else said.role, "content": content})

    def _index(self, payload: str, obj: dict[str, object], time: float | None) -> Message:
        blocks = _blocks(obj.get("content"))
        results = tuple(as_name(b, "tool_use_id", "a tool_result") for b in blocks if b.get("type") == "tool_result")
        said_by = _role(obj)
        role: Role = "tool" if results else said_by
        return Message(
            role=role,
            text=_text(blocks),
            payload=payload,
            codec=self.tag,
            calls=tuple(_call(block) for block in blocks if block.get("type") == "tool_use"),
            results=results,
            category=Category.ERROR if _failed(blocks) else _CATEGORIES.get(role, Category.DIALOG),
            time=jsontext.seconds(obj.get("timestamp")) if time is None else time,
        )


def _failed(blocks: Sequence[dict[str, object]]) -> bool:
    """Return whether tools have answered, and every one of them that says anything with an error."""
    results = [block for block in blocks if block.get("type") == "tool_result"]
    told = [block for block in results if "content" in block] or results
    return bool(told) and all(block.get("is_error") is True for block in told)


def _sendable(payload: str) -> dict[str, object]:
    return {key: value for key, value in as_object(payload).items() if key not in TRANSCRIPT_KEYS}


def _type(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


def _role(obj: dict[str, object]) -> Role:
    if "role" not in obj:
        raise PayloadError(f"role is missing; it is one of {', '.join(_ROLES)}")
    role = obj["role"]
    if not isinstance(role, str) or role not in _ROLES:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_ROLES)}")
    return _ROLES[role]


def _blocks(content: object) -> list[dict[str, object]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; it is a string or a list of blocks")
    return [as_dict(block, "a block of content") for block in content]


def _text(blocks: list[dict[str, object]]) -> str:
    return "\n".join(filter(None, map(_block_text, blocks)))


def _block_text(block: dict[str, object]) -> str:
    match block.get("type"):
        case "text":
            return _string(block, "text")
        case "thinking":
            return _string(block, "thinking")
        case "tool_result":
            return _text(_blocks(block.get("content")))
        case "tool_use" | "image":
            return ""
        case "document" if _type(block.get("source")) not in _TEXT_SOURCES:
            return ""
        case _:
            return jsontext.write(block)


def _string(block: dict[str, object], key: str) -> str:
    value = block.get(key, "")
    if not isinstance(value, str):
        raise PayloadError(f"{key} of a {block['type']} block is {kind(value)}; it is a string")
    return value


def _media(block: dict[str, object]) -> int:
    match block.get("type"):
        case "image":
            return _IMAGE_TOKENS
        case "tool_result":
            return sum(map(_media, _blocks(block.get("content"))))
        case "document" if _type(block.get("source")) not in _TEXT_SOURCES:
            return media_tokens(len(jsontext.write(block)))
        case _:
            return 0


def _call(block: dict[str, object]) -> ToolCall:
    name = as_name(block, "name", "a tool_use")
    return ToolCall(as_name(block, "id", "a tool_use"), name, jsontext.write(block.get("input", {})))


def _emptied(block: dict[str, object], mark: Mapping[str, object]) -> dict[str, object]:
    if block["type"] == "tool_result":
        return {"type": "tool_result", "tool_use_id": as_name(block, "tool_use_id", "a tool_result"), **mark}
    call = _call(block)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _slimmed(content: object, digest: str) -> object:
    blocks = _blocks(content)
    kept = [block for block in blocks if block.get("type") in ("tool_use", "tool_result")]
    if not kept:
        return digest
    if kept[0]["type"] == "tool_use":
        return [{"type": "text", "text": digest}, *kept]
    # Anthropic refuses a result that is marked as an error and says nothing.
    others = [{key: value for key, value in block.items() if key not in _SAID_OR_FAILED} for block in kept[1:]]
    return [{**kept[0], "content": digest}, *others]


def _without_thinking(content: object) -> object:
    if not isinstance(content, list):
        return content
    kept = [block for block in content if _type(block) not in _THINKING]
    # A step that only thought has to say something: Anthropic takes no empty message in mid-history.
    return kept if kept or not content else [{"type": "text", "text": "(thinking)"}]


def _with_inputs(content: object, arguments: tuple[str, ...]) -> object:
    cut = iter(arguments)
    return [
        {**block, "input": _input(next(cut, "{}"))} if block.get("type") == "tool_use" else block
        for block in _blocks(content)
    ]


def _input(arguments: str, name: str = "cut") -> object:
    try:
        value = jsontext.parse(arguments)
    except jsontext.JsonTextError:
        value = None
    return value if isinstance(value, dict) else {name: arguments}


# -- crossing ---------------------------------------------------------------------------------------------------------


def _piece(block: dict[str, object]) -> Piece:
    match block.get("type"):
        case "tool_use":
            return _call(block)
        case "tool_result":
            inner = _blocks(block.get("content"))
            said = (piece for piece in map(_piece, inner) if isinstance(piece, Words | Media))
            return Outcome(as_name(block, "tool_use_id", "a tool_result"), tuple(said), block.get("is_error") is True)
        case "text":
            return Words(_string(block, "text"))
        case "image" | "document" as shown:
            return _media_piece(block, "image/*" if shown == "image" else "application/pdf")
        case _:
            return Words(jsontext.write(bare(block)))


def _media_piece(block: dict[str, object], mime: str) -> Words | Media:
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    title = block.get("title")
    name = title if isinstance(title, str) else ""
    match source.get("type"):
        case "base64":
            return Media(str(source.get("media_type", mime)), data=str(source.get("data", "")), name=name)
        case "url":
            return media_from(source.get("url", ""), mime, name)
        case "text":
            return Words(str(source.get("data", "")))
        case "content":
            return Words(_text(_blocks(source.get("content"))))
        case _:
            return Words(told(Media(mime, name=name)))


def _block(piece: Piece) -> dict[str, object]:
    match piece:
        case Words(text):
            return {"type": "text", "text": text}
        case ToolCall(identifier, name, arguments):
            given = _input(arguments, "input")
            return {"type": "tool_use", "id": portable_id(identifier), "name": name, "input": given}
        case Outcome(identifier, said, failed):
            kept = [block for block in map(_block, said) if block.get("text") != ""]
            content = kept[0]["text"] if len(kept) == 1 and kept[0]["type"] == "text" else kept
            answer = {"type": "tool_result", "tool_use_id": portable_id(identifier), "content": content}
            return {**answer, "is_error": True} if failed else answer
        case _:
            return _shown(piece)


def _shown(media: Media) -> dict[str, object]:
    source = (
        {"type": "url", "url": media.url}
        if media.url
        else {"type": "base64", "media_type": media.mime, "data": media.data}
    )
    if media.mime.startswith("image/"):
        return {"type": "image", "source": source}
    if media.mime == "application/pdf":
        return {"type": "document", "source": source, **({"title": media.name} if media.name else {})}
    return {"type": "text", "text": told(media)}
