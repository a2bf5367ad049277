"""A language model for tests, that keeps a provider's rules and answers as it is told."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Completion

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CHARS_A_TOKEN", "ScriptedLLM"]

# How it counts: English text has about four characters a token, and its rules need no better count.
CHARS_A_TOKEN = 4


class ScriptedLLM:
    """An LLM whose answers are given: a text, a function from (system, prompt) to one, or a failure to raise.

    It enforces what providers do: a prompt that does not fit beside its answer is a ContextOverflowError, of an answer
    that is longer than was allowed only the allowed part comes, an answer of no text is a failure, and after
    `most_calls` it says that it is asked too often. `prompts` are those it got. Threads may share it.
    """

    def __init__(
        self,
        answer: str | LLMError | Callable[[str, str], str],
        *,
        name: str = "scripted",
        window_tokens: int = 32_768,
        most_calls: int | None = None,
    ) -> None:
        """Take what to answer, always the same or by prompt, and the rules to keep; sizes in tokens of 4 characters."""
        self._answer = answer
        self._name = name
        self._window_tokens = window_tokens
        self._most_calls = most_calls
        self._lock = threading.Lock()
        self.prompts: list[str] = []

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer that was given for the prompt, cut at `max_output_tokens`.

        Raises:
            ContextOverflowError: prompt and room for the answer are more than the window.
            LLMError: the failure that was given, or one of a provider's rules.
        """
        with self._lock:
            self.prompts.append(prompt)
            calls = len(self.prompts)
        if self._most_calls is not None and calls > self._most_calls:
            raise LLMError("rate-limit", f"{self._name} was asked more than {self._most_calls} times")
        input_tokens = (len(system) + len(prompt)) // CHARS_A_TOKEN
        if input_tokens + max_output_tokens > self._window_tokens:
            raise ContextOverflowError(
                f"{input_tokens} tokens and {max_output_tokens} for the answer are more than {self._window_tokens}"
            )
        if isinstance(self._answer, LLMError):
            raise self._answer
        text = self._answer if isinstance(self._answer, str) else self._answer(system, prompt)
        text = text[: max_output_tokens * CHARS_A_TOKEN]
        return Completion(text, input_tokens, len(text) // CHARS_A_TOKEN)
