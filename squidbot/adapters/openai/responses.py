"""A model asked by OpenAI's Responses, of which the provider keeps nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.accounts import writable
from squidbot.adapters.openai.model import Json, OpenAIModel, Said, number
from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OpenAIResponsesModel"]

# A smaller room for the answer is refused.
LEAST_OUTPUT_TOKENS: Final = 16
# Nothing is kept at the provider, so its reasoning comes sealed, to be sent back.
_STATELESS: Final[Json] = {"store": False, "include": ["reasoning.encrypted_content"]}
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")


class _Answer:
    """An answer, put together from its events: the last of them, its items, its words."""

    def __init__(self) -> None:
        self.last: Json = {}
        self.items: list[object] = []
        self.text = ""

    def take(self, event: Json) -> str:
        """Take an event, and return the words in it."""
        kind = event.get("type")
        if kind == "response.output_item.done":
            self.items.append(event.get("item"))
        elif kind in _ENDS:
            self.last = event
        text = str(event.get("delta") or "") if kind == "response.output_text.delta" else ""
        self.text += text
        return text


class OpenAIResponsesModel(OpenAIModel):
    """A `LoadedModel` whose messages have the form "openai.responses". Threads may share it.

    A reply's message is the whole response; `input_transformations` in it tells what reasoning of earlier steps the
    provider has left out, because what stood before it has changed.
    """

    _conversation = "input"
    _part = "input_text"

    @property
    def form(self) -> str:
        """Messages go in as items of Responses, and come out as a response."""
        return "openai.responses"

    def _prompt(self, system: str, prompt: str) -> Json:
        return {"input": prompt, **({"instructions": system} if system else {})}

    def _thinking(self, effort: str) -> Json:
        return {"reasoning": {"effort": effort}}

    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> Said:
        # All of it goes beside what the SDK has names for: that it looks at once for every type that an item can have,
        # for a quarter of a second in a request of a hundred items.
        clean = {key: writable(value) for key, value in {**request, **_STATELESS}.items()}
        clean["max_output_tokens"] = max(most, LEAST_OUTPUT_TOKENS)
        side = self._account.client.responses
        answer = _Answer()
        opened = lambda: side.create(model=self._model, stream=True, extra_body=clean)  # noqa: E731
        for event in self._events(opened):
            if event.get("type") == "error":
                raise self._account.broken_off(event, str(event.get("message")))
            text = answer.take(event)
            if told is not None and text:
                told(text)
        return self._whole(answer.last, answer.items, answer.text)

    def _whole(self, last: Json, items: list[object], text: str) -> Said:
        response = last.get("response")
        if not isinstance(response, dict):
            raise LLMError("unreachable", f"{self._account.url} closed the connection before the answer ended")
        if last.get("type") == "response.failed":
            error = response.get("error")
            said = error.get("message") if isinstance(error, dict) else None
            raise self._account.broken_off(error, str(said))
        output = response.get("output") or items
        reason = (response.get("incomplete_details") or {}).get("reason")
        if reason == "content_filter":
            raise LLMError("refused", f"{self._model} may not answer this")
        calls = any(str(item.get("type", "")).endswith("_call") for item in output if isinstance(item, dict))
        finish = "length" if reason else "tool_calls" if calls else "stop"
        usage = response.get("usage")
        asked = number(usage, "input_tokens")
        cached = min(number(usage, "input_tokens_details", "cached_tokens"), asked)
        return Said({**response, "output": output}, text, finish, asked, number(usage, "output_tokens"), cached)
