"""What llama.cpp would refuse, or die of."""

import pytest

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import CACHE_TYPES, KNOWN, Loading
from squidbot.core.sizing.memory import check_loading

from .models import MODELS, header_of
from .stubs import stub

LLAMA = stub("llama")


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_usual_loading_is_allowed_of_any_architecture(name: str) -> None:
    """All defaults, and a window larger than the trained one."""
    check_loading(stub(name), Loading())
    check_loading(stub(name), Loading(n_ctx=1_000_000))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", CACHE_TYPES)
def test_all_types_are_allowed_with_flash_attention_of_the_twelve_models(name: str, kind: str) -> None:
    """Their heads are whole blocks."""
    check_loading(header_of(MODELS[name]), Loading(type_k=kind, type_v=kind))


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        (Loading(n_ctx=-1), r"n_ctx must be 0 to 2147483647, not -1; the nearest is 0"),
        (Loading(n_ctx=2**31), r"n_ctx must be .*; the nearest is 2147483647"),
        (Loading(n_batch=0), r"n_batch must be 1 to .*, not 0; the nearest is 1"),
        (Loading(n_ubatch=0), r"n_ubatch must be 1 to .*, not 0; the nearest is 1"),
        (Loading(n_seq_max=0), r"n_seq_max must be 1 to 256, not 0; the nearest is 1"),
        (Loading(n_seq_max=257), r"n_seq_max must be 1 to 256, not 257; the nearest is 256"),
        (Loading(n_gpu_layers=-2), r"n_gpu_layers must be -1 to .*, not -2; the nearest is -1"),
        (Loading(n_rs_seq=-1), r"n_rs_seq must be 0 to .*, not -1; the nearest is 0"),
        (Loading(n_outputs_max=0), r"n_outputs_max must be 1 to .*, not 0; the nearest is 1"),
        (Loading(n_outputs_max=3, n_seq_max=4), r"n_outputs_max must be 4 or more, as n_seq_max is, not 3; "),
        (Loading(n_batch=2, n_seq_max=4), r"n_batch and n_ctx must be 4 or more, as n_seq_max is, not 2; "),
        (Loading(n_ctx=3, n_seq_max=4), r"n_batch and n_ctx must be 4 or more, as n_seq_max is, not 3; "),
        (Loading(tensor_split=(1.0, -1.0)), r"tensor_split must be shares of 0 or more, not \(1\.0, -1\.0\)"),
        (Loading(type_k="q9_0"), r"type_k must be one of f16, .*iq4_nl, not 'q9_0'"),
        (Loading(type_v="Q8_0"), r"type_v must be one of f16, .*iq4_nl, not 'Q8_0'"),
        (Loading(type_v="q8_0", flash_attn=False), r"flash_attn must be true for type_v = q8_0; .* type_v is f16"),
    ],
)
def test_loading_is_refused_with_its_key_and_the_nearest_value(loading: Loading, said: str) -> None:
    """Who reads it knows what to write instead."""
    with pytest.raises(ConfigError, match=said):
        check_loading(LLAMA, loading)


def test_quantised_keys_are_allowed_without_flash_attention() -> None:
    """Only values need it, which lie transposed without it."""
    check_loading(LLAMA, Loading(type_k="q8_0", flash_attn=False))


def test_heads_must_be_whole_blocks_with_flash_attention() -> None:
    """Without it, a row of all heads is enough."""
    header = stub("llama", attention__key_length=48, attention__value_length=48)
    with pytest.raises(ConfigError, match=r"type_k = q8_0 needs heads of a multiple of 32, not 48; .* type_k = f16"):
        check_loading(header, Loading(type_k="q8_0"))
    with pytest.raises(ConfigError, match=r"type_v = q4_0 needs heads of a multiple of 32, not 48; .* type_v = f16"):
        check_loading(header, Loading(type_v="q4_0"))
    check_loading(header, Loading(type_k="q8_0", flash_attn=False))


def test_rows_must_be_whole_blocks_in_any_case() -> None:
    """One head of 48 is no whole number of blocks."""
    header = stub("llama", attention__key_length=48, attention__head_count_kv=1)
    with pytest.raises(ConfigError, match=r"type_k = q8_0 needs rows of a multiple of 32, not 48; .* type_k = f16"):
        check_loading(header, Loading(type_k="q8_0", flash_attn=False))


def test_latent_needs_one_type() -> None:
    """Keys and values of MLA are one."""
    with pytest.raises(ConfigError, match="type_v must be q8_0, as type_k is: deepseek2 keeps both in one"):
        check_loading(stub("deepseek2"), Loading(type_k="q8_0"))
    check_loading(stub("deepseek2"), Loading(type_k="q8_0", type_v="q8_0"))
    plain = stub("deepseek2", attention__key_length_mla=0)
    check_loading(plain, Loading(type_k="q8_0"))


def test_grok_takes_no_quantised_values() -> None:
    """llama.cpp turns its flash attention off by itself: asking for it does no harm, but quantised values need it."""
    check_loading(stub("grok"), Loading(flash_attn=True))
    with pytest.raises(ConfigError, match="type_v must be f16 or bf16, not q8_0: grok has no flash attention"):
        check_loading(stub("grok"), Loading(type_v="q8_0"))


def test_phi3_with_both_quantised_serves_one_sequence_or_all_from_one_cache() -> None:
    """llama.cpp would end the process: its graph has more nodes than it keeps room for."""
    with pytest.raises(ConfigError, match="kv_unified must be true, or n_seq_max 1, for phi3 with type_v = q8_0"):
        check_loading(stub("phi3"), Loading(type_k="q8_0", type_v="q8_0", n_seq_max=2))
    check_loading(stub("phi3"), Loading(type_k="q8_0", type_v="q8_0"))
    check_loading(stub("phi3"), Loading(type_k="q8_0", type_v="q8_0", n_seq_max=2, kv_unified=True))
    check_loading(stub("phi3"), Loading(type_v="q8_0", n_seq_max=2))


def test_kimi_linear_serves_sequences_in_even_batches() -> None:
    """llama.cpp would end the process where a batch can't be shared evenly."""
    kimi = stub("kimi-linear")
    with pytest.raises(
        ConfigError, match=r"n_ubatch must be a multiple of n_seq_max \(3\) .* not 512; the nearest is 510"
    ):
        check_loading(kimi, Loading(n_seq_max=3))
    check_loading(kimi, Loading(n_seq_max=3, n_ubatch=510))
    check_loading(kimi, Loading(n_seq_max=3, kv_unified=True))
    check_loading(kimi, Loading(n_seq_max=2))
    check_loading(stub("qwen3next"), Loading(n_seq_max=3))
