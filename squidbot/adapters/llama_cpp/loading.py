"""A model is loaded into this process: nothing is printed, and a failure leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from typing import TYPE_CHECKING

import llama_cpp

from squidbot.adapters.llama_cpp.lines import last_words
from squidbot.adapters.llama_cpp.logs import LOG
from squidbot.adapters.llama_cpp.params import GGML_TYPES
from squidbot.adapting.buffers import read_buffers
from squidbot.core.errors import ModelLoadError
from squidbot.core.sizing.context import Served

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from squidbot.core.sizing.context import Definition, Loading

__all__ = ["load"]

# llama-cpp-python's hold on the process's log, output and settings is one for all: models load one after the other.
_ONE_AT_A_TIME = threading.Lock()


def load(definition: Definition) -> tuple[llama_cpp.Llama, Served]:
    """Return a model that is ready, and what its runtime says that it set up.

    Raises:
        ModelLoadError: it can't be loaded like this; the text has what llama.cpp said last. Nothing stays in memory.
    """
    loading = definition.loading
    if loading.n_seq_max != 1 or loading.n_rs_seq or loading.n_outputs_max is not None:
        raise ModelLoadError("llama_cpp serves one sequence at a time: n_seq_max must be 1, n_rs_seq and outputs unset")
    with _ONE_AT_A_TIME:
        LOG.listen()
        mark = LOG.mark()
        # __init__ apart from __new__: what a failed one has allocated would live as long as the error does.
        llama = llama_cpp.Llama.__new__(llama_cpp.Llama)
        try:
            with _Quiet.stderr():
                llama.__init__(definition.path, **_arguments(loading))
        except (
            Exception
        ) as error:  # ValueError mostly; its arguments are ours, so whatever it is, it is no fault of use
            with contextlib.suppress(AttributeError):  # it failed before there was anything to close
                llama.close()
            said = last_words(LOG.since(mark)) or str(error)
            raise ModelLoadError(f"llama.cpp can't load {definition.path}; the last it said: {said}") from error
        llama.verbose = False
        read = read_buffers(LOG.since(mark))
    window = int(llama_cpp.llama_n_ctx_seq(llama.ctx))
    return llama, Served(window, *read)


def _arguments(loading: Loading) -> Mapping[str, object]:
    """Return all that decides on memory: llama-cpp-python's own defaults take several times as much."""
    return {
        "n_ctx": loading.n_ctx,
        "n_batch": loading.n_batch,
        "n_ubatch": loading.n_ubatch or loading.n_batch,
        "n_gpu_layers": loading.n_gpu_layers,
        "tensor_split": [*loading.tensor_split] or None,
        "type_k": GGML_TYPES[loading.type_k],
        "type_v": GGML_TYPES[loading.type_v],
        "flash_attn": loading.flash_attn,
        "swa_full": loading.swa_full,
        # Not verbose, it would send standard output and error of the whole process away while it loads: of other
        # threads, too, which may speak with a host there.
        "verbose": True,
    }


class _Quiet(io.TextIOBase):
    """Standard error without what one thread writes there."""

    def __init__(self, other: TextIO) -> None:
        self._other = other
        self._thread = threading.get_ident()

    @classmethod
    def stderr(cls) -> contextlib.AbstractContextManager[object]:
        return contextlib.redirect_stderr(cls(sys.stderr))

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._thread else self._other.write(text)

    def flush(self) -> None:
        self._other.flush()
