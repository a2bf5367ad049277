"""Which layer is on which device, and the weights of each device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, ModelFileError
from squidbot.core.sizing.header import Card, CardKind, Header, Loading, Tensor, tensor_bytes, type_id
from squidbot.core.sizing.memory import CPU, held_bytes, place, placed, weights_bytes

from .models import MODELS, header_of
from .stubs import Types, stub

GIB = 2**30
ONE = (Card("cuda", 8 * GIB),)
TWO = (Card("cuda", 8 * GIB), Card("cuda", 8 * GIB))


def devices(header: Header, loading: Loading, cards: tuple[Card, ...]) -> dict[str, list[int]]:
    """Return the devices of each tensor by its name."""
    found: dict[str, list[int]] = {}
    for tensor, device in placed(header, loading, cards):
        found.setdefault(tensor.name, []).append(device)
    return found


@pytest.mark.parametrize(
    ("n_gpu_layers", "where"),
    [(-1, [0] * 5), (99, [0] * 5), (5, [0] * 5), (4, [CPU, 0, 0, 0, 0]), (1, [CPU] * 4 + [0]), (0, [CPU] * 5)],
)
def test_last_layers_are_on_the_gpu(n_gpu_layers: int, where: list[int]) -> None:
    """The output counts as one layer, the last; -1, and more than there are, mean all."""
    assert list(place(4, Loading(n_gpu_layers=n_gpu_layers), ONE)) == where


@pytest.mark.parametrize("cards", [(), (Card("cpu", GIB),)])
def test_all_is_in_main_memory_when_there_is_no_gpu(cards: tuple[Card, ...]) -> None:
    """Whatever is asked for; main memory may be listed as a card."""
    assert set(place(4, Loading(), cards)) == {CPU}


def test_layers_are_shared_by_what_is_free() -> None:
    """A card with three times as much gets three times as many layers, whole ones, from the first on."""
    cards = (Card("cuda", GIB), Card("cuda", 3 * GIB))
    assert place(7, Loading(), cards) == (0, 0, 1, 1, 1, 1, 1, 1)


def test_layers_are_shared_as_told() -> None:
    """`tensor_split` comes before what is free; cards without a share get none; zeros say nothing."""
    assert place(3, Loading(tensor_split=(3, 1)), TWO) == (0, 0, 0, 1)
    assert place(3, Loading(tensor_split=(0, 1)), TWO) == (1, 1, 1, 1)
    assert place(3, Loading(tensor_split=(1,)), TWO) == (0, 0, 0, 0)
    assert place(3, Loading(tensor_split=(0, 0)), TWO) == (0, 0, 1, 1)
    assert place(3, Loading(tensor_split=(1, 1), n_gpu_layers=2), TWO) == (CPU, CPU, 0, 1)


def test_layers_are_shared_evenly_when_no_card_tells_what_is_free() -> None:
    """As if all were alike."""
    assert place(3, Loading(), (Card("metal", 0), Card("metal", 0))) == (0, 0, 1, 1)


def test_shares_are_compared_in_32_bits() -> None:
    """As llama.cpp does: in 64 bits layer 3 of 10, and layer 2 of 3, would be on the card before."""
    cards = (Card("cuda", GIB),) * 3
    assert place(9, Loading(tensor_split=(0.1, 0.2, 0.7)), cards) == (0, 1, 1) + (2,) * 7
    assert place(2, Loading(tensor_split=(0.6, 0.3)), TWO) == (0, 0, 1)


@pytest.mark.parametrize("split", [(1, 1, 1), (-1, 2), (float("nan"), 1), (float("inf"), 1)])
def test_shares_are_refused_when_they_are_none(split: tuple[float, ...]) -> None:
    """More than there are cards, below nothing, or no number."""
    with pytest.raises(ConfigError, match="tensor_split must be at most 2 shares of 0 or more"):
        place(4, Loading(tensor_split=split), TWO)


@given(
    blocks=st.integers(1, 120),
    n_gpu_layers=st.integers(-1, 130),
    free=st.lists(st.integers(1, 200 * GIB), min_size=1, max_size=4),
)
def test_layers_lie_in_the_order_of_devices(blocks: int, n_gpu_layers: int, free: list[int]) -> None:
    """First those in main memory, then card after card; as many on cards as asked for."""
    found = place(blocks, Loading(n_gpu_layers=n_gpu_layers), [Card("cuda", one) for one in free])
    assert len(found) == blocks + 1
    assert list(found) == sorted(found)
    wanted = blocks + 1 if n_gpu_layers < 0 else min(n_gpu_layers, blocks + 1)
    assert sum(device != CPU for device in found) == wanted


def test_tensors_lie_with_their_layer_and_the_others_with_the_output_or_in_main_memory() -> None:
    """The token embedding is always in main memory, what belongs to the output with it."""
    found = devices(stub("llama"), Loading(n_gpu_layers=2), ONE)
    assert found["token_embd.weight"] == [CPU]
    assert found["output.weight"] == found["output_norm.weight"] == [0]
    assert found["blk.2.attn_q.weight"] == [CPU]
    assert found["blk.3.attn_q.weight"] == [0]


def test_tied_embedding_is_loaded_once_more_for_the_output() -> None:
    """Where the output is on a card: twice; where it is in main memory, too: once. Encoders put nothing out."""
    header = stub("llama", tied=True)
    assert devices(header, Loading(), ONE)["token_embd.weight"] == [CPU, 0]
    assert devices(header, Loading(n_gpu_layers=0), ONE)["token_embd.weight"] == [CPU]
    assert devices(stub("bert", tied=True), Loading(), ONE)["token_embd.weight"] == [CPU]


def with_tensors(header: Header, *names: str) -> Header:
    """Return a header with small tensors of those names beside its own."""
    return Header(header.metadata, (*header.tensors, *(Tensor(name, (64,), 0) for name in names)))


def test_factors_of_positions_are_on_each_device_that_holds_layers() -> None:
    """Main memory among them; the output is no such layer."""
    header = with_tensors(stub("llama"), "rope_freqs.weight", "rope_factors_long.weight")
    found = devices(header, Loading(n_gpu_layers=3, tensor_split=(2, 1)), TWO)
    assert found["rope_freqs.weight"] == found["rope_factors_long.weight"] == [CPU, 0]
    assert devices(header, Loading(), TWO)["rope_freqs.weight"] == [0, 1]


def test_factors_of_positions_go_with_the_layers_that_turn_by_them() -> None:
    """Of gemma4 those that do not slide, of step35 even those that only predict further tokens."""
    gemma = with_tensors(stub("gemma4"), "rope_freqs.weight")  # layers 0, 1 and 3 slide
    assert devices(gemma, Loading(n_gpu_layers=3), ONE)["rope_freqs.weight"] == [0]
    assert devices(gemma, Loading(n_gpu_layers=2), ONE)["rope_freqs.weight"] == [CPU]
    step = with_tensors(stub("step35", nextn_predict_layers=1), "rope_freqs.weight")
    assert devices(step, Loading(n_gpu_layers=2), ONE)["rope_freqs.weight"] == [CPU, 0]
    other = with_tensors(stub("glm4moe", nextn_predict_layers=1), "rope_freqs.weight")
    assert devices(other, Loading(n_gpu_layers=2), ONE)["rope_freqs.weight"] == [CPU]


@pytest.mark.parametrize("name", ["blk.4.attn_q.weight", "blk.99.attn_q.weight", "blk.x.attn_q.weight"])
def test_tensor_of_no_block_of_the_model_is_not_loaded(name: str) -> None:
    """A file may name more blocks than it says it has."""
    assert name not in devices(with_tensors(stub("llama"), name), Loading(), ONE)


@pytest.mark.parametrize(
    ("architecture", "name", "device"),
    [
        ("bloom", "token_embd_norm.weight", CPU),
        ("lfm2", "token_embd_norm.weight", 0),
        ("gemma3n", "altup_proj.weight", 0),
        ("gemma3n", "per_layer_model_proj.weight", CPU),
        ("gemma3n", "per_layer_token_embd.weight", CPU),
        ("gpt2", "position_embd.weight", CPU),
        ("gemma-embedding", "dense_2.weight", 0),
    ],
)
def test_tensors_in_no_layer_lie_where_they_are_used(architecture: str, name: str, device: int) -> None:
    """With the first layer, with the output, or with what goes in: the latter is always in main memory."""
    header = with_tensors(stub(architecture), name)
    assert devices(header, Loading(n_gpu_layers=1), ONE)[name] == [device]
    everywhere = devices(header, Loading(), ONE)[name]
    assert everywhere == ([CPU] if name.startswith(("per_layer_token", "position")) else [0])


def test_blocks_that_only_predict_further_tokens_are_not_loaded() -> None:
    """They count in the placement of the others, though."""
    header = stub("glm4moe", nextn_predict_layers=1)
    found = devices(header, Loading(n_gpu_layers=3), ONE)
    assert "blk.3.attn_q.weight" not in found
    assert found["blk.1.attn_q.weight"] == [CPU]
    assert found["blk.2.attn_q.weight"] == [0]


@pytest.mark.parametrize(
    ("architecture", "loaded"),
    [
        ("glm4moe", set()),
        ("cohere2moe", {"nextn.embed_tokens"}),
        ("hy_v3", {"nextn.embed_tokens", "ffn_up", "ffn_gate", "ffn_down"}),
        ("step35", {"nextn.embed_tokens", "ffn_up", "ffn_gate", "ffn_down", "attn_gate"}),
    ],
)
def test_parts_of_blocks_that_only_predict_are_loaded_all_the_same(architecture: str, loaded: set[str]) -> None:
    """Of three architectures llama.cpp loads some of their tensors, where it leaves out the whole block of others."""
    names = [f"blk.3.{part}.weight" for part in ("nextn.embed_tokens", "nextn.eh_proj", "attn_gate", "attn_norm")]
    header = with_tensors(stub(architecture, nextn_predict_layers=1), *names)
    found = {name for name in devices(header, Loading(), ONE) if name.startswith("blk.3.")}
    assert found == {f"blk.3.{part}.weight" for part in loaded}


@pytest.mark.parametrize(
    ("kind", "type_name", "row", "rows", "held"),
    [
        ("cpu", "f32", 3, 1, 32),
        ("cuda", "f32", 3, 1, 128),
        ("metal", "f32", 3, 1, 32),
        ("cuda", "f32", 33, 1, 256),
        ("cuda", "q8_0", 512, 2, 1152),
        ("cuda", "q8_0", 32, 1, 640),
        ("hip", "q8_0", 32, 1, 640),
        ("cpu", "q8_0", 32, 1, 64),
        ("cuda", "q4_K", 256, 3, 640),
        ("cuda", "f16", 32, 1, 128),
    ],
)
def test_tensor_takes_whole_steps_of_its_device(kind: CardKind, type_name: str, row: int, rows: int, held: int) -> None:
    """On CUDA and HIP quantised rows are filled up to 512 elements, once for a tensor."""
    number = type_id(type_name)
    size_bytes = tensor_bytes(Tensor("x", (row, rows), number))
    assert held_bytes(size_bytes, number, row, kind) == held


def test_weights_of_a_small_model_are_the_sum_by_hand() -> None:
    """llama, one block of 64, f32: 10 tensors; the embedding in main memory."""
    header = stub(
        "llama", types=Types("f32"), vocabulary=10, block_count=1, embedding_length=64, feed_forward_length=96
    )
    matrices = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96
    assert weights_bytes(header, Loading(), ONE) == {CPU: 4 * 64 * 10, 0: 4 * (64 * 10 + 3 * 64 + matrices)}


def test_weights_are_refused_when_a_type_is_unknown() -> None:
    """A guess would be wrong."""
    header = stub("llama")
    strange = Header(header.metadata, (*header.tensors, Tensor("blk.0.strange.weight", (64,), 99)))
    with pytest.raises(ModelFileError, match="unknown tensor type 99"):
        weights_bytes(strange, Loading(), ONE)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_gpu_layers", [-1, 0, 7])
def test_weights_of_all_devices_are_those_of_one_but_for_padding(name: str, n_gpu_layers: int) -> None:
    """Nothing gets lost between cards; what comes twice is small, or is the tied embedding."""
    header = header_of(MODELS[name])
    loading = Loading(n_gpu_layers=n_gpu_layers, tensor_split=(3, 1, 2))
    cards = tuple(Card("metal", GIB) for _ in range(3))
    several = weights_bytes(header, loading, cards)
    one = weights_bytes(header, Loading(n_gpu_layers=n_gpu_layers), cards[:1])
    assert sum(several.values()) == sum(one.values())
    assert several.get(CPU) == one.get(CPU)
