"""What a local model's chat template costs, measured from the template itself.

A runtime that can say how many tokens a whole prompt has is asked for small conversations; their differences are what
stands around a message, a tool call, a request. Counted like this a request is not under its real size, where four
tokens for each message, which hold for no model in particular, are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from squidbot.core.counting.meter import Template
from squidbot.core.counting.tokens import measure
from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Cost
    from squidbot.core.ports import Certificate, TokenCounter

    Message = Mapping[str, object]
    PromptTokens = Callable[[Sequence[Message], Sequence[Mapping[str, object]]], int]

__all__ = ["TemplateCounter"]

_TEXT: Final = "."
_NAME, _ARGUMENTS = "look", '{"q": "."}'
# Ids as runtimes make them; templates of Mistral's take nine letters only.
_IDS: Final = ("7hW2mQx9LrT4bVz8KpY1nCs6DfG3jEa5", "7hW2mQx9L")


class TemplateCounter:
    """A TokenCounter that knows its model's chat template, too, for messages in OpenAI's form."""

    def __init__(self, counter: TokenCounter, prompt_tokens: PromptTokens) -> None:
        """Measure the template, with a dozen small prompts.

        `counter` counts texts. `prompt_tokens` returns the tokens of messages and tools as the model gets them, and
        raises an LLMError where the template refuses them.

        Raises:
            LLMError: not even one message of the user is taken.
        """
        self._counter = counter
        self._prompt_tokens = prompt_tokens
        self._tools: dict[str, int] = {}
        self._template = _Measure(prompt_tokens, counter.count).template()

    @property
    def name(self) -> str:
        """The name of the counter within, and that messages are counted with a template."""
        return f"{self._counter.name}+template"

    @property
    def certificate(self) -> Certificate:
        """That of the counter within."""
        return self._counter.certificate

    @property
    def template(self) -> Template:
        """What the template puts around messages."""
        return self._template

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._counter.count(text)

    def upper_bound(self, text: str) -> int:
        """Return what the model's own count of a text never passes."""
        return self._counter.upper_bound(text)

    def measure(self, text: str) -> Cost:
        """Return both."""
        return measure(self._counter, text)

    def tools_tokens(self, tools: str) -> int:
        """Return what tool definitions, a JSON list, add to a prompt; as text where the template does not take them."""
        if tools not in self._tools:
            asked = [_said("user")]
            try:
                added = self._prompt_tokens(asked, json.loads(tools)) - self._prompt_tokens(asked, ())
            except LLMError:
                added = self.upper_bound(tools)
            # A session has one set of tools; hosts that make them anew each time must not fill the memory.
            self._tools = {tools: max(0, added)}
        return self._tools[tools]


class _Measure:
    """Asks for prompts, and takes what texts cost from them."""

    def __init__(self, prompt_tokens: PromptTokens, count: Callable[[str], int]) -> None:
        self._prompt_tokens = prompt_tokens
        self._text = count(_TEXT)
        self._call = count(f"\n{_NAME} {_ARGUMENTS}")
        self._one = prompt_tokens([_said("user")], ())

    def template(self) -> Template:
        user, assistant = self._speakers()
        system = self._added(1, _said("system"), _said("user"))
        message = max(0, user, assistant, system or 0)
        calls = [self._calls(identifier, message) for identifier in _IDS]
        call = next((tokens for tokens in calls if tokens is not None), message)
        return Template(message, call, max(0, self._one - self._text - user))

    def _speakers(self) -> tuple[int, int]:
        """Return what stands around a message of the user, and of the assistant."""
        pair = self._added(2, _said("user"), _said("assistant"), _said("user")) or 0
        user = self._added(1, _said("user"), _said("user"))
        # Where nobody may speak twice, the two can't be told apart.
        return (pair, pair) if user is None else (user, pair - user)

    def _calls(self, identifier: str, message_tokens: int) -> int | None:
        """Return what stands around a call, and around its result, each; None where the template refuses the id."""
        ids = [identifier, identifier[::-1]]
        results = [{"role": "tool", "tool_call_id": one, "content": _TEXT} for one in ids]
        first = self._added(1, _said("user"), _calling(ids[:1]), results[0])
        both = self._added(2, _said("user"), _calling(ids), *results)
        if first is None:
            return None
        # A call and its result stand in every request together: what matters is what both have.
        pair = first - self._call - 2 * message_tokens
        further = 0 if both is None else both - first - self._call - message_tokens
        return max(0, -(-max(pair, further) // 2))

    def _added(self, texts: int, *messages: Message) -> int | None:
        """Return what messages cost more than one of the user, less so many texts; None where they are refused."""
        try:
            return self._prompt_tokens(messages, ()) - self._one - texts * self._text
        except LLMError:
            return None


def _said(role: str) -> Message:
    return {"role": role, "content": _TEXT}


def _calling(ids: Sequence[str]) -> Message:
    function = {"name": _NAME, "arguments": _ARGUMENTS}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": one, "type": "function", "function": function} for one in ids],
    }
