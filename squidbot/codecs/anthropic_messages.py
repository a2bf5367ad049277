"""Anthropic messages: user and assistant turns of content blocks; a user message may answer several tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    as_dict,
    as_name,
    as_object,
    as_text,
    bare,
    kind,
    media_from,
    media_tokens,
    portable_id,
    told,
    with_label,
    with_notice,
)
from squidbot.codecs.form import THOUGHT, Block, MessageForm, PartView, as_arguments
from squidbot.core.messages import Media, Message, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.messages import Part, Piece

__all__ = ["TRANSCRIPT_KEYS", "AnthropicMessages"]

# The envelope of an answer, and what recordings write beside a message; not allowed in a request.
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

_THINKING: Final = ("redacted_thinking", "thinking")
_SAID_OR_FAILED: Final = frozenset({"content", "is_error"})

# Sent for a message without content: Anthropic refuses an empty one.
NOTHING: Final = "(nothing)"

# A document whose source is of these types is text.
_TEXT_SOURCES: Final = ("text", "content")

# Tokens of the largest image: one for each patch of 28 x 28 pixels, after scaling to the finest resolution of current
# models. Older models stop at about 1,600.
_IMAGE_TOKENS: Final = 4_784


class AnthropicMessages(MessageForm):
    """The codec of Anthropic messages. Blocks of unknown types stay in the payload and count as their JSON text.

    Thinking counts as its text, images and documents not at all.
    """

    tag = "anthropic.messages"
    roles: ClassVar[Mapping[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant"}
    image_types = ("image",)
    sent_as_stored = False

    def to_dict(self, message: Message) -> Block:
        """Return the message as a host's dict, without the keys of answers and recordings (TRANSCRIPT_KEYS).

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._sendable(message.payload)

    def split(self, obj: Mapping[str, object]) -> list[dict[str, object]]:
        """Return a message's tool results and its user text as separate messages, in this order.

        Anthropic reads consecutive user messages as one, so nothing changes for the model; apart, tool output can be
        cut while the user's words stay whole. A message without both is returned alone.
        """
        content = obj.get("content")
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if _type(block) == "tool_result"]
        said = [block for block in blocks if _type(block) != "tool_result"]
        if not results or not said:
            return [dict(obj)]
        return [{**obj, "content": results}, {**obj, "content": said}]

    def _given(self, obj: Mapping[str, object]) -> Block:
        return dict(obj)

    def _views(self, obj: Block) -> list[PartView]:
        return list(map(self._view, _blocks(obj.get("content"))))

    def _view(self, block: Block) -> PartView:  # noqa: PLR0911  # one for each type
        match block.get("type"):
            case "text":
                text = _string(block, "text")
                return PartView(text, (Words(text),))
            case "thinking":
                return PartView(_string(block, "thinking"))
            case "redacted_thinking":
                return PartView(jsontext.write(block))
            case "tool_use":
                return PartView(pieces=(_call(block),))
            case "tool_result":
                return self._result_view(block)
            case "image":
                return PartView("", (self._media(block, "image/*"),), _IMAGE_TOKENS)
            case "document":
                media, written = self._media(block, "application/pdf"), jsontext.write(block)
                is_text = _type(block.get("source")) in _TEXT_SOURCES
                return PartView(written, (media,)) if is_text else PartView("", (media,), media_tokens(len(written)))
            case _:
                return PartView(jsontext.write(block), (Words(jsontext.write(bare(block))),))

    def _result_view(self, block: Block) -> PartView:
        inner = self._views(block)
        said = tuple(piece for view in inner for piece in view.pieces if isinstance(piece, Words | Media))
        outcome = ToolResult(_answered(block), said, block.get("is_error") is True)
        return PartView(self._text(inner), (outcome,), sum(view.tokens for view in inner))

    def _role(self, obj: Block) -> Role:
        role = self._known_role(obj)
        return "tool" if any(map(_is_result, _blocks(obj.get("content")))) else role

    def _failed(self, pieces: Sequence[Piece]) -> bool:
        """Return whether every result that says anything is an error."""
        outcomes = [piece for piece in pieces if isinstance(piece, ToolResult)]
        return all(outcome.failed for outcome in [each for each in outcomes if each.said] or outcomes)

    def _made(self, role: str, text: str) -> Block:
        return {"role": role, "content": text}

    def _sendable(self, payload: str) -> Block:
        return {key: value for key, value in as_object(payload).items() if key not in TRANSCRIPT_KEYS}

    def _cut(self, sent: Block, part: Part) -> Block:
        content = sent.get("content")
        if part.drop_thinking:
            content = _without_thinking(content)
        if part.text is not None:
            content = _slimmed(_blocks(content), part.text)
        if part.arguments is not None:
            cut = iter(part.arguments)
            content = [
                {**block, "input": as_arguments(next(cut, "{}"), "cut")} if _is_call(block) else block
                for block in _blocks(content)
            ]
        if part.label:
            content = with_label(content, part.label)
        return sent if content is sent.get("content") else {**sent, "content": content}

    def _noticed(self, sent: Block, notice: str) -> Block:
        return {**sent, "content": with_notice(sent.get("content"), notice)}

    def _emptied(self, obj: Block, text: str) -> Block:
        outcomes = [piece for view in self._views(obj) for piece in view.pieces if isinstance(piece, ToolResult)]
        mark = {"is_error": True} if self._role(obj) == "tool" and self._failed(outcomes) else {}
        kept: list[Block] = []
        for block in _blocks(obj.get("content")):
            if _is_call(block):
                call = _call(block)
                kept.append({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
            elif _is_result(block):
                kept.append({"type": "tool_result", "tool_use_id": _answered(block), **mark})
        return {"role": obj["role"], "content": _slimmed(kept, text)}

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        content = _content([_block(piece) for piece in (*results, *words, *calls)])
        return [{"role": "user" if role == "tool" else role, "content": content or NOTHING}]

    def _media(self, block: Block, mime: str) -> Words | Media:
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
                return Words(self._text(self._views(source)))
            case _:
                return Words(told(Media(mime, name=name)))


def _type(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


def _without_thinking(content: object) -> object:
    if not isinstance(content, list) or not content:
        return content
    # A step with only thinking needs some text: Anthropic refuses empty messages in mid-history.
    return [block for block in content if _type(block) not in _THINKING] or [_text_block(THOUGHT)]


def _is_call(block: object) -> bool:
    return _type(block) == "tool_use"


def _is_result(block: object) -> bool:
    return _type(block) == "tool_result"


def _call(block: Block) -> ToolCall:
    name = as_name(block, "name", "a tool_use")
    return ToolCall(as_name(block, "id", "a tool_use"), name, jsontext.write(block.get("input", {})))


def _answered(block: Block) -> str:
    return as_name(block, "tool_use_id", "a tool_result")


def _slimmed(blocks: list[Block], text: str) -> object:
    """Return a content with one text and the calls and results among blocks."""
    kept = [block for block in blocks if _is_call(block) or _is_result(block)]
    if not kept:
        return text
    if _is_call(kept[0]):
        return [_text_block(text), *kept]
    # Anthropic refuses an empty result that is marked as an error.
    others = [{key: value for key, value in block.items() if key not in _SAID_OR_FAILED} for block in kept[1:]]
    return [{**kept[0], "content": text}, *others]


def _blocks(content: object) -> list[Block]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise PayloadError(f"content is {kind(content)}; expected a string or a list of blocks")
    return [as_dict(block, "a block of content") for block in content]


def _string(block: Block, key: str) -> str:
    return as_text(block.get(key, ""), f"{key} of a {block['type']} block")


def _block(piece: Piece) -> Block:
    match piece:
        case Words(text):
            return _text_block(text)
        case ToolCall(identifier, name, arguments):
            given = as_arguments(arguments)
            return {"type": "tool_use", "id": portable_id(identifier), "name": name, "input": given}
        case ToolResult(identifier, said, failed):
            content = _content(map(_block, said))
            answer = {"type": "tool_result", "tool_use_id": portable_id(identifier), "content": content}
            return {**answer, "is_error": True} if failed else answer
        case _:
            return _shown(piece)


def _shown(media: Media) -> Block:
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


def _content(blocks: Iterable[Block]) -> object:
    """Return blocks as a content, without empty ones; a single text as a string."""
    kept = [block for block in blocks if block.get("text") != ""]
    return kept[0]["text"] if len(kept) == 1 and kept[0]["type"] == "text" else kept


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}
