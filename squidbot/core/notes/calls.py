"""A tool call's arguments, read for notes: what it says, which file it is about, and whether it changes that."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from squidbot.core.messages import ToolCall

__all__ = ["CHANGES", "bounded", "changed_file", "is_about_file", "leaves_of", "target_of"]

# Longer texts are read at both ends only: an event must not cost more because a tool printed more.
_READ_CHARS = 60_000
_MOST_PAIRS = 20

_PAIR = re.compile(r"\"(\w{1,40})\": ?\"([^\"\\]{1,300})\"")
_PATH_VALUE = re.compile(r"[^\s'\"<>|*?{}$;&]{1,300}\Z")
_FILE_VALUE = re.compile(r"(?:.*[/\\])?[^/\\]*\.\w{1,8}\Z")
# The words of a tool's name that changes something outside.
CHANGES = re.compile(
    r"(?:^|_|\b)(?:add|apply|book|cancel|change|commit|create|delete|edit|exec|insert|merge|modify|move|patch|pay|post|"
    r"push|put|refund|remove|rename|replace|save|send|set|submit|transfer|update|upload|write)(?:_|\b|[A-Z]|$)",
    re.IGNORECASE,
)


def bounded(text: str) -> str:
    """Return a text, or both ends of one that is too long to read whole."""
    if len(text) <= _READ_CHARS:
        return text
    return text[: _READ_CHARS * 2 // 3] + "\n" + text[-_READ_CHARS // 3 :]


def leaves_of(arguments: str) -> list[tuple[str, str]]:
    """Return (key, value) of the arguments of a call; those that can be made out where they are no JSON object."""
    try:
        value = json.loads(arguments) if len(arguments) <= _READ_CHARS * 4 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        text = bounded(arguments)
        return [*_PAIR.findall(text)[:_MOST_PAIRS], ("", text)]
    texts = [(str(key), leaf if isinstance(leaf, str) else json.dumps(leaf)) for key, leaf in value.items()]
    return [(key, bounded(text)) for key, text in texts]


def target_of(leaves: list[tuple[str, str]]) -> str:
    """Return the file that a call is about, or ""."""
    for key, value in leaves:
        named = "path" in key.lower() or "file" in key.lower()
        if named and _PATH_VALUE.match(value) and _FILE_VALUE.match(value):
            return value
    return ""


def is_about_file(call: ToolCall) -> bool:
    """Return whether a call names a file that it is about."""
    return bool(target_of(leaves_of(call.arguments)))


def changed_file(call: ToolCall) -> str:
    """Return the file that a call changes, by what the tool is called; "" for none."""
    return target_of(leaves_of(call.arguments)) if CHANGES.search(call.name) else ""
