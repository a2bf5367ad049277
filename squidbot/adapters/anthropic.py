"""Anthropic's API, by Anthropic's own SDK."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import anthropic
import httpx2

from squidbot.adapters.common import providers
from squidbot.adapters.common.counts import MOST_TEXTS, KeptCounts, hold
from squidbot.adapters.common.options import for_jobs, places
from squidbot.adapters.common.providers import (
    Patience,
    ProviderModel,
    TextReply,
    UnfitError,
    number,
    objects,
    writable,
)
from squidbot.core.errors import ContextOverflowError, LLMError, StaleThinkingError
from squidbot.core.messages import Reply
from squidbot.core.sizing.header import RuntimeReport
from squidbot.core.tokens.counters import builtin_counter
from squidbot.core.view.steps import refuse_server_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.ports import Certificate, Embedder, TokenCounter
    from squidbot.core.sizing.header import Definition


MOST_BREAKPOINTS: Final = 4
# A breakpoint finds an entry at its own place, or at one of the 19 before it.
LOOK_BACK_BLOCKS: Final = 20
# The provider refuses a breakpoint on these.
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})

Json = dict[str, object]
Block = Json


def marked(
    system: Sequence[Block],
    messages: Sequence[Mapping[str, object]],
    mark: Mapping[str, object],
    stable: Sequence[int] = (),
) -> tuple[list[Block], list[Json]]:
    """Return system and messages with at most four breakpoints, instead of any that they bring.

    `stable` says how many messages, from the first, stay as they are. Nothing else changes: a string with a breakpoint
    becomes the equivalent block.
    """
    blocks = [_bare(block) for block in system]
    marked_messages = [_without_marks(message) for message in messages]
    counts = [len(_blocks(message)) for message in marked_messages]
    places = [(at, index) for at, count in enumerate(counts) for index in range(count)]
    left = MOST_BREAKPOINTS
    if blocks:
        blocks[-1]["cache_control"] = dict(mark)
        left -= 1
    firm = [sum(counts[:count]) for count in sorted(set(stable), reverse=True) if count > 0]
    # New since the request before: the assistant's last message, and everything after it.
    last = max((at for at, message in enumerate(marked_messages) if message.get("role") == "assistant"), default=0)
    for end in _ends(len(places), firm, sum(counts[last:]), left):
        _mark(marked_messages, places[max(0, end - LOOK_BACK_BLOCKS) : end], mark)
    return blocks, marked_messages


def _ends(blocks: int, firm: Sequence[int], new: int, left: int) -> set[int]:
    """Return the positions of up to `left` breakpoints: along the end first, then in the stable part."""
    along = range(blocks, 0, -LOOK_BACK_BLOCKS)
    needed = min(left, new // LOOK_BACK_BLOCKS + 1) if firm else left
    chosen = [end for end in firm if end < blocks][: left - needed]
    return {*chosen, *along[: left - len(chosen)]}


def _mark(messages: list[dict[str, object]], places: Sequence[tuple[int, int]], mark: Mapping[str, object]) -> None:
    """Mark the last block that can be marked, if any."""
    for at, index in reversed(places):
        blocks = _blocks(messages[at])
        block = blocks[index]
        if block.get("type") in _UNMARKED or block.get("text") == "":
            continue
        blocks[index] = {**block, "cache_control": dict(mark)}
        messages[at] = {**messages[at], "content": blocks}
        return


def _blocks(message: Mapping[str, object]) -> list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _without_marks(message: Mapping[str, object]) -> dict[str, object]:
    content = message.get("content")
    if not isinstance(content, list) or not any(
        isinstance(block, dict) and "cache_control" in block for block in content
    ):
        return dict(message)
    return {**message, "content": [_bare(block) if isinstance(block, dict) else block for block in content]}


def _bare(block: Mapping[str, object]) -> Block:
    return {key: value for key, value in block.items() if key != "cache_control"}


def conversation(
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[Mapping[str, object]],
    mark: Mapping[str, object],
    stable: Sequence[int] | None,
) -> Json:
    """Return a request; `stable` says how many messages stay as they are, `None`: no breakpoints."""
    first = next((at for at, message in enumerate(messages) if message.get("role") != "system"), len(messages))
    system = [block for message in messages[:first] for block in _texts(message.get("content"))]
    turns = [*map(_message, messages[first:])]
    if stable is not None:
        system, turns = marked(system, turns, mark, [count - first for count in stable])
    request: Json = {"messages": turns}
    if system:
        request["system"] = system
    if tools:
        request["tools"] = [dict(tool) for tool in tools]
    return request


def _message(message: Mapping[str, object]) -> Json:
    """Return a message without an answer's envelope."""
    return {key: message[key] for key in ("role", "content") if key in message}


def _texts(content: object) -> list[Json]:
    """Return a system text as blocks, without empty ones."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [dict(block) for block in blocks if block.get("text") != ""] if isinstance(blocks, list) else []


# A signature and two digests each; a plan that reaches further back has omitted their reasoning.
_MOST_KNOWN: Final = 4_096
_SIGNED: Final = {"thinking": "signature", "redacted_thinking": "data"}


# The context of a block of reasoning: a digest of everything else before it, and the signature of earlier reasoning.
_Prefix = tuple[bytes, bytes]


class ThinkingBindings:
    """The reasoning that one model has produced in this process, and its contexts. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Prefix] = {}
        self._lock = threading.Lock()

    def learn(self, request: Mapping[str, object], answer: Mapping[str, object]) -> None:
        """Store the contexts of an answer's reasoning."""
        content = answer.get("content")
        signatures = {_signature(block) for block in content if block} if isinstance(content, list) else set()
        if not signatures - {b""}:
            return
        answered = {
            **request,
            "messages": [*objects(request.get("messages")), {"role": "assistant", "content": content}],
        }
        with self._lock:
            for key, prefix in _bound(answered):
                if key in signatures:
                    hold(self._known, key, prefix, _MOST_KNOWN)

    def has_stale(self, request: Mapping[str, object]) -> bool:
        """Return whether a request returns reasoning in another context than it was produced in."""
        with self._lock:
            known = dict(self._known)
        if not known:
            return False
        for key, (prefix, after) in _bound(request):
            then_prefix, then_after = known.get(key, (prefix, after))
            if prefix != then_prefix or (after and after != then_after):
                return True
        return False


def _bound(request: Mapping[str, object]) -> Iterator[tuple[bytes, _Prefix]]:
    """Yield each piece of reasoning, as a digest, with its context, in order."""
    prefix, after = hashlib.sha256(), b""
    for part in ("tools", "system"):
        for block in _thinking_blocks(request.get(part)):
            prefix.update(_canonical(part, block))
    for message in objects(request.get("messages")):
        for block in _thinking_blocks(message.get("content")):
            if key := _signature(block):
                yield key, (prefix.digest(), after)
                after = key
            else:
                prefix.update(_canonical(str(message.get("role")), block))


def _signature(block: object) -> bytes:
    """Return a digest of a block's signature; b"" if it is not reasoning."""
    if not isinstance(block, dict) or block.get("type") not in _SIGNED:
        return b""
    return hashlib.sha256(str(block.get(_SIGNED[block["type"]])).encode("utf-8", "surrogatepass")).digest()


def _canonical(role: str, block: Mapping[str, object]) -> bytes:
    """Return a block as bytes, without its breakpoint."""
    rest = {key: value for key, value in block.items() if key != "cache_control"}
    return json.dumps([role, rest], sort_keys=True).encode()


def _thinking_blocks(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


class AnthropicAccount(providers.Account):
    """An account at Anthropic or a compatible server. Threads may share it."""

    sdk, sdk_client = anthropic, "Anthropic"
    broken = (httpx2.HTTPError,)
    client: anthropic.Anthropic
    usual_url = "https://api.anthropic.com"
    usual_key = providers.USUAL_KEYS["anthropic"]
    words = providers.RefusalPatterns(
        too_long=re.compile(r"prompt is too long|exceed context limit|request_too_large", re.IGNORECASE),
        window=re.compile(r"> ?(\d+) maximum"),
        stale=re.compile(
            r"in `(?:redacted_)?thinking` block|blocks in the latest assistant message|Expected `thinking`"
        ),
    )


_FINISHES: Final = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_NO_THINKING: Final[Json] = {"type": "disabled"}
# The default of models with preserved thinking, and the beta that sets the treatment of stale thinking (Anthropic's
# documentation, prefix checks).
_ADAPTIVE: Final[Json] = {"type": "adaptive"}
_BINDING: Final = "thinking-binding-controls-2026-08-01"
_OF_BINDINGS: Final = re.compile(r"thinking|block_binding|anthropic-beta", re.IGNORECASE)


def open_model(definition: Definition, counter: TokenCounter | None = None) -> AnthropicModel:
    """Return a model that settings define. Send nothing yet.

    Raises:
        ConfigError: no model is named, the address is invalid, or there is no key for it.
    """
    account = AnthropicAccount(definition.url, key_name=definition.key_env)
    account.places = places(definition.options, definition.alias)
    return AnthropicModel(definition.model, account=account, counter=counter, options=definition.options)


class AnthropicModel(ProviderModel):
    """A `LoadedModel` whose messages have the form "anthropic.messages". Threads may share it.

    Answers are streamed: otherwise the SDK refuses to wait for a long one. The provider caches conversations, with our
    breakpoints instead of any that messages bring.
    """

    form = "anthropic.messages"
    example = "claude-sonnet-5-5"
    _account: AnthropicAccount

    def __init__(
        self,
        model: str,
        url: str = "",
        *,
        account: AnthropicAccount | None = None,
        counter: TokenCounter | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Name a model, and a server's address; "" is Anthropic's. Send nothing yet.

        `counter` is what hosts count texts with, `None`: `classes`. `options` go unchanged into requests, except
        `thinking`, for conversations only, `cache_control`, the mark of breakpoints, and `betas`, the names of the
        API's beta versions.

        Raises:
            ConfigError: no model is named, the address is invalid, or there is no key for it.
            InvalidRequestError: an option makes the provider keep or cut the history.
        """
        super().__init__(model, account or AnthropicAccount(url), counter)
        self._options = dict(options or {})
        refuse_server_state(self._options)
        thinking, mark, betas = (self._options.pop(name, None) for name in ("thinking", "cache_control", "betas"))
        self._thinking: Json | None = dict(thinking) if isinstance(thinking, Mapping) else None
        self._mark: Json = dict(mark) if isinstance(mark, Mapping) else {"type": "ephemeral"}
        self._betas = [*map(str, betas)] if isinstance(betas, list) else []
        self._bindings = ThinkingBindings()
        # Learned about the model: whether jobs can turn thinking off, and whether the provider can omit stale reasoning
        # on request, and has.
        self._can_stop_thinking = True
        self._can_drop_stale = (self._thinking or {}).get("type") != "disabled"
        self._drops_stale = False
        self._native_tokens: int | None = None
        self._was_asked = False
        self._lock = threading.Lock()

    @property
    def window_tokens(self) -> int | None:
        """The window that the provider reports, or less after a smaller refusal; `None` if neither is known."""
        with self._lock:
            if not self._was_asked:
                self._was_asked = True
                self._native_tokens = self.described()[0]
        return self.served.window_tokens

    @property
    def served(self) -> RuntimeReport:
        """The window as far as it is known now, without a request to the provider."""
        known = [tokens for tokens in (self._native_tokens, self._account.refused_window_tokens) if tokens]
        return RuntimeReport(min(known, default=None))

    def embedder(self) -> Embedder:
        """Raise an error: Anthropic has no embedding models.

        Raises:
            LLMError: Anthropic has no models that make vectors.
        """
        raise LLMError("refused", f"{self.name} cannot compute embeddings; set memory.embedder to another model")

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant with its envelope, as it was on the wire.

        The cache keeps a prefix up to `stable`, beside those along the end.

        If the text before some reasoning has changed, as in a tool loop that overflowed midway, this asks the provider
        to omit such reasoning, from then on each time. Reasoning from another process must be refused first.

        Raises:
            ContextOverflowError: messages and tools don't fit.
            StaleThinkingError: reasoning among the messages was changed, or is refused anyway.
            LLMError: there is no answer.
        """
        request = {**conversation(messages, tools, self._mark, stable), "max_tokens": max_output_tokens}
        reply = self._answer({**request, "extra_body": self._options}, on_text)
        self._bindings.learn(request, reply.message)
        return reply

    def count_tokens(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()) -> int:
        """Return the provider's own count of a request, in tokens.

        Raises:
            ContextOverflowError: it does not fit.
            LLMError: the provider does not count it.
        """
        request = conversation(messages, tools, self._mark, None)
        with self._account.failures():
            counted = self._account.client.messages.count_tokens(model=self.name, **request).input_tokens
        if not isinstance(counted, int):
            raise LLMError("unusable", f"{self.name} counts {counted!r:.40} tokens")
        return counted

    def described(self) -> tuple[int | None, str]:
        """Return the window in tokens that the provider reports, or `None` and the reason."""
        try:
            with self._account.failures():
                tokens = self._account.client.models.retrieve(self.name).max_input_tokens
        except LLMError as error:  # not every compatible server reports it
            return None, str(error)
        if isinstance(tokens, int) and tokens > 0:
            return tokens, ""
        return None, f"{self._account.url} does not tell the window of {self.name}"

    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        request: Json = {"messages": [{"role": "user", "content": prompt}], "max_tokens": most}
        request["extra_body"] = for_jobs(self._options)
        if system:
            request["system"] = system
        if self._can_stop_thinking:
            try:
                return self._streamed({**request, "thinking": _NO_THINKING}, None)
            except UnfitError as error:
                if "thinking" not in str(error):
                    raise
                self._can_stop_thinking = False  # a model that always thinks, or never
        return self._streamed(request, None)

    def _answer(self, request: Json, on_text: Callable[[str], None] | None) -> Reply:
        if self._can_drop_stale and (self._drops_stale or self._bindings.has_stale(request)):
            try:
                reply = self._without_stale(request, on_text)
            except UnfitError as error:
                if not _OF_BINDINGS.search(str(error)):
                    raise
                self._can_drop_stale = False  # an older model, which binds reasoning to nothing
            else:
                self._drops_stale = True
                return reply
        thinking = {} if self._thinking is None else {"thinking": self._thinking}
        try:
            return self._streamed({**request, **thinking}, on_text)[1]
        except StaleThinkingError as error:
            if "prefix_mismatch_behavior" not in str(error) or not self._can_drop_stale:
                raise
        self._drops_stale = True
        return self._without_stale(request, on_text)

    def _without_stale(self, request: Json, on_text: Callable[[str], None] | None) -> Reply:
        thinking = {**(self._thinking or _ADAPTIVE), "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return self._streamed({**request, "thinking": thinking}, on_text, [_BINDING])[1]

    def _streamed(
        self, request: Mapping[str, object], on_text: Callable[[str], None] | None, betas: Sequence[str] = ()
    ) -> TextReply:
        """Return the answer to a request; `betas` are added to those of the options.

        Raises:
            ContextOverflowError, LLMError: as `failures` of its account; or the provider's filter ended it.
        """
        body = writable(request)
        if named := [*self._betas, *betas]:
            body["betas"] = named
        account, texts, ended = self._account, [], False
        with ExitStack() as opened:
            with account.failures():
                side = account.client.beta.messages if named else account.client.messages
                stream = opened.enter_context(side.stream(model=self.name, **body))
            for event in account.events(stream):
                if event.type == "text":
                    texts.append(str(event.text))
                    if on_text is not None:
                        on_text(texts[-1])
                ended = ended or event.type == "message_stop"
            if not ended:
                raise LLMError("unreachable", f"{account.url} closed the connection before the answer ended")
            message = stream.get_final_message().model_dump(mode="json", by_alias=True, exclude_unset=True)
        if (reason := str(message.get("stop_reason"))) == "refusal":
            raise LLMError("refused", f"{self.name} refused to answer")
        usage = message.get("usage")
        cached = number(usage, "cache_read_input_tokens")
        # The input is all of it: read from the cache, written to it, or neither.
        tokens = number(usage, "input_tokens") + number(usage, "cache_creation_input_tokens") + cached
        finish = _FINISHES.get(reason, "stop")
        return "".join(texts), Reply(message, finish, tokens, number(usage, "output_tokens"), cached)


# A shorter text is not worth a request: for 500 tokens an estimate is wrong by some dozens.
LEAST_CHARS: Final = 2_000
# Counting during a recording must not make anybody wait; after a failure, requests pause for this long.
PATIENCE: Final = Patience(connect_seconds=2.0, answer_seconds=5.0, retries=0)
REST_SECONDS: Final = 60.0
# The provider calls its count an estimate (Anthropic's documentation, token counting): the bound adds this.
MARGIN_FRACTION, MARGIN_TOKENS = 0.02, 8
# The tokens of a message's frame.
LEAST_TEXT: Final = "."


class AnthropicCounter:
    """A `TokenCounter` that threads may share. It estimates texts that the provider does not count."""

    # Short texts are estimated, and the provider's count is no promise either.
    certificate: Certificate = "measured"

    def __init__(self, model: str, url: str = "", *, key_name: str = "") -> None:
        """Name a model, a server's address ("": Anthropic's), and its key's variable ("": the usual one).

        Send nothing yet.

        Raises:
            ConfigError: no model is named, the address is invalid, or there is no key for it.
        """
        account = AnthropicAccount(url, patience=PATIENCE, key_name=key_name)
        self.name = f"anthropic:{model}"
        self._model = AnthropicModel(model, account=account)
        self._plain = builtin_counter("classes")
        self._kept = KeptCounts(f"{account.url} {model}")
        # An uncounted text is not sent again while the process lives: its cost stays the same.
        self._uncounted: dict[str, None] = {}
        self._rests_until = 0.0
        self._lock = threading.Lock()

    def keep(self, path: str) -> None:
        """Keep all counts in a file that processes share, so no text is sent twice."""
        self._kept.keep(path)

    def count(self, text: str) -> int:
        """Return the provider's count of a long text, the estimate of any other."""
        counted = self._counted(text)
        return self._plain.count(text) if counted is None else counted

    def upper_bound(self, text: str) -> int:
        """Return the smaller of both bounds of a long text, the estimate's of any other."""
        plain, counted = self._plain.upper_bound(text), self._counted(text)
        if counted is None:
            return plain
        return max(counted, min(plain, round(counted * (1 + MARGIN_FRACTION)) + MARGIN_TOKENS))

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._model.close()

    def _counted(self, text: str) -> int | None:
        """Return the provider's count; `None` if it was not asked, or gave none. That stays so for a text."""
        if len(text) < LEAST_CHARS:
            return None
        key = self._kept.key(text)
        with self._lock:
            if key not in self._uncounted and self._kept.get(key) is None and not self._asks(text):
                hold(self._uncounted, key, None, MOST_TEXTS)
            return self._kept.get(key)

    def _asks(self, text: str) -> bool:
        """Send a text for counting, and return whether it was counted."""
        if time.monotonic() < self._rests_until:
            return False
        try:
            frame_tokens = self._once(LEAST_TEXT, 1)
            self._once(text, frame_tokens)
        except ContextOverflowError:
            return False
        except LLMError:
            self._rests_until = time.monotonic() + REST_SECONDS
            return False
        return True

    def _once(self, text: str, frame_tokens: int) -> int:
        """Return the tokens of a text without its frame; each text is sent once."""
        key = self._kept.key(text)
        known = self._kept.get(key)
        if known is None:
            counted = self._model.count_tokens([{"role": "user", "content": text}])
            known = max(0, counted - frame_tokens)
            self._kept.put(key, known)
        return known
