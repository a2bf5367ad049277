"""Messages in the form `openai.chat`, as the readers of other forms make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CODEC", "answer", "assistant", "call", "content", "picture", "usage", "words"]

CODEC: Final = OpenAIChat()


def call(identifier: str, name: str, arguments: object) -> dict[str, object]:
    """Return a call of a tool; arguments are a string of JSON, or the value that it would hold."""
    given = arguments if isinstance(arguments, str) else jsontext.write({} if arguments is None else arguments)
    return {"id": identifier, "type": "function", "function": {"name": name or "tool", "arguments": given}}


def assistant(said: object, calls: Sequence[dict[str, object]] = (), thoughts: str = "") -> dict[str, object]:
    """Return a message of the model; its thoughts are kept where hosts of OpenAI's form keep them."""
    value: dict[str, object] = {"role": "assistant", "content": said or None}
    if thoughts:
        value["reasoning_content"] = thoughts
    if calls:
        value["tool_calls"] = list(calls)
    return value


def answer(call_id: str, said: object) -> dict[str, object]:
    """Return what a tool answered to a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": said}


def words(said: str) -> dict[str, object]:
    """Return a text as a part of content."""
    return {"type": "text", "text": said}


def picture(mime: str, url: str, name: str = "") -> dict[str, object]:
    """Return a picture or another file, by its URL, as a part of content."""
    if mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    key = "file_data" if url.startswith("data:") else "file_url"
    return {"type": "file", "file": {"filename": name or "file", key: url}}


def content(parts: Sequence[dict[str, object]]) -> object:
    """Return parts as a content: a single text as a string, none as ""."""
    if len(parts) == 1 and parts[0].get("type") == "text":
        return parts[0]["text"]
    return list(parts) if parts else ""


def usage(given: int, answered: int, cached: int = 0) -> dict[str, object]:
    """Return the tokens of a model call; `given` includes the cached ones."""
    return {
        "prompt_tokens": given,
        "completion_tokens": answered,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
