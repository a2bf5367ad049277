"""Texts as vectors by a provider's embedding model: in requests within its limits, with what comes back checked."""

from __future__ import annotations

import base64
import json
import threading
from typing import TYPE_CHECKING

from squidbot.accounts import UnfitError
from squidbot.adapters.openai.client import Account
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError
from squidbot.core.vectors.values import unit, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["OpenAIEmbedder"]

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
        self, model: str, url: str = "", *, dimensions: int | None = None, account: Account | None = None
    ) -> None:
        """Name a model, and a server's address with its "/v1"; "" is OpenAI's. Nothing is asked yet.

        `dimensions` asks for shorter vectors than the model's own, which OpenAI's third models can.

        Raises:
            ConfigError: no model is named, the address is none, or there is no key for it.
        """
        if not model:
            raise ConfigError("the embedder openai needs a model, such as text-embedding-3-small")
        self._account = account or Account(url)
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
        return [self._unit(vector) for vector in made]

    def _unit(self, vector: Sequence[float]) -> tuple[float, ...]:
        """Return a vector made one long.

        Raises:
            LLMError: it has no direction, or other dimensions than those before it.
        """
        with self._lock:
            self._dimensions = self._dimensions or len(vector)
        if len(vector) != self._dimensions:
            raise LLMError("unusable", f"{self._model} made a vector of {len(vector)}, not {self._dimensions}, numbers")
        try:
            return unit(vector)
        except ValueError as error:
            raise LLMError("unusable", f"{self._model} made {error}") from error


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
