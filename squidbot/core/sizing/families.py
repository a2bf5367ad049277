"""Which architectures keep what, by the names that llama.cpp gives them; as of its commit 0c1e57098.

All of it was compared with llama.cpp's own figures. A name that is not here is refused, because a wrong layout gives
a wrong number and no error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from squidbot.core.sizing.header import Header

__all__ = [
    "EVEN_BATCHES",
    "KNOWN",
    "LOADED_OF_PREDICTING",
    "MLA",
    "NEVER_TIED",
    "NO_CACHE",
    "NO_FLASH",
    "RECURRENT",
    "cached_layers",
    "recurrent",
    "state",
    "windows",
]

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
    """How an architecture's layers slide.

    Attributes:
        period: each period-th layer sees everything; 0: the file's array says which do; 1: all slide.
        dense_first: the first layer of a period is the one, else the last.
        optional: only if the file has a window of more than 0.
        window: tokens where the file says nothing; None: it has to.
        fixed: the window is that, whatever the file says.
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
    """Return the window of each layer in tokens; 0 where it sees everything.

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
    said = header.number(WINDOW_KEY, 0 if rule.optional else rule.window)
    return rule.window if said and rule.fixed and rule.window is not None else said


def _slides(header: Header, rule: Sliding, layers: int) -> tuple[bool, ...]:
    said = header.value(PATTERN_KEY)
    if rule.period == 1:
        return (True,) * layers
    if isinstance(said, tuple):
        return tuple(bool(item) for item in said[:layers]) + (False,) * (layers - len(said))
    if rule.period == 0:
        raise ModelFileError(f"{header.architecture}.{PATTERN_KEY} must be an array, not {said!r:.40}")
    period = header.number(PATTERN_KEY, rule.period)
    if period == 0:
        return (True,) * layers
    if rule.dense_first:
        return tuple(number % period != 0 for number in range(layers))
    return tuple(number % period < period - 1 for number in range(layers))


def cached_layers(header: Header, blocks: int) -> int:
    """Return how many layers, from the first one on, keep keys and values of their own; the rest share theirs.

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
    """Return of each layer whether it is recurrent, from the heads that each would cache.

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
    said = header.value("attention.recurrent_layers")
    if said is not None:
        return tuple(map(bool, header.numbers("attention.recurrent_layers", layers)))
    interval = header.number("full_attention_interval", 4)
    if interval == 0:
        raise ModelFileError(f"{header.architecture}.full_attention_interval must be above 0")
    return tuple((number + 1) % interval != 0 for number in range(layers))


def state(header: Header, heads: int) -> tuple[int, int]:
    """Return the f32 elements of a recurrent layer's convolution and state, of one sequence (n_r, n_s).

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
