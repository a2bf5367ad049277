"""What all forms of messages share: a payload is read once, indexed, cut, emptied, and carried to other forms.

A form says what its messages hold (`_parts`, `_role`, `_said`, `_calls`, `_results`, `_pieces`) and what is left of a
message that is cut (`_cut`) or forgotten (`_emptied`). `PartsForm` serves forms whose messages are one list of parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from squidbot.codecs import jsontext
from squidbot.codecs.fields import PayloadError, Pictures, as_dict, as_list, as_object, with_label
from squidbot.core.messages import Category, Media, Message, Portable, Role, ToolCall, ToolResult, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.messages import Part, Piece

Block: TypeAlias = dict[str, object]

_CATEGORIES: Final[Mapping[Role, Category]] = {"system": Category.SYSTEM, "tool": Category.SYSTEM_OUTPUT}
# What is left where all that a step did was think.
THOUGHT: Final = "(thinking)"


class MessageForm(Pictures, ABC):
    """A codec, less what its form alone knows."""

    tag: str = ""
    # Who a message says it is from, and what that is to squidbot.
    roles: ClassVar[Mapping[str, Role]] = {}

    def text(self, payload: str) -> str:
        """Return what the model reads of a payload except tool calls.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        return self._said(obj, self._parts(obj))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. Its role is "tool" where it answers a call, whatever else it says.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._index(payload, None)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a host's own dict. `time` in seconds since 1970 wins over what the dict says.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        return self._index(jsontext.write(self._given(obj)), time)

    @abstractmethod
    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: pictures, documents, unknown parts; from above.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        return self._hidden_tokens(obj, self._parts(obj))

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are empty.

        What it answers, whether that failed, and when it was said stay; nothing else does.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        left = self._emptied(obj, self._parts(obj), text)
        if (stamp := jsontext.stamp_alone(self._stamp(obj))) is not None:
            left["timestamp"] = stamp
        return jsontext.write(left)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: thoughts, signatures and ids of parts stay behind.

        Parts of an unknown type go as text.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        obj = self._read(payload)
        parts = self._parts(obj)
        return Portable(self._role(obj, parts), tuple(self._pieces(obj, parts)))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said: a message, or a list of them."""
        made = self._adopted(
            [piece for piece in said.pieces if isinstance(piece, ToolResult)],
            [piece for piece in said.pieces if isinstance(piece, Words | Media)],
            [piece for piece in said.pieces if isinstance(piece, ToolCall)],
            said.role,
        )
        return jsontext.write(made[0] if len(made) == 1 else made)

    def _index(self, payload: str, time: float | None) -> Message:
        obj = self._read(payload)
        parts = self._parts(obj)
        role = self._role(obj, parts)
        failed = role == "tool" and self._failed(obj, parts)
        return Message(
            role=role,
            text=self._said(obj, parts),
            payload=payload,
            codec=self.tag,
            calls=tuple(self._calls(obj, parts)),
            results=tuple(self._results(obj, parts)),
            category=Category.ERROR if failed else _CATEGORIES.get(role, Category.DIALOG),
            sender=self._sender(obj),
            time=jsontext.seconds(self._stamp(obj)) if time is None else time,
        )

    # What a form says of its messages. `parts` is what `_parts` returned for the same message.

    def _read(self, payload: str) -> Block:
        return as_object(payload)

    @abstractmethod
    def _given(self, obj: Mapping[str, object]) -> Block:
        """Return what is stored of a host's own dict."""

    def _role(self, obj: Block, parts: list[Block]) -> Role:
        return self._known_role(obj)

    def _known_role(self, obj: Mapping[str, object], key: str = "role") -> Role:
        """Return whose a message is.

        Raises:
            PayloadError: it is nobody's.
        """
        if key not in obj:
            raise PayloadError(f"{key} is missing; it is one of {', '.join(self.roles)}")
        role = obj[key]
        if not isinstance(role, str) or role not in self.roles:
            raise PayloadError(f"unknown {key} {role!r:.60}; it is one of {', '.join(self.roles)}")
        return self.roles[role]

    def _stamp(self, obj: Block) -> object:
        return obj.get("timestamp")

    def _sender(self, obj: Block) -> str:
        return ""

    def _failed(self, obj: Block, parts: list[Block]) -> bool:
        return False

    @abstractmethod
    def _parts(self, obj: Block) -> list[Block]:
        """Return what a message is made of, in order."""

    @abstractmethod
    def _said(self, obj: Block, parts: list[Block]) -> str:
        """Return what the model reads of it except tool calls."""

    @abstractmethod
    def _calls(self, obj: Block, parts: list[Block]) -> Iterable[ToolCall]:
        """Return the tool calls that it makes."""

    @abstractmethod
    def _results(self, obj: Block, parts: list[Block]) -> Iterable[str]:
        """Return the ids of the calls that it answers."""

    @abstractmethod
    def _hidden_tokens(self, obj: Block, parts: list[Block]) -> int:
        """Return the tokens of what `_said` and `_calls` do not show; from above."""

    @abstractmethod
    def _pieces(self, obj: Block, parts: list[Block]) -> Iterable[Piece]:
        """Return what of it goes to another provider."""

    @abstractmethod
    def _emptied(self, obj: Block, parts: list[Block], text: str) -> Block:
        """Return a message of the same role that says a text, its calls without arguments."""

    @abstractmethod
    def _adopted(
        self, results: list[ToolResult], words: list[Words | Media], calls: list[ToolCall], role: Role
    ) -> list[Block]:
        """Return the messages for what another form said."""


class SingleMessageForm(MessageForm):
    """A form whose payloads are one message each, which is made, cut and noticed as a whole."""

    # Whether a message that nothing is cut from is sent byte for byte as it is stored.
    sent_as_stored = True

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request.

        A slimmed part says `part.text` instead of all that it said, inside its first result where it answers calls;
        calls stay. A part made by squidbot is `part.text` said in its role. A notice follows the content.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            sent = self._made(part.role, part.text or "")
        elif self.sent_as_stored and part.is_uncut:
            return part.payload
        else:
            sent = self._cut(self._sendable(part.payload), part)
        return jsontext.write(sent if part.notice is None else self._noticed(sent, part.notice))

    def _given(self, obj: Mapping[str, object]) -> Block:
        """Return a host's own dict as it is; a text in a role, as texts come to a session, as `_made` says it."""
        if set(obj) == {"role", "content"} and isinstance(content := obj["content"], str):
            return self._made(str(obj["role"]), content)
        return dict(obj)

    @abstractmethod
    def _made(self, role: str, text: str) -> Block:
        """Return a message that says a text in a role."""

    def _sendable(self, payload: str) -> Block:
        return self._read(payload)

    @abstractmethod
    def _cut(self, sent: Block, part: Part) -> Block:
        """Return what is sent of a message under a part that cuts it."""

    @abstractmethod
    def _noticed(self, sent: Block, notice: str) -> Block:
        """Return a message with a notice behind its content."""


class PartsForm(SingleMessageForm):
    """A form whose messages are one list of parts: words, thoughts, calls, results and media, told apart by type."""

    field = "parts"
    type_key = "type"
    call_type, result_type = "tool_call", "tool_result"
    thinking: Sequence[str] = ("reasoning",)

    def _parts(self, obj: Block) -> list[Block]:
        return [as_dict(part, "a part") for part in as_list(obj.get(self.field), self.field)]

    def _said(self, obj: Block, parts: list[Block]) -> str:
        return "\n".join(filter(None, map(self._part_text, parts)))

    def _calls(self, obj: Block, parts: list[Block]) -> Iterable[ToolCall]:
        return map(self._call, filter(self._is_call, parts))

    def _results(self, obj: Block, parts: list[Block]) -> Iterable[str]:
        return map(self._answered, filter(self._is_result, parts))

    def _hidden_tokens(self, obj: Block, parts: list[Block]) -> int:
        return sum(map(self._part_tokens, parts))

    def _pieces(self, obj: Block, parts: list[Block]) -> Iterator[Piece]:
        for part in parts:
            if part.get(self.type_key) not in self.thinking:
                yield from [self._call(part)] if self._is_call(part) else self._carried(part)

    def _is_call(self, part: Mapping[str, object]) -> bool:
        return part.get(self.type_key) == self.call_type

    def _is_result(self, part: Mapping[str, object]) -> bool:
        return part.get(self.type_key) == self.result_type

    @abstractmethod
    def _part_text(self, part: Block) -> str:
        """Return what the model reads of a part; "" for a call."""

    @abstractmethod
    def _part_tokens(self, part: Block) -> int:
        """Return the tokens of what its text does not show; from above."""

    @abstractmethod
    def _call(self, part: Block) -> ToolCall:
        """Return the call that a part is."""

    @abstractmethod
    def _answered(self, part: Block) -> str:
        """Return the id of the call that a result answers."""

    @abstractmethod
    def _carried(self, part: Block) -> Iterable[Piece]:
        """Return what of a part goes to another provider."""


class PartwiseForm(PartsForm):
    """Such a form whose messages are cut and emptied part by part."""

    def _emptied(self, obj: Block, parts: list[Block], text: str) -> Block:
        calls = [self._called(self._call(part)._replace(arguments="{}")) for part in parts if self._is_call(part)]
        said = self._cut_results(parts, text) or [self._words(self._role(obj, parts), text)]
        return {**obj, self.field: [*said, *calls]}

    def _cut(self, sent: Block, part: Part) -> Block:
        parts = self._parts(sent)
        if part.drop_thinking:
            kept = [one for one in parts if one.get(self.type_key) not in self.thinking]
            parts = kept or [self._words("assistant", THOUGHT)]
        if part.text is not None:
            parts = self._slimmed(parts, part.text, part.role)
        if part.arguments is not None:
            cut = iter(part.arguments)
            parts = [self._with_arguments(one, next(cut, "{}")) if self._is_call(one) else one for one in parts]
        return {**sent, self.field: self._labelled(parts, part.label) if part.label else parts}

    def _slimmed(self, parts: list[Block], text: str, role: Role) -> list[Block]:
        return self._cut_results(parts, text) or [self._words(role, text), *filter(self._is_call, parts)]

    def _labelled(self, parts: list[Block], label: str) -> list[Block]:
        return cast("list[Block]", with_label(parts, label))

    @abstractmethod
    def _called(self, call: ToolCall) -> Block:
        """Return the part for a call."""

    @abstractmethod
    def _with_arguments(self, part: Block, arguments: str) -> Block:
        """Return a call with other arguments, as JSON text."""

    @abstractmethod
    def _words(self, role: Role, text: str) -> Block:
        """Return a part that says a text in a role."""

    @abstractmethod
    def _cut_results(self, parts: list[Block], text: str) -> list[Block]:
        """Return the results among parts, the first of which says a text and the others nothing."""


def as_arguments(arguments: str, name: str = "input") -> Block:
    """Return the object that the arguments of a call are; what is none stands under a name."""
    try:
        value = jsontext.parse(arguments)
    except jsontext.JsonTextError:
        value = None
    return value if isinstance(value, dict) else {name: arguments}
