"""The files of WorkspaceAI, form 3.0: one for each model, with conversations as exchanges; and its older files.

An exchange is a user's text, its answer, one time, and figures. Such files are imported and exported; conversations
live in the store.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from squidbot.codecs import jsontext
from squidbot.codecs.fields import PayloadError, as_text, kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


VERSION: Final = "3.0"
# What a form can't hold, or what a file loses on import, by its kind.
Omissions: TypeAlias = "Counter[str]"
SummaryList = Literal["recent", "summarized"]
SUMMARY_LISTS: tuple[SummaryList, ...] = ("recent", "summarized")
# The fields of an exchange's metadata and of a summary, each with its types.
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
    "session": (str,),
    "first_exchange": (str,),
}
_HEAD: Final = ("version", "model", "created", "last_updated", "total_exchanges", "total_tokens", "context_window")
# Larger numbers in a file's metadata are no counts.
MOST_NUMBER: Final = 10**12
_LISTS: Final = ("current_conversation", "recent_conversations", "summarized_conversations")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's text and its answer; "" for a missing one.

    Attributes:
        time: seconds since 1970, `None` if unknown.
        details: its metadata of `_DETAILS`, and "user_tokens", "assistant_tokens" if a file has them.
    """

    user: str
    assistant: str
    time: float | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Its identity: its words and its time, as a file has it; 16 hexadecimal digits."""
        return _digest(None if self.time is None else stamp(self.time), self.user, self.assistant)

    def to_json(self) -> dict[str, object]:
        """Return it in the form of a file; missing figures are counted."""
        user, assistant = (
            {"content": text, "tokens": self.details.get(f"{side}_tokens", tokens_of(text))}
            for side, text in (("user", self.user), ("assistant", self.assistant))
        )
        when = {} if self.time is None else {"timestamp": stamp(self.time)}
        details = {**when, "total_tokens": tokens_of(self.user) + tokens_of(self.assistant), **self.details}
        metadata = {key: details[key] for key in _DETAILS if key in details}
        return {"user": user, "assistant": assistant, "metadata": metadata}


class ConversationSummary(NamedTuple):
    """A file's record of earlier exchanges: a summary, its figures, and which of two lists holds it.

    Attributes:
        details: its figures of `_FIGURES`. A note on exchanges of its own file has "first_exchange", the digest of the
            first one: "exchange_count" of them follow each other there.
    """

    list_name: SummaryList
    summary: str
    details: Mapping[str, object]

    @property
    def digest(self) -> str:
        """Its identity: 16 hexadecimal digits."""
        return _digest(self.list_name, self.summary)

    @property
    def is_note(self) -> bool:
        """Whether it is a note on exchanges of its own file: it can be made again from them."""
        return "first_exchange" in self.details


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file.

    Attributes:
        model: its model; "" if unnamed.
        exchanges: its current conversation, oldest first.
        summaries: oldest first within each list.
        created, last_updated: in ISO 8601, "" where unknown.
        window_tokens: the model's window, `None` if unknown.
        total_exchanges, total_tokens: of all that was ever said, also of what is no longer in the file; `None` counts
            its exchanges.
    """

    model: str
    exchanges: tuple[Exchange, ...] = ()
    summaries: tuple[ConversationSummary, ...] = ()
    created: str = ""
    last_updated: str = ""
    window_tokens: int | None = None
    total_exchanges: int | None = None
    total_tokens: int | None = None

    @property
    def digests(self) -> Counter[str]:
        """How often each of its exchanges and summaries occurs, by digest; notes on its own exchanges aside."""
        summaries = (each.digest for each in self.summaries if not each.is_note)
        return Counter([*(each.digest for each in self.exchanges), *summaries])

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        exchanges = self.exchanges
        metadata: dict[str, object] = {"version": VERSION, "model": self.model, "created": self.created}
        total, tokens = self.total_exchanges, self.total_tokens
        metadata |= {
            "last_updated": self.last_updated,
            "total_exchanges": len(exchanges) if total is None else total,
            "total_tokens": tokens_in(exchanges) if tokens is None else tokens,
            "context_window": self.window_tokens,
        }
        value: dict[str, object] = {"metadata": metadata}
        value["current_conversation"] = [exchange.to_json() for exchange in exchanges]
        for list_name in SUMMARY_LISTS:
            summaries = [summary for summary in self.summaries if summary.list_name == list_name]
            value[f"{list_name}_conversations"] = [{"summary": each.summary, **each.details} for each in summaries]
        return value


def tokens_of(text: str) -> int:
    """Return these files' count for a text: a token for three characters, at least one."""
    return max(1, len(text) // 3)


def tokens_in(exchanges: Iterable[Exchange]) -> int:
    """Return these files' count for exchanges."""
    return sum(tokens_of(each.user) + tokens_of(each.assistant) for each in exchanges)


def stamp(time: float) -> str:
    """Return a point in time, in seconds since 1970, in ISO 8601 and UTC, to the microsecond."""
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def write(file: ModelFile) -> str:
    """Return a file's text; characters outside UTF-8 are escaped."""
    value = file.to_json()
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return f"{text}\n"


def read(value: object, left: Omissions) -> ModelFile:
    """Return the file in a JSON value of form 3.0; `left` counts what is not taken.

    Raises:
        ValueError: it is not one; the text gives place and reason.
    """
    whole = _object(value, "the file")
    head = _head(whole)
    left.update(f"key {key}" for key in whole if key not in {"metadata", *_LISTS})
    left.update(f"key metadata.{key}" for key in head if key not in _HEAD)
    model = as_text(head.get("model", ""), "metadata.model")
    created, updated = (_time(head, key, left) for key in ("created", "last_updated"))
    window, total, tokens = (_number(head, key, left) for key in ("context_window", "total_exchanges", "total_tokens"))
    exchanges = (
        _exchange(item, f"current_conversation.{at}", left)
        for at, item in enumerate(_list(whole["current_conversation"], "current_conversation"))
    )
    summaries = (
        _summary(item, list_name, f"{list_name}_conversations.{at}", left)
        for list_name in SUMMARY_LISTS
        for at, item in enumerate(_list(whole.get(f"{list_name}_conversations", []), f"{list_name}_conversations"))
    )
    return ModelFile(model, tuple(exchanges), tuple(summaries), created, updated, window, total, tokens)


def _time(head: Mapping[str, object], key: str, left: Omissions) -> str:
    """Return a point in time of a file's metadata as it stands there; "" for none, or for a text that is none."""
    text = as_text(head.get(key, ""), f"metadata.{key}")
    try:
        jsontext.seconds(text or None)
    except ValueError:
        left["times that are none"] += 1
        return ""
    return text


def _number(head: Mapping[str, object], key: str, left: Omissions) -> int | None:
    """Return a count of a file's metadata; `None` for none, or for a value that is none."""
    value = head.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_NUMBER):
        return value
    left[f"key metadata.{key}"] += 1
    return None


def _head(whole: Mapping[str, object]) -> Mapping[str, object]:
    for key in ("metadata", "current_conversation"):
        if key not in whole:
            raise PayloadError(f"{key} is missing; a file of form {VERSION} has it")
    head = _object(whole["metadata"], "metadata")
    if head.get("version") != VERSION:
        raise PayloadError(
            f"metadata.version is {head.get('version')!r:.40}, not {VERSION!r}; "
            "read it with squidbot store import-older"
        )
    return head


def _summary(value: object, list_name: SummaryList, place: str, left: Omissions) -> ConversationSummary:
    given = _object(value, place)
    details = _known(given, _FIGURES, place, left, besides=("summary",))
    return ConversationSummary(list_name, as_text(given.get("summary"), f"{place}.summary"), details)


def _exchange(value: object, place: str, left: Omissions) -> Exchange:
    whole = _object(value, place)
    left.update(f"key {key} of an exchange" for key in whole if key not in {"user", "assistant", "metadata"})
    details = _known(_object(whole.get("metadata", {}), f"{place}.metadata"), _DETAILS, f"{place}.metadata", left)
    texts = []
    for side in ("user", "assistant"):
        part = _object(whole.get(side), f"{place}.{side}")
        texts.append(as_text(part.get("content"), f"{place}.{side}.content"))
        counted = _known(part, {"tokens": (int,)}, f"{place}.{side}", left, besides=("content",))
        details |= {f"{side}_{key}": number for key, number in counted.items()}
    time = None
    try:
        time = jsontext.seconds(details.get("timestamp") or None)
    except ValueError:
        left["times that are none"] += 1
        del details["timestamp"]
    return Exchange(texts[0], texts[1], time, details)


def _known(
    given: Mapping[str, object],
    wanted: Mapping[str, tuple[type, ...]],
    place: str,
    left: Omissions,
    besides: Iterable[str] = (),
) -> dict[str, object]:
    """Return the known entries of a mapping that have the right type; count the rest by key."""
    known: dict[str, object] = {}
    for key, value in given.items():
        if isinstance(value, wanted.get(key, ())) and not isinstance(value, bool):
            known[key] = value
        elif key not in besides:
            left[f"key {place.rstrip('0123456789').rpartition('.')[2] or 'summary'}.{key}"] += 1
    return known


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise PayloadError(f"{place} is {kind(value)}; expected a list")
    return value


def _object(value: object, place: str, expected: str = "expected an object") -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PayloadError(f"{place} is {kind(value)}; {expected}")
    return value


def _digest(*values: object) -> str:
    return sha256(jsontext.write(list(values)).encode()).hexdigest()[:16]


# Older files of WorkspaceAI, brought to form 3.0 version by version.

# The model of exchanges that name none.
DEFAULT_MODEL: Final = "qwen2.5:7b"
VERSIONS: Final = ("1.0", "2.0", VERSION)
Value = dict[str, object]


def version_of(value: object) -> str:
    """Return the version of a file's JSON value: its own, else "1.0".

    Raises:
        ValueError: it names an unknown one.
    """
    head = value.get("metadata") if isinstance(value, dict) else None
    version = head.get("version", "1.0") if isinstance(head, dict) else "1.0"
    if version not in VERSIONS:
        raise PayloadError(f"metadata.version is {version!r:.40}; known: {', '.join(VERSIONS)}")
    return str(version)


def files_of(value: object, left: Omissions, version: str = "") -> list[ModelFile]:
    """Return a file of any version in form 3.0: one file for each model, in the order of their first exchange.

    `version` overrides the file's own. `left` counts what is not taken.

    Raises:
        ValueError: it is no file of that version; the text gives place and reason.
    """
    version = version or version_of(value)
    if version == "1.0":
        value = to_version_2(value, left)
    if version != VERSION:
        return [read(file, left) for file in to_version_3(value).values()]
    return [read(value, left)]


def to_version_2(value: object, left: Omissions) -> Value:
    """Return a file of version 1.0 in version 2.0: each exchange with its figures, its texts in objects.

    Raises:
        ValueError: it is no list of exchanges, and has none; or one is invalid.
    """
    whole: Mapping[str, object] = value if isinstance(value, dict) else {"current_conversation": value}
    given = whole.get("current_conversation")
    if not isinstance(given, list):
        missing = "current_conversation is missing" if given is None else f"current_conversation is {kind(given)}"
        raise PayloadError(f"{missing}; a file of version 1.0 has a list of exchanges there, or is one")
    left.update(f"key {key}" for key in whole if key not in {"metadata", *_LISTS})
    exchanges = [_older_exchange(item, f"current_conversation.{at}", left) for at, item in enumerate(given)]
    second: Value = {"metadata": {"version": "2.0", "migrated_from": "1.0"}, "current_conversation": exchanges}
    for key in _LISTS[1:]:
        items = _list(whole.get(key, []), key)
        second[key] = [{"summary": item} if isinstance(item, str) else item for item in items]
    return second


def to_version_3(value: object) -> dict[str, Value]:
    """Return a file of version 2.0 as files of version 3.0, by model; exchanges that name none are the default's.

    If a file has several models, its summaries name none and are the default's, too.

    Raises:
        ValueError: it is not such a file.
    """
    if not isinstance(value, dict) or not isinstance(value.get("current_conversation"), list):
        raise PayloadError("current_conversation is missing or not a list; a file of version 2.0 has it")
    by_model: dict[str, list[object]] = {}
    for exchange in value["current_conversation"]:
        by_model.setdefault(_model_of(exchange), []).append(exchange)
    summaries = {key: value[key] for key in _LISTS[1:] if value.get(key)}
    owner = next(iter(by_model)) if len(by_model) == 1 else DEFAULT_MODEL
    if summaries or not by_model:
        by_model.setdefault(owner, [])
    files: dict[str, Value] = {
        model: {"metadata": {"version": VERSION, "model": model}, "current_conversation": exchanges}
        for model, exchanges in by_model.items()
    }
    files.get(owner, {}).update(summaries)
    return files


def _model_of(exchange: object) -> str:
    head = exchange.get("metadata") if isinstance(exchange, dict) else None
    model = head.get("model") if isinstance(head, dict) else None
    return model if isinstance(model, str) and model not in {"", "unknown"} else DEFAULT_MODEL


def _older_exchange(value: object, place: str, left: Omissions) -> Value:
    """Return an exchange of version 1.0 in version 2.0; a lone string is the user's text."""
    expected = "an exchange is an object, or a string"
    whole: Mapping[str, object] = {"user": value} if isinstance(value, str) else _object(value, place, expected)
    known = {"user", "assistant", "timestamp", "metadata"}
    left.update(f"key {key} of an exchange" for key in whole if key not in known)
    sides: Value = {}
    total = 0
    for side in ("user", "assistant"):
        part = whole.get(side, "")
        content = part.get("content", "") if isinstance(part, dict) else part
        text = as_text(content, f"{place}.{side}", "expected a string, or an object with one as content")
        sides[side] = {"content": text, "tokens": tokens_of(text)}
        total += tokens_of(text)
    head = dict(_object(whole.get("metadata", {}), f"{place}.metadata", expected))
    if isinstance(whole.get("timestamp"), str | int | float) and "timestamp" not in head:
        head["timestamp"] = whole["timestamp"]
    return {**sides, "metadata": {"mode": "unknown", "total_tokens": total, **head}}
