"""What each layer of a model keeps, by architecture."""

import pytest

from squidbot.core.errors import ModelFileError, SizingError
from squidbot.core.sizing.header import KNOWN, Layer, blocks_of, is_mla, layers_of, widest_value

from .stubs import stub, with_keys


def windows(architecture: str, layers: int, **keys: object) -> str:
    """Return the layers of a stub as a word: "s" for one that slides, "." for one that does not."""
    header = with_keys(stub(architecture), block_count=layers, **keys)  # type: ignore[arg-type]
    return "".join("s" if layer.window else "." for layer in layers_of(header))


def test_layers_of_an_even_model_are_alike() -> None:
    """Head sizes come from the width, cached heads are fewer than heads."""
    layers = layers_of(stub("llama"))
    assert layers == tuple(Layer(number, 4, 2, 64, 64) for number in range(4))


def test_cached_heads_are_all_heads_when_the_file_says_nothing() -> None:
    """`head_count_kv` defaults to `head_count`."""
    layers = layers_of(with_keys(stub("llama"), attention__head_count_kv=None))
    assert [layer.kv_heads for layer in layers] == [4] * 4


def test_head_sizes_are_the_files_when_it_has_them() -> None:
    """A key and a value may differ, and need not make up the width."""
    layer = layers_of(stub("llama", attention__key_length=96, attention__value_length=80))[0]
    assert (layer.key_length, layer.value_length) == (96, 80)


@pytest.mark.parametrize(
    ("architecture", "pattern"),
    [
        ("gemma2", "s.s.s.s.s."),
        ("gpt-oss", "s.s.s.s.s."),
        ("cohere2", "sss.sss.ss"),
        ("muse-glimmer", "sss.sss.ss"),
        ("llama4", "sss.sss.ss"),
        ("exaone-moe", "sss.sss.ss"),
        ("exaone4", ".........."),
        ("cohere2moe", ".sss.sss.s"),
        ("gemma3n", "ssss.ssss."),
        ("llama", ".........."),
        ("phi3", ".........."),
        ("qwen2", ".........."),
    ],
)
def test_layers_slide_by_the_rule_of_their_architecture(architecture: str, pattern: str) -> None:
    """Each period-th layer sees everything: the last of a period, or the first. Some have the key, and do not slide."""
    assert windows(architecture, 10, attention__sliding_window=64) == pattern


@pytest.mark.parametrize(
    ("architecture", "pattern"),
    [
        ("olmo2", "sss.sss."),
        ("afmoe", "sss.sss."),
        ("mellum", "sss.sss."),
        ("smallthinker", ".sss.sss"),
        ("gemma3", "sssss.ss"),
        ("plamo3", "sssssss."),
    ],
)
def test_layers_slide_only_with_a_window_when_it_is_optional(architecture: str, pattern: str) -> None:
    """Without the key, and with 0, every layer sees everything."""
    assert windows(architecture, 8, attention__sliding_window=64) == pattern
    assert windows(architecture, 8, attention__sliding_window=0) == "........"
    assert windows(architecture, 8, attention__sliding_window=None) == "........"


@pytest.mark.parametrize("architecture", ["gemma4", "mimo2", "step35", "spark2_5", "maple", "granite_swa"])
def test_layers_slide_as_the_array_says(architecture: str) -> None:
    """These have no rule: without an array they are refused."""
    said = (True, False, False, True)
    assert windows(architecture, 4, attention__sliding_window_pattern=said) == "s..s"
    with pytest.raises(ModelFileError, match=f"{architecture}.attention.sliding_window_pattern must be an array"):
        windows(architecture, 4, attention__sliding_window_pattern=None)


def test_array_or_number_of_the_file_comes_before_the_rule() -> None:
    """llama.cpp reads both under the same key; a period of 0: all slide."""
    assert windows("gemma2", 4, attention__sliding_window_pattern=(False, False, True)) == "..s."
    assert windows("gemma2", 6, attention__sliding_window_pattern=3) == "ss.ss."
    assert windows("gemma2", 4, attention__sliding_window_pattern=0) == "ssss"


@pytest.mark.parametrize(
    ("architecture", "said", "window"),
    [
        ("gemma2", None, 4096),
        ("gemma2", 512, 512),
        ("llama4", None, 8192),
        ("llama4", 512, 8192),
        ("llama4", 0, 0),
        ("smallthinker", 512, 4096),
        ("exaone-moe", None, 128),
    ],
)
def test_windows_have_the_size_of_the_file_or_of_the_architecture(
    architecture: str, said: int | None, window: int
) -> None:
    """llama4 and smallthinker slide by a fixed number of tokens, whatever the file says, but 0."""
    layers = layers_of(with_keys(stub(architecture), attention__sliding_window=said))
    assert max(layer.window for layer in layers) == window


def test_exaone4_slides_when_it_has_64_blocks() -> None:
    """The 32B slides by 4,096 tokens, the smaller ones do not."""
    assert windows("exaone4", 64) == "sss." * 16
    assert layers_of(stub("exaone4", block_count=64))[0].window == 4096
    assert windows("exaone4", 63, attention__sliding_window=64) == "." * 63


def test_sliding_layers_have_head_sizes_of_their_own() -> None:
    """gemma4's are narrower than those that see everything."""
    header = stub("gemma4", attention__key_length=128, attention__key_length_swa=32, attention__value_length_swa=48)
    assert [(one.key_length, one.value_length) for one in layers_of(header)] == [
        (32, 48),
        (32, 48),
        (128, 64),
        (32, 48),
    ]


def test_layers_that_share_keys_and_values_keep_none() -> None:
    """gemma3n from the twentieth on, gemma4 as many of the last as it says."""
    assert [layer.number for layer in layers_of(stub("gemma3n", block_count=30)) if layer.kv_heads] == list(range(20))
    assert [layer.kv_heads for layer in layers_of(stub("gemma4", attention__shared_kv_layers=3))] == [2, 0, 0, 0]


@pytest.mark.parametrize("architecture", ["bert", "gemma-embedding", "dream", "llada", "llada-moe", "rnd1"])
def test_nothing_is_kept_where_all_of_a_text_is_seen_at_once(architecture: str) -> None:
    """Encoders and diffusion models have no cache."""
    assert not any(layer.kv_heads or layer.recurrent for layer in layers_of(stub(architecture)))


def test_latent_stands_for_keys_and_values_when_both_lengths_are_there() -> None:
    """An MLA file without them holds full heads, and the plain rule."""
    header = stub("deepseek2")
    assert is_mla(header)
    assert layers_of(header)[0] == Layer(0, 4, 1, 576, 0)
    full = with_keys(header, attention__key_length_mla=None)
    assert not is_mla(full)
    assert layers_of(full)[0] == Layer(0, 4, 1, 576, 512)
    assert not is_mla(stub("llama", attention__key_length_mla=192, attention__value_length_mla=128))


def state(architecture: str, **keys: object) -> list[tuple[int, int]]:
    """Return the elements of the recurrent layers of a stub."""
    layers = layers_of(with_keys(stub(architecture), **keys))  # type: ignore[arg-type]
    return [(layer.conv_elements, layer.state_elements) for layer in layers if layer.recurrent]


@pytest.mark.parametrize(
    ("architecture", "held"),
    [
        ("mamba", [(3 * 512, 16 * 512)] * 4),
        ("mamba2", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 4),
        ("falcon-h1", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 4),
        ("jamba", [(3 * 512, 16 * 512)] * 3),
        ("granitehybrid", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 3),
        ("plamo2", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 3),
        ("qwen3next", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 3),
        ("nemotron_h", [(3 * (512 + 2 * 2 * 16), 16 * 512)] * 2),
        ("lfm2", [(256 * 2, 0)] * 3),
        ("rwkv7", [(256 * 2, 256 * 64)] * 4),
        ("kimi-linear", [(3 * 3 * 4 * 32, 4 * 32 * 32)] * 3),
        ("llama", []),
    ],
)
def test_recurrent_layers_hold_state_by_the_rule_of_their_family(
    architecture: str, held: list[tuple[int, int]]
) -> None:
    """Convolution and state do not grow with the window; mamba and jamba have no groups, whatever the file says."""
    assert state(architecture) == held


@pytest.mark.parametrize(
    ("architecture", "numbers"),
    [
        ("jamba", [3]),
        ("qwen3next", [3]),
        ("falcon-h1", [0, 1, 2, 3]),
        ("nemotron_h", [1]),
        ("mamba", []),
        ("lfm2", [3]),
    ],
)
def test_attention_is_in_the_other_layers(architecture: str, numbers: list[int]) -> None:
    """falcon-h1 has both in each layer; a layer of nemotron_h that feeds forward keeps nothing at all."""
    assert [layer.number for layer in layers_of(stub(architecture)) if layer.kv_heads] == numbers


def test_interval_or_array_says_which_layers_are_recurrent() -> None:
    """qwen3next and its kin."""
    every_second = layers_of(stub("qwen35", full_attention_interval=2))
    assert [layer.recurrent for layer in every_second] == [True, False, True, False]
    named = layers_of(stub("qwen35", attention__recurrent_layers=(False, True, True, True)))
    assert [layer.recurrent for layer in named] == [False, True, True, True]
    with pytest.raises(ModelFileError, match="full_attention_interval must be above 0"):
        layers_of(stub("qwen35", full_attention_interval=0))


def test_lfm2_slides_in_all_its_attention_layers() -> None:
    """Where it has a window; lfm2moe does not read the key."""
    assert windows("lfm2", 4, attention__sliding_window=64) == "...s"
    assert windows("lfm2moe", 4, attention__sliding_window=64) == "...."


def test_blocks_that_only_predict_further_tokens_are_left_out() -> None:
    """They are neither loaded nor cached."""
    header = stub("glm4moe", block_count=5, nextn_predict_layers=2)
    assert blocks_of(header) == (5, 2)
    assert [layer.number for layer in layers_of(header)] == [0, 1, 2]


@pytest.mark.parametrize(("blocks", "predicting"), [(0, 0), (513, 0), (4, 4), (4, 5), (2**60, 0)])
def test_blocks_are_refused_when_llama_cpp_takes_no_such_number(blocks: int, predicting: int) -> None:
    """A damaged number neither loops nor fills memory."""
    with pytest.raises(ModelFileError, match="block_count must be 1 to 512"):
        layers_of(with_keys(stub("llama"), block_count=blocks, nextn_predict_layers=predicting))


def test_widest_value_counts_layers_that_keep_none() -> None:
    """Without flash attention V is as wide everywhere as in the widest layer, those of prediction among them."""
    header = stub("llama", attention__head_count_kv=(1, 2, 0, 4), nextn_predict_layers=1)
    assert widest_value(header) == 4 * 64


@pytest.mark.parametrize("architecture", ["deepseek4", "laguna", "t5", "rwkv6", "nemotron_h_moe", ""])
def test_unknown_layout_is_refused_by_name(architecture: str) -> None:
    """A guess would be wrong without anybody seeing it."""
    header = stub(architecture or "x")
    with pytest.raises(SizingError, match=f"unknown cache layout '{architecture or 'x'}': use --verify"):
        layers_of(header)


def test_hundred_architectures_are_known() -> None:
    """Each has layers."""
    assert len(KNOWN) >= 100
    for name in sorted(KNOWN):
        assert len(layers_of(stub(name))) == 4
