"""Messages of llm as `Message.to_dict` writes them: a role, and its parts."""

from __future__ import annotations

from collections.abc import Mapping
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
    told,
    with_label,
    with_notice,
)
from squidbot.core.messages import Category, Media, Message, Outcome, Portable, Role, ToolCall, Words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.core.messages import Part, Piece

__all__ = ["LLMMessages"]

_ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}


class LLMMessages(Pictures):
    """The codec of llm's messages. Parts of unknown types stay in the payload and count as their JSON text.

    Calls that a provider ran itself, and their results, are parts of its answer as any other.
    """

    tag: Final = "llm/1"

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls: its parts, one below the other.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return _text(_parts(as_object(payload)))

    def decode(self, payload: str) -> Message:
        """Return the message with its index.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, as_object(payload), None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a dict of llm's, or one of `role` and `content`, as texts come to a session.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        payload = jsontext.write(as_told(obj, _made))
        return self._index(payload, as_object(payload), time)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one where nothing of it is cut or added.

        A slimmed one says `part.text` instead of all that it said, inside its first result where it answers calls. A
        notice is a text behind the others, inside the last result where it answers calls.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent = _made(part.role, part.text or "")
        elif part.is_uncut:
            return part.payload
        else:
            sent = as_object(part.payload)
            sent["parts"] = _changed(_parts(sent), part)
            if part.label:
                sent["parts"] = with_label(sent["parts"], part.label)
        if part.notice is not None:
            sent["parts"] = _noticed(_parts(sent), part.notice)
        return jsontext.write(sent)

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: its images, recordings and documents, from above.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return sum(_media_tokens(each) for part in _parts(as_object(payload)) for each in _attached(part))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are empty.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        parts = _parts(obj)
        calls = [_called(each._replace(arguments="{}")) for each in map(_call, filter(_is_call, parts))]
        said = _answered(parts, text) or [_said(text)]
        return jsontext.write({"role": _role(obj), "parts": [*said, *calls]})

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: reasoning and what only its provider reads stay behind.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = as_object(payload)
        kept = (part for part in _parts(obj) if part.get("type") != "reasoning")
        return Portable(_role(obj), tuple(piece for part in kept for piece in _pieces(part)))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said: results by themselves, then words."""
        results = [_outcome(piece) for piece in said.pieces if isinstance(piece, Outcome)]
        words = [_shown(each, said.role) for each in said.pieces if isinstance(each, Words | Media)]
        calls = [_called(each._replace(id=portable_id(each.id))) for each in said.pieces if isinstance(each, ToolCall)]
        answer: dict[str, object] = {"role": "tool", "parts": results}
        if results and not (words or calls):
            return jsontext.write(answer)
        role = "user" if said.role == "tool" else said.role
        last: dict[str, object] = {"role": role, "parts": [*words, *calls] or [_said("")]}
        return jsontext.write([answer, last] if results else last)

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload in which a text stands in the place of each of its first `most` pictures.

        What hung at a tool's result is told behind its output.
        """
        obj = jsontext.parse(super().without_images(payload, most, handle))
        if isinstance(obj, dict) and isinstance(parts := obj.get("parts"), list):
            obj = {**obj, "parts": [_told_behind(part) if isinstance(part, dict) else part for part in parts]}
        return jsontext.write(obj)

    def _is_image(self, one: Mapping[str, object]) -> bool:
        hung = one.get("attachment") if one.get("type") == "attachment" else one
        return isinstance(hung, Mapping) and is_image_type(hung.get("type"))

    def _index(self, payload: str, obj: dict[str, object], time: float | None) -> Message:
        parts, role = _parts(obj), _role(obj)
        return Message(
            role=role,
            text=_text(parts),
            payload=payload,
            codec=self.tag,
            calls=tuple(map(_call, filter(_is_call, parts))) if role == "assistant" else (),
            results=tuple(_id(part, "a result") for part in parts if _is_result(part)) if role == "tool" else (),
            category=Category.ERROR
            if role == "tool" and all(map(_failed, parts))
            else _CATEGORIES.get(role, Category.DIALOG),
            time=time,
        )


def _parts(obj: Mapping[str, object]) -> list[dict[str, object]]:
    return [as_dict(part, "a part") for part in as_list(obj.get("parts"), "parts")]


def _role(obj: Mapping[str, object]) -> Role:
    """Return whose a message is.

    Raises:
        PayloadError: nobody's.
    """
    if (what := obj.get("role")) not in _ROLES:
        raise PayloadError(f"role is {what!r:.60}; it is one of {', '.join(_ROLES)}")
    return _ROLES[str(what)]


def _is_call(part: Mapping[str, object]) -> bool:
    """Say whether a part is a call that waits for its result: what a provider ran itself has it."""
    return part.get("type") == "tool_call" and not part.get("server_executed")


def _is_result(part: Mapping[str, object]) -> bool:
    return part.get("type") == "tool_result" and not part.get("server_executed")


def _failed(part: Mapping[str, object]) -> bool:
    return _is_result(part) and part.get("exception") is not None


def _id(part: dict[str, object], what: str) -> str:
    """Return the id of a call; older logs have none, and llm pairs these by the tool's name.

    Raises:
        PayloadError: it has neither.
    """
    return as_name(part, "tool_call_id" if part.get("tool_call_id") is not None else "name", what)


def _call(part: dict[str, object]) -> ToolCall:
    return ToolCall(_id(part, "a call"), as_name(part, "name", "a call"), jsontext.write(part.get("arguments") or {}))


def _text(parts: Iterable[Mapping[str, object]]) -> str:
    return "\n".join(filter(None, map(_part_text, parts)))


def _part_text(part: Mapping[str, object]) -> str:
    what = part.get("type")
    if what in ("text", "reasoning"):
        return str(part.get("text") or "")
    if _is_result(part):
        return str(part.get("output") or "")
    return "" if _is_call(part) or what == "attachment" else jsontext.write(part)


def _attached(part: Mapping[str, object]) -> list[dict[str, object]]:
    """Return what hangs at a part: the attachment that it is, those of a result."""
    if part.get("type") == "attachment":
        return [as_dict(part.get("attachment") or {}, "an attachment")]
    return [as_dict(each, "an attachment") for each in as_list(part.get("attachments"), "attachments")]


def _told_behind(part: dict[str, object]) -> dict[str, object]:
    """Return a result whose attachments are none of them texts: these stand behind its output."""
    hung = part.get("attachments")
    if not isinstance(hung, list):
        return part
    texts = [str(one.get("text")) for one in hung if isinstance(one, dict) and one.get("type") == "text"]
    left = [one for one in hung if not (isinstance(one, dict) and one.get("type") == "text")]
    kept = {key: value for key, value in part.items() if key != "attachments"}
    output = "\n".join([str(part.get("output") or ""), *texts]).lstrip("\n")
    return {**kept, "output": output, **({"attachments": left} if left else {})} if texts else part


def _media_tokens(attachment: Mapping[str, object]) -> int:
    if str(attachment.get("type", "")).startswith("image/"):
        return openai_image_tokens(None)
    return media_tokens(len(str(attachment.get("content", ""))))


# -- what squidbot says, and what it leaves ---------------------------------------------------------------------------


def _made(role: str, text: str) -> dict[str, object]:
    """Return a message that says a text.

    Raises:
        PayloadError: nobody has that role.
    """
    if role not in _ROLES:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_ROLES)}")
    # A result by itself answers nothing: what squidbot says beside tools it says to the model as the user.
    return {"role": "user" if role == "tool" else role, "parts": [_said(text)]}


def _said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _called(call: ToolCall) -> dict[str, object]:
    return {"type": "tool_call", "name": call.name, "arguments": _given(call.arguments), "tool_call_id": call.id}


def _given(arguments: str) -> dict[str, object]:
    try:
        given = jsontext.parse(arguments)
    except jsontext.JsonTextError:
        given = None
    return given if isinstance(given, dict) else {"input": arguments}


def _answered(parts: list[dict[str, object]], text: str) -> list[dict[str, object]]:
    """Return the results among parts, the first of which says a text, the others nothing, but that they failed."""
    answers: list[dict[str, object]] = []
    for part in filter(_is_result, parts):
        named: dict[str, object] = {key: part[key] for key in ("name", "tool_call_id") if key in part}
        mark: dict[str, object] = {"exception": ""} if _failed(part) else {}
        answers.append({"type": "tool_result", **named, "output": "" if answers else text, **mark})
    return answers


def _changed(parts: list[dict[str, object]], sent: Part) -> list[dict[str, object]]:
    if sent.drop_thinking:
        parts = [part for part in parts if part.get("type") != "reasoning"] or [_said("(thinking)")]
    if sent.text is not None:
        parts = _answered(parts, sent.text) or [_said(sent.text), *filter(_is_call, parts)]
    if sent.arguments is not None:
        cut = iter(sent.arguments)
        parts = [{**part, "arguments": _given(next(cut, "{}"))} if _is_call(part) else part for part in parts]
    return parts


def _noticed(parts: list[dict[str, object]], notice: str) -> list[dict[str, object]]:
    if not parts or not _is_result(parts[-1]):
        return [*parts, _said(notice)]
    return [*parts[:-1], {**parts[-1], "output": with_notice(parts[-1].get("output"), notice)}]


# -- crossing ---------------------------------------------------------------------------------------------------------


def _pieces(part: dict[str, object]) -> list[Piece]:
    what = part.get("type")
    if _is_call(part):
        return [_call(part)]
    media = [_media(each) for each in _attached(part)]
    if _is_result(part):
        said = [Words(text)] if (text := str(part.get("output") or "")) else []
        return [Outcome(_id(part, "a result"), (*said, *media), _failed(part))]
    if what == "attachment":
        return [*media]
    text = str(part.get("text") or "") if what == "text" else jsontext.write(_without_metadata(part))
    return [Words(text)] if text else []


def _without_metadata(part: dict[str, object]) -> object:
    return bare({key: value for key, value in part.items() if key != "provider_metadata"})


def _media(attachment: Mapping[str, object]) -> Media:
    mime = str(attachment.get("type") or "application/octet-stream")
    if data := str(attachment.get("content") or ""):
        return Media(mime, data=data)
    if url := str(attachment.get("url") or ""):
        return media_from(url, mime)
    return Media(mime, name=str(attachment.get("path") or ""))


def _outcome(outcome: Outcome) -> dict[str, object]:
    text = "\n".join(piece.text for piece in outcome.said if isinstance(piece, Words))
    media = [_attachment(piece) for piece in outcome.said if isinstance(piece, Media)]
    made: dict[str, object] = {"type": "tool_result", "name": "tool", "output": text}
    failed = {"exception": "Error"} if outcome.failed else {}
    attached = {"attachments": media} if media else {}
    return {**made, "tool_call_id": portable_id(outcome.call_id), **failed, **attached}


def _attachment(media: Media) -> dict[str, object]:
    # Of "image/*" and the like llm finds out itself what it is.
    named = {} if media.mime.endswith("*") else {"type": media.mime}
    return {**named, "content": media.data} if media.data else {**named, "url": media.url}


def _shown(piece: Words | Media, role: Role) -> dict[str, object]:
    if isinstance(piece, Words):
        return _said(piece.text)
    if role == "assistant" or not (piece.data or piece.url):
        return _said(told(piece))
    return {"type": "attachment", "attachment": _attachment(piece)}
