"""A model behind Ollama: chat, embeddings, and what was really set up."""

from __future__ import annotations

import math
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.ollama.facts import read_facts, read_pulled, running_window
from squidbot.adapters.ollama.fitting import doubt, weigh
from squidbot.adapters.ollama.forms import from_ollama, to_ollama
from squidbot.adapters.ollama.wire import Patience, RefusedError, Wire, without_memory
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.context import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.adapters.ollama.facts import Facts
    from squidbot.adapters.ollama.fitting import Weight
    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.context import Definition

__all__ = ["OllamaEmbedder", "OllamaModel", "open_model"]

# How long the server keeps a model that we had it load: its own five minutes are less than a user's pause.
KEEP_ALIVE = "30m"
_FAILED = 500


def open_model(
    definition: Definition, *, counter: TokenCounter | None = None, patience: Patience | None = None
) -> OllamaModel:
    """Return a model that the server has loaded with the window of `definition.loading.n_ctx`.

    `model` is its name on the server; `url` "" means this machine's usual address. Of `loading`, Ollama can be told
    the window and, where it is 0 or more, `n_gpu_layers`; types of the cache are set where the server is started.
    `counter` None: `classes`.

    Raises:
        ConfigError: the definition names no model, no window, or no address.
        LLMError: no server is there (start it with `ollama serve`), or it has no such model (`ollama pull NAME`).
        ModelLoadError: the server could not load it with that window.
    """
    name, window = definition.model, definition.loading.n_ctx
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigError(f"model {name!r:.80} of {definition.alias} is no name of a model on an Ollama server")
    if window < 1:
        raise ConfigError(f"a model behind Ollama needs a window: n_ctx of {definition.alias} is {window}")
    wire = Wire(definition.url, patience or Patience())
    facts = _facts(wire, name)
    was_there, _ = running_window(wire, name)
    model = OllamaModel(wire, definition, facts, counter or builtin_counter("classes"), keeps=was_there)
    if facts.can("completion"):
        model.load()
    return model


def _facts(wire: Wire, name: str) -> Facts:
    try:
        return read_facts(wire, name)
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        there = ", ".join(sorted(read_pulled(wire))[:20]) or "none"
        raise LLMError(
            "refused", f"{wire.url} has no model {name}; get it with `ollama pull {name}` (there are: {there})"
        ) from refusal


class _Said(NamedTuple):
    """A whole answer: what was said, why it ended, and the tokens as reported; 0 where nothing was."""

    content: str
    thinking: str
    calls: tuple[Mapping[str, object], ...]
    reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class OllamaModel:
    """A `LoadedModel`. Threads may share it.

    A prompt that does not fit is refused before it is sent. The server is told to refuse and not to cut; where it cuts
    all the same, the answer is a ContextOverflowError and is not returned, though `told` may have had its pieces.
    """

    def __init__(self, wire: Wire, definition: Definition, facts: Facts, counter: TokenCounter, *, keeps: bool) -> None:
        """Take a model that the server has; `keeps`: it was in memory before, and stays there when this is closed."""
        self._wire = wire
        self._model = definition.model
        self._layers = definition.loading.n_gpu_layers
        self._asked_tokens = definition.loading.n_ctx
        self._given = dict(definition.options)
        self._told_tokens: int | None = None
        self._counter = counter
        self._keeps = keeps
        self._closed = False
        self.facts = facts

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    @property
    def form(self) -> str:
        """Messages go in and come out as OpenAI writes them."""
        return "openai.chat"

    @property
    def window_tokens(self) -> int:
        """Input and output together: what was asked for, or less where the model, or the server, has less."""
        most = [self._asked_tokens, self.facts.native_tokens, self._told_tokens]
        return min(tokens for tokens in most if tokens is not None)

    @property
    def counter(self) -> TokenCounter:
        """What prompts are counted with: no release of Ollama counts with the model's own vocabulary."""
        return self._counter

    @property
    def served(self) -> Served:
        """The window that the server says it runs the model with."""
        return Served(self._told_tokens)

    def load(self) -> None:
        """Have the server load the model, and read back with which window.

        Raises:
            ModelLoadError: it could not.
            LLMError: the server is not reached, or refuses.
        """
        try:
            self._wire.ask("/api/generate", {**self._common(), "stream": False}, long=True)
        except RefusedError as refusal:
            if refusal.status < _FAILED and not without_memory(refusal):
                raise
            raise ModelLoadError(
                f"{self._model} with a window of {self._asked_tokens} tokens can't be loaded: {refusal}"
            ) from refusal
        self._told_tokens = running_window(self._wire, self._model)[1]

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt; a model that can think is asked not to, since that takes the answer's room.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit.
            LLMError: there is no whole answer.
        """
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        beside = {"think": False} if "thinking" in self.facts.capabilities else {}
        said = self._said(messages, (), max_output_tokens, beside, None)
        if said.reason == "length":
            raise LLMError("cut", f"{self._model} reached {max_output_tokens} tokens before its answer ended")
        if not said.content.strip():
            raise LLMError("empty", f"{self._model} answered nothing")
        return Completion(said.content, said.input_tokens, said.output_tokens)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message of the assistant.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit, or did not.
            LLMError: there is no answer.
        """
        said = self._said(messages, tools, max_output_tokens, {}, told)
        message = from_ollama(said.content, said.thinking, said.calls)
        finish = "tool_calls" if said.calls else said.reason
        return Reply(message, finish, said.input_tokens, said.output_tokens, said.cached_tokens)

    def embedder(self) -> OllamaEmbedder:
        """Return what makes vectors with this model; it is asked for one, to see that it does.

        Raises:
            LLMError: it makes none, or the server is not reached.
        """
        return OllamaEmbedder(self._wire, self._model, {**self._common(), "truncate": False})

    def close(self) -> None:
        """Have the server unload the model, unless it was loaded before this was opened."""
        if self._closed or self._keeps:
            self._closed = True
            return
        self._closed = True
        with suppress(LLMError):  # a server that is gone holds no memory
            self._wire.ask("/api/generate", {"model": self._model, "keep_alive": 0, "stream": False})

    def _common(self) -> dict[str, object]:
        """Return what every request has: another window, or another `shift`, would have the server load anew."""
        options: dict[str, object] = {**self._given, "num_ctx": self._asked_tokens}
        if self._layers >= 0:
            options["num_gpu"] = self._layers
        common: dict[str, object] = {"model": self._model, "options": options, "truncate": False, "shift": False}
        return common if self._keeps else {**common, "keep_alive": KEEP_ALIVE}

    def _said(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[Mapping[str, object]],
        most_tokens: int,
        beside: Mapping[str, object],
        told: Callable[[str], None] | None,
    ) -> _Said:
        if self._closed:
            raise LLMError("refused", f"{self._model} was closed")
        body = {**self._common(), **beside, "messages": to_ollama(messages), "stream": True}
        body["options"] = {**_options(body), "num_predict": most_tokens}
        if tools:
            body["tools"] = list(tools)
        weight = weigh(messages, tools, self._counter)
        if weight.bound_tokens + most_tokens > self.window_tokens:
            raise ContextOverflowError(
                f"the request takes up to {weight.bound_tokens} tokens, with {most_tokens} for the answer more than "
                f"the window of {self.window_tokens} of {self._model}"
            )
        return self._accepted(self._streamed(body, told), weight)

    def _accepted(self, said: _Said, weight: Weight) -> _Said:
        """Return an answer that was made from the whole prompt.

        Raises:
            ContextOverflowError: it was not, or nobody can say.
        """
        if said.input_tokens >= self.window_tokens:  # one less is the most that Ollama reads uncut
            raise ContextOverflowError(
                f"{self._model} read {said.input_tokens} tokens, all that its window of {self.window_tokens} holds"
            )
        if said.input_tokens >= weight.estimate_tokens:
            return said
        with suppress(LLMError):  # it has answered just now: not to be told is an answer, too
            self._told_tokens = running_window(self._wire, self._model)[1] or self._told_tokens
        why = doubt(weight, said.input_tokens, self._told_tokens)
        if why:
            raise ContextOverflowError(f"{self._model} did not read the whole prompt: {why}")
        # What is reported of less than the prompt would teach that prompts are small.
        return said if said.input_tokens >= weight.fewest_tokens else said._replace(input_tokens=0, cached_tokens=0)

    def _streamed(self, body: Mapping[str, object], told: Callable[[str], None] | None) -> _Said:
        content, thinking, calls = [], [], []
        with closing(self._wire.lines("/api/chat", body)) as pieces:
            for piece in pieces:
                message = piece.get("message")
                message = message if isinstance(message, dict) else {}
                calls.extend(_calls(message))
                thinking.append(_text(message, "thinking"))
                content.append(_text(message, "content"))
                if told is not None and content[-1]:
                    told(content[-1])
                if piece.get("done") is True:
                    return _whole("".join(content), "".join(thinking), tuple(calls), piece)
        raise LLMError("unreachable", f"{self._wire.url} closed the connection before {self._model}'s answer ended")


def _whole(content: str, thinking: str, calls: tuple[Mapping[str, object], ...], last: Mapping[str, object]) -> _Said:
    reason = last.get("done_reason") or "stop"
    if reason not in ("stop", "length"):
        raise LLMError("unusable", f"the answer ended with {reason!r:.40}")
    read, made, cached = (_count(last, f"{key}_count") for key in ("prompt_eval", "eval", "prompt_eval_cached"))
    return _Said(content, thinking, calls, str(reason), read, made, min(cached, read))


def _options(body: Mapping[str, object]) -> dict[str, object]:
    options = body.get("options")
    return options if isinstance(options, dict) else {}


def _text(message: Mapping[str, object], key: str) -> str:
    said = message.get(key)
    if said is None:
        return ""
    if not isinstance(said, str):
        raise LLMError("unusable", f"{key} of the model's answer is no text: {said!r:.40}")
    return said


def _calls(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise LLMError("unusable", "tool_calls of the model's answer is no list of objects")
    return calls


def _count(last: Mapping[str, object], key: str) -> int:
    value = last.get(key)
    return value if type(value) is int and value > 0 else 0


class OllamaEmbedder:
    """Makes vectors with a model; a text that is too long is refused, never cut."""

    def __init__(self, wire: Wire, model: str, common: Mapping[str, object]) -> None:
        """Ask for one vector, to learn how long they are.

        Raises:
            LLMError: the model makes none, or the server is not reached.
        """
        self._wire = wire
        self._model = model
        self._common = {key: value for key, value in common.items() if key != "shift"}
        self._dimensions = 0
        self._dimensions = len(self.embed(["x"])[0])

    @property
    def name(self) -> str:
        """The model's name on the server, behind the server's kind."""
        return f"ollama/{self._model}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text is too long for the model.
            LLMError: there are no vectors.
        """
        if not texts:
            return []
        made = self._wire.ask("/api/embed", {**self._common, "input": list(texts)}, long=True).get("embeddings")
        if not isinstance(made, list) or len(made) != len(texts):
            raise LLMError("unusable", f"{self._model} made no vector for each of {len(texts)} texts")
        return [self._unit(vector) for vector in made]

    def _unit(self, vector: object) -> tuple[float, ...]:
        numbers = vector if isinstance(vector, list) else []
        if not numbers or not all(isinstance(number, int | float) for number in numbers):
            raise LLMError("unusable", f"{self._model} made a vector that is no list of numbers")
        if self._dimensions and len(numbers) != self._dimensions:
            raise LLMError(
                "unusable", f"{self._model} made a vector of {len(numbers)}, not {self._dimensions}, numbers"
            )
        try:
            length = math.hypot(*map(float, numbers))
        except OverflowError:  # a whole number that no float holds
            length = math.inf
        if not 0.0 < length < math.inf:
            raise LLMError("unusable", f"{self._model} made a vector that has no direction")
        return tuple(number / length for number in numbers)
