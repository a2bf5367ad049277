"""The twelve models with their real dimensions: bytes for a token, fixed bytes and weights, as llama.cpp has them."""

from fractions import Fraction

import pytest

from squidbot.core.sizing.header import Card, Loading
from squidbot.core.sizing.memory import measure, model_of

from .caches import caches_of, fixed_bytes, kv_bytes_per_token
from .models import MODELS, header_of
from .stubs import stub

MIB = 2**20
CARD = (Card("cuda", 10**12),)
# f16 bytes for a token in the layers that keep the whole window, MiB of weights on one CUDA card with all layers
# (rounded), MiB of the sliding layers at the usual batch. Source: llama.cpp 0c1e57098, real loads and dry runs.
KNOWN = {
    "Llama-3.1-8B": (131_072, 4651, 0),
    "Llama-3.3-70B": (327_680, 42332, 0),
    "Qwen2.5-7B": (57_344, 4408, 0),
    "Qwen2.5-32B": (262_144, 19663, 0),
    "Qwen3-30B-A3B": (98_304, 16343, 0),
    "Gemma-3-27B": (81_920, 16770, 624),
    "Mistral-Small-24B": (163_840, 14153, 0),
    "Phi-4": (204_800, 8618, 0),
    "gpt-oss-20b": (24_576, 10949, 18),
    "DeepSeek-V3": (70_272, 361225, 0),
    "Mixtral-8x7B": (131_072, 25053, 0),
    "SmolLM2-1.7B": (196_608, 1734, 0),
}
# Bytes of an element in a block of 32, against two of f16.
SHARES = {
    "f16": Fraction(1),
    "bf16": Fraction(1),
    "q8_0": Fraction(17, 32),
    "q5_1": Fraction(12, 32),
    "q5_0": Fraction(11, 32),
    "q4_1": Fraction(10, 32),
    "q4_0": Fraction(9, 32),
    "iq4_nl": Fraction(9, 32),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("kind", SHARES)
def test_token_takes_as_many_bytes_as_in_llama_cpp(name: str, kind: str) -> None:
    """In the layers that keep all of the window; quantised, exactly the share that their blocks have of f16."""
    loading = Loading(n_ctx=8192, type_k=kind, type_v=kind)
    assert kv_bytes_per_token(header_of(MODELS[name]), loading) == KNOWN[name][0] * SHARES[kind]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("n_ctx", [8192, 32_768])
def test_caches_are_fixed_bytes_and_those_of_each_token(name: str, n_ctx: int) -> None:
    """Sliding layers hold the same whatever the window; all others as much for each token."""
    header, loading = header_of(MODELS[name]), Loading(n_ctx=n_ctx)
    assert fixed_bytes(header, loading) == KNOWN[name][2] * MIB
    whole = KNOWN[name][2] * MIB + n_ctx * KNOWN[name][0]
    assert caches_of(header, loading, CARD).kv_bytes == {0: whole}


@pytest.mark.parametrize("name", KNOWN)
def test_weights_take_as_many_mib_as_in_llama_cpp(name: str) -> None:
    """On one card with all layers; the token embedding beside it is in main memory."""
    assert (
        round(measure(model_of(header_of(MODELS[name])), Loading(), CARD).devices[0].weights_bytes / MIB)
        == KNOWN[name][1]
    )


# 12 of 48 layers attend.
QWEN3_NEXT_80B = stub(
    "qwen3next",
    block_count=48,
    embedding_length=2048,
    attention__head_count=16,
    attention__head_count_kv=2,
    attention__key_length=256,
    attention__value_length=256,
    context_length=262_144,
    ssm__conv_kernel=4,
    ssm__inner_size=4096,
    ssm__state_size=128,
    ssm__group_count=16,
)


def test_mostly_recurrent_model_takes_little_for_a_token() -> None:
    """Qwen3-Next-80B: 12 layers of 48 attend, the others hold 75.375 MiB of state."""
    found = caches_of(QWEN3_NEXT_80B, Loading(n_ctx=8192), CARD)
    assert found.recurrent_bytes == {0: 36 * 4 * (3 * (4096 + 2 * 16 * 128) + 128 * 4096)} == {0: 75.375 * MIB}
    assert found.kv_bytes == {0: 24_576 * 8192}
    assert kv_bytes_per_token(QWEN3_NEXT_80B, Loading()) == 24_576
    assert fixed_bytes(QWEN3_NEXT_80B, Loading(n_seq_max=2)) == 2 * 75.375 * MIB
