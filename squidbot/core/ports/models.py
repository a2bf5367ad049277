"""Language models: what answers, what goes on with a conversation, what makes vectors, what writes summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Completion, Job, Reply
    from squidbot.core.ports.counting import TokenCounter
    from squidbot.core.sizing.context import Served

__all__ = ["LLM", "Calibrated", "Chat", "Embedder", "LoadedModel", "Summarizer"]


class LLM(Protocol):
    """A language model that answers one prompt; never called while a request is made (D6). It may take minutes."""

    @property
    def name(self) -> str:
        """The model's name as summaries carry it; it does not change."""

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer to a prompt under a system text, of at most `max_output_tokens`.

        What is returned was said by the model: an error's text never is.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit the model's window.
            LLMError: there is no whole answer: the model was not reached, refused, or was cut off; `kind` says which.
        """


class Chat(LLM, Protocol):
    """A language model that goes on with a conversation; it may take minutes."""

    @property
    def form(self) -> str:
        """The form of its messages: the tag of their codec, for example "openai.chat"."""

    @property
    def window_tokens(self) -> int | None:
        """Input and output together, as the model is really served; None where that is not known."""

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, which may call `tools`, of at most `max_output_tokens`.

        `told` gets the pieces of its text as they come; what it raises ends the answer and goes to the caller. `stable`
        says how many messages, from the first, stay longest as they are (see `Assembly.stable`): who keeps prefixes
        on demand keeps one up to there. It changes nothing of the answer.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit the model's window.
            LLMError: there is no answer: the model was not reached, or refused; `kind` says which.
        """


class Embedder(Protocol):
    """Texts as vectors that lie close together where the texts mean the same; never called on a request's way."""

    @property
    def name(self) -> str:
        """Which model made the vectors; those of two names are never compared."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order; the same text always gets the same, but for rounding.

        Raises:
            ContextOverflowError: a text is too long for it.
            LLMError: there are no vectors.
        """


@runtime_checkable
class Calibrated(Protocol):
    """What an embedder may have beside its port: what its cosines say of an answer."""

    @property
    def even(self) -> float | None:
        """By how much the nearest cosine stands out where it answers as likely as not; None where nobody measured it.

        See `core.memory.search.likeness.Meaning`.
        """


class LoadedModel(Chat, Protocol):
    """A model that a runtime in this process, or a server, holds ready: it chats, counts and embeds."""

    @property
    def counter(self) -> TokenCounter:
        """Counts with the model's own vocabulary."""

    @property
    def served(self) -> Served:
        """What the runtime really set up."""

    def embedder(self) -> Embedder:
        """Return what makes vectors with this model; a context of its own may be made at its first use.

        Raises:
            LLMError: this model, or its runtime, makes none.
        """

    def close(self) -> None:
        """Give back all memory; a second call does nothing."""


class Summarizer(Protocol):
    """Writes a text that can stand for messages; never called while a request is made (D6)."""

    @property
    def name(self) -> str:
        """Who writes: `Summary.made_by` is "llm/" with this and the version of the prompts behind it."""

    def summarize(self, job: Job, source: str, limit_tokens: int) -> str | Completion:
        """Return a text of at most `limit_tokens` for the messages in `source`; who asks checks it before it is used.

        As a Completion it says what writing it took; of a plain text the tokens of source and text are counted.

        Raises:
            ContextOverflowError: the source is too long for it.
            LLMError: there is no text.
        """
