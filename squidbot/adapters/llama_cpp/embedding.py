"""Texts as vectors, by a context of its own over weights that are loaded already."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import llama_cpp

from squidbot.adapters.llama_cpp.lines import last_words
from squidbot.adapters.llama_cpp.logs import LOG
from squidbot.adapters.llama_cpp.params import context_params
from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.sizing.context import Loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.adapters.llama_cpp.vocabulary import Vocabulary

__all__ = ["MOST_TOKENS", "LlamaEmbedder"]

# A text goes through in one batch, and the memory of a batch grows with it; models that embed take 512 to 8,192.
MOST_TOKENS = 2048


class LlamaEmbedder:
    """An Embedder over a loaded model; threads may share it, and wait for each other.

    A vector is the mean of those of all tokens, unless the model's file says how it pools.
    """

    def __init__(self, llama: llama_cpp.Llama, vocabulary: Vocabulary, name: str, loading: Loading) -> None:
        """Make the context: `loading` is how the model was loaded.

        Raises:
            LLMError: llama.cpp makes no such context; the text has what it said last.
        """
        self._name = name
        self._lock = threading.Lock()
        self._vocabulary = vocabulary
        self._dimensions = int(llama_cpp.llama_model_n_embd_out(llama.model))
        self._most = min(loading.n_ctx, MOST_TOKENS, int(llama_cpp.llama_model_n_ctx_train(llama.model)))
        own = Loading(
            n_ctx=self._most,
            n_batch=self._most,
            n_ubatch=self._most,
            type_k=loading.type_k,
            type_v=loading.type_v,
            flash_attn=loading.flash_attn,
        )
        mark = LOG.mark()
        context = _context(llama, own, llama_cpp.LLAMA_POOLING_TYPE_UNSPECIFIED)
        if context and llama_cpp.llama_pooling_type(context) == llama_cpp.LLAMA_POOLING_TYPE_NONE:
            llama_cpp.llama_free(context)
            context = _context(llama, own, llama_cpp.LLAMA_POOLING_TYPE_MEAN)
        if not context:
            raise LLMError("refused", f"llama.cpp makes no vectors with it: {last_words(LOG.since(mark))}")
        self._context = context

    @property
    def name(self) -> str:
        """The model's."""
        return self._name

    @property
    def dimensions(self) -> int:
        """As the model's file says."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text has more tokens than fit one batch.
            LLMError: llama.cpp failed, or the model is closed.
        """
        return [self._vector(self._tokens(text)) for text in texts]

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        with self._lock:
            if self._context:
                llama_cpp.llama_free(self._context)
                self._context = None

    def _tokens(self, text: str) -> Sequence[int]:
        tokens = self._vocabulary.tokens(text, begin=True, control=False)
        if len(tokens) > self._most:
            raise ContextOverflowError(
                f"a text of {len(tokens)} tokens is more than the {self._most} that are embedded"
            )
        if not tokens:
            raise LLMError("refused", "an empty text has no vector with this model: it puts no token before a text")
        return tokens

    def _vector(self, tokens: Sequence[int]) -> tuple[float, ...]:
        with self._lock:
            if not self._context:
                raise LLMError("unreachable", f"{self._name} is closed")
            mark = LOG.mark()
            memory = llama_cpp.llama_get_memory(self._context)
            if memory:
                llama_cpp.llama_memory_clear(memory, True)  # noqa: FBT003  # C
            held = (llama_cpp.llama_token * len(tokens))(*tokens)  # a batch keeps only a pointer
            batch = llama_cpp.llama_batch_get_one(held, len(tokens))
            failed = llama_cpp.llama_decode(self._context, batch)
            found = None if failed else llama_cpp.llama_get_embeddings_seq(self._context, 0)
            if not found:
                raise LLMError("refused", f"llama.cpp embeds nothing ({failed}): {last_words(LOG.since(mark))}")
            values = [float(value) for value in found[: self._dimensions]]
        length = math.hypot(*values)
        if not 0 < length < math.inf:
            raise LLMError("unusable", f"the vector that {self._name} made has the length {length}")
        return tuple(value / length for value in values)


def _context(llama: llama_cpp.Llama, loading: Loading, pooling: int) -> llama_cpp.llama_context_p | None:
    params = context_params(loading)
    params.embeddings = True
    params.pooling_type = pooling
    return llama_cpp.llama_init_from_model(llama.model, params)
