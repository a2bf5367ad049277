"""Older files of WorkspaceAI, brought to form 3.0 version by version (W-17).

1.0: one file for all models, exchanges of plain strings (or of objects), often without a word on its version.
2.0: the same with figures for each exchange. 3.0: a file for each model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.fields import PayloadError, kind
from squidbot.codecs.workspaceai import SHELVES, VERSION, Left, ModelFile, read, tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_MODEL", "files_of", "to_version_2", "to_version_3", "version_of"]

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


def files_of(value: object, left: Left, version: str = "") -> list[ModelFile]:
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


def to_version_2(value: object, left: Left) -> Value:
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
    made["current_conversation"] = [_exchange(one, f"current_conversation.{at}", left) for at, one in enumerate(given)]
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


def _exchange(value: object, place: str, left: Left) -> Value:
    """Return an exchange of version 1.0 in version 2.0; a string alone is what the user said."""
    whole: Mapping[str, object] = {"user": value} if isinstance(value, str) else _object(value, place)
    known = {"user", "assistant", "timestamp", "metadata"}
    left.update(f"key {key} of an exchange" for key in whole if key not in known)
    user, assistant = (_said(whole.get(side, ""), f"{place}.{side}") for side in ("user", "assistant"))
    head = dict(_object(whole.get("metadata", {}), f"{place}.metadata"))
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


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PayloadError(f"{place} is {kind(value)}; an exchange is an object, or a string")
    return value
