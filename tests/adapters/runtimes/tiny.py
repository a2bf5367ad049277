"""Models of a few kilobytes that real runtimes load: one for each kind of cache, and one that says what it is told."""

from __future__ import annotations

from array import array
from math import prod
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.header import Tensor, type_id
from squidbot.testing.ggufs import Typed, write_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from squidbot.testing.ggufs import Metadata

__all__ = ["ARCHITECTURES", "scripted_model", "tiny_model"]

Shapes = dict[str, tuple[int, ...]]
Keys = dict[str, "int | float | str | list[int]"]

# Which token is what, as llama.cpp numbers them: 1 normal, 2 unknown, 3 control, 4 added by who trained it, 6 a byte.
_BYTES = [(f"<0x{byte:02X}>", 6) for byte in range(256)]
_VOCABULARY = [("<unk>", 2), ("<s>", 3), ("</s>", 3), *_BYTES, ("<|im_start|>", 3), ("<|im_end|>", 3), ("<|told|>", 3)]
_BYTE_0 = 3
_IM_END, _TOLD = len(_VOCABULARY) - 2, len(_VOCABULARY) - 1
_TEMPLATE = (
    "{% if tools %}{{ '<|im_start|>system\\n' + (tools | tojson) + '<|im_end|>\\n' }}{% endif %}"
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') }}"
    "{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{{ '<|told|>' if messages[-1].role == 'tool' else '<|im_start|>assistant\\n' }}"
)


def _tokenizer(added: Sequence[str] = ()) -> Metadata:
    tokens = [*_VOCABULARY, *((text, 4) for text in added)]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [text for text, _ in tokens],
        "tokenizer.ggml.scores": [0.0] * len(tokens),
        "tokenizer.ggml.token_type": Typed("i32", [kind for _, kind in tokens]),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.eot_token_id": _IM_END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": _TEMPLATE,
    }


# -- a model that says what it is told --------------------------------------------------------------------------------

# Heads of 32, so that quantised caches fit them.
E, HEADS, HEAD, FF = 128, 4, 32, 128


def scripted_model(path: Path, answer: Sequence[str], after_tool: Sequence[str] = ("Done.",)) -> Path:
    """Write a model that always gives one answer, piece by piece, and another one behind the result of a tool.

    Nothing in it looks back: each token leads to one next token. Pieces are tokens of their own, each different.
    """
    pieces = [*answer, *after_tool]
    first = len(_VOCABULARY)
    second = first + len(answer)
    chains = ([_BYTE_0 + ord("\n"), *range(first, second)], [_TOLD, *range(second, first + len(pieces))])
    leads = {token: after for chain in chains for token, after in zip(chain, [*chain[1:], _IM_END], strict=True)}
    draw = Random(3)  # noqa: S311  # the same weights each time
    count = first + len(pieces)
    vectors = [_unit([draw.gauss(0, 1) for _ in range(E)]) for _ in range(count)]
    rows = [[0.0] * E for _ in range(count)]
    for token, after in leads.items():
        # Unit vectors of so many dimensions hardly point the same way: only the right row answers a token strongly.
        rows[after] = [value + 10 * own for value, own in zip(rows[after], vectors[token], strict=True)]

    def data(tensor: Tensor) -> bytes:
        if tensor.name == "token_embd.weight":
            return _packed([value for vector in vectors for value in vector])
        if tensor.name == "output.weight":
            return _packed([value for row in rows for value in row])
        return _packed([1.0 if "norm" in tensor.name else 0.0] * prod(tensor.shape))

    metadata: Metadata = {**_common("llama", 1), **_tokenizer(pieces)}
    shapes = {**_edges(count), "output": (E, count), **_block(0, {**_attention(2), **_dense()})}
    return write_gguf(path, metadata, _tensors(shapes), data=data)[0]


def _unit(vector: list[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector]


# -- one for each kind of cache ---------------------------------------------------------------------------------------


class Tiny(NamedTuple):
    """A model: its keys, without the architecture's name before them, and the shapes of its tensors."""

    architecture: str
    keys: Keys
    shapes: Shapes


def tiny_model(path: Path, name: str, changed: Keys | None = None) -> Path:
    """Write one of `ARCHITECTURES`, its weights random, and return its path; `changed`: keys that say otherwise."""
    made = ARCHITECTURES[name]()
    draw = Random(5)  # noqa: S311  # as above

    def data(tensor: Tensor) -> bytes:
        count = prod(tensor.shape)
        if "norm" in tensor.name:
            return _packed([1.0] * count)
        if tensor.name.endswith("ssm_a"):  # how fast state is forgotten: it must be, or it grows without end
            return _packed([-1.0] * count)
        scale = tensor.shape[0] ** -0.5
        return _packed([scale * (2 * draw.random() - 1) for _ in range(count)])

    keys = {f"{made.architecture}.{key}": value for key, value in (made.keys | (changed or {})).items()}
    metadata: Metadata = {"general.architecture": made.architecture, **keys, **_tokenizer()}
    return write_gguf(path, metadata, _tensors(made.shapes), data=data)[0]


def _packed(values: Sequence[float]) -> bytes:
    return array("f", values).tobytes()


def _tensors(shapes: Shapes) -> list[Tensor]:
    bare = (".bias", "ssm_a", "ssm_d", "!")
    named = {(name if name.endswith(bare) else f"{name}.weight").strip("!"): shape for name, shape in shapes.items()}
    return [Tensor(name, shape, type_id("f32")) for name, shape in named.items()]


def _common(architecture: str, layers: int) -> Keys:
    keys = _keys(layers)
    return {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in keys.items()}}


def _keys(layers: int, kv: int | tuple[int, ...] = 2) -> Keys:
    return {
        "block_count": layers,
        "context_length": 4096,
        "embedding_length": E,
        "feed_forward_length": FF,
        "attention.head_count": HEADS,
        "attention.head_count_kv": kv if isinstance(kv, int) else list(kv),
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.layer_norm_epsilon": 1e-5,
        "rope.dimension_count": HEAD,
    }


def _edges(count: int = len(_VOCABULARY)) -> Shapes:
    return {"token_embd": (E, count), "output_norm": (E,)}


def _block(number: int, shapes: Shapes) -> Shapes:
    return {f"blk.{number}.{name}": shape for name, shape in shapes.items()}


def _attention(kv: int) -> Shapes:
    return {
        "attn_norm": (E,),
        "attn_q": (E, HEADS * HEAD),
        "attn_k": (E, kv * HEAD),
        "attn_v": (E, kv * HEAD),
        "attn_output": (HEADS * HEAD, E),
    }


def _dense() -> Shapes:
    return {"ffn_norm": (E,), "ffn_gate": (E, FF), "ffn_up": (E, FF), "ffn_down": (FF, E)}


def _experts(count: int, width: int) -> Shapes:
    return {
        "ffn_norm": (E,),
        "ffn_gate_inp": (E, count),
        "ffn_gate_exps": (E, width, count),
        "ffn_up_exps": (E, width, count),
        "ffn_down_exps": (width, E, count),
    }


def _llama() -> Tiny:
    blocks = {**_block(0, {**_attention(2), **_dense()}), **_block(1, {**_attention(2), **_dense()})}
    return Tiny("llama", _keys(2), {**_edges(), **blocks})


def _qwen2() -> Tiny:
    biases = {"attn_q.bias": (E,), "attn_k.bias": (HEAD,), "attn_v.bias": (HEAD,)}
    blocks = [_block(number, {**_attention(1), **biases, **_dense()}) for number in range(2)]
    return Tiny("qwen2", _keys(2, 1), {**_edges(), **blocks[0], **blocks[1]})


def _gemma(architecture: str, layers: int, norms: Shapes) -> Tiny:
    after = {"post_attention_norm": (E,), "post_ffw_norm": (E,)}
    shapes = _edges()
    for number in range(layers):
        shapes |= _block(number, {**_attention(2), **norms, **after, **_dense()})
    keys = _keys(layers) | {
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.sliding_window": 256,
    }
    return Tiny(architecture, keys, shapes)


def _mixtral() -> Tiny:
    shapes = {**_edges(), **_block(0, {**_attention(2), **_experts(4, FF)})}
    return Tiny("llama", _keys(1) | {"expert_count": 4, "expert_used_count": 2}, shapes)


def _qwen3moe() -> Tiny:
    norms = {"attn_q_norm": (HEAD,), "attn_k_norm": (HEAD,)}
    shapes = {**_edges(), **_block(0, {**_attention(2), **norms, **_experts(8, 32)})}
    keys = {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 32}
    return Tiny("qwen3moe", _keys(1) | keys, shapes)


def _deepseek2() -> Tiny:
    rank, rope, plain = 64, 32, 32
    attention = {
        "attn_norm": (E,),
        "attn_q_a": (E, 24),
        "attn_q_a_norm": (24,),
        "attn_q_b": (24, HEADS * (plain + rope)),
        "attn_kv_a_mqa": (E, rank + rope),
        "attn_kv_a_norm": (rank,),
        "attn_k_b": (plain, rank, HEADS),
        "attn_v_b": (rank, plain, HEADS),
        "attn_output": (HEADS * plain, E),
    }
    keys = _keys(2, 1) | {
        "rope.dimension_count": rope,
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "attention.key_length_mla": plain + rope,
        "attention.value_length_mla": plain,
        "attention.q_lora_rank": 24,
        "attention.kv_lora_rank": rank,
        "leading_dense_block_count": 1,
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_feed_forward_length": 32,
        "expert_shared_count": 1,
        "expert_weights_scale": 1.0,
        "expert_gating_func": 1,
        "vocab_size": len(_VOCABULARY),
    }
    shared = {"ffn_gate_shexp": (E, 32), "ffn_up_shexp": (E, 32), "ffn_down_shexp": (32, E)}
    blocks = {**_block(0, {**attention, **_dense()}), **_block(1, {**attention, **_experts(4, 32), **shared})}
    return Tiny("deepseek2", keys, {**_edges(), **blocks})


# Of a state space layer: width inside, the window of its convolution, what it remembers of each element, its rank.
INNER, CONV, STATE, RANK = 2 * E, 4, 16, 8
_SSM_KEYS = {"ssm.conv_kernel": CONV, "ssm.inner_size": INNER, "ssm.state_size": STATE, "ssm.time_step_rank": RANK}


def _mamba_block() -> Shapes:
    return {
        "attn_norm": (E,),
        "ssm_in": (E, 2 * INNER),
        "ssm_conv1d": (CONV, INNER),
        "ssm_conv1d.bias": (INNER,),
        "ssm_x": (INNER, RANK + 2 * STATE),
        "ssm_dt": (RANK, INNER),
        "ssm_dt.bias": (INNER,),
        "ssm_a": (STATE, INNER),
        "ssm_d": (INNER,),
        "ssm_out": (INNER, E),
    }


def _mamba2_block(heads: int, groups: int) -> Shapes:
    width = INNER + 2 * groups * STATE
    return {
        "attn_norm": (E,),
        "ssm_in": (E, INNER + width + heads),
        "ssm_conv1d": (CONV, width),
        "ssm_conv1d.bias": (width,),
        "ssm_dt.bias": (heads,),
        "ssm_a": (1, heads),
        "ssm_d": (1, heads),
        "ssm_norm": (INNER // groups, groups),
        "ssm_out": (INNER, E),
    }


def _mamba() -> Tiny:
    return Tiny(
        "mamba", _keys(2, 0) | _SSM_KEYS, {**_edges(), **_block(0, _mamba_block()), **_block(1, _mamba_block())}
    )


def _mamba2() -> Tiny:
    keys = _keys(2, 0) | _SSM_KEYS | {"ssm.time_step_rank": 4, "ssm.group_count": 1}
    blocks = {**_block(0, _mamba2_block(4, 1)), **_block(1, _mamba2_block(4, 1))}
    return Tiny("mamba2", keys, {**_edges(), **blocks})


def _jamba() -> Tiny:
    inside = {"ssm_dt_norm": (RANK,), "ssm_b_norm": (STATE,), "ssm_c_norm": (STATE,)}
    shapes = {
        **_edges(),
        **_block(0, {**_mamba_block(), **inside, **_dense()}),
        **_block(1, {**_attention(2), **_experts(4, FF)}),
    }
    keys = _keys(2, (0, 2)) | _SSM_KEYS | {"expert_count": 4, "expert_used_count": 2}
    return Tiny("jamba", keys, shapes)


def _falcon_h1() -> Tiny:
    keys = _keys(2) | _SSM_KEYS | {"ssm.time_step_rank": 4, "ssm.group_count": 1}
    dense = _dense()
    # llama.cpp asks for this one by its bare name.
    block = {**_attention(2), **_mamba2_block(4, 1), "ffn_norm!": dense.pop("ffn_norm"), **dense}
    return Tiny("falcon-h1", keys, {**_edges(), **_block(0, block), **_block(1, block)})


def _lfm2() -> Tiny:
    norms = {"attn_q_norm": (HEAD,), "attn_k_norm": (HEAD,)}
    short = {"attn_norm": (E,), "shortconv.conv": (3, E), "shortconv.in_proj": (E, 3 * E), "shortconv.out_proj": (E, E)}
    shapes = {"token_embd": _edges()["token_embd"], "token_embd_norm": (E,)}
    shapes |= {**_block(0, {**short, **_dense()}), **_block(1, {**_attention(2), **norms, **_dense()})}
    return Tiny("lfm2", _keys(2, (0, 2)) | {"shortconv.l_cache": 3}, shapes)


def _gpt_oss() -> Tiny:
    biases = {"attn_q.bias": (E,), "attn_k.bias": (2 * HEAD,), "attn_v.bias": (2 * HEAD,), "attn_output.bias": (E,)}
    experts = {"ffn_gate_inp.bias": (4,), "ffn_gate_exps.bias": (32, 4), "ffn_up_exps.bias": (32, 4)}
    block = {
        **_attention(2),
        **biases,
        "attn_sinks": (HEADS,),
        "post_attention_norm": (E,),
        **_experts(4, 32),
        **experts,
        "ffn_down_exps.bias": (E, 4),
    }
    del block["ffn_norm"]
    keys = _keys(2) | {
        "expert_count": 4,
        "expert_used_count": 2,
        "expert_feed_forward_length": 32,
        "attention.sliding_window": 128,
    }
    return Tiny("gpt-oss", keys, {**_edges(), "output": _edges()["token_embd"], **_block(0, block), **_block(1, block)})


def _phi3() -> Tiny:
    block = {
        "attn_norm": (E,),
        "attn_qkv": (E, E + 2 * 2 * HEAD),
        "attn_output": (E, E),
        "ffn_norm": (E,),
        "ffn_up": (E, 2 * FF),
        "ffn_down": (FF, E),
    }
    shapes = {**_edges(), "output": _edges()["token_embd"], **_block(0, block), **_block(1, block)}
    return Tiny("phi3", _keys(2), shapes)


_NORMS_OF_HEADS: Shapes = {"attn_q_norm": (HEAD,), "attn_k_norm": (HEAD,)}
ARCHITECTURES: Mapping[str, Callable[[], Tiny]] = {
    "llama": _llama,
    "qwen2": _qwen2,
    "gemma2": lambda: _gemma("gemma2", 4, {}),
    "gemma3": lambda: _gemma("gemma3", 7, _NORMS_OF_HEADS),
    "mixtral": _mixtral,
    "qwen3moe": _qwen3moe,
    "deepseek2": _deepseek2,
    "mamba": _mamba,
    "mamba2": _mamba2,
    "jamba": _jamba,
    "falcon-h1": _falcon_h1,
    "lfm2": _lfm2,
    "gpt-oss": _gpt_oss,
    "phi3": _phi3,
}
