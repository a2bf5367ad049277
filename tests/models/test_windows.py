"""Which devices a model is put on, how long that takes to say, and the windows of definitions."""

from __future__ import annotations

import tracemalloc
from time import process_time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.gguf import read_header
from squidbot.config import load_settings
from squidbot.core.devices import Device, MainMemory, ProbeResult
from squidbot.core.sizing.header import Card, Tensor, type_id
from squidbot.models import cards_of, size_window
from squidbot.testing.ggufs import write_gguf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.devices import Vendor
    from squidbot.testing.ggufs import Item, Typed


def device(number: int, vendor: Vendor, free_bytes: int | None) -> Device:
    """Return a device with that much free."""
    return Device(number, "", "Card", vendor, 1000, free_bytes, unified=False, source="test")


def test_cards_are_the_devices_that_tell_what_is_free() -> None:
    """In order, by the rules of their vendor, main memory behind them."""
    probed = ProbeResult((device(0, "amd", 10), device(2, "amd", 30)), ())
    cards = cards_of(probed, MainMemory(1000, 700))
    assert [(card.kind, card.free_bytes, card.name) for card in cards] == [
        ("hip", 10, "0: Card"),
        ("hip", 30, "2: Card"),
        ("cpu", 700, "main memory"),
    ]
    assert cards_of(ProbeResult((), ()), None) == ()


def test_there_are_no_cards_when_one_that_a_runtime_would_use_does_not_tell() -> None:
    """Neither are the others, nor is main memory what the model is sized for: it would lie elsewhere."""
    main = MainMemory(1000, 700)
    assert cards_of(ProbeResult((device(0, "amd", 10), device(1, "amd", None)), ()), main) == ()
    assert cards_of(ProbeResult((device(0, "nvidia", None),), ()), main) == ()
    other = ProbeResult((device(0, "nvidia", None), device(1, "amd", 30)), ())
    assert [card.kind for card in cards_of(other, main)] == ["hip", "cpu"]


def test_card_says_when_its_memory_is_the_machines() -> None:
    """What goes onto it is then missing in main memory."""
    shares = Device(0, "", "Chip", "apple", 1000, 600, unified=True, source="test")
    assert [card.unified for card in cards_of(ProbeResult((shares,), ()), MainMemory(1000, 700))] == [True, False]


def test_cards_are_of_one_vendor() -> None:
    """A runtime is built for one: that whose cards have most free together."""
    probed = ProbeResult((device(0, "nvidia", 40), device(1, "amd", 30), device(2, "amd", 20)), ())
    assert [card.kind for card in cards_of(probed, None)] == ["hip", "hip"]
    probed = ProbeResult((device(0, "nvidia", 60), device(1, "amd", 30), device(2, "amd", 20)), ())
    assert [card.kind for card in cards_of(probed, None)] == ["cuda"]


# -- how long it takes ------------------------------------------------------------------------------------------------

GIB = 2**30
# Llama-3.1-405B: each tensor of a block.
BLOCK = {
    "attn_norm": (16384,),
    "attn_q": (16384, 16384),
    "attn_k": (16384, 1024),
    "attn_v": (16384, 1024),
    "attn_output": (16384, 16384),
    "ffn_norm": (16384,),
    "ffn_gate": (16384, 53248),
    "ffn_up": (16384, 53248),
    "ffn_down": (53248, 16384),
}


def largest(path: Path) -> Path:
    """Write the header of a model of 405 billion parameters with its whole vocabulary, its tensors a hole."""
    tensors = [Tensor(name, (16384, 128256), type_id("q4_K")) for name in ("token_embd.weight", "output.weight")]
    for layer in range(126):
        for part, shape in BLOCK.items():
            kind = type_id("q4_K" if shape[1:] else "f32")
            tensors.append(Tensor(f"blk.{layer}.{part}.weight", shape, kind))
    assert 400e9 < sum(tensor.shape[0] * (tensor.shape[1] if tensor.shape[1:] else 1) for tensor in tensors) < 410e9
    keys = {"block_count": 126, "context_length": 131072, "embedding_length": 16384, "feed_forward_length": 53248}
    keys |= {"attention.head_count": 128, "attention.head_count_kv": 8}
    words = [f"token{number}" for number in range(128256)]
    metadata: dict[str, Item | Sequence[Item] | Typed] = {f"llama.{key}": value for key, value in keys.items()}
    metadata["general.architecture"] = "llama"
    write_gguf(path, {**metadata, "tokenizer.ggml.tokens": words, "tokenizer.ggml.merges": words}, tensors)
    return path


def test_model_of_400_billion_parameters_is_sized_within_200_ms_and_100_mb(tmp_path: Path) -> None:
    """From its file to the window, the header not read before; the best of three, by the processor's time."""
    path = largest(tmp_path / "large.gguf")
    loaded = load_settings({"models": {"large": {"path": str(path), "n_gpu_layers": "auto"}}})
    cards = (*(Card("cuda", 80 * GIB, str(number)) for number in range(4)), Card("cpu", 256 * GIB))
    taken = []
    for again in range(3):
        path.touch()
        if again == 0:
            tracemalloc.start()
        begin = process_time()
        sized = size_window(loaded, "large", read_header(path), cards)
        taken.append(process_time() - begin)
        if again == 0:
            assert tracemalloc.get_traced_memory()[1] < 100e6
            tracemalloc.stop()
    assert sized.window_tokens is not None
    assert min(taken) < 0.2


# -- models of an API -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "window_tokens", "reserved_tokens"),
    [
        ("gpt-5.2-chat-latest", 128_000, 16_384),
        ("Qwen2.5-32B Q4_K_M", 32_768, 4096),
        ("Dolphin3.0-8B Q8_0", 65_536, 4096),
        ("anything else", 32_768, 4096),
    ],
)
def test_window_of_a_definition_is_the_session_s(alias: str, window_tokens: int, reserved_tokens: int) -> None:
    """B-02 and B-07: the model's definition, then 32,768 and 4,096.

    "max_tokens: 16384  # Can generate longer responses" is the room for the answer, too.
    """
    models = {
        "gpt-5.2-chat-latest": {"context_window": 128_000, "max_tokens": 16_384},
        "Qwen2.5-32B Q4_K_M": {"context_window": 32_768, "max_tokens": 4096, "native_context_limit": 131_072},
        "Dolphin3.0-8B Q8_0": {"context_window": 65_536, "max_tokens": 4096},
    }
    with squidbot.load({"models": models}) as engine:
        window = engine.session("s", model=alias).window
    assert (window.window_tokens, window.reserved_output_tokens) == (window_tokens, reserved_tokens)
    assert window.source == ("model-definition" if alias in models else "default")
