"""The cost of texts and messages in both units that matter: the policy's, and the window's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from squidbot.core.errors import ConfigError, LLMError
from squidbot.core.messages import Cost
from squidbot.core.tokens.classes import ClassCounter, utf8_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Message
    from squidbot.core.ports import Certificate, TokenCounter


# The built-in token counters.


class _MeasuringCounter(Protocol):
    """A counter that has count and bound from one pass over the text."""

    def measure(self, text: str) -> Cost:
        """Return both numbers, in tokens."""


@lru_cache
def _measures(kind: type) -> bool:
    # Called for every message that is recorded: a protocol checked at run time would cost as much as the count itself.
    return callable(getattr(kind, "measure", None))


def measure(counter: TokenCounter, text: str) -> Cost:
    """Return estimate and bound of a text in tokens, in one pass where the counter can do that."""
    if _measures(type(counter)):
        return cast("_MeasuringCounter", counter).measure(text)
    return Cost(counter.count(text), counter.upper_bound(text))


@dataclass(frozen=True, slots=True)
class _NamedCounter:
    """A count by a named rule; the bound is the length in UTF-8 bytes, or the count where that is more."""

    name: str
    certificate: Certificate
    rule: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return the count of the rule, in its own unit: words, characters per token, or tokens."""
        return self.rule(text)

    def upper_bound(self, text: str) -> int:
        """Return the UTF-8 bytes of the text: no byte-level tokenizer makes more tokens than bytes."""
        return max(utf8_bytes(text), self.rule(text))


_BUILTIN: dict[str, TokenCounter] = {
    "words": _NamedCounter("words", "none", lambda text: len(text.split())),
    "chars4": _NamedCounter("chars4", "none", lambda text: len(text) // 4),
    "chars3": _NamedCounter("chars3", "none", lambda text: max(1, len(text) // 3)),
    "bytes": _NamedCounter("bytes", "proved", ClassCounter().count),
    "classes": ClassCounter(),
}


def builtin_counter(name: str) -> TokenCounter:
    """Return the counter of that name: "words", "chars4", "chars3", "bytes" or "classes".

    `words` and `chars4` of an empty text are 0, `chars3` is 1. `bytes` estimates as `classes` does; only its bound
    is proved, for byte-level BPE and byte fallback, after whatever normalisation the tokenizer does itself.

    Raises:
        ConfigError: there is no such counter; the text lists those there are.
    """
    try:
        return _BUILTIN[name]
    except KeyError:
        raise ConfigError(f"unknown token counter {name!r}; known: {', '.join(sorted(_BUILTIN))}") from None


# Tokens that a chat template puts around one message. OpenAI's cookbook counts 3 and 1 for a name; ChatML, Llama 3 and
# Gemma spend 3 to 5 on role and turn marks. The scorer of recorded conversations charges 4.
TEMPLATE_TOKENS = 4
# Tokens that a template puts around a whole request: the first one, and the opening of the answer. Llama 3 spends 5
# (<|begin_of_text|><|start_header_id|>assistant<|end_header_id|>\n\n), Gemma 4, ChatML 3, as OpenAI's cookbook counts.
REQUEST_TOKENS = 5

NOTHING = Cost(0, 0)


class TemplateTokens(NamedTuple):
    """The tokens that a model's chat template adds to texts.

    Attributes:
        message_tokens: around a message of any role.
        call_tokens: around a tool call, and around the result of one, beyond those of a message.
        request_tokens: around all messages together: the first token, the opening of the answer, a text of its own.
    """

    message_tokens: int = TEMPLATE_TOKENS
    call_tokens: int = 0
    request_tokens: int = REQUEST_TOKENS


ANY_TEMPLATE = TemplateTokens()


class _TemplateAware(Protocol):
    """A counter that knows the template of its model, as one of a local model does."""

    @property
    def template(self) -> TemplateTokens:
        """The tokens that it adds."""

    def tools_tokens(self, tools: str) -> int:
        """Return the tokens that tool definitions, a JSON list, add to a request."""


@lru_cache
def _knows_template(kind: type) -> bool:
    # Called for every message that is recorded, as above.
    return hasattr(kind, "template") and hasattr(kind, "tools_tokens")


class Meter(NamedTuple):
    """Counts with the session's token counter; with `policy` set, estimates are in that counter's unit (words)."""

    physical: TokenCounter
    policy: TokenCounter | None = None

    @property
    def name(self) -> str:
        """The name under which counts are stored: two meters with one name give the same numbers."""
        return self.physical.name if self.policy is None else f"{self.policy.name}/{self.physical.name}"

    @property
    def certificate(self) -> Certificate:
        """How far bounds can be trusted."""
        return self.physical.certificate

    @property
    def template(self) -> TemplateTokens:
        """The tokens that the chat template adds, as far as the counter knows them."""
        known = _knows_template(type(self.physical))
        return cast("_TemplateAware", self.physical).template if known else ANY_TEMPLATE

    def text(self, text: str) -> Cost:
        """Return the cost of a text inside a message: estimate in the policy's unit, bound in tokens."""
        if self.policy is None:
            return measure(self.physical, text)
        return Cost(self.policy.count(text), self.physical.upper_bound(text))

    def fixed(self, text: str) -> Cost:
        """Return the same as `message` for a text that comes with every request; the newest costs are cached."""
        return _fixed(self, text)

    def message(self, text: str, extra_tokens: int = 0, calls: Sequence[str] = ()) -> Cost:
        """Return the cost of a message with its template.

        `extra_tokens` are those of its pictures and documents. `calls` are the arguments of the tool calls that it
        makes, which `text` has, too, and "" for each call that it answers.
        """
        cost, template = self.text(text), self.template
        added = template.message_tokens + extra_tokens + template.call_tokens * len(calls)
        spelled = sum(map(_spelling_tokens, calls)) if template.call_tokens else 0
        return Cost(cost.estimate + (added if self.policy is None else 0), cost.bound + added + spelled)

    def said(
        self,
        message: Message,
        extra_tokens: int = 0,
        *,
        text: str | None = None,
        arguments: Sequence[str] | None = None,
    ) -> Cost:
        """Return the cost of a message of a transcript, or its cost with another text or other arguments."""
        given = [call.arguments for call in message.calls] if arguments is None else arguments
        rendered = message.rendered_as(message.text if text is None else text, given)
        return self.message(rendered, extra_tokens, (*given, *("",) * len(message.results)))

    def tools(self, tools: str) -> Cost:
        """Return the cost of tool definitions, as JSON text, in each request; "" for none."""
        if not tools or not _knows_template(type(self.physical)):
            return self.fixed(tools) if tools else NOTHING
        tokens = cast("_TemplateAware", self.physical).tools_tokens(tools)
        return Cost(tokens if self.policy is None else self.policy.count(tools), tokens)

    @property
    def request(self) -> Cost:
        """The cost of the template around all messages of a request together."""
        tokens = self.template.request_tokens
        return Cost(tokens if self.policy is None else 0, tokens)


def _spelling_tokens(arguments: str) -> int:
    """Return how many more characters a template may write for arguments: JSON text with spaces, escaped."""
    return len(json.dumps(arguments)) - len(arguments) + arguments.count(",") + arguments.count(":")


@lru_cache(maxsize=32)
def _fixed(meter: Meter, text: str) -> Cost:
    return meter.message(text)


# What a local model's chat template costs, measured from the template itself.

if TYPE_CHECKING:
    ChatMessage = Mapping[str, object]
    PromptTokens = Callable[[Sequence[ChatMessage], Sequence[Mapping[str, object]]], int]


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
        self._template = _TemplateProbe(prompt_tokens, counter.count).template()

    @property
    def name(self) -> str:
        """The name of the counter within, and that messages are counted with a template."""
        return f"{self._counter.name}+template"

    @property
    def certificate(self) -> Certificate:
        """That of the counter within."""
        return self._counter.certificate

    @property
    def template(self) -> TemplateTokens:
        """The tokens that the template adds."""
        return self._template

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._counter.count(text)

    def upper_bound(self, text: str) -> int:
        """Return a bound of the model's own count of a text."""
        return self._counter.upper_bound(text)

    def measure(self, text: str) -> Cost:
        """Return both."""
        return measure(self._counter, text)

    def tools_tokens(self, tools: str) -> int:
        """Return the tokens that tool definitions, a JSON list, add; as text if the template does not take them."""
        if tools not in self._tools:
            request = [_message("user")]
            try:
                added = self._prompt_tokens(request, json.loads(tools)) - self._prompt_tokens(request, ())
            except LLMError:
                added = self.upper_bound(tools)
            # A session has one set of tools; hosts that make them anew each time must not fill the memory.
            self._tools = {tools: max(0, added)}
        return self._tools[tools]


class _TemplateProbe:
    """Measures a template by the sizes of small prompts."""

    def __init__(self, prompt_tokens: PromptTokens, count: Callable[[str], int]) -> None:
        self._prompt_tokens = prompt_tokens
        self._text = count(_TEXT)
        self._call = count(f"\n{_NAME} {_ARGUMENTS}")
        self._user_tokens = prompt_tokens([_message("user")], ())

    def template(self) -> TemplateTokens:
        user, assistant = self._speakers()
        system = self._added(1, _message("system"), _message("user"))
        message = max(0, user, assistant, system or 0)
        calls = [self._calls(identifier, message) for identifier in _IDS]
        call = next((tokens for tokens in calls if tokens is not None), message)
        return TemplateTokens(message, call, max(0, self._user_tokens - self._text - user))

    def _speakers(self) -> tuple[int, int]:
        """Return the tokens around a message of the user, and of the assistant."""
        pair = self._added(2, _message("user"), _message("assistant"), _message("user")) or 0
        user = self._added(1, _message("user"), _message("user"))
        # Where nobody may speak twice, the two can't be told apart.
        return (pair, pair) if user is None else (user, pair - user)

    def _calls(self, identifier: str, message_tokens: int) -> int | None:
        """Return the tokens around a call, and around its result, each; None if the template refuses the id."""
        ids = [identifier, identifier[::-1]]
        results = [{"role": "tool", "tool_call_id": call_id, "content": _TEXT} for call_id in ids]
        first = self._added(1, _message("user"), _call_message(ids[:1]), results[0])
        both = self._added(2, _message("user"), _call_message(ids), *results)
        if first is None:
            return None
        # A call and its result stand in every request together: what matters is the sum of both.
        pair = first - self._call - 2 * message_tokens
        further = 0 if both is None else both - first - self._call - message_tokens
        return max(0, -(-max(pair, further) // 2))

    def _added(self, texts: int, *messages: ChatMessage) -> int | None:
        """Return the tokens of messages beyond one user message and so many texts; None if they are refused."""
        try:
            return self._prompt_tokens(messages, ()) - self._user_tokens - texts * self._text
        except LLMError:
            return None


def _message(role: str) -> ChatMessage:
    return {"role": role, "content": _TEXT}


def _call_message(ids: Sequence[str]) -> ChatMessage:
    function = {"name": _NAME, "arguments": _ARGUMENTS}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function} for call_id in ids],
    }
