"""OpenAI Responses: a payload is one item, or a step of the model, whose items came together as one response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs import responses_items as of
from squidbot.codecs.fields import PayloadError, as_name, as_object, fenced, with_label
from squidbot.codecs.images import Pictures
from squidbot.core.messages import Category, Message, Role
from squidbot.core.portable import Portable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.codecs.responses_items import Item
    from squidbot.core.messages import Part

__all__ = ["KEPT_KEYS", "TRANSCRIPT_KEYS", "OpenAIResponses"]

# Of a response's envelope only what tells of the answer is stored; the rest (tools, instructions, options) is the
# request said once more, with every answer.
KEPT_KEYS: Final = frozenset(
    {"created_at", "id", "incomplete_details", "model", "output", "status", "timestamp", "usage"}
)
# What recordings write beside an item and a provider would refuse.
TRANSCRIPT_KEYS: Final = frozenset({"timestamp", "usage", "model"})

_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_CATEGORIES: Final[dict[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}


class OpenAIResponses(Pictures):
    """The codec of Responses items. Items of unknown types stay in the payload, count as JSON text and are sent back.

    A step keeps reasoning with what it led to, and parallel calls together (R1, R2): record a response whole, as
    `to_message` takes it. What is sent for a step is a list of items.
    """

    tag: Final = "openai.responses"
    image_types, text_type = ("input_image",), "input_text"

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls: words, summaries of reasoning, tool output.

        Items of an unknown type are their JSON text; pictures, files and encrypted reasoning are no text.

        Raises:
            ValueError: the payload is not of this form.
        """
        return of.text_of(of.items_of(as_object(payload))[0])

    def decode(self, payload: str) -> Message:
        """Return the message with its index. `time` is the payload's `timestamp`, or when the response was made.

        Raises:
            ValueError: the payload is not of this form; the text says why.
        """
        return self._index(payload, as_object(payload), None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for an item, or for a response: an object with `output`, of which KEPT_KEYS are stored.

        `time` in seconds since 1970 wins over what the object says.

        Raises:
            ValueError: the object is neither, or holds what JSON can't; the text says why.
        """
        whole = dict(obj)
        _, step = of.items_of(whole)
        payload = jsontext.write({key: value for key, value in whole.items() if not step or key in KEPT_KEYS})
        return self._index(payload, as_object(payload), time)

    def to_items(self, message: Message) -> list[Item]:
        """Return the items that a message stands for, as they are sent.

        Raises:
            ValueError: the payload is not of this form.
        """
        return _sendable(as_object(message.payload))

    def steps(self, items: Iterable[Mapping[str, object]]) -> list[Item]:
        """Return a list of items as objects for `to_message`: what the model made in a row becomes one step.

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
        """Return whether an object is an item that the model made, and no response.

        Raises:
            PayloadError: it is neither.
        """
        items, step = of.items_of(dict(item))
        return not step and _role(items, step=False) == "assistant"

    def thoughts(self, payload: str) -> int:
        """Return how many items of reasoning a payload has.

        Raises:
            ValueError: the payload is not of this form.
        """
        return sum(of.type_of(item) == "reasoning" for item in of.items_of(as_object(payload))[0])

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: an item, or a list of them for a step.

        A verbatim part is its stored items without TRANSCRIPT_KEYS. A slimmed one says `part.text` in place of all that
        it said, inside its output where it answers a call; calls and outputs stay. Where a step's words or arguments
        are cut, or `part.drop_thinking` is set, its reasoning goes, and with it the ids of all its items, which would
        ask for it (R2). A part made by squidbot is `part.text` said in its role. A notice follows the content: as a
        part of its own where the content is a list, else fenced behind the string.

        Raises:
            ValueError: the stored payload is not of this form.
        """
        if part.payload is None:
            sent: list[Item] = [{"role": part.role, "content": part.text or ""}]
        else:
            obj = as_object(part.payload)
            sent = _sendable(obj)
            if part.role == "assistant" and (part.drop_thinking or part.text is not None or part.arguments is not None):
                sent = of.without_reasoning(sent)
            if part.arguments is not None:
                sent = of.with_arguments(sent, part.arguments)
            if part.text is not None:
                sent = of.cut(sent, part.role, part.text)
            sent = _with_label(sent, part.label)
        if part.notice is not None:
            sent = [*sent[:-1], _with_notice(sent[-1], part.notice)]
        return _written(sent)

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: pictures, files, encrypted reasoning (R9).

        Raises:
            ValueError: the payload is not of this form.
        """
        return sum(map(of.extra_tokens, of.items_of(as_object(payload))[0]))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are "{}".

        What it answers and when it was said stay; nothing else does.

        Raises:
            ValueError: the payload is not of this form.
        """
        obj = as_object(payload)
        items, step = of.items_of(obj)
        calls = of.calls_of(items)
        if step or calls:
            left: Item = {"output": [{"role": "assistant", "content": text}, *map(of.emptied, calls)]}
        elif _role(items, step=step) == "tool":
            left = of.emptied(items[0], text)
        else:
            left = {"role": obj.get("role", "assistant"), "content": text}
        if (stamp := jsontext.stamp_alone(_stamp(obj, step=step))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: reasoning, ids and sealed content stay behind.

        What the provider's own tools did goes as text.

        Raises:
            ValueError: the payload is not of this form.
        """
        items, step = of.items_of(as_object(payload))
        return Portable(_role(items, step=step), tuple(of.pieces_of(items)))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said: an item, or a list of them."""
        return _written(of.adopted(said))

    def _index(self, payload: str, obj: Item, time: float | None) -> Message:
        items, step = of.items_of(obj)
        role = _role(items, step=step)
        return Message(
            role=role,
            text=of.text_of(items),
            payload=payload,
            codec=self.tag,
            calls=tuple(map(of.call_of, of.calls_of(items))),
            results=(as_name(items[0], "call_id", f"a {of.type_of(items[0])}"),) if role == "tool" else (),
            category=_CATEGORIES.get(role, Category.DIALOG),
            time=jsontext.seconds(_stamp(obj, step=step)) if time is None else time,
        )


def _role(items: Sequence[Item], *, step: bool) -> Role:
    if step:
        return "assistant"
    if of.answers(items[0]):
        return "tool"
    role = items[0].get("role", "assistant")
    if not isinstance(role, str) or role not in _ROLES:
        raise PayloadError(f"unknown role {role!r:.60}; it is one of {', '.join(_ROLES)}")
    return _ROLES[role]


def _stamp(obj: Item, *, step: bool) -> object:
    return obj.get("timestamp", obj.get("created_at") if step else None)


def _sendable(obj: Item) -> list[Item]:
    items, _ = of.items_of(obj)
    return [{key: value for key, value in item.items() if key not in TRANSCRIPT_KEYS} for item in items]


def _written(items: Sequence[Item]) -> str:
    return jsontext.write(items[0] if len(items) == 1 else list(items))


def _with_label(items: Sequence[Item], label: str) -> list[Item]:
    if not label:
        return [*items]
    first = next((item for item in items if of.type_of(item) == "message" and item.get("content")), None)
    return [{**one, "content": with_label(one["content"], label)} if one is first else one for one in items]


def _with_notice(item: Item, notice: str) -> Item:
    content = item.get("content")
    if isinstance(content, list):
        return {**item, "content": [*content, {"type": "input_text", "text": notice}]}
    return {**item, "content": f"{content}\n\n{fenced(notice)}" if content else fenced(notice)}
