"""OpenAI's API, and that of all servers which speak like it, by OpenAI's own SDK."""

from __future__ import annotations

import base64
import json
import re
import threading
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, cast

import openai

from squidbot.adapters.common import providers
from squidbot.adapters.common.options import for_jobs, places
from squidbot.adapters.common.providers import ModelAnswer, ProviderModel, UnfitError, number, unit_vector, writable
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.core.sizing.header import Served
from squidbot.core.tokens.counters import builtin_counter
from squidbot.core.vectors import unpacked
from squidbot.core.view.steps import refuse_server_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openai import Stream

    from squidbot.core.messages import Reply
    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.header import Definition


# Where OpenAI's prompt cache is told to keep a prefix: where the next plan goes on from, beside the
# end.

MARK: Final = "prompt_cache_breakpoint"
# Of those that a request brings so many are written, beside OpenAI's own; one more where it sets none.
_MOST_WRITTEN: Final = 3
_SINCE: Final = (5, 6)
_VERSION: Final = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?")
_EXPLICIT: Final = {"mode": "explicit"}
# What the model said bears none.
_BEARING: Final = frozenset({"text", "image_url", "input_audio", "file", "input_text", "input_image", "input_file"})


def takes_breakpoints(model: str) -> bool:
    """Return whether a model of OpenAI's has them, by its name."""
    found = _VERSION.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _SINCE


def marked(
    messages: Sequence[Mapping[str, object]], stable: Sequence[int], part: str, *, ends: bool
) -> list[Mapping[str, object]]:
    """Return messages, or items of Responses, with breakpoints; beside these nothing changes.

    `stable` says how many of them stay as they are, from the first; `ends`: they stand where this request ends, and
    where the one before it did, too. Where a message can bear none it stands behind one before. A text becomes the part
    that it stands for, of the type `part`.
    """
    said = list(messages)
    most = _MOST_WRITTEN + ends
    for count in sorted({*stable, *(_ends(said) if ends else ())})[-most:]:
        for at in range(min(count, len(said)) - 1, -1, -1):
            if (made := _with_mark(said[at], part)) is not None:
                said[at] = made
                break
    return said


def _ends(said: Sequence[Mapping[str, object]]) -> tuple[int, int]:
    """Return how many messages the request before this one had, and how many this one has."""
    before = len(said)
    while before and _bears(said[before - 1]):
        before -= 1
    while before and not _bears(said[before - 1]):
        before -= 1
    return before, len(said)


def _bears(message: Mapping[str, object]) -> bool:
    """Return whether a message was said to the model, and not by it."""
    return message.get("role", "assistant") != "assistant" or str(message.get("type", "")).endswith("_call_output")


def _with_mark(message: Mapping[str, object], part: str) -> Mapping[str, object] | None:
    """Return a message with a breakpoint at its end; None where it can bear none."""
    name = "output" if str(message.get("type", "")).endswith("_call_output") else "content"
    if not _bears(message):
        return None
    content = message.get(name)
    if isinstance(content, str) and content:
        content = [{"type": part, "text": content}]
    if not isinstance(content, list) or not content or not isinstance(content[-1], dict):
        return None
    last = content[-1]
    if last.get("type") not in _BEARING or last.get("text") == "":
        return None
    return {**message, name: [*content[:-1], {**last, MARK: last.get(MARK, _EXPLICIT)}]}


# The SDK with a key from the environment; its failures in our words.


class OpenAIAccount(providers.Account):
    """Who asks OpenAI, or a server that speaks like it: its address with its "/v1". Threads may share it."""

    sdk, sdk_client = openai, "OpenAI"
    client: openai.OpenAI
    usual_url = "https://api.openai.com/v1"
    usual_key = providers.USUAL_KEYS["openai"]
    words = providers.RefusalPatterns(
        # Those of OpenAI, OpenRouter, vLLM, llama-server, LM Studio and text-embeddings-inference for what is too long.
        too_long=re.compile(
            r"maximum (?:context|input) length|context_length_exceeded|exceed.{0,50}\b(?:context|tokens)"
            r"|input is too (?:long|large)|must have less than \d+ tokens|longer than the maximum"
            r"|context (?:the )?overflows|context length of only|greater than the context length",
            re.IGNORECASE | re.DOTALL,
        ),
        # Where one of them tells the window beside it.
        window=re.compile(
            r"(?:maximum context length is|maximum model length of|available context size \(|context length of only)"
            r" ?(\d+)"
        ),
    )

    def _failure(self, error: Exception) -> LLMError | ContextOverflowError:
        # A stream that breaks off ends with an error that has no status.
        if isinstance(error, openai.APIError) and not isinstance(
            error, openai.APIConnectionError | openai.APIStatusError
        ):
            return self.broken_off(error.body, self.said(error))
        return super()._failure(error)

    def broken_off(self, body: object, said: str) -> LLMError | ContextOverflowError:
        """Return the failure that a stream ends with, as its last event tells it."""
        told: dict[str, object] = cast("dict[str, object]", body) if isinstance(body, dict) else {}
        code = told.get("code")
        # OpenRouter's streams end with the status that their provider answered.
        return self.refusal(code if isinstance(code, int) else 0, f"{code or ''} {told.get('type') or ''}", said)


# Texts as vectors by a provider's embedding model: in requests within its limits, with what comes
# back checked.

# OpenAI's API reference, embeddings, 2026: texts of one request, and tokens of all of them. Of one text 8,192, which
# the server counts itself: it refuses, and so is asked.
MOST_TEXTS = 2_048
MOST_TOKENS = 300_000
# What a vector of each of OpenAI's models has: who has read it need not ask.
_DIMENSIONS = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072, "text-embedding-ada-002": 1_536}


class OpenAIEmbedder:
    """Makes vectors with a model behind an API; a text that is too long is refused, never cut. Threads may share it.

    Servers that take fewer texts at once than OpenAI are asked with fewer, once they have refused more.
    """

    def __init__(
        self, model: str, url: str = "", *, dimensions: int | None = None, account: OpenAIAccount | None = None
    ) -> None:
        """Name a model, and a server's address with its "/v1"; "" is OpenAI's. Nothing is asked yet.

        `dimensions` asks for shorter vectors than the model's own, which OpenAI's third models can.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
        """
        if not model:
            raise ConfigError("the embedder openai needs a model, such as text-embedding-3-small")
        self._account = account or OpenAIAccount(url)
        self._model = model
        self._asked = dimensions
        self._dimensions = dimensions or (_DIMENSIONS.get(model, 0) if self._account.is_usual else 0)
        self._most_texts = MOST_TEXTS
        self._counter = builtin_counter("classes")
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model, behind its server where that is not OpenAI's own: models of two servers may have one name."""
        host = "" if self._account.is_usual else f"{self._account.host}/"
        return f"openai/{host}{self._model}{f':{self._asked}' if self._asked else ''}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; of a model that is not known here a text is sent to learn it.

        Raises:
            LLMError: it can't be learned.
        """
        if not self._dimensions:
            self._request(["x"])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order. Halves of surrogate pairs are sent as U+FFFD.

        Raises:
            ContextOverflowError: a text is too long for the model.
            LLMError: there are no vectors; an empty text has none.
        """
        if not all(texts):
            raise LLMError("refused", "an empty text has no vector: providers refuse it")
        sent = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return [vector for batch in self._batches(sent) for vector in self._made(batch)]

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._account.close()

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in texts:
            more = self._counter.upper_bound(text)
            if batch and (tokens + more > MOST_TOKENS or len(batch) >= self._most_texts):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += more
        if batch:
            yield batch

    def _made(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return the vectors of a batch, in halves where the server refuses it as a whole."""
        try:
            return self._request(texts)
        except (UnfitError, ContextOverflowError):
            if len(texts) == 1:
                raise
        half = len(texts) // 2
        made = [*self._made(texts[:half]), *self._made(texts[half:])]
        # Each half went through, so that it was the number of texts, or of all their tokens.
        self._most_texts = min(self._most_texts, half)
        return made

    def _request(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        # OpenAI's own sends base64, a quarter of the bytes; others may not know it.
        with self._account.failures():
            answer = self._account.client.embeddings.with_raw_response.create(
                model=self._model,
                input=list(texts),
                encoding_format="base64" if self._account.is_usual else "float",
                extra_body={"dimensions": self._asked} if self._asked else None,
            )
        try:
            data = {each["index"]: _numbers(each["embedding"]) for each in json.loads(answer.content)["data"]}
            made = [data[place] for place in range(len(texts))]
        except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
            raise LLMError(
                "unusable", f"{self._model} made no vectors of {len(texts)} texts: {error!r:.200}"
            ) from error
        with self._lock:
            self._dimensions = self._dimensions or len(made[0])
        return [unit_vector(self._model, vector, self._dimensions) for vector in made]


def _numbers(said: object) -> list[float]:
    """Return the numbers of a vector, as a list or in base64.

    Raises:
        TypeError, ValueError, OverflowError: these are none.
    """
    if isinstance(said, str):
        return [*unpacked(base64.b64decode(said, validate=True))]
    if not isinstance(said, list) or not said:
        raise TypeError(f"{said!r:.80} is no vector")
    return [*map(float, said)]


# What both of OpenAI's ways to ask have in common: a model behind a server, its window, and how a
# request is put.

Json = dict[str, object]

# How little a model that reasons can be asked to do of it for a job, the least first; the last one asks for nothing.
# Which of these a model takes differs from one to the next.
_EFFORTS: Final = ("none", "minimal", "low", "")


class OpenAIModel(ProviderModel):
    """What is the same of a model, whichever way it is asked. Threads may share it."""

    example = "gpt-5.1"
    _account: OpenAIAccount
    # What of a request the messages are.
    _conversation: str
    # What a text is called as a part of a message.
    _part: str

    def __init__(
        self,
        model: str,
        url: str = "",
        *,
        account: OpenAIAccount | None = None,
        counter: TokenCounter | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Name a model, and a server's address with its "/v1"; "" is OpenAI's. Nothing is asked yet.

        `counter` is what hosts count texts with, None: `classes`. `options` go into requests as they are, but for
        those that shape an answer, which jobs go without.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
            InvalidRequestError: an option has the provider keep the history.
        """
        self._options = dict(options or {})
        refuse_server_state(self._options)
        super().__init__(model, account or OpenAIAccount(url), counter)
        new = self._account.is_usual and takes_breakpoints(model)
        # Who says how newer models cache has one, whatever it is called and whoever serves it.
        self._marks = new or "prompt_cache_options" in self._options
        self._effort = 0 if self._account.is_usual else len(_EFFORTS) - 1

    @property
    def window_tokens(self) -> int | None:
        """What the server named when it refused what was longer; None where it has not: nobody tells it before."""
        return self._account.refused_window_tokens

    @property
    def served(self) -> Served:
        """The window as far as it is known by now."""
        return Served(self.window_tokens)

    def embedder(self) -> OpenAIEmbedder:
        """Return what makes vectors with this model; nothing is asked before there is a text."""
        return OpenAIEmbedder(self._model, account=self._account)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, or its response; what became of reasoning is told in it.

        Newer models' cache is told to keep a prefix up to where `stable` says; older ones keep what prompts share.

        Raises:
            ContextOverflowError: messages and tools don't fit.
            LLMError: there is no answer.
        """
        request: Json = {**self._options, self._conversation: list(messages)}
        if tools:
            request["tools"] = list(tools)
        return self._cached(request, self._with_marks(messages, stable), max_output_tokens, told).reply

    def _with_marks(self, messages: Sequence[Mapping[str, object]], stable: Sequence[int]) -> list[object] | None:
        """Return messages with breakpoints; None where the server takes none, as far as is known."""
        if not self._marks:
            return None
        given = self._options.get("prompt_cache_options")
        explicit = isinstance(given, dict) and given.get("mode") == "explicit"
        return [*marked(messages, stable, self._part, ends=explicit)]

    def _cached(
        self, request: Json, said: list[object] | None, most: int, told: Callable[[str], None] | None
    ) -> ModelAnswer:
        """Return the answer to a request, with what is said in its place if there is any."""
        if said is not None:
            try:
                return self._said({**request, self._conversation: said}, most, told)
            except UnfitError as error:
                if MARK not in str(error):
                    raise
                self._marks = False
        return self._said(request, most, told)

    @abstractmethod
    def _prompt(self, system: str, prompt: str) -> Json:
        """Return what a request says for a job."""

    @abstractmethod
    def _thinking(self, effort: str) -> Json:
        """Return what a request says of how much to reason."""

    @abstractmethod
    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> ModelAnswer:
        """Return the answer to a request, of at most `most` tokens.

        Raises:
            ContextOverflowError, LLMError: as `OpenAIAccount.failures` lets them out; or the answer did not end.
        """

    def _job(self, system: str, prompt: str, most: int) -> ModelAnswer:
        request = self._prompt(system, prompt)
        for place in range(self._effort, len(_EFFORTS)):
            thinking = self._thinking(_EFFORTS[place]) if _EFFORTS[place] else {}
            try:
                said = self._said({**for_jobs(self._options), **request, **thinking}, most, None)
            except UnfitError as error:
                if not thinking or not _is_of_thinking(str(error)):
                    raise
                continue
            self._effort = place
            return said
        raise LLMError("refused", f"{self._model} takes no request")  # the last one says nothing of it

    def _events(self, opens: Callable[[], Stream[object]]) -> Iterator[Json]:
        """Yield what a stream brings; what is done with it is not among the failures of the provider."""
        with self._account.failures():
            stream = opens()
        with stream:
            yield from map(dumped, self._account.events(stream))


def _is_of_thinking(said: str) -> bool:
    return any(word in said for word in ("reasoning", "effort"))


def dumped(event: object) -> Json:
    """Return an object of the SDK as it was on the wire.

    Raises:
        LLMError: it is none.
    """
    dump = getattr(event, "model_dump", None)
    made = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False) if dump else None
    if not isinstance(made, dict):
        raise LLMError("unusable", f"a piece of the answer is {event!r:.80}")
    return made


# A model asked by chat completions: OpenAI's own, or that of any server which speaks like it.

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

    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> ModelAnswer:
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

    def _streamed(self, request: Json, told: Callable[[str], None] | None) -> ModelAnswer:
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

    def whole(self, model: str, url: str) -> ModelAnswer:
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
        return ModelAnswer(
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


# A model asked by OpenAI's Responses, of which the provider keeps nothing.

# A smaller room for the answer is refused.
LEAST_OUTPUT_TOKENS: Final = 16
# Nothing is kept at the provider, so its reasoning comes sealed, to be sent back.
_STATELESS: Final[Json] = {"store": False, "include": ["reasoning.encrypted_content"]}
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")


class _ResponsesAnswer:
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

    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> ModelAnswer:
        # All of it goes beside what the SDK has names for: that it looks at once for every type that an item can have,
        # for a quarter of a second in a request of a hundred items.
        clean = {key: writable(value) for key, value in {**request, **_STATELESS}.items()}
        clean["max_output_tokens"] = max(most, LEAST_OUTPUT_TOKENS)
        side = self._account.client.responses
        answer = _ResponsesAnswer()
        opened = lambda: side.create(model=self._model, stream=True, extra_body=clean)  # noqa: E731
        for event in self._events(opened):
            if event.get("type") == "error":
                raise self._account.broken_off(event, str(event.get("message")))
            text = answer.take(event)
            if told is not None and text:
                told(text)
        return self._whole(answer.last, answer.items, answer.text)

    def _whole(self, last: Json, items: list[object], text: str) -> ModelAnswer:
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
        return ModelAnswer({**response, "output": output}, text, finish, asked, number(usage, "output_tokens"), cached)


# A model that settings define, asked by chat completions or by Responses.


def open_model(definition: Definition, counter: TokenCounter | None = None) -> OpenAIChatModel | OpenAIResponsesModel:
    """Return a model; `definition.api` is "responses", or "chat" and "" for chat completions. Nothing is asked yet.

    Raises:
        ConfigError: no model is named, the address is none, or there is no key for it.
    """
    kind: type[OpenAIModel] = OpenAIResponsesModel if definition.api == "responses" else OpenAIChatModel
    account = OpenAIAccount(definition.url, key_name=definition.key_env)
    account.places = places(definition.options, definition.alias)
    return kind(definition.model, account=account, counter=counter, options=definition.options)  # type: ignore[return-value]  # one of both
