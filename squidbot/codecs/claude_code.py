"""Sessions that Claude Code recorded: a JSON object on each line, most of them around one Anthropic message."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_session", "messages"]

_SPEAKERS = frozenset({"user", "assistant"})


def is_session(values: Sequence[object]) -> bool:
    """Whether the values of a file's lines are events of Claude Code: some wrap a message, none is one."""
    events = [value for value in values if isinstance(value, dict)]
    wrapped = any(event.get("type") in _SPEAKERS and isinstance(event.get("message"), dict) for event in events)
    return wrapped and not any("role" in event for event in events)


def messages(values: Sequence[object]) -> tuple[list[tuple[int, dict[str, object]]], int]:
    """Return a session's messages, each with the place of its first event, and how many events are none of them.

    An answer is recorded in several events, one for each block, which bear the id of its message: they become one
    message again, at the place of the first. Left out are side chains (the threads of other agents), what Claude Code
    wrote in the model's place (such as a provider's error), events of other types, and repeated ones.
    """
    found: list[tuple[int, dict[str, object]]] = []
    answers: dict[str, dict[str, object]] = {}
    seen: set[str] = set()
    skipped = 0
    for at, value in enumerate(values):
        event = value if isinstance(value, dict) else {}
        message = _message(event, seen)
        if message is None:
            skipped += 1
            continue
        first = answers.get(str(message.get("id"))) if event["type"] == "assistant" else None
        if first is not None:
            _join(first, message)
            continue
        if event["type"] == "assistant" and message.get("id") is not None:
            answers[str(message["id"])] = message
        found.append((at, message))
    return found, skipped


def _message(event: dict[str, object], seen: set[str]) -> dict[str, object] | None:
    """Return a new dict with the event's message and time; None where the event is no message of this conversation."""
    message = event.get("message")
    if event.get("type") not in _SPEAKERS or not isinstance(message, dict) or event.get("isSidechain") is True:
        return None
    if event.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return None
    identifier = event.get("uuid")
    if isinstance(identifier, str):
        if identifier in seen:
            return None
        seen.add(identifier)
    return {**message, "timestamp": event.get("timestamp")}


def _join(first: dict[str, object], later: dict[str, object]) -> None:
    """Put the blocks of a later event of one answer behind those before; its usage is the newer one."""
    first["content"] = _blocks(first.get("content")) + _blocks(later.get("content"))
    for key in ("usage", "stop_reason", "stop_sequence"):
        if later.get(key) is not None:
            first[key] = later[key]


def _blocks(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []
