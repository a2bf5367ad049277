"""A model that xllamacpp holds: it chats, counts and embeds."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from squidbot.adapters.xllamacpp.answers import Answer, spelled
from squidbot.adapters.xllamacpp.embedding import XllamacppEmbedder
from squidbot.adapters.xllamacpp.params import for_chat
from squidbot.adapters.xllamacpp.runtime import Runtime
from squidbot.adapters.xllamacpp.vocabulary import VocabularyCounter
from squidbot.core.counting.chat_template import TemplateCounter
from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Completion, Usage
from squidbot.core.sizing.context import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Reply
    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.context import Definition

__all__ = ["XllamacppModel", "open_model"]


def open_model(
    definition: Definition, *, extra: Mapping[str, object] | None = None, threads: int = 0
) -> XllamacppModel:
    """Load a model and return it. All Python threads stand still meanwhile: the package holds Python's lock.

    llama.cpp ends the process where some settings contradict each other: check them first, with the file's header.
    `extra` is added to each request for an answer, by the names of llama.cpp's server: "temperature", "seed", ...
    `threads` are those that compute on the processor; 0: one for each core.

    Raises:
        ModelLoadError: it can't be loaded; the text has what llama.cpp said.
    """
    if not definition.loading.n_ctx:
        raise ModelLoadError(f"{definition.alias or definition.path}: a window has to be asked for, n_ctx is 0")
    return XllamacppModel(definition, extra or {}, threads)


class XllamacppModel:
    """A `ports.LoadedModel`. Threads may share it; one answer is made at a time."""

    def __init__(self, definition: Definition, extra: Mapping[str, object], threads: int) -> None:
        """Use `open_model`."""
        self._definition = definition
        self._extra = dict(extra)
        self._threads = threads
        made = partial(for_chat, definition.path, definition.loading, threads)
        self._runtime = Runtime(made, definition.path)
        self._label = f"xllamacpp:{Path(definition.path).name}"
        self._embedder: XllamacppEmbedder | None = None
        self._lock = Lock()
        try:
            self._window_tokens = int(self._runtime.ask("GET", "/props")["default_generation_settings"]["n_ctx"])
        except (LLMError, KeyError) as error:
            self._runtime.close()
            raise ModelLoadError(f"{definition.path}: the runtime does not tell its window: {error!r}") from error
        self._counter: TokenCounter = VocabularyCounter(self._runtime, self._label)
        with suppress(LLMError):  # a template that takes no message at all: there is nothing to chat with, but texts
            self._counter = TemplateCounter(self._counter, self.prompt_tokens)

    @property
    def name(self) -> str:
        """The alias in the settings, or the name of the file."""
        return self._definition.alias or Path(self._definition.path).name

    @property
    def form(self) -> str:
        """OpenAI's chat messages."""
        return "openai.chat"

    @property
    def window_tokens(self) -> int:
        """The window of one conversation, read back."""
        return self._window_tokens

    @property
    def counter(self) -> TokenCounter:
        """Counts with the model's own vocabulary, and knows what its chat template puts around texts."""
        return self._counter

    @property
    def served(self) -> Served:
        """What was set up; sizes by buffer are rounded to 0.01 MiB, and None where the log can't be read."""
        sizes = self._runtime.sizes
        return Served(self._window_tokens) if sizes is None else Served(self._window_tokens, *sizes)

    def prompt_tokens(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> int:
        """Return the tokens of a prompt as it would be sent, the model's template around it.

        Raises:
            LLMError: the template refuses the messages, or the model was closed.
        """
        answer = self._runtime.ask("POST", "/v1/chat/completions/input_tokens", self._body(messages, tools))
        return int(answer["input_tokens"])

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer to a prompt under a system text.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit the window.
            LLMError: there is no whole answer; `kind` says which.
        """
        head = [{"role": "system", "content": system}] if system else []
        reply = self.reply([*head, {"role": "user", "content": prompt}], max_output_tokens)
        text = str(reply.message["content"] or "")
        if reply.finish == "length":
            raise LLMError("cut", f"the answer did not end within {max_output_tokens} tokens")
        if not text.strip():
            raise LLMError("empty", "the answer has no text")
        return Completion(text, reply.input_tokens, reply.output_tokens)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message of the assistant. What does not fit is not asked: it is counted first.

        A call of a tool that the end of the room cut off is left out of the message.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit the window.
            LLMError: there is no answer; `kind` says which.
        """
        tokens = self.prompt_tokens(messages, tools)
        if tokens + max_output_tokens > self._window_tokens:
            raise ContextOverflowError(
                f"{tokens} tokens and {max_output_tokens} for the answer are more than the window of "
                f"{self._window_tokens} of {self.name}"
            )
        body = {**self._body(messages, tools), "max_tokens": max_output_tokens, "stream": True}
        answer = Answer(told, Usage(tokens, max_output_tokens))
        try:
            # In pieces even where nobody is told: between two of them the user can interrupt it.
            self._runtime.server.handle_chat_completions(
                spelled({**body, "stream_options": {"include_usage": True}}), answer.take
            )
        except (RuntimeError, ValueError) as error:
            raise LLMError("refused", str(error)) from error
        return answer.reply()

    def embedder(self) -> XllamacppEmbedder:
        """Return what makes vectors with this model: at first use its file is loaded once more, into main memory.

        Raises:
            LLMError: it makes none, or was closed.
        """
        with self._lock:
            _ = self._runtime.server
            if self._embedder is None:
                try:
                    self._embedder = XllamacppEmbedder(self._definition, self._label, self._threads)
                except ModelLoadError as error:
                    raise LLMError("refused", f"{self.name} can't be loaded for vectors: {error}") from error
            return self._embedder

    def close(self) -> None:
        """Give back all memory; a second call does nothing."""
        with self._lock:
            if self._embedder is not None:
                self._embedder.close()
            self._runtime.close()

    def _body(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]
    ) -> dict[str, object]:
        return {**self._extra, "messages": list(messages), **({"tools": list(tools)} if tools else {})}
