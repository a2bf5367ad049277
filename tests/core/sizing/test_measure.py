"""What a model takes on each device: contexts, caches, weights, and the parts put together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, ModelFileError, SizingError
from squidbot.core.sizing.header import (
    CACHE_TYPES,
    KNOWN,
    RECURRENT,
    Card,
    Header,
    Layer,
    Loading,
    layers_of,
    row_bytes,
)
from squidbot.core.sizing.memory import (
    CPU,
    MIB,
    ContextShape,
    ModelLayout,
    ReservedMemory,
    SizingCalculator,
    cells,
    check_loading,
    context_of,
    context_tensors,
    held_bytes,
    measure,
    model_of,
    pad,
    place,
    weights_bytes,
)

from .caches import caches_of, fixed_bytes, kv_bytes_per_token
from .models import MODELS, header_of
from .stubs import Types, stub, with_keys

# -- the context that llama.cpp makes of batch and window, and how many tokens a layer's cache holds ------------------

LLAMA = stub("llama", context_length=131_072)
SLIDING = Layer(0, 4, 2, 64, 64, window=1024)


def test_context_is_as_asked_when_all_is_even() -> None:
    """A window in whole steps stays, a batch has its defaults."""
    assert context_of(Loading(n_ctx=8192), LLAMA) == ContextShape(8192, 2048, 512, 8192, 1, 512, 512)


@pytest.mark.parametrize(("asked", "given_"), [(1, 256), (256, 256), (257, 512), (5000, 5120)])
def test_window_is_rounded_up_to_whole_steps(asked: int, given_: int) -> None:
    """Of 256 tokens, with flash attention and without."""
    for flash_attn in (True, False):
        assert context_of(Loading(n_ctx=asked, flash_attn=flash_attn), LLAMA).n_ctx == given_


def test_batches_are_cut_to_the_window_that_was_asked_for() -> None:
    """Before it is rounded up; a physical batch of 0 is as large as the logical one."""
    context = context_of(Loading(n_ctx=300, n_batch=2048, n_ubatch=0), LLAMA)
    assert (context.n_ctx, context.n_batch, context.n_ubatch, context.n_tokens) == (512, 300, 300, 300)


def test_sequences_share_the_window_evenly() -> None:
    """Each has its part, rounded up: what is leased is one part, and all of them may be more than was asked for."""
    context = context_of(Loading(n_ctx=8192, n_seq_max=3), LLAMA)
    assert (context.n_seq, context.n_ctx, context.streams) == (2816, 8448, 3)
    assert context.n_tokens == 513


def test_sequences_share_all_of_it_when_unified() -> None:
    """One cache for all: each sequence may take the whole window."""
    context = context_of(Loading(n_ctx=8192, n_seq_max=3, kv_unified=True), LLAMA)
    assert (context.n_seq, context.n_ctx, context.streams) == (8192, 8192, 1)


def test_logits_are_made_for_as_many_tokens_as_wanted() -> None:
    """For all of a batch, or fewer."""
    assert context_of(Loading(n_ctx=8192), LLAMA).n_outputs == 512
    assert context_of(Loading(n_ctx=8192, n_outputs_max=1), LLAMA).n_outputs == 1
    assert context_of(Loading(n_ctx=8192, n_outputs_max=4096), LLAMA).n_outputs == 512


@pytest.mark.parametrize("loading", [Loading(n_ctx=-1), Loading(n_batch=0, n_ubatch=0), Loading(n_seq_max=0)])
def test_context_is_refused_when_nothing_is_left(loading: Loading) -> None:
    """No window, no batch, no sequence."""
    with pytest.raises(ConfigError, match="must be 1 or more"):
        context_of(loading, LLAMA)


@pytest.mark.parametrize(
    ("loading", "held"),
    [
        (Loading(n_ctx=8192), 1536),
        (Loading(n_ctx=8192, n_ubatch=64), 1280),
        (Loading(n_ctx=1280), 1280),
        (Loading(n_ctx=8192, n_seq_max=2), 1536),
        (Loading(n_ctx=8192, n_seq_max=2, kv_unified=True), 2560),
        (Loading(n_ctx=8192, swa_full=True), 8192),
    ],
)
def test_sliding_layer_holds_its_window_and_one_batch(loading: Loading, held: int) -> None:
    """In whole steps, never more than all; unified, a window for each sequence; in full, if so asked."""
    assert cells(SLIDING, context_of(loading, LLAMA), loading) == held


def test_other_layers_hold_all_of_the_window() -> None:
    """Of one sequence."""
    loading = Loading(n_ctx=8192, n_seq_max=2)
    assert cells(SLIDING._replace(window=0), context_of(loading, LLAMA), loading) == 4096


@given(
    n_ctx=st.integers(1, 2**20),
    n_seq_max=st.integers(1, 16),
    n_ubatch=st.integers(1, 4096),
    kv_unified=st.booleans(),
    window=st.sampled_from([0, 128, 4096]),
)
def test_cells_are_never_fewer_for_a_larger_window(
    n_ctx: int, n_seq_max: int, n_ubatch: int, *, kv_unified: bool, window: int
) -> None:
    """What bisection relies on; and what is leased is in whole steps, and its cells hold no more than it."""
    small = Loading(n_ctx=n_ctx, n_seq_max=n_seq_max, n_ubatch=n_ubatch, kv_unified=kv_unified)
    large = Loading(n_ctx=n_ctx + 256, n_seq_max=n_seq_max, n_ubatch=n_ubatch, kv_unified=kv_unified)
    layer = SLIDING._replace(window=window)
    one, other = context_of(small, LLAMA), context_of(large, LLAMA)
    assert one.n_seq <= other.n_seq
    assert one.n_seq % 256 == 0 == one.n_ctx % 256
    assert one.n_tokens % n_seq_max == 0
    assert 0 < cells(layer, one, small) <= min(cells(layer, other, large), one.n_seq)


def test_pad_is_the_next_multiple() -> None:
    """At least the number itself."""
    assert [pad(number, 32) for number in (0, 1, 32, 33)] == [0, 32, 32, 64]


def test_context_says_when_the_trained_window_is_missing() -> None:
    """Only where it is needed."""
    header = with_keys(LLAMA, context_length=None)
    assert context_of(Loading(n_ctx=512), header).n_seq == 512
    with pytest.raises(Exception, match=r"llama\.context_length is missing"):
        context_of(Loading(), header)


# -- the bytes of keys, values and recurrent state, by device and by token --------------------------------------------

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


# -- the twelve models with their real dimensions: bytes for a token, fixed bytes and weights, as llama.cpp has them --

CARD = (Card("cuda", 10**12),)
# f16 bytes for a token in the layers that keep the whole window, MiB of weights on one CUDA card with all layers
# (rounded), MiB of the sliding layers at the usual batch. Source: llama.cpp 0c1e57098, real loads and dry runs.
FIGURES = {
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


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("kind", SHARES)
def test_token_takes_as_many_bytes_as_in_llama_cpp(name: str, kind: str) -> None:
    """In the layers that keep all of the window; quantised, exactly the share that their blocks have of f16."""
    loading = Loading(n_ctx=8192, type_k=kind, type_v=kind)
    assert kv_bytes_per_token(header_of(MODELS[name]), loading) == FIGURES[name][0] * SHARES[kind]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("n_ctx", [8192, 32_768])
def test_caches_are_fixed_bytes_and_those_of_each_token(name: str, n_ctx: int) -> None:
    """Sliding layers hold the same whatever the window; all others as much for each token."""
    header, loading = header_of(MODELS[name]), Loading(n_ctx=n_ctx)
    assert fixed_bytes(header, loading) == FIGURES[name][2] * MIB
    whole = FIGURES[name][2] * MIB + n_ctx * FIGURES[name][0]
    assert caches_of(header, loading, CARD).kv_bytes == {0: whole}


@pytest.mark.parametrize("name", FIGURES)
def test_weights_take_as_many_mib_as_in_llama_cpp(name: str) -> None:
    """On one card with all layers; the token embedding beside it is in main memory."""
    assert (
        round(measure(model_of(header_of(MODELS[name])), Loading(), CARD).devices[0].weights_bytes / MIB)
        == FIGURES[name][1]
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


# -- what a model takes on each device: the parts put together, against figures that were published and added by hand -

GPU = Card("cuda", 24_000 * MIB, "GPU 0")


def named(name: str) -> ModelLayout:
    """Return one of the twelve."""
    return model_of(header_of(MODELS[name]))


def test_sizing_adds_up_to_the_published_example() -> None:
    """Llama-3.1-8B with 71,680 tokens on 15,500 MiB: each line, and what is left."""
    card = Card("cuda", 15_500 * MIB, "GPU 0")
    sizing = measure(named("Llama-3.1-8B"), Loading(n_ctx=71_680), [card])
    held = sizing.devices[0]
    parts = (held.weights_bytes, held.kv_bytes, held.compute.closed_bytes, held.compute.guard_bytes, held.margin_bytes)
    assert [round(part / MIB, 1) for part in parts] == [4651.0, 8960.0, 258.5, 56.0, 1536.0]
    assert held.left_bytes is not None
    assert round(held.left_bytes / MIB, 1) == 38.5
    assert (held.name, held.kind, held.layers, held.number) == ("GPU 0", "cuda", 33, 0)
    assert sizing.fits
    assert (sizing.architecture, sizing.blocks, sizing.trained_tokens) == ("llama", 32, 131_072)
    assert (sizing.window_tokens, sizing.method, sizing.compute_kind) == (71_680, "header", "guarded")
    assert sizing.tightest is held


def test_main_memory_holds_the_embedding_beside_a_gpu() -> None:
    """It is the last device, without a margin; where it tells nothing, it has room."""
    main = measure(named("Llama-3.1-8B"), Loading(n_ctx=8192), [GPU]).devices[-1]
    assert (main.number, main.kind, main.layers, main.kv_bytes) == (CPU, "cpu", 0, 0)
    assert main.weights_bytes == 4096 * 128_256 // 256 * 144
    assert (main.margin_bytes, main.free_bytes, main.left_bytes) == (0, None, None)
    assert main.fits


def test_main_memory_is_counted_where_it_tells_what_is_free() -> None:
    """A card "cpu" says so, wherever it stands; too little there is too little."""
    model, loading = named("Llama-3.1-8B"), Loading(n_ctx=8192)
    for cards in ([GPU, Card("cpu", 200 * MIB, "RAM")], [Card("cpu", 200 * MIB, "RAM"), GPU]):
        sizing = measure(model, loading, cards)
        assert [held.name for held in sizing.devices] == ["GPU 0", "RAM"]
        assert sizing.devices[0].fits
        assert not sizing.fits
        assert sizing.tightest.number == CPU


def test_everything_is_in_main_memory_when_there_is_no_gpu() -> None:
    """One device, with all the weights and the margin."""
    sizing = measure(named("SmolLM2-1.7B"), Loading(n_ctx=2048), [Card("cpu", 8000 * MIB)])
    (main,) = sizing.devices
    assert main.layers == 25
    assert main.margin_bytes == 1536 * MIB
    assert main.total_bytes == sizing.total_bytes
    assert sizing.fits
    assert measure(named("SmolLM2-1.7B"), Loading(n_ctx=2048)).devices[0].free_bytes is None


def test_extra_bytes_are_on_the_first_device() -> None:
    """A projector goes to the first GPU, or to main memory where there is none."""
    reserved = ReservedMemory(margin_bytes=5, extra_bytes=7)
    first, second, main = measure(named("SmolLM2-1.7B"), Loading(), [GPU, GPU], reserved).devices
    assert [held.extra_bytes for held in (first, second, main)] == [7, 0, 0]
    assert [held.margin_bytes for held in (first, second, main)] == [5, 5, 0]
    alone = measure(named("SmolLM2-1.7B"), Loading(), [], reserved)
    assert alone.extra_bytes == alone.devices[0].extra_bytes == 7


def test_totals_are_the_sums_of_the_devices() -> None:
    """Each figure of all devices, and the sum of those."""
    sizing = measure(model_of(stub("falcon-h1")), Loading(n_ctx=4096, n_gpu_layers=3), [GPU])
    assert sizing.recurrent_bytes > 0
    parts = (sizing.weights_bytes, sizing.kv_bytes, sizing.recurrent_bytes, sizing.compute_bytes, sizing.extra_bytes)
    assert sizing.total_bytes == sum(parts) == sum(held.total_bytes for held in sizing.devices)
    assert sum(held.layers for held in sizing.devices) == sizing.blocks + 1


@given(
    name=st.sampled_from(sorted(KNOWN - {"grok"})),
    n_gpu_layers=st.integers(-1, 6),
    n_ctx=st.integers(4, 50_000),
    n_seq_max=st.integers(1, 4),
    kinds=st.lists(st.sampled_from(["cuda", "vulkan"]), max_size=3),
    cache=st.sampled_from(["f16", "q8_0"]),
)
def test_sizing_agrees_with_weights_and_caches_tensor_by_tensor(
    name: str, *, n_gpu_layers: int, n_ctx: int, n_seq_max: int, kinds: list[str], cache: str
) -> None:
    """What is added up by kinds of tensors is what they take one by one, on each device, for every architecture."""
    header = with_keys(stub(name), nextn_predict_layers=1)
    loading = Loading(
        n_ctx, n_gpu_layers=n_gpu_layers, n_seq_max=n_seq_max, type_k=cache, type_v=cache, kv_unified=True
    )
    cards = [Card("cuda" if kind == "cuda" else "vulkan", 10**9 * (number + 1)) for number, kind in enumerate(kinds)]
    sizing = measure(model_of(header), loading, cards)
    weights = weights_bytes(header, loading, cards)
    for device in sizing.devices:
        assert device.weights_bytes == weights.get(device.number, 0)
        for attention, taken in ((True, device.kv_bytes), (False, device.recurrent_bytes)):
            assert taken == one_by_one(header, loading, cards, device.number, attention=attention)


def one_by_one(header: Header, loading: Loading, cards: list[Card], number: int, *, attention: bool) -> int:
    """Return the bytes of a device's context, tensor by tensor."""
    places = place(header.number("block_count"), loading, cards)
    kind = "cpu" if number == CPU else cards[number].kind
    return sum(
        held_bytes(row_bytes(tensor.type_id, tensor.row) * tensor.rows, tensor.type_id, tensor.row, kind)
        for tensor in context_tensors(header, loading)
        if places[tensor.layer] == number and tensor.attention == attention
    )


@given(layers=st.integers(0, 33), n_ctx=st.integers(1, 131_072))
def test_layers_are_moved_as_if_measured_anew(layers: int, n_ctx: int) -> None:
    """`with_layers` is the shorter way to the same."""
    model, loading = named("Llama-3.1-8B"), Loading(n_ctx=n_ctx)
    measured = SizingCalculator(model, loading, [GPU])
    expected = measure(model, replace(loading, n_gpu_layers=layers), [GPU])
    assert measured.with_layers(layers).at(n_ctx) == expected
    assert measured.at(n_ctx) == measure(model, loading, [GPU])


def test_window_is_the_one_it_was_trained_with_when_none_is_asked_for() -> None:
    """`n_ctx` 0."""
    assert measure(named("Phi-4"), Loading(), [GPU]).window_tokens == 16_384


def test_sizing_refuses_what_llama_cpp_would_not_load() -> None:
    """Before anything is worked out: an error that names the key."""
    with pytest.raises(ConfigError, match="flash_attn"):
        measure(named("Llama-3.1-8B"), Loading(type_v="q8_0", flash_attn=False), [GPU])


def test_model_is_refused_when_its_layout_is_unknown() -> None:
    """By name, and with what would do."""
    with pytest.raises(SizingError, match=r"'deepseek4'.*--verify"):
        model_of(stub("deepseek4"))


def test_model_is_refused_when_its_width_is_missing() -> None:
    """A key that is needed is named."""
    with pytest.raises(ModelFileError, match=r"llama\.embedding_length"):
        model_of(with_keys(stub("llama"), embedding_length=None))


# -- what llama.cpp would refuse, or die of ---------------------------------------------------------------------------

SMALL_LLAMA = stub("llama")


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
        check_loading(SMALL_LLAMA, loading)


def test_quantised_keys_are_allowed_without_flash_attention() -> None:
    """Only values need it, which lie transposed without it."""
    check_loading(SMALL_LLAMA, Loading(type_k="q8_0", flash_attn=False))


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
