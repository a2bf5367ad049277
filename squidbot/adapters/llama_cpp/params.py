"""Loading parameters as llama.cpp's structures, without defaults for any that affects memory; its log."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import TYPE_CHECKING

import llama_cpp

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.sizing.header import Loading


# In ggml's numbering of types.
GGML_TYPES = {"f16": 1, "bf16": 30, "q8_0": 8, "q5_1": 7, "q5_0": 6, "q4_1": 3, "q4_0": 2, "iq4_nl": 20}
# llama.cpp reduces it to the existing layers.
ALL_LAYERS = 2**31 - 1


def model_params(loading: Loading, *, dry: bool) -> llama_cpp.llama_model_params:
    """Return the parameters of a model; `dry` loads no weights."""
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = ALL_LAYERS if loading.n_gpu_layers < 0 else loading.n_gpu_layers
    if loading.tensor_split:
        # ctypes keeps the array alive with the structure.
        shares = (ctypes.c_float * llama_cpp.LLAMA_MAX_DEVICES)(*loading.tensor_split)
        params.tensor_split = shares
    if dry:
        params.no_alloc = True
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE  # llama.cpp asserts that nothing is mapped
    return params


def context_params(loading: Loading) -> llama_cpp.llama_context_params:
    """Return the parameters of a context."""
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = loading.n_ctx
    params.n_batch = loading.n_batch
    params.n_ubatch = loading.n_ubatch or loading.n_batch
    params.n_seq_max = loading.n_seq_max
    params.n_rs_seq = loading.n_rs_seq
    params.n_outputs_max = loading.n_outputs_max or 0
    params.kv_unified = loading.kv_unified
    params.type_k = GGML_TYPES[loading.type_k]
    params.type_v = GGML_TYPES[loading.type_v]
    params.swa_full = loading.swa_full
    params.flash_attn_type = (
        llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if loading.flash_attn else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    return params


# llama.cpp's log, kept and not printed.

# More than the log of loading a model of a hundred layers.
MOST_LINES = 20_000
# ggml's levels: 1 is debug, 5 continues the line before. llama-cpp-python's own table is older and differs.
DEBUG, CONTINUED = 1, 5


class Log:
    """llama.cpp's log in this process: the newest `MOST_LINES` lines.

    The whole process has one log: lines of models that load at the same time mix. Debug lines are left out.
    """

    def __init__(self, on_line: Callable[[str], None] | None = None) -> None:
        """Start empty; `on_line` gets whole lines, too."""
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._begun = ""
        self._level = 0
        self._total = 0
        self._told = on_line
        self._lock = threading.Lock()
        # ctypes drops callbacks: the log keeps it.
        self._callback = llama_cpp.llama_log_callback(self._heard)

    def listen(self) -> None:
        """Receive llama.cpp's log from now on."""
        llama_cpp.llama_log_set(self._callback, None)

    def mark(self) -> int:
        """Return the log's position, for `since`."""
        with self._lock:
            return self._total

    def since(self, mark: int) -> list[str]:
        """Return the lines after a mark, oldest first, as far as they are kept."""
        with self._lock:
            new = min(self._total - mark, len(self._lines))
            return list(self._lines)[len(self._lines) - new :]

    def _heard(self, level: int, text: bytes, _: object) -> None:
        level = self._level if level == CONTINUED else level
        whole: list[str] = []
        with self._lock:
            self._level = level
            if level == DEBUG:
                return
            *whole, self._begun = (self._begun + text.decode("utf-8", "replace")).split("\n")
            self._lines.extend(line.strip() for line in whole)
            self._total += len(whole)
        if self._told is not None:
            for line in whole:
                self._told(line)


LOG = Log()
