"""Messages of llm as `Message.to_dict` writes them: a role, and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    as_dict,
    as_list,
    as_name,
    bare,
    is_image_type,
    media_from,
    media_tokens,
    openai_image_tokens,
    portable_id,
    told,
    with_notice,
)
from squidbot.codecs.form import Block, PartView, PartwiseForm, as_arguments
from squidbot.core.messages import Media, Role, ToolCall, ToolResult, Words

__all__ = ["LLMMessages"]


class LLMMessages(PartwiseForm):
    """The codec of llm's messages. Parts of unknown types stay in the payload and count as their JSON text.

    Calls that a provider ran itself, and their results, are ordinary parts of its answer.
    """

    tag = "llm/1"
    roles: ClassVar[Mapping[str, Role]] = {
        "system": "system",
        "user": "user",
        "assistant": "assistant",
        "tool": "tool",
    }

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload with a text instead of each of its first `most` pictures.

        For attachments of a tool's result, it follows the output.
        """
        obj = jsontext.parse(super().without_images(payload, most, handle))
        if isinstance(obj, dict) and isinstance(parts := obj.get("parts"), list):
            obj = {**obj, "parts": [_told_behind(part) if isinstance(part, dict) else part for part in parts]}
        return jsontext.write(obj)

    def _is_image(self, one: Mapping[str, object]) -> bool:
        hung = one.get("attachment") if one.get("type") == "attachment" else one
        return isinstance(hung, Mapping) and is_image_type(hung.get("type"))

    def _stamp(self, obj: Block) -> object:
        return None

    def _made(self, role: str, text: str) -> Block:
        self._known_role({"role": role})
        # A lone result answers nothing: squidbot's own text beside tools goes to the model as the user's.
        return {"role": "user" if role == "tool" else role, "parts": [_text(text)]}

    def _noticed(self, sent: Block, notice: str) -> Block:
        """Return a message with a notice behind it, inside the last result if it answers calls."""
        parts = self._parts(sent)
        if not parts or not self._is_result(parts[-1]):
            return {**sent, "parts": [*parts, _text(notice)]}
        last = {**parts[-1], "output": with_notice(parts[-1].get("output"), notice)}
        return {**sent, "parts": [*parts[:-1], last]}

    def _emptied(self, obj: Block, text: str) -> Block:
        return super()._emptied({"role": self._role(obj), "parts": obj.get("parts")}, text)

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        made: list[Block] = [{"role": "tool", "parts": list(map(_outcome, results))}] if results else []
        if words or calls or not results:
            called = [self._called(call._replace(id=portable_id(call.id))) for call in calls]
            parts = [*(_shown(each, role) for each in words), *called] or [_text("")]
            made.append({"role": "user" if role == "tool" else role, "parts": parts})
        return made

    def _is_call(self, part: Mapping[str, object]) -> bool:
        return super()._is_call(part) and not part.get("server_executed")

    def _is_result(self, part: Mapping[str, object]) -> bool:
        return super()._is_result(part) and not part.get("server_executed")

    def _view(self, part: Block) -> PartView:
        what, attached = part.get("type"), _attached(part)
        media, tokens = tuple(map(_media, attached)), sum(map(_media_tokens, attached))
        if what in ("text", "reasoning"):
            text = str(part.get("text") or "")
            return PartView(text, (Words(text),) if text and what == "text" else (), tokens)
        if self._is_call(part):
            return PartView(pieces=(self._call(part),), tokens=tokens)
        if self._is_result(part):
            output = str(part.get("output") or "")
            said: tuple[Words | Media, ...] = (*([Words(output)] if output else []), *media)
            return PartView(output, (ToolResult(_id(part, "a result"), said, _has_failed(part)),), tokens)
        if what == "attachment":
            return PartView("", media, tokens)
        kept = {key: value for key, value in part.items() if key != "provider_metadata"}
        return PartView(jsontext.write(part), (Words(jsontext.write(bare(kept))),), tokens)

    def _call(self, part: Block) -> ToolCall:
        given = jsontext.write(part.get("arguments") or {})
        return ToolCall(_id(part, "a call"), as_name(part, "name", "a call"), given)

    def _called(self, call: ToolCall) -> Block:
        given = as_arguments(call.arguments)
        return {"type": "tool_call", "name": call.name, "arguments": given, "tool_call_id": call.id}

    def _with_arguments(self, part: Block, arguments: str) -> Block:
        return {**part, "arguments": as_arguments(arguments)}

    def _words(self, role: Role, text: str) -> Block:
        return _text(text)

    def _cut_results(self, parts: list[Block], text: str) -> list[Block]:
        answers: list[Block] = []
        for part in filter(self._is_result, parts):
            named: Block = {key: part[key] for key in ("name", "tool_call_id") if key in part}
            mark = {"exception": ""} if _has_failed(part) else {}
            answers.append({"type": "tool_result", **named, "output": "" if answers else text, **mark})
        return answers


def _has_failed(part: Mapping[str, object]) -> bool:
    result = part.get("type") == "tool_result" and not part.get("server_executed")
    return result and part.get("exception") is not None


def _id(part: Block, what: str) -> str:
    """Return the id of a call; older logs have none, and llm pairs those by the tool's name.

    Raises:
        PayloadError: it has neither.
    """
    return as_name(part, "tool_call_id" if part.get("tool_call_id") is not None else "name", what)


def _attached(part: Mapping[str, object]) -> list[Block]:
    """Return a part's attachments: the part itself, or those of a result."""
    if part.get("type") == "attachment":
        return [as_dict(part.get("attachment") or {}, "an attachment")]
    return [as_dict(each, "an attachment") for each in as_list(part.get("attachments"), "attachments")]


def _told_behind(part: Block) -> Block:
    """Return a result whose text attachments follow its output as text."""
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


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _media(attachment: Mapping[str, object]) -> Media:
    mime = str(attachment.get("type") or "application/octet-stream")
    if data := str(attachment.get("content") or ""):
        return Media(mime, data=data)
    if url := str(attachment.get("url") or ""):
        return media_from(url, mime)
    return Media(mime, name=str(attachment.get("path") or ""))


def _outcome(outcome: ToolResult) -> Block:
    text = "\n".join(piece.text for piece in outcome.said if isinstance(piece, Words))
    media = [_attachment(piece) for piece in outcome.said if isinstance(piece, Media)]
    made: Block = {"type": "tool_result", "name": "tool", "output": text}
    failed = {"exception": "Error"} if outcome.failed else {}
    attached = {"attachments": media} if media else {}
    return {**made, "tool_call_id": portable_id(outcome.call_id), **failed, **attached}


def _attachment(media: Media) -> Block:
    # llm detects the exact type of "image/*" and the like itself.
    named = {} if media.mime.endswith("*") else {"type": media.mime}
    return {**named, "content": media.data} if media.data else {**named, "url": media.url}


def _shown(piece: Words | Media, role: Role) -> Block:
    if isinstance(piece, Words):
        return _text(piece.text)
    if role == "assistant" or not (piece.data or piece.url):
        return _text(told(piece))
    return {"type": "attachment", "attachment": _attachment(piece)}
