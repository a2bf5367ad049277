"""The check of a Codec."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from squidbot.core.messages import (
    Cost,
    Kind,
    Media,
    Message,
    Part,
    Portable,
    Role,
    ToolCall,
    ToolResult,
    Words,
)
from squidbot.core.ports import SupportsImages
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.core.ports import Codec

__all__ = ["check_codec"]

METHODS: Final = (
    "text", "decode", "to_message", "extra_tokens", "encode", "tombstone", "portable", "adopt",
)  # fmt: skip
NO_MESSAGES: Final = ("", "{", "squid", "null", "7", "NaN", '{"a": 1', "[" * 100_000, "9" * 5_000)
# What stands in the place of each value of a message, one at a time.
WRONG_VALUES: Final[tuple[object, ...]] = (
    None, True, -1, 1e300, "", "\ud800", [], [[]], {}, {"a": []}, [None, 1, "a", {}],
)  # fmt: skip
# What JSON can't hold.
NOT_JSON: Final = (object(), float("nan"), {1, 2}, b"squid")
DIGEST: Final = "A digest of the squid"
CUT: Final = '{"a": 1}'


def check_codec(codec: Codec, *messages: Mapping[str, object]) -> None:
    """Check the promises of `ports.Codec`, and of `ports.SupportsImages` if it has those methods.

    Pass a codec, and messages of your host as `Codec.to_message` gets them: a conversation in its order, with a call of
    a tool, its result, and each kind of content that your host knows. The more kinds, the more is checked.

    Promised: a stored payload gives the same message each time, and each result answers a call of a message before it;
    what is sent for a message says what the message says, whole or cut down; a tombstone holds no text of the message;
    a conversation goes to another provider and back with its words, calls and results; what is no message is a
    ValueError with a text, and no payload raises anything else.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    given = f"pass a codec, such as check_codec(Mine(), ...): got {codec!r:.80}"
    assert not isinstance(codec, type), given
    missing = [name for name in ("tag", *METHODS) if not hasattr(codec, name)]
    assert not missing, f"{given}, which has no {', '.join(missing)}"
    assert codec.tag, "a codec's tag is not empty: it is stored beside each payload"
    assert isinstance(codec.tag, str), f"a codec's tag is a str, not {codec.tag!r:.80}"
    said = [_checks_message(codec, dict(message)) for message in messages]
    _checks_pairs(said)
    for message in said:
        _checks_sent(codec, message)
        _checks_tombstone(codec, message)
        _checks_crossing(codec, message)
        if isinstance(codec, SupportsImages):
            _checks_images(codec, message)
        for payload in (*_mutants(message.payload), *_torn(message.payload)):
            _checks_hostile(codec, payload)
    _checks_made(codec)
    _checks_adopted(codec)
    _checks_refused(codec, [dict(message) for message in messages])


# -- one message, and its pairs --------------------------------------------------------------------------------


def _checks_message(codec: Codec, given: dict[str, object]) -> Message:
    """Check what is made of a host's own dict, and return it."""
    kept = deepcopy(given)
    message = codec.to_message(given)
    shown = _shown(message.payload)
    assert given == kept, f"to_message changes the host's dict: {shown}"
    assert codec.to_message(given) == message, f"to_message gives the same message each time: {shown}"
    timed = codec.to_message(given, 5.0)
    assert timed.time == 5.0, f"the time that to_message gets overrides the dict's: got {timed.time} for {shown}"
    assert message.codec == codec.tag, f"a message names its codec, {codec.tag!r}: got {message.codec!r}"
    _checks_json(message.payload, "a payload")
    _checks_index(codec, message)
    again = codec.decode(message.payload)
    assert again == _at(message, again.time), f"decode gives what to_message gave: got {again!r:.200} for {shown}"
    assert codec.text(message.payload) == message.text, f"text is Message.text: got {codec.text(message.payload)!r:.80}"
    return message


def _at(message: Message, time: float | None) -> Message:
    """Return a message with another time: a host may know the time otherwise than by the payload."""
    return Message(**{name: getattr(message, name) for name in message.__slots__} | {"time": time})


def _checks_json(payload: str, what: str) -> object:
    """Check that a payload is JSON text that a store and a provider take, and return its value."""
    assert isinstance(payload, str), f"{what} is a str, not {payload!r:.80}"
    try:
        payload.encode()
        return cast("object", json.loads(payload))
    except ValueError as error:
        raise AssertionError(f"{what} is JSON text in UTF-8, not {payload!r:.200}: {error}") from error


def _checks_index(codec: Codec, message: Message) -> None:
    """Check the values of a message's index."""
    shown = _shown(message.payload)
    assert message.role in get_args(Role), f"a role is one of {', '.join(get_args(Role))}: got {message.role!r:.40}"
    assert isinstance(message.text, str), f"a text is a str: got {message.text!r:.80} for {shown}"
    for call in message.calls:
        texts = (call.id, call.name, call.arguments)
        assert all(isinstance(text, str) for text in texts), f"id, name and arguments of a call are str: got {call}"
        assert call.id, f"a call has an id, which its result names: got {call} for {shown}"
        assert call.name, f"a call has the name of a tool: got {call} for {shown}"
    assert all(isinstance(one, str) and one for one in message.results), f"results are ids: got {message.results}"
    assert not message.results or message.role == "tool", f"who answers a call is a tool: {message.role} for {shown}"
    tokens = codec.extra_tokens(message.payload)
    assert isinstance(tokens, int), f"extra_tokens is an int: got {tokens!r:.40}"
    assert tokens >= 0, f"extra_tokens is 0 or more: got {tokens} for {shown}"
    known = message.extra_tokens
    assert known in {None, tokens}, f"Message.extra_tokens is what extra_tokens returns: {known}, {tokens} for {shown}"


def _checks_pairs(said: Sequence[Message]) -> None:
    """Check that calls and results find each other in a conversation."""
    assert any(message.calls for message in said), "pass a message that calls a tool: none of these has calls"
    assert any(message.results for message in said), "pass a message that answers a call: none of these has results"
    called: set[str] = set()
    for message in said:
        alone = {*message.results} - called
        assert not alone, f"a result names a call before it: {sorted(alone)} are not among {sorted(called)}"
        called.update(call.id for call in message.calls)


# -- what is sent, and what is left of it ----------------------------------------------------------------------


def _part(message: Message, **more: object) -> Part:
    calls = tuple(call.id for call in message.calls)
    part = Part(Kind.MESSAGE, message.role, Cost(1, 1), 0, 0, message.payload, message.codec)
    return part._replace(call_ids=calls, result_ids=message.results, **more)  # type: ignore[arg-type]


def _sent(codec: Codec, part: Part) -> list[Message]:
    """Return the messages that are sent for a part, decoded."""
    payload = codec.encode(part)
    assert codec.encode(part) == payload, f"encode gives the same payload each time: {_shown(payload)}"
    return _read(codec, payload)


def _read(codec: Codec, payload: str) -> list[Message]:
    """Return a message, or a list of messages, decoded."""
    value = _checks_json(payload, "a payload to send")
    values = value if isinstance(value, list) else [value]
    return [codec.decode(json.dumps(one)) for one in values]


def _pairs(messages: Sequence[Message]) -> tuple[list[tuple[str, str]], list[str]]:
    calls = [(call.id, call.name) for message in messages for call in message.calls]
    return calls, [name for message in messages for name in message.results]


def _words(messages: Sequence[Message]) -> str:
    return "".join("".join(message.text.split()) for message in messages)


def _checks_sent(codec: Codec, message: Message) -> None:
    """Check what is sent for a message: whole, and with each thing that a request changes of it."""
    shown, whole = _shown(message.payload), _sent(codec, _part(message))
    assert _words(whole) == _words([message]), f"what is sent says what the message says: {whole!r:.200} for {shown}"
    given = [call.arguments for one in whole for call in one.calls]
    assert given == [call.arguments for call in message.calls], f"arguments are sent as they came: {given} for {shown}"
    slim = _sent(codec, _part(message, text=DIGEST)._replace(kind=Kind.SLIMMED))
    assert _words(slim) == _words([_texted(message, DIGEST)]), f"a digest replaces the text: {slim!r:.200} for {shown}"
    cut = _sent(codec, _part(message, arguments=(CUT,) * len(message.calls))._replace(kind=Kind.SLIMMED))
    found = [json.loads(call.arguments) for one in cut for call in one.calls]
    assert found == [json.loads(CUT)] * len(message.calls), f"cut arguments replace a call's: {found} for {shown}"
    bare = _sent(codec, _part(message, drop_thinking=True))
    for changed, sent in (("whole", whole), ("slimmed", slim), ("cut", cut), ("without thinking", bare)):
        pairs = _pairs(sent)
        assert pairs == _pairs([message]), f"calls and results stay where a message is {changed}: {pairs} for {shown}"
    if message.role == "user":
        words = _words(_sent(codec, _part(message, notice="It is late.", label="[from Ann]")))
        assert words.startswith("[fromAnn]"), f"a label stands before the text: {words[:80]!r} for {shown}"
        behind = words.partition(_words([message]))[2]
        assert "Itislate." in behind, f"a notice stands behind the text: {words[-80:]!r} for {shown}"


def _texted(message: Message, text: str) -> Message:
    return Message(message.role, text, message.payload, message.codec)


def _checks_made(codec: Codec) -> None:
    """Check the parts that squidbot makes itself."""
    for text in ("Notes on 9 messages.", *ODD_TEXTS):
        (sent,) = _sent(codec, Part(Kind.SUMMARY, "user", Cost(1, 1), 0, 9, text=text, summary_id="s-1"))
        read = (sent.role, sent.calls, sent.results)
        assert read == ("user", (), ()), f"a note is in the role user, and calls nothing: got {read}"
        assert sent.text == _joined(text), f"a note is its text: got {sent.text!r:.80} for {text!r:.80}"


def _joined(text: str) -> str:
    """Return a text as JSON text keeps it: two surrogates that spell a character are that character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _checks_tombstone(codec: Codec, message: Message) -> None:
    """Check what is left of a forgotten message."""
    shown, text = _shown(message.payload), "[m3 was forgotten on request]"
    payload = codec.tombstone(message.payload, text)
    value = _checks_json(payload, "a tombstone")
    left = codec.decode(payload)
    assert left.text == text, f"a tombstone's text is the one that it got: got {left.text!r:.80} for {shown}"
    assert left.role == message.role, f"a tombstone has the role of its message: got {left.role} for {shown}"
    pairs = _pairs([left])
    assert pairs == _pairs([message]), f"a tombstone keeps ids and names of calls and results: {pairs} for {shown}"
    given = [call.arguments for call in left.calls]
    assert not any(json.loads(one or "{}") for one in given), f"a tombstone has no arguments: {given} for {shown}"
    assert codec.extra_tokens(payload) == 0, f"no picture and no unknown part is left in a tombstone: {_shown(payload)}"
    names = {text, *(name for call in message.calls for name in call[:2]), *message.results}
    said = {one for one in _strings(json.loads(message.payload)) if _is_prose(one)}
    for call in message.calls:
        said.update(one for one in _strings(_value(call.arguments)) if _is_prose(one))
    kept = sorted((said - names) & {*_strings(value)})
    assert not kept, f"a tombstone holds no text of its message: {kept[0]!r:.80} is left of {shown}"
    assert codec.tombstone(payload, text) == payload, f"a tombstone of a tombstone is the same: {_shown(payload)}"


def _value(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except ValueError:
        return text


def _strings(value: object) -> Iterator[str]:
    """Yield each string of a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    for inner in value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else ():
        yield from _strings(inner)


def _is_prose(text: str) -> bool:
    """Return whether a string is something that somebody said, rather than a type, a name or a time."""
    return sum(len(word) > 1 and word.strip(".,:;!?").isalpha() for word in text.split()) > 1


# -- other providers -------------------------------------------------------------------------------------------


def _checks_crossing(codec: Codec, message: Message) -> None:
    """Check that a message goes to another provider, and that the codec reads its own portable content."""
    shown, said = _shown(message.payload), codec.portable(message.payload)
    assert codec.portable(message.payload) == said, f"portable gives the same each time: {shown}"
    assert said.role == message.role, f"portable keeps the role: got {said.role} for {shown}"
    calls = [(piece.id, piece.name) for piece in said.pieces if isinstance(piece, ToolCall)]
    results = [piece.call_id for piece in said.pieces if isinstance(piece, ToolResult)]
    assert (calls, results) == _pairs([message]), f"portable keeps calls and results: {calls}, {results} for {shown}"
    payload = codec.adopt(said)
    assert codec.adopt(said) == payload, f"equal content is adopted as an equal payload: {shown}"
    back = _read(codec, payload)
    found = [(call.name, _value(call.arguments)) for one in back for call in one.calls]
    due = [(call.name, _value(call.arguments)) for call in message.calls]
    assert found == due, f"adopt keeps calls with their arguments: {found} for {shown}"
    assert len(_pairs(back)[1]) == len(results), f"adopt keeps results: {back!r:.200} for {shown}"


def _checks_adopted(codec: Codec) -> None:
    """Check what is sent for messages of other forms, with ids that other providers make."""
    for call_id in ("c1", "functions.look:0", "call with spaces " * 5, "toolu_" + "x" * 60):
        words, call = Words("I look."), ToolCall(call_id, "look", '{"at": [1, "\N{SQUID}"]}')
        asked = _read(codec, codec.adopt(Portable("assistant", (words, call, call._replace(id="c2")))))
        answers = (ToolResult(call_id, (Words("A squid."),)), ToolResult("c2", (Words("Gone."),), failed=True))
        told = _read(codec, codec.adopt(Portable("tool", answers)))
        ids, names = [one for one, _ in _pairs(asked)[0]], [name for _, name in _pairs(asked)[0]]
        assert names == ["look", "look"], f"each call of another form is one: got {names}"
        assert ids == _pairs(told)[1], f"a call and its result have one id, whatever it was: {ids}, {_pairs(told)[1]}"
        assert len({*ids}) == 2, f"two calls have two ids: got {ids}"
        found = _value(asked[-1].calls[-1].arguments)
        assert found == {"at": [1, "\N{SQUID}"]}, f"arguments of another form stay: got {found!r:.80}"
        read = _words(asked), _words(told).replace("[error]", "")
        assert read == ("Ilook.", "Asquid.Gone."), f"words of another form stay, in their order: got {read}"
    files = Media("image/png", "aGk="), Media("application/pdf", "aGk=", "", "a.pdf")
    shown = Portable("user", (Words("Look:"), *files))
    for said in (shown, Portable("system", (Words("Be kind."),)), Portable("user", ()), Portable("assistant", ())):
        assert codec.adopt(said) == codec.adopt(said), f"equal content is adopted as an equal payload: {said}"
        made = _read(codec, codec.adopt(said))
        assert all(one.role == said.role for one in made), f"a role of another form stays: {made!r:.200} for {said}"
        due = "".join("".join(piece.text.split()) for piece in said.pieces if isinstance(piece, Words))
        assert due in _words(made), f"words of another form stay: {made!r:.200}"


def _checks_images(codec: Codec, message: Message) -> None:
    """Check that pictures of a message can go, and nothing else goes with them."""
    pictures, payload, shown = cast("SupportsImages", codec), message.payload, _shown(message.payload)
    count = pictures.images(payload)
    assert isinstance(count, int), f"images is an int: got {count!r:.40}"
    assert count >= 0, f"images is 0 or more: got {count} for {shown}"
    for most in range(1, count + 1):
        left = pictures.without_images(payload, most, "m7")
        _checks_json(left, "a payload without pictures")
        number = pictures.images(left)
        assert number == count - most, f"without_images takes {most} of {count} pictures: {number} are left of {shown}"
        read = codec.decode(left)
        assert "m7" in read.text, f"a text with the message's handle replaces a picture: {read.text!r:.80}"
        gone = [word for word in message.text.split() if word not in read.text]
        assert not gone, f"all words stay where pictures go: {gone} of {shown}"
        told = (read.role, _pairs([read]))
        assert told == (message.role, _pairs([message])), f"all but the pictures stays: {told} for {shown}"


# -- what is no message ----------------------------------------------------------------------------------------


def _checks_refused(codec: Codec, messages: Sequence[dict[str, object]]) -> None:
    """Check that what is no message is refused, in words."""
    for payload in NO_MESSAGES:
        for name, more in (("decode", ()), ("portable", ()), ("tombstone", ("Gone.",))):
            assert _refuses(codec, name, payload, *more), f"{name} refuses what is no message: {_shown(payload)}"
        _checks_hostile(codec, payload)
    for message in messages:
        for key in message:
            for wrong in (*WRONG_VALUES, *NOT_JSON):
                _checks_dict(codec, {**message, key: wrong}, key)
            _checks_dict(codec, {name: value for name, value in message.items() if name != key}, key)
        for wrong in NOT_JSON:
            _checks_dict(codec, {**message, "squidbot": wrong}, "squidbot")
    _checks_dict(codec, {}, "")


def _checks_dict(codec: Codec, given: dict[str, object], key: str) -> None:
    """Check that a dict becomes a message that can be stored, or is refused."""
    try:
        message = codec.to_message(given)
    except ValueError as error:
        if not str(error):
            raise AssertionError(f"the ValueError of to_message says why: it is empty for {given!r:.200}") from error
        return
    except Exception as error:
        why = f"to_message raises a ValueError, no {error!r:.100}, for {key!r} of {given!r:.200}"
        raise AssertionError(why) from error
    _checks_json(message.payload, "a payload")


def _checks_hostile(codec: Codec, payload: str) -> None:
    """Check that a payload, whatever it is, raises ValueError or nothing, and is read the same each time."""
    shown = _shown(payload)
    if not _refuses(codec, "decode", payload):
        message = codec.decode(payload)
        assert codec.decode(payload) == message, f"decode gives the same message each time: {shown}"
        assert message.payload == payload, f"a message keeps its payload: got {_shown(message.payload)} for {shown}"
        _checks_index(codec, message)
        assert codec.text(payload) == message.text, f"text is Message.text: {codec.text(payload)!r:.80} for {shown}"
    for name, more in (("text", ()), ("extra_tokens", ()), ("portable", ()), ("tombstone", ("Gone.",))):
        _refuses(codec, name, payload, *more)
    if isinstance(codec, SupportsImages):
        try:
            codec.images(payload)
        except Exception as error:
            raise AssertionError(f"images never raises: got {error!r:.100} for {shown}") from error
        _refuses(codec, "without_images", payload, codec.images(payload), "m7")


def _refuses(codec: object, name: str, *given: object) -> bool:
    """Return whether a method raises a ValueError with a text.

    Raises:
        AssertionError: it raises something else.
    """
    method: Callable[..., object] = getattr(codec, name)
    try:
        method(*given)
    except ValueError as error:
        if not str(error):
            raise AssertionError(f"the ValueError of {name} says why: it is empty for {_shown(given[0])}") from error
        return True
    except Exception as error:
        raise AssertionError(f"{name} raises a ValueError, no {error!r:.100}, for {_shown(given[0])}") from error
    return False


def _mutants(payload: str) -> Iterator[str]:
    """Yield a payload with each of its values replaced with a wrong one, and with each key taken out."""
    value = json.loads(payload)
    for place in [*_places(value)]:
        for wrong in WRONG_VALUES:
            yield json.dumps(_changed(value, place, wrong))
        if place and isinstance(place[-1], str):
            yield json.dumps(_changed(value, place, _GONE))


_GONE: Final = object()


def _places(value: object, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each value within a JSON value."""
    yield before
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*before, key))


def _changed(value: object, place: Sequence[str | int], wrong: object) -> object:
    """Return a JSON value with another value at a place, or without it."""
    if not place:
        return wrong
    changed, (*way, last) = deepcopy(value), place
    inner: Any = changed
    for key in way:
        inner = inner[key]
    if wrong is _GONE:
        del inner[last]
    else:
        inner[last] = wrong
    return changed


def _torn(payload: str) -> Iterator[str]:
    """Yield the beginnings of a payload, as a disk that is full leaves them."""
    yield from (payload[: len(payload) * part // 8] for part in range(8))


def _shown(payload: object) -> str:
    return ascii(payload)[:200]
