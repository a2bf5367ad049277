"""A model file's header as values, and the cache types, windows and recurrent state of each layer by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import ConfigError, ModelFileError, SizingError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Tensor(NamedTuple):
    """One tensor of a model file.

    Attributes:
        name: its name.
        shape: the fastest dimension first (ne0, ne1, ...).
        type_id: the number of its type in GGUF.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int


class LongArray(NamedTuple):
    """A long array, of which only the GGUF type of its items and their number are kept."""

    type_id: int
    length: int


# A metadata value. Arrays of up to 4,096 items are tuples of one type.
Value = bool | int | float | str | tuple[bool | int | float | str, ...] | LongArray


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a model, over all its parts.

    Attributes:
        metadata: by full key, such as "general.architecture" or "llama.block_count".
        tensors: in the order of the file, those of further parts behind.
        file_bytes: of all parts together; 0 if unknown.
        parts: how many files the model is in.
    """

    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    file_bytes: int = 0
    parts: int = 1
    _by_name: dict[str, Tensor] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {tensor.name: tensor for tensor in self.tensors})

    @property
    def architecture(self) -> str:
        """llama.cpp's name for the layout.

        Raises:
            ModelFileError: the file names none.
        """
        name = self.metadata.get("general.architecture")
        if not isinstance(name, str) or not name:
            raise ModelFileError("general.architecture is missing; llama.cpp cannot load this file")
        return name

    def tensor(self, name: str) -> Tensor | None:
        """Return the tensor of that name, or None."""
        return self._by_name.get(name)

    def value(self, key: str) -> Value | None:
        """Return the value of "<architecture>.<key>", or None if the file has none."""
        return self.metadata.get(f"{self.architecture}.{key}")

    def number(self, key: str, default: int | None = None) -> int:
        """Return the whole number of "<architecture>.<key>"; `default` where the file has none.

        Raises:
            ModelFileError: the value is no whole number of 0 or more, or it is missing and there is no default.
        """
        value = self.value(key)
        if value is None and default is not None:
            return default
        return self._whole(key, value)

    def numbers(self, key: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """Return "<architecture>.<key>" for each of `layers` layers: one number stands for all, an array for each.

        Raises:
            ModelFileError: the value is no whole number of 0 or more, an array is shorter than the layers are, or it is
                missing and there is no default.
        """
        value = self.value(key)
        if not isinstance(value, tuple):
            return (self.number(key, default),) * layers
        if len(value) < layers:
            raise ModelFileError(f"{self.architecture}.{key} has {len(value)} items for {layers} layers")
        return tuple(self._whole(key, item) for item in value[:layers])

    def _whole(self, key: str, value: Value | None) -> int:
        if not isinstance(value, int) or value < 0:
            problem = "is missing" if value is None else f"must be a whole number of 0 or more, not {value!r:.40}"
            raise ModelFileError(f"{self.architecture}.{key} {problem}")
        return int(value)


# The types of tensors: how many bytes a row of each takes (ids and blocks: llama.cpp's ggml.h and
# ggml-common.h).


class TensorType(NamedTuple):
    """A tensor type: the elements and the bytes of a block."""

    name: str
    block: int
    block_bytes: int


# As of llama.cpp 0c1e57098. Ids that are not here were given up by llama.cpp, or are newer than this.
TENSOR_TYPES = {
    0: TensorType("f32", 1, 4),
    1: TensorType("f16", 1, 2),
    2: TensorType("q4_0", 32, 18),
    3: TensorType("q4_1", 32, 20),
    6: TensorType("q5_0", 32, 22),
    7: TensorType("q5_1", 32, 24),
    8: TensorType("q8_0", 32, 34),
    10: TensorType("q2_K", 256, 84),
    11: TensorType("q3_K", 256, 110),
    12: TensorType("q4_K", 256, 144),
    13: TensorType("q5_K", 256, 176),
    14: TensorType("q6_K", 256, 210),
    16: TensorType("iq2_xxs", 256, 66),
    17: TensorType("iq2_xs", 256, 74),
    18: TensorType("iq3_xxs", 256, 98),
    19: TensorType("iq1_s", 256, 50),
    20: TensorType("iq4_nl", 32, 18),
    21: TensorType("iq3_s", 256, 110),
    22: TensorType("iq2_s", 256, 82),
    23: TensorType("iq4_xs", 256, 136),
    24: TensorType("i8", 1, 1),
    25: TensorType("i16", 1, 2),
    26: TensorType("i32", 1, 4),
    27: TensorType("i64", 1, 8),
    28: TensorType("f64", 1, 8),
    29: TensorType("iq1_m", 256, 56),
    30: TensorType("bf16", 1, 2),
    34: TensorType("tq1_0", 256, 54),
    35: TensorType("tq2_0", 256, 66),
    39: TensorType("mxfp4", 32, 17),
    40: TensorType("nvfp4", 64, 36),
    41: TensorType("q1_0", 128, 18),
    42: TensorType("q2_0", 64, 18),
}
_IDS = {kind.name: number for number, kind in TENSOR_TYPES.items()}


def type_id(name: str) -> int:
    """Return the id of a type by its name, such as "q4_K"; KeyError if there is none."""
    return _IDS[name]


def row_bytes(type_id: int, elements: int) -> int:
    """Return the bytes of a row of `elements` elements.

    Raises:
        ModelFileError: the type is unknown, or the row is not made of whole blocks.
    """
    kind = TENSOR_TYPES.get(type_id)
    if kind is None:
        raise ModelFileError(f"unknown tensor type {type_id}: removed from llama.cpp, or newer than this squidbot")
    blocks, rest = divmod(elements, kind.block)
    if rest:
        raise ModelFileError(
            f"a row of {elements} elements is not a whole number of {kind.name} blocks of {kind.block}"
        )
    return blocks * kind.block_bytes


def tensor_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor's data, without padding.

    Raises:
        ModelFileError: as `row_bytes`.
    """
    return row_bytes(tensor.type_id, tensor.shape[0]) * prod(tensor.shape[1:])


# The types in which llama.cpp can cache keys and values.

# By the names of `Loading.type_k`, most exact first: the ids of their tensors' types.
CACHE_TYPES = {name: type_id(name) for name in ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")}


def cache_type(name: str, key: str = "type_k") -> int:
    """Return the id of the tensor type of a cache type.

    Raises:
        ConfigError: there is none. The text has `key`, and the names there are.
    """
    try:
        return CACHE_TYPES[name]
    except KeyError:
        raise ConfigError(f"{key} must be one of {', '.join(CACHE_TYPES)}, not {name!r:.40}") from None


# Architectures by their caches, named as in llama.cpp; as of its commit 0c1e57098.

# Blocks that only predict further tokens are left out; but of these architectures llama.cpp loads some of the tensors
# of such a block, by what stands behind "blk.<number>.".
_TOKENS = r"nextn\.(embed_tokens|shared_head_head|shared_head_norm)\."
_FEEDS = r"exp_probs_b|ffn_(?!norm)"
LOADED_OF_PREDICTING = {
    "cohere2moe": re.compile(_TOKENS),
    "hy_v3": re.compile(f"{_TOKENS}|{_FEEDS}"),
    "step35": re.compile(f"{_TOKENS}|{_FEEDS}|attn_(gate|q_norm|k_norm)"),
}

PATTERN_KEY, WINDOW_KEY = "attention.sliding_window_pattern", "attention.sliding_window"


class Sliding(NamedTuple):
    """Which layers of an architecture have a sliding window.

    Attributes:
        period: each period-th layer sees everything; 0: the file's array says which do; 1: all slide.
        dense_first: the first layer of a period is the one, else the last.
        optional: only if the file names a window above 0.
        window: tokens where the file names none; `None`: it must.
        fixed: the window is `window`, whatever the file says.
    """

    period: int
    dense_first: bool = False
    optional: bool = False
    window: int | None = None
    fixed: bool = False


SLIDING = {
    "gemma2": Sliding(2, window=4096),
    "gpt-oss": Sliding(2),
    "cohere2": Sliding(4),
    "muse-glimmer": Sliding(4),
    "olmo2": Sliding(4, optional=True),
    "afmoe": Sliding(4, optional=True),
    "mellum": Sliding(4, optional=True),
    "exaone4": Sliding(4, window=4096),
    "exaone-moe": Sliding(4, window=128),
    "llama4": Sliding(4, window=8192, fixed=True),
    "cohere2moe": Sliding(4, dense_first=True),
    "smallthinker": Sliding(4, dense_first=True, optional=True, window=4096, fixed=True),
    "gemma3n": Sliding(5),
    "gemma3": Sliding(6, optional=True),
    "plamo3": Sliding(8, optional=True),
    "gemma4": Sliding(0),
    "mimo2": Sliding(0),
    "step35": Sliding(0),
    "spark2_5": Sliding(0),
    "maple": Sliding(0),
    "granite_swa": Sliding(0),
    "lfm2": Sliding(1, optional=True),
}

_ENCODERS = "bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert"
ENCODERS = frozenset(_ENCODERS.split())
# Encoders, and models that write all of a text at once: nothing is kept between calls.
NO_CACHE = ENCODERS | {"gemma-embedding", "dream", "llada", "llada-moe", "rnd1"}
# A file without output.weight has its token embedding loaded twice; not so where nothing is put out, and of bitnet.
NEVER_TIED = ENCODERS | {"bitnet"}
# With one sequence's tokens of a batch unlike another's, its graph can't be made: the process ends.
EVEN_BATCHES = frozenset({"kimi-linear"})
# It has no flash attention: llama.cpp turns it off by itself.
NO_FLASH = frozenset({"grok"})
# They read `key_length_mla` and `value_length_mla`; a file that has both keeps the latent alone.
MLA = frozenset({"deepseek2", "mistral4", "kimi-linear"})
ALL_RECURRENT = frozenset({"mamba", "mamba2", "rwkv7", "arwkv7", "falcon-h1"})
# A layer is recurrent where it has no heads to cache.
BY_HEADS = frozenset({"jamba", "granitehybrid", "plamo2", "lfm2", "lfm2moe", "kimi-linear"})
BY_INTERVAL = frozenset({"qwen3next", "qwen35", "qwen35moe"})
RECURRENT = ALL_RECURRENT | BY_HEADS | BY_INTERVAL | {"nemotron_h"}
SSM_WITHOUT_GROUPS = frozenset({"mamba", "jamba"})
_PLAIN = """
    llama mistral3 mistral4 deepseek deepseek2 qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe gemma phi2
    phi3 phimoe granite granitemoe olmo olmoe glm4 glm4moe chatglm command-r seed_oss smollm3 starcoder starcoder2
    stablelm internlm2 exaone ernie4_5 ernie4_5-moe hunyuan-dense hunyuan-moe hy_v3 minimax-m2 bailingmoe2 dots1 grok
    dbrx arctic nemotron deci minicpm falcon mpt bloom gpt2 gptneox openelm baichuan xverse orion plamo codeshell
    refact jais arcee bitnet maincoder llama-embed pangu-embedded
"""
PLAIN = frozenset(_PLAIN.split())
KNOWN = PLAIN | NO_CACHE | RECURRENT | frozenset(SLIDING)


def windows(header: Header, layers: int) -> tuple[int, ...]:
    """Return the sliding window of each layer in tokens; 0 if it sees everything.

    Raises:
        ModelFileError: a key that the architecture needs is missing or no number.
    """
    rule = SLIDING.get(header.architecture)
    if rule is None or (header.architecture == "exaone4" and layers != 64):  # of exaone4 only the 32B slides
        return (0,) * layers
    window = _window(header, rule)
    return tuple(window if slides else 0 for slides in _slides(header, rule, layers)) if window else (0,) * layers


def _window(header: Header, rule: Sliding) -> int:
    """Return the window in tokens; 0: nothing slides."""
    window = header.number(WINDOW_KEY, 0 if rule.optional else rule.window)
    return rule.window if window and rule.fixed and rule.window is not None else window


def _slides(header: Header, rule: Sliding, layers: int) -> tuple[bool, ...]:
    pattern = header.value(PATTERN_KEY)
    if rule.period == 1:
        return (True,) * layers
    if isinstance(pattern, tuple):
        return tuple(bool(item) for item in pattern[:layers]) + (False,) * (layers - len(pattern))
    if rule.period == 0:
        raise ModelFileError(f"{header.architecture}.{PATTERN_KEY} must be an array, not {pattern!r:.40}")
    period = header.number(PATTERN_KEY, rule.period)
    if period == 0:
        return (True,) * layers
    if rule.dense_first:
        return tuple(number % period != 0 for number in range(layers))
    return tuple(number % period < period - 1 for number in range(layers))


def cached_layers(header: Header, blocks: int) -> int:
    """Return the number of layers, from the first on, with a cache of their own; the others share one.

    Args:
        header: the model's.
        blocks: all blocks of the file.

    Raises:
        ModelFileError: `shared_kv_layers` is no number.
    """
    if header.architecture == "gemma3n":
        return min(20, blocks)
    if header.architecture == "gemma4":
        return max(blocks - header.number("attention.shared_kv_layers", 0), 0)
    return blocks


def recurrent(header: Header, kv_heads: tuple[int, ...]) -> tuple[bool, ...]:
    """Return for each layer whether it is recurrent, given the heads that it would cache.

    Raises:
        ModelFileError: a key that the architecture needs is no number.
    """
    name, layers = header.architecture, len(kv_heads)
    if name in ALL_RECURRENT:
        return (True,) * layers
    if name in BY_HEADS:
        return tuple(heads == 0 for heads in kv_heads)
    if name == "nemotron_h":
        widths = header.numbers("feed_forward_length", layers, 0)
        return tuple(heads == 0 and width == 0 for heads, width in zip(kv_heads, widths, strict=True))
    if name in BY_INTERVAL:
        return _by_interval(header, layers)
    return (False,) * layers


def _by_interval(header: Header, layers: int) -> tuple[bool, ...]:
    listed = header.value("attention.recurrent_layers")
    if listed is not None:
        return tuple(map(bool, header.numbers("attention.recurrent_layers", layers)))
    interval = header.number("full_attention_interval", 4)
    if interval == 0:
        raise ModelFileError(f"{header.architecture}.full_attention_interval must be above 0")
    return tuple((number + 1) % interval != 0 for number in range(layers))


def state(header: Header, heads: int) -> tuple[int, int]:
    """Return the f32 elements of a recurrent layer's convolution and state for one sequence (n_r, n_s).

    Args:
        header: the model's.
        heads: query heads of its first layer.

    Raises:
        ModelFileError: a key that the architecture needs is missing or no number.
    """
    name = header.architecture
    if name in ("rwkv7", "arwkv7"):
        width = header.number("embedding_length")
        return width * header.number("token_shift_count", 2), width * header.number("wkv.head_size")
    if name in ("lfm2", "lfm2moe"):
        return header.number("embedding_length") * max(header.number("shortconv.l_cache") - 1, 0), 0
    kernel = max(header.number("ssm.conv_kernel") - 1, 0)
    if name == "kimi-linear":
        width = header.number("kda.head_dim")
        return 3 * kernel * heads * width, heads * width * width
    inner, size = header.number("ssm.inner_size"), header.number("ssm.state_size")
    groups = 0 if name in SSM_WITHOUT_GROUPS else header.number("ssm.group_count", 0)
    return kernel * (inner + 2 * groups * size), size * inner


# How a model is to be loaded, in llama.cpp's words.

CardKind = Literal["cuda", "hip", "metal", "vulkan", "sycl", "cpu"]


class Card(NamedTuple):
    """A device for a model: the backend that it allocates by, and its free bytes; "cpu" is main memory.

    A `unified` device shares main memory.
    """

    kind: CardKind
    free_bytes: int
    name: str = ""
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Loading:
    """llama.cpp's parameters that decide how much memory a model takes, by its own names.

    Attributes:
        n_ctx: the requested window in tokens; 0: as trained.
        n_batch, n_ubatch: tokens of a logical and of a physical batch.
        n_seq_max: how many sequences the cache serves.
        kv_unified: one cache for all sequences, else one for each.
        type_k, type_v: the types of cached keys and values: f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl.
        flash_attn: whether flash attention is on.
        swa_full: whether sliding layers keep the whole window.
        n_gpu_layers: how many layers, the output counted as one, are on GPUs; -1: all.
        tensor_split: the devices' shares; (): by their free bytes.
        n_outputs_max: for how many tokens of a batch the model computes outputs; None: for all.
        n_rs_seq: further rows of recurrent state for each sequence.
    """

    n_ctx: int = 0
    n_batch: int = 2048
    n_ubatch: int = 512
    n_seq_max: int = 1
    kv_unified: bool = False
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: bool = True
    swa_full: bool = False
    n_gpu_layers: int = -1
    tensor_split: tuple[float, ...] = ()
    n_outputs_max: int | None = None
    n_rs_seq: int = 0


class Definition(NamedTuple):
    """The definition by which an adapter opens a model.

    Attributes:
        alias: its name in the settings.
        path: its file, absolute, of several parts the first; "" if a server has it.
        loading: how; `n_ctx` is always set.
        model: its name on the server; "" if it is a file.
        url: its server's; "" for the adapter's usual one.
        api: which API of its server to use; "" for the adapter's usual one.
        key_env: the variable of the environment that holds the server's key; "" for the adapter's usual one.
        options: go into each request as they are.
        max_output_tokens: the longest answer; None if unknown.
        checked: whether its file is known to load like this; if not, a runtime may abort the process.
    """

    alias: str
    path: str
    loading: Loading
    model: str = ""
    url: str = ""
    max_output_tokens: int | None = None
    checked: bool = False
    api: str = ""
    key_env: str = ""
    options: Mapping[str, object] = MappingProxyType({})


class RuntimeReport(NamedTuple):
    """The memory and window that a runtime reports; `None` if it does not.

    Attributes:
        window_tokens: of one sequence.
        weights_bytes, kv_bytes, recurrent_bytes, compute_bytes: by the name of the runtime's buffer type ("CUDA0").
    """

    window_tokens: int | None
    weights_bytes: dict[str, int] | None = None
    kv_bytes: dict[str, int] | None = None
    recurrent_bytes: dict[str, int] | None = None
    compute_bytes: dict[str, int] | None = None


# The cache layout of a model, by layer.

# llama.cpp's own bound (LLAMA_MAX_LAYERS): it loads no model of more.
BLOCKS_MAX = 512


class Layer(NamedTuple):
    """The cache and state of one layer.

    Attributes:
        number: from 0.
        heads: query heads (`attention.head_count`).
        kv_heads: heads that are cached; 0: no attention cache here.
        key_length, value_length: elements of one cached head; of MLA the latent (`value_length` 0: no V is kept).
        window: the sliding window in tokens; 0: it sees everything.
        recurrent: whether it keeps state that does not grow with the window.
        conv_elements, state_elements: f32 elements of that state, of one sequence (n_r, n_s).
    """

    number: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    window: int = 0
    recurrent: bool = False
    conv_elements: int = 0
    state_elements: int = 0


def blocks_of(header: Header) -> tuple[int, int]:
    """Return the number of blocks, and how many of them, at the end, only predict further tokens.

    llama.cpp loads the latter for a draft context alone: here they are neither loaded nor cached.

    Raises:
        ModelFileError: there are none, more than llama.cpp takes, or no others.
    """
    blocks, predicting = header.number("block_count"), header.number("nextn_predict_layers", 0)
    if not predicting < blocks <= BLOCKS_MAX:
        raise ModelFileError(
            f"{header.architecture}.block_count must be 1 to {BLOCKS_MAX} and above nextn_predict_layers "
            f"({predicting}), not {blocks}"
        )
    return blocks, predicting


def is_mla(header: Header) -> bool:
    """Return whether a model caches one latent for all heads instead of keys and values.

    Raises:
        ModelFileError: a key is no number.
    """
    keys = ("attention.key_length_mla", "attention.value_length_mla")
    return header.architecture in MLA and all(header.number(key, 0) > 0 for key in keys)


def layers_of(header: Header) -> tuple[Layer, ...]:
    """Return the layers in order, without blocks that only predict further tokens.

    Source of the rules: llama.cpp 0c1e57098, compared with its dry run for every architecture that is known here.

    Raises:
        SizingError: the architecture's layout is unknown.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    if header.architecture not in KNOWN:
        raise SizingError(f"unknown cache layout {header.architecture!r}: use --verify")
    blocks, predicting = blocks_of(header)
    count = blocks - predicting
    heads, kv_heads = heads_of(header, blocks)
    lengths = _lengths(header, heads[0])
    caches = _caches(header, kv_heads[:count], cached_layers(header, blocks))
    states = _states(header, kv_heads[:count], heads[0])
    layers = []
    for number, window in enumerate(windows(header, count)):
        key_length, value_length = lengths[window > 0]
        layers.append(
            Layer(
                number,
                heads[number],
                kv_heads[number] if caches[number] else 0,
                key_length,
                0 if is_mla(header) else value_length,
                0 if states[number] else window,
                states[number] is not None,
                *(states[number] or (0, 0)),
            )
        )
    return tuple(layers)


def widest_value(header: Header) -> int:
    """Return the width of V in the widest layer, cached or not: without flash attention every layer takes that.

    Raises:
        ModelFileError: a key that is needed is missing or out of its range.
    """
    blocks, predicting = blocks_of(header)
    heads, kv_heads = heads_of(header, blocks)
    full, sliding = (value for _, value in _lengths(header, heads[0]))
    slides = (*windows(header, blocks - predicting), *(0,) * predicting)
    return max((sliding if window else full) * cached for window, cached in zip(slides, kv_heads, strict=True))


def heads_of(header: Header, blocks: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return for each block its query heads and its cached heads, by default as many.

    Raises:
        ModelFileError: a key is no number, or too short.
    """
    heads = header.numbers("attention.head_count", blocks, 0)
    if header.value("attention.head_count_kv") is None:
        return heads, heads
    return heads, header.numbers("attention.head_count_kv", blocks)


def _lengths(header: Header, heads: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the lengths of key and value, first of full layers, then of sliding ones."""
    if heads == 0 and header.architecture != "plamo2":  # llama.cpp then reads no lengths: there is no attention
        return (0, 0), (0, 0)
    even = header.number("embedding_length") // heads if heads else 0
    full = header.number("attention.key_length", even), header.number("attention.value_length", even)
    sliding = (
        header.number("attention.key_length_swa", full[0]),
        header.number("attention.value_length_swa", full[1]),
    )
    return full, sliding


def _caches(header: Header, kv_heads: tuple[int, ...], cached: int) -> tuple[bool, ...]:
    """Return for each layer whether it has an attention cache of its own."""
    name = header.architecture
    if name in NO_CACHE:
        return (False,) * len(kv_heads)
    if name == "falcon-h1":
        return (True,) * len(kv_heads)
    without = recurrent(header, kv_heads)
    if name == "nemotron_h":
        widths = header.numbers("feed_forward_length", len(kv_heads), 0)
        without = tuple(heads or width > 0 for heads, width in zip(without, widths, strict=True))
    return tuple(not heads and number < cached for number, heads in enumerate(without))


def _states(header: Header, kv_heads: tuple[int, ...], heads: int) -> tuple[tuple[int, int] | None, ...]:
    """Return the recurrent state of each layer, or `None`."""
    if header.architecture not in RECURRENT:
        return (None,) * len(kv_heads)
    elements = state(header, heads)
    return tuple(elements if heads else None for heads in recurrent(header, kv_heads))
