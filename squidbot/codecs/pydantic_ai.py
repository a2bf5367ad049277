"""Messages of pydantic-ai 2 as its own adapter writes them: requests and responses of parts."""

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
    is_image_type,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    with_label,
)
from squidbot.core.messages import Category, Media, Message, Outcome, Portable, Role, ToolCall, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from squidbot.core.messages import Part, Piece

__all__ = ["PydanticAI"]

# When what squidbot says itself was said: pydantic-ai would write the time of reading, another in each request.
_ALWAYS: Final = "1970-01-01T00:00:00Z"
_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}
# Parts that are text to the model, and say so in `content`.
_SAID: Final = ("retry-feedback", "retry-prompt", "system-prompt", "text", "tool-return", "user-prompt")
# What a result is called where its tool could not do it.
_FAILED: Final = ("failed", "denied", "interrupted", "retried")
_ADDRESSES: Final = {
    "image-url": "image/*",
    "audio-url": "audio/*",
    "video-url": "video/*",
    "document-url": "application/pdf",
}
_MARKS: Final = ("cache-point",)
# What a response has of its run and of its provider's answer goes to no model.
_KEPT: Final = ("kind", "timestamp")


class PydanticAI(Pictures):
    """The codec of pydantic-ai's messages, as `ModelMessagesTypeAdapter` writes them.

    Parts of unknown kinds stay in the payload and count as their JSON text.
    """

    tag: Final = "pydantic_ai/2"

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls: its parts, one below the other.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _text(_parts(as_object(payload)))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. Its role is "tool" where it answers a call, whatever else it says.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, as_object(payload), None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a dict of pydantic-ai's, or one of `role` and `content`, as texts come to a session.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        payload = jsontext.write(as_told(obj, _made))
        return self._index(payload, as_object(payload), time)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one where nothing of it is cut or added.

        A slimmed one says `part.text` instead of all that it said, inside its first result where it answers calls. A
        notice is a user's part behind the others of a request.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent = _made(part.role, part.text or "")
        elif part.is_uncut:
            return part.payload
        else:
            sent = as_object(part.payload)
            sent["parts"] = _labelled(_changed(_parts(sent), part), part.label)
        if part.notice is not None:
            sent["parts"] = [*_parts(sent), _said("user-prompt", part.notice)]
        return jsontext.write(sent)

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: its images, recordings and documents, from above.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return sum(_media_tokens(item) for part in _parts(as_object(payload)) for item in _items(part.get("content")))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are empty.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        role, parts = _role(obj), _parts(obj)
        calls = [_emptied(part) for part in parts if part.get("part_kind") == "tool-call"]
        answers = [_answer(part, "") for part in parts if _answers(part)]
        if answers:
            answers[0]["content"] = text
        said = [] if answers else [_said(_KINDS[role], text)]
        left: dict[str, object] = {"parts": [*answers, *said, *calls], "kind": obj["kind"]}
        if (stamp := jsontext.stamp_alone(obj.get("timestamp"))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: thinking and signatures stay behind.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        pieces = (piece for part in _parts(obj) if part.get("part_kind") != "thinking" for piece in _pieces(part))
        return Portable(_role(obj), tuple(pieces))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said: results first, then words and calls."""
        order = (Outcome, (Words, Media), ToolCall)
        parts = [_part(piece, said.role) for kinds in order for piece in said.pieces if isinstance(piece, kinds)]
        made = _made(said.role, "")
        return jsontext.write({**made, "parts": parts or made["parts"]})

    def _is_image(self, one: Mapping[str, object]) -> bool:
        return one.get("kind") == "image-url" or (one.get("kind") == "binary" and is_image_type(one.get("media_type")))

    def _said(self, text: str) -> object:
        return text

    def _index(self, payload: str, obj: dict[str, object], time: float | None) -> Message:
        parts, role = _parts(obj), _role(obj)
        return Message(
            role=role,
            text=_text(parts),
            payload=payload,
            codec=self.tag,
            calls=tuple(_call(part) for part in parts if part.get("part_kind") == "tool-call"),
            results=tuple(as_name(part, "tool_call_id", "a result") for part in parts if _answers(part)),
            category=Category.ERROR
            if role == "tool" and all(map(_failed, parts))
            else _CATEGORIES.get(role, Category.DIALOG),
            time=jsontext.seconds(obj.get("timestamp")) if time is None else time,
        )


_KINDS: Final[dict[Role, str]] = {
    "system": "system-prompt",
    "user": "user-prompt",
    "assistant": "text",
    "tool": "user-prompt",
}


def _parts(obj: Mapping[str, object]) -> list[dict[str, object]]:
    return [as_dict(part, "a part") for part in as_list(obj.get("parts"), "parts")]


def _role(obj: Mapping[str, object]) -> Role:
    """Return whose a message is: of a request a tool's where it answers a call, the system's where nothing else is in.

    Raises:
        PayloadError: it is neither a request nor a response.
    """
    if (what := obj.get("kind")) == "response":
        return "assistant"
    if what != "request":
        raise PayloadError(f"kind is {what!r:.60}; it is request or response")
    parts = _parts(obj)
    if any(map(_answers, parts)):
        return "tool"
    kinds = {part.get("part_kind") for part in parts}
    return "system" if kinds == {"system-prompt"} else "user"


def _failed(part: Mapping[str, object]) -> bool:
    return _answers(part) and (part.get("outcome") in _FAILED or part.get("part_kind") == "retry-prompt")


def _answers(part: Mapping[str, object]) -> bool:
    """Say whether a part is the result of a call; a retry is where it names a tool."""
    what = part.get("part_kind")
    return what == "tool-return" or (what == "retry-prompt" and part.get("tool_name") is not None)


def _text(parts: Iterable[Mapping[str, object]]) -> str:
    return "\n".join(filter(None, map(_part_text, parts)))


def _part_text(part: Mapping[str, object]) -> str:
    match part.get("part_kind"):
        case "tool-call":
            return ""
        case "thinking":
            return str(part.get("content") or "")
        case what if what in _SAID:
            return "\n".join(item for item in map(_item_text, _items(part.get("content"))) if item)
        case _:
            return jsontext.write(part)


def _items(content: object) -> list[object]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _item_text(item: object) -> str:
    """Return the text in one item of a content, "" for media and marks; what is no text is the model's as JSON."""
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
    return what in _ADDRESSES or what in ("binary", "uploaded-file")


def _media_tokens(item: object) -> int:
    if not isinstance(item, dict) or not _is_media(item):
        return 0
    mime = str(item.get("media_type") or _ADDRESSES.get(str(item.get("kind")), ""))
    if mime.startswith("image/"):
        return openai_image_tokens(None)
    return media_tokens(len(str(item.get("data", ""))))


def _call(part: dict[str, object]) -> ToolCall:
    return ToolCall(
        as_name(part, "tool_call_id", "a tool-call"), as_name(part, "tool_name", "a tool-call"), _arguments(part)
    )


def _arguments(part: Mapping[str, object]) -> str:
    given = part.get("args")
    return given if isinstance(given, str) else "{}" if given is None else jsontext.write(given)


# -- what squidbot says, and what it leaves ---------------------------------------------------------------------------


def _made(role: str, text: str) -> dict[str, object]:
    """Return a message that says a text.

    Raises:
        PayloadError: nobody has that role.
    """
    if role not in _KINDS:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_KINDS)}")
    parts = [_said(_KINDS[role], text)]
    return {"parts": parts, "timestamp": _ALWAYS, "kind": "response" if role == "assistant" else "request"}


def _said(what: str, text: str) -> dict[str, object]:
    stamp = {} if what == "text" else {"timestamp": _ALWAYS}
    return {"content": text, **stamp, "part_kind": what}


def _emptied(part: dict[str, object]) -> dict[str, object]:
    return {
        "tool_name": part["tool_name"],
        "args": "{}",
        "tool_call_id": part["tool_call_id"],
        "part_kind": "tool-call",
    }


def _answer(part: Mapping[str, object], text: str) -> dict[str, object]:
    kept = {key: part[key] for key in ("tool_name", "tool_call_id", "part_kind") if key in part}
    stamp = jsontext.stamp_alone(part.get("timestamp")) or _ALWAYS
    outcome = {"outcome": part["outcome"]} if part.get("outcome") in _FAILED else {}
    return {**kept, **outcome, "content": text, "timestamp": stamp}


def _changed(parts: list[dict[str, object]], sent: Part) -> list[dict[str, object]]:
    if sent.drop_thinking:
        parts = [part for part in parts if part.get("part_kind") != "thinking"] or [_said("text", "(thinking)")]
    if sent.text is not None:
        parts = _slimmed(parts, sent.text)
    if sent.arguments is not None:
        cut = iter(sent.arguments)
        parts = [{**part, "args": next(cut, "{}")} if part.get("part_kind") == "tool-call" else part for part in parts]
    return parts


def _labelled(parts: list[dict[str, object]], label: str) -> list[dict[str, object]]:
    said = (part for part in parts if part.get("part_kind") in ("text", "user-prompt") and part.get("content"))
    first = next(said, None) if label else None
    return [{**part, "content": with_label(part["content"], label)} if part is first else part for part in parts]


def _slimmed(parts: list[dict[str, object]], text: str) -> list[dict[str, object]]:
    answers = [_answer(part, "") for part in parts if _answers(part)]
    if answers:
        answers[0]["content"] = text
        return answers
    calls = [part for part in parts if part.get("part_kind") == "tool-call"]
    what = next((str(part["part_kind"]) for part in parts if part.get("part_kind") in ("text", "user-prompt")), "text")
    return [_said("text" if calls else what, text), *calls]


# -- crossing ---------------------------------------------------------------------------------------------------------


def _pieces(part: dict[str, object]) -> list[Piece]:
    what = part.get("part_kind")
    if what == "tool-call":
        return [_call(part)]
    if _answers(part):
        said = tuple(piece for item in _items(part.get("content")) for piece in _shown(item))
        return [Outcome(as_name(part, "tool_call_id", "a result"), said, _failed(part))]
    if what in _SAID:
        return [piece for item in _items(part.get("content")) for piece in _shown(item)]
    return [Words(jsontext.write(bare(part)))]


def _shown(item: object) -> list[Words | Media]:
    if not isinstance(item, dict) or not _is_media(item):
        text = _item_text(item)
        return [Words(text)] if text else []
    if (what := str(item["kind"])) in _ADDRESSES:
        return [media_from(item.get("url", ""), str(item.get("media_type") or _ADDRESSES[what]))]
    return [Media(str(item.get("media_type") or "application/octet-stream"), data=str(item.get("data", "")))]


def _part(piece: Piece, role: Role) -> dict[str, object]:
    match piece:
        case Words(text):
            return _said(_KINDS[role], text)
        case ToolCall(identifier, name, arguments):
            called = portable_id(identifier)
            return {"tool_name": name, "args": arguments, "tool_call_id": called, "part_kind": "tool-call"}
        case Outcome(identifier, said, failed):
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
