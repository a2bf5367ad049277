"""OpenAI's API, and compatible servers, by OpenAI's own SDK."""

from __future__ import annotations

import base64
import json
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, cast

import openai

from squidbot.adapters.common import providers
from squidbot.adapters.common.options import for_jobs, places
from squidbot.adapters.common.providers import (
    ChatAnswer,
    ProviderModel,
    TextReply,
    UnfitError,
    job_messages,
    number,
    unit_vector,
    well_formed,
    writable,
)
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.core.messages import Reply
from squidbot.core.sizing.header import RuntimeReport
from squidbot.core.tokens.counters import builtin_counter
from squidbot.core.vectors import unpacked
from squidbot.core.view.steps import refuse_server_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openai import Stream

    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.header import Definition


MARK: Final = "prompt_cache_breakpoint"
# Number of a request's breakpoints, beside OpenAI's own; one more if OpenAI sets none.
_MOST_WRITTEN: Final = 3
_SINCE: Final = (5, 6)
_VERSION: Final = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?")
_EXPLICIT: Final = {"mode": "explicit"}
# The model's output takes none.
_BEARING: Final = frozenset({"text", "image_url", "input_audio", "file", "input_text", "input_image", "input_file"})


def takes_breakpoints(model: str) -> bool:
    """Return whether an OpenAI model takes cache breakpoints, by its name."""
    found = _VERSION.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _SINCE


def marked(
    messages: Sequence[Mapping[str, object]], stable: Sequence[int], part: str, *, ends: bool
) -> list[Mapping[str, object]]:
    """Return messages, or items of Responses, with breakpoints; nothing else changes.

    `stable` counts the messages, from the first, that stay as they are. `ends` also puts breakpoints at the ends of
    this request and of the one before. If a message can't have one, an earlier message gets it. A text becomes the
    equivalent part, of the type `part`.
    """
    marked_items = list(messages)
    most = _MOST_WRITTEN + ends
    for count in sorted({*stable, *(_ends(marked_items) if ends else ())})[-most:]:
        for at in range(min(count, len(marked_items)) - 1, -1, -1):
            if (with_mark := _with_mark(marked_items[at], part)) is not None:
                marked_items[at] = with_mark
                break
    return marked_items


def _ends(items: Sequence[Mapping[str, object]]) -> tuple[int, int]:
    """Return the number of messages of the request before this one, and of this one."""
    before = len(items)
    while before and _bears(items[before - 1]):
        before -= 1
    while before and not _bears(items[before - 1]):
        before -= 1
    return before, len(items)


def _bears(message: Mapping[str, object]) -> bool:
    """Return whether a message is input of the model, and not its own output."""
    return message.get("role", "assistant") != "assistant" or str(message.get("type", "")).endswith("_call_output")


def _with_mark(message: Mapping[str, object], part: str) -> Mapping[str, object] | None:
    """Return a message with a breakpoint at its end; `None` if it can't have one."""
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


class OpenAIAccount(providers.Account):
    """An account at OpenAI or a compatible server, whose address ends in "/v1". Threads may share it."""

    sdk, sdk_client = openai, "OpenAI"
    client: openai.OpenAI
    usual_url = "https://api.openai.com/v1"
    usual_key = providers.USUAL_KEYS["openai"]
    words = providers.RefusalPatterns(
        # Overflow errors of OpenAI, OpenRouter, vLLM, llama-server, LM Studio and text-embeddings-inference.
        too_long=re.compile(
            r"maximum (?:context|input) length|context_length_exceeded|exceed.{0,50}\b(?:context|tokens)"
            r"|input is too (?:long|large)|must have less than \d+ tokens|longer than the maximum"
            r"|context (?:the )?overflows|context length of only|greater than the context length",
            re.IGNORECASE | re.DOTALL,
        ),
        # The window in some of these errors.
        window=re.compile(
            r"(?:maximum context length is|maximum model length of|available context size \(|context length of only)"
            r" ?(\d+)"
        ),
    )

    def _failure(self, error: Exception) -> LLMError | ContextOverflowError:
        # A broken stream ends with an error without a status.
        if isinstance(error, openai.APIError) and not isinstance(
            error, openai.APIConnectionError | openai.APIStatusError
        ):
            return self.broken_off(error.body, self.message(error))
        return super()._failure(error)

    def broken_off(self, body: object, message: str) -> LLMError | ContextOverflowError:
        """Return the failure that ends a stream, from its last event."""
        error: dict[str, object] = cast("dict[str, object]", body) if isinstance(body, dict) else {}
        code = error.get("code")
        # OpenRouter's streams end with their provider's status.
        return self.refusal(code if isinstance(code, int) else 0, f"{code or ''} {error.get('type') or ''}", message)


# OpenAI's API reference, embeddings, 2026: texts of one request, and their total tokens. For one text 8,192, which the
# server counts itself and refuses above.
MOST_TEXTS = 2_048
MOST_TOKENS = 300_000
# Dimensions of OpenAI's models: these need no request.
_DIMENSIONS = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072, "text-embedding-ada-002": 1_536}


class OpenAIEmbedder:
    """Embeds texts with a model behind an API; too long texts are refused, never cut. Threads may share it.

    Servers that take fewer texts at once than OpenAI get fewer after their first refusal.
    """

    def __init__(
        self, model: str, url: str = "", *, dimensions: int | None = None, account: OpenAIAccount | None = None
    ) -> None:
        """Name a model, and a server's address with its "/v1"; "" is OpenAI's. Send nothing yet.

        `dimensions` requests shorter vectors than the model's own, which OpenAI's third models support.

        Raises:
            ConfigError: no model is named, the address is invalid, or there is no key for it.
        """
        if not model:
            raise ConfigError("the embedder openai needs a model, such as text-embedding-3-small")
        self._account = account or OpenAIAccount(url)
        self._model = model
        self._asked = dimensions
        self._dimensions = dimensions or (_DIMENSIONS.get(model, 0) if self._account.is_usual else 0)
        self._most_texts = MOST_TEXTS
        self._counter = builtin_counter("classes")
        # With its server, unless that is OpenAI's: models of two servers may share a name.
        host = "" if self._account.is_usual else f"{self._account.host}/"
        self.name = f"openai/{host}{model}{f':{dimensions}' if dimensions else ''}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions; for an unknown model, send a text to find out.

        Raises:
            LLMError: it can't be found out.
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
            raise LLMError("refused", "cannot embed an empty text")
        return [vector for batch in self._batches([*map(well_formed, texts)]) for vector in self._vectors(batch)]

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

    def _vectors(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return the vectors of a batch, in halves if the server refuses it as a whole."""
        try:
            return self._request(texts)
        except (UnfitError, ContextOverflowError):
            if len(texts) == 1:
                raise
        half = len(texts) // 2
        vectors = [*self._vectors(texts[:half]), *self._vectors(texts[half:])]
        # Each half succeeded, so the number of texts, or of their tokens, was too large.
        self._most_texts = min(self._most_texts, half)
        return vectors

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
            data = {row["index"]: _numbers(row["embedding"]) for row in json.loads(answer.content)["data"]}
            vectors = [data[place] for place in range(len(texts))]
        except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
            raise LLMError(
                "unusable", f"{self._model} made no vectors of {len(texts)} texts: {error!r:.200}"
            ) from error
        self._dimensions = self._dimensions or len(vectors[0])
        return [unit_vector(self._model, vector, self._dimensions) for vector in vectors]


def _numbers(vector: object) -> list[float]:
    """Return the numbers of a vector, as a list or in base64.

    Raises:
        TypeError, ValueError, OverflowError: it has none.
    """
    if isinstance(vector, str):
        return [*unpacked(base64.b64decode(vector, validate=True))]
    if not isinstance(vector, list) or not vector:
        raise TypeError(f"{vector!r:.80} is no vector")
    return [*map(float, vector)]


Json = dict[str, object]

# How little reasoning to request for a job, the least first; models differ in what they take. After the last, request
# nothing.
_EFFORTS: Final = ("none", "minimal", "low")


class OpenAIModel(ProviderModel):
    """Base of both OpenAI APIs."""

    example = "gpt-5.1"
    _account: OpenAIAccount
    # The request key of its messages.
    _conversation: str
    # The type of a text as a part of a message.
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
        """Name a model, and a server's address with its "/v1"; "" is OpenAI's. Send nothing yet.

        `counter` is what hosts count texts with, `None`: `classes`. `options` go unchanged into requests; jobs omit
        those that shape an answer.

        Raises:
            ConfigError: no model is named, the address is invalid, or there is no key for it.
            InvalidRequestError: an option makes the provider keep the history.
        """
        self._options = dict(options or {})
        refuse_server_state(self._options)
        super().__init__(model, account or OpenAIAccount(url), counter)
        new = self._account.is_usual and takes_breakpoints(model)
        # Settings for newer models' cache imply a newer model, whatever its name or server.
        self._marks = new or "prompt_cache_options" in self._options
        self._effort = 0 if self._account.is_usual else len(_EFFORTS)

    @property
    def window_tokens(self) -> int | None:
        """The window that a refusal of the server named; `None` before: nothing else reports it."""
        return self._account.refused_window_tokens

    @property
    def served(self) -> RuntimeReport:
        """The window as far as it is known now."""
        return RuntimeReport(self.window_tokens)

    def embedder(self) -> OpenAIEmbedder:
        """Return an embedder with this model; send nothing before there is a text."""
        return OpenAIEmbedder(self.name, account=self._account)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, or its response.

        Newer models' caches are told to keep a prefix up to `stable`; older ones keep prefixes that prompts share.

        Raises:
            ContextOverflowError: messages and tools don't fit.
            LLMError: there is no answer.
        """
        request: Json = {**self._options, self._conversation: list(messages)}
        if tools:
            request["tools"] = list(tools)
        with_marks = self._with_marks(messages, stable) if self._marks else None
        if with_marks is not None:
            try:
                return self._answer({**request, self._conversation: with_marks}, max_output_tokens, on_text)[1]
            except UnfitError as error:
                if MARK not in str(error):
                    raise
                self._marks = False
        return self._answer(request, max_output_tokens, on_text)[1]

    def _with_marks(self, messages: Sequence[Mapping[str, object]], stable: Sequence[int]) -> list[object]:
        given = self._options.get("prompt_cache_options")
        explicit = isinstance(given, dict) and given.get("mode") == "explicit"
        return [*marked(messages, stable, self._part, ends=explicit)]

    @abstractmethod
    def _prompt(self, system: str, prompt: str) -> Json:
        """Return the keys of a request for a job."""

    @abstractmethod
    def _thinking(self, effort: str) -> Json:
        """Return the request keys that limit reasoning."""

    @abstractmethod
    def _answer(self, request: Mapping[str, object], most: int, on_text: Callable[[str], None] | None) -> TextReply:
        """Return the answer to a request, of at most `most` tokens.

        Raises:
            ContextOverflowError, LLMError: as `OpenAIAccount.failures`; or the answer did not end.
        """

    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        request = {**for_jobs(self._options), **self._prompt(system, prompt)}
        for place in range(self._effort, len(_EFFORTS)):
            try:
                return self._answer({**request, **self._thinking(_EFFORTS[place])}, most, None)
            except UnfitError as error:
                if not any(word in str(error) for word in ("reasoning", "effort")):
                    raise
            self._effort = place + 1
        return self._answer(request, most, None)

    def _events(self, opens: Callable[[], Stream[object]]) -> Iterator[Json]:
        with self._account.failures():
            stream = opens()
        with stream:
            yield from map(dumped, self._account.events(stream))


def dumped(event: object) -> Json:
    """Return an object of the SDK as it was on the wire.

    Raises:
        LLMError: it is none.
    """
    dump = getattr(event, "model_dump", None)
    value = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False) if dump else None
    if not isinstance(value, dict):
        raise LLMError("unusable", f"a piece of the answer is {event!r:.80}")
    return value


_FINISHES: Final = {"length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls"}


class OpenAIChatModel(OpenAIModel):
    """A `LoadedModel` by chat completions: OpenAI's own, or those of any compatible server.

    Answers are streamed. If an older server refuses these, later requests use `max_tokens` for the answer's room, and
    omit the request for usage.
    """

    _conversation = "messages"
    _part = "text"
    _room = "max_completion_tokens"
    _asks_usage = True

    def _prompt(self, system: str, prompt: str) -> Json:
        return {"messages": job_messages(system, prompt)}

    def _thinking(self, effort: str) -> Json:
        return {"reasoning_effort": effort}

    def _answer(self, request: Mapping[str, object], most: int, on_text: Callable[[str], None] | None) -> TextReply:
        while True:
            usage: Json = {"stream_options": {"include_usage": True}} if self._asks_usage else {}
            try:
                return self._streamed({**request, **usage, self._room: most}, on_text)
            except UnfitError as error:
                if self._room in str(error) and self._room != "max_tokens":
                    self._room = "max_tokens"
                elif usage and "stream_options" in str(error):
                    self._asks_usage = False
                else:
                    raise

    def _streamed(self, request: Json, on_text: Callable[[str], None] | None) -> TextReply:
        account, answer = self._account, ChatAnswer()
        completions, body = account.client.chat.completions, writable(request)
        # The SDK checks known keys piece by piece, which takes longer than all else; it requires messages.
        opened = lambda: completions.create(model=self.name, stream=True, messages=[], extra_body=body)  # noqa: E731
        for chunk in self._events(opened):
            text = answer.take(chunk)
            if on_text is not None and text:
                on_text(text)
        return self._finished(answer)

    def _finished(self, answer: ChatAnswer) -> TextReply:
        if not answer.finish:
            raise LLMError("unreachable", f"{self._account.url} closed the connection before the answer ended")
        if answer.finish == "content_filter":
            raise LLMError("refused", f"{self.name} refused to answer")
        calls, text = answer.calls(), answer.message["content"]
        if text is None and not calls and not answer.message.get("refusal"):
            answer.message["content"] = ""  # no server takes an empty message
        return str(text or ""), answer.reply(_FINISHES.get(answer.finish, "tool_calls" if calls else "stop"))


# A smaller room for the answer is refused.
LEAST_OUTPUT_TOKENS: Final = 16
# The provider keeps nothing, so its reasoning arrives encrypted, to be sent back.
_STATELESS: Final[Json] = {"store": False, "include": ["reasoning.encrypted_content"]}
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")


class OpenAIResponsesModel(OpenAIModel):
    """A `LoadedModel` by OpenAI's Responses; the provider keeps nothing of it.

    A reply's message is the whole response. Its `input_transformations` list earlier reasoning that the provider has
    omitted because the text before it has changed.
    """

    form = "openai.responses"
    _conversation = "input"
    _part = "input_text"

    def _prompt(self, system: str, prompt: str) -> Json:
        return {"input": prompt, **({"instructions": system} if system else {})}

    def _thinking(self, effort: str) -> Json:
        return {"reasoning": {"effort": effort}}

    def _answer(self, request: Mapping[str, object], most: int, on_text: Callable[[str], None] | None) -> TextReply:
        # Everything bypasses the SDK's named keys: it checks those against every item type, for a quarter of a second
        # in a request of a hundred items.
        body = writable({**request, **_STATELESS, "max_output_tokens": max(most, LEAST_OUTPUT_TOKENS)})
        side, last = self._account.client.responses, Json()
        items: list[object] = []
        texts: list[str] = []
        opened = lambda: side.create(model=self.name, stream=True, extra_body=body)  # noqa: E731
        for event in self._events(opened):
            kind = event.get("type")
            if kind == "error":
                raise self._account.broken_off(event, str(event.get("message")))
            if kind == "response.output_item.done":
                items.append(event.get("item"))
            elif kind in _ENDS:
                last = event
            elif kind == "response.output_text.delta" and (text := str(event.get("delta") or "")):
                texts.append(text)
                if on_text is not None:
                    on_text(text)
        return "".join(texts), self._whole(last, items)

    def _whole(self, last: Json, items: list[object]) -> Reply:
        response = last.get("response")
        if not isinstance(response, dict):
            raise LLMError("unreachable", f"{self._account.url} closed the connection before the answer ended")
        if last.get("type") == "response.failed":
            error = response.get("error")
            raise self._account.broken_off(error, str(error.get("message") if isinstance(error, dict) else None))
        output = response.get("output") or items
        reason = (response.get("incomplete_details") or {}).get("reason")
        if reason == "content_filter":
            raise LLMError("refused", f"{self.name} refused to answer")
        calls = any(str(item.get("type", "")).endswith("_call") for item in output if isinstance(item, dict))
        usage = response.get("usage")
        tokens = number(usage, "input_tokens")
        return Reply(
            {**response, "output": output},
            "length" if reason else "tool_calls" if calls else "stop",
            tokens,
            number(usage, "output_tokens"),
            min(number(usage, "input_tokens_details", "cached_tokens"), tokens),
        )


def open_model(definition: Definition, counter: TokenCounter | None = None) -> OpenAIChatModel | OpenAIResponsesModel:
    """Return a model; `definition.api` is "responses", or "chat" and "" for chat completions. Send nothing yet.

    Raises:
        ConfigError: no model is named, the address is invalid, or there is no key for it.
    """
    kind: type[OpenAIModel] = OpenAIResponsesModel if definition.api == "responses" else OpenAIChatModel
    account = OpenAIAccount(definition.url, key_name=definition.key_env)
    account.places = places(definition.options, definition.alias)
    return kind(definition.model, account=account, counter=counter, options=definition.options)  # type: ignore[return-value]  # one of both
