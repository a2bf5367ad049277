"""Tool calls in a model's text, in the forms of models' training."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


# Hermes and Qwen; Mistral; Llama 3 writes a bare object, sometimes after its own mark.
_TAGGED = re.compile(r"<tool_call>\s*+(\{(?:[^<}]++|<(?!tool_call>)|\}(?!\s*+</tool_call>)|(?!))*+\})\s*+</tool_call>")
_LISTED, _MARKED = "[TOOL_CALLS]", "<|python_tag|>"
_OPENERS = ("<tool_call>", _LISTED, _MARKED)


# Each call by its name and its arguments as JSON text.
Calls = tuple[tuple[str, str], ...]


def assistant_message(text: str, calls: Calls) -> dict[str, object]:
    """Return a text and calls as a message in OpenAI's form, with new ids."""
    message: dict[str, object] = {"role": "assistant", "content": text if text or not calls else None}
    if calls:
        message["tool_calls"] = [
            # Mistral's templates take only ids of nine letters and digits.
            {"id": uuid4().hex[:9], "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in calls
        ]
    return message


def read_calls(text: str, names: Collection[str]) -> tuple[str, Calls]:
    """Return the text, and its calls of tools with these names; an unreadable call stays text."""
    found = [_bare(body, names) for body in _TAGGED.findall(text)]
    if found and all(found):
        return _TAGGED.sub("", text).rstrip(), tuple(call for calls in found for call in calls)
    before, mark, after = text.partition(_LISTED)
    if not mark:
        before, mark, after = text.partition(_MARKED)
    calls = _bare(after if mark else text, names)
    return (before.rstrip() if mark else "", calls) if calls else (text, ())


def _bare(text: str, names: Collection[str]) -> Calls:
    """Return the calls in a text that is one object or a list of them; () for anything else."""
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    found = [_named(item, names) for item in (value if isinstance(value, list) else [value])]
    calls = tuple(call for call in found if call is not None)
    return calls if len(calls) == len(found) else ()


def _named(value: object, names: Collection[str]) -> tuple[str, str] | None:
    if not isinstance(value, dict) or value.get("name") not in names:
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        return value["name"], arguments
    return (value["name"], json.dumps(arguments, ensure_ascii=False)) if isinstance(arguments, dict) else None


class ToolCallFilter:
    """Passes text on as it arrives, but holds back a possible tool call until it is decided."""

    def __init__(self, on_text: Callable[[str], None], *, may_call: bool) -> None:
        """Pass pieces to `on_text`; without `may_call` each at once."""
        self._told = on_text
        self._may_call = may_call
        self._text = ""
        self._shown = 0

    def add(self, piece: str) -> None:
        """Take a piece of the text, and pass on all that can be no call."""
        self._text += piece
        self._tell(self._sure() if self._may_call else len(self._text))

    def end(self, text: str) -> None:
        """Pass on the rest, which is text after all."""
        self._text = text
        self._tell(len(text))

    def _tell(self, end: int) -> None:
        if end > self._shown:
            piece, self._shown = self._text[self._shown : end], end
            self._told(piece)

    def _sure(self) -> int:
        """Return how many characters are text in any case."""
        text = self._text
        if text.lstrip()[:1] in {"", "{", "["}:
            return 0
        starts = [at for opener in _OPENERS if (at := text.find(opener)) >= 0]
        partial = [
            len(text) - size for opener in _OPENERS for size in range(1, len(opener)) if text.endswith(opener[:size])
        ]
        return len(text[: min([*starts, *partial, len(text)])].rstrip())
