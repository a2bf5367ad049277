"""What both of OpenAI's ways to ask have in common: a model behind a server, its window, and how a request is put."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.accounts import UnfitError
from squidbot.adapters.openai.breakpoints import MARK, marked, takes_breakpoints
from squidbot.adapters.openai.client import Account
from squidbot.adapters.openai.embeddings import OpenAIEmbedder
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError, LLMError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.context import Served
from squidbot.core.view.validity import refuse_server_state
from squidbot.model_options import for_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openai import Stream

    from squidbot.core.ports import TokenCounter

__all__ = ["Json", "OpenAIModel", "Said", "dumped", "number"]

Json = dict[str, object]

# How little a model that reasons can be asked to do of it for a job, the least first; the last one asks for nothing.
# Which of these a model takes differs from one to the next.
_EFFORTS: Final = ("none", "minimal", "low", "")


class Said(NamedTuple):
    """A whole answer: the message as it was on the wire, its words, why it ended, and its tokens; 0 where unknown."""

    message: Json
    text: str
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class OpenAIModel(ABC):
    """What is the same of a model, whichever way it is asked. Threads may share it."""

    # What of a request the messages are.
    _conversation: str
    # What a text is called as a part of a message.
    _part: str

    def __init__(
        self,
        model: str,
        url: str = "",
        *,
        account: Account | None = None,
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
        if not model or model != model.strip() or not model.isprintable():
            raise ConfigError(f"{model!r:.80} is no name of a model; write one such as gpt-5.1")
        self._options = dict(options or {})
        refuse_server_state(self._options)
        self._account = account or Account(url)
        self._model = model
        self._counter = counter or builtin_counter("classes")
        new = self._account.is_usual and takes_breakpoints(model)
        # Who says how newer models cache has one, whatever it is called and whoever serves it.
        self._marks = new or "prompt_cache_options" in self._options
        self._effort = 0 if self._account.is_usual else len(_EFFORTS) - 1

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        return self._model

    @property
    def window_tokens(self) -> int | None:
        """What the server named when it refused what was longer; None where it has not: nobody tells it before."""
        return self._account.refused_window_tokens

    @property
    def counter(self) -> TokenCounter:
        """What texts are counted with."""
        return self._counter

    @property
    def served(self) -> Served:
        """The window as far as it is known by now."""
        return Served(self.window_tokens)

    def embedder(self) -> OpenAIEmbedder:
        """Return what makes vectors with this model; nothing is asked before there is a text."""
        return OpenAIEmbedder(self._model, account=self._account)

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._account.close()

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
        said = self._cached(request, self._with_marks(messages, stable), max_output_tokens, told)
        return Reply(said.message, said.finish, said.input_tokens, said.output_tokens, said.cached_tokens)

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt; OpenAI's own models reason as little as they can, since that takes room.

        Raises:
            ContextOverflowError: the prompt does not fit.
            LLMError: there is no whole answer.
        """
        said = self._job(self._prompt(system, prompt), max_output_tokens)
        if said.finish == "length":
            raise LLMError("cut", f"{self._model} reached {max_output_tokens} tokens, or its window, in mid-answer")
        if not said.text.strip():
            raise LLMError("empty", f"{self._model} answered nothing")
        return Completion(said.text, said.input_tokens, said.output_tokens)

    def _with_marks(self, messages: Sequence[Mapping[str, object]], stable: Sequence[int]) -> list[object] | None:
        """Return messages with breakpoints; None where the server takes none, as far as is known."""
        if not self._marks:
            return None
        given = self._options.get("prompt_cache_options")
        explicit = isinstance(given, dict) and given.get("mode") == "explicit"
        return [*marked(messages, stable, self._part, ends=explicit)]

    def _cached(self, request: Json, said: list[object] | None, most: int, told: Callable[[str], None] | None) -> Said:
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
    def _said(self, request: Mapping[str, object], most: int, told: Callable[[str], None] | None) -> Said:
        """Return the answer to a request, of at most `most` tokens.

        Raises:
            ContextOverflowError, LLMError: as `Account.failures` lets them out; or the answer did not end.
        """

    def _job(self, request: Json, most: int) -> Said:
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
        account = self._account
        with account.failures():
            stream = opens()
        with stream:
            coming = iter(stream)
            while True:
                with account.failures():
                    event = next(coming, None)
                if event is None:
                    return
                yield dumped(event)


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


def number(table: object, *path: str) -> int:
    """Return a whole number that stands in a table under keys, one below the other; 0 where there is none."""
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if type(table) is int and table > 0 else 0
