"""A model asked by chat completions: OpenAI's own, or that of any server which speaks like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.accounts import UnfitError, writable
from squidbot.adapters.openai.model import Json, OpenAIModel, Said, number
from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OpenAIChatModel"]

_FINISHES: Final = {"length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls"}


class OpenAIChatModel(OpenAIModel):
    """A `LoadedModel` whose messages have the form "openai.chat". Threads may share it.

    Answers come as a stream. What older servers refuse is said in their way from then on: the room for the answer as
    `max_tokens`, and no wish to be told the usage.
    """

    _conversation = "messages"
    _part = "text"
    _room = "max_completion_tokens"
    _asks_usage = True

    @property
    def form(self) -> str:
        """Messages go in and come out as OpenAI's chat completions have them."""
        return "openai.chat"

    def _prompt(self, system: str, prompt: str) -> Json:
        messages = [{"role": "system", "content": system}] if system else []
        return {"messages": [*messages, {"role": "user", "content": prompt}]}

    def _thinking(self, effort: str) -> Json:
        return {"reasoning_effort": effort}

    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> Said:
        while True:
            beside: Json = {"stream_options": {"include_usage": True}} if self._asks_usage else {}
            try:
                return self._streamed({**request, **beside, self._room: most}, told)
            except UnfitError as error:
                if not self._learned(str(error), beside):
                    raise

    def _learned(self, said: str, beside: Json) -> bool:
        """Return whether a refusal was of how something is said that can be said otherwise; it is, from now on."""
        if self._room in said and self._room != "max_tokens":
            self._room = "max_tokens"
            return True
        if beside and "stream_options" in said:
            self._asks_usage = False
            return True
        return False

    def _streamed(self, request: Json, told: Callable[[str], None] | None) -> Said:
        clean = {key: writable(value) for key, value in request.items()}
        answer = _Answer()
        completions = self._account.client.chat.completions
        # The SDK looks at what it has names for, piece by piece, for longer than all else takes; it asks for messages.
        opened = lambda: completions.create(model=self._model, stream=True, messages=[], extra_body=clean)  # noqa: E731
        for chunk in self._events(opened):
            text = answer.take(chunk)
            if told is not None and text:
                told(text)
        return answer.whole(self._model, self._account.url)


class _Answer:
    """An answer, put together from its pieces."""

    def __init__(self) -> None:
        self._message: Json = {"role": "assistant", "content": None}
        self._calls: dict[int, Json] = {}
        self._reason = ""
        self._usage: object = None

    def take(self, chunk: Json) -> str:
        """Take a piece, and return the words in it."""
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        self._reason = str(choice.get("finish_reason") or self._reason)
        delta = choice.get("delta") or {}
        self._add(delta)
        text = delta.get("content")
        return text if isinstance(text, str) else ""

    def _add(self, delta: Mapping[str, object]) -> None:
        for key, value in delta.items():
            if key == "tool_calls":
                for place, call in enumerate(value if isinstance(value, list) else []):
                    self._call(place, call)
            elif key != "role":
                self._message[key] = _joined(self._message.get(key), value)

    def whole(self, model: str, url: str) -> Said:
        """Return the answer.

        Raises:
            LLMError: it has not ended, or a filter ended it.
        """
        if not self._reason:
            raise LLMError("unreachable", f"{url} closed the connection before the answer ended")
        if self._reason == "content_filter":
            raise LLMError("refused", f"{model} may not answer this")
        if self._calls:
            self._message["tool_calls"] = [self._calls[place] for place in sorted(self._calls)]
        text, usage = self._message["content"], self._usage
        if text is None and not self._calls and not self._message.get("refusal"):
            self._message["content"] = ""  # a message of nothing at all is taken by no server
        finish = _FINISHES.get(self._reason, "tool_calls" if self._calls else "stop")
        asked = number(usage, "prompt_tokens")
        cached = number(usage, "prompt_tokens_details", "cached_tokens")
        return Said(
            self._message, str(text or ""), finish, asked, number(usage, "completion_tokens"), min(cached, asked)
        )

    def _call(self, place: int, piece: Mapping[str, object]) -> None:
        at = piece.get("index")
        call = self._calls.setdefault(at if isinstance(at, int) else len(self._calls) + place, {})
        for key, value in piece.items():
            if key == "index" or value is None:
                continue
            if isinstance(value, dict):
                before = call.get(key)
                call[key] = {**(before if isinstance(before, dict) else {}), **_grown(before, value)}
            else:
                call[key] = value


def _grown(before: object, piece: Mapping[str, object]) -> Json:
    """Return what a piece of a call's function adds: arguments come bit by bit, the name at once."""
    told = before if isinstance(before, dict) else {}
    grown = {key: value for key, value in piece.items() if value is not None}
    for key in ("arguments", "input"):
        if key in grown:
            grown[key] = f"{told.get(key) or ''}{grown[key]}"
    return grown


def _joined(before: object, piece: object) -> object:
    """Return what came of a key, with one more piece of it."""
    if piece is None or before is None:
        return before if piece is None else piece
    if isinstance(before, str) and isinstance(piece, str):
        return before + piece
    if isinstance(before, list) and isinstance(piece, list):
        return [*before, *piece]
    return piece
