"""A model of Anthropic's: it answers jobs, goes on with conversations, and counts what they take."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.accounts import UnfitError, writable
from squidbot.adapters.anthropic.bindings import Bindings
from squidbot.adapters.anthropic.client import Account
from squidbot.adapters.anthropic.requests import Json, conversation, options_of
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError, LLMError, StaleThinkingError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.context import Served
from squidbot.model_options import for_jobs, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anthropic import MessageStream, MessageStreamEvent

    from squidbot.core.ports import Embedder, TokenCounter
    from squidbot.core.sizing.context import Definition

__all__ = ["AnthropicModel", "open_model"]

_FINISHES: Final = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_NO_THINKING: Final[Json] = {"type": "disabled"}
# What models with preserved thinking do where nothing is said, and the beta in which one says what becomes of stale
# thinking (Anthropic's documentation, prefix checks).
_ADAPTIVE: Final[Json] = {"type": "adaptive"}
_BINDING: Final = "thinking-binding-controls-2026-08-01"
_OF_BINDINGS: Final = re.compile(r"thinking|block_binding|anthropic-beta", re.IGNORECASE)
# Counts that are kept: a conversation asks for each request once, and again where it changed.
_MOST_COUNTS: Final = 256


class _Said(NamedTuple):
    """A whole answer: as it was on the wire, and what it says."""

    message: Json
    text: str

    @property
    def reason(self) -> str:
        """Why it ended."""
        return str(self.message.get("stop_reason"))

    def tokens(self, name: str) -> int:
        """Return what its usage says under a name, in tokens; 0 for nothing."""
        usage = self.message.get("usage")
        value = usage.get(name) if isinstance(usage, dict) else None
        return value if type(value) is int else 0

    @property
    def cached_tokens(self) -> int:
        """Of the input, read from the cache."""
        return self.tokens("cache_read_input_tokens")

    @property
    def input_tokens(self) -> int:
        """All of the input, whether the cache had it, was written to, or neither."""
        return self.tokens("input_tokens") + self.tokens("cache_creation_input_tokens") + self.cached_tokens


def open_model(definition: Definition, counter: TokenCounter | None = None) -> AnthropicModel:
    """Return a model that settings define. Nothing is asked yet.

    Raises:
        ConfigError: no model is named, the address is none, or there is no key for it.
    """
    account = Account(definition.url, key_name=definition.key_env)
    account.places = places(definition.options, definition.alias)
    return AnthropicModel(definition.model, account=account, counter=counter, options=definition.options)


class AnthropicModel:
    """A `LoadedModel` whose messages have the form "anthropic.messages". Threads may share it.

    Answers come as a stream, whatever is asked: the SDK refuses to wait for a long one without. Conversations are
    cached by the provider, with breakpoints of ours in place of any that messages bring.
    """

    def __init__(
        self,
        model: str,
        url: str = "",
        *,
        account: Account | None = None,
        counter: TokenCounter | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Name a model, and a server's address; "" is Anthropic's. Nothing is asked yet.

        `counter` is what hosts count texts with, None: `classes`.
        `options` go into requests as they are. Of them `thinking` is said in conversations alone, `cache_control` is
        what breakpoints are marked with, and `betas` names beta versions of the API.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
            InvalidRequestError: an option has the provider keep or cut the history.
        """
        if not model or model != model.strip() or not model.isprintable():
            raise ConfigError(f"{model!r:.80} is no name of a model; write one such as claude-sonnet-5-5")
        self._account = account or Account(url)
        self._model = model
        self._options = options_of(options or {})
        self._counter = counter or builtin_counter("classes")
        self._takes_no_thinking = True
        self._bindings = Bindings()
        self._leaves_out = self._knows_no_bindings = False
        self._told_window: int | None = None
        self._asked_window = False
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        return self._model

    @property
    def form(self) -> str:
        """Messages go in and come out as Anthropic writes them."""
        return "anthropic.messages"

    @property
    def window_tokens(self) -> int | None:
        """What the provider tells of the model, or less where it has refused less; None where neither is known."""
        with self._lock:
            if not self._asked_window:
                self._asked_window = True
                self._told_window = self.described()[0]
        return self.served.window_tokens

    @property
    def counter(self) -> TokenCounter:
        """What texts are counted with."""
        return self._counter

    @property
    def served(self) -> Served:
        """The window as far as it is known by now; nothing is asked for it."""
        known = [tokens for tokens in (self._told_window, self._account.refused_window_tokens) if tokens]
        return Served(min(known, default=None))

    def embedder(self) -> Embedder:
        """Make none.

        Raises:
            LLMError: Anthropic has no models that make vectors.
        """
        raise LLMError("refused", f"{self._model} makes no vectors; name another model for memory.embedder")

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt, without thinking, since that takes the answer's room.

        Raises:
            ContextOverflowError: the prompt does not fit.
            LLMError: there is no whole answer.
        """
        request: Json = {"messages": [{"role": "user", "content": prompt}], "max_tokens": max_output_tokens}
        request["extra_body"] = for_jobs(self._options.rest)
        if system:
            request["system"] = system
        said = self._job(request)
        if _FINISHES.get(said.reason) == "length":
            raise LLMError("cut", f"{self._model} reached {max_output_tokens} tokens, or its window, in mid-answer")
        if not said.text.strip():
            raise LLMError("empty", f"{self._model} answered nothing")
        return Completion(said.text, said.input_tokens, said.tokens("output_tokens"))

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, as it was on the wire, its envelope with it.

        The cache is told to keep a prefix up to where `stable` says, beside those along the end.

        Where what stood before some reasoning has changed, as in the middle of a tool loop that overflowed, the
        provider is asked to leave such reasoning out, and from then on each time. Reasoning that another process was
        answered has to be refused first.

        Raises:
            ContextOverflowError: messages and tools don't fit.
            StaleThinkingError: reasoning among the messages was touched, or is refused all the same.
            LLMError: there is no answer.
        """
        request = {**conversation(messages, tools, self._options.mark, stable), "max_tokens": max_output_tokens}
        said = self._answered({**request, "extra_body": self._options.rest}, told)
        self._bindings.learn(request, said.message)
        finish = _FINISHES.get(said.reason, "stop")
        return Reply(said.message, finish, said.input_tokens, said.tokens("output_tokens"), said.cached_tokens)

    def count_tokens(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()) -> int:
        """Return what a request takes by the provider's own count, in tokens; an equal one is asked for once.

        Raises:
            ContextOverflowError: it does not fit.
            LLMError: the provider does not say.
        """
        request = conversation(messages, tools, self._options.mark, None)
        key = hashlib.sha256(json.dumps(request).encode()).hexdigest()
        with self._lock:
            if key in self._counts:
                return self._counts[key]
        with self._account.failures():
            counted = self._account.client.messages.count_tokens(model=self._model, **request).input_tokens
        if not isinstance(counted, int):
            raise LLMError("unusable", f"{self._model} counts {counted!r:.40} tokens")
        with self._lock:
            if len(self._counts) >= _MOST_COUNTS:
                self._counts.pop(next(iter(self._counts)))
            self._counts[key] = counted
        return counted

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._account.close()

    def described(self) -> tuple[int | None, str]:
        """Return the window in tokens that the provider tells of the model, None where not; and why not, else ""."""
        try:
            with self._account.failures():
                told = self._account.client.models.retrieve(self._model).max_input_tokens
        except LLMError as error:  # not every server that speaks like Anthropic's tells it
            return None, str(error)
        if isinstance(told, int) and told > 0:
            return told, ""
        return None, f"{self._account.url} does not tell the window of {self._model}"

    def _job(self, request: Json) -> _Said:
        if self._takes_no_thinking:
            try:
                return self._said({**request, "thinking": _NO_THINKING}, None)
            except UnfitError as error:
                if "thinking" not in str(error):
                    raise
                self._takes_no_thinking = False  # a model that always thinks, or never
        return self._said(request, None)

    def _answered(self, request: Json, told: Callable[[str], None] | None) -> _Said:
        if self._may_leave_out and (self._leaves_out or self._bindings.has_stale(request)):
            try:
                said = self._without_stale(request, told)
            except UnfitError as error:
                if not _OF_BINDINGS.search(str(error)):
                    raise
                self._knows_no_bindings = True  # an older model, which binds reasoning to nothing
            else:
                self._leaves_out = True
                return said
        return self._with_all(request, told)

    def _with_all(self, request: Json, told: Callable[[str], None] | None) -> _Said:
        thinking = {} if self._options.thinking is None else {"thinking": self._options.thinking}
        try:
            return self._said({**request, **thinking}, told)
        except StaleThinkingError as error:
            if "prefix_mismatch_behavior" not in str(error) or not self._may_leave_out:
                raise
        self._leaves_out = True
        return self._without_stale(request, told)

    @property
    def _may_leave_out(self) -> bool:
        return not self._knows_no_bindings and (self._options.thinking or {}).get("type") != "disabled"

    def _without_stale(self, request: Json, told: Callable[[str], None] | None) -> _Said:
        asked = {**(self._options.thinking or _ADAPTIVE), "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return self._said({**request, "thinking": asked}, told, [_BINDING])

    def _said(
        self, request: Mapping[str, object], told: Callable[[str], None] | None, betas: Sequence[str] = ()
    ) -> _Said:
        """Return the answer to a request, with what beta versions of the API are named beside those of the options.

        Raises:
            ContextOverflowError, LLMError: as `Account.failures` lets them out; or the provider's filter ended it.
        """
        clean = {key: writable(value) for key, value in request.items()}
        if named := [*self._options.betas, *betas]:
            clean["betas"] = named
        account, texts = self._account, []
        with ExitStack() as opened:
            with account.failures():
                side = account.client.beta.messages if "betas" in clean else account.client.messages
                stream = opened.enter_context(side.stream(model=self._model, **clean))
            ended = False
            for event in self._events(stream):
                if event.type == "text":
                    texts.append(str(event.text))
                    if told is not None:
                        told(texts[-1])
                ended = ended or event.type == "message_stop"
            if not ended:
                raise LLMError("unreachable", f"{account.url} closed the connection before the answer ended")
            message = stream.get_final_message().model_dump(mode="json", by_alias=True, exclude_unset=True)
        said = _Said(message, "".join(texts))
        if said.reason == "refusal":
            raise LLMError("refused", f"{self._model} may not answer this")
        return said

    def _events(self, stream: MessageStream) -> Iterator[MessageStreamEvent]:
        """Yield what comes; what is done with it is not among the failures of the provider."""
        coming = iter(stream)
        while True:
            with self._account.failures():
                event = next(coming, None)
            if event is None:
                return
            yield event
