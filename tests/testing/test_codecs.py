"""The check of codecs: our own pass it, so does a stranger's, and each broken promise is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from squidbot.codecs.fields import results
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.messages import Category, Message, Portable, ToolCall, ToolResult, Words
from squidbot.testing import check_codec

from ..codecs.test_crossing import CODECS, STEPS
from ..codecs.test_images import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.messages import Part, Role

ASKED: dict[str, Any] = {"role": "user", "content": "Is a squid there?", "timestamp": 5.5}
LOOKED: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "reasoning_content": "I had better look.",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "the bay"}'}}],
}
TOLD: dict[str, Any] = {"role": "tool", "tool_call_id": "c1", "content": "One swims by."}
SHOWN: dict[str, Any] = {
    "role": "user",
    "content": [
        {"type": "text", "text": "See:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ],
}
CHAT = (ASKED, LOOKED, TOLD, SHOWN)


@pytest.mark.parametrize("tag", sorted(CODECS))
def test_own_codecs_pass(tag: str) -> None:
    """Each with texts, pictures, thoughts, a call, and a result that failed."""
    codec = CODECS[tag]
    pictures = [form for one, form, _ in FORMS.values() if one.tag == tag and not one.to_message(form).results]
    plain = [{"role": role, "content": f"The {role} says so."} for role in ("system", "user", "assistant")]
    texts = [json.loads(codec.to_message(message).payload) for message in plain]
    told = results(codec, [ToolResult("toolu_1", (Words("A squid swims by."),), failed=True)])
    check_codec(codec, *texts, *pictures, STEPS[tag], *told)


class Plain:
    """A codec that shares nothing with squidbot's own: {"who", "says", "calls": [[id, name, arguments]], "to"}."""

    tag = "plain/1"
    roles: Mapping[str, Role] = {"me": "user", "bot": "assistant", "tool": "tool", "host": "system"}

    def _read(self, payload: str) -> dict[str, Any]:
        try:
            said = json.loads(payload)
            who, says, calls, to = said["who"], said["says"], said.get("calls", []), said.get("to")
            known = who in self.roles and isinstance(says, str) and (to is not None) == (who == "tool")
            for call in calls:
                known &= len(call) == 3 and all(isinstance(text, str) and text for text in call)
            if not known or (to is not None and not (isinstance(to, str) and to)):
                raise ValueError("no message of this form")
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"no message of this form: {error}") from error
        return {"who": who, "says": says, "calls": calls, "to": to}

    def _write(self, **said: object) -> str:
        return json.dumps({key: value for key, value in said.items() if value not in (None, [])})

    def text(self, payload: str) -> str:
        """Return what it says."""
        return str(self._read(payload)["says"])

    def decode(self, payload: str) -> Message:
        """Return the message."""
        said = self._read(payload)
        calls, role = tuple(ToolCall(*call) for call in said["calls"]), self.roles[said["who"]]
        category = {"tool": Category.SYSTEM_OUTPUT, "system": Category.SYSTEM}.get(role, Category.DIALOG)
        return Message(role, said["says"], payload, self.tag, calls, (said["to"],) if said["to"] else (), category)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message of a dict."""
        try:
            made = self.decode(json.dumps(obj, allow_nan=False))
        except TypeError as error:
            raise ValueError(str(error)) from error
        return Message(made.role, made.text, made.payload, self.tag, made.calls, made.results, made.category, time)

    def extra_tokens(self, payload: str) -> int:
        """Return that there is nothing but text."""
        self._read(payload)
        return 0

    def encode(self, part: Part) -> str:
        """Return what is sent."""
        if part.payload is None:
            who = {role: who for who, role in self.roles.items()}[part.role]
            return self._write(who=who, says=part.text)
        said = self._read(part.payload)
        says = said["says"] if part.text is None else part.text
        says = "\n".join(filter(None, (part.label, says, part.notice)))
        given = part.arguments or [call[2] for call in said["calls"]]
        calls = [[*call[:2], arguments] for call, arguments in zip(said["calls"], given, strict=True)]
        return self._write(who=said["who"], says=says, calls=calls, to=said["to"])

    def tombstone(self, payload: str, text: str) -> str:
        """Return what is left."""
        said = self._read(payload)
        return self._write(
            who=said["who"], says=text, calls=[[*call[:2], "{}"] for call in said["calls"]], to=said["to"]
        )

    def portable(self, payload: str) -> Portable:
        """Return what every form can say."""
        message, words = self.decode(payload), (Words(self.text(payload)),)
        if message.results:
            return Portable("tool", (ToolResult(message.results[0], words),))
        return Portable(message.role, (*words, *message.calls))

    def adopt(self, said: Portable) -> str:
        """Return one message for each result, and one for all else."""
        who = {role: who for who, role in self.roles.items()}
        made: list[dict[str, object]] = []
        for one in said.pieces:
            if isinstance(one, ToolResult):
                says = "".join(inner.text for inner in one.said if isinstance(inner, Words))
                made.append({"who": "tool", "says": says, "to": one.call_id})
        if not made:
            says = "".join(piece.text for piece in said.pieces if isinstance(piece, Words))
            calls = [list(piece) for piece in said.pieces if isinstance(piece, ToolCall)]
            made = [{"who": who[said.role], "says": says, "calls": calls}]
        return json.dumps(made)


PLAIN: tuple[dict[str, Any], ...] = (
    {"who": "me", "says": "Is a squid there?"},
    {"who": "bot", "says": "I look.", "calls": [["c1", "look", '{"at": "the bay"}']]},
    {"who": "tool", "says": "One swims by.", "to": "c1"},
)


def test_codec_of_a_stranger_passes() -> None:
    """It knows the port alone, and no other code of ours."""
    check_codec(Plain(), *PLAIN)


class Mutant(NamedTuple):
    """One broken promise: the method that breaks it, made from the right one, and what the check says."""

    method: str
    broken: Callable[[Callable[..., Any]], Callable[..., Any]]
    says: str


def _kept(right: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tombstone that keeps the arguments of calls as a key of its own."""

    def broken(payload: str, text: str) -> str:
        left = json.loads(right(payload, text))
        said = [call.arguments for call in OpenAIChat().decode(payload).calls if "bay" in call.arguments]
        return json.dumps({**left, "name": json.loads(said[0])["at"]} if said else left)

    return broken


def _counting(right: Callable[..., Any]) -> Callable[..., Any]:
    """Return what gives another answer each time."""
    numbers = iter(range(10**9))
    return lambda *given: f'{right(*given)[:-1]}, "number": {next(numbers)}}}'


def _changing(right: Callable[..., Any]) -> Callable[..., Any]:
    """Return what changes the host's own dict."""

    def broken(obj: dict[str, Any], time: float | None = None) -> Message:
        message: Message = right(obj, time)
        obj["seen"] = True
        return message

    return broken


def _raising(right: Callable[..., Any]) -> Callable[..., Any]:
    """Return what raises a KeyError for a payload without a role."""

    def broken(payload: str) -> object:
        return json.loads(payload)["role"] and right(payload) if payload == "{}" else right(payload)

    return broken


MUTANTS = {
    "changed dict": Mutant("to_message", _changing, "to_message changes the host's dict"),
    "own time": Mutant("to_message", lambda right: lambda obj, _time=None: right(obj), "overrides the dict's"),
    "another error": Mutant("portable", _raising, "portable raises a ValueError, no KeyError"),
    "no refusal": Mutant(
        "decode",
        lambda right: lambda payload: right(payload if payload.startswith("{") else json.dumps(ASKED)),
        "decode refuses what is no message|a message keeps its payload",
    ),
    "negative": Mutant("extra_tokens", lambda right: lambda payload: right(payload) - 1, "extra_tokens is 0 or more"),
    "other text": Mutant("text", lambda right: lambda payload: right(payload).strip("."), "text is Message.text"),
    "as stored": Mutant(
        "encode",
        lambda right: lambda part: right(part._replace(text=None)) if part.payload else right(part),
        "a digest replaces the text",
    ),
    "no notice": Mutant(
        "encode", lambda right: lambda part: right(part._replace(notice=None)), "a notice stands behind"
    ),
    "no label": Mutant("encode", lambda right: lambda part: right(part._replace(label="")), "a label stands before"),
    "long arguments": Mutant(
        "encode", lambda right: lambda part: right(part._replace(arguments=None)), "cut arguments replace"
    ),
    "random": Mutant("encode", _counting, "encode gives the same payload each time"),
    "words left": Mutant("tombstone", _kept, "a tombstone holds no text of its message: 'the bay' is left"),
    "picture left": Mutant(
        "tombstone",
        lambda right: lambda payload, text: json.dumps({**json.loads(right(payload, text)), "audio": {"id": "a1"}}),
        "no unknown part is left in a tombstone",
    ),
    "calls lost": Mutant(
        "tombstone",
        lambda right: (
            lambda payload, text: json.dumps(
                {key: value for key, value in json.loads(right(payload, text)).items() if key != "tool_calls"}
            )
        ),
        "a tombstone keeps ids and names",
    ),
    "answers lost": Mutant(
        "portable", lambda right: lambda payload: right(payload)._replace(pieces=()), "portable keeps calls and results"
    ),
    "ids kept as they are in calls alone": Mutant(
        "adopt",
        lambda right: (
            lambda said: right(
                said._replace(
                    pieces=tuple(
                        piece._replace(id=f"x{piece.id}"[:30]) if isinstance(piece, ToolCall) else piece
                        for piece in said.pieces
                    )
                )
            )
        ),
        "a call and its result have one id",
    ),
    "picture count": Mutant("images", lambda right: lambda payload: right(payload) + 1, "without_images takes 1 of"),
    "pictures stay": Mutant("without_images", lambda _right: lambda payload, _most, _handle: payload, "are left of"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_broken_promise_is_named(name: str) -> None:
    """One codec, one promise; with it kept, the same messages pass."""
    method, broken, says = MUTANTS[name]
    check_codec(OpenAIChat(), *CHAT)
    codec = OpenAIChat()
    setattr(codec, method, broken(getattr(codec, method)))
    with pytest.raises(AssertionError, match=says):
        check_codec(codec, *CHAT)


def test_messages_that_check_too_little_are_refused() -> None:
    """Without a call and its result, pairs were not checked; a class is no codec."""
    with pytest.raises(AssertionError, match="pass a message that calls a tool"):
        check_codec(OpenAIChat(), ASKED)
    with pytest.raises(AssertionError, match="pass a message that answers a call"):
        check_codec(OpenAIChat(), ASKED, LOOKED)
    with pytest.raises(AssertionError, match="a result names a call before it"):
        check_codec(OpenAIChat(), ASKED, TOLD, LOOKED)
    with pytest.raises(AssertionError, match="pass a codec, such as"):
        check_codec(OpenAIChat, *CHAT)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="which has no tag, text, decode"):
        check_codec(object(), *CHAT)  # type: ignore[arg-type]
