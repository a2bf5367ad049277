"""A summarizer over a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import LLMError
from squidbot.core.jobs.prompts import CLOSING, OPENING, prompt, system_text
from squidbot.core.prompts.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Completion, Job
    from squidbot.core.ports import LLM

__all__ = ["ModelSummarizer"]

# The tags around an answer, and the room for a model whose tokens are more than the counter's.
_TAG_TOKENS = 32


class ModelSummarizer:
    """Asks a language model for each job."""

    def __init__(self, llm: LLM, keeps: Mapping[str, str] = MODES) -> None:
        """Take the model, and what is kept above all in each mode, as the end of a sentence."""
        self._llm = llm
        self._keeps = keeps

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def summarize(self, job: Job, source: str, limit_tokens: int) -> Completion:
        """Return what the model wrote between the marks that it was asked for, with the tokens of the whole call.

        Raises:
            ContextOverflowError: the source is too long for the model.
            LLMError: there is no answer, or it is not between the marks: an error's text, or cut off.
        """
        asked = prompt(job, source, limit_tokens, self._keeps)
        completion = self._llm.complete(system_text(), asked, limit_tokens + _TAG_TOKENS)
        answer = completion.text
        if not answer.strip():
            raise LLMError("empty", f"{self.name} answered nothing")
        before, closed, _ = answer.rpartition(CLOSING)
        _, opened, text = before.rpartition(OPENING)
        if not closed or not opened:
            kind = "cut" if OPENING in answer else "unusable"
            raise LLMError(kind, f"what {self.name} answered is not between {OPENING} and {CLOSING}")
        return completion._replace(text=text.strip())
