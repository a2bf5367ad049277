"""How a model is loaded, as llama.cpp's structures. Nothing that decides on memory is left to a default."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import llama_cpp

if TYPE_CHECKING:
    from squidbot.core.sizing.context import Loading

__all__ = ["ALL_LAYERS", "GGML_TYPES", "context_params", "model_params"]

# By ggml's numbering of types.
GGML_TYPES = {"f16": 1, "bf16": 30, "q8_0": 8, "q5_1": 7, "q5_0": 6, "q4_1": 3, "q4_0": 2, "iq4_nl": 20}
# llama.cpp cuts it to the layers that there are.
ALL_LAYERS = 2**31 - 1


def model_params(loading: Loading, *, dry: bool) -> llama_cpp.llama_model_params:
    """Return how the weights are loaded; `dry`: not at all, their places are only worked out."""
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
    """Return how a context is made."""
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
