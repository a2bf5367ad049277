"""Sessions recorded by Claude Code: a JSON object on each line, most of them around one Anthropic message."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_session", "messages"]

_SPEAKERS = ("user", "assistant")


def is_session(values: Sequence[object]) -> bool:
    """Whether the values of a file's lines are events of Claude Code: some wrap a message, none is one."""
    events = [value for value in values if isinstance(value, dict)]
    wrapped = any(event.get("type") in _SPEAKERS and isinstance(event.get("message"), dict) for event in events)
    return wrapped and not any("role" in event for event in events)


def messages(values: Sequence[object]) -> tuple[list[tuple[int, dict[str, object]]], int]:
    """Return a session's messages, each with the place of its first event, and the number of other events.

    An answer is recorded in several events, one for each block, all with the id of its message: they become one message
    again, at the place of the first, even if its tools answered in between. Omitted are side chains (the threads of
    other agents), texts that replace the model's (such as a provider's error), summaries of messages in the file,
    events of other types, and repeated ones. The order is that of the file: the links between events (`parentUuid`)
    fork when tools run in parallel, and are known to be broken in real files.
    """
    found: list[tuple[int, dict[str, object]]] = []
    answers: dict[str, dict[str, object]] = {}
    seen: set[str] = set()
    skipped = 0
    for at, value in enumerate(values):
        event = value if isinstance(value, dict) else {}
        message = _message(event) if _is_new(event, seen) else None
        if message is None or (found and event.get("isCompactSummary") is True):
            skipped += 1
        elif not _joined(answers, message):
            found.append((at, message))
    return found, skipped


def _is_new(event: dict[str, object], seen: set[str]) -> bool:
    identifier = event.get("uuid")
    if not isinstance(identifier, str):
        return True
    if identifier in seen:
        return False
    seen.add(identifier)
    return True


def _message(event: dict[str, object]) -> dict[str, object] | None:
    """Return a new dict with the event's message and time; `None` if it is no message of this conversation."""
    message, speaker = event.get("message"), event.get("type")
    if speaker not in _SPEAKERS or not isinstance(message, dict) or not message.get("content"):
        return None
    elsewhere = event.get("isSidechain") is True or event.get("isVisibleInTranscriptOnly") is True
    instead = event.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
    if elsewhere or instead:
        return None
    return {"role": speaker, **message, "timestamp": event.get("timestamp")}


def _joined(answers: dict[str, dict[str, object]], message: dict[str, object]) -> bool:
    """Whether a message was joined to an earlier part of itself; `answers`: those of the current step, by id."""
    if message["role"] != "assistant":
        # Some proxies give every answer the same id: a user's message ends the step.
        if not _only_results(message["content"]):
            answers.clear()
        return False
    identifier = str(message.get("id"))
    if identifier in answers:
        _join(answers[identifier], message)
        return True
    if message.get("id") is not None:
        answers[identifier] = message
    return False


def _only_results(content: object) -> bool:
    return all(isinstance(block, dict) and block.get("type") == "tool_result" for block in _blocks(content))


def _join(first: dict[str, object], later: dict[str, object]) -> None:
    """Append the blocks of a later event of one answer to the earlier ones; its usage is the newer one."""
    first["content"] = _blocks(first.get("content")) + _blocks(later.get("content"))
    for key in ("usage", "stop_reason", "stop_sequence"):
        if later.get(key) is not None:
            first[key] = later[key]


def _blocks(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []
