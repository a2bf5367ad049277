"""The common part of all message forms: reading, indexing, cutting, emptying, and conversion to other forms.

A form defines in one place each part of its messages (`_view`, or `_views` for a whole message), and how a message is
cut (`_cut`), emptied (`_emptied`) and built from another form's content (`_adopted`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias, cast

from squidbot.codecs import jsontext
from squidbot.codecs.fields import PayloadError, Pictures, as_dict, as_list, as_object, with_label
from squidbot.core.messages import Category, Media, Message, Portable, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Part, Piece

Block: TypeAlias = dict[str, object]

_CATEGORIES: Final[Mapping[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}
# Replaces a step that only had thinking.
THOUGHT: Final = "(thinking)"


class PartView(NamedTuple):
    """The known content of one part of a message.

    Attributes:
        text: what the model reads of it; "" for calls and media.
        pieces: the portable content: words, media, a call or a result; nothing for thoughts.
        tokens: a high estimate of the tokens that `text` and `pieces` do not show as text.
    """

    text: str = ""
    pieces: tuple[Piece, ...] = ()
    tokens: int = 0


class MessageForm(Pictures, ABC):
    """A codec without its form-specific parts."""

    tag: str = ""
    # The role names of the form, and squidbot's role for each.
    roles: ClassVar[Mapping[str, Role]] = {}
    # The separator between the texts of two parts.
    joint: ClassVar[str] = "\n"
    # Whether an uncut message is sent byte for byte as it is stored.
    sent_as_stored: ClassVar[bool] = True

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._text(self._views(self._read(payload)))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. Its role is "tool" if it answers a call, whatever other content it has.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a host's own dict. `time` in seconds since 1970 overrides the dict's.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        return self._index(jsontext.write(self._given(obj)), time)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        A slimmed part has `part.text` as its only text, inside its first result if it answers calls; calls stay. A part
        made by squidbot is `part.text` in its role. A notice follows the content.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent = self._made(part.role, part.text or "")
        elif self.sent_as_stored and part.is_uncut:
            return part.payload
        else:
            sent = self._cut(self._sendable(part.payload), part)
        return jsontext.write(self._written(sent if part.notice is None else self._noticed(sent, part.notice)))

    def extra_tokens(self, payload: str) -> int:
        """Return a high estimate of tokens outside `Message.rendered`: pictures, documents, unknown parts.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return sum(view.tokens for view in self._views(self._read(payload)))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role with `text` as its text, and the same calls with empty arguments.

        The id of the call it answers, the failure flag and its time stay; nothing else does.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        left = self._emptied(obj, text)
        if (stamp := jsontext.stamp_alone(self._stamp(obj))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return the portable content of a payload: without thoughts, signatures and ids of parts.

        Parts of an unknown type go as text.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        views = self._views(obj)
        return Portable(self._role(obj), tuple(piece for view in views for piece in view.pieces))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for another codec's payload: a message, or a list of them."""
        made = self._adopted(
            [piece for piece in said.pieces if isinstance(piece, ToolResult)],
            [piece for piece in said.pieces if isinstance(piece, Words | Media)],
            [piece for piece in said.pieces if isinstance(piece, ToolCall)],
            said.role,
        )
        return jsontext.write(made[0] if len(made) == 1 else made)

    def _index(self, payload: str, time: float | None) -> Message:
        obj = self._read(payload)
        views = self._views(obj)
        role = self._role(obj)
        pieces = [piece for view in views for piece in view.pieces]
        failed = role == "tool" and self._failed(pieces)
        return Message(
            role=role,
            text=self._text(views),
            payload=payload,
            codec=self.tag,
            calls=tuple([piece for piece in pieces if isinstance(piece, ToolCall)]),
            results=tuple([piece.call_id for piece in pieces if isinstance(piece, ToolResult)]),
            category=Category.ERROR if failed else _CATEGORIES.get(role, Category.DIALOG),
            sender=self._sender(obj),
            time=jsontext.seconds(self._stamp(obj)) if time is None else time,
            extra_tokens=sum([view.tokens for view in views]),
        )

    def _text(self, views: Sequence[PartView]) -> str:
        return self.joint.join([view.text for view in views if view.text])

    # What a form defines about its messages.

    def _read(self, payload: str) -> Block:
        return as_object(payload)

    def _given(self, obj: Mapping[str, object]) -> Block:
        """Return what is stored of a host's own dict; text in a role becomes a message by `_made`."""
        if set(obj) == {"role", "content"} and isinstance(content := obj["content"], str):
            return self._made(str(obj["role"]), content)
        return dict(obj)

    def _role(self, obj: Block) -> Role:
        return self._known_role(obj)

    def _known_role(self, obj: Mapping[str, object], key: str = "role") -> Role:
        """Return a message's role.

        Raises:
            PayloadError: its role is unknown.
        """
        if key not in obj:
            raise PayloadError(f"{key} is missing; expected one of {', '.join(self.roles)}")
        role = obj[key]
        if not isinstance(role, str) or role not in self.roles:
            raise PayloadError(f"unknown {key} {role!r:.60}; expected one of {', '.join(self.roles)}")
        return self.roles[role]

    def _stamp(self, obj: Block) -> object:
        return obj.get("timestamp")

    def _sender(self, obj: Block) -> str:
        return ""

    def _failed(self, pieces: Sequence[Piece]) -> bool:
        """Return whether a tool message holds nothing but errors."""
        return all(isinstance(piece, ToolResult) and piece.failed for piece in pieces)

    @abstractmethod
    def _views(self, obj: Block) -> list[PartView]:
        """Return the known content of each part of a message, in order."""

    @abstractmethod
    def _made(self, role: str, text: str) -> Block:
        """Return a message with a text in a role."""

    def _sendable(self, payload: str) -> Block:
        return self._read(payload)

    @abstractmethod
    def _cut(self, sent: Block, part: Part) -> Block:
        """Return the message to send under a part that cuts it."""

    @abstractmethod
    def _noticed(self, sent: Block, notice: str) -> Block:
        """Return a message with a notice behind its content."""

    def _written(self, sent: Block) -> object:
        """Return the value to write for a sent message."""
        return sent

    @abstractmethod
    def _emptied(self, obj: Block, text: str) -> Block:
        """Return a message of the same role with a text, its calls without arguments."""

    @abstractmethod
    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        """Return the messages for another form's content."""


class PartwiseForm(MessageForm):
    """A form whose messages are one list of typed parts, which are cut and emptied one by one."""

    type_key = "type"
    call_type, result_type = "tool_call", "tool_result"
    thinking: Sequence[str] = ("reasoning",)

    def _parts(self, obj: Block) -> list[Block]:
        return [as_dict(part, "a part") for part in as_list(obj.get("parts"), "parts")]

    def _views(self, obj: Block) -> list[PartView]:
        return [self._view(part) for part in self._parts(obj)]

    def _emptied(self, obj: Block, text: str) -> Block:
        parts = self._parts(obj)
        calls = [self._called(self._call(part)._replace(arguments="{}")) for part in parts if self._is_call(part)]
        said = self._cut_results(parts, text) or [self._words(self._role(obj), text)]
        return {**obj, "parts": [*said, *calls]}

    def _cut(self, sent: Block, part: Part) -> Block:
        parts = self._parts(sent)
        if part.drop_thinking:
            kept = [block for block in parts if block.get(self.type_key) not in self.thinking]
            parts = kept or [self._words("assistant", THOUGHT)]
        if part.text is not None:
            parts = self._cut_results(parts, part.text) or self._slimmed(parts, part.text, part.role)
        if part.arguments is not None:
            given = iter(part.arguments)
            parts = [
                self._with_arguments(block, next(given, "{}")) if self._is_call(block) else block for block in parts
            ]
        return {**sent, "parts": self._labelled(parts, part.label) if part.label else parts}

    def _slimmed(self, parts: list[Block], text: str, role: Role) -> list[Block]:
        return [self._words(role, text), *filter(self._is_call, parts)]

    def _labelled(self, parts: list[Block], label: str) -> list[Block]:
        return cast("list[Block]", with_label(parts, label))

    def _is_call(self, part: Mapping[str, object]) -> bool:
        return part.get(self.type_key) == self.call_type

    def _is_result(self, part: Mapping[str, object]) -> bool:
        return part.get(self.type_key) == self.result_type

    @abstractmethod
    def _view(self, part: Block) -> PartView:
        """Return the known content of a part."""

    @abstractmethod
    def _call(self, part: Block) -> ToolCall:
        """Return the call in a part."""

    @abstractmethod
    def _called(self, call: ToolCall) -> Block:
        """Return the part for a call."""

    @abstractmethod
    def _with_arguments(self, part: Block, arguments: str) -> Block:
        """Return a call with other arguments, as JSON text."""

    @abstractmethod
    def _words(self, role: Role, text: str) -> Block:
        """Return a part with a text in a role."""

    @abstractmethod
    def _cut_results(self, parts: list[Block], text: str) -> list[Block]:
        """Return the results among parts: the first has the text, the others none."""


def as_arguments(arguments: str, name: str = "input") -> Block:
    """Return the object in a call's arguments; any other value goes under `name`."""
    try:
        value = jsontext.parse(arguments)
    except jsontext.JsonTextError:
        value = None
    return value if isinstance(value, dict) else {name: arguments}
