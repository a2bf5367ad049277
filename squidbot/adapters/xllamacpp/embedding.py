"""Vectors by a loaded model, in a context of their own."""

from __future__ import annotations

import json
import math
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import xllamacpp

from squidbot.adapters.xllamacpp.answers import failure, spelled
from squidbot.adapters.xllamacpp.params import for_vectors
from squidbot.adapters.xllamacpp.runtime import Runtime
from squidbot.core.errors import ContextOverflowError, LLMError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.sizing.context import Definition

__all__ = ["XllamacppEmbedder"]

_POOLING = xllamacpp.llama_pooling_type


class XllamacppEmbedder:
    """Embeds with a model's file, loaded once more into main memory: devices hold the chat alone.

    A model that says how its vectors are made is taken at its word; of others the mean of all tokens is taken. Texts
    are read one after the other.
    """

    def __init__(self, definition: Definition, name: str, threads: int) -> None:
        """Load the model.

        Raises:
            LLMError: it makes no vectors.
            ModelLoadError: it can't be loaded.
        """
        self._name = name
        self._lock = Lock()
        self._runtime = _loaded(definition, threads, _POOLING.LLAMA_POOLING_TYPE_UNSPECIFIED)
        try:
            try:
                self._dimensions = len(self._vector("squid"))
            except LLMError:
                self._runtime.close()
                self._runtime = _loaded(definition, threads, _POOLING.LLAMA_POOLING_TYPE_MEAN)
                self._dimensions = len(self._vector("squid"))
        except LLMError:
            self._runtime.close()
            raise

    @property
    def name(self) -> str:
        """Which model made the vectors."""
        return self._name

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text is longer than `params.EMBEDDED_TOKENS`, or than the model's window.
            LLMError: there are no vectors, or the model was closed.
        """
        return [self._vector(text) for text in texts]

    def close(self) -> None:
        """Give back its memory; a second call does nothing."""
        self._runtime.close()

    def _vector(self, text: str) -> tuple[float, ...]:
        with self._lock:
            try:
                asked = spelled({"input": text, "encoding_format": "float"})
                answer = json.loads(self._runtime.server.handle_embeddings(asked))
            except (RuntimeError, ValueError) as error:
                raise LLMError("refused", f"no vector: {error}") from error
        if "error" in answer:
            said = answer["error"]
            if "too large to process" in str(said.get("message")):
                raise ContextOverflowError(str(said["message"]))
            raise failure(said)
        numbers = answer["data"][0]["embedding"]
        length = math.sqrt(math.fsum(number * number for number in numbers))
        if not (length > 0.0 and math.isfinite(length)):
            raise LLMError("unusable", "the vector has no direction")
        return tuple(number / length for number in numbers)


def _loaded(definition: Definition, threads: int, pooling: xllamacpp.llama_pooling_type) -> Runtime:
    return Runtime(partial(for_vectors, definition.path, definition.loading, threads, pooling), definition.path)
