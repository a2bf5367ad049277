"""Twelve models by their real dimensions, as headers: what their files say, without the files."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.header import Header, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.sizing.header import Value

__all__ = ["MODELS", "Dims", "header_of"]

F32, F16, Q8_0, Q4_K, Q6_K, MXFP4 = 0, 1, 8, 12, 14, 39


class Dims(NamedTuple):
    """The dimensions of a model, by the names of its file's keys; types as GGUF numbers them."""

    architecture: str
    layers: int
    embedding: int
    heads: int
    kv_heads: int
    head_length: int
    ffn: int
    vocabulary: int
    trained: int
    experts: int = 0
    expert_ffn: int = 0
    experts_used: int = 0
    window: int = 0
    most: int = Q4_K
    finer: int = Q6_K
    expert_type: int = Q4_K
    expert_down: int = Q4_K
    tied: bool = False


MODELS = {
    "Llama-3.1-8B": Dims("llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072),
    "Llama-3.3-70B": Dims("llama", 80, 8192, 64, 8, 128, 28672, 128256, 131072),
    "Qwen2.5-7B": Dims("qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 32768),
    "Qwen2.5-32B": Dims("qwen2", 64, 5120, 40, 8, 128, 27648, 152064, 32768),
    "Qwen3-30B-A3B": Dims("qwen3moe", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 128, 768, 8),
    "Gemma-3-27B": Dims("gemma3", 62, 5376, 32, 16, 128, 21504, 262144, 131072, window=1024, tied=True),
    "Mistral-Small-24B": Dims("llama", 40, 5120, 32, 8, 128, 32768, 131072, 32768),
    "Phi-4": Dims("phi3", 40, 5120, 40, 10, 128, 17920, 100352, 16384),
    "gpt-oss-20b": Dims(
        "gpt-oss", 24, 2880, 64, 8, 64, 2880, 201088, 131072, 32, 2880, 4, 128, Q8_0, Q8_0, MXFP4, MXFP4
    ),
    "DeepSeek-V3": Dims(
        "deepseek2", 61, 7168, 128, 1, 576, 18432, 129280, 163840, 256, 2048, 8, 0, Q4_K, Q4_K, Q4_K, Q4_K
    ),
    "Mixtral-8x7B": Dims("llama", 32, 4096, 32, 8, 128, 14336, 32000, 32768, 8, 14336, 2),
    "SmolLM2-1.7B": Dims("llama", 24, 2048, 32, 32, 64, 8192, 49152, 8192, tied=True, most=Q8_0, finer=Q8_0),
}

# DeepSeek-V3's own: ranks of the compressed queries and of what is cached, the rotated part, dense blocks at the front.
Q_RANK, KV_RANK, ROTATED, HEAD_MLA, VALUE_MLA, DENSE, SHARED = 1536, 512, 64, 192, 128, 3, 2048


@cache
def header_of(dims: Dims) -> Header:
    """Return the header that a file of these dimensions has."""
    tensors = [Tensor("token_embd.weight", (dims.embedding, dims.vocabulary), dims.finer if dims.tied else dims.most)]
    for layer in range(dims.layers):
        tensors += [Tensor(f"blk.{layer}.{name}", shape, kind) for name, shape, kind in _block(dims, layer)]
    tensors.append(Tensor("output_norm.weight", (dims.embedding,), F32))
    if not dims.tied:
        tensors.append(Tensor("output.weight", (dims.embedding, dims.vocabulary), dims.finer))
    return Header(_metadata(dims), tuple(tensors))


def _metadata(dims: Dims) -> dict[str, Value]:
    keys: dict[str, Value] = {
        "block_count": dims.layers,
        "embedding_length": dims.embedding,
        "context_length": dims.trained,
        "feed_forward_length": dims.ffn,
        "attention.head_count": dims.heads,
        "attention.head_count_kv": dims.kv_heads,
        "attention.key_length": dims.head_length,
        "attention.value_length": dims.head_length,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": dims.head_length,
        "vocab_size": dims.vocabulary,
    }
    if dims.experts:
        keys |= {
            "expert_count": dims.experts,
            "expert_used_count": dims.experts_used,
            "expert_feed_forward_length": dims.expert_ffn,
        }
    if dims.window:
        keys["attention.sliding_window"] = dims.window
    if dims.architecture == "deepseek2":
        keys |= {
            "attention.q_lora_rank": Q_RANK,
            "attention.kv_lora_rank": KV_RANK,
            "attention.value_length": KV_RANK,
            "attention.key_length_mla": HEAD_MLA,
            "attention.value_length_mla": VALUE_MLA,
            "rope.dimension_count": ROTATED,
            "leading_dense_block_count": DENSE,
            "expert_shared_count": 1,
            "expert_weights_scale": 2.5,
            "expert_weights_norm": True,
            "expert_gating_func": 2,
        }
    named = {f"{dims.architecture}.{key}": value for key, value in keys.items()}
    return {"general.architecture": dims.architecture, "tokenizer.ggml.model": "none", **named}


def _block(dims: Dims, layer: int) -> Iterator[tuple[str, tuple[int, ...], int]]:
    yield "attn_norm.weight", (dims.embedding,), F32
    yield from _latent(dims) if dims.architecture == "deepseek2" else _attention(dims)
    if dims.architecture != "gpt-oss":
        yield "ffn_norm.weight", (dims.embedding,), F32
    if dims.architecture == "gemma3":
        yield "post_ffw_norm.weight", (dims.embedding,), F32
    dense = not dims.experts or (dims.architecture == "deepseek2" and layer < DENSE)
    yield from _dense(dims) if dense else _experts(dims)


def _attention(dims: Dims) -> Iterator[tuple[str, tuple[int, ...], int]]:
    wide, narrow = dims.heads * dims.head_length, dims.kv_heads * dims.head_length
    biased = dims.architecture in ("qwen2", "gpt-oss")
    if dims.architecture == "phi3":
        yield "attn_qkv.weight", (dims.embedding, wide + 2 * narrow), dims.most
    else:
        yield "attn_q.weight", (dims.embedding, wide), dims.most
        yield "attn_k.weight", (dims.embedding, narrow), dims.most
        yield "attn_v.weight", (dims.embedding, narrow), dims.finer
    yield "attn_output.weight", (wide, dims.embedding), dims.most
    if biased:
        yield from (("attn_q.bias", (wide,), F32), ("attn_k.bias", (narrow,), F32), ("attn_v.bias", (narrow,), F32))
    if dims.architecture == "gpt-oss":
        yield from (("attn_output.bias", (dims.embedding,), F32), ("attn_sinks.weight", (dims.heads,), F32))
    if dims.architecture in ("gpt-oss", "gemma3"):
        yield "post_attention_norm.weight", (dims.embedding,), F32
    if dims.architecture in ("qwen3moe", "gemma3"):
        yield from (("attn_q_norm.weight", (dims.head_length,), F32), ("attn_k_norm.weight", (dims.head_length,), F32))


def _latent(dims: Dims) -> Iterator[tuple[str, tuple[int, ...], int]]:
    yield "attn_q_a_norm.weight", (Q_RANK,), F32
    yield "attn_kv_a_norm.weight", (KV_RANK,), F32
    yield "attn_q_a.weight", (dims.embedding, Q_RANK), dims.most
    yield "attn_q_b.weight", (Q_RANK, dims.heads * HEAD_MLA), dims.most
    yield "attn_kv_a_mqa.weight", (dims.embedding, KV_RANK + ROTATED), dims.most
    yield "attn_k_b.weight", (HEAD_MLA - ROTATED, KV_RANK, dims.heads), F16
    yield "attn_v_b.weight", (KV_RANK, VALUE_MLA, dims.heads), F16
    yield "attn_output.weight", (dims.heads * VALUE_MLA, dims.embedding), dims.most


def _dense(dims: Dims) -> Iterator[tuple[str, tuple[int, ...], int]]:
    if dims.architecture == "phi3":
        yield "ffn_up.weight", (dims.embedding, 2 * dims.ffn), dims.most
    else:
        yield "ffn_gate.weight", (dims.embedding, dims.ffn), dims.most
        yield "ffn_up.weight", (dims.embedding, dims.ffn), dims.most
    yield "ffn_down.weight", (dims.ffn, dims.embedding), dims.finer


def _experts(dims: Dims) -> Iterator[tuple[str, tuple[int, ...], int]]:
    inner, outer, count = dims.expert_ffn, dims.embedding, dims.experts
    yield "ffn_gate_inp.weight", (outer, count), F32
    yield "ffn_gate_exps.weight", (outer, inner, count), dims.expert_type
    yield "ffn_up_exps.weight", (outer, inner, count), dims.expert_type
    yield "ffn_down_exps.weight", (inner, outer, count), dims.expert_down
    if dims.architecture == "gpt-oss":
        yield "ffn_gate_inp.bias", (count,), F32
        yield from ((f"ffn_{part}_exps.bias", (inner, count), F32) for part in ("gate", "up"))
        yield "ffn_down_exps.bias", (outer, count), F32
    if dims.architecture == "deepseek2":
        yield "exp_probs_b.bias", (count,), F32
        yield "ffn_gate_shexp.weight", (outer, SHARED), dims.most
        yield "ffn_up_shexp.weight", (outer, SHARED), dims.most
        yield "ffn_down_shexp.weight", (SHARED, outer), dims.finer
