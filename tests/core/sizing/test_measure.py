"""What a model takes on each device: the parts put together, against figures that were published and added by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, ModelFileError, SizingError
from squidbot.core.sizing.header import KNOWN, Card, Header, Loading, row_bytes
from squidbot.core.sizing.memory import (
    CPU,
    MIB,
    ModelLayout,
    ReservedMemory,
    SizingCalculator,
    context_tensors,
    held_bytes,
    measure,
    model_of,
    place,
    weights_bytes,
)

from .models import MODELS, header_of
from .stubs import stub, with_keys

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
