"""A loaded model: chats by the template in its file, counts by its vocabulary, embeds."""

from __future__ import annotations

import re
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.llama_cpp.calls import Said, Teller, read_calls
from squidbot.adapters.llama_cpp.embedding import LlamaEmbedder
from squidbot.adapters.llama_cpp.loading import load
from squidbot.adapters.llama_cpp.prompts import ChatTemplate
from squidbot.adapters.llama_cpp.verify import verify
from squidbot.adapters.llama_cpp.vocabulary import Vocabulary
from squidbot.adapters.llama_cpp.writing import Written, write
from squidbot.core.counting.chat_template import TemplateCounter
from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Completion, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import llama_cpp

    from squidbot.core.ports import Embedder, TokenCounter
    from squidbot.core.sizing.context import Definition, Served

__all__ = ["LlamaModel", "open_model"]

# What models that think aloud write before their answer.
_THOUGHT = re.compile(r"^\s*<think>.*?</think>\s*", re.DOTALL)


def open_model(definition: Definition, *, trial: bool = False) -> LlamaModel:
    """Load a model with the window that its definition says, and return it ready.

    llama.cpp ends the process where it should refuse. What `core.sizing.validity` finds must not come here; with
    `trial` the same is planned in a child first, which takes a second, and finds what no header tells.

    Raises:
        ModelLoadError: it can't be loaded like this, or has no vocabulary; what llama.cpp said last is in the text.
        SizingError: the trial can't be made.
    """
    if trial:
        (tried,) = verify(definition.path, [definition.loading]).settings
        if tried.failure:
            raise ModelLoadError(f"llama.cpp can't load {definition.path}: {tried.failure}")
    vocabulary = Vocabulary(definition.path)
    return LlamaModel(definition, vocabulary, *load(definition))


class LlamaModel:
    """A LoadedModel over llama-cpp-python. Threads may share it: one answer is made after the other.

    What `told` is given is told inside of an answer: it must not ask this model. The counter waits for nobody.
    """

    def __init__(self, definition: Definition, vocabulary: Vocabulary, llama: llama_cpp.Llama, served: Served) -> None:
        """Take what was loaded; `open_model` does it."""
        self._definition = definition
        self._vocabulary = vocabulary
        self._llama: llama_cpp.Llama | None = llama
        self._served = served
        self._lock = threading.Lock()
        self._embedder: LlamaEmbedder | None = None
        begin, end = vocabulary.edges()
        self._template = ChatTemplate(llama.metadata, begin=begin, end=end)
        self._counter: TokenCounter = vocabulary
        with suppress(LLMError):  # a template that takes no message at all: there is nothing to chat with, but texts
            self._counter = TemplateCounter(vocabulary, self.prompt_tokens)

    @property
    def name(self) -> str:
        """Its name in the settings, else its file's."""
        return self._definition.alias or Path(self._definition.path).stem

    @property
    def form(self) -> str:
        """OpenAI's chat messages."""
        return "openai.chat"

    @property
    def window_tokens(self) -> int | None:
        """What llama.cpp gives one sequence."""
        return self._served.window_tokens

    @property
    def counter(self) -> TokenCounter:
        """The vocabulary and the chat template of its file; it goes on when the model is closed."""
        return self._counter

    @property
    def served(self) -> Served:
        """What llama.cpp's log said while it was loaded, right to within 0.005 MiB for each line."""
        return self._served

    def prompt_tokens(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> int:
        """Return how many tokens the model reads for these messages, all that its template adds included.

        Raises:
            LLMError: the template refuses the messages.
        """
        return len(self._prompt(messages, tools))

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the likeliest answer to a prompt under a system text, without what the model thought aloud before.

        Raises:
            ContextOverflowError: the prompt and the room for the answer are more than the window.
            LLMError: the answer was cut off or is empty, the model is closed, or llama.cpp failed.
        """
        messages = [{"role": "system", "content": system}] if system else []
        written = self._written([*messages, {"role": "user", "content": prompt}], max_output_tokens, (), temperature=0)
        if not written.ended:
            raise LLMError("cut", f"{self.name} had not ended its answer after {max_output_tokens} tokens")
        text = _THOUGHT.sub("", written.text)
        if not text.strip():
            raise LLMError("empty", f"{self.name} answered nothing")
        return Completion(text, written.input_tokens, written.output_tokens)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message; calls are read from what the model writes, in the forms that models were taught.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer are more than the window.
            LLMError: the template refuses the messages, the model is closed, or llama.cpp failed.
        """
        teller = None if told is None else Teller(told, may_call=bool(tools))
        written = self._written(messages, max_output_tokens, tools, told=None if teller is None else teller.add)
        said = read_calls(written.text, _names(tools)) if tools else Said(written.text, ())
        if teller is not None:
            teller.end(said.text)
        finish = ("tool_calls" if said.calls else "stop") if written.ended else "length"
        return Reply(
            said.message(), finish, written.input_tokens, written.output_tokens, cached_tokens=written.cached_tokens
        )

    def embedder(self) -> Embedder:
        """Return what makes vectors with this model; its context is made at the first call, and takes memory then.

        Raises:
            LLMError: the model is closed, or llama.cpp makes no such context.
        """
        with self._lock:
            llama = self._open()
            if self._embedder is None:
                self._embedder = LlamaEmbedder(llama, self._vocabulary, self.name, self._definition.loading)
            return self._embedder

    def close(self) -> None:
        """Free model and contexts, as soon as the answer that is being made is there; a second call does nothing."""
        with self._lock:
            if self._embedder is not None:
                self._embedder.close()
            if self._llama is not None:
                self._llama.close()
                self._llama = None

    def _open(self) -> llama_cpp.Llama:
        if self._llama is None:
            raise LLMError("unreachable", f"{self.name} is closed")
        return self._llama

    def _prompt(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]) -> list[int]:
        """Return the rendered messages as tokens. The template writes the first token there, if the model wants one."""
        return self._vocabulary.tokens(self._template.render(messages, tools), begin=False, control=True)

    def _written(  # what one answer depends on
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]],
        *,
        temperature: float | None = None,
        told: Callable[[str], None] | None = None,
    ) -> Written:
        tokens = self._prompt(messages, tools)
        window = self._served.window_tokens or 0
        if len(tokens) + max_output_tokens > window:
            raise ContextOverflowError(
                f"{len(tokens)} tokens of messages and tools, and {max_output_tokens} for the answer, are more than "
                f"the window of {window}; shorten them, or ask for a shorter answer"
            )
        with (
            self._lock,
            closing(
                write(
                    self._open(),
                    self._vocabulary,
                    tokens,
                    max_output_tokens,
                    control=bool(tools),
                    temperature=temperature,
                )
            ) as made,
        ):
            for piece in made:
                if isinstance(piece, Written):
                    return piece
                if told is not None:
                    told(piece)
        raise LLMError("empty", f"{self.name} answered nothing")


def _names(tools: Sequence[Mapping[str, object]]) -> set[str]:
    functions = [tool.get("function") for tool in tools]
    return {str(function["name"]) for function in functions if isinstance(function, dict) and "name" in function}
