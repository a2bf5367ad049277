"""Messages as OpenAI writes them -> as Ollama does, and back.

Ollama's differ in four ways: arguments of a tool call are an object and not its text, a tool's result names the tool,
pictures are base64 beside the text, and reasoning is `thinking`.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["from_ollama", "to_ollama"]

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING = ("reasoning", "reasoning_content")
# Where arguments are no JSON object, which Ollama would refuse, their text stands under this key.
TEXT_KEY = "input"


def to_ollama(messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return messages in Ollama's form.

    Raises:
        LLMError: one of them has a part that Ollama has no form for; the text says which.
    """
    names: dict[str, str] = {}
    return [_message(message, f"messages[{at}]", names) for at, message in enumerate(messages)]


def from_ollama(content: str, thinking: str, calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the assistant's message as OpenAI writes it. A call without an id, as of servers before 2025, gets one.

    Raises:
        LLMError: a call names no function, or its arguments are no object.
    """
    message: dict[str, object] = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning"] = thinking
    if calls:
        message["tool_calls"] = [_call_back(call) for call in calls]
    return message


def _message(message: Mapping[str, object], where: str, names: dict[str, str]) -> dict[str, object]:
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        raise LLMError("refused", f"{where} has the unknown role {message.get('role')!r:.40}")
    text, pictures = _content(message.get("content"), where)
    made: dict[str, object] = {"role": role, "content": text}
    if pictures:
        made["images"] = pictures
    if role == "assistant":
        made.update(_said_beside(message, where, names))
    if role == "tool":
        made.update(_answered(message, names))
    return made


def _said_beside(message: Mapping[str, object], where: str, names: dict[str, str]) -> dict[str, object]:
    beside: dict[str, object] = {}
    thinking = next((said for key in _REASONING if isinstance(said := message.get(key), str) and said), "")
    if thinking:
        beside["thinking"] = thinking
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise LLMError("refused", f"{where}.tool_calls is no list")
    made = [_call(call, f"{where}.tool_calls[{at}]", names) for at, call in enumerate(calls)]
    if isinstance(old := message.get("function_call"), dict):
        made.append(_call({"id": old.get("name"), "function": old}, f"{where}.function_call", names))
    if made:
        beside["tool_calls"] = made
    return beside


def _answered(message: Mapping[str, object], names: dict[str, str]) -> dict[str, object]:
    given, name = message.get("tool_call_id"), message.get("name")
    beside: dict[str, object] = {"tool_call_id": given} if isinstance(given, str) else {}
    known = names.get(given) if isinstance(given, str) else None
    if known or isinstance(name, str):
        beside["tool_name"] = known or name
    return beside


def _call(call: object, where: str, names: dict[str, str]) -> dict[str, object]:
    kept = call.get("function", call.get("custom")) if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(kept, dict) or not isinstance(kept.get("name"), str):
        raise LLMError("refused", f"{where} names no function")
    made: dict[str, object] = {"function": {"name": kept["name"], "arguments": _object(kept)}}
    if isinstance(call.get("id"), str):
        names[call["id"]] = kept["name"]
        made["id"] = call["id"]
    return made


def _object(function: Mapping[str, object]) -> dict[str, object]:
    given = function.get("arguments", function.get("input"))
    try:
        value = json.loads(given) if isinstance(given, str) and given.strip() else given
    except (ValueError, RecursionError):
        value = given
    if isinstance(value, dict):
        return value
    return {TEXT_KEY: given} if given else {}


def _call_back(call: Mapping[str, object]) -> dict[str, object]:
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise LLMError("unusable", "the model's tool call names no function")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise LLMError("unusable", f"the arguments of the model's call of {function['name']:.60} are no object")
    given = call.get("id")
    try:
        text = json.dumps(arguments or {}, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise LLMError("unusable", f"a number in the model's call of {function['name']:.60} is too large") from error
    return {
        "id": given if isinstance(given, str) and given else f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": function["name"], "arguments": text},
    }


def _content(content: object, where: str) -> tuple[str, list[str]]:
    """Return the text and the pictures, in base64."""
    if content is None:
        return "", []
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        raise LLMError("refused", f"{where}.content is no text and no list of parts")
    texts: list[str] = []
    pictures: list[str] = []
    for at, part in enumerate(content):
        said = part.get("text") if isinstance(part, dict) else part
        if isinstance(said, str):
            texts.append(said)
        else:
            pictures.append(_picture(part, f"{where}.content[{at}]"))
    return "".join(texts), pictures


def _picture(part: object, where: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "image_url":
        named = part.get("type") if isinstance(part, dict) else part
        raise LLMError("refused", f"{where} is {named!r:.40}; Ollama takes text and pictures")
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise LLMError("refused", f"{where} is a picture by its address; Ollama fetches none: send it as base64 data")
    return data
