"""OpenAI Responses: a payload is one item, or a step of the model: the items of one response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from squidbot.codecs import jsontext
from squidbot.codecs.fields import (
    PayloadError,
    as_dict,
    as_list,
    as_name,
    as_object,
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
from squidbot.codecs.form import MessageForm, PartView
from squidbot.core.messages import Media, Message, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.messages import Part, Piece


# Items of OpenAI Responses: their text, their calls, the calls they answer, and how they are cut.

Item: TypeAlias = dict[str, object]

# An encrypted thought is base64: a little over five characters for a token of four.
_SEALED_CHARS_PER_TOKEN: Final = 4
_WORDS: Final = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_SHOWN: Final = ("input_image", "input_file", "input_audio")
# Replaces a step that only had thinking.
_THOUGHT: Final[Item] = {"role": "assistant", "content": "(thinking)"}


def type_of(item: Item) -> str:
    """Return an item's type; a message may lack it."""
    return str(item.get("type") or "message")


def is_step(obj: Item) -> bool:
    """Return whether a payload is a step of the model: an object whose `output` is a list of items."""
    return "call_id" not in obj and isinstance(obj.get("output"), list)


def items_of(obj: Item) -> list[Item]:
    """Return the items of a payload.

    Raises:
        PayloadError: it has none, or names an item that only the provider holds.
    """
    items = [obj]
    if is_step(obj):
        items = [as_dict(item, "an item of output") for item in as_list(obj["output"], "output")]
    for item in items:
        if type_of(item) == "item_reference":
            raise PayloadError("an item_reference names what only the provider holds; record the item itself")
        if type_of(item) == "message" and "role" not in item:
            raise PayloadError("role of a message is missing; an item is a message, or has a type")
    return items


def _text(item: Item) -> str:
    match type_of(item):
        case "message":
            return _said(item.get("content"), "content")
        case "reasoning":
            summary, content = (as_list(item.get(name), name) for name in ("summary", "content"))
            return "\n".join(filter(None, (_said([part], "a part of reasoning") for part in (*summary, *content))))
        case _ if answers(item):
            output = item.get("output")
            known = isinstance(output, str | list) or output is None
            return _said(output, "output") if known else jsontext.write(output)
        case _:
            return jsontext.write(item)


def _said(content: object, what: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise PayloadError(f"{what} is {kind(content)}; expected a string or a list of parts")
    return "".join(_part_text(as_dict(part, f"a part of {what}")) for part in content)


def _part_text(part: Item) -> str:
    name = "refusal" if part.get("type") == "refusal" else "text"
    if part.get("type") in _SHOWN:
        return ""
    if part.get("type") not in (*_WORDS, "refusal"):
        return jsontext.write(part)
    return as_text(part.get(name, ""), f"{name} of a {part['type']}")


# -- calls ------------------------------------------------------------------------------------------------------------


def answers(item: Item) -> bool:
    """Return whether an item is the output of a call, of any kind of tool."""
    return "call_id" in item and type_of(item).endswith("_output")


def calls_of(items: Sequence[Item]) -> list[Item]:
    """Return the items that call a tool and have no answer among the others, unlike the provider's own tools."""
    answered = {item["call_id"] for item in items if answers(item) and isinstance(item["call_id"], str)}
    calling = [item for item in items if "call_id" in item and not answers(item)]
    return [item for item in calling if not isinstance(item["call_id"], str) or item["call_id"] not in answered]


def call_of(item: Item) -> ToolCall:
    """Return the call in an item; its arguments are the model's original string."""
    what = f"a {type_of(item)}"
    name = as_name(item, "name", what) if type_of(item) in {"function_call", "custom_tool_call"} else type_of(item)
    given = item.get("arguments", item.get("input", item.get("action")))
    if not isinstance(given, str):
        given = jsontext.write({} if given is None else given)
    return ToolCall(as_name(item, "call_id", what), name, given)


def emptied(item: Item, text: str = "") -> Item:
    """Return a call without its arguments, or an output with only `text`."""
    identifier = as_name(item, "call_id", f"a {type_of(item)}")
    if answers(item):
        return {"type": type_of(item), "call_id": identifier, "output": text}
    custom = type_of(item) == "custom_tool_call"
    named = {"type": "custom_tool_call" if custom else "function_call", "call_id": identifier}
    return {**named, "name": call_of(item).name, "input" if custom else "arguments": "{}"}


def with_arguments(items: Sequence[Item], arguments: Sequence[str]) -> list[Item]:
    """Return items with other arguments for their calls, one string for each, in order."""
    given = iter(arguments)
    made = {id(item): next(given, "{}") for item in calls_of(items)}
    keys = ((item, next((key for key in ("arguments", "input") if key in item), "")) for item in items)
    return [{**item, key: made[id(item)]} if key and id(item) in made else item for item, key in keys]


# -- cuts -------------------------------------------------------------------------------------------------------------


def without_reasoning(items: Sequence[Item]) -> list[Item]:
    """Return items without their reasoning, and so without their ids, which would require it.

    Items of the provider's own tools go, too: they are useless without their ids.
    """
    kept = [
        {key: value for key, value in item.items() if key != "id"}
        for item in items
        if type_of(item) == "message" or "call_id" in item or ("id" not in item and type_of(item) != "reasoning")
    ]
    return kept or [dict(_THOUGHT)]


def cut(items: Sequence[Item], role: Role, text: str) -> list[Item]:
    """Return the items to send with `text` as their only text; calls and the ids of answered calls stay."""
    if len(items) == 1 and answers(items[0]):
        return [{**items[0], "output": text}]
    if len(items) == 1 and type_of(items[0]) == "message":
        return [{**items[0], "content": text}]
    return [{"role": role, "content": text}, *calls_of(items)]


def _tokens_beside(item: Item) -> int:
    """Return the tokens beside an item's text: pictures, files, encrypted reasoning."""
    sealed = item.get("encrypted_content") if type_of(item) == "reasoning" else None
    tokens = len(sealed) // _SEALED_CHARS_PER_TOKEN if isinstance(sealed, str) else 0
    content = item.get("output" if answers(item) else "content")
    for part in content if isinstance(content, list) else []:
        shown = part.get("type") if isinstance(part, dict) else None
        if shown == "input_image":
            tokens += openai_image_tokens(part.get("detail"))
        elif shown in _SHOWN:
            tokens += media_tokens(len(jsontext.write(part)))
    return tokens


# -- crossing ---------------------------------------------------------------------------------------------------------


def _view(item: Item, *, is_call: bool, is_alone: bool) -> PartView:
    """Return the known content of an item; an output in a step answers one of its own calls."""
    tokens = _tokens_beside(item)
    if is_call:
        return PartView(pieces=(call_of(item),), tokens=tokens)
    pieces: tuple[Piece, ...] = ()
    if type_of(item) == "message":
        pieces = tuple(_carried(item.get("content")))
    elif answers(item) and is_alone:
        output = item.get("output")
        said = jsontext.write(bare(output)) if isinstance(output, dict) else output
        pieces = (ToolResult(as_name(item, "call_id", f"a {type_of(item)}"), tuple(_carried(said))),)
    elif type_of(item) != "reasoning":
        pieces = (Words(jsontext.write(bare(item))),)
    return PartView(_text(item), pieces, tokens)


def _carried(content: object) -> Iterator[Words | Media]:
    if isinstance(content, str):
        yield Words(content)
    for part in content if isinstance(content, list) else []:
        yield _piece(as_dict(part, "a part of content"))


def _piece(part: Item) -> Words | Media:
    if part.get("type") == "input_image" and part.get("image_url"):
        return media_from(part["image_url"], "image/*")
    if part.get("type") == "input_file" and (where := part.get("file_data") or part.get("file_url")):
        return media_from(where, "application/pdf", part.get("filename"))
    if part.get("type") in _SHOWN:
        return Words(told(Media(str(part["type"]).removeprefix("input_"))))
    return Words(_part_text(part) if part.get("type") in (*_WORDS, "refusal") else jsontext.write(bare(part)))


def _output(outcome: ToolResult) -> object:
    said = content_of(outcome.said, _part)
    if not outcome.failed:
        return said
    return f"[error]\n{said}" if isinstance(said, str) else [{"type": "input_text", "text": "[error]"}, *said]


def _part(piece: Words | Media) -> Item:
    if isinstance(piece, Words):
        return {"type": "input_text", "text": piece.text}
    if piece.mime.startswith("image/"):
        return {"type": "input_image", "image_url": data_url(piece), "detail": "auto"}
    if piece.url:
        return {"type": "input_file", "file_url": piece.url}
    return {"type": "input_file", "filename": piece.name or "document", "file_data": data_url(piece)}


# Of a response's envelope only data about the answer is stored; the rest (tools, instructions, options) repeats the
# request with every answer.
KEPT_KEYS: Final = frozenset(
    {"created_at", "id", "incomplete_details", "model", "output", "status", "timestamp", "usage"}
)
# Keys that recordings add to an item and a provider would refuse.
TRANSCRIPT_KEYS: Final = frozenset({"timestamp", "usage", "model"})

_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class OpenAIResponses(MessageForm):
    """The codec of Responses items. Items of unknown types stay in the payload, count as JSON text and are sent back.

    A step keeps reasoning with its result, and parallel calls together: record a response whole, as `to_message` takes
    it. A step is sent as a list of items.
    """

    tag = "openai.responses"
    roles = _ROLES
    image_types, text_type = ("input_image",), "input_text"

    def to_items(self, message: Message) -> list[Item]:
        """Return the items of a message, as they are sent.

        Raises:
            ValueError: the payload is not of this form.
        """
        return _sendable(as_object(message.payload))

    def steps(self, items: Iterable[Mapping[str, object]]) -> list[Item]:
        """Return a list of items as objects for `to_message`: consecutive items of the model become one step.

        Raises:
            PayloadError: one of them is no item.
        """
        found: list[Item] = []
        made: list[object] = []
        for each in items:
            item = dict(each)
            if self.is_made(item):
                made.append(item)
                continue
            found += [{"output": made}, item] if made else [item]
            made = []
        return [*found, {"output": made}] if made else found

    def is_made(self, item: Mapping[str, object]) -> bool:
        """Return whether an object is an item made by the model, and no response.

        Raises:
            PayloadError: it is neither.
        """
        items_of(dict(item))
        return not is_step(dict(item)) and self._role(dict(item)) == "assistant"

    # A verbatim part is its stored items without TRANSCRIPT_KEYS.
    sent_as_stored = False

    def _made(self, role: str, text: str) -> Item:
        return {"output": [{"role": role, "content": text}]}

    def _sendable(self, payload: str) -> Item:
        return {"output": _sendable(as_object(payload))}

    def _cut(self, sent: Item, part: Part) -> Item:
        """Return a step with its text or arguments cut, without its reasoning and the ids of all its items."""
        items = items_of(sent)
        if part.role == "assistant" and (part.drop_thinking or part.text is not None or part.arguments is not None):
            items = without_reasoning(items)
        if part.arguments is not None:
            items = with_arguments(items, part.arguments)
        if part.text is not None:
            items = cut(items, part.role, part.text)
        return {"output": _with_label(items, part.label)}

    def _noticed(self, sent: Item, notice: str) -> Item:
        items = items_of(sent)
        noticed = with_notice(items[-1].get("content"), notice, "input_text")
        return {"output": [*items[:-1], {**items[-1], "content": noticed}]}

    def _written(self, sent: Item) -> object:
        items = items_of(sent)
        return items[0] if len(items) == 1 else items

    def _given(self, obj: Mapping[str, object]) -> Item:
        """Return an item unchanged; for a response, an object with `output`, only KEPT_KEYS."""
        whole = dict(obj)
        items_of(whole)
        return {key: value for key, value in whole.items() if key in KEPT_KEYS} if is_step(whole) else whole

    def _role(self, obj: Item) -> Role:
        if is_step(obj):
            return "assistant"
        return "tool" if answers(obj) else self._known_role({"role": obj.get("role", "assistant")})

    def _views(self, obj: Item) -> list[PartView]:
        items = items_of(obj)
        calls = {id(item) for item in calls_of(items)}
        return [_view(item, is_call=id(item) in calls, is_alone=not is_step(obj)) for item in items]

    def _stamp(self, obj: Item) -> object:
        return obj.get("timestamp", obj.get("created_at") if is_step(obj) else None)

    def _emptied(self, obj: Item, text: str) -> Item:
        calls = calls_of(items_of(obj))
        if is_step(obj) or calls:
            return {"output": [{"role": "assistant", "content": text}, *map(emptied, calls)]}
        if self._role(obj) == "tool":
            return emptied(obj, text)
        return {"role": obj.get("role", "assistant"), "content": text}

    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Item]:
        made: list[Item] = [
            {"type": "function_call_output", "call_id": portable_id(result.call_id), "output": _output(result)}
            for result in results
        ]
        if words or not (calls or results):
            said_by = "user" if role == "tool" else role
            made.append({"role": said_by, "content": content_of(words, _part) if said_by == "user" else joined(words)})
        return made + [
            {"type": "function_call", "call_id": portable_id(call.id), "name": call.name, "arguments": call.arguments}
            for call in calls
        ]


def _sendable(obj: Item) -> list[Item]:
    return [{key: value for key, value in item.items() if key not in TRANSCRIPT_KEYS} for item in items_of(obj)]


def _with_label(items: Sequence[Item], label: str) -> list[Item]:
    if not label:
        return [*items]
    first = next((item for item in items if type_of(item) == "message" and item.get("content")), None)
    return [{**item, "content": with_label(item["content"], label)} if item is first else item for item in items]
