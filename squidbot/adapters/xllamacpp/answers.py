"""Pieces of an answer put together, and llama.cpp's errors as ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.messages import Usage

__all__ = ["Answer", "failure", "spelled", "well_formed"]

UNAVAILABLE, SERVER_ERROR = 503, 500
# Further keys of a delta that are text, in pieces: what the model thought first.
_THOUGHT = "reasoning_content"
# Where tools were given, llama.cpp's server (2026.10) reads an answer once more when it has ended, and fails where the
# last token is a part of a character, as it may be at the limit. By then all the text has been told.
_UNREAD = "does not match the expected"


def spelled(body: Mapping[str, object]) -> bytes:
    """Return a request as JSON in UTF-8; a lone surrogate is sent as the replacement character.

    Raises:
        LLMError: the request holds what JSON can't.
    """
    try:
        return well_formed(json.dumps(body, ensure_ascii=False)).encode()
    except (TypeError, ValueError) as error:
        raise LLMError("refused", f"the request is not JSON: {error}") from error


def well_formed(text: str) -> str:
    """Return a text without lone surrogates: halves that belong together are joined, others replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def failure(error: Mapping[str, object]) -> Exception:
    """Return the error of ours for one of llama.cpp's server."""
    message = str(error.get("message") or error)
    if error.get("type") == "exceed_context_size_error":
        return ContextOverflowError(message)
    code = error.get("code")
    if not isinstance(code, int) or code < SERVER_ERROR:
        return LLMError("refused", message)
    return LLMError("unreachable" if code == UNAVAILABLE else "unusable", message)


class Answer:
    """An answer that comes in pieces. `take` is called with each, by the runtime, in the thread that asked."""

    def __init__(self, told: Callable[[str], None] | None, asked: Usage) -> None:
        """Start empty; `told` gets each piece of the text. `asked` are the prompt's tokens, and the answer's limit."""
        self._told = told
        self._asked = asked
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish = ""
        self._usage: dict[str, Any] = {}
        self._failed: BaseException | None = None

    def take(self, piece: bytes) -> bool:
        """Take one piece, and return whether no more is wanted. Raises nothing: the runtime would swallow it."""
        if piece.strip() == b"[DONE]":
            return False
        try:
            self._add(json.loads(piece))
        except BaseException as error:  # noqa: BLE001  # kept, and raised by `reply` in the same thread
            self._failed = error
        return self._failed is not None

    def reply(self) -> Reply:
        """Return the whole answer.

        Raises:
            ContextOverflowError, LLMError: the runtime said that there is none.
            BaseException: what `told` raised.
        """
        if self._failed is not None:
            raise self._failed
        if not self._finish:
            raise LLMError("unreachable", "the runtime stopped within an answer")
        calls = self._whole_calls()
        message: dict[str, object] = {"role": "assistant", "content": "".join(self._texts)}
        if thoughts := "".join(self._thoughts):
            message[_THOUGHT] = thoughts
        if calls:
            message["tool_calls"] = calls
            message["content"] = message["content"] or None
        finish = "length" if self._finish == "length" else "tool_calls" if calls else "stop"
        cached = (self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        return Reply(
            message, finish, self._usage.get("prompt_tokens", 0), self._usage.get("completion_tokens", 0), cached
        )

    def _add(self, chunk: dict[str, Any]) -> None:
        if "error" in chunk:
            self._end_with(chunk["error"])
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices", ()):
            self._finish = choice.get("finish_reason") or self._finish
            self._add_delta(choice.get("delta") or {})

    def _end_with(self, error: Mapping[str, object]) -> None:
        if self._calls or _UNREAD not in str(error.get("message")):
            raise failure(error)
        self._finish = "length"
        self._usage = {"prompt_tokens": self._asked.input_tokens, "completion_tokens": self._asked.output_tokens}

    def _add_delta(self, delta: dict[str, Any]) -> None:
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        self._thoughts.append(delta.get(_THOUGHT) or "")
        if text := delta.get("content"):
            self._texts.append(text)
            if self._told is not None:
                self._told(text)

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._calls.setdefault(piece.get("index", 0), {"id": "", "name": "", "arguments": ""})
        function = piece.get("function") or {}
        call["id"] = call["id"] or piece.get("id") or ""
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""

    def _whole_calls(self) -> list[dict[str, object]]:
        """Return the calls in order. One that was cut off is left out: its arguments could never be sent again."""
        return [
            {
                "id": call["id"] or f"call_{uuid4().hex}",
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"] or "{}"},
            }
            for _, call in sorted(self._calls.items())
            if call["name"] and _is_object(call["arguments"] or "{}")
        ]


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
