"""A language model that reads exchanges for facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import LLMError
from squidbot.core.memory.prompts import KNOWN_SHOWN, VERSION, prompt, read_answer, system_text
from squidbot.core.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.memory.facts import Utterance
    from squidbot.core.memory.prompts import Answered
    from squidbot.core.ports import LLM

__all__ = ["ModelReader", "Read"]

# Room for an answer: 20 facts of about 60 tokens, the quotations among them.
ANSWER_TOKENS = 1_600


class Read(NamedTuple):
    """What a model found, and the tokens of the call as its provider reports them."""

    answered: Answered
    input_tokens: int
    output_tokens: int


class ModelReader:
    """Asks a language model for the facts of exchanges; what it answers is taken with evidence only."""

    def __init__(self, llm: LLM, redactor: Redactor | None = None, answer_tokens: int = ANSWER_TOKENS) -> None:
        """Take the model, what takes secrets out before it sees them, and the room for an answer, in tokens."""
        self._llm = llm
        self._redactor = redactor or Redactor()
        self._answer_tokens = answer_tokens

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    @property
    def version(self) -> str:
        """Which model reads, asked by which prompts."""
        return f"{self.name}, prompts {VERSION}"

    def read(self, exchange: Sequence[Utterance], known: Sequence[Memory] = ()) -> Read:
        """Return what the model finds in an exchange, beside what is known already.

        Raises:
            ContextOverflowError: the exchange is too long for the model.
            LLMError: there is no answer, or it is malformed.
        """
        # It may be somebody else's machine: what must not be kept is not sent there, either.
        shown = [one._replace(text=self._redactor.redacted(one.text)) for one in exchange]
        completion = self._llm.complete(system_text(), prompt(shown, known), self._answer_tokens)
        if not completion.text.strip():
            raise LLMError("empty", f"{self.name} answered nothing")
        answered = read_answer(completion.text, shown, {one.memory_id for one in known[:KNOWN_SHOWN]}, self._redactor)
        return Read(answered, completion.input_tokens, completion.output_tokens)
