"""The bytes of keys, values and recurrent state, by device and by token."""

from hypothesis import assume, given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import (
    CACHE_TYPES,
    KNOWN,
    RECURRENT,
    Card,
    Header,
    Loading,
    layers_of,
    row_bytes,
)
from squidbot.core.sizing.memory import CPU, check_loading, context_tensors

from .caches import caches_of, fixed_bytes, kv_bytes_per_token
from .stubs import Types, stub

GIB = 2**30
STEP = 1024
# Aligned to 32 bytes and not filled up: what hands work out.
CARDS = tuple(Card("metal", 8 * GIB) for _ in range(3))


def kv(header: Header, **loading: object) -> int:
    """Return the bytes of keys and values on one card."""
    return caches_of(header, Loading(**{"n_ctx": 4096, **loading}), CARDS[:1]).kv_bytes.get(0, 0)  # type: ignore[arg-type]


def test_sixty_four_layers_of_eight_heads_hold_as_much_as_in_twelve_gib() -> None:
    """V6: 12 GiB hold 49,152 tokens in f16; in q8_0 92,521, in steps of 1,024: 92,160."""
    header = stub(
        "llama", block_count=64, attention__head_count_kv=8, attention__key_length=128, attention__value_length=128
    )
    assert 12 * GIB // kv_bytes_per_token(header, Loading()) == 49_152
    quantised = 12 * GIB // kv_bytes_per_token(header, Loading(type_k="q8_0", type_v="q8_0"))
    assert quantised == 92_521
    assert quantised // STEP * STEP == 92_160
    assert kv(header, n_ctx=49_152) == 12 * GIB
    assert kv(header, n_ctx=92_160, type_k="q8_0", type_v="q8_0") <= 12 * GIB
    assert kv(header, n_ctx=92_160 + STEP, type_k="q8_0", type_v="q8_0") > 12 * GIB


def test_thirty_two_layers_of_eight_heads_hold_as_much_as_in_six_gib() -> None:
    """V7: 6 GiB hold 49,152 tokens in f16."""
    header = stub(
        "llama", block_count=32, attention__head_count_kv=8, attention__key_length=128, attention__value_length=128
    )
    assert 6 * GIB // kv_bytes_per_token(header, Loading()) == 49_152
    assert kv(header, n_ctx=49_152) == 6 * GIB


def test_heads_by_layer_are_summed() -> None:
    """V32: an array of `head_count_kv`; a layer of 0 keeps nothing."""
    header = stub("deci", attention__head_count_kv=(4, 2, 0, 1))
    assert kv(header) == (4 + 2 + 1) * (64 + 64) * 2 * 4096
    assert kv_bytes_per_token(header, Loading()) == 7 * 128 * 2


def test_sliding_layers_hold_a_window_and_a_batch() -> None:
    """V32: gemma3 of 6 blocks, 5 of which slide by 1,024 tokens: these hold 1,536."""
    header = stub("gemma3", block_count=6, attention__sliding_window=1024)
    token = 2 * (64 + 64) * 2
    assert kv(header) == token * (4096 + 5 * 1536)
    assert kv(header, swa_full=True) == token * 6 * 4096
    assert kv_bytes_per_token(header, Loading()) == token
    assert kv_bytes_per_token(header, Loading(swa_full=True)) == 6 * token
    assert fixed_bytes(header, Loading()) == token * 5 * 1536


def test_latent_is_kept_once_for_all_heads() -> None:
    """V32: MLA keeps 576 elements of a token, no V, with flash attention and without."""
    header = stub("deepseek2")
    assert kv(header) == kv(header, flash_attn=False) == 4 * 576 * 2 * 4096
    assert kv(header, type_k="q8_0", type_v="q8_0") == 4 * 576 * 34 // 32 * 4096


def test_recurrent_layers_hold_the_same_for_any_window() -> None:
    """V32: qwen3next of 4 blocks, one of which attends; as much for each sequence, and for each row kept back."""
    header = stub("qwen3next")
    state = 3 * 4 * (3 * (512 + 2 * 2 * 16) + 16 * 512)
    for n_ctx in (512, 4096, 32_768):
        assert caches_of(header, Loading(n_ctx=n_ctx), CARDS[:1]).recurrent_bytes == {0: state}
        assert kv(header, n_ctx=n_ctx) == 2 * (64 + 64) * 2 * n_ctx
    many = Loading(n_ctx=4096, n_seq_max=3, n_rs_seq=1)
    assert caches_of(header, many, CARDS[:1]).recurrent_bytes == {0: 6 * state}


def test_values_are_as_wide_as_the_widest_without_flash_attention() -> None:
    """They lie transposed: heads by layer (4, 2, 0, 1) all take 4, the one that keeps nothing left out."""
    header = stub("deci", attention__head_count_kv=(4, 2, 0, 1))
    assert kv(header, flash_attn=False) == (7 * 64 + 3 * 4 * 64) * 2 * 4096


def test_grok_is_always_without_flash_attention() -> None:
    """llama.cpp turns it off."""
    header = stub("grok", attention__head_count_kv=(4, 2, 2, 2))
    assert kv(header) == kv(header, flash_attn=False) == (10 * 64 + 4 * 4 * 64) * 2 * 4096


def test_sequences_have_caches_side_by_side() -> None:
    """Each its part of the window, rounded up; unified there is one for all."""
    header = stub("llama")
    token = 4 * 2 * (64 + 64) * 2
    assert kv(header, n_seq_max=3) == token * 3 * 1536
    assert kv(header, n_seq_max=3, kv_unified=True) == token * 4096


def test_keys_and_values_may_be_of_different_types() -> None:
    """Each takes its own blocks."""
    assert kv(stub("llama"), type_k="q8_0") == 4 * 4096 * (128 * 34 // 32 + 128 * 2)


def test_caches_lie_with_their_layers() -> None:
    """Half of the layers on a card, the others in main memory; the output has none."""
    header = stub("llama")
    layer = 2 * (64 + 64) * 2 * 4096
    found = caches_of(header, Loading(n_ctx=4096, n_gpu_layers=3), CARDS[:1])
    assert found.kv_bytes == {CPU: 2 * layer, 0: 2 * layer}
    split = caches_of(header, Loading(n_ctx=4096, tensor_split=(1, 2, 2)), CARDS)
    assert split.kv_bytes == {0: layer, 1: 2 * layer, 2: layer}


def test_caches_are_padded_on_cuda() -> None:
    """A quantised row of 32 is filled up to 512 once for a tensor, by 510 bytes, then to whole 128: 9,216 of 8,704."""
    types = Types("f32")
    header = stub("llama", types=types, block_count=1, embedding_length=128, attention__head_count_kv=1)
    loading = Loading(n_ctx=256, type_k="q8_0", type_v="q8_0")
    assert caches_of(header, loading, (Card("cuda", GIB),)).kv_bytes == {0: 2 * 9216}
    assert caches_of(header, loading, ()).kv_bytes == {CPU: 2 * 8704}


def test_nothing_is_kept_by_an_encoder() -> None:
    """No keys, no values, no state."""
    assert caches_of(stub("bert"), Loading(), CARDS) == ({}, {})


@given(
    name=st.sampled_from(sorted(KNOWN)),
    n_ctx=st.integers(1, 300_000),
    more=st.integers(1, 100_000),
    n_seq_max=st.integers(1, 4),
    kind=st.sampled_from(["f16", "q8_0", "q4_0"]),
    kv_unified=st.booleans(),
    flash_attn=st.booleans(),
)
def test_larger_window_never_takes_less(
    name: str, n_ctx: int, more: int, n_seq_max: int, kind: str, *, kv_unified: bool, flash_attn: bool
) -> None:
    """Of any architecture; and all devices together hold what one holds, but for padding."""
    header = stub(name)
    small = Loading(n_ctx, 2048, 512, n_seq_max, kv_unified, kind, kind, flash_attn)
    assume(_loads(header, small))
    one, other = (
        caches_of(header, Loading(**{**_fields(small), "n_ctx": tokens}), CARDS[:1])  # type: ignore[arg-type]
        for tokens in (n_ctx, n_ctx + more)
    )
    assert sum(one.kv_bytes.values()) <= sum(other.kv_bytes.values())
    assert one.recurrent_bytes == other.recurrent_bytes
    assert bool(one.recurrent_bytes) == (name in RECURRENT)
    several = caches_of(header, Loading(**{**_fields(small), "n_ctx": n_ctx}), CARDS)  # type: ignore[arg-type]
    assert sum(several.kv_bytes.values()) == sum(one.kv_bytes.values())
    assert sum(several.recurrent_bytes.values()) == sum(one.recurrent_bytes.values())


def _loads(header: Header, loading: Loading) -> bool:
    """Return whether llama.cpp would load it so."""
    try:
        check_loading(header, loading)
    except ConfigError:
        return False
    return True


def _fields(loading: Loading) -> dict[str, object]:
    return {name: getattr(loading, name) for name in Loading.__slots__}


@given(name=st.sampled_from(sorted(KNOWN)), kind=st.sampled_from(sorted(CACHE_TYPES)), steps=st.integers(1, 500))
def test_caches_are_the_sum_of_their_tokens(name: str, kind: str, steps: int) -> None:
    """What grows with the window, token by token, and what does not: together all of it, without padding."""
    header, loading = stub(name), Loading(n_ctx=256 * steps + 2048, type_k=kind, type_v=kind)
    assume(_loads(header, loading))
    found = context_tensors(header, loading)
    assert sum(row_bytes(tensor.type_id, tensor.row) * tensor.rows for tensor in found) == (
        kv_bytes_per_token(header, loading) * loading.n_ctx + fixed_bytes(header, loading)
    )
    assert all(layer.kv_heads or layer.recurrent or not _keeps(header, layer.number) for layer in layers_of(header))


def _keeps(header: Header, number: int) -> bool:
    return any(tensor.layer == number for tensor in context_tensors(header, Loading(n_ctx=256)))
