"""Headers of models, small ones of any architecture: metadata of an even transformer, and its usual tensors.

`stub("gemma3", block_count=7, attention__sliding_window=512)`: keys of the architecture are arguments, "__" for a dot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.header import Header, Tensor, type_id

if TYPE_CHECKING:
    from squidbot.core.sizing.header import Value

__all__ = ["LIKE_Q4_K_M", "Types", "stub", "with_keys"]

Shapes = dict[str, tuple[int, ...]]


class Types(NamedTuple):
    """The types of a stub's tensors by name: the usual one, and others by the part of a name before ".weight"."""

    usual: str = "q4_K"
    others: tuple[tuple[str, str], ...] = ()

    def of(self, name: str, shape: tuple[int, ...]) -> int:
        """Return the id of a tensor's type: f32 for what has one dimension, biases, routers and convolutions."""
        short = name.removesuffix(".weight").split(".")[-1]
        if len(shape) == 1 or short in ("bias", "ffn_gate_inp", "ssm_conv1d", "ssm_a", "ssm_d"):
            return type_id("f32")
        return type_id(dict(self.others).get(short, self.usual))


LIKE_Q4_K_M = Types("q4_K", tuple((short, "q6_K") for short in ("attn_v", "ffn_down", "output")))

# What each architecture cannot be without, beside what all have.
SSM: dict[str, Value] = {"ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.time_step_rank": 8}
GROUPED = {**SSM, "ssm.group_count": 2}
SOME_RECURRENT: dict[str, Value] = {"attention.head_count_kv": (0, 0, 0, 2)}
LATENT: dict[str, Value] = {
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.kv_lora_rank": 512,
    "rope.dimension_count": 64,
}
WINDOW: dict[str, Value] = {"attention.sliding_window": 64}
ARRAY: dict[str, Value] = {**WINDOW, "attention.sliding_window_pattern": (True, True, False, True)}
NEEDS: dict[str, dict[str, Value]] = {
    **dict.fromkeys(("gemma2", "gpt-oss", "cohere2", "cohere2moe", "muse-glimmer", "exaone-moe", "gemma3n"), WINDOW),
    **dict.fromkeys(("mimo2", "step35", "spark2_5", "maple", "granite_swa", "gemma4"), ARRAY),
    **dict.fromkeys(("deepseek2", "mistral4"), LATENT),
    **dict.fromkeys(("mamba", "mamba2", "falcon-h1", "qwen3next", "qwen35", "qwen35moe"), GROUPED),
    **{key: {**GROUPED, **SOME_RECURRENT} for key in ("jamba", "granitehybrid", "plamo2")},
    **{key: {"shortconv.l_cache": 3, **SOME_RECURRENT} for key in ("lfm2", "lfm2moe")},
    **{key: {"wkv.head_size": 64, "attention.head_count": 0} for key in ("rwkv7", "arwkv7")},
    "nemotron_h": {**GROUPED, "attention.head_count_kv": (0, 2, 0, 0), "feed_forward_length": (0, 0, 512, 0)},
    "kimi-linear": {**LATENT, "attention.head_count_kv": (0, 0, 0, 1), "ssm.conv_kernel": 4, "kda.head_dim": 32},
}


def stub(
    architecture: str,
    *,
    types: Types = LIKE_Q4_K_M,
    tied: bool = False,
    vocabulary: int = 512,
    **keys: Value,
) -> Header:
    """Return the header of a small model: 4 blocks, 256 wide, 4 heads of 64, 2 of them cached, but as `keys` say.

    Args:
        architecture: llama.cpp's name of it.
        types: of the tensors.
        tied: whether the token embedding is the output, too.
        vocabulary: tokens.
        keys: of the architecture, "__" for a dot.
    """
    own: dict[str, Value] = {
        "context_length": 32_768,
        "embedding_length": 256,
        "block_count": 4,
        "feed_forward_length": 512,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        **NEEDS.get(architecture, {}),
        **{key.replace("__", "."): value for key, value in keys.items()},
    }
    metadata = {"general.architecture": architecture, **{f"{architecture}.{key}": own[key] for key in own}}
    shapes = _shapes(Header(metadata, ()))
    shapes = {"token_embd.weight": (shapes["output_norm.weight"][0], vocabulary)} | shapes
    if not tied:
        shapes["output.weight"] = shapes["token_embd.weight"]
    return Header(metadata, tuple(Tensor(name, shape, types.of(name, shape)) for name, shape in shapes.items()))


def with_keys(header: Header, **keys: Value | None) -> Header:
    """Return a header with keys of its architecture set, "__" for a dot; None takes a key away."""
    named = {f"{header.architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    metadata = {**header.metadata, **{key: value for key, value in named.items() if value is not None}}
    gone = {key for key, value in named.items() if value is None}
    return Header({key: value for key, value in metadata.items() if key not in gone}, header.tensors)


def _shapes(header: Header) -> Shapes:
    """Return the tensors of a transformer with the header's dimensions; of those without attention, just as if."""
    width, blocks = header.number("embedding_length"), header.number("block_count")
    heads, cached = (header.numbers(f"attention.head_count{end}", blocks, 0) for end in ("", "_kv"))
    feeds = header.numbers("feed_forward_length", blocks, 0)
    key = header.number("attention.key_length", width // max(*heads, 1))
    value = header.number("attention.value_length", width // max(*heads, 1))
    shapes: Shapes = {"output_norm.weight": (width,)}
    for number in range(blocks):
        block: Shapes = {
            "attn_norm.weight": (width,),
            "attn_q.weight": (width, key * heads[number]),
            "attn_k.weight": (width, key * cached[number]),
            "attn_v.weight": (width, value * cached[number]),
            "attn_output.weight": (value * heads[number], width),
            "ffn_norm.weight": (width,),
            "ffn_gate.weight": (width, feeds[number]),
            "ffn_up.weight": (width, feeds[number]),
            "ffn_down.weight": (feeds[number], width),
        }
        shapes |= {f"blk.{number}.{part}": shape for part, shape in block.items() if 0 not in shape}
    return shapes
