"""The files of WorkspaceAI, form 3.0: one for each model, with what was said as exchanges (W-04).

An exchange is what the user said, what was answered, one time, and figures. Such files are brought in and written out;
the store is where conversations are kept (C26).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from squidbot.codecs import jsontext
from squidbot.codecs.fields import PayloadError, kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


VERSION: Final = "3.0"
# What a form can't hold, or what of a file is not taken, by its kind.
Omissions: TypeAlias = "Counter[str]"
Shelf = Literal["recent", "summarized"]
SHELVES: tuple[Shelf, ...] = ("recent", "summarized")
# What an exchange's metadata and a summary have, each with what it has to be.
_DETAILS: Final[Mapping[str, tuple[type, ...]]] = {
    "timestamp": (str, int, float),
    "mode": (str,),
    "model": (str,),
    "total_tokens": (int,),
    "complexity_score": (int, float),
    "session": (str,),
}
_FIGURES: Final[Mapping[str, tuple[type, ...]]] = {
    "exchange_count": (int,),
    "total_tokens": (int,),
    "date_range": (str,),
}
_HEAD: Final = ("version", "model", "created", "last_updated", "total_exchanges", "total_tokens", "context_window")
_LISTS: Final = ("current_conversation", "recent_conversations", "summarized_conversations")


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a user said and what was answered; "" where nobody did.

    Attributes:
        time: seconds since 1970, None where unknown.
        details: its metadata of `_DETAILS`, and "user_tokens", "assistant_tokens" where a file says them.
    """

    user: str
    assistant: str
    time: float | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What tells it from others: its words and its time, to the microsecond; 16 hexadecimal digits."""
        when = None if self.time is None else round(self.time * 1e6)
        return _digest(when, self.user, self.assistant)

    def to_json(self) -> dict[str, object]:
        """Return it as a file has it, figures that it has none of counted (W-08)."""
        user, assistant = (
            {"content": text, "tokens": self.details.get(f"{side}_tokens", tokens_of(text))}
            for side, text in (("user", self.user), ("assistant", self.assistant))
        )
        when = {} if self.time is None else {"timestamp": stamp(self.time)}
        made = {**when, "total_tokens": tokens_of(self.user) + tokens_of(self.assistant), **self.details}
        head = {key: made[key] for key in _DETAILS if key in made}
        return {"user": user, "assistant": assistant, "metadata": head}


class ConversationSummary(NamedTuple):
    """What a file keeps of conversations that it no longer has: a summary, its figures, and in which of two lists."""

    shelf: Shelf
    summary: str
    details: Mapping[str, object]

    @property
    def digest(self) -> str:
        """What tells it from others: 16 hexadecimal digits."""
        return _digest(self.shelf, self.summary)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file.

    Attributes:
        model: whose it is; "" where no model was named.
        exchanges: its current conversation, oldest first.
        summaries: oldest first within each list.
        created, last_updated: in ISO 8601, "" where unknown.
        window_tokens: the model's window, None where unknown.
    """

    model: str
    exchanges: tuple[Exchange, ...] = ()
    summaries: tuple[ConversationSummary, ...] = ()
    created: str = ""
    last_updated: str = ""
    window_tokens: int | None = None

    @property
    def digests(self) -> Counter[str]:
        """How often each of its exchanges and summaries stands in it, by digest."""
        return Counter([*(one.digest for one in self.exchanges), *(one.digest for one in self.summaries)])

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        exchanges = [one.to_json() for one in self.exchanges]
        said = sum(tokens_of(one.user) + tokens_of(one.assistant) for one in self.exchanges)
        head: dict[str, object] = {"version": VERSION, "model": self.model, "created": self.created}
        head |= {"last_updated": self.last_updated, "total_exchanges": len(exchanges), "total_tokens": said}
        made: dict[str, object] = {"metadata": {**head, "context_window": self.window_tokens}}
        made["current_conversation"] = exchanges
        for shelf in SHELVES:
            on_it = [one for one in self.summaries if one.shelf == shelf]
            made[f"{shelf}_conversations"] = [{"summary": one.summary, **one.details} for one in on_it]
        return made


def tokens_of(text: str) -> int:
    """Return what these files count for a text: a token for three characters, at least one (W-08)."""
    return max(1, len(text) // 3)


def stamp(time: float) -> str:
    """Return a point in time, in seconds since 1970, in ISO 8601 and UTC, to the microsecond."""
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def write(file: ModelFile) -> str:
    """Return a file's text; what can't stand in UTF-8 is escaped."""
    value = file.to_json()
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"


def read(value: object, left: Omissions) -> ModelFile:
    """Return the file that a JSON value of form 3.0 is; what of it is not taken is counted in `left`.

    Raises:
        ValueError: it is none; the text says at which place and why.
    """
    whole = _object(value, "the file")
    for key in ("metadata", "current_conversation"):
        if key not in whole:
            raise PayloadError(f"{key} is missing; a file of form {VERSION} has it")
    head = _object(whole["metadata"], "metadata")
    if head.get("version") != VERSION:
        raise PayloadError(
            f"metadata.version is {head.get('version')!r:.40}, not {VERSION!r}; read it with squidbot store migrate"
        )
    left.update(f"key {key}" for key in whole if key not in {"metadata", *_LISTS})
    left.update(f"key metadata.{key}" for key in head if key not in _HEAD)
    window = head.get("context_window")
    return ModelFile(
        _text(head.get("model", ""), "metadata.model"),
        tuple(_exchange(one, f"current_conversation.{at}", left) for at, one in _items(whole, "current_conversation")),
        tuple(_summaries_in(whole, left)),
        _text(head.get("created", ""), "metadata.created"),
        _text(head.get("last_updated", ""), "metadata.last_updated"),
        window if isinstance(window, int) and not isinstance(window, bool) else None,
    )


def _summaries_in(whole: Mapping[str, object], left: Omissions) -> Iterator[ConversationSummary]:
    for shelf in SHELVES:
        key = f"{shelf}_conversations"
        for at, one in _items(whole, key) if key in whole else ():
            given = _object(one, f"{key}.{at}")
            details = _known(given, _FIGURES, f"{key}.{at}", left, besides=("summary",))
            yield ConversationSummary(shelf, _text(given.get("summary"), f"{key}.{at}.summary"), details)


def _exchange(value: object, place: str, left: Omissions) -> Exchange:
    whole = _object(value, place)
    left.update(f"key {key} of an exchange" for key in whole if key not in {"user", "assistant", "metadata"})
    details = _known(_object(whole.get("metadata", {}), f"{place}.metadata"), _DETAILS, f"{place}.metadata", left)
    said = []
    for side in ("user", "assistant"):
        one = _object(whole.get(side), f"{place}.{side}")
        said.append(_text(one.get("content"), f"{place}.{side}.content"))
        counted = _known(one, {"tokens": (int,)}, f"{place}.{side}", left, besides=("content",))
        details |= {f"{side}_{key}": number for key, number in counted.items()}
    made = Exchange(said[0], said[1], None, details)
    return _timed(made, left)


def _timed(made: Exchange, left: Omissions) -> Exchange:
    """Return an exchange with the time that its metadata say; what is no time is left out."""
    given = made.details.get("timestamp")
    try:
        return replace(made, time=jsontext.seconds(given or None))
    except ValueError:
        left["times that are none"] += 1
        return replace(made, details={key: value for key, value in made.details.items() if key != "timestamp"})


def _known(
    given: Mapping[str, object],
    wanted: Mapping[str, tuple[type, ...]],
    place: str,
    left: Omissions,
    besides: Iterable[str] = (),
) -> dict[str, object]:
    """Return what of a mapping is known and as it has to be; the rest is counted by its key."""
    made: dict[str, object] = {}
    for key, value in given.items():
        if isinstance(value, wanted.get(key, ())) and not isinstance(value, bool):
            made[key] = value
        elif key not in besides:
            left[f"key {place.rstrip('0123456789').rpartition('.')[2] or 'summary'}.{key}"] += 1
    return made


def _items(whole: Mapping[str, object], key: str) -> Iterator[tuple[int, object]]:
    value = whole[key]
    if not isinstance(value, list):
        raise PayloadError(f"{key} is {kind(value)}; it is a list")
    yield from enumerate(value)


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PayloadError(f"{place} is {kind(value)}; it is an object")
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise PayloadError(f"{place} is {kind(value)}; it is a string")
    return value


def _digest(*said: object) -> str:
    return sha256(jsontext.write(list(said)).encode()).hexdigest()[:16]


# Older files of WorkspaceAI, brought to form 3.0 version by version (W-17).

# The model of exchanges that name none.
DEFAULT_MODEL: Final = "qwen2.5:7b"
VERSIONS: Final = ("1.0", "2.0", VERSION)
Value = dict[str, object]


def version_of(value: object) -> str:
    """Return the version of a file's JSON value: what it says, else "1.0".

    Raises:
        ValueError: it says another one.
    """
    head = value.get("metadata") if isinstance(value, dict) else None
    said = head.get("version", "1.0") if isinstance(head, dict) else "1.0"
    if said not in VERSIONS:
        raise PayloadError(f"metadata.version is {said!r:.40}; known: {', '.join(VERSIONS)}")
    return str(said)


def files_of(value: object, left: Omissions, version: str = "") -> list[ModelFile]:
    """Return what a file of any version is in form 3.0: one for each model, those first that speak first.

    `version` goes before what the file says. What is not taken is counted in `left`.

    Raises:
        ValueError: it is no file of that version; the text says at which place and why.
    """
    version = version or version_of(value)
    if version == "1.0":
        value = to_version_2(value, left)
    if version != VERSION:
        return [read(one, left) for one in to_version_3(value).values()]
    return [read(value, left)]


def to_version_2(value: object, left: Omissions) -> Value:
    """Return a file of version 1.0 in version 2.0: each exchange with its figures, what it says in objects.

    Raises:
        ValueError: it is no list of exchanges, and has none; or one is none.
    """
    whole: Mapping[str, object] = value if isinstance(value, dict) else {"current_conversation": value}
    given = whole.get("current_conversation")
    if not isinstance(given, list):
        missing = "current_conversation is missing" if given is None else f"current_conversation is {kind(given)}"
        raise PayloadError(f"{missing}; a file of version 1.0 has a list of exchanges there, or is one")
    known = {"current_conversation", "metadata", *(f"{shelf}_conversations" for shelf in SHELVES)}
    left.update(f"key {key}" for key in whole if key not in known)
    made: Value = {"metadata": {"version": "2.0", "migrated_from": "1.0"}}
    made["current_conversation"] = [
        _older_exchange(one, f"current_conversation.{at}", left) for at, one in enumerate(given)
    ]
    return {**made, **_summaries(whole)}


def _summaries(whole: Mapping[str, object]) -> Value:
    """Return the summaries of a file of version 1.0 in version 2.0, where a string alone is a summary."""
    made: Value = {}
    for key in (f"{shelf}_conversations" for shelf in SHELVES):
        held = whole.get(key, [])
        if not isinstance(held, list):
            raise PayloadError(f"{key} is {kind(held)}; it is a list")
        made[key] = [{"summary": one} if isinstance(one, str) else one for one in held]
    return made


def to_version_3(value: object) -> dict[str, Value]:
    """Return a file of version 2.0 as files of version 3.0, by model; exchanges that name none are the default's.

    Summaries of a file with several models name none either, and are the default's, too.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, dict) or not isinstance(value.get("current_conversation"), list):
        raise PayloadError("current_conversation is missing, or no list; a file of version 2.0 has it")
    by_model: dict[str, list[object]] = {}
    for one in value["current_conversation"]:
        by_model.setdefault(_model_of(one), []).append(one)
    shortened = {key: value[key] for key in (f"{shelf}_conversations" for shelf in SHELVES) if value.get(key)}
    owner = next(iter(by_model)) if len(by_model) == 1 else DEFAULT_MODEL
    if shortened or not by_model:
        by_model.setdefault(owner, [])
    made = {model: _version_3(model, exchanges) for model, exchanges in by_model.items()}
    made.get(owner, {}).update(shortened)
    return made


def _version_3(model: str, exchanges: list[object]) -> Value:
    return {"metadata": {"version": VERSION, "model": model}, "current_conversation": exchanges}


def _model_of(exchange: object) -> str:
    head = exchange.get("metadata") if isinstance(exchange, dict) else None
    model = head.get("model") if isinstance(head, dict) else None
    return model if isinstance(model, str) and model not in {"", "unknown"} else DEFAULT_MODEL


def _older_exchange(value: object, place: str, left: Omissions) -> Value:
    """Return an exchange of version 1.0 in version 2.0; a string alone is what the user said."""
    whole: Mapping[str, object] = {"user": value} if isinstance(value, str) else _older_object(value, place)
    known = {"user", "assistant", "timestamp", "metadata"}
    left.update(f"key {key} of an exchange" for key in whole if key not in known)
    user, assistant = (_said(whole.get(side, ""), f"{place}.{side}") for side in ("user", "assistant"))
    head = dict(_older_object(whole.get("metadata", {}), f"{place}.metadata"))
    if isinstance(whole.get("timestamp"), str | int | float) and "timestamp" not in head:
        head["timestamp"] = whole["timestamp"]
    return {
        "user": {"content": user, "tokens": tokens_of(user)},
        "assistant": {"content": assistant, "tokens": tokens_of(assistant)},
        "metadata": {"mode": "unknown", "total_tokens": tokens_of(user) + tokens_of(assistant), **head},
    }


def _said(value: object, place: str) -> str:
    content = value.get("content", "") if isinstance(value, dict) else value
    if not isinstance(content, str):
        raise PayloadError(f"{place} is {kind(content)}; it is a string, or an object with one as content")
    return content


def _older_object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PayloadError(f"{place} is {kind(value)}; an exchange is an object, or a string")
    return value
