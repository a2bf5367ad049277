"""How a model is loaded, as llama.cpp's parameters. Nothing that decides on memory is left to a default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xllamacpp

if TYPE_CHECKING:
    from squidbot.core.sizing.context import Loading

__all__ = ["EMBEDDED_TOKENS", "for_chat", "for_vectors"]

# Copies of state that sliding and recurrent layers need to go on from an earlier place of a conversation. llama.cpp
# keeps 32, which is gigabytes of main memory for a large model; one turn back and one event back are what is asked for.
CHECKPOINTS = 4
# A text is embedded in one physical batch, which is this long at most.
EMBEDDED_TOKENS = 2048


def for_chat(path: str, loading: Loading, threads: int, key: str, verbosity: int) -> xllamacpp.CommonParams:
    """Return the parameters of a server that chats; it asks for `key` at its port, which is on this machine only."""
    params = _quiet(path, threads, key, verbosity)
    params.n_ctx = loading.n_ctx
    params.n_batch = loading.n_batch
    params.n_ubatch = loading.n_ubatch or loading.n_batch
    params.n_parallel = loading.n_seq_max
    params.kv_unified = loading.kv_unified
    params.cache_type_k = _type(loading.type_k)
    params.cache_type_v = _type(loading.type_v)
    params.flash_attn_type = _flash(on=loading.flash_attn)
    params.swa_full = loading.swa_full
    params.n_gpu_layers = loading.n_gpu_layers
    if loading.tensor_split:
        params.tensor_split = [*loading.tensor_split, *[0.0] * (len(params.tensor_split) - len(loading.tensor_split))]
    return params


def for_vectors(  # noqa: PLR0913, PLR0917  # what one load depends on; key and level come last
    path: str, loading: Loading, threads: int, pooling: xllamacpp.llama_pooling_type, key: str, verbosity: int
) -> xllamacpp.CommonParams:
    """Return the parameters of a server that embeds: in main memory only, so that no device has to hold it, too."""
    params = _quiet(path, threads, key, verbosity)
    params.embedding = True
    params.pooling_type = pooling
    params.n_ctx = params.n_batch = params.n_ubatch = min(loading.n_ctx, EMBEDDED_TOKENS)
    params.n_parallel = 1
    params.flash_attn_type = _flash(on=loading.flash_attn)
    params.swa_full = False
    params.n_gpu_layers = 0
    params.no_kv_offload = params.no_op_offload = True
    return params


def _quiet(path: str, threads: int, key: str, verbosity: int) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.verbosity = verbosity
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # llama.cpp would make the window smaller without a word.
    params.fit_params = False
    # Its port is for us: a free one, on this machine, with a key, and no more behind it than we ask for.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.cors_origins = ""
    params.ui = params.endpoint_metrics = params.endpoint_props = False
    params.endpoint_slots = True
    # The one conversation in the cache is gone on with; others are not kept, which would take 8 GiB of main memory.
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.n_ctx_checkpoints = CHECKPOINTS
    params.ctx_shift = False
    return params


def _type(name: str) -> xllamacpp.ggml_type:
    return getattr(xllamacpp.ggml_type, f"GGML_TYPE_{name.upper()}")


def _flash(*, on: bool) -> xllamacpp.llama_flash_attn_type:
    kinds = xllamacpp.llama_flash_attn_type
    return kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED if on else kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED
