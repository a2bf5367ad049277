"""Shared by all chat models: accounts at providers, failures as our errors, and assembled answers.

Each adapter adds its SDK or protocol, and its provider's error wording.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urlsplit

from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, StaleThinkingError
from squidbot.core.messages import Completion, Reply
from squidbot.core.tokens.counters import builtin_counter
from squidbot.core.vectors import unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType
    from urllib.parse import SplitResult

    from squidbot.core.ports import TokenCounter


T = TypeVar("T")

# The variable of an adapter's key, unless settings name another.
USUAL_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
# Sent to servers without keys: SDKs send no empty one.
NO_KEY = "none"
# The readable part of a server's message.
MOST_SAID_CHARS = 400

_KEY_STATUSES = frozenset({401, 403})
_TOO_MANY, _FAILS = 429, 500
# Statuses that refuse a request for its content.
_UNFIT_STATUSES = frozenset({400, 413, 422})
_BUSY_KINDS = ("rate_limit",)
_BROKEN_KINDS = ("overloaded", "server_error", "api_error", "unavailable")


class UnfitError(LLMError):
    """The server refused the content of a request; a smaller request may be fine."""


class Patience(NamedTuple):
    """How long to wait for a connection and for each piece of an answer, in seconds, and how often to retry."""

    connect_seconds: float = 10.0
    answer_seconds: float = 120.0
    retries: int = 5


class RefusalPatterns(NamedTuple):
    """A provider's wording of refusals.

    Attributes:
        too_long: matches its refusal, kind first, of a request that exceeds its window.
        window: the first group is the window in tokens, if a refusal names it.
        stale: matches its refusal of returned reasoning; `None`: it never refuses that.
    """

    too_long: re.Pattern[str]
    window: re.Pattern[str]
    stale: re.Pattern[str] | None = None


class Account:
    """A server's address and key, and the SDK's client for them. Threads may share it.

    `sdk` is the provider's package; its client is called `sdk_client`. One generator makes the SDKs of Anthropic and
    OpenAI: clients and errors have the same names. `broken` are lower-level errors that an SDK lets through.
    """

    sdk: ClassVar[ModuleType]
    sdk_client: ClassVar[str]
    broken: ClassVar[tuple[type[Exception], ...]] = ()
    usual_url: ClassVar[str]
    usual_key: ClassVar[str]
    words: ClassVar[RefusalPatterns]
    client: Any

    def __init__(
        self,
        url: str = "",
        *,
        patience: Patience | None = None,
        environment: Mapping[str, str] = os.environ,
        key_name: str = "",
    ) -> None:
        """Take the server's address; "" is `usual_url`.

        The key comes from `key_name` of the environment, "" `usual_key`. Local servers need none.

        Raises:
            ConfigError: the address is invalid, or there is no key for it.
        """
        self.url = (url or self.usual_url).rstrip("/")
        parts = address(self.url, self.usual_url)
        self.host = parts.netloc
        self.is_usual = self.url == self.usual_url
        self._key_name = key_name or self.usual_key
        self._key = environment.get(self._key_name, "").strip()
        if not self._key and not is_here(parts):
            raise ConfigError(f"missing API key for {self.url}: set the environment variable {self._key_name}")
        # The window that a refusal of the server named; `None`: none yet.
        self.refused_window_tokens: int | None = None
        # Places of request options in the settings, by name: a refusal may concern one of them.
        self.places: Mapping[str, str] = {}
        patience = patience or Patience()
        self.client = getattr(self.sdk, self.sdk_client)(
            api_key=self._key or NO_KEY,
            base_url=self.url,
            timeout=self.sdk.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self.client.close()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Raise the SDK's failures as our errors.

        Raises:
            ContextOverflowError: the request is too long.
            StaleThinkingError: reasoning in it is refused.
            UnfitError: other content was refused.
            LLMError: the server is unreachable, too busy, refused, or gave an unusable answer; or this is closed.
        """
        if self.client.is_closed():
            raise LLMError("unreachable", f"connection to {self.url} is closed")
        try:
            yield
        except (self.sdk.APIError, ValueError, *self.broken) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> LLMError | ContextOverflowError:
        sdk, message = self.sdk, self.message(error)
        if isinstance(error, sdk.APITimeoutError):
            return LLMError("unreachable", f"{self.url} did not answer in time")
        if isinstance(error, sdk.APIConnectionError):
            return LLMError("unreachable", f"cannot reach {self.url}: {self.message(error.__cause__ or error)}")
        if isinstance(error, sdk.APIStatusError):
            return self.refusal(error.status_code, f"{getattr(error, 'code', None) or ''} {error.type or ''}", message)
        if isinstance(error, self.broken):
            return LLMError("unreachable", f"{self.url} broke off: {message}")
        return LLMError("unusable", f"unexpected answer from {self.url}: {message}")

    def events(self, stream: Iterable[T]) -> Iterator[T]:
        """Yield the events of a stream; the consumer's errors do not count as the provider's."""
        iterator = iter(stream)
        while True:
            with self.failures():
                event = next(iterator, None)
            if event is None:
                return
            yield event

    def refusal(self, status: int, kind: str, message: str) -> LLMError | ContextOverflowError:
        """Return a server's refusal as our error, by who must act: the first rule that applies.

        `status` is that of HTTP, below 400 if a stream ended with it; `kind` has the provider's names for it.
        """
        shown = f" ({status})" if status >= 400 else ""
        if status in _KEY_STATUSES:
            return LLMError("refused", f"{self.url} rejects the API key in {self._key_name} ({status}): {message}")
        if _is_busy(status, kind):
            return LLMError("rate-limit", f"rate limit of {self.url} exceeded: {message}")
        if status < _FAILS and self.words.too_long.search(f"{kind} {message}"):
            if window := self.words.window.search(message):
                self.refused_window_tokens = int(window[1])
            return ContextOverflowError(f"{self.url} refuses a request: {message}")
        if status >= _FAILS or any(name in kind for name in _BROKEN_KINDS):
            return LLMError("unreachable", f"{self.url} fails{shown}: {message}")
        return self._refused_content(status, shown, message)

    def _refused_content(self, status: int, shown: str, message: str) -> LLMError:
        if self.words.stale and self.words.stale.search(message):
            return StaleThinkingError("refused", f"{self.url} refuses reasoning that comes back: {message}")
        if status < 400:
            return LLMError("unusable", f"unexpected answer from {self.url}: {message}")
        named = [place for name, place in self.places.items() if re.search(rf"\b{re.escape(name)}\b", message)]
        advice = f"; see {', '.join(named)} in the settings" if named else ""
        error = UnfitError if status in _UNFIT_STATUSES else LLMError
        return error("refused", f"{self.url} refuses{shown}: {message}{advice}")

    def message(self, error: BaseException) -> str:
        """Return the message of an SDK's error in one line, without the key."""
        body = getattr(error, "body", None)
        text = getattr(error, "api_message", None) or (body.get("message") if isinstance(body, dict) else None)
        line = " ".join(str(text or error).split())[:MOST_SAID_CHARS]
        return line.replace(self._key, "***") if self._key else line


def _is_busy(status: int, kind: str) -> bool:
    """Return whether requests come too fast; a used-up quota is something else."""
    return (status == _TOO_MANY or any(name in kind for name in _BUSY_KINDS)) and "insufficient_quota" not in kind


class ChatModel(ABC):
    """The base of every model: a name, a counter for hosts, and jobs. Threads may share it."""

    form = "openai.chat"

    def __init__(self, name: str, counter: TokenCounter) -> None:
        self.name = name
        self.counter = counter

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt; a model thinks as little as possible, to save the answer's room.

        Raises:
            ContextOverflowError: the prompt does not fit.
            LLMError: there is no whole answer.
        """
        text, reply = self._job(system, prompt, max_output_tokens)
        if reply.finish == "length":
            raise LLMError(
                "cut",
                f"the answer of {self.name} was cut off at {max_output_tokens} tokens or at the end of its window",
            )
        if not text.strip():
            raise LLMError("empty", f"{self.name} returned an empty answer")
        return Completion(text, reply.input_tokens, reply.output_tokens)

    @abstractmethod
    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        """Return the answer to a prompt without a conversation around it."""


# The text of an answer, and all of it.
TextReply = tuple[str, Reply]


class ProviderModel(ChatModel):
    """A model behind an account."""

    # A name for error texts.
    example: ClassVar[str]

    def __init__(self, model: str, account: Account, counter: TokenCounter | None) -> None:
        """Name a model. Hosts count texts with `counter`, `None`: `classes`.

        Raises:
            ConfigError: no model is named.
        """
        if not model or model != model.strip() or not model.isprintable():
            raise ConfigError(f"{model!r:.80} is not a model name; use one like {self.example}")
        super().__init__(model, counter or builtin_counter("classes"))
        self._account = account

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._account.close()


def job_messages(system: str, prompt: str) -> list[dict[str, object]]:
    """Return a job as messages in the form "openai.chat"."""
    head: list[dict[str, object]] = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": prompt}]


def check_room(model: str, tokens: int, max_output_tokens: int, window_tokens: int) -> None:
    """Check that a prompt and its answer fit a window.

    Raises:
        ContextOverflowError: they do not.
    """
    if tokens + max_output_tokens > window_tokens:
        raise ContextOverflowError(
            f"the request (up to {tokens} tokens) and the answer ({max_output_tokens}) exceed {model}'s window of "
            f"{window_tokens} tokens; shorten it, or ask for a shorter answer"
        )


class ChatAnswer:
    """An answer in the form "openai.chat", assembled from the chunks of its stream."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {"role": "assistant", "content": None}
        self.finish = ""
        self.usage: object = None
        self._calls: dict[int, dict[str, Any]] = {}

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Take a chunk, and return the text in it."""
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        self.finish = str(choice.get("finish_reason") or self.finish)
        delta = dict(choice.get("delta") or {})
        calls, text = delta.pop("tool_calls", None), delta.get("content")
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            self._add_call(place, call)
        delta.pop("role", None)
        self.message |= {key: _joined(self.message.get(key), value) for key, value in delta.items()}
        return text if isinstance(text, str) else ""

    def calls(self) -> list[dict[str, Any]]:
        """Return the tool calls so far, in order."""
        return [self._calls[place] for place in sorted(self._calls)]

    def reply(self, finish: str) -> Reply:
        """Return the answer with its calls, and the tokens that its usage reports."""
        if calls := self.calls():
            self.message["tool_calls"] = calls
        tokens = number(self.usage, "prompt_tokens")
        cached = min(number(self.usage, "prompt_tokens_details", "cached_tokens"), tokens)
        return Reply(self.message, finish, tokens, number(self.usage, "completion_tokens"), cached)

    def _add_call(self, place: int, piece: Mapping[str, Any]) -> None:
        at = piece.get("index")
        call = self._calls.setdefault(at if isinstance(at, int) else len(self._calls) + place, {})
        for key, value in piece.items():
            if isinstance(value, dict):
                call[key] = _grown(call.get(key), value)
            elif key != "index" and value is not None:
                call[key] = value


def _grown(function: object, piece: Mapping[str, Any]) -> dict[str, Any]:
    """Return a called function with one more piece: arguments arrive in pieces, the name at once."""
    grown = dict(function) if isinstance(function, dict) else {}
    for key, value in piece.items():
        if value is not None:
            grown[key] = f"{grown.get(key) or ''}{value}" if key in {"arguments", "input"} else value
    return grown


def _joined(before: object, piece: object) -> object:
    """Append one more piece to the value of a key."""
    if piece is None or before is None:
        return before if piece is None else piece
    if isinstance(before, str) and isinstance(piece, str):
        return before + piece
    if isinstance(before, list) and isinstance(piece, list):
        return [*before, *piece]
    return piece


def unit_vector(model: str, numbers: object, dimensions: int) -> tuple[float, ...]:
    """Return a model's output as a vector of length 1 with `dimensions` numbers, 0: any.

    Raises:
        LLMError: it is no list of numbers, or has a wrong length or no direction.
    """
    if (
        not isinstance(numbers, list | tuple)
        or not numbers
        or not all(isinstance(value, int | float) for value in numbers)
    ):
        raise LLMError("unusable", f"{model} returned an invalid vector")
    if dimensions and len(numbers) != dimensions:
        raise LLMError("unusable", f"{model} made a vector of {len(numbers)}, not {dimensions}, numbers")
    try:
        return unit([float(value) for value in numbers])
    except (ValueError, OverflowError) as error:
        raise LLMError("unusable", f"{model} made {error}") from error


def number(table: object, *path: str) -> int:
    """Return the whole number at a path of keys in a table; else 0."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if type(table) is int and table > 0 else 0


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def address(url: str, example: str) -> SplitResult:
    """Return the parts of a server's address, without user, query or fragment.

    Raises:
        ConfigError: it is no http or https address; the text shows `example`.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"url {_shown(url)!a:.80} is not an address: {error}") from error
    # A user precedes an "@": keys come from the environment.
    beside = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in {"http", "https"} or not parts.hostname or beside:
        raise ConfigError(f"url {_shown(url)!a:.80} is not an address; write one like {example}")
    return parts


def _shown(url: str) -> str:
    """Return an address without a password."""
    front, at, rest = url.rpartition("@")
    return f"{front.partition('//')[0]}//***@{rest}" if at else url


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is on this machine."""
    host = parts.hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def well_formed(text: str) -> str:
    """Return a sendable text: halves of surrogate pairs become U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def writable(value: object) -> Any:  # noqa: ANN401  # JSON
    """Return a JSON value with sendable texts."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {writable(key): writable(inner) for key, inner in value.items()}
    return [writable(inner) for inner in value] if isinstance(value, list | tuple) else value
