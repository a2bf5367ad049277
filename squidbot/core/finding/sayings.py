"""What of a message's payload is searched: all that somebody said or a tool was given, without the structure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from squidbot.core.finding.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["UNSEARCHED", "payload_terms", "said"]

# Categories of messages that no search finds: copies that `history` brought back, and tombstones.
UNSEARCHED = frozenset(("recalled", "forgotten"))
# Keys of the known forms whose values nobody said.
_STRUCTURE = frozenset(
    (
        "role", "type", "id", "tool_call_id", "call_id", "tool_use_id", "signature", "thoughtSignature",
        "encrypted_content", "media_type", "mime_type", "model", "format", "detail", "status", "base64",
        # Of pydantic-ai and LangChain: what they write of a run, of an answer, and into each request.
        "kind", "part_kind", "run_id", "conversation_id", "provider_name", "provider_url", "provider_response_id",
        "model_name", "model_id", "instructions", "identifier", "response_metadata", "usage_metadata",
        # Of llm: what a provider wants back, and files.
        "provider_metadata", "attachment", "attachments",
    )
)  # fmt: skip
# A picture or a sealed thought where it is a text; what holds all of a message elsewhere.
_SEALED = "data"
_ARGUMENTS = frozenset(("arguments", "input", "args"))  # what a tool is given: all of it counts, keys and numbers too


def payload_terms(payload: str) -> set[str]:
    """Return the terms that a payload is found by."""
    return terms("\n".join(said(payload)))


def said(payload: str) -> list[str]:
    """Return the strings that a message's payload says, in order: texts, names, and all that tools are given.

    The forms that squidbot knows need no codec for it, and others lose nothing but their structure. A payload that is
    not JSON is returned as it is.
    """
    try:
        root: object = json.loads(payload)
    except (ValueError, RecursionError):
        return [payload]
    return list(_strings(root))


def _strings(root: object) -> Iterator[str]:
    """Yield the strings of a JSON value in order."""
    rest: list[tuple[object, bool]] = [(root, False)]
    while rest:
        value, given = rest.pop()
        value = _unpacked(value) if given else value
        if isinstance(value, dict):
            rest += reversed(list(_entries(value, given=given)))
        elif isinstance(value, list):
            rest += ((each, given) for each in reversed(value))
        elif isinstance(value, str):
            yield value
        elif given and type(value) in {int, float}:
            yield str(value)


def _entries(value: dict[str, object], *, given: bool) -> Iterator[tuple[object, bool]]:
    for key, each in value.items():
        if given:
            yield key, False
            yield each, True
        elif key not in _STRUCTURE and not (key == _SEALED and isinstance(each, str)):
            yield each, key in _ARGUMENTS


def _unpacked(value: object) -> object:
    """Return the value of a JSON text within arguments; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
