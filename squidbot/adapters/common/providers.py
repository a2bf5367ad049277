"""Who asks a provider: its address, a key from the environment, patience; and its refusals in our words.

What each adapter adds is its SDK, and the words that its provider has for what is wrong.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from squidbot.adapters.common.files import OWN_FILE, open_own
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

# Where the key of an adapter is, unless settings name another variable.
USUAL_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
# What servers that ask for no key are given: SDKs send none that is empty.
NO_KEY = "none"
# Of what a server says, as much as a person reads.
MOST_SAID_CHARS = 400

_KEY_STATUSES = frozenset({401, 403})
_TOO_MANY, _FAILS = 429, 500
# What a request is refused with for what is in it.
_UNFIT_STATUSES = frozenset({400, 413, 422})
_BUSY_KINDS = ("rate_limit",)
_BROKEN_KINDS = ("overloaded", "server_error", "api_error", "unavailable")


class UnfitError(LLMError):
    """The server refused a request for what was in it, which a smaller one may not have."""


class Patience(NamedTuple):
    """How long to wait for a connection and for each piece of an answer, in seconds, and how often to try again."""

    connect_seconds: float = 10.0
    answer_seconds: float = 120.0
    retries: int = 5


class RefusalPatterns(NamedTuple):
    """How a provider says what is wrong.

    Attributes:
        too_long: found in its refusal, with the kind in front, of a request that does not fit its window.
        window: its first group is the window in tokens, where a refusal tells it.
        stale: found in its refusal of reasoning that comes back; None: it never refuses that.
    """

    too_long: re.Pattern[str]
    window: re.Pattern[str]
    stale: re.Pattern[str] | None = None


class Account:
    """A server's address and a key, and the SDK's client for them. Threads may share it.

    `sdk` is the provider's package; its client is called `sdk_client`. The SDKs of Anthropic and OpenAI come from one
    generator: clients and errors have the same names. `broken` are errors that an SDK lets through from below.
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

        The key is `key_name` of the environment, "" `usual_key`. Servers on this machine need none.

        Raises:
            ConfigError: that is no address, or there is no key for it.
        """
        self.url = (url or self.usual_url).rstrip("/")
        parts = address(self.url, self.usual_url)
        self.host = parts.netloc
        self._key_name = key_name or self.usual_key
        self._key = environment.get(self._key_name, "").strip()
        if not self._key and not is_here(parts):
            raise ConfigError(f"no key for {self.url}; set {self._key_name} in the environment")
        # The window that the server named when it refused; None: it has not.
        self.refused_window_tokens: int | None = None
        # Where the options of requests stand in the settings, by their names: a refusal may be of one of them.
        self.places: Mapping[str, str] = {}
        patience = patience or Patience()
        self.client = getattr(self.sdk, self.sdk_client)(
            api_key=self._key or NO_KEY,
            base_url=self.url,
            timeout=self.sdk.Timeout(patience.answer_seconds, connect=patience.connect_seconds),
            max_retries=patience.retries,
        )

    @property
    def is_usual(self) -> bool:
        """Whether the server is the provider's own."""
        return self.url == self.usual_url

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self.client.close()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Let the SDK's failures out as ours.

        Raises:
            ContextOverflowError: the request is too long.
            StaleThinkingError: reasoning in it is refused.
            UnfitError: it was refused for something else that was in it.
            LLMError: the server was not reached, is too busy, refused, or said what can't be used; or this is closed.
        """
        if self.client.is_closed():
            raise LLMError("unreachable", f"the connections to {self.url} are closed")
        try:
            yield
        except (self.sdk.APIError, ValueError, *self.broken) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> LLMError | ContextOverflowError:
        sdk = self.sdk
        if isinstance(error, sdk.APITimeoutError):
            return LLMError("unreachable", f"{self.url} did not answer in time")
        if isinstance(error, sdk.APIConnectionError):
            return LLMError("unreachable", f"{self.url} is not reached: {self.said(error.__cause__ or error)}")
        if isinstance(error, sdk.APIStatusError):
            kind = f"{getattr(error, 'code', None) or ''} {error.type or ''}"
            return self.refusal(error.status_code, kind, self.said(error))
        if isinstance(error, self.broken):
            return LLMError("unreachable", f"{self.url} broke off: {self.said(error)}")
        return self.unusable(self.said(error))

    def events(self, stream: Iterable[T]) -> Iterator[T]:
        """Yield what a stream brings; what is done with it is not among the failures of the provider."""
        coming = iter(stream)
        while True:
            with self.failures():
                event = next(coming, None)
            if event is None:
                return
            yield event

    def refusal(self, status: int, kind: str, said: str) -> LLMError | ContextOverflowError:
        """Return a server's refusal as ours.

        `status` is that of HTTP, below 400 where a stream broke off with it; `kind` has the provider's names for it.
        """
        if status in _KEY_STATUSES:
            return LLMError("refused", f"{self.url} does not take the key in {self._key_name} ({status}): {said}")
        if (status == _TOO_MANY or _among(_BUSY_KINDS, kind)) and "insufficient_quota" not in kind:
            return LLMError("rate-limit", f"{self.url} is asked too often: {said}")
        told = f" ({status})" if status >= 400 else ""
        if status < _FAILS and self.words.too_long.search(f"{kind} {said}"):
            return self._overflow(said)
        if status >= _FAILS or _among(_BROKEN_KINDS, kind):
            return LLMError("unreachable", f"{self.url} fails{told}: {said}")
        return self._unfit(status, f"refuses{told}: {said}{self._blamed(said)}", said)

    def _overflow(self, said: str) -> ContextOverflowError:
        if found := self.words.window.search(said):
            self.refused_window_tokens = int(found[1])
        return ContextOverflowError(f"{self.url} refuses a request: {said}")

    def _blamed(self, said: str) -> str:
        """Return which options of the settings a refusal names."""
        named = [place for name, place in self.places.items() if re.search(rf"\b{re.escape(name)}\b", said)]
        return f"; see {', '.join(named)} in the settings" if named else ""

    def _unfit(self, status: int, refuses: str, said: str) -> LLMError:
        if self.words.stale and self.words.stale.search(said):
            return StaleThinkingError("refused", f"{self.url} refuses reasoning that comes back: {said}")
        if status in _UNFIT_STATUSES:
            return UnfitError("refused", f"{self.url} {refuses}")
        if status >= 400:
            return LLMError("refused", f"{self.url} {refuses}")
        return self.unusable(said)

    def unusable(self, said: str) -> LLMError:
        """Return that what came is no answer."""
        return LLMError("unusable", f"{self.url} answers something else: {said}")

    def said(self, error: BaseException) -> str:
        """Return what an error of the SDK says, in one line, without the key."""
        body = getattr(error, "body", None)
        told = getattr(error, "api_message", None) or (body.get("message") if isinstance(body, dict) else None)
        words = " ".join(str(told or error).split())[:MOST_SAID_CHARS]
        return words.replace(self._key, "***") if self._key else words


class ModelAnswer(NamedTuple):
    """A whole answer: the message as it was on the wire, its words, why it ended, and its tokens; 0 where unknown."""

    message: dict[str, object]
    text: str
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int

    @property
    def reply(self) -> Reply:
        """The answer as the next message of a conversation."""
        return Reply(self.message, self.finish, self.input_tokens, self.output_tokens, self.cached_tokens)


class ProviderModel(ABC):
    """A model behind an account: its name, its counter, and what a job must be answered. Threads may share it."""

    # A name to show where one is wrong.
    example: ClassVar[str]

    def __init__(self, model: str, account: Account, counter: TokenCounter | None) -> None:
        """Name a model. `counter` is what hosts count texts with, None: `classes`.

        Raises:
            ConfigError: no model is named.
        """
        if not model or model != model.strip() or not model.isprintable():
            raise ConfigError(f"{model!r:.80} is no name of a model; write one such as {self.example}")
        self._model = model
        self._account = account
        self._counter = counter or builtin_counter("classes")

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        return self._model

    @property
    def counter(self) -> TokenCounter:
        """What texts are counted with."""
        return self._counter

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._account.close()

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt; the model thinks as little as it can, since that takes the answer's room.

        Raises:
            ContextOverflowError: the prompt does not fit.
            LLMError: there is no whole answer.
        """
        answer = self._job(system, prompt, max_output_tokens)
        return completion(
            self._model, answer.text, answer.finish, max_output_tokens, (answer.input_tokens, answer.output_tokens)
        )

    @abstractmethod
    def _job(self, system: str, prompt: str, most: int) -> ModelAnswer:
        """Return the answer to a job, without a conversation around it."""


def completion(model: str, text: str, finish: str, most: int, tokens: tuple[int, int]) -> Completion:
    """Return the answer to a job of at most `most` tokens; `tokens` are those of the input and of the output.

    Raises:
        LLMError: it is not whole, or says nothing.
    """
    if finish == "length":
        raise LLMError("cut", f"{model} reached {most} tokens, or its window, in mid-answer")
    if not text.strip():
        raise LLMError("empty", f"{model} answered nothing")
    return Completion(text, *tokens)


def unit_vector(model: str, numbers: object, dimensions: int) -> tuple[float, ...]:
    """Return what a model made as a vector of length 1; `dimensions` is how many numbers it must have, 0: any.

    Raises:
        LLMError: it is no list of numbers, has another length, or no direction.
    """
    if not isinstance(numbers, list | tuple) or not numbers or not all(isinstance(one, int | float) for one in numbers):
        raise LLMError("unusable", f"{model} made a vector that is no list of numbers")
    if dimensions and len(numbers) != dimensions:
        raise LLMError("unusable", f"{model} made a vector of {len(numbers)}, not {dimensions}, numbers")
    try:
        return unit([float(one) for one in numbers])
    except (ValueError, OverflowError) as error:
        raise LLMError("unusable", f"{model} made {error}") from error


def number(table: object, *path: str) -> int:
    """Return a whole number that stands in a table under keys, one below the other; 0 where there is none."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if type(table) is int and table > 0 else 0


def _among(names: tuple[str, ...], kind: str) -> bool:
    return any(name in kind for name in names)


def address(url: str, example: str) -> SplitResult:
    """Return the parts of a server's address; a user, a query or a fragment are in none.

    Raises:
        ConfigError: it is no http or https address; the text shows `example`.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigError(f"url {_shown(url)!a:.80} is no address: {error}") from error
    # In front of an "@" stands a user: keys come from the environment.
    beside = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in {"http", "https"} or not parts.hostname or beside:
        raise ConfigError(f"url {_shown(url)!a:.80} is no address; write one like {example}")
    return parts


def _shown(url: str) -> str:
    """Return an address without what may be a password."""
    front, at, rest = url.rpartition("@")
    return f"{front.partition('//')[0]}//***@{rest}" if at else url


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is this machine's own."""
    host = parts.hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def writable(value: object) -> object:
    """Return a JSON value whose texts can be sent: halves of surrogate pairs become U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {writable(key): writable(inner) for key, inner in value.items()}
    return [writable(inner) for inner in value] if isinstance(value, list | tuple) else value


# Counts of texts that others made, by the texts' digests: kept in a file, so that no text is asked
# for twice.

# A digest and a number each: some megabytes.
MOST_TEXTS: Final = 65_536
# So many digits of a digest that no two texts have them alike.
DIGEST_CHARS: Final = 32
_LINE: Final = re.compile(r"([0-9a-f]{32}) ([0-9]{1,9})")


class KeptCounts:
    """Counts by digest, of what one counter has counted. Threads may share it.

    A disk that fails, or a damaged line, costs no more than that a text is counted once again.
    """

    def __init__(self, counter: str) -> None:
        """Take who counts: one that counts otherwise has another name. Kept in memory until `keep` names a file."""
        self._counter = counter
        self._known: dict[str, int] = {}
        self._path: Path | None = None
        self._lock = threading.Lock()

    def keep(self, path: str | os.PathLike[str]) -> None:
        """Take what a file has, and add to it from now on; it need not be there yet."""
        with self._lock:
            self._path = Path(path)
            with suppress(OSError):  # none yet; or unreadable, and then each text is asked for once more
                lines = self._path.read_text(encoding="ascii", errors="replace").splitlines()
                found = [line for line in map(_LINE.fullmatch, lines) if line]
                self._known |= {line[1]: int(line[2]) for line in found[-MOST_TEXTS:]}
                if len(lines) > 2 * MOST_TEXTS:
                    self._shorten(self._path)

    def key(self, text: str) -> str:
        """Return what a text is known by."""
        said = f"{self._counter}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(said).hexdigest()[:DIGEST_CHARS]

    def get(self, key: str) -> int | None:
        """Return the count of a text by its key; None where it was not counted yet."""
        with self._lock:
            return self._known.get(key)

    def put(self, key: str, count: int) -> None:
        """Take the count of a text, and add it to the file, if there is one."""
        with self._lock:
            if len(self._known) >= MOST_TEXTS:
                self._known.pop(next(iter(self._known)))
            self._known[key] = count
            if self._path is not None:
                with suppress(OSError):  # it is asked for once more, then
                    self._add(self._path, f"{key} {count}\n")

    @staticmethod
    def _add(path: Path, line: str) -> None:
        # One write behind all others: lines of several processes never mix.
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWN_FILE)
        try:
            os.write(number, line.encode("ascii"))
        finally:
            os.close(number)

    def _shorten(self, path: Path) -> None:
        """Write the newest alone. What another process adds meanwhile is asked for once more."""
        made = path.with_name(f"{path.name}.new")
        with open_own(made, "w") as file:
            file.write("".join(f"{key} {count}\n" for key, count in self._known.items()).encode("ascii"))
        made.replace(path)
